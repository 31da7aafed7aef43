"""Calls on several threads, which Ctrl-C may interrupt at any moment.

``concurrent.futures`` and ``threading`` take their locks in Python code. Ctrl-C between
the line that takes a lock and the line that releases it leaves it taken, and the other
threads wait forever. Here threads share only a list and a queue implemented in C.
"""

from __future__ import annotations

import _thread
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from queue import Empty, SimpleQueue
from typing import Any

# Below this many elements starting a thread costs more than it saves.
THREADED = 100_000
# Seconds between checks for threads that ended without a signal.
_LOOK = 0.1


def usual_threads() -> int:
    """Return the default number of threads: two, if the machine has them."""
    return min(2, os.cpu_count() or 1)


def parts_of(n: int, number: int) -> list[tuple[int, int]]:
    """Return the start and stop of consecutive parts of ``range(n)``."""
    return list(pairwise(n * part // number for part in range(number + 1)))


def over(n: int, work: Callable[[int, int], Any]) -> None:
    """Do ``work(start, stop)`` for parts of ``range(n)``, on threads if it is long."""
    threads = 1 if n < THREADED else usual_threads()
    in_parts(threads, work, parts_of(n, threads))


def in_parts(
    threads: int,
    work: Callable[..., Any],
    parts: Sequence[tuple[int, int]],
    *more: Iterable[Any],
) -> list[Any]:
    """Return ``work(start, stop, ...)`` of each part, with more arguments for each."""
    pairs = zip(parts, *more, strict=True)
    return in_threads(threads, work, [(*part, *rest) for part, *rest in pairs])


def in_threads(
    threads: int, work: Callable[..., Any], calls: Iterable[tuple[Any, ...]]
) -> list[Any]:
    """Return ``work(*call)`` of each call, in their order."""
    calls = list(calls)
    threads = min(threads, len(calls))
    if threads <= 1:
        return [work(*call) for call in calls]
    results: list[Any] = [None] * len(calls)
    numbers = iter(range(len(calls)))
    failures: list[BaseException] = []
    ended: list[int] = []
    signals: SimpleQueue[None] = SimpleQueue()

    def serve() -> None:
        try:
            for i in numbers:
                if failures:
                    break
                results[i] = work(*calls[i])
        except BaseException as failure:
            failures.append(failure)
        finally:
            ended.append(1)
            signals.put(None)

    def wait(started: int) -> None:
        while len(ended) < started:
            with suppress(Empty):
                signals.get(timeout=_LOOK)

    started = 0
    try:
        for _ in range(threads):
            _thread.start_new_thread(serve, ())
            started += 1
        wait(started)
    except BaseException as stop:
        failures.append(stop)  # so that no other call begins
        wait(started)
        raise
    if failures:
        raise failures[0]
    return results
