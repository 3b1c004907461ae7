"""Whole numbers that floats cannot tell apart are refused: the model would see others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

import nn2poly as n2p
from nn2poly.errors import InvalidInputError

BASE, N = 2**60, 300


def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"id": BASE + rng.integers(0, 200, N), "b": rng.normal(size=N)})


def by_number(X):
    return (X["id"].to_numpy() - BASE) / 50.0 + X["b"].to_numpy()


def nullable(table):
    return table.astype({"id": "Int64"})


@pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame, nullable])
def test_a_column_that_would_be_rounded_is_refused_by_name(form):
    table = frame()
    X = form(table.to_dict("list")) if form is pl.DataFrame else form(table)
    with pytest.raises(InvalidInputError, match="'id' holds whole numbers of too many") as error:
        n2p.convert(by_number, data=X)
    assert "subtract an offset" in error.value.remedy


@pytest.mark.parametrize(
    "form",
    [np.asarray, torch.tensor, lambda X: X.astype(object), lambda X: X.astype(np.uint64)],
    ids=["int64", "tensor", "objects", "uint64"],
)
def test_an_array_that_would_be_rounded_is_refused(form):
    X = form(frame()[["id", "id"]].to_numpy())
    net = n2p.Network([n2p.Layer([[0.5], [0.2]], None, "tanh"), n2p.Layer([[1.0]])])
    for ask in (net.predict, lambda X: n2p.convert(net, 1, data=X), n2p.convert(net, 1).predict):
        with pytest.raises(InvalidInputError, match="column 0 holds whole numbers of too many"):
            ask(X)


def test_large_numbers_that_are_floats_without_loss_pass():
    X = pd.DataFrame({"id": 2**60 + 256 * np.arange(N), "b": np.linspace(-1, 1, N)})
    poly = n2p.convert(by_number, data=X)
    np.testing.assert_allclose(poly.predict(X), by_number(X), rtol=1e-6)


def test_the_offset_that_the_message_advises_is_followed():
    X = frame()
    X["id"] -= BASE
    poly = n2p.convert(
        lambda X: X["id"].to_numpy() / 50.0 + X["b"].to_numpy(), 1, data=X, bounded=False
    )
    assert poly.card.r2 > 0.999


@pytest.fixture(scope="module")
def network():
    hidden = n2p.Layer([[0.0], [1.0]], None, "tanh")
    return n2p.Network([hidden, n2p.Layer([[1.0]])], ["id", "b"])


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather"])
def test_files_with_such_a_column_are_refused(kind, network, tmp_path):
    path = tmp_path / f"table.{kind}"
    getattr(frame(), f"to_{kind}")(path, **({"index": False} if kind == "csv" else {}))
    with pytest.raises(InvalidInputError, match="9,007,199,254,740,99"):
        n2p.convert(network, 1, data=path)


def test_a_column_that_is_not_used_is_not_refused(tmp_path):
    net = n2p.Network([n2p.Layer([[1.0]], None, "tanh"), n2p.Layer([[1.0]])], ["b"])
    path = tmp_path / "table.csv"
    frame().to_csv(path, index=False)
    for data in (frame(), path):
        assert n2p.convert(net, 1, data=data).card.r2 > 0.5
