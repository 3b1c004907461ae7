"""The skeleton of a PyTorch model: its tensors in new modules, in evaluation mode.

It is traced in place of the user's model, which is never touched: flags, hooks and whatever a
forward writes to ``self`` stay in the skeleton.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from copy import copy
from typing import Any

import torch
from torch.nn.utils import prune
from torch.nn.utils.spectral_norm import SpectralNorm
from torch.nn.utils.weight_norm import WeightNorm

from nn2poly.errors import UnsupportedModelError

# Wrappers → the attribute that holds the model.
WRAPPERS = {
    "AveragedModel": "module",
    "OptimizedModule": "_orig_mod",  # torch.compile
    "DataParallel": "module",
    "DistributedDataParallel": "module",
}
# Attributes to which a forward might append.
CONTAINERS = (OrderedDict, deque, dict, list, set)
# Pre-hooks that only compute a weight; `tensor_of` reads what they compute.
WEIGHT_HOOKS = (prune.BasePruningMethod, SpectralNorm, WeightNorm)


def unwrap(module: torch.nn.Module) -> torch.nn.Module:
    """Give the model inside the wrappers of torch.compile, averaging and parallelism."""
    names = {cls.__name__ for cls in type(module).__mro__ if cls.__module__.startswith("torch.")}
    for wrapper in names & set(WRAPPERS):
        inner: torch.nn.Module = getattr(module, WRAPPERS[wrapper])
        return unwrap(inner)
    return module


def skeleton(module: torch.nn.Module) -> torch.nn.Module:
    """Copy the modules, not their tensors, and put the copy in evaluation mode."""
    return _bare(module, "", {})


def _bare(given: torch.nn.Module, path: str, known: dict[int, Any]) -> torch.nn.Module:
    module = unwrap(given)
    if id(module) in known:  # a layer that is used twice
        shared: torch.nn.Module = known[id(module)]
        return shared
    check_plain(module, path)
    bare: torch.nn.Module = object.__new__(type(module))
    known[id(module)] = bare
    own = {k: copy(v) if type(v) in CONTAINERS else v for k, v in vars(module).items()}
    own |= {"training": False, "_compiled_call_impl": None}
    own |= {name: OrderedDict() for name in ("_backward_hooks", "_backward_pre_hooks")}
    own["_modules"] = {
        name: None if child is None else _bare(child, f"{path}.{name}".lstrip("."), known)
        for name, child in module._modules.items()
    }
    if any(cls.__name__ == "LightningModule" for cls in type(module).__mro__):
        own |= {"log": _log_nothing, "log_dict": _log_nothing}
    vars(bare).update(own)
    return bare


def _log_nothing(*args: Any, **kwargs: Any) -> None:
    """Stand in for Lightning's ``log``, which needs a running trainer."""


def check_plain(module: torch.nn.Module, path: str) -> None:
    """Refuse what would make a module do something else than its forward says."""
    if type(module).__module__.startswith("torch.export"):  # its checks of the inputs
        return
    where = f"{path or 'the model'} ({type(module).__name__})"
    if isinstance(module, torch.jit.ScriptModule):
        raise UnsupportedModelError(
            "A TorchScript module hides its operations.",
            where=where,
            remedy="pass the torch.nn.Module that it was made from, or torch.export it",
        )
    if isinstance(module, torch.nn.modules.lazy.LazyModuleMixin):
        raise UnsupportedModelError(
            "A lazy layer has no weights yet.",
            where=where,
            remedy="run the model once on a batch, or load its trained weights",
        )
    hooks = [*module._forward_hooks.values(), *module._forward_pre_hooks.values()]
    strange = [hook for hook in hooks if not _is_harmless(hook, module)]
    if strange or "forward" in vars(module):
        found = "a forward of its own" if not strange else f"the forward hook {strange[0]!r}"
        raise UnsupportedModelError(
            "A module has been changed from outside, which may change what it computes.",
            where=where,
            found=found,
            remedy="remove the hook (handle.remove()) or the replaced forward, then convert",
        )


def _is_harmless(hook: Any, module: torch.nn.Module) -> bool:
    """Say whether a hook computes a weight that `tensor_of` knows, or checks inputs only."""
    checks = getattr(hook, "__module__", "").startswith("torch.export")
    return checks or (isinstance(hook, WEIGHT_HOOKS) and is_leaf(module))


def is_leaf(module: torch.nn.Module) -> bool:
    """Say whether a module is one step: its forward is torch's own, and it is no container."""
    home: str = getattr(type(module).forward, "__module__", None) or ""
    return home.startswith(("torch.nn.modules", "torch.ao")) and not isinstance(
        module, torch.nn.Sequential
    )
