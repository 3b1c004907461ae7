"""The pieces that experiments are made of."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.algebra.monomials import count_terms
from nn2poly.algebra.partitions import multiset_partitions, representative
from nn2poly_paper import covertype, ensembles, markdown, partitions
from nn2poly_paper.data import example_data
from nn2poly_paper.measure import average, coefficients, compare, convert_both, outputs


@pytest.mark.parametrize(("p", "order"), [(1, 5), (2, 4), (3, 5), (6, 3)])
def test_the_classes_share_out_all_terms(p, order):
    groups = [g for degree in range(1, order + 1) for g in partitions.classes(degree, p)]
    assert len(groups) == len(set(groups))
    sizes = sum(partitions.class_size(group, p) for group in groups)
    assert sizes == count_terms(p, order) - 1


def test_partitions_of_all_terms_are_counted_one_by_one():
    p, order = 3, 5
    terms = [
        term
        for degree in range(1, order + 1)
        for term in combinations_with_replacement(range(p), degree)
    ]
    every = sum(1 for term in terms for _ in multiset_partitions(representative(term)[0]))
    found = partitions.measure(p=p, order=order, hidden=[3], seed=1)
    assert found["counts"]["partitions_all"] == every
    assert found["counts"]["terms"] == len(terms) + 1
    assert {row["what"] for row in found["timings"]} == set(partitions.SOURCES)


def test_the_network_that_is_converted_meets_the_constraint():
    *hidden, _ = partitions._network(4, (6, 6), seed=1).layers
    for layer in hidden:
        norms = np.abs(layer.weights).sum(axis=0) + np.abs(layer.bias)
        np.testing.assert_allclose(norms, 1.0)


def test_coefficients_belong_to_the_scaled_inputs(make_network):
    data = example_data(200, seed=1)
    network = make_network(0, (3, 6, 1))
    for pnet in convert_both(network, 2, data.X).values():
        poly = n2p.Polynomial(np.array(coefficients(pnet))[:, None], 2, ["x1", "x2", "x3"])
        np.testing.assert_allclose(
            poly.predict(data.X_test), outputs(pnet, data.X_test)[:, 0], atol=1e-10
        )


def test_relu_has_no_taylor_column(make_network):
    found = compare(make_network(0, (3, 6, 1), "relu"), example_data(100, seed=1), 2)
    assert found["mse"]["mse_taylor"] is None
    assert found["mse"]["mse_calibrated"] < found["mse"]["mse_response"]


def test_a_polynomial_that_overflows_is_infinitely_far_off(make_network):
    data = example_data(100, seed=1)
    found = compare(make_network(0, (3, *[30] * 12, 1), spread=60.0, bias=60.0), data, 3)["mse"]
    assert found["mse_taylor"] == float("inf")
    assert np.isfinite(found["mse_calibrated"])


def test_averages_are_over_networks_and_ranked_by_size():
    rows = average(["1", "a", "b"], [[1.0, -4.0, 2.0], [1.0, -6.0, 0.0], [1.0, -5.0, -3.2]])
    assert [row["term"] for row in rows] == ["a", "1", "b"]
    assert (rows[0]["mean"], rows[0]["sd"]) == (-5.0, 1.0)
    assert average(["1"], [[2.0]])[0]["sd"] == 0.0


def test_a_network_survives_being_packed(make_network):
    network = make_network(3, (4, 5, 2), "softplus")
    again = ensembles.unpack(ensembles.pack(network))
    X = np.random.default_rng(0).normal(size=(6, 4))
    np.testing.assert_array_equal(again.predict(X), network.predict(X))


def test_confusion_counts_pairs_of_labels():
    table = np.array(covertype._count(np.array([0, 0, 6]), np.array([0, 1, 6])))
    assert table.shape == (7, 7)
    assert (table[0, 0], table[0, 1], table[6, 6], table.sum()) == (1, 1, 1, 3)


def test_splits_share_out_all_rows():
    here, there = covertype.split(1003, seed=4)
    assert (len(here), len(there)) == (802, 201)
    assert sorted([*here, *there]) == list(range(1003))


@pytest.mark.parametrize(
    ("value", "text"),
    [(2.31e-4, "2.31e-4"), (0.0134, "0.0134"), (0, "0"), (12345, "1.23e4"), (999.6, "1.00e3")],
)
def test_numbers_read_well(value, text):
    assert markdown.short(value) == text


def test_a_cell_cannot_break_a_table():
    lines = markdown.markdown(("a",), [("x|y",)]).splitlines()
    assert lines[-1] == "| x\\|y |"
