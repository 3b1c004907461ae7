"""Covertype: where its rows and the published weights come from, and a stand-in for them.

Blackard and Dean (1999): 581,012 cells of forest, 54 inputs, 7 types of cover. The inputs are
scaled to [-1, 1] by the minima and maxima of all rows, as the authors do.
"""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from nn2poly.arrays import FloatArray
from nn2poly.errors import NN2PolyError, require
from nn2poly.network.network import Layer, Network

VARIABLE = "NN2POLY_COVTYPE"
N_FEATURES, N_CLASSES = 54, 7
FEATURE_NAMES = (
    *("Elevation", "Aspect", "Slope", "Horizontal_Distance_To_Hydrology"),
    *("Vertical_Distance_To_Hydrology", "Horizontal_Distance_To_Roadways", "Hillshade_9am"),
    *("Hillshade_Noon", "Hillshade_3pm", "Horizontal_Distance_To_Fire_Points"),
    *(f"Wilderness_Area{k}" for k in range(1, 5)),
    *(f"Soil_Type{k}" for k in range(1, 41)),
)
FOREST_TYPES = (
    *("Spruce/Fir", "Lodgepole Pine", "Ponderosa Pine", "Cottonwood/Willow"),
    *("Aspen", "Douglas-fir", "Krummholz"),
)
TABLE = "54 columns of inputs and a last one with the types 1 to 7 (.csv, .csv.gz, .data.gz)"
STAND_IN = "stand-in"


class DataUnavailableError(NN2PolyError):
    """Data that an experiment needs are not there."""


@dataclass(frozen=True, eq=False)
class Forest:
    """Scaled inputs X (n, 54) and types y (n,), 0 to 6."""

    X: FloatArray
    y: npt.NDArray[np.int64]


def find_source(data: str | Path | None) -> str:
    """Say where the rows are: the path given, that of ``NN2POLY_COVTYPE``, or "fetch".

    Raises
    ------
    DataUnavailableError
        When there is no such file.

    Examples
    --------
    >>> find_source("stand-in")
    'stand-in'
    """
    named = data if data is not None else os.environ.get(VARIABLE)
    if named is None:
        return "fetch"
    if str(named) != STAND_IN and not Path(named).is_file():
        raise _missing_file(Path(named), "--data FILE" if data is not None else VARIABLE)
    return str(named)


def read_forest(source: str, rows: int | None = None, seed: int = 1) -> Forest:
    """Read and scale the rows.

    Parameters
    ----------
    source
        What `find_source` gave.
    rows
        Keep so many of them, drawn at random, after scaling by all; None keeps all.

    Raises
    ------
    DataUnavailableError
        When the file is not Covertype, or cannot be fetched.

    Examples
    --------
    >>> read_forest("stand-in", rows=200).X.shape
    (200, 54)
    """
    if source == STAND_IN:
        return stand_in(rows or 20_000, seed)
    table = _fetch() if source == "fetch" else _read(Path(source))
    X = scale_in_place(table[:, :-1].astype(np.float64))
    y = table[:, -1].astype(np.int64) - 1
    if rows is not None and rows < len(X):
        kept = np.sort(np.random.default_rng([seed, 30]).choice(len(X), rows, replace=False))
        X, y = X[kept], y[kept]
    return Forest(X, y)


def scale_in_place(table: FloatArray) -> FloatArray:
    """Map the range of every column to [-1, 1] without a second copy of the table.

    Examples
    --------
    >>> scale_in_place(np.array([[0.0], [1.0], [4.0]])).ravel()
    array([-1. , -0.5,  1. ])
    """
    low, high = table.min(axis=0), table.max(axis=0)
    table -= (high + low) / 2
    table /= (high - low) / 2
    return table


