"""Links of a regression: the formula is of a function of the target, `predict` gives the target.

As in generalised linear models a link is called by the function of the target that the formula
is of: with ``"log1p"`` the formula gives log(1 + y), and `predict` gives y. A new one is added
here: what it does, what undoes it, and how that is written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nn2poly.arrays import FloatArray

Curve = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class TargetLink:
    """A function of the target that a formula is of.

    Parameters
    ----------
    text
        How people write it, with ``{y}`` for the target.
    forth, back
        From the target to what the formula gives, and back.
    back_text
        How people write the way back, with ``{z}`` for what the formula gives.
    """

    text: str
    forth: Curve
    back: Curve
    back_text: str

    def target(self, raw: FloatArray) -> FloatArray:
        """Turn what a formula gives into the target; infinite or NaN where there is none.

        Examples
        --------
        >>> TARGET_LINKS["log1p"].target(np.array([0.0, np.log(3.0)]))
        array([0., 2.])
        """
        with np.errstate(all="ignore"):
            return np.asarray(self.back(raw))


def is_linked_name(name: str) -> bool:
    """Say that the name of an output is that of a function of a target.

    Examples
    --------
    >>> is_linked_name("log1p(price)"), is_linked_name("price")
    (True, False)
    """
    ends = (link.text.split("{y}") for link in TARGET_LINKS.values())
    return any(name.startswith(begin) and name.endswith(end) for begin, end in ends)


TARGET_LINKS = {
    "log": TargetLink("log({y})", np.log, np.exp, "exp({z})"),
    "log1p": TargetLink("log1p({y})", np.log1p, np.expm1, "exp({z}) - 1"),
    "sqrt": TargetLink("sqrt({y})", np.sqrt, np.square, "{z}^2"),
    "inverse": TargetLink("1 / {y}", np.reciprocal, np.reciprocal, "1 / {z}"),
    "exp": TargetLink("exp({y})", np.exp, np.log, "log({z})"),
}
