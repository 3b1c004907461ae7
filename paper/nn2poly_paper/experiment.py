"""What an experiment is: settings, a run, figures, and claims of the paper that it checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nn2poly_paper.store import Tables
from nn2poly_paper.work import Work

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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


@dataclass(frozen=True, eq=False)
class Findings:
    """What a run gives.

    Parameters
    ----------
    tables
        Rows by name of the table; each becomes a CSV file.
    objects
        What figures need beyond the tables: networks, polynomials, data.

    Examples
    --------
    >>> Findings({"terms": [{"p": 2, "terms": 6}]}).tables["terms"][0]["terms"]
    6
    """

    tables: Tables
    objects: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """One part of the paper.

    Parameters
    ----------
    name
        What it is called on the command line.
    full, quick
        Settings, frozen dataclasses with a ``seed``.
    run
        From settings and `Work` to `Findings`.
    draw
        From `Findings` to figures by file name.
    claims
        From tables to what they should show.
    """

    name: str
    full: Any
    quick: Any
    run: Callable[[Any, Work], Findings]
    draw: Callable[[Findings], dict[str, Figure]]
    claims: Callable[[Tables], list[Claim]]
