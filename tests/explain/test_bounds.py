"""Bounds, signs and monotonicity over a box are certain."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nn2poly as n2p
from nn2poly import explain
from nn2poly.algebra.monomials import count_terms
from nn2poly.errors import InvalidInputError, UnknownTermError
from nn2poly.explain.enclosures import _bernstein_matrix, enclose, in_box
from nn2poly.inputs import Inputs


def random_poly(seed, p, order, k=1, **options):
    rng = np.random.default_rng(seed)
    return n2p.Polynomial(
        rng.normal(size=(count_terms(p, order), k)),
        order,
        [f"f{j}" for j in range(p)],
        center=rng.normal(size=p),
        scale=rng.uniform(0.5, 3.0, p),
        **options,
    )


def in_the_box(seed, low, high, n=400):
    """Random points, and corners."""
    rng = np.random.default_rng(seed)
    p = len(low)
    inside = low + (high - low) * rng.random((n, p))
    corners = low + (high - low) * rng.integers(0, 2, (n, p))
    return np.concatenate([inside, corners])


# --- bounds ----------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=50)
@given(
    seed=st.integers(0, 10**6),
    p=st.integers(1, 4),
    order=st.integers(0, 5),
    k=st.sampled_from([1, 3]),
    splits=st.sampled_from([0, 3]),
)
def test_no_point_of_the_box_leaves_the_bounds(seed, p, order, k, splits):
    poly = random_poly(seed, p, order, k)
    rng = np.random.default_rng(seed)
    low = rng.normal(size=p) * 3
    high = low + rng.exponential(2.0, p)
    found = explain.bounds(poly, (low, high), splits=splits)
    values = poly.predict(in_the_box(seed, low, high, 100)).reshape(-1, k)
    assert np.all(values >= found.low)
    assert np.all(values <= found.high)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("center", "scale"), [(2000.0, 10.0), (1e9, 1e-3), (-1.7e9, 1.0), (2000.0, 1e-6), (1e15, 1.0)]
)
@pytest.mark.parametrize("splits", [0, 3])
def test_bounds_hold_at_the_corners_of_boxes_far_from_zero(center, scale, splits):
    """Years: the middle of a box is rounded by much of its width."""
    linear = n2p.Polynomial([[0.0], [1.0]], 1, ["year"], center=center, scale=scale)
    cubic = n2p.Polynomial([[0.0], [1.0], [-2.0], [0.5]], 3, ["year"], center=center, scale=scale)
    rng = np.random.default_rng(1)
    for _ in range(40 if splits else 150):
        low = center + 2 * scale * rng.normal()
        high = low + scale * rng.exponential() * 0.1
        for poly in (linear, cubic):
            found = explain.bounds(poly, (low, high), splits=splits)
            ends = poly.predict([[low], [high]])
            assert found.low[0] <= ends.min()
            assert ends.max() <= found.high[0]


@pytest.mark.slow
@pytest.mark.parametrize(("center", "scale"), [(2000.0, 10.0), (1e9, 1e-3), (1e15, 1.0)])
def test_slopes_and_directions_hold_at_the_corners_of_boxes_far_from_zero(center, scale):
    poly = n2p.Polynomial([[0.0], [0.0], [0.5]], 2, ["year"], center=center, scale=scale)
    rng = np.random.default_rng(2)
    for _ in range(200):
        low = center + scale * (rng.random() - 0.3)
        high = low + scale * rng.random()
        found = explain.monotonicity(poly, (low, high))
        slopes = explain.gradients(poly, [[low], [high]])
        assert found.low[0, 0] <= slopes.min()
        assert slopes.max() <= found.high[0, 0]
        word = found.direction("year")
        assert slopes.min() >= 0 or word != "increasing"
        assert (slopes.min() < 0 < slopes.max()) or word != "neither"


def test_the_coordinates_of_a_box_reach_both_of_its_ends():
    poly = n2p.Polynomial([[0.0], [1.0]], 1, ["t"])
    low, high = np.array([1e9]), np.array([np.nextafter(1e9, np.inf)])
    boxed = in_box(poly, low, high)
    middle, half = Fraction(boxed.center[0]), Fraction(boxed.scale[0])
    assert middle - half <= Fraction(low[0])
    assert middle + half >= Fraction(high[0])


@pytest.mark.parametrize("p", [3, 54])
def test_bounds_of_a_linear_polynomial_are_exact(p):
    poly = random_poly(0, p, 1, 2).rebase()
    low, high = -np.arange(1.0, p + 1), np.full(p, 2.0)
    found = explain.bounds(poly, (low, high))
    slopes = poly.coefficients[1:]
    lowest = poly.coefficients[0] + np.minimum(slopes * low[:, None], slopes * high[:, None]).sum(0)
    np.testing.assert_allclose(found.low, lowest, rtol=1e-10)


def test_bounds_of_a_multilinear_polynomial_are_exact():
    """Bernstein coefficients of degree 1 in every variable are the values at the corners."""
    terms = ["a b", "b c", "a", "1", "a b c"]
    poly = n2p.Polynomial.from_terms(terms, [2.0, -3.0, 1.0, 0.5, 1.5], ["a", "b", "c"])
    found = explain.bounds(poly, (-1.0, 2.0))
    corners = poly.predict(list(product([-1.0, 2.0], repeat=3)))
    np.testing.assert_allclose([found.low[0], found.high[0]], [corners.min(), corners.max()])


def test_more_splits_are_never_wider_and_reach_the_truth():
    poly = n2p.Polynomial.from_terms(["1", "t", "t^2"], [3.0, -2.0, 1.0], ["t"])  # (t - 1)² + 2
    widths = [explain.bounds(poly, (0.0, 4.0), splits=n).low[0] for n in (0, 1, 3, 40)]
    assert widths == sorted(widths)
    assert widths[0] < 0
    np.testing.assert_allclose(widths[-1], 2.0, atol=1e-6)


@pytest.mark.slow
def test_splits_tighten_a_polynomial_of_several_variables():
    poly = random_poly(5, 3, 4, 2)
    box = (np.full(3, -1.0), np.full(3, 1.0))
    loose, tight = (explain.bounds(poly, box, splits=n) for n in (0, 60))
    values = poly.predict(in_the_box(0, *box, 20_000))
    assert np.all(loose.low <= tight.low)
    assert np.all(tight.low <= values.min(axis=0))
    gap, before = values.min(axis=0) - tight.low, values.min(axis=0) - loose.low
    assert before.max() > 0.05
    assert np.all(gap <= 0.5 * before + 1e-9)


def test_even_powers_do_not_fall_below_zero():
    """Too many variables for the tensor route: the interval route knows a² b² >= 0."""
    names = [f"v{j}" for j in range(40)]
    terms = [(i, i, j, j) for i in range(20) for j in range(20, 40)]
    poly = n2p.Polynomial.from_terms(terms, np.ones(400), names)
    assert explain.bounds(poly, (-1.0, 1.0)).low[0] >= -1e-9


def test_the_routes_agree_on_a_polynomial_of_one_variable():
    poly = random_poly(3, 1, 6)
    boxed = in_box(poly, np.array([-2.0]), np.array([0.5]))
    t = np.linspace(-1, 1, 2001)
    values = poly.predict((boxed.center + boxed.scale * t)[:, None])
    low, high = enclose(boxed)
    assert low[0] - 1e-12 <= values.min() <= values.max() <= high[0] + 1e-12


@pytest.mark.parametrize("degree", [0, 1, 2, 5])
def test_bernstein_coefficients_sum_up_to_the_powers(degree):
    from math import comb

    matrix = _bernstein_matrix(degree)
    t = np.linspace(-1, 1, 11)
    s = (t + 1) / 2
    basis = [comb(degree, i) * s**i * (1 - s) ** (degree - i) for i in range(degree + 1)]
    for j in range(degree + 1):
        np.testing.assert_allclose(matrix[:, j] @ basis, t**j, atol=1e-13)


def test_signs_are_said_only_when_certain():
    poly = n2p.Polynomial([[1.0, -1.0, 0.0], [0.5, 0.5, 1.0]], 1, ["t"])
    found = explain.bounds(poly, (-1.0, 1.0))
    assert found.sign == ("positive", "negative", "unknown")
    assert found.table().columns == ("output", "at least", "at most", "sign")
    assert "positive" in repr(found)


def test_the_box_is_the_range_that_the_conversion_saw_unless_said_otherwise():
    poly = n2p.Polynomial([[0.0], [1.0], [10.0]], 1, ["a", "b"], low=[0, 0], high=[1, 2])
    np.testing.assert_allclose(explain.bounds(poly).high, 21.0)
    np.testing.assert_allclose(explain.bounds(poly, {"b": (0, 1)}).high, 11.0)
    np.testing.assert_allclose(explain.bounds(poly, data=[[5.0, 0.0], [1.0, 0.5]]).high, 10.0)
    np.testing.assert_allclose(explain.bounds(poly, (-1, 1)).high, 11.0)


def test_a_box_may_be_flat():
    poly = random_poly(2, 3, 3)
    point = np.array([0.3, -1.0, 2.0])
    found = explain.bounds(poly, (point, point))
    value = poly.predict([point])[0]
    np.testing.assert_allclose([found.low[0], found.high[0]], value, rtol=1e-8)
    assert found.low[0] <= value <= found.high[0]


@pytest.mark.parametrize(
    ("box", "message"),
    [
        (None, "does not know the range"),
        ((1.0, 0.0), "'f0'"),
        ((0.0, np.inf), "finite"),
        ((0.0,), "pair"),
        (3.0, "pair"),
        ({"f0": (0, 1)}, "no side for 'f1'"),
        ({"f0": 3, "f1": (0, 1)}, "not a pair"),
        (([0.0, 0.0, 0.0], 1.0), "2 of them"),
        ({"f0": ("0", "1"), "f1": (0, 1)}, "side 'f0' of the box cannot be used"),
        ({"f0": "01", "f1": (0, 1)}, "side 'f0' of the box cannot be used"),
        ({"f0": (0, np.nan), "f1": (0, 1)}, "NaN"),
        ({"f0": (0, 1, 2), "f1": (0, 1)}, "not a pair"),
        (("0", "1"), "box"),
        (np.array(3.0), "pair"),
        (np.zeros((3, 2)), "pair"),
        (np.array([["0", "0"], ["1", "1"]]), "box"),
    ],
)
def test_a_box_that_is_none_is_refused(box, message):
    with pytest.raises(InvalidInputError, match=message):
        explain.bounds(random_poly(0, 2, 2), box)


def test_a_box_may_be_an_array():
    poly = random_poly(0, 2, 2)
    for box in (np.array([[0, 0], [1, 1.0]]), [[0, 0], [1, 1.0]], np.array([0.0, 1.0])):
        found = explain.bounds(poly, box)
        assert found.low == explain.bounds(poly, (0.0, 1.0)).low


def test_an_unknown_side_of_the_box_is_refused():
    with pytest.raises(UnknownTermError, match="f9"):
        explain.bounds(random_poly(0, 2, 2), {"f9": (0, 1)})


@pytest.mark.parametrize("splits", [-1, 1.5, True, "many"])
def test_a_wrong_number_of_splits_is_refused(splits):
    with pytest.raises(InvalidInputError, match="splits"):
        explain.bounds(random_poly(0, 2, 2), (0, 1), splits=splits)


# --- monotonicity ----------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=50)
@given(
    seed=st.integers(0, 10**6),
    p=st.integers(1, 4),
    order=st.integers(1, 4),
    splits=st.sampled_from([0, 4]),
    tilt=st.sampled_from([0.0, 5.0, -20.0]),
)
def test_directions_are_never_wrong(seed, p, order, splits, tilt):
    poly = random_poly(seed, p, order, 2)
    coefficients = poly.coefficients.copy()
    coefficients[1 : p + 1] += tilt
    poly = n2p.Polynomial(
        coefficients, order, poly.feature_names, center=poly.center, scale=poly.scale
    )
    low, high = poly.center - poly.scale, poly.center + poly.scale
    found = explain.monotonicity(poly, (low, high), splits=splits)
    slopes = explain.gradients(poly, in_the_box(seed, low, high, 60))
    rising = found.directions == "increasing"
    falling = found.directions == "decreasing"
    assert np.all(slopes.min(axis=0)[rising] >= -1e-9)
    assert np.all(slopes.max(axis=0)[falling] <= 1e-9)
    assert np.all(slopes.min(axis=0) >= found.low)
    assert np.all(slopes.max(axis=0) <= found.high)
    if order <= 2:
        assert not np.any(found.directions == "unknown")


def test_directions_of_a_quadratic_polynomial_in_54_features_are_all_certain():
    poly = random_poly(0, 54, 2, 7)
    found = explain.monotonicity(poly, (poly.center - 3, poly.center + 3))
    assert found.directions.shape == (54, 7)
    assert not np.any(found.directions == "unknown")


def test_neither_is_said_only_with_both_signs_of_the_slope_at_hand():
    poly = n2p.Polynomial.from_terms(["t^2", "t"], [1.0, 0.0], ["t"])
    assert explain.monotonicity(poly, (-1, 1)).direction("t") == "neither"
    assert explain.monotonicity(poly, (0, 1)).direction("t") == "increasing"
    assert explain.monotonicity(poly, (-1, 0)).direction("t") == "decreasing"


def test_an_absent_feature_is_constant():
    poly = n2p.Polynomial.from_terms(["t^3"], [1.0], ["t", "unused"])
    found = explain.monotonicity(poly, (-1, 1))
    assert found.directions[:, 0].tolist() == ["increasing", "constant"]
    assert (
        explain.monotonicity(n2p.Polynomial([[1.0]], 0, ["t"]), (0, 1)).direction(0) == "constant"
    )


def test_a_slope_that_dips_a_little_below_zero_is_not_increasing():
    poly = n2p.Polynomial.from_terms(["t^3", "t"], [1.0, -1e-9], ["t"])
    assert explain.monotonicity(poly, (-1, 1)).direction("t") != "increasing"
    assert explain.monotonicity(poly, (-1, 1), splits=200).direction("t") != "increasing"


def test_splits_decide_what_one_box_leaves_open():
    poly = n2p.Polynomial.from_terms(  # slope 5 t⁴ - 4.4 t² + 1 >= 0.03
        ["t^5", "t^3", "t"], [1.0, -4.4 / 3, 1.0], ["t"]
    )
    assert explain.monotonicity(poly, (-1, 1)).direction("t") == "unknown"
    assert explain.monotonicity(poly, (-1, 1), splits=50).direction("t") == "increasing"


def test_a_folded_binary_feature_has_the_direction_of_its_difference():
    poly = n2p.Polynomial.from_terms(["u", "u v"], [1.0, -0.5], ["u", "v"])
    found = explain.monotonicity(poly, (0.0, 1.0))
    assert found.direction("u") == "increasing"
    np.testing.assert_allclose([found.low[0, 0], found.high[0, 0]], [0.5, 1.0])


def test_slopes_are_per_raw_unit():
    poly = n2p.Polynomial([[0.0], [1.0]], 1, ["t"], center=20.0, scale=5.0)
    np.testing.assert_allclose(explain.monotonicity(poly, (0, 100)).low, 0.2)


def test_the_table_of_directions_lists_outputs_when_there_are_several():
    found = explain.monotonicity(random_poly(0, 2, 2, 3), (-1, 1))
    assert len(found.table()) == 6
    assert found.table().columns[0] == "output"
    assert [row[:2] for row in found.table(2, output="y2")] == [("y2", "f0"), ("y2", "f1")]
    assert found.direction("f1", "y3") == found.directions[1, 2]
    assert "<table>" in found._repr_html_()


def test_rounding_that_hides_every_slope_is_unknown_and_not_constant():
    """Powers of a year in raw units: "constant", with bounds of ±795."""
    inputs = Inputs.of(["year"], center=2015.0, scale=4.0)
    poly = n2p.Polynomial(np.cos(np.arange(8.0))[:, None], 7, inputs=inputs)
    # What `rebase` refuses, as a file of version 0.1 may hold it.
    raw = poly._rewritten(0.0, 1.0)
    found = explain.monotonicity(raw, {"year": (2008, 2022)})
    assert found.low[0, 0] < -100 < 100 < found.high[0, 0]
    assert found.directions[0, 0] == "unknown"
    flat = explain.monotonicity(n2p.Polynomial([[5.0], [0.0]], 1, ["year"]), (0.0, 1.0))
    assert flat.directions[0, 0] == "constant"
