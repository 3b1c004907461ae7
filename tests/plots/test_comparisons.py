"""`diagonal` and `potentials`: the polynomial beside its network."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial.polynomial import polyval

import nn2poly as n2p
from nn2poly import plots
from nn2poly.errors import InvalidInputError, RadiusWarning

WIDE = pytest.mark.filterwarnings(f"ignore::{RadiusWarning.__module__}.RadiusWarning")


@pytest.fixture(scope="module")
def taylor(network):
    return n2p.convert(network, 2)


def points(axes):
    return np.asarray(axes.collections[0].get_offsets())


# --- diagonal --------------------------------------------------------------------------------


def test_points_are_network_across_and_polynomial_up(network, taylor, rows):
    axes = plots.diagonal(network, taylor, rows)
    expected = np.column_stack([network.predict(rows), taylor.predict(rows)])
    np.testing.assert_allclose(points(axes), expected)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("network", "polynomial")
    np.testing.assert_allclose(axes.get_xlim(), axes.get_ylim())
    np.testing.assert_allclose(axes.lines[0].get_xdata(), axes.lines[0].get_ydata())


def test_the_stated_fidelity_is_that_of_the_card(network, taylor, rows):
    text = plots.diagonal(network, taylor, rows).texts[0].get_text()
    assert text == f"R² = {n2p.fidelity(network, taylor, rows).r2:.4f}\n150 rows"


def test_a_factored_polynomial_is_drawn_too(network, taylor, rows):
    factored = plots.diagonal(network, n2p.polynomial_network(network, 2), rows)
    np.testing.assert_allclose(points(factored), points(plots.diagonal(network, taylor, rows)))


def test_nearly_perfect_is_not_perfect():
    net = n2p.Network([n2p.Layer([[1e-3]], None, "tanh"), n2p.Layer([[1.0]])])
    X = np.linspace(-1, 1, 20)[:, None]
    text = plots.diagonal(net, n2p.convert(net, 1), X).texts[0].get_text()
    assert text.startswith("R² > 0.9999")


def test_many_rows_are_counted(network, taylor, rows):
    many = np.vstack([rows] * 20)
    axes = plots.diagonal(network, taylor, many)
    assert axes.collections[0].get_array().sum() == 3000


def test_rows_off_the_scale_are_counted_and_kept_at_the_edge(rows):
    net = n2p.Network([n2p.Layer(np.ones((4, 1)))])
    far = n2p.Polynomial.from_terms(["x1", "x2^5"], [1.0, 1.0], ["x1", "x2", "x3", "x4"])
    axes = plots.diagonal(net, far, rows)
    assert axes.texts[0].get_text() == "R² < −1000\n150 rows\n150 off the scale"
    edge = axes.lines[1].get_ydata()
    assert len(edge) == 150
    assert np.all(edge == axes.get_ylim()[1])


def test_rows_outside_the_calibrated_range_are_counted(network, taylor, rows):
    from dataclasses import replace

    narrow = replace(taylor, inputs=taylor.inputs.seen(rows.min(axis=0), rows.max(axis=0)))
    text = plots.diagonal(network, narrow, 1.5 * rows).texts[0].get_text()
    assert f"{narrow.count_outside(1.5 * rows)} outside" in text


def test_a_network_that_does_not_vary_has_no_r2():
    net = n2p.Network([n2p.Layer([[0.0]], [2.0])])
    poly = n2p.Polynomial([[2.0], [0.0]], 1, ["x1"])
    axes = plots.diagonal(net, poly, [[1.0], [2.0]])
    assert axes.texts[0].get_text().startswith("R² n/a")
    axes.figure.canvas.draw()


def test_one_row_is_drawn(network, taylor, rows):
    plots.diagonal(network, taylor, rows[:1]).figure.canvas.draw()


def test_outputs_of_a_classifier_are_named_raw_one_panel_each():
    rng = np.random.default_rng(0)
    net = n2p.Network([n2p.Layer(rng.normal(size=(3, 7)) / 3)], link="softmax")
    panels = plots.diagonal(net, n2p.convert(net, 1), rng.normal(size=(20, 3)))
    assert panels.shape == (7,)
    assert panels[6].get_xlabel() == "network (logit)"
    assert panels[6].get_title(loc="left") == "y7"
    one = plots.diagonal(net, n2p.convert(net, 1), rng.normal(size=(20, 3)), output="y2")
    assert one.get_title(loc="left") == "y2"


def test_a_polynomial_of_another_network_is_refused(network, poly, seven, rows):
    with pytest.raises(InvalidInputError, match="does not belong to this network"):
        plots.diagonal(network, seven, rows)
    with pytest.raises(InvalidInputError, match="not a polynomial"):
        plots.diagonal(network, rows, poly)


# --- potentials ------------------------------------------------------------------------------


def lines(axes):
    return {line.get_label(): line for line in axes.lines}


@pytest.mark.parametrize("method", ["auto", "calibrated", "taylor", "local"])
def test_every_method_shows_activation_polynomial_error_and_density(network, rows, method):
    around = rows[0] if method == "local" else None
    panels = plots.potentials(network, rows, max_order=2, method=method, around=around)
    assert [axes.get_title(loc="left") for axes in panels] == ["layer 1, tanh", "layer 2, softplus"]
    for axes in panels:
        drawn = set(lines(axes)) | {c.get_label() for c in axes.collections}
        assert {"activation", "polynomial (band: 90 %)", "absolute error"} <= drawn
        assert "density of u" in drawn
        assert ("Taylor series" in drawn) == (method == "taylor")
        axes.figure.canvas.draw()


def test_the_curve_is_the_activation_over_the_potentials_of_the_data(network, rows):
    axes = plots.potentials(network, rows, method="taylor", layer=1)
    u = network.potential(1, [network.to_working(rows)])
    curve = lines(axes)["activation"]
    np.testing.assert_allclose(curve.get_ydata(), np.tanh(curve.get_xdata()))
    low, high = axes.get_xlim()
    assert np.mean((u >= low) & (u <= high)) > 0.99


def test_in_the_first_layer_the_polynomial_is_the_truncated_series():
    """One neuron, a linear potential: what is drawn is u - u³/3, whatever the series' order."""
    net = n2p.Network([n2p.Layer([[1.0]], None, "tanh"), n2p.Layer([[1.0]])])
    X = np.linspace(-1, 1, 400)[:, None]
    axes = plots.potentials(net, X, method="taylor", max_order=3, layer=1)
    line = lines(axes)["polynomial (band: 90 %)"]
    u = line.get_xdata()
    np.testing.assert_allclose(line.get_ydata(), u - u**3 / 3, atol=2e-2)
    error = lines(axes)["absolute error"].get_ydata()
    np.testing.assert_allclose(error, np.abs(u - u**3 / 3 - np.tanh(u)), atol=2e-2)
    dotted = lines(axes)["Taylor series"]
    series = net.layers[0].activation.taylor(0.0, 8).ravel()
    np.testing.assert_allclose(dotted.get_ydata(), polyval(dotted.get_xdata(), series))


