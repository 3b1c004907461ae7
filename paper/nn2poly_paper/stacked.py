"""Train many small networks of one shape at once: their weights stacked, one optimiser for all.

A stack of R networks is one tensor (R, n_in, n_out) per layer, and a step is one batched
product per layer. The loss is summed over the networks, so that each one's gradient is its own;
Adam and Adamax work element by element, so that one optimiser over the stack is R separate
ones; and the constraint of the paper is a division by (R, 1, n_out) norms. Each network has its
own seed, which alone decides its start and its batches: in a stack or by itself, it learns the
same up to rounding. Training is in single precision, as in Keras.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nn2poly.network.network import Layer, Network

if TYPE_CHECKING:
    import torch

# Keras's epsilon, not torch's.
EPSILON = 1e-7


@dataclass(frozen=True)
class Recipe:
    """How a network is built and trained.

    Parameters
    ----------
    hidden
        Neurons of each hidden layer.
    activation
        ``"tanh"``, ``"softplus"``, ``"sigmoid"`` or ``"relu"``, of all hidden layers.
    constrained
        Keep the ℓ1 norm of every hidden neuron's weights and bias at most 1, as
        `nn2poly.training.TorchConstraint` does.
    epochs, batch
        Passes over the rows, and rows per step.
    optimizer, rate
        ``"adam"`` or ``"adamax"``, and its learning rate.
    loss
        ``"mse"``, or ``"crossentropy"`` of labels 0, 1, … on linear outputs.
    n_outputs
        Outputs of the network.
    spread
        Standard deviation with which constrained layers start; Keras's, by default.

    Examples
    --------
    >>> Recipe((100, 100, 100), "tanh", epochs=700).constrained
    True
    """

    hidden: tuple[int, ...]
    activation: str
    constrained: bool = True
    epochs: int = 700
    batch: int = 100
    optimizer: str = "adam"
    rate: float = 1e-3
    loss: str = "mse"
    n_outputs: int = 1
    spread: float = 0.05


class Stack:
    """Networks of one shape in training.

    Parameters
    ----------
    recipe
        Shape and training, the same for all.
    n_features
        Inputs p.
    seeds
        One for each network, each a list of ints.

    Examples
    --------
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> stack = Stack(Recipe((5,), "tanh", epochs=2, batch=25), 1, [[0], [1]])
    >>> stack.train(X, X[:, 0] ** 2, range(2))
    >>> stack.networks()[1]
    Network(1 → 5 tanh → 1 linear)
    """

    def __init__(self, recipe: Recipe, n_features: int, seeds: Sequence[Sequence[int]]) -> None:
        self.recipe, self.seeds = recipe, [list(seed) for seed in seeds]
        sizes = (n_features, *recipe.hidden, recipe.n_outputs)
        starts = [_start(recipe, sizes, seed) for seed in self.seeds]
        self._layers = [
            (_stacked([w for w, _ in layer]), _stacked([b for _, b in layer]))
            for layer in zip(*starts, strict=True)
        ]
        self._optimizer = _optimizer(recipe, [part for layer in self._layers for part in layer])
        self._constrain()

    def train(self, X: npt.ArrayLike, y: npt.ArrayLike, epochs: Iterable[int]) -> None:
        """Run epochs, given by number: the number decides the order of the rows.

        Parameters
        ----------
        X
            Array (n, p) that all networks share, or (R, n, p).
        y
            Array (n,) or (R, n): responses, or labels 0, 1, ….
        """
        import torch

        inputs = torch.from_numpy(np.array(X, dtype=np.float32, ndmin=3))
        kind = np.float32 if self.recipe.loss == "mse" else np.int64
        answers = torch.from_numpy(np.array(y, dtype=kind, ndmin=2))
        # Which table each network reads: its own, or the one that all share.
        table = torch.arange(len(self.seeds))[:, None] if len(inputs) > 1 else 0
        for epoch in epochs:
            order = torch.from_numpy(self._order(epoch, inputs.shape[1]))
            for rows in torch.split(order, self.recipe.batch, dim=1):
                self._step(inputs[table, rows], answers[table, rows])

    def networks(self, feature_names: Sequence[str] | None = None) -> list[Network]:
        """Give the networks as they are now, in double precision."""
        depth = len(self.recipe.hidden)
        names = [*[self.recipe.activation] * depth, "linear"]
        link = "identity" if self.recipe.loss == "mse" else "softmax"
        arrays = [[part.detach().double().numpy() for part in layer] for layer in self._layers]
        return [
            Network(
                [Layer(w[r], b[r, 0], f) for (w, b), f in zip(arrays, names, strict=True)],
                feature_names=feature_names,
                link=link,
            )
            for r in range(len(self.seeds))
        ]

    def state(self) -> dict[str, Any]:
        """Give weights and the optimiser's memory as plain data, exact."""
        memory = self._optimizer.state_dict()["state"]
        return {
            "weights": [part.tolist() for layer in self._layers for part in layer],
            "memory": [{k: v.tolist() for k, v in memory[i].items()} for i in sorted(memory)],
        }

    def restore(self, state: dict[str, Any]) -> Stack:
        """Go on from what `state` gave."""
        import torch

        tensors = [part for layer in self._layers for part in layer]
        with torch.no_grad():
            for tensor, values in zip(tensors, state["weights"], strict=True):
                tensor.copy_(torch.tensor(values))
        whole = self._optimizer.state_dict()
        whole["state"] = {
            i: {k: torch.tensor(v) for k, v in memory.items()}
            for i, memory in enumerate(state["memory"])
        }
        self._optimizer.load_state_dict(whole)
        return self

    def _order(self, epoch: int, n_rows: int) -> npt.NDArray[np.int64]:
        """Shuffle the rows for every network: (R, n)."""
        return np.stack(
            [np.random.default_rng([*seed, 2, epoch]).permutation(n_rows) for seed in self.seeds]
        )

    def _step(self, inputs: torch.Tensor, answers: torch.Tensor) -> None:
        self._optimizer.zero_grad()
        self._loss(self._forward(inputs), answers).backward()  # type: ignore[no-untyped-call]
        self._optimizer.step()
        self._constrain()

    def _forward(self, values: torch.Tensor) -> torch.Tensor:
        """Map (R, n, p) to the outputs (R, n, k)."""
        import torch

        function = getattr(torch.nn.functional, self.recipe.activation)
        for weights, bias in self._layers[:-1]:
            values = function(torch.baddbmm(bias, values, weights))
        weights, bias = self._layers[-1]
        return torch.baddbmm(bias, values, weights)

    def _loss(self, outputs: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
        """Sum over networks of the mean over the rows of the batch."""
        if self.recipe.loss == "mse":
            return (outputs[:, :, 0] - answers).square().mean(1).sum()
        from torch.nn.functional import cross_entropy

        total = cross_entropy(outputs.flatten(0, 1), answers.flatten(), reduction="sum")
        return total / answers.shape[1]

    def _constrain(self) -> None:
        if not self.recipe.constrained:
            return
        import torch

        with torch.no_grad():
            for weights, bias in self._layers[:-1]:
                norm = weights.abs().sum(1, keepdim=True).add_(bias.abs()).clamp_(min=1.0)
                weights.div_(norm)
                bias.div_(norm)


def train_networks(
    recipe: Recipe,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    seeds: Sequence[Sequence[int]],
    feature_names: Sequence[str] | None = None,
) -> list[Network]:
    """Train one network for each seed, all at once.

    Parameters
    ----------
    X, y
        As `Stack.train` takes them.
    seeds
        One for each network.

    Examples
    --------
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> recipe = Recipe((20,), "tanh", constrained=False, epochs=200, batch=25, rate=0.01)
    >>> net, = train_networks(recipe, X, X[:, 0] ** 2, [[1]])
    >>> float(np.mean((net.predict(X) - X[:, 0] ** 2) ** 2)) < 0.01
    True
    """
    stack = Stack(recipe, int(np.shape(X)[-1]), seeds)
    stack.train(X, y, range(recipe.epochs))
    return stack.networks(feature_names)


def _start(
    recipe: Recipe, sizes: Sequence[int], seed: Sequence[int]
) -> list[tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]]:
    """Draw (weights, bias) of every layer as the authors' scripts do, through Keras.

    Constrained layers: normal, the bias too. Others: Glorot's uniform weights, no bias.
    """
    rng = np.random.default_rng([*seed, 1])
    layers = []
    for index, (n_in, n_out) in enumerate(pairwise(sizes)):
        if recipe.constrained and index < len(recipe.hidden):
            both = rng.normal(0.0, recipe.spread, (n_in + 1, n_out))
        else:
            edge = np.sqrt(6 / (n_in + n_out))
            both = rng.uniform(-edge, edge, (n_in + 1, n_out))
            both[0] = 0.0
        wide = both.astype(np.float32)
        layers.append((wide[1:], wide[:1]))
    return layers


def _optimizer(recipe: Recipe, tensors: list[torch.Tensor]) -> torch.optim.Optimizer:
    from torch.optim import Adam, Adamax

    if recipe.optimizer == "adamax":
        return Adamax(tensors, lr=recipe.rate, eps=EPSILON)
    return Adam(tensors, lr=recipe.rate, eps=EPSILON, fused=True)


def _stacked(parts: Sequence[npt.NDArray[np.float32]]) -> torch.Tensor:
    """Make one tensor to learn of the same part of all networks."""
    import torch

    return torch.from_numpy(np.stack(parts)).requires_grad_()
