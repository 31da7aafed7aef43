"""All versions of the rules: show one again, name it, compare two."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from riskcore.app import comparisons
from riskcore.app.forms import Form, NumberFormat, place_in
from riskcore.app.history import History
from riskcore.app.pages.page import Page, named
from riskcore.app.session import RefusedError
from riskcore.app.texts import said
from riskcore.app.workbench import Workbench
from riskcore.common.words import printable

ROWS = 50  # of a page
_FIGURES = (*comparisons.FIGURES[:6], "values_suppressed", *comparisons.FIGURES[6:])


def view(bench: Workbench, form: Form) -> Mapping[str, Any]:
    """Return a page of versions; the rules of one, and two compared, if asked for."""
    comparisons.note_figures(bench)
    history = bench.history
    last = len(history.versions) - 1
    until = _number(history, form, "until", last)
    first = max(until - ROWS + 1, 0)
    states = _states(history, first, until)
    return {
        "total": last + 1,
        "first": first,
        "last": until,
        "newer": min(until + ROWS, last) if until < last else None,
        "older": first - 1 if first else None,
        "unread": history.unread,
        "rows": [
            (history.versions[number], states.get(number, "branch"))
            for number in range(until, first - 1, -1)
        ],
        "one": history.versions[_number(history, form, "version", 0)]
        if form.has("version")
        else None,
        "two": _two(history, form),
        "until": form.text("until"),
        "chosen": [_chosen(history, form, name) for name in ("a", "b")],
    }


def _number(history: History, form: Form, name: str, usual: int) -> int:
    """Return the number of a version that the address gives."""
    text = form.text(name)
    if not text:
        return usual
    number = place_in(text, len(history.versions))
    if number is None:
        raise RefusedError(said("history", "missing"))
    return number


def _states(history: History, first: int, last: int) -> dict[int, str]:
    """Return how versions lie to the one that is shown; others are on a branch."""
    states: dict[int, str] = {}
    for version in history.path_to(history.current.number):
        if version.number < first:
            break
        states[version.number] = "path"
    for version in history.ahead():
        if version.number > last:
            break
        states[version.number] = "undone"
    states[history.current.number] = "shown"
    return states


def _chosen(history: History, form: Form, name: str) -> int:
    """Return a version to compare: that of the address, or the newest change."""
    now = history.current
    before = now.number if now.parent is None else now.parent
    return _number(history, form, name, before if name == "a" else now.number)


# --- two versions ---


def _two(history: History, form: Form) -> dict[str, Any] | None:
    """Return the differences of the two versions that were asked for."""
    if not (form.has("a") and form.has("b")):
        return None
    pair = [history.versions[_number(history, form, name, 0)] for name in ("a", "b")]
    try:
        rules = [rules_of(side.text, form.numbers) for side in pair]
    except tomllib.TOMLDecodeError as error:
        raise RefusedError(said("history", "not_understood", why=error)) from None
    return {
        "a": pair[0].number,
        "b": pair[1].number,
        "rules": [
            (*name, *(side.get(name) for side in rules))
            for name in dict.fromkeys([*rules[0], *rules[1]])
            if rules[0].get(name) != rules[1].get(name)
        ],
        "figures": _figures(history, *(side.number for side in pair)),
    }


def _figures(history: History, a: int, b: int) -> list[tuple[str, list[Any]]]:
    """Return the figures of two versions side by side, if one was carried out."""
    pair = [history.figures.get(side) for side in (a, b)]
    if pair == [None, None]:
        return []
    sides: list[Mapping[str, Any]] = [side or {} for side in pair]
    return [
        (name, [comparisons.figure_of(side.get(name)) for side in sides])
        for name in _FIGURES
    ]


def rules_of(text: str, numbers: NumberFormat) -> dict[tuple[str, str], str]:
    """Return the rules of a file in words, by table and name."""
    return {
        (table, name): _words(value, numbers)
        for table, content in tomllib.loads(text).items()
        for name, value in _named("", content)
    }


def _named(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values of a table with their names, of tables in it, too."""
    if not isinstance(value, Mapping) or not value:
        yield name, value
        return
    for part, content in value.items():
        yield from _named(f"{name} {part}".strip(), content)


def _words(value: Any, numbers: NumberFormat) -> str:
    """Return a value of the rules in words."""
    if isinstance(value, bool):
        return said("history", "yes" if value else "no")
    if isinstance(value, int | float):
        return numbers.write(str(value))
    if isinstance(value, Mapping):
        pairs = (f"{name} = {_words(part, numbers)}" for name, part in value.items())
        return ", ".join(pairs) or said("history", "empty")
    if isinstance(value, list):
        mark = "; " if any(isinstance(part, list | dict) for part in value) else ", "
        return mark.join(_words(x, numbers) for x in value) or said("history", "empty")
    return printable(value)


# --- actions ---


def show(bench: Workbench, form: Form) -> str:
    """Show a version again."""
    number = _number(bench.history, form, "version", -1)
    bench.history.show(number)
    return said("history", "showing", n=number)


def name(bench: Workbench, form: Form) -> str:
    """Give a version a name."""
    number = _number(bench.history, form, "version", -1)
    bench.history.name(number, form.text("name"))
    version_name = bench.history.names.get(number)
    if version_name is None:
        return said("history", "unnamed", n=number)
    return said("history", "named", n=number, given=version_name)


PAGE = Page("history", view, named(show, name))
