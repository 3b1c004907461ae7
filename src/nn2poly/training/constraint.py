"""The constraint on a hidden neuron (the paper's Section IV-A), free of any framework."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

from nn2poly.arguments import check_choice, listed
from nn2poly.errors import InvalidInputError, UnsupportedModelError

# Norm → its exponent.
NORMS = {"l1": 1, "l2": 2}
# A neuron whose norm is below this has no direction, and is left as it is: float32 ends at 1e-38.
SMALLEST_NORM = 1e-30


@dataclass(frozen=True)
class NormBound:
    """Keep the norm of a neuron's weights, bias included, at most (or at) a bound.

    The vector w of weights and bias is rescaled, as the R package does:
    ``w · bound / max(‖w‖, floor)``, with the bound itself as the floor for "at most" and
    almost 0 for "at". It keeps the neuron's direction; a projection onto the ball, which
    would set small weights to 0, is another choice.

    Parameters
    ----------
    norm
        ``"l1"`` or ``"l2"``.
    bound
        A positive number.
    equality
        Keep the norm equal to the bound.

    Examples
    --------
    >>> NormBound("l1", 1.0).factor(4.0), NormBound("l1", 1.0).factor(0.5)
    (0.25, 1.0)
    >>> NormBound("l2", 1.0, equality=True).factor(0.5)
    2.0
    """

    norm: str = "l1"
    bound: float = 1.0
    equality: bool = False

    def __post_init__(self) -> None:
        check_choice(self.norm, tuple(NORMS), name="norm")
        bound: Any = self.bound
        number = isinstance(bound, Real) and not isinstance(bound, bool)
        if not number or not 0 < bound < math.inf:
            raise InvalidInputError(
                "The bound of a norm must be a positive number.",
                where="bound",
                found=repr(self.bound),
                remedy="pass bound=1.0, as the paper does",
            )
        if not isinstance(self.equality, bool):
            raise InvalidInputError(
                "equality is either True or False.", where="equality", found=repr(self.equality)
            )

    @property
    def floor(self) -> float:
        """The least norm by which a vector is divided."""
        return SMALLEST_NORM if self.equality else float(self.bound)

    def factor(self, size: float) -> float:
        """Give the number by which a vector of norm ``size`` is multiplied."""
        return self.bound / max(size, self.floor)


def hidden_layers(
    layers: Sequence[tuple[str, Any]], output: str | None, kind: str
) -> dict[str, Any]:
    """Leave the output layer out of named layers in execution order, or say what is wrong.

    Parameters
    ----------
    layers
        Pairs of name and layer.
    output
        The name of the output layer; None for the last one.
    kind
        What the framework calls a dense layer, for messages.
    """
    names = [name for name, _ in layers]
    if output is not None and output not in names:
        raise InvalidInputError(
            "The model has no such output layer.",
            where="output",
            expected=f"the name of a {kind} layer: {listed(names)}",
            found=repr(output),
        )
    free = output if output is not None else names[-1] if names else None
    hidden = {name: layer for name, layer in layers if name != free}
    if not hidden:
        raise UnsupportedModelError(
            "The model has no hidden layer to constrain.",
            expected=f"two {kind} layers or more; the last one stays free",
            found=listed(names) or f"no {kind} layer",
            remedy=f"add a hidden {kind} layer; without one the model needs no constraint",
        )
    return hidden
