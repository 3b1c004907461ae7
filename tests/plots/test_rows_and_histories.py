"""`waterfall`, `beeswarm`, `path`, `training`."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex

import nn2poly as n2p
from nn2poly import plots
from nn2poly.errors import InvalidInputError
from nn2poly.plots.style import NEGATIVE, POSITIVE
from nn2poly.training import PolynomialTracker


def labels(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


# --- waterfall -------------------------------------------------------------------------------


def test_bars_lead_from_the_intercept_to_the_prediction(poly, rows):
    axes = plots.waterfall(poly, rows[3], n=5)
    steps = np.array([bar.get_width() for bar in axes.patches])
    begins = np.array([bar.get_x() for bar in axes.patches])
    assert begins[0] == pytest.approx(poly.coefficient("1"))
    np.testing.assert_allclose(begins[1:], begins[:-1] + steps[:-1])
    assert begins[-1] + steps[-1] == pytest.approx(poly.predict(rows[3:4])[0])
    assert labels(axes)[0] == "intercept"
    assert labels(axes)[-2:] == ["29 other terms", "prediction"]


def test_bars_are_the_largest_contributions_coloured_by_sign(poly, rows):
    axes = plots.waterfall(poly, rows[3], n=6)
    values = poly.contributions(rows[3:4])[0, 1:, 0]
    largest = values[np.argsort(-np.abs(values))[:6]]
    np.testing.assert_allclose([bar.get_width() for bar in axes.patches[:6]], largest)
    colors = [to_hex(bar.get_facecolor()).upper() for bar in axes.patches[:6]]
    assert colors == [NEGATIVE if value < 0 else POSITIVE for value in largest]


def test_single_features_show_their_value():
    poly = n2p.Polynomial([[1.0], [2.0], [0.0], [0.0], [3.0], [0.0]], 2, ["rm", "lstat"])
    assert labels(plots.waterfall(poly, [1.5, -2.0])) == [
        *("intercept", "rm × lstat", "rm = 1.5", "prediction"),
    ]


def test_a_row_comes_as_list_array_series_or_frame(poly, rows):
    import pandas as pd

    frame = pd.DataFrame(rows, columns=poly.feature_names)[list(poly.feature_names)[::-1]]
    expected = [bar.get_width() for bar in plots.waterfall(poly, rows[3]).patches]
    for x in (rows[3].tolist(), rows[3:4], frame.iloc[3], frame.iloc[[3]]):
        found = [bar.get_width() for bar in plots.waterfall(poly, x).patches]
        np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("x", [[1.0], [[1.0] * 4] * 2, [np.nan] * 4, "row"])
def test_anything_but_one_row_is_refused(poly, x):
    with pytest.raises(InvalidInputError):
        plots.waterfall(poly, x)


def test_at_the_centre_nothing_contributes(poly):
    axes = plots.waterfall(poly, poly.center)
    assert labels(axes) == ["intercept", "prediction"]
    axes.figure.canvas.draw()


def test_29260_terms_and_seven_outputs_are_quick_enough_for_one_row(make_polynomial):
    poly = make_polynomial(14, 54, 3, 7)
    x = np.random.default_rng(0).normal(size=54)
    axes = plots.waterfall(poly, x, output="y7")
    end = axes.patches[-1].get_x() + axes.patches[-1].get_width()
    assert end == pytest.approx(poly.predict(x[None])[0, 6])


# --- beeswarm --------------------------------------------------------------------------------


def test_dots_are_the_contributions_of_the_terms_that_vary_most(poly, rows):
    axes = plots.beeswarm(poly, rows, n=6)
    values = poly.contributions(rows)[:, :, 0]
    order = np.argsort(-values.std(axis=0))[:6]
    for dots, place in zip(axes.collections, order, strict=True):
        np.testing.assert_allclose(dots.get_offsets()[:, 0], values[:, place])
    assert len(labels(axes)) == 6


def test_dots_stay_on_their_own_line(poly, rows):
    for line, dots in enumerate(plots.beeswarm(poly, rows).collections):
        assert np.abs(dots.get_offsets()[:, 1] - line).max() < 0.5


def test_colours_follow_the_value_of_the_feature(rows):
    poly = n2p.Polynomial.from_terms(["b"], [-1.0], ["a", "b", "c", "d"])
    shade = plots.beeswarm(poly, rows).collections[0].get_array()
    order = np.argsort(rows[:, 1])
    assert np.all(np.diff(shade[order]) >= 0)
    assert (shade.min(), shade.max()) == (0.0, 1.0)


def test_a_polynomial_that_does_not_vary_says_so():
    axes = plots.beeswarm(n2p.Polynomial([[1.0], [0.0]], 1, ["a"]), [[1.0], [2.0]])
    assert [text.get_text() for text in axes.texts] == ["no term varies"]
    axes.figure.canvas.draw()


def test_a_thousand_of_many_rows_are_drawn(rows, poly):
    many = np.vstack([rows] * 10)
    assert len(plots.beeswarm(poly, many).collections[0].get_offsets()) == 1000


# --- path ------------------------------------------------------------------------------------


def test_a_sparse_path_is_drawn_as_it_is_and_its_first_terms_are_listed(network, rows):
    poly = n2p.convert(network, 2, feature_names=["a", "b", "c", "d"])
    found = n2p.sparse_path(network, poly, rows, 8)
    axes = plots.path(found)
    np.testing.assert_allclose(axes.lines[0].get_ydata(), found.r2)
    assert axes.lines[0].get_xdata().tolist() == list(range(1, 9))
    listed = axes.texts[0].get_text().splitlines()
    assert listed[:2] == ["first to join:", "1  intercept"]
    joined = [row[1].replace(" ", " × ").replace("^2", "²") for row in found.table()[1:6]]
    assert [line[3:] for line in listed[2:7]] == joined


def test_the_orders_tried_by_auto_are_drawn(rows):
    net = n2p.Network([n2p.Layer([[1.0]] * 4, None, np.square), n2p.Layer([[1.0]])])
    card = n2p.convert(net, "auto", data=rows).card
    axes = plots.path(card.path)
    np.testing.assert_allclose(axes.lines[0].get_xdata(), [terms for _, terms, _ in card.path])
    assert [text.get_text() for text in axes.texts] == ["order 1", "order 2"]
    sizes = [f"{terms:,}" for _, terms, _ in card.path]
    assert [label.get_text() for label in axes.get_xticklabels()] == sizes


def test_a_fidelity_far_below_zero_leaves_the_frame():
    low, high = plots.path([(1, 5, -80.0), (2, 15, 0.9)]).get_ylim()
    assert -0.5 < low < 0
    assert high > 1


@pytest.mark.parametrize("path", [(), [], "path", None, [(1, 2)]])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(InvalidInputError, match="no path"):
        plots.path(path)


# --- training --------------------------------------------------------------------------------


def test_lines_are_the_coefficients_that_grew_largest(tracker):
    axes = plots.training(tracker, n=4, output="gain")
    values = tracker.coefficients[:, :, 0]
    size = np.abs(values).max(axis=0)
    size[0] = -1.0
    named = [line for line in axes.lines if not line.get_label().startswith("_")]
    for line, place in zip(named, np.argsort(-size)[:4], strict=True):
        np.testing.assert_allclose(line.get_ydata(), values[:, place])
        assert line.get_xdata().tolist() == tracker.steps.tolist()


def test_names_that_begin_with_an_underscore_are_in_the_legend(tracker):
    shown = [text.get_text() for text in plots.training(tracker, n=9).get_legend().get_texts()]
    assert len(shown) == 9
    assert any(text.strip() == r"_dose\$" for text in shown)


def test_outputs_of_a_training_are_chosen_by_name(tracker):
    axes = plots.training(tracker, output="loss")
    assert axes.get_ylabel().startswith("coefficient for loss")
    by_index = plots.training(tracker, output=1)
    np.testing.assert_allclose(axes.lines[-2].get_ydata(), by_index.lines[-2].get_ydata())


def test_a_training_that_diverged_is_drawn_as_far_as_it_went():
    weights = np.array([[0.0], [1.0], [2.0]])
    tracker = PolynomialTracker(lambda: [("linear", weights)], every=1, max_order=1)
    tracker.record()
    tracker._advance()
    weights[:] = np.nan
    tracker._advance()
    axes = plots.training(tracker)
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [2.0, 2.0, np.nan])
    axes.figure.canvas.draw()


def test_a_tracker_without_records_is_refused():
    with pytest.raises(InvalidInputError, match="Nothing has been recorded"):
        plots.training(PolynomialTracker(lambda: None))
