"""Predictions of any formula: read the rows, evaluate, apply the link; streams batch by batch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from nn2poly.arguments import plural
from nn2poly.arrays import FloatArray
from nn2poly.errors import OutsideRangeWarning, warn_user
from nn2poly.formula.evaluate import check_batch, check_precision
from nn2poly.inputs import Inputs
from nn2poly.outputs import Outputs
from nn2poly.streams import is_stream, over_rows


class Evaluated(Protocol):
    """What is asked of a formula to predict with it."""

    @property
    def inputs(self) -> Inputs:
        """What goes in."""

    @property
    def outputs(self) -> Outputs:
        """What comes out."""

    def raw_outputs(
        self, X: FloatArray, dtype: npt.DTypeLike = np.float64, batch_size: int | None = None
    ) -> FloatArray:
        """Compute the raw outputs (n, n_outputs) of raw features (n, p)."""


def read_rows(inputs: Inputs, X: Any) -> FloatArray:
    """Read a table to raw features (n, p), and warn about rows that are unlike all others."""
    rows = inputs.read(X)
    inputs.warn_outside(rows)
    inputs.warn_levels(rows)
    return rows


def predict(
    formula: Evaluated, X: Any, dtype: npt.DTypeLike = np.float64, batch_size: int | None = None
) -> FloatArray:
    """Compute the outputs: array (n,) for one, (n, n_outputs) for several.

    Of a classifier raw outputs, before the link; else the target.
    """
    kind = check_precision(dtype)
    rows = None if batch_size is None else check_batch(batch_size)
    width = formula.outputs.count
    if is_stream(X):
        one = np.zeros(width, kind)
        work = partial(predict, formula, dtype=kind, batch_size=rows)
        return _over(work, X, one[0] if width == 1 else one)
    with np.errstate(over="ignore", invalid="ignore"):  # a warning in words follows
        raw = formula.raw_outputs(read_rows(formula.inputs, X), kind, rows)
    found = formula.outputs.predictions(raw)
    warn_not_finite(found)
    return found[:, 0] if width == 1 else found


def predict_proba(formula: Evaluated, X: Any) -> FloatArray:
    """Compute probabilities through the link: (n, n_classes), or (n, n_labels)."""
    return _through(formula, X, partial(_chances, formula.outputs))


def predict_label(formula: Evaluated, X: Any, threshold: float | None = None) -> npt.NDArray[Any]:
    """Choose the class of every row, at a threshold: (n,), or (n, n_labels) of 0 and 1."""
    return _through(formula, X, partial(formula.outputs.labels, threshold=threshold))


def _through(
    formula: Evaluated, X: Any, last: Callable[[FloatArray], npt.NDArray[Any]]
) -> npt.NDArray[Any]:
    """Apply a last step to raw outputs (n, n_outputs)."""
    if is_stream(X):
        one = last(np.zeros((1, formula.outputs.count)))
        return _over(partial(_through, formula, last=last), X, one[0])
    with np.errstate(over="ignore", invalid="ignore"):
        raw = formula.raw_outputs(read_rows(formula.inputs, X))
    return last(raw)


def _chances(outputs: Outputs, raw: FloatArray) -> FloatArray:
    """Give the probabilities of raw outputs (n, n_outputs)."""
    warn_not_finite(raw)
    return outputs.probabilities(raw)


def warn_not_finite(found: FloatArray) -> None:
    """Warn about rows whose outputs (n, k) are no numbers, as their powers overflow."""
    bad = np.flatnonzero(~np.isfinite(found).all(axis=1))
    if len(bad):
        rows, have = plural(len(found), "row"), "has" if len(bad) == 1 else "have"
        warn_user(
            f"{len(bad):,} of {rows} {have} no finite prediction (the first is row {bad[0]}): the "
            "numbers there are too large for the powers of the formula, or the link leads beyond "
            "all numbers. Check the units of these rows; a conversion with data and bounds holds "
            "numbers within the range of the sample.",
            OutsideRangeWarning,
        )


def _over(work: Callable[[Any], npt.NDArray[Any]], X: Any, one: Any) -> npt.NDArray[Any]:
    """Do the work on a stream, batch by batch; ``one`` is what a row gives."""
    result: npt.NDArray[Any] = over_rows(work, X, np.shape(one), np.asarray(one).dtype)
    return result
