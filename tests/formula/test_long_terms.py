"""Polynomials with few terms of high order: right, and at the price of their terms alone.

Their graded bases have 3 million (20 features, order 8), 377 million (40) and 3·10²⁰ terms
(500 features, order 10): no method may touch them.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.algebra.monomials import count_terms
from nn2poly.formula.polynomial import Polynomial

# Each call takes under 0.05 s on one slow core; the rest is for a busy machine.
SECONDS = 1.0


def additive(p, order=8):
    terms = [(j,) * d for j in range(p) for d in range(1, order + 1)]
    return built(p, terms, seed=p)


def long_terms(p=500, order=10, count=12):
    rng = np.random.default_rng(p)
    terms = [tuple(rng.integers(0, p, size=order).tolist()) for _ in range(count)]
    terms += [(7,) * order, (3, 3, 3, 9), (3, 9), ()]
    return built(p, terms, seed=p)


def built(p, terms, seed):
    rng = np.random.default_rng(seed)
    return Polynomial.from_terms(
        terms,
        rng.normal(size=(len(terms), 2)),
        [f"v{j}" for j in range(p)],
        center=rng.normal(size=p),
        scale=rng.uniform(0.5, 2.0, size=p),
    )


CASES = {
    "additive, 20 features": lambda: additive(20),
    "additive, 40 features": lambda: additive(40),
    "order 10, 500 features": long_terms,
}


@pytest.fixture(params=CASES, scope="module")
def poly(request):
    return CASES[request.param]()


@pytest.fixture
def rows(poly):
    return np.random.default_rng(1).normal(size=(50, poly.n_features))


def direct(poly, X):
    """Evaluate with Python's own loop; give the values and the size of what is added up."""
    z = (X - poly.center) / poly.scale
    total, size = np.zeros((len(X), poly.n_outputs)), np.zeros((len(X), poly.n_outputs))
    for term, row in zip(poly.terms, poly.coefficients, strict=True):
        part = np.prod(z[:, list(term)], axis=1)[:, None] * row
        total, size = total + part, size + np.abs(part)
    return total, size.max()


def timed(call):
    begin = time.process_time()
    result = call()
    assert time.process_time() - begin < SECONDS
    return result


def test_their_bases_are_far_too_large(poly):
    assert count_terms(poly.n_features, poly.max_order) > 3_000_000
    assert poly.n_terms <= 320


def test_it_predicts_what_its_terms_say(poly, rows):
    expected, size = direct(poly, rows)
    found = timed(lambda: poly.predict(rows))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * size)


@pytest.mark.parametrize("ends", ["raw", "other"])
def test_it_predicts_the_same_in_other_coordinates(poly, rows, ends):
    p = poly.n_features
    # Coordinates in which the data are near 0, so that little cancels.
    center, scale = (0.0, 1.0) if ends == "raw" else (np.linspace(-0.2, 0.2, p), np.full(p, 1.5))
    moved = timed(lambda: poly.rebase(center, scale))
    expected, size = direct(poly, rows)
    _, moved_size = direct(moved, rows)
    np.testing.assert_allclose(
        moved.predict(rows), expected, rtol=0, atol=1e-13 * (size + moved_size)
    )
    np.testing.assert_array_equal(moved.scale, np.broadcast_to(scale, p))
    assert moved.n_terms < 20_000


def test_an_additive_polynomial_stays_additive_in_other_coordinates():
    poly = additive(40)
    moved = poly.rebase()
    assert set(moved.terms) == {(), *poly.terms}


def test_truncating_keeps_the_low_orders(poly, rows):
    few = timed(lambda: poly.truncate(4))
    low = [i for i, term in enumerate(poly.terms) if len(term) <= 4]
    assert list(few.terms) == [poly.terms[i] for i in low]
    np.testing.assert_array_equal(few.coefficients, poly.coefficients[low])
    expected, size = direct(few, rows)
    np.testing.assert_allclose(few.predict(rows), expected, rtol=0, atol=1e-13 * size)


def test_pruning_keeps_the_largest(poly, rows):
    few = timed(lambda: poly.prune(7))
    size = np.linalg.norm(poly.coefficients, axis=1)
    size[: poly.terms.ends[1]] = np.inf
    kept = sorted(np.argsort(-size, kind="stable")[:7].tolist())
    assert list(few.terms) == [poly.terms[i] for i in kept]
    np.testing.assert_array_equal(few.coefficients, poly.coefficients[kept])
    assert timed(lambda: poly.top(3)).rows


def test_folding_changes_no_prediction_on_binary_data(poly, rows):
    plain = Polynomial(poly.coefficients, terms=poly.terms, feature_names=poly.feature_names)
    binary = rows.copy()
    binary[:, [3, 7, 9]] = np.random.default_rng(0).integers(2, size=(50, 3))
    folded = timed(lambda: plain.fold([[3], [7], [9]]))
    expected, size = direct(plain, binary)
    np.testing.assert_allclose(folded.predict(binary), expected, rtol=0, atol=1e-13 * size)
    assert folded.n_terms < plain.n_terms
    assert not any(term.count(j) > 1 for term in folded.terms for j in (3, 7, 9))


@pytest.mark.parametrize("ending", [".json", ".npz", ""])
def test_its_files_are_small_and_keep_every_bit(poly, rows, tmp_path, ending):
    path = timed(lambda: poly.save(tmp_path / f"poly{ending}"))
    found = timed(lambda: n2p.load(path))
    assert found.terms == poly.terms
    np.testing.assert_array_equal(found.coefficients, poly.coefficients)
    np.testing.assert_array_equal(found.predict(rows), poly.predict(rows))
    files = path.iterdir() if path.is_dir() else [path]
    assert sum(file.stat().st_size for file in files) < 300_000
