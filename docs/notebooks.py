"""Make a notebook of a tutorial's page: its text, code, outputs and pictures in one file.

The page is the source. Output stands right below its code, a picture right below either; both
are written by ``python docs/make_tutorials.py``. MkDocs calls `on_files` when the site is built, so
that each tutorial offers its `notebook` to download.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CODE = re.compile(
    r"^```python\n(?P<code>.*?)^```\n"
    r"(?:```text\n(?P<output>.*?)^```\n)?"
    r"(?:\n!\[(?P<words>[^]]+)\]\((?P<image>[^)]+)\)\n)?",
    re.MULTILINE | re.DOTALL,
)
# Links inside the site lead nowhere from a downloaded file; their words stay.
INSIDE = re.compile(r"\[([^]]+)\]\((?!https?:)[^)]+\)")


@dataclass(frozen=True)
class Block:
    """A block of code of a page, with the line that it begins in and what is shown below it."""

    code: str
    line: int
    output: str | None
    image: str | None
    words: str | None


def on_files(files: Any, config: Any) -> Any:
    """Add a notebook beside the page of each tutorial."""
    from mkdocs.structure.files import File

    for file in files.documentation_pages():
        folder, _, name = file.src_uri.rpartition("/")
        if folder == "tutorials" and name != "index.md":
            made = json.dumps(notebook(Path(file.abs_src_path)), ensure_ascii=False, indent=1)
            place = file.src_uri.removesuffix(".md") + ".ipynb"
            files.append(File.generated(config, place, content=made))
    return files


def blocks(text: str) -> list[Block]:
    r"""Find the blocks of code of a page.

    Examples
    --------
    >>> [found] = blocks("```python\nprint(1)\n```\n```text\n1\n```\n\n![One](one.png)\n")
    >>> found.code, found.line, found.output, found.image
    ('print(1)\n', 1, '1\n', 'one.png')
    """
    return [
        Block(
            code=found["code"],
            line=text[: found.start("code")].count("\n"),
            output=found["output"],
            image=found["image"],
            words=found["words"],
        )
        for found in CODE.finditer(text)
    ]


def notebook(page: Path) -> dict[str, Any]:
    """Give the page as a notebook of format 4.4, with outputs and pictures in place."""
    return {
        "cells": list(_cells(page)),
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 4,
    }


def _cells(page: Path) -> Iterator[dict[str, Any]]:
    text, end = page.read_text(encoding="utf-8"), 0
    for count, (found, block) in enumerate(
        zip(CODE.finditer(text), blocks(text), strict=True), start=1
    ):
        yield from _prose(text[end : found.start()])
        yield {
            "cell_type": "code",
            "execution_count": count,
            "metadata": {},
            "source": block.code.rstrip("\n"),
            "outputs": list(_outputs(block, page.parent)),
        }
        end = found.end()
    yield from _prose(text[end:])


def _prose(text: str) -> Iterator[dict[str, Any]]:
    words = INSIDE.sub(r"\1", text.strip())
    if words:
        yield {"cell_type": "markdown", "metadata": {}, "source": words}


def _outputs(block: Block, folder: Path) -> Iterator[dict[str, Any]]:
    if block.output is not None:
        yield {"output_type": "stream", "name": "stdout", "text": block.output}
    if block.image is not None:
        picture = b64encode((folder / block.image).read_bytes()).decode("ascii")
        yield {
            "output_type": "display_data",
            "metadata": {},
            "data": {"image/png": picture, "text/plain": f"<{block.words}>"},
        }
