"""Files: written whole or not at all; read when they are regular and their content fits."""

from __future__ import annotations

import os
import secrets
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from nn2poly.errors import StorageError
from nn2poly.memory import FILE_MEMORY, file_allowance, human_bytes


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Give a temporary path beside the target, which takes its place when all went well.

    The ending is the target's: some writers choose their format by it.

    Raises
    ------
    StorageError
        When the system refuses; the target is then as it was.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder) / "a.txt"
    ...     with replacing(target) as path:
    ...         _ = path.write_text("whole")
    ...     target.read_text()
    'whole'
    """
    check_path(target)
    temporary = None
    try:
        mode = _mode(target)
        temporary = _new_file(target, 0o666 if mode is None else 0o600)
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(target)
    except OSError as error:
        raise unwritten(target, error) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _mode(target: Path) -> int | None:
    """Give the mode of the file that is replaced, None where there is none."""
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        return None


def _new_file(target: Path, mode: int) -> Path:
    """Make an empty file beside the target.

    The system takes its umask, or what the folder prescribes, off the mode: nothing of the
    process changes, as it would to ask for the umask.
    """
    flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
    while True:
        name = f".{target.stem[:40]}.{secrets.token_hex(8)}{target.suffix}"
        path = target.parent / name
        try:
            os.close(os.open(path, flags, mode))
        except FileExistsError:
            continue
        return path


def write_whole(target: Path, data: bytes) -> Path:
    """Write a file whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "a.txt", b"whole").read_text()
    'whole'
    """
    with replacing(target) as path:
        path.write_bytes(data)
    return target


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file to read: a pipe would wait for ever, a device may never end.

    Raises
    ------
    StorageError
        For anything else that has a name.
    OSError
        When there is none, or it may not be read.

    Examples
    --------
    >>> open_regular(Path("/dev/null"))
    Traceback (most recent call last):
    ...
    nn2poly.errors.StorageError: Only regular files are read.
    ...
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise StorageError(
                "Only regular files are read.",
                where=str(path),
                expected="a regular file",
                found="a folder" if path.is_dir() else "a pipe, a device or a socket",
                remedy="copy its content to a file",
            )
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def check_allowance(n_bytes: int, file_bytes: int, where: str) -> None:
    """Refuse a file whose content would take more memory than a file of its size may.

    Raises
    ------
    StorageError
        Naming the limit, and how to raise it.

    Examples
    --------
    >>> check_allowance(1000, 100, "model.keras")
    """
    allowed = file_allowance(file_bytes)
    if n_bytes <= allowed:
        return
    raise StorageError(
        "This file would take more memory than a file of its size may.",
        where=where,
        expected=f"at most {human_bytes(allowed)} for a file of {human_bytes(file_bytes)}",
        found=human_bytes(n_bytes),
        remedy=f"if you trust it, set {FILE_MEMORY}={n_bytes}",
    )


def check_archive(path: Path) -> None:
    """Refuse a zip archive whose members, unpacked, are too large together.

    Raises
    ------
    StorageError
        Naming the limit, and how to raise it.
    OSError, zipfile.BadZipFile, ValueError, NotImplementedError
        When it is no archive.
    """
    with open_regular(path) as file, zipfile.ZipFile(file) as archive:
        unpacked = sum(info.file_size for info in archive.infolist())
        check_allowance(unpacked, os.fstat(file.fileno()).st_size, str(path))


def check_path(target: Path) -> None:
    """Refuse a path that no system accepts, which Python tells by a ValueError."""
    try:
        target.parent.stat()
        os.lstat(target)
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise unwritten(target, error) from error


def unwritten(target: Path, error: BaseException) -> StorageError:
    """Make the error for a file that cannot be written."""
    return StorageError(
        "The file cannot be written; nothing was changed.",
        where=str(target),
        found=getattr(error, "strerror", None) or f"{type(error).__name__}: {error}",
        remedy="check that the folder exists, may be written, and has room",
    )
