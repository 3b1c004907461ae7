"""The public verbs: `convert` and `polynomial_network`; read, expand, refine, measure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any, Literal, TypedDict, TypeVar, Unpack, overload

import numpy as np
import numpy.typing as npt

from nn2poly.arguments import check_choice, check_count, check_order
from nn2poly.arrays import FloatArray
from nn2poly.assess.alike_rows import find_alike
from nn2poly.assess.fidelity import JudgingRows, beyond, make_card
from nn2poly.conversion.advice import with_advice
from nn2poly.conversion.crossfit import FEW_ROWS, OutOfFold, is_affordable
from nn2poly.conversion.expand import layer_shares
from nn2poly.conversion.expansions import check_taylor_orders, expand_local, expand_taylor
from nn2poly.conversion.fitted_curves import check_curves
from nn2poly.conversion.fitting import (
    Chosen,
    Task,
    choose_order,
    fit_formula,
    judged_rows,
    most_terms,
)
from nn2poly.conversion.folds import MIN_ROWS_TO_HOLD_OUT
from nn2poly.conversion.given_models import read_model
from nn2poly.conversion.identify import identify
from nn2poly.conversion.input_bounds import check_bounds
from nn2poly.conversion.polynomial_network import PolynomialNetwork
from nn2poly.conversion.problem import Problem, read_problem
from nn2poly.conversion.radius import warn_if_outside
from nn2poly.conversion.reading import named_network, renamed_data
from nn2poly.conversion.refine import fold_indicators, with_deviations
from nn2poly.conversion.splitting import check_regions
from nn2poly.conversion.transforms import check_transformable, check_transforms
from nn2poly.errors import InvalidInputError, NN2PolyWarning, warn_user
from nn2poly.formula.piecewise import Explicit, PiecewisePolynomial
from nn2poly.formula.polynomial import Polynomial
from nn2poly.inputs import (
    check_missing,
    check_row_labels,
    frame_columns,
    read_array,
    table_width,
)
from nn2poly.network.network import Network
from nn2poly.network.oracle import NEAREST, Model, Oracle, likely_link
from nn2poly.network.several import joined_data
from nn2poly.sampling import row_keys

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
    groups: npt.ArrayLike | None
    refit: bool
    target_r2: float
    binary: str | bool | Iterable[Any]
    bounded: bool | Mapping[str, tuple[float, float]]
    transforms: str | Mapping[str, str] | None
    missing: str
    progress: bool | Callable[[str], None]
    after: str | None
    output: str | int | None
    feature_names: Iterable[str] | None
    output_names: Iterable[str] | None
    link: str | None
    classes: Iterable[Any] | None
    threshold: float | None
    check: bool
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
    groups: npt.ArrayLike | None = None,
    refit: bool = True,
    target_r2: float = 0.99,
    binary: str | bool | Iterable[Any] = "auto",
    bounded: bool | Mapping[str, tuple[float, float]] = True,
    transforms: str | Mapping[str, str] | None = None,
    missing: str = "refuse",
    progress: bool | Callable[[str], None] = False,
    after: str | None = None,
    output: str | int | None = None,
    feature_names: Iterable[str] | None = None,
    output_names: Iterable[str] | None = None,
    link: str | None = None,
    classes: Iterable[Any] | None = None,
    threshold: float | None = None,
    check: bool = True,
    keep_layers: bool = False,
    out: str | FilePath | None = None,
) -> Polynomial | PiecewisePolynomial:
    """Turn a trained network, or any function, into an explicit formula.

    Parameters
    ----------
    model
        Anything that `read_network` reads; or any other function from rows to outputs, such as
        ``model.predict`` of a model that cannot be read. It is called on the rows of ``data`` and
        on others like them, in the form of ``data``, and the formula is fitted to its answers.
    max_order
        Highest total order Q of the terms, 2 by default; ``"auto"``, with data, for the
        smallest order that reaches ``target_r2`` on rows kept for choices, up to a few thousand
        terms, or else the best; with ``regions="auto"`` order, regions and a budget of terms are
        chosen together, as `frontier` tries them. With ``max_terms`` it is an upper limit: 20
        by default or with ``"auto"``, and no column has a power above 16.
    data
        A sample of inputs: array or data frame (n, p) in raw units, or batches of them (a
        list, a PyTorch loader or dataset, or a function that returns a new iterator). From a
        batch (X, y) the first part is used; a dictionary holds the table, and the weights of its
        rows under ``"sample_weight"``. For a model with several inputs: a tuple or a dictionary
        of their tables, batches of these, or one table if there is only one way to divide it.
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
    groups
        Array (n,): rows that belong together (patients, days), by number or name; they are never
        split between fitting, choosing and judging. Equal rows never are.
    refit
        Let a calibration refit each layer's weights, and at the end the terms themselves to
        the network's outputs, where that helps on rows that are left out.
    target_r2
        R² that ``max_order="auto"`` looks for, on rows that the card is not judged on.
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
        With data and bounds: ``"curve"`` lets every number enter through an increasing curve of
        its own, a small table of points that is fitted together with the formula. Or columns that
        enter as ``"curve"``, ``"log"``, ``"log1p"`` or ``"rank"`` (among the sample's quantiles),
        by name. The outputs alone are fitted then, not the layers.
    missing
        What becomes of rows with a missing value that no imputer of the model fills in:
        ``"refuse"`` raises an error that names them, ``"skip"`` leaves them out.
    progress
        True to show on standard error what a long conversion is doing; or a function that
        takes each line.
    after
        For a scikit-learn pipeline: convert what comes after the step of this name.
    output
        For a model with several outputs, the one to convert: its name or its number.
    feature_names, output_names
        Names, if the model and the data have none or you want others.
    link, classes
        For a classifier whose model gives logits, as those of PyTorch and Keras mostly do:
        ``"sigmoid"`` (one output for two classes, or one per label) or ``"softmax"``, and the
        classes in the order of the outputs. A function that gives probabilities is fitted
        before this link; a method ``predict_proba`` is so by itself. ``"identity"`` fits numbers as
        they are.
    threshold
        For a classifier of two classes: the probability from which the second is chosen; labels,
        card and report then use that threshold, and rows near it count most in the fit.
    check
        Compare the network that was read with the model itself, on up to 200 rows of ``data`` (or
        some around the origin), and refuse one that differs; a function is asked for some rows
        twice, in other batches.
    keep_layers
        Also keep every neuron's input and output polynomial, in ``.layers``.
    out
        Write the terms to disk while they are computed: a ``.npz`` file or, without an ending, a
        folder. The polynomial that is returned reads from there what it needs. Binary columns are
        not simplified: ``binary="auto"`` then means False.

    Returns
    -------
    Polynomial
        A `PiecewisePolynomial` where there are several regions.

    Examples
    --------
    >>> import nn2poly as n2p
    >>> net = n2p.Network([n2p.Layer([[0.5], [0.2]], [0.0], "tanh"), n2p.Layer([[1.0]], [3.0])])
    >>> n2p.convert(net, 1, feature_names=["age", "dose"])
    Polynomial(2 features, order 1, 3 terms, 1 output)
      y = 3 + 0.5 age + 0.2 dose
      coefficients per raw unit
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
    wanted, asked = check_regions(regions), check_transforms(transforms)
    budget = None if max_terms is None else check_count(max_terms, where="max_terms")
    target = _check_target(target_r2) if chosen == "calibrated" else target_r2
    task = Task(limit, chosen, refit, target, progress, wanted, budget, groups is not None)
    fits = {"max_terms": max_terms, "regions": wanted if wanted != 1 else None, "transforms": asked}
    for name in [name for name, value in fits.items() if value is not None]:
        _check_fitted(name, task, keep_layers=keep_layers, out=out)
    is_held, bounds = check_bounds(bounded)
    if bounds and task.method != "calibrated":
        raise _needs_data("Only a calibration holds columns at bounds.")
    check_transformable(asked, bounded=is_held, refit=task.refit)
    check_row_labels(data, sample_weight=sample_weight, groups=groups)
    data, parts = joined_data(model, data)
    found_model = read_model(
        model,
        data,
        after=after,
        link=link,
        classes=classes,
        check=check,
        output=output,
        parts=parts,
    )
    if isinstance(found_model, Oracle):
        _check_function(task, keep_layers=keep_layers, out=out)
    names = _tuple(feature_names)
    data = renamed_data(found_model, data, names)
    network = named_network(found_model, data, names, output_names)
    if threshold is not None:
        network = replace(network, outputs=network.outputs.declared(threshold=threshold))
    skip = check_missing(missing)
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
            groups=groups,
            bounded=held,
            bounds=bounds,
            transforms=asked,
            powers=task.trial_powers(network.n_features),
            hold_out_from=_hold_out_from(task, network),
            skip_missing=skip,
        )
        network = problem.network
    else:
        _check_no_rows(sample_weight, groups)
    if isinstance(network, Network) and (problem is None or task.method != "calibrated"):
        pnet = _expanded(task, network, taylor_order, taylor_center, around)
        poly = _written(pnet, problem, task, keep_layers=keep_layers, out=out)
        if problem is None or out is not None:
            return poly
        return with_deviations(identify(poly, problem), problem)
    if problem is None:
        raise _needs_data("A function is fitted to a sample.")
    check_curves(problem)
    looked = choose_order(task, problem)
    found = fit_formula(replace(task, order=looked.order), problem)
    measure = _Measure(task, problem, looked, judged_rows(task, problem, looked))
    formula, calibration = found.formula, found.calibration
    if out is not None and calibration is not None:
        pnet = measure.with_card(calibration.refined, calibration.calibrated)
        return pnet.expand(out=out, progress=progress, keep_layers=keep_layers)
    if calibration is not None and (keep_layers or formula is None):
        written = _written(calibration.refined, problem, task, keep_layers=keep_layers)
        formula = identify(written, problem)
    if formula is None:
        raise AssertionError("nothing was fitted")
    if link is None:
        _warn_beyond(formula, problem)
    return measure.whole(formula, None if calibration is None else calibration.calibrated)


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
    groups: npt.ArrayLike | None = None,
    refit: bool = True,
    target_r2: float = 0.99,
    binary: str | bool | Iterable[Any] = "auto",
    bounded: bool | Mapping[str, tuple[float, float]] = True,
    progress: bool | Callable[[str], None] = False,
    after: str | None = None,
    output: str | int | None = None,
    feature_names: Iterable[str] | None = None,
    output_names: Iterable[str] | None = None,
    check: bool = True,
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
    chosen = _choose(method, data, around)
    target = _check_target(target_r2) if chosen == "calibrated" else target_r2
    task = Task(
        _check_order(max_order), chosen, refit, target, progress, grouped=groups is not None
    )
    check_row_labels(data, sample_weight=sample_weight, groups=groups)
    data, parts = joined_data(model, data)
    found_model = read_model(model, data, after=after, check=check, output=output, parts=parts)
    if isinstance(found_model, Oracle):
        raise InvalidInputError(
            "A function has no layers, so there is no polynomial in factored form.",
            where="model",
            expected="a model that read_network reads",
            found=type(model).__name__,
            remedy="use convert(function, max_order, data=X)",
        )
    names = _tuple(feature_names)
    data = renamed_data(found_model, data, names)
    network = named_network(found_model, data, names, output_names)
    problem = None
    if task.method == "calibrated":
        task.report("reading the sample")
        held, bounds = check_bounds(bounded)
        problem = read_problem(
            network,
            data,
            sample_weight,
            binary,
            groups=groups,
            bounded=held,
            bounds=bounds,
            powers=task.trial_powers(network.n_features),
            hold_out_from=_hold_out_from(task, network),
        )
    else:
        _check_no_rows(sample_weight, groups)
    if problem is None:
        return _expanded(task, network, taylor_order, taylor_center, around)
    looked = choose_order(task, problem)
    found = fit_formula(replace(task, order=looked.order), problem).calibration
    if found is None:
        raise AssertionError("nothing was calibrated")
    measure = _Measure(task, problem, looked, judged_rows(task, problem, looked))
    return measure.with_card(found.refined, found.refined)


