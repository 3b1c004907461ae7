"""`PolynomialNetwork`: the polynomial in factored form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.algebra.graded import Blocks, at_degree
from nn2poly.algebra.monomials import count_degree, count_terms
from nn2poly.algebra.terms import Graded
from nn2poly.arguments import check_count, check_order
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.cards import FidelityCard
from nn2poly.errors import InvalidInputError, UnknownTermError
from nn2poly.factored.correction import Correction
from nn2poly.factored.engine import (
    Expansions,
    coefficients_of,
    expand_layers,
    largest_terms,
    padded,
    predict_rays,
    ray_parts,
    ray_rows,
    restrict,
    term_blocks,
    terms_with,
)
from nn2poly.formula import storage
from nn2poly.formula.document import Document, Stream
from nn2poly.formula.evaluate import check_batch, check_precision
from nn2poly.formula.legend import unit_text
from nn2poly.formula.polynomial import LayerPolynomials, Polynomial, open_mapped
from nn2poly.formula.predicting import warn_not_finite
from nn2poly.formula.ranking import ranked_table
from nn2poly.formula.term_names import output_index, parse_term
from nn2poly.inputs import Inputs
from nn2poly.memory import check_terms
from nn2poly.network.network import Network
from nn2poly.outputs import Outputs
from nn2poly.progress import Report, progress_reporter, reported
from nn2poly.streams import is_stream, over_rows
from nn2poly.tables import Table

# From so many terms on, an expansion in memory reports its progress: below, it takes seconds.
REPORTED_FROM = 1_000_000
REMEDY = (
    "lower max_order, write the terms to disk with out=, or keep the polynomial in factored "
    "form: nn2poly.polynomial_network(…) predicts and gives any coefficient without the terms"
)


@dataclass(frozen=True, eq=False)
class PolynomialNetwork:
    """A network whose activations are polynomials, everything truncated at order Q.

    It already *is* the polynomial: it predicts, and it gives any coefficient, without
    writing the terms out, so the number of inputs hardly matters.

    Parameters
    ----------
    network
        The network in working coordinates; a calibration may have refitted its weights. Its
        inputs know the range of the data that the conversion saw.
    expansions
        One array (m + 1, h) or (m + 1, Q + 1, h) per layer: the activation in powers of the
        potential without its constant, the same for all degrees or one for each.
    max_order
        Total order Q.
    method
        How the expansions were found.
    card
        How closely it follows its network on held-out rows, when that was measured.
    correction
        A polynomial in working coordinates that is added to the outputs: what the layers of a
        calibration left of the network, fitted to the sample.

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
    card: FidelityCard | None = None
    correction: Correction | None = None

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the inputs, ``x1 … xp`` when the model brought none."""
        return self.network.inputs.feature_names

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return self.network.outputs.names

    @property
    def inputs(self) -> Inputs:
        """What goes in."""
        return self.network.inputs

    @property
    def outputs(self) -> Outputs:
        """What comes out."""
        return self.network.outputs

    @property
    def low(self) -> FloatArray | None:
        """Array (p,): the lowest values that the conversion saw."""
        return self.inputs.low

    @property
    def high(self) -> FloatArray | None:
        """Array (p,): the highest values that the conversion saw."""
        return self.inputs.high

    @property
    def n_terms(self) -> int:
        """Number of terms that `expand` would write."""
        return count_terms(self.network.n_features, self.max_order)

    def predict(
        self, X: Any, *, dtype: npt.DTypeLike = np.float64, batch_size: int | None = None
    ) -> FloatArray:
        """Compute the polynomial's outputs by rays, without its terms, as `Polynomial.predict`.

        Parameters
        ----------
        X
            Array or data frame (n, p) in raw units, or a stream, as in `Polynomial.predict`.
        dtype
            ``numpy.float32`` for half the time and memory, with about six digits.
        batch_size
            Rows that are worked on at a time; None for as many as stay near the cache.

        Returns
        -------
        array (n,) for one output, (n, n_outputs) for several
        """
        kind = check_precision(dtype)
        step = ray_rows(self.network) if batch_size is None else check_batch(batch_size)
        if is_stream(X):
            shape = () if self.network.n_outputs == 1 else (self.network.n_outputs,)
            work = partial(self.predict, dtype=kind, batch_size=step)
            result: FloatArray = over_rows(work, X, shape, kind)
            return result
        data = self.network.check_data(X)
        self.network.inputs.warn_outside(data)
        raw = np.empty((len(data), self.network.n_outputs), dtype=kind)
        with np.errstate(over="ignore", invalid="ignore"):  # a warning in words follows
            for begin in range(0, len(data), step):
                rows = self.network.to_working(data[begin : begin + step]).astype(kind, copy=False)
                parts = ray_parts(self.network, self.expansions, self.max_order, rows)
                raw[begin : begin + step] = sum(parts[1:], start=parts[0])
                if self.correction is not None:
                    raw[begin : begin + step] += self.correction.values(rows)
        found = self.network.outputs.predictions(raw)
        warn_not_finite(found)
        return found[:, 0] if found.shape[1] == 1 else found

    def outputs_by_order(self, X: FloatArray) -> list[FloatArray]:
        """Give the raw outputs (n, n_outputs) with the terms up to order 0, 1, …, Q.

        X is an array (n, p); rows outside the calibrated range pass without a warning.
        """
        z = self.network.to_working(X)
        parts = predict_rays(self.network, self.expansions, self.max_order, z)
        if self.correction is not None:
            parts = parts + self.correction.parts(z, self.max_order)
        return list(np.cumsum(parts, axis=0))

    def count_outside(self, X: FloatArray) -> int:
        """Count the rows of X (n, p) outside the range that the conversion saw."""
        return self.network.inputs.count_outside(X)

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
        variables, exponents = np.unique(np.array(indices, dtype=np.intp), return_counts=True)
        if len(variables):
            small = restrict(self.network, variables)
            found = coefficients_of(small, self.expansions, tuple(exponents.tolist()))
        else:
            found = at_degree(self.expansions[-1], 0)[0]
        if self.correction is not None:
            found = found + self.correction.coefficient(indices)
        return float(found[column])

    def top_terms(
        self, n: int = 10, *, order: int | None = None, output: int | str | None = None
    ) -> Table:
        """List the n largest terms, the intercept aside, without keeping the others.

        All coefficients are computed, slice by slice, and compared in the working coordinates
        ``(x - center) / scale``. Memory does not grow with the number of terms.

        Parameters
        ----------
        n
            How many.
        order
            Only terms of this order; None for all.
        output
            Rank by one output; None ranks by the norm over all outputs.

        Examples
        --------
        >>> import nn2poly as n2p
        >>> net = n2p.Network([n2p.Layer(np.eye(3), None, "sin"), n2p.Layer([[1.0], [3], [2]])])
        >>> n2p.polynomial_network(net, 3).top_terms(1, order=1)[0]
        ('x2', 1, 3.0)
        """
        count, degrees = check_count(n, where="n"), self._degrees(order)
        column = None if output is None else output_index(output, self.output_names)
        self._check_room("The largest terms", degrees[-1], 0)
        found = largest_terms(*self._polynomial(), degrees, count, column)
        return self._ranked(found, f"{self.n_terms:,} terms")

    def interactions_of(
        self,
        feature: int | str,
        *,
        order: int | None = None,
        output: int | str | None = None,
        n: int | None = None,
    ) -> Table:
        """List the terms that hold one feature, largest first.

        There are as many as a polynomial of order Q - 1 has; the others are not computed.

        Parameters
        ----------
        feature
            Name or index.
        order
            Only terms of this order; None for all.
        output
            Rank by one output; None ranks by the norm over all outputs.
        n
            How many; None for all.

        Examples
        --------
        >>> import nn2poly as n2p
        >>> net = n2p.Network([n2p.Layer([[1.0], [2.0]], None, "sin"), n2p.Layer([[6.0]])])
        >>> for row in n2p.polynomial_network(net, 3).interactions_of("x2", order=3): print(row)
        ('x1 · x2^2', 3, -12.0)
        ('x2^3', 3, -8.0)
        ('x1^2 · x2', 3, -6.0)
        """
        (chosen,) = parse_term((feature,), self.feature_names)
        p, degrees = self.network.n_features, self._degrees(order)
        column = None if output is None else output_index(output, self.output_names)
        total = sum(count_degree(p, degree - 1) for degree in degrees)
        count = total if n is None else check_count(n, where="n")
        self._check_room(f"The terms with one of {p:,} inputs", degrees[-1], total)
        found = terms_with(*self._polynomial(), chosen, degrees, count, column)
        return self._ranked(found, f"{total:,} terms with {self.feature_names[chosen]}")

    def _polynomial(self) -> tuple[Network, Expansions, Correction | None]:
        """Give all that the terms come from."""
        return self.network, self.expansions, self.correction

    def _degrees(self, order: int | None) -> list[int]:
        """List the degrees that are wanted, without the intercept."""
        if order is None:
            return list(range(1, self.max_order + 1))
        if check_order(order) > self.max_order:
            raise UnknownTermError(
                "There are no terms of this order.",
                where="order",
                expected=f"order at most {self.max_order}",
                found=f"order {order}",
            )
        return [order]

    def _ranked(self, found: tuple[IntArray, FloatArray], what: str) -> Table:
        return ranked_table(
            Graded(self.network.n_features, self.max_order),
            found,
            self.network.inputs,
            self.output_names,
            title=f"{len(found[0])} largest of {what}",
            note=f"coefficients {unit_text(self.network.inputs)}",
        )

    def expand(
        self,
        *,
        out: str | Path | None = None,
        progress: bool | Report = False,
        keep_layers: bool = False,
    ) -> Polynomial:
        """Write the terms out.

        Parameters
        ----------
        out
            Write them to disk while they are computed: a ``.npz`` file or, without an ending, a
            folder. The polynomial that is returned reads from there what it needs.
        progress
            True to show on standard error how far it is; or a function that takes each line.
        keep_layers
            Also keep every neuron's input and output polynomial, in ``.layers``.

        Raises
        ------
        TooManyTermsError
            When the terms would not fit in memory; nothing has been allocated then.
        StorageError
            When ``out`` cannot be written; nothing is left there then.
        """
        report = progress_reporter(progress)
        if keep_layers and out is not None:
            raise InvalidInputError(
                "The polynomials of the layers are kept in memory.",
                where="keep_layers",
                remedy="leave out= away, or keep_layers",
            )
        if out is not None:
            return self._written(out, report)
        if keep_layers:
            return self._with_layers()
        size = self.n_terms * self.network.n_outputs
        self._check_room("A polynomial", self.max_order, size + size // 8)
        values = np.empty((self.n_terms, self.network.n_outputs))
        begin = 0
        for piece in self._pieces(report if self.n_terms >= REPORTED_FROM else _silent):
            values[begin : begin + len(piece)] = piece
            begin += len(piece)
        values.setflags(write=False)
        return Polynomial(values, **self._fields())

    def _pieces(self, report: Report) -> Iterator[FloatArray]:
        network, expansions, correction = self._polynomial()
        blocks = term_blocks(network, expansions, self.max_order, correction)
        pieces = (piece for block in blocks for piece in block.slices())
        return reported(pieces, self.n_terms, report)

    def _written(self, out: str | Path, report: Report) -> Polynomial:
        self._check_room("A polynomial", self.max_order, 0)
        shape = (self.n_terms, self.network.n_outputs)
        stream = Stream(shape, lambda: map(_finite, self._pieces(report)))
        document = Document(coefficients=stream, **self._fields())
        storage.check_room(document, out)
        storage.save(document, out)
        return open_mapped(out)

    def _with_layers(self) -> Polynomial:
        widths = sum(layer.n_outputs for layer in self.network.layers)
        self._check_room("Every neuron's polynomial", self.max_order, 4 * self.n_terms * widths)
        pairs = expand_layers(self.network, self.expansions, self.max_order)
        blocks = padded(pairs[-1][1], self.network.n_features, self.max_order)
        if self.correction is not None:
            blocks = self.correction.added_to(blocks)
            pairs[-1] = pairs[-1][0], blocks
        layers = tuple(
            LayerPolynomials(self._hidden(index, before), self._hidden(index, after))
            for index, (before, after) in enumerate(pairs, start=1)
        )
        return Polynomial(np.concatenate(blocks), **self._fields(), layers=layers)

    def _fields(self) -> dict[str, Any]:
        """Give what a polynomial holds besides its coefficients."""
        return {
            "terms": Graded(self.network.n_features, self.max_order),
            "inputs": self.network.inputs,
            "outputs": self.network.outputs,
            "card": self.card,
        }

    def _hidden(self, index: int, blocks: Blocks) -> Polynomial:
        names = [f"layer{index}_{j}" for j in range(1, blocks[0].shape[1] + 1)]
        return Polynomial(
            np.concatenate(blocks),
            terms=Graded(self.network.n_features, len(blocks) - 1),
            inputs=self.network.inputs.seen(None, None),
            outputs=Outputs.of(names, len(names)),
        )

    def _check_room(self, what: str, order: int, kept: int) -> None:
        """Refuse what would not fit in memory: ``kept`` numbers, and what the work needs.

        Up to order 3 that is the linear forms of the neurons and a few slices; above, the inner
        blocks to order Q - 1 (potential, output, tail, and a product in the making).
        """
        p, n_outputs = self.network.n_features, self.network.n_outputs
        widths = sum(layer.n_outputs for layer in self.network.layers)
        work = 6 * count_degree(p, order - 1) * n_outputs + 4 * p * widths * (1 + n_outputs)
        if order > 3:
            work = 5 * count_terms(p, order - 1) * widths
        check_terms(
            count_terms(p, order),
            8 * (kept + work),
            what=f"{what} of order {order} in {p:,} inputs, written out,",
            remedy=REMEDY,
        )


def _finite(piece: FloatArray) -> FloatArray:
    if not np.all(np.isfinite(piece)):
        raise InvalidInputError(
            "The coefficients cannot be used.",
            where="coefficients",
            expected="finite real numbers",
            found="NaN or infinite values",
        )
    return piece


def _silent(_: str) -> None:
    """Report nothing."""
