"""From plain data to one HTML file: template, style sheet, scripts and charts in one."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import Any

from nn2poly.assess.subgroups import MIN_ROWS
from nn2poly.errors import require
from nn2poly.reporting.contents import Contents
from nn2poly.reporting.numerals import beside, number, percent, prose, r_squared, share
from nn2poly.reporting.payload import scale_meaning, term_scale, to_script

# In this order, inside one function.
SCRIPTS = (
    *("data.js", "polynomial.js", "theme.js", "charts.js", "regions.js", "effects.js"),
    *("interactions.js", "paper.js", "table.js", "controls.js", "whatif.js", "page.js"),
)
CHARTS = "plotly-cartesian.min.js"


def render(contents: Contents) -> str:
    """Fill the template; every string is escaped, and scripts are admitted by their hash.

    Raises
    ------
    MissingDependencyError
        When Jinja2 is not installed.
    """
    environment = _environment()
    charts, script = _asset(CHARTS), _script()
    page: str = environment.get_template("report.html").render(
        c=contents,
        style=_asset("report.css"),
        charts=charts,
        script=script,
        data=to_script(contents.payload),
        policy=_policy(charts, script),
        min_rows=MIN_ROWS,
    )
    return page


def _environment() -> Any:
    jinja2 = require("jinja2", what="A report", extra="report")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("nn2poly.reporting"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "percent": percent, "r_squared": r_squared}
    environment.filters |= {"breakable": breakable, "prose": prose, "share": share}
    environment.filters |= {"beside": beside}
    environment.filters |= {"term_scale": term_scale, "scale_meaning": scale_meaning}
    return environment


def breakable(text: object) -> str:
    """Escape a name and let it break after ``=``, ``_``, ``.`` and the like, not within words.

    Examples
    --------
    >>> print(breakable("race_White<b>"))
    race_<wbr>White&lt;b&gt;
    """
    from markupsafe import Markup, escape

    parts = re.split(r"(?<=[=_.,:/|])(?<!\d[.,])(?=[^\s=_.,:/|])", str(text))
    return Markup("<wbr>").join(escape(part) for part in parts)


def _script() -> str:
    parts = "\n".join(_asset(name) for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}\n}})();'


@cache
def _asset(name: str) -> str:
    # A browser reads line ends as \n before it hashes a script.
    text = files("nn2poly.reporting").joinpath("assets", name).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n")


def _policy(*scripts: str) -> str:
    """Write a content security policy: these scripts, inline styles, no address at all."""
    hashes = (hashlib.sha256(script.encode("utf-8")).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(h).decode('ascii')}'" for h in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
