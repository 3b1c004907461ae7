"""`fidelity`: how closely a polynomial follows its network, on rows that you choose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from nn2poly.arguments import listed, real_array
from nn2poly.arrays import FloatArray
from nn2poly.assess.alike_rows import find_alike
from nn2poly.assess.compared import comparable
from nn2poly.assess.guarantee import guarantee
from nn2poly.assess.interval import r2_interval
from nn2poly.assess.label_agreement import measure_labels, read_labels, worst_label
from nn2poly.assess.mixed_columns import mix_columns
from nn2poly.assess.regions import worst_regions
from nn2poly.assess.tails import find_tail, worst_rows
from nn2poly.assess.verdict import verdict
from nn2poly.batches import is_shuffled
from nn2poly.cards import QUANTILES, FidelityCard, OutputFidelity
from nn2poly.errors import InvalidInputError
from nn2poly.formula.piecewise import PiecewisePolynomial
from nn2poly.formula.polynomial import Polynomial
from nn2poly.inputs import (
    Inputs,
    check_missing,
    check_row_labels,
    complete_rows,
    held_features,
    offering_skip,
    read_either,
    share_beyond,
)
from nn2poly.inputs.held import NAMED
from nn2poly.network.oracle import Model, Oracle
from nn2poly.outputs import Outputs
from nn2poly.sampling import Keys, distinct, group_keys, own_order, row_keys
from nn2poly.streams import is_stream, read_evenly
from nn2poly.verdicts import MIN_JUDGED, Alike, Held, HeldColumn, JudgedAs, Observed, Verdict


class Approximation(Protocol):
    """What is compared with a network: a `Polynomial` or a `PolynomialNetwork`."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""

    @property
    def inputs(self) -> Inputs:
        """What its columns are."""

    @property
    def outputs(self) -> Outputs:
        """What its outputs are."""

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs."""

    def outputs_by_order(self, X: FloatArray) -> list[FloatArray]:
        """Give the raw outputs (n, n_outputs) with the terms up to order 0, 1, …, Q."""

    def count_outside(self, X: FloatArray) -> int:
        """Count the rows outside the calibrated range."""


@dataclass(frozen=True)
class JudgingRows:
    """Rows that a card is made of.

    Parameters
    ----------
    X
        Array (n, p) in raw units.
    weights
        Array (n,).
    keys
        Array (n,): equal for rows that belong together, or are the same.
    numbers
        Array (n,): places of the rows in the data that the user passed.
    """

    X: FloatArray
    weights: FloatArray
    keys: Keys
    numbers: npt.NDArray[np.intp]

    @classmethod
    def of(
        cls, X: FloatArray, weights: FloatArray | None = None, groups: npt.ArrayLike | None = None
    ) -> JudgingRows:
        """Take rows (n, p) as they are; rows without weight are left out."""
        keys = row_keys(X) if groups is None else group_keys(groups, len(X))
        kept = np.ones(len(X)) if weights is None else weights
        heavy = np.flatnonzero(kept > 0)
        return cls(X[heavy], kept[heavy], keys[heavy], heavy)


def fidelity(
    model: Any,
    poly: Approximation,
    X: Any,
    y: Any = None,
    *,
    sample_weight: npt.ArrayLike | None = None,
    groups: npt.ArrayLike | None = None,
    threshold: float | None = None,
    missing: str = "refuse",
    after: str | None = None,
    output: str | int | None = None,
) -> FidelityCard:
    """Compare a polynomial with the network, or the function, that it came from.

    Parameters
    ----------
    model
        Anything that `read_network` reads (what is read is compared with the model itself first);
        or any function from rows as ``X`` has them to outputs. It is also asked for at most 1,000
        rows with shuffled columns.
    poly
        Its polynomial, explicit or in factored form.
    X
        Array or data frame (n, p) in raw units, best rows that the conversion did not see;
        or a stream of them (a data file, an Arrow dataset, a lazy frame, a Dask collection),
        of which an even choice of at most 200,000 rows is compared.
    y
        Array (n,) or (n, k): what was observed, if known; of a classifier, the true labels. The
        card then begins with how well the network itself does: a faithful formula of a bad
        network is no good model.
    sample_weight
        Array (n,): weights of the rows; not with a stream.
    groups
        Array (n,): rows that belong together (patients, days), by number or name, which the
        interval of R² draws together; not with a stream. Equal rows always are.
    threshold
        For a classifier of two classes: the probability from which the second is chosen,
        instead of the polynomial's own threshold.
    missing
        What becomes of rows with a missing value that nothing fills in: ``"refuse"`` raises an
        error that names them, ``"skip"`` leaves them out.
    after
        For a pipeline: the step after which the formula begins, as in `nn2poly.convert`; ``X``
        holds what that step gives.
    output
        For a model with several outputs, the one that the polynomial describes; by default the
        one with its name.

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
    check_polynomial(poly, "fidelity")
    check_row_labels(X, y=y, sample_weight=sample_weight, groups=groups)
    network = comparable(model, poly.inputs, poly.outputs, X, after=after, output=output)
    check_pair(network, poly, "fidelity")
    skip, pair = check_missing(missing), (poly.inputs, network.inputs)
    with offering_skip():
        rows = read_evenly(X, lambda table: read_either(table, *pair, allow_nan=skip))
    for name, given in (("y", y), ("sample_weight", sample_weight), ("groups", groups)):
        if given is not None and is_stream(X):
            raise InvalidInputError(
                f"{name} goes with an array or a data frame.",
                where=name,
                expected="rows in memory beside it",
                found="a stream of rows",
                remedy="read some of the rows, and pass them with it",
            )
    rows = rows[own_order(rows)] if is_shuffled(X) else rows
    weights = np.ones(len(rows)) if sample_weight is None else _weights(sample_weight, len(rows))
    judging = JudgingRows.of(rows, np.where(complete_rows(rows, "X"), weights, 0.0), groups)
    network = replace(network, outputs=_outputs(network, poly, threshold))
    alike = find_alike(judging.X, poly.inputs) if groups is None and not is_stream(X) else None
    make = partial(make_card, network, poly, judging.X, rows=judging, alike=alike)
    if y is None:
        return make()
    if not network.outputs.is_classifier:
        return _observed(make(), network, poly, judging, _numbers(y, len(rows))[judging.numbers])
    labels = read_labels(y, len(rows))[judging.numbers]
    return _observed(make(labels=labels), network, poly, judging, labels)


