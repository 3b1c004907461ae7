"""The smallest change that flips a label: against a search over many values."""

import numpy as np
import pytest

from nn2poly import PiecewisePolynomial, Polynomial
from nn2poly.errors import InvalidInputError
from nn2poly.explain.counterfactuals import MOST_PAIRED, N_STEPS, smallest_flips, smallest_pairs
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
    X = X[X[:, 4] == 0][:80]
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


def test_two_columns_flip_what_none_does_alone_and_no_two_do_it_with_much_less():
    outputs = Outputs(("yes",), ("no", "yes"), "sigmoid")
    inputs = Inputs((Column("age"), Column("dose"), Column.factor("job", JOBS)))
    inputs = inputs.seen([-1.0, -1.0, 0, 0, 0], [1.0, 1.0, 1, 1, 1])
    # 1, age, dose, clerk, cook, driver: no single change lifts the sum above 0 from the corner.
    weights = np.array([[-1.2], [1.0], [1.2], [0.0], [0.1], [0.72]])
    poly = Polynomial(weights, 1, inputs=inputs, outputs=outputs)
    rng = np.random.default_rng(0)
    X = np.hstack([rng.uniform(-1, 1, (200, 2)), np.eye(3)[rng.integers(0, 3, 200)]])
    spread = X[:, :2].std(axis=0)
    stuck = [x for x, flips in zip(X, smallest_flips(poly, X, X), strict=True) if not flips]
    assert 10 < len(stuck) < 130
    seen = set()
    for x, two in zip(stuck[:12], smallest_pairs(poly, stuck[:12], X), strict=True):
        first, second = two
        seen |= {first.column, second.column}
        assert poly.predict_label([first.row])[0] == first.label == "no"
        assert poly.predict_label([second.row])[0] == second.label == "yes"
        # By hand: any two of both numbers and the job, on a fine grid.
        grid = np.linspace(-1, 1, 401)
        age, dose = np.meshgrid(grid, grid, indexing="ij")
        job = weights[3:, 0]
        both = np.abs(age - x[0]) / spread[0] + np.abs(dose - x[1]) / spread[1]
        least = np.where(-1.2 + age + 1.2 * dose + job @ x[2:] > 0, both, np.inf).min()
        for j, slope in ((0, 1.0), (1, 1.2)):
            rest = -1.2 + [1.2, 1.0][j] * x[1 - j]
            for k in np.flatnonzero(x[2:] == 0):
                flips = rest + slope * grid + job[k] > 0
                far = np.abs(grid[flips] - x[j]) / spread[j] + 1.0
                least = min(least, far.min(initial=np.inf))
        step = 2.0 / (N_STEPS - 1) / spread.min()
        assert first.distance + second.distance <= 1.02 * least + step
    assert seen == {"age", "dose", "job"}


def test_where_no_two_do_it_or_columns_are_too_many_there_is_no_pair():
    outputs = Outputs(("yes",), ("no", "yes"), "sigmoid")
    never = Polynomial([[-9.0], [1.0], [1.0]], 1, ["a", "b"], outputs=outputs)
    X = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    assert smallest_pairs(never, X[:3], X) == [(), (), ()]
    many = MOST_PAIRED + 1
    names = [f"x{i}" for i in range(many)]
    wide = Polynomial(np.r_[-1.5, np.ones(many)][:, None], 1, names, outputs=outputs)
    rows = np.random.default_rng(1).uniform(0, 0.01, (50, many))
    assert smallest_pairs(wide, rows[:1], rows) == [()]
