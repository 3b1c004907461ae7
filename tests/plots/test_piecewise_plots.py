"""Formulas with regions in pictures and on cards: what works does, what does not says so."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from matplotlib.figure import Figure

import nn2poly as n2p
from nn2poly import plots
from nn2poly.errors import InvalidInputError, UnknownTermError
from nn2poly.explain import importance, shapley
from nn2poly.formula.borders import both_sides, thresholds
from nn2poly.formula.region_tree import Leaf, Split
from nn2poly.inputs import Column, Inputs
from nn2poly.score_texts import r2_text


def texts(ax):
    return [text.get_text() for text in ax.texts]


def deep_tree(depth, n=4):
    """A tree of 2 ** depth regions, whose questions go through n columns of numbers."""
    count = iter(range(2**depth))

    def node(level, low, high):
        if level == depth:
            return Leaf(next(count))
        at = (low[level % n] + high[level % n]) / 2
        sides = []
        for end in (0, 1):
            bounds = [list(low), list(high)]
            bounds[1 - end][level % n] = at
            sides.append(node(level + 1, *bounds))
        return Split(level % n, at, left=sides[0], right=sides[1])

    return node(0, [0.0] * n, [16.0] * n)


def sixteen(names):
    inputs = Inputs(tuple(Column(name) for name in names)).seen([0.0] * 4, [16.0] * 4)
    rng = np.random.default_rng(3)
    polys = tuple(n2p.Polynomial(rng.normal(size=(5, 1)), 1, inputs=inputs) for _ in range(16))
    rows = tuple(rng.integers(5, 4000, 16).tolist())
    return n2p.PiecewisePolynomial(deep_tree(4), polys, rows, tuple(rng.uniform(0.2, 1, 16)))


# --- main effects ------------------------------------------------------------------------------


def test_effects_show_the_jump_between_regions(rentals, hours):
    ax = plots.effects(rentals, "hour", X=hours)
    x, y = ax.lines[0].get_xdata(), ax.lines[0].get_ydata()
    known = ~np.isnan(y)
    expected = [
        rentals.predict(np.column_stack([np.full(60, t), hours[:, 1:]])).mean() for t in x[known]
    ]
    np.testing.assert_allclose(y[known], expected)
    (gap,) = np.flatnonzero(~known)
    assert x[gap - 1] < 6.5 == x[gap + 1]
    assert x[gap + 1] - x[gap - 1] < 1e-12
    assert y[gap + 1] - y[gap - 1] > 100.0


def test_the_ends_of_a_jump_are_joined_by_dots(rentals, hours):
    ax = plots.effects(rentals, "hour", X=hours)
    _, joint = ax.lines
    assert joint.get_linestyle() == ":"
    np.testing.assert_allclose(joint.get_xdata(), 6.5)
    # 150 + 4 · 6.5 - 50 rain after it, 20 + 6.5 - 5 rain before.
    np.testing.assert_allclose(np.diff(joint.get_ydata()), 149.5 - 45.0 * hours[:, 2].mean())


def test_a_polynomial_has_no_jumps(poly, rows):
    ax = plots.effects(poly, "age", X=rows)
    assert len(ax.lines) == 1
    assert not np.isnan(ax.lines[0].get_ydata()).any()
    assert thresholds(poly.tree, 0) == ()


def test_a_threshold_outside_the_grid_adds_no_point():
    grid = np.array([0.0, 1.0])
    np.testing.assert_array_equal(both_sides(grid, (-1.0, 0.0, 2.0)), grid)
    assert len(both_sides(grid, (1.0,))) == 3


def test_without_names_the_columns_that_matter_most_are_drawn(rentals, hours):
    drawn = plots.effects(rentals, X=hours)
    assert [ax.get_xlabel() for ax in drawn] == ["hour", "weather"]
    with pytest.raises(InvalidInputError, match="told by data"):
        plots.effects(rentals)


# --- by column ---------------------------------------------------------------------------------


def test_bars_are_how_far_the_output_moves_with_each_column(rentals, hours):
    ax = plots.importance(rentals, X=hours)
    expected = {row[0]: row[1] for row in importance(rentals, hours).rows}
    found = [label.get_text() for label in ax.get_yticklabels()]
    assert found == ["hour", "weather"]
    np.testing.assert_allclose(
        [bar.get_width() for bar in ax.patches], [expected[n] for n in found]
    )
    assert len(plots.importance(rentals, 1, X=hours).patches) == 1


def test_bars_of_regions_need_rows_and_have_no_intercept(rentals, hours):
    with pytest.raises(InvalidInputError, match="told by data") as caught:
        plots.importance(rentals)
    assert "X=" in caught.value.remedy
    with pytest.raises(InvalidInputError, match="one intercept in each"):
        plots.importance(rentals, X=hours, intercept=True)


def test_every_output_of_regions_has_bars_of_its_own(hours, rentals):
    both = [np.column_stack([p.coefficients, -p.coefficients[::-1]]) for p in rentals.polynomials]
    polys = tuple(n2p.Polynomial(c, 1, inputs=rentals.inputs) for c in both)
    two = n2p.PiecewisePolynomial(rentals.tree, polys)
    left, right = plots.importance(two, X=hours)
    assert [left.get_title(loc="left"), right.get_title(loc="left")] == ["y1", "y2"]
    one = plots.importance(two, X=hours, output="y2")
    np.testing.assert_allclose(
        [b.get_width() for b in one.patches], [b.get_width() for b in right.patches]
    )


def test_a_swarm_of_regions_is_the_shapley_values_of_the_columns(rentals, hours):
    ax = plots.beeswarm(rentals, hours)
    values = shapley(rentals, hours, hours).values[:, :, 0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["hour", "weather"]
    for dots, column in zip(ax.collections, values.T, strict=True):
        np.testing.assert_allclose(np.asarray(dots.get_offsets())[:, 0], column)
    assert ax.get_xlabel() == "Shapley value for y"


def test_levels_of_a_swarm_are_grey_and_numbers_are_not(rentals, hours):
    hour, weather = plots.beeswarm(rentals, hours).collections
    assert len(np.unique(hour.to_rgba(hour.get_array()), axis=0)) > 5
    assert weather.get_array() is None


def test_a_waterfall_is_of_the_region_of_its_row_and_says_so(rentals):
    ax = plots.waterfall(rentals, [7.0, 0.0, 1.0])
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches][:2], [-50.0, 28.0])
    assert ax.get_title(loc="left") == "region 1: hour ≥ 6.5"


@pytest.mark.parametrize("row", [0, 7, 20])
def test_a_waterfall_with_rows_goes_by_column_from_the_average(rentals, hours, row):
    ax = plots.waterfall(rentals, hours[row], X=hours)
    found = shapley(rentals, hours[[row]], hours)
    values = found.values[0, :, 0]
    order = np.argsort(-np.abs(values), kind="stable")
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], values[order])
    labels = [label.get_text() for label in ax.get_yticklabels()]
    weather = "rain" if hours[row, 2] else "clear"
    assert set(labels[1:-1]) == {f"hour = {hours[row, 0]:g}", f"weather = {weather}"}
    assert labels[0] == "average over X"
    start = ax.patches[0].get_x()
    assert start + values.sum() == pytest.approx(rentals.predict(hours[[row]])[0])


def test_a_polynomial_has_a_waterfall_by_feature_too(poly, rows):
    ax = plots.waterfall(poly, rows[3], X=rows, n=2)
    assert ax.get_yticklabels()[3].get_text() == "2 other features"
    assert not plots.waterfall(poly, rows[3]).get_title(loc="left")


# --- the tree ----------------------------------------------------------------------------------


def test_the_tree_has_a_rule_on_each_branch_and_a_leaf_for_each_region():
    made = sixteen(["hour", "temperature outside", "humidity", "wind"])
    found = texts(plots.regions(made))
    assert [t for t in found if t.startswith("region ")] == [f"region {k}" for k in range(16)]
    assert len([t for t in found if "<" in t]) == len([t for t in found if "≥" in t]) == 15
    assert {"hour < 8", "temperature outsi…\n≥ 8"} & {t.replace("\n", " ") for t in found}
    for region in made.regions:
        assert f"{region.r2:.3f}" in found


@pytest.mark.parametrize("size", [None, (7.0, 5.0), (3.5, 4.5)])
def test_no_text_of_sixteen_regions_covers_another_or_leaves_the_figure(size):
    made = sixteen(["hour", "average temperature outside", "hours-per-week", "wind"])
    given = None if size is None else Figure(figsize=size, layout="constrained").subplots()
    ax = plots.regions(made, ax=given)
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts if text.get_text()]
    covered = [
        (a.get_text(), b.get_text())
        for (a, x), (b, y) in combinations(zip(ax.texts, boxes, strict=True), 2)
        if min(x.x1, y.x1) - max(x.x0, y.x0) > 2 and min(x.y1, y.y1) - max(x.y0, y.y0) > 3
    ]
    assert covered == []
    width, height = ax.figure.bbox.width, ax.figure.bbox.height
    assert all(box.x0 >= -1 and box.x1 <= width + 1 for box in boxes)
    assert all(box.y0 >= -1 and box.y1 <= height + 1 for box in boxes)


def test_bars_at_the_leaves_are_shares_and_r2(rentals):
    found = texts(plots.regions(rentals))
    assert {"share of rows", "R²", "27 %", "73 %", "0.910", "0.980"} <= set(found)
    plain = n2p.PiecewisePolynomial(rentals.tree, rentals.polynomials)
    assert texts(plots.regions(plain)) == ["hour < 6.5", "hour ≥ 6.5", "region 0", "region 1"]


def test_the_title_of_a_tree_gives_the_fidelity_that_was_measured():
    rng = np.random.default_rng(0)
    net = n2p.Network([n2p.Layer([[2.0]], [0.0], "relu"), n2p.Layer([[1.0]], [3.0])])
    made = n2p.convert(net, 1, data=rng.normal(size=(600, 1)), regions=2)
    title = plots.regions(made).get_title(loc="left")
    assert f"R² {r2_text(made.card.r2)} against the network" in title


def test_a_polynomial_is_a_tree_of_one_region(poly):
    assert texts(plots.regions(poly)) == ["region 0"]


# --- the map -----------------------------------------------------------------------------------


def test_colours_of_a_map_are_predictions_with_the_others_at_typical_values():
    made = sixteen(["a", "b", "c", "d"])
    X = np.random.default_rng(1).uniform(0, 16, size=(200, 4))
    ax = plots.region_map(made, "a", "c", X=X)
    mesh = ax.collections[0]
    corners = mesh.get_coordinates()
    middle = (corners[:-1, :-1] + corners[1:, 1:]) / 2
    others = X.mean(axis=0)
    row = np.array([0.0, float(f"{others[1]:.4g}"), 0.0, float(f"{others[3]:.4g}")])
    cells = np.tile(row, (middle[..., 0].size, 1))
    cells[:, 0], cells[:, 2] = middle[..., 0].ravel(), middle[..., 1].ravel()
    np.testing.assert_allclose(mesh.get_array().ravel(), made.predict(cells), atol=2e-2)
    title = ax.get_title(loc="left")
    assert title.startswith("others at typical values: b ")
    assert ", d " in title.replace("\n", " ")


def test_borders_of_a_map_are_the_thresholds(rentals, hours):
    ax = plots.region_map(rentals, "hour", "weather", X=hours)
    borders = ax.collections[-1].get_segments()
    assert {x for line in borders for x, _ in line} == {6.5}
    assert texts(ax) == ["0", "1"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["clear", "rain"]


def test_a_map_without_rows_covers_what_the_conversion_saw(rentals):
    ax = plots.region_map(rentals, "weather", "hour")
    assert ax.get_ylim() == (0.0, 24.0)
    assert not ax.get_title(loc="left")


def test_a_map_of_a_polynomial_has_no_borders(poly, rows):
    ax = plots.region_map(poly, "age", "income", X=rows)
    assert ax.collections[1].get_segments() == []
    assert "smoker" in ax.get_title(loc="left")


def test_a_map_needs_two_columns_that_there_are(rentals):
    with pytest.raises(InvalidInputError, match="two different columns"):
        plots.region_map(rentals, "hour", "hour")
    with pytest.raises(InvalidInputError, match="two different columns"):
        plots.region_map(rentals, "weather=rain", "weather")
    with pytest.raises(UnknownTermError):
        plots.region_map(rentals, "hour", "wind")


# --- what needs one polynomial -----------------------------------------------------------------


@pytest.mark.parametrize(
    "draw",
    [
        lambda poly, _: plots.heatmap(poly),
        lambda poly, _: plots.interaction_network(poly),
        lambda poly, _: plots.importance([poly, poly]),
    ],
)
def test_what_needs_the_terms_of_one_polynomial_says_so(draw, rentals, hours):
    with pytest.raises(InvalidInputError, match="no terms of its own") as caught:
        draw(rentals, hours)
    assert caught.value.remedy == "use the polynomial of one region: poly.regions[0].polynomial"


def test_the_fidelity_of_regions_is_measured_as_of_a_polynomial():
    net = n2p.Network([n2p.Layer([[0.9], [0.0]], [0.0], "relu"), n2p.Layer([[1.0]], [3.0])])
    X = np.random.default_rng(0).normal(size=(200, 2))
    inputs = Inputs.of(["x1", "x2"])
    off = n2p.Polynomial([[3.0], [0.0], [0.0]], 1, inputs=inputs)
    on = n2p.Polynomial([[3.0], [0.9], [0.0]], 1, inputs=inputs)
    exact = n2p.PiecewisePolynomial(Split(0, 0.0, left=Leaf(0), right=Leaf(1)), (off, on))
    card = n2p.fidelity(net, exact, X)
    assert card.r2 == pytest.approx(1.0)
    assert card.max_error < 1e-12
    assert plots.diagonal(net, exact, X).has_data()
