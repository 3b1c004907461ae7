"""What is read from PyTorch computes what the model computes, and the model stays as it was."""

from __future__ import annotations

import copy
import operator

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.nn.utils import parametrizations, prune

import nn2poly as n2p
from nn2poly.errors import UnsupportedModelError
from nn2poly.links import probabilities
from nn2poly.network.activations import activation
from nn2poly.network.readers import read_network

ROWS = np.random.default_rng(5).normal(size=(40, 3))


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def outputs(model, X=ROWS):
    """Compute what a copy of the model gives in float64 and evaluation mode, as (n, k)."""
    double = copy.deepcopy(model).double().eval()
    with torch.no_grad():
        return double(torch.from_numpy(X)).numpy().reshape(len(X), -1)


def assert_same_outputs(model, X=ROWS, tolerance=1e-12):
    network = read_network(model)
    predicted = network.predict(X).reshape(len(X), -1)
    np.testing.assert_allclose(predicted, outputs(model, X), rtol=tolerance, atol=tolerance)
    return network


def assert_same_networks(one, other):
    assert len(one.layers) == len(other.layers)
    for mine, yours in zip(one.layers, other.layers, strict=True):
        assert np.array_equal(mine.weights, yours.weights)
        assert np.array_equal(mine.bias, yours.bias)
        assert mine.activation == yours.activation
        assert mine.skips.keys() == yours.skips.keys()
        assert all(np.array_equal(mine.skips[k], yours.skips[k]) for k in mine.skips)
    assert one.link == other.link
    assert np.array_equal(one.center, other.center)
    assert np.array_equal(one.scale, other.scale)


def names(network):
    return [layer.activation.name for layer in network.layers]


class Between(nn.Module):
    """Two linear layers with a function between them."""

    def __init__(self, function, sizes=(3, 6, 2)):
        super().__init__()
        self.first, self.last = nn.Linear(*sizes[:2]), nn.Linear(*sizes[1:])
        self.function = function
        nn.init.normal_(self.first.weight, std=1.5)

    def forward(self, x):
        return self.last(self.function(self.first(x)))


# --- three styles of the same weights --------------------------------------------------------


