"""The curves that a feature may go through before the algebra sees it.

Each function is one class: what it does to numbers, its slope, how it is written in a formula and
in every language of `nn2poly.export`, and how it is stored. A new one is added here and nowhere
else: write the class, and put it into `FUNCTIONS`. Every function may have bounds: a value
outside is held at the nearer one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import inf, isfinite, isinf, isnan
from sys import float_info
from typing import Any, ClassVar, NamedTuple

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.plain import plain_number

# Points of a table, at most: what is still written out in a formula (taste).
MAX_KNOTS = 64


class Power(NamedTuple):
    """A part of a function: sign · ((added + max(sign · x, 0))^exponent − 1) / exponent.

    Its limit for the exponent 0 is the logarithm. ``alone`` says that the bounds leave no other
    part, and sign · x is never negative.
    """

    sign: float
    added: float
    exponent: float
    alone: bool = False

    def base(self, x: FloatArray) -> FloatArray:
        """Give what is raised to the power."""
        return self.added + np.maximum(self.sign * x, 0.0)

    def values(self, x: FloatArray) -> FloatArray:
        """Give the part at every entry."""
        logarithm = np.log(self.base(x))
        if self.exponent == 0.0:
            return self.sign * logarithm
        # Of a small exponent, the difference of a power and 1 would lose its digits.
        return self.sign * np.expm1(self.exponent * logarithm) / self.exponent

    def slopes(self, x: FloatArray) -> FloatArray:
        """Give the derivative; at 0 that of the side of the sign."""
        inside = self.sign * x >= 0 if self.sign > 0 or self.alone else self.sign * x > 0
        slopes: FloatArray = np.where(inside, self.base(x) ** (self.exponent - 1.0), 0.0)
        return slopes


@dataclass(frozen=True)
class Function(ABC):
    """An increasing function of one number, held at its bounds.

    ``spelling`` says how each language of `nn2poly.export` writes it, with ``{x}`` for the
    argument, already held at the bounds; for SymPy it is the name of a function of the library.
    ``setup`` is a line that a language needs first: ``#include <math.h>`` in C, an import in
    Python (under a name that begins with an underscore, as no feature's does). ``onnx`` is the
    operator that applies it. ``added`` is a number that SymPy and ONNX add to the argument first.
    ``words`` say in a sentence what a column enters as.
    ``points`` are those of a function that is linear between them and held at the outer two, and
    ``powers`` those that a function is a sum of: a language without a spelling writes it from
    these.

    Parameters
    ----------
    low, high
        Bounds; infinite ones do not bind.
    """

    low: float = -inf
    high: float = inf

    kind: ClassVar[str]
    words: ClassVar[str] = "a function of itself"
    spelling: ClassVar[Mapping[str, str]] = {}
    setup: ClassVar[Mapping[str, str]] = {}
    onnx: ClassVar[str] = ""
    added: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        if isnan(self.low) or isnan(self.high) or not self.low < self.high:
            raise InvalidInputError(
                "The bounds of a column are empty.",
                expected="a low bound below the high one",
                found=f"{self.low} … {self.high}",
            )

    @abstractmethod
    def curve(self, x: FloatArray) -> FloatArray:
        """Apply the function to entries within the bounds."""

    @abstractmethod
    def curve_slopes(self, x: FloatArray) -> FloatArray:
        """Give its derivative at entries within the bounds."""

    @abstractmethod
    def text(self, name: str) -> str:
        """Write it as people read it: ``log(income)``."""

    @property
    def points(self) -> tuple[tuple[float, float], ...]:
        """The points (x, value) of a function that is linear between them; none for others."""
        return ()

    @property
    def powers(self) -> tuple[Power, ...]:
        """The powers that a function is the sum of, see `Power`; none for others."""
        return ()

    def template(self, language: str) -> str | None:
        """Give the spelling in a language, None where there is none."""
        return self.spelling.get(language)

    @property
    def is_bounded(self) -> bool:
        """Say that a bound binds."""
        return not (isinf(self.low) and isinf(self.high))

    def values(self, x: FloatArray) -> FloatArray:
        """Apply it to every entry."""
        return self.curve(np.clip(x, self.low, self.high)) if self.is_bounded else self.curve(x)

    def slopes(self, x: FloatArray) -> FloatArray:
        """Give its derivative at every entry; 0 outside the bounds."""
        inside = (x >= self.low) & (x <= self.high)
        slopes = self.curve_slopes(np.clip(x, self.low, self.high))
        return np.where(inside, slopes, 0.0)

    def image(self, low: float, high: float) -> tuple[float, float]:
        """Give the interval that an interval is mapped to."""
        ends = self.values(np.array([low, high], dtype=np.float64))
        return float(ends[0]), float(ends[1])

    def to_dict(self) -> dict[str, Any]:
        """Give plain data for a file; an infinite bound is None."""
        fields = {k: None if v in (-inf, inf) else v for k, v in asdict(self).items()}
        return {"kind": self.kind, **fields}


@dataclass(frozen=True)
class Identity(Function):
    """The feature as it is, within its bounds.

    Examples
    --------
    >>> Identity(high=3.0).values(np.array([2.0, 1e12])), Identity().text("rm")
    (array([2., 3.]), 'rm')
    """

    kind: ClassVar[str] = "identity"

    def curve(self, x: FloatArray) -> FloatArray:
        """Give every entry back."""
        return x

    def curve_slopes(self, x: FloatArray) -> FloatArray:
        """Give 1 everywhere."""
        return np.ones_like(x)

    def text(self, name: str) -> str:
        """Write the name alone."""
        return name


@dataclass(frozen=True)
class Log(Function):
    """The natural logarithm of a positive feature, for sizes and rates with a long tail.

    Examples
    --------
    >>> Log(low=1.0).values(np.array([-5.0, 1.0, np.e])), Log().text("pop")
    (array([0., 0., 1.]), 'log(pop)')
    """

    # The smallest number of full precision.
    low: float = float_info.min

    kind: ClassVar[str] = "log"
    words: ClassVar[str] = "its logarithm"
    onnx: ClassVar[str] = "Log"
    setup: ClassVar[Mapping[str, str]] = {
        "python": "from numpy import log as _log",
        "c": "#include <math.h>",
    }
    spelling: ClassVar[Mapping[str, str]] = {
        "python": "_log({x})",
        "c": "log({x})",
        "javascript": "Math.log({x})",
        "sql": "LN({x})",
        "excel": "LN({x})",
        "latex": r"\log({x})",
        "sympy": "log",
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_low(self.low, 0.0, "log")

    def curve(self, x: FloatArray) -> FloatArray:
        """Take the logarithm."""
        return np.log(x)

    def curve_slopes(self, x: FloatArray) -> FloatArray:
        """Give 1 / x."""
        return 1.0 / x

    def text(self, name: str) -> str:
        """Write log(name)."""
        return f"log({name})"


@dataclass(frozen=True)
class Log1p(Function):
    """The logarithm of 1 + x, for counts and amounts that may be 0.

    Examples
    --------
    >>> Log1p().values(np.array([-5.0, 0.0])), Log1p().text("gain")
    (array([0., 0.]), 'log1p(gain)')
    """

    low: float = 0.0

    kind: ClassVar[str] = "log1p"
    words: ClassVar[str] = "the logarithm of 1 + its value"
    onnx: ClassVar[str] = "Log"
    added: ClassVar[float] = 1.0
    setup: ClassVar[Mapping[str, str]] = {
        "python": "from numpy import log1p as _log1p",
        "c": "#include <math.h>",
    }
    spelling: ClassVar[Mapping[str, str]] = {
        "python": "_log1p({x})",
        "c": "log1p({x})",
        "javascript": "Math.log1p({x})",
        "sql": "LN(1e0+{x})",
        "excel": "LN(1+{x})",
        "latex": r"\log(1 + {x})",
        "sympy": "log",
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_low(self.low, -1.0, "log1p")

    def curve(self, x: FloatArray) -> FloatArray:
        """Take the logarithm of 1 + x."""
        return np.log1p(x)

    def curve_slopes(self, x: FloatArray) -> FloatArray:
        """Give 1 / (1 + x)."""
        return 1.0 / (1.0 + x)

    def text(self, name: str) -> str:
        """Write log1p(name)."""
        return f"log1p({name})"


@dataclass(frozen=True)
class Sqrt(Function):
    """The square root of a number that is not negative.

    Examples
    --------
    >>> Sqrt().values(np.array([-5.0, 9.0])), Sqrt().text("area")
    (array([0., 3.]), 'sqrt(area)')
    """

    low: float = 0.0

    kind: ClassVar[str] = "sqrt"
    words: ClassVar[str] = "its square root"
    onnx: ClassVar[str] = "Sqrt"
    setup: ClassVar[Mapping[str, str]] = {
        "python": "from numpy import sqrt as _sqrt",
        "c": "#include <math.h>",
    }
    spelling: ClassVar[Mapping[str, str]] = {
        "python": "_sqrt({x})",
        "c": "sqrt({x})",
        "javascript": "Math.sqrt({x})",
        "sql": "SQRT({x})",
        "excel": "SQRT({x})",
        "latex": r"\sqrt{{{x}}}",
        "sympy": "sqrt",
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_low(self.low, -float_info.min, "sqrt")

    def curve(self, x: FloatArray) -> FloatArray:
        """Take the square root."""
        return np.sqrt(x)

    def curve_slopes(self, x: FloatArray) -> FloatArray:
        """Give 1 / (2 sqrt(x)), which has no end at 0."""
        with np.errstate(divide="ignore"):
            return 0.5 / np.sqrt(x)

    def text(self, name: str) -> str:
        """Write sqrt(name)."""
        return f"sqrt({name})"


@dataclass(frozen=True)
class Tabled(Function):
    """An increasing function that is linear between the points of a small table.

    Parameters
    ----------
    low, high
        The outer knots; may be left out.
    knots, shares
        The points of the table, both increasing.
    """

    knots: tuple[float, ...] = ()
    shares: tuple[float, ...] = ()

    setup: ClassVar[Mapping[str, str]] = {"python": "from numpy import interp as _interp"}

    def __post_init__(self) -> None:
        sizes = (len(self.knots), len(self.shares))
        if sizes[0] != sizes[1] or not 2 <= sizes[0] <= MAX_KNOTS:
            raise self._bad_table(
                f"as many knots as shares, 2 to {MAX_KNOTS}", f"{sizes[0]} and {sizes[1]}"
            )
        for values in (self.knots, self.shares):
            if not (np.all(np.isfinite(values)) and np.all(np.diff(values) > 0)):
                raise self._bad_table("finite and increasing numbers", str(values))
        # Left out, the bounds are the outer knots; a frozen object has no other way to say so.
        for name, end, knot in (("low", -inf, self.knots[0]), ("high", inf, self.knots[-1])):
            if getattr(self, name) == end:
                object.__setattr__(self, name, knot)
        if (self.low, self.high) != (self.knots[0], self.knots[-1]):
            raise self._bad_table(
                f"bounds at the outer knots, {self.knots[0]} … {self.knots[-1]}",
                f"{self.low} … {self.high}",
            )

    def _bad_table(self, expected: str, found: str) -> InvalidInputError:
        return InvalidInputError(
            f"The table of a {self.kind} cannot be used.",
            where="knots and shares",
            expected=expected,
            found=found,
        )

    @property
    def points(self) -> tuple[tuple[float, float], ...]:
        """The table."""
        return tuple(zip(self.knots, self.shares, strict=True))

    def template(self, language: str) -> str | None:
        """Give the spelling with the table in it, where that is not written from the points."""
        if language == "latex":
            return rf"\operatorname{{{{{self.kind}}}}}({{x}})"
        if language == "python":
            return f"_interp({{x}}, {self.knots}, {self.shares})"
        return None

    def curve(self, x: FloatArray) -> FloatArray:
        """Look the share up."""
        values: FloatArray = np.interp(x, self.knots, self.shares)
        return values

    def curve_slopes(self, x: FloatArray) -> FloatArray:
        """Give the slope of the piece that a value lies on; at a knot, of the one to the right."""
        slopes = np.diff(self.shares) / np.diff(self.knots)
        pieces = np.searchsorted(self.knots, x, side="right") - 1
        result: FloatArray = slopes[np.clip(pieces, 0, len(slopes) - 1)]
        return result

    def text(self, name: str) -> str:
        """Write rank(name) or curve(name)."""
        return f"{self.kind}({name})"


@dataclass(frozen=True)
class Rank(Tabled):
    """The share of a sample below a value, linear between the points of a small table.

    Examples
    --------
    >>> rank = Rank(knots=(0.0, 1.0, 10.0), shares=(0.0, 0.5, 1.0))
    >>> rank.values(np.array([-3.0, 0.5, 5.5, 1e12])), rank.text("income")
    (array([0.  , 0.25, 0.75, 1.  ]), 'rank(income)')
    """

    kind: ClassVar[str] = "rank"
    words: ClassVar[str] = "its rank in the sample"


@dataclass(frozen=True)
class Curve(Tabled):
    """An increasing curve that was fitted to what a network does, from 0 to 1.

    Examples
    --------
    >>> Curve(knots=(0.0, 1.0, 10.0), shares=(0.0, 0.9, 1.0)).values(np.array([0.5, 1e12]))
    array([0.45, 1.  ])
    """

    kind: ClassVar[str] = "curve"
    words: ClassVar[str] = "a curve of its values"


# How languages write the absolute value, a power and a logarithm.
POWER_WORDS = {
    "python": ("abs({t})", "({t})**{p}", "_log({t})"),
    "c": ("fabs({t})", "pow({t}, {p})", "log({t})"),
    "javascript": ("Math.abs({t})", "Math.pow({t}, {p})", "Math.log({t})"),
    "sql": ("ABS({t})", "POWER({t},{p})", "LN({t})"),
    "excel": ("ABS({t})", "({t})^{p}", "LN({t})"),
}


@dataclass(frozen=True)
class BoxCox(Function):
    """The Box-Cox power of a positive feature, (x^λ − 1) / λ.

    Parameters
    ----------
    low, high
        Bounds; the low one is above 0.
    power
        The exponent λ, not 0: that is the logarithm.

    Examples
    --------
    >>> BoxCox(power=2.0).values(np.array([1.0, 3.0])), BoxCox(power=0.25).text("income")
    (array([0., 4.]), 'boxcox(income, 0.25)')
    """

    low: float = float_info.min
    power: float = 1.0

    kind: ClassVar[str] = "boxcox"
    words: ClassVar[str] = "its Box-Cox power"
    setup: ClassVar[Mapping[str, str]] = {"c": "#include <math.h>"}

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_low(self.low, 0.0, "boxcox")
        _check_power(self.power)
        if self.power == 0.0:
            raise _bad_power("a power other than 0, which is the logarithm", self.power)

    @property
    def powers(self) -> tuple[Power, ...]:
        """The one power."""
        return (Power(1.0, 0.0, self.power, alone=True),)

    def template(self, language: str) -> str | None:
        """Write the power out."""
        return _power_template(self.powers, language)

    def curve(self, x: FloatArray) -> FloatArray:
        """Give (x^λ − 1) / λ."""
        return self.powers[0].values(x)

    def curve_slopes(self, x: FloatArray) -> FloatArray:
        """Give x^(λ − 1)."""
        return self.powers[0].slopes(x)

    def text(self, name: str) -> str:
        """Write boxcox(name, λ)."""
        return f"boxcox({name}, {self.power:.4g})"


@dataclass(frozen=True)
class YeoJohnson(Function):
    """The Yeo-Johnson power: of 1 + x with λ above 0, of 1 − x with 2 − λ below, mirrored.

    Yeo & Johnson (2000), equation 2.1.

    Parameters
    ----------
    low, high
        Bounds; infinite ones do not bind.
    power
        The exponent λ.

    Examples
    --------
    >>> YeoJohnson(power=0.5).values(np.array([-3.0, 0.0, 3.0]))
    array([-4.66666667,  0.        ,  2.        ])
    >>> YeoJohnson(power=0.5).text("gain")
    'yeojohnson(gain, 0.5)'
    """

    power: float = 1.0

    kind: ClassVar[str] = "yeojohnson"
    words: ClassVar[str] = "its Yeo-Johnson power"
    setup: ClassVar[Mapping[str, str]] = {
        "python": "from numpy import log as _log",
        "c": "#include <math.h>",
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_power(self.power)

    @property
    def powers(self) -> tuple[Power, ...]:
        """The power above 0 and the one below, as far as the bounds reach."""
        sides = [] if self.high <= 0.0 else [Power(1.0, 1.0, self.power, self.low >= 0.0)]
        below = Power(-1.0, 1.0, 2.0 - self.power, self.high <= 0.0)
        return tuple(sides if self.low >= 0.0 else [*sides, below])

    def template(self, language: str) -> str | None:
        """Write the powers out."""
        return _power_template(self.powers, language)

    def curve(self, x: FloatArray) -> FloatArray:
        """Add the two powers, one of which is 0."""
        return np.asarray(sum(power.values(x) for power in self.powers))

    def curve_slopes(self, x: FloatArray) -> FloatArray:
        """Give the slope of the power that is not 0."""
        return np.asarray(sum(power.slopes(x) for power in self.powers))

    def text(self, name: str) -> str:
        """Write yeojohnson(name, λ)."""
        return f"yeojohnson({name}, {self.power:.4g})"


def _power_template(powers: tuple[Power, ...], language: str) -> str | None:
    """Write a sum of powers of ``{x}``; None in a language that has no words for them.

    Examples
    --------
    >>> _power_template(BoxCox(power=0.5).powers, "c")
    '((pow({x}, 0.5) - 1.0)/0.5)'
    """
    if language not in POWER_WORDS:
        return None
    absolute, power, logarithm = POWER_WORDS[language]
    text = ""
    for sign, added, exponent, alone in powers:
        mark = "-" if sign < 0 else "+"
        # The positive part of ±x, without a choice: (|x| ± x) / 2 is exact.
        both = f"{_plain(0.5, language)}*({absolute.replace('{t}', '{x}')} {mark} {{x}})"
        base = f"{_plain(added, language)} + {both}"
        if alone:
            base = f"{_plain(added, language)} {mark} {{x}}" if added else "{x}"
        p, one = _plain(exponent, language), _plain(1.0, language)
        part = f"({power} - {one})/{p}" if exponent else logarithm
        text += "" if sign > 0 else " - " if text else "-"
        text += part.replace("{t}", base).replace("{p}", p)
    return f"({text})"


def _plain(value: float, language: str) -> str:
    """Write a number that every language reads as one of double precision."""
    text = repr(value)
    if language == "sql" and "e" not in text:
        text += "e0"
    text = text.upper() if language == "excel" else text
    return f"({text})" if value < 0 else text


def _check_power(power: float) -> None:
    if not isinstance(power, float) or not isfinite(power):
        raise _bad_power("a finite power", power)


def _bad_power(expected: str, found: object) -> InvalidInputError:
    return InvalidInputError(
        "The power of a column cannot be used.",
        where="power",
        expected=expected,
        found=str(found),
    )


def _check_low(low: float, limit: float, kind: str) -> None:
    if not low > limit:
        raise InvalidInputError(
            f"The function {kind} needs a bound.",
            where="low",
            expected=f"a low bound above {limit:g}",
            found=str(low),
        )


IDENTITY = Identity()
FUNCTIONS: dict[str, type[Function]] = {
    cls.kind: cls for cls in (Identity, Log, Log1p, Sqrt, Rank, Curve, BoxCox, YeoJohnson)
}


def function_from(data: Any) -> Function:
    """Rebuild a function from `Function.to_dict`, refusing kinds that are not known.

    Examples
    --------
    >>> function_from({"kind": "identity", "low": 0.0, "high": None})
    Identity(low=0.0, high=inf)
    """
    if not isinstance(data, dict):
        raise ValueError("a function is not an object")
    fields = dict(data)
    kind = fields.pop("kind", None)
    if not isinstance(kind, str) or kind not in FUNCTIONS:
        raise InvalidInputError(
            "A column goes through a function that this nn2poly does not know.",
            expected=f"one of {', '.join(FUNCTIONS)}",
            found=repr(kind),
            remedy="upgrade nn2poly: pip install --upgrade nn2poly",
        )
    for bound, endless in (("low", -inf), ("high", inf)):
        given = fields.get(bound)
        fields[bound] = endless if given is None else plain_number(given)
    for name, value in fields.items():
        if isinstance(value, list):
            fields[name] = tuple(plain_number(entry) for entry in value)
    return FUNCTIONS[kind](**fields)
