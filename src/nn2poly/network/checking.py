"""Is the network that was read the model? Both are asked for the same rows.

A reader follows what a model is made of. What that does not show (an overridden method, a result
written to another tensor, numbers drawn by a generator of its own) shows in its outputs.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.errors import (
    InvalidInputError,
    NN2PolyError,
    OutsideRangeWarning,
    UnsupportedModelError,
    warn_user,
)
from nn2poly.inputs.joined import Parts
from nn2poly.network.network import Network
from nn2poly.network.readers import reader_of
from nn2poly.outputs import Outputs

# Rows of the data that are compared (issue), and rows that are drawn without data.
ROWS, DRAWN = 200, 20
# Readers whose models can be asked themselves.
ASKED = ("flax", "keras", "onnx", "sklearn", "torch")
# Outputs may differ by so much of their deviation and of their size: what single precision leaves
# of a deep network is a tenth of that. In half precision by so many units in the last place.
OF_DEVIATION, OF_SIZE, HALF_UNITS = 1e-3, 1e-4, 16.0
# So many spreads from where a step was fitted, a column is another one: a median is within one
# deviation of the mean.
FAR = 10.0


def check_reading(
    network: Network,
    model: Any,
    table: Any = None,
    *,
    output: str | int | None = None,
    parts: Parts | None = None,
) -> None:
    """Refuse a network that does not give what its model gives.

    Parameters
    ----------
    network
        What was read, in the columns of the model.
    model
        The model.
    table
        At most `ROWS` rows as the user has them; None to draw some around the origin.
    output
        The one that was read, of a model that has several.
    parts
        How the columns are cut into the inputs of a PyTorch model that has several.

    Raises
    ------
    UnsupportedModelError
        Showing the outputs of both.
    """
    reader = reader_of(model)
    if reader == "files":
        reader, model = _opened(model)
    if reader not in ASKED:
        return
    if table is None:
        X = _drawn(network)
    else:
        table, X = _complete(table, network)
        if not len(X):
            return
    own = import_module(f"nn2poly.network.readers.{reader}.answers").own_outputs
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the framework, about itself
            # A pipeline encodes its columns itself, and knows what its levels stand for.
            rows = X if reader == "sklearn" else network.inputs.as_columns(X)
            cut = {"n_features": parts} if parts is not None and reader == "torch" else {}
            found = own(model, rows, table, output, **cut)
    except NN2PolyError:
        raise
    except Exception as error:  # a model may raise anything
        raise _fails(model, X, error) from error
    if found is not None:
        _compare(network, type(model).__name__, X, found)


def notice_raw(network: Network, model: Any, after: str, X: FloatArray) -> None:
    """Warn about rows X (n, p) that look like raw data where those after a step belong."""
    place = import_module("nn2poly.network.readers.sklearn").place_after(model, after)
    if place is None or len(place[0]) != X.shape[1] or not len(X):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about columns that are empty
        middle = np.nanmedian(X, axis=0)
    far = np.flatnonzero(np.abs(middle - place[0]) > FAR * np.maximum(place[1], 1e-300))
    if not len(far):
        return
    j = int(far[0])
    names = network.inputs.feature_names
    others = f" ({len(far)} columns in all are far off)" if len(far) > 1 else ""
    warn_user(
        f"The column {names[j]!r} lies around {middle[j]:.4g}, while the model expects values "
        f"around {place[0][j]:.4g} ± {place[1][j]:.2g} after the step {after!r}{others}: these "
        "look like raw data; pass what the step gives, model[:…].transform(X).",
        OutsideRangeWarning,
    )


def _opened(path: Any) -> tuple[str, Any]:
    """Open a file that was read: its graph has only operations that the reader knows."""
    if str(path).lower().endswith(".onnx"):
        from nn2poly.network.readers.onnx import load as open_onnx

        return "onnx", open_onnx(path)
    from nn2poly.network.readers.keras.file import load as open_keras

    return "keras", open_keras(Path(path))


def _complete(table: Any, network: Network) -> tuple[Any, FloatArray]:
    """Give the rows without holes that nothing fills, as they are and as features (n, p).

    Whether others are refused or left out is said where the whole sample is read.
    """
    try:
        X = network.check_data(table, where="data", allow_nan=True)
    except InvalidInputError:
        return table, np.zeros((0, network.n_features))
    rows = np.flatnonzero(~np.isnan(X).any(axis=1))
    if len(rows) == len(X):
        return table, X
    return (table.iloc[rows] if hasattr(type(table), "iloc") else table[rows]), X[rows]


def _drawn(network: Network) -> FloatArray:
    """Draw rows around the centre of the network's coordinates; of a factor one level each."""
    rng = np.random.default_rng(0)
    X = network.center + network.scale * rng.normal(size=(DRAWN, network.n_features))
    for places in network.inputs.indicators():
        X[:, list(places)] = np.eye(len(places))[rng.integers(len(places), size=DRAWN)]
    for j, coordinate in enumerate(network.inputs.coordinates):
        if not coordinate.is_affine:  # what goes through a function is positive as a rule
            X[:, j] = rng.uniform(0.5, 2.0, size=DRAWN)
    return np.asarray(X, dtype=np.float64)


