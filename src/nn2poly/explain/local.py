"""The polynomial at one point: the network's own Taylor polynomial there beside the global one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.algebra.terms import Terms
from nn2poly.arguments import check_count, listed
from nn2poly.arrays import FloatArray
from nn2poly.assess.fidelity import check_pair
from nn2poly.errors import InvalidInputError
from nn2poly.explain.alignment import check_features
from nn2poly.explain.summaries import shown
from nn2poly.explain.written import check_explained, union_of_terms
from nn2poly.fit.convert import convert
from nn2poly.formula.largest import largest
from nn2poly.formula.piecewise import PiecewisePolynomial
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.term_names import output_index, term_name
from nn2poly.network.readers import read_network
from nn2poly.tables import Table


@shown()
@dataclass(frozen=True, eq=False)
class LocalComparison:
    """Two polynomials in steps from the same point, in the scale of the global one.

    Parameters
    ----------
    everywhere
        The global polynomial, rewritten around the point.
    here
        The exact Taylor polynomial of the network at the point.
    terms
        The terms that either has.
    coefficients
        Array (2, n_terms, n_outputs): global, then local.
    """

    everywhere: Polynomial
    here: Polynomial
    terms: Terms
    coefficients: FloatArray

    @property
    def difference(self) -> FloatArray:
        """Global minus local, array (n_terms, n_outputs)."""
        result: FloatArray = self.coefficients[0] - self.coefficients[1]
        return result

    def table(self, n: int = 20, *, output: int | str = 0) -> Table:
        """List the value at the point, then the n terms that are largest in either.

        Parameters
        ----------
        n
            How many.
        output
            Index or name of the output.
        """
        names = self.everywhere.output_names
        column = output_index(output, names)
        pair = self.coefficients[:, :, column]
        terms = self.terms
        size = np.where(terms.orders() == 0, np.inf, np.abs(pair).max(axis=0))
        rows = tuple(
            (
                term_name(terms[i], self.everywhere.inputs.written_names),
                len(terms[i]),
                float(pair[0, i]),
                float(pair[1, i]),
                float(pair[0, i] - pair[1, i]),
            )
            for i in largest(size, check_count(n, where="n") + 1).tolist()
        )
        return Table(
            f"The polynomial and the network around one point, output {names[column]}",
            ("term", "order", "global", "local", "difference"),
            rows,
            note="Terms in (x - x0) / scale; '1' is the value at the point itself.",
        )


def compare_local(
    model: Any,
    poly: Polynomial | PiecewisePolynomial,
    x0: npt.ArrayLike,
    *,
    max_order: int | None = None,
) -> LocalComparison:
    """Compare the global polynomial with the network's Taylor polynomial at one point.

    Where the two agree, the global polynomial is also a local explanation; where they do not,
    the network does something at this point that holds only near it.

    Parameters
    ----------
    model
        The network that ``poly`` came from.
    poly
        The global polynomial; of one with regions that of the region that the point lies in.
    x0
        Array (p,), or one row of a frame, in raw units.
    max_order
        Order of the local polynomial; default that of ``poly``, at least 1.

    Returns
    -------
    LocalComparison

    Examples
    --------
    >>> import nn2poly as n2p
    >>> net = n2p.Network([n2p.Layer([[0.5], [0.2]], [0.0], "tanh"), n2p.Layer([[1.0]], [3.0])])
    >>> compare_local(net, n2p.convert(net, 3), [0.0, 0.0]).difference.round(12).any()
    np.False_
    """
    check_explained(poly)
    order = max(poly.max_order, 1) if max_order is None else max_order
    network = read_network(model)
    check_pair(network, poly, "compare_local")
    names = poly.feature_names if network.feature_names is None else None
    local = convert(
        model,
        order,
        around=x0,
        link="softmax" if poly.outputs.link == "softmax" else None,
        feature_names=names,
        output_names=poly.output_names,
    )
    part = _at(poly, local.center)
    check_features([part, local], ["poly", "the model"])
    if poly.inputs.transforms:
        raise InvalidInputError(
            "A local polynomial has no terms of functions of columns to compare with.",
            where="poly",
            expected="columns that enter as they are",
            found=listed(
                [name for name in poly.inputs.entry_names if name not in local.feature_names]
            ),
            remedy="convert without transforms",
        )
    if np.any(poly.inputs.curved(local.center[None]) != local.center):
        raise InvalidInputError(
            "The point lies where the polynomial holds a column at its bound.",
            where="x0",
            expected="a point within the bounds of every column, as they enter",
            remedy="choose a point inside, or convert with bounded=False",
        )
    everywhere = part.rebase(local.center, part.scale)
    here = local.rebase(local.center, part.scale)
    return LocalComparison(everywhere, here, *union_of_terms([everywhere, here]))


def _at(poly: Polynomial | PiecewisePolynomial, point: FloatArray) -> Polynomial:
    """Give the polynomial that holds at a raw point (p,)."""
    if isinstance(poly, PiecewisePolynomial):
        return poly.at(point).polynomial
    return poly
