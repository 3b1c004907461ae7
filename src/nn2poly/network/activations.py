"""The activations: one table of function, series, radius and turning points.

The numerics are in `series` and `erf`; here they get names, parameters and checks.

Examples
--------
>>> ACTIVATIONS["elu"](alpha=0.5)
Activation("elu", alpha=0.5)
"""

from __future__ import annotations

import difflib
import inspect
import json
import math
import numbers
import operator
import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from nn2poly.errors import InvalidInputError, NoSeriesError
from nn2poly.network.erf import gelu, gelu_tanh, sigmoid, softplus
from nn2poly.network.series import (
    SERIES,
    Radius,
    Series,
    distance_to,
    expm1_series,
    gelu_tanh_radius,
    line,
    piecewise,
)

__all__ = ["ACTIVATIONS", "Activation", "activation", "activation_names"]

FloatArray = npt.NDArray[np.float64]
Function = Callable[[FloatArray], FloatArray]
Parameters = tuple[tuple[str, float], ...]


@dataclass(frozen=True, eq=False, repr=False)
class Activation:
    """A function applied to each potential, with what the expansions need to know about it.

    Two activations are equal when name and parameters are, and for custom ones the function.

    Parameters
    ----------
    name
        The name in the table, or that of the callable.
    function
        Vectorised over any shape.
    series
        (centres (h,), order q) → (q + 1, h) Taylor coefficients f⁽ⁿ⁾(c)/n!, with NaN from the
        first derivative that does not exist at a centre. None: no series is known.
    radius
        Radius of convergence at real centres: the distance to the nearest complex singularity
        or real kink, infinite for entire functions, NaN when unknown.
    turning_points
        Where the function stops falling and starts rising, or the reverse; None: unknown.
    parameters
        Pairs of name and value, defaults included.
    period
        The turning points repeat with this period.
    custom
        False only for the entries of the table.

    Examples
    --------
    >>> silu = activation("silu")
    >>> silu
    Activation("silu")
    >>> print(silu([-1.0, 0.0, 1.0]).round(4))
    [-0.2689  0.      0.7311]
    """

    name: str
    function: Function
    series: Series | None
    radius: Radius
    turning_points: tuple[float, ...] | None = ()
    parameters: Parameters = ()
    period: float | None = None
    custom: bool = True

    def __call__(self, potential: npt.ArrayLike) -> FloatArray:
        """Apply the function to potentials of any shape."""
        return np.asarray(self.function(np.asarray(potential, dtype=np.float64)))

    def taylor(self, center: npt.ArrayLike, order: int) -> FloatArray:
        """Return the Taylor coefficients at each centre, or say why there are none.

        Parameters
        ----------
        center
            A number, or one per neuron, shape (h,).
        order
            Highest power, 0 or more.

        Returns
        -------
        ndarray
            Shape (order + 1, h): row n holds f⁽ⁿ⁾(c)/n!.

        Raises
        ------
        NoSeriesError
            At a kink, where a coefficient overflows, or for a custom function.

        Examples
        --------
        >>> activation("tanh").taylor(0.0, 3).ravel().round(4).tolist()
        [0.0, 1.0, 0.0, -0.3333]
        """
        centers, order = self._checked_centers(center), self._checked_order(order)
        if self.series is None:
            raise self._no_series(order, "a custom function, of which only values are known")
        out = self.series(centers, order)
        if not (good := np.isfinite(out).all(axis=0)).all():
            bad = np.unique(centers[~good])
            found = f"none at {', '.join(map(repr, bad[:5].tolist()))}{' …' * (bad.size > 5)}"
            raise self._no_series(order, found)
        return out

    def image(self, low: npt.ArrayLike, high: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the least and the greatest value over each interval [low, high].

        Examples
        --------
        >>> low, high = activation("silu").image([-5.0, 0.0], [1.0, 1.0])
        >>> low.round(4).tolist(), high.round(4).tolist()
        ([-0.2785, 0.0], [0.7311, 0.7311])
        """
        low, high = self._checked_interval(low, high)
        ends = self(low), self(high)
        least, greatest = np.minimum(*ends), np.maximum(*ends)
        for point in self.turning_points or ():
            cycles = 0.0 if self.period is None else np.ceil((low - point) / self.period)
            first = point + cycles * (self.period or 0.0)
            inside = (low <= first) & (first <= high)
            value = self(point)
            least = np.where(inside, np.minimum(least, value), least)
            greatest = np.where(inside, np.maximum(greatest, value), greatest)
        return least, greatest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Activation) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        parts = [json.dumps(self.name), *(f"{name}={value}" for name, value in self.parameters)]
        return f"Activation({', '.join(parts + ['custom=True'] * self.custom)})"

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        # The closures of the table do not pickle; their names do.
        if self.custom:
            return super().__reduce_ex__(protocol)
        return _from_table, (self.name, self.parameters)

    def _key(self) -> tuple[Hashable, ...]:
        return self.name, self.parameters, self.function if self.custom else None

    def _checked_centers(self, center: npt.ArrayLike) -> FloatArray:
        centers = np.atleast_1d(np.asarray(center, dtype=np.float64))
        if centers.ndim == 1 and np.isfinite(centers).all():
            return centers
        raise InvalidInputError(
            "A series needs finite centres.",
            where=f"{self!r}.taylor",
            expected="a finite number, or a vector with one per neuron",
            found=f"shape {centers.shape}, {np.sum(~np.isfinite(centers))} not finite",
            remedy="check the weights and the point of expansion for NaN and infinities",
        )

    def _checked_order(self, order: int) -> int:
        if hasattr(order, "__index__") and operator.index(order) >= 0:
            return operator.index(order)
        raise InvalidInputError(
            "The order of a series must be an integer, 0 or more.",
            where=f"{self!r}.taylor",
            found=repr(order),
            remedy="pass for example 8",
        )

    def _checked_interval(
        self, low: npt.ArrayLike, high: npt.ArrayLike
    ) -> tuple[FloatArray, FloatArray]:
        low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        where = f"{self!r}.image"
        if self.turning_points is None:
            raise InvalidInputError(
                "The image of an interval is not known for a custom function.",
                where=where,
                remedy="build an Activation with turning_points=(), or those it has",
            )
        if not (np.isfinite(high - low) & (low <= high)).all():
            raise InvalidInputError(
                "The intervals are not in order.",
                where=where,
                expected="finite ends with low <= high everywhere",
                remedy="check for NaN and infinities, and swap the ends if need be",
            )
        return low, high

    def _no_series(self, order: int, found: str) -> NoSeriesError:
        return NoSeriesError(
            f"The activation {self.name} has no Taylor series here.",
            where=repr(self),
            expected=f"finite derivatives up to order {order} at each centre",
            found=found,
            remedy='pass data, for method="calibrated", which needs no derivative; '
            "or expand around another centre",
        )


# ---- entries without parameters ----------------------------------------------------------


def _smooth(
    name: str, function: Function, *singular: complex, turning: tuple[float, ...] = ()
) -> Activation:
    return Activation(name, function, SERIES[name], distance_to(*singular), turning, custom=False)


def _exp(x: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):  # infinite beyond 709.78, as in every framework
        return np.exp(x)


def _clipped(
    name: str, kinks: tuple[float, float], slope: float, intercept: float, fixed: Parameters = ()
) -> Activation:
    low, high = (intercept + slope * kink for kink in kinks)
    pieces = [line(low, 0.0), line(intercept, slope), line(high, 0.0)]

    def function(x: FloatArray) -> FloatArray:
        return np.clip(intercept + slope * x, low, high)

    series, radius = piecewise(kinks, pieces), distance_to(*kinks)
    return Activation(name, function, series, radius, parameters=fixed, custom=False)


def _exponential_unit(
    name: str, slope: float, amplitude: float, rate: float, smooth: int, fixed: Parameters = ()
) -> Activation:
    def function(x: FloatArray) -> FloatArray:
        return np.where(x > 0, slope * x, amplitude * np.expm1(rate * np.minimum(x, 0.0)))

    pieces = [expm1_series(amplitude, rate), line(0.0, slope)]
    series, radius = piecewise([0.0], pieces, smooth=smooth), distance_to(0.0)
    return Activation(name, function, series, radius, parameters=fixed, custom=False)


def _rectifier(name: str, slope: float, fixed: Parameters = ()) -> Activation:
    def function(x: FloatArray) -> FloatArray:
        return np.where(x > 0, x, slope * x) if slope else np.maximum(x, 0.0)

    kinks, pieces = [0.0], [line(0.0, slope), line(0.0, 1.0)]
    if slope == 1.0:
        kinks, pieces = [], pieces[:1]
    turning = (0.0,) if slope < 0 else ()
    series, radius = piecewise(kinks, pieces), distance_to(*kinks)
    return Activation(name, function, series, radius, turning, fixed, custom=False)


_SELU_SCALE, _SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
_POLE_OF_SIGMOID = 1j * math.pi
_POLE_OF_MISH = complex(math.log(2) / 2, 0.75 * math.pi)  # where (1 + exp x)² = -1

_WITHOUT_PARAMETERS = (
    _smooth("arctan", np.arctan, 1j),
    _smooth("exp", _exp),
    _smooth("gelu", gelu, turning=(-0.75179152469356446,)),
    replace(
        _smooth("gelu_tanh", gelu_tanh, turning=(-0.75246142207101626,)), radius=gelu_tanh_radius
    ),
    _clipped("hard_sigmoid", (-3.0, 3.0), 1 / 6, 0.5),
    Activation("linear", np.positive, line(0.0, 1.0), distance_to(), custom=False),
    _smooth("log_sigmoid", lambda x: -softplus(-x), _POLE_OF_SIGMOID),
    _smooth(
        "mish", lambda x: x * np.tanh(softplus(x)), _POLE_OF_MISH, turning=(-1.1924312145154952,)
    ),
    _rectifier("relu", 0.0),
    _clipped("relu6", (0.0, 6.0), 1.0, 0.0),
    _exponential_unit("selu", _SELU_SCALE, _SELU_SCALE * _SELU_ALPHA, 1.0, smooth=0),
    _smooth("sigmoid", sigmoid, _POLE_OF_SIGMOID),
    _smooth("silu", lambda x: x * sigmoid(x), _POLE_OF_SIGMOID, turning=(-1.2784645427610738,)),
    replace(_smooth("sin", np.sin, turning=(-math.pi / 2, math.pi / 2)), period=math.tau),
    _smooth("softsign", lambda x: x / (1.0 + np.abs(x)), 0.0),
    _smooth("tanh", np.tanh, 0.5j * math.pi),
)


# ---- entries with parameters: the signature is the list of what is accepted --------------


def _celu(alpha: float = 1.0) -> Activation:
    _require(alpha > 0, "celu", "alpha", "a positive number", alpha)
    return _exponential_unit("celu", 1.0, alpha, 1.0 / alpha, 1, (("alpha", alpha),))


def _elu(alpha: float = 1.0) -> Activation:
    _require(alpha >= 0, "elu", "alpha", "0 or more", alpha)
    smooth = 1 if alpha == 1.0 else 0  # both slopes at 0 are 1
    return _exponential_unit("elu", 1.0, alpha, 1.0, smooth, (("alpha", alpha),))


def _hard_tanh(min_val: float = -1.0, max_val: float = 1.0) -> Activation:
    _require(min_val < max_val, "hard_tanh", "max_val", f"more than min_val={min_val}", max_val)
    fixed = (("min_val", min_val), ("max_val", max_val))
    return _clipped("hard_tanh", (min_val, max_val), 1.0, 0.0, fixed)


def _leaky_relu(negative_slope: float = 0.01) -> Activation:
    return _rectifier("leaky_relu", negative_slope, (("negative_slope", negative_slope),))


def _softplus(beta: float = 1.0) -> Activation:
    _require(beta > 0, "softplus", "beta", "a positive number", beta)

    def function(x: FloatArray) -> FloatArray:
        return softplus(beta * x) / beta

    def series(center: FloatArray, order: int) -> FloatArray:
        return SERIES["softplus"](beta * center, order) * beta ** np.arange(-1.0, order)[:, None]

    radius, fixed = distance_to(_POLE_OF_SIGMOID / beta), (("beta", beta),)
    return Activation("softplus", function, series, radius, parameters=fixed, custom=False)


def _require(holds: bool, name: str, parameter: str, expected: str, found: object) -> None:
    if not holds:
        raise InvalidInputError(
            f"The activation {name} cannot have this {parameter}.",
            where=f"activation({name!r}, {parameter}=…)",
            expected=expected,
            found=repr(found),
            remedy=f"change {parameter}, or leave it out for the default",
        )


def _constant(entry: Activation) -> Callable[[], Activation]:
    def factory() -> Activation:
        return entry

    return factory


ACTIVATIONS: Mapping[str, Callable[..., Activation]] = MappingProxyType(
    {
        **{entry.name: _constant(entry) for entry in _WITHOUT_PARAMETERS},
        "celu": _celu,
        "elu": _elu,
        "hard_tanh": _hard_tanh,
        "leaky_relu": _leaky_relu,
        "softplus": _softplus,
    }
)

# ---- lookup ------------------------------------------------------------------------------

_SYNONYMS = {
    "atan": "arctan",
    "exponential": "exp",
    "expit": "sigmoid",
    "gelunew": "gelu_tanh",
    "identity": "linear",
    "logistic": "sigmoid",
    "none": "linear",
    "sine": "sin",
    "swish": "silu",
}
_BY_KEY = _SYNONYMS | {name.replace("_", ""): name for name in ACTIVATIONS}


def activation_names() -> tuple[str, ...]:
    """Return the names in the table, in alphabetical order.

    Examples
    --------
    >>> activation_names()[:4]
    ('arctan', 'celu', 'elu', 'exp')
    """
    return tuple(sorted(ACTIVATIONS))


def activation(spec: str | Activation | Function, **parameters: float) -> Activation:
    """Look an activation up by name, or wrap a function of your own.

    Parameters
    ----------
    spec
        A name of the table or a synonym, where case, ``-`` and ``_`` do not matter; or an
        `Activation`, returned as it is; or a vectorised function, which gets no series.
    **parameters
        Of a named activation, for example ``negative_slope=0.2``.

    Raises
    ------
    InvalidInputError
        For an unknown name, an unknown parameter or an inadmissible value.

    Examples
    --------
    >>> activation("LeakyReLU", negative_slope=0.2)
    Activation("leaky_relu", negative_slope=0.2)
    >>> activation("swish") == activation("silu")
    True
    >>> activation(np.cbrt)
    Activation("cbrt", custom=True)
    """
    if isinstance(spec, str):
        name = _canonical_name(spec)
        return ACTIVATIONS[name](**_checked_parameters(name, parameters))
    if not callable(spec):
        raise InvalidInputError(
            "This is not an activation.",
            where="activation",
            expected="a name, an Activation or a vectorised function",
            found=f"{spec!r} ({type(spec).__name__})",
            remedy='pass a name, for example "tanh", or "linear" for none',
        )
    if parameters:
        raise InvalidInputError(
            "Only named activations take parameters.",
            where=f"activation({spec!r}, …)",
            found=", ".join(parameters),
            remedy="pass the name, or a function with its parameters filled in",
        )
    return spec if isinstance(spec, Activation) else _custom(spec)


def _from_table(name: str, parameters: Parameters) -> Activation:
    return activation(name, **dict(parameters))


def _canonical_name(spec: str) -> str:
    key = re.sub(r"[-_\s]", "", spec).lower()
    if key in _BY_KEY:
        return _BY_KEY[key]
    near = dict.fromkeys(_BY_KEY[match] for match in difflib.get_close_matches(key, _BY_KEY))
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    raise InvalidInputError(
        "Unknown activation.",
        where="activation",
        found=repr(spec),
        remedy=f"{hint}known are {', '.join(activation_names())}; or pass a vectorised function",
    )


def _checked_parameters(name: str, parameters: Mapping[str, Any]) -> dict[str, float]:
    accepted = inspect.signature(ACTIVATIONS[name]).parameters
    for parameter, value in parameters.items():
        if parameter not in accepted:
            raise InvalidInputError(
                f"The activation {name} has no parameter {parameter!r}.",
                where=f"activation({name!r}, {parameter}=…)",
                expected=", ".join(accepted) or "no parameters",
                found=parameter,
                remedy="correct the spelling, or leave it out",
            )
        number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        finite = number and math.isfinite(value)
        _require(finite, name, parameter, "a finite number", value)
    return {parameter: float(value) for parameter, value in parameters.items()}


# ---- functions of the user ---------------------------------------------------------------


def _custom(function: Function) -> Activation:
    name = getattr(function, "__name__", type(function).__name__)
    return Activation(name, _Checked(function, name), None, _unknown_radius, None)


def _unknown_radius(center: FloatArray) -> FloatArray:
    return np.full(np.shape(center), np.nan)


@dataclass(frozen=True)
class _Checked:
    """A function of the user, whose every result is checked; it pickles if the function does."""

    function: Function
    name: str

    def __call__(self, x: FloatArray) -> FloatArray:
        try:
            out = np.asarray(self.function(x))
        except (TypeError, ValueError) as error:
            raise self._error(x, f"{type(error).__name__}: {error}") from error
        if out.shape != x.shape or out.dtype.kind != "f":
            raise self._error(x, f"shape {out.shape} of {out.dtype}")
        if not (finite := np.isfinite(out)).all():
            raise self._error(x, f"{out[~finite][0]} at {x[~finite][0]}")
        return out.astype(np.float64, copy=False)

    def _error(self, x: FloatArray, found: str) -> InvalidInputError:
        return InvalidInputError(
            f"The custom activation {self.name} gave values that cannot be used.",
            where=f"activation({self.name})",
            expected=f"finite floats of shape {x.shape}, the shape of its argument",
            found=found,
            remedy="write it with NumPy functions, which work on whole arrays, and cover all reals",
        )
