"""Calls on several threads, which Ctrl-C may interrupt at any moment.

``concurrent.futures`` and ``threading`` take their locks in Python code. Ctrl-C between
the line that takes one and the line that would give it back leaves it taken, and the
other threads wait for it for ever. Here all that is shared is a list or a queue of C.
"""

from __future__ import annotations

import _thread
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from queue import Empty, SimpleQueue
from typing import Any

# Seconds until it is looked up whether a thread has ended whose word was missed.
_LOOK = 0.1


def usual_threads() -> int:
    """Return how many threads are used: two, if the machine has them."""
    return min(2, os.cpu_count() or 1)


def parts_of(n: int, number: int) -> list[tuple[int, int]]:
    """Cut ``range(n)`` into parts: where each begins and ends.

    Examples
    --------
    >>> parts_of(5, 2)
    [(0, 2), (2, 5)]
    """
    return list(pairwise(n * part // number for part in range(number + 1)))


def in_parts(
    threads: int,
    work: Callable[..., Any],
    parts: Sequence[tuple[int, int]],
    *more: Iterable[Any],
) -> list[Any]:
    """Return ``work(start, stop, ...)`` of each part, with what there is for it.

    Examples
    --------
    >>> in_parts(2, lambda start, stop, k: k * stop, [(0, 2), (2, 5)], [1, 10])
    [2, 50]
    """
    pairs = zip(parts, *more, strict=True)
    return in_threads(threads, work, [(*part, *rest) for part, *rest in pairs])


def in_threads(
    threads: int, work: Callable[..., Any], calls: Iterable[tuple[Any, ...]]
) -> list[Any]:
    """Return ``work(*call)`` of each call, in their order.

    Examples
    --------
    >>> in_threads(2, pow, [(2, 3), (3, 2)])
    [8, 9]
    """
    calls = list(calls)
    threads = min(threads, len(calls))
    if threads <= 1:
        return [work(*call) for call in calls]
    results: list[Any] = [None] * len(calls)
    numbers = iter(range(len(calls)))
    failures: list[BaseException] = []
    ended: list[int] = []
    word: SimpleQueue[None] = SimpleQueue()

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
            word.put(None)

    def wait(started: int) -> None:
        while len(ended) < started:
            with suppress(Empty):
                word.get(timeout=_LOOK)

    started = 0
    try:
        for _ in range(threads):
            _thread.start_new_thread(serve, ())
            started += 1
        wait(started)
    except BaseException as stop:
        failures.append(stop)  # so that no other call is begun
        wait(started)
        raise
    if failures:
        raise failures[0]
    return results
