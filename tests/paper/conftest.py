"""The quick versions, run once for all tests, and the Covertype files where there are some."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from nn2poly_paper import reproduce


def pytest_itemcollected(item):
    """Mark what waits for whole runs as slow."""
    if {"quick", "covertype_files"} & set(getattr(item, "fixturenames", ())):
        item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def quick(tmp_path_factory):
    """Run all quick versions: the folder, outcomes by name, and what was reported."""
    folder, lines = tmp_path_factory.mktemp("quick"), []
    outcomes = reproduce(
        ["all"], quick=True, out=folder, jobs=2, report=lambda *line: lines.append(line)
    )
    return SimpleNamespace(folder=folder, outcomes={o.name: o for o in outcomes}, lines=lines)


@pytest.fixture(scope="session")
def covertype_files():
    """Give the published weights and the rows, which are not part of this repository."""
    default = Path(__file__).resolve().parents[3] / "shared" / "data"
    folder = Path(os.environ.get("NN2POLY_COVERTYPE_DIR", default))
    network, data = folder / "covertype_network.npz", folder / "covtype.csv.gz"
    if not (network.exists() and data.exists()):
        pytest.skip("Covertype files not found; set NN2POLY_COVERTYPE_DIR to their folder")
    return SimpleNamespace(network=network, data=data)
