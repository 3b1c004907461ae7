"""``nn2poly convert``: from the file of a network to the file of its polynomial."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from nn2poly.cli.command import Answer, command, note
from nn2poly.cli.console import progress
from nn2poly.cli.inputcolumns import choose_inputs
from nn2poly.cli.models import compare_with_file, load_network
from nn2poly.cli.options import (
    Classes,
    Force,
    Groups,
    KeyFile,
    Link,
    ModelArgument,
    SomeData,
    TableOptions,
    Threshold,
    Trust,
    of_conversion,
    values,
)
from nn2poly.cli.polynomials import (
    describe,
    facts,
    read_key,
    rules,
    scores_text,
    target_scores,
    top_terms,
)
from nn2poly.cli.tablefiles import named, read_table, take_groups
from nn2poly.cli.targets import check_target
from nn2poly.errors import InvalidInputError
from nn2poly.fit.convert import converted
from nn2poly.fit.options import METHODS, Options
from nn2poly.fit.transforms import KINDS
from nn2poly.formula.piecewise import Explicit
from nn2poly.formula.polynomial import Polynomial
from nn2poly.network.network import Network

POLYNOMIALS = (".json", ".npz")
# Terms that the answer shows, in all or of each region (taste), and the steps that a calibration
# announces.
SHOWN, SHOWN_PER_REGION, STEPS = 8, 3, 8


@dataclass(frozen=True, kw_only=True)
class ConversionOptions:
    """What `convert` is asked for, in words of the command line."""

    data: SomeData = None
    order: Annotated[
        str | None,
        of_conversion("max_order", "N|auto", "--order", "-q", known=("1", "2", "3", "auto")),
    ] = None
    max_terms: Annotated[int | None, of_conversion("max_terms", "N")] = Options.max_terms
    regions: Annotated[str, of_conversion("regions", "N|auto", known=("4", "8", "16", "auto"))] = (
        "1"
    )
    bounded: Annotated[bool, of_conversion("bounded", None, "--bounded/--no-bounded")] = True
    method: Annotated[str, of_conversion("method", "NAME", known=METHODS)] = Options.method
    around: Annotated[
        int | None,
        typer.Option(
            "--around", metavar="ROW", help="Expand around this row of the data, counted from 1."
        ),
    ] = None
    taylor_order: Annotated[int, of_conversion("taylor_order", "N")] = 8
    target_r2: Annotated[float, of_conversion("target_r2", "R2")] = Options.target_r2
    transforms: Annotated[
        list[str] | None,
        typer.Option(
            "--transforms",
            metavar="curve|COL=KIND",
            help="Enter all numbers as a curve, or columns as curve, log, log1p, rank; repeatable.",
            autocompletion=values("curve"),
        ),
    ] = None
    threshold: Threshold = None
    groups: Groups = None
    link: Link = None
    classes: Classes = None

    def checked(self) -> Options:
        """Check all before a file is read; names of files and columns stand for what is in them."""
        given: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        given["max_order"] = _number(given.pop("order"))
        given["regions"] = _number(self.regions)
        given["transforms"] = _transforms(self.transforms or [])
        if self.classes is not None:
            given["classes"] = [name.strip() for name in self.classes.split(",")]
        return Options(**given)


@command(
    ("calibrate an order-2 polynomial on data", "nn2poly convert model.onnx --data train.csv"),
    (
        "find the order by itself; 'price' is no input",
        "nn2poly convert model.skops -d train.csv -t price --order auto -o poly.json",
    ),
    (
        "the 100 terms that matter most, of whatever order",
        "nn2poly convert model.onnx --data train.csv --max-terms 100",
    ),
    (
        "up to 8 regions, each with a polynomial of its own",
        "nn2poly convert model.onnx --data train.csv --regions 8",
    ),
    (
        "the method of the paper, without data",
        "nn2poly convert model.keras --method taylor --order 3",
    ),
    (
        "exactly around the first row of a file",
        "nn2poly convert model.pt2 -d rows.csv --around 1 -o local.json",
    ),
)
def convert(
    model: ModelArgument,
    table: TableOptions,
    asked: ConversionOptions,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write: .json or .npz."),
    ] = Path("poly.json"),
    trust: Trust = False,
    key_file: KeyFile = None,
    force: Force = False,
) -> Answer:
    """Turn a trained network into a polynomial, and say how closely it follows.

    With data every activation is fitted to what it does on them, and the fidelity is measured
    on rows that were held out.
    """
    check_target(output, POLYNOMIALS, force=force)
    key, options = read_key(key_file), asked.checked()
    with progress(STEPS) as step:
        step("reading the model")
        network = load_network(model, trust=trust)
        rows, target, together = None, None, None
        if asked.data is not None:
            step("reading the data")
            rows, target, together = _read_rows(asked.data, table, asked.groups, network)
        compare_with_file(network, model, rows)
        options = replace(
            options,
            data=rows if options.way == "calibrated" else None,
            around=None if asked.around is None else _row(rows, asked.around),
            groups=together,
            progress=step,
            feature_names=_feature_names(network, rows),
            output_names=_output_names(network, table.target),
        )
        poly = converted(network, options)
        verdict = None if poly.card is None else poly.card.verdict
        # What it advises is looked for before the file is written, which then has it as well.
        said = () if verdict is None else (str(verdict),)
        step("writing the polynomial")
        poly.save(output, key=key)
    # Rows outside a local polynomial's point are no surprise here: no score for it.
    scores = None if asked.around is not None else target_scores(network, poly, rows, target)
    return _answer(poly, output, said, scores, table.target)


def _read_rows(data: str, table: TableOptions, groups: str | None, network: Network) -> Any:
    """Read the rows of the inputs, their targets, and what they belong to."""
    frame, target = read_table(data, table)
    frame, together = take_groups(frame, data, groups, network.inputs)
    rows = choose_inputs(frame, data, network.inputs, skip_missing=table.skip_missing)
    if network.feature_names is None:
        note(
            f"The model does not name its inputs: the columns of {named(data)} are taken in "
            "their order."
        )
    return rows, *(None if part is None else part.loc[rows.index] for part in (target, together))


def _answer(
    poly: Explicit, output: Path, verdict: tuple[str, ...], scores: Any, target: str | None
) -> Answer:
    """Say what was written, how far to trust it, and its largest terms."""
    card = None if poly.card is None else poly.card.to_dict()
    found = {"polynomial": str(output), **describe(poly), "card": card, "scores": scores}
    head = f"Wrote {output}: {facts(poly)}."
    terms = top_terms(poly, SHOWN if isinstance(poly, Polynomial) else SHOWN_PER_REGION)
    return Answer(found, (head, *verdict, *scores_text(scores, target), *rules(poly), terms))


def _number(text: str | None) -> int | str | None:
    """Read a whole number; anything else is left to the check of the option."""
    try:
        return text if text is None else int(text)
    except ValueError:
        return text.strip().lower() if text else text


def _transforms(given: list[str]) -> str | dict[str, str] | None:
    if given == ["curve"]:
        return given[0]
    pairs = [text.rpartition("=") for text in given]
    checked = zip(given, pairs, strict=True)
    if wrong := [text for text, (name, _, kind) in checked if not name or kind not in KINDS]:
        raise InvalidInputError(
            "The transforms are not understood.",
            where="--transforms",
            expected=f"curve alone, or a column and one of {', '.join(KINDS)}",
            found=repr(wrong[0]),
            remedy="--transforms income=log --transforms age=rank",
        )
    return {name: kind for name, _, kind in pairs} or None


def _feature_names(network: Network, rows: Any) -> tuple[str, ...] | None:
    """Name the inputs after the columns when the model has no names of its own."""
    if network.feature_names is not None or rows is None:
        return None
    return tuple(rows.columns)


def _output_names(network: Network, target: str | None) -> list[str] | None:
    """Name the single output of a regression after the target."""
    nameless = network.output_names is None and network.n_outputs == 1
    return [target] if target and nameless and not network.outputs.is_classifier else None


def _row(rows: Any, around: int) -> Any:
    if rows is None or not 1 <= around <= len(rows):
        raise InvalidInputError(
            "There is no such row to expand around.",
            where="--around",
            expected="--data with rows" if rows is None else f"1 to {len(rows)}",
            found=str(around),
        )
    return rows.iloc[[around - 1]]
