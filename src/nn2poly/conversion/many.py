"""`convert_many`: the polynomials of several networks, side by side."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from nn2poly.arguments import check_choice
from nn2poly.conversion.convert import convert
from nn2poly.errors import InvalidInputError, NN2PolyError, require
from nn2poly.formula.polynomial import Polynomial
from nn2poly.network.network import Network
from nn2poly.network.readers import read_network

BACKENDS = ("sequential", "threading", "loky", "dask")


def convert_many(
    models: Iterable[Any],
    max_order: int | str = 2,
    *,
    backend: str = "loky",
    n_jobs: int = -1,
    **options: Any,
) -> list[Polynomial]:
    """Convert several networks with the same options, side by side.

    `nn2poly.explain.ensemble` gives the mean and the spread of every coefficient of what
    comes back.

    Parameters
    ----------
    models
        Anything that `read_network` reads, each.
    max_order
        Highest total order, as in `convert`.
    backend
        Of joblib: ``"loky"`` (processes), ``"threading"``, ``"dask"`` (the workers of the
        current Dask client); ``"sequential"`` needs no joblib.
    n_jobs
        How many at once; -1 for one per core.
    **options
        Any other option of `convert`.

    Returns
    -------
    list of Polynomial, in the order of the models

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
    inspect.signature(convert).bind(None, max_order, **options)  # a misspelt option, at once
    chosen = check_choice(backend, BACKENDS, name="backend")
    after = options.pop("after", None)
    networks = [_read(model, number, after) for number, model in enumerate(models)]
    if not networks:
        raise InvalidInputError("There are no models to convert.", where="models")
    if chosen == "sequential":
        return [_one(network, i, max_order, options) for i, network in enumerate(networks)]
    otherwise = ', or backend="sequential"'
    joblib = require("joblib", what=f"The backend {chosen!r}", otherwise=otherwise)
    tasks = (
        joblib.delayed(_one)(network, i, max_order, options) for i, network in enumerate(networks)
    )
    with joblib.parallel_config(chosen, n_jobs=n_jobs):
        return list(joblib.Parallel()(tasks))


def _read(model: Any, number: int, after: str | None) -> Network:
    """Read a model here: only plain arrays travel to the workers."""
    try:
        return read_network(model, after=after)
    except NN2PolyError as error:
        raise error.within(f"models[{number}]") from None


def _one(
    network: Network, number: int, max_order: int | str, options: dict[str, Any]
) -> Polynomial:
    try:
        return convert(network, max_order, **options)
    except NN2PolyError as error:
        raise error.within(f"models[{number}]") from None
