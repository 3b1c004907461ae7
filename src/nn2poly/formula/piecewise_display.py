"""How a piecewise polynomial shows itself: the tree of its regions, then their formulas."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from nn2poly.arguments import plural
from nn2poly.formula import display, ranking
from nn2poly.formula.borders import side_text
from nn2poly.formula.legend import baselines, legend
from nn2poly.formula.protocol import Region
from nn2poly.formula.region_tree import Leaf, Tree
from nn2poly.formula.term_names import output_index
from nn2poly.inputs import Inputs
from nn2poly.tables import Table, one_line

if TYPE_CHECKING:
    from nn2poly.formula.piecewise import PiecewisePolynomial


def top(regions: Sequence[Region], n: int, output: int | str | None) -> Table:
    """List the n terms of each region that matter most."""
    tables = [(region, region.polynomial.top(n, output)) for region in regions]
    first = tables[0][1]
    rows = tuple((region.number, *row) for region, table in tables for row in table.rows)
    said = first.note.partition("\n")[0]
    note = "\n".join(filter(None, (said, *_top_legend(regions, n, output))))
    title = f"{n} largest terms of each of {plural(len(regions), 'region')}"
    return Table(title, ("region", *first.columns), rows, note=note)


def _top_legend(regions: Sequence[Region], n: int, output: int | str | None) -> list[str]:
    """Say what names in the terms of `top` stand for, and what levels are compared with."""
    first = regions[0].polynomial
    column = None if output is None else output_index(output, first.output_names)
    terms, lines = [], []
    for region in regions:
        poly = region.polynomial
        chosen = ranking.terms_at(poly.terms, ranking.top_places(poly, n, column))
        terms += chosen
        if compared := baselines(poly.inputs, poly.terms, chosen, region.conditions):
            lines.append(f"region {region.number}: {compared}")
    return [legend(first.inputs, terms), *lines]


def all_terms(regions: Sequence[Region]) -> Table:
    """List every term of every region with its order and coefficients."""
    tables = [(region, display.all_terms(region.polynomial)) for region in regions]
    rows = tuple((region.number, *row) for region, table in tables for row in table.rows)
    return Table("", ("region", *tables[0][1].columns), rows)


def region_table(regions: Sequence[Region]) -> Table:
    """List the regions: rule, rows and share where they are known, terms, R²."""
    columns = ["region", "rule", "rows", "share", "terms", "R2"]
    rows = [(r.number, r.rule, r.n_rows, r.share, r.polynomial.n_terms, r.r2) for r in regions]
    kept = [k for k in range(len(columns)) if k < 2 or any(row[k] is not None for row in rows)]
    return Table(
        plural(len(regions), "region"),
        tuple(columns[k] for k in kept),
        tuple(tuple(row[k] for k in kept) for row in rows),
    )


def facts(formula: PiecewisePolynomial) -> str:
    """Count features, regions, order, terms and outputs in one line."""
    link = "" if formula.link == "identity" else f", {formula.link} link"
    link += ", inputs held at their bounds" if formula.inputs.are_bounded else ""
    return (
        f"{plural(formula.n_features, 'feature')}, {plural(formula.n_regions, 'region')}, "
        f"order {formula.max_order}, {plural(formula.n_terms, 'term')}, "
        f"{plural(formula.n_outputs, 'output')}{link}"
    )


def text(formula: PiecewisePolynomial) -> str:
    """Give the `repr`: facts, then every region with its rule and its formulas."""
    lines = [f"PiecewisePolynomial({facts(formula)})"]
    for region in formula.regions:
        lines.append(f"  region {region.number}: {_described(region)}")
        lines += [f"    {line}" for line in _formulas(region)]
    lines += [f"  {line}" for line in _endings(formula)]
    return "\n".join(map(one_line, lines))


def _described(region: Region) -> str:
    """Give the rule, and what is known of the region."""
    known = []
    if region.share is not None:
        known.append(f"{100 * region.share:.3g} % of the rows")
    if region.r2 is not None:
        known.append(f"R2 {region.r2:.3f}")
    return f"{region.rule} ({', '.join(known)})" if known else region.rule


def _formulas(region: Region) -> list[str]:
    poly = region.polynomial
    lines = [display.formula(poly, k) for k in range(min(poly.n_outputs, display.SHOWN_OUTPUTS))]
    more = poly.n_outputs - display.SHOWN_OUTPUTS
    lines += [f"… {more} more outputs"] if more > 0 else []
    compared = baselines(poly.inputs, poly.terms, display.shown_terms(poly), region.conditions)
    return [*lines, compared] if compared else lines


def _endings(formula: PiecewisePolynomial) -> list[str]:
    polys = formula.polynomials
    terms = [term for poly in polys for term in display.shown_terms(poly)]
    cut = any(map(display.is_cut, polys))
    return display.endings(formula.inputs, terms, formula.n_terms, cut=cut)


def html(formula: PiecewisePolynomial) -> str:
    """Give the notebook view: facts, the tree, and each formula, all escaped."""
    head = f"<p><strong>PiecewisePolynomial</strong>: {escape(facts(formula))}</p>"
    regions = "".join(_html_region(region) for region in formula.regions)
    regions += "".join(f"<p>{escape(line)}</p>" for line in _endings(formula))
    return f"<div>{head}<ul>{_html_tree(formula.tree, formula.inputs)}</ul>{regions}</div>"


def _html_region(region: Region) -> str:
    lines = "<br>".join(f"<code>{escape(line)}</code>" for line in _formulas(region))
    head = f"<strong>region {region.number}</strong>: {escape(_described(region))}"
    return f"<p>{head}<br>{lines}</p>"


def _html_tree(tree: Tree, inputs: Inputs, said: str = "") -> str:
    """Write a node as an item of a list: what leads to it, then what follows."""
    if isinstance(tree, Leaf):
        label = f"region {tree.number}"
        return f"<li>{escape(said)}{' → ' if said else ''}<strong>{label}</strong></li>"
    sides = "".join(
        _html_tree(node, inputs, side_text(tree, left, inputs))
        for node, left in ((tree.left, True), (tree.right, False))
    )
    return f"<li>{escape(said)}<ul>{sides}</ul></li>" if said else sides
