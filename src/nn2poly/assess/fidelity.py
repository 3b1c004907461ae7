"""`fidelity`: how closely a polynomial follows its network, on rows that you choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nn2poly.algebra.graded import FloatArray
from nn2poly.conversion.polynomial_network import PolynomialNetwork
from nn2poly.errors import InvalidInputError
from nn2poly.links import labels
from nn2poly.network.network import Network
from nn2poly.network.readers import read_network
from nn2poly.polynomial.polynomial import Polynomial
from nn2poly.tables import Table


@dataclass(frozen=True)
class Agreement:
    """How two columns of raw outputs agree.

    Parameters
    ----------
    r2
        1 - (squared error) / (variance of the network's output); NaN when the network's
        output does not vary over the rows.
    rmse, max_error
        Root mean squared and largest absolute error, in the unit of the output.
    """

    r2: float
    rmse: float
    max_error: float


@dataclass(frozen=True)
class FidelityCard:
    """The polynomial against the network, overall and per output.

    Parameters
    ----------
    r2, rmse, max_error
        Overall: mean R² of the outputs, root mean squared and largest error over all.
    agreement
        Share of rows with the same label; None for a regression.
    per_output
        `Agreement` by output name.
    n_rows
        Rows compared.
    """

    r2: float
    rmse: float
    max_error: float
    agreement: float | None
    per_output: dict[str, Agreement]
    n_rows: int

    def table(self) -> Table:
        """Lay the card out as rows: one per output, then the overall one."""
        outputs = list(self.per_output.items()) if len(self.per_output) > 1 else []
        overall = Agreement(self.r2, self.rmse, self.max_error)
        rows = [(name, a.r2, a.rmse, a.max_error) for name, a in [*outputs, ("overall", overall)]]
        note = "" if self.agreement is None else f"labels agree on {self.agreement:.2%} of rows"
        title = f"Fidelity to the network, {self.n_rows:,} rows"
        return Table(title, ("output", "R2", "RMSE", "max error"), tuple(rows), note=note)

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def fidelity(model: Any, poly: Polynomial | PolynomialNetwork, X: Any) -> FidelityCard:
    """Compare a polynomial with the network that it came from.

    Parameters
    ----------
    model
        The network: anything that `read_network` reads.
    poly
        Its polynomial, explicit or in factored form.
    X
        Array or data frame (n, p) in raw units, best rows that the conversion did not see.

    Returns
    -------
    FidelityCard

    Examples
    --------
    >>> import nn2poly as n2p
    >>> net = n2p.Network([n2p.Layer([[0.5], [0.2]], [0.0], "tanh"), n2p.Layer([[1.0]], [3.0])])
    >>> card = n2p.fidelity(net, n2p.convert(net, 3), [[0.1, 0.2], [0.3, -0.1], [0.0, 0.5]])
    >>> card.max_error < 1e-4
    True
    """
    network = read_network(model)
    _check_pair(network, poly)
    truth, guess = _columns(network.predict(X)), _columns(poly.predict(X))
    names = poly.output_names
    per_output = {n: _agreement(truth[:, k], guess[:, k]) for k, n in enumerate(names)}
    r2 = [a.r2 for a in per_output.values() if not np.isnan(a.r2)]
    return FidelityCard(
        r2=float(np.mean(r2)) if r2 else float("nan"),
        rmse=float(np.sqrt(np.mean((truth - guess) ** 2))),
        max_error=float(np.max(np.abs(truth - guess))),
        agreement=_label_agreement(network, truth, guess),
        per_output=per_output,
        n_rows=len(truth),
    )


def _check_pair(network: Network, poly: Polynomial | PolynomialNetwork) -> None:
    expected = (network.n_features, network.n_outputs)
    found = (len(poly.feature_names), len(poly.output_names))
    if expected != found:
        raise InvalidInputError(
            "This polynomial does not belong to this network.",
            expected=f"{expected[0]} features and {expected[1]} outputs, as the network has",
            found=f"{found[0]} features and {found[1]} outputs",
            remedy="convert this network, or pass the network that was converted",
        )


def _columns(raw: FloatArray) -> FloatArray:
    return raw[:, None] if raw.ndim == 1 else raw


def _agreement(truth: FloatArray, guess: FloatArray) -> Agreement:
    error = truth - guess
    spread = float(np.sum((truth - truth.mean()) ** 2))
    # A spread at the level of rounding is no spread: R² would be noise.
    floor = len(truth) * (8 * np.finfo(float).eps * float(np.max(np.abs(truth)))) ** 2
    r2 = 1.0 - float(error @ error) / spread if spread > floor else float("nan")
    return Agreement(r2, float(np.sqrt(np.mean(error**2))), float(np.max(np.abs(error))))


def _label_agreement(network: Network, truth: FloatArray, guess: FloatArray) -> float | None:
    if network.link == "identity":
        return None
    pair = [labels(raw, network.link, network.classes) for raw in (truth, guess)]
    same = pair[0] == pair[1]
    return float(np.mean(same if same.ndim == 1 else same.all(axis=1)))
