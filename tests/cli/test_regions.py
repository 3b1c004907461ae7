"""Formulas with regions on the command line: made, shown, used, and refused in its own words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import nn2poly as n2p

FEATURES = ["hour", "working"]


@pytest.fixture(scope="module")
def made(call, tmp_path_factory):
    """Make a network that rises in the morning of working days alone, and convert it by region."""
    import skops.io
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    folder = tmp_path_factory.mktemp("regions")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"hour": rng.uniform(0, 24, 1500), "working": rng.integers(0, 2, 1500)})
    rush = np.exp(-((frame["hour"] - 8) ** 2) / 8) * frame["working"]
    frame["rentals"] = (1 + 4 * rush + 0.05 * frame["hour"]).round(3)
    net = MLPRegressor(
        hidden_layer_sizes=(32, 32), max_iter=300, random_state=0, learning_rate_init=0.01
    )
    model = make_pipeline(StandardScaler(), net).fit(frame[FEATURES], frame["rentals"])
    skops.io.dump(model, folder / "model.skops")
    frame.to_csv(folder / "train.csv", index=False)
    call(
        *("convert", folder / "model.skops", "-d", folder / "train.csv", "-t", "rentals"),
        *("--regions", "6", "-o", folder / "poly.json"),
    )
    return folder


@pytest.fixture
def work(made, monkeypatch, tmp_path):
    """Stand in an empty folder, so that nothing is written beside what is shared."""
    monkeypatch.chdir(tmp_path)
    return made


def test_regions_are_written_and_their_rules_said(work, call):
    out = call(
        *("convert", work / "model.skops", "-d", work / "train.csv", "-t", "rentals"),
        *("--regions", "6", "-o", "mine.json"),
    )
    formula = n2p.load("mine.json")
    assert isinstance(formula, n2p.PiecewisePolynomial)
    assert f"{formula.n_regions} regions, order 2" in out.stdout
    assert "Regions:" in out.stdout
    joined = " ".join(out.stdout.split())
    assert all(region.rule in joined for region in formula.regions)


def test_the_document_lists_the_regions(work, call_json):
    answer = call_json("show", work / "poly.json", "-n", "2")
    formula = n2p.load(work / "poly.json")
    assert [region["rule"] for region in answer["regions"]] == [r.rule for r in formula.regions]
    assert sum(region["share"] for region in answer["regions"]) == pytest.approx(1.0)
    assert {row["region"] for row in answer["terms"]} == set(range(formula.n_regions))
    assert len(answer["intercept"]) == formula.n_regions


def test_a_polynomial_of_one_region_says_so(work, call_json):
    answer = call_json(
        *("convert", work / "model.skops", "-d", work / "train.csv", "-t", "rentals"),
    )
    assert [region["rule"] for region in answer["regions"]] == ["everywhere"]


def test_show_in_raw_units_is_the_rebased_formula(work, call_json):
    answer = call_json("show", work / "poly.json", "--raw")
    raw = n2p.load(work / "poly.json").rebase()
    found = [values["rentals"] for values in answer["intercept"]]
    np.testing.assert_allclose(found, [p.coefficients[0, 0] for p in raw.polynomials])


def test_auto_takes_as_few_regions_as_reach_the_target(work, call_json):
    counts = []
    for target in ("0.8", "0.97"):
        answer = call_json(
            *("convert", work / "model.skops", "-d", work / "train.csv", "-t", "rentals"),
            *("--regions", "auto", "--target-r2", target, "--force"),
        )
        counts.append(len(answer["regions"]))
    assert counts[0] < counts[1] <= 16


def test_predictions_and_rules_are_those_of_python(work, call_json):
    answer = call_json("predict", work / "poly.json", "-d", work / "train.csv", "--rule")
    formula, X = n2p.load(work / "poly.json"), pd.read_csv(work / "train.csv")[FEATURES]
    assert answer["columns"] == ["rentals", "region", "rule"]
    values, where, rules = zip(*answer["rows"], strict=True)
    np.testing.assert_allclose(values, formula.predict(X), rtol=1e-12)
    np.testing.assert_array_equal(where, formula.region_of(X))
    assert list(rules[:20]) == [formula.regions[k].rule for k in where[:20]]


def test_fidelity_is_that_of_the_whole_and_better_than_one_region(work, call_json):
    table = ("-d", work / "train.csv", "-t", "rentals")
    call_json("convert", work / "model.skops", *table, "-o", "single.json")
    given = ("--model", work / "model.skops", *table)
    whole, single = (
        call_json("fidelity", path, *given) for path in (work / "poly.json", "single.json")
    )
    assert whole["card"]["r2"] > single["card"]["r2"] + 0.1
    assert whole["scores"]["polynomial"] > single["scores"]["polynomial"]


@pytest.mark.parametrize("language", ["sql", "c", "latex", "excel", "javascript", "python"])
def test_export_writes_what_python_does(work, call, language):
    formula = n2p.load(work / "poly.json")
    out = call("export", work / "poly.json", "--to", language)
    assert out.stdout == n2p.export.LANGUAGES[language].content(formula)
    few = call("export", work / "poly.json", "--to", language, "--terms", "2")
    assert few.stdout == n2p.export.LANGUAGES[language].content(formula.prune(2))


@pytest.mark.parametrize(
    ("given", "where", "remedy"),
    [
        (["--regions", "0"], "--regions", "auto takes as few"),
        (["--regions", "many"], "--regions", "8 or 16"),
        (["--regions", "4", "--method", "taylor"], "--regions", "leave --method taylor"),
        (["--regions", "4", "--around", "1"], "--regions", "leave --around"),
    ],
)
def test_what_cannot_be_is_refused_in_words_of_the_command_line(
    work, call_json, given, where, remedy
):
    arguments = ("convert", work / "model.skops", "-d", work / "train.csv", "-t", "rentals")
    error = call_json(*arguments, *given, code=1)["error"]
    assert error["where"] == where
    assert remedy in error["remedy"]


def test_regions_need_data(work, call_json):
    error = call_json("convert", work / "model.skops", "--regions", "4", code=1)["error"]
    assert error["found"] == "no --data"
    assert "--data train.csv" in error["remedy"]


def test_a_path_of_terms_is_of_one_region(work, call_json):
    given = ("--model", work / "model.skops", "-d", work / "train.csv", "-t", "rentals")
    error = call_json("plot", "path", work / "poly.json", *given, code=1)["error"]
    assert "regions" in error["found"]
    assert "--max-terms" in error["remedy"]


def test_order_and_regions_are_chosen_together(work, call_json):
    answer = call_json(
        *("convert", work / "model.skops", "-d", work / "train.csv", "-t", "rentals"),
        *("--order", "auto", "--regions", "auto", "--target-r2", "0.95"),
    )
    assert answer["card"]["r2"] > 0.94
    assert answer["n_terms"] < 100


def test_the_verdict_says_how_many_regions_would_do(work, call):
    out = call("convert", work / "model.skops", "-d", work / "train.csv", "-t", "rentals")
    assert "regions would reach about R2" in " ".join(out.stdout.split())
