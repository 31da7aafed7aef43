"""Files that appear whole or not at all, never more readable than their sources.

A run writes to hidden files next to the targets (``.riskcore-<16 hex>.part``, mode
0600) and renames them once all are complete. So an error, Ctrl-C or SIGTERM leaves all
targets as they were, and a target is at any moment the old file or the new one, whole.
A process killed within the microseconds of the renamings leaves some of them new.

Hidden files that a killed process left are removed by the next run of the same user
that writes into their folder. A live process locks its own; where there are no locks
(Windows, some network file systems) none is removed.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO, NamedTuple, Protocol, TypeAlias

from riskcore.common.interrupts import uninterrupted

_LOCKS = find_spec("fcntl") is not None
if _LOCKS:
    import fcntl

# The part of `Creating` that writers of files use.
Create: TypeAlias = Callable[[Path], IO[bytes]]
Identity: TypeAlias = tuple[int, ...]

_HIDDEN = re.compile(r"\.riskcore-[0-9a-f]{16}\.part")
_PRIVATE = 0o600
_GROUP, _OTHERS = 0o070, 0o007
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)

# Hidden files of this process, and an entry while they replace their targets.
_waiting: set[Path] = set()
_placing: list[None] = []
# For each block of `written_files` the files that were written in it.
_written: list[list[Path]] = []


@contextmanager
def written_files() -> Iterator[list[Path]]:
    """Give a list to which the files written in this block are added."""
    paths: list[Path] = []
    _written.append(paths)
    try:
        yield paths
    finally:
        _written.pop()


def abandon() -> bool:
    """Remove the hidden files of this process; return False while they take places."""
    if _placing:
        return False
    for path in [*_waiting]:
        _remove(path)
    return True


class Creating(Protocol):
    """The function that `replacing_all` gives."""

    def __call__(self, path: Path, private: bool = False) -> IO[bytes]:
        """Open a temporary file for a path; only its owner may read a private one."""


def refuse_existing(path: Path, overwrite: bool) -> None:
    """Raise unless a file may be written at a path: to be called before long work."""
    _refuse_name(path)
    tidy(Path(os.path.realpath(path)).parent)
    _refuse(path, overwrite)


def refuse_sources(targets: Iterable[Path], sources: Iterable[Path]) -> None:
    """Refuse output files that are sources, or differ in case alone."""
    read = [source for source in sources if source.exists()]
    seen: set[str] = set()
    for target in targets:
        _refuse_name(target)
        if target.exists() and any(target.samefile(source) for source in read):
            raise ValueError(
                f"{target}: an input file; choose another name for the output"
            )
        real = Path(os.path.realpath(target))
        name = unicodedata.normalize("NFC", real.name).casefold()
        if (folded_path := str(real.with_name(name))) in seen:
            raise ValueError(f"{target}: two output files have this name")
        seen.add(folded_path)


@contextmanager
def replacing_all(
    overwrite: bool, sources: Iterable[str | Path] = ()
) -> Iterator[Creating]:
    """Give a function that opens files, which appear together or not at all.

    Until they appear only their owner may read them. A file that replaces another then
    has its mode, owner and group, and no rights of the group if that cannot be kept. A
    new file has the mode that the umask gives. No file gives the group or others a
    right that they do not have on every file of ``sources``.
    """
    limits = [_Limit.of(source) for source in sources]
    opened: dict[Path, tuple[IO[bytes], bool]] = {}
    with ExitStack() as leftovers, ExitStack() as closing:

        def create(path: Path, private: bool = False) -> IO[bytes]:
            refuse_existing(path, overwrite)
            target = Path(os.path.realpath(path))  # of a link, its destination
            if target in opened:
                raise ValueError(f"{path}: two output files have this name")
            file = closing.enter_context(_open_hidden(target.parent, leftovers))
            opened[target] = file, private
            return file

        yield create
        for target, (file, private) in opened.items():
            file.flush()
            _set_rights(file, target, limits, private)
            os.fsync(file.fileno())
            _refuse(target, overwrite)
        if not _LOCKS:
            closing.close()  # Windows renames no open file
        _placing.append(None)
        try:
            with uninterrupted():
                for target, (file, _) in opened.items():
                    os.replace(file.name, target)
                    for paths in _written:
                        paths.append(target)
        finally:
            _placing.pop()


# Refusals


def _refuse_name(path: Path) -> None:
    """Refuse a name that no file can have."""
    if "\0" in str(path):
        raise ValueError(f"{str(path)!r}: a file name cannot have a NUL character")


def _refuse(path: Path, overwrite: bool) -> None:
    """Raise unless a file may be written at a path."""
    status = _found(path)
    if status is None and path.is_symlink():
        raise FileNotFoundError(
            f"{path}: a broken link; name the file itself, or remove the link"
        )
    if status is not None and stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(f"{path}: a directory, not a file")
    if status is not None and not stat.S_ISREG(status.st_mode):
        raise OSError(f"{path}: a device, not a file")
    if status is not None and not overwrite:
        raise FileExistsError(
            f"{path}: already exists; ask to overwrite it, or choose another name"
        )
    _refuse_folder(Path(os.path.realpath(path)).parent if status else path.parent)


def _found(path: Path) -> os.stat_result | None:
    """Return the status of a file, None if there is no file."""
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(f"{path}: a loop of symbolic links") from None
        raise


def _refuse_folder(folder: Path) -> None:
    """Raise unless files may be written into a folder."""
    if not folder.is_dir():
        if folder.exists():
            raise NotADirectoryError(f"{folder}: not a directory")
        raise FileNotFoundError(f"{folder}: no such directory")
    effective = os.access in os.supports_effective_ids
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=effective):
        raise PermissionError(f"{folder}: a directory that you may not write to")


# Who may read a file


class _Limit(NamedTuple):
    """The mode of a source, and its group; None if it cannot be read."""

    mode: int
    group: int | None

    @classmethod
    def of(cls, source: str | Path) -> _Limit:
        """Return the limit that a source sets to files made from it."""
        try:
            status = os.stat(source)
        except OSError:
            return cls(_PRIVATE, None)
        return cls(stat.S_IMODE(status.st_mode), status.st_gid)

    def narrow(self, mode: int, group: int) -> int:
        """Return the mode of a file without rights that the source does not give."""
        mode &= self.mode
        if group != self.group:
            # For the source, members of another group are others.
            mode &= ~_GROUP | (self.mode & _OTHERS) << 3
        return mode


def _set_rights(
    file: IO[bytes], target: Path, limits: Iterable[_Limit], private: bool
) -> None:
    """Give a complete file the owner, group and mode that its target shall have."""
    if not hasattr(os, "fchmod"):
        return
    before = target.stat() if target.exists() else None
    if before is not None:
        for owner, group in ((-1, before.st_gid), (before.st_uid, -1)):
            with suppress(OSError):
                os.fchown(file.fileno(), owner, group)
    group = os.fstat(file.fileno()).st_gid
    os.fchmod(file.fileno(), _mode(before, group, limits, private))


def _mode(
    before: os.stat_result | None, group: int, limits: Iterable[_Limit], private: bool
) -> int:
    """Return the mode of a file of a group that replaces another, if any."""
    if private:
        return _PRIVATE
    if before is None:
        mask = os.umask(0o077)  # can only be read by setting it; other threads see this
        os.umask(mask)
        mode = 0o666 & ~mask
    else:
        mode = stat.S_IMODE(before.st_mode) & 0o777
        if group != before.st_gid:
            mode &= ~_GROUP
    for limit in limits:
        mode = limit.narrow(mode, group)
    return mode | stat.S_IRUSR  # else its owner could not even remove its leftovers


def identity(status: os.stat_result) -> Identity:
    """Return the identity of a file, which neither renaming nor chmod changes."""
    return status.st_ino, status.st_size, status.st_mtime_ns


# Hidden files


def _open_hidden(folder: Path, leftovers: ExitStack) -> IO[bytes]:
    """Open a new hidden file, locked, which only its owner may read."""
    while True:
        path = folder / f".riskcore-{secrets.token_hex(8)}.part"
        leftovers.callback(_waiting.discard, path)
        leftovers.callback(_remove, path)
        _waiting.add(path)
        file = open(path, "xb", opener=_private)  # noqa: SIM115
        if hasattr(os, "fchmod"):
            os.fchmod(file.fileno(), _PRIVATE)  # the umask may have removed more
        if not _LOCKS or _lock(file.fileno()):
            return file
        file.close()


def _lock(file: int) -> bool:
    """Lock a new file; return False if another run took it for a leftover before."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # no locks here: others cannot take one, either
    return os.fstat(file).st_nlink > 0


def _private(path: str, flags: int) -> int:
    """Open a file that only its owner may read: an opener for `open`."""
    return os.open(path, flags | _NOFOLLOW, _PRIVATE)


def _remove(path: Path) -> None:
    """Remove a file if it is there."""
    with suppress(OSError):
        path.unlink()


def tidy(folder: Path) -> None:
    """Remove hidden files of this user that no process has locked."""
    if not _LOCKS or not folder.is_dir():
        return
    with suppress(OSError):
        for name in filter(_HIDDEN.fullmatch, os.listdir(folder)):
            with suppress(OSError):
                _remove_unlocked(folder / name)


def _remove_unlocked(path: Path) -> None:
    """Remove a file of this user; raise if a process has locked it."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | _NOFOLLOW)
    try:
        status = os.fstat(file)
        if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
    finally:
        os.close(file)
