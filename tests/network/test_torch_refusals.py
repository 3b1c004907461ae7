"""What cannot be read from PyTorch is refused by its place and type, with what can be done."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from nn2poly.errors import InvalidNetworkError, UnsupportedModelError
from nn2poly.network.readers import read_network


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def refusal(model, match=None):
    with pytest.raises(UnsupportedModelError, match=match) as caught:
        read_network(model)
    error = caught.value
    assert error.where
    assert error.remedy
    return error


# --- layers ----------------------------------------------------------------------------------

LAYERS = {
    "Conv2d": (lambda: nn.Conv2d(1, 2, 3), "dense part"),
    "Conv1d": (lambda: nn.Conv1d(1, 2, 3), "dense part"),
    "LSTM": (lambda: nn.LSTM(4, 4), "dense part"),
    "GRU": (lambda: nn.GRU(4, 4), "dense part"),
    "MultiheadAttention": (lambda: nn.MultiheadAttention(4, 1), "dense part"),
    "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(4, 1, 4), "dense part"),
    "LayerNorm": (lambda: nn.LayerNorm(4), "BatchNorm1d"),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), "BatchNorm1d"),
    "RMSNorm": (lambda: nn.RMSNorm(4), "BatchNorm1d"),
    "Embedding": (lambda: nn.Embedding(4, 4, max_norm=1.0), "one-hot"),
    "Bilinear": (lambda: nn.Bilinear(4, 4, 4), "add them"),
    "RReLU": (lambda: nn.RReLU(), "known activations"),
    "MaxPool1d": (lambda: nn.MaxPool1d(2), "dense part"),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_that_is_no_dense_network_is_refused_by_name(name):
    make, remedy = LAYERS[name]

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(3, 4), nn.Sequential(nn.ReLU(), make())])

        def forward(self, x):
            return self.layers[1][1](self.layers[1][0](self.layers[0](x)))

    error = refusal(Model(), f"{name} cannot be read")
    assert error.where == f"layers.1.1 ({name})"
    assert error.found.startswith("torch.nn.modules.")
    assert remedy in error.remedy


@pytest.mark.parametrize("name", ["Conv2d", "LSTM", "LayerNorm"])
def test_a_layer_alone_is_refused_too(name):
    assert name in refusal(LAYERS[name][0](), f"{name} cannot be read").where


def test_a_layer_is_named_also_where_fx_gives_up():
    class Checked(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4))

        def forward(self, x):
            assert x.shape[1] == 3
            return self.body(x)

    error = refusal(Checked(), "LayerNorm cannot be read")
    assert error.where.startswith("body.1 (LayerNorm)")
    assert "BatchNorm1d" in error.remedy


def test_a_convolution_is_refused_before_sizes_are_looked_at():
    class Image(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.head = nn.Conv2d(1, 2, 3), nn.Linear(8, 1)

        def forward(self, x):
            return self.head(self.conv(x.view(-1, 1, 4, 4)).flatten(1))

    assert refusal(Image(), "Conv2d cannot be read").where == "conv (Conv2d)"


LAYER_PARAMETERS = {
    "statistics from the batch": (
        nn.BatchNorm1d(4, track_running_stats=False),
        "track_running_stats",
    ),
    "line too early": (nn.Softplus(threshold=5), "threshold"),
    "cannot have this alpha": (nn.ELU(-1.0), "alpha"),
    "in the middle": (nn.Softmax(dim=1), "sigmoid or tanh"),
    "something else": (nn.Softmax(dim=0), "dim=1"),
    "does not fit": (nn.Linear(5, 4), "check the sizes"),
}


@pytest.mark.parametrize("match", LAYER_PARAMETERS)
def test_parameters_that_cannot_be_kept_are_refused_by_place(match):
    layer, remedy = LAYER_PARAMETERS[match]
    error = refusal(nn.Sequential(nn.Linear(3, 4), nn.Sequential(layer), nn.Linear(4, 1)), match)
    assert error.where == f"1.0 ({type(layer).__name__})"
    assert remedy in error.remedy


# --- operations ------------------------------------------------------------------------------


class Operation(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.first, self.last, self.function = nn.Linear(3, 4), nn.Linear(4, 4), function

    def forward(self, x):
        return self.last(self.function(self.first(x)))


OPERATIONS = {
    "product of matrices": (lambda x: x @ x.t(), "multiplies two values", "matmul", "products out"),
    "left product": (lambda x: torch.eye(3) @ x, "mixes its rows", "matmul", "Linear"),
    "quotient": (lambda x: x / x.sum(1, True), "divides", "truediv", "before the division"),
    "power": (lambda x: 2.0**x, "exponent", "pow", "before the power"),
    "powers": (lambda x: x ** torch.arange(4.0), "several exponents", "pow", "one power"),
    "places": (lambda x: torch.where(x > 0), "where cannot be read", "where", "by its name"),
    "largest": (lambda x: x.max(1)[0], "max cannot be read", "max", "by its name"),
    "norm of a row": (lambda x: F.layer_norm(x, (4,)), "layer_norm cannot", "layer_norm", "affine"),
    "attention": (
        lambda x: F.scaled_dot_product_attention(x, x, x),
        "attention multiplies values",
        "attention",
        "dense part",
    ),
    "cumulative": (lambda x: x.cumprod(1), "cumprod cannot be read", "cumprod", "activations"),
    "over rows": (lambda x: x.cumsum(0), "mixes or loses the rows", "cumsum", "flatten"),
    "sum over rows": (lambda x: x - x.mean(0), "mixes or loses the rows", "mean", "flatten"),
    "transposed": (lambda x: x.t(), "does not fit", "last", "sizes"),
    "rows reversed": (lambda x: x.flip(0), "mixes or loses the rows", "flip", "flatten"),
    "rows reshaped": (lambda x: x.view(-1, 2), "mixes or loses the rows", "view", "flatten"),
    "one row": (lambda x: x[0], "mixes or loses the rows", "getitem", "flatten"),
    "integers": (lambda x: x.to(torch.int32), "cast to another type", "to", "floating"),
    "dropout left on": (lambda x: F.dropout(x, 0.2), "stays on", "dropout", "self.training"),
    "noise": (lambda x: x + torch.randn_like(x), "randn_like cannot", "randn_like", "known"),
    "rounded quotient": (
        lambda x: torch.div(x, 2, rounding_mode="floor"),
        "rounded",
        "div",
        "before",
    ),
    "weights from the inputs": (
        lambda x: F.linear(torch.eye(4), x),
        "depends on the inputs",
        "linear",
        "same for all rows",
    ),
    "overwritten": (lambda x: x.relu_() + x, "overwritten in place", "relu_", "inplace=False"),
    "overwritten view": (
        lambda x: F.relu(x[:, :2], inplace=True).sum(1, keepdim=True) + x,
        "overwritten in place",
        "relu",
        "inplace=False",
    ),
}


@pytest.mark.parametrize("key", OPERATIONS)
def test_an_operation_that_is_not_linear_or_an_activation_is_refused(key):
    function, match, place, remedy = OPERATIONS[key]
    error = refusal(Operation(function), match)
    assert place in error.where
    assert "forward of Operation" in error.where or "last (Linear)" in error.where
    assert remedy in error.remedy


def test_an_operation_is_placed_in_the_part_that_does_it():
    model = nn.Sequential(nn.Linear(3, 3), Operation(lambda x: x / x.sum(1, True)))
    assert refusal(model, "divides").where == "1 (Operation), truediv"


def test_a_sum_after_an_alias_was_overwritten_is_refused():
    """In PyTorch, the residual below is the changed value, not the one before."""

    class Alias(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)

        def forward(self, x):
            h = self.a(x)
            residual = h
            h += 1
            return self.b(h) + residual

    error = refusal(Alias(), "overwritten in place")
    assert "used again" in error.found


def test_an_output_that_was_overwritten_is_refused():
    """In PyTorch, what is given out below is the changed value."""

    class Changed(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 2)

        def forward(self, x):
            y = torch.tanh(self.fc(x))
            y.add_(1)
            return y

    assert "the output" in refusal(Changed(), "overwritten in place").found


def test_some_of_the_probabilities_of_a_softmax_are_refused():
    class Second(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 2)

        def forward(self, x):
            return F.softmax(self.fc(x), dim=1)[:, 1]

    assert "logits" in refusal(Second(), "Only some of the probabilities").remedy


def test_a_forward_that_draws_random_numbers_is_refused():
    model = Operation(lambda x: x + torch.randn(4))
    before = torch.get_rng_state()
    error = refusal(model, "draws random numbers")
    assert "self.training" in error.remedy
    assert torch.equal(before, torch.get_rng_state())


# --- forwards --------------------------------------------------------------------------------


class Forward(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.extra = nn.Linear(3, 2), nn.Linear(3, 2)


class DataDependent(Forward):
    def forward(self, x):
        return self.fc(x) if x.sum() > 0 else self.extra(x)


class Loops(Forward):
    def forward(self, x):
        while x.norm() > 1:
            x = x / 2
        return self.fc(x)


@pytest.mark.parametrize("kind", [DataDependent, Loops])
def test_data_dependent_control_flow_is_refused_with_what_torch_said(kind, capfd):
    error = refusal(kind(), "data-dependent control flow")
    assert error.where == f"forward of {kind.__name__}"
    assert "torch.fx says TraceError" in error.found
    assert "torch.export says GuardOnDataDependentSymNode" in error.found
    assert "fixed sequence of layers" in error.remedy
    assert capfd.readouterr() == ("", "")


def test_a_forward_that_leaves_torch_is_refused():
    class Leaves(Forward):
        def forward(self, x):
            return self.fc(torch.from_numpy(np.tanh(x.detach().numpy())))

    assert "torch.export says" in refusal(Leaves(), "cannot be traced").found


def test_several_inputs_are_refused():
    class Two(Forward):
        def forward(self, x, y):
            return self.fc(x) + self.extra(y)

    error = refusal(Two(), "one tensor as its inputs")
    assert error.found == "x, y"
    exported = torch.export.export(Two(), (torch.zeros(2, 3), torch.zeros(2, 3)))
    assert refusal(exported, "one tensor as its inputs").found == "x, y"


@pytest.mark.parametrize(
    "pack", [lambda a, b: (a, b), lambda a, b: {"a": a, "b": b}, lambda a, b: [a, (b,)]]
)
def test_several_outputs_are_refused(pack):
    class Two(Forward):
        def forward(self, x):
            return pack(self.fc(x), self.extra(x))

    assert "wrap" in refusal(Two(), "one tensor as its outputs").remedy


@pytest.mark.parametrize("pack", [lambda a: (a,), lambda a: {"logits": a}, lambda a: [[a]]])
def test_one_output_in_a_container_is_read(pack):
    class One(Forward):
        def forward(self, x):
            return pack(self.fc(x))

    assert read_network(One()).n_outputs == 2


def test_an_output_without_the_inputs_is_refused():
    class Constant(Forward):
        def forward(self, x):
            return self.fc.weight + 1 if x is not None else x

    refusal(Constant(), "does not depend on the inputs")


@pytest.mark.parametrize("kind", ["shape", "size", "export"])
def test_outputs_that_depend_on_the_number_of_rows_are_refused(kind):
    class Averaged(Forward):
        def forward(self, x):
            assert kind != "export" or x.ndim == 2
            rows = x.size(0) if kind == "size" else x.shape[0]
            return self.fc(x) / rows

    assert "x.shape[0]" in refusal(Averaged(), "number of rows").remedy


def test_rows_must_come_first_in_the_output():
    class Stacked(Forward):
        def forward(self, x):
            return torch.stack([self.fc(x), self.extra(x)])

    assert "(2, 3, 2)" in refusal(Stacked(), "rows of the batch as their first").found


# --- models ----------------------------------------------------------------------------------


def test_a_model_without_sizes_asks_for_an_example():
    error = refusal(nn.Sequential(nn.Tanh()), "number of inputs cannot be told")
    assert "example_input_array" in error.remedy


def test_hooks_are_refused_where_they_are():
    model = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.ReLU()))
    handle = model[1][0].register_forward_hook(lambda module, args, out: 2 * out)
    error = refusal(model, "changed from outside")
    assert error.where == "1.0 (ReLU)"
    assert "handle.remove()" in error.remedy
    handle.remove()
    read_network(model)
    model[0].register_forward_pre_hook(lambda module, args: None)
    assert refusal(model, "changed from outside").where == "0 (Linear)"


def test_a_replaced_forward_is_refused():
    model = nn.Sequential(nn.Linear(3, 4))
    model[0].forward = lambda x: x
    assert refusal(model, "changed from outside").where == "0 (Linear)"


def test_hooks_on_gradients_do_not_matter():
    model = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.ReLU()))
    model.register_full_backward_hook(lambda *args: None)
    model[1].register_full_backward_pre_hook(lambda *args: None)
    assert read_network(model).n_features == 3


def test_lazy_layers_are_refused_until_they_have_weights():
    model = nn.Sequential(nn.LazyLinear(4), nn.Tanh())
    assert "run the model once" in refusal(model, "no weights yet").remedy
    model(torch.zeros(1, 3))
    assert read_network(model).n_features == 3


def test_weights_that_are_nowhere_or_complex_are_refused():
    assert "meta" in refusal(nn.Sequential(nn.Linear(3, 4, device="meta"))).found
    assert "complex" in refusal(nn.Sequential(nn.Linear(3, 4, dtype=torch.complex64))).found


def test_weights_that_diverged_are_refused():
    model = nn.Linear(3, 1)
    nn.init.constant_(model.weight, float("nan"))
    with pytest.raises(InvalidNetworkError, match="NaN"):
        read_network(model)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_quantised_layers_are_refused():
    settings = torch.ao.quantization.get_default_qat_qconfig()
    layer = torch.ao.nn.qat.Linear(3, 4, qconfig=settings)
    assert refusal(nn.Sequential(layer), "Linear cannot be read").found.startswith("torch.ao.")


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_torchscript_is_refused():
    script = torch.jit.script(nn.Linear(3, 1))
    assert "torch.export" in refusal(nn.Sequential(script), "TorchScript").remedy


def test_a_program_exported_in_training_mode_is_refused():
    for layer, match in ((nn.Dropout(), "stays on"), (nn.BatchNorm1d(4), "batch at hand")):
        model = nn.Sequential(nn.Linear(3, 4), layer).train()
        exported = torch.export.export(model, (torch.zeros(4, 3),))
        assert "model.eval()" in refusal(exported, match).remedy


@torch.fx.wrap
def relu(x):
    """Share its name with a function of torch, and nothing else."""
    return -x


def test_a_function_of_the_user_is_not_taken_for_one_of_torch():
    error = refusal(Operation(lambda x: relu(x)), "relu cannot be read")
    assert error.found.endswith("test_torch_refusals.relu")
