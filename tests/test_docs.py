"""The documentation is true: its code runs, its pictures are drawn by it, the site builds."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import warnings
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from html import unescape
from html.parser import HTMLParser
from io import BytesIO, StringIO
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest

import nn2poly

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]

# What a page shows as code, as output, or hides in a comment because it is beside the point.
PIECES = re.compile(
    r"^```(?P<language>\w*)(?: (?P<info>[^\n]*))?\n(?P<body>.*?)^```$"
    r"|^<!-- setup\n(?P<setup>.*?)^-->$",
    re.MULTILINE | re.DOTALL,
)
# A block that is not run says why: ```python title="not run: needs a cluster".
NOT_RUN = re.compile(r'title="not run: (?P<reason>[^"]+)"')

# Numbers of a training differ a little between machines: by this share of them, or by this much.
NEAR, TINY = 0.1, 0.01

# Pages that speak of a model and data of the reader's own; here is one such reader.
PATIENTS = """
import nn2poly as n2p
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=1)
network = MLPRegressor(
    hidden_layer_sizes=(30,), solver="lbfgs", alpha=1000, max_iter=2000, random_state=0
)
model = make_pipeline(StandardScaler(), network).fit(X_train, y_train)
"""
READERS = {"report.md": PATIENTS}


def pieces(page):
    """Give (line, kind, text) of each piece of code, output or setup of a page, in order.

    Output stands right below its code.
    """
    text = page.read_text(encoding="utf-8")
    found, end = [], 0
    for match in PIECES.finditer(text):
        part = "setup" if match["setup"] is not None else "body"
        kind = "setup" if part == "setup" else match["language"] or "text"
        if kind == "python" and NOT_RUN.search(match["info"] or ""):
            kind = "not run"
        if (
            kind == "text"
            and found
            and found[-1][1] == "python"
            and not text[end : match.start()].strip()
        ):
            kind = "output"
        found.append((text[: match.start(part)].count("\n"), kind, match[part]))
        end = match.end()
    return found


def python_pages():
    return [page for page in PAGES if any(kind == "python" for _, kind, _ in pieces(page))]


@pytest.fixture
def quiet(monkeypatch, tmp_path):
    """Run in an empty folder, without windows, the frameworks' own warnings aside."""
    import matplotlib as mpl

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    mpl.use("Agg")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # New rows may lie outside the range of the old ones; the pages say so.
        warnings.simplefilter("ignore", nn2poly.errors.OutsideRangeWarning)
        for module in ("shap", "keras", "torch", "dask", "distributed", "skl2onnx", "onnx"):
            warnings.filterwarnings("ignore", module=rf"{module}(\..*)?$")
        yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


# --- code -----------------------------------------------------------------------------------


# The gallery runs below, where its pictures are compared.
@pytest.mark.parametrize(
    "page", [page for page in python_pages() if page.stem != "gallery"], ids=lambda page: page.stem
)
def test_the_code_of_the_page_runs_and_prints_what_it_shows(page, quiet):
    names = {"__name__": page.stem}
    exec(READERS.get(page.name, ""), names)
    for line, kind, text in pieces(page):
        if kind in ("python", "setup"):
            printed = run(text, names, page, line)
        elif kind == "output":
            assert_shown(text, printed, f"{page.name}:{line + 1}")


def run(code, names, page, line):
    """Run a block as if it were typed: give what it prints, and the values of bare expressions."""
    tree = ast.parse("\n" * line + code, str(page))
    out = StringIO()
    with redirect_stdout(out), redirect_stderr(StringIO()):
        for node in tree.body:
            if not isinstance(node, ast.Expr):
                exec(compile(ast.Module([node], []), str(page), "exec"), names)
                continue
            value = eval(compile(ast.Expression(node.value), str(page), "eval"), names)
            if value is not None:
                print(value)
    return out.getvalue()


def assert_shown(shown, printed, where):
    """Check the words of a printed text, and its numbers as far as trainings repeat.

    "…" stands for what is left out, so the numbers shown are some of those printed, in order.
    """
    missing = Counter(words(shown)) - Counter(words(printed))
    assert not missing, f"{where} shows {sorted(missing)}, but this is printed:\n{printed}"
    left = iter(numbers(printed))
    for number in numbers(shown):
        found = any(abs(number - other) <= max(NEAR * abs(number), TINY) for other in left)
        assert found, f"{where} shows {number}, but this is printed:\n{printed}"


def words(text):
    return [word for word in re.findall(r"[^\W\d_]\w*", text) if word != "e"]


def numbers(text):
    found = re.findall(r"(?<![\w.])[-−]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?", text)
    return [float(number.replace(",", "").replace("−", "-")) for number in found]