def _compare(network: Network, title: str, X: FloatArray, found: Any) -> None:
    """Compare the outputs of both, before or after the link."""
    given, unit = _numbers(found)
    raw = network.predict(X).reshape(len(X), -1)
    if given.size == raw.size or len(given) == len(raw):
        given = given.reshape(len(raw), -1)
        forms = _forms(raw, network.outputs)
        candidates = [values for values in forms if values.shape == given.shape]
        if any(_alike(given, values, unit) for values in candidates):
            return
        raw = candidates[-1] if candidates else raw
    row = _worst(given, raw)
    raise UnsupportedModelError(
        "The network that was read does not give what the model gives.",
        where=title,
        expected=f"what the model gives, in row {row} of {len(X)}: {_shown(given, row)}",
        found=f"{_shown(raw, row)} from the network",
        remedy="the model does more than its layers show (an overridden method, random numbers, "
        "values written in place): convert the part that is plain layers, or pass a function that "
        "gives the model's outputs, to fit these instead; check=False converts what was read",
    )


def _numbers(found: Any) -> tuple[FloatArray, float]:
    """Give outputs as float64, and the unit in the last place of their own type."""
    kind = str(getattr(found, "dtype", "float64")).rpartition(".")[2]
    if hasattr(type(found), "detach"):
        found = found.detach().cpu().double().numpy()
    units = {"bfloat16": 2.0**-7, "float16": 2.0**-10}
    return np.asarray(found, dtype=np.float64), units.get(kind, 0.0)


def _forms(raw: FloatArray, outputs: Outputs) -> list[FloatArray]:
    """List what a model with these raw outputs may give out."""
    if not outputs.is_classifier:
        return [raw, outputs.predictions(raw)]
    chances = outputs.probabilities(raw)
    single = chances[:, 1:] if raw.shape[1] == 1 else chances
    with np.errstate(divide="ignore"):
        return [raw, np.log(single), chances, single]


def _alike(given: FloatArray, ours: FloatArray, unit: float) -> bool:
    fine = np.isfinite(given) & np.isfinite(ours)
    if not np.array_equal(np.isfinite(given), np.isfinite(ours)):
        return False
    # A model that gives no finite number on these rows says nothing.
    a, b = np.where(fine, given, 0.0), np.where(fine, ours, 0.0)
    part = max(OF_DEVIATION, HALF_UNITS * unit)
    size = max(OF_SIZE, HALF_UNITS * unit)
    allowed = part * a.std(axis=0) + size * np.abs(a).max(axis=0, initial=0.0)
    return bool(np.all(np.abs(a - b) <= allowed + 1e-12))


def _worst(given: FloatArray, ours: FloatArray) -> int:
    if given.shape != ours.shape:
        return 0
    gap = np.abs(given - ours)
    return int(np.argmax(np.where(np.isfinite(gap), gap, np.inf).max(axis=1)))


def _shown(values: FloatArray, row: int) -> str:
    first = np.atleast_1d(values[row]) if values.ndim and len(values) > row else np.zeros(0)
    text = ", ".join(f"{value:.6g}" for value in first[:5])
    return text + (f", … ({len(first)} outputs)" if len(first) > 5 else "")


def _fails(model: Any, X: FloatArray, error: Exception) -> UnsupportedModelError:
    text = str(error).strip().partition("\n")[0][:300]
    return UnsupportedModelError(
        "The model itself fails on rows of the width that was read from it.",
        where=type(model).__name__,
        expected=f"outputs for a table of shape {X.shape}",
        found=f"{type(error).__name__}: {text}",
        remedy="try the model on such a table; check=False converts what was read all the same",
    )
