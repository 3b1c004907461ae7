"""Train a small ReLU network on real data, turn it into a polynomial, and read it.

Run with ``make demo``. The data are scikit-learn's diabetes study: 442 patients, ten
baseline measurements in their own units, and the progression of the disease a year later.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nn2poly as n2p
from nn2poly.tables import Table

NAMES = {"bp": "blood pressure", "s1": "cholesterol", "s2": "ldl", "s3": "hdl",
         "s4": "cholesterol/hdl", "s5": "log triglycerides", "s6": "glucose"}  # fmt: skip


def main() -> None:
    data = load_diabetes(as_frame=True, scaled=False)
    X = data.data.rename(columns=NAMES)
    X_train, X_test, y_train, y_test = train_test_split(X, data.target, random_state=1)

    network = MLPRegressor(hidden_layer_sizes=(32, 16), activation="relu", alpha=1.0,
                           learning_rate_init=0.005, max_iter=300, random_state=0)  # fmt: skip
    model = make_pipeline(StandardScaler(), network)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 300 rounds are enough here
        model.fit(X_train, y_train)
    score = model.score(X_test, y_test)
    print(f"A 10-32-16-1 ReLU network predicts disease progression with R2 = {score:.2f}.\n")

    # The whole pipeline goes in: the scaler folds in, and everything is in raw units.
    begin = time.perf_counter()
    poly = n2p.convert(model, max_order=2, data=X_train, output_names=["progression"])
    print(f"Converted in {1000 * (time.perf_counter() - begin):.0f} ms: {poly}\n")

    print("How far can it be trusted? On patients that neither has seen:\n")
    print(n2p.fidelity(model, poly, X_test), end="\n\n")
    print(most_important(poly, 10), end="\n\n")
    print("How few terms would do?\n")
    print(n2p.sparse_path(model, poly, X_train, max_terms=12))


def most_important(poly: n2p.Polynomial, n: int) -> Table:
    """List the largest terms per standard deviation, and what one raw unit changes."""
    per_unit = poly.rebase(center=poly.center, scale=np.ones(poly.n_features))
    rows = tuple((name, size, per_unit.coefficient(name)) for name, _, size in poly.top(n))
    return Table(
        "What drives the prediction, around the average patient",
        ("term", "per standard deviation", "per unit"),
        rows,
        note="sex counts as 0 or 1; a product of two features is an interaction",
    )


if __name__ == "__main__":
    main()
