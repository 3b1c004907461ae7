"""Samples larger than memory: Dask collections, Arrow datasets, lazy frames and files."""

from __future__ import annotations

import os
import signal
import threading
import time

import dask
import dask.array
import dask.dataframe
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
from distributed import Client, LocalCluster

import nn2poly as n2p
from nn2poly import streams
from nn2poly.errors import InvalidInputError
from nn2poly.fit import splitting
from nn2poly.rows import summary
from nn2poly.sampling import evenly

NAMES = ["a", "b", "flag"]
N_ROWS = 3000


@pytest.fixture(scope="module")
def network(make_network):
    return make_network(1, (3, 10, 8, 2), "relu", spread=1.5).named(NAMES)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    values = {"a": rng.normal(size=N_ROWS), "b": rng.uniform(-1, 1, N_ROWS)}
    return pd.DataFrame(values | {"flag": rng.integers(0, 2, N_ROWS).astype(float)})


@pytest.fixture(scope="module")
def expected(network, frame):
    return n2p.convert(network, 3, data=frame)


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    """Write the rows as Parquet, CSV and Feather files, and as a folder of Parquet files."""
    path = tmp_path_factory.mktemp("rows")
    frame.to_parquet(path / "rows.parquet")
    frame.to_csv(path / "rows.csv", index=False)
    frame.to_feather(path / "rows.feather")
    (path / "parts").mkdir()
    for number, begin in enumerate(range(0, N_ROWS, 700)):
        frame[begin : begin + 700].to_parquet(path / "parts" / f"part{number}.parquet")
    return path


def assert_same(found, expected, tolerance=1e-10):
    np.testing.assert_array_equal(found.positions, expected.positions)
    scale = np.abs(expected.coefficients).max()
    np.testing.assert_allclose(
        found.coefficients, expected.coefficients, rtol=0, atol=tolerance * scale
    )
    assert found.card.n_rows == expected.card.n_rows
    assert found.card.r2 == pytest.approx(expected.card.r2, abs=1e-9)


# ---- streams -------------------------------------------------------------------------------------

STREAMS = {
    "a Parquet file": lambda f: f / "rows.parquet",
    "its path as text": lambda f: str(f / "rows.parquet"),
    "a CSV file": lambda f: f / "rows.csv",
    "a Feather file": lambda f: f / "rows.feather",
    "a folder": lambda f: f / "parts",
    "an Arrow dataset": lambda f: pyarrow.dataset.dataset(f / "parts"),
    "an Arrow table": lambda f: pa.parquet.read_table(f / "rows.parquet"),
    "a lazy frame": lambda f: pl.scan_parquet(f / "rows.parquet"),
    "a lazy query": lambda f: pl.scan_csv(f / "rows.csv").select(["flag", "b", "a"]),
    "a Dask frame": lambda f: dask.dataframe.read_parquet(f / "parts"),
}


@pytest.mark.parametrize("stream", STREAMS)
def test_a_stream_gives_the_polynomial_of_its_rows(network, folder, expected, stream):
    assert_same(n2p.convert(network, 3, data=STREAMS[stream](folder)), expected)


def test_a_stream_brings_its_names(make_network, folder):
    poly = n2p.convert(make_network(1, (3, 4, 1)), 1, data=folder / "rows.parquet")
    assert poly.feature_names == tuple(NAMES)
    frame = dask.dataframe.read_parquet(folder / "parts")
    assert n2p.convert(make_network(1, (3, 4, 1)), 1, data=frame).feature_names == tuple(NAMES)


@pytest.mark.parametrize("name", ["rows.xlsx", "nothing.parquet"])
def test_a_file_that_cannot_be_read_is_named(network, tmp_path, name):
    if name.endswith("xlsx"):
        (tmp_path / name).write_text("x")
    with pytest.raises(InvalidInputError, match=name):
        n2p.convert(network, 2, data=tmp_path / name)


