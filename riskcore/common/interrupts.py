"""Delay Ctrl-C where it would be swallowed or leave a lock taken."""

from __future__ import annotations

import _thread
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uninterrupted(*, in_callback: bool = False) -> Iterator[None]:
    """Delay Ctrl-C and SIGTERM to the end of compiled code, or of a callback from C."""
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
        if in_callback:
            _thread.start_new_thread(_raise_later, (signal_number,))
        else:
            signal.raise_signal(signal_number)


def _raise_later(number: int) -> None:
    """Raise a signal when the main thread has left its callback."""
    time.sleep(0.05)
    signal.raise_signal(number)