def test_words_and_numbers_are_compared():
    assert_shown("bmi  3.1\n…", "bmi 2.9\nage 4", "here")
    with pytest.raises(AssertionError, match=r"here shows \['sex'\]"):
        assert_shown("bmi 3\nsex 1", "bmi 3\nage 1", "here")
    with pytest.raises(AssertionError, match=r"here shows 1,?200"):
        assert_shown("bmi 1,200", "bmi 900", "here")
    with pytest.raises(AssertionError, match="here shows 3"):
        assert_shown("4 3", "3 4", "here")


def test_blocks_that_are_not_run_are_few():
    assert sum(kind == "not run" for page in PAGES for _, kind, _ in pieces(page)) <= 3


def test_every_page_about_the_package_has_code_that_runs():
    without = {page.name for page in PAGES} - {page.name for page in python_pages()}
    assert without <= {
        *("how-it-works.md", "command-line.md", "performance.md", "paper.md"),
        *("faq.md", "glossary.md", "limits.md", "security.md"),
    }


# --- the command line -----------------------------------------------------------------------


def shell_commands():
    """Collect what the pages type; command-line.md has a test that runs it."""
    return [
        (page.name, line.removeprefix("$ "))
        for page in PAGES
        for _, kind, text in pieces(page)
        if kind in ("console", "sh", "bash", "shell", "text")
        for line in text.splitlines()
        if line.removeprefix("$ ").startswith("nn2poly ")
    ]


def inline_commands():
    """Collect whole commands inside sentences: `nn2poly export poly.json --to sql`."""
    found = []
    for page in PAGES:
        text = PIECES.sub("", page.read_text(encoding="utf-8"))
        found += [(page.name, command) for command in re.findall(r"`(nn2poly [a-z][^`]*)`", text)]
    return found


def test_every_command_that_is_typed_is_understood():
    """Names, options and arguments; files need not be there."""
    import typer

    from nn2poly.cli.app import build

    app = typer.main.get_command(build())
    commands = shell_commands() + inline_commands()
    assert len(commands) > 10
    for page, line in commands:
        name, *given = shlex.split(line, comments=True)[1:]
        where = f"{page}: {line}"
        assert name in app.commands or name.isupper(), where
        chosen = [app.commands[name]] if name in app.commands else app.commands.values()
        options = [p for command in chosen for p in command.params]
        known = {flag for p in options for flag in (*p.opts, *p.secondary_opts)}
        flags = {word.partition("=")[0] for word in given if re.match(r"--?[a-z]", word)}
        assert flags <= known | {"--help", "-h"}, where


