"""Turn a trained neural network into an explicit polynomial.

>>> import nn2poly as n2p
>>> net = n2p.Network([n2p.Layer([[0.5], [0.2]], [0.0], "tanh"), n2p.Layer([[1.0]], [3.0])])
>>> poly = n2p.convert(net, max_order=3)
>>> n2p.fidelity(net, poly, [[0.1, 0.2], [0.3, -0.1], [0.0, 0.5]]).r2 > 0.999
True
"""

from nn2poly.assess.fidelity import fidelity
from nn2poly.assess.sparsity import sparse_path
from nn2poly.conversion.convert import convert, polynomial_network
from nn2poly.conversion.polynomial_network import PolynomialNetwork
from nn2poly.errors import NN2PolyError, TooManyTermsError
from nn2poly.network.network import Layer, Network
from nn2poly.network.readers import read_network
from nn2poly.polynomial.polynomial import Polynomial, load

__version__ = "0.1.0"
__all__ = [
    "Layer",
    "NN2PolyError",
    "Network",
    "Polynomial",
    "PolynomialNetwork",
    "TooManyTermsError",
    "convert",
    "fidelity",
    "load",
    "polynomial_network",
    "read_network",
    "sparse_path",
]
