"""Names of one axis, shortened together so that no two of them look alike."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import partial

# A name may be broken after these, and what distinguishes it begins after one of them.
_ENDS = r"\s_\-./=:,…"


def shorten(text: str, length: int) -> str:
    """Leave out the middle of a long name: both ends tell names apart.

    Examples
    --------
    >>> shorten("distance_to_the_nearest_station", 16)
    'distance_…tation'
    """
    if len(text) <= length:
        return text
    tail = max((length - 1) * 2 // 5, 0)
    return f"{text[: length - 1 - tail]}…{text[len(text) - tail :]}"


def broken(name: str, width: int) -> list[str]:
    """Break a name into rows of at most ``width`` letters, after spaces and the like.

    Examples
    --------
    >>> broken("average number of rooms", 14)
    ['average number ', 'of rooms']
    """
    pieces = re.findall(rf"[^{_ENDS}]*[{_ENDS}]*", name)
    chunks = [p[i : i + width] for p in pieces if p for i in range(0, len(p), width)]
    rows = [""]
    for chunk in chunks:
        if len((rows[-1] + chunk).rstrip()) <= width:
            rows[-1] += chunk
        else:
            rows.append(chunk)
    return [row for row in rows if row.strip()]


def shorten_together(names: Sequence[str], width: int, lines: int = 1) -> list[str]:
    """Shorten names to what some lines hold, keeping what tells them apart.

    Names that would look alike lose what they share instead; those of which even that is too
    long, and equal ones, are numbered.

    Parameters
    ----------
    names
        All names of one axis.
    width, lines
        Letters of a line, and lines of a name.

    Returns
    -------
    As many names, which `broken` puts into so many lines.

    Examples
    --------
    >>> shorten_together(["marital status=unmarried", "marital status=married", "age"], 16)
    ['marita…unmarried', 'marital …married', 'age']
    >>> shorten_together(["mean_of_a_x", "mean_of_b_x", "rm"], 8)
    ['mean…a_x', 'mean…b_x', 'rm']
    """

    def fits(text: str) -> bool:
        return len(broken(text, width)) <= lines

    most = width * lines
    short = [_longest(most, fits, partial(_plainly, name)) for name in names]
    alike = _alike(short)
    for _ in names:  # groups fall apart into smaller ones
        for group in alike:
            for i, keep in zip(group, _differences([names[i] for i in group]), strict=True):
                short[i] = _longest(most, fits, partial(_around, names[i], keep))
        before, alike = alike, _alike(short)
        if alike == before:
            break
    return _numbered(names, short, most, fits)


def _longest(most: int, fits: Callable[[str], bool], make: Callable[[int], str]) -> str:
    """Make a text as long as fits: line breaks cost letters."""
    lengths = range(most, 1, -1)
    return next((text for text in map(make, lengths) if fits(text)), make(2))


def _plainly(name: str, length: int) -> str:
    """Shorten a name by itself; of a level, ``column=level``, rather the column."""
    begin = name.find("=") + 1
    if begin and len(name) - begin <= length:
        return _around(name, (begin, len(name)), length)
    return shorten(name, length)


def _alike(short: Sequence[str]) -> list[list[int]]:
    """List the places of names that look alike, group by group."""
    groups = defaultdict(list)
    for place, text in enumerate(short):
        groups[text].append(place)
    return [group for group in groups.values() if len(group) > 1]


def _differences(names: Sequence[str]) -> list[tuple[int, int]]:
    """Find in each name what lies between the beginning and the end that all share."""
    begin = _shared(names)
    end = _shared([name[begin:][::-1] for name in names])
    # "…=female" reads better than "…fem…": from the beginning of a word to the end of one.
    head = re.search(rf"[^{_ENDS}]*$", names[0][:begin])
    tail = re.match(rf"[^{_ENDS}]*", names[0][len(names[0]) - end :])
    begin -= len(head.group()) if head else 0
    end -= len(tail.group()) if tail else 0
    return [(begin, len(name) - end) for name in names]


def _shared(names: Sequence[str]) -> int:
    """Count the letters with which all names begin."""
    shortest = min(map(len, names))
    columns = zip(*(name[:shortest] for name in names), strict=True)
    return next(
        (i for i, letters in enumerate(columns) if len({*letters}) > 1), min(map(len, names))
    )


def _around(name: str, keep: tuple[int, int], length: int) -> str:
    """Keep a part of a name, and as much before and after it as there is room for."""
    if len(name) <= length:
        return name
    begin, end = keep
    room = length - (end - begin) - (begin > 0) - (end < len(name))
    if room < 0:
        return shorten(name[begin:end], length)
    after = min(len(name) - end, room if begin == 0 else room // 3)
    if after < len(name) - end <= (room + 1) // 2:  # "a_x" is no longer than "a…x"
        after, room = len(name) - end, room + 1
    before = min(begin, room - after)
    after = min(len(name) - end, room - before)
    head = name[:begin] if before == begin else f"{name[:before]}…"
    tail = name[end:] if after == len(name) - end else f"…{name[len(name) - after :]}"
    return head + name[begin:end] + tail


def _numbered(
    names: Sequence[str], short: list[str], most: int, fits: Callable[[str], bool]
) -> list[str]:
    """Put the place on the axis before names that still look alike."""
    counts = Counter(short)

    def make(place: int) -> str:
        if counts[short[place]] == 1:
            return short[place]
        sign = f"{place + 1} "
        return _longest(most, fits, lambda n: sign + shorten(names[place], n - len(sign)))

    return [make(place) for place in range(len(short))]
