"""`PolynomialTracker`: the polynomial of a network, every few steps while it learns."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nn2poly.arguments import check_count, check_order
from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError, InvalidNetworkError, RadiusWarning
from nn2poly.fit.convert import convert
from nn2poly.formula.polynomial import Polynomial
from nn2poly.network.readers import read_network
from nn2poly.tables import Table
from nn2poly.training.lightning import attaching_callback

if TYPE_CHECKING:
    import torch

    from nn2poly.algebra.terms import Terms


class PolynomialTracker:
    """Store the coefficients of a network's polynomial every few optimiser steps.

    It reads the weights and nothing else: training goes on as it would without it. All
    records are in the coordinates of the first one, so that they can be compared. Weights
    that are no longer finite give a record of NaN.

    Parameters
    ----------
    model
        Anything that `read_network` reads, or a function without arguments that returns it
        (for a network inside something larger).
    every
        Number of steps from one record to the next; the start is recorded too.
    max_order
        Highest order of the terms.
    data
        A sample of inputs (n, p): each record is then a calibrated polynomial; without it a
        Taylor polynomial at 0, which says little when potentials leave its radius.
    feature_names, output_names
        Names, if the model and the data have none.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    >>> tracker = PolynomialTracker(model, every=2, feature_names=["a", "b"]).attach(optimizer)
    >>> for _ in range(5):
    ...     optimizer.zero_grad()
    ...     model(torch.ones(3, 2)).square().mean().backward()
    ...     optimizer.step()
    >>> tracker.steps, tracker.coefficients.shape
    (array([0, 2, 4]), (3, 6, 1))
    >>> tracker.term_names()
    ['1', 'a', 'b', 'a^2', 'a · b', 'b^2']
    """

    def __init__(
        self,
        model: Any,
        *,
        every: int = 50,
        max_order: int = 2,
        data: Any = None,
        feature_names: Iterable[str] | None = None,
        output_names: Iterable[str] | None = None,
    ) -> None:
        self.every = check_count(every, where="every")
        self._current: Callable[[], Any] = model if _is_function(model) else lambda: model
        self._convert = partial(
            convert,
            max_order=check_order(max_order),
            data=data,
            binary=False,  # the same terms in every record
            feature_names=None if feature_names is None else tuple(feature_names),
            output_names=None if output_names is None else tuple(output_names),
        )
        self._records: dict[int, FloatArray] = {}
        self._first: Polynomial | None = None
        self._step = 0
        self._handles: list[Any] = []

    def attach(self, optimizer: torch.optim.Optimizer) -> PolynomialTracker:
        """Record now and after every few steps of a torch optimiser.

        Attach a constraint first: hooks run in the order in which they were attached.
        """
        self._start()
        self._handles.append(optimizer.register_step_post_hook(lambda *_: self._advance()))
        return self

    def detach(self) -> None:
        """Leave the optimisers alone again, and record the last step."""
        self._start()
        while self._handles:
            self._handles.pop().remove()

    def lightning_callback(self) -> Any:
        """Give a Lightning callback that attaches this to the trainer's optimisers."""
        return attaching_callback(self)

    def keras_callback(self) -> Any:
        """Give a Keras callback; it counts batches, and also records the end of training.

        Put it after a `KerasConstraint` in the list of callbacks.
        """
        import keras

        class Tracking(keras.callbacks.Callback):  # type: ignore[misc]
            def on_train_begin(self, logs: Any = None) -> None:  # noqa: ARG002
                tracker._start()

            def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
                # Asking for the model makes the JAX backend bring its variables up to date.
                if self.model is not None:
                    tracker._advance()

            def on_train_end(self, logs: Any = None) -> None:  # noqa: ARG002
                tracker._start()

        tracker = self
        return Tracking()

    def record(self) -> None:
        """Record the polynomial of this moment, by hand."""
        try:
            network = read_network(self._current())
        except InvalidNetworkError:
            # The training has diverged; at the very start it is the user's mistake instead.
            if self._first is None:
                raise
            self._records[self._step] = np.full_like(self._first.coefficients, np.nan)
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RadiusWarning)
            poly = self._convert(network)
        self._first = self._first or poly
        same = poly.rebase(self._first.center, self._first.scale)
        self._records[self._step] = same.coefficients

    def _start(self) -> None:
        if self._step not in self._records:
            self.record()

    def _advance(self) -> None:
        self._step += 1
        if self._step % self.every == 0:
            self.record()

    @property
    def steps(self) -> npt.NDArray[np.intp]:
        """The steps at which there is a record (n_records,); 0 is the start."""
        return np.array(list(self._records), dtype=np.intp)

    @property
    def coefficients(self) -> FloatArray:
        """The coefficients (n_records, n_terms, n_outputs)."""
        shape = self.first.coefficients.shape
        return np.stack(list(self._records.values())).reshape(-1, *shape)

    @property
    def terms(self) -> Terms:
        """The terms as tuples of 0-based feature indices."""
        return self.first.terms

    def term_names(self) -> list[str]:
        """Spell the terms: ``1``, ``rm``, ``rm^2``, ``rm · lstat``."""
        return self.first.term_names()

    @property
    def center(self) -> FloatArray:
        """Centre (p,) of the coordinates of the coefficients."""
        return self.first.center

    @property
    def scale(self) -> FloatArray:
        """Scale (p,) of the coordinates of the coefficients."""
        return self.first.scale

    def to_frame(self) -> Any:
        """Give a pandas DataFrame: step, term, order, and one column per output.

        ``frame.pivot(index="step", columns="term", values="y").plot()`` draws the paths.
        """
        first = self.first
        named = list(zip(self.term_names(), map(len, first.terms), strict=True))
        rows = tuple(
            (step, name, order, *values)
            for step, record in self._records.items()
            for (name, order), values in zip(named, record.tolist(), strict=True)
        )
        return Table("", ("step", "term", "order", *first.output_names), rows).to_frame()

    @property
    def first(self) -> Polynomial:
        """The polynomial of the first record, in whose terms and coordinates all are."""
        if self._first is None:
            raise InvalidInputError(
                "Nothing has been recorded yet.",
                where="PolynomialTracker",
                remedy="attach(optimizer), or pass keras_callback() to fit, or call record()",
            )
        return self._first


def _is_function(model: Any) -> bool:
    # Modules and Keras models can be called too, but with data.
    return inspect.isroutine(model) or isinstance(model, partial)