def _weights(given: npt.ArrayLike, n_rows: int) -> FloatArray:
    weights: FloatArray = real_array(given, "sample_weight")
    if weights.shape != (n_rows,) or np.any(weights < 0) or not weights.any():
        raise InvalidInputError(
            "The weights of the rows cannot be used.",
            where="sample_weight",
            expected=f"{n_rows} finite numbers, none negative, some positive",
            found=f"shape {weights.shape}",
        )
    return weights


def _numbers(y: Any, n_rows: int) -> FloatArray:
    """Read what was observed of a regression: (n, k)."""
    seen: FloatArray = real_array(y, "y")
    if len(seen) != n_rows:
        raise InvalidInputError(
            "What was observed does not go with the rows.",
            where="y",
            expected=f"{n_rows:,} values",
            found=f"shape {seen.shape}",
        )
    return _columns(seen)


def _observed(
    card: FidelityCard, network: Model, poly: Approximation, rows: JudgingRows, seen: Any
) -> FidelityCard:
    """Add how well the network, and the formula in its place, do against what was observed."""
    raw = [_columns(network.predict(rows.X)), poly.outputs_by_order(rows.X)[-1]]
    if not network.outputs.is_classifier:
        guesses = (network.outputs.predictions(values) for values in raw)
        found = Observed("R2", *(mean_r2(seen, guess, rows.weights) for guess in guesses))
    else:
        said = [network.outputs.labels(values) for values in raw]
        right = [np.asarray(label == seen.reshape(label.shape)) for label in said]
        share = [r if r.ndim == 1 else r.all(axis=1) for r in right]
        found = Observed("accuracy", *(float(np.average(s, weights=rows.weights)) for s in share))
    reasons = (found, *card.verdict.reasons)
    return replace(card, observed=found, verdict=replace(card.verdict, reasons=reasons))


