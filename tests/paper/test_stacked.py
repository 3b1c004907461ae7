"""Training in stacks is training one by one."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from nn2poly.training import TorchConstraint
from nn2poly_paper.stacked import EPSILON, Recipe, Stack, train_networks

MODULES = {"tanh": nn.Tanh, "softplus": nn.Softplus, "sigmoid": nn.Sigmoid, "relu": nn.ReLU}


def rows(seed=0, n=70, p=3):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, p))
    return X, X[:, 0] - X[:, 1] * X[:, 2]


def plain_module(recipe, network):
    """Build a torch module with the weights of a network."""
    parts, widths = [], [network.n_features, *recipe.hidden]
    for n_in, n_out in pairwise(widths):
        parts += [nn.Linear(n_in, n_out), MODULES[recipe.activation]()]
    module = nn.Sequential(*parts, nn.Linear(widths[-1], recipe.n_outputs))
    linear = [m for m in module if isinstance(m, nn.Linear)]
    with torch.no_grad():
        for layer, found in zip(linear, network.layers, strict=True):
            layer.weight.copy_(torch.from_numpy(found.weights.T.copy()))
            layer.bias.copy_(torch.from_numpy(found.bias.copy()))
    return module


def train_plainly(recipe, seed, X, y):
    """Train one network the usual way, from the start and in the batches of its stack."""
    stack = Stack(recipe, X.shape[1], [seed])
    module = plain_module(recipe, stack.networks()[0])
    make = torch.optim.Adam if recipe.optimizer == "adam" else torch.optim.Adamax
    optimizer = make(module.parameters(), lr=recipe.rate, eps=EPSILON)
    if recipe.constrained:
        TorchConstraint(module).attach(optimizer)
    inputs = torch.tensor(X, dtype=torch.float32)
    answers = torch.tensor(y, dtype=torch.float32 if recipe.loss == "mse" else torch.int64)
    for epoch in range(recipe.epochs):
        order = np.random.default_rng([*seed, 2, epoch]).permutation(len(X))
        for part in np.split(order, range(recipe.batch, len(X), recipe.batch)):
            optimizer.zero_grad()
            out = module(inputs[part])
            if recipe.loss == "mse":
                loss = nn.functional.mse_loss(out[:, 0], answers[part])
            else:
                loss = nn.functional.cross_entropy(out, answers[part])
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        return module(inputs).numpy()


@pytest.mark.parametrize("constrained", [True, False])
@pytest.mark.parametrize("activation", ["tanh", "softplus", "sigmoid", "relu"])
def test_a_stack_learns_what_plain_torch_learns(activation, constrained):
    X, y = rows()
    # 70 rows in batches of 30: the last batch is a short one.
    recipe = Recipe((8, 6), activation, constrained, epochs=15, batch=30, rate=0.01)
    networks = train_networks(recipe, X, y, [[1], [2], [3]])
    for seed, network in zip([[1], [2], [3]], networks, strict=True):
        expected = train_plainly(recipe, seed, X, y)[:, 0]
        np.testing.assert_allclose(network.predict(X), expected, atol=2e-5)


def test_adamax_and_cross_entropy_are_torchs():
    X, _ = rows()
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
    recipe = Recipe(
        (7,), "tanh", epochs=15, batch=20, rate=0.02,
        optimizer="adamax", loss="crossentropy", n_outputs=3,
    )  # fmt: skip
    (network,) = train_networks(recipe, X, y, [[5]])
    np.testing.assert_allclose(network.predict(X), train_plainly(recipe, [5], X, y), atol=2e-5)
    assert network.link == "softmax"


def test_a_network_learns_the_same_in_a_stack_and_alone():
    X, y = rows()
    recipe = Recipe((9, 9), "tanh", epochs=20, batch=25, rate=0.01)
    together = train_networks(recipe, X, y, [[4], [7], [1]])[1]
    (alone,) = train_networks(recipe, X, y, [[7]])
    np.testing.assert_allclose(together.predict(X), alone.predict(X), atol=2e-5)


def test_networks_with_tables_of_their_own_learn_from_their_own():
    tables = [rows(seed) for seed in (1, 2)]
    X, y = (np.stack(part) for part in zip(*tables, strict=True))
    recipe = Recipe((9,), "tanh", False, epochs=20, batch=25, rate=0.01)
    for k, network in enumerate(train_networks(recipe, X, y, [[3], [3]])):
        (alone,) = train_networks(recipe, X[k], y[k], [[3]])
        np.testing.assert_allclose(network.predict(X[k]), alone.predict(X[k]), atol=2e-5)


def test_hidden_norms_stay_within_one_and_the_output_is_free():
    X, y = rows()
    recipe = Recipe((10, 10), "tanh", epochs=60, batch=35, rate=0.05, spread=1.0)
    (network,) = train_networks(recipe, X, 5 * y, [[1]])
    *hidden, output = [
        np.abs(layer.weights).sum(axis=0) + np.abs(layer.bias) for layer in network.layers
    ]
    assert max(norm.max() for norm in hidden) <= 1 + 1e-6
    assert min(norm.max() for norm in hidden) > 0.99
    assert output.max() > 1.5


@pytest.mark.parametrize("optimizer", ["adam", "adamax"])
def test_training_goes_on_from_a_kept_state_as_if_never_stopped(optimizer):
    X, y = rows()
    recipe = Recipe((6,), "tanh", epochs=6, batch=25, optimizer=optimizer, rate=0.01)
    whole = Stack(recipe, 3, [[1], [2]])
    whole.train(X, y, range(6))
    half = Stack(recipe, 3, [[1], [2]])
    half.train(X, y, range(3))
    rest = Stack(recipe, 3, [[1], [2]]).restore(half.state())
    rest.train(X, y, range(3, 6))
    for one, other in zip(whole.networks(), rest.networks(), strict=True):
        np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_the_order_of_the_rows_changes_with_the_epoch():
    X, y = rows()
    recipe = Recipe((6,), "tanh", epochs=1, batch=10)
    found = []
    for epoch in (0, 1):
        stack = Stack(recipe, 3, [[1]])
        stack.train(X, y, [epoch])
        found.append(stack.networks()[0].predict(X))
    assert not np.array_equal(*found)
