"""Plots of terms put the levels of a factor together: single levels are a matter of coding."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex

from nn2poly import Polynomial, plots
from nn2poly.inputs import Column, Inputs
from nn2poly.plots.style import BLUE, GREY, NEGATIVE

INPUTS = Inputs((Column("age"), Column.factor("job", ["clerk", "nurse"])))
TERMS = [(), (0,), (1,), (2,), (0, 1), (0, 2)]
ROWS = np.array([[1.0, 1, 0], [2.0, 0, 1], [3.0, 1, 0], [-1.0, 0, 1]])


@pytest.fixture
def poly():
    values = [[1.0], [2.0], [3.0], [-4.0], [0.6], [0.8]]
    return replace(Polynomial.from_terms(TERMS, values, INPUTS.feature_names), inputs=INPUTS)


def labels(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_a_waterfall_without_rows_goes_by_column(poly):
    ax = plots.waterfall(poly, [2.0, 0.0, 1.0])
    assert (labels(ax)[0], labels(ax)[-1]) == ("intercept", "prediction")
    steps = dict(zip(labels(ax)[1:-1], (bar.get_width() for bar in ax.patches), strict=True))
    assert steps == pytest.approx({"age = 2": 4.0, "job = nurse": -4.0, "age × job": 1.6})


def test_importance_goes_by_column_with_rows_and_without(poly):
    ax = plots.importance(poly)
    bars = dict(zip(labels(ax), (bar.get_width() for bar in ax.patches), strict=True))
    assert bars == pytest.approx({"job": 5.0, "age": 2.0, "age × job": 1.0})
    ax = plots.importance(poly, X=ROWS)
    bars = dict(zip(labels(ax), (bar.get_width() for bar in ax.patches), strict=True))
    both = ROWS[:, 0] * (0.6 * ROWS[:, 1] + 0.8 * ROWS[:, 2])
    alone = 3.0 * ROWS[:, 1] - 4.0 * ROWS[:, 2]
    expected = {"job": alone.std(), "age": 2 * ROWS[:, 0].std(), "age × job": both.std()}
    assert bars == pytest.approx(expected)


def test_a_shift_of_all_levels_moves_no_bar_over_rows(poly):
    shifted = poly.coefficients.copy()
    shifted[0] -= 7.0
    shifted[2:4] += 7.0
    widths = [
        [bar.get_width() for bar in plots.importance(each, X=ROWS).patches]
        for each in (poly, replace(poly, coefficients=shifted))
    ]
    assert widths[0] == pytest.approx(widths[1])


def test_a_heatmap_has_one_row_for_a_factor_and_its_products_have_no_sign(poly):
    ax = plots.heatmap(poly)
    assert sorted(labels(ax)) == ["age", "job"]
    signed, grey = (image.get_array() for image in ax.images)
    assert signed.compressed().tolist() == [0.0]  # age², which has a sign, and is not there
    assert grey.compressed() == pytest.approx([1.0])  # neither twice nor of a factor with itself
    assert "grey: factors" in ax.get_title(loc="left")


def test_a_network_of_interactions_has_one_dot_for_a_factor_and_grey_lines(poly):
    ax = plots.interaction_network(poly)
    assert [text.get_text() for text in ax.texts] == ["age", "job"]
    assert [line.get_color() for line in ax.lines] == [GREY]
    assert [to_hex(color).upper() for color in ax.collections[0].get_facecolors()] == [BLUE, GREY]
    assert "grey: factors" in ax.get_title(loc="left")


def test_signs_are_kept_where_there_are_no_factors():
    plain = Polynomial([[0.0], [1.0], [2.0], [0.0], [-3.0], [0.5]], 2, ["rm", "lstat"])
    ax = plots.interaction_network(plain)
    assert [line.get_color() for line in ax.lines] == [NEGATIVE]
    assert "grey" not in ax.get_title(loc="left")
    assert len(plots.heatmap(plain).images) == 1
