"""TOML: read a file with the place of each key, and write plain tables.

The standard library reads TOML, but gives places only for errors of the syntax.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

# Names of keys, and positions in arrays.
Place: TypeAlias = tuple[str | int, ...]


class RulesError(ValueError):
    """A fault of a file of rules: the message begins with its line and column."""


_LARGEST = 1 << 20
_WIDTH = 88
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\])*"'
    r"|'[^']*'",
    re.DOTALL,
)
_OTHER = re.compile(r"[^,\]}\n#]*")
_SAID_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def read_text(path: Path) -> str:
    """Return the text of a small regular file in UTF-8."""
    with path.open("rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise OSError(f"{path}: a device or pipe, not a file")
        if about.st_size > _LARGEST:
            raise ValueError(f"{path}: more than {_LARGEST >> 20} MiB")
        raw = file.read()
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
        found = _SAID_AT.search(said)
        place = [] if found is None else [one for one in found.groups() if one]
        where = _at(name, *(place or [text.count("\n") + 1]))
        said = said if found is None else said[: found.start()]
        raise RulesError(f"{where}: not TOML: {said}") from None


def _at(*parts: Any) -> str:
    """Return a file, a line and a column as programs write them."""
    return ":".join(map(str, parts))


class Places:
    """The line and column of each key and each element of an array in a valid text."""

    def __init__(self, text: str) -> None:
        self._text = text.replace("\r\n", "\n")
        self._at: dict[Place, int] = {}
        self._arrays: dict[Place, int] = {}
        at, table = self._blank(0), Place()
        while at < len(self._text):
            if self._text[at] == "[":
                at, table = self._header(at)
            else:
                at = self._pair(at, table)
            at = self._blank(at)

    def __contains__(self, place: Place) -> bool:
        """Return whether the text has a key or an element at the place."""
        return place in self._at

    def of(self, place: Place) -> str:
        """Return ``line:column`` of a place, or of the nearest one around it."""
        while place and place not in self._at:
            place = place[:-1]
        at = self._at.get(place, 0)
        line = self._text.count("\n", 0, at) + 1
        return _at(line, at - self._text.rfind("\n", 0, at))

    def _blank(self, at: int) -> int:
        """Return the position after blanks, line ends and comments."""
        found = _BLANK.match(self._text, at)
        return at if found is None else found.end()

    def _header(self, at: int) -> tuple[int, Place]:
        """Read ``[a.b]`` or ``[[a.b]]``; return the position after it and the table."""
        several = self._text.startswith("[[", at)
        end, names = self._names(at + 1 + several)
        table = Place()
        for number, (name, start) in enumerate(names, 1):
            table = (*table, name)
            self._at.setdefault(table, start)
            if several and number == len(names):
                self._arrays[table] = self._arrays.get(table, -1) + 1
            table = self._element(table)
            self._at.setdefault(table, start)
        return self._text.index("]", end) + 1 + several, table

    def _element(self, place: Place) -> Place:
        """Return a place, or the last table of an array of tables."""
        last = self._arrays.get(place)
        return place if last is None else (*place, last)

    def _names(self, at: int) -> tuple[int, list[tuple[str, int]]]:
        """Read a dotted key; return the position after it, and each name with its."""
        names = []
        while True:
            at = self._blank(at)
            quoted = self._text[at] in "\"'"
            found = (_STRING if quoted else _BARE).match(self._text, at)
            assert found is not None
            name = found[0]
            names.append((_unquoted(name) if quoted else name, at))
            at = self._blank(found.end())
            if self._text[at] != ".":
                return at, names
            at += 1

    def _pair(self, at: int, table: Place) -> int:
        """Read ``a.b = value``; return the position after it."""
        end, names = self._names(at)
        for name, start in names:
            table = (*table, name)
            self._at.setdefault(table, start)
        return self._value(self._blank(end + 1), table)

    def _value(self, at: int, place: Place) -> int:
        """Read a value; return the position after it."""
        first = self._text[at]
        if first == "{":
            return self._members(at, place)
        if first == "[":
            return self._elements(at, place)
        found = (_STRING if first in "\"'" else _OTHER).match(self._text, at)
        assert found is not None
        return found.end()

    def _elements(self, at: int, place: Place) -> int:
        """Read an array; return the position after it."""
        at, position = self._blank(at + 1), 0
        while self._text[at] != "]":
            self._at[(*place, position)] = at
            at = self._after_comma(self._value(at, (*place, position)))
            position += 1
        return at + 1

    def _members(self, at: int, place: Place) -> int:
        """Read an inline table; return the position after it."""
        at = self._blank(at + 1)
        while self._text[at] != "}":
            at = self._after_comma(self._pair(at, place))
        return at + 1

    def _after_comma(self, at: int) -> int:
        """Return the position after a comma, if there is one, and blanks."""
        at = self._blank(at)
        return self._blank(at + 1) if self._text[at] == "," else at


def _unquoted(name: str) -> str:
    """Return what a quoted key says."""
    found: str = tomllib.loads(f"name = {name}")["name"]
    return found


def toml_of(tables: Mapping[str, Any]) -> str:
    """Return plain tables as TOML: values first, then each table under its name.

    >>> print(toml_of({"format": 1, "columns": {"keys": ["SEX", "AGE"]}}), end="")
    format = 1
    <BLANKLINE>
    [columns]
    keys = ["SEX", "AGE"]
    """
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
