"""The rules: what each known PyTorch operation does to a symbolic `Tensor`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

import nn2poly.network.readers.torch.flow as flow
from nn2poly.errors import UnsupportedModelError
from nn2poly.network.readers.symbolic import Tensor, added, negated
from nn2poly.network.readers.torch.activations import ACTIVATION_RULES, COMPARING_RULES
from nn2poly.network.readers.torch.flow import numbers, operand, rearrange, tensors_in
from nn2poly.network.readers.torch.operations import Call, unknown

# What only moves entries.
JOINS = ("cat", "column_stack", "hstack", "stack")
MOVES = (
    *("_unsafe_view", "alias", "broadcast_to", "chunk", "clone", "contiguous", "detach", "expand"),
    *("expand_as", "flatten", "flip", "getitem", "index", "index_select", "movedim", "narrow"),
    "numpy_T",
    *("permute", "ravel", "repeat", "reshape", "reshape_as", "roll", "select", "slice", "split"),
    *("split_with_sizes", "squeeze", "swapaxes", "swapdims", "t", "tensor_split", "tile"),
    *("transpose", "unbind", "unflatten", "unsqueeze", "view", "view_as"),
)
# What gives numbers about the shape, not entries.
MEASURES = ("dim", "ndimension", "numel", "size", "sym_numel", "sym_size")
LIKES = ("full_like", "new_full", "new_ones", "new_tensor", "new_zeros", "ones_like", "zeros_like")
# What depends on the shape alone.
DESCRIPTIONS = (*MEASURES, *LIKES)
CASTS = ("_to_copy", "bfloat16", "cpu", "cuda", "double", "float", "half", "to", "type", "type_as")
DROPOUTS = ("alpha_dropout", "dropout", "dropout1d", "feature_alpha_dropout", "feature_dropout")


# ---- affine operations -----------------------------------------------------------------------


def _linear(call: Call) -> Tensor:
    given = call.parameters()
    bias = None if given.get("bias") is None else numbers(given["bias"])
    return call.builder.dense(call.args[0], numbers(given["weight"]).T, bias)


def _matmul(call: Call) -> Tensor:
    x, matrix = call.args[:2]
    if isinstance(x, Tensor) and isinstance(matrix, Tensor):
        return _refuse_contraction(call.name)
    if isinstance(matrix, Tensor) and matrix.axis == max(len(matrix.full_shape) - 2, 0):
        raise UnsupportedModelError(
            "A matrix multiplies the batch from the left, which mixes its rows.",
            remedy="write x @ W, or use torch.nn.Linear",
        )
    if isinstance(x, Tensor) and call.name == "bmm" and not (matrix != matrix[:1]).any():
        return call.builder.dense(x, numbers(matrix[0]))  # the same matrix for all rows
    if isinstance(matrix, Tensor) or numbers(matrix).ndim > 2:
        return _contract(replace(call, args=(x, matrix)))
    return call.builder.dense(x, numbers(matrix))


def _contract(call: Call) -> Tensor:
    """Apply an operation that is linear in its one value: its matrix is what it does to units."""
    if len(tensors_in(call.args, call.kwargs)) > 1:
        return _refuse_contraction(call.name)
    return flow.affine(call.target, *call.args, **call.kwargs)


def _refuse_contraction(name: str) -> Tensor:
    raise UnsupportedModelError(
        f"{name} multiplies two values that both depend on the inputs, and sums the products.",
        expected="a product with constants, or of single entries (x * y)",
        remedy="write the products out, (x * y).sum(1)",
    )


def _conv1d(call: Call) -> Tensor:
    given = {"stride": 1, "padding": 0, "groups": 1, "dilation": 1} | call.parameters()
    weight = numbers(given["weight"])
    single = [tuple(np.ravel(given[k]).tolist()) for k in ("stride", "padding", "groups")]
    if weight.shape[-1] != 1 or single != [(1,), (0,), (1,)]:
        raise unknown(call.target)
    x: Tensor = call.args[0]
    if x.axis or len(x.shape) != 2:
        raise unknown(call.target)
    rows = rearrange(torch.transpose, x, 1, 2)
    bias = None if given.get("bias") is None else numbers(given["bias"])
    done: Tensor = rearrange(
        torch.transpose, call.builder.dense(rows, weight[:, :, 0].T, bias), 1, 2
    )
    return done


def _glu(call: Call) -> Tensor:
    half, gate = rearrange(torch.chunk, call.args[0], 2, call.parameters().get("dim", -1))
    return call.builder.multiply(half, call.builder.activate(gate, "sigmoid"))


def _addmm(call: Call) -> Tensor:
    product = _matmul(replace(call, args=call.args[1:]))
    beta, alpha = (call.kwargs.get(name, 1.0) for name in ("beta", "alpha"))
    start = operand(call.args[0])
    return added(start.scaled(beta) if isinstance(start, Tensor) else beta * start, product, alpha)


def _add(call: Call, sign: float = 1.0) -> Tensor:
    factor = sign * float(call.parameters().get("alpha", 1.0))
    first, second = call.args[:2]
    return added(operand(first), operand(second), factor)


def _sub(call: Call) -> Tensor:
    return _add(call, -1.0)


def _rsub(call: Call) -> Tensor:
    return _sub(replace(call, args=(*call.args[1::-1], *call.args[2:])))


def _mul(call: Call) -> Tensor:
    return call.builder.multiply(*map(operand, call.args[:2]))


def _addcmul(call: Call) -> Tensor:
    start, one, other = map(operand, call.args[:3])
    value = float(call.kwargs.get("value", 1.0))
    return added(start, call.builder.multiply(one, other), value)


def _div(call: Call) -> Tensor:
    if call.parameters().get("rounding_mode"):
        raise UnsupportedModelError(
            "A quotient is rounded.",
            expected="division by constants",
            remedy="convert the parts before the division",
        )
    return call.builder.divide(*map(operand, call.args[:2]))


def _neg(call: Call) -> Tensor:
    return negated(call.args[0])


def _reduce(call: Call) -> Tensor:
    return flow.reduce(call.target, *call.args, **call.kwargs)


# ---- normalisation ---------------------------------------------------------------------------


def _batch_norm(call: Call) -> Tensor:
    given = call.parameters()
    if given.get("training") or given["running_mean"] is None or given["running_var"] is None:
        raise UnsupportedModelError(
            "A batch normalisation takes its statistics from the batch at hand.",
            expected="running statistics, learnt in training",
            remedy="use track_running_stats=True (the default) and train; call model.eval() "
            "before exporting",
        )
    mean, variance = (numbers(given[f"running_{name}"]) for name in ("mean", "var"))
    gain = 1.0 if given.get("weight") is None else numbers(given["weight"])
    shift = 0.0 if given.get("bias") is None else numbers(given["bias"])
    epsilon = given.get("eps", 1e-5)
    return call.builder.batch_norm(call.args[0], mean, variance, epsilon, gain, shift)


def _native_batch_norm(call: Call) -> tuple[Tensor, None, None]:
    return _batch_norm(call), None, None


# ---- what changes no entry -------------------------------------------------------------------


def _dropout(call: Call) -> Tensor:
    given = call.parameters()
    if given.get("train", given.get("training", True)) and given.get("p", 0.5):
        raise UnsupportedModelError(
            "A dropout stays on in evaluation, so that the outputs are random.",
            expected="training=self.training, or a torch.nn.Dropout layer",
            remedy="pass training=self.training; call model.eval() before exporting",
        )
    x: Tensor = call.args[0]
    return x


def _cast(call: Call) -> Tensor:
    given = [a.dtype if isinstance(a, torch.Tensor) else a for a in call.parameters().values()]
    given += [a.dtype if isinstance(a, torch.Tensor) else a for a in call.args[1:]]
    types = [a for a in given if isinstance(a, torch.dtype)]
    if set(types) == {torch.int64}:
        return _whole(call)
    if not all(t.is_floating_point for t in types) or (call.name == "type" and not types):
        raise UnsupportedModelError(
            "Values are cast to another type.",
            expected="a floating-point torch.dtype",
            found=", ".join(map(str, given)),
            remedy="keep floating-point values throughout",
        )
    x: Tensor = call.args[0]
    return x


def _whole(call: Call) -> Tensor:
    """Cut decimals off, as a cast to whole numbers does."""
    return call.builder.truncated(call.args[0])


def _embedding(call: Call) -> Tensor:
    """Take rows of a table by number: indicators of the numbers, times the table."""
    given = call.parameters()
    x, weight = call.args[0], given.get("weight")
    if not isinstance(x, Tensor):  # the exported operation has the table first
        x, weight = call.args[1], call.args[0]
    if given.get("max_norm") is not None or not isinstance(x, Tensor):
        raise unknown(call.target)
    table = numbers(weight)
    return call.builder.dense(call.builder.levels(x, len(table)), table)


def _one_hot(call: Call) -> Tensor:
    count = int(call.parameters().get("num_classes", -1))
    if count < 1:
        raise UnsupportedModelError(
            "The number of levels of a one-hot encoding depends on the batch.",
            expected="num_classes",
            remedy="pass num_classes to one_hot",
        )
    return call.builder.levels(call.args[0], count)


def _describe(call: Call) -> Any:
    return flow.describe(call.target, *call.args, **call.kwargs)


def _move(call: Call) -> Any:
    if call.name == "getitem" and isinstance(call.args[0], tuple | list):
        return call.args[0][call.args[1]]
    if not isinstance(call.args[0], Tensor):  # a constant takes the shape of a tensor
        return _describe(call)
    return rearrange(call.target, *call.args, **call.kwargs)


def _join(call: Call) -> Any:
    return flow.join(call.target, *call.args, **call.kwargs)


# Rules of operands in any order; all others take a symbolic tensor first, and constants.
OPERATORS: dict[str, Callable[[Call], Any]] = {
    "add": _add, "sub": _sub, "rsub": _rsub, "mul": _mul, "div": _div,
    "embedding": _embedding, "matmul": _matmul, "addmm": _addmm, "addcmul": _addcmul,
    "bmm": _matmul,
    **dict.fromkeys(("cumsum", "einsum", "tensordot"), _contract),
    **COMPARING_RULES,
    **dict.fromkeys(JOINS, _join),
    **dict.fromkeys((*MOVES, "getattr"), _move),
    **dict.fromkeys(DESCRIPTIONS, _describe),
    **dict.fromkeys(CASTS, _cast),
}  # fmt: skip
RULES: dict[str, Callable[[Call], Any]] = {
    **OPERATORS,
    **ACTIVATION_RULES,
    "linear": _linear,
    "neg": _neg,
    "conv1d": _conv1d,
    **dict.fromkeys(("int", "long"), _whole),
    "one_hot": _one_hot,
    "glu": _glu,
    "pad": _contract,
    "constant_pad_nd": _contract,
    "sum": _reduce,
    "mean": _reduce,
    "batch_norm": _batch_norm,
    "_native_batch_norm_legit_no_training": _native_batch_norm,
    **dict.fromkeys(DROPOUTS, _dropout),
}


def apply(call: Call) -> Any:
    """Apply the rule of a call."""
    if call.kwargs.get("out") is not None:
        raise UnsupportedModelError(
            "A result is written to another tensor (out=).",
            expected="operations that give out their result",
            remedy="write h = torch.tanh(h)",
        )
    constants_only = call.name not in OPERATORS
    if constants_only and (
        not isinstance(call.args[0], Tensor) or tensors_in(call.args[1:], call.kwargs)
    ):
        raise UnsupportedModelError(
            "A parameter of an operation depends on the inputs.",
            expected="one value that depends on them, and constants",
            remedy="use weights that are the same for all rows",
        )
    return RULES[call.name](call)
