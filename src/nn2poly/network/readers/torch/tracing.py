"""From a PyTorch model to a `Program`: the graph of its operations, in evaluation mode.

torch.fx is tried first; what it cannot trace is exported, with an example of imagined rows.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import logging
import operator
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import Graph, Node, Proxy, Tracer

from nn2poly.errors import UnsupportedModelError
from nn2poly.network.readers.choosing import SeveralOutputsError
from nn2poly.network.readers.symbolic import ROWS
from nn2poly.network.readers.torch.skeleton import is_leaf, skeleton

REWRITE = (
    "write forward as a fixed sequence of layers, or convert the part of the model that is one, "
    "for example model.net"
)


@dataclass(frozen=True, eq=False)
class Program:
    """The operations of a model.

    Parameters
    ----------
    title
        The model's class.
    graph
        Its operations in order.
    root
        Holds the modules and tensors that the graph names.
    input
        The node that stands for the table of inputs.
    output
        The node of the result.
    constants
        Values of the other placeholders.
    row_shape, rows
        Shape of one row of inputs, none if unknown, and number of rows of the imagined batch.
    foreign
        The graph was made elsewhere, perhaps by a stranger: all of it is looked at.
    """

    title: str
    graph: Graph
    root: torch.nn.Module
    input: Node
    output: Node
    constants: dict[str, Any] = field(default_factory=dict)
    row_shape: tuple[int, ...] | None = None
    rows: int = ROWS
    foreign: bool = False


# ---- tracing ---------------------------------------------------------------------------------


class _InPlaceProxy(Proxy):
    """Records ``x += y`` as what it is; torch.fx would write ``x + y`` and forget the rest."""

    def __iadd__(self, other: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.iadd, (self, other), {})

    def __isub__(self, other: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.isub, (self, other), {})

    def __imul__(self, other: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.imul, (self, other), {})

    def __itruediv__(self, other: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.itruediv, (self, other), {})

    def __setitem__(self, key: Any, value: Any) -> None:
        self.tracer.create_proxy("call_function", operator.setitem, (self, key, value), {})


class _Tracer(Tracer):
    # A forward that writes to a buffer must not reach the user's tensor.
    proxy_buffer_attributes = True

    def is_leaf_module(self, m: torch.nn.Module, module_qualified_name: str) -> bool:  # noqa: ARG002
        return is_leaf(m)

    def proxy(self, node: Node) -> Proxy:
        return _InPlaceProxy(node, self)


def trace(module: torch.nn.Module) -> Program:
    """Trace a model with torch.fx; whatever its forward raises comes through."""
    root, unused = skeleton(module), skeleton(module)
    if isinstance(root, torch.fx.GraphModule):
        return _program(type(module).__name__, root, root.graph)
    if is_leaf(root):
        root, unused = torch.nn.Sequential(root), torch.nn.Sequential(unused)
    if _takes_any_number(root):
        raise TypeError("the first argument of forward is *args")
    others = list(inspect.signature(root.forward).parameters.values())[1:]
    defaults = {p.name: p.default for p in others if p.default is not p.empty}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # defaults that torch.fx cannot compare
        graph = _Tracer().trace(root, concrete_args=defaults or None)
    # A forward may have written to the traced skeleton; constants in it are kept there by fx.
    made = {name: value for name, value in vars(root).items() if name not in vars(unused)}
    vars(unused).update(made)
    return _program(type(module).__name__, unused, graph)


def _takes_any_number(module: torch.nn.Module) -> bool:
    first = next(iter(inspect.signature(module.forward).parameters.values()), None)
    return first is not None and first.kind is first.VAR_POSITIONAL


def _program(title: str, root: torch.nn.Module, graph: Graph) -> Program:
    first, *others = [node for node in graph.nodes if node.op == "placeholder"] or [None]
    required = [node.name for node in others if not node.args and node.target[0] != "*"]
    if first is None or required:
        names = [] if first is None else [first.name, *required]
        raise _several(title, "inputs", "one table of inputs", names)
    constants = {node.name: node.args[0] for node in others if node.args}
    constants |= {node.name: () for node in others if node.target[0] == "*"}
    constants |= {node.name: {} for node in others if node.target[:2] == "**"}
    (result,) = next(node for node in graph.nodes if node.op == "output").args
    return Program(
        title, graph, root, first, _single(title, result), constants, *_input_shape(first)
    )


def _input_shape(node: Node) -> tuple[tuple[int, ...] | None, int]:
    """Give the shape of one row, None if unknown, and the number of rows to imagine."""
    shape = getattr(node.meta.get("val"), "shape", ())
    if not shape:
        return None, ROWS
    return tuple(int(n) for n in shape[1:]), shape[0] if isinstance(shape[0], int) else ROWS


def _single(title: str, result: Any) -> Node:
    """Take the one result out of the containers around it."""
    while isinstance(result, dict | tuple | list) and len(result) == 1:
        (result,) = result.values() if isinstance(result, dict) else result
    if isinstance(result, Node):
        return result
    names = list(result) if isinstance(result, dict | tuple | list) else [result]
    raise _several(title, "outputs", "one tensor that depends on the inputs", names)


def _several(title: str, what: str, expected: str, names: list[Any]) -> UnsupportedModelError:
    call = "model(x[:, :3], x[:, 3:])" if what == "inputs" else f"model(x)[{names[0]!r}]"
    if what == "outputs" and not isinstance(names[0], str):
        call = "model(x)[0]"
    own = "choose one: output=0, or its name"
    if what == "inputs":
        own = f"pass the tables as they are: data=({', '.join(map(str, names))})"
    kind = SeveralOutputsError if what == "outputs" and len(names) > 1 else UnsupportedModelError
    return kind(
        f"The forward of {title} does not have one tensor as its {what}.",
        where=f"forward of {title}",
        expected=expected,
        found=", ".join(map(str, names)) or "none",
        remedy=f"{own}; wrap the model in a module that takes one table and gives out one; or "
        f"pass a function to fit its outputs instead: convert(lambda x: {call}, 2, data=X), "
        "X a tensor",
    )


# ---- exporting -------------------------------------------------------------------------------


def export(module: torch.nn.Module, row_shape: tuple[int, ...]) -> Program:
    """Trace a model with torch.export; whatever that raises comes through."""
    floating = (p for p in module.parameters() if p.is_floating_point())
    like = next(floating, torch.zeros(()))
    rows = torch.zeros((ROWS, *row_shape), dtype=like.dtype, device=like.device)
    shapes: Any = ({0: torch.export.Dim.DYNAMIC},)
    bare = skeleton(module)
    with _quiet():
        nested = (shapes,) if _takes_any_number(bare) else shapes
        try:
            exported = torch.export.export(bare, (rows,), dynamic_shapes=nested)
        except torch._dynamo.exc.UserError as error:
            if "Constraints violated" not in str(error):
                raise
            # A forward that looks at the number of rows; what was read is compared with it later.
            # The first try has marked the tensor itself.
            exported = torch.export.export(bare, (rows.clone(),))
    return exported_program(exported, type(module).__name__)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep torch.export from printing what it then raises."""
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)


def exported_program(exported: torch.export.ExportedProgram, title: str) -> Program:
    """Read the signature of an exported program."""
    nodes = {node.name: node for node in exported.graph.nodes}
    tensors = {**exported.state_dict, **exported.constants}
    constants, inputs = {}, []
    for spec in exported.graph_signature.input_specs:
        if spec.kind is not InputKind.USER_INPUT:
            constants[spec.arg.name] = tensors.get(spec.target)
        elif isinstance(spec.arg, torch.export.graph_signature.TensorArgument):
            inputs.append(nodes[spec.arg.name])
        else:
            constants[spec.arg.name] = getattr(spec.arg, "value", None)
    if len(inputs) != 1:
        raise _several(title, "inputs", "one table of inputs", inputs)
    results = nodes["output"].args[0]
    specs = exported.graph_signature.output_specs
    mine = [r for r, s in zip(results, specs, strict=True) if s.kind is OutputKind.USER_OUTPUT]
    return Program(
        title,
        exported.graph,
        exported.graph_module,
        inputs[0],
        _single(title, mine),
        constants,
        *_input_shape(inputs[0]),
    )
