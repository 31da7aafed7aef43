"""TOML: read a file, find the line of a key, and write plain tables.

The standard library reads TOML, but gives places only for errors of the syntax.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from riskcore.common.settings import Place
from riskcore.common.small_file import read_small


class RulesError(ValueError):
    """A fault of a file of rules: the message begins with its line and column."""

    words = ""  # the fault without its place


_LARGEST = 1 << 20
_WIDTH = 88
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_KEY = r"""(?:[A-Za-z0-9_-]+|"(?:\\.|[^"\\])*"|'[^']*')"""
# The first words of a line: the name of a table, or a key and its sign.
_KEYS = re.compile(
    rf"\s*(?P<table>\[\[?)?\s*(?P<keys>{_KEY}(?:\s*\.\s*{_KEY})*)\s*[\]=]"
)
_SAID_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def read_text(path: Path) -> str:
    """Return the text of a small regular file in UTF-8."""
    raw = read_small(path, _LARGEST)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise RulesError(f"{_at(path, line)}: not text in UTF-8") from None


def parsed(text: str, name: str) -> dict[str, Any]:
    """Return the tables of a text; an error has the name, the line and the column."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise RulesError(f"{name}: nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        said = str(error)
        match = _SAID_AT.search(said)
        place = [] if match is None else [group for group in match.groups() if group]
        where = _at(name, *(place or [text.count("\n") + 1]))
        said = said if match is None else said[: match.start()]
        raise RulesError(f"{where}: not TOML: {said}") from None


def _at(*parts: Any) -> str:
    """Return a file, a line and a column as programs write them."""
    return ":".join(map(str, parts))


def holds(tables: Any, place: Place) -> bool:
    """Return whether parsed tables have a key or an element at a place."""
    try:
        for name in place:
            tables = tables[name]
    except (IndexError, KeyError, TypeError):
        return False
    return True


def position(text: str, place: Place) -> str:
    """Return ``line:column`` of a key of a valid text, or of the table around it."""
    # Keys are searched line by line; what is inside a value, behind its key.
    text = text.replace("\r\n", "\n")
    at, names = 0, 0  # the position of the key, and how many names lead to it
    table, begin = Place(), 0
    for line in text.splitlines(keepends=True):
        if match := _KEYS.match(line):
            path = _names(match["keys"])
            outer = 0 if match["table"] else len(table)
            table, path = (path, path) if match["table"] else (table, table + path)
            common = min(len(path), len(place))
            if common > names and path[:common] == place[:common]:
                starts = [key.start() for key in re.finditer(_KEY, match["keys"])]
                which = max(common - outer, 1) - 1
                at, names = begin + match.start("keys") + starts[which], common
        begin += len(line)
    value: Any = parsed(text, "")
    for number, name in enumerate(place):
        if not holds(value, (name,)):
            break
        value = value[name]
        if number >= names:
            words = name if isinstance(name, str) else value
            at = _behind(text, at, words)
    line_number = text.count("\n", 0, at) + 1
    return _at(line_number, at - text.rfind("\n", 0, at))


def _names(keys: str) -> Place:
    """Return the names of a dotted key."""
    value: Any = tomllib.loads(f"{keys} = 0")
    names = []
    while isinstance(value, dict):
        [(name, value)] = value.items()
        names.append(name)
    return tuple(names)


def _behind(text: str, at: int, words: Any) -> int:
    """Return where a name or a plain value first stands behind a position."""
    if isinstance(words, dict | list):
        return at
    said = words if isinstance(words, str) else _written(words)
    match = re.compile(rf"[\"']?(?<![\w-]){re.escape(said)}(?![\w-])").search(
        text, at + 1
    )
    return at if match is None else match.start()


def toml_of(tables: Mapping[str, Any]) -> str:
    """Return plain tables as TOML: values first, then each table under its name."""
    own = {k: v for k, v in tables.items() if not isinstance(v, Mapping)}
    lines = [_line(key, value) for key, value in own.items()]
    for name, table in tables.items():
        if isinstance(table, Mapping):
            lines += ["", f"[{_key(name)}]"]
            lines += [_line(key, value) for key, value in table.items()]
    return "\n".join(lines) + "\n"


def _line(key: str, value: Any) -> str:
    """Return a key with its value, a long list with one element a line."""
    line = f"{_key(key)} = {_written(value)}"
    if len(line) <= _WIDTH or not isinstance(value, list):
        return line
    return "\n".join([f"{_key(key)} = [", *(f"    {_written(v)}," for v in value), "]"])


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _quoted(name)


def _quoted(text: str) -> str:
    """Return a text in quotes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{text!r}: TOML has no such text") from None
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _written(value: Any) -> str:
    """Return a value on one line."""
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} cannot be written as a rule")
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        members = (f"{_key(k)} = {_written(v)}" for k, v in value.items())
        return f"{{ {', '.join(members)} }}" if value else "{}"
    if isinstance(value, Iterable):
        return f"[{', '.join(map(_written, value))}]"
    raise TypeError(f"{value!r} cannot be written as a rule")
