"""Refuse, before it starts, what would work for minutes in silence."""

from __future__ import annotations

from nn2poly.errors import InvalidInputError

# Numbers that one call may go through: a minute of one core at 5 × 10⁸ a second, which is a rough
# estimate for products that are picked one by one, not a measurement.
MOST_NUMBERS = 3 * 10**10


def check_effort(n_numbers: int, *, what: str, remedy: str) -> None:
    """Refuse a computation that goes through too many numbers.

    Parameters
    ----------
    n_numbers
        How many are multiplied, an integer of any size.
    what
        Subject of the sentence.
    remedy
        What to do instead.

    Raises
    ------
    InvalidInputError
        With an estimate of the time.

    Examples
    --------
    >>> check_effort(10**6, what="The array of gradients", remedy="pass fewer rows")
    """
    if n_numbers <= MOST_NUMBERS:
        return
    raise InvalidInputError(
        f"{what} would work for more than a minute.",
        expected=f"at most {MOST_NUMBERS:.0e} multiplications",
        found=f"about {float(n_numbers):.0e}: {_duration(n_numbers)}",
        remedy=remedy,
    )


def _duration(n_numbers: int) -> str:
    minutes = n_numbers // MOST_NUMBERS
    return f"{minutes} minutes or more" if minutes < 120 else f"{minutes // 60:,} hours or more"
