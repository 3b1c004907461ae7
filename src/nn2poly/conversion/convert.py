"""The public verbs: `convert` and `polynomial_network`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.arguments import check_choice, check_order
from nn2poly.assess.fidelity import make_card
from nn2poly.cards import FidelityCard
from nn2poly.conversion.binary import find_binary, fold_binary, given_binary
from nn2poly.conversion.calibrated_network import calibrated_network
from nn2poly.conversion.correction import correct
from nn2poly.conversion.expansions import check_taylor_orders, expand_local, expand_taylor
from nn2poly.conversion.folds import Sample
from nn2poly.conversion.polynomial_network import PolynomialNetwork
from nn2poly.conversion.progress import progress_reporter
from nn2poly.conversion.radius import warn_if_outside
from nn2poly.conversion.reading import read_sample, sample_columns
from nn2poly.conversion.summary import summarise
from nn2poly.errors import InvalidInputError
from nn2poly.formula.polynomial import Polynomial
from nn2poly.inputs import frame_columns, read_array
from nn2poly.network.network import Network
from nn2poly.network.readers import read_network

# A Taylor centre beyond this is a mistake, and its powers would overflow.
MAX_CENTER = 1e6
METHODS = ("auto", "calibrated", "taylor", "local")


def convert(
    model: Any,
    max_order: int | str = 2,
    *,
    data: Any = None,
    method: str = "auto",
    taylor_order: int | Sequence[int] = 8,
    taylor_center: float = 0.0,
    around: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    refit: bool = True,
    target_r2: float = 0.99,
    binary: str | bool | Iterable[Any] = "auto",
    progress: bool | Callable[[str], None] = False,
    after: str | None = None,
    feature_names: Iterable[str] | None = None,
    output_names: Iterable[str] | None = None,
    keep_layers: bool = False,
    out: str | Path | None = None,
) -> Polynomial:
    """Turn a trained network into an explicit polynomial.

    Parameters
    ----------
    model
        Anything that `read_network` reads.
    max_order
        Highest total order Q of the terms; ``"auto"``, with data, for the smallest order that
        reaches ``target_r2`` on held-out rows.
    data
        A sample of inputs: array or data frame (n, p) in raw units, or batches of them (a
        list, or a function that returns a new iterator); a batch may be a pair (X, weights).
    method
        ``"calibrated"``: fit every activation to what it does on the data;
        ``"taylor"``: Taylor series of every activation at ``taylor_center`` (the paper);
        ``"local"``: exact Taylor polynomial of the network at ``around``;
        ``"auto"``: local with ``around``, calibrated with ``data``, else taylor.
    taylor_order
        Order q of the series, one for all layers or one per layer, output included.
    taylor_center
        Centre of the series in terms of the potential.
    around
        Array (p,): the point x0 of a local polynomial, in raw units.
    sample_weight
        Array (n,): weights of the rows of ``data``.
    refit
        Let a calibration refit each layer's weights, and at the end what is left of the
        network's outputs: with up to 2,000 rows by a quadratic, with many rows for each of up
        to 2,000 terms on the terms; where that helps on rows that are left out.
    target_r2
        Held-out R² that ``max_order="auto"`` looks for.
    binary
        With data: features with two values are written as 0/1 indicators u, for which u² = u,
        and products of two levels of one factor (one-hot columns) vanish, which makes the
        polynomial smaller without changing what it predicts. ``"auto"`` finds them; False
        leaves all as it is; or a list of features, or of lists (the levels of a factor).
    progress
        True to show on standard error what a long conversion is doing; or a function that
        takes each line.
    after
        Of a scikit-learn pipeline: convert what comes after the step of this name.
    feature_names, output_names
        Names, when the model and the data bring none or others are wanted.
    keep_layers
        Also keep every neuron's input and output polynomial, in ``.layers``.
    out
        Write the terms to disk while they are computed: a ``.npz`` file or, without an ending, a
        folder. The polynomial that is returned reads from there what it needs. It is not folded:
        ``binary="auto"`` means False then.

    Returns
    -------
    Polynomial

    Examples
    --------
    >>> import nn2poly as n2p
    >>> net = n2p.Network([n2p.Layer([[0.5], [0.2]], [0.0], "tanh"), n2p.Layer([[1.0]], [3.0])])
    >>> n2p.convert(net, 1, feature_names=["age", "dose"])
    Polynomial(2 features, order 1, 3 terms, 1 output; coefficients per raw unit)
      y = 3 + 0.5 age + 0.2 dose
    """
    if out is not None and not (binary is False or binary == "auto"):
        raise InvalidInputError(
            "A polynomial that is written to disk is not folded.",
            where="binary",
            expected='False or "auto" with out=',
            found=repr(binary),
        )
    _check_order(max_order)
    _choose(method, data, around)
    network = _named(read_network(model, after=after), data, feature_names, output_names)
    pnet = polynomial_network(
        network,
        max_order,
        data=data,
        method=method,
        taylor_order=taylor_order,
        taylor_center=taylor_center,
        around=around,
        sample_weight=sample_weight,
        refit=refit,
        target_r2=target_r2,
        progress=progress,
    )
    poly = pnet.expand(out=out, progress=progress, keep_layers=keep_layers)
    if data is None or out is not None:
        return poly
    sample = read_sample(data, network, sample_weight)
    if binary == "auto":
        poly = fold_binary(poly, find_binary(sample))
    elif binary is not False:
        poly = fold_binary(poly, given_binary(binary, sample, poly.feature_names))
    if refit and pnet.card is not None and not keep_layers:
        progress_reporter(progress)("refitting the terms")
        return _mended(poly, network, sample, pnet.card)
    return poly


def _mended(poly: Polynomial, network: Network, sample: Sample, card: FidelityCard) -> Polynomial:
    """Refit the terms, where that helps, and measure the fidelity again."""
    summary = summarise(sample)
    mended = correct(poly, network, sample, summary)
    if mended is poly:
        return poly
    new = make_card(
        network,
        mended,
        summary.held_out,
        held_out=sample.hold_out,
        per_layer=card.per_layer,
        path=card.path,
        target_r2=card.target_r2,
        row_numbers=summary.held_out_numbers,
    )
    return replace(mended, card=new)


def polynomial_network(
    model: Any,
    max_order: int | str = 2,
    *,
    data: Any = None,
    method: str = "auto",
    taylor_order: int | Sequence[int] = 8,
    taylor_center: float = 0.0,
    around: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    refit: bool = True,
    target_r2: float = 0.99,
    progress: bool | Callable[[str], None] = False,
    after: str | None = None,
    feature_names: Iterable[str] | None = None,
    output_names: Iterable[str] | None = None,
) -> PolynomialNetwork:
    """Turn a trained network into its polynomial in factored form; see `convert`.

    Returns
    -------
    PolynomialNetwork
        It predicts and gives any coefficient without writing the terms out.

    Examples
    --------
    >>> import nn2poly as n2p
    >>> net = n2p.Network([n2p.Layer(np.eye(3), None, "sin"), n2p.Layer(np.ones((3, 1)))])
    >>> n2p.polynomial_network(net, 3).coefficient((2,))
    1.0
    """
    order = _check_order(max_order)
    chosen = _choose(method, data, around)
    network = _named(read_network(model, after=after), data, feature_names, output_names)
    if chosen == "calibrated":
        return calibrated_network(
            network,
            order or None,
            read_sample(data, network, sample_weight),
            refit=refit,
            target_r2=target_r2,
            report=progress_reporter(progress),
        )
    if not order:
        raise _needs_data('max_order="auto" looks for an order on held-out rows.')
    if sample_weight is not None:
        raise _needs_data("Only a calibration can use sample weights.")
    if chosen == "local":
        network = network.recentered(_point(around, network), network.scale)
        return PolynomialNetwork(network, expand_local(network, order), order, chosen)
    orders = check_taylor_orders(taylor_order, network)
    center = _center(taylor_center)
    expansions = expand_taylor(network, order, orders, center)
    warn_if_outside(network, center)
    return PolynomialNetwork(network, expansions, order, chosen)


def _check_order(max_order: int | str) -> int:
    """Give the order, or 0 for one to be looked for."""
    return 0 if isinstance(max_order, str) and max_order == "auto" else check_order(max_order)


def _choose(method: str, data: Any, around: npt.ArrayLike | None) -> str:
    chosen = check_choice(method, METHODS, name="method")
    if chosen == "auto":
        sampled = "taylor" if data is None else "calibrated"
        chosen = sampled if around is None else "local"
    if (chosen == "local") != (around is not None):
        raise InvalidInputError(
            "A local polynomial and a point go together.",
            expected='method="local" with around=x0',
            found=f"method={method!r} with around={'a point' if around is not None else None}",
        )
    if chosen == "calibrated" and data is None:
        raise _needs_data("A calibration needs a sample of inputs.")
    return chosen


def _needs_data(what: str) -> InvalidInputError:
    return InvalidInputError(
        what,
        where="data",
        expected='an array or data frame (n, p), with method "calibrated" or "auto"',
        remedy="pass data=X, for example the training inputs",
    )


def _named(
    network: Network,
    data: Any,
    feature_names: Iterable[str] | None,
    output_names: Iterable[str] | None,
) -> Network:
    """Give the network its names: the user's, else the model's, else the data frame's."""
    if feature_names is None and network.feature_names is None and data is not None:
        feature_names = sample_columns(data)
    return network.named(feature_names, output_names)


def _point(around: npt.ArrayLike | None, network: Network) -> npt.NDArray[np.float64]:
    point = network.check_data(_as_row(around), where="around")
    if len(point) != 1:
        raise InvalidInputError(
            "around must be one point.", expected="1 row", found=f"{len(point)} rows"
        )
    first: npt.NDArray[np.float64] = point[0]
    return first


def _as_row(around: Any) -> Any:
    """Make one row of a point: a list, a vector, a labelled pandas Series, or a frame."""
    if frame_columns(around) is not None:
        return around
    if hasattr(type(around), "iloc"):
        return around.to_frame().T.infer_objects()
    values = read_array(around, "around")
    return values.reshape(1, -1) if values.ndim < 2 else values


def _center(taylor_center: float) -> float:
    is_real = isinstance(taylor_center, int | float | np.integer | np.floating)
    if isinstance(taylor_center, bool) or not is_real or not abs(taylor_center) < MAX_CENTER:
        raise InvalidInputError("taylor_center must be a finite number.", found=repr(taylor_center))
    return float(taylor_center)
