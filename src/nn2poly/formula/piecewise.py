"""`PiecewisePolynomial`: a few regions of the data, each with a polynomial of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.arguments import check_order
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.cards import FidelityCard
from nn2poly.errors import InvalidInputError
from nn2poly.formula import piecewise_display, predicting, storage
from nn2poly.formula.evaluate import term_values
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.protocol import Region
from nn2poly.formula.region_tree import Tree, check_tree, conditions, region_of, rule
from nn2poly.inputs import Inputs
from nn2poly.memory import check_terms
from nn2poly.outputs import Outputs
from nn2poly.tables import Table


@dataclass(frozen=True, eq=False, repr=False)
class PiecewisePolynomial:
    """A small tree over the columns, and a polynomial for each of its leaves.

    Splits are on raw values, also where a column enters the algebra through bounds. Every method
    gives a new object.

    Parameters
    ----------
    tree
        `Split` and `Leaf` of `nn2poly.formula.region_tree`; leaf k leads to polynomial k.
    polynomials
        One per region, all of the same inputs (columns, coordinates, ranges) and outputs.
    n_rows
        Rows of the sample in each region; None if unknown.
    r2
        How closely each polynomial follows the network in its region; None where unknown.
    card
        How closely the whole follows its network on held-out rows, when that was measured.

    Examples
    --------
    >>> from nn2poly.formula.region_tree import Leaf, Split
    >>> night = Polynomial([[20.0], [1.0]], 1, ["hour"])
    >>> day = Polynomial([[150.0], [4.0]], 1, ["hour"])
    >>> tree = Split(0, 6.5, left=Leaf(0), right=Leaf(1))
    >>> rentals = PiecewisePolynomial(tree, (night, day))
    >>> rentals.predict([[6.0], [7.0]]), rentals.region_of([[6.0], [7.0]])
    (array([ 26., 178.]), array([0, 1]))
    >>> [region.rule for region in rentals.regions]
    ['hour < 6.5', 'hour ≥ 6.5']
    """

    tree: Tree
    polynomials: tuple[Polynomial, ...]
    n_rows: tuple[int, ...] | None = None
    r2: tuple[float | None, ...] | None = None
    card: FidelityCard | None = None

    def __post_init__(self) -> None:
        if not self.polynomials:
            raise InvalidInputError("A piecewise polynomial needs a region.", where="polynomials")
        first = self.polynomials[0]
        same = tuple(_alike(poly, first, k) for k, poly in enumerate(self.polynomials))
        object.__setattr__(self, "polynomials", same)
        check_tree(self.tree, first.inputs, len(same))
        object.__setattr__(self, "n_rows", _per_region(self.n_rows, "n_rows", len(same), _count))
        object.__setattr__(self, "r2", _per_region(self.r2, "r2", len(same), _finite))

    # ---- what it is made of ----

    @property
    def inputs(self) -> Inputs:
        """What goes in, the same in all regions."""
        return self.polynomials[0].inputs

    @property
    def outputs(self) -> Outputs:
        """What comes out, the same in all regions."""
        return self.polynomials[0].outputs

    @property
    def max_order(self) -> int:
        """Highest total order Q of a region."""
        return max(poly.max_order for poly in self.polynomials)

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
    def n_features(self) -> int:
        """Number of inputs p."""
        return self.inputs.n_features

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return self.outputs.count

    @property
    def n_terms(self) -> int:
        """Number of terms of all regions."""
        return sum(poly.n_terms for poly in self.polynomials)

    @property
    def n_regions(self) -> int:
        """Number of regions."""
        return len(self.polynomials)

    @cached_property
    def regions(self) -> tuple[Region, ...]:
        """Every region with its rule, its rows and its polynomial, by its number."""
        total = None if self.n_rows is None else max(1, sum(self.n_rows))
        return tuple(
            Region(
                number,
                rule(found, self.inputs),
                found,
                poly,
                None if self.n_rows is None else self.n_rows[number],
                None if self.n_rows is None or total is None else self.n_rows[number] / total,
                None if self.r2 is None else self.r2[number],
            )
            for number, (found, poly) in enumerate(
                zip(conditions(self.tree, self.inputs), self.polynomials, strict=True)
            )
        )

    # ---- data ----

    def region_of(self, X: Any) -> IntArray:
        """Tell the region of every row of an array or data frame (n, p): array (n,)."""
        return region_of(self.tree, self.inputs, self.inputs.read(X))

    def at(self, x: FloatArray) -> Region:
        """Give the region that one row (p,) of raw features lies in."""
        row = np.asarray(x, dtype=np.float64)[None]
        return self.regions[int(region_of(self.tree, self.inputs, row)[0])]

    def predict(
        self, X: Any, *, dtype: npt.DTypeLike = np.float64, batch_size: int | None = None
    ) -> FloatArray:
        """Compute the raw outputs (before the link); see `Polynomial.predict`.

        Returns
        -------
        array (n,) for one output, (n, n_outputs) for several
        """
        return predicting.predict(self, X, dtype, batch_size)

    def predict_proba(self, X: Any) -> FloatArray:
        """Compute probabilities through the link: (n, n_classes), or (n, n_labels)."""
        return predicting.predict_proba(self, X)

    def predict_label(self, X: Any, *, threshold: float | None = None) -> npt.NDArray[Any]:
        """Choose the most probable class of every row: (n,), or (n, n_labels) of 0 and 1."""
        return predicting.predict_label(self, X, threshold)

    def raw_outputs(
        self, X: FloatArray, dtype: npt.DTypeLike = np.float64, batch_size: int | None = None
    ) -> FloatArray:
        """Compute the raw outputs (n, n_outputs) of raw features (n, p), without any check."""
        out = np.empty((len(X), self.n_outputs), dtype=np.dtype(dtype))
        for poly, rows in self._by_region(X):
            out[rows] = poly.raw_outputs(X[rows], dtype, batch_size)
        return out

    def outputs_by_order(self, X: FloatArray) -> list[FloatArray]:
        """Give the raw outputs (n, n_outputs) with the terms up to order 0, 1, …, Q.

        X is an array (n, p); rows outside the calibrated range pass without a warning.
        """
        out = [np.empty((len(X), self.n_outputs)) for _ in range(self.max_order + 1)]
        for poly, rows in self._by_region(X):
            found = poly.outputs_by_order(X[rows])
            for order, part in enumerate(out):
                part[rows] = found[min(order, poly.max_order)]
        return out

    def count_outside(self, X: FloatArray) -> int:
        """Count the rows of X (n, p) outside the range that the conversion saw."""
        return self.inputs.count_outside(X)

    def contributions(self, X: Any) -> FloatArray:
        """Split every prediction into the terms of its region; their sum is the prediction.

        Returns
        -------
        array (n, n_terms, n_outputs)
            The terms of region 0, then of region 1, …, as `to_frame` lists them; those of other
            regions than the row's (`region_of`) are 0.
        """
        rows = predicting.read_rows(self.inputs, X)
        check_terms(
            self.n_terms,
            8 * len(rows) * self.n_terms * (self.n_outputs + 1),
            what=f"The array of contributions of every term on {len(rows):,} rows",
            remedy="pass fewer rows at a time, or prune the regions",
        )
        out = np.zeros((len(rows), self.n_terms, self.n_outputs))
        begins = np.cumsum([0, *(poly.n_terms for poly in self.polynomials)]).tolist()
        z, where = self.inputs.to_working(rows), region_of(self.tree, self.inputs, rows)
        for k, poly in enumerate(self.polynomials):
            chosen = np.flatnonzero(where == k)
            values = term_values(poly.terms, z[chosen])[:, :, None] * poly.coefficients
            out[chosen, begins[k] : begins[k + 1]] = values
        return out

    def _by_region(self, X: FloatArray) -> Iterator[tuple[Polynomial, IntArray]]:
        """Walk the regions that hold rows of raw features (n, p): polynomial and rows."""
        where = region_of(self.tree, self.inputs, X)
        order = np.argsort(where, kind="stable")
        cuts = np.searchsorted(where[order], np.arange(1, self.n_regions))
        for poly, rows in zip(self.polynomials, np.split(order, cuts), strict=True):
            if len(rows):
                yield poly, rows

    # ---- the same formula, but for … ----

    def with_threshold(self, threshold: float) -> PiecewisePolynomial:
        """Give the same formula with another probability of the second class that is enough.

        Labels, reports and exports then use it; ``outputs.threshold`` holds it. The labels of
        a card were those of the former one: it is dropped, and `fidelity` measures another.
        """
        parts = tuple(part.with_threshold(threshold) for part in self.polynomials)
        card = self.card if threshold == self.outputs.threshold else None
        return replace(self, polynomials=parts, card=card)

    def rebase(
        self, center: npt.ArrayLike = 0.0, scale: npt.ArrayLike = 1.0
    ) -> PiecewisePolynomial:
        """Rewrite all regions in ``(x - center) / scale``; default: raw units. Exact."""
        return self._each(lambda poly: poly.rebase(center, scale), known=True)

    def truncate(self, max_order: int) -> PiecewisePolynomial:
        """Drop the terms above ``max_order`` in every region."""
        order = check_order(max_order)
        return self._each(lambda poly: poly.truncate(order))

    def prune(self, n_terms: int) -> PiecewisePolynomial:
        """Keep in every region the ``n_terms`` that matter most there, the intercept among them."""
        return self._each(lambda poly: poly.prune(n_terms))

    def _each(
        self, change: Callable[[Polynomial], Polynomial], *, known: bool = False
    ) -> PiecewisePolynomial:
        """Change every polynomial; what was measured stays only where nothing else changes."""
        changed = replace(self, polynomials=tuple(map(change, self.polynomials)))
        return changed if known else replace(changed, r2=None, card=None)

    # ---- tables and files ----

    def top(self, n: int = 10, output: int | str | None = None) -> Table:
        """List the n terms that matter most in each region; see `Polynomial.top`."""
        return piecewise_display.top(self.regions, n, output)

    def to_frame(self) -> Any:
        """Give a pandas DataFrame: region, term, order, and one column per output."""
        return piecewise_display.all_terms(self.regions).to_frame()

    def region_table(self) -> Table:
        """List the regions with their rules, rows, terms and R²."""
        return piecewise_display.region_table(self.regions)

    def save(self, path: str | Path, *, key: bytes | None = None) -> Path:
        """Write a versioned file, which `nn2poly.load` reads; see `Polynomial.save`."""
        return storage.save(storage.pack_piecewise(self), path, key=key)

    def __repr__(self) -> str:
        return piecewise_display.text(self)

    def _repr_html_(self) -> str:
        return piecewise_display.html(self)


def _alike(poly: Polynomial, first: Polynomial, number: int) -> Polynomial:
    """Give a polynomial the very inputs and outputs of the first, refusing others."""
    for name in ("inputs", "outputs"):
        one, other = getattr(first, name), getattr(poly, name)
        if one is not other and one.to_dict() != other.to_dict():
            raise InvalidInputError(
                f"The polynomials of the regions differ in their {name}.",
                where=f"polynomial {number}",
                expected=f"the {name} of polynomial 0: names, coordinates, ranges, link",
                remedy="bring them to the same coordinates: poly.rebase(center, scale)",
            )
    return replace(poly, inputs=first.inputs, outputs=first.outputs, layers=(), card=None)


def _per_region(values: Any, name: str, count: int, read: Callable[[Any], Any]) -> Any:
    """Check one number per region, or None for none."""
    if values is None:
        return None
    given = tuple(map(read, values))
    if len(given) == count and all(value is not False for value in given):
        return given
    raise InvalidInputError(
        f"The {name} of the regions cannot be used.",
        where=name,
        expected=f"{count} numbers, one per region",
        found=str(tuple(values)),
    )


def _count(value: Any) -> int | bool:
    """Read a count; False for anything else."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return int(value) if whole and value >= 0 else False


def _finite(value: Any) -> float | bool | None:
    """Read a number or None; False for anything else."""
    if value is None:
        return None
    number = isinstance(value, int | float | np.floating) and not isinstance(value, bool)
    return float(value) if number and isfinite(value) else False


# An explicit formula of either kind.
Explicit = Polynomial | PiecewisePolynomial
