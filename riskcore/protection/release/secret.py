"""Secrets of the owner of a file: the key of the records, the order, the new ids.

If an order can be guessed, or anybody can compute a digest, suppressed values can be
found by trying. So digests are keyed, with a key that is in no record, and orders come
from 256 random bits.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
import sys
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Positions = NDArray[np.int64]

_FILE = "record.key"
_BYTES = 32
_HEX = re.compile(f"[0-9a-f]{{{2 * _BYTES}}}")
# Labels of the streams and of the id of a key: none gives another.
_KEY_ID = b"riskcore: id of the key of records"
_UNITS = b"riskcore: order of the units"
_MEMBERS = b"riskcore: order of the members"
_IDS = b"riskcore: new ids of "
_TIES = b"riskcore: ties of plans "
_TREATMENTS = b"riskcore: treatment "
_GIVEN = b"riskcore: order of the given seed "


@dataclass(frozen=True, slots=True, repr=False)
class Key:
    """The key with which a user's records distinguish one input file from another.

    Attributes
    ----------
    value : bytes
        256 random bits.
    """

    value: bytes

    @property
    def id(self) -> str:
        """An id that differs by key and reveals nothing of it."""
        return hmac.new(self.value, _KEY_ID, hashlib.sha256).hexdigest()[:16]

    def digest_of(self, paths: Sequence[Path]) -> str:
        """Return the HMAC-SHA256 of a file, or of the files of a data set.

        Files in folders named ``column=value`` differ by these, too.
        """
        if len(paths) == 1:
            return str(self._digest(paths[0]).hexdigest())
        whole = hmac.new(self.value, digestmod=hashlib.sha256)
        for path in paths:
            folders = "/".join(part for part in path.parts[:-1] if "=" in part)
            whole.update(hashlib.sha256(os.fsencode(folders)).digest())
            whole.update(self._digest(path).digest())
        return whole.hexdigest()

    def _digest(self, path: Path) -> Any:
        with path.open("rb") as file:
            return hashlib.file_digest(
                file, lambda: hmac.new(self.value, digestmod=hashlib.sha256)
            )


def key_folder() -> Path | None:
    """Return the folder of the key; None if the user has no home.

    It is ``RISKCORE_CONFIG_DIR`` of the environment, else ``riskcore`` where the system
    keeps a user's settings.
    """
    chosen = os.environ.get("RISKCORE_CONFIG_DIR")
    if chosen:
        return Path(chosen)
    local, xdg = os.environ.get("LOCALAPPDATA"), os.environ.get("XDG_CONFIG_HOME")
    if sys.platform == "win32" and local:
        return Path(local) / "riskcore"
    # Relative paths are to be ignored, says the XDG specification.
    if sys.platform not in ("win32", "darwin") and xdg and Path(xdg).is_absolute():
        return Path(xdg) / "riskcore"
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "riskcore"
    return home / ".config" / "riskcore"


def key_file() -> Path | None:
    """Return the path of the key; None if the user has no home."""
    folder = key_folder()
    return None if folder is None else folder / _FILE


def user_key(*, create: bool = True) -> Key | None:
    """Return the user's key, made at first use; None if there is no place for it."""
    path = key_file()
    if path is None:
        return None
    if create and not path.exists():
        try:
            _make(path)
        except OSError:
            return None
    try:
        return _read(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _make(path: Path) -> None:
    """Write a new key at once, as other processes may look for it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    number = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(number, "w", encoding="ascii") as file:
            file.write(f"{secrets.token_hex(_BYTES)}\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            with suppress(FileExistsError):  # another process was faster
                os.link(part, path)
        except OSError:  # a file system without links
            if not path.exists():
                part.rename(path)
    finally:
        part.unlink(missing_ok=True)


def _read(path: Path) -> Key:
    with path.open("rb") as file:
        about = os.fstat(file.fileno())
        if hasattr(os, "geteuid"):
            _refuse_exposed(path, about)
        text = file.read(4 * _BYTES).decode("ascii", "replace").strip()
    if not _HEX.fullmatch(text):
        raise ValueError(
            f"{path}: not a key of riskcore ({2 * _BYTES} hexadecimal digits); put the "
            "right key back, or remove the file and a new key is made"
        )
    return Key(bytes.fromhex(text))


def _refuse_exposed(path: Path, about: os.stat_result) -> None:
    if not stat.S_ISREG(about.st_mode):
        raise ValueError(f"{path}: the key of records is not a file")
    if about.st_uid != os.geteuid():
        raise ValueError(f"{path}: the key of records belongs to another user")
    if about.st_mode & 0o077:
        raise ValueError(
            f"{path}: others may read or write the key of records; if no one has seen "
            f"it, chmod 600 {path}, else remove it and a new key is made"
        )


def new_secret() -> str:
    """Return 256 random bits, as hexadecimal text."""
    return secrets.token_hex(_BYTES)


def secret_of_seed(seed: int) -> str:
    """Return the secret of a seed, for tests: seeds can be found by trying."""
    return hashlib.sha256(_GIVEN + b"%d" % seed).hexdigest()


def check_secret(secret: str) -> str:
    """Return the secret if it has the form that `new_secret` gives."""
    if not (isinstance(secret, str) and _HEX.fullmatch(secret)):
        raise ValueError(f"secret: {2 * _BYTES} hexadecimal digits needed")
    return secret


class Draw:
    """Secret numbers that decide between keys of equal cost, others at each call."""

    def __init__(self, secret: str) -> None:
        self._secret, self._calls = secret, 0

    def __call__(self, size: int) -> NDArray[np.uint64]:
        """Return ``size`` numbers of 64 bits."""
        self._calls += 1
        return _numbers(self._secret, _TIES + b"%d" % self._calls, size)


def treatment_numbers(secret: str, label: str, size: int) -> NDArray[np.uint64]:
    """Return the 64-bit numbers of a treatment, others for each label."""
    return _numbers(secret, _TREATMENTS + label.encode(), size)


def random_order(secret: str, unit: Positions | None, n: int) -> Positions:
    """Return the positions of records in a secret order, the units together."""
    members = _numbers(secret, _MEMBERS, n)
    if unit is None:
        return np.argsort(members, kind="stable")
    place = by_appearance(unit)
    rank = _ranks(_numbers(secret, _UNITS, int(place.max(initial=-1)) + 1))
    return np.lexsort((members, rank[place]))


def random_ids(
    secret: str, column: str, codes: Positions, taken: Collection[int] = ()
) -> Positions:
    """Return new ids of a column: 1, 2, ... in a secret order, 0 if missing."""
    ids = np.zeros(codes.size, np.int64)
    present = codes >= 0
    place = by_appearance(codes[present])
    size = int(place.max(initial=-1)) + 1
    refused = set(taken)
    free = islice((number for number in count(1) if number not in refused), size)
    numbers = np.fromiter(free, np.int64, size)
    rank = _ranks(_numbers(secret, _IDS + column.encode(), size))
    ids[present] = numbers[rank[place]]
    return ids


def _numbers(secret: str, label: bytes, size: int) -> NDArray[np.uint64]:
    """Return the first 64-bit numbers of a stream."""
    stream = hashlib.shake_256(label + b"\0" + bytes.fromhex(secret))
    return np.frombuffer(stream.digest(8 * size), "<u8").astype(np.uint64)


def _ranks(numbers: NDArray[np.uint64]) -> Positions:
    ranks = np.empty(numbers.size, np.int64)
    ranks[np.argsort(numbers, kind="stable")] = np.arange(numbers.size)
    return ranks


def by_appearance(codes: Positions) -> Positions:
    """Return codes from 0 by their first appearance."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    place = np.empty(first.size, np.int64)
    place[np.argsort(first, kind="stable")] = np.arange(first.size)
    return place[inverse]
