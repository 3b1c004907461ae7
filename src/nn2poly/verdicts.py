"""The verdict on a polynomial as data: its grade, and the reasons that its text tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields, replace
from math import isnan
from typing import Any, TypeVar

from nn2poly.plain import plain_list, plain_record

# R² from which the polynomial may speak for the network, show its main lines, or only hint:
# a choice of this project, kept since version 0.1.
FAITHFUL, USEFUL, ROUGH = 0.99, 0.95, 0.8
# Cohen's kappa of labels that the same grades need: what formulas with these R² reach where ten
# classes are equally frequent (.905, .793, .597 of normal logits; of two classes .94, .86, .70,
# of one row in a hundred .89, .75, .44).
LABELS_FAITHFUL, LABELS_USEFUL, LABELS_ROUGH = 0.9, 0.8, 0.6
# Rows that a grade needs, and groups of rows: "faithful" on 5 rows was .81 on new ones. With 30,
# an R² of .97 has an interval from about .93 to .985.
MIN_JUDGED, MIN_UNITS = 30, 10
GRADES = ("faithful", "useful", "rough", "not faithful", "unproven", "undecided", "ungraded")
# Grades that anybody who looks at a figure or an effect has to know of.
POOR = ("rough", "not faithful")


@dataclass(frozen=True)
class Distance:
    """95 % of the rows are within ``within``; ``output`` names the worst of several, else None.

    ``spread`` is the range of the network's output there, 0 when it does not vary, and
    ``deviation`` its standard deviation, 0 when unknown.
    """

    within: float
    spread: float
    output: str | None = None
    deviation: float = 0.0


@dataclass(frozen=True)
class Observed:
    """How well the network does against what was observed, and the formula in its place.

    ``measure`` is ``R2``, or ``accuracy`` of a classifier.
    """

    measure: str
    network: float
    formula: float


@dataclass(frozen=True)
class JudgedAs:
    """The scale on which errors are, where that is not the target's, and R² on the target's.

    ``scale`` is what the formula gives, as ``log1p(price)``; ``target`` what is predicted.
    """

    scale: str
    target: str
    r2: float


@dataclass(frozen=True)
class ClassDistance:
    """Share of rows with the same label, and how close probabilities are on 95 % of the rows.

    ``threshold`` is the probability from which on the second class is chosen; None for the most
    probable class.
    """

    agreement: float
    within: float
    threshold: float | None = None


@dataclass(frozen=True)
class Labels:
    """Labels agree so little beyond chance that they decide the grade.

    ``kappa`` is Cohen's, the lowest of all labels together and of each by itself. Of the
    ``n_rows`` rows to which the network gives ``label``, the formula gives it to the ``share``.
    """

    kappa: float
    label: str
    n_rows: int
    share: float


@dataclass(frozen=True)
class FarColumn:
    """A column in which the worst rows lie far out: its value there, and its median."""

    name: str
    value: float
    median: float


@dataclass(frozen=True)
class Tail:
    """The few rows that carry the error: how many, R² without them, and where they lie.

    ``held`` tells that the formula holds such values at its edge already.
    """

    n_rows: int
    r2: float
    columns: tuple[FarColumn, ...]
    held: bool = False


@dataclass(frozen=True)
class MissedTarget:
    """No order up to ``highest_order`` reached ``target_r2``."""

    highest_order: int
    target_r2: float


@dataclass(frozen=True)
class Region:
    """A part of the data, in words, its error in units of the range, and relative to the whole."""

    description: str
    n_rows: int
    rmse: float
    ratio: float


@dataclass(frozen=True)
class Outside:
    """How many of the rows lie outside the range that the conversion saw."""

    n_rows: int


@dataclass(frozen=True)
class HeldColumn:
    """A column that is held at bounds, None for none, and the share of rows beyond them."""

    name: str
    low: float | None
    high: float | None
    share: float


@dataclass(frozen=True)
class Held:
    """Columns whose bounds cut rows, those with most rows first, and how many others do."""

    columns: tuple[HeldColumn, ...]
    n_others: int = 0


@dataclass(frozen=True)
class Effects:
    """R² on rows with shuffled columns, which grades effects."""

    r2: float


@dataclass(frozen=True)
class Alike:
    """Rows are not independent: they come in clusters of near ones, or neighbours are alike."""

    clusters: bool
    series: bool


@dataclass(frozen=True)
class Entering:
    """The columns that do not enter as they are: pairs of a name and what it enters as."""

    entries: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Closer:
    """So many regions would reach about this R², with so many coefficients."""

    regions: int
    r2: float
    n_coefficients: int


@dataclass(frozen=True)
class Smaller:
    """The terms that matter most, so many, reach this R² alone."""

    n_terms: int
    r2: float


Advice = Closer | Smaller
Reason = (
    Observed
    | JudgedAs
    | Distance
    | ClassDistance
    | Labels
    | Effects
    | Alike
    | Tail
    | MissedTarget
    | Region
    | Outside
    | Held
    | Entering
)
# What a file calls them.
KINDS: dict[str, type[Reason | Advice]] = {
    "observed": Observed,
    "judged as": JudgedAs,
    "distance": Distance,
    "class distance": ClassDistance,
    "labels": Labels,
    "effects": Effects,
    "alike": Alike,
    "tail": Tail,
    "missed target": MissedTarget,
    "region": Region,
    "outside": Outside,
    "held": Held,
    "entering": Entering,
    "closer": Closer,
    "smaller": Smaller,
}
_Kind = TypeVar("_Kind", bound=Reason)
SOURCES = ("network", "model")
_NAMES = {kind: name for name, kind in KINDS.items()}


class Look:
    """A look for advice, which is taken when the advice is first read.

    Until then it keeps alive what ``find`` needs. A copy is the same look; a pickle only has the
    advice that was found before it was made, neither rows nor a model.

    Parameters
    ----------
    find
        Gives the advice, or None; it is called once at most.
    found
        The advice, where there is nothing to look for.

    Examples
    --------
    >>> look = Look(lambda: Smaller(10, 0.96))
    >>> look.found is None, look.advice, look.found
    (True, Smaller(n_terms=10, r2=0.96), Smaller(n_terms=10, r2=0.96))
    """

    def __init__(
        self, find: Callable[[], Advice | None] | None = None, found: Advice | None = None
    ) -> None:
        self._find, self.found = find, found

    @property
    def advice(self) -> Advice | None:
        """The advice; the first time it is looked for."""
        if self._find is not None:
            self.found = self._find()
            self._find = None
        return self.found

    def __getstate__(self) -> dict[str, Any]:
        return {"_find": None, "found": self.found}

    def __copy__(self) -> Look:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Look:
        return self


# There is nothing to look for.
NOTHING = Look()


@dataclass(frozen=True)
class Verdict:
    """How far to trust a polynomial, and where not; as text in a sentence or two.

    Parameters
    ----------
    grade
        ``faithful``, ``useful``, ``rough``, ``not faithful``, by the lower end of the interval:
        0.99, 0.95, 0.8, and by Cohen's kappa of labels, of which a classifier needs 0.9, 0.8, 0.6
        as well; ``ungraded`` on fewer than 30 rows, ``unproven`` on rows that were
        fitted, ``undecided`` when the network's output does not vary.
    r2
        R² on these rows; NaN when undecided.
    n_rows
        How many they are.
    fitted
        Whether they are those that the conversion fitted.
    order
        Order of the polynomial.
    reasons
        What the text tells, in its order.
    stated
        The text of a file of version 0.1, which kept no reasons.
    interval
        The 95 % interval of R²; None when unknown.
    n_folds
        Formulas, each judged on rows that it was not fitted to; 0 when the formula itself was.
    source
        What the formula follows: a ``network`` that was read, or a ``model`` that was only asked.
    look
        The `Look` for `advice`; two verdicts are equal whatever it found.

    Examples
    --------
    >>> reasons = (Distance(0.2, 10.0), Outside(3))
    >>> found = Verdict("useful", 0.97, 500, False, 2, reasons, interval=(0.961, 0.978))
    >>> print(found)
    Useful (R2 0.970, 95 % interval 0.961 to 0.978): follows the network to within 2 % of its
    range on 95 % of rows. 3 of these rows lie outside the range that it was made for.
    >>> found.grade, found.reason(Outside)
    ('useful', Outside(n_rows=3))
    """

    grade: str
    r2: float
    n_rows: int
    fitted: bool
    order: int
    reasons: tuple[Reason, ...] = ()
    stated: str = ""
    interval: tuple[float, float] | None = None
    n_folds: int = 0
    source: str = "network"
    look: Look = field(default=NOTHING, repr=False, compare=False)

    @property
    def advice(self) -> Advice | None:
        """What would be closer or smaller: a `Closer`, a `Smaller`, or None.

        It takes a moment after a conversion: a small tree is grown, or terms are left out, when
        this or the text of the verdict is read for the first time. A file that was written before
        has none.
        """
        return self.look.advice

    @property
    def effects(self) -> str | None:
        """The grade of effects, by R² on rows with shuffled columns; None where it is unknown.

        Examples
        --------
        >>> Verdict("useful", 0.97, 500, False, 2, (Effects(0.878),)).effects
        'rough'
        """
        found = self.reason(Effects)
        return None if found is None else grade(found.r2)

    def reason(self, kind: type[_Kind]) -> _Kind | None:
        """Give the reason of a kind, or None."""
        return next((reason for reason in self.reasons if isinstance(reason, kind)), None)

    def __str__(self) -> str:
        # Not at the top: what words a verdict imports this module.
        from nn2poly.verdict_texts import verdict_text

        return verdict_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Give plain data for a file, each reason with its kind; advice that was read is one."""
        told = self.reasons if self.look.found is None else (*self.reasons, self.look.found)
        reasons = [{"kind": _NAMES[type(reason)], **asdict(reason)} for reason in told]
        kept = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "look"}
        return {**kept, "reasons": reasons}

    @classmethod
    def from_dict(cls, data: Any) -> Verdict:
        """Rebuild a verdict from `to_dict`."""
        found = plain_record(cls, data, reasons=_reasons, look=_no_look)
        if found.grade not in GRADES:
            raise ValueError(f"{found.grade!r} is no grade")
        if found.source not in SOURCES:
            raise ValueError(f"{found.source!r} is nothing that a formula follows")
        told: tuple[Any, ...] = found.reasons
        advice = [reason for reason in told if isinstance(reason, Advice)]
        reasons = tuple(reason for reason in told if not isinstance(reason, Advice))
        return replace(found, reasons=reasons, look=Look(found=advice[0] if advice else None))


