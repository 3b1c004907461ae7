"""How time and memory grow with inputs, order, neurons and depth; and 784 inputs at order 3.

Run with ``make bench``, or ``python benchmarks/scale.py --quick`` for a few points. Writes the
tables of ``docs/performance.md`` between their markers and ``docs/images/scale.png``.

Everything is on one thread and in processor time, so that a busy machine changes little; the
unit of comparison is the time of bare matrix products in the same process.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import nn2poly as n2p
from harness import constrained_network
from nn2poly.tables import Table

DOCS = Path(__file__).parent.parent / "docs"
PIXELS = (784, 100, 2, 3, 1)

Shape = tuple[int, int, int, int, int]  # inputs, neurons, hidden layers, order, outputs
# The shapes that were timed with the R package (1.0.1, two cores), with its seconds.
R_SECONDS: dict[Shape, float] = {
    (54, 100, 3, 3, 7): 5.1,
    (100, 100, 3, 3, 1): 34.5,
    (784, 100, 2, 2, 10): 20.2,
    (10, 50, 3, 7, 1): 61.5,
    (5, 100, 3, 8, 1): 6.4,
}
R_MEGABYTES: dict[Shape, float] = {(100, 100, 3, 3, 1): 1200.0, (784, 100, 2, 2, 10): 1400.0}
R_LABEL = "R package 1.0.1, two cores"
R_PREDICT_SECONDS, R_PREDICT_ROWS = 103.0, 500

# What grows, at which values, and the shape for a value.
SERIES: dict[str, tuple[str, list[int], Callable[[int], Shape]]] = {
    "inputs, order 3": ("inputs p", [25, 50, 100, 200, 400], lambda p: (p, 100, 3, 3, 1)),
    "inputs, order 2": ("inputs p", [98, 196, 392, 784, 1568], lambda p: (p, 100, 2, 2, 10)),
    "order, 10 inputs": ("order Q", [2, 3, 4, 5, 6, 7], lambda q: (10, 50, 3, q, 1)),
    "order, 5 inputs": ("order Q", [2, 3, 4, 5, 6, 7, 8], lambda q: (5, 100, 3, q, 1)),
    "neurons": ("neurons per layer h", [25, 50, 100, 200, 400], lambda h: (54, h, 3, 3, 7)),
    "depth": ("hidden layers", [1, 2, 3, 4, 8], lambda d: (54, 100, d, 3, 7)),
}
ON_PAPER = {
    "inputs, order 3": "p³/6 terms, each a sum over all neurons: slope 3",
    "inputs, order 2": "p²/2 terms, each a sum over all neurons: slope 2",
    "order, 10 inputs": "C(10 + Q, Q) terms: slope below 10",
    "order, 5 inputs": "C(5 + Q, Q) terms: slope below 5",
    "neurons": "sums over neurons; h² weights: slope 1 to 2",
    "depth": "sums over neurons of all layers: slope 1",
}


# --- measuring, in a process of its own ---------------------------------------------------------


def alone(task: Callable[..., Any], *args: Any) -> Any:
    """Run a task in a new process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(task, args)


