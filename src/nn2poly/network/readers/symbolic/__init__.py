"""What the readers of PyTorch, Keras and ONNX share: tensors that depend on the inputs.

A reader walks the operations of its framework with a `Tensor` in place of numbers. Where entries
move, they are numbered and the framework (or NumPy) moves the numbers; where they are added or
multiplied by constants, an affine function changes; an activation makes a layer.
"""

from nn2poly.network.readers.symbolic.affine import (
    added,
    constant_like,
    divided,
    joined,
    multiplied,
    negated,
    per_channel,
)
from nn2poly.network.readers.symbolic.build import (
    TensorBuilder,
    in_own_coordinates,
    rows_counted,
    same_layers,
)
from nn2poly.network.readers.symbolic.factors import Factor
from nn2poly.network.readers.symbolic.limits import check_memory, reading_file
from nn2poly.network.readers.symbolic.tensor import (
    ROWS,
    MisfitError,
    RowsLostError,
    Tensor,
    numbered,
    rows_lost,
    selected,
)

__all__ = [
    "ROWS",
    "Factor",
    "MisfitError",
    "RowsLostError",
    "Tensor",
    "TensorBuilder",
    "added",
    "check_memory",
    "constant_like",
    "divided",
    "in_own_coordinates",
    "joined",
    "multiplied",
    "negated",
    "numbered",
    "per_channel",
    "reading_file",
    "rows_counted",
    "rows_lost",
    "same_layers",
    "selected",
]
