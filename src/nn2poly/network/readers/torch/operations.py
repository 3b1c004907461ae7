"""The names of PyTorch's operations, and `Call`, an operation with its arguments.

One name serves a function (``torch.tanh``, ``F.relu``), a method (``x.tanh()``), an operator
(``x + y``) and an exported operation (``aten.tanh``); a module is a call of its function.
"""

from __future__ import annotations

import builtins
import inspect
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.utils import prune
from torch.nn.utils.spectral_norm import SpectralNorm
from torch.nn.utils.weight_norm import WeightNorm

from nn2poly.errors import UnsupportedModelError
from nn2poly.network.readers.refusals import why
from nn2poly.network.readers.symbolic import TensorBuilder

# Other spellings of the same operation; operators such as += overwrite like add_.
SYNONYMS = {
    "arctan": "atan", "log_sigmoid": "logsigmoid", "special_expit": "sigmoid",
    "_softmax": "softmax", "_log_softmax": "log_softmax", "clip": "clamp",
    "concat": "cat", "concatenate": "cat", "mm": "matmul", "mv": "matmul",
    "subtract": "sub", "multiply": "mul", "negative": "neg",
    "absolute": "abs", "arccos": "acos", "arcsin": "asin", "arcsinh": "asinh",
    "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le",
    "special_erf": "erf", "special_log1p": "log1p", "special_expm1": "expm1",
    "float_power": "pow", "divide": "div", "true_divide": "div", "truediv": "div",
    "iadd": "add_", "isub": "sub_", "imul": "mul_", "itruediv": "div_",
}  # fmt: skip
# Arguments after the first, in the order of builtin functions and methods.
PARAMETERS = {
    "batch_norm": ("weight", "bias", "running_mean", "running_var", "training", "momentum", "eps"),
    "celu": ("alpha",),
    "clamp": ("min", "max"),
    "clamp_max": ("max",),
    "clamp_min": ("min",),
    "conv1d": ("weight", "bias", "stride", "padding", "dilation", "groups"),
    "dropout": ("p", "train"),
    "elu": ("alpha", "scale", "input_scale"),
    "embedding": ("weight", "padding_idx", "max_norm"),
    "gelu": ("approximate",),
    "glu": ("dim",),
    "hardshrink": ("lambd",),
    "hardtanh": ("min_val", "max_val"),
    "leaky_relu": ("negative_slope",),
    "linear": ("weight", "bias"),
    "log_softmax": ("dim",),
    "one_hot": ("num_classes",),
    "prelu": ("weight",),
    "softmax": ("dim",),
    "softplus": ("beta", "threshold"),
    "softshrink": ("lambd",),
    "threshold": ("threshold", "value"),
}
# torch.nn's class → the function it calls; its parameters are attributes of the same name.
MODULES = {
    "CELU": "celu", "ELU": "elu", "GELU": "gelu", "Hardsigmoid": "hardsigmoid",
    "Hardtanh": "hardtanh", "LeakyReLU": "leaky_relu", "LogSigmoid": "logsigmoid",
    "LogSoftmax": "log_softmax", "Mish": "mish", "PReLU": "prelu", "ReLU": "relu",
    "ReLU6": "relu6", "SELU": "selu", "Sigmoid": "sigmoid", "SiLU": "silu",
    "Softmax": "softmax", "Softplus": "softplus", "Softsign": "softsign", "Tanh": "tanh",
    "Conv1d": "conv1d", "Embedding": "embedding", "GLU": "glu", "Hardshrink": "hardshrink",
    "Hardswish": "hardswish",
    "Softshrink": "softshrink", "Tanhshrink": "tanhshrink", "Threshold": "threshold",
    "BatchNorm1d": "batch_norm", "SyncBatchNorm": "batch_norm", "Linear": "linear",
    # In evaluation mode these give back what they got, in another shape or the same.
    **dict.fromkeys(("AlphaDropout", "Dropout", "Dropout1d", "FeatureAlphaDropout"), "view"),
    **dict.fromkeys(("Flatten", "Identity", "Unflatten"), "view"),
}  # fmt: skip
NAMESPACES = (torch, torch.nn.functional, operator, builtins, torch.special, torch._C._nn)
# Arguments that some write with their names.
FIRST, SECOND = ("input", "self", "tensors"), ("other", "mat2", "vec")

COMPARISONS = ("abs", "ge", "gt", "le", "lt", "max", "maximum", "min", "minimum", "where")
NAMED = "use the activation by its name, for example torch.relu or leaky_relu"
QUANTISED = "its weights are quantised", "convert the model from before quantisation"
OTHERWISE = (
    "use Linear, BatchNorm1d, Dropout, sums and the known activations; convert the part of the "
    "model that is made of them; or build the network by hand from nn2poly.Layer"
)