def _hold_out_from(task: Task, network: Model) -> int:
    """Give the rows from which on some are kept for the card: fewer are cross-fitted."""
    if is_affordable(network, most_terms(task, network.n_features)):
        return FEW_ROWS
    return MIN_ROWS_TO_HOLD_OUT


def _expanded(
    task: Task,
    network: Network,
    taylor_order: int | Sequence[int],
    taylor_center: float,
    around: npt.ArrayLike | None,
) -> PolynomialNetwork:
    """Replace the activations by Taylor series, at one centre or around a point."""
    if not task.order:
        raise _needs_data('max_order="auto" looks for an order on held-out rows.')
    if task.method == "local":
        point = network.inputs.curved(_point(around, network))
        network = network.recentered(point, network.scale)
        expansions = expand_local(network, task.order)
        return PolynomialNetwork(network, expansions, task.order, task.method)
    orders = check_taylor_orders(taylor_order, network)
    center = _center(taylor_center)
    expansions = expand_taylor(network, task.order, orders, center)
    warn_if_outside(network, center)
    return PolynomialNetwork(network, expansions, task.order, task.method)


def _written(
    pnet: PolynomialNetwork,
    problem: Problem | None,
    task: Task,
    *,
    keep_layers: bool,
    out: str | FilePath | None = None,
) -> Polynomial:
    """Write the terms out; with data in memory, in 0/1 indicators."""
    poly = pnet.expand(out=out, progress=task.progress, keep_layers=keep_layers)
    return poly if problem is None or out is not None else fold_indicators(poly, problem)


