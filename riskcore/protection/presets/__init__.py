"""The rules of offices, ready: goals and checks for classes of columns, by name."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, product
from pathlib import Path
from textwrap import wrap
from typing import Any

from riskcore.assessment.assess_settings import NO_GOAL
from riskcore.common.settings import Place
from riskcore.common.words import counted

_FOLDER = Path(__file__).parent
NAMES = sorted(path.stem for path in _FOLDER.glob("*.toml"))
_OWN = ("recodings", "safe")  # where a file may say something else
_Classes = Mapping[str, list[str]]
_Error = Callable[[Place, str], Exception]


def read(name: str) -> dict[str, Any]:
    """Return a preset as its file holds it."""
    return tomllib.loads((_FOLDER / f"{name}.toml").read_text("utf-8"))


def shown(name: str) -> str:
    """Return what a preset asks, as a file of rules to fill in."""
    about = read(name)["about"]
    said = [about["title"], f"Source: {about['source']}."]
    for head, part in {"It asks:": "asks", "riskcore cannot check:": "cannot"}.items():
        said += [head, *(f"- {text}" for text in about[part])]
    how: Any = {"subsequent_indent": "  ", "break_on_hyphens": False}
    lines = chain(*(wrap(text, 86, **how) for text in said))
    classes = [f"# {text}\n{x} = []" for x, text in about["classes"].items()]
    form = (_FOLDER / "form.txt").read_text("utf-8").rstrip()
    form = form.format(name=name, classes="\n".join(classes))
    return "\n".join([*(f"# {line}" for line in lines), form])


def expanded(rules: Mapping[str, Any], error: _Error) -> dict[str, Any]:
    """Return the tables of a file of rules with those of its preset."""
    if "preset" not in rules:
        return dict(rules)
    asked, classes = read(rules["preset"]), rules.get("classes", {})
    if "subsets" in rules.get("safe", {}):
        raise error(("safe", "subsets"), "the preset states its sets of keys")
    if "*" in rules.get("accept", {}):
        raise error(("accept", "*"), "beside a preset, accept leaks by their column")
    _check_classes(rules, asked.pop("about"), classes, error)
    own = {**rules, **_of_sets(rules, asked, classes, error)}
    return dict(_merged(own, asked, classes, (), error))


def _check_classes(rules: Any, about: Any, classes: _Classes, error: _Error) -> None:
    """Refuse classes that are not those of the preset, or have too many columns."""
    named, most = about["classes"], dict(about.get("most", {}))
    if "person" in rules.get("columns", {}):
        most |= dict.fromkeys(about.get("none_in_panels", []), 0)
    for name in [*named, *classes]:
        number, fault = len(classes.get(name, [])), ""
        if name not in named:
            fault = f"no class of the preset; it has {', '.join(named)}"
        elif name not in classes:
            fault = f"missing: {named[name]}; [] if there are none"
        elif number > most.get(name, number):
            fault = f"{counted(number, 'column')}, but the preset allows {most[name]}"
        if fault:
            raise error(("classes", name), fault)


def _sets(pattern: Sequence[str], classes: _Classes) -> list[list[str]]:
    """Return sets of keys: by "each A or B" one of the columns, by "all A" all."""
    choices = []
    for how, *names in (words.replace(" or ", " ").split() for words in pattern):
        columns = [column for name in names for column in classes[name]]
        choices.append([columns] if how == "all" else [[x] for x in columns])
    sets = [[*dict.fromkeys(chain(*x))] for x in product(*filter(None, choices))]
    return [x for x in sets if x and not any(set(x) < set(other) for other in sets)]


def _of_sets(rules: Any, preset: Any, classes: _Classes, error: _Error) -> Any:
    """Return the sets of keys of a file and its preset with their goals, as tables.

    They are taken out of the preset.
    """
    safe, patterns = dict(rules.get("safe", {})), preset.pop("columns")["keys"]
    own = rules.get("columns", {}).get("keys", [])
    own = own if not own or isinstance(own[0], list) else [own]
    by_pattern = [_sets(pattern, classes) for pattern in patterns]
    sets = {frozenset(keys): keys for keys in [*own, *chain(*by_pattern)]}
    for goal in ("k", "min_population"):
        least: dict[frozenset[str], Any] = dict.fromkeys(sets, NO_GOAL)
        asked, said = (of.pop(goal, NO_GOAL) for of in (preset["safe"], safe))
        asked = asked if isinstance(asked, list) else [asked] * len(patterns)
        for number, of_pattern in zip(asked, by_pattern, strict=True):
            for key in map(frozenset, of_pattern):
                least[key] = max(number, least[key])
        if isinstance(said, list) and len(said) != len(own):
            fault = f"{len(said)} numbers for {len(own)} sets of keys in columns.keys"
            raise error(("safe", goal), fault)
        numbers = said if isinstance(said, list) else [said] * len(sets)
        for key, number in zip(sets, numbers, strict=False):  # those of the file first
            if NO_GOAL != number < least[key]:
                fault = f"{number} is less than {least[key]}, which the preset asks"
                raise error(("safe", goal), fault)
            least[key] = max(number, least[key])
        if any(number > NO_GOAL for number in least.values()):
            safe[goal] = [*least.values()]
    if not sets:
        raise error(("classes",), f"name columns: {', '.join(classes)}")
    columns = {**rules.get("columns", {}), "keys": [*sets.values()]}
    return {"columns": columns, "safe": safe}


def _merged(
    own: Any, asked: Any, classes: _Classes, place: Place, error: _Error
) -> Any:
    """Return the rules of a file and of a preset, which has classes for columns."""
    if isinstance(asked, list):
        asked = [x for name in asked for x in classes.get(name, [name])]
    if isinstance(asked, dict):
        parts = dict(own or {})
        for name, of in asked.items():
            for x in classes.get(name, [name]):
                part = _merged(parts.get(x), of, classes, (*place, x), error)
                parts |= {} if part in ([], {}) else {x: part}
        return parts
    # Goals are compared before, and recodings by how the values are written.
    if own is not None and asked not in (own, []) and place[0] not in _OWN:
        raise error(place, f"the preset asks for {asked!r}")
    return asked if own is None else own
