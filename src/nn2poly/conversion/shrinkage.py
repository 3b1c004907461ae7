"""Small least-squares problems with the shrinkage chosen on held-out folds.

Everything is solved from moments (sums of products), so rows may come in batches of any
number; leaving a fold out is a subtraction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError

# Ridge strengths tried for the activations, relative to power columns of unit size, and for
# the weights, relative to the mean eigenvalue.
ACTIVATION_RIDGES = (1e-9, 1e-6, 1e-4, 1e-3, 1e-2)
WEIGHT_RIDGES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
# The strongest ridge whose held-out error is within this of the best is taken.
SLACK = 0.01
# A potential that varies less than this, relative to its summands, is a rounding error.
DEAD = 1e-12
# A neuron whose values vary less than this, relative to their size, is constant.
CONSTANT = 1e-12


def fit_activations(
    moments: FloatArray, powers: Sequence[int] | None = None, unit: npt.ArrayLike = 1.0
) -> FloatArray:
    """Fit every neuron's true values on its columns, one ridge strength for the layer.

    Parameters
    ----------
    moments
        Array (folds, h, q + 1, q + 1): moments of [1, column 1, …, true value].
    powers
        Of the potential, in each column after the first; by default all are first powers.
    unit
        Array (h,) or a number: the size of what the potential is summed from, in whose
        rounding a potential that does not vary is lost.

    Returns
    -------
    array (q, h)
        Coefficients of 1 and of the columns. A neuron that is constant on the sample keeps
        its mean.
    """
    total = moments.sum(axis=0)
    if not np.all(np.isfinite(total)):
        raise InvalidInputError(
            "The powers of a neuron's potential are too large for numbers.",
            where="data",
            expected="potentials whose powers stay below 1e150",
            remedy="scale the inputs as in training, or lower max_order",
        )
    q = total.shape[-1] - 1
    weight = total[0, 0, 0]
    rounding = DEAD * np.broadcast_to(np.asarray(unit, dtype=np.float64), len(total))
    dead = np.stack([0.0 * rounding, *(rounding**m for m in powers or [1] * (q - 1))], axis=1)
    mean, square = total[:, 0, q] / weight, total[:, q, q] / weight
    live = square - mean**2 > CONSTANT * np.maximum(square, 1e-300)
    errors = np.array(
        [_held_out_error(moments, total, ridge, dead)[live].sum() for ridge in ACTIVATION_RIDGES]
    )
    best = np.flatnonzero(errors <= errors.min() * (1 + SLACK))[-1]
    result = _ridge(total, ACTIVATION_RIDGES[best], dead)
    result[~live] = 0.0
    result[~live, 0] = mean[~live]
    return np.ascontiguousarray(result.T)


def judged_folds(n_folds: int) -> int:
    """Judge on every fold in turn; of two, the second is only what is left of a large sample."""
    return n_folds if n_folds > 2 else 1


def _held_out_error(
    moments: FloatArray, total: FloatArray, ridge: float, dead: FloatArray
) -> FloatArray:
    """Sum the squared errors (h,) on each fold of the fit to the others."""
    error = np.zeros(total.shape[0])
    for fold in moments[: judged_folds(len(moments))]:
        if fold[0, 0, 0] > 0 and total[0, 0, 0] > fold[0, 0, 0]:
            coefficients = _ridge(total - fold, ridge, dead)
            residual = np.concatenate([-coefficients, np.ones((len(error), 1))], axis=1)
            squared = np.einsum("ha,hab,hb->h", residual, fold, residual, optimize=True)
            error += np.maximum(squared, 0.0)
    return error


def _ridge(moments: FloatArray, ridge: float, dead: FloatArray) -> FloatArray:
    """Solve (h, q + 1, q + 1) moments for (h, q) coefficients, columns scaled to unit size."""
    q = moments.shape[-1] - 1
    weight = moments[0, 0, 0]
    gram, target = moments[:, :q, :q] / weight, moments[:, :q, q] / weight
    size = np.sqrt(np.maximum(np.einsum("haa->ha", gram), 0.0))
    # A column of rounding errors gets no coefficient instead of a wild one.
    size = np.where(size > dead, size, np.inf)
    diagonal = np.full(q, ridge + 1e-13)
    diagonal[0] = 1e-13
    scaled = gram / size[:, :, None] / size[:, None, :] + np.diag(diagonal)
    solution: FloatArray = np.linalg.solve(scaled, (target / size)[..., None])[..., 0] / size
    return solution


def fit_weights(
    gram: FloatArray, cross: FloatArray, square: FloatArray, unit: FloatArray
) -> FloatArray | None:
    """Fit a change of weights to what is left of the true potentials.

    Parameters
    ----------
    gram, cross, square
        Arrays (folds, k + 1, k + 1), (folds, k + 1, h) and (folds, h): moments of the inputs
        [1, a_1 … a_k] with themselves, with the residual potentials, and of the latter.
    unit
        Array (h,): the unit in which the error of each potential counts.

    Returns
    -------
    array (k + 1, h), the change of bias (row 0) and weights
        None when no ridge strength beats leaving them alone on the held-out folds.
    """
    total, crossed = gram.sum(axis=0), cross.sum(axis=0)
    errors, alone = np.zeros(len(WEIGHT_RIDGES)), 0.0
    folds = list(zip(gram, cross, square, strict=True))
    for fold_gram, fold_cross, fold_square in folds[: judged_folds(len(folds))]:
        if not 0 < fold_gram[0, 0] < total[0, 0]:
            continue
        alone += float((fold_square / unit).sum())
        for i, change in enumerate(_ridge_path(total - fold_gram, crossed - fold_cross)):
            fitted = (change * (fold_gram @ change - 2 * fold_cross)).sum(axis=0)
            errors[i] += float(((fold_square + fitted) / unit).sum())
    best = int(errors.argmin())
    if not errors[best] < alone:
        return None
    return next(_ridge_path(total, crossed, WEIGHT_RIDGES[best : best + 1]))


def _ridge_path(
    gram: FloatArray, cross: FloatArray, ridges: Sequence[float] = WEIGHT_RIDGES
) -> Iterator[FloatArray]:
    """Solve for every ridge strength from one eigendecomposition; the bias is not shrunk."""
    weight = gram[0, 0]
    mean = gram[0, 1:] / weight
    centred = gram[1:, 1:] - weight * np.outer(mean, mean)
    values, vectors = np.linalg.eigh(centred)
    # Below rounding there is nothing to learn from: such directions keep their weights.
    values = np.where(values > 1e-14 * np.trace(gram[1:, 1:]), values, 0.0)
    projected = vectors.T @ (cross[1:] - np.outer(mean, cross[0]))
    for ridge in ridges:
        shrunk = np.where(values > 0, values + ridge * values.mean(), np.inf)
        slopes = vectors @ (projected / shrunk[:, None])
        yield np.vstack([cross[0] / weight - mean @ slopes, slopes])
