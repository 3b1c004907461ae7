"""Folders that change from one content to the next in a single step.

A folder holds ``manifest.json`` and, in a folder of their own named ``arrays-…``, the arrays. The
manifest names that inner folder. A new content is written beside the old one; then the manifest
alone is replaced, which every system does in one step. So a reader, or a kill at any moment,
finds the old content or the new one.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nn2poly.files import check_path, unwritten

if sys.platform != "win32":  # there, writers of one folder at the same time leave more behind
    import fcntl

MANIFEST = "manifest.json"
ARRAYS = re.compile(r"arrays-[0-9a-f]{16}")


@contextmanager
def new_content(target: Path) -> Iterator[tuple[Path, str]]:
    """Give an empty folder, and the name of the one in it for the arrays; then switch to it.

    Raises
    ------
    StorageError
        When the system refuses; the target is then as it was.
    """
    check_path(target)
    temporary = None
    try:
        if target.exists() and not is_content(target) and _occupied(target):
            raise FileExistsError(None, "something else is there")
        temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
        content, name = temporary / "new", f"arrays-{secrets.token_hex(8)}"
        (content / name).mkdir(parents=True)
        yield content, name
        _flush(content)
        _switch(content, name, target)
    except OSError as error:
        raise unwritten(target, error) from error
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def is_content(folder: Path) -> bool:
    """Tell whether a path is a folder of this kind."""
    return (folder / MANIFEST).is_file()


def _occupied(target: Path) -> bool:
    return not target.is_dir() or any(target.iterdir())


def _switch(content: Path, name: str, target: Path) -> None:
    if not is_content(target):
        try:
            content.replace(target)  # an empty folder may be there
        except OSError:
            # Another writer was quicker: its content is the old one now.
            if not is_content(target):
                raise
        else:
            _flush_folder(target.parent)
            return
    with _locked(target) as alone:
        old = target / MANIFEST
        _take_modes(content, old)
        before = set(_inner(target))
        (content / name).replace(target / name)
        _flush_folder(target)
        (content / MANIFEST).replace(old)
        _flush_folder(target)
        if alone:
            _remove(before)


def _take_modes(content: Path, old: Path) -> None:
    """Give the new files the mode of the manifest that they replace: a private one stays so."""
    mode = stat.S_IMODE(old.stat().st_mode)
    for path in _files(content):
        path.chmod(mode)


def _inner(target: Path) -> Iterator[Path]:
    """Walk what earlier contents, or writers that were killed, left in a folder."""
    for path in target.iterdir():
        if ARRAYS.fullmatch(path.name) or re.fullmatch(r"a\d+\.npy", path.name):
            yield path


def _remove(paths: set[Path]) -> None:
    """Remove as far as possible: a file in use stays until the next content is written."""
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()


@contextmanager
def _locked(target: Path) -> Iterator[bool]:
    """Let one writer at a time switch and clean up; say whether the system can promise that."""
    if sys.platform == "win32":
        yield False
        return
    handle = os.open(target, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            alone = True
        except OSError:  # some network disks know no locks
            alone = False
        yield alone
    finally:
        os.close(handle)


def _files(content: Path) -> list[Path]:
    return [path for path in content.rglob("*") if path.is_file()]


def _flush(content: Path) -> None:
    for path in _files(content):
        with path.open("rb+") as file:
            os.fsync(file.fileno())
    for inner in (*content.iterdir(), content):
        if inner.is_dir():
            _flush_folder(inner)


def _flush_folder(folder: Path) -> None:
    """Ask that names in a folder survive a loss of power, where the system can be asked."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            with suppress(OSError):
                os.fsync(handle)
        finally:
            os.close(handle)
