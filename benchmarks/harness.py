"""Shared by the benchmarks: seeded networks, medians of interleaved runs, peak memory."""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import nn2poly as n2p


def constrained_network(
    p: int, width: int, depth: int, n_outputs: int, seed: int = 0
) -> n2p.Network:
    """Make a random tanh network whose neurons have unit l1 norm, as the paper's training gives."""
    rng = np.random.default_rng(seed)
    widths = [p, *[width] * depth, n_outputs]
    layers = []
    for index, (n_in, n_out) in enumerate(pairwise(widths)):
        matrix = rng.normal(size=(1 + n_in, n_out))
        matrix /= np.abs(matrix).sum(axis=0)
        layers.append(n2p.Layer(matrix[1:], matrix[0], "tanh" if index < depth else "linear"))
    return n2p.Network(layers)


def medians(tasks: Mapping[str, Callable[[], Any]], repeats: int = 7) -> dict[str, float]:
    """Time tasks in turn, after one warm-up each, and give their median seconds.

    Taking turns lets a noisy moment of the machine hit all of them alike.
    """
    for task in tasks.values():
        task()
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(repeats):
        for name, task in tasks.items():
            begin = time.perf_counter()
            task()
            seconds[name].append(time.perf_counter() - begin)
    return {name: statistics.median(values) for name, values in seconds.items()}


def peak_megabytes(task: Callable[..., Any], *args: Any) -> float:
    """Give the growth of the peak resident memory while ``task(*args)`` runs in a new process."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return float(pool.apply(_measure, (task, args)))


def _measure(task: Callable[..., Any], args: tuple[Any, ...]) -> float:
    # A first small product loads BLAS and its buffers, which are not the task's own; then
    # Linux is asked to forget the peak so far (imports).
    np.ones((64, 64)) @ np.ones((64, 64))
    Path("/proc/self/clear_refs").write_text("5")
    before = status_kilobytes("VmRSS")
    task(*args)
    return (status_kilobytes("VmHWM") - before) / 1024


def status_kilobytes(field: str) -> int:
    """Read a number of this process from Linux."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))
