"""A polynomial predicts, looks up, rebases and prunes exactly, and refuses what makes no sense."""

from __future__ import annotations

import dataclasses
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from nn2poly.algebra.monomials import count_terms
from nn2poly.algebra.terms import Listed
from nn2poly.errors import InvalidInputError, TooManyTermsError, UnknownTermError
from nn2poly.formula.polynomial import Polynomial
from nn2poly.inputs import Inputs
from nn2poly.memory import available_bytes


def random_polynomial(seed, p=3, order=3, k=2, **options):
    rng = np.random.default_rng(seed)
    names = options.pop("feature_names", [f"v{i}" for i in range(p)])
    return Polynomial(rng.normal(size=(count_terms(p, order), k)), order, names, **options)


def brute_force(terms, coefficients, z):
    """Multiply out every term; give the values and the size of what was added up."""
    values = np.column_stack([np.prod(z[:, list(t)], axis=1) for t in terms])
    return values @ coefficients, (np.abs(values) @ np.abs(coefficients)).max()


def assert_predicts(poly, X):
    z = (X - poly.center) / poly.scale
    expected, size = brute_force(poly.terms, poly.coefficients, z)
    found = poly.predict(X)
    assert found.shape == ((len(X),) if poly.n_outputs == 1 else expected.shape)
    np.testing.assert_allclose(
        found.reshape(len(X), -1), expected, rtol=0, atol=1e-13 * max(size, 1)
    )


def refused(call, error=InvalidInputError):
    with pytest.raises(error) as caught:
        call()
    return caught.value


# --- construction ----------------------------------------------------------------------------

ZEROS = np.zeros((3, 1))


@pytest.mark.parametrize(
    "coefficients",
    [
        np.zeros((4, 1)),
        np.zeros((2, 1)),
        np.zeros(3),
        np.zeros((3, 1, 1)),
        np.zeros((3, 0)),
        5.0,
        [[np.nan], [0.0], [0.0]],
        [[0.0], [np.inf], [0.0]],
        [["a"], ["b"], ["c"]],
        [[1.0], [2.0, 3.0], [4.0]],
        [[None], [1.0], [2.0]],
        np.zeros((3, 1), dtype=complex),
    ],
    ids=lambda c: str(c).replace("\n", ""),
)
def test_coefficients_that_do_not_fit_the_terms_are_refused(coefficients):
    error = refused(lambda: Polynomial(coefficients, 1, ["a", "b"]))
    assert "coefficients" in error.what
    assert "(3, n_outputs)" in error.expected or "finite real numbers" in error.expected
    assert error.found


def test_a_basis_too_large_to_count_is_refused_by_its_coefficients():
    names = [f"v{i}" for i in range(100)]
    error = refused(lambda: Polynomial([[1.0]], 100, names))
    assert error.found == "shape (1, 1)"


@pytest.mark.parametrize("order", [-1, 101, 1.0, 0.0, "1", None, True, False])
def test_an_order_that_is_no_integer_from_0_to_100_is_refused(order):
    assert "order" in refused(lambda: Polynomial(ZEROS, order, ["a", "b"])).what


@pytest.mark.parametrize(
    "names",
    ["ab", {"a", "b"}, ["a", "a"], ["a", ""], ["a", 1], None, [], 5],
    ids=lambda names: f"{type(names).__name__} {len(str(names))}",
)
def test_feature_names_that_are_no_list_of_distinct_strings_are_refused(names):
    error = refused(lambda: Polynomial(ZEROS, 1, names))
    assert "names" in error.what.lower()


@pytest.mark.parametrize("names", ["y", ["y1", "y2"], [""], [1]], ids=str)
def test_output_names_that_do_not_fit_are_refused(names):
    assert refused(lambda: Polynomial(ZEROS, 1, ["a", "b"], names)).where == "output_names"


def test_an_unknown_link_is_refused_with_the_near_match():
    error = refused(lambda: Polynomial(ZEROS, 1, ["a", "b"], link="softmx"))
    assert error.remedy == "did you mean 'softmax'?"


@pytest.mark.parametrize("scale", [0.0, -1.0, [1.0, 0.0], np.nan, np.inf, [1.0, 2.0, 3.0], "x"])
def test_a_scale_that_is_not_positive_and_finite_is_refused(scale):
    assert "scale" in str(refused(lambda: Polynomial(ZEROS, 1, ["a", "b"], scale=scale)))


@pytest.mark.parametrize("center", [np.nan, [0.0, np.inf], [1.0, 2.0, 3.0], [[0.0, 0.0]], "x"])
def test_a_center_that_is_not_one_finite_number_per_feature_is_refused(center):
    assert "center" in str(refused(lambda: Polynomial(ZEROS, 1, ["a", "b"], center=center)))


