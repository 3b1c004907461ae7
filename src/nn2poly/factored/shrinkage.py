"""Small least-squares problems with the shrinkage chosen on held-out folds.

Everything is solved from moments (sums of products), so rows may come in batches of any
number; leaving a fold out is a subtraction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError

# Ridge strengths tried for the activations, relative to power columns of unit size, and for
# the weights, relative to the mean eigenvalue: powers of ten, from hardly any shrinkage to hardly
# any change, chosen on seeds 0 to 5 of `benchmarks/calibration.py`, which reports on others.
ACTIVATION_RIDGES = (1e-9, 1e-6, 1e-4, 1e-3, 1e-2)
WEIGHT_RIDGES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
# The strongest ridge whose held-out error is within this of the best is taken: a matter of taste,
# well below the differences between folds.
SLACK = 0.01
# A neuron whose values vary less than this, relative to their size, is constant; a polynomial
# potential that is smaller than this, relative to the true one, is a rounding error. It is the
# unit rounding 2e-16 times some thousand summands.
ROUNDING = 1e-12


def fit_activations(moments: FloatArray, powers: Sequence[int], size: FloatArray) -> FloatArray:
    """Fit every neuron's true values on its columns, one ridge strength for the layer.

    Parameters
    ----------
    moments
        Array (folds, h, q + 1, q + 1): moments of [1, column 1, …, true value].
    powers
        Of the potential, in each column after the first.
    size
        Array (h,): the size of the true potential.

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
    dead = np.stack([0.0 * size, *((ROUNDING * size) ** m for m in powers)], axis=1)
    mean, square = total[:, 0, q] / weight, total[:, q, q] / weight
    live = square - mean**2 > ROUNDING * np.maximum(square, 1e-300)
    errors = np.array(
        [_held_out_error(moments, total, ridge, dead)[live].sum() for ridge in ACTIVATION_RIDGES]
    )
    best = np.flatnonzero(errors <= errors.min() * (1 + SLACK))[-1]
    result = _ridge(total, ACTIVATION_RIDGES[best], dead)
    result[~live] = 0.0
    result[~live, 0] = mean[~live]
    return np.ascontiguousarray(result.T)


def _held_out_error(
    moments: FloatArray, total: FloatArray, ridge: float, dead: FloatArray
) -> FloatArray:
    """Sum the squared errors (h,) on each fold of the fit to the others."""
    error = np.zeros(total.shape[0])
    for fold in moments:
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
    # A column of rounding errors gets no coefficient instead of a huge one.
    size = np.where(size > dead, size, np.inf)
    diagonal = np.full(q, ridge + 1e-13)
    diagonal[0] = 1e-13
    scaled = gram / size[:, :, None] / size[:, None, :] + np.diag(diagonal)
    solution: FloatArray = np.linalg.solve(scaled, (target / size)[..., None])[..., 0] / size
    return solution


def fit_weights(
    gram: FloatArray,
    cross: FloatArray,
    square: FloatArray,
    unit: FloatArray,
    *,
    n_inputs: int | None = None,
) -> FloatArray | None:
    """Fit a change of weights to what is left of the true potentials.

    Parameters
    ----------
    gram, cross, square
        Arrays (folds, k + 1, k + 1), (folds, k + 1, h) and (folds, h): moments of the inputs
        [1, a_1 … a_k] with themselves, with the residual potentials, and of the latter.
    unit
        Array (h,): the unit in which the error of each potential counts.
    n_inputs
        Inputs of the layer when a_1 … a_k are coordinates in a basis of them; k by default.

    Returns
    -------
    array (k + 1, h), the change of bias (row 0) and weights
        None when no ridge strength beats leaving them alone on the held-out folds.
    """
    n_inputs = n_inputs or gram.shape[-1] - 1
    total, crossed = gram.sum(axis=0), cross.sum(axis=0)
    errors, alone = np.zeros(len(WEIGHT_RIDGES)), 0.0
    for fold in zip(gram, cross, square, strict=True):
        if 0 < fold[0][0, 0] < total[0, 0]:
            alone += float((fold[2] / unit).sum())
            errors += _ridge_path(total - fold[0], crossed - fold[1], n_inputs).errors(*fold, unit)
    best = int(errors.argmin())
    if not errors[best] < alone:
        return None
    return _ridge_path(total, crossed, n_inputs).change(WEIGHT_RIDGES[best])


@dataclass(frozen=True)
class _RidgePath:
    """The ridge regressions of all strengths, from one eigendecomposition; the bias is not shrunk.

    Parameters
    ----------
    center, level
        Arrays (k,) and (h,): means of the inputs, and of what is fitted.
    values, vectors
        Arrays (r,) and (k, r): eigenvalues above rounding of the centred inputs' moments.
    projected
        Array (r, h): what is fitted, along the vectors.
    size
        The mean eigenvalue over all inputs, to which strengths are relative.
    """

    center: FloatArray
    level: FloatArray
    values: FloatArray
    vectors: FloatArray
    projected: FloatArray
    size: float

    def change(self, ridge: float) -> FloatArray:
        """Solve for one strength: array (k + 1, h)."""
        slopes = self.vectors @ (self._inverse(ridge)[:, None] * self.projected)
        return np.vstack([self.level - self.center @ slopes, slopes])

    def errors(
        self, gram: FloatArray, cross: FloatArray, square: FloatArray, unit: FloatArray
    ) -> FloatArray:
        """Sum the squared errors on other rows, by their moments, for every strength.

        Slopes are linear in the r inverse eigenvalues d, so the error is a quadratic d·A·d -
        2 b·d + c, summed over the h outputs once for all strengths.
        """
        weight, offset = gram[0, 0], gram[0, 1:] - gram[0, 0] * self.center
        centred = gram[1:, 1:] - np.outer(gram[0, 1:], self.center) - np.outer(self.center, offset)
        crossed = cross[1:] - np.outer(self.center, cross[0]) - np.outer(offset, self.level)
        constant = float(
            ((square + self.level * (weight * self.level - 2 * cross[0])) / unit).sum()
        )
        scaled = self.projected / unit
        linear = (scaled * (self.vectors.T @ crossed)).sum(axis=1)
        quadratic = (self.vectors.T @ centred @ self.vectors) * (scaled @ self.projected.T)
        inverses = (self._inverse(ridge) for ridge in WEIGHT_RIDGES)
        return np.array([constant + d @ (quadratic @ d - 2 * linear) for d in inverses])

    def _inverse(self, ridge: float) -> FloatArray:
        return 1.0 / (self.values + ridge * self.size)


def _ridge_path(gram: FloatArray, cross: FloatArray, n_inputs: int) -> _RidgePath:
    """Decompose the moments (k + 1, k + 1) of the inputs; project those (k + 1, h) with them."""
    weight = gram[0, 0]
    center = gram[0, 1:] / weight
    values, vectors = np.linalg.eigh(gram[1:, 1:] - weight * np.outer(center, center))
    # Below rounding there is nothing to learn from: such directions keep their weights.
    used = values > 1e-14 * np.trace(gram[1:, 1:])
    values, vectors = values[used], vectors[:, used]
    projected = vectors.T @ (cross[1:] - np.outer(center, cross[0]))
    size = float(values.sum()) / n_inputs
    return _RidgePath(center, cross[0] / weight, values, vectors, projected, size)
