"""`Outputs`: what comes out: names, classes, and the link to probabilities."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nn2poly.arguments import check_choice, check_names
from nn2poly.arrays import FloatArray
from nn2poly.links import LINKS, labels, probabilities
from nn2poly.plain import plain_flag, plain_list, plain_object, plain_texts


@dataclass(frozen=True)
class Outputs:
    """The outputs of a network or a formula.

    Parameters
    ----------
    names
        One per output.
    classes
        The labels of a classifier, in the order of its probabilities; None for 0, 1, ….
    link
        How raw outputs become probabilities: ``"identity"``, ``"sigmoid"``, ``"softmax"``.
    named
        Whether somebody gave the names.

    Examples
    --------
    >>> Outputs.of(None, 2, link="softmax").names
    ('y1', 'y2')
    """

    names: tuple[str, ...]
    classes: tuple[Any, ...] | None = None
    link: str = "identity"
    named: bool = True

    def __post_init__(self) -> None:
        check_choice(self.link, LINKS, name="link")

    @classmethod
    def of(
        cls,
        names: Iterable[str] | None,
        count: int,
        classes: Iterable[Any] | None = None,
        link: str = "identity",
    ) -> Outputs:
        """Make outputs: names, or how many."""
        checked = check_names(names, count, kind="output", default_prefix="y")
        given = None if classes is None else tuple(classes)
        return cls(checked, given, link, named=names is not None)

    @property
    def count(self) -> int:
        """Number of outputs."""
        return len(self.names)

    def renamed(self, names: Iterable[str]) -> Outputs:
        """Give the same outputs with other names."""
        checked = check_names(names, self.count, kind="output", default_prefix="y")
        return replace(self, names=checked, named=True)

    def raw(self) -> Outputs:
        """Give the same names without link and classes."""
        return replace(self, classes=None, link="identity")

    def probabilities(self, raw: FloatArray) -> FloatArray:
        """Turn raw outputs (n, k) into probabilities; see `nn2poly.links`."""
        return probabilities(raw, self.link)

    def labels(self, raw: FloatArray) -> NDArray[Any]:
        """Turn raw outputs (n, k) into labels; see `nn2poly.links`."""
        return labels(raw, self.link, self.classes)

    def to_dict(self) -> dict[str, Any]:
        """Give plain data for a file; NumPy's own numbers become Python's."""
        classes = self.classes
        if classes is not None:
            classes = tuple(c.item() if isinstance(c, np.generic) else c for c in classes)
        return {
            "names": list(self.names),
            "classes": None if classes is None else list(classes),
            "link": self.link,
            "named": self.named,
        }

    @classmethod
    def from_dict(cls, data: Any) -> Outputs:
        """Rebuild outputs from `to_dict`."""
        fields = plain_object(data, ("names", "classes", "link", "named"))
        names, classes = plain_texts(fields["names"]), fields["classes"]
        if classes is not None and not all(map(_is_label, plain_list(classes))):
            raise ValueError("a class is not a label")
        outputs = cls.of(names, max(1, len(names)), classes, fields["link"])
        return replace(outputs, named=plain_flag(fields["named"]))


def _is_label(value: Any) -> bool:
    return isinstance(value, str | int | float)  # a bool is an int
