"""Nodes of a traced graph: what they call, whether they overwrite, and where they are."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Node

import nn2poly.network.readers.torch.rules as rules
from nn2poly.errors import NN2PolyError, UnsupportedModelError
from nn2poly.network.readers.torch.operations import module_name, operation_name
from nn2poly.network.readers.torch.tracing import Program

# Operations whose result may share the memory of their argument, entries unchanged.
SHARING = {*rules.MOVES, *rules.CASTS, *rules.DROPOUTS, "getattr"}


def rule_name(program: Program, node: Node) -> str:
    """Give the name under which the operation of a node would have a rule."""
    if node.op == "call_module":
        return module_name(_module(program, node)) or ""
    if node.op in ("call_function", "call_method"):
        return (operation_name(node.target) or "").removesuffix("_")
    return ""


def in_place(program: Program, node: Node) -> bool:
    """Say whether the operation of a node overwrites its first argument."""
    if node.op == "call_module":
        overwrites = getattr(_module(program, node), "inplace", False)
        return overwrites and rule_name(program, node) not in SHARING
    if node.op not in ("call_function", "call_method"):
        return False
    if inspect.isfunction(node.target):
        bound = inspect.signature(node.target).bind_partial(*node.args, **node.kwargs)
        if bound.arguments.get("inplace") and rule_name(program, node) not in SHARING:
            return True
    name = operation_name(node.target) or ""
    return name.endswith("_") or name == "setitem"


def live_nodes(program: Program) -> dict[Node, int]:
    """Give numbers to the nodes that the output needs; others log or check something.

    What overwrites a value counts as needed, and so does a function that nobody knows.
    """
    needed = {program.output}
    for node in reversed(program.graph.nodes):
        if node in needed or _is_strange(node) or in_place(program, node):
            needed |= {node, *node.all_input_nodes}
    ordered = [node for node in program.graph.nodes if node in needed]
    return {node: number for number, node in enumerate(ordered)}


def _is_strange(node: Node) -> bool:
    """Say whether a node calls a function that nobody knows."""
    if node.op != "call_function" or operation_name(node.target) is not None:
        return False
    # torch.fx checks with functions of its own that an argument has its default.
    return getattr(node.target, "__module__", None) != "torch.fx._symbolic_trace"


def _module(program: Program, node: Node) -> torch.nn.Module:
    return program.root.get_submodule(str(node.target))


def target_of(program: Program, node: Node) -> Callable[..., Any]:
    """Give what torch would call."""
    if node.op == "call_module":
        return _module(program, node)
    if isinstance(node.target, str):
        return getattr(torch.Tensor, node.target, None) or _missing(node.target)
    return node.target


def attribute(program: Program, node: Node) -> Any:
    """Give the tensor that a node takes from the model."""
    return functools.reduce(getattr, str(node.target).split("."), program.root)


def _missing(name: str) -> Callable[..., Any]:
    """Stand in for a method that tensors do not have."""

    def missing(*args: Any, **kwargs: Any) -> Any:  # noqa: ARG001
        raise AttributeError(f"a tensor has no method {name}")

    return missing


def place(program: Program, node: Node) -> str:
    """Say where a node is: the qualified name of its layer, or the forward it is written in."""
    if node.op == "call_module":
        return f"{node.target} ({type(_module(program, node)).__name__})"
    stack = [path for path, _ in (node.meta.get("nn_module_stack") or {}).values() if path]
    types = [kind for _, kind in (node.meta.get("nn_module_stack") or {}).values()]
    if not stack:
        return f"forward of {program.title}, {node.name}"
    name = types[-1] if isinstance(types[-1], str) else types[-1].__name__
    return f"{stack[-1]} ({name.rpartition('.')[2]}), {node.name}"


def located(error: NN2PolyError, program: Program, node: Node) -> UnsupportedModelError:
    """Give the same error with its place in the model."""
    kind = type(error) if isinstance(error, UnsupportedModelError) else UnsupportedModelError
    return kind(
        error.what,
        where=place(program, node),
        expected=error.expected,
        found=error.found,
        remedy=error.remedy,
    )
