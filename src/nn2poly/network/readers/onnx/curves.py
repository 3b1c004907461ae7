"""Recognise activations that exporters spell out in elementary operations.

GELU is written ``x · ½ · (1 + erf(x / √2))``, SiLU ``x · sigmoid(x)``, and so on, with many
variants. Such a group of operations is a function of one variable, and is recognised by its
values: the whole group is run on a grid and compared with every activation of the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.network.activations import activation, activation_names
from nn2poly.network.readers.onnx.constants import ELEMENTWISE, elementwise
from nn2poly.network.readers.onnx.graph import Graph, Node, arguments
from nn2poly.network.readers.onnx.tensors import FLOATS, Array

# Operations that are nothing by themselves: only a group can be recognised.
ONLY_IN_GROUPS = ("Where", "Log", "Pow", "Abs", "Erf", "Sqrt", "Reciprocal")
# Operations of a group: the longest that exporters are known to write, GELU by tanh, has about
# a dozen with its casts; twice that, by taste.
LONGEST_GROUP = 24
# Steps of an eighth, wide enough to reach the ends of clipped curves such as ReLU6, and a few
# points off them; by taste.
GRID = np.concatenate([np.linspace(-12.0, 12.0, 193), [-0.31, -0.07, 0.03, 0.47]])
GRID.setflags(write=False)
# Exporters round √2 and its like to float32; GELU and its tanh form differ by 5e-4.
TOLERANCE = 2e-6


@dataclass(frozen=True)
class Curve:
    """A group of operations that is ``factor · activation(rate · base)``."""

    base: str
    activation: str
    factor: float
    rate: float


def is_group(graph: Graph, node: Node) -> bool:
    """Tell whether a node is no layer of its own and must be recognised as part of a group."""
    values = [name for name in graph.varying_inputs(node) if name not in graph.sizes]
    if node.op == "Mul":
        return len(values) > 1
    if node.op == "Div":
        return node.inputs[-1] in values
    return node.op in ONLY_IN_GROUPS and bool(values)


def recognise(graph: Graph, root: Node, constants: Mapping[str, Array]) -> Curve | None:
    """Find the activation that the group ending in ``root`` computes; None where there is none.

    The group grows backwards, the latest operation first, until it depends on a single tensor
    and its values are those of an activation.
    """
    group, bases = [root], set(graph.varying_inputs(root))
    while len(group) <= LONGEST_GROUP:
        if len(bases) == 1:
            curve = _match(group, bases, constants)
            if curve is not None:
                return curve
        latest = max(bases, key=lambda name: _index(graph, name))
        node = graph.producer(latest)
        if node is None or not _joins(node):
            break
        group.append(node)
        bases = (bases - {latest}) | set(graph.varying_inputs(node))
    return None


def _joins(node: Node) -> bool:
    if node.op == "Cast":
        return node.integer("to", 0) in FLOATS
    return node.op in ELEMENTWISE or node.op in ("Identity", "CastLike")


def _index(graph: Graph, name: str) -> int:
    node = graph.producer(name)
    return -1 if node is None else node.index


def _match(group: list[Node], bases: set[str], constants: Mapping[str, Array]) -> Curve | None:
    """Compare a group that depends on one tensor with the table."""
    (base,) = bases
    used = {name for node in group for name in arguments(node) if name in constants}
    if any(constants[name].size != 1 or constants[name].dtype.kind not in "fi" for name in used):
        return None
    scalars = {name: float(constants[name].ravel()[0]) for name in used}
    values = _run(group, {**scalars, base: GRID})
    rates = {1.0, *(rate for rate in scalars.values() if np.isfinite(rate) and rate != 0.0)}
    for name, rate, curve in _candidates(rates):
        factor = _ratio(values, curve)
        if factor is not None:
            return Curve(base, name, factor, rate)
    return None


def _run(group: list[Node], known: dict[str, Any]) -> Any:
    for node in sorted(group, key=lambda node: node.index):
        inputs = [known[name] for name in arguments(node)]
        passes = node.op in ("Identity", "Cast", "CastLike")
        known[node.outputs[0]] = inputs[0] if passes else elementwise(node, inputs)
    return known[group[0].outputs[0]]


def _candidates(rates: set[float]) -> Iterator[tuple[str, float, FloatArray]]:
    for rate in sorted(rates, key=lambda rate: abs(rate - 1.0)):
        for name in activation_names():
            if name != "linear":
                yield name, rate, activation(name)(rate * GRID)


def _ratio(values: Any, curve: FloatArray) -> float | None:
    """Give the number c with ``values = c · curve``, or None."""
    if np.shape(values) != GRID.shape or not np.isfinite(curve).all():
        return None
    place = int(np.argmax(np.abs(curve)))
    factor = float(values[place] / curve[place])
    bound = TOLERANCE * abs(factor) * (1.0 + np.abs(curve))
    if factor == 0.0 or not (np.abs(values - factor * curve) <= bound).all():
        return None
    return 1.0 if abs(factor - 1.0) < TOLERANCE else factor
