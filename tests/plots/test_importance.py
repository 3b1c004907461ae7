"""Bars: their lengths, order, signs, units, and the whiskers of an ensemble."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text

import nn2poly as n2p
from nn2poly import plots
from nn2poly.errors import InvalidInputError
from nn2poly.formula.importance import ranking
from nn2poly.plots.labels import term_label
from nn2poly.plots.style import NEGATIVE, POSITIVE


def widths(axes):
    return np.array([bar.get_width() for bar in axes.patches])


def labels(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


def whiskers(axes):
    (bars,) = axes.containers[1].lines[2]
    return np.array([(end[0] - begin[0]) / 2 for begin, end in bars.get_segments()])


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_bars_are_the_largest_absolute_coefficients_in_order(poly):
    expected = [abs(row[2]) for row in poly.top(7)]
    axes = plots.importance(poly, 7)
    np.testing.assert_allclose(widths(axes), expected)
    assert axes.yaxis_inverted()


def test_names_belong_to_their_bars():
    poly = n2p.Polynomial.from_terms(
        ["b^2", "a b", "a", "1", "a^2 b"], [0.5, -3.0, 1.0, 99.0, 2.0], ["a", "b"]
    )
    axes = plots.importance(poly)
    assert labels(axes) == ["a × b", "a² × b", "a", "b²"]
    np.testing.assert_allclose(widths(axes), [3.0, 2.0, 1.0, 0.5])


def test_colours_and_signs_tell_positive_from_negative():
    poly = n2p.Polynomial([[1.0], [2.0], [-3.0]], 1, ["rm", "lstat"])
    axes = plots.importance(poly)
    assert [to_hex(bar.get_facecolor()).upper() for bar in axes.patches] == [NEGATIVE, POSITIVE]
    assert [text.get_text() for text in axes.texts] == ["−", "+"]
    assert legend(axes.figure) == ["positive", "negative"]


def test_the_intercept_takes_part_only_when_asked(poly):
    assert "intercept" not in labels(plots.importance(poly, 100))
    assert "intercept" in labels(plots.importance(poly, 100, intercept=True))


def test_terms_that_are_zero_are_left_out_and_a_constant_says_so():
    axes = plots.importance(n2p.Polynomial([[1.0], [0.0], [4.0]], 1, ["a", "b"]))
    assert labels(axes) == ["b"]
    constant = plots.importance(n2p.Polynomial([[1.0], [0.0]], 1, ["a"]))
    assert [text.get_text() for text in constant.texts] == ["no term varies"]
    constant.figure.canvas.draw()


def test_with_data_bars_are_the_deviations_of_the_contributions(poly, rows):
    expected = poly.contributions(rows)[:, :, 0].std(axis=0)
    axes = plots.importance(poly, 9, X=rows)
    np.testing.assert_allclose(widths(axes), np.sort(expected)[::-1][:9], rtol=1e-9)
    assert axes.get_xlabel() == "standard deviation of the contribution\nover X"
    order = [poly.terms[i] for i in np.argsort(-expected)[:9]]
    signs = ["−" if poly.coefficient(term) < 0 else "+" for term in order]
    assert [text.get_text() for text in axes.texts] == signs


def test_with_data_the_units_of_the_inputs_do_not_matter(poly, rows):
    """The same polynomial of centimetres instead of metres has the same bars."""
    other = n2p.Polynomial(
        poly.coefficients, 3, poly.feature_names, center=100 * poly.center, scale=100 * poly.scale
    )
    np.testing.assert_allclose(
        widths(plots.importance(other, X=100 * rows)), widths(plots.importance(poly, X=rows))
    )


def test_a_column_that_does_not_vary_has_no_bar_with_data():
    poly = n2p.Polynomial([[1.0], [2.0], [-3.0]], 1, ["a", "b"])
    assert labels(plots.importance(poly, X=[[1.0, 3.0], [2.0, 3.0]])) == ["a"]


def test_deviations_that_a_polynomial_keeps_are_its_bars(poly):
    kept = np.arange(float(poly.n_terms))[:, None]
    axes = plots.importance(replace(poly, deviations=kept), 3)
    np.testing.assert_allclose(widths(axes), kept[-1:-4:-1, 0])
    assert axes.get_xlabel() == "standard deviation of the contribution\non the sample"


def test_bars_beeswarm_and_ranking_agree_on_what_matters(poly, rows):
    assert labels(plots.importance(poly, 8, X=rows)) == labels(plots.beeswarm(poly, rows, n=8))
    places = ranking(poly, rows).places(8, 0).tolist()
    first = [term_label(poly.terms[i], poly.feature_names) for i in places]
    assert labels(plots.importance(poly, 8, X=rows)) == first


def test_an_ensemble_is_ranked_by_its_mean_on_the_data(ensemble, rows):
    together = n2p.explain.ensemble(ensemble, center=ensemble[0].center, scale=ensemble[0].scale)
    X = rows[:, : together.mean.n_features]
    size = together.mean.contributions(X)[:, :, 0].std(axis=0)
    places = np.argsort(-size)[:6]
    axes = plots.importance(ensemble, 6, X=X)
    np.testing.assert_allclose(widths(axes), size[places], rtol=1e-9)
    ratio = together.std[places, 0] / np.abs(together.mean.coefficients[places, 0])
    np.testing.assert_allclose(whiskers(axes), size[places] * ratio, rtol=1e-9)


def test_the_axis_says_in_which_units_the_coefficients_are(poly):
    assert plots.importance(poly.rebase()).get_xlabel().endswith("per raw unit")
    around = poly.rebase(center=poly.center)
    assert plots.importance(around).get_xlabel().endswith("per raw unit around .center")
    assert plots.importance(poly).get_xlabel().endswith("per unit of (x − center) / scale")


def test_a_frame_is_matched_by_its_columns(poly, rows):
    import pandas as pd

    frame = pd.DataFrame(rows, columns=poly.feature_names)[list(poly.feature_names)[::-1]]
    np.testing.assert_allclose(
        widths(plots.importance(poly, X=frame)), widths(plots.importance(poly, X=rows))
    )


def test_seven_outputs_are_seven_panels_each_with_its_own_terms(seven):
    panels = plots.importance(seven, 4)
    assert panels.shape == (7,)
    for k, axes in enumerate(panels):
        np.testing.assert_allclose(widths(axes), [abs(r[2 + k]) for r in seven.top(4, k)])
        assert axes.get_title(loc="left") == f"y{k + 1} (logit)"


def test_an_ensemble_gives_means_and_sample_standard_deviations(ensemble):
    names = ensemble[0].term_names()
    values = np.array(
        [
            [
                dict(zip(p.term_names(), p.coefficients[:, 0], strict=True)).get(n, 0.0)
                for n in names
            ]
            for p in ensemble
        ]
    )
    mean, deviation = values.mean(axis=0), values.std(axis=0, ddof=1)
    order = np.argsort(-np.abs(mean[1:]))[:10] + 1
    axes = plots.importance(ensemble, 10)
    np.testing.assert_allclose(widths(axes), np.abs(mean[order]))
    np.testing.assert_allclose(whiskers(axes), deviation[order])
    assert legend(axes.figure)[-1] == "mean ± SD of 5 networks"
    assert axes.get_xlabel().startswith("absolute coefficient")


def test_members_in_other_coordinates_and_orders_are_the_same_polynomials(ensemble):
    moved = [ensemble[0], *(p.rebase(1.0, 2.0) for p in ensemble[1:])]
    same = plots.importance(moved, 8)
    np.testing.assert_allclose(widths(same), widths(plots.importance(ensemble, 8)), rtol=1e-9)
    low = n2p.Polynomial([[0.0], [1.0]], 1, ["t"])
    high = n2p.Polynomial([[0.0], [3.0], [5.0]], 2, ["t"])
    np.testing.assert_allclose(widths(plots.importance([low, high])), [2.5, 2.0])


def test_the_legend_touches_neither_bars_nor_titles(seven):
    """Neither in a figure of its own nor on given Axes."""
    given = Figure(figsize=(3.5, 2.5), layout="constrained").add_subplot()
    for axes in (np.ravel(plots.importance([seven, seven], 6))[0], given):
        if axes is given:
            plots.importance(seven, 6, output=0, ax=given)
        axes.figure.draw_without_rendering()
        marks = axes.get_legend() or axes.figure.legends[0]
        box = marks.get_window_extent()
        others = [*axes.patches, *axes.findobj(lambda a: isinstance(a, Text) and a.get_text())]
        others = [each for each in others if each not in marks.get_texts()]
        assert not any(box.overlaps(each.get_window_extent()) for each in others)


def test_one_member_has_no_whiskers(poly):
    assert len(plots.importance([poly], 5).containers) == 1


def test_polynomials_that_do_not_go_together_are_refused(poly, seven):
    with pytest.raises(InvalidInputError, match="not of the same features"):
        plots.importance([poly, seven])
    other = n2p.Polynomial(poly.coefficients, 3, poly.feature_names, ["rent"])
    with pytest.raises(InvalidInputError, match="output names differ"):
        plots.importance([poly, other])
    with pytest.raises(InvalidInputError, match="no polynomial"):
        plots.importance([])


def test_a_sparse_polynomial_of_500_features_is_drawn(make_polynomial):
    sparse = make_polynomial(12, 500, 2).prune(30)
    axes = plots.importance(sparse)
    np.testing.assert_allclose(widths(axes), [abs(row[2]) for row in sparse.top(20)])
