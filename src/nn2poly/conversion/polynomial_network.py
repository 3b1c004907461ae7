"""`PolynomialNetwork`: the polynomial in factored form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nn2poly.algebra.graded import FloatArray, Graded, at_degree
from nn2poly.algebra.monomials import count_terms, rank
from nn2poly.arguments import default_names
from nn2poly.cards import FidelityCard
from nn2poly.conversion.engine import Expansions, expand_layers, expand_terms, padded, predict_rays
from nn2poly.errors import UnknownTermError
from nn2poly.inputs import outside_range, warn_outside
from nn2poly.memory import check_terms
from nn2poly.network.network import Network, map_inputs
from nn2poly.polynomial.polynomial import LayerPolynomials, Polynomial
from nn2poly.polynomial.terms import output_index, parse_term
from nn2poly.tables import Table


@dataclass(frozen=True, eq=False)
class PolynomialNetwork:
    """A network whose activations are polynomials, everything truncated at order Q.

    It already *is* the polynomial: it predicts, and it gives any coefficient, without
    writing the terms out, so the number of inputs hardly matters.

    Parameters
    ----------
    network
        The network in working coordinates; a calibration may have refitted its weights.
    expansions
        One array (m + 1, h) or (m + 1, Q + 1, h) per layer: the activation in powers of the
        potential without its constant, the same for all degrees or one for each.
    max_order
        Total order Q.
    method
        How the expansions were found.
    low, high
        Arrays (p,): the range of the data that the conversion saw; predictions outside warn.
    card
        How closely it follows its network on held-out rows, when that was measured.

    Examples
    --------
    >>> import nn2poly as n2p
    >>> net = n2p.Network([n2p.Layer([[0.5], [0.2]], [0.0], "tanh"), n2p.Layer([[1.0]], [3.0])])
    >>> pnet = n2p.polynomial_network(net, 3)
    >>> round(pnet.coefficient("x1^2 x2"), 6)
    -0.05
    >>> pnet.expand().n_terms
    10
    """

    network: Network
    expansions: Expansions
    max_order: int
    method: str
    low: FloatArray | None = None
    high: FloatArray | None = None
    card: FidelityCard | None = None

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the inputs, ``x1 … xp`` when the model brought none."""
        return self.network.feature_names or default_names("x", self.network.n_features)

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return self.network.output_names or default_names("y", self.network.n_outputs)

    @property
    def n_terms(self) -> int:
        """Number of terms that `expand` would write."""
        return count_terms(self.network.n_features, self.max_order)

    def predict(self, X: Any) -> FloatArray:
        """Compute the polynomial's raw outputs by rays, without its terms.

        Returns
        -------
        array (n,) for one output, (n, n_outputs) for several
        """
        data = self.network.check_data(X)
        if self.low is not None and self.high is not None:
            warn_outside(data, self.low, self.high, self.feature_names)
        z = self.network.to_working(data)
        parts = predict_rays(self.network, self.expansions, self.max_order, z)
        raw: FloatArray = parts.sum(axis=0)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def outputs_by_order(self, X: FloatArray) -> list[FloatArray]:
        """Give the raw outputs (n, n_outputs) with the terms up to order 0, 1, …, Q.

        X is an array (n, p); rows outside the calibrated range pass without a warning.
        """
        z = self.network.to_working(X)
        parts = predict_rays(self.network, self.expansions, self.max_order, z)
        return list(np.cumsum(parts, axis=0))

    def count_outside(self, X: FloatArray) -> int:
        """Count the rows of X (n, p) outside the range that the conversion saw."""
        if self.low is None or self.high is None:
            return 0
        return int(outside_range(X, self.low, self.high).any(axis=1).sum())

    def coefficient(self, term: Any, output: int | str = 0) -> float:
        """Give one coefficient: a conversion with the term's own variables, others at zero.

        Parameters
        ----------
        term
            ``(0, 1)``, ``("rm", "lstat")``, ``"rm lstat"``, ``"rm^2"``; ``()`` or ``"1"``.
        output
            Index or name of the output.
        """
        indices = parse_term(term, self.feature_names)
        column = output_index(output, self.output_names)
        if len(indices) > self.max_order:
            raise UnknownTermError(
                "The term is of a higher order than the polynomial.",
                expected=f"order at most {self.max_order}",
                found=f"order {len(indices)}",
            )
        variables = np.unique(np.array(indices, dtype=np.intp))
        if not len(variables):
            return float(at_degree(self.expansions[-1], 0)[0, column])
        small = restrict(self.network, variables)
        # A coefficient of degree d needs no degree above d.
        blocks = expand_terms(small, self.expansions, len(indices))
        local = np.searchsorted(variables, indices)
        return float(blocks[len(indices)][rank(local, len(variables)), column])

    def top_terms(self, n: int = 10, output: int | str | None = None) -> Table:
        """List the n largest terms, as `Polynomial.top` does."""
        return self.expand().top(n, output)

    def expand(self, *, keep_layers: bool = False) -> Polynomial:
        """Write the terms out.

        Parameters
        ----------
        keep_layers
            Also keep every neuron's input and output polynomial, in ``.layers``.

        Raises
        ------
        TooManyTermsError
            When the terms would not fit in memory; nothing has been allocated then.
        """
        self._check_room(keep_layers)
        if not keep_layers:
            blocks = expand_terms(self.network, self.expansions, self.max_order)
            return self._polynomial(blocks)
        pairs = expand_layers(self.network, self.expansions, self.max_order)
        layers = tuple(
            LayerPolynomials(self._hidden(index, before), self._hidden(index, after))
            for index, (before, after) in enumerate(pairs, start=1)
        )
        full = self._polynomial(pairs[-1][1])
        return replace(full, layers=layers)

    def _polynomial(self, blocks: Graded) -> Polynomial:
        net = self.network
        return Polynomial(
            np.concatenate(padded(blocks, net.n_features, self.max_order)),
            self.max_order,
            self.feature_names,
            self.output_names,
            net.classes,
            net.link,
            net.center,
            net.scale,
            low=self.low,
            high=self.high,
            card=self.card,
        )

    def _hidden(self, index: int, blocks: Graded) -> Polynomial:
        names = [f"layer{index}_{j}" for j in range(1, blocks[0].shape[1] + 1)]
        return Polynomial(
            np.concatenate(blocks),
            len(blocks) - 1,
            self.feature_names,
            names,
            center=self.network.center,
            scale=self.network.scale,
        )

    def _check_room(self, keep_layers: bool) -> None:
        p, order = self.network.n_features, self.max_order
        widths = [layer.n_outputs for layer in self.network.layers]
        # The coefficients and their copy at the end; inner blocks (potential, output, tail
        # and a product in the making) to order Q - 1, or to Q for every neuron if kept.
        inner = count_terms(p, order if keep_layers else order - 1) * sum(widths) * 4
        n_bytes = 8 * (2 * self.n_terms * self.network.n_outputs + inner)
        check_terms(
            self.n_terms,
            n_bytes,
            what=f"A polynomial of order {order} in {p:,} inputs, written out,",
            remedy="lower max_order, or keep it in factored form: nn2poly.polynomial_network(…) "
            "predicts and gives any coefficient without the terms",
        )


def restrict(network: Network, variables: np.ndarray[Any, np.dtype[np.intp]]) -> Network:
    """Give the network of some inputs, the others held at zero in working coordinates."""
    layers = map_inputs(network, lambda matrix: matrix[variables])
    return Network(layers, center=network.center[variables], scale=network.scale[variables])
