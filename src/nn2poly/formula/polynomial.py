"""`Polynomial`: the terms written out, with names, units and a link."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.algebra.coordinates import substitute
from nn2poly.algebra.graded import (
    Graded,
)
from nn2poly.algebra.monomials import (
    count_terms,
)
from nn2poly.arguments import (
    check_choice,
    check_count,
    check_names,
    check_order,
    per_feature,
    real_array,
)
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.cards import FidelityCard
from nn2poly.errors import InvalidInputError, NN2PolyError, StorageError, UnknownTermError
from nn2poly.formula import display, ranking, sparse, storage
from nn2poly.formula.archives import is_checked_map
from nn2poly.formula.evaluate import (
    check_batch,
    check_precision,
    evaluate_blocks,
    evaluate_terms,
    term_values,
)
from nn2poly.formula.fold import fold_terms
from nn2poly.formula.terms import Terms, offsets, output_index, parse_term, term_name
from nn2poly.inputs import as_matrix, matching_names, outside_range, warn_outside
from nn2poly.links import LINKS, labels, probabilities
from nn2poly.memory import check_terms
from nn2poly.streams import is_stream, over_rows
from nn2poly.tables import Table

# A sparse polynomial is evaluated in the full basis when that has at most so many times its terms.
DENSE_BELOW = 8


@dataclass(frozen=True, eq=False, init=False)
class Polynomial:
    """An explicit polynomial in named features, one column of coefficients per output.

    The coefficients belong to ``z = (x - center) / scale``; data always goes in as raw x.
    Every method gives a new object.

    Parameters
    ----------
    coefficients
        Array (n_terms, n_outputs), terms in graded lexicographic order.
    max_order
        Highest total degree Q.
    feature_names, output_names
        Names; default ``x1 … xp`` and ``y`` (or ``y1 …``). Without feature names the number
        of features must be given by ``center``.
    classes, link
        Of a classifier: its labels, and how raw outputs become probabilities.
    center, scale
        Arrays (p,) or numbers.
    positions
        Array (n_terms,), increasing: which terms of the full basis are present; None for all.
    layers
        Input and output polynomials of every layer, when they were kept.
    low, high
        Arrays (p,): the range of the data that the conversion saw; predictions outside warn.
    card
        How closely it follows its network on held-out rows, when that was measured.

    Examples
    --------
    >>> poly = Polynomial([[1.0], [2.0], [0.0], [0.0], [3.0], [0.0]], 2, ["rm", "lstat"])
    >>> poly.predict([[1.0, 2.0]])
    array([9.])
    >>> poly.coefficient("rm lstat"), poly.coefficient((0, 1))
    (3.0, 3.0)
    """

    coefficients: FloatArray
    max_order: int
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...]
    classes: tuple[Any, ...] | None
    link: str
    center: FloatArray
    scale: FloatArray
    positions: IntArray | None
    layers: tuple[LayerPolynomials, ...]
    low: FloatArray | None
    high: FloatArray | None
    card: FidelityCard | None

    def __init__(
        self,
        coefficients: npt.ArrayLike,
        max_order: int,
        feature_names: Iterable[str],
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
    ) -> None:
        names = check_names(feature_names, kind="feature", default_prefix="x")
        # A polynomial mapped from a folder was checked on the way and stays where it is.
        mapped = is_checked_map(coefficients)
        values: Any = coefficients if mapped else real_array(coefficients, "coefficients")
        width = values.shape[1] if values.ndim == 2 else 0
        fields = {
            "coefficients": values,
            "max_order": check_order(max_order, lowest=0),
            "feature_names": names,
            "output_names": check_names(output_names, width, kind="output", default_prefix="y"),
            "classes": None if classes is None else tuple(classes),
            "link": check_choice(link, LINKS, name="link"),
            "center": per_feature(center, len(names), "center"),
            "scale": per_feature(scale, len(names), "scale", positive=True),
            "positions": None if positions is None else real_array(positions, "positions", "iu"),
            "layers": tuple(layers),
            "low": None if low is None else per_feature(low, len(names), "low"),
            "high": None if high is None else per_feature(high, len(names), "high"),
            "card": card,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        self._check_terms(width)

    def _check_terms(self, width: int) -> None:
        basis = count_terms(self.n_features, self.max_order)
        kept = self.positions
        if kept is not None:
            inside = kept.ndim == 1 and (not kept.size or (kept[0] >= 0 and kept[-1] < basis))
            if not inside or not np.all(np.diff(kept) > 0):
                raise InvalidInputError(
                    "The positions of the terms cannot be used.",
                    where="positions",
                    expected=f"increasing integers from 0 to {basis - 1}",
                )
        n_terms = basis if kept is None else len(kept)
        if not width or len(self.coefficients) != n_terms:
            raise InvalidInputError(
                "The coefficients do not fit the terms.",
                where="coefficients",
                expected=f"shape ({n_terms}, n_outputs)",
                found=f"shape {self.coefficients.shape}",
            )

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
            ``output_names``, ``classes``, ``link``, ``center``, ``scale``.

        Examples
        --------
        >>> poly = Polynomial.from_terms(["a b", "1"], [2.0, 5.0], ["a", "b"])
        >>> list(poly.terms), poly.predict([[3.0, 4.0]])
        ([(), (0, 1)], array([29.]))
        """
        parsed = [parse_term(term, feature_names) for term in terms]
        order = max([1, *map(len, parsed)])
        basis = Terms(len(feature_names), order)
        if count_terms(len(feature_names), order) > np.iinfo(np.intp).max:
            raise InvalidInputError(
                f"A term of order {order} in {len(feature_names)} features cannot be numbered.",
                where="terms",
                remedy="leave out the features that no term uses",
            )
        values = real_array(coefficients, "coefficients")
        if values.ndim not in (1, 2) or len(values) != len(parsed) or not parsed:
            raise InvalidInputError(
                "Terms and coefficients do not go together.",
                where="coefficients",
                expected=f"one row for each of {len(parsed)} terms, one at least",
                found=f"shape {values.shape}",
            )
        values = values.reshape(len(parsed), -1)
        positions, rows = sparse.sum_duplicates([basis.index(t) for t in parsed], values)
        return cls(rows, order, feature_names, positions=positions, **options)

    @property
    def terms(self) -> Terms:
        """The terms as tuples of 0-based feature indices, made when they are asked for."""
        return Terms(self.n_features, self.max_order, self.positions)

    @property
    def n_features(self) -> int:
        """Number of inputs p."""
        return len(self.feature_names)

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
        """Compute the raw outputs (before the link).

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
        kind = check_precision(dtype)
        rows = None if batch_size is None else check_batch(batch_size)
        if is_stream(X):
            work = partial(self.predict, dtype=kind, batch_size=rows)
            one = np.zeros(self.n_outputs, kind)
            return _over(work, X, one[0] if self.n_outputs == 1 else one)
        raw = self._evaluate(self._matrix(X), kind, rows)
        return raw[:, 0] if self.n_outputs == 1 else raw

    def outputs_by_order(self, X: FloatArray) -> list[FloatArray]:
        """Give the raw outputs (n, n_outputs) with the terms up to order 0, 1, …, Q.

        X is an array (n, p); rows outside the calibrated range pass without a warning.
        """
        parts = [self._up_to(order)._evaluate(X) for order in range(self.max_order)]
        return [*parts, self._evaluate(X)]

    def count_outside(self, X: FloatArray) -> int:
        """Count the rows of X (n, p) outside the range that the conversion saw."""
        if self.low is None or self.high is None:
            return 0
        return int(outside_range(X, self.low, self.high).any(axis=1).sum())

    def predict_proba(self, X: Any) -> FloatArray:
        """Compute probabilities through the link: (n, n_classes), or (n, n_labels)."""
        if is_stream(X):
            one = probabilities(np.zeros((1, self.n_outputs)), self.link)
            return _over(self.predict_proba, X, one[0])
        return probabilities(self._raw(X), self.link)

    def predict_label(self, X: Any) -> npt.NDArray[Any]:
        """Choose the most probable class of every row: (n,), or (n, n_labels) of 0 and 1."""
        if is_stream(X):
            one = labels(np.zeros((1, self.n_outputs)), self.link, self.classes)
            return _over(self.predict_label, X, one[0])
        return labels(self._raw(X), self.link, self.classes)

    def contributions(self, X: Any) -> FloatArray:
        """Split every prediction into its terms; their sum over terms is the prediction.

        Returns
        -------
        array (n, n_terms, n_outputs)
        """
        z = (self._matrix(X) - self.center) / self.scale
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
            ``(0, 1)``, ``("rm", "lstat")``, ``"rm lstat"``, ``"rm^2"``; ``()`` or ``"1"``.
        output
            Index or name of the output.
        """
        indices = parse_term(term, self.feature_names)
        column = output_index(output, self.output_names)
        try:
            return float(self.coefficients[self.terms.index(indices), column])
        except ValueError:
            raise UnknownTermError(
                f"This polynomial has no term {term_name(indices, self.feature_names)!r}.",
                expected=f"order at most {self.max_order}"
                + ("" if self.positions is None else f", among the {self.n_terms} terms kept"),
                found=f"order {len(indices)}",
                remedy="convert again with a larger max_order, or without pruning",
            ) from None

    def term_names(self) -> list[str]:
        """Spell the terms as scikit-learn does: ``1``, ``rm``, ``rm^2``, ``rm lstat``."""
        return [term_name(term, self.feature_names) for term in self.terms]

    def to_frame(self) -> Any:
        """Give a pandas DataFrame: term, order, and one column per output."""
        return display.all_terms(self).to_frame()

    def top(self, n: int = 10, output: int | str | None = None) -> Table:
        """List the n largest terms by absolute coefficient, the intercept aside.

        Coefficients of different terms compare only in standardised inputs: see ``rebase``.

        Parameters
        ----------
        n
            How many.
        output
            Rank by one output; None ranks by the norm over all outputs.
        """
        column = None if output is None else output_index(output, self.output_names)
        intercept = int(self.n_terms > 0 and (self.positions is None or self.positions[0] == 0))
        pieces = ranking.row_pieces(self.coefficients, intercept)
        places, rows = ranking.largest_rows(pieces, check_count(n, where="n"), column)
        return ranking.ranked_table(
            self.terms,
            (places + intercept, rows),
            self.feature_names,
            self.output_names,
            title=f"{len(places)} largest of {self.n_terms:,} terms",
            note=display.units(self),
        )

    def rebase(self, center: npt.ArrayLike = 0.0, scale: npt.ArrayLike = 1.0) -> Polynomial:
        """Rewrite the same polynomial in ``(x - center) / scale``; default: raw units.

        Exact: predictions do not change.

        Examples
        --------
        >>> poly = Polynomial([[0.0], [1.0]], 1, ["t"], center=20.0, scale=5.0)
        >>> poly.rebase().coefficients.ravel()
        array([-4. ,  0.2])
        """
        new_center = per_feature(center, self.n_features, "center")
        new_scale = per_feature(scale, self.n_features, "scale", positive=True)
        factor, shift = new_scale / self.scale, (new_center - self.center) / self.scale
        if self.positions is None:
            values = np.concatenate(substitute(self._blocks(), factor, shift))
            return self._with(coefficients=values, center=new_center, scale=new_scale)
        positions, values = sparse.substitute_terms(self.terms, self.coefficients, factor, shift)
        return self._with(
            coefficients=values, positions=positions, center=new_center, scale=new_scale
        )

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
        positions, values = fold_terms(self.terms, self.coefficients, groups, pairs)
        return self._with(coefficients=values, positions=positions)

    def truncate(self, max_order: int) -> Polynomial:
        """Drop the terms above ``max_order``."""
        return self._up_to(min(check_order(max_order), self.max_order))

    def prune(self, n_terms: int) -> Polynomial:
        """Keep the ``n_terms`` largest terms (norm over outputs), the intercept among them."""
        count = check_count(n_terms, where="n_terms")
        intercept = int(self.n_terms > 0 and (self.positions is None or self.positions[0] == 0))
        pieces = ranking.row_pieces(self.coefficients, intercept)
        places, _ = ranking.largest_rows(pieces, max(count - intercept, 0))
        kept = np.sort(np.concatenate([np.arange(intercept), places + intercept]))[:count]
        positions = kept if self.positions is None else self.positions[kept]
        return self._with(coefficients=self.coefficients[kept], positions=positions, card=None)

    def save(self, path: str | Path) -> Path:
        """Write a versioned file, which `nn2poly.load` reads.

        Parameters
        ----------
        path
            ``.json`` to be read by people, ``.npz`` to be compact; without an ending a folder of
            arrays, which `load` maps instead of reading: for polynomials that fill the memory.
        """
        return storage.save(storage.pack(self), path)

    def _with(self, **changes: Any) -> Polynomial:
        return replace(self, **{"layers": (), **changes})

    def _up_to(self, order: int) -> Polynomial:
        total = count_terms(self.n_features, order)
        kept = self.positions
        n = total if kept is None else int(np.searchsorted(kept, total))
        return self._with(
            coefficients=self.coefficients[:n],
            max_order=order,
            positions=None if kept is None else kept[:n],
            card=None,
        )

    def _blocks(self, coefficients: FloatArray | None = None) -> Graded:
        values = self.coefficients if coefficients is None else coefficients
        return [values[a:b] for a, b in pairwise(offsets(self.n_features, self.max_order))]

    def _matrix(self, X: Any) -> FloatArray:
        names = matching_names(X, self.feature_names)
        data = as_matrix(X, feature_names=names, n_features=self.n_features, where="X")
        if self.low is not None and self.high is not None:
            warn_outside(data, self.low, self.high, self.feature_names)
        return data

    def _evaluate(
        self, X: FloatArray, dtype: npt.DTypeLike = np.float64, batch_size: int | None = None
    ) -> FloatArray:
        z = ((X - self.center) / self.scale).astype(dtype, copy=False)
        if self.positions is None:
            return evaluate_blocks(self._blocks(), z, batch_size)
        basis = count_terms(self.n_features, self.max_order)
        if basis > DENSE_BELOW * self.n_terms:
            return evaluate_terms(self.terms, self.coefficients, z, batch_size)
        # With many of the terms present, the nested evaluation of all is the faster one.
        full = np.zeros((basis, self.n_outputs))
        full[self.positions] = self.coefficients
        return evaluate_blocks(self._blocks(full), z, batch_size)

    def _raw(self, X: Any) -> FloatArray:
        return self._evaluate(self._matrix(X))

    def __repr__(self) -> str:
        return display.text(self)

    def _repr_html_(self) -> str:
        return display.html(self)


