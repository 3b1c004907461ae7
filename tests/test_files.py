"""Files are written whole, with the mode that they should have, and nothing else changes."""

from __future__ import annotations

import os
import stat
import threading

import pytest

from nn2poly.errors import StorageError
from nn2poly.files import replacing, write_whole

pytestmark = pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX's")


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask():
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o666, 0o400])
def test_what_replaces_a_file_has_its_mode(tmp_path, mode):
    path = tmp_path / "a.txt"
    path.touch()
    path.chmod(mode)
    write_whole(path, b"new")
    assert mode_of(path) == mode
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0, 0o666)])
def test_a_new_file_follows_the_umask(tmp_path, umask, mask, mode):
    umask(mask)
    assert mode_of(write_whole(tmp_path / "a.txt", b"new")) == mode


def test_the_umask_of_the_process_is_never_touched(tmp_path, monkeypatch):
    """Another thread would make files that anybody may write."""
    monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the umask was changed"))
    write_whole(tmp_path / "a.txt", b"new")


def test_files_of_other_threads_keep_their_mode(tmp_path, umask):
    umask(0o077)
    done, modes = threading.Event(), set()

    def others():
        while not done.is_set():
            path = tmp_path / "other"
            path.touch()
            modes.add(mode_of(path))
            path.unlink()

    thread = threading.Thread(target=others)
    thread.start()
    for _ in range(200):
        write_whole(tmp_path / "a.txt", b"new")
    done.set()
    thread.join()
    assert modes == {0o600}


def test_a_private_file_is_private_while_it_is_replaced(tmp_path):
    path = tmp_path / "a.txt"
    path.touch()
    path.chmod(0o600)
    with replacing(path) as temporary:
        assert mode_of(temporary) == 0o600
        temporary.write_text("secret")


def test_an_error_leaves_the_file_and_nothing_beside_it(tmp_path):
    path = write_whole(tmp_path / "a.txt", b"old")
    with pytest.raises(StorageError, match="nothing was changed"), replacing(path):
        raise OSError(28, "No space left on device")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.txt"]
