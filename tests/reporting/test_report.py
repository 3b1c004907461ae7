"""What the page says, and what happens when it cannot be made."""

import base64
import hashlib
import json
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.assess.verdict import verdict
from nn2poly.errors import InvalidInputError, MissingDependencyError, StorageError
from nn2poly.formula.importance import MAX_ROWS, ranking
from nn2poly.plots.labels import term_label
from nn2poly.reporting.cardviews import card_views, figures
from nn2poly.reporting.collect import collect
from nn2poly.reporting.formulas import MAX_EXPORTED
from nn2poly.reporting.payload import to_script
from nn2poly.sampling import evenly


@pytest.fixture
def network(make_network):
    return make_network(0, (3, 4, 1)).named(["age", "dose", "bmi"], ["risk"])


@pytest.fixture
def poly(network):
    return n2p.convert(network, 2)


@pytest.fixture(name="X")
def rows():
    return np.random.default_rng(0).normal(size=(60, 3))


def contents(poly, model, X, y=None):
    return collect(poly, model, X, y, "title")


def test_report_returns_the_path_of_one_file(poly, network, X, tmp_path):
    path = n2p.report(poly, network, X, path=str(tmp_path / "r.html"))
    assert path == tmp_path / "r.html"
    assert [p.name for p in tmp_path.iterdir()] == ["r.html"]


def test_a_file_that_exists_is_replaced(poly, network, X, tmp_path):
    path = tmp_path / "r.html"
    path.write_text("old")
    assert n2p.report(poly, network, X, path=path).read_text().startswith("<!doctype html>")


def test_a_folder_that_is_not_there_is_said_and_nothing_is_written(poly, network, X, tmp_path):
    with pytest.raises(StorageError, match="cannot be written") as caught:
        n2p.report(poly, network, X, path=tmp_path / "no" / "r.html")
    assert caught.value.remedy
    assert list(tmp_path.iterdir()) == []


def test_the_same_input_gives_the_same_file(poly, network, X, tmp_path):
    first = n2p.report(poly, network, X, path=tmp_path / "a.html").read_bytes()
    assert n2p.report(poly, network, X, path=tmp_path / "b.html").read_bytes() == first


def test_the_card_on_the_rows_comes_first_and_the_own_card_is_named(diabetes):
    assert "On the rows of this report" in diabetes.text
    assert "The formula&#39;s own card" in diabetes.text
    own = card_views(None, diabetes.poly.card)
    assert [view.heading for view in own] == ["The formula's own card"]
    assert "never fitted" in own[0].source


def test_the_verdict_says_what_its_grade_allows(diabetes, wine):
    for made in (diabetes, wine):
        (view,) = card_views(None, made.poly.card)
        grade = made.poly.card.verdict.grade
        assert grade in ("faithful", "useful", "rough")
        assert view.meaning.startswith(f"{grade.capitalize()} means")
    verdict = diabetes.text.split('id="findings"')[0]
    assert re.search(r"<p>(Faithful|Useful|Rough) means", verdict)


def test_the_card_on_the_rows_is_that_of_fidelity_mixed_rows_included(network, X):
    poly = n2p.convert(network, 2, data=X)
    said = contents(poly, network, X).cards[0]
    expected = n2p.fidelity(network, poly, X)
    assert expected.r2_mixed is not None
    for table, wanted in zip(said.tables, expected.tables(), strict=True):
        assert table.note.endswith(wanted.note.replace("R2 ", "R² "))
        assert len(table) == len(wanted)


def test_without_a_network_the_card_is_that_of_the_conversion(network, X):
    poly = n2p.convert(network, 2, data=X)
    found = contents(poly, None, X)
    assert not found.has_network
    assert found.worst == ()
    assert [view.heading for view in found.cards] == ["The formula's own card"]
    assert found.faith.figures == figures(poly.card, poly.n_terms)


def test_without_a_network_and_a_card_the_page_says_that_nothing_is_known(poly, X, tmp_path):
    text = n2p.report(poly, None, X, path=tmp_path / "r.html").read_text(encoding="utf-8")
    assert "is not known" in text


