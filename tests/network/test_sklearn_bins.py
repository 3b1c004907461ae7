"""Bins of a column inside a pipeline: a factor by cuts of the raw number, exactly."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler

import nn2poly as n2p
from nn2poly import explain
from nn2poly.errors import InvalidInputError, UnsupportedModelError

RNG = np.random.default_rng(0)
X = pd.DataFrame({"income": RNG.uniform(10.0, 60.0, 400), "age": RNG.integers(18, 90, 400)})
Y = (X.income / 40 + 0.5 * (X.age >= 40) - 0.8 * (X.age >= 65)).to_numpy()
STRATEGIES = ("uniform", "quantile", "kmeans")


def bins(n_bins=5, encode="onehot-dense", strategy="uniform", **options):
    if strategy == "quantile":
        options["quantile_method"] = "averaged_inverted_cdf"
    return KBinsDiscretizer(n_bins, encode=encode, strategy=strategy, **options)


def fitted(step, table=X, *, of=("age",)):
    network = MLPRegressor(hidden_layer_sizes=(6,), activation="tanh", solver="lbfgs", alpha=0.1,
                           max_iter=80, random_state=0)  # fmt: skip
    columns = make_column_transformer((step, list(of)), remainder=StandardScaler())
    scaler = StandardScaler(with_mean=False)  # what is sparse cannot be centred
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_pipeline(columns, scaler, network).fit(table, Y)


def with_edges(model, table=X):
    """Add rows on every edge, a rounding beside it, and far outside."""
    edges = model[0].transformers_[0][1].bin_edges_[0]
    ages = [*edges, *np.nextafter(edges, -np.inf), *np.nextafter(edges, np.inf), -1e12, 1e12]
    return pd.concat([table.astype(float), table.head(len(ages)).assign(age=ages)])


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("encode", ["onehot", "onehot-dense", "ordinal"])
def test_bins_are_a_factor_of_the_raw_number_with_the_same_edges(encode, strategy):
    model = fitted(bins(encode=encode, strategy=strategy))
    network, rows = n2p.read_network(model), with_edges(model)
    np.testing.assert_allclose(network.predict(rows), model.predict(rows), rtol=0, atol=1e-12)
    age = next(column for column in network.inputs.columns if column.name == "age")
    assert (age.kind, age.width) == ("factor", 5)
    np.testing.assert_array_equal(age.cuts, model[0].transformers_[0][1].bin_edges_[0][1:-1])
    frame = pl.DataFrame(rows)
    np.testing.assert_array_equal(network.predict(frame), network.predict(rows))


def test_levels_are_called_by_their_intervals():
    network = n2p.read_network(fitted(bins(3)))
    assert network.inputs.feature_names == (
        "income", "age=below 41.67", "age=[41.67, 65.33)", "age=65.33 or more",
    )  # fmt: skip


def test_a_model_of_an_array_reads_arrays_and_frames():
    model = fitted(bins(), X.to_numpy(), of=[1])
    poly = n2p.convert(model, 2, data=X.to_numpy())
    assert poly.card.r2 > 0.95
    for frame in (X, X.set_axis(["x2", "x1"], axis=1)):
        np.testing.assert_array_equal(poly.predict(frame), poly.predict(X.to_numpy()))
    assert n2p.fidelity(model.predict, poly, X.to_numpy()).r2 > 0.95


def test_explanations_and_the_file_take_the_number_as_one_column(tmp_path):
    model = fitted(bins(4))
    poly = n2p.convert(model, 2, data=X)
    assert poly.card.r2 > 0.95
    assert explain.shapley(poly, X[:5], X[:50]).feature_names == ("income", "age")
    assert explain.sobol(poly, X).feature_names == ("income", "age")
    curve = explain.partial_dependence(poly, X, "age")
    assert curve.values.shape == (4, 1)
    again = n2p.load(poly.save(tmp_path / "poly.json"))
    rows = with_edges(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(again.predict(rows), poly.predict(rows))
    assert again.inputs.columns == poly.inputs.columns
    assert n2p.fidelity(model.predict, again, X).r2 > 0.95


def test_a_hole_is_filled_before_the_cut_or_refused():
    table = X.assign(age=X.age.astype(float).mask(X.index % 7 == 0))
    filled = fitted(make_pipeline(SimpleImputer(strategy="median", add_indicator=False), bins()),
                    table)  # fmt: skip
    network = n2p.read_network(filled)
    np.testing.assert_allclose(network.predict(table), filled.predict(table), rtol=0, atol=1e-12)
    poly = n2p.convert(filled, 2, data=table)
    assert poly.inputs.columns[1].hole.fill == np.nanmedian(table.age)
    strict = n2p.read_network(fitted(bins()))
    with pytest.raises(InvalidInputError, match="NaN"):
        strict.predict(table)
    with pytest.raises(InvalidInputError, match="infinite"):
        strict.predict(X.assign(age=np.inf))
    with pytest.raises(InvalidInputError, match="cannot be used as numbers"):
        strict.predict(X.assign(age="old"))


def test_a_constant_column_is_one_bin():
    table = X.assign(age=3.0)
    for encode in ("onehot-dense", "ordinal"):
        model = fitted(bins(encode=encode), table)
        network = n2p.read_network(model)
        assert network.inputs.feature_names == ("income",)
        np.testing.assert_allclose(network.predict(X), model.predict(X), rtol=0, atol=1e-12)


REFUSED = {
    "single precision": (bins(dtype=np.float32), "rounds numbers to float32"),
    "scaled before": (make_pipeline(StandardScaler(), bins()), "another step has computed"),
    "twice": (FeatureUnion([("number", "passthrough"), ("bins", bins())]), "twice: as a number"),
    "two ways": (FeatureUnion([("few", bins(3)), ("many", bins(9))]), "other levels"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_exact_is_refused_by_name(name):
    step, words = REFUSED[name]
    with pytest.raises(UnsupportedModelError, match=words) as caught:
        n2p.read_network(fitted(step))
    assert "after" in str(caught.value)
