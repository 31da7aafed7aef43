"""The secret of a safe file: 256 random bits behind its order, new ids and ties.

If an order could be guessed, suppressed values could be found by trying.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Collection
from itertools import count, islice

import numpy as np
from numpy.typing import NDArray

from riskcore.data.ranks import by_appearance

Positions = NDArray[np.int64]

_BYTES = 32
_HEX = re.compile(f"[0-9a-f]{{{2 * _BYTES}}}")
# Labels of the streams: none gives another.
_UNITS = b"riskcore: order of the units"
_MEMBERS = b"riskcore: order of the members"
_IDS = b"riskcore: new ids of "
_TIES = b"riskcore: ties of plans "
_TREATMENTS = b"riskcore: treatment "


def new_secret() -> str:
    """Return 256 random bits, as hexadecimal text."""
    return secrets.token_hex(_BYTES)


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
