"""The public verbs: `convert` and `polynomial_network`; read, expand, refine, measure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, Unpack, overload

import numpy as np
import numpy.typing as npt

from nn2poly.arrays import FloatArray
from nn2poly.assess.alike_rows import find_alike
from nn2poly.assess.fidelity import JudgingRows, beyond, make_card
from nn2poly.errors import InvalidInputError, NN2PolyWarning, warn_user
from nn2poly.factored.calibrated import layer_shares
from nn2poly.factored.expansions import (
    check_taylor_orders,
    expand_local,
    expand_taylor,
    warn_if_outside,
)
from nn2poly.factored.polynomial_network import PolynomialNetwork
from nn2poly.fit.advice import with_advice
from nn2poly.fit.crossfit import FEW_ROWS, OutOfFold, is_affordable
from nn2poly.fit.fitted_curves import check_curves
from nn2poly.fit.fitting import (
    Chosen,
    Task,
    choose_order,
    fit_formula,
    judged_rows,
    most_terms,
)
from nn2poly.fit.given_models import read_model
from nn2poly.fit.identify import identify
from nn2poly.fit.options import Given, Layered, Options, needs_data, takes
from nn2poly.fit.problem import Problem, read_problem
from nn2poly.fit.refine import with_deviations
from nn2poly.fit.refit import fold_indicators
from nn2poly.formula.piecewise import Explicit, PiecewisePolynomial
from nn2poly.formula.polynomial import Polynomial
from nn2poly.inputs import (
    check_row_labels,
    frame_columns,
    read_array,
)
from nn2poly.network.network import Network
from nn2poly.network.oracle import NEAREST, Model, Oracle, likely_link
from nn2poly.network.several import joined_data
from nn2poly.rows.folds import MIN_ROWS_TO_HOLD_OUT
from nn2poly.rows.reading import named_network, renamed_data
from nn2poly.sampling import row_keys


@overload
def convert(
    model: Any,
    max_order: int | str | None = None,
    *,
    regions: Literal[1] = 1,
    **options: Unpack[Given],
) -> Polynomial: ...


@overload
def convert(
    model: Any,
    max_order: int | str | None = None,
    *,
    regions: int | str,
    **options: Unpack[Given],
) -> Explicit: ...


@takes(Given, "max_order", "regions")
def convert(model: Any, max_order: int | str | None = None, **options: Any) -> Explicit:
    """Turn a trained network, or any function, into an explicit formula.

    Parameters
    ----------
    model
        Anything that `read_network` reads; or any other function from rows to outputs, such as
        ``model.predict`` of a model that cannot be read. It is called on the rows of ``data`` and
        on others like them, in the form of ``data``, and the formula is fitted to its answers.
    **options
        Those of `Options`.

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
    return converted(model, Options.of(convert, options, max_order=max_order))


def converted(model: Any, options: Options) -> Explicit:
    """Convert a model as options say that were checked."""
    network, options = read_asked(model, options)
    if isinstance(network, Oracle):
        options.check_of_function()
    problem = None
    if options.data is not None:
        options.task.report("reading the sample")
        problem = read_rows(network, options, cards=True)
        network = problem.network
    if problem is not None and options.way == "calibrated":
        return _fitted(problem, options)
    if not isinstance(network, Network):
        raise AssertionError("a function is fitted to a sample")
    poly = _written(_expanded(network, options), problem, options)
    if problem is None or options.out is not None:
        return poly
    return with_deviations(identify(poly, problem), problem)


