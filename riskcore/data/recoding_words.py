"""Recodings in words, as ``from:15,30,45`` or the path of a recode file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riskcore.common.settings import gathered, pair
from riskcore.common.text_numbers import number, whole
from riskcore.data.date_words import ORDERS, PARTS

if TYPE_CHECKING:
    from riskcore.data.files.argus.metadata import Variable
    from riskcore.data.recode import Recoding


def is_rule(text: str) -> bool:
    """Return whether a text begins with the keyword of a rule."""
    kind, colon, _ = text.partition(":")
    if kind.partition(",")[0] in PARTS:
        return text != "age"
    return bool(colon) and kind in _MAKERS


def recoding_of(
    rule: Recoding | str | os.PathLike[str], variable: Variable | None = None
) -> Recoding:
    """Return the recoding of a rule in words, or of a recode file of mu-Argus."""
    from riskcore.data.argus_recode_file import read_recoding
    from riskcore.data.recode import Recoding

    if isinstance(rule, Recoding):
        return rule
    if not (isinstance(rule, str) and is_rule(rule)):
        if not Path(rule).exists():
            raise FileNotFoundError(
                f"{rule} is neither a file nor a rule; rules are {KINDS}"
            )
        return read_recoding(Path(rule), variable)
    before, _, order = rule.rpartition(":")
    if order in ORDERS and is_rule(before):
        return replace(recoding_of(before), order=order)
    kind, _, words = rule.partition(":")
    if kind.partition(",")[0] not in PARTS:
        return _MAKERS[kind](words)
    part, further, words = rule.partition(",")
    if further and not is_rule(words):
        raise ValueError(f"{words!r} is not a rule of numbers; rules are {KINDS}")
    return replace(recoding_of(words), dates=part) if further else Recoding(dates=part)


def recoding_for(name: Any, rule: Any, variable: Variable | None) -> Recoding:
    """Return the recoding of a variable, whose errors name the rule in words."""
    try:
        return recoding_of(rule, variable)
    except FileNotFoundError as error:
        said = str(error)
        if error.filename is not None:
            said = f"{error.filename}: {error.strerror}"
        raise FileNotFoundError(f"recodings of {name!r}: {said}") from None
    except (TypeError, ValueError) as error:
        if isinstance(rule, str) and is_rule(rule):
            raise type(error)(f"recodings of {name!r}: {rule!r}: {error}") from None
        raise


def recodings_of(
    recodings: Any, variables: Mapping[Any, Variable] | None = None
) -> dict[Any, Recoding]:
    """Return recodings by column; those in words and files are read."""
    from riskcore.common import arguments
    from riskcore.data.recode import Recoding

    if not isinstance(recodings, Mapping):
        shown = arguments.shown(recodings)
        raise TypeError(f"recodings={shown}: need a mapping by column")
    for name, rule in recodings.items():
        if not isinstance(rule, str | os.PathLike | Recoding):
            raise TypeError(
                f"recodings of {name!r}: {arguments.shown(rule)} is neither a Recoding "
                "nor a rule such as 'top:85' nor the path of a file of rules"
            )
    return {
        name: recoding_for(name, rule, (variables or {}).get(name))
        for name, rule in recodings.items()
    }


def rule_file(rule: Recoding | str | os.PathLike[str]) -> Path | None:
    """Return the file that a recoding was or will be read from, or None."""
    if isinstance(rule, str) and is_rule(rule):
        kind, _, words = rule.partition(":")
        return Path(words.rpartition(":")[0]) if kind == "hierarchy" else None
    source = getattr(rule, "source", None)
    if isinstance(rule, str | os.PathLike):
        return Path(rule)
    return Path(source) if source is not None and Path(source).exists() else None


def _level_of(text: str) -> Recoding:
    """Read FILE:LEVEL; return the recoding to that level of the file's hierarchy."""
    from riskcore.data.hierarchy import Hierarchy

    path, colon, level = text.rpartition(":")
    if not colon:
        raise ValueError(
            "need hierarchy:FILE:LEVEL; level 1 is the first level above the values"
        )
    return Hierarchy.read(path).recoding(whole(level))


def _intervals(text: str, closed: Any) -> Recoding:
    from riskcore.data.recode import Recoding

    breaks, equals, labels = text.partition("=")
    numbers = [_bound(point) for point in breaks.split(",")]
    names = [*map(_code, labels.split(","))] if equals else None
    return Recoding.intervals(numbers, names, closed=closed)


def _ends(text: str) -> Recoding:
    """Read top:BOUND=CODE or bottom:BOUND=CODE, or both with a comma between them."""
    from riskcore.data.recode import Recoding

    chosen: dict[str, Any] = {}
    for part in re.split(",(?=top:|bottom:)", text):
        side, _, words = part.partition(":")
        if side in chosen:
            raise ValueError(f"{side}: appears twice")
        bound, equals, label = words.partition("=")
        chosen[side] = bound if bound.endswith("%") else _bound(bound)
        if equals:
            chosen[f"{side}_label"] = _code(label)
    return Recoding.top_bottom(**chosen)


def _code(text: str) -> Any:
    """Return a new code, a number if the text writes one: text stays text anyway."""
    from riskcore.data.files.labels import code_number

    number = code_number(text)
    return text if number is None else number


def _bound(text: str) -> Any:
    """Read a number, or leave a date as its text."""
    from riskcore.data.dates import day_text, may_be_date

    if not may_be_date(text):
        return _plain_number(text)
    if day_text(text) is None:
        raise ValueError(f"{text!r}: write a date as 2024-01-31")
    return text


def _plain_number(text: str) -> int | float:
    """Read a number; return whole numbers as int, because they become codes."""
    value = number(text)
    return int(value) if value.is_integer() else value


def _mapping(text: str) -> Recoding:
    """Read OLD=NEW,OLD=NEW; as an old code * stands for all others."""
    from riskcore.data.recode import Recoding, Rule

    codes = gathered("map", map(pair, text.split(",")))
    rest = codes.pop("*", None)
    rules = tuple(Rule(new, old, old) for old, new in codes.items())
    # Padded: codes are compared as they are written, numbers too.
    return Recoding(rules, rest=rest, padded=True)


def _made(words: str, maker: str, read: Callable[[str], Any]) -> Recoding:
    """Return the recoding that a maker of `Recoding` makes of words."""
    from riskcore.data.recode import Recoding

    recoding: Recoding = getattr(Recoding, maker)(read(words))
    return recoding


# How the words of a recoding after its keyword are read.
_MAKERS: dict[str, Callable[[str], Recoding]] = {
    "upto": lambda words: _intervals(words, "right"),
    "from": lambda words: _intervals(words, "left"),
    "top": lambda words: _ends(f"top:{words}"),
    "bottom": lambda words: _ends(f"bottom:{words}"),
    "truncate": lambda words: _made(words, "truncation", whole),
    "round": lambda words: _made(words, "rounding", _plain_number),
    "hierarchy": _level_of,
    "map": _mapping,
}
# The keywords in a message.
KINDS = ", ".join([*PARTS[:-1], *(f"{one}:" for one in ("age", *_MAKERS))])
