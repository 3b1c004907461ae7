"""The verdict on a polynomial: what was found, as data, and the one place that words it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import ceil, floor, isnan, log10
from typing import Any, TypeVar

from nn2poly.arguments import interval_text, plural
from nn2poly.plain import plain_list, plain_record

# R² from which the polynomial may speak for the network, show its main lines, or only hint:
# a choice of this project, kept since version 0.1.
FAITHFUL, USEFUL, ROUGH = 0.99, 0.95, 0.8
# Rows that a grade needs, and groups of rows: "faithful" on 5 rows was .81 on new ones. With 30,
# an R² of .97 has an interval from about .93 to .985.
MIN_JUDGED, MIN_UNITS = 30, 10
# Fewer rows than these are counted in the text: a 95 % quantile of them is hardly one (taste).
FEW_ROWS = 100
GRADES = ("faithful", "useful", "rough", "not faithful", "unproven", "undecided", "ungraded")
# R² from which a formula is thought to be close, below which it is not on rows whose columns are
# mixed, and the loss between the two that is told all the same (taste).
CLOSE, FAR_MIXED, MIXED_LOSS = 0.9, 0.8, 0.15
# Columns of which the text says what they enter as (taste).
SHOWN_ENTRIES = 4


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

    def text(self, *, r2: str = "R2") -> str:
        """Say both; ``r2`` spells R²."""
        if self.measure == "R2":
            shown = [f"{r2} {r2_text(value)}" for value in (self.network, self.formula)]
        else:
            network, formula = agreement_text(self.network), agreement_text(self.formula)
            shown = [f"{network} of labels right", formula]
        return f"Against what was observed the network reaches {shown[0]}, this formula {shown[1]}"


@dataclass(frozen=True)
class JudgedAs:
    """The scale on which errors are, where that is not the target's, and R² on the target's.

    ``scale`` is what the formula gives, as ``log1p(price)``; ``target`` what is predicted.
    """

    scale: str
    target: str
    r2: float

    def text(self, *, r2: str = "R2") -> str:
        """Say both; ``r2`` spells R²."""
        own = f"; of {self.target} itself {r2} is {r2_text(self.r2)}" * (not isnan(self.r2))
        return f"Judged as {self.scale}, what the formula gives{own}"


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
class Mixed:
    """R² on rows whose columns are mixed, much lower than on rows as they are."""

    r2: float


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
    | Tail
    | MissedTarget
    | Region
    | Outside
    | Held
    | Mixed
    | Entering
    | Advice
)
# What a file calls them.
KINDS: dict[str, type[Reason]] = {
    "observed": Observed,
    "judged as": JudgedAs,
    "distance": Distance,
    "class distance": ClassDistance,
    "tail": Tail,
    "missed target": MissedTarget,
    "region": Region,
    "outside": Outside,
    "held": Held,
    "mixed": Mixed,
    "entering": Entering,
    "closer": Closer,
    "smaller": Smaller,
}
_Kind = TypeVar("_Kind", bound=Reason)
SOURCES = ("network", "model")
_NAMES = {kind: name for name, kind in KINDS.items()}


@dataclass(frozen=True)
class Verdict:
    """How far to trust a polynomial, and where not; as text in a sentence or two.

    Parameters
    ----------
    grade
        ``faithful``, ``useful``, ``rough``, ``not faithful``, by the lower end of the interval:
        0.99, 0.95, 0.8; ``ungraded`` on fewer than 30 rows, ``unproven`` on rows that were
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

    def reason(self, kind: type[_Kind]) -> _Kind | None:
        """Give the reason of a kind, or None."""
        return next((reason for reason in self.reasons if isinstance(reason, kind)), None)

    def __str__(self) -> str:
        return verdict_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Give plain data for a file, each reason with its kind."""
        reasons = [{"kind": _NAMES[type(reason)], **asdict(reason)} for reason in self.reasons]
        return {**asdict(self), "reasons": reasons}

    @classmethod
    def from_dict(cls, data: Any) -> Verdict:
        """Rebuild a verdict from `to_dict`."""
        found = plain_record(cls, data, reasons=_reasons)
        if found.grade not in GRADES:
            raise ValueError(f"{found.grade!r} is no grade")
        if found.source not in SOURCES:
            raise ValueError(f"{found.source!r} is nothing that a formula follows")
        return found


def _reasons(data: Any) -> tuple[Reason, ...]:
    return tuple(map(_reason, plain_list(data)))


def _reason(data: Any) -> Reason:
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
    limits = ((FAITHFUL, "faithful"), (USEFUL, "useful"), (ROUGH, "rough"))
    return next((name for limit, name in limits if r2 >= limit), "not faithful")


def is_poor_mixed(r2: float, mixed: float | None) -> bool:
    """Tell whether a formula is far off on rows whose columns are mixed, whatever it is else.

    Examples
    --------
    >>> is_poor_mixed(0.5, 0.1), is_poor_mixed(0.99, 0.85), is_poor_mixed(0.5, None)
    (True, False, False)
    """
    return mixed is not None and (mixed < FAR_MIXED or is_worse_mixed(r2, mixed))


def is_worse_mixed(r2: float, mixed: float | None) -> bool:
    """Tell whether R² is much lower on rows whose columns are mixed; not if it is unknown.

    A formula that is not faithful as it is needs no second warning, and its R² differs by more
    than that from one choice of a hundred rows to another.

    Examples
    --------
    >>> is_worse_mixed(0.93, 0.79), is_worse_mixed(0.99, 0.85), is_worse_mixed(0.5, 0.1)
    (True, False, False)
    """
    if mixed is None or not r2 >= ROUGH:
        return False
    return (r2 >= CLOSE and mixed < FAR_MIXED) or r2 - mixed > MIXED_LOSS


def of_source(text: str, source: str) -> str:
    """Speak of what a formula follows.

    Examples
    --------
    >>> of_source("follows the network", "model")
    'follows the model'
    """
    return text if source == "network" else text.replace("the network", f"the {source}")


def verdict_text(verdict: Verdict, *, r2: str = "R2") -> str:
    """Word a verdict; ``r2`` spells R².

    Examples
    --------
    >>> verdict_text(Verdict("rough", 0.9, 30, False, 1, (Distance(0.1, 2.0),)), r2="R²")
    'Rough (R² 0.900): follows the network to within 5 % of its range on 95 % of 30 rows.'
    """
    return " ".join(verdict_sentences(verdict, r2=r2))


def verdict_sentences(verdict: Verdict, *, r2: str = "R2") -> tuple[str, ...]:
    """Word a verdict; what was found comes first, what to take care of after it."""
    if verdict.stated:
        return (verdict.stated,)
    return tuple(of_source(text, verdict.source) for text in _sentences(verdict, r2))


def _sentences(verdict: Verdict, r2: str) -> tuple[str, ...]:
    tail = verdict.reason(Tail)
    without = f"; without the {_worst(tail)} {r2} is {r2_text(tail.r2)}" if tail else ""
    observed = verdict.reason(Observed)
    head = f"{_graded(verdict, r2)}: {_finding(verdict)}{without}."
    head = f"{observed.text(r2=r2)}. {head}" if observed else head
    remedies = (_remedy(verdict), _closer(verdict, r2), _smaller(verdict, r2))
    said = (_missed(verdict, r2), *remedies, _held(verdict), _outside(verdict))
    where = (_mixed(verdict, r2), _entering(verdict))
    scale = verdict.reason(JudgedAs)
    judged = f"{scale.text(r2=r2)}." if scale else ""
    sentences = (head, judged, _folds(verdict), *said, *where)
    return tuple(filter(None, sentences))


def _graded(verdict: Verdict, r2: str) -> str:
    if verdict.grade == "undecided":
        return "Undecided (the network's output does not vary on these rows)"
    ends = verdict.interval
    sure = f", 95 % interval {r2_text(ends[0])} to {r2_text(ends[1])}" if ends else ""
    if verdict.grade == "ungraded":
        found = f"{r2} {r2_text(verdict.r2)} on {plural(verdict.n_rows, 'row')}"
        return f"No grade ({found}, of which a grade needs {MIN_JUDGED})"
    return f"{verdict.grade.capitalize()} ({r2} {r2_text(verdict.r2)}{sure})"


def _folds(verdict: Verdict) -> str:
    """Say that other formulas were judged, and how they came about."""
    if not verdict.n_folds:
        return ""
    parts = f"{verdict.n_folds} formulas that did not see them"
    return f"All rows were judged, by {parts}; this one was fitted to all."


def _finding(verdict: Verdict) -> str:
    if verdict.fitted:
        count = plural(verdict.n_rows, "row")
        return f"measured on the {count} that it was fitted to, which promises nothing for new ones"
    few = verdict.n_rows < FEW_ROWS
    rows = plural(verdict.n_rows, "row") if few else "rows"
    if classes := verdict.reason(ClassDistance):
        at = "" if classes.threshold is None else f" at threshold {classes.threshold:.4g}"
        return (
            f"labels{at} agree on {agreement_text(classes.agreement)} of rows; probabilities are "
            f"within {_ceil(classes.within)} of the network's on 95 % of {rows}"
        )
    if distance := verdict.reason(Distance):
        return f"follows the network to within {_distance(distance)} on 95 % of {rows}"
    return f"further from the network, overall, than a constant would be{f', on {rows}' * few}"


def _distance(found: Distance) -> str:
    if not found.spread:
        return f"{found.within:.2g}"
    notes = [] if found.output is None else [f"output {found.output!r}, the worst"]
    if found.deviation:
        notes.append(f"{_share(found.within / found.deviation)} of its standard deviation")
    where = f" ({'; '.join(notes)})" if notes else ""
    return f"{_share(found.within / found.spread)} of its range{where}"


def _share(value: float) -> str:
    """Write a share in percent, with two digits."""
    share = 100 * value
    return f"{share:.{'0f' if share >= 10 else '2g'}} %"


def _worst(tail: Tail) -> str:
    return "worst row" if tail.n_rows == 1 else f"{tail.n_rows:,} worst rows"


def _missed(verdict: Verdict, r2: str) -> str:
    if missed := verdict.reason(MissedTarget):
        reached = f"No order up to {missed.highest_order} reached {r2} {missed.target_r2:g}"
        return f"{reached}; this one came closest."
    return ""


def _remedy(verdict: Verdict) -> str:
    """Give the one remedy that matters most."""
    missed = verdict.reason(MissedTarget) is not None
    if verdict.fitted:
        return "" if missed else "Pass more rows."
    if tail := verdict.reason(Tail):
        return _tail_remedy(tail, lower=verdict.order > 1)
    if verdict.grade == "not faithful":
        order = "another order" if verdict.r2 < 0.0 else "a higher order"
        known = missed or verdict.reason(Closer) is not None
        instead = "" if known else f"; try {order} or more data"
        return f"Do not use it in place of the network{instead}."
    if region := verdict.reason(Region):
        return f"Take care where {region.description}: errors are {region.ratio:.1f} times larger."
    return ""


def _tail_remedy(tail: Tail, *, lower: bool) -> str:
    they = "It lies" if tail.n_rows == 1 else "The worst of them lie"
    rest = f"{'lower the order, ' * lower}or trust the network there."
    if not tail.columns:
        return f"Look at the {_worst(tail)}, {rest}"
    found = (f"{c.name!r} ({c.value:,.4g}; median {c.median:,.4g})" for c in tail.columns)
    such = "that column" if len(tail.columns) == 1 else "such columns"
    if tail.held:
        return (
            f"{they} far out in {' and '.join(found)}, held at the edge: trust the network there."
        )
    return f"{they} far out in {' and '.join(found)}: clip or transform {such}, {rest}"


def _closer(verdict: Verdict, r2: str) -> str:
    """Say what would be closer, and what it costs."""
    if found := verdict.reason(Closer):
        cost = f"{found.n_coefficients:,} coefficients"
        about = _floor(found.r2, 2)
        return f"Closer: {found.regions} regions would reach about {r2} {about}, with {cost}."
    return ""


def _smaller(verdict: Verdict, r2: str) -> str:
    """Say what would be smaller, and what is lost by it."""
    if found := verdict.reason(Smaller):
        most = f"the {found.n_terms:,} terms that matter most"
        return f"Smaller: {most} reach {r2} {r2_text(found.r2)} alone."
    return ""


def _held(verdict: Verdict) -> str:
    """Name the columns that are held inside the sample, the rest counted."""
    held = verdict.reason(Held)
    if held is None:
        return ""
    parts = [
        f"{c.name!r} outside {interval_text(c.low, c.high)} ({_percent(c.share)} of rows)"
        for c in held.columns
    ]
    parts += [f"{plural(held.n_others, 'more column')}"] if held.n_others else []
    return f"Held at the edge: {', '.join(parts)}."


def _percent(share: float) -> str:
    """Write a share with two digits, and none as less than 0.01 %."""
    return f"{100 * share:.2g} %" if share >= 1e-4 else "< 0.01 %"


def _outside(verdict: Verdict) -> str:
    if outside := verdict.reason(Outside):
        lie = "lies" if outside.n_rows == 1 else "lie"
        return f"{outside.n_rows:,} of these rows {lie} outside the range that it was made for."
    return ""


def _mixed(verdict: Verdict, r2: str) -> str:
    if found := verdict.reason(Mixed):
        return (
            f"On rows whose columns are mixed, as Shapley values, partial dependence, H and "
            f"Sobol' indices mix them, {r2} is {r2_text(found.r2)}."
        )
    return ""


def _entering(verdict: Verdict) -> str:
    found = verdict.reason(Entering)
    if found is None:
        return ""
    alike: dict[str, list[str]] = {}
    for name, words in found.entries[:SHOWN_ENTRIES]:
        alike.setdefault(words, []).append(repr(name))
    parts = [
        f"{_and(names)} {_verb(len(names), first=not number)} {words}"
        for number, (words, names) in enumerate(alike.items())
    ]
    more = len(found.entries) - SHOWN_ENTRIES
    rest = f", and {more:,} more through such functions" if more > 0 else ""
    return f"{', '.join(parts)}{rest}."


def _and(names: list[str]) -> str:
    """Write a list in a sentence: 'a', 'b' and 'c'."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def _verb(count: int, *, first: bool) -> str:
    """Say that so many columns enter; only the first of several parts has the verb itself."""
    if count > 1:
        return "each enter as" if first else "each as"
    return "enters as" if first else "as"


