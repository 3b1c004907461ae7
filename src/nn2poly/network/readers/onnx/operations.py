"""Apply the operations of an ONNX model to values, one after the other."""

from __future__ import annotations

from nn2poly.errors import NN2PolyError
from nn2poly.network.builder import NetworkBuilder, Value
from nn2poly.network.readers.onnx.activations import ACTIVATIONS, activate
from nn2poly.network.readers.onnx.columns import Columns, Thing
from nn2poly.network.readers.onnx.constants import MISFITS, fold
from nn2poly.network.readers.onnx.curves import Curve
from nn2poly.network.readers.onnx.graph import Node
from nn2poly.network.readers.onnx.linear import LINEAR, Args, columns, constants, scaled
from nn2poly.network.readers.onnx.moves import MOVES, move

DENSE = ("Gemm", "MatMul")


class Walk:
    """Applies operations to values; the builder collects the layers.

    Parameters
    ----------
    builder
        Of the network.
    n_rows
        The number of rows for which the model was exported, if it is fixed.
    end
        Index of the node that is the link of the outputs, and does nothing here.

    Attributes
    ----------
    first
        The first value that meets a dense layer or an activation: the inputs as scaled.
    """

    def __init__(self, builder: NetworkBuilder, n_rows: int | None, end: int | None) -> None:
        self._builder, self._n_rows, self._end = builder, n_rows, end
        self.first: Value | None = None

    def apply(self, node: Node, args: Args) -> list[Thing]:
        """Give the outputs of a node from its inputs, None where one is left out."""
        try:
            return self._apply(node, args)
        except NN2PolyError:
            raise
        except MISFITS as error:
            return node.damaged(str(error))

    def curve(self, node: Node, base: Thing | None, curve: Curve) -> list[Thing]:
        """Apply an activation that was recognised in a group of operations."""
        x = columns(base, node)
        self._note(x)
        done = activate(self._builder, node, scaled(x, curve.rate), curve.activation)
        return [scaled(done, curve.factor)]

    def _apply(self, node: Node, args: Args) -> list[Thing]:
        values = [arg for arg in args if isinstance(arg, Columns)]
        if not values:
            return [fold(node, constants(args, node))]
        if node.index == self._end:
            return [_end(node, values[0])]
        if node.op in MOVES:
            rest = constants(args[1:], node)
            return [move(columns(args[0], node), node, rest, self._n_rows)]
        if node.op in DENSE or node.op in ACTIVATIONS:
            self._note(values[0])
        if node.op in ACTIVATIONS:
            return [ACTIVATIONS[node.op](self._builder, node, args)]
        if node.op not in LINEAR:
            node.refuse()
        found = LINEAR[node.op](node, args)
        return found if isinstance(found, list) else [found]

    def _note(self, x: Columns) -> None:
        self.first = self.first or x.value


def _end(node: Node, x: Columns) -> Columns:
    """Leave the raw outputs before a link, after checking what it runs over."""
    if node.op != "Sigmoid" and x.shape[node.integer("axis", -1)] != x.value.width:
        node.refuse("it does not run over all outputs of a row")
    return x
