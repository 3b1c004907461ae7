"""Columns in another order are put in order; rows under other labels are refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import nn2poly as n2p
from nn2poly.errors import InvalidInputError

N = 400


def by_place(X):
    """Read a table as an array: columns go by their place."""
    values = X.to_numpy()
    return 2.0 * values[:, 0] + values[:, 1] * values[:, 2]


@pytest.fixture(scope="module")
def frame():
    values = np.random.default_rng(0).uniform(-1, 1, (N, 3))
    return pd.DataFrame(values, columns=["a", "b", "c"], index=np.arange(N) + 1000)


@pytest.fixture(scope="module")
def poly(frame):
    return n2p.convert(by_place, data=frame, bounded=False)


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
@pytest.mark.parametrize("columns", [["c", "a", "b"], ["other", "c", "b", "a"]])
def test_a_function_gets_the_columns_in_the_order_of_the_formula(frame, poly, columns, library):
    turned = frame.assign(other=7.0)[columns]
    X = turned if library is pd else pl.from_pandas(turned)
    assert n2p.fidelity(by_place, poly, X).r2 > 0.9999
    path = n2p.sparse_path(by_place, poly, X, max_terms=5)
    assert path.polynomial().coefficient("a") == pytest.approx(
        n2p.sparse_path(by_place, poly, frame, max_terms=5).polynomial().coefficient("a"), abs=1e-6
    )
    found = n2p.explain.shapley(poly, X[:5], X[:50], model=by_place)
    assert np.abs(found.residual).max() < 1e-3


def test_factors_are_put_in_order_too():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"kind": rng.choice(["u", "v"], N), "size": rng.uniform(-1, 1, N)})

    def function(X):
        return (X.iloc[:, 0] == "u").to_numpy() + X.iloc[:, 1].to_numpy().astype(float)

    poly = n2p.convert(function, 1, data=X, bounded=False)
    assert n2p.fidelity(function, poly, X[["size", "kind"]]).r2 > 0.9999


def asked(frame, poly, path, **given):
    """List all that takes something beside the rows, by the name of that."""
    calls = {
        "convert": lambda: n2p.convert(by_place, 1, data=frame, **given),
        "fidelity": lambda: n2p.fidelity(by_place, poly, frame, **given),
        "report": lambda: n2p.report(poly, by_place, frame, path=path, **given),
        "sparse_path": lambda: n2p.sparse_path(by_place, poly, frame, max_terms=4, **given),
        "frontier": lambda: n2p.frontier(
            by_place, frame, orders=[1], regions=[1], max_terms=[], **given
        ),
    }
    takes = {
        "sample_weight": ["convert", "fidelity", "frontier"],
        "groups": ["convert", "fidelity", "sparse_path", "frontier"],
        "y": ["fidelity", "report"],
    }
    return [calls[call] for name in given for call in takes[name]]


@pytest.mark.parametrize("name", ["sample_weight", "groups", "y"])
def test_rows_under_other_labels_are_refused(frame, poly, name, tmp_path):
    values = pd.Series(np.arange(N) // 4 + 1.0, index=frame.index)
    shuffled, reset = values.sample(frac=1.0, random_state=0), values.reset_index(drop=True)
    path = tmp_path / "page.html"
    for given, what in ((shuffled, "in another order"), (reset, "other labels than the rows")):
        for call in asked(frame, poly, path, **{name: given}):
            with pytest.raises(InvalidInputError, match=what) as error:
                call()
            assert error.value.where == name
            assert f"{name}.loc[X.index]" in error.value.remedy
    for given in (values, shuffled.loc[frame.index], reset.to_numpy()):
        for call in asked(frame, poly, path, **{name: given}):
            call()


def test_labels_of_rows_say_nothing_beside_an_array(frame, poly):
    weights = pd.Series(np.linspace(0.1, 1.0, N)).sample(frac=1.0, random_state=0)
    one = n2p.fidelity(
        lambda X: by_place(pd.DataFrame(X)), poly, frame.to_numpy(), sample_weight=weights
    )
    other = n2p.fidelity(by_place, poly, frame, sample_weight=weights.to_numpy())
    assert one.r2 == pytest.approx(other.r2, abs=1e-12)
