"""Draw every picture of the gallery from the code that its page shows.

Run ``python docs/make_gallery.py``: the blocks of a page run from top to bottom, and the Axes
``ax`` of a block becomes the picture that follows it. `pictures` gives them to the tests.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib as mpl
import numpy as np
from PIL import Image

HERE = Path(__file__).resolve().parent
PAGES = [HERE / name for name in ("gallery.md", "quick-start.md")]
PIECES = re.compile(r"^```python\n(?P<code>.*?)^```$|^!\[[^]]+\]\((?P<image>.+?)\)$", re.M | re.S)
DPI, COLORS, LARGEST = 150, 256, 120_000


def pictures(page: Path) -> Iterator[tuple[Path, bytes]]:
    """Run the page; give the file and the content (PNG) of each of its pictures."""
    mpl.use("Agg")
    text, names = page.read_text(encoding="utf-8"), {"__name__": "gallery"}
    for piece in PIECES.finditer(text):
        if piece["code"]:
            above = text[: piece.start("code")].count("\n")
            exec(compile("\n" * above + piece["code"], str(page), "exec"), names)  # our own page
        else:
            yield page.parent / piece["image"], png(names.pop("ax"))


def png(ax: Any) -> bytes:
    """Write the figure of an Axes, or of an array of them, with few colours."""
    full, small = BytesIO(), BytesIO()
    figure = np.atleast_1d(ax).flat[0].figure
    figure.savefig(full, format="png", dpi=DPI, facecolor="white")
    image = Image.open(full).convert("RGB")
    image = image.quantize(COLORS, dither=Image.Dither.NONE)
    image.save(small, format="png", optimize=True, dpi=(DPI, DPI))
    return small.getvalue()


def main() -> None:
    """Write the pictures beside the pages; what the pages write goes to a passing folder."""
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        drawn = [picture for page in PAGES for picture in pictures(page)]
    for file, content in drawn:
        if len(content) > LARGEST:
            raise SystemExit(f"{file.name} has {len(content):,} bytes; at most {LARGEST:,}")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        print(f"{file.name:30} {len(content) / 1000:6.1f} kB")


if __name__ == "__main__":
    main()
