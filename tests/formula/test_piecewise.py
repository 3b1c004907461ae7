"""Piecewise polynomials predict by region, and do all that a polynomial does."""

from __future__ import annotations

import hashlib
import json
import time
import warnings

import numpy as np
import pandas as pd
import pytest

import nn2poly as n2p
from nn2poly.algebra.terms import Graded
from nn2poly.errors import InvalidInputError, OutsideRangeWarning, StorageError
from nn2poly.formula.region_tree import Leaf, Split
from nn2poly.inputs import Column, Inputs
from nn2poly.outputs import Outputs

COLUMNS = (
    Column("hour"),
    Column("working day", "binary"),
    Column.factor("weather", ["clear", "rain", "snow"]),
)
TREE = Split(
    1,
    levels=(1,),
    left=Split(0, 6.5, left=Leaf(2), right=Leaf(0)),
    right=Split(2, levels=(1, 2), left=Leaf(1), right=Leaf(3)),
)


def sample(n, seed=0):
    rng = np.random.default_rng(seed)
    hours, days = rng.integers(0, 24, n) + rng.choice([0.0, 0.5], n), rng.integers(0, 2, n)
    return np.column_stack([hours, days, np.eye(3)[rng.integers(0, 3, n)]])


def rentals(n_outputs=1, link="identity", seed=1, **options):
    """Make four regions over the hour, the working day and the weather."""
    rng = np.random.default_rng(seed)
    inputs = Inputs(COLUMNS).around([12.0, 0, 0, 0, 0], [6.0, 1, 1, 1, 1])
    inputs = inputs.seen(np.zeros(5), [24.0, 1, 1, 1, 1])
    classes = ("few", "some", "many")[:n_outputs] if link == "softmax" else None
    outputs = Outputs.of(None, n_outputs, classes, link)
    terms = Graded(5, 2)
    polys = tuple(
        n2p.Polynomial(
            rng.normal(size=(21, n_outputs)), terms=terms, inputs=inputs, outputs=outputs
        )
        for _ in range(4)
    )
    options = {"n_rows": (10, 20, 30, 40), "r2": (0.9, None, 0.95, -0.5), **options}
    return n2p.PiecewisePolynomial(TREE, polys, **options)


def one_by_one(formula, X):
    """Predict every row with the polynomial of its region."""
    return np.array(
        [
            formula.polynomials[k].predict(row[None])[0]
            for k, row in zip(formula.region_of(X), X, strict=True)
        ]
    )


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_every_row_is_predicted_by_its_region(n_outputs):
    formula, X = rentals(n_outputs), sample(200)
    assert sorted(set(formula.region_of(X))) == [0, 1, 2, 3]
    np.testing.assert_allclose(formula.predict(X), one_by_one(formula, X), rtol=1e-12)
    single = formula.predict(X, dtype=np.float32)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, formula.predict(X), rtol=1e-4, atol=1e-4)


def test_probabilities_and_labels_go_through_the_link():
    formula, X = rentals(3, "softmax"), sample(50)
    proba = formula.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    labels = np.array(["few", "some", "many"])[proba.argmax(axis=1)]
    assert formula.predict_label(X).tolist() == labels.tolist()


def test_frames_and_streams_are_read_as_a_polynomial_reads_them(tmp_path):
    formula, X = rentals(), sample(30)
    weather = np.array(["clear", "rain", "snow"])[X[:, 2:].argmax(axis=1)]
    frame = pd.DataFrame({"weather": weather, "working day": X[:, 1], "hour": X[:, 0]})
    np.testing.assert_array_equal(formula.predict(frame), formula.predict(X))
    frame.to_parquet(tmp_path / "rows.parquet")
    np.testing.assert_array_equal(formula.predict(tmp_path / "rows.parquet"), formula.predict(X))


def test_a_missing_value_is_refused_with_its_row():
    X = sample(5)
    X[3, 0] = np.nan
    with pytest.raises(InvalidInputError, match="row 3"):
        rentals().predict(X)
    with pytest.raises(InvalidInputError, match="row 3"):
        rentals().region_of(X)


def test_the_warning_about_the_range_is_given_once_for_all_regions():
    X = sample(40)
    X[:, 0] += 100.0
    X[:20, 0] -= 200.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rentals().predict(X)
    assert [w.category for w in caught] == [OutsideRangeWarning]


def test_contributions_add_up_and_belong_to_the_region_of_the_row():
    formula, X = rentals(2), sample(60)
    parts = formula.contributions(X)
    assert parts.shape == (60, formula.n_terms, 2)
    np.testing.assert_allclose(parts.sum(axis=1), formula.predict(X), atol=1e-12)
    frame = formula.to_frame()
    assert list(frame.columns) == ["region", "term", "order", "y1", "y2"]
    for row, region in zip(parts, formula.region_of(X), strict=True):
        assert set(frame["region"][np.flatnonzero(row.any(axis=1))]) == {region}


