"""Exact explanations of a polynomial: who moved the prediction, who interacts, who varies.

>>> import nn2poly as n2p
>>> poly = n2p.Polynomial.from_terms(["a", "a b"], [2.0, 1.0], ["a", "b"])
>>> n2p.explain.shapley(poly, X=[[1.0, 3.0]], background=[[0.0, 0.0], [0.0, 2.0]])
Shapley values of 1 row
feature  value
-------  -----
a        4.000
b        1.000
"""

from nn2poly.explain.accumulated import AccumulatedEffects, ale
from nn2poly.explain.anova import Anova, anova
from nn2poly.explain.bounds import Bounds, Monotonicity, bounds, monotonicity
from nn2poly.explain.cohorts import cohort_shapley
from nn2poly.explain.dependence import IndividualCurves, PartialDependence, ice, partial_dependence
from nn2poly.explain.derivatives import derivative, gradients
from nn2poly.explain.effects import MarginalEffects, marginal_effects
from nn2poly.explain.ensemble import Ensemble, PiecewiseEnsemble, ensemble
from nn2poly.explain.explanation_ensemble import ExplanationEnsemble
from nn2poly.explain.feature_importance import importance
from nn2poly.explain.friedman import FriedmanH, friedman_h
from nn2poly.explain.interactions import Interactions, interactions
from nn2poly.explain.local import LocalComparison, compare_local
from nn2poly.explain.permuted import against_chance
from nn2poly.explain.shapley import ShapleyValues, shapley
from nn2poly.explain.variance import VarianceShares, sobol

__all__ = [
    "AccumulatedEffects",
    "Anova",
    "Bounds",
    "Ensemble",
    "ExplanationEnsemble",
    "FriedmanH",
    "IndividualCurves",
    "Interactions",
    "LocalComparison",
    "MarginalEffects",
    "Monotonicity",
    "PartialDependence",
    "PiecewiseEnsemble",
    "ShapleyValues",
    "VarianceShares",
    "against_chance",
    "ale",
    "anova",
    "bounds",
    "cohort_shapley",
    "compare_local",
    "derivative",
    "ensemble",
    "friedman_h",
    "gradients",
    "ice",
    "importance",
    "interactions",
    "marginal_effects",
    "monotonicity",
    "partial_dependence",
    "shapley",
    "sobol",
]


def __dir__() -> list[str]:
    """List the public names alone."""
    return __all__
