"""What comes behind raw outputs: targets, probabilities, labels, in any infix language."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nn2poly.arguments import check_choice
from nn2poly.errors import InvalidInputError
from nn2poly.export.writing import Notation, spelling_of
from nn2poly.inputs.functions import Log
from nn2poly.outputs import Outputs
from nn2poly.target_links import TARGET_LINKS

KINDS = ("predict", "raw", "probability", "label")
# Logits are held here before they are exponentiated: exp(709) is the end of doubles.
MAX_LOGIT = 700.0


@dataclass(frozen=True)
class Ending:
    """How a language writes what comes behind raw outputs.

    Parameters
    ----------
    notation
        Of the language.
    exp
        Template of the exponential of ``{x}``.
    text
        Spells a text.
    both
        What stands between two conditions that must hold together.
    absent
        What a row has for a label whose raw output is missing; empty where the language passes
        that on by itself.
    held
        Whether a logit may be written several times, to be held where exp ends.
    """

    notation: Notation
    exp: str
    text: Callable[[str], str]
    both: str = " && "
    absent: str = ""
    held: bool = True

    def behind(self, outputs: Outputs, raw: Sequence[str], kind: str) -> list[str]:
        """Spell what is wanted of raw outputs that are spelled like this."""
        if kind == "target":
            return [self._target(outputs.link, z) for z in raw]
        return (self.labels if kind == "label" else self.probabilities)(outputs, raw)

    def _target(self, link: str, z: str) -> str:
        """Undo the link of a regression."""
        one, gap = self.notation.number(1.0), self.notation.gap
        if link == "sqrt":
            return f"({z}*{z})"
        if link == "inverse":
            return f"({one}/{z})"
        if link == "exp":
            return self._log(z)
        grown = self.exp.format(x=z)
        return f"({grown}{gap}-{gap}{one})" if link == "log1p" else grown

    def _log(self, z: str) -> str:
        text = spelling_of(Log(), self.notation.language).format(x=z)
        if not self.absent:
            return text
        # Engines stop at the logarithm of a negative number; elsewhere it is missing by itself.
        return self.notation.cases([(self._compare(z, ">", 0.0), text)], self.absent)

    def probabilities(self, outputs: Outputs, raw: Sequence[str]) -> list[str]:
        """Spell the probability of each output, of raw outputs that are spelled like this."""
        if outputs.link == "softmax":
            return [self._share(raw, k) for k in range(len(raw))]
        found = [self._sigmoid(z) for z in raw]
        if outputs.calibration is None:
            return found
        slope, shift = map(self.notation.signed, outputs.calibration)
        one, gap = self.notation.number(1.0), self.notation.gap
        inner = f"{slope}*{found[0]}{gap}+{gap}{shift}"
        return [f"({one}/({one}{gap}+{gap}{self.exp.format(x=inner)}))"]

    def labels(self, outputs: Outputs, raw: Sequence[str]) -> list[str]:
        """Spell the label: one, or one for each output where labels exclude nothing."""
        cut = outputs.cut()
        if outputs.link == "sigmoid":
            several = outputs.count > 1
            no, yes = ("0", "1") if several else map(self._class, outputs.classes or (0, 1))
            return [self._either(z, cut, yes, no) for z in raw]
        classes = [self._class(c) for c in outputs.classes or range(outputs.count)]
        if cut is not None:
            gap = self.notation.gap
            apart = f"({raw[1]}{gap}-{gap}{raw[0]})"
            return [self._either(apart, cut, classes[1], classes[0])]
        cases = [(self._largest(raw, k), classes[k]) for k in range(len(raw))]
        if self.absent:
            return [self.notation.cases(cases, self.absent)]
        return [self.notation.cases(cases[:-1], classes[-1])]

    def _either(self, z: str, cut: float | None, yes: str, no: str) -> str:
        sign, end = (">", 0.0) if cut is None else (">=", cut)
        reached, below = (self._compare(z, s, end) for s in (sign, "<=" if sign == ">" else "<"))
        if self.absent:
            return self.notation.cases([(reached, yes), (below, no)], self.absent)
        return self.notation.cases([(reached, yes)], no)

    def _class(self, label: Any) -> str:
        if isinstance(label, str):
            return self.text(label)
        return self.notation.signed(label) if isinstance(label, float) else str(int(label))

    def _compare(self, z: str, sign: str, number: float) -> str:
        gap = self.notation.gap
        return f"{z}{gap}{sign}{gap}{self.notation.signed(number)}"

    def _largest(self, raw: Sequence[str], k: int) -> str:
        gap = self.notation.gap
        others = [j for j in range(len(raw)) if j != k]
        # Brackets: Python's & binds more than a comparison does.
        return self.both.join(f"({raw[k]}{gap}>={gap}{raw[j]})" for j in others)

    def _held(self, z: str) -> str:
        return self.notation.held(z, -MAX_LOGIT, MAX_LOGIT) if self.held else f"({z})"

    def _sigmoid(self, z: str) -> str:
        one, gap = self.notation.number(1.0), self.notation.gap
        return f"({one}/({one}{gap}+{gap}{self.exp.format(x='-' + self._held(z))}))"

    def _share(self, raw: Sequence[str], k: int) -> str:
        """Give 1 / Σ_j exp(z_j - z_k): nothing overflows but to a share of 0."""
        one, gap = self.notation.number(1.0), self.notation.gap
        apart = (f"({z}{gap}-{gap}{raw[k]})" for j, z in enumerate(raw) if j != k)
        parts = [one, *(self.exp.format(x=self._held(text)) for text in apart)]
        return f"({one}/({f'{gap}+{gap}'.join(parts)}))"


def check_kind(kind: str, outputs: Outputs) -> str:
    """Give what is written: ``"raw"``, ``"target"`` behind a link, ``"probability"``, ``"label"``.

    Probabilities and labels of a regression are refused.

    Examples
    --------
    >>> check_kind("predict", Outputs(("y",))), check_kind("predict", Outputs(("y",), link="log"))
    ('raw', 'target')
    """
    chosen = check_choice(kind, KINDS, name="kind")
    if chosen == "predict":
        return "target" if outputs.link in TARGET_LINKS else "raw"
    if chosen != "raw" and not outputs.is_classifier:
        raise InvalidInputError(
            "A regression has no probabilities and no labels.",
            where="kind",
            expected="'predict' or 'raw'",
            found=repr(kind),
            remedy="leave kind out; or declare the classifier: convert(model, link=…, classes=…)",
        )
    return str(chosen)


def result_names(outputs: Outputs, kind: str) -> tuple[str, ...]:
    """Name what an export gives: the outputs, or one label.

    Examples
    --------
    >>> result_names(Outputs(("a", "b"), link="softmax"), "label")
    ('label',)
    """
    several = outputs.link == "sigmoid" and outputs.count > 1
    return ("label",) if kind == "label" and not several else outputs.names
