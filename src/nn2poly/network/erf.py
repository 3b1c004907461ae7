"""Values that NumPy lacks: erf without SciPy, and the smooth activations that need care.

erf is a table of Taylor expansions on a fine grid, looked up at the nearest point and summed.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import numpy.typing as npt

from nn2poly.arrays import FloatArray

__all__ = [
    "GELU_CUBIC",
    "GELU_ROOT",
    "erf",
    "gaussian_series",
    "gelu",
    "gelu_tanh",
    "sigmoid",
    "softplus",
]


# gelu_tanh is x·σ(2w) with w = GELU_ROOT·(x + GELU_CUBIC·x³)
GELU_ROOT = math.sqrt(2 / math.pi)
GELU_CUBIC = 0.044715

_LIMIT = 6.0  # 1 - erf(6) = 2e-17: beyond it erf is 1 in double precision
_STEPS = 128  # grid points per unit; a power of two makes the offsets exact
_ORDER = 6  # the seventh coefficient is at most 0.03, times (1/256)^7: below 1e-18
_BLOCK = 1 << 14  # the temporaries of one block stay in the cache


def erf(values: npt.ArrayLike) -> FloatArray:
    """Error function, 2/√π ∫₀ˣ exp(-s²) ds, to about one unit in the last place.

    Parameters
    ----------
    values
        Real numbers, any shape. NaN stays NaN.

    Returns
    -------
    ndarray
        Same shape.

    Examples
    --------
    >>> print(erf([-1.0, 0.0, 0.5, 40.0]).round(6))
    [-0.842701  0.        0.5205    1.      ]
    """
    points = np.asarray(values, dtype=np.float64)
    flat = points.ravel()
    out = np.empty_like(flat)
    for start in range(0, flat.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        out[block] = _erf_block(flat[block])
    return out.reshape(points.shape)


def gaussian_series(center: FloatArray, order: int, rate: float) -> FloatArray:
    """Taylor coefficients of g(x) = exp(-rate·x²/2) by its equation g' = -rate·x·g.

    Parameters
    ----------
    center
        Centres, shape (h,).
    order
        Highest coefficient.
    rate
        1 for the normal density (unnormalised), 2 for the integrand of erf.

    Returns
    -------
    ndarray
        Shape (order + 1, h).

    Examples
    --------
    >>> gaussian_series(np.array([0.0]), 4, rate=2.0).ravel().tolist()
    [1.0, 0.0, -1.0, 0.0, 0.5]
    """
    out = np.zeros((order + 1, center.size))
    out[0] = np.exp(-0.5 * rate * center**2)
    for n in range(order):
        before = out[n - 1] if n else 0.0
        out[n + 1] = -rate * (center * out[n] + before) / (n + 1)
    return out + 0.0  # no negative zeros


def sigmoid(x: FloatArray) -> FloatArray:
    """1 / (1 + exp(-x)), from exp(-|x|), which cannot overflow.

    Examples
    --------
    >>> print(sigmoid(np.array([-1000.0, 0.0, 1000.0])))
    [0.  0.5 1. ]
    """
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1.0 + small)


def softplus(x: FloatArray) -> FloatArray:
    """Return log(1 + exp(x)), accurate in both tails.

    Examples
    --------
    >>> print(softplus(np.array([-1000.0, 0.0, 1000.0])).round(4))
    [0.000e+00 6.931e-01 1.000e+03]
    """
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


def gelu(x: FloatArray) -> FloatArray:
    """x·Φ(x), Φ the normal distribution function.

    Examples
    --------
    >>> print(gelu(np.array([-1.0, 0.0, 1.0])).round(4))
    [-0.1587  0.      0.8413]
    """
    return 0.5 * x * (1.0 + erf(x / math.sqrt(2)))


def gelu_tanh(x: FloatArray) -> FloatArray:
    """x/2·(1 + tanh w), the tanh form of gelu, as x·σ(2w), which does not cancel at the left.

    Examples
    --------
    >>> print(gelu_tanh(np.array([-1.0, 0.0, 1.0])).round(4))
    [-0.1588  0.      0.8412]
    """
    return x * sigmoid(2 * GELU_ROOT * x * (1.0 + GELU_CUBIC * x * x))


@functools.cache
def _table() -> FloatArray:
    grid = np.arange(int(_LIMIT * _STEPS) + 1) / _STEPS
    table = np.empty((_ORDER + 1, grid.size))
    table[0] = [math.erf(point) for point in grid]
    powers = np.arange(1, _ORDER + 1)[:, None]
    table[1:] = 2 / math.sqrt(math.pi) * gaussian_series(grid, _ORDER - 1, rate=2.0) / powers
    return table


def _erf_block(points: FloatArray) -> FloatArray:
    table = _table()
    size = np.minimum(np.abs(points), _LIMIT)
    # fmin sends NaN to the last grid point, since NaN has no integer; the offset stays NaN.
    nearest = np.rint(np.fmin(size, _LIMIT) * _STEPS).astype(np.intp)
    offset = size - nearest / _STEPS
    total = table[-1].take(nearest)
    for row in table[-2::-1]:
        total *= offset
        total += row.take(nearest)
    signed: FloatArray = np.copysign(total, points)
    return signed
