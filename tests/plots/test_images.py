"""Every plot against a stored image.

``NN2POLY_WRITE_BASELINES=1 pytest tests/plots/test_images.py`` writes the images of
``tests/plots/baseline/`` anew, after a change of the looks that was meant. Look at them before
they are stored. Pixels are compared in blocks, so that another version of the font's renderer
passes, while a bar of another length, sign or place does not.
"""

from __future__ import annotations

import os
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

import nn2poly as n2p
from nn2poly import plots
from nn2poly.errors import RadiusWarning

BASELINE = Path(__file__).parent / "baseline"
DPI = 60
# Side of a block of pixels, and the largest difference between images (root mean square, 0–1).
BLOCK, TOLERANCE = 4, 0.03

pytestmark = pytest.mark.filterwarnings(f"ignore::{RadiusWarning.__module__}.RadiusWarning")


def two_columns(draw):
    figure = Figure(figsize=(7, 3), layout="constrained")
    return draw(figure.add_subplot())


@pytest.fixture(scope="session")
def gallery(
    poly, seven, awkward, ensemble, network, rows, tracker, make_polynomial, rentals, hours
):
    """Map the name of each image to the function that draws it."""
    wide = make_polynomial(8, 54, 2)
    huge = make_polynomial(9, 500, 2)
    one = make_polynomial(10, 1, 3)
    many = np.random.default_rng(0).normal(size=(3000, 4)) * poly.scale + poly.center
    taylor = n2p.convert(network, 3, feature_names=poly.feature_names)
    line = np.linspace(-2, 2, 50)[:, None]
    return {
        "importance": lambda: plots.importance(poly, X=rows),
        "importance_two_columns": lambda: two_columns(lambda ax: plots.importance(poly, ax=ax)),
        "importance_seven": lambda: plots.importance(seven, 6),
        "importance_ensemble": lambda: plots.importance(ensemble, 10),
        "importance_awkward": lambda: plots.importance(awkward),
        "importance_one_feature": lambda: plots.importance(one),
        "importance_500_features": lambda: plots.importance(huge),
        "diagonal": lambda: plots.diagonal(network, taylor, rows),
        "diagonal_many": lambda: plots.diagonal(network, taylor, many),
        "potentials_taylor": lambda: plots.potentials(network, rows, method="taylor"),
        "potentials_local": lambda: plots.potentials(
            network, rows, method="local", around=rows[0], layer=1
        ),
        "heatmap": lambda: plots.heatmap(poly),
        "heatmap_54_features": lambda: plots.heatmap(wide),
        "heatmap_awkward": lambda: plots.heatmap(awkward),
        "interaction_network": lambda: plots.interaction_network(awkward),
        "interaction_network_54_features": lambda: plots.interaction_network(wide, n=25),
        "interaction_surface": lambda: plots.interaction_surface(poly, "age", "income", X=rows),
        "effects": lambda: plots.effects(poly, "age", X=1.2 * rows),
        "effects_panels": lambda: plots.effects(poly, ["income", "smoker"], X=rows),
        "effects_centre": lambda: plots.effects(awkward, 1),
        "waterfall": lambda: plots.waterfall(poly, rows[3]),
        "waterfall_awkward": lambda: plots.waterfall(awkward, [1.0, -0.5, 2.0, 0.3], n=5),
        "beeswarm": lambda: plots.beeswarm(poly, rows),
        "beeswarm_one_feature": lambda: plots.beeswarm(one, line),
        "path": lambda: plots.path(n2p.sparse_path(network, taylor, rows, 12)),
        "path_orders": lambda: plots.path([(1, 5, 0.82), (2, 15, 0.97), (3, 35, 0.995)]),
        "regions": lambda: plots.regions(rentals),
        "region_map": lambda: plots.region_map(rentals, "hour", "weather", X=hours),
        "effects_regions": lambda: plots.effects(rentals, ["hour", "weather"], X=hours),
        "importance_regions": lambda: plots.importance(rentals, X=hours),
        "beeswarm_regions": lambda: plots.beeswarm(rentals, hours),
        "waterfall_regions": lambda: plots.waterfall(rentals, hours[3]),
        "waterfall_columns": lambda: plots.waterfall(rentals, hours[3], X=hours),
        "training": lambda: plots.training(tracker, n=6),
        "training_two_columns": lambda: two_columns(
            lambda ax: plots.training(tracker, n=6, output="loss", ax=ax)
        ),
    }


NAMES = (
    *("importance", "importance_two_columns", "importance_seven", "importance_ensemble"),
    *("importance_awkward", "importance_one_feature", "importance_500_features"),
    *("diagonal", "diagonal_many", "potentials_taylor", "potentials_local"),
    *("heatmap", "heatmap_54_features", "heatmap_awkward"),
    *("interaction_network", "interaction_network_54_features", "interaction_surface"),
    *("effects", "effects_panels", "effects_centre", "waterfall", "waterfall_awkward"),
    *("beeswarm", "beeswarm_one_feature", "path", "path_orders"),
    *("regions", "region_map", "effects_regions", "importance_regions", "beeswarm_regions"),
    *("waterfall_regions", "waterfall_columns", "training", "training_two_columns"),
)


def save(draw, path):
    """Draw with the font that matplotlib brings along, whatever the machine has."""
    with matplotlib.rc_context({"font.family": "DejaVu Sans"}):
        np.ravel(draw())[0].figure.savefig(path, dpi=DPI)


def difference(first, second):
    """Give the root mean square difference of two images, block by block."""
    images = [imread(path)[..., :3] for path in (first, second)]
    if images[0].shape != images[1].shape:
        return np.inf
    height, width = (side // BLOCK * BLOCK for side in images[0].shape[:2])
    blocks = [
        image[:height, :width]
        .reshape(height // BLOCK, BLOCK, width // BLOCK, BLOCK, 3)
        .mean(axis=(1, 3))
        for image in images
    ]
    return float(np.sqrt(np.mean((blocks[0] - blocks[1]) ** 2)))


@pytest.mark.parametrize("name", NAMES)
def test_the_plot_looks_like_its_baseline(gallery, name, tmp_path):
    expected = BASELINE / f"{name}.png"
    if os.environ.get("NN2POLY_WRITE_BASELINES"):
        BASELINE.mkdir(exist_ok=True)
        save(gallery[name], expected)
    found = tmp_path / f"{name}.png"
    save(gallery[name], found)
    assert difference(expected, found) < TOLERANCE, f"compare {expected} with {found}"


def test_every_public_plot_has_a_baseline_and_every_baseline_a_plot(gallery):
    assert set(gallery) == set(NAMES) == {path.stem for path in BASELINE.glob("*.png")}
    assert all(any(name.startswith(plot) for name in NAMES) for plot in plots.__all__)


def test_a_changed_sign_is_seen(poly, rows, tmp_path):
    values = poly.coefficients.copy()
    largest = 1 + int(np.abs(values[1:]).argmax())
    values[largest] *= -1
    changed = n2p.Polynomial(values, 3, poly.feature_names, center=poly.center, scale=poly.scale)
    save(lambda: plots.importance(changed, X=rows), tmp_path / "changed.png")
    assert difference(BASELINE / "importance.png", tmp_path / "changed.png") > TOLERANCE


def test_another_value_of_one_feature_is_seen(poly, rows, tmp_path):
    other = rows[3] + [0.0, 5.0, 0.0, 0.0]
    save(lambda: plots.waterfall(poly, other), tmp_path / "changed.png")
    assert difference(BASELINE / "waterfall.png", tmp_path / "changed.png") > TOLERANCE
