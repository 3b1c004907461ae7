"""Ways to put something readable in the place of a network: ours and the rivals'.

Every way is a function of a trained network and the network's raw outputs (n, k) on the rows that
a conversion may see. It gives a `Surrogate`. Each library gets the table as it likes it best:
polynomials the features, rules and trees the columns with factors marked as such.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.linalg
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    PolynomialFeatures,
    StandardScaler,
)

import nn2poly as n2p
from networks import Trained, digest
from nn2poly.algebra.monomials import count_terms
from nn2poly.arrays import FloatArray

ORDERS, BUDGETS = (1, 2, 3, 4), (30, 100, 300, 1_000)
REGIONS = ((2, 8), (2, 16), (3, 16), (2, 64), (3, 64))
# Orders and regions of formulas whose numbers enter through curves.
CURVES = ((1, 1), (2, 1), (2, 16), (3, 16))

# Ridge: the most terms, the strengths per row, the share of rows to choose the strength on, and
# the tails that the inputs are clipped at (one side).
MAX_RIDGE_TERMS, STRENGTHS, CHOICE_SHARE = 6_000, 10.0 ** np.arange(-8, -1), 0.2
TAILS = (0.001, 0.01)
# In the name of a ridge whose inputs are held at the bounds that our formula of its order has.
SAME_BOUNDS = "clipped as ours"

# Chaos: candidates to choose terms from, hyperbolic norm of their degrees, highest degree of a
# column, rows, and the relative growth of the coefficients' l1 norm that ends the path. LARS of
# OpenTURNS decomposes all chosen columns at each step: more rows or candidates take minutes.
CHAOS_CANDIDATES, CHAOS_NORM, CHAOS_DEGREE = 300, 0.5, 12
CHAOS_ROWS, CHAOS_GROWTH = 10_000, 1e-4

TREES, RULES = 500, (16, 100)


@dataclass(frozen=True)
class Surrogate:
    """Raw outputs (m, k) from features (m, p) and the user's columns; the number of terms."""

    predict: Callable[[FloatArray, pd.DataFrame], FloatArray]
    terms: int | None


@dataclass(frozen=True)
class Way:
    """One row of the table: a function of this module, its options, and whose code it runs."""

    name: str
    fit: Callable[..., Surrogate]
    package: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def key(self) -> str:
        """Shorten everything that its results depend on."""
        code = _own_code() if self.package == "nn2poly" else version(self.package)
        return digest(sources(self.fit), dict(self.options), code)


def sources(function: Callable[..., Any]) -> list[str]:
    """Give the text of a function and of all functions and constants of its module in it."""
    module, texts, waiting = vars(inspect.getmodule(function)), {}, [function.__name__]
    while waiting:
        name = waiting.pop()
        value = module[name]
        if name.isupper():
            texts[name] = repr(value)
        elif inspect.isfunction(value) and value.__module__ == function.__module__:
            texts[name] = inspect.getsource(value)
            words = set(re.findall(r"\w+", texts[name]))
            waiting += [word for word in words if word in module and word not in texts]
    return [texts[name] for name in sorted(texts)]


def list_ways(quick: bool = False) -> Iterator[Way]:
    """List all ways whose keywords exist; in quick form without those that take minutes."""
    known = inspect.signature(n2p.convert).parameters
    for order in ORDERS:
        yield Way(f"nn2poly, order {order}", ours, "nn2poly", {"max_order": order})
    for budget in BUDGETS if "max_terms" in known else ():
        yield Way(f"nn2poly, max_terms {budget:,}", ours, "nn2poly", {"max_terms": budget})
    for order, regions in REGIONS if "regions" in known else ():
        options = {"max_order": order, "regions": regions}
        yield Way(f"nn2poly, order {order}, {regions} regions", ours, "nn2poly", options)
    for order, regions in CURVES:
        curved = {"max_order": order, "regions": regions, "transforms": "curve"}
        name = f"nn2poly, order {order}, {regions} region{'s' * (regions > 1)}, curves"
        yield Way(name, ours, "nn2poly", curved)
    for tail in TAILS:
        for order in ORDERS:
            name = f"ridge, order {order}, clipped at {tail:.1%}"
            yield Way(name, ridge, "scikit-learn", {"order": order, "tail": tail})
    for order in ORDERS:
        name = f"ridge, order {order}, {SAME_BOUNDS}"
        yield Way(name, ridge_of_ours, "nn2poly", {"order": order})
    if not quick:
        yield Way("sparse chaos (OpenTURNS)", chaos, "openturns")
        yield Way("EBM with pairs (interpret)", boosted_pairs, "interpret-core")
    for rules in RULES:
        yield Way(f"Cubist, {rules} rules", cubist, "cubist", {"rules": rules})
    yield Way(f"gradient boosting, {TREES} trees", boosting, "scikit-learn")


