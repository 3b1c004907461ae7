"""`PolynomialRegressor`: train a network for regression, predict with its polynomial."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import column_or_1d

from nn2poly.estimators.base import PolynomialEstimator


class PolynomialRegressor(RegressorMixin, PolynomialEstimator):  # type: ignore[misc]
    """A network trained for regression, converted, and replaced by its polynomial.

    Parameters
    ----------
    estimator
        Unfitted: anything with scikit-learn's interface whose fitted form `read_network`
        reads (an MLP, a pipeline, search or TransformedTargetRegressor around one, a skorch
        net). None: one tanh layer of 50 neurons on standardised inputs and targets.
    max_order
        Order of the polynomial, 2 by default; or ``"auto"``. With ``max_terms`` an
        upper limit.
    max_terms
        A budget of terms, spent where they matter; None for all terms of the order.
    regions
        How many regions there may be, each with a polynomial of its own; or ``"auto"``, for as
        few as reach ``target_r2``.
    bounded
        Hold numbers within what the training inputs show, at quantiles where tails are heavy;
        False for the plain polynomial everywhere; a dictionary the bounds of some columns,
        ``{"age": (18, 90)}``.
    method, taylor_order, taylor_center, around, target_r2, refit, binary, transforms, missing
        As in `nn2poly.convert`.
    progress
        True to show on standard error what a long conversion is doing; or a function that takes
        each line.
    check
        Compare the network that was read with the trained estimator, and refuse one that differs.
    outside
        Rows outside the range of the training inputs, where network and polynomial part:
        ``"warn"`` about them, or ``"clip"`` them to the range before predicting, in silence.
    random_state
        Seed for every part of the estimator that has one; None leaves them as they are.

    Attributes
    ----------
    estimator_
        The trained network.
    polynomial_
        Its `Polynomial`, or `PiecewisePolynomial` of several regions, which predicts.
    card_
        How closely the polynomial follows the network on held-out rows.
    n_features_in_, feature_names_in_
        Of the training inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neural_network import MLPRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> net = MLPRegressor(hidden_layer_sizes=8, activation="tanh", solver="lbfgs", max_iter=2000)
    >>> model = PolynomialRegressor(net, max_order=2, random_state=0).fit(X, X[:, 0] * X[:, 1])
    >>> model.score(X, X[:, 0] * X[:, 1]) > 0.9
    True
    >>> model.polynomial_.top(1)[0][0]
    'x1 · x2'
    """

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Train a clone of the estimator and convert it.

        Parameters
        ----------
        X
            Array or data frame (n, p).
        y
            Array (n,), or (n, n_outputs).
        **fit_params
            ``sample_weight`` (n,) goes to the estimator that takes it and to the
            calibration; ``groups`` (n,), rows that belong together, to the calibration and to
            a search that takes them; anything else to the estimator's ``fit`` as it is.

        Returns
        -------
        self
        """
        X, y = self._training_data(X, y, y_numeric=True)
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        return self._train(X, y, fit_params)

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Predict with the polynomial: (n,), or (n, n_outputs)."""
        raw = self._raw(X)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def _default(self) -> Any:
        network = MLPRegressor(
            hidden_layer_sizes=(50,),
            activation="tanh",
            alpha=1.0,
            learning_rate_init=0.01,
            max_iter=1000,
        )
        return TransformedTargetRegressor(
            make_pipeline(StandardScaler(), network), transformer=StandardScaler()
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
