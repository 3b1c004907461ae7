"""The calibration study: networks that nobody constrained, their rival, and Covertype.

Shared by ``benchmarks/calibration.py`` and ``tests/factored/test_calibration_study.py``, so
that both speak of the same networks, rows and rival.
"""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations_with_replacement, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler
from threadpoolctl import threadpool_limits

import nn2poly as n2p
from nn2poly.algebra.monomials import count_terms
from nn2poly.arrays import FloatArray
from nn2poly.assess.fidelity import mean_r2
from nn2poly.cards import FidelityCard
from nn2poly.inputs import outside_range
from nn2poly_paper.covertype_data import read_forest, read_published

ACTIVATIONS = ("tanh", "relu", "logistic")
ORDERS = (1, 2, 3, 4)
HIDDEN, MAX_ITER = (100, 100, 100), 500
TEST_SHARE = 0.25
# A step to the next order that costs more R² than this counts as a fall.
FALL = 0.002

# Rival: kernels (1 + gamma z.z'/p)^Q, ridge strengths relative to the mean eigenvalue, and the
# most terms that are written out to be standardised one by one.
GAMMAS = (3.0, 1.0, 0.3, 0.1, 0.03)
STRENGTHS = tuple(10.0**k for k in range(-8, 5))
MAX_WRITTEN_TERMS = 10_000

COVERTYPE_FILES = ("covertype_network.npz", "covtype.csv.gz")
COVERTYPE_ROWS = (20_000, 100_000)


# Data -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """One data set, scaled one way, split and trained with one seed."""

    scaling: str
    data: str
    seed: int


@dataclass(frozen=True)
class Split:
    """Scaled rows (n, p) to train and calibrate on, others to judge on, and the target."""

    train: FloatArray
    test: FloatArray
    target: npt.NDArray[Any]
    classifier: bool


def simulate(seed: int, n_rows: int = 1000, p: int = 5) -> tuple[FloatArray, FloatArray]:
    """Draw the paper's simulation: all linear terms and five random ones of second order."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n_rows, p))
    y = X @ rng.uniform(-3, 3, p)
    pairs = list(combinations_with_replacement(range(p), 2))
    for i, j in rng.choice(pairs, 5, replace=False):
        y = y + rng.uniform(-3, 3) * X[:, i] * X[:, j]
    return X, y + rng.normal(0, 0.1, n_rows)


DATA_SETS: dict[str, Callable[[int], Any]] = {
    "diabetes": lambda _: datasets.load_diabetes(return_X_y=True),
    "cancer": lambda _: datasets.load_breast_cancer(return_X_y=True),
    "wine": lambda _: datasets.load_wine(return_X_y=True),
    "digits": lambda _: datasets.load_digits(return_X_y=True),
    "friedman": lambda seed: datasets.make_friedman1(1200, noise=1.0, random_state=seed),
    "simulated": simulate,
}
CLASSIFIED = ("cancer", "wine", "digits")
SCALERS: dict[str, Callable[[], Any]] = {
    "[-1, 1]": lambda: MinMaxScaler((-1, 1)),
    "standard": StandardScaler,
}


def split(case: Case) -> Split:
    """Split and scale, by the training rows alone; the target of a regression too."""
    X, y = DATA_SETS[case.data](case.seed)
    classifier = case.data in CLASSIFIED
    train, test, target, _ = train_test_split(
        X, y, test_size=TEST_SHARE, random_state=case.seed, stratify=y if classifier else None
    )
    scaler = SCALERS[case.scaling]().fit(train)
    if not classifier:
        target = SCALERS[case.scaling]().fit_transform(target[:, None])[:, 0]
    return Split(scaler.transform(train), scaler.transform(test), target, classifier)


# Networks ---------------------------------------------------------------------------------


def train(rows: Split, activation: str, seed: int) -> n2p.Network:
    """Train a scikit-learn MLP as a user would, without any constraint, and read it."""
    kind = MLPClassifier if rows.classifier else MLPRegressor
    model = kind(
        hidden_layer_sizes=HIDDEN, activation=activation, max_iter=MAX_ITER, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows.train, rows.target)
    return n2p.read_network(model)


def random_network(
    p: int, n_outputs: int, activation: str, seed: int = 0, hidden: Sequence[int] = HIDDEN
) -> n2p.Network:
    """Make a network with random weights, 3×100 by default: costs do not depend on training."""
    rng = np.random.default_rng(seed)
    functions = [*[activation] * len(hidden), "linear"]
    layers = []
    for (n_in, n_out), function in zip(pairwise([p, *hidden, n_outputs]), functions, strict=True):
        weights = rng.normal(0, n_in**-0.5, (n_in, n_out))
        layers.append(n2p.Layer(weights, rng.normal(0, 0.1, n_out), function))
    return n2p.Network(layers)


# The rival --------------------------------------------------------------------------------


class RidgeRival:
    """Ridge polynomials of one order, fitted directly to a network's outputs.

    In dual form, so that the number of terms does not matter; all decompositions belong to
    the rows and serve every network on them. Strengths are chosen by leave-one-out.

    Parameters
    ----------
    train, test
        Arrays (n, p) and (m, p).
    order
        Total order Q.
    """

    def __init__(self, train: FloatArray, test: FloatArray, order: int) -> None:
        self._train, self._test, self._order = train, test, order

    def plain(self, outputs: FloatArray) -> FloatArray:
        """Predict (m, k) as scikit-learn's PolynomialFeatures and RidgeCV would."""
        return self._plain.fit(outputs)[1]

    def best(self, outputs: FloatArray) -> FloatArray:
        """Predict (m, k) by the best, left one out, of all ways to weigh the terms."""
        fits = [dual.fit(outputs) for dual in (self._plain, *self._others)]
        return min(fits, key=lambda fit: fit[0])[1]

    @cached_property
    def _plain(self) -> _Dual:
        kernels = [monomial_kernel(X, self._train, self._order) for X in (self._train, self._test)]
        return _Dual(*kernels)

    @cached_property
    def _others(self) -> list[_Dual]:
        duals = []
        for z, new in _coordinates(self._train, self._test):
            inner, outer = z @ z.T / z.shape[1], new @ z.T / z.shape[1]
            duals += [_Dual(*((1 + g * k) ** self._order for k in (inner, outer))) for g in GAMMAS]
        if count_terms(self._train.shape[1], self._order) <= MAX_WRITTEN_TERMS:
            scaled = _standardised(self._train, self._test)
            z, new = _standardised(*_terms(*scaled, self._order))
            duals.append(_Dual(z @ z.T, new @ z.T))
        return duals


