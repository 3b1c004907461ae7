"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nn2poly.errors import StorageError


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
