"""The cache of compiled code, from which only trusted files are loaded.

Loaded code is run. So the directory, each build in it and each file must belong to the
user or to root, and nobody else may write there or be able to replace the directory in
an open parent. Each is opened first, without following links, and checked on its
descriptor, from which the next is opened: what was checked is what is read. If a check
fails, nothing is loaded or written, and a warning says why.

Windows has no owners and modes of this kind: there paths are used unchecked.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

_DAY = 86400.0  # seconds
_KEPT = 30.0  # days that a build stays after its last use
_PATIENCE = 600.0  # seconds to wait for another process that compiles the same
_PAUSE = 0.05  # seconds between two checks whether it is done

POSIX = os.name == "posix"
# Do not follow links, nor wait for the other end of a named pipe.
_FLAGS = ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")
_FILE = sum(getattr(os, name, 0) for name in _FLAGS)

_log = logging.getLogger("riskcore")


class UntrustedError(Exception):
    """Somebody else could have put code there; the message says where and why."""


def read(build: str, name: str) -> bytes | None:
    """Return what ``write`` stored; None if it is absent, damaged or not trusted."""
    with _opened(build) as folder:
        try:
            return None if folder is None else folder.read(name)
        except OSError:
            return None
        except UntrustedError as reason:
            _refuse(reason)
            return None


def write(build: str, name: str, content: bytes) -> None:
    """Store a file, completely or not at all; warn if that fails."""
    with _opened(build, create=True) as folder:
        if folder is not None:
            try:
                folder.write(name, content)
            except OSError as error:
                _warn_not_kept(f"in {folder.path}: {error.strerror}")


@contextmanager
def locked(build: str, name: str) -> Iterator[None]:
    """Keep out other processes that would compile the same file.

    A waiting process goes on when the other is done or dead, or after ten minutes. If
    nothing can be stored, or the system has no such locks, nobody waits.
    """
    with _opened(build, create=True) as folder:
        file = None if folder is None else folder.lock(name)
        try:
            yield
        finally:
            if file is not None:
                _unlock(file)


@contextmanager
def _opened(build: str, create: bool = False) -> Iterator[_Folder | None]:
    """Open the directory of a build; None if it is absent or not trusted."""
    root = folder = None
    try:
        try:
            path = root_path()
            if path is not None:
                root = _Folder.open(path, create)
                folder = root.inside(build, create)
            elif create:
                _warn_not_kept("for a user without a home directory")
        except UntrustedError as reason:
            _refuse(reason)
        except OSError as error:
            if create:  # a reader just finds no cache yet
                _warn_not_kept(f"in {path}: {error.strerror}")
        yield folder
    finally:
        for directory in (folder, root):
            if directory is not None:
                directory.close()


def _refuse(reason: UntrustedError) -> None:
    say_once(logging.WARNING, f"compiled code is neither loaded nor kept: {reason}")


def _warn_not_kept(why: str) -> None:
    """Warn, once in a process, that compiled code is lost when it ends."""
    if not not_kept:
        not_kept.append(why)
        _log.warning(
            "compiled code cannot be kept %s; each process compiles again, for some "
            "seconds. Set RISKCORE_CACHE_DIR to the absolute path of a directory that "
            "you own and can write",
            why,
        )


not_kept: list[str] = []


@cache
def say_once(level: int, message: str) -> None:
    """Log a message, once in a process."""
    _log.log(level, "%s", message)


class _Folder:
    """A checked directory; its entries are opened relative to it."""

    def __init__(self, path: str, file: int | None) -> None:
        self.path = path
        self.file = file  # its descriptor; None on Windows
        self.target = path if file is None else file

    @classmethod
    def open(cls, path: str, create: bool) -> _Folder:
        """Open the root directory; check it and its parents."""
        if create and not os.path.isdir(path):
            parent = os.path.dirname(path)
            os.makedirs(parent, exist_ok=True)
            if POSIX:
                _check_parents(path, parent, None)
            with suppress(FileExistsError):
                os.mkdir(path, 0o700)
        folder = cls(path, _open_directory(path, path, None))
        if folder.file is not None:
            with folder._closed_on_error():
                _check_owner(os.fstat(folder.file), path)
                _check_parents(path, "..", folder.file)
        return folder

    def inside(self, name: str, create: bool) -> _Folder:
        """Open and check a subdirectory; a new one removes old ones."""
        path = os.path.join(self.path, name)
        if create:
            with suppress(FileExistsError):
                os.mkdir(self._at(name), 0o700, dir_fd=self.file)
                self._remove_old_builds()
        folder = _Folder(path, _open_directory(path, name, self.file))
        if folder.file is not None:
            with folder._closed_on_error():
                _check_owner(os.fstat(folder.file), path)
        folder._mark_used()
        return folder

    def close(self) -> None:
        """Close the directory."""
        if self.file is not None:
            os.close(self.file)

    def read(self, name: str) -> bytes | None:
        """Return the content of a file if it is undamaged and trusted."""
        flags = os.O_RDONLY | _FILE
        try:
            file = os.open(self._at(name), flags, dir_fd=self.file)
        except OSError:
            self._refuse_link(name)
            return None
        with os.fdopen(file, "rb") as opened:
            if self.file is not None:
                path, status = os.path.join(self.path, name), os.fstat(file)
                if not stat.S_ISREG(status.st_mode):
                    raise UntrustedError(f"{path} is not a regular file")
                _check_owner(status, path)
            whole = opened.read()
        digest, content = whole[:32], whole[32:]
        return content if hashlib.sha256(content).digest() == digest else None

    def write(self, name: str, content: bytes) -> None:
        """Write a file, its digest first; no process ever reads half of it."""
        part = f"{name}.{os.urandom(8).hex()}.part"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE
        file = os.open(self._at(part), flags, 0o600, dir_fd=self.file)
        try:
            with os.fdopen(file, "wb") as opened:
                opened.write(hashlib.sha256(content).digest() + content)
            self._replace(part, name)
        except BaseException:
            with suppress(OSError):
                os.unlink(self._at(part), dir_fd=self.file)
            raise

    def lock(self, name: str) -> int | None:
        """Return the descriptor that holds the lock of a file; None if impossible."""
        try:
            import fcntl
        except ImportError:  # Windows: two processes may compile the same
            return None
        try:
            flags = os.O_RDWR | os.O_CREAT | _FILE
            file = os.open(self._at(f"{name}.lock"), flags, 0o600, dir_fd=self.file)
        except OSError:
            return None
        try:
            last = time.monotonic() + _PATIENCE
            while True:
                with suppress(BlockingIOError):
                    # The system frees it when its holder ends, however that happens.
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return file
                _wait_for(name)
                if time.monotonic() > last:
                    return file
        except OSError:  # a file system without locks
            return file
        except BaseException:
            os.close(file)
            raise

    def _at(self, name: str) -> str:
        """Return the name of an entry for system calls with ``dir_fd``."""
        return os.path.join(self.path, name) if self.file is None else name

    def _replace(self, old: str, new: str) -> None:
        here = {"src_dir_fd": self.file, "dst_dir_fd": self.file}
        os.replace(self._at(old), self._at(new), **here)

    @contextmanager
    def _closed_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _refuse_link(self, name: str) -> None:
        if self.file is not None:
            _refuse_link(os.path.join(self.path, name), name, self.file)

    def _mark_used(self) -> None:
        """Mark the build as used, once a day: unmarked builds are removed."""
        with suppress(OSError):
            if time.time() - os.stat(self.target).st_mtime > _DAY:
                os.utime(self.target)

    def _remove_old_builds(self) -> None:
        """Remove the builds that no process has used for ``_KEPT`` days."""
        import shutil

        unused = time.time() - _KEPT * _DAY
        with suppress(OSError):
            for entry in list(os.scandir(self.target)):
                ours = re.fullmatch(r"[0-9a-f]{24}(\.old)?", entry.name)
                if not ours or not entry.is_dir(follow_symlinks=False):
                    continue
                if entry.stat(follow_symlinks=False).st_mtime < unused:
                    # Renamed first: another process finds a whole build or none.
                    gone = f"{entry.name[:24]}.old"
                    with suppress(OSError):
                        self._replace(entry.name, gone)
                    shutil.rmtree(self._at(gone), ignore_errors=True, dir_fd=self.file)


def _open_directory(path: str, name: str, parent: int | None) -> int | None:
    """Open a directory that is not a link; None on Windows."""
    if not POSIX:
        return None
    try:
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | _FILE, dir_fd=parent)
    except OSError:
        _refuse_link(path, name, parent)
        raise


def _refuse_link(path: str, name: str, parent: int | None) -> None:
    with suppress(OSError):
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            raise UntrustedError(f"{path} is a link to somewhere else")


def _check_owner(status: os.stat_result, path: str) -> None:
    """Refuse a file that another user than root could have changed."""
    if status.st_uid not in (0, os.geteuid()):
        owner = f"another user (number {status.st_uid})"
        raise UntrustedError(f"{path} belongs to {owner}")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UntrustedError(f"others can write {path}: remove it, or chmod go-w")


def _check_parents(path: str, parent: str, start: int | None) -> None:
    """Refuse a directory that anybody could replace by another."""
    below = None
    while True:
        status = os.stat(parent, dir_fd=start)
        if (status.st_dev, status.st_ino) == below:
            return  # above the topmost directory there is only itself
        if status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX:
            raise UntrustedError(f"anybody can write in a directory above {path}")
        below = status.st_dev, status.st_ino
        parent = f"{parent}/.."


def _wait_for(name: str) -> None:
    say_once(logging.INFO, f"waiting for another process that compiles {name}")
    time.sleep(_PAUSE)


def _unlock(file: int) -> None:
    import fcntl

    # A process forked meanwhile has the descriptor too: to close ours is not enough.
    with suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_UN)
    os.close(file)


def root_path() -> str | None:
    """Return the path of the cache; None without a home directory."""
    chosen = os.environ.get("RISKCORE_CACHE_DIR")
    if chosen:
        if not os.path.isabs(chosen):
            raise UntrustedError(f"RISKCORE_CACHE_DIR={chosen!r} is not absolute")
        return str(Path(chosen))  # without a final slash, which would follow links
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "~/AppData/Local")
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(base):  # the specification says to ignore it
            base = "~/.cache"
    path = os.path.join(os.path.expanduser(base), "riskcore")
    return path if os.path.isabs(path) else None  # a user without a home
