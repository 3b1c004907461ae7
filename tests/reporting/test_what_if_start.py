"""Where the what-if panel starts, and what it says of the network there."""

import json

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.reporting.collect import collect


@pytest.fixture(scope="module")
def houses(make_network, folder):
    """Years and rooms in whole numbers, a size in real ones; the formula is linear, so rough."""
    rng = np.random.default_rng(4)
    X = np.column_stack(
        [rng.integers(1990, 2020, 300), rng.integers(1, 9, 300), rng.normal(100.0, 25.0, 300)]
    ).astype(float)
    center, scale = X.mean(axis=0), X.std(axis=0)
    inner = make_network(5, (3, 8, 1), spread=1.2)
    first = inner.layers[0]
    weights = first.weights / scale[:, None]
    layers = [
        n2p.Layer(weights, first.bias - center @ weights, "tanh"),
        *inner.layers[1:],
    ]
    network = n2p.Network(layers).named(["year", "rooms", "size"], ["price"])
    poly = n2p.convert(network, 1, data=X)
    path = n2p.report(poly, network, X, path=folder / "houses.html")
    return path, poly, network, X


def differences(poly, network, X):
    return np.abs(network.predict(X) - poly.predict(X)).ravel()


def told(page, name):
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => done()))")
    return page.locator(name).inner_text()


def test_the_panel_starts_on_a_row_of_the_table_on_which_both_agree(houses):
    _, poly, network, X = houses
    payload = collect(poly, network, X, None, "t").payload
    row, error = payload["start"], differences(poly, network, X)
    assert row in payload["rows"]["index"]
    assert error[row] <= np.median(error)
    distance = np.linalg.norm((X - np.median(X, axis=0)) / X.std(axis=0), axis=1)
    assert (
        row
        == np.flatnonzero(error <= np.median(error))[distance[error <= np.median(error)].argmin()]
    )


def test_without_a_network_it_starts_on_the_row_in_the_middle(houses):
    _, poly, _, X = houses
    distance = np.linalg.norm((X - np.median(X, axis=0)) / X.std(axis=0), axis=1)
    assert collect(poly, None, X, None, "t").payload["start"] == distance.argmin()


def test_whole_numbers_start_at_whole_numbers(visit, houses):
    path, *_ = houses
    page = visit(path).page
    for name in ("year", "rooms"):
        value = page.get_by_label(name, exact=True).input_value()
        assert float(value).is_integer(), f"{name} starts at {value}"
    row = json.loads(page.locator("#report-data").text_content())["start"]
    assert page.locator("#preset-row").input_value() == str(row)
    assert page.locator("#preset option:checked").inner_text() == f"a typical row, no. {row}"


def test_the_network_answers_beside_the_formula_and_is_said_to_agree(visit, houses):
    path, _, network, X = houses
    page = visit(path).page
    row = int(page.locator("#preset-row").input_value())
    said = told(page, "#network-says")
    answer = np.ravel(network.predict(X[[row]]))[0]
    assert said == f"The network itself says {answer:.4g} here.".replace("-", "−")


def test_a_row_on_which_they_disagree_by_more_than_the_stated_error_says_so(visit, houses):
    path, poly, network, X = houses
    error = differences(poly, network, X)
    within = np.quantile(error, 0.95)
    page = visit(path).page
    for row, beyond in ((int(error.argmax()), True), (int(error.argmin()), False)):
        assert (error[row] > within) == beyond
        page.locator("#preset-row").fill(str(row))
        page.keyboard.press("Enter")
        said = told(page, "#network-says")
        assert ("more than the ±" in said) == beyond
        assert ("beyond" in page.locator("#network-says").get_attribute("class")) == beyond