def test_a_file_that_is_not_what_its_name_says_is_named(network, tmp_path):
    (tmp_path / "rows.parquet").write_text("no parquet")
    with pytest.raises(InvalidInputError, match=r"rows\.parquet"):
        n2p.convert(network, 2, data=tmp_path / "rows.parquet")


def test_weights_do_not_go_with_a_dask_collection(network, folder):
    frame = dask.dataframe.read_parquet(folder / "parts")
    with pytest.raises(InvalidInputError, match="sample_weight"):
        n2p.convert(network, 2, data=frame, sample_weight=np.ones(N_ROWS))


# ---- Dask ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunks", [(N_ROWS, 3), (700, 3), (64, 2)])
def test_a_dask_array_gives_the_polynomial_of_its_rows(network, frame, expected, chunks):
    X = dask.array.from_array(frame.to_numpy(), chunks=chunks)
    assert_same(n2p.convert(network, 3, data=X), expected)


def test_empty_parts_are_left_out(network, frame, expected):
    X = dask.dataframe.from_pandas(frame, npartitions=5)
    filtered = dask.dataframe.concat([X[X["a"] > 100], X])
    assert_same(n2p.convert(network, 3, data=filtered), expected)
    with pytest.raises(InvalidInputError, match="empty"):
        n2p.convert(network, 3, data=X[X["a"] > 100])


def test_the_rows_for_the_card_do_not_depend_on_the_parts(monkeypatch, network, frame):
    monkeypatch.setattr(summary, "MAX_HELD_OUT", 50)
    whole = n2p.polynomial_network(network, 2, data=frame).card
    parts = dask.array.from_array(frame.to_numpy(), chunks=(211, 3))
    with dask.config.set(scheduler="synchronous"):
        cut = n2p.polynomial_network(network, 2, data=parts).card
    assert 25 <= whole.n_rows <= 50
    assert (cut.n_rows, cut.max_error) == (whole.n_rows, pytest.approx(whole.max_error))


def test_a_bad_part_is_named_by_its_first_row(network, frame):
    values = frame.to_numpy().copy()
    values[1500, 0] = np.nan
    with pytest.raises(InvalidInputError, match="from row 1400"):
        n2p.convert(network, 2, data=dask.array.from_array(values, chunks=(700, 3)))


def test_an_array_of_three_dimensions_is_refused(network):
    with pytest.raises(InvalidInputError, match="two dimensions"):
        n2p.convert(network, 2, data=dask.array.zeros((4, 3, 2)))


@pytest.fixture
def cluster():
    """Start two workers, anew for every test: one that was killed may come back late."""
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}),
        LocalCluster(processes=True, **options) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.mark.slow
def test_a_worker_that_is_killed_changes_no_region(monkeypatch, cluster, network, frame):
    """It dies while the rows come that leaves of many terms are fitted to."""
    monkeypatch.setattr(splitting, "FEW_TERMS", 4)
    expected = n2p.convert(network, 2, data=frame, regions=8)
    assert len(expected.regions) > 4
    cluster.wait_for_workers(2, timeout=60)
    victim = next(iter(cluster.run(os.getpid).values()))
    gather, killed = splitting.gather_rows, []

    def kill():
        os.kill(victim, signal.SIGKILL)
        killed.append(victim)

    def gather_and_kill(sample, most):
        timer = threading.Timer(0.2, kill)
        timer.start()
        rows = gather(sample, most)
        assert killed, "the pass was over before the worker died"
        return rows

    def slowly(part):
        """Take a moment for each part. Workers get this by value: they have no tests to import."""
        time.sleep(0.03)
        return part

    monkeypatch.setattr(splitting, "gather_rows", gather_and_kill)
    X = dask.array.from_array(frame.to_numpy(), chunks=(100, 3)).map_blocks(slowly)
    found = n2p.convert(network, 2, data=X, regions=8)
    assert killed == [victim]
    assert found.tree == expected.tree
    assert found.n_rows == expected.n_rows
    for one, other in zip(found.polynomials, expected.polynomials, strict=True):
        assert one.terms == other.terms
        scale = np.abs(other.coefficients).max()
        np.testing.assert_allclose(one.coefficients, other.coefficients, rtol=0, atol=1e-8 * scale)
    assert found.card.r2 == pytest.approx(expected.card.r2, abs=1e-9)
    assert victim not in set(cluster.run(os.getpid).values())


