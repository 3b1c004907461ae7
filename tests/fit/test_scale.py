"""Large polynomials, in small: slices, files written on the way, and what is interrupted."""

import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
import tracemalloc
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nn2poly as n2p
from nn2poly.algebra import contraction, symmetric
from nn2poly.algebra.contraction import count_rows
from nn2poly.algebra.monomials import count_terms
from nn2poly.errors import InvalidInputError, StorageError, TooManyTermsError, UnknownTermError
from nn2poly.factored.engine import expand_layers, term_blocks
from nn2poly.formula import archives, ranking

pytestmark = pytest.mark.filterwarnings("ignore::nn2poly.errors.RadiusWarning")


@pytest.fixture(scope="module")
def pnet(make_network):
    """Give a network of 45 inputs and two outputs at order 3: 17,296 terms."""
    network = make_network(1, (45, 12, 9, 2), "gelu", skips=True, coordinates=True, spread=1.0)
    return n2p.polynomial_network(network, 3)


@pytest.fixture
def mapped(monkeypatch):
    """Map even small arrays, and read and write in small pieces."""
    monkeypatch.setattr(archives, "MAPPED_FROM", 1)
    monkeypatch.setattr(archives, "PIECE_BYTES", 4096)
    monkeypatch.setattr(ranking, "PIECE_ROWS", 100)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


# --- slices -----------------------------------------------------------------------------------


@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.lists(st.integers(1, 5), min_size=2, max_size=5),
    max_order=st.integers(1, 5),
    skips=st.booleans(),
    by_degree=st.booleans(),
    tiny=st.booleans(),
    data=st.data(),
)
def test_any_run_of_first_variables_is_that_part_of_the_block(
    make_network, seed, sizes, max_order, skips, by_degree, tiny, data
):
    """For expansions that are the same for all degrees, and for those that are not."""
    network = make_network(seed, sizes, "gelu", output="sigmoid", skips=skips)
    rng = np.random.default_rng(seed)
    expansions = tuple(
        rng.normal(size=(4, max_order + 1, h) if by_degree else (4, h)) for h in sizes[1:]
    )
    full = expand_layers(network, expansions, max_order)[-1][1]
    p = sizes[0]
    begin = data.draw(st.integers(0, p - 1))
    end = data.draw(st.integers(begin + 1, p))
    with pytest.MonkeyPatch.context() as patch:
        if tiny:
            for module in (contraction, symmetric):
                patch.setattr(module, "SLICE_BYTES", 1)
            patch.setattr(contraction, "GROUP_BYTES", 1)
        blocks = term_blocks(network, expansions, max_order)
        for degree, block in enumerate(blocks):
            whole = np.concatenate(list(block.slices()))
            expected = full[degree] if degree < len(full) else np.zeros_like(whole)
            size = max(1.0, np.abs(expected).max())
            np.testing.assert_allclose(whole, expected, rtol=0, atol=1e-11 * size)
            part = np.concatenate(list(block.slices(begin, end)))
            first = count_rows(p, degree, 0, begin) if degree else 0
            assert len(part) == count_rows(p, degree, begin, end)
            np.testing.assert_allclose(
                part, whole[first : first + len(part)], rtol=0, atol=1e-12 * size
            )
            assert len(whole) == count_rows(p, degree)


def test_a_slice_that_was_given_out_does_not_change(make_network):
    network = make_network(3, (4, 3, 1), "tanh")
    block = term_blocks(network, n2p.polynomial_network(network, 5).expansions, 5)[5]
    kept, copies = [], []
    for piece in block.slices():
        kept.append(piece)
        copies.append(piece.copy())
    for one, other in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(one, other)


def test_order_three_never_forms_a_quadratic_block_of_a_layer(make_network):
    network = make_network(4, (120, 60, 60, 1), "tanh")
    pnet = n2p.polynomial_network(network, 3)
    one_block = 8 * count_terms(120, 2) * 60
    tracemalloc.start()
    found = pnet.top_terms(3)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < one_block
    assert len(found) == 3


# --- files written while they are computed ------------------------------------------------------


