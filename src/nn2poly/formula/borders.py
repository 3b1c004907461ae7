"""Where regions meet: what a split says on either side, and the numbers at which outputs jump."""

from __future__ import annotations

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.formula.region_tree import Among, Between, Split, Tree, condition_text, paths
from nn2poly.inputs import Inputs


def side_text(split: Split, left: bool, inputs: Inputs) -> str:
    """Say one side of a split in words, whatever was asked before.

    Examples
    --------
    >>> from nn2poly.formula.region_tree import Leaf
    >>> side_text(Split(0, 6.5, left=Leaf(0), right=Leaf(1)), True, Inputs.of(["hour"]))
    'hour < 6.5'
    """
    return condition_text(split.column, everything(split, inputs).met(split, left), inputs)


def everything(split: Split, inputs: Inputs) -> Between | Among:
    """Give all that the column of a split can hold.

    Examples
    --------
    >>> from nn2poly.formula.region_tree import Leaf
    >>> everything(Split(0, 6.5, left=Leaf(0), right=Leaf(1)), Inputs.of(["hour"]))
    Between(low=-inf, high=inf)
    """
    column = inputs.columns[split.column]
    count = 2 if column.kind == "binary" else column.width
    return Between() if column.kind == "number" else Among(tuple(range(count)))


def thresholds(tree: Tree, column: int) -> tuple[float, ...]:
    """Give the numbers at which a column is split, in order.

    Examples
    --------
    >>> from nn2poly.formula.region_tree import Leaf
    >>> thresholds(Split(0, 6.5, left=Leaf(0), right=Leaf(1)), 0)
    (6.5,)
    """
    splits = (split for path in paths(tree).values() for split, _ in path)
    found = {s.threshold for s in splits if s.column == column and s.threshold is not None}
    return tuple(sorted(found))


def both_sides(grid: FloatArray, cuts: tuple[float, ...]) -> FloatArray:
    """Add to a grid (g,) the last number before each threshold within it, and the threshold.

    Between the two a curve jumps: no point of a grid is left to draw the jump as a slope.

    Examples
    --------
    >>> both_sides(np.array([0.0, 10.0]), (6.5, 12.0)).round(3)
    array([ 0. ,  6.5,  6.5, 10. ])
    """
    at = np.array([cut for cut in cuts if grid[0] < cut <= grid[-1]])
    return np.unique(np.concatenate([grid, np.nextafter(at, -np.inf), at]))