_Fitted = TypeVar("_Fitted", Polynomial, PiecewisePolynomial, PolynomialNetwork)


@dataclass(frozen=True)
class _Measure:
    """Measures the fidelity: on the held-out rows, or on all by formulas that did not see them."""

    task: Task
    problem: Problem
    order: Chosen
    out_of_fold: OutOfFold | None

    def with_card(self, fitted: _Fitted, pnet: PolynomialNetwork | None) -> _Fitted:
        """Give a formula its card; ``pnet`` tells where the error enters."""
        problem, task = self.problem, self.task
        task.report("measuring the fidelity")
        found, summary = self.out_of_fold, problem.summary
        rows = _judging_rows(problem) if found is None else _all_rows(found)
        card = make_card(
            problem.network,
            fitted,
            rows.X,
            rows=rows,
            by_order=None if found is None else found.by_order,
            n_folds=0 if found is None else found.n_folds,
            held_out=problem.sample.held_out > 0 or found is not None,
            outside=beyond(rows.X, summary.low, summary.high) if found is None else found.outside,
            per_layer=() if pnet is None else layer_shares(problem, pnet),
            path=self.order.path,
            target_r2=None if task.order or not self.order.path else task.target_r2,
            outputs=problem.fit_truth,
            alike=None if task.grouped else find_alike(_in_order(problem), problem.inputs),
        )
        return replace(fitted, card=card)

    def whole(
        self, formula: Explicit, pnet: PolynomialNetwork | None
    ) -> Polynomial | PiecewisePolynomial:
        """Give a written formula its card, and what else is told of it."""
        if isinstance(formula, PiecewisePolynomial):
            return self.with_card(formula, pnet)
        measured = with_deviations(self.with_card(formula, pnet), self.problem)
        # Where regions were wanted, none helped: there is nothing closer to look for. A formula
        # that was judged by folds has seen all rows: none are left to judge others on.
        if self.task.regions != 1 or self.out_of_fold is not None:
            return measured
        return with_advice(measured, self.problem)


