"""Ask a function of the user's for outputs, and read what it gives, whatever its type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError, NN2PolyError, UnsupportedModelError
from nn2poly.inputs import frame_columns

ONE_TABLE = "an array or frame of numbers, (n,) or (n, k), one row for each row of the table"


@dataclass(frozen=True)
class Answer:
    """Outputs (n, k), and their names where the function gives some."""

    values: FloatArray
    names: tuple[str, ...] | None = None


def is_function(model: Any) -> bool:
    """Say whether something can be asked: a function, a method, an object with ``__call__``."""
    return callable(model) and not isinstance(model, type)


def asking_function(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Give the function as it is asked: methods of PyTorch and Keras models without noise.

    A method of a PyTorch module gets tensors, in evaluation mode and without gradients; ``predict``
    of a Keras model shows no bar; ``predict`` of a classifier, which gives labels, is refused.
    """
    owner: Any = getattr(function, "__self__", None)
    name = getattr(function, "__name__", "")
    roots = {f"{c.__module__.partition('.')[0]}.{c.__name__}" for c in type(owner).__mro__}
    if "torch.Module" in roots and "keras.Model" not in roots:
        from nn2poly.network.readers.torch.answers import on_tensors

        return on_tensors(function, owner)
    if "keras.Model" in roots and name == "predict":
        return lambda table: function(table, verbose=0)  # type: ignore[call-arg]
    if name == "predict" and hasattr(owner, "predict_proba") and hasattr(owner, "classes_"):
        raise InvalidInputError(
            "This function gives labels, which are not numbers to fit.",
            where=f"{type(owner).__name__}.predict",
            expected="probabilities or scores",
            remedy='pass model.predict_proba with link="sigmoid" (two classes) or link="softmax"',
        )
    return function


def read_answer(function: Callable[[Any], Any], table: Any, n_rows: int) -> Answer:
    """Ask for the outputs of a table, and check them.

    Parameters
    ----------
    n_rows
        Of the table.

    Returns
    -------
    Answer
    """
    try:
        given = function(table)
    except NN2PolyError:
        raise
    except Exception as error:  # the function is the user's: it may raise anything
        text = str(error).strip().partition("\n")[0][:300]
        raise UnsupportedModelError(
            "The function fails on rows like those of the data.",
            where=_name(function),
            expected=f"a function of a table ({type(table).__name__}, {n_rows} rows)",
            found=f"{type(error).__name__}: {text}",
            remedy="try function(X.head()) or function(X[:5]) yourself; wrap it so that it takes "
            "the table that you pass as data: lambda X: model.predict(prepare(X))",
        ) from error
    return _read(given, n_rows, _name(function))


def _read(given: Any, n_rows: int, where: str) -> Answer:
    labels = frame_columns(given)
    if isinstance(given, dict | tuple) or given is None:
        raise _refused(f"a {type(given).__name__}", where, "choose one: lambda X: model(X)[0]")
    values = given.to_numpy() if labels is not None else given
    if all(hasattr(type(values), name) for name in ("detach", "cpu")):
        values = values.detach().cpu().double().numpy()
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        remedy = "of a classifier pass model.predict_proba, with link="
        raise _refused(f"values of type {array.dtype}", where, remedy)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or len(array) != n_rows or not array.shape[1]:
        remedy = f"give one row for each of the {n_rows} rows of the table"
        raise _refused(f"shape {np.shape(values)}", where, remedy)
    wide = labels is not None and len(set(labels)) == len(labels)
    return Answer(array.astype(np.float64), labels if wide else None)


def _refused(found: str, where: str, remedy: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        "The outputs of the function cannot be read.",
        where=where,
        expected=ONE_TABLE,
        found=found,
        remedy=remedy,
    )


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", None) or type(function).__name__)
