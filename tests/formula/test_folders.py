"""A folder goes from one content to the next in one step, whatever happens on the way."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.errors import StorageError
from nn2poly.formula import archives, folders

OLD = n2p.Polynomial([[1.0], [2.0]], 1, ["a"])
NEW = n2p.Polynomial(np.arange(6.0)[:, None], 2, ["a", "b"])


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def content(path):
    return n2p.load(path).coefficients.ravel().tolist()


OLD_VALUES, NEW_VALUES = [1.0, 2.0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


class Killed(BaseException):
    """Stands for the end of the process: nothing is caught, nothing cleaned up."""


# Every step of a save that changes something on the disk.
STEPS = [(Path, "replace"), (Path, "chmod"), (Path, "mkdir"), (os, "fsync"), (Path, "unlink")]


@pytest.mark.parametrize(
    "error", [OSError(5, "Input/output error"), Killed()], ids=["error", "kill"]
)
@pytest.mark.parametrize(("owner", "step"), STEPS, ids=lambda x: getattr(x, "__name__", x))
def test_whatever_step_fails_the_old_or_the_new_content_is_there(
    tmp_path, monkeypatch, owner, step, error
):
    real, failures = getattr(owner, step), 0
    for at in range(12):
        path = OLD.save(tmp_path / f"poly{at}")
        calls = iter(range(100))

        def failing(*args, calls=calls, at=at, **options):
            if next(calls) == at:
                raise error
            return real(*args, **options)

        with monkeypatch.context() as patch:
            patch.setattr(owner, step, failing)
            if isinstance(error, Killed):  # a process that is killed removes nothing
                patch.setattr(folders.shutil, "rmtree", lambda *args, **options: None)
            try:
                NEW.save(path)
            except StorageError:
                failures += 1
                assert content(path) == OLD_VALUES
            except Killed:
                failures += 1
        assert content(path) in (OLD_VALUES, NEW_VALUES)
        assert content(NEW.save(path)) == NEW_VALUES
        assert len(names_in(path)) == 2  # what the failure left is gone
    assert failures or step == "unlink"


def test_a_reader_whose_content_is_replaced_reads_the_new_one(tmp_path, monkeypatch):
    path = OLD.save(tmp_path / "poly")
    real, calls = archives.read_header, iter(range(100))

    def replaced_meanwhile(manifest, key):
        if next(calls) == 0:
            NEW.save(path)
        return real(manifest, key)

    monkeypatch.setattr(archives, "read_header", replaced_meanwhile)
    assert content(path) == NEW_VALUES


def test_a_content_of_version_1_is_replaced(tmp_path):
    path = OLD.save(tmp_path / "poly")
    inner = next(path.glob("arrays-*"))
    manifest = (path / "manifest.json").read_text()
    (path / "manifest.json").write_text(manifest.replace(f'"arrays": "{inner.name}",', ""))
    for file in inner.iterdir():
        file.rename(path / file.name)
    inner.rmdir()
    assert content(path) == OLD_VALUES
    assert content(NEW.save(path)) == NEW_VALUES
    assert len(names_in(path)) == 2


@pytest.mark.parametrize("name", ["..", "arrays-", "/etc", "arrays-0123456789abcdef/..", 5, []])
def test_a_manifest_that_leads_elsewhere_is_refused(tmp_path, name):
    path = OLD.save(tmp_path / "poly")
    inner = next(path.glob("arrays-*")).name
    manifest = (path / "manifest.json").read_text()
    text = f'"{name}"' if isinstance(name, str) else str(name)
    (path / "manifest.json").write_text(manifest.replace(f'"{inner}"', text))
    with pytest.raises(StorageError, match="damaged"):
        n2p.load(path)


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX's")
def test_a_private_folder_stays_private(tmp_path):
    path = OLD.save(tmp_path / "poly")
    (path / "manifest.json").chmod(0o600)
    NEW.save(path)
    files = [file for file in path.rglob("*") if file.is_file()]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
