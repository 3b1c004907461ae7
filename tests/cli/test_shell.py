"""The installed script, as a user types it: a fresh shell, real files, pipes and exit codes."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import time

import pandas as pd
import pytest

import nn2poly as n2p
from nn2poly.cli import LIBRARIES


def test_the_whole_path_from_a_model_to_a_report(here, shell):
    """Convert, check, draw, report, predict and export, in one shell."""
    run = shell(
        "set -e; nn2poly convert model.onnx -d train.csv -t price --drop id --order auto;"
        "nn2poly fidelity poly.json --model model.onnx --data test.csv --json > card.json;"
        "nn2poly report poly.json -m model.onnx -d test.csv -t price -o report.html;"
        "nn2poly plot importance poly.json -o importance.pdf;"
        "nn2poly predict poly.json -d - -o out.csv < new.csv;"
        "nn2poly export poly.json --to c -o poly.c; nn2poly show poly.json -n 3",
        here,
    )
    assert run.returncode == 0, run.stderr
    assert json.loads((here / "card.json").read_text())["card"]["r2"] > 0.98
    assert len(pd.read_csv(here / "out.csv")) == 60
    for name in ("report.html", "importance.pdf", "poly.c"):
        assert (here / name).stat().st_size > 200
    assert "largest of" in run.stdout


@pytest.mark.parametrize("model", ["model.pt2", "model.keras"])
def test_frameworks_are_read_in_a_fresh_shell(here, shell, model):
    """Without KERAS_BACKEND in the environment."""
    run = shell(f"nn2poly convert {model} -d - --json < plain.csv", here)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["features"] == ["age", "dose", "weight"]
    assert "Traceback" not in run.stderr


def test_a_pipe_that_closes_early_is_no_error(ready, shell):
    rows = pd.concat([pd.read_csv(ready / "new.csv")] * 2000)
    rows.to_csv(ready / "many.csv", index=False)
    run = shell("nn2poly predict poly.json -d many.csv | head -n 1", ready)
    assert run.stdout == "price\n"
    assert run.returncode == 141
    assert "Error" not in run.stderr
    assert "Traceback" not in run.stderr
    assert "Exception" not in run.stderr


@pytest.mark.parametrize(
    "line",
    [
        "show poly.json",
        "show poly.json --json",
        "predict poly.json -d new.csv",
        "export poly.json --to c",
    ],
)
def test_a_closed_output_is_no_error(ready, shell, line):
    run = shell(f"nn2poly {line} >&-", ready)
    assert run.returncode == 0, run.stderr
    assert "Error" not in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_named(ready, shell):
    (ready / "locked").mkdir(mode=0o500)
    run = shell("nn2poly export poly.json --to c -o locked/poly.c", ready)
    assert run.returncode == 1
    assert "no permission" in run.stderr


def test_a_system_file_cannot_be_written_even_by_root(ready, shell):
    run = shell("nn2poly export poly.json --to c -o /proc/poly.c", ready)
    assert run.returncode == 1
    assert "cannot be written" in run.stderr
    assert "Traceback" not in run.stderr


def test_mistakes_and_usage_have_their_exit_codes(here, shell):
    run = shell("nn2poly convert nothing.onnx; echo $?; nn2poly convert; echo $?", here)
    assert run.stdout.split() == ["1", "2"]
    assert "There is no such file." in run.stderr
    assert "Traceback" not in run.stderr


def test_a_terminal_of_80_columns_gets_lines_that_fit(ready):
    """In a pseudo-terminal, where Rich wraps and colours."""
    lines = on_a_terminal(["show", "iris.json", "-n", "4"], ready)
    assert any("petal length" in line for line in lines)
    assert max(map(len, lines)) <= 80


def test_progress_is_shown_on_a_terminal(here):
    text = "\n".join(on_a_terminal(["convert", "model.skops", "-d", "train.csv"], here))
    assert "reading the model" in text
    assert "Wrote poly.json" in text


def on_a_terminal(arguments, folder):
    """Run in a pseudo-terminal of 80 columns; give the lines without their escapes."""
    code = "import sys; from nn2poly.cli import main; sys.argv[0] = 'nn2poly'; main()"
    main, other = pty.openpty()
    env = {**os.environ, "COLUMNS": "80", "TERM": "xterm-256color"}
    run = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=folder, stdin=other, stdout=other, stderr=other, env=env,
    )  # fmt: skip
    os.close(other)
    data = b""
    while True:
        try:
            piece = os.read(main, 65536)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        data += piece
    os.close(main)
    assert run.wait(timeout=60) == 0, data.decode()
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", data.decode())
    return re.split(r"[\r\n]+", text)


def test_a_name_that_the_terminal_cannot_write_is_escaped(tmp_path, shell):
    n2p.Polynomial([[1.0], [2.0]], 1, ["größe 身長"]).save(tmp_path / "p.json")
    for options in ("", " --json"):
        run = shell(f"nn2poly show p.json{options}", tmp_path, env={"PYTHONIOENCODING": "ascii"})
        assert run.returncode == 0, run.stderr
        assert r"gr\xf6\xdfe" in run.stdout or r"gr\u00f6" in run.stdout


def test_the_module_is_the_command(shell, tmp_path):
    run = shell(f"{sys.executable} -m nn2poly --version; nn2poly --version", tmp_path)
    first, second = run.stdout.splitlines()
    assert first == second
    assert re.fullmatch(r"nn2poly \d+\.\d+\.\d+(\.dev\d+)?", first)


@pytest.mark.parametrize("library", ["typer", "rich"])
def test_without_its_libraries_the_command_says_how_to_install_them(shell, tmp_path, library):
    assert library in LIBRARIES
    block = f"import sys; sys.modules[{library!r}] = None; from nn2poly.cli import main; main()"
    run = shell(f'{sys.executable} -c "{block}"', tmp_path)
    assert run.returncode == 1
    assert "pip install 'nn2poly[cli]'" in run.stderr
    assert "Traceback" not in run.stderr


def test_help_is_quick_and_loads_no_framework(tmp_path):
    code = (
        "import sys, contextlib\n"
        "from nn2poly.cli.app import build\n"
        "with contextlib.suppress(SystemExit):\n"
        "    build()(['--help'])\n"
        "heavy = {'pandas', 'torch', 'sklearn', 'matplotlib', 'jinja2', 'onnx', 'keras', 'sympy'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    begin = time.process_time(), os.times().children_user
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert run.stderr == "[]\n"
    # Processor time, not the clock: a busy machine is not a slow program.
    assert os.times().children_user - begin[1] < 1.0
