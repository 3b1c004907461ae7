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
import math
import numbers
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.network.activation import Activation, Function, Parameters
from nn2poly.network.erf import gelu, gelu_tanh, sigmoid, softplus
from nn2poly.network.series import (
    SERIES,
    distance_to,
    expm1_series,
    gelu_tanh_radius,
    line,
    piecewise,
)

__all__ = ["ACTIVATIONS", "Activation", "activation", "activation_names"]

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


# Klambauer et al. (2017), to double precision.
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


def from_table(name: str, parameters: Parameters) -> Activation:
    """Rebuild an entry of the table from its name and parameters, as unpickling does."""
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