@pytest.mark.usefixtures("mapped")
@pytest.mark.parametrize("name", ["poly.npz", "poly"])
def test_what_is_written_is_what_memory_holds(tmp_path, pnet, name):
    lines = []
    expected = pnet.expand()
    found = pnet.expand(out=tmp_path / name, progress=lines.append)
    assert names_in(tmp_path) == [name]
    assert archives.is_checked_map(found.coefficients)
    for poly in (found, n2p.load(tmp_path / name)):
        np.testing.assert_array_equal(poly.coefficients, expected.coefficients)
        assert poly.feature_names == expected.feature_names
        assert list(poly.top(20)) == list(expected.top(20)) == list(pnet.top_terms(20))
        assert poly.coefficient((3, 7, 44), 1) == expected.coefficient((3, 7, 44), 1)
        X = pnet.network.center + np.random.default_rng(0).normal(size=(30, 45))
        np.testing.assert_array_equal(poly.predict(X), expected.predict(X))
        assert list(poly.prune(5).top(4)) == list(expected.prune(5).top(4))
    assert lines[-1].startswith("terms [####################] 100 %")
    assert 10 < len(lines) <= 20


def test_random_coefficients_of_a_file_are_those_of_the_factored_form(tmp_path, pnet):
    poly = pnet.expand(out=tmp_path / "poly")
    rng = np.random.default_rng(2)
    for _ in range(40):
        term = tuple(sorted(rng.integers(0, 45, rng.integers(0, 4)).tolist()))
        for output in range(2):
            expected = pnet.coefficient(term, output)
            assert poly.coefficient(term, output) == pytest.approx(expected, rel=1e-9)


@pytest.mark.usefixtures("mapped")
@pytest.mark.parametrize("name", ["poly.npz", "poly"])
def test_convert_takes_the_path_too(tmp_path, make_network, name):
    network = make_network(1, (6, 5, 2))
    found = n2p.convert(network, 4, out=tmp_path / name)
    expected = n2p.convert(network, 4)
    np.testing.assert_array_equal(found.coefficients, expected.coefficients)
    np.testing.assert_array_equal(n2p.load(tmp_path / name).coefficients, expected.coefficients)


@pytest.mark.usefixtures("mapped")
def test_a_calibrated_polynomial_keeps_its_card_and_range_on_disk(tmp_path, make_network):
    X = np.random.default_rng(0).normal(size=(300, 4))
    options = {"data": X, "binary": False}
    found = n2p.convert(make_network(1, (4, 5, 1)), 3, out=tmp_path / "poly", **options)
    expected = n2p.convert(make_network(1, (4, 5, 1)), 3, **options)
    assert n2p.load(tmp_path / "poly").card.r2 == pytest.approx(expected.card.r2)
    np.testing.assert_array_equal(found.low, expected.inputs.low)
    assert found.max_order == expected.max_order == 3


@pytest.mark.usefixtures("mapped")
def test_a_mapped_polynomial_cannot_be_written_to_and_can_be_saved_again(tmp_path, pnet):
    poly = pnet.expand(out=tmp_path / "poly")
    with pytest.raises(ValueError, match="read-only"):
        poly.coefficients[0] = 0.0
    again = n2p.load(poly.save(tmp_path / "again.npz"))
    np.testing.assert_array_equal(again.coefficients, poly.coefficients)
    other = n2p.load(again.save(tmp_path / "folder"))
    assert archives.is_checked_map(other.coefficients)
    assert archives.is_checked_map(other.truncate(2).coefficients)


@pytest.mark.usefixtures("mapped")
def test_a_folder_is_replaced_whole(tmp_path, make_network):
    path = tmp_path / "poly"
    n2p.convert(make_network(1, (9, 4, 1)), 3, out=path)
    n2p.convert(make_network(2, (2, 4, 1)), 1, out=path)
    assert n2p.load(path).n_terms == 3
    assert names_in(tmp_path) == ["poly"]
    assert len(names_in(path)) == 2  # the manifest and the arrays that it names


def test_a_folder_of_something_else_is_left_alone(tmp_path, pnet):
    (tmp_path / "poly").mkdir()
    (tmp_path / "poly" / "mine.txt").write_text("keep me")
    with pytest.raises(StorageError, match="nothing was changed"):
        pnet.expand(out=tmp_path / "poly")
    assert names_in(tmp_path / "poly") == ["mine.txt"]
    assert names_in(tmp_path) == ["poly"]


@pytest.mark.usefixtures("mapped")
@pytest.mark.parametrize("cut", ["manifest.json", "a0.npy"])
def test_a_folder_without_one_of_its_files_is_refused(tmp_path, pnet, cut):
    pnet.expand(out=tmp_path / "poly")
    next((tmp_path / "poly").rglob(cut)).unlink()
    with pytest.raises(StorageError):
        n2p.load(tmp_path / "poly")


