"""What several commands do with a polynomial, its network and a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nn2poly.arguments import listed, plural
from nn2poly.cli.command import note
from nn2poly.cli.inputcolumns import choose_inputs
from nn2poly.cli.models import check_file, load_network
from nn2poly.cli.options import TableOptions
from nn2poly.cli.tablefiles import read_table, take_groups
from nn2poly.errors import InvalidInputError
from nn2poly.files import open_regular
from nn2poly.formula import display, piecewise_display
from nn2poly.formula.importance import ranking
from nn2poly.formula.legend import unit_text
from nn2poly.formula.loading import load
from nn2poly.formula.piecewise import Explicit
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.protocol import Region
from nn2poly.formula.signatures import SHORTEST_KEY, check_key
from nn2poly.inputs import level_text
from nn2poly.network.network import Network
from nn2poly.score_texts import r2_text
from nn2poly.tables import Table

if TYPE_CHECKING:
    import pandas as pd


# Bytes of a key at most (taste).
LONGEST_KEY = 4096


@dataclass(frozen=True)
class Case:
    """A formula with the network it came from and rows to look at both.

    Parameters
    ----------
    poly, network
        The pair.
    X
        DataFrame (n, p) of inputs.
    target
        Series (n,) of what the network should predict; None when it was not named.
    groups
        Series (n,) of what the rows belong to; None when it was not named.
    """

    poly: Explicit
    network: Network
    X: pd.DataFrame
    target: pd.Series | None
    groups: pd.Series | None = None


def load_polynomial(path: Path, key_file: Path | None = None) -> Explicit:
    """Read a saved polynomial, of one region or of several; with a key, a signed one.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Polynomial([[1.0], [2.0]], 1, ["rm"]).save(Path(folder) / "poly.json")
    ...     load_polynomial(path).n_terms
    2
    """
    check_file(path)
    return load(path, key=read_key(key_file))


def read_key(path: Path | None) -> bytes | None:
    """Read the key of signatures: all bytes of a file."""
    if path is None:
        return None
    check_file(path)
    with open_regular(path) as file:
        # Keys are short: what is longer is another file, given by mistake.
        data = file.read(LONGEST_KEY + 1)
    if len(data) > LONGEST_KEY:
        raise InvalidInputError(
            "This file is too long to be a key.",
            where=f"--key-file {path}",
            expected=f"{SHORTEST_KEY} to {LONGEST_KEY:,} bytes",
            found="more",
        )
    return check_key(data)


def load_case(
    poly: Path,
    model: Path,
    data: str,
    table: TableOptions,
    *,
    trust: bool,
    key_file: Path | None = None,
    step: Callable[[str], None],
    groups: str | None = None,
) -> Case:
    """Read a polynomial, its network and a table, announcing each step."""
    step("reading the polynomial")
    polynomial = load_polynomial(poly, key_file)
    step("reading the model")
    network = load_network(model, trust=trust)
    step("reading the data")
    frame, target = read_table(data, table)
    frame, together = take_groups(frame, data, groups, polynomial.inputs)
    X = _chosen(frame, data, table, polynomial, network)
    of_rows = (None if each is None else each.loc[X.index] for each in (target, together))
    return Case(polynomial, network, X, *of_rows)


def load_inputs(
    data: str, table: TableOptions, poly: Explicit, network: Network | None = None
) -> tuple[pd.DataFrame, pd.Series | None]:
    """Read the columns of a polynomial's features, and the target of the same rows."""
    frame, target = read_table(data, table)
    X = _chosen(frame, data, table, poly, network)
    return X, None if target is None else target.loc[X.index]


def _chosen(
    frame: pd.DataFrame, data: str, table: TableOptions, poly: Explicit, network: Network | None
) -> pd.DataFrame:
    others = () if network is None else (network.inputs,)
    return choose_inputs(frame, data, poly.inputs, *others, skip_missing=table.skip_missing)


def target_scores(
    network: Network, poly: Explicit, X: Any, target: pd.Series | None
) -> dict[str, Any] | None:
    """Score network and polynomial against the target: accuracy, or R².

    Returns
    -------
    ``{"measure", "network", "polynomial"}``; None without a target that fits one output.
    """
    if target is None:
        return None
    if target.isna().any():
        known = target.notna()
        note(f"{plural(int((~known).sum()), 'row')} without a target: not counted in the score.")
        X, target = X[known.to_numpy()], target[known]
    if not len(target):
        return None
    rows = poly.inputs.read(X)
    guesses = [np.asarray(network.predict(X)).reshape(len(rows), -1), poly.raw_outputs(rows)]
    if poly.outputs.is_classifier:
        chosen = [poly.outputs.labels(raw) for raw in guesses]
        truth = np.array([level_text(value) for value in target.tolist()])
        if chosen[0].ndim != 1:
            return None
        names = [level_text(name) for name in poly.classes or range(max(2, poly.n_outputs))]
        if not set(truth) <= set(names):
            note(_other_labels(names, sorted(set(truth))))
            return None
        shares = [float(np.mean(_texts(guess) == truth)) for guess in chosen]
        return {"measure": "accuracy", "network": shares[0], "polynomial": shares[1]}
    if guesses[0].shape[1] != 1 or target.dtype.kind not in "biuf":
        return None
    guesses = [poly.outputs.predictions(raw) for raw in guesses]
    truth = target.to_numpy(dtype=float)
    spread = float(np.sum((truth - truth.mean()) ** 2))
    if not spread:
        return None
    r2 = [1 - float(np.sum((truth - raw[:, 0]) ** 2)) / spread for raw in guesses]
    return {"measure": "R2", "network": r2[0], "polynomial": r2[1]}