class _Dual:
    """Kernel ridge regression with a free intercept from one eigendecomposition."""

    def __init__(self, kernel: FloatArray, new: FloatArray) -> None:
        mean = kernel.mean(axis=0)
        self._new = new - new.mean(axis=1, keepdims=True) - mean + mean.mean()
        values, self._vectors = np.linalg.eigh(kernel - mean - mean[:, None] + mean.mean())
        self._values, self._squares = np.maximum(values, 0.0), self._vectors**2

    def fit(self, outputs: FloatArray) -> tuple[float, FloatArray]:
        """Give the leave-one-out error of the best strength and its predictions (m, k)."""
        mean, n = outputs.mean(axis=0), len(outputs)
        rotated = self._vectors.T @ (outputs - mean)
        best, chosen = np.inf, np.zeros_like(outputs)
        for strength in STRENGTHS:
            ridge = strength * self._values.mean()
            inverse = 1.0 / (self._values + ridge)
            dual = self._vectors @ (inverse[:, None] * rotated)
            # The constant is an eigenvector of the centred kernel; the intercept frees it.
            diagonal = self._squares @ inverse - 1.0 / (n * ridge)
            if np.all(diagonal > 0):
                error = float(np.mean((dual / diagonal[:, None]) ** 2))
                best, chosen = min((best, chosen), (error, dual), key=lambda pair: pair[0])
        return best, mean + self._new @ chosen


def monomial_kernel(A: FloatArray, B: FloatArray, order: int) -> FloatArray:
    """Multiply the rows' monomials up to ``order``, each once, without writing them out.

    The products of degree d sum to the complete homogeneous polynomial h_d of the a_j b_j,
    which Newton's identity builds from their power sums.
    """
    sums = [(A**k) @ (B**k).T for k in range(1, order + 1)]
    homogeneous = [np.ones_like(sums[0])]
    for d in range(1, order + 1):
        products = [sums[k - 1] * homogeneous[d - k] for k in range(1, d + 1)]
        homogeneous.append(sum(products[1:], start=products[0]) / d)
    return sum(homogeneous[1:], start=homogeneous[0])