def test_the_worst_rows_are_those_of_the_largest_error(poly, network, X):
    error = np.abs(network.predict(X) - poly.predict(X))
    found = contents(poly, network, X).worst
    assert [row.row for row in found] == np.argsort(-error, kind="stable")[:10].tolist()
    assert found[0].values == tuple(X[found[0].row])


def test_rows_with_missing_values_are_left_out_counted_and_do_not_shift_numbers(poly, network, X):
    whole = contents(poly, network, X)
    holes = np.insert(X, 0, np.nan, axis=0)
    holes[0, 1] = 3.0
    found = contents(poly, network, holes)
    assert (found.n_rows, found.n_dropped) == (60, 1)
    assert [row.row for row in found.worst] == [row.row + 1 for row in whole.worst]
    assert found.cards[0].tables[0][0][-1] == whole.cards[0].tables[0][0][-1] + 1
    assert [line[6] for line in found.columns] == [1, 0, 1]


def test_no_complete_row_is_an_error(poly, network):
    with pytest.raises(InvalidInputError, match="Every row"):
        contents(poly, network, np.full((5, 3), np.nan))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(59), "does not go with the data"),
        (np.zeros((60, 2)), "does not go with the outputs"),
        (np.array(["a"] * 60), "must be numbers"),
    ],
)
def test_a_response_that_does_not_fit_is_said(poly, network, X, y, message):
    with pytest.raises(InvalidInputError, match=message):
        contents(poly, network, X, y)


def test_network_and_polynomial_are_held_against_the_response(poly, network, X):
    y = network.predict(X)
    y[3] = np.nan
    described, scores = contents(poly, network, X, y).response
    assert described[0][6] == 1
    assert [line[0] for line in scores] == ["network", "formula"]
    assert scores[0][2] == 1.0
    known = np.delete(np.arange(60), 3)
    residual = y[known] - poly.predict(X[known])
    expected = 1 - np.mean(residual**2) / y[known].var()
    assert scores[1][2] == pytest.approx(expected, rel=1e-9)


def test_labels_are_compared_whatever_their_type(make_network):
    X = np.random.default_rng(0).normal(size=(50, 2))
    network = n2p.Network(
        make_network(3, (2, 4, 3), spread=0.2).layers, link="softmax", classes=(1, 2, 3)
    )
    poly = n2p.convert(network, 2)
    labels = poly.predict_label(X).astype(float)
    classes, right = contents(poly, network, X, labels).response
    assert sum(line[1] for line in classes) == 50
    assert dict(right)["formula"] == 1.0


@pytest.fixture
def classifier(make_network):
    layers = make_network(3, (3, 4, 1), spread=0.2).layers
    return n2p.Network(layers, link="sigmoid", classes=("<=50K", ">50K"))


@pytest.mark.parametrize("kind", [int, bool, float])
def test_labels_that_are_coded_otherwise_are_refused_with_both_sets(classifier, X, kind, tmp_path):
    poly = n2p.convert(classifier, 2)
    y = (np.arange(60) % 2).astype(kind)
    with pytest.raises(InvalidInputError, match="None of the labels is a class") as caught:
        n2p.report(poly, classifier, X, y, tmp_path / "r.html")
    assert "'<=50K', '>50K'" in caught.value.expected
    assert repr(y[1].item()) in caught.value.found
    assert "np.array(poly.classes)[y" in caught.value.remedy
    assert list(tmp_path.iterdir()) == []
    index = y if kind is int else y.astype(int)
    assert contents(poly, classifier, X, np.array(poly.classes)[index]).response


def test_labels_that_are_no_positions_get_no_advice_to_index(classifier, X):
    with pytest.raises(InvalidInputError) as caught:
        contents(n2p.convert(classifier, 2), classifier, X, np.array(["rich", "poor"] * 30))
    assert "np.array" not in caught.value.remedy
    assert "leave y out" in caught.value.remedy


