"""A formula that is held at bounds says so: repr, notebook, verdict, report, exports, files."""

from __future__ import annotations

import json
import re
from html import escape

import numpy as np
import onnx
import pytest

import nn2poly as n2p
from nn2poly import export
from nn2poly.errors import OutsideRangeWarning
from nn2poly.reporting.describe import describe_columns, read_rows
from nn2poly.verdicts import Held

NAMES = ("rooms", "occupants", "age")


def rows(n=1500, seed=0):
    """Draw a number with light tails, one with Cauchy's, and whole numbers."""
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [rng.uniform(1, 9, n), rng.standard_cauchy(n), rng.integers(0, 50, n).astype(float)]
    )


@pytest.fixture(scope="module")
def network(make_network):
    return make_network(2, (3, 8, 1), "tanh").recentered([5.0, 0.0, 25.0], [2.0, 3.0, 15.0])


@pytest.fixture(scope="module")
def poly(network):
    low, high = rows().min(axis=0), rows().max(axis=0)
    whole = {name: (low[j], high[j]) for j, name in enumerate(NAMES) if name != "occupants"}
    return n2p.convert(network, 2, data=rows(), bounded=whole, feature_names=NAMES)


def test_the_repr_names_the_column_that_is_cut_and_no_other(poly):
    low, high = poly.inputs.bounds()["occupants"]
    held = repr(poly).splitlines()[-2].strip()
    assert held.startswith(f"occupants held within {low:.4g} … {high:.4g}, other numbers")
    assert "rooms held" not in held
    assert escape(held) in poly._repr_html_()


def test_the_repr_of_a_plain_polynomial_says_nothing_of_it(network):
    plain = n2p.convert(network, 2, data=rows(), bounded=False, feature_names=NAMES)
    assert "held" not in repr(plain)
    assert "held at" not in plain._repr_html_()
    assert plain.card.verdict.reason(Held) is None


def test_the_verdict_tells_bounds_and_the_share_of_rows_beyond(network, poly):
    X = rows(4000, seed=5)
    verdict = n2p.fidelity(network, poly, X).verdict
    held = verdict.reason(Held)
    assert [column.name for column in held.columns] == ["occupants"]
    low, high = poly.inputs.bounds()["occupants"]
    share = np.mean((X[:, 1] < low) | (X[:, 1] > high))
    assert held.columns[0].share == pytest.approx(share)
    assert f"Held at the edge: 'occupants' outside {low:.4g} … {high:.4g}" in str(verdict)
    assert f"({100 * share:.2g} % of rows)." in str(verdict)


def test_a_card_keeps_it_in_a_file(poly, tmp_path):
    loaded = n2p.load(poly.save(tmp_path / "poly.json"))
    assert loaded.card.verdict == poly.card.verdict
    assert repr(loaded) == repr(poly)


def test_with_54_columns_the_verdict_names_three(make_network):
    X = np.random.default_rng(1).standard_cauchy((2000, 54))
    poly = n2p.convert(make_network(0, (54, 4, 1)), 1, data=X, bounded=True)
    held = n2p.fidelity(make_network(0, (54, 4, 1)), poly, X).verdict.reason(Held)
    assert len(held.columns) == 3
    assert held.n_others >= 50
    assert max(map(len, repr(poly).splitlines())) < 250


def test_the_report_lists_bounds_and_shares_of_every_column(poly):
    X = rows(4000, seed=5)
    table = describe_columns(read_rows(X, None, poly), poly)
    assert table.columns[-1] == "held within"
    beyond = {row[0]: re.search(r"\(([\d.]+)\s% beyond\)", row[-1]) for row in table}
    low, high = poly.inputs.bounds()["occupants"]
    share = 100 * np.mean((X[:, 1] < low) | (X[:, 1] > high))
    assert float(beyond["occupants"][1]) == pytest.approx(share, rel=0.05)
    assert beyond["rooms"] is None or float(beyond["rooms"][1]) < share
    assert all(" … " in row[-1] for row in table)


def test_headers_of_programs_and_the_metadata_of_onnx_say_it(poly):
    texts = [source(poly)["y"] for source in (export.python, export.c, export.javascript)]
    texts.append(export.sql_select(poly, "data"))
    assert all("Inputs are held at their bounds" in text for text in texts)
    made = onnx.load_from_string(export.LANGUAGES["onnx"].content(poly))
    found = {entry.key: json.loads(entry.value) for entry in made.metadata_props}
    assert found["bounds"]["occupants"] == list(poly.inputs.bounds()["occupants"])


def test_new_rows_far_outside_are_counted_in_a_warning(poly):
    new = rows(10, seed=6)
    new[:3, 1] = 1e12
    with pytest.warns(OutsideRangeWarning, match=r"3 of 10 rows .* held at its edge"):
        found = poly.predict(new)
    assert np.all(np.isfinite(found))


def test_the_remedy_for_a_tail_does_not_tell_to_clip_what_is_clipped(make_network):
    network = make_network(3, (2, 6, 1), "linear")
    X = np.random.default_rng(3).normal(size=(2000, 2))
    X[::100, 1] = 300.0
    poly = n2p.convert(network, 1, data=X, bounded=True)
    verdict = str(n2p.fidelity(network, poly, X).verdict)
    assert "clip or transform" not in verdict


def test_the_verdict_names_no_column_that_the_formula_does_not_use(network, poly):
    X = rows(4000, seed=5)
    kept = np.array([k for k, term in enumerate(poly.terms) if 1 not in term])
    held = n2p.fidelity(network, poly.keep(kept), X).verdict.reason(Held)
    assert held is None
