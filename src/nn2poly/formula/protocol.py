"""`Formula`: what explain, export, plots, report and command line ask for, whatever its kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from nn2poly.arrays import FloatArray
from nn2poly.cards import FidelityCard
from nn2poly.errors import InvalidInputError
from nn2poly.formula.region_tree import Conditions, Tree
from nn2poly.inputs import Inputs
from nn2poly.outputs import Outputs

if TYPE_CHECKING:
    from nn2poly.formula.polynomial import Polynomial

ASKED = ("inputs", "outputs", "predict")
# What holds terms: by region, or (a separable form) itself.
WRITTEN = ("regions", "coefficients")


@dataclass(frozen=True, eq=False)
class Region:
    """A part of the data with a polynomial of its own.

    Parameters
    ----------
    number
        Counted from 0.
    rule
        Which rows it holds, in words.
    conditions
        The same by the position of each column: `Between` two numbers, or `Among` some levels.
    polynomial
        What holds there.
    n_rows, share
        How many of the rows that the conversion saw, and which share of them; None if unknown.
    r2
        How closely the polynomial follows the network there; None if unknown.
    """

    number: int
    rule: str
    conditions: Conditions
    polynomial: Polynomial
    n_rows: int | None = None
    share: float | None = None
    r2: float | None = None


class Formula(Protocol):
    """An explicit formula of named features, for named outputs: a polynomial, or one by region.

    What speaks to a formula asks for its regions; what needs the terms of a single polynomial
    asks for a `Polynomial` and says so.
    """

    @property
    def inputs(self) -> Inputs:
        """What goes in."""

    @property
    def outputs(self) -> Outputs:
        """What comes out."""

    @property
    def card(self) -> FidelityCard | None:
        """How closely it follows its network."""

    @property
    def regions(self) -> tuple[Region, ...]:
        """Its polynomials, and where each holds: one region everywhere, or several."""

    @property
    def tree(self) -> Tree:
        """Which rows are in which region."""

    @property
    def n_terms(self) -> int:
        """Number of terms of all regions."""

    @property
    def max_order(self) -> int:
        """Highest total order of a term."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features."""

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the outputs."""

    def predict(
        self, X: Any, *, dtype: npt.DTypeLike = np.float64, batch_size: int | None = None
    ) -> FloatArray:
        """Compute the outputs: of a classifier before the link, else the target."""

    def raw_outputs(
        self, X: FloatArray, dtype: npt.DTypeLike = np.float64, batch_size: int | None = None
    ) -> FloatArray:
        """Compute the raw outputs (n, n_outputs), before any link, of raw features (n, p)."""


def is_formula(value: object) -> bool:
    """Tell a formula by what it has.

    Examples
    --------
    >>> is_formula([1.0])
    False
    """
    asked = all(hasattr(value, name) for name in ASKED)
    return asked and any(hasattr(value, name) for name in WRITTEN)


def check_formula(value: Any, where: str = "poly", *, verb: str = "used here") -> Any:
    """Return a formula, or say how to get one.

    Examples
    --------
    >>> from nn2poly.formula.polynomial import Polynomial
    >>> check_formula(Polynomial([[0.0], [1.0]], 1, ["t"])).n_terms
    2
    """
    if is_formula(value):
        return value
    factored = hasattr(type(value), "expand") and hasattr(type(value), "top_terms")
    raise InvalidInputError(
        f"Only an explicit polynomial can be {verb}.",
        where=where,
        expected="a Polynomial or a PiecewisePolynomial",
        found=type(value).__name__,
        remedy="write its terms out: poly.expand()"
        if factored
        else "convert the network first: poly = nn2poly.convert(model, data=X)",
    )


def check_single(value: Any, where: str = "poly", *, verb: str = "used here") -> Any:
    """Return a polynomial of one region, whose terms and coefficients are those of the whole.

    Examples
    --------
    >>> from nn2poly.formula.polynomial import Polynomial
    >>> check_single(Polynomial([[0.0], [1.0]], 1, ["t"])).n_terms
    2
    """
    found = check_formula(value, where, verb=verb)
    if hasattr(found, "coefficients"):
        return found
    raise InvalidInputError(
        f"A formula with regions has no terms of its own to be {verb}.",
        where=where,
        expected="a Polynomial",
        found=f"{len(found.regions)} regions",
        remedy="use the polynomial of one region: poly.regions[0].polynomial",
    )
