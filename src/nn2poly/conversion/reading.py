"""What users pass as data, checked and turned into a sample that can be walked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.arguments import real_array
from nn2poly.arrays import FloatArray
from nn2poly.conversion.dask_rows import dask_sample
from nn2poly.conversion.folds import MIN_ROWS_TO_HOLD_OUT, LocalSample, Rows, Sample, chunks
from nn2poly.errors import InvalidInputError
from nn2poly.inputs import frame_columns
from nn2poly.network.network import Network
from nn2poly.streams import is_dask, open_stream

# Batches are kept in memory up to so many numbers, 256 MB; above, every step walks them again.
GATHERED_NUMBERS = 2**25


def renamed_data(network: Network, data: Any, feature_names: Iterable[str] | None) -> Any:
    """Read a data frame by the names that its columns have, where the user wants others.

    Parameters
    ----------
    network
        As it was read, with its own names.
    """
    columns = frame_columns(data)
    if columns is None or feature_names is None or set(feature_names) <= set(columns):
        return data
    return network.check_data(data, where="data")


def named_network(
    network: Network,
    data: Any,
    feature_names: Iterable[str] | None,
    output_names: Iterable[str] | None,
) -> Network:
    """Give the network its names: the user's, else the model's, else the data frame's."""
    if feature_names is None and network.feature_names is None and data is not None:
        feature_names = sample_columns(data)
    return network.named(feature_names, output_names)


def read_sample(data: Any, network: Network, sample_weight: npt.ArrayLike | None) -> Sample:
    """Turn what the user passed as data into a sample.

    Parameters
    ----------
    data
        An array or data frame (n, p); a stream (see `nn2poly.streams`) or a Dask collection;
        or batches: a list of arrays or frames, any other iterable that can be walked more
        than once, or a function that returns a new iterator. A batch may be a pair
        (X, weights).
    sample_weight
        Array (n,) of weights for the rows of an array or frame.

    Returns
    -------
    Sample
    """
    if is_dask(data):
        _check_no_weights(sample_weight)
        return dask_sample(data, network)
    stream = open_stream(data)
    if stream is not None or _is_batches(data):
        batches = data if stream is None else stream
        _check_no_weights(sample_weight)
        gathered = _gathered(batches, network)
        if gathered is None:
            return LocalSample(Rows(lambda: _checked_batches(batches, network), hold_out=True))
        X, weights = gathered
    else:
        X = network.check_data(data, where="data")
        weights = _weights(sample_weight, len(X), "sample_weight")
        if not weights.any():
            raise _no_weight("sample_weight")
    enough = bool(np.count_nonzero(weights) >= MIN_ROWS_TO_HOLD_OUT)
    return LocalSample(Rows(lambda: chunks(X, weights), enough))


def _check_no_weights(sample_weight: npt.ArrayLike | None) -> None:
    if sample_weight is not None:
        raise InvalidInputError(
            "sample_weight goes with an array or a data frame.",
            remedy="with batches, let each one be a pair (X, weights)",
        )


def _gathered(data: Any, network: Network) -> tuple[FloatArray, FloatArray] | None:
    """Keep batches that together are small, so that they are walked once; None if they are not."""
    parts, rows = [], 0
    for part in _checked_batches(data, network):
        parts.append(part)
        rows += len(part[0])
        if rows * network.n_features > GATHERED_NUMBERS:
            return None
    tables, weights = zip(*parts, strict=True)
    return np.concatenate(tables), np.concatenate(weights)


def sample_columns(data: Any) -> tuple[str, ...] | None:
    """Give the column names that the data bring: of a frame, or of the first batch's."""
    if (stream := None if is_dask(data) else open_stream(data)) is not None:
        return frame_columns(next(stream(), None))
    if not _is_batches(data):
        return frame_columns(data)
    _check_new_iterators(data)
    first = next(iter(data() if callable(data) else data), None) if _again(data) else None
    return frame_columns(first[0] if isinstance(first, tuple) else first)


def _check_new_iterators(data: Any) -> None:
    """Refuse a function that hands out the same iterator again, of which batches would be lost."""
    if callable(data) and (first := data()) is data() and iter(first) is first:
        raise InvalidInputError(
            "The function returns the same iterator each time that it is called.",
            where="data",
            expected="a new iterator for each walk over the batches",
            found=type(first).__name__,
            remedy="make the iterator inside the function: data=lambda: read()",
        )


def _again(data: Any) -> bool:
    """Tell whether looking at the first batch leaves the batches whole."""
    return callable(data) or iter(data) is not data


def _is_batches(data: Any) -> bool:
    """Tell batches from one table: a function, an iterator, or an iterable of tables."""
    if frame_columns(data) is not None or hasattr(data, "dtype") or not _walkable(data):
        return False
    if callable(data) or not isinstance(data, list | tuple):
        return True
    first = data[0] if data else None
    pair = isinstance(first, tuple) and len(first) == 2 and _is_table(first[0])
    return pair or _is_table(first)


def _walkable(data: Any) -> bool:
    return callable(data) or isinstance(data, Iterable)


def _is_table(part: Any) -> bool:
    return frame_columns(part) is not None or getattr(part, "ndim", 0) == 2


def _checked_batches(data: Any, network: Network) -> Iterator[tuple[FloatArray, FloatArray]]:
    batches = data() if callable(data) else iter(data)
    if batches is data:
        raise InvalidInputError(
            "These batches can be walked only once; a calibration walks them several times.",
            where="data",
            found=type(data).__name__,
            remedy="pass a list, or a function that returns a new iterator: data=lambda: read()",
        )
    empty, light = True, True
    for number, part in enumerate(batches):
        X, given = _pair(part, number)
        if _is_table(X) and not len(X):
            continue
        rows = network.check_data(X, where=f"data, batch {number}")
        weights = _weights(given, len(rows), f"weights of batch {number}")
        yield from chunks(rows, weights)
        empty, light = False, light and not weights.any()
    if empty:
        raise InvalidInputError(
            "The data are empty.",
            where="data",
            found="no rows",
            remedy="check the filter or file that they come from; a function must return a new "
            "iterator each time that it is called",
        )
    if light:
        raise _no_weight("data")


def _pair(part: Any, number: int) -> tuple[Any, Any]:
    if not isinstance(part, tuple):
        return part, None
    if len(part) != 2:
        raise InvalidInputError(
            "A batch is a table, or a pair of a table and its weights.",
            where=f"data, batch {number}",
            found=f"{len(part)} parts",
        )
    return part


def _weights(values: npt.ArrayLike | None, n_rows: int, where: str) -> FloatArray:
    if values is None:
        return np.ones(n_rows)
    weights: FloatArray = real_array(values, where)
    if weights.shape != (n_rows,) or np.any(weights < 0):
        raise InvalidInputError(
            "The weights of the rows cannot be used.",
            where=where,
            expected=f"{n_rows} finite numbers, none negative",
            found=f"shape {weights.shape}",
        )
    return weights


def _no_weight(where: str) -> InvalidInputError:
    return InvalidInputError("All weights of the rows are zero.", where=where)
