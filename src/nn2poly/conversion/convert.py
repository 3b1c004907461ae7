"""The public verbs: `convert` and `polynomial_network`; read, expand, refine, measure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path as FilePath
from typing import Any, Literal, TypedDict, TypeVar, Unpack, overload

import numpy as np
import numpy.typing as npt

from nn2poly.arguments import check_choice, check_count, check_order
from nn2poly.assess.fidelity import make_card
from nn2poly.conversion.advice import with_advice
from nn2poly.conversion.expand import calibrate_network, layer_shares
from nn2poly.conversion.expansions import check_taylor_orders, expand_local, expand_taylor
from nn2poly.conversion.identify import identify
from nn2poly.conversion.input_bounds import check_bounds
from nn2poly.conversion.option_search import (
    BUDGETS,
    REGIONS,
    Point,
    can_choose,
    orders_within,
    search_options,
    smallest_close,
)
from nn2poly.conversion.order_search import Candidate, Path, best_order
from nn2poly.conversion.polynomial_network import PolynomialNetwork
from nn2poly.conversion.problem import Problem, read_problem
from nn2poly.conversion.progress import progress_reporter
from nn2poly.conversion.radius import warn_if_outside
from nn2poly.conversion.reading import named_network, renamed_data
from nn2poly.conversion.refine import MAX_WRITTEN, fold_indicators, refine, with_deviations
from nn2poly.conversion.refit import fit_terms
from nn2poly.conversion.sparse_terms import MAX_ORDER, sparse_polynomial
from nn2poly.conversion.splitting import check_regions, split_regions
from nn2poly.conversion.transforms import check_transforms
from nn2poly.errors import InvalidInputError
from nn2poly.formula.piecewise import PiecewisePolynomial
from nn2poly.formula.polynomial import Polynomial
from nn2poly.inputs import frame_columns, read_array
from nn2poly.network.network import Network
from nn2poly.network.readers import read_network

# A Taylor centre beyond this is a mistake, and its powers would overflow.
MAX_CENTER = 1e6
METHODS = ("auto", "calibrated", "taylor", "local")


class Options(TypedDict, total=False):
    """The options of `convert`, for those who check types."""

    data: Any
    method: str
    max_terms: int | None
    taylor_order: int | Sequence[int]
    taylor_center: float
    around: npt.ArrayLike | None
    sample_weight: npt.ArrayLike | None
    refit: bool
    target_r2: float
    binary: str | bool | Iterable[Any]
    bounded: bool | Mapping[str, tuple[float, float]]
    transforms: str | Mapping[str, str] | None
    progress: bool | Callable[[str], None]
    after: str | None
    feature_names: Iterable[str] | None
    output_names: Iterable[str] | None
    keep_layers: bool
    out: str | FilePath | None


@overload
def convert(
    model: Any,
    max_order: int | str | None = None,
    *,
    regions: Literal[1] = 1,
    **options: Unpack[Options],
) -> Polynomial: ...


@overload
def convert(
    model: Any,
    max_order: int | str | None = None,
    *,
    regions: int | str,
    **options: Unpack[Options],
) -> Polynomial | PiecewisePolynomial: ...


def convert(
    model: Any,
    max_order: int | str | None = None,
    *,
    data: Any = None,
    method: str = "auto",
    regions: int | str = 1,
    max_terms: int | None = None,
    taylor_order: int | Sequence[int] = 8,
    taylor_center: float = 0.0,
    around: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    refit: bool = True,
    target_r2: float = 0.99,
    binary: str | bool | Iterable[Any] = "auto",
    bounded: bool | Mapping[str, tuple[float, float]] = True,
    transforms: str | Mapping[str, str] | None = None,
    progress: bool | Callable[[str], None] = False,
    after: str | None = None,
    feature_names: Iterable[str] | None = None,
    output_names: Iterable[str] | None = None,
    keep_layers: bool = False,
    out: str | FilePath | None = None,
) -> Polynomial | PiecewisePolynomial:
    """Turn a trained network into an explicit formula.

    Parameters
    ----------
    model
        Anything that `read_network` reads.
    max_order
        Highest total order Q of the terms, 2 if nothing is said; ``"auto"``, with data, for the
        smallest order that reaches ``target_r2`` on held-out rows, of up to some thousand terms,
        or the best of them; with ``regions="auto"`` order, regions and a budget of terms are
        chosen together, as `frontier` tries them. With ``max_terms`` an upper limit: 20 if
        nothing or ``"auto"`` is said, and no column has a power above 16.
    data
        A sample of inputs: array or data frame (n, p) in raw units, or batches of them (a
        list, or a function that returns a new iterator); a batch may be a pair (X, weights).
    method
        ``"calibrated"``: fit every activation to what it does on the data;
        ``"taylor"``: Taylor series of every activation at ``taylor_center`` (the paper);
        ``"local"``: exact Taylor polynomial of the network at ``around``;
        ``"auto"``: local with ``around``, calibrated with ``data``, else taylor.
    regions
        With data: how many regions there may be, each with a polynomial of its own: a small tree
        over the columns, split where that helps on rows left out, so there may be fewer.
        ``"auto"``: as few as reach ``target_r2`` on these rows, at most 16.
    max_terms
        With data: a budget of terms (per region) instead of an order. Terms are grown where they
        explain what is left of the network's outputs, high powers of some columns and
        interactions of up to four, each with all its divisors; fewer where more do not help on
        rows left out. The outputs alone are fitted, not the layers.
    taylor_order
        Order q of the series, one for all layers or one per layer, output included.
    taylor_center
        Centre of the series in terms of the potential.
    around
        Array (p,): the point x0 of a local polynomial, in raw units.
    sample_weight
        Array (n,): weights of the rows of ``data``.
    refit
        Let a calibration refit each layer's weights, and at the end the terms themselves to
        the network's outputs, where that helps on rows that are left out.
    target_r2
        Held-out R² that ``max_order="auto"`` looks for.
    binary
        With data: features with two values are written as 0/1 indicators u, for which u² = u,
        and products of two levels of one factor (one-hot columns) vanish, which makes the
        polynomial smaller without changing what it predicts. ``"auto"`` finds them; False
        leaves all as it is; or a list of features, or of lists (the levels of a factor).
    bounded
        With data and a calibration: numbers are held at the edges of the sample, at quantiles
        where its tails are heavy, so that the formula stays what it is there whatever comes.
        False gives the plain polynomial everywhere; a dictionary the bounds of some columns,
        ``{"age": (18, 90)}``.
    transforms
        With data and bounds: columns that enter as ``"log"``, ``"log1p"`` or ``"rank"`` (among
        the sample's quantiles), by name; or ``"auto"`` to choose for each column what helps on
        rows left out. The outputs alone are fitted then, not the layers.
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
        A `PiecewisePolynomial` where there are several regions.

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
    order = 2 if max_order is None and max_terms is None else max_order
    chosen = _choose(method, data, around)
    limit = _check_order("auto" if order is None else order)
    task = _Task(limit, chosen, refit, target_r2, progress)
    wanted, asked = check_regions(regions), check_transforms(transforms)
    fits = {"max_terms": max_terms, "regions": wanted if wanted != 1 else None, "transforms": asked}
    for name in [name for name, value in fits.items() if value is not None]:
        _check_fitted(name, task, keep_layers=keep_layers, out=out)
    budget = None if max_terms is None else check_count(max_terms, where="max_terms")
    is_held, bounds = check_bounds(bounded)
    if bounds and task.method != "calibrated":
        raise _needs_data("Only a calibration holds columns at bounds.")
    if asked is not None:
        _check_transformable(task, bounded=is_held)
    network, names = read_network(model, after=after), _tuple(feature_names)
    data = renamed_data(network, data, names)
    network = named_network(network, data, names, output_names)
    problem = None
    if data is not None:
        task.report("reading the sample")
        folded = binary if out is None else False
        held = is_held and task.method == "calibrated"
        problem = read_problem(
            network,
            data,
            sample_weight,
            folded,
            bounded=held,
            bounds=bounds,
            transforms=asked,
        )
        network = problem.network
    elif sample_weight is not None:
        raise _needs_data("Only a calibration can use sample weights.")
    if problem is None or task.method != "calibrated":
        pnet = _expanded(task, network, taylor_order, taylor_center, around)
        poly = _written(pnet, problem, task, keep_layers=keep_layers, out=out)
        if problem is None or out is not None:
            return poly
        return with_deviations(identify(poly, problem), problem)
    both_open = not task.order and wanted == "auto" and budget is None
    if both_open and task.refit and can_choose(problem):
        point = _best_option(task, problem)
        task, budget, wanted = replace(task, order=point.order), point.max_terms, point.regions
    if budget is not None:
        sparse = _sparse(problem, budget, task)
        return _measured(sparse, problem, task, wanted, within_budget=True)
    if asked is not None and problem.is_transformed:
        poly, path = _transformed(task, problem)
        return _measured(poly, problem, task, wanted, path)
    found, path = _calibrated(task, problem)
    if out is not None:
        pnet = _with_card(found.refined, problem, task, path, found.calibrated)
        return pnet.expand(out=out, progress=progress, keep_layers=keep_layers)
    formula = found.formula
    if keep_layers or formula is None:
        formula = _written(found.refined, problem, task, keep_layers=keep_layers)
    return _measured(formula, problem, task, wanted, path, found.calibrated)


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
    binary: str | bool | Iterable[Any] = "auto",
    bounded: bool | Mapping[str, tuple[float, float]] = True,
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
    task = _Task(_check_order(max_order), _choose(method, data, around), refit, target_r2, progress)
    network, names = read_network(model, after=after), _tuple(feature_names)
    data = renamed_data(network, data, names)
    network = named_network(network, data, names, output_names)
    problem = None
    if task.method == "calibrated":
        task.report("reading the sample")
        held, bounds = check_bounds(bounded)
        problem = read_problem(network, data, sample_weight, binary, bounded=held, bounds=bounds)
    elif sample_weight is not None:
        raise _needs_data("Only a calibration can use sample weights.")
    if problem is None:
        return _expanded(task, network, taylor_order, taylor_center, around)
    found, path = _calibrated(task, problem)
    return _with_card(found.refined, problem, task, path)


@dataclass(frozen=True)
class _Task:
    """What is wanted, checked: the order (0 for one to be looked for), the method, the options."""

    order: int
    method: str
    refit: bool
    target_r2: float
    progress: bool | Callable[[str], None]

    def report(self, text: str) -> None:
        """Say what a long conversion is doing."""
        progress_reporter(self.progress)(text)


def _expanded(
    task: _Task,
    network: Network,
    taylor_order: int | Sequence[int],
    taylor_center: float,
    around: npt.ArrayLike | None,
) -> PolynomialNetwork:
    """Replace the activations by Taylor series, at one centre or around a point."""
    if not task.order:
        raise _needs_data('max_order="auto" looks for an order on held-out rows.')
    if task.method == "local":
        network = network.recentered(_point(around, network), network.scale)
        expansions = expand_local(network, task.order)
        return PolynomialNetwork(network, expansions, task.order, task.method)
    orders = check_taylor_orders(taylor_order, network)
    center = _center(taylor_center)
    expansions = expand_taylor(network, task.order, orders, center)
    warn_if_outside(network, center)
    return PolynomialNetwork(network, expansions, task.order, task.method)


def _calibrated(task: _Task, problem: Problem) -> tuple[Candidate, Path]:
    """Calibrate and refine, at the order that is wanted or at one to be looked for."""
    target = _check_target(task.target_r2)

    def fit(order: int) -> Candidate:
        pnet = calibrate_network(problem, order, refit=task.refit, report=task.report)
        if not task.refit or pnet.n_terms > MAX_WRITTEN:
            return Candidate(pnet, pnet, None)
        task.report("refitting the terms")
        return Candidate(pnet, *refine(pnet, problem))

    return (fit(task.order), ()) if task.order else best_order(fit, problem, target)


def _written(
    pnet: PolynomialNetwork,
    problem: Problem | None,
    task: _Task,
    *,
    keep_layers: bool,
    out: str | FilePath | None = None,
) -> Polynomial:
    """Write the terms out; with data in memory, in 0/1 indicators."""
    poly = pnet.expand(out=out, progress=task.progress, keep_layers=keep_layers)
    return poly if problem is None or out is not None else fold_indicators(poly, problem)


_Fitted = TypeVar("_Fitted", Polynomial, PiecewisePolynomial, PolynomialNetwork)


def _with_card(
    fitted: _Fitted,
    problem: Problem | None,
    task: _Task,
    path: Path,
    pnet: PolynomialNetwork | None = None,
) -> _Fitted:
    """Measure the fidelity of a calibration on the held-out rows."""
    if problem is None or task.method != "calibrated":
        return fitted
    task.report("measuring the fidelity")
    layers = pnet if isinstance(pnet, PolynomialNetwork) else fitted
    card = make_card(
        problem.network,
        fitted,
        problem.summary.held_out,
        held_out=problem.sample.hold_out,
        per_layer=layer_shares(problem, layers) if isinstance(layers, PolynomialNetwork) else (),
        path=path,
        target_r2=None if task.order else task.target_r2,
        row_numbers=problem.summary.held_out_numbers,
    )
    return replace(fitted, card=card)


def _measured(
    poly: Polynomial,
    problem: Problem,
    task: _Task,
    regions: int | str,
    path: Path = (),
    pnet: PolynomialNetwork | None = None,
    *,
    within_budget: bool = False,
) -> Polynomial | PiecewisePolynomial:
    """Split into regions where they are wanted, and measure the fidelity."""
    unique = partial(identify, problem=problem, grow=not within_budget)
    if regions != 1:
        task.report("looking for regions")
        pieces = split_regions(poly, problem, regions, task.target_r2, unique)
        if isinstance(pieces, PiecewisePolynomial):
            return _with_card(pieces, problem, task, path, pnet)
    measured = with_deviations(_with_card(unique(poly), problem, task, path, pnet), problem)
    # Where regions were wanted, none helped: there is nothing closer to look for.
    return with_advice(measured, problem) if regions == 1 else measured


def _best_option(task: _Task, problem: Problem) -> Point:
    """Choose order, regions and budget of terms together, on rows kept for choices."""
    target, orders = _check_target(task.target_r2), orders_within(problem.network.n_features)
    return smallest_close(search_options(problem, orders, REGIONS, BUDGETS, task.report), target)


def _sparse(problem: Problem, max_terms: int, task: _Task) -> Polynomial:
    """Fit a budget of terms to the outputs."""
    task.report("choosing the terms")
    return sparse_polynomial(problem, max_terms, task.order or MAX_ORDER)


def _transformed(task: _Task, problem: Problem) -> tuple[Polynomial, Path]:
    """Fit the terms of transformed columns, of the order that is wanted or of one looked for."""
    target = _check_target(task.target_r2)

    def fit(order: int) -> Polynomial:
        task.report(f"fitting order {order}")
        return fit_terms(problem, order)

    return (fit(task.order), ()) if task.order else best_order(fit, problem, target)


def _check_transformable(task: _Task, *, bounded: bool) -> None:
    """Refuse transforms without bounds, or without a fit."""
    if bounded and task.refit:
        return
    found = "refit=False" if bounded else "bounded=False"
    raise InvalidInputError(
        "With transforms the outputs are fitted, within bounds.",
        where="transforms",
        expected="neither bounded=False nor refit=False beside them",
        found=found,
        remedy=f"leave {found.partition('=')[0]} out, or transforms",
    )


def _check_fitted(name: str, task: _Task, *, keep_layers: bool, out: str | FilePath | None) -> None:
    """Refuse what is fitted to a sample without one, or beside what it cannot be used with."""
    if task.method != "calibrated":
        raise _needs_data(f"{name}= goes by what a sample shows.")
    if keep_layers or out is not None:
        raise InvalidInputError(
            f"With {name} the outputs alone are fitted, in memory.",
            where=name,
            expected="neither keep_layers nor out beside it",
            found="keep_layers=True" if keep_layers else f"out={str(out)!r}",
            remedy=f"leave {name} out, or save the formula afterwards",
        )


def _tuple(names: Iterable[str] | None) -> tuple[str, ...] | None:
    """Keep names that may be an iterator, which is read more than once."""
    return None if names is None else tuple(names)


def _check_target(target_r2: float) -> float:
    if isinstance(target_r2, int | float | np.integer | np.floating) and 0 < target_r2 <= 1:
        return float(target_r2)
    raise InvalidInputError(
        "target_r2 must be a number between 0 and 1.", where="target_r2", found=repr(target_r2)
    )


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
