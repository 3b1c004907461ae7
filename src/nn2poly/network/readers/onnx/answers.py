"""Ask an ONNX model itself, with onnxruntime where that is installed.

Only a graph all of whose operations the reader knows is run: a file may come from a stranger.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.network.readers.choosing import chosen_output
from nn2poly.network.readers.onnx.activations import ACTIVATIONS
from nn2poly.network.readers.onnx.affine import AFFINE
from nn2poly.network.readers.onnx.constants import FOLDS
from nn2poly.network.readers.onnx.outputs import LINKS
from nn2poly.network.readers.onnx.rearranging import REARRANGING

KNOWN = {*ACTIVATIONS, *AFFINE, *FOLDS, *REARRANGING, *LINKS}
# Types of inputs that rows of numbers are given in.
TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64}


def own_outputs(
    model: Any, X: FloatArray, _table: Any = None, output: str | int | None = None
) -> Any:
    """Run a model of one input, for one output; None for others, or without onnxruntime."""
    try:
        import onnxruntime
    except ImportError:
        return None
    import onnx

    proto = onnx.ModelProto.FromString(model) if isinstance(model, bytes) else model
    graph = proto.graph
    plain = all(_operation(node) in KNOWN for node in graph.node)
    names = [entry.name for entry in graph.output]
    if not plain or (len(names) != 1 and output is None):
        return None
    wanted = [names[chosen_output(names, output, "the ONNX model")]]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    (first, *others) = session.get_inputs()
    sizes = [size if isinstance(size, int) else None for size in first.shape]
    if others or first.type not in TYPES or first.type == "tensor(int64)" or not sizes:
        return None
    rows = X if sizes[0] is None else X[: sizes[0]]
    if sizes[0] not in (None, len(X)):  # exported for another number of rows
        return None
    shape = [len(rows), *(size or -1 for size in sizes[1:])]
    return session.run(wanted, {first.name: rows.reshape(shape).astype(TYPES[first.type])})[0]


def _operation(node: Any) -> str:
    """Name the operation of a node as the reader's tables do."""
    own = "" if node.domain in ("", "ai.onnx") else f"{node.domain}."
    return f"{own}{node.op_type}"
