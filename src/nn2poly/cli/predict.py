"""``nn2poly predict``: outputs of a polynomial for the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from nn2poly.arguments import plural
from nn2poly.cli.command import Answer, command, note
from nn2poly.cli.console import progress
from nn2poly.cli.inputcolumns import choose_inputs
from nn2poly.cli.options import DataOption, Force, KeyFile, PolyArgument, TableOptions, Threshold
from nn2poly.cli.polynomials import load_polynomial
from nn2poly.cli.tablefiles import read_table
from nn2poly.cli.targets import check_target
from nn2poly.errors import InvalidInputError
from nn2poly.files import replacing
from nn2poly.formula.piecewise import Explicit
from nn2poly.formula.region_tree import region_of

if TYPE_CHECKING:
    import pandas as pd

TABLES = (".csv", ".parquet", ".feather")
# First characters by which a spreadsheet takes text for a formula, wide forms included (OWASP).
RUN_BY_SPREADSHEETS = tuple("=+-@\t\r\n＝＋－＠")
# Added to the name of a prediction where a column that is kept has it already.
SUFFIX = " (predicted)"


@command(
    ("to the terminal, or into a pipe", "nn2poly predict poly.json --data new.csv"),
    (
        "to a file, beside the column 'id'",
        "nn2poly predict poly.json -d new.csv --keep id -o predictions.csv",
    ),
    (
        "labels and probabilities of a classifier",
        "nn2poly predict iris.json -d iris.csv --label --proba",
    ),
    (
        "of a formula with regions: which rule applies to each row",
        "nn2poly predict poly.json -d new.csv --rule",
    ),
    ("from another program", "cat new.csv | nn2poly predict poly.json --data -"),
)
def predict(
    poly: PolyArgument,
    data: DataOption,
    table: TableOptions,
    proba: Annotated[
        bool, typer.Option("--proba", help="Probabilities of the classes, P(class).")
    ] = False,
    label: Annotated[bool, typer.Option("--label", help="The class that is chosen.")] = False,
    threshold: Threshold = None,
    rule: Annotated[
        bool, typer.Option("--rule", help="The region of each row, and its rule in words.")
    ] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="COL", help="Column to copy; may be repeated."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write: .csv, .parquet, .feather; default: the terminal.",
        ),
    ] = None,
    key_file: KeyFile = None,
    force: Force = False,
) -> Answer:
    """Predict with a polynomial: the raw outputs, or labels and probabilities.

    No network and no framework is needed. A row that --skip-missing leaves out stays empty.
    """
    if output is not None:
        check_target(output, TABLES, force=force)
    with progress(3) as step:
        step("reading the polynomial")
        polynomial = load_polynomial(poly, key_file)
        if threshold is not None:
            polynomial = polynomial.with_threshold(threshold)
        step("reading the data")
        frame, _ = read_table(data, table)
        kept = _kept(frame, list(dict.fromkeys(keep or ())))
        inputs = frame.drop(columns=[c for c in kept if c not in polynomial.feature_names])
        X = choose_inputs(inputs, data, polynomial.inputs, skip_missing=table.skip_missing)
        step("predicting")
        result = _beside(kept, _predictions(polynomial, X, proba, label, rule))
    if polynomial.link != "identity" and not (label or proba):
        _say_what_is_raw(polynomial)
    columns = list(result.columns)
    found = {"n_rows": len(result), "columns": columns}
    if output is not None:
        with replacing(output) as path:
            _write(result, path)
        line = f"Wrote {output}: {plural(len(result), 'row')}, columns {', '.join(columns)}."
        return Answer({**found, "file": str(output)}, (line,))
    rows = result.astype(object).where(result.notna(), None).to_numpy().tolist()
    return Answer({**found, "rows": rows}, raw=_csv(result))


def _say_what_is_raw(poly: Explicit) -> None:
    """Say of a classifier that its columns are no probabilities."""
    of = "one for each class" if poly.n_outputs > 1 else "of the second class"
    note(
        f"The columns {', '.join(poly.output_names)} are raw scores, {of}, before the {poly.link}: "
        "--proba gives probabilities, --label the class."
    )


def _kept(frame: pd.DataFrame, keep: list[str]) -> pd.DataFrame:
    if missing := [name for name in keep if name not in frame.columns]:
        raise InvalidInputError(
            f"There is no column {missing[0]!r} to keep.",
            where="--keep",
            expected=f"one of {', '.join(map(repr, frame.columns))}",
        )
    return frame[keep]


def _predictions(
    poly: Explicit, X: pd.DataFrame, proba: bool, label: bool, rule: bool
) -> pd.DataFrame:
    """Collect the wanted columns, one row for each of X."""
    import pandas

    columns: dict[str, Any] = {}
    if label:
        chosen = poly.predict_label(X)
        names = ["label"] if chosen.ndim == 1 else list(poly.output_names)
        columns |= dict(zip(names, chosen.reshape(len(X), -1).T, strict=True))
    if proba:
        chances = poly.predict_proba(X)
        columns |= dict(zip(_classes(poly, chances.shape[1]), chances.T, strict=True))
    if not (label or proba):
        raw = np.asarray(poly.predict(X)).reshape(len(X), -1)
        columns |= dict(zip(poly.output_names, raw.T, strict=True))
    if rule:
        where = region_of(poly.tree, poly.inputs, poly.inputs.read(X))
        rules = np.array([region.rule for region in poly.regions], dtype=object)
        columns |= {"region": where, "rule": rules[where]}
    return pandas.DataFrame(columns, index=X.index)


def _beside(kept: pd.DataFrame, predictions: pd.DataFrame) -> pd.DataFrame:
    """Join both; a prediction whose name is taken by a column that is kept gets another."""
    taken, names = {*kept.columns, *predictions.columns}, {}
    for name in predictions.columns.intersection(kept.columns):
        free = f"{name}{SUFFIX}"
        while free in taken:
            free += SUFFIX
        taken.add(free)
        names[name] = free
        note(f"The column {name!r} is kept as it was; the prediction is called {free!r}.")
    return kept.join(predictions.rename(columns=names))


def _classes(poly: Explicit, count: int) -> list[str]:
    classes: tuple[Any, ...] | None = poly.classes
    if classes is None or len(classes) != count:
        classes = poly.output_names if poly.n_outputs == count else tuple(range(count))
    return [f"P({name})" for name in classes]


def _csv(frame: pd.DataFrame) -> str:
    """Write CSV in which no header and no text is a formula to a spreadsheet."""
    texts = frame.select_dtypes(include=["object", "string", "category"]).columns
    safe = frame.assign(**{name: frame[name].map(_no_formula) for name in texts})
    safe.columns = [_no_formula(name) for name in safe.columns]
    text: str = safe.to_csv(index=False, lineterminator="\n")
    return text


def _no_formula(value: Any) -> Any:
    """Put an apostrophe before text that a spreadsheet would run; numbers stay."""
    if not isinstance(value, str):
        return value
    # pandas quotes a line feed, but not a carriage return, which would begin a new row.
    text = value.replace("\r\n", "\n").replace("\r", "\n")
    if text[:1] not in RUN_BY_SPREADSHEETS:
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def _write(frame: pd.DataFrame, path: Path) -> None:
    if path.suffix.lower() == ".csv":
        path.write_text(_csv(frame), encoding="utf-8", newline="")
    elif path.suffix.lower() == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.reset_index(drop=True).to_feather(path)
