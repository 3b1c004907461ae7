"""Thresholds and calibrations around a classifier of scikit-learn are part of what is read."""

import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nn2poly as n2p
from nn2poly.errors import InvalidInputError, UnsupportedModelError

X, CODES = make_classification(400, 5, random_state=0, flip_y=0.2, weights=[0.7])
Y = np.array(["ok", "late"])[CODES]  # in alphabetical order, late comes first


def fitted(wrap, y=Y):
    inner = MLPClassifier(hidden_layer_sizes=(5,), max_iter=60, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return wrap(make_pipeline(StandardScaler(), inner)).fit(X, y)


DECIDED = {
    "fixed": lambda model: FixedThresholdClassifier(model, threshold=0.7),
    "fixed, of the first class": lambda model: FixedThresholdClassifier(
        model, threshold=0.3, pos_label="late"
    ),
    "left alone": FixedThresholdClassifier,
    "tuned": lambda model: TunedThresholdClassifierCV(model, cv=3),
    "calibrated": lambda model: CalibratedClassifierCV(model, ensemble=False, cv=3),
    "calibrated and fixed": lambda model: FixedThresholdClassifier(
        CalibratedClassifierCV(model, ensemble=False, cv=3), threshold=0.6
    ),
}


@pytest.mark.parametrize("name", DECIDED)
def test_probabilities_and_labels_are_those_of_the_whole_model(name):
    model = fitted(DECIDED[name])
    network = n2p.read_network(model)
    raw = network.predict(X).reshape(-1, 1)
    np.testing.assert_allclose(
        network.outputs.probabilities(raw), model.predict_proba(X), rtol=0, atol=1e-12
    )
    assert network.outputs.labels(raw).tolist() == model.predict(X).tolist()


def test_the_formula_keeps_the_threshold_and_the_calibration(tmp_path):
    model = fitted(DECIDED["calibrated and fixed"])
    poly = n2p.convert(model, 2, data=X)
    again = n2p.load(poly.save(tmp_path / "poly.json"))
    assert again.outputs == poly.outputs
    assert (again.outputs.threshold, again.outputs.calibration is None) == (0.6, False)
    np.testing.assert_array_equal(again.predict_label(X), poly.predict_label(X))
    assert "at threshold 0.6" in str(poly.card.verdict)


def test_a_calibration_by_steps_or_of_several_models_is_refused_with_a_remedy():
    steps = fitted(lambda m: CalibratedClassifierCV(m, method="isotonic", ensemble=False, cv=3))
    with pytest.raises(UnsupportedModelError, match="'isotonic'") as caught:
        n2p.read_network(steps)
    assert "sigmoid" in caught.value.remedy
    several = fitted(lambda m: CalibratedClassifierCV(m, cv=3))
    with pytest.raises(UnsupportedModelError, match="averages 3 classifiers"):
        n2p.read_network(several)


def test_a_threshold_changes_labels_of_polynomial_and_card():
    model = fitted(lambda m: m)
    poly = n2p.convert(model, 2, data=X, threshold=0.8)
    chances = poly.predict_proba(X)[:, 1]
    assert poly.predict_label(X).tolist() == np.where(chances >= 0.8, "ok", "late").tolist()
    halves = poly.predict_label(X, threshold=0.5).tolist()
    assert halves == np.where(chances >= 0.5, "ok", "late").tolist()
    card = n2p.fidelity(model, poly, X, Y, threshold=0.3)
    theirs = np.where(model.predict_proba(X)[:, 1] >= 0.3, "ok", "late")
    ours = poly.predict_label(X, threshold=0.3)
    assert card.agreement == np.mean(ours == theirs)
    assert card.labels.majority == max(np.mean(theirs == "ok"), np.mean(theirs == "late"))
    scores = card.labels.network
    assert scores.accuracy == np.mean(theirs == Y)
    assert scores.sensitivity == np.mean(theirs[Y == "ok"] == "ok")
    assert scores.specificity == np.mean(theirs[Y == "late"] == "late")
    assert scores.auc == pytest.approx(roc_auc_score(Y == "ok", model.predict_proba(X)[:, 1]))
    assert "P(ok) >= 0.3" in str(card)


@pytest.mark.parametrize("threshold", [0.0, 1.0, -1, "half", True])
def test_a_threshold_that_is_no_probability_is_refused(threshold):
    with pytest.raises(InvalidInputError, match="threshold"):
        n2p.convert(fitted(lambda m: m), 1, threshold=threshold)


def test_models_that_give_logits_are_declared_classifiers():
    rng = np.random.default_rng(0)
    logits = n2p.Network([n2p.Layer(rng.normal(size=(5, 4)), None, "tanh"),
                          n2p.Layer(rng.normal(size=(4, 1)))])  # fmt: skip
    poly = n2p.convert(logits, 2, data=X, classes=["no", "yes"], threshold=0.4)
    assert (poly.link, poly.classes, poly.output_names) == ("sigmoid", ("no", "yes"), ("yes",))
    card = n2p.fidelity(logits, poly, X, np.where(CODES, "yes", "no"))
    assert card.labels.threshold == 0.4
    with pytest.raises(InvalidInputError, match="classes do not match"):
        n2p.convert(logits, 2, data=X, classes=["a", "b", "c"])
