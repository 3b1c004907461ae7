"""`Options`: what a conversion can be asked for, with the default, the check and the text of each.

Every entry point takes its options from here: as keywords, whose types are those of the
`TypedDict`s below, and with the texts of `Options`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypedDict, TypeVar

import numpy as np
import numpy.typing as npt

from nn2poly.arguments import check_choice, check_count, check_flag, check_order, nearest
from nn2poly.errors import InvalidInputError, UnknownOptionError
from nn2poly.fit.fitting import Task
from nn2poly.fit.input_bounds import check_bounds
from nn2poly.fit.transforms import Transforms, check_transformable, check_transforms
from nn2poly.inputs import check_missing, table_width

METHODS = ("auto", "calibrated", "taylor", "local")
# A Taylor centre beyond this is a mistake, and its powers would overflow.
MAX_CENTER = 1e6

Function = TypeVar("Function", bound=Callable[..., Any])


class Shared(TypedDict, total=False):
    """The options that every conversion takes, for type checkers."""

    sample_weight: npt.ArrayLike | None
    groups: npt.ArrayLike | None
    binary: str | bool | Iterable[Any]
    bounded: bool | Mapping[str, tuple[float, float]]
    missing: str
    progress: bool | Callable[[str], None]
    after: str | None
    output: str | int | None
    feature_names: Iterable[str] | None
    output_names: Iterable[str] | None
    link: str | None
    classes: Iterable[Any] | None
    threshold: float | None
    check: bool


class Layered(Shared, total=False):
    """Those of `polynomial_network` as well."""

    data: Any
    method: str
    taylor_order: int | Sequence[int]
    taylor_center: float
    around: npt.ArrayLike | None
    refit: bool
    target_r2: float


class Given(Layered, total=False):
    """All but ``max_order`` and ``regions``."""

    max_terms: int | None
    transforms: str | Mapping[str, str] | None
    keep_layers: bool
    out: str | Path | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Options:
    """What a conversion is asked for, checked before a model is read.

    The first sentence of each text is also the help of the command line.

    Parameters
    ----------
    max_order
        Highest total order of the terms, 2 by default; with data ``"auto"`` looks for one.
        It takes the smallest order that reaches ``target_r2`` on rows kept for choices, up to
        a few thousand terms, or else the best; with ``regions="auto"`` order, regions and a
        budget of terms are chosen together, as `frontier` tries them. With ``max_terms`` it is an
        upper limit: 20 by default or with ``"auto"``, and no column has a power above 16.
    data
        A sample of inputs, in raw units. An array or data frame (n, p), or batches of them (a
        list, a PyTorch loader or dataset, or a function that returns a new iterator). From a
        batch (X, y) the first part is used; a dictionary holds the table, and the weights of its
        rows under ``"sample_weight"``. For a model with several inputs: a tuple or a dictionary
        of their tables, batches of these, or one table if there is only one way to divide it.
    method
        ``"calibrated"`` (fits data), ``"taylor"`` (the paper), ``"local"`` or ``"auto"``.
        ``"calibrated"``: fit the terms to what the model answers on the data and on rows like
        them; for `polynomial_network` and with ``keep_layers``, every activation before;
        ``"taylor"``: Taylor series of every activation at ``taylor_center`` (the paper);
        ``"local"``: exact Taylor polynomial of the network at ``around``;
        ``"auto"``: local with ``around``, calibrated with ``data``, else taylor.
    regions
        How many regions there may be, each with a polynomial of its own; needs data.
        They are a small tree over the columns, split where that helps on rows left out, so there
        may be fewer. ``"auto"``: as few as reach ``target_r2`` on these rows, at most 16.
    max_terms
        A budget of terms (per region) instead of an order; needs data. Terms are grown where they
        explain what is left of the network's outputs, high powers of some columns and
        interactions of up to four, each with all its divisors; fewer where more do not help on
        rows left out. The outputs alone are fitted, not the layers.
    taylor_order
        Order of the Taylor series of each activation. One for all layers or one per layer, output
        included.
    taylor_center
        Centre of the series in terms of the potential.
    around
        Array (p,): the point x0 of a local polynomial, in raw units.
    sample_weight
        Array (n,): weights of the rows of the data.
    groups
        Array (n,): rows that belong together (patients, days), by number or name. They are never
        split between fitting, choosing and judging. Equal rows never are.
    refit
        Fit the terms to the model's outputs. False calibrates every activation and leaves weights
        and terms as they follow from that.
    target_r2
        R² that ``max_order="auto"`` and ``regions="auto"`` look for, on rows that the card is not
        judged on.
    binary
        With data: features with two values are written as 0/1 indicators u, for which u² = u,
        and products of two levels of one factor (one-hot columns) vanish, which makes the
        polynomial smaller without changing what it predicts. ``"auto"`` finds them; False
        leaves all as it is; or a list of features, or of lists (the levels of a factor).
    bounded
        With data, hold numbers at the edges of the sample. These are quantiles where its
        tails are heavy; the formula stays what it is there whatever comes. False gives the plain
        polynomial everywhere; a dictionary the bounds of some columns, ``{"age": (18, 90)}``.
    transforms
        With data and bounds: ``"curve"`` lets every number enter through an increasing curve of
        its own, a small table of points that is fitted together with the formula. Or columns that
        enter as ``"curve"``, ``"log"``, ``"log1p"`` or ``"rank"`` (among the sample's quantiles),
        by name. The outputs alone are fitted then, not the layers.
    missing
        What becomes of rows with a missing value that no imputer of the model fills in:
        ``"refuse"`` raises an error that names them, ``"skip"`` leaves them out.
    progress
        True to show on standard error what a long conversion is doing; or a function that
        takes each line.
    after
        For a scikit-learn pipeline: convert what comes after the step of this name.
    output
        For a model with several outputs, the one to convert: its name or its number.
    feature_names, output_names
        Names, if the model and the data have none or you want others.
    link
        For a classifier whose model gives logits: ``"sigmoid"`` or ``"softmax"``. Most
        classifiers of PyTorch and Keras do; ``"sigmoid"`` has one output for two classes, or one
        per label. A function that gives probabilities is fitted before this link; a method
        ``predict_proba`` is so by itself. ``"identity"`` fits numbers as they are.
    classes
        For such a classifier, the names of its classes in the order of the outputs.
    threshold
        For a classifier of two classes: the probability from which the second is chosen. Labels,
        card and report then use that threshold, and rows near it count most in the fit.
    check
        Compare the network that was read with the model itself, on up to 200 rows of the data (or
        some around the origin), and refuse one that differs; a function is asked for some rows
        twice, in other batches.
    keep_layers
        Also keep every neuron's input and output polynomial, in ``.layers``.
    out
        Write the terms to disk while they are computed: a ``.npz`` file or, without an ending, a
        folder. The polynomial that is returned reads from there what it needs. Binary columns are
        not simplified: ``binary="auto"`` then means False.
    """

    max_order: int | str | None = None
    data: Any = None
    method: str = "auto"
    regions: int | str = 1
    max_terms: int | None = None
    taylor_order: int | Sequence[int] = 8
    taylor_center: float = 0.0
    around: npt.ArrayLike | None = None
    sample_weight: npt.ArrayLike | None = None
    groups: npt.ArrayLike | None = None
    refit: bool = True
    target_r2: float = 0.99
    binary: str | bool | Iterable[Any] = "auto"
    bounded: bool | Mapping[str, tuple[float, float]] = True
    transforms: str | Mapping[str, str] | None = None
    missing: str = "refuse"
    progress: bool | Callable[[str], None] = False
    after: str | None = None
    output: str | int | None = None
    feature_names: Iterable[str] | None = None
    output_names: Iterable[str] | None = None
    link: str | None = None
    classes: Iterable[Any] | None = None
    threshold: float | None = None
    check: bool = True
    keep_layers: bool = False
    out: str | Path | None = None

    @classmethod
    def of(cls, function: Callable[..., Any], given: Mapping[str, Any], **own: Any) -> Self:
        """Take the keywords of a call; one that the function does not have is refused.

        Raises
        ------
        UnknownOptionError
            With the nearest name of an option.
        """
        known = inspect.signature(function).parameters
        for name in given:
            if name in known:
                continue
            near = nearest(name, known)
            remedy = None if near is None else f"did you mean {near!r}?"
            raise UnknownOptionError(
                f"{function.__name__} has no option {name!r}.",
                where=name,
                expected=", ".join(known) if near is None else None,
                remedy="nn2poly.convert has it" if name in DEFAULTS else remedy,
            )
        return cls(**own, **given)

    def __post_init__(self) -> None:
        for name in ("binary", "feature_names", "output_names", "classes"):
            if isinstance(value := getattr(self, name), Iterator):  # it is read more than once
                object.__setattr__(self, name, tuple(value))
        self._check_each()
        self._check_together()

    @cached_property
    def way(self) -> str:
        """The method, chosen by what is given."""
        chosen = check_choice(self.method, METHODS, name="method")
        if chosen != "auto":
            return chosen
        if self.around is not None:
            return "local"
        return "taylor" if self.data is None else "calibrated"

    @cached_property
    def task(self) -> Task:
        """The same in short for those who fit: the order is 0 where one is to be looked for."""
        order = self.max_order
        if order is None:
            order = 2 if self.max_terms is None else "auto"
        return Task(
            _order(order),
            self.way,
            check_flag(self.refit, name="refit"),
            _target(self.target_r2),
            self.progress,
            self.most_regions,
            self.budget,
            self.groups is not None,
            not self.refit or self.keep_layers or self.out is not None,
        )

    @property
    def budget(self) -> int | None:
        """The number of terms."""
        if self.max_terms is None:
            return None
        remedy = "100 shows the main lines of most networks; leave it out for all terms"
        return check_count(self.max_terms, where="max_terms", remedy=remedy)

    @property
    def most_regions(self) -> int | str:
        """The number of regions, or "auto"."""
        if isinstance(self.regions, str) and self.regions == "auto":
            return "auto"
        remedy = '8 or 16 can still be read; regions="auto" takes as few as reach target_r2'
        return check_count(self.regions, where="regions", otherwise='"auto"', remedy=remedy)

    @property
    def is_bounded(self) -> bool:
        """Whether numbers are held at bounds."""
        return check_bounds(self.bounded)[0]

    @cached_property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """The bounds that the user gave, by column."""
        return check_bounds(self.bounded)[1]

    @cached_property
    def functions(self) -> Transforms | None:
        """Those that columns enter through."""
        return check_transforms(self.transforms)

    @property
    def center(self) -> float:
        """The centre of the series."""
        center: Any = self.taylor_center
        is_real = isinstance(center, int | float | np.integer | np.floating)
        if isinstance(center, bool) or not is_real or not abs(center) < MAX_CENTER:
            raise InvalidInputError("taylor_center must be a finite number.", found=repr(center))
        return float(center)

    @property
    def skips_missing(self) -> bool:
        """Whether rows with a missing value are left out."""
        return check_missing(self.missing)

    def _check_each(self) -> None:
        """Check what can be checked alone, by working out what follows from it."""
        for name in ("task", "bounds", "functions", "center", "skips_missing"):
            getattr(self, name)
        for name in ("check", "keep_layers"):
            check_flag(getattr(self, name), name=name)

    def _check_together(self) -> None:
        """Refuse what does not go together."""
        if (self.way == "local") != (self.around is not None):
            point = "a point" if self.around is not None else None
            raise InvalidInputError(
                "A local polynomial and a point go together.",
                expected='method="local" with around=x0',
                found=f"method={self.method!r} with around={point}",
            )
        if self.way == "calibrated" and self.data is None:
            raise needs_data("A calibration needs a sample of inputs.")
        if self.out is not None and self.binary is not False and str(self.binary) != "auto":
            raise InvalidInputError(
                "A polynomial that is written to disk is not folded.",
                where="binary",
                expected='False or "auto" with out=',
                found=repr(self.binary),
            )
        fitted = {
            "max_terms": self.max_terms is not None,
            "regions": self.regions != 1,
            "transforms": self.functions is not None,
        }
        sampled = fitted | {
            "sample_weight": self.sample_weight is not None,
            "groups": self.groups is not None,
            "bounded": bool(self.bounds),
        }
        for name in [name for name, given in sampled.items() if given]:
            self._check_sampled(name)
        for name in [name for name, given in fitted.items() if given]:
            self._check_outputs_alone(name)
        check_transformable(self.functions, bounded=self.is_bounded, refit=self.refit)

    def _check_sampled(self, name: str) -> None:
        """Refuse what is fitted to a sample without one."""
        if self.way == "calibrated":
            return
        other = f"method={self.method!r}" if self.around is None else "around="
        raise InvalidInputError(
            f"Only a fit to data can use {name}.",
            where=name,
            expected='data=X, with the method "auto" or "calibrated"',
            found="no data=" if self.data is None else other,
            remedy="pass data=X, for example the training inputs"
            if self.data is None
            else f"leave {other} or {name}= out",
        )

    def _check_outputs_alone(self, name: str) -> None:
        """Refuse layers and files where the outputs alone are fitted."""
        if self.keep_layers or self.out is not None:
            raise InvalidInputError(
                f"With {name} the outputs alone are fitted, in memory.",
                where=name,
                expected="neither keep_layers nor out beside it",
                found="keep_layers=True" if self.keep_layers else f"out={str(self.out)!r}",
                remedy=f"leave {name} out, or save the formula afterwards",
            )

    def check_of_function(self) -> None:
        """Refuse what only layers can give, of a model that is only asked."""
        found = {
            f"method={self.method!r}": self.way != "calibrated",
            "refit=False": not self.refit,
            "keep_layers=True": self.keep_layers,
            f"out={str(self.out)!r}": self.out is not None,
        }
        for option in [option for option, given in found.items() if given]:
            raise InvalidInputError(
                "A function has no layers: its outputs are fitted, on data, in memory.",
                where=option.partition("=")[0],
                found=option,
                remedy=f"leave {option.partition('=')[0]} out"
                + ("; save the formula afterwards" if option.startswith("out") else ""),
            )


DEFAULTS = {field.name: field.default for field in fields(Options)}
# An entry of a docstring: the names that share it, and its text.
ENTRY = re.compile(r"^    (?P<names>\w+(?:, \w+)*)\n(?P<text>(?:        .*\n)+)", re.MULTILINE)
OTHERS = re.compile(r"^    \*\*options\n(?:        .*\n)+", re.MULTILINE)


def takes(kind: type, *others: str) -> Callable[[Function], Function]:
    """Give a function with ``**options`` the names, defaults and texts of those it takes.

    Its signature and docstring have all of them then, as if they had been written there.

    Parameters
    ----------
    kind
        The `TypedDict` that its keywords have for type checkers.
    *others
        Further options; those that the function has itself only get their text.

    Examples
    --------
    >>> @takes(Shared, "regions")
    ... def grow(model, **options):
    ...     return Options.of(grow, options).regions
    >>> inspect.signature(grow).parameters["missing"]
    <Parameter "missing: 'str' = 'refuse'">
    >>> grow(None, regoins=4)
    Traceback (most recent call last):
    ...
    nn2poly.errors.UnknownOptionError: grow has no option 'regoins'.
      where: regoins
      remedy: did you mean 'regions'?
    """

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        taken, here = {*kind.__annotations__, *others}, {p.name for p in own}
        named = inspect.Parameter.KEYWORD_ONLY
        more = [
            inspect.Parameter(field.name, named, default=field.default, annotation=field.type)
            for field in fields(Options)
            if field.name in taken - here
        ]
        vars(function)["__signature__"] = signature.replace(parameters=[*own, *more])
        function.__doc__ = OTHERS.sub(lambda _: _texts(taken), function.__doc__ or "")
        return function

    return decorate


def _texts(names: Iterable[str]) -> str:
    """Give the entries of some options as a docstring has them."""
    wanted = set(names)
    entries = ENTRY.finditer(Options.__doc__ or "")
    return "".join(entry[0] for entry in entries if wanted & {*entry["names"].split(", ")})


def summary(name: str) -> str:
    """Give the first sentence of an option.

    Examples
    --------
    >>> summary("taylor_order")
    'Order of the Taylor series of each activation.'
    """
    text = " ".join(ENTRY.sub(r"\g<text>", _texts({name})).split())
    return re.split(r"(?<=\.) (?=[A-Z`])", text)[0]


def needs_data(what: str) -> InvalidInputError:
    """Give the error of what cannot be done without a sample."""
    return InvalidInputError(
        what,
        where="data",
        expected='an array or data frame (n, p), with method "calibrated" or "auto"',
        remedy="pass data=X, for example the training inputs",
    )


def _target(target_r2: float) -> float:
    if isinstance(target_r2, int | float | np.integer | np.floating) and 0 < target_r2 <= 1:
        return float(target_r2)
    raise InvalidInputError(
        "target_r2 must be a number between 0 and 1.", where="target_r2", found=repr(target_r2)
    )


def _order(max_order: int | str) -> int:
    """Give the order, or 0 for one to be looked for."""
    if table_width(max_order) is not None:
        raise InvalidInputError(
            "The data stand in the place of the order.",
            where="max_order",
            expected='an integer, or "auto"',
            found=type(max_order).__name__,
            remedy="pass them by their name: convert(model, 2, data=X)",
        )
    if isinstance(max_order, str) and max_order == "auto":
        return 0
    return check_order(max_order, otherwise='"auto"')
