"""Bring a PyTorch module of your own: a batch-normed network with a residual block.

Run with ``python examples/from_torch.py``. The data are scikit-learn's wines: 13 measurements,
each in its own unit, of wines from three growers. The module takes them raw, since its first
layer normalises them; so does the polynomial, around the average wine.
"""

from __future__ import annotations

import pandas as pd
import torch
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional as F  # noqa: N812

import nn2poly as n2p

GROWERS = ["grower A", "grower B", "grower C"]


class Wine(nn.Module):
    """Logarithms of the probabilities of three growers."""

    def __init__(self, n_features: int = 13, width: int = 24) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(n_features)
        self.inner, self.block = nn.Linear(n_features, width), nn.Linear(width, width)
        self.out = nn.Linear(width, len(GROWERS))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run a batch through: normalise, one layer, one residual block, one layer."""
        h = torch.tanh(self.inner(self.norm(x)))
        h = h + F.dropout(F.gelu(self.block(h)), 0.2, training=self.training)
        return F.log_softmax(self.out(h), dim=1)


def train(X: torch.Tensor, y: torch.Tensor) -> Wine:
    torch.manual_seed(0)
    model = Wine()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-3)
    for _ in range(150):
        optimizer.zero_grad()
        F.nll_loss(model(X), y).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return model


def accuracy(model: Wine, X: pd.DataFrame, y: pd.Series) -> float:
    with torch.no_grad():
        found = model.eval()(torch.tensor(X.values).float()).argmax(dim=1)
    return float((found.numpy() == y).mean())


def main() -> None:
    X, y = load_wine(return_X_y=True, as_frame=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
    model = train(torch.tensor(X_train.values).float(), torch.tensor(y_train.values))

    right = accuracy(model, X_test, y_test)
    print(f"On {len(X_test)} wines that it has not seen, the network names {right:.0%} right.")

    # The module goes in as it is, in training mode or not; nothing in it changes.
    print(n2p.read_network(model), end="\n\n")
    poly = n2p.convert(model, max_order=2, data=X_train, output_names=GROWERS)
    print(n2p.fidelity(model, poly, X_test))

    print("\nWhat speaks for which grower, per deviation from the average wine:\n")
    print(poly.top(8, output="grower A"))


if __name__ == "__main__":
    main()
