"""Files that appear together or not at all, never more open than what they are made of.

A run writes to hidden files beside the targets (``.riskcore-<16 hex>.part``, mode 0600)
and renames them once all are complete. What is guaranteed:

- A single file is the old one or the new one, whole, at any moment.
- Several files: an error or Ctrl-C leaves all as they were, and so does SIGTERM where
  it raises, as the command sees to; by itself it kills as below. Between the first
  and the last renaming, microseconds, others can see some of the new files beside
  old ones. A process killed there (SIGKILL, power loss) leaves that state, with a
  journal of what is lacking, to the next run of the same user that is to write into any
  of the folders: it first completes what was killed, so that all files are new. If
  another program has changed or removed one of these files meanwhile it leaves them all
  as they are. A process killed while it undoes the renamings after an error leaves a
  journal from which the next run makes all files old.
- Hidden files of a killed process are removed by the next run of the same user that is
  to write into their folder, those of a live process never: it holds a lock on them.
  Where there are no such locks (Windows, some network file systems) nothing is removed
  or completed.

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
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Protocol, TypeAlias

_LOCKS = find_spec("fcntl") is not None
if _LOCKS:
    import fcntl

# What `files.write` needs of the function that `replacing_all` gives.
Create: TypeAlias = Callable[[Path], IO[bytes]]
Identity: TypeAlias = tuple[int, ...]

_HIDDEN = re.compile(r"\.riskcore-[0-9a-f]{16}\.(part|old|journal|undo)")
_PART, _OLD, _JOURNAL, _UNDO = ".part", ".old", ".journal", ".undo"
_PRIVATE = 0o600
_GROUP, _OTHERS = 0o070, 0o007
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_LONGEST_JOURNAL = 1 << 22
# A folder that cannot be synchronised is no reason to refuse its files.
_NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)


# Hidden files of this process that wait to take their places.
_waiting: set[Path] = set()
# One entry while files take their places; whether the process ends instead. Each side
# says what it is about to do before it looks at the other: no lock, which Ctrl-C could
# leave taken.
_placing: list[None] = []
_abandoned: list[None] = []
_LOOK = 0.01  # seconds
# For each block of `written_files` the files that took their places in it.
_noting: list[list[Path]] = []


@contextmanager
def written_files() -> Iterator[list[Path]]:
    """Give a list that gets the files which take their places in this block."""
    found: list[Path] = []
    _noting.append(found)
    try:
        yield found
    finally:
        _noting.pop()


def abandon() -> bool:
    """Remove the hidden files of this process, which is to end at once.

    For another thread than the one that writes. From then on no file takes its place.
    """
    _abandoned.append(None)
    if _placing:
        _abandoned.clear()
        return False
    for path in [*_waiting]:
        _remove(path)
    return True


@contextmanager
def _taking_places() -> Iterator[None]:
    """Keep `abandon` out, or wait for the end of the process."""
    _placing.append(None)
    try:
        while _abandoned:
            time.sleep(_LOOK)
        yield
    finally:
        _placing.pop()


class Creating(Protocol):
    """What `replacing_all` gives."""

    def __call__(self, path: Path, private: bool = False) -> IO[bytes]:
        """Open a temporary file for a path; a private one stays its owner's alone."""


def refuse_existing(path: Path, overwrite: bool) -> None:
    """Raise unless a file may be written at ``path``, to be asked before long work.

    What a killed run left in the folder is completed or removed first.
    """
    _refuse_name(path)
    _tidy(Path(os.path.realpath(path)).parent)
    _refuse(path, overwrite)


def refuse_sources(targets: Iterable[Path], sources: Iterable[Path]) -> None:
    """Raise if a file to be written is one that is read, or two are the same.

    Two that are told apart by case alone are the same on some file systems.
    """
    read = [source for source in sources if source.exists()]
    seen: set[str] = set()
    for target in targets:
        _refuse_name(target)
        if target.exists() and any(target.samefile(source) for source in read):
            raise ValueError(f"{target}: is read from, and cannot be written too")
        real = _name_in_any_case(target)
        if real in seen:
            raise ValueError(f"{target}: two files of this name")
        seen.add(real)


