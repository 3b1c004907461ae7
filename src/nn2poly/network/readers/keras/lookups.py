"""Keras' layers that take categories: embeddings, lookups, encodings, steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from nn2poly.inputs import level_text
from nn2poly.network.elementwise import by_values, closed_step
from nn2poly.network.readers.keras.calls import Call, to_array, unsupported
from nn2poly.network.readers.symbolic import Factor, Tensor, added, numbered, selected

UNSEEN = "(unseen)"
ONE_COLUMN = "it encodes several columns at once; give each column a layer of its own"


def embedding(call: Call) -> Tensor:
    """Take rows of a table by number."""
    layer, x = call.op, call.tensor()
    if layer.mask_zero:
        raise unsupported(call, "it masks zeros, which layers after it may leave out")
    if getattr(layer, "quantization_mode", None) is not None:
        raise unsupported(call, "its weights are quantised; convert the model from before that")
    table = to_array(layer.embeddings)
    return call.builder.dense(call.builder.levels(x, len(table)), table)


def category_encoding(call: Call) -> Tensor:
    """Apply ``keras.layers.CategoryEncoding`` to a column of numbers."""
    if len(call.args) != 1:
        raise unsupported(call, "its counts are weighted")
    return _encoded(call, call.tensor(), call.op.num_tokens, call.op.output_mode)


def lookup(call: Call) -> Tensor:
    """Apply ``StringLookup`` or ``IntegerLookup``: the column is a factor of the vocabulary."""
    layer, x = call.op, call.tensor()
    if layer.invert or layer.num_oov_indices > 1 or layer.output_mode == "tf_idf":
        reason = "it hashes what it does not know" if layer.num_oov_indices > 1 else None
        raise unsupported(call, reason or "it does not give numbers of words, or counts")
    tokens = [level_text(_plain(token)) for token in layer.get_vocabulary()]
    # Numbers of words begin after those of the mask and of what is unknown.
    first = int(layer.mask_token is not None and layer.output_mode == "int")
    known = layer.num_oov_indices == 1
    levels = tuple(tokens[:first] + [UNSEEN] * known + tokens[first + known :])
    codes = tuple(map(float, range(len(levels))))
    found = call.builder.encoded(x, Factor(levels, codes, first if known else None))
    if found is None:
        raise unsupported(call, "it looks up what is no column of the inputs")
    if layer.output_mode == "int":
        return found
    return _encoded(call, found, len(levels), layer.output_mode)


def discretization(call: Call) -> Tensor:
    """Cut numbers into steps: the number of edges that a value reaches."""
    layer, x = call.op, call.tensor()
    edges = np.asarray(layer.bin_boundaries, dtype=np.float64)
    if not len(edges) or layer.output_mode not in ("int", "one_hot"):
        raise unsupported(call, "it has no edges, or counts values of several columns")
    copies = _repeated(x, len(edges))
    steps = call.builder.activate(added(copies, -edges), by_values(closed_step, "step"))
    width, count = x.value.width, len(edges)
    ones = np.kron(np.eye(width), np.ones((count, 1)))
    if layer.output_mode == "int":
        return replace(x, value=steps.value.linear(ones), shape=x.shape)
    # Between edges k and k + 1: the step at k, less the step at k + 1.
    between = np.eye(count, count + 1, 1) - np.eye(count, count + 1)
    bias = np.tile(np.eye(1, count + 1)[0], width)
    value = steps.value.linear(np.kron(np.eye(width), between), bias)
    return _one_column(call, replace(x, value=value, shape=(*x.shape, count + 1)))


def _repeated(x: Tensor, count: int) -> Tensor:
    """Give every entry so many times, in a dimension of its own."""
    entries = numbered(x)[0]
    return selected(np.repeat(entries[..., None], count, axis=-1), x, axis=x.axis)


def _encoded(call: Call, x: Tensor, count: int, mode: str) -> Tensor:
    found = call.builder.levels(x, count)
    if mode == "count":
        width = x.value.width
        value = found.value.linear(np.kron(np.ones((width, 1)), np.eye(count)))
        return replace(found, value=value, shape=(count,))
    if mode == "multi_hot" and x.value.width > 1:
        raise unsupported(call, ONE_COLUMN)
    return _one_column(call, found)


def _one_column(call: Call, found: Tensor) -> Tensor:
    """Leave out the dimension of the one column that was encoded."""
    *columns, count = found.shape
    if columns == [1]:
        return replace(found, shape=(count,))
    if not columns:
        return found
    raise unsupported(call, ONE_COLUMN)


def _plain(token: Any) -> Any:
    return token.item() if hasattr(token, "item") else token
