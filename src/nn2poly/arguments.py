"""Check small arguments (orders, choices, names), and word what is wrong with them."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from math import isinf
from reprlib import repr as short_repr
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.errors import InvalidInputError

# The highest order: far beyond what has a use, and below what memory and doubles end at (taste).
_MAX_ORDER = 100
# Names that a message lists before it counts the rest (taste).
MAX_LISTED = 10


def check_order(
    max_order: object, *, where: str = "max_order", lowest: int = 1, otherwise: str = ""
) -> int:
    """Return the order as an int between ``lowest`` and 100; or say what else may be passed.

    Examples
    --------
    >>> check_order(3)
    3
    """
    order = _integer(max_order)
    if order is None:
        what, remedy = "The order must be an integer.", "pass an int, for example max_order=2"
    elif lowest <= order <= _MAX_ORDER:
        return order
    else:
        what = "The order is out of range."
        remedy = "2 or 3 suits most networks: the number of terms grows like p**max_order"
    expected = f"an integer from {lowest} to {_MAX_ORDER}{f' or {otherwise}' if otherwise else ''}"
    found = _described(max_order)
    raise InvalidInputError(what, where=where, expected=expected, found=found, remedy=remedy)


def check_count(n: object, *, where: str, otherwise: str = "", remedy: str | None = None) -> int:
    """Return a positive int; ``otherwise`` says what else may be passed.

    Examples
    --------
    >>> check_count(10, where="n")
    10
    """
    count = _integer(n)
    if count is not None and count >= 1:
        return count
    raise InvalidInputError(
        f"{where} must be a positive integer{f' or {otherwise}' if otherwise else ''}.",
        where=where,
        expected="1 or more",
        found=_described(n),
        remedy=remedy,
    )


def check_flag(value: object, *, name: str) -> bool:
    """Return ``value`` if it is True or False; a text such as "no" would count as True.

    Examples
    --------
    >>> check_flag(False, name="bounded")
    False
    """
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise InvalidInputError(
        f"{name} must be True or False.",
        where=name,
        expected="True or False",
        found=_described(value),
        remedy=f"pass {name}=True or {name}=False",
    )


def check_choice(value: object, choices: Sequence[str], *, name: str) -> str:
    """Return ``value`` if it is one of the choices.

    Examples
    --------
    >>> check_choice("taylor", ("taylor", "local"), name="method")
    'taylor'
    """
    if isinstance(value, str) and value in choices:
        return value
    near = nearest(value, choices) if isinstance(value, str) else None
    expected = "one of " + ", ".join(map(repr, choices))
    remedy = f"did you mean {near!r}?" if near else f"pass one of these as {name}"
    raise InvalidInputError(
        f"Unknown {name}.", where=name, expected=expected, found=_described(value), remedy=remedy
    )


def check_alone(whole: str, parts: Sequence[Any], defaults: Sequence[Any]) -> None:
    """Refuse an argument beside others in whose place it stands: they would be ignored.

    Examples
    --------
    >>> check_alone("inputs", (0.0, None), (0.0, None))
    """
    if all(np.array_equal(part, plain) for part, plain in zip(parts, defaults, strict=True)):
        return
    raise InvalidInputError(
        f"{whole} and arguments in whose place it stands were given together.",
        where=whole,
        expected=f"{whole} alone, or the others",
        remedy=f"change {whole} instead: see its methods",
    )


def default_names(prefix: str, count: int) -> tuple[str, ...]:
    """Count from 1 after the prefix; a single output is plain ``"y"``.

    Examples
    --------
    >>> default_names("x", 1), default_names("y", 1), default_names("y", 2)
    (('x1',), ('y',), ('y1', 'y2'))
    """
    if prefix == "y" and count == 1:
        return (prefix,)
    return tuple(f"{prefix}{i}" for i in range(1, count + 1))


def check_names(
    names: Iterable[str] | None, count: int | None = None, *, kind: str, default_prefix: str
) -> tuple[str, ...]:
    """Return ``count`` distinct non-empty names, the default ones for None.

    Parameters
    ----------
    names
        The names in order, or None.
    count
        How many there must be; None for any number of names, one at least.
    kind
        ``"feature"`` or ``"output"``; messages speak of ``feature_names``.
    default_prefix
        Passed to :func:`default_names`.

    Examples
    --------
    >>> check_names(["rm", "lstat"], 2, kind="feature", default_prefix="x")
    ('rm', 'lstat')
    """
    if names is None and count is not None:
        return default_names(default_prefix, count)
    given = _ordered(names, f"{kind}_names")
    count = max(1, len(given)) if count is None else count
    problem = _names_problem(given, count)
    if problem is None:
        return tuple(str(name) for name in given)
    what, expected = f"The {kind} names cannot be used.", plural(count, "distinct string")
    raise InvalidInputError(
        what, where=f"{kind}_names", expected=expected, found=problem[0], remedy=problem[1]
    )


def real_array(values: npt.ArrayLike, name: str, kinds: str = "fiub") -> Any:
    """Copy finite real numbers to a read-only float64 (or intp) array.

    Parameters
    ----------
    kinds
        NumPy dtype kinds that are accepted; ``"iu"`` gives an integer array.

    Returns
    -------
    array of any shape
        The same object when it already is a read-only array of the type.

    Examples
    --------
    >>> real_array([[1, 2]], "weights")
    array([[1., 2.]])
    """
    dtype = np.intp if kinds == "iu" else np.float64
    problem = "not a rectangular array of numbers"
    try:
        array = np.asarray(values)
        if array.dtype.kind in kinds or not array.size:
            result = array.astype(dtype, order="C", copy=_may_change(array))
            problem = "" if np.all(np.isfinite(result)) else "NaN or infinite values"
    except (TypeError, ValueError, OverflowError) as error:
        problem = str(error)
    if problem:
        raise InvalidInputError(
            f"The {name} cannot be used.",
            where=name,
            expected="finite real numbers" if dtype is np.float64 else "integers",
            found=problem,
        )
    result.setflags(write=False)
    return result


def _may_change(array: npt.NDArray[Any]) -> bool:
    """Tell whether somebody may still write to the memory of an array."""
    base: Any = array
    while isinstance(base, np.ndarray):
        if base.flags.writeable:
            return True
        base = base.base
    return base is not None


def per_feature(
    values: npt.ArrayLike, count: int, name: str, *, positive: bool = False
) -> npt.NDArray[np.float64]:
    """Spread a number, or one per feature, to a read-only array (count,).

    Examples
    --------
    >>> per_feature(2.0, 3, "scale", positive=True)
    array([2., 2., 2.])
    """
    array = real_array(values, name)
    if array.shape not in ((), (count,)) or (positive and not np.all(array > 0)):
        raise InvalidInputError(
            f"The {name} of the features cannot be used.",
            where=name,
            expected=f"a {'positive ' if positive else ''}number, or {count} of them",
            found=f"shape {array.shape}" if array.shape else _described(values),
        )
    spread: npt.NDArray[np.float64] = array if array.shape else np.full(count, array)
    spread.setflags(write=False)
    return spread


def _integer(value: object) -> int | None:
    """Return the value as an int if it is one; True is not, nor is 2.0."""
    candidate: Any = value
    try:
        return None if isinstance(value, bool | np.bool_) else operator.index(candidate)
    except TypeError:
        return None


def _ordered(names: object, where: str) -> list[object]:
    """List the names; one string and a set are refused: their order is not the user's."""
    if isinstance(names, Iterable) and not isinstance(names, str | bytes | set | frozenset):
        return list(names)
    what, expected = "Names must come in order, one by one.", "a list or a tuple of strings"
    remedy = f"write {where}=[{names!r}]" if isinstance(names, str) else "pass a list"
    raise InvalidInputError(
        what, where=where, expected=expected, found=_described(names), remedy=remedy
    )


