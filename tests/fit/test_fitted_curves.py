"""Numbers enter through increasing curves that are fitted together with the formula."""

from __future__ import annotations

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.errors import InvalidInputError, OutsideRangeWarning
from nn2poly.fit.curve_fit import CurveFit
from nn2poly.fit.fitted_curves import FLAT, SHARES
from nn2poly.inputs.functions import Curve

NAMES = ["income", "distance", "flag", "same"]


def rows(n=3000, seed=0):
    """Draw a number with a long tail, an even one, a flag and a constant."""
    rng = np.random.default_rng(seed)
    flag = rng.integers(0, 2, n).astype(float)
    return np.column_stack(
        [np.exp(rng.normal(size=n)), rng.uniform(-3.0, 3.0, n), flag, np.full(n, 2.0)]
    )


def bent(X):
    """Rise with income up to a point, with distance at one place only, and with their product."""
    first, second = np.tanh(X[:, 0]), 1.0 / (1.0 + np.exp(-6.0 * (X[:, 1] - 1.0)))
    return first + 2.0 * second + first * second + 0.3 * X[:, 2]


def noise_and_line(X):
    """Give what no split helps with: the last digits of a row, and a slope."""
    return np.sin(1e6 * X.sum(axis=1)) + 0.5 * X[:, 1]


def converted(n=3000, max_order=2, **options):
    return n2p.convert(bent, max_order, data=rows(n), feature_names=NAMES, **options)


@pytest.fixture(scope="module")
def curved():
    return converted(transforms="curve")


def functions(poly):
    return [coordinate.function for coordinate in poly.inputs.coordinates]


def r2(poly, X):
    left, truth = bent(X) - poly.predict(X), bent(X)
    return 1.0 - left.var() / truth.var()


def test_a_quadratic_of_curves_follows_what_no_power_follows(curved):
    new = rows(seed=1)
    low, high = np.quantile(rows(), [0.001, 0.999], axis=0)
    new = np.clip(new, low, high)
    assert r2(converted(), new) < 0.95
    assert r2(converted(max_order=4), new) < 0.99
    assert r2(curved, new) > 0.999


def test_curves_rise_from_0_to_1_over_the_sample_in_a_small_table(curved):
    income, distance, flag, same = functions(curved)
    assert (flag.kind, same.kind) == ("identity", "identity")
    for curve, x in ((income, rows()[:, 0]), (distance, rows()[:, 1])):
        assert isinstance(curve, Curve)
        assert (curve.shares[0], curve.shares[-1]) == (0.0, 1.0)
        assert x.min() <= curve.low < curve.high <= x.max()
        assert len(curve.knots) < len(SHARES)
    # Distance matters between 0 and 2 alone.
    ends = distance.values(np.array([0.0, 2.0]))
    assert ends[0] < 0.1
    assert ends[1] > 0.9


def test_knots_that_a_curve_does_not_bend_at_are_left_out():
    # Both curves are straight lines.
    def plane(X):
        return 2.0 * X[:, 0] - X[:, 1]

    X = np.random.default_rng(3).uniform(size=(3000, 2))
    for curve in functions(n2p.convert(plane, 2, data=X, transforms="curve")):
        line = np.interp(curve.knots, [curve.low, curve.high], [0.0, 1.0])
        assert np.abs(np.array(curve.shares) - line).max() < 0.02 + FLAT
        assert len(curve.knots) < 0.5 * len(SHARES)


def test_order_1_is_a_sum_of_curves():
    # With squares beside them curves would leave most to the squares, which order 1 lacks.
    def added(X):
        return np.tanh(X[:, 0]) + 2.0 / (1.0 + np.exp(-6.0 * (X[:, 1] - 1.0)))

    X, new = rows(), rows(seed=1)
    new = np.clip(new, *np.quantile(X, [0.001, 0.999], axis=0))
    poly = n2p.convert(added, 1, data=X, transforms="curve")
    assert poly.max_order == 1
    assert np.var(added(new) - poly.predict(new)) < 0.002 * np.var(added(new))


