"""Columns enter as logarithms or ranks, as asked for."""

from __future__ import annotations

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly import explain
from nn2poly.errors import InvalidInputError, OutsideRangeWarning, UnknownTermError
from nn2poly.fit.input_bounds import column_bounds
from nn2poly.fit.transforms import KNOTS, rank_of
from nn2poly.inputs.functions import Identity, Log, Log1p, Rank
from nn2poly.verdicts import Entering, Verdict

NAMES = ["size", "heat", "gain", "flag", "same"]


def skewed_rows(n=3000, seed=0):
    """Draw a number with a long tail, one without, one with a spike at 0, a flag, a constant."""
    rng = np.random.default_rng(seed)
    gain = np.where(rng.random(n) < 0.8, 0.0, rng.exponential(5.0, n))
    flag = rng.integers(0, 2, n).astype(float)
    return np.column_stack(
        [np.exp(1.5 * rng.normal(size=n)), rng.normal(size=n), gain, flag, np.full(n, 2.0)]
    )


@pytest.fixture(scope="module")
def network():
    """Make a network that sees its first input about as a logarithm: a sum of saturating steps."""
    steps = np.exp(np.linspace(-3.0, 3.0, 12))
    first = np.zeros((5, 14))
    first[0, :12] = 1.0 / steps
    first[1, 12], first[2, 13], first[3, 12] = 0.4, 0.1, 0.3
    last = np.concatenate([np.full(12, 0.5), [2.0, 1.0]])[:, None]
    return n2p.Network([n2p.Layer(first, None, "tanh"), n2p.Layer(last)]).named(NAMES)


def converted(network, **options):
    return n2p.convert(network, 2, data=skewed_rows(), **options)


def kinds(poly):
    return [coordinate.function.kind for coordinate in poly.inputs.coordinates]


@pytest.fixture(scope="module")
def asked(network):
    return converted(network, transforms={"size": "log", "heat": "rank", "gain": "log1p"})


def test_columns_enter_as_asked_for_and_the_others_within_bounds(asked):
    assert kinds(asked) == ["log", "rank", "log1p", "identity", "identity"]
    assert asked.inputs.coordinates[0].function.low > 0
    assert asked.card.r2 > 0.97


def test_a_logarithm_that_the_network_takes_helps(network):
    raw, found = converted(network), converted(network, transforms={"size": "log"})
    assert 1.0 - found.card.r2 < 0.5 * (1.0 - raw.card.r2)


def test_names_say_what_enters_and_find_the_coefficients(asked):
    assert asked.term_names()[1:4] == ["log(size)", "rank(heat)", "log1p(gain)"]
    assert "log(size)" in repr(asked)
    for term in ("log(size) flag", "size flag", (0, 3), ("log(size)", "flag")):
        assert asked.coefficient(term) == asked.coefficient((0, 3))
    with pytest.raises(UnknownTermError):
        asked.coefficient("log(heat)")


def test_raw_units_are_those_of_the_functions(asked):
    raw = asked.rebase()
    assert "per raw unit, and per unit of log(size), rank(heat), log1p(gain)" in repr(raw)
    X = skewed_rows(50, seed=3)
    np.testing.assert_allclose(raw.predict(X), asked.predict(X), rtol=1e-9, atol=1e-9)


def test_the_verdict_says_it_and_is_kept_in_files(asked, tmp_path):
    text = str(asked.card.verdict)
    assert "'size' enters as its logarithm, 'heat' as its rank in the sample" in text
    asked.save(tmp_path / "poly.json")
    loaded = n2p.load(tmp_path / "poly.json")
    assert loaded.card.verdict.reason(Entering) == asked.card.verdict.reason(Entering)
    assert str(loaded.card.verdict) == text
    assert loaded.inputs.coordinates == asked.inputs.coordinates


def test_the_verdict_names_some_columns_and_counts_the_rest():
    entries = tuple((f"x{i}", "its logarithm") for i in range(7))
    text = str(Verdict("rough", 0.9, 500, False, 2, (Entering(entries),)))
    assert "'x0', 'x1', 'x2' and 'x3' each enter as its logarithm, and 3 more through such" in text


def test_whatever_comes_the_answer_is_that_of_the_edge(asked):
    x = np.array([[1.0, 0.0, 1.0, 1.0, 2.0]])
    for place, function in enumerate(c.function for c in asked.inputs.coordinates[:3]):
        for far, end in ((-1e12, function.low), (1e12, function.high)):
            rows = np.repeat(x, 2, axis=0)
            rows[:, place] = far, end
            with pytest.warns(OutsideRangeWarning):
                found = asked.predict(rows)
            assert np.isfinite(found).all()
            assert found[0] == found[1]


def test_slopes_are_those_of_the_predictions(asked):
    X = skewed_rows(40, seed=5)
    X = np.clip(X, *np.quantile(skewed_rows(), [0.05, 0.95], axis=0))
    X[:, 2] += 0.1
    step = 1e-6
    slopes = explain.gradients(asked, X)[:, :, 0]
    for j in range(3):
        moved = [X + sign * step * np.eye(5)[j] for sign in (1.0, -1.0)]
        found = (asked.predict(moved[0]) - asked.predict(moved[1])) / (2 * step)
        np.testing.assert_allclose(slopes[:, j], found, rtol=1e-4, atol=1e-6)


def test_a_local_polynomial_is_not_compared_with_terms_of_functions(network, asked):
    with pytest.raises(InvalidInputError, match=r"(?s)functions of columns.*'log\(size\)'"):
        explain.compare_local(network, asked, skewed_rows(1)[0])