def _other_labels(names: list[str], found: list[str]) -> str:
    """Say that no accuracy can be told, and what would tell it."""
    text = f"The target holds {listed(found[:5])}; the model calls its classes {listed(names)}"
    if len(found) == len(names):
        said = f"If these are the same, in this order: --classes {','.join(found)}"
        return f"{text}: no accuracy is reported. {said}"
    return f"{text}: no accuracy is reported."


def known_labels(poly: Explicit, target: pd.Series | None) -> pd.Series | None:
    """Give the target where it holds classes of a classifier, for its card."""
    several = poly.link == "sigmoid" and poly.n_outputs > 1
    if target is None or not poly.outputs.is_classifier or several:
        return None
    classes = {level_text(c) for c in poly.classes or range(max(2, poly.n_outputs))}
    return target if {level_text(value) for value in target.tolist()} <= classes else None


def scores_text(scores: dict[str, Any] | None, name: str | None) -> tuple[str, ...]:
    """Put the scores into a line, or into none.

    Examples
    --------
    >>> scores_text({"measure": "R2", "network": 0.5, "polynomial": 0.49}, "price")
    ("Against 'price': R2 0.5 for the network, 0.49 for the polynomial.",)
    """
    if scores is None:
        return ()
    network, poly = scores["network"], scores["polynomial"]
    line = f"{scores['measure']} {network:.4g} for the network, {poly:.4g} for the polynomial"
    return (f"Against {name!r}: {line}.",)


def describe(poly: Explicit) -> dict[str, Any]:
    """Give the facts about a polynomial as plain data.

    Examples
    --------
    >>> describe(Polynomial([[1.0], [2.0]], 1, ["rm"]))["n_terms"]
    2
    """
    return {
        "order": poly.max_order,
        "n_terms": poly.n_terms,
        "regions": [_region(region) for region in poly.regions],
        "features": list(poly.feature_names),
        "outputs": list(poly.output_names),
        "classes": None if poly.classes is None else list(poly.classes),
        "link": poly.link,
        "threshold": poly.outputs.threshold,
        "bounds": poly.inputs.bounds(),
    }


def _region(region: Region) -> dict[str, Any]:
    return {
        "rule": region.rule,
        "n_rows": region.n_rows,
        "share": region.share,
        "n_terms": region.polynomial.n_terms,
        "r2": region.r2,
    }


def facts(poly: Explicit) -> str:
    """Count features, regions, order, terms and outputs in one line.

    Examples
    --------
    >>> facts(Polynomial([[1.0], [2.0]], 1, ["rm"]))
    '1 feature, order 1, 2 terms, 1 output'
    """
    if isinstance(poly, Polynomial):
        return display.facts(poly)
    return piecewise_display.facts(poly)


def rules(poly: Explicit) -> tuple[str, ...]:
    """List the regions, a line for each, where there are several.

    A table would cut long rules.
    """
    if isinstance(poly, Polynomial):
        return ()
    return ("\n".join(["Regions:", *map(_rule_line, poly.regions)]),)


def _rule_line(region: Region) -> str:
    share = [] if region.share is None else [f"{100 * region.share:.3g} % of rows"]
    close = [] if region.r2 is None else [f"R2 {r2_text(region.r2)}"]
    known = ", ".join([*share, plural(region.polynomial.n_terms, "term"), *close])
    return f"  {region.number}: {region.rule} ({known})"


def top_terms(poly: Explicit, n: int, output: str | None = None) -> Table:
    """List the terms (of each region) that matter most, with a note on measure and units.

    Examples
    --------
    >>> top_terms(Polynomial([[0.0], [1.0]], 1, ["t"], center=20.0, scale=5.0), 1)
    1 largest of 2 terms
    term  order  coefficient
    ----  -----  -----------
    t         1        1.000
    ranked by absolute coefficient; coefficients per standardised unit; show --raw gives raw units
    t stands for (t - 20) / 5
    """
    table = poly.top(n, output)
    is_scaled = bool(np.any(poly.scale != 1.0))
    scaled = "per standardised unit; show --raw gives raw units"
    measure = ranking(poly.regions[0].polynomial).measure
    first = f"ranked by {measure}; coefficients {scaled if is_scaled else unit_text(poly.inputs)}"
    _, _, names = table.note.partition("\n")
    note = f"{first}\n{names}" if names else first
    return replace(table, note=note)


def _texts(values: Any) -> Any:
    return np.array([level_text(value) for value in values.tolist()])
