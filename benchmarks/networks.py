"""The networks of the table of rivals: trained as people train them, once, and kept.

128-128-64 neurons, no constraint on any weight, numbers standardised and factors one-hot encoded,
on California housing, bike sharing, adult census (all bundled with shapiq) and Covertype. Seeds 0
and 1 are for tuning: whatever is chosen by looking at a table is chosen on them. Seeds 30 and 31
are for reporting, and nothing is chosen by them. A seed draws the split, the first weights and the
order of the batches.

Run this file to train all that are missing; `load` trains one on demand. They are kept as .npz
files in the folder named by ``NN2POLY_BENCH_CACHE``, or in ``build/rivals``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import shapiq
from sklearn.compose import make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

import nn2poly as n2p
from nn2poly.arrays import FloatArray
from nn2poly.files import replacing
from nn2poly.formula.migrations import COLUMN_SINCE_3, OUTPUTS_SINCE_3
from nn2poly.inputs import Column, Inputs
from nn2poly.outputs import Outputs
from nn2poly_paper.covertype_data import FEATURE_NAMES, read_forest
from studies import find_covertype

ACTIVATIONS = ("relu", "tanh", "logistic")
TUNING_SEEDS, REPORTING_SEEDS = (0, 1), (30, 31)
HIDDEN = (128, 128, 64)
# Epochs without progress on a tenth of the training rows that end a training. With 10, bike
# sharing stops at an R² of .942.
PATIENCE = 20
# Steps of Adam. scikit-learn's own 0.001 leaves logistic networks unfinished: California .742
# after 150 epochs, .794 with 0.003 and .798 with 0.01.
RATES = {"relu": 0.001, "tanh": 0.001, "logistic": 0.005}
# Rows that a conversion may see; the network may have been trained on more.
MAX_FIT_ROWS = 30_000


@dataclass(frozen=True)
class Recipe:
    """One data set: how many rows are trained on and judged on, and for how long at most.

    ``new`` rows hold at least 100 of every class of Covertype (25,000 of 581,012, of which its
    rarest class has 2,747). ``epochs`` keeps a training to half a minute.
    """

    train: int
    new: int
    classifier: bool
    epochs: int
    factors: tuple[str, ...] = ()


RECIPES = {
    "california": Recipe(15_000, 5_640, classifier=False, epochs=150),
    "bike": Recipe(12_000, 5_379, classifier=False, epochs=150),
    "adult": Recipe(
        *(30_000, 15_221),
        classifier=True,
        epochs=30,
        factors=(
            *("workclass", "education", "marital-status", "occupation"),
            *("relationship", "race", "sex", "native-country"),
        ),
    ),
    "covertype": Recipe(60_000, 25_000, classifier=True, epochs=25),
}


@dataclass(frozen=True)
class Trained:
    """A trained network and the rows around it.

    ``fit_frame`` and ``new_frame`` hold the user's columns, `fit` (n, p) and `new` (m, p) the
    network's features. Conversions may see the rows of ``fit``; neither training nor conversion
    has seen those of ``new``. ``score`` is the network's R² or accuracy on the latter.
    """

    network: n2p.Network
    fit_frame: pd.DataFrame
    new_frame: pd.DataFrame
    fit_target: npt.NDArray[Any]
    new_target: npt.NDArray[Any]
    classifier: bool
    score: float

    @cached_property
    def fit(self) -> FloatArray:
        """Features (n, p) of the rows that a conversion may see."""
        return self.network.check_data(self.fit_frame)

    @cached_property
    def new(self) -> FloatArray:
        """Features (m, p) of the rows to judge on."""
        return self.network.check_data(self.new_frame)

    @property
    def factors(self) -> list[str]:
        """The names of the columns that are factors."""
        return [column.name for column in self.network.inputs.columns if column.kind == "factor"]


def available() -> list[str]:
    """List the data sets that are here; Covertype needs its file (``NN2POLY_COVERTYPE_DIR``)."""
    return [name for name in RECIPES if name != "covertype" or find_covertype() is not None]


def load(data: str, activation: str, seed: int) -> Trained:
    """Give a network and its rows: from the cache, or trained now and put there.

    Parameters
    ----------
    data
        One of `RECIPES`.
    activation
        One of `ACTIVATIONS`.
    seed
        Of `TUNING_SEEDS` while choosing anything, of `REPORTING_SEEDS` for a table.
    """
    rows = _load_rows(data, seed)
    path = _path("network", data, activation, str(seed), key(data, activation))
    if not path.exists():
        _train(path, data, activation, seed, rows)
    with np.load(path) as stored:
        network, score = _read_network(stored)
    network = _with_factors(network, RECIPES[data].factors)
    classifier, names = RECIPES[data].classifier, rows["names"].tolist()
    fit, new = (_frame(rows[part], names, data) for part in ("train", "new"))
    fit, fit_target = fit[:MAX_FIT_ROWS], rows["train_target"][:MAX_FIT_ROWS]
    return Trained(network, fit, new, fit_target, rows["new_target"], classifier, score)


# Rows -------------------------------------------------------------------------------------


def _load_rows(data: str, seed: int) -> dict[str, npt.NDArray[Any]]:
    # Rows depend on their numbers alone, so another way to train keeps them.
    path = _path("rows", data, str(seed), digest(RECIPES[data].train, RECIPES[data].new))
    if not path.exists():
        _write(path, _split(data, seed))
    with np.load(path) as stored:
        return dict(stored)


def _split(data: str, seed: int) -> dict[str, npt.NDArray[Any]]:
    X, y, names = _read_table(data)
    recipe = RECIPES[data]
    train, new = train_test_split(
        np.arange(len(X)),
        train_size=recipe.train,
        test_size=recipe.new,
        random_state=seed,
        stratify=y if recipe.classifier else None,
    )
    rows = {"train": X[train], "train_target": y[train], "new": X[new], "new_target": y[new]}
    return {"names": np.array(names), **rows}


def _read_table(data: str) -> tuple[FloatArray, npt.NDArray[Any], list[str]]:
    if data == "covertype":
        folder = find_covertype()
        assert folder is not None, "Covertype needs its file; set NN2POLY_COVERTYPE_DIR"
        forest = read_forest(str(folder / "covtype.csv.gz"))
        return forest.X, forest.y, list(FEATURE_NAMES)
    readers: dict[str, Callable[..., Any]] = {
        "california": shapiq.load_california_housing,
        "bike": shapiq.load_bike_sharing,
        "adult": shapiq.load_adult_census,
    }
    frame, target = readers[data](to_numpy=False)
    if data == "adult":
        # One person alone comes from country 14: a level that training may never see.
        target, frame = (part[frame["native-country"] != 14] for part in (target, frame))
    return frame.to_numpy(np.float64), target.to_numpy(), list(frame.columns)


def _frame(X: FloatArray, names: list[str], data: str) -> pd.DataFrame:
    """Give the user's table; shapiq's factors are codes, so their levels are whole numbers."""
    return pd.DataFrame(X, columns=names).astype(dict.fromkeys(RECIPES[data].factors, np.int64))


# Networks ---------------------------------------------------------------------------------


def _train(
    path: Path, data: str, activation: str, seed: int, rows: dict[str, npt.NDArray[Any]]
) -> None:
    names = rows["names"].tolist()
    train, new = (_frame(rows[part], names, data) for part in ("train", "new"))
    recipe, target = RECIPES[data], rows["train_target"]
    # A target in units of its own spread, or the first steps are far too small for bike's counts.
    middle, size = (0.0, 1.0) if recipe.classifier else (target.mean(), target.std())
    model = _pipeline(recipe, names, activation, seed)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(train, target if recipe.classifier else (target - middle) / size)
    network = _in_units(n2p.read_network(model), middle, size)
    raw = network.predict(new)
    truth = rows["new_target"]
    if recipe.classifier:
        score = accuracy_score(truth, network.outputs.labels(raw.reshape(len(raw), -1)))
    else:
        score = r2_score(truth, raw)
    _write(path, _network_arrays(network, float(score)))


def _pipeline(recipe: Recipe, names: list[str], activation: str, seed: int) -> Any:
    numbers = [name for name in names if name not in recipe.factors]
    encode = make_column_transformer(
        (StandardScaler(), numbers),
        (OneHotEncoder(handle_unknown="ignore"), list(recipe.factors)),
    )
    kind = MLPClassifier if recipe.classifier else MLPRegressor
    network = kind(
        hidden_layer_sizes=HIDDEN,
        activation=activation,
        early_stopping=True,
        n_iter_no_change=PATIENCE,
        max_iter=recipe.epochs,
        learning_rate_init=RATES[activation],
        random_state=seed,
    )
    return make_pipeline(encode if recipe.factors else StandardScaler(), network)


def _in_units(network: n2p.Network, middle: float, size: float) -> n2p.Network:
    """Fold the units of the target into the last layer."""
    *hidden, last = network.layers
    final = n2p.Layer(last.weights * size, last.bias * size + middle, last.activation)
    return n2p.Network([*hidden, final], inputs=network.inputs, outputs=network.outputs)


def _with_factors(network: n2p.Network, factors: tuple[str, ...]) -> n2p.Network:
    """Put the indicators ``name=level`` of each factor together to one column."""
    features = list(enumerate(network.inputs.feature_names))
    columns = []
    for factor in factors:
        places = tuple(place for place, name in features if name.startswith(f"{factor}="))
        names = [network.inputs.feature_names[place] for place in places]
        levels = [name.removeprefix(f"{factor}=") for name in names]
        columns.append((Column.factor(factor, levels, names), places))
    inputs = network.inputs.grouped(columns)
    return n2p.Network(network.layers, inputs=inputs, outputs=network.outputs)


# Files ------------------------------------------------------------------------------------


def cache_folder() -> Path:
    """Give the folder of the cache: ``NN2POLY_BENCH_CACHE``, or ``build/rivals``."""
    default = Path(__file__).resolve().parents[1] / "build" / "rivals"
    return Path(os.environ.get("NN2POLY_BENCH_CACHE", default))


def digest(*parts: Any) -> str:
    """Shorten what a stored result depends on to eight letters."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:8]


