"""Constrained training (the paper's Section IV-A) in torch, Lightning and Keras."""

import json
import os
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("KERAS_HOME", str(Path(tempfile.gettempdir()) / "nn2poly-keras"))

import keras
import lightning
import numpy as np
import pytest
import torch
from torch import nn

from nn2poly.assess.fidelity import fidelity
from nn2poly.errors import InvalidInputError, UnsupportedModelError
from nn2poly.fit.convert import convert
from nn2poly.network.readers import read_network
from nn2poly.training import KerasConstraint, TorchConstraint

# Keras' torch backend asks NumPy for arrays in the old way.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (256, 4)).astype("float32")
Y = (3 * X[:, :1] - 4 * X[:, 1:2] * X[:, 2:3]).astype("float32")
EPS = 1e-6
OPTIONS = [
    {},
    {"norm": "l2"},
    {"bound": 0.7},
    {"equality": True},
    {"norm": "l2", "bound": 2.5, "equality": True},
]


@pytest.fixture(autouse=True)
def seeded():
    keras.utils.set_random_seed(3)


def chain(*sizes, **options):
    parts = []
    for n_in, n_out in pairwise(sizes):
        parts += [nn.Linear(n_in, n_out, **options), nn.Tanh()]
    return nn.Sequential(*parts[:-1])


def steps(model, optimizer, n=30, after=lambda: None):
    """Train for n steps; ``after`` is called after each."""
    x, y = torch.tensor(X), torch.tensor(Y)

    def closure():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        return loss

    for _ in range(n):
        optimizer.step(closure)
        after()


def norms_of(weight, bias, norm="l1"):
    """Compute the norms of the columns of an array (1 + n_inputs, n_neurons)."""
    whole = np.vstack([weight, np.reshape(bias, (1, -1))]).astype("float64")
    return np.linalg.norm(whole, {"l1": 1, "l2": 2}[norm], axis=0)


def assert_holds(norms, bound=1.0, equality=False, norm="l1"):
    assert np.all(norms <= bound * (1 + EPS))
    if equality:
        np.testing.assert_allclose(norms, bound, rtol=EPS)


# --- torch -----------------------------------------------------------------------------------


@pytest.mark.parametrize("options", OPTIONS)
def test_every_hidden_neuron_keeps_its_norm_after_every_step(options):
    model = chain(4, 20, 10, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    TorchConstraint(model, **options).attach(optimizer)

    def check():
        for layer in read_network(model).layers[:-1]:
            norms = norms_of(layer.weights, layer.bias, options.get("norm", "l1"))
            assert_holds(norms, **options)

    check()
    steps(model, optimizer, after=check)


def test_the_last_layer_is_free():
    model = chain(4, 8, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    TorchConstraint(model).attach(optimizer)
    steps(model, optimizer, 60)
    assert model[2].weight.detach().abs().sum() > 2


def test_a_neuron_is_rescaled_not_projected_and_small_ones_are_left_alone():
    model = chain(2, 2, 1)
    with torch.no_grad():
        model[0].weight.copy_(torch.tensor([[3.0, -1.0], [0.25, 0.25]]))
        model[0].bias.copy_(torch.tensor([4.0, -0.125]))
    TorchConstraint(model).apply()
    np.testing.assert_allclose(model[0].weight.detach(), [[3 / 8, -1 / 8], [0.25, 0.25]])
    np.testing.assert_allclose(model[0].bias.detach(), [0.5, -0.125])


def test_a_neuron_of_zeros_stays_one():
    model = chain(2, 2, 1)
    with torch.no_grad():
        model[0].weight.zero_()
        model[0].bias.zero_()
    TorchConstraint(model, equality=True).apply()
    assert not model[0].weight.any()
    assert not model[0].bias.any()


@pytest.mark.parametrize("options", [{"bias": False}, {"dtype": torch.float64}])
def test_layers_without_bias_and_in_double_precision(options):
    model = chain(3, 5, 1, **options)
    constraint = TorchConstraint(model, bound=0.1)
    constraint.apply()
    np.testing.assert_allclose(constraint.norms()["0"], 0.1, rtol=EPS)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_holds_to_its_own_rounding(dtype, norm):
    model = chain(3, 5, 1, dtype=dtype)
    with torch.no_grad():
        model[0].weight.mul_(2000.0)  # the squares overflow in half precision
    constraint = TorchConstraint(model, norm=norm)
    constraint.apply()
    np.testing.assert_allclose(constraint.norms()["0"], 1.0, rtol=1e-2)


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.AdamW, torch.optim.LBFGS])
def test_any_optimiser_is_followed(kind):
    model = chain(4, 6, 1)
    optimizer = kind(model.parameters(), lr=0.1)
    constraint = TorchConstraint(model).attach(optimizer)
    steps(model, optimizer, 3, after=lambda: assert_holds(constraint.norms()["0"]))


