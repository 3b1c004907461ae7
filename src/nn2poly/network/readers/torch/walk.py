"""Walk through a `Program` with symbolic tensors: constants are computed, the rest has rules."""

from __future__ import annotations

import copy
import operator
from collections.abc import Mapping
from typing import Any

import numpy.typing as npt
import torch
from torch.fx import Node

import nn2poly.network.readers.torch.rules as rules
from nn2poly.errors import UnsupportedModelError
from nn2poly.network.readers.symbolic import Factor, Tensor, TensorBuilder
from nn2poly.network.readers.torch.allowed import (
    TENSOR_ATTRIBUTES,
    check_arguments,
    has_rule,
    may_run,
    may_stand,
)
from nn2poly.network.readers.torch.bounds import check_count, check_integer, check_size
from nn2poly.network.readers.torch.flow import first_line, numbers, tensors_in, written
from nn2poly.network.readers.torch.nodes import (
    SHARING,
    attribute,
    in_place,
    live_nodes,
    located,
    place,
    rule_name,
    target_of,
)
from nn2poly.network.readers.torch.operations import (
    Call,
    kind_of,
    module_arguments,
    positional,
    unknown,
)
from nn2poly.network.readers.torch.tracing import Program

BUFFER = "compute it beforehand, and keep it as a buffer"


