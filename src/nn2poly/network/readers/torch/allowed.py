"""Which operations a graph may hold.

A graph may come from a stranger's file. So an operation is admitted by its name, before anything
runs: it has a rule of ours, or is on the list of what may be run on constants. Everything on the
list gives the same numbers for the same arguments and touches nothing else: no file, no memory
address, no random number, no other code.
"""

from __future__ import annotations

import re
from typing import Any

import torch

import nn2poly.network.readers.torch.rules as rules
from nn2poly.errors import UnsupportedModelError
from nn2poly.network.readers.torch.bounds import MAKERS
from nn2poly.network.readers.torch.operations import module_name, operation_name

# What forwards compute from parameters and buffers: masks, norms, positive or orthogonal weights.
FUNCTIONS = (
    *("abs", "amax", "amin", "bitwise_and", "bitwise_not", "bitwise_or", "ceil", "copy", "cos"),
    *("cumsum", "diag", "diag_embed", "diagonal", "dot", "eq", "erf", "expm1", "fill", "floor"),
    *("ge", "gt", "le", "lift_fresh", "lift_fresh_copy", "linalg_householder_product"),
    *("linalg_matrix_exp", "linalg_vector_norm"),
    *("log", "log1p", "logical_and", "logical_not", "logical_or", "lt", "masked_fill"),
    *("matrix_exp", "max", "maximum", "min", "minimum", "ne", "norm", "norm_except_dim", "outer"),
    *("pow", "prod", "reciprocal", "round", "rsqrt", "sign", "sqrt", "square", "std", "tril"),
    *("triu", "trunc", "var", "vdot", "where", "_weight_norm"),
)
# May be run on constants. A trailing underscore, for "in place", is not part of the name:
# constants are copies.
# one_hot has no rule of shapes by which its size could be told before it runs.
FOLDED = frozenset({*rules.RULES, *MAKERS, *FUNCTIONS} - {"one_hot"})
# Exporters put these beside the operations; nothing needs their result, and they are never run.
CHECKS = frozenset(
    {"_assert_async", "_assert_scalar", "_assert_tensor_metadata"}
    | {"sym_constrain_range", "sym_constrain_range_for_size"}
)
# Python's own operators. No powers and shifts: of two short integers they can take for ever.
OPERATORS = frozenset(
    {"add", "sub", "mul", "truediv", "floordiv", "mod", "neg", "pos", "matmul", "getitem"}
    | {"iadd", "isub", "imul", "itruediv", "abs", "and_", "or_", "invert", "not_"}
    | {"eq", "ne", "ge", "gt", "le", "lt"}
)
# Operators that put sequences together or look into them; the others take numbers and tensors.
ON_SEQUENCES = frozenset({"add", "getitem", "eq", "ne"})
# What a graph may ask a tensor for by getattr.
TENSOR_ATTRIBUTES = ("H", "T", "data", "mH", "mT", "real")
ATTRIBUTES = frozenset(
    {*TENSOR_ATTRIBUTES, "device", "dtype", "is_cuda", "itemsize", "layout", "ndim"}
    | {"requires_grad", "shape"}
)
PYTHON = ("_operator", "operator", "builtins", "math")
TARGET = re.compile(r"(?:torch\.ops\.aten\.(\w+)\.(\w+)|_operator\.(\w+))", re.ASCII)


# ---- names -----------------------------------------------------------------------------------


def has_rule(target: Any) -> bool:
    """Say whether a rule of ours tells what a target does to values that depend on the inputs."""
    return _is_plain(target) and plain_name(target) in rules.RULES


def may_run(target: Any) -> bool:
    """Say whether a target may be run on constants.

    Parameters
    ----------
    target
        A module, a function, an operation of ATen, or the name of a method.

    Examples
    --------
    >>> may_run(torch.ops.aten.exp_.default)
    True
    >>> may_run(torch.ops.aten.from_file.default)
    False
    """
    return _is_plain(target) and (_is_python(target) or plain_name(target) in FOLDED)


def may_stand(target: Any) -> bool:
    """Say whether a target may be in a graph at all, where it is not run."""
    return may_run(target) or (_is_plain(target) and plain_name(target) in CHECKS)


def is_target(text: str) -> bool:
    """Say whether a file may name an operation in this way.

    Examples
    --------
    >>> [is_target(t) for t in ("torch.ops.aten.tanh.default", "_operator.pow", "math.factorial")]
    [True, False, False]
    """
    found = TARGET.fullmatch(text)
    if found is None:
        return False
    name, overload, own = found.groups()
    if own is not None:
        return own in OPERATORS
    # By its name first: PyTorch does not even look up what is not on the list.
    if plain_name(name) not in FOLDED | CHECKS:
        return False
    return may_stand(getattr(getattr(torch.ops.aten, name, None), overload, None))


def plain_name(target: Any) -> str:
    """Give the name of an operation on the lists, empty for what has none."""
    if isinstance(target, torch.nn.Module):
        return module_name(target) or ""
    return (operation_name(target) or "").removesuffix("_")


def _is_python(target: Any) -> bool:
    return getattr(target, "__module__", None) in PYTHON


def _is_plain(target: Any) -> bool:
    """Say whether a target is an operator of the list, or a function on tensors."""
    if _is_python(target):
        listed = target.__module__ in PYTHON[:2] and target.__name__ in OPERATORS
        return listed or target is getattr
    return not isinstance(target, torch._ops.OpOverload) or _is_tensor_function(target)


def _is_tensor_function(target: torch._ops.OpOverload) -> bool:
    """Say whether an operation is one on tensors that overwrites nothing unless its name says so.

    Others of the same name repeat lists and texts, or write to an argument ``out``.
    """
    schema = target._schema
    if not schema.name.startswith("aten::") or target._overloadname.endswith("out"):
        return False
    parts = (*schema.arguments, *schema.returns)
    if schema.is_mutable and not schema.name.endswith("_"):
        return False
    checks = schema.name.removeprefix("aten::") in CHECKS
    return checks or any("Tensor" in str(part.type) for part in parts)


# ---- arguments -------------------------------------------------------------------------------


def check_arguments(target: Any, args: tuple[Any, ...]) -> None:
    """Refuse attributes that are not on the list, and operators on texts or long sequences."""
    name, home = getattr(target, "__name__", ""), getattr(target, "__module__", None)
    if target is getattr and args[1] not in ATTRIBUTES:
        raise UnsupportedModelError(
            "The forward asks a tensor for an attribute that is not known.",
            expected=", ".join(sorted(ATTRIBUTES)),
            found=str(args[1])[:100],
            remedy="compute with the entries and the shape of tensors alone",
        )
    if home not in ("_operator", "operator"):
        return
    refused = (str, bytes) if name in ON_SEQUENCES else (str, bytes, list, tuple, dict)
    # The sizes of a tensor are a tuple, too, and so are the indices of getitem.
    operands = args[:1] if name == "getitem" else args
    if strange := [a for a in operands if isinstance(a, refused)]:
        raise UnsupportedModelError(
            f"The operator {name} is applied to something that is no number.",
            expected="numbers and tensors",
            found=type(strange[0]).__name__,
            remedy="compute it beforehand, and keep it as a buffer",
        )
