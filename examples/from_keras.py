"""Turn a Keras model into a polynomial in the raw units of its inputs.

Run with ``python examples/from_keras.py``. The data are scikit-learn's diabetes study: 442
patients, ten measurements in their own units, and the progression of the disease.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

import nn2poly as n2p
from nn2poly.training import KerasConstraint


def main() -> None:
    keras.utils.set_random_seed(0)
    data = load_diabetes(as_frame=True, scaled=False)
    X, X_test, y, _ = train_test_split(data.data, data.target, random_state=1)

    model = trained(X, y)
    poly = n2p.convert(model, max_order=2, data=X, output_names=["progression"])
    print("A network as it comes, calibrated on the training data.\n")
    print(n2p.fidelity(model, poly, X_test), poly.top(5), sep="\n\n", end="\n\n")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        model.save(path)
        same = n2p.convert(path, max_order=2, data=X)
    print(f"From the saved file: {same}\n")

    model = trained(X, y, callbacks=[KerasConstraint()])
    poly = n2p.convert(model, max_order=2, feature_names=X.columns)
    print("The paper's way: constrained while training, then Taylor's series, without data.\n")
    print(n2p.fidelity(model, poly, X_test))


def trained(X: Any, y: Any, callbacks: list[Any] | None = None) -> Any:
    """Train a network that takes raw inputs and gives raw outputs."""
    scaler = keras.layers.Normalization()
    scaler.adapt(X.to_numpy())
    model = keras.Sequential(
        [
            keras.Input((X.shape[1],)),
            scaler,
            keras.layers.Dense(32, "tanh"),
            keras.layers.Dense(16, "tanh"),
            keras.layers.Dense(1),
            keras.layers.Rescaling(float(y.std()), offset=float(y.mean())),
        ]
    )
    model.compile(keras.optimizers.AdamW(0.003, weight_decay=0.1), "mse")
    model.fit(X.to_numpy(), y.to_numpy(), epochs=20, verbose=0, callbacks=callbacks)
    return model


if __name__ == "__main__":
    main()
