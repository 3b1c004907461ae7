"""The data sets, and what happens without them."""

import gzip
import time
from itertools import combinations_with_replacement

import numpy as np
import pytest

from nn2poly.network.network import Layer, Network
from nn2poly_paper import covertype_data as covertype
from nn2poly_paper import data
from nn2poly_paper.covertype_data import DataUnavailableError


def test_boston_is_in_the_split_of_keras():
    """The first rows that keras.datasets.boston_housing.load_data gives."""
    found = data.boston_data()
    assert (found.X.shape, found.X_test.shape) == ((404, 13), (102, 13))
    assert found.n_fit == 323
    whole = np.vstack([found.X, found.X_test])
    assert whole[:404].min() == pytest.approx(-1.0)
    assert whole[:404].max() == pytest.approx(1.0)
    # RM of the first training row is 6.142, its price 15.2; RM spans 3.561 … 8.725 there.
    assert found.X[0, 5] == pytest.approx((6.142 - (8.725 + 3.561) / 2) / ((8.725 - 3.561) / 2))
    assert found.y[0] == pytest.approx((15.2 - 27.5) / 22.5)


def test_the_note_on_boston_is_there():
    assert "ethical problem" in data.__doc__
    assert "racial" in data.__doc__


def test_the_example_is_its_formula():
    found = data.example_data(400, seed=3)
    X, y = np.vstack([found.X, found.X_test]), np.concatenate([found.y, found.y_test])
    pairs = [(0,), (1,), (2,), (1, 2), (0, 1), (0, 2), (0, 0), (1, 1), (2, 2)]
    terms = np.column_stack([np.ones(400), *(X[:, list(p)].prod(axis=1) for p in pairs)])
    beta, *_ = np.linalg.lstsq(terms, y, rcond=None)
    largest = sorted(zip(np.abs(beta), ["1", *pairs], strict=True), key=lambda t: -t[0])[:2]
    assert {term for _, term in largest} == {(0,), (1, 2)}
    assert np.abs(X).max() == np.abs(y).max() == 1.0


@pytest.mark.parametrize("repetition", [0, 1])
def test_a_random_polynomial_has_five_second_order_terms(repetition):
    found = data.random_polynomial_data(2000, seed=1, repetition=repetition)
    # Scaling by the range shifts the inputs by little; what is not there stays small.
    pairs = list(combinations_with_replacement(range(5), 2))
    columns = [found.X[:, i] * found.X[:, j] for i, j in pairs]
    terms = np.column_stack([np.ones(len(found.X)), found.X, *columns])
    beta, *_ = np.linalg.lstsq(terms, found.y, rcond=None)
    noise = 0.01
    assert 3 <= (np.abs(beta[6:]) > noise).sum() <= 5
    assert np.mean((terms @ beta - found.y) ** 2) < 1e-3


def test_seeds_and_repetitions_give_other_data():
    one = data.random_polynomial_data(100, 1, 0).y
    assert not np.array_equal(one, data.random_polynomial_data(100, 1, 1).y)
    assert not np.array_equal(one, data.random_polynomial_data(100, 2, 0).y)
    np.testing.assert_array_equal(one, data.random_polynomial_data(100, 1, 0).y)


# --- Covertype -------------------------------------------------------------------------------


def small_table(rows=21, columns=55, seed=0):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 50, (rows, columns))
    table[:2] = np.array([[0], [49]])
    table[:, -1] = 1 + np.arange(rows) % 7
    return table


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("packed", [True, False])
def test_covertype_is_read_with_and_without_header_packed_or_not(tmp_path, header, packed):
    table = small_table()
    lines = [",".join(map(str, row)) for row in table]
    text = "\n".join([",".join(f"c{k}" for k in range(55))] * header + lines)
    path = tmp_path / ("covtype.csv.gz" if packed else "covtype.csv")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    forest = covertype.read_forest(str(path))
    np.testing.assert_array_equal(forest.y, table[:, -1] - 1)
    np.testing.assert_allclose(forest.X, table[:, :-1] / 24.5 - 1, atol=1e-12)


def test_the_environment_names_the_file(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv"
    path.write_text("1")
    monkeypatch.setenv(covertype.VARIABLE, str(path))
    assert covertype.find_source(None) == str(path)
    monkeypatch.setenv(covertype.VARIABLE, str(tmp_path / "nowhere.csv"))
    with pytest.raises(DataUnavailableError, match=covertype.VARIABLE):
        covertype.find_source(None)
    monkeypatch.delenv(covertype.VARIABLE)
    assert covertype.find_source(None) == "fetch"


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataUnavailableError, match="--data FILE") as caught:
        covertype.find_source(tmp_path / "no such.csv")
    assert "no such.csv" in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"\x1f\x8b broken", b"x" * 100])
def test_a_file_that_is_not_covertype_is_refused(tmp_path, content):
    path = tmp_path / "other.csv.gz"
    path.write_bytes(content)
    with pytest.raises(DataUnavailableError, match="not Covertype"):
        covertype.read_forest(str(path))


def test_a_table_of_other_types_is_refused(tmp_path):
    table = small_table()
    table[:, -1] = 9
    path = tmp_path / "other.csv"
    np.savetxt(path, table, fmt="%d", delimiter=",")
    with pytest.raises(DataUnavailableError, match="1 types"):
        covertype.read_forest(str(path))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Retry downloading")
def test_without_a_connection_the_remedies_are_told(tmp_path, monkeypatch):
    """Every proxy is a port that nobody listens to; scikit-learn tries again without a pause."""
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    with pytest.raises(DataUnavailableError, match="cannot be fetched") as caught:
        covertype.read_forest("fetch")
    assert "--data FILE" in str(caught.value)
    assert covertype.VARIABLE in str(caught.value)


def test_the_stand_in_has_the_shape_of_covertype():
    forest = covertype.read_forest(covertype.STAND_IN, 500, seed=2)
    assert forest.X.shape == (500, 54)
    assert np.abs(forest.X).max() <= 1.0
    assert set(np.unique(forest.X[:, 10:])) == {-1.0, 1.0}
    assert np.all((forest.X[:, 14:] > 0).sum(axis=1) == 1)
    assert set(forest.y) == set(range(7))


def test_published_weights_are_read_as_they_are_laid_out(tmp_path):
    rng = np.random.default_rng(0)
    matrices = [rng.normal(size=shape) for shape in ((55, 4), (5, 4), (5, 7))]
    np.savez(tmp_path / "net.npz", **{f"w{k}": m for k, m in enumerate(matrices)})
    network = covertype.read_published(tmp_path / "net.npz")
    layers = [
        Layer(m[1:], m[0], f) for m, f in zip(matrices, ("tanh", "tanh", "linear"), strict=True)
    ]
    X = rng.uniform(-1, 1, (5, 54))
    np.testing.assert_array_equal(network.predict(X), Network(layers).predict(X))
    assert network.link == "softmax"


@pytest.mark.parametrize("shape", [(4, 4), (3,)])
def test_other_weights_are_refused(tmp_path, shape):
    np.savez(tmp_path / "net.npz", w0=np.zeros(shape))
    with pytest.raises(DataUnavailableError, match="not the weights"):
        covertype.read_published(tmp_path / "net.npz")


def test_missing_weights_are_named(tmp_path):
    with pytest.raises(DataUnavailableError, match="--network FILE"):
        covertype.read_published(tmp_path / "net.npz")
