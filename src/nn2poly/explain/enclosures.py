"""Enclosures of a polynomial over a box: bounds that are certain, by two routes.

In t = (x - mid) / half, every feature runs over [-1, 1]. Two enclosures are worked out and the
tighter end of each is taken. *Interval*: the part of each single variable by its Bernstein
coefficients or power by power, every product of several variables by ±|c| (or [0, c] when all its
powers are even). *Bernstein* (Garloff 1985; few variables only): the coefficients of the whole
polynomial in the tensor Bernstein basis, whose smallest and largest bound it. The first is exact
for linear polynomials, the second for those that are linear in each variable.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from heapq import heappop, heappush
from itertools import count as counter
from math import comb

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.explain.written import evaluate, plain
from nn2poly.formula.evaluate import term_values
from nn2poly.formula.polynomial import Polynomial
from nn2poly.outputs import Outputs

# Largest array of tensor Bernstein coefficients, all outputs together: 8 MB, near the cache.
MAX_TENSOR = 2**20
# A side of a box is at least this share of the feature's scale: a scale must be positive.
THINNEST = 2.0**-40


def in_box(poly: Polynomial, low: FloatArray, high: FloatArray) -> Polynomial:
    """Rewrite a polynomial so that every coordinate runs over [-1, 1] in the box."""
    middle = low / 2 + high / 2
    # The middle is rounded by ε|x|, much of a narrow box far from 0: reach both ends from it.
    half = np.nextafter(np.maximum(high - middle, middle - low), np.inf)
    return poly.rebase(middle, np.maximum(half, THINNEST * poly.inputs.scale))


def enclose(boxed: Polynomial) -> tuple[FloatArray, FloatArray]:
    """Bound a polynomial whose coordinates run over [-1, 1]: arrays (n_outputs,)."""
    low, high = _interval(boxed)
    tensor = _bernstein(boxed)
    if tensor is None:
        return low, high
    return np.maximum(low, tensor.min(axis=0)), np.minimum(high, tensor.max(axis=0))


def _interval(boxed: Polynomial) -> tuple[FloatArray, FloatArray]:
    k = boxed.n_outputs
    low, high = np.zeros(k), np.zeros(k)
    single = np.zeros((boxed.n_features, boxed.max_order + 1, k))
    for degree, (here, variables) in enumerate(boxed.terms.by_degree()):
        values = boxed.coefficients[here]
        if degree == 0:
            low, high = low + values.sum(axis=0), high + values.sum(axis=0)
            continue
        alone = variables[:, 0] == variables[:, -1]
        single[variables[alone, 0], degree] = values[alone]
        products = values[~alone]
        # Sorted indices: all powers are even when they come in equal pairs.
        even = np.zeros(len(products), dtype=bool)
        if degree % 2 == 0:
            even = np.all(variables[~alone, 0::2] == variables[~alone, 1::2], axis=1)
        size = np.abs(products[~even]).sum(axis=0)
        low = low - size + np.minimum(products[even], 0).sum(axis=0)
        high = high + size + np.maximum(products[even], 0).sum(axis=0)
    least, most = _single(single)
    return low + least.sum(axis=0), high + most.sum(axis=0)


def _single(single: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bound polynomials of one variable each, coefficients (p, Q + 1, k): arrays (p, k)."""
    curves = np.einsum("ij,pjk->pik", _bernstein_matrix(single.shape[1] - 1), single)
    odd = np.abs(single[:, 1::2]).sum(axis=1)
    least = np.minimum(single[:, 0::2], 0).sum(axis=1) - odd
    most = np.maximum(single[:, 0::2], 0).sum(axis=1) + odd
    return np.maximum(least, curves.min(axis=1)), np.minimum(most, curves.max(axis=1))


def _bernstein(boxed: Polynomial) -> FloatArray | None:
    """Give all tensor Bernstein coefficients (size, n_outputs); None when they are too many."""
    powers = np.zeros(boxed.n_features, dtype=np.intp)
    degrees = list(boxed.terms.by_degree())
    for here, variables in degrees:
        used = np.flatnonzero(boxed.coefficients[here].any(axis=1))
        for column in range(variables.shape[1]):
            multiplicity = np.sum(variables == variables[:, [column]], axis=1)
            np.maximum.at(powers, variables[used, column], multiplicity[used])
    active = np.flatnonzero(powers)
    if np.sum(np.log2(powers[active] + 1.0)) > np.log2(MAX_TENSOR / boxed.n_outputs):
        return None
    shape = tuple((powers[active] + 1).tolist())
    tensor = np.zeros((int(np.prod(shape)), boxed.n_outputs))
    stride = np.zeros(boxed.n_features, dtype=np.intp)
    stride[active] = np.cumprod((1, *shape[:0:-1]))[::-1] if len(active) else 0
    for here, variables in degrees:
        used = np.flatnonzero(boxed.coefficients[here].any(axis=1))
        tensor[stride[variables[used]].sum(axis=1)] = boxed.coefficients[here][used]
    for axis, size in enumerate(shape):
        blocks = tensor.reshape(int(np.prod(shape[:axis])), size, -1)
        tensor = np.matmul(_bernstein_matrix(size - 1), blocks)
    return tensor.reshape(-1, boxed.n_outputs)


