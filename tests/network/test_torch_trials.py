"""PyTorch models as people write them: read to six digits, or refused with the way out."""

from __future__ import annotations

import pickle
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.data import DataLoader, TensorDataset

import nn2poly as n2p
from nn2poly.errors import UnsupportedModelError
from nn2poly.network.checking import check_reading
from nn2poly.network.fallback import read_or_advise

X = np.random.default_rng(0).normal(size=(60, 8))
X[:, 6:] = np.random.default_rng(1).integers(4, size=(60, 2))
TABLE = torch.tensor(X, dtype=torch.float64)


class Model(nn.Module):
    """A forward as a function of the input and some layers."""

    def __init__(self, forward):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b, self.last = nn.Linear(8, 5), nn.Linear(8, 5), nn.Linear(5, 2)
        self.narrow = nn.Linear(3, 5)
        self.weight = nn.Parameter(torch.randn(5, 8))
        self.beta = nn.Parameter(torch.rand(5) + 0.5)
        self.scalar = nn.Parameter(torch.tensor(0.7))
        self.conv, self.slopes = nn.Conv1d(2, 3, 1), nn.PReLU(5)
        self.table = nn.Embedding(4, 5)
        self.run = forward

    def forward(self, x):
        return self.run(self, x)


def hidden(function):
    return lambda m, x: m.last(function(m.a(x), m))