class Functional(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.fc1, self.fc2, self.out = layers

    def forward(self, x):
        x = torch.tanh(self.fc1(x.view(x.size(0), -1)))
        x = F.dropout(F.leaky_relu(self.fc2(x), 0.2), 0.3, training=self.training)
        return self.out(x)


class Methods(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.body = nn.ModuleDict({"a": nn.Sequential(layers[0]), "b": nn.Sequential(layers[1])})
        self.head = nn.Sequential(nn.Sequential(nn.Identity(), layers[2]))

    def forward(self, x):
        x = self.body["a"](x.flatten(1)).tanh()
        x = nn.functional.leaky_relu_(self.body["b"](x), negative_slope=0.2)
        return self.head(x).squeeze(-1)


@pytest.fixture
def three_styles():
    layers = [nn.Linear(3, 6), nn.Linear(6, 4), nn.Linear(4, 1)]
    sequential = nn.Sequential(
        nn.Flatten(),
        nn.Sequential(layers[0], nn.Tanh()),
        layers[1],
        nn.LeakyReLU(0.2),
        nn.Dropout(0.3),
        layers[2],
    )
    return [sequential, Functional(layers), Methods(layers)]


def test_three_styles_of_the_same_weights_give_the_same_network(three_styles):
    first, *others = [assert_same_outputs(model) for model in three_styles]
    assert names(first) == ["tanh", "leaky_relu", "linear"]
    expected = three_styles[1].fc1.weight.detach().numpy().astype(np.float64).T
    assert np.array_equal(first.layers[0].weights, expected)
    for other in others:
        assert_same_networks(first, other)


def test_three_styles_of_the_same_weights_give_the_same_polynomial(three_styles):
    first, *others = [n2p.convert(model, max_order=2, data=ROWS) for model in three_styles]
    for other in others:
        assert first.terms == other.terms
        assert np.array_equal(first.coefficients, other.coefficients)


@pytest.mark.slow
def test_an_exported_program_gives_the_same_network(three_styles):
    first, *others = [
        read_network(torch.export.export(model.eval(), (torch.zeros(5, 3),)))
        for model in three_styles
    ]
    for other in (*others, *map(read_network, three_styles)):
        assert_same_networks(first, other)


# --- activations -------------------------------------------------------------------------------

ACTIVATIONS = {
    "relu": (nn.ReLU(), F.relu, torch.relu, lambda x: x.relu(), lambda x: x.clamp(min=0)),
    "relu in place": (nn.ReLU(inplace=True), F.relu_, lambda x: x.relu_()),
    "relu6": (nn.ReLU6(), F.relu6),
    "leaky_relu": (nn.LeakyReLU(), F.leaky_relu),
    "leaky_relu 0.2": (
        nn.LeakyReLU(0.2),
        lambda x: F.leaky_relu(x, 0.2),
        lambda x: F.leaky_relu(input=x, negative_slope=0.2, inplace=True),
        lambda x: torch.prelu(x, torch.tensor([0.2], dtype=torch.float64)),
    ),
    "elu": (nn.ELU(), F.elu),
    "elu 0.5": (nn.ELU(0.5), lambda x: F.elu(x, 0.5, True), lambda x: F.elu_(x, 0.5)),
    "celu 0.7": (nn.CELU(0.7), lambda x: F.celu(x, 0.7), lambda x: torch.celu(x, alpha=0.7)),
    "selu": (nn.SELU(), F.selu, torch.selu),
    "gelu": (nn.GELU(), F.gelu),
    "gelu tanh": (nn.GELU(approximate="tanh"), lambda x: F.gelu(x, approximate="tanh")),
    "silu": (nn.SiLU(), F.silu),
    "mish": (nn.Mish(), F.mish),
    "softplus": (nn.Softplus(), F.softplus, lambda x: F.softplus(x, threshold=50)),
    "softplus 0.5": (nn.Softplus(beta=0.5), lambda x: F.softplus(x, 0.5)),
    "softsign": (nn.Softsign(), F.softsign),
    "hardtanh": (nn.Hardtanh(), F.hardtanh, lambda x: torch.clip(x, -1, 1)),
    "hardtanh -2 0.5": (
        nn.Hardtanh(-2.0, 0.5),
        lambda x: F.hardtanh(x, -2.0, 0.5),
        lambda x: x.clamp_(-2.0, max=0.5),
    ),
    "clamp from above": (lambda x: x.clamp(max=0.3), lambda x: torch.clamp(x, max=0.3)),
    "clamp from below": (lambda x: x.clip(-0.3), lambda x: torch.clamp(x, min=-0.3)),
    "hardsigmoid": (nn.Hardsigmoid(), F.hardsigmoid),
    "logsigmoid": (nn.LogSigmoid(), F.logsigmoid),
    "sigmoid": (nn.Sigmoid(), F.sigmoid, torch.sigmoid, lambda x: x.sigmoid(), torch.special.expit),
    "tanh": (nn.Tanh(), F.tanh, torch.tanh, lambda x: x.tanh(), lambda x: x.tanh_()),
    "atan": (torch.atan, torch.arctan, lambda x: x.atan(), lambda x: x.arctan()),
    "sin": (torch.sin, lambda x: x.sin()),
    "exp": (torch.exp, lambda x: x.exp()),
    "prelu": (nn.PReLU(), nn.PReLU(6)),
}
FORMS = [(key, number) for key, forms in ACTIVATIONS.items() for number in range(len(forms))]


@pytest.mark.parametrize(("key", "number"), FORMS)
def test_every_form_of_an_activation_is_read(key, number):
    assert_same_outputs(Between(ACTIVATIONS[key][number]))


@pytest.mark.parametrize("key", ACTIVATIONS)
def test_all_forms_of_an_activation_are_the_same(key):
    model = Between(None)
    networks = []
    for form in ACTIVATIONS[key]:
        model.function = None  # so that a module may become a function and the reverse
        del model.function
        model.function = form
        networks.append(read_network(model))
    for network in networks[1:]:
        np.testing.assert_array_equal(network.predict(ROWS), networks[0].predict(ROWS))


@pytest.mark.slow
@pytest.mark.parametrize("key", [key for key in ACTIVATIONS if key != "softsign"])
def test_every_activation_is_read_from_an_exported_program(key):
    model = Between(ACTIVATIONS[key][0]).eval()
    network = read_network(torch.export.export(model, (torch.zeros(4, 3),)))
    np.testing.assert_array_equal(network.predict(ROWS), read_network(model).predict(ROWS))


def test_parameters_of_activations_are_kept():
    model = nn.Sequential(nn.Linear(3, 4), nn.ELU(0.25), nn.Linear(4, 2), nn.Softplus(beta=3))
    found = [layer.activation for layer in read_network(model).layers]
    assert found == [activation("elu", alpha=0.25), activation("softplus", beta=3.0)]


def test_softplus_may_differ_by_the_line_that_torch_puts_at_its_end():
    model = nn.Sequential(nn.Linear(1, 1), nn.Softplus())
    X = np.linspace(-50, 50, 101)[:, None]
    assert np.abs(read_network(model).predict(X) - outputs(model, X)[:, 0]).max() < 3e-9


def test_an_activation_may_come_first_or_last():
    assert names(assert_same_outputs(nn.Sequential(nn.Tanh(), nn.Linear(3, 2)))) == [
        "tanh",
        "linear",
    ]
    assert names(assert_same_outputs(nn.Sequential(nn.Linear(3, 2), nn.SiLU()))) == ["silu"]


# --- sums, shapes and constants ------------------------------------------------------------------


class Residual(nn.Module):
    """Pre-activation, with another block inside."""

    def __init__(self, width, inner=None):
        super().__init__()
        self.norm, self.inner = nn.BatchNorm1d(width), inner
        self.up, self.down = nn.Linear(width, 5), nn.Linear(5, width, bias=False)

    def forward(self, x):
        h = self.up(torch.relu(self.norm(x)))
        h = self.down(F.silu(h))
        if self.inner is not None:
            h = self.inner(h)
        h += x
        return h


def trained_statistics(model):
    """Let batch normalisation see some data in training mode."""
    model.train()
    with torch.no_grad():
        for _ in range(3):
            model(1 + 2 * torch.randn(64, 3))
    return model


def test_residual_blocks_are_read_also_inside_each_other():
    blocks = [Residual(4, Residual(4)), Residual(4)]
    model = nn.Sequential(nn.Linear(3, 4), *blocks, nn.Linear(4, 1))
    network = assert_same_outputs(trained_statistics(model))
    assert any(layer.skips for layer in network.layers)
    assert names(network) == ["relu", "silu", "relu", "silu", "relu", "silu", "linear"]


def test_a_residual_sum_of_the_raw_inputs_is_read():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(3, 7), nn.Tanh(), nn.Linear(7, 3))

        def forward(self, x):
            return torch.add(x, self.net(x), alpha=0.5) - torch.sub(self.net(x), x, alpha=2)

    network = assert_same_outputs(Model())
    assert set(network.layers[-1].skips) == {0, 1}


class Constants(nn.Module):
    """Affine bits of every spelling."""

    def __init__(self):
        super().__init__()
        self.fc, self.out = nn.Linear(3, 4), nn.Linear(4, 2)
        self.gain, self.matrix = nn.Parameter(torch.randn(4)), nn.Parameter(torch.randn(4, 4))
        self.vector = nn.Parameter(torch.randn(4))
        self.register_buffer("shift", torch.randn(1, 4))
        self.plain = torch.randn(4)

    def forward(self, x, *, power=2.0, **options):
        h = torch.tanh(self.fc(x)) * F.softplus(self.gain) + self.shift - self.plain
        h = torch.sin(-(1 - h) / 3 * power @ self.matrix.t().exp())
        h = h.mul(2).add_(1).true_divide(self.gain.abs() + 1)
        h = torch.addmm(self.vector, h, self.matrix, alpha=0.5)
        return self.out(h) + (h @ self.vector).unsqueeze(1) + h.mean(dim=1, keepdim=True)


def test_constants_are_folded_in_every_spelling():
    network = assert_same_outputs(Constants())
    assert names(network) == ["tanh", "sin", "linear"]


SHAPES = {
    "view": lambda x: x.view(x.size(0), -1),
    "reshape": lambda x: torch.reshape(x, (x.shape[0], 2, 3)).reshape(x.shape[0], -1),
    "flatten": lambda x: torch.flatten(x.unsqueeze(1), 1),
    "unflatten": lambda x: x.unflatten(1, (3, 2)).flatten(1),
    "transpose": lambda x: x.view(-1, 2, 3).transpose(1, 2).contiguous().view(-1, 6),
    "permute": lambda x: x.view(-1, 2, 3).permute(0, 2, 1).flatten(1),
    "columns": lambda x: x[:, [3, 1, 0, 2, 2, 5]],
    "slices": lambda x: torch.cat([x[:, 2:], x[:, :2]], dim=1),
    "chunks": lambda x: torch.cat(x.chunk(3, dim=-1)[::-1], -1),
    "split": lambda x: torch.hstack((torch.split(x, [4, 2], dim=1)[1], x[..., 1:5])),
    "stack": lambda x: torch.stack([x[:, 0], x[:, 5]] * 3, dim=1),
    "ensemble": lambda x: torch.stack([x, torch.tanh(x), x.flip(1)]).mean(0),
    "ensemble sum": lambda x: torch.cat([x[None], torch.sin(x)[None]]).sum(dim=0),
    "broadcast": lambda x: x + x[:, :1] - x.sum(1, keepdim=True),
    "roll": lambda x: torch.roll(x, 2, dims=1).expand(x.shape),
    "cast": lambda x: x.to(x.dtype).type_as(x).to("cpu").clone().detach(),
    "constants": lambda x: (
        torch.cat([x[:, :5], torch.ones_like(x[:, :1])], 1) + 1.5 * x.new_ones(6)
    ),
    "expanded": lambda x: (
        x + torch.zeros(1, dtype=x.dtype).add(2).expand_as(x)
        if isinstance(x, torch.Tensor)
        else x + torch.full((1,), 2.0).expand_as(x)
    ),
}


@pytest.mark.parametrize("key", SHAPES)
def test_what_only_moves_columns_is_read(key):
    assert_same_outputs(Between(SHAPES[key], (3, 6, 2)))


def test_a_layer_may_run_over_groups_of_columns():
    class Grouped(nn.Module):
        def __init__(self):
            super().__init__()
            self.each, self.norm, self.all = nn.Linear(2, 4), nn.BatchNorm1d(3), nn.Linear(12, 1)
            self.example_input_array = torch.zeros(1, 6)

        def forward(self, x):
            return self.all(self.norm(self.each(x.view(-1, 3, 2)).tanh()).flatten(1))

    X = np.random.default_rng(1).normal(size=(20, 6))
    assert_same_outputs(Grouped(), X)


def test_a_layer_that_is_used_twice_is_read_twice():
    shared = nn.Linear(3, 3)
    assert names(assert_same_outputs(nn.Sequential(shared, nn.Tanh(), shared))) == [
        "tanh",
        "linear",
    ]


# --- normalisation ---------------------------------------------------------------------------


@pytest.mark.parametrize("affine", [True, False])
def test_batch_normalisation_folds_with_its_running_statistics(affine):
    norm = nn.BatchNorm1d(6, affine=affine, eps=1e-3)
    if affine:
        nn.init.normal_(norm.weight)
        nn.init.normal_(norm.bias)
    model = trained_statistics(Between(nn.Sequential(norm, nn.Tanh(), nn.AlphaDropout(0.5))))
    assert names(assert_same_outputs(model)) == ["tanh", "linear"]


def test_a_normalisation_at_the_beginning_gives_the_working_coordinates():
    mean, deviation = torch.tensor([100.0, -5.0, 0.01]), torch.tensor([20.0, 0.5, 3.0])

    class Standardised(Between):
        def __init__(self):
            super().__init__(torch.tanh)
            self.register_buffer("mean", mean)
            self.register_buffer("deviation", deviation)

        def forward(self, x):
            return super().forward((x.flatten(1) - self.mean) / self.deviation)

    model = Standardised()
    X = ROWS * deviation.double().numpy() + mean.double().numpy()
    network = assert_same_outputs(model, X)
    np.testing.assert_allclose(network.center, mean.double(), rtol=1e-14)
    np.testing.assert_allclose(network.scale, deviation.double(), rtol=1e-14)
    plain = model.first.weight.detach().double().numpy().T
    np.testing.assert_allclose(network.layers[0].weights, plain, rtol=1e-14)


def test_a_batch_normalisation_at_the_beginning_gives_the_working_coordinates():
    norm = nn.BatchNorm1d(3)
    model = trained_statistics(nn.Sequential(norm, nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)))
    with torch.no_grad():
        norm.weight.copy_(torch.tensor([-1.0, 0.0, 2.0]))
        norm.bias.fill_(0.5)
    network = assert_same_outputs(model)
    assert np.array_equal(network.center, norm.running_mean.double().numpy())
    expected = np.sqrt(norm.running_var.double().numpy() + norm.eps)
    np.testing.assert_allclose(network.scale, expected, rtol=1e-15)


