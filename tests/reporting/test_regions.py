"""The report of a formula with regions, in Python and in a real browser."""

import base64
import json
import re

import numpy as np
import pytest
from playwright.sync_api import expect

import nn2poly as n2p
from nn2poly.explain import anova, importance
from nn2poly.formula.region_tree import Leaf, Split
from nn2poly.inputs import Column, Coordinate, Inputs
from nn2poly.inputs.functions import Log
from nn2poly.reporting.collect import collect
from nn2poly.reporting.numerals import rule_text
from nn2poly.reporting.payload import packed
from nn2poly.reporting.regionviews import region_parts, tree_view


def contents(made, model=None):
    return collect(made.poly, model, made.X, made.y, "title")


def assert_follows(raw, poly, x):
    expected = np.ravel(poly.raw_outputs(np.atleast_2d(np.asarray(x, dtype=float))))
    np.testing.assert_allclose(raw, expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())


def static(made):
    return made.text.split("report-data")[0]


# --- what is said ------------------------------------------------------------------------------


def test_every_region_is_described_by_its_rule_its_rows_and_its_formula(rentals):
    views = contents(rentals).regions
    where = rentals.poly.region_of(rentals.X)
    for view, region in zip(views, rentals.poly.regions, strict=True):
        rows = where == region.number
        assert view.rule == rule_text(region.rule)
        assert (view.n_rows, view.share) == (rows.sum(), rows.mean())
        assert view.r2 == region.r2
        assert view.average == pytest.approx(rentals.poly.predict(rentals.X[rows]).mean())
        assert view.formulas[0].n_more == 28 - 7
    text = static(rentals).replace("\u00a0", " ")
    assert "Which rule applies to you" in text
    heading = re.search(r'<h3 id="region-1-title">(.*?)</h3>', text, flags=re.DOTALL).group(1)
    words = " ".join(re.sub(r"<[^>]*>", "", heading).split())
    assert words == "Region 1 hour ≥ 6.5 and working_day is yes and weather is (rain or snow)"


def test_the_tree_does_not_name_levels_that_it_has_ruled_out_before(rentals):
    last = Split(2, levels=(2,), left=Leaf(2), right=Leaf(1))
    tree = Split(2, levels=(0,), left=Leaf(0), right=last)
    found = tree_view(tree, rentals.poly.inputs)
    assert [child.text for child in found.children] == [
        "weather is clear",
        "weather is (rain or snow)",
    ]
    inner = found.children[1].children
    assert [child.text for child in inner] == ["weather is snow", "weather is rain"]


def test_the_largest_terms_of_regions_are_named_by_the_functions_they_enter_through(rentals):
    hour = Column("hour", coordinates=(Coordinate(function=Log(1.0, 22.0)),))
    polys = tuple(n2p.Polynomial([[1.0], [k]], 1, inputs=Inputs((hour,))) for k in (2.0, 3.0))
    tree = Split(0, 6.5, left=Leaf(0), right=Leaf(1))
    poly = n2p.PiecewisePolynomial(tree, polys, (30, 40), (0.9, 0.9))
    found = collect(poly, None, rentals.X[:, :1], None, "title")
    assert {row[0] for row in found.top_terms.rows} == {"log(hour)"}
    assert found.entering.startswith("log(hour) is a function of hour: centre and scale are")


def test_the_formula_of_a_region_leads_with_what_matters_on_its_own_rows(rentals):
    parts = region_parts(rentals.poly, rentals.X)
    for part, view in zip(parts, contents(rentals).regions, strict=True):
        poly, rows = part.region.polynomial, rentals.X[part.rows]
        sizes = poly.contributions(rows)[:, :, 0].std(axis=0)
        first = max(range(1, 28), key=lambda i: sizes[i])
        names = tuple(dict.fromkeys(poly.feature_names[j] for j in poly.terms[first]))
        assert tuple(name for name, _ in view.formulas[0].terms[1].factors) == names


def test_r2_of_a_region_is_measured_on_its_rows_when_there_is_a_network(kinked, rentals):
    network = n2p.Network([n2p.Layer(np.full((6, 1), 0.3), [1.0])])
    network = network.named(rentals.poly.feature_names)
    views = contents(rentals, network).regions
    truth, guess = network.predict(rentals.X), rentals.poly.predict(rentals.X)
    where = rentals.poly.region_of(rentals.X)
    for view in views:
        rows = where == view.number
        squared = ((truth - guess)[rows] ** 2).mean()
        assert view.r2 == pytest.approx(1 - squared / truth[rows].var(), rel=1e-9)
    assert all(view.average is None for view in contents(kinked).regions)


