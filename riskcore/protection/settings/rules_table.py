"""The tables of a file of rules, and its JSON schema: which setting stands where."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, TypeAlias

from riskcore.assessment.assess_settings import (
    HOUSEHOLD,
    KEYS,
    WEIGHT,
    CheckSettings,
)
from riskcore.common import settings as kinds
from riskcore.common.settings import PATH, Kind, Setting, settings_of
from riskcore.common.toml_text import Place
from riskcore.common.words import listed
from riskcore.data.files.read_settings import ReadSettings
from riskcore.protection.settings.settings_table import (
    OUTPUT,
    ColumnSettings,
    ProtectSettings,
    SafetySettings,
    WriteSettings,
)

Shape: TypeAlias = dict[str, Any]

FORMAT = 1
# Whether somebody has checked the rules; rules that are proposals say false.
CONFIRMED = "confirmed"
_IN_COLUMNS = ("person", "wave", "cluster")
# Settings that name columns, each a table of its own.
_BY_COLUMN = ("roles", "recodings", "treat", "accept")
# Settings of writing that a file of rules does not hold: a decision of the moment, and
# a secret.
LEFT_OUT = ("overwrite", "secret")
_FILE = Setting(kind=PATH, help="the survey file")


def _without(table: type, *others: type | str) -> dict[str, Setting]:
    """Return the settings of a table without those of others."""
    left_out = {
        name
        for other in others
        for name in ([other] if isinstance(other, str) else settings_of(other))
    }
    known = settings_of(table)
    return {name: known[name] for name in known if name not in left_out}


_PROTECT = settings_of(ProtectSettings)
_CHECK = settings_of(CheckSettings)
# The names of [check]. Its l, t and least population are of the safe file alone, by
# areas and columns that it names; in [safe] they are of the people of the original.
_OF_THE_FILE = frozenset({"min_population", "l", "kind", "t", "ordered"})
CHECKED = tuple(name for name in _CHECK if name not in _PROTECT or name in _OF_THE_FILE)
# The tables by name; a setting alone is a table whose names are columns.
TABLES: Mapping[str, Mapping[str, Setting] | Setting] = {
    "data": {"file": _FILE, **settings_of(ReadSettings)},
    "columns": {
        "keys": KEYS,
        "weight": WEIGHT,
        "household": HOUSEHOLD,
        **{name: _PROTECT[name] for name in _IN_COLUMNS},
    },
    "safe": _without(SafetySettings, *_IN_COLUMNS),
    "roles": _PROTECT["roles"],
    "recodings": _PROTECT["recodings"],
    "treat": _PROTECT["treat"],
    "suppress": _without(ProtectSettings, SafetySettings, ColumnSettings, *_BY_COLUMN),
    "accept": _PROTECT["accept"],
    "output": {
        "file": OUTPUT,
        **_without(WriteSettings, *LEFT_OUT),
    },
    "check": {name: _CHECK[name] for name in CHECKED},
}
# The table of candidates, each with changes of these tables.
TRY = "try"
_TRIED = ("safe", "roles", "recodings", "treat", "suppress")


def entries() -> dict[tuple[str, ...], Setting]:
    """Return each setting by its place: the table, and its name there."""
    found: dict[tuple[str, ...], Setting] = {}
    for table, content in TABLES.items():
        if isinstance(content, Setting):
            found[(table,)] = content
        else:
            found |= {(table, name): one for name, one in content.items()}
    return found


# --- shapes of values, as JSON schema ---


def _array(items: Shape, title: str) -> Shape:
    return {"type": "array", "items": items, "title": title}


def _table(values: Shape, title: str) -> Shape:
    return {"type": "object", "additionalProperties": values, "title": title}


def _either(*shapes: Shape) -> Shape:
    return {"anyOf": list(shapes)}


_TEXT: Shape = {"type": "string", "title": "text"}
_BOOLEAN: Shape = {"type": "boolean", "title": "true or false"}
_WHOLE: Shape = {"type": "integer", "minimum": 0, "title": "a whole number"}
_NUMBER: Shape = {"type": "number", "title": "a number"}
_SHARE: Shape = {
    "type": "string",
    "pattern": r"^[0-9]+([.][0-9]+)?%$",
    "title": "a share such as '0.1%'",
}
_HARMLESS: Shape = {
    "type": "string",
    "pattern": "^harmless:.",
    "title": "'harmless:REASON' for \"*\"",
}
_NAMES = _array(_TEXT, "a list of names")
_COST = _either(
    {"type": "number", "minimum": 0, "title": "a number"},
    {"enum": [kinds.NEVER], "title": repr(kinds.NEVER)},
)
_K: Shape = {"type": "integer", "minimum": 1, "title": "a whole number"}
_WORD_KINDS = (kinds.WORD, kinds.MODEL)
_SHAPES: Mapping[Kind, Shape] = {
    **dict.fromkeys(_WORD_KINDS, _TEXT),
    kinds.NAME: {"type": "string", "title": "the name of a column"},
    kinds.DELIMITER: {"type": "string", "title": "a character"},
    PATH: {"type": "string", "title": "the path of a file"},
    kinds.FLAG: _BOOLEAN,
    kinds.SEED: _either(_BOOLEAN, _WHOLE),
    kinds.NUMBER: _NUMBER,
    kinds.FRACTION: _either(_NUMBER, _SHARE),
    kinds.WHOLE: _WHOLE,
    kinds.GOALS: _either(_K, _array(_K, "a list of whole numbers")),
    kinds.NAMES: _NAMES,
    kinds.IDS: _NAMES,
    kinds.KEY_SETS: _either(_NAMES, _array(_NAMES, "a list of lists of names")),
    kinds.CODES: _either(
        _array(_TEXT, "a list of codes"),
        _table(_array(_TEXT, "a list of codes"), "a table of lists by column"),
    ),
    kinds.WORDS: _table(_TEXT, "a table of columns"),
    kinds.RECODINGS: _table(_TEXT, "a table of rules by column"),
    kinds.RELATED: _either(
        {"enum": ["derived"], "title": "'derived'"},
        _table(_NAMES, "a table of lists of names by key"),
    ),
    kinds.TREATMENTS: _table(
        _either(_TEXT, _array(_TEXT, "a list of rules")), "a table of rules by column"
    ),
    kinds.COST: _either(
        {
            "enum": ["fewest", "equal", "entropy"],
            "title": "'fewest', 'equal', 'entropy'",
        },
        _table(
            _either(*_COST["anyOf"], _table(_COST, "a table of costs by category")),
            "a table of costs by key",
        ),
    ),
}
_OPTION = re.compile(r"--([a-z][a-z-]*)")
_INTERVAL = re.compile(r"([\[(])([^,]+), ([^\])]+)([\])])")


def shape_of(setting: Setting) -> Shape:
    """Return the shape of the values of a setting."""
    shape = _SHAPES[setting.kind]
    if setting.choices and setting.kind in _WORD_KINDS:
        return _choice(setting.choices)
    if setting.choices and setting.kind is kinds.WORDS:
        words = _either(_choice(setting.choices), _HARMLESS)
        return {**shape, "additionalProperties": words}
    if setting.within:
        shape = _within(shape, setting.within)
    return shape


def _choice(words: tuple[str, ...]) -> Shape:
    listed = ", ".join(map(repr, words))
    return {"enum": list(words), "title": f"one of {listed}"}


def _within(shape: Shape, interval: str) -> Shape:
    """Return the shape of a number in an interval such as ``(0, 1]``."""
    if "anyOf" in shape:
        return _either(*(_within(one, interval) for one in shape["anyOf"]))
    found = _INTERVAL.fullmatch(interval)
    if shape["type"] == "string" or found is None:
        return shape
    left, low, high, right = found.groups()
    bounds = {"minimum" if left == "[" else "exclusiveMinimum": float(low)}
    if math.isfinite(float(high)):
        bounds["maximum" if right == "]" else "exclusiveMaximum"] = float(high)
    bare = {name: one for name, one in shape.items() if name != "minimum"}
    return {**bare, **bounds, "title": f"{shape['title']} in {interval}"}


def help_of(setting: Setting) -> str:
    """Return the help of a setting in the names of the file."""
    names = {
        (one.option or place[-1]).replace("_", "-"): place[-1]
        for place, one in entries().items()
        if place != ("output", "file")
    }
    return _OPTION.sub(lambda found: names.get(found[1], found[1]), setting.help)


def _described(setting: Setting) -> Shape:
    """Return the shape of a setting with its help and its default."""
    shape = {**shape_of(setting), "description": help_of(setting)}
    plain = isinstance(setting.default, bool | int | float | str)
    return {**shape, "default": setting.default} if plain else shape


def schema() -> Shape:
    """Return the JSON schema of a file of rules."""
    tables: dict[str, Any] = {
        "format": {"const": FORMAT, "description": "the version of this layout"},
        CONFIRMED: {
            "type": "boolean",
            "default": True,
            "description": "whether the rules were checked; false in proposals",
        },
    }
    for name, content in TABLES.items():
        if isinstance(content, Setting):
            tables[name] = _described(content)
            continue
        tables[name] = {
            "type": "object",
            "properties": {one: _described(content[one]) for one in content},
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
        one = _either({"$ref": f"{at}/additionalProperties"}, away)
        return {"type": "object", "additionalProperties": one}
    names = {
        name: _either({"$ref": f"{at}/properties/{name}"}, away)
        for name in shape["properties"]
    }
    return {"type": "object", "properties": names, "additionalProperties": False}


# --- candidates ---


def merged(rules: Mapping[str, Any], candidate: str) -> dict[str, Any]:
    """Return the tables of a release with those of a candidate, false where it says."""
    found = {name: content for name, content in rules.items() if name != TRY}
    own = rules[TRY][candidate]
    return found | {name: {**found.get(name, {}), **one} for name, one in own.items()}


def changed(rules: Mapping[str, Any], candidate: str) -> dict[str, Any]:
    """Return the tables of a release with the changes of a candidate."""
    found = merged(rules, candidate)
    for table in found.keys() & {*_TRIED}:
        away = _taken_away(table, found[table])
        content = found[table].items()
        found[table] = {name: one for name, one in content if name not in away}
    return {name: content for name, content in found.items() if content != {}}


def _taken_away(table: str, content: Mapping[str, Any]) -> list[str]:
    """Return the names whose value false takes a rule away, and is not a rule."""
    known = TABLES[table]
    given = [name for name, value in content.items() if value is False]
    if isinstance(known, Setting):
        return given
    named = [name for name in given if name in known]
    return [name for name in named if _fault(shape_of(known[name]), False, ())]


# --- faults ---


def fault_of(rules: Mapping[str, Any]) -> tuple[Place, str] | None:
    """Return the place of the first fault of a file of rules and what is wrong."""
    version = rules.get("format")
    if version is None:
        return (), f"the version is missing: begin the file with format = {FORMAT}"
    if version != FORMAT or isinstance(version, bool):
        return ("format",), f"{version!r}, but this version reads format = {FORMAT}"
    for table, content in rules.items():
        if table == "format":
            continue
        if table in (CONFIRMED, TRY):
            found = (
                _fault_of_candidates(content)
                if table == TRY
                else _fault(_BOOLEAN, content, (table,))
            )
            if found is not None:
                return found
            continue
        known = TABLES.get(table)
        if known is None:
            return (table,), _unknown(table, ())
        found = _fault_of_table(table, known, content)
        if found is not None:
            return found
    return None


def _fault_of_table(
    table: str, known: Mapping[str, Setting] | Setting, content: Any
) -> tuple[Place, str] | None:
    """Return the first fault of a table."""
    if not isinstance(content, dict):
        return (table,), f"need a table: write [{table}] on a line of its own"
    if isinstance(known, Setting):
        return _fault(shape_of(known), content, (table,))
    for name, value in content.items():
        if name not in known:
            return (table, name), _unknown(name, (table,))
        found = _fault(shape_of(known[name]), value, (table, name))
        if found is not None:
            return found
    return None


def _fault_of_candidates(candidates: Any) -> tuple[Place, str] | None:
    """Return the first fault of the table of candidates."""
    if not isinstance(candidates, dict):
        return (TRY,), f"need tables of candidates, such as [{TRY}.coarse.recodings]"
    for name, tables in candidates.items():
        if not isinstance(tables, dict):
            return (TRY, name), f"need tables, such as [{TRY}.{name}.recodings]"
        for table, changes in tables.items():
            found = _fault_of_changes(table, changes)
            if found is not None:
                return (TRY, name, *found[0]), found[1]
    return None


def _fault_of_changes(table: str, changes: Any) -> tuple[Place, str] | None:
    """Return the first fault of the changes of a table."""
    if table not in _TRIED:
        return (table,), f"a candidate changes only {listed(_TRIED)}"
    if isinstance(changes, dict):
        away = _taken_away(table, changes)
        changes = {name: one for name, one in changes.items() if name not in away}
    return _fault_of_table(table, TABLES[table], changes)


def _unknown(name: str, where: tuple[str, ...]) -> str:
    """Return what to do about a name that a table does not know."""
    places = [place for place in entries() if place[-1] == name]
    if places:
        return f"it belongs into [{places[0][0]}]"
    known = TABLES[where[0]] if where else [*TABLES, TRY]
    assert not isinstance(known, Setting)
    close = get_close_matches(name, known, 1)
    kind = "setting" if where else "table"
    hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
    return f"there is no {kind} of this name; {hint}"


def _fault(shape: Shape, value: Any, place: Place) -> tuple[Place, str] | None:
    """Return the place and the fault of a value that does not have a shape."""
    if "anyOf" in shape:
        return _fault_of_all(shape["anyOf"], value, place)
    wrong = place, f"need {shape['title']}, not {_shown(value)}"
    if "enum" in shape:
        return None if isinstance(value, str) and value in shape["enum"] else wrong
    if not _is(shape["type"], value):
        return wrong
    if not _in_bounds(shape, value):
        return wrong
    if isinstance(value, str) and not re.search(shape.get("pattern", ""), value):
        return wrong
    parts: Any = ()
    if isinstance(value, list):
        parts = ((i, one, shape["items"]) for i, one in enumerate(value))
    elif isinstance(value, dict):
        each = shape["additionalProperties"]
        parts = ((name, one, each) for name, one in value.items())
    faults = (_fault(each, one, (*place, name)) for name, one, each in parts)
    return next((one for one in faults if one is not None), None)


def _fault_of_all(
    shapes: list[Shape], value: Any, place: Place
) -> tuple[Place, str] | None:
    """Return the fault of a value that has none of several shapes, the deepest."""
    faults = []
    for shape in shapes:
        fault = _fault(shape, value, place)
        if fault is None:
            return None
        faults.append(fault)
    deepest = max(faults, key=lambda fault: len(fault[0]))
    if len(deepest[0]) > len(place):
        return deepest
    needs = " or ".join(one["title"] for one in shapes)
    return place, f"need {needs}, not {_shown(value)}"


def _is(kind: str, value: Any) -> bool:
    """Return whether a value is of a type of JSON."""
    if kind in ("integer", "number"):
        types = int if kind == "integer" else int | float
        number = isinstance(value, types) and not isinstance(value, bool)
        return number and math.isfinite(value)
    plain = {"string": str, "boolean": bool, "array": list, "object": dict}
    return isinstance(value, plain[kind])


def _in_bounds(shape: Shape, value: Any) -> bool:
    """Return whether a number lies in the bounds of a shape."""
    bounds = {
        "minimum": operator.ge,
        "exclusiveMinimum": operator.gt,
        "maximum": operator.le,
        "exclusiveMaximum": operator.lt,
    }
    return all(
        keeps(value, shape[one]) for one, keeps in bounds.items() if one in shape
    )


def _shown(value: Any) -> str:
    """Return a value briefly."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list"
    text = repr(value) if isinstance(value, str | int | float) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
