"""scikit-learn's own checks of estimators, all of them, with no expected failures."""

from __future__ import annotations

import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import estimator_checks_generator

from nn2poly import PolynomialClassifier, PolynomialRegressor

# Small, quick and of a low order: the checks are about the interface. They predict outside the
# range of what they train on, where the estimators warn unless they are told what to do.
NETWORK = {
    "hidden_layer_sizes": 5,
    "activation": "tanh",
    "solver": "lbfgs",
    "max_iter": 30,
}
REGRESSOR = PolynomialRegressor(
    TransformedTargetRegressor(
        make_pipeline(StandardScaler(), MLPRegressor(**NETWORK)), transformer=StandardScaler()
    ),
    max_order=2,
    refit=False,
    outside="clip",
)
CLASSIFIER = PolynomialClassifier(
    make_pipeline(StandardScaler(), MLPClassifier(**NETWORK)),
    max_order=1,
    refit=False,
    outside="clip",
)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


# As `parametrize_with_checks`, without its names of tests: texts of all parameters take seconds.
CHECKS = [pair for one in (REGRESSOR, CLASSIFIER) for pair in estimator_checks_generator(one)]
NAMES = [f"{type(estimator).__name__}-{check.func.__name__}" for estimator, check in CHECKS]


@pytest.mark.parametrize(("estimator", "check"), CHECKS, ids=NAMES)
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


# These checks pass arrays to what was fitted on a frame, and scikit-learn says so.
@pytest.mark.filterwarnings("ignore:X (does not have valid|has) feature names")
@pytest.mark.parametrize("estimator", [REGRESSOR, CLASSIFIER], ids=["regressor", "classifier"])
@pytest.mark.parametrize(
    "name",
    [
        "check_dataframe_column_names_consistency",
        "check_transformer_get_feature_names_out",
        "check_transformer_get_feature_names_out_pandas",
        "check_set_output_transform",
        "check_set_output_transform_pandas",
        "check_set_output_transform_polars",
        "check_global_output_transform_pandas",
    ],
)
def test_the_checks_that_scikit_learn_keeps_for_itself_pass_too(estimator, name):
    getattr(estimator_checks, name)(type(estimator).__name__, estimator)
