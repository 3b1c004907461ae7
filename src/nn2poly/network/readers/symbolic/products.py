"""Products and quotients of two values that both depend on the inputs.

Where both are functions of one value, entry by entry, the product is one activation. Any other
product is a polynomial of the two: a·b = ((a + b)² − (a − b)²) / 4, exactly.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.errors import UnsupportedModelError
from nn2poly.network.activation import Activation
from nn2poly.network.builder import NetworkBuilder, Value
from nn2poly.network.elementwise import SQUARE, Quotient, Sum, by_values, product_of

# Differences of coefficients that are rounding, relative to the largest.
ROUNDING = 1e-12
# Layers that a function of one value is followed through (taste).
DEEPEST = 8


def multiply(builder: NetworkBuilder, a: Value, b: Value) -> Value:
    """Multiply two values of the same width, entry by entry."""
    found = _common(builder, a, b)
    if found is not None:
        base, one, other = found
        return builder.merge(base, product_of(one, other))
    plus = builder.activate(a.plus(b), SQUARE)
    minus = builder.activate(a.plus(b, -1.0), SQUARE)
    return plus.plus(minus, -1.0).scaled(0.25)


def divide(builder: NetworkBuilder, a: Value, b: Value) -> Value:
    """Divide two values of the same width, entry by entry, if both are functions of one."""
    found = _common(builder, a, b)
    if found is None:
        raise UnsupportedModelError(
            "A value that depends on the inputs divides another one.",
            expected="division by constants, or of functions of one and the same value",
            remedy="convert the parts before the division",
        )
    base, one, other = found
    return builder.merge(base, by_values(Quotient(one, other), "quotient"))


def _common(builder: NetworkBuilder, a: Value, b: Value) -> tuple[Value, Sum, Sum] | None:
    """Find a value of which both are functions, entry by entry."""
    bases = [*_bases(builder, a, DEEPEST), *_bases(builder, b, DEEPEST), a, b]
    for base in sorted(bases, key=lambda value: max(value.matrices, default=0)):
        one = _function(builder, a, base, DEEPEST)
        other = None if one is None else _function(builder, b, base, DEEPEST)
        if one is not None and other is not None:
            return base, one, other
    return None


def _bases(builder: NetworkBuilder, value: Value, depth: int) -> Iterator[Value]:
    """List the values that a value may be a function of, through its layers."""
    for source, matrix in value.matrices.items():
        if source and depth and _factor(matrix) is not None:
            inner = builder.potential(source)
            yield inner
            yield from _bases(builder, inner, depth - 1)


def _function(builder: NetworkBuilder, value: Value, base: Value, depth: int) -> Sum | None:
    """Write a value as a function of a base, the same for all entries; None if it is none."""
    plain = _affine(value, base)
    if plain is not None:
        return plain
    parts: list[tuple[float, Activation, Sum]] = []
    rest = value
    for source, matrix in value.matrices.items():
        factor = _factor(matrix) if source and depth else None
        inner = None
        if factor is not None:
            inner = _function(builder, builder.potential(source), base, depth - 1)
        if factor is not None and inner is not None:
            parts.append((factor, builder.activation(source), inner))
            others = {s: m for s, m in rest.matrices.items() if s != source}
            rest = Value(rest.bias, others)
    left = _affine(rest, base) if parts else None
    return None if left is None else Sum(left.bias, left.slope, tuple(parts))


def _affine(value: Value, base: Value) -> Sum | None:
    """Write a value as bias + slope · base with two numbers."""
    if value.width != base.width:
        return None
    sources = [s for s, m in value.matrices.items() if m.any()]
    slope = 0.0
    if sources:
        theirs = base.matrices.get(sources[0])
        if theirs is None or not theirs.any():
            return None
        place = np.unravel_index(np.argmax(np.abs(theirs)), theirs.shape)
        slope = float(value.matrices[sources[0]][place] / theirs[place])
    for source in {*sources, *base.matrices}:
        mine, theirs = value.matrices.get(source), base.matrices.get(source)
        scaled = np.zeros(1) if theirs is None else slope * theirs
        if not _same(np.zeros(1) if mine is None else mine, scaled):
            return None
    shift = value.bias - slope * base.bias
    if not _same(shift, np.full(len(shift), shift.flat[0]), np.abs(base.bias).max(initial=1.0)):
        return None
    return Sum(float(shift.flat[0]), slope)


def _same(a: FloatArray, b: FloatArray, size: float = 0.0) -> bool:
    largest = max(float(np.abs(a).max(initial=0.0)), float(np.abs(b).max(initial=0.0)), size)
    return bool(np.all(np.abs(a - b) <= ROUNDING * largest))


def _factor(matrix: FloatArray) -> float | None:
    """Give the number c of a matrix c · 1; None of any other."""
    if matrix.shape[0] != matrix.shape[1]:
        return None
    first = float(matrix[0, 0])
    return first if first and np.array_equal(matrix, first * np.eye(len(matrix))) else None
