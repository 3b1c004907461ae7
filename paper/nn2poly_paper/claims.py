"""`Claim`: a statement of the paper that an experiment checks on its own numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """What should hold, whether it does, and the numbers that say so.

    Parameters
    ----------
    statement
        One sentence, true or false.
    holds
        Whether the numbers bear it out.
    found
        The numbers, in words.

    Examples
    --------
    >>> print(Claim("x2 x3 and x1 come out on top.", True, "x2 x3, x1, x3, …"))
    yes: x2 x3 and x1 come out on top. (x2 x3, x1, x3, …)
    """

    statement: str
    holds: bool
    found: str

    def __str__(self) -> str:
        return f"{'yes' if self.holds else 'NO'}: {self.statement} ({self.found})"
