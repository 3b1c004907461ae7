"""The top of a report: one grade, the worse, and every R² beside the rows that it is of."""

import re

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.reporting.collect import collect

GRADES = r"\b(Faithful|Useful|Rough|Not faithful)\b"


@pytest.fixture(scope="module")
def follower(make_network):
    """A network with a formula that is close to it on ordinary rows."""
    network = make_network(0, (3, 4, 1)).named(["age", "dose", "bmi"], ["risk"])
    X = np.random.default_rng(0).uniform(-2.0, 2.0, size=(900, 3))
    poly = n2p.convert(network, 3, data=X[:600], bounded=False)
    return network, poly, X[600:]


@pytest.fixture(scope="module")
def far(follower):
    """The same rows, one of them so far out that it alone decides about R²."""
    *_, X = follower
    return np.vstack([X[:40], [[40.0, 0.0, 0.0]], X[40:]])


def static(text):
    """What a reader sees of the page without its data."""
    return re.sub(r"<[^>]+>", " ", text.partition("<main>")[2].split("report-data")[0])


def test_the_worse_grade_leads_and_the_better_is_nowhere(follower, far, tmp_path):
    network, poly, _ = follower
    here = n2p.fidelity(network, poly, far).verdict
    assert poly.card.verdict.grade in ("faithful", "useful")
    assert here.grade == "not faithful"
    found = collect(poly, network, far, None, "t")
    assert found.faith.answer == "Not faithful"
    text = static(n2p.report(poly, network, far, path=tmp_path / "r.html").read_text("utf-8"))
    assert set(re.findall(GRADES, text)) == {"Not faithful"}


def test_the_worse_grade_leads_where_it_is_that_of_the_conversion(follower, far):
    network, _, X = follower
    poly = n2p.convert(network, 1, data=np.vstack([X, 4 * X[:150]]), bounded=False)
    quiet = 0.05 * X
    assert n2p.fidelity(network, poly, quiet).verdict.grade != poly.card.verdict.grade
    worse = max(
        (n2p.fidelity(network, poly, quiet).verdict, poly.card.verdict),
        key=lambda v: ("faithful", "useful", "rough", "not faithful").index(v.grade),
    )
    found = collect(poly, network, quiet, None, "t")
    assert found.faith.answer.lower() == worse.grade
    assert f"R² {worse.r2:.2f}"[:6] in found.lead.verdict


def test_both_r2_stand_side_by_side_with_their_rows_and_intervals(follower, far):
    network, poly, _ = follower
    here, own = n2p.fidelity(network, poly, far), poly.card
    rows = collect(poly, network, far, None, "t").faith.table
    assert rows.columns == ("compared on", "R2", "95 % interval")
    assert [row[0] for row in rows] == [
        "the 301 rows of this report",
        f"{own.n_rows} rows kept apart by the conversion",
    ]
    assert [row[1] for row in rows] == [here.r2, own.r2]
    assert all(" to " in row[2] for row in rows)


@pytest.mark.filterwarnings("ignore::nn2poly.errors.OutsideRangeWarning")
def test_the_row_that_carries_the_error_is_named(follower, far):
    network, poly, X = follower
    squared = ((network.predict(far) - poly.predict(far)) ** 2).ravel()
    share = squared[40] / squared.sum()
    assert share > 0.9
    found = collect(poly, network, far, None, "t").responsible
    assert found.startswith("Row 40 alone makes ")
    assert f"{np.floor(1000 * share) / 10:g}"[:4] in found
    assert collect(poly, network, X, None, "t").responsible == ""


def test_few_rows_without_a_grade_do_not_hide_the_grade_of_the_conversion(follower):
    network, poly, X = follower
    found = collect(poly, network, X[:10], None, "t")
    assert found.faith.answer.lower() == poly.card.verdict.grade
    assert len(found.faith.table) == 2


def test_a_network_that_hardly_predicts_never_heads_the_page_with_a_good_grade(follower, tmp_path):
    network, poly, X = follower
    noise = np.random.default_rng(1).normal(size=len(X))
    y = network.predict(X).ravel()
    y = y + 3 * y.std() * noise
    card = n2p.fidelity(network, poly, X, y)
    assert card.observed.network < 0.2
    assert card.verdict.grade in ("faithful", "useful")
    found = collect(poly, network, X, y, "t")
    percent = np.floor(1000 * card.observed.network) / 10
    assert found.quality.answer == f"Explains {percent:g} % of the variation"
    text = static(n2p.report(poly, network, X, y, tmp_path / "r.html").read_text("utf-8"))
    assert text.index("Explains") < re.search(GRADES, text).start()


def test_a_network_worse_than_the_mean_is_said_to_be(follower):
    network, poly, X = follower
    y = -network.predict(X).ravel()
    found = collect(poly, network, X, y, "t").quality
    assert (found.answer, found.poor) == ("No better than the mean", True)


def test_labels_are_judged_against_the_most_frequent_one(make_network):
    X = np.random.default_rng(2).normal(size=(200, 2))
    layers = make_network(3, (2, 4, 1), bias=0.0).layers
    network = n2p.Network(layers, link="sigmoid", classes=("no", "yes"))
    poly = n2p.convert(network, 2, data=X)
    y = np.where(np.arange(200) % 10 == 0, "no", "yes")
    share = n2p.fidelity(network, poly, X, y).observed.network
    found = collect(poly, network, X, y, "t").quality
    assert share <= 0.9
    assert found.answer == "No better than always saying yes"
    given = collect(poly, network, X, poly.predict_label(X), "t").quality
    assert given.answer.endswith("% of labels right")
    assert not given.poor


def test_without_a_response_the_quality_of_the_network_is_said_to_be_unknown(follower, tmp_path):
    network, poly, X = follower
    assert collect(poly, network, X, None, "t").quality.answer == "Not known"
    assert "No response was given" in collect(poly, network, X, None, "t").quality.note
    assert "No network was given" in collect(poly, None, X, None, "t").quality.note