# Functions of one value, by hand or by name.
CURVES = {
    "Hardswish": lambda h, _: F.hardswish(h),
    "Hardswish layer": lambda h, _: nn.Hardswish()(h),
    "x sigmoid(x)": lambda h, _: h * torch.sigmoid(h),
    "sigmoid(x) x": lambda h, _: h.sigmoid() * h,
    "learned swish": lambda h, m: h * torch.sigmoid(m.scalar * h),
    "swish per channel": lambda h, m: h * torch.sigmoid(m.beta * h),
    "relu squared": lambda h, _: F.relu(h) ** 2,
    "relu times itself": lambda h, _: F.relu(h) * F.relu(h),
    "square": lambda h, _: h.square(),
    "pow": lambda h, _: torch.pow(h, 2),
    "cube": lambda h, _: h**3,
    "cube by hand": lambda h, _: h * h * h,
    "abs": lambda h, _: h.abs(),
    "cos": lambda h, _: torch.cos(h),
    "log1p": lambda h, _: torch.log1p(h.exp()),
    "snake": lambda h, _: h + torch.sin(h) ** 2,
    "snake with a": lambda h, m: h + torch.sin(m.scalar * h) ** 2 / m.scalar,
    "mish by hand": lambda h, _: h * torch.tanh(F.softplus(h)),
    "softsign by hand": lambda h, _: h / (1 + h.abs()),
    "root": lambda h, _: h / torch.sqrt(1 + h * h),
    "gelu by hand": lambda h, _: 0.5 * h * (1 + torch.erf(h / 2**0.5)),
    "where": lambda h, _: torch.where(h > 0, h, 0.1 * h),
    "where with exp": lambda h, _: torch.where(h > 0, h, torch.exp(h) - 1),
    "mask": lambda h, _: h * (h > 0.5),
    "reciprocal": lambda h, _: 1 / (1 + h.exp()),
    "maximum": lambda h, _: torch.maximum(h, torch.zeros(5)),
    "minimum": lambda h, _: torch.minimum(h, torch.ones(5)),
    "clamp_min": lambda h, _: h.clamp_min(0.1),
    "clamp_max": lambda h, _: torch.clamp_max(h, 0.1),
    "clamp by tensors": lambda h, m: torch.clamp(h, -m.beta, m.beta),
    "PReLU per channel": lambda h, m: m.slopes(h),
    "Softshrink": lambda h, _: F.softshrink(h, 0.2),
    "Hardshrink": lambda h, _: nn.Hardshrink()(h),
    "Tanhshrink": lambda h, _: nn.Tanhshrink()(h),
    "Threshold": lambda h, _: nn.Threshold(0.1, -1.0)(h),
    "sinh": lambda h, _: torch.sinh(h),
    "expm1": lambda h, _: torch.expm1(h),
}
# Linear operations.
LINEAR = {
    "einsum": lambda m, x: torch.einsum("ni,oi->no", x, m.weight),
    "einsum on groups": lambda m, x: torch.einsum("ngi,gi->ng", x.view(-1, 2, 4), m.weight[:2, :4]),
    "matmul from the left": lambda m, x: (m.weight @ x.T).T,
    "bmm": lambda m, x: torch.bmm(
        x.view(-1, 2, 4), m.weight[:4, :3].expand(x.shape[0], 4, 3)
    ).flatten(1),
    "@ on groups": lambda m, x: (x.view(-1, 2, 4) @ m.weight[:4, :3]).flatten(1),
    "@ of a stack": lambda m, x: (x.view(-1, 2, 1, 4) @ m.weight[:4].view(2, 4, 4)).flatten(1),
    "addmm": lambda m, x: torch.addmm(m.beta, x, m.weight.T),
    "addcmul": lambda m, x: torch.addcmul(m.beta, m.a(x), m.beta, value=0.5),
    "tensordot": lambda m, x: torch.tensordot(x, m.weight, dims=([1], [1])),
    "cumsum": lambda m, x: m.last(m.a(x).cumsum(1)),
    "pad": lambda m, x: m.a(F.pad(x[:, :6], (1, 1))),
    "Conv1d of kernel 1": lambda m, x: m.conv(x.view(-1, 2, 4)).flatten(1),
    "slices of 8 columns": lambda m, x: m.narrow(x[:, :3]) + m.narrow(x[:, -3:]),
}
# Whole numbers that choose a row of a table; the last column has some.
CHOICES = {
    "Embedding": lambda m, x: m.table(x[:, 7].long()),
    "Embedding beside numbers": lambda m, x: m.last(m.a(x) + m.table(x[:, 7].to(torch.int64))),
    "Embedding of two columns": lambda m, x: m.table(x[:, 6:].long()).flatten(1),
    "embedding by name": lambda m, x: F.embedding(x[:, 7].long(), m.weight[:4]),
    "one_hot": lambda m, x: F.one_hot(x[:, 7].long(), 4).to(x) @ m.weight[:4],
}
# Products of two values, which are polynomials of them.
PRODUCTS = {
    "inputs": lambda m, x: x[:, :1] * x[:, 1:2],
    "bilinear": lambda m, x: m.a(x) * m.b(x),
    "gate": lambda m, x: m.last(m.a(x) * torch.sigmoid(m.b(x))),
    "tanh gate": lambda m, x: m.last(torch.tanh(m.a(x)) * torch.sigmoid(m.b(x))),
    "GLU": lambda m, x: F.glu(torch.cat([m.a(x), m.b(x)], 1), dim=1),
    "GEGLU": lambda m, x: m.last(F.gelu(m.a(x)) * m.b(x)),
    "highway": lambda m, x: m.last(
        torch.sigmoid(m.a(x)) * torch.tanh(m.b(x)) + (1 - torch.sigmoid(m.a(x))) * m.b(x)
    ),
    "factorisation machine": lambda m, x: (m.a(x) ** 2 - (x**2) @ m.weight.T**2).sum(1, True),
    "inner product": lambda m, x: (m.a(x) * m.b(x)).sum(1, keepdim=True),
    "where of two": lambda m, x: torch.where(m.a(x) > 0, m.b(x), m.a(x)),
    "largest of two": lambda m, x: torch.maximum(m.a(x), m.b(x)),
    "residual square": lambda m, x: m.last(m.a(x) + m.a(x) ** 2),
}
READ = {
    **{name: hidden(function) for name, function in CURVES.items()},
    **LINEAR,
    **CHOICES,
    **PRODUCTS,
}


