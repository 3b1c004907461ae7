"""`Claim`: a statement of the paper that an experiment checks on its own numbers."""

from __future__ import annotations

from dataclasses import dataclass

from nn2poly.tables import Table


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


def claims_table(claims: list[Claim]) -> Table:
    """Lay claims out as a table.

    Examples
    --------
    >>> claims_table([Claim("1 < 2.", True, "1")]).columns
    ('claim', 'holds', 'found')
    """
    rows = tuple((c.statement, "yes" if c.holds else "NO", c.found) for c in claims)
    return Table("Claims", ("claim", "holds", "found"), rows)
