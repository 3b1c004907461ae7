"""One HTML page about a polynomial: its fidelity, its terms, and a panel to try it out."""

from nn2poly.reporting.page import report

__all__ = ["report"]
