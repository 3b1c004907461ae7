"""Put the polynomial to work elsewhere: formulas and models in other languages.

Each text export gives a dict with one entry per output name. All but `latex` keep full double
precision and work in the polynomial's own coordinates, z = (x - center) / scale: multiplied
out to raw units, large numbers can cancel.

>>> import nn2poly as n2p
>>> poly = n2p.Polynomial([[1.0], [2.0], [3.0]], 1, ["rm", "lstat"], ["price"])
>>> n2p.export.sql(poly)["price"]
'1e0 + 2e0*t."rm" + 3e0*t."lstat"'
"""

from nn2poly.export.brace_source import c, javascript
from nn2poly.export.excel_formula import excel
from nn2poly.export.languages import LANGUAGES, Language
from nn2poly.export.latex_formula import latex
from nn2poly.export.onnx_model import onnx
from nn2poly.export.python_source import python
from nn2poly.export.sklearn_estimator import sklearn
from nn2poly.export.sql_expression import sql, sql_select
from nn2poly.export.sympy_expression import sympy, sympy_names

__all__ = [
    "LANGUAGES",
    "Language",
    "c",
    "excel",
    "javascript",
    "latex",
    "onnx",
    "python",
    "sklearn",
    "sql",
    "sql_select",
    "sympy",
    "sympy_names",
]


def __dir__() -> list[str]:
    return sorted(__all__)
