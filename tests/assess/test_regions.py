"""Where it is worst: planted regions are found, described as they are, and not invented."""

from __future__ import annotations

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.assess import regions
from nn2poly.assess.regions import MIN_ROWS, MIN_SHARE, WORTH_A_LINE, worst_regions
from nn2poly.inputs import Column, Inputs

NAMES = ("age", "dose", "time")
INPUTS = Inputs.of(NAMES)


def integers(n, p=3, seed=0, low=0, high=100):
    """Draw whole numbers, so that a threshold of four digits says exactly which rows it means."""
    return np.random.default_rng(seed).integers(low, high, (n, p)).astype(float)


def rows_of(description, X, names=NAMES):
    """Read a description back: the rows that it means."""
    chosen = np.ones(len(X), dtype=bool)
    for cut in description.split(" and "):
        name, sign, threshold = cut.split(" ")
        column = X[:, names.index(name)]
        chosen &= column > float(threshold) if sign == ">" else column <= float(threshold)
    return chosen


def noise(n, seed=0):
    return np.abs(np.random.default_rng(seed).normal(1.0, 0.05, n))


# ---- what is found -----------------------------------------------------------------------------


@pytest.mark.parametrize("sign", [">", "<="])
@pytest.mark.parametrize("feature", [0, 2])
def test_a_planted_region_of_one_feature_is_found(feature, sign):
    X = integers(1000)
    bad = X[:, feature] > 79 if sign == ">" else X[:, feature] <= 19
    found = worst_regions(X, np.where(bad, 5.0, 1.0) * noise(1000), INPUTS)
    assert found[0].description.startswith(f"{NAMES[feature]} {sign} ")
    inside = rows_of(found[0].description, X)
    assert np.mean(bad[inside]) > 0.95
    assert found[0].ratio > 1.8


def test_a_planted_corner_of_two_features_is_found():
    X = integers(2000)
    bad = (X[:, 0] > 59) & (X[:, 1] <= 29)
    worst = worst_regions(X, np.where(bad, 6.0, 1.0) * noise(2000), INPUTS)[0]
    assert "age > " in worst.description
    assert "dose <= " in worst.description
    assert np.mean(bad[rows_of(worst.description, X)]) > 0.85


@pytest.mark.parametrize("seed", range(5))
def test_a_region_is_what_its_description_says(seed):
    rng = np.random.default_rng(seed)
    X = integers(800, seed=seed)
    errors = rng.exponential(1.0, 800) * (1 + 3 * (X[:, seed % 3] > 60))
    found = worst_regions(X, errors, INPUTS)
    overall = np.sqrt(np.mean(errors**2))
    assert found
    for region in found:
        inside = rows_of(region.description, X)
        assert region.n_rows == inside.sum()
        assert region.rmse == pytest.approx(np.sqrt(np.mean(errors[inside] ** 2)), rel=1e-12)
        assert region.ratio == pytest.approx(region.rmse / overall, rel=1e-12)
    assert [r.rmse for r in found] == sorted((r.rmse for r in found), reverse=True)


def test_negative_errors_count_by_their_size():
    X, errors = integers(500), noise(500)
    errors[X[:, 0] > 70] *= 4
    assert worst_regions(X, -errors, INPUTS) == worst_regions(X, errors, INPUTS)


