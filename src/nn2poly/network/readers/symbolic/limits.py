"""Memory is asked about before a model may take it: a file may name any size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from nn2poly.errors import UnsupportedModelError
from nn2poly.memory import FILE_MEMORY, available_bytes, file_allowance, human_bytes

# Below this many numbers (8 MB) no memory is asked about, so that small models read quickly.
SMALL = 1_000_000
# The bytes that one array may take while a file is read; None for a model of the user's own.
_allowed: ContextVar[int | None] = ContextVar("allowed", default=None)


@contextmanager
def reading_file(n_bytes: int) -> Iterator[None]:
    """Hold arrays to what a file of so many bytes may take."""
    token = _allowed.set(file_allowance(n_bytes))
    try:
        yield
    finally:
        _allowed.reset(token)


def check_memory(count: int, where: str | None = None) -> None:
    """Refuse to make an array of ``count`` float64 numbers that memory cannot hold.

    A quarter of the free memory is the most: arrays are made from others of their size.
    """
    if count > SMALL and 4 * 8 * count > available_bytes():
        raise UnsupportedModelError(
            "The model needs more memory than there is.",
            where=where,
            expected=f"arrays of at most a quarter of the {human_bytes(available_bytes())} free",
            found=f"{human_bytes(8 * count)} for {count:,} numbers",
            remedy="free memory, or use a machine with more of it",
        )
    allowed = _allowed.get()
    if allowed is not None and 8 * count > allowed:
        raise UnsupportedModelError(
            "The model needs more memory than a file of its size may take.",
            where=where,
            expected=f"at most {human_bytes(allowed)}",
            found=f"{human_bytes(8 * count)} for {count:,} numbers",
            remedy=f"if you trust it, set {FILE_MEMORY}={8 * count}",
        )
