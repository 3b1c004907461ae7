"""The algebra of a whole network: by monomial blocks (terms) or by rays (values).

An *expansion* is one array (m + 1, h) per layer: the coefficients of each neuron's
activation in powers of its potential without the potential's constant; or (m + 1, Q + 1, h)
when they differ from degree to degree. Whatever method filled it, what follows is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from nn2poly.algebra.blocks import BlockProduct
from nn2poly.algebra.contraction import Block, Products, Share, Whole
from nn2poly.algebra.divisors import divisor_powers
from nn2poly.algebra.graded import Blocks, Powers, at_degree, combine, compose
from nn2poly.algebra.monomials import rank, unrank
from nn2poly.algebra.rays import ray_powers
from nn2poly.algebra.symmetric import Cubes, Squares
from nn2poly.algebra.terms import offsets
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.factored.correction import Correction
from nn2poly.formula.ranking import largest_rows
from nn2poly.network.network import Network, map_inputs

Expansions = tuple[FloatArray, ...]
# Numbers (rows × neurons) of one batch of rays: its Q + 1 parts stay near the cache.
BATCH_SIZE = 2**15


def term_blocks(
    network: Network,
    expansions: Expansions,
    max_order: int,
    correction: Correction | None = None,
) -> list[Block]:
    """Prepare the terms: one block per degree, d = 0 … max_order, to be read in slices.

    Up to order 3 the linear parts of the potentials are enough. Above, inner layers are
    written out to degree Q - 1 and the top degree comes by contraction.
    """
    low = max_order <= 3
    blocks = (_blocks_of_forms if low else _blocks_by_contraction)(network, expansions, max_order)
    if correction is not None:
        for degree in range(min(max_order, correction.terms.max_order) + 1):
            whole = np.concatenate(list(blocks[degree].slices())) + correction.block(degree)
            blocks[degree] = Whole(whole, network.n_features, degree)
    return blocks


def _blocks_by_contraction(network: Network, expansions: Expansions, max_order: int) -> list[Block]:
    """Prepare the terms from the inner layers, written out to degree Q - 1."""
    p, product = network.n_features, BlockProduct(network.n_features)
    downstream = _downstream(network, expansions, max_order)
    outputs: list[Blocks] = [_identity(p, max_order - 1)]
    shares = []
    for index, expansion in enumerate(expansions, start=1):
        v = affine(network, index, outputs)
        below = product.powers(v, len(expansion) - 1, max_order - 1)
        outputs.append(combine(expansion, below, max_order - 1))
        top = at_degree(expansion, max_order)
        tail = combine(top[1:], below, max_order - 1)
        shares.append(Share(v, tail, _row(top, 2), downstream[index]))
    inner = padded(outputs[-1], p, max_order - 1)
    return [
        *(Whole(values, p, degree) for degree, values in enumerate(inner)),
        Products(shares, p, max_order, network.n_outputs),
    ]


def _blocks_of_forms(network: Network, expansions: Expansions, max_order: int) -> list[Block]:
    """Prepare the terms up to order 3, from the linear parts of the potentials."""
    p, forms = network.n_features, linear_forms(network, expansions)
    linear = _row(at_degree(expansions[-1], 1), 1) * forms[-1]
    blocks: list[Block] = [Whole(at_degree(expansions[-1], 0)[:1], p, 0), Whole(linear, p, 1)]
    if max_order >= 2:
        through = _downstream(network, expansions, 2)[1:]
        factors = [_row(at_degree(expansion, 2), 2) for expansion in expansions]
        weights = [a[:, None] * m for a, m in zip(factors, through, strict=True)]
        blocks.append(Squares(np.concatenate(forms, axis=1), np.concatenate(weights)))
    if max_order >= 3:
        cubic = _cubic_forms(network, expansions, forms)
        blocks.append(Cubes(np.concatenate(forms, axis=1), np.concatenate(cubic, axis=2)))
    return blocks


def linear_forms(network: Network, expansions: Expansions) -> list[FloatArray]:
    """Give the linear part of every layer's potentials: arrays (p, h_l)."""
    outputs: list[FloatArray | None] = [None]
    forms = []
    for index, expansion in enumerate(expansions, start=1):
        total: FloatArray = np.zeros((network.n_features, network.layers[index - 1].n_outputs))
        for source, matrix in network.sources(index):
            below = outputs[source]
            total = total + (matrix if below is None else below @ matrix)
        forms.append(total)
        outputs.append(_row(at_degree(expansion, 1), 1) * total)
    return forms


