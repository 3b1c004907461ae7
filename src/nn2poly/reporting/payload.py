"""What the browser computes with: plain JSON, arrays as base64 of little-endian numbers.

Text can change the last digit of a number or be read as markup; base64 does neither.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.formula.polynomial import Polynomial
from nn2poly.inputs.functions import Function, Identity
from nn2poly.outputs import Outputs


def packed(values: npt.ArrayLike, dtype: str = "<f8") -> str:
    """Write an array, row by row, as base64.

    Examples
    --------
    >>> packed([1.0])
    'AAAAAAAA8D8='
    """
    return base64.b64encode(np.ascontiguousarray(values, dtype=dtype).tobytes()).decode("ascii")


def polynomial_payload(poly: Polynomial) -> dict[str, Any]:
    """Describe a polynomial so that a browser predicts what `Polynomial.predict` does.

    Examples
    --------
    >>> found = polynomial_payload(Polynomial([[1.0], [2.0], [0.5]], 2, ["a"]))
    >>> found["sizes"], found["coefficients"] == packed([1.0, 2.0, 0.5])
    ([1, 1, 1], True)
    """
    wide = poly.n_features > np.iinfo(np.uint16).max
    return {
        "features": list(poly.feature_names),
        "outputs": list(poly.output_names),
        "classes": None if poly.classes is None else [str(c) for c in poly.classes],
        "link": poly.link,
        "prefix": output_prefix(poly.outputs),
        "shown": list(poly.outputs.names_on(shown_scale(poly.outputs))),
        "cut": _finite(poly.outputs.cut() if poly.outputs.is_classifier else None),
        "threshold": poly.outputs.threshold,
        "calibration": poly.outputs.calibration,
        "entries": list(poly.inputs.entry_names),
        "curves": [_curve(coordinate.function) for coordinate in poly.inputs.coordinates],
        "bounds": [packed(end) for end in _bounds(poly)],
        "center": packed(poly.center),
        "scale": packed(poly.scale),
        "wide": wide,
        "variables": [
            packed(variables, "<u4" if wide else "<u2") for _, variables in poly.terms.by_degree()
        ],
        "sizes": [here.stop - here.start for here, _ in poly.terms.by_degree()],
        "coefficients": packed(poly.coefficients),
    }


def output_prefix(outputs: Outputs) -> str:
    """Say what raw outputs are, in front of their name.

    Examples
    --------
    >>> output_prefix(Outputs(("y",))), output_prefix(Outputs(("y",), link="log1p"))
    ('', 'log1p of ')
    >>> output_prefix(Outputs(("a", "b", "c"), link="softmax"))
    'score of '
    >>> output_prefix(Outputs(("0", "1", "2"), link="softmax"))
    'score of class '
    """
    if outputs.link == "identity":
        return ""
    known = {"sigmoid": "log-odds", "softmax": "score"}
    several = outputs.link == "sigmoid" and len(outputs.names) > 1
    classes = outputs.is_classifier and not several and are_numbers(outputs.names)
    return f"{known.get(outputs.link, outputs.link)} of {'class ' if classes else ''}"


def are_numbers(names: Sequence[str]) -> bool:
    """Say that all names are numbers, which say nothing without a noun.

    Examples
    --------
    >>> are_numbers(("0", "1")), are_numbers(("0", "yes"))
    (True, False)
    """
    return all(re.fullmatch(r"[-+]?\d+(\.\d*)?", name) for name in names)


def term_scale(link: str) -> str:
    """Name the scale on which terms add up, where it is not the output's own.

    The raw outputs of a softmax are no log-odds: only their differences are.

    Examples
    --------
    >>> term_scale("sigmoid"), term_scale("softmax"), term_scale("log1p")
    ('log-odds', 'scores', 'log1p of the target')
    """
    return {"sigmoid": "log-odds", "softmax": "scores"}.get(link, f"{link} of the target")


def scale_meaning(link: str) -> str:
    """Say what a number on the scale of a classifier's terms means."""
    if link == "softmax":
        return "one more for a class multiplies its odds against any other class by 2.7"
    return "0 is a probability of 50 %, and one more multiplies the odds by 2.7"


def shown_scale(outputs: Outputs) -> str:
    """Choose the scale on which effects and predictions are shown, as `explain` names it.

    Examples
    --------
    >>> shown_scale(Outputs(("y",))), shown_scale(Outputs(("y",), link="sigmoid"))
    ('raw', 'probability')
    """
    if outputs.is_classifier:
        return "probability"
    return "raw" if outputs.link == "identity" else "target"


def _finite(cut: float | None) -> float | None:
    """Give a cut that JSON can hold: a probability that is never reached has an infinite one."""
    largest = float(np.finfo(np.float64).max)
    return None if cut is None else min(max(cut, -largest), largest)


def _bounds(poly: Polynomial) -> tuple[FloatArray, FloatArray]:
    """Give the bounds (p,), (p,) at which features are held, the largest double for none."""
    largest = np.finfo(np.float64).max
    functions = [coordinate.function for coordinate in poly.inputs.coordinates]
    low, high = (np.array([getattr(f, end) for f in functions]) for end in ("low", "high"))
    return np.clip(low, -largest, largest), np.clip(high, -largest, largest)


def _curve(function: Function) -> str | list[str] | dict[str, Any] | None:
    """Say what a value within its bounds goes through: a function of Math, powers, or a table."""
    if isinstance(function, Identity):
        return None
    if function.points:
        return [packed(column) for column in np.array(function.points).T]
    if function.powers:
        return {"powers": [list(power) for power in function.powers]}
    found = re.fullmatch(r"Math\.(\w+)\(\{x\}\)", function.template("javascript") or "")
    if found is None:
        raise InvalidInputError(
            f"The function {function.kind!r} of a column cannot be shown in a browser.",
            where="poly.inputs",
            expected="a function of JavaScript's Math, powers, or a table of points",
            remedy="export to another language, or convert without that transform",
        )
    return found[1]


def to_script(data: Any) -> str:
    r"""Write JSON that can stand inside a script element, whatever the strings in it are.

    Examples
    --------
    >>> print(to_script({"name": "</script>"}))
    {"name":"\u003c/script\u003e"}
    """
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
