"""The folder of results: whole files, clear refusals."""

import os
from pathlib import Path

import pytest

from nn2poly_paper.store import ResultsError, Store, fingerprint

NOBODY = 65534


def leftovers(folder):
    return [p.name for p in Path(folder).rglob(".*") if p.name not in (".gitignore", ".units")]


@pytest.fixture
def as_nobody(tmp_path):
    """Drop root's right to write everywhere."""
    if os.geteuid():
        yield
        return
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == 0 and folder != Path("/"):
            mode = folder.stat().st_mode
            if not mode & 0o001:
                folder.chmod(mode | 0o011)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_table_keeps_what_it_was_given(tmp_path):
    store = Store(tmp_path / "deep" / "er")
    store.write_table("t", [{"a": 1.23456789123, "b": None, "c": True, "d": 'x "2", y'}])
    assert store.read_table("t") == [{"a": "1.2345679", "b": "", "c": "yes", "d": 'x "2", y'}]
    assert leftovers(tmp_path) == []


def test_equal_tables_are_equal_files(tmp_path):
    rows = [{"x": 0.1 + 0.2, "y": 1e-300}]
    for name in ("one", "two"):
        Store(tmp_path).write_table(name, rows)
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    assert b"\r" not in (tmp_path / "one.csv").read_bytes()


def test_a_read_only_folder_is_refused_before_any_work(tmp_path, as_nobody):
    folder = tmp_path / "results"
    os.seteuid(0) if os.getuid() == 0 else None
    folder.mkdir(mode=0o555)
    os.seteuid(NOBODY) if os.getuid() == 0 else None
    with pytest.raises(ResultsError, match="cannot be written") as caught:
        Store(folder).check()
    assert "--out DIR" in str(caught.value)
    assert list(folder.iterdir()) == []


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "results").write_text("mine")
    with pytest.raises(ResultsError, match="cannot be written"):
        Store(tmp_path / "results").check()
    assert (tmp_path / "results").read_text() == "mine"


def test_a_file_that_cannot_be_replaced_leaves_nothing_behind(tmp_path):
    (tmp_path / "t.csv" / "in the way").mkdir(parents=True)
    with pytest.raises(ResultsError):
        Store(tmp_path).write_table("t", [{"a": 1}])
    assert leftovers(tmp_path) == []


def test_a_missing_table_says_how_to_make_it(tmp_path):
    with pytest.raises(ResultsError, match="nn2poly reproduce"):
        Store(tmp_path).read_table("boston_mse")


def test_a_damaged_unit_is_not_taken_for_a_result(tmp_path):
    store = Store(tmp_path)
    store.write_unit("demo", "a", {"fingerprint": "f", "result": {"x": 1}})
    path = tmp_path / ".units" / "demo" / "a.json"
    path.write_text(path.read_text()[:10])
    with pytest.raises(ResultsError, match="delete the file"):
        store.read_unit("demo", "a", "f")


def test_a_unit_of_other_settings_does_not_count(tmp_path):
    store = Store(tmp_path)
    store.write_unit("demo", "a", {"fingerprint": "f", "result": {}})
    assert store.read_unit("demo", "a", "f") is not None
    assert store.read_unit("demo", "a", "g") is None
    assert store.read_unit("demo", "b", "f") is None


def test_units_stay_out_of_version_control(tmp_path):
    Store(tmp_path).write_unit("demo", "a", {"fingerprint": "f"})
    assert (tmp_path / ".units" / ".gitignore").read_text() == "*\n"


def test_the_record_adds_up(tmp_path):
    store = Store(tmp_path)
    store.write_record("b", {"seed": 1})
    store.write_record("a", {"seed": 2})
    assert store.read_record() == {"a": {"seed": 2}, "b": {"seed": 1}}


def test_a_fingerprint_sees_every_setting():
    task = {"seed": 1, "hidden": (3, 3)}
    assert fingerprint(task) == fingerprint({"hidden": [3, 3], "seed": 1})
    assert fingerprint(task) != fingerprint({**task, "seed": 2})
