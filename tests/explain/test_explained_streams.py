"""Streams: every row is explained; populations are an even choice of rows."""

from __future__ import annotations

import dask.array
import dask.dataframe
import numpy as np
import pandas
import polars
import pyarrow.dataset
import pytest

import nn2poly as n2p
from nn2poly import explain
from nn2poly.errors import InvalidInputError
from nn2poly.streams import MAX_ROWS

FEW = pandas.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["b", "a"])
POLY = n2p.Polynomial.from_terms(["a", "a b", "b^2"], [1.0, 2.0, -1.0], ["a", "b"])


def streams(frame, folder):
    path = folder / "rows.parquet"
    frame.to_parquet(path)
    return {
        "file": path,
        "dataset": pyarrow.dataset.dataset(path),
        "lazy frame": polars.scan_parquet(path),
        "dask frame": dask.dataframe.from_pandas(frame, npartitions=3),
        "dask array": dask.array.from_array(frame[["a", "b"]].to_numpy(), chunks=(25, 1)),
    }


KINDS = ["file", "dataset", "lazy frame", "dask frame", "dask array"]
QUESTIONS = {
    "shapley": lambda X: explain.shapley(POLY, X, FEW).values,
    "background": lambda X: explain.shapley(POLY, FEW, X).values,
    "interactions": lambda X: explain.interactions(POLY, X, X).values,
    "gradients": lambda X: explain.gradients(POLY, X),
    "marginal effects": lambda X: explain.marginal_effects(POLY, X).values,
    "curves": lambda X: explain.ice(POLY, X, "a", grid=5).values,
    "dependence": lambda X: explain.partial_dependence(POLY, X, "a", grid=5).values,
    "anova": lambda X: explain.anova(POLY, X).evaluate(X),
    "sobol": lambda X: explain.sobol(POLY, X, joint=True).shares,
    "friedman": lambda X: explain.friedman_h(POLY, X).pairwise,
    "bounds": lambda X: explain.bounds(POLY, data=X).low,
    "monotonicity": lambda X: explain.monotonicity(POLY, data=X).low,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_stream_gives_what_its_rows_in_memory_give(kind, question, tmp_path):
    ask = QUESTIONS[question]
    np.testing.assert_array_equal(ask(streams(FEW, tmp_path)[kind]), ask(FEW))


@pytest.fixture(scope="module", name="many")
def fixture_many(tmp_path_factory):
    """More rows than are kept of a population; only the last one is large."""
    frame = pandas.DataFrame({"t": np.linspace(-1, 1, MAX_ROWS + 1003)})
    frame.loc[len(frame) - 1, "t"] = 50.0
    return streams_of_one(frame, tmp_path_factory.mktemp("many"))


def streams_of_one(frame, folder):
    path = folder / "many.parquet"
    frame.to_parquet(path)
    return {"file": path, "dask": dask.dataframe.from_pandas(frame, npartitions=4)}


@pytest.mark.parametrize("kind", ["file", "dask"])
def test_every_row_of_a_long_stream_is_explained(many, kind):
    poly, n = n2p.Polynomial([[0.0], [3.0]], 1, ["t"]), MAX_ROWS + 1003
    X = many[kind]
    values = explain.shapley(poly, X, [[0.0]]).values
    assert values.shape == (n, 1, 1)
    assert values[-1, 0, 0] == 150.0
    for found in (
        explain.interactions(poly, X, [[0.0]]).values,
        explain.gradients(poly, X),
        explain.marginal_effects(poly, X).values,
        explain.ice(poly, X, "t", grid=[0.0]).values,
        explain.anova(poly, [[0.0], [1.0]]).evaluate(X),
    ):
        assert len(found) == n
    assert explain.bounds(poly, data=X).box[1] == 50.0


def test_a_long_background_is_an_even_choice_of_its_rows(many):
    poly = n2p.Polynomial([[0.0], [3.0]], 1, ["t"])
    for stream in many.values():
        found = explain.shapley(poly, [[0.0]], stream).base_values
        np.testing.assert_allclose(found, 0.0, atol=1e-2)


def test_an_empty_stream_is_refused(tmp_path):
    for X in streams(FEW.iloc[:0], tmp_path).values():
        for ask in (explain.gradients, explain.marginal_effects):
            with pytest.raises(InvalidInputError, match="empty"):
                ask(POLY, X)


def test_a_dask_frame_is_no_single_point(make_network):
    network = make_network(0, (2, 3, 1))
    points = dask.dataframe.from_pandas(FEW, npartitions=2)
    with pytest.raises(InvalidInputError):
        explain.compare_local(network, n2p.convert(network, 2), points)
