"""Every example runs as a user would run it, without a warning, and says how far to trust it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs(script, tmp_path):
    environment = {
        **os.environ,
        "KERAS_BACKEND": "torch",
        "KERAS_HOME": str(tmp_path),
        "OMP_NUM_THREADS": "1",  # two that wait for each other took up to five times as long
    }
    run = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    # A regression is told in units of its range, a classifier in labels.
    assert "follows the network to within" in run.stdout or "labels agree on" in run.stdout
    assert not [line for line in run.stderr.splitlines() if "Warning" in line], run.stderr


def test_there_is_an_example_for_every_front_end():
    names = {path.stem for path in EXAMPLES}
    assert {"demo", "from_sklearn", "from_torch", "from_keras", "from_onnx"} <= names
