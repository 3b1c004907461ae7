"""Every command on real files, called in this process."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from onnxruntime import InferenceSession

import nn2poly as n2p
from nn2poly.cli.app import COMMANDS, build
from nn2poly.cli.plot import KINDS

FEATURES = ["age", "dose", "weight"]


# --- convert ---------------------------------------------------------------------------------


def test_convert_writes_the_polynomial_that_python_gives(here, call):
    import skops.io

    out = call("convert", "model.skops", "-d", "train.csv", "-t", "price", "-o", "poly.json")
    assert "Wrote poly.json: 3 features, order 2, 10 terms, 1 output, " in out.stdout
    assert "Faithful" in out.stdout or "Useful" in out.stdout
    assert "Note: Column 'id' of train.csv left out" in out.stderr
    types = skops.io.get_untrusted_types(file="model.skops")
    model, X = skops.io.load("model.skops", trusted=types), pd.read_csv("train.csv")[FEATURES]
    expected = n2p.convert(model, 2, data=X, bounded=True, output_names=["price"])
    poly = n2p.load("poly.json")
    np.testing.assert_allclose(poly.coefficients, expected.coefficients, rtol=1e-9, atol=1e-12)
    assert (poly.feature_names, poly.output_names) == (tuple(FEATURES), ("price",))


@pytest.mark.parametrize("model", ["model.onnx", "model.keras", "model.pt2"])
@pytest.mark.parametrize("data", ["plain.csv", "plain.parquet", "plain.feather"])
def test_every_model_format_is_read_with_every_table_format(here, call_json, model, data):
    answer = call_json("convert", model, "-d", data, "-o", "p.npz")
    assert answer["features"] == FEATURES
    assert answer["card"]["r2"] > 0.5
    assert any("does not name its inputs" in text for text in answer["notes"])
    X = pd.read_csv("plain.csv")
    assert np.isfinite(n2p.load("p.npz").predict(X)).all()


def test_transforms_are_passed_on(here, call_json, call):
    convert = ("convert", "model.skops", "-d", "train.csv", "-t", "price", "-f")
    answer = call_json(*convert, "--transforms", f"{FEATURES[0]}=rank")
    assert n2p.load(answer["polynomial"]).term_names()[1] == f"rank({FEATURES[0]})"
    answer = call_json(*convert, "--transforms", "curve")
    assert n2p.load(answer["polynomial"]).term_names()[1] == f"curve({FEATURES[0]})"
    for wrong in ("auto", "log", "age=sqrt", "=log"):
        out = call(*convert, "--transforms", wrong, code=1)
        assert "--transforms income=log" in out.stderr


def test_order_auto_reports_the_orders_that_were_tried(here, call_json):
    answer = call_json("convert", "model.skops", "-d", "train.csv", "--order", "auto")
    assert answer["card"]["path"][-1][0] == answer["order"]
    assert answer["card"]["r2"] >= 0.99


def test_a_budget_of_terms_is_kept_and_reaches_higher_orders(here, call_json):
    answer = call_json("convert", "model.skops", "-d", "train.csv", "--max-terms", "12")
    assert answer["n_terms"] <= 12
    assert answer["order"] > 2
    limited = ["--max-terms", "12", "--order", "2", "--force"]
    assert call_json("convert", "model.skops", "-d", "train.csv", *limited)["order"] <= 2


def test_bounds_are_the_default_and_can_be_left_out(here, call, call_json):
    answer = call_json("convert", "model.skops", "-d", "train.csv")
    assert set(answer["bounds"]) == set(FEATURES)
    assert "Bounds: numbers are held" in call("show", "poly.json").stdout
    far = pd.DataFrame([[1e12, 1.0, 70.0]], columns=FEATURES)
    with pytest.warns(n2p.errors.OutsideRangeWarning, match="held at its edge"):
        assert abs(n2p.load("poly.json").predict(far)[0]) < 100
    plain = call_json("convert", "model.skops", "-d", "train.csv", "--no-bounded", "--force")
    assert plain["bounds"] == {}
    assert "Bounds" not in call("show", "poly.json").stdout


def test_a_local_polynomial_and_a_series_have_no_bounds(here, call_json):
    for options in (["--around", "3"], ["--method", "taylor"]):
        answer = call_json("convert", "model.skops", "-d", "train.csv", *options, "--force")
        assert answer["bounds"] == {}


def test_a_target_gives_scores_of_both_and_names_the_output(here, call_json):
    answer = call_json("convert", "model.skops", "-d", "train.csv", "-t", "price")
    assert answer["outputs"] == ["price"]
    assert answer["scores"]["measure"] == "R2"
    assert abs(answer["scores"]["network"] - answer["scores"]["polynomial"]) < 0.05


def test_a_classifier_is_scored_by_accuracy(here, call_json):
    answer = call_json("convert", "iris.skops", "-d", "iris.csv", "-t", "species")
    assert answer["outputs"] == ["setosa", "versicolor", "virginica"]
    assert answer["scores"]["measure"] == "accuracy"
    assert answer["scores"]["polynomial"] >= 0.75


def test_taylor_needs_no_data(here, call_json):
    answer = call_json("convert", "model.keras", "--method", "taylor", "--order", "3")
    assert (answer["features"], answer["n_terms"]) == (["x1", "x2", "x3"], 20)


def test_a_local_polynomial_is_exact_at_its_row(here, call_json):
    call_json("convert", "model.skops", "-d", "train.csv", "--around", "3", "-o", "local.json")
    import skops.io

    types = skops.io.get_untrusted_types(file="model.skops")
    model = skops.io.load("model.skops", trusted=types)
    row = pd.read_csv("train.csv")[FEATURES].iloc[[2]]
    np.testing.assert_allclose(n2p.load("local.json").predict(row), model.predict(row), rtol=1e-9)


def test_text_columns_of_one_hot_encoders_are_read_by_level(here, call_json):
    answer = call_json("convert", "colours.skops", "-d", "colours.csv")
    assert {"colour=red", "colour=blue"} <= set(answer["features"])
    assert call_json("predict", "poly.json", "-d", "colours.csv")["n_rows"] == 240


def test_what_a_file_gives_is_compared_with_what_was_read(ready, call, monkeypatch):
    def misread(path):
        network = n2p.read_network(path)
        first, *others = network.layers
        return replace(network, layers=(replace(first, weights=2.0 * first.weights), *others))

    monkeypatch.setattr("nn2poly.cli.models.read_network", misread)
    words = ("convert", "model.onnx", "-d", "train.csv", "-t", "price", "--drop", "id")
    run = call(*words, "-o", "misread.json", code=1)
    assert "does not give what" in run.stderr


# --- predict ---------------------------------------------------------------------------------


def test_predict_gives_what_the_polynomial_gives_to_the_last_digit(ready, call):
    call("predict", "poly.json", "-d", "new.csv", "--keep", "id", "-o", "out.csv")
    # As text: older versions of pandas read a last digit otherwise.
    out, rows = pd.read_csv("out.csv", dtype={"price": str}), pd.read_csv("new.csv")
    assert list(out) == ["id", "price"]
    assert list(out["id"]) == list(rows["id"])
    found = [float(text) for text in out["price"]]
    np.testing.assert_array_equal(found, n2p.load("poly.json").predict(rows[FEATURES]))


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather"])
def test_a_kept_column_with_the_name_of_the_output_stands_beside_the_prediction(
    ready, call, ending
):
    words = ["predict", "poly.json", "-d", "new.csv", "--keep", "price", "--keep", "price"]
    run = call(*words, "-o", f"out.{ending}")
    assert "Note: The column 'price' is kept as it was" in run.stderr
    out = getattr(pd, f"read_{ending}")(f"out.{ending}")
    rows = pd.read_csv("new.csv")
    assert list(out) == ["price", "price (predicted)"]
    np.testing.assert_array_equal(out["price"], rows["price"])
    expected = n2p.load("poly.json").predict(rows[FEATURES])
    np.testing.assert_allclose(out["price (predicted)"], expected, rtol=1e-15)


def test_a_new_name_of_a_prediction_is_one_that_is_free(ready, call_json):
    outputs = ["age", "age (predicted)"]
    n2p.Polynomial([[1.0, 3.0], [2.0, 4.0]], 1, ["dose"], outputs).save("two.json")
    pd.DataFrame({"age": [5.0], "dose": [1.0]}).to_csv("one.csv", index=False)
    answer = call_json("predict", "two.json", "-d", "one.csv", "--keep", "age")
    assert answer["columns"] == ["age", "age (predicted) (predicted)", "age (predicted)"]
    assert answer["rows"] == [[5.0, 3.0, 7.0]]


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather"])
def test_a_column_that_is_kept_twice_is_written_once(ready, call_json, ending):
    words = ["predict", "poly.json", "-d", "new.csv", "--keep", "age", "--keep", "age"]
    assert call_json(*words, "-o", f"out.{ending}")["columns"] == ["age", "price"]


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_predict_writes_binary_tables(ready, call, ending):
    call("predict", "poly.json", "-d", "new.csv", "-o", f"out.{ending}")
    assert len(getattr(pd, f"read_{ending}")(f"out.{ending}")) == 60


def test_predict_reads_standard_input_and_writes_standard_output(ready, call):
    out = call("predict", "poly.json", "-d", "-", stdin=(ready / "new.csv").read_bytes())
    assert out.stdout.splitlines()[0] == "price"
    assert len(out.stdout.splitlines()) == 61


def test_labels_and_probabilities_have_a_column_each(ready, call_json):
    answer = call_json("predict", "iris.json", "-d", "iris.csv", "--label", "--proba")
    assert answer["columns"] == ["label", "P(setosa)", "P(versicolor)", "P(virginica)"]
    assert all(abs(sum(row[1:]) - 1) < 1e-12 for row in answer["rows"])
    assert answer["rows"][0][0] == "setosa"


def test_a_row_that_is_skipped_stays_empty(ready, call_json):
    rows = pd.read_csv("new.csv")
    rows.loc[4, "dose"] = np.nan
    rows.to_csv("holes.csv", index=False)
    answer = call_json("predict", "poly.json", "-d", "holes.csv", "--skip-missing")
    assert [k for k, row in enumerate(answer["rows"]) if row == [None]] == [4]


# --- fidelity, show, export, plot, report ----------------------------------------------------


def test_fidelity_is_that_of_python(ready, call_json):
    import skops.io

    answer = call_json(
        "fidelity", "poly.json", "-m", "model.skops", "-d", "test.csv", "-t", "price"
    )
    types = skops.io.get_untrusted_types(file="model.skops")
    model = skops.io.load("model.skops", trusted=types)
    card = n2p.fidelity(model, n2p.load("poly.json"), pd.read_csv("test.csv")[FEATURES])
    assert answer["card"]["r2"] == pytest.approx(card.r2, rel=1e-12)
    assert answer["scores"]["measure"] == "R2"


def test_groups_of_rows_are_passed_on_and_are_no_input(here, call_json, call):
    frame = pd.read_csv("train.csv")
    frame.assign(patient=[f"p{i // 4}" for i in range(len(frame))]).to_csv(
        "visits.csv", index=False
    )
    asked = ("convert", "model.onnx", "-d", "visits.csv", "-t", "price", "--drop", "id")
    grouped = call_json(*asked, "-f", "--groups", "patient")
    assert grouped["features"] == FEATURES
    assert grouped["card"]["n_units"] < grouped["card"]["n_rows"]
    judged = (
        "fidelity",
        "poly.json",
        "-m",
        "model.onnx",
        "-d",
        "visits.csv",
        "--groups",
        "patient",
    )
    assert call_json(*judged)["card"]["n_units"] == len(frame) // 4
    assert "'patient'" in call(*asked, "-f", "--groups", "patients", code=1).stderr


def test_show_raw_and_standardised_differ_as_rebase_says(ready, call_json):
    poly = n2p.load("poly.json")
    standardised = call_json("show", "poly.json", "-n", 3)
    raw = call_json("show", "poly.json", "-n", 3, "--raw")
    assert [t["term"] for t in standardised["terms"]] == [row[0] for row in poly.top(3)]
    assert [t["price"] for t in raw["terms"]] == [row[2] for row in poly.rebase().top(3)]
    assert raw["intercept"]["price"] == poly.rebase().coefficient("1")
    assert "stands for" in standardised["units"]
    assert raw["units"].endswith("coefficients per raw unit")


def test_show_marks_coefficients_that_were_never_standardised(here, call_json):
    n2p.Polynomial([[1.0], [2.0]], 1, ["t"]).save("raw.json")
    assert "never standardised" in call_json("show", "raw.json")["notes"][0]


def test_show_says_that_coefficients_are_around_a_centre(here, call_json):
    n2p.Polynomial([[1.0], [2.0]], 1, ["t"], center=20.0).save("around.json")
    units = call_json("show", "around.json")["units"]
    assert "per raw unit around .center" in units
    assert units.endswith("t stands for t - 20")


def test_names_that_would_steer_a_terminal_or_rich_are_shown_as_text(here, call):
    name = "[bold red]x[/] \x1b[31m" + "n" * 60
    n2p.Polynomial([[1.0], [2.0]], 1, [name], ["[link=http://a]y"]).save("odd.json")
    out = call("show", "odd.json").stdout
    assert "[bold red]x[/]" in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("language", "sign"),
    [
        ("sql", "SELECT"),
        ("latex", r"\begin{aligned}"),
        ("python", "def "),
        ("c", "double"),
        ("excel", "="),
        ("javascript", "function"),
        ("sympy", "price = "),
    ],
)
def test_export_prints_text_alone(ready, call, language, sign):
    out = call("export", "poly.json", "--to", language)
    assert sign in out.stdout
    assert out.stderr == ""
    call("export", "poly.json", "--to", language, "-o", "out.txt")
    assert (ready / "out.txt").read_text(encoding="utf-8") == out.stdout


def test_export_offers_the_languages_of_the_library_and_names_them_in_its_help(ready, call):
    refusal = call("export", "poly.json", "--to", "cobol", code=1).stderr
    shown = " ".join(call("export", "--help").stdout.split())
    for language in n2p.export.LANGUAGES:
        assert repr(language) in refusal
        assert re.search(rf"\b{language}\b", shown)


def test_exported_onnx_runs_and_agrees(ready, call):
    call("export", "poly.json", "--to", "onnx", "-o", "poly.onnx")
    X = pd.read_csv("new.csv")[FEATURES].to_numpy()
    (found,) = InferenceSession("poly.onnx").run(None, {"X": X})
    np.testing.assert_allclose(found[:, 0], n2p.load("poly.json").predict(X), rtol=1e-12)


def test_export_of_the_largest_terms_in_raw_units(ready, call):
    out = call("export", "poly.json", "--to", "sympy", "--terms", 2, "--raw").stdout
    assert out.count("*") <= 4


ARGUMENTS = {
    "effects": ["--feature", "age", "--feature", "dose"],
    "interaction-surface": ["--feature", "age", "--feature", "dose"],
    "waterfall": ["-d", "test.csv", "--row", "3"],
    "beeswarm": ["-d", "test.csv"],
    "diagonal": ["-d", "test.csv", "-m", "model.skops"],
    "potentials": ["-d", "test.csv", "-m", "model.skops"],
    "path": ["-d", "test.csv", "-m", "model.skops", "-n", "5"],
}
MAGIC = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_plot_is_drawn(ready, call_json, kind):
    ending = list(MAGIC)[list(KINDS).index(kind) % 3]
    answer = call_json("plot", kind, "poly.json", *ARGUMENTS.get(kind, []), "-o", f"f.{ending}")
    assert answer["kind"] == kind
    data = (ready / f"f.{ending}").read_bytes()
    assert data.startswith(MAGIC[ending])
    assert len(data) > 2000


def test_a_plot_of_one_output_is_another_than_that_of_all(ready, call):
    call("plot", "importance", "iris.json", "-o", "all.svg")
    call("plot", "importance", "iris.json", "--output-name", "setosa", "-n", 3, "-o", "one.svg")
    assert len((ready / "one.svg").read_bytes()) < len((ready / "all.svg").read_bytes())


def test_the_report_is_one_page_with_its_title(ready, call_json):
    answer = call_json(
        "report", "poly.json", "-m", "model.skops", "-d", "test.csv", "-t", "price",
        "--title", "Prices <here>", "-o", "page.html",
    )  # fmt: skip
    page = (ready / "page.html").read_text(encoding="utf-8")
    assert answer["n_rows"] == 60
    assert "Prices &lt;here&gt;" in page
    assert "Prices <here>" not in re.sub(r"<script.*?</script>", "", page, flags=re.S)


# --- demo and doctor -------------------------------------------------------------------------


def test_doctor_knows_what_is_installed(call_json):
    import onnx
    import torch

    answer = call_json("doctor")
    assert answer["nn2poly"] == n2p.__version__
    # A build for a device says so in the version alone, not in what is installed.
    assert answer["libraries"]["torch"].partition("+")[0] == torch.__version__.partition("+")[0]
    assert answer["libraries"]["onnx"] == onnx.__version__
    assert all(answer["formats"].values())


# --- help ------------------------------------------------------------------------------------


def examples():
    """List every example of every help, as (command, line)."""
    functions = {c.name: c.callback for c in build().registered_commands}
    lines = [
        (name, line.replace("\\[", "["))
        for name, function in functions.items()
        for line in function.epilog.splitlines()
        if "nn2poly" in line
    ]
    # These two write their own folders, and take their time.
    return [pair for pair in lines if pair[0] not in ("demo", "reproduce")]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_examples(call, name):
    out = call(name, "--help").stdout
    assert "Examples" in out
    assert f"nn2poly {name}" in out
    assert "--json" in out


@pytest.mark.parametrize(("name", "line"), examples())
def test_every_example_of_the_help_runs(ready, call, name, line):
    fed, _, typed = line.rpartition("| ")
    words = shlex.split(typed)
    assert words[:2] == ["nn2poly", name]
    if name == "convert":
        (ready / "poly.json").unlink()
        columns = ["age", "dose", "weight"]
        for file in ("train.csv", "rows.csv"):
            if words[2] != "model.skops":  # models that do not name their inputs
                pd.read_csv(file)[columns].to_csv(file, index=False)
    if "model.onnx" in words and name != "convert":
        # The polynomial of the other model would be another one, not a mistake of usage.
        call("convert", "model.onnx", "-d", "plain.csv", "--force")
    stdin = (ready / fed.split()[1]).read_bytes() if fed else None
    out = call(*words[1:], stdin=stdin)
    assert out.stdout.strip()


def test_json_is_one_document_with_the_version_and_remarks(ready, call):
    out = call("predict", "poly.json", "-d", "new.csv", "--json")
    document = json.loads(out.stdout)
    assert document["nn2poly"] == n2p.__version__
    assert document["notes"] == [
        "Columns 'id', 'price' of new.csv left out: no input of the network."
    ]
    assert set(document) >= {"command", "warnings", "rows"}


def test_a_warning_is_one_line_on_standard_error_and_in_the_document(ready, call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")  # of the terminal that a program around this one is in
    rows = pd.read_csv("new.csv").assign(age=1000.0)
    rows.to_csv("far.csv", index=False)
    out = call("predict", "poly.json", "-d", "far.csv", "--json")
    lines = [line for line in out.stderr.splitlines() if line.startswith("Warning: ")]
    assert len(lines) == 1
    assert "60 of 60 rows lie outside the range" in lines[0]
    assert json.loads(out.stdout)["warnings"] == [lines[0].removeprefix("Warning: ")]


def test_the_polynomial_of_the_demo_is_read_by_every_command(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    out = call("demo", "--folder", "trial")
    names = {path.name for path in (tmp_path / "trial").iterdir()}
    assert names == {
        "train.csv", "test.csv", "model.skops", "poly.json", "importance.png", "report.html",
    }  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["trial"]
    monkeypatch.chdir(tmp_path / "trial")
    typed = [line.strip() for line in out.stdout.splitlines() if line.startswith("  nn2poly")]
    assert len(typed) == 4
    for line in typed:
        call(*shlex.split(line)[1:])
    monkeypatch.chdir(tmp_path)
    again = call("demo", "--folder", "trial", code=1)
    assert "add --force" in again.stderr
    shutil.rmtree("trial")
