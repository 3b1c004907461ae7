"""`terms`: the number of terms N(p, Q) of a polynomial (Fig. 1)."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING

from nn2poly.algebra.monomials import count_terms
from nn2poly.plots.layout import panels
from nn2poly.plots.style import styled
from nn2poly_paper.experiment import Claim, Experiment, Findings
from nn2poly_paper.figures import figure_of, lines_by_order
from nn2poly_paper.store import Tables
from nn2poly_paper.work import Work

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Printed in Section V-D, of the polynomials in the 54 inputs of Covertype.
PRINTED = {1: 55, 2: 1540, 3: 29260}


@dataclass(frozen=True)
class Settings:
    """Numbers of inputs and orders, as in the authors' script; there is nothing to shorten."""

    inputs: tuple[int, ...] = (*range(1, 31), 54)
    orders: tuple[int, ...] = tuple(range(1, 11))
    seed: int = 1


def run(settings: Settings, work: Work) -> Findings:
    """Count the terms of every order in every number of inputs.

    Examples
    --------
    >>> from pathlib import Path
    >>> from nn2poly_paper.store import Store
    >>> run(Settings((2,), (2,)), Work(Store(Path("unused")))).tables
    {'terms': [{'p': 2, 'Q': 2, 'terms': 6}]}
    """
    rows = [
        {"p": p, "Q": order, "terms": count_terms(p, order)}
        for order in settings.orders
        for p in settings.inputs
    ]
    work.report("terms", len(rows), len(rows), "")
    return Findings({"terms": rows})


def claims(tables: Tables) -> list[Claim]:
    """Check the formula of the paper's Section II-B and the numbers printed for Covertype.

    Examples
    --------
    >>> claims({"terms": [{"p": 54, "Q": 1, "terms": 55}]})[0].holds
    True
    """
    rows = tables["terms"]
    wrong = [r for r in rows if r["terms"] != _formula(r["p"], r["Q"])]
    found = {r["Q"]: r["terms"] for r in rows if r["p"] == 54 and r["Q"] in PRINTED}
    return [
        Claim(
            "The number of terms is Σ C(p + T - 1, T) over T = 0 … Q.",
            not wrong,
            f"{len(rows)} pairs of p and Q",
        ),
        Claim(
            "54 inputs give 55, 1,540 and 29,260 terms at orders 1, 2 and 3.",
            all(PRINTED[order] == terms for order, terms in found.items()),
            ", ".join(f"{terms:,}" for terms in found.values()),
        ),
    ]


def _formula(p: int, order: int) -> int:
    return sum(comb(p + degree - 1, degree) for degree in range(order + 1))


@styled
def draw(findings: Findings) -> dict[str, Figure]:
    """Draw the number of terms against the number of inputs, one line for each order."""
    (axes,) = panels(None, height=2.6)
    rows = [row for row in findings.tables["terms"] if row["p"] <= 30 and row["Q"] > 1]
    lines_by_order(axes, rows, "terms", 2)
    axes.set_xlabel("inputs p")
    axes.set_ylabel("terms N(p, Q)")
    axes.legend(title="order Q", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return {"fig01_terms": figure_of([axes])}


EXPERIMENT = Experiment("terms", Settings(), Settings(), run, draw, claims)
