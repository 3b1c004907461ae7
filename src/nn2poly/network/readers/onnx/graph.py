"""The operations of an ONNX model as plain Python: nodes, who makes which tensor, attributes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from nn2poly.errors import StorageError, UnsupportedModelError
from nn2poly.network.readers.onnx.tensors import Array, decode
from nn2poly.network.readers.refusals import as_reason, why

# Operators changed their meaning often before this version of the standard (2017).
OLDEST_OPSET = 7
ML_DOMAIN = "ai.onnx.ml"
MAIN_DOMAINS = ("", "ai.onnx")
# AttributeProto.type → field, for the kinds that are read; graphs and others are not.
ATTRIBUTE_FIELDS = {1: "f", 2: "i", 3: "s", 4: "t", 6: "floats", 7: "ints", 8: "strings"}

# Their bodies use tensors of the graph that are not among their inputs.
CONTROL_FLOW = ("If", "Loop", "Scan")
# Of operations that only ONNX has in this form; the others are in `refusals`.
REASONS = {
    **dict.fromkeys(CONTROL_FLOW, "data-dependent control flow has no polynomial"),
    "Softmax": "it is read only at the end of the model, as the link of a classifier",
    "LogSoftmax": "it is read only at the end of the model, as the link of a classifier",
}
REMEDY = (
    "export the part that is a dense network on its own, or build it by hand: "
    "nn2poly.Network([nn2poly.Layer(weights, bias, 'tanh'), …])"
)


@dataclass(frozen=True, eq=False)
class Node:
    """One operation; ``op`` carries its domain unless that is ONNX's own."""

    op: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    index: int
    proto: Any

    @property
    def where(self) -> str:
        """Say which node this is."""
        return f'node "{self.name or self.outputs[0]}" ({self.op})'

    def attribute(self, name: str, kind: str, default: Any = None) -> Any:
        """Give an attribute whose field of the protocol is ``kind`` (``"f"``, ``"ints"``, …)."""
        for entry in self.proto.attribute:
            if entry.name == name:
                if ATTRIBUTE_FIELDS.get(entry.type) != kind:
                    self.refuse(f"its attribute {name} has an unexpected type")
                return getattr(entry, kind)
        return default

    def number(self, name: str, default: float) -> float:
        """Give a float attribute.

        Files keep float32; its shortest decimal is what the author of the model wrote.
        """
        value = self.attribute(name, "f")
        return default if value is None else float(str(np.float32(value)))

    def integer(self, name: str, default: int) -> int:
        """Give an integer attribute."""
        return int(self.attribute(name, "i", default))

    def text(self, name: str, default: str) -> str:
        """Give a string attribute."""
        value = self.attribute(name, "s")
        return default if value is None else value.decode("utf-8", "replace")

    def refuse(self, reason: str | None = None, remedy: str = REMEDY) -> NoReturn:
        """Raise the error that names this node."""
        raise UnsupportedModelError(
            f"The operation {self.op} cannot be read: "
            f"{reason or REASONS.get(self.op) or why(self.op)[0]}.",
            where=self.where,
            remedy=remedy,
        )

    def located(self, error: UnsupportedModelError) -> UnsupportedModelError:
        """Give an error of what this node does with its place."""
        return UnsupportedModelError(
            f"The operation {self.op} cannot be read: {as_reason(error)}.",
            where=self.where,
            expected=error.expected,
            found=error.found,
            remedy=error.remedy or REMEDY,
        )

    def damaged(self, found: str) -> NoReturn:
        """Raise the error of a file that contradicts itself."""
        raise StorageError(
            "The ONNX model is damaged: an operation does not fit what feeds it.",
            where=self.where,
            found=found,
            remedy="export the model again",
        )


