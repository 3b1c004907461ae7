"""`reproduce`: run experiments, write their tables and figures, and check their claims."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from nn2poly.arguments import check_choice, check_count
from nn2poly.errors import InvalidInputError
from nn2poly_paper.boston import EXPERIMENT as BOSTON
from nn2poly_paper.covertype import EXPERIMENT as COVERTYPE
from nn2poly_paper.covertype import with_files
from nn2poly_paper.example import EXPERIMENT as EXAMPLE
from nn2poly_paper.experiment import Claim, Experiment
from nn2poly_paper.partitions import EXPERIMENT as PARTITIONS
from nn2poly_paper.simulation import EXPERIMENT as SIMULATION
from nn2poly_paper.store import TIMINGS, ResultsError, Store
from nn2poly_paper.terms import EXPERIMENT as TERMS
from nn2poly_paper.work import Report, Work, versions

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (TERMS, PARTITIONS, EXAMPLE, SIMULATION, BOSTON, COVERTYPE)
}


@dataclass(frozen=True)
class Outcome:
    """What came of one experiment: its claims, and the names of the files written."""

    name: str
    claims: tuple[Claim, ...]
    files: tuple[str, ...]


def reproduce(
    names: Iterable[str] = ("all",),
    *,
    quick: bool = False,
    out: str | Path = "results",
    seed: int = 1,
    backend: str = "loky",
    jobs: int | None = None,
    data: str | Path | None = None,
    network: str | Path | None = None,
    report: Report = lambda *_: None,
) -> list[Outcome]:
    """Make figures and tables of the paper again.

    What is finished is kept in the folder: a run that was interrupted goes on where it was,
    and a second one with the same seed, settings and versions computes nothing.

    Parameters
    ----------
    names
        Of `EXPERIMENTS`, or ``"all"``.
    quick
        A small version of each.
    out
        The folder of results.
    seed
        Decides every number in the tables, but not seconds and bytes.
    backend, jobs
        How many units of work at a time (None: one for each core), and by which means.
    data, network
        Files for ``covertype``: the rows, and published weights to convert instead of
        training.
    report
        Called with the name, units done, units in all, and the unit just finished.

    Returns
    -------
    list of Outcome

    Raises
    ------
    InvalidInputError
        For a name that there is not, or a file that no experiment asked for takes.
    ResultsError
        When the folder cannot be written, or holds the full results and these are quick.
    DataUnavailableError
        When Covertype is neither here nor to be had.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outcome, = reproduce(["terms"], out=folder)
    >>> outcome.files
    ('terms.csv', 'fig01_terms.png', 'fig01_terms.pdf')
    """
    chosen = _chosen(names, data, network)
    store = Store(Path(out))
    work = Work(store, backend, _jobs(jobs), report)
    store.check()
    settings = {name: _settings(name, quick, seed, data, network) for name in chosen}
    for name in chosen:
        _check_kept(store, _record_name(name, settings[name]), quick)
    return [_run(EXPERIMENTS[name], settings[name], quick, work) for name in chosen]


def _run(experiment: Experiment, settings: Any, quick: bool, work: Work) -> Outcome:
    findings = experiment.run(settings, work)
    claims = tuple(experiment.claims(findings.tables))
    store, files = work.store, []
    for name, rows in findings.tables.items():
        store.write_table(name, rows)
        files.append(f"{name}.csv")
    for name, figure in experiment.draw(findings).items():
        store.write_figure(name, figure)
        files += [f"{name}.png", f"{name}.pdf"]
    name = _record_name(experiment.name, settings)
    if seconds := store.unit_seconds(name):
        store.write_table(f"{name}_units{TIMINGS}", seconds)
        files.append(f"{name}_units{TIMINGS}.csv")
    store.write_table(f"{name}_claims", [asdict(claim) for claim in claims])
    store.write_record(name, _record(settings, quick))
    return Outcome(name, claims, tuple(files))


def _record(settings: Any, quick: bool) -> dict[str, Any]:
    """Say what was run and with what; paths stay out of it."""
    plain = {
        key: Path(value).name if key in ("data", "network") and value else value
        for key, value in asdict(settings).items()
    }
    return {
        "quick": quick,
        "seed": settings.seed,
        "settings": plain,
        "versions": versions(),
        "cores": os.cpu_count(),
    }


def _record_name(name: str, settings: Any) -> str:
    variant = getattr(settings, "variant", None)
    return name if variant is None else f"{name}_{variant}"


def _chosen(names: Iterable[str], data: Any, network: Any) -> list[str]:
    given = [check_choice(name, ("all", *EXPERIMENTS), name="name") for name in names]
    chosen = list(EXPERIMENTS) if "all" in given else list(dict.fromkeys(given))
    if (data is not None or network is not None) and "covertype" not in chosen:
        raise InvalidInputError(
            "Only covertype takes files.",
            where="data, network",
            found=", ".join(chosen),
            remedy="leave --data and --network out, or reproduce covertype",
        )
    return chosen


def _settings(name: str, quick: bool, seed: int, data: Any, network: Any) -> Any:
    experiment = EXPERIMENTS[name]
    settings = experiment.quick if quick else experiment.full
    if name == "covertype":
        settings = with_files(settings, data, network)
    return replace(settings, seed=seed)


def _check_kept(store: Store, name: str, quick: bool) -> None:
    kept = store.read_record().get(name)
    if kept is not None and quick and not kept["quick"]:
        raise ResultsError(
            "This folder holds the full results, which quick ones would replace.",
            where=str(store.folder),
            found=f"the full results of {name}",
            remedy="choose another folder: --out DIR",
        )


def _jobs(jobs: int | None) -> int:
    return os.cpu_count() or 1 if jobs is None else check_count(jobs, where="jobs")
