"""The history of a release: each state is a version of the rules, and none is lost.

The session file holds a line for each event, written when it happens, so that a killed
process loses nothing. It holds rules, figures and what a page was asked for, never
records; only its owner can read it.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from riskcore.app.log import Log, SessionInUseError
from riskcore.app.user_folder import user_folder

__all__ = ["History", "SessionInUseError", "Version", "session_file"]

_FORMAT = 1
_FILE = "file of rules"  # beside the pages in what was chosen
LONGEST_NAME = 80
_EVENTS = {"version", "show", "name", "figures", "chosen"}
_read = json.JSONDecoder().decode


@dataclass(frozen=True, slots=True)
class Version:
    """A version of the rules."""

    number: int  # from 0, without gaps
    parent: int | None  # the version that was changed
    text: str  # the file of rules
    change: str  # what was changed, in words
    at: str  # when, in ISO format


class History:
    """The versions of a release, and the one that is shown.

    Names and figures of versions are by number; ``chosen`` is what pages were asked
    for, which is not a part of the rules. ``unread`` are the damaged lines of the
    session file, and those that rest on them: they stay where they are.
    """

    def __init__(self) -> None:
        self.versions: list[Version] = []
        self.names: dict[int, str] = {}
        self.figures: dict[int, Mapping[str, Any]] = {}
        self.chosen: dict[str, Any] = {}
        self.unread = 0
        self._at = 0
        self._log: Log | None = None
        self._lock = threading.RLock()
        self._next: dict[int, int] = {}  # the child that was shown last

    @classmethod
    def open(cls, path: Path) -> History:
        """Open a session file, or begin one; damaged lines are left out."""
        log = Log.open(path)
        history = cls()
        for line in log.lines:
            try:
                history._take(_read(line.decode()))
            except (ValueError, RecursionError):
                history.unread += 1
        log.lines = []
        history._log = log
        return history

    def close(self) -> None:
        """Close the session file."""
        with self._lock:  # not while a line is written: the number is used again
            if self._log is not None:
                self._log.close()

    # --- what there is ---

    @property
    def current(self) -> Version:
        """The version that is shown."""
        return self.versions[self._at]

    @property
    def can_undo(self) -> bool:
        """Whether the version that is shown has a version before it."""
        return bool(self.versions) and self.current.parent is not None

    @property
    def can_redo(self) -> bool:
        """Whether a version was made from the one that is shown."""
        return self._at in self._next

    def path_to(self, number: int) -> Iterator[Version]:
        """Yield a version and those before it."""
        at: int | None = number
        while at is not None:
            yield self.versions[at]
            at = self.versions[at].parent

    def ahead(self) -> Iterator[Version]:
        """Yield the versions that redo leads to."""
        at = self._next.get(self._at)
        while at is not None:
            yield self.versions[at]
            at = self._next.get(at)

    # --- what is done ---

    def add(self, text: str, change: str) -> Version:
        """Add a version made from the current one, and show it."""
        with self._lock:
            parent = self._at if self.versions else None
            now = datetime.now().astimezone().isoformat(timespec="seconds")
            version = [len(self.versions), parent, text, change, now]
            self._do({"version": version})
            return self.current

    def undo(self) -> None:
        """Show the version before the current one, if there is one."""
        with self._lock:
            if self.can_undo:
                self._do({"show": self.current.parent})

    def redo(self) -> None:
        """Show the version that was undone, if there is one."""
        with self._lock:
            if self.can_redo:
                self._do({"show": self._next[self._at]})

    def show(self, number: int) -> None:
        """Show a version."""
        with self._lock:
            self._known(number)
            if number != self._at:
                self._do({"show": number})

    def name(self, number: int, name: str) -> None:
        """Give a version a name; an empty one takes the name away."""
        with self._lock:
            self._known(number)
            name = name.strip()[:LONGEST_NAME].strip()
            if name != self.names.get(number, ""):
                self._do({"name": [number, name]})

    def keep_figures(self, number: int, figures: Mapping[str, Any]) -> None:
        """Keep the figures of a version that was carried out."""
        with self._lock:
            self._known(number)
            if self.figures.get(number) != figures:
                self._do({"figures": [number, dict(figures)]})

    def choose(self, page: str, choice: Any) -> None:
        """Keep what a page was asked for."""
        with self._lock:
            if self.chosen.get(page) != choice:
                self._do({"chosen": [page, choice]})

    def note_file(self, text: str) -> None:
        """Keep in mind what the file of rules says, by a digest."""
        self.choose(_FILE, _digest(text))

    def is_news(self, text: str) -> bool:
        """Return whether a file of rules says what neither it nor we said last."""
        if text == self.current.text:
            return False
        seen = self.chosen.get(_FILE)
        if seen is None:
            return all(text != version.text for version in self.versions)
        return bool(seen != _digest(text))

    def _do(self, event: dict[str, Any]) -> None:
        """Write an event, then take it: what cannot be written does not happen."""
        line = json.dumps(event).encode("ascii")
        if self._log is not None:
            self._log.append(line)
        self._take(json.loads(line))

    # --- events ---

    def _take(self, event: Any) -> None:
        """Take an event into the state, or refuse it whole."""
        match event:
            case {"version": [number, parent, str(text), str(change), str(at)]}:
                self._take_version(Version(number, parent, text, change, at))
            case {"show": number}:
                self._shown(self._known(number))
            case {"name": [number, str(name)]}:
                self.names[self._known(number)] = name
                if not name:
                    del self.names[number]
            case {"figures": [number, dict(figures)]}:
                self.figures[self._known(number)] = figures
            case {"chosen": [str(page), choice]}:
                self.chosen[page] = choice
            case dict() if not _EVENTS & event.keys():
                pass  # of a later version of the program
            case _:
                raise ValueError("an event that is not understood")

    def _take_version(self, version: Version) -> None:
        """Add a version; those after a damaged line do not follow, and are left out."""
        number, parent = version.number, version.parent
        follows = type(number) is int and number == len(self.versions)
        if not follows or (parent is None) != (number == 0):
            raise ValueError(f"version {number!r} does not follow")
        if parent is not None:
            self._known(parent)
        self.versions.append(version)
        self._shown(number)

    def _shown(self, number: int) -> None:
        """Show a version; redo leads to it from all versions before it."""
        before, self._at = self._at, number
        if number == self.versions[before].parent:
            return  # undone: redo leads back
        for version in self.path_to(number):
            if version.parent is not None:
                self._next[version.parent] = version.number
            if version.parent == before:
                return  # redo leads to `before` already

    def _known(self, number: Any) -> int:
        """Return the number of a version; refuse any other."""
        if type(number) is not int or not 0 <= number < len(self.versions):
            raise ValueError(f"version {number}: there is no such version")
        return number


def _digest(text: str) -> str:
    """Return the digest of a file of rules."""
    return hashlib.sha256(text.encode()).hexdigest()


def session_file(path: Path) -> Path | None:
    """Return the session file of a survey file or rules; None without a home."""
    folder = user_folder()
    if folder is None:
        return None
    name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]
    return folder / "sessions" / f"{name}.{_FORMAT}.jsonl"
