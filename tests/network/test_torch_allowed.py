"""Of a graph only listed operations run, and none makes more numbers than a network needs."""

from __future__ import annotations

import builtins
import math
import operator
import time

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.nn.utils import parametrizations

from nn2poly.errors import UnsupportedModelError
from nn2poly.network.readers import read_network
from nn2poly.network.readers.torch import allowed, bounds
from nn2poly.network.readers.torch.tracing import Program
from nn2poly.network.readers.torch.walk import Walk, refuse_unknown

aten = torch.ops.aten
ROWS = np.random.default_rng(5).normal(size=(40, 3))
# Fragments of names: what touches files, addresses, random numbers, or memory nobody filled.
DANGEROUS = (
    *("file", "rand", "normal_", "bernoulli", "multinomial", "poisson", "exponential", "empty"),
    *("resize", "set_", "data_ptr", "strided", "storage", "save", "load", "pickle", "shift"),
    *("quantiz", "fbgemm", "mkldnn", "cudnn", "rrelu", "nonzero", "repeat_interleave"),
)


def overloads():
    """Give every operation of ATen that this PyTorch has."""
    names = {s.name for s in torch._C._jit_get_all_schemas() if s.name.startswith("aten::")}
    for name in sorted({n.removeprefix("aten::") for n in names} | set(dir(aten))):
        packet = getattr(aten, name, None)
        if isinstance(packet, torch._ops.OpOverloadPacket):
            yield from (getattr(packet, overload) for overload in packet.overloads())


OVERLOADS = list(overloads())


def program_of(target, args=(), kwargs=None, *, used=True, foreign=True):
    """Make a program x + target(constants); without ``used`` nothing needs the target."""
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    made = graph.call_function(target, args, kwargs or {})
    total = graph.call_function(aten.add.Tensor, (x, made if used else 1.0))
    graph.output(total)
    return Program("Test", graph, nn.Module(), x, total, {}, (2,), foreign=foreign)


# --- the whole of ATen -----------------------------------------------------------------------


def test_there_are_thousands_of_operations_and_few_are_admitted():
    names = {target._schema.name for target in OVERLOADS}
    admitted = {target._schema.name for target in OVERLOADS if allowed.may_stand(target)}
    assert len(names) > 1000
    assert len(admitted) < 320
    assert not [name for name in admitted for part in DANGEROUS if part in name]


def test_the_list_holds_no_dangerous_name():
    assert not [name for name in allowed.FOLDED for part in DANGEROUS if part in name]


@pytest.mark.slow
def test_what_is_not_on_the_list_is_refused_by_name_before_it_runs(monkeypatch):
    ran = []
    monkeypatch.setattr(torch._ops.OpOverload, "__call__", lambda self, *_, **__: ran.append(self))
    for target in OVERLOADS:
        name = target._schema.name.removeprefix("aten::")
        assert allowed.is_target(f"torch.ops.aten.{name}.{target._overloadname}") == (
            allowed.may_stand(target)
        )
        for used in (True, False):
            if not (allowed.may_run(target) if used else allowed.may_stand(target)):
                with pytest.raises(UnsupportedModelError) as caught:
                    refuse_unknown(program_of(target, used=used))
                assert name in caught.value.found
                assert caught.value.remedy
    assert not ran


def test_no_admitted_operation_draws_random_numbers_or_is_non_deterministic():
    tags = {torch.Tag.nondeterministic_seeded, torch.Tag.dynamic_output_shape}
    strange = [t for t in OVERLOADS if allowed.may_run(t) and tags & set(t.tags)]
    # A dropout goes through its rule, which refuses one that is on; an index may be a mask.
    names = {allowed.plain_name(t) for t in strange}
    assert names <= {*allowed.rules.DROPOUTS, "index"}


@pytest.mark.parametrize("space", [operator, math, builtins])
def test_of_python_only_the_listed_operators_are_admitted(space):
    functions = [f for f in vars(space).values() if callable(f)]
    admitted = {f.__name__ for f in functions if allowed.may_stand(f)}
    expected = {operator: allowed.OPERATORS, math: set(), builtins: {"getattr"}}
    assert admitted == expected[space]
    assert not admitted & {"pow", "ipow", "lshift", "rshift", "exec", "eval", "open", "factorial"}


