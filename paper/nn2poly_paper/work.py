"""`Work`: do units of work side by side, keep each as it is finished, skip what is done."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeAlias

from nn2poly.arguments import check_choice
from nn2poly.errors import require
from nn2poly_paper.store import Store, fingerprint

BACKENDS = ("loky", "dask")
PURPOSE = "Reproducing the paper"
# The libraries that decide the numbers; units made by other versions are made again.
LIBRARIES = ("nn2poly", "numpy", "torch")

# Takes the experiment, units done, units in all, and the unit just finished ("" at the start).
Report: TypeAlias = Callable[[str, int, int, str], None]
Result: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Unit:
    """One piece of work: a name for its file, and the plain arguments that decide its result.

    Examples
    --------
    >>> Unit("p4_Q6", {"p": 4, "order": 6}).key
    'p4_Q6'
    """

    key: str
    task: Mapping[str, Any]


@dataclass(frozen=True)
class Work:
    """How the units of an experiment are done.

    Parameters
    ----------
    store
        Where finished units are kept.
    backend
        ``"loky"`` (processes of this machine) or ``"dask"`` (a cluster: the one that
        ``DASK_SCHEDULER_ADDRESS`` names, else a local one).
    jobs
        Units done at a time; 1 does them here, one after another.
    report
        Called when an experiment starts and with every unit that is done.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     work = Work(Store(Path(folder)), jobs=1)
    ...     work.each("demo", dict, [Unit("a", {"x": 7})])
    [{'x': 7}]
    """

    store: Store
    backend: str = "loky"
    jobs: int = field(default_factory=lambda: os.cpu_count() or 1)
    report: Report = lambda *_: None

    def __post_init__(self) -> None:
        check_choice(self.backend, BACKENDS, name="backend")

    def each(
        self, experiment: str, function: Callable[..., Result], units: Sequence[Unit]
    ) -> list[Result]:
        """Give ``function(**unit.task)`` of every unit, in order, doing only what is not done.

        Parameters
        ----------
        function
            At the top of a module, for other processes to find; it returns plain data.
        """
        marks = [_mark(function, unit) for unit in units]
        kept = [
            self.store.read_unit(experiment, unit.key, mark)
            for unit, mark in zip(units, marks, strict=True)
        ]
        open_ = [place for place, unit in enumerate(kept) if unit is None]
        done = len(units) - len(open_)
        self.report(experiment, done, len(units), "")
        for place, seconds, result in self._run(function, [(k, units[k].task) for k in open_]):
            unit = {"fingerprint": marks[place], **seconds, "result": result}
            self.store.write_unit(experiment, units[place].key, unit)
            # What is kept went through JSON; so does what was just made, to be the same.
            kept[place] = self.store.read_unit(experiment, units[place].key, marks[place])
            done += 1
            self.report(experiment, done, len(units), units[place].key)
        return [unit["result"] for unit in kept if unit is not None]

    def _run(
        self, function: Callable[..., Result], tasks: list[tuple[int, Mapping[str, Any]]]
    ) -> Iterator[tuple[int, dict[str, float], Result]]:
        """Yield (place, seconds, result) as units finish."""
        if self.jobs == 1 or len(tasks) < 2:
            yield from (_timed(function, place, task) for place, task in tasks)
            return
        with self._parallel(len(tasks)) as (parallel, delayed):
            yield from parallel(delayed(_timed)(function, place, task) for place, task in tasks)

    @contextmanager
    def _parallel(self, n_tasks: int) -> Iterator[tuple[Any, Any]]:
        joblib = require("joblib", what=PURPOSE, extra="paper")
        with ExitStack() as stack:
            if self.backend == "dask":
                stack.enter_context(_cluster(min(self.jobs, n_tasks)))
            stack.enter_context(joblib.parallel_config(self.backend, n_jobs=self.jobs))
            yield (
                joblib.Parallel(return_as="generator_unordered", pre_dispatch="all"),
                joblib.delayed,
            )


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep the linear algebra to one thread, so that sums do not depend on how many there are.

    Examples
    --------
    >>> with one_thread():
    ...     pass
    """
    threadpoolctl, torch = (
        require(name, what=PURPOSE, extra="paper") for name in ("threadpoolctl", "torch")
    )
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpoolctl.threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(before)


def versions() -> dict[str, str]:
    """Give the versions of the libraries that decide the numbers.

    Examples
    --------
    >>> sorted(versions())
    ['nn2poly', 'numpy', 'torch']
    """
    return {name: _version(name) for name in LIBRARIES}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _mark(function: Callable[..., Result], unit: Unit) -> str:
    return fingerprint(function.__qualname__, function.__module__, dict(unit.task), versions())


def _timed(
    function: Callable[..., Result], place: int, task: Mapping[str, Any]
) -> tuple[int, dict[str, float], Result]:
    """Do a unit, by the clock and by the processor, which others on the machine do not slow."""
    clock, processor = time.perf_counter(), time.process_time()
    with one_thread():
        result = function(**task)
    seconds = {
        "seconds": time.perf_counter() - clock,
        "processor_seconds": time.process_time() - processor,
    }
    return place, seconds, result


@contextmanager
def _cluster(workers: int) -> Iterator[None]:
    """Start or join a Dask cluster for as long as the work lasts."""
    distributed = require("dask.distributed", what=PURPOSE, extra="dask")
    if "DASK_SCHEDULER_ADDRESS" in os.environ:
        client = distributed.Client()
    else:
        client = distributed.Client(n_workers=workers, threads_per_worker=1, dashboard_address=None)
    with client:
        yield
