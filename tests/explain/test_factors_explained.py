"""Factors are columns: unique coefficients, and explanations that no coding of levels changes."""

import warnings
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import shapiq
from sklearn.compose import make_column_transformer
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import nn2poly as n2p
from nn2poly import explain, plots
from nn2poly.errors import InvalidInputError

mpl.use("agg")
JOBS = ("clerk", "farmer", "nurse")


def encoded(mlp, numbers, categories):
    columns = make_column_transformer(
        (StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), categories)
    )
    return make_pipeline(columns, mlp)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.normal(40.0, 10.0, 800),
            "job": rng.choice(JOBS, 800, p=[0.5, 0.2, 0.3]),
            "sex": rng.choice(["female", "male"], 800, p=[0.6, 0.4]),
        }
    )
    job, male = X.job.map({"clerk": 0.0, "farmer": 1.0, "nurse": -0.5}), X.sex == "male"
    return X, 0.05 * X.age * (1 + male) + job * (1 - male) + 0.3 * male


@pytest.fixture(scope="module")
def model(people):
    mlp = MLPRegressor(hidden_layer_sizes=(16,), solver="lbfgs", max_iter=400, random_state=0)
    return encoded(mlp, ["age"], ["job", "sex"]).fit(*people)


@pytest.fixture(scope="module")
def poly(model, people):
    return n2p.convert(model, 2, data=people[0])


@pytest.fixture(scope="module")
def shifted(poly):
    """Move numbers between levels, intercept and slopes: the same function of valid rows."""
    moves = {"1": 7.0, "age": -3.0, "sex=male": 2.0, "sex=female": 2.0, "sex=(unseen)": 2.0}
    values = poly.coefficients.copy()
    for rest, step in moves.items():
        own = () if rest == "1" else (rest,)
        values[poly.terms.index(poly._parsed(own))] -= step
        for level in (*JOBS, "(unseen)"):
            values[poly.terms.index(poly._parsed((*own, f"job={level}")))] += step
    return replace(poly, coefficients=values, deviations=None)


def shares(poly, X):
    """Give the share of each level, by feature."""
    return dict(zip(poly.feature_names, poly.inputs.read(X).mean(axis=0), strict=True))


def test_coefficients_of_levels_sum_to_zero_over_the_sample(poly, people):
    share = shares(poly, people[0])
    job, sex = (poly.inputs.columns[place].features for place in (1, 2))
    for levels, others in ((job, ("age", *sex)), (sex, ("age", *job))):
        for rest in ((), *((other,) for other in others)):
            if not rest or "unseen" not in rest[0]:
                total = sum(share[level] * poly.coefficient((*rest, level)) for level in levels)
                assert total == pytest.approx(0.0, abs=1e-12)


def test_unique_coefficients_are_the_same_function(model, people):
    X = people[0]
    poly = n2p.convert(model, 2, data=X)
    pnet = n2p.polynomial_network(model, 2, data=X)
    np.testing.assert_allclose(poly.predict(X), pnet.predict(X), rtol=0, atol=1e-9)


def test_the_intercept_is_the_prediction_at_the_average_row(poly, people):
    rows = poly.inputs.read(people[0])
    average = rows.mean(axis=0, keepdims=True)
    average[0, 0] = poly.center[0]
    # In indicators at their shares every term with a level vanishes.
    assert poly.predict(average)[0] == pytest.approx(poly.coefficient("1"), abs=1e-9)


def test_regions_and_budgets_have_unique_coefficients_too(model, people):
    X = people[0]
    pieces = n2p.convert(model, 2, data=X, regions=3)
    few = n2p.convert(model, max_terms=12, data=X)
    share = shares(pieces, X)
    for region in pieces.regions:
        # A region has no terms of levels that its rule leaves out.
        written = set(region.polynomial.to_frame()["term"])
        levels = [level for level in pieces.inputs.columns[1].features if level in written]
        total = sum(share[level] * region.polynomial.coefficient(level) for level in levels)
        assert total == pytest.approx(0.0, abs=1e-9)
    assert few.n_terms <= 12


