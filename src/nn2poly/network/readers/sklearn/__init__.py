"""Read scikit-learn's multilayer perceptrons, alone or at the end of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from nn2poly.arguments import listed, nearest
from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError, UnsupportedModelError
from nn2poly.network.builder import NetworkBuilder
from nn2poly.network.network import Network
from nn2poly.network.readers import read_network
from nn2poly.network.readers.refusals import BY_HAND, as_function
from nn2poly.network.readers.sklearn.after import names_after, usual_place
from nn2poly.network.readers.sklearn.averages import (
    AVERAGED_BEHIND,
    AVERAGES,
    behind_link,
    read_average,
    read_members,
    replay_all,
)
from nn2poly.network.readers.sklearn.deciding import calibration_of, threshold_of
from nn2poly.network.readers.sklearn.folding import (
    RawColumns,
    Step,
    flatten,
    fold_pipeline,
)
from nn2poly.network.readers.sklearn.mlp import PERCEPTRONS, read_perceptron
from nn2poly.network.readers.sklearn.targets import inverses, undone
from nn2poly.network.readers.sklearn.transformers import (
    check_fitted,
    is_passthrough,
    sklearn_kind,
)

WRAPPERS = (
    "BaseSearchCV",
    "CalibratedClassifierCV",
    "FixedThresholdClassifier",
    "FrozenEstimator",
    "Pipeline",
    "TransformedTargetRegressor",
    "TunedThresholdClassifierCV",
)


@dataclass(frozen=True)
class Chain:
    """A model taken apart: steps, then the network, then what brings its outputs back.

    Parameters
    ----------
    steps
        The transformers of the inputs, one by one.
    name, model
        The estimator at the end, and its name in the pipeline if there is one.
    targets
        Fitted transformers of the target, in the order in which their inverses apply.
    threshold, calibration
        How a classifier around the network chooses between two classes, and how it corrects
        probabilities; see `nn2poly.outputs`.
    """

    steps: tuple[Step, ...]
    name: str
    model: Any
    targets: tuple[Any, ...] = ()
    threshold: float | None = None
    calibration: tuple[float, float] | None = None


def read(model: Any, after: str | None = None) -> Network:
    """Read a fitted multilayer perceptron, or a pipeline or search around one.

    Affine steps fold into the first layer and an affine target transformer into the last, so
    that the network takes raw columns and gives raw outputs; the logarithm, root or inverse of a
    target is its link. An encoded column (one-hot,
    ordinal, target) becomes a factor with a feature ``column=level`` per level, the dropped one
    included; levels that the encoder groups are one, and so are those that it does not know,
    where it does not refuse them. Columns without names are called ``x1``, ``x2``, … there. A
    classifier's raw outputs are its logits; probabilities come through the link.

    Parameters
    ----------
    model
        ``MLPRegressor``, ``MLPClassifier``, ``Pipeline``, ``TransformedTargetRegressor``,
        ``GridSearchCV`` and its like, ``FixedThresholdClassifier``,
        ``TunedThresholdClassifierCV``, ``CalibratedClassifierCV`` of one sigmoid,
        ``BaggingRegressor`` and ``VotingRegressor`` of networks, nested at will.
    after
        Name of a step of the pipeline (``outer__inner`` in a nested one): read only what
        comes after it. The inputs are then the columns that it gives.

    Raises
    ------
    UnsupportedModelError
        When a part is not fitted, not affine or not a network; the message names it.
    InvalidInputError
        When ``after`` is not the name of a step.
    """
    chain = _take_apart(model)
    begin = 0 if after is None else _place_after(chain, after)
    if sklearn_kind(chain.model, PERCEPTRONS):
        network = read_perceptron(chain.model, chain.name)
    elif sklearn_kind(chain.model, AVERAGES):
        network = read_average(chain.model, read_network)
    elif sklearn_kind(chain.model, AVERAGED_BEHIND):
        raise behind_link(chain.model)
    elif chain.model is model or is_passthrough(chain.model):
        raise _refusal(chain)
    else:
        network = _read_inner(chain)
    if chain.threshold is not None or chain.calibration is not None:
        decided = replace(network.outputs, threshold=chain.threshold, calibration=chain.calibration)
        network = replace(network, outputs=decided)
    if not (chain.steps or chain.targets):
        return network
    left = chain.steps[begin:]
    count, names = _columns_of([step.model for step in left] + [chain.model], network)
    if after is not None:
        names = names_after(chain.steps[:begin], count)
    return _compose(left, RawColumns(count, names), network, chain.targets)


def place_after(model: Any, after: str) -> tuple[FloatArray, FloatArray] | None:
    """Give where the columns after a step usually lie: centres and spreads; None if unknown."""
    chain = _take_apart(model)
    begin = _place_after(chain, after)
    return usual_place(chain.steps[:begin], chain.steps[begin:])


def members(model: Any) -> list[Network] | None:
    """Read the networks of an average one by one; None of any other model."""
    chain = _take_apart(model)
    if chain.targets or not sklearn_kind(chain.model, AVERAGES):
        return None
    networks = read_members(chain.model, read_network)
    if not chain.steps:
        return networks
    count, names = _columns_of([step.model for step in chain.steps], networks[0])
    return [_compose(chain.steps, RawColumns(count, names), net, ()) for net in networks]


def _compose(
    steps: Sequence[Step], raw: RawColumns, network: Network, targets: Sequence[Any]
) -> Network:
    folded = fold_pipeline(steps, raw)
    inputs = folded.inputs
    builder = NetworkBuilder(inputs.n_features, inputs.center, inputs.scale)
    value = builder.input().linear(folded.weights, folded.bias)
    (value,) = replay_all(builder, [network], [value])
    value, link = undone(value, targets)
    outputs = network.outputs if link == "identity" else replace(network.outputs, link=link)
    return builder.finish(value, inputs=inputs, outputs=outputs)


# ---- taking a model apart -----------------------------------------------------------------


def _take_apart(model: Any, name: str = "") -> Chain:
    kind = sklearn_kind(model, WRAPPERS)
    if kind == "Pipeline":
        prefix = f"{name}__" if name else ""
        *steps, (last, end) = [(f"{prefix}{key}", part) for key, part in model.steps]
        chain = _take_apart(end, last)
        flat = (part for key, step in steps for part in flatten(Step(key, step, key)))
        return replace(chain, steps=(*flat, *chain.steps))
    if kind == "FrozenEstimator":
        return _take_apart(model.estimator, name)
    if kind == "BaseSearchCV":
        return _take_apart(_best_estimator(model), name)
    if kind == "TransformedTargetRegressor":
        check_fitted(model, f"Step {name!r}" if name else "The model")
        chain = _take_apart(model.regressor_, name)
        return replace(chain, targets=(*chain.targets, *inverses(model.transformer_)))
    if kind in ("FixedThresholdClassifier", "TunedThresholdClassifierCV"):
        inner, threshold = threshold_of(model)
        return replace(_take_apart(inner, name), threshold=threshold)
    if kind == "CalibratedClassifierCV":
        inner, pair = calibration_of(model)
        return replace(_take_apart(inner, name), calibration=pair)
    return Chain((), name, model)


def _best_estimator(search: Any) -> Any:
    if hasattr(search, "best_estimator_"):
        return search.best_estimator_
    title = type(search).__name__
    if hasattr(search, "cv_results_"):
        raise UnsupportedModelError(
            f"This {title} holds no fitted model, only scores (refit=False).",
            expected="a search with refit=True, which fits the best model on all data",
            remedy="search with refit=True, or pass a model fitted with the best parameters",
        )
    raise UnsupportedModelError(
        f"This {title} is not fitted yet.", remedy="call search.fit(X, y) first"
    )


def _read_inner(chain: Chain) -> Network:
    try:
        return read_network(chain.model)
    except UnsupportedModelError as error:
        raise _refusal(chain) from error


def _refusal(chain: Chain) -> UnsupportedModelError:
    kind = type(chain.model)
    found = f"{kind.__module__}.{kind.__qualname__}"
    if chain.name:
        what = f"The pipeline ends in step {chain.name!r} ({kind.__name__}), which cannot be read."
    else:
        what = f"This model ({kind.__name__}) cannot be read."
    parts = getattr(chain.model, "estimators_", None)
    networks = isinstance(parts, list) and all(sklearn_kind(p, PERCEPTRONS) for p in parts)
    remedy = "convert each of its estimators_ on its own" if networks else None
    error = UnsupportedModelError(
        what,
        where=f"step {chain.name!r}" if chain.name else None,
        expected="a fitted MLPRegressor or MLPClassifier, alone or at the end of a Pipeline, "
        "or another network that read_network reads",
        found=found,
        remedy=remedy,
    )
    return error.also(as_function(chain.model) or BY_HAND)


# ---- columns ------------------------------------------------------------------------------


def _columns_of(models: list[Any], network: Network) -> tuple[int, tuple[str, ...] | None]:
    """Find how many raw columns there are and their names, from the first that was fitted."""
    for model in models:
        parts = [part for _, part in getattr(model, "transformer_list", [])]
        for part in [model, *parts]:
            count = None if is_passthrough(part) else getattr(part, "n_features_in_", None)
            if count is not None:
                names = getattr(part, "feature_names_in_", None)
                return int(count), None if names is None else tuple(map(str, names))
    return network.n_features, None


def _place_after(chain: Chain, after: str) -> int:
    """Give the number of steps up to and including the one called ``after``."""
    names = [step.name for step in chain.steps]
    found = [k for k, name in enumerate(names) if name == after or name.startswith(f"{after}__")]
    if found:
        return found[-1] + 1
    near = nearest(after, names) if isinstance(after, str) else None
    raise InvalidInputError(
        "There is no step of this name before the network.",
        where="after",
        expected=f"one of {listed(names)}" if names else "a pipeline with steps",
        found=repr(after),
        remedy=f"did you mean {near!r}?" if near else "leave it out to read the whole model",
    )
