"""`against_chance`: what networks say, beside what they say when there is nothing to learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from nn2poly.arguments import check_count
from nn2poly.errors import InvalidInputError
from nn2poly.explain.ensemble import Ensemble, ensemble
from nn2poly.fit.many import convert_many
from nn2poly.inputs import check_row_labels

# Networks with permuted responses: so many that a share of 1 / 20 can be told.
N_PERMUTED = 19


def against_chance(
    fit: Any,
    X: Any,
    y: Any,
    *,
    max_order: int = 1,
    n_networks: int = 5,
    n_permuted: int = N_PERMUTED,
    seed: int = 0,
    **options: Any,
) -> Ensemble:
    """Answer "would I see such a coefficient if there were nothing to learn?".

    Networks are trained on the response, from several starts, and others on responses that were
    permuted, one permutation each, in the same way. All are converted alike. A term whose sign
    holds among the former may still be one that the latter have as often: networks that see the
    same rows share the noise of these rows.

    Parameters
    ----------
    fit
        A function ``fit(X, y, seed)`` that gives a trained model, anything that `convert` takes;
        or a scikit-learn estimator, which is cloned, every ``random_state`` in it set.
    X, y
        Rows and responses. They are permuted one by one: where rows of one patient or day belong
        together, pass one row of each.
    max_order
        As in `convert`.
    n_networks, n_permuted
        How many are trained on the response, and on permuted ones.
    seed
        Seed of the permutations and of the trainings.
    **options
        Any other option of `convert_many`; ``data`` is X by default.

    Returns
    -------
    Ensemble
        Of the networks trained on the response; the others are its ``null``, which gives
        ``by_chance`` and one more column in its table.

    Examples
    --------
    >>> import nn2poly as n2p
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> def fit(X, y, seed):
    ...     slopes = np.linalg.lstsq(X, y, rcond=None)[0]
    ...     return n2p.Network([n2p.Layer(slopes[:, None])])
    >>> y = X[:, 0] + rng.normal(size=60)
    >>> found = n2p.explain.against_chance(fit, X, y, data=None)
    >>> found.sign_stability[1:].ravel(), found.by_chance[1:].ravel()
    (array([1., 1.]), array([0.05, 0.45]))
    """
    check_row_labels(X, y=y)
    count = _two_or_more(n_networks, "n_networks")
    others = _two_or_more(n_permuted, "n_permuted")
    train, response = _trainer(fit), np.asarray(y)
    models = [train(X, response, seed + i) for i in range(count)]
    for i in range(others):
        order = np.random.default_rng([seed, i]).permutation(len(response))
        models.append(train(X, response[order], seed + count + i))
    options = {"backend": "sequential", "data": X, **options}
    # One ensemble of all, so that they have the same terms and coordinates.
    both = ensemble(convert_many(models, max_order, **options))
    if not isinstance(both, Ensemble):
        raise InvalidInputError(
            "Terms of different regions cannot be put side by side.",
            where="regions",
            expected="regions=1",
            found=f"regions={options.get('regions')!r}",
        )
    return _split(both, count)


def _two_or_more(n: int, where: str) -> int:
    count = check_count(n, where=where)
    if count > 1:
        return count
    raise InvalidInputError(
        "One network has no spread.", where=where, expected="2 or more", found=str(count)
    )


def _split(both: Ensemble, count: int) -> Ensemble:
    """Part the first members from the others, which they are compared with."""
    own, null = both.coefficients[:count], both.coefficients[count:]
    mean, size = own.mean(axis=0), np.abs(both.mean.coefficients)
    known = both.mean.deviations
    if known is not None:
        each = np.divide(known, size, out=np.zeros_like(size), where=size > 0.0)
        known = np.abs(mean) * each
    return Ensemble(replace(both.mean, coefficients=mean, deviations=known), own, null)


def _trainer(fit: Any) -> Callable[[Any, Any, int], Any]:
    """Give the function that trains: the user's own, or one around an estimator."""
    if hasattr(fit, "get_params") and hasattr(fit, "fit"):
        from sklearn.base import clone

        def train(X: Any, y: Any, seed: int) -> Any:
            model = clone(fit)
            states = [name for name in model.get_params() if name.endswith("random_state")]
            return model.set_params(**dict.fromkeys(states, seed)).fit(X, y)

        return train
    if callable(fit):
        found: Callable[[Any, Any, int], Any] = fit
        return found
    raise InvalidInputError(
        "This cannot train networks.",
        where="fit",
        expected="a function (X, y, seed) that gives a trained model, or an estimator",
        found=type(fit).__name__,
    )
