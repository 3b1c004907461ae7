"""``nn2poly reproduce`` as a command."""

import json

import pytest
import typer
from typer.testing import CliRunner

from nn2poly.cli.reproduce import NAMES, reproduce
from nn2poly_paper import EXPERIMENTS


@pytest.fixture(scope="module")
def app():
    app = typer.Typer()
    app.command("reproduce", epilog=reproduce.epilog)(reproduce)
    app.callback()(lambda: None)
    return app


def run(app, *arguments):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


def test_it_prints_the_claims_and_writes_files(app, tmp_path):
    result = run(app, "terms", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "29,260" in result.output
    assert (tmp_path / "terms.csv").exists()


def test_it_speaks_json(app, tmp_path):
    result = run(app, "partitions", "--quick", "--out", tmp_path, "--jobs", 1, "--json")
    found = json.loads(result.stdout)
    assert all(claim["holds"] for claim in found["claims"]["partitions"])
    assert str(tmp_path / "partitions.csv") in found["files"]
    assert "partitions: 4/4" in result.stderr


def test_it_writes_a_page(app, tmp_path):
    page = tmp_path / "paper.md"
    assert run(app, "terms", "--out", tmp_path / "paper", "--page", page).exit_code == 0
    assert "(paper/fig01_terms.png)" in page.read_text(encoding="utf-8")


def test_the_default_folders_keep_quick_and_full_apart(app, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for options in ([], ["--quick"]):
        assert run(app, "terms", *options).exit_code == 0
    assert (tmp_path / "results" / "terms.csv").exists()
    assert (tmp_path / "results" / "quick" / "terms.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["bostn"], "did you mean 'boston'"),
        (["terms", "--backend", "spark"], "Unknown backend"),
        (["boston", "--data", "x.csv"], "Only covertype"),
        (["covertype", "--data", "x.csv"], "--data FILE"),
    ],
)
def test_mistakes_are_explained_without_a_traceback(app, tmp_path, arguments, text):
    result = run(app, *arguments, "--out", tmp_path)
    assert result.exit_code == 1
    assert text in result.output
    assert "Traceback" not in result.output


def test_help_names_the_experiments_and_shows_examples(app):
    assert list(EXPERIMENTS) == [e.name for e in EXPERIMENTS.values()] == NAMES.split(", ")
    result = run(app, "--help")
    assert result.exit_code == 0
    assert "--quick" in result.output
