"""Rows of the Covertype tables, from what was measured at each order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nn2poly.algebra.monomials import count_terms
from nn2poly_paper.covertype_data import FEATURE_NAMES, FOREST_TYPES, N_CLASSES, N_FEATURES
from nn2poly_paper.ensembles import Kind, kind_row
from nn2poly_paper.measure import METHODS
from nn2poly_paper.store import Row

# What `covertype.measure` gave at each order.
Measured = list[dict[str, Any]]


def mse_rows(kind: Kind, orders: Sequence[int], found: Measured) -> list[Row]:
    """List the error of every class at every order (Table IV).

    Examples
    --------
    >>> found = {"taylor": None, "calibrated": {"mse": [0.1] * 7}}
    >>> row = mse_rows(("relu", False), [1], [found])[6]
    >>> row["forest"], row["mse_taylor"], row["mse_calibrated"]
    ('Krummholz', None, 0.1)
    """
    return [
        {
            **kind_row(kind),
            "class": k + 1,
            "forest": FOREST_TYPES[k],
            "Q": order,
            **{f"mse_{m}": _at(result[m], "mse", k) for m in METHODS},
        }
        for order, result in zip(orders, found, strict=True)
        for k in range(N_CLASSES)
    ]


def agreement_rows(kind: Kind, orders: Sequence[int], found: Measured) -> list[Row]:
    """List accuracy of the network and agreement of the polynomials at every order.

    Examples
    --------
    >>> shares = {"agreement": 0.99, "accuracy": 0.7}
    >>> found = {"rows": 100, "accuracy": 0.71, "taylor": None, "calibrated": shares}
    >>> agreement_rows(("relu", False), [2], [found])[0]["terms"]
    1540
    """
    return [
        {
            **kind_row(kind),
            "Q": order,
            "terms": count_terms(N_FEATURES, order),
            "test_rows": result["rows"],
            "network_accuracy": result["accuracy"],
            **{
                f"{what}_{m}": None if result[m] is None else result[m][what]
                for what in ("agreement", "accuracy")
                for m in METHODS
            },
        }
        for order, result in zip(orders, found, strict=True)
    ]


def confusion_rows(kind: Kind, orders: Sequence[int], found: Measured) -> list[Row]:
    """Lay out the confusion matrices (Tables III and V): rows are the network's labels.

    Examples
    --------
    >>> found = {"confusion": [[k] * 7 for k in range(7)], "taylor": None, "calibrated": None}
    >>> confusion_rows(("relu", False), [1], [found])[2]["5"]
    2
    """
    matrices: list[tuple[str, int | None, Any]] = [("response", None, found[0]["confusion"])]
    matrices += [
        (method, order, result[method]["confusion"])
        for order, result in zip(orders, found, strict=True)
        for method in METHODS
        if result[method] is not None
    ]
    return [
        {**kind_row(kind), "against": against, "Q": order, "network": k + 1}
        | {str(j + 1): matrix[k][j] for j in range(N_CLASSES)}
        for against, order, matrix in matrices
        for k in range(N_CLASSES)
    ]


def coefficient_rows(kind: Kind, found: dict[str, Any], n: int = 10) -> list[Row]:
    """List the ten largest coefficients of each class at order 1, the intercept aside.

    Examples
    --------
    >>> values = np.zeros((55, 7))
    >>> values[1, 0] = -3.0
    >>> found = {"taylor": {"coefficients": values}, "calibrated": None}
    >>> row = coefficient_rows(("tanh", True), found)[0]
    >>> row["term"], row["coefficient"]
    ('Elevation', -3.0)
    """
    rows = []
    for method in METHODS:
        if found[method] is None or found[method]["coefficients"] is None:
            continue
        values = np.array(found[method]["coefficients"])[1:]
        for k in range(N_CLASSES):
            order = np.argsort(-np.abs(values[:, k]), kind="stable")[:n]
            rows += [
                {
                    **kind_row(kind),
                    "method": method,
                    "class": k + 1,
                    "forest": FOREST_TYPES[k],
                    "rank": rank,
                    "term": FEATURE_NAMES[i],
                    "coefficient": float(values[i, k]),
                }
                for rank, i in enumerate(order, start=1)
            ]
    return rows


def _at(result: dict[str, Any] | None, key: str, place: int) -> float | None:
    return None if result is None else float(result[key][place])
