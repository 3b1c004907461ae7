"""A user's mistake gets a message with its remedy and exit code 1; nothing is half done."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.cli import command as commands
from nn2poly.cli.predict import _csv
from nn2poly.errors import StorageError
from nn2poly.files import replacing

CONVERT = ("convert", "model.skops", "-d", "train.csv")


def refused(call, *arguments, says, **options):
    """Expect exit code 1, no output, the words on standard error, and no traceback."""
    result = call(*arguments, code=1, **options)
    assert result.stdout == ""
    assert result.stderr.count("Error: ") == 1
    assert "Traceback" not in result.stderr
    for words in says:
        assert words in result.stderr, result.stderr
    return result


# --- models ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("modle.skops", ["There is no such file", "did you mean 'model.skops'?"]),
        (".", ["cannot be read", "a folder"]),
        ("train.csv", ["cannot be read as a model", "found: .csv", "--data"]),
        ("poly.h5", ["cannot be read as a model", "model.keras"]),
        ("model", ["no ending"]),
    ],
)
def test_a_file_that_is_no_model_is_refused(here, call, model, says):
    for name in ("poly.h5", "model"):
        (here / name).write_bytes(b"x")
    refused(call, "convert", model, says=says)


@pytest.mark.parametrize("ending", ["onnx", "keras", "skops", "pt2"])
@pytest.mark.parametrize("damage", ["cut", "noise", "empty"])
def test_a_damaged_model_is_refused_by_name(here, call, ending, damage):
    data = (here / f"model.{ending}").read_bytes()
    noise = np.random.default_rng(0).bytes(500)
    damaged = {"cut": data[: len(data) // 2], "noise": noise, "empty": b""}[damage]
    (here / f"bad.{ending}").write_bytes(damaged)
    refused(call, "convert", f"bad.{ending}", "-d", "plain.csv", says=[f"bad.{ending}"])
    assert not (here / "poly.json").exists()


@pytest.mark.parametrize("name", ["model.pkl", "model.joblib", "module.pt", "weights.pth"])
def test_a_pickle_needs_trust_and_the_message_says_why(here, call, name):
    refused(call, "convert", name, "-d", "plain.csv", says=["runs whatever code", "--trust"])


def test_weights_without_their_module_are_refused(here, call):
    refused(call, "convert", "weights.pth", "--trust", says=["state dict", "torch.export.save"])


def test_a_pickle_of_code_that_is_not_here_names_the_module(here, call):
    (here / "far.pkl").write_bytes(b"cno_such_package.nets\nNet\n.")
    refused(call, "convert", "far.pkl", "--trust", says=["'no_such_package'", "not installed here"])


SCRIPT = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.line = torch.nn.Linear(3, 1)

    def forward(self, x):
        return self.line(x)

torch.save(Net(), "net.pt")
program = torch.export.export(Net(), (torch.ones(2, 3),))
torch.export.save(program, "net.pt2")
"""


def test_a_class_that_cannot_be_imported_is_named_and_the_remedy_works(here, call):
    subprocess.run([sys.executable, "-c", SCRIPT], cwd=here, check=True, capture_output=True)
    says = ["class 'Net'", "cannot be imported", "torch.export.save", "model.onnx"]
    found = refused(call, "convert", "net.pt", "-d", "plain.csv", "--trust", says=says)
    assert "save the model again" not in found.stderr
    call("convert", "net.pt2", "-d", "plain.csv", "-o", "net.json")


def test_a_model_that_is_no_network_is_refused_by_its_kind(here, call):
    import skops.io
    from sklearn.linear_model import LinearRegression

    skops.io.dump(LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0]), here / "line.skops")
    refused(call, "convert", "line.skops", says=["LinearRegression", "cannot be read"])


# --- data ------------------------------------------------------------------------------------


