"""Read the JSON of a private record, which may hold anything.

`riskcore.protect` writes such records; `riskcore run` takes the secret of one, and
`riskcore.check` checks a file against one.
"""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from riskcore.common.small_file import read_small

Read = TypeVar("Read")

# The version of the layout of the private record.
FORMAT = 4
_LARGEST = 1 << 26
_HEX = re.compile("[0-9a-f]+")


def plain_json(path: Path) -> Any:
    """Return the JSON of a file; refuse what is not plain data."""
    raw = read_small(path, _LARGEST)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("not text in UTF-8") from None
    try:
        return json.loads(
            text,
            parse_constant=_refuse_number,
            parse_int=_whole,
            parse_float=_float,
            object_pairs_hook=_object,
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from None


def _refuse_number(text: str) -> Any:
    raise ValueError(f"{reprlib.repr(text)} is not a number")


def _whole(text: str) -> int:
    if len(text) > 19:
        _refuse_number(text)
    return int(text)


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        _refuse_number(text)
    return number


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"{reprlib.repr(twice)} appears twice")
    return members


def record_of(path: Path, read: Callable[[dict[str, Any]], Read]) -> Read:
    """Return what is read of the content of a private record; errors name the file."""
    try:
        return read(_content(path))
    except (TypeError, ValueError, RecursionError) as error:
        said = "nested too deeply" if isinstance(error, RecursionError) else error
        raise ValueError(f"{path}: not a record of a protection: {said}") from None


def _content(path: Path) -> dict[str, Any]:
    """Return the content of a private record of a layout that this version reads."""
    content = plain_json(path)
    if not isinstance(content, dict):
        raise ValueError("not a JSON object")
    if "public" in content:
        raise ValueError("it is the public record; the private one is needed")
    version = member(content, "format", int)
    if version != FORMAT:
        raise ValueError(f"format: {version}, but this version reads {FORMAT}")
    return content


def member(content: Mapping[str, Any], name: str, kind: Any, where: str = "") -> Any:
    """Return a member of an object, of the given type."""
    place = f"{where}.{name}" if where else name
    if name not in content:
        raise ValueError(f"{place}: missing")
    value = content[name]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        named = getattr(kind, "__name__", str(kind))
        raise ValueError(f"{place}: {reprlib.repr(value)} is not of type {named}")
    return value


def names_of(output: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return a list of names in what a record says of the output."""
    names = member(output, name, list, "output")
    for entry in names:
        if not isinstance(entry, str):
            raise ValueError(f"output.{name}: {reprlib.repr(entry)} is not a name")
    return tuple(names)


def hex_digits(content: Mapping[str, Any], name: str, where: str) -> str | None:
    """Return a member of hexadecimal digits, or None."""
    text: str | None = member(content, name, str | None, where)
    if text is not None and not _HEX.fullmatch(text):
        raise ValueError(f"{where}.{name}: not hexadecimal digits")
    return text
