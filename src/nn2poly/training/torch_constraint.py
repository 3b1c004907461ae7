"""`TorchConstraint`: keep the norms of hidden neurons bounded while a torch module trains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nn2poly.errors import UnsupportedModelError
from nn2poly.training.constraint import NORMS, NormBound, hidden_layers
from nn2poly.training.lightning import attaching_callback

if TYPE_CHECKING:
    import torch


class TorchConstraint:
    """Bound the norm of every hidden neuron's weights, bias included, after every step.

    The neuron's vector w is rescaled to ``w · bound / ‖w‖`` when its norm exceeds the bound,
    as the R package does (always, with ``equality``); see `NormBound`. All Linear layers
    that the forward pass calls are constrained except the last, which stays free.

    Parameters
    ----------
    model
        The module that is trained.
    norm
        ``"l1"``, the paper's, for which inputs in [-1, 1] keep every potential of a tanh
        network within the bound; or ``"l2"``.
    bound
        The largest norm.
    equality
        Keep every norm equal to the bound, as the paper states it.
    output
        Name of the Linear layer that stays free, when the order of the forward pass cannot
        be found out (control flow that depends on the data).

    Raises
    ------
    UnsupportedModelError
        When there is no hidden layer, or its weights are not plain parameters.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> constraint = TorchConstraint(model, equality=True).attach(optimizer)
    >>> model(torch.ones(5, 3)).sum().backward()
    >>> optimizer.step()
    >>> constraint.norms()["0"].round(6)
    array([1., 1., 1., 1., 1., 1., 1., 1.])
    """

    def __init__(
        self,
        model: torch.nn.Module,
        *,
        norm: str = "l1",
        bound: float = 1.0,
        equality: bool = False,
        output: str | None = None,
    ) -> None:
        self.rule = NormBound(norm, bound, equality)
        self._layers = _hidden(model, output)
        self._handles: list[Any] = []

    def attach(self, optimizer: torch.optim.Optimizer) -> TorchConstraint:
        """Apply the constraint now and after every step of the optimiser."""
        self.apply()
        self._handles.append(optimizer.register_step_post_hook(lambda *_: self.apply()))
        return self

    def detach(self) -> None:
        """Leave the optimisers alone again; the weights stay as they are."""
        while self._handles:
            self._handles.pop().remove()

    def apply(self) -> None:
        """Apply the constraint once, in place."""
        import torch

        order, bound, floor = NORMS[self.rule.norm], self.rule.bound, self.rule.floor
        with torch.no_grad():
            for layer in self._layers.values():
                weight, bias = _parameters(layer)
                divisor = _norm(weight, bias, order).clamp_(min=floor)
                divisor = divisor if bound == 1.0 else divisor.div_(bound)
                weight.div_(divisor.unsqueeze(1))
                if bias is not None:
                    bias.div_(divisor)

    def norms(self) -> dict[str, npt.NDArray[np.float64]]:
        """Give the norms (n_neurons,) of each constrained layer, by its name."""
        order = NORMS[self.rule.norm]
        return {
            name: _norm(*_parameters(layer), order).detach().cpu().double().numpy()
            for name, layer in self._layers.items()
        }

    def lightning_callback(self) -> Any:
        """Give a Lightning callback that attaches this to the trainer's optimisers."""
        return attaching_callback(self)

    def __repr__(self) -> str:
        return f"TorchConstraint({self.rule}, layers={list(self._layers)})"


def _parameters(layer: Any) -> tuple[Any, Any]:
    # Not layer.weight: this runs after every step, and a module's own lookup is slow.
    parameters = layer._parameters
    return parameters["weight"], parameters["bias"]


def _norm(weight: torch.Tensor, bias: torch.Tensor | None, order: int) -> torch.Tensor:
    """Compute the norms (n_neurons,) of weights and bias; half precision sums in single."""
    # Several times faster than torch.linalg.vector_norm along an axis.
    size = _power(weight, order).sum(1)
    if bias is not None:
        size += _power(bias, order)
    return size if order == 1 else size.sqrt()


def _power(tensor: torch.Tensor, order: int) -> torch.Tensor:
    wide = tensor.float() if tensor.element_size() < 4 else tensor
    return wide.abs() if order == 1 else wide.square()


def _hidden(model: torch.nn.Module, output: str | None) -> dict[str, Any]:
    from torch.nn import Linear

    inner = _unwrapped(model)
    linear = {name: m for name, m in inner.named_modules() if isinstance(m, Linear)}
    names = list(linear) if output is not None else _called(inner, linear)
    hidden = hidden_layers([(name, linear[name]) for name in names], output, "Linear")
    for name, layer in hidden.items():
        _check_plain(name, layer)
    return hidden


def _unwrapped(model: Any) -> Any:
    """Look inside what torch.compile and data parallelism wrap around a module."""
    from torch.nn import DataParallel
    from torch.nn.parallel import DistributedDataParallel

    while True:
        if hasattr(model, "_orig_mod"):
            model = model._orig_mod
        elif isinstance(model, DataParallel | DistributedDataParallel):
            model = model.module
        else:
            return model


def _called(model: torch.nn.Module, linear: dict[str, Any]) -> list[str]:
    """List the names of the Linear layers that the forward pass calls, by their last call."""
    from torch.fx import Tracer

    try:
        nodes = Tracer().trace(model).nodes
    except Exception as error:  # whatever the forward pass of the user raises
        raise UnsupportedModelError(
            "The order of the layers cannot be found out, so it is not known which is last.",
            where=f"{type(model).__name__}.forward",
            expected="a forward pass that torch.fx can trace",
            found=f"{type(error).__name__}: {str(error).partition(chr(10))[0]}",
            remedy=f"name the output layer: output=…, one of {', '.join(map(repr, linear))}",
        ) from error
    calls = [str(node.target) for node in nodes if node.op == "call_module"]
    last = {name: place for place, name in enumerate(calls) if name in linear}
    return sorted(last, key=last.__getitem__)


def _check_plain(name: str, layer: Any) -> None:
    from torch.nn.parameter import UninitializedParameter

    weight = layer._parameters.get("weight")
    if weight is None or isinstance(weight, UninitializedParameter):
        lazy = weight is not None
        raise UnsupportedModelError(
            f"The weights of the layer {name!r} cannot be constrained.",
            where=name,
            expected="a parameter called weight",
            found="a lazy layer that has seen no data" if lazy else "a parametrised weight",
            remedy="run the model once on a batch first"
            if lazy
            else "remove the parametrisation (weight_norm, spectral_norm, pruning)",
        )
