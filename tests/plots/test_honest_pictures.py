"""What a picture must not hide: no rows, another scale, the network, a formula that is rough."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import nn2poly as n2p
from nn2poly import plots
from nn2poly.errors import InvalidInputError
from nn2poly.plots.footnotes import MARK
from nn2poly.plots.occupied import near_rows, nearest
from nn2poly.plots.style import GREY, ORANGE

# --- interaction_surface ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def diagonal_rows():
    """Give 300 rows on a diagonal: two corners have none."""
    t = np.random.default_rng(2).uniform(-1.0, 1.0, size=300)
    return np.column_stack([t, t])


def test_a_surface_is_blank_where_no_row_is_near_and_coloured_by_the_rest(diagonal_rows):
    """(a - b)² is 0 on the rows and 4 in the corners."""
    poly = n2p.Polynomial.from_terms(["a^2", "a b", "b^2"], [1.0, -2.0, 1.0], ["a", "b"])
    filled = plots.interaction_surface(poly, "a", "b", X=diagonal_rows).collections[0]
    assert filled.levels[-1] < 1.0
    everywhere = plots.interaction_surface(poly, "a", "b").collections[0]
    assert everywhere.levels[-1] > 4.0


def test_the_title_says_that_blank_means_no_rows(diagonal_rows):
    poly = n2p.Polynomial.from_terms(["a b"], [1.0], ["a", "b"])
    axes = plots.interaction_surface(poly, 0, 1, X=diagonal_rows)
    assert axes.get_title(loc="left") == "blank: no rows near"
    assert plots.interaction_surface(poly, 0, 1).get_title(loc="left") == ""
    full = np.random.default_rng(0).uniform(size=(5000, 2))
    assert plots.interaction_surface(poly, 0, 1, X=full).get_title(loc="left") == ""


def test_cells_of_levels_without_rows_are_blank(rentals):
    X = np.array([[2.0, 1.0, 0.0], [3.0, 1.0, 0.0], [20.0, 0.0, 1.0], [21.0, 0.0, 1.0]])
    cells = plots.interaction_surface(rentals, "weather", "hour", X=X).collections[0]
    shown = ~np.ma.getmaskarray(cells.get_array())
    assert shown[0].tolist() == [True, False]
    assert shown[-1].tolist() == [False, True]
    low, high = cells.get_clim()
    assert (low, high) == (cells.get_array().min(), cells.get_array().max())


def test_every_row_is_near_itself_and_far_corners_are_not(diagonal_rows):
    grid = np.linspace(-1.0, 1.0, 80)
    places = (nearest(grid, diagonal_rows[:, 0]), nearest(grid, diagonal_rows[:, 1]))
    near = near_rows(places, (80, 80))
    assert near[places].all()
    assert not near[0, -1]
    assert not near[-1, 0]


def test_a_feature_of_few_values_has_no_holes_between_them():
    hours = np.tile(np.arange(10), 200)
    grid = np.linspace(0.0, 9.0, 80)
    assert near_rows((nearest(grid, hours), nearest(grid, hours[::-1])), (80, 80)).any(axis=0).all()


# --- effects ---------------------------------------------------------------------------------


def test_panels_of_effects_have_one_scale_and_the_density_below(poly, rows):
    panels = plots.effects(poly, ["age", "income", "smoker"], X=rows)
    assert len({axes.get_ylim() for axes in panels}) == 1
    assert all(axes.collections for axes in panels)  # densities
    bottom, top = panels[0].get_ylim()
    lowest = min(line.get_ydata().min() for axes in panels for line in axes.lines)
    assert lowest > bottom + 0.1 * (top - bottom)


def test_the_network_is_drawn_beside_its_formula(network, poly, rows):
    taylor = n2p.convert(network, 3, feature_names=poly.feature_names)
    axes = plots.effects(taylor, "income", X=rows, model=network)
    curve = axes.lines[1]
    assert curve.get_color() == ORANGE
    at = rows.copy()
    at[:, 1] = curve.get_xdata()[10]
    assert curve.get_ydata()[10] == pytest.approx(network.predict(at).mean(), rel=1e-9)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["formula", "network"]


def test_a_network_without_data_is_asked_at_the_centre(network, poly):
    taylor = n2p.convert(network, 3, feature_names=poly.feature_names)
    curve = plots.effects(taylor, "age", model=network).lines[1]
    at = np.tile(taylor.center, (len(curve.get_xdata()), 1))
    at[:, 0] = curve.get_xdata()
    np.testing.assert_allclose(curve.get_ydata(), network.predict(at).ravel())


def test_a_feature_of_two_values_has_a_ring_at_each(network, poly, rows):
    taylor = n2p.convert(network, 3, feature_names=poly.feature_names)
    rings = plots.effects(taylor, "smoker", X=rows, model=network).lines[2]
    assert rings.get_xdata().tolist() == [0.0, 1.0]
    assert rings.get_markerfacecolor() == "none"


def test_a_function_draws_rings_around_the_levels_of_a_factor(rentals, hours):
    axes = plots.effects(rentals, "weather", X=hours, model=lambda X: rentals.predict(X) + 7.0)
    dots, rings = axes.lines
    np.testing.assert_allclose(rings.get_ydata(), dots.get_ydata() + 7.0)


def test_a_network_of_other_features_is_refused(network, rentals, hours):
    with pytest.raises(InvalidInputError):
        plots.effects(rentals, "hour", X=hours, model=network)


# --- waterfall, beeswarm, path ---------------------------------------------------------------


def one_of_each(values):
    """Give a linear polynomial without an intercept, and the row of ones."""
    names = [f"x{i}" for i in range(len(values))]
    return n2p.Polynomial([[0.0], *([v] for v in values)], 1, names), np.ones(len(values))


def test_the_rest_of_a_waterfall_is_not_its_largest_bar():
    poly, row = one_of_each([3.0, 2.0, *[1.0] * 10])
    widths = [bar.get_width() for bar in plots.waterfall(poly, row, n=2).patches]
    assert widths == pytest.approx([3.0, 2.0, *[1.0] * 7, 3.0])
    few = plots.waterfall(poly, row, n=9)
    assert len(few.patches) == 10


def test_a_waterfall_has_a_limit():
    poly, row = one_of_each([1.0] * 100)
    assert len(plots.waterfall(poly, row, n=5).patches) == 31
    assert len(plots.waterfall(poly, row, n=40).patches) == 41


def test_products_in_a_beeswarm_are_grey_and_a_legend_says_so():
    poly = n2p.Polynomial.from_terms(["a", "a b", "b^2"], [1.0, 5.0, 3.0], ["a", "b"])
    X = np.random.default_rng(0).normal(size=(50, 2))
    axes = plots.beeswarm(poly, X)
    names = [label.get_text() for label in axes.get_yticklabels()]
    for name, dots in zip(names, axes.collections, strict=True):
        colors = {to_hex(color) for color in dots.get_facecolors()}
        assert (dots.get_array() is None) == (name == "a × b")
        assert name != "a × b" or colors == {GREY}
    assert axes.get_legend().get_texts()[0].get_text() == "grey: products of features"
    assert plots.beeswarm(poly.truncate(1), X).get_legend() is None


def test_a_path_that_leaves_its_axis_is_marked():
    axes = plots.path([(1, 5, -3.2), (2, 15, 0.5), (3, 35, np.nan)])
    marks = axes.lines[-1]
    assert marks.get_xdata().tolist() == [5, 35]
    assert set(marks.get_ydata()) == {axes.get_ylim()[0]}
    assert "some not finite" in axes.get_legend().get_texts()[0].get_text()
    told = plots.path([(1, 5, -3.2), (2, 15, 0.5)]).get_legend().get_texts()[0].get_text()
    assert told == "below the axis: R² down to −3.2"
    assert plots.path([(1, 5, 0.2), (2, 15, 0.5)]).get_legend() is None


# --- the foot of a figure --------------------------------------------------------------------


@pytest.fixture(scope="module")
def steep():
    """Give rows, a network that no line follows, its line, and its cubic."""
    X = np.random.default_rng(1).normal(size=(400, 2))
    layers = [n2p.Layer([[1.0, 0.0], [0.0, 0.3]], None, "tanh"), n2p.Layer([[0.1], [1.0]])]
    straight = n2p.Network(layers)
    bent = n2p.Network([n2p.Layer([[9.0], [0.0]], [9.0], "tanh"), n2p.Layer([[1.0]])])
    return X, bent, n2p.convert(bent, 1, data=X), n2p.convert(straight, 3, data=X)


def feet(figure):
    return [text.get_text() for text in figure.findobj(lambda artist: artist.get_gid() == MARK)]


@pytest.mark.filterwarnings("ignore::nn2poly.errors.MixedRowsWarning")
def test_every_figure_of_a_formula_that_is_not_faithful_says_so_once(steep):
    X, bent, poor, _ = steep
    assert poor.card.verdict.grade in ("rough", "not faithful")
    drawn = [
        plots.importance(poor),
        plots.importance([poor, poor]),
        plots.beeswarm(poor, X),
        plots.waterfall(poor, X[0]),
        plots.effects(poor, [0, 1], X=X)[0],
        plots.interaction_surface(poor, 0, 1, X=X),
        plots.diagonal(bent, poor, X),
        plots.region_map(poor, 0, 1, X=X),
        plots.regions(poor),
    ]
    for axes in drawn:
        (text,) = feet(axes.figure)
        assert text.startswith(("Rough (R² ", "Not faithful (R² "))


def test_a_faithful_formula_and_one_without_a_card_say_nothing(steep, poly):
    good = steep[3]
    assert good.card.verdict.grade in ("faithful", "useful")
    assert not feet(plots.importance(good).figure)
    assert not feet(plots.importance(poly).figure)


def test_a_figure_of_the_user_says_it_once_and_keeps_its_size(steep):
    X, _, poor, _ = steep
    figure = Figure(figsize=(7, 3), layout="constrained")
    left, right = figure.subplots(1, 2)
    plots.importance(poor, ax=left)
    plots.waterfall(poor, X[0], ax=right)
    assert len(feet(figure)) == 1
    assert figure.get_size_inches().tolist() == [7.0, 3.0]
    figure.draw_without_rendering()
    (foot,) = figure.findobj(lambda artist: artist.get_gid() == MARK)
    assert foot.get_window_extent().y0 >= 0.0
    assert foot.get_window_extent().y1 <= left.xaxis.label.get_window_extent().y0