def cpu_seconds(task: Callable[[], Any], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        task()
        times.append(time.process_time() - begin)
    return min(times)


def status_megabytes(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def unit_product() -> float:
    """Time one product of two 1000 × 1000 matrices: two thousand million operations."""
    a = np.random.default_rng(0).normal(size=(1000, 1000))
    return cpu_seconds(lambda: a @ a, 5)


def convert_point(shape: Shape) -> dict[str, float]:
    """Time a conversion, and the growth of the peak memory of a first one."""
    p, width, depth, order, n_outputs = shape
    network = constrained_network(p, width, depth, n_outputs)
    unit = unit_product()
    Path("/proc/self/clear_refs").write_text("5")
    before = status_megabytes("VmRSS")
    first = cpu_seconds(lambda: n2p.convert(network, order), 1)
    peak = status_megabytes("VmHWM") - before
    seconds = min(first, cpu_seconds(lambda: n2p.convert(network, order), 2 if first > 1 else 7))
    return {"seconds": seconds, "unit": unit, "megabytes": max(peak, 0.1)}


def bare_products(p: int, neurons: int) -> float:
    """Time the matrix products that order 3 in p inputs cannot do without."""
    rng = np.random.default_rng(0)
    u, v = rng.normal(size=(2, p, neurons))
    return cpu_seconds(lambda: [u[f:] @ v[f:].T for f in range(p)], 2)


def large_point(kind: str, folder: str) -> dict[str, Any]:
    """Do one thing to a large network; give seconds, peak memory, and what was found."""
    wide = kind.endswith("2,000 inputs")
    p, width, depth, order, n_outputs = (2000, 100, 2, 2, 1) if wide else PIXELS
    network = constrained_network(p, width, depth, n_outputs)
    pnet = n2p.polynomial_network(network, order)
    tasks: dict[str, Callable[[], Any]] = {
        "convert, in memory": pnet.expand,
        "convert, out=poly.npz": lambda: pnet.expand(out=f"{folder}/poly.npz"),
        "convert, out=poly": lambda: pnet.expand(out=f"{folder}/poly"),
        "load(poly), predict 200 rows, top(20)": lambda: used(f"{folder}/poly", p),
        "top_terms(100), order 3": lambda: pnet.top_terms(100),
        "top_terms(100), order 2, 2,000 inputs": lambda: pnet.top_terms(100),
        "interactions_of(one input), order 3": lambda: pnet.interactions_of(300, n=100),
    }
    kept: list[Any] = []
    seconds = cpu_seconds(lambda: kept.append(tasks[kind]()), 1)
    peak, private = status_megabytes("VmHWM"), status_megabytes("RssAnon")
    result: dict[str, Any] = {"seconds": seconds, "peak": peak, "private": private}
    found = kept[0]
    result["top"] = list(found.top(20)) if isinstance(found, n2p.Polynomial) else list(found)[:20]
    if isinstance(found, n2p.Polynomial):
        result["difference"] = largest_difference(found, pnet)
    result["bare"] = bare_products(p, width * depth) if order == 3 else float("nan")
    return result


def used(path: str, p: int) -> n2p.Polynomial | n2p.PiecewisePolynomial:
    poly = n2p.load(path)
    poly.predict(np.random.default_rng(1).uniform(-1, 1, (200, p)))
    poly.top(20)
    return poly


def largest_difference(poly: n2p.Polynomial, pnet: n2p.PolynomialNetwork) -> float:
    """Compare 200 random coefficients with those of the factored form, relatively."""
    rng = np.random.default_rng(2)
    places = rng.integers(0, poly.n_terms, 200)
    pairs = [(poly.coefficients[i, 0], pnet.coefficient(poly.terms[int(i)])) for i in places]
    return float(max(abs(a - b) / abs(b) for a, b in pairs))


# --- tables -------------------------------------------------------------------------------------


def large_table() -> Table:
    kinds = [
        "convert, in memory",
        "convert, out=poly.npz",
        "convert, out=poly",
        "load(poly), predict 200 rows, top(20)",
        "top_terms(100), order 3",
        "interactions_of(one input), order 3",
        "top_terms(100), order 2, 2,000 inputs",
    ]
    with tempfile.TemporaryDirectory() as folder:
        found = {kind: alone(large_point, kind, folder) for kind in kinds}
    tops = [found[kind]["top"] for kind in kinds[:5]]
    same = all(top == tops[0] for top in tops)
    worst = max(found[kind].get("difference", 0.0) for kind in kinds)
    rows = tuple(
        (kind, r["seconds"], r["seconds"] / r["bare"], r["peak"], r["private"])
        for kind, r in found.items()
    )
    columns = ("784-100-100-1, order 3", "s", "time / bare products", "peak MB", "of it own MB")
    return Table(
        "80.9 million coefficients: processor time and peak memory of the whole process",
        columns,
        rows,
        note=f"The 20 largest terms are {'identical' if same else 'NOT identical'} in memory, on "
        f"disk and streamed; 200 random coefficients differ from pnet.coefficient by at most "
        f"{worst:.0e} relative. Bare products: those of (p - f, 200) by (200, p - f) for f = 0 … "
        f"p - 1. Own memory at the end: the rest of a peak is the mapped file, which the system "
        f"takes back when it needs to.",
    )


def shape_table(points: dict[Shape, dict[str, float]]) -> Table:
    rows = []
    for shape, r_seconds in R_SECONDS.items():
        ours = points[shape]
        autodiff = autodiff_ratio(shape)
        rows.append(
            (
                str(shape),
                ours["seconds"],
                ours["seconds"] / ours["unit"],
                autodiff,
                r_seconds,
                r_seconds / ours["seconds"],
            )
        )
    return Table(
        "convert(Network), one thread",
        (
            "inputs, neurons, layers, Q, outputs",
            "s",
            "/ unit",
            "autodiff / ours",
            "R s",
            "R / ours",
        ),
        tuple(rows),
        note="unit: one product of 1000 × 1000 matrices in the same process. autodiff: warm nested "
        "torch.func, top degree only, one thread, in turns with ours. R: package 1.0.1, 2 cores.",
    )


def autodiff_ratio(shape: Shape) -> float | None:
    """Divide the time of nested autodiff by ours, both warm, in turns in this process."""
    import torch

    from engine import nested_autodiff

    p, width, depth, order, n_outputs = shape
    if order > 3:
        return None
    torch.set_num_threads(1)
    network = constrained_network(p, width, depth, n_outputs)
    derivative, zero = nested_autodiff(network, order), torch.zeros(p).double()
    tasks: list[Callable[[], Any]] = [
        partial(derivative, zero),
        partial(n2p.convert, network, order),
    ]
    for task in tasks:
        task()
    times = np.array([[cpu_seconds(task, 1) for task in tasks] for _ in range(7)])
    return float(np.divide(*np.median(times, axis=0)))


def prediction_table() -> Table:
    p, width, depth, order, n_outputs = (54, 100, 3, 3, 7)
    network = constrained_network(p, width, depth, n_outputs)
    pnet = n2p.polynomial_network(network, order)
    poly, n = pnet.expand(), 20_000
    X = np.random.default_rng(1).uniform(-1, 1, (n, p))
    a, b = np.ones((n // 10, poly.n_terms)), np.ones((poly.n_terms, n_outputs))
    bare = 10 * cpu_seconds(lambda: a @ b, 3)
    dense = unit_product() * 2 * n * poly.n_terms * n_outputs / 2e9
    ways: dict[str, Callable[[], Any]] = {
        "poly.predict(X)": lambda: poly.predict(X),
        "poly.predict(X, dtype=float32)": lambda: poly.predict(X, dtype=np.float32),
        "pnet.predict(X), by rays": lambda: pnet.predict(X),
        "pnet.predict(X, dtype=float32)": lambda: pnet.predict(X, dtype=np.float32),
        "network.predict(X)": lambda: network.predict(X),
    }
    rows = []
    for name, task in ways.items():
        task()
        seconds = cpu_seconds(task, 3)
        per_row = R_PREDICT_SECONDS / R_PREDICT_ROWS / (seconds / n)
        rows.append((name, seconds, int(n / seconds), seconds / bare, seconds / dense, per_row))
    return Table(
        f"{n:,} rows, 54 inputs, order 3: {poly.n_terms:,} terms, 7 outputs, one thread",
        ("way", "s", "rows per s", "/ features @ C", "/ same flops", "R per row / ours"),
        tuple(rows),
        note="features @ C: the product alone, with a feature matrix of rows × terms at hand; same "
        "flops: as many operations in square matrix products. R: 500 rows in 103 s.",
    )


def growth_table(points: dict[Shape, dict[str, float]], series: dict[str, Any]) -> Table:
    rows = []
    for name, (_, values, shape) in series.items():
        here = [points[shape(value)] for value in values]
        slopes = [slope(values, [p[key] for p in here]) for key in ("seconds", "megabytes")]
        ends = [p["seconds"] for p in (here[0], here[-1])]
        span = f"{values[0]} to {values[-1]}"
        rows.append((name, span, *ends, *slopes, ON_PAPER[name]))
    return Table(
        "What grows, and how fast",
        ("what grows", "from", "s first", "s last", "slope time", "slope memory", "on paper"),
        tuple(rows),
        note="Slopes of the straight line through the last three points of the log-log plot. "
        "Memory below a megabyte is not resolved, which makes its slopes steep.",
    )


def slope(x: list[int], y: list[float]) -> float:
    return float(np.polyfit(np.log(x[-3:]), np.log(y[-3:]), 1)[0])


# --- the figure ---------------------------------------------------------------------------------

PANELS = {
    "inputs p": ["inputs, order 3", "inputs, order 2"],
    "order Q": ["order, 10 inputs", "order, 5 inputs"],
    "neurons per layer h": ["neurons"],
    "hidden layers": ["depth"],
}
LABELS = {
    "inputs, order 3": "Q = 3, 3 × 100, 1 output",
    "inputs, order 2": "Q = 2, 2 × 100, 10 outputs",
    "order, 10 inputs": "p = 10, 3 × 50",
    "order, 5 inputs": "p = 5, 3 × 100",
    "neurons": "p = 54, 3 layers, Q = 3,\n7 outputs",
    "depth": "p = 54, h = 100, Q = 3,\n7 outputs",
}


def draw(points: dict[Shape, dict[str, float]], series: dict[str, Any], path: Path) -> None:
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

    colours = ("#1f5a96", "#c8641e")
    with mpl.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(11, 6.2), layout="constrained")
        axes = figure.subplots(2, 4, sharey="row")
        for column, (label, names) in enumerate(PANELS.items()):
            for name, colour in zip(names, colours, strict=False):
                _, values, shape = series[name]
                for row, (key, r_known) in enumerate(
                    [("seconds", R_SECONDS), ("megabytes", R_MEGABYTES)]
                ):
                    ax = axes[row][column]
                    y = [points[shape(value)][key] for value in values]
                    ax.plot(values, y, "o-", color=colour, ms=4, lw=1.4, label=LABELS[name])
                    known = [(v, r_known[shape(v)]) for v in values if shape(v) in r_known]
                    ax.plot(
                        *zip(*known, strict=True) if known else ([], []),
                        "D",
                        color=colour,
                        mfc="white",
                        ms=6,
                    )
                    ax.set(xscale="log", yscale="log")
                    ax.grid(which="major", color="#e4e4e4", lw=0.6)
            ticks = sorted({v for name in names for v in series[name][1]})
            if label == "inputs p":
                ticks = [25, 100, 400, 1600]
            for row in (0, 1):
                axes[row][column].xaxis.set_major_locator(FixedLocator(ticks))
                axes[row][column].xaxis.set_minor_locator(NullLocator())
                axes[row][column].xaxis.set_major_formatter(StrMethodFormatter("{x:.0f}"))
            axes[0][column].legend(frameon=False, fontsize=8, loc="upper left", handlelength=1.2)
            axes[1][column].set_xlabel(label)
        for row, (low, high) in enumerate([(5e-4, 3e3), (0.1, 2e4)]):
            axes[row][0].set_ylim(low, high)
        axes[0][0].set_ylabel("processor time of convert (s)")
        axes[1][0].set_ylabel("growth of peak memory (MB)")
        figure.legend(
            handles=[
                Line2D([], [], color="#555555", marker="o", ms=4, label="this package, one thread"),
                Line2D(
                    [], [], color="#555555", marker="D", mfc="white", ms=6, ls="", label=R_LABEL
                ),
            ],
            loc="outside upper right",
            ncols=2,
            frameon=False,
        )
        path.parent.mkdir(exist_ok=True)
        figure.savefig(path, dpi=160)


# --- the page -----------------------------------------------------------------------------------


def markdown(table: Table) -> str:
    """Write a table for a page, its numbers as the table itself prints them."""
    # One renderer: the text of a table is cut at the gaps of its ruler.
    lines = str(table).splitlines()
    ruler = next(i for i, line in enumerate(lines) if set(line) <= {"-", " "} and "-" in line)
    edges, place = [], 0
    for part in lines[ruler].split("  "):
        edges.append((place, place + len(part)))
        place += len(part) + 2
    rows = [lines[ruler - 1], *lines[ruler + 1 : ruler + 1 + len(table)]]
    cells = [[line[a:b].strip() for a, b in edges] for line in rows]
    head, body = cells[0], cells[1:]
    out = [f"**{table.title}**", "", f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    out += [f"| {' | '.join(row)} |" for row in body]
    return "\n".join([*out, "", table.note])


def write_page(sections: dict[str, str], page: Path) -> None:
    """Replace what stands between the markers of each section."""
    text = page.read_text(encoding="utf-8")
    for name, content in sections.items():
        begin, end = f"<!-- {name} begins -->", f"<!-- {name} ends -->"
        head, _, rest = text.partition(begin)
        _, _, tail = rest.partition(end)
        text = f"{head}{begin}\n{content}\n{end}{tail}"
    page.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few points, and write nothing")
    quick = parser.parse_args().quick
    # The processes that are started from here read this when they load their libraries.
    os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with threadpool_limits(1):
        run(quick=quick)


def run(*, quick: bool) -> None:
    series = {
        name: (label, values[:3] if quick else values, shape)
        for name, (label, values, shape) in SERIES.items()
    }
    shapes = [shape(value) for _, values, shape in series.values() for value in values]
    points = {shape: alone(convert_point, shape) for shape in [*R_SECONDS, *shapes]}
    tables = {
        "shapes": shape_table(points),
        "growth": growth_table(points, series),
        "prediction": prediction_table(),
    }
    if not quick:
        tables["large"] = large_table()
    for table in tables.values():
        print(table, end="\n\n")
    if not quick:
        draw(points, series, DOCS / "images" / "scale.png")
        where = f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}"
        sections = {name: markdown(table) for name, table in tables.items()}
        write_page({**sections, "machine": f"Measured with {where}."}, DOCS / "performance.md")


if __name__ == "__main__":
    main()
