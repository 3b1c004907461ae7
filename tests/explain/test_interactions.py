"""Shapley interactions: equal to shapiq's exact computer, and lawful."""

from __future__ import annotations

import sys
import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nn2poly as n2p
from nn2poly.algebra.terms import Graded
from nn2poly.errors import InvalidInputError, MissingDependencyError, OutsideRangeWarning
from nn2poly.explain import interactions, shapley


@pytest.fixture(scope="module")
def shapiq():
    """Import shapiq, which may warn about other libraries while it is loaded."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import shapiq
    return shapiq


def random_polynomial(seed, p, order, n_outputs=1, **options):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(len(Graded(p, order)), n_outputs))
    return n2p.Polynomial(values, order, [f"x{i + 1}" for i in range(p)], **options)


def game(poly, x, background, output):
    """Give the game of one row: coalitions (m, p) of booleans to values (m,)."""

    def values(coalitions):
        means = []
        for kept in np.asarray(coalitions, dtype=bool):
            mixed = np.where(kept, x, background)
            means.append(poly.predict(mixed).reshape(len(mixed), -1)[:, output].mean())
        return np.array(means)

    return values


@pytest.mark.parametrize("index", ["k-SII", "STII", "SII"])
@pytest.mark.parametrize(("p", "order", "size"), [(5, 4, 1), (5, 4, 2), (5, 4, 3), (4, 3, 4)])
def test_values_equal_those_of_shapiq(shapiq, index, p, order, size):
    rng = np.random.default_rng(1)
    poly = random_polynomial(
        1, p, order, 2, center=rng.normal(size=p), scale=rng.uniform(0.5, 2, p)
    )
    X, background = rng.uniform(-1, 1, (2, p)), rng.uniform(-1, 1, (9, p))
    ours = interactions(poly, X, background, order=size, index=index)
    for row in range(2):
        exact = shapiq.ExactComputer(game(poly, X[row], background, 1), n_players=p)
        theirs = exact(index, order=size).dict_values
        for subset in (s for k in range(1, size + 1) for s in combinations(range(p), k)):
            found = ours.value(subset)[row, 1]
            assert found == pytest.approx(theirs.get(subset, 0.0), abs=1e-9), subset


def test_shapiq_reads_the_values_and_their_baseline(shapiq):
    rng = np.random.default_rng(2)
    poly = random_polynomial(2, 4, 3, 2)
    X, background = rng.normal(size=(3, 4)), rng.normal(size=(7, 4))
    ours = interactions(poly, X, background)
    for output in (1, "y2"):
        passed = ours.to_shapiq(output)
        assert len(passed) == 3
        for row, values in enumerate(passed):
            assert isinstance(values, shapiq.InteractionValues)
            assert (values.index, values.max_order, values.n_players) == ("k-SII", 2, 4)
            assert values.baseline_value == pytest.approx(ours.base_values[1])
            assert values[(0, 3)] == ours.value((0, 3))[row, 1]
            assert values.values.sum() == pytest.approx(poly.predict(X)[row, 1], abs=1e-9)


@pytest.mark.parametrize("index", ["k-SII", "STII", "SII"])
def test_what_is_passed_to_shapiq_equals_what_shapiq_would_compute(shapiq, index):
    rng = np.random.default_rng(3)
    poly = random_polynomial(3, 4, 3)
    X, background = rng.normal(size=(1, 4)), rng.normal(size=(5, 4))
    passed = interactions(poly, X, background, index=index).to_shapiq()[0]
    computed = shapiq.ExactComputer(game(poly, X[0], background, 0), n_players=4)(index, order=2)
    assert passed.index == computed.index
    for subset, value in passed.dict_values.items():
        assert value == pytest.approx(computed[subset], abs=1e-9), subset
    mean = poly.predict(background).mean()
    assert passed.baseline_value == pytest.approx(mean, abs=1e-9)
    assert (() in passed.dict_values) == (index != "SII")


@pytest.mark.filterwarnings("ignore")
def test_shapiq_draws_the_values(shapiq, tmp_path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    poly = random_polynomial(4, 4, 2)
    passed = interactions(poly, np.ones((1, 4)), np.zeros((1, 4))).to_shapiq()[0]
    figure, _ = shapiq.plot.network_plot(interaction_values=passed, show=False)
    figure.savefig(tmp_path / "network.png")
    plt.close("all")
    assert (tmp_path / "network.png").stat().st_size > 5000


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    p=st.integers(1, 5),
    order=st.integers(1, 4),
    size=st.integers(1, 5),
    index=st.sampled_from(["k-SII", "STII"]),
)
def test_efficiency(seed, p, order, size, index):
    poly, rng = random_polynomial(seed, p, order, 2), np.random.default_rng(seed)
    X, background = rng.normal(size=(3, p)), rng.normal(size=(4, p))
    found = interactions(poly, X, background, order=size, index=index)
    total = found.base_values + found.values.sum(axis=1)
    scale = max(1.0, np.abs(poly.predict(X)).max())
    np.testing.assert_allclose(total, poly.predict(X), atol=1e-11 * scale)


@pytest.mark.parametrize("index", ["k-SII", "STII", "SII"])
def test_order_one_is_the_shapley_value(index):
    poly, rng = random_polynomial(5, 4, 4, 3), np.random.default_rng(5)
    X, background = rng.normal(size=(6, 4)), rng.normal(size=(8, 4))
    found = interactions(poly, X, background, order=1, index=index)
    np.testing.assert_allclose(found.values, shapley(poly, X, background).values, atol=1e-10)


def test_only_subsets_that_share_a_term_are_listed_and_others_are_zero():
    poly = n2p.Polynomial.from_terms(["a b", "c^2", "b c d"], [1.0, 1.0, 1.0], list("abcde"))
    found = interactions(poly, np.ones((2, 5)), np.zeros((1, 5)), order=3)
    singles, pairs = [(0,), (1,), (2,), (3,)], [(0, 1), (1, 2), (1, 3), (2, 3)]
    assert list(found.subsets) == [*singles, *pairs, (1, 2, 3)]
    assert np.all(found.value(("a", "c")) == 0)
    assert np.all(found.value("e") == 0)
    np.testing.assert_array_equal(found.value(("d", "b")), found.value((1, 3)))


def test_a_symmetric_pair_shares_its_pure_product():
    """Against zeros, x y is one coefficient of the pair: nothing for either alone."""
    poly = n2p.Polynomial.from_terms(["a b"], [1.0], ["a", "b"])
    found = interactions(poly, [[2.0, 3.0]], [[0.0, 0.0]])
    assert found.values[0, :, 0].tolist() == [0.0, 0.0, 6.0]


def test_pairs_of_a_54_feature_polynomial_equal_second_differences():
    """Of order 2, a pair's value is v(ij) - v(i) - v(j) + v(), whatever the others do."""
    poly, rng = random_polynomial(6, 54, 2, 7), np.random.default_rng(6)
    X, background = rng.normal(size=(20, 54)), rng.normal(size=(40, 54))
    found = interactions(poly, X, background)
    assert len(found.subsets) == 54 + 54 * 53 // 2
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, poly.predict(X), atol=1e-9)
    v = game(poly, X[0], background, 3)
    kept = np.zeros((4, 54), dtype=bool)
    kept[1, 7] = kept[2, 40] = True
    kept[3, [7, 40]] = True
    values = v(kept)
    expected = values[3] - values[1] - values[2] + values[0]
    assert found.value((7, 40))[0, 3] == pytest.approx(expected, abs=1e-9)


