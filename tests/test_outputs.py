"""Outputs know their names, classes and link, and come back from plain data."""

from __future__ import annotations

import json

import numpy as np
import pytest

from nn2poly.errors import InvalidInputError
from nn2poly.links import labels, probabilities
from nn2poly.outputs import Outputs

RAW = np.array([[0.5, -1.0, 2.0], [3.0, 0.0, -1.0]])


def refused(call):
    with pytest.raises(InvalidInputError) as caught:
        call()
    return caught.value


@pytest.mark.parametrize(
    ("names", "count", "expected"),
    [(None, 1, ("y",)), (None, 2, ("y1", "y2")), (["u", "v"], 2, ("u", "v"))],
)
def test_names_default_to_y_or_numbered_ys(names, count, expected):
    outputs = Outputs.of(names, count)
    assert (outputs.names, outputs.count, outputs.named) == (expected, count, names is not None)
    assert (outputs.classes, outputs.link) == (None, "identity")


@pytest.mark.parametrize(
    "names",
    ["ab", ["a"], ["a", "a"], ["a", ""], ["a", 1], {"a", "b"}],
    ids=lambda names: type(names).__name__ + str(len(names)),
)
def test_names_that_do_not_fit_are_refused(names):
    assert refused(lambda: Outputs.of(names, 2)).where == "output_names"


@pytest.mark.parametrize("link", ["probit", None, 5, ["softmax"]])
def test_an_unknown_link_is_refused(link):
    assert refused(lambda: Outputs.of(None, 1, link=link)).where == "link"
    assert refused(lambda: Outputs(("y",), link=link)).where == "link"


@pytest.mark.parametrize("link", ["sigmoid", "softmax"])
def test_probabilities_and_labels_are_those_of_the_link(link):
    classes = ("a", "b", "c")
    outputs = Outputs.of(None, 3, classes, link)
    np.testing.assert_array_equal(outputs.probabilities(RAW), probabilities(RAW, link))
    np.testing.assert_array_equal(outputs.labels(RAW), labels(RAW, link, classes))


def test_a_single_logit_chooses_between_two_classes():
    outputs = Outputs.of(None, 1, ["no", "yes"], "sigmoid")
    assert outputs.labels(np.array([[-1.0], [2.0]])).tolist() == ["no", "yes"]


def test_raw_outputs_have_names_alone():
    raw = Outputs.of(["u", "v"], 2, [0, 1], "softmax").raw()
    assert raw == Outputs.of(["u", "v"], 2)


def test_other_names_keep_everything_else():
    outputs = Outputs.of(None, 2, [0, 1], "softmax").renamed(["u", "v"])
    assert outputs == Outputs(("u", "v"), (0, 1), "softmax", named=True)
    refused(lambda: outputs.renamed(["u"]))


@pytest.mark.parametrize(
    "outputs",
    [
        Outputs.of(None, 2),
        Outputs.of(["u", "<v>"], 2, ("no", 1.5), "softmax"),
        Outputs.of(["é"], 1, (False, True), "sigmoid"),
    ],
    ids=str,
)
def test_plain_data_give_the_outputs_back(outputs):
    found = Outputs.from_dict(json.loads(json.dumps(outputs.to_dict())))
    assert found == outputs
    assert repr(found) == repr(outputs)


def test_numpys_classes_become_pythons_in_plain_data():
    data = Outputs.of(None, 1, np.array([0, 1]), "sigmoid").to_dict()
    assert [type(c) for c in data["classes"]] == [int, int]


GOOD = Outputs.of(["y"], 1).to_dict()


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        GOOD | {"more": 1},
        GOOD | {"names": "y"},
        GOOD | {"names": []},
        GOOD | {"names": [1]},
        GOOD | {"classes": "ab"},
        GOOD | {"classes": {"a": 1}},
        GOOD | {"classes": [["a"], ["b"]]},
        GOOD | {"link": None},
        GOOD | {"named": 1},
    ],
    ids=str,
)
def test_plain_data_that_make_no_outputs_are_refused(data):
    with pytest.raises((ValueError, InvalidInputError)):
        Outputs.from_dict(data)
