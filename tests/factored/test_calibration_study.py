"""The calibration study in small: what `benchmarks/calibration.py` measures at length.

One seed instead of six, orders 1 to 3 instead of 4, and the plain ridge rival at order 3 alone (the
stronger one is in the benchmark, and so are digits and wine, the dearest); data, networks and rival
are the benchmark's own (`benchmarks/studies.py`).
"""

import importlib
from pathlib import Path
from statistics import median

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV
from sklearn.preprocessing import PolynomialFeatures

pytestmark = [pytest.mark.slow, pytest.mark.study]
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SEEDS = (10,)
# Within this of the rival's R² counts as no worse.
MARGIN = 0.003


@pytest.fixture(scope="module")
def studies():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        yield importlib.import_module("studies")


@pytest.fixture(scope="module")
def results(studies):
    """Measure four data sets scaled to [-1, 1], and standardised Friedman-1."""
    some = [data for data in studies.DATA_SETS if data not in ("digits", "wine")]
    kinds = [("[-1, 1]", data) for data in some] + [("standard", "friedman")]
    cases = [studies.Case(*kind, seed) for kind in kinds for seed in SEEDS]
    return studies.measure_all(cases, studies.Plan(orders=(1, 2, 3), plain=(3,), best=()))


@pytest.fixture(scope="module")
def covertype(studies):
    folder = studies.find_covertype()
    if folder is None:
        pytest.skip("Covertype files not found; set NN2POLY_COVERTYPE_DIR to their folder")
    return studies.read_covertype(folder)


@pytest.fixture(scope="module")
def scaled(results):
    return [result for result in results if result.case.scaling == "[-1, 1]"]


@pytest.mark.parametrize(
    ("activation", "least"), [("tanh", 0.985), ("logistic", 0.99), ("relu", 0.95)]
)
def test_order_three_follows_unconstrained_networks(scaled, activation, least):
    assert median(r.r2[3] for r in scaled if r.activation == activation) >= least


def test_order_three_gives_the_labels_of_the_network(scaled):
    assert median(r.agreement[3] for r in scaled if r.case.data == "cancer") >= 0.99


def test_few_are_worse_than_a_ridge_polynomial_of_the_outputs(results, scaled):
    # Fewer than one in ten over the benchmark's six seeds: logistic networks on [-1, 1] digits and
    # breast cancer.
    for group in (results, scaled):
        assert sum(r.r2[3] < r.plain[3] - MARGIN for r in group) <= 2


def test_one_more_order_hardly_ever_costs_fidelity(studies, results):
    # Order 2 of breast cancer has more terms than rows, and .005 less than order 1 (tanh).
    steps = studies.steps(results)
    assert median(step.change for step in steps) > 0
    assert sum(step.is_fall for step in steps) <= 1
    assert min(step.change for step in steps) > -0.01


def test_the_card_tells_what_new_rows_will_show(results):
    assert abs(median(r.card[3] - r.r2[3] for r in results)) < 0.005


@pytest.mark.parametrize("draw", [10])
def test_covertype_errors_are_a_quarter_of_taylors(studies, covertype, draw):
    with studies.one_thread():
        cards = list(studies.compare_covertype(covertype, orders=(1, 3), seed=draw))
    for order, calibrated, taylor in cards:
        ratios = studies.squared_errors(calibrated) / studies.squared_errors(taylor)
        assert np.all(ratios <= 0.25), f"order {order}: {ratios}"
        assert calibrated.agreement >= taylor.agreement


def test_the_rivals_kernel_multiplies_the_terms_of_scikit_learn(studies):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    features = PolynomialFeatures(4).fit(A)
    expected = features.transform(A) @ features.transform(B).T
    np.testing.assert_allclose(studies.monomial_kernel(A, B, 4), expected, rtol=1e-12)


def test_the_plain_rival_is_scikit_learns_ridge_on_the_same_strengths(studies):
    rng = np.random.default_rng(0)
    X, new = rng.uniform(-1, 1, (60, 4)), rng.uniform(-1, 1, (30, 4))
    outputs = np.tanh(2 * X @ rng.normal(size=(4, 2)))
    features = PolynomialFeatures(3, include_bias=False).fit(X)
    terms = features.transform(X)
    unit = np.sum((terms - terms.mean(axis=0)) ** 2) / len(X)
    ridge = RidgeCV(unit * np.array(studies.STRENGTHS)).fit(terms, outputs)
    expected = ridge.predict(features.transform(new))
    found = studies.RidgeRival(X, new, 3).plain(outputs)
    np.testing.assert_allclose(found, expected, atol=1e-6)