def test_detaching_sets_the_training_free():
    model = chain(4, 8, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    constraint = TorchConstraint(model).attach(optimizer)
    steps(model, optimizer, 5)
    constraint.detach()
    steps(model, optimizer, 40)
    assert constraint.norms()["0"].max() > 1.1


class BackToFront(nn.Module):
    """Its layers are registered in another order than they run, and one never runs."""

    def __init__(self):
        super().__init__()
        self.out, self.second, self.first = nn.Linear(5, 1), nn.Linear(5, 5), nn.Linear(4, 5)
        self.unused = nn.Linear(5, 5)

    def forward(self, x):
        x = torch.tanh(self.first(x))
        return self.out(x + torch.relu(self.second(x)))


class Undecided(BackToFront):
    def forward(self, x):
        if x.sum() > 0:
            x = -x
        return self.out(self.second(self.first(x)))


def test_the_last_layer_is_the_one_that_runs_last():
    assert list(TorchConstraint(BackToFront()).norms()) == ["first", "second"]
    compiled = torch.compile(BackToFront(), backend="eager")
    assert list(TorchConstraint(compiled).norms()) == ["first", "second"]


def test_an_order_that_cannot_be_found_out_must_be_told():
    with pytest.raises(UnsupportedModelError, match="which is last") as caught:
        TorchConstraint(Undecided())
    assert "output=" in caught.value.remedy
    assert "out" not in TorchConstraint(Undecided(), output="out").norms()
    with pytest.raises(InvalidInputError, match="no such output layer"):
        TorchConstraint(Undecided(), output="last")


def test_a_model_without_hidden_layers_is_refused():
    with pytest.raises(UnsupportedModelError, match="no hidden layer"):
        TorchConstraint(nn.Sequential(nn.Linear(3, 1)))
    with pytest.raises(UnsupportedModelError, match="no hidden layer"):
        TorchConstraint(nn.Sequential(nn.Tanh()))


def test_weights_that_are_not_plain_parameters_are_refused():
    model = chain(3, 4, 1)
    nn.utils.parametrizations.weight_norm(model[0])
    with pytest.raises(UnsupportedModelError, match="'0'") as caught:
        TorchConstraint(model)
    assert "parametrised" in caught.value.found
    with pytest.raises(UnsupportedModelError, match="'0'") as caught:
        TorchConstraint(nn.Sequential(nn.LazyLinear(3), nn.Tanh(), nn.Linear(3, 1)))
    assert "lazy" in caught.value.found


@pytest.mark.parametrize(
    "options", [{"norm": "l3"}, {"bound": 0.0}, {"bound": True}, {"bound": "1"}, {"equality": 1}]
)
def test_wrong_options_are_refused(options):
    with pytest.raises(InvalidInputError):
        TorchConstraint(chain(3, 4, 1), **options)
    with pytest.raises(InvalidInputError):
        KerasConstraint(**options)


def test_the_constraint_is_what_makes_a_taylor_polynomial_follow_the_network():
    """The claim of Section IV-A: |potential| ≤ 1 for inputs in [-1, 1], so the series holds."""
    model = chain(4, 20, 20, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    TorchConstraint(model).attach(optimizer)
    steps(model, optimizer, 200)
    network = read_network(model)
    z = X.astype("float64")
    outputs = network.outputs_by_layer(z)
    assert all(np.abs(network.potential(i, outputs)).max() <= 1 + EPS for i in (1, 2))
    assert fidelity(network, convert(network, 3), z).r2 > 0.99


# --- Lightning -------------------------------------------------------------------------------


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = chain(4, 12, 6, 1)

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, _):
        return nn.functional.mse_loss(self(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.05)


def fit_lightning(module, callbacks, epochs=3):
    data = torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(Y))
    trainer = lightning.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=callbacks,
    )
    trainer.fit(module, torch.utils.data.DataLoader(data, batch_size=64))
    return trainer


@pytest.mark.filterwarnings("ignore:.*does not have many workers:UserWarning")
@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")  # Lightning against new torch
def test_a_lightning_trainer_keeps_the_constraint():
    module = Module()
    constraint = TorchConstraint(module, equality=True)
    trainer = fit_lightning(module, [constraint.lightning_callback()])
    assert list(constraint.norms()) == ["net.0", "net.2"]
    for norms in constraint.norms().values():
        assert_holds(norms, equality=True)
    assert not trainer.optimizers[0]._optimizer_step_post_hooks


