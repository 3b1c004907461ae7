"""The small data sets of the paper: two simulated ones, and Boston.

Boston (506 rows, 13 inputs; Harrison and Rubinfeld 1978) came with scikit-learn before 1.2, which
removed it for an ethical problem: its authors engineered the column ``B``, ``1000 (Bk - 0.63)²``
with Bk the share of Black people in a town, which cannot be inverted, assuming that racial
self-segregation raises house prices; and the research, on the worth of clean air, did not show
that the assumption is valid. scikit-learn strongly discourages its use other than to study and
teach about ethics in data science. It is bundled here only to set our numbers beside the paper's;
for anything else take another data set, such as California housing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import combinations_with_replacement

import numpy as np

from nn2poly.arrays import FloatArray

# Of the rows to train on, the authors' scripts keep the last fifth for Keras's validation,
# which watches the training and changes nothing.
VALIDATION_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class DataSet:
    """Rows to train on and rows to test on, inputs and response scaled to [-1, 1].

    Parameters
    ----------
    X, y
        Arrays (n, p) and (n,) of the training rows.
    X_test, y_test
        The same of the test rows.
    feature_names
        The p names.
    """

    X: FloatArray
    y: FloatArray
    X_test: FloatArray
    y_test: FloatArray
    feature_names: tuple[str, ...]

    @property
    def n_fit(self) -> int:
        """Number of training rows, the first ones, that gradients are computed on."""
        return int(len(self.X) * (1 - VALIDATION_SHARE))


def scale_to_unit(table: FloatArray, like: FloatArray) -> FloatArray:
    """Map the range of every column of ``like`` (n, m) to [-1, 1], and ``table`` with it.

    Examples
    --------
    >>> scale_to_unit(np.array([[2.0], [4.0], [6.0]]), np.array([[2.0], [4.0]])).ravel()
    array([-1.,  1.,  3.])
    """
    low, high = like.min(axis=0), like.max(axis=0)
    scaled: FloatArray = (table - (high + low) / 2) / ((high - low) / 2)
    return scaled


def example_data(rows: int, seed: int) -> DataSet:
    """Simulate the paper's first example, ``y = 4 x1 - 3 x2 x3 + 0.1 e``, inputs N(0, 1).

    Examples
    --------
    >>> data = example_data(500, seed=1)
    >>> data.X.shape, data.X_test.shape, float(data.X.max()) <= 1.0
    ((375, 3), (125, 3), True)
    """
    rng = np.random.default_rng([seed, 1])
    X = rng.normal(size=(rows, 3))
    y = 4 * X[:, 0] - 3 * X[:, 1] * X[:, 2] + rng.normal(0.0, 0.1, rows)
    return _shared_out(X, y, rng, 0.75)


def random_polynomial_data(rows: int, seed: int, repetition: int, p: int = 5) -> DataSet:
    """Simulate a polynomial of order 2 with all linear and 5 random second-order terms.

    Coefficients are uniform on [-3, 3], inputs uniform on [-1, 1], noise N(0, 0.1²).

    Examples
    --------
    >>> random_polynomial_data(500, seed=1, repetition=0).X.shape
    (375, 5)
    """
    rng = np.random.default_rng([seed, 2, repetition])
    X = rng.uniform(-1.0, 1.0, (rows, p))
    pairs = list(combinations_with_replacement(range(p), 2))
    chosen = rng.choice(len(pairs), size=5, replace=False)
    y = X @ rng.uniform(-3.0, 3.0, p) + rng.normal(0.0, 0.1, rows)
    for pair, coefficient in zip(chosen, rng.uniform(-3.0, 3.0, 5), strict=True):
        i, j = pairs[pair]
        y = y + coefficient * X[:, i] * X[:, j]
    return _shared_out(X, y, rng, 0.75)


def boston_data() -> DataSet:
    """Read the bundled Boston table in the split that Keras gives it: 404 and 102 rows.

    All columns are scaled by the minima and maxima of the training rows, as in the authors'
    script; a few test values lie outside [-1, 1]. See the module's note on the column ``B``.

    Examples
    --------
    >>> data = boston_data()
    >>> data.X.shape, data.X_test.shape, data.feature_names[-1]
    ((404, 13), (102, 13), 'LSTAT')
    """
    text = files("nn2poly_paper").joinpath("boston.csv").read_text(encoding="utf-8")
    header, *lines = text.split()
    table = np.array([[float(cell) for cell in line.split(",")] for line in lines])
    names = tuple(name.strip('"') for name in header.split(","))
    order = np.arange(len(table))
    # What keras.datasets.boston_housing.load_data does.
    np.random.RandomState(113).shuffle(order)
    train, test = order[:404], order[404:]
    scaled = scale_to_unit(table, table[train])
    X, y = scaled[:, :-1], scaled[:, -1]
    return DataSet(X[train], y[train], X[test], y[test], names[:-1])


def stack(data: Sequence[DataSet]) -> tuple[FloatArray, FloatArray]:
    """Stack the rows that are fitted: inputs (k, n, p) and responses (k, n).

    Examples
    --------
    >>> stack([example_data(500, seed) for seed in (1, 2)])[0].shape
    (2, 300, 3)
    """
    X = np.stack([d.X[: d.n_fit] for d in data])
    return X, np.stack([d.y[: d.n_fit] for d in data])


def _shared_out(
    X: FloatArray, y: FloatArray, rng: np.random.Generator, train_share: float
) -> DataSet:
    """Scale by all rows, as the authors' scripts do, then split at random."""
    table = np.column_stack([X, y])
    scaled = scale_to_unit(table, table)
    order = rng.permutation(len(X))
    n_train = round(train_share * len(X))
    train, test = scaled[order[:n_train]], scaled[order[n_train:]]
    names = tuple(f"x{i}" for i in range(1, X.shape[1] + 1))
    return DataSet(train[:, :-1], train[:, -1], test[:, :-1], test[:, -1], names)
