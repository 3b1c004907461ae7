"""Links agree with their definitions, stay finite, and refuse what has no meaning."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from nn2poly.errors import InvalidInputError
from nn2poly.links import LINKS, labels, probabilities

RAW = np.random.default_rng(0).normal(scale=3.0, size=(50, 4))


def test_one_sigmoid_output_gives_both_classes_in_order():
    p = probabilities(RAW[:, :1], "sigmoid")
    assert p.shape == (50, 2)
    np.testing.assert_allclose(p[:, 1], special.expit(RAW[:, 0]), rtol=1e-15)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-15)


def test_several_sigmoid_outputs_give_one_probability_for_each_label():
    np.testing.assert_allclose(probabilities(RAW, "sigmoid"), special.expit(RAW), rtol=1e-15)


def test_softmax_agrees_with_scipy():
    np.testing.assert_allclose(probabilities(RAW, "softmax"), special.softmax(RAW, 1), rtol=1e-13)


@pytest.mark.parametrize("size", [1e4, 1e300, np.finfo(float).max, np.inf])
def test_huge_outputs_give_certainty_without_a_floating_point_error(size):
    raw = np.array([[size, -size], [-size, size]])
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(probabilities(raw, "softmax"), np.eye(2))
        np.testing.assert_array_equal(probabilities(raw, "sigmoid"), np.eye(2))
        np.testing.assert_array_equal(probabilities(raw[:, :1], "sigmoid"), [[0, 1], [1, 0]])


def test_equal_infinite_outputs_share_the_probability():
    np.testing.assert_array_equal(probabilities(np.full((1, 2), np.inf), "softmax"), [[0.5, 0.5]])


def test_the_small_probability_of_a_sure_binary_prediction_is_not_rounded_to_zero():
    p = probabilities(np.array([[100.0]]), "sigmoid")
    np.testing.assert_allclose(p[0, 0], np.exp(-100.0), rtol=1e-14)


def test_nan_outputs_give_nan_probabilities():
    raw = np.array([[np.nan, 1.0]])
    assert np.isnan(probabilities(raw, "softmax")).all()
    assert np.isnan(probabilities(raw, "sigmoid")).tolist() == [[True, False]]


@pytest.mark.parametrize(
    ("classes", "expected", "kind"),
    [
        (None, [0, 1, 0], "i"),
        (("no", "yes"), ["no", "yes", "no"], "U"),
        ((3, 7), [3, 7, 3], "i"),
        ((0.5, 1.5), [0.5, 1.5, 0.5], "f"),
        ((False, True), [False, True, False], "b"),
    ],
)
def test_binary_labels_take_the_second_class_above_zero(classes, expected, kind):
    found = labels(np.array([[-2.0], [0.1], [0.0]]), "sigmoid", classes)
    assert found.dtype.kind == kind
    assert found.tolist() == expected


def test_softmax_labels_take_the_class_of_the_largest_output():
    raw = np.array([[1.0, 3.0, 2.0], [9.0, 0.0, 0.0]])
    assert labels(raw, "softmax", ("a", "b", "c")).tolist() == ["b", "a"]
    assert labels(raw, "softmax", None).tolist() == [1, 0]


def test_multilabel_labels_are_a_matrix_of_zero_and_one():
    found = labels(np.array([[1.0, -1.0, 2.0]]), "sigmoid", None)
    assert found.dtype.kind == "i"
    assert found.tolist() == [[1, 0, 1]]


def test_classes_of_mixed_types_keep_their_types():
    assert labels(np.array([[-1.0], [1.0]]), "sigmoid", (1, "a")).tolist() == [1, "a"]


def test_labels_agree_with_the_largest_probability():
    for link in ("sigmoid", "softmax"):
        raw = RAW[:, :1] if link == "sigmoid" else RAW
        expected = probabilities(raw, link).argmax(axis=1)
        np.testing.assert_array_equal(labels(raw, link, None), expected)


@pytest.mark.parametrize(
    ("call", "noun"),
    [(probabilities, "probabilities"), (lambda raw, link: labels(raw, link, None), "labels")],
)
def test_a_regression_has_neither_probabilities_nor_labels(call, noun):
    with pytest.raises(InvalidInputError, match=f"regression has no {noun}") as caught:
        call(RAW, "identity")
    assert caught.value.found == "'identity'"
    assert "predict()" in caught.value.remedy


def test_an_unknown_link_is_refused_with_the_known_ones():
    with pytest.raises(InvalidInputError, match="Unknown output link") as caught:
        probabilities(RAW, "probit")
    assert all(link in caught.value.expected for link in LINKS)
    assert caught.value.found == "'probit'"


@pytest.mark.parametrize(("width", "link", "expected"), [(1, "sigmoid", 2), (4, "softmax", 4)])
def test_the_wrong_number_of_classes_is_refused(width, link, expected):
    with pytest.raises(InvalidInputError, match="classes do not match") as caught:
        labels(RAW[:, :width], link, ("a", "b", "c"))
    assert caught.value.expected == f"{expected} classes"
    assert caught.value.found == "3: 'a', 'b', 'c'"


@pytest.mark.parametrize("link", ["sigmoid", "softmax"])
def test_nan_outputs_have_no_label(link):
    raw = RAW.copy()
    raw[3, 1] = np.nan
    with pytest.raises(InvalidInputError, match="NaN has no label") as caught:
        labels(raw, link, None)
    assert caught.value.found == "NaN in 1 of 50 rows (the first is row 3)"
