"""`Problem`: the network, the data and what they tell, read once for every step that follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.arguments import listed, plural
from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.factored.polynomial_network import PolynomialNetwork
from nn2poly.fit.asked_rows import Answered, crossed_rows, weighed_down
from nn2poly.fit.bound_choice import ASKED_ROWS, chosen_bounds
from nn2poly.fit.detection import Detected, declared_columns, detect_columns
from nn2poly.fit.far_bounds import widened
from nn2poly.fit.input_bounds import flags_held, named_bounds
from nn2poly.fit.transforms import Transforms, transformed
from nn2poly.inputs import Inputs
from nn2poly.inputs.functions import Curve
from nn2poly.network.network import Network
from nn2poly.network.oracle import Model
from nn2poly.outputs import Outputs
from nn2poly.rows.fit_rows import FitRows, gather_rows
from nn2poly.rows.folds import (
    MAX_FIT_ROWS,
    MIN_ROWS_TO_HOLD_OUT,
    LocalSample,
    Rows,
    Sample,
    chunks,
)
from nn2poly.rows.reading import read_sample
from nn2poly.rows.summary import Summary, summarise
from nn2poly.sampling import evenly

# Levels of one factor: 1,000 take 20 s on 16,000 rows, 5,000 would take minutes and gigabytes.
MOST_LEVELS = 1_000


@dataclass(frozen=True)
class Problem:
    """What is to be converted, and the rows to do it on.

    Parameters
    ----------
    network
        The true network, in its own coordinates, or a function that can only be asked; its inputs
        know which features are indicators.
    sample, summary
        The data, and what a first walk over them told.
    never
        Pairs of indicators that are never 1 together.
    folded
        Whether the formula is written in 0/1 indicators, for which u² = u.
    bounded
        Whether numbers are held at bounds.
    bounds
        Of some columns, by name: what the user gave instead of what the sample tells.
    transforms
        Which of them enter through a function.
    order
        Of the formula that bounds are chosen for.
    rest_of
        A problem and a polynomial network that follows it: what is left of its outputs is to be
        fitted, on its rows and in its inputs.
    curves
        Those that features enter through, by their place.
    """

    network: Model
    sample: Sample
    summary: Summary
    never: tuple[tuple[int, int], ...]
    folded: bool
    bounded: bool
    transforms: Transforms | None = None
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    order: int = 2
    rest_of: tuple[Problem, PolynomialNetwork] | None = None
    curves: Mapping[int, Curve] = field(default_factory=dict)

    def with_curves(self, curves: Mapping[int, Curve]) -> Problem:
        """Let features enter through curves."""
        bent = replace(self, curves=curves)
        # What was read of the sample, and the bounds that were tried, are the same.
        for name in ("fit_rows", "fit_truth", "held_inputs"):
            vars(bent)[name] = getattr(self, name)
        return bent

    def of_order(self, order: int) -> Problem:
        """Choose bounds for another order."""
        if order == self.order or not self.bounded:
            return self
        other = replace(self, order=order)
        for name in ("fit_rows", "fit_truth"):
            vars(other)[name] = getattr(self, name)
        return other

    def of_few(self, most: int) -> Problem:
        """Give the problem with few of its rows to fit and none for the card: for a quick look."""
        rows, summary = self.fit_rows, self.summary
        if len(rows) > most:
            rows = rows.some(evenly(len(rows), most))
        held_out = self.sample.held_out
        kept = Rows(lambda: chunks(rows.X, rows.weights), held_out, 0, lambda _, i: rows.number[i])
        few = replace(
            self,
            sample=LocalSample(kept),
            summary=replace(
                summary,
                held_out=np.empty((0, self.network.n_features)),
                held_out_numbers=np.empty(0, dtype=np.intp),
                held_out_weights=np.empty(0),
                held_out_units=np.empty(0),
            ),
        )
        # The inputs are those that all rows chose.
        for name in ("held_inputs", "inputs"):
            vars(few)[name] = getattr(self, name)
        return few

    def left_by(self, pnet: PolynomialNetwork) -> Problem:
        """Give what a polynomial network leaves of the outputs as a problem of its own."""
        if not isinstance(self.network, Network):
            raise TypeError("a function has no layers")
        plain = Outputs.of(None, self.network.n_outputs)
        return replace(self, network=replace(self.network, outputs=plain), rest_of=(self, pnet))

    @cached_property
    def inputs(self) -> Inputs:
        """The inputs as a formula sees them, around the rows to fit, knowing the range of all."""
        if self.rest_of is not None:
            return self.rest_of[0].inputs
        summary, inputs = self.summary, self.held_inputs.through(self.curves)
        center, scale = summary.center, summary.scale
        if self.bounded or inputs.transforms:
            rows = self.fit_rows
            held = inputs.curved(rows.X)
            shares = rows.weights / rows.weights.sum()
            center = shares @ held
            scale = np.sqrt(shares @ (held - center) ** 2)
        # A feature that does not vary keeps the scale that the network itself gives it.
        flat = (summary.low == summary.high) | (scale <= 1e-12 * np.abs(center))
        inputs = inputs.around(center, np.where(flat, self.network.scale, scale))
        inputs = inputs.seen(summary.seen_low, summary.seen_high)
        return flags_held(inputs) if self.bounded else inputs

    @cached_property
    def held_inputs(self) -> Inputs:
        """The inputs with their bounds and the functions that were asked for."""
        inputs = self.network.inputs
        if not self.bounded:
            return inputs
        rows, truth = self.fit_rows, self.fit_truth
        asked = crossed_rows(rows, min(ASKED_ROWS, len(rows)), inputs)
        answered = self.answered(asked, self.truth(asked.X))
        inputs = chosen_bounds(inputs, Answered(rows, truth), answered, self.order)
        if self.network.outputs.threshold is not None:
            inputs = widened(inputs, rows, self.truth)
        inputs = named_bounds(inputs, self.bounds)
        if self.transforms is None:
            return inputs
        return transformed(inputs, rows, self.summary.seen_low, self.transforms)

    @cached_property
    def folded_inputs(self) -> Inputs:
        """The same with indicators as 0 and 1."""
        inputs = self.inputs
        chosen = [j for group in inputs.indicators() for j in group] if self.folded else []
        center, scale = inputs.center.copy(), inputs.scale.copy()
        low, high = inputs.ends()
        center[chosen], scale[chosen] = low[chosen], (high - low)[chosen]
        return inputs.around(center, scale)

    @property
    def of_outputs(self) -> bool:
        """Say that outputs alone are fitted: no network works in these inputs.

        That is so where a column enters through a function that is not the network's own, and of
        a model that is only asked.
        """
        own = self.inputs.transforms == self.network.inputs.transforms
        return not own or not isinstance(self.network, Network)

    @cached_property
    def working(self) -> Network:
        """The network in these coordinates; with bounds, the true one of inputs held there."""
        inputs = self.inputs
        if not isinstance(self.network, Network):
            raise TypeError("a function has no layers")
        return replace(self.network.recentered(inputs.center, inputs.scale), inputs=inputs)

    @cached_property
    def fit_rows(self) -> FitRows:
        """Rows to fit that are kept in memory, for the terms of a formula."""
        if self.rest_of is not None:
            return self.rest_of[0].fit_rows
        return gather_rows(self.sample, MAX_FIT_ROWS)

    @cached_property
    def fit_truth(self) -> FloatArray:
        """The true outputs (n, n_outputs) on these rows."""
        return self.truth(self.fit_rows.X)

    @cached_property
    def unit(self) -> FloatArray:
        """Array (k,): the standard deviation of each output; 1 for one that does not vary."""
        weights, truth = self.fit_rows.weights, self.fit_truth
        shares = weights / weights.sum()
        spread = np.sqrt(shares @ (truth - shares @ truth) ** 2)
        return np.where(spread > 1e-12 * np.abs(truth).max(axis=0, initial=0.0), spread, 1.0)

    def answered(self, rows: FitRows, truth: FloatArray) -> Answered:
        """Keep rows on which the model has an answer; where it is far off, they weigh less."""
        fine = np.all(np.isfinite(truth), axis=1)
        rows, truth = rows.some(fine), truth[fine]
        return Answered(weighed_down(rows, truth, self.fit_truth), truth)

    def truth(self, X: FloatArray) -> FloatArray:
        """Give the true outputs (n, n_outputs) on raw features (n, p)."""
        if self.rest_of is not None:
            problem, pnet = self.rest_of
            return problem.truth(X) - pnet.outputs_by_order(X)[-1]
        return self.network.predict(X).reshape(len(X), -1)


def read_problem(
    network: Model,
    data: Any,
    sample_weight: npt.ArrayLike | None,
    binary: Any = "auto",
    *,
    groups: npt.ArrayLike | None = None,
    bounded: bool = False,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    transforms: Transforms | None = None,
    hold_out_from: int = MIN_ROWS_TO_HOLD_OUT,
    skip_missing: bool = False,
) -> Problem:
    """Read the data, once.

    Parameters
    ----------
    network
        With its names.
    data, sample_weight, binary, groups, bounded, bounds, transforms, skip_missing
        As the user gave them; see `nn2poly.convert`.
    hold_out_from
        Different rows, or groups, from which on some of them are kept for the card.
    """
    _check_levels(network)
    sample = read_sample(
        data,
        network,
        sample_weight,
        groups,
        hold_out_from=hold_out_from,
        skip_missing=skip_missing,
    )
    summary = summarise(sample)
    _check_spread(summary, network)
    if isinstance(binary, bool) and not binary:
        detected = Detected(network.inputs)
    elif isinstance(binary, str) and binary == "auto":
        detected = detect_columns(network.inputs, sample, summary)
    else:
        detected = declared_columns(binary, network.inputs, sample, summary)
    network = network.with_inputs(detected.inputs)
    never, folded, given = detected.never, binary is not False, bounds or {}
    return Problem(network, sample, summary, never, folded, bounded, transforms, given)


def _check_levels(network: Model) -> None:
    """Refuse factors of so many levels that their terms would take minutes and gigabytes."""
    columns, places = network.inputs.columns, network.inputs.places
    for column, own in zip(columns, places, strict=True):
        if len(own) > MOST_LEVELS:
            raise InvalidInputError(
                f"The column {column.name!r} has too many levels for a formula.",
                where="model",
                expected=f"at most {MOST_LEVELS:,} levels",
                found=f"{len(own):,}",
                remedy="group rare levels before the model is trained, for example by "
                "OneHotEncoder(max_categories=100)",
            )


def _check_spread(summary: Summary, network: Model) -> None:
    """Refuse columns of which the squares overflow."""
    names = network.inputs.feature_names
    bad = [name for name, s in zip(names, summary.scale, strict=True) if not np.isfinite(s)]
    if bad:
        raise InvalidInputError(
            f"{plural(len(bad), 'column')} of the data spread too far to be fitted.",
            where="data",
            expected="numbers up to about 1e150, of which squares can be summed",
            found=listed(bad),
            remedy="express them in a larger unit, in the data and in the model",
        )