def test_shapley_values_add_up_to_the_prediction(asked):
    X = skewed_rows(30, seed=6)
    background = skewed_rows(60, seed=7)
    found = explain.shapley(asked, X, background)
    total = found.values.sum(axis=1)[:, 0] + found.base_values
    np.testing.assert_allclose(total, asked.predict(X), rtol=1e-8, atol=1e-8)


def test_a_budget_of_terms_is_spent_on_transformed_columns(network):
    poly = n2p.convert(network, data=skewed_rows(), max_terms=12, transforms={"size": "log"})
    assert poly.n_terms <= 12
    assert kinds(poly)[0] == "log"
    assert poly.card.r2 > 0.98


def test_auto_looks_for_an_order_of_transformed_columns(network):
    options = {"transforms": {"size": "log"}, "target_r2": 0.98}
    poly = n2p.convert(network, "auto", data=skewed_rows(), **options)
    assert [order for order, _, _ in poly.card.path] == list(range(1, poly.max_order + 1))
    assert poly.card.r2 >= 0.98


def test_a_rank_is_the_share_of_rows_below_with_few_digits():
    x = np.random.default_rng(0).lognormal(sigma=2.0, size=5000)
    rank = rank_of(x, *column_bounds(x, 0.005))
    assert len(rank.knots) == KNOTS
    true = np.searchsorted(np.sort(x), x) / len(x)
    assert np.abs(rank.values(x) - true).max() < 0.03
    assert max(len(str(share)) for share in rank.shares) <= 6


def test_a_value_of_many_rows_leaves_no_wide_gap_beside_it():
    x = np.concatenate([np.zeros(9000), np.arange(1.0, 1001.0)])
    rank = rank_of(x, 0.0, 1000.0)
    assert len(rank.knots) >= KNOTS - 1
    assert np.diff(rank.shares).max() < 0.1
    assert rank.values(np.array([500.0]))[0] == pytest.approx(0.53, abs=0.01)


@pytest.mark.parametrize("low", [-1e9, 1e-9, 1e15])
def test_knots_are_rounded_but_stay_apart(low):
    x = low + np.linspace(0.0, max(1.0, abs(low)) * 1e-3, 500)
    rank = rank_of(x, float(x[0]), float(x[-1]))
    assert len(rank.knots) == KNOTS


@pytest.mark.parametrize(
    ("transforms", "message"),
    [
        ("log", "not understood"),
        ("auto", 'not understood.*None, "curve", or columns with one of log, log1p, rank'),
        (5, "not understood"),
        ({"size": "sqrt"}, "not understood.*'sqrt'"),
        ({"size": None}, "not understood"),
        ({"heat": "log"}, "has no log.* of 2,[0-9]* rows at 0 or below.*'rank' or 'curve' instead"),
        ({"gain": "log"}, "has no log.*'log1p' or 'rank' or 'curve' instead"),
        ({"heat": "log1p"}, "has no log1p.*at -1 or below"),
        ({"flag": "rank"}, "cannot go through a function.*yes/no"),
        ({"same": "rank"}, "cannot go through a function.*same value"),
        ({"sise": "log"}, "no feature 'sise'.*did you mean 'size'"),
    ],
)
def test_what_does_not_fit_the_data_is_refused(network, transforms, message):
    with pytest.raises((InvalidInputError, UnknownTermError), match=f"(?s){message}"):
        converted(network, transforms=transforms)


@pytest.mark.parametrize(
    "beside", [{"bounded": False}, {"refit": False}, {"keep_layers": True}, {"out": "terms.npz"}]
)
def test_what_needs_layers_or_no_bounds_is_refused_beside_transforms(network, beside):
    with pytest.raises(
        InvalidInputError, match=r"outputs (alone )?are fitted, (within bounds|in memory)"
    ):
        converted(network, transforms={"size": "log"}, **beside)


def test_transforms_need_data(network):
    with pytest.raises(InvalidInputError, match="Only a fit to data can use transforms"):
        n2p.convert(network, 2, transforms={"size": "log"})


def wide_network(n_features=40):
    """Make a network of so many exponential features that order 3 has 12,341 terms."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(n_features, 2)) / n_features**0.5
    net = n2p.Network([n2p.Layer(weights, None, "tanh"), n2p.Layer(np.ones((2, 1)))])
    return net, rng.exponential(size=(1000, n_features))


def test_terms_are_fitted_where_moments_cannot_be_kept():
    net, X = wide_network()
    found = {q: n2p.convert(net, q, data=X, transforms={"x1": "log1p"}) for q in (1, 3)}
    assert found[3].n_terms == 12_341
    assert found[3].card.r2 > 0.8
    assert np.mean((found[3].predict(X) - net.predict(X)) ** 2) < np.mean(
        (found[1].predict(X) - net.predict(X)) ** 2
    )


def test_more_terms_than_can_be_listed_are_refused_with_a_budget_as_remedy():
    net, X = wide_network()
    with pytest.raises(InvalidInputError, match=r"(?s)1,221,759 of order 5.*max_terms"):
        n2p.convert(net, 5, data=X, transforms={"x1": "rank"})


def test_weights_count_as_repeated_rows(network):
    X = skewed_rows(800)
    weights = np.where(X[:, 0] > 1.0, 3.0, 1.0)
    options = {"transforms": {"size": "log", "heat": "rank"}}
    poly = n2p.convert(network, 2, data=X, sample_weight=weights, **options)
    plain = n2p.convert(network, 2, data=X, **options)
    assert poly.inputs.center[0] > plain.inputs.center[0] + 0.2


def test_no_transforms_at_all_is_the_plain_conversion(network):
    plain, empty = converted(network), converted(network, transforms={})
    np.testing.assert_array_equal(empty.coefficients, plain.coefficients)
    assert isinstance(empty.inputs.coordinates[0].function, Identity)
    assert {Log.kind, Log1p.kind, Rank.kind} == {"log", "log1p", "rank"}
