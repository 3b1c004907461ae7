"""A polynomial as it is, behind scikit-learn's interface: fitted from the start."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_array, check_consistent_length

from nn2poly.arguments import default_names
from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.formula.piecewise import Explicit, PiecewisePolynomial
from nn2poly.formula.polynomial import Polynomial
from nn2poly.inputs import frame_columns
from nn2poly.target_links import TARGET_LINKS


class FixedPolynomial(BaseEstimator):  # type: ignore[misc]
    """Base of `FixedPolynomialRegressor` and `FixedPolynomialClassifier`; see there."""

    links: ClassVar[tuple[str, ...]]

    def __init__(self, polynomial: Explicit | None = None) -> None:
        self.polynomial = polynomial

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check that the data fit the polynomial; there is nothing left to learn.

        Parameters
        ----------
        X
            Array or data frame (n, p).
        y
            Targets, of which only the number is looked at.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            When there is no polynomial, or its link is for the other kind of estimator, or
            the data do not fit it. Predictions raise the same.
        """
        rows = self._rows(X)
        if y is not None:
            check_consistent_length(rows, y)
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of inputs."""
        return self._known().n_features

    @property
    def feature_names_in_(self) -> npt.NDArray[np.object_]:
        """Names of the inputs; absent, as scikit-learn has it, when they are ``x1 … xp``."""
        names = self._known().feature_names
        if names == default_names("x", len(names)):
            raise AttributeError("the polynomial has no feature names of its own")
        return np.array(names, dtype=object)

    def _known(self) -> Explicit:
        if self.polynomial is None:
            raise AttributeError("there is no polynomial")
        return self.polynomial

    def _usable(self) -> Explicit:
        """Give the polynomial, checked here since scikit-learn wants no checks in __init__."""
        given: Any = self.polynomial
        if not isinstance(given, Polynomial | PiecewisePolynomial):
            raise InvalidInputError(
                "There is no polynomial to predict with.",
                where="polynomial",
                expected="a Polynomial or a PiecewisePolynomial",
                found=type(given).__name__,
                remedy="nn2poly.export.sklearn(poly); or PolynomialRegressor, which learns one",
            )
        if given.link not in self.links:
            raise InvalidInputError(
                f"{type(self).__name__} does not suit the link of this polynomial.",
                where="polynomial",
                expected=" or ".join(map(repr, self.links)),
                found=repr(given.link),
                remedy="nn2poly.export.sklearn(poly) chooses the estimator that does",
            )
        return given

    def _rows(self, X: Any) -> FloatArray:
        """Check inputs: a frame is matched by name, anything else as scikit-learn does."""
        poly = self._usable()
        table = X if frame_columns(X) is not None else check_array(X, estimator=self)
        if frame_columns(X) is None or not poly.inputs.named:
            self._check_width(table)
        return poly.inputs.read(table)

    def _check_width(self, table: Any) -> None:
        found, expected = table.shape[1], self.n_features_in_
        if found != expected:
            # In scikit-learn's own words, which its tools look for.
            raise InvalidInputError(
                f"X has {found} features, but {type(self).__name__} is expecting {expected} "
                "features as input.",
                where="X",
            )

    def _raw(self, X: Any) -> FloatArray:
        rows = self._rows(X)
        return self._known().predict(rows).reshape(len(rows), -1)

    def __sklearn_is_fitted__(self) -> bool:
        return self.polynomial is not None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.target_tags.required = False
        return tags


class FixedPolynomialRegressor(RegressorMixin, FixedPolynomial):  # type: ignore[misc]
    """A regressor that predicts with a given polynomial.

    Parameters
    ----------
    polynomial
        A `Polynomial`, or a `PiecewisePolynomial`, not of a classifier.

    Examples
    --------
    >>> import nn2poly as n2p
    >>> poly = n2p.Polynomial([[1.0], [2.0]], 1, ["t"])
    >>> FixedPolynomialRegressor(poly).predict([[3.0]])
    array([7.])
    """

    links = ("identity", *TARGET_LINKS)

    def predict(self, X: Any) -> FloatArray:
        """Predict: (n,), or (n, n_outputs)."""
        raw = self._raw(X)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.target_tags.multi_output = self.polynomial is not None and self._known().n_outputs > 1
        return tags


class FixedPolynomialClassifier(ClassifierMixin, FixedPolynomial):  # type: ignore[misc]
    """A classifier that predicts with a given polynomial and its link.

    Parameters
    ----------
    polynomial
        A `Polynomial`, or a `PiecewisePolynomial`, with the link ``"sigmoid"`` or ``"softmax"``.

    Examples
    --------
    >>> import nn2poly as n2p
    >>> poly = n2p.Polynomial([[0.0], [2.0]], 1, ["t"], classes=["no", "yes"], link="sigmoid")
    >>> FixedPolynomialClassifier(poly).predict([[3.0], [-1.0]])
    array(['yes', 'no'], dtype='<U3')
    """

    links = ("sigmoid", "softmax")

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes: of the polynomial, or 0, 1, …."""
        poly = self._known()
        if poly.classes is not None:
            return np.array(poly.classes)
        one = poly.link == "sigmoid" and poly.n_outputs == 1
        return np.arange(2 if one else poly.n_outputs)

    def decision_function(self, X: Any) -> FloatArray:
        """Compute the logits: (n,) for two classes, else (n, n_classes)."""
        raw = self._raw(X)
        if self._known().link == "softmax" and raw.shape[1] == 2:
            return np.asarray(raw[:, 1] - raw[:, 0])
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def predict_proba(self, X: Any) -> FloatArray:
        """Compute probabilities: (n, n_classes), or of each label (n, n_labels)."""
        raw = self._raw(X)
        return self._known().outputs.probabilities(raw)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Choose the most probable class: (n,); or 0 and 1 for each label (n, n_labels)."""
        return self._usable().predict_label(self._rows(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags
