"""`regions`: the tree of regions, its rules on the branches, rows and R² at the leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nn2poly.arguments import plural
from nn2poly.formula.borders import side_text
from nn2poly.formula.piecewise import Explicit
from nn2poly.formula.protocol import check_formula
from nn2poly.formula.region_tree import Leaf, Split, Tree, level_names, rule_name
from nn2poly.inputs import Inputs
from nn2poly.plots.footnotes import warn_below
from nn2poly.plots.labels import number, plain, plain_lines
from nn2poly.plots.layout import ESCAPED, LEADING, ONE_COLUMN, describe, panels
from nn2poly.plots.shortening import shorten_together
from nn2poly.plots.style import BLUE, GREEN, GREY, PALE, SMALL_SIZE, TINY_SIZE, styled
from nn2poly.score_texts import r2_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Inches of a letter in small type, of a row (two lines of a rule and a gap), of what stands above
# and below the rows.
LETTER, ROW, FRAME = 0.058, 0.32, 0.45
# Inches of the widest figure: a page on its side; deeper trees shorten names.
WIDEST = 9.0
# Letters of a line of a rule, at least and at most (taste); lines: the column, and what is asked.
SHORT, LONG, LINES = 6, 18, 2
# Letters of a rule that is given one line even where two would save space (taste).
ONE_LINE = 12
# Letters around a rule, of a region's name, of a bar, and of the number beside it (taste).
GAP, NAME, BAR, NUMBER = 3, 12, 9, 8


@dataclass(frozen=True)
class _Branch:
    """A line from a node to what follows: its depth, rows of both ends, and what it says.

    ``is_last`` says that a region is at its end; ``brief`` counts all levels but the first.
    """

    depth: int
    begin: float
    end: float
    column: str
    asked: str
    brief: str
    is_last: bool

    @property
    def length(self) -> int:
        """Letters that it needs, on one line if it is short, else its longer line."""
        whole = len(self.column) + 1 + len(self.asked)
        return whole if whole <= ONE_LINE else min(max(len(self.column), len(self.asked)), LONG)


@styled
def regions(formula: Explicit, *, ax: Axes | None = None) -> Axes:
    """Draw the regions of a formula as a tree, from left to right.

    On the branches are the questions; each leaf is a region, with its share of the rows that the
    conversion saw and the R² of its polynomial against the network there, where they are known.

    Parameters
    ----------
    formula
        A formula with regions; a polynomial is one region.
    ax
        matplotlib Axes; None for a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from nn2poly import PiecewisePolynomial, Polynomial, plots
    >>> from nn2poly.formula.region_tree import Leaf, Split
    >>> night, day = (Polynomial([[20.0], [1.0]], 1, ["hour"]) for _ in range(2))
    >>> tree = Split(0, 6.5, left=Leaf(0), right=Leaf(1))
    >>> ax = plots.regions(PiecewisePolynomial(tree, (night, day), n_rows=(250, 750)))
    >>> [text.get_text() for text in ax.texts]
    ['share of rows', 'hour < 6.5', 'hour ≥ 6.5', 'region 0', '25 %', 'region 1', '75 %']
    """
    checked: Explicit = check_formula(formula, "formula", verb="drawn")
    branches = _shortened(list(_branches(checked.tree, checked.inputs, 0, [0.0])))
    columns, count = _columns(checked), len(checked.regions)
    right = NAME + len(columns) * (BAR + NUMBER)
    most = WIDEST / LETTER - right
    width = LETTER * (right + sum(_steps(branches, most)))
    axes = panels(ax, height=ROW * count + FRAME, width=max(width, ONE_COLUMN))[0]
    width, height = (float(side) / axes.figure.dpi for side in (axes.bbox.width, axes.bbox.height))
    steps = _steps(branches, most if ax is None else width / LETTER - right)
    begins = np.concatenate([[0.0], np.cumsum(steps)]).tolist()
    size = SMALL_SIZE if ax is None else _letters(width, height, begins[-1] + right, count)
    _draw_columns(axes, columns, begins[-1] + NAME, size, count)
    _draw_branches(axes, branches, begins, size)
    _draw_leaves(axes, columns, _rows_of(checked.tree), begins[-1], size)
    axes.set_xlim(-0.5, begins[-1] + right)
    axes.set_ylim(count - 0.4, -1.0)
    axes.set_axis_off()
    describe(axes, title=_title(checked))
    warn_below([axes], checked)
    return axes


def _branches(tree: Tree, inputs: Inputs, depth: int, row: list[float]) -> Iterator[_Branch]:
    """Walk the branches, the leaves from top to bottom; ``row`` tells where the walk is.

    Afterwards ``row[-1]`` is the place of the node itself.
    """
    if isinstance(tree, Leaf):
        row.append(row[0])
        row[0] += 1.0
        return
    found, places = [], []
    for node in (tree.left, tree.right):
        found += list(_branches(node, inputs, depth + 1, row))
        places.append(row.pop())
    middle = sum(places) / 2
    row.append(middle)
    name = inputs.columns[tree.column].name
    for node, place in zip((tree.left, tree.right), places, strict=True):
        text = side_text(tree, node is tree.left, inputs)[len(rule_name(name)) + 1 :]
        asked = text.replace(" -", " −")
        brief = _brief(tree, node is tree.left, inputs, asked)
        yield _Branch(depth, middle, place, name, asked, brief, isinstance(node, Leaf))
    yield from found


def _brief(split: Split, left: bool, inputs: Inputs, asked: str) -> str:
    """Name one of the levels that a side asks for, and count the others."""
    if split.levels is None:
        return asked
    # What it is not is named where that is shorter.
    same = left != asked.startswith("is not ")
    names = level_names(inputs, split.column)
    told = [name for place, name in enumerate(names) if (place in split.levels) == same]
    verb = "is" if same == left else "is not"
    return f"{verb} {told[0]} or {len(told) - 1} more" if len(told) > 1 else asked


def _shortened(branches: list[_Branch]) -> list[_Branch]:
    """Count levels in rules that are too long, where that leaves the rules of a column apart."""
    rules = {(branch.column, branch.asked): branch.brief for branch in branches}
    counts = Counter((column, brief) for (column, _), brief in rules.items())
    return [
        replace(branch, asked=branch.brief)
        if len(branch.asked) > LONG and counts[branch.column, branch.brief] == 1
        else branch
        for branch in branches
    ]


def _rows_of(tree: Tree) -> list[int]:
    """List the numbers of the regions from top to bottom."""
    if isinstance(tree, Leaf):
        return [tree.number]
    return [*_rows_of(tree.left), *_rows_of(tree.right)]


def _steps(branches: list[_Branch], room: float) -> list[int]:
    """Give the letters from each depth to the next: what rules need, or what there is room for."""
    depth = 1 + max((branch.depth for branch in branches), default=-1)
    longest = [max(b.length for b in branches if b.depth == d) for d in range(depth)]
    for width in range(LONG, SHORT, -1):
        if sum(min(each, width) + GAP for each in longest) <= room:
            return [min(each, width) + GAP for each in longest]
    return [min(each, SHORT) + GAP for each in longest]


def _letters(width: float, height: float, letters: float, count: int) -> float:
    """Choose the size of type: given Axes may be narrow or low."""
    row = height / (count + 0.6)
    low = 72 * row / (LINES * LEADING + 0.4)
    narrow = SMALL_SIZE * width / (LETTER * letters)
    return float(np.clip(min(narrow, low), TINY_SIZE, SMALL_SIZE))


def _columns(formula: Explicit) -> list[tuple[str, str, list[float | None], list[str]]]:
    """List what is known of the regions: heading, colour, lengths of bars, numbers in words."""
    made = []
    shares, r2 = ([getattr(region, name) for region in formula.regions] for name in ("share", "r2"))
    if any(share is not None for share in shares):
        # The largest share fills its bar: small ones could not be told apart.
        most = max(share for share in shares if share is not None) or 1.0
        lengths = [None if share is None else share / most for share in shares]
        texts = ["" if s is None else f"{number(100 * float(f'{s:.2g}'))} %" for s in shares]
        made.append(("share of rows", BLUE, lengths, texts))
    if any(each is not None for each in r2):
        lengths = [None if each is None else max(each, 0.0) for each in r2]
        texts = ["" if each is None else f"{each:.3f}".replace("-", "−") for each in r2]
        made.append(("R²", GREEN, lengths, texts))
    return made


def _draw_columns(axes: Axes, columns: list[Any], begin: float, size: float, count: int) -> None:
    """Write the headings, and what bars are measured by behind them."""
    for place, (heading, *_) in enumerate(columns):
        x = begin + place * (BAR + NUMBER)
        _write(axes, x, -0.62, heading, size)
        axes.barh(range(count), BAR - 1, left=x, height=0.5, color=PALE, alpha=0.5, linewidth=0)


def _draw_branches(axes: Axes, branches: list[_Branch], begins: list[float], size: float) -> None:
    for branch in branches:
        x, end = begins[branch.depth : branch.depth + 2]
        axes.plot(
            [x, x, end], [branch.begin, branch.end, branch.end], color=GREY, linewidth=0.8,
            solid_joinstyle="round",
        )  # fmt: skip
        if branch.is_last and end < begins[-1]:
            # The regions stand below each other, whatever the questions that lead to them.
            axes.plot([end, begins[-1]], [branch.end] * 2, color=PALE, linewidth=0.8, zorder=0)
        text = _rule(branch, branches, int(end - x) - GAP)
        _write(axes, x + 0.8, branch.end - 0.05, text, size, va="bottom")


def _rule(branch: _Branch, branches: list[_Branch], width: int) -> str:
    """Write a rule in lines of at most so many letters, unlike the other rules of the tree."""
    whole = f"{branch.column} {branch.asked}"
    if len(whole) <= width:
        return plain(whole)
    columns = list(dict.fromkeys(each.column for each in branches))
    asked = list(dict.fromkeys(each.asked for each in branches))
    parts = (columns, branch.column), (asked, branch.asked)
    short = [shorten_together(texts, width)[texts.index(own)] for texts, own in parts]
    return plain_lines(short)


def _draw_leaves(
    axes: Axes, columns: list[Any], numbers: list[int], begin: float, size: float
) -> None:
    for row, number_ in enumerate(numbers):
        _write(axes, begin + 1, row, f"region {number_}", size, weight="bold")
        for place, (_, color, lengths, texts) in enumerate(columns):
            x = begin + NAME + place * (BAR + NUMBER)
            if lengths[number_] is not None:
                axes.barh(row, (BAR - 1) * lengths[number_], left=x, height=0.5, color=color)
            _write(axes, x + BAR - 0.5, row, texts[number_], size)


def _write(axes: Axes, x: float, y: float, text: str, size: float, **options: Any) -> None:
    """Write to the right of a point, just above it or beside it."""
    options = {"va": "center", **options}
    axes.text(x, y, text, fontsize=size, ha="left", linespacing=1.05, **ESCAPED, **options)


def _title(formula: Explicit) -> str:
    title = plural(len(formula.regions), "region")
    card = formula.card
    if card is None:
        return title
    rows = "held-out rows" if card.held_out else "the rows compared"
    return f"{title}: R² {r2_text(card.r2).replace('-', '−')} against the network on {rows}"
