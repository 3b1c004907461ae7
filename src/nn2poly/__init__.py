"""Turn a trained neural network into an explicit polynomial.

>>> import nn2poly as n2p
>>> net = n2p.Network([n2p.Layer([[0.5], [0.2]], [0.0], "tanh"), n2p.Layer([[1.0]], [3.0])])
>>> poly = n2p.convert(net, max_order=3)
>>> n2p.fidelity(net, poly, [[0.1, 0.2], [0.3, -0.1], [0.0, 0.5]]).r2 > 0.999
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nn2poly.assess.fidelity import fidelity
from nn2poly.errors import NN2PolyError, TooManyTermsError
from nn2poly.formula.from_r import from_r
from nn2poly.formula.loading import load
from nn2poly.formula.piecewise import PiecewisePolynomial
from nn2poly.formula.polynomial import Polynomial
from nn2poly.network.network import Layer, Network
from nn2poly.network.readers import read_network, register_reader

if TYPE_CHECKING:
    from nn2poly import explain, export, plots
    from nn2poly.estimators import PolynomialClassifier, PolynomialRegressor
    from nn2poly.factored.polynomial_network import PolynomialNetwork
    from nn2poly.fit.convert import convert, polynomial_network
    from nn2poly.fit.frontier import frontier
    from nn2poly.fit.many import convert_many
    from nn2poly.fit.sparsity import sparse_path
    from nn2poly.reporting import report

__version__ = "0.2.0.dev0"
__all__ = [
    "Layer",
    "NN2PolyError",
    "Network",
    "PiecewisePolynomial",
    "Polynomial",
    "PolynomialClassifier",
    "PolynomialNetwork",
    "PolynomialRegressor",
    "TooManyTermsError",
    "convert",
    "convert_many",
    "explain",
    "export",
    "fidelity",
    "from_r",
    "frontier",
    "load",
    "plots",
    "polynomial_network",
    "read_network",
    "register_reader",
    "report",
    "sparse_path",
]

# These are imported when they are first asked for, as are the rooms that bear the name of what is
# asked for: importing the package stays quick.
_LATER = {
    **dict.fromkeys(("PolynomialClassifier", "PolynomialRegressor"), "nn2poly.estimators"),
    "PolynomialNetwork": "nn2poly.factored.polynomial_network",
    **dict.fromkeys(("convert", "polynomial_network"), "nn2poly.fit.convert"),
    "convert_many": "nn2poly.fit.many",
    "frontier": "nn2poly.fit.frontier",
    "report": "nn2poly.reporting",
    "sparse_path": "nn2poly.fit.sparsity",
}


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__"})


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'nn2poly' has no attribute {name!r}")
    module = import_module(_LATER.get(name, f"nn2poly.{name}"))
    return getattr(module, name, module)