def test_regions_say_their_rule_their_rows_and_their_fidelity():
    regions = rentals().regions
    assert [region.rule for region in regions] == [
        "working day is yes and hour ≥ 6.5",
        "working day is no and weather is (rain or snow)",
        "working day is yes and hour < 6.5",
        "working day is no and weather is clear",
    ]
    assert [region.share for region in regions] == [0.1, 0.2, 0.3, 0.4]
    assert [region.n_rows for region in regions] == [10, 20, 30, 40]
    assert [region.r2 for region in regions] == [0.9, None, 0.95, -0.5]
    (everywhere,) = rentals().polynomials[0].regions
    assert everywhere.rule == "everywhere"


def test_a_formula_names_its_parts():
    formula = rentals(3, "softmax")
    poly = formula.polynomials[0]
    for name in ("feature_names", "output_names", "classes", "link", "n_features", "n_outputs"):
        assert getattr(formula, name) == getattr(poly, name)
    for name in ("center", "scale", "low", "high"):
        np.testing.assert_array_equal(getattr(formula, name), getattr(poly, name))
    assert (formula.n_terms, formula.n_regions, formula.max_order) == (84, 4, 2)


def test_pruning_keeps_the_largest_terms_of_each_region():
    formula = rentals()
    few = formula.prune(5)
    assert [poly.n_terms for poly in few.polynomials] == [5] * 4
    assert few.r2 is None
    assert few.n_rows == formula.n_rows
    X = sample(20)
    np.testing.assert_allclose(few.predict(X), one_by_one(few, X), rtol=1e-12)


def test_other_coordinates_and_orders_change_every_region():
    formula, X = rentals(), sample(50)
    np.testing.assert_allclose(formula.rebase().predict(X), formula.predict(X), atol=1e-9)
    linear = formula.truncate(1)
    np.testing.assert_array_equal(formula.outputs_by_order(X)[1][:, 0], linear.predict(X))
    np.testing.assert_array_equal(formula.outputs_by_order(X)[2][:, 0], formula.predict(X))


def test_the_largest_terms_are_listed_by_region():
    table = rentals().top(2)
    assert table.columns == ("region", "term", "order", "coefficient")
    assert [row[0] for row in table] == [0, 0, 1, 1, 2, 2, 3, 3]


def test_it_shows_its_regions_and_formulas():
    text = repr(rentals())
    first, *lines = text.splitlines()
    assert first.startswith(
        "PiecewisePolynomial(5 features, 4 regions, order 2, 84 terms, 1 output"
    )
    assert "  region 1: working day is no and weather is (rain or snow) (20 % of the rows)" in lines
    assert "  region 0: working day is yes and hour ≥ 6.5 (10 % of the rows, R2 0.900)" in lines
    assert sum("    y = " in line for line in lines) == 4
    assert lines[-3:] == [
        "  coefficients per scaled unit; .rebase() gives raw units",
        "  hour stands for (hour - 12) / 6",
        "  .to_frame() gives all 84 terms",
    ]


def test_the_notebook_shows_the_tree_first_and_escapes_names():
    html = rentals()._repr_html_()
    assert html.index("<ul>") < html.index("<code>")
    assert html.count("<strong>region 2</strong>") == 2
    assert "hour stands for (hour - 12) / 6" in html
    assert "coefficients per scaled unit" in html
    assert "hour &lt; 6.5" in html
    assert "hour < 6.5" not in html


def test_one_region_is_a_piecewise_polynomial_too():
    poly = n2p.Polynomial([[1.0], [2.0]], 1, ["t"])
    formula = n2p.PiecewisePolynomial(Leaf(0), (poly,))
    assert formula.predict([[3.0]]).tolist() == [7.0]
    assert formula.regions[0].rule == "everywhere"
    assert "everywhere" in repr(formula)
    assert "region 0" in formula._repr_html_()


# --- what is refused -------------------------------------------------------------------------


def test_polynomials_of_other_coordinates_or_outputs_are_refused():
    a, b = n2p.Polynomial([[1.0], [2.0]], 1, ["t"]), n2p.Polynomial([[1.0], [2.0]], 1, ["u"])
    tree = Split(0, 0.0, left=Leaf(0), right=Leaf(1))
    with pytest.raises(InvalidInputError, match="inputs"):
        n2p.PiecewisePolynomial(tree, (a, b))
    with pytest.raises(InvalidInputError, match="inputs"):
        n2p.PiecewisePolynomial(tree, (a, a.rebase(1.0)))
    named = n2p.Polynomial([[1.0], [2.0]], 1, ["t"], ["v"])
    with pytest.raises(InvalidInputError, match="outputs"):
        n2p.PiecewisePolynomial(tree, (a, named))


@pytest.mark.parametrize(
    "options", [{"n_rows": (1,)}, {"n_rows": (1, -1)}, {"r2": (1.0, np.nan)}, {"r2": ("a", None)}]
)
def test_numbers_that_do_not_fit_the_regions_are_refused(options):
    poly = n2p.Polynomial([[1.0], [2.0]], 1, ["t"])
    tree = Split(0, 0.0, left=Leaf(0), right=Leaf(1))
    with pytest.raises(InvalidInputError, match="of the regions"):
        n2p.PiecewisePolynomial(tree, (poly, poly), **options)
    with pytest.raises(InvalidInputError, match="needs a region"):
        n2p.PiecewisePolynomial(tree, ())