@pytest.mark.usefixtures("mapped")
@pytest.mark.parametrize("place", [9, 70, 200, 5000, -1])
def test_a_changed_byte_of_a_mapped_array_is_refused(tmp_path, pnet, place):
    pnet.expand(out=tmp_path / "poly")
    file = next((tmp_path / "poly").rglob("a0.npy"))
    data = bytearray(file.read_bytes())
    data[place] ^= 1
    file.write_bytes(data)
    with pytest.raises(StorageError, match="damaged"):
        n2p.load(tmp_path / "poly")


@pytest.mark.usefixtures("mapped")
def test_an_array_cut_short_or_pickled_is_refused(tmp_path, pnet):
    pnet.expand(out=tmp_path / "poly")
    file = next((tmp_path / "poly").rglob("a0.npy"))
    data = file.read_bytes()
    file.write_bytes(data[:-8])
    with pytest.raises(StorageError, match="damaged"):
        n2p.load(tmp_path / "poly")
    np.save(file, np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(StorageError, match="damaged"):
        n2p.load(tmp_path / "poly")


# --- what is refused before the work starts -----------------------------------------------------


@pytest.fixture
def no_algebra(monkeypatch):
    for module in ("polynomial_network", "engine"):
        monkeypatch.setattr(
            f"nn2poly.factored.{module}.term_blocks", lambda *_: pytest.fail("the work started")
        )


@pytest.mark.usefixtures("no_algebra")
def test_a_disk_without_room_is_refused_before_the_work(tmp_path, monkeypatch, pnet):
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    with pytest.raises(StorageError, match="no room") as caught:
        pnet.expand(out=tmp_path / "poly.npz")
    assert caught.value.found == "1.0 kB"
    assert names_in(tmp_path) == []


@pytest.mark.usefixtures("no_algebra")
@pytest.mark.parametrize("name", ["poly.json", "poly.txt", "nowhere/poly", "nul\0l"])
def test_a_path_that_cannot_be_written_is_refused_before_the_work(tmp_path, pnet, name):
    with pytest.raises(StorageError):
        pnet.expand(out=tmp_path / name)


@pytest.mark.usefixtures("no_algebra")
def test_memory_is_checked_before_the_work(monkeypatch, tmp_path, pnet):
    monkeypatch.setattr("nn2poly.memory.available_bytes", lambda: 100_000)
    disk = tmp_path / "poly"
    tasks = [pnet.expand, lambda: pnet.expand(out=disk), pnet.top_terms]
    for task in [*tasks, lambda: pnet.interactions_of(0)]:
        with pytest.raises(TooManyTermsError, match="of memory"):
            task()
    assert names_in(tmp_path) == []


def test_writing_to_disk_needs_no_memory_for_the_terms(monkeypatch, tmp_path, make_network):
    pnet = n2p.polynomial_network(make_network(1, (60, 4, 1)), 3)
    monkeypatch.setattr("nn2poly.memory.available_bytes", lambda: 250_000)
    with pytest.raises(TooManyTermsError, match="out="):
        pnet.expand()
    assert pnet.expand(out=tmp_path / "poly").n_terms == 39_711
    assert len(pnet.top_terms(3)) == 3


@pytest.mark.usefixtures("no_algebra")
def test_options_that_do_not_go_together_are_refused(tmp_path, make_network):
    network, X = make_network(1), np.zeros((9, 3))
    with pytest.raises(InvalidInputError, match="kept in memory"):
        n2p.convert(network, 2, out=tmp_path / "poly", keep_layers=True)
    with pytest.raises(InvalidInputError, match="not folded"):
        n2p.convert(network, 2, out=tmp_path / "poly", data=X, binary=["x1"])


# --- what is interrupted ------------------------------------------------------------------------


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError, ValueError])
@pytest.mark.parametrize("name", ["poly.npz", "poly"])
@pytest.mark.parametrize("after", [1, 10, 20])
def test_an_interruption_leaves_nothing(tmp_path, pnet, name, error, after):
    lines = []

    def stop(line):
        lines.append(line)
        if len(lines) == after:
            raise error

    with pytest.raises(error):
        pnet.expand(out=tmp_path / name, progress=stop)
    assert len(lines) == after
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("name", ["poly.npz", "poly"])
def test_an_interruption_leaves_what_was_there_before(tmp_path, pnet, make_network, name):
    n2p.convert(make_network(1), 1, out=tmp_path / name)

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pnet.expand(out=tmp_path / name, progress=stop)
    assert n2p.load(tmp_path / name).n_terms == 4
    assert names_in(tmp_path) == [name]