@pytest.mark.parametrize("name", READ)
def test_it_is_read_to_six_digits(name):
    model = Model(READ[name]).double().eval()
    network = n2p.read_network(model, n_features=8)
    found = network.predict(X).reshape(len(X), -1)
    with torch.no_grad():
        expected = model(TABLE).numpy().reshape(len(X), -1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())
    check_reading(network, model, X)


SILU = ["x sigmoid(x)", "sigmoid(x) x"]


@pytest.mark.parametrize("name", [*SILU, "learned swish", "mish by hand", "root"])
def test_a_function_of_one_value_is_one_activation(name):
    network = n2p.read_network(Model(READ[name]), n_features=8)
    assert len(network.layers) == 2
    assert network.layers[0].n_outputs == 5
    assert (network.layers[0].activation.name == "silu") == (name in SILU)
    again = pickle.loads(pickle.dumps(network.layers[0].activation))
    np.testing.assert_array_equal(again(X), network.layers[0].activation(X))


def test_a_polynomial_network_is_the_polynomial_without_data():
    model = Model(PRODUCTS["bilinear"]).double()
    poly = n2p.convert(model, 2)
    np.testing.assert_allclose(poly.predict(X), model(TABLE).detach().numpy(), atol=1e-9)


def test_a_function_known_by_its_values_needs_data():
    model = Model(READ["Hardswish"])
    with pytest.raises(n2p.NN2PolyError, match="no Taylor series"):
        n2p.convert(model, 2)
    assert n2p.convert(model, 2, data=X).card.n_rows > 0