def test_a_pruned_polynomial_of_54_features_and_order_3_has_triples():
    poly, rng = random_polynomial(7, 54, 3).prune(300), np.random.default_rng(7)
    X, background = rng.normal(size=(10, 54)), rng.normal(size=(40, 54))
    for index in ("k-SII", "STII"):
        found = interactions(poly, X, background, order=3, index=index)
        total = found.base_values + found.values.sum(axis=1)
        np.testing.assert_allclose(total[:, 0], poly.predict(X), atol=1e-9)
        assert max(map(len, found.subsets)) == 3


def test_the_table_names_subsets_and_can_show_pairs_alone():
    poly = n2p.Polynomial.from_terms(["a b", "a"], [1.0, 5.0], ["a", "b"])
    found = interactions(poly, [[2.0, 3.0]], [[0.0, 0.0]])
    assert found.table().rows == (("a", 10.0), ("a × b", 6.0), ("b", 0.0))
    assert found.table(size=2).rows == (("a × b", 6.0),)
    assert "a × b" in found._repr_html_()


def test_of_one_row_the_table_shows_signs():
    poly = n2p.Polynomial.from_terms(["a b", "a"], [-1.0, 5.0], ["a", "b"])
    table = interactions(poly, [[2.0, 3.0]], [[0.0, 0.0]]).table()
    assert table.rows == (("a", 10.0), ("a × b", -6.0), ("b", 0.0))
    assert table.title == "k-SII up to order 2 of 1 row"


def test_a_constant_polynomial_has_no_interactions():
    found = interactions(n2p.Polynomial([[4.0]], 0, ["a"]), [[1.0]], [[2.0]])
    assert found.subsets == ()
    assert found.values.shape == (1, 0, 1)
    assert "no rows" in str(found)


def test_unknown_indices_and_orders_are_refused():
    poly = random_polynomial(0, 2, 2)
    with pytest.raises(InvalidInputError, match="did you mean 'k-SII'"):
        interactions(poly, [[0.0, 0.0]], [[0.0, 0.0]], index="K-SII")
    with pytest.raises(InvalidInputError, match="order"):
        interactions(poly, [[0.0, 0.0]], [[0.0, 0.0]], order=0)


def test_rows_outside_the_calibrated_range_warn_once():
    poly = random_polynomial(0, 2, 2, low=[-1.0, -1.0], high=[1.0, 1.0])
    with pytest.warns(OutsideRangeWarning) as caught:
        interactions(poly, [[0.0, 3.0]], [[0.0, 4.0]])
    assert len(caught) == 1


def test_without_shapiq_the_extra_to_install_is_named(monkeypatch):
    found = interactions(random_polynomial(0, 2, 1), [[0.0, 1.0]], [[0.0, 0.0]])
    monkeypatch.setitem(sys.modules, "shapiq", None)
    with pytest.raises(MissingDependencyError, match=r"nn2poly\[explain\]"):
        found.to_shapiq()
