"""The page of what is read is what the readers' own tables say."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_up_to_date():
    pytest.importorskip("keras")
    spec = importlib.util.spec_from_file_location("page", DOCS / "make_readers_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.page() == module.PAGE.read_text(encoding="utf-8")
