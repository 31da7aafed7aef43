"""What was computed, kept a while by what it rests on."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Made = TypeVar("Made")

_KEPT = 3  # results of each kind
_KEPT_OF = {"prepared": 6, "states": 6}  # undo goes back through them
_KEPT_OF_MANY = 2  # results of each kind, of this many records and more: 100 MB each
_MANY = 300_000


class Kept:
    """The newest results of each kind, each made once."""

    records = 0  # of the file, once it was looked at

    def __init__(self) -> None:
        self._kept: dict[str, OrderedDict[Hashable, Any]] = {}
        self._locks: dict[str, threading.RLock] = {}
        # Held for a moment: who changes the rules may wait for what is being made.
        self._names = threading.Lock()

    def keep(self, kind: str, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what was made for a key, or make it and keep it a while."""
        with self._names:
            lock = self._locks.setdefault(kind, threading.RLock())
        with lock:  # results of other kinds need not wait
            kept = self._kept.setdefault(kind, OrderedDict())
            if key not in kept:
                kept[key] = make()
            kept.move_to_end(key)
            most = _KEPT_OF.get(kind, _KEPT)
            while len(kept) > (most if self.records < _MANY else _KEPT_OF_MANY):
                kept.popitem(last=False)
            result: Made = kept[key]
            return result

    def kept(self, kind: str, key: Hashable) -> Any:
        """Return what was made for a key; None if it is not there."""
        made = self._kept.get(kind)
        return None if made is None else made.get(key)

    def keep_slow(self, kind: str, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what `keep` would, but let others go on while it is made."""
        if self.kept(kind, key) is not None:
            return self.keep(kind, key, make)
        made = make()
        return self.keep(kind, key, lambda: made)
