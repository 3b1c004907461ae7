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
from nn2poly.verdicts import MIN_UNITS, Labels


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
    outputs: Outputs,
    truth: FloatArray,
    guess: FloatArray,
    y: npt.NDArray[Any] | None = None,
    *,
    weights: FloatArray | None = None,
) -> LabelFidelity | None:
    """Compare labels of raw outputs (n, k) of the network and the polynomial, and with true ones.

    Shares of the network's labels, and κ, are of rows with these weights (n,).

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
    table = _counts(theirs, ours, len(classes), weights)
    return LabelFidelity(
        classes,
        outputs.threshold,
        float(table.sum(axis=1).max() / table.sum()),
        _kappa(table),
        None if true is None else _scores(outputs, truth, theirs, true, len(classes)),
        None if true is None else _scores(outputs, guess, ours, true, len(classes)),
        tuple(tuple(row) for row in _counts(theirs, ours, len(classes)).tolist()),
    )


def worst_label(
    outputs: Outputs, truth: FloatArray, guess: FloatArray, weights: FloatArray
) -> Labels | None:
    """Find the lowest κ of the labels of raw outputs (n, k), and the label that is missed most.

    Each label is judged by itself, too: of many classes one of which is rare, all together hardly
    show it; and so are labels that exclude nothing. None of a regression, and where both give
    the same label to all rows.

    Parameters
    ----------
    weights
        Array (n,): weights of the rows.

    Examples
    --------
    >>> raw = np.array([[-1.0], [2.0], [-3.0], [0.5]])
    >>> worst_label(Outputs(("y",), link="sigmoid"), raw, raw - 1.0, np.ones(4))
    Labels(kappa=0.5, label='1', n_rows=2, share=0.5)
    """
    if not outputs.is_classifier:
        return None
    theirs, ours = (outputs.labels(raw) for raw in (truth, guess))
    names, found = outputs.names, []
    if theirs.ndim == 1:
        names = tuple(level_text(c) for c in outputs.classes or range(max(2, outputs.count)))
        theirs, ours = (_places(labels, names) for labels in (theirs, ours))
        found.append(_missed(names, theirs, ours, weights))
        # Of a few rows κ is anything, and of two classes it is that of either.
        many = [k for k in range(len(names)) if np.sum(theirs == k) >= MIN_UNITS]
        judged = many if len(names) > 2 else []
        names = tuple(names[k] for k in judged)
        theirs, ours = (labels[:, None] == judged for labels in (theirs, ours))
    for k, name in enumerate(names):
        one, other = (labels[:, k].astype(np.intp) for labels in (theirs, ours))
        found.append(_missed((f"not {name}", name), one, other, weights))
    return min(filter(None, found), key=lambda one: one.kappa, default=None)


def _missed(
    classes: tuple[str, ...], theirs: IntArray, ours: IntArray, weights: FloatArray
) -> Labels | None:
    """Give κ of two labels (n,), and the one whose share of equal labels is lowest."""
    table = _counts(theirs, ours, len(classes), weights)
    kappa, given = _kappa(table), table.sum(axis=1)
    if np.isnan(kappa):
        return None
    shares = np.where(given > 0, np.diag(table) / np.maximum(given, 1e-300), np.inf)
    k = int(np.argmin(shares))
    return Labels(kappa, classes[k], int(np.sum(theirs == k)), float(shares[k]))


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


def _counts(
    rows: IntArray, columns: IntArray, n: int, weights: FloatArray | None = None
) -> npt.NDArray[Any]:
    """Count pairs of labels (n, n), or sum their weights."""
    table = np.zeros((n, n), dtype=np.intp if weights is None else np.float64)
    np.add.at(table, (rows, columns), 1 if weights is None else weights)
    return table


def _kappa(counts: npt.NDArray[Any]) -> float:
    """Cohen's κ: agreement beyond that of the same shares dealt at random; NaN of one label."""
    table = counts / counts.sum()
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
