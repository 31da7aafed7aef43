"""The session file: a line for each event, written before the event counts.

Only its owner can read it, and one process at a time has it open. A line is on the disk
when `Log.append` returns; a line that could not be written leaves no trace.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

_LOCKS = find_spec("fcntl") is not None
_FLAGS = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


class SessionInUseError(OSError):
    """Another process works on the same session."""


class Log:
    """A private file of lines that only grows.

    ``lines`` were there; a last line without its end was cut off, and is left out.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        with os.fdopen(os.dup(number), "rb") as file:
            whole = file.read()
        self._end = whole.rfind(b"\n") + 1
        self.lines = whole[: self._end].split(b"\n")[:-1]
        self._torn = self._end < len(whole)

    @classmethod
    def open(cls, path: Path) -> Log:
        """Open a regular file of our own that is not in use, or begin one."""
        _make_folder(path.parent)
        if path.is_symlink():
            raise OSError(f"{path}: a link; remove it and begin again")
        number = os.open(path, _FLAGS | os.O_CREAT, 0o600)
        try:
            _refuse_strange(number, path)
            _keep_name(path.parent)
            return cls(number)
        except BaseException:
            os.close(number)
            raise

    def append(self, line: bytes) -> None:
        """Write a line to the disk; after an `OSError` the file is as before."""
        data = line + b"\n"
        try:
            if self._torn:
                os.ftruncate(self._number, self._end)
            self._torn = True
            os.lseek(self._number, self._end, os.SEEK_SET)
            done = 0
            while done < len(data):
                done += os.write(self._number, data[done:])
            os.fsync(self._number)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._number, self._end)
            raise
        self._torn = False
        self._end += len(data)

    def close(self) -> None:
        """Close the file; it cannot be written any more."""
        if self._number >= 0:
            os.close(self._number)
            self._number = -1


def _make_folder(path: Path) -> None:
    """Make a folder, and those above it, for its owner alone."""
    for folder in [*reversed(path.parents), path]:
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)


def _keep_name(folder: Path) -> None:
    """Write the names in a folder to the disk, where a system can."""
    if not _LOCKS:
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            os.fsync(number)
    finally:
        os.close(number)


def _refuse_strange(number: int, path: Path) -> None:
    """Refuse a file of others, or one in use; make it private."""
    about = os.fstat(number)
    if not stat.S_ISREG(about.st_mode):
        raise OSError(f"{path}: not a regular file")
    if hasattr(os, "getuid") and about.st_uid != os.getuid():
        raise PermissionError(f"{path}: belongs to another user")
    if hasattr(os, "fchmod"):
        os.fchmod(number, 0o600)
    if _LOCKS:
        import fcntl

        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SessionInUseError(
                "this file is open in another riskcore app: use its address, or end it"
            ) from None
