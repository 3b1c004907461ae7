"""What constraining and tracking cost a training, as ratios within one run.

Run with ``python benchmarks/training.py``. Seconds depend on the machine; the ratios are the
result: a constrained step should cost less than 1.15 times a plain one.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("KERAS_HOME", str(Path(tempfile.gettempdir()) / "nn2poly-keras"))

import keras
import numpy as np
import torch
from torch import nn

from nn2poly.tables import Table
from nn2poly.training import KerasConstraint, PolynomialTracker, TorchConstraint

# The paper's network: 3 hidden layers of 100 tanh neurons, trained by Adam.
WIDTH, DEPTH, FEATURES = 100, 3, 10
BATCHES, STEPS, REPEATS = (32, 256), 300, 7
EVERY = 50
KINDS = ("plain", "constrained", "tracked")

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (STEPS * max(BATCHES), FEATURES)).astype("float32")
Y = (X[:, :1] + X[:, 1:2] * X[:, 2:3]).astype("float32")


def main() -> None:
    torch.set_num_threads(1)
    rows = tuple(
        compare(name, train, batch)
        for name, train in (("torch", train_torch), ("Keras", train_keras))
        for batch in BATCHES
    )
    print(
        Table(
            f"Training {FEATURES}-{'-'.join([str(WIDTH)] * DEPTH)}-1, tanh, Adam",
            ("framework", "batch", "plain ms per step", "constrained", f"tracked every {EVERY}"),
            rows,
            note="last columns: times the plain training; medians of the processor time of "
            f"{REPEATS} runs of {STEPS} steps, taken in turn",
        )
    )


def compare(name: str, train: Callable[[str, int], None], batch: int) -> tuple[object, ...]:
    """Time the three kinds in turn, so that a noisy moment hits all of them alike."""
    seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for kind in KINDS:
        train(kind, batch)
    for _ in range(REPEATS):
        for kind in KINDS:
            # Not the clock: others share the machine, and a step is short.
            begin = time.process_time()
            train(kind, batch)
            seconds[kind].append(time.process_time() - begin)
    plain, *others = (statistics.median(seconds[kind]) for kind in KINDS)
    return name, batch, 1000 * plain / STEPS, *(other / plain for other in others)


def train_torch(kind: str, batch: int) -> None:
    torch.manual_seed(0)
    widths = [FEATURES, *[WIDTH] * DEPTH]
    parts: list[nn.Module] = []
    for n_in, n_out in pairwise(widths):
        parts += [nn.Linear(n_in, n_out), nn.Tanh()]
    model = nn.Sequential(*parts, nn.Linear(WIDTH, 1))
    optimizer = torch.optim.Adam(model.parameters())
    if kind == "constrained":
        TorchConstraint(model).attach(optimizer)
    elif kind == "tracked":
        PolynomialTracker(model, every=EVERY).attach(optimizer)
    x, y = torch.from_numpy(X), torch.from_numpy(Y)
    for i in range(0, STEPS * batch, batch):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[i : i + batch]), y[i : i + batch])
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()


def train_keras(kind: str, batch: int) -> None:
    keras.utils.set_random_seed(0)
    hidden = [keras.layers.Dense(WIDTH, "tanh") for _ in range(DEPTH)]
    model = keras.Sequential([keras.Input((FEATURES,)), *hidden, keras.layers.Dense(1)])
    model.compile("adam", "mse")
    callbacks = {
        "plain": [],
        "constrained": [KerasConstraint()],
        "tracked": [PolynomialTracker(model, every=EVERY).keras_callback()],
    }[kind]
    rows = STEPS * batch
    model.fit(X[:rows], Y[:rows], batch_size=batch, verbose=0, callbacks=callbacks)


if __name__ == "__main__":
    main()
