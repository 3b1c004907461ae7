"""Bring a scikit-learn pipeline: numbers, categories, a scaled target and a search.

Run with ``python examples/from_sklearn.py``. The data are made by hand, like a small survey of
wages; the pipeline goes into nn2poly as it is, and so does the raw data frame.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import nn2poly as n2p


def survey(n: int = 1500, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """Make up people and their wages, where a year of schooling pays more in some jobs."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 66, n),
            "schooling": rng.integers(8, 20, n),
            "hours": rng.normal(38.0, 6.0, n).round(1),
            "job": rng.choice(["clerk", "engineer", "nurse"], n),
            "union": rng.choice(["no", "yes"], n),
        }
    )
    pay = 8 + 0.9 * X.schooling - 0.02 * (X.age - 50) ** 2
    pay += np.where(X.job == "engineer", 1.2 * (X.schooling - 10), 0.0)
    pay += np.where(X.union == "yes", 2.0, 0.0)
    return X, pd.Series(pay * X.hours + rng.normal(0, 20, n), name="wage")


def train(X: pd.DataFrame, y: pd.Series) -> Any:
    columns = make_column_transformer(
        (OneHotEncoder(drop="first"), ["job", "union"]), remainder=StandardScaler()
    )
    network = MLPRegressor(hidden_layer_sizes=(16, 16), max_iter=200, random_state=0)
    model = TransformedTargetRegressor(
        make_pipeline(columns, network), transformer=StandardScaler()
    )
    rates = {"regressor__mlpregressor__learning_rate_init": [0.003, 0.01]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return GridSearchCV(model, rates, cv=3).fit(X, y)


def main() -> None:
    X, y = survey()
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    model = train(X_train, y_train)
    score = model.score(X_test, y_test)
    print(f"The best network of the search predicts wages with R2 = {score:.3f}.\n")

    poly = n2p.convert(model, max_order=2, data=X_train, output_names=["wage"])
    print(n2p.fidelity(model, poly, X_test), end="\n\n")

    print("One more year of schooling, for people of average age and hours outside the union:")
    per_unit = poly.rebase(center=poly.center, scale=np.ones(poly.n_features))
    base = per_unit.coefficient("schooling")
    for job in ("clerk", "engineer"):
        print(f"  {job:<10}{base + per_unit.coefficient(f'schooling job={job}'):+.1f} a week")


if __name__ == "__main__":
    main()