def bad_table(here, name, text):
    (here / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


ROWS = "age,dose,weight\n31,0.5,70\n47,0.1,80\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", ["The data are empty"]),
        ("age,dose,weight\n", ["The data are empty", "0 rows"]),
        (ROWS.replace("dose", "dosee"), ["lack 1 column", "no 'dose'", "rename 'dosee' to 'dose'"]),
        (ROWS.replace(",", ";"), ["are not separated", "--sep ';'"]),
        (ROWS.replace(",", "\t"), ["are not separated", "--sep '\\t'"]),
        (ROWS + "1,2,3,4,5\n", ["cannot be read as CSV", "line 4"]),
        (ROWS.replace("0.1", "low"), ["'dose' (row 2: 'low')", "cannot be used as numbers"]),
        (ROWS.replace("0.1", ""), ["missing", "the first is row 2", "--skip-missing"]),
        (ROWS.replace("0.1", "inf"), ["infinite", "'dose'"]),
        ("31,0.5,70\n47,0.1,80\n", ["holds numbers in place of names"]),
        ('a;b\n"', ["cannot be read as CSV"]),
        ("größe,dose,weight\n1,2,3\n".encode("latin-1"), ["cannot be decoded", "--encoding"]),
        (ROWS.encode("utf-16"), ["--encoding utf-16"]),
    ],
)
def test_a_table_that_cannot_be_used_says_what_is_wrong_with_it(ready, call, text, says):
    name = bad_table(ready, "bad.csv", text)
    refused(call, "predict", "poly.json", "-d", name, says=[*says, "bad.csv"])
    stdin = text if isinstance(text, bytes) else text.encode()
    refused(call, "predict", "poly.json", "-d", "-", says=[*says, "standard input"], stdin=stdin)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--sep", ";", "--decimal", ","], ROWS.replace(",", ";").replace(".", ",")),
        (["--sep", "\\t"], ROWS.replace(",", "\t")),
        (["--encoding", "utf-16"], ROWS.encode("utf-16")),
        ([], "\ufeff" + ROWS),
        (["--drop", "note"], ROWS.replace("weight", "weight,note").replace("0\n", "0,x\n")),
    ],
)
def test_the_remedy_works(ready, call_json, options, text):
    name = bad_table(ready, "odd.csv", text)
    answer = call_json("predict", "poly.json", "-d", name, *options)
    plain = call_json("predict", "poly.json", "-d", bad_table(ready, "plain2.csv", ROWS))
    assert answer["rows"] == plain["rows"]


def test_a_decimal_comma_is_recognised(ready, call):
    name = bad_table(ready, "c.csv", ROWS.replace(",", ";").replace("0.", "0,"))
    refused(call, "predict", "poly.json", "-d", name, "--sep", ";", says=["--decimal ,"])


@pytest.mark.parametrize("ending", ["parquet", "feather", "arrow"])
def test_a_damaged_binary_table_is_refused(ready, call, ending):
    name = bad_table(ready, f"bad.{ending}", b"PAR1 this is no table")
    refused(call, "predict", "poly.json", "-d", name, says=["cannot be read as a table", name])


def test_an_unknown_format_of_a_table_lists_the_known_ones(ready, call):
    name = bad_table(ready, "table.xlsx", b"PK")
    refused(call, "predict", "poly.json", "-d", name, says=[".csv", ".parquet", "found: .xlsx"])


def test_a_target_that_is_not_there_is_named_with_the_nearest(ready, call):
    refused(call, *CONVERT, "-t", "prize", "-o", "p.json", says=["'prize'", "mean 'price'?"])
    refused(call, *CONVERT, "--drop", "idd", "-o", "p.json", says=["no column 'idd'"])


def test_too_many_columns_for_a_model_without_names(here, call):
    refused(call, "convert", "model.onnx", "-d", "train.csv", says=["3 columns", "--drop COL"])


def test_a_polynomial_of_another_network_is_refused(ready, call):
    says = ["does not belong to this network", "4 features and 3 outputs"]
    refused(call, "fidelity", "poly.json", "-m", "iris.skops", "-d", "iris.csv", says=says)


