"""Saves that are killed or interrupted at any moment leave the old file or the new one."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.files import write_whole

# Of each kind of save; `make fuzz` asks for 2,000.
COUNT = int(os.environ.get("FUZZ_KILLS", "6"))
pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's"),
    # The child of a fork only writes files, and ends by a kill.
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
    # An interruption between opening a file and what closes it leaves that to the collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
POLYNOMIALS = [
    n2p.Polynomial(np.full((1771, 2), value), 3, [f"x{j}" for j in range(20)])
    for value in (1.0, 2.0)
]
TEXTS = [bytes([value]) * 400_000 for value in (1, 2)]


def save(path, turn):
    """Write one of two contents; a report and an export are written as the text is."""
    if path.suffix == ".txt":
        return write_whole(path, TEXTS[turn])
    return POLYNOMIALS[turn].save(path)


def check(path):
    """Read what is there; it must be one of the two, whole."""
    if path.suffix == ".txt":
        assert path.read_bytes() in TEXTS
        return
    found = np.unique(n2p.load(path).coefficients).tolist()
    assert found in ([1.0], [2.0])


def saving_child(path, turn):
    """Fork a process that saves without end."""
    child = os.fork()
    if child:
        return child
    try:
        while True:
            turn = 1 - turn
            save(path, turn)
    finally:
        os._exit(1)


def clean(folder, path):
    for left in folder.iterdir():
        if left != path:
            shutil.rmtree(left) if left.is_dir() else left.unlink()


KINDS = pytest.mark.parametrize("name", ["poly.json", "poly.npz", "poly", "page.txt"])


@KINDS
def test_a_kill_at_any_moment_leaves_a_whole_file(tmp_path, tally, name):
    path, rng = save(tmp_path / name, 0), random.Random(0)
    for turn in range(COUNT):
        child = saving_child(path, turn % 2)
        time.sleep(rng.uniform(0.0, 0.02))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL
        check(path)
        tally["killed"] += 1
        clean(tmp_path, path)


@KINDS
def test_an_interruption_at_any_moment_leaves_a_whole_file(tmp_path, tally, name):
    path, rng = save(tmp_path / name, 0), random.Random(0)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for turn in range(COUNT):
            try:
                # Again after a second: one that comes while something is collected is lost.
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 0.01), 1.0)
                while True:
                    save(path, turn % 2)
            except KeyboardInterrupt:
                signal.setitimer(signal.ITIMER_REAL, 0.0)
                tally["interrupted"] += 1
            check(path)
            clean(tmp_path, path)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
@KINDS
def test_a_reader_never_fails_while_two_write(tmp_path, tally, name):
    path = save(tmp_path / name, 0)
    children = [saving_child(path, turn) for turn in (0, 1)]
    try:
        for _ in range(5 * COUNT):
            check(path)
            tally["read"] += 1
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    check(path)
