"""What users pass as data, checked and turned into a sample that can be walked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from nn2poly.arguments import real_array
from nn2poly.arrays import FloatArray
from nn2poly.batches import draws_rows, is_shuffled, split_batch, torch_batches
from nn2poly.errors import InvalidInputError, NN2PolyWarning, warn_user
from nn2poly.inputs import complete_rows, frame_columns, offering_skip
from nn2poly.network.oracle import Model
from nn2poly.rows.dask_rows import dask_sample
from nn2poly.rows.folds import (
    HELD_OUT,
    MIN_ROWS_TO_HOLD_OUT,
    LocalSample,
    Rows,
    Sample,
    chunks,
    local_sample,
    numbering,
)
from nn2poly.sampling import Keys, distinct, group_keys, row_keys
from nn2poly.streams import even_choice, is_dask, open_stream

T = TypeVar("T", bound=Model)

# Batches are kept in memory up to so many numbers, 256 MB; above, every step walks them again.
GATHERED_NUMBERS = 2**25
# Groups below which none can be kept for the card while others are fitted and chosen on.
MIN_GROUPS = 5
# Rows of which few are different, or in few groups, up to which a conversion is repeated (taste).
FEW_TO_REPEAT = 5_000
# Rows of a collection of Dask that are looked at for its columns and types.
FIRST_ROWS = 1_000


def renamed_data(network: Model, data: Any, feature_names: Iterable[str] | None) -> Any:
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
    network: T,
    data: Any,
    feature_names: Iterable[str] | None,
    output_names: Iterable[str] | None,
) -> T:
    """Give the network its names: the user's, else the model's, else the data frame's."""
    if feature_names is None and network.feature_names is None and data is not None:
        feature_names = sample_columns(data)
        own = [column.name for column in network.inputs.columns]
        # Names that a model gives to its inputs, in a frame that may hold others, too.
        if feature_names is not None and set(own) <= set(feature_names):
            feature_names = own
    return cast("T", network.named(feature_names, output_names))


def read_sample(
    data: Any,
    network: Model,
    sample_weight: npt.ArrayLike | None,
    groups: npt.ArrayLike | None = None,
    *,
    hold_out_from: int = MIN_ROWS_TO_HOLD_OUT,
    skip_missing: bool = False,
) -> Sample:
    """Turn what the user passed as data into a sample.

    Parameters
    ----------
    data
        An array or data frame (n, p); a stream (see `nn2poly.streams`) or a Dask collection;
        or batches: a list of arrays or frames, a PyTorch loader or dataset, any other iterable
        that can be walked more than once, or a function that returns a new iterator. Of a batch
        (X, y) the first is taken; of a dictionary the table, and its ``"sample_weight"``.
    sample_weight
        Array (n,) of weights for the rows, also of batches that fit in memory.
    groups
        Array (n,): rows of one group are on one side of every split; None for equal rows alone.
    hold_out_from
        Different rows, or groups, from which on some of them are kept for the card.
    skip_missing
        Leave out rows with holes that nothing fills in, which are else refused.

    Returns
    -------
    Sample
    """
    if is_dask(data):
        _check_no_weights(sample_weight)
        _check_no_groups(groups)
        return dask_sample(data, network, hold_out_from, skip_missing=skip_missing)
    stream = open_stream(data) or torch_batches(data)
    if stream is not None or is_batches(data):
        batches = data if stream is None else stream
        _check_no_groups(groups)
        walk = partial(_checked_batches, batches, network, skip_missing)
        gathered = _gathered(partial(walk, with_holes=True), network)
        if gathered is None:
            _check_no_weights(sample_weight)
            _check_same_order(data)
            numbers = numbering(next(walk())[0])
            return LocalSample(Rows(walk, HELD_OUT, numbers=numbers))
        (X, weights), given = gathered, None
        if is_shuffled(data):
            _warn_drawn(data)
            # Equal rows may differ in weight: which of them comes first decides nothing then.
            order = np.lexsort((weights, row_keys(X)))
            X, weights = X[order], weights[order]
        weights = weights * _weights(sample_weight, len(X), "sample_weight")
    else:
        with offering_skip():
            X = network.check_data(data, where="data", allow_nan=skip_missing)
        weights = _weights(sample_weight, len(X), "sample_weight")
        given = None if groups is None else group_keys(groups, len(X))
    complete = complete_rows(X, "data")
    if not complete.all():
        X, weights = X[complete], weights[complete]
        given = None if given is None else given[complete]
    if not weights.any():
        raise _no_weight("sample_weight")
    keys = _keys(X, weights, given)
    if len(X) > FEW_TO_REPEAT:
        hold_out_from = MIN_ROWS_TO_HOLD_OUT
    if groups is not None and hold_out_from == MIN_ROWS_TO_HOLD_OUT:
        hold_out_from = MIN_GROUPS
    return local_sample(X, weights, keys, hold_out_from=hold_out_from)