SCRIPT = """
import sys, time
import numpy as np
import nn2poly as n2p

rng = np.random.default_rng(0)
layers = [n2p.Layer(rng.normal(size=(60, 5)) / 60, None, "tanh"), n2p.Layer(np.ones((5, 1)))]

def report(line):
    print(line, flush=True)
    time.sleep(0.2)

n2p.convert(n2p.Network(layers), 3, out=sys.argv[1], progress=report)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["poly.npz", "poly"])
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGKILL])
def test_a_real_signal_leaves_no_file_that_load_accepts(tmp_path, name, kind):
    """Ctrl-C cleans up; after a kill what is left has another name and no header."""
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), str(tmp_path / name)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline().startswith("terms [")
    os.kill(process.pid, kind)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert not (tmp_path / name).exists()
    if kind == signal.SIGINT:
        assert names_in(tmp_path) == []
    for path in tmp_path.rglob("*"):
        with pytest.raises(StorageError):
            n2p.load(path)


@pytest.mark.parametrize("name", ["poly.npz", "poly"])
def test_a_full_disk_gives_a_clear_error_and_leaves_nothing(tmp_path, pnet, name):
    """A limit on the size of files stops a write as a full disk does."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    begin = time.perf_counter()
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(StorageError, match="cannot be written; nothing was changed") as caught:
            pnet.expand(out=tmp_path / name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.found == "File too large"
    assert "room" in caught.value.remedy
    assert names_in(tmp_path) == []
    assert time.perf_counter() - begin < 60


# --- only what matters --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written_out(pnet):
    """Give all terms of an output, largest first; each output is sorted once."""
    poly = pnet.expand()
    return cache(lambda output: list(poly.top(poly.n_terms, output)))


@pytest.mark.slow
@pytest.mark.parametrize("order", [None, 1, 2, 3])
@pytest.mark.parametrize("output", [None, 0, "y2"])
@pytest.mark.parametrize("n", [1, 25, 100_000])
def test_top_terms_are_those_of_the_terms_written_out(pnet, written_out, n, order, output):
    wanted = [row for row in written_out(output) if order in (None, row[1])][:n]
    assert list(pnet.top_terms(n, order=order, output=output)) == wanted


@pytest.mark.parametrize("max_order", [1, 2, 3, 5])
@pytest.mark.parametrize("output", [None, 1])
def test_top_terms_and_interactions_hold_at_every_order(make_network, max_order, output):
    network = make_network(5, (6, 5, 4, 2), "gelu", skips=True, coordinates=True)
    pnet = n2p.polynomial_network(network, max_order)
    poly = pnet.expand()
    everything = list(poly.top(poly.n_terms, output))
    assert [row[0] for row in pnet.top_terms(7, output=output)] == [r[0] for r in everything[:7]]
    for feature in ("x1", "x4", 5):
        name = feature if isinstance(feature, str) else f"x{feature + 1}"
        wanted = [r for r in everything if name in r[0].replace("^", " ").split()]
        found = pnet.interactions_of(feature, output=output)
        assert [row[:2] for row in found] == [row[:2] for row in wanted]
        np.testing.assert_allclose(
            [row[2:] for row in found], [row[2:] for row in wanted], rtol=1e-9, atol=1e-14
        )
        assert len(found) == count_terms(6, max_order - 1)
        first = pnet.interactions_of(feature, output=output, order=max_order, n=2)
        assert [r[0] for r in first] == [r[0] for r in wanted if r[1] == max_order][:2]


def test_ties_come_in_the_order_of_the_terms(make_network):
    layers = [n2p.Layer(np.ones((30, 1)), None, "exp"), n2p.Layer(np.ones((1, 1)))]
    pnet = n2p.polynomial_network(n2p.Network(layers), 2)
    poly = pnet.expand()
    for n in (1, 5, 40, 200, 433, 434, 495):
        assert list(pnet.top_terms(n)) == list(poly.top(n))
        names = [row[0] for row in poly.top(n)]
        assert names[:3] == ["x1", "x2", "x3"][:n]


@pytest.mark.parametrize("order", [4, 0, -1, True, "2", 1.0])
def test_an_order_that_is_not_there_is_refused(pnet, order):
    with pytest.raises((UnknownTermError, InvalidInputError)):
        pnet.top_terms(3, order=order)
    with pytest.raises((UnknownTermError, InvalidInputError)):
        pnet.interactions_of("x1", order=order)


def test_a_feature_that_is_not_there_is_refused(pnet):
    with pytest.raises(UnknownTermError, match="no feature"):
        pnet.interactions_of("x99")


def test_one_input_has_its_own_powers_for_interactions(make_network):
    pnet = n2p.polynomial_network(make_network(1, (1, 3, 1), "exp"), 4)
    found = pnet.interactions_of(0)
    assert sorted(row[0] for row in found) == ["x1", "x1^2", "x1^3", "x1^4"]


# --- one coefficient ----------------------------------------------------------------------------


@given(
    seed=st.integers(0, 2**32 - 1),
    exponents=st.lists(st.integers(0, 3), min_size=3, max_size=3),
    by_degree=st.booleans(),
    rows=st.integers(2, 5),
)
def test_one_coefficient_is_that_of_the_full_expansion(
    make_network, seed, exponents, by_degree, rows
):
    order = max(1, sum(exponents))
    network = make_network(seed, (3, 4, 3, 2), "gelu", output="sigmoid", skips=True)
    rng = np.random.default_rng(seed)
    expansions = tuple(
        rng.normal(size=(rows, order + 1, h) if by_degree else (rows, h)) for h in (4, 3, 2)
    )
    pnet = n2p.PolynomialNetwork(network, expansions, order, "taylor")
    term = tuple(i for i, n in enumerate(exponents) for _ in range(n))
    poly = pnet.expand()
    size = np.abs(poly.coefficients).max()
    for output in range(2):
        expected = poly.coefficient(term, output)
        assert pnet.coefficient(term, output) == pytest.approx(expected, abs=1e-11 * size)


def test_twelve_different_variables_are_quick(make_network):
    network = make_network(7, (1000, 30, 30, 1), "tanh", spread=1.0)
    pnet = n2p.polynomial_network(network, 12)
    begin = time.process_time()
    found = pnet.coefficient(tuple(range(5, 1000, 84)))
    assert time.process_time() - begin < 5
    # The same by symmetric differences of the part of degree 12 on the corners of a cube.
    corners = np.array(np.meshgrid(*[[0.0, 1.0]] * 12)).reshape(12, -1).T
    X = np.zeros((len(corners), 1000))
    X[:, range(5, 1000, 84)] = corners
    by_order = pnet.outputs_by_order(X)
    signs = (-1.0) ** (12 - corners.sum(axis=1))
    assert found == pytest.approx(signs @ (by_order[12] - by_order[11])[:, 0], rel=1e-4)


# --- predictions --------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["factored", "explicit", "pruned", "short"])
@pytest.mark.parametrize("n_rows", [1, 700])
def test_single_precision_gives_six_digits_in_its_own_type(pnet, form, n_rows):
    model = pnet if form == "factored" else pnet.expand()
    model = {"pruned": lambda: model.prune(500), "short": lambda: model.truncate(1)}.get(
        form, lambda: model
    )()
    X = pnet.network.center + pnet.network.scale * np.random.default_rng(3).uniform(
        -0.3, 0.3, (n_rows, 45)
    )
    expected = model.predict(X)
    found = model.predict(X, dtype=np.float32)
    assert (found.dtype, expected.dtype) == (np.float32, np.float64)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize("form", ["factored", "explicit", "pruned"])
@pytest.mark.parametrize("batch_size", [1, 7, 10_000])
def test_the_batch_size_does_not_change_a_prediction(pnet, form, batch_size):
    model = pnet if form == "factored" else pnet.expand()
    model = model.prune(300) if form == "pruned" else model
    X = pnet.network.center + np.random.default_rng(3).normal(size=(50, 45))
    np.testing.assert_allclose(
        model.predict(X, batch_size=batch_size), model.predict(X), rtol=1e-11, atol=1e-11
    )


@pytest.mark.parametrize("options", [{"dtype": int}, {"dtype": "half"}, {"batch_size": 0}])
def test_options_of_a_prediction_that_make_no_sense_are_refused(pnet, options):
    for model in (pnet, pnet.expand()):
        with pytest.raises(InvalidInputError):
            model.predict(np.zeros((2, 45)), **options)


def test_predicting_by_rays_needs_memory_for_a_batch_only(make_network):
    pnet = n2p.polynomial_network(make_network(8, (5, 100, 100, 1), "tanh"), 4)
    X = np.zeros((100_000, 5))
    tracemalloc.start()
    pnet.predict(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 25e6  # five parts of 100 neurons on all rows would take 400 MB
