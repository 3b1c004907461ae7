"""Tables of the page, in Markdown, from the tables of the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nn2poly_paper.boston import STORED as BOSTON
from nn2poly_paper.covertype_claims import (
    PRINTED_AGREEMENT,
    PRINTED_CONFUSION,
    PRINTED_CONFUSION_POLYNOMIAL,
    PRINTED_MSE,
)
from nn2poly_paper.ensembles import KINDS, Kind
from nn2poly_paper.markdown import between, decimal, markdown, megabytes, scientific, short, spread
from nn2poly_paper.partitions import STORED as PARTITIONS
from nn2poly_paper.simulation import PAPER, STORED_RESPONSE, STORED_TAYLOR
from nn2poly_paper.store import TIMINGS, Store

NAMES = {"tanh": "tanh", "softplus": "softplus", "sigmoid": "sigmoid", "relu": "ReLU"}
LIBRARIES = {"nn2poly": "nn2poly", "numpy": "NumPy", "torch": "PyTorch"}
CellRow = dict[str, str]


def about(store: Store) -> str:
    """Say with what the results were made."""
    records = store.read_record()
    if not records:
        return "*Not among these results: no experiment was run.*"
    seeds = sorted({record["seed"] for record in records.values()})
    found = {tuple(sorted(record["versions"].items())) for record in records.values()}
    libraries = "; ".join(
        ", ".join(f"{LIBRARIES[name]} {number}" for name, number in v) for v in sorted(found)
    )
    cores = sorted({record["cores"] for record in records.values()})
    quick = [name for name, record in records.items() if record["quick"]]
    lines = [
        f"Seed {', '.join(map(str, seeds))}; {libraries}; "
        f"a machine with {', '.join(map(str, cores))} cores and no GPU."
    ]
    if quick:
        lines.append(f"**These are quick versions of {', '.join(quick)}, not the full ones.**")
    return " ".join(lines)


def claims(store: Store, name: str) -> str:
    """List what an experiment claims and found."""
    rows = store.read_table(f"{name}_claims")
    return markdown(
        ("claim", "holds", "found"), [(r["statement"], r["holds"], r["found"]) for r in rows]
    )


def terms(store: Store) -> str:
    """Show some numbers of terms."""
    rows = store.read_table("terms")
    orders = ("1", "2", "3", "5", "8", "10")
    found = {(r["p"], r["Q"]): f"{int(r['terms']):,}" for r in rows}
    body = [(p, *(found[p, q] for q in orders)) for p in ("3", "5", "10", "13", "30", "54")]
    return markdown(("inputs p", *(f"Q = {q}" for q in orders)), body)


def partitions(store: Store) -> str:
    """Show seconds and megabytes of the three ways."""
    counts = {(r["p"], r["Q"]): r for r in store.read_table("partitions")}
    times = {(r["p"], r["Q"], r["what"]): r for r in store.read_table(f"partitions{TIMINGS}")}
    body = []
    for p, order in counts:
        row = counts[p, order]
        cells = [p, order, f"{int(row['terms']):,}", f"{int(row['partitions_all']):,}"]
        cells.append(f"{int(row['partitions_classes']):,}")
        for what in ("all terms", "classes M0", "our engine"):
            found = times[p, order, what]
            cells.append(f"{short(found['seconds'])} s, {megabytes(found['bytes'])}")
        body.append(tuple(cells))
    head = ("p", "Q", "terms", "partitions, all terms", "of the classes M0", "all terms")
    return markdown((*head, "classes M0", "our engine, whole conversion"), body)


def partitions_stored(_: Store) -> str:
    """Quote the authors' log.

    Examples
    --------
    >>> from pathlib import Path
    >>> partitions_stored(Store(Path("unused")))
    '112 s for all terms and 2.4 s for classes M0'
    """
    return " and ".join(f"{seconds:g} s for {what}" for what, seconds in PARTITIONS.items())


def errors(store: Store, name: str) -> str:
    """Show the median errors of every kind of network of an ensemble."""
    rows = store.read_table(f"{name}_mse")
    body: list[Sequence[str]] = []
    if name == "boston":
        paper = f"{BOSTON['mse_response']:.2g}", scientific(BOSTON["mse_taylor"])
        body.append(("*the authors' stored run: tanh, constrained*", *paper, "–"))
    for kind in KINDS:
        here = [r for r in rows if (r["activation"], r["constrained"]) == _cells(kind)]
        body.append(
            (
                f"{NAMES[kind[0]]}, {'constrained' if kind[1] else 'unconstrained'}",
                *(spread(r[e] for r in here) for e in _ERRORS),
            )
        )
    return markdown(("networks", "network against response", *_AGAINST), body)


def coefficients(store: Store, name: str) -> str:
    """Show mean and deviation of the largest coefficients, by both methods."""
    n = {"example": 10, "boston": 20}[name]
    rows = [
        row
        for row in store.read_table(f"{name}_coefficients")
        if (row["activation"], row["constrained"]) == _cells(KINDS[0])
    ]
    taylor = [row for row in rows if row["method"] == "taylor"][:n]
    other = {row["term"]: row for row in rows if row["method"] == "calibrated"}
    body = [
        (
            row["rank"],
            "intercept" if row["term"] == "1" else row["term"],
            _mean_sd(row),
            _mean_sd(other[row["term"]]) if row["term"] in other else "–",
        )
        for row in taylor
    ]
    return markdown(("rank", "term", "Taylor: mean (sd)", "calibrated: mean (sd)"), body)


def simulation(store: Store, which: str) -> str:
    """Show the medians of Fig. 6, the authors' beside ours."""
    error = f"mse_{which}"
    stored = STORED_TAYLOR if which == "taylor" else STORED_RESPONSE
    found = {
        (r["activation"], int(r["units"]), int(r["layers"])): r[error]
        for r in store.read_table("simulation_medians")
        if r["constrained"] == "yes"
    }
    shapes = sorted({(units, layers) for _, units, layers in found})
    show = scientific if which == "taylor" else short
    body = [
        (
            f"{units}, {layers}",
            *(
                cell
                for name in PAPER
                for cell in (
                    show(stored[units, layers][PAPER.index(name)])
                    if (units, layers) in stored
                    else "–",
                    show(found[name, units, layers]) if (name, units, layers) in found else "–",
                )
            ),
        )
        for units, layers in shapes
    ]
    heads = [f"{name}, {who}" for name in PAPER for who in ("authors", "ours")]
    return markdown(("units, layers", *heads), body)


