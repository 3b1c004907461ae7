"""The sample: the same rows are the same sample, however they come; some are never fitted."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

import nn2poly as n2p
from nn2poly.errors import InvalidInputError
from nn2poly.factored import shrinkage
from nn2poly.rows import folds as rows_module
from nn2poly.rows import reading as sample
from nn2poly.rows import summary
from nn2poly.rows.folds import FEW_UNITS, FOLDS, HELD_OUT, held_out_share
from nn2poly.rows.reading import read_sample
from nn2poly.rows.summary import summarise
from nn2poly.sampling import group_keys, hashed, ranked, row_keys

NAMES = ["a", "b", "c"]


def rows(n, p=3, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (n, p))


def cut(X, *sizes):
    """Cut rows into batches of these sizes, again and again until none is left."""
    batches, begin = [], 0
    while begin < len(X):
        for size in sizes:
            batches.append(X[begin : begin + size])
            begin += size
    return [batch for batch in batches if len(batch)]


def held_out_mask(X, groups=None):
    """Tell which rows are held out, by the rule of `nn2poly.rows.folds`."""
    keys = row_keys(X) if groups is None else group_keys(groups, len(X))
    return (ranked(keys) if len(X) < FEW_UNITS else hashed(keys)) < HELD_OUT


@pytest.fixture(scope="module")
def network(make_network):
    return make_network(1, (3, 6, 5, 2), "relu", spread=1.5)


def fit(network, data, order=3, **options):
    return n2p.polynomial_network(network, order, data=data, **options)


def coefficients(network, data, order=3, **options):
    return fit(network, data, order, **options).expand().coefficients


# ---- the same rows in other vessels ----------------------------------------------------------

VESSELS = {
    "one array": lambda X: X,
    "rows as lists": lambda X: X.tolist(),
    "a torch tensor": torch.from_numpy,
    "a pandas frame": lambda X: pd.DataFrame(X, columns=NAMES),
    "a polars frame": lambda X: pl.DataFrame(X, schema=NAMES),
    "one batch": lambda X: [X],
    "even batches": lambda X: cut(X, 100),
    "small batches": lambda X: cut(X, 1, 11),
    "odd batches": lambda X: cut(X, 1, 333, 2, 70),
    "a tuple": lambda X: tuple(cut(X, 200)),
    "tensors": lambda X: [torch.from_numpy(x) for x in cut(X, 150)],
    "frames": lambda X: [pd.DataFrame(x, columns=NAMES) for x in cut(X, 150)],
    "polars frames": lambda X: [pl.DataFrame(x, schema=NAMES) for x in cut(X, 150)],
    "pairs with weights": lambda X: [(x, np.ones(len(x))) for x in cut(X, 120)],
    "pairs with None": lambda X: [(x, None) for x in cut(X, 120)],
    "frames in pairs": lambda X: [(pd.DataFrame(x, columns=NAMES), None) for x in cut(X, 120)],
    "some in pairs": lambda X: [X[:30], (X[30:], np.ones(len(X) - 30))],
    "a function of a generator": lambda X: lambda: (x for x in cut(X, 77)),
    "a function of a list": lambda X: lambda: cut(X, 77),
    "a function of pairs": lambda X: lambda: ((x, np.ones(len(x))) for x in cut(X, 77)),
}
# Those that come in parts of other sizes, or that a reader of their own takes apart.
PARTED = ["rows as lists", "a polars frame", "one batch", "even batches", "small batches"]
PARTED += ["odd batches", "pairs with weights", "some in pairs", "a function of a generator"]


@pytest.fixture(scope="module")
def fit_of_array(network):
    """Fit an array of so many rows, once."""
    return cache(lambda n_rows: fit(network, rows(n_rows)))


@pytest.mark.parametrize(
    ("n_rows", "vessel"), [*((40, each) for each in VESSELS), *((1100, each) for each in PARTED)]
)
def test_the_same_rows_give_the_same_polynomial(network, fit_of_array, vessel, n_rows):
    """1100 rows are more than one chunk of an array."""
    assert rows_module.BATCH_ROWS < 1100
    expected, found = fit_of_array(n_rows), fit(network, VESSELS[vessel](rows(n_rows)))
    size = np.abs(expected.expand().coefficients).max()
    np.testing.assert_allclose(
        found.expand().coefficients, expected.expand().coefficients, rtol=0, atol=1e-9 * size
    )
    np.testing.assert_array_equal(found.inputs.low, expected.inputs.low)
    np.testing.assert_array_equal(found.inputs.high, expected.inputs.high)
    assert found.card.n_rows == expected.card.n_rows
    assert found.card.r2 == pytest.approx(expected.card.r2, abs=1e-9)


@pytest.mark.parametrize("size", [64, 10**6])
def test_the_chunks_of_an_array_do_not_matter(monkeypatch, network, size):
    X = rows(1100)
    expected = coefficients(network, X)
    monkeypatch.setattr(rows_module, "BATCH_ROWS", size)
    np.testing.assert_allclose(coefficients(network, X), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("size", [7, 100])
def test_the_same_many_rows_give_the_same_polynomial(network, size):
    X = rows(4000)
    expected, found = (coefficients(network, data) for data in (X, cut(X, size)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("size", [7, 500])
def test_the_same_rows_of_an_exploding_network_give_the_same_polynomial(make_network, size):
    exploding = make_network(5, (3, 8, 6, 1), "exp", spread=1.0)
    X = rows(1500)
    expected, found = (coefficients(exploding, data) for data in (X, cut(X, size)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("wrap", [list, lambda frames: lambda: iter(frames)], ids=["list", "call"])
def test_frames_are_matched_to_the_networks_names(network, wrap):
    named = network.named(NAMES)
    X = rows(200)
    frames = [pd.DataFrame(x, columns=NAMES) for x in cut(X, 100)]
    frames[1] = frames[1][["c", "a", "b"]].assign(extra=1.0)
    np.testing.assert_array_equal(
        coefficients(named, wrap(frames)), coefficients(named, cut(X, 100))
    )


def test_a_list_of_frames_names_the_features(network):
    frames = [pd.DataFrame(x, columns=NAMES) for x in cut(rows(100), 50)]
    assert fit(network, frames, 1).feature_names == tuple(NAMES)
    assert fit(network, [(frame, None) for frame in frames], 1).feature_names == tuple(NAMES)
    frames[1] = frames[1][["c", "a", "b"]]
    np.testing.assert_array_equal(
        coefficients(network, frames), coefficients(network, cut(rows(100), 50))
    )


def test_frames_from_a_function_are_matched_by_the_names_of_the_first(network):
    frames = [pd.DataFrame(x, columns=NAMES) for x in cut(rows(200), 100)]
    frames[1] = frames[1][["c", "a", "b"]]
    found = coefficients(network, lambda: iter(frames))
    np.testing.assert_array_equal(found, coefficients(network, cut(rows(200), 100)))


# ---- what is no sample -----------------------------------------------------------------------

ONE_SHOT = {
    "generator": lambda X: (x for x in cut(X, 20)),
    "iterator": lambda X: iter(cut(X, 20)),
    "map": lambda X: map(np.asarray, cut(X, 20)),
}


@pytest.mark.parametrize("kind", ONE_SHOT)
def test_batches_that_can_be_walked_once_are_refused_with_the_remedy(network, kind):
    with pytest.raises(InvalidInputError, match="walked only once") as caught:
        fit(network, ONE_SHOT[kind](rows(60)))
    assert caught.value.where == "data"
    assert "lambda" in caught.value.remedy


def test_a_function_that_returns_the_same_iterator_is_refused_with_the_remedy(network):
    batches = iter(cut(rows(60), 20))
    with pytest.raises(InvalidInputError) as caught:
        fit(network, lambda: batches)
    assert "new iterator" in str(caught.value)


@pytest.mark.parametrize(
    "data", [[], (), lambda: iter(()), np.zeros((0, 3))], ids=lambda data: type(data).__name__
)
def test_no_rows_at_all_are_refused(network, data):
    with pytest.raises(InvalidInputError, match="empty") as caught:
        fit(network, data)
    assert caught.value.where == "data"


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (rows(5)[:, :2], "wrong number of columns"),
        (np.full((5, 3), np.nan), "NaN or infinite"),
        (np.full((5, 3), np.inf), "NaN or infinite"),
        (rows(5).astype(str), "not real numbers"),
        ("text", "in memory"),
    ],
    ids=["columns", "nan", "inf", "text", "scalar"],
)
def test_a_batch_that_cannot_be_used_is_named_by_its_number(network, bad, message):
    with pytest.raises(InvalidInputError, match=message) as caught:
        fit(network, [rows(30), rows(30), bad])
    assert caught.value.where == "data, batch 2"


def test_values_that_are_not_finite_are_named_by_their_columns(network):
    X = rows(50)
    X[3, 1], X[4, 2] = np.inf, np.nan
    for data, where in ((X, "data"), ([rows(9), X], "data, batch 1")):
        with pytest.raises(InvalidInputError, match="NaN or infinite") as caught:
            fit(network.named(NAMES), data)
        assert caught.value.where == where
        assert "2 of 50 rows" in caught.value.found
        assert "'b', 'c'" in caught.value.found


def test_targets_in_a_batch_are_left_alone(network):
    """Labels 0 and 1 would drop a class if they were taken for weights."""
    X = rows(300)
    labels = (X[:, 0] > 0).astype(float)
    plain = coefficients(network, cut(X, 100))
    for others in ((labels,), (labels, np.ones(300))):
        parts = list(zip(*(cut(part, 100) for part in (X, *others)), strict=True))
        np.testing.assert_array_equal(coefficients(network, parts), plain)


def test_a_dictionary_says_which_entry_is_the_table(network):
    X = rows(300)
    named = [{"X": part, "y": np.zeros(len(part))} for part in cut(X, 100)]
    np.testing.assert_array_equal(coefficients(network, named), coefficients(network, X))
    with pytest.raises(InvalidInputError, match="which of its entries") as caught:
        fit(network, [{"a": X, "b": X}])
    assert "keys a, b" in caught.value.found


# ---- too few rows -----------------------------------------------------------------------------


@pytest.mark.parametrize(("order", "n_rows"), [(1, 1), (1, 2), (2, 3), (5, 6), ("auto", 2)])
def test_too_few_rows_are_refused_with_the_number_needed(network, order, n_rows):
    with pytest.raises(InvalidInputError, match="too small") as caught:
        fit(network, rows(n_rows), order)
    needed = (1 if order == "auto" else order) + 2
    assert f"at least {needed} rows" in caught.value.expected
    assert f"{n_rows} row" in caught.value.found
    assert "more rows" in caught.value.remedy
    assert "around" in caught.value.remedy


@pytest.mark.parametrize("order", [1, 2, 5])
def test_just_enough_rows_are_fitted(network, order):
    X = rows(order + 2)
    pnet = fit(network, X, order)
    assert np.all(np.isfinite(pnet.predict(X)))
    assert pnet.card.n_rows == order + 2


def test_a_single_row_in_batches_is_refused_as_too_small(network):
    with pytest.raises(InvalidInputError, match="too small"):
        fit(network, [rows(1)])


@pytest.mark.parametrize(
    "point",
    [
        [0.5, -0.25, 0.75],
        [0.1, -0.3, 0.7],
    ],
    ids=str,
)
def test_rows_that_are_all_equal_give_the_networks_constant(network, point):
    X = np.tile([point], (60, 1))
    pnet = fit(network, X)
    np.testing.assert_allclose(pnet.predict(X), network.predict(X), rtol=0, atol=1e-12)
    poly = pnet.expand()
    np.testing.assert_array_equal(poly.coefficients[poly.terms.orders() > 1], 0.0)
    assert pnet.card.verdict.grade == "undecided"


def test_pairs_of_equal_rows_are_fitted(network):
    X = np.repeat(rows(50), 2, axis=0)
    assert fit(network, X, 2).card.r2 > 0.5


# ---- rows that are held out -------------------------------------------------------------------


@pytest.mark.parametrize("n_rows", [150, 400, 1500])
def test_held_out_rows_never_touch_the_coefficients(network, n_rows):
    X = rows(n_rows)
    # A group for each row: by what they hold, rows that change would change sides.
    groups = np.arange(n_rows)
    mask = held_out_mask(X, groups)
    assert 0.1 < mask.mean() < 0.3
    changed = X.copy()
    changed[mask] = 1e3 * rows(int(mask.sum()), seed=1)
    pnet, other = (fit(network, data, groups=groups) for data in (X, changed))
    np.testing.assert_array_equal(other.expand().coefficients, pnet.expand().coefficients)
    assert pnet.card.held_out
    assert pnet.card.n_rows == mask.sum()
    assert other.card.r2 != pnet.card.r2


def test_a_row_that_is_not_held_out_does_touch_them(network):
    X, groups = rows(200), np.arange(200)
    changed = X.copy()
    changed[np.flatnonzero(~held_out_mask(X, groups))[0]] *= 2
    pnet, other = (fit(network, data, groups=groups) for data in (X, changed))
    assert np.abs(other.expand().coefficients - pnet.expand().coefficients).max() > 1e-6


def test_the_card_is_that_of_fidelity_on_the_held_out_rows(network):
    X = rows(400)
    pnet = fit(network, X)
    card = n2p.fidelity(network, pnet, X[held_out_mask(X)])
    assert card.rmse == pytest.approx(pnet.card.rmse, rel=1e-9)
    assert card.max_error == pytest.approx(pnet.card.max_error, rel=1e-9)
    assert not card.held_out


def test_below_20_rows_all_are_fitted_and_the_card_says_so(network):
    X = rows(19)
    pnet = fit(network, X, 1)
    assert not pnet.card.held_out
    assert pnet.card.n_rows == 19
    assert "held-out" not in str(pnet.card)
    for row in range(19):
        changed = X.copy()
        changed[row] = -changed[row]
        assert np.abs(coefficients(network, changed, 1) - coefficients(network, X, 1)).max() > 1e-9


def test_below_20_rows_batches_are_all_fitted_too(network):
    X = rows(12)
    assert not fit(network, [X], 1).card.held_out
    np.testing.assert_allclose(coefficients(network, [X], 1), coefficients(network, X, 1))


def test_sorted_rows_are_fitted_evenly(network):
    """Of any stretch of sorted data about a fifth is held out, and every fold has its share."""
    n = 4000
    X = np.column_stack([np.arange(n), np.zeros(n), np.zeros(n)])
    batches = list(read_sample(X, network, None).rows.to_fit())
    folds = [np.concatenate([b.X[b.fold == k, 0] for b in batches]) for k in range(FOLDS)]
    fitted = np.concatenate(folds)
    held_out = np.setdiff1d(np.arange(n), fitted)
    assert len(np.unique(fitted)) == len(fitted) == n - len(held_out)
    for share, part in ((0.2, held_out), *((0.16, fold) for fold in folds)):
        counts = np.histogram(part, bins=np.arange(0, n + 1, 100))[0]
        # A hash is a random draw: binomial, with a deviation of 4 rows of 100.
        assert np.all(np.abs(counts - 100 * share) <= 16)
        assert abs(counts.mean() - 100 * share) < 2


@pytest.mark.parametrize(
    ("count", "judged"), [(100, 20), (5_000, 1_000), (20_000, 1_000), (45_000, 5_000), (10**6, 2e5)]
)
def test_a_thousand_rows_judge_a_table_of_thousands(count, judged):
    """More only where there are more rows than terms are fitted on, and a fifth at most."""
    assert held_out_share(count) * count == pytest.approx(judged)


def test_at_most_so_many_held_out_rows_are_kept(monkeypatch, network):
    monkeypatch.setattr(summary, "MAX_HELD_OUT", 50)
    X = rows(1000)
    kept = summarise(read_sample(X, network, None)).held_out
    assert len(kept) == 50
    allowed = {row.tobytes() for row in X[held_out_mask(X)]}
    assert {row.tobytes() for row in kept} <= allowed


def test_the_held_out_rows_that_are_kept_come_from_all_of_the_data(monkeypatch, network):
    monkeypatch.setattr(summary, "MAX_HELD_OUT", 50)
    X = np.sort(rows(1000), axis=0)
    kept = summarise(read_sample(X, network, None)).held_out
    assert kept[:, 0].max() > 0.8
    assert kept[:, 0].min() < -0.8


def test_the_held_out_rows_that_are_kept_leave_no_wide_gap(monkeypatch, network):
    monkeypatch.setattr(summary, "MAX_HELD_OUT", 50)
    numbers = np.arange(3000.0)[:, None] * np.ones((1, 3))
    for data in (numbers, cut(numbers, 100), cut(numbers, 1, 40)):
        kept = summarise(read_sample(data, network, None)).held_out[:, 0]
        assert len(kept) == 50
        gaps = np.diff([0.0, *kept, 3000.0])
        assert gaps.max() < 9 * np.mean(gaps)


def test_a_large_group_leaves_rows_for_the_card(monkeypatch, network):
    """Of 600 equal rows held out none was left, as more than 50 cannot be kept."""
    monkeypatch.setattr(summary, "MAX_HELD_OUT", 50)
    X, groups = rows(3000), np.repeat(np.arange(5), 600)
    assert len(summarise(read_sample(X, network, None, groups)).held_out) == 50


# ---- weights ----------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [1.0, 1e-6, 2.5, 1e6])
def test_uniform_weights_are_no_weights(network, weight):
    X = rows(500)
    found = coefficients(network, X, sample_weight=np.full(500, weight))
    np.testing.assert_allclose(found, coefficients(network, X), rtol=0, atol=1e-9)


def test_weights_of_an_array_are_weights_of_its_batches(network):
    X, weights = rows(600), np.random.default_rng(1).uniform(0, 2, 600)
    pairs = zip(cut(X, 130), cut(weights, 130), strict=True)
    named = [{"X": part, "sample_weight": w} for part, w in pairs]
    found, expected = coefficients(network, named), coefficients(network, X, sample_weight=weights)
    beside = coefficients(network, cut(X, 130), sample_weight=weights)
    np.testing.assert_allclose(beside, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    assert np.abs(expected - coefficients(network, X)).max() > 1e-4


def test_a_weight_of_two_is_a_row_twice(monkeypatch, network):
    """Where dealing and the choice of shrinkage do not come between."""
    monkeypatch.setattr(shrinkage, "ACTIVATION_RIDGES", (1e-6,))
    X = rows(140)  # so few are all fitted
    twice = np.arange(0, 140, 3)
    weights = np.ones(140)
    weights[twice] = 2.0
    found = coefficients(network, X, sample_weight=weights, refit=False, bounded=False)
    expected = coefficients(network, np.vstack([X, X[twice]]), refit=False, bounded=False)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)
    assert np.abs(found - coefficients(network, X, refit=False, bounded=False)).max() > 1e-5


def test_the_centre_and_scale_are_the_weighted_moments_of_the_rows_to_fit(network):
    X, weights = 5 + 3 * rows(3000), np.random.default_rng(1).uniform(0, 2, 3000)
    summary = summarise(read_sample(X, network, weights))
    kept = ~held_out_mask(X)
    mean = np.average(X[kept], axis=0, weights=weights[kept])
    deviation = np.sqrt(np.average((X[kept] - mean) ** 2, axis=0, weights=weights[kept]))
    np.testing.assert_allclose(summary.center, mean, rtol=1e-12)
    np.testing.assert_allclose(summary.scale, deviation, rtol=1e-12)
    assert summary.n_rows == kept.sum()


def test_moments_survive_a_large_offset(network):
    X = 1e9 + rows(3000)
    summary = summarise(read_sample(X, network, None))
    kept = ~held_out_mask(X)
    np.testing.assert_allclose(summary.scale, X[kept].std(axis=0), rtol=1e-6)


def test_the_values_of_rows_without_weight_do_not_matter(network):
    X, weights = rows(500), np.ones(500)
    weights[::7] = 0.0
    changed = X.copy()
    changed[::7] = 0.9 * rows(len(X[::7]), seed=3)
    found = coefficients(network, changed, sample_weight=weights)
    np.testing.assert_array_equal(found, coefficients(network, X, sample_weight=weights))


def test_rows_without_weight_at_the_end_change_nothing(network):
    X, weights = rows(600), np.ones(600)
    weights[300:] = 0.0
    found = coefficients(network, X, sample_weight=weights)
    np.testing.assert_allclose(found, coefficients(network, X[:300]), rtol=0, atol=1e-9)


def test_a_column_that_varies_without_weight_only_is_constant(network):
    X, weights = rows(300), np.ones(300)
    X[:200, 1] = 0.5
    weights[200:] = 0.0
    poly = fit(network, X, 2, sample_weight=weights).expand()
    assert [poly.coefficient(term) for term in ((0, 1), (1, 1))] == [0.0, 0.0]


@pytest.mark.parametrize(
    "weights",
    [np.ones(49), np.ones((50, 1)), -np.ones(50), np.full(50, np.nan), np.full(50, np.inf), 1.0],
    ids=["short", "two dimensions", "negative", "nan", "inf", "a number"],
)
def test_weights_that_are_not_one_for_each_row_are_refused(network, weights):
    with pytest.raises(InvalidInputError, match="cannot be used") as caught:
        fit(network, rows(50), sample_weight=weights)
    assert "sample_weight" in caught.value.where
    with pytest.raises(InvalidInputError, match="cannot be used") as caught:
        fit(network, [{"X": rows(50)}, {"X": rows(50), "sample_weight": weights}])
    assert caught.value.where == "weights of batch 1"


def test_weights_that_are_no_numbers_are_refused_in_words(network):
    with pytest.raises(InvalidInputError):
        fit(network, rows(50), sample_weight=["heavy"] * 50)


def test_weights_that_are_all_zero_are_refused(network):
    with pytest.raises(InvalidInputError, match="zero"):
        fit(network, rows(50), sample_weight=np.zeros(50))


def test_weights_beside_batches_beyond_memory_are_refused_with_the_remedy(monkeypatch, network):
    monkeypatch.setattr(sample, "GATHERED_NUMBERS", 10)
    with pytest.raises(InvalidInputError, match="sample_weight") as caught:
        fit(network, cut(rows(60), 20), sample_weight=np.ones(60))
    assert '"sample_weight": weights' in caught.value.remedy


def test_weights_without_data_are_refused(make_network):
    with pytest.raises(InvalidInputError):
        n2p.convert(make_network(0), 2, sample_weight=np.ones(50))


def test_small_batches_are_walked_a_few_times_whatever_the_conversion_does(network):
    """Once for their names, once to be gathered; they were walked 14 times."""
    walks = []

    def batches():
        walks.append(0)
        yield from cut(rows(1100), 200)

    n2p.convert(network, 3, data=batches)
    assert len(walks) <= 3
