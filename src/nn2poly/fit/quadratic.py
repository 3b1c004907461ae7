"""What the layers leave: a quadratic, fitted to a small sample.

A calibration goes layer by layer and judges each by its own neurons; what is left of the
network's outputs at the end is fitted once more, by a polynomial of order at most 2, whose
strength is chosen by leaving every row out in turn. It is a kernel ridge regression with the
kernel (1 + z·z')², in coordinates in which all inputs have the same range, so a small sample
may have fewer rows than the quadratic has terms. Higher orders would fit the rows better, and
others worse.

Rows say nothing about inputs that they do not show, and where columns go together they show
few. But the network can be asked anywhere: a stretched copy of the sample, rows with mixed
columns and probes along rare inputs are fitted too, with little weight. A fit that would be
worse than none on the rows themselves or on the mixed ones is not taken, however well it does
on the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from operator import add

import numpy as np
import numpy.typing as npt

from nn2poly.algebra.monomials import count_terms, monomials
from nn2poly.algebra.terms import Graded
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.factored.correction import Correction
from nn2poly.factored.engine import predict_rays
from nn2poly.factored.polynomial_network import PolynomialNetwork
from nn2poly.factored.propagation import OUTPUT_LIMIT, STRETCH, stretched_batches, thinned
from nn2poly.factored.rare_inputs import rare_probes
from nn2poly.fit.problem import Problem
from nn2poly.network.network import Network
from nn2poly.rows.folds import Sample
from nn2poly.rows.summary import Summary
from nn2poly.sampling import evenly, hashed

# Up to so many rows to fit (of a sample of 2,000, the rest is for the card), and numbers in the
# quadratic: beyond, it would cost much more than the rest.
MAX_ROWS, MAX_NUMBERS = 1_600, 200_000
# Ridge strengths tried, relative to the mean eigenvalue of the kernel.
STRENGTHS = tuple(10.0**k for k in range(-4, 4))
# Rows with mixed columns: at most about so many, with so much weight altogether, relative to the
# sample's.
MIXED_ROWS, MIXED_SHARE = 500, 0.05
# What is left counts as rounding below this share of the outputs' own size.
ROUNDING = 1e-10
# Eigenvalues below this share of the largest are rounding.
SMALLEST = 1e-13


def add_quadratic(pnet: PolynomialNetwork, problem: Problem) -> PolynomialNetwork:
    """Fit what a polynomial network leaves of the true one, and add it.

    Returns
    -------
    PolynomialNetwork
        The same one when there are too many rows or inputs, when nothing is left, or when it
        would not help on rows that are left out.
    """
    network, summary = problem.working, problem.summary
    p, k = network.n_features, network.n_outputs
    if summary.n_rows > MAX_ROWS or k * p * p > MAX_NUMBERS:
        return pnet
    left = _gather(pnet, network, problem.sample, summary)
    size = np.abs(left.truth[: left.n_real]).max(axis=0)
    if not np.all(np.isfinite(left.values)) or np.all(np.abs(left.values) <= ROUNDING * size):
        return pnet
    factors = _same_range(left.z[: left.n_real])
    fitted = _ridge(left, left.z * factors, min(pnet.max_order, 2))
    if fitted is None:
        return pnet
    blocks = [fitted.block(0), fitted.block(1) * factors[:, None]]
    if fitted.terms.max_order == 2:
        blocks.append(fitted.block(2) * np.prod(factors[monomials(p, 2)], axis=1)[:, None])
    return replace(pnet, correction=Correction(fitted.terms, np.concatenate(blocks)))


@dataclass(frozen=True)
class _Left:
    """What is left of the outputs: on the rows to fit, their stretched copies, and other rows.

    Parameters
    ----------
    z, values, truth, weights
        Arrays (n, p), (n, k), (n, k) and (n,).
    n_real
        Rows of the sample itself.
    origin
        Array (m,): of which row each of the m copies, which come next, was stretched.
    n_judged
        So many rows from the first are left out in turn.
    """

    z: FloatArray
    values: FloatArray
    truth: FloatArray
    weights: FloatArray
    n_real: int
    origin: IntArray
    n_judged: int


def _gather(pnet: PolynomialNetwork, network: Network, sample: Sample, summary: Summary) -> _Left:
    """Collect the rows to fit and, where its outputs stay limited, rows only the network saw."""
    batches = sample.over(partial(thinned, stride=1), add)
    index = np.concatenate([batch.index for batch in batches])
    order = np.argsort(index)
    index = index[order]
    z = network.to_working(np.concatenate([batch.X for batch in batches])[order])
    weights = np.concatenate([batch.weights for batch in batches])[order]
    truth = network.outputs_by_layer(z)[-1]
    limit = OUTPUT_LIMIT * np.abs(truth).max(axis=0)
    parts, origins = [(z, truth, weights)], [np.zeros(0, dtype=np.intp)]
    for batch, share in stretched_batches(sample, summary, pnet.max_order, network.n_features):
        far, beyond, kept = _limited(network, STRETCH * network.to_working(batch.X), limit)
        parts.append((far, beyond, share * batch.weights[kept]))
        origins.append(np.searchsorted(index, batch.index[kept]))
    rows = evenly(len(z), MIXED_ROWS)
    mixed, beyond, kept = _limited(network, _mixed(z, rows), limit)
    share = MIXED_SHARE * len(z) / len(rows)
    parts.append((mixed, beyond, share * weights[rows][kept]))
    n_judged = sum(len(part) for part, *_ in parts)
    if pnet.max_order > 1:
        # Each counts as a row.
        far, beyond, _ = _limited(network, rare_probes(network, sample, summary), limit)
        parts.append((far, beyond, np.full(len(far), weights.mean())))
    all_z, all_truth, all_weights = (np.concatenate(c) for c in zip(*parts, strict=True))
    found = predict_rays(pnet.network, pnet.expansions, pnet.max_order, all_z).sum(axis=0)
    values = all_truth - found
    return _Left(all_z, values, all_truth, all_weights, len(z), np.concatenate(origins), n_judged)


def _mixed(z: FloatArray, rows: IntArray) -> FloatArray:
    """Make rows whose every value comes from another row, so that columns do not go together.

    Not from a fixed number of places further on: of weekdays in their order that is one weekday.
    """
    n, p = z.shape
    places = [(n * hashed(rows, seed=1 + column)).astype(np.intp) for column in range(p)]
    mixed: FloatArray = z[np.stack(places, axis=1), np.arange(p)]
    return mixed


def _limited(
    network: Network, z: FloatArray, limit: FloatArray
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.bool_]]:
    """Keep the rows on which the true network's outputs stay within a limit, with the outputs."""
    z = network.inputs.hold(z)
    with np.errstate(all="ignore"):
        outputs = network.outputs_by_layer(z)[-1]
        kept = np.all(np.abs(outputs) <= limit, axis=1)
    return z[kept], outputs[kept], kept


