"""`simulation`: depth, width and activation on simulated data (Fig. 6), and beyond it.

The paper trains 480 constrained networks. The same tables take in networks without the
constraint, and ReLU, which has no Taylor series at 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from nn2poly.plots.layout import panels, tidy
from nn2poly.plots.style import AMBER, BLACK, BLUE, GREY, PURPLE, styled
from nn2poly_paper.data import random_polynomial_data, stack
from nn2poly_paper.ensembles import kind_name
from nn2poly_paper.experiment import Claim, Experiment, Findings
from nn2poly_paper.figures import figure_of
from nn2poly_paper.measure import compare
from nn2poly_paper.stacked import Recipe, train_networks
from nn2poly_paper.store import Row, Tables
from nn2poly_paper.work import Unit, Work

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The colours of the paper's Fig. 6, and one for ReLU.
COLORS = {"tanh": BLUE, "softplus": AMBER, "sigmoid": GREY, "relu": PURPLE}
PAPER = ("tanh", "softplus", "sigmoid")
ERRORS = ("mse_response", "mse_taylor", "mse_calibrated")

# Stored by the authors: medians of 20 of the error against the network, and of the network;
# by (units, hidden layers), for tanh, softplus, sigmoid.
STORED_TAYLOR = {
    (50, 1): (2.31e-4, 2.39e-6, 1.01e-6),
    (50, 3): (1.41e-3, 1.83e-7, 3.14e-7),
    (50, 5): (1.32e-3, 2.86e-8, 2.98e-10),
    (50, 7): (1.13e-3, 1.08e-10, 1.10e-13),
    (100, 1): (3.33e-4, 5.25e-6, 5.42e-7),
    (100, 3): (1.40e-3, 2.15e-7, 7.32e-7),
    (100, 5): (1.32e-3, 3.74e-8, 5.81e-10),
    (100, 7): (1.21e-3, 3.76e-9, 6.65e-14),
}
STORED_RESPONSE = {
    (50, 1): (0.0134, 0.0084, 0.034),
    (50, 3): (0.0025, 0.028, 0.092),
    (50, 5): (0.0029, 0.077, 0.125),
    (50, 7): (0.0031, 0.112, 0.120),
    (100, 1): (0.0095, 0.0030, 0.031),
    (100, 3): (0.0025, 0.027, 0.083),
    (100, 5): (0.0021, 0.068, 0.123),
    (100, 7): (0.0033, 0.097, 0.127),
}


@dataclass(frozen=True)
class Settings:
    """The grid of networks, and the authors' training."""

    rows: int = 500
    layers: tuple[int, ...] = (1, 3, 5, 7)
    units: tuple[int, ...] = (50, 100)
    activations: tuple[str, ...] = ("tanh", "softplus", "sigmoid", "relu")
    constrained: tuple[bool, ...] = (True, False)
    repetitions: int = 20
    epochs: int = 700
    batch: int = 100
    rate: float = 1e-3
    order: int = 3
    seed: int = 1


QUICK = Settings(
    layers=(1, 3),
    units=(25,),
    activations=("tanh", "sigmoid", "relu"),
    repetitions=3,
    epochs=200,
    batch=75,
    rate=5e-3,
)


def run(settings: Settings, work: Work) -> Findings:
    """Train and measure the repetitions of every combination, each as one stack."""
    shared: Row = {"rows": settings.rows, "repetitions": settings.repetitions}
    shared |= {"seed": settings.seed, "order": settings.order}
    shared |= {"epochs": settings.epochs, "batch": settings.batch, "rate": settings.rate}
    grid: list[Row] = [
        {"activation": activation, "constrained": held, "layers": layers, "units": units}
        for held in settings.constrained
        for activation in settings.activations
        for layers in settings.layers
        for units in settings.units
    ]
    units = [
        Unit(_key(cell), {**cell, **shared})
        # The longest first, so that no process is left alone with them at the end.
        for cell in sorted(grid, key=lambda cell: (-cell["layers"], -cell["units"]))
    ]
    results = dict(
        zip([u.key for u in units], work.each("simulation", measure, units), strict=True)
    )
    rows = [
        {**cell, "repetition": k, **mse}
        for cell in grid
        for k, mse in enumerate(results[_key(cell)]["mse"], start=1)
    ]
    return Findings({"simulation": rows, "simulation_medians": _medians(rows)})


def measure(
    *,
    activation: str,
    constrained: bool,
    layers: int,
    units: int,
    rows: int,
    repetitions: int,
    epochs: int,
    batch: int,
    rate: float,
    order: int,
    seed: int,
) -> dict[str, Any]:
    """Train one network on each repetition's data, all at once, and convert them.

    All combinations meet the same data sets.

    Examples
    --------
    >>> found = measure(
    ...     activation="tanh", constrained=True, layers=1, units=4, rows=60, repetitions=2,
    ...     epochs=1, batch=20, rate=0.01, order=2, seed=1,
    ... )
    >>> len(found["mse"]), sorted(found["mse"][0])
    (2, ['mse_calibrated', 'mse_response', 'mse_taylor'])
    """
    data = [random_polynomial_data(rows, seed, k) for k in range(repetitions)]
    recipe = Recipe((units,) * layers, activation, constrained, epochs, batch, rate=rate)
    networks = train_networks(recipe, *stack(data), [[seed, 20, k] for k in range(repetitions)])
    measured = [compare(*pair, order) for pair in zip(networks, data, strict=True)]
    return {"mse": [found["mse"] for found in measured]}


def _key(cell: Row) -> str:
    kind = kind_name((cell["activation"], cell["constrained"]))
    return f"{kind}_{cell['layers']}x{cell['units']}"


