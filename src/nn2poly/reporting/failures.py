"""The rows on which formula and network differ most."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.assess.subgroups import scaled_errors
from nn2poly.cards import FidelityCard
from nn2poly.formula.piecewise import Explicit, PiecewisePolynomial
from nn2poly.inputs import outside_range
from nn2poly.network.oracle import Model
from nn2poly.reporting.columntexts import column_value
from nn2poly.reporting.contents import Chosen, WorstRow
from nn2poly.reporting.describe import Rows

# Rows of the table (taste).
N_WORST = 10


@dataclass(frozen=True)
class Measured:
    """The rows with the raw outputs (n, k) of both models, the card on them, and the network."""

    rows: Rows
    guess: FloatArray
    truth: FloatArray | None
    card: FidelityCard | None
    network: Model | None = None

    @property
    def outputs(self) -> dict[str, FloatArray]:
        """Raw outputs by the name of the model."""
        both = {} if self.truth is None else {"network": self.truth}
        return {**both, "formula": self.guess}


def worst_rows(poly: Explicit, measured: Measured) -> tuple[WorstRow, ...]:
    """List the rows of the largest error, worst first.

    Errors are in units of the output's range, of a classifier in probability.
    """
    truth, rows = measured.truth, measured.rows
    if truth is None:
        return ()
    share = _shares(poly, truth, measured.guess)
    output = share.argmax(axis=1)
    places = np.argsort(-share.max(axis=1), kind="stable")[:N_WORST]
    where: list[Any] = [None] * len(places)
    if isinstance(poly, PiecewisePolynomial):
        where = poly.region_of(rows.X[places]).tolist()
    chosen = _chosen(poly, truth[places], measured.guess[places], output[places])
    return tuple(
        WorstRow(
            row=int(rows.index[i]),
            output=poly.output_names[output[i]],
            network=float(truth[i, output[i]]),
            polynomial=float(measured.guess[i, output[i]]),
            share=float(share[i, output[i]]),
            chosen=choice,
            response=_spelt(rows.y, int(i)),
            values=tuple(_value(poly, c, rows, i) for c in _columns(poly)),
            outside=_outside(poly, rows.X[i]),
            region=region,
        )
        for i, choice, region in zip(places.tolist(), chosen, where, strict=True)
    )


def _shares(poly: Explicit, truth: FloatArray, guess: FloatArray) -> FloatArray:
    """Give the errors (n, k) that rows are ranked by."""
    if poly.outputs.is_classifier:
        return np.abs(scaled_errors(poly.outputs, truth, guess))
    spread = np.ptp(truth, axis=0)
    result: FloatArray = np.abs(truth - guess) / np.where(spread > 0, spread, 1.0)
    return result


def _columns(poly: Explicit) -> range:
    return range(len(poly.inputs.columns))


def _value(poly: Explicit, number: int, rows: Rows, i: int) -> object:
    """Give what a row holds in a column; what the model filled in is missing."""
    is_filled = rows.absent[rows.index[i], list(poly.inputs.places[number])].any()
    return "missing" if is_filled else column_value(poly.inputs, number, rows.X[i])


def _outside(poly: Explicit, x: FloatArray) -> tuple[bool, ...]:
    """Tell of every column whether a raw row (p,) lies outside the range that was seen."""
    if poly.low is None or poly.high is None:
        return (False,) * len(poly.inputs.columns)
    found = outside_range(x[None], poly.low, poly.high)[0]
    return tuple(bool(found[list(places)].any()) for places in poly.inputs.places)


def _chosen(
    poly: Explicit, truth: FloatArray, guess: FloatArray, output: IntArray
) -> list[Chosen | None]:
    """Give the class that the network chooses on every row, and its probability in both.

    With several labels it is the label of the row's ``output``.
    """
    if not poly.outputs.is_classifier:
        return [None] * len(truth)
    ours, theirs = (poly.outputs.probabilities(raw) for raw in (truth, guess))
    several = poly.link == "sigmoid" and poly.n_outputs > 1
    numbered = replace(poly.outputs, classes=None)
    column = output if several else numbered.labels(truth)
    names = poly.output_names if several else poly.classes or tuple(range(ours.shape[1]))
    return [
        Chosen(str(names[k]), float(ours[i, k]), float(theirs[i, k]))
        for i, k in enumerate(column.tolist())
    ]


def _spelt(y: npt.NDArray[Any] | None, i: int) -> str:
    if y is None:
        return ""
    return ", ".join(
        f"{v:.4g}" if isinstance(v, float) else str(v) for v in np.ravel(y[i]).tolist()
    )
