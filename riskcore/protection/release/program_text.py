"""The text of a call in Python, for programs that a person reads and runs."""

from __future__ import annotations

import math
import os
import pprint
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from riskcore.common import arguments
from riskcore.data.files.reading import Reading
from riskcore.data.recode import Recoding

# Width of a printed program.
_WIDTH = 88


class Source(str):
    """The text of an expression, which `pprint` prints unquoted."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def protect_text(data: str, given: Mapping[str, Any], reading: Reading | None) -> str:
    """Return the call of `riskcore.protect` that makes ``safe`` of data.

    ``data`` is an expression. The way of reading is shown if it is not the default.
    """
    if reading is not None and _differing(reading):
        given = {**given, "reading": reading}
    return _in_lines("safe = riskcore.protect", [data], given)


def call_text(function: str, first: Sequence[str], given: Mapping[str, Any]) -> str:
    """Return the text of a call, on one line if it is short.

    ``first`` are expressions, ``given`` the values of arguments by name.

    >>> print(call_text("safe.write", ["'safe.csv'"], {"drop": ["A"], "shuffle": True}))
    safe.write('safe.csv', drop=['A'], shuffle=True)
    """
    words = [*first, *(f"{name}={_python(name, one)}" for name, one in given.items())]
    line = f"{function}({', '.join(words)})"
    short = len(line) <= _WIDTH and "\n" not in line
    return line if short else _in_lines(function, first, given)


def _in_lines(function: str, first: Sequence[str], given: Mapping[str, Any]) -> str:
    """Return the text of a call with a line for each argument."""
    lines = [f"{function}(", *(f"    {one}," for one in first)]
    for name, value in given.items():
        within = "    " if isinstance(value, Source) else "        "
        text = _python(name, value).replace("\n", f"\n{within}")
        lines.append(f"    {name}={text},")
    return "\n".join([*lines, ")"])


def _python(key: str, value: Any) -> str:
    """Return the text of a setting in Python."""
    return pprint.pformat(_source(key, value), width=_WIDTH - 8, sort_dicts=False)


def _source(key: str, value: Any) -> Any:
    """Return a setting whose parts are literals or texts of calls."""
    if isinstance(value, Reading):
        given = _differing(value).items()
        words = ", ".join(f"{name}={_python(key, one)}" for name, one in given)
        return Source(f"riskcore.Reading({words})")
    if isinstance(value, Recoding):
        codes = _mapped(value)
        made = "from_dict" if codes is None else "mapping"
        text = _python(key, _differing(value) if codes is None else codes)
        return Source(f"riskcore.Recoding.{made}(\n{text})")
    if isinstance(value, Mapping):
        return {_source(key, k): _source(key, one) for k, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_source(key, one) for one in value)
    return _literal(key, getattr(value, "item", lambda: value)())


def _literal(key: str, value: Any) -> Any:
    """Return a number, word or path that its own text gives back."""
    if isinstance(value, float) and not math.isfinite(value):
        return Source(f"float({str(value)!r})")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{key}={arguments.shown(value)}: cannot be written in a program")


def _mapped(value: Recoding | Reading) -> dict[Any, Any] | None:
    """Return the codes of a recoding that only maps single codes, otherwise None."""
    if not isinstance(value, Recoding):
        return None
    codes = {rule.low: rule.to for rule in value.rules if rule.single}
    return codes if codes and Recoding.mapping(codes) == value else None


def _differing(value: Recoding | Reading) -> dict[str, Any]:
    """Return the members that differ from the default, as plain data."""
    if isinstance(value, Reading):
        usual = Reading().to_dict()
    else:
        usual = {one.name: one.default for one in fields(value)}
    return {k: v for k, v in value.to_dict().items() if v and v != usual[k]}