@contextmanager
def replacing(
    path: Path, overwrite: bool, sources: Iterable[str | Path] = ()
) -> Iterator[IO[bytes]]:
    """Open a temporary file that takes the place of ``path`` once it is complete.

    Parameters and errors are those of `replacing_all`.
    """
    with replacing_all(overwrite, sources) as create:
        yield create(path)


@contextmanager
def replacing_all(
    overwrite: bool, sources: Iterable[str | Path] = ()
) -> Iterator[Creating]:
    """Give a function that opens files, which appear together or not at all.

    Until they take their places only their owner may read them. Then a file that
    replaces another has its mode, owner and group; no rights of the group if that
    cannot be kept. A new file has the mode that the umask gives. No file gives the
    group or others a right that they do not have on every file of ``sources``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing_all(overwrite=False) as create:
    ...         _ = create(Path(folder) / "a.txt").write(b"a")
    ...         _ = create(Path(folder) / "b.txt").write(b"b")
    ...     sorted(os.listdir(folder))
    ['a.txt', 'b.txt']
    """
    limits = [_limit(source) for source in sources]
    opened: dict[Path, tuple[IO[bytes], bool]] = {}
    tidied: set[Path] = set()
    with ExitStack() as leftovers, ExitStack() as closing:

        def create(path: Path, private: bool = False) -> IO[bytes]:
            _refuse_name(path)
            target = Path(os.path.realpath(path))  # of a link, what it points to
            if target.parent not in tidied:
                _tidy(target.parent)
                tidied.add(target.parent)
            _refuse(path, overwrite)
            if target in opened:
                raise ValueError(f"{path}: two files of this name")
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
        with _taking_places():
            # From here on parts may be needed to complete what is killed.
            leftovers.pop_all()
            if moves:
                _place(moves)
            _waiting.difference_update(move.part for move in moves)


# Refusals


def _refuse_name(path: Path) -> None:
    if "\0" in str(path):
        raise ValueError(f"{str(path)!r}: a file name cannot have a NUL character")


def _name_in_any_case(path: Path) -> str:
    real = Path(os.path.realpath(path))
    return str(real.with_name(unicodedata.normalize("NFC", real.name).casefold()))


def _refuse(path: Path, overwrite: bool) -> None:
    found = _found(path)
    if found is None and path.is_symlink():
        raise FileNotFoundError(
            f"{path}: a link to nowhere; name the file itself, or remove the link"
        )
    if found is not None and stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(f"{path}: a directory, not a file")
    if found is not None and not stat.S_ISREG(found.st_mode):
        raise OSError(f"{path}: a device, not a file")
    if found is not None and not overwrite:
        raise FileExistsError(f"{path}: exists; overwriting was not asked for")
    _refuse_folder(Path(os.path.realpath(path)).parent if found else path.parent)


def _found(path: Path) -> os.stat_result | None:
    """Return what is known of a file, None if there is none."""
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(f"{path}: a loop of symbolic links") from None
        raise


def _refuse_folder(folder: Path) -> None:
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
    """The rights on a source, and the group that has those of the group."""

    mode: int
    group: int | None

    def narrowed(self, mode: int, group: int) -> int:
        """Return a mode without rights that there are not on the source."""
        mode &= self.mode
        if group != self.group:
            # To the source the members of another group are others.
            mode &= ~_GROUP | (self.mode & _OTHERS) << 3
        return mode


def _limit(source: str | Path) -> _Limit:
    try:
        found = os.stat(source)
    except OSError:
        return _Limit(_PRIVATE, None)
    return _Limit(stat.S_IMODE(found.st_mode), found.st_gid)


def _mode(
    before: os.stat_result | None, group: int, limits: Iterable[_Limit], private: bool
) -> int:
    """Return the mode of a file of this group in the place of another, if any."""
    if private:
        return _PRIVATE
    if before is None:
        mode = 0o666 & ~_umask()
    else:
        mode = stat.S_IMODE(before.st_mode) & 0o777
        if group != before.st_gid:
            mode &= ~_GROUP
    for limit in limits:
        mode = limit.narrowed(mode, group)
    return mode | stat.S_IRUSR  # else its owner could not even remove its leftovers


