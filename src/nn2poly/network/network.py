"""`Layer` and `Network`: what was read, in float64 NumPy, free of any framework."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.arguments import check_alone
from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidNetworkError
from nn2poly.inputs import Inputs
from nn2poly.network.activations import Activation, activation
from nn2poly.outputs import Outputs

# Rows of a forward pass that are worked on at a time: a layer of 1,000 neurons takes 32 MB.
BATCH_ROWS = 4096


@dataclass(frozen=True, eq=False, init=False)
class Layer:
    """A dense layer: ``activation(inputs @ weights + bias)``.

    Parameters
    ----------
    weights
        Array (n_inputs, n_outputs), applied to the output of the layer before.
    bias
        Array (n_outputs,); none means zero.
    activation
        A name of the table, an `Activation`, or any vectorised function.
    skips
        Extra linear inputs, ``{source: array (n_source, n_outputs)}``: source 0 is the
        network's input, source k the output of its k-th layer. A residual sum is a skip.

    Examples
    --------
    >>> Layer([[1.0], [2.0]], [0.5], "tanh")
    Layer(2 → 1, tanh)
    """

    weights: FloatArray
    bias: FloatArray
    activation: Activation
    skips: Mapping[int, FloatArray]

    def __init__(
        self,
        weights: npt.ArrayLike,
        bias: npt.ArrayLike | None = None,
        activation: str | Activation | Callable[[FloatArray], FloatArray] = "linear",
        skips: Mapping[int, npt.ArrayLike] | None = None,
    ) -> None:
        matrix = _real_array(weights, 2, "weights")
        set_field = object.__setattr__
        set_field(self, "weights", matrix)
        zeros = np.zeros(matrix.shape[1]) if bias is None else bias
        set_field(self, "bias", _real_array(zeros, 1, "bias"))
        set_field(self, "activation", _activation(activation))
        extra = {_source(k): _real_array(v, 2, f"skip from {k}") for k, v in (skips or {}).items()}
        set_field(self, "skips", MappingProxyType(extra))

    def __reduce__(self) -> tuple[type[Layer], tuple[object, ...]]:
        # Copies and pickles (joblib sends them) are made anew: the view of `skips` has neither.
        return Layer, (self.weights, self.bias, self.activation, dict(self.skips))

    @property
    def n_inputs(self) -> int:
        """Width of the layer before."""
        return int(self.weights.shape[0])

    @property
    def n_outputs(self) -> int:
        """Number of neurons."""
        return int(self.weights.shape[1])

    def __repr__(self) -> str:
        skips = f", skips from {sorted(self.skips)}" if self.skips else ""
        return f"Layer({self.n_inputs} → {self.n_outputs}, {self.activation.name}{skips})"


def _activation(spec: str | Activation | Callable[[FloatArray], FloatArray]) -> Activation:
    # The constructor's parameter hides the function of the same name.
    return activation(spec)


def _source(key: Any) -> int:
    if isinstance(key, int | np.integer) and not isinstance(key, bool):
        return int(key)
    raise InvalidNetworkError(
        "A skip must name its source by number.",
        expected="0 for the network's input, k for the output of layer k",
        found=repr(key),
    )


def _real_array(values: npt.ArrayLike, ndim: int, kind: str) -> FloatArray:
    """Copy ``values`` to a read-only float64 array of ``ndim`` dimensions."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InvalidNetworkError(
            f"The {kind} of a layer are not a rectangular array.", found=str(error)
        ) from error
    if array.dtype.kind not in "fiub" or array.ndim != ndim or 0 in array.shape:
        raise InvalidNetworkError(
            f"The {kind} of a layer cannot be used.",
            expected=f"a non-empty {ndim}-dimensional array of real numbers",
            found=f"shape {array.shape}, dtype {array.dtype}",
            remedy="pass weights as (n_inputs, n_outputs) and the bias as (n_outputs,)",
        )
    result = np.array(array, dtype=np.float64, order="C")
    result.setflags(write=False)
    return result


