"""`Polynomial`: the terms written out, with names, units and a link."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.algebra.graded import Blocks
from nn2poly.algebra.substitution import substitute, substitute_listed
from nn2poly.algebra.terms import Graded, Listed, Term, Terms, collect
from nn2poly.arguments import check_alone, check_count, check_order, real_array
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.cards import FidelityCard
from nn2poly.errors import InvalidInputError, UnknownTermError
from nn2poly.formula import display, predicting, ranking, storage
from nn2poly.formula.archives import is_checked_map
from nn2poly.formula.deviations import carried
from nn2poly.formula.document import damaged
from nn2poly.formula.evaluate import evaluate, term_values
from nn2poly.formula.fold import fold_terms
from nn2poly.formula.protocol import Region
from nn2poly.formula.region_tree import Leaf, Tree
from nn2poly.formula.rewriting_loss import check_rewriting
from nn2poly.formula.term_names import output_index, parse_term, term_name
from nn2poly.inputs import Inputs
from nn2poly.memory import check_terms
from nn2poly.outputs import Outputs
from nn2poly.tables import Table


@dataclass(frozen=True, eq=False, init=False)
class Polynomial:
    """An explicit polynomial in named features, one column of coefficients per output.

    The coefficients belong to the coordinates ``z = (x - center) / scale`` of its inputs; data
    always goes in as raw x. Every method gives a new object.

    Parameters
    ----------
    coefficients
        Array (n_terms, n_outputs), terms in graded lexicographic order.
    max_order
        Highest total degree Q.
    feature_names, output_names
        Names; the outputs' default is ``y`` (or ``y1 …``).
    classes, link
        For a classifier: its labels, and how raw outputs become probabilities.
    center, scale
        Arrays (p,) or numbers.
    positions
        Array (n_terms,), increasing: which terms of the graded basis are present; None for all.
    layers
        Input and output polynomials of every layer, when they were kept.
    low, high
        Arrays (p,): the range of the data that the conversion saw; predictions outside warn.
    card
        How closely it follows its network on held-out rows, when that was measured.
    terms, inputs, outputs
        `Graded` or `Listed` terms, `Inputs` and `Outputs`, in place of all these but the
        coefficients, layers and card.
    deviations
        Array (n_terms, n_outputs): standard deviation of each term's contribution on the data
        that the conversion saw, in the coordinates that it chose; None when it saw none, or when
        terms were merged since.

    Examples
    --------
    >>> poly = Polynomial([[1.0], [2.0], [0.0], [0.0], [3.0], [0.0]], 2, ["rm", "lstat"])
    >>> poly.predict([[1.0, 2.0]])
    array([9.])
    >>> poly.coefficient("rm lstat"), poly.coefficient((0, 1))
    (3.0, 3.0)
    """

    coefficients: FloatArray
    terms: Terms
    inputs: Inputs
    outputs: Outputs
    layers: tuple[LayerPolynomials, ...]
    card: FidelityCard | None
    deviations: FloatArray | None

    def __init__(
        self,
        coefficients: npt.ArrayLike,
        max_order: int | None = None,
        feature_names: Iterable[str] | None = None,
        output_names: Iterable[str] | None = None,
        classes: Iterable[Any] | None = None,
        link: str = "identity",
        center: npt.ArrayLike = 0.0,
        scale: npt.ArrayLike = 1.0,
        positions: npt.ArrayLike | None = None,
        layers: Iterable[LayerPolynomials] = (),
        low: npt.ArrayLike | None = None,
        high: npt.ArrayLike | None = None,
        card: FidelityCard | None = None,
        *,
        terms: Terms | None = None,
        inputs: Inputs | None = None,
        outputs: Outputs | None = None,
        deviations: npt.ArrayLike | None = None,
    ) -> None:
        values = _numbers(coefficients, "coefficients")
        width = values.shape[1] if values.ndim == 2 else 0
        if inputs is None:
            names = () if feature_names is None else feature_names
            inputs = Inputs.of(names, None, center, scale, low, high)
        else:
            given = (feature_names, center, scale, low, high)
            check_alone("inputs", given, (None, 0.0, 1.0, None, None))
        if terms is None:
            terms = _terms(inputs.n_features, max_order, positions)
        else:
            check_alone("terms", (max_order, positions), (None, None))
        if outputs is None:
            outputs = Outputs.of(output_names, width, classes, link)
        else:
            check_alone("outputs", (output_names, classes, link), (None, None, "identity"))
        fields = {
            "coefficients": values,
            "terms": terms,
            "inputs": inputs,
            "outputs": outputs,
            "layers": tuple(layers),
            "card": card,
            "deviations": None if deviations is None else _numbers(deviations, "deviations"),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        n, k = self.terms.ends[-1], self.outputs.count
        if self.coefficients.shape != (n, k) or not k:
            raise InvalidInputError(
                "The coefficients do not fit the terms.",
                where="coefficients",
                expected=f"shape ({n}, n_outputs)",
                found=f"shape {self.coefficients.shape}",
            )
        if self.deviations is not None and self.deviations.shape != (n, k):
            raise InvalidInputError(
                "The deviations do not fit the terms.",
                where="deviations",
                expected=f"shape {(n, k)}, that of the coefficients",
                found=f"shape {self.deviations.shape}",
            )
        if self.terms.n_features != self.inputs.n_features:
            raise InvalidInputError(
                "The terms do not fit the inputs.",
                where="terms",
                expected=f"terms of {self.inputs.n_features} features",
                found=f"{self.terms.n_features} features",
            )

    # ---- what it is made of, by the names of its parts ----

    @property
    def max_order(self) -> int:
        """Highest total order Q that terms may have."""
        return self.terms.max_order

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the p features."""
        return self.inputs.feature_names

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return self.outputs.names

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The labels of a classifier."""
        return self.outputs.classes

    @property
    def link(self) -> str:
        """How raw outputs become probabilities."""
        return self.outputs.link

    @property
    def center(self) -> FloatArray:
        """Array (p,): centres of the coordinates."""
        return self.inputs.center

    @property
    def scale(self) -> FloatArray:
        """Array (p,): scales of the coordinates."""
        return self.inputs.scale

    @property
    def low(self) -> FloatArray | None:
        """Array (p,): the lowest values that the conversion saw."""
        return self.inputs.low

    @property
    def high(self) -> FloatArray | None:
        """Array (p,): the highest values that the conversion saw."""
        return self.inputs.high

    @property
    def positions(self) -> IntArray | None:
        """Which terms of the graded basis are present, array (n_terms,); None for all."""
        return self.terms.positions() if isinstance(self.terms, Listed) else None

    @classmethod
    def from_terms(
        cls,
        terms: Iterable[Any],
        coefficients: npt.ArrayLike,
        feature_names: Sequence[str],
        **options: Any,
    ) -> Polynomial:
        """Build a polynomial from a list of terms in any order and spelling.

        Parameters
        ----------
        terms
            Index tuples, tuples of names, or strings.
        coefficients
            Array (n_terms,) or (n_terms, n_outputs), in the same order.
        feature_names
            All features, used or not.
        **options
            ``output_names``, ``classes``, ``link``, ``center``, ``scale`` …, as for
            `Polynomial`; or ``inputs``, ``outputs``.

        Examples
        --------
        >>> poly = Polynomial.from_terms(["a b", "1"], [2.0, 5.0], ["a", "b"])
        >>> list(poly.terms), poly.predict([[3.0, 4.0]])
        ([(), (0, 1)], array([29.]))
        """
        parsed = [parse_term(term, feature_names) for term in terms]
        values = real_array(coefficients, "coefficients")
        if values.ndim not in (1, 2) or len(values) != len(parsed) or not parsed:
            raise InvalidInputError(
                "Terms and coefficients do not go together.",
                where="coefficients",
                expected=f"one row for each of {len(parsed)} terms, one at least",
                found=f"shape {values.shape}",
            )
        values = values.reshape(len(parsed), -1)
        rows = [np.array([term], dtype=np.intp).reshape(1, -1) for term in parsed]
        order, width = max([1, *map(len, parsed)]), values.shape[1]
        parts = zip(rows, values[:, None, :], strict=True)
        listed_terms, summed = collect(parts, len(feature_names), width, order)
        names = None if "inputs" in options else feature_names
        return cls(summed, None, names, terms=listed_terms, **options)

    @property
    def regions(self) -> tuple[Region, ...]:
        """The one region, which is everywhere; see `PiecewisePolynomial`."""
        return (Region(0, "everywhere", {}, self),)

    @property
    def tree(self) -> Tree:
        """The tree of its one region; see `PiecewisePolynomial`."""
        return Leaf(0)

    @property
    def n_features(self) -> int:
        """Number of inputs p."""
        return self.inputs.n_features

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return int(self.coefficients.shape[1])

    @property
    def n_terms(self) -> int:
        """Number of terms, the intercept included."""
        return len(self.coefficients)

    def predict(
        self, X: Any, *, dtype: npt.DTypeLike = np.float64, batch_size: int | None = None
    ) -> FloatArray:
        """Compute the outputs: of a classifier logits (before the link), else the target.

        Parameters
        ----------
        X
            Array or data frame (n, p) in raw units; a frame is matched by column name. Or
            a stream: a data file, an Arrow dataset, a lazy frame; of a Dask collection the
            outputs come as a Dask array.
        dtype
            ``numpy.float32`` for half the time and memory, with about six digits.
        batch_size
            Rows that are worked on at a time; None for as many as stay near the cache.

        Returns
        -------
        array (n,) for one output, (n, n_outputs) for several
        """
        return predicting.predict(self, X, dtype, batch_size)

    def raw_outputs(
        self, X: FloatArray, dtype: npt.DTypeLike = np.float64, batch_size: int | None = None
    ) -> FloatArray:
        """Compute the raw outputs (n, n_outputs) of raw features (n, p), without any check."""
        z = self.inputs.to_working(X).astype(dtype, copy=False)
        return evaluate(self.terms, self.coefficients, z, batch_size)

    def outputs_by_order(self, X: FloatArray) -> list[FloatArray]:
        """Give the raw outputs (n, n_outputs) with the terms up to order 0, 1, …, Q.

        X is an array (n, p); rows outside the calibrated range pass without a warning.
        """
        parts = [self._up_to(order).raw_outputs(X) for order in range(self.max_order)]
        return [*parts, self.raw_outputs(X)]

    def count_outside(self, X: FloatArray) -> int:
        """Count the rows of X (n, p) outside the range that the conversion saw."""
        return self.inputs.count_outside(X)

    def predict_proba(self, X: Any) -> FloatArray:
        """Compute probabilities through the link: (n, n_classes), or (n, n_labels)."""
        return predicting.predict_proba(self, X)

    def predict_label(self, X: Any, *, threshold: float | None = None) -> npt.NDArray[Any]:
        """Choose the most probable class of every row: (n,), or (n, n_labels) of 0 and 1."""
        return predicting.predict_label(self, X, threshold)

    def contributions(self, X: Any) -> FloatArray:
        """Split every prediction into its terms; their sum over terms is the prediction.

        Returns
        -------
        array (n, n_terms, n_outputs)
        """
        z = self.inputs.to_working(predicting.read_rows(self.inputs, X))
        size = 8 * len(z) * self.n_terms * (self.n_outputs + 1)
        check_terms(
            self.n_terms,
            size,
            what=f"The array of contributions of every term on {len(z):,} rows",
            remedy="pass fewer rows at a time, or prune the polynomial",
        )
        result: FloatArray = term_values(self.terms, z)[:, :, None] * self.coefficients
        return result

    def coefficient(self, term: Any, output: int | str = 0) -> float:
        """Look up one coefficient.

        Parameters
        ----------
        term
            ``(0, 1)``, ``("rm", "lstat")``, ``"rm · lstat"`` (or with a space alone), ``"rm^2"``;
            ``()`` or ``"1"``.
        output
            Index or name of the output.
        """
        indices = self._parsed(term)
        column = output_index(output, self.output_names)
        try:
            return float(self.coefficients[self.terms.index(indices), column])
        except ValueError:
            raise UnknownTermError(
                f"This polynomial has no term {term_name(indices, self.inputs.entry_names)!r}.",
                expected=f"order at most {self.max_order}"
                + (f", among the {self.n_terms} terms kept" if self._is_listed else ""),
                found=f"order {len(indices)}",
                remedy="convert again with a larger max_order, or without pruning",
            ) from None

    def term_names(self) -> list[str]:
        """Spell the terms: ``1``, ``rm``, ``rm^2``, ``rm · lstat``.

        A feature that goes through a function is called by it: ``log(rm)``.
        """
        return [term_name(term, self.inputs.entry_names) for term in self.terms]

    def _parsed(self, term: Any) -> Term:
        """Read a term, its features by their names or as they enter."""
        try:
            return parse_term(term, self.feature_names)
        except UnknownTermError:
            if not self.inputs.transforms:
                raise
        try:
            return parse_term(term, self.inputs.entry_names)
        except UnknownTermError:
            return parse_term(term, self.inputs.written_names)

    def to_frame(self) -> Any:
        """Give a pandas DataFrame: term, order, and one column per output."""
        return display.all_terms(self).to_frame()

    def top(self, n: int = 10, output: int | str | None = None) -> Table:
        """List the n terms that matter most, the intercept aside.

        A polynomial that was converted with data ranks its terms by ``deviations``: how far
        each moved the output on the sample. Without, by absolute coefficient, which compares
        only in standardised inputs: see ``rebase``.

        Parameters
        ----------
        n
            How many.
        output
            Rank by one output; None ranks by all, each in units of its largest.
        """
        column = None if output is None else output_index(output, self.output_names)
        places = ranking.top_places(self, check_count(n, where="n"), column)
        return display.ranked(self, places)

    def with_threshold(self, threshold: float) -> Polynomial:
        """Give the same formula with another probability of the second class that is enough.

        Labels, reports and exports then use it; ``outputs.threshold`` holds it. The labels of
        a card were those of the former one: it is dropped, and `fidelity` measures another.
        """
        card = self.card if threshold == self.outputs.threshold else None
        return replace(self, outputs=replace(self.outputs, threshold=threshold), card=card)

    def rebase(self, center: npt.ArrayLike = 0.0, scale: npt.ArrayLike = 1.0) -> Polynomial:
        """Rewrite the same polynomial in ``(x - center) / scale``; default: raw units.

        Predictions do not change but for rounding. Where that would cost more than a millionth
        of an output's range, as high powers of a year in raw units do, it is refused. What a
        term matters stays what it was around the former centre: around another one the terms of
        a column move the output against each other, and units say nothing.

        Examples
        --------
        >>> poly = Polynomial([[0.0], [1.0]], 1, ["t"], center=20.0, scale=5.0)
        >>> poly.rebase().coefficients.ravel()
        array([-4. ,  0.2])
        """
        changed = self._rewritten(center, scale)
        check_rewriting(self, changed)
        return changed

    def _rewritten(self, center: npt.ArrayLike, scale: npt.ArrayLike) -> Polynomial:
        inputs = self.inputs.around(center, scale)
        factor, shift = inputs.scale / self.scale, (inputs.center - self.center) / self.scale
        if not self._is_listed:
            values = np.concatenate(substitute(self._blocks(), factor, shift))
            return self._with(coefficients=values, inputs=inputs, deviations=self.deviations)
        terms, values = substitute_listed(self.terms, self.coefficients, factor, shift)
        sizes = None if self.deviations is None else carried(self.terms, self.deviations, terms)
        return self._with(coefficients=values, terms=terms, inputs=inputs, deviations=sizes)

    def fold(
        self, factors: Sequence[Sequence[Any]], *, never: Sequence[tuple[Any, Any]] = ()
    ) -> Polynomial:
        """Fold features that are 0 or 1 in the polynomial's own coordinates.

        u² is u, and products of two features of one factor vanish; on data that obey this,
        predictions do not change.

        Parameters
        ----------
        factors
            Groups of features (indices or names) of which at most one is 1; a binary feature
            of its own is a group of one.
        never
            Further pairs of binary features that are never both 1: their products vanish.

        Examples
        --------
        >>> poly = Polynomial([[0.0], [3.0], [4.0]], 2, ["smoker"])
        >>> poly.fold([["smoker"]]).top(1)[0]
        ('smoker', 1, 7.0)
        """
        groups = [parse_term(tuple(factor), self.feature_names) for factor in factors]
        pairs = [(a, b) for a, b in (parse_term(pair, self.feature_names) for pair in never)]
        terms, values = fold_terms(self.terms, self.coefficients, groups, pairs)
        # On rows that do not obey it, predictions change: what a card says is no longer true.
        return self._with(coefficients=values, terms=terms, card=None)

    def truncate(self, max_order: int) -> Polynomial:
        """Drop the terms above ``max_order``."""
        return self._up_to(min(check_order(max_order), self.max_order))

    def prune(self, n_terms: int) -> Polynomial:
        """Keep the ``n_terms`` that matter most (see `top`), the intercept among them."""
        count = check_count(n_terms, where="n_terms")
        intercept = self.terms.ends[1]
        places = ranking.top_places(self, max(count - intercept, 0))
        return self.keep(np.sort(np.concatenate([np.arange(intercept), places]))[:count])

    def keep(self, places: IntArray) -> Polynomial:
        """Keep the terms at some places, which increase; what they contributed stays known."""
        kept = None if self.deviations is None else self.deviations[places]
        return self._with(
            coefficients=self.coefficients[places],
            terms=self.terms.at(places),
            card=None,
            deviations=kept,
        )

    def save(self, path: str | Path, *, key: bytes | None = None) -> Path:
        """Write a versioned file, which `nn2poly.load` reads.

        Parameters
        ----------
        path
            ``.json`` to be read by people, ``.npz`` to be compact; without an ending a folder of
            arrays, which `load` maps instead of reading: for polynomials that fill the memory.
        key
            Sign the file with these bytes, at least 16 (HMAC-SHA256): ``load(path, key=…)``
            then refuses what was not signed with them.
        """
        return storage.save(storage.pack(self), path, key=key)

    def _with(self, **changes: Any) -> Polynomial:
        return replace(self, **{"layers": (), "deviations": None, **changes})

    def _up_to(self, order: int) -> Polynomial:
        terms = self.terms.up_to(order)
        n = len(terms)
        return self._with(
            coefficients=self.coefficients[:n],
            terms=terms,
            card=None,
            deviations=None if self.deviations is None else self.deviations[:n],
        )

    @property
    def _is_listed(self) -> bool:
        return isinstance(self.terms, Listed)

    def _blocks(self) -> Blocks:
        return [self.coefficients[a:b] for a, b in pairwise(self.terms.ends)]

    def __repr__(self) -> str:
        return display.text(self)

    def _repr_html_(self) -> str:
        return display.html(self)


def _numbers(values: npt.ArrayLike, name: str) -> Any:
    """Check an array; one mapped from a folder was checked on the way and stays where it is."""
    return values if is_checked_map(values) else real_array(values, name)


def _terms(n_features: int, max_order: int | None, positions: npt.ArrayLike | None) -> Terms:
    """Make the graded basis, or the part of it at some positions."""
    basis = Graded(n_features, check_order(max_order, lowest=0))
    if positions is None:
        return basis
    places = real_array(positions, "positions", "iu")
    if not basis.holds(places):
        raise InvalidInputError(
            "The positions of the terms cannot be used.",
            where="positions",
            expected=f"increasing integers from 0 to {basis.ends[-1] - 1}",
        )
    return basis.at(places)


@dataclass(frozen=True, eq=False)
class LayerPolynomials:
    """Every neuron's polynomial before (``input``) and after (``output``) its activation."""

    input: Polynomial
    output: Polynomial


def open_mapped(path: str | Path) -> Polynomial:
    """Open a polynomial that was just written, an archive or a folder, without reading it."""
    document = storage.map_large(path)
    if not isinstance(document, storage.Document):
        raise damaged("it holds regions")
    return from_document(document)


def from_document(document: storage.Document) -> Polynomial:
    """Put a polynomial together from what a file holds."""
    return Polynomial(
        document.coefficients,
        terms=document.terms,
        inputs=document.inputs,
        outputs=document.outputs,
        layers=[LayerPolynomials(from_document(a), from_document(b)) for a, b in document.layers],
        card=document.card,
        deviations=document.deviations,
    )
