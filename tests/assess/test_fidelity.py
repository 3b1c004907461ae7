"""The fidelity card holds the numbers that scikit-learn gives for the same two columns."""

from __future__ import annotations

import warnings
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

import nn2poly as n2p
from nn2poly.errors import InvalidInputError, RadiusWarning
from nn2poly.formula.polynomial import Polynomial
from nn2poly.rows import summary
from nn2poly.rows.reading import read_sample
from nn2poly.score_texts import agreement_text


def make_network(seed=0, p=3, k=1, spread=0.3, **options):
    """Make a small tanh network well inside the radius of convergence."""
    rng = np.random.default_rng(seed)
    hidden = n2p.Layer(rng.normal(0, spread, (p, 5)), rng.normal(0, 0.1, 5), "tanh")
    return n2p.Network([hidden, n2p.Layer(rng.normal(size=(5, k)), rng.normal(size=k))], **options)


def rows(n, p=3, seed=1):
    return np.random.default_rng(seed).normal(size=(n, p))


def constant(k=1, value=2.0):
    """Make a network whose output does not depend on its input, and its exact polynomial."""
    net = n2p.Network([n2p.Layer(np.zeros((2, k)), np.full(k, value))])
    coefficients = np.zeros((3, k))
    coefficients[0] = value
    return net, Polynomial(coefficients, 1, ["x1", "x2"])


# --- the numbers -----------------------------------------------------------------------------


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.integers(1, 4))
def test_errors_are_those_of_scikit_learn(seed, n, k):
    net = make_network(seed, k=k)
    rng = np.random.default_rng(seed)
    poly = Polynomial(rng.normal(size=(4, k)), 1, ["a", "b", "c"])
    X = rng.normal(size=(n, 3))
    truth, guess = net.predict(X).reshape(n, k), poly.predict(X).reshape(n, k)
    card = n2p.fidelity(net, poly, X)
    assert card.n_rows == n
    assert card.r2 == pytest.approx(metrics.r2_score(truth, guess), rel=1e-9)
    assert card.rmse == pytest.approx(np.sqrt(metrics.mean_squared_error(truth, guess)), rel=1e-12)
    assert card.max_error == pytest.approx(np.abs(truth - guess).max(), rel=1e-12)
    for j, (name, output) in enumerate(card.per_output.items()):
        assert name == poly.output_names[j]
        column = truth[:, j], guess[:, j]
        assert output.r2 == pytest.approx(metrics.r2_score(*column), rel=1e-9)
        assert output.rmse == pytest.approx(metrics.root_mean_squared_error(*column), rel=1e-12)
        assert output.max_error == pytest.approx(metrics.max_error(*column), rel=1e-12)


def test_several_outputs_are_averaged_and_named():
    net = make_network(k=3, output_names=["u", "v", "w"])
    poly = n2p.convert(net, 1)
    card = n2p.fidelity(net, poly, rows(100))
    assert list(card.per_output) == ["u", "v", "w"]
    assert card.r2 == pytest.approx(np.mean([o.r2 for o in card.per_output.values()]))
    assert card.max_error == max(o.max_error for o in card.per_output.values())


def test_a_perfect_polynomial_has_r2_1_and_no_error():
    net = n2p.Network([n2p.Layer([[1.0, 2.0], [3.0, 4.0]], [5.0, 6.0])])
    card = n2p.fidelity(net, n2p.convert(net, 1), rows(50, p=2))
    assert card.r2 == pytest.approx(1.0, abs=1e-15)
    assert card.rmse <= card.max_error < 1e-14


def test_a_higher_order_follows_a_tanh_network_more_closely():
    net = make_network()
    errors = [n2p.fidelity(net, n2p.convert(net, q), 0.5 * rows(200)).rmse for q in (1, 3, 5)]
    assert errors[0] > 2 * errors[1] > 4 * errors[2] > 0


def test_a_polynomial_far_from_the_network_has_a_negative_r2():
    net = make_network()
    poly = Polynomial([[100.0], [0.0], [0.0], [0.0]], 1, ["x1", "x2", "x3"])
    assert n2p.fidelity(net, poly, rows(20)).r2 < -100


# --- outputs that do not vary ----------------------------------------------------------------


