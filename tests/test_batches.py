"""Loaders and datasets of PyTorch are data; targets in their batches are never weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, TensorDataset

import nn2poly as n2p
from nn2poly.batches import gathered, split_batch, torch_batches
from nn2poly.errors import InvalidInputError

X = torch.tensor(np.random.default_rng(0).uniform(-1, 1, (300, 2)), dtype=torch.float32)
LABELS = (X[:, 0] > 0).float()
NET = n2p.Network([n2p.Layer(np.eye(2), None, "tanh"), n2p.Layer([[1.0], [2.0]])])


class Items(Dataset):
    def __init__(self, kind):
        self.kind = kind

    def __len__(self):
        return len(X)

    def __getitem__(self, i):
        if self.kind == "pairs":
            return X[i], LABELS[i]
        if self.kind == "dictionaries":
            return {"x": X[i], "y": LABELS[i]}
        return X[i].numpy()


class Stream(IterableDataset):
    def __iter__(self):
        return iter(zip(X, LABELS, strict=True))


DATA = {
    "TensorDataset": lambda: TensorDataset(X, LABELS),
    "Dataset of pairs": lambda: Items("pairs"),
    "Dataset of dictionaries": lambda: Items("dictionaries"),
    "Dataset of arrays": lambda: Items("arrays"),
    "IterableDataset": Stream,
    "Subset": lambda: Subset(TensorDataset(X, LABELS), range(300)),
    "DataLoader": lambda: DataLoader(TensorDataset(X, LABELS), batch_size=64),
    "DataLoader of dictionaries": lambda: DataLoader(Items("dictionaries"), batch_size=64),
    "list of batches": lambda: list(DataLoader(TensorDataset(X, LABELS), batch_size=64)),
    "function": lambda: lambda: iter(DataLoader(TensorDataset(X, LABELS), batch_size=64)),
    "tensor": lambda: X,
}


@pytest.fixture(scope="module")
def expected():
    return n2p.convert(NET, 2, data=X.numpy()).coefficients


@pytest.mark.parametrize("name", DATA)
def test_every_form_of_the_same_rows_gives_the_same_polynomial(name, expected):
    found = n2p.convert(NET, 2, data=DATA[name]()).coefficients
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["TensorDataset", "Dataset of pairs", "Subset", "DataLoader"])
def test_predictions_and_cards_of_loaders_and_datasets(name):
    poly = n2p.convert(NET, 2, data=X)
    np.testing.assert_array_equal(poly.predict(DATA[name]()), poly.predict(X))
    assert n2p.fidelity(NET, poly, DATA[name]()).r2 == n2p.fidelity(NET, poly, X).r2


def test_a_shuffling_loader_is_gathered_or_refused(monkeypatch):
    loader = DataLoader(TensorDataset(X, LABELS), batch_size=64, shuffle=True)
    assert n2p.convert(NET, 2, data=loader).card.held_out
    monkeypatch.setattr("nn2poly.rows.reading.GATHERED_NUMBERS", 100)
    with pytest.raises(InvalidInputError, match="shuffles") as caught:
        n2p.convert(NET, 2, data=loader)
    assert "shuffle=False" in caught.value.remedy


def test_half_precision_is_read():
    half = X.bfloat16()
    poly = n2p.convert(NET, 2, data=half)
    np.testing.assert_array_equal(poly.predict(half), poly.predict(half.float()))
    assert n2p.fidelity(NET, poly, half).r2 > 0.9


def test_weights_are_named_never_guessed():
    table, weights = split_batch([X, LABELS], "data")
    assert table is X
    assert weights is None
    table, weights = split_batch({"inputs": X, "labels": LABELS, "sample_weight": LABELS}, "data")
    assert weights is LABELS
    with pytest.raises(InvalidInputError, match="which of its entries"):
        split_batch({"left": X, "right": X}, "data")
    with pytest.raises(InvalidInputError, match="empty"):
        split_batch((), "data")


def test_what_is_no_loader_stays_as_it_is():
    assert torch_batches(X) is None
    assert gathered(X, "X") is X
    with pytest.raises(InvalidInputError, match="empty"):
        gathered(DataLoader(TensorDataset(X[:0])), "X")
