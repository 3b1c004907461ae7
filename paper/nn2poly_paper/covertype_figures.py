"""Figures of `covertype`: coefficients of every class (Fig. 9), and errors by order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nn2poly.formula.polynomial import Polynomial
from nn2poly.plots.bars import importance
from nn2poly.plots.layout import panels, tidy
from nn2poly.plots.style import BLUE, GREY, ORANGE, styled
from nn2poly_paper.covertype_claims import PRINTED_MSE
from nn2poly_paper.covertype_data import FEATURE_NAMES, FOREST_TYPES
from nn2poly_paper.experiment import Findings
from nn2poly_paper.figures import figure_of
from nn2poly_paper.store import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHORT = {"Horizontal_Distance_To_": "dist. ", "Vertical_Distance_To_": "height to "}


@styled
def draw(findings: Findings) -> dict[str, Figure]:
    """Draw the ten largest coefficients of each class at order 1, and the errors."""
    variant = findings.objects["variant"]
    suffix = "" if variant == "published" else f"_{variant}"
    return {
        f"fig09_covertype{suffix}": _draw_coefficients(findings),
        f"covertype_errors{suffix}": _draw_errors(findings, published=variant == "published"),
    }


def _draw_coefficients(findings: Findings) -> Figure:
    values = np.array(findings.objects["first"]["taylor"]["coefficients"])
    names = [_short(name) for name in FEATURE_NAMES]
    poly = Polynomial(values, 1, names, [f"{k}. {t}" for k, t in enumerate(FOREST_TYPES, 1)])
    axes = panels(None, 8, columns=3, height=2.0)
    for k, panel in enumerate(axes[:7]):
        importance(poly, 10, output=k, ax=panel)
        panel.set_xlabel("")
        if legend := panel.get_legend():
            legend.remove()
    handles = [
        axes[7].barh([0], [0], color=color, label=text)
        for color, text in ((BLUE, "positive"), (ORANGE, "negative"))
    ]
    axes[7].axis("off")
    axes[7].legend(handles=handles, loc="center", title="absolute coefficient,\ninputs in [−1, 1]")
    return figure_of(axes)


def _short(name: str) -> str:
    for long, short in SHORT.items():
        name = name.replace(long, short)
    return name.replace("_", " ")


def _draw_errors(findings: Findings, *, published: bool) -> Figure:
    rows = [
        row
        for key, table in findings.tables.items()
        if key.endswith("_mse")
        for row in table
        if row["activation"] == "tanh" and row["constrained"]
    ]
    orders = sorted({row["Q"] for row in rows})
    axes = panels(None, len(orders), columns=3, height=2.4)
    for panel, order in zip(axes, orders, strict=True):
        _draw_order(panel, [row for row in rows if row["Q"] == order], order, published)
    low = min(panel.get_ylim()[0] for panel in axes)
    high = max(panel.get_ylim()[1] for panel in axes)
    for panel in axes:
        panel.set_ylim(low, high)
    axes[0].set_ylabel("MSE against the network")
    return figure_of(axes, legend_columns=3)


def _draw_order(axes: Axes, rows: list[Row], order: int, published: bool) -> None:
    where = [row["class"] for row in rows]
    if published:
        axes.plot(where, PRINTED_MSE[order], "x", color=GREY, label="printed in the paper")
    axes.plot(where, [r["mse_taylor"] for r in rows], "o", color=BLUE, ms=4, label="Taylor")
    axes.plot(
        where, [r["mse_calibrated"] for r in rows], "s", color=ORANGE, ms=3.5, label="calibrated"
    )
    axes.set_yscale("log")
    axes.set_xticks(where)
    axes.set_xlabel("forest type")
    axes.set_title(f"order {order}", loc="left")
    axes.grid(axis="y", alpha=0.25, linewidth=0.4)
    tidy(axes)