@dataclass(frozen=True, eq=False, init=False)
class Network:
    """A feed-forward network, ready to be converted.

    Parameters
    ----------
    layers
        The layers in order, the output layer last.
    feature_names, output_names
        Names; none when the model brought none.
    classes
        The labels of a classifier, in the order of its outputs.
    link
        How raw outputs become probabilities: ``"identity"``, ``"sigmoid"``, ``"softmax"``.
    center, scale
        The coordinates in which the first layer sees its inputs: ``z = (x - center) / scale``.
    inputs, outputs
        `Inputs` and `Outputs`, in place of all these.

    Examples
    --------
    >>> net = Network([Layer([[1.0], [-1.0]], [0.0], "tanh"), Layer([[2.0]], [1.0])])
    >>> net
    Network(2 → 1 tanh → 1 linear)
    >>> net.predict([[0.5, 0.5]])
    array([1.])
    """

    layers: tuple[Layer, ...]
    inputs: Inputs
    outputs: Outputs

    def __init__(
        self,
        layers: Iterable[Layer],
        feature_names: Iterable[str] | None = None,
        output_names: Iterable[str] | None = None,
        classes: Iterable[Any] | None = None,
        link: str = "identity",
        center: npt.ArrayLike = 0.0,
        scale: npt.ArrayLike = 1.0,
        *,
        inputs: Inputs | None = None,
        outputs: Outputs | None = None,
    ) -> None:
        chain = _check_layers(layers)
        p, k = chain[0].n_inputs, chain[-1].n_outputs
        if inputs is None:
            middle, size = _coordinate(center, p, "center"), _coordinate(scale, p, "scale")
            if not np.all(size > 0):
                raise InvalidNetworkError("The scale of every input must be positive.")
            inputs = Inputs.of(feature_names, p, middle, size)
        else:
            check_alone("inputs", (feature_names, center, scale), (None, 0.0, 1.0))
        if outputs is None:
            outputs = Outputs.of(output_names, k, classes, link)
        else:
            check_alone("outputs", (output_names, classes, link), (None, None, "identity"))
        if (inputs.n_features, outputs.count) != (p, k):
            raise InvalidNetworkError(
                "The inputs or outputs do not fit the layers.",
                expected=f"{p} features and {k} outputs",
                found=f"{inputs.n_features} and {outputs.count}",
            )
        for name, value in (("layers", chain), ("inputs", inputs), ("outputs", outputs)):
            object.__setattr__(self, name, value)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the features; None when the model brought none."""
        return self.inputs.feature_names if self.inputs.named else None

    @property
    def output_names(self) -> tuple[str, ...] | None:
        """The names of the outputs; None when the model brought none."""
        return self.outputs.names if self.outputs.named else None

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
        """Array (p,): centre of the coordinates of the first layer."""
        return self.inputs.center

    @property
    def scale(self) -> FloatArray:
        """Array (p,): scale of the coordinates of the first layer."""
        return self.inputs.scale

    @property
    def n_features(self) -> int:
        """Number of inputs p."""
        return self.layers[0].n_inputs

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return self.layers[-1].n_outputs

    def sources(self, index: int) -> list[tuple[int, FloatArray]]:
        """List what feeds layer ``index`` (1-based): pairs of source and matrix.

        Source 0 is the input, source k the output of layer k.
        """
        layer = self.layers[index - 1]
        return [(index - 1, layer.weights), *layer.skips.items()]

    def outputs_by_layer(self, z: FloatArray) -> list[FloatArray]:
        """Run a forward pass on inputs in working coordinates.

        Parameters
        ----------
        z
            Array (n, p), already ``(x - center) / scale``.

        Returns
        -------
        list of arrays (n, h_l)
            The input itself, then every layer's output.
        """
        outputs = [z]
        for index, layer in enumerate(self.layers, start=1):
            outputs.append(layer.activation(self.potential(index, outputs)))
        return outputs

    def potential(self, index: int, outputs: list[FloatArray]) -> FloatArray:
        """Sum what feeds layer ``index`` (1-based), given the outputs of all sources so far."""
        total = self.layers[index - 1].bias
        for source, matrix in self.sources(index):
            total = total + outputs[source] @ matrix
        return total

    def predict(self, X: Any) -> FloatArray:
        """Compute the raw outputs (before the link).

        Parameters
        ----------
        X
            Array or data frame (n, p) in raw units.

        Returns
        -------
        array (n,) for one output, (n, n_outputs) for several
        """
        z = self.to_working(self.check_data(X))
        parts = [
            self.outputs_by_layer(z[i : i + BATCH_ROWS])[-1] for i in range(0, len(z), BATCH_ROWS)
        ]
        raw = np.concatenate(parts)
        return raw[:, 0] if self.n_outputs == 1 else raw

    def check_data(self, X: Any, where: str = "X", *, allow_nan: bool = False) -> FloatArray:
        """Check a table of inputs and turn it into features: (n, p)."""
        return self.inputs.read(X, where=where, allow_nan=allow_nan)

    def to_working(self, X: FloatArray) -> FloatArray:
        """Change raw features (n, p) to working coordinates."""
        return self.inputs.to_working(X)

    def recentered(self, center: npt.ArrayLike, scale: npt.ArrayLike) -> Network:
        """Give the same network in other working coordinates, folded into its matrices."""
        new_center = _coordinate(center, self.n_features, "center")
        new_scale = _coordinate(scale, self.n_features, "scale")
        if not np.all(new_scale > 0):
            raise InvalidNetworkError("The scale of every input must be positive.")
        factor, shift = new_scale / self.scale, (new_center - self.center) / self.scale
        layers = map_inputs(self, lambda matrix: factor[:, None] * matrix, shift)
        return replace(self, layers=layers, inputs=self.inputs.around(new_center, new_scale))

    def with_inputs(self, inputs: Inputs) -> Network:
        """Give the same network with other knowledge of its columns."""
        return replace(self, inputs=inputs)

    def named(
        self, feature_names: Iterable[str] | None, output_names: Iterable[str] | None = None
    ) -> Network:
        """Give the same network with other names; None keeps what there is."""
        inputs = self.inputs if feature_names is None else self.inputs.renamed(feature_names)
        outputs = self.outputs if output_names is None else self.outputs.renamed(output_names)
        return replace(self, inputs=inputs, outputs=outputs)

    def without_common(self) -> Network:
        """Give a network of the same probabilities: of a softmax, outputs that sum to 0.

        Where the last layer has an activation, a linear layer follows it.

        Examples
        --------
        >>> net = Network([Layer([[100.0, 102.0]])], link="softmax")
        >>> net.without_common().predict([[1.0]])
        array([[-1.,  1.]])
        """
        if self.link != "softmax":
            return self
        last = self.layers[-1]
        if last.activation.name != "linear":
            apart = np.eye(self.n_outputs) - 1.0 / self.n_outputs
            return replace(self, layers=(*self.layers, Layer(apart)))
        skips = {source: _apart(matrix) for source, matrix in last.skips.items()}
        apart_layer = Layer(_apart(last.weights), _apart(last.bias), last.activation, skips)
        return replace(self, layers=(*self.layers[:-1], apart_layer))

    def __repr__(self) -> str:
        chain = " → ".join(f"{layer.n_outputs} {layer.activation.name}" for layer in self.layers)
        link = "" if self.link == "identity" else f", link={self.link}"
        return f"Network({self.n_features} → {chain}{link})"


def map_inputs(
    network: Network, change: Callable[[FloatArray], FloatArray], shift: npt.ArrayLike = 0.0
) -> tuple[Layer, ...]:
    """Rewrite the layers for other inputs: ``change`` every matrix that the inputs meet.

    ``shift``, a number or an array (p,), is first added to the inputs through the biases.
    """
    offset = np.broadcast_to(np.asarray(shift, dtype=np.float64), network.n_features)
    layers = []
    for index, layer in enumerate(network.layers, start=1):
        bias = layer.bias
        for source, matrix in network.sources(index):
            bias = bias + offset @ matrix if source == 0 else bias
        main = change(layer.weights) if index == 1 else layer.weights
        skips = {s: change(m) if s == 0 else m for s, m in layer.skips.items()}
        layers.append(Layer(main, bias, layer.activation, skips))
    return tuple(layers)


def _apart(values: FloatArray) -> FloatArray:
    """Subtract the mean over the outputs, the last axis."""
    return np.asarray(values - values.mean(axis=-1, keepdims=True))


def _coordinate(values: npt.ArrayLike, count: int, name: str) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if array.shape not in ((), (count,)) or not np.all(np.isfinite(array)):
        raise InvalidNetworkError(
            f"The {name} of the inputs cannot be used.",
            expected=f"a finite number or {count} of them",
            found=f"shape {array.shape}",
        )
    result = np.broadcast_to(array, (count,)).copy()
    result.setflags(write=False)
    return result


def _check_layers(given: Iterable[Layer]) -> tuple[Layer, ...]:
    layers = tuple(given) if isinstance(given, Iterable) else ()
    strangers = [type(layer).__name__ for layer in layers if not isinstance(layer, Layer)]
    if not layers or strangers:
        raise InvalidNetworkError(
            "A network is made of layers." if strangers else "A network needs at least one layer.",
            expected="a list of nn2poly.Layer",
            found=", ".join(strangers) or f"an empty {type(given).__name__}",
            remedy="pass nn2poly.Layer(weights, bias, activation) for each layer",
        )
    widths = [layers[0].n_inputs, *(layer.n_outputs for layer in layers)]
    for index, layer in enumerate(layers, start=1):
        _check_finite(layer, index)
        if layer.bias.shape != (layer.n_outputs,):
            raise InvalidNetworkError(
                f"The bias of layer {index} does not match its weights.",
                where=f"layer {index}",
                expected=f"shape ({layer.n_outputs},), one per column of the weights",
                found=f"shape {layer.bias.shape}",
            )
        for source, matrix in ((index - 1, layer.weights), *layer.skips.items()):
            _check_chain(widths, index, source, matrix)
    return layers


def _check_chain(widths: list[int], index: int, source: int, matrix: FloatArray) -> None:
    origin = "the input" if source == 0 else f"layer {source}"
    if not 0 <= source < index:
        raise InvalidNetworkError(
            f"Layer {index} cannot take its input from layer {source}.",
            where=f"layer {index}",
            expected=f"a source from 0 (the input) to {index - 1}",
            found=str(source),
        )
    if matrix.shape != (widths[source], widths[index]):
        raise InvalidNetworkError(
            f"Layer {index} does not fit {origin}.",
            where=f"between {origin} and layer {index}",
            expected=f"weights of shape ({widths[source]}, {widths[index]})",
            found=f"shape {matrix.shape}",
            remedy="weights are (n_inputs, n_outputs); transpose them if they come from PyTorch",
        )


def _check_finite(layer: Layer, index: int) -> None:
    parts = {"weights": layer.weights, "bias": layer.bias}
    parts |= {f"skip from {source}": matrix for source, matrix in layer.skips.items()}
    for name, array in parts.items():
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            place = tuple(int(i) for i in bad[0])
            raise InvalidNetworkError(
                f"The {name} of layer {index} hold NaN or infinite values.",
                where=f"layer {index}, {name}{list(place)}",
                expected="finite numbers",
                found=f"{len(bad)} of {array.size} not finite, first {array[place]}",
                remedy="the training diverged or the file is damaged; train again",
            )