# --- pictures -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gallery():
    spec = importlib.util.spec_from_file_location("make_gallery", DOCS / "make_gallery.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def images_of(page):
    return re.findall(r"!\[([^]]*)\]\(([^)]+)\)", page.read_text(encoding="utf-8"))


def test_every_plot_is_in_the_gallery_with_its_code():
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    missing = [name for name in nn2poly.plots.__all__ if f"plots.{name}(" not in text]
    assert missing == []


def test_every_picture_of_the_gallery_is_there_and_small(gallery):
    used = {(page.parent / image).resolve() for page in PAGES for _, image in images_of(page)}
    made = set((DOCS / "images" / "gallery").resolve().iterdir())
    assert made <= used
    assert used <= {path for path in used if path.is_file()}
    assert max(path.stat().st_size for path in made) <= gallery.LARGEST


def test_the_recording_of_the_report_moves_loops_and_is_small():
    """A few seconds, made by docs/make_recording.py."""
    from PIL import Image

    file = DOCS / "images" / "what-if.gif"
    assert file.stat().st_size < 1_500_000
    with Image.open(file) as movie:
        frames = list(range(movie.n_frames))
        times = [movie.info["duration"] for frame in frames if movie.seek(frame) is None]
        assert movie.info["loop"] == 0
    assert len(frames) > 20
    assert 4_000 < sum(times) < 8_000


def test_every_picture_says_in_words_what_it_shows():
    assert [image for page in PAGES for words, image in images_of(page) if len(words) < 10] == []


@pytest.mark.parametrize("name", ["gallery.md", "quick-start.md"])
def test_the_pictures_are_those_that_the_code_of_the_page_draws(gallery, name, quiet):
    """Seen from afar: fonts and the last digits of a training differ between machines."""
    with redirect_stdout(StringIO()):
        drawn = list(gallery.pictures(DOCS / name))
    assert drawn
    for file, content in drawn:
        stored, fresh = (from_afar(source) for source in (file, BytesIO(content)))
        assert stored.shape == fresh.shape, f"{file.name}: run docs/make_gallery.py"
        assert np.abs(stored - fresh).mean() < 8.0, f"{file.name}: run docs/make_gallery.py"


def from_afar(source):
    from PIL import Image

    image = Image.open(source).convert("L")
    size = (32, round(32 * image.height / image.width))
    return np.asarray(image.resize(size, Image.Resampling.BOX), dtype=float)


# --- the site -------------------------------------------------------------------------------


class Asked(HTMLParser):
    """Collect what a page loads (scripts, styles, images), links to, and can be linked at."""

    def __init__(self, text):
        super().__init__()
        self.loaded, self.linked, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors.update(given[key] for key in ("id", "name") if given.get(key))
        if given.get("src"):
            self.loaded.append(given["src"])
        if tag == "link" and given.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(given["href"])
        if tag == "a" and given.get("href"):
            self.linked.append(given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site once, as `make docs` does."""
    folder = tmp_path_factory.mktemp("site")
    run = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return {path: Asked(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")}


def test_every_page_is_in_the_site(site):
    built = {path.stem for path in site}
    assert {page.stem for page in DOCS.rglob("*.md")} <= built


def test_no_page_asks_another_host_for_anything(site):
    asked = {url for page in site.values() for url in page.loaded}
    assert asked
    assert [url for url in asked if urlsplit(url).netloc] == []


def test_no_style_or_script_asks_another_host_for_anything(site):
    folder = next(path.parent for path in site if path.name == "404.html")
    for path in [*folder.rglob("*.css"), *DOCS.glob("assets/*")]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"(url\(|@import\s+)['\"]?(https?:)?//", text), path.name


def test_every_link_inside_the_site_leads_somewhere(site):
    wrong = []
    for path, page in site.items():
        for link in page.linked if path.name != "404.html" else ():
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchors = site[target].anchors if target in site else set()
            if not target.is_file() or (parts.fragment and unquote(parts.fragment) not in anchors):
                wrong.append(f"{path.name}: {link}")
    assert wrong == []


def test_formulas_are_drawn_and_named(site):
    text = next(path for path in site if path.name == "how-it-works.html").read_text("utf-8")
    assert text.count('<svg role="img" aria-label="') >= 5
    assert "currentColor" in text
    assert "```" not in text


# --- the reference --------------------------------------------------------------------------


def public_things():
    """Give every public thing with the paths it can be reached by."""
    packages = ("plots", "explain", "export", "estimators", "training", "errors")
    paths = {}
    for package in ("", *packages):
        module = importlib.import_module(f"nn2poly.{package}".rstrip("."))
        for name in module.__all__:
            if name not in packages:
                found = paths.setdefault(id(getattr(module, name)), [])
                path = f"{module.__name__}.{name}"
                found += [path, f"{path}.{name}"]  # some modules are named as their function
    return list(paths.values())


def test_every_public_name_is_in_the_reference(site, monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "torch")  # the one that is installed
    pages = [page for path, page in site.items() if "reference" in path.parts]
    anchors = set().union(*(page.anchors for page in pages))
    things = public_things()
    assert len(things) > 60
    assert [paths for paths in things if not anchors & set(paths)] == []


def test_parameters_that_share_a_line_have_their_own_types_and_defaults(site):
    page = next(path for path in site if path.parts[-2:] == ("reference", "polynomial.html"))
    text = re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", page.read_text("utf-8"))))
    assert "center (ArrayLike, default: 0.0 )" in text
    assert "scale (ArrayLike, default: 1.0 )" in text
    assert "link (str, default: 'identity' )" in text


def test_signatures_have_values_and_nothing_private(site):
    pages = [path for path in site if path.parts[-2] == "reference"]
    text = " ".join(page.read_text("utf-8") for page in pages)
    signatures = re.findall(r'<div class="[^"]*doc-signature.*?</div>', text, re.DOTALL)
    assert len(signatures) > 60
    shown = re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", " ".join(signatures))))
    assert "regions=(1, 2, 4, 8, 16), max_terms=(10, 30, 100)" in shown
    assert not re.search(r"=[A-Z_]{2,}\b|[(,] ?_[a-z]", shown)


def test_names_in_prose_lead_to_the_reference(site):
    page = next(page for path, page in site.items() if path.name == "regions.html")
    assert "reference/convert.html#nn2poly.frontier" in page.linked
    assert "reference/polynomial.html#nn2poly.PiecewisePolynomial" in page.linked


def test_the_reference_says_nothing_twice_in_a_row(site):
    entry = re.compile(r'<div class="doc-md-description">(.*?)</div>\s*</li>', re.DOTALL)
    pages = [path.read_text("utf-8") for path in site if "reference" in path.parts]
    lists = [part for page in pages for part in re.findall(r"<ul>.*?</ul>", page, re.DOTALL)]
    texts = [[text.strip() for text in entry.findall(part)] for part in lists]
    assert sum(map(len, texts)) > 300
    repeated = [a for part in texts for a, b in pairwise(part) if a == b]
    assert repeated == []


def test_the_site_has_a_live_report_of_the_readme(site):
    report = next(path for path in site if path.name == "sample-report.html")
    assert "log triglycerides" in report.read_text("utf-8")
    assert any("sample-report.html" in page.linked for page in site.values())