class TooManyTermsError(Exception):
    """A polynomial that the rival is not asked for."""


# Ours -------------------------------------------------------------------------------------


def ours(trained: Trained, outputs: FloatArray, **options: Any) -> Surrogate:
    """Convert the network; it is not only fitted to its outputs."""
    poly = n2p.convert(trained.network, data=trained.fit, **options)
    return Surrogate(
        lambda features, _: poly.predict(features).reshape(-1, outputs.shape[1]), poly.n_terms
    )


def _own_code() -> str:
    folder = Path(n2p.__file__).parent
    return digest(*[path.read_text() for path in sorted(folder.rglob("*.py"))])


# Polynomials fitted to the outputs ----------------------------------------------------------


def ridge(trained: Trained, outputs: FloatArray, *, order: int, tail: float) -> Surrogate:
    """Fit all monomials of inputs clipped at quantiles."""
    _check_terms(trained, order)
    low, high = _bounds(trained.fit, tail)
    return _ridge(trained, outputs, order, lambda X: np.clip(X, low, high))


def ridge_of_ours(trained: Trained, outputs: FloatArray, *, order: int) -> Surrogate:
    """Fit all monomials of inputs held at the bounds of our formula of the same order."""
    _check_terms(trained, order)
    poly = n2p.convert(trained.network, order, data=trained.fit)
    return _ridge(trained, outputs, order, poly.inputs.clipped)


def _check_terms(trained: Trained, order: int) -> None:
    terms = count_terms(trained.fit.shape[1], order)
    if terms > MAX_RIDGE_TERMS:
        raise TooManyTermsError(f"{terms:,} terms")


def _ridge(
    trained: Trained, outputs: FloatArray, order: int, hold: Callable[[FloatArray], FloatArray]
) -> Surrogate:
    """Fit all monomials of held inputs, the strength chosen on rows put aside.

    Inputs are scaled to [-1, 1] and monomials left as they are, which is the rival at its best:
    standardised ones reach .78 and .91 on California at order 4, these .935 and .937 (inputs
    clipped at 0.1 %, seeds 0 and 1).
    """
    write = make_pipeline(
        FunctionTransformer(hold),
        MinMaxScaler((-1, 1)),
        PolynomialFeatures(order, include_bias=False),
        StandardScaler(copy=False, with_std=False),
    )
    T = write.fit_transform(trained.fit)
    middle = outputs.mean(axis=0)
    coefficients = _ridge_coefficients(T, outputs - middle)
    varying = int(np.count_nonzero(T.any(axis=0)))
    return Surrogate(lambda X, _: middle + write.transform(X) @ coefficients, 1 + varying)


def _ridge_coefficients(T: FloatArray, outputs: FloatArray) -> FloatArray:
    cut = round(CHOICE_SHARE * len(T))
    gram, moments = T[cut:].T @ T[cut:], T[cut:].T @ outputs[cut:]
    errors = [
        float(np.mean((outputs[:cut] - T[:cut] @ _solve(gram, moments, s * (len(T) - cut))) ** 2))
        for s in STRENGTHS
    ]
    strength = STRENGTHS[int(np.argmin(errors))]
    gram += T[:cut].T @ T[:cut]
    return _solve(gram, moments + T[:cut].T @ outputs[:cut], strength * len(T))


def _solve(gram: FloatArray, moments: FloatArray, penalty: float) -> FloatArray:
    shifted = gram.copy()
    shifted[np.diag_indices_from(shifted)] += penalty
    solution: FloatArray = scipy.linalg.solve(
        shifted, moments, assume_a="pos", overwrite_a=True, check_finite=False
    )
    return solution


def _bounds(X: FloatArray, tail: float) -> tuple[FloatArray, FloatArray]:
    """Give the quantiles (p,) of each column; of one with two values, such as 0 and 1, these."""
    low, high = np.quantile(X, [tail, 1 - tail], axis=0)
    two = np.array([len(np.unique(column)) <= 2 for column in X.T])
    return np.where(two, X.min(axis=0), low), np.where(two, X.max(axis=0), high)


