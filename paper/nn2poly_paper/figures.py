"""What the figures share: lines by order, a legend below, the figure of some Axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from nn2poly.plots.layout import tidy
from nn2poly.plots.style import sequential
from nn2poly_paper.store import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def figure_of(axes: Sequence[Axes], *, legend_columns: int = 0) -> Figure:
    """Give the figure that holds the Axes; with columns, the first one's legend below them."""
    figure = cast("Figure", axes[0].figure)
    if legend_columns:
        handles, names = axes[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=legend_columns)
    return figure


def lines_by_order(axes: Axes, rows: Sequence[Row], quantity: str, size: float) -> None:
    """Draw a quantity against the inputs p on a log scale, a line for each order Q."""
    orders, colors = sorted({row["Q"] for row in rows}, reverse=True), sequential()
    for place, order in enumerate(orders):
        here = [row for row in rows if row["Q"] == order]
        axes.plot(
            [row["p"] for row in here],
            [row[quantity] for row in here],
            marker="o",
            ms=size,
            color=colors(place / max(len(orders) - 1, 1)),
            label=f"{order}",
        )
    axes.set_yscale("log")
    axes.grid(alpha=0.25, linewidth=0.4)
    tidy(axes)