def key(data: str, activation: str) -> str:
    """Shorten what a network depends on, but for its seed."""
    return digest(asdict(RECIPES[data]), HIDDEN, PATIENCE, RATES[activation])


def _path(*parts: str) -> Path:
    return cache_folder() / f"{'-'.join(parts)}.npz"


def _write(path: Path, arrays: dict[str, npt.NDArray[Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        np.savez_compressed(temporary, allow_pickle=False, **arrays)


def _network_arrays(network: n2p.Network, score: float) -> dict[str, npt.NDArray[Any]]:
    texts = {
        "activations": [layer.activation.name for layer in network.layers],
        "inputs": network.inputs.to_dict(),
        "outputs": network.outputs.to_dict(),
        "score": score,
    }
    arrays: dict[str, npt.NDArray[Any]] = {"texts": np.array(json.dumps(texts))}
    for index, layer in enumerate(network.layers):
        arrays |= {f"weights{index}": layer.weights, f"bias{index}": layer.bias}
    return arrays


def _read_network(stored: Any) -> tuple[n2p.Network, float]:
    texts = json.loads(str(stored["texts"]))
    layers = [
        n2p.Layer(stored[f"weights{index}"], stored[f"bias{index}"], activation)
        for index, activation in enumerate(texts["activations"])
    ]
    # Networks are kept for longer than the format of their columns.
    known = dict(texts["inputs"])
    known["columns"] = [{**COLUMN_SINCE_3, **column} for column in known["columns"]]
    inputs = Inputs.from_dict(known)
    outputs = Outputs.from_dict({**OUTPUTS_SINCE_3, **texts["outputs"]})
    return n2p.Network(layers, inputs=inputs, outputs=outputs), texts["score"]


# ------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", nargs="+", choices=list(RECIPES), default=available())
    parser.add_argument("--activation", nargs="+", choices=ACTIVATIONS, default=ACTIVATIONS)
    seeds = (*TUNING_SEEDS, *REPORTING_SEEDS)
    parser.add_argument("--seed", nargs="+", type=int, default=seeds)
    chosen = parser.parse_args()
    for activation in chosen.activation:
        for seed in chosen.seed:
            for data in chosen.data:
                begin = time.perf_counter()
                trained = load(data, activation, seed)
                seconds = time.perf_counter() - begin
                word = "accuracy" if trained.classifier else "R²"
                print(
                    f"{data:12} {activation:9} seed {seed:2}  {word} {trained.score:.3f}  "
                    f"{trained.network}  {seconds:.1f} s",
                    flush=True,
                )


if __name__ == "__main__":
    main()