def _outputs(network: Model, poly: Approximation, threshold: float | None) -> Outputs:
    """Give what the outputs are: the polynomial knows it where the network gives logits."""
    known = poly.outputs if poly.outputs.link != "identity" else network.outputs
    return known if threshold is None else replace(known, threshold=threshold)


def make_card(
    network: Model,
    poly: Approximation,
    X: FloatArray,
    *,
    rows: JudgingRows | None = None,
    by_order: list[FloatArray] | None = None,
    n_folds: int = 0,
    held_out: bool | None = None,
    outside: int | None = None,
    per_layer: Sequence[float] = (),
    path: Sequence[tuple[int, int, float]] = (),
    target_r2: float | None = None,
    labels: npt.NDArray[Any] | None = None,
    outputs: FloatArray | None = None,
    alike: Alike | None = None,
) -> FidelityCard:
    """Fill a card from checked rows X (n, p) in raw units.

    Parameters
    ----------
    held_out
        True when the conversion did not see the rows, False when it fitted these very rows,
        None when nobody knows.
    per_layer, path, target_r2
        What the conversion tells about itself; see `FidelityCard`.
    rows
        X with its weights and groups; all weigh 1 by default.
    by_order, n_folds
        What formulas that did not see the rows say of them, by order, and how many formulas they
        are; by default what ``poly`` says.
    outside
        How many rows lie outside the range of those that were fitted; by default, outside the
        range that ``poly`` knows of.
    labels
        Array (n,): the true labels of the rows, for a classifier; None if nobody gave them.
    outputs
        Array (m, k): outputs of the network on more rows, which tell more of their tails.
    alike
        Why the rows of the whole table are not independent, if they are not.
    """
    rows = JudgingRows.of(X) if rows is None else rows
    weights = rows.weights
    judged = network.outputs.without_common
    truth = judged(_columns(network.predict(X)))
    by_order = [judged(raw) for raw in (by_order or poly.outputs_by_order(X))]
    error = truth - by_order[-1]
    per_output = {
        name: _output(truth[:, k], error[:, k], rows) for k, name in enumerate(poly.output_names)
    }
    spread = np.array([o.spread or 1.0 for o in per_output.values()])
    size = np.max(np.abs(error) / spread, axis=1)
    agreement, difference, within = _classified(network, truth, by_order[-1], weights)
    r2 = mean_r2(truth, by_order[-1], weights)
    most = np.delete(np.arange(len(X)), worst_rows(size))
    trimmed = float("nan")
    if len(most):
        trimmed = mean_r2(truth[most], by_order[-1][most], weights[most])
    fitted = held_out is False
    bare = Verdict("undecided", r2, len(X), fitted, len(by_order) - 1)
    card = FidelityCard(
        n_rows=len(X),
        held_out=bool(held_out),
        r2=r2,
        rmse=_rmse(error, weights),
        max_error=float(np.max(np.abs(error))),
        agreement=agreement,
        probability_error=difference,
        per_output=per_output,
        per_order=(*(_level_r2(truth, guess, weights) for guess in by_order[:-1]), r2),
        per_layer=tuple(per_layer),
        regions=worst_regions(X, size, poly.inputs),
        guarantee=replace(guarantee(error), held_out=held_out, any_use=not r2 < 0.0),
        verdict=bare,
        outside=poly.count_outside(X) if outside is None else outside,
        path=tuple(path),
        r2_without_worst=trimmed,
        probability_within=within,
        target_r2=target_r2,
        labels=measure_labels(network.outputs, truth, by_order[-1], labels, weights=weights),
        r2_interval=r2_interval(
            truth, error, weights, rows.keys, folded=n_folds > 0, outputs=outputs
        ),
        n_units=distinct(rows.keys),
        n_folds=n_folds,
        r2_mixed=_mixed_r2(network, poly, rows),
    )
    tail = find_tail(X, size, r2, trimmed, poly.feature_names)
    if tail is not None:
        tail = replace(tail, held=poly.inputs.are_bounded)
    held, entering = _held(poly, X), poly.inputs.transforms
    said = verdict(
        card,
        tail=tail,
        held=held,
        fitted=fitted,
        entering=entering,
        judged=_judged_as(network, poly.outputs, truth, by_order[-1], weights),
        labels=worst_label(network.outputs, truth, by_order[-1], weights),
        alike=alike,
    )
    return replace(card, verdict=replace(said, source=_source(network)))


