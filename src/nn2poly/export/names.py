"""Names: clean identifiers, and the remarks that say what they stand for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable
from itertools import chain, count

from nn2poly.formula.piecewise import Explicit
from nn2poly.outputs import Outputs
from nn2poly.target_links import TARGET_LINKS

LINK_REMARKS = {
    "sigmoid": "Raw output: the probability is 1 / (1 + exp(-output)).",
    "softmax": "Raw output: the probabilities are the softmax of all outputs.",
}

HELD_REMARK = "Inputs are held at their bounds: beyond them the output is that of the edge."


def identifiers(
    names: Iterable[str], *, prefix: str = "x", reserved: Container[str] = ()
) -> list[str]:
    """Turn names into distinct identifiers of letters, digits and underscores (ASCII).

    Parameters
    ----------
    names
        Any strings.
    prefix
        What stands for a name that no letter is left of; its number follows.
    reserved
        Words that the language keeps for itself.

    Examples
    --------
    >>> identifiers(["rm", "a b", "a_b", "größe", "2nd", "class", "日本"], reserved={"class"})
    ['rm', 'a_b_2', 'a_b', 'grosse', 'x2nd', 'class_', 'x7']
    """
    given = list(names)
    stems = [_clean(name, prefix) or f"{prefix}{k}" for k, name in enumerate(given, start=1)]
    stems = [f"{stem}_" if stem in reserved else stem for stem in stems]
    # A name that can stay as it is stays; those that only look like it give way.
    taken = {name for name, stem in zip(given, stems, strict=True) if name == stem}
    result = []
    for name, stem in zip(given, stems, strict=True):
        choices = chain([stem], (f"{stem}_{number}" for number in count(2)))
        result.append(stem if name == stem else next(c for c in choices if c not in taken))
        taken.add(result[-1])
    return result


def function_names(
    poly: Explicit, results: Iterable[str] | None = None, kind: str = "raw"
) -> dict[str, str]:
    """Name one function for each output; with a prefix it is no word of any language.

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> function_names(Polynomial([[1.0, 2.0]], 0, ["a"], ["y1", "double"]))
    {'y1': 'predict_y1', 'double': 'predict_double'}
    """
    names = poly.output_names if results is None else tuple(results)
    clean = identifiers(names, prefix="y")
    start = "probability" if kind == "probability" else "predict"
    return {name: f"{start}_{c}" for name, c in zip(names, clean, strict=True)}


def _clean(name: str, prefix: str) -> str:
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    ascii_only = "".join(c for c in plain if not unicodedata.combining(c))
    word = re.sub(r"[^A-Za-z0-9]+", "_", ascii_only).strip("_")
    return prefix + word if word[:1].isdigit() else word


def meaning(poly: Explicit, output: str, kind: str = "raw") -> str:
    """Say what the numbers of an export are: raw outputs, a probability, a label.

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> poly = Polynomial([[0.0], [1.0]], 1, ["a"], classes=["no", "yes"], link="sigmoid")
    >>> meaning(poly, "yes", "probability"), meaning(poly, "label", "label")
    ("Probability of 'yes', from 0 to 1.", "Label: 'yes' where its logit is above 0, else 'no'.")
    """
    outputs = poly.outputs
    if kind == "raw":
        return LINK_REMARKS.get(outputs.link, "") or _of_target(outputs, output)
    if kind == "target":
        scale = TARGET_LINKS[outputs.link].text.format(y=output)
        return f"The target {output!r} itself; the polynomial is of {scale}."
    if kind == "probability":
        return f"Probability of {_spoken(outputs, output)}, from 0 to 1."
    if outputs.link == "softmax" and outputs.cut() is None:
        return "Label: the most probable class."
    several = outputs.link == "sigmoid" and outputs.count > 1
    no, yes = ("0", "1") if several else map(repr, outputs.classes or (0, 1))
    cut = outputs.cut()
    if outputs.threshold is None:
        return f"Label: {yes} where its logit is above {cut or 0:.6g}, else {no}."
    return f"Label: {yes} where its probability is at least {outputs.threshold:.6g}, else {no}."


def _of_target(outputs: Outputs, output: str) -> str:
    """Say what the raw output of a regression with a link is."""
    link = TARGET_LINKS.get(outputs.link)
    if link is None:
        return ""
    back = link.back_text.format(z="it")
    return f"Raw output: {link.text.format(y=output)}; {output!r} is {back}."


def _spoken(outputs: Outputs, output: str) -> str:
    """Name the class that an output speaks for."""
    if outputs.is_binary and outputs.classes is not None:
        return repr(outputs.classes[1])
    return repr(output)


def remarks(poly: Explicit, output: str, kind: str = "raw") -> list[str]:
    """Say what a function computes, one line each; names are quoted, on one line, printable.

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> remarks(Polynomial([[0.0], [1.0]], 1, ["a"], link="sigmoid"), "y")
    ["'y': a polynomial of order 1.",
     'Raw output: the probability is 1 / (1 + exp(-output)).']
    """
    lines = [f"{output!r}: a polynomial of order {poly.max_order}."]
    if len(poly.regions) > 1:
        lines = [f"{output!r}: {len(poly.regions)} regions, in each a polynomial."]
        lines += [f"region {region.number}: {region.rule!r}" for region in poly.regions]
    lines += [said] if (said := meaning(poly, output, kind)) else []
    return [*lines, HELD_REMARK] if poly.inputs.are_bounded else lines
