"""Ask a Keras model itself."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from nn2poly.network.readers.keras.inputs import DeclaredInputs, output_place


def own_outputs(model: Any, X: Any, _table: Any = None, output: str | int | None = None) -> Any:
    """Run the model in inference mode, by its own ``predict`` where a subclass has one."""
    import keras

    inputs = DeclaredInputs.of(model, model.name)
    parts: Any = inputs.split(X)
    parts = parts[0] if len(parts) == 1 else _arranged(model, parts)
    if not type(model).predict.__module__.startswith("keras."):
        return model.predict(parts)
    found: Any = model(parts, training=False)
    if isinstance(found, dict | list | tuple):
        leaves = [found[key] for key in sorted(found)] if isinstance(found, dict) else found
        found = leaves[output_place(model, output, model.name)]
    return keras.ops.convert_to_numpy(keras.ops.stop_gradient(found))


def _arranged(model: Any, parts: list[Any]) -> Any:
    """Give the inputs in the containers that the model was made with."""
    struct = getattr(model, "_inputs_struct", None)
    tensors = [_tensor(part) for part in parts]
    if isinstance(struct, dict):
        places = {id(tensor): k for k, tensor in enumerate(model.inputs)}
        return {key: tensors[places[id(tensor)]] for key, tensor in struct.items()}
    return tensors


def _tensor(part: Any) -> Any:
    """Make a tensor; of text only TensorFlow knows any."""
    import keras

    if part.dtype.kind != "U":
        return keras.ops.convert_to_tensor(part)
    return import_module("tensorflow").constant(part)
