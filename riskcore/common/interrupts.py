"""Delay Ctrl-C where it would be swallowed or leave a lock taken."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C, and SIGTERM if Python handles it, to the end of the block.

    For compiled code that calls Python and ignores its exceptions.
    """
    pressed: list[int] = []
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if callable(handler):
                before[number] = handler
                signal.signal(number, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for signal_number in pressed:
        signal.raise_signal(signal_number)