def _names_problem(names: list[object], count: int) -> tuple[str, str] | None:
    """Return what is wrong with the names and the remedy, or None."""
    if strangers := [name for name in names if not isinstance(name, str)]:
        kinds = ", ".join(sorted({type(name).__name__ for name in strangers}))
        return f"{listed(strangers)} ({kinds})", "convert them: [str(name) for name in names]"
    if len(names) != count:
        return plural(len(names), "name"), "give one name for each, in the order of the network"
    if empty := [i for i, name in enumerate(names) if not str(name).strip()]:
        return f"an empty name at position {listed(empty)}", "give each a name, or pass None"
    if repeated := [name for name, times in Counter(names).items() if times > 1]:
        return f"{listed(repeated)} more than once", "rename the repeated ones"
    return None


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate closest in spelling, whatever its case, or None."""
    folded = {candidate.casefold(): candidate for candidate in candidates}
    close = get_close_matches(name.casefold(), folded, n=1)
    return folded[close[0]] if close else None


def listed(items: Sequence[object], show: Callable[[Any], str] = repr) -> str:
    """List the first items and count the rest."""
    more = len(items) - MAX_LISTED
    text = ", ".join(show(item) for item in items[:MAX_LISTED])
    return f"{text}, … and {more:,} more" if more > 0 else text


def plural(count: int, noun: str) -> str:
    """Count a noun: ``1 row``, ``2,000 rows``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def interval_text(low: float | None, high: float | None) -> str:
    """Write bounds; None and infinite ones do not bind.

    Examples
    --------
    >>> interval_text(0.81234, 6.2), interval_text(None, 99999.0)
    ('0.8123 … 6.2', '… 99,999')
    """
    ends = ("" if end is None or isinf(end) else _end_text(end) for end in (low, high))
    return " … ".join(ends).strip()


def _end_text(end: float) -> str:
    """Write a bound with four digits, a large one in full: 1e+05 is not the 99,999 meant."""
    return f"{end:,.0f}" if 1e4 <= abs(end) < 1e9 else f"{end:.4g}"


def _described(value: object) -> str:
    return f"{short_repr(value)} ({type(value).__name__})"
