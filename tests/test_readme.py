"""The pictures of the README are made by the code in it.

``NN2POLY_WRITE_BASELINES=1 pytest tests/test_readme.py`` writes them anew.
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
NAMES = ("diagonal", "importance", "waterfall")
# Twice what a page shows, for screens with fine pixels.
DPI = 220
# Side of a block of pixels, and the largest difference between images (root mean square, 0–1).
BLOCK, TOLERANCE = 8, 0.03


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Run the code of the README up to its pictures; give what each name in it stands for."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^<!-- setup\n(.*?)^-->|^```python\n(.*?)^```", text, re.M | re.S)
    names: dict[str, object] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("readme"))
        for setup, code in blocks:
            if "n2p.report" not in code:
                exec(setup or code, names)
    return names


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::nn2poly.errors.OutsideRangeWarning")
def test_the_readme_shows_what_its_code_draws(drawn, name, tmp_path):
    drawn[name].figure.savefig(tmp_path / "found.png", dpi=DPI)
    stored = PICTURES / f"{name}.png"
    if os.environ.get("NN2POLY_WRITE_BASELINES"):
        stored.write_bytes((tmp_path / "found.png").read_bytes())
    found, expected = blurred(imread(tmp_path / "found.png")), blurred(imread(stored))
    assert found.shape == expected.shape
    assert np.sqrt(np.mean((found - expected) ** 2)) < TOLERANCE


def test_the_readme_shows_these_pictures():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"docs/images/readme/(\w+)\.png", text) == list(NAMES)


def blurred(image):
    """Average blocks of pixels, so that another renderer of the font passes."""
    height, width = (side // BLOCK * BLOCK for side in image.shape[:2])
    blocks = image[:height, :width, :3].reshape(height // BLOCK, BLOCK, width // BLOCK, BLOCK, 3)
    return blocks.mean(axis=(1, 3))
