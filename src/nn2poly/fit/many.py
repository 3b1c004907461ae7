"""`convert_many`: the polynomials of several networks, side by side."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, Literal, TypeVar, Unpack, overload

import numpy as np

from nn2poly.arguments import check_choice
from nn2poly.errors import InvalidInputError, NN2PolyError, require
from nn2poly.fit.asked_rows import Answered, crossed_rows
from nn2poly.fit.bound_choice import ASKED_ROWS, chosen_bounds
from nn2poly.fit.convert import convert, read_rows
from nn2poly.fit.given_models import read_model
from nn2poly.fit.options import Given, Options, takes
from nn2poly.formula.piecewise import Explicit
from nn2poly.formula.polynomial import Polynomial
from nn2poly.network.oracle import Model
from nn2poly.network.readers import read_members
from nn2poly.rows.reading import named_network

BACKENDS = ("sequential", "threading", "loky", "dask")
# Seconds of work in this process before others are started for the rest. A start, with NumPy and
# the package imported in each, took 3 to 17 s on two busy cores: whoever waits about as long as
# a start costs never needs much more than twice the best time.
PATIENCE = 5.0

T = TypeVar("T")
Task = tuple[Model, int, int | str | None, dict[str, Any]]


@overload
def convert_many(
    models: Iterable[Any],
    max_order: int | str | None = None,
    *,
    backend: str = "loky",
    n_jobs: int = -1,
    regions: Literal[1] = 1,
    **options: Unpack[Given],
) -> list[Polynomial]: ...


@overload
def convert_many(
    models: Iterable[Any],
    max_order: int | str | None = None,
    *,
    backend: str = "loky",
    n_jobs: int = -1,
    regions: int | str,
    **options: Unpack[Given],
) -> list[Explicit]: ...


@takes(Given, "max_order", "regions")
def convert_many(
    models: Iterable[Any],
    max_order: int | str | None = None,
    *,
    backend: str = "loky",
    n_jobs: int = -1,
    **options: Any,
) -> list[Polynomial] | list[Explicit]:
    """Convert several networks with the same options, side by side.

    `nn2poly.explain.ensemble` gives the mean and the spread of every coefficient of what
    comes back.

    Parameters
    ----------
    models
        Anything that `convert` takes, each; or a ``BaggingRegressor`` or ``VotingRegressor``, for
        the networks in it.
    backend
        Of joblib: ``"loky"`` (processes, started if some seconds of work here were not enough),
        ``"threading"``, ``"dask"`` (the workers of the current Dask client);
        ``"sequential"`` needs no joblib.
    n_jobs
        How many at once, beside the one that was begun here; -1 for one per core.
    **options
        Those of `Options`.

    Returns
    -------
    list of Polynomial, or of formulas with regions, in the order of the models

    Examples
    --------
    >>> import nn2poly as n2p
    >>> nets = [n2p.Network([n2p.Layer([[w]], None, "sin"), n2p.Layer([[2.0]])]) for w in (1, 3)]
    >>> polys = convert_many(nets, 1, backend="sequential")
    >>> [poly.coefficient("x1") for poly in polys]
    [2.0, 6.0]
    >>> n2p.explain.ensemble(polys).mean.coefficient("x1")
    4.0
    """
    asked = Options.of(convert_many, options, max_order=max_order)
    chosen = check_choice(backend, BACKENDS, name="backend")
    several = read_members(models)
    listed = models if several is None else several
    networks = [_read(model, number, asked) for number, model in enumerate(listed)]
    if not networks:
        raise InvalidInputError("There are no models to convert.", where="models")
    once = ("after", "link", "classes", "check")
    options = {name: getattr(asked, name) for name in options if name not in once}
    options |= _shared_bounds(networks, asked)
    tasks: list[Task] = [(network, i, max_order, options) for i, network in enumerate(networks)]
    if chosen == "sequential":
        return [_one(*task) for task in tasks]
    elsewhere = _elsewhere(chosen, n_jobs)
    if chosen == "loky" and n_jobs != 1:
        return _begun_here(tasks, elsewhere)
    return elsewhere(tasks)


def _shared_bounds(networks: list[Model], asked: Options) -> dict[str, Any]:
    """Choose bounds that suit all networks together, so that their formulas can be compared.

    Each would choose its own otherwise, by what cutting a column does to its outputs.
    """
    alike = len({network.n_features for network in networks}) == 1
    if asked.way != "calibrated" or not alike or not asked.is_bounded or asked.bounds:
        return {}
    try:
        network = named_network(networks[0], asked.data, asked.feature_names, None)
        problem = read_rows(network, asked)
    except NN2PolyError as error:
        raise error.within("models[0]") from None
    rows = problem.fit_rows
    inputs = problem.network.inputs
    others = crossed_rows(rows, min(ASKED_ROWS, len(rows)), inputs)
    real, more = (
        Answered(r, np.concatenate([n.predict(r.X).reshape(len(r), -1) for n in networks], axis=1))
        for r in (rows, others)
    )
    held = chosen_bounds(inputs, real, more, asked.task.trial_order)
    ends = {
        column.name: (column.coordinates[0].function.low, column.coordinates[0].function.high)
        for column in held.columns
        if column.kind == "number" and column.coordinates[0].function.is_bounded
    }
    return {"bounded": ends}


def _elsewhere(backend: str, n_jobs: int) -> Callable[[list[Task]], list[Explicit]]:
    """Give the function that does tasks with joblib."""
    otherwise = ', or backend="sequential"'
    joblib = require("joblib", what=f"The backend {backend!r}", otherwise=otherwise)

    def run(tasks: list[Task]) -> list[Explicit]:
        with joblib.parallel_config(backend, n_jobs=n_jobs):
            return list(joblib.Parallel()(joblib.delayed(_one)(*task) for task in tasks))

    return run


def _begun_here(
    tasks: list[Task], elsewhere: Callable[[list[Task]], list[Explicit]]
) -> list[Explicit]:
    """Do tasks in this process for a while, and then those that have not begun in others.

    A thread does the former, so that a long one goes on here meanwhile.
    """
    waiting = deque(enumerate(tasks))
    with ThreadPoolExecutor(1) as executor:
        here = executor.submit(lambda: {i: _one(*task) for i, task in _taken(waiting)})
        try:
            wait([here], timeout=PATIENCE)
        finally:  # also when the user interrupts: the thread shall find nothing more to do
            rest = dict(_taken(waiting))
        failed = here.done() and here.exception() is not None
        others = elsewhere(list(rest.values())) if rest and not failed else []
        done = here.result() | dict(zip(rest, others, strict=True))
    return [done[i] for i in range(len(tasks))]


def _taken(waiting: deque[T]) -> Iterator[T]:
    """Take from the front until nothing is left; two threads never get the same."""
    while True:
        try:
            yield waiting.popleft()
        except IndexError:
            return


def _read(model: Any, number: int, asked: Options) -> Model:
    """Read a model here: only plain arrays travel to the workers, or a function itself."""
    try:
        return read_model(
            model,
            asked.data,
            after=asked.after,
            link=asked.link,
            classes=asked.classes,
            check=asked.check,
        )
    except NN2PolyError as error:
        raise error.within(f"models[{number}]") from None


def _one(
    network: Model, number: int, max_order: int | str | None, options: dict[str, Any]
) -> Explicit:
    try:
        poly: Explicit = convert(network, max_order, **options)
        return poly
    except NN2PolyError as error:
        raise error.within(f"models[{number}]") from None
