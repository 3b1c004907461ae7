"""What all plots share: given Axes, no global state, notebooks, missing matplotlib, names."""

from __future__ import annotations

import sys
from itertools import pairwise

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import nn2poly as n2p
from nn2poly import plots
from nn2poly.errors import InvalidInputError, MissingDependencyError, UnknownTermError
from nn2poly.formula.region_tree import Leaf, Split

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def drawings(poly, network, rows, tracker, rentals):
    """Map every public plot to a function of its Axes."""
    taylor = n2p.convert(network, 2, feature_names=poly.feature_names)
    return {
        "beeswarm": lambda **ax: plots.beeswarm(poly, rows, **ax),
        "diagonal": lambda **ax: plots.diagonal(network, taylor, rows, **ax),
        "effects": lambda **ax: plots.effects(poly, "age", X=rows, **ax),
        "heatmap": lambda **ax: plots.heatmap(poly, **ax),
        "importance": lambda **ax: plots.importance(poly, **ax),
        "interaction_network": lambda **ax: plots.interaction_network(poly, **ax),
        "interaction_surface": lambda **ax: plots.interaction_surface(poly, 0, 1, **ax),
        "path": lambda **ax: plots.path([(1, 5, 0.8), (2, 15, 0.9)], **ax),
        "potentials": lambda **ax: plots.potentials(network, rows, method="taylor", layer=1, **ax),
        "region_map": lambda **ax: plots.region_map(rentals, "hour", "weather", **ax),
        "regions": lambda **ax: plots.regions(rentals, **ax),
        "training": lambda **ax: plots.training(tracker, **ax),
        "waterfall": lambda **ax: plots.waterfall(poly, rows[0], **ax),
    }


def test_the_drawings_of_these_tests_are_all_public_plots(drawings):
    assert sorted(drawings) == sorted(plots.__all__) == list(plots.__all__)


@pytest.mark.parametrize("name", plots.__all__)
def test_a_plot_leaves_pyplot_and_its_settings_alone(drawings, name):
    theirs, ours = plt.subplots()
    try:
        before = (plt.get_fignums(), dict(matplotlib.rcParams), ours.get_children())
        axes = drawings[name]()
        axes.figure.canvas.draw()
        assert (plt.get_fignums(), dict(matplotlib.rcParams)) == before[:2]
        assert plt.gcf() is theirs
        assert ours.get_children() == before[2]
        assert axes.figure is not theirs
    finally:
        plt.close(theirs)


@pytest.mark.parametrize("name", plots.__all__)
def test_a_plot_draws_on_the_axes_that_it_is_given_and_returns_them(drawings, name):
    figure = Figure(figsize=(7, 3))
    left, right = figure.subplots(1, 2)
    untouched = right.get_children()
    assert drawings[name](ax=left) is left
    assert left.has_data()
    assert right.get_children() == untouched
    assert len(figure.axes) <= 3  # at most a colour bar more


@pytest.mark.parametrize("name", plots.__all__)
def test_an_axes_that_is_none_is_refused(drawings, name):
    with pytest.raises(InvalidInputError, match="do not fit the plot") as caught:
        drawings[name](ax="axes")
    assert caught.value.where == "ax"


@pytest.mark.parametrize("name", plots.__all__)
def test_options_are_keywords_and_misspelt_ones_are_refused(drawings, name):
    with pytest.raises(TypeError, match="unexpected keyword"):
        drawings[name](axs=None)


@pytest.mark.parametrize("name", plots.__all__)
def test_without_matplotlib_a_plot_says_what_to_install(drawings, name, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match=r"nn2poly\[plots\]"):
        drawings[name]()


def test_importing_the_plots_imports_no_matplotlib():
    import subprocess

    code = "import sys, nn2poly.plots; print('matplotlib' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


def test_a_notebook_shows_a_new_figure_and_leaves_given_axes_to_their_owner(poly, seven):
    assert plots.importance(poly)._repr_png_().startswith(PNG)
    several = plots.importance(seven, 3)
    assert several.shape == (7,)
    assert several._repr_png_().startswith(PNG)
    assert not hasattr(plots.importance(poly, ax=Figure().subplots()), "_repr_png_")


def test_several_panels_take_a_sequence_or_an_array_of_axes(seven):
    grid = Figure(figsize=(7, 9)).subplots(4, 2)
    found = plots.importance(seven, 3, ax=grid.ravel()[:7])
    assert found.tolist() == grid.ravel()[:7].tolist()
    assert plots.importance(seven, 3, output=2, ax=[grid[0, 0]]) is grid[0, 0]
    with pytest.raises(InvalidInputError, match="a sequence of 7 Axes"):
        plots.importance(seven, 3, ax=grid[:2])
    with pytest.raises(InvalidInputError, match="a sequence of 7 Axes"):
        plots.importance(seven, 3, ax=grid[0, 0])


