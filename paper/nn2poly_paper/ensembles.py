"""Networks trained alike on one data set: measured, averaged and drawn (Figs. 3–5, 7, 8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from nn2poly.formula.polynomial import Polynomial
from nn2poly.network.network import Network
from nn2poly.network.readers import read_network
from nn2poly.plots.bars import importance
from nn2poly.plots.comparison import diagonal
from nn2poly.plots.layout import panels, tidy
from nn2poly.plots.style import BLUE, GREY, SMALL_SIZE
from nn2poly_paper.data import DataSet, boston_data, example_data
from nn2poly_paper.experiment import Findings
from nn2poly_paper.figures import figure_of
from nn2poly_paper.measure import METHODS, average, coefficients, compare, convert_both
from nn2poly_paper.stacked import Recipe, train_networks
from nn2poly_paper.store import Row, Tables
from nn2poly_paper.work import Unit, Work

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Kind: TypeAlias = tuple[str, bool]

# Activation, and whether the paper's constraint is kept; the first two are the paper's own.
KINDS: tuple[Kind, ...] = (("tanh", True), ("tanh", False), ("relu", True), ("relu", False))


@dataclass(frozen=True)
class Training:
    """How the networks of an ensemble are trained.

    Parameters
    ----------
    hidden, epochs, batch, rate, spread
        As in `nn2poly_paper.stacked.Recipe`.
    networks
        How many of each kind.
    order
        Order Q of the polynomials.

    Examples
    --------
    >>> Training(epochs=3000, batch=50).networks
    10
    """

    hidden: tuple[int, ...] = (100, 100, 100)
    epochs: int = 1000
    batch: int = 100
    rate: float = 1e-3
    spread: float = 0.05
    networks: int = 10
    order: int = 3


def run_ensembles(
    name: str, data: Mapping[str, Any], training: Training, seed: int, work: Work, *, top: int
) -> Findings:
    """Train, convert and measure the networks of all kinds.

    Parameters
    ----------
    name
        Of the experiment; its tables are ``{name}_mse``, ``_predictions``, ``_coefficients``.
    data
        What `load` takes.
    top
        Coefficients to list for each kind and method.
    """
    units = [
        Unit(kind_name(kind), {"data": data, "kind": kind, "seed": seed, **vars(training)})
        for kind in KINDS
    ]
    results = work.each(name, measure_ensemble, units)
    found = dict(zip(KINDS, results, strict=True))
    tables = {
        f"{name}_mse": [row for kind in KINDS for row in _mse_rows(kind, found[kind])],
        f"{name}_predictions": [r for kind in KINDS for r in _prediction_rows(kind, found[kind])],
        f"{name}_coefficients": [
            row for kind in KINDS for row in _coefficient_rows(kind, found[kind], top)
        ],
    }
    dataset = load(data)
    return Findings(tables, {"data": dataset, "order": training.order, "results": found})


def measure_ensemble(
    *,
    data: Mapping[str, Any],
    kind: Sequence[Any],
    seed: int,
    networks: int,
    order: int,
    **how: Any,
) -> dict[str, Any]:
    """Train the networks of one kind, convert each, and give plain numbers.

    Examples
    --------
    >>> data = {"name": "example", "rows": 40, "seed": 1}
    >>> how = {"hidden": [4], "epochs": 1, "batch": 10, "rate": 0.01, "spread": 0.5}
    >>> found = measure_ensemble(
    ...     data=data, kind=["tanh", True], seed=1, networks=2, order=1, **how
    ... )
    >>> len(found["mse"]), found["terms"]
    (2, ['1', 'x1', 'x2', 'x3'])
    """
    dataset = load(data)
    recipe = Recipe(activation=kind[0], constrained=kind[1], **{**how, "hidden": (*how["hidden"],)})
    rows = slice(dataset.n_fit)
    trained = train_networks(
        recipe,
        dataset.X[rows],
        dataset.y[rows],
        [[seed, 10, k] for k in range(networks)],
        dataset.feature_names,
    )
    measured = [compare(network, dataset, order) for network in trained]
    first = measured[0]["outputs"]
    return {
        "mse": [m["mse"] for m in measured],
        "terms": measured[0]["polynomials"]["calibrated"].expand().term_names(),
        "coefficients": {
            method: [coefficients(m["polynomials"][method]) for m in measured]
            for method in METHODS
            if first[method] is not None
        },
        "predictions": {
            "response": dataset.y_test.tolist(),
            **{k: None if v is None else v.tolist() for k, v in first.items()},
        },
        "first": pack(trained[0]),
    }


def load(data: Mapping[str, Any]) -> DataSet:
    """Make the data set that plain data names.

    Examples
    --------
    >>> load({"name": "boston"}).X.shape
    (404, 13)
    """
    options = {key: value for key, value in data.items() if key != "name"}
    return boston_data() if data["name"] == "boston" else example_data(**options)


def pack(network: Network) -> list[Any]:
    """Write a network as plain pairs of activation and matrix, the bias in row 0.

    Examples
    --------
    >>> from nn2poly import Layer
    >>> pack(Network([Layer([[2.0]], [1.0])]))
    [['linear', [[1.0], [2.0]]]]
    """
    return [
        [layer.activation.name, np.vstack([layer.bias, layer.weights]).tolist()]
        for layer in network.layers
    ]


def unpack(pairs: Sequence[Any], feature_names: Iterable[str] | None = None) -> Network:
    """Read what `pack` wrote.

    Examples
    --------
    >>> unpack([["linear", [[1.0], [2.0]]]])
    Network(1 → 1 linear)
    """
    return read_network([tuple(pair) for pair in pairs]).named(feature_names)


def kind_name(kind: Kind) -> str:
    """Name a kind of network for a file.

    Examples
    --------
    >>> kind_name(("relu", False))
    'relu_unconstrained'
    """
    return f"{kind[0]}_{'constrained' if kind[1] else 'unconstrained'}"


def kind_row(kind: Kind) -> Row:
    """Begin a row of a table with the kind of network.

    Examples
    --------
    >>> kind_row(("relu", False))
    {'activation': 'relu', 'constrained': False}
    """
    return {"activation": kind[0], "constrained": kind[1]}


def medians(tables: Tables, name: str) -> dict[Kind, Row]:
    """Give the median of each error over the networks of a kind; None where there is none.

    Examples
    --------
    >>> row = {"activation": "tanh", "constrained": True, "network": 1, "mse_taylor": 0.1}
    >>> medians({"demo_mse": [row]}, "demo")
    {('tanh', True): {'mse_taylor': 0.1}}
    """
    rows = tables[f"{name}_mse"]
    kinds = dict.fromkeys((row["activation"], row["constrained"]) for row in rows)
    errors = [key for key in rows[0] if key.startswith("mse_")]
    return {
        kind: {
            error: _median([r[error] for r in rows if (r["activation"], r["constrained"]) == kind])
            for error in errors
        }
        for kind in kinds
    }


def ranked(tables: Tables, name: str, kind: Kind = KINDS[0], method: str = "taylor") -> list[Row]:
    """Give the ranked coefficients of a kind and method, the intercept aside.

    Examples
    --------
    >>> kind = {"activation": "tanh", "constrained": True, "method": "taylor"}
    >>> rows = [{**kind, "rank": 1, "term": "1"}, {**kind, "rank": 2, "term": "x1"}]
    >>> [row["term"] for row in ranked({"demo_coefficients": rows}, "demo")]
    ['x1']
    """
    return [
        row
        for row in tables[f"{name}_coefficients"]
        if (row["activation"], row["constrained"], row["method"]) == (*kind, method)
        and row["term"] != "1"
    ]


def draw_predictions(findings: Findings, kinds: Sequence[Kind]) -> Figure:
    """Draw (A) network against response, (B) Taylor and (C) calibrated polynomial against it."""
    data, order = findings.objects["data"], findings.objects["order"]
    axes = panels(None, 3 * len(kinds), columns=3, height=2.3)
    for row, kind in enumerate(kinds):
        network = unpack(findings.objects["results"][kind]["first"], data.feature_names)
        response, *others = axes[3 * row : 3 * row + 3]
        _draw_response(response, data.y_test, network.predict(data.X_test))
        response.set_ylabel(f"{'constrained' if kind[1] else 'unconstrained'}\nnetwork")
        polynomials = convert_both(network, order, data.X)
        for panel, method in zip(others, METHODS, strict=True):
            diagonal(network, polynomials[method], data.X_test, ax=panel)  # type: ignore[arg-type]
    titles = ("A. network against response", "B. Taylor polynomial", "C. calibrated polynomial")
    for panel, title in zip(axes[:3], titles, strict=True):
        panel.set_title(title, loc="left")
    return figure_of(axes)


def draw_coefficients(findings: Findings, n: int) -> Figure:
    """Draw mean and deviation of the n largest coefficients over the constrained networks."""
    data, order = findings.objects["data"], findings.objects["order"]
    values = findings.objects["results"][KINDS[0]]["coefficients"]
    axes = panels(None, 2, height=0.17 * n + 0.9)
    for panel, method in zip(axes, METHODS, strict=True):
        ensemble = [
            Polynomial(np.array(v)[:, None], order, data.feature_names) for v in values[method]
        ]
        importance(ensemble, n, intercept=True, ax=panel)
        panel.set_xlabel("mean absolute coefficient, inputs in [−1, 1]")
        panel.set_title("Taylor, as in the paper" if method == "taylor" else method, loc="left")
    return figure_of(axes)


def _draw_response(axes: Axes, response: Any, predicted: Any) -> None:
    ends = [min(response.min(), predicted.min()), max(response.max(), predicted.max())]
    margin = 0.05 * (ends[1] - ends[0])
    limits = (ends[0] - margin, ends[1] + margin)
    axes.plot(limits, limits, color=GREY, linestyle="--", linewidth=0.8)
    axes.scatter(response, predicted, s=8, color=BLUE, alpha=0.8, linewidths=0)
    note = f"MSE = {np.mean((response - predicted) ** 2):.2g}\n{len(response)} rows"
    axes.text(0.04, 0.97, note, transform=axes.transAxes, va="top", fontsize=SMALL_SIZE)
    axes.set_xlim(*limits)
    axes.set_ylim(*limits)
    axes.set_aspect("equal", adjustable="box")
    axes.set_xlabel("response")
    axes.locator_params(nbins=4)
    tidy(axes)


def _median(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _mse_rows(kind: Kind, found: Mapping[str, Any]) -> list[Row]:
    return [{**kind_row(kind), "network": k, **mse} for k, mse in enumerate(found["mse"], start=1)]


def _prediction_rows(kind: Kind, found: Mapping[str, Any]) -> list[Row]:
    """List the test rows of the first network."""
    columns = found["predictions"]
    return [
        {
            **kind_row(kind),
            "row": k + 1,
            **{name: None if values is None else values[k] for name, values in columns.items()},
        }
        for k in range(len(columns["response"]))
    ]


def _coefficient_rows(kind: Kind, found: Mapping[str, Any], top: int) -> list[Row]:
    return [
        {**kind_row(kind), "method": method, **row}
        for method, values in found["coefficients"].items()
        for row in average(found["terms"], values, top)
    ]