def stand_in(rows: int, seed: int) -> Forest:
    """Simulate rows of the shape of Covertype: 10 numbers, a factor of 4 levels, one of 40.

    Examples
    --------
    >>> forest = stand_in(300, seed=1)
    >>> forest.X.shape, sorted(set(forest.y.tolist()))
    ((300, 54), [0, 1, 2, 3, 4, 5, 6])
    """
    rng = np.random.default_rng([seed, 31])
    numbers = rng.uniform(-1.0, 1.0, (rows, 10))
    area = 2 * np.eye(4)[rng.integers(4, size=rows)] - 1
    soil = 2 * np.eye(40)[rng.integers(40, size=rows)] - 1
    X = np.hstack([numbers, area, soil])
    weights = np.vstack([rng.normal(0, 4.0, (10, 7)), rng.normal(0, 0.5, (44, 7))])
    scores = X @ weights + rng.gumbel(size=(rows, 7))
    y = scores.argmax(axis=1)
    y[:N_CLASSES] = range(N_CLASSES)
    return Forest(X, y)


def read_published(path: str | Path) -> Network:
    """Read the published weights: ``w0 … w3``, bias in row 0; tanh, tanh, tanh, linear.

    Raises
    ------
    DataUnavailableError
        When the file is not there, or holds something else.
    """
    file = Path(path)
    if not file.is_file():
        raise _missing_file(file, "--network FILE")
    try:
        with np.load(file, allow_pickle=False) as stored:
            matrices = [stored[f"w{k}"].astype(np.float64) for k in range(len(stored.files))]
        functions = [*["tanh"] * (len(matrices) - 1), "linear"]
        layers = [Layer(m[1:], m[0], f) for m, f in zip(matrices, functions, strict=True)]
        network = Network(layers, FEATURE_NAMES, link="softmax")
    except (OSError, ValueError, KeyError, IndexError, NN2PolyError) as error:
        raise DataUnavailableError(
            "These are not the weights of a Covertype network.",
            where=str(file),
            expected="an .npz file with w0, w1, …: (1 + n_inputs, n_outputs), the bias in row 0",
            found=str(error),
        ) from error
    return network


def _read(path: Path) -> npt.NDArray[Any]:
    try:
        with _open(path) as file:
            # UCI's own file has no header, others do.
            first, second = file.readline(), file.readline()
        if not second:
            raise ValueError("fewer than two lines")
        skip = 0 if first[:1].isdigit() else 1
        table = np.loadtxt(path, delimiter=",", skiprows=skip, dtype=np.int16, ndmin=2)
    except (OSError, EOFError, ValueError) as error:
        raise _not_covertype(path, str(error)) from error
    types = set(np.unique(table[:, -1]).tolist()) if table.ndim == 2 else set()
    if table.ndim != 2 or table.shape[1] != N_FEATURES + 1 or types != set(range(1, 8)):
        raise _not_covertype(path, f"shape {table.shape}, {len(types)} types")
    return table


def _open(path: Path) -> TextIO:
    return gzip.open(path, "rt") if path.suffix == ".gz" else path.open()


def _fetch() -> npt.NDArray[Any]:
    datasets = require("sklearn.datasets", what="Fetching Covertype", extra="paper")
    try:
        X, y = datasets.fetch_covtype(return_X_y=True)
    except OSError as error:  # urllib's errors among them
        raise DataUnavailableError(
            "Covertype is not here and cannot be fetched.",
            where="sklearn.datasets.fetch_covtype",
            found=str(error),
            remedy="connect to the network once; or pass --data FILE, or set "
            f"{VARIABLE} to the path of covtype.csv.gz; --quick needs no file",
        ) from error
    return np.column_stack([X, y])


def _missing_file(path: Path, named_by: str) -> DataUnavailableError:
    return DataUnavailableError(
        "There is no such file.",
        where=str(path),
        expected=TABLE if "network" not in named_by else "the published weights (.npz)",
        found=f"nothing at the path that {named_by} names",
        remedy="check the path; without it Covertype is fetched by scikit-learn",
    )


def _not_covertype(path: Path, found: str) -> DataUnavailableError:
    return DataUnavailableError(
        "This file is not Covertype.", where=str(path), expected=TABLE, found=found
    )
