"""The command line speaks its own language, and reports no false accuracy."""

from __future__ import annotations

import json
import sys

import numpy as np
import onnx
import pandas as pd
import pytest
from onnx import TensorProto, helper

from nn2poly.cli import app
from nn2poly.cli.options import values
from nn2poly.cli.wording import at_command_line

rng = np.random.default_rng(0)
W = rng.normal(size=(3, 3)).astype("float32")
NAMES = np.array(["low", "mid", "top"])


@pytest.fixture
def logits(tmp_path, monkeypatch):
    """Work beside a classifier that gives logits, and a table with labels of several kinds."""
    monkeypatch.chdir(tmp_path)
    weights = helper.make_tensor("w", TensorProto.FLOAT, (3, 3), W.ravel())
    tables = [
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ("n", 3))] for name in ("x", "y")
    ]
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    graph = helper.make_graph([node], "g", *tables, [weights])
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), "model.onnx")
    X = rng.normal(size=(90, 3))
    k = (X @ W).argmax(1)
    frame = pd.DataFrame(X, columns=list("abc")).assign(number=k, first=k + 1, name=NAMES[k])
    frame.assign(holes=frame["name"].where(frame.index % 3 > 0)).to_csv("rows.csv", index=False)
    return tmp_path


def arguments(target, *others):
    rest = {"number", "first", "name", "holes"} - {target}
    drop = [part for name in sorted(rest) for part in ("--drop", name)]
    options = ("-d", "rows.csv", "-t", target, "--order", "1", "--link", "softmax", "--force")
    return ("convert", "model.onnx", *options, *drop, *others)


def test_labels_of_the_model_are_scored(logits, call_json):
    scores = call_json(*arguments("number"))["scores"]
    assert scores == {"measure": "accuracy", "network": 1.0, "polynomial": 1.0}


@pytest.mark.parametrize(("target", "said"), [("first", "1,2,3"), ("name", "low,mid,top")])
def test_other_labels_give_no_accuracy_until_they_are_named(target, said, logits, call_json):
    answer = call_json(*arguments(target))
    assert answer["scores"] is None
    (note,) = [text for text in answer["notes"] if "no accuracy" in text]
    assert f"--classes {said}" in note
    named = call_json(*arguments(target, "--classes", said))
    assert named["scores"]["network"] == 1.0
    assert named["classes"] == said.split(",")


def test_rows_without_a_target_are_not_errors(logits, call_json):
    answer = call_json(*arguments("holes", "--classes", "low,mid,top"))
    assert answer["scores"]["network"] == 1.0
    assert any("30 rows without a target" in text for text in answer["notes"])


def test_predict_says_what_the_columns_of_a_classifier_are(logits, call_json):
    call_json(*arguments("number"))
    raw = call_json("predict", "poly.json", "-d", "rows.csv")
    assert any("raw scores" in text and "--proba" in text for text in raw["notes"])
    notes = call_json("predict", "poly.json", "-d", "rows.csv", "--proba")["notes"]
    assert not any("raw scores" in text for text in notes)


@pytest.mark.parametrize(
    ("python", "words"),
    [
        ("pass data=X, for example the training inputs", "add --data train.csv"),
        ('choose link="softmax"; or convert(f, 2, data=X)', "choose --link softmax"),
        ('missing="skip" leaves them out', "--skip-missing leaves them out"),
        ('name them: transforms={"income": "curve"}', "name them: --transforms income=curve"),
        ("pass model.predict to fit its outputs instead", None),
        (None, None),
    ],
)
def test_remedies_are_words_of_the_command_line(python, words):
    assert at_command_line(python) == words


def test_a_remedy_names_an_option(logits, call):
    result = call("convert", "model.onnx", "--order", "auto", code=1)
    assert "--data" in result.stderr
    assert "data=X" not in result.stderr


def test_a_usage_error_is_json_too(logits, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["nn2poly", "convert", "model.onnx", "--ordr", "2", "--json"])
    with pytest.raises(SystemExit) as caught:
        app.run()
    assert caught.value.code == 2
    document = json.loads(capsys.readouterr().out)
    assert document["exit_code"] == 2
    assert "--ordr" in document["error"]["what"]


def test_values_are_completed():
    assert values("auto", "taylor")("t") == ["taylor"]