EXPLANATIONS = {
    "shapley": lambda p, X: explain.shapley(p, X[:40], X).values,
    "interactions": lambda p, X: explain.interactions(p, X[:40], X).values,
    "sobol": lambda p, X: explain.sobol(p, X).shares,
    "joint shares": lambda p, X: explain.sobol(p, X, joint=True).shares,
    "anova": lambda p, X: explain.anova(p, X).evaluate(X[:40]),
    "friedman_h": lambda p, X: explain.friedman_h(p, X).pairwise,
    "dependence": lambda p, X: explain.partial_dependence(p, X, "job").values,
    "joint dependence": lambda p, X: explain.partial_dependence(p, X, ["job", "age"]).values,
    "ice": lambda p, X: explain.ice(p, X[:40], "sex").values,
    "marginal effects": lambda p, X: explain.marginal_effects(p, X).values,
    "importance": lambda p, X: np.array([r[1] for r in explain.importance(p, X)]),
    "beeswarm": lambda p, X: drawn(plots.beeswarm(p, X[:200])),
    "waterfall": lambda p, X: [bar.get_width() for bar in plots.waterfall(p, X[:1], X=X).patches],
    "effects": lambda p, X: plots.effects(p, "job", X=X).lines[0].get_ydata(),
    "surface": lambda p, X: cells(plots.interaction_surface(p, "job", "age", X=X)),
}


def drawn(axes):
    return np.concatenate([np.asarray(dots.get_offsets())[:, 0] for dots in axes.collections[:3]])


def cells(axes):
    return np.asarray(axes.collections[0].get_array()).ravel()


@pytest.mark.parametrize("name", EXPLANATIONS)
def test_no_explanation_depends_on_how_levels_are_coded(name, poly, shifted, people):
    X = people[0]
    found, again = (np.asarray(EXPLANATIONS[name](each, X)) for each in (poly, shifted))
    assert found.size
    np.testing.assert_allclose(again, found, rtol=0, atol=1e-8)


def test_explanations_go_by_column(poly, people):
    X = people[0]
    assert explain.shapley(poly, X[:5], X).feature_names == ("age", "job", "sex")
    assert explain.sobol(poly, X).share("job sex").shape == (1,)
    assert np.any(explain.interactions(poly, X[:5], X).value(("job", "sex")))
    assert explain.partial_dependence(poly, X, "sex").values.shape == (3, 1)


def test_a_single_level_does_not_move_by_itself(poly, people):
    with pytest.raises(InvalidInputError, match=r"(?s)level of the column .sex.*ask for .sex."):
        explain.partial_dependence(poly, people[0], "sex=male")


def test_levels_have_the_sign_of_the_network_when_they_are_switched(model, poly, people):
    X = people[0]
    levels = poly.inputs.columns[1].levels
    mean = explain.partial_dependence(poly, X, "job").values[:, 0]
    truth = np.array([model.predict(X.assign(job=level)).mean() for level in JOBS])
    order = [levels.index(level) for level in JOBS]
    assert np.array_equal(np.sign(np.diff(mean[order])), np.sign(np.diff(truth)))
    np.testing.assert_allclose(mean[order], truth, rtol=0, atol=0.1)


def test_a_factor_stays_one_where_a_level_is_absent_from_the_rows(poly, people):
    X = people[0]
    some = X[X.job != "nurse"]
    kinds = dict(zip(poly.feature_names, explain.marginal_effects(poly, some).kinds, strict=True))
    assert kinds["job=clerk"] == "reference"
    assert kinds["job=farmer"] == kinds["job=nurse"] == "'job=clerk' → this"


def one_hot_arrays(seed=0, n=600):
    rng = np.random.default_rng(seed)
    level = rng.integers(0, 4, n)
    X = np.column_stack([rng.normal(size=(n, 2)), np.eye(4)[level]])
    y = X[:, 0] + np.array([0.0, 1.0, -1.0, 2.0])[level] * (1 + 0.3 * X[:, 1])
    mlp = MLPRegressor(hidden_layer_sizes=(16,), solver="lbfgs", max_iter=400, random_state=0)
    return X, mlp.fit(X, y)


