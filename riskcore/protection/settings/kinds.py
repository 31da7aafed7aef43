"""The kinds of settings that only a protection has: rules by column, costs, roles."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riskcore.common.settings import (
    BOOLEAN,
    NAMES,
    NEVER,
    NULL,
    NUMBER,
    TEXT,
    WHOLE,
    ByColumn,
    Columns,
    Place,
    Setting,
    Shape,
    array,
    choice,
    either,
    gathered,
    pair,
    table,
)
from riskcore.data.recoding_words import is_rule

COSTS = ("fewest", "equal", "entropy")
# In place of related columns: those that are found.
DERIVED = "derived"
# A treatment whose words are the name of a file: of totals, or of a matrix.
_OF_FILE = r"\s*(?:rake:|pram:(?=[^,]*\.csv\s*$))([^,]*)$"
_HARMLESS: Shape = {
    "type": "string",
    "pattern": "^harmless:.",
    "title": "'harmless:REASON' for \"*\"",
}
_COST = either(
    {"type": "number", "minimum": 0, "title": "a number"},
    {"enum": [NEVER], "title": repr(NEVER)},
)
_OBJECT = table({}, "an object")
_CODE = either(TEXT, NUMBER, NULL)
_NAME = either(TEXT, NULL)
# What a record holds of a recoding and of each of its rules, by name.
_OF_RECODING: Mapping[str, Shape] = {
    "rules": array(_OBJECT, "a list of rules"),
    "others": TEXT,
    "missing": _CODE,
    "drop": WHOLE,
    "base": NUMBER,
    "tails": {"enum": [], "title": "no quantiles: a record holds bounds"},
    "words": _NAME,
    "dates": TEXT,
    "order": TEXT,
    "padded": BOOLEAN,
    "missing_codes": NAMES,
    "codelist": _NAME,
    "source": _NAME,
    "rest": _CODE,
}
_OF_RULE: Mapping[str, Shape] = {
    "to": _CODE,
    "low": _CODE,
    "high": _CODE,
    "bounds": TEXT,
    "line": either(WHOLE, NULL),
}
# Rules of treatments; the totals of raking stand in them, not in a file.
_WORDS = array(
    {"type": "string", "pattern": f"^(?!{_OF_FILE})", "title": "a rule in words"},
    "a list of rules",
)
_NOTHING: Shape = {"enum": [], "title": "nothing of this name"}


class Ids(Columns):
    """Columns of ids; an empty list is an answer, too."""

    nargs = "*"


@dataclass(frozen=True, eq=False, kw_only=True)
class Roles(ByColumn):
    """A role for each of some columns, or "harmless:REASON" for all others."""

    choices: tuple[str, ...]

    @property
    def shape(self) -> Shape:
        """A table of roles."""
        words = either(choice(self.choices), _HARMLESS)
        return {**self.form, "additionalProperties": words}


class Recodings(ByColumn):
    """A recoding for each of some columns: a rule in words, or a recode file."""

    form = table(TEXT, "a table of rules by column")
    recorded_form = table(_OBJECT, "an object of recodings")
    names_files = True

    def gathered(self, option: str, pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
        """Return the rules by column; top and bottom coding of one are one rule."""
        rules: dict[str, Any] = {}
        for name, rule in pairs:
            both = {text.partition(":")[0] for text in (rules.get(name, ""), rule)}
            if name in rules and both != {"top", "bottom"}:
                raise ValueError(
                    f"{option}: {name!r} appears twice; only top: and bottom: go "
                    "together, as top:60,bottom:30"
                )
            rules[name] = f"{rules[name]},{rule}" if name in rules else rule
        return rules

    def argument(self, plain: Any, folder: Path) -> Any:
        """Return the rules, whose files are found."""
        return {name: _recoding(rule, folder) for name, rule in plain.items()}

    def recorded(self, value: Any) -> Any:
        """Return the recodings as plain data."""
        return {name: {**x.to_dict(), "drop": int(x.drop)} for name, x in value.items()}

    def restored(self, member: str, plain: Any) -> Any:
        """Return the recodings of plain data, which may hold anything."""
        return {
            name: _restored_recoding(f"{member}.{name}", x) for name, x in plain.items()
        }


def _restored_recoding(member: str, plain: dict[str, Any]) -> Any:
    """Return a recoding of plain data."""
    from riskcore.data.recode import Recoding

    rules = plain.get("rules", [])
    refuse_faults(_OF_RECODING["rules"], rules, f"{member}.rules")
    parts = [(member, _OF_RECODING, plain)]
    parts += [(f"{member}.rules[{i}]", _OF_RULE, rule) for i, rule in enumerate(rules)]
    for place, shapes, content in parts:
        for name, value in content.items():
            if (name, value) != ("tails", []):
                refuse_faults(shapes.get(name, _NOTHING), value, f"{place}.{name}")
    try:
        return Recoding.from_dict(plain)
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ValueError(f"{member}: {error}") from None


def _recoding(rule: str, folder: Path) -> str | Path:
    """Return a rule in words, whose file is found, or the path of a recode file."""
    if not is_rule(rule):
        return folder / rule
    kind, _, words = rule.partition(":")
    return f"{kind}:{folder / words}" if kind == "hierarchy" else rule


class ListsByColumn(ByColumn):
    """Several words for each of some columns."""

    def gathered(self, option: str, pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
        """Return the words of each column as a list."""
        lists: dict[str, list[str]] = {}
        for name, word in pairs:
            lists.setdefault(name, []).append(word)
        return lists


class Related(ListsByColumn):
    """Columns for each of some keys, or those that are found."""

    recorded_form = table(NAMES, "a table of lists of names by key")
    form = either({"enum": [DERIVED], "title": repr(DERIVED)}, recorded_form)

    def read(self, word: str) -> Any:
        """Return a key and a column, or the word for the columns that are found."""
        return word if word == DERIVED else pair(word)

    def value(self, option: str, words: Any, columns: Iterable[Any]) -> Any:
        """Return the columns by key, or the word; None without any."""
        if words == [DERIVED]:
            return DERIVED
        if DERIVED in words:
            raise ValueError(
                f"{option} {DERIVED}: give either that word, or KEY=COLUMN ..."
            )
        return super().value(option, words, columns)

    def refuse_wrong(self, name: str, value: Any) -> None:
        """Refuse what are not names of columns."""
        from riskcore.common import arguments

        if isinstance(value, str) and value == DERIVED:
            return
        super().refuse_wrong(name, value)
        for key, others in value.items():
            arguments.names(f"{name} of {key!r}", others)


class Treatments(ListsByColumn):
    """One rule or several for each of some columns, or for columns together."""

    form = table(
        either(TEXT, array(TEXT, "a list of rules")), "a table of rules by column"
    )
    recorded_form = array(_OBJECT, "a list of treatments")
    names_files = True

    def argument(self, plain: Any, folder: Path) -> Any:
        """Return the rules, whose files of totals are found."""
        return {
            name: _treatment(rules, folder)
            if isinstance(rules, str)
            else [_treatment(rule, folder) for rule in rules]
            for name, rules in plain.items()
        }

    def rule(self, value: Any) -> Any:
        """Return the rules in words."""
        return {
            "+".join(key) if isinstance(key, tuple) else key: [*map(str, rules)]
            if isinstance(rules, list | tuple)
            else str(rules)
            for key, rules in value.items()
        }

    def recorded(self, value: Any) -> Any:
        """Return the columns of each treatment, and its rules in words."""
        return [
            {"columns": list(names), "rules": [*map(str, x)]}
            for names, x in value.items()
        ]

    def restored(self, member: str, plain: Any) -> Any:
        """Return the treatments of plain data; no file of totals is opened."""
        from riskcore.protection.treatments.rules import parsed_treatments

        treat = {}
        for i, content in enumerate(plain):
            at = f"{member}[{i}]"
            if set(content) != {"columns", "rules"}:
                raise ValueError(f"{at}: need columns and a list of rules")
            columns, rules = content["columns"], content["rules"]
            refuse_faults(NAMES, columns, f"{at}.columns")
            refuse_faults(_WORDS, rules, f"{at}.rules")
            treat[tuple(columns)] = rules
        return parsed_treatments(treat, ())


def _treatment(rule: str, folder: Path) -> str:
    """Return a treatment in words, whose file of totals is found."""
    file = treatment_file(rule)
    return rule if file is None else f"{rule.partition(':')[0]}:{folder / file}"


def treatment_file(rule: str) -> str | None:
    """Return the file that a treatment in words names, or None."""
    match = re.match(_OF_FILE, rule)
    return None if match is None else match[1]


class Costs(ByColumn):
    """The costs of blanking keys, or of their categories; or how they are found."""

    form = recorded_form = either(
        {"enum": list(COSTS), "title": ", ".join(map(repr, COSTS))},
        table(
            either(_COST, table(_COST, "a table of costs by category")),
            "a table of costs by key",
        ),
    )

    def parsing(self) -> dict[str, Any]:
        """Return how argparse reads words."""
        return Setting.parsing(self)

    def read(self, word: str) -> Any:
        """Return the word: where a key ends is known by the columns."""
        return word

    def value(self, option: str, words: Any, columns: Iterable[Any]) -> Any:
        """Read fewest, equal, entropy, KEY=NUMBER or KEY[CATEGORY]=NUMBER ...."""
        if words is None or (len(words) == 1 and words[0] in COSTS):
            return words and words[0]
        costs, of_categories = [], dict[str, list[tuple[str, float]]]()
        known = [*map(str, columns)]
        for word in words:
            key, category, cost = _cost(option, word, known)
            if category is None:
                costs.append((key, cost))
            else:
                of_categories.setdefault(key, []).append((category, cost))
        more = [
            (key, gathered(f"{option} {key}", pairs))
            for key, pairs in of_categories.items()
        ]
        return gathered(option, [*costs, *more])

    def refuse_wrong(self, name: str, value: Any) -> None:
        """Refuse what are not costs."""
        from riskcore.common import arguments

        if isinstance(value, Mapping):
            for key, costs in value.items():
                for what, cost in each_cost(key, costs):
                    number = arguments.number(what, cost)
                    if not number >= 0:
                        raise ValueError(f"{what}: {number}, need a number >= 0")
        elif not (isinstance(value, str) and value in COSTS):
            words = ", ".join(map(repr, COSTS))
            raise ValueError(
                f"{name}={arguments.shown(value)}: use {words} or a mapping"
            )

    def resolved(self, name: str, value: Any) -> Any:
        """Return costs as doubles, and the categories as texts."""
        if isinstance(value, str):
            return value
        return {key: _as_floats(costs) for key, costs in value.items()}

    def argument(self, plain: Any, folder: Path) -> Any:
        """Return costs with a number for "never"."""
        if isinstance(plain, dict):
            return {name: self.argument(costs, folder) for name, costs in plain.items()}
        return math.inf if plain == NEVER else plain

    def rule(self, value: Any) -> Any:
        """Return costs with "never" for infinity."""
        if isinstance(value, Mapping):
            return {name: self.rule(costs) for name, costs in value.items()}
        return NEVER if value == math.inf else value

    recorded = rule

    def restored(self, member: str, plain: Any) -> Any:
        """Return costs as doubles."""
        return self.resolved(member, self.argument(plain, Path()))


def each_cost(key: Any, cost: Any) -> list[tuple[str, Any]]:
    """Return the cost of a key, or of each of its categories, with its name."""
    if not isinstance(cost, Mapping):
        return [(f"cost of {key!r}", cost)]
    return [(f"cost of {key!r}, category {code!r}", one) for code, one in cost.items()]


def _as_floats(cost: Any) -> Any:
    """Return the cost of a key, or of its categories by their texts, as doubles."""
    from riskcore.data.files.labels import code_text

    if isinstance(cost, Mapping):
        return {code_text(code): _as_floats(amount) for code, amount in cost.items()}
    return float(cost)


def _cost(option: str, word: str, columns: list[str]) -> tuple[str, str | None, float]:
    """Read KEY=NUMBER or KEY[CATEGORY]=NUMBER; a name of a column may hold brackets."""
    name, equals, value = word.rpartition("=")
    if not equals:
        raise ValueError(
            f"{option} {word}: give {', '.join(COSTS)}, KEY=NUMBER ... or "
            "KEY[CATEGORY]=NUMBER ..."
        )
    try:
        cost = math.inf if value == NEVER else float(value)
    except ValueError:
        raise ValueError(f"{option} {word}: {value!r} is not a number") from None
    if name in columns or "[" not in name or not name.endswith("]"):
        return name, None, cost
    named = [column for column in columns if name.startswith(f"{column}[")]
    key = max(named, key=len, default=name.partition("[")[0])
    return key, name[len(key) + 1 : -1], cost


def fault_in(shape: Shape, value: Any, place: Place) -> tuple[Place, str] | None:
    """Return the place and the fault of a value that does not have a shape, or None."""
    if not shape:
        return None
    if "anyOf" in shape:
        return _fault_in_all(shape["anyOf"], value, place)
    wrong = place, f"need {shape['title']}, not {_shown(value)}"
    if "enum" in shape:
        return None if isinstance(value, str) and value in shape["enum"] else wrong
    if not (_is(shape["type"], value) and _in_bounds(shape, value)):
        return wrong
    parts: Any = ()
    if isinstance(value, list):
        parts = ((i, one, shape["items"]) for i, one in enumerate(value))
    elif isinstance(value, dict):
        each = shape["additionalProperties"]
        parts = ((name, one, each) for name, one in value.items())
    faults = (fault_in(each, one, (*place, name)) for name, one, each in parts)
    return next((one for one in faults if one is not None), None)


def refuse_faults(shape: Shape, value: Any, member: str) -> None:
    """Refuse a member of a record that does not have its shape."""
    fault = fault_in(shape, value, ())
    if fault is not None:
        inside = (f"[{at}]" if isinstance(at, int) else f".{at}" for at in fault[0])
        raise ValueError(f"{member}{''.join(inside)}: {fault[1]}")


def _fault_in_all(
    shapes: list[Shape], value: Any, place: Place
) -> tuple[Place, str] | None:
    """Return the fault of a value that has none of several shapes, the deepest."""
    faults = []
    for shape in shapes:
        fault = fault_in(shape, value, place)
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
    plain: dict[str, type] = {
        "string": str,
        "boolean": bool,
        "array": list,
        "object": dict,
        "null": type(None),
    }
    return isinstance(value, plain[kind])


def _in_bounds(shape: Shape, value: Any) -> bool:
    """Return whether a number lies in its bounds, and text fits its pattern."""
    if isinstance(value, str):
        return bool(re.search(shape.get("pattern", ""), value))
    bounds = {
        "minimum": operator.ge,
        "exclusiveMinimum": operator.gt,
        "maximum": operator.le,
        "exclusiveMaximum": operator.lt,
    }
    return all(keeps(value, shape[x]) for x, keeps in bounds.items() if x in shape)


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
