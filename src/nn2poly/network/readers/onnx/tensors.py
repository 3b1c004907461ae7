"""Read ONNX tensors safely: every size is checked against the data before memory is taken."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.errors import StorageError, UnsupportedModelError
from nn2poly.network.readers.symbolic import check_memory

Array = npt.NDArray[Any]

# TensorProto.data_type → (name, bytes per number in raw_data, field that holds them otherwise).
TYPES = {
    1: ("float32", 4, "float_data"),
    2: ("uint8", 1, "int32_data"),
    3: ("int8", 1, "int32_data"),
    4: ("uint16", 2, "int32_data"),
    5: ("int16", 2, "int32_data"),
    6: ("int32", 4, "int32_data"),
    7: ("int64", 8, "int64_data"),
    8: ("string", 0, "string_data"),
    9: ("bool", 1, "int32_data"),
    10: ("float16", 2, "int32_data"),
    11: ("float64", 8, "double_data"),
    12: ("uint32", 4, "uint64_data"),
    13: ("uint64", 8, "uint64_data"),
    16: ("bfloat16", 2, "int32_data"),
}
FLOATS = {1, 10, 11, 16}
NUMBERS = set(TYPES) - {8, 9}
# int32 and int64: other whole numbers would overflow where these do not.
WHOLE = {6, 7}
EXTERNAL = 1  # TensorProto.data_location


def decode(tensor: Any, where: str) -> Array:
    """Turn a ``TensorProto`` into an array: float64, int64, bool, or str in an object array.

    Raises
    ------
    UnsupportedModelError
        For data in another file, for types that are not numbers or text.
    StorageError
        When the declared shape is not that of the data.
    """
    if tensor.data_location == EXTERNAL or len(tensor.external_data):
        raise _external(where)
    if tensor.data_type not in TYPES:
        raise UnsupportedModelError(
            "A tensor of this type cannot be read.",
            where=where,
            expected=", ".join(name for name, _, _ in TYPES.values()),
            found=f"ONNX data type {tensor.data_type}",
            remedy="export the model in float32 or float64, without quantisation",
        )
    _check_size(tensor, where)
    return _array(tensor)


def _check_size(tensor: Any, where: str) -> None:
    name, width, field = TYPES[tensor.data_type]
    shape = tuple(tensor.dims)
    raw = tensor.HasField("raw_data") and width
    held = len(tensor.raw_data) / width if raw else len(getattr(tensor, field))
    segmented = tensor.HasField("segment")
    if min(shape, default=0) < 0 or math.prod(shape) != held or segmented or len(shape) > 16:
        raise StorageError(
            "The file is damaged: a tensor does not hold what it declares.",
            where=where,
            expected=f"{name} numbers of shape {shape}"[:200],
            found="a segment of them" if segmented else f"data for {held:g} of them",
            remedy="export the model again",
        )
    check_memory(int(held), where)


def _array(tensor: Any) -> Array:
    from onnx import numpy_helper

    if tensor.data_type == 8:
        texts = [text.decode("utf-8", "replace") for text in tensor.string_data]
        return np.array(texts, dtype=object).reshape(tuple(tensor.dims))
    array = np.asarray(numpy_helper.to_array(tensor))
    if tensor.data_type == 9:
        return array.astype(bool)
    return array.astype(np.float64 if tensor.data_type in FLOATS else np.int64)


def _external(where: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        "The weights are stored in another file, which is not opened.",
        where=where,
        expected="all weights inside the ONNX file",
        found="external data",
        remedy="export with torch.onnx.export(…, external_data=False); or, if you trust the "
        "file, pass onnx.load(path), which loads its weights",
    )
