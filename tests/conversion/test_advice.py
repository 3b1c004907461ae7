"""What the verdict of a conversion says could be had instead, from a quick look."""

from __future__ import annotations

import time

import numpy as np
import pytest
from shapiq.datasets import load_california_housing
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nn2poly as n2p
from nn2poly.conversion import advice
from nn2poly.conversion import convert as conversion
from nn2poly.verdicts import Closer, Smaller, Verdict

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def housing():
    X, y = load_california_housing()
    net = MLPRegressor(hidden_layer_sizes=(32, 32), max_iter=40, random_state=0)
    X, y = X.iloc[:5000], np.asarray(y)[:5000]
    return make_pipeline(StandardScaler(), net).fit(X, y), X


def test_a_rough_formula_says_how_many_regions_would_do_and_they_do(housing):
    model, X = housing
    poly = n2p.convert(model, 1, data=X)
    found = poly.card.verdict.reason(Closer)
    assert poly.card.r2 < 0.95
    assert found.regions in (2, 4, 8)
    formula = n2p.convert(model, 1, data=X, regions=found.regions)
    assert formula.card.r2 == pytest.approx(found.r2, abs=0.03)
    assert found.n_coefficients == formula.n_terms
    assert f"{found.regions} regions would reach about" in str(poly.card.verdict)


def test_it_goes_into_files_and_comes_back(housing, tmp_path):
    poly = n2p.convert(housing[0], 1, data=housing[1])
    again = n2p.load(poly.save(tmp_path / "poly.json")).card.verdict
    assert again == poly.card.verdict
    assert again.reason(Closer) is not None
    assert Verdict.from_dict(again.to_dict()) == again


def test_a_faithful_formula_of_many_terms_says_how_few_do_nearly_the_same():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 9))
    net = _few_matter(rng)
    poly = n2p.convert(net, 3, data=X, bounded=False)
    found = poly.card.verdict.reason(Smaller)
    assert found.n_terms < poly.n_terms / 2
    card = n2p.fidelity(net, poly.prune(found.n_terms), X)
    assert card.r2 == pytest.approx(found.r2, abs=0.01)
    assert poly.card.r2 - found.r2 < 0.01


def _few_matter(rng):
    """Make a network in which two of nine inputs matter."""
    weights = 0.02 * rng.normal(size=(9, 4))
    weights[:2] = rng.normal(size=(2, 4)) / 2
    return n2p.Network([n2p.Layer(weights, None, "tanh"), n2p.Layer(rng.normal(size=(4, 1)))])


@pytest.mark.parametrize("n_rows", [500, 900])
def test_few_rows_are_not_looked_at(housing, n_rows, monkeypatch):
    monkeypatch.setattr(advice, "grow_tree", _fail)
    poly = n2p.convert(housing[0], 1, data=housing[1][:n_rows])
    assert poly.card.verdict.reason(Closer) is None


def test_a_faithful_formula_is_not_split_to_look(monkeypatch):
    monkeypatch.setattr(advice, "grow_tree", _fail)
    X = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    net = n2p.Network([n2p.Layer(np.eye(2), None, "tanh"), n2p.Layer([[1.0], [2.0]])])
    assert n2p.convert(net, 3, data=X).card.verdict.grade == "faithful"


def test_where_no_region_helps_nothing_is_promised():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2000, 6))
    net = n2p.Network(
        [n2p.Layer(25 * rng.normal(size=(6, 40)), rng.normal(size=40), "sin"),
         n2p.Layer(rng.normal(size=(40, 1)))]
    )  # fmt: skip
    poly = n2p.convert(net, 2, data=X)
    assert poly.card.verdict.grade == "not faithful"
    assert poly.card.verdict.reason(Closer) is None
    assert "or more data" in str(poly.card.verdict)


def test_the_look_takes_less_than_four_times_the_rest(housing, monkeypatch):
    """In all some .9 s on 5,000 rows; as a ratio, which other work beside it hardly moves."""
    took = []

    def timed(*args):
        begin = time.thread_time()
        found = advice.with_advice(*args)
        took.append(time.thread_time() - begin)
        return found

    monkeypatch.setattr(conversion, "with_advice", timed)
    begin = time.thread_time()
    n2p.convert(housing[0], 2, data=housing[1])
    whole = time.thread_time() - begin
    assert took[0] < 4.0 * (whole - took[0])


def _fail(*_args, **_options):
    raise AssertionError("no tree may be grown here")