def simulation_beyond(store: Store) -> str:
    """Show the range of the medians over all shapes, by activation and constraint."""
    rows = store.read_table("simulation_medians")
    body = []
    for held in ("yes", "no"):
        for name, label in NAMES.items():
            here = [r for r in rows if (r["activation"], r["constrained"]) == (name, held)]
            if here:
                kind = "constrained" if held == "yes" else "unconstrained"
                body.append((f"{label}, {kind}", *(between(r[e] for r in here) for e in _ERRORS)))
    return markdown(("networks", "network against response", *_AGAINST), body)


def covertype_errors(store: Store) -> str:
    """Show Table IV: the paper's numbers, and both of ours."""
    rows = store.read_table("covertype_published_mse")
    found = {(int(r["class"]), int(r["Q"])): r for r in rows}
    orders = sorted({order for _, order in found})
    body = [
        (
            f"{k}. {found[k, orders[0]]['forest']}",
            *(
                cell
                for q in orders
                for cell in (
                    f"{PRINTED_MSE[q][k - 1]:.6f}",
                    decimal(found[k, q]["mse_taylor"]),
                    decimal(found[k, q]["mse_calibrated"]),
                )
            ),
        )
        for k in range(1, 8)
    ]
    heads = [f"Q = {q}, {who}" for q in orders for who in ("paper", "Taylor", "calibrated")]
    return markdown(("forest type", *heads), body)


def covertype_agreement(store: Store, variant: str) -> str:
    """Show how often polynomial and network give the same label."""
    rows = store.read_table(f"covertype_{variant}_agreement")
    body = []
    for row in rows:
        kind = "constrained" if row["constrained"] == "yes" else "unconstrained"
        printed = PRINTED_AGREEMENT[int(row["Q"])] if kind == "constrained" else None
        body.append(
            (
                f"{NAMES[row['activation']]}, {kind}",
                row["Q"],
                f"{int(row['terms']):,}",
                f"{float(row['network_accuracy']):.4f}",
                *([f"{printed:.4f}" if printed else "–"] if variant == "published" else []),
                *(
                    f"{float(row[f'agreement_{m}']):.4f}" if row[f"agreement_{m}"] else "–"
                    for m in ("taylor", "calibrated")
                ),
            )
        )
    paper = ["agreement, paper"] if variant == "published" else []
    head = ("network", "Q", "terms", "accuracy", *paper, "agreement, Taylor")
    return markdown((*head, "agreement, calibrated"), body)


def covertype_confusion(store: Store, against: str) -> str:
    """Show Table III (against the response) or V (against the polynomial of order 1)."""
    rows = [
        row
        for row in store.read_table("covertype_published_confusion")
        if row["against"] == against and row["Q"] in ("", "1")
    ]
    printed = PRINTED_CONFUSION if against == "response" else PRINTED_CONFUSION_POLYNOMIAL
    body = [
        (
            row["network"],
            *(
                f"{int(row[str(j)]):,} / {printed[int(row['network']) - 1][j - 1]:,}"
                for j in range(1, 8)
            ),
        )
        for row in rows
    ]
    return markdown(("network", *map(str, range(1, 8))), body)


def seconds(store: Store) -> str:
    """Show what the experiments took."""
    body = []
    for name in store.read_record():
        path = store.folder / f"{name}_units{TIMINGS}.csv"
        if path.exists():
            rows = store.read_table(f"{name}_units{TIMINGS}")
            total = sum(float(row["processor_seconds"]) for row in rows)
            body.append((name, str(len(rows)), f"{total / 60:.1f} min"))
    return markdown(("experiment", "units of work", "processor time, one core"), body)


def simulation_seconds(store: Store) -> str:
    """Give the processor time of the paper's own 480 networks, in minutes."""
    rows = store.read_table(f"simulation_units{TIMINGS}")
    total = sum(
        float(row["processor_seconds"])
        for row in rows
        if "_constrained_" in row["unit"] and row["unit"].split("_")[0] in PAPER
    )
    return f"{total / 60:.1f}"


_ERRORS = ("mse_response", "mse_taylor", "mse_calibrated")
_AGAINST = ("Taylor against network", "calibrated against network")


def _cells(kind: Kind) -> tuple[str, str]:
    return kind[0], "yes" if kind[1] else "no"


def _mean_sd(row: CellRow) -> str:
    return f"{float(row['mean']):.3f} ({float(row['sd']):.3f})"


PARTS: dict[str, Callable[..., str]] = {
    "about": about,
    "claims": claims,
    "terms": terms,
    "partitions": partitions,
    "partitions_stored": partitions_stored,
    "errors": errors,
    "coefficients": coefficients,
    "simulation": simulation,
    "simulation_beyond": simulation_beyond,
    "simulation_seconds": simulation_seconds,
    "covertype_errors": covertype_errors,
    "covertype_agreement": covertype_agreement,
    "covertype_confusion": covertype_confusion,
    "seconds": seconds,
}
