"""Rules of recoding and the fields of their forms, each made from the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from riskcore.app.forms import Form, NumberFormat
from riskcore.app.pages.values import code_of
from riskcore.app.workbench import RefusedError
from riskcore.data.recoding_words import is_rule

# How a column can be recoded, in the order of the page.
WAYS = ("cut", "ends", "round", "merge", "truncate", "file", "text")
OF_NUMBERS = WAYS[:3]
_KINDS = {
    "from": "cut",
    "upto": "cut",
    "top": "ends",
    "bottom": "ends",
    "round": "round",
    "map": "merge",
    "truncate": "truncate",
    "hierarchy": "file",
}

_TEXTS = ("codes", "bound", "code", "path", "level", "round", "map", "truncate")
_EMPTY: dict[str, Any] = {"breaks": [], **dict.fromkeys(_TEXTS, "")}


def way_of(rule: str) -> str:
    """Return the form in which a rule is shown.

    >>> way_of("from:15,30"), way_of("Age.grc")
    ('cut', 'file')
    """
    return _KINDS[rule.partition(":")[0]] if is_rule(rule) else "file"


def fields_of(rule: str | None, numbers: NumberFormat) -> dict[str, Any]:
    """Return the fields in which a rule is shown, with numbers as the reader writes."""
    kind, _, words = (rule or "").partition(":")
    found: dict[str, Any] = {**_EMPTY, "rule": rule or "", "kind": kind}
    if not rule or not is_rule(rule):
        return found | {"path": rule or ""}
    if kind in ("from", "upto"):
        breaks, _, codes = words.partition("=")
        return found | {
            "breaks": [numbers.write(one.strip()) for one in breaks.split(",")],
            "codes": codes,
        }
    if kind in ("top", "bottom"):
        bound, _, code = words.partition("=")
        return found | {"bound": numbers.write(bound), "code": code}
    if kind == "hierarchy":
        path, _, level = words.rpartition(":")
        return found | {"path": path, "level": level}
    shown = numbers.write(words) if kind == "round" else words
    return found | {kind: shown}


def rule_of(way: str, form: Form, codes: Mapping[str, str]) -> str | None:
    """Return the rule that the fields of a form say; None if they are empty.

    ``codes`` are the codes of the column by their position, for those that are checked.
    """
    if way not in WAYS:
        raise RefusedError(f"{way!r} is not a way to recode")
    try:
        return _RULES[way](form, codes)
    except ValueError as error:
        raise RefusedError(str(error)) from None


def _cut(form: Form, _: Mapping[str, str]) -> str | None:
    """Return a rule of intervals."""
    given = (one.strip() for one in form.all("break"))
    numbers = [form.numbers.read(one) for one in given if one]
    breaks = sorted({float(one): one for one in numbers}.items())
    if not breaks:
        return None
    side = "upto" if form.text("side") == "upto" else "from"
    codes = form.text("codes")
    words = ",".join(text for _, text in breaks)
    return f"{side}:{words}={codes}" if codes else f"{side}:{words}"


def _ends(form: Form, _: Mapping[str, str]) -> str | None:
    """Return a rule of top or bottom coding."""
    if not form.has("bound"):
        return None
    side = "bottom" if form.text("side") == "bottom" else "top"
    rule = f"{side}:{form.numbers.read(form.text('bound'))}"
    return f"{rule}={form.text('code')}" if form.has("code") else rule


def _round(form: Form, _: Mapping[str, str]) -> str | None:
    """Return a rule of rounding."""
    return f"round:{form.numbers.read(form.text('base'))}" if form.has("base") else None


def _merge(form: Form, codes: Mapping[str, str]) -> str | None:
    """Return a rule of merged codes: those of the text, and those checked."""
    found = merged(form.text("map"))
    if form.has("split"):
        found = _split(found, codes.get(form.text("split")))
    new = form.text("new")
    picked = [codes[one] for one in form.all("pick") if one in codes]
    if picked and not new:
        raise RefusedError("give the code that the checked categories become")
    for code in picked:
        old = [one for one, to in found.items() if to == code]
        found |= dict.fromkeys((code, *old), new)
    return words_of(found)


def merged(words: str) -> dict[str, str]:
    """Return the new code by old code of words such as ``3=2,4=2``."""
    found: dict[str, str] = {}
    for one in filter(None, (each.strip() for each in words.split(","))):
        old, equals, new = one.partition("=")
        if not (old and equals and new):
            raise RefusedError(f"{one!r} is not OLD=NEW, such as 3=2")
        if found.setdefault(old, new) != new:
            raise RefusedError(f"{old!r} becomes two codes; give one")
    return found


def words_of(codes: Mapping[str, str]) -> str | None:
    """Return the rule of new codes by old codes; None if no code changes."""
    changed = {old: new for old, new in codes.items() if old != new}
    for code in (*changed, *changed.values()):
        if any(mark in code for mark in ",=") or code != code.strip():
            raise RefusedError(
                f"{code!r}: a code with a comma, an equals sign or blanks at its ends "
                "cannot stand in a rule of merged codes; write a recode file"
            )
    pairs = ",".join(f"{old}={new}" for old, new in changed.items())
    return f"map:{pairs}" if pairs else None


def _split(codes: Mapping[str, str], code: str | None) -> dict[str, str]:
    """Return new codes by old codes without one old code."""
    return {old: new for old, new in codes.items() if old != code}


def _truncate(form: Form, _: Mapping[str, str]) -> str | None:
    """Return a rule that cuts characters off."""
    return f"truncate:{form.whole('drop')}" if form.has("drop") else None


def _file(form: Form, _: Mapping[str, str]) -> str | None:
    """Return a recode file, or a level of a hierarchy."""
    path = form.text("path")
    if not path:
        return None
    if is_rule(path):
        raise RefusedError(f"{path!r} is a rule, not the path of a file")
    return f"hierarchy:{path}:{form.whole('level')}" if form.has("level") else path


def _text(form: Form, _: Mapping[str, str]) -> str | None:
    """Return a rule in words."""
    return form.text("rule") or None


_RULES = {
    "cut": _cut,
    "ends": _ends,
    "round": _round,
    "merge": _merge,
    "truncate": _truncate,
    "file": _file,
    "text": _text,
}


def codes_by_position(labels: Iterable[Any]) -> dict[str, str]:
    """Return codes by their position as text."""
    return {str(at): code_of(code) for at, code in enumerate(labels)}
