"""Apply the operations of an ONNX model to tensors, one after the other."""

from __future__ import annotations

import nn2poly.network.readers.symbolic.activations as shared
from nn2poly.errors import NN2PolyError, UnsupportedModelError
from nn2poly.network.readers.onnx.activations import ACTIVATIONS
from nn2poly.network.readers.onnx.affine import AFFINE, Args, constants, gather, tensor
from nn2poly.network.readers.onnx.constants import MISFITS, fold
from nn2poly.network.readers.onnx.curves import Curve
from nn2poly.network.readers.onnx.graph import Node
from nn2poly.network.readers.onnx.rearranging import REARRANGING, Thing, rearrange
from nn2poly.network.readers.symbolic import MisfitError, RowsLostError, Tensor, TensorBuilder


class Walk:
    """Applies operations to tensors; the builder collects the layers.

    Parameters
    ----------
    builder
        Of the network.
    end
        Index of the node that is the link of the outputs, and does nothing here.
    """

    def __init__(self, builder: TensorBuilder, end: int | None) -> None:
        self._builder, self._end = builder, end

    def apply(self, node: Node, args: Args, curve: Curve | None = None) -> list[Thing]:
        """Give the outputs of a node from its inputs, None where one is left out.

        With a curve, the node ends a group of operations that is this activation of the input.
        """
        try:
            return self._apply(node, args) if curve is None else [self._curve(node, args, curve)]
        except UnsupportedModelError as error:
            if isinstance(error, MisfitError) and not isinstance(error, RowsLostError):
                return node.damaged(error.found or error.what)
            raise error if error.where else node.located(error) from error
        except NN2PolyError:
            raise
        except MISFITS as error:
            return node.damaged(str(error))

    def _curve(self, node: Node, args: Args, curve: Curve) -> Tensor:
        x = tensor(args[0], node)
        return shared.scaled_inside(self._builder, x, curve.activation, curve.rate, curve.factor)

    def _apply(self, node: Node, args: Args) -> list[Thing]:
        tensors = [arg for arg in args if isinstance(arg, Tensor)]
        if not tensors:
            return [fold(node, constants(args, node))]
        if node.index == self._end:
            return [_end(node, tensors[0])]
        if node.op == "Gather" and not isinstance(args[0], Tensor):
            return [gather(self._builder, node, args)]
        if node.op in REARRANGING:
            rest = constants(args[1:], node)
            return [rearrange(tensor(args[0], node), node, rest)]
        if node.op in ACTIVATIONS:
            return [ACTIVATIONS[node.op](self._builder, node, args)]
        if node.op not in AFFINE:
            node.refuse()
        found = AFFINE[node.op](self._builder, node, args)
        return found if isinstance(found, list) else [found]


def _end(node: Node, x: Tensor) -> Tensor:
    """Leave the raw outputs before a link, after checking what it runs over."""
    if node.op != "Sigmoid" and x.full_shape[node.integer("axis", -1)] != x.value.width:
        node.refuse("it does not run over all outputs of a row")
    return x
