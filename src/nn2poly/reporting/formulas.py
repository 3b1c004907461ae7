"""The formula to read, and to take away in other languages."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nn2poly.algebra.terms import Term
from nn2poly.arguments import plural
from nn2poly.arrays import FloatArray
from nn2poly.errors import NN2PolyError
from nn2poly.formula.importance import Ranking
from nn2poly.formula.piecewise import Explicit, PiecewisePolynomial
from nn2poly.formula.polynomial import Polynomial
from nn2poly.reporting.contents import ExportText, FormulaTerm, FormulaView
from nn2poly.reporting.numerals import number, r_squared
from nn2poly.tables import Table

# Terms that the formula shows, and that the table lists without a browser's help (taste).
SHOWN_TERMS, N_TOP = 10, 25
# Coefficients (terms × outputs) that the page holds as text: more is not read by anyone (taste).
MAX_EXPORTED = 2_000
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_DIGITS = "Python and SQL take raw values and keep every digit; LaTeX rounds, to be read."


def formula_views(
    poly: Polynomial, ranking: Ranking, shown: int = SHOWN_TERMS
) -> tuple[FormulaView, ...]:
    """Pick the intercept and the terms that matter most to each output.

    Examples
    --------
    >>> poly = Polynomial([[1.0], [-2.0]], 1, ["rm"])
    >>> formula_views(poly, Ranking(np.array([[0.0], [2.0]]), "", ""))[0].terms[1]
    FormulaTerm(sign='−', size='2', factors=(('rm', 1),))
    """
    constant = poly.terms.orders() == 0
    views = []
    for k, name in enumerate(poly.output_names):
        size = np.where(constant, np.inf, ranking.sizes[:, k])
        places = np.argsort(-size, kind="stable")[: shown + 1].tolist()
        if ranking.sizes[:, k].any():  # a single row ranks nothing
            places = [i for i in places if size[i] > 0.0]
        terms = tuple(
            _formula_term(poly.terms[i], float(poly.coefficients[i, k]), poly.inputs.entry_names)
            for i in places
        )
        views.append(FormulaView(name, terms, poly.n_terms - len(places)))
    return tuple(views)


def top_terms(poly: Polynomial, ranking: Ranking) -> Table:
    """List the terms that matter most to all outputs."""
    values = ("coefficient",) if poly.n_outputs == 1 else poly.output_names
    rows = tuple(
        (
            term_text(poly.terms[i], poly.inputs.entry_names),
            len(poly.terms[i]),
            *poly.coefficients[i],
        )
        for i in ranking.places(N_TOP).tolist()
    )
    title = f"The {len(rows)} terms that move the outputs most, of {poly.n_terms:,}"
    return Table(title, ("term", "order", *values), rows)


def term_text(term: Term, names: tuple[str, ...]) -> str:
    """Write a term, powers raised.

    Examples
    --------
    >>> term_text((0, 0, 1), ("age", "dose")), term_text((), ())
    ('age² · dose', '1')
    """
    powers = ((names[i], term.count(i)) for i in dict.fromkeys(term))
    raised = (name + (str(power).translate(_RAISED) if power > 1 else "") for name, power in powers)
    return " · ".join(raised) or "1"


def _formula_term(term: Term, value: float, names: tuple[str, ...]) -> FormulaTerm:
    factors = tuple((names[i], term.count(i)) for i in dict.fromkeys(term))
    return FormulaTerm("−" if value < 0 else "+", number(abs(value)), factors)


def exported(
    poly: Polynomial, ranking: Ranking, X: FloatArray, outputs: FloatArray
) -> tuple[Polynomial, str]:
    """Choose what can be copied: the whole polynomial when small, else the terms that matter.

    Parameters
    ----------
    X
        Array (n, p) in raw units: all rows of the report, not those that chose the terms alone.
    outputs
        Raw outputs (n, k) of the polynomial on X.

    Returns
    -------
    polynomial
        At most `MAX_EXPORTED` coefficients.
    note
        What it covers, in words; how closely, measured on X.
    """
    if poly.coefficients.size <= MAX_EXPORTED:
        every = "its only term" if poly.n_terms == 1 else f"all {poly.n_terms:,} terms"
        return poly, f"The text holds {every}. {_DIGITS}"
    n_terms = max(1, MAX_EXPORTED // poly.n_outputs)
    size = np.where(poly.terms.orders() == 0, np.inf, ranking.overall)
    kept = np.sort(np.argsort(-size, kind="stable")[:n_terms])
    small = poly.keep(kept)
    note = (
        f"The whole formula is too long to copy from a page: the text holds the {n_terms:,} of "
        f"its {poly.n_terms:,} terms that move the outputs most, and follows the whole with R² "
        f"{r_squared(_follows(outputs, small, X))} on these rows; poly.save keeps "
        f"the whole. {_DIGITS}"
    )
    return small, note


def exported_regions(
    formula: PiecewisePolynomial, X: FloatArray, outputs: FloatArray
) -> tuple[Explicit, str]:
    """Choose what can be copied of a formula with regions, as `exported` does of a polynomial."""
    whole = formula.n_terms * formula.n_outputs
    branches = f"{plural(formula.n_regions, 'region')}, each with its rule"
    if whole <= MAX_EXPORTED:
        return formula, f"The text holds {branches}, and all {formula.n_terms:,} terms. {_DIGITS}"
    n_terms = max(1, MAX_EXPORTED // (formula.n_outputs * formula.n_regions))
    small = formula.prune(n_terms)
    note = (
        f"The whole formula is too long to copy from a page: the text holds {branches}, and of "
        f"each region the {n_terms:,} terms that move the outputs most there. It follows the "
        f"whole with R² {r_squared(_follows(outputs, small, X))} on these rows; poly.save keeps "
        f"the whole. {_DIGITS}"
    )
    return small, note


def _follows(whole: FloatArray, small: Explicit, X: FloatArray) -> float:
    """Give the mean R² of the small polynomial against the outputs of the whole."""
    part = small.raw_outputs(X)
    varies = whole.var(axis=0) > 0
    if not varies.any():
        return 1.0
    left = ((whole - part) ** 2).mean(axis=0)[varies] / whole.var(axis=0)[varies]
    return float(1.0 - left.mean())


def export_texts(poly: Explicit) -> tuple[ExportText, ...]:
    """Write every output in LaTeX, Python and SQL."""
    from nn2poly import export

    languages: dict[str, Callable[[Explicit], dict[str, str]]]
    languages = {"LaTeX": export.latex, "Python": export.python, "SQL": export.sql}
    return tuple(text for name, write in languages.items() for text in _texts(name, write, poly))


def _texts(
    language: str, write: Callable[[Explicit], dict[str, str]], poly: Explicit
) -> list[ExportText]:
    """Write one language; a name that it cannot spell costs this text, not the report."""
    try:
        texts = write(poly)
    except NN2PolyError as error:
        return [ExportText(language, k, "", str(error)) for k in range(poly.n_outputs)]
    return [ExportText(language, k, texts[name]) for k, name in enumerate(poly.output_names)]
