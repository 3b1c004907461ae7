"""`KerasConstraint`: keep the norms of hidden neurons bounded while a Keras model trains."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.errors import UnsupportedModelError
from nn2poly.network.readers.keras import dense_layers, is_a
from nn2poly.network.readers.keras.calls import to_array
from nn2poly.training.constraint import NORMS, NormBound, hidden_layers

# Layer's name → its kernel (n_inputs, n_neurons) and its bias (n_neurons,) or None.
Variables = dict[str, tuple[Any, Any]]


@cache
def keras_constraint_class() -> type:
    """Make the class once, when it is first asked for."""
    import keras

    class KerasConstraint(keras.callbacks.Callback):  # type: ignore[misc]
        """Bound the norm of every hidden neuron's weights, bias included, after every batch.

        The neuron's vector w is rescaled to ``w · bound / ‖w‖`` when its norm exceeds the
        bound, as the R package does (always, with ``equality``); see `NormBound`. All Dense
        layers are constrained except the one that runs last. With ``steps_per_execution=k``
        Keras reports every k-th batch only, and so does the constraint.

        Parameters
        ----------
        norm
            ``"l1"``, the paper's, for which inputs in [-1, 1] keep every potential of a tanh
            network within the bound; or ``"l2"``.
        bound
            The largest norm.
        equality
            Keep every norm equal to the bound, as the paper states it.
        output
            Name of the Dense layer that stays free, for a model with a call() of its own,
            whose order cannot be found out.

        Raises
        ------
        UnsupportedModelError
            When training begins: there is no hidden layer, or its weights are not plain.
        """

        def __init__(
            self,
            *,
            norm: str = "l1",
            bound: float = 1.0,
            equality: bool = False,
            output: str | None = None,
        ) -> None:
            super().__init__()
            self.rule = NormBound(norm, bound, equality)
            self.output = output
            self._variables: Variables = {}

        def on_train_begin(self, logs: Any = None) -> None:  # noqa: ARG002
            """Find the hidden layers, and apply the constraint for the first time."""
            self._variables = {}
            # TensorFlow builds a model that has no Input in its first step, after this.
            if self.model.built:
                self.apply(self.model)

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
            """Apply the constraint after an optimiser step."""
            if not self._variables and self.model is not None:
                self.apply(self.model)
            # Asking for the model makes the JAX backend bring its variables up to date.
            if self.model is not None:
                _rescale(self._variables, self.rule)

        def apply(self, model: Any) -> None:
            """Apply the constraint once, by hand."""
            self._variables = _hidden(model, self.output)
            _rescale(self._variables, self.rule)

        def norms(self) -> dict[str, npt.NDArray[np.float64]]:
            """Give the norms (n_neurons,) of each constrained layer, by its name."""
            order = NORMS[self.rule.norm]
            return {
                name: to_array(_norm(_values(kernel), _values(bias), order))
                for name, (kernel, bias) in self._variables.items()
            }

        def __repr__(self) -> str:
            return f"KerasConstraint({self.rule})"

    KerasConstraint.__module__ = "nn2poly.training"
    KerasConstraint.__qualname__ = "KerasConstraint"
    return KerasConstraint


def _hidden(model: Any, output: str | None) -> Variables:
    if output is None:
        layers = dense_layers(model)
    else:
        layers = [layer for layer in model._flatten_layers() if is_a(layer, "Dense")]
    hidden = hidden_layers([(layer.name, layer) for layer in layers], output, "Dense")
    for name, layer in hidden.items():
        if not layer.built or not hasattr(layer.kernel, "assign"):
            raise UnsupportedModelError(
                f"The weights of the layer {name!r} cannot be constrained.",
                where=name,
                expected="a kernel that training changes",
                found="low-rank or quantised weights" if layer.built else "a layer not built yet",
                remedy="train the plain layer, built with keras.Input or by a first batch",
            )
    return {name: (layer.kernel, layer.bias) for name, layer in hidden.items()}


def _values(variable: Any) -> Any:
    """Give a variable's tensor, of which no gradient is taken."""
    from keras import ops

    return None if variable is None else ops.stop_gradient(variable.value)


def _norm(kernel: Any, bias: Any, order: int) -> Any:
    """Compute the norms (n_neurons,) of weights and bias."""
    from keras import ops

    # Tensors of every backend know abs and **; keras.ops would take several times as long.
    size = ops.sum(abs(kernel) if order == 1 else kernel**2, axis=0)
    if bias is not None:
        size = size + (abs(bias) if order == 1 else bias**2)
    return size if order == 1 else ops.sqrt(size)


def _rescale(variables: Variables, rule: NormBound) -> None:
    from keras import ops

    for kernel, bias in variables.values():
        weights, shift = _values(kernel), _values(bias)
        size = _norm(weights, shift, NORMS[rule.norm])
        factor = rule.bound / ops.maximum(size, rule.floor)
        kernel.assign(weights * factor)
        if bias is not None:
            bias.assign(shift * factor)
