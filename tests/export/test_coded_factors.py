"""Factors that a table holds as truths or whole numbers run in SQL, whatever their type there."""

import sqlite3
import warnings

import duckdb
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import nn2poly as n2p
from nn2poly import export

RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "age": RNG.normal(40.0, 9.0, 200),
        "smokes": RNG.random(200) < 0.3,
        "rooms": RNG.integers(1, 5, 200),
        "zone": RNG.integers(1, 4, 200).astype(float),
    }
)
TYPES = {
    "duckdb": ["BOOLEAN INTEGER DOUBLE", "BOOLEAN BIGINT INTEGER", "VARCHAR VARCHAR VARCHAR"],
    "sqlite": ["BOOLEAN INTEGER DOUBLE", "INTEGER INTEGER INTEGER", "TEXT TEXT TEXT"],
}


@pytest.fixture(scope="module")
def poly():
    filled = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    parts = [
        ("number", StandardScaler(), ["age"]),
        ("codes", OneHotEncoder(handle_unknown="ignore"), ["smokes", "rooms"]),
        ("filled", filled, ["zone"]),
    ]
    network = MLPRegressor(hidden_layer_sizes=(5,), solver="lbfgs", max_iter=30, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = X.age / 40 + X.smokes + X.rooms * (X.zone == 2)
        model = make_pipeline(ColumnTransformer(parts), network).fit(X, y)
        return n2p.convert(model, 2, data=X)


def stored(row, kinds):
    """Give a row as a table of these types holds it."""
    age, smokes, rooms, zone = row
    zone = None if np.isnan(zone) else zone
    if kinds[0] in ("VARCHAR", "TEXT"):
        return age, str(bool(smokes)), str(rooms), None if zone is None else str(int(zone))
    return age, bool(smokes), int(rooms), zone


@pytest.mark.filterwarnings("ignore::nn2poly.errors.OutsideRangeWarning")
@pytest.mark.parametrize(("engine", "types"), [(e, t) for e, kinds in TYPES.items() for t in kinds])
def test_truths_and_numbers_as_levels_give_the_predictions(poly, engine, types):
    new = X[:40].copy()
    new.loc[3, "rooms"] = 9  # unseen
    new.loc[5, "zone"] = np.nan
    connection = duckdb.connect() if engine == "duckdb" else sqlite3.connect(":memory:")
    kinds = types.split()
    columns = [f'"{n}" {t}' for n, t in zip(("smokes", "rooms", "zone"), kinds, strict=True)]
    connection.execute(f'CREATE TABLE t ("age" DOUBLE, {", ".join(columns)})')
    rows = [stored(row, kinds) for row in new.itertuples(index=False)]
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    (text,) = export.sql(poly).values()
    for statement in (export.sql_select(poly, "t"), f"SELECT {text} FROM t"):
        found = [row[0] for row in connection.execute(statement).fetchall()]
        np.testing.assert_allclose(found, poly.predict(new), rtol=0, atol=1e-9)
    connection.close()
