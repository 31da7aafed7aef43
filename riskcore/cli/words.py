"""How the words of a command line are read: numbers, pairs, recodings."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from riskcore.common import text_numbers

Read = TypeVar("Read")


def option_reader(read: Callable[[str], Read]) -> Callable[[str], Read]:
    """Return a reader of words whose errors argparse shows as they are."""

    @wraps(read)
    def reader(text: str) -> Read:
        try:
            return read(text)
        except (OSError, TypeError, ValueError) as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return reader


fraction = option_reader(text_numbers.fraction)
number = option_reader(text_numbers.number)
whole = option_reader(text_numbers.whole)


def records(text: str) -> int:
    """Read the number of records to simulate."""
    number = whole(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: need at least 1 record")
    return number


def grid_of(text: str) -> list[float]:
    """Read a number, START:STOP, START:STOP:COUNT or START:STOP:COUNT:SCALE."""
    from riskcore.accuracy.grid import grid

    first, *rest = text.split(":")
    if not rest:
        return [number(first)]
    if len(rest) > 3:
        raise argparse.ArgumentTypeError(f"{text!r} is not START:STOP:COUNT:SCALE")
    start, stop = number(first), number(rest[0])
    if len(rest) == 1 and not (start.is_integer() and stop.is_integer()):
        raise argparse.ArgumentTypeError(
            f"{text!r}: the ends are not whole numbers; give a count, as in {text}:20"
        )
    steps = int(stop - start) + 1 if len(rest) == 1 else whole(rest[1])
    scale: Any = rest[2] if len(rest) == 3 else "linear"
    try:
        return list(map(float, grid(start, stop, steps, scale)))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None
