"""What commands print on a terminal, or write for a spreadsheet, is text and nothing else."""

from __future__ import annotations

import io
import sys
import unicodedata

import numpy as np
import pandas as pd
import pytest

import nn2poly as n2p
from nn2poly.cli.command import Answer, _print, _Remarks
from nn2poly.cli.predict import RUN_BY_SPREADSHEETS, _csv

HOSTILE = ["a\x1b[31mred\u202egnp", "b\x07\u2066c"]
LANGUAGES = ("sql", "sympy", "python", "c", "javascript", "latex", "excel")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def steering(text):
    return [c for c in text if unicodedata.category(c) in ("Cc", "Cf") and c != "\n"]


@pytest.mark.parametrize("to", LANGUAGES)
def test_an_export_on_a_terminal_does_not_steer_it(to, monkeypatch):
    """Version 0.1 passed escapes and marks that turn text round."""
    poly = n2p.Polynomial([[1.0], [2.0], [3.0]], 1, HOSTILE)
    source = n2p.export.LANGUAGES[to].content(poly)
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    _print(Answer({}, raw=str(source)), "export", False, _Remarks())
    assert not steering(screen.getvalue())


@pytest.mark.parametrize("first", RUN_BY_SPREADSHEETS)
def test_no_header_and_no_text_of_a_csv_begins_as_a_formula_does(first):
    name = f"{first}cmd()"
    frame = pd.DataFrame({name: [1.0], "label": [name], "n": np.array([-5])})
    read = pd.read_csv(io.StringIO(_csv(frame)), keep_default_na=False)
    for text in (read.columns[0], read["label"][0]):
        assert text.startswith("'")
    assert read["n"][0] == -5


def test_a_carriage_return_in_a_name_begins_no_row():
    """What follows it would be the first cell of a row: a formula without an apostrophe."""
    text = _csv(pd.DataFrame({"x\r=cmd()": [1.0], "label": ["y\r\n=cmd()"]}))
    read = pd.read_csv(io.StringIO(text))
    assert read.shape == (1, 2)
    assert "\r" not in text