def _umask() -> int:
    # It can only be read by setting it: strictly, for other threads.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


# Hidden files


def _hidden_name(ending: str) -> str:
    return f".riskcore-{secrets.token_hex(8)}{ending}"


def _open_hidden(folder: Path, leftovers: ExitStack) -> IO[bytes]:
    """Open a new hidden file that is locked and that its owner alone may read."""
    while True:
        path = folder / _hidden_name(_PART)
        leftovers.callback(_remove, path)
        leftovers.callback(_waiting.discard, path)
        _waiting.add(path)
        file = open(path, "xb", opener=_private)  # noqa: SIM115
        try:
            held = _hold(file.fileno(), path)
        except BaseException:
            file.close()
            raise
        if held:
            return file
        file.close()
        _remove(path)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | _NOFOLLOW, _PRIVATE)


def _hold(file: int, path: Path) -> bool:
    """Lock a new file; False if it was taken for a leftover before that."""
    if hasattr(os, "fchmod"):
        os.fchmod(file, _PRIVATE)  # the umask may have taken more
    if not _LOCKS:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # no locks here: others cannot take one either
    return _is_at(file, path)


def _is_at(file: int, path: Path) -> bool:
    """Whether an open file is the one at a path."""
    try:
        there = path.lstat()
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(file), there)


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


def _sync(folder: Path) -> None:
    """Let what was renamed or removed in a folder last through a loss of power."""
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
    """What is to take the place of a target, and the old file that is kept for undoing.

    ``identity`` tells the part from other files, wherever it is, and ``before`` the
    file at the target; it and ``old`` are None if there is none. ``owner`` is given if
    it is not whoever writes.
    """

    target: Path
    part: Path
    identity: Identity
    before: Identity | None
    mode: int
    owner: int | None
    old: Path | None
    old_mode: int

    @property
    def waits(self) -> bool:
        """Whether the new file can still take the place of what there was."""
        return (
            _identity_at(self.part) == self.identity
            and _identity_at(self.target) == self.before
        )

    @property
    def is_placed(self) -> bool:
        """Whether the new file is at the target."""
        return _identity_at(self.target) == self.identity

    def keep(self) -> None:
        """Keep what is at the target."""
        if self.old is None:
            return
        try:
            os.link(self.target, self.old)
        except OSError:  # a file system without links
            _copy(self.target, self.old)

    def place(self) -> None:
        """Give the new file its owner and mode, and put it at the target."""
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
        """Put what was kept at the target again."""
        if self.old is None:
            self.target.unlink(missing_ok=True)
            return
        with suppress(OSError):
            os.chmod(self.old, self.old_mode)  # a copy has another
        os.replace(self.old, self.target)

    def to_dict(self, folder: Path) -> dict[str, Any]:
        """Return plain data for a journal in a folder."""
        return {
            "target": os.path.relpath(self.target, folder),
            "part": self.part.name,
            "identity": self.identity,
            "before": self.before,
            "mode": self.mode,
            "owner": self.owner,
            "old": self.old and self.old.name,
            "old_mode": self.old_mode,
        }

    @classmethod
    def of(cls, entry: Mapping[str, Any], folder: Path) -> _Move:
        """Return the move that a journal in a folder says; refuse what is none."""
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
            raise ValueError("no entry of a journal")
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
    """Return what tells a file from others; neither renaming nor chmod changes it."""
    return found.st_ino, found.st_size, found.st_mtime_ns


def _identity_at(path: Path) -> Identity | None:
    """Return what tells the file at a path from others, None if there is none."""
    try:
        return identity(path.lstat())
    except FileNotFoundError:
        return None