def _same_range(z: FloatArray) -> FloatArray:
    """Give the factors (p,) that make all ranges alike, and z·z the number of inputs, on average.

    A rare level or a heavy tail lies many deviations out, but within the range.
    """
    reach = np.ptp(z, axis=0) / 2.0
    factors = np.divide(1.0, reach, out=np.zeros_like(reach), where=reach > 0)
    mean = np.mean((factors * z) ** 2)
    scaled: FloatArray = factors / np.sqrt(mean) if mean > 0 else factors
    return scaled


def _ridge(left: _Left, z: FloatArray, order: int) -> Correction | None:
    """Fit by kernel ridge regression, its strength chosen by leaving out."""
    root = np.sqrt(left.weights)[:, None]
    values, vectors = _spectrum(z, root, order)
    target = root * left.values
    rotated = vectors.T @ target
    mean = values.sum() / len(z)
    unit = np.sqrt(np.maximum((target[: left.n_judged] ** 2).sum(axis=0), 1e-300))
    sample, mixed = slice(left.n_real), slice(left.n_real + len(left.origin), left.n_judged)
    best, chosen = float(((target[: left.n_judged] / unit) ** 2).sum()), None
    for strength in STRENGTHS:
        ridge = strength * mean
        kept = values / (values + ridge)
        residual = target - vectors @ (kept[:, None] * rotated)
        without = _left_out(left, residual, vectors, kept)
        error = float(((without / unit) ** 2).sum())
        helps = all(
            ((without[group] / unit) ** 2).sum() <= ((target[group] / unit) ** 2).sum()
            for group in (sample, mixed)
        )
        if error < best and helps:
            best, chosen = error, root * residual / ridge
    return None if chosen is None else _quadratic(z, chosen, order)


