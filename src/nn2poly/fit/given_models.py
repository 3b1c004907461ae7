"""What the user passes as a model: layers that are read and compared, or a function to ask."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from nn2poly.arguments import check_choice, check_flag
from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError, UnsupportedModelError
from nn2poly.inputs import frame_columns, table_width
from nn2poly.inputs.forms import table_inputs
from nn2poly.inputs.joined import Parts
from nn2poly.links import LINKS
from nn2poly.network.asking import is_function
from nn2poly.network.checking import ROWS, check_reading, notice_raw
from nn2poly.network.fallback import read_or_advise
from nn2poly.network.network import Network
from nn2poly.network.oracle import Model, Oracle, oracle_of
from nn2poly.network.readers import can_read
from nn2poly.network.readers.files import opened
from nn2poly.rows.reading import all_tables, first_table
from nn2poly.streams import is_dask

# Rows that a function is asked for at first, to learn what its outputs are (taste).
EXAMPLE_ROWS = 50


def read_model(
    model: Any,
    data: Any,
    *,
    after: str | None = None,
    link: str | None = None,
    classes: Iterable[Any] | None = None,
    check: bool = True,
    output: str | int | None = None,
    parts: Parts | None = None,
) -> Model:
    """Read a model, or take a function for what it is.

    Parameters
    ----------
    model
        Anything that `read_network` reads, or any other callable.
    data
        As the user gave it, or None.
    parts
        How the columns of the data are cut into the inputs of a model that has several.
    after, link, classes, check, output
        As those of `nn2poly.convert`.
    """
    wanted = check_flag(check, name="check")
    if link is not None:
        check_choice(link, LINKS, name="link")
    if isinstance(model, Oracle):
        return model
    if not can_read(model) and is_function(model):
        return _function(model, data, after, link, classes, check=wanted)
    first = None if data is None else first_table(data)
    model = opened(model) if wanted else model
    width = parts or table_width(first)
    network = read_or_advise(model, after=after, n_features=width, output=output)
    rows = _rows(first, network) if wanted else None
    compared = model if after is None else _after(model, after)
    if after is not None and rows is not None:
        notice_raw(network, model, after, network.check_data(rows, where="data", allow_nan=True))
    if wanted and compared is not None:
        check_reading(network, compared, rows, output=output, parts=parts)
    # A common part of all classes would be fitted and judged, and no probability shows it.
    return _declared(network, link, classes).without_common()


def _after(model: Any, step: str) -> Any:
    """Give what comes after a step of a scikit-learn pipeline; None of what is wrapped further."""
    names = [name for name, _ in getattr(model, "steps", ())]
    return model[names.index(step) + 1 :] if step in names else None


def _rows(table: Any, network: Network) -> Any:
    """Give some rows of a table; None where there are none to look at."""
    if table is None or (hasattr(table, "__len__") and not len(table)):
        return None
    few = table[:ROWS] if hasattr(type(table), "__getitem__") else table
    if frame_columns(few) is not None:
        return few
    try:
        # Whether rows with holes are refused or left out is said where the whole sample is read.
        return network.check_data(few, where="data", allow_nan=True)
    except InvalidInputError:
        return network.check_data(few, where="data")  # tells of the holes too


def _declared(network: Network, link: str | None, classes: Iterable[Any] | None) -> Network:
    """Give a network the link and the classes that the user names."""
    if link is None and classes is None:
        return network
    return replace(network, outputs=network.outputs.declared(link, classes))


# ---- functions -------------------------------------------------------------------------------


def _function(
    function: Any,
    data: Any,
    after: str | None,
    link: str | None,
    classes: Iterable[Any] | None,
    *,
    check: bool,
) -> Oracle:
    """Learn from the data what a function takes, and from a few rows what it gives."""
    if data is None:
        raise InvalidInputError(
            "A function is fitted to what it gives on a sample of inputs.",
            where="data",
            expected="an array or data frame (n, p) as the function takes it",
            remedy="pass data=X, for example the training inputs",
        )
    if after is not None:
        raise InvalidInputError("A function has no steps.", where="after", found=repr(after))
    if is_dask(data):
        raise InvalidInputError(
            "A function is asked in this process, not where the parts of a Dask collection are.",
            where="data",
            expected="an array, a data frame, or batches of them",
            remedy="pass data=X.sample(frac=…).compute()",
        )
    first = first_table(data)
    texts = frame_columns(first) is not None
    inputs, form = table_inputs(all_tables(data) if texts else [first])
    # Whether rows with holes are refused or left out is said where the whole sample is read.
    rows = inputs.read(first, where="data", allow_nan=True)
    complete = rows[~np.isnan(rows).any(axis=1)]
    example = (complete if len(complete) else rows)[:EXAMPLE_ROWS]
    oracle = oracle_of(function, form, inputs, example, link=link, classes=classes)
    if check:
        _check_steady(oracle, example)
    return oracle


def _check_steady(oracle: Oracle, X: FloatArray) -> None:
    """Refuse a function that gives other outputs for the same rows, or by their neighbours.

    Rows are asked for again in two halves, in reverse: a mean, a rank or a largest value of all
    rows is another one in at least one of them.
    """
    fresh, one = replace(oracle, _known={}), oracle.predict(X)
    other = np.empty_like(one)
    for half in (slice(None, None, -2), slice(-2, None, -2)):
        if len(X[half]):
            other[half] = fresh.predict(X[half])
    spread = np.abs(np.where(np.isfinite(one), one, 0.0)).max(initial=0.0)
    if np.allclose(one, other, rtol=1e-3, atol=1e-3 * spread, equal_nan=True):
        return
    row = int(np.argmax(np.abs(one - other).reshape(len(X), -1).max(axis=1)))
    raise UnsupportedModelError(
        "The function gives other outputs for the same rows among others.",
        where=f"row {row} of the data",
        expected="outputs of a row that depend on this row alone",
        found=f"{np.atleast_1d(one[row])[:3]} and then {np.atleast_1d(other[row])[:3]}",
        remedy="switch random numbers and batch statistics off (model.eval()); check=False fits "
        "what it gives all the same",
    )
