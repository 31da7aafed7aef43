"""The tables of a file of rules, and its JSON schema: which setting stands where."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from riskcore.assessment.assess_settings import (
    HOUSEHOLD,
    HOUSEHOLD_ID,
    KEYS,
    WEIGHT,
    CheckSettings,
)
from riskcore.common import arguments
from riskcore.common.settings import (
    BOOLEAN,
    ELSEWHERE,
    NAMES,
    File,
    Place,
    Setting,
    Shape,
    choice,
    either,
    settings_of,
)
from riskcore.common.settings import table as of_names
from riskcore.common.words import listed
from riskcore.data.files.read_settings import ReadSettings
from riskcore.protection import presets
from riskcore.protection.settings.best_settings import LADDERS, BestSettings
from riskcore.protection.settings.kinds import fault_in
from riskcore.protection.settings.settings_table import (
    OUTPUT,
    ProtectSettings,
    SafetySettings,
    SuppressionSettings,
    WriteSettings,
)

FORMAT = 1
# Whether somebody has checked the rules; rules that are proposals say false.
CONFIRMED = "confirmed"
# What stands beside the tables.
OTHERS: Mapping[str, Shape] = {
    CONFIRMED: {
        **BOOLEAN,
        "default": True,
        "description": "whether the rules were checked; false in proposals",
    },
    "preset": {
        **choice(presets.NAMES),
        "description": "the rules of an office that these are, see riskcore rules",
    },
    "classes": {
        **of_names(NAMES, "a table of lists of names"),
        "description": "the columns of each class of the preset",
    },
}
_IN_COLUMNS = ("person", "wave", "cluster")
# Settings of writing that a file of rules does not hold: a decision of the moment, and
# a secret.
LEFT_OUT = ("overwrite", "secret")
_FILE = File(help="the survey file")


def _without(table: type, names: tuple[str, ...]) -> dict[str, Setting]:
    """Return the settings of a table without some."""
    return {name: one for name, one in settings_of(table).items() if name not in names}


_PROTECT = settings_of(ProtectSettings)
_CHECK = settings_of(CheckSettings)
# The names of [check]. Its l, t and least population are of the safe file alone, by
# areas and columns that it names; in [safe] they are of the people of the original.
_OF_THE_FILE = frozenset({"min_population", "l", "t"})
CHECKED = tuple(name for name in _CHECK if name not in _PROTECT or name in _OF_THE_FILE)
# The tables by name; a setting alone is a table whose names are columns.
TABLES: Mapping[str, Mapping[str, Setting] | Setting] = {
    "data": {"file": _FILE, **settings_of(ReadSettings), "household_id": HOUSEHOLD_ID},
    "columns": {
        "keys": KEYS,
        "weight": WEIGHT,
        "household": HOUSEHOLD,
        **{name: _PROTECT[name] for name in _IN_COLUMNS},
    },
    "safe": _without(SafetySettings, _IN_COLUMNS),
    "roles": _PROTECT["roles"],
    "recodings": _PROTECT["recodings"],
    "treat": _PROTECT["treat"],
    "suppress": settings_of(SuppressionSettings),
    "accept": _PROTECT["accept"],
    "output": {"file": OUTPUT, **_without(WriteSettings, LEFT_OUT)},
    "check": {name: _CHECK[name] for name in CHECKED},
    "ladder": LADDERS,
    "best": settings_of(BestSettings),
}
# The table of candidates, each with changes of these tables.
TRY = "try"
_TRIED = ("safe", "roles", "recodings", "treat", "suppress")


def entries() -> dict[tuple[str, ...], Setting]:
    """Return each setting by its place: the table, and its name there."""
    settings: dict[tuple[str, ...], Setting] = {}
    for table, content in TABLES.items():
        if isinstance(content, Setting):
            settings[(table,)] = content
        else:
            settings |= {(table, name): setting for name, setting in content.items()}
    return settings


# --- the JSON schema ---

_OPTION = re.compile(r"--([a-z][a-z-]*)")


def help_of(setting: Setting) -> str:
    """Return the help of a setting in the names of the file."""
    names = {
        (entry.option or place[-1]).replace("_", "-"): place[-1]
        for place, entry in entries().items()
        if place != ("output", "file")
    }
    return _OPTION.sub(lambda match: names.get(match[1], match[1]), setting.help)


def _described(setting: Setting) -> Shape:
    """Return the shape of a setting with its help and its default."""
    shape = {**setting.shape, "description": help_of(setting)}
    plain = isinstance(setting.default, bool | int | float | str)
    return {**shape, "default": setting.default} if plain else shape


def schema() -> Shape:
    """Return the JSON schema of a file of rules."""
    form = {"const": FORMAT, "description": "the version of this layout"}
    tables: dict[str, Any] = {"format": form, **OTHERS}
    for name, content in TABLES.items():
        if isinstance(content, Setting):
            tables[name] = _described(content)
            continue
        tables[name] = {
            "type": "object",
            "properties": {key: _described(content[key]) for key in content},
            "additionalProperties": False,
        }
    tables[TRY] = {
        "type": "object",
        "description": "protections to try, by name: what each changes",
        "additionalProperties": {
            "type": "object",
            "properties": {name: _changing(name, tables[name]) for name in _TRIED},
            "additionalProperties": False,
        },
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "The rules of a release, for riskcore",
        "type": "object",
        "properties": tables,
        "additionalProperties": False,
        "required": ["format"],
    }


def _changing(table: str, shape: Shape) -> Shape:
    """Return the shape of changes of a table, in which false takes a rule away."""
    away: Shape = {"const": False, "title": "false"}
    at = f"#/properties/{table}"
    if "properties" not in shape:
        change = either({"$ref": f"{at}/additionalProperties"}, away)
        return {"type": "object", "additionalProperties": change}
    names = {
        name: either({"$ref": f"{at}/properties/{name}"}, away)
        for name in shape["properties"]
    }
    return {"type": "object", "properties": names, "additionalProperties": False}


def rule_of(name: str, setting: Setting, value: Any) -> Any:
    """Return an argument as a file of rules holds it; None for the default."""
    rule, default = None if value is None else setting.rule(value), setting.default
    if rule is None or (default == () and not rule):
        return None
    if type(rule) is type(default) and rule == default != ():
        return None
    return _plain(name, rule)


def _plain(name: str, value: Any) -> Any:
    """Return a value as TOML holds it; refuse what it cannot hold."""
    if isinstance(value, Mapping):
        return {str(key): _plain(f"{name}.{key}", one) for key, one in value.items()}
    if isinstance(value, os.PathLike):
        return str(value)
    value = getattr(value, "item", lambda: value)()
    if isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(name, one) for one in value]
    raise TypeError(
        f"{name}={arguments.shown(value)}: a file of rules holds words, numbers and "
        "names of files"
    )


# --- candidates ---


def changed(rules: Mapping[str, Any], candidate: str) -> dict[str, Any]:
    """Return the tables of a release with the changes of a candidate."""
    tables = {name: content for name, content in rules.items() if name != TRY}
    for table, changes in rules[TRY][candidate].items():
        content = {**tables.get(table, {}), **changes}
        away = _taken_away(table, content)
        tables[table] = {x: rule for x, rule in content.items() if x not in away}
    return {name: content for name, content in tables.items() if content != {}}


def _taken_away(table: str, content: Mapping[str, Any]) -> list[str]:
    """Return the names whose value false takes a rule away, and is not a rule."""
    definition = TABLES[table]
    names = [name for name, value in content.items() if value is False]
    if isinstance(definition, Setting):
        return names
    named = [name for name in names if name in definition]
    return [name for name in named if fault_in(definition[name].shape, False, ())]


# --- faults ---


def fault_of(rules: Mapping[str, Any]) -> tuple[Place, str] | None:
    """Return the place of the first fault of a file of rules and what is wrong."""
    version = rules.get("format")
    if version is None:
        return (), f"the version is missing: begin the file with format = {FORMAT}"
    if version != FORMAT or isinstance(version, bool):
        return ("format",), f"{version!r}, but this version reads format = {FORMAT}"
    for table, content in rules.items():
        fault: tuple[Place, str] | None = None
        if table in OTHERS:
            fault = fault_in(OTHERS[table], content, (table,))
        elif table == TRY:
            fault = _fault_of_candidates(content)
        elif table in TABLES:
            fault = _fault_of_table(table, TABLES[table], content)
        elif table != "format":
            fault = (table,), _unknown(table, ())
        if fault is not None:
            return fault
    return None


def _fault_of_table(
    table: str, definition: Mapping[str, Setting] | Setting, content: Any
) -> tuple[Place, str] | None:
    """Return the first fault of a table."""
    if not isinstance(content, dict):
        return (table,), f"need a table: write [{table}] on a line of its own"
    if isinstance(definition, Setting):
        return fault_in(definition.shape, content, (table,))
    for name, value in content.items():
        if name not in definition:
            return (table, name), _unknown(name, (table,))
        fault = fault_in(definition[name].shape, value, (table, name))
        if fault is not None:
            return fault
    return None


def _fault_of_candidates(candidates: Any) -> tuple[Place, str] | None:
    """Return the first fault of the table of candidates."""
    if not isinstance(candidates, dict):
        return (TRY,), f"need tables of candidates, such as [{TRY}.coarse.recodings]"
    for name, tables in candidates.items():
        if not isinstance(tables, dict):
            return (TRY, name), f"need tables, such as [{TRY}.{name}.recodings]"
        for table, changes in tables.items():
            fault = _fault_of_changes(table, changes)
            if fault is not None:
                return (TRY, name, *fault[0]), fault[1]
    return None


def _fault_of_changes(table: str, changes: Any) -> tuple[Place, str] | None:
    """Return the first fault of the changes of a table."""
    if table not in _TRIED:
        return (table,), f"a candidate changes only {listed(_TRIED)}"
    if isinstance(changes, dict):
        away = _taken_away(table, changes)
        changes = {name: change for name, change in changes.items() if name not in away}
    return _fault_of_table(table, TABLES[table], changes)


def _unknown(name: str, where: tuple[str, ...]) -> str:
    """Return what to do about a name that a table does not know."""
    if where and name in ELSEWHERE:
        return ELSEWHERE[name]
    places = [place for place in entries() if place[-1] == name]
    if places:
        return f"it belongs into [{places[0][0]}]"
    choices = TABLES[where[0]] if where else [*TABLES, TRY]
    assert not isinstance(choices, Setting)
    close = get_close_matches(name, choices, 1)
    kind = "setting" if where else "table"
    hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(choices)}"
    return f"there is no {kind} of this name; {hint}"
