"""`sobol`: shares of the variance, for independent features or for the data as they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nn2poly.arrays import BoolArray, FloatArray
from nn2poly.explain.anova import Anova, decomposed
from nn2poly.explain.games import Subset
from nn2poly.explain.rows import checked_population, warn_mixed
from nn2poly.explain.summaries import how_many, subset_name
from nn2poly.formula.largest import largest
from nn2poly.formula.protocol import Formula
from nn2poly.formula.term_names import output_index, parse_term
from nn2poly.tables import Table

# Between these ratios of the two variances the shares still speak of the rows as they are (taste).
ALIKE = (0.5, 2.0)


@dataclass(frozen=True, eq=False, repr=False)
class VarianceShares:
    """The share of each subset of features in the variance of each output.

    The shares of all subsets add up to 1; subsets that are not listed have none. For
    independent features (``joint`` false) they are Sobol' indices, and ``correlative`` is zero.
    For the joint distribution a share is Cov(effect, output) / variance, the sum of
    ``structural``, Var(effect) / variance, the part that the effect has by itself, and
    ``correlative``, its covariance with the other effects: what it shares with them because the
    features are correlated. That part, and the share, can be negative.

    Parameters
    ----------
    subsets
        Tuples of feature indices, by size and then in lexicographic order.
    structural, correlative
        Arrays (n_subsets, n_outputs); NaN for an output that does not vary.
    variance
        Array (n_outputs,).
    joint
        Whether features keep their joint distribution.
    feature_names, output_names
        Names.
    ratio
        Array (n_outputs,): the variance with independent features in units of that on the rows
        as they are; NaN for an output that does not vary, None when unknown.
    as_they_are
        The same for the joint distribution, where the two variances of an output differ by more
        than a factor of 2: it is then shown first. Else None.
    """

    subsets: tuple[Subset, ...]
    structural: FloatArray
    correlative: FloatArray
    variance: FloatArray
    joint: bool
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...]
    ratio: FloatArray | None = None
    as_they_are: VarianceShares | None = None

    @property
    def shares(self) -> FloatArray:
        """Share of every subset: array (n_subsets, n_outputs)."""
        return self.structural + self.correlative

    @property
    def first(self) -> FloatArray:
        """Share of each feature by itself, first-order indices: array (p, n_outputs)."""
        return self._per_feature([s if len(s) == 1 else () for s in self.subsets])

    @property
    def total(self) -> FloatArray:
        """Share of each feature with all its interactions, total indices: (p, n_outputs)."""
        return self._per_feature(self.subsets)

    def _per_feature(self, members: Any) -> FloatArray:
        out = np.zeros((len(self.feature_names), len(self.output_names)))
        shares = self.shares
        out[:, np.isnan(shares).any(axis=0) | (self.variance <= 0)] = np.nan
        pairs = [(i, j) for j, subset in enumerate(members) for i in subset]
        if pairs:
            features, places = np.array(pairs).T
            np.add.at(out, features, shares[places])
        return out

    def share(self, subset: Any) -> FloatArray:
        """Give the share (n_outputs,) of one subset, by indices or names; zero if not listed."""
        wanted = tuple(sorted(set(parse_term(subset, self.feature_names))))
        if wanted in self.subsets:
            share: FloatArray = self.shares[self.subsets.index(wanted)]
            return share
        return np.zeros(len(self.output_names))

    def table(self, n: int | None = None, *, output: int | str = 0) -> Table:
        """List features by total share, the n first or all, for one output."""
        k = output_index(output, self.output_names)
        first, total = self.first[:, k], self.total[:, k]
        order = largest(np.nan_to_num(total), how_many(n, len(total))).tolist()
        rows = tuple(
            (self.feature_names[i], float(first[i]), float(total[i]), float(total[i] - first[i]))
            for i in order
        )
        columns = ("feature", "alone", "total", "in interactions")
        return Table(f"{self._title(k)}, by feature", columns, rows, note=self._note(k))

    def subset_table(self, n: int | None = 10, *, output: int | str = 0) -> Table:
        """List subsets by absolute share, the n first or all, for one output."""
        k = output_index(output, self.output_names)
        size = np.abs(np.nan_to_num(self.shares[:, k]))
        order = largest(size, how_many(n, len(size))).tolist()
        columns = ["features", "share"] + (["structural", "correlative"] if self.joint else [])
        parts = [self.shares] + ([self.structural, self.correlative] if self.joint else [])
        rows = tuple(
            (
                subset_name(self.subsets[j], self.feature_names),
                *(float(part[j, k]) for part in parts),
            )
            for j in order
        )
        return Table(f"{self._title(k)}, by subset", tuple(columns), rows)

    def _note(self, k: int) -> str:
        """Say how far the variance with independent features is from that on the rows."""
        if self.joint or self.ratio is None or np.isnan(self.ratio[k]):
            return ""
        times = float(self.ratio[k])
        found = f"With independent features the variance is {times:.3g} times that on the rows"
        if not _apart(self.ratio)[k]:
            return f"{found} as they are."
        return (
            f"{found} as they are: features go together, and these shares are of a variance that "
            "the data do not have. sobol(…, joint=True), .as_they_are here, splits that of the "
            "rows."
        )

    def _title(self, k: int) -> str:
        kind = "joint distribution" if self.joint else "independent features"
        name = f" of {self.output_names[k]}" if len(self.output_names) > 1 else ""
        return f"Shares of the variance{name} ({kind})"

    def _tables(self) -> list[Table]:
        first = [] if self.as_they_are is None else self.as_they_are._tables()
        outputs = range(min(3, len(self.output_names)))
        return first + [
            table
            for k in outputs
            for table in (self.table(10, output=k), self.subset_table(10, output=k))
        ]

    def __repr__(self) -> str:
        more = len(self.output_names) - 3
        rest = [f"… and {more:,} more outputs: see .table(output=…)"] if more > 0 else []
        return "\n\n".join([*map(str, self._tables()), *rest])

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self._tables())


def sobol(poly: Formula, X: Any, *, joint: bool = False) -> VarianceShares:
    """Answer "which features, which pairs make the predictions vary?".

    The variance of a polynomial splits over the pure effects of its functional ANOVA (see
    `anova`). For independent features with the marginals of X the shares are Sobol' indices, in
    closed form from moments of single features. For the joint distribution of the rows as they
    are, Var f = Σ_T Cov(f_T, f) splits into a structural part Var f_T and a correlative part
    Cov(f_T, f - f_T) (Li et al. 2010). The ratio of the two variances says how far the first
    is from the second; where it is below 0.5 or above 2, the result holds both and shows the
    second first.

    Parameters
    ----------
    poly
        The polynomial.
    X
        Array or data frame (n, p) in raw units: the data whose distribution counts; of a stream
        an even choice of at most 200,000 rows.
    joint
        Keep the rows of X together; default: only their marginals.

    Returns
    -------
    VarianceShares

    Examples
    --------
    a + a b with a and b each ±1: each half of the variance.

    >>> import nn2poly as n2p
    >>> poly = n2p.Polynomial.from_terms(["a", "a b"], [1.0, 1.0], ["a", "b"])
    >>> shares = n2p.explain.sobol(poly, [[1, 1], [1, -1], [-1, 1], [-1, -1]])
    >>> shares.first.ravel(), shares.total.ravel(), shares.share("a b")
    (array([0.5, 0. ]), array([1. , 0.5]), array([0.5]))
    """
    rows = checked_population(poly, X)
    warn_mixed(poly)
    effects = decomposed(poly, rows)
    found = _shares(effects, rows, joint=joint)
    if joint or found.ratio is None or not np.any(_apart(found.ratio)):
        return found
    return replace(found, as_they_are=_shares(effects, rows, joint=True))


def _apart(ratio: FloatArray) -> BoolArray:
    """Tell where two variances differ much; not where there is none."""
    return (ratio < ALIKE[0]) | (ratio > ALIKE[1])


def _shares(effects: Anova, rows: FloatArray, *, joint: bool) -> VarianceShares:
    """Split the variance over raw rows (n, p), or that of independent features."""
    independent = effects.variances.sum(axis=0)
    if joint:
        structural, correlative, variance = _covariances(effects, rows)
        real = variance
    else:
        structural, variance = effects.variances, independent
        correlative = np.zeros_like(structural)
        real = effects.effects.form.predict(rows).var(axis=0)
    # A variance at the level of rounding is none: shares of it would be noise.
    floor = (16 * np.finfo(float).eps * np.abs(effects.mean)) ** 2
    unit = np.where(variance > floor, variance, np.nan)
    return VarianceShares(
        effects.subsets,
        structural / unit,
        correlative / unit,
        variance,
        joint,
        effects.feature_names,
        effects.poly.outputs.scale_names,
        independent / np.where(real > floor, real, np.nan),
    )


def _covariances(effects: Anova, rows: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute Var f_T, Cov(f_T, f - f_T) and Var f over raw rows (n, p)."""
    shape = effects.variances.shape
    mean, square, cross = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    total, total_square = np.zeros(shape[1]), np.zeros(shape[1])
    for _, values in effects.effects.batches(rows):
        output = values.sum(axis=1)
        mean += values.sum(axis=0)
        square += (values**2).sum(axis=0)
        cross += np.einsum("nsk,nk->sk", values, output)
        total += output.sum(axis=0)
        total_square += (output**2).sum(axis=0)
    n = len(rows)
    variance = total_square / n - (total / n) ** 2
    structural = np.maximum(square / n - (mean / n) ** 2, 0.0)
    with_output = cross / n - mean / n * total / n
    return structural, with_output - structural, variance