@dataclass(frozen=True, eq=False)
class Call:
    """One operation that meets a symbolic tensor.

    Parameters
    ----------
    name
        Its key in the table of rules.
    target
        What torch would run.
    builder
        Where activations make layers.
    final
        The result goes to the output, at most in another shape.
    """

    name: str
    target: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    builder: TensorBuilder
    final: bool = False

    def parameters(self) -> dict[str, Any]:
        """Give all arguments after the first by name."""
        names = PARAMETERS.get(self.name, ())
        if isinstance(self.target, torch._ops.OpOverload):
            names = tuple(argument.name for argument in self.target._schema.arguments)[1:]
        elif inspect.isfunction(self.target):
            names = tuple(inspect.signature(self.target).parameters)[1:]
        return dict(zip(names, self.args[1:], strict=False)) | self.kwargs


def operation_name(target: Callable[..., Any] | str) -> str | None:
    """Give the name of a function or method of torch, None for anybody else's function.

    A trailing underscore says that it overwrites its first argument.
    """
    if isinstance(target, str):
        name = target
    elif isinstance(target, torch._ops.OpOverload):
        name = target._schema.name.removeprefix("aten::")
    else:
        name = getattr(target, "__name__", "")
        known = {name, name.removeprefix("special_")}
        if not any(getattr(space, n, None) is target for space in NAMESPACES for n in known):
            return None
    inner = SYNONYMS.get(name.removesuffix("_"))
    return f"{inner}{'_' * name.endswith('_')}" if inner else name


def positional(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], Any]:
    """Put operands that were given by name where the rules look for them."""
    rest = dict(kwargs)
    if not args:
        args = tuple(rest.pop(name) for name in FIRST if name in rest)
    if len(args) == 1:
        args += tuple(rest.pop(name) for name in SECOND if name in rest)
    return args, rest


# ---- modules ---------------------------------------------------------------------------------


def module_name(module: torch.nn.Module) -> str | None:
    """Give the name of the function that a module of torch.nn, or a subclass, calls."""
    for cls in type(module).__mro__:
        if cls.__module__.startswith("torch.nn.modules"):
            same = type(module).forward is getattr(
                cls, "forward", None
            )  # not so in a quantised layer
            return MODULES.get(cls.__name__) if same else None
    return None


def module_arguments(module: torch.nn.Module, name: str) -> dict[str, Any]:
    """Give the parameters with which a module calls its function."""
    given = {
        key: tensor_of(module, key) for key in PARAMETERS.get(name, ()) if hasattr(module, key)
    }
    return given | ({"eps": getattr(module, "eps", 1e-5)} if name == "batch_norm" else {})


def tensor_of(module: torch.nn.Module, name: str) -> Any:
    """Give an attribute as the next forward pass would see it, after its pre-hooks."""
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, prune.BasePruningMethod) and hook._tensor_name == name:
            return hook.apply_mask(module)  # type: ignore[no-untyped-call]
        if isinstance(hook, WeightNorm) and hook.name == name:
            return hook.compute_weight(module)
        if isinstance(hook, SpectralNorm) and hook.name == name:
            return hook.compute_weight(module, do_power_iteration=False)
    return getattr(module, name)


# ---- refusals --------------------------------------------------------------------------------


def unknown(target: object) -> UnsupportedModelError:
    """Say that an operation or a layer cannot be read, and what can be done."""
    kind = kind_of(target)
    name = kind.rpartition(".")[2]
    reason, remedy = why(name)
    if "quantized" in kind:
        reason, remedy = QUANTISED
    remedy = NAMED if name in COMPARISONS else remedy or OTHERWISE
    if isinstance(target, torch._ops.OpOverload):
        remedy += "; of an exported program, read the one before run_decompositions()"
    return UnsupportedModelError(
        f"{name} cannot be read: {reason}.",
        expected="a chain or sum of linear layers and activations",
        found=kind,
        remedy=remedy,
    )


def kind_of(target: object) -> str:
    """Give the full name of a layer's class, a function or a method."""
    if isinstance(target, str):
        return f"torch.Tensor.{target}"
    if isinstance(target, torch.nn.Module):
        return f"{type(target).__module__}.{type(target).__qualname__}"
    name = getattr(target, "__name__", None) or type(target).__name__
    if isinstance(target, torch._ops.OpOverload):
        return f"torch.ops.{target._schema.name.replace('::', '.')}"
    return f"{getattr(target, '__module__', None) or 'builtins'}.{name}"