def _coordinates(train: FloatArray, test: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
    """Centre the inputs and scale them one by one; and, if that differs, all alike."""
    mean, scale = train.mean(axis=0), np.sqrt(train.var(axis=0).mean())
    each, alike = _standardised(train, test), ((train - mean) / scale, (test - mean) / scale)
    return [each, alike] if np.ptp(train.std(axis=0)) > 0.1 * scale else [each]


def _standardised(train: FloatArray, test: FloatArray) -> tuple[FloatArray, FloatArray]:
    scaler = StandardScaler().fit(train)
    return scaler.transform(train), scaler.transform(test)


def _terms(train: FloatArray, test: FloatArray, order: int) -> tuple[FloatArray, FloatArray]:
    features = PolynomialFeatures(order, include_bias=False).fit(train)
    return features.transform(train), features.transform(test)


# Measurements -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Result:
    """One network: R² on held-out rows by order, of ours and of the rivals.

    ``inside`` counts only rows within the calibrated range; ``card`` is what the calibration
    itself said, on rows that it had put aside.
    """

    case: Case
    activation: str
    r2: dict[int, float] = field(default_factory=dict)
    inside: dict[int, float] = field(default_factory=dict)
    card: dict[int, float] = field(default_factory=dict)
    agreement: dict[int, float] = field(default_factory=dict)
    plain: dict[int, float] = field(default_factory=dict)
    best: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """What one more order changed in the held-out R², on all rows and on those inside."""

    result: Result
    order: int
    change: float
    inside: float

    @property
    def is_fall(self) -> bool:
        """Tell whether the higher order is worse by more than `FALL`."""
        return self.change < -FALL


def steps(results: Iterable[Result]) -> list[Step]:
    """List all steps from an order to the next, the worst first."""
    found = [
        Step(
            result, low, result.r2[high] - result.r2[low], result.inside[high] - result.inside[low]
        )
        for result in results
        for low, high in pairwise(sorted(result.r2))
    ]
    return sorted(found, key=lambda step: step.change)


@dataclass(frozen=True)
class Plan:
    """What to measure: orders of ours, and of the plain and the best rival."""

    orders: tuple[int, ...] = ORDERS
    plain: tuple[int, ...] = ORDERS
    best: tuple[int, ...] = ORDERS


def measure(case: Case, plan: Plan) -> list[Result]:
    """Train one network per activation and compare the polynomials of each with it."""
    # One thread: the matrices are small, and cases run side by side.
    with threadpool_limits(1):
        rows = split(case)
        networks = {name: train(rows, name, case.seed) for name in ACTIVATIONS}
        results = {name: Result(case, name) for name in ACTIVATIONS}
        for name, network in networks.items():
            for order in plan.orders:
                _record(results[name], network, rows, order)
        for order in sorted({*plan.plain, *plan.best}):
            rival = RidgeRival(rows.train, rows.test, order)
            for name, network in networks.items():
                seen, truth = raw_outputs(network, rows.train), raw_outputs(network, rows.test)
                if order in plan.plain:
                    results[name].plain[order] = mean_r2(truth, rival.plain(seen))
                if order in plan.best:
                    results[name].best[order] = mean_r2(truth, rival.best(seen))
    return list(results.values())


def _record(result: Result, network: n2p.Network, rows: Split, order: int) -> None:
    pnet = n2p.polynomial_network(network, order, data=rows.train)
    assert pnet.card is not None
    low, high = pnet.inputs.low, pnet.inputs.high
    assert low is not None
    assert high is not None
    card = n2p.fidelity(network, pnet, rows.test)
    outside = outside_range(rows.test, low, high).any(axis=1)
    inside = n2p.fidelity(network, pnet, rows.test[~outside])
    result.r2[order], result.inside[order], result.card[order] = card.r2, inside.r2, pnet.card.r2
    if card.agreement is not None:
        result.agreement[order] = card.agreement


def raw_outputs(network: n2p.Network, X: FloatArray) -> FloatArray:
    """Give the network's raw outputs as (n, n_outputs), one output or several."""
    return network.without_common().predict(X).reshape(len(X), -1)


def measure_all(cases: Iterable[Case], plan: Plan, processes: int = 2) -> list[Result]:
    """Measure many cases side by side."""
    # The longest first, so that no process is left alone with them at the end.
    tasks = [(case, plan) for case in sorted(cases, key=lambda case: case.data != "digits")]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        return [result for part in pool.starmap(measure, tasks, chunksize=1) for result in part]


# Covertype --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Covertype:
    """The paper's network as published, and all rows scaled to [-1, 1]: X (581012, 54)."""

    network: n2p.Network
    X: FloatArray


def find_covertype() -> Path | None:
    """Look for the published files; None when they are not there."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("NN2POLY_COVERTYPE_DIR", default))
    return folder if all((folder / name).exists() for name in COVERTYPE_FILES) else None


def read_covertype(folder: Path) -> Covertype:
    """Read the network and the rows."""
    network, rows = (str(folder / name) for name in COVERTYPE_FILES)
    return Covertype(read_published(network), read_forest(rows).X)


def compare_covertype(
    covertype: Covertype, orders: Iterable[int] = (1, 2, 3), seed: int = 10
) -> Iterator[tuple[int, FidelityCard, FidelityCard]]:
    """Give the order and the cards of the calibrated and of the Taylor polynomial (order 8).

    Both are judged on the same random rows, none of which was calibrated on. Both are plain, as
    the paper's are: held at the range of 20,000 rows, a polynomial that leaves a millionth of the
    variance would be judged by the few of 100,000 that lie beyond.
    """
    n_fit, n_new = COVERTYPE_ROWS
    rows = np.random.default_rng(seed).permutation(len(covertype.X))[: n_fit + n_new]
    fit, new = covertype.X[rows[:n_fit]], covertype.X[rows[n_fit:]]
    for order in orders:
        calibrated = n2p.polynomial_network(covertype.network, order, data=fit, bounded=False)
        taylor = n2p.polynomial_network(covertype.network, order, method="taylor", taylor_order=8)
        cards = [n2p.fidelity(covertype.network, pnet, new) for pnet in (calibrated, taylor)]
        yield order, cards[0], cards[1]


def squared_errors(card: FidelityCard) -> FloatArray:
    """Give the MSE of every output, then the overall one."""
    return np.array([*(output.rmse for output in card.per_output.values()), card.rmse]) ** 2


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep BLAS to one thread: timings of small products are steadier so."""
    with threadpool_limits(1):
        yield
