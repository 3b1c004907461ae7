"""Run the tutorials; write what their code prints and draws below it.

Run ``python docs/make_tutorials.py`` for all, or with names of pages (``credit``). `results` gives
the same to the tests. A block shows what it prints, and the figure that its last line gives.
"""

from __future__ import annotations

import ast
import contextlib
import shutil
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib as mpl
from make_gallery import png
from notebooks import CODE, Block, blocks

HERE = Path(__file__).resolve().parent
FOLDER = HERE / "tutorials"
PAGES = sorted(page for page in FOLDER.glob("*.md") if page.stem != "index")
DATA = sorted(file for file in FOLDER.iterdir() if file.suffix != ".md")


def results(page: Path) -> Iterator[tuple[Block, str, bytes | None]]:
    """Run a page in the present folder: each block, what it prints, and its picture (PNG)."""
    mpl.use("Agg")
    names: dict[str, Any] = {"__name__": page.stem}
    for data in DATA:
        shutil.copy(data, data.name)  # as beside a downloaded notebook
    for block in blocks(page.read_text(encoding="utf-8")):
        printed = StringIO()
        with contextlib.redirect_stdout(printed):
            last = run(block, page, names)
        yield block, printed.getvalue(), png(last) if block.image else None


def run(block: Block, page: Path, names: dict[str, Any]) -> Any:
    """Run a block as a notebook does; give the value of its last line, if that is one."""
    tree = ast.parse("\n" * block.line + block.code, str(page))
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, str(page), "exec"), names)  # our own page
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), str(page), "eval"), names)


def written(text: str, printed: list[str]) -> str:
    """Give the page with these outputs below its blocks of code."""
    outputs = iter(printed)

    def replaced(found: Any) -> str:
        output = next(outputs)
        shown = f"```text\n{output.rstrip()}\n```\n" if output.strip() else ""
        picture = f"\n![{found['words']}]({found['image']})\n" if found["image"] else ""
        return f"```python\n{found['code']}```\n{shown}{picture}"

    return CODE.sub(replaced, text)


def main(chosen: list[str]) -> None:
    """Write outputs and pictures of these pages, or of all."""
    for page in PAGES:
        if chosen and page.stem not in chosen:
            continue
        with TemporaryDirectory() as folder, contextlib.chdir(folder):
            found = list(results(page))
        text = written(page.read_text(encoding="utf-8"), [printed for _, printed, _ in found])
        page.write_text(text, encoding="utf-8")
        for block, _, picture in found:
            if block.image and picture:
                file = page.parent / block.image
                file.write_bytes(picture)
                print(f"{file.name:30} {len(picture) / 1000:6.1f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
