"""`example`: 4 x1 - 3 x2 x3, with and without the constraint (Figs. 3–5)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nn2poly.errors import RadiusWarning
from nn2poly.plots.layers import potentials
from nn2poly.plots.layout import panels
from nn2poly.plots.style import styled
from nn2poly_paper.ensembles import (
    KINDS,
    Training,
    draw_coefficients,
    draw_predictions,
    medians,
    ranked,
    run_ensembles,
    unpack,
)
from nn2poly_paper.experiment import Claim, Experiment, Findings
from nn2poly_paper.figures import figure_of
from nn2poly_paper.measure import TAYLOR_ORDER
from nn2poly_paper.store import Tables
from nn2poly_paper.work import Work

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Settings:
    """500 rows; epochs and batch of the authors' script, which the paper does not print."""

    rows: int = 500
    training: Training = field(default_factory=lambda: Training(epochs=3000, batch=50))
    seed: int = 1


# Constrained networks start near a plateau, as a linear function, which the authors leave after
# more than a thousand epochs; from larger weights a few hundred are enough.
QUICK = Settings(training=Training((60, 60, 60), 300, 50, rate=2e-3, spread=1.0, networks=2))


def run(settings: Settings, work: Work) -> Findings:
    """Train ten networks of each kind, and average their polynomials."""
    data = {"name": "example", "rows": settings.rows, "seed": settings.seed}
    return run_ensembles("example", data, settings.training, settings.seed, work, top=20)


def claims(tables: Tables) -> list[Claim]:
    """Check that the terms come out on top, and what the constraint and calibration are for."""
    top = [row["term"] for row in ranked(tables, "example")[:2]]
    signs = {row["term"]: row["mean"] > 0 for row in ranked(tables, "example")}
    middle = medians(tables, "example")
    held, free = middle["tanh", True], middle["tanh", False]
    return [
        Claim(
            "x2 · x3 (negative) and x1 (positive) have the largest coefficients.",
            set(top) == {"x2 · x3", "x1"} and not signs["x2 · x3"] and signs["x1"],
            ", ".join(row["term"] for row in ranked(tables, "example")[:4]) + ", …",
        ),
        Claim(
            "Taylor's polynomial follows constrained networks, and not unconstrained ones.",
            held["mse_taylor"] < 1e-2 < free["mse_taylor"],
            f"MSE {held['mse_taylor']:.2g} and {free['mse_taylor']:.2g}",
        ),
        Claim(
            "Unconstrained networks fit the response better.",
            free["mse_response"] < held["mse_response"],
            f"MSE {free['mse_response']:.2g} and {held['mse_response']:.2g}",
        ),
        Claim(
            "Calibration follows networks of both kinds, and is closer than Taylor's.",
            held["mse_calibrated"] < held["mse_taylor"] and free["mse_calibrated"] < 1e-3,
            f"MSE {held['mse_calibrated']:.2g} and {free['mse_calibrated']:.2g}",
        ),
    ]


@styled
def draw(findings: Findings) -> dict[str, Figure]:
    """Draw predictions, potentials per layer, and the ten largest coefficients."""
    return {
        "fig03_predictions": draw_predictions(findings, KINDS[:2]),
        "fig04_potentials": _draw_potentials(findings),
        "fig05_coefficients": draw_coefficients(findings, 10),
    }


def _draw_potentials(findings: Findings) -> Figure:
    data, order = findings.objects["data"], findings.objects["order"]
    networks = [unpack(findings.objects["results"][kind]["first"]) for kind in KINDS[:2]]
    depth = len(networks[0].layers) - 1
    axes = panels(None, 2 * depth, columns=depth, height=2.3)
    for place, (network, name) in enumerate(
        zip(networks, ("constrained", "unconstrained"), strict=True)
    ):
        row = axes[depth * place : depth * (place + 1)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RadiusWarning)
            potentials(
                network,
                data.X_test,
                method="taylor",
                max_order=order,
                taylor_order=TAYLOR_ORDER,
                ax=row,
            )
        row[0].set_ylabel(f"{name}\noutput of a neuron")
    for panel in axes:
        if legend := panel.get_legend():
            legend.remove()
    return figure_of(axes, legend_columns=3)


EXPERIMENT = Experiment("example", Settings(), QUICK, run, draw, claims)
