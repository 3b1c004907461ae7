"""Name the outputs of a classifier by its classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def output_names(classes: Sequence[Any] | None, n_outputs: int) -> list[str] | None:
    """Name outputs by class; the one output of a binary classifier speaks for the second.

    None when there are no classes, or two would have the same name.

    Examples
    --------
    >>> output_names(["no", "yes"], 1), output_names([1, "1"], 2)
    (['yes'], None)
    """
    if classes is None:
        return None
    # A class may be the empty string; a name may not.
    names = [str(name) or "''" for name in (classes[-1:] if n_outputs == 1 else classes)]
    return names if len(set(names)) == len(names) else None
