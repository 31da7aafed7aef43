"""Files that appear together or not at all, never more readable than their sources.

A run writes to hidden files next to the targets (``.riskcore-<16 hex>.part``, mode
0600) and renames them once all are complete. The guarantees:

- A single file is the old one or the new one, whole, at any moment.
- Several files: an error or Ctrl-C leaves all as they were, and so does SIGTERM if it
  raises, as it does in the command; otherwise it kills. For the microseconds between
  the first and the last renaming, others can see some of the new files next to old
  ones. A process killed then (SIGKILL, power loss) leaves that state and a journal of
  the remaining renamings. The next run of the same user that writes into any of the
  folders completes them first, so that all files are new; if another program has
  changed or removed one of the files, it leaves all as they are. A process killed while
  it undoes renamings after an error leaves a journal from which the next run makes all
  files old.
- Hidden files of a killed process are removed by the next run of the same user that
  writes into their folder. A live process locks its files, so they are not removed.
  Without such locks (Windows, some network file systems) nothing is removed or
  completed.

Two runs that write the same files at the same time are not kept apart.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import shutil
import stat
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Protocol, TypeAlias

_LOCKS = find_spec("fcntl") is not None
if _LOCKS:
    import fcntl

# The part of `Creating` that writers of files use.
Create: TypeAlias = Callable[[Path], IO[bytes]]
Identity: TypeAlias = tuple[int, ...]

_HIDDEN = re.compile(r"\.riskcore-[0-9a-f]{16}\.(part|old|journal|undo)")
_PART, _OLD, _JOURNAL, _UNDO = ".part", ".old", ".journal", ".undo"
_PRIVATE = 0o600
_GROUP, _OTHERS = 0o070, 0o007
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_LONGEST_JOURNAL = 1 << 22
# Errors of folders that cannot be synchronized, whose files are written all the same.
_NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)

# Hidden files of this process that wait to replace their targets.
_waiting: set[Path] = set()
# One entry while files are renamed; one entry if the process is to end instead. Each
# side announces what it is about to do before it looks at the other. A lock could be
# left taken by Ctrl-C.
_placing: list[None] = []
_abandoned: list[None] = []
_LOOK = 0.01  # seconds
# For each block of `written_files` the files that were written in it.
_written: list[list[Path]] = []


@contextmanager
def written_files() -> Iterator[list[Path]]:
    """Give a list to which the files written in this block are added."""
    found: list[Path] = []
    _written.append(found)
    try:
        yield found
    finally:
        _written.pop()


def abandon() -> bool:
    """Remove the hidden files of this process, which is to end at once.

    Call it from another thread than the writing thread. No file is written afterwards.
    Return False if files are being renamed just now.
    """
    _abandoned.append(None)
    if _placing:
        _abandoned.clear()
        return False
    for path in [*_waiting]:
        _remove(path)
    return True


@contextmanager
def _renaming() -> Iterator[None]:
    """Keep `abandon` out, or wait for the end of the process."""
    _placing.append(None)
    try:
        while _abandoned:
            time.sleep(_LOOK)
        yield
    finally:
        _placing.pop()


class Creating(Protocol):
    """The function that `replacing_all` gives."""

    def __call__(self, path: Path, private: bool = False) -> IO[bytes]:
        """Open a temporary file for a path; only its owner may read a private one."""


def refuse_existing(path: Path, overwrite: bool) -> None:
    """Raise unless a file may be written at a path: to be called before long work.

    Files that a killed run left in the folder are completed or removed first.
    """
    _refuse_name(path)
    _tidy(Path(os.path.realpath(path)).parent)
    _refuse(path, overwrite)


def refuse_sources(targets: Iterable[Path], sources: Iterable[Path]) -> None:
    """Raise if a file to be written is a source, or two are the same.

    Names that differ only in case are the same on some file systems.
    """
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
        if (known := str(real.with_name(name))) in seen:
            raise ValueError(f"{target}: two output files have this name")
        seen.add(known)


@contextmanager
def replacing(
    path: Path, overwrite: bool, sources: Iterable[str | Path] = ()
) -> Iterator[IO[bytes]]:
    """Open a temporary file that replaces one as by `replacing_all`."""
    with replacing_all(overwrite, sources) as create:
        yield create(path)


@contextmanager
def replacing_all(
    overwrite: bool, sources: Iterable[str | Path] = ()
) -> Iterator[Creating]:
    """Give a function that opens files, which appear together or not at all.

    Until they appear only their owner may read them. A file that replaces another then
    has its mode, owner and group, and no rights of the group if that cannot be kept. A
    new file has the mode that the umask gives. No file gives the group or others a
    right that they do not have on every file of ``sources``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing_all(overwrite=False) as create:
    ...         _ = create(Path(folder) / "a.txt").write(b"a")
    ...         _ = create(Path(folder) / "b.txt").write(b"b")
    ...     sorted(os.listdir(folder))
    ['a.txt', 'b.txt']
    """
    limits = [_Limit.of(source) for source in sources]
    opened: dict[Path, tuple[IO[bytes], bool]] = {}
    tidied: set[Path] = set()
    with ExitStack() as leftovers, ExitStack() as closing:

        def create(path: Path, private: bool = False) -> IO[bytes]:
            _refuse_name(path)
            target = Path(os.path.realpath(path))  # of a link, its destination
            if target.parent not in tidied:
                _tidy(target.parent)
                tidied.add(target.parent)
            _refuse(path, overwrite)
            if target in opened:
                raise ValueError(f"{path}: two output files have this name")
            file = _open_hidden(target.parent, leftovers)
            closing.enter_context(file)
            opened[target] = file, private
            return file

        yield create
        for target, (file, _) in opened.items():
            file.flush()
            os.fsync(file.fileno())
            _refuse(target, overwrite)
        moves = [
            _move(target, file, limits, private)
            for target, (file, private) in opened.items()
        ]
        if not _LOCKS:
            closing.close()  # Windows renames no open file
        with _renaming():
            # From here on parts may be needed to complete a run that is killed.
            leftovers.pop_all()
            if moves:
                _place(moves)
            _waiting.difference_update(move.part for move in moves)


# Refusals


def _refuse_name(path: Path) -> None:
    if "\0" in str(path):
        raise ValueError(f"{str(path)!r}: a file name cannot have a NUL character")


def _refuse(path: Path, overwrite: bool) -> None:
    """Raise unless a file may be written at a path."""
    found = _found(path)
    if found is None and path.is_symlink():
        raise FileNotFoundError(
            f"{path}: a broken link; name the file itself, or remove the link"
        )
    if found is not None and stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(f"{path}: a directory, not a file")
    if found is not None and not stat.S_ISREG(found.st_mode):
        raise OSError(f"{path}: a device, not a file")
    if found is not None and not overwrite:
        raise FileExistsError(
            f"{path}: already exists; ask to overwrite it, or choose another name"
        )
    _refuse_folder(Path(os.path.realpath(path)).parent if found else path.parent)


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


@dataclass(frozen=True, slots=True)
class _Limit:
    """The mode of a source, and its group; None if it cannot be read."""

    mode: int
    group: int | None

    @classmethod
    def of(cls, source: str | Path) -> _Limit:
        """Return the limit that a source sets to files made from it."""
        try:
            found = os.stat(source)
        except OSError:
            return cls(_PRIVATE, None)
        return cls(stat.S_IMODE(found.st_mode), found.st_gid)

    def narrow(self, mode: int, group: int) -> int:
        """Return the mode of a file without rights that the source does not give."""
        mode &= self.mode
        if group != self.group:
            # For the source, members of another group are others.
            mode &= ~_GROUP | (self.mode & _OTHERS) << 3
        return mode


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


# Hidden files


def _hidden_name(ending: str) -> str:
    return f".riskcore-{secrets.token_hex(8)}{ending}"


def _open_hidden(folder: Path, leftovers: ExitStack) -> IO[bytes]:
    """Open a new hidden file, locked, which only its owner may read."""
    while True:
        path = folder / _hidden_name(_PART)
        leftovers.callback(_remove, path)
        leftovers.callback(_waiting.discard, path)
        _waiting.add(path)
        file = open(path, "xb", opener=_private)  # noqa: SIM115
        try:
            locked = _lock(file.fileno(), path)
        except BaseException:
            file.close()
            raise
        if locked:
            return file
        file.close()
        _remove(path)


def _private(path: str, flags: int) -> int:
    """Open a file that only its owner may read: an opener for `open`."""
    return os.open(path, flags | _NOFOLLOW, _PRIVATE)


def _lock(file: int, path: Path) -> bool:
    """Lock a new file; return False if another run took it for a leftover before."""
    if hasattr(os, "fchmod"):
        os.fchmod(file, _PRIVATE)  # the umask may have removed more
    if not _LOCKS:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # no locks here: others cannot take one, either
    return _is_at(file, path)


def _is_at(file: int, path: Path) -> bool:
    """Return whether an open file is the one at a path."""
    try:
        there = path.lstat()
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(file), there)


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


def _sync(folder: Path) -> None:
    """Make renamings and removals in a folder survive a loss of power."""
    if not _LOCKS:
        return
    try:
        opened = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise
    finally:
        os.close(opened)


# From parts to targets


@dataclass(frozen=True, slots=True)
class _Move:
    """The renaming of a part to its target, and the old file kept to undo it."""

    target: Path
    part: Path
    identity: Identity  # of the part, wherever it is
    before: Identity | None  # of the file at the target, if any
    mode: int
    owner: int | None  # if it is not the user who writes
    old: Path | None  # where the file at the target, if any, is kept
    old_mode: int

    @property
    def waits(self) -> bool:
        """Whether the new file can still replace what was at the target."""
        return (
            _identity_at(self.part) == self.identity
            and _identity_at(self.target) == self.before
        )

    @property
    def is_placed(self) -> bool:
        """Whether the new file is at the target."""
        return _identity_at(self.target) == self.identity

    def keep(self) -> None:
        """Keep the file at the target."""
        if self.old is None:
            return
        try:
            os.link(self.target, self.old)
        except OSError:  # a file system without links
            _copy(self.target, self.old)

    def place(self) -> None:
        """Give the new file its owner and mode, and move it to the target."""
        if hasattr(os, "fchmod"):
            opened = os.open(self.part, os.O_RDONLY | _NOFOLLOW)
            try:
                if self.owner is not None:
                    with suppress(OSError):
                        os.fchown(opened, self.owner, -1)
                os.fchmod(opened, self.mode)
            finally:
                os.close(opened)
        os.replace(self.part, self.target)

    def take_back(self) -> None:
        """Move the file that was kept back to the target."""
        if self.old is None:
            self.target.unlink(missing_ok=True)
            return
        with suppress(OSError):
            os.chmod(self.old, self.old_mode)  # a copy has another
        os.replace(self.old, self.target)

    def to_dict(self, folder: Path) -> dict[str, Any]:
        """Return plain data for a journal in a folder."""
        return {
            **{field.name: getattr(self, field.name) for field in fields(self)},
            "target": os.path.relpath(self.target, folder),
            "part": self.part.name,
            "old": self.old and self.old.name,
        }

    @classmethod
    def of(cls, entry: Mapping[str, Any], folder: Path) -> _Move:
        """Return the move of an entry of a journal in a folder; refuse invalid ones."""
        target = folder / entry["target"]
        part, old = entry["part"], entry["old"]
        identity, before = tuple(entry["identity"]), entry["before"]
        numbers = [*identity, *(before or ()), entry["mode"], entry["old_mode"]]
        if (
            not (_HIDDEN.fullmatch(part) and part.endswith(_PART))
            or (old and not (_HIDDEN.fullmatch(old) and old.endswith(_OLD)))
            or not all(isinstance(number, int) for number in numbers)
            or not isinstance(entry["owner"], int | None)
        ):
            raise ValueError("not an entry of a journal")
        return cls(
            target,
            target.with_name(part),
            identity,
            None if before is None else tuple(before),
            entry["mode"],
            entry["owner"],
            target.with_name(old) if old else None,
            entry["old_mode"],
        )


def identity(found: os.stat_result) -> Identity:
    """Return the identity of a file, which neither renaming nor chmod changes."""
    return found.st_ino, found.st_size, found.st_mtime_ns


def _identity_at(path: Path) -> Identity | None:
    """Return the identity of the file at a path, None if there is no file."""
    try:
        return identity(path.lstat())
    except FileNotFoundError:
        return None


def _move(
    target: Path, file: IO[bytes], limits: Iterable[_Limit], private: bool
) -> _Move:
    """Return the renaming of a complete file to its target."""
    before = target.stat() if target.exists() else None
    if before is not None and hasattr(os, "fchown"):
        with suppress(OSError):
            os.fchown(file.fileno(), -1, before.st_gid)
    now = os.fstat(file.fileno())
    owner = None
    if before is not None and before.st_uid != now.st_uid and os.geteuid() == 0:
        owner = before.st_uid
    return _Move(
        target,
        Path(file.name),
        identity(now),
        None if before is None else identity(before),
        _mode(before, now.st_gid, limits, private),
        owner,
        None if before is None else target.with_name(_hidden_name(_OLD)),
        0 if before is None else stat.S_IMODE(before.st_mode),
    )


def _copy(path: Path, copy: Path) -> None:
    """Copy a file; only its owner may read the copy."""
    with path.open("rb") as source, open(copy, "xb", opener=_private) as target:
        found = os.fstat(source.fileno())
        shutil.copyfileobj(source, target)
        target.flush()
        os.fsync(target.fileno())
        if hasattr(os, "fchown"):
            with suppress(OSError):
                os.fchown(target.fileno(), found.st_uid, found.st_gid)
    os.utime(copy, ns=(found.st_atime_ns, found.st_mtime_ns))


def _place(moves: Sequence[_Move]) -> None:
    """Move all new files to their targets; on an error none."""
    with ExitStack() as closing:
        journal = None
        try:
            # A single renaming is atomic. But only a journal shows later that a file
            # that was given to another owner was ours.
            alone = len(moves) == 1 and moves[0].owner is None
            if not alone:
                if _LOCKS:
                    journal = moves[0].target.with_name(_hidden_name(_JOURNAL))
                    _write_journal(journal, moves, closing)
                for move in moves:
                    move.keep()
            for move in moves:
                move.place()
                for found in _written:
                    found.append(move.target)
        except BaseException:
            placed = [move for move in moves if not os.path.lexists(move.part)]
            # An interrupt may come after the last renaming.
            if len(placed) < len(moves):
                if placed and journal is not None:
                    journal = _mark_undo(journal)
                for move in placed:
                    move.take_back()
                    for found in _written:
                        found[:] = [path for path in found if path != move.target]
                for move in moves:
                    _remove(move.part)
            _clear(moves, journal)
            raise
        _clear(moves, journal)


def _clear(moves: Sequence[_Move], journal: Path | None) -> None:
    """Remove old files and the journal, once all targets are old or all are new."""
    folders = _folders(moves)
    for move in moves:
        if move.old is not None:
            _remove(move.old)
    # Before the journal is removed, all else must be on disk.
    _try_to_sync(folders)
    if journal is not None:
        _remove(journal)
        for folder in folders:
            _remove(folder / journal.with_suffix(_JOURNAL).name)
        _try_to_sync(folders)


def _try_to_sync(folders: Iterable[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            _sync(folder)


def _folders(moves: Iterable[_Move]) -> list[Path]:
    return list(dict.fromkeys(move.target.parent for move in moves))


# The journal


def _write_journal(journal: Path, moves: Sequence[_Move], closing: ExitStack) -> None:
    """Write a journal of the renamings, locked until ``closing``.

    It is in the folder of the first target; in other folders a note of the same name
    says where it is.
    """
    first, *others = _folders(moves)
    for folder in others:
        note = {"journal": os.path.relpath(journal, folder)}
        _write_hidden(folder / journal.name, note, closing)
    for folder in (first, *others):
        _sync(folder)
    entries = [move.to_dict(first) for move in moves]
    _write_hidden(journal, {"moves": entries}, closing)
    _sync(first)


def _write_hidden(path: Path, content: Any, closing: ExitStack) -> None:
    with ExitStack() as leftovers:
        file = closing.enter_context(_open_hidden(path.parent, leftovers))
        file.write(json.dumps(content).encode())
        file.flush()
        os.fsync(file.fileno())
        os.replace(file.name, path)


def _mark_undo(journal: Path) -> Path:
    """Mark a journal as one whose renamings are to be undone; return its new path."""
    undo = journal.with_suffix(_UNDO)
    os.replace(journal, undo)
    _try_to_sync([undo.parent])
    return undo


# Leftovers of killed runs


def _tidy(folder: Path) -> None:
    """Complete the journals of killed runs in a folder, and remove other leftovers."""
    if not _LOCKS:
        return
    try:
        names = sorted(filter(_HIDDEN.fullmatch, os.listdir(folder)))
    except OSError:
        return
    folder = Path(os.path.realpath(folder))
    done = [_completed(folder / name) for name in names if not name.endswith(_PART)]
    if not all(done):
        return  # the parts may still be needed
    for name in names:
        if name.endswith(_PART):
            with suppress(OSError), _taken(folder / name):
                (folder / name).unlink()


@contextmanager
def _taken(path: Path) -> Iterator[int]:
    """Open and lock a hidden file that is ours and that nobody uses."""
    if not _is_ours(path.lstat()):
        raise PermissionError(f"{path}: belongs to another user")
    flags = os.O_NONBLOCK | _NOFOLLOW
    try:
        file = os.open(path, os.O_RDWR | flags)
    except PermissionError:  # it already has the mode of a target
        file = os.open(path, os.O_RDONLY | flags)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_ours(os.fstat(file)) or not _is_at(file, path):
            raise FileNotFoundError(f"{path}: has become another file")
        yield file
    finally:
        os.close(file)


def _is_ours(found: os.stat_result) -> bool:
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid()


def _completed(path: Path) -> bool:
    """Complete the renamings of a journal; return False if it is in use or fails."""
    if path.suffix == _OLD:
        return True  # removed with its journal
    try:
        with _taken(path) as file:
            content = _content(file)
            if content is None:
                return True
            if "moves" not in content:
                return _completed_by_note(path, path.parent / content["journal"])
            moves = [_Move.of(entry, path.parent) for entry in content["moves"]]
            if path.suffix == _UNDO:
                _undo(moves)
            else:
                _redo(moves)
            _clear(moves, path)
    except (ValueError, TypeError, KeyError):
        return True  # not a journal of ours
    except OSError:
        with suppress(OSError):
            return not _is_ours(path.lstat())
    return True


def _completed_by_note(note: Path, journal: Path) -> bool:
    """Complete the journal that a note names; remove the note if there is none."""
    if not _HIDDEN.fullmatch(journal.name) or journal.name != note.name:
        return True
    for ending in (_JOURNAL, _UNDO):
        path = journal.with_suffix(ending)
        if os.path.lexists(path):
            return _completed(path)
    _remove(note)
    return True


def _content(file: int) -> dict[str, Any] | None:
    """Return the content of a journal, None if it cannot be trusted."""
    if stat.S_IMODE(os.fstat(file).st_mode) != _PRIVATE:
        return None
    content = json.loads(os.read(file, _LONGEST_JOURNAL))
    return content if isinstance(content, dict) else None


def _redo(moves: Sequence[_Move]) -> None:
    """Make all targets new, if all files for it are still there."""
    waiting = [move for move in moves if move.waits]
    if all(move in waiting or move.is_placed for move in moves):
        for move in waiting:
            move.place()
    _remove_parts(moves)


def _undo(moves: Sequence[_Move]) -> None:
    """Make all targets old."""
    for move in moves:
        if move.is_placed:
            move.take_back()
    _remove_parts(moves)


def _remove_parts(moves: Iterable[_Move]) -> None:
    for move in moves:
        if _identity_at(move.part) == move.identity:
            _remove(move.part)