def test_one_known_label_is_enough(classifier, X):
    y = np.array(["<=50K"] + ["?"] * 59)
    assert contents(n2p.convert(classifier, 2), classifier, X, y).response


def test_several_labels_want_zeros_and_ones(make_network, X):
    network = n2p.Network(make_network(3, (3, 4, 2), spread=0.2).layers, link="sigmoid")
    poly = n2p.convert(network, 2)
    y = np.arange(120).reshape(60, 2) % 2
    assert contents(poly, network, X, y).response
    with pytest.raises(InvalidInputError, match="None of the labels") as caught:
        contents(poly, network, X, y.astype(bool))
    assert "astype(int)" in caught.value.remedy


def test_worst_rows_give_the_probability_of_the_class_that_the_network_chooses(wine, classifier, X):
    poly = n2p.convert(classifier, 2)
    for row in contents(poly, classifier, X).worst:
        k = int(row.network > 0)
        assert row.chosen.name == poly.classes[k]
        assert row.chosen.network >= 0.5
        assert row.chosen.polynomial == pytest.approx(poly.predict_proba(X[[row.row]])[0, k])
    for words in ("P network", "P formula"):
        assert f">{words}</th>" in wine.text
    assert "logit" not in wine.text.split("report-data")[0]


def test_worst_rows_of_a_regression_speak_of_no_logit(diabetes, poly, network, X):
    assert all(row.chosen is None for row in contents(poly, network, X).worst)
    static = diabetes.text.split("report-data")[0]
    assert "logit" not in static
    assert "log-odds" not in static


def test_several_classes_speak_of_scores_and_two_of_log_odds(wine, classifier, X, tmp_path):
    several = wine.text.split("report-data")[0]
    assert "In scores, the scale on which the terms add up" in several
    assert "score of <i>" in several
    assert "log-odds" not in several
    poly = n2p.convert(classifier, 2, data=X)
    text = n2p.report(poly, classifier, X, path=tmp_path / "r.html").read_text("utf-8")
    two = text.split("report-data")[0]
    assert "In log-odds, the scale on which the terms add up" in two
    assert "scores" not in two


def test_classes_named_by_numbers_are_said_to_be_classes(make_network, X):
    layers = make_network(3, (3, 4, 3)).layers
    network = n2p.Network(layers, link="softmax", classes=(0, 1, 2))
    classifier = network.named(["age", "dose", "bmi"], ["0", "1", "2"])
    found = contents(n2p.convert(classifier, 1, data=X), classifier, X)
    assert found.output_prefix == "score of class "
    if "±" in found.promise:
        assert all(f"for class {k}" in found.promise for k in range(3))


def test_what_errors_stay_within_is_rounded_up_as_in_the_verdict(make_network, X):
    layers = make_network(3, (3, 4, 1), spread=1.5).layers
    classifier = n2p.Network(layers, link="sigmoid")
    found = contents(n2p.convert(classifier, 1, data=X), classifier, X)
    (figure,) = (f for f in found.faith.figures if "in probability" in f.label)
    assert f"within {figure.value[1:]} of the network's" in found.lead.verdict


def test_one_row_outside_is_spoken_of_as_one_and_in_a_line_of_its_own(classifier, X, tmp_path):
    poly = n2p.convert(classifier, 2, data=X)
    beyond = np.vstack([X[:30], [[9.0, 0.0, 0.0]]])
    view = contents(poly, classifier, beyond).cards[0]
    assert "1 row lies outside the calibrated range." in view.tables[0].note.splitlines()
    text = n2p.report(poly, classifier, beyond, path=tmp_path / "r.html").read_text("utf-8")
    static = text.split("report-data")[0]
    assert '<p class="note">1 row lies outside the calibrated range.</p>' in static
    assert not re.search(r"\b1 rows", static)
    assert "1 of these rows lie " not in static
    assert "1 of these rows lies outside" in static


