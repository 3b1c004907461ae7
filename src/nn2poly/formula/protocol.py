"""What everything downstream asks of a formula, whatever kind it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from nn2poly.errors import InvalidInputError

if TYPE_CHECKING:
    from nn2poly.formula.polynomial import Polynomial

NEEDED = ("terms", "coefficients", "feature_names", "output_names", "predict")


def check_formula(value: Any, where: str = "poly") -> Polynomial:
    """Return what has terms, coefficients and predictions, or say how to get it.

    Examples
    --------
    >>> from nn2poly.formula.polynomial import Polynomial
    >>> check_formula(Polynomial([[0.0], [1.0]], 1, ["t"])).n_terms
    2
    """
    if all(hasattr(value, name) for name in NEEDED):
        return cast("Polynomial", value)
    factored = hasattr(value, "outputs_by_order") and hasattr(value, "expand")
    raise InvalidInputError(
        "This is not a polynomial with its terms written out.",
        where=where,
        expected="a Polynomial",
        found=type(value).__name__,
        remedy="pass poly.expand()" if factored else "pass what nn2poly.convert(model) returns",
    )