@pytest.mark.parametrize("binary", ["auto", [[2, 3, 4, 5]]], ids=["found", "declared"])
def test_factors_of_0_and_1_in_arrays_are_columns(binary):
    X, model = one_hot_arrays()
    poly = n2p.convert(model, 2, data=X, binary=binary)
    assert [column.width for column in poly.inputs.columns] == [1, 1, 4]
    share = X.mean(axis=0)
    total = sum(share[j] * poly.coefficient((j,)) for j in range(2, 6))
    assert total == pytest.approx(0.0, abs=1e-12)


def test_a_level_that_no_row_shows_does_not_hide_the_factor():
    X, model = one_hot_arrays()
    seen = X[X[:, 3] == 0.0]
    poly = n2p.convert(model, 2, data=seen)
    assert [column.width for column in poly.inputs.columns if column.kind == "factor"] == [3]


def test_a_declared_factor_whose_levels_meet_is_refused():
    X, model = one_hot_arrays()
    both = X.copy()
    both[::10, 2:4] = 1.0
    with pytest.raises(InvalidInputError, match="Two levels of one factor"):
        n2p.convert(model, 2, data=both, binary=[[2, 3, 4, 5]])


# --- against the network ---------------------------------------------------------------------


def r2(found, truth):
    return 1 - np.sum((found - truth) ** 2) / np.sum((truth - truth.mean(axis=0)) ** 2)


def network_shapley(network, inputs, X, background):
    """Compute exact interventional Shapley values (n, columns) of a network, with shap."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # shap's own
        import shap
    codes = [_codes(inputs, table) for table in (X, background)]
    explainer = shap.ExactExplainer(
        lambda coded: network.predict(_features(inputs, coded)).reshape(len(coded), -1)[:, 0],
        shap.maskers.Independent(codes[1], max_samples=len(codes[1])),
    )
    return explainer(codes[0]).values


def _codes(inputs, X):
    """Give one number per column: of a factor, of its level."""
    rows = inputs.read(X)
    pairs = zip(inputs.columns, inputs.places, strict=True)
    parts = [rows[:, p].argmax(axis=1) if c.width > 1 else rows[:, p[0]] for c, p in pairs]
    return np.column_stack(parts).astype(float)


def _features(inputs, coded):
    rows = np.zeros((len(coded), inputs.n_features))
    for k, places in enumerate(inputs.places):
        if len(places) > 1:
            rows[np.arange(len(coded)), np.array(places)[coded[:, k].astype(int)]] = 1.0
        else:
            rows[:, places[0]] = coded[:, k]
    return rows


def adult():
    X, y = shapiq.load_adult_census(to_numpy=False)
    X, y = X.iloc[:3000], np.asarray(y)[:3000]
    numbers, levels = ["age", "hours-per-week", "capital-gain"], ["marital-status", "sex", "race"]
    X = X[numbers + levels].astype(dict.fromkeys(levels, int))
    mlp = MLPClassifier(hidden_layer_sizes=(12,), max_iter=40, random_state=0)
    return encoded(mlp, numbers, levels), X, y


def bikes():
    X, y = shapiq.load_bike_sharing(to_numpy=False)
    chosen = np.random.default_rng(0).permutation(len(X))[:3000]
    numbers, levels = ["temp", "humidity", "windspeed"], ["season", "weather", "weekday"]
    X = X[numbers + levels].iloc[chosen]
    mlp = MLPRegressor(hidden_layer_sizes=(12,), max_iter=40, random_state=0)
    return encoded(mlp, numbers, levels), X, np.log1p(np.asarray(y)[chosen])


@pytest.mark.study
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("make", [adult, bikes])
def test_shapley_values_by_column_are_those_of_the_network(make):
    model, X, y = make()
    poly = n2p.convert(model.fit(X, y), 2, data=X)
    assert poly.card.r2 >= 0.97
    network = n2p.read_network(model)
    rows, background = X.head(40), X.iloc[100:160]
    found = explain.shapley(poly, rows, background).values[:, :, 0]
    assert r2(found, network_shapley(network, network.inputs, rows, background)) >= 0.95
