"""What all tests share: seeded properties and small random networks."""

import gc
import os
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from nn2poly.network.network import Layer, Network

# The same examples in every run, and no clock: a slow machine is not a broken law.
settings.register_profile("nn2poly", derandomize=True, deadline=None)
# Of `make test-quick`: a fifth of the examples.
settings.register_profile("quick", derandomize=True, deadline=None, max_examples=20)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "nn2poly"))

# Folders whose modules share dear fixtures: one worker takes all of each, and makes these once.
TOGETHER = ("tests/cli", "tests/paper", "tests/reporting")
# What takes minutes comes first: at the end one worker would be left alone with it.
FIRST = ("tests/reporting", "tests/test_docs", "tests/paper", "tests/test_tutorials")


class FoldersTogether(LoadScopeScheduling):
    """Whole modules to one worker, as `--dist=loadscope` does, and whole folders of `TOGETHER`."""

    def __init__(self, config, log):
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid):
        folder = nodeid.partition("::")[0].rpartition("/")[0]
        return folder if folder in TOGETHER else super()._split_scope(nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Spare the garbage collector what stays to the end: a million objects, a fifth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_xdist_make_scheduler(config, log):
    """Take the scheduler above."""
    return FoldersTogether(config, log)


def pytest_collection_modifyitems(items):
    """Put the tests of `FIRST` first, in its order; the others stay as they are."""
    places = {
        id(item): place
        for item in items
        for place, name in enumerate(FIRST)
        if item.nodeid.startswith(name)
    }
    items.sort(key=lambda item: places.get(id(item), len(FIRST)))


@pytest.fixture(scope="session")
def make_network():
    """Give a maker of small random networks; the seed decides every number in them."""
    return random_network


def random_network(
    seed,
    sizes=(3, 4, 3, 1),
    activations="tanh",
    *,
    output="linear",
    spread=0.5,
    bias=0.3,
    skips=False,
    coordinates=False,
):
    """Build a network of these sizes, inputs first.

    Parameters
    ----------
    activations
        One for all hidden layers, or one per hidden layer.
    spread, bias
        Weights are normal with deviation ``spread / sqrt(n_inputs)``, biases with ``bias``.
    skips
        Feed every layer from the second on also from the input and from all but the last
        layer before it.
    coordinates
        Give the inputs a center and a scale of their own.
    """
    rng = np.random.default_rng(seed)
    hidden = [activations] * (len(sizes) - 2) if isinstance(activations, str) else activations
    functions = [*hidden, output]
    layers = [
        Layer(
            rng.normal(0.0, spread / np.sqrt(n_in), (n_in, n_out)),
            rng.normal(0.0, bias, n_out),
            function,
            {
                source: rng.normal(0.0, spread / np.sqrt(sizes[source]), (sizes[source], n_out))
                for source in range(index - 1)
                if skips
            },
        )
        for index, ((n_in, n_out), function) in enumerate(
            zip(pairwise(sizes), functions, strict=True), start=1
        )
    ]
    if not coordinates:
        return Network(layers)
    return Network(
        layers, center=rng.normal(0.0, 2.0, sizes[0]), scale=rng.uniform(0.5, 3.0, sizes[0])
    )
