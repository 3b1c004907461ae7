"""What a report says of regions: the tree, and each rule with its rows and its formula."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.assess.fidelity import mean_r2
from nn2poly.formula.borders import everything
from nn2poly.formula.importance import MAX_ROWS, Ranking, ranking
from nn2poly.formula.piecewise import PiecewisePolynomial
from nn2poly.formula.protocol import Region
from nn2poly.formula.region_tree import Among, Conditions, Leaf, Tree, condition_text, question
from nn2poly.inputs import Inputs
from nn2poly.plots.units import thin
from nn2poly.reporting.contents import RegionView, TreeView
from nn2poly.reporting.formulas import formula_views, term_text
from nn2poly.reporting.numerals import rule_text
from nn2poly.reporting.payload import packed, polynomial_payload
from nn2poly.tables import Table

# Terms of a region's formula, and of each region in the table without a browser's help (taste).
SHOWN_TERMS, N_TOP = 6, 10


@dataclass(frozen=True, eq=False)
class Part:
    """A region with the rows of the report that are in it.

    Parameters
    ----------
    region
        The region.
    rows
        Array (m,): the places of its rows.
    ranked
        How much its terms matter: on these rows, or, where there are not two, as far as the
        conversion knows.
    """

    region: Region
    rows: IntArray
    ranked: Ranking


def region_parts(formula: PiecewisePolynomial, X: FloatArray) -> list[Part]:
    """Sort the raw rows (n, p) by region, and rank the terms of each on its own."""
    where = formula.region_of(X)
    parts = []
    for region in formula.regions:
        rows = np.flatnonzero(where == region.number)
        sample = thin(X[rows], MAX_ROWS) if len(rows) > 1 else None
        parts.append(Part(region, rows, ranking(region.polynomial, sample)))
    return parts


def region_views(
    formula: PiecewisePolynomial, parts: list[Part], guess: FloatArray, truth: FloatArray | None
) -> tuple[RegionView, ...]:
    """Describe every region.

    Parameters
    ----------
    guess, truth
        Arrays (n, k): raw outputs of the formula and of the network, or None.
    """
    return tuple(
        RegionView(
            number=part.region.number,
            rule=rule_text(part.region.rule),
            n_rows=len(part.rows),
            share=len(part.rows) / len(guess),
            r2=_r2(part, guess, truth),
            average=_average(formula, guess[part.rows]),
            formulas=formula_views(part.region.polynomial, part.ranked, SHOWN_TERMS),
        )
        for part in parts
    )


def _r2(part: Part, guess: FloatArray, truth: FloatArray | None) -> float | None:
    """Measure R² on the rows of the region; without a network take what the conversion knows."""
    if truth is None:
        return part.region.r2
    if len(part.rows) < 2:
        return None
    found = mean_r2(truth[part.rows], guess[part.rows])
    return None if np.isnan(found) else found


def _average(formula: PiecewisePolynomial, guess: FloatArray) -> float | None:
    """Average the prediction where there is one: of a classifier logits would say little."""
    alone = formula.n_outputs == 1 and not formula.outputs.is_classifier
    return float(guess.mean()) if alone and len(guess) else None


def tree_view(
    tree: Tree, inputs: Inputs, text: str = "", met: Conditions = MappingProxyType({})
) -> TreeView:
    r"""Lay the tree out: what leads to each node, in words, and what follows.

    ``met`` is what holds at the node: levels that it rules out are not named again.

    Examples
    --------
    >>> from nn2poly.formula.region_tree import Split
    >>> found = tree_view(Split(0, 6.5, left=Leaf(0), right=Leaf(1)), Inputs.of(["hour"]))
    >>> [(child.text.replace("\u00a0", " "), child.number) for child in found.children]
    [('hour < 6.5', 0), ('hour ≥ 6.5', 1)]
    """
    if isinstance(tree, Leaf):
        return TreeView(rule_text(text), tree.number)
    before = everything(tree, inputs)
    if isinstance(before, Among):
        before = met.get(tree.column, before)
    children = []
    for node, left in ((tree.left, True), (tree.right, False)):
        meets = before.met(tree, left)
        words = condition_text(tree.column, meets, inputs)
        children.append(tree_view(node, inputs, words, {**met, tree.column: meets}))
    return TreeView(rule_text(text), None, tuple(children))


def top_region_terms(parts: list[Part]) -> Table:
    """List the terms that matter most in each region."""
    first = parts[0].region.polynomial
    values = ("coefficient",) if first.n_outputs == 1 else first.output_names
    rows = tuple(
        (
            term_text(poly.terms[i], poly.inputs.entry_names),
            part.region.number,
            len(poly.terms[i]),
            *poly.coefficients[i],
        )
        for part in parts
        for poly in (part.region.polynomial,)
        for i in part.ranked.places(N_TOP).tolist()
    )
    title = f"The {N_TOP} terms of each region that move the outputs most there"
    return Table(title, ("term", "region", "order", *values), rows)


# ---- for the browser ----


def regions_payload(
    formula: PiecewisePolynomial, parts: list[Part], X: FloatArray, truth: FloatArray | None = None
) -> dict[str, Any]:
    """Describe the formula so that a browser predicts what its `predict` does.

    To `polynomial_payload` of what all regions share it adds the terms of each, the tree, the
    rules, and for each region a row (p,) in its middle, if the raw rows (n, p) have one, with the
    raw outputs (k,) of the network there, if they are known (n, k).
    """
    payloads = [polynomial_payload(region.polynomial) for region in formula.regions]
    own = ("variables", "sizes", "coefficients")
    return {
        **{name: value for name, value in payloads[0].items() if name not in own},
        "pieces": [{name: payload[name] for name in own} for payload in payloads],
        "tree": _node(formula.tree, formula.inputs),
        "rules": [_conditions(region, formula.inputs) for region in formula.regions],
        "middles": [_middle(X[part.rows], _outputs(truth, part)) for part in parts],
    }


def _node(tree: Tree, inputs: Inputs) -> Any:
    """Write a node as what its left side asks of raw features; a leaf as its number."""
    if isinstance(tree, Leaf):
        return tree.number
    asked = question(tree, inputs)
    return {
        "features": list(asked.features),
        "numbers": list(asked.numbers),
        "reached": asked.reached,
        "left": _node(tree.left, inputs),
        "right": _node(tree.right, inputs),
    }


def _conditions(region: Region, inputs: Inputs) -> list[str]:
    found = [condition_text(c, meets, inputs) for c, meets in region.conditions.items()]
    return [rule_text(text) for text in found] or ["everywhere"]


def _outputs(truth: FloatArray | None, part: Part) -> FloatArray | None:
    return None if truth is None else truth[part.rows]


def _middle(rows: FloatArray, truth: FloatArray | None) -> list[str | None] | None:
    """Choose the row (p,) nearest to the means, in standard deviations of each feature."""
    if not len(rows):
        return None
    spread = rows.std(axis=0)
    distance = ((rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1.0)) ** 2
    place = distance.sum(axis=1).argmin()
    return [packed(rows[place]), None if truth is None else packed(truth[place])]
