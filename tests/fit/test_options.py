"""Every entry point takes its options from `Options`: names, defaults, checks and texts."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import fields
from importlib import import_module
from typing import get_overloads, get_type_hints

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nn2poly as n2p
from nn2poly.cli.wording import as_flags
from nn2poly.errors import InvalidInputError, NN2PolyError, UnknownOptionError
from nn2poly.fit.options import DEFAULTS, Given, Layered, Options, Shared, summary

TYPES = get_type_hints(Options)
VERBS = (n2p.convert, n2p.convert_many, n2p.polynomial_network, n2p.frontier)
# What an entry point does not take, and why.
FORMULAS = {"regions", "max_terms", "transforms", "keep_layers", "out"}  # what is written out
TRIED = {"max_order", "method", "taylor_order", "taylor_center", "around", "refit", "target_r2"}
OF_FIT = {"data", "sample_weight", "groups", "feature_names", "output_names", "classes"}
OF_ONE_FORMULA = {"after", "output", "keep_layers", "out"}
WITHOUT = {
    n2p.convert: set(),
    n2p.convert_many: set(),
    n2p.polynomial_network: FORMULAS,
    n2p.frontier: TRIED | {"data", "keep_layers", "out"},  # X is the data
    n2p.PolynomialRegressor: OF_FIT | OF_ONE_FORMULA | {"link", "threshold"},
    n2p.PolynomialClassifier: OF_FIT | OF_ONE_FORMULA,
}
OWN = {
    n2p.convert: {"model"},
    n2p.convert_many: {"models", "backend", "n_jobs"},
    n2p.polynomial_network: {"model"},
    n2p.frontier: {"model", "X", "orders"},
    n2p.PolynomialRegressor: {"estimator", "outside", "random_state"},
    n2p.PolynomialClassifier: {"estimator", "outside", "random_state"},
}
# Several are tried at once.
MANY = {n2p.frontier: {"regions", "max_terms"}}


@pytest.fixture
def network(make_network):
    return make_network(0, (2, 6, 1), "tanh")


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(300, 2))


@pytest.mark.parametrize("entry", WITHOUT, ids=lambda entry: entry.__name__)
def test_entry_points_have_the_options_and_defaults_of_options(entry):
    parameters = inspect.signature(entry).parameters
    assert set(parameters) == (DEFAULTS.keys() - WITHOUT[entry]) | OWN[entry]
    for name in parameters.keys() - OWN[entry] - MANY.get(entry, set()):
        assert parameters[name].default == DEFAULTS[name], name
        if entry not in VERBS:
            written = next(f.type for f in fields(entry) if f.name == name)
        else:
            written = parameters[name].annotation
        assert written == Options.__annotations__[name], name


def test_the_command_line_has_the_defaults_and_texts_of_options():
    compared = set()
    for name, found in signature_of("convert").items():
        option = {"order": "max_order"}.get(name, name)
        # "--output" is a file, a row or a column stands for its values.
        if option not in DEFAULTS or name == "output":
            continue
        compared.add(option)
        assert str(found.default) == str(DEFAULTS[option]), name
        (text,) = (part.help for part in found.annotation.__metadata__)
        if name not in ("data", "around", "groups", "transforms"):
            assert text == as_flags(summary(option).replace("``", "")), name
    assert len(compared) == 14


def signature_of(command):
    return inspect.signature(getattr(import_module(f"nn2poly.cli.{command}"), command)).parameters


def test_the_types_of_keywords_are_those_of_options():
    for kind in (Shared, Layered, Given):
        for name, found in get_type_hints(kind).items():
            assert found == TYPES[name], name
    assert Given.__optional_keys__ == DEFAULTS.keys() - {"max_order", "regions"}
    assert [len(get_overloads(inspect.unwrap(verb))) for verb in VERBS[:2]] == [2, 2]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
def test_every_option_has_its_text_where_it_is_taken(verb):
    for name in inspect.signature(verb).parameters.keys() & DEFAULTS.keys():
        assert (
            f"\n    {name}\n" in verb.__doc__
            or f"{name}, " in verb.__doc__
            or (f", {name}\n" in verb.__doc__)
        ), name
    assert "**options" not in verb.__doc__
    for name in DEFAULTS:
        assert summary(name).rstrip().endswith((".", ":")), summary(name)


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("feature_name", "feature_names"),
        ("sample_weights", "sample_weight"),
        ("Bounded", "bounded"),
    ],
)
def test_a_misspelt_option_is_refused_with_the_nearest_name(verb, wrong, near, network, rows):
    first = [network] if verb is n2p.convert_many else network
    more = (rows,) if verb is n2p.frontier else ()
    with pytest.raises(
        UnknownOptionError, match=f"{verb.__name__} has no option '{wrong}'"
    ) as told:
        verb(first, *more, **{wrong: None})
    assert told.value.remedy == f"did you mean {near!r}?"
    assert isinstance(told.value, TypeError)


def test_an_option_of_convert_alone_is_told_so(network, rows):
    for verb, option in ((n2p.frontier, "around"), (n2p.polynomial_network, "regions")):
        more = (rows,) if verb is n2p.frontier else ()
        with pytest.raises(UnknownOptionError, match="convert has it"):
            verb(network, *more, **{option: 2})


# --- checks --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("max_terms", 9),
        ("regions", 2),
        ("transforms", "curve"),
        ("bounded", {"x1": (0, 1)}),
        ("sample_weight", np.ones(300)),
        ("groups", np.arange(300)),
    ],
)
@pytest.mark.parametrize("way", ["nothing", "taylor", "around"])
def test_what_is_fitted_to_data_goes_with_nothing_else(option, value, way, rows):
    others = {
        "nothing": {},
        "taylor": {"data": rows, "method": "taylor"},
        "around": {"data": rows, "around": [0.0, 0.0]},
    }[way]
    with pytest.raises(InvalidInputError, match=f"Only a fit to data can use {option}") as told:
        Options(**others, **{option: value})
    assert told.value.where == option
    assert {
        "nothing": "pass data=X",
        "taylor": "leave method='taylor' or",
        "around": "leave around= or",
    }[way] in told.value.remedy


@pytest.mark.parametrize("option", ["check", "refit", "keep_layers"])
def test_a_flag_is_true_or_false(option, network):
    with pytest.raises(InvalidInputError, match=f"{option} must be True or False"):
        n2p.convert(network, 2, **{option: "no"})


def test_no_transforms_are_none(network):
    assert n2p.convert(network, 2, transforms={}).n_terms == 6


def test_a_list_of_binary_columns_is_refused_beside_a_file(network, tmp_path):
    with pytest.raises(InvalidInputError, match="is not folded"):
        n2p.convert(network, 2, binary=np.array(["x1", "x2"]), out=tmp_path / "poly.npz")


def test_options_are_checked_before_the_model_is_read():
    with pytest.raises(NN2PolyError) as told:
        n2p.convert(object(), 2, target_r2=1.5)
    assert told.value.where == "target_r2"


def test_names_may_come_one_by_one_and_are_read_more_than_once(network, rows):
    names = ["age", "dose"]
    poly = n2p.frontier(network, rows, orders=(1,), feature_names=iter(names)).pick(n_terms=3)
    assert poly.feature_names == ("age", "dose")
    polys = n2p.convert_many([network] * 2, 1, feature_names=iter(names), backend="sequential")
    assert {poly.feature_names for poly in polys} == {("age", "dose")}


# --- what was refused before ---------------------------------------------------------------------


class TwoOutputs(torch.nn.Module):
    """A model of two outputs."""

    def forward(self, x):
        return torch.tanh(x @ torch.tensor([[1.0], [0.5]])), x.sum(dim=1, keepdim=True)


def test_a_frontier_is_of_one_output(rows):
    tried = {"orders": (1,), "regions": (1,), "max_terms": ()}
    found = n2p.frontier(TwoOutputs(), rows, output=0, **tried)
    other = n2p.frontier(TwoOutputs(), rows, output=1, **tried)
    poly, alone = found.pick(n_terms=3), n2p.convert(TwoOutputs(), 1, data=rows, output=0)
    np.testing.assert_array_equal(poly.coefficients, alone.coefficients)
    np.testing.assert_allclose(other.pick(n_terms=3).predict(rows), rows.sum(axis=1), rtol=1e-6)


def test_a_frontier_is_pickled_with_its_options(network, rows):
    found = n2p.frontier(network, rows, orders=(1,), regions=(1,), max_terms=(), binary=False)
    again = pickle.loads(pickle.dumps(found))
    expected = found.pick(n_terms=3).coefficients
    np.testing.assert_array_equal(again.pick(n_terms=3).coefficients, expected)


def test_a_frontier_is_of_labels_at_a_threshold(rows):
    network = n2p.Network([n2p.Layer([[2.0], [-1.0]], [0.3], "tanh"), n2p.Layer([[3.0]])])
    given = {"link": "sigmoid", "threshold": 0.2}
    found = n2p.frontier(network, rows, orders=(1,), regions=(1,), max_terms=(), **given)
    alone = n2p.convert(network, 1, data=rows, **given)
    poly = found.pick(n_terms=3)
    assert poly.outputs.threshold == 0.2
    np.testing.assert_array_equal(poly.coefficients, alone.coefficients)


def test_a_polynomial_network_leaves_rows_with_holes_out_and_knows_its_classes(rows):
    network = n2p.Network([n2p.Layer([[2.0], [-1.0]], [0.3], "tanh"), n2p.Layer([[3.0]])])
    holes = pd.DataFrame(rows, columns=["a", "b"])
    holes.loc[7, "b"] = np.nan
    options = {"link": "sigmoid", "classes": ["no", "yes"], "threshold": 0.3}
    pnet = n2p.polynomial_network(network, data=holes, missing="skip", **options)
    full = n2p.polynomial_network(network, data=holes.drop(index=7), **options)
    assert pnet.network.outputs.classes == ("no", "yes")
    assert pnet.network.outputs.threshold == 0.3
    np.testing.assert_allclose(pnet.predict(rows), full.predict(rows))


@pytest.fixture(scope="module")
def ages():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"age": rng.normal(50, 20, 400), "dose": rng.uniform(0, 1, 400)})


def test_an_estimator_takes_bounds_of_single_columns(ages):
    net = MLPRegressor(hidden_layer_sizes=6, solver="lbfgs", max_iter=2000, random_state=0)
    net = make_pipeline(StandardScaler(), net)
    y = np.tanh(ages["age"] / 50) + ages["dose"]
    model = n2p.PolynomialRegressor(net, bounded={"age": (20, 80)}).fit(ages, y)
    plain = n2p.convert(model.estimator_, data=ages, bounded={"age": (20, 80)})
    np.testing.assert_array_equal(model.polynomial_.coefficients, plain.coefficients)
    function = model.polynomial_.inputs.columns[0].coordinates[0].function
    assert (function.low, function.high) == (20.0, 80.0)
    with pytest.raises(InvalidInputError, match="no number 'aeg'"):
        n2p.PolynomialRegressor(net, bounded={"aeg": (20, 80)}).fit(ages, y)


def test_an_estimator_takes_a_point_and_the_options_of_a_series(ages):
    net = MLPRegressor(
        hidden_layer_sizes=6, activation="tanh", solver="lbfgs", max_iter=2000, random_state=0
    )
    net = make_pipeline(StandardScaler(), net)
    y = ages["age"] / 50 + ages["dose"]
    near = n2p.PolynomialRegressor(net, around=[50.0, 0.5], outside="clip").fit(ages, y)
    point = ages.iloc[:1].assign(age=50.0, dose=0.5)
    np.testing.assert_allclose(near.predict(point), near.estimator_.predict(point))
    series = n2p.PolynomialRegressor(net, method="taylor", taylor_order=3, check=False)
    fitted = series.fit(ages, y)
    plain = n2p.convert(fitted.estimator_, data=ages, method="taylor", taylor_order=3)
    np.testing.assert_array_equal(fitted.polynomial_.coefficients, plain.coefficients)


def test_a_classifier_has_its_threshold(ages):
    y = np.where(ages["age"] > 50, "old", "young")
    net = MLPClassifier((6,), activation="tanh", solver="lbfgs", alpha=1.0, random_state=0)
    net = make_pipeline(StandardScaler(), net)
    model = n2p.PolynomialClassifier(net, threshold=0.9).fit(ages, y)
    chosen = model.predict_proba(ages)[:, 1] >= 0.9
    np.testing.assert_array_equal(model.predict(ages), np.where(chosen, "young", "old"))


def test_an_estimator_of_logits_is_told_its_link(ages):
    net = make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=6, random_state=0))
    y = np.where(ages["age"] > 50, 1, 0)
    with pytest.raises(InvalidInputError, match="link="):
        n2p.PolynomialClassifier(net).fit(ages, y)
    model = n2p.PolynomialClassifier(net, link="sigmoid").fit(ages, y)
    expected = 1 / (1 + np.exp(-model.decision_function(ages)))
    np.testing.assert_allclose(model.predict_proba(ages)[:, 1], expected)


def test_a_mistake_in_an_option_is_told_before_an_estimator_is_trained():
    class Untrained(MLPRegressor):
        def fit(self, X, y):
            pytest.fail("it was trained")

    X = np.zeros((30, 2))
    with pytest.raises(InvalidInputError, match="method"):
        n2p.PolynomialRegressor(Untrained(), method="tailor").fit(X, X[:, 0])
