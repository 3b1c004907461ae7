"""``nn2poly convert``: from the file of a network to the file of its polynomial."""

from __future__ import annotations

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
from nn2poly.conversion import convert as conversion
from nn2poly.conversion.transforms import KINDS
from nn2poly.errors import InvalidInputError
from nn2poly.formula.polynomial import Polynomial
from nn2poly.network.network import Network

POLYNOMIALS = (".json", ".npz")
# Terms that the answer shows, in all or of each region (taste), and the steps that a calibration
# announces.
SHOWN, SHOWN_PER_REGION, STEPS = 8, 3, 8


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
    data: SomeData = None,
    order: Annotated[
        str | None,
        typer.Option(
            "--order",
            "-q",
            metavar="N|auto",
            help="Highest order of the terms, 2 without --max-terms; auto needs data.",
            autocompletion=values("1", "2", "3", "auto"),
        ),
    ] = None,
    max_terms: Annotated[
        int | None,
        typer.Option(
            "--max-terms",
            metavar="N",
            help="A budget of terms, spent where they matter; needs data.",
        ),
    ] = None,
    regions: Annotated[
        str,
        typer.Option(
            "--regions",
            metavar="N|auto",
            help="How many regions there may be, each with its polynomial; auto: as few as reach "
            "--target-r2. Needs data.",
            autocompletion=values("4", "8", "16", "auto"),
        ),
    ] = "1",
    bounded: Annotated[
        bool,
        typer.Option(
            "--bounded/--no-bounded",
            help="Hold numbers within what the data show, so that nothing runs away.",
        ),
    ] = True,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help="auto, calibrated (fits the data), taylor (the paper), local (around a row).",
            autocompletion=values(*conversion.METHODS),
        ),
    ] = "auto",
    around: Annotated[
        int | None,
        typer.Option(
            "--around", metavar="ROW", help="Expand around this row of the data, counted from 1."
        ),
    ] = None,
    taylor_order: Annotated[
        int, typer.Option("--taylor-order", metavar="N", help="Order of each activation's series.")
    ] = 8,
    target_r2: Annotated[
        float,
        typer.Option(
            "--target-r2", metavar="R2", help="What --order auto and --regions auto try to reach."
        ),
    ] = 0.99,
    transforms: Annotated[
        list[str] | None,
        typer.Option(
            "--transforms",
            metavar="curve|COL=KIND",
            help="Enter all numbers as a curve, or columns as curve, log, log1p, rank; repeatable.",
            autocompletion=values("curve"),
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write: .json or .npz."),
    ] = Path("poly.json"),
    threshold: Threshold = None,
    groups: Groups = None,
    link: Link = None,
    classes: Classes = None,
    trust: Trust = False,
    key_file: KeyFile = None,
    force: Force = False,
) -> Answer:
    """Turn a trained network into a polynomial, and say how closely it follows.

    With data every activation is fitted to what it does on them, and the fidelity is measured
    on rows that were held out.
    """
    check_target(output, POLYNOMIALS, force=force)
    key = read_key(key_file)
    max_order, curves = _order(order), _transforms(transforms or [])
    budget = _budget(max_terms, data, method, around)
    wanted = _regions(regions, data, method, around)
    if groups is not None:
        _check_sampled("Groups of rows are of data.", "--groups", data, method, around)
    with progress(STEPS) as step:
        step("reading the model")
        network = load_network(model, trust=trust)
        rows, target, together = None, None, None
        if data is not None:
            step("reading the data")
            frame, target = read_table(data, table)
            frame, together = take_groups(frame, data, groups, network.inputs)
            rows = _inputs(frame, data, network, table)
            target = None if target is None else target.loc[rows.index]
            together = None if together is None else together.loc[rows.index]
        compare_with_file(network, model, rows)
        poly = conversion.convert(
            network,
            max_order,
            data=None if around is not None or method == "taylor" else rows,
            method=method,
            max_terms=budget,
            regions=wanted,
            bounded=bounded,
            around=None if around is None else _row(rows, around),
            taylor_order=taylor_order,
            target_r2=target_r2,
            transforms=curves,
            groups=together,
            progress=step,
            threshold=threshold,
            link=link,
            classes=None if classes is None else [name.strip() for name in classes.split(",")],
            feature_names=_feature_names(network, rows),
            output_names=_output_names(network, table.target),
        )
        # Before the file is written: it then has the advice of the verdict as well.
        verdict = () if poly.card is None else (str(poly.card.verdict),)
        step("writing the polynomial")
        poly.save(output, key=key)
    # Rows outside a local polynomial's point are no surprise here: no score for it.
    scores = None if around is not None else target_scores(network, poly, rows, target)
    card = None if poly.card is None else poly.card.to_dict()
    found = {"polynomial": str(output), **describe(poly), "card": card, "scores": scores}
    head = f"Wrote {output}: {facts(poly)}."
    terms = top_terms(poly, SHOWN if isinstance(poly, Polynomial) else SHOWN_PER_REGION)
    said = (head, *verdict, *scores_text(scores, table.target), *rules(poly), terms)
    return Answer(found, said)


def _order(text: str | None) -> int | str | None:
    if text is None or (order := _number(text)) is not None:
        return None if text is None else order
    raise InvalidInputError(
        "The order must be a whole number or 'auto'.",
        where="--order",
        expected="1, 2, 3 … or auto",
        found=repr(text),
        remedy="2 or 3 suits most networks",
    )


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


def _budget(max_terms: int | None, data: str | None, method: str, around: int | None) -> int | None:
    """Check a budget of terms, in words of the command line."""
    if max_terms is None:
        return None
    if max_terms < 1:
        raise InvalidInputError(
            "A budget of terms must be a whole number above 0.",
            where="--max-terms",
            expected="1 or more",
            found=str(max_terms),
            remedy="100 shows the main lines of most networks; leave it out for all terms",
        )
    what = "A budget of terms is spent on what data show."
    _check_sampled(what, "--max-terms", data, method, around)
    return max_terms


def _regions(text: str, data: str | None, method: str, around: int | None) -> int | str:
    """Check a number of regions, in words of the command line."""
    wanted = _number(text)
    if wanted is None or (isinstance(wanted, int) and wanted < 1):
        raise InvalidInputError(
            "The number of regions must be a whole number above 0, or 'auto'.",
            where="--regions",
            expected="1, 2, 3 … or auto",
            found=repr(text),
            remedy="8 or 16 can still be read; auto takes as few as reach --target-r2",
        )
    if wanted != 1:
        _check_sampled("Regions are found on data.", "--regions", data, method, around)
    return wanted


def _check_sampled(
    what: str, where: str, data: str | None, method: str, around: int | None
) -> None:
    """Refuse an option that needs a calibration."""
    if data is None or around is not None or method not in ("auto", "calibrated"):
        found = "--around" if around is not None else f"--method {method}"
        raise InvalidInputError(
            what,
            where=where,
            expected="--data, without --around and with --method auto or calibrated",
            found="no --data" if data is None else found,
            remedy="add --data train.csv" if data is None else f"leave {found} or {where} out",
        )


def _number(text: str) -> int | str | None:
    """Read a whole number, or "auto"; None for anything else."""
    if text.strip().lower() == "auto":
        return "auto"
    try:
        return int(text)
    except ValueError:
        return None


def _inputs(frame: Any, data: str, network: Network, table: TableOptions) -> Any:
    rows = choose_inputs(frame, data, network.inputs, skip_missing=table.skip_missing)
    if network.feature_names is None:
        note(
            f"The model does not name its inputs: the columns of {named(data)} are taken in "
            "their order."
        )
    return rows


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
