"""Every plot of formulas of real tables: nothing impossible, nothing cut off, nothing covered."""

from __future__ import annotations

import re
from functools import cache
from itertools import combinations

import numpy as np
import pytest
import shapiq
from matplotlib.text import Text
from sklearn.compose import make_column_transformer
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import nn2poly as n2p
from nn2poly import plots
from nn2poly.errors import InvalidInputError
from nn2poly.formula.region_tree import Leaf, Split

LEVELS = {
    "marital-status": (
        *("Divorced", "Married-AF-spouse", "Married-civ-spouse", "Married-spouse-absent"),
        *("Never-married", "Separated", "Widowed"),
    ),
    "relationship": (
        *("Husband", "Not-in-family", "Other-relative", "Own-child", "Unmarried", "Wife"),
    ),
    "sex": ("Female", "Male"),
}
NUMBERS = ["age", "hours-per-week", "education-num"]

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::nn2poly.errors.OutsideRangeWarning"),
    pytest.mark.filterwarnings("ignore::nn2poly.errors.MixedRowsWarning"),
]


@pytest.fixture(scope="module")
def adult():
    """Give a classifier of the census, its rows as text and numbers, and its polynomial."""
    X, y = shapiq.load_adult_census(to_numpy=False)
    X, y = X.iloc[:3000].copy(), np.asarray(y)[:3000]
    for name, levels in LEVELS.items():
        X[name] = np.array(levels)[X[name].astype(int)]
    X = X[[*NUMBERS, *LEVELS]]
    columns = make_column_transformer(
        (StandardScaler(), NUMBERS), (OneHotEncoder(handle_unknown="ignore"), [*LEVELS])
    )
    network = MLPClassifier(hidden_layer_sizes=(12,), max_iter=40, random_state=0)
    model = make_pipeline(columns, network).fit(X, np.where(y == 1, "rich", "poor"))
    return model, X, n2p.convert(model, 2, data=X)


@pytest.fixture(scope="module")
def bikes():
    """Give a network of rentals by the hour, its rows, a rough polynomial, and regions."""
    X, y = shapiq.load_bike_sharing(to_numpy=False)
    chosen = np.random.default_rng(0).permutation(len(X))[:6000]
    X, y = X.iloc[chosen], np.asarray(y)[chosen]
    network = MLPRegressor(
        hidden_layer_sizes=(48, 24), learning_rate_init=0.01, max_iter=40, random_state=0
    )
    model = make_pipeline(StandardScaler(), network).fit(X, y)
    return model, X, n2p.convert(model, 2, data=X), n2p.convert(model, 2, data=X, regions=8)


def drawings(model, formula, X, features, pair):
    """List the plots that any formula has."""
    return [
        plots.diagonal(model, formula, X),
        plots.importance(formula, X=X),
        plots.effects(formula, features, X=X, model=model),
        plots.effects(formula, X=X),
        plots.interaction_surface(formula, *pair, X=X),
        plots.interaction_surface(formula, *pair[::-1], X=X),
        plots.waterfall(formula, X.iloc[[0]]),
        plots.waterfall(formula, X.iloc[[0]], X=X),
        plots.beeswarm(formula, X),
        plots.regions(formula),
        plots.region_map(formula, *pair, X=X),
    ]


@pytest.fixture(scope="module")
def rentals_drawn(bikes):
    """Draw the rough polynomial of the rentals (2) or that of regions (3), once."""
    model, X = bikes[:2]
    features, pair = ["hour", "temp", "workingday"], ("hour", "season")
    return cache(lambda which: [shown(a) for a in drawings(model, bikes[which], X, features, pair)])


def of_terms(poly, X):
    """List the plots of a polynomial alone."""
    return [plots.importance(poly), plots.heatmap(poly, X=X), plots.interaction_network(poly, X=X)]


def shown(axes):
    """Draw the figure of some axes; give it with its texts and where they stand."""
    figure = np.ravel(axes)[0].figure
    return figure, boxes(figure)


def boxes(figure):
    """Draw a figure; give its texts and where they stand."""
    figure.draw_without_rendering()
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes)]
    texts = [*figure.texts, *(text for axes in figure.axes for text in texts_of(axes))]
    texts += [text for each in legends if each is not None for text in each.get_texts()]
    texts = [text for text in texts if text.get_visible() and text.get_text()]
    return [(text.get_text(), text.get_window_extent()) for text in texts]


def texts_of(axes):
    """List the texts of Axes: titles, notes, and, where there are axes, their names and ticks."""
    titles = [each for each in axes.get_children() if isinstance(each, Text)]
    if not axes.axison:
        return titles
    found = [axes.xaxis.label, axes.yaxis.label]
    for axis, side in ((axes.xaxis, 0), (axes.yaxis, 1)):
        low, high = sorted(axis.get_view_interval())
        ticks = axis.get_ticklabels()
        found += [tick for tick in ticks if low <= tick.get_position()[side] <= high]
    return titles + found


def assert_legible(figure, texts):
    """Check that every text is in its figure, and that none covers another."""
    width, height = figure.bbox.size
    for text, box in texts:
        inside = box.x0 > -2 and box.y0 > -2 and box.x1 < width + 2 and box.y1 < height + 2
        assert inside, text
    for (one, first), (other, second) in combinations(texts, 2):
        # Type has some air around it.
        across = min(first.x1, second.x1) - max(first.x0, second.x0)
        up = min(first.y1, second.y1) - max(first.y0, second.y0)
        assert across < 2 or up < 3, (one, other)


def test_no_text_of_the_census_is_cut_off_or_covered(adult):
    model, X, poly = adult
    pair = ("age", "marital-status")
    for axes in [*drawings(model, poly, X, ["age", *LEVELS], pair), *of_terms(poly, X)]:
        assert_legible(*shown(axes))