class Walk:
    """One walk with a given shape of the inputs.

    Parameters
    ----------
    program
        The operations.
    row_shape
        Shape of one row of inputs; its product is the number of features.
    center, scale
        Working coordinates of the inputs, numbers or (n_features,).
    factors
        Columns of the inputs that are factors, which a walk before this one asked for.
    """

    def __init__(
        self,
        program: Program,
        row_shape: tuple[int, ...],
        center: npt.ArrayLike = 0.0,
        scale: npt.ArrayLike = 1.0,
        factors: Mapping[int, Factor] | None = None,
    ) -> None:
        self.program = program
        self.builder = TensorBuilder(row_shape, center, scale, rows=program.rows, factors=factors)
        self.row_shape = row_shape
        self._order = live_nodes(program)
        self._values: dict[Node, Any] = {}
        self._tensors: dict[str, Any] = {}
        # Numbers of all constants that were computed so far.
        self._made = 0
        # Each node → the first of those that may share its memory.
        self._family: dict[Node, Node] = {}

    def run(self) -> Tensor:
        """Walk to the end and give the output."""
        for node in self._order:
            try:
                self._values[node] = self._step(node)
            except UnsupportedModelError as error:
                raise located(error, self.program, node) from error
        result = self._values[self.program.output]
        if isinstance(result, Tensor):
            return result
        raise UnsupportedModelError(
            "The output does not depend on the inputs.",
            where=place(self.program, self.program.output),
            found=type(result).__name__,
            remedy="give out what the last layer computes",
        )

    # ---- one node ----

    def _step(self, node: Node) -> Any:
        if node is self.program.input:
            return self.builder.input()
        if node.op == "placeholder":
            return _constant(self.program.constants[node.name])
        if node.op == "get_attr":
            return self._tensor(node)
        args, kwargs = self._arguments(node)
        if node.target is operator.setitem and tensors_in(args):
            self._check_unshared(node, but=node.args[0])
            self._values[node.all_input_nodes[0]] = written(*args)
            return None
        check_arguments(node.target, args)
        if not tensors_in(args, kwargs):
            return self._computed(node, args, kwargs)
        call = self.call(node)
        if in_place(self.program, node):
            self._check_unshared(node)
        return rules.apply(call)

    def call(self, node: Node) -> Call:
        """Give the operation of a node with what its arguments are here."""
        (args, kwargs), target = self._arguments(node), target_of(self.program, node)
        name = rule_name(self.program, node)
        if isinstance(target, torch.nn.Module) and name not in rules.MOVES:
            kwargs |= module_arguments(target, name)
        args, kwargs = positional(args, kwargs)
        return Call(name, target, args, kwargs, self.builder, self._is_final(node))

    def _arguments(self, node: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        mapped = torch.fx.node.map_arg((node.args, node.kwargs), lambda n: self._values[n])
        args, kwargs = mapped
        return tuple(args), dict(kwargs)

    def _tensor(self, node: Node) -> Any:
        path = str(node.target)
        if path not in self._tensors:
            self._tensors[path] = _constant(attribute(self.program, node))
        return self._tensors[path]

    def _computed(self, node: Node, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run an operation of the list on constants, which are copies."""
        target = target_of(self.program, node)
        if isinstance(target, torch.nn.Module):  # constants are in double precision
            target = copy.deepcopy(target).double()
        if rule_name(self.program, node) in rules.DROPOUTS:  # torch would draw random numbers
            return rules.RULES["dropout"](self.call(node))
        try:
            self._made += check_size(target, *args, **kwargs)
            check_count(self._made)
            result = target(*args, **kwargs)
        except UnsupportedModelError:
            raise
        except Exception as error:
            raise UnsupportedModelError(
                "A constant of the forward cannot be computed.",
                found=first_line(error),
                remedy=BUFFER,
            ) from error
        check_integer(result)
        return result

    # ---- what follows a node ----

    def _users(self, node: Node) -> list[Node]:
        return [user for user in node.users if user in self._order]

    def _is_final(self, node: Node) -> bool:
        """Say whether a result goes to the output and nowhere else, at most in another shape."""
        names = {user: rule_name(self.program, user) for user in self._users(node)}
        if node is self.program.output:
            return not names
        movers = [user for user, name in names.items() if name in SHARING]
        others = set(names.values()) - SHARING - set(rules.DESCRIPTIONS)
        return bool(movers) and not others and all(self._is_final(user) for user in movers)

    def _check_unshared(self, node: Node, but: Any = None) -> None:
        """Refuse to overwrite a value that is used again later, itself or through a view.

        ``but`` is followed, and may be used again.
        """
        first = self._first(node.all_input_nodes[0])
        family = [n for n in self._values if self._first(n) is first and n is not but]
        for member in family:
            later = [u.name for u in self._users(member) if self._order[u] > self._order[node]]
            if member is self.program.output:
                later.append("the output")
            if later:
                raise UnsupportedModelError(
                    "A value is overwritten in place and used again.",
                    found=f"{member.name} is used again in {later[0]}",
                    remedy="use the operation that makes a new tensor (x = x + y, "
                    "torch.relu(x), inplace=False)",
                )

    def _first(self, node: Node) -> Node:
        if node not in self._family:
            inputs, name = node.all_input_nodes, rule_name(self.program, node)
            shares = bool(inputs) and (name in SHARING or in_place(self.program, node))
            self._family[node] = self._first(inputs[0]) if shares else node
        return self._family[node]


def _constant(value: Any) -> Any:
    """Copy a tensor, in float64 if it holds real numbers."""
    if not isinstance(value, torch.Tensor):
        return value
    if not value.dtype.is_floating_point:
        return value.detach().cpu().clone()
    return torch.from_numpy(numbers(value))


def refuse_unknown(program: Program) -> None:
    """Refuse, before anything runs, operations that are not on the list.

    On the inputs they need a rule. Of a graph that was not traced here, all are looked at: also
    those that the output does not need, which are never run.
    """
    depends, live = {program.input}, live_nodes(program)
    for node in program.graph.nodes if program.foreign else live:
        if not node.op.startswith("call"):
            continue
        target = node.target if node.op == "call_method" else target_of(program, node)
        on_inputs = not depends.isdisjoint(node.all_input_nodes)
        if not _is_known(program, target, on_inputs, node in live):
            raise located(unknown(target) if on_inputs else _not_run(target), program, node)
        if on_inputs and not _describes(program, node):
            depends.add(node)


def _is_known(program: Program, target: Any, on_inputs: bool, live: bool) -> bool:
    if not live:
        return may_stand(target)
    # As in self.gain**2 and x[:, 0] = 1, of the user's own.
    if target in (operator.pow, operator.setitem) and not program.foreign:
        return True
    return has_rule(target) if on_inputs else may_run(target)


def _describes(program: Program, node: Node) -> bool:
    name = rule_name(program, node)
    about = name == "getattr" and node.args[1] not in TENSOR_ATTRIBUTES
    return about or name in rules.DESCRIPTIONS


def _not_run(target: object) -> UnsupportedModelError:
    kind = kind_of(target)
    return UnsupportedModelError(
        f"{kind.rpartition('.')[2]} is not run on constants.",
        expected="arithmetic and the operations of dense networks",
        found=kind,
        remedy=BUFFER,
    )
