"""`missing="skip"` leaves rows with holes out wherever a sample is read."""

import numpy as np
import pandas as pd
import pytest

import nn2poly as n2p
from nn2poly.errors import InvalidInputError

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (400, 2))
HOLED = np.where(RNG.random(X.shape) < 0.05, np.nan, X)
WHOLE = HOLED[~np.isnan(HOLED).any(axis=1)]
NETS = [
    n2p.Network([n2p.Layer(RNG.normal(size=(2, 4)), None, "tanh"), n2p.Layer(np.ones((4, 1)))])
    for _ in range(2)
]


def test_frontier_skips_rows_with_holes():
    options = {"regions": (1,), "max_terms": (), "orders": (1, 2)}
    with pytest.raises(InvalidInputError, match="NaN"):
        n2p.frontier(NETS[0], HOLED, **options)
    skipped = n2p.frontier(NETS[0], HOLED, missing="skip", **options)
    whole = n2p.frontier(NETS[0], WHOLE, **options)
    assert [p.r2 for p in skipped.points] == [p.r2 for p in whole.points]
    found, expected = (f.pick(n_terms=10).predict(WHOLE) for f in (skipped, whole))
    np.testing.assert_array_equal(found, expected)


def total(table):
    """Add up a row, as a function that knows no holes."""
    return np.asarray(table, dtype=float).sum(axis=1)


def as_dask(table):
    return pytest.importorskip("dask.array").from_array(table, chunks=(200, 2))


@pytest.mark.parametrize("table", [np.array, pd.DataFrame, lambda X: [X[:200], X[200:]], as_dask])
@pytest.mark.parametrize("model", [NETS[0], total], ids=["network", "function"])
def test_a_refused_hole_offers_to_skip_its_row(table, model):
    if table is as_dask and model is total:
        pytest.skip("a function is not asked where the parts of a Dask collection are")
    with pytest.raises(InvalidInputError, match="NaN") as error:
        n2p.convert(model, 1, data=table(HOLED))
    assert error.value.remedy.endswith('; or missing="skip" leaves such rows out')
    n2p.convert(model, 1, data=table(HOLED), missing="skip")


def test_a_hole_in_a_measured_table_offers_to_skip_its_row():
    poly = n2p.convert(NETS[0], 1, data=X)
    with pytest.raises(InvalidInputError, match="NaN") as error:
        n2p.fidelity(NETS[0], poly, HOLED)
    assert 'missing="skip"' in error.value.remedy
    assert n2p.fidelity(NETS[0], poly, HOLED, missing="skip").n_rows == len(WHOLE)
    with pytest.raises(InvalidInputError, match="NaN") as error:
        poly.predict(HOLED)
    assert "skip" not in error.value.remedy


@pytest.mark.parametrize("kind", ["object", "category", "string", "string[pyarrow]"])
def test_a_hole_in_a_text_of_any_type_offers_to_skip_its_row(kind):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.uniform(size=200), "job": rng.choice(["a", "b"], 200)})
    table["job"] = table["job"].astype(kind)
    table.loc[7, "job"] = None

    def price(rows):
        return rows["size"].to_numpy() + (rows["job"] == "a").to_numpy(dtype=float)

    with pytest.raises(InvalidInputError, match="NaN") as error:
        n2p.convert(price, 1, data=table)
    assert 'missing="skip"' in error.value.remedy
    whole = table.drop(7)
    poly = n2p.convert(price, 1, data=table, missing="skip")
    np.testing.assert_allclose(poly.predict(whole), price(whole), atol=1e-2)


def test_a_column_without_a_value_is_named():
    table = pd.DataFrame({"size": X[:, 0], "job": [None] * len(X)})
    with pytest.raises(InvalidInputError, match="'job' holds no value") as error:
        n2p.convert(lambda rows: rows["size"].to_numpy(), 1, data=table, missing="skip")
    assert "leave it out" in error.value.remedy


def test_several_networks_skip_rows_with_holes():
    found = n2p.convert_many(NETS, 2, data=HOLED, missing="skip", backend="sequential")
    expected = n2p.convert_many(NETS, 2, data=WHOLE, backend="sequential")
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.coefficients, other.coefficients)


@pytest.mark.parametrize("times", [1, 60])
def test_dask_collections_skip_rows_with_holes(times):
    dask_array = pytest.importorskip("dask.array")
    table = np.vstack([HOLED + k * 1e-9 for k in range(times)])
    data = dask_array.from_array(table, chunks=(len(table) // 3, 2))
    poly = n2p.convert(NETS[0], 2, data=data, missing="skip")
    assert poly.card.r2 > 0.5
    with pytest.raises(InvalidInputError, match="NaN"):
        n2p.convert(NETS[0], 2, data=data)


def test_a_batch_without_a_complete_row_is_left_out_like_its_rows():
    """It was refused, while the same rows in one table were left out."""
    table = np.vstack([HOLED[:100], np.full((50, 2), np.nan), HOLED[100:]])
    batches = [table[:100], table[100:150], table[150:]]
    found = n2p.convert(NETS[0], 2, data=batches, missing="skip")
    expected = n2p.convert(NETS[0], 2, data=table, missing="skip")
    np.testing.assert_allclose(found.coefficients, expected.coefficients, atol=1e-9)
    with pytest.raises(InvalidInputError, match="Every row of the data has a missing value"):
        n2p.convert(NETS[0], 2, data=[table[100:120], table[120:150]], missing="skip")


def test_weights_beside_batches_are_those_of_all_rows():
    """They were refused where a row was left out: 348 weights were asked for, not 400."""
    weights = RNG.uniform(0.5, 2.0, len(HOLED))
    options = {"sample_weight": weights, "missing": "skip"}
    found = n2p.convert(NETS[0], 2, data=[HOLED[:150], HOLED[150:]], **options)
    expected = n2p.convert(NETS[0], 2, data=HOLED, **options)
    np.testing.assert_allclose(found.coefficients, expected.coefficients, atol=1e-9)
