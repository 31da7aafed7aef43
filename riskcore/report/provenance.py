"""The origin of a report: its file, the time, and the command that repeats it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from riskcore.common.version import __version__
from riskcore.common.words import printable
from riskcore.data.source import Source

# The time in seconds since 1970, for output that is the same at any time:
# https://reproducible-builds.org/specs/source-date-epoch/
_EPOCH = "SOURCE_DATE_EPOCH"


@dataclass(frozen=True, slots=True)
class Provenance:
    """The name of the file without its folder, the time, and the command to repeat it.

    The command names files and columns, so it is for internal use; it is quoted for a
    shell. Empty names and commands, and None, are not shown.
    """

    file: str = ""
    when: datetime | None = None
    command: str = ""
    rules: tuple[str, str] | None = None  # the file of rules, and its SHA-256
    office: Mapping[str, Any] = field(default_factory=dict)  # whose rules these are

    def facts(self) -> Iterator[tuple[str, str]]:
        """Yield the known facts, as names and values."""
        if self.file:
            yield "file", self.file
        if self.when is not None:
            yield "made", f"{self.when.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        yield "made by", f"riskcore {__version__}"

    @property
    def shown_command(self) -> str:
        """The command, empty if a page cannot show all its characters."""
        return self.command if printable(self.command) == self.command else ""


def provenance_of(source: Source, when: datetime | None = None) -> Provenance:
    """Return the provenance of a source: the name of its file, if it has one."""
    return Provenance("" if source.path is None else source.path.name, when)


def now() -> datetime:
    """Return the time, from ``SOURCE_DATE_EPOCH`` if it is set."""
    text = os.environ.get(_EPOCH)
    try:
        seconds = int(time.time()) if text is None else int(text)
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        raise ValueError(
            f"{_EPOCH}={text!r}: need a whole number of seconds since 1970"
        ) from None
