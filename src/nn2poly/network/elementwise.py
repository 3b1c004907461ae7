"""Functions of one value that a model writes out by hand: known by their values alone.

`x * sigmoid(x)`, `relu(x)**2`, `x / (1 + abs(x))`: whatever is a function of one value, entry by
entry, becomes one activation. They are plain objects, so that a network with them can be pickled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.network.activation import Activation
from nn2poly.network.activations import activation
from nn2poly.network.erf import erf

Function = Callable[[FloatArray], FloatArray]


def step(x: FloatArray) -> FloatArray:
    """Give 1 above 0, else 0."""
    return np.where(x > 0.0, 1.0, 0.0)


def closed_step(x: FloatArray) -> FloatArray:
    """Give 1 from 0 on, else 0."""
    return np.where(x >= 0.0, 1.0, 0.0)


def within_one(x: FloatArray) -> FloatArray:
    """Give 1 from 0 to below 1, else 0."""
    return np.where((x >= 0.0) & (x < 1.0), 1.0, 0.0)


def hard_swish(x: FloatArray) -> FloatArray:
    """Give x · min(max(x + 3, 0), 6) / 6."""
    return np.asarray(x * np.clip(x + 3.0, 0.0, 6.0) / 6.0)


def tanh_shrink(x: FloatArray) -> FloatArray:
    """Give x − tanh(x)."""
    return np.asarray(x - np.tanh(x))


def inverse_root(x: FloatArray) -> FloatArray:
    """Give 1 / √x."""
    return np.asarray(1.0 / np.sqrt(x))


# Name of a framework's operation → the function; those of the table of activations are not here.
FUNCTIONS: dict[str, Function] = {
    "abs": np.abs,
    "acos": np.arccos,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "cos": np.cos,
    "cosh": np.cosh,
    "erf": erf,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "hardswish": hard_swish,
    "log": np.log,
    "log1p": np.log1p,
    "reciprocal": np.reciprocal,
    "rsqrt": inverse_root,
    "sign": np.sign,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tanhshrink": tanh_shrink,
}


@dataclass(frozen=True)
class Power:
    """x to a constant power."""

    exponent: float

    def __call__(self, x: FloatArray) -> FloatArray:
        """Give the values at x, of any shape."""
        return np.asarray(np.power(x, self.exponent))


@dataclass(frozen=True)
class Shrink:
    """0 within ±edge; outside x, less the edge if it is soft."""

    edge: float
    soft: bool

    def __call__(self, x: FloatArray) -> FloatArray:
        """Give the values at x, of any shape."""
        moved = x - np.sign(x) * self.edge if self.soft else x
        return np.where(np.abs(x) > self.edge, moved, 0.0)


@dataclass(frozen=True)
class Threshold:
    """x above a threshold, else a value."""

    edge: float
    value: float

    def __call__(self, x: FloatArray) -> FloatArray:
        """Give the values at x, of any shape."""
        return np.where(x > self.edge, x, self.value)


@dataclass(frozen=True)
class Sum:
    """bias + slope · x + Σ weight · outer(inner(x))."""

    bias: float
    slope: float
    parts: tuple[tuple[float, Activation, Sum], ...] = ()

    def __call__(self, x: FloatArray) -> FloatArray:
        """Give the values at x, of any shape."""
        total = self.bias + self.slope * x
        for weight, outer, inner in self.parts:
            total = total + weight * outer(inner(x))
        return np.asarray(total)

    @property
    def is_identity(self) -> bool:
        """Say that it gives x itself."""
        return not self.parts and (self.bias, self.slope) == (0.0, 1.0)


@dataclass(frozen=True)
class Product:
    """one(x) · other(x)."""

    one: Sum
    other: Sum

    def __call__(self, x: FloatArray) -> FloatArray:
        """Give the values at x, of any shape."""
        return np.asarray(self.one(x) * self.other(x))


@dataclass(frozen=True)
class Quotient:
    """one(x) / other(x)."""

    one: Sum
    other: Sum

    def __call__(self, x: FloatArray) -> FloatArray:
        """Give the values at x, of any shape."""
        return np.asarray(self.one(x) / self.other(x))


def _square_series(centers: FloatArray, order: int) -> FloatArray:
    out = np.zeros((order + 1, len(centers)))
    for row, values in zip(out, (centers**2, 2.0 * centers, np.ones_like(centers)), strict=False):
        row[:] = values
    return out


def _everywhere(centers: FloatArray) -> FloatArray:
    return np.full(np.shape(centers), np.inf)


# A polynomial itself: products of two values are made of it.
SQUARE = Activation("square", np.square, _square_series, _everywhere, (0.0,))


def by_values(function: Function, name: str) -> Activation:
    """Make an activation of which only values are known, under a name."""
    known = activation(function)
    return Activation(name, known.function, None, known.radius, None)


def product_of(one: Sum, other: Sum) -> Activation:
    """Give the activation one(x) · other(x), by its own name where it has one."""
    if one.is_identity and other.is_identity:
        return SQUARE
    gates = [f for f, g in ((one, other), (other, one)) if g.is_identity]
    if gates and gates[0] == Sum(0.0, 0.0, ((1.0, activation("sigmoid"), Sum(0.0, 1.0)),)):
        return activation("silu")
    return by_values(Product(one, other), "product")
