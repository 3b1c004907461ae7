"""Functions of single columns inside a pipeline: the column enters through them, exactly."""

import sqlite3
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)

import nn2poly as n2p
from nn2poly import explain, export
from nn2poly.errors import UnsupportedModelError

RNG = np.random.default_rng(0)
INCOME, AGE = np.exp(RNG.normal(10.0, 1.0, 300)), RNG.uniform(18.0, 90.0, 300)
X = pd.DataFrame({"income": INCOME, "age": AGE})
Y = (0.4 * np.log(X.income) - 0.02 * X.age + 0.1 * np.sin(X.age / 9)).to_numpy()


def fitted(transformer, *, scaled=True, table=X):
    network = MLPRegressor(hidden_layer_sizes=(5,), activation="tanh", solver="lbfgs", alpha=0.1,
                           max_iter=60, random_state=0)  # fmt: skip
    steps = [transformer, StandardScaler(), network] if scaled else [transformer, network]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_pipeline(*steps).fit(table, Y)


def of_income(transformer):
    return make_column_transformer((transformer, ["income"]), remainder="passthrough")


EXACT = {
    "log1p": (of_income(FunctionTransformer(np.log1p)), "log1p(income)"),
    "log": (of_income(FunctionTransformer(np.log)), "log(income)"),
    "log10": (of_income(FunctionTransformer(np.log10)), "log(income)"),
    "sqrt": (of_income(FunctionTransformer(np.sqrt)), "sqrt(income)"),
    "a lambda": (of_income(FunctionTransformer(lambda x: 2 * np.log(x) + 3)), "log(income)"),
    "affine": (of_income(FunctionTransformer(lambda x: x / 1e4 - 1)), "income"),
    "all columns": (FunctionTransformer(np.log1p), "log1p(income)"),
    "ranks": (of_income(QuantileTransformer(n_quantiles=20)), "rank(income)"),
    "Yeo-Johnson": (of_income(PowerTransformer()), "yeojohnson(income, -0.018"),
    "Yeo-Johnson, not scaled": (
        of_income(PowerTransformer(standardize=False)), "yeojohnson(income, -0.018",
    ),
    "Box-Cox": (of_income(PowerTransformer("box-cox")), "boxcox(income, -0.018"),
    "Box-Cox, not scaled": (
        of_income(PowerTransformer("box-cox", standardize=False)), "boxcox(income, -0.018",
    ),
    "filled before a power": (
        of_income(make_pipeline(SimpleImputer(), PowerTransformer())), "yeojohnson(income, -0.018",
    ),
    "filled before": (
        of_income(make_pipeline(SimpleImputer(), FunctionTransformer(np.log))), "log(income)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
def test_a_known_function_of_a_column_is_part_of_the_network(name, tmp_path):
    transformer, entry = EXACT[name]
    model = fitted(transformer)
    network = n2p.read_network(model)
    np.testing.assert_allclose(network.predict(X), model.predict(X), rtol=1e-8)
    place = network.inputs.feature_names.index("income")
    assert network.inputs.entry_names[place].startswith(entry)
    poly = n2p.convert(model, 2, data=X)
    assert poly.inputs.entry_names[place] == network.inputs.entry_names[place]
    assert poly.feature_names == network.inputs.feature_names
    assert poly.card.r2 > 0.9
    again = n2p.load(poly.save(tmp_path / "poly.json"))
    np.testing.assert_array_equal(again.predict(X), poly.predict(X))


def test_the_formula_of_a_network_of_logarithms_is_exact_where_the_network_is_a_polynomial():
    model = fitted(FunctionTransformer(np.log))
    model[-1].activation = "identity"
    poly = n2p.convert(model, 1, bounded=False)
    np.testing.assert_allclose(poly.predict(X), model.predict(X), rtol=1e-9)
    data = n2p.convert(model, 1, data=X, bounded=False)
    np.testing.assert_allclose(data.predict(X), model.predict(X), rtol=1e-9)
    near = n2p.convert(model, 1, around=X.iloc[0])
    np.testing.assert_allclose(near.predict(X), model.predict(X), rtol=1e-9)


def test_explanations_and_exports_take_the_raw_column():
    poly = n2p.convert(fitted(of_income(FunctionTransformer(np.sqrt))), 2, data=X)
    found = explain.shapley(poly, X[:5], X[:50])
    assert set(found.feature_names) == {"income", "age"}
    connection = sqlite3.connect(":memory:")
    connection.execute('CREATE TABLE t ("income" DOUBLE, "age" DOUBLE)')
    connection.executemany("INSERT INTO t VALUES (?, ?)", X.to_numpy().tolist())
    rows = connection.execute(export.sql_select(poly, "t")).fetchall()
    connection.close()
    np.testing.assert_allclose(np.ravel(rows), poly.predict(X), atol=1e-9)
    space = {}
    exec(export.python(poly)["y"], space)
    np.testing.assert_allclose(space["predict_y"](**dict(X.items())), poly.predict(X), atol=1e-9)


def both_ways():
    return FeatureUnion([("as it is", "passthrough"), ("log", FunctionTransformer(np.log))])


REFUSED = {
    "normal quantiles": (
        QuantileTransformer(n_quantiles=9, output_distribution="normal"), "normal",
    ),
    "many quantiles": (QuantileTransformer(n_quantiles=200), "200 quantiles"),
    "splines": (SplineTransformer(), "several splines"),
    "products": (PolynomialFeatures(2), "powers and products of columns"),
    "an unknown function": (FunctionTransformer(np.cbrt), "cbrt"),
    "a function that is cut": (
        FunctionTransformer(lambda x: np.log(np.maximum(x, 1.0))), "lambda",
    ),
    "a function of several columns": (
        FunctionTransformer(lambda x: x - x.mean(1)[:, None]), "lambda",
    ),
    "computed before": (
        make_pipeline(StandardScaler(with_mean=False), FunctionTransformer(np.sqrt)),
        "another step computed",
    ),
    "filled after": (
        make_pipeline(FunctionTransformer(np.log), SimpleImputer()), "after a function",
    ),
    "twice": (both_ways(), "enters the network twice"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_exact_is_refused_by_name(name):
    transformer, words = REFUSED[name]
    table = X.to_numpy() if "several" in name else X
    with pytest.raises(UnsupportedModelError, match=words) as caught:
        n2p.read_network(fitted(transformer, table=table))
    assert "after" in str(caught.value)


def test_a_box_cox_power_of_zero_is_a_logarithm():
    model = fitted(ColumnTransformer([("box", PowerTransformer("box-cox"), ["income", "age"])]))
    model[0].named_transformers_["box"].lambdas_[:] = [0.0, 1.0]
    network = n2p.read_network(model)
    assert network.inputs.entry_names == ("log(income)", "age")
    np.testing.assert_allclose(network.predict(X), model.predict(X), rtol=1e-9)
