"""`fidelity`: how closely a polynomial follows its network, on rows that you choose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from nn2poly.arguments import listed
from nn2poly.arrays import FloatArray
from nn2poly.assess.guarantee import guarantee
from nn2poly.assess.regions import worst_regions
from nn2poly.assess.tails import find_tail, worst_rows
from nn2poly.assess.verdict import verdict
from nn2poly.cards import QUANTILES, FidelityCard, OutputFidelity
from nn2poly.errors import InvalidInputError
from nn2poly.inputs import Inputs, held_features, read_either, share_beyond
from nn2poly.inputs.held import NAMED
from nn2poly.links import labels, probabilities
from nn2poly.network.network import Network
from nn2poly.network.readers import read_network
from nn2poly.streams import read_evenly
from nn2poly.verdicts import Held, HeldColumn, Verdict, grade


class Approximation(Protocol):
    """What is compared with a network: a `Polynomial` or a `PolynomialNetwork`."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""

    @property
    def inputs(self) -> Inputs:
        """What its columns are."""

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs."""

    def outputs_by_order(self, X: FloatArray) -> list[FloatArray]:
        """Give the raw outputs (n, n_outputs) with the terms up to order 0, 1, …, Q."""

    def count_outside(self, X: FloatArray) -> int:
        """Count the rows outside the calibrated range."""


def fidelity(model: Any, poly: Approximation, X: Any) -> FidelityCard:
    """Compare a polynomial with the network that it came from.

    Parameters
    ----------
    model
        The network: anything that `read_network` reads.
    poly
        Its polynomial, explicit or in factored form.
    X
        Array or data frame (n, p) in raw units, best rows that the conversion did not see;
        or a stream of them (a data file, an Arrow dataset, a lazy frame, a Dask collection),
        of which an even choice of at most 200,000 rows is compared.

    Returns
    -------
    FidelityCard

    Examples
    --------
    >>> import nn2poly as n2p
    >>> net = n2p.Network([n2p.Layer([[0.5], [0.2]], [0.0], "tanh"), n2p.Layer([[1.0]], [3.0])])
    >>> card = n2p.fidelity(net, n2p.convert(net, 3), [[0.1, 0.2], [0.3, -0.1], [0.0, 0.5]])
    >>> card.max_error < 1e-4
    True
    """
    network = read_network(model)
    check_pair(network, poly, "fidelity")
    rows = read_evenly(X, lambda table: read_either(table, poly.inputs, network.inputs))
    return make_card(network, poly, rows)


def make_card(
    network: Network,
    poly: Approximation,
    X: FloatArray,
    *,
    held_out: bool | None = None,
    per_layer: Sequence[float] = (),
    path: Sequence[tuple[int, int, float]] = (),
    target_r2: float | None = None,
    row_numbers: npt.NDArray[np.intp] | None = None,
) -> FidelityCard:
    """Fill a card from checked rows X (n, p) in raw units.

    Parameters
    ----------
    held_out
        True when the conversion did not see the rows, False when it fitted these very rows,
        None when nobody knows.
    per_layer, path, target_r2
        What the conversion tells about itself; see `FidelityCard`.
    row_numbers
        Array (n,): numbers of the rows in the data that the user passed; 0, 1, … by default.
    """
    truth = _columns(network.predict(X))
    by_order = poly.outputs_by_order(X)
    error = truth - by_order[-1]
    numbers = np.arange(len(X)) if row_numbers is None else row_numbers
    outputs = enumerate(poly.output_names)
    per_output = {name: _output(truth[:, k], error[:, k], numbers) for k, name in outputs}
    spread = np.array([o.spread or 1.0 for o in per_output.values()])
    size = np.max(np.abs(error) / spread, axis=1)
    agreement, difference, within = _classified(network, truth, by_order[-1])
    r2 = mean_r2(truth, by_order[-1])
    most = np.delete(np.arange(len(X)), worst_rows(size))
    trimmed = mean_r2(truth[most], by_order[-1][most]) if len(most) else float("nan")
    fitted = held_out is False
    bare = Verdict(grade(r2, fitted=fitted), r2, len(X), fitted, len(by_order) - 1)
    card = FidelityCard(
        n_rows=len(X),
        held_out=bool(held_out),
        r2=r2,
        rmse=float(np.sqrt(np.mean(error**2))),
        max_error=float(np.max(np.abs(error))),
        agreement=agreement,
        probability_error=difference,
        per_output=per_output,
        per_order=(*(_level_r2(truth, guess) for guess in by_order[:-1]), r2),
        per_layer=tuple(per_layer),
        regions=worst_regions(X, size, poly.inputs),
        guarantee=replace(guarantee(error), held_out=held_out, any_use=not r2 < 0.0),
        verdict=bare,
        outside=poly.count_outside(X),
        path=tuple(path),
        r2_without_worst=trimmed,
        probability_within=within,
        target_r2=target_r2,
    )
    tail = find_tail(X, size, r2, trimmed, poly.feature_names)
    if tail is not None:
        tail = replace(tail, held=poly.inputs.are_bounded)
    held, entering = _held(poly.inputs, X), poly.inputs.transforms
    said = verdict(card, tail=tail, held=held, fitted=fitted, entering=entering)
    return replace(card, verdict=said)


def _held(inputs: Inputs, X: FloatArray) -> Held | None:
    """Find the columns whose bounds cut what the conversion saw, and rows of X (n, p)."""
    share = share_beyond(inputs, X)
    cut = sorted((j for j in held_features(inputs) if share[j] > 0), key=lambda j: -share[j])
    if not cut:
        return None
    named = [(j, inputs.coordinates[j].function) for j in cut[:NAMED]]
    columns = (
        HeldColumn(inputs.feature_names[j], _end(f.low), _end(f.high), float(share[j]))
        for j, f in named
    )
    return Held(tuple(columns), max(0, len(cut) - NAMED))


def _end(bound: float) -> float | None:
    return float(bound) if np.isfinite(bound) else None


def mean_r2(truth: FloatArray, guess: FloatArray) -> float:
    """Average R² over the outputs (columns) that vary; NaN when none does.

    Examples
    --------
    >>> truth = np.array([[0.0, 5.0], [2.0, 5.0]])
    >>> mean_r2(truth, truth)
    1.0
    """
    values = [_r2(truth[:, k], truth[:, k] - guess[:, k]) for k in range(truth.shape[1])]
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def _level_r2(truth: FloatArray, guess: FloatArray) -> float:
    """R² once the level is right: leaving out squares shifts the mean, which any order corrects."""
    return mean_r2(truth, guess - guess.mean(axis=0) + truth.mean(axis=0))


def _r2(truth: FloatArray, error: FloatArray) -> float:
    spread = float(np.sum((truth - truth.mean()) ** 2))
    # A spread at the level of rounding is no spread: R² would be noise.
    floor = len(truth) * (8 * np.finfo(float).eps * float(np.max(np.abs(truth)))) ** 2
    return 1.0 - float(error @ error) / spread if spread > floor else float("nan")


def _output(truth: FloatArray, error: FloatArray, numbers: npt.NDArray[np.intp]) -> OutputFidelity:
    size = np.abs(error)
    return OutputFidelity(
        r2=_r2(truth, error),
        rmse=float(np.sqrt(np.mean(error**2))),
        max_error=float(np.max(size)),
        worst_row=int(numbers[np.argmax(size)]),
        spread=float(np.ptp(truth)),
        quantiles=tuple(np.quantile(size, QUANTILES).tolist()),
    )


def _classified(
    network: Network, truth: FloatArray, guess: FloatArray
) -> tuple[float | None, float | None, float | None]:
    """Compare labels (share of rows alike) and probabilities.

    Their mean absolute difference, and the largest one of a row, at 95 % of the rows.
    """
    if network.link == "identity":
        return None, None, None
    pair = [labels(raw, network.link, network.classes) for raw in (truth, guess)]
    same = pair[0] == pair[1]
    chances = [probabilities(raw, network.link) for raw in (truth, guess)]
    difference = np.abs(chances[0] - chances[1])
    agreement = float(np.mean(same if same.ndim == 1 else same.all(axis=1)))
    within = float(np.quantile(difference.max(axis=1), 0.95))
    return agreement, float(np.mean(difference)), within


def check_pair(network: Network, poly: Approximation, caller: str) -> None:
    """Refuse what is not a polynomial of this network; ``caller`` is the function to name."""
    if not hasattr(poly, "outputs_by_order"):
        raise InvalidInputError(
            "This is not a polynomial.",
            where=f"the second argument of {caller}",
            expected="a Polynomial or a PolynomialNetwork",
            found=type(poly).__name__,
            remedy=f"call {caller}(model, poly, X)",
        )
    expected = (network.n_features, network.n_outputs)
    found = (len(poly.feature_names), len(poly.output_names))
    if expected != found:
        raise InvalidInputError(
            "This polynomial does not belong to this network.",
            expected=f"{expected[0]} features and {expected[1]} outputs, as the network has",
            found=f"{found[0]} features and {found[1]} outputs",
            remedy="convert this network, or pass the network that was converted",
        )
    names, others = network.feature_names, poly.feature_names
    if names is not None and names != others and set(names) == set(others):
        raise InvalidInputError(
            "The polynomial has the features of the network in another order.",
            where=f"the second argument of {caller}",
            expected=listed(names),
            found=listed(others),
            remedy="convert this network, or pass the network that was converted",
        )


def _columns(raw: FloatArray) -> FloatArray:
    return raw[:, None] if raw.ndim == 1 else raw
