"""Rules of recoding and the fields of their forms, each made from the other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from riskcore.app.forms import Form, NumberFormat
from riskcore.app.pages.values import code_of
from riskcore.app.session import RefusedError
from riskcore.app.texts import said
from riskcore.common.words import quoted, sentence, words_in
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
    """Return the form in which a rule is shown: "cut" for "from:15,30"."""
    kind, _, words = rule.partition(":")
    both_ends = kind in ("top", "bottom") and ":" in words
    if both_ends or re.search(r":\d{4}-\d\d-\d\d", rule):
        return "text"
    return _KINDS.get(kind, "text") if is_rule(rule) else "file"


def fields_of(rule: str | None, numbers: NumberFormat) -> dict[str, Any]:
    """Return the fields in which a rule is shown, with numbers as the reader writes."""
    kind, _, words = (rule or "").partition(":")
    fields: dict[str, Any] = {**_EMPTY, "rule": rule or "", "kind": kind}
    if not rule or not is_rule(rule) or way_of(rule) == "text":
        return fields | {"path": rule or ""}
    if kind in ("from", "upto"):
        breaks, _, codes = words.partition("=")
        return fields | {
            "breaks": [numbers.write(text.strip()) for text in breaks.split(",")],
            "codes": codes,
        }
    if kind in ("top", "bottom"):
        bound, _, code = words.partition("=")
        return fields | {"bound": numbers.write(bound), "code": code}
    if kind == "hierarchy":
        path, _, level = words.rpartition(":")
        return fields | {"path": path, "level": level}
    shown = numbers.write(words) if kind == "round" else words
    return fields | {kind: shown}


def in_words(rule: str, numbers: NumberFormat) -> str:
    """Return a rule in words, with numbers as the reader writes them."""
    fields = fields_of(rule, numbers)
    kind = fields["kind"] if way_of(rule) not in ("text", "file") else way_of(rule)
    if kind == "file":
        kind = "hierarchy" if fields["level"] else "file"
    breaks = "; ".join(fields["breaks"])
    words = said("recode", f"in_words_{kind}", **{**fields, "breaks": breaks})
    codes = fields["codes"] or fields["code"]
    return words + (said("recode", "in_words_codes", codes=codes) if codes else "")


def rule_of(way: str, form: Form, codes: Mapping[str, str]) -> str | None:
    """Return the rule of a form's fields, None if empty; ``codes`` are by position."""
    if way not in WAYS:
        raise RefusedError(f"{way!r} is not a way to recode")
    try:
        return _RULES[way](form, codes)
    except ValueError as error:
        raise RefusedError(words_in(error)) from None


def _cut(form: Form, _: Mapping[str, str]) -> str | None:
    """Return a rule of intervals."""
    entries = (entry.strip() for entry in form.all("break"))
    numbers = [form.numbers.read(entry) for entry in entries if entry]
    breaks = sorted({float(entry): entry for entry in numbers}.items())
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
    new_codes = merged(form.text("map"))
    if form.has("split"):
        new_codes.pop(codes.get(form.text("split"), ""), None)
    new = form.text("new")
    picked = [codes[entry] for entry in form.all("pick") if entry in codes]
    if "*" in picked:
        star = sentence("'*' stands for all other codes; write a recode file for it")
        raise RefusedError(star)
    if picked and not new:
        if form.has("do"):
            raise RefusedError(
                sentence("give the code that the checked categories become")
            )
        picked = []  # a preview, while they are being checked
    for code in picked:
        old = [entry for entry, to in new_codes.items() if to == code]
        new_codes |= dict.fromkeys((code, *old), new)
    return words_of(new_codes)


def merged(words: str) -> dict[str, str]:
    """Return the new code by old code of words such as ``3=2,4=2``."""
    new_codes: dict[str, str] = {}
    for pair in filter(None, (part.strip() for part in words.split(","))):
        old, equals, new = pair.partition("=")
        if not (old and equals and new):
            why = sentence("{pair} is not OLD=NEW, such as 3=2", quoted(pair))
            raise RefusedError(why)
        if new_codes.setdefault(old, new) != new:
            why = sentence("{code} becomes two codes; give one", quoted(old))
            raise RefusedError(why)
    return new_codes


def words_of(codes: Mapping[str, str]) -> str | None:
    """Return the rule of new codes by old codes; None if no code changes."""
    # Codes that stay are named, too, if all others change.
    changed = {o: new for o, new in codes.items() if o != new or "*" in codes}
    for code in (*changed, *changed.values()):
        if any(mark in code for mark in ",=") or code != code.strip():
            raise RefusedError(
                f"{code!r}: a code with a comma, an equals sign or blanks at its ends "
                "cannot stand in a rule of merged codes; write a recode file"
            )
    pairs = ",".join(f"{old}={new}" for old, new in changed.items())
    return f"map:{pairs}" if pairs else None


def _truncate(form: Form, _: Mapping[str, str]) -> str | None:
    """Return a rule that cuts characters off."""
    return f"truncate:{form.whole('drop')}" if form.has("drop") else None


def _file(form: Form, _: Mapping[str, str]) -> str | None:
    """Return a recode file, or a level of a hierarchy."""
    path = form.text("path")
    if not path:
        return None
    if is_rule(path):
        why = sentence("{path} is a rule, not the path of a file", quoted(path))
        raise RefusedError(why)
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