# ---- what is measured and explained --------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("stream", STREAMS)
def test_fidelity_of_a_stream_is_that_of_its_rows(network, frame, folder, expected, stream):
    card = n2p.fidelity(network, expected, STREAMS[stream](folder))
    whole = n2p.fidelity(network, expected, frame)
    assert card.n_rows == N_ROWS
    assert (card.r2, card.max_error) == pytest.approx((whole.r2, whole.max_error), rel=1e-12)


@pytest.mark.parametrize("stream", ["a folder", "a lazy frame", "a Dask frame"])
def test_a_long_stream_is_compared_on_an_even_choice(
    monkeypatch, network, frame, folder, expected, stream
):
    monkeypatch.setattr(streams.read_evenly, "__defaults__", (1000,))
    card = n2p.fidelity(network, expected, STREAMS[stream](folder))
    assert card == n2p.fidelity(network, expected, frame.iloc[evenly(len(frame), 1000)])


@pytest.mark.parametrize("stream", ["a Parquet file", "a lazy frame", "a Dask frame"])
def test_a_stream_is_explained_as_its_rows(frame, folder, expected, stream):
    background = STREAMS[stream](folder)
    found = n2p.explain.shapley(expected, frame[:5], background)
    wanted = n2p.explain.shapley(expected, frame[:5], frame)
    np.testing.assert_allclose(found.values, wanted.values, atol=1e-12)


def test_an_empty_stream_is_an_error(network, frame, expected, tmp_path):
    frame[:0].to_parquet(tmp_path / "none.parquet")
    with pytest.raises(InvalidInputError, match="empty"):
        n2p.fidelity(network, expected, tmp_path / "none.parquet")
    with pytest.raises(InvalidInputError, match="empty"):
        n2p.convert(network, 2, data=tmp_path / "none.parquet")


# ---- predictions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", STREAMS)
def test_predictions_of_a_stream_are_those_of_its_rows(network, frame, folder, expected, stream):
    pnet = n2p.polynomial_network(network, 2, data=frame)
    for model in (expected, pnet):
        found = np.asarray(model.predict(STREAMS[stream](folder)))
        np.testing.assert_allclose(found, model.predict(frame), rtol=1e-12, atol=1e-12)


def test_predictions_of_a_dask_collection_wait_until_they_are_asked_for(frame, folder, expected):
    found = expected.predict(dask.dataframe.read_parquet(folder / "parts"))
    assert isinstance(found, dask.array.Array)
    np.testing.assert_allclose(found.compute(), expected.predict(frame), rtol=1e-12)
    first = found[:, 0].mean().compute()
    assert first == pytest.approx(expected.predict(frame)[:, 0].mean())


def test_a_classifier_of_a_stream_gives_chances_and_labels(make_network, frame, folder):
    net = make_network(3, (3, 5, 3), "tanh").named(NAMES)
    network = n2p.Network(net.layers, classes=("no", "perhaps", "yes"), link="softmax")
    poly = n2p.convert(network, 2, data=frame, feature_names=NAMES)
    for stream in ("a folder", "a Dask frame"):
        X = STREAMS[stream](folder)
        np.testing.assert_allclose(np.asarray(poly.predict_proba(X)), poly.predict_proba(frame))
        np.testing.assert_array_equal(np.asarray(poly.predict_label(X)), poly.predict_label(frame))
    one = n2p.Polynomial([[0.0], [1.0]], 1, ["a"], center=0.5)
    assert one.predict(folder / "rows.csv").shape == (N_ROWS,)
    single = one.predict(folder / "rows.csv", dtype=np.float32)
    assert single.dtype == np.float32