# --- options ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--order", "two"], ["--order", "'two'", "auto"]),
        (["--order", "0"], ["out of range"]),
        (["--order", "2.5"], ["'2.5'"]),
        (["--order", "999"], ["out of range"]),
        (["--method", "tailor"], ["did you mean 'taylor'?"]),
        (["--around", "9999"], ["1 to 240"]),
        (["--max-terms", "0"], ["--max-terms", "found: 0", "leave it out"]),
        (["--max-terms", "-3"], ["--max-terms", "found: -3"]),
        (["--max-terms", "9", "--around", "1"], ["leave --around or --max-terms out"]),
        (["--max-terms", "9", "--method", "taylor"], ["leave --method taylor or --max-terms out"]),
        (["--target-r2", "2", "--order", "auto"], ["between 0 and 1"]),
        (["-o", "p.jsn"], ["did you mean '.json'?"]),
    ],
)
def test_an_option_that_makes_no_sense_is_named(here, call, options, says):
    refused(call, *CONVERT, *options, says=says)


def test_auto_without_data_asks_for_data(here, call):
    refused(call, "convert", "model.onnx", "--order", "auto", says=["held-out rows", "data"])


def test_a_budget_of_terms_without_data_asks_for_data_in_words_of_the_command_line(here, call):
    says = ["--max-terms", "no --data", "add --data train.csv"]
    refused(call, "convert", "model.onnx", "--max-terms", "9", says=says)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["plot", "importence", "poly.json"], ["did you mean 'importance'?"]),
        (["plot", "diagonal", "poly.json"], ["--data FILE", "--model FILE"]),
        (["plot", "effects", "poly.json"], ["--feature NAME"]),
        (["plot", "effects", "poly.json", "--feature", "agee"], ["agee"]),
        (["plot", "waterfall", "poly.json", "-d", "test.csv", "--row", "99"], ["1 to 60"]),
        (["plot", "importance", "poly.json", "-o", "f.gif"], [".png"]),
        (["plot", "importance", "poly.json", "--output-name", "cost"], ["cost"]),
        (["export", "poly.json", "--to", "cobol"], ["Unknown language", "'sql'"]),
        (["export", "poly.json", "--to", "onnx"], ["is no text", "-o poly.onnx"]),
        (["show", "train.csv"], ["train.csv"]),
        (["show", "poly.json", "--output-name", "prices"], ["prices"]),
        (["predict", "poly.json", "-d", "new.csv", "--proba"], ["probabilities"]),
        (["predict", "poly.json", "-d", "new.csv", "--keep", "no"], ["'no' to keep"]),
    ],
)
def test_other_commands_name_what_is_wrong(ready, call, arguments, says):
    refused(call, *arguments, says=says)
    assert not list(ready.glob("*.png"))


def test_wrong_usage_is_code_2(call):
    assert "Missing" in call("convert", code=2).stderr
    assert "No such option" in call("show", "p.json", "--colour", code=2).stderr
    call("convrt", code=2)


# --- writing ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (CONVERT, "poly.json"),
        (("report", "poly.json", "-m", "model.skops", "-d", "test.csv"), "report.html"),
        (("plot", "importance", "poly.json"), "importance.png"),
        (("predict", "poly.json", "-d", "new.csv", "-o", "out.csv"), "out.csv"),
        (("export", "poly.json", "--to", "c", "-o", "poly.c"), "poly.c"),
    ],
)
def test_a_file_that_exists_is_overwritten_only_by_force(ready, call, arguments, name):
    before = (ready / name).read_bytes() if (ready / name).exists() else b"precious"
    (ready / name).write_bytes(before)
    refused(call, *arguments, says=["a file of this name", "--force"])
    assert (ready / name).read_bytes() == before
    if name != "poly.json":
        call(*arguments, "--force")
        assert (ready / name).read_bytes() != before


