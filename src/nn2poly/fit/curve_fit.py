"""Fit curves by Gauss-Newton steps in their rises, with quadratics fitted anew at each step.

A curve goes from 0 to 1 and is linear between knots; its rises are what it gains from one knot to
the next. Outputs are quadratics of the curved features, one in each region. The coefficients of the
quadratics are projected out of the normal equations of a step (variable projection: Golub and
Pereyra, 1973, in the form of Kaufman, 1975), which would otherwise creep along valleys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.fit.regression import BATCH_BYTES
from nn2poly.inputs import Inputs

# Products in the quadratics, at most (taste); of more, those of numbers, or squares alone.
MAX_PRODUCTS = 200
# Strengths that hold a step back, relative to outputs of unit variance; what its size weighs
# beside its unevenness; and how far one step may move a rise, as a part of it (taste).
STRENGTHS, SIZE, FARTHEST = (1e-2, 1e-3, 1e-4, 1e-5), 0.1, 0.7
# Ridge of the quadratics, towards the one of all regions (taste).
RIDGE = 1e-4
# Steps, at most, and what each must take away of the error on rows left out, as a part of it
# (taste).
STEPS, GAIN = 10, 0.0005
# No rise of a curve is less: steps are relative, and it would stay flat there for ever.
LEAST = 1e-4

Rises = list[FloatArray]


@dataclass(frozen=True)
class CurveFit:
    """What curves are fitted to.

    Parameters
    ----------
    x, knots
        For each curve the raw numbers (n,) of its feature, and where it may bend.
    z, places
        Array (n, p): coordinates of all features, those of the curves in any form; and which
        these are.
    target
        Array (n, k): outputs of about unit size.
    regions
        The rows of each region.
    fitted, judged
        Arrays (n,): weights of the rows to fit, and of those that say when to stop.
    products
        Which features the products of the quadratics multiply.
    """

    x: Sequence[FloatArray]
    knots: Sequence[FloatArray]
    z: FloatArray
    places: Sequence[int]
    target: FloatArray
    regions: Sequence[slice]
    fitted: FloatArray
    judged: FloatArray
    products: tuple[IntArray, IntArray]

    def best(self, rises: Rises) -> Rises:
        """Take steps from some curves, as long as the rows that judge gain."""
        state, penalty = self._state(rises), _penalty(self.knots)
        for _ in range(STEPS):
            before, (gram, slope) = state, self._normal(state)
            for strength in STRENGTHS:
                step = np.asarray(np.linalg.solve(gram + strength * penalty, slope))
                tried = self._state(_moved(before.rises, step))
                # One after the other: the terms of wide tables are large.
                state = min(state, tried, key=lambda either: either.error)
            if not state.error < (1.0 - GAIN) * before.error:
                break
        return state.rises

    def _state(self, rises: Rises) -> _State:
        """Fit the quadratics of curves."""
        z, w = self.z.copy(), self.fitted
        triples = zip(self.x, self.knots, rises, strict=True)
        curved = np.stack([np.interp(x, k, np.r_[0.0, np.cumsum(r)]) for x, k, r in triples], 1)
        middle = w @ curved / w.sum()
        sizes = np.sqrt(np.maximum(w @ (curved - middle) ** 2 / w.sum(), 1e-300))
        z[:, self.places] = (curved - middle) / sizes
        one, other = self.products
        design = np.concatenate([np.ones((len(z), 1)), z, z[:, one] * z[:, other]], axis=1)
        coefficients = self._coefficients(design)
        parts = zip(self.regions, coefficients, strict=True)
        left = self.target - np.concatenate([design[here] @ c for here, c in parts])
        error = float(self.judged @ (left**2).sum(axis=1))
        return _State(rises, sizes, z, design, coefficients, left, error)

    def _coefficients(self, design: FloatArray) -> FloatArray:
        """Fit the quadratics (r, m, k): one for all regions, and changes of it in each."""
        root = np.sqrt(self.fitted)[:, None]
        matrix, target = design * root, self.target * root
        grams = np.stack([matrix[here].T @ matrix[here] for here in self.regions])
        crosses = np.stack([matrix[here].T @ target[here] for here in self.regions])
        weights = np.array([self.fitted[here].sum() for here in self.regions])
        ridge, total = RIDGE * np.eye(design.shape[1]), weights.sum()
        start = np.linalg.solve(grams.sum(axis=0) / total + ridge, crosses.sum(axis=0) / total)
        each = np.maximum(weights, 1e-300)[:, None, None]
        changes = np.linalg.solve(grams / each + ridge, (crosses - grams @ start) / each)
        return np.asarray(start + changes)

    def _normal(self, state: _State) -> tuple[FloatArray, FloatArray]:
        """Give the normal equations of a step, in relative changes of the rises."""
        size, m = sum(map(len, state.rises)), state.design.shape[1]
        gram, slope = np.zeros((size, size)), np.zeros(size)
        for here, coefficients in zip(self.regions, state.coefficients, strict=True):
            weight = float(self.fitted[here].sum())
            for output in range(self.target.shape[1]):
                system, mixed = np.zeros((m, m)), np.zeros((size, m))
                for batch, jacobian in self._slopes(state, coefficients[:, output], here):
                    root = np.sqrt(self.fitted[batch])[:, None]
                    jacobian *= root
                    design = state.design[batch] * root
                    left = state.left[batch, output] * root[:, 0]
                    gram += jacobian.T @ jacobian
                    slope += jacobian.T @ left
                    mixed += jacobian.T @ design
                    system += design.T @ design
                # What the quadratic of the region takes up by itself. The slope has none of that:
                # the coefficients are the best ones.
                system[np.diag_indices(m)] += max(weight, 1e-300) * RIDGE
                gram -= mixed @ np.linalg.solve(system, mixed.T)
        total = float(self.fitted.sum()) * self.target.shape[1]
        gram[np.diag_indices(size)] += 1e-9 * total
        return gram / total, slope / total

    def _slopes(
        self, state: _State, coefficients: FloatArray, here: slice
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Give the slopes (n, size) of a quadratic along relative changes, batch by batch."""
        p = self.z.shape[1]
        twice = np.zeros((p, p))
        one, other = self.products
        np.add.at(twice, (one, other), coefficients[1 + p :])
        np.add.at(twice, (other, one), coefficients[1 + p :])
        step = max(256, BATCH_BYTES // (8 * sum(map(len, state.rises))))
        for begin in range(here.start, here.stop, step):
            batch = slice(begin, min(begin + step, here.stop))
            steep = (coefficients[1 : 1 + p] + state.z[batch] @ twice)[:, self.places]
            parts = zip(self.x, self.knots, state.rises, (steep / state.sizes).T, strict=True)
            columns = [
                # How much of each rise lies below a row, 0 to 1.
                np.clip((x[batch, None] - k[:-1]) / np.diff(k), 0.0, 1.0) * (s[:, None] * r)
                for x, k, r, s in parts
            ]
            yield batch, np.concatenate(columns, axis=1)


@dataclass(frozen=True)
class _State:
    """Curves, and what comes of them.

    Parameters
    ----------
    rises, sizes
        The curves, and the deviation of each.
    z, design, coefficients, left
        Coordinates (n, p), terms (n, m), coefficients (r, m, k) and what they leave (n, k).
    error
        The squared error of the rows that judge.
    """

    rises: Rises
    sizes: FloatArray
    z: FloatArray
    design: FloatArray
    coefficients: FloatArray
    left: FloatArray
    error: float


def products(inputs: Inputs, order: int) -> tuple[IntArray, IntArray]:
    """Choose the products of two features: all, those of numbers, of many squares alone, or none.

    A formula of order 1 has none: with squares beside them curves would be left with little to say
    (a network of diabetes has an R² of .54 by them in place of .76).
    """
    flags = {j for group in inputs.indicators() for j in group}
    column = {j: number for number, places in enumerate(inputs.places) for j in places}
    pairs = [
        (a, b)
        for a, b in combinations_with_replacement(range(inputs.n_features), 2)
        # The square of an indicator is itself, two levels of a factor exclude each other.
        if order > 1 and not (a in flags and column[a] == column[b])
    ]
    if len(pairs) > MAX_PRODUCTS:
        pairs = [pair for pair in pairs if flags.isdisjoint(pair)]
    if len(pairs) > MAX_PRODUCTS:
        pairs = [(a, b) for a, b in pairs if a == b][:MAX_PRODUCTS]
    one, other = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return one, other


def whole(rises: FloatArray) -> FloatArray:
    """Let rises add up to 1, none of them too small to grow again."""
    held = np.maximum(rises / rises.sum(), LEAST)
    return np.asarray(held / held.sum())


def _moved(rises: Rises, step: FloatArray) -> Rises:
    ends = np.cumsum([len(r) for r in rises])[:-1]
    changes = np.split(np.clip(step, -FARTHEST, FARTHEST), ends)
    return [whole(r * (1.0 + change)) for r, change in zip(rises, changes, strict=True)]


def _penalty(knots: Sequence[FloatArray]) -> FloatArray:
    """Hold changes of neighbouring rises together, and all of them a little."""
    sizes = [len(k) - 1 for k in knots]
    penalty = np.zeros((sum(sizes), sum(sizes)))
    for size, end in zip(sizes, np.cumsum(sizes).tolist(), strict=True):
        apart, here = np.diff(np.eye(size), axis=0), slice(end - size, end)
        penalty[here, here] = apart.T @ apart + SIZE * np.eye(size)
    return penalty
