"""`PolynomialClassifier`: train a network for classification, predict with its polynomial."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.estimators.base import PolynomialEstimator


@dataclass(eq=False, repr=False, kw_only=True)
class PolynomialClassifier(ClassifierMixin, PolynomialEstimator):  # type: ignore[misc]
    """A network trained for classification, converted, and replaced by its polynomial.

    The polynomial gives the logits; probabilities come through the network's own link.

    Parameters
    ----------
    estimator
        Unfitted: anything with scikit-learn's interface whose fitted form `read_network`
        reads; a threshold around it is honoured. None: one tanh layer of 50 neurons on
        standardised inputs.
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
    link
        For an estimator whose network gives logits: ``"sigmoid"`` or ``"softmax"``.
    threshold
        For two classes: the probability from which the second is chosen.
    outside
        Rows outside the range of the training inputs, where network and polynomial part:
        ``"warn"`` about them, or ``"clip"`` them to the range before predicting, in silence.
    random_state
        Seed for every part of the estimator that has one; None leaves them as they are.

    Attributes
    ----------
    classes_
        The labels, sorted.
    estimator_, polynomial_, card_, n_features_in_, feature_names_in_
        As in `PolynomialRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neural_network import MLPClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "opposite")
    >>> net = MLPClassifier((8,), activation="tanh", solver="lbfgs", alpha=0.1)
    >>> model = PolynomialClassifier(net, max_order=2, random_state=0).fit(X, y)
    >>> model.predict([[1.0, 1.0], [1.0, -1.0]])
    array(['same', 'opposite'], dtype='<U8')
    """

    link: str | None = None
    threshold: float | None = None

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Train a clone of the estimator and convert it.

        Parameters
        ----------
        X
            Array or data frame (n, p).
        y
            Array (n,) of labels; or (n, n_labels) of 0 and 1, several labels at once.
        **fit_params
            ``sample_weight`` (n,) goes to the estimator that takes it and to the
            calibration; ``groups`` (n,), rows that belong together, to the calibration and to
            a search that takes them; anything else to the estimator's ``fit`` as it is.

        Returns
        -------
        self
        """
        X, y = self._training_data(X, y)
        check_classification_targets(y)
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        self.classes_: npt.NDArray[Any] = np.unique(y) if y.ndim == 1 else np.arange(y.shape[1])
        _check_classes(y, fit_params.get("sample_weight"))
        self._train(X, y, fit_params)
        self._check_outputs(y.ndim == 2)
        return self

    def _check_outputs(self, multilabel: bool) -> None:
        """Make sure that the network's outputs stand for the classes."""
        poly, n_classes = self.polynomial_, len(self.classes_)
        one = poly.link == "sigmoid" and poly.n_outputs == 1
        fits = n_classes == (2 if one and not multilabel else poly.n_outputs)
        if not poly.outputs.is_classifier or not fits or (poly.link == "softmax" and multilabel):
            raise InvalidInputError(
                "The outputs of the network do not stand for the classes of y.",
                where="estimator",
                expected=f"a link and outputs for {n_classes} "
                f"{'labels' if multilabel else 'classes'}",
                found=f"link {poly.link!r} and {poly.n_outputs} outputs",
                remedy='use a classifier; or pass link="softmax" or "sigmoid" if its network '
                "gives logits",
            )

    def decision_function(self, X: Any) -> FloatArray:
        """Compute the logits: (n,) for two classes, else (n, n_classes)."""
        raw = self._raw(X)
        if self.polynomial_.link == "softmax" and raw.shape[1] == 2:
            return np.asarray(raw[:, 1] - raw[:, 0])
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def predict_proba(self, X: Any) -> FloatArray:
        """Compute probabilities: (n, n_classes), or of each label (n, n_labels)."""
        raw = self._raw(X)
        return self.polynomial_.outputs.probabilities(raw)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Choose a class: (n,); or 0 and 1 for each label (n, n_labels).

        The most probable one, or by the threshold and the calibration of the estimator
        (``FixedThresholdClassifier``, ``CalibratedClassifierCV``): ``polynomial_.outputs``.
        """
        raw = self._raw(X)
        chosen = replace(self.polynomial_.outputs, classes=None).labels(raw)
        return chosen if chosen.ndim == 2 else np.asarray(self.classes_[chosen])

    def _default(self) -> Any:
        network = MLPClassifier(
            hidden_layer_sizes=(50,),
            activation="tanh",
            alpha=1.0,
            learning_rate_init=0.01,
            max_iter=1000,
        )
        return make_pipeline(StandardScaler(), network)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _check_classes(y: npt.NDArray[Any], weights: Any) -> None:
    """Refuse samples of one class, counting only those with weight."""
    if y.ndim == 2:
        return
    counted = y if weights is None else y[np.broadcast_to(weights, y.shape) != 0]
    classes = np.unique(counted)
    if len(classes) < 2:
        raise InvalidInputError(
            "A classifier needs samples of two classes at least.",
            where="y" if weights is None else "y with sample_weight",
            expected="2 classes or more",
            found=f"1 class: {classes[0]!r}" if len(classes) else "no sample with weight",
        )
