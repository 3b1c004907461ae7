"""What a reader came for: quality, findings, flips, groups, what if near the data, paper."""

import base64
import json
import re

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.cards import Guarantee
from nn2poly.reporting.collect import collect
from nn2poly.reporting.numerals import percent


@pytest.fixture(scope="module")
def census(folder):
    """People with a factor and a threshold: women under 40 alone have high incomes."""
    from sklearn.neural_network import MLPClassifier

    rng = np.random.default_rng(7)
    sex, job = rng.integers(0, 2, 600), rng.integers(0, 3, 600)
    age = rng.integers(18, 70, 600).astype(float)
    X = np.column_stack([age, np.eye(2)[sex], np.eye(3)[job]])
    y = np.where((age < 40) == (sex == 1), "high", "low")
    names = ["age", "sex=male", "sex=female", "job=a", "job=b", "job=c"]
    scaled = X / [20, 1, 1, 1, 1, 1]
    model = MLPClassifier((8,), solver="lbfgs", alpha=1.0, max_iter=9000, random_state=0)
    model.fit(scaled, y)
    poly = n2p.convert(model, 3, data=scaled, feature_names=names)
    path = n2p.report(poly, model, scaled, y, folder / "census.html", threshold=0.4)
    found = collect(poly.with_threshold(0.4), model, scaled, y, "t")
    return found, path, poly.with_threshold(0.4), model, scaled


def test_the_first_numbers_are_those_of_the_network_beside_a_baseline(census, diabetes):
    found, *_ = census
    assert [row[0] for row in found.quality.table][:2] == ["network", "formula in its place"]
    assert found.quality.table[2][0] in ("always high", "always low")
    text = diabetes.text
    assert text.index("How good is the network?") < text.index("How faithful is the formula")
    baseline = re.search(r">the mean alone</th>(.*?)</tr>", text)[1]
    assert f">{np.std(diabetes.y):.4g}</td>" in baseline


def test_long_cards_are_an_appendix(diabetes):
    assert diabetes.text.index('id="what-if"') < diabetes.text.index('id="cards"')
    assert diabetes.text.count("<caption>Fidelity to the network") == 2
    assert diabetes.text.index('id="cards"') < diabetes.text.index("Fidelity to the network")


def test_importance_goes_by_column_also_without_regions(census):
    found, *_ = census
    names = found.payload["effects"]["columns"]["names"]
    assert sorted(names) == ["age", "job", "sex"]
    assert {player["name"] for player in found.payload["effects"]["players"]} == set(names)
    assert found.column_names == ("age", "sex", "job")
    assert {row.values[1] for row in found.worst} <= {"male", "female"}


def test_labels_of_network_and_formula_are_counted(census):
    found, _, poly, model, X = census
    network = poly.outputs.labels(
        np.log(model.predict_proba(X)[:, 1:] / model.predict_proba(X)[:, :1])
    )
    formula = poly.predict_label(X)
    for row, name in zip(found.confusion.rows, poly.classes, strict=True):
        mine = formula[network == name]
        assert row == (name, *(int((mine == other).sum()) for other in poly.classes))


def test_flips_hold_on_the_formula_and_are_asked_of_the_network(census):
    found, _, poly, model, X = census
    assert {flip.label for flip in found.flips} == {"high", "low"}
    for flip in found.flips:
        assert poly.predict_label(X[[flip.row]])[0] == flip.label
        for text, label, distance, network in flip.changes:
            assert label != flip.label
            assert distance > 0
            assert network in poly.classes
            column, after = text.split(": ")[0], text.split("→ ")[1]
            changed = X[flip.row].copy()
            if column == "age":
                changed[0] = float(after.replace("−", "-"))
            else:
                places = [j for j, n in enumerate(poly.feature_names) if n.startswith(column)]
                changed[places] = [
                    n.endswith(f"={after}") for n in np.array(poly.feature_names)[places]
                ]
            if column != "age" or len(after) < 4:
                assert poly.predict_label(changed[None])[0] == label
            asked = model.predict_proba(changed[None])[0, 1]
            if abs(asked - 0.4) > 0.05:
                assert network == poly.classes[int(asked >= 0.4)]