def _move(
    target: Path, file: IO[bytes], limits: Iterable[_Limit], private: bool
) -> _Move:
    """Return how a file that is complete takes its place."""
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
    """Put all new files at their targets; on an error none."""
    with ExitStack() as closing:
        journal = None
        try:
            # One renaming is whole by itself. What is given to another owner cannot
            # be told later for a file of ours but by a journal.
            alone = len(moves) == 1 and moves[0].owner is None
            if not alone:
                if _LOCKS:
                    journal = _journal_path(moves)
                    _write_journal(journal, moves, closing)
                for move in moves:
                    move.keep()
            for move in moves:
                move.place()
                for found in _noting:
                    found.append(move.target)
        except BaseException:
            placed = [move for move in moves if not os.path.lexists(move.part)]
            # An interrupt may come after the last one.
            if len(placed) < len(moves):
                if placed and journal is not None:
                    journal = _turn_back(journal)
                for move in placed:
                    move.take_back()
                    for found in _noting:
                        found[:] = [path for path in found if path != move.target]
                for move in moves:
                    _remove(move.part)
            _clear(moves, journal)
            raise
        _clear(moves, journal)


def _clear(moves: Sequence[_Move], journal: Path | None) -> None:
    """Remove what was kept and the journal, once all targets are old or all new."""
    folders = _folders(moves)
    for move in moves:
        if move.old is not None:
            _remove(move.old)
    # Before the journal goes, all else must last.
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


def _journal_path(moves: Sequence[_Move]) -> Path:
    return moves[0].target.with_name(_hidden_name(_JOURNAL))


def _write_journal(journal: Path, moves: Sequence[_Move], closing: ExitStack) -> None:
    """Write down what is to be renamed, locked until ``closing``.

    The journal is in the folder of the first target. In other folders a file of the
    same name says where it is.
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


def _turn_back(journal: Path) -> Path:
    """Let the journal say that what was renamed is to be undone."""
    undo = journal.with_suffix(_UNDO)
    os.replace(journal, undo)
    _try_to_sync([undo.parent])
    return undo


# What killed runs left


def _tidy(folder: Path) -> None:
    """Complete what killed runs left half done in a folder, and remove the rest."""
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
        raise PermissionError(f"{path}: of somebody else")
    flags = os.O_NONBLOCK | _NOFOLLOW
    try:
        file = os.open(path, os.O_RDWR | flags)
    except PermissionError:  # it has the mode of a target already
        file = os.open(path, os.O_RDONLY | flags)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_ours(os.fstat(file)) or not _is_at(file, path):
            raise FileNotFoundError(f"{path}: another file now")
        yield file
    finally:
        os.close(file)


def _is_ours(found: os.stat_result) -> bool:
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid()


def _completed(path: Path) -> bool:
    """Complete what a journal says; False if it is in use, or that fails."""
    if path.suffix == _OLD:
        return True  # removed with its journal
    try:
        with _taken(path) as file:
            said = _said(file)
            if said is None:
                return True
            if "moves" not in said:
                return _noted(path, path.parent / said["journal"])
            moves = [_Move.of(entry, path.parent) for entry in said["moves"]]
            if path.suffix == _UNDO:
                _undo(moves)
            else:
                _redo(moves)
            _clear(moves, path)
    except (ValueError, TypeError, KeyError):
        return True  # no journal of ours
    except OSError:
        with suppress(OSError):
            return not _is_ours(path.lstat())
    return True


def _noted(note: Path, journal: Path) -> bool:
    """Complete the journal of which there is a note; remove a note of none."""
    if not _HIDDEN.fullmatch(journal.name) or journal.name != note.name:
        return True
    for ending in (_JOURNAL, _UNDO):
        path = journal.with_suffix(ending)
        if os.path.lexists(path):
            return _completed(path)
    _remove(note)
    return True


def _said(file: int) -> dict[str, Any] | None:
    """Return what is in a journal, None if it cannot be trusted."""
    if stat.S_IMODE(os.fstat(file).st_mode) != _PRIVATE:
        return None
    content = json.loads(os.read(file, _LONGEST_JOURNAL))
    return content if isinstance(content, dict) else None


def _redo(moves: Sequence[_Move]) -> None:
    """Make all targets new, if all that takes is still there."""
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
