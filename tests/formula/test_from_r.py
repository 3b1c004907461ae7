"""Polynomials of the R package: what it writes is read, to the last digit."""

from __future__ import annotations

import json

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.errors import InvalidInputError

R = {"labels": [[0], [1], [2], [1, 1], [1, 2]], "values": [[1, 5], [2, 6], [3, 7], [4, 8], [9, 0]]}
X = np.random.default_rng(0).normal(size=(20, 2))


def expected(column):
    c = np.array(R["values"], float)[:, column]
    a, b = X.T
    return c[0] + c[1] * a + c[2] * b + c[3] * a * a + c[4] * a * b


def test_labels_count_from_one_and_zero_is_the_intercept():
    poly = n2p.from_r(R, feature_names=["a", "b"], output_names=["u", "v"])
    np.testing.assert_allclose(poly.predict(X), np.column_stack([expected(0), expected(1)]))
    assert poly.coefficient((0, 1), output="u") == 9.0


def test_terms_may_come_in_any_order():
    order = [4, 2, 0, 3, 1]
    mixed = {key: [values[k] for k in order] for key, values in R.items()}
    np.testing.assert_array_equal(n2p.from_r(mixed).coefficients, n2p.from_r(R).coefficients)


def unboxed():
    labels = [label[0] if len(label) == 1 else label for label in R["labels"]]
    return {"labels": labels, "values": [row[0] for row in R["values"]]}


LAYERS = {"layer_1": {"input": R, "output": R}, "layer_2": {"input": {}, "output": R}}


@pytest.mark.parametrize("form", [R, unboxed(), [R], LAYERS, {"a": 1, "output": R}])
def test_what_jsonlite_writes_is_read(form, tmp_path):
    path = tmp_path / "poly.json"
    path.write_text(json.dumps(form))
    poly = n2p.from_r(path)
    np.testing.assert_allclose(poly.predict(X).reshape(20, -1)[:, 0], expected(0))
    assert poly.feature_names == ("x1", "x2")
    poly.save(tmp_path / "ours.json")
    np.testing.assert_array_equal(n2p.load(tmp_path / "ours.json").coefficients, poly.coefficients)


def test_inputs_without_a_term_count():
    assert n2p.from_r(R, n_features=4).n_features == 4


WRONG = {
    "no values": {"labels": [[1]]},
    "too few": {"labels": [[0], [1]], "values": [[1.0]]},
    "twice": {"labels": [[1, 2], [2, 1]], "values": [[1.0], [2.0]]},
    "halves": {"labels": [[0.5]], "values": [[1.0]]},
    "zero among others": {"labels": [[0, 1]], "values": [[1.0]]},
    "not finite": {"labels": [[0]], "values": [[float("nan")]]},
    "text": {"labels": ["a"], "values": [[1.0]]},
    "nothing": [],
}


@pytest.mark.parametrize("name", WRONG)
def test_anything_else_is_refused(name):
    with pytest.raises(InvalidInputError, match="no polynomial of the R package") as caught:
        n2p.from_r(WRONG[name])
    assert "jsonlite" in caught.value.remedy


def test_files_of_other_kinds_are_refused(tmp_path):
    path = tmp_path / "poly.json"
    path.write_text("not json")
    with pytest.raises(InvalidInputError, match="R package"):
        n2p.from_r(path)
    with pytest.raises(n2p.NN2PolyError):
        n2p.from_r(tmp_path / "absent.json")
