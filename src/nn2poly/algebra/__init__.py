"""Polynomials as arrays: monomials, graded composition, rays, changes of coordinates.

Nothing here knows of networks. Everywhere, p variables have
N_d = C(p+d-1, d) monomials of degree exactly d, in lexicographic order of their
non-decreasing variable indices: `(), (0,), (1,), …, (0, 0), (0, 1), …`.
"""