def _spectrum(z: FloatArray, root: FloatArray, order: int) -> tuple[FloatArray, FloatArray]:
    """Decompose the weighted kernel (1 + z·z'/p)^order, on its smaller side.

    Returns
    -------
    arrays (r,) and (n, r)
        Eigenvalues above rounding, and their vectors.
    """
    n, p = z.shape
    if count_terms(p, order) >= n:
        values, vectors = np.linalg.eigh(root * (1.0 + z @ z.T / p) ** order * root.T)
        used = values > SMALLEST * values[-1]
        return values[used], vectors[:, used]
    features = root * _features(z, order)
    values, rotation = np.linalg.eigh(features.T @ features)
    used = values > SMALLEST * values[-1]
    return values[used], features @ rotation[:, used] / np.sqrt(values[used])


def _features(z: FloatArray, order: int) -> FloatArray:
    """Write the terms whose products sum to the kernel: array (n, N)."""
    n, p = z.shape
    parts = [np.ones((n, 1)), np.sqrt(order / p) * z]
    if order == 2:
        rows, columns = np.triu_indices(p)
        parts.append(np.where(rows == columns, 1.0, np.sqrt(2.0)) / p * z[:, rows] * z[:, columns])
    return np.hstack(parts)


def _left_out(
    left: _Left, residual: FloatArray, vectors: FloatArray, kept: FloatArray
) -> FloatArray:
    """Give the residuals that the rows would have had, were they not fitted, one by one.

    A row and its stretched copy are left out together: the copy would tell of the row. With I
    the rows left out, the residuals are those of the fit times the inverse of (1 - H)_II.
    """
    free = 1.0 - np.einsum("nr,nr,r->n", vectors, vectors, kept, optimize=True)
    free = np.maximum(free, 1e-12)
    result: FloatArray = residual / free[:, None]
    row, copy = left.origin, slice(left.n_real, left.n_real + len(left.origin))
    common = -np.einsum("nr,nr,r->n", vectors[row], vectors[copy], kept, optimize=True)
    determinant = np.maximum(free[row] * free[copy] - common**2, 1e-24)[:, None]
    for one, other in ((row, copy), (copy, row)):
        both = free[other, None] * residual[one] - common[:, None] * residual[other]
        result[one] = both / determinant
    return result[: left.n_judged]


def _quadratic(z: FloatArray, dual: FloatArray, order: int) -> Correction:
    """Write Σ_i dual_i (1 + z_i·z/p)^order as terms."""
    p = z.shape[1]
    blocks = [dual.sum(axis=0)[None], order / p * z.T @ dual]
    if order == 2:
        rows, columns = np.triu_indices(p)
        matrices = np.stack([(z * weights[:, None]).T @ z / p**2 for weights in dual.T], axis=2)
        # x_i x_j with i < j comes twice in x·A x, x_i² once.
        twice = np.where(rows == columns, 1.0, 2.0)
        blocks.append(twice[:, None] * matrices[rows, columns])
    return Correction(Graded(p, order), np.concatenate(blocks))
