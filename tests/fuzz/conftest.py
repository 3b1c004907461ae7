"""How many files are tried: a few in the tests, many with `make fuzz`, which prints the counts."""

import os
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings
from mutations import peak_bytes

# In the tests; `make fuzz` asks for 20,000 and more.
COUNT = int(os.environ.get("FUZZ_EXAMPLES", "15"))
settings.register_profile("fuzz", derandomize=True, deadline=None, max_examples=COUNT)
_tally = {}


@pytest.fixture
def tally(request):
    """Count outcomes by their names; they are printed when the run ends."""
    return _tally.setdefault(request.node.name, Counter())


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


def pytest_terminal_summary(terminalreporter):
    if "FUZZ_EXAMPLES" not in os.environ:
        return
    terminalreporter.section("files tried")
    for name, counts in sorted(_tally.items()):
        outcomes = ", ".join(f"{outcome} {count:,}" for outcome, count in sorted(counts.items()))
        terminalreporter.write_line(f"{name}: {sum(counts.values()):,} ({outcomes})")
    terminalreporter.write_line(f"peak memory of the process: {peak_bytes() / 1e9:.2f} GB")
