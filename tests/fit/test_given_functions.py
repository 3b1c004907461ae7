"""Any function from rows to outputs is converted: fitted to what it gives, like a network."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier
from torch import nn

import nn2poly as n2p
from nn2poly.errors import InvalidInputError, UnsupportedModelError


def rows(n=400, p=3, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (n, p))


def paraboloid(X):
    return 1.0 + X[:, 0] - 2.0 * X[:, 1] * X[:, 2] + X[:, 2] ** 2


def test_a_polynomial_of_the_order_is_found_again():
    poly = n2p.convert(paraboloid, 2, data=rows(), bounded=False)
    assert poly.rebase().coefficient("x2 x3") == pytest.approx(-2.0, abs=1e-4)
    new = 0.9 * rows(50, seed=1)
    np.testing.assert_allclose(poly.predict(new), paraboloid(new), atol=1e-4)
    assert poly.card.held_out
    assert poly.card.r2 > 0.99999


def test_boosted_trees_in_regions_have_a_card_and_shapley_values():
    X = pd.DataFrame(rows(1500), columns=["a", "b", "c"])
    model = GradientBoostingRegressor(n_estimators=40, random_state=0)
    model.fit(X, np.where(X.a > 0, X.b, -X.b) + X.c)
    poly = n2p.convert(model.predict, 2, data=X, regions=4)
    assert len(poly.regions) > 1
    new = pd.DataFrame(rows(300, seed=1), columns=X.columns)
    assert n2p.fidelity(model.predict, poly, new).r2 > 0.9
    found = n2p.explain.shapley(poly, new[:20], X[:50], model=model.predict)
    total = found.values.sum(axis=1) + found.base_values + found.residual
    np.testing.assert_allclose(total[:, 0], model.predict(new[:20]), atol=1e-9)


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_columns_of_text_are_factors_and_come_back_as_text(library):
    rng = np.random.default_rng(0)
    X = library.DataFrame(
        {"colour": rng.choice(["red", "green", "blue"], 300), "n": rng.integers(0, 9, 300)}
    )
    seen = []

    def price(table):
        seen.append(type(table))
        assert table["n"].dtype == X["n"].dtype
        worth = {"red": 3.0, "green": 1.0, "blue": 0.0}
        return np.array([worth[c] for c in table["colour"]]) * np.asarray(table["n"])

    poly = n2p.convert(price, 2, data=X, bounded=False)
    assert set(seen) == {library.DataFrame}
    (colour, number) = poly.inputs.columns
    assert colour.kind == "factor"
    assert colour.levels == ("blue", "green", "red")
    assert number.kind == "number"
    np.testing.assert_allclose(poly.predict(X), price(X), atol=1e-4)
    assert n2p.fidelity(price, poly, X[:40]).r2 > 0.9999


def test_categories_keep_their_order_and_type():
    X = pd.DataFrame(
        {"size": pd.Categorical(["s", "m", "l"] * 40, categories=["s", "m", "l", "xl"])}
    )
    dtype = X["size"].dtype

    def price(table):
        assert table["size"].dtype == dtype
        return table["size"].cat.codes.to_numpy() * 2.0

    poly = n2p.convert(price, 1, data=X)
    assert poly.inputs.columns[0].levels == ("s", "m", "l")
    np.testing.assert_allclose(poly.predict(X), price(X), atol=1e-5)


OTHERS = {
    "forest": (RandomForestRegressor(3, random_state=0), "predict"),
    "boosted trees": (GradientBoostingRegressor(n_estimators=3, random_state=0), "predict"),
    "tree": (DecisionTreeClassifier(max_depth=2, random_state=0), "predict_proba"),
    "regression by support vectors": (SVR(), "predict"),
    "support vectors": (SVC(), "decision_function"),
    "pipeline": (make_pipeline(StandardScaler(), SVR()), "predict"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_first_remedy_for_other_estimators_is_to_fit_their_answers(name):
    model, method = OTHERS[name]
    X = np.random.default_rng(0).normal(size=(80, 2))
    sums = X.sum(axis=1)
    model = clone(model).fit(X, sums > 0 if is_classifier(model) else sums)
    for read in (n2p.read_network, lambda model: n2p.convert(model, 1, data=X)):
        with pytest.raises(UnsupportedModelError) as caught:
            read(model)
        assert caught.value.remedy == (
            f"pass model.{method} to fit its outputs instead: convert(model.{method}, 2, data=X)"
        )
    poly = n2p.convert(getattr(model, method), 2, data=X)
    assert poly.predict(X).shape[0] == 80


def test_networks_inside_another_estimator_are_named():
    X = np.random.default_rng(0).normal(size=(80, 2))
    inside = MLPRegressor(hidden_layer_sizes=(3,), solver="lbfgs", random_state=0)
    model = MultiOutputRegressor(inside).fit(X, X)
    with pytest.raises(UnsupportedModelError) as caught:
        n2p.convert(model, 1, data=X)
    assert caught.value.remedy.startswith("convert each of its estimators_ on its own; or pass")


def test_a_pipeline_with_any_estimator_takes_its_own_frame():
    X = pd.DataFrame({"a": ["x", "y"] * 60, "b": ["u", "u", "v"] * 40})
    y = (X.a == "x") * 2.0 + (X.b == "v")
    model = make_pipeline(OneHotEncoder(), LinearRegression()).fit(X, y)
    with pytest.raises(UnsupportedModelError) as caught:
        n2p.convert(model, 1, data=X)
    last = str(caught.value).splitlines()[-1]
    assert "pass model.predict to fit its outputs instead" in last
    poly = n2p.convert(model.predict, 1, data=X)
    np.testing.assert_allclose(poly.predict(X), y, atol=1e-6)


# ---- outputs ----------------------------------------------------------------------------------


OUTPUTS = {
    "a column": lambda X: X[:, :1],
    "a list": lambda X: X[:, 0].tolist(),
    "integers": lambda X: np.round(3 * X[:, 0]).astype(int),
    "a tensor": lambda X: torch.tensor(X[:, 0], requires_grad=True) * 1.0,
    "a series": lambda X: pd.Series(X[:, 0]),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs_of_any_type_are_read(name):
    poly = n2p.convert(OUTPUTS[name], 1, data=rows(100))
    assert poly.n_outputs == 1
    assert abs(poly.coefficient("x1")) > 0.1


def test_columns_of_a_frame_name_the_outputs():
    poly = n2p.convert(
        lambda X: pd.DataFrame({"sum": X.sum(axis=1), "first": X[:, 0]}), 1, data=rows(100)
    )
    assert poly.output_names == ("sum", "first")


REFUSED = {
    "labels": (lambda X: np.where(X[:, 0] > 0, "yes", "no"), "predict_proba"),
    "a tuple": (lambda X: (X[:, 0], X[:, 1]), "lambda X: model"),
    "one number": (lambda X: 1.0, "one row for each"),
    "fewer rows": (lambda X: X[:3, 0], "one row for each"),
    "nothing": (lambda X: None, "lambda X: model"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_outputs_that_are_no_numbers_per_row_are_refused(name):
    function, remedy = REFUSED[name]
    with pytest.raises(UnsupportedModelError) as caught:
        n2p.convert(function, 1, data=rows(60))
    assert remedy in caught.value.remedy
    assert caught.value.found


def test_what_the_function_raises_is_told():
    def broken(X):
        raise KeyError("income")

    with pytest.raises(UnsupportedModelError, match="fails on rows") as caught:
        n2p.convert(broken, 1, data=rows(60))
    assert "income" in caught.value.found


def test_random_outputs_are_refused_unless_the_check_is_off():
    rng = np.random.default_rng(0)

    def noisy(X):
        return X[:, 0] + rng.normal(size=len(X))

    with pytest.raises(UnsupportedModelError, match="same rows") as caught:
        n2p.convert(noisy, 1, data=rows(100))
    assert "check=False" in caught.value.remedy
    assert n2p.convert(noisy, 1, data=rows(100), check=False).n_terms == 4


# ---- classifiers ------------------------------------------------------------------------------


def test_probabilities_are_fitted_before_their_link():
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(30, random_state=0).fit(X, y)
    poly = n2p.convert(model.predict_proba, 2, data=X, link="softmax")
    assert poly.link == "softmax"
    assert poly.classes == (0, 1, 2)
    assert np.mean(poly.predict_label(X) == model.predict(X)) > 0.93
    card = n2p.fidelity(model.predict_proba, poly, X)
    assert card.agreement > 0.93


def test_two_columns_of_a_sigmoid_are_one_output():
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(30, random_state=0).fit(X, np.where(y == 0, "setosa", "other"))
    poly = n2p.convert(model.predict_proba, 1, data=X, link="sigmoid")
    assert poly.n_outputs == 1
    assert poly.classes == ("other", "setosa")
    assert np.mean(poly.predict_label(X) == model.predict(X)) > 0.95


def test_labels_of_a_classifier_are_refused_with_the_way_out():
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(5, random_state=0).fit(X, y)
    with pytest.raises(InvalidInputError, match="labels") as caught:
        n2p.convert(model.predict, 2, data=X)
    assert "predict_proba" in caught.value.remedy


# ---- models of PyTorch ------------------------------------------------------------------------


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(3, 6), nn.LayerNorm(6), nn.Linear(6, 1)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.last(self.drop(torch.softmax(self.norm(self.first(x)), dim=1))).squeeze(1)


def test_a_module_that_cannot_be_read_is_fitted_by_its_forward():
    torch.manual_seed(0)
    model, X = Attention().train(), rows(500)
    with pytest.raises(UnsupportedModelError) as caught:
        n2p.convert(model, 2, data=X)
    assert "pass model.forward to fit its outputs instead" in str(caught.value).splitlines()[-1]
    poly = n2p.convert(model.forward, 3, data=X)
    assert model.training
    assert model.drop.training
    assert poly.card.r2 > 0.5
    table = torch.tensor(X, dtype=torch.float32)
    # Rounded to single precision, other rows are kept for the card: groups split both alike.
    groups = np.arange(500)
    same = n2p.convert(model.forward, 3, data=table, groups=groups).predict(0.9 * X)
    wanted = n2p.convert(model.forward, 3, data=X, groups=groups).predict(0.9 * X)
    np.testing.assert_allclose(same, wanted, atol=1e-3)


# ---- what goes with functions -----------------------------------------------------------------


WRONG = {
    "no data": {},
    "taylor": {"data": rows(50), "method": "taylor"},
    "layers": {"data": rows(50), "keep_layers": True},
    "no refit": {"data": rows(50), "refit": False},
    "out": {"data": rows(50), "out": "x.npz"},
    "a step": {"data": rows(50), "after": "scale"},
}


@pytest.mark.parametrize("name", WRONG)
def test_what_only_layers_can_give_is_refused(name):
    with pytest.raises(InvalidInputError, match="function"):
        n2p.convert(paraboloid, 2, **WRONG[name])


def test_a_function_has_no_factored_form():
    with pytest.raises(InvalidInputError, match="no layers"):
        n2p.polynomial_network(paraboloid, 2, data=rows(50))


def test_budgets_orders_and_the_frontier_work_as_for_networks():
    X = rows(600)
    sparse = n2p.convert(paraboloid, data=X, max_terms=8, bounded=False)
    assert sparse.card.r2 > 0.9999
    assert n2p.convert(paraboloid, "auto", data=X).max_order == 2
    options = n2p.frontier(paraboloid, X, orders=(1, 2), regions=(1,), max_terms=())
    assert options.pick(r2=0.99).max_order == 2


def test_batches_and_many_functions():
    X = rows(300)
    two = n2p.convert_many([paraboloid, lambda X: X[:, 0]], 2, data=X, backend="sequential")
    shared = two[0].inputs.bounds()
    one = n2p.convert(paraboloid, 2, data=[X[:100], X[100:]], bounded=shared)
    np.testing.assert_allclose(one.predict(X), two[0].predict(X), atol=1e-6)


def test_a_report_of_a_function(tmp_path):
    X = rows(200)
    poly = n2p.convert(paraboloid, 2, data=X)
    text = n2p.report(poly, model=paraboloid, X=X, path=tmp_path / "page.html")
    assert text is not None


def test_dates_and_names_of_rows_are_refused_as_columns():
    dated = pd.DataFrame({"when": pd.to_datetime(["2020-01-01"] * 60), "n": range(60)})
    with pytest.raises(InvalidInputError, match="neither a number nor a category"):
        n2p.convert(lambda X: X["n"], 1, data=dated)
    named = pd.DataFrame({"id": [f"row {k}" for k in range(300)], "n": range(300)})
    with pytest.raises(InvalidInputError, match="too many levels"):
        n2p.convert(lambda X: X["n"], 1, data=named)


@pytest.mark.slow
@pytest.mark.study
def test_boosted_trees_on_bike_sharing_agree_with_tree_shap():
    shap, shapiq = pytest.importorskip("shap"), pytest.importorskip("shapiq")
    X, y = shapiq.load_bike_sharing(to_numpy=False)
    order = np.random.default_rng(0).permutation(len(X))
    train, new = X.iloc[order[:13_000]], X.iloc[order[13_000:]]
    model = HistGradientBoostingRegressor(random_state=0).fit(train, y[order[:13_000]])
    poly = n2p.convert(model.predict, 2, data=train, regions=16)
    assert poly.card.r2 > 0.95
    assert n2p.fidelity(model.predict, poly, new).r2 > 0.95
    few, background = train.iloc[:100], train.iloc[100:200]
    trees = shap.TreeExplainer(model, background, feature_perturbation="interventional")
    theirs = trees.shap_values(few, check_additivity=False)
    ours = n2p.explain.shapley(poly, few, background).values[:, :, 0]
    assert np.corrcoef(theirs.ravel(), ours.ravel())[0, 1] > 0.98


@pytest.mark.parametrize(
    "function",
    [
        lambda X: X[:, 0] - X[:, 0].mean(),
        lambda X: X[:, 0] / X[:, 0].std(),
        lambda X: X[:, 0] / X[:, 0].max(),
        lambda X: X[:, 0].argsort().argsort() / len(X),
    ],
    ids=["mean", "deviation", "maximum", "rank"],
)
def test_outputs_that_depend_on_the_batch_are_refused(function):
    with pytest.raises(UnsupportedModelError, match="same rows among others"):
        n2p.convert(function, data=rows())
    assert n2p.convert(function, data=rows(), check=False).card is not None


@pytest.fixture(scope="module")
def forest():
    X, y = load_iris(return_X_y=True)
    return RandomForestClassifier(20, max_depth=3, random_state=0).fit(X, y), X


def test_a_method_predict_proba_is_fitted_before_the_softmax_without_a_word(forest):
    model, X = forest
    poly, told = (n2p.convert(model.predict_proba, data=X, **o) for o in ({}, {"link": "softmax"}))
    assert (poly.link, poly.classes) == ("softmax", (0, 1, 2))
    np.testing.assert_array_equal(poly.coefficients, told.coefficients)
    chances = poly.predict_proba(X)
    assert chances.min() >= 0.0
    assert chances.max() <= 1.0
    assert "softmax link" in repr(poly)
    assert "Judged as the logit, what the formula gives; of the probability" in str(
        poly.card.verdict
    )
    assert "Judged as the logit" in str(n2p.fidelity(model.predict_proba, poly, X).verdict)


def test_a_method_predict_proba_of_two_classes_is_fitted_before_the_sigmoid(forest):
    X, y = forest[1], load_iris().target
    model = RandomForestClassifier(20, max_depth=3, random_state=0).fit(X, y > 0)
    poly = n2p.convert(model.predict_proba, 1, data=X)
    assert (poly.link, poly.n_outputs) == ("sigmoid", 1)
    found, true = poly.predict_proba(X), model.predict_proba(X)
    assert np.abs(found - true).mean() < 0.05


def test_numbers_are_fitted_as_they_are_where_that_is_asked_for(forest):
    model, X = forest
    poly = n2p.convert(model.predict_proba, data=X, link="identity")
    assert (poly.link, poly.n_outputs) == ("identity", 3)
    assert poly.predict(X).max() > 1.0


@pytest.mark.parametrize("place", [slice(None), slice(2, 3)], ids=["softmax", "sigmoid"])
def test_a_function_whose_formula_leaves_0_to_1_is_told(forest, request, place):
    model, X = forest
    likely = request.node.callspec.id
    with pytest.warns(n2p.errors.NN2PolyWarning, match=f"within 0 … 1.*link='{likely}'"):
        poly = n2p.convert(lambda X: model.predict_proba(X)[:, place], data=X)
    assert poly.link == "identity"


def test_a_function_whose_formula_stays_within_0_to_1_passes_in_silence():
    assert n2p.convert(lambda X: 0.5 + 0.1 * X[:, 0], 1, data=rows()).card.r2 > 0.99


@pytest.mark.parametrize("options", [{}, {"max_terms": 20}, {"regions": 4}])
def test_a_network_and_its_predictions_give_the_same_formula(options):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    model = MLPRegressor(hidden_layer_sizes=(12,), max_iter=400, random_state=0)
    model.fit(X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2])
    read, asked = (n2p.convert(m, 2, data=X, **options) for m in (model, model.predict))
    assert [r.polynomial.terms for r in read.regions] == [r.polynomial.terms for r in asked.regions]
    assert read.card.r2 == pytest.approx(asked.card.r2, abs=1e-6)
    np.testing.assert_allclose(read.predict(X), asked.predict(X), atol=1e-6)
