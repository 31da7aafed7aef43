"""What a report was made of, when, and how to make it again."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from riskcore.common.version import __version__
from riskcore.common.words import printable
from riskcore.data.source import Source

# The time in seconds since 1970, for what is to be the same whenever it is made:
# https://reproducible-builds.org/specs/source-date-epoch/
_EPOCH = "SOURCE_DATE_EPOCH"


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a report was made of, when, and how to make it again.

    It is for the office: the command names files and columns.

    Attributes
    ----------
    file : str
        The name of the file that was read, without its folder; empty if none was.
    when : datetime or None
        None is not shown.
    command : str
        The command line to repeat it, quoted for a shell, without a seed; empty if
        there is none.
    """

    file: str = ""
    when: datetime | None = None
    command: str = ""

    def facts(self) -> Iterator[tuple[str, str]]:
        """Yield what there is, as names and values."""
        if self.file:
            yield "file", self.file
        if self.when is not None:
            yield "made", f"{self.when.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        yield "made by", f"riskcore {__version__}"

    @property
    def shown_command(self) -> str:
        """The command, empty if it has characters that a page would not show."""
        return self.command if printable(self.command) == self.command else ""


def provenance_of(source: Source, when: datetime | None = None) -> Provenance:
    """Return what is known of a source: the name of its file, if it is one."""
    return Provenance("" if source.path is None else source.path.name, when)


def now() -> datetime:
    """Return the time, or that of ``SOURCE_DATE_EPOCH`` if it is set."""
    text = os.environ.get(_EPOCH)
    try:
        seconds = int(time.time()) if text is None else int(text)
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        raise ValueError(
            f"{_EPOCH}={text!r}: need a whole number of seconds since 1970"
        ) from None
