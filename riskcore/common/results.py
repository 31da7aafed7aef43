"""Results show themselves: as text, as a page, and in notebooks.

Reports stand above the results of which they are made, and know them. What a result is
asked for, it asks of the module of reports, which the package names when it is loaded:
see "The house" in notes/decisions.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any


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


_load: list[Callable[[], Any]] = []


def reported_by(load: Callable[[], Any]) -> None:
    """Say how the module that makes texts and pages of results is loaded."""
    _load[:] = [load]


def reports() -> Any:
    """Return the module that makes texts and pages of results."""
    return _load[0]()


class WithPage:
    """A result with a report that is one page, made of nothing but the result."""

    __slots__ = ()

    def _page(self, title: str | None) -> str:
        """Return the page; without a title it has that of its kind."""
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