def test_a_first_layer_of_one_neuron_is_no_normalisation():
    network = read_network(nn.Sequential(nn.Linear(1, 1), nn.Tanh(), nn.Linear(1, 1)))
    assert (network.center, network.scale) == (0.0, 1.0)


def test_a_prelu_with_a_slope_per_channel_is_a_sum_of_a_line_and_a_relu():
    model = nn.Sequential(nn.Linear(3, 4), nn.PReLU(4), nn.Linear(4, 1))
    with torch.no_grad():
        model[1].weight.copy_(torch.tensor([0.5, -0.25, 1.0, 0.0]))
    network = assert_same_outputs(model)
    assert [layer.activation.name for layer in network.layers] == ["relu", "linear"]


# --- links -----------------------------------------------------------------------------------

LINKS = {
    "softmax": (nn.Softmax(dim=1), 3, "softmax"),
    "softmax function": (lambda x: F.softmax(x, dim=-1), 3, "softmax"),
    "softmax method": (lambda x: x.softmax(1), 3, "softmax"),
    "log_softmax": (nn.LogSoftmax(dim=-1), 3, "softmax"),
    "log_softmax function": (lambda x: torch.log_softmax(x, 1), 3, "softmax"),
    "sigmoid": (nn.Sigmoid(), 1, "sigmoid"),
    "sigmoid squeezed": (lambda x: torch.sigmoid(x).squeeze(-1), 1, "sigmoid"),
    "sigmoid viewed": (lambda x: torch.sigmoid(x).view(x.shape[0], -1).float(), 1, "sigmoid"),
    "multilabel": (nn.Sigmoid(), 3, "sigmoid"),
}


