"""Names of the trade-off between size and fidelity cover no dot, no line and no other name."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
from matplotlib.text import Text

from nn2poly.fit.option_search import Point, unbeaten
from nn2poly.plots.frontiers import frontier

# Order, budget, regions, coefficients and R² of all that a frontier of bike sharing tries.
BIKES = (
    (1, None, 1, 13, 0.5275),
    (1, None, 2, 26, 0.7423),
    (1, None, 4, 52, 0.899),
    (1, None, 8, 104, 0.9404),
    (1, None, 16, 208, 0.9548),
    (2, None, 1, 87, 0.7521),
    (2, None, 2, 174, 0.8912),
    (2, None, 4, 348, 0.9632),
    (2, None, 8, 696, 0.983),
    (2, None, 16, 1392, 0.9895),
    (3, None, 1, 405, 0.8366),
    (3, None, 2, 810, 0.9293),
    (3, None, 4, 1620, 0.9816),
    (3, None, 8, 3240, 0.989),
    (3, None, 16, 6480, 0.9895),
    (3, 10, 1, 9, 0.7644),
    (3, 10, 2, 18, 0.8105),
    (3, 10, 4, 36, 0.9002),
    (3, 10, 8, 72, 0.9386),
    (3, 10, 16, 144, 0.9573),
)


def test_names_of_the_rentals_cover_nothing_and_the_ends_are_named():
    points = [Point(q, most, regions, n, n, r2, 0.1) for q, most, regions, n, r2 in BIKES]
    axes = frontier(points)
    axes.figure.draw_without_rendering()
    best = unbeaten(points)
    named = [text.get_text() for text in axes.texts]
    assert {best[0].label, best[-1].label} <= set(named)
    assert len(named) >= 6
    dots = axes.transData.transform([(point.n_coefficients, point.r2) for point in points])
    boxes = [Text.get_window_extent(text) for text in axes.texts]  # without the thin lines
    radius = 2.5 * axes.figure.dpi / 72
    assert not any(box.padded(radius).count_contains(dots) for box in boxes)
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    line = axes.transData.transform(axes.lines[0].get_xydata())
    for start, end in pairwise(line):
        along = start + np.linspace(0.0, 1.0, 200)[:, None] * (end - start)
        assert not any(box.count_contains(along) for box in boxes)


def test_a_name_beside_a_point_is_nearest_to_it_and_others_have_a_line_to_theirs():
    points = [Point(q, most, regions, n, n, r2, 0.1) for q, most, regions, n, r2 in BIKES]
    axes = frontier(points)
    axes.figure.draw_without_rendering()
    places = axes.transData.transform([(p.n_coefficients, p.r2) for p in points])
    joined = 0
    for text in axes.texts:
        own = axes.transData.transform(text.xy)
        box = Text.get_window_extent(text)
        # How far each dot is from the nearest place of the box.
        near = np.clip(places, box.min, box.max)
        away = np.hypot(*(places - near).T)
        mine = np.hypot(*(own - np.clip(own, box.min, box.max)))
        joined += text.arrow_patch is not None
        assert text.arrow_patch is not None or mine <= away.min() + 1e-6
    assert 0 < joined < len(axes.texts)
