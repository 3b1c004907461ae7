"""A loader that shuffles gives the same formula each time: rows have an order of their own."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

import nn2poly as n2p
from nn2poly.errors import InvalidInputError, NN2PolyWarning

N = 1500


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 12), nn.Tanh(), nn.Linear(12, 1))


@pytest.fixture(scope="module")
def dataset():
    X = np.random.default_rng(0).normal(size=(N, 3)).astype("float32")
    return TensorDataset(torch.tensor(X), torch.zeros(N))


def shuffled(dataset, seed, **options):
    generator = torch.Generator().manual_seed(seed)
    return DataLoader(dataset, batch_size=128, shuffle=True, generator=generator, **options)


@pytest.mark.parametrize(
    "options",
    [{}, {"max_terms": 8}, {"regions": 3}, {"max_order": "auto"}],
    ids=["order 2", "budget", "regions", "auto"],
)
def test_each_walk_gives_the_same_formula_and_card(network, dataset, options):
    one, other = (n2p.convert(network, data=shuffled(dataset, seed), **options) for seed in (0, 1))
    X = dataset.tensors[0].numpy()
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    assert one.card.r2 == other.card.r2
    cards = [n2p.fidelity(network, one, shuffled(dataset, seed)) for seed in (2, 3)]
    assert (cards[0].r2, cards[0].r2_mixed) == (cards[1].r2, cards[1].r2_mixed)


def test_random_batches_are_shuffled_too(network, dataset):
    def loader(seed):
        order = RandomSampler(dataset, generator=torch.Generator().manual_seed(seed))
        return DataLoader(dataset, batch_sampler=torch.utils.data.BatchSampler(order, 100, False))

    one, other = (n2p.convert(network, data=loader(seed)) for seed in (0, 1))
    np.testing.assert_array_equal(one.coefficients, other.coefficients)


class TwoInputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(3, 1)

    def forward(self, first, second):
        return torch.tanh(self.last(torch.cat([first, second], dim=1)))


def test_several_inputs_are_put_in_order_as_well(dataset):
    torch.manual_seed(0)
    X, pairs = dataset.tensors[0], TwoInputs()
    both = TensorDataset(X[:, :2], X[:, 2:])
    one, other = (n2p.convert(pairs, data=shuffled(both, seed)) for seed in (0, 1))
    np.testing.assert_array_equal(one.coefficients, other.coefficients)


def test_values_row_by_row_are_refused_beside_a_loader_that_shuffles(network, dataset):
    values, poly = np.ones(N), n2p.convert(network, 1)
    for call in (
        lambda: n2p.convert(network, data=shuffled(dataset, 0), sample_weight=values),
        lambda: n2p.fidelity(network, poly, shuffled(dataset, 0), values),
        lambda: n2p.fidelity(network, poly, shuffled(dataset, 0), groups=values),
    ):
        with pytest.raises(InvalidInputError, match="a loader that shuffles") as error:
            call()
        assert "shuffle=False" in error.value.remedy


def test_a_loader_that_draws_other_rows_each_time_is_told(network, dataset):
    drawing = DataLoader(dataset, 128, sampler=RandomSampler(dataset, replacement=True))
    for loader in (drawing, shuffled(dataset, 0, drop_last=True)):
        with pytest.warns(NN2PolyWarning, match="will see other rows"):
            n2p.convert(network, 1, data=loader)
