"""Convert a network by the paper's method and by calibration, and compare both with it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.errors import NoSeriesError, RadiusWarning
from nn2poly.factored.polynomial_network import PolynomialNetwork
from nn2poly.fit.convert import polynomial_network
from nn2poly.network.network import Network
from nn2poly_paper.data import DataSet
from nn2poly_paper.store import Row

# The paper's q, of every layer.
TAYLOR_ORDER = 8
METHODS = ("taylor", "calibrated")


def convert_both(
    network: Network, order: int, sample: FloatArray
) -> dict[str, PolynomialNetwork | None]:
    """Convert by Taylor's series, and calibrated on a sample (n, p).

    Returns
    -------
    dict
        By method; None for Taylor's when the activation has no series at 0, as ReLU.

    Examples
    --------
    >>> from nn2poly import Layer
    >>> net = Network([Layer([[0.5]], None, "relu"), Layer([[1.0]])])
    >>> convert_both(net, 1, np.linspace(-1, 1, 50)[:, None])["taylor"] is None
    True
    """
    return {
        "taylor": _taylor(network, order),
        "calibrated": polynomial_network(
            network, order, data=sample, method="calibrated", bounded=False
        ),
    }


def _taylor(network: Network, order: int) -> PolynomialNetwork | None:
    with warnings.catch_warnings():
        # Leaving the radius is what the unconstrained networks are here to show.
        warnings.simplefilter("ignore", RadiusWarning)
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                return polynomial_network(
                    network, order, method="taylor", taylor_order=TAYLOR_ORDER
                )
        except NoSeriesError:
            return None


def outputs(pnet: PolynomialNetwork | None, X: FloatArray) -> FloatArray | None:
    """Give the outputs (n, k) of a polynomial, also beyond the range of its sample.

    Examples
    --------
    >>> outputs(None, np.zeros((2, 1))) is None
    True
    """
    if pnet is None:
        return None
    # A Taylor polynomial outside its radius can leave the range of numbers; `mse` says so.
    with np.errstate(over="ignore", invalid="ignore"):
        return pnet.outputs_by_order(X)[-1]


def mse(one: FloatArray | None, other: FloatArray) -> float | None:
    """Compute the mean squared difference; None when there is nothing to compare.

    What has overflowed on the way is infinitely far off.

    Examples
    --------
    >>> mse(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    2.0
    """
    if one is None:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        value = float(np.mean((one - other) ** 2))
    return value if np.isfinite(value) else float("inf")


def compare(network: Network, data: DataSet, order: int) -> dict[str, Any]:
    """Measure a regression network and its polynomials on the test rows.

    Returns
    -------
    dict
        ``mse`` (plain data: network against response, and each polynomial against the
        network), ``outputs`` (of network and polynomials on the test rows, each (n,) or
        None) and ``polynomials`` (by method).

    Examples
    --------
    >>> from nn2poly import Layer
    >>> from nn2poly_paper.data import example_data
    >>> net = Network([Layer(0.2 * np.ones((3, 2)), None, "tanh"), Layer([[1.0], [1.0]])])
    >>> found = compare(net, example_data(100, seed=1), 3)["mse"]
    >>> found["mse_taylor"] < 1e-4 < found["mse_response"]
    True
    """
    polynomials = convert_both(network, order, data.X)
    values = {name: outputs(pnet, data.X_test) for name, pnet in polynomials.items()}
    flat = {name: None if v is None else v[:, 0] for name, v in values.items()}
    truth = network.predict(data.X_test)
    found = {"mse_response": mse(truth, data.y_test)}
    found |= {f"mse_{name}": mse(value, truth) for name, value in flat.items()}
    return {"mse": found, "outputs": {"network": truth, **flat}, "polynomials": polynomials}


def coefficients(pnet: PolynomialNetwork) -> list[float]:
    """List the coefficients of the first output, of the inputs scaled to [-1, 1]."""
    values: list[float] = pnet.expand().rebase().coefficients[:, 0].tolist()
    return values


def average(
    names: Sequence[str], values: Sequence[Sequence[float]], n: int | None = None
) -> list[Row]:
    """Rank terms by their absolute mean over networks.

    Parameters
    ----------
    names
        The terms.
    values
        One list of coefficients per network.
    n
        How many to keep; None for all.

    Returns
    -------
    list of rows
        ``rank``, ``term``, ``mean`` and ``sd`` (0 for a single network), largest first.

    Examples
    --------
    >>> average(["1", "x1"], [[0.0, -2.0], [0.2, -4.0]], n=1)
    [{'rank': 1, 'term': 'x1', 'mean': -3.0, 'sd': 1.4142135623730951}]
    """
    table = np.array(values)
    mean = table.mean(axis=0)
    sd = table.std(axis=0, ddof=1) if len(table) > 1 else np.zeros_like(mean)
    order = np.argsort(-np.abs(mean), kind="stable")[:n]
    return [
        {"rank": rank, "term": names[i], "mean": float(mean[i]), "sd": float(sd[i])}
        for rank, i in enumerate(order, start=1)
    ]
