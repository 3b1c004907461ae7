"""What the regressor and the classifier share: train a clone, convert it, split into terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from nn2poly.arguments import check_choice
from nn2poly.arrays import FloatArray
from nn2poly.estimators.weights import weight_name
from nn2poly.fit.convert import converted
from nn2poly.fit.options import DEFAULTS, Options
from nn2poly.formula.piecewise import Explicit
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.term_names import term_name
from nn2poly.inputs import check_row_labels, frame_columns

# What to do with rows outside the range that the conversion saw.
OUTSIDE = ("warn", "clip")


@dataclass(eq=False, repr=False)
class PolynomialEstimator(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base of `PolynomialRegressor` and `PolynomialClassifier`; see there."""

    estimator: Any = None
    max_order: int | str | None = None
    _: KW_ONLY
    max_terms: int | None = None
    regions: int | str = 1
    bounded: bool | Mapping[str, tuple[float, float]] = True
    method: str = "auto"
    taylor_order: int | Sequence[int] = 8
    taylor_center: float = 0.0
    around: npt.ArrayLike | None = None
    target_r2: float = 0.99
    refit: bool = True
    binary: str | bool | Iterable[Any] = "auto"
    transforms: str | Mapping[str, str] | None = None
    missing: str = "refuse"
    progress: bool | Callable[[str], None] = False
    check: bool = True
    outside: str = "warn"
    random_state: Any = None

    def _train(self, X: Any, y: Any, fit_params: dict[str, Any]) -> Self:
        """Train a clone of the estimator on checked data, and convert it on the same inputs."""
        check_choice(self.outside, OUTSIDE, name="outside")
        shared = {field.name for field in fields(self)} & DEFAULTS.keys()
        options = Options(data=X, **{name: getattr(self, name) for name in shared})
        model = self._default() if self.estimator is None else clone(self.estimator)
        if self.random_state is not None:
            _seed(model, self.random_state)
        params = dict(fit_params)
        weights, groups = params.pop("sample_weight", None), params.pop("groups", None)
        check_row_labels(X, sample_weight=weights, groups=groups)
        if groups is not None and isinstance(model, BaseSearchCV):
            # A search splits by them as well.
            params["groups"] = groups
        if weights is not None:
            params[weight_name(model)] = weights
        if options.way == "calibrated":
            # Nothing else has a use for weights and groups.
            options = replace(options, sample_weight=weights, groups=groups)
        self.estimator_: Any = model.fit(X, y, **params)
        self.polynomial_: Explicit = converted(self.estimator_, options)
        self.card_ = self.polynomial_.card
        return self

    def _default(self) -> Any:
        raise NotImplementedError

    def _training_data(self, X: Any, y: Any, **checks: Any) -> tuple[Any, Any]:
        """Check inputs and targets; a frame stays one, for the estimator to read by name."""
        if frame_columns(X) is None:
            checked: tuple[Any, Any] = validate_data(
                self, X, y, multi_output=True, ensure_min_samples=2, **checks
            )
            return checked
        # The targets first: a call without X forgets the names of the features.
        y = validate_data(self, y=y, multi_output=True, **checks)
        validate_data(self, X, skip_check_array=True)
        check_consistent_length(X, y)
        return X, y

    def _rows(self, X: Any) -> FloatArray:
        """Check inputs against those of the training: array (n, p) for the polynomial."""
        check_is_fitted(self)
        poly, is_frame = self.polynomial_, frame_columns(X) is not None
        table = validate_data(self, X, reset=False, skip_check_array=is_frame)
        rows = poly.inputs.read(table)
        if self.outside == "clip" and poly.low is not None and poly.high is not None:
            return np.clip(rows, poly.low, poly.high)
        return rows

    def _raw(self, X: Any) -> FloatArray:
        """Compute the raw outputs, always (n, n_outputs)."""
        rows = self._rows(X)
        return self.polynomial_.predict(rows).reshape(len(rows), -1)

    def transform(self, X: Any) -> FloatArray:
        """Split every prediction into its terms.

        Parameters
        ----------
        X
            Array or data frame (n, p).

        Returns
        -------
        array (n, n_terms · n_outputs)
            What each term, the intercept included, adds to the raw output: all terms of the
            first output, then of the next. The terms of an output sum to its raw prediction.
            With regions: the terms of region 0, then of region 1, …; those of other regions
            than the row's are 0.
        """
        rows = self._rows(X)
        parts = self.polynomial_.contributions(rows)
        return np.ascontiguousarray(parts.transpose(0, 2, 1)).reshape(len(parts), -1)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Name the columns of `transform`: the terms, after their output if there are several.

        Parameters
        ----------
        input_features
            Names of the inputs, where the training brought none.

        Returns
        -------
        array (n_terms · n_outputs,) of strings
        """
        check_is_fitted(self)
        poly = self.polynomial_
        given = _check_feature_names_in(self, input_features, generate_names=False)
        names = poly.feature_names
        if (
            given is not None
            and len(given) == len(names)
            and not hasattr(self, "feature_names_in_")
        ):
            names = tuple(map(str, given))
        terms = _term_names(poly, names)
        if poly.n_outputs == 1:
            return np.array(terms, dtype=object)
        return np.array([f"{out}: {t}" for out in poly.output_names for t in terms], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


def _term_names(poly: Explicit, names: tuple[str, ...]) -> list[str]:
    """Name the terms, after their region if there are several."""
    pairs = zip(poly.inputs.coordinates, names, strict=True)
    entries = [coordinate.function.text(name) for coordinate, name in pairs]
    if isinstance(poly, Polynomial):
        return [term_name(term, entries) for term in poly.terms]
    return [
        f"region {region.number}: {term_name(term, entries)}"
        for region in poly.regions
        for term in region.polynomial.terms
    ]


def _seed(model: Any, random_state: Any) -> None:
    """Give every part of the model that draws random numbers a seed of its own."""
    random = check_random_state(random_state)
    keys = [k for k in sorted(model.get_params(deep=True)) if k.split("__")[-1] == "random_state"]
    model.set_params(**{key: random.randint(np.iinfo(np.int32).max) for key in keys})