def test_a_region_without_rows_says_so_and_the_report_is_made(rentals, tmp_path):
    night = rentals.X[rentals.X[:, 0] < 6.5]
    path = n2p.report(rentals.poly, None, night, path=tmp_path / "r.html")
    text = path.read_text(encoding="utf-8").split("report-data")[0]
    assert text.count("No row of this report is in it") == 3


def test_the_figures_count_the_regions_and_the_facts_name_them(rentals):
    found = contents(rentals)
    assert [(f.label, f.value) for f in found.faith.figures] == [("terms in 4 regions", "112")]
    assert "4 regions" in found.facts


def test_worst_rows_name_their_region(kinked, rentals):
    network = n2p.Network([n2p.Layer(np.full((6, 1), 0.3), [1.0])])
    worst = contents(rentals, network.named(rentals.poly.feature_names)).worst
    where = rentals.poly.region_of(rentals.X)
    assert [row.region for row in worst] == [where[row.row] for row in worst]
    assert '<th scope="col" class="number">region</th>' in static(kinked)


def test_importance_and_pairs_are_those_of_the_columns(rentals):
    effects = contents(rentals).payload["effects"]
    assert effects["columns"]["names"] == [
        row[0] for row in importance(rentals.poly, rentals.X).rows
    ]
    names = ["hour", "working_day", "weather", "temp.out"]
    assert sorted(player["name"] for player in effects["players"]) == sorted(names)
    subsets = [s for s in anova(rentals.poly, rentals.X).subsets if len(s) == 2]
    assert len(effects["pairs"]) == len(packed(subsets, "<u4"))


def test_a_formula_too_long_to_copy_is_pruned_in_each_region_and_says_so(rentals):
    inputs = rentals.poly.inputs
    rng = np.random.default_rng(0)
    polys = tuple(n2p.Polynomial(rng.normal(size=(210, 3)), 4, inputs=inputs) for _ in range(4))
    big = n2p.PiecewisePolynomial(rentals.poly.tree, polys)
    note = collect(big, None, rentals.X, None, "title").export_note
    assert "of each region the 166 terms that move the outputs most there" in note
    assert re.search(r"with R² 0\.\d+ on these rows", note)
    assert "4 regions, each with its rule, and all 112 terms" in contents(rentals).export_note


def test_too_many_coefficients_in_all_regions_are_refused(rentals):
    poly = n2p.Polynomial(np.ones((2, 300_000)), 1, ["a"])
    tree = Split(0, 0.0, left=Leaf(0), right=Leaf(1))
    with pytest.raises(n2p.TooManyTermsError, match="1,200,000") as caught:
        collect(n2p.PiecewisePolynomial(tree, (poly, poly)), None, np.ones((5, 1)), None, "t")
    assert "prune(n_terms=1)" in caught.value.remedy


def test_a_polynomial_has_no_chapter_of_rules(diabetes):
    assert "Which rule applies" not in static(diabetes)
    found = contents(diabetes)
    assert (found.regions, found.tree) == ((), None)
    assert "pieces" not in found.payload["polynomial"]


def test_no_name_becomes_markup_in_rules(kinked):
    body = kinked.text.partition("<body>")[2]
    for name in ("<script>alert", "<b>a</b>", '"onmouseover="'):
        assert name not in body
    assert body.count("</script>") == 3


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("hour < -0.5", "hour <~−0.5"),
        ("-2 ≤ hours-per-week < 1e-05", "−2~≤ hours-per-week <~1e-05"),
        ("a ≥ 3 and weather is -1 or rain", "a ≥~3 and weather is −1 or rain"),
        ("everywhere", "everywhere"),
    ],
)
def test_rules_keep_signs_with_their_numbers(rule, expected):
    assert rule_text(rule).replace("\u00a0", "~") == expected


# --- in the browser ----------------------------------------------------------------------------


def number(place):
    """Read a number as the page writes it."""
    return float(place.inner_text().replace("−", "-").replace(",", "").replace("+", ""))


def set_row(page, row):
    page.page.locator("#preset-row").fill(str(row))
    page.page.keyboard.press("Enter")