# What is refused, and a word of the reason.
REFUSED = {
    "LayerNorm": (lambda m, x: m.last(F.layer_norm(m.a(x), (5,))), "norm"),
    "RMSNorm": (lambda m, x: m.last(F.rms_norm(m.a(x), (5,))), "norm"),
    "softmax inside": (lambda m, x: m.last(torch.softmax(m.a(x), 1)), "softmax"),
    "attention": (
        lambda m, x: F.scaled_dot_product_attention(*[x.view(-1, 2, 4)] * 3).flatten(1),
        "multiplies values",
    ),
    "normalised by hand": (lambda m, x: m.a(x) / m.a(x).norm(dim=1, keepdim=True), "norm"),
    "quotient": (lambda m, x: m.a(x) / m.b(x), "divides"),
    "power of two": (lambda m, x: m.a(x).exp() ** m.b(x), "exponent"),
    "matrix of values": (lambda m, x: x.view(-1, 2, 4) @ x.view(-1, 4, 2), "multiplies two"),
    "sort": (lambda m, x: m.last(torch.sort(m.a(x), 1)[0]), "not part"),
    "largest entry": (lambda m, x: m.a(x).max(dim=1)[0], "max"),
    "over the batch": (lambda m, x: m.last(m.a(x) - m.a(x).mean(0)), "rows"),
    "rounding": (lambda m, x: m.last(torch.round(m.a(x))), "round"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_the_reason_and_the_way_out(name):
    forward, reason = REFUSED[name]
    with pytest.raises(UnsupportedModelError) as caught:
        read_or_advise(Model(forward), n_features=8)
    error = caught.value
    assert reason in error.what + (error.found or "")
    assert error.where
    last = str(error).splitlines()[-1]
    assert last.lstrip().startswith("remedy: ")
    assert "pass model.forward to fit its outputs instead" in last


def shared_parameter():
    layer = nn.Linear(8, 4)
    layer.weight = nn.Parameter(torch.zeros(8))
    return layer


CLEAR = {
    "TorchScript": lambda: torch.jit.trace(nn.Linear(8, 4), torch.zeros(2, 8)),
    "a number for a weight": shared_parameter,
    "lazy": lambda: nn.Sequential(nn.LazyLinear(4)),
    "meta": lambda: nn.Linear(8, 4, device="meta"),
}


@pytest.mark.filterwarnings("ignore:`torch.jit.trace")
@pytest.mark.parametrize("name", CLEAR)
def test_what_has_no_weights_is_said_clearly(name):
    with pytest.raises(n2p.NN2PolyError) as caught:
        n2p.convert(CLEAR[name](), 1, data=X)
    assert caught.value.what


@pytest.mark.parametrize("name", [n for n in CHOICES if n != "embedding by name"])
def test_a_column_that_is_looked_up_is_a_factor(name):
    network = n2p.read_network(Model(CHOICES[name]), n_features=8)
    assert network.inputs.columns[7].kind == "factor"
    assert network.inputs.columns[7].levels == ("0", "1", "2", "3")
    assert network.inputs.columns[0].kind == "number"


# ---- several inputs, several outputs -------------------------------------------------------------

NUMBERS = torch.tensor(X[:, :3], dtype=torch.float32)
KINDS = torch.tensor(X[:, 6:], dtype=torch.int64)


class Results(NamedTuple):
    mean: torch.Tensor
    spread: torch.Tensor


class TwoInputs(nn.Module):
    """Numbers and categories, as tabular networks take them."""

    def __init__(self, end=lambda h: h):
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(4, 2)
        self.first, self.last = nn.Linear(7, 5), nn.Linear(5, 1)
        self.end = end

    def forward(self, x_num, x_cat):
        joined = torch.cat([x_num, self.table(x_cat).flatten(1)], 1)
        return self.end(self.last(torch.tanh(self.first(joined))))


class OneColumn(TwoInputs):
    """A category without a dimension of its own."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(5, 5)

    def forward(self, x_num, x_cat):
        return self.last(self.first(torch.cat([x_num, self.table(x_cat)], 1)).relu())


class OfDictionary(TwoInputs):
    def forward(self, batch):
        return super().forward(batch["num"], batch["cat"])


def names_of(poly):
    return tuple(column.name for column in poly.inputs.columns)


BOTH = {
    "tuple": (NUMBERS, KINDS),
    "dictionary": {"x_cat": KINDS, "x_num": NUMBERS},
    "one table": np.hstack([NUMBERS, KINDS]),
    "frames": (pd.DataFrame(NUMBERS.numpy(), columns=list("abc")), KINDS),
    "loader": DataLoader(TensorDataset(NUMBERS, KINDS, torch.zeros(60)), batch_size=16),
    "list of batches": [(NUMBERS[:30], KINDS[:30]), (NUMBERS[30:], KINDS[30:])],
}


@pytest.mark.parametrize("form", BOTH)
def test_a_model_of_two_inputs_takes_its_tables(form):
    model, data = TwoInputs(), BOTH[form]
    poly = n2p.convert(model, 1, data=data)
    assert [c.kind for c in poly.inputs.columns] == [*["number"] * 3, *["factor"] * 2]
    expected = n2p.convert(model, 1, data=(NUMBERS, KINDS))
    np.testing.assert_allclose(poly.coefficients, expected.coefficients, atol=1e-9)
    called = ("a", "b", "c") if form == "frames" else ("x_num_0", "x_num_1", "x_num_2")
    if form != "one table":
        assert names_of(poly) == (*called, "x_cat_0", "x_cat_1")
    assert n2p.fidelity(model, poly, (NUMBERS, KINDS)).r2 > 0.5


def test_a_category_may_have_no_dimension_of_its_own():
    model = OneColumn()
    poly = n2p.convert(model, 1, data=(NUMBERS, KINDS[:, 0]))
    assert poly.inputs.columns[3].kind == "factor"


@pytest.mark.parametrize("loader", [False, True])
def test_a_forward_may_take_a_dictionary(loader):
    batch = {"num": NUMBERS, "cat": KINDS, "target": torch.zeros(60)}
    rows = [{k: v[i] for k, v in batch.items()} for i in range(60)]
    data = DataLoader(rows, batch_size=16) if loader else batch
    poly = n2p.convert(OfDictionary(), 1, data=data)
    assert names_of(poly) == ("num_0", "num_1", "num_2", "cat_0", "cat_1")


def test_columns_that_can_be_cut_in_several_ways_are_refused():
    class Sums(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = nn.Linear(1, 1)

        def forward(self, a, b):
            return self.last(a.sum(1, keepdim=True) - b.sum(1, keepdim=True))

    with pytest.raises(UnsupportedModelError, match="cannot be told how 4 columns") as caught:
        n2p.convert(Sums(), 1, data=X[:, :4])
    assert "data=(a, b)" in caught.value.remedy
    assert n2p.convert(Sums(), 1, data=(X[:, :3], X[:, 3:4])).n_terms == 5


def test_without_data_several_inputs_are_asked_for():
    with pytest.raises(UnsupportedModelError) as caught:
        n2p.convert(TwoInputs(), 1)
    assert "data=(x_num, x_cat)" in caught.value.remedy


ENDS = {
    "tuple": (lambda h: (h, 2 * h), 1, "output1"),
    "dictionary": (lambda h: {"mean": h, "spread": 2 * h}, "spread", "spread"),
    "named tuple": (lambda h: Results(h, 2 * h), "spread", "spread"),
    "nested": (lambda h: {"mean": h, "spread": [2 * h]}, "spread", "spread"),
}


@pytest.mark.parametrize("form", ENDS)
def test_one_of_several_outputs_is_chosen(form):
    end, output, name = ENDS[form]
    model = TwoInputs(end)
    with pytest.raises(UnsupportedModelError, match="output") as caught:
        n2p.convert(model, 1, data=(NUMBERS, KINDS))
    assert "output=" in caught.value.remedy
    poly = n2p.convert(model, 1, data=(NUMBERS, KINDS), output=output)
    plain = n2p.convert(TwoInputs(), 1, data=(NUMBERS, KINDS))
    assert poly.output_names == (name,)
    np.testing.assert_allclose(poly.coefficients, 2 * plain.coefficients, atol=1e-6)
    assert n2p.fidelity(model, poly, (NUMBERS, KINDS)).r2 > 0.5


# ---- what is wrong in silence elsewhere ----------------------------------------------------------


def written(m, x):
    x = x.clone()
    x[:, 0] = 3.0
    return m.a(x)


class Quantised(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.ao.quantization.quantize_dynamic(
            nn.Sequential(nn.Linear(8, 4)), {nn.Linear}, dtype=torch.qint8
        )

    def forward(self, x):
        return self.net(x)


class OnParameter(nn.Module):
    """A layer that meets a parameter, not the inputs."""

    def __init__(self):
        super().__init__()
        self.point, self.layer = nn.Parameter(torch.randn(3)), nn.Linear(3, 8)

    def forward(self, x):
        return (x * self.layer(self.point)).sum(1, keepdim=True)


def noise(m, x):
    return m.a(x) + torch.randn(5, generator=torch.Generator().manual_seed(1))


def other_column(m, x):
    x = x.clone()
    x[:, 0] = x[:, 1] * 2.0
    return m.last(torch.tanh(m.a(x)))


def into_zeros(m, x):
    out = torch.zeros_like(x)
    out[:, 2:4] = x[:, :2]
    out[:, 5] = 1.0
    return m.a(out)


def masked(m, x):
    x = x.clone()
    x[x > 0] = 0.0
    return m.a(x)


def shared(m, x):
    part = m.a(x)[:, :2]
    whole = m.a(x)
    part[:, 0] = 0.0
    return m.last(whole) + part


RIGHT = {
    "a column is written": lambda: Model(written),
    "a column is copied": lambda: Model(other_column),
    "columns into zeros": lambda: Model(into_zeros),
    "a part is written": lambda: Model(shared),
    "a part is doubled in place": lambda: Model(lambda m, x: m.last(m.a(x).mul_(2.0))),
    "Linear on a Parameter": OnParameter,
    "a generator with a seed": lambda: Model(noise),
    "slices from both ends": lambda: Model(lambda m, x: m.narrow(x[:, :3]) - m.narrow(x[:, -3:])),
    "several columns looked up": lambda: Model(lambda m, x: m.table(x[:, 6:].long()).sum(1)),
    "stacked columns": lambda: Model(
        lambda m, x: m.narrow(torch.column_stack([x[:, 0], x[:, 2:4]]))
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_unusual_is_right(name):
    model = RIGHT[name]().double().eval()
    network = n2p.read_network(model, n_features=8)
    with torch.no_grad():
        expected = model(TABLE.clone()).numpy()
    found = network.predict(X).reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())
    check_reading(network, model, X)


SAID = {
    "TorchScript": (
        lambda: torch.jit.trace(nn.Linear(8, 4), torch.zeros(2, 8)),
        "TorchScript module hides",
    ),
    "quantised": (Quantised, "quantised"),
    "out=": (lambda: Model(lambda m, x: torch.tanh(h := m.a(x), out=h)), "out="),
    "values decide where": (lambda: Model(masked), "decide where"),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore:torch.quantize_per_tensor")
@pytest.mark.parametrize("name", SAID)
def test_what_cannot_be_looked_into_is_refused_in_one_message(name):
    make, reason = SAID[name]
    with pytest.raises(UnsupportedModelError, match=reason) as caught:
        n2p.convert(make().eval(), 2, data=X)
    assert caught.value.where
    assert "to fit its outputs instead" in caught.value.remedy


# ---- models of the field -------------------------------------------------------------------------


def rtdl(name, **options):
    return getattr(pytest.importorskip("rtdl_revisiting_models"), name)(d_out=1, **options)


def number_embeddings(name, *args, **options):
    layer = getattr(pytest.importorskip("rtdl_num_embeddings"), name)(*args, **options)
    return nn.Sequential(layer, nn.Flatten(), nn.Linear(9, 1))


FIELD = {
    "MLP": lambda: rtdl("MLP", d_in=3, n_blocks=2, d_block=8, dropout=0.1),
    "ResNet": lambda: rtdl(
        "ResNet", d_in=3, n_blocks=2, d_block=8, d_hidden=None, d_hidden_multiplier=2.0,
        dropout1=0.1, dropout2=0.1,
    ),
    "linear": lambda: number_embeddings("LinearEmbeddings", 3, 3),
    "linear and ReLU": lambda: number_embeddings("LinearReLUEmbeddings", 3, 3),
    "periodic": lambda: number_embeddings("PeriodicEmbeddings", 3, 3, lite=False),
}  # fmt: skip


@pytest.mark.parametrize("name", FIELD)
def test_models_of_the_field_are_read(name):
    torch.manual_seed(0)
    model = FIELD[name]().eval()
    network = n2p.read_network(model, n_features=3)
    expected = model(NUMBERS).detach().numpy()[:, 0]
    np.testing.assert_allclose(network.predict(NUMBERS), expected, atol=1e-5)


@pytest.mark.parametrize("kinds", [None, [4, 4]])
def test_an_ensemble_is_refused_as_one(kinds):
    module = pytest.importorskip("tabm").TabM
    model = module.make(n_num_features=3, cat_cardinalities=kinds, d_out=1).eval()
    with pytest.raises(UnsupportedModelError, match="ensemble") as caught:
        n2p.convert(model, 1, data=NUMBERS if kinds is None else (NUMBERS, KINDS))
    assert "model(x).mean(1)" in caught.value.remedy


def test_a_transformer_is_refused_for_its_normalisation():
    module = pytest.importorskip("rtdl_revisiting_models").FTTransformer
    options = module.get_default_kwargs(n_blocks=1)
    model = module(n_cont_features=3, cat_cardinalities=[4, 4], d_out=1, **options).eval()
    with pytest.raises(UnsupportedModelError, match="LayerNorm cannot be read") as caught:
        n2p.convert(model, 1, data=(NUMBERS, KINDS))
    assert "pass model.forward" in caught.value.remedy
