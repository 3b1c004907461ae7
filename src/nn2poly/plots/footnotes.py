"""What a figure says at its foot when its formula does not follow the network well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nn2poly.plots.layout import ESCAPED, is_new
from nn2poly.plots.style import GREY, NOTE_SIZE
from nn2poly.score_texts import r2_text, rounded_down
from nn2poly.verdicts import GRADES, Labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Grades of a card that a reader of any figure has to know, and what they mean.
WARNED = {
    "rough": "this formula follows its network only roughly",
    "not faithful": "this formula does not follow its network",
}
# Inches of the line, by which a new figure grows; how the text is found again.
FOOT_HEIGHT, MARK = 0.14, "nn2poly fidelity"


def warning_text(formulas: Sequence[Any]) -> str:
    """Word the worst of the cards that are rough or not faithful; empty when none is.

    Examples
    --------
    >>> import nn2poly as n2p
    >>> net = n2p.Network([n2p.Layer([[9.0]], None, "tanh"), n2p.Layer([[1.0]])])
    >>> poly = n2p.convert(net, 1, data=[[i / 2000 - 1.0] for i in range(4000)], bounded=False)
    >>> warning_text([poly])
    'Rough (R² 0.83...): this formula follows its network only roughly.'
    """
    cards = [card for card in (getattr(each, "card", None) for each in formulas) if card]
    told = [card.verdict for card in cards if card.verdict.grade in WARNED]
    if not told:
        return ""
    worst = min(told, key=lambda verdict: (-GRADES.index(verdict.grade), verdict.r2))
    labels = worst.reason(Labels)
    score = f"R² {r2_text(worst.r2)}"
    if labels is not None:
        score = f"Cohen's kappa {rounded_down(labels.kappa, 2)}"
    which = f", the worst of {len(formulas)}" if len(formulas) > 1 else ""
    return f"{worst.grade.capitalize()} ({score.replace('-', '−')}{which}): {WARNED[worst.grade]}."


def warn_below(axes: Sequence[Axes], *formulas: Any) -> None:
    """Write once at the foot of a figure that its formula is rough or not faithful.

    A new figure grows by the line; in a figure of the user it stands below the last Axes.
    """
    text = warning_text(formulas)
    figure: Any = axes[0].figure
    if not text or any(t.get_text() == text for t in figure.findobj(_is_foot)):
        return
    style: Any = {"fontsize": NOTE_SIZE, "color": GREY, "gid": MARK, **ESCAPED}
    if is_new(axes[0]):
        width, height = figure.get_size_inches()
        figure.set_size_inches(width, height + FOOT_HEIGHT)
        figure.supxlabel(text, x=0.01, ha="left", **style)
        return
    below = axes[-1].xaxis.label
    axes[-1].annotate(
        text, (0.0, 0.0), xycoords=("axes fraction", below), xytext=(0, -3), va="top",
        textcoords="offset points", annotation_clip=False, **style,
    )  # fmt: skip


def _is_foot(artist: Any) -> bool:
    return bool(artist.get_gid() == MARK)
