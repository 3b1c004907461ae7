"""What the verdict of a conversion says could be had instead, from a quick look when it is read."""

from __future__ import annotations

import copy
import gc
import pickle
import types
import weakref

import numpy as np
import pandas as pd
import pytest
from shapiq.datasets import load_california_housing
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nn2poly as n2p
from nn2poly.cards import FidelityCard
from nn2poly.errors import NN2PolyWarning
from nn2poly.fit import advice
from nn2poly.verdicts import Verdict

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
    found = poly.card.verdict.advice
    assert poly.card.r2 < 0.95
    assert found.regions in (2, 4, 8)
    formula = n2p.convert(model, 1, data=X, regions=found.regions)
    assert formula.card.r2 == pytest.approx(found.r2, abs=0.03)
    assert found.n_coefficients == formula.n_terms
    assert f"{found.regions} regions would reach about" in str(poly.card.verdict)


def test_advice_that_was_read_goes_into_files_and_comes_back(housing, tmp_path):
    poly = n2p.convert(housing[0], 1, data=housing[1])
    found = poly.card.verdict.advice
    again = n2p.load(poly.save(tmp_path / "poly.json")).card.verdict
    assert again == poly.card.verdict
    assert again.advice == found
    assert str(again) == str(poly.card.verdict)
    assert Verdict.from_dict(again.to_dict()).advice == found
    assert pickle.loads(pickle.dumps(poly)).card.verdict.advice == found


def test_nothing_is_looked_for_until_the_verdict_is_read(housing, tmp_path, monkeypatch):
    grow_tree = advice.grow_tree
    monkeypatch.setattr(advice, "grow_tree", _fail)
    poly = n2p.convert(housing[0], 1, data=housing[1])
    card = poly.card
    unread = [
        n2p.load(poly.save(tmp_path / "poly.json")).card,
        pickle.loads(pickle.dumps(poly)).card,
        FidelityCard.from_dict(card.to_dict()),
    ]
    copied = copy.deepcopy(card)
    assert all(other == card for other in (*unread, copied))
    assert card.verdict.effects == "not faithful"
    assert hash(card.verdict) == hash(copied.verdict)
    assert "look" not in repr(card)
    assert [other.verdict.advice for other in unread] == [None, None, None]
    monkeypatch.setattr(advice, "grow_tree", grow_tree)
    assert "Closer: " in str(copied)
    assert copied.verdict.advice is card.verdict.advice


@pytest.mark.parametrize(
    "read", [str, lambda card: card._repr_html_(), lambda card: card.verdict.advice]
)
def test_it_is_looked_for_once_and_forgets_its_rows(housing, monkeypatch, read):
    grown, grow_tree = [], advice.grow_tree

    def grow(*args, **options):
        grown.append(args)
        return grow_tree(*args, **options)

    monkeypatch.setattr(advice, "grow_tree", grow)
    card = n2p.convert(housing[0], 1, data=housing[1]).card
    read(card)
    read(card)
    assert len(grown) == 1
    rows = weakref.ref(grown.pop()[1].fit_rows)
    gc.collect()
    assert rows() is None


def test_a_verdict_that_is_not_read_keeps_few_rows(housing):
    model, X = housing
    poly = n2p.convert(model, 1, data=pd.concat([X] * 8) + np.linspace(0, 1, 8 * len(X))[:, None])
    gc.collect()
    kept = {id(a): a.nbytes for a in _arrays(poly.card.verdict.look)}
    assert sum(kept.values()) < 1.5 * (advice.QUICK_ROWS + advice.JUDGED_ROWS) * 8 * (8 + 4)


def _arrays(start):
    """Find all arrays that an object keeps alive, beside modules and types."""
    seen, waiting = set(), [start]
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, type | types.ModuleType):
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray):
            while one.base is not None and isinstance(one.base, np.ndarray):
                one = one.base
            yield one
            continue
        if isinstance(one, types.FunctionType):
            waiting.extend(cell.cell_contents for cell in one.__closure__ or ())
            continue
        waiting.extend(gc.get_referents(one))


def test_a_function_is_asked_again_when_the_verdict_is_read_and_may_fail(housing):
    model, X = housing
    works = [True]

    def function(table):
        if not works[0]:
            raise RuntimeError("the server is down")
        return model.predict(table)

    polys = [n2p.convert(function, 1, data=X) for _ in range(2)]
    assert polys[0].card.verdict.advice is not None
    works[0] = False
    with pytest.warns(NN2PolyWarning, match="the server is down"):
        text = str(polys[1].card)
    assert "Closer" not in text


def test_a_faithful_formula_of_many_terms_says_how_few_do_nearly_the_same():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 9))
    net = _few_matter(rng)
    poly = n2p.convert(net, 3, data=X)
    found = poly.card.verdict.advice
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
    assert poly.card.verdict.advice is None


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
    assert poly.card.verdict.advice is None
    assert "or more data" in str(poly.card.verdict)


def _fail(*_args, **_options):
    raise AssertionError("no tree may be grown here")
