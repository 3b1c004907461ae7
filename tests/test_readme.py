"""The README shows what its own code makes, and the numbers that the benchmark measured.

``NN2POLY_WRITE_BASELINES=1 pytest tests/test_readme.py`` writes its pictures anew.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "images" / "readme"
NAMES = ("importance", "waterfall", "diagonal")
# Side of a block of pixels, and the largest difference between images (root mean square, 0–1).
BLOCK, TOLERANCE = 16, 0.03


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Run the code of the README as printed; give the folder that it wrote to."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    folder, names = tmp_path_factory.mktemp("readme"), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for code in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S):
            exec(code, names)
    return folder


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::nn2poly.errors.OutsideRangeWarning")
def test_the_readme_shows_what_its_code_draws(folder, name):
    stored, found = PICTURES / f"{name}.png", folder / f"{name}.png"
    if os.environ.get("NN2POLY_WRITE_BASELINES"):
        stored.write_bytes(found.read_bytes())
    found, expected = blurred(imread(found)), blurred(imread(stored))
    assert found.shape == expected.shape
    assert np.sqrt(np.mean((found - expected) ** 2)) < TOLERANCE


def test_the_readme_shows_these_pictures():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"docs/images/readme/(\w+)\.png", text) == list(NAMES)


def test_the_commands_for_a_fresh_machine_stand_by_the_installation_and_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    before_code = text.partition("```python")[0]
    assert {"demo", "test"} <= set(re.findall(r"`make (\w+)`", before_code))
    targets = re.findall(r"^(\w[\w-]*):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    assert set(re.findall(r"`make ([\w-]+)`", text)) <= set(targets)


def test_nothing_of_the_readme_is_hidden_in_a_comment():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "<!-- setup" not in text


def test_the_readme_and_the_site_show_the_same_measurement():
    tables = {
        re.search(
            r"<!-- users begins -->\n(.*?)<!-- users ends -->", page.read_text("utf-8"), re.S
        )[1]
        for page in (ROOT / "README.md", ROOT / "docs" / "performance.md")
    }
    assert len(tables) == 1
    assert "| time / ours |" in tables.pop()


def blurred(image):
    """Average blocks of pixels, so that another renderer of the font passes."""
    height, width = (side // BLOCK * BLOCK for side in image.shape[:2])
    blocks = image[:height, :width, :3].reshape(height // BLOCK, BLOCK, width // BLOCK, BLOCK, 3)
    return blocks.mean(axis=(1, 3))