@lru_cache(maxsize=128)
def _bernstein_matrix(degree: int) -> FloatArray:
    """Give the Bernstein coefficients (rows) of 1, t, …, t^d (columns) on [-1, 1].

    t^j = (s - (1 - s))^j with s = (t + 1)/2; as a form of degree d it is multiplied by
    (s + (1 - s))^(d - j).
    """
    matrix = np.empty((degree + 1, degree + 1))
    for j in range(degree + 1):
        power = np.poly1d([1.0])
        for factor in [(1.0, -1.0)] * j + [(1.0, 1.0)] * (degree - j):
            power = power * np.poly1d(factor)
        coefficients = np.concatenate([np.zeros(degree - power.order), power.coeffs])
        matrix[:, j] = [coefficients[degree - i] / comb(degree, i) for i in range(degree + 1)]
    matrix.setflags(write=False)
    return matrix


def rounding_slack(poly: Polynomial, low: FloatArray, high: FloatArray) -> FloatArray:
    """Bound the rounding errors: every sum of n terms errs by at most n·ε·Σ|terms|."""
    where = poly.inputs
    ends = np.stack([low, high, low / 2 + high / 2, np.zeros_like(low)])
    left, right, middle, origin = np.abs(where.to_working(ends))
    unit = 1.0 / where.scale
    # In the polynomial's own coordinates the point is reach + middle, rounded as raw units are.
    farthest = np.maximum(np.maximum(np.abs(low), np.abs(high)) * unit, origin)
    point = np.maximum(left, right) + middle + np.finfo(float).eps * farthest
    size = term_values(poly.terms, point[None])[0] @ np.abs(poly.coefficients)
    result: FloatArray = (poly.n_terms + 16 * (poly.max_order + 1)) * np.finfo(float).eps * size
    return result


def witnesses(
    slope: Polynomial, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Look for the lowest and highest value at a few corners: those the linear part points to.

    ``slope`` is in coordinates of the box ``low … high``. Returns arrays (n_outputs,).
    """
    linear = np.zeros((slope.n_features, slope.n_outputs))
    for here, variables in slope.terms.by_degree():
        if variables.shape[1] == 1:
            linear[variables[:, 0]] = slope.coefficients[here]
    rising = (linear >= 0).T
    corners = [np.where(rising, high, low), np.where(rising, low, high)]
    values = evaluate(slope, np.concatenate([*corners, (low / 2 + high / 2)[None]]))
    return values.min(axis=0), values.max(axis=0)


def lowest(poly: Polynomial, low: FloatArray, high: FloatArray, cuts: int) -> float:
    """Bound one output from below by branch and bound: cut the box that is lowest so far."""
    boxed = in_box(poly, low, high)
    order = counter()
    heap = [(float(enclose(boxed)[0][0]), next(order), low, high, boxed)]
    reached = np.inf
    for _ in range(cuts):
        bound, _, left, right, boxed = heap[0]
        reached = min(reached, float(witnesses(boxed, left, right)[0][0]))
        if bound >= reached:
            break
        heappop(heap)
        j = _most_uncertain(boxed)
        middle = left[j] / 2 + right[j] / 2
        for a, b in ((left[j], middle), (middle, right[j])):
            part_low, part_high = left.copy(), right.copy()
            part_low[j], part_high[j] = a, b
            part = in_box(poly, part_low, part_high)
            part_bound = max(bound, float(enclose(part)[0][0]))
            heappush(heap, (part_bound, next(order), part_low, part_high, part))
    return heap[0][0]


def _most_uncertain(boxed: Polynomial) -> int:
    """Choose the feature whose terms above order 1 weigh most: linear parts are exact."""
    weight = np.zeros(boxed.n_features)
    for here, variables in boxed.terms.by_degree():
        if variables.shape[1] > 1:
            size = np.abs(boxed.coefficients[here]).sum(axis=1)
            for column in variables.T:
                np.add.at(weight, column, size)
    return int(weight.argmax())


def one_output(poly: Polynomial, o: int) -> Polynomial:
    """Give one output as a polynomial of its own."""
    outputs = Outputs.of([poly.output_names[o]], 1)
    return replace(plain(poly), coefficients=poly.coefficients[:, [o]], outputs=outputs)


def minus(poly: Polynomial) -> Polynomial:
    """Turn the sign of every output."""
    return replace(poly, coefficients=-poly.coefficients)