# --- files -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rentals.json", "rentals.npz", "rentals"])
@pytest.mark.parametrize("pruned", [False, True])
def test_files_keep_every_bit(tmp_path, name, pruned):
    formula = rentals(3, "softmax").prune(6) if pruned else rentals(3, "softmax")
    found = n2p.load(formula.save(tmp_path / name))
    assert isinstance(found, n2p.PiecewisePolynomial)
    assert (found.tree, found.n_rows, found.r2) == (formula.tree, formula.n_rows, formula.r2)
    assert repr(found.inputs.to_dict()) == repr(formula.inputs.to_dict())
    assert found.outputs == formula.outputs
    for one, other in zip(found.polynomials, formula.polynomials, strict=True):
        assert list(one.terms) == list(other.terms)
        assert one.coefficients.tobytes() == other.coefficients.tobytes()
    X = sample(40)
    np.testing.assert_array_equal(found.predict(X), formula.predict(X))
    assert repr(found) == repr(formula)


def test_deviations_and_unknown_rows_are_kept(tmp_path):
    formula = rentals(n_rows=None, r2=None)
    ranked = tuple(
        n2p.Polynomial(
            poly.coefficients,
            terms=poly.terms,
            inputs=poly.inputs,
            outputs=poly.outputs,
            deviations=np.abs(poly.coefficients) / 3.0,
        )
        for poly in formula.polynomials
    )
    formula = n2p.PiecewisePolynomial(TREE, ranked)
    found = n2p.load(formula.save(tmp_path / "f.json"))
    assert (found.n_rows, found.r2) == (None, None)
    np.testing.assert_array_equal(found.polynomials[2].deviations, ranked[2].deviations)


def damaged_bodies():
    def change(path, value):
        def edit(body):
            *first, last = path
            for key in first:
                body = body[key]
            body[last] = value

        return edit

    yield "an unknown type", change(["type"], "pieces")
    yield "an extra field", change(["more"], 1)
    yield "no tree", change(["tree"], None)
    yield "a tree of text", change(["tree"], "x < 1")
    yield "a leaf twice", change(["tree", "left"], {"region": 0})
    yield "a threshold of text", change(["tree", "left", "threshold"], "6.5")
    yield "a level of a fraction", change(["tree", "levels"], [0.5])
    yield "an unknown column", change(["tree", "column"], 9)
    yield "a negative region", change(["tree", "left", "left"], {"region": -1})
    yield "rows of a fraction", change(["regions", 0, "n_rows"], 1.5)
    yield "rows of some", change(["regions", 0, "n_rows"], None)
    yield "an R2 of text", change(["regions", 0, "r2"], "high")
    yield "a region less", lambda body: body["regions"].pop()
    yield "no regions", change(["regions"], [])
    yield "coefficients of text", change(["regions", 1, "coefficients"], [["a"]])
    yield "too few coefficients", change(["regions", 1, "coefficients"], [[1.0]])
    yield "a field of a region less", lambda body: body["regions"][0].pop("r2")


@pytest.mark.parametrize(("name", "edit"), [pytest.param(n, e, id=n) for n, e in damaged_bodies()])
def test_a_file_that_breaks_a_rule_is_refused(tmp_path, name, edit):
    path = rentals().save(tmp_path / "f.json")
    head = json.loads(path.read_text(encoding="utf-8"))
    edit(head["body"])
    text = json.dumps(head["body"], sort_keys=True, separators=(",", ":"))
    head["digest"] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps(head), encoding="utf-8")
    with pytest.raises(StorageError) as caught:
        n2p.load(path)
    assert caught.value.where == str(path)


def test_a_changed_file_is_refused(tmp_path):
    path = rentals().save(tmp_path / "f.json")
    path.write_text(path.read_text(encoding="utf-8").replace("6.5", "7.5"), encoding="utf-8")
    with pytest.raises(StorageError, match="digest"):
        n2p.load(path)


# --- speed -----------------------------------------------------------------------------------


def seconds(work):
    best = np.inf
    for _ in range(5):
        begin = time.process_time()
        work()
        best = min(best, time.process_time() - begin)
    return best


def test_predicting_takes_about_as_long_as_one_polynomial():
    rng = np.random.default_rng(0)
    inputs, terms = Inputs.of([f"x{j}" for j in range(20)]), Graded(20, 2)
    polys = tuple(
        n2p.Polynomial(rng.normal(size=(231, 1)), terms=terms, inputs=inputs) for _ in range(8)
    )

    def grown(column, first):
        if column == 3:
            return Leaf(first)
        step = 2 ** (2 - column)
        return Split(
            column, 0.0, left=grown(column + 1, first), right=grown(column + 1, first + step)
        )

    formula, X = n2p.PiecewisePolynomial(grown(0, 0), polys), rng.normal(size=(50_000, 20))
    ratio = seconds(lambda: formula.predict(X)) / seconds(lambda: polys[0].predict(X))
    # Finding the regions and gathering their rows costs about as much as so few terms.
    assert ratio < 3.0