# --- Keras -----------------------------------------------------------------------------------


def keras_model(*hidden, **options):
    parts = [keras.layers.Dense(n, "tanh", **options) for n in hidden]
    model = keras.Sequential([keras.Input((4,)), *parts, keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.05), "mse")
    return model


class Check(keras.callbacks.Callback):
    """Calls a function at the beginning and after every batch."""

    def __init__(self, function):
        super().__init__()
        self.function, self.calls = function, 0

    def on_train_begin(self, logs=None):
        self.function()

    def on_train_batch_end(self, batch, logs=None):
        self.calls += 1
        self.function()


@pytest.mark.parametrize("options", OPTIONS)
def test_keras_keeps_every_hidden_norm_after_every_batch(options):
    model = keras_model(16, 8)

    def check():
        for layer in model.layers[:-1]:
            arrays = layer.get_weights()
            assert_holds(norms_of(*arrays, options.get("norm", "l1")), **options)

    probe = Check(check)
    model.fit(X, Y, epochs=3, verbose=0, callbacks=[KerasConstraint(**options), probe])
    assert probe.calls == 24


def test_keras_leaves_the_last_layer_free_and_reports_norms():
    model = keras_model(8, use_bias=False)
    constraint = KerasConstraint()
    model.fit(X, Y, epochs=15, verbose=0, callbacks=[constraint])
    assert np.abs(model.layers[-1].get_weights()[0]).sum() > 2
    (norms,) = constraint.norms().values()
    np.testing.assert_allclose(norms, np.abs(model.layers[0].get_weights()[0]).sum(0), rtol=EPS)
    assert_holds(norms)


def test_keras_and_torch_rescale_alike():
    model, twin = keras_model(8, 5), chain(4, 8, 5, 1)
    with torch.no_grad():
        for layer, linear in zip(model.layers, twin[::2], strict=True):
            weight, bias = layer.get_weights()
            layer.set_weights([2 * weight, bias + 0.1])
            linear.weight.copy_(torch.tensor(2 * weight.T))
            linear.bias.copy_(torch.tensor(bias + 0.1))
    KerasConstraint(norm="l2").apply(model)
    TorchConstraint(twin, norm="l2").apply()
    for a, b in zip(read_network(model).layers, read_network(twin).layers, strict=True):
        np.testing.assert_allclose(a.weights, b.weights, rtol=1e-6)
        np.testing.assert_allclose(a.bias, b.bias, rtol=1e-6)


class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.out = keras.layers.Dense(1, name="out")
        self.hidden = keras.layers.Dense(5, "tanh", name="hidden")

    def call(self, x):
        return self.out(self.hidden(x))


def test_a_keras_model_with_its_own_call_must_name_its_output():
    model = Own()
    model.compile("adam", "mse")
    with pytest.raises(UnsupportedModelError, match=r"call\(\) of its own"):
        model.fit(X, Y, verbose=0, callbacks=[KerasConstraint()])
    constraint = KerasConstraint(output="out", bound=0.5)
    model.fit(X, Y, verbose=0, callbacks=[constraint])
    assert list(constraint.norms()) == ["hidden"]
    assert_holds(constraint.norms()["hidden"], bound=0.5)


def test_keras_models_that_cannot_be_constrained_are_refused():
    with pytest.raises(UnsupportedModelError, match="no hidden layer"):
        KerasConstraint().apply(keras_model())
    model = keras_model(4)
    model.layers[0].enable_lora(1)
    with pytest.raises(UnsupportedModelError, match="cannot be constrained"):
        KerasConstraint().apply(model)


def test_the_keras_constraint_is_a_callback_of_keras():
    assert issubclass(KerasConstraint, keras.callbacks.Callback)
    assert KerasConstraint.__module__ == "nn2poly.training"
    assert repr(KerasConstraint()).startswith("KerasConstraint(")


# --- the package -----------------------------------------------------------------------------


def test_importing_the_package_imports_no_framework():
    code = "import json, sys, nn2poly.training; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"torch", "keras", "lightning"} & set(json.loads(run.stdout)) == set()


def test_an_unknown_name_is_an_attribute_error():
    import nn2poly.training

    with pytest.raises(AttributeError, match="JaxConstraint"):
        _ = nn2poly.training.JaxConstraint