def _source(network: Model) -> str:
    """Name what a formula follows: layers that were read, or a model that was only asked."""
    return "model" if isinstance(network, Oracle) else "network"


def _judged_as(
    network: Model, outputs: Outputs, truth: FloatArray, guess: FloatArray, weights: FloatArray
) -> JudgedAs | None:
    """Say on which scale errors are where a link leads to the target, and measure R² of that."""
    if isinstance(network, Oracle) and network.gives_probabilities:
        true, found = (outputs.probabilities(raw) for raw in (truth, guess))
        return JudgedAs("the logit", "the probability", mean_r2(true, found, weights))
    if outputs.scale_names == outputs.names:
        return None
    pair = [outputs.predictions(raw) for raw in (truth, guess)]
    finite = np.isfinite(pair[0]).all(axis=1) & np.isfinite(pair[1]).all(axis=1)
    r2 = mean_r2(pair[0], pair[1], weights) if finite.all() else float("nan")
    return JudgedAs(", ".join(outputs.scale_names), ", ".join(outputs.names), r2)


def _mixed_r2(network: Model, poly: Approximation, rows: JudgingRows) -> float | None:
    """R² on rows with shuffled columns; None of few rows, and of one column, which cannot be."""
    if len(rows.X) < MIN_JUDGED or len(poly.inputs.columns) < 2:
        return None
    mixed = mix_columns(rows.X, rows.weights, poly.inputs)
    judged = network.outputs.without_common
    truth, guess = _columns(network.predict(mixed)), poly.outputs_by_order(mixed)[-1]
    r2 = mean_r2(judged(truth), judged(guess))
    return None if np.isnan(r2) else r2


def _held(poly: Approximation, X: FloatArray) -> Held | None:
    """Find columns of the formula whose bounds cut what it was made from, and rows of X (n, p)."""
    inputs, used = poly.inputs, _used(poly)
    share = share_beyond(inputs, X)
    cut = [j for j in held_features(inputs) if j in used and share[j] > 0]
    cut.sort(key=lambda j: -share[j])
    if not cut:
        return None
    named = [(j, inputs.coordinates[j].function) for j in cut[:NAMED]]
    columns = (
        HeldColumn(inputs.feature_names[j], _end(f.low), _end(f.high), float(share[j]))
        for j, f in named
    )
    return Held(tuple(columns), max(0, len(cut) - NAMED))


def _used(poly: Approximation) -> set[int]:
    """Give the features in terms of the formula; splits of regions see values that are not held."""
    if isinstance(poly, Polynomial | PiecewisePolynomial):
        parts = (poly,) if isinstance(poly, Polynomial) else poly.polynomials
        return {j for part in parts for j in part.terms.variables().tolist()}
    return set(range(poly.inputs.n_features))


def _end(bound: float) -> float | None:
    return float(bound) if np.isfinite(bound) else None


def beyond(X: FloatArray, low: FloatArray, high: FloatArray) -> int:
    """Count the rows of X (n, p) outside the range of others."""
    return int(np.any((low > X) | (high < X), axis=1).sum())


def mean_r2(truth: FloatArray, guess: FloatArray, weights: FloatArray | None = None) -> float:
    """Average R² over the outputs (columns) that vary; NaN when none does.

    Examples
    --------
    >>> truth = np.array([[0.0, 5.0], [2.0, 5.0]])
    >>> mean_r2(truth, truth)
    1.0
    """
    shares = np.ones(len(truth)) if weights is None else weights
    values = [_r2(truth[:, k], truth[:, k] - guess[:, k], shares) for k in range(truth.shape[1])]
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def _level_r2(truth: FloatArray, guess: FloatArray, weights: FloatArray) -> float:
    """R² once the level is right: leaving out squares shifts the mean, which any order corrects."""
    shift = np.average(truth - guess, axis=0, weights=weights)
    return mean_r2(truth, guess + shift, weights)