@pytest.mark.parametrize("which", [2, 3])
def test_no_text_of_the_rentals_is_cut_off_or_covered(rentals_drawn, which):
    for figure, texts in rentals_drawn(which):
        assert_legible(figure, texts)


def test_levels_that_nobody_has_are_not_drawn(adult):
    """The encoder has one more for text that it does not know."""
    _, X, poly = adult
    assert any("(unseen)" in column.levels for column in poly.inputs.columns)
    for axes in (
        plots.effects(poly, "sex", X=X),
        plots.interaction_surface(poly, "sex", "relationship", X=X),
        plots.region_map(poly, "sex", "relationship", X=X),
        plots.region_map(poly, "sex", "relationship"),
    ):
        assert [label.get_text() for label in axes.get_xticklabels()] == ["Female", "Male"]


def test_a_husband_who_is_a_woman_is_blank(adult):
    _, X, poly = adult
    axes = plots.interaction_surface(poly, "sex", "relationship", X=X)
    mask = np.ma.getmaskarray(axes.collections[0].get_array())
    names = [label.get_text() for label in axes.get_yticklabels()]
    counts = X.groupby(["relationship", "sex"]).size().unstack(fill_value=0)
    np.testing.assert_array_equal(mask, counts.loc[names].to_numpy() == 0)
    assert mask.any()


@pytest.mark.parametrize("kind", ["raw", "probability"])
def test_dots_and_curves_are_the_partial_dependence_of_explain(adult, kind):
    _, X, poly = adult
    sex, age = plots.effects(poly, ["sex", "age"], X=X, kind=kind)
    found = n2p.explain.partial_dependence(poly, X, "sex", kind=kind)
    shown = [found.grid[0].tolist().index(level) for level in (0, 1)]
    np.testing.assert_allclose(sex.lines[0].get_ydata(), found.values[shown, 0], rtol=1e-9)
    curve = age.lines[0]
    at = n2p.explain.partial_dependence(poly, X, "age", grid=curve.get_xdata(), kind=kind)
    np.testing.assert_array_equal(curve.get_ydata(), at.values[:, 0])


def test_a_column_of_two_values_has_two_stripes_and_two_ticks(bikes):
    _, X, poly, _ = bikes
    axes = plots.interaction_surface(poly, "hour", "workingday", X=X)
    cells = axes.collections[0].get_array()
    assert cells.shape == (2, 80)
    grid = np.linspace(X["hour"].min(), X["hour"].max(), 80)
    values = np.unique(X["workingday"])
    found = n2p.explain.partial_dependence(poly, X, ["hour", "workingday"], grid=[grid, values])
    shown = ~np.ma.getmaskarray(cells)
    np.testing.assert_allclose(cells[shown], found.values[:, :, 0].T[shown])
    ticks = plots.effects(poly, "season", X=X).get_xticklabels()
    assert [label.get_text() for label in ticks] == ["0", "1", "2", "3"]


def test_numbers_below_zero_have_a_true_minus(bikes):
    _, X, _, pieces = bikes
    texts = [
        text
        for axes in (
            plots.waterfall(pieces, X.iloc[[0]]),
            plots.waterfall(pieces, X.iloc[[0]], X=X),
            plots.region_map(pieces, "hour", "workingday", X=X),
            plots.regions(pieces),
        )
        for text, _ in boxes(axes.figure)
    ]
    assert [text for text in texts if re.search(r"-\d", text)] == []
    assert any("−" in text for text in texts)


def test_a_curve_that_is_held_at_its_edge_says_so(bikes):
    _, X, poly, _ = bikes
    wider = X.assign(temp=1.3 * X["temp"])
    temp, season = plots.effects(poly, ["temp", "season"], X=wider)
    bounds = poly.inputs.coordinates[poly.feature_names.index("temp")].function
    x, curve = temp.lines[0].get_xdata(), temp.lines[0].get_ydata()
    assert (x > bounds.high).sum() > 5
    assert np.ptp(curve[x > bounds.high]) == pytest.approx(0.0, abs=1e-9)
    assert f"held within −{abs(bounds.low):.3g} … {bounds.high:.3g}" in temp.get_xlabel()
    assert season.get_xlabel() == "season"
    assert "held" not in plots.effects(poly, "humidity", X=X).get_xlabel()


def test_every_figure_of_a_rough_formula_says_so(bikes, rentals_drawn):
    _, _, poly, pieces = bikes
    assert poly.card.verdict.grade in ("rough", "not faithful")
    assert pieces.card.verdict.grade not in ("rough", "not faithful")
    for which, expected in ((2, 1), (3, 0)):
        for _, texts in rentals_drawn(which):
            told = [text for text, _ in texts if "follow its network" in text or "roughly" in text]
            assert len(told) == expected


def test_arguments_in_the_wrong_order_are_explained(adult):
    _, X, poly = adult
    with pytest.raises(InvalidInputError, match=r"effects\(poly, X=X\)"):
        plots.effects(poly, X)
    for draw in (plots.effects, plots.beeswarm, plots.waterfall):
        with pytest.raises(InvalidInputError, match="where: poly"):
            draw(X, poly)


def test_a_rule_of_many_levels_names_one_and_counts_the_others(adult):
    poly = adult[2]
    names = [column.name for column in poly.inputs.columns]
    at, levels = names.index("marital-status"), (0, 1, 2, 4)
    tree = Split(at, levels=levels, left=Leaf(0), right=Leaf(1))
    axes = plots.regions(n2p.PiecewisePolynomial(tree, (poly, poly)))
    rules = [text.get_text() for text in axes.texts[:2]]
    assert rules == ["marital-status\nis Divorced…3 more", "marital-status\nis Married-…3 more"]
