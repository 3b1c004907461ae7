"""Targets that were transformed before the training: affine ones fold, others become a link."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import nn2poly as n2p
from nn2poly import explain
from nn2poly.errors import InvalidInputError, UnsupportedModelError
from nn2poly.verdicts import JudgedAs

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.uniform(0.0, 1.0, (250, 3)), columns=["rooms", "age", "tax"])
Y = np.exp(1.0 + X.rooms - 0.5 * X.age * X.tax).to_numpy()


def fitted(**options):
    network = MLPRegressor(hidden_layer_sizes=(4,), activation="tanh", solver="lbfgs",
                           max_iter=40, random_state=0)  # fmt: skip
    model = TransformedTargetRegressor(make_pipeline(StandardScaler(), network), **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, Y)


def functions(forth, back):
    return {"func": forth, "inverse_func": back}


LINKED = {
    "log": functions(np.log, np.exp),
    "log1p": functions(np.log1p, np.expm1),
    "sqrt": functions(np.sqrt, np.square),
    "inverse": functions(np.reciprocal, np.reciprocal),
    "exp": functions(np.exp, np.log),
}


# A formula of exp(y) may fall below 0, where no y is: `predict` says so.
@pytest.mark.filterwarnings("ignore:.*no finite prediction")
@pytest.mark.parametrize("link", LINKED)
def test_a_function_of_the_target_is_a_link_and_predict_gives_the_target(link, tmp_path):
    model = fitted(**LINKED[link])
    network = n2p.read_network(model)
    assert network.link == link
    inside = model.regressor_.predict(X)
    np.testing.assert_allclose(network.predict(X), inside, rtol=1e-10, atol=1e-12)
    poly = n2p.convert(model, 2, data=X, output_names=["price"])
    scale = poly.outputs.scale_names[0]
    assert repr(scale)[1:-1] in repr(poly)
    raw = poly.raw_outputs(X.to_numpy())
    np.testing.assert_array_equal(poly.predict(X), poly.outputs.predictions(raw)[:, 0])
    again = n2p.load(poly.save(tmp_path / "poly.json"))
    np.testing.assert_array_equal(again.predict(X), poly.predict(X))
    assert str(again.card) == str(poly.card)
    assert f"Judged as {scale}, what the formula gives" in str(poly.card)


def test_the_card_judges_the_formula_on_its_scale_and_says_what_that_is_of_the_target():
    model = fitted(**LINKED["log1p"])
    poly = n2p.convert(model, 2, data=X, output_names=["price"])
    card = n2p.fidelity(model, poly, X, Y)
    theirs, ours = model.regressor_.predict(X), poly.raw_outputs(X.to_numpy())[:, 0]
    assert card.rmse == pytest.approx(np.sqrt(np.mean((theirs - ours) ** 2)))
    spread = np.sum((model.predict(X) - model.predict(X).mean()) ** 2)
    of_target = 1 - np.sum((model.predict(X) - poly.predict(X)) ** 2) / spread
    assert card.verdict.reason(JudgedAs).r2 == pytest.approx(of_target)
    # What was observed is compared with the target.
    observed = 1 - np.sum((Y - model.predict(X)) ** 2) / np.sum((Y - Y.mean()) ** 2)
    assert card.observed.network == pytest.approx(observed)


def test_explanations_say_that_they_are_of_the_transformed_target():
    poly = n2p.convert(fitted(**LINKED["log1p"]), 2, data=X, output_names=["price"])
    few = X[:20]
    found = explain.shapley(poly, few, X[:50])
    assert found.output_names == ("log1p(price)",)
    assert "of log1p(price), before the link" in str(found.table())
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, poly.raw_outputs(few.to_numpy()), atol=1e-9)
    assert explain.partial_dependence(poly, X[:50], "rooms").output_names == ("log1p(price)",)
    assert "log1p(price)" in str(explain.bounds(poly))
    ax = n2p.plots.effects(poly, "rooms", X=X)
    assert "log1p(price)" in np.ravel(ax)[0].get_ylabel()


AFFINE = {
    "a lambda": functions(lambda y: y / 1000, lambda z: 1000 * z),
    "with a shift": functions(lambda y: (y - 3) * 2, lambda z: z / 2 + 3),
    "reflected": functions(np.negative, np.negative),
    "no function": {},
}


@pytest.mark.parametrize("name", AFFINE)
def test_an_affine_function_is_found_by_its_values_and_folded(name):
    model = fitted(**AFFINE[name])
    network = n2p.read_network(model)
    assert (network.link, len(network.layers)) == ("identity", 2)
    np.testing.assert_allclose(network.predict(X), model.predict(X), rtol=1e-9)


def test_a_scaler_before_a_logarithm_folds_and_one_behind_is_refused():
    logarithm = FunctionTransformer(np.log, np.exp)
    model = fitted(transformer=make_pipeline(logarithm, StandardScaler()))
    network = n2p.read_network(model)
    assert network.link == "log"
    np.testing.assert_allclose(np.exp(network.predict(X)), model.predict(X), rtol=1e-9)
    halves = FunctionTransformer(lambda y: y / 2, lambda z: 2 * z)
    with pytest.raises(UnsupportedModelError, match="undone after 'log'"):
        n2p.read_network(fitted(transformer=make_pipeline(halves, logarithm)))


def test_a_function_that_is_cut_somewhere_is_not_taken_for_a_link():
    cut = functions(np.log1p, lambda z: np.maximum(np.expm1(z), 0.0))
    with pytest.raises(UnsupportedModelError, match="no function that is known"):
        n2p.read_network(fitted(**cut))


def test_a_function_of_rows_may_be_fitted_through_a_link():
    def price(rows):
        return np.exp(rows["rooms"] - rows["age"])

    poly = n2p.convert(price, 1, data=X, link="log", bounded=False)
    np.testing.assert_allclose(poly.predict(X), price(X), rtol=1e-6)
    assert n2p.fidelity(price, poly, X).r2 > 0.999
    with pytest.raises(InvalidInputError, match="link does not fit"):
        n2p.convert(lambda rows: rows["rooms"] - 5, 1, data=X, link="log")


def test_estimators_predict_the_target():
    network = MLPRegressor(hidden_layer_sizes=(4,), solver="lbfgs", max_iter=40, random_state=0)
    inner = TransformedTargetRegressor(network, **LINKED["log"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = n2p.PolynomialRegressor(inner).fit(X, Y)
    assert model.score(X, Y) > 0.8
    fixed = n2p.export.sklearn(model.polynomial_)
    np.testing.assert_array_equal(fixed.predict(X), model.predict(X))