def r2_text(r2: float) -> str:
    """Show enough digits of R² that 0.9997 is not called 1, rounded down.

    Examples
    --------
    >>> r2_text(0.99968), r2_text(-2804.2)
    ('0.9996', '-2,804')
    """
    if r2 < 0.0:
        return f"{r2:,.0f}" if -1e6 < r2 <= -1e3 else f"{r2:.3g}"
    for digits in (3, 4, 5, 6):
        if 1.0 - r2 >= 10.0**-digits:
            return _floor(r2, digits)
    return "above 0.999999"


def agreement_text(share: float) -> str:
    """Write the share of equal labels, rounded down to one digit.

    Examples
    --------
    >>> agreement_text(0.95984), agreement_text(1.0), agreement_text(0.9999)
    ('95.9 %', '100 %', '99.9 %')
    """
    return _floor(100 * share, 1).removesuffix(".0") + " %"


def _floor(value: float, digits: int) -> str:
    """Round down: what is shown must not promise more than there is."""
    # The small term undoes the rounding of numbers such as 0.29 * 100.
    return f"{floor(value * 10**digits + 1e-9) / 10**digits:.{digits}f}"


def _ceil(value: float) -> str:
    """Round up to two digits, and to 0.001 at least."""
    if value <= 0.001:
        return "0.001"
    unit = 10.0 ** (floor(log10(value)) - 1)
    return f"{ceil(value / unit - 1e-9) * unit:.2g}"
