"""`Outputs`: what comes out: names, classes, and the link to probabilities or to the target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nn2poly.arguments import check_choice, check_names
from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.links import CLASSIFIERS, LINKS, labels, logit, probabilities, sigmoid
from nn2poly.plain import plain_flag, plain_list, plain_number, plain_object, plain_texts
from nn2poly.target_links import TARGET_LINKS

# Scales on which effects are told: before the link, or behind it.
SCALES = ("raw", "probability", "target")


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
        How raw outputs become what is predicted: ``"identity"``; probabilities through
        ``"sigmoid"`` or ``"softmax"``; or the target of a regression whose formula is of its
        ``"log"``, ``"log1p"``, ``"sqrt"``, ``"inverse"`` or ``"exp"``. A softmax does not see what
        all its outputs have in common: those of a formula that `convert` makes sum to 0.
    named
        Whether somebody gave the names.
    threshold
        The probability of the second of two classes (or of a label) from which on it is chosen;
        None for the most probable class.
    calibration
        For a binary classifier whose probability p is calibrated (Platt): the pair (a, b) of
        1 / (1 + exp(a p + b)).

    Examples
    --------
    >>> Outputs.of(None, 2, link="softmax").names
    ('y1', 'y2')
    """

    names: tuple[str, ...]
    classes: tuple[Any, ...] | None = None
    link: str = "identity"
    named: bool = True
    threshold: float | None = None
    calibration: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        check_choice(self.link, LINKS, name="link")
        if self.classes is not None and self.link in TARGET_LINKS:
            raise InvalidInputError(
                "A regression has no classes.",
                where="classes",
                expected="None, or the link of a classifier: 'sigmoid' or 'softmax'",
                found=f"{len(self.classes)} classes, link {self.link!r}",
            )
        if self.threshold is not None:
            object.__setattr__(self, "threshold", self.check_threshold(self.threshold))
        if self.calibration is not None and not (self.is_binary and self.calibration[0] < 0):
            raise InvalidInputError(
                "The calibration does not fit the outputs.",
                where="calibration",
                expected="one sigmoid output, and a probability that grows with the model's",
                found=f"{self.count} outputs, link {self.link!r}, slope {self.calibration[0]:.4g}",
            )

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

    def declared(
        self,
        link: str | None = None,
        classes: Iterable[Any] | None = None,
        threshold: float | None = None,
    ) -> Outputs:
        """Give the same outputs as those of a classifier, where the model does not say so.

        Classes alone make one output a sigmoid and several a softmax; outputs without names are
        called after them.

        Examples
        --------
        >>> Outputs.of(None, 1).declared(classes=["no", "yes"], threshold=0.3)
        Outputs(names=('yes',), classes=('no', 'yes'), link='sigmoid', named=True, threshold=0.3, \
calibration=None)
        """
        given = None if classes is None else tuple(classes)
        if given is not None and link is None and self.link == "identity":
            link = "sigmoid" if self.count == 1 else "softmax"
        if link is not None and self.link not in ("identity", link):
            raise InvalidInputError(
                "The model has another link.",
                where="link",
                expected=repr(self.link),
                found=repr(link),
                remedy="leave link out",
            )
        known = replace(self, link=self.link if link is None else link)
        if given is not None:
            known = known._of_classes(given)
        return known if threshold is None else replace(known, threshold=threshold)

    def _of_classes(self, classes: tuple[Any, ...]) -> Outputs:
        expected = 2 if self.is_binary else self.count
        if len(classes) != expected or len(set(classes)) != expected:
            raise InvalidInputError(
                "The classes do not match the outputs.",
                where="classes",
                expected=f"{expected} different classes, in the order of the outputs",
                found=f"{len(classes)}: {', '.join(map(repr, classes[:10]))}",
            )
        names = output_names(classes, self.count)
        if self.named or names is None:
            return replace(self, classes=classes)
        return replace(self.renamed(names), classes=classes)

    def raw(self) -> Outputs:
        """Give the same names without link and classes."""
        return Outputs(self.names, named=self.named)

    @property
    def is_classifier(self) -> bool:
        """Say that the link leads to probabilities."""
        return self.link in CLASSIFIERS

    @property
    def scale_names(self) -> tuple[str, ...]:
        """What the formula gives, in words: ``log1p(price)`` where that is its link.

        Examples
        --------
        >>> Outputs(("price",), link="log1p").scale_names
        ('log1p(price)',)
        """
        known = TARGET_LINKS.get(self.link)
        return self.names if known is None else tuple(known.text.format(y=n) for n in self.names)

    def predictions(self, raw: FloatArray) -> FloatArray:
        """Turn raw outputs (n, k) into what `predict` gives: the target, or of a classifier logits.

        Examples
        --------
        >>> Outputs(("price",), link="sqrt").predictions(np.array([[3.0]]))
        array([[9.]])
        """
        known = TARGET_LINKS.get(self.link)
        return raw if known is None else known.target(raw)

    def without_common(self, raw: FloatArray) -> FloatArray:
        """Subtract from raw outputs (n, k) of a softmax their mean, which changes no probability.

        Examples
        --------
        >>> Outputs(("a", "b"), link="softmax").without_common(np.array([[100.0, 102.0]]))
        array([[-1.,  1.]])
        """
        return raw - raw.mean(axis=1, keepdims=True) if self.link == "softmax" else raw

    def check_scale(self, kind: str) -> str:
        """Check the scale on which effects are told.

        ``"raw"``, before the link; ``"probability"`` of a classifier, ``"target"`` of a regression.
        """
        chosen = check_choice(kind, SCALES, name="kind")
        if chosen != "raw" and self.is_classifier != (chosen == "probability"):
            what = "classifier" if self.is_classifier else "regression"
            raise InvalidInputError(
                f"A {what} is not told as {chosen}.",
                where="kind",
                expected="'raw' or 'probability'" if self.is_classifier else "'raw' or 'target'",
                found=repr(kind),
            )
        return str(chosen)

    def on_scale(self, raw: FloatArray, kind: str) -> FloatArray:
        """Turn raw outputs (n, k) into those of a scale; of two classes into P of the second.

        Examples
        --------
        >>> Outputs(("yes",), link="sigmoid").on_scale(np.array([[0.0]]), "probability")
        array([[0.5]])
        """
        if kind != "probability":
            return raw if kind == "raw" else self.predictions(raw)
        chances = self.probabilities(raw)
        return chances[:, 1:] if self.is_binary else chances

    def names_on(self, kind: str) -> tuple[str, ...]:
        """Name the outputs on a scale.

        Examples
        --------
        >>> Outputs(("yes",), link="sigmoid").names_on("probability")
        ('P(yes)',)
        """
        if kind != "probability":
            return self.scale_names if kind == "raw" else self.names
        known = self.classes[1:] if self.is_binary and self.classes is not None else self.names
        return tuple(f"P({name})" for name in known)

    @property
    def is_binary(self) -> bool:
        """Say that one sigmoid output chooses between two classes."""
        return self.link == "sigmoid" and self.count == 1

    def probabilities(self, raw: FloatArray) -> FloatArray:
        """Turn raw outputs (n, k) into probabilities; see `nn2poly.links`.

        Examples
        --------
        >>> outputs = Outputs(("y",), link="sigmoid", calibration=(-4.0, 2.0))
        >>> outputs.probabilities(np.array([[0.0], [np.log(3.0)]])).round(3)
        array([[0.5  , 0.5  ],
               [0.269, 0.731]])
        """
        if self.calibration is None:
            return probabilities(raw, self.link)
        slope, shift = self.calibration
        inner = slope * sigmoid(np.asarray(raw, dtype=np.float64)) + shift
        return sigmoid(np.hstack([inner, -inner]))

    def labels(self, raw: FloatArray, threshold: float | None = None) -> NDArray[Any]:
        """Turn raw outputs (n, k) into labels, at this threshold or the outputs' own."""
        return labels(raw, self.link, self.classes, cut=self.cut(threshold))

    def cut(self, threshold: float | None = None) -> float | None:
        """Give the logit from which on the second class (or a label) is chosen.

        None where the most probable class is: no threshold is given, nor a calibration.

        Examples
        --------
        >>> Outputs(("y",), link="sigmoid", threshold=0.5).cut()
        0.0
        """
        limit = self.threshold if threshold is None else self.check_threshold(threshold)
        if self.calibration is None:
            return None if limit is None else logit(limit)
        slope, shift = self.calibration
        return logit((-logit(0.5 if limit is None else limit) - shift) / slope)

    def check_threshold(self, threshold: Any) -> float:
        """Check a probability from which on a class is chosen."""
        is_number = isinstance(threshold, int | float | np.number)
        if not is_number or isinstance(threshold, bool) or not 0.0 < threshold < 1.0:
            raise InvalidInputError(
                "The threshold is not a probability.",
                where="threshold",
                expected="a number between 0 and 1",
                found=repr(threshold),
            )
        if not self.is_classifier or (self.link == "softmax" and self.count != 2):
            raise InvalidInputError(
                "A threshold chooses between two classes.",
                where="threshold",
                expected="a classifier of two classes, or of labels that exclude nothing",
                found=f"{self.count} classes" if self.is_classifier else "a regression",
                remedy="leave the threshold out",
            )
        return float(threshold)

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
            "threshold": self.threshold,
            "calibration": None if self.calibration is None else list(self.calibration),
        }

    @classmethod
    def from_dict(cls, data: Any) -> Outputs:
        """Rebuild outputs from `to_dict`."""
        names_of = ("names", "classes", "link", "named", "threshold", "calibration")
        fields = plain_object(data, names_of)
        names, classes = plain_texts(fields["names"]), fields["classes"]
        if classes is not None and not all(map(_is_label, plain_list(classes))):
            raise ValueError("a class is not a label")
        outputs = cls.of(names, max(1, len(names)), classes, fields["link"])
        limit, pair = fields["threshold"], fields["calibration"]
        if pair is not None:
            slope, shift = map(plain_number, plain_list(pair))
            pair = slope, shift
        return replace(
            outputs,
            named=plain_flag(fields["named"]),
            threshold=None if limit is None else plain_number(limit),
            calibration=pair,
        )


def output_names(classes: Sequence[Any] | None, n_outputs: int) -> list[str] | None:
    """Name outputs by class; the one output of a binary classifier speaks for the second.

    None when there are no classes, or two would have the same name.

    Examples
    --------
    >>> output_names(["no", "yes"], 1), output_names([1, "1"], 2)
    (['yes'], None)
    """
    if classes is None:
        return None
    # A class may be the empty string; a name may not.
    names = [str(name) or "''" for name in (classes[-1:] if n_outputs == 1 else classes)]
    return names if len(set(names)) == len(names) else None


def _is_label(value: Any) -> bool:
    return isinstance(value, str | int | float)  # a bool is an int
