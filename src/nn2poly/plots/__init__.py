"""Figures of a polynomial, for a paper or a notebook; matplotlib draws them.

Every function takes ``ax=`` (or makes a figure of its own), returns the Axes, and leaves
pyplot and its settings alone. ``ax.figure.savefig("figure.pdf")`` writes a figure; a notebook
shows what a function returns.

>>> from nn2poly import Polynomial, plots
>>> poly = Polynomial([[1.0], [2.0], [-3.0]], 1, ["rm", "lstat"], ["price"])
>>> ax = plots.importance(poly)
>>> [label.get_text() for label in ax.get_yticklabels()]
['lstat', 'rm']
"""

from nn2poly.plots.bars import importance
from nn2poly.plots.comparison import diagonal
from nn2poly.plots.contributions import waterfall
from nn2poly.plots.feature_effects import effects
from nn2poly.plots.histories import path, training
from nn2poly.plots.layers import potentials
from nn2poly.plots.pair_plots import heatmap, interaction_network
from nn2poly.plots.region_maps import region_map
from nn2poly.plots.region_trees import regions
from nn2poly.plots.surfaces import interaction_surface
from nn2poly.plots.swarms import beeswarm

__all__ = [
    "beeswarm",
    "diagonal",
    "effects",
    "heatmap",
    "importance",
    "interaction_network",
    "interaction_surface",
    "path",
    "potentials",
    "region_map",
    "regions",
    "training",
    "waterfall",
]


def __dir__() -> list[str]:
    return sorted(__all__)
