"""The page about explanations: its code runs, and prints the tables that it shows."""

from __future__ import annotations

import re
import warnings
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "explain.md"
BLOCKS = re.compile(r"^```python\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def runs():
    """Run the blocks in one namespace; give (code, text on the page, text printed)."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    namespace, found = {}, []
    with warnings.catch_warnings():
        # SHAP's own plots and imports warn; the explanations have tests of their own.
        warnings.simplefilter("ignore")
        for code, shown in BLOCKS.findall(PAGE.read_text(encoding="utf-8")):
            printed = StringIO()
            with redirect_stdout(printed):
                exec(compile(code, str(PAGE), "exec"), namespace)
            found.append((code, shown, printed.getvalue()))
    plt.close("all")
    return found


def test_every_block_of_the_page_runs(runs):
    assert len(runs) >= 8


def test_every_table_of_the_page_has_the_rows_that_are_printed(runs):
    """Names and layout; the last digits belong to the training of the day."""
    for code, shown, printed in runs:
        if shown:
            expected, found = ([line.split()[:1] for line in text.splitlines()]
                               for text in (shown, printed))  # fmt: skip
            assert len(found) == len(expected), code
            assert found[:4] == expected[:4], code


@pytest.mark.parametrize("name", ["shapley", "interactions", "sobol", "anova", "friedman_h", "ale"])
def test_every_question_has_a_section(name):
    headings = [
        line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("## ")
    ]
    assert any("?" in heading and f"`explain.{name}`" in heading for heading in headings)