@pytest.mark.parametrize("value", [0.0, 2.0, 0.1, -1e100])
def test_a_constant_output_has_no_r2_and_prints_so(value):
    card = n2p.fidelity(*constant(value=value), rows(30, p=2))
    assert np.isnan(card.r2)
    assert np.isnan(card.per_output["y"].r2)
    assert "n/a" in str(card)
    assert "nan" not in str(card).lower()


def test_rounding_is_not_taken_for_variation():
    """A sum whose terms cancel wobbles in its last bits, and R² of that is noise."""
    layers = [n2p.Layer([[1e6, -1e6]], [0.1, 0.2]), n2p.Layer([[1.0], [1.0]], [0.3])]
    net = n2p.Network(layers)
    X = rows(40, p=1)
    assert 0 < np.ptp(net.predict(X)) < 1e-8
    card = n2p.fidelity(net, Polynomial([[0.6], [0.0]], 1, ["x1"]), X)
    assert card.max_error < 1e-8
    assert np.isnan(card.r2) or card.r2 <= 1.0


def test_an_output_that_does_not_vary_is_left_out_of_the_mean():
    net = n2p.Network([n2p.Layer([[1.0, 0.0]], [0.0, 3.0])], output_names=["moves", "stays"])
    card = n2p.fidelity(net, n2p.convert(net, 1), rows(20, p=1))
    assert card.per_output["moves"].r2 == card.r2 == pytest.approx(1.0, abs=1e-15)
    assert np.isnan(card.per_output["stays"].r2)


def test_a_single_row_has_errors_and_no_r2():
    net = make_network()
    poly = n2p.convert(net, 1)
    X = rows(1)
    card = n2p.fidelity(net, poly, X)
    assert card.n_rows == 1
    assert np.isnan(card.r2)
    difference = abs(net.predict(X)[0] - poly.predict(X)[0])
    assert card.rmse == pytest.approx(difference, rel=1e-12)
    assert card.max_error == pytest.approx(difference, rel=1e-12)


# --- classifiers -----------------------------------------------------------------------------