@pytest.mark.parametrize("name", ["data_ptr", "resize_", "set_", "__reduce__", "numpy", "tofile"])
def test_methods_are_admitted_by_name_too(name):
    assert not allowed.may_stand(name)


def test_operations_of_other_libraries_are_refused():
    with torch.library._scoped_library("nn2poly_test", "DEF") as library:
        library.define("relu(Tensor x) -> Tensor")
        target = torch.ops.nn2poly_test.relu.default
        with pytest.raises(UnsupportedModelError, match="relu"):
            refuse_unknown(program_of(target))
    with pytest.raises(UnsupportedModelError, match="cond"):
        refuse_unknown(program_of(torch.ops.higher_order.cond))


# --- arguments and sizes ---------------------------------------------------------------------

HUGE = 2**40
GROWING = {
    "zeros": (aten.zeros.default, ([HUGE],)),
    "ones": (aten.ones.default, ([2**20, 2**20],)),
    "full": (aten.full.default, ([HUGE], 1.0)),
    "arange": (aten.arange.default, (HUGE,)),
    "eye": (aten.eye.default, (2**20,)),
    "linspace": (aten.linspace.default, (0, 1, HUGE)),
    "expand": (aten.expand.default, (torch.ones(1), [HUGE])),
    "repeat": (aten.repeat.default, (torch.ones(2), [HUGE])),
    "tile": (aten.tile.default, (torch.ones(2), [HUGE])),
    "broadcast": (aten.add.Tensor, (torch.ones(2**20, 1), torch.ones(2**20))),
    "outer": (aten.outer.default, (torch.ones(2**20), torch.ones(2**20))),
    "matmul": (aten.mm.default, (torch.ones(2**20, 1), torch.ones(1, 2**20))),
    "new_full": (aten.new_full.default, (torch.ones(1), [HUGE], 2.0)),
    "index": (aten.index_select.default, (torch.ones(1, 2**20), 0, torch.zeros(2**10).int())),
    "mask and index": (
        aten.index.Tensor,
        (torch.ones(1, 1, 2**20), [torch.tensor([True]), torch.zeros(2**20).long()]),
    ),
    "diag": (aten.diag_embed.default, (torch.ones(2**20),)),
}


@pytest.mark.parametrize("key", GROWING)
def test_a_constant_that_is_too_large_is_refused_before_memory_is_taken(key):
    target, args = GROWING[key]
    start = time.monotonic()
    with pytest.raises(UnsupportedModelError, match="constants of the forward are too large"):
        bounds.check_size(target, *args)
    assert time.monotonic() - start < 2


def walked(target, args=(), **options):
    program = program_of(target, args, **options)
    refuse_unknown(program)
    return Walk(program, (2,)).run()


def test_a_walk_refuses_constants_that_are_too_large_by_place():
    with pytest.raises(UnsupportedModelError, match="too large") as caught:
        walked(aten.zeros.default, ([HUGE],))
    assert "zeros" in caught.value.where


def test_the_constants_are_counted_together(monkeypatch):
    monkeypatch.setenv("NN2POLY_FILE_MEMORY", "40")  # five numbers
    graph = torch.fx.Graph()
    total = x = graph.placeholder("x")
    for _ in range(3):
        ones = graph.call_function(aten.ones.default, ([2],))
        total = graph.call_function(aten.mul.Tensor, (total, ones))
    graph.output(total)
    program = Program("Test", graph, nn.Module(), x, total, {}, (1,), foreign=True)
    with pytest.raises(UnsupportedModelError, match="too large"):
        Walk(program, (1,)).run()


def test_a_value_on_its_way_cannot_grow_without_end():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    out = graph.call_function(aten.repeat.default, (x, [1, HUGE]))
    graph.output(out)
    with pytest.raises(UnsupportedModelError, match="too large"):
        Walk(Program("Test", graph, nn.Module(), x, out, {}, (2,)), (2,)).run()


@pytest.mark.parametrize(
    ("target", "args", "match"),
    [
        (operator.mul, ([0], HUGE), "no number"),
        (operator.mul, ("x", HUGE), "no number"),
        (operator.mod, ("%1000000000d", 1), "no number"),
        (operator.add, ("x", "y"), "no number"),
        (operator.mul, (2**62, 2**62), "integer that is too large"),
        (getattr, (torch.ones(2), "data_ptr"), "attribute that is not known"),
    ],
)
def test_operators_take_numbers_of_the_size_of_a_tensor(target, args, match):
    with pytest.raises(UnsupportedModelError, match=match):
        walked(target, args)


