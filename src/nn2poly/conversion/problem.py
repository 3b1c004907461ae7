"""`Problem`: the network, the data and what they tell, read once for every step that follows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.conversion.detection import Detected, declared_columns, detect_columns
from nn2poly.conversion.folds import Sample
from nn2poly.conversion.reading import read_sample
from nn2poly.conversion.summary import Summary, summarise
from nn2poly.network.network import Network


@dataclass(frozen=True)
class Problem:
    """What is to be converted, and the rows to do it on.

    Parameters
    ----------
    network
        The true network, in its own coordinates; its inputs know which features are indicators.
    sample, summary
        The data, and what a first walk over them told.
    never
        Pairs of indicators that are never 1 together.
    folded
        Whether the formula is written in 0/1 indicators, for which u² = u.
    """

    network: Network
    sample: Sample
    summary: Summary
    never: tuple[tuple[int, int], ...]
    folded: bool

    @cached_property
    def working(self) -> Network:
        """The true network in coordinates around the rows to fit, knowing the range of all."""
        summary = self.summary
        # A feature that does not vary keeps the scale that the network itself gives it.
        scale = np.where(summary.low == summary.high, self.network.scale, summary.scale)
        network = self.network.recentered(summary.center, scale)
        seen = network.inputs.seen(summary.seen_low, summary.seen_high)
        return replace(network, inputs=seen)

    def truth(self, X: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Give the true outputs (n, n_outputs) on raw features (n, p)."""
        return self.network.predict(X).reshape(len(X), -1)


def read_problem(
    network: Network, data: Any, sample_weight: npt.ArrayLike | None, binary: Any
) -> Problem:
    """Read the data, once.

    Parameters
    ----------
    network
        With its names.
    data, sample_weight, binary
        As the user gave them; see `nn2poly.convert`.
    """
    sample = read_sample(data, network, sample_weight)
    summary = summarise(sample)
    if isinstance(binary, bool) and not binary:
        detected = Detected(network.inputs)
    elif isinstance(binary, str) and binary == "auto":
        detected = detect_columns(network.inputs, sample, summary)
    else:
        detected = declared_columns(binary, network.inputs, sample, summary)
    network = replace(network, inputs=detected.inputs)
    return Problem(network, sample, summary, detected.never, binary is not False)