def test_a_ready_polynomial_network_is_shown_as_it_is(network, rows):
    pnet = n2p.polynomial_network(network, 2)
    made = plots.potentials(network, rows, method="taylor", max_order=2, layer=2)
    for axes in (
        plots.potentials(pnet, rows, layer=2),
        plots.potentials(network, rows, converted=pnet, layer=2),
    ):
        for name in ("polynomial (band: 90 %)", "absolute error"):
            np.testing.assert_allclose(lines(axes)[name].get_ydata(), lines(made)[name].get_ydata())


def test_a_calibrated_one_alone_is_refused_and_beside_its_network_drawn(network, rows):
    pnet = n2p.polynomial_network(network, 2, data=rows)
    with pytest.raises(InvalidInputError, match="converted="):
        plots.potentials(pnet, rows)
    axes = plots.potentials(network, rows, converted=pnet, layer=2)
    truth = network.outputs_by_layer(network.to_working(rows))[2]
    assert np.nanmax(lines(axes)["absolute error"].get_ydata()) < 0.2 * np.ptp(truth)


@WIDE
def test_a_series_that_runs_away_does_not_hide_the_activation():
    net = n2p.Network([n2p.Layer([[5.0]], None, "tanh"), n2p.Layer([[1.0]])])
    axes = plots.potentials(net, np.linspace(-3, 3, 50)[:, None], method="taylor")
    low, high = axes.get_ylim()
    assert -3 < low < -1 < 1 < high < 3
    assert max(axes.get_yticks()) <= 2


def test_linear_layers_are_left_out_unless_asked_for_or_alone(network, rows):
    axes = plots.potentials(network, rows, method="taylor", layer=3)
    assert axes.get_title(loc="left") == "layer 3, linear"
    np.testing.assert_array_less(0, np.ptp(lines(axes)["activation"].get_ydata()))
    alone = n2p.Network([n2p.Layer([[2.0]])])
    X = np.arange(8.0)[:, None]
    assert plots.potentials(alone, X).get_title(loc="left") == "layer 1, linear"


def test_layers_are_drawn_in_the_order_asked_for(network, rows):
    panels = plots.potentials(network, rows, method="taylor", layer=[2, 1])
    assert [axes.get_title(loc="left")[:7] for axes in panels] == ["layer 2", "layer 1"]


@pytest.mark.parametrize("layer", [0, 4, [], [1, 9], "first"])
def test_a_layer_that_is_not_there_is_refused(network, rows, layer):
    with pytest.raises(InvalidInputError, match="layer"):
        plots.potentials(network, rows, method="taylor", layer=layer)


def test_a_polynomial_network_of_another_network_is_refused(network, rows, poly):
    other = n2p.polynomial_network(n2p.Network([n2p.Layer(np.ones((4, 1)))]), 1)
    with pytest.raises(InvalidInputError, match="does not belong"):
        plots.potentials(network, rows, converted=other)
    with pytest.raises(InvalidInputError, match="not a polynomial network"):
        plots.potentials(network, rows, converted=poly)


def test_a_single_row_is_drawn(network, rows):
    for axes in plots.potentials(network, rows[:1], method="taylor"):
        axes.figure.canvas.draw()
