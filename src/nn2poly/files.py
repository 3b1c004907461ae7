"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
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
        handle, name = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.stem[:40]}.", suffix=target.suffix
        )
        os.close(handle)
        temporary = Path(name)
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)
    except OSError as error:
        raise unwritten(target, error) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def write_whole(target: Path, data: bytes) -> Path:
    """Write a file whole or not at all.

    Examples
    --------
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


def _umask() -> int:
    # A temporary file is private; what the user saves follows the user's umask.
    umask = os.umask(0)
    os.umask(umask)
    return umask
