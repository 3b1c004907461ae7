"""The tutorials are true: they print and draw what they show, and are the notebooks they offer."""

from __future__ import annotations

import doctest
import importlib
import json
import re
import sys
import warnings
from base64 import b64decode
from collections import Counter
from contextlib import redirect_stderr
from io import BytesIO, StringIO
from pathlib import Path

import numpy as np
import pytest

import nn2poly

DOCS = Path(__file__).parents[1] / "docs"
FOLDER, IMAGES = DOCS / "tutorials", DOCS / "images" / "tutorials"
PAGES = sorted(page for page in FOLDER.glob("*.md") if page.stem != "index")
# Trainings differ in their last digits between machines: a tenth of a number, of most of them; and
# of a hundred words three, as of two terms that are nearly as good either may be the last one.
CLOSE, MOST, MOST_WORDS = 0.1, 0.8, 0.97
NUMBER = re.compile(r"(?<![\w.])[-−]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.])")

sys.path.insert(0, str(DOCS))
notebooks = importlib.import_module("notebooks")
make_tutorials = importlib.import_module("make_tutorials")
sys.path.remove(str(DOCS))


@pytest.fixture
def quiet(monkeypatch, tmp_path):
    """Run in an empty folder, and take every warning but that of rows beyond the sample ill."""
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", nn2poly.errors.OutsideRangeWarning)
        warnings.filterwarnings("ignore", module=r"torch(\..*)?$")
        yield


# --- code -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_tutorial_prints_and_draws_what_it_shows(page, quiet):
    with redirect_stderr(StringIO()):
        found = list(make_tutorials.results(page))
    assert len(found) >= 8
    for block, printed, picture in found:
        assert_printed(block.output or "", printed, f"{page.name}:{block.line + 1}")
        if block.image:
            assert_drawn(page.parent / block.image, picture)


def assert_printed(shown, printed, where):
    """Compare nearly all words, and the numbers in turn."""
    told = f"{where}: run docs/make_tutorials.py; it prints now:\n{printed}"
    wanted, found = Counter(words(shown)), Counter(words(printed))
    same = (wanted & found).total()
    assert same >= MOST_WORDS * max(wanted.total(), found.total()), told
    was, now = numbers(shown), numbers(printed)
    assert len(was) == len(now), told
    share = np.mean(np.isclose(was, now, rtol=CLOSE, atol=1e-12)) if len(was) else 1.0
    assert share >= MOST, f"{where}: {share:.0%} of its numbers are as shown; now:\n{printed}"


def words(text):
    return re.findall(r"[^\W\d_]+", NUMBER.sub(" ", text))


def numbers(text):
    return np.array([float(n.replace(",", "").replace("−", "-")) for n in NUMBER.findall(text)])


def test_words_and_most_numbers_must_agree():
    assert_printed("bmi 3.10 of 1,000 rows", "bmi 3.11 of 1000 rows", "here")
    with pytest.raises(AssertionError, match="prints now"):
        assert_printed("bmi 3.10", "age 3.10", "here")
    with pytest.raises(AssertionError, match="50% of its numbers"):
        assert_printed("bmi 3.10, age 7", "bmi 4.10, age 7", "here")


def assert_drawn(file, picture):
    """Compare two pictures from afar: fonts differ between machines."""
    stored, fresh = from_afar(file), from_afar(BytesIO(picture))
    assert stored.shape == fresh.shape, f"{file.name}: run docs/make_tutorials.py"
    assert np.abs(stored - fresh).mean() < 8.0, f"{file.name}: run docs/make_tutorials.py"


def from_afar(source):
    from PIL import Image

    image = Image.open(source).convert("L")
    size = (32, round(32 * image.height / image.width))
    return np.asarray(image.resize(size, Image.Resampling.BOX), dtype=float)


# --- pages and notebooks ----------------------------------------------------------------------


def test_blocks_are_found_as_the_docstring_says():
    assert doctest.testmod(notebooks) == (0, 2)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_notebook_holds_the_code_the_outputs_and_the_pictures_of_the_page(page):
    text = page.read_text(encoding="utf-8")
    made = json.loads(json.dumps(notebooks.notebook(page)))
    code = [cell for cell in made["cells"] if cell["cell_type"] == "code"]
    blocks = notebooks.blocks(text)
    assert [cell["source"] + "\n" for cell in code] == [block.code for block in blocks]
    for cell, block in zip(code, blocks, strict=True):
        outputs = {output["output_type"]: output for output in cell["outputs"]}
        assert outputs.get("stream", {}).get("text") == block.output
        if block.image:
            picture = b64decode(outputs["display_data"]["data"]["image/png"])
            assert picture == (page.parent / block.image).read_bytes()
    prose = "".join(cell["source"] for cell in made["cells"] if cell["cell_type"] == "markdown")
    assert "```python" not in prose
    assert "](../" not in prose


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_offers_its_notebook_and_says_what_would_not_work(page):
    text = page.read_text(encoding="utf-8")
    assert f"[Download as a notebook]({page.stem}.ipynb)" in text
    assert "\n## What would not work\n" in text
    assert text.count("```python") == len(notebooks.blocks(text))


def test_every_tutorial_is_on_the_overview_with_a_picture():
    text = (FOLDER / "index.md").read_text(encoding="utf-8")
    assert {page.stem for page in PAGES} == set(re.findall(r"\]\(([\w-]+)\.md\)", text))
    assert text.count("![") == len(PAGES)


def test_the_pictures_are_all_used_told_in_words_and_small():
    found = [
        (page, *image)
        for page in FOLDER.glob("*.md")
        for image in re.findall(r"!\[([^]]*)\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    ]
    assert {(page.parent / image).resolve() for page, _, image in found} == {
        file.resolve() for file in IMAGES.iterdir()
    }
    assert [image for _, told, image in found if len(told) < 20] == []
    assert sum(file.stat().st_size for file in IMAGES.iterdir()) < 1_500_000