def _in_order(problem: Problem) -> FloatArray:
    """Give the rows of the sample, or an even choice of them, in the order of their table."""
    rows, summary = problem.fit_rows, problem.summary
    if not problem.sample.held_out:
        return rows.X
    index = np.concatenate([rows.index, summary.held_out_numbers])
    return np.concatenate([rows.X, summary.held_out])[np.argsort(index, kind="stable")]


def _judging_rows(problem: Problem) -> JudgingRows:
    summary = problem.summary
    keys = row_keys(summary.held_out_units[:, None])
    return JudgingRows(summary.held_out, summary.held_out_weights, keys, summary.held_out_numbers)


def _all_rows(found: OutOfFold) -> JudgingRows:
    rows = found.rows
    return JudgingRows(rows.X, rows.weights, row_keys(rows.number[:, None]), rows.index)


def _warn_beyond(formula: Explicit, problem: Problem) -> None:
    """Warn where a function stays within 0 … 1 on the rows to fit, and its formula does not."""
    network, truth = problem.network, problem.fit_truth
    if not isinstance(network, Oracle) or network.link != "identity":
        return
    likely = likely_link(truth)
    if likely is None:
        return
    guess = formula.raw_outputs(problem.fit_rows.X)
    low, high = float(guess.min()), float(guess.max())
    if low < -NEAREST or high > 1.0 + NEAREST:
        warn_user(
            f"All outputs of the function lie within 0 … 1; the formula gives {low:.3g} to "
            f"{high:.3g} on the same rows. If they are probabilities, link={likely!r} fits them "
            'before the link and predict_proba stays within 0 … 1; link="identity" says that they '
            "are plain numbers.",
            NN2PolyWarning,
        )


