"""`boston`: house prices from 13 inputs (Figs. 7 and 8). See `data` on the column B."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nn2poly.plots.style import styled
from nn2poly_paper.ensembles import (
    KINDS,
    Training,
    draw_coefficients,
    draw_predictions,
    medians,
    ranked,
    run_ensembles,
)
from nn2poly_paper.experiment import Claim, Experiment, Findings
from nn2poly_paper.store import Tables
from nn2poly_paper.work import Work

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Stored by the authors: mean squared error against the network, and of the network.
STORED = {"mse_taylor": 3.33e-4, "mse_response": 0.0417}
# Named in Section V-C, with the sign of their coefficients.
PRINTED_SIGNS = {"LSTAT": -1, "RM": 1, "CRIM": -1, "DIS": -1}


@dataclass(frozen=True)
class Settings:
    """The bundled data in the authors' split; ten networks of each kind."""

    training: Training = field(default_factory=Training)
    seed: int = 1


QUICK = Settings(Training((50, 50, 50), epochs=400, batch=100, rate=2e-3, networks=2))


def run(settings: Settings, work: Work) -> Findings:
    """Train ten networks of each kind, and average their polynomials."""
    training, seed = settings.training, settings.seed
    return run_ensembles("boston", {"name": "boston"}, training, seed, work, top=40)


def claims(tables: Tables) -> list[Claim]:
    """Check the errors and the most important inputs against the paper's."""
    middle = medians(tables, "boston")
    held, free = middle["tanh", True], middle["tanh", False]
    means = {row["term"]: row["mean"] for row in ranked(tables, "boston")}
    first = [row["term"] for row in ranked(tables, "boston")[:4]]
    signs = all(means.get(term, 0.0) * sign > 0 for term, sign in PRINTED_SIGNS.items())
    age = next((r["rank"] for r in ranked(tables, "boston") if r["term"] == "AGE"), None)
    relu = middle["relu", True]
    return [
        Claim(
            "Taylor's polynomial follows the constrained networks with an MSE below 1e-3.",
            held["mse_taylor"] < 1e-3,
            f"median {held['mse_taylor']:.2g}; the authors' run has 3.3e-4",
        ),
        Claim(
            "LSTAT and RM matter most; LSTAT, CRIM and DIS lower the price, RM raises it.",
            set(first[:2]) == {"LSTAT", "RM"} and signs,
            ", ".join(first),
        ),
        Claim(
            "AGE matters little: it is not among the first ten.",
            age is None or age > 10,
            f"rank {age}" if age else "not among the first 40",
        ),
        Claim(
            "Without the constraint Taylor's polynomial is lost, and the calibrated one is not.",
            free["mse_taylor"] > 1.0 > 0.1 > free["mse_calibrated"],
            f"MSE {free['mse_taylor']:.2g} and {free['mse_calibrated']:.2g}",
        ),
        Claim(
            "Calibration is closer on constrained networks too, and works for ReLU.",
            held["mse_calibrated"] < held["mse_taylor"] and relu["mse_calibrated"] < 0.05,
            f"MSE {held['mse_calibrated']:.2g} (tanh) and {relu['mse_calibrated']:.2g} (ReLU)",
        ),
    ]


@styled
def draw(findings: Findings) -> dict[str, Figure]:
    """Draw the predictions of one network, and the twenty largest coefficients of ten."""
    return {
        "fig07_boston_predictions": draw_predictions(findings, KINDS[:1]),
        "fig08_boston_coefficients": draw_coefficients(findings, 20),
    }


EXPERIMENT = Experiment("boston", Settings(), QUICK, run, draw, claims)