def _r2(truth: FloatArray, error: FloatArray, weights: FloatArray) -> float:
    top = max(float(np.max(np.abs(truth))), float(np.max(np.abs(error))))
    if 1e100 < top < np.inf:  # squares, and sums of many, would overflow
        truth, error = truth / top, error / top
    total = float(weights.sum())
    spread = float(weights @ (truth - weights @ truth / total) ** 2)
    # A spread at the level of rounding is no spread: R² would be noise.
    floor = total * (8 * np.finfo(float).eps * float(np.max(np.abs(truth)))) ** 2
    if not spread > floor:
        return float("nan")
    return max(1.0 - float(weights @ error**2) / spread, -float(np.finfo(float).max))


def _rmse(error: FloatArray, weights: FloatArray) -> float:
    """Give the root of the mean square of (n, …), also where the squares would overflow."""
    top = float(np.max(np.abs(error)))
    unit = top if 1e100 < top < np.inf else 1.0
    squares = ((error / unit) ** 2).reshape(len(error), -1).mean(axis=1)
    return unit * float(np.sqrt(np.average(squares, weights=weights)))


def _output(truth: FloatArray, error: FloatArray, rows: JudgingRows) -> OutputFidelity:
    size, weights = np.abs(error), rows.weights
    low, high = weighted_quantiles(truth, (0.25, 0.75), weights)
    mean = np.average(truth, weights=weights)
    return OutputFidelity(
        r2=_r2(truth, error, weights),
        rmse=_rmse(error, weights),
        max_error=float(np.max(size)),
        worst_row=int(rows.numbers[np.argmax(size)]),
        spread=float(np.ptp(truth)),
        quantiles=weighted_quantiles(size, QUANTILES, weights),
        deviation=float(np.sqrt(np.average((truth - mean) ** 2, weights=weights))),
        middle=high - low,
    )


def weighted_quantiles(
    values: FloatArray, shares: Sequence[float], weights: FloatArray
) -> tuple[float, ...]:
    """Give the values (n,) below which shares of the weight lie; NumPy's own with equal weights.

    Examples
    --------
    >>> weighted_quantiles(np.array([1.0, 2.0, 9.0]), (0.5,), np.array([1.0, 1.0, 8.0]))
    (9.0,)
    """
    if np.ptp(weights) == 0.0:
        return tuple(np.quantile(values, shares).tolist())
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order]) / weights.sum()
    places = np.minimum(np.searchsorted(reached, shares), len(values) - 1)
    return tuple(values[order[places]].tolist())


def _classified(
    network: Model, truth: FloatArray, guess: FloatArray, weights: FloatArray
) -> tuple[float | None, float | None, float | None]:
    """Compare labels (share of rows alike) and probabilities.

    Their mean absolute difference, and the largest one of a row, at 95 % of the rows.
    """
    if not network.outputs.is_classifier:
        return None, None, None
    pair = [network.outputs.labels(raw) for raw in (truth, guess)]
    same = pair[0] == pair[1]
    chances = [network.outputs.probabilities(raw) for raw in (truth, guess)]
    difference = np.abs(chances[0] - chances[1])
    alike = same if same.ndim == 1 else same.all(axis=1)
    agreement = float(np.average(alike, weights=weights))
    (within,) = weighted_quantiles(difference.max(axis=1), (0.95,), weights)
    mean = float(np.average(difference.mean(axis=1), weights=weights))
    return agreement, mean, within


def check_pair(network: Model, poly: Approximation, caller: str) -> None:
    """Refuse what is not a polynomial of this network; ``caller`` is the function to name."""
    check_polynomial(poly, caller)
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


def check_polynomial(poly: Approximation, caller: str) -> None:
    """Refuse what is not a polynomial."""
    if not hasattr(poly, "outputs_by_order"):
        raise InvalidInputError(
            "This is not a polynomial.",
            where=f"the second argument of {caller}",
            expected="a Polynomial or a PolynomialNetwork",
            found=type(poly).__name__,
            remedy=f"call {caller}(model, poly, X)",
        )


def _columns(raw: FloatArray) -> FloatArray:
    return raw[:, None] if raw.ndim == 1 else raw
