"""Values of a file of rules and arguments of functions, each made from the other."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from riskcore.common import arguments
from riskcore.common import settings as kinds
from riskcore.common.settings import Kind, Setting
from riskcore.common.text_numbers import fraction
from riskcore.common.toml_text import Place
from riskcore.data.recoding_words import is_rule
from riskcore.protection.settings.settings_table import ANY, ORDER
from riskcore.protection.treatments.rules import Treatment

RAKE = "rake:"
_WITHIN = "within="


def argument_of(setting: Setting, value: Any, folder: Path) -> Any:
    """Return the argument that a rule stands for; paths are relative to a folder."""
    read = _ARGUMENTS.get(setting.kind)
    return value if read is None else read(value, folder)


def rule_of(name: str, setting: Setting, value: Any) -> Any:
    """Return an argument as a file of rules holds it; None for the default."""
    kind = setting.kind
    if kind is kinds.CODES and isinstance(value, Mapping):
        value = {key or ANY: list(codes) for key, codes in value.items() if codes}
        value = value.get(ANY, ()) if set(value) <= {ANY} else value
    if kind is kinds.TREATMENTS and isinstance(value, Mapping):
        value = {
            "+".join(key) if isinstance(key, tuple) else key: rules
            for key, rules in value.items()
        }
    if value is None or _is_default(value, setting):
        return None
    return _plain(name, value)


def columns_in(kind: Kind, value: Any, known: set[str]) -> Iterator[tuple[Place, str]]:
    """Yield the columns that a rule names, each with its place in the rule.

    >>> list(columns_in(kinds.NAMES, ["SEX", "AGE"], set()))
    [((0,), 'SEX'), ((1,), 'AGE')]
    """
    if kind is kinds.NAME:
        yield (), value
    elif kind in _OF_NAMES and isinstance(value, list):
        for i, one in enumerate(value):
            if isinstance(one, list):
                yield from (((i, j), name) for j, name in enumerate(one))
            else:
                yield (i,), one
    elif kind in _BY_COLUMN and isinstance(value, dict):
        for name, one in value.items():
            if kind is kinds.TREATMENTS and name not in known:
                yield from (((name,), part) for part in name.split("+"))
            elif name not in (ANY, ORDER):
                yield (name,), name
            if kind is kinds.RELATED:
                yield from (((name, j), other) for j, other in enumerate(one))
            if kind is kinds.TREATMENTS:
                yield from (((name, *at), each) for at, each in _strata_in(one))


def _strata_in(rules: str | list[str]) -> Iterator[tuple[Place, str]]:
    """Yield the columns within whose groups treatments work, with their places.

    >>> list(_strata_in(["round:10", "swap:5%:within=SEX+AGE"]))
    [((1,), 'SEX'), ((1,), 'AGE')]
    """
    alone = isinstance(rules, str)
    for at, rule in enumerate([rules] if isinstance(rules, str) else rules):
        for option in rule.split(":")[1:]:
            if option.startswith(_WITHIN):
                names = option.removeprefix(_WITHIN).split("+")
                yield from ((() if alone else (at,), name) for name in names)


_OF_NAMES = (kinds.NAMES, kinds.IDS, kinds.KEY_SETS)
_BY_COLUMN = (
    kinds.CODES,
    kinds.COST,
    kinds.RECODINGS,
    kinds.RELATED,
    kinds.TREATMENTS,
    kinds.WORDS,
)


def _share(value: Any, _: Path) -> Any:
    """Return a number, which may be written as a share."""
    return fraction(value) if isinstance(value, str) else value


def _recodings(value: dict[str, str], folder: Path) -> dict[str, str | Path]:
    """Return recodings whose files are found."""
    return {name: _recoding(rule, folder) for name, rule in value.items()}


def _recoding(rule: str, folder: Path) -> str | Path:
    """Return a rule in words, whose file is found, or the path of a recode file."""
    if not is_rule(rule):
        return folder / rule
    kind, _, words = rule.partition(":")
    return f"{kind}:{folder / words}" if kind == "hierarchy" else rule


def _treatments(value: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return treatments whose files of totals are found."""
    return {
        name: _treatment(rules, folder)
        if isinstance(rules, str)
        else [_treatment(one, folder) for one in rules]
        for name, rules in value.items()
    }


def _treatment(rule: str, folder: Path) -> str:
    """Return a treatment in words, whose file of totals is found."""
    file = rule.removeprefix(RAKE)
    return rule if file == rule else f"{RAKE}{folder / file}"


def _costs(value: Any, folder: Path) -> Any:
    """Return costs with a number for "never"."""
    if isinstance(value, dict):
        return {name: _costs(one, folder) for name, one in value.items()}
    return math.inf if value == kinds.NEVER else value


def _codes(value: Any, _: Path) -> Any:
    """Return missing codes by column, "" for all columns."""
    if not isinstance(value, dict):
        return {"": value}
    return {"" if name == ANY else name: codes for name, codes in value.items()}


_ARGUMENTS: Mapping[Kind, Callable[[Any, Path], Any]] = {
    kinds.FRACTION: _share,
    kinds.PATH: lambda value, folder: folder / value,
    kinds.RECODINGS: _recodings,
    kinds.TREATMENTS: _treatments,
    kinds.COST: _costs,
    kinds.CODES: _codes,
    kinds.DELIMITER: lambda value, _: "\t" if value == "tab" else value,
}


def _is_default(value: Any, setting: Setting) -> bool:
    """Return whether a value need not be written."""
    default = setting.default
    if default in ((), None):  # an empty list of ids to renumber says something
        return default == () and not value
    return type(value) is type(default) and bool(value == default)


def _plain(name: str, value: Any) -> Any:
    """Return a value as TOML holds it; refuse what it cannot hold."""
    if isinstance(value, Mapping):
        return {str(key): _plain(f"{name}.{key}", one) for key, one in value.items()}
    if isinstance(value, os.PathLike | Treatment):
        return str(value)
    value = getattr(value, "item", lambda: value)()
    if isinstance(value, float) and value == math.inf:
        return kinds.NEVER
    if isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(name, one) for one in value]
    raise TypeError(
        f"{name}={arguments.shown(value)}: a file of rules holds words, numbers and "
        "names of files"
    )