def test_the_share_of_equal_labels_is_written_alike_everywhere(wine):
    card = replace(wine.poly.card, agreement=0.95984)
    card = replace(card, verdict=verdict(card))
    view = card_views(card, None)[0]
    figure = next(f for f in figures(card, 10) if "labels" in f.label)
    assert figure.value == "95.9 %"
    assert "95.9 % of rows" in view.verdict
    assert "95.9 % of rows" in view.tables[0].note
    assert not re.search(r"\d%", view.verdict + view.guarantee + "".join(view.tables[0].columns))


def test_importance_says_what_is_ranked(diabetes):
    assert "How far the output moves with each input: the standard deviation" in diabetes.text


def test_page_plot_and_ranking_agree_on_what_matters(diabetes):
    found = collect(diabetes.poly, None, diabetes.X, None, "title")
    axes = n2p.plots.importance(diabetes.poly, 10, X=diabetes.X)
    drawn = [label.get_text().replace("\n", " ") for label in axes.get_yticklabels()]
    names = diabetes.poly.feature_names
    listed = [row[0] for row in found.top_terms[:10]]
    places = ranking(diabetes.poly, diabetes.X).places(10, 0).tolist()
    assert listed == [diabetes.poly.term_names()[i] for i in places]
    wanted = [term_label(diabetes.poly.terms[i], names).replace("\n", " ") for i in places]
    assert drawn == wanted
    formula = [term.factors for term in found.formulas[0].terms[1:4]]
    assert [tuple(name for name, _ in factors) for factors in formula] == [
        tuple(dict.fromkeys(names[j] for j in diabetes.poly.terms[i])) for i in places[:3]
    ]


def test_a_small_polynomial_is_exported_whole_and_a_large_one_says_what_is_left(covertype, poly):
    X = np.random.default_rng(0).normal(size=(30, 3))
    assert "all 10 terms" in contents(poly, None, X).export_note
    assert f"{MAX_EXPORTED // 7} of its 29,260 terms" in covertype.text


def test_the_note_of_a_pruned_export_does_not_promise_more_than_it_holds(make_network):
    X = np.random.default_rng(0).normal(size=(200, 20))
    network = make_network(5, (20, 10, 3), spread=1.5)
    poly = n2p.convert(network, 2, data=X, binary=False)
    big = n2p.Polynomial(
        np.tile(poly.coefficients, (1, 4)), 2, poly.feature_names, center=poly.center
    )
    assert big.coefficients.size > MAX_EXPORTED
    note = contents(big, None, X).export_note
    r2 = float(re.search(r"R² (\S+) on", note).group(1).replace("−", "-"))
    assert r2 < 1.0


def test_the_note_of_a_pruned_export_is_of_all_rows_not_of_those_that_chose_its_terms():
    rows, p = MAX_ROWS + 500, 70
    X = np.random.default_rng(0).normal(size=(rows, p))
    X[:, 1:] *= np.random.default_rng(1).random((rows, p - 1)) < 1e-3
    size = 1 + p + p * (p + 1) // 2
    poly = n2p.Polynomial(np.ones((size, 1)), 2, [f"x{j}" for j in range(p)])
    assert poly.coefficients.size > MAX_EXPORTED
    found = contents(poly, None, X)
    r2 = float(re.search(r"R² (\S+) on", found.export_note).group(1))
    ranked = ranking(poly, X[evenly(rows, MAX_ROWS)])
    kept = np.sort(np.argsort(-np.append(np.inf, ranked.overall[1:]), kind="stable")[:MAX_EXPORTED])
    whole, part = poly.raw_outputs(X), poly.keep(kept).raw_outputs(X)
    assert r2 == pytest.approx(1 - ((whole - part) ** 2).mean() / whole.var(), abs=1e-3)
    assert r2 < 1


def test_the_mean_of_a_column_is_told_as_finely_as_it_spreads(poly, network, X, tmp_path):
    X = np.column_stack([2011 + (np.arange(60) % 2), X[:, 1:]])
    page = n2p.report(poly, network, X, path=tmp_path / "r.html").read_text(encoding="utf-8")
    row = re.search(r'<th scope="row">age</th>(.*?)</tr>', page.split('id="data"')[1]).group(1)
    assert re.findall(r'<td class="number">([^<]*)<', row)[:4] == ["2011", "2011.5", "0.5", "2012"]