def _no_look(data: Any) -> Look:
    raise ValueError(f"a file holds no look for advice, but {data!r}")


def _reasons(data: Any) -> tuple[Any, ...]:
    return tuple(map(_reason, plain_list(data)))


def _reason(data: Any) -> Reason | Advice:
    if not isinstance(data, dict) or data.get("kind") not in tuple(KINDS):
        raise ValueError("a reason is of a kind that is not known")
    fields = {name: value for name, value in data.items() if name != "kind"}
    return plain_record(KINDS[data["kind"]], fields)


def grade(r2: float, *, fitted: bool = False, few: bool = False) -> str:
    """Grade the lower end of R²: few rows have none, and nor has a good one on fitted rows.

    Examples
    --------
    >>> grade(0.995), grade(0.995, few=True), grade(0.995, fitted=True), grade(0.1, fitted=True)
    ('faithful', 'ungraded', 'unproven', 'not faithful')
    """
    if fitted and not r2 < ROUGH:
        return "unproven"
    if isnan(r2) or (few and not fitted):
        return "ungraded"
    return _reached(r2, FAITHFUL, USEFUL, ROUGH)


def label_grade(kappa: float) -> str:
    """Grade labels by how far they agree beyond chance; those that are all alike show nothing.

    Examples
    --------
    >>> label_grade(0.93), label_grade(0.5), label_grade(float("nan"))
    ('faithful', 'not faithful', 'faithful')
    """
    if isnan(kappa):
        return "faithful"
    return _reached(kappa, LABELS_FAITHFUL, LABELS_USEFUL, LABELS_ROUGH)


def _reached(value: float, *limits: float) -> str:
    named = zip(limits, GRADES, strict=False)
    return next((name for limit, name in named if value >= limit), "not faithful")
