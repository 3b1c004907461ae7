"""Find the raw outputs of an ONNX model: what comes before its link, labels and dictionaries.

Classifiers end in tails that are no part of the network: softmax, the larger probability, a
table of labels, one dictionary per row. scikit-learn's exporter writes several at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nn2poly.errors import StorageError, UnsupportedModelError
from nn2poly.network.readers.onnx.constants import constants_of
from nn2poly.network.readers.onnx.graph import ML_DOMAIN, Graph, Node
from nn2poly.outputs import output_names

LINKS = {"Sigmoid": "sigmoid", "Softmax": "softmax", "LogSoftmax": "softmax"}
# What may stand between the parts of a tail.
PASSING = ("Identity", "Cast", "Dropout")
SHAPING = (*PASSING, "Reshape", "Flatten", "Squeeze", "Unsqueeze")
SELECTING = ("Slice", "Gather", "Split", f"{ML_DOMAIN}.ArrayFeatureExtractor")
# Attributes with class labels, by kind of label.
ZIPMAP = {"classlabels_strings": "strings", "classlabels_int64s": "ints"}
KEYS = {"keys_int64s": "ints"}
VALUES = {"values_strings": "strings", "values_int64s": "ints", "values_floats": "floats"}

Classes = tuple[Any, ...]


@dataclass(frozen=True)
class Ending:
    """How an output follows from the raw outputs.

    Parameters
    ----------
    tensor
        What to compute.
    raw
        The tensor of raw outputs, by which several outputs are seen to be one.
    link
        From raw outputs to probabilities.
    end
        Index of the node of the link, which is left out of the computation.
    classes
        Labels, if the tail has them.
    part
        Whether the output is only a part of the probabilities.
    """

    tensor: str
    raw: str
    link: str = "identity"
    end: int | None = None
    classes: Classes | None = None
    part: bool = False

    def output_names(self, width: int) -> list[str] | None:
        """Name outputs by class; the one output of a binary classifier speaks for the second."""
        if self.classes is None:
            return None
        binary = self.link == "sigmoid" and width == 1
        if len(self.classes) != (2 if binary else width):
            raise StorageError(
                "The ONNX model is damaged: its labels do not match its outputs.",
                expected=f"{2 if binary else width} classes",
                found=f"{len(self.classes)} classes",
                remedy="export the model again",
            )
        return output_names(self.classes, width)


def find_ending(graph: Graph) -> Ending:
    """Find the one set of raw outputs of a model, and what its tails say about them."""
    endings = [_ending(graph, name) for name in graph.outputs]
    whole = [ending for ending in endings if not ending.part]
    if len({ending.raw for ending in endings}) > 1 or not whole:
        raise UnsupportedModelError(
            "The model has several outputs, or only some of its probabilities.",
            where=", ".join(f'output "{name}"' for name in graph.outputs[:10]),
            expected="one output, or labels and all probabilities of one classifier",
            found=f"{len(graph.outputs)} outputs that differ in what they are computed from",
            remedy="keep one: onnx.utils.extract_model(path, new_path, input_names, [output])",
        )
    chosen = next((ending for ending in whole if ending.link != "identity"), whole[0])
    classes = next((ending.classes for ending in endings if ending.classes is not None), None)
    return replace(chosen, classes=classes)


def _ending(graph: Graph, output: str) -> Ending:
    if graph.exporter == "skl2onnx":
        # It stacks the outputs of a regressor with several into one column.
        output = _peeled(graph, output, ("Reshape",))
    name, classes, labelled = _before_labels(graph, output)
    node = _maker(graph, name, SHAPING)
    selected = _selected(graph, node)
    if selected is not None:
        return replace(_ending(graph, selected), part=True)
    sigmoid = _sigmoid_of_pair(graph, node)
    if sigmoid is not None:
        raw = sigmoid.inputs[0]
        return Ending(raw, _peeled(graph, raw, PASSING), "sigmoid", classes=classes)
    if node is not None and node.op in LINKS and node.inputs:
        raw = _peeled(graph, node.inputs[0], PASSING)
        return Ending(name, raw, LINKS[node.op], node.index, classes)
    # The label of the largest output is that of the largest probability.
    link = "softmax" if labelled else "identity"
    return Ending(name, _peeled(graph, name, PASSING), link, classes=classes)


def _before_labels(graph: Graph, name: str) -> tuple[str, Classes | None, bool]:
    """Walk back over labels and dictionaries; give the classes found, and whether labels were."""
    classes: Classes | None = None
    labelled = False
    while True:
        node = _maker(graph, name, SHAPING)
        step = LABELS[node.op](graph, node) if node is not None and node.op in LABELS else None
        if node is None or step is None:
            return name, classes, labelled
        name, found = step
        classes = found if classes is None else classes
        labelled = labelled or node.op == "ArgMax"


def _peeled(graph: Graph, name: str, ops: Sequence[str]) -> str:
    """Give the tensor before a run of operations."""
    node = graph.producer(name)
    while node is not None and node.op in ops and node.inputs:
        name = node.inputs[0]
        node = graph.producer(name)
    return name


def _maker(graph: Graph, name: str, ops: Sequence[str]) -> Node | None:
    """Give the node before a run of operations."""
    return graph.producer(_peeled(graph, name, ops))


def _selected(graph: Graph, node: Node | None) -> str | None:
    """Give the probabilities of which a node selects some columns."""
    if node is None or node.op not in SELECTING or not node.inputs:
        return None
    source = _maker(graph, node.inputs[0], PASSING)
    is_link = source is not None and source.op in ("Softmax", "LogSoftmax")
    return node.inputs[0] if is_link or _sigmoid_of_pair(graph, source) else None


def _sigmoid_of_pair(graph: Graph, node: Node | None) -> Node | None:
    """Give the sigmoid p of a pair of columns (1 - p, p)."""
    if node is None or node.op != "Concat" or len(node.inputs) != 2:
        return None
    first, second = (_peeled(graph, name, PASSING) for name in node.inputs)
    rest, sigmoid = graph.producer(first), graph.producer(second)
    if rest is None or rest.op != "Sub" or len(rest.inputs) != 2:
        return None
    if sigmoid is None or sigmoid.op != "Sigmoid" or not sigmoid.inputs:
        return None
    one = constants_of(graph, graph.needed([rest.inputs[0]])).get(rest.inputs[0])
    same = _peeled(graph, rest.inputs[1], PASSING) == second
    return sigmoid if same and one is not None and np.array_equal(one.ravel(), [1]) else None


# ---- labels: (graph, node) → (what they are made from, classes), or None if it is no label ----


def _argmax(_graph: Graph, node: Node) -> tuple[str, Classes | None] | None:
    last = node.integer("axis", 0) in (1, -1)
    return (node.inputs[0], None) if last and node.inputs else None


def _binarizer(graph: Graph, node: Node) -> tuple[str, Classes | None] | None:
    source = _maker(graph, node.inputs[0], PASSING) if node.inputs else None
    half = source is not None and source.op == "Sigmoid" and node.number("threshold", 0.0) == 0.5
    return (node.inputs[0], None) if half else None


def _zipmap(_graph: Graph, node: Node) -> tuple[str, Classes | None] | None:
    return (node.inputs[0], _labels(node, ZIPMAP)) if node.inputs else None


def _label_encoder(_graph: Graph, node: Node) -> tuple[str, Classes | None] | None:
    keys, values = _labels(node, KEYS), _labels(node, VALUES)
    if not node.inputs or not keys or not values or sorted(keys) != list(range(len(values))):
        return None
    table = dict(zip(keys, values, strict=True))
    return node.inputs[0], tuple(table[key] for key in sorted(keys))


def _lookup(graph: Graph, node: Node) -> tuple[str, Classes | None] | None:
    """Read a table of classes, indexed by the number of the largest output."""
    if len(node.inputs) != 2 or node.inputs[0] in graph.varying:
        return None
    table = constants_of(graph, graph.needed(node.inputs[:1])).get(node.inputs[0])
    return None if table is None else (node.inputs[1], tuple(table.ravel().tolist()))


def _labels(node: Node, names: dict[str, str]) -> Classes | None:
    for name, kind in names.items():
        found = node.attribute(name, kind)
        if found:
            return tuple(x.decode("utf-8", "replace") if kind == "strings" else x for x in found)
    return None


LABELS: dict[str, Callable[[Graph, Node], tuple[str, Classes | None] | None]] = {
    "ArgMax": _argmax,
    "Gather": _lookup,
    f"{ML_DOMAIN}.ArrayFeatureExtractor": _lookup,
    f"{ML_DOMAIN}.Binarizer": _binarizer,
    f"{ML_DOMAIN}.LabelEncoder": _label_encoder,
    f"{ML_DOMAIN}.ZipMap": _zipmap,
}
