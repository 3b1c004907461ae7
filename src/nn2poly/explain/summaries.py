"""Names of subsets and ranked tables, shared by the explanations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from nn2poly.arguments import check_count, plural
from nn2poly.arrays import FloatArray
from nn2poly.formula.largest import largest
from nn2poly.formula.term_names import output_index
from nn2poly.tables import Table
from nn2poly.target_links import is_linked_name

Kind = TypeVar("Kind")
# More outputs than this are summed up in one column: a line holds no more (taste).
MAX_COLUMNS = 8


def shown(n: int | None = None) -> Callable[[type[Kind]], type[Kind]]:
    """Show an explanation as its table, or the n first rows, in a console and in a notebook."""

    def decorate(cls: type[Kind]) -> type[Kind]:
        kind: Any = cls
        options = () if n is None else (n,)
        kind.__repr__ = lambda self: str(self.table(*options))
        kind._repr_html_ = lambda self: self.table(*options)._repr_html_()
        return cls

    return decorate


def subset_name(subset: Sequence[int], feature_names: Sequence[str]) -> str:
    """Spell a subset of features.

    Examples
    --------
    >>> subset_name((0, 1), ("rm", "lstat"))
    'rm × lstat'
    """
    return " × ".join(feature_names[i] for i in subset)


def over_rows(values: FloatArray) -> FloatArray:
    """Tell how large values (n, …) are over the rows; one row keeps its values and their signs.

    Examples
    --------
    >>> import numpy as np
    >>> over_rows(np.array([[3.0, -1.0], [-3.0, 1.0]]))
    array([3., 1.])
    >>> over_rows(np.array([[3.0, -1.0]]))
    array([ 3., -1.])
    """
    result: FloatArray = values[0] if len(values) == 1 else (values**2).mean(axis=0) ** 0.5
    return result


def row_texts(what: str, values: FloatArray) -> tuple[str, str]:
    """Give the title and the heading of a table of what `over_rows` gives.

    Examples
    --------
    >>> import numpy as np
    >>> row_texts("Sizes", np.zeros((1, 2))), row_texts("Sizes", np.zeros((3, 2)))
    (('Sizes of 1 row', 'value'), ('Sizes: root mean square over 3 rows', 'rms value'))
    """
    if len(values) == 1:
        return f"{what} of 1 row", "value"
    return f"{what}: root mean square over {plural(len(values), 'row')}", "rms value"


def how_many(n: int | None, count: int) -> int:
    """Give the number of rows of a table that was asked for n of them, or for all (None).

    Examples
    --------
    >>> how_many(2, 5), how_many(None, 5)
    (2, 5)
    """
    return count if n is None else check_count(n, where="n")


def ranked_table(
    title: str,
    kind: str,
    names: Sequence[str],
    sizes: FloatArray,
    output_names: Sequence[str],
    *,
    n: int | None = None,
    output: int | str | None = None,
    extra: Mapping[str, FloatArray] | None = None,
    heading: str = "rms value",
) -> Table:
    """Rank named rows by the mean of their sizes over the outputs.

    Parameters
    ----------
    title, kind
        Of the table, and of its first column.
    sizes
        Array (n_names, n_outputs); of numbers below 0 the size is the absolute value.
    n
        How many to list; None for all.
    output
        Index or name of the only output to show; None for all of them.
    extra
        Rows (n_outputs,) that stand below, whatever their size.
    heading
        Of the column of numbers, when it is not an output's name.

    Examples
    --------
    >>> import numpy as np
    >>> ranked_table("Sizes", "feature", ["a", "b"], np.array([[1.0], [2.0]]), ["y"], n=1)
    Sizes
    feature  rms value
    -------  ---------
    b            2.000
    the largest 1 of 2
    """
    below = dict(extra or {})
    if output is not None:
        k = output_index(output, output_names)
        title, output_names = f"{title}, output {output_names[k]}", (output_names[k],)
        sizes, below = sizes[:, [k]], {name: size[[k]] for name, size in below.items()}
    if len(output_names) > MAX_COLUMNS:  # signs of different outputs would cancel
        sizes = np.abs(sizes).mean(axis=1, keepdims=True)
        below = {name: np.abs(size).mean(keepdims=True) for name, size in below.items()}
    order = largest(np.abs(sizes).mean(axis=1), how_many(n, len(sizes))).tolist()
    columns = (kind, heading) if sizes.shape[1] == 1 else (kind, *output_names)
    rows = [(names[i], *sizes[i].tolist()) for i in order]
    rows += [(name, *size.tolist()) for name, size in below.items()]
    notes = []
    if len(order) < len(names):
        notes.append(f"the largest {len(order):,} of {len(names):,}")
    if len(output_names) > MAX_COLUMNS:
        notes.append(f"mean size over {len(output_names):,} outputs")
    if len(output_names) == 1 and is_linked_name(output_names[0]):
        notes.append(f"of {output_names[0]}, before the link")
    return Table(title, columns, tuple(rows), note="; ".join(notes))