@pytest.mark.parametrize("key", LINKS)
def test_a_last_softmax_or_sigmoid_is_the_link(key):
    function, n_outputs, link = LINKS[key]

    class Head(Between):
        def forward(self, x):
            return self.function(self.last(torch.tanh(self.first(x))))

    model = Head(function, (3, 5, n_outputs))
    network = read_network(model)
    assert (network.link, names(network)) == (link, ["tanh", "linear"])
    found = probabilities(network.predict(ROWS).reshape(len(ROWS), -1), link)
    expected = outputs(model.float().double())  # .float() in the forward stays in the way
    expected = np.exp(expected) if "log" in key else expected
    if n_outputs == 1:
        found = found[:, 1:]
    np.testing.assert_allclose(found, expected, rtol=1e-6 if key == "sigmoid viewed" else 1e-12)


def test_a_sigmoid_that_is_used_again_is_an_activation():
    class Both(Between):
        def forward(self, x):
            p = torch.sigmoid(self.last(x))
            return torch.cat([1 - p, p], dim=1)

    network = assert_same_outputs(Both(None, (3, 3, 1)))
    assert (network.link, names(network)) == ("identity", ["sigmoid", "linear"])


# --- types, and a model that stays as it was -----------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_weights_of_every_type_are_read_as_they_are(dtype):
    model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)).to(dtype)
    network = assert_same_outputs(model)
    assert np.array_equal(network.layers[0].weights, model[0].weight.detach().double().numpy().T)
    assert model[0].weight.dtype == dtype


