"""The fidelity card: kept whole in files, readable as text and HTML, its parts true."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.cards import FidelityCard, Guarantee, OutputFidelity
from nn2poly.verdicts import Distance, Region, Verdict


def uniform(n, p=3, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (n, p))


def bare_card(**changes):
    """Make a card with every optional part left empty."""
    output = OutputFidelity(0.9, 0.1, 0.5, 3, 2.0, (0.1, 0.2, 0.3, 0.4))
    card = FidelityCard(
        n_rows=100,
        held_out=True,
        r2=0.9,
        rmse=0.1,
        max_error=0.5,
        agreement=None,
        probability_error=None,
        per_output={"y": output},
        per_order=(0.0, 0.9),
        per_layer=(),
        regions=(),
        guarantee=Guarantee(0.95, 0.99, (), 299, 100),
        verdict=Verdict("rough", 0.9, 100, False, 1, (Distance(0.3, 2.0),)),
    )
    return replace(card, **changes)


def regression(make_network):
    network = make_network(1, (3, 8, 6, 2), "relu", spread=1.0)
    return n2p.polynomial_network(network, "auto", data=uniform(1600), target_r2=0.97).card


def classifier(make_network):
    layers = make_network(2, (3, 6, 3), "tanh", spread=1.5).layers
    network = n2p.Network(layers, link="softmax", classes=["u", "v", "w"])
    return n2p.convert(network, 1, data=uniform(100)).card


def undecided(make_network):
    network = n2p.Network([n2p.Layer(np.zeros((3, 2)), [1.0, 2.0], "tanh")])
    return n2p.convert(network, "auto", data=uniform(30)).card


def half_undecided(make_network):
    network = n2p.Network([n2p.Layer([[1.0, 0.0]], [0.0, 3.0])], output_names=["moves", "stays"])
    return n2p.fidelity(network, n2p.convert(network, 1), uniform(20, 1))


CARDS = {f.__name__: f for f in (regression, classifier, undecided, half_undecided)}


# ---- files -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CARDS)
def test_a_card_comes_back_from_plain_data(make_network, kind):
    card = CARDS[kind](make_network)
    text = json.dumps(card.to_dict(), allow_nan=False)
    found = FidelityCard.from_dict(json.loads(text))
    # NaN is not equal to itself; its repr is.
    assert repr(found) == repr(card)
    assert str(found) == str(card)
    assert found._repr_html_() == card._repr_html_()
    if "undecided" not in kind:
        assert found == card


def test_the_cards_above_hold_what_is_hard_to_keep(make_network):
    one, two, three, four = (make(make_network) for make in CARDS.values())
    assert len(one.path) > 1
    assert one.guarantee.bounds
    assert one.agreement is None
    assert one.per_layer
    assert 0 < two.agreement <= 1
    assert two.probability_error > 0
    assert np.isnan(three.r2)
    assert np.isnan(three.path[0][2])
    assert np.isnan(four.per_output["stays"].r2)


def test_none_and_nan_are_not_confused():
    card = bare_card(r2=float("nan"), per_order=(float("nan"), 0.5))
    found = FidelityCard.from_dict(card.to_dict())
    assert card.to_dict()["r2"] is None
    assert np.isnan(found.r2)
    assert np.isnan(found.per_order[0])
    assert found.agreement is None
    assert found.probability_error is None


@pytest.mark.parametrize("kind", CARDS)
def test_a_card_saved_before_there_were_newer_fields_is_still_read(make_network, kind):
    card = CARDS[kind](make_network)
    data = card.to_dict()
    for name in ("r2_without_worst", "probability_within", "target_r2"):
        del data[name]
    del data["guarantee"]["held_out"], data["guarantee"]["any_use"]
    found = FidelityCard.from_dict(data)
    assert np.isnan(found.r2_without_worst)
    assert found.probability_within is None
    assert found.target_r2 is None
    assert found.guarantee.held_out is (True if card.held_out else None)
    assert str(found) == str(card)


VERSION1 = Path(__file__).parent / "formula" / "version1"


@pytest.mark.parametrize("path", sorted(VERSION1.glob("[bcf]*.*")), ids=lambda path: path.name)
def test_a_card_of_version_01_says_its_verdict_word_for_word(path):
    """These files keep the text alone, so that is what is shown; the grade comes from R²."""
    card = n2p.load(path).card
    stated = json.loads(path.with_suffix(".json").read_text("utf-8"))["body"]["card"]["verdict"]
    assert str(card.verdict) == stated
    assert card.verdict.grade.capitalize() == stated.partition(" (")[0]
    assert str(card).startswith(stated)
    again = FidelityCard.from_dict(json.loads(json.dumps(card.to_dict(), allow_nan=False)))
    assert again == card


def test_the_card_of_a_polynomial_is_saved_with_it(make_network, tmp_path):
    network = make_network(3, (3, 6, 1), "relu")
    poly = n2p.convert(network, 2, data=uniform(200))
    for ending in ("json", "npz"):
        found = n2p.load(poly.save(tmp_path / f"poly.{ending}"))
        assert found.card == poly.card


def test_a_polynomial_that_was_changed_does_not_keep_the_card(make_network):
    poly = n2p.convert(make_network(3), 3, data=uniform(200))
    assert poly.rebase().card == poly.card
    assert poly.truncate(2).card is None
    assert poly.prune(5).card is None


# ---- how it reads ------------------------------------------------------------------------------


def test_a_bare_card_prints_its_verdict_outputs_orders_and_guarantee_only():
    text = str(bare_card())
    for part in (
        "Rough (R2 0.900): follows",
        "100 held-out rows",
        "cut at each order",
        "too few rows",
    ):
        assert part in text
    for part in ("Where", "Orders tried", "label", "outside", "overall"):
        assert part not in text
    assert "held-out" not in str(bare_card(held_out=False))


def test_every_part_that_is_there_is_printed():
    output = OutputFidelity(0.9, 0.1, 0.5, 3, 2.0, (0.1, 0.2, 0.3, 0.4))
    card = bare_card(
        agreement=0.875,
        probability_error=0.0123,
        per_output={"u": output, "v": output},
        per_layer=(0.25, 0.75),
        regions=(Region("age > 60", 12, 0.3, 2.5),),
        guarantee=Guarantee(0.95, 0.99, (0.5, 0.25), 299, 400),
        outside=1234,
        path=((1, 4, 0.5), (2, 10, 0.9)),
    )
    text = str(card)
    for part in ("87.5 %", "0.0123", "overall", "age > 60", "±0.5, ±0.25", "1,234 rows lie"):
        assert part in text
    titles = [table.title for table in card.tables()]
    assert len(titles) == 5
    assert all(title in text for title in titles)


def test_the_table_of_orders_shows_the_gain_of_each():
    card = bare_card(per_order=(-0.25, 0.5, 0.75, 0.875))
    orders = next(t for t in card.tables() if "cut at each order" in t.title)
    assert orders.columns == ("cut at order", "R2", "gain")
    assert "another polynomial" in orders.note
    assert list(orders) == [(1, 0.5, 0.75), (2, 0.75, 0.25), (3, 0.875, 0.125)]


class Reader(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.open, self.text = set(), [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_names_are_escaped_in_the_notebook_view():
    """Feature names reach it by regions and verdict, output names by the table."""
    evil = "<script>alert('&')</script>"
    output = OutputFidelity(0.9, 0.1, 0.5, 3, 2.0, (0.1, 0.2, 0.3, 0.4))
    card = bare_card(
        per_output={evil: output},
        regions=(Region(f"{evil} > 3", 12, 0.3, 2.5),),
        verdict=Verdict("rough", 0.9, 100, False, 1, (Region(f"{evil} > 3", 12, 0.3, 2.5),)),
    )
    reader = Reader(card._repr_html_())
    assert reader.open == []
    assert "script" not in reader.tags
    assert reader.text.count(evil) == 3


def test_the_notebook_view_says_what_the_text_says(make_network):
    card = regression(make_network)
    shown = Reader(card._repr_html_()).text
    for table in card.tables():
        assert table.title in shown
    assert str(card.verdict) in shown
    assert str(card.guarantee) in shown


# ---- per order ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_the_r2_of_each_order_is_that_of_the_truncated_polynomial(make_network, n_outputs):
    """With the mean put right below the highest order, as the card says."""
    network = make_network(4, (3, 8, 6, n_outputs), "relu", spread=1.0)
    poly = n2p.convert(network, 4, data=uniform(500))
    X = uniform(300, seed=1)
    card = n2p.fidelity(network, poly, 0.99 * X)
    truth = network.predict(0.99 * X).reshape(300, n_outputs)
    assert len(card.per_order) == 5
    assert card.per_order[-1] == card.r2
    for order in (1, 2, 3):
        guess = poly.truncate(order).outputs_by_order(0.99 * X)[-1]
        error = truth - guess
        error -= error.mean(axis=0)
        expected = np.mean(1 - (error**2).sum(axis=0) / (truth.var(axis=0) * 300))
        assert card.per_order[order] == pytest.approx(expected, rel=1e-9)
    assert card.per_order[0] == pytest.approx(0.0, abs=1e-12)


def test_the_factored_form_has_the_same_r2_by_order(make_network):
    network = make_network(4, (3, 8, 6, 2), "tanh", spread=1.0, skips=True)
    X = uniform(400)
    pnet = n2p.polynomial_network(network, 3, data=X)
    one, other = (n2p.fidelity(network, form, X) for form in (pnet, pnet.expand()))
    np.testing.assert_allclose(one.per_order, other.per_order, rtol=0, atol=1e-9)
    np.testing.assert_allclose(pnet.card.per_order[-1], pnet.card.r2, rtol=0, atol=0)


# ---- per layer ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["tanh", "relu"])
def test_the_shares_of_the_layers_add_up_to_one(make_network, name, seed):
    network = make_network(
        seed, (3, 8, 6, 5, 2), name, output="sigmoid", skips=bool(seed % 2), spread=1.5
    )
    shares = n2p.polynomial_network(network, 2, data=uniform(300)).card.per_layer
    assert len(shares) == 4
    assert min(shares) >= 0
    assert sum(shares) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("bad", [1, 2, 3])
def test_the_shares_point_to_the_one_layer_that_is_no_polynomial(make_network, bad):
    activations = ["linear", "linear", "linear"]
    activations[bad - 1] = "relu"
    network = make_network(5, (3, 8, 7, 6, 2), activations, spread=1.5, bias=0.5)
    shares = n2p.polynomial_network(network, 2, data=uniform(400)).card.per_layer
    assert np.argmax(shares) == bad - 1
    assert shares[bad - 1] > 0.99


@pytest.mark.parametrize("bad", [1, 2])
def test_the_shares_point_to_a_layer_that_is_far_worse_than_the_others(make_network, bad):
    network = make_network(4, (3, 10, 10, 10, 1), "tanh", spread=0.3)
    layers = list(network.layers)
    layer = layers[bad - 1]
    layers[bad - 1] = n2p.Layer(15 * layer.weights, layer.bias, "tanh")
    card = n2p.polynomial_network(n2p.Network(layers), 3, data=uniform(1000)).card
    assert np.argmax(card.per_layer) == bad - 1
    assert card.per_layer[bad - 1] > 0.6


def test_without_an_error_no_layer_has_a_share():
    network = n2p.Network([n2p.Layer(np.eye(3), None, "relu"), n2p.Layer(np.zeros((3, 1)))])
    assert n2p.polynomial_network(network, 2, data=uniform(50)).card.per_layer == (0.0, 0.0)


@pytest.fixture(scope="module")
def plain_card(make_network):
    return next(iter(CARDS.values()))(make_network).to_dict()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n_rows", True),
        ("n_rows", -1),
        ("n_rows", 1.5),
        ("r2", "0.99"),
        ("held_out", 1),
        ("agreement", 1.5),
        ("per_output", []),
        ("per_output", {"y": {}}),
        ("per_order", ["a"]),
        ("regions", [{"description": 5, "n_rows": 1, "rmse": 1.0, "ratio": 1.0}]),
        ("guarantee", {}),
        ("verdict", "faithful"),
        ("path", [[1, 2]]),
        ("unknown", 1),
    ],
    ids=str,
)
def test_a_card_with_a_foreign_part_is_refused(plain_card, field, value):
    assert FidelityCard.from_dict(plain_card)
    with pytest.raises(ValueError, match=r"\w"):
        FidelityCard.from_dict({**plain_card, field: value})


def test_no_r2_below_one_is_printed_as_one_anywhere_on_a_card():
    x = np.linspace(-1.0, 1.0, 400)[:, None]
    poly = n2p.Polynomial.from_terms(["a"], [1.0], ["a"])
    card = n2p.fidelity(lambda rows: rows[:, 0] + 0.002 * np.sin(9 * rows[:, 0]), poly, x)
    assert 0.99995 < card.r2 < 1.0
    outputs = str(card.tables()[0])
    assert outputs.splitlines()[3].split()[1].startswith("0.9999")
    assert "interval: 0.9999" in outputs
    assert "to 0.9999" in outputs