def test_a_dropout_of_constants_draws_nothing():
    before = torch.get_rng_state()
    with pytest.raises(UnsupportedModelError, match="stays on"):
        walked(aten.dropout.default, (torch.ones(2), 0.5, True))
    assert torch.equal(before, torch.get_rng_state())
    flow = walked(aten.dropout.default, (torch.ones(2), 0.5, False))
    assert flow.value.bias.tolist() == [1.0, 1.0]


# --- what real networks need -----------------------------------------------------------------


class Small(nn.Module):
    def __init__(self, change=None):
        super().__init__()
        self.first, self.last = nn.Linear(3, 6), nn.Linear(6, 2)
        self.register_buffer("mask", (torch.arange(18).reshape(6, 3) % 2).float())
        self.register_buffer("calls", torch.zeros(()))
        if change is not None:
            change(self.first)

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)))


class Masked(Small):
    """Computes with its parameters in many ways."""

    def forward(self, x):
        self.calls += 1
        w = F.dropout(self.first.weight * self.mask, 0.5, training=self.training)
        x = x.to(torch.float32) * torch.linspace(1, 2, 3) + torch.arange(3) / torch.tensor(2.0)
        h = F.linear(x, w / (1 + w.norm(dim=1, keepdim=True)), self.first.bias.exp() ** 2)
        chosen = torch.zeros(6)
        chosen[0] = 1.0
        h = h @ torch.triu(torch.ones(6, 6)) + torch.where(chosen > 0, chosen, torch.eye(6)[0])
        return self.last(torch.tanh(h + torch.ones(x.shape[0], 6)))


MODELS = {
    "weight_norm": lambda: Small(parametrizations.weight_norm),
    "spectral_norm": lambda: Small(parametrizations.spectral_norm),
    "orthogonal": lambda: Small(parametrizations.orthogonal),
    "constants": Masked,
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("decomposed", [False, True])
@pytest.mark.parametrize("key", MODELS)
def test_what_a_forward_computes_from_its_parameters_is_read(key, decomposed):
    torch.manual_seed(0)
    model = MODELS[key]().eval()
    with torch.no_grad():
        expected = model(torch.from_numpy(ROWS).float()).numpy()
    shapes = ({0: torch.export.Dim.DYNAMIC},)
    program = torch.export.export(model, (torch.zeros(4, 3),), dynamic_shapes=shapes)
    network = read_network(program.run_decompositions() if decomposed else program)
    np.testing.assert_allclose(network.predict(ROWS), expected, atol=1e-5)


def test_a_power_of_a_parameter_is_read():
    class Power(Small):
        def forward(self, x):
            return super().forward(x) * self.last.bias**2

    torch.manual_seed(0)
    model = Power().eval()
    with torch.no_grad():
        expected = model(torch.from_numpy(ROWS).float()).numpy()
    np.testing.assert_allclose(read_network(model).predict(ROWS), expected, atol=1e-5)
    program = torch.export.export(model, (torch.zeros(4, 3),))
    np.testing.assert_allclose(read_network(program).predict(ROWS), expected, atol=1e-5)


# --- what takes the square of a width -----------------------------------------------------------


class Wide(nn.Module):
    """A small model whose values are wide: its memory is in the widths alone."""

    def __init__(self, function):
        super().__init__()
        self.first, self.function = nn.Linear(2, 2), function
        self.register_buffer("weights", torch.ones(2, 2))

    def forward(self, x):
        return self.function(self.first(x).repeat(1, 200_000), self.weights)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, _: x.sum(1, keepdim=True),
        lambda x, _: x.mean(1, keepdim=True),
        lambda x, weights: (x.view(-1, 200_000, 2) @ weights)[:, 0],
        lambda x, _: torch.relu(x),
    ],
    ids=["sum", "mean", "groups", "activation"],
)
def test_what_takes_the_square_of_a_width_is_refused_before_it_is_made(function):
    with pytest.raises(UnsupportedModelError, match="more memory than there is") as caught:
        read_network(Wide(function))
    assert "forward of Wide" in caught.value.where