# ---- what streams are like in practice -----------------------------------------------------------


def test_whole_numbers_may_have_decimals_further_on(network, frame, folder, tmp_path):
    whole = frame.assign(b=np.arange(N_ROWS) % 3.0)
    whole.loc[N_ROWS - 1, "b"] = 0.5
    whole.to_csv(tmp_path / "rows.csv", index=False, float_format="%.17g")
    (tmp_path / "parts").mkdir()
    for number, part in enumerate((whole[:1500].astype({"b": int}), whole[1500:])):
        part.to_parquet(tmp_path / "parts" / f"{number}.parquet")
    expected = n2p.convert(network, 2, data=whole)
    for name in ("rows.csv", "parts"):
        assert_same(n2p.convert(network, 2, data=tmp_path / name), expected)


def test_marks_that_writers_leave_beside_the_data_are_passed_over(network, frame, tmp_path):
    frame.to_parquet(tmp_path / "part-0.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".part-0.parquet.crc").write_text("x")
    assert_same(n2p.convert(network, 2, data=tmp_path), n2p.convert(network, 2, data=frame))


def test_a_scanner_is_walked(expected, frame, folder):
    scanner = pyarrow.dataset.dataset(folder / "parts").scanner()
    np.testing.assert_allclose(expected.predict(scanner), expected.predict(frame), rtol=1e-12)


def test_a_stream_that_breaks_off_is_told(expected, tmp_path):
    lines = ["a,b,flag", *["0.5,0.5,0"] * 200_000, "0.5,oops,0"]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    with pytest.raises(InvalidInputError, match="oops"):
        expected.predict(tmp_path / "rows.csv")


def test_where_data_must_be_in_memory_a_stream_is_refused_with_the_way(network, expected, folder):
    frame = dask.dataframe.read_parquet(folder / "parts")
    with pytest.raises(InvalidInputError, match=r"X\.compute\(\)"):
        expected.contributions(frame)
    with pytest.raises(InvalidInputError, match="read the file first"):
        expected.contributions(folder / "rows.csv")


def test_batches_may_be_empty_or_without_weight(network, frame, expected):
    X = frame.to_numpy()
    nothing = X[:0]
    assert_same(n2p.convert(network, 3, data=[nothing, X[:900], nothing, X[900:]]), expected)
    weights = np.ones(N_ROWS)
    weights[:900] = 0.0
    batches = [
        {"X": X[here], "sample_weight": weights[here]} for here in (slice(900), slice(900, None))
    ]
    found = n2p.convert(network, 3, data=batches)
    assert_same(found, n2p.convert(network, 3, data=X, sample_weight=weights))
    with pytest.raises(InvalidInputError, match="zero"):
        n2p.convert(network, 3, data=[{"X": X, "sample_weight": np.zeros(N_ROWS)}])


def test_a_row_without_weight_does_not_decide_what_is_binary(network, frame):
    X = frame.to_numpy().copy()
    X[7, 2] = 5.0
    weights = np.ones(N_ROWS)
    weights[7] = 0.0
    poly = n2p.convert(network, 2, data=X, sample_weight=weights)
    assert poly.positions is not None


def test_parts_that_kept_different_shares_of_rows_are_merged_evenly(monkeypatch, network, frame):
    monkeypatch.setattr(summary, "MAX_HELD_OUT", 100)
    parts = dask.array.from_array(frame.to_numpy(), chunks=((400, 2600), 3))
    with dask.config.set(scheduler="synchronous"):
        cut = n2p.polynomial_network(network, 2, data=parts).card
    assert cut.n_rows == n2p.polynomial_network(network, 2, data=frame).card.n_rows


def test_features_in_another_order_are_refused(network, frame, expected):
    other = n2p.Polynomial.from_terms(["b", "flag"], [[1.0, 1.0], [2.0, 2.0]], ["b", "a", "flag"])
    with pytest.raises(InvalidInputError, match="another order"):
        n2p.fidelity(network, other, frame)
