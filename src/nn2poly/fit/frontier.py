"""`frontier`: what can be had for which size, tried at once, to pick from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import Any, Unpack

import numpy as np

from nn2poly.arguments import check_count, check_order
from nn2poly.errors import InvalidInputError
from nn2poly.fit.convert import converted, read_asked, read_rows
from nn2poly.fit.fitted_curves import check_curves
from nn2poly.fit.option_search import (
    BUDGETS,
    REGIONS,
    Point,
    can_choose,
    orders_within,
    search_options,
    unbeaten,
)
from nn2poly.fit.options import Options, Shared, takes
from nn2poly.formula.piecewise import Explicit
from nn2poly.score_texts import r2_text
from nn2poly.tables import Table


@dataclass(frozen=True, eq=False, repr=False)
class Frontier:
    """Ways to convert a network: how large each is, and how close it comes.

    Parameters
    ----------
    points
        What was tried: `order`, `max_terms`, `regions`, `n_terms`, `n_coefficients`, `r2` (on
        rows kept for choices) and `seconds` of each.
    convert
        Gives the formula of a point, with its card.
    """

    points: tuple[Point, ...]
    convert: Callable[[Point], Explicit]
    _made: dict[Point, Explicit] = field(default_factory=dict)

    @property
    def best(self) -> tuple[Point, ...]:
        """The points that nothing beats: none other is as small and closer. Smallest first."""
        return unbeaten(self.points)

    def pick(self, *, r2: float | None = None, n_terms: int | None = None) -> Explicit:
        """Convert what suits best: its card is judged on rows that chose nothing.

        Parameters
        ----------
        r2
            The smallest formula that reaches it on rows kept for choices; the card may say a
            little less or more.
        n_terms
            The closest formula of at most so many terms, of all regions together.
        """
        if (r2 is None) == (n_terms is None):
            raise InvalidInputError(
                "Either an R² or a number of terms is needed to pick by.",
                where="pick",
                expected="pick(r2=0.95) or pick(n_terms=50)",
                found="neither" if r2 is None else "both",
            )
        return self.formula(self._reaching(r2) if r2 is not None else self._within(n_terms))

    def knee(self) -> Explicit:
        """Convert where the gain by size drops: furthest above the line between both ends.

        Sizes are compared by their logarithm.
        """
        best = self.best
        size = np.log([point.n_coefficients for point in best])
        # Whatever is worse than a constant is as bad as one: else it would stretch the line.
        close = np.maximum([point.closeness for point in best], 0.0)
        ends = [(values - values[0]) / (np.ptp(values) or 1.0) for values in (size, close)]
        return self.formula(best[int(np.argmax(ends[1] - ends[0]))])

    def formula(self, point: Point) -> Explicit:
        """Convert as one of the points says; the same one is converted once."""
        if point not in self._made:
            self._made[point] = self.convert(point)
        return self._made[point]

    def _reaching(self, r2: float) -> Point:
        best = self.best
        reached = [point for point in best if point.closeness >= r2]
        if reached:
            return reached[0]
        last = best[-1]
        raise InvalidInputError(
            f"Nothing that was tried reaches an R² of {r2:g}.",
            where="pick(r2=…)",
            expected=f"at most {r2_text(last.closeness)}",
            found=f"the closest: {last.label}, {last.n_terms:,} terms",
            remedy="ask for less, or try more: frontier(model, X, orders=(2, 3, 4), "
            "regions=(8, 16, 32), max_terms=(100, 300))",
        )

    def _within(self, n_terms: int | None) -> Point:
        most = check_count(n_terms, where="n_terms")
        within = [point for point in self.points if point.n_terms <= most]
        if within:
            return max(within, key=lambda point: (point.closeness, -point.n_terms))
        least = min(self.points, key=lambda point: point.n_terms)
        raise InvalidInputError(
            f"Nothing that was tried has as few as {most:,} terms.",
            where="pick(n_terms=…)",
            expected=f"{least.n_terms:,} or more",
            found=str(most),
            remedy=f"frontier(model, X, max_terms=({most},)) tries so few",
        )

    def table(self) -> Table:
        """List what was tried, smallest first; a star marks what nothing beats."""
        ordered = sorted(self.points, key=lambda p: (p.n_coefficients, -p.closeness))
        return _table(f"{len(self.points)} ways to convert", ordered, set(self.best))

    def plot(self, *, ax: Any = None) -> Any:
        """Draw held-out R² against the number of coefficients.

        Parameters
        ----------
        ax
            matplotlib Axes; None for a new figure.

        Returns
        -------
        Axes
        """
        # By name: figures are a floor above conversions, and loaded only when one is drawn.
        return import_module("nn2poly.plots.frontiers").frontier(self.points, ax=ax)

    def __repr__(self) -> str:
        return str(self._short())

    def _repr_html_(self) -> str:
        return self._short()._repr_html_()

    def _short(self) -> Table:
        title = f"Frontier: {len(self.best)} of {len(self.points)} ways to convert, unbeaten"
        return _table(title, self.best)


def _table(title: str, points: Sequence[Point], starred: set[Point] | None = None) -> Table:
    columns = ("order", "budget", "regions", "terms", "coefficients", "held-out R2", "seconds")
    rows = [
        (p.order, p.max_terms or "all", p.regions, p.n_terms, p.n_coefficients, p.r2, p.seconds)
        for p in points
    ]
    if starred is None:
        return Table(title, columns, tuple(rows))
    marks = ("*" if point in starred else "" for point in points)
    marked = tuple((*row, mark) for row, mark in zip(rows, marks, strict=True))
    return Table(title, (*columns, "unbeaten"), marked)


@takes(Shared, "transforms")
def frontier(
    model: Any,
    X: Any,
    *,
    orders: Iterable[int] | None = None,
    regions: Iterable[int] = REGIONS,
    max_terms: Iterable[int] = BUDGETS,
    transforms: str | Mapping[str, str] | None = None,
    **options: Unpack[Shared],
) -> Frontier:
    """Try orders, regions and budgets of terms at once: what can be had for which size.

    Each is fitted to a part of the rows and judged on others, kept for choices; the rows of the
    cards are not looked at. What is picked is converted on all rows, and measured on the latter.

    Parameters
    ----------
    model
        Anything that `convert` takes.
    X
        A sample of inputs, as ``data`` of `convert`.
    orders
        Orders to try; None for 1, 2 and 3, as long as there are at most some thousand terms.
    regions
        Numbers of regions to try with each.
    max_terms
        Budgets of terms (per region) to try.
    **options
        Those of `Options` that go with this.

    Returns
    -------
    Frontier

    Examples
    --------
    >>> import nn2poly as n2p
    >>> X = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    >>> net = n2p.Network([n2p.Layer(np.eye(2), None, "tanh"), n2p.Layer([[1.0], [2.0]])])
    >>> options = n2p.frontier(net, X, regions=(1,), max_terms=(4,))
    >>> options.best[0].label, options.best[-1].label
    ('order 1', 'order 3')
    >>> options.pick(r2=0.995).n_terms
    4
    """
    given = Options.of(frontier, options, data=X, transforms=transforms)
    report = given.task.report
    network, asked = read_asked(model, given)
    counts = _ascending(regions, "regions"), _ascending(max_terms, "max_terms", empty=True)
    wanted = None if orders is None else sorted({check_order(order) for order in orders})
    report("reading the sample")
    problem = read_rows(network, asked)
    check_curves(problem)
    if not can_choose(problem):
        raise InvalidInputError(
            "The sample is too small to keep rows for choices.",
            where="X",
            expected="25 rows at least, hundreds if possible",
            found=f"{problem.summary.n_rows} rows to fit",
            remedy="convert(model, 1, data=X) needs none",
        )
    tried = orders_within(network.n_features) if wanted is None else wanted
    points = search_options(problem, tried, *counts, report)
    # Not a function made here: a frontier can be pickled if its model can.
    return Frontier(points, partial(_make, model, replace(given, check=False)))


def _make(model: Any, options: Options, point: Point) -> Explicit:
    """Convert at one of the points."""
    order = point.order if point.max_terms is None else None
    chosen: dict[str, Any] = {"max_terms": point.max_terms, "regions": point.regions}
    return converted(model, replace(options, max_order=order, **chosen))


def _ascending(numbers: Iterable[int], where: str, *, empty: bool = False) -> tuple[int, ...]:
    """Check numbers to try, and sort them."""
    found = [numbers] if isinstance(numbers, int) else [*numbers]
    if not found and not empty:
        raise InvalidInputError("There is nothing to try.", where=where, expected="numbers")
    return tuple(sorted({check_count(number, where=where) for number in found}))