@pytest.mark.parametrize("n", [100, 400, 3000])
def test_a_region_has_at_least_20_rows_and_5_percent(n):
    X = np.arange(n, dtype=float)[:, None]
    errors = np.ones(n)
    errors[-n // 4 :] = 1000.0
    found = worst_regions(X, errors, Inputs.of(["t"]))
    assert found
    assert min(region.n_rows for region in found) >= max(MIN_ROWS, int(MIN_SHARE * n))


def test_a_few_rows_among_thousands_are_no_region_of_their_own():
    """One row in a hundred is bad; its region has a twentieth of the rows all the same."""
    X = np.arange(8000.0)[:, None]
    found = worst_regions(X, np.where(X[:, 0] >= 7920, 1000.0, 1.0), Inputs.of(["t"]))
    assert found
    assert min(region.n_rows for region in found) >= 0.04 * 8000


def test_lines_are_for_parts_that_are_clearly_worse_only():
    X = integers(1000)
    for factor, expected in ((1.1, 0), (3.0, 1)):
        errors = np.where(X[:, 0] > 49, factor, 1.0)
        found = worst_regions(X, errors, INPUTS)
        assert (len(found) > 0) == bool(expected)
        assert all(region.ratio >= WORTH_A_LINE for region in found)


def test_two_values_of_a_column_can_be_told_apart():
    X = (integers(400) > 84).astype(float)
    worst = worst_regions(X, np.where(X[:, 1] > 0.5, 4.0, 1.0), INPUTS)[0]
    assert worst.n_rows == X[:, 1].sum()
    assert worst.description.startswith("dose > 0")


@pytest.mark.parametrize(("on", "words"), [(True, "is b"), (False, "is not b")])
def test_a_level_is_called_by_its_column(on, words):
    draw = integers(600, 1)[:, 0].astype(int)
    bad = draw < 30
    X = np.eye(3)[np.where(bad == on, 1, 2 * (draw % 2))]
    inputs = Inputs((Column.factor("job", "abc"),))
    worst = worst_regions(X, np.where(bad, 4.0, 0.1), inputs)[0]
    assert (worst.description, worst.n_rows) == (f"job {words}", bad.sum())


@pytest.mark.parametrize("on", [True, False])
def test_a_binary_column_is_called_by_its_value(on):
    X = np.where((integers(400) > 69) == on, 2.0, 1.0)
    columns = tuple(Column(name, "binary", ranges=((1.0, 2.0),)) for name in NAMES)
    worst = worst_regions(X, np.where((X[:, 1] == 2.0) == on, 4.0, 0.1), Inputs(columns))[0]
    assert worst.description == f"dose is {2 if on else 1}"


def test_other_values_than_the_two_of_a_binary_column_have_a_threshold():
    X = integers(400, 1, high=3)
    inputs = Inputs((Column("dose", "binary", ranges=((0.0, 1.0),)),))
    worst = worst_regions(X, np.where(X[:, 0] == 2.0, 4.0, 0.1), inputs)[0]
    assert worst.description == "dose > 1"


def test_only_so_many_features_are_searched(monkeypatch):
    X = integers(500)
    errors = np.where(X[:, 2] > 79, 5.0, 1.0)
    assert worst_regions(X, errors, INPUTS)[0].description.startswith("time")
    monkeypatch.setattr(regions, "MAX_FEATURES", 2)
    assert not any("time" in r.description for r in worst_regions(X, errors, INPUTS))


# ---- what is not invented ------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0.0, 1.0, 1e-300, 1e70])
def test_an_error_that_is_the_same_everywhere_has_no_regions(value):
    assert worst_regions(integers(300), np.full(300, value), INPUTS) == ()


def test_few_rows_have_no_regions():
    X = np.arange(39.0)[:, None]
    assert worst_regions(X, np.where(X[:, 0] > 18, 100.0, 0.1), Inputs.of(["t"])) == ()


def test_columns_that_do_not_vary_have_no_regions():
    errors = np.random.default_rng(0).exponential(size=300)
    assert worst_regions(np.ones((300, 3)), errors, INPUTS) == ()


@pytest.mark.parametrize("seed", range(5))
def test_noise_on_many_rows_has_no_regions(seed):
    errors = np.random.default_rng(seed).normal(size=5000)
    assert worst_regions(integers(5000, seed=seed), errors, INPUTS) == ()


@pytest.mark.parametrize("n", [200, 500])
def test_noise_on_few_rows_seldom_has_regions(n):
    """200 rows are what a calibration on 1000 holds out."""
    inputs = Inputs.of(tuple("abcdefghij"))
    invented = sum(
        bool(
            worst_regions(integers(n, 10, seed), np.random.default_rng(seed).normal(size=n), inputs)
        )
        for seed in range(40)
    )
    assert invented <= 6


@pytest.mark.parametrize("n", [200, 500])
def test_a_few_large_errors_anywhere_seldom_make_a_region(n):
    """Noise with heavy tails: one outlier in a leaf must not condemn it."""
    inputs = Inputs.of(tuple("abcdefghij"))
    invented = [
        worst_regions(
            integers(n, 10, seed), np.random.default_rng(seed + 1000).standard_t(3, n), inputs
        )
        for seed in range(40)
    ]
    assert sum(map(bool, invented)) <= 4


def test_a_threshold_is_written_with_the_digits_that_it_needs():
    X = integers(500, 1, low=1_600_000_000, high=1_600_086_400)
    worst = worst_regions(X, np.where(X[:, 0] > 1_600_070_000, 5.0, 1.0), Inputs.of(["time"]))[0]
    assert rows_of(worst.description, X, ("time",)).sum() == worst.n_rows


def test_a_polynomial_that_ran_wild_still_gets_its_card(make_network):
    network = make_network(0, (2, 4, 1), "tanh")
    X = np.random.default_rng(0).uniform(-1, 1, (100, 2))
    poly = n2p.convert(network, 5, data=X, bounded=False)
    assert n2p.fidelity(network, poly, 1e20 * X).r2 < -1e100


def test_the_regions_of_a_card_are_those_of_the_worst_output_in_units_of_its_range():
    """A bend at a = 0.5 that order 1 cannot follow, beside a linear output in another unit."""
    network = n2p.Network(
        [
            n2p.Layer([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [0.0, -0.5, 0.0], "relu"),
            n2p.Layer([[1.0, 0.0], [3.0, 0.0], [0.0, 1e6]]),
        ],
        feature_names=["a", "b"],
    )
    X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    card = n2p.convert(network, 1, data=X).card
    worst = card.regions[0]
    assert "b" not in worst.description
    held_out = card.per_output["y1"]
    assert 0 < worst.rmse < held_out.max_error / held_out.spread
    assert worst.description in str(card.verdict)


def test_a_region_does_not_say_the_same_twice():
    """ "x1 > 1.146 and x1 > 1.581" is x1 > 1.581."""
    x = np.random.default_rng(0).uniform(0, 1, (2000, 1))
    errors = np.select([x[:, 0] > 0.9, x[:, 0] > 0.6], [9.0, 2.0], 0.1)
    regions = worst_regions(x, errors, Inputs.of(["x1"]))
    assert regions
    assert all(region.description.count(" > ") <= 1 for region in regions)


def test_a_region_of_one_level_does_not_list_the_levels_that_it_is_not():
    rng = np.random.default_rng(0)
    inputs = Inputs((Column.factor("town", ["x", "y", "z"]),))
    X = np.eye(3)[rng.integers(3, size=1500)]
    errors = np.select([X[:, 0] == 1, X[:, 1] == 1], [9.0, 4.0], 0.1)
    found = {region.description for region in worst_regions(X, errors, inputs)}
    assert "town is x" in found
    assert not any("is not" in text and " is x" in text for text in found)


@pytest.mark.parametrize(
    ("ends", "words"), [((0.0, 1.0), "flag is yes"), ((2011.0, 2012.0), "2012")]
)
def test_a_column_of_two_values_is_called_as_in_the_rules_of_regions(ends, words):
    X = np.random.default_rng(0).integers(0, 2, (400, 1)) + ends[0]
    inputs = Inputs((Column("flag", "binary", ranges=(ends,)),))
    found = worst_regions(X, np.where(X[:, 0] == ends[1], 5.0, 1.0) * noise(400), inputs)
    assert found[0].description.endswith(words)


def test_of_two_levels_that_rows_show_not_the_one_is_the_other():
    from nn2poly.assess.regions import _Cut
    from nn2poly.inputs import Column, Inputs

    inputs = Inputs((Column.factor("records", ["no", "yes", "(unseen)"]),))
    X = np.eye(3)[np.arange(40) % 2]
    assert _Cut(0, 0.5, False).words(inputs, X) == "records is yes"
    assert _Cut(0, 0.5, False).words(inputs, np.eye(3)[np.arange(40) % 3]) == "records is not no"
