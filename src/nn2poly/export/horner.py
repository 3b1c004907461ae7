"""Write a polynomial as a nested expression: a small tree that every language prints.

P(z) = c + Σ_i z_i · P_i(z_i, z_{i+1}, …): the terms are factored by their first variable, the
factors by theirs, and so on. Every term costs one number and about one variable, whatever its
order, and one multiplication and one addition when it is evaluated.

The tree is in the polynomial's own coordinates z = (x - center) / scale. Multiplying them out
to raw units would be shorter to print, and can lose every digit where |center| is large against
scale: (x - 1e6)³ is a difference of numbers of size 1e18.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from nn2poly.algebra.terms import Term
from nn2poly.errors import InvalidInputError
from nn2poly.formula.piecewise import Explicit
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.protocol import check_formula

# Parsers nest a sum of n parts n deep; in groups of so many it is nested by its logarithm
# (taste; SQLite stops at a depth of 1,000).
MAX_PARTS = 16
# Numbers in the texts of all outputs: about 30 bytes each, some 150 MB in all.
MAX_NUMBERS = 5_000_000


@dataclass(frozen=True, slots=True)
class Monomial:
    """A number times variables, c·z_i·z_j."""

    coefficient: float
    variables: Term


@dataclass(frozen=True, slots=True)
class Factored:
    """A sum times variables, (…)·z_i·z_j."""

    rest: Sum
    variables: Term


@dataclass(frozen=True, slots=True)
class Sum:
    """Two to `MAX_PARTS` parts."""

    parts: tuple[Node, ...]


Node = Monomial | Factored | Sum
Row = tuple[Term, float]


def expressions(poly: Polynomial) -> Iterator[tuple[str, Node]]:
    """Walk the outputs: the name of each, and its expression.

    Terms whose coefficient is zero are left out; a zero output is the number 0.

    Examples
    --------
    >>> poly = Polynomial.from_terms(["1", "a", "a b"], [1.0, 2.0, 3.0], ["a", "b"])
    >>> name, tree = next(expressions(poly))
    >>> tree.parts[1].variables, [part.coefficient for part in tree.parts[1].rest.parts]
    ((0,), [2.0, 3.0])
    """
    terms = list(poly.terms)
    # Lexicographic: all terms that begin alike stand together, the shortest first.
    order = sorted(range(len(terms)), key=terms.__getitem__)
    for column, name in enumerate(poly.output_names):
        values = poly.coefficients[:, column].tolist()
        yield name, _nest([(terms[k], values[k]) for k in order if values[k]], 0)


def check_polynomial(poly: object) -> None:
    """Refuse what is not a formula whose polynomials have terms."""
    regions = check_formula(poly, verb="exported").regions
    if not all(region.polynomial.n_terms for region in regions):
        raise InvalidInputError(
            "This polynomial has no terms.", where="poly", expected="one term at least"
        )


def check_writable(poly: Explicit) -> None:
    """Refuse what is not a formula, and one with too many terms to be written as text."""
    check_polynomial(poly)
    if poly.n_terms * poly.n_outputs > MAX_NUMBERS:
        raise InvalidInputError(
            "This polynomial is too large to be written as text.",
            where="poly",
            expected=f"at most {MAX_NUMBERS:,} coefficients",
            found=f"{poly.n_terms:,} terms of {poly.n_outputs:,} outputs",
            remedy="keep the largest terms, poly.prune(n_terms=1000), or use export.onnx",
        )


def used_variables(*nodes: Node) -> list[int]:
    """List the variables that occur, in increasing order.

    Examples
    --------
    >>> used_variables(Sum((Monomial(1.0, (2, 2)), Monomial(1.0, (0,)))))
    [0, 2]
    """
    found: set[int] = set()
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, Sum):
            stack += node.parts
            continue
        found.update(node.variables)
        if isinstance(node, Factored):
            stack.append(node.rest)
    return sorted(found)


def _nest(rows: list[Row], depth: int) -> Node:
    """Nest terms that share their first ``depth`` variables and come in lexicographic order."""
    parts: list[Node] = []
    if not rows or len(rows[0][0]) == depth:
        parts.append(Monomial(rows[0][1] if rows else 0.0, ()))
    for variable, group in groupby(rows[len(parts) :], key=lambda row: row[0][depth]):
        parts.append(_times(variable, _nest(list(group), depth + 1)))
    return _add(parts)


def _times(variable: int, node: Node) -> Node:
    if isinstance(node, Monomial):
        return Monomial(node.coefficient, (variable, *node.variables))
    if isinstance(node, Factored):
        return Factored(node.rest, (variable, *node.variables))
    return Factored(node, (variable,))


def _add(parts: list[Node]) -> Node:
    while len(parts) > MAX_PARTS:
        parts = [_add(parts[k : k + MAX_PARTS]) for k in range(0, len(parts), MAX_PARTS)]
    return parts[0] if len(parts) == 1 else Sum(tuple(parts))
