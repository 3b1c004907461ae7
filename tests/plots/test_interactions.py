"""`heatmap`, `interaction_network`, `effects`, `interaction_surface`."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

import nn2poly as n2p
from nn2poly import plots
from nn2poly.errors import InvalidInputError, OutsideRangeWarning, UnknownTermError
from nn2poly.plots.style import NEGATIVE, POSITIVE


def labels(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


@pytest.fixture(scope="module")
def pairs():
    return n2p.Polynomial.from_terms(
        ["a b", "b c", "a^2", "a", "c", "a b c"], [2.0, -5.0, 0.5, 1.0, -3.0, 9.0], list("abcd")
    )


# --- heatmap ---------------------------------------------------------------------------------


def test_cells_are_the_coefficients_of_products_strongest_features_first(pairs):
    axes = plots.heatmap(pairs)
    assert labels(axes) == ["b", "c", "a", "d"]
    cells = axes.images[0].get_array()
    expected = [[0, 0, 0, 0], [-5, 0, 0, 0], [2, 0, 0.5, 0], [0, 0, 0, 0]]
    np.testing.assert_allclose(cells.filled(0.0), expected)
    assert cells.mask[np.triu_indices(4, 1)].all()


def test_numbers_are_written_where_they_fit(pairs, make_polynomial):
    written = [text.get_text() for text in plots.heatmap(pairs).texts]
    assert {"−5", "2", "0.5", "0"} == set(written)
    assert not plots.heatmap(make_polynomial(8, 54, 2)).texts


def test_colours_are_symmetric_about_zero(pairs):
    image = plots.heatmap(pairs).images[0]
    assert image.get_clim() == (-5.0, 5.0)
    assert to_hex(image.cmap(0.0)).upper() == NEGATIVE
    assert to_hex(image.cmap(1.0)).upper() == POSITIVE


def test_the_strongest_of_54_features_are_shown(make_polynomial):
    poly = make_polynomial(8, 54, 2)
    axes = plots.heatmap(poly, n=10)
    matrix = np.zeros((54, 54))
    for term, value in zip(poly.terms, poly.coefficients[:, 0], strict=True):
        if len(term) == 2 and term[0] != term[1]:
            matrix[term] = matrix[term[::-1]] = value
    strongest = np.argsort(-np.linalg.norm(matrix, axis=1))[:10]
    assert labels(axes) == [f"x{i + 1}" for i in strongest]


def test_with_data_products_are_per_standard_deviations(poly, rows):
    raw = poly.rebase()
    expected = raw.rebase(rows.mean(axis=0), rows.std(axis=0))
    cells = plots.heatmap(raw, X=rows).images[0].get_array().compressed()
    wanted = [v for t, v in zip(expected.terms, expected.coefficients[:, 0], strict=True)
              if len(t) == 2]  # fmt: skip
    np.testing.assert_allclose(np.sort(cells), np.sort(wanted), rtol=1e-8)


def test_one_feature_has_its_square_and_no_interactions(make_polynomial):
    one = make_polynomial(10, 1, 3)
    cells = plots.heatmap(one).images[0].get_array()
    np.testing.assert_allclose(cells, [[one.coefficient("x1^2")]])
    axes = plots.interaction_network(one)
    assert "no interactions" in [text.get_text() for text in axes.texts]


@pytest.mark.parametrize("draw", [plots.heatmap, plots.interaction_network])
def test_a_linear_polynomial_has_no_products(draw):
    with pytest.raises(InvalidInputError, match="max_order=2"):
        draw(n2p.Polynomial([[1.0], [2.0], [3.0]], 1, ["a", "b"]))


# --- interaction_network ---------------------------------------------------------------------


def test_lines_are_the_strongest_products_and_only_their_features_stand_there(pairs):
    axes = plots.interaction_network(pairs)
    assert {text.get_text() for text in axes.texts} == {"a", "b", "c"}
    drawn = [(to_hex(line.get_color()).upper(), line.get_linewidth()) for line in axes.lines]
    assert [color for color, _ in drawn] == [POSITIVE, NEGATIVE]  # the strongest on top
    assert drawn[0][1] < drawn[1][1]
    assert len(plots.interaction_network(pairs, n=1).lines) == 1


def test_dots_are_the_linear_coefficients(pairs):
    dots = plots.interaction_network(pairs).collections[0]
    colors = [to_hex(color).upper() for color in dots.get_facecolors()]
    assert (colors[0], colors[2]) == (POSITIVE, NEGATIVE)
    sizes = dots.get_sizes()
    assert sizes[1] < sizes[0] < sizes[2]  # b has none, a 1, c -3


# --- effects ---------------------------------------------------------------------------------


def brute_force(poly, X, column, values):
    """Average the predictions with one column set to each value."""
    return [poly.outputs_by_order(np.where(np.arange(X.shape[1]) == column, v, X))[-1][:, 0].mean()
            for v in values]  # fmt: skip


@pytest.mark.parametrize("sparse", [False, True])
def test_with_data_an_effect_is_the_average_prediction(poly, rows, sparse):
    poly = poly.prune(14) if sparse else poly
    line = plots.effects(poly, "income", X=rows).lines[0]
    x, y = line.get_xdata()[::40], line.get_ydata()[::40]
    np.testing.assert_allclose(y, brute_force(poly, rows, 1, x), rtol=1e-9)
    assert (x[0], line.get_xdata()[-1]) == (rows[:, 1].min(), rows[:, 1].max())


def test_without_data_the_others_stay_at_the_centre(poly):
    axes = plots.effects(poly, "age")
    line = axes.lines[0]
    X = np.tile(poly.center, (200, 1))
    X[:, 0] = line.get_xdata()
    np.testing.assert_allclose(line.get_ydata(), poly.predict(X))
    assert axes.get_title(loc="left") == "others at their centre"
    assert (line.get_xdata()[0], line.get_xdata()[-1]) == (poly.low[0], poly.high[0])


def test_the_title_says_when_others_are_averaged_and_nothing_when_there_are_none(
    poly, rows, make_polynomial
):
    assert plots.effects(poly, 0, X=rows).get_title(loc="left") == "others averaged over X"
    assert plots.effects(make_polynomial(10, 1, 3), 0).get_title(loc="left") == ""


def test_a_feature_with_two_values_has_a_dot_at_each(poly, rows):
    axes = plots.effects(poly, "smoker", X=rows)
    assert axes.lines[1].get_xdata().tolist() == [0.0, 1.0]
    assert len(plots.effects(poly, "age", X=rows).lines) == 1


def test_what_the_conversion_did_not_see_is_grey(poly, rows):
    assert len(plots.effects(poly, "age", X=rows).patches) == 0
    assert len(plots.effects(poly, "age", X=2 * rows).patches) == 2


def test_several_features_are_several_panels(poly, rows):
    panels = plots.effects(poly, ["age", 1, "smoker"], X=rows)
    assert [axes.get_xlabel() for axes in panels] == ["age", "income", "smoker"]


def test_a_column_that_does_not_vary_is_drawn(poly, rows):
    plots.effects(poly, 0, X=np.column_stack([np.ones(150), rows[:, 1:]])).figure.canvas.draw()
    plots.effects(poly, 0, X=rows[:1]).figure.canvas.draw()


def test_unknown_features_are_named(poly):
    with pytest.raises(UnknownTermError, match="did you mean 'income'"):
        plots.effects(poly, "incme")
    with pytest.raises(UnknownTermError, match="0 to 3"):
        plots.interaction_surface(poly, 0, 4)
    with pytest.raises(InvalidInputError, match="no feature"):
        plots.effects(poly, [])


def test_curve_and_surface_are_the_partial_dependence_of_explain(make_polynomial, monkeypatch):
    """Of 54 features, more rows than a plot used to take, some outside the calibrated range."""
    low, high = np.full(54, -2.0), np.full(54, 2.0)
    poly = make_polynomial(13, 54, 2, 2, center=0.3, scale=2.0, low=low, high=high)
    X = np.random.default_rng(1).normal(size=(1200, 54))
    line = plots.effects(poly, 7, X=X, output=1).lines[0]
    with pytest.warns(OutsideRangeWarning):
        curve = n2p.explain.partial_dependence(poly, X, 7, grid=line.get_xdata())
    np.testing.assert_array_equal(line.get_ydata(), curve.values[:, 1])
    at = X.copy()
    at[:, 7] = line.get_xdata()[50]
    expected = poly.outputs_by_order(at)[-1][:, 1].mean()
    assert line.get_ydata()[50] == pytest.approx(expected, rel=1e-9)
    drawn, contourf = [], Axes.contourf

    def spy(*arguments, **options):
        drawn.extend(arguments[1:])
        return contourf(*arguments, **options)

    monkeypatch.setattr(Axes, "contourf", spy)
    plots.interaction_surface(poly, 7, 30, X=X, output=1)
    across, up, height = drawn
    with pytest.warns(OutsideRangeWarning):
        both = n2p.explain.partial_dependence(poly, X, [7, 30], grid=[across, up])
    shown = ~np.ma.getmaskarray(height)
    assert 0.2 < shown.mean() < 1.0
    np.testing.assert_array_equal(height.data[shown], both.values[:, :, 1].T[shown])


# --- interaction_surface ---------------------------------------------------------------------


def test_a_surface_covers_the_data_and_shows_them(poly, rows):
    axes = plots.interaction_surface(poly, "age", "income", X=rows)
    np.testing.assert_allclose(axes.get_xlim(), [rows[:, 0].min(), rows[:, 0].max()])
    np.testing.assert_allclose(axes.get_ylim(), [rows[:, 1].min(), rows[:, 1].max()])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("age", "income")
    np.testing.assert_allclose(axes.collections[-1].get_offsets(), rows[:, :2])


def test_the_levels_of_a_surface_span_its_values():
    poly = n2p.Polynomial.from_terms(["a b"], [1.0], ["a", "b"])
    filled = plots.interaction_surface(poly, "a", "b").collections[0]
    assert (filled.levels[0], filled.levels[-1]) == (
        pytest.approx(-4, abs=1),
        pytest.approx(4, abs=1),
    )


def test_a_flat_surface_is_one_colour(make_polynomial):
    poly = n2p.Polynomial.from_terms(["1", "c"], [0.1, 1.0], ["a", "b", "c"])
    axes = plots.interaction_surface(poly, "a", "b", X=np.random.default_rng(0).normal(size=(9, 3)))
    assert len(axes.collections[0].levels) == 2
    axes.figure.canvas.draw()


def test_a_surface_needs_two_features(poly):
    with pytest.raises(InvalidInputError, match="two different features"):
        plots.interaction_surface(poly, "age", 0)