def chaos(trained: Trained, outputs: FloatArray) -> Surrogate:
    """Choose Legendre polynomials of clipped inputs by LARS and corrected leave-one-out."""
    import openturns as ot

    for name in ("MaximumError", "MaximumErrorFactor"):
        # By default the path ends at an error above 0.5, where that of bike sharing begins.
        ot.ResourceMap.SetAsScalar(f"LeastSquaresMetaModelSelection-{name}", 1e9)
    low, high = _bounds(trained.fit, TAILS[0])
    X = np.clip(trained.fit[:CHAOS_ROWS], low, high)
    # A level that no row shows has one value; any interval around it will do.
    ends = zip(low.tolist(), np.where(high > low, high, low + 1).tolist(), strict=True)
    space = ot.JointDistribution([ot.Uniform(*pair) for pair in ends])
    degrees = ot.HyperbolicAnisotropicEnumerateFunction(X.shape[1], CHAOS_NORM)
    # Powers that a column with few values cannot tell apart end the path at once.
    degrees.setUpperBound([min(CHAOS_DEGREE, len(np.unique(column)) - 1) for column in X.T])
    basis = ot.OrthogonalProductPolynomialFactory([ot.LegendreFactory()] * X.shape[1], degrees)
    middle, size = outputs.mean(axis=0), outputs.std(axis=0)
    results = []
    for y in ((outputs[:CHAOS_ROWS] - middle) / size).T:
        path = ot.LARS()
        path.setMaximumRelativeConvergence(CHAOS_GROWTH)
        choose = ot.LeastSquaresMetaModelSelectionFactory(path, ot.CorrectedLeaveOneOut())
        strategy = ot.FixedStrategy(basis, CHAOS_CANDIDATES), ot.LeastSquaresStrategy(choose)
        fit = ot.FunctionalChaosAlgorithm(X, y[:, None], space, *strategy)
        fit.run()
        results.append(fit.getResult())

    def predict(features: FloatArray, _: pd.DataFrame) -> FloatArray:
        inside = np.clip(features, low, high)
        found = np.hstack([np.array(result.getMetaModel()(inside)) for result in results])
        return np.asarray(middle + size * found)

    return Surrogate(predict, sum(len(result.getIndices()) for result in results))


# Rules and trees, one model per output ------------------------------------------------------


def boosted_pairs(trained: Trained, outputs: FloatArray) -> Surrogate:
    """Fit curves of single columns and of pairs; a term is one such curve."""
    from interpret.glassbox import ExplainableBoostingRegressor

    columns = trained.fit_frame.columns
    kinds = ["nominal" if name in trained.factors else "continuous" for name in columns]
    models = [
        ExplainableBoostingRegressor(feature_types=kinds, n_jobs=1, random_state=0)
        for _ in outputs.T
    ]
    return _one_each(trained, outputs, models, lambda model: len(model.term_names_))


def cubist(trained: Trained, outputs: FloatArray, *, rules: int) -> Surrogate:
    """Fit rules with a linear model each; a term is one coefficient of such a model."""
    from cubist import Cubist

    models = [Cubist(n_rules=rules, random_state=0) for _ in outputs.T]
    return _one_each(trained, outputs, models, _cubist_terms)


def _cubist_terms(model: Any) -> int:
    return int(model.coeffs_.drop(columns=["committee", "rule"]).notna().to_numpy().sum())


def boosting(trained: Trained, outputs: FloatArray) -> Surrogate:
    """Fit trees that nobody can read: the ceiling."""
    models = [
        HistGradientBoostingRegressor(
            max_iter=TREES,
            early_stopping=False,
            categorical_features=trained.factors or None,
            random_state=0,
        )
        for _ in outputs.T
    ]
    return _one_each(trained, outputs, models, None)


def _one_each(
    trained: Trained,
    outputs: FloatArray,
    models: list[Any],
    count: Callable[[Any], int] | None,
) -> Surrogate:
    def table(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.astype(dict.fromkeys(trained.factors, "category"))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = table(trained.fit_frame)
        for model, y in zip(models, outputs.T, strict=True):
            model.fit(rows, np.ascontiguousarray(y))

    def predict(_: FloatArray, frame: pd.DataFrame) -> FloatArray:
        columns: list[npt.NDArray[Any]] = [model.predict(table(frame)) for model in models]
        return np.column_stack(columns).astype(np.float64)

    return Surrogate(predict, None if count is None else sum(map(count, models)))
