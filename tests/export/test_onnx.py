"""ONNX models, run by onnxruntime."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest

from nn2poly import export
from nn2poly.errors import InvalidInputError, StorageError
from nn2poly.formula.polynomial import Polynomial


def run(path, X):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(["Y"], {"X": X})[0]


def test_the_model_gives_the_predictions(case, close, tmp_path):
    poly, X, Y = case
    path = export.onnx(poly, tmp_path / "poly.onnx")
    close(run(path, X), Y)
    close(run(path, X[:1]), poly.predict(X[:1]).reshape(1, -1))


def test_a_division_is_not_fused_into_single_precision(tmp_path):
    poly = Polynomial([[1.0], [2.0], [3.0]], 2, ["t"], center=20.0, scale=5.0)
    assert run(export.onnx(poly, tmp_path / "p.onnx"), np.array([[25.0]])).item() == 6.0


def test_very_sparse_ones_are_not_filled_up(make, close, tmp_path):
    poly, X, Y = make["rows"](make["sparse"](3, 300, 5, 40, 2))
    path = export.onnx(poly, tmp_path / "poly.onnx")
    close(run(path, X), Y)
    assert path.stat().st_size < 30_000


def test_the_largest_of_the_paper_is_exact_and_small(make, close, tmp_path):
    poly, X, Y = make["rows"](make["dense"](1, 54, 3, 7), 200)
    path = export.onnx(poly, tmp_path / "poly.onnx")
    close(run(path, X), Y, 1e-12)
    assert path.stat().st_size < 6_000_000


def test_names_opset_and_link_are_in_the_metadata(awkward, tmp_path):
    poly, _, _ = awkward
    model = onnx.load(export.onnx(poly, tmp_path / "poly.onnx"))
    notes = {entry.key: json.loads(entry.value) for entry in model.metadata_props}
    assert tuple(notes["feature_names"]) == poly.feature_names
    assert tuple(notes["output_names"]) == poly.output_names
    assert (notes["link"], notes["opset"]) == ("identity", model.opset_import[0].version)
    assert model.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.DOUBLE


def test_nothing_is_left_of_a_file_that_cannot_be_written(tmp_path):
    poly = Polynomial([[1.0], [2.0]], 1, ["t"])
    with pytest.raises(StorageError, match="nothing was changed"):
        export.onnx(poly, tmp_path / "missing" / "poly.onnx")
    assert list(tmp_path.iterdir()) == []


def test_an_older_file_is_replaced_whole(tmp_path):
    path = tmp_path / "poly.onnx"
    path.write_text("old")
    assert export.onnx(Polynomial([[1.0], [2.0]], 1, ["t"]), str(path)) == path
    assert run(path, np.array([[3.0]])).tolist() == [[7.0]]
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_beyond_two_gigabytes_is_refused(monkeypatch):
    poly = Polynomial(np.ones((10, 1)), 2, ["a", "b", "c"])
    monkeypatch.setattr("nn2poly.export.onnx_model.MAX_BYTES", 10)
    with pytest.raises(InvalidInputError, match="too large for one ONNX file"):
        export.onnx(poly, "never.onnx")
