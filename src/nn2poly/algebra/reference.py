"""The paper's own route from weights to coefficients: slow, and easy to trust.

Each coefficient is a sum over the partitions of its monomial (Lemma III.1), layer after layer
(Algorithm 2). The engine reaches the same numbers with far less work and is tested against this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from math import comb
from typing import Literal, NamedTuple, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nn2poly.algebra.partitions import (
    Monomial,
    count_arrangements,
    partitions_of,
    satisfies_conditions,
)
from nn2poly.errors import InvalidInputError, InvalidNetworkError

__all__ = ["ExpandedTerms", "LayerTerms", "compose_by_partitions", "convert_by_partitions"]

Array: TypeAlias = NDArray[np.float64]


class ExpandedTerms(NamedTuple):
    """Polynomials written out over the same terms.

    Attributes
    ----------
    terms
        Monomials in graded lexicographic order: ``(), (0,), (1,), …, (0, 0), (0, 1), …``.
    coefficients
        Shape (n_terms, n_polynomials).

    Examples
    --------
    The two polynomials 1 + 3x and 2 + 4x:

    >>> terms, coefficients = ExpandedTerms(((), (0,)), np.array([[1.0, 2.0], [3.0, 4.0]]))
    """

    terms: tuple[Monomial, ...]
    coefficients: Array


class LayerTerms(NamedTuple):
    """The polynomials of a layer, before and after its activation.

    Attributes
    ----------
    input
        One polynomial per neuron: its potential.
    output
        One polynomial per neuron: its value. The same object as `input` for a linear layer.

    Examples
    --------
    >>> potential = ExpandedTerms(((), (0,)), np.array([[1.0], [3.0]]))
    >>> LayerTerms(input=potential, output=potential).output is potential
    True
    """

    input: ExpandedTerms
    output: ExpandedTerms


def compose_by_partitions(
    inner: Mapping[Monomial, ArrayLike],
    taylor: ArrayLike,
    max_order: int,
    *,
    center: float = 0.0,
) -> dict[Monomial, Array]:
    """Apply a Taylor polynomial to the polynomials of h neurons (Lemma III.1).

    The coefficient of a monomial t in Σ_n g_n P^n, for an inner polynomial P of order Q, is

        Σ_n g_n Σ_{n⃗ ∈ π(t, Q, n)} n! / (n_0! n_1! …) Π_k β_k^{n_k},

    where k = 0 is the intercept: it joins a product without changing its monomial, so a partition
    of t into r parts is completed by n_0 = n - r intercepts.

    Parameters
    ----------
    inner
        Coefficients of each monomial, shape (h,) each; an absent monomial has coefficient 0.
    taylor
        The g_n = g^(n)(center) / n!, shape (q + 1,), or (q + 1, h) for one series per neuron.
    max_order
        Highest order to compute.
    center
        Where the Taylor series is taken.

    Returns
    -------
    dict
        Coefficients, shape (h,), of all monomials in the inner variables up to order
        min(Q q, max_order), in graded lexicographic order.

    Raises
    ------
    InvalidInputError
        If there is no monomial or no Taylor coefficient, if their shapes disagree, or if a monomial
        is not a non-decreasing tuple of indices.

    Examples
    --------
    (1 + 2x)² = 1 + 4x + 4x²:

    >>> square = compose_by_partitions({(): [1.0], (0,): [2.0]}, [0.0, 0.0, 1.0], max_order=2)
    >>> {term: float(value[0]) for term, value in square.items()}
    {(): 1.0, (0,): 4.0, (0, 0): 4.0}
    """
    taylor = np.atleast_1d(np.asarray(taylor, dtype=np.float64))
    beta = {term: np.asarray(value, dtype=np.float64) for term, value in inner.items()}
    _check_composition(beta, taylor)
    zero = np.zeros_like(next(iter(beta.values())))
    inner_order = max(map(len, beta))
    n_variables = max((max(term) + 1 for term in beta if term), default=0)
    order = min(inner_order * (len(taylor) - 1), max_order)
    beta = {term: beta.get(term, zero) for term in _graded_terms(n_variables, inner_order)}
    power_sums = _sum_powers(taylor, beta[()] - center)
    return {
        term: _sum_partitions(term, beta, power_sums, inner_order)
        for term in _graded_terms(n_variables, order)
    }


def _sum_powers(taylor: Array, intercept: Array) -> Array:
    """Sum over n everything that depends on a partition only through its number of parts r.

    The multinomial n! / (n_0! n_1! …) is C(n, r) · r! / (n_1! …) with n_0 = n - r, which leaves
    Σ_{n ≥ r} g_n C(n, r) β_0^{n - r} in row r. Shapes: (q + 1[, h]) and (h,) give (q + 1, h).
    """
    orders = range(len(taylor))
    rows = [sum(taylor[n] * comb(n, r) * intercept ** (n - r) for n in orders[r:]) for r in orders]
    return np.stack(rows)


def _sum_partitions(
    term: Monomial, beta: Mapping[Monomial, Array], power_sums: Array, inner_order: int
) -> Array:
    """Sum the products of inner coefficients over the allowed partitions of a term: (h,)."""
    total: Array = np.zeros(power_sums.shape[1])
    taylor_order = len(power_sums) - 1
    for partition in partitions_of(term):
        if satisfies_conditions(partition, taylor_order=taylor_order, inner_order=inner_order):
            product = count_arrangements(partition) * power_sums[len(partition)]
            for part in partition:
                product *= beta[part]
            total += product
    return total


@overload
def convert_by_partitions(
    weights: Sequence[ArrayLike],
    taylor: Sequence[ArrayLike | None],
    max_order: int,
    *,
    centers: Sequence[float] | None = None,
    keep_layers: Literal[False] = False,
) -> ExpandedTerms: ...


@overload
def convert_by_partitions(
    weights: Sequence[ArrayLike],
    taylor: Sequence[ArrayLike | None],
    max_order: int,
    *,
    centers: Sequence[float] | None = None,
    keep_layers: Literal[True],
) -> list[LayerTerms]: ...


def convert_by_partitions(
    weights: Sequence[ArrayLike],
    taylor: Sequence[ArrayLike | None],
    max_order: int,
    *,
    centers: Sequence[float] | None = None,
    keep_layers: bool = False,
) -> ExpandedTerms | list[LayerTerms]:
    """Convert a feed-forward network to polynomials by the paper's Algorithm 2.

    Parameters
    ----------
    weights
        One matrix per layer, shape (1 + n_inputs, n_outputs), the bias in row 0.
    taylor
        One per layer: the Taylor coefficients of its activation, shape (q + 1,) or
        (q + 1, n_outputs), or None if it is linear.
    max_order
        Highest order of the polynomials; layer l has order min(q_1 … q_l, max_order).
    centers
        Where each layer's Taylor series is taken; 0 by default, ignored for a linear layer.
    keep_layers
        Return the polynomials of every neuron of every layer.

    Returns
    -------
    ExpandedTerms or list of LayerTerms
        The pair (terms, coefficients) of the network's outputs, coefficients of shape
        (n_terms, n_outputs). With `keep_layers`, one pair (input, output) of these per layer.

    Raises
    ------
    InvalidInputError
        If `max_order` is below 1 or the layers of `taylor` or `centers` are not those of `weights`.
    InvalidNetworkError
        If the shapes of the weights do not chain.

    Examples
    --------
    The network 5 + 2 (x0 + x1)², whose hidden activation is the square:

    >>> hidden, output = [[0.0], [1.0], [1.0]], [[5.0], [2.0]]
    >>> terms, coefficients = convert_by_partitions([hidden, output], [[0, 0, 1], None], 2)
    >>> terms
    ((), (0,), (1,), (0, 0), (0, 1), (1, 1))
    >>> coefficients.ravel().tolist()
    [5.0, 0.0, 0.0, 2.0, 4.0, 2.0]
    """
    matrices = [np.asarray(matrix, dtype=np.float64) for matrix in weights]
    centers = [0.0] * len(matrices) if centers is None else centers
    _check_conversion(matrices, taylor, centers, max_order)
    kept: list[LayerTerms] = []
    for layer in _walk_layers(matrices, taylor, centers, max_order):
        kept = [*kept, layer] if keep_layers else [layer]
    return kept if keep_layers else kept[-1].output


def _walk_layers(
    weights: Sequence[Array],
    taylor: Sequence[ArrayLike | None],
    centers: Sequence[float],
    max_order: int,
) -> Iterator[LayerTerms]:
    """Yield the polynomials of each layer in turn, needing only those of the layer before."""
    n_inputs = len(weights[0]) - 1
    variables = np.eye(n_inputs + 1)[:, 1:]  # each input is a polynomial: its own variable
    values = ExpandedTerms(_graded_terms(n_inputs, 1), variables)
    for matrix, series, center in zip(weights, taylor, centers, strict=True):
        potentials = ExpandedTerms(values.terms, _combine(values.coefficients, matrix))
        values = potentials if series is None else _activate(potentials, series, max_order, center)
        yield LayerTerms(potentials, values)


def _combine(coefficients: Array, matrix: Array) -> Array:
    """Take linear combinations of polynomials, the constants of which are in row 0."""
    combined: Array = coefficients @ matrix[1:]
    combined[0] += matrix[0]
    return combined


def _activate(
    potentials: ExpandedTerms, taylor: ArrayLike, max_order: int, center: float
) -> ExpandedTerms:
    """Apply an activation's Taylor polynomial to each neuron's polynomial."""
    inner = dict(zip(potentials.terms, potentials.coefficients, strict=True))
    outer = compose_by_partitions(inner, taylor, max_order, center=center)
    return ExpandedTerms(tuple(outer), np.stack(list(outer.values())))


def _graded_terms(n_variables: int, order: int) -> tuple[Monomial, ...]:
    """List all monomials up to an order: by degree, then lexicographically."""
    return tuple(
        term
        for degree in range(order + 1)
        for term in combinations_with_replacement(range(n_variables), degree)
    )


def _check_composition(beta: Mapping[Monomial, Array], taylor: Array) -> None:
    """Refuse polynomials without coefficients, or not of the same h neurons."""
    shapes = {value.shape for value in beta.values()}
    one_width = len(shapes) == 1 and all(len(shape) == 1 for shape in shapes)
    if not one_width or not len(taylor) or taylor.shape[1:] not in {(), *shapes}:
        raise InvalidInputError(
            "The polynomials to compose do not fit together.",
            where="compose_by_partitions",
            expected="inner coefficients of one shape (h,), Taylor ones (q + 1,) or (q + 1, h)",
            found=f"inner coefficients {sorted(shapes)}, Taylor ones {taylor.shape}",
        )
    for term in beta:
        if list(term) != sorted(term) or min(term, default=0) < 0:
            raise InvalidInputError(
                "A key is not a monomial.",
                where="compose_by_partitions",
                expected="a non-decreasing tuple of variable indices, 0-based",
                found=str(term),
            )


def _check_conversion(
    weights: Sequence[Array],
    taylor: Sequence[ArrayLike | None],
    centers: Sequence[float],
    max_order: int,
) -> None:
    """Refuse arguments that do not describe a network and an order, before any work."""
    if max_order < 1:
        raise InvalidInputError(
            "The order is too low.", where="max_order", expected="at least 1", found=str(max_order)
        )
    if not len(weights) == len(taylor) == len(centers) > 0:
        raise InvalidInputError(
            "The layers do not match.",
            where="convert_by_partitions",
            expected="one weight matrix, Taylor series (or None) and centre per layer",
            found=f"{len(weights)} matrices, {len(taylor)} series, {len(centers)} centres",
        )
    for layer, matrix in enumerate(weights):
        n_inputs = len(weights[0]) - 1 if layer == 0 else weights[layer - 1].shape[-1]
        if matrix.ndim != 2 or len(matrix) != n_inputs + 1:
            raise InvalidNetworkError(
                "The weights do not chain.",
                where=f"layer {layer}",
                expected=f"a matrix with {n_inputs + 1} rows: the bias, then one per input",
                found=f"shape {matrix.shape}",
                remedy="Put the bias in row 0 and one row per output of the layer before below it.",
            )