def test_a_folder_that_is_not_there_is_named(here, call):
    refused(call, *CONVERT, "-o", "no/such/p.json", says=["no such folder", "mkdir -p no/such"])
    refused(call, *CONVERT, "-o", ".", says=["no ending"])
    (here / "d.json").mkdir()
    refused(call, *CONVERT, "-o", "d.json", says=["a folder"])


def test_nothing_is_left_behind_when_writing_fails(tmp_path):
    def half():
        with replacing(target) as path:
            path.write_text("half")
            raise OSError(28, "No space left on device")

    target = tmp_path / "out.csv"
    target.write_text("old")
    with pytest.raises(StorageError, match="No space left"):
        half()
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("out.csv", "old")]


def test_what_is_written_follows_the_umask(ready, call):
    old = os.umask(0o027)
    try:
        call("export", "poly.json", "--to", "c", "-o", "poly.c")
    finally:
        os.umask(old)
    assert (ready / "poly.c").stat().st_mode & 0o777 == 0o640


# --- the form of an error --------------------------------------------------------------------


def test_an_error_is_a_json_document_with_json(here, call):
    out = call("convert", "model.pkl", "--json", code=1)
    document = json.loads(out.stdout)
    assert document["exit_code"] == 1
    assert "pickle" in document["error"]["what"]
    assert set(document["error"]) == {"what", "where", "expected", "found", "remedy"}


def test_debug_shows_the_traceback_of_a_mistake(here, call):
    out = call("show", "nothing.json", "--debug", code=1)
    assert "Traceback" in out.stderr
    assert "There is no such file" in out.stderr


@commands.command(("fail", "nn2poly fail"))
def fail(kind: str) -> commands.Answer:
    """Raise what it is told to."""
    raise FAILURES[kind]


FAILURES = {
    "bug": ZeroDivisionError("division"),
    "stop": KeyboardInterrupt(),
    "library": ModuleNotFoundError("no", name="matplotlib.figure"),
    "memory": MemoryError("1 TB"),
    "disk": OSError(28, "No space left", "x.json"),
}


@pytest.mark.parametrize(
    ("kind", "code", "says"),
    [
        ("bug", 70, ["this is a bug", "ZeroDivisionError: division", "--debug"]),
        ("stop", 130, ["Stopped."]),
        ("library", 1, ["pip install 'nn2poly[plots]'"]),
        ("memory", 1, ["not enough memory"]),
        ("disk", 1, ["No space left", "x.json"]),
    ],
)
def test_each_kind_of_failure_has_its_exit_code(capsys, kind, code, says):
    import typer

    with pytest.raises(typer.Exit) as caught:
        fail(kind=kind, as_json=False, debug=False)
    assert caught.value.exit_code == code
    text = capsys.readouterr().err
    assert "Traceback" not in text
    assert all(words in text for words in says)


def test_a_polynomial_that_was_changed_is_refused(ready, call):
    text = (ready / "poly.json").read_text().replace('"price"', '"prize"')
    (ready / "poly.json").write_text(text)
    refused(call, "show", "poly.json", says=["damaged or changed", "poly.json"])


def test_a_polynomial_of_many_features_and_outputs_is_shown(tmp_path, call):
    rng = np.random.default_rng(0)
    names = [f"feature number {k} with a name of sixty characters or so, {k}" for k in range(54)]
    wide = n2p.Polynomial(rng.normal(size=(1540, 7)), 2, names, scale=2.0)
    wide.save(tmp_path / "wide.npz")
    out = call("show", tmp_path / "wide.npz", "-n", 5).stdout
    assert "54 features, order 2, 1,540 terms, 7 outputs" in out
    shutil.rmtree(tmp_path)


def test_text_that_a_spreadsheet_would_run_is_neutralised():
    import pandas

    frame = pandas.DataFrame({"=1+1": [1.0], "label": ["=cmd()"], "n": ["-5"], "x": [-2.0]})
    assert _csv(frame) == "'=1+1,label,n,x\n1.0,'=cmd(),-5,-2.0\n"
