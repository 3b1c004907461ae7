"""Build a `Network` by walking a model's operations on symbolic values.

Whatever is linear (dense layers, scalers, folded normalisation, sums, selected columns)
changes a `Value`, an affine function of the outputs so far; only an activation makes a new
layer. A residual sum is then nothing special: it is a value with two sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.arrays import FloatArray
from nn2poly.errors import UnsupportedModelError
from nn2poly.inputs import Inputs
from nn2poly.network.activation import Activation
from nn2poly.network.activations import activation
from nn2poly.network.network import Layer, Network


@dataclass(frozen=True, eq=False)
class Value:
    """An affine function of sources: ``bias + Σ_s output_s @ matrices[s]``.

    Parameters
    ----------
    bias
        Array (width,).
    matrices
        Arrays (n_source, width); source 0 is the input, source k the k-th layer's output.
    """

    bias: FloatArray
    matrices: dict[int, FloatArray]

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.bias)

    def linear(self, weights: npt.ArrayLike, bias: npt.ArrayLike | None = None) -> Value:
        """Multiply by ``weights`` (width, n) from the right and add ``bias`` (n,)."""
        matrix = np.asarray(weights, dtype=np.float64)
        shift = 0.0 if bias is None else np.asarray(bias, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[0] != self.width:
            raise UnsupportedModelError(
                "A linear layer does not fit what feeds it.",
                expected=f"weights for {self.width} inputs",
                found=f"weights of shape {matrix.shape} (inputs, outputs)",
            )
        matrices = {s: _through(m, matrix) for s, m in self.matrices.items()}
        return Value(self.bias @ matrix + shift, matrices)

    def scaled(self, factor: npt.ArrayLike, shift: npt.ArrayLike = 0.0) -> Value:
        """Multiply every column by its factor and add its shift (numbers or (width,))."""
        a = np.broadcast_to(np.asarray(factor, dtype=np.float64), (self.width,))
        b = np.broadcast_to(np.asarray(shift, dtype=np.float64), (self.width,))
        return Value(self.bias * a + b, {s: m * a for s, m in self.matrices.items()})

    def plus(self, other: Value, sign: float = 1.0) -> Value:
        """Add (or with ``sign=-1`` subtract) a value of the same width."""
        if self.width != other.width:
            raise UnsupportedModelError(
                "Two values of different widths are added.",
                found=f"{self.width} and {other.width} columns",
            )
        matrices = dict(self.matrices)
        for source, matrix in other.matrices.items():
            matrices[source] = matrices.get(source, 0.0) + sign * matrix
        return Value(self.bias + sign * other.bias, matrices)

    def columns(self, chosen: Sequence[int] | npt.NDArray[np.intp]) -> Value:
        """Select columns, in the order given."""
        index = np.asarray(chosen, dtype=np.intp)
        return Value(self.bias[index], {s: m[:, index] for s, m in self.matrices.items()})


def _through(before: FloatArray, matrix: FloatArray) -> FloatArray:
    """Multiply two matrices; a diagonal one, as after every activation, needs no product."""
    diagonal = np.diagonal(before)
    if before.shape[0] == before.shape[1] and np.count_nonzero(before) == np.count_nonzero(
        diagonal
    ):
        return diagonal[:, None] * matrix
    return before @ matrix


def concatenate(values: Iterable[Value]) -> Value:
    """Put values side by side."""
    parts = list(values)
    sources = sorted({s for value in parts for s in value.matrices})
    rows = {s: next(len(v.matrices[s]) for v in parts if s in v.matrices) for s in sources}
    matrices = {
        s: np.hstack([v.matrices.get(s, np.zeros((rows[s], v.width))) for v in parts])
        for s in sources
    }
    return Value(np.concatenate([v.bias for v in parts]), matrices)


class NetworkBuilder:
    """Collects layers while a reader walks a model.

    Parameters
    ----------
    n_features
        Number of raw inputs.
    center, scale
        Working coordinates of the inputs: those in which the first dense layer sees them, for
        example a scaler's mean and scale. Folding that same scaler then leaves plain weights.

    Examples
    --------
    >>> builder = NetworkBuilder(2)
    >>> hidden = builder.activate(builder.input().linear([[1.0, 2.0], [3.0, 4.0]]), "tanh")
    >>> builder.finish(builder.input().plus(hidden).linear([[1.0], [1.0]]))
    Network(2 → 2 tanh → 1 linear)
    """

    def __init__(
        self, n_features: int, center: npt.ArrayLike = 0.0, scale: npt.ArrayLike = 1.0
    ) -> None:
        self._center = np.broadcast_to(np.asarray(center, dtype=np.float64), (n_features,))
        self._scale = np.broadcast_to(np.asarray(scale, dtype=np.float64), (n_features,))
        self._widths = [n_features]
        self._layers: list[Layer] = []
        # What each layer's activation is applied to.
        self._potentials: list[Value] = []
        # Whether layers became part of another activation, and may be of no use any more.
        self._merged = False

    def potential(self, source: int) -> Value:
        """Give what the activation of a layer (1, 2, …) is applied to."""
        return self._potentials[source - 1]

    def before(self, value: Value, source: int) -> Value:
        """Give a value without the activation of the layer that is its only source."""
        return self.potential(source).linear(value.matrices[source], value.bias)

    def activation(self, source: int) -> Activation:
        """Give the activation of a layer (1, 2, …)."""
        return self._layers[source - 1].activation

    def input(self) -> Value:
        """Give the raw inputs as a value."""
        return Value(self._center.copy(), {0: np.diag(self._scale)})

    def activate(self, value: Value, function: str | Activation, **parameters: float) -> Value:
        """Apply an activation: a new layer, unless it is linear."""
        chosen = activation(function, **parameters)
        if chosen == activation("linear"):
            return value
        self._add(value, chosen)
        return Value(np.zeros(value.width), {len(self._layers): np.eye(value.width)})

    def merge(self, value: Value, function: Activation) -> Value:
        """Apply an activation that stands for several layers made before."""
        self._merged = True
        return self.activate(value, function)

    def finish(self, value: Value, *, inputs: Inputs | None = None, **fields: Any) -> Network:
        """Close with the output value.

        ``inputs`` are the user's columns, in any coordinates: they get those of this builder.
        ``fields`` are those of `Network` (names, classes, link, …).
        """
        last = len(self._layers)
        plain = last and set(value.matrices) == {last} and value.width == self._widths[-1]
        is_last_layer = plain and np.array_equal(value.matrices[last], np.eye(value.width))
        if not is_last_layer or value.bias.any():
            self._add(value, activation("linear"))
        layers = without_unused(self._layers) if self._merged else self._layers
        if inputs is not None:
            moved = inputs.around(self._center, self._scale)
            return Network(layers, inputs=moved, **fields)
        return Network(layers, center=self._center, scale=self._scale, **fields)

    def _add(self, value: Value, function: Activation) -> None:
        previous = len(self._layers)
        main = value.matrices.get(previous)
        if main is None:
            main = np.zeros((self._widths[previous], value.width))
        skips = {s: m for s, m in value.matrices.items() if s != previous and m.any()}
        self._layers.append(Layer(main, value.bias, function, skips))
        self._potentials.append(value)
        self._widths.append(value.width)


def without_unused(layers: Sequence[Layer]) -> list[Layer]:
    """Leave out layers that nothing uses: parts of a function that became one activation."""
    used = {len(layers)}
    for number in range(len(layers), 0, -1):
        if number in used:
            layer = layers[number - 1]
            used |= {number - 1} if layer.weights.any() or number == 1 else set()
            used |= {source for source, matrix in layer.skips.items() if matrix.any()}
    kept = [number for number in range(1, len(layers) + 1) if number in used]
    if len(kept) == len(layers):
        return list(layers)
    place = {0: 0, **{number: k for k, number in enumerate(kept, start=1)}}
    widths = [layers[0].n_inputs, *(layers[number - 1].n_outputs for number in kept)]
    return [_renumbered(layers[n - 1], n, k, place, widths) for k, n in enumerate(kept, start=1)]


def _renumbered(
    layer: Layer, number: int, new: int, place: dict[int, int], widths: list[int]
) -> Layer:
    """Give a layer with the new numbers of its sources."""
    fed = [(number - 1, layer.weights), *layer.skips.items()]
    sources = {place[source]: matrix for source, matrix in fed if source in place}
    main = sources.pop(new - 1, np.zeros((widths[new - 1], layer.n_outputs)))
    return Layer(main, layer.bias, layer.activation, sources)
