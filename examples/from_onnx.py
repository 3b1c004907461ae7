"""Open an ONNX file that somebody else trained, and read it as a polynomial.

Run with ``python examples/from_onnx.py``. A scikit-learn pipeline learns to tell malignant from
benign tumours (scikit-learn's breast cancer data, 30 measurements in their own units) and is
exported with skl2onnx. From there on only the file is used.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime
import pandas as pd
from skl2onnx import to_onnx
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nn2poly as n2p


def main() -> None:
    data = load_breast_cancer(as_frame=True)
    labels = np.where(data.target == 0, "malignant", "benign")
    X, X_test, y, y_test = train_test_split(data.data, labels, random_state=0)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tumour.onnx"
        export(X, y, path)
        predicted = run(path, X_test)
        # All that the file says about itself is kept: the scaler becomes the coordinates, the
        # sigmoid the link, the labels the classes. Only the names of the columns are not in it.
        network = n2p.read_network(path).named(X.columns)

    print(f"{network}, either {' or '.join(network.classes or [])}.")
    ours = np.where(network.predict(X_test) > 0, "malignant", "benign")
    print(f"It gives the label of onnxruntime on {np.mean(ours == predicted):.0%} of new tumours,")
    print(f"and the right one on {np.mean(ours == y_test):.1%} of them.\n")

    poly = n2p.convert(network, max_order=2, data=X)
    print(n2p.fidelity(network, poly, X_test), end="\n\n")
    print("What speaks for malignant, per standard deviation:\n")
    print(poly.top(8))


def export(X: pd.DataFrame, y: npt.NDArray[np.str_], path: Path) -> None:
    network = MLPClassifier((16, 8), activation="tanh", alpha=1.0, max_iter=1000, random_state=0)
    model = make_pipeline(StandardScaler(), network).fit(X.to_numpy(), y)
    path.write_bytes(to_onnx(model, X.to_numpy(dtype=np.float32)[:1]).SerializeToString())


def run(path: Path, X: pd.DataFrame) -> npt.NDArray[np.str_]:
    session = onnxruntime.InferenceSession(path)
    (labels,) = session.run(["output_label"], {"X": X.to_numpy(dtype=np.float32)})
    return np.asarray(labels)


if __name__ == "__main__":
    main()
