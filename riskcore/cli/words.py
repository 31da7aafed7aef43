"""How the words of a command line are read: numbers, pairs, recodings."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

# A number as people write it; Python would also take 1_000, Arabic digits and sNaN.
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,9})?")
_MOST_DIGITS = 300


def delimiter(text: str) -> str:
    """Read a delimiter; a tab, which is hard to type, may be given by name."""
    return "\t" if text in ("tab", "\\t") else text


def records(text: str) -> int:
    """Read the number of records to simulate."""
    number = whole(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: need at least 1 record")
    return number


def fraction(text: str) -> float:
    """Read a fraction such as 0.00125 or 0.125%."""
    number = text.strip()
    exact = _decimal(number.removesuffix("%").rstrip(), text)
    percent = number.endswith("%")
    if not 0 <= exact <= (100 if percent else 1):
        raise argparse.ArgumentTypeError(f"{text} is not in [0, 1] (or 0% to 100%)")
    return float(exact.scaleb(-2) if percent else exact)


def number(text: str) -> float:
    """Read a number such as 0.01 or 1-1e-8."""
    if not text.startswith("1-"):
        return float(_decimal(text, text))
    below = _decimal(text[2:], text)
    if not -1 <= below <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not near 1: write the number")
    return float(1 - below)


def _decimal(number: str, text: str) -> Decimal:
    """Return a number exactly; ``text`` is what was written."""
    if len(number) > _MOST_DIGITS:
        raise argparse.ArgumentTypeError(
            f"a number of {len(number)} characters is too long"
        )
    if not _NUMBER.fullmatch(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return Decimal(number)


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


def whole(text: str) -> int:
    """Read a whole number."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number >= 0")
    if len(text) > _MOST_DIGITS:
        raise argparse.ArgumentTypeError(
            f"a whole number of {len(text)} digits is too long"
        )
    return int(text)


def gathered(option: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return pairs as a dict, and refuse a name that appears twice."""
    names = [name for name, _ in pairs]
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise ValueError(f"{option}: {twice[0]!r} appears twice")
    return dict(pairs)


def pair(text: str) -> tuple[str, str]:
    """Read NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def related(text: str) -> str | tuple[str, str]:
    """Read KEY=COLUMN, or the word for the columns that are found."""
    return text if text == "derived" else pair(text)


def recoding(text: str) -> tuple[str, Any]:
    """Read VARIABLE=RULE; a rule without a known keyword is the path of a file."""
    from riskcore.data.recode import Recoding

    name, rule = pair(text)
    kind, colon, value = rule.partition(":")
    makers: dict[str, Callable[[], Any]] = {
        "upto": lambda: _intervals(value, "right"),
        "from": lambda: _intervals(value, "left"),
        "top": lambda: _end(value, "top"),
        "bottom": lambda: _end(value, "bottom"),
        "truncate": lambda: Recoding.truncation(whole(value)),
        "round": lambda: Recoding.rounding(_plain_number(value)),
        "hierarchy": lambda: _level_of(value),
        "map": lambda: Recoding.mapping(
            gathered("map", [pair(one) for one in value.split(",")])
        ),
    }
    if not colon or kind not in makers:
        if not Path(rule).exists():
            kinds = ", ".join(f"{one}:" for one in makers)
            raise argparse.ArgumentTypeError(
                f"{text!r}: {rule} is neither a file nor a rule; rules are {kinds}"
            )
        return name, Path(rule)
    try:
        return name, makers[kind]()
    except (OSError, TypeError, ValueError, argparse.ArgumentTypeError) as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None


def _level_of(text: str) -> Any:
    """Read FILE:LEVEL; return the recoding to that level of the file's hierarchy."""
    from riskcore.data.hierarchy import Hierarchy

    path, colon, level = text.rpartition(":")
    if not colon:
        raise ValueError(
            "need hierarchy:FILE:LEVEL; level 1 is the first level above the values"
        )
    return Hierarchy.read(path).recoding(whole(level))


def _intervals(text: str, closed: Any) -> Any:
    from riskcore.data.recode import Recoding

    breaks, equals, labels = text.partition("=")
    numbers = [_plain_number(one) for one in breaks.split(",")]
    names = labels.split(",") if equals else None
    return Recoding.intervals(numbers, names, closed=closed)


def _end(text: str, side: str) -> Any:
    from riskcore.data.recode import Recoding

    bound, equals, label = text.partition("=")
    quantile = bound.endswith("%")
    chosen: dict[str, Any] = {side: bound if quantile else _plain_number(bound)}
    if equals:
        chosen[f"{side}_label"] = label
    return Recoding.top_bottom(**chosen)


def _plain_number(text: str) -> int | float:
    """Read a number; return whole numbers as int, because they become codes."""
    value = number(text)
    return int(value) if value.is_integer() else value
