"""Labels of a classifier: whether both agree by more than chance, and whether they are right."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.arguments import listed
from nn2poly.arrays import BoolArray, FloatArray, IntArray
from nn2poly.cards import LabelFidelity, LabelScores
from nn2poly.errors import InvalidInputError
from nn2poly.inputs import level_text
from nn2poly.outputs import Outputs


def read_labels(y: Any, n_rows: int) -> npt.NDArray[Any]:
    """Check true labels: one for each of n rows.

    Examples
    --------
    >>> read_labels(["no", "yes"], 2)
    array(['no', 'yes'], dtype='<U3')
    """
    values = np.asarray(y.to_numpy() if hasattr(type(y), "to_numpy") else y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (n_rows,):
        raise InvalidInputError(
            "The labels do not go with the data.",
            where="y",
            expected=f"one label for each of {n_rows:,} rows",
            found=f"shape {values.shape}",
        )
    return values


def measure_labels(
    outputs: Outputs, truth: FloatArray, guess: FloatArray, y: npt.NDArray[Any] | None = None
) -> LabelFidelity | None:
    """Compare labels of raw outputs (n, k) of the network and the polynomial, and with true ones.

    None where there is no single label: of a regression, or of labels that exclude nothing.

    Examples
    --------
    >>> raw = np.array([[-1.0], [2.0], [-3.0], [0.5]])
    >>> y = np.array([0, 1, 0, 0])
    >>> found = measure_labels(Outputs(("y",), link="sigmoid"), raw, raw - 1.0, y)
    >>> found.kappa, found.majority, found.polynomial.confusion, found.per_class
    (0.5, 0.5, ((3, 0), (0, 1)), {'0': 1.0, '1': 0.5})
    """
    if not outputs.is_classifier or (outputs.link == "sigmoid" and outputs.count > 1):
        if y is not None:
            raise InvalidInputError(
                "Labels go with a classifier of one label for each row.",
                where="y",
                found="several labels for a row" if outputs.is_classifier else "a regression",
                remedy="leave y out; or declare the classifier: convert(model, link=…, classes=…)",
            )
        return None
    classes = tuple(level_text(c) for c in outputs.classes or range(max(2, outputs.count)))
    theirs, ours = (_places(outputs.labels(raw), classes) for raw in (truth, guess))
    true = None if y is None else _true_places(y, classes)
    return LabelFidelity(
        classes,
        outputs.threshold,
        float(np.bincount(theirs).max() / len(theirs)),
        _kappa(theirs, ours, len(classes)),
        None if true is None else _scores(outputs, truth, theirs, true, len(classes)),
        None if true is None else _scores(outputs, guess, ours, true, len(classes)),
        tuple(tuple(row) for row in _counts(theirs, ours, len(classes)).tolist()),
    )


def _places(labels: npt.NDArray[Any], classes: tuple[str, ...]) -> IntArray:
    place = {name: k for k, name in enumerate(classes)}
    found = [place.get(level_text(value), -1) for value in labels.tolist()]
    return np.array(found, dtype=np.intp)


def _true_places(y: npt.NDArray[Any], classes: tuple[str, ...]) -> IntArray:
    places = _places(y, classes)
    if (places < 0).any():
        unknown = sorted({str(value) for value in y[places < 0].tolist()})
        raise InvalidInputError(
            "Some labels are no class of the polynomial.",
            where="y",
            expected=f"labels among {listed(classes)}",
            found=listed(unknown),
            remedy="pass the labels as the network was taught them",
        )
    return places


def _counts(rows: IntArray, columns: IntArray, n: int) -> IntArray:
    table = np.zeros((n, n), dtype=np.intp)
    np.add.at(table, (rows, columns), 1)
    return table


def _kappa(theirs: IntArray, ours: IntArray, n: int) -> float:
    """Cohen's κ: agreement beyond that of the same shares dealt at random; NaN of one label."""
    table = _counts(theirs, ours, n) / len(ours)
    chance = float(table.sum(axis=1) @ table.sum(axis=0))
    return (float(np.trace(table)) - chance) / (1.0 - chance) if chance < 1.0 else float("nan")


def _scores(
    outputs: Outputs, raw: FloatArray, places: IntArray, true: IntArray, n: int
) -> LabelScores:
    table, chances = _counts(true, places, n), outputs.probabilities(raw)
    shown = np.eye(n)[true]
    positive = true == 1
    is_pair = n == 2 and positive.any() and not positive.all()
    return LabelScores(
        accuracy=float(np.mean(places == true)),
        confusion=tuple(tuple(row) for row in table.tolist()),
        brier=float(np.mean(((chances - shown) ** 2).sum(axis=1) / 2)),
        auc=_auc(chances[:, 1], positive) if is_pair else None,
        sensitivity=float(table[1, 1] / table[1].sum()) if is_pair else None,
        specificity=float(table[0, 0] / table[0].sum()) if is_pair else None,
    )


def _auc(score: FloatArray, positive: BoolArray) -> float:
    """Area under the ROC curve: how often a positive row is above a negative one, ties half."""
    _, places, counts = np.unique(score, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    n = int(positive.sum())
    above = float(ranks[positive].sum()) - n * (n + 1) / 2
    return above / (n * (len(score) - n))
