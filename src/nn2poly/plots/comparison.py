"""`diagonal`: the network's outputs against the polynomial's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nn2poly.arguments import plural
from nn2poly.arrays import FloatArray
from nn2poly.assess.compared import comparable
from nn2poly.assess.fidelity import Approximation, check_pair, check_polynomial, mean_r2
from nn2poly.inputs import read_either
from nn2poly.plots.footnotes import warn_below
from nn2poly.plots.labels import axis_labels
from nn2poly.plots.layout import Panels, describe, panels, result, tidy
from nn2poly.plots.style import BLUE, GREY, ORANGE, SMALL_SIZE, shades, styled
from nn2poly.plots.units import chosen_outputs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# From this many rows on, counts are drawn instead of points, which would cover each other
# (taste).
MANY_ROWS = 2000
# How far, in ranges of the network, a polynomial may leave them before rows are cut off (taste).
REACH = 0.5


@styled
def diagonal(
    model: Any,
    poly: Approximation,
    X: Any,
    *,
    output: int | str | None = None,
    after: str | None = None,
    ax: Any = None,
) -> Axes | Panels:
    """Draw what the polynomial says against what the network says, with R² and the identity.

    Both are raw outputs; of a classifier, before the link. Rows on which the polynomial is
    off by more than half the network's range are drawn as triangles at the edge and counted.

    Parameters
    ----------
    model
        The network: anything that `nn2poly.read_network` reads, or a function.
    poly
        Its polynomial, explicit or in factored form.
    X
        Array or data frame (n, p) in raw units, best rows that the conversion did not see.
        From 2,000 rows on, shades count the rows (darker: more, on a log scale).
    output
        Index or name of one output; None draws all, one panel each.
    after
        Of a pipeline: the step after which the formula begins, as in `nn2poly.convert`; ``X``
        holds what that step gives.
    ax
        matplotlib Axes, a sequence of them for several outputs; None for a new figure.

    Returns
    -------
    Axes for one output, array (n_outputs,) of Axes for several

    Raises
    ------
    InvalidInputError
        When network, polynomial, data and Axes do not go together.

    Examples
    --------
    >>> import nn2poly as n2p
    >>> net = n2p.Network([n2p.Layer([[0.5], [0.2]], [0.0], "tanh"), n2p.Layer([[1.0]], [3.0])])
    >>> ax = n2p.plots.diagonal(net, n2p.convert(net, 3), [[0.1, 0.2], [0.3, -0.1], [0, 0.5]])
    >>> print(ax.texts[0].get_text())
    R² > 0.9999
    3 rows
    """
    check_polynomial(poly, "diagonal")
    network = comparable(model, poly.inputs, poly.outputs, X, after=after)
    check_pair(network, poly, "diagonal")
    rows = read_either(X, poly.inputs, network.inputs)
    outputs = chosen_outputs(output, poly.output_names)
    truth = network.predict(rows).reshape(len(rows), -1)
    guess = poly.outputs_by_order(rows)[-1]
    outside = poly.count_outside(rows)
    many = len(outputs) > 3
    side = 3.2 if len(outputs) == 1 else 1.9 if many else 2.4
    axes = panels(ax, len(outputs), columns=4 if many else 3, height=side)
    names = axis_labels(poly.output_names, 18 if many else 30, 2 if many else 1)
    for panel, k in zip(axes, outputs, strict=True):
        _draw(panel, truth[:, k], guess[:, k], outside)
        name = names[k] if len(names) > 1 else ""
        raw = _scale_note(poly, k)
        describe(panel, x=f"network{raw}", y=f"polynomial{raw}", title=name)
    warn_below(axes, poly)
    return result(axes)


def _scale_note(poly: Approximation, output: int) -> str:
    """Say what is compared where that is not the output itself."""
    outputs = poly.outputs
    if outputs.is_classifier:
        return " (logit)"
    scale = outputs.scale_names[output]
    return "" if scale == outputs.names[output] else f" ({scale})"


def _draw(axes: Axes, truth: FloatArray, guess: FloatArray, outside: int) -> None:
    low, high = _limits(truth, guess)
    with np.errstate(invalid="ignore"):
        inside = (guess >= low) & (guess <= high)
    _points(axes, truth[inside], guess[inside], (low, high))
    axes.plot([low, high], [low, high], color=GREY, linestyle="--", linewidth=0.8, zorder=3)
    above = ~inside & ~(guess < low)
    for far, edge, marker in ((above, high, "^"), (~inside & ~above, low, "v")):
        if far.any():
            at = np.full(int(far.sum()), edge)
            axes.plot(truth[far], at, marker, color=ORANGE, ms=3, mew=0, clip_on=False, zorder=4)
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)
    axes.set_aspect("equal", adjustable="box")
    axes.locator_params(nbins=4)
    tidy(axes)
    notes = [_r2_text(truth, guess), plural(len(truth), "row")]
    notes += [f"{int((~inside).sum()):,} off the scale"] if not inside.all() else []
    notes += [f"{outside:,} outside the\ncalibrated range"] if outside else []
    text = "\n".join(notes)
    paper = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 1.0}
    axes.text(0.04, 0.97, text, transform=axes.transAxes, va="top", fontsize=SMALL_SIZE, bbox=paper)


def _limits(truth: FloatArray, guess: FloatArray) -> tuple[float, float]:
    """Frame the network's outputs and, unless it runs away, the polynomial's."""
    low, high = float(truth.min()), float(truth.max())
    span = (high - low) or max(abs(high), 1.0)
    near = guess[(guess >= low - REACH * span) & (guess <= high + REACH * span)]
    low, high = near.min(initial=low), near.max(initial=high)
    margin = 0.05 * ((high - low) or span)
    return low - margin, high + margin


def _points(axes: Axes, x: FloatArray, y: FloatArray, ends: tuple[float, float]) -> None:
    if len(x) < MANY_ROWS:
        alpha = float(np.clip(30 / max(len(x), 1) ** 0.6, 0.25, 0.9))
        axes.scatter(x, y, s=8, color=BLUE, alpha=alpha, linewidths=0, rasterized=len(x) > 500)
        return
    frame = (*ends, *ends)
    axes.hexbin(x, y, gridsize=45, extent=frame, bins="log", mincnt=1, cmap=shades(), linewidths=0)


def _r2_text(truth: FloatArray, guess: FloatArray) -> str:
    r2 = mean_r2(truth[:, None], guess[:, None]) if np.isfinite(guess).all() else -np.inf
    if np.isnan(r2):
        return "R² n/a: the network\ndoes not vary"
    if r2 < -1000:
        return "R² < −1000"
    # 0.99996 must not read as 1.
    return "R² > 0.9999" if 0.9999 < r2 < 1.0 else f"R² = {r2:.4f}".replace("-", "−")
