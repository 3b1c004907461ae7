"""The polynomials that every export is tried on, with rows and what `predict` says of them."""

import numpy as np
import pytest

from nn2poly.algebra.monomials import count_terms
from nn2poly.formula.polynomial import Polynomial

AWKWARD = [
    *("a b", "a_b", "a-b", 'a"; DROP TABLE x; --', "*/", "/*", "${}", "{}", "%s", "new\nline"),
    *("größe", "日本", "class", "double", "select", "it's", '"""', "'''", "\\", "<script>"),
    *("</script>", "z0", "x[0]", "2nd", "predict_y", "??/", "#", "A2", "_"),
    *("x" * 60, "a\u202eb", "tab\t", "u\u2028", "=1+1", "arguments", "return", "null", "lambda"),
]
AWKWARD_OUTPUTS = [
    "a b",
    "a_b",
    'p"; DROP TABLE x; --',
    "*/ int evil = 1; /*",
    "日本",
    "main",
    "y\n",
]


def random_polynomial(seed, p, order, k=1, *, units=True, n_terms=None, names=None, **options):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(count_terms(p, order), k)).round(12)
    values[rng.random(values.shape) < 0.1] = 0.0
    if units:
        options |= {"center": rng.normal(0.0, 3.0, p), "scale": rng.uniform(0.5, 3.0, p)}
    names = names or [f"x{i + 1}" for i in range(p)]
    poly = Polynomial(values, order, names, **options)
    return poly if n_terms is None else poly.prune(n_terms)


def sparse_polynomial(seed, p, order, n_terms, k=1, **options):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, order + 1, n_terms - 1)
    terms = [tuple(sorted(rng.integers(0, p, size).tolist())) for size in (*sizes, order)]
    options = {"feature_names": [f"x{i + 1}" for i in range(p)], **options}
    return Polynomial.from_terms(terms, rng.normal(size=(n_terms, k)), **options)


def extreme_polynomial():
    """Outputs of their own sizes: zero, tiny, huge, integers, constants."""
    rng = np.random.default_rng(5)
    values = rng.normal(size=(10, 7)) * [0.0, 1e-300, 1e300, 1.0, 1.0, -1e-9, 1.0]
    values[:, 3] = rng.integers(-3, 4, 10)
    values[1:, 4] = 0.0
    values[:, 6] = [1e15 + 0.3, -1.0, 1.0, 0.1, 1 / 3, 2**53, 5e-324, 1e22, 1e-5, 123456.75]
    return Polynomial(values, 2, ["a", "b", "c"], list("tuvwxyz"))


def far_polynomial():
    """In raw units this one cancels: its centers are a million scales away from 0."""
    units = {"center": [1e6, -2e6, 1e5], "scale": [0.5, 1.0, 0.25]}
    return random_polynomial(8, 3, 4, units=False, names=["year", "id", "time"], **units)


CASES = {
    **{f"1 feature, order {q}": random_polynomial(q, 1, q) for q in (1, 2, 3, 4)},
    **{f"3 features, order {q}": random_polynomial(q, 3, q, units=q > 2) for q in (1, 2, 3, 4)},
    "3 features, order 3, 7 outputs": random_polynomial(1, 3, 3, 7, link="softmax"),
    "54 features, order 1, 7 outputs": random_polynomial(1, 54, 1, 7),
    "54 features, order 2": random_polynomial(2, 54, 2),
    "54 features, order 3, pruned": random_polynomial(3, 54, 3, n_terms=80),
    "54 features, order 4, sparse, 7 outputs": sparse_polynomial(4, 54, 4, 60, 7),
    "no intercept, holes in the orders": Polynomial.from_terms(
        ["a^4", "a^4 b", "c"], [1.0, -2.0, -3.0], ["a", "b", "c"], center=1.0, scale=2.0
    ),
    "folded": random_polynomial(6, 3, 3, units=False).fold([["x1"], ["x2", "x3"]]),
    "constant": Polynomial([[2.5, 0.0]], 0, ["a", "b"]),
    "extreme coefficients": extreme_polynomial(),
    "far from 0": far_polynomial(),
    "scales beyond the range of their squares": random_polynomial(
        9, 2, 2, units=False, center=[1e-200, 1e200], scale=[2e-200, 3e200]
    ),
    "awkward names": random_polynomial(
        7, len(AWKWARD), 2, 7, names=AWKWARD, output_names=AWKWARD_OUTPUTS, n_terms=200
    ),
}


@pytest.fixture(params=CASES)
def case(request):
    """Give a polynomial, 20 rows (n, p) of it, and its predictions (n, n_outputs)."""
    return with_rows(CASES[request.param])


@pytest.fixture(scope="session")
def awkward():
    return with_rows(CASES["awkward names"])


@pytest.fixture(scope="session")
def far():
    return with_rows(CASES["far from 0"])


@pytest.fixture(scope="session")
def make():
    """Give the makers of polynomials: dense and sparse."""
    return {"dense": random_polynomial, "sparse": sparse_polynomial, "rows": with_rows}


@pytest.fixture(scope="session")
def close():
    """Give the comparison of all exports: 1e-9 of the size of each output."""
    return assert_close


def with_rows(poly, n=20):
    rng = np.random.default_rng(0)
    X = poly.center + poly.scale * rng.normal(size=(n, poly.n_features))
    return poly, X, poly.predict(X).reshape(n, -1)


def assert_close(found, expected, rtol=1e-9):
    """Compare arrays (n, n_outputs)."""
    expected = np.asarray(expected)
    found = np.asarray(found, dtype=float)
    assert found.shape == expected.shape
    assert np.all(np.isfinite(expected))
    assert np.all(np.abs(found - expected) <= rtol * np.abs(expected).max(axis=0))
