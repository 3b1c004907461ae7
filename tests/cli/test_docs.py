"""Every command that the documentation shows runs, in its order."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from nn2poly.cli.app import COMMANDS
from nn2poly.cli.plot import KINDS

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"


def typed():
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)
    return [line for block in blocks for line in block.splitlines()]


def test_every_command_of_the_page_runs_in_its_order(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    lines = typed()
    assert len(lines) > 15
    for line in lines:
        if line.startswith("cd "):
            monkeypatch.chdir(line.split()[1])
            continue
        fed, _, command = line.rpartition("| ")
        stdin = Path(fed.split()[1]).read_bytes() if fed else None
        assert call(*shlex.split(command)[1:], stdin=stdin).stdout.strip()


@pytest.mark.parametrize("name", [*COMMANDS, *KINDS])
def test_the_page_names_every_command_and_kind_of_plot(name):
    assert name in PAGE.read_text(encoding="utf-8")
