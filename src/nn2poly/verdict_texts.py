"""The one place that words a verdict: a sentence or two from its grade and its reasons."""

from __future__ import annotations

from math import isnan

from nn2poly.arguments import interval_text, plural
from nn2poly.score_texts import agreement_text, r2_text, rounded_down, rounded_up
from nn2poly.verdicts import (
    MIN_JUDGED,
    POOR,
    Alike,
    ClassDistance,
    Closer,
    Distance,
    Effects,
    Entering,
    Held,
    JudgedAs,
    Labels,
    MissedTarget,
    Observed,
    Outside,
    Region,
    Smaller,
    Tail,
    Verdict,
    grade,
)

# Fewer rows than these are counted in the text: a 95 % quantile of them is hardly one (taste).
FEW_ROWS = 100
# Columns of which the text says what they enter as (taste).
SHOWN_ENTRIES = 4


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


def observed_text(found: Observed, *, r2: str = "R2") -> str:
    """Say how well the network does against what was observed, and the formula in its place."""
    if found.measure == "R2":
        shown = [f"{r2} {r2_text(value)}" for value in (found.network, found.formula)]
    else:
        network, formula = agreement_text(found.network), agreement_text(found.formula)
        shown = [f"{network} of labels right", formula]
    return f"Against what was observed the network reaches {shown[0]}, this formula {shown[1]}"


def judged_text(found: JudgedAs, *, r2: str = "R2") -> str:
    """Say on which scale errors are, and R² on the target's."""
    own = f"; of {found.target} itself {r2} is {r2_text(found.r2)}" * (not isnan(found.r2))
    return f"Judged as {found.scale}, what the formula gives{own}"


def _sentences(verdict: Verdict, r2: str) -> tuple[str, ...]:
    tail = verdict.reason(Tail)
    without = f"; without the {_worst(tail)} {r2} is {r2_text(tail.r2)}" if tail else ""
    observed = verdict.reason(Observed)
    head = f"{_graded(verdict, r2)}: {_finding(verdict)}{without}."
    head = f"{observed_text(observed, r2=r2)}. {head}" if observed else head
    remedies = (_remedy(verdict), _closer(verdict, r2), _smaller(verdict, r2))
    said = (_missed(verdict, r2), *remedies, _held(verdict), _outside(verdict))
    scale = verdict.reason(JudgedAs)
    judged = f"{judged_text(scale, r2=r2)}." if scale else ""
    graded = (_labels(verdict), judged, _folds(verdict), _alike(verdict), _effects(verdict, r2))
    sentences = (head, *graded, *said, _entering(verdict))
    return tuple(filter(None, sentences))


def _graded(verdict: Verdict, r2: str) -> str:
    if verdict.grade == "undecided":
        return "Undecided (the network's output does not vary on these rows)"
    ends = verdict.interval
    sure = f", 95 % interval {r2_text(ends[0])} to {r2_text(ends[1])}" if ends else ""
    if verdict.grade == "ungraded":
        found = f"{r2} {r2_text(verdict.r2)} on {plural(verdict.n_rows, 'row')}"
        return f"No grade ({found}, of which a grade needs {MIN_JUDGED})"
    by_end = ends and not verdict.reason(Labels) and verdict.grade != grade(verdict.r2)
    sure += "; the grade goes by its lower end" if by_end and not verdict.fitted else ""
    return f"{verdict.grade.capitalize()} ({r2} {r2_text(verdict.r2)}{sure})"


def _labels(verdict: Verdict) -> str:
    """Say that labels decide the grade, and which of them is missed."""
    found = verdict.reason(Labels)
    if found is None:
        return ""
    rows = "the only row" if found.n_rows == 1 else f"the {found.n_rows:,} rows"
    return (
        f"The grade goes by the labels: Cohen's kappa is {rounded_down(found.kappa, 2)}, and of "
        f"{rows} that the network labels {found.label!r} the formula labels "
        f"{agreement_text(found.share)} so."
    )


def _effects(verdict: Verdict, r2: str) -> str:
    """Grade effects, which look at rows with shuffled columns."""
    found, graded = verdict.reason(Effects), verdict.effects
    if found is None:
        return ""
    poor = graded in POOR
    off = ": partial dependence, Shapley values and directions may be off" if poor else ""
    return f"Effects: {graded} ({r2} {r2_text(found.r2)} on rows with shuffled columns){off}."


def _alike(verdict: Verdict) -> str:
    """Say that rows are not independent, which the interval takes them for."""
    found = verdict.reason(Alike)
    if found is None:
        return ""
    seen = "come in clusters of near copies" if found.clusters else "resemble their neighbours"
    also = ", and resemble their neighbours" if found.clusters and found.series else ""
    return (
        f"Rows {seen}{also}, so new ones may be less like them than this interval assumes: "
        "say with groups= which belong together (patients, days, places)."
    )


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
            f"within {rounded_up(classes.within)} of the network's on 95 % of {rows}"
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
        known = missed or isinstance(verdict.advice, Closer)
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
    found = verdict.advice
    if isinstance(found, Closer):
        cost = f"{found.n_coefficients:,} coefficients"
        about = rounded_down(found.r2, 2)
        return f"Closer: {found.regions} regions would reach about {r2} {about}, with {cost}."
    return ""


def _smaller(verdict: Verdict, r2: str) -> str:
    """Say what would be smaller, and what is lost by it."""
    found = verdict.advice
    if isinstance(found, Smaller):
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
