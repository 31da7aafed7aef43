"""The history of a release: each state is a version of the rules, and none is lost.

The session file holds a line for each event, written when it happens, so that a killed
process loses nothing. It holds rules and figures, never records; only its owner can
read it.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from riskcore.protection.release.secret import key_folder

_LOCKS = find_spec("fcntl") is not None
_FORMAT = 1
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)


class SessionInUseError(OSError):
    """Another process works on the same session."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version of the rules.

    Attributes
    ----------
    number : int
        From 0; the numbers of a history have no gaps.
    parent : int or None
        The version that was changed.
    text : str
        The file of rules.
    change : str
        What was changed, in words.
    at : str
        When, in ISO format.
    """

    number: int
    parent: int | None
    text: str
    change: str
    at: str


class History:
    """The versions of a release, and the one that is shown."""

    def __init__(self, file: IO[str] | None = None) -> None:
        self.versions: list[Version] = []
        self.names: dict[int, str] = {}
        self.figures: dict[int, Mapping[str, Any]] = {}
        self._at = 0
        self._file = file
        self._next: dict[int, int] = {}  # the child that was shown last

    @classmethod
    def open(cls, path: Path) -> History:
        """Open a session file, or begin one; a line that was cut off is left out.

        Raises
        ------
        OSError
            If it cannot be opened, belongs to others or is in use.
        """
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        number = os.open(path, os.O_RDWR | os.O_CREAT | _NOFOLLOW, 0o600)
        file = os.fdopen(number, "r+", encoding="utf-8", newline="\n")
        try:
            _refuse_strange(file, path)
            text = file.read()
        except BaseException:
            file.close()
            raise
        found = cls()
        whole = text[: text.rfind("\n") + 1]
        for event in map(json.loads, whole.splitlines()):
            found._take(event)
        file.seek(len(whole.encode()))
        file.truncate()
        found._file = file
        return found

    def close(self) -> None:
        """Close the session file."""
        if self._file is not None:
            self._file.close()
            self._file = None

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

    # --- what is done ---

    def add(self, text: str, change: str) -> Version:
        """Add a version made from the current one, and show it."""
        parent = self._at if self.versions else None
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        version = [len(self.versions), parent, text, change, now]
        self._do({"version": version})
        return self.current

    def undo(self) -> None:
        """Show the version before the current one, if there is one."""
        if self.can_undo:
            self._do({"show": self.current.parent})

    def redo(self) -> None:
        """Show the version that was undone, if there is one."""
        if self.can_redo:
            self._do({"show": self._next[self._at]})

    def show(self, number: int) -> None:
        """Show a version."""
        if not 0 <= number < len(self.versions):
            raise ValueError(f"version {number}: there is no such version")
        self._do({"show": number})

    def name(self, number: int, name: str) -> None:
        """Give a version a name; an empty one takes the name away."""
        if not 0 <= number < len(self.versions):
            raise ValueError(f"version {number}: there is no such version")
        self._do({"name": [number, name.strip()[:80]]})

    def keep_figures(self, number: int, figures: Mapping[str, Any]) -> None:
        """Keep the figures of a version that was carried out."""
        self._do({"figures": [number, dict(figures)]})

    def _do(self, event: dict[str, Any]) -> None:
        """Write an event, then take it: what cannot be written does not happen."""
        if self._file is not None:
            self._file.write(json.dumps(event) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        self._take(event)

    def _take(self, event: Mapping[str, Any]) -> None:
        """Take an event into the state."""
        if "version" in event:
            version = Version(*event["version"])
            self.versions.append(version)
            self._shown(version.number)
        elif "show" in event:
            self._shown(event["show"])
        elif "name" in event:
            number, name = event["name"]
            self.names[number] = name
            if not name:
                del self.names[number]
        elif "figures" in event:
            number, figures = event["figures"]
            self.figures[number] = figures

    def _shown(self, number: int) -> None:
        """Show a version; redo leads to it from all versions before it."""
        self._at = number
        child = self.versions[number]
        while child.parent is not None and self._next.get(child.parent) != child.number:
            self._next[child.parent] = child.number
            child = self.versions[child.parent]

    def path_to(self, number: int) -> Iterator[Version]:
        """Yield a version and those before it."""
        at: int | None = number
        while at is not None:
            yield self.versions[at]
            at = self.versions[at].parent


def session_file(given: Path) -> Path | None:
    """Return the session file of a survey file or a file of rules.

    None if there is no place for it: the user has no home.
    """
    folder = key_folder()
    if folder is None:
        return None
    name = hashlib.sha256(os.fsencode(given.resolve())).hexdigest()[:32]
    return folder / "sessions" / f"{name}.{_FORMAT}.jsonl"


def _refuse_strange(file: IO[str], path: Path) -> None:
    """Refuse a session file of others, or one in use; make it private."""
    about = os.fstat(file.fileno())
    if not stat.S_ISREG(about.st_mode):
        raise OSError(f"{path}: not a regular file")
    if hasattr(os, "getuid") and about.st_uid != os.getuid():
        raise PermissionError(f"{path}: belongs to another user")
    if hasattr(os, "fchmod"):
        os.fchmod(file.fileno(), 0o600)
    if _LOCKS:
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SessionInUseError(
                "this file is open in another riskcore app: use its address, or end it"
            ) from None