def test_curves_rise_so_directions_are_those_of_their_terms():
    # The sum above again: each term of order 1 has the sign of its coefficient.
    poly = n2p.convert(
        lambda X: np.tanh(X[:, 0]) - X[:, 1] ** 3, 1, data=rows(), transforms="curve"
    )
    assert n2p.explain.monotonicity(poly).directions[:2, 0].tolist() == ["increasing", "decreasing"]


def test_a_value_that_nearly_all_rows_have_leaves_a_column_as_it_is():
    X = rows()
    X[:, 1] = 0.0
    X[:2, 1] = 1.0, 2.0
    poly = n2p.convert(bent, 2, data=X, transforms="curve")
    assert [function.kind for function in functions(poly)[:2]] == ["curve", "identity"]
    with pytest.raises(InvalidInputError, match=r"(?s)'x2'.*three values in nearly all rows"):
        n2p.convert(bent, 2, data=X, transforms={"x2": "curve"})


@pytest.mark.parametrize(
    ("X", "asked", "told"),
    [
        (rows()[:, 2:], "curve", "No column can enter through a curve"),
        (rows()[:, 1:], {"x2": "curve"}, "cannot go through a function"),
        (np.random.default_rng(0).normal(size=(300, 101)), "curve", "So many curves"),
        (np.full((300, 2), np.arange(300)[:, None]) * 0.0 + 1.0, "curve", "cannot be fitted"),
    ],
)
def test_what_cannot_be_bent_is_an_error(X, asked, told):
    with pytest.raises(InvalidInputError, match=told):
        n2p.convert(lambda X: X[:, 0], 2, data=X, transforms=asked, binary=False)


def test_a_step_lowers_the_error_as_its_slope_says():
    rng = np.random.default_rng(0)
    n, knots = 4000, [np.linspace(0.0, 1.0, 6), np.linspace(-1.0, 1.0, 5)]
    x = [rng.uniform(k[0], k[-1], n) for k in knots]
    truth = np.column_stack([np.sin(3.0 * x[0]) * x[1], np.tanh(4.0 * x[1])])
    fit = CurveFit(
        x=x,
        knots=knots,
        z=np.column_stack([x[0], rng.normal(size=n), x[1]]),
        places=[0, 2],
        target=truth,
        regions=[slice(0, 1500), slice(1500, n)],
        fitted=rng.uniform(0.5, 1.5, n),
        judged=np.ones(n),
        products=(np.array([0, 0, 2]), np.array([0, 2, 2])),
    )
    rises = [np.full(len(k) - 1, 1.0 / (len(k) - 1)) for k in knots]
    slope = fit._normal(fit._state(rises))[1]

    def error(step):
        # One neighbour takes what the other loses: the curve still goes from 0 to 1.
        first = rises[0] * (1.0 + step * np.array([1.0, -1.0, 0.0, 0.0, 0.0]))
        left = fit._state([first, rises[1]]).left
        return float(fit.fitted @ (left**2).sum(axis=1)) / (2.0 * fit.fitted.sum())

    step = 1e-4
    found = (error(step) - error(-step)) / (2.0 * step)
    # The slope is of half the squared error, downwards; centres and sizes move a little as well.
    assert found == pytest.approx(-2.0 * (slope[0] - slope[1]), rel=0.02)


def test_terms_and_verdict_say_what_enters(curved):
    assert curved.term_names()[1:3] == ["curve(income)", "curve(distance)"]
    assert "'income' and 'distance' each enter as a curve of its values" in str(curved.card.verdict)


def test_one_column_may_be_asked_for():
    poly = converted(transforms={"distance": "curve", "income": "log"})
    assert [function.kind for function in functions(poly)[:2]] == ["log", "curve"]


def test_curves_end_at_the_bounds_that_the_user_gave():
    poly = converted(transforms="curve", bounded={"income": (0.5, 4.0)})
    assert (functions(poly)[0].low, functions(poly)[0].high) == (0.5, 4.0)
    with pytest.warns(OutsideRangeWarning):
        far = poly.predict([[1e12, 0.0, 1.0, 2.0]])
    np.testing.assert_array_equal(far, poly.predict([[4.0, 0.0, 1.0, 2.0]]))


