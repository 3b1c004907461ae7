"""Averages of networks: `BaggingRegressor` and `VotingRegressor` are one wider network, exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.errors import UnsupportedModelError
from nn2poly.inputs import Column, Inputs
from nn2poly.network.builder import NetworkBuilder, Value, concatenate
from nn2poly.network.network import Network
from nn2poly.network.readers.sklearn.transformers import check_fitted, sklearn_kind

AVERAGES = ("BaggingRegressor", "VotingRegressor")
# Their probabilities are averaged behind the link: no network gives the logit of that.
AVERAGED_BEHIND = ("BaggingClassifier", "VotingClassifier")

Read = Callable[[Any], Network]


@dataclass(frozen=True)
class Member:
    """One network of an average: the numbers of its columns in the table, its weight."""

    network: Network
    columns: tuple[int, ...] | None
    weight: float


def read_average(model: Any, read: Read) -> Network:
    """Read the average of networks as one network; ``read`` reads each."""
    members = _members(model, read)
    inputs = _inputs(model, members)
    builder = NetworkBuilder(inputs.n_features, inputs.center, inputs.scale)
    starts = [builder.input().columns(_places(inputs, member)) for member in members]
    values = replay_all(builder, [member.network for member in members], starts)
    total = values[0].scaled(members[0].weight)
    for member, value in zip(members[1:], values[1:], strict=True):
        total = total.plus(value.scaled(member.weight))
    return builder.finish(total, inputs=inputs, outputs=members[0].network.outputs)


def read_members(model: Any, read: Read) -> list[Network]:
    """Read the networks of an average one by one, each with the columns of the whole."""
    members = _members(model, read)
    inputs, found = _inputs(model, members), []
    for member in members:
        builder = NetworkBuilder(inputs.n_features, inputs.center, inputs.scale)
        start = builder.input().columns(_places(inputs, member))
        (value,) = replay_all(builder, [member.network], [start])
        found.append(builder.finish(value, inputs=inputs, outputs=member.network.outputs))
    return found


def replay_all(
    builder: NetworkBuilder, networks: Sequence[Network], starts: Sequence[Value]
) -> list[Value]:
    """Feed values into networks that were read, side by side in common layers where they can."""
    shapes = {tuple(layer.activation for layer in network.layers) for network in networks}
    if len(shapes) > 1:
        return [replay_all(builder, [n], [v])[0] for n, v in zip(networks, starts, strict=True)]
    outputs = [
        [value.scaled(1.0 / network.scale, -network.center / network.scale)]
        for network, value in zip(networks, starts, strict=True)
    ]
    for index, layer in enumerate(networks[0].layers, start=1):
        potentials = [_potential(n, index, o) for n, o in zip(networks, outputs, strict=True)]
        made = builder.activate(concatenate(potentials), layer.activation)
        ends = np.cumsum([0, *(potential.width for potential in potentials)])
        for k, output in enumerate(outputs):
            output.append(made.columns(range(ends[k], ends[k + 1])))
    return [output[-1] for output in outputs]


def _potential(network: Network, index: int, outputs: list[Value]) -> Value:
    (source, matrix), *others = network.sources(index)
    potential = outputs[source].linear(matrix, network.layers[index - 1].bias)
    for source, matrix in others:
        potential = potential.plus(outputs[source].linear(matrix))
    return potential


def _members(model: Any, read: Read) -> list[Member]:
    check_fitted(model, "The model")
    estimators = list(model.estimators_)
    columns: list[tuple[int, ...] | None] = [None] * len(estimators)
    if sklearn_kind(model, ["BaggingRegressor"]):
        columns = [tuple(map(int, chosen)) for chosen in model.estimators_features_]
    given = getattr(model, "_weights_not_none", None)
    shares = _shares(None if given is None else given, len(estimators))
    networks = [_checked(read(estimator)) for estimator in estimators]
    return [Member(*parts) for parts in zip(networks, columns, shares, strict=True)]


def _shares(weights: Any, count: int) -> list[float]:
    values: FloatArray = np.ones(count) if weights is None else np.asarray(weights, dtype=float)
    return list((values / values.sum()).tolist())


def _checked(network: Network) -> Network:
    if network.link != "identity":
        raise UnsupportedModelError(
            "The networks of this average give their target through a link.",
            expected="networks whose outputs are averaged as they are",
            found=f"link {network.link!r}",
            remedy="transform the target around the average: TransformedTargetRegressor("
            "BaggingRegressor(network), func=…, inverse_func=…)",
        )
    if network.inputs.imputers:
        raise UnsupportedModelError(
            "The networks of this average hold imputers of several columns.",
            remedy="put the imputer before the average, in one pipeline",
        )
    return network


def _inputs(model: Any, members: Sequence[Member]) -> Inputs:
    """Give the columns of all networks together; each must be the same in all that have it."""
    if members[0].columns is not None:
        return _of_array(model, members)
    first = members[0].network.inputs
    if not first.named:
        return first
    found: dict[str, Column] = {}
    for member in members:
        for column in member.network.inputs.columns:
            known = found.setdefault(f"{column.name} {column.marks}", column)
            if replace(known, coordinates=()) != replace(column, coordinates=()):
                raise _differ(column.name)
    return Inputs(tuple(found.values()))


def _of_array(model: Any, members: Sequence[Member]) -> Inputs:
    """Give the columns of networks that were trained on arrays, some columns each."""
    names = getattr(model, "feature_names_in_", None)
    inputs = Inputs.of(None if names is None else list(map(str, names)), int(model.n_features_in_))
    center, scale = np.zeros(inputs.n_features), np.ones(inputs.n_features)
    for member in members:
        chosen = list(member.columns or ())
        plain = all(column.kind == "number" for column in member.network.inputs.columns)
        if not plain or member.network.n_features != len(chosen):
            raise _differ("of its networks")
        center[chosen], scale[chosen] = member.network.center, member.network.scale
    return inputs.around(center, scale)


def _places(inputs: Inputs, member: Member) -> list[int]:
    """Give the feature of the whole that each feature of a network is."""
    if member.columns is not None:
        return list(member.columns)
    own = member.network.inputs
    if not own.named:
        if own.n_features != inputs.n_features:
            raise _differ("by number")
        return list(range(own.n_features))
    return [inputs.feature_names.index(name) for name in own.feature_names]


def _differ(name: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"The networks of this average read the columns {name!r} in different ways.",
        expected="the same columns, levels and fills for missing values in all of them",
        remedy="put encoders and imputers before the average, in one pipeline around it",
    )


def behind_link(model: Any) -> UnsupportedModelError:
    """Refuse an average of probabilities."""
    title = type(model).__name__
    return UnsupportedModelError(
        f"This {title} averages probabilities or counts votes, which no single network does.",
        expected="BaggingRegressor or VotingRegressor of networks; or one classifier",
        remedy="fit its probabilities: nn2poly.convert(model.predict_proba, data=X, "
        "link='softmax'); or convert each of its estimators_: nn2poly.convert_many",
    )
