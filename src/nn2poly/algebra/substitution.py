"""Exact affine changes of coordinates: degree ≤ Q maps to degree ≤ Q; of all terms, or of some.

A shift is P(z + β) = exp(β·∇) P, and β·∇ maps the block of degree d to degree d - 1 by one
gather per variable; a change of scale multiplies each monomial by its own factor.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import comb, prod

import numpy as np

from nn2poly.algebra.graded import Blocks
from nn2poly.algebra.monomials import count_degree, monomials, times_variables
from nn2poly.algebra.terms import Listed, Rows, Terms, collect
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.memory import check_terms


def substitute(blocks: Blocks, factor: FloatArray, shift: FloatArray) -> Blocks:
    """Rewrite P(z) in z' where ``z = factor * z' + shift``.

    Parameters
    ----------
    blocks
        Degree blocks (N_d, n_outputs), d = 0 … Q.
    factor, shift
        Arrays (p,).

    Returns
    -------
    list of arrays (N_d, n_outputs)

    Examples
    --------
    z² with z = 2 z' + 1 is 1 + 4 z' + 4 z'²:

    >>> blocks = [np.zeros((1, 1)), np.zeros((1, 1)), np.ones((1, 1))]
    >>> [float(b[0, 0]) for b in substitute(blocks, np.array([2.0]), np.array([1.0]))]
    [1.0, 4.0, 4.0]
    """
    moved = _translate(blocks, shift) if np.any(shift) else blocks
    if np.all(factor == 1.0):
        return moved
    return [
        block * np.prod(factor[monomials(len(factor), degree)], axis=1)[:, None]
        for degree, block in enumerate(moved)
    ]


def _translate(blocks: Blocks, shift: FloatArray) -> Blocks:
    """Shift the argument: Horner's scheme for exp(D) P = P + D(P + D/2 (P + D/3 (…)))."""
    result = blocks
    for k in range(len(blocks) - 1, 0, -1):
        slopes = [_directional(result[d], d, shift) / k for d in range(1, len(blocks))]
        result = [b + s for b, s in zip(blocks[:-1], slopes, strict=True)] + [blocks[-1]]
    return result


def _directional(block: FloatArray, degree: int, direction: FloatArray) -> FloatArray:
    """Differentiate a block (N_degree, n_outputs) along ``direction``: a block of degree - 1."""
    p = len(direction)
    lower = monomials(p, degree - 1)
    out = np.zeros((count_degree(p, degree - 1), block.shape[1]))
    for i in np.flatnonzero(direction).tolist():
        # d/dx_i of x_i·m is (1 + multiplicity of i in m)·m.
        factor = direction[i] * (1.0 + np.count_nonzero(lower == i, axis=1))
        out += factor[:, None] * block[times_variables(p, degree - 1, i, i + 1)[0]]
    return out


# ---- some terms ------------------------------------------------------------------------------


def patterns(rows: IntArray) -> Iterator[tuple[IntArray, IntArray, tuple[int, ...]]]:
    """Group terms of one degree by their exponents.

    Parameters
    ----------
    rows
        Array (n, degree) of sorted feature indices.

    Yields
    ------
    places (m,) of the terms of a group, their distinct variables (m, k), and the k
    exponents that they share

    Examples
    --------
    >>> for group in patterns(np.array([[0, 0], [0, 1], [1, 1]])):
    ...     print(group)
    (array([0, 2]), array([[0],
           [1]]), (2,))
    (array([1]), array([[0, 1]]), (1, 1))
    """
    n, degree = rows.shape
    begins = np.ones((n, degree), dtype=bool)
    begins[:, 1:] = rows[:, 1:] != rows[:, :-1]
    kinds, which = np.unique(begins, axis=0, return_inverse=True) if degree else (begins[:1], 0)
    for number, kind in enumerate(kinds):
        places = np.flatnonzero(np.broadcast_to(which, (n,)) == number)
        first = np.flatnonzero(kind)
        exponents = tuple(np.diff([*first.tolist(), degree]).tolist())
        yield places, rows[places][:, first], exponents