def test_the_same_rows_give_the_same_curves(curved):
    again = converted(transforms="curve")
    assert functions(again) == functions(curved)
    np.testing.assert_array_equal(again.coefficients, curved.coefficients)


def test_few_rows_gain_too():
    # Every fold is left out in turn, and their curves are averaged.
    new = np.clip(rows(seed=5), *np.quantile(rows(250), [0.01, 0.99], axis=0))
    assert r2(converted(250, transforms="curve"), new) > r2(converted(250), new) + 0.02


def test_each_region_is_closer_in_curves():
    def two(X):
        return np.where(X[:, 2] > 0.5, bent(X), 1.0 - 2.0 * np.tanh(X[:, 0]) * X[:, 1])

    X, new = rows(), rows(seed=7)
    new = np.clip(new, *np.quantile(X, [0.001, 0.999], axis=0))
    options = {"data": X, "regions": 4, "feature_names": NAMES}
    left = [
        np.var(two(new) - n2p.convert(two, 2, transforms=asked, **options).predict(new))
        for asked in (None, "curve")
    ]
    assert left[1] < 0.5 * left[0]


def test_columns_with_curves_and_long_tails_are_split_too():
    def two(X):
        left, right = np.tanh(2.0 * X[:, 0]) * X[:, 1], 1.0 - np.exp(-(X[:, 1] ** 2)) * X[:, 0]
        return np.where(X[:, 2] > 0.5, left, right)

    X = np.exp(np.random.default_rng(1).normal(size=(2, 6000, 3))[1, :3000]) - 1.0
    found = n2p.convert(two, 2, data=X, regions=8, transforms="curve")
    assert len(found.regions) == 8


def test_a_frontier_tries_curves_and_picks_them():
    options = n2p.frontier(
        bent, rows(), orders=(1, 2), regions=(1, 2), max_terms=(), transforms="curve"
    )
    assert options.best[-1].r2 > 0.99
    picked = options.pick(r2=0.99)
    assert [function.kind for function in functions(picked)[:2]] == ["curve", "curve"]
    assert picked.card.r2 > 0.98
    with pytest.raises(InvalidInputError, match="bounded=False"):
        n2p.frontier(bent, rows(), transforms="curve", bounded=False)


def test_all_that_is_left_open_is_chosen_with_curves():
    poly = n2p.convert(bent, "auto", data=rows(), regions="auto", transforms="curve")
    assert poly.card.r2 > 0.99
    assert "curve" in {c.function.kind for c in poly.inputs.coordinates}


def test_where_nothing_is_split_curves_are_those_of_one_region(curved):
    poly = converted(transforms="curve", regions="auto")
    assert isinstance(poly, n2p.Polynomial)
    assert functions(poly) == functions(curved)
    several = n2p.convert(noise_and_line, 2, data=rows(), transforms="curve", regions=4)
    one = n2p.convert(noise_and_line, 2, data=rows(), transforms="curve")
    assert isinstance(several, n2p.Polynomial)
    assert functions(several) == functions(one)


def test_several_outputs_share_the_curves():
    def both(X):
        return np.column_stack([bent(X), np.tanh(3.0 * X[:, 1])])

    poly = n2p.convert(both, 2, data=rows(), transforms="curve")
    assert poly.card.r2 > 0.97


def test_files_keep_the_curves(curved, tmp_path):
    for name in ("poly.json", "poly.npz"):
        curved.save(tmp_path / name)
        loaded = n2p.load(tmp_path / name)
        assert functions(loaded) == functions(curved)
        np.testing.assert_array_equal(loaded.predict(rows(50)), curved.predict(rows(50)))


def test_a_column_that_does_not_vary_has_no_curve():
    with pytest.raises(InvalidInputError, match=r"(?s)'same'.*the same value in all rows"):
        converted(transforms={"same": "curve"})


def test_curves_need_bounds_and_a_fit():
    with pytest.raises(InvalidInputError, match="bounded=False"):
        converted(transforms="curve", bounded=False)
    with pytest.raises(InvalidInputError, match='None, "curve"'):
        converted(transforms="curves")
