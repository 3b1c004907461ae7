"""Output links: from the raw outputs of a network to probabilities and labels.

Those of regressions are in `nn2poly.target_links`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nn2poly.errors import InvalidInputError
from nn2poly.target_links import TARGET_LINKS

__all__ = ["CLASSIFIERS", "LINKS", "labels", "logit", "probabilities", "sigmoid"]

CLASSIFIERS = ("sigmoid", "softmax")
LINKS = ("identity", *CLASSIFIERS, *TARGET_LINKS)


def probabilities(raw: NDArray[np.floating[Any]], link: str) -> NDArray[np.float64]:
    """Turn raw outputs into probabilities.

    Parameters
    ----------
    raw
        ``(n, k)`` outputs before the link.
    link
        ``"sigmoid"`` with k = 1 is binary and gives both classes, in scikit-learn's order;
        with k > 1 it is multilabel and gives the probability of each label. ``"softmax"``
        gives one class of k.

    Returns
    -------
    ndarray of shape (n, 2) when binary, else (n, k)

    Raises
    ------
    InvalidInputError
        For a link of a regression, which has no probabilities.

    Examples
    --------
    >>> probabilities(np.array([[0.0], [10_000.0]]), "sigmoid")
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    _check_classifier(link, "probabilities")
    values = np.asarray(raw, dtype=np.float64)
    if link == "softmax":
        return _softmax(values)
    # The left column is sigmoid(-x), not 1 - p, which is 0 as soon as p rounds to 1.
    return sigmoid(np.hstack([-values, values]) if values.shape[1] == 1 else values)


def labels(
    raw: NDArray[np.floating[Any]],
    link: str,
    classes: tuple[str | int | float | bool, ...] | None,
    *,
    cut: float | None = None,
) -> NDArray[Any]:
    """Turn raw outputs into labels.

    Parameters
    ----------
    raw
        ``(n, k)`` outputs before the link.
    link
        ``"sigmoid"`` (binary with k = 1, multilabel with k > 1) or ``"softmax"``.
    classes
        The class of each probability column; None stands for 0, 1, …. Multilabel ignores it.
    cut
        The logit from which on a label, or the second of two classes, is chosen; None for the
        most probable class.

    Returns
    -------
    ndarray of shape (n,), or (n, k) of 0 and 1 when multilabel

    Raises
    ------
    InvalidInputError
        For a link of a regression, for NaN in ``raw``, for the wrong number of classes, and for
        a cut between more than two.

    Examples
    --------
    >>> labels(np.array([[-1.0], [2.0]]), "sigmoid", ("no", "yes"))
    array(['no', 'yes'], dtype='<U3')
    """
    _check_classifier(link, "labels")
    values = np.asarray(raw, dtype=np.float64)
    _check_not_nan(values)
    width = values.shape[1]
    if link == "sigmoid" and width > 1:
        return _reached(values, cut)
    picked = _reached(values[:, 0], cut) if link == "sigmoid" else _most_probable(values, cut)
    chosen: NDArray[Any] = _class_array(classes, 2 if link == "sigmoid" else width)[picked]
    return chosen


def _reached(logits: NDArray[np.float64], cut: float | None) -> NDArray[np.int64]:
    # Without a cut as scikit-learn does: a tie is no label, and the first of two classes.
    return np.asarray(logits > 0 if cut is None else logits >= cut).astype(np.int64)


def _most_probable(values: NDArray[np.float64], cut: float | None) -> NDArray[np.int64]:
    if cut is None:
        return np.asarray(values.argmax(axis=1))
    if values.shape[1] != 2:
        raise InvalidInputError(
            "A threshold chooses between two classes.",
            where="threshold",
            expected="a classifier of two classes",
            found=f"{values.shape[1]} classes",
            remedy="leave the threshold out: the most probable class is chosen",
        )
    return _reached(values[:, 1] - values[:, 0], cut)


def logit(probability: float) -> float:
    """Give the logit of a probability, infinite at 0 and 1.

    Examples
    --------
    >>> logit(0.5), logit(1.0)
    (0.0, inf)
    """
    if not 0.0 < probability < 1.0:
        return float("inf") if probability >= 1.0 else float("-inf")
    return float(np.log(probability) - np.log1p(-probability))


def sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give 1 / (1 + exp(-x)) without overflow.

    Examples
    --------
    >>> sigmoid(np.array([0.0, -1e4]))
    array([0.5, 0. ])
    """
    with np.errstate(under="ignore"):
        small = np.exp(-np.abs(x))  # at most 1: never overflows
        return np.where(x >= 0, 1.0, small) / (1.0 + small)


def _softmax(x: NDArray[np.float64]) -> NDArray[np.float64]:
    half = np.finfo(np.float64).max / 2  # so that the difference of two entries is finite
    bounded = np.clip(x, -half, half)
    with np.errstate(under="ignore"):
        weights = np.exp(bounded - bounded.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _class_array(classes: tuple[object, ...] | None, count: int) -> NDArray[Any]:
    """Return the classes as an array of shape (count,) that keeps each class as it was."""
    if classes is None:
        return np.arange(count)
    if len(classes) != count:
        raise InvalidInputError(
            "The classes do not match the outputs.",
            where="classes",
            expected=f"{count} classes",
            found=f"{len(classes)}: {', '.join(map(repr, classes[:10]))}",
            remedy="give one class for each probability column (two for one sigmoid output)",
        )
    array = np.array(classes)
    # NumPy would write the 1 of (1, "a") as the string "1".
    mixed = array.dtype.kind == "U" and not all(isinstance(c, str) for c in classes)
    return np.array(classes, dtype=object) if mixed else array


def _check_classifier(link: str, what: str) -> None:
    if link not in LINKS:
        raise InvalidInputError(
            "Unknown output link.",
            where="link",
            expected="one of " + ", ".join(map(repr, LINKS)),
            found=repr(link),
            remedy="pass one of the expected links",
        )
    if link not in CLASSIFIERS:
        raise InvalidInputError(
            f"A regression has no {what}.",
            where="link",
            expected="'sigmoid' or 'softmax'",
            found=repr(link),
            remedy="use predict(), or give the network the link of a classifier",
        )


def _check_not_nan(raw: NDArray[np.float64]) -> None:
    bad = np.flatnonzero(np.isnan(raw).any(axis=1))
    if bad.size:
        raise InvalidInputError(
            "NaN has no label.",
            where="raw outputs",
            expected="numbers",
            found=f"NaN in {bad.size:,} of {len(raw):,} rows (the first is row {bad[0]})",
            remedy="these rows overflow the polynomial: check how far they are from the data",
        )
