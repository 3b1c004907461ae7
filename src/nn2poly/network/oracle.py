"""`Oracle`: a model that cannot be looked into, only asked: a function from rows to outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nn2poly.arguments import plural
from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.inputs import Inputs
from nn2poly.inputs.forms import TableForm
from nn2poly.network.asking import asking_function, read_answer
from nn2poly.network.network import Network
from nn2poly.outputs import Outputs, output_names
from nn2poly.target_links import TARGET_LINKS

# Rows of one call: enough for a model to work at its speed (taste).
BATCH_ROWS = 16_384
# Answers that are remembered: steps of a conversion ask for the same rows again.
REMEMBERED = 32
# Probabilities nearer to 0 and 1 than this are taken for this: a forest of trees says 0 and 1
# where it only knows "less than one in a few hundred" (taste).
NEAREST = 1e-3


@dataclass(frozen=True, eq=False)
class Oracle:
    """A function from rows to outputs, with what is known of both.

    Parameters
    ----------
    function
        Takes a table as the user has it, gives outputs (n,) or (n, k).
    form
        Makes such tables from features.
    inputs, outputs
        As those of a `Network`.
    gives_probabilities
        The function gives probabilities; `predict` gives what comes before the link.

    Examples
    --------
    >>> from nn2poly.inputs.forms import table_inputs
    >>> inputs, form = table_inputs([np.zeros((2, 2))])
    >>> model = Oracle(lambda X: X[:, 0] * X[:, 1], form, inputs, Outputs.of(None, 1))
    >>> model.predict([[2.0, 3.0]])
    array([6.])
    """

    function: Callable[[Any], Any]
    form: TableForm
    inputs: Inputs
    outputs: Outputs
    gives_probabilities: bool = False
    _known: dict[tuple[tuple[int, ...], int], FloatArray] = field(default_factory=dict, repr=False)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the features; None when nobody gave any."""
        return self.inputs.feature_names if self.inputs.named else None

    @property
    def output_names(self) -> tuple[str, ...] | None:
        """The names of the outputs; None when nobody gave any."""
        return self.outputs.names if self.outputs.named else None

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The labels of a classifier."""
        return self.outputs.classes

    @property
    def link(self) -> str:
        """How raw outputs become probabilities."""
        return self.outputs.link

    @property
    def scale(self) -> FloatArray:
        """Array (p,): scale of the coordinates."""
        return self.inputs.scale

    @property
    def n_features(self) -> int:
        """Number of features p."""
        return self.inputs.n_features

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return self.outputs.count

    def check_data(self, X: Any, where: str = "X", *, allow_nan: bool = False) -> FloatArray:
        """Check a table of inputs and turn it into features: (n, p)."""
        return self.inputs.read(X, where=where, allow_nan=allow_nan)

    def predict(self, X: Any) -> FloatArray:
        """Ask the function, and give raw outputs (before the link): (n,) or (n, n_outputs)."""
        features = self.check_data(X)
        parts = [
            self._ask(features[i : i + BATCH_ROWS]) for i in range(0, len(features), BATCH_ROWS)
        ]
        raw = np.concatenate(parts)
        return raw[:, 0] if self.n_outputs == 1 else raw

    def with_inputs(self, inputs: Inputs) -> Oracle:
        """Give the same function with other knowledge of its columns."""
        return replace(self, inputs=inputs)

    def named(
        self, feature_names: Iterable[str] | None, output_names: Iterable[str] | None = None
    ) -> Oracle:
        """Give the same function with other names; None keeps what there is."""
        inputs = self.inputs if feature_names is None else self.inputs.renamed(feature_names)
        outputs = self.outputs if output_names is None else self.outputs.renamed(output_names)
        return replace(self, inputs=inputs, outputs=outputs)

    def _ask(self, features: FloatArray) -> FloatArray:
        rows = np.ascontiguousarray(features)
        key = (rows.shape, hash(rows.tobytes()))
        if key not in self._known:
            answer = read_answer(self.function, self.form.make(rows), len(rows)).values
            while len(self._known) >= REMEMBERED:
                self._known.pop(next(iter(self._known)))
            self._known[key] = self._raw(answer)
        return self._known[key]

    def _raw(self, answer: FloatArray) -> FloatArray:
        if self.gives_probabilities:
            answer = before_link(answer, self.link)
        elif self.link in TARGET_LINKS:
            answer = _linked(answer, self.link)
        if answer.shape[1] == self.n_outputs:
            return self.outputs.without_common(answer)
        raise InvalidInputError(
            "The function gives another number of outputs than before.",
            expected=plural(self.n_outputs, "output"),
            found=str(answer.shape[1]),
            remedy="give the same outputs for all rows",
        )

    def __repr__(self) -> str:
        return f"Oracle({plural(self.n_features, 'feature')} → {plural(self.n_outputs, 'output')})"


def are_probabilities(answer: FloatArray, link: str) -> bool:
    """Say whether all outputs (n, k) can be probabilities of this link."""
    within = bool(np.all((answer >= 0.0) & (answer <= 1.0)))
    return within and (link == "sigmoid" or bool(np.allclose(answer.sum(axis=1), 1.0, atol=1e-4)))


def likely_link(answer: FloatArray) -> str | None:
    """Give the link that outputs (n, k) can be probabilities of; None if there is none.

    Examples
    --------
    >>> likely_link(np.array([[0.2, 0.3, 0.5]])), likely_link(np.array([[0.2, 0.8]]))
    ('softmax', 'sigmoid')
    """
    if answer.shape[1] > 2 and are_probabilities(answer, "softmax"):
        return "softmax"
    return "sigmoid" if are_probabilities(answer, "sigmoid") else None


def before_link(answer: FloatArray, link: str) -> FloatArray:
    """Give the raw outputs (n, k) that a link turns into these probabilities.

    Of two columns that a sigmoid gives, the second is taken.

    Examples
    --------
    >>> before_link(np.array([[0.5, 0.5]]), "sigmoid")
    array([[0.]])
    """
    p = np.clip(answer, NEAREST, 1.0 - NEAREST)
    if link == "softmax":
        return np.log(p)
    chosen = p[:, 1:] if is_pair(answer) else p
    return np.asarray(np.log(chosen) - np.log1p(-chosen))


def _linked(answer: FloatArray, link: str) -> FloatArray:
    """Apply the link to targets (n, k) that a function gives."""
    with np.errstate(all="ignore"):
        raw = np.asarray(TARGET_LINKS[link].forth(answer))
    bad = np.flatnonzero(~np.isfinite(raw).all(axis=1))
    if bad.size:
        raise InvalidInputError(
            "The link does not fit what the function gives.",
            where="link",
            expected=f"outputs of which {TARGET_LINKS[link].text.format(y='y')} is a number",
            found=f"{answer[bad[0]].tolist()} for one of {len(answer):,} rows",
            remedy="choose another link, or none",
        )
    return raw


def is_pair(answer: FloatArray) -> bool:
    """Say whether outputs (n, 2) are the probabilities of no and yes."""
    return answer.shape[1] == 2 and bool(np.allclose(answer.sum(axis=1), 1.0, atol=1e-4))


def oracle_of(
    function: Callable[[Any], Any],
    form: TableForm,
    inputs: Inputs,
    example: FloatArray,
    *,
    link: str | None = None,
    classes: Iterable[Any] | None = None,
) -> Oracle:
    """Ask a function for a few rows, and tell what its outputs are.

    Parameters
    ----------
    form, inputs
        The tables that it takes, and their columns.
    example
        Array (n, p) of features.
    link, classes
        What the user says of the outputs. Without a word, those of a method ``predict_proba``
        are fitted before their link.
    """
    asked = asking_function(function)
    answer = read_answer(asked, form.make(example), len(example))
    if link is None and getattr(function, "__name__", "") == "predict_proba":
        link = likely_link(answer.values)
    if link in (None, "identity", *TARGET_LINKS):
        outputs = Outputs.of(answer.names, answer.values.shape[1], classes, link or "identity")
        return Oracle(asked, form, inputs, outputs)
    chosen = str(link)
    chances = are_probabilities(answer.values, chosen)
    count = answer.values.shape[1]
    if chances and chosen == "sigmoid" and is_pair(answer.values):
        count = 1
    known = classes if classes is not None else getattr(_owner(function), "classes_", None)
    labels = None if known is None else tuple(np.asarray(list(known), dtype=object).tolist())
    wanted = 2 if chosen == "sigmoid" and count == 1 else count
    if labels is not None and len(labels) != wanted:
        raise InvalidInputError(
            "The classes do not fit the outputs of the function.",
            where="classes",
            expected=f"{wanted} classes",
            found=str(len(labels)),
        )
    names = answer.names if count == answer.values.shape[1] else None
    outputs = Outputs.of(names or output_names(labels, count), count, labels, chosen)
    return Oracle(asked, form, inputs, outputs, gives_probabilities=chances)


def _owner(function: Any) -> Any:
    return getattr(function, "__self__", None)


# What is converted: layers that were read, or a function that can only be asked.
Model = Network | Oracle
