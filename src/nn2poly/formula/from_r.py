"""Polynomials of the R package nn2poly: its lists of labels and values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nn2poly.algebra.terms import Listed
from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.files import open_regular
from nn2poly.formula.polynomial import Polynomial

# 256 MB of JSON: some million terms (taste).
LARGEST = 1 << 28
WRITE = 'in R: jsonlite::write_json(poly, "poly.json", digits = NA)'


def from_r(
    source: Mapping[str, Any] | str | Path,
    *,
    feature_names: Iterable[str] | None = None,
    output_names: Iterable[str] | None = None,
    n_features: int | None = None,
) -> Polynomial:
    """Take over a polynomial that the R package nn2poly made.

    Parameters
    ----------
    source
        What ``nn2poly()`` gives in R, as a dictionary with ``labels`` (a list of integer vectors,
        counted from 1; 0 is the intercept) and ``values`` (one row for each label, one column for
        each output); or the path of a JSON file that jsonlite wrote of it. Of a list of layers
        (``keep_layers = TRUE``) the output of the last is taken.
    feature_names, output_names
        Names, which R does not keep.
    n_features
        Number of inputs, where the last ones have no term.

    Returns
    -------
    Polynomial

    Examples
    --------
    >>> import nn2poly as n2p
    >>> r = {"labels": [[0], [1], [1, 2]], "values": [[3.0], [0.5], [2.0]]}
    >>> n2p.from_r(r, feature_names=["age", "dose"])
    Polynomial(2 features, order 2, 3 terms, 1 output)
      y = 3 + 2 age · dose + 0.5 age
      coefficients per raw unit
    """
    found = _last_layer(_opened(source) if isinstance(source, str | Path) else source)
    terms = [_term(label) for label in _list(found["labels"], "labels")]
    values = _values(found["values"], len(terms))
    names = None if feature_names is None else list(feature_names)
    highest = 1 + max((index for term in terms for index in term), default=0)
    count = max(highest, n_features or 1) if names is None else len(names)
    if highest > count or (n_features is not None and n_features != count):
        raise _refused(f"{highest} inputs at least", f"{count}", "feature_names")
    if len(set(terms)) < len(terms):
        raise _refused("every label once", "a label twice", "labels")
    listed = Listed.of(terms, count)
    rows = [listed.index(term) for term in terms]
    ordered = np.zeros_like(values)
    ordered[rows] = values
    called = names or [f"x{j + 1}" for j in range(count)]
    return Polynomial(ordered, feature_names=called, output_names=output_names, terms=listed)


def _opened(path: str | Path) -> Any:
    file = Path(path)
    try:
        with open_regular(file) as opened:
            data = opened.read(LARGEST + 1)
    except OSError as error:
        raise _refused("a JSON file", error.strerror or str(error), str(file)) from error
    if len(data) > LARGEST:
        raise _refused(f"a file of at most {LARGEST >> 20} MB", "a larger one", str(file))
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _refused("JSON that jsonlite wrote", str(error)[:200], str(file)) from error


def _last_layer(found: Any) -> Mapping[str, Any]:
    """Find labels and values; of several layers the output of the last."""
    for _ in range(3):
        if isinstance(found, Mapping) and {"labels", "values"} <= set(found):
            return found
        parts = list(found.values()) if isinstance(found, Mapping) else found
        if isinstance(found, Mapping) and "output" in found:
            found = found["output"]
        elif isinstance(parts, list) and parts:
            found = parts[-1]
        else:
            break
    raise _refused("a list with labels and values", type(found).__name__, "source")


def _list(values: Any, where: str) -> list[Any]:
    if isinstance(values, list | tuple) and len(values):
        return list(values)
    raise _refused("a list", type(values).__name__, where)


def _term(label: Any) -> tuple[int, ...]:
    """Read a label: numbers from 1; 0 alone is the intercept. jsonlite may unbox a single one."""
    numbers = [label] if isinstance(label, int | float) else list(label)
    whole = all(isinstance(n, int | float) and not isinstance(n, bool) for n in numbers)
    if not numbers or not whole or any(n != int(n) or n < 0 for n in numbers):
        raise _refused("whole numbers from 1, or 0 alone", repr(label)[:100], "labels")
    if numbers == [0]:
        return ()
    if 0 in numbers:
        raise _refused("whole numbers from 1, or 0 alone", repr(label)[:100], "labels")
    return tuple(sorted(int(n) - 1 for n in numbers))


def _values(values: Any, n_terms: int) -> FloatArray:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise _refused("a matrix of numbers", type(values).__name__, "values") from error
    table = array[:, None] if array.ndim == 1 else array
    if table.ndim != 2 or len(table) != n_terms or not np.isfinite(table).all():
        raise _refused(
            f"finite numbers, {n_terms} rows, one for each label", f"shape {array.shape}", "values"
        )
    return np.asarray(table, dtype=np.float64)


def _refused(expected: str, found: str, where: str) -> InvalidInputError:
    return InvalidInputError(
        "This is no polynomial of the R package.",
        where=where,
        expected=expected,
        found=found,
        remedy=WRITE,
    )
