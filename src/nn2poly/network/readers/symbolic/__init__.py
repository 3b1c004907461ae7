"""What the readers of PyTorch, Keras and ONNX share: tensors that depend on the inputs.

A reader walks the operations of its framework with a `Tensor` in place of numbers. Where entries
move, they are numbered and the framework (or NumPy) moves the numbers; where they are added or
multiplied by constants, an affine function changes; an activation makes a layer.
"""

from nn2poly.network.readers.symbolic.affine import (
    added,
    dense_value,
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
from nn2poly.network.readers.symbolic.limits import check_memory
from nn2poly.network.readers.symbolic.tensor import (
    ROWS,
    MisfitError,
    RowsLostError,
    Tensor,
    aligned,
    lifted,
    numbered,
    rows_lost,
    selected,
    size_of,
)

__all__ = [
    "ROWS",
    "MisfitError",
    "RowsLostError",
    "Tensor",
    "TensorBuilder",
    "added",
    "aligned",
    "check_memory",
    "dense_value",
    "divided",
    "in_own_coordinates",
    "joined",
    "lifted",
    "multiplied",
    "negated",
    "numbered",
    "per_channel",
    "rows_counted",
    "rows_lost",
    "same_layers",
    "selected",
    "size_of",
]
