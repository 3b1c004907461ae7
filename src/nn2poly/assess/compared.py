"""The model that a formula is compared with: read and compared itself, or a function to ask."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from functools import partial
from typing import Any

from nn2poly.batches import gathered
from nn2poly.errors import InvalidInputError
from nn2poly.inputs import Inputs, frame_columns, table_width
from nn2poly.inputs.forms import form_like, in_order
from nn2poly.inputs.joined import Parts
from nn2poly.network.asking import asking_function, is_function, read_answer
from nn2poly.network.checking import ROWS, check_reading, notice_raw
from nn2poly.network.fallback import read_or_advise
from nn2poly.network.network import Network
from nn2poly.network.oracle import Model, Oracle, are_probabilities, is_pair
from nn2poly.network.readers import can_read
from nn2poly.network.readers.choosing import SeveralOutputsError
from nn2poly.network.several import joined_data
from nn2poly.outputs import Outputs
from nn2poly.streams import even_choice, is_stream


def comparable(
    model: Any,
    inputs: Inputs,
    outputs: Outputs,
    X: Any,
    *,
    after: str | None = None,
    output: str | int | None = None,
) -> Model:
    """Give what a formula is compared with on rows X.

    Parameters
    ----------
    model
        Anything that `read_network` reads, which is compared with what was read of it; or a
        function from rows to outputs.
    inputs, outputs
        Of the formula.
    X
        The rows, as the user has them.
    after
        For a pipeline: the step after which the rows, and the formula, begin.
    output
        Of a model with several outputs the one that the formula is of; by default the one of
        its name.
    """
    if isinstance(model, Oracle):
        return model
    X, parts = joined_data(model, X)
    X = gathered(X, "X")
    if can_read(model) or not is_function(model):
        network, output = _read(model, parts or table_width(X), outputs, output, after)
        X = next(even_choice(X, ROWS), None) if is_stream(X) else X
        fits = network.n_features == inputs.n_features
        if fits and hasattr(type(X), "__getitem__") and len(X):
            _check(network, model, X, after, output, parts)
        return _linked(network, outputs).without_common()
    if after is not None:
        raise InvalidInputError("A function has no steps.", where="after", found=repr(after))
    X = in_order(next(even_choice(X, ROWS)), inputs)
    function, few = asking_function(model), X[:ROWS]
    answer = read_answer(function, few, len(few)).values
    chances = outputs.is_classifier and are_probabilities(answer, outputs.link)
    pair = chances and outputs.link == "sigmoid" and outputs.count == 1 and is_pair(answer)
    count = outputs.count if pair else answer.shape[1]
    known = outputs if count == outputs.count else Outputs.of(None, count)
    return Oracle(function, form_like(X, inputs), inputs, known, gives_probabilities=chances)


def _linked(network: Network, outputs: Outputs) -> Network:
    """Give a network of logits the outputs of its formula, which knows that they are scores."""
    plain = network.link == "identity" and network.n_outputs == outputs.count
    return replace(network, outputs=outputs) if plain and outputs.link == "softmax" else network


def _read(
    model: Any,
    n_features: int | Parts | None,
    outputs: Outputs,
    output: str | int | None,
    after: str | None,
) -> tuple[Network, str | int | None]:
    """Read a model; of several outputs the one that a formula is named after."""
    read = partial(read_or_advise, model, after=after, n_features=n_features)
    try:
        return read(output=output), output
    except SeveralOutputsError as error:
        first = outputs.names[0]
        for name in (first, first.removesuffix("_0")):
            with contextlib.suppress(InvalidInputError):
                return read(output=name), name
        raise error


def _check(
    network: Any,
    model: Any,
    X: Any,
    after: str | None,
    output: str | int | None,
    parts: Parts | None,
) -> None:
    few = X[:ROWS]
    if after is not None:
        notice_raw(network, model, after, network.check_data(few, where="X", allow_nan=True))
        return
    if frame_columns(few) is None:
        # Whether rows with holes are refused or left out is said where all rows are read.
        few = network.check_data(few, where="X", allow_nan=True)
    check_reading(network, model, few, output=output, parts=parts)