def _over(work: Callable[[Any], npt.NDArray[Any]], X: Any, one: Any) -> npt.NDArray[Any]:
    """Do the work on a stream, batch by batch; ``one`` is what a row gives."""
    result: npt.NDArray[Any] = over_rows(work, X, np.shape(one), np.asarray(one).dtype)
    return result


@dataclass(frozen=True, eq=False)
class LayerPolynomials:
    """Every neuron's polynomial before (``input``) and after (``output``) its activation."""

    input: Polynomial
    output: Polynomial


def load(path: str | Path) -> Polynomial:
    """Read a polynomial that `Polynomial.save` wrote.

    Parameters
    ----------
    path
        A ``.json`` or ``.npz`` file, or a folder.

    Returns
    -------
    Polynomial
        The coefficients of a folder stay on disk: what is used of them is read when it is used.

    Raises
    ------
    StorageError
        When the file is not one, was cut short or changed, or is of a newer version.

    Examples
    --------
    >>> import tempfile
    >>> poly = Polynomial([[1.0], [2.0]], 1, ["rm"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load(poly.save(Path(folder) / "poly.json")).coefficient("rm")
    2.0
    """
    document = storage.load(path)
    try:
        return _unpack(document)
    except (NN2PolyError, TypeError, ValueError) as error:
        raise StorageError(
            "This file does not describe a polynomial.", where=str(path), found=str(error)
        ) from error


def open_mapped(path: str | Path) -> Polynomial:
    """Open a polynomial that was just written, an archive or a folder, without reading it."""
    return _unpack(storage.map_large(path))


def _unpack(document: storage.Document) -> Polynomial:
    fields = document.fields
    layers = [LayerPolynomials(_unpack(a), _unpack(b)) for a, b in document.layers]
    if fields["coefficients"] is not None and not fields["coefficients"].size:
        # A list without rows has lost its number of columns.
        fields = {**fields, "coefficients": np.zeros((0, len(fields["output_names"])))}
    return Polynomial(**fields, layers=layers)