@pytest.mark.parametrize(
    "positions",
    [[2, 0], [1, 1], [1, 7], [-1, 1], [0.5, 1.5], [[0, 1]], "ab", [2, -(2**63)], np.uint64([2, 0])],
    ids=str,
)
def test_positions_that_are_not_increasing_places_of_the_basis_are_refused(positions):
    error = refused(lambda: Polynomial(ZEROS[:2], 1, ["a", "b"], positions=positions))
    assert "positions" in str(error)


@pytest.mark.parametrize(
    ("whole", "part"),
    [
        ("inputs", {"feature_names": ["a", "b"]}),
        ("inputs", {"center": [1.0, 0.0]}),
        ("inputs", {"scale": 2.0}),
        ("inputs", {"low": [0.0, 0.0], "high": [1.0, 1.0]}),
        ("terms", {"max_order": 1}),
        ("terms", {"positions": [0, 1, 2]}),
        ("outputs", {"output_names": ["y"]}),
        ("outputs", {"classes": [0, 1]}),
        ("outputs", {"link": "sigmoid"}),
    ],
    ids=str,
)
def test_parts_beside_the_whole_are_refused_and_not_ignored(whole, part):
    poly = Polynomial(ZEROS, 1, ["a", "b"])
    assert refused(lambda: dataclasses.replace(poly, **part)).where == whole
    assert dataclasses.replace(poly, card=None).terms == poly.terms


def test_terms_and_deviations_that_do_not_fit_are_refused():
    inputs = Inputs.of(["a", "b"])
    terms = Listed.of([(), (0,)], 3)
    assert refused(lambda: Polynomial(ZEROS[:2], terms=terms, inputs=inputs)).where == "terms"
    for bad in ([[1.0]], [1.0, 2.0, 3.0], [[1.0, 1.0]] * 3, [[np.nan]] * 3, "x"):
        error = refused(lambda bad=bad: Polynomial(ZEROS, 1, ["a", "b"], deviations=bad))
        assert error.where == "deviations"


def test_what_terms_contributed_is_known_until_they_are_merged():
    poly = Polynomial([[1.0], [3.0], [2.0]], 1, ["a", "b"], deviations=[[0.0], [0.5], [0.25]])
    assert poly.prune(2).deviations.ravel().tolist() == [0.0, 0.5]
    assert poly.truncate(1).deviations.ravel().tolist() == [0.0, 0.5, 0.25]
    assert poly.rebase(1.0).deviations.ravel().tolist() == [0.0, 0.5, 0.25]
    assert poly.fold([["a"]]).deviations is None


def test_names_may_come_in_any_ordered_container():
    for names in (np.array(["a", "b"]), pd.Index(["a", "b"]), ("a", "b")):
        assert Polynomial(ZEROS, 1, names).feature_names == ("a", "b")


def test_names_of_outputs_default_to_y_or_numbered_ys():
    assert Polynomial(ZEROS, 1, ["a", "b"]).output_names == ("y",)
    assert Polynomial(np.zeros((3, 2)), 1, ["a", "b"]).output_names == ("y1", "y2")


def test_sizes_are_those_of_the_coefficients():
    poly = random_polynomial(0, p=4, order=2, k=3)
    assert (poly.n_features, poly.n_outputs, poly.n_terms, poly.max_order) == (4, 3, 15, 2)
    assert poly.layers == ()
    assert poly.center.tolist() == [0.0] * 4
    assert poly.scale.tolist() == [1.0] * 4


# --- immutability ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", [f.name for f in dataclasses.fields(Polynomial)])
def test_no_field_can_be_set(name):
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(random_polynomial(0), name, None)


@pytest.mark.parametrize("name", ["coefficients", "center", "scale"])
def test_no_array_can_be_written_to(name):
    poly = random_polynomial(0).prune(5)
    with pytest.raises(ValueError, match="read-only"):
        getattr(poly, name)[0] = 7.0


def test_positions_are_a_copy_that_changes_nothing():
    poly = random_polynomial(0).prune(5)
    before = list(poly.terms)
    poly.positions[:] = 0
    assert list(poly.terms) == before


@pytest.mark.parametrize("name", ["coefficients", "center", "scale", "positions"])
def test_writing_to_the_arrays_that_it_was_made_from_does_not_change_it(name):
    given = {
        "coefficients": np.ones((2, 1)),
        "center": np.ones(2),
        "scale": np.ones(2),
        "positions": np.array([0, 1]),
    }
    poly = Polynomial(max_order=1, feature_names=["a", "b"], **given)
    before = poly.predict([[3.0, 4.0]])
    given[name][0] = 2
    assert getattr(poly, name).ravel()[0] != 2
    np.testing.assert_array_equal(poly.predict([[3.0, 4.0]]), before)