@pytest.mark.parametrize("name", ["rentals", "kinked"])
def test_rows_of_every_region_are_predicted_as_predict_does(stay, name, request):
    made = request.getfixturevalue(name)
    page = stay(made.path)
    where = made.poly.region_of(made.X)
    for k in range(made.poly.n_regions):
        row = int(np.flatnonzero(where == k)[0])
        set_row(page, row)
        assert_follows(page.raw(), made.poly, made.X[row])
        assert page.page.locator("#region-now").get_attribute("data-region") == str(k)


def test_a_value_on_the_border_belongs_to_the_side_above(stay, rentals):
    page = stay(rentals.path)
    row = int(np.flatnonzero(rentals.X[:, 0] < 6)[0])
    set_row(page, row)
    x = rentals.X[row].copy()
    for value in (6.5, np.nextafter(6.5, 0.0), -40.0, 400.0):
        page.page.get_by_label("hour", exact=True).fill(repr(float(value)))
        x[0] = value
        assert_follows(page.raw(), rentals.poly, x)


@pytest.mark.parametrize("width", [1280, 390])
def test_an_input_beyond_its_bound_is_said_to_be_held(visit, rentals, width):
    page = visit(rentals.path, width=width).page
    hour = page.get_by_label("hour", exact=True)
    hour.fill("22.5")
    expect(page.locator("#range")).to_contain_text(
        "Every input is within its range. hour is held at 22: beyond that the formula stays"
    )
    expect(page.locator("#range")).to_be_visible()
    hour.fill("21")
    expect(page.locator("#range")).not_to_contain_text("held")


def test_crossing_a_border_is_said_with_the_step_and_the_terms(stay, rentals):
    page = stay(rentals.path)
    row = int(np.flatnonzero(rentals.poly.region_of(rentals.X) == 1)[0])
    set_row(page, row)
    box, line = page.page.locator("#crossing"), page.page.locator("#region-now")
    assert not box.is_visible()
    page.page.get_by_label("hour", exact=True).fill("3")
    expect(line).to_contain_text("Region 0: hour")
    words = box.inner_text().replace("\u00a0", " ")
    assert "You are now in region 0: hour < 6.5. Before, region 1." in words
    x = rentals.X[row].copy()
    sides = []
    for value in (6.5, np.nextafter(6.5, 0.0)):
        x[0] = value
        sides.append(rentals.poly.predict(x[None])[0])
    step = sides[1] - sides[0]
    assert number(box.locator("strong")) == pytest.approx(step, rel=2e-3)
    assert "At the border, hour 6.5" in words
    assert box.locator("tbody tr").count() == 5


def test_a_level_that_changes_the_region_is_said_with_the_change(stay, rentals):
    page = stay(rentals.path)
    row = int(np.flatnonzero(rentals.poly.region_of(rentals.X) == 2)[0])
    set_row(page, row)
    page.page.get_by_label("weather", exact=True).select_option("2")
    x = rentals.X[row].copy()
    before = rentals.poly.predict(x[None])[0]
    x[2:5] = [0, 0, 1]
    assert_follows(page.raw(), rentals.poly, x)
    after = rentals.poly.predict(x[None])[0]
    words = page.page.locator("#crossing").inner_text()
    assert "You are now in region 1: weather is (rain or snow). Before, region 2." in words
    assert "With this change the prediction went from" in words
    shown = number(page.page.locator("#crossing strong"))
    assert shown == pytest.approx(after - before, rel=2e-3)


def test_a_classifier_tells_the_step_at_a_border_as_a_probability(stay, kinked):
    page = stay(kinked.path)
    where = kinked.poly.region_of(kinked.X)
    set_row(page, int(np.flatnonzero(where == where[0])[0]))
    x = kinked.X[np.flatnonzero(where != where[0])[0]]
    for name, value in zip(kinked.poly.feature_names, x, strict=True):
        page.page.get_by_label(name, exact=True).fill(repr(float(value)))
        page.raw()
    words = page.page.locator("#crossing").inner_text().replace("\u00a0", " ")
    assert re.search(r"the prediction goes from [<>]? ?[\d.]+ % \(region", words)
    assert "percentage points. What the terms add, as score of" in words


