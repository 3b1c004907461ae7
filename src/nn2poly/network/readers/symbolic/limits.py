"""Memory is asked about before a model may take it: a file may name any size."""

from __future__ import annotations

from nn2poly.errors import UnsupportedModelError
from nn2poly.memory import available_bytes, human_bytes

# Below this many numbers (8 MB) no memory is asked about, so that small models read quickly.
SMALL = 1_000_000


def check_memory(count: int, where: str | None = None) -> None:
    """Refuse to make an array of ``count`` float64 numbers that memory cannot hold.

    A quarter of the free memory is the most: arrays are made from others of their size.
    """
    if count <= SMALL or 4 * 8 * count <= available_bytes():
        return
    raise UnsupportedModelError(
        "The model needs more memory than there is.",
        where=where,
        expected=f"arrays of at most a quarter of the {human_bytes(available_bytes())} free",
        found=f"{human_bytes(8 * count)} for {count:,} numbers",
        remedy="free memory, or use a machine with more of it",
    )
