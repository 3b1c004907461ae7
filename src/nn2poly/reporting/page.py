"""`report`: one page about a polynomial, in one file that opens without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nn2poly.files import write_whole
from nn2poly.formula.piecewise import Explicit
from nn2poly.formula.protocol import check_formula
from nn2poly.reporting.collect import collect
from nn2poly.reporting.render import render


def report(
    poly: Explicit,
    model: Any,
    X: Any,
    y: Any = None,
    path: str | Path = "report.html",
    *,
    title: str | None = None,
    threshold: float | None = None,
    after: str | None = None,
) -> Path:
    """Write one self-contained HTML page about a polynomial and how far to trust it.

    The page leads with how good the network is and how faithful the formula, what it found in
    words, what matters, which rule applies, and a what-if panel that evaluates the formula in the
    browser; then the changes that would flip a decision, effects and interactions, network against
    formula by row, label and group, the rows where it fails, the formula and all terms, the data,
    its limits and provenance, and the fidelity cards. It asks no network for anything.

    Parameters
    ----------
    poly
        The polynomial, or the formula with regions: a chapter then tells which rule applies
        where, importance and effects are by column, and the what-if panel says when an input
        crosses into another region, and what changes.
    model
        The network that it came from: anything that `read_network` reads. None when there is
        none at hand; fidelity is then that of ``poly.card``, measured at conversion.
    X
        Array or data frame (n, p) in raw units, best rows that the conversion did not see. Rows
        with a missing value that the model does not fill in are left out; the page counts them.
    y
        Array (n,) or (n, n_outputs): the response, or the labels of a classifier.
    path
        The file to write; one that exists is replaced, whole or not at all.
    title
        Title of the page.
    threshold
        Of a classifier of two classes: the probability of the second from which on it is chosen,
        instead of the polynomial's own.
    after
        Of a pipeline: the step after which the formula begins, as in `nn2poly.convert`; ``X``
        holds what that step gives.

    Returns
    -------
    Path of the file

    Raises
    ------
    InvalidInputError
        When the data do not go with the polynomial.
    TooManyTermsError
        When the polynomial has more than a million coefficients.
    StorageError
        When the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import nn2poly as n2p
    >>> net = n2p.Network([n2p.Layer([[0.5], [0.2]], [0.0], "tanh"), n2p.Layer([[1.0]], [3.0])])
    >>> poly = n2p.convert(net, 3, feature_names=["age", "dose"])
    >>> X = [[0.1, 0.2], [0.3, -0.1], [0.0, 0.5]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = n2p.report(poly, net, X, path=Path(folder) / "report.html")
    ...     path.name, path.stat().st_size < 6_000_000
    ('report.html', True)
    """
    check_formula(poly, where="the first argument of report", verb="reported on")
    if threshold is not None:
        poly = poly.with_threshold(threshold)
    contents = collect(poly, model, X, y, title or "A neural network as a polynomial", after=after)
    # A name with half a surrogate pair has no UTF-8.
    return write_whole(Path(path), render(contents).encode("utf-8", "replace"))
