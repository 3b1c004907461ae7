"""What is read predicts what the model predicts: outputs, probabilities and labels."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_iris,
    load_linnerud,
    make_multilabel_classification,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler

import nn2poly.network.readers as readers
from nn2poly.errors import (
    InvalidInputError,
    InvalidNetworkError,
    MissingDependencyError,
    UnsupportedModelError,
    require,
)
from nn2poly.links import labels, probabilities
from nn2poly.network.network import Layer, Network
from nn2poly.network.readers import read_network, register_reader

ACTIVATIONS = ("identity", "logistic", "tanh", "relu")


def standardised(bunch):
    """Give the inputs of a data set as a standardised frame."""
    frame = StandardScaler().set_output(transform="pandas").fit_transform(bunch.data)
    return frame.set_axis(bunch.feature_names, axis="columns")


def fit(kind, X, y, **options):
    usual = {"hidden_layer_sizes": (7, 5), "max_iter": 30, "learning_rate_init": 0.03}
    options = usual | {"random_state": 0} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return kind(**options).fit(X, y)


@pytest.fixture(scope="module")
def diabetes():
    data = load_diabetes(as_frame=True)
    return standardised(data), (data.target - data.target.mean()) / data.target.std()


@pytest.fixture(scope="module")
def iris():
    data = load_iris(as_frame=True)
    return standardised(data), data.target_names[data.target]


def columns(raw):
    return raw[:, None] if raw.ndim == 1 else raw


def assert_same_classifier(model, X, network=None):
    network = network or read_network(model)
    raw = columns(network.predict(X))
    chances = probabilities(raw, network.link)
    np.testing.assert_allclose(chances, model.predict_proba(X), rtol=0, atol=1e-10)
    found = labels(raw, network.link, network.classes)
    expected = model.predict(X)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    assert len(np.unique(expected, axis=0)) > 1
    return network


# --- scikit-learn regressors -----------------------------------------------------------------


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_regressor_with_any_activation_predicts_the_same(diabetes, activation):
    X, y = diabetes
    model = fit(MLPRegressor, X, y, activation=activation)
    network = read_network(model)
    np.testing.assert_allclose(network.predict(X), model.predict(X), rtol=1e-12, atol=1e-12)
    assert network.feature_names == tuple(X.columns)
    assert (network.link, network.classes, network.output_names) == ("identity", None, None)
    assert network.n_outputs == 1


@pytest.mark.parametrize("hidden", [(), (3,), (4, 4, 4, 4)])
def test_any_number_of_hidden_layers_is_read(diabetes, hidden):
    X, y = diabetes
    model = fit(MLPRegressor, X, y, activation="tanh", hidden_layer_sizes=hidden)
    network = read_network(model)
    assert len(network.layers) == len(hidden) + 1
    np.testing.assert_allclose(network.predict(X), model.predict(X), rtol=1e-12, atol=1e-12)


def test_a_regressor_of_several_outputs_predicts_the_same():
    data = load_linnerud(as_frame=True)
    X = standardised(data)
    model = fit(MLPRegressor, X, data.target, activation="tanh")
    network = read_network(model)
    assert network.n_outputs == 3
    np.testing.assert_allclose(network.predict(X), model.predict(X), rtol=1e-12, atol=1e-12)


@pytest.mark.skipif("loss" not in MLPRegressor().get_params(), reason="scikit-learn before 1.7")
def test_a_poisson_regressor_predicts_the_same_mean(diabetes):
    X, y = diabetes
    model = fit(MLPRegressor, X, y - y.min(), loss="poisson", activation="tanh")
    network = read_network(model)
    assert network.layers[-1].activation.name == "exp"
    np.testing.assert_allclose(network.predict(X), model.predict(X), rtol=1e-11)
    assert np.all(network.predict(X) > 0)


def test_an_array_brings_no_names(diabetes):
    X, y = diabetes
    assert read_network(fit(MLPRegressor, X.to_numpy(), y)).feature_names is None


def test_a_frame_in_another_order_is_matched_by_the_names_of_the_model(diabetes):
    X, y = diabetes
    model = fit(MLPRegressor, X, y)
    shuffled = X[X.columns[::-1]].assign(extra="x")
    np.testing.assert_array_equal(
        read_network(model).predict(shuffled), read_network(model).predict(X)
    )


def test_weights_in_float32_are_read_in_float64(diabetes):
    X, y = (np.asarray(part, dtype=np.float32) for part in diabetes)
    model = fit(MLPRegressor, X, y, activation="tanh")
    network = read_network(model)
    assert model.coefs_[0].dtype == np.float32
    assert network.layers[0].weights.dtype == np.float64
    np.testing.assert_allclose(network.predict(X), model.predict(X), rtol=1e-4, atol=1e-5)


def test_training_the_model_on_does_not_change_what_was_read(diabetes):
    X, y = diabetes
    model = fit(MLPRegressor, X, y)
    network, before = read_network(model), model.predict(X)
    for weights in model.coefs_:
        weights *= 3.0
    np.testing.assert_allclose(network.predict(X), before, rtol=1e-12, atol=1e-12)


# --- scikit-learn classifiers ----------------------------------------------------------------


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_binary_classifier_gives_the_same_probabilities_and_labels(activation):
    data = load_breast_cancer(as_frame=True)
    X, y = standardised(data), data.target_names[data.target]
    network = assert_same_classifier(fit(MLPClassifier, X, y, activation=activation), X)
    assert network.link == "sigmoid"
    assert network.classes == ("benign", "malignant")
    # One output: the logit of the second class.
    assert network.output_names == ("malignant",)
    assert network.feature_names[:2] == ("mean radius", "mean texture")


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_multiclass_classifier_gives_the_same_probabilities_and_labels(iris, activation):
    X, y = iris
    network = assert_same_classifier(fit(MLPClassifier, X, y, activation=activation), X)
    assert network.link == "softmax"
    assert network.classes == network.output_names == ("setosa", "versicolor", "virginica")


@pytest.mark.parametrize("kind", [int, float, bool, str])
def test_classes_keep_their_type(iris, kind):
    X, y = iris
    y = (y == "setosa").astype(int).astype(kind)
    network = assert_same_classifier(fit(MLPClassifier, X, y), X)
    assert all(type(c) is kind for c in network.classes)


def test_a_multilabel_classifier_gives_the_same_probabilities_and_labels():
    X, y = make_multilabel_classification(n_samples=150, n_features=6, n_classes=4, random_state=0)
    network = assert_same_classifier(fit(MLPClassifier, X, y, activation="tanh"), X)
    assert network.link == "sigmoid"
    assert network.n_outputs == 4


def test_an_empty_string_may_be_a_class(iris):
    X, y = iris
    y = np.where(y == "setosa", "", y)
    assert assert_same_classifier(fit(MLPClassifier, X, y), X).classes[0] == ""


# --- scikit-learn, what cannot be read -------------------------------------------------------


@pytest.mark.parametrize("kind", [MLPRegressor, MLPClassifier])
def test_a_model_that_is_not_fitted_is_refused_with_the_remedy(kind):
    with pytest.raises(UnsupportedModelError, match=f"{kind.__name__} is not fitted") as caught:
        read_network(kind(hidden_layer_sizes=(3,)))
    assert "fit(X, y)" in caught.value.remedy


class OwnRegressor(MLPRegressor):
    """A subclass from outside scikit-learn."""


def test_a_subclass_is_read_like_its_base(diabetes):
    X, y = diabetes
    model = fit(OwnRegressor, X, y, activation="tanh")
    np.testing.assert_allclose(read_network(model).predict(X), model.predict(X), rtol=1e-12)


class MLPImposter:
    """Has the attributes of a model, and is none."""

    coefs_ = (np.eye(2),)


MLPImposter.__name__ = "MLPRegressor"


@pytest.mark.parametrize(
    ("model", "path"),
    [
        (LinearRegression(), "sklearn.linear_model._base.LinearRegression"),
        (np.eye(2), "numpy.ndarray"),
        ({"tanh": np.eye(2)}, "builtins.dict"),
        (None, "builtins.NoneType"),
        (MLPRegressor, "abc.ABCMeta"),
        (MLPImposter(), "MLPImposter"),
    ],
)
def test_an_unknown_model_is_refused_by_the_path_of_its_class(model, path):
    with pytest.raises(UnsupportedModelError, match="cannot be read") as caught:
        read_network(model)
    assert path in caught.value.found
    assert any(word in caught.value.expected for word in ("scikit-learn", "MLPRegressor"))
    predicts = isinstance(model, LinearRegression)
    first = "pass model.predict" if predicts else "build it by hand: nn2poly.Network([nn2poly.Layer"
    assert caught.value.remedy.startswith(first)


# --- networks and pairs ----------------------------------------------------------------------


def test_a_network_is_its_own_reading():
    network = Network([Layer([[1.0]])])
    assert read_network(network) is network


@pytest.mark.parametrize("kind", [list, tuple])
def test_pairs_have_the_bias_in_the_first_row(kind):
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(4, 5)), rng.normal(size=(6, 2))
    network = read_network(kind([("tanh", first), ["linear", second.tolist()]]))
    assert [layer.activation.name for layer in network.layers] == ["tanh", "linear"]
    X = rng.normal(size=(9, 3))
    expected = np.tanh(X @ first[1:] + first[0]) @ second[1:] + second[0]
    np.testing.assert_allclose(network.predict(X), expected, rtol=1e-12)
    assert network.link == "identity"


def test_a_softmax_at_the_end_becomes_the_link():
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(4, 5)), rng.normal(size=(6, 3))
    network = read_network([("tanh", first), ("softmax", second)])
    assert network.link == "softmax"
    assert network.layers[-1].activation.name == "linear"
    X = rng.normal(size=(9, 3))
    logits = np.tanh(X @ first[1:] + first[0]) @ second[1:] + second[0]
    np.testing.assert_allclose(network.predict(X), logits, rtol=1e-12)


def test_a_softmax_before_the_end_is_refused():
    with pytest.raises(InvalidInputError, match="activation"):
        read_network([("softmax", np.ones((3, 2))), ("linear", np.ones((3, 2)))])


def test_an_output_activation_is_part_of_the_function():
    network = read_network(
        [("linear", np.array([[0.0], [2.0]])), ("tanh", np.array([[0.0], [1.0]]))]
    )
    np.testing.assert_allclose(network.predict([[0.25]]), [np.tanh(0.5)], rtol=1e-15)


@pytest.mark.parametrize(
    "pairs",
    [
        [],
        [np.eye(2)],
        ["tanh"],
        [("tanh",)],
        [("tanh", np.eye(2), 3)],
        [("tanh", [1.0, 2.0])],
        [("tanh", [[1.0, 2.0]])],
        [("tanh", [["a"], ["b"]])],
        [("tanh", [[1.0], [2.0, 3.0]])],
        [("tanh", [[np.nan], [1.0]])],
        [("tanh", np.ones((3, 2))), ("linear", np.ones((4, 1)))],
    ],
    ids=str,
)
def test_lists_that_make_no_network_are_refused(pairs):
    with pytest.raises(InvalidNetworkError):
        read_network(pairs)


def test_readers_of_the_same_weights_give_the_same_network(diabetes):
    X, y = diabetes
    model = fit(MLPRegressor, X, y, activation="tanh")
    weights = [np.vstack([b, w]) for w, b in zip(model.coefs_, model.intercepts_, strict=True)]
    pairs = list(zip(["tanh", "tanh", "linear"], weights, strict=True))
    read, listed = read_network(model), read_network(pairs)
    for one, other in zip(read.layers, listed.layers, strict=True):
        np.testing.assert_array_equal(one.weights, other.weights)
        np.testing.assert_array_equal(one.bias, other.bias)
        assert one.activation == other.activation
    assert isinstance(X, pd.DataFrame)


# --- readers of others -----------------------------------------------------------------------


class Line:
    def __init__(self, slope):
        self.slope = slope


class SteepLine(Line):
    pass


def line(model):
    return Network([Layer([[model.slope]])])


@pytest.fixture
def registry(monkeypatch):
    """Forget what a test registers."""
    monkeypatch.setattr(readers, "_registered", [])


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    "matches", [f"{__name__.partition('.')[0]}.Line", __name__.partition(".")[0], callable],
    ids=["class path", "package", "function"],
)  # fmt: skip
def test_a_registered_reader_reads_classes_and_what_inherits_from_them(matches):
    chosen = (lambda model: isinstance(model, Line)) if callable(matches) else matches
    with pytest.raises(UnsupportedModelError, match="cannot be read"):
        read_network(Line(2.0))
    register_reader(chosen, line)
    assert read_network(Line(2.0)).predict([[3.0]]) == [6.0]
    assert read_network(SteepLine(5.0)).predict([[3.0]]) == [15.0]
    with pytest.raises(UnsupportedModelError):
        read_network(LinearRegression())


@pytest.mark.usefixtures("registry")
def test_the_latest_reader_that_fits_wins_also_over_those_of_nn2poly(diabetes):
    X, y = diabetes
    model = fit(MLPRegressor, X, y)
    seven = Network([Layer([[7.0]])])
    register_reader("sklearn.MLPRegressor", lambda _: Network([Layer([[1.0]])]))
    register_reader("sklearn.MLPRegressor", lambda _: seven)
    register_reader("sklearn.MLPClassifier", lambda _: Network([Layer([[2.0]])]))
    assert read_network(model) is seven
    assert read_network(seven) is seven


@pytest.mark.usefixtures("registry")
def test_a_registered_reader_must_give_a_network():
    register_reader(lambda model: isinstance(model, Line), lambda model: model.slope)
    with pytest.raises(UnsupportedModelError, match="does not give a network") as caught:
        read_network(Line(2.0))
    assert caught.value.found == "float"
    with pytest.raises(InvalidInputError, match="Only a scikit-learn pipeline"):
        read_network(Line(2.0), after="scale")
    with pytest.raises(InvalidInputError, match="is registered with"):
        register_reader(Line, None)


def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingDependencyError, match="This needs scikit-learn") as caught:
        require("sklearn", what="This", extra="sklearn", otherwise=", or do without")
    assert caught.value.remedy == 'pip install "nn2poly[sklearn]", or do without'
    with pytest.raises(MissingDependencyError) as caught:
        require("no_such_package", what="That")
    assert caught.value.remedy == "pip install no_such_package"
    assert "no_such_package" in caught.value.found
