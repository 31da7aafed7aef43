"""Summaries and reports of results, which a module above the results makes.

The package names that module when it is loaded, so that results need not know it: see
notes/decisions.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Protocol


class Summary(str):
    """A text whose representation is the text itself, for prompts and notebooks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Reports(Protocol):
    """The functions that make summaries and reports of results, and write reports."""

    summary_of: Callable[..., Summary]
    report_of: Callable[..., None]
    public_report_of: Callable[..., None]
    form_of: Callable[..., None]
    reports_with: Callable[..., Any]  # those that are written with a safe file


_load: list[Callable[[], Reports]] = []


def reported_by(load: Callable[[], Any]) -> None:
    """Set the function that loads the module that makes summaries and reports."""
    _load[:] = [load]


def reports() -> Reports:
    """Return the module that makes summaries and reports."""
    return _load[0]()


class WithReport:
    """A result with a report that is one page without options."""

    __slots__ = ()

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        overwrite: bool = False,
    ) -> None:
        """Write the figures as one page of HTML, for internal use.

        Parameters
        ----------
        path : path
            HTML file to write; only its owner can read it.
        title : str, optional
            Title of the page.
        overwrite : bool
            Replace an existing file.

        Raises
        ------
        ImportError
            If Jinja2 is not installed (``pip install jinja2``).
        OSError
            If the file exists and ``overwrite`` is false, or it cannot be written.

        Examples
        --------
        >>> import tempfile, riskcore
        >>> data = {"sex": list("ffmmm"), "age": list("12333")}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     riskcore.check(data, ["sex", "age"], k=2).report(f"{folder}/c.html")
        ...     riskcore.suda(data, ["sex", "age"]).report(f"{folder}/s.html")
        ...     found = riskcore.estimate_simulated([1, 1, 9, 30], [1, 0, 4, 7])
        ...     found.report(f"{folder}/uniques.html")
        ...
        """
        reports().report_of(self, path, title=title, overwrite=overwrite)


class WithPublicReport(WithReport):
    """A result that also has a report for publication without options."""

    __slots__ = ()

    def public_report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        overwrite: bool = False,
    ) -> None:
        """Write the answer in rounded figures as one page of HTML for publication.

        Parameters
        ----------
        path, title, overwrite
            As for `report`; everybody can read the file.

        Raises
        ------
        ImportError, OSError
            As `report`.

        Examples
        --------
        >>> import tempfile, riskcore
        >>> found = riskcore.audit({"age": [31, 47]}, {"age": [47, 50]}, ["age"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found.public_report(f"{folder}/about.html", title="Our file")
        ...
        """
        reports().public_report_of(self, path, title=title, overwrite=overwrite)
