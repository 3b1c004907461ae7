"""Flax NNX models: read to six digits, or refused with the way out; skipped without Flax."""

from __future__ import annotations

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.errors import UnsupportedModelError
from nn2poly.network.checking import check_reading

jax = pytest.importorskip("jax")
nnx = pytest.importorskip("flax.nnx")
jnp = jax.numpy
X = np.random.default_rng(0).normal(size=(60, 4)).astype("float32")


class Model(nnx.Module):
    def __init__(self, forward):
        rngs = nnx.Rngs(0)
        self.a, self.b = nnx.Linear(4, 5, rngs=rngs), nnx.Linear(4, 5, rngs=rngs)
        self.last, self.norm = nnx.Linear(5, 2, rngs=rngs), nnx.BatchNorm(5, rngs=rngs)
        self.dropout, self.layer_norm = nnx.Dropout(0.5, rngs=rngs), nnx.LayerNorm(5, rngs=rngs)
        self.run = forward

    def __call__(self, x):
        return self.run(self, x)


def hidden(function):
    return lambda m, x: m.last(function(m.a(x)))


READ = {
    **{
        name: hidden(getattr(jax.nn, name))
        for name in ("relu", "tanh", "sigmoid", "silu", "gelu", "softplus", "relu6", "hard_swish")
    },
    "sin": hidden(jnp.sin),
    "square": hidden(jnp.square),
    "abs": hidden(jnp.abs),
    "exact gelu": hidden(lambda h: jax.nn.gelu(h, approximate=False)),
    "norm": lambda m, x: m.last(jax.nn.relu(m.norm(m.a(x)))),
    "dropout": lambda m, x: m.last(m.dropout(jnp.tanh(m.a(x)))),
    "residual": lambda m, x: m.last(m.a(x) + jnp.tanh(m.b(x))),
    "LayerNorm": lambda m, x: m.last(m.layer_norm(m.a(x))),
    "product": lambda m, x: m.a(x) * m.b(x),
    "gate": lambda m, x: m.last(m.a(x) * jax.nn.sigmoid(m.b(x))),
    "slices": lambda m, x: m.a(jnp.concatenate([x[:, 2:], x[:, :2]], 1)),
    "sum": lambda m, x: jnp.sum(m.a(x), axis=1, keepdims=True),
    "largest": lambda m, x: jnp.maximum(m.a(x), m.b(x)),
}


@pytest.mark.parametrize("name", READ)
def test_it_is_read_to_six_digits(name):
    model = Model(READ[name])
    network = n2p.read_network(model)
    model.eval()
    expected = np.asarray(model(X), dtype=float)
    found = network.predict(X).reshape(expected.shape)
    np.testing.assert_allclose(found, expected, atol=5e-6 * np.abs(expected).max())
    check_reading(network, model, X)


def test_a_model_is_converted():
    poly = n2p.convert(Model(READ["tanh"]), 2, data=X)
    assert poly.card.r2 > 0.5


REFUSED = {
    "softmax inside": hidden(jax.nn.softmax),
    "sort": hidden(jnp.sort),
    "quotient": lambda m, x: m.a(x) / m.b(x),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_the_way_out(name):
    with pytest.raises(UnsupportedModelError) as caught:
        n2p.convert(Model(REFUSED[name]), 2, data=X)
    assert caught.value.where
    assert caught.value.remedy
