"""The page that sets the paper's numbers beside ours: a template, filled from the tables.

No number of ours is written by hand: `page.md` holds the text, ``{{ … }}`` in it the places
where a function of `page_tables` puts what the results say.
"""

from __future__ import annotations

import os
import re
from importlib.resources import files
from pathlib import Path

from nn2poly.files import write_whole
from nn2poly_paper.page_tables import PARTS
from nn2poly_paper.store import ResultsError, Store

# A name, perhaps an argument, and of a figure what it shows.
PLACE = re.compile(r"\{\{ (\w+)(?: (\w+))?(?: \| (.+?))? \}\}")


def write_page(folder: str | Path, path: str | Path) -> Path:
    """Fill the template from the results in a folder, and write it.

    Parameters
    ----------
    folder
        Where `nn2poly_paper.reproduce` wrote.
    path
        The page; its links to figures are relative.

    Returns
    -------
    Path

    Raises
    ------
    StorageError
        When the page cannot be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_page(folder, Path(folder) / "paper.md").read_text(encoding="utf-8")[:23]
    '# The paper, reproduced'
    """
    target = Path(path)
    text = render(Store(Path(folder)), os.path.relpath(folder, target.parent))
    return write_whole(target, text.encode())


def render(store: Store, link: str) -> str:
    """Fill the template.

    Parameters
    ----------
    link
        Path from the page to the folder of results.

    Examples
    --------
    >>> text = render(Store(Path("nowhere")), "paper")
    >>> "Not among these results" in text, "{{" in text
    (True, False)
    """
    template = files("nn2poly_paper").joinpath("page.md").read_text(encoding="utf-8")
    return PLACE.sub(lambda place: _part(store, link, *place.groups()), template)


def _part(store: Store, link: str, name: str, argument: str | None, shows: str | None) -> str:
    missing = f"*Not among these results: {argument}.png.*"
    if name == "figure":
        there = (store.folder / f"{argument}.png").exists()
        return f"![{shows}]({link}/{argument}.png)" if there else missing
    try:
        return PARTS[name](store, argument) if argument else PARTS[name](store)
    except ResultsError as error:
        return f"*Not among these results: {Path(str(error.where)).name}.*"
