"""A polynomial as a fitted scikit-learn estimator."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.inspection import permutation_importance
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

import nn2poly as n2p
from nn2poly.algebra.monomials import count_terms
from nn2poly.errors import InvalidInputError, OutsideRangeWarning
from nn2poly.estimators import FixedPolynomialClassifier, FixedPolynomialRegressor

AWKWARD = ['a"; DROP TABLE x; --', "größe in m²", "<script>"]


def random_poly(p, order, k=1, **options):
    rng = np.random.default_rng(p + 10 * order + 100 * k)
    options = {
        "feature_names": [f"x{j}" for j in range(1, p + 1)],
        "center": rng.normal(size=p),
        "scale": rng.uniform(0.5, 2.0, p),
    } | options
    return n2p.Polynomial(rng.normal(size=(count_terms(p, order), k)), order, **options)


@pytest.mark.parametrize("p", [1, 3, 54])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("k", [1, 7])
def test_it_predicts_what_the_polynomial_predicts(p, order, k):
    poly = random_poly(p, min(order, 2 if p == 54 else 4), k)
    X = np.random.default_rng(0).normal(size=(9, p))
    model = n2p.export.sklearn(poly)
    np.testing.assert_array_equal(model.predict(X), poly.predict(X))
    assert is_regressor(model)
    assert model.n_features_in_ == p


def test_a_sparse_polynomial_and_awkward_names_are_matched_by_name():
    poly = random_poly(3, 3, feature_names=AWKWARD).prune(5)
    X = np.random.default_rng(0).normal(size=(9, 3))
    frame = pd.DataFrame(X, columns=AWKWARD)[AWKWARD[::-1]]
    model = n2p.export.sklearn(poly)
    np.testing.assert_array_equal(model.predict(frame), poly.predict(X))
    assert model.feature_names_in_.tolist() == AWKWARD
    assert not hasattr(n2p.export.sklearn(random_poly(2, 1)), "feature_names_in_")


@pytest.mark.parametrize(("link", "k"), [("sigmoid", 1), ("softmax", 2), ("softmax", 4)])
def test_a_link_makes_it_a_classifier(link, k):
    labels = ["no", "yes", "maybe", "never"][: max(k, 2)]
    poly = random_poly(3, 2, k, link=link, classes=labels)
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = n2p.export.sklearn(poly)
    assert is_classifier(model)
    assert model.classes_.tolist() == labels
    np.testing.assert_array_equal(model.predict(X), poly.predict_label(X))
    np.testing.assert_array_equal(model.predict_proba(X), poly.predict_proba(X))
    decision = model.decision_function(X)
    assert decision.shape == ((50,) if k < 3 else (50, 4))
    if k < 3:
        np.testing.assert_array_equal(decision > 0, model.predict(X) == "yes")


def test_classes_count_from_zero_when_the_polynomial_has_none():
    assert n2p.export.sklearn(random_poly(2, 1, 1, link="sigmoid")).classes_.tolist() == [0, 1]
    assert n2p.export.sklearn(random_poly(2, 1, 3, link="softmax")).classes_.tolist() == [0, 1, 2]


def test_a_clone_keeps_the_polynomial_and_needs_no_fit():
    poly = random_poly(3, 2)
    X = np.random.default_rng(0).normal(size=(9, 3))
    copy = clone(n2p.export.sklearn(poly))
    np.testing.assert_array_equal(copy.predict(X), poly.predict(X))
    assert copy.fit(X, np.zeros(9)) is copy
    np.testing.assert_array_equal(copy.predict(X), poly.predict(X))


def test_scikit_learns_tools_take_it():
    poly = n2p.Polynomial([[0.0], [3.0], [0.0]], 1, ["used", "unused"])
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = make_pipeline(FunctionTransformer(), n2p.export.sklearn(poly))
    found = permutation_importance(model, X, poly.predict(X), random_state=0)
    assert found.importances_mean[0] > 1
    assert found.importances_mean[1] == 0


def test_rows_outside_the_range_warn():
    model = n2p.export.sklearn(random_poly(2, 1, low=0.0, high=1.0))
    with pytest.warns(OutsideRangeWarning):
        model.predict([[0.5, 3.0]])


def test_layers_stay_behind(make_network):
    poly = n2p.convert(make_network(0, (2, 3, 1), spread=0.2), 2, keep_layers=True)
    assert n2p.export.sklearn(poly).polynomial.layers == ()


@pytest.mark.parametrize("wrong", [None, 3, "poly.json"])
def test_only_polynomials_are_exported(wrong):
    with pytest.raises(InvalidInputError, match="explicit polynomial"):
        n2p.export.sklearn(wrong)


CALLS = [
    (FixedPolynomialRegressor, "fit"),
    (FixedPolynomialRegressor, "predict"),
    (FixedPolynomialClassifier, "fit"),
    (FixedPolynomialClassifier, "predict"),
    (FixedPolynomialClassifier, "predict_proba"),
    (FixedPolynomialClassifier, "decision_function"),
]


@pytest.mark.parametrize(("kind", "method"), CALLS)
@pytest.mark.parametrize("wrong", [None, "poly.json"])
def test_without_a_polynomial_there_is_nothing_to_fit_or_predict_with(kind, method, wrong):
    with pytest.raises(InvalidInputError, match="no polynomial") as error:
        getattr(kind(wrong), method)([[1.0]])
    assert "export.sklearn" in error.value.remedy


@pytest.mark.parametrize(("kind", "method"), CALLS)
def test_a_link_of_the_other_kind_is_refused(kind, method):
    links = ["identity"] if kind is FixedPolynomialClassifier else ["sigmoid", "softmax"]
    for link in links:
        model = kind(random_poly(2, 1, 1 if link == "sigmoid" else 2, link=link))
        with pytest.raises(InvalidInputError, match=f"found: '{link}'"):
            getattr(model, method)([[1.0, 2.0]])


def test_an_estimator_without_a_polynomial_knows_no_features():
    assert not hasattr(FixedPolynomialRegressor(), "n_features_in_")


# --- skops -----------------------------------------------------------------------------------

TRUSTED = [
    "nn2poly.cards.FidelityCard",
    "nn2poly.cards.Guarantee",
    "nn2poly.cards.LabelFidelity",
    "nn2poly.cards.OutputFidelity",
    "nn2poly.cards.Region",
    "nn2poly.verdicts.Distance",
    "nn2poly.verdicts.Held",
    "nn2poly.verdicts.HeldColumn",
    "nn2poly.verdicts.Labels",
    "nn2poly.verdicts.Effects",
    "nn2poly.verdicts.Look",
    "nn2poly.verdicts.ClassDistance",
    "nn2poly.verdicts.MissedTarget",
    "nn2poly.verdicts.Outside",
    "nn2poly.verdicts.Verdict",
    "nn2poly.estimators.fixed.FixedPolynomialClassifier",
    "nn2poly.estimators.fixed.FixedPolynomialRegressor",
    "nn2poly.formula.polynomial.Polynomial",
    "nn2poly.algebra.terms.Graded",
    "nn2poly.algebra.terms.Listed",
    "nn2poly.inputs.column.Column",
    "nn2poly.inputs.columns.Inputs",
    "nn2poly.inputs.coordinates.Coordinate",
    "nn2poly.inputs.functions.Identity",
    "nn2poly.outputs.Outputs",
]


def test_skops_brings_it_back_whole_with_these_types_trusted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, 400)]
    net = MLPClassifier((5,), solver="lbfgs", alpha=1.0, max_iter=5000, random_state=0).fit(X, y)
    model = n2p.export.sklearn(n2p.convert(net, 2, data=X))
    data = skops.io.dumps(model)
    assert set(skops.io.get_untrusted_types(data=data)) <= set(TRUSTED)
    back = skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
    assert back.polynomial.card == model.polynomial.card
    assert back.classes_.tolist() == ["a", "b", "c"]


def test_skops_brings_a_sparse_regressor_back():
    model = n2p.export.sklearn(random_poly(5, 3, 2, feature_names=list("abcde")).prune(7))
    back = skops.io.loads(skops.io.dumps(model), trusted=TRUSTED)
    X = np.random.default_rng(0).normal(size=(9, 5))
    np.testing.assert_array_equal(back.predict(X), model.predict(X))


def test_skops_opens_files_that_name_the_former_module_of_columns():
    model = n2p.export.sklearn(random_poly(5, 3, 2))
    present, past = b'"nn2poly.inputs.column"', b'"nn2poly.inputs.columns"'
    written, former = io.BytesIO(skops.io.dumps(model)), io.BytesIO()
    with zipfile.ZipFile(written) as new, zipfile.ZipFile(former, "w") as old:
        for name in new.namelist():
            old.writestr(name, new.read(name).replace(present, past))
    types = skops.io.get_untrusted_types(data=former.getvalue())
    assert "nn2poly.inputs.columns.Column" in types
    back = skops.io.loads(former.getvalue(), trusted=types)
    assert back.polynomial.inputs.columns == model.polynomial.inputs.columns


# --- scikit-learn's checks -------------------------------------------------------------------

# The checks bring data of their own; each is run on polynomials of every width they bring, and
# must pass at one. What is left wants the estimator to learn, which it does not.
WIDTHS = (1, 2, 3, 4, 5, 8, 10, 20)
NOT_FOR_IT = {
    "check_array_api_input": "skipped by scikit-learn here",
    "check_classifiers_classes": "classes come from the polynomial, not from y",
    "check_classifiers_one_label": "labels come from the polynomial, not from y",
    "check_classifiers_regression_target": "y is not used, so a continuous one is no error",
    "check_classifiers_train": "it does not learn from y",
    "check_n_features_in": "the number of features is known before fit",
    "check_regressors_train": "it does not learn from y",
    "check_supervised_y_2d": "y is not used, so a column vector is no reason to warn",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "options"),
    [(FixedPolynomialRegressor, {}), (FixedPolynomialClassifier, {"link": "sigmoid"})],
)
def test_scikit_learns_checks_pass_where_they_apply(kind, options):
    passed, every = set(), set()
    for width in WIDTHS:
        model = n2p.export.sklearn(random_poly(width, 2, **options))
        assert isinstance(model, kind)
        for result in check_estimator(model, on_fail=None, on_skip=None):
            every.add(result["check_name"])
            if result["status"] == "passed":
                passed.add(result["check_name"])
    assert len(passed) > 38
    assert every - passed == every & set(NOT_FOR_IT)
