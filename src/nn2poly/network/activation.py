"""`Activation`: a function of a potential, with its series, radius and turning points."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError, NoSeriesError
from nn2poly.network.series import Radius, Series

Function = Callable[[FloatArray], FloatArray]
Parameters = tuple[tuple[str, float], ...]


@dataclass(frozen=True, eq=False, repr=False)
class Activation:
    """A function applied to each potential, with what the expansions need to know about it.

    Two activations are equal when name and parameters are, and for custom ones the function.

    Parameters
    ----------
    name
        The name in the table, or that of the callable.
    function
        Vectorised over any shape.
    series
        (centres (h,), order q) → (q + 1, h) Taylor coefficients f⁽ⁿ⁾(c)/n!, with NaN from the
        first derivative that does not exist at a centre. None: no series is known.
    radius
        Radius of convergence at real centres: the distance to the nearest complex singularity
        or real kink, infinite for entire functions, NaN when unknown.
    turning_points
        Where the function stops falling and starts rising, or the reverse; None: unknown.
    parameters
        Pairs of name and value, defaults included.
    period
        The turning points repeat with this period.
    custom
        False only for the entries of the table.

    Examples
    --------
    >>> from nn2poly.network.activations import activation
    >>> silu = activation("silu")
    >>> silu
    Activation("silu")
    >>> print(silu([-1.0, 0.0, 1.0]).round(4))
    [-0.2689  0.      0.7311]
    """

    name: str
    function: Function
    series: Series | None
    radius: Radius
    turning_points: tuple[float, ...] | None = ()
    parameters: Parameters = ()
    period: float | None = None
    custom: bool = True

    def __call__(self, potential: npt.ArrayLike) -> FloatArray:
        """Apply the function to potentials of any shape."""
        return np.asarray(self.function(np.asarray(potential, dtype=np.float64)))

    def taylor(self, center: npt.ArrayLike, order: int) -> FloatArray:
        """Return the Taylor coefficients at each centre, or say why there are none.

        Parameters
        ----------
        center
            A number, or one per neuron, shape (h,).
        order
            Highest power, 0 or more.

        Returns
        -------
        ndarray
            Shape (order + 1, h): row n holds f⁽ⁿ⁾(c)/n!.

        Raises
        ------
        NoSeriesError
            At a kink, where a coefficient overflows, or for a custom function.

        Examples
        --------
        >>> from nn2poly.network.activations import activation
        >>> activation("tanh").taylor(0.0, 3).ravel().round(4).tolist()
        [0.0, 1.0, 0.0, -0.3333]
        """
        centers, order = self._checked_centers(center), self._checked_order(order)
        if self.series is None:
            raise self._no_series(order, "a custom function, of which only values are known")
        out = self.series(centers, order)
        if not (good := np.isfinite(out).all(axis=0)).all():
            bad = np.unique(centers[~good])
            found = f"none at {', '.join(map(repr, bad[:5].tolist()))}{' …' * (bad.size > 5)}"
            raise self._no_series(order, found)
        return out

    def image(self, low: npt.ArrayLike, high: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the least and the greatest value over each interval [low, high].

        Examples
        --------
        >>> from nn2poly.network.activations import activation
        >>> low, high = activation("silu").image([-5.0, 0.0], [1.0, 1.0])
        >>> low.round(4).tolist(), high.round(4).tolist()
        ([-0.2785, 0.0], [0.7311, 0.7311])
        """
        low, high = self._checked_interval(low, high)
        ends = self(low), self(high)
        least, greatest = np.minimum(*ends), np.maximum(*ends)
        for point in self.turning_points or ():
            cycles = 0.0 if self.period is None else np.ceil((low - point) / self.period)
            first = point + cycles * (self.period or 0.0)
            inside = (low <= first) & (first <= high)
            value = self(point)
            least = np.where(inside, np.minimum(least, value), least)
            greatest = np.where(inside, np.maximum(greatest, value), greatest)
        return least, greatest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Activation) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        parts = [json.dumps(self.name), *(f"{name}={value}" for name, value in self.parameters)]
        return f"Activation({', '.join(parts + ['custom=True'] * self.custom)})"

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        # The closures of the table do not pickle; their names do.
        if self.custom:
            return super().__reduce_ex__(protocol)
        from nn2poly.network.activations import from_table

        return from_table, (self.name, self.parameters)

    def _key(self) -> tuple[Hashable, ...]:
        return self.name, self.parameters, self.function if self.custom else None

    def _checked_centers(self, center: npt.ArrayLike) -> FloatArray:
        centers = np.atleast_1d(np.asarray(center, dtype=np.float64))
        if centers.ndim == 1 and np.isfinite(centers).all():
            return centers
        raise InvalidInputError(
            "A series needs finite centres.",
            where=f"{self!r}.taylor",
            expected="a finite number, or a vector with one per neuron",
            found=f"shape {centers.shape}, {np.sum(~np.isfinite(centers))} not finite",
            remedy="check the weights and the point of expansion for NaN and infinities",
        )

    def _checked_order(self, order: int) -> int:
        if hasattr(order, "__index__") and operator.index(order) >= 0:
            return operator.index(order)
        raise InvalidInputError(
            "The order of a series must be an integer, 0 or more.",
            where=f"{self!r}.taylor",
            found=repr(order),
            remedy="pass for example 8",
        )

    def _checked_interval(
        self, low: npt.ArrayLike, high: npt.ArrayLike
    ) -> tuple[FloatArray, FloatArray]:
        low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        where = f"{self!r}.image"
        if self.turning_points is None:
            raise InvalidInputError(
                "The image of an interval is not known for a custom function.",
                where=where,
                remedy="build an Activation with turning_points=(), or those it has",
            )
        if not (np.isfinite(high - low) & (low <= high)).all():
            raise InvalidInputError(
                "The intervals are not in order.",
                where=where,
                expected="finite ends with low <= high everywhere",
                remedy="check for NaN and infinities, and swap the ends if need be",
            )
        return low, high

    def _no_series(self, order: int, found: str) -> NoSeriesError:
        return NoSeriesError(
            f"The activation {self.name} has no Taylor series here.",
            where=repr(self),
            expected=f"finite derivatives up to order {order} at each centre",
            found=found,
            remedy='pass data, for method="calibrated", which needs no derivative; '
            "or expand around another centre",
        )