def test_moving_within_a_region_says_nothing_and_a_new_start_forgets(stay, rentals):
    page = stay(rentals.path)
    set_row(page, int(np.flatnonzero(rentals.poly.region_of(rentals.X) == 0)[0]))
    page.page.get_by_label("temp.out", exact=True).fill("20")
    page.raw()
    assert not page.page.locator("#crossing").is_visible()
    page.page.get_by_label("hour", exact=True).fill("12")
    expect(page.page.locator("#crossing")).to_be_visible()
    page.page.locator("#preset").select_option("typical")
    expect(page.page.locator("#crossing")).to_be_hidden()


@pytest.mark.parametrize("size", [(900, 560), (1280, 900), (390, 844)])
def test_the_prediction_stays_below_the_bar_after_a_crossing(visit, rentals, size):
    page = visit(rentals.path, width=size[0], height=size[1], reduced_motion="reduce").page
    for hour in ("3", "8"):
        page.get_by_label("hour", exact=True).fill(hour)
        page.wait_for_timeout(100)
    expect(page.locator("#crossing")).to_be_visible()
    page.locator("#controls > :not([hidden])").last.scroll_into_view_if_needed()
    bar, prediction = (page.locator(part).bounding_box() for part in (".bar", "#prediction"))
    assert bar["y"] + bar["height"] <= prediction["y"] < size[1] / 2


def test_the_middle_of_a_region_is_a_row_of_it(stay, rentals):
    page = stay(rentals.path)
    for k in range(4):
        page.page.locator(f"#region-{k} [data-region]").click()
        page.raw()
        assert page.page.locator("#region-now").get_attribute("data-region") == str(k)
        assert page.page.locator("#preset").input_value() == f"region-{k}"


def test_contributions_are_those_of_the_region_and_sum_to_the_prediction(stay, rentals):
    page = stay(rentals.path)
    row = int(np.flatnonzero(rentals.poly.region_of(rentals.X) == 3)[0])
    set_row(page, row)
    raw = page.raw()
    rows = page.page.locator("#contributions tr[data-value]").all()
    *parts, total = [float(each.get_attribute("data-value")) for each in rows]
    assert total == raw[0]
    assert sum(parts) == pytest.approx(total, rel=1e-9)
    poly = rentals.poly.regions[3].polynomial
    assert parts[0] == pytest.approx(poly.coefficient(()))


def test_main_effects_jump_where_regions_meet(stay, rentals):
    page = stay(rentals.path).page
    page.locator("#effect-feature").select_option(label="hour")
    page.locator("#chart-effect").scroll_into_view_if_needed()
    page.wait_for_selector("#chart-effect svg.main-svg")
    x, y = page.evaluate("(({ x, y }) => [x, y])(document.getElementById('chart-effect').data[0])")
    gap = y.index(None)
    assert x[gap - 1] < 6.5 == x[gap + 1]
    for i in (0, gap - 1, gap + 1, len(x) - 1):
        X = rentals.X.copy()
        X[:, 0] = x[i]
        assert y[i] == pytest.approx(rentals.poly.raw_outputs(X).mean(), rel=1e-9)
    assert "It jumps at 6.5, where regions meet." in page.locator("#caption-effect").inner_text()


@pytest.mark.parametrize("pair", ["number × number", "number × factor", "factor × yes/no"])
def test_surfaces_are_the_formula_at_the_typical_row(stay, rentals, pair):
    page = stay(rentals.path).page
    label = {
        "number × number": "hour and temp.out",
        "number × factor": "hour and weather",
        "factor × yes/no": "working_day and weather",
    }[pair]
    page.locator("#pair").select_option(label=label)
    page.locator("#chart-surface").scroll_into_view_if_needed()
    page.wait_for_selector("#chart-surface svg.main-svg")
    page.wait_for_timeout(100)
    data = json.loads(page.locator("#report-data").text_content())
    typical = np.frombuffer(base64.b64decode(data["typical"]))
    drawn = page.evaluate(
        "document.getElementById('chart-surface').data.map(({x, y, z}) => [x, y, z])"
    )
    if pair == "number × factor":
        shares = rentals.X[:, 2:5].mean(axis=0)
        for (x, y, _), level in zip(drawn, np.argsort(-shares, kind="stable"), strict=True):
            assert None in y
            row = typical.copy()
            row[2:5] = np.eye(3)[level]
            row[0] = x[-1]
            assert y[-1] == pytest.approx(rentals.poly.raw_outputs(row[None])[0, 0], rel=1e-9)
        return
    x, y, z = drawn[0]
    row = typical.copy()
    if pair == "number × number":
        assert 6.5 in x
        row[0], row[5] = (x[-2] + x[-1]) / 2, (y[-2] + y[-1]) / 2
    else:
        row[1], row[2:5] = 1, [0, 0, 1]
    assert z[-1][-1] == pytest.approx(rentals.poly.raw_outputs(row[None])[0, 0], rel=1e-9)


