"""What counts when the outputs of a classifier are fitted: labels and probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.conversion.bound_trials import LARGEST
from nn2poly.conversion.fit_rows import FitRows
from nn2poly.conversion.problem import Problem
from nn2poly.outputs import Outputs

# What a row still weighs whose label is certain. On a table with heavy tails, five networks
# (`benchmarks/bankruptcy.py`, seeds 0 to 4), .9921 to .9948 of the labels at a threshold of about
# 0.06 agree with it, with the 0.01 of the design .9811 to .9946. Weights around that threshold, and
# not around a half, gave no more (.9888 to .9944, with 0.01).
CERTAIN = 0.003
# What closer probabilities may cost of R²: at least so much, and so much times the share by which
# they are closer. On adult a fifth would cost 0.04, which is refused; 0.02 also refused the fifth
# of those networks what brings .9922 of its labels for .9861.
LOST, LOST_FOR_ALL = 0.002, 0.04


def near_decision(rows: FitRows, problem: Problem) -> FitRows:
    """Weigh the rows to fit more where the label is decided."""
    p = problem.network.outputs.probabilities(problem.fit_truth)
    near = (p * (1.0 - p)).sum(axis=1) + CERTAIN
    return replace(rows, weights=rows.weights * near / near.mean())


def less_where_far(rows: FitRows, apart: FloatArray) -> FitRows:
    """Weigh rows less the further a fit is from them, but for the nearer half.

    Probabilities are judged by how far they are off, which squares of single rows in a heavy tail
    do not tell. On the table above (seeds 0 to 2) they come 9 to 13 % closer, and labels agree on
    .9948 to .9972 for .9938 to .9962.

    Parameters
    ----------
    apart
        Array (n, k): how far the fit is from the outputs.
    """
    size = np.abs(apart).mean(axis=1)
    weights = rows.weights / np.maximum(size, max(float(np.median(size)), 1e-300))
    return replace(rows, weights=weights * rows.weights.sum() / weights.sum())


def closest(guesses: Sequence[FloatArray], raw: FloatArray, outputs: Outputs) -> int:
    """Choose the guess with the closest probabilities: its place.

    Little R² may be lost for it, compared with the first; no single row decides that.

    Parameters
    ----------
    guesses, raw
        Arrays (n, k) of outputs before the link: some fits, and the network's.
    """
    truth, spread = outputs.probabilities(raw), np.maximum(raw.std(axis=0), 1e-300)
    apart = [float(np.abs(outputs.probabilities(g) - truth).mean()) for g in guesses]
    left = [float(np.mean(np.minimum(np.abs(g - raw) / spread, LARGEST) ** 2)) for g in guesses]

    def is_fine(k: int) -> bool:
        closer = 1.0 - apart[k] / max(apart[0], 1e-300)
        return left[k] < left[0] + max(LOST, LOST_FOR_ALL * closer)

    return min(filter(is_fine, range(len(guesses))), key=apart.__getitem__, default=0)