def _medians(rows: Sequence[Row]) -> list[Row]:
    names = ("activation", "constrained", "layers", "units")
    cells: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        cells.setdefault(tuple(row[name] for name in names), []).append(row)
    return [
        {
            **dict(zip(names, key, strict=True)),
            **{
                error: None if here[0][error] is None else median(row[error] for row in here)
                for error in ERRORS
            },
        }
        for key, here in cells.items()
    ]


def claims(tables: Tables) -> list[Claim]:
    """Check what the paper reads from Fig. 6, and what calibration adds."""
    rows = tables["simulation_medians"]
    held = [row for row in rows if row["constrained"]]
    free = [row for row in rows if not row["constrained"]]
    smooth = [row for row in held if row["activation"] in PAPER]
    deep = max(row["layers"] for row in rows)
    at_depth = {
        name: median(
            r["mse_response"] for r in held if r["activation"] == name and r["layers"] == deep
        )
        for name in {row["activation"] for row in smooth}
    }
    sigmoid = {
        layers: median(
            r["mse_taylor"] for r in held if (r["activation"], r["layers"]) == ("sigmoid", layers)
        )
        for layers in {row["layers"] for row in rows}
    }
    worst = max(row["mse_taylor"] for row in smooth)
    closer = [row["mse_calibrated"] < row["mse_taylor"] for row in smooth]
    # A network that lost its way gives a calibration nothing to follow; medians do not.
    largest_free = max(row["mse_calibrated"] for row in free)
    lost = [row for row in free if row["activation"] == "tanh"]
    return [
        Claim(
            "Taylor's polynomial follows every kind of constrained network (MSE below 2e-3).",
            worst < 2e-3,
            f"largest median {worst:.2g}",
        ),
        Claim(
            "The sigmoid's error falls with depth.",
            sigmoid[deep] < sigmoid[min(sigmoid)],
            ", ".join(f"{value:.1e}" for _, value in sorted(sigmoid.items())),
        ),
        Claim(
            f"With {deep} layers only tanh learns the response.",
            min(at_depth, key=at_depth.__getitem__) == "tanh",
            ", ".join(f"{name} {value:.2g}" for name, value in sorted(at_depth.items())),
        ),
        Claim(
            "Without the constraint Taylor's polynomial is lost on tanh networks.",
            min(row["mse_taylor"] for row in lost) > worst,
            f"medians {min(row['mse_taylor'] for row in lost):.2g} and more",
        ),
        Claim(
            "Calibration is closer than Taylor's on constrained networks, in nine of ten kinds.",
            float(np.mean(closer)) >= 0.9,
            f"{sum(closer)} of {len(closer)}",
        ),
        Claim(
            "Calibration follows every kind of unconstrained network, ReLU included.",
            largest_free < 2e-2,
            f"largest median MSE {largest_free:.2g}",
        ),
    ]


@styled
def draw(findings: Findings) -> dict[str, Figure]:
    """Draw Fig. 6, and the calibrated polynomials of all kinds of networks."""
    rows = findings.tables["simulation"]
    held = [row for row in rows if row["constrained"]]
    free = [row for row in rows if not row["constrained"]]
    paper = [row for row in held if row["activation"] in PAPER]
    first = panels(None, 2, height=3.0)
    _boxes(first[0], paper, "mse_taylor", "Taylor polynomial against network")
    _boxes(first[1], paper, "mse_response", "network against response")
    second = panels(None, 2, height=3.0)
    _boxes(second[0], held, "mse_calibrated", "calibrated, constrained networks", "mse_taylor")
    _boxes(second[1], free, "mse_calibrated", "calibrated, unconstrained networks", "mse_taylor")
    return {
        "fig06_simulation": figure_of(first, legend_columns=5),
        "beyond_simulation": figure_of(second, legend_columns=5),
    }


def _boxes(axes: Axes, rows: list[Row], error: str, title: str, mark: str | None = None) -> None:
    """Draw a box for each kind of network, side by side by activation, on a log scale."""
    shapes = sorted({(row["layers"], row["units"]) for row in rows})
    names = list(dict.fromkeys(row["activation"] for row in rows))
    width = 0.8 / len(names)
    for place, name in enumerate(names):
        here = [
            [r for r in rows if (r["activation"], r["layers"], r["units"]) == (name, *shape)]
            for shape in shapes
        ]
        at = np.arange(len(shapes)) + (place - (len(names) - 1) / 2) * width
        axes.boxplot(
            [[row[error] for row in cell] for cell in here],
            positions=at,
            widths=0.8 * width,
            patch_artist=True,
            manage_ticks=False,
            boxprops={"facecolor": COLORS[name], "linewidth": 0.4},
            medianprops={"color": BLACK, "linewidth": 0.8},
            whiskerprops={"linewidth": 0.5},
            capprops={"linewidth": 0.5},
            flierprops={"marker": ".", "markersize": 1.5, "markeredgecolor": COLORS[name]},
        )
        axes.plot([], [], "s", color=COLORS[name], label="ReLU" if name == "relu" else name)
        if mark and here[0][0][mark] is not None:
            middle = [median(row[mark] for row in cell) for cell in here]
            axes.plot(at, middle, "_", color=COLORS[name], ms=6, mew=1.6, zorder=4)
    if mark:
        axes.plot([], [], "_", color=BLACK, ms=6, mew=1.6, label="median with Taylor")
    axes.set_yscale("log")
    axes.set_xticks(range(len(shapes)), [f"{layers}\n{units}" for layers, units in shapes])
    axes.set_xlabel("hidden layers (above) and units in each (below)")
    axes.set_ylabel("mean squared error")
    axes.set_title(title, loc="left")
    axes.grid(axis="y", alpha=0.25, linewidth=0.4)
    tidy(axes)


EXPERIMENT = Experiment("simulation", Settings(), QUICK, run, draw, claims)