def _cubic_forms(
    network: Network, expansions: Expansions, forms: list[FloatArray]
) -> list[FloatArray]:
    """Sweep backwards: the linear form ℓ that multiplies each neuron's v_1² in degree 3.

    The cubic part of a layer's output is a_1 v_3 + 2 a_2 v_1 v_2 + a_3 v_1³, the quadratic part
    a_1 v_2 + a_2 v_1². So what multiplies v_2 on its way to an output is a linear form, and it
    passes from layer to layer by the transposed weights.

    Returns
    -------
    list of arrays (n_outputs, p, h_l)
    """
    through = _downstream(network, expansions, 3)
    of_output: list[FloatArray | float] = [0.0] * (len(forms) + 1)
    result = []
    for index in range(len(forms), 0, -1):
        v, beyond = forms[index - 1], through[index].T[:, None, :]
        high, low = (at_degree(expansions[index - 1], degree) for degree in (3, 2))
        arriving = of_output[index]
        result.append(_row(low, 2) * arriving + _row(high, 3) * beyond * v)
        of_potential = _row(low, 1) * arriving + 2.0 * _row(high, 2) * beyond * v
        for source, matrix in network.sources(index):
            if source > 0:
                of_output[source] = of_output[source] + of_potential @ matrix.T
    return result[::-1]


def expand_layers(
    network: Network, expansions: Expansions, max_order: int
) -> list[tuple[Blocks, Blocks]]:
    """Write out every neuron's polynomial before and after its activation, all degrees.

    Returns
    -------
    list of (input, output)
        Degree blocks (N_d, h_l), as many degrees as each can have.
    """
    powers = BlockProduct(network.n_features).powers
    inputs = _identity(network.n_features, max_order)
    return list(walk(network, expansions, inputs, max_order, powers))


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
    out = np.zeros((max_order + 1, len(z), network.n_outputs))
    step = ray_rows(network)
    for begin in range(0, len(z), step):
        rows = z[begin : begin + step]
        for degree, part in enumerate(ray_parts(network, expansions, max_order, rows)):
            out[degree, begin : begin + step] = part
    return out


