"""Write docs/what-is-read.md: what the reader of each framework takes, from its own tables.

Run it after a change of a reader: ``python docs/make_readers_page.py``. The reader of Flax is
read without JAX.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "torch")

from nn2poly.network.activations import activation_names
from nn2poly.network.readers.flax.operations import RULES as FLAX
from nn2poly.network.readers.keras.layers import IN_MEMORY, LAYERS, OPERATIONS
from nn2poly.network.readers.onnx.activations import ACTIVATIONS
from nn2poly.network.readers.onnx.affine import AFFINE
from nn2poly.network.readers.onnx.outputs import LINKS
from nn2poly.network.readers.onnx.rearranging import REARRANGING
from nn2poly.network.readers.sklearn.encoders import ENCODERS
from nn2poly.network.readers.sklearn.folding import FOLDS
from nn2poly.network.readers.sklearn.transformers import PROJECTIONS, SCALERS
from nn2poly.network.readers.torch.operations import MODULES
from nn2poly.network.readers.torch.rules import RULES

PAGE = Path(__file__).with_name("what-is-read.md")
HEAD = """# What is read

This page is made from the tables of the readers themselves (`docs/make_readers_page.py`). What is
not here is refused by name;
[its outputs can be fitted instead](bring-your-model.md#any-other-model). Whether a model is read,
and as what, `read_network` says at once:

```python
import nn2poly as n2p

n2p.read_network([("tanh", [[0.0], [1.0], [1.0]]), ("linear", [[0.5], [2.0]])])
```

| framework | kind | what the reader takes |
|---|---|---|
"""


def rows() -> list[tuple[str, str, Iterable[str]]]:
    """List framework, kind and names."""
    return [
        ("PyTorch", "layers of `torch.nn`", MODULES),
        ("PyTorch", "functions, methods, operators", RULES),
        ("Keras 3", "layers", LAYERS),
        ("Keras 3", "layers of models in memory", IN_MEMORY),
        ("Keras 3", "operations of `keras.ops`", OPERATIONS),
        ("ONNX", "operators", {*AFFINE, *ACTIVATIONS, *REARRANGING, *LINKS}),
        ("Flax NNX", "operations of JAX", FLAX),
        ("scikit-learn", "steps before the network", {*FOLDS, *SCALERS, *PROJECTIONS}),
        ("scikit-learn", "encoders: their columns are factors", ENCODERS),
        ("all", "activations with a series", activation_names()),
    ]


def page() -> str:
    """Write the page."""
    lines = [
        f"| {framework} | {kind} | {', '.join(f'`{name}`' for name in sorted(names))} |"
        for framework, kind, names in rows()
    ]
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
