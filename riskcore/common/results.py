"""Results show themselves: as text, as a page, and in notebooks.

Reports stand above the results of which they are made, and know them. What a result is
asked for, it asks of the module of reports, which is found by its name here and nowhere
else: see "The house" in notes/decisions.md.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_REPORTS = "riskcore.report.results"


class Summary(str):
    r"""A text that a prompt and a notebook show as it is.

    Examples
    --------
    >>> Summary("two\nlines")
    two
    lines
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def reports() -> Any:
    """Return the module that makes texts and pages of results."""
    return import_module(_REPORTS)