def fit(X, y):
    model = MLPClassifier(hidden_layer_sizes=(6,), activation="tanh", max_iter=40, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
@pytest.mark.filterwarnings("ignore::nn2poly.errors.RadiusWarning")
def test_agreement_is_the_accuracy_of_the_polynomials_labels(load):
    data = load()
    X = StandardScaler().fit_transform(data.data)
    model = fit(X, data.target_names[data.target])
    poly = n2p.convert(model, 1)
    card = n2p.fidelity(model, poly, X)
    expected = metrics.accuracy_score(model.predict(X), poly.predict_label(X))
    assert card.agreement == pytest.approx(expected, rel=1e-12)
    assert 0.5 < card.agreement < 1.0
    assert f"labels agree on {agreement_text(expected)} of rows" in str(card)


def test_agreement_of_a_multilabel_classifier_asks_for_all_labels_of_a_row():
    net = make_network(k=3, link="sigmoid")
    poly = Polynomial(np.random.default_rng(0).normal(size=(4, 3)), 1, ["x1", "x2", "x3"])
    X = rows(200)
    expected = metrics.accuracy_score(net.predict(X) > 0, poly.predict(X) > 0)
    assert n2p.fidelity(net, poly, X).agreement == pytest.approx(expected)
    assert 0 < expected < 1


def test_probabilities_of_a_row_are_compared_by_the_one_that_differs_most():
    net = make_network(k=3, link="softmax")
    poly = n2p.convert(net, 1)
    X = rows(200)
    pair = [np.exp(r) / np.exp(r).sum(axis=1)[:, None] for r in (net.predict(X), poly.predict(X))]
    card = n2p.fidelity(net, poly, X)
    expected = np.quantile(np.abs(pair[0] - pair[1]).max(axis=1), 0.95)
    assert card.probability_within == pytest.approx(expected, rel=1e-9)
    assert card.probability_within > card.probability_error > 0
    assert "probabilities are within" in str(card.verdict)


def test_a_regression_has_no_agreement():
    net = make_network()
    card = n2p.fidelity(net, n2p.convert(net, 1), rows(20))
    assert card.agreement is None
    assert "label" not in str(card)


# --- rows --------------------------------------------------------------------------------------


def as_form(X, form):
    """Give the same rows whole, in batches, or in the parts of a Dask array."""
    if form == "dask":
        dask_array = pytest.importorskip("dask.array")
        return dask_array.from_array(X, chunks=(250, -1))
    return X if form == "array" else [X[:100], X[100:450], X[450:]]


FORMS = ["array", "batches", "dask"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("most", [20_000, 60])
def test_the_rows_of_the_card_are_numbered_as_in_the_data(monkeypatch, form, most):
    """Also when there are so many that an even choice of them is kept."""
    monkeypatch.setattr(summary, "MAX_HELD_OUT", most)
    X = rows(700)
    found = summary.summarise(read_sample(as_form(X, form), make_network(), None))
    assert 20 < len(found.held_out) <= most
    np.testing.assert_array_equal(X[found.held_out_numbers], found.held_out)


@pytest.mark.parametrize("form", FORMS)
def test_the_worst_row_of_a_conversion_is_counted_in_the_data_passed(form):
    net = make_network(k=2)
    X = rows(700)
    data = as_form(X, form)
    pnet = n2p.polynomial_network(net, 2, data=data)
    error = np.abs(net.predict(X) - pnet.outputs_by_order(X)[-1])
    for k, output in enumerate(pnet.card.per_output.values()):
        assert error[output.worst_row, k] == pytest.approx(output.max_error, rel=1e-9)
    assert max(o.worst_row for o in pnet.card.per_output.values()) > pnet.card.n_rows


def test_rows_without_weight_count_as_rows_of_the_data():
    net = make_network()
    X = rows(600)
    weight = (np.arange(600) % 2).astype(float)
    card = n2p.polynomial_network(net, 2, data=X, sample_weight=weight).card
    assert card.per_output["y"].worst_row % 2 == 1


def test_fidelity_counts_in_the_rows_given():
    net = make_network()
    poly = n2p.convert(net, 1)
    X = rows(50)
    error = np.abs(net.predict(X) - poly.predict(X))
    assert n2p.fidelity(net, poly, X).per_output["y"].worst_row == error.argmax()


# --- what goes in ----------------------------------------------------------------------------


def test_the_factored_form_gives_the_same_card_as_the_terms():
    net = make_network(k=2)
    factored = n2p.polynomial_network(net, 3)
    one, other = (n2p.fidelity(net, form, rows(50)) for form in (factored, factored.expand()))
    assert one.r2 == pytest.approx(other.r2, rel=1e-12)
    assert one.rmse == pytest.approx(other.rmse, rel=1e-9)
    assert one.max_error == pytest.approx(other.max_error, rel=1e-9)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
@pytest.mark.parametrize("named", ["network", "polynomial", "both", "neither"])
def test_a_frame_means_the_same_rows_to_the_network_and_to_the_polynomial(frame, named):
    """Also when only one of them has names, and the columns come in another order."""
    names = ["x1", "x2", "x3"] if named == "neither" else ["a", "b", "c"]
    net = make_network(feature_names=names if named in ("network", "both") else None)
    poly = n2p.convert(net, 2, feature_names=names if named in ("polynomial", "both") else None)
    X = rows(60)
    table = frame({"extra": [0.0] * 60} | {names[j]: X[:, j] for j in (2, 0, 1)})
    card, expected = n2p.fidelity(net, poly, table), n2p.fidelity(net, poly, X)
    assert card.rmse == pytest.approx(expected.rmse, rel=1e-12)
    factored = n2p.polynomial_network(net, 2, feature_names=poly.feature_names)
    assert n2p.fidelity(net, factored, table).rmse == pytest.approx(expected.rmse, rel=1e-6)


def test_a_frame_with_the_names_of_either_is_accepted():
    net = make_network(feature_names=["a", "b", "c"])
    poly = n2p.convert(net, 2, feature_names=["d", "e", "f"])
    X = rows(30)
    expected = n2p.fidelity(net, poly, X).rmse
    for names in ("abc", "def"):
        assert n2p.fidelity(net, poly, pd.DataFrame(X, columns=list(names))).rmse == expected


def test_coordinates_of_the_polynomial_do_not_matter():
    net = make_network()
    poly = n2p.convert(net, 2)
    one = n2p.fidelity(net, poly, rows(40))
    other = n2p.fidelity(net, poly.rebase(1.0, 3.0), rows(40))
    assert other.rmse == pytest.approx(one.rmse, rel=1e-9)


@pytest.mark.parametrize("shape", [(2, 1), (4, 1), (3, 2)])
def test_a_polynomial_of_another_network_is_refused_with_both_shapes(shape):
    poly = n2p.convert(make_network(p=shape[0], k=shape[1]), 1)
    with pytest.raises(InvalidInputError, match="does not belong to this network") as caught:
        n2p.fidelity(make_network(), poly, rows(5))
    assert caught.value.expected.startswith("3 features and 1 output")
    assert caught.value.found.startswith(f"{shape[0]} features and {shape[1]} output")
    assert caught.value.remedy


def test_the_arguments_in_the_wrong_order_are_refused():
    net = make_network()
    with pytest.raises(InvalidInputError, match="not a polynomial") as caught:
        n2p.fidelity(n2p.convert(net, 1), net, rows(5))
    assert caught.value.remedy == "call fidelity(model, poly, X)"


@pytest.mark.parametrize("poly", ["text", None, np.zeros((4, 1))], ids=str)
def test_what_is_no_polynomial_is_refused(poly):
    with pytest.raises(InvalidInputError):
        n2p.fidelity(make_network(), poly, rows(5))


@pytest.mark.parametrize("X", [np.zeros((0, 3)), np.zeros((4, 2)), [[1.0, np.nan, 2.0]], [1.0] * 3])
def test_rows_that_do_not_fit_are_refused(X):
    net = make_network()
    with pytest.raises(InvalidInputError) as caught:
        n2p.fidelity(net, n2p.convert(net, 1), X)
    assert caught.value.where == "X"


# --- how it reads ----------------------------------------------------------------------------


class Reader(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


def test_the_card_prints_its_rows_outputs_and_numbers():
    net = make_network(k=2, output_names=["price", "demand"])
    card = n2p.fidelity(net, n2p.convert(net, 1), rows(1234))
    text = str(card)
    for part in ("1,234", "price", "demand", f"{card.rmse:.4g}"[:5], "R2", "RMSE", "max error"):
        assert part in text


def test_the_notebook_view_shows_the_same_outputs_escaped():
    evil = ["<script>alert(1)</script>", "<b>"]
    net = make_network(k=2, output_names=evil, feature_names=["<i>", "<u>", "<s>"])
    card = n2p.fidelity(net, n2p.convert(net, 1), rows(300))
    reader = Reader(card._repr_html_())
    assert "table" in reader.tags
    assert not {"script", "b", "i", "u", "s"} & set(reader.tags)
    assert set(evil) <= set(reader.texts)


def test_the_card_cannot_be_changed():
    card = n2p.fidelity(*constant(), rows(3, p=2))
    with pytest.raises(AttributeError):
        card.r2 = 1.0


def test_weights_outside_the_radius_warn_at_conversion_and_show_on_the_card():
    net = make_network(spread=3.0)
    with pytest.warns(RadiusWarning, match="radius"):
        poly = n2p.convert(net, 3)
    assert n2p.fidelity(net, poly, rows(100)).r2 < 0.5


def test_a_formula_with_regions_is_compared_as_a_whole():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (500, 2))
    net = n2p.Network([n2p.Layer([[3.0], [1.0]], None, "relu"), n2p.Layer([[1.0]], [2.0])])
    formula = n2p.convert(net, 1, data=X, regions=6)
    assert formula.n_regions > 1
    card = n2p.fidelity(net, formula, rng.uniform(-1, 1, (400, 2)))
    assert card.r2 > n2p.fidelity(net, n2p.convert(net, 1, data=X), X).r2
    assert len(card.per_order) == 2
    assert card.n_rows == 400


@pytest.mark.filterwarnings("ignore:.*(overflow|invalid value):RuntimeWarning")
@pytest.mark.filterwarnings("ignore::nn2poly.errors.OutsideRangeWarning")
def test_one_cell_near_the_largest_float_does_not_hide_that_the_output_varies(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    net = n2p.Network([n2p.Layer([[1.0], [2.0]], [0.1], "relu"), n2p.Layer([[1.0]])])
    poly = n2p.convert(net, 2, data=X)
    X[3, 0] = 1e308
    card = n2p.fidelity(net, poly, X)
    assert card.verdict.grade == "not faithful"
    assert np.isfinite(card.r2)
    assert np.isfinite(card.rmse)