def test_writing_to_the_frame_that_it_was_made_from_does_not_change_it():
    """``to_numpy()`` of pandas gives a read-only view of memory that the frame still writes to."""
    frame = pd.DataFrame({"y": [1.0, 2.0]})
    poly = Polynomial(frame.to_numpy(), 1, ["a"])
    frame.iloc[0, 0] = 99.0
    assert poly.coefficients.ravel().tolist() == [1.0, 2.0]


def test_methods_leave_the_polynomial_as_it_was():
    poly = random_polynomial(1, center=1.0, scale=2.0)
    before = poly.coefficients.copy()
    poly.rebase(), poly.prune(3), poly.truncate(1), poly.top(3), repr(poly), poly._repr_html_()
    poly.top(3, output="y2")
    np.testing.assert_array_equal(poly.coefficients, before)


# --- predictions -----------------------------------------------------------------------------


@pytest.mark.parametrize("order", range(7))
@pytest.mark.parametrize("p", range(1, 7))
def test_predictions_are_the_brute_force_sums(p, order):
    k = 1 + (p + 2 * order) % 7
    rng = np.random.default_rng(100 * p + order)
    poly = random_polynomial(
        p, p, order, k, center=rng.normal(size=p), scale=rng.uniform(0.5, 2, size=p)
    )
    for n in (1, 31, 5000):
        assert_predicts(poly, rng.normal(size=(n, p)))


@given(
    st.integers(1, 6),
    st.integers(0, 6),
    st.integers(1, 7),
    st.integers(1, 50),
    st.integers(0, 2**32 - 1),
)
def test_predictions_of_any_shape_are_the_brute_force_sums(p, order, k, n, seed):
    X = np.random.default_rng(seed).normal(size=(n, p))
    assert_predicts(random_polynomial(seed, p, order, k), X)


