"""Taylor coefficients and radii of convergence of the activations, in plain NumPy.

A *series* takes centres `(h,)` and an order q and returns `(q + 1, h)`: row n holds f⁽ⁿ⁾(c)/n!.
Smooth functions get theirs from a differential equation, which is a recurrence on the rows,
so any order at any centre is exact up to rounding; no derivative is ever approximated.

Examples
--------
>>> SERIES["tanh"](np.array([0.0]), 5).ravel().round(4).tolist()
[0.0, 1.0, 0.0, -0.3333, 0.0, 0.1333]
>>> print(SERIES["softsign"](np.array([-1.0, 0.0, 1.0]), 2))
[[-0.5    0.     0.5  ]
 [ 0.25   1.     0.25 ]
 [ 0.125    nan -0.125]]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.network.erf import GELU_CUBIC, GELU_ROOT, erf, gaussian_series, sigmoid, softplus

__all__ = [
    "SERIES",
    "FloatArray",
    "Radius",
    "Series",
    "distance_to",
    "expm1_series",
    "gelu_tanh_radius",
    "line",
    "piecewise",
    "tanh_of_series",
]

Series = Callable[[FloatArray, int], FloatArray]
Radius = Callable[[FloatArray], FloatArray]


# ---- building blocks of series -----------------------------------------------------------


def line(intercept: float, slope: float) -> Series:
    """Series of the straight line intercept + slope·x.

    Examples
    --------
    >>> line(1.0, 3.0)(np.array([2.0]), 3).ravel().tolist()
    [7.0, 3.0, 0.0, 0.0]
    """

    def series(center: FloatArray, order: int) -> FloatArray:
        out = np.zeros((order + 1, center.size))
        out[0] = intercept + slope * center
        out[1:2] = slope
        return out

    return series


def expm1_series(amplitude: float, rate: float) -> Series:
    """Series of amplitude·(exp(rate·x) - 1), the left piece of elu, selu and celu.

    Examples
    --------
    >>> expm1_series(1.0, 2.0)(np.array([0.0]), 3).ravel().round(4).tolist()
    [0.0, 2.0, 2.0, 1.3333]
    """

    def series(center: FloatArray, order: int) -> FloatArray:
        out = np.empty((order + 1, center.size))
        out[0] = amplitude * np.exp(rate * center)
        for n in range(order):  # row by row: rate**n alone may overflow where exp is tiny
            out[n + 1] = out[n] * rate / (n + 1)
        out[0] = amplitude * np.expm1(rate * center)
        return out

    return series


def piecewise(kinks: Sequence[float], pieces: Sequence[Series], *, smooth: int = 0) -> Series:
    """Series of a function made of pieces that meet at kinks.

    Parameters
    ----------
    kinks
        Increasing.
    pieces
        One more than kinks, from left to right.
    smooth
        Number of derivatives that exist at the kinks; the rows above are NaN there.

    Examples
    --------
    >>> relu = piecewise([0.0], [line(0.0, 0.0), line(0.0, 1.0)])
    >>> print(relu(np.array([-2.0, 0.0, 2.0]), 1))
    [[ 0.  0.  2.]
     [ 0. nan  1.]]
    """

    def series(center: FloatArray, order: int) -> FloatArray:
        out = np.empty((order + 1, center.size))
        which = np.searchsorted(kinks, center)
        for index, piece in enumerate(pieces):
            mine = which == index
            out[:, mine] = piece(center[mine], order)
        out[smooth + 1 :, np.isin(center, kinks)] = np.nan
        return out

    return series


def tanh_of_series(inner: FloatArray, order: int) -> FloatArray:
    """Coefficients of y = tanh(w) from those of w, by y' = (1 - y²)·w'.

    Parameters
    ----------
    inner
        Coefficients of w, shape (k, h); the rows that are missing are zero.
    order
        Highest coefficient of the result.

    Returns
    -------
    ndarray
        Shape (order + 1, h).

    Examples
    --------
    >>> tanh_of_series(np.array([[0.0], [1.0]]), 3).ravel().round(4).tolist()
    [0.0, 1.0, 0.0, -0.3333]
    """
    y = np.zeros((order + 1, inner.shape[1]))
    rest = np.zeros_like(y)  # 1 - y²
    slope = inner[1:] * np.arange(1.0, len(inner))[:, None]
    small = np.exp(-2.0 * np.abs(inner[0]))
    y[0] = np.tanh(inner[0])
    rest[0] = 4.0 * small / (1.0 + small) ** 2  # 1 - tanh² would cancel to 0 at |w| > 19
    for n in range(order):
        if n:
            rest[n] = -np.einsum("ij,ij->j", y[: n + 1], y[n::-1])
        known = min(n + 1, len(slope))
        y[n + 1] = np.einsum("ij,ij->j", slope[:known], rest[n::-1][:known]) / (n + 1)
    return y + 0.0  # no negative zeros


def _integral(derivative: FloatArray, constant: FloatArray) -> FloatArray:
    powers = np.arange(1.0, len(derivative) + 1)[:, None]
    return np.vstack([constant[None], derivative / powers])


def _times_variable(factor: FloatArray, center: FloatArray) -> FloatArray:
    out = center * factor
    out[1:] += factor[:-1]
    return out


# ---- smooth activations, and softsign ----------------------------------------------------


def _tanh(center: FloatArray, order: int) -> FloatArray:
    """Series of tanh."""
    return tanh_of_series(np.stack([center, np.ones_like(center)]), order)


def _sigmoid(center: FloatArray, order: int) -> FloatArray:
    """Series of σ(x) = (1 + tanh(x/2))/2."""
    inner = np.stack([0.5 * center, np.full_like(center, 0.5)])
    return _sigmoid_of_twice(inner, order)


def _sigmoid_of_twice(inner: FloatArray, order: int) -> FloatArray:
    out = 0.5 * tanh_of_series(inner, order)
    out[0] = sigmoid(2.0 * inner[0])  # 1 + tanh would cancel in the left tail
    return out


def _softplus(center: FloatArray, order: int) -> FloatArray:
    """Series of softplus, the integral of σ."""
    return _integral(_sigmoid(center, order), softplus(center))[: order + 1]


def _log_sigmoid(center: FloatArray, order: int) -> FloatArray:
    """Series of log σ(x) = -softplus(-x)."""
    signs = (-1.0) ** np.arange(order + 1)[:, None]
    return -signs * _softplus(-center, order) + 0.0


def _arctan(center: FloatArray, order: int) -> FloatArray:
    """Series of arctan; its derivative g solves (1 + x²)·g = 1, a linear recurrence."""
    slope = np.zeros((order + 1, center.size))
    norm = 1.0 + center**2
    slope[0] = 1.0 / norm
    for n in range(1, order + 1):
        before = slope[n - 2] if n > 1 else 0.0
        slope[n] = -(2.0 * center * slope[n - 1] + before) / norm
    return _integral(slope, np.arctan(center))[: order + 1] + 0.0


def _gelu(center: FloatArray, order: int) -> FloatArray:
    """Series of x·Φ(x), with Φ' = φ and φ' = -x·φ."""
    density = gaussian_series(center, order, rate=1.0) / math.sqrt(2 * math.pi)
    cumulative = _integral(density, 0.5 + 0.5 * erf(center / math.sqrt(2)))
    return _times_variable(cumulative[: order + 1], center)


def _gelu_tanh(center: FloatArray, order: int) -> FloatArray:
    """Series of the tanh form of gelu."""
    ones = np.ones_like(center)
    cubic = [center**3, 3.0 * center**2, 3.0 * center, ones]
    inner = GELU_ROOT * GELU_CUBIC * np.stack(cubic)
    inner[:2] += GELU_ROOT * np.stack([center, ones])
    return _times_variable(_sigmoid_of_twice(inner, order), center)


def _silu(center: FloatArray, order: int) -> FloatArray:
    """Series of x·σ(x)."""
    return _times_variable(_sigmoid(center, order), center)


def _mish(center: FloatArray, order: int) -> FloatArray:
    """Series of x·tanh(softplus(x))."""
    return _times_variable(tanh_of_series(_softplus(center, order), order), center)


def _sin(center: FloatArray, order: int) -> FloatArray:
    """Series of sin."""
    sin, cos = np.sin(center), np.cos(center)
    cycle = np.stack([sin, cos, -sin, -cos])[np.arange(order + 1) % 4]
    return cycle * _inverse_factorials(order) + 0.0


def _exp(center: FloatArray, order: int) -> FloatArray:
    """Series of exp; infinite where exp itself overflows."""
    with np.errstate(over="ignore", invalid="ignore"):  # ∞ · 0 beyond order 170
        return np.exp(center) * _inverse_factorials(order)


def _inverse_factorials(order: int) -> FloatArray:
    return np.cumprod(1.0 / np.maximum(np.arange(order + 1.0), 1.0))[:, None]


def _softsign(center: FloatArray, order: int) -> FloatArray:
    """Series of x / (1 + |x|), geometric on either side of 0; at 0 only one derivative exists."""
    distance = 1.0 + np.abs(center)
    power = np.arange(order + 1.0)[:, None]
    out = distance ** -(power + 1.0) * np.where(center > 0, -1.0, 1.0) ** (power + 1.0)
    out[0] = center / distance
    out[2:, center == 0] = np.nan
    return out


SERIES: Mapping[str, Series] = MappingProxyType(
    {
        "arctan": _arctan,
        "exp": _exp,
        "gelu": _gelu,
        "gelu_tanh": _gelu_tanh,
        "log_sigmoid": _log_sigmoid,
        "mish": _mish,
        "sigmoid": _sigmoid,
        "silu": _silu,
        "sin": _sin,
        "softplus": _softplus,
        "softsign": _softsign,
        "tanh": _tanh,
    }
)


# ---- radii of convergence ----------------------------------------------------------------


def distance_to(*points: complex) -> Radius:
    """Distance from real centres to the nearest of some points; infinite without points.

    Parameters
    ----------
    points
        Complex singularities (one of each conjugate pair is enough) and real kinks.

    Examples
    --------
    >>> distance_to(4j)(np.array([0.0, 3.0])).tolist()
    [4.0, 5.0]
    >>> distance_to()(np.array([0.0, 3.0])).tolist()
    [inf, inf]
    """

    def radius(center: FloatArray) -> FloatArray:
        out = np.full(np.shape(center), np.inf)
        for point in points:
            out = np.minimum(out, np.hypot(center - point.real, point.imag))
        return out

    return radius


def gelu_tanh_radius(center: FloatArray) -> FloatArray:
    """Distance to the nearest pole of the tanh form of gelu, w(x) = (m + ½)πi.

    With x = A·sinh θ, A = 2/√(3a), the cubic x + a·x³ is (A/3)·sinh 3θ, so the poles in the
    first quadrant are x = A·sinh(τ + πi/6) with cosh 3τ = (2m + 1)·3π/(2A√(2/π)), m = 0, 1, …
    They lie on a hyperbola, whose point nearest to c has real part 3c/4: the nearest pole is
    one of its two neighbours on the curve.

    Examples
    --------
    >>> gelu_tanh_radius(np.array([0.0, 3.0])).round(4).tolist()
    [2.8269, 3.2649]
    """
    size = np.abs(center)
    amplitude = 2.0 / math.sqrt(3.0 * GELU_CUBIC)
    first = 1.5 * math.pi / (amplitude * GELU_ROOT)
    tau = np.arcsinh(0.75 * size / (amplitude * math.cos(math.pi / 6)))
    index = np.maximum(np.floor((np.cosh(3.0 * tau) / first - 1.0) / 2.0), 0.0)
    out = np.full(np.shape(size), np.inf)
    for m in (index, index + 1.0):
        pole = amplitude * np.sinh(np.arccosh((2.0 * m + 1.0) * first) / 3.0 + 1j * math.pi / 6)
        out = np.minimum(out, np.hypot(size - pole.real, pole.imag))
    return out