def _keys(X: FloatArray, weights: FloatArray, groups: Keys | None) -> Keys:
    """Give the keys (n,) that rows are split by: their groups, or what they hold."""
    if groups is not None:
        if distinct(groups[weights > 0]) < MIN_GROUPS:
            raise InvalidInputError(
                "There are too few groups to keep some of them for the card.",
                where="groups",
                expected=f"{MIN_GROUPS} groups with a positive weight at least",
                found=str(distinct(groups[weights > 0])),
                remedy="leave groups out, or give finer ones",
            )
        return groups
    keys = row_keys(X)
    # Few different rows are all that there is: new ones will be the same, again and again.
    if distinct(keys[weights > 0]) < MIN_ROWS_TO_HOLD_OUT:
        keys = np.arange(len(X), dtype=np.uint64)
    return keys


def _check_no_weights(sample_weight: npt.ArrayLike | None) -> None:
    if sample_weight is not None:
        raise InvalidInputError(
            "sample_weight goes with rows that fit in memory.",
            where="sample_weight",
            remedy='let each batch be a dictionary {"X": X, "sample_weight": weights}',
        )


def _check_no_groups(groups: npt.ArrayLike | None) -> None:
    if groups is not None:
        raise InvalidInputError(
            "groups goes with an array or a data frame.",
            where="groups",
            remedy="read the table, and pass it as one",
        )


def _check_same_order(data: Any) -> None:
    """Refuse a loader that shuffles: rows kept for the card would be fitted on another walk."""
    if is_shuffled(data):
        raise InvalidInputError(
            "A loader that shuffles is too large to be kept in memory.",
            where="data",
            expected="the same order of rows on each walk",
            found=f"sampler {type(data.sampler).__name__}",
            remedy="make the loader with shuffle=False",
        )


def _warn_drawn(data: Any) -> None:
    """Warn about a loader that gives other rows the next time."""
    if draws_rows(data):
        warn_user(
            "This loader draws its rows at random, with replacement or without its last batch: "
            "the next conversion will see other rows, and give another formula. Pass the dataset, "
            "or a loader with shuffle=False.",
            NN2PolyWarning,
        )


def _gathered(walk: Any, network: Model) -> tuple[FloatArray, FloatArray] | None:
    """Keep batches that together are small, so that they are walked once; None if they are not."""
    parts, rows = [], 0
    for part in walk():
        parts.append(part)
        rows += len(part[0])
        if rows * network.n_features > GATHERED_NUMBERS:
            return None
    tables, weights = zip(*parts, strict=True)
    return np.concatenate(tables), np.concatenate(weights)


def sample_columns(data: Any) -> tuple[str, ...] | None:
    """Give the column names that the data bring: of a frame, or of the first batch's."""
    return frame_columns(data if is_dask(data) else first_table(data))


def first_table(data: Any) -> Any:
    """Give a table in memory with the first rows of the data: themselves, or their first batch.

    None where looking would use batches up.
    """
    if is_dask(data):
        return next(even_choice(data, FIRST_ROWS), None)
    if open_stream(data) is None and torch_batches(data) is None and is_batches(data):
        _check_new_iterators(data)
        if not callable(data) and iter(data) is data:
            return None
    return next(all_tables(data), None)


def all_tables(data: Any) -> Iterator[Any]:
    """Walk all tables of the data, in memory one at a time; one of them where there is only one."""
    stream = open_stream(data) or torch_batches(data)
    if stream is None and not is_batches(data):
        yield data
        return
    walk = stream or (data if callable(data) else lambda: iter(data))
    yield from (split_batch(part, "data")[0] for part in walk())


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


def is_batches(data: Any) -> bool:
    """Tell batches from one table: a function, an iterator, or an iterable of tables."""
    if frame_columns(data) is not None or hasattr(data, "dtype"):
        return False
    if not (callable(data) or isinstance(data, Iterable)):
        return False
    if callable(data) or not isinstance(data, list | tuple):
        return True
    first = data[0] if data else None
    if isinstance(first, Mapping):
        return True
    inside = first[0] if isinstance(first, tuple | list) and first else first
    return _is_table(first) or _is_table(inside)


def _is_table(part: Any) -> bool:
    return frame_columns(part) is not None or getattr(part, "ndim", 0) == 2


def _checked_batches(
    data: Any, network: Model, skip_missing: bool, *, with_holes: bool = False
) -> Iterator[tuple[FloatArray, FloatArray]]:
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
        where = f"data, batch {number}"
        table, given = split_batch(part, where)
        if _is_table(table) and not len(table):
            continue
        with offering_skip():
            X = network.check_data(table, where=where, allow_nan=skip_missing)
        weights = _weights(given, len(X), f"weights of batch {number}")
        kept = with_holes | ~np.isnan(X).any(axis=1)
        yield from chunks(X[kept], weights[kept])
        empty, light = empty and not kept.any(), light and not weights[kept].any()
    if empty:
        raise InvalidInputError(
            "The data are empty.",
            where="data",
            found="no complete rows" if skip_missing else "no rows",
            remedy="check the filter or file that they come from; a function must return a new "
            "iterator each time that it is called",
        )
    if light:
        raise _no_weight("data")


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
