"""Where files come from: folders below the start folder, uploads, and recent work."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from riskcore.app.texts import said
from riskcore.app.user_folder import user_folder
from riskcore.common.words import printable
from riskcore.data.files import formats
from riskcore.data.files.replace import replacing_all, tidy

# Bytes of an upload, entries that a folder shows, and files that are remembered.
LARGEST = 2 << 30
MOST = 500
_RECENT = 20
_LONGEST = 200  # bytes of a name, to which endings are added


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or a folder that can be chosen."""

    name: str
    place: str  # as forms give it
    size: int = 0
    changed: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """What a folder has: folders first, then the files that can be read."""

    above: list[Entry]  # from the start folder to this one
    folders: list[Entry]
    files: list[Entry]
    more: int  # entries that are not shown


class Folders:
    """The folders from which files may be opened: a start folder, and uploads."""

    def __init__(self, start: Path) -> None:
        self.start = start.resolve()

    # --- folders below the start folder ---

    def path(self, place: str) -> Path:
        """Return the path of a place; refuse what does not lie in our folders."""
        path, uploads = self.start / place, self.uploads
        roots = [self.start, *([uploads.resolve()] if uploads else [])]
        if "\0" not in place:
            path = Path(os.path.realpath(path))
            if any(root in (path, *path.parents) for root in roots):
                return path
        raise ValueError(said("start", "outside", folder=self.start))

    def listing(self, place: str) -> Listing:
        """Return what the folder at a place has."""
        folder = self.path(place)
        if not folder.is_dir():
            raise ValueError(said("start", "no_folder", folder=folder.name))
        paths = sorted(folder.iterdir(), key=lambda path: path.name.lower())
        shown = [path for path in paths if self._is_ours(path)]
        folders = [self._entry(x) for x in shown if x.is_dir()]
        files = [self._entry(x) for x in shown if not x.is_dir() and can_open(x.name)]
        inside = [folder, *folder.parents]
        inside = inside[: inside.index(self.start) + 1] if self.start in inside else []
        above = [Entry(path.name or str(path), str(path)) for path in reversed(inside)]
        left = max(0, MOST - len(folders))
        more = max(0, len(folders) - MOST) + max(0, len(files) - left)
        return Listing(above, folders[:MOST], files[:left], more)

    def _is_ours(self, path: Path) -> bool:
        """Return whether a path may be shown: not hidden, and in our folders."""
        # A form gives no other name back: blanks at its ends and odd letters are lost.
        if path.name.startswith(".") or printable(path.name.strip()) != path.name:
            return False
        with suppress(OSError, ValueError):
            return self.path(str(path)).exists()
        return False

    def _entry(self, path: Path) -> Entry:
        """Return an entry of a folder as a page shows it."""
        about = path.stat()
        changed = datetime.fromtimestamp(about.st_mtime).isoformat(" ", "minutes")
        return Entry(path.name, str(path), about.st_size, changed)

    # --- files that were sent ---

    @property
    def uploads(self) -> Path | None:
        """The folder of files that were sent; None for a user without a home."""
        folder = user_folder()
        return None if folder is None else folder / "uploads"

    def sent(self) -> list[Entry]:
        """Return the files that were sent and are still there, the newest first."""
        if self.uploads is None or not self.uploads.is_dir():
            return []
        folders = [path for path in self.uploads.iterdir() if path.is_dir()]
        folders.sort(key=lambda path: -path.stat().st_mtime)
        for folder in folders:
            tidy(folder)  # a killed app leaves what had not yet come whole
        return [
            self._entry(file)
            for folder in folders
            for file in sorted(folder.iterdir(), key=lambda x: x.stat().st_mtime)
            if can_open(file.name) and not file.is_symlink()
        ]

    def sent_folder(self, path: Path) -> Path:
        """Return the folder of a file that was sent; refuse any other file."""
        folder = path.parent
        if self.uploads is None or folder.parent != self.uploads.resolve():
            raise ValueError(said("start", "not_sent"))
        return folder

    def new_folder(self) -> Path:
        """Return a new folder for a file that was sent, for its owner alone."""
        uploads = self.uploads
        if uploads is None:
            raise OSError(said("start", "no_home"))
        for folder in (uploads.parent, uploads):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = uploads / secrets.token_hex(8)
        folder.mkdir(mode=0o700)
        return folder

    async def receive(self, name: str, parts: AsyncIterator[bytes]) -> Path:
        """Write a file that is sent, whole or not at all, and return its path."""
        check_name(name)
        folder = self.new_folder()
        try:
            with replacing_all(False) as create:
                file = create(folder / name, private=True)
                async for data in parts:
                    file.write(data)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return folder / name

    # --- recent work ---

    def recent(self) -> list[Entry]:
        """Return the files that were opened last and are still there."""
        entries = []
        for place, at in _remembered():
            with suppress(OSError, ValueError):
                path = self.path(place)
                if path.is_file():
                    entries.append(Entry(path.name, place, path.stat().st_size, at))
        return entries

    def remember(self, path: Path) -> None:
        """Remember a file that was opened, before those opened earlier."""
        folder = user_folder()
        if folder is None:
            return
        now = time.strftime("%Y-%m-%d %H:%M")
        others = [entry for entry in _remembered() if entry[0] != str(path)]
        text = json.dumps([(str(path), now), *others][:_RECENT])
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(OSError), replacing_all(True) as create:
            create(folder / "recent.json", private=True).write(text.encode())


def can_open(name: str) -> bool:
    """Return whether a name is that of a survey file or a file of rules."""
    path = Path(name)
    named = any(file_format.is_named(path) for file_format in formats.FORMATS)
    return named or path.suffix == ".toml"


def check_name(name: str) -> None:
    """Refuse names of sent files that are not those of survey files."""
    odd = name.startswith(".") or printable(name) != name
    odd = odd or len(name.encode()) > _LONGEST
    survey = can_open(name) and not name.endswith(".toml")
    if odd or Path(name).name != name or "\\" in name or not survey:
        raise ValueError(said("start", "bad_name", file=name, longest=_LONGEST))


def _remembered() -> list[tuple[str, str]]:
    """Return the files that were opened last, and when; damage is forgotten."""
    folder = user_folder()
    with suppress(OSError, ValueError, TypeError):
        kept: Any = json.loads((folder / "recent.json").read_text()) if folder else []
        return [(str(place), str(at)) for place, at in kept]
    return []
