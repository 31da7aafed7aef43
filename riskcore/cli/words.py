"""How the words of a command line are read: numbers, pairs, recodings."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from riskcore.common import text_numbers
from riskcore.data.recoding_words import KINDS, is_rule, recoding_of

Read = TypeVar("Read")


def _option(read: Callable[[str], Read]) -> Callable[[str], Read]:
    """Return a reader of words whose errors argparse shows as they are."""

    @wraps(read)
    def reader(text: str) -> Read:
        try:
            return read(text)
        except (OSError, TypeError, ValueError) as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return reader


fraction = _option(text_numbers.fraction)
number = _option(text_numbers.number)
whole = _option(text_numbers.whole)


def delimiter(text: str) -> str:
    """Read a delimiter; a tab, which is hard to type, may be given by name."""
    return "\t" if text in ("tab", "\\t") else text


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


def split_by_columns(
    option: str, pairs: Iterable[tuple[str, str]], columns: Iterable[Any]
) -> list[tuple[str, str]]:
    """Return pairs split where a column ends: its name may hold an equals sign."""
    known = set(map(str, columns))
    return [_split(option, "=".join(one), known) for one in pairs]


def _split(option: str, text: str, known: set[str]) -> tuple[str, str]:
    """Return a name, or several joined by plus signs, and the value behind them."""
    cuts = [at for at, letter in enumerate(text[:-1]) if letter == "="]
    fits = [
        at
        for at in cuts
        if text[:at] in known or known.issuperset(text[:at].split("+"))
    ]
    if len(fits) > 1:
        first, second = (text[:at] for at in fits[:2])
        raise ValueError(
            f"{option} {text!r}: {first!r} and {second!r} are both columns, so this "
            "can be read in two ways; rename one of them"
        )
    at = (fits or cuts)[0]
    return text[:at], text[at + 1 :]


def related(text: str) -> str | tuple[str, str]:
    """Read KEY=COLUMN, or the word for the columns that are found."""
    return text if text == "derived" else pair(text)


def recoding(text: str) -> tuple[str, str | Path]:
    """Read VARIABLE=RULE; a rule without a known keyword is the path of a file.

    A variable whose name holds an equals sign ends before the rule.
    """
    first = pair(text)
    splits = [(text[: at.start()], text[at.end() :]) for at in re.finditer("=", text)]
    name, rule = next((one for one in splits if _is_rule(one[1])), first)
    if not is_rule(rule):
        if not Path(rule).exists():
            raise argparse.ArgumentTypeError(
                f"{text!r}: {rule} is neither a file nor a rule; rules are {KINDS}"
            )
        return name, Path(rule)
    try:
        recoding_of(rule)
    except (OSError, TypeError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None
    return name, rule


def _is_rule(text: str) -> bool:
    """Return whether a text begins as a rule does, or is the path of a file."""
    return is_rule(text) or (bool(text) and Path(text).exists())


def seed(text: str) -> int:
    """Read the seed of --shuffle; the word may also be the file that follows."""
    try:
        return whole(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(
            f"{error}; to shuffle without a seed, put -- or another option after "
            f"--shuffle: --shuffle -- {text}"
        ) from None