def test_where_no_input_flips_a_decision_alone_two_are_told_together():
    both = n2p.Polynomial(
        [[-8.0], [2.5], [2.5]], 1, ["age", "dose"], link="sigmoid", classes=("no", "yes")
    )
    X = np.random.default_rng(0).uniform(0, 2, (200, 2))
    X[0], X[1] = 0.0, 2.0
    told = [flip for flip in collect(both, None, X, None, "t").flips if flip.label == "no"]
    together = [change for flip in told for change in flip.changes if ", and " in change[0]]
    assert together
    for text, label, size, _ in together:
        assert label == "yes"
        ends = [float(part.split("→ ")[1]) for part in text.split(", and ")]
        assert both.predict_label([ends if text.startswith("age") else ends[::-1]])[0] == "yes"
        assert size > 0


def test_groups_are_those_of_the_columns(census):
    found, *_ = census
    tables = dict(found.subgroups)
    assert set(tables) == {"age", "sex", "job"}
    assert [row[0] for row in tables["sex"].rows] == ["male", "female"]
    assert sum(row[1] for row in tables["sex"].rows) == 600


def test_findings_name_columns_and_levels_and_are_listed_for_every_output(census, wine):
    found, *_ = census
    (texts,) = found.findings
    assert any(text.startswith("sex ") and "where age is between" in text for text in texts)
    assert "logit" not in " ".join(texts)
    static = wine.text.split("report-data")[0]
    assert len(re.findall(r'<div class="findings" data-output', static)) == 3


def test_the_guarantee_names_its_classes_and_nothing_is_a_power_of_ten_percent(wine):
    static = wine.text.split("report-data")[0]
    promised = Guarantee(0.95, 0.99, (1.5, 2.0), 299, 900, True)
    assert "within ±1.5 for barolo, ±2 for barbera" in promised.text(names=("barolo", "barbera"))
    assert not re.search(r"e[−-]\d+ %", static)
    assert percent(6.69e-8).replace("\u00a0", " ") == "< 0.01 %"
    assert "cut at order" not in static
    assert "Where the error enters" not in static


def test_where_it_came_from_is_told_and_a_date_can_be_set(census, monkeypatch):
    _, _, poly, model, X = census
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    told = dict(collect(poly, model, X, None, "t").provenance)
    assert told["Date"] == "1970-01-02"
    assert told["Architecture"] == "6 inputs → 8 relu → 1 linear; 65 weights"
    assert "scikit-learn" in told["Made with"]
    assert told["Data of this report"] == "600 rows, 3 inputs (6 features: factors written out)"


# --- in a browser ----------------------------------------------------------------------------


def says(page, name):
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => done()))")
    return page.locator(name).inner_text()


def test_a_combination_that_no_row_is_near_is_said_though_all_inputs_are_in_range(stay, diabetes):
    page = stay(diabetes.path).page
    data = json.loads(page.locator("#report-data").text_content())
    assert "No row is near" not in says(page, "#nearest")
    assert "±" in says(page, "#prediction-within")
    for i, control in enumerate(data["controls"]):
        if control["kind"] == "number":
            end = control["low"] if i % 2 else control["high"]
            page.locator(f"#input-{i}").fill(str(end))
    assert says(page, "#range").startswith("Every input is within its range.")
    assert says(page, "#nearest").startswith("No row is near this combination")
    assert says(page, "#prediction-within") == ""