def test_54_features_at_order_3_agree_with_scikit_learn_in_terms_and_numbers():
    rng = np.random.default_rng(3)
    names = [f"feature {i}" for i in range(54)]
    poly = random_polynomial(3, 54, 3, 7, feature_names=names)
    X = rng.uniform(-1, 1, size=(300, 54))
    basis = PolynomialFeatures(3).fit(X)
    spelt = [name.replace(" feature", " · feature") for name in basis.get_feature_names_out(names)]
    assert poly.term_names() == spelt
    expected = basis.transform(X) @ poly.coefficients
    np.testing.assert_allclose(poly.predict(X), expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize(("p", "order"), [(1, 5), (4, 3), (6, 2)])
def test_term_names_are_scikit_learns_with_a_sign_between_factors(p, order):
    names = [f"v{i}" for i in range(p)]
    expected = PolynomialFeatures(order).fit(np.zeros((1, p))).get_feature_names_out(names)
    signed = [name.replace(" ", " · ") for name in expected]
    assert random_polynomial(0, p, order).term_names() == signed


def test_integer_and_float32_data_give_the_float64_prediction():
    poly = random_polynomial(4, p=2)
    X = np.array([[1, -2], [3, 4]])
    np.testing.assert_array_equal(poly.predict(X), poly.predict(X.astype(float)))
    np.testing.assert_array_equal(poly.predict(X.astype(np.float32)), poly.predict(X.tolist()))


# --- classifiers -----------------------------------------------------------------------------


def fit_linear(X, y):
    """Fit a network without curvature, so that a polynomial of order 1 is the same function."""
    model = MLPClassifier(
        hidden_layer_sizes=(4,), activation="identity", max_iter=60, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def logits_of(model, names, classes, link):
    """Write the logits of a linear network out by hand."""
    (w1, w2), (b1, b2) = model.coefs_, model.intercepts_
    coefficients = np.vstack([b1 @ w2 + b2, w1 @ w2])
    return Polynomial(coefficients, 1, names, classes=classes, link=link)


def test_a_binary_classifier_gives_scikit_learns_probabilities_and_labels():
    data = load_breast_cancer()
    X = StandardScaler().fit_transform(data.data)
    y = data.target_names[data.target]
    model = fit_linear(X, y)
    poly = logits_of(model, data.feature_names.tolist(), model.classes_.tolist(), "sigmoid")
    np.testing.assert_allclose(poly.predict_proba(X), model.predict_proba(X), atol=1e-12)
    assert poly.predict_label(X).tolist() == model.predict(X).tolist()
    assert set(poly.predict_label(X)) == {"malignant", "benign"}


@pytest.mark.parametrize("kind", [str, int, float])
def test_a_multiclass_classifier_gives_scikit_learns_probabilities_and_labels(kind):
    data = load_iris()
    y = data.target_names[data.target] if kind is str else (10 * data.target).astype(kind)
    model = fit_linear(data.data, y)
    poly = logits_of(model, data.feature_names, model.classes_.tolist(), "softmax")
    np.testing.assert_allclose(
        poly.predict_proba(data.data), model.predict_proba(data.data), atol=1e-12
    )
    labels = poly.predict_label(data.data)
    assert labels.dtype == model.predict(data.data).dtype
    assert labels.tolist() == model.predict(data.data).tolist()


def test_a_multilabel_classifier_gives_scikit_learns_probabilities_and_labels():
    X, y = make_multilabel_classification(n_samples=120, n_features=6, random_state=0)
    model = fit_linear(X, y)
    poly = logits_of(model, [f"v{i}" for i in range(6)], None, "sigmoid")
    np.testing.assert_allclose(poly.predict_proba(X), model.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(poly.predict_label(X), model.predict(X))


@pytest.mark.parametrize("method", ["predict_proba", "predict_label"])
def test_a_regression_has_no_probabilities_and_no_labels(method):
    error = refused(lambda: getattr(random_polynomial(0), method)(np.zeros((1, 3))))
    assert "A regression has no" in error.what


def test_labels_need_as_many_classes_as_there_are_probabilities():
    poly = random_polynomial(0, k=1, classes=("a", "b", "c"), link="sigmoid")
    assert refused(lambda: poly.predict_label(np.zeros((1, 3)))).expected == "2 classes"


# --- what goes in ----------------------------------------------------------------------------

FLOWERS = Polynomial([[1.0], [10.0], [100.0]], 1, ["length", "width"])


@pytest.mark.parametrize("width", [1, 3])
def test_the_wrong_number_of_columns_is_expected_and_found(width):
    error = refused(lambda: FLOWERS.predict(np.zeros((2, width))))
    assert (error.where, error.expected) == ("X", "2 columns")
    assert error.found.startswith(f"{width} column")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_rows_and_columns_of_nan_and_infinity_are_named(value):
    X = np.zeros((5, 2))
    X[2:4, 1] = value
    error = refused(lambda: FLOWERS.predict(X))
    assert error.found == "2 of 5 rows (the first is row 2), in column 'width'"


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
class TestFrames:
    def test_columns_are_matched_by_name_and_extra_ones_ignored(self, frame):
        X = frame({"colour": ["red", "blue"], "width": [1.0, 2.0], "length": [3.0, 4.0]})
        assert FLOWERS.predict(X).tolist() == [131.0, 241.0]

    def test_missing_columns_are_listed_with_near_matches(self, frame):
        error = refused(lambda: FLOWERS.predict(frame({"widht": [1.0], "length": [2.0]})))
        assert error.found == "no 'width'"
        assert "'widht' for 'width'" in error.remedy

    def test_nan_is_named_by_row_and_column(self, frame):
        X = frame({"width": [1.0, None], "length": [3.0, 4.0]})
        error = refused(lambda: FLOWERS.predict(X))
        assert error.found == "1 of 2 rows (the first is row 1), in column 'width'"

    def test_text_columns_are_refused_by_name(self, frame):
        error = refused(lambda: FLOWERS.predict(frame({"width": ["a"], "length": [3.0]})))
        assert "'width'" in error.found

    def test_an_empty_frame_is_refused(self, frame):
        error = refused(lambda: FLOWERS.predict(frame({"width": [], "length": []})))
        assert error.found == "0 rows"

    def test_default_names_take_the_columns_by_position(self, frame):
        poly = Polynomial([[1.0], [10.0], [100.0]], 1, ["x1", "x2"])
        assert poly.predict(frame({"width": [1.0], "length": [3.0]})).tolist() == [311.0]

    def test_default_names_are_matched_when_the_frame_has_them(self, frame):
        poly = Polynomial([[1.0], [10.0], [100.0]], 1, ["x1", "x2"])
        assert poly.predict(frame({"x2": [3.0], "x1": [1.0]})).tolist() == [311.0]


@pytest.mark.parametrize(
    ("X", "what"),
    [
        (np.zeros((0, 2)), "empty"),
        ([], "empty"),
        (np.zeros((2, 2), dtype=complex), "not real numbers"),
        (np.array([[1, "2"]], dtype=object), "not real numbers"),
        ([["a", "b"]], "not real numbers"),
        ([1.0, 2.0], "two dimensions"),
        (np.zeros((2, 2, 2)), "two dimensions"),
        (None, "two dimensions"),
    ],
)
@pytest.mark.parametrize("method", ["predict", "contributions"])
def test_data_that_are_no_table_of_numbers_are_refused(method, X, what):
    error = refused(lambda: getattr(FLOWERS, method)(X))
    assert what in error.what
    assert error.where == "X"
    assert error.remedy


def test_a_single_row_gives_a_single_prediction():
    assert FLOWERS.predict([[2.0, 3.0]]).tolist() == [321.0]
    assert random_polynomial(0, k=2).predict(np.zeros((1, 3))).shape == (1, 2)


# --- contributions ---------------------------------------------------------------------------


@pytest.mark.parametrize("n_terms", [None, 7])
def test_contributions_add_up_to_the_prediction(n_terms):
    poly = random_polynomial(5, p=4, order=3, k=3, center=0.5, scale=2.0)
    poly = poly if n_terms is None else poly.prune(n_terms)
    X = np.random.default_rng(5).normal(size=(17, 4))
    parts = poly.contributions(X)
    assert parts.shape == (17, poly.n_terms, 3)
    np.testing.assert_allclose(parts.sum(axis=1), poly.predict(X), rtol=1e-12, atol=1e-12)


def test_each_contribution_is_its_coefficient_times_its_term():
    poly = Polynomial([[1.0], [2.0], [0.0], [0.0], [3.0], [0.5]], 2, ["a", "b"])
    assert poly.contributions([[2.0, 5.0]])[0, :, 0].tolist() == [1.0, 4.0, 0.0, 0.0, 30.0, 12.5]


def test_contributions_that_do_not_fit_in_memory_are_refused_in_one_sentence():
    poly = Polynomial(np.zeros((29_260, 7)), 3, [f"v{i}" for i in range(54)])
    n = 2 * available_bytes() // (8 * poly.n_terms * 8) + 1
    error = refused(lambda: poly.contributions(np.zeros((n, 54))), TooManyTermsError)
    assert error.n_terms == 29_260
    assert error.n_bytes > available_bytes()
    assert re.match(rf"[^.]*contributions[^.]* {n:,} rows has 29,260 terms", error.what)
    assert "fewer rows" in error.remedy


# --- look-up ---------------------------------------------------------------------------------

CELLS = random_polynomial(
    6, p=3, order=2, k=2, feature_names=["mean radius", "mean texture", "age"]
)


@pytest.mark.parametrize(
    ("spelling", "term"),
    [
        ((), ()),
        ("1", ()),
        (2, (2,)),
        ("age", (2,)),
        ((2, 0), (0, 2)),
        ((0, 2), (0, 2)),
        (("age", "mean radius"), (0, 2)),
        ("age mean radius", (0, 2)),
        ("mean radius mean texture", (0, 1)),
        ("mean texture^2", (1, 1)),
        ((1, 1), (1, 1)),
    ],
)
@pytest.mark.parametrize(
    ("output", "column"), [(0, 0), (1, 1), (-1, 1), ("y2", 1), (np.int64(1), 1)]
)
def test_a_coefficient_is_found_by_any_spelling_of_its_term(spelling, term, output, column):
    expected = CELLS.coefficients[list(CELLS.terms).index(term), column]
    found = CELLS.coefficient(spelling, output)
    assert type(found) is float
    assert found == expected


def test_every_term_is_found_by_its_own_name():
    for i, name in enumerate(CELLS.term_names()):
        assert CELLS.coefficient(name) == CELLS.coefficients[i, 0]


def test_an_ambiguous_name_is_refused_with_its_readings():
    poly = random_polynomial(0, feature_names=["a", "b", "a b"])
    error = refused(lambda: poly.coefficient("a b"), UnknownTermError)
    assert error.found == "('a', 'b'); ('a b',)"
    assert poly.coefficient(("a b",)) == poly.coefficient((2,))


def test_an_unknown_name_is_refused_with_the_near_match():
    error = refused(lambda: CELLS.coefficient("mean raduis"), UnknownTermError)
    assert "'mean radius'" in error.remedy


def test_a_term_above_the_order_is_refused_with_both_orders():
    error = refused(lambda: CELLS.coefficient("age^3"), UnknownTermError)
    assert (error.expected, error.found) == ("order at most 2", "order 3")
    assert "max_order" in error.remedy


def test_a_term_that_was_pruned_is_refused():
    pruned = CELLS.prune(3)
    lost = next(t for t in CELLS.terms if t not in pruned.terms)
    error = refused(lambda: pruned.coefficient(lost), UnknownTermError)
    assert "among the 3 terms kept" in error.expected
    assert pruned.coefficient(pruned.terms[1], 1) == CELLS.coefficient(pruned.terms[1], 1)


@pytest.mark.parametrize("output", [2, -3, "y3", None, 0.0])
def test_an_unknown_output_is_refused_with_the_known_ones(output):
    error = refused(lambda: CELLS.coefficient((), output), UnknownTermError)
    assert error.expected == "0 to 1, or one of 'y1', 'y2'"


# --- tables ----------------------------------------------------------------------------------


def test_the_frame_has_a_row_for_each_term_and_a_column_for_each_output():
    frame = CELLS.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == ["term", "order", "y1", "y2"]
    assert frame["term"].tolist() == CELLS.term_names()
    assert frame["order"].tolist() == [len(t) for t in CELLS.terms]
    np.testing.assert_array_equal(frame[["y1", "y2"]].to_numpy(), CELLS.coefficients)


def test_the_one_column_of_one_output_is_called_coefficient():
    frame = FLOWERS.to_frame()
    assert frame.columns.tolist() == ["term", "order", "coefficient"]
    assert frame["coefficient"].tolist() == [1.0, 10.0, 100.0]


TOP = Polynomial(
    [[9.0, 9.0], [3.0, 0.0], [-3.0, 0.5], [0.0, -4.0], [1.0, 1.0], [3.0, 0.0]],
    2,
    ["a", "b"],
    ["u", "v"],
)


def test_top_ranks_by_the_norm_over_outputs_without_the_intercept():
    assert [row[0] for row in TOP.top(10)] == ["a^2", "b", "a", "b^2", "a · b"]


def test_top_of_one_output_ranks_by_its_absolute_value_with_ties_in_order():
    table = TOP.top(4, output="u")
    assert table.columns == ("term", "order", "u", "v")
    assert table.rows == (
        ("a", 1, 3.0, 0.0),
        ("b", 1, -3.0, 0.5),
        ("b^2", 2, 3.0, 0.0),
        ("a · b", 2, 1.0, 1.0),
    )
    assert TOP.top(1, output=1).rows[0][0] == "a^2"


def test_top_gives_what_there_is_when_asked_for_more():
    table = TOP.top(100)
    assert len(table) == 5
    assert table.title == "5 largest of 6 terms"


@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_top_is_the_head_of_the_sorted_coefficients(seed, n):
    rng = np.random.default_rng(seed)
    values = rng.integers(-4, 5, size=(count_terms(3, 3), 1)).astype(float)
    poly = Polynomial(values, 3, ["a", "b", "c"])
    expected = sorted(range(1, 20), key=lambda i: -abs(values[i, 0]))[:n]
    names = poly.term_names()
    assert [row[0] for row in poly.top(n)] == [names[i] for i in expected]


@pytest.mark.parametrize("n", [-1, 2.5, "3", None, True])
def test_a_number_of_top_terms_that_is_none_is_refused(n):
    refused(lambda: random_polynomial(0).top(n))


def test_top_of_an_unknown_output_is_refused():
    refused(lambda: TOP.top(3, output="w"), UnknownTermError)


def test_top_says_in_which_units_the_coefficients_are():
    assert "raw unit" in TOP.top(1).note
    assert "scaled unit" in random_polynomial(0, scale=2.0).top(1).note


# --- change of coordinates -------------------------------------------------------------------


@st.composite
def coordinates(draw, p):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return rng.normal(size=p), rng.uniform(0.5, 2.0, size=p)


@given(st.data(), st.integers(1, 4), st.integers(0, 4), st.integers(0, 2**32 - 1))
def test_rebasing_there_and_back_gives_the_same_coefficients(data, p, order, seed):
    center, scale = data.draw(coordinates(p))
    poly = random_polynomial(seed, p, order, center=center, scale=scale)
    moved = poly.rebase(*data.draw(coordinates(p)))
    back = moved.rebase(center, scale)
    np.testing.assert_allclose(back.coefficients, poly.coefficients, rtol=1e-10, atol=1e-10)
    X = np.random.default_rng(seed).normal(size=(9, p))
    np.testing.assert_allclose(moved.predict(X), poly.predict(X), rtol=1e-9, atol=1e-9)


def test_raw_units_are_coefficients_of_the_data_themselves():
    poly = random_polynomial(7, p=3, order=3, center=[50.0, -3.0, 0.0], scale=[10.0, 0.1, 1.0])
    raw = poly.rebase()
    assert raw.center.tolist() == [0.0] * 3
    assert raw.scale.tolist() == [1.0] * 3
    X = np.random.default_rng(7).normal([50.0, -3.0, 0.0], [10.0, 0.1, 1.0], size=(40, 3))
    expected, size = brute_force(raw.terms, raw.coefficients, X)
    np.testing.assert_allclose(raw.predict(X), expected, rtol=0, atol=1e-13 * size)
    np.testing.assert_allclose(poly.predict(X), expected, rtol=0, atol=1e-13 * size)


def test_rebasing_changes_nothing_else():
    poly = random_polynomial(8, k=2, output_names=["u", "v"], classes=("a", "b"), link="softmax")
    moved = poly.rebase(1.0, 2.0)
    for name in ("max_order", "feature_names", "output_names", "classes", "link", "positions"):
        assert getattr(moved, name) == getattr(poly, name)


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.data())
def test_a_pruned_polynomial_rebases_exactly(seed, n_terms, data):
    poly = random_polynomial(seed, 3, 3, center=0.3, scale=1.5).prune(n_terms)
    moved = poly.rebase(*data.draw(coordinates(3)))
    X = np.random.default_rng(seed).normal(size=(9, 3))
    np.testing.assert_allclose(moved.predict(X), poly.predict(X), rtol=1e-9, atol=1e-9)
    back = moved.rebase(poly.center, poly.scale)
    for term in back.terms:
        kept = poly.coefficient(term) if term in poly.terms else 0.0
        assert back.coefficient(term) == pytest.approx(kept, rel=1e-9, abs=1e-9)


def test_a_sparse_polynomial_in_many_features_rebases_without_their_basis():
    names = [f"v{i}" for i in range(500)]
    poly = Polynomial.from_terms([(3, 400, 400), (7,), ()], [2.0, 1.0, 5.0], names, center=1.0)
    raw = poly.rebase()
    assert raw.n_terms <= 8
    X = np.random.default_rng(0).normal(size=(5, 500))
    np.testing.assert_allclose(raw.predict(X), poly.predict(X), rtol=1e-12)


@pytest.mark.parametrize(
    ("center", "scale"),
    [
        (0.0, 0.0),
        (0.0, -1.0),
        (0.0, [1.0, 0.0, 1.0]),
        (0.0, np.nan),
        (0.0, np.inf),
        (np.nan, 1.0),
        (np.inf, 1.0),
        ([1.0, 2.0], 1.0),
        (0.0, [1.0, 2.0]),
        ("x", 1.0),
    ],
)
@pytest.mark.parametrize("pruned", [False, True])
def test_a_center_and_scale_that_make_no_coordinates_are_refused(center, scale, pruned):
    poly = random_polynomial(0).prune(5) if pruned else random_polynomial(0)
    error = refused(lambda: poly.rebase(center, scale))
    assert error.where == ("scale" if center == 0.0 else "center")


# --- fewer terms -----------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2, 3, 7])
def test_truncating_drops_the_terms_above_the_order(order):
    poly = random_polynomial(9, p=3, order=3)
    cut = poly.truncate(order)
    assert cut.max_order == min(order, 3)
    assert list(cut.terms) == [t for t in poly.terms if len(t) <= order]
    np.testing.assert_array_equal(cut.coefficients, poly.coefficients[: cut.n_terms])
    assert_predicts(cut, np.random.default_rng(9).normal(size=(5, 3)))


def test_truncating_a_pruned_polynomial_keeps_its_low_terms():
    pruned = random_polynomial(10, p=3, order=3).prune(9)
    cut = pruned.truncate(2)
    assert list(cut.terms) == [t for t in pruned.terms if len(t) <= 2]
    assert all(cut.coefficient(t) == pruned.coefficient(t) for t in cut.terms)
    assert_predicts(cut, np.random.default_rng(10).normal(size=(5, 3)))


@pytest.mark.parametrize("order", [-1, 2.0, "2", None, True])
def test_truncating_at_no_order_is_refused(order):
    refused(lambda: random_polynomial(0).truncate(order))


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_pruning_keeps_the_intercept_and_the_largest_terms(seed, n_terms):
    poly = random_polynomial(seed, p=3, order=3)
    pruned = poly.prune(n_terms)
    norms = np.linalg.norm(poly.coefficients, axis=1)
    best = sorted(range(1, 20), key=lambda i: -norms[i])[: n_terms - 1]
    assert list(pruned.terms) == [poly.terms[i] for i in sorted([0, *best])]
    assert all(pruned.coefficient(t, 1) == poly.coefficient(t, 1) for t in pruned.terms)
    assert_predicts(pruned, np.random.default_rng(seed).normal(size=(6, 3)))


def test_pruning_twice_is_pruning_once():
    poly = random_polynomial(11, p=4, order=3)
    once, twice = poly.prune(5), poly.prune(12).prune(5)
    assert list(once.terms) == list(twice.terms)
    np.testing.assert_array_equal(once.coefficients, twice.coefficients)


@pytest.mark.parametrize("n_terms", [0, -1, 2.0, "2", None, True])
def test_pruning_to_no_number_of_terms_is_refused(n_terms):
    error = refused(lambda: random_polynomial(0).prune(n_terms))
    assert error.expected == "1 or more"
    assert error.found.startswith(repr(n_terms))


# --- from terms ------------------------------------------------------------------------------


def test_terms_may_come_in_any_order_and_spelling():
    poly = Polynomial.from_terms(
        ["b a", (), ("a", "a"), (1,), 2, "c^3"],
        [[1.0, -1.0], [2.0, -2.0], [3.0, -3.0], [4.0, -4.0], [5.0, -5.0], [6.0, -6.0]],
        ["a", "b", "c"],
        output_names=["u", "v"],
    )
    assert list(poly.terms) == [(), (1,), (2,), (0, 0), (0, 1), (2, 2, 2)]
    assert poly.coefficients[:, 0].tolist() == [2.0, 4.0, 5.0, 3.0, 1.0, 6.0]
    assert poly.coefficient("a b", "v") == -1.0
    assert poly.max_order == 3
    assert_predicts(poly, np.random.default_rng(0).normal(size=(5, 3)))


def test_the_same_term_twice_is_added_up():
    poly = Polynomial.from_terms(["a b", "b a", "1"], [2.0, 3.0, 1.0], ["a", "b"])
    assert list(poly.terms) == [(), (0, 1)]
    assert poly.coefficients.ravel().tolist() == [1.0, 5.0]


def test_from_terms_passes_coordinates_classes_and_link_on():
    poly = Polynomial.from_terms(
        ["a"], [2.0], ["a"], center=1.0, scale=4.0, classes=("n", "y"), link="sigmoid"
    )
    assert poly.predict([[3.0]]).tolist() == [1.0]
    assert poly.predict_label([[3.0], [0.0]]).tolist() == ["y", "n"]


@pytest.mark.parametrize("coefficients", [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0], [1.0], 1.0, []])
def test_as_many_coefficients_as_terms_are_needed(coefficients):
    error = refused(lambda: Polynomial.from_terms(["a", "b"], coefficients, ["a", "b"]))
    assert "2" in error.expected


def test_no_terms_at_all_are_refused():
    refused(lambda: Polynomial.from_terms([], [], ["a", "b"]))


def test_a_misspelt_option_is_not_swallowed():
    with pytest.raises(TypeError, match="centre"):
        Polynomial.from_terms(["a"], [1.0], ["a"], centre=1.0)


@pytest.mark.parametrize(("p", "order"), [(100, 30), (500, 10)])
def test_a_term_whose_place_no_integer_can_count_is_like_any_other(p, order):
    names = [f"v{i}" for i in range(p)]
    poly = Polynomial.from_terms([(3,) * order, "v1 v2", "1"], [2.0, 3.0, 5.0], names)
    X = np.ones((1, p))
    X[0, :4] = 7.0, 10.0, 11.0, 1.5
    assert poly.predict(X)[0] == pytest.approx(5.0 + 3.0 * 110.0 + 2.0 * 1.5**order, rel=1e-14)
    assert poly.coefficient(f"v3^{order}") == 2.0
    assert poly.term_names() == ["1", "v1 · v2", f"v3^{order}"]


def test_unknown_features_in_terms_are_refused_with_the_near_match():
    error = refused(
        lambda: Polynomial.from_terms(["widht"], [1.0], ["length", "width"]), UnknownTermError
    )
    assert "'width'" in error.remedy


# --- rewriting says when it cannot ------------------------------------------------------------


def years(order):
    """A polynomial around 2015, in units of 4 years, that was converted on 2008 … 2022."""
    inputs = Inputs.of(["year"], center=2015.0, scale=4.0).seen([2008.0], [2022.0])
    values = np.cos(np.arange(order + 1.0))[:, None]
    return Polynomial(values, order, inputs=inputs)


@pytest.mark.parametrize("order", [5, 6, 8])
def test_high_powers_of_a_year_are_not_rewritten_in_raw_units(order):
    """Order 6 was off by 70 standard deviations, in silence."""
    with pytest.raises(InvalidInputError, match="loses its digits") as caught:
        years(order).rebase()
    assert "centred units" in str(caught.value)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_low_powers_of_a_year_are_rewritten_as_they_were(order):
    poly = years(order)
    X = np.linspace(2008, 2022, 50)[:, None]
    assert poly.rebase().predict(X) == pytest.approx(poly.predict(X), abs=1e-5)


def test_a_year_is_rewritten_around_another_year_at_any_order():
    poly = years(8)
    X = np.linspace(2008, 2022, 50)[:, None]
    assert poly.rebase([2014.0], [5.0]).predict(X) == pytest.approx(poly.predict(X), rel=1e-8)
