"""Results display themselves: as text, as a page, and in notebooks.

Reports stand above the results and import them. A result that needs a report asks the
module of reports, which the package registers when it is loaded: see "The house" in
notes/decisions.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any


class Summary(str):
    r"""Text that a prompt and a notebook show without quotes.

    >>> Summary("two\nlines")
    two
    lines
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


_load: list[Callable[[], Any]] = []


def reported_by(load: Callable[[], Any]) -> None:
    """Register how to load the module that makes texts and pages of results."""
    _load[:] = [load]


def reports() -> Any:
    """Return the module that makes texts and pages of results."""
    return _load[0]()


class WithPage:
    """A result whose report is one page, made from the result alone."""

    __slots__ = ()

    def _page(self, title: str | None) -> str:
        """Return the page, with a default title if none is given."""
        raise NotImplementedError

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
            Of the HTML file to write; only its owner can read it.
        title : str, optional
            Title of the page.
        overwrite : bool
            Replace an existing file.

        Raises
        ------
        ImportError
            If Jinja2 is not installed (``pip install jinja2``).
        OSError
            If the file exists and is not to be overwritten, or cannot be written.

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
        reports().write_page(lambda: self._page(title), path, overwrite=overwrite)