def test_the_nearest_row_is_the_nearest(stay, diabetes):
    page = stay(diabetes.path).page
    page.locator("#preset-row").fill("17")
    page.keyboard.press("Enter")
    assert "row 17, equal to this" in says(page, "#nearest")
    data = json.loads(page.locator("#report-data").text_content())
    (j,) = data["controls"][0]["features"]
    x = diabetes.X[17].copy()
    x[j] = 0.3 * diabetes.X[:, j].min() + 0.7 * diabetes.X[:, j].max()
    page.locator("#input-0").fill(str(x[j]))
    says(page, "#nearest")
    scale = np.frombuffer(base64.b64decode(data["near"]["scale"]))
    rows = diabetes.X[data["rows"]["index"]]
    expected = np.linalg.norm((rows - x) / scale, axis=1).min()
    found = float(page.locator("#nearest").get_attribute("data-distance"))
    assert found == pytest.approx(expected, rel=1e-9)


def test_the_change_since_the_start_and_the_networks_own_answer_are_shown(stay, diabetes, wine):
    page = stay(diabetes.path).page
    page.locator("#preset-row").fill("3")
    page.keyboard.press("Enter")
    assert says(page, "#since") == ""
    rows = json.loads(page.locator("#report-data").text_content())["rows"]
    assert rows["network"] is not None
    own = says(page, "#network-says")
    assert own.startswith("The network itself says")
    assert own.endswith("here.")
    before = float(json.loads(page.locator("#prediction").get_attribute("data-raw"))[0])
    field = page.locator("#input-0")
    field.fill(str(float(field.input_value()) * 1.1 + 1))
    text = says(page, "#since")
    after = float(json.loads(page.locator("#prediction").get_attribute("data-raw"))[0])
    shown = float(re.match(r"[+−][\d.,]+", text)[0].replace("−", "-").replace(",", ""))
    assert shown == pytest.approx(after - before, rel=1e-3)
    assert says(page, "#network-says").endswith("at the start.")
    other = stay(wine.path).page
    assert "label" in says(other, "#network-says")
    assert "%" in says(other, "#prediction")


def test_a_factor_in_a_pair_shows_one_level_at_a_time(visit, census):
    _, path, poly, _, _ = census
    page = visit(path).page
    page.locator("#pair").select_option(label="age and sex")
    page.locator("#chart-surface").scroll_into_view_if_needed()
    page.wait_for_selector("#chart-surface svg.main-svg")
    page.wait_for_timeout(100)
    data = json.loads(page.locator("#report-data").text_content())
    traces = page.evaluate(
        "document.getElementById('chart-surface').data.map(({x, y, name}) => [x, y, name])"
    )
    assert {name for *_, name in traces} == {"male", "female"}
    typical = np.frombuffer(base64.b64decode(data["typical"]))
    for x, y, name in traces:
        row = typical.copy()
        row[0] = x[5]
        row[1:3] = [name == "male", name == "female"]
        assert y[5] == pytest.approx(poly.predict_proba(row[None])[0, 1], rel=1e-9)


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_page_or_hidden_in_a_cut(visit, census, width):
    page = visit(census[1], width=width).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    cut = page.evaluate(
        """[...document.querySelectorAll("main p, main li, main h2, main h3, main dd")]
        .filter((n) => n.checkVisibility() && n.scrollWidth > n.clientWidth + 1
          && getComputedStyle(n).overflowX !== "auto").map((n) => n.textContent.slice(0, 60))"""
    )
    assert cut == []


def test_paper_holds_every_output_and_the_groups_that_matter(visit, wine):
    page = visit(wine.path).page
    page.emulate_media(media="print")
    for name in ("#findings .findings", "#formula .equation"):
        assert page.locator(f"{name}:visible").count() == 3
    assert page.locator("[data-subgroup]:visible").count() == 4
    assert page.locator(".worst-list").is_visible()
    assert not page.locator("table.worst").is_visible()
    assert page.locator("#importance .static-table").is_visible()


def test_factors_are_spoken_of_where_there_are_some_and_their_levels_have_room(diabetes, rentals):
    assert '<td colspan="5">3 levels' in rentals.text
    for text, expected in ((rentals.text, True), (diabetes.text, False)):
        assert ("A factor shows exactly one of its levels" in text) == expected
