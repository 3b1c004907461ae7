"""The rules: what each known PyTorch operation does to a `Flow`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

import nn2poly.network.readers.torch.flow as flows
from nn2poly.errors import UnsupportedModelError
from nn2poly.network.readers.torch.activations import ACTIVATION_RULES
from nn2poly.network.readers.torch.flow import (
    FloatArray,
    Flow,
    MisfitError,
    broadcast,
    flows_in,
    numbers,
    rearrange,
)
from nn2poly.network.readers.torch.operations import Call

# What only moves entries.
JOINS = ("cat", "hstack", "stack")
MOVES = (
    *("_unsafe_view", "alias", "broadcast_to", "chunk", "clone", "contiguous", "detach", "expand"),
    *("expand_as", "flatten", "flip", "getitem", "index", "index_select", "movedim", "narrow"),
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


# ---- linear operations -----------------------------------------------------------------------


def _linear(call: Call) -> Flow:
    given = call.parameters()
    bias = given.get("bias")
    weights = numbers(given["weight"]).T
    return flows.linear(call.args[0], weights, None if bias is None else numbers(bias))


def _matmul(call: Call) -> Flow:
    flow, matrix = call.args[:2]
    if isinstance(matrix, Flow):
        raise (
            _product()
            if isinstance(flow, Flow)
            else UnsupportedModelError(
                "A matrix multiplies the batch from the left, which mixes its rows.",
                remedy="write x @ W, or use torch.nn.Linear",
            )
        )
    weights = numbers(matrix)
    out = flows.linear(flow, weights[:, None] if weights.ndim == 1 else weights)
    return replace(out, shape=out.shape[:-1]) if weights.ndim == 1 else out


def _addmm(call: Call) -> Flow:
    product = _matmul(replace(call, args=call.args[1:]))
    beta, alpha = (call.kwargs.get(name, 1.0) for name in ("beta", "alpha"))
    start, product = broadcast(call.args[0], product)
    return product.with_value(start.scaled(beta).value.plus(product.value, alpha))


def _add(call: Call, sign: float = 1.0) -> Flow:
    first, second = broadcast(*call.args[:2])
    factor = sign * float(call.parameters().get("alpha", 1.0))
    return first.with_value(first.value.plus(second.value, factor))


def _sub(call: Call) -> Flow:
    return _add(call, -1.0)


def _rsub(call: Call) -> Flow:
    return _sub(replace(call, args=(*call.args[1::-1], *call.args[2:])))


def _mul(call: Call) -> Flow:
    if all(isinstance(operand, Flow) for operand in call.args[:2]):
        raise _product()
    first, second = broadcast(*call.args[:2])
    flow, constant = (first, second) if isinstance(call.args[0], Flow) else (second, first)
    return flow.scaled(constant.value.bias)


def _product() -> UnsupportedModelError:
    return UnsupportedModelError(
        "Two values that both depend on the inputs are multiplied.",
        expected="sums of values, and products with constants",
        remedy="add the values (x + f(x)), or convert the parts before the product",
    )


def _div(call: Call) -> Flow:
    if isinstance(call.args[1], Flow) or call.parameters().get("rounding_mode"):
        raise UnsupportedModelError(
            "A value that depends on the inputs divides, or a quotient is rounded.",
            expected="division by constants",
            remedy="convert the parts before the division",
        )
    flow, constant = broadcast(*call.args[:2])
    with np.errstate(divide="ignore"):  # the network's own check names what is not finite
        return flow.scaled(1.0 / constant.value.bias)


def _neg(call: Call) -> Flow:
    flow: Flow = call.args[0]
    return flow.scaled(-1.0)


def _reduce(call: Call) -> Flow:
    return flows.reduce(call.target, *call.args, **call.kwargs)


# ---- normalisation ---------------------------------------------------------------------------


def batch_statistics(call: Call) -> tuple[FloatArray, FloatArray]:
    """Give mean and deviation (width,) by which a batch normalisation standardises."""
    given = call.parameters()
    if given.get("training") or given["running_mean"] is None or given["running_var"] is None:
        raise UnsupportedModelError(
            "A batch normalisation takes its statistics from the batch at hand.",
            expected="running statistics, learnt in training",
            remedy="use track_running_stats=True (the default) and train; call model.eval() "
            "before exporting",
        )
    mean, variance = (_per_entry(call, given[f"running_{name}"]) for name in ("mean", "var"))
    return mean, np.sqrt(variance + given.get("eps", 1e-5))


def _batch_norm(call: Call) -> Flow:
    mean, deviation = batch_statistics(call)
    given = call.parameters()
    gain, shift = (
        default if given.get(key) is None else _per_entry(call, given[key])
        for key, default in (("weight", 1.0), ("bias", 0.0))
    )
    # In two steps: what was centred on the mean is exactly 0 before the gain.
    flow: Flow = call.args[0]
    return flow.scaled(1.0, -mean).scaled(gain / deviation, shift)


def _native_batch_norm(call: Call) -> tuple[Flow, None, None]:
    return _batch_norm(call), None, None


def _per_entry(call: Call, tensor: torch.Tensor) -> FloatArray:
    """Repeat one number per channel, the first dimension of a row, for all its entries."""
    shape, values = call.args[0].shape, numbers(tensor)
    if not shape or shape[0] != len(values) or call.args[0].axis:
        raise MisfitError(
            "A batch normalisation does not fit what feeds it.",
            expected=f"channels for values of shape {call.args[0].full_shape}",
            found=f"{len(values)} channels",
            remedy="check the sizes of this layer and of what comes before it",
        )
    return np.repeat(values, call.args[0].value.width // len(values))


# ---- what changes no entry -------------------------------------------------------------------


def _dropout(call: Call) -> Flow:
    given = call.parameters()
    if given.get("train", given.get("training", True)) and given.get("p", 0.5):
        raise UnsupportedModelError(
            "A dropout stays on in evaluation, so that the outputs are random.",
            expected="training=self.training, or a torch.nn.Dropout layer",
            remedy="pass training=self.training; call model.eval() before exporting",
        )
    flow: Flow = call.args[0]
    return flow


def _cast(call: Call) -> Flow:
    given = [a.dtype if isinstance(a, torch.Tensor) else a for a in call.parameters().values()]
    given += [a.dtype if isinstance(a, torch.Tensor) else a for a in call.args[1:]]
    types = [a for a in given if isinstance(a, torch.dtype)]
    if not all(t.is_floating_point for t in types) or (call.name == "type" and not types):
        raise UnsupportedModelError(
            "Values are cast to another type.",
            expected="a floating-point torch.dtype",
            found=", ".join(map(str, given)),
            remedy="keep floating-point values throughout",
        )
    flow: Flow = call.args[0]
    return flow


def _describe(call: Call) -> Any:
    return flows.describe(call.target, *call.args, **call.kwargs)


def _move(call: Call) -> Any:
    if call.name == "getitem" and isinstance(call.args[0], tuple | list):
        return call.args[0][call.args[1]]
    if not isinstance(call.args[0], Flow):  # a constant takes the shape of a flow
        return _describe(call)
    return rearrange(call.target, *call.args, **call.kwargs)


def _join(call: Call) -> Any:
    return flows.joined(call.target, *call.args, **call.kwargs)


# Rules of operands in any order; all others take a flow first, and constants.
OPERATORS: dict[str, Callable[[Call], Any]] = {
    "add": _add, "sub": _sub, "rsub": _rsub, "mul": _mul, "div": _div,
    "matmul": _matmul, "addmm": _addmm,
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
    "sum": _reduce,
    "mean": _reduce,
    "batch_norm": _batch_norm,
    "_native_batch_norm_legit_no_training": _native_batch_norm,
    **dict.fromkeys(DROPOUTS, _dropout),
}


def apply(call: Call) -> Any:
    """Apply the rule of a call."""
    constants_only = call.name not in OPERATORS
    if constants_only and (
        not isinstance(call.args[0], Flow) or flows_in(call.args[1:], call.kwargs)
    ):
        raise UnsupportedModelError(
            "A parameter of an operation depends on the inputs.",
            expected="one value that depends on them, and constants",
            remedy="use weights that are the same for all rows",
        )
    return RULES[call.name](call)