def substitute_listed(
    terms: Terms, coefficients: FloatArray, factor: FloatArray, shift: FloatArray
) -> tuple[Listed, FloatArray]:
    """Rewrite P(z) in z' where ``z = factor * z' + shift``, term by term.

    The cost is that of the divisors; `substitute` serves the graded basis.

    Parameters
    ----------
    terms, coefficients
        Any terms, and an array (n_terms, n_outputs).
    factor, shift
        Arrays (p,).

    Examples
    --------
    z² with z = 2 z' + 1 is 1 + 4 z' + 4 z'²:

    >>> square = Listed.of([(0, 0)], 1)
    >>> substitute_listed(square, np.ones((1, 1)), np.array([2.0]), np.array([1.0]))[1].ravel()
    array([1., 4., 4.])
    """
    power = np.arange(terms.max_order + 1)
    # (f z' + s)^a = Σ_b C(a, b) s^(a - b) f^b z'^b; 0⁰ = 1.
    binomials = np.array([[float(comb(a, b)) for b in power.tolist()] for a in power.tolist()])
    rest = np.maximum(power[:, None] - power, 0)
    tables = binomials * shift[:, None, None] ** rest * factor[:, None, None] ** power
    return change_basis(terms, coefficients, tables)


def change_basis(
    terms: Terms, coefficients: FloatArray, tables: FloatArray
) -> tuple[Listed, FloatArray]:
    """Rewrite products of one basis of each feature in products of another.

    A term of exponents a_1, a_2, … stands for the product of the functions a_j of its features;
    each is a sum over functions b ≤ a of another basis, so that a term becomes its divisors.

    Parameters
    ----------
    terms, coefficients
        Any terms, and an array (n_terms, n_outputs).
    tables
        Array (p, Q + 1, Q + 1): entry [j, a, b] is the part of function a of feature j along
        function b of the new basis; function 0 is the constant 1 in both.

    Returns
    -------
    terms, and coefficients (n_terms, n_outputs)
    """
    groups = [
        (variables, exponents, coefficients[here][places])
        for here, rows in terms.by_degree()
        for places, variables, exponents in patterns(rows)
    ]
    kept = [_kept(variables, exponents, tables) for variables, exponents, _ in groups]
    n = sum(
        len(group[0]) * prod(map(len, powers)) for group, powers in zip(groups, kept, strict=True)
    )
    check_terms(
        n,
        24 * n * (terms.max_order + coefficients.shape[1]),
        what="This polynomial in other coordinates",
        remedy="drop the longest terms first: truncate or prune",
    )
    parts = [
        part
        for (variables, exponents, values), powers in zip(groups, kept, strict=True)
        for part in _divisors(variables, exponents, powers, values, tables)
    ]
    return collect(parts, terms.n_features, coefficients.shape[1], terms.max_order)


def _kept(variables: IntArray, exponents: tuple[int, ...], tables: FloatArray) -> list[list[int]]:
    """List the functions that each feature of terms (m, k) may have in a divisor."""
    return [
        [b for b in range(a + 1) if tables[j, a, b].any()]
        for j, a in zip(variables.T, exponents, strict=True)
    ]


def _divisors(
    variables: IntArray,
    exponents: tuple[int, ...],
    kept: list[list[int]],
    coefficients: FloatArray,
    tables: FloatArray,
) -> Iterator[Rows]:
    """Multiply terms (m, k) of the same exponents out: their divisors, degree by degree."""
    # A feature that is 0 everywhere has no function left, and its terms no divisor.
    shape = prod(map(len, kept)), len(kept)
    powers = np.array(list(product(*kept)), dtype=np.intp).reshape(shape)
    weight = np.ones((len(variables), len(powers)))
    for j, a, b in zip(variables.T, exponents, powers.T, strict=True):
        weight *= tables[j, a][:, b]
    degrees = powers.sum(axis=1)
    for degree in np.unique(degrees).tolist():
        here = np.flatnonzero(degrees == degree)
        # Which of the k variables stands where in the divisor.
        numbers = np.tile(np.arange(len(kept)), len(here))
        slots = np.repeat(numbers, powers[here].ravel()).reshape(len(here), degree)
        term, divisor = np.nonzero(weight[:, here])
        values = coefficients[term] * weight[term, here[divisor]][:, None]
        yield variables[term[:, None], slots[divisor]], values
