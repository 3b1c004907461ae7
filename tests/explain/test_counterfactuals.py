"""The smallest change that flips a label: against a search over many values."""

import numpy as np
import pytest

from nn2poly import PiecewisePolynomial, Polynomial
from nn2poly.errors import InvalidInputError
from nn2poly.explain.counterfactuals import smallest_flips
from nn2poly.formula.region_tree import Leaf, Split
from nn2poly.inputs import Column, Coordinate, Inputs
from nn2poly.inputs.functions import Log
from nn2poly.outputs import Outputs

JOBS = ["clerk", "cook", "driver"]
CLASSES = {1: ("no", "yes"), 3: ("a", "b", "c")}


def made(seed, n_outputs, regions=1, threshold=None):
    """A formula of two numbers, one of them as a logarithm, and a factor; with rows."""
    rng = np.random.default_rng(seed)
    income = Column("income", coordinates=(Coordinate(0.0, 1.0, Log(low=0.1)),))
    inputs = Inputs((Column("age"), income, Column.factor("job", JOBS)))
    inputs = inputs.seen([-3.0, 0.1, 0, 0, 0], [3.0, 9.0, 1, 1, 1])
    link = "sigmoid" if n_outputs == 1 else "softmax"
    names = ("yes",) if n_outputs == 1 else CLASSES[3]
    outputs = Outputs(names, CLASSES[n_outputs], link, threshold=threshold)
    polys = tuple(
        Polynomial(rng.normal(size=(56, n_outputs)), 3, inputs=inputs, outputs=outputs)
        for _ in range(regions)
    )
    X = np.column_stack([rng.uniform(-3, 3, 200), rng.uniform(0.1, 9, 200)])
    X = np.hstack([X, np.eye(3)[rng.integers(0, 3, 200)]])
    if regions == 1:
        return polys[0], X
    tree = Split(0, 0.5, left=Leaf(0), right=Split(1, 4.0, left=Leaf(1), right=Leaf(2)))
    return PiecewisePolynomial(tree, polys), X


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("regions", [1, 3])
def test_no_smaller_change_of_a_number_flips_the_label(n_outputs, regions):
    poly, X = made(4 * n_outputs + regions, n_outputs, regions)
    found, seen = smallest_flips(poly, X[:8], X), 0
    for x, flips in zip(X[:8], found, strict=True):
        label = poly.predict_label(x[None])[0]
        by_name = {flip.column: flip for flip in flips}
        for j, name in enumerate(("age", "income")):
            grid = np.linspace(poly.low[j], poly.high[j], 4001)
            rows = np.repeat(x[None], len(grid), axis=0)
            rows[:, j] = grid
            far = np.abs(grid[poly.predict_label(rows) != label] - x[j])
            assert len(far) == 0 or name in by_name
            if name not in by_name:
                continue
            changed = np.array(by_name[name].row)
            assert poly.predict_label(changed[None])[0] == by_name[name].label != label
            assert np.flatnonzero(changed != x).tolist() == [j]
            if len(far):
                # Rounded up by less than a hundredth of the change, and a step of the search.
                assert abs(changed[j] - x[j]) <= 1.02 * far.min() + 1e-9
                seen += 1
    assert seen > 4


def test_levels_are_switched_whole_and_only_to_such_as_rows_have():
    poly, X = made(1, 1)
    X = X[X[:, 4] == 0]
    for x, flips in zip(X, smallest_flips(poly, X, X), strict=True):
        for flip in (f for f in flips if f.column == "job"):
            assert sum(flip.row[2:]) == 1.0
            assert flip.after != "driver"
            assert flip.before == JOBS[int(x[2:].argmax())]


def test_a_threshold_moves_the_border():
    low, X = made(2, 1, threshold=0.2)
    high = low.with_threshold(0.8)
    x = X[:1]
    for poly in (low, high):
        for flip in smallest_flips(poly, x, X)[0]:
            row = np.array([flip.row])
            assert poly.predict_label(row)[0] == flip.label != poly.predict_label(x)[0]


def test_whole_numbers_stay_whole():
    outputs = Outputs(("yes",), ("no", "yes"), "sigmoid")
    poly = Polynomial([[-7.3], [2.0]], 1, ["children"], outputs=outputs)
    X = np.arange(8.0)[:, None]
    ((flip,),) = smallest_flips(poly, [[1.0]], X)
    assert flip.row == (4.0,)


def test_a_regression_has_no_label_to_flip():
    with pytest.raises(InvalidInputError, match="label of a classifier"):
        smallest_flips(Polynomial([[0.0], [1.0]], 1, ["t"]), [[1.0]], [[1.0]])
