"""The algebra of a whole network: by monomial blocks (terms) or by rays (values).

An *expansion* is one array (m + 1, h) per layer: the coefficients of each neuron's
activation in powers of its potential without the potential's constant; or (m + 1, Q + 1, h)
when they differ from degree to degree. Whatever method filled it, what follows is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from nn2poly.algebra.blocks import BlockProduct
from nn2poly.algebra.contraction import Share, contract_top
from nn2poly.algebra.graded import FloatArray, Graded, Product, at_degree, combine, compose, powers
from nn2poly.algebra.rays import RayProduct
from nn2poly.network.network import Network

Expansions = tuple[FloatArray, ...]
# Numbers (rows × neurons) of one batch of rays: its Q + 1 parts stay near the cache.
BATCH_SIZE = 2**15


def expand_terms(network: Network, expansions: Expansions, max_order: int) -> Graded:
    """Write the terms out, inner layers to degree Q - 1 and the top degree by contraction.

    Returns
    -------
    list of arrays (N_d, n_outputs), d = 0 … max_order
    """
    p, product = network.n_features, BlockProduct(network.n_features)
    downstream = _downstream(network, expansions, max_order)
    outputs: list[Graded] = [_identity(p, max_order - 1)]
    shares = []
    for index, expansion in enumerate(expansions, start=1):
        v = affine(network, index, outputs)
        below = powers(v, len(expansion) - 1, max_order - 1, product)
        outputs.append(combine(expansion, below, max_order - 1))
        top = at_degree(expansion, max_order)
        tail = combine(top[1:], below, max_order - 1)
        shares.append(Share(v, tail, _row(top, 2), downstream[index]))
    highest = contract_top(shares, p, max_order, network.n_outputs)
    if max_order == 1:
        highest += downstream[0]
    return [*padded(outputs[-1], p, max_order - 1), highest]


def expand_layers(
    network: Network, expansions: Expansions, max_order: int
) -> list[tuple[Graded, Graded]]:
    """Write out every neuron's polynomial before and after its activation, all degrees.

    Returns
    -------
    list of (input, output)
        Degree blocks (N_d, h_l), as many degrees as each can have.
    """
    product = BlockProduct(network.n_features)
    inputs = _identity(network.n_features, max_order)
    return list(walk(network, expansions, inputs, max_order, product))


def predict_rays(
    network: Network, expansions: Expansions, max_order: int, z: FloatArray
) -> FloatArray:
    """Evaluate the truncated polynomial network on rows in working coordinates.

    Parameters
    ----------
    z
        Array (n, p).

    Returns
    -------
    array (max_order + 1, n, n_outputs)
        The values of the homogeneous parts; their sum is the prediction.
    """
    widest = max(layer.n_outputs for layer in network.layers)
    step = max(64, BATCH_SIZE // widest)
    out = np.zeros((max_order + 1, len(z), network.n_outputs))
    for begin in range(0, len(z), step):
        rows = z[begin : begin + step]
        inputs = [np.zeros((1, z.shape[1])), rows]
        *_, (_, parts) = walk(network, expansions, inputs, max_order, RayProduct(len(rows)))
        for degree, part in enumerate(parts):
            out[degree, begin : begin + step] = part
    return out


def affine(network: Network, index: int, outputs: Sequence[Graded]) -> Graded:
    """Feed layer ``index`` (1-based): the graded potential from the graded outputs so far."""
    sources = network.sources(index)
    length = max(len(outputs[source]) for source, _ in sources)
    result: Graded = []
    for degree in range(length):
        parts = [outputs[s][degree] @ m for s, m in sources if degree < len(outputs[s])]
        result.append(sum(parts[1:], start=parts[0]))
    result[0] = result[0] + network.layers[index - 1].bias
    return result


def walk(
    network: Network, expansions: Expansions, inputs: Graded, max_order: int, product: Product
) -> Iterator[tuple[Graded, Graded]]:
    """Walk the layers: each one's graded potential and output."""
    outputs = [inputs]
    for index, expansion in enumerate(expansions, start=1):
        potential = affine(network, index, outputs)
        outputs.append(compose(potential, expansion, max_order, product))
        yield potential, outputs[-1]


def _identity(p: int, max_order: int) -> Graded:
    """Write the inputs as polynomials of themselves."""
    constant = [np.zeros((1, p))]
    return [*constant, np.eye(p)] if max_order >= 1 else constant


def padded(blocks: Graded, p: int, max_order: int) -> Graded:
    """Fill up degrees that a network of low order cannot reach with zeros."""
    product, width = BlockProduct(p), blocks[0].shape[1]
    missing = range(len(blocks), max_order + 1)
    return [*blocks, *(product.empty(degree, width) for degree in missing)]


def _row(expansion: FloatArray, m: int) -> FloatArray:
    """Give the coefficients of the m-th power, zero where the expansion stops before."""
    row: FloatArray = expansion[m] if m < len(expansion) else np.zeros(expansion.shape[1])
    return row


def _downstream(network: Network, expansions: Expansions, max_order: int) -> list[FloatArray]:
    """Sweep backwards: the linear map from each source's top block to the outputs'.

    Returns
    -------
    list of arrays (h_s, n_outputs), s = 0 (the input) … number of layers
    """
    widths = [network.n_features, *(layer.n_outputs for layer in network.layers)]
    maps = [np.zeros((width, network.n_outputs)) for width in widths]
    maps[-1] = np.eye(network.n_outputs)
    for index in range(len(expansions), 0, -1):
        slope = _row(at_degree(expansions[index - 1], max_order), 1)
        through = slope[:, None] * maps[index]
        for source, matrix in network.sources(index):
            maps[source] = maps[source] + matrix @ through
    return maps
