"""Units of work: side by side, kept, resumed."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from nn2poly.errors import InvalidInputError
from nn2poly_paper.store import Store
from nn2poly_paper.work import Unit, Work

UNITS = [Unit(f"u{x}", {"x": x}) for x in range(5)]
EXPECTED = [{"x": x} for x in range(5)]


def test_results_come_in_the_order_of_the_units(tmp_path):
    assert Work(Store(tmp_path), jobs=1).each("demo", dict, UNITS) == EXPECTED


def test_processes_give_the_same_results(tmp_path):
    assert Work(Store(tmp_path), "loky", 2).each("demo", dict, UNITS) == EXPECTED


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_results(tmp_path):
    """In a process of its own: a cluster starts others, which import its main module."""
    code = f"""
from pathlib import Path
from nn2poly_paper.store import Store
from nn2poly_paper.work import Unit, Work
if __name__ == "__main__":
    units = [Unit(f"u{{x}}", {{"x": x}}) for x in range(5)]
    print(Work(Store(Path({str(tmp_path)!r})), "dask", 2).each("demo", dict, units))
"""
    script = tmp_path / "cluster.py"
    script.write_text(code)
    run = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=True
    )
    assert run.stdout.strip() == str(EXPECTED), run.stderr


def test_what_is_finished_survives_a_failure_and_is_not_done_again(tmp_path):
    work = Work(Store(tmp_path), jobs=1)
    with pytest.raises(TypeError):
        work.each("demo", dict, [*UNITS[:2], Unit("bad", {1: "no name"}), *UNITS[2:]])
    seen = []
    again = Work(Store(tmp_path), jobs=1, report=lambda *line: seen.append(line))
    assert again.each("demo", dict, UNITS) == EXPECTED
    assert seen[0] == ("demo", 2, 5, "")
    assert [line[3] for line in seen[1:]] == ["u2", "u3", "u4"]


def test_other_arguments_are_computed_again(tmp_path):
    work = Work(Store(tmp_path), jobs=1)
    work.each("demo", dict, [Unit("a", {"x": 7})])
    assert work.each("demo", dict, [Unit("a", {"x": 8})]) == [{"x": 8}]


def test_an_unknown_backend_is_named(tmp_path):
    with pytest.raises(InvalidInputError, match="Unknown backend"):
        Work(Store(tmp_path), "spark")


# A run that is started in the background of a shell would ignore the signal.
SCRIPT = """
import signal
import sys
from pathlib import Path
from nn2poly_paper.boston import Settings, run
from nn2poly_paper.ensembles import Training
from nn2poly_paper.store import Store
from nn2poly_paper.work import Work

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    settings = Settings(Training((8,), epochs=int(sys.argv[2]), networks=2, order=1))
    store = Store(Path(sys.argv[1]))
    for name, rows in run(settings, Work(store, jobs=int(sys.argv[3]))).tables.items():
        store.write_table(name, rows)
"""


@pytest.mark.slow
@pytest.mark.study
def test_an_interrupted_run_goes_on_and_ends_with_the_same_tables(tmp_path):
    script = tmp_path / "run.py"
    script.write_text(SCRIPT)
    broken, whole = tmp_path / "broken", tmp_path / "whole"

    def command(folder, jobs):
        return [sys.executable, str(script), str(folder), "150", jobs]

    process = subprocess.Popen(command(broken, "2"), stderr=subprocess.PIPE, start_new_session=True)
    units = broken / ".units" / "boston"
    while not (units.exists() and any(units.glob("[!.]*.json"))):
        assert process.poll() is None, process.stderr.read().decode()
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=100)
    kept = sorted(units.glob("[!.]*.json"))
    assert 1 <= len(kept) < 4
    assert all(json.loads(path.read_text())["result"] for path in kept)
    assert not list(broken.glob("*.csv"))
    before = {path: path.stat().st_mtime_ns for path in kept}
    for folder in (broken, whole):
        subprocess.run(command(folder, "1"), check=True, capture_output=True, timeout=300)
    assert {path: path.stat().st_mtime_ns for path in kept} == before
    tables = sorted(path.name for path in whole.glob("*.csv"))
    assert len(tables) == 3
    for name in tables:
        assert (broken / name).read_bytes() == (whole / name).read_bytes()
