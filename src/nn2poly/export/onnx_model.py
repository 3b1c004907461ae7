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
from nn2poly.export.endings import check_kind, result_names
from nn2poly.export.horner import check_polynomial
from nn2poly.export.names import meaning
from nn2poly.export.raw_table import RawTable, Source, raw_table
from nn2poly.export.writing import unspelled
from nn2poly.files import write_whole
from nn2poly.formula.evaluate import DENSE_BELOW
from nn2poly.formula.piecewise import Explicit
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.region_tree import Leaf, Split, Tree, question
from nn2poly.inputs import Inputs
from nn2poly.inputs.cuts import Interval
from nn2poly.inputs.functions import Function, Identity, Power

# Of 2022: every operator used here in double precision, and old enough for most runtimes.
OPSET, IR_VERSION = 17, 8
INPUT, TEXTS, OUTPUT = "X", "S", "Y"
# Texts are compared by the operators of this domain; of 2022 too.
ML_DOMAIN, ML_OPSET = "ai.onnx.ml", 3
# A protobuf message ends at 2 GiB.
MAX_BYTES = 2**31 - 2**20


def onnx(poly: Explicit, path: str | Path, *, kind: str = "predict") -> Path:
    """Write the polynomial as an ONNX model.

    Opset 17, double precision: input ``X`` (n, columns of numbers) in raw units, output ``Y``
    (n, n_outputs). Factors of text come as a second input ``S`` (n, columns of text) of strings.
    NaN in ``X`` and an empty string in ``S`` are holes; what `predict` refuses is NaN.
    The model's metadata hold the names (also of the columns of ``X`` and ``S``), classes, link,
    what the numbers are and the bounds at which inputs are held (null for none) as JSON, and the
    opset.

    Parameters
    ----------
    poly
        The polynomial.
    path
        File to write, whole or not at all.
    kind
        For a classifier: ``"raw"`` outputs, before the link, ``"probability"``, or ``"label"``:
        then ``Y`` (n, 1) is the position of the class, a whole number.

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
    write_whole(Path(path), onnx_bytes(poly, kind=kind))
    return Path(path)


def onnx_bytes(poly: Explicit, *, kind: str = "predict") -> bytes:
    """Give the content of the file that `onnx` writes.

    Examples
    --------
    >>> len(onnx_bytes(Polynomial([[1.0], [2.0]], 1, ["t"]))) < 1000
    True
    """
    check_polynomial(poly)
    library = require("onnx", what="export.onnx()", extra="onnx")
    chosen, table = check_kind(kind, poly.outputs), raw_table(poly.inputs)
    graph = _Graph(library.helper, library.numpy_helper)
    _ending(graph, poly, _formula_nodes(graph, poly, _features(graph, table)), chosen)
    model = graph.model(poly, table, chosen)
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

    def model(self, poly: Explicit, table: RawTable, kind: str) -> Any:
        double, string = self.helper.TensorProto.DOUBLE, self.helper.TensorProto.STRING
        value = self.helper.make_tensor_value_info
        texts = sum(column.is_text for column in table.columns)
        numbers = len(table.columns) - texts
        inputs = [value(INPUT, double, ["rows", numbers])] if numbers else []
        inputs += [value(TEXTS, string, ["rows", texts])] if texts else []
        graph = self.helper.make_graph(
            self.nodes,
            "polynomial",
            inputs,
            [value(OUTPUT, double, ["rows", len(result_names(poly.outputs, kind))])],
            self.constants,
        )
        domains = [("", OPSET), *([(ML_DOMAIN, ML_OPSET)] if texts else [])]
        model = self.helper.make_model(
            graph,
            producer_name="nn2poly",
            ir_version=IR_VERSION,
            opset_imports=[self.helper.make_opsetid(*domain) for domain in domains],
        )
        self.helper.set_model_props(model, _metadata(poly, table, kind))
        return model


def _metadata(poly: Explicit, table: RawTable, kind: str) -> dict[str, str]:
    classes = None if poly.classes is None else [str(label) for label in poly.classes]
    entries = {
        "feature_names": poly.feature_names,
        "output_names": poly.output_names,
        "classes": classes,
        "link": poly.link,
        "max_order": poly.max_order,
        "bounds": poly.inputs.bounds(),
        "opset": OPSET,
        "kind": kind,
        "meaning": [meaning(poly, name, kind) for name in result_names(poly.outputs, kind)],
        "threshold": poly.outputs.threshold,
        INPUT: [column.name for column in table.columns if not column.is_text],
        TEXTS: [column.name for column in table.columns if column.is_text],
    }
    return {key: json.dumps(value) for key, value in entries.items()}


def _features(graph: _Graph, table: RawTable) -> str:
    """Make the features (n, p) of the columns of the table: holes filled in, levels as 0 and 1."""
    if table.is_plain:
        return INPUT
    blocks: list[str] = []
    order: list[int] = []
    for k, column in enumerate(table.columns):
        mine = [j for j, source in enumerate(table.sources) if source.column == k]
        if mine:
            make = _text_block if column.is_text else _number_block
            blocks.append(make(graph, table, k, [table.sources[j] for j in mine]))
            order += mine
    joined = graph.apply("Concat", *blocks, axis=1)
    return graph.columns(joined, np.argsort(order))


def _number_block(graph: _Graph, table: RawTable, k: int, sources: Sequence[Source]) -> str:
    """Make the features of a column of numbers: itself, and what marks its holes."""
    column = graph.columns(INPUT, [table.text_place(k)])
    parts = []
    for source in sources:
        hole = source.hole
        code = None if hole is None else hole.code
        is_hole = (
            graph.apply("IsNaN", column)
            if code is None
            else graph.apply("Equal", column, graph.constant([[float(code)]]))
        )
        if source.marks:
            parts.append(graph.apply("Cast", is_hole, to=graph.helper.TensorProto.DOUBLE))
            continue
        value = column
        if hole is not None and hole.fill is not None:
            value = graph.apply("Where", is_hole, graph.constant([[hole.fill]]), column)
        parts.append(value if source.interval is None else _within(graph, value, source.interval))
    return parts[0] if len(parts) == 1 else graph.apply("Concat", *parts, axis=1)


def _within(graph: _Graph, column: str, interval: Interval) -> str:
    """Mark the numbers of a column (n, 1) that lie in an interval; NaN stays."""
    low, high = (graph.constant([[end]]) for end in interval)
    reached = graph.apply("GreaterOrEqual", column, low)
    inside = graph.apply("And", reached, graph.apply("Less", column, high))
    marked = graph.apply("Cast", inside, to=graph.helper.TensorProto.DOUBLE)
    return graph.apply("Where", graph.apply("IsNaN", column), column, marked)


def _text_block(graph: _Graph, table: RawTable, k: int, sources: Sequence[Source]) -> str:
    """Make the features of a column of text: its levels, and what marks its holes."""
    levels = [text for source in sources for text in source.texts or ()]
    holes = [source.hole for source in sources if source.hole is not None]
    empty = "" if not holes or holes[0].code is None else str(holes[0].code)
    known = list(dict.fromkeys([*levels, empty]))
    column = graph.columns(TEXTS, [table.text_place(k)])
    shown = graph.apply("OneHotEncoder", column, domain=ML_DOMAIN, cats_strings=known, zeros=1)
    flat = graph.apply("Reshape", shown, graph.constant([-1, len(known)], np.int64))
    flat = graph.apply("Cast", flat, to=graph.helper.TensorProto.DOUBLE)
    matrix = np.array([[_shows(text, source, empty) for source in sources] for text in known])
    block = graph.apply("MatMul", flat, graph.constant(matrix))
    if any(source.is_rest for source in sources):
        rest = np.array([[float(source.is_rest) for source in sources]])
        return graph.apply("Add", block, graph.constant(rest))
    strict = any(source.others is not None for source in sources)
    if not strict:
        return block
    # A text that is no level, nor a hole that something fills, is NaN.
    filled = any(hole.fill is not None for hole in holes)
    valid = np.array([[float(text in levels or (filled and text == empty))] for text in known])
    counted = graph.apply("MatMul", flat, graph.constant(valid))
    is_known = graph.apply("Greater", counted, graph.constant([[0.5]]))
    return graph.apply("Where", is_known, block, graph.constant([[np.nan]]))


def _shows(text: str, source: Source, empty: str) -> float:
    """Tell what a text adds to a feature; one that stands for the rest begins at 1."""
    if source.marks:
        return float(text == empty)
    if source.is_rest:
        filled = source.hole is not None and source.hole.fill is not None
        goes_elsewhere = text == empty and filled and not source.fills_level
        return -float(text in (source.others or ()) or goes_elsewhere)
    return float(text in (source.texts or ()) or (text == empty and source.fills_level))


def _ending(graph: _Graph, poly: Explicit, raw: str, kind: str) -> None:
    """Put the link, or the choice of a class, behind raw outputs (n, n_outputs)."""
    outputs, double = poly.outputs, graph.helper.TensorProto.DOUBLE
    if kind == "raw":
        graph.apply("Identity", raw, output=OUTPUT)
    elif kind == "target":
        _target(graph, outputs.link, raw)
    elif kind == "probability":
        softmax = outputs.link == "softmax"
        chances = graph.apply("Softmax", raw, axis=1) if softmax else graph.apply("Sigmoid", raw)
        if outputs.calibration is not None:
            slope, shift = (graph.constant([[-value]]) for value in outputs.calibration)
            moved = graph.apply("Add", graph.apply("Mul", chances, slope), shift)
            chances = graph.apply("Sigmoid", moved)
        graph.apply("Identity", chances, output=OUTPUT)
    elif outputs.link == "softmax" and outputs.cut() is None:
        place = graph.apply("ArgMax", raw, axis=1, keepdims=1)
        graph.apply("Cast", place, output=OUTPUT, to=double)
    else:
        if outputs.link == "softmax":
            raw = graph.apply("Sub", graph.columns(raw, [1]), graph.columns(raw, [0]))
        cut = outputs.cut()
        operator = "Greater" if cut is None else "GreaterOrEqual"
        reached = graph.apply(operator, raw, graph.constant([[cut or 0.0]]))
        graph.apply("Cast", reached, output=OUTPUT, to=double)


def _target(graph: _Graph, link: str, raw: str) -> None:
    """Undo the link of a regression."""
    one = graph.constant([[1.0]])
    if link == "log1p":
        graph.apply("Sub", graph.apply("Exp", raw), one, output=OUTPUT)
    elif link == "sqrt":
        graph.apply("Mul", raw, raw, output=OUTPUT)
    elif link == "inverse":
        graph.apply("Div", one, raw, output=OUTPUT)
    else:
        graph.apply({"log": "Exp", "exp": "Log"}[link], raw, output=OUTPUT)


def _formula_nodes(graph: _Graph, poly: Explicit, features: str) -> str:
    """Compute the polynomial of every region, and choose by the tree."""
    z = _coordinates(graph, poly.inputs, features)
    parts = [_polynomial_nodes(graph, region.polynomial, z) for region in poly.regions]
    chosen = _chosen(graph, poly.tree, poly.inputs, parts, features)
    if isinstance(poly.tree, Split):
        # A missing value answers no question: 0 times it keeps it missing.
        asked = sorted(set(_asked(poly.tree, poly.inputs)))
        zeros = graph.constant(np.zeros((len(asked), poly.n_outputs)))
        missing = graph.apply("MatMul", graph.columns(features, asked), zeros)
        chosen = graph.apply("Add", chosen, missing)
    return chosen


def _asked(tree: Tree, inputs: Inputs) -> Iterator[int]:
    """Walk the features that splits ask about."""
    if isinstance(tree, Split):
        yield from question(tree, inputs).features
        yield from _asked(tree.left, inputs)
        yield from _asked(tree.right, inputs)


def _chosen(graph: _Graph, tree: Tree, inputs: Inputs, parts: Sequence[str], features: str) -> str:
    """Choose among tensors (n, n_outputs) of the regions."""
    if isinstance(tree, Leaf):
        return parts[tree.number]
    asked = question(tree, inputs)
    columns = graph.columns(features, list(asked.features))
    reached = graph.apply("GreaterOrEqual", columns, graph.constant([asked.numbers]))
    # Of several levels one is enough.
    counted = graph.apply("Cast", reached, to=graph.helper.TensorProto.DOUBLE)
    most = graph.apply("ReduceMax", counted, axes=[1], keepdims=1)
    holds = graph.apply("Greater", most, graph.constant([[0.5]]))
    left, right = (
        _chosen(graph, side, inputs, parts, features) for side in (tree.left, tree.right)
    )
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


def _coordinates(graph: _Graph, inputs: Inputs, features: str) -> str:
    """Apply the coordinate of every feature: a tensor (n, p)."""
    functions = [coordinate.function for coordinate in inputs.coordinates]
    shifted = graph.apply("Sub", _curved(graph, functions, features), graph.constant(inputs.center))
    if inputs.n_features > 1:
        return graph.apply("Div", shifted, graph.constant(inputs.scale))
    # onnxruntime moves a division by one number into the product behind it, as a float32.
    return graph.apply("MatMul", shifted, graph.constant([1 / inputs.scale]))


def _curved(graph: _Graph, functions: Sequence[Function], features: str) -> str:
    """Hold features at their bounds and apply their functions, columns of a kind together."""
    tensor = features
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
    if function.powers:
        return graph.apply("Sum", *(_power(graph, column, power) for power in function.powers))
    if not function.onnx:
        raise unspelled(function, "onnx")
    if function.added:
        column = graph.apply("Add", column, graph.constant([function.added]))
    return graph.apply(function.onnx, column)


def _power(graph: _Graph, column: str, power: Power) -> str:
    """Give one of the powers that a function of a column (n, 1) is the sum of."""
    side = graph.apply("Mul", column, graph.constant([power.sign]))
    side = graph.apply("Max", side, graph.constant([0.0]))
    base = graph.apply("Add", side, graph.constant([power.added]))
    if power.exponent == 0.0:
        return graph.apply("Mul", graph.apply("Log", base), graph.constant([power.sign]))
    raised = graph.apply("Pow", base, graph.constant([power.exponent]))
    less = graph.apply("Sub", raised, graph.constant([1.0]))
    return graph.apply("Div", less, graph.constant([power.sign * power.exponent]))


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
