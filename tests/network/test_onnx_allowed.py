"""Of the operations of ONNX only those with a rule run, and none makes what memory cannot hold."""

from __future__ import annotations

import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from nn2poly.errors import UnsupportedModelError
from nn2poly.network.readers import read_network
from nn2poly.network.readers.onnx.activations import ACTIVATIONS
from nn2poly.network.readers.onnx.affine import AFFINE
from nn2poly.network.readers.onnx.constants import ELEMENTWISE, FOLDS, fold
from nn2poly.network.readers.onnx.curves import ONLY_IN_GROUPS
from nn2poly.network.readers.onnx.graph import CONTROL_FLOW, Graph
from nn2poly.network.readers.onnx.outputs import LINKS
from nn2poly.network.readers.onnx.rearranging import REARRANGING

SCHEMAS = sorted(
    {(schema.domain, schema.name) for schema in onnx.defs.get_all_schemas_with_history()}
)
ON_CONSTANTS = {"Constant", "Identity", "CastLike", *REARRANGING, *ELEMENTWISE, *FOLDS}
ON_VALUES = {*AFFINE, *ACTIVATIONS, *REARRANGING, *LINKS, *ONLY_IN_GROUPS}
ONES = np.ones(3, np.float32)
RANDOM = ("Random", "Bernoulli", "Multinomial", "Loop", "Scan", "If", "Sequence", "Optional")


def model_of(op, domain, inputs, tensors):
    """Make a model y = x + op(inputs), of "x" and of constant tensors."""
    nodes = [
        helper.make_node(op, inputs, ["c"], domain=domain),
        helper.make_node("Add", ["x", "c"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 3])],
        [numpy_helper.from_array(array, name) for name, array in tensors.items()],
    )
    versions = {domain: 3, "ai.onnx.ml": 3, "": 20}
    opsets = [helper.make_opsetid(name, version) for name, version in versions.items()]
    return helper.make_model(graph, opset_imports=opsets)


def full_name(domain, name):
    return f"{domain}.{name}" if domain else name


@pytest.mark.parametrize(("source", "known"), [("w", ON_CONSTANTS), ("x", ON_VALUES)])
def test_every_operation_without_a_rule_is_refused_by_name(source, known):
    refused = 0
    for domain, name in SCHEMAS:
        if full_name(domain, name) not in known:
            with pytest.raises(UnsupportedModelError, match=name) as caught:
                read_network(model_of(name, domain, [source], {"w": ONES}))
            assert caught.value.remedy
            refused += 1
    assert refused > 150


def test_no_rule_is_for_control_flow_or_random_numbers():
    names = ON_CONSTANTS | ON_VALUES
    assert not [name for name in names for part in RANDOM if part in name]
    assert names.isdisjoint(CONTROL_FLOW)


def test_what_a_fold_is_asked_for_without_a_rule_is_refused():
    node = Graph(model_of("RandomNormalLike", "", ["w"], {"w": ONES})).nodes[0]
    with pytest.raises(UnsupportedModelError, match="RandomNormalLike"):
        fold(node, [np.ones(3)])


HUGE = np.array([2**20, 2**25, 3], np.int64)
LONG = np.ones(2**18, np.float32)
GROWING = {
    "ConstantOfShape": {"shape": HUGE},
    "Expand": {"w": ONES, "shape": HUGE},
    "Gather": {"w": LONG[None], "index": np.zeros(2**18, np.int64)},
    "Add": {"column": LONG[:, None], "row": LONG},
}


@pytest.mark.parametrize("op", GROWING)
def test_a_constant_that_memory_cannot_hold_is_refused_before_it_is_made(op):
    model = model_of(op, "", list(GROWING[op]), GROWING[op])
    start = time.monotonic()
    with pytest.raises(UnsupportedModelError, match="more memory than there is"):
        read_network(model)
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("op", ["Range", "Tile", "Pad", "EyeLike", "OneHot"])
def test_other_operations_that_make_large_constants_have_no_rule(op):
    assert op not in ON_CONSTANTS
