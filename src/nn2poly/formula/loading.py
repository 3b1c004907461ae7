"""`load`: read a formula of any kind from its file."""

from __future__ import annotations

from pathlib import Path

from nn2poly.errors import NN2PolyError, StorageError
from nn2poly.formula import storage
from nn2poly.formula.piecewise import Explicit, PiecewisePolynomial
from nn2poly.formula.polynomial import from_document


def load(path: str | Path, *, key: bytes | None = None) -> Explicit:
    """Read a polynomial, or a piecewise one, that its method ``save`` wrote.

    Parameters
    ----------
    path
        A ``.json`` or ``.npz`` file, or a folder.
    key
        Refuse what was not signed with these bytes: ``poly.save(path, key=…)``.

    Returns
    -------
    Polynomial or PiecewisePolynomial
        The coefficients of a folder stay on disk: what is used of them is read when it is used.

    Raises
    ------
    StorageError
        When the file is not one, was cut short or changed, is of a newer version, or is not signed
        with the key.

    Examples
    --------
    >>> import tempfile
    >>> from nn2poly import Polynomial
    >>> poly = Polynomial([[1.0], [2.0]], 1, ["rm"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load(poly.save(Path(folder) / "poly.json")).predict([[3.0]])
    array([7.])
    """
    document = storage.load(path, key=key)
    try:
        return _formula(document)
    except (NN2PolyError, *storage.MALFORMED) as error:
        raise StorageError(
            "This file does not describe a polynomial.", where=str(path), found=str(error)
        ) from error


def _formula(document: storage.AnyDocument) -> Explicit:
    if isinstance(document, storage.Document):
        return from_document(document)
    return PiecewisePolynomial(
        document.tree,
        tuple(map(from_document, document.parts)),
        n_rows=document.n_rows,
        r2=document.r2,
        card=document.card,
    )
