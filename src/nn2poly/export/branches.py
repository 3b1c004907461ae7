"""A formula of any kind as expressions and the questions that lead to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from nn2poly.export.horner import Node, check_writable, expressions
from nn2poly.formula.piecewise import Explicit
from nn2poly.formula.region_tree import Leaf, Question, Tree, question
from nn2poly.inputs import Inputs


@dataclass(frozen=True)
class End:
    """The expression of one output in one region."""

    region: int
    node: Node


@dataclass(frozen=True)
class Branch:
    """Two ways to go on: left where the answer is yes."""

    question: Question
    left: Written
    right: Written


Written = Branch | End


def outputs_of(poly: Explicit) -> Iterator[tuple[str, Written]]:
    """Walk the outputs: the name of each, and its expressions behind their questions.

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> name, written = next(outputs_of(Polynomial([[1.0], [2.0]], 1, ["t"])))
    >>> name, written.region
    ('y', 0)
    """
    check_writable(poly)
    parts = [dict(expressions(region.polynomial)) for region in poly.regions]
    for name in poly.output_names:
        yield name, _written(poly.tree, poly.inputs, [part[name] for part in parts])


def _written(tree: Tree, inputs: Inputs, nodes: list[Node]) -> Written:
    if isinstance(tree, Leaf):
        return End(tree.number, nodes[tree.number])
    left, right = (_written(side, inputs, nodes) for side in (tree.left, tree.right))
    return Branch(question(tree, inputs), left, right)


def ends_of(written: Written) -> list[End]:
    """List the expressions, left before right."""
    if isinstance(written, End):
        return [written]
    return [*ends_of(written.left), *ends_of(written.right)]


def nodes_of(written: Written) -> list[Node]:
    """List the expressions of all regions."""
    return [end.node for end in ends_of(written)]


def paths_of(written: Written) -> list[tuple[End, tuple[Question, ...]]]:
    """List the expressions, each with all that leads to it."""
    if isinstance(written, End):
        return [(written, ())]
    sides = ((written.left, written.question), (written.right, written.question.opposite))
    return [(end, (asked, *path)) for side, asked in sides for end, path in paths_of(side)]


def asked_features(written: Written) -> list[int]:
    """List the features that questions are about, in increasing order."""
    found = {j for _, path in paths_of(written) for asked in path for j in asked.features}
    return sorted(found)


def condition(
    asked: Question,
    variable: Callable[[int], str],
    number: Callable[[float], str],
    *,
    words: tuple[str, str] = (" || ", " && "),
    gap: str = " ",
) -> str:
    """Spell a question in a language with signs of comparison.

    Parameters
    ----------
    variable, number
        Give the text of a raw feature, and of a number of either sign.
    words
        What stands between alternatives, and between what must hold together.
    gap
        Goes around signs.

    Examples
    --------
    >>> rain = Question((2, 3), (0.5, 0.5), True)
    >>> condition(rain, "x[{}]".format, repr)
    'x[2] >= 0.5 || x[3] >= 0.5'
    >>> condition(rain.opposite, "x[{}]".format, repr)
    'x[2] < 0.5 && x[3] < 0.5'
    """
    sign = ">=" if asked.reached else "<"
    parts = [f"{variable(j)}{gap}{sign}{gap}{number(at)}" for j, at in asked.parts]
    return words[0 if asked.reached else 1].join(parts)