def test_the_table_shows_the_terms_of_the_chosen_region(stay, rentals):
    page = stay(rentals.path).page
    for k in (0, 2):
        page.locator("#term-region").select_option(str(k))
        page.locator("#term-table th", has_text="no.").get_by_role("button").click()
        if page.locator("#term-rows tr").first.get_attribute("data-place") != "0":
            page.locator("#term-table th", has_text="no.").get_by_role("button").click()
        cells = page.locator("#term-rows tr").first.locator("td.number").all()
        shown = float(cells[2].get_attribute("title"))
        assert shown == rentals.poly.regions[k].polynomial.coefficients[0, 0]


@pytest.mark.parametrize("name", ["rentals", "kinked"])
def test_every_chart_of_regions_is_drawn_and_described(stay, name, request):
    page = stay(request.getfixturevalue(name).path)
    page.scroll_through()
    for box in page.page.locator(".chart:visible").all():
        assert len(box.get_attribute("aria-label")) > 40
        assert box.locator("svg.main-svg").count()
    assert page.page.locator("img, b").count() == 0


@pytest.mark.parametrize("name", ["rentals", "kinked"])
def test_a_phone_needs_no_sideways_scrolling_for_regions(visit, name, request):
    page = visit(request.getfixturevalue(name).path, width=360, height=740)
    page.scroll_through()
    if name == "rentals":
        page.page.get_by_label("hour", exact=True).fill("3")
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("case", ["one region", "one row", "a constant column", "constants"])
def test_small_cases_of_regions_are_drawn_without_an_error(visit, folder, case):
    X = np.random.default_rng(8).normal(size=(1 if case == "one row" else 30, 3))
    names = ["a", "b", "c"]
    polys = tuple(n2p.Polynomial(np.full((10, 1), k), 2, names) for k in (1.0, 2.0))
    tree = Split(0, 0.0, left=Leaf(0), right=Leaf(1))
    if case == "one region":
        tree, polys = Leaf(0), polys[:1]
    elif case == "constants":
        polys = tuple(n2p.Polynomial([[k]], 0, names) for k in (1.0, 2.0))
    elif case == "a constant column":
        X[:, 0] = 3.0
    poly = n2p.PiecewisePolynomial(tree, polys)
    page = visit(n2p.report(poly, None, X, path=folder / f"regions, {case}.html"))
    page.scroll_through()
    set_row(page, 0)
    assert_follows(page.raw(), poly, X[0])
    page.page.get_by_label("a", exact=True).fill("-2.5")
    page.page.get_by_label("a", exact=True).fill("2.5")
    assert_follows(page.raw(), poly, [2.5, *X[0, 1:]])


def test_copied_python_gives_the_same_numbers_in_every_region(stay, rentals):
    text = stay(rentals.path).page.locator("details[data-language=Python] pre").text_content()
    space = {}
    exec(text, space)
    (function,) = (f for name, f in space.items() if name.startswith("predict"))
    found = [function(*row) for row in rentals.X.tolist()]
    np.testing.assert_allclose(found, rentals.poly.predict(rentals.X), rtol=1e-9, atol=1e-9)


def test_outputs_of_regions_are_shown_one_at_a_time(stay, kinked):
    page = stay(kinked.path).page
    shown = page.locator("#formula .region .equation:visible")
    assert shown.count() == kinked.poly.n_regions
    first = shown.first.inner_text()
    page.locator("#output").select_option("1")
    assert shown.first.inner_text() != first


def test_without_scripts_rules_and_terms_of_regions_remain(visit, rentals):
    page = visit(rentals.path, java_script_enabled=False).page
    assert page.locator("#rules .tree a").count() == 4
    listed = [len(p.ranked.places(10)) for p in region_parts(rentals.poly, rentals.X)]
    assert page.locator(".static-terms tbody tr").count() == sum(listed) > 30
