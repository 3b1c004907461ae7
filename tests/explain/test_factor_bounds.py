"""Bounds and directions of a formula with factors look at rows that exist."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly import explain
from nn2poly.formula.piecewise import PiecewisePolynomial
from nn2poly.formula.region_tree import Leaf, Split
from nn2poly.inputs import Column, Inputs

INPUTS = Inputs(
    (
        Column("age"),
        Column.factor("sex", ["male", "female"]),
        Column.factor("job", ["clerk", "farmer", "nurse"]),
    )
).seen(np.array([-1.0, 0, 0, 0, 0, 0]), np.ones(6))


@pytest.fixture
def poly():
    terms = [(), *((i,) for i in range(6)), *((0, j) for j in range(1, 6))]
    terms += list(product((1, 2), (3, 4, 5)))
    values = np.random.default_rng(0).normal(size=(len(terms), 1))
    made = n2p.Polynomial.from_terms(terms, values, list(INPUTS.feature_names))
    return replace(made, inputs=INPUTS)


def rows():
    """All rows that exist, at the ends of age."""
    return np.array(
        [
            [age, *np.eye(2)[sex], *np.eye(3)[job]]
            for age, sex, job in product((-1.0, 0.3, 1.0), range(2), range(3))
        ]
    )


def test_bounds_are_those_of_rows_with_one_level_of_each_factor(poly):
    found, values = explain.bounds(poly), poly.predict(rows())
    assert found.low[0] == pytest.approx(values.min(), abs=1e-9)
    assert found.high[0] == pytest.approx(values.max(), abs=1e-9)


def test_a_level_is_judged_by_what_it_does_instead_of_the_others(poly):
    found = explain.monotonicity(poly)
    for column, places in (("sex", (1, 2)), ("job", (3, 4, 5))):
        for level in places:
            gaps = []
            for row in rows():
                if row[level] == 1.0:
                    for other in set(places) - {level}:
                        moved = row.copy()
                        moved[[level, other]] = 0.0, 1.0
                        gaps.append(float((poly.predict([row]) - poly.predict([moved]))[0]))
            assert found.low[level, 0] == pytest.approx(min(gaps), abs=1e-9), column
            assert found.high[level, 0] == pytest.approx(max(gaps), abs=1e-9), column
            word = "increasing" if min(gaps) >= 0 else "decreasing" if max(gaps) <= 0 else "neither"
            assert found.directions[level, 0] == word


def test_the_slope_of_a_number_is_bounded_over_levels_that_go_together(poly):
    table = rows()
    left, right = (poly.predict(table[table[:, 0] == end]) for end in (-1.0, 1.0))
    slope = (right - left) / 2.0
    found = explain.monotonicity(poly)
    assert found.low[0, 0] == pytest.approx(slope.min(), abs=1e-9)
    assert found.high[0, 0] == pytest.approx(slope.max(), abs=1e-9)


def test_a_shift_along_the_null_direction_of_a_factor_changes_nothing(poly):
    shifted = poly.coefficients.copy()
    places = {term: k for k, term in enumerate(poly.terms)}
    shifted[places[()]] -= 7.0
    for level in (1, 2):
        shifted[places[(level,)]] += 7.0
    other = replace(poly, coefficients=shifted)
    one, two = explain.monotonicity(poly), explain.monotonicity(other)
    assert one.directions.tolist() == two.directions.tolist()
    np.testing.assert_allclose(one.low, two.low, atol=1e-9)
    np.testing.assert_allclose(explain.bounds(poly).low, explain.bounds(other).low, atol=1e-9)


def test_regions_hold_the_levels_that_lead_there(poly):
    far = replace(poly, coefficients=poly.coefficients + 100.0 * (np.arange(18) == 0)[:, None])
    # Clerks and farmers go left, where everything is larger by 100.
    both = PiecewisePolynomial(Split(2, levels=(0, 1), left=Leaf(0), right=Leaf(1)), (far, poly))
    found, values = explain.bounds(both), both.predict(rows())
    assert found.low[0] == pytest.approx(values.min(), abs=1e-9)
    assert found.high[0] == pytest.approx(values.max(), abs=1e-9)