def test_a_plot_can_be_drawn_into_a_subfigure(poly):
    part = Figure(figsize=(7, 3)).subfigures(1, 2)[0]
    assert isinstance(plots.heatmap(poly, ax=part.subplots()), Axes)


def texts_of(figure):
    found = figure.findobj(matplotlib.text.Text)
    return [text for text in found if text.get_text() and text.get_visible()]


@pytest.mark.parametrize("settings", [{}, {"text.usetex": True}, {"text.parse_math": False}])
def test_names_are_never_taken_for_mathematics(awkward, settings):
    """An odd number of dollars, braces, backslashes: as text they must come out as they are."""
    X = np.random.default_rng(0).normal(size=(30, 4))
    tree = Split(0, 0.0, left=Leaf(0), right=Leaf(1))
    pieces = n2p.PiecewisePolynomial(tree, (awkward, awkward.truncate(1)))
    with matplotlib.rc_context(settings):
        given = Figure(figsize=(7, 4)).subplots()
        drawn = [
            plots.importance(awkward),
            plots.importance(awkward, ax=given),
            plots.heatmap(awkward),
            plots.interaction_network(awkward),
            plots.interaction_surface(awkward, 0, 3, X=X),
            plots.effects(awkward, 0),
            plots.waterfall(awkward, X[0]),
            plots.beeswarm(awkward, X),
            plots.regions(pieces),
            plots.region_map(pieces, 0, 1, X=X),
            plots.importance(pieces, X=X),
            plots.beeswarm(pieces, X),
            plots.waterfall(pieces, X[0]),
            plots.waterfall(pieces, X[0], X=X),
        ]
        for axes in drawn:
            shown = [text for text in texts_of(axes.figure) if r"\$" in text.get_text()]
            assert shown
            for text in shown:
                assert text._preprocess_math(text.get_text()) == (
                    text.get_text().replace(r"\$", "$"),
                    False,
                )
                assert not text.get_usetex()


@pytest.mark.parametrize("size", [(3.5, 2.6), (7.0, 3.5)])
def test_labels_of_rows_do_not_overlap_at_column_width(make_polynomial, size):
    names = [f"a name of a feature that is sixty characters long, number {i:02d}" for i in range(6)]
    poly = make_polynomial(11, 6, 3, feature_names=names)
    figure = Figure(figsize=size, layout="constrained")
    axes = plots.importance(poly, 20, ax=figure.subplots())
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
    assert len(boxes) == 20
    gaps = [upper.y0 - lower.y1 for upper, lower in pairwise(boxes)]
    assert min(gaps) > -0.25 * boxes[0].height
    assert min(box.x0 for box in boxes) >= 0


def test_labels_of_rows_do_not_overlap_in_a_figure_of_their_own(make_polynomial):
    names = [f"a name of a feature that is sixty characters long, number {i:02d}" for i in range(6)]
    axes = plots.importance(make_polynomial(11, 6, 3, feature_names=names), 20)
    axes.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
    assert all(up.y0 - low.y1 > -2 for up, low in pairwise(boxes))
    assert axes.figure.get_figwidth() == 3.5
    assert min(box.x0 for box in boxes) >= 0


def test_outputs_are_chosen_by_name_or_index_and_unknown_ones_named(seven, rows):
    X = np.random.default_rng(0).normal(size=(20, 5))
    by_name, by_index = plots.beeswarm(seven, X, output="y3"), plots.beeswarm(seven, X, output=2)
    assert by_name.get_xlabel() == by_index.get_xlabel() == "contribution to y3 (logit)"
    for draw in (plots.importance, plots.heatmap, plots.interaction_network):
        with pytest.raises(UnknownTermError, match="no output 'y9'"):
            draw(seven, output="y9")


def test_a_factored_polynomial_is_sent_to_expand(network):
    pnet = n2p.polynomial_network(network, 2)
    for draw in (plots.importance, plots.heatmap, plots.interaction_network):
        with pytest.raises(InvalidInputError, match=r"poly\.expand\(\)"):
            draw(pnet)
    with pytest.raises(InvalidInputError, match="Polynomial"):
        plots.waterfall("poly.json", [1.0])


@pytest.mark.parametrize("n", [0, -1, 2.5, True, "ten"])
def test_a_number_of_terms_that_is_none_is_refused(poly, rows, n):
    for draw in (plots.importance, plots.heatmap, plots.interaction_network):
        with pytest.raises(InvalidInputError, match="positive integer"):
            draw(poly, n=n)
    with pytest.raises(InvalidInputError, match="positive integer"):
        plots.waterfall(poly, rows[0], n=n)