class Careless(nn.Module):
    """Writes to itself whenever it runs."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(), nn.ReLU())
        self.out = nn.Linear(4, 1)
        self.register_buffer("calls", torch.zeros(()))
        self.last = None

    def forward(self, x):
        self.calls += 1
        self.last = self.net(x)
        self.net[2].p = 0.9
        return self.out(self.last)


class Export(Careless):
    """Cannot be traced by torch.fx."""

    def forward(self, x):
        if x.shape[1] != 3:
            raise ValueError("three columns, please")
        return super().forward(x)


def state_of(model):
    """Collect everything that reading might change."""
    modules = {
        name: (
            *(m.training, type(m), {k: id(v) for k, v in vars(m).items() if k[0] != "_"}),
            *(len(getattr(m, f"_{kind}_hooks")) for kind in ("forward", "forward_pre", "backward")),
        )
        for name, m in model.named_modules()
    }
    tensors = {
        name: (id(t), t.requires_grad, t.grad, t._version, t.detach().clone())
        for name, t in (*model.named_parameters(), *model.named_buffers())
    }
    return modules, tensors


@pytest.mark.parametrize("kind", [Careless, Export])
@pytest.mark.parametrize("training", [True, False])
def test_reading_changes_nothing_in_the_model(kind, training):
    model = trained_statistics(kind()).train(training)
    model.net[0].eval()
    model.out.bias.requires_grad_(False)
    before, rng = state_of(model), torch.get_rng_state()
    read_network(model)
    after = state_of(model)
    assert before[0] == after[0]
    for name, (*one, values) in before[1].items():
        *other, now = after[1][name]
        assert one == other
        assert torch.equal(values, now)
    assert torch.equal(rng, torch.get_rng_state())
    assert torch.is_grad_enabled()


def test_training_and_evaluation_mode_give_the_same_network():
    model = trained_statistics(Careless())
    training = read_network(model.train())
    assert_same_networks(training, read_network(model.eval()))
    assert_same_outputs(model)


# --- wrappers --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_a_compiled_or_parallel_model_is_unwrapped():
    model = Between(torch.tanh)
    expected = read_network(model)
    assert_same_networks(read_network(torch.compile(model)), expected)
    assert_same_networks(read_network(nn.DataParallel(model)), expected)
    inner = Between(torch.tanh)
    inner.first = torch.compile(model.first)
    inner.last = nn.DataParallel(model.last)
    assert_same_networks(read_network(inner), expected)
    model.compile()
    assert_same_networks(read_network(model), expected)


def test_a_traced_model_is_read():
    model = Between(F.silu)
    expected = read_network(model)
    assert_same_networks(read_network(torch.fx.symbolic_trace(model)), expected)
    averaged = torch.optim.swa_utils.AveragedModel(model)
    assert_same_networks(read_network(averaged), expected)


def test_the_module_of_an_exported_program_is_read():
    model = Between(F.silu)
    exported = torch.export.export(model, (torch.zeros(4, 3),))
    for module in (exported.module(), exported.module(check_guards=False)):
        assert_same_networks(read_network(module), read_network(model))


def test_weights_are_read_as_the_next_forward_will_see_them():
    """Pruning and normed weights are computed by hooks, before every forward."""
    model = Between(torch.tanh)
    prune.l1_unstructured(model.first, "weight", amount=0.5)
    torch.nn.utils.spectral_norm(model.last)
    with torch.no_grad():
        model.first.weight_orig.mul_(2)
        model.last.weight_orig.mul_(3)
    network = read_network(model.eval())
    with torch.no_grad():
        expected = model(torch.from_numpy(ROWS).float())  # runs the hooks
    np.testing.assert_allclose(network.predict(ROWS), expected, atol=1e-5)
    assert np.count_nonzero(network.layers[0].weights) == 9


@pytest.mark.parametrize("kind", ["weight_norm", "spectral_norm", "orthogonal"])
def test_parametrised_weights_are_read(kind):
    model = Between(torch.tanh)
    getattr(parametrizations, kind)(model.first)
    model.train()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    network = read_network(model)
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    with torch.no_grad():
        expected = model.eval()(torch.from_numpy(ROWS).float())
    np.testing.assert_allclose(network.predict(ROWS), expected, atol=1e-5)


def test_a_subclass_of_a_layer_is_read_like_the_layer():
    class Own(nn.Linear):
        def __init__(self, n_in, n_out):
            super().__init__(n_in, n_out, bias=False)

    class OwnNorm(nn.BatchNorm1d):
        pass

    class Scaled(nn.Linear):
        def forward(self, x):
            return 2 * super().forward(x)

    model = nn.Sequential(Own(3, 4), OwnNorm(4), nn.Tanh(), Scaled(4, 2))
    assert_same_outputs(trained_statistics(model))


# --- the number of inputs --------------------------------------------------------------------


class Parts(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(4, 1)  # registered before the layers that run first
        self.a, self.b = nn.Linear(3, 4), nn.Linear(2, 4)

    def forward(self, x):
        return self.last(torch.relu(self.a(x[:, :3]) + self.b(x[:, 3:])))


def test_the_number_of_inputs_is_that_which_fits_all_layers():
    network = assert_same_outputs(Parts(), np.random.default_rng(0).normal(size=(9, 5)))
    assert network.n_features == 5


class Additive(nn.Module):
    """A small network per feature, and their sum."""

    def __init__(self, checked=False):
        super().__init__()
        self.parts = nn.ModuleList(
            [nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1)) for _ in range(3)]
        )
        self.bias = nn.Parameter(torch.randn(1))
        self.checked = checked

    def forward(self, x):
        assert not self.checked or x.ndim == 2
        return sum(part(x[:, [i]]) for i, part in enumerate(self.parts)) + self.bias


def test_a_sum_of_networks_of_one_feature_takes_as_few_inputs_as_it_can():
    assert assert_same_outputs(Additive()).n_features == 3


def test_a_sliced_input_that_has_to_be_exported_needs_an_example():
    model = Additive(checked=True)
    with pytest.raises(UnsupportedModelError, match="number of inputs cannot be told") as caught:
        read_network(model)
    assert "example_input_array" in caught.value.remedy
    model.example_input_array = torch.zeros(1, 3)
    assert_same_outputs(model)


def test_what_broadcasts_does_not_decide_the_number_of_inputs():
    class Weighted(nn.Module):
        def __init__(self):
            super().__init__()
            self.shift, self.gain = nn.Parameter(torch.ones(1)), nn.Parameter(torch.randn(3))

        def forward(self, x):
            return ((x - self.shift) * self.gain).sum(1)

    assert assert_same_outputs(Weighted()).n_features == 3


@pytest.mark.parametrize("layers", [(nn.Tanh(),), (nn.Flatten(), nn.Sigmoid(), nn.ELU())])
def test_an_example_says_how_many_inputs_there_are(layers):
    model = nn.Sequential(*layers)
    model.example_input_array = torch.zeros(1, 3)
    assert_same_outputs(model)


def test_weights_without_a_module_say_how_many_inputs_there_are():
    class Bare(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(5, 3))
            self.v = nn.Parameter(torch.randn(5))

        def forward(self, x):
            return torch.tanh(F.linear(x, self.w)) @ self.v

    assert assert_same_outputs(Bare()).n_features == 3


def test_images_are_read_as_flat_rows():
    model = nn.Sequential(nn.Flatten(), nn.Linear(12, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
    exported = torch.export.export(model, (torch.zeros(5, 1, 3, 4),))
    assert_same_networks(read_network(exported), read_network(model))


# --- where torch.fx gives up -------------------------------------------------------------------


class Checked(Between):
    def forward(self, x):
        assert x.ndim == 2
        assert x.shape[1] == self.first.in_features, f"{x.shape}"
        h = self.first(x)
        for index in range(int(x.shape[1])):
            h = torch.tanh(h) if index % 2 else h + index
        ones = torch.ones(x.shape[0], 1, dtype=x.dtype)
        return self.last(torch.cat([h, ones], dim=1)[:, 1:]).squeeze()


def test_what_fx_cannot_trace_is_exported():
    model = Checked(None, (3, 6, 1))
    with pytest.raises(torch.fx.proxy.TraceError):
        torch.fx.symbolic_trace(model)
    assert_same_outputs(model)
    assert_same_outputs(model.to(torch.bfloat16))


def test_a_loop_over_layers_with_conditions_needs_no_export():
    class Loop(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])

        def forward(self, x, skip=True, mask=None):
            for number, layer in enumerate(self.layers):
                h = layer(x)
                if number < len(self.layers) - 1:
                    h = torch.relu(h)
                x = x + h if skip and number else h
            return x if mask is None else x * mask

    assert names(assert_same_outputs(Loop())) == ["relu", "relu", "linear"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")
def test_a_decomposed_program_is_read():
    model = nn.Sequential(
        *(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.ELU(0.5), nn.Linear(5, 5), nn.SELU()),
        *(nn.Dropout(), nn.Linear(5, 4), nn.GELU(), nn.Linear(4, 3), nn.LogSoftmax(1)),
    )
    trained_statistics(model).eval()
    exported = torch.export.export(model, (torch.zeros(2, 3),))
    one, other = read_network(exported.run_decompositions()), read_network(model)
    assert (one.link, other.link) == ("softmax", "softmax")
    np.testing.assert_allclose(one.predict(ROWS), other.predict(ROWS), rtol=1e-12)


def test_operators_in_place_are_those_of_torch():
    """The proxy records += as what it is; torch.fx alone would write +."""

    class InPlace(Between):
        def forward(self, x):
            h = self.first(x)
            for act in (operator.iadd, operator.isub, operator.imul, operator.itruediv):
                h = act(h, 3.0)
            return self.last(torch.tanh(h))

    assert_same_outputs(InPlace(None))
