"""ONNX: a model of Gather, Mul and MatMul in double precision.

All monomials of degree d are products of those of degree d - 1 with one variable each. The
terms of the highest degree Q are never formed: P_Q(z) = Σ_i z_i · (F_{Q-1}(z) @ C_i), with
F_{Q-1} the monomials of degree Q - 1, is one matrix product and one weighted sum over features.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.algebra.monomials import first_and_rest, starts
from nn2poly.algebra.terms import Listed, is_nearly_full, offsets
from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError, require
from nn2poly.export.horner import check_polynomial
from nn2poly.export.writing import unspelled
from nn2poly.files import write_whole
from nn2poly.formula.evaluate import DENSE_BELOW
from nn2poly.formula.piecewise import Explicit
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.region_tree import Leaf, Split, Tree, question
from nn2poly.inputs import Inputs
from nn2poly.inputs.functions import Function, Identity

# Of 2022: every operator used here in double precision, and old enough for most runtimes.
OPSET, IR_VERSION = 17, 8
INPUT, OUTPUT = "X", "Y"
# A protobuf message ends at 2 GiB.
MAX_BYTES = 2**31 - 2**20


def onnx(poly: Explicit, path: str | Path) -> Path:
    """Write the polynomial as an ONNX model.

    Opset 17, double precision: input ``X`` (n, p) in raw units, output ``Y`` (n, n_outputs).
    The model's metadata hold the names, classes, link and the bounds at which inputs are held
    (null for none) as JSON, and the opset. Classifiers give raw outputs, before the link.

    Parameters
    ----------
    poly
        The polynomial.
    path
        File to write, whole or not at all.

    Returns
    -------
    Path

    Raises
    ------
    InvalidInputError
        When ``poly`` is not a polynomial, has no terms, or is too large for one ONNX file.
    StorageError
        When the file cannot be written.
    MissingDependencyError
        When onnx is not installed.

    Examples
    --------
    >>> import tempfile, onnxruntime
    >>> poly = Polynomial([[1.0], [2.0], [3.0]], 2, ["t"], center=20.0, scale=5.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = onnx(poly, Path(folder) / "poly.onnx")
    ...     session = onnxruntime.InferenceSession(file)
    >>> session.run(["Y"], {"X": np.array([[25.0]])})[0]
    array([[6.]])
    """
    write_whole(Path(path), onnx_bytes(poly))
    return Path(path)


def onnx_bytes(poly: Explicit) -> bytes:
    """Give the content of the file that `onnx` writes.

    Examples
    --------
    >>> len(onnx_bytes(Polynomial([[1.0], [2.0]], 1, ["t"]))) < 1000
    True
    """
    check_polynomial(poly)
    library = require("onnx", what="export.onnx()", extra="onnx")
    graph = _Graph(library.helper, library.numpy_helper)
    _formula_nodes(graph, poly)
    model = graph.model(poly)
    library.checker.check_model(model)
    content: bytes = model.SerializeToString()
    return content


@dataclass(frozen=True)
class _Graph:
    """Nodes and constants in the making; every method gives the name of a new tensor."""

    helper: Any
    numpy_helper: Any
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def constant(self, values: npt.ArrayLike, dtype: type = np.float64) -> str:
        name = f"c{len(self.constants)}"
        array: npt.NDArray[Any] = np.ascontiguousarray(values, dtype=dtype)
        self.constants.append(self.numpy_helper.from_array(array, name))
        return name

    def apply(self, operator: str, *inputs: str, output: str | None = None, **options: Any) -> str:
        name = output or f"t{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(operator, list(inputs), [name], **options))
        return name

    def columns(self, tensor: str, which: npt.ArrayLike) -> str:
        """Take columns of a (n, m) tensor."""
        return self.apply("Gather", tensor, self.constant(which, np.int64), axis=1)

    def model(self, poly: Explicit) -> Any:
        double = self.helper.TensorProto.DOUBLE
        value = self.helper.make_tensor_value_info
        graph = self.helper.make_graph(
            self.nodes,
            "polynomial",
            [value(INPUT, double, ["rows", poly.n_features])],
            [value(OUTPUT, double, ["rows", poly.n_outputs])],
            self.constants,
        )
        model = self.helper.make_model(
            graph,
            producer_name="nn2poly",
            ir_version=IR_VERSION,
            opset_imports=[self.helper.make_opsetid("", OPSET)],
        )
        self.helper.set_model_props(model, _metadata(poly))
        return model


def _metadata(poly: Explicit) -> dict[str, str]:
    classes = None if poly.classes is None else [str(label) for label in poly.classes]
    entries = {
        "feature_names": poly.feature_names,
        "output_names": poly.output_names,
        "classes": classes,
        "link": poly.link,
        "max_order": poly.max_order,
        "bounds": poly.inputs.bounds(),
        "opset": OPSET,
    }
    return {key: json.dumps(value) for key, value in entries.items()}


def _formula_nodes(graph: _Graph, poly: Explicit) -> None:
    """Compute the polynomial of every region, and choose by the tree."""
    z = _coordinates(graph, poly.inputs)
    parts = [_polynomial_nodes(graph, region.polynomial, z) for region in poly.regions]
    chosen = _chosen(graph, poly.tree, poly.inputs, parts)
    if isinstance(poly.tree, Split):
        # A missing value answers no question: 0 times it keeps it missing.
        asked = sorted(set(_asked(poly.tree, poly.inputs)))
        zeros = graph.constant(np.zeros((len(asked), poly.n_outputs)))
        missing = graph.apply("MatMul", graph.columns(INPUT, asked), zeros)
        chosen = graph.apply("Add", chosen, missing)
    graph.apply("Identity", chosen, output=OUTPUT)


def _asked(tree: Tree, inputs: Inputs) -> Iterator[int]:
    """Walk the features that splits ask about."""
    if isinstance(tree, Split):
        yield from question(tree, inputs).features
        yield from _asked(tree.left, inputs)
        yield from _asked(tree.right, inputs)


def _chosen(graph: _Graph, tree: Tree, inputs: Inputs, parts: Sequence[str]) -> str:
    """Choose among tensors (n, n_outputs) of the regions."""
    if isinstance(tree, Leaf):
        return parts[tree.number]
    asked = question(tree, inputs)
    columns = graph.columns(INPUT, list(asked.features))
    reached = graph.apply("GreaterOrEqual", columns, graph.constant([asked.numbers]))
    # Of several levels one is enough.
    counted = graph.apply("Cast", reached, to=graph.helper.TensorProto.DOUBLE)
    most = graph.apply("ReduceMax", counted, axes=[1], keepdims=1)
    holds = graph.apply("Greater", most, graph.constant([[0.5]]))
    left, right = (_chosen(graph, side, inputs, parts) for side in (tree.left, tree.right))
    return graph.apply("Where", holds, *((left, right) if asked.reached else (right, left)))


def _polynomial_nodes(graph: _Graph, poly: Polynomial, z: str) -> str:
    """Compute the outputs (n, n_outputs) of one polynomial."""
    is_dense = is_nearly_full(poly.terms, DENSE_BELOW)
    intercept, parts = _dense_parts(graph, poly, z) if is_dense else _sparse_parts(graph, poly, z)
    if not parts:  # a constant: zero times the input gives it a row for every row
        zeros = graph.constant(np.zeros((poly.n_features, poly.n_outputs)))
        parts = [graph.apply("MatMul", z, zeros)]
    total = parts[0]
    for part in parts[1:]:
        total = graph.apply("Add", total, part)
    return graph.apply("Add", total, graph.constant(intercept))


def _coordinates(graph: _Graph, inputs: Inputs) -> str:
    """Apply the coordinate of every feature: a tensor (n, p)."""
    functions = [coordinate.function for coordinate in inputs.coordinates]
    shifted = graph.apply("Sub", _curved(graph, functions), graph.constant(inputs.center))
    if inputs.n_features > 1:
        return graph.apply("Div", shifted, graph.constant(inputs.scale))
    # onnxruntime moves a division by one number into the product behind it, as a float32.
    return graph.apply("MatMul", shifted, graph.constant([1 / inputs.scale]))


def _curved(graph: _Graph, functions: Sequence[Function]) -> str:
    """Hold features at their bounds and apply their functions, columns of a kind together."""
    tensor = INPUT
    if any(function.is_bounded for function in functions):
        largest = np.finfo(np.float64).max
        low, high = (
            np.clip([getattr(function, end) for function in functions], -largest, largest)
            for end in ("low", "high")
        )
        tensor = graph.apply("Max", tensor, graph.constant(low))
        tensor = graph.apply("Min", tensor, graph.constant(high))
    if all(isinstance(function, Identity) for function in functions):
        return tensor
    columns = [_applied(graph, graph.columns(tensor, [j]), f) for j, f in enumerate(functions)]
    return graph.apply("Concat", *columns, axis=1)


def _applied(graph: _Graph, column: str, function: Function) -> str:
    """Apply a function to a column (n, 1) that is held at its bounds."""
    if isinstance(function, Identity):
        return column
    if function.points:
        return _between(graph, column, np.array(function.points))
    if not function.onnx:
        raise unspelled(function, "onnx")
    if function.added:
        column = graph.apply("Add", column, graph.constant([function.added]))
    return graph.apply(function.onnx, column)


def _between(graph: _Graph, column: str, points: FloatArray) -> str:
    """Join points (m, 2) by straight lines: each piece adds its slope times what lies on it."""
    knots, values = points.T
    inside = graph.apply("Max", column, graph.constant(knots[:-1]))
    inside = graph.apply("Min", inside, graph.constant(knots[1:]))
    inside = graph.apply("Sub", inside, graph.constant(knots[:-1]))
    slopes = np.diff(values) / np.diff(knots)
    return graph.apply(
        "Add",
        graph.apply("MatMul", inside, graph.constant(slopes[:, None])),
        graph.constant(values[:1]),
    )


def _dense_parts(graph: _Graph, poly: Polynomial, z: str) -> tuple[npt.NDArray[Any], list[str]]:
    """Add the degrees 1 … Q of the full basis; returns the intercept and one tensor each."""
    p, order, k = poly.n_features, poly.max_order, poly.n_outputs
    begin = offsets(p, order)
    _check_bytes(poly, 8 * k * p * begin[order])
    full = np.zeros((begin[-1], k))
    kept = poly.terms.positions() if isinstance(poly.terms, Listed) else slice(None)
    full[kept] = poly.coefficients
    features, parts = z, []
    for degree in range(1, order + 1):
        block = full[begin[degree] : begin[degree + 1]]
        if degree == order > 1:
            parts.append(_top_part(graph, block, z, features, p, order))
            continue
        if degree > 1:
            first, rest = first_and_rest(p, degree)
            pair = graph.columns(z, first), graph.columns(features, rest)
            features = graph.apply("Mul", *pair)
        parts.append(graph.apply("MatMul", features, graph.constant(block)))
    return full[0], parts


def _top_part(
    graph: _Graph, block: npt.NDArray[Any], z: str, features: str, p: int, order: int
) -> str:
    """Evaluate the highest degree from the monomials of the one below, (n, N_{Q-1})."""
    here, below = starts(p, order), starts(p, order - 1)
    k = block.shape[1]
    matrix = np.zeros((int(below[-1]), p, k))
    for i in range(p):
        matrix[below[i] :, i] = block[here[i] : here[i + 1]]
    inner = graph.apply("MatMul", features, graph.constant(matrix.reshape(len(matrix), -1)))
    inner = graph.apply("Reshape", inner, graph.constant([-1, p, k], np.int64))
    weights = graph.apply("Unsqueeze", z, graph.constant([2], np.int64))
    product = graph.apply("Mul", weights, inner)
    return graph.apply("ReduceSum", product, graph.constant([1], np.int64), keepdims=0)


def _sparse_parts(graph: _Graph, poly: Polynomial, z: str) -> tuple[npt.NDArray[Any], list[str]]:
    """Add the terms that are present, degree by degree, each as a product of columns."""
    _check_bytes(poly, 8 * poly.n_terms * (poly.n_outputs + poly.max_order))
    intercept, parts = np.zeros(poly.n_outputs), []
    for here, variables in poly.terms.by_degree():
        block = poly.coefficients[here]
        if not variables.shape[1]:
            intercept = block.sum(axis=0)
        elif len(block):
            values = graph.columns(z, variables[:, 0])
            for column in variables.T[1:]:
                values = graph.apply("Mul", values, graph.columns(z, column))
            parts.append(graph.apply("MatMul", values, graph.constant(block)))
    return intercept, parts


def _check_bytes(poly: Polynomial, n_bytes: int) -> None:
    if n_bytes > MAX_BYTES:
        raise InvalidInputError(
            "This polynomial is too large for one ONNX file.",
            where="poly",
            expected="2 GiB at most",
            found=f"{poly.n_terms:,} terms, {n_bytes / 2**30:.1f} GiB",
            remedy="keep the largest terms: poly.prune(n_terms=1000)",
        )
