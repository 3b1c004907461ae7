"""What the tests of the plots share: fixed polynomials, networks and rows, seeded."""

import matplotlib
import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.algebra.monomials import count_terms
from nn2poly.formula.region_tree import Leaf, Split
from nn2poly.inputs import Column, Inputs

matplotlib.use("agg")

AWKWARD = (
    'price in $ per m_2 {net} <script>alert("$x$")</script> & more',
    "the average number of rooms per dwelling, without bathrooms ",
    "_hidden^2",
    "größe µ \\alpha # % ~",
)


def random_polynomial(seed, p, order, n_outputs=1, **options):
    rng = np.random.default_rng(seed)
    n_terms = count_terms(p, order)
    names = options.pop("feature_names", [f"x{i}" for i in range(1, p + 1)])
    coefficients = rng.normal(size=(n_terms, n_outputs)) / np.sqrt(n_terms)
    return n2p.Polynomial(coefficients, order, names, **options)


@pytest.fixture(scope="session")
def make_polynomial():
    """Give a maker of polynomials: seed, features, order, outputs, options."""
    return random_polynomial


@pytest.fixture(scope="session")
def rows():
    """Give 150 rows of 4 features of different units, the last one 0 or 1."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(150, 4)) * [1.0, 5.0, 0.2, 1.0] + [0.0, 20.0, -1.0, 0.0]
    X[:, 3] = X[:, 3] > 0.3
    return X


@pytest.fixture(scope="session")
def poly(rows):
    """Give a cubic in the standard deviations of these rows."""
    return random_polynomial(
        1,
        4,
        3,
        feature_names=["age", "income", "rooms per dwelling", "smoker"],
        output_names=["price"],
        center=rows.mean(axis=0),
        scale=rows.std(axis=0),
        low=rows.min(axis=0),
        high=rows.max(axis=0),
    )


@pytest.fixture(scope="session")
def seven():
    """Give a classifier of seven classes in five features."""
    return random_polynomial(2, 5, 2, 7, link="softmax", classes=range(7))


@pytest.fixture(scope="session")
def awkward():
    """Give a quadratic whose names are long, or look like mathematics, markup or powers."""
    return random_polynomial(3, 4, 2, feature_names=AWKWARD, output_names=["$y_1$ in {k$}"])


@pytest.fixture(scope="session")
def ensemble(poly):
    """Give five polynomials that differ a little, the last one without most of its terms."""
    rng = np.random.default_rng(4)
    members = [
        n2p.Polynomial(
            poly.coefficients + 0.05 * rng.normal(size=poly.coefficients.shape),
            3,
            poly.feature_names,
            poly.output_names,
            center=poly.center,
            scale=poly.scale,
        )
        for _ in range(5)
    ]
    return [*members[:-1], members[-1].prune(12)]


@pytest.fixture(scope="session")
def network(rows):
    """Give a network of two curved layers whose potentials a series can follow."""
    rng = np.random.default_rng(5)
    layers = [
        n2p.Layer(rng.normal(size=(4, 6)) / 5, rng.normal(size=6) / 5, "tanh"),
        n2p.Layer(rng.normal(size=(6, 5)) / 3, rng.normal(size=5) / 5, "softplus"),
        n2p.Layer(rng.normal(size=(5, 1)), [0.5]),
    ]
    return n2p.Network(layers, center=rows.mean(axis=0), scale=rows.std(axis=0))


@pytest.fixture(scope="session")
def tracker():
    """Give a tracker of a real training, nine records long."""
    import torch

    from nn2poly.training import PolynomialTracker

    rng = np.random.default_rng(6)
    X = torch.tensor(rng.normal(size=(64, 3)))
    y = X[:, :1] - 2.0 * X[:, 1:2] * X[:, 2:]
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(3, 6), torch.nn.Tanh(), torch.nn.Linear(6, 2)
    ).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    names = ["age", "_dose$", "rooms per dwelling in the whole block"]
    tracker = PolynomialTracker(
        model, every=5, feature_names=names, output_names=["gain", "loss"]
    ).attach(optimizer)
    for _ in range(40):
        optimizer.zero_grad()
        (model(X) - torch.hstack([y, -y])).square().mean().backward()
        optimizer.step()
    return tracker


RENTALS = Inputs((Column("hour"), Column.factor("weather", ["clear", "rain"])))
RENTALS = RENTALS.seen([0.0, 0.0, 0.0], [24.0, 1.0, 1.0])


@pytest.fixture(scope="session")
def rentals():
    """Give a formula of two regions, night and day, of an hour and a factor of two levels."""
    night = n2p.Polynomial([[20.0], [1.0], [0.0], [-5.0]], 1, inputs=RENTALS)
    day = n2p.Polynomial([[150.0], [4.0], [0.0], [-50.0]], 1, inputs=RENTALS)
    tree = Split(0, 6.5, left=Leaf(0), right=Leaf(1))
    return n2p.PiecewisePolynomial(tree, (night, day), n_rows=(270, 730), r2=(0.91, 0.98))


@pytest.fixture(scope="session")
def hours():
    """Give 60 rows of an hour and the two levels of a factor."""
    rng = np.random.default_rng(0)
    return np.column_stack([rng.integers(0, 24, 60), np.eye(2)[rng.integers(0, 2, 60)]])
