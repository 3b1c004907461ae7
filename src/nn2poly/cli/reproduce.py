"""``nn2poly reproduce``: make the figures and tables of the NN2Poly paper again."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from nn2poly.cli.command import Answer, command, note
from nn2poly.cli.console import console
from nn2poly.errors import NN2PolyError

if TYPE_CHECKING:
    from nn2poly_paper import Outcome
    from nn2poly_paper.work import Report

# Written out, so that the help of a command does not load the experiments.
NAMES = "terms, partitions, example, simulation, boston, covertype"
FILES = "Files for covertype"


@command(
    (
        "small versions of everything, from bundled or simulated data",
        "nn2poly reproduce all --quick",
    ),
    ("one experiment in full; run it again to go on after a stop", "nn2poly reproduce simulation"),
    (
        "the published Covertype network instead of training one",
        "nn2poly reproduce covertype --network covertype_network.npz --data covtype.csv.gz",
    ),
)
def reproduce(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of {NAMES}; or all.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Small versions, in a minute or two.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Folder; default: results, results/quick."),
    ] = None,
    backend: Annotated[
        str, typer.Option(metavar="loky|dask", help="Processes of this machine, or a Dask cluster.")
    ] = "loky",
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Units of work at a time; default: one per core.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Decides all numbers but timings.")] = 1,
    network: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Published weights (.npz) to convert.", rich_help_panel=FILES
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The rows; default: NN2POLY_COVTYPE, else scikit-learn fetches them.",
            rich_help_panel=FILES,
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write a page that compares with the paper."),
    ] = None,
) -> Answer:
    """Make figures and tables of the NN2Poly paper again, and check what it claims.

    Finished work is kept in the folder: a run that was stopped goes on where it was.
    """
    from nn2poly_paper import reproduce as run
    from nn2poly_paper.page import write_page

    folder = out or Path("results/quick" if quick else "results")
    try:
        with _progress() as report:
            outcomes = run(
                [name],
                quick=quick,
                out=folder,
                seed=seed,
                backend=backend,
                jobs=jobs,
                data=data,
                network=network,
                report=report,
            )
    except KeyboardInterrupt:
        note(f"What is finished is kept in {folder}; the same command goes on from there.")
        raise
    written = [write_page(folder, page)] if page is not None else []
    _check(outcomes)
    return _answer(outcomes, folder, written)


def _answer(outcomes: list[Outcome], folder: Path, pages: list[Path]) -> Answer:
    files = [str(folder / file) for outcome in outcomes for file in outcome.files]
    files += [str(path) for path in pages]
    found = {
        outcome.name: [
            {"claim": c.statement, "holds": c.holds, "found": c.found} for c in outcome.claims
        ]
        for outcome in outcomes
    }
    texts = ["\n".join([o.name, *(f"  {claim}" for claim in o.claims)]) for o in outcomes]
    where = f"{len(files)} files written to {folder}"
    return Answer({"claims": found, "files": files}, (*texts, where))


def _check(outcomes: list[Outcome]) -> None:
    """Fail when a claim does; the files are there to look at."""
    broken = [f"{o.name}: {c}" for o in outcomes for c in o.claims if not c.holds]
    if broken:
        raise NN2PolyError(
            "Not all claims of the paper hold in these results.",
            found="; ".join(broken),
            remedy="look at the tables in the folder; another seed may show how firm this is",
        )


@contextmanager
def _progress() -> Iterator[Report]:
    """Show a bar for each experiment on a terminal, elsewhere a line for each unit of work."""
    err = console(sys.stderr)
    if not err.is_terminal:
        yield lambda name, done, total, unit: err.print(
            f"{name}: {done}/{total} {unit}".rstrip(), markup=False
        )
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[unit]}"),
    )
    with Progress(*columns, console=err) as bar:
        tasks: dict[str, Any] = {}

        def report(name: str, done: int, total: int, unit: str) -> None:
            if name not in tasks:
                tasks[name] = bar.add_task(name, total=total, unit="")
            bar.update(tasks[name], completed=done, total=total, unit=unit)

        yield report
