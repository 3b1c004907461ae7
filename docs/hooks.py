r"""What MkDocs does besides mkdocs.yml: formulas, links to the reference, the sample report.

A fenced block of the language ``math`` (which GitHub shows by itself) becomes images in SVG, so
that no reader needs a script; matplotlib's mathtext knows the subset of LaTeX that may be used.
One formula per line.

The first mention of a public name on a page, ``n2p.convert`` in backticks, becomes a link to the
reference. The sample report is written by the code of the README. The changelog and the guide for
contributors are pages of the site as they stand in the repository.
"""

from __future__ import annotations

import re
import warnings
from contextlib import chdir, redirect_stdout
from functools import cache
from html import escape
from io import BytesIO, StringIO
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

SIZE = 13  # points, beside text of 16 pixels
DOCS = Path(__file__).parent
SAMPLE = "sample-report.html"
FROM_ROOT = ("CHANGELOG.md", "CONTRIBUTING.md")

# Names that belong to a subpackage are written with it: `explain.shapley`.
SUBPACKAGES = ("explain", "export", "plots", "training")
# Its words in backticks are commands of the shell.
WITHOUT_LINKS = ("command-line.md",)
UNTOUCHED = re.compile(r"(<(?P<tag>pre|a|h[1-6]|autoref)\b.*?</(?P=tag)>)", re.DOTALL)
CODE = re.compile(r"<code>(?P<name>[A-Za-z][\w.]*)(?P<call>\([^<]*\))?</code>")
# A number of a table; browsers would break the line at its hyphen.
EXPONENT = re.compile(r"\b\d[\d.]*e-\d+\b(?=[^<>]*</td>)")
PARAMETER = re.compile(
    r'<li class="doc-section-item field-body">(?P<name>.*?)–\s*'
    r'<div class="doc-md-description">(?P<text>.*?)</div>\s*</li>\s*',
    re.DOTALL,
)


def on_config(config: Any) -> Any:
    """Let fenced blocks named ``math`` be drawn; MkDocs calls this once."""
    fences = config["mdx_configs"].setdefault("pymdownx.superfences", {})
    fences.setdefault("custom_fences", []).append(
        {"name": "math", "class": "formula", "format": drawn_block}
    )
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the sample report, and pages that stand at the root of the repository."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, SAMPLE, content=sample_report()))
    for name in FROM_ROOT:
        files.append(File.generated(config, name.lower(), abs_src_path=str(DOCS.parent / name)))
    return files


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Say what parameters share once, keep numbers whole, link names to the reference."""
    # A returned type that says all by itself needs no dash behind it.
    html = re.sub(
        r"</code>\s*–\s*(?=</li>|<div class=\"doc-md-description\">\s*</div>)", "</code>", html
    )
    html = EXPONENT.sub(r'<span class="number">\g<0></span>', merge_parameters(html))
    return html if page.file.src_uri in WITHOUT_LINKS else link_names(html)


# The sample report --------------------------------------------------------------------------


@cache
def sample_report() -> str:
    """Run the code of the README as printed and give the report that it writes."""
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    with TemporaryDirectory() as folder, chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with redirect_stdout(StringIO()):
            for code in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S):
                exec(code, names)
        return Path("report.html").read_text(encoding="utf-8")


# The reference ------------------------------------------------------------------------------


def merge_parameters(html: str) -> str:
    """Put parameters that follow each other and have the same text into one entry.

    Examples
    --------
    >>> item = '<li class="doc-section-item field-body">{} –<div class="doc-md-description">{}'
    >>> item += "</div></li>"
    >>> merged = merge_parameters(item.format("low", "Arrays.") + item.format("high", "Arrays."))
    >>> merged.count("Arrays."), "low, high" in merged
    (1, True)
    """
    found = list(PARAMETER.finditer(html))
    for first, second in reversed(list(pairwise(found))):
        if first.end() == second.start() and first["text"] == second["text"]:
            # What is behind `second` is merged already, and still begins with its own name.
            start = second.start("name")
            html = f"{html[: first.end('name')].rstrip()}, {html[start:]}"
    return html


@cache
def public_names() -> dict[str, str]:
    """Give the identifier in the reference of each spelling of a public name."""
    names = {}
    for page in sorted((DOCS / "reference").glob("*.md")):
        for identifier in re.findall(r"^::: (nn2poly\.[\w.]+)", page.read_text("utf-8"), re.M):
            *path, name = identifier.split(".")
            package = path[-2] if path[-1] == name else path[-1]  # a module named as its function
            spellings = [f"{package}.{name}"] if package in SUBPACKAGES else [name]
            spellings += [name] if name[0].isupper() else []
            for spelling in spellings:
                names |= {f"{root}{spelling}": identifier for root in ("", "n2p.", "nn2poly.")}
    return names


def link_names(html: str) -> str:
    """Link the first mention of each public name outside code blocks, links and headings."""
    names, seen = public_names(), set()

    def linked(match: re.Match[str]) -> str:
        name = match["name"]
        identifier = names.get(name)
        if name.startswith("poly."):
            identifier = f"nn2poly.Polynomial.{name.removeprefix('poly.')}"
        if identifier is None or identifier in seen:
            return match[0]
        seen.add(identifier)
        return f'<autoref identifier="{identifier}" optional>{match[0]}</autoref>'

    parts, end = [], 0
    for untouched in UNTOUCHED.finditer(html):
        parts += [CODE.sub(linked, html[end : untouched.start()]), untouched[0]]
        end = untouched.end()
    return "".join([*parts, CODE.sub(linked, html[end:])])


# Formulas -----------------------------------------------------------------------------------


def drawn_block(source: str, *_: Any, **__: Any) -> str:
    """Give the HTML of a block of formulas."""
    lines = [line for line in source.splitlines() if line.strip()]
    return f'<div class="formula">{"".join(map(drawn, lines))}</div>'


def drawn(formula: str) -> str:
    r"""Draw one formula in the colour of the text around it.

    Examples
    --------
    >>> drawn(r"v^m \leq 1").startswith('<svg role="img" aria-label="v^m \\leq 1"')
    True
    """
    import matplotlib as mpl
    from matplotlib.font_manager import FontProperties
    from matplotlib.mathtext import math_to_image

    file = BytesIO()
    # A fixed salt: the same formula gives the same file in every build.
    settings = {"svg.fonttype": "path", "svg.hashsalt": formula, "mathtext.fontset": "cm"}
    with mpl.rc_context(settings):
        font = FontProperties(size=SIZE)
        # Formulas that stand alone have tall binomials; mathtext draws those of running text.
        tall = formula.replace(r"\binom", r"\genfrac{(}{)}{0}{0}")
        math_to_image(f"${tall}$", file, prop=font, dpi=72, format="svg", color="#123456")
    svg = file.getvalue().decode("utf-8")
    svg = svg[svg.index("<svg") :].replace("#123456", "currentColor")
    svg = svg.replace("fill: #ffffff", "fill: none")  # the paper
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    label = escape(formula, quote=True)
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
    # A blank line would end the block of HTML.
    return re.sub(r"\n\s*", " ", svg).strip()