def ray_rows(network: Network) -> int:
    """Choose the rows of a batch so that their Q + 1 parts stay near the cache."""
    widest = max(layer.n_outputs for layer in network.layers)
    return max(64, BATCH_SIZE // widest)


def ray_parts(network: Network, expansions: Expansions, max_order: int, z: FloatArray) -> Blocks:
    """Give the homogeneous parts (n, n_outputs) of one batch (n, p), in its own precision.

    The first has one row; degrees that the network cannot reach are left out.
    """
    inputs = [np.zeros((1, z.shape[1]), dtype=z.dtype), z]
    same = tuple(expansion.astype(z.dtype, copy=False) for expansion in expansions)
    return _last(network, same, inputs, max_order, ray_powers)


def coefficients_of(
    network: Network, expansions: Expansions, exponents: tuple[int, ...]
) -> FloatArray:
    """Compute the coefficient of one monomial from those of its divisors.

    Parameters
    ----------
    network
        A network of the monomial's variables alone.
    exponents
        Their powers, each at least 1.

    Returns
    -------
    array (n_outputs,)
    """
    order = sum(exponents)

    def powers(v: Blocks, highest: int, _: int) -> list[Blocks]:
        return divisor_powers(v, highest, exponents)

    blocks = _last(network, expansions, _identity(network.n_features, 1), order, powers)
    return blocks[order][0] if order < len(blocks) else np.zeros(network.n_outputs)


def largest_terms(
    network: Network,
    expansions: Expansions,
    correction: Correction | None,
    degrees: Sequence[int],
    n: int,
    column: int | None,
) -> tuple[IntArray, FloatArray]:
    """Find the n largest terms of consecutive degrees.

    Parameters
    ----------
    degrees
        At least 1 each.
    column
        The output to rank by; None for the norm over all.

    Returns
    -------
    arrays (n,) and (n, n_outputs)
        Positions in the graded basis, largest first, and coefficients.
    """
    blocks = term_blocks(network, expansions, degrees[-1], correction)
    pieces = (piece for degree in degrees for piece in blocks[degree].slices())
    places, rows = largest_rows(pieces, n, column)
    return places + offsets(network.n_features, degrees[0])[degrees[0]], rows


def terms_with(
    network: Network,
    expansions: Expansions,
    correction: Correction | None,
    feature: int,
    degrees: Sequence[int],
    n: int,
    column: int | None,
) -> tuple[IntArray, FloatArray]:
    """Find the n largest of the terms that hold one feature; see `largest_terms`.

    With the feature first, its terms are the first slice of every degree: x_f times the
    monomials of one degree less.
    """
    p = network.n_features
    moved = np.array([feature, *(i for i in range(p) if i != feature)], dtype=np.intp)
    more = None if correction is None else correction.of(moved)
    blocks = term_blocks(restrict(network, moved), expansions, degrees[-1], more)
    pieces = (piece for degree in degrees for piece in blocks[degree].slices(0, 1))
    places, rows = largest_rows(pieces, n, column)
    begin = np.array(offsets(p, degrees[-1]))
    places = places + begin[degrees[0] - 1]
    positions = np.empty(len(places), dtype=np.intp)
    for degree in degrees:
        here = (places >= begin[degree - 1]) & (places < begin[degree])
        others = moved[unrank(places[here] - begin[degree - 1], p, degree - 1)]
        whole = np.column_stack([np.full(len(others), feature, dtype=np.intp), others])
        positions[here] = begin[degree] + rank(np.sort(whole, axis=1), p)
    return positions, rows


def restrict(network: Network, variables: IntArray) -> Network:
    """Give the network of some inputs, the others held at zero in working coordinates."""
    layers = map_inputs(network, lambda matrix: matrix[variables])
    return Network(layers, inputs=network.inputs.select(variables.tolist()))


def affine(network: Network, index: int, outputs: Sequence[Blocks]) -> Blocks:
    """Feed layer ``index`` (1-based): the graded potential from the graded outputs so far."""
    sources = network.sources(index)
    length = max(len(outputs[source]) for source, _ in sources)
    result: Blocks = []
    for degree in range(length):
        parts = [_through(outputs[s][degree], m) for s, m in sources if degree < len(outputs[s])]
        result.append(sum(parts[1:], start=parts[0]))
    result[0] = result[0] + network.layers[index - 1].bias
    return result


def _through(part: FloatArray, matrix: FloatArray) -> FloatArray:
    """Multiply in the precision of the part."""
    result: FloatArray = part @ matrix.astype(part.dtype, copy=False)
    return result


def walk(
    network: Network, expansions: Expansions, inputs: Blocks, max_order: int, powers: Powers
) -> Iterator[tuple[Blocks, Blocks]]:
    """Walk the layers: each one's graded potential and output."""
    outputs = [inputs]
    for index, expansion in enumerate(expansions, start=1):
        potential = affine(network, index, outputs)
        outputs.append(compose(potential, expansion, max_order, powers))
        yield potential, outputs[-1]


def _last(
    network: Network, expansions: Expansions, inputs: Blocks, max_order: int, powers: Powers
) -> Blocks:
    """Walk the layers to the outputs."""
    *_, (_, outputs) = walk(network, expansions, inputs, max_order, powers)
    return outputs


def _identity(p: int, max_order: int) -> Blocks:
    """Write the inputs as polynomials of themselves."""
    constant = [np.zeros((1, p))]
    return [*constant, np.eye(p)] if max_order >= 1 else constant


def padded(blocks: Blocks, p: int, max_order: int) -> Blocks:
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
