"""What counts when the outputs of a classifier are fitted: labels and probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.fit.problem import Problem
from nn2poly.fit.ridge import LARGEST
from nn2poly.links import sigmoid
from nn2poly.outputs import Outputs
from nn2poly.rows.fit_rows import FitRows

# What a row still weighs whose label is certain. On a table with heavy tails, five networks
# (`benchmarks/bankruptcy.py`, seeds 0 to 4), .9921 to .9948 of the labels at a threshold of about
# 0.06 that is not declared agree with it, with the 0.01 of the design .9811 to .9946.
CERTAIN = 0.003
# The same around a declared threshold, and within how many standard deviations of an output labels
# are open there. On that table (order 2, seeds 0 to 2) .9986, .9978 and .9980 of the labels agree.
# Of lines, .003 for .0003 cost up to .0004 and brought none; widths of .03 to .2 differ by .0006.
CERTAIN_THERE, WIDTH = 0.0003, 0.1
# What closer probabilities may cost of R²: at least so much, and so much times the share by which
# they are closer. On adult a fifth would cost 0.04, which is refused; 0.02 also refused the fifth
# of those networks what brings .9922 of its labels for .9861.
LOST, LOST_FOR_ALL = 0.002, 0.04


def near_decision(rows: FitRows, raw: FloatArray, problem: Problem) -> FitRows:
    """Weigh rows more where their label is decided.

    Parameters
    ----------
    raw
        Array (n, k): the network's outputs on these rows.
    """
    outputs, real = problem.network.outputs, problem.fit_truth
    certain = CERTAIN if outputs.threshold is None else CERTAIN_THERE

    def near(values: FloatArray) -> FloatArray:
        p = chances(values, outputs, real)
        return np.asarray((p * (1.0 - p)).sum(axis=1) + certain)

    return replace(rows, weights=rows.weights * near(raw) / near(real).mean())


def chances(raw: FloatArray, outputs: Outputs, like: FloatArray) -> FloatArray:
    """Give probabilities; where a threshold is declared, labels there, smooth: a half at it.

    Parameters
    ----------
    raw, like
        Arrays (n, k) and (m, k): outputs before the link, and those that give their spread.
    """
    cut = None if outputs.threshold is None else outputs.cut()
    if cut is None:
        return outputs.probabilities(raw)
    margin, spread = (x[:, 1:] - x[:, :1] if outputs.link == "softmax" else x for x in (raw, like))
    width = np.maximum(WIDTH * spread.std(axis=0), 1e-300)
    return sigmoid((margin - cut) / width)


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
    """Choose the guess with the closest probabilities, or labels at a threshold: its place.

    Little R² may be lost for it, compared with the first; no single row decides that.

    Parameters
    ----------
    guesses, raw
        Arrays (n, k) of outputs before the link: some fits, and the network's.
    """
    truth, spread = chances(raw, outputs, raw), np.maximum(raw.std(axis=0), 1e-300)
    apart = [float(np.abs(chances(g, outputs, raw) - truth).mean()) for g in guesses]
    left = [float(np.mean(np.minimum(np.abs(g - raw) / spread, LARGEST) ** 2)) for g in guesses]

    def is_fine(k: int) -> bool:
        closer = 1.0 - apart[k] / max(apart[0], 1e-300)
        return left[k] < left[0] + max(LOST, LOST_FOR_ALL * closer)

    return min(filter(is_fine, range(len(guesses))), key=apart.__getitem__, default=0)
