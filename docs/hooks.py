r"""What MkDocs does besides mkdocs.yml: formulas are drawn when the site is built.

A fenced block of the language ``math`` (which GitHub shows by itself) becomes images in SVG, so
that no reader needs a script; matplotlib's mathtext knows the subset of LaTeX that may be used.
One formula per line.
"""

from __future__ import annotations

import re
from html import escape
from io import BytesIO
from typing import Any

SIZE = 13  # points, beside text of 16 pixels


def on_config(config: Any) -> Any:
    """Let fenced blocks named ``math`` be drawn; MkDocs calls this once."""
    fences = config["mdx_configs"].setdefault("pymdownx.superfences", {})
    fences.setdefault("custom_fences", []).append(
        {"name": "math", "class": "formula", "format": drawn_block}
    )
    return config


def on_page_content(html: str, **_: Any) -> str:
    """Take away the dash behind a returned type that says all by itself."""
    return re.sub(
        r"</code>\s*–\s*(?=</li>|<div class=\"doc-md-description\">\s*</div>)", "</code>", html
    )


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