def test_too_many_coefficients_are_refused_with_the_remedy(network, X):
    wide = n2p.Polynomial(np.ones((2, 500_001)), 1, ["a"])
    with pytest.raises(n2p.TooManyTermsError, match="1,000,002") as caught:
        contents(wide, None, X[:, :1])
    assert "prune" in caught.value.remedy


def test_something_else_than_a_polynomial_is_said(network, X):
    with pytest.raises(InvalidInputError, match="Only an explicit polynomial"):
        n2p.report(network, network, X)


def test_a_network_of_another_shape_is_said(poly, make_network, X):
    with pytest.raises(InvalidInputError, match="does not belong"):
        contents(poly, make_network(0, (4, 3, 1)), X)


def test_a_frame_is_read_by_name(poly, network, X):
    import pandas as pd

    frame = pd.DataFrame(X, columns=["age", "dose", "bmi"])[["bmi", "age", "dose"]]
    assert contents(poly, network, frame).worst == contents(poly, network, X).worst


def test_no_name_becomes_markup(awkward):
    body = awkward.text.partition("<body>")[2]
    for name in ("<script>alert", "<img src=x", "<b>bold", '"onmouseover="'):
        assert name not in body
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in body
    assert "it&#39;s {{ 7 * 7 }}" in body
    assert body.count("</script>") == 3


def test_data_in_a_script_cannot_end_it():
    text = to_script(["</script>", "<!--", "&", "\u2028"])
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == ["</script>", "<!--", "&", "\u2028"]


def test_a_name_with_half_a_surrogate_pair_does_not_stop_the_report(tmp_path):
    poly = n2p.Polynomial([[0.0], [1.0]], 1, ["\ud800"])
    path = n2p.report(poly, None, np.arange(20.0)[:, None], path=tmp_path / "r.html")
    text = path.read_text(encoding="utf-8")
    assert "SQL: This name cannot be written in SQL." in text
    assert "Copy as LaTeX" in text
    assert "Copy as SQL" not in text


def test_the_policy_admits_the_scripts_of_the_page_by_hash_and_no_address(diabetes):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', diabetes.text).group(1)
    policy = policy.replace("&#39;", "'")
    assert policy.startswith("default-src 'none';")
    for script in re.findall(r"<script>(.*?)</script>", diabetes.text, flags=re.DOTALL):
        digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "unsafe-eval" not in policy
    assert "http" not in policy


def test_the_licence_of_the_charts_travels_with_the_page(diabetes):
    assert "Licensed under the MIT license" in diabetes.text


def test_a_page_of_the_size_of_covertype_is_below_six_megabytes(covertype):
    assert covertype.path.stat().st_size < 6_000_000


def test_a_missing_jinja_is_said_with_the_extra_to_install(poly, X, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingDependencyError, match="Jinja2") as caught:
        n2p.report(poly, None, X, path=tmp_path / "r.html")
    assert "nn2poly[report]" in caught.value.remedy


def test_importing_the_report_imports_no_template_engine():
    code = "import sys, nn2poly; nn2poly.report; print('jinja2' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout == "False\n"


@pytest.mark.parametrize(
    "change",
    [
        lambda poly: poly.prune(3),
        lambda poly: poly.truncate(1),
        lambda poly: poly.rebase([1.0, 2.0, 3.0], [2.0, 1.0, 0.5]),
        lambda poly: n2p.Polynomial.from_terms(["age dose bmi"], [2.0], poly.feature_names),
        lambda poly: n2p.Polynomial([[4.0]], 0, poly.feature_names),
    ],
    ids=["pruned", "linear", "own coordinates", "one term", "a constant"],
)
@pytest.mark.parametrize("n_rows", [1, 60])
def test_any_polynomial_and_any_number_of_rows_make_a_page(poly, X, change, n_rows, tmp_path):
    path = n2p.report(change(poly), None, X[:n_rows], path=tmp_path / "r.html")
    assert path.stat().st_size
