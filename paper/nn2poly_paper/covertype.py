"""`covertype`: seven types of forest from 54 inputs (Tables III–V, Fig. 9).

With ``--network FILE`` the authors' published weights are converted; else networks are trained:
the paper's kind, and two beyond it (without the constraint, tanh and ReLU).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly_paper.covertype_claims import claims
from nn2poly_paper.covertype_data import (
    FEATURE_NAMES,
    N_CLASSES,
    N_FEATURES,
    STAND_IN,
    find_source,
    read_forest,
    read_published,
)
from nn2poly_paper.covertype_figures import draw
from nn2poly_paper.covertype_rows import agreement_rows, coefficient_rows, confusion_rows, mse_rows
from nn2poly_paper.ensembles import KINDS, Kind, kind_name, pack, unpack
from nn2poly_paper.experiment import Experiment, Findings
from nn2poly_paper.measure import convert_both, outputs
from nn2poly_paper.stacked import Recipe, Stack
from nn2poly_paper.work import Unit, Work

Labels = npt.NDArray[np.int64]

TRAINED: tuple[Kind, ...] = (("tanh", True), ("tanh", False), ("relu", False))


@dataclass(frozen=True)
class Settings:
    """Data, network and training.

    The paper trains 300 epochs with batches of 100 and Keras's rate of 0.001; larger batches
    and a larger rate reach the same accuracy in fewer epochs.

    Parameters
    ----------
    data
        Path of the table, ``"stand-in"``, or None: see `covertype_data.find_source`.
    network
        Path of the published weights; None to train.
    rows
        Rows to keep, test rows included; None for all.
    part
        Epochs after which the state of the training is kept, to go on from.
    sample
        Training rows that calibrations see.
    """

    data: str | None = None
    network: str | None = None
    rows: int | None = None
    hidden: tuple[int, ...] = (100, 100, 100)
    epochs: int = 20
    part: int = 5
    batch: int = 500
    rate: float = 3e-3
    orders: tuple[int, ...] = (1, 2, 3)
    sample: int = 20_000
    seed: int = 1

    @property
    def variant(self) -> str:
        """Name of the run in file names."""
        return "trained" if self.network is None else "published"


QUICK = Settings(
    data=STAND_IN,
    rows=5000,
    hidden=(30, 30, 30),
    epochs=8,
    part=4,
    batch=100,
    rate=5e-3,
    sample=1000,
)


def run(settings: Settings, work: Work) -> Findings:
    """Train or read the networks, and compare their polynomials with them on the test rows."""
    name = f"covertype_{settings.variant}"
    source = {"source": find_source(settings.data), "rows": settings.rows, "seed": settings.seed}
    networks = _networks(name, settings, source, work)
    units = [
        Unit(
            f"{kind_name(kind)}_Q{order}",
            {**source, "network": pairs, "order": order, "sample": settings.sample},
        )
        for kind, pairs in networks.items()
        for order in settings.orders
    ]
    results = iter(work.each(name, measure, units))
    found = {kind: [next(results) for _ in settings.orders] for kind in networks}
    orders = settings.orders
    tables = {
        f"{name}_mse": [r for k in found for r in mse_rows(k, orders, found[k])],
        f"{name}_agreement": [r for k in found for r in agreement_rows(k, orders, found[k])],
        f"{name}_confusion": [r for k in found for r in confusion_rows(k, orders, found[k])],
        f"{name}_coefficients": [r for k in found for r in coefficient_rows(k, found[k][0])],
    }
    return Findings(tables, {"variant": settings.variant, "first": found[KINDS[0]][0]})


def _networks(
    name: str, settings: Settings, source: Mapping[str, Any], work: Work
) -> dict[Kind, list[Any]]:
    """Give the networks by kind, as plain pairs."""
    if settings.network is not None:
        return {KINDS[0]: pack(read_published(settings.network))}
    how = {"hidden": settings.hidden, "batch": settings.batch, "rate": settings.rate}
    states: list[dict[str, Any] | None] = [None] * len(TRAINED)
    for first in range(0, settings.epochs, settings.part):
        last = min(first + settings.part, settings.epochs)
        units = [
            Unit(
                f"train_{kind_name(kind)}_{last:03d}",
                {**source, **how, "kind": kind, "epochs": [first, last], "state": state},
            )
            for kind, state in zip(TRAINED, states, strict=True)
        ]
        parts = work.each(name, train, units)
        states = [part["state"] for part in parts]
    return {kind: part["network"] for kind, part in zip(TRAINED, parts, strict=True)}


def train(
    *,
    source: str,
    rows: int | None,
    seed: int,
    kind: Sequence[Any],
    hidden: Sequence[int],
    batch: int,
    rate: float,
    epochs: Sequence[int],
    state: dict[str, Any] | None,
) -> dict[str, Any]:
    """Go on training from a state for a few epochs: Adamax, cross-entropy on linear outputs.

    Examples
    --------
    >>> part = train(
    ...     source="stand-in", rows=100, seed=1, kind=["tanh", True], hidden=[4], batch=50,
    ...     rate=0.01, epochs=[0, 1], state=None,
    ... )
    >>> sorted(part)
    ['network', 'state']
    """
    forest = read_forest(source, rows, seed)
    here, _ = split(len(forest.y), seed)
    recipe = Recipe(
        hidden=tuple(hidden),
        activation=kind[0],
        constrained=kind[1],
        batch=batch,
        optimizer="adamax",
        rate=rate,
        loss="crossentropy",
        n_outputs=N_CLASSES,
    )
    stack = Stack(recipe, N_FEATURES, [[seed, 40]])
    if state is not None:
        stack.restore(state)
    stack.train(forest.X[here], forest.y[here], range(*epochs))
    return {"state": stack.state(), "network": pack(stack.networks()[0])}


def measure(
    *, source: str, rows: int | None, seed: int, network: list[Any], order: int, sample: int
) -> dict[str, Any]:
    """Convert a network at one order, and compare on the test rows.

    Returns
    -------
    dict
        Of the network: ``accuracy`` and ``confusion`` with the response. By method: ``mse``
        of the seven outputs before the softmax, ``agreement`` of the labels with the
        network's, ``confusion`` with them, ``coefficients`` (at order 1).
    """
    forest = read_forest(source, rows, seed)
    here, there = split(len(forest.y), seed)
    net = unpack(network, FEATURE_NAMES)
    X, y = forest.X[there], forest.y[there]
    truth = net.predict(X)
    labels = truth.argmax(axis=1)
    found: dict[str, Any] = {
        "rows": len(y),
        "accuracy": float(np.mean(labels == y)),
        "confusion": _count(labels, y),
    }
    for method, pnet in convert_both(net, order, forest.X[here[:sample]]).items():
        guess = outputs(pnet, X)
        if pnet is None or guess is None:
            found[method] = None
            continue
        named = guess.argmax(axis=1)
        found[method] = {
            "mse": np.mean((guess - truth) ** 2, axis=0).tolist(),
            "agreement": float(np.mean(named == labels)),
            "accuracy": float(np.mean(named == y)),
            "confusion": _count(labels, named),
            "coefficients": pnet.expand().rebase().coefficients.tolist() if order == 1 else None,
        }
    return found


def split(n_rows: int, seed: int) -> tuple[Labels, Labels]:
    """Draw four fifths of the rows to train on, and the rest to test on.

    Examples
    --------
    >>> [len(part) for part in split(10, seed=1)]
    [8, 2]
    """
    order = np.random.default_rng([seed, 32]).permutation(n_rows)
    cut = round(0.8 * n_rows)
    return order[:cut], order[cut:]


def _count(one: Labels, other: Labels) -> list[list[int]]:
    table = np.zeros((N_CLASSES, N_CLASSES), dtype=np.int64)
    np.add.at(table, (one, other), 1)
    return [[int(n) for n in row] for row in table]


def with_files(settings: Settings, data: Path | None, network: Path | None) -> Settings:
    """Point settings to files that the user named; published weights need the real rows.

    Quick versions take enough of the real rows for the paper's numbers to show.

    Examples
    --------
    >>> with_files(QUICK, None, None).data
    'stand-in'
    >>> with_files(QUICK, None, Path("weights.npz")).data is None
    True
    """
    if settings.data == STAND_IN and (network is not None or data is not None):
        settings = replace(settings, data=None, rows=100_000, sample=Settings.sample)
    return replace(
        settings,
        data=settings.data if data is None else str(data),
        network=settings.network if network is None else str(network),
    )


EXPERIMENT = Experiment("covertype", Settings(), QUICK, run, draw, claims)
