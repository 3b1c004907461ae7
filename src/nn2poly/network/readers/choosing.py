"""One output of a model that has several: by its name or its number."""

from __future__ import annotations

from collections.abc import Sequence

from nn2poly.errors import InvalidInputError, UnsupportedModelError


class SeveralOutputsError(UnsupportedModelError):
    """A model has several outputs, and nobody said which."""


def output_labels(names: Sequence[str], place: int, width: int) -> list[str] | None:
    """Name the columns of the output that was chosen; None where there was no choice.

    Examples
    --------
    >>> output_labels(["mean", "spread"], 1, 2)
    ['spread_0', 'spread_1']
    """
    if len(names) == 1:
        return None
    return [names[place]] if width == 1 else [f"{names[place]}_{i}" for i in range(width)]


def chosen_output(names: Sequence[str], output: str | int | None, where: str) -> int:
    """Give the number of the output that is wanted, of those with these names.

    Examples
    --------
    >>> chosen_output(["mean", "spread"], "spread", "model")
    1
    """
    if output is None and len(names) == 1:
        return 0
    if isinstance(output, str) and output in names:
        return list(names).index(output)
    is_number = isinstance(output, int) and not isinstance(output, bool)
    if isinstance(output, int) and is_number and -len(names) <= output < len(names):
        return output % len(names)
    found = ", ".join(map(repr, names))
    if output is None:
        raise SeveralOutputsError(
            "The model has several outputs.",
            where=where,
            expected="one of the outputs",
            found=found,
            remedy=f"choose one: output={names[0]!r}, or output=0",
        )
    raise InvalidInputError(
        "The model has no such output.",
        where="output",
        expected=f"one of {found}, or a number from 0 to {len(names) - 1}",
        found=repr(output),
    )
