"""`TensorBuilder`: collects the layers of a network while a reader walks a model with tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError, UnsupportedModelError
from nn2poly.network.activation import Activation
from nn2poly.network.builder import NetworkBuilder, Value
from nn2poly.network.elementwise import by_values, within_one
from nn2poly.network.network import Network
from nn2poly.network.readers.symbolic.affine import (
    dense_value,
    divided,
    multiplied,
    per_channel,
)
from nn2poly.network.readers.symbolic.factors import Factor, Factors
from nn2poly.network.readers.symbolic.limits import check_memory
from nn2poly.network.readers.symbolic.products import divide, multiply
from nn2poly.network.readers.symbolic.tensor import ROWS, Tensor, aligned

TRUNCATED = by_values(np.trunc, "trunc")
Coordinates = tuple[FloatArray, FloatArray]
Result = TypeVar("Result")


class TensorBuilder:
    """Applies layers to tensors.

    Parameters
    ----------
    row_shape
        Shape of one row of inputs; its product is the number of features.
    center, scale
        Working coordinates of the inputs, numbers or (n_features,).
    rows
        Number of rows of the imagined batch.
    factors
        Columns of the inputs that are factors, which a walk before this one asked for.
    names
        Of the columns, where the model has some.
    """

    def __init__(
        self,
        row_shape: tuple[int, ...],
        center: npt.ArrayLike = 0.0,
        scale: npt.ArrayLike = 1.0,
        *,
        rows: int = ROWS,
        factors: Mapping[int, Factor] | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self.factors = Factors(math.prod(row_shape), factors or {}, names)
        # A level stays 0 or 1 in the algebra, also where a scaler comes after the encoder.
        levels = self.factors.is_level()
        place = np.where(levels, 0.0, center), np.where(levels, 1.0, scale)
        self._network = NetworkBuilder(self.factors.n_features, *place)
        self._row_shape, self._rows = row_shape, rows
        # What the first layer sees, and the mean and deviation (width,) of a batch normalisation.
        self._first: tuple[Tensor, Any, Any] | None = None
        # Tensors with a link that had to be an activation, and what became of them.
        self._settled: list[tuple[Tensor, Tensor]] = []

    def input(self) -> Tensor:
        """Give the table of inputs."""
        columns = self.factors.columns_of(self._network.input())
        return Tensor(columns, self._row_shape, self._rows)

    def dense(self, x: Tensor, weights: FloatArray, bias: npt.ArrayLike | None = None) -> Tensor:
        """Apply a dense layer to the last dimension: weights (n_in, n_out), bias (n_out,)."""
        self._note(x)
        return dense_value(x, weights, bias)

    def batch_norm(
        self,
        x: Tensor,
        mean: npt.ArrayLike,
        variance: npt.ArrayLike,
        epsilon: float,
        gain: npt.ArrayLike = 1.0,
        shift: npt.ArrayLike = 0.0,
        *,
        axis: int = 1,
    ) -> Tensor:
        """Apply a batch normalisation with one number per channel, along an axis of the tensor."""
        middle, spread, a, b = (
            aligned(x, per_channel(values, x, axis))[1].value.bias
            for values in (mean, variance, gain, shift)
        )
        deviation = np.sqrt(spread + epsilon)
        self._note(x, middle, deviation)
        # In two steps: what was centred on the mean is exactly 0 before the gain.
        return x.scaled(1.0, -middle).scaled(a / deviation, b)

    def multiply(self, a: Any, b: Any) -> Tensor:
        """Multiply two operands of which one or both are tensors."""
        if not (isinstance(a, Tensor) and isinstance(b, Tensor)):
            return multiplied(a, b)
        return self._combined(multiply, a, b)

    def divide(self, a: Any, b: Any) -> Tensor:
        """Divide two operands of which one or both are tensors."""
        if not isinstance(b, Tensor):
            return divided(a, b)
        if not isinstance(a, Tensor):
            return self.multiply(a, self.activate(b, by_values(np.reciprocal, "reciprocal")))
        return self._combined(divide, a, b)

    def _combined(
        self, combine: Callable[[NetworkBuilder, Value, Value], Value], a: Tensor, b: Tensor
    ) -> Tensor:
        first, second = aligned(self.settled(a), self.settled(b))
        self._note(first)
        check_memory(first.value.width**2)
        return first.with_value(combine(self._network, first.value, second.value))

    def truncated(self, x: Tensor) -> Tensor:
        """Cut the decimals off."""
        entries = range(x.value.width)
        if all(self.factors.codes(x.value, entry) is not None for entry in entries):
            return x
        return self.activate(x, TRUNCATED)

    def levels(self, x: Tensor, count: int) -> Tensor:
        """Say of each entry which of the numbers 0, 1, … it is: another dimension of indicators."""
        base = x.value
        # The whole number of a value is the value itself, held within a step.
        (source, *others) = base.matrices or (0,)
        if source and not others and self._network.activation(source) == TRUNCATED:
            base = self._network.before(base, source)
        check_memory((x.value.width * count) ** 2)
        shape = (*x.shape, count)
        known = self.factors.indicators(base, count)
        if known is not None:
            return replace(x, value=known, shape=shape)
        self.factors.want_numbers(base, count)
        chosen = np.repeat(np.arange(base.width), count)
        shifts = np.tile(np.arange(count, dtype=np.float64), base.width)
        moved = base.columns(chosen).scaled(1.0, -shifts)
        value = self._network.merge(moved, by_values(within_one, "level"))
        return replace(x, value=value, shape=shape)

    def encoded(self, x: Tensor, factor: Factor) -> Tensor | None:
        """Turn columns of the table into the codes of their levels; None if they are none.

        In a first walk, which only asks for the factor, the columns stay as they are.
        """
        known = self.factors.recoded(x.value, factor)
        if known is not None:
            return x.with_value(known)
        return x if self.factors.want(x.value, factor) else None

    def activate(self, x: Tensor, name: str | Activation, **parameters: Any) -> Tensor:
        """Apply an activation to every entry: a layer, unless it is linear."""
        self._note(x)
        check_memory(x.value.width**2)
        try:
            return x.with_value(self._network.activate(x.value, name, **parameters))
        except InvalidInputError as error:
            raise UnsupportedModelError(
                error.what, expected=error.expected, found=error.found, remedy=error.remedy
            ) from error

    def finish(self, x: Tensor, **fields: Any) -> Network:
        """Close with the output; ``fields`` are those of `NetworkBuilder.finish`."""
        own = {"link": x.link, "inputs": self.factors.inputs()}
        return self._network.finish(x.value, **{**own, **fields})

    # ---- links ----

    def softmax(self, x: Tensor, axis: Any, origin: str) -> Tensor:
        """Mark a softmax, which is the link if nothing follows."""
        if len(x.shape) != 1 or x.axis or axis not in (None, 1, -1):
            raise UnsupportedModelError(
                "A softmax runs over something else than the outputs.",
                expected="a table (rows, classes) and axis 1 or -1",
                found=f"shape {x.full_shape}, axis {axis}",
                remedy="use dim=1 (axis=1)",
            )
        return replace(x, link="softmax", origin=origin)

    def settled(self, x: Tensor) -> Tensor:
        """Turn a sigmoid that was not the last operation after all into an activation."""
        if x.link == "identity":
            return x
        if x.link == "softmax":
            raise softmax_inside(x.origin)
        for pending, done in self._settled:
            if pending is x:
                return done
        done = self.activate(replace(x, link="identity", origin=""), x.link)
        self._settled.append((x, done))
        return done

    # ---- working coordinates ----

    def _note(self, x: Tensor, mean: npt.ArrayLike = 0.0, deviation: npt.ArrayLike = 1.0) -> None:
        if self._first is None:
            width = (x.value.width,)
            self._first = x, np.broadcast_to(mean, width), np.broadcast_to(deviation, width)

    def coordinates(self) -> Coordinates | None:
        """Find the center and scale (n_features,) of a normalisation with which a model begins.

        The first layer tells: where it sees an input by itself, shifted and scaled. Inputs that
        it does not see so keep 0 and 1; None if all do.
        """
        if self._first is None or set(self._first[0].value.matrices) != {0}:
            return None
        x, mean, deviation = self._first
        matrix, bias = x.value.matrices[0], x.value.bias
        center, scale = np.zeros(len(matrix)), np.ones(len(matrix))
        for column in np.flatnonzero(np.count_nonzero(matrix, axis=0) == 1):
            row = int(np.flatnonzero(matrix[:, column])[0])
            slope = matrix[row, column]
            with np.errstate(all="ignore"):
                place = (mean[column] - bias[column]) / slope + 0.0, abs(deviation[column] / slope)
            if np.isfinite(place).all() and place[1] > 0.0:
                center[row], scale[row] = place
        levels = self.factors.is_level()
        center[levels], scale[levels] = 0.0, 1.0
        return (center, scale) if center.any() or (scale != 1.0).any() else None


def softmax_inside(origin: str) -> UnsupportedModelError:
    """Word the refusal of a softmax that something follows."""
    return UnsupportedModelError(
        "A softmax in the middle of a model divides by a sum, which no polynomial can follow.",
        where=origin or None,
        expected="a softmax at the very end, where it is the output link",
        remedy="convert the layers before it, or use sigmoid or tanh in its place",
    )


def same_layers(one: Network, other: Network) -> bool:
    """Say whether two networks have the same numbers."""
    pairs = zip(_arrays(one), _arrays(other), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def _arrays(network: Network) -> Iterator[FloatArray]:
    for layer in network.layers:
        yield from (layer.weights, layer.bias, *layer.skips.values())


def rows_counted(where: str | None) -> UnsupportedModelError:
    """Word the refusal of a model that gives other outputs for another number of rows."""
    return UnsupportedModelError(
        "The outputs depend on the number of rows in the batch.",
        where=where,
        expected="outputs of a row that depend on this row alone",
        remedy="do not compute with x.shape[0] or x.size(0); keep rows as they are",
    )


def in_own_coordinates(
    walk: Callable[..., tuple[TensorBuilder, Result]],
) -> tuple[TensorBuilder, Result]:
    """Walk through a model, and once more in the coordinates of what it begins with.

    ``walk`` takes center and scale, and the factors that were found, if any. Folding that same
    scaler then leaves the weights as they are.
    """
    builder, result = walk()
    known = {"factors": builder.factors.wanted} if builder.factors.wanted else {}
    if known:
        builder, result = walk(**known)
    found = builder.coordinates()
    return (builder, result) if found is None else walk(*found, **known)
