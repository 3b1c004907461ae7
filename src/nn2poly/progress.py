"""Lines of progress: where they go, and how far a long computation has come."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator

from nn2poly.arrays import FloatArray

Report = Callable[[str], None]

# How many lines a long computation reports, and the width of its bar (taste).
LINES = 20


def progress_reporter(progress: bool | Report) -> Report:
    """Choose where lines of progress go: nowhere, standard error, or the user's function.

    Examples
    --------
    >>> progress_reporter(print)("reading the sample")
    reading the sample
    """
    if callable(progress):
        return progress
    return _print_line if progress else lambda _: None


def _print_line(line: str) -> None:
    print(f"nn2poly: {line} …", file=sys.stderr, flush=True)


def reported(pieces: Iterator[FloatArray], total: int, report: Report) -> Iterator[FloatArray]:
    """Pass pieces on and report how many of ``total`` rows have passed.

    Examples
    --------
    >>> import numpy as np
    >>> for piece in reported(iter([np.zeros((1, 1))]), 2, print): pass
    terms [##########··········] 50 %, 1 of 2
    """
    done, shown, begin = 0, 0, time.perf_counter()
    for piece in pieces:
        done += len(piece)
        if done * LINES // total > shown:
            shown = done * LINES // total
            left = (time.perf_counter() - begin) * (total - done) / done
            bar = "#" * shown + "·" * (LINES - shown)
            wait = f", about {left:.0f} s left" if left >= 1 else ""
            report(f"terms [{bar}] {100 * shown // LINES} %, {done:,} of {total:,}{wait}")
        yield piece
