"""The network's own curve beside that of its formula, in `effects`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.assess.compared import comparable
from nn2poly.assess.fidelity import check_pair
from nn2poly.formula.piecewise import Explicit
from nn2poly.inputs import read_either
from nn2poly.network.oracle import Model
from nn2poly.outputs import Outputs
from nn2poly.plots.style import BLUE, ORANGE
from nn2poly.plots.units import thin

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A network is asked at each of so many points for so many rows: 250,000 predictions per feature,
# a second of a network with 100 neurons.
POINTS, MOST_ROWS = 50, 5_000


@dataclass(frozen=True, eq=False)
class Compared:
    """A network, and the rows (n, p) over which its outputs are averaged, on a scale."""

    network: Model
    rows: FloatArray
    outputs: Outputs
    kind: str = "raw"

    def average_at(self, places: tuple[int, ...], settings: FloatArray) -> FloatArray:
        """Average the outputs with features set to each of some values (g, width): (g, k)."""
        rows, made = self.rows.copy(), []
        for values in settings:
            rows[:, list(places)] = values
            raw = self.network.predict(rows).reshape(len(rows), -1)
            made.append(self.outputs.on_scale(raw, self.kind).mean(axis=0))
        return np.array(made)


def compare(model: Any, poly: Explicit, X: Any, kind: str = "raw") -> Compared:
    """Read the network of a formula, and the rows; without X its rows are the formula's centre.

    Raises
    ------
    InvalidInputError
        When network and formula do not go together.
    """
    table = poly.center[None] if X is None else X
    network = comparable(model, poly.inputs, poly.outputs, table)
    check_pair(network, poly, "effects")
    rows = thin(read_either(table, poly.inputs, network.inputs), MOST_ROWS)
    return Compared(network, rows, poly.outputs, kind)


def draw_network(
    axes: Axes, compared: Compared, feature: int, output: int, values: FloatArray, *, few: bool
) -> None:
    """Draw the network along a feature: a dashed curve, or a ring at each of a few values."""
    curve = compared.average_at((feature,), values[:, None])[:, output]
    if few:
        draw_rings(axes, values, curve)
    else:
        axes.plot(values, curve, "--", color=ORANGE, linewidth=1.0)


def draw_rings(axes: Axes, x: FloatArray, y: FloatArray) -> None:
    """Draw what the network says at single values, around the formula's dots."""
    axes.plot(x, y, "o", markerfacecolor="none", color=ORANGE, markersize=6.5, clip_on=False)


def name_curves(axes: Axes) -> None:
    """Say above the Axes, on the right, which is which."""
    from matplotlib.lines import Line2D

    looks: Any = (("formula", "-", BLUE), ("network", "--", ORANGE))
    axes.legend(
        handles=[Line2D([], [], linestyle=s, color=c, label=t) for t, s, c in looks],
        loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, handlelength=1.6, borderpad=0.1,
        borderaxespad=0.1, columnspacing=1.0, handletextpad=0.5,
    )  # fmt: skip