@takes(Layered, "max_order")
def polynomial_network(
    model: Any, max_order: int | str | None = None, **options: Unpack[Layered]
) -> PolynomialNetwork:
    """Turn a trained network into its polynomial in factored form; see `convert`.

    Parameters
    ----------
    model
        Anything that `read_network` reads.
    **options
        Those of `Options`.

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
    asked = Options.of(polynomial_network, options, max_order=max_order)
    network, asked = read_asked(model, asked)
    if not isinstance(network, Network):
        raise InvalidInputError(
            "A function has no layers, so there is no polynomial in factored form.",
            where="model",
            expected="a model that read_network reads",
            found=type(model).__name__,
            remedy="use convert(function, max_order, data=X)",
        )
    task = replace(asked.task, layered=True)
    if task.method != "calibrated":
        return _expanded(network, asked)
    task.report("reading the sample")
    problem = read_rows(network, asked, cards=True)
    looked = choose_order(task, problem)
    task, problem = _settled(task, problem, looked.order)
    found = fit_formula(task, problem).calibration
    if found is None:
        raise AssertionError("nothing was calibrated")
    measure = _Measure(task, problem, looked, judged_rows(task, problem, looked))
    return measure.with_card(found.refined, found.refined)


def read_asked(model: Any, options: Options) -> tuple[Model, Options]:
    """Read a model and name what it takes and gives.

    Returns
    -------
    The model, and the options with the data as the model takes them
    """
    asked, data = options, options.data
    check_row_labels(data, sample_weight=asked.sample_weight, groups=asked.groups)
    data, parts = joined_data(model, data)
    found = read_model(
        model,
        data,
        after=asked.after,
        link=asked.link,
        classes=asked.classes,
        check=asked.check,
        output=asked.output,
        parts=parts,
    )
    data = renamed_data(found, data, asked.feature_names)
    network = named_network(found, data, asked.feature_names, asked.output_names)
    if asked.threshold is not None:
        network = replace(network, outputs=network.outputs.declared(threshold=asked.threshold))
    return network, replace(options, data=data)


def read_rows(network: Model, options: Options, *, cards: bool = False) -> Problem:
    """Read the sample.

    Parameters
    ----------
    cards
        Whether one formula is fitted to it, and gets a card: it decides which rows are kept.
    """
    more: dict[str, Any] = {}
    if cards:
        more["hold_out_from"] = _hold_out_from(options.task, network)
    return read_problem(
        network,
        options.data,
        options.sample_weight,
        options.binary if options.out is None else False,
        groups=options.groups,
        bounded=options.is_bounded and options.way == "calibrated",
        bounds=options.bounds,
        transforms=options.functions,
        skip_missing=options.skips_missing,
        **more,
    )


def _fitted(problem: Problem, options: Options) -> Explicit:
    """Fit the formula to the sample, and give it its card."""
    task = options.task
    check_curves(problem)
    looked = choose_order(task, problem)
    task, problem = _settled(task, problem, looked.order)
    found = fit_formula(task, problem)
    measure = _Measure(task, problem, looked, judged_rows(task, problem, looked))
    formula, calibration = found.formula, found.calibration
    if options.out is not None and calibration is not None:
        return _written(
            measure.with_card(calibration.refined, calibration.calibrated), None, options
        )
    if calibration is not None and (options.keep_layers or formula is None):
        formula = identify(_written(calibration.refined, problem, options), problem)
    if formula is None:
        raise AssertionError("nothing was fitted")
    if options.link is None:
        _warn_beyond(formula, problem)
    return measure.whole(formula, None if calibration is None else calibration.calibrated)


def _settled(task: Task, problem: Problem, order: int) -> tuple[Task, Problem]:
    """Settle on an order, with the bounds that go with it."""
    task = replace(task, order=order)
    return task, problem.of_order(task.trial_order)


def _hold_out_from(task: Task, network: Model) -> int:
    """Give the rows from which on some are kept for the card: fewer are cross-fitted."""
    if is_affordable(network, most_terms(task, network.n_features)):
        return FEW_ROWS
    return MIN_ROWS_TO_HOLD_OUT


def _expanded(network: Network, options: Options) -> PolynomialNetwork:
    """Replace the activations by Taylor series, at one centre or around a point."""
    order, method = options.task.order, options.way
    if not order:
        raise needs_data('max_order="auto" looks for an order on held-out rows.')
    if method == "local":
        point = network.inputs.curved(_point(options.around, network))
        network = network.recentered(point, network.scale)
        return PolynomialNetwork(network, expand_local(network, order), order, method)
    orders = check_taylor_orders(options.taylor_order, network)
    expansions = expand_taylor(network, order, orders, options.center)
    warn_if_outside(network, options.center)
    return PolynomialNetwork(network, expansions, order, method)


def _written(pnet: PolynomialNetwork, problem: Problem | None, options: Options) -> Polynomial:
    """Write the terms out; with data in memory, in 0/1 indicators."""
    poly = pnet.expand(out=options.out, progress=options.progress, keep_layers=options.keep_layers)
    return poly if problem is None or options.out is not None else fold_indicators(poly, problem)


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
            per_layer=() if pnet is None else layer_shares(problem.working, summary.held_out, pnet),
            path=self.order.path,
            target_r2=task.target_r2 if self.order.path else None,
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
