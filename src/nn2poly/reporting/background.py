"""Where a report comes from, and where it ends: provenance and limits."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from nn2poly.arguments import plural
from nn2poly.cards import FidelityCard
from nn2poly.formula.piecewise import Explicit
from nn2poly.network.network import Network
from nn2poly.reporting.failures import Measured
from nn2poly.score_texts import r2_text


def provenance(
    poly: Explicit, model: Any, measured: Measured, facts: str
) -> tuple[tuple[str, str], ...]:
    """List when and with what the report was made: pairs of a name and a text."""
    rows = measured.rows
    given = f"{plural(rows.n_given, 'row')}, {plural(len(poly.inputs.columns), 'input')}"
    wide = poly.n_features > len(poly.inputs.columns)
    given += f" ({poly.n_features:,} features: factors written out)" if wide else ""
    left = rows.n_given - len(rows.X)
    given += f", {left:,} of the rows left out for a missing value" if left else ""
    coefficients = (region.polynomial.coefficients for region in poly.regions)
    found = [
        ("Date", today()),
        ("Made with", _versions(model)),
        ("Model", _model_text(model)),
        ("Architecture", _architecture(measured)),
        ("Formula", facts),
        ("Fingerprint of the formula", _fingerprint(*coefficients)),
        ("Data of this report", given),
        ("Fingerprint of these rows", _fingerprint(rows.X)),
    ]
    return tuple((name, text) for name, text in found if text)


def today() -> str:
    """Give the date; ``SOURCE_DATE_EPOCH`` sets it, so that a file can be made again.

    Examples
    --------
    >>> len(today())
    10
    """
    seconds = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(seconds), UTC) if seconds.isdigit() else datetime.now(UTC)
    return now.date().isoformat()


def _versions(model: Any) -> str:
    known = [("nn2poly", version("nn2poly")), ("Python", platform.python_version())]
    known.append(("NumPy", np.__version__))
    root = type(model).__module__.partition(".")[0]
    # A package is called as it is installed: sklearn is scikit-learn.
    for name in ({"sklearn": "scikit-learn"}.get(root, root),):
        try:
            known += [(name, version(name))] if name != "nn2poly" and root in sys.modules else []
        except PackageNotFoundError:
            continue
    return ", ".join(f"{name} {number}" for name, number in known)


def _model_text(model: Any) -> str:
    if model is None:
        return "none was given: the page tells of the formula alone"
    steps = [type(step).__name__ for _, step in getattr(model, "steps", ())]
    inner = f" of {', '.join(steps)}" if steps else ""
    return f"{type(model).__module__.partition('.')[0]} {type(model).__name__}{inner}"


def _architecture(measured: Measured) -> str:
    network = measured.network
    if not isinstance(network, Network):
        return ""
    widths = [f"{layer.n_outputs} {layer.activation.name}" for layer in network.layers]
    count = sum(layer.weights.size + layer.bias.size for layer in network.layers)
    return f"{network.n_features} inputs → {' → '.join(widths)}; {count:,} weights"


def _fingerprint(*arrays: Any) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return f"SHA-256 {digest.hexdigest()[:16]}…"


def limits(poly: Explicit, card: FidelityCard | None, has_network: bool) -> tuple[str, ...]:
    """Say what the page does not show, and where it must not be trusted."""
    found = [
        "The formula stands for the network, not for the world: where the network is wrong, so is "
        "the formula. What an input moves is what the network has learnt, not what would happen "
        "if somebody changed it.",
        "It was compared with the network on rows as they are. Far from all rows, also where every "
        "input is within its range, nothing was compared: the what-if panel says so.",
    ]
    if not has_network:
        found.append("No network was given: nothing on this page was measured on these rows.")
    if card is not None and card.r2_mixed is not None:
        found.append(
            "Effects, importance and interactions average over rows with shuffled columns, "
            f"combinations that may not exist among them; there R² is {r2_text(card.r2_mixed)}."
        )
    if len(poly.regions) > 1:
        found.append(
            "At the border of two regions the formula jumps; the network, as a rule, does not."
        )
    if poly.inputs.are_bounded:
        found.append(
            "Beyond their bounds (see Data) inputs are held: a larger value changes nothing there."
        )
    if poly.outputs.is_classifier:
        found.append(
            "A change that flips a decision is of one input alone, others held, or of two where "
            "one is not enough. It holds for the formula; whether it can be made is for the reader "
            "to judge."
        )
    found.append(
        "Rows with a missing value that nothing fills in are left out. Intervals and the promise "
        "hold for new rows from the same source; they say nothing of another one."
    )
    return tuple(found)
