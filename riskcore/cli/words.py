"""How the words of a command line are read: numbers, pairs, recodings."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable
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


def recoding(text: str) -> tuple[str, Any]:
    """Read VARIABLE=RULE; a rule without a known keyword is the path of a file.

    A variable whose name holds an equals sign ends before the rule.
    """
    first = pair(text)
    splits = [(text[: at.start()], text[at.end() :]) for at in re.finditer("=", text)]
    name, rule = next((one for one in splits if _is_rule(one[1])), first)
    kind, colon, words = rule.partition(":")
    if not colon or kind not in _MAKERS:
        if not Path(rule).exists():
            kinds = ", ".join(f"{one}:" for one in _MAKERS)
            raise argparse.ArgumentTypeError(
                f"{text!r}: {rule} is neither a file nor a rule; rules are {kinds}"
            )
        return name, Path(rule)
    try:
        return name, _MAKERS[kind](words)
    except (OSError, TypeError, ValueError, argparse.ArgumentTypeError) as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None


def _is_rule(text: str) -> bool:
    """Return whether a text begins as a rule does, or is the path of a file."""
    kind, colon, _ = text.partition(":")
    return bool(colon and kind in _MAKERS) or (bool(text) and Path(text).exists())


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


def _recoding_of(words: str, maker: str, read: Callable[[str], Any]) -> Any:
    """Return the recoding that a maker of `Recoding` makes of words."""
    from riskcore.data.recode import Recoding

    return getattr(Recoding, maker)(read(words))


def _codes(text: str) -> dict[str, str]:
    """Read OLD=NEW,OLD=NEW."""
    return gathered("map", [pair(one) for one in text.split(",")])


# How the words of a recoding after its keyword are read.
_MAKERS: dict[str, Callable[[str], Any]] = {
    "upto": lambda words: _intervals(words, "right"),
    "from": lambda words: _intervals(words, "left"),
    "top": lambda words: _end(words, "top"),
    "bottom": lambda words: _end(words, "bottom"),
    "truncate": lambda words: _recoding_of(words, "truncation", whole),
    "round": lambda words: _recoding_of(words, "rounding", _plain_number),
    "hierarchy": _level_of,
    "map": lambda words: _recoding_of(words, "mapping", _codes),
}