class Graph:
    """The graph of an ONNX model.

    Attributes
    ----------
    nodes
        In the order of the file, which is an order of execution.
    inputs
        ``ValueInfoProto`` of each input that has no value of its own.
    outputs
        Names of the output tensors.
    producers
        Name of a tensor → the node that makes it.
    varying
        Names of the tensors that depend on the inputs.
    sizes
        Those of them that depend only on the shape of others.
    exporter
        Name of the program that wrote the model.
    """

    def __init__(self, model: Any) -> None:
        _check_model(model)
        proto, self.exporter = model.graph, model.producer_name
        self._tensors = {tensor.name: tensor for tensor in proto.initializer}
        self.nodes = [_node(entry, index) for index, entry in enumerate(proto.node)]
        self.inputs = [entry for entry in proto.input if entry.name not in self._tensors]
        self.outputs = [entry.name for entry in proto.output]
        _check_names([*self._tensors, *self.outputs, *(entry.name for entry in proto.input)])
        self.producers: dict[str, Node] = {}
        self.varying = {entry.name for entry in self.inputs}
        self.sizes: set[str] = set()
        self._known = self._tensors.keys() | self.varying
        functions = {(entry.domain, entry.name) for entry in model.functions}
        for node in self.nodes:
            self._register(node, functions)

    def producer(self, name: str) -> Node | None:
        """Give the node that makes a tensor, if a node does."""
        return self.producers.get(name)

    def initializer(self, name: str) -> Array | None:
        """Give the value stored under a name, if one is."""
        tensor = self._tensors.get(name)
        return None if tensor is None else decode(tensor, f'tensor "{name}"')

    def varying_inputs(self, node: Node) -> list[str]:
        """List the arguments of a node that depend on the model's inputs, with repetition."""
        return [name for name in arguments(node) if name in self.varying]

    def needed(self, targets: Iterable[str]) -> set[str]:
        """Give the tensors on which ``targets`` depend, themselves included."""
        found, stack = set(), list(targets)
        while stack:
            name = stack.pop()
            if name not in found:
                found.add(name)
                node = self.producer(name)
                stack += arguments(node) if node else []
        return found

    def _register(self, node: Node, functions: set[tuple[str, str]]) -> None:
        _check_names([*node.inputs, *node.outputs])
        made = set(filter(None, node.outputs))
        missing = [name for name in node.inputs if name and name not in self._known]
        if missing or made & self._known:
            node.damaged(
                f'it uses "{missing[0]}" before it is made' if missing else "a tensor made twice"
            )
        if (node.proto.domain, node.proto.op_type) in functions:
            node.refuse(
                "it is a function defined in the file",
                "inline it: pass onnx.inliner.inline_local_functions(onnx.load(path))",
            )
        self._known |= made
        self.producers |= dict.fromkeys(made, node)
        varying = self.varying_inputs(node)
        if varying or node.op in CONTROL_FLOW:
            self.varying |= made
        if varying and (node.op == "Shape" or self.sizes.issuperset(varying)):
            self.sizes |= made


def arguments(node: Node) -> list[str]:
    """List the tensors whose numbers a node needs: the like of CastLike is only a type."""
    used = node.inputs[:1] if node.op == "CastLike" else node.inputs
    return [name for name in used if name]


def _node(proto: Any, index: int) -> Node:
    attributes = [entry.name for entry in proto.attribute]
    _check_names([proto.op_type, proto.name, proto.domain, *attributes])
    domain = "" if proto.domain in MAIN_DOMAINS else f"{proto.domain}."
    outputs = tuple(proto.output) or ("",)
    return Node(domain + proto.op_type, proto.name, tuple(proto.input), outputs, index, proto)


def _check_names(names: Iterable[Any]) -> None:
    """Refuse names that are not text, which the protocol then gives as bytes."""
    strange = [name for name in names if not isinstance(name, str)]
    if strange:
        raise StorageError(
            "The ONNX model is damaged: a name is not text.",
            found=repr(strange[0])[:100],
            remedy="export the model again",
        )


def _check_model(model: Any) -> None:
    graph = model.graph
    if not graph.node or not graph.output:
        raise StorageError(
            "This is not an ONNX model, or an empty one.",
            expected="a graph with operations and outputs",
            found=f"{len(graph.node)} operations, {len(graph.output)} outputs",
            remedy="check that the file is complete and was written by an ONNX exporter",
        )
    versions = [int(e.version) for e in model.opset_import if e.domain in MAIN_DOMAINS]
    if max(versions, default=OLDEST_OPSET) < OLDEST_OPSET:
        raise UnsupportedModelError(
            "The ONNX model is too old.",
            expected=f"operators of version {OLDEST_OPSET} or later",
            found=f"version {max(versions)}",
            remedy=f"onnx.version_converter.convert_version(model, {OLDEST_OPSET})",
        )
    if graph.sparse_initializer:
        raise UnsupportedModelError(
            "The model holds sparse tensors.", remedy="export the model with dense weights"
        )