def _check_function(task: Task, *, keep_layers: bool, out: str | FilePath | None) -> None:
    """Refuse what only layers can give."""
    found = {
        f"method={task.method!r}": task.method != "calibrated",
        "refit=False": not task.refit,
        "keep_layers=True": keep_layers,
        f"out={str(out)!r}": out is not None,
    }
    for option in [option for option, given in found.items() if given]:
        raise InvalidInputError(
            "A function has no layers: its outputs are fitted, on data, in memory.",
            where=option.partition("=")[0],
            found=option,
            remedy=f"leave {option.partition('=')[0]} out"
            + ("; save the formula afterwards" if option.startswith("out") else ""),
        )


def _check_fitted(name: str, task: Task, *, keep_layers: bool, out: str | FilePath | None) -> None:
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


def _tuple(names: Iterable[str] | None) -> Iterable[str] | None:
    """Keep names that may be an iterator, which is read more than once; one text is no list."""
    return names if names is None or isinstance(names, str) else tuple(names)


def _check_target(target_r2: float) -> float:
    if isinstance(target_r2, int | float | np.integer | np.floating) and 0 < target_r2 <= 1:
        return float(target_r2)
    raise InvalidInputError(
        "target_r2 must be a number between 0 and 1.", where="target_r2", found=repr(target_r2)
    )


def _check_order(max_order: int | str) -> int:
    """Give the order, or 0 for one to be looked for."""
    if table_width(max_order) is not None:
        raise InvalidInputError(
            "The data stand in the place of the order.",
            where="max_order",
            expected='an integer, or "auto"',
            found=type(max_order).__name__,
            remedy="pass them by their name: convert(model, 2, data=X)",
        )
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


def _check_no_rows(sample_weight: npt.ArrayLike | None, groups: npt.ArrayLike | None) -> None:
    if sample_weight is not None:
        raise _needs_data("Only a calibration can use sample weights.")
    if groups is not None:
        raise _needs_data("Only a calibration can use groups of rows.")


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
