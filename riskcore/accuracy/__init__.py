"""Errors of any form of the individual risk against multi-precision.

``error_table`` compares published forms, and your own functions, with
``riskcore.accuracy.reference`` on a grid of f and p; ``summary`` finds the largest
errors, ``plain`` and ``markdown`` write either as text, ``plot`` draws the errors, and
``write`` saves them. The command ``riskcore error-table`` does the same.
"""

from __future__ import annotations

from riskcore.accuracy.error_files import check_writable, write
from riskcore.accuracy.error_text import markdown, plain
from riskcore.accuracy.grid import grid
from riskcore.accuracy.names import FORMS
from riskcore.accuracy.plots import plot
from riskcore.accuracy.table import error_table, summary

__all__ = [
    "FORMS",
    "check_writable",
    "error_table",
    "grid",
    "markdown",
    "plain",
    "plot",
    "summary",
    "write",
]
