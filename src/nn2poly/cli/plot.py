"""``nn2poly plot``: one figure of a polynomial, as PNG, PDF or SVG."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import nn2poly as n2p
from nn2poly.arguments import check_choice, listed
from nn2poly.cli.command import Answer, command
from nn2poly.cli.console import progress
from nn2poly.cli.models import load_network
from nn2poly.cli.options import (
    Force,
    KeyFile,
    OutputName,
    PolyArgument,
    SomeData,
    SomeModel,
    TableOptions,
    Trust,
)
from nn2poly.cli.polynomials import load_inputs, load_polynomial
from nn2poly.cli.targets import check_target
from nn2poly.errors import InvalidInputError
from nn2poly.files import replacing
from nn2poly.fit.sparsity import sparse_path
from nn2poly.formula.polynomial import Polynomial
from nn2poly.network.network import Network

FIGURES = (".png", ".pdf", ".svg")
# Dots per inch of a bitmap: sharp in print at one column's width.
DPI = 300


@dataclass(frozen=True)
class Request:
    """What a figure may be drawn from; what was not given is None."""

    poly: Any
    model: Network | None
    X: Any
    features: tuple[str, ...]
    row: int
    options: dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """A figure: what it needs, and how it is drawn."""

    draw: Callable[[Request], Any]
    needs: tuple[str, ...] = ()
    n_features: int = 0


def _row(request: Request) -> Any:
    if not 1 <= request.row <= len(request.X):
        raise InvalidInputError(
            "There is no such row.",
            where="--row",
            expected=f"1 to {len(request.X)}",
            found=str(request.row),
        )
    return request.X.iloc[[request.row - 1]]


def _without(options: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in options.items() if key not in names}


def _path(request: Request) -> Any:
    if not isinstance(request.poly, Polynomial):
        raise InvalidInputError(
            "Terms join one by one in a polynomial of one region.",
            where="plot path",
            expected="one region",
            found=f"{request.poly.n_regions} regions",
            remedy="convert with --max-terms N for few terms in each region",
        )
    most = {"max_terms": request.options["n"]} if "n" in request.options else {}
    return n2p.plots.path(sparse_path(request.model, request.poly, request.X, **most))


KINDS = {
    "importance": Kind(lambda r: n2p.plots.importance(r.poly, X=r.X, **r.options)),
    "heatmap": Kind(lambda r: n2p.plots.heatmap(r.poly, X=r.X, **r.options)),
    "interaction-network": Kind(
        lambda r: n2p.plots.interaction_network(r.poly, X=r.X, **r.options)
    ),
    "effects": Kind(
        lambda r: n2p.plots.effects(r.poly, list(r.features), X=r.X, **_without(r.options, "n")),
        n_features=1,
    ),
    "interaction-surface": Kind(
        lambda r: n2p.plots.interaction_surface(
            r.poly, *r.features[:2], X=r.X, **_without(r.options, "n")
        ),
        n_features=2,
    ),
    "waterfall": Kind(lambda r: n2p.plots.waterfall(r.poly, _row(r), **r.options), ("data",)),
    "beeswarm": Kind(lambda r: n2p.plots.beeswarm(r.poly, r.X, **r.options), ("data",)),
    "diagonal": Kind(
        lambda r: n2p.plots.diagonal(r.model, r.poly, r.X, **_without(r.options, "n")),
        ("model", "data"),
    ),
    "potentials": Kind(
        lambda r: n2p.plots.potentials(r.model, r.X, max_order=max(1, r.poly.max_order)),
        ("model", "data"),
    ),
    "path": Kind(_path, ("model", "data")),
}


@command(
    ("the largest terms", "nn2poly plot importance poly.json -o importance.pdf"),
    (
        "network against polynomial",
        "nn2poly plot diagonal poly.json --model model.onnx --data test.csv",
    ),
    (
        "the effect of a feature, with the density of its data",
        "nn2poly plot effects poly.json --feature age --data test.csv -o age.svg",
    ),
    (
        "two features together",
        "nn2poly plot interaction-surface poly.json --feature age --feature dose",
    ),
    ("why row 3 gets its prediction", "nn2poly plot waterfall poly.json --data test.csv --row 3"),
)
def plot(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="importance, heatmap, interaction-network, effects, interaction-surface, "
            "waterfall, beeswarm, diagonal, potentials or path.",
        ),
    ],
    poly: PolyArgument,
    table: TableOptions,
    data: SomeData = None,
    model: SomeModel = None,
    feature: Annotated[
        list[str] | None,
        typer.Option("--feature", metavar="NAME", help="Feature to draw; may be repeated."),
    ] = None,
    row: Annotated[
        int, typer.Option("--row", metavar="ROW", help="Row of a waterfall, counted from 1.")
    ] = 1,
    n: Annotated[
        int | None,
        typer.Option("-n", "--terms", metavar="N", min=1, help="How many terms or features."),
    ] = None,
    output_name: OutputName = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help=".png, .pdf or .svg; default: KIND.png."
        ),
    ] = None,
    trust: Trust = False,
    key_file: KeyFile = None,
    force: Force = False,
) -> Answer:
    """Draw a polynomial: importance, effects, interactions, single predictions, fidelity.

    With --data the inputs are standardised by these rows, and densities are shown.
    """
    name = check_choice(kind.lower().replace("_", "-"), tuple(KINDS), name="kind of plot")
    features = tuple(feature or ())
    _check_given(name, {"data": data, "model": model}, features)
    target = output or Path(f"{name}.png")
    check_target(target, FIGURES, force=force)
    with progress(5) as step:
        step("reading the polynomial")
        polynomial = load_polynomial(poly, key_file)
        step("reading the model")
        network = None if model is None else load_network(model, trust=trust)
        step("reading the data")
        X = None if data is None else load_inputs(data, table, polynomial, network)[0]
        options = {"n": n, "output": output_name}
        given = {key: value for key, value in options.items() if value is not None}
        step("drawing")
        drawn = KINDS[name].draw(Request(polynomial, network, X, features, row, given))
        with replacing(target) as path:
            save_figure(drawn, path)
    return Answer({"kind": name, "figure": str(target)}, (f"Wrote {target}.",))


def save_figure(drawn: Any, path: Path) -> None:
    """Write the figure of some Axes; the ending of the path is the format."""
    axes = drawn.flat[0] if hasattr(drawn, "flat") else drawn
    axes.figure.savefig(path, dpi=DPI)


def _check_given(name: str, files: dict[str, Any], features: tuple[str, ...]) -> None:
    needed = KINDS[name]
    missing = [f"--{option} FILE" for option in needed.needs if files[option] is None]
    if len(features) < needed.n_features:
        missing += ["--feature NAME"] * (needed.n_features - len(features))
    if missing:
        raise InvalidInputError(
            f"The plot {name!r} needs more to go on.",
            where=f"plot {name}",
            expected=listed(missing, str),
            remedy=f"nn2poly plot {name} poly.json {' '.join(missing)}",
        )
