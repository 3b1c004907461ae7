"""JavaScript source, run by node."""

import json
import re
import subprocess

import numpy as np
import pytest

from nn2poly import export
from nn2poly.formula.polynomial import Polynomial


def node(code):
    run = subprocess.run(
        ["node", "-"], input=code, capture_output=True, text=True, encoding="utf-8", timeout=60
    )
    assert (run.returncode, run.stderr) == (0, "")
    return json.loads(run.stdout)


def call(sources, X, after=""):
    names = [re.search(r"function (\w+)\(", source)[1] for source in sources.values()]
    rows, functions = json.dumps(np.asarray(X).tolist()), ", ".join(names)
    return node(
        '"use strict";\n' + "\n".join(sources.values()) + f"const rows = {rows};\n{after}"
        f"console.log(JSON.stringify(rows.map(x => [{functions}].map(f => f(x)))));"
    )


def test_the_functions_give_the_predictions(case, close):
    poly, X, Y = case
    close(call(export.javascript(poly), X), Y)


def test_typed_arrays_work():
    poly = Polynomial([[1.0], [2.0], [3.0]], 1, ["a", "b"])
    source = export.javascript(poly)["y"]
    assert node(f"{source} console.log(predict_y(new Float64Array([1, 2])))") == 9.0


def test_a_name_can_neither_run_nor_end_a_script_element():
    names = ["*/ globalThis.evil = 1; /*", "${globalThis.evil = 1}", "`", "</script>", "<!--"]
    names += ["\u2028globalThis.evil = 1", "\nglobalThis.evil = 1", "</SCRIPT >", "'+evil+'"]
    poly = Polynomial([[1.0]] * 10, 1, names, ["*/ globalThis.evil = 1; /*"])
    sources = export.javascript(poly)
    guard = "if (globalThis.evil !== undefined) throw new Error('ran');\n"
    assert call(sources, np.ones((1, 9)), guard) == [[10.0]]
    assert "<" not in "".join(sources.values())


@pytest.mark.parametrize(("p", "order"), [(784, 1), (1, 100)])
def test_wide_and_deep_ones_run(p, order, make, close):
    poly, X, Y = make["rows"](make["dense"](0, p, order))
    close(call(export.javascript(poly), X[:3]), Y[:3])
