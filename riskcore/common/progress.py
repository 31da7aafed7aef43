"""Types of progress reports: lines of text, or parts done of a whole."""

from __future__ import annotations

from collections.abc import Callable

Lines = Callable[[str], None]
"""Called with a line of text at each step."""

Parts = Callable[[int, int], None]
"""Called with the part done and the whole."""


class CanceledError(BaseException):
    """Raised at a step to end the work: nobody may take it for a failure."""


def silent(_: str) -> None:
    """Ignore a line of text."""
