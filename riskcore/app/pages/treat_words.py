"""The forms of treatments: which fit a column, and the rule that a form says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

from riskcore.app.forms import Form
from riskcore.app.session import RefusedError
from riskcore.app.texts import said
from riskcore.app.workbench import Workbench
from riskcore.common.words import sentence
from riskcore.protection.treatments.rules import Treatment

OF_NUMBERS: Final = (
    "top",
    "bottom",
    "round",
    "bands",
    "microaggregate",
    "swap",
    "noise",
)
OF_CATEGORIES: Final = ("pram", "swap-areas", "shift")
OF_WEIGHTS: Final = ("share-weights", "round-weights", "round", "top", "rake")

# The fields of the form of each kind, with what stands in them at first.
FIELDS: Final[dict[str, dict[str, str]]] = {
    "top": {"bound": "1%", "becomes": "limit"},
    "bottom": {"bound": "1%", "becomes": "limit"},
    "round": {"base": "100", "digits": "", "unbiased": ""},
    "bands": {"breaks": "", "becomes": "midpoint"},
    "microaggregate": {"k": "5", "with": "", "within": ""},
    "swap": {"share": "5%", "within": ""},
    "noise": {"share": "10%", "with": ""},
    "pram": {"keep": "0.8", "invariant": "", "within": ""},
    "swap-areas": {"share": "2%", "within": ""},
    "shift": {"days": "365", "with": "", "within": ""},
    "share-weights": {"classes": "20", "within": ""},
    "round-weights": {"base": "10", "within": ""},
    "rake": {"path": ""},
}
BECOMES: Final = {"top": ("limit", "mean"), "bands": ("midpoint", "mean")}
FLAGS: Final = ("unbiased", "invariant", "numbers")
for _kind in OF_NUMBERS:
    FIELDS[_kind]["numbers"] = ""


def kinds_of(role: str | None, numeric: bool) -> tuple[str, ...]:
    """Return the kinds of treatments that fit a column."""
    if role == "weight":
        return OF_WEIGHTS
    if role == "numeric":
        return OF_NUMBERS
    return (*OF_NUMBERS, *OF_CATEGORIES) if numeric else OF_CATEGORIES


def rule_of(bench: Workbench, form: Form) -> str:
    """Return the rule that a form says."""
    kind = form.text("kind")
    if kind not in FIELDS:
        raise RefusedError(f"{kind!r} is not a treatment")
    read = _ARGUMENTS.get(kind, partial(_number, name=next(iter(FIELDS[kind]))))
    argument = read(form)
    flags: list[str] = [x for x in FLAGS if x in FIELDS[kind] and form.has(x)]
    if kind == "noise" and form.has("with"):
        flags.append("correlated")
    within = [bench.column(column) for column in form.all("within") if column]
    refuse_joined(within, "+:")
    strata = [f"within={'+'.join(within)}"] if within else []
    return ":".join([kind, argument, *flags, *strata])


def refuse_joined(names: Iterable[str], marks: str) -> None:
    """Refuse names with marks by which a rule would be read as one of other columns."""
    for name in names:
        if any(mark in name for mark in marks):
            raise RefusedError(said("treat", "joined", column=name))


def _tail(form: Form) -> str:
    """Return a limit, a share or a number of records, and what they become."""
    bound = form.text("bound")
    counted = bound[:-1].strip() if bound.endswith("n") else ""
    where = f"{counted}n" if counted.isdecimal() else _number(form, "bound")
    if form.has("value"):
        return f"{where}={_number(form, 'value')}"
    return f"{where}=mean" if form.text("becomes") == "mean" else where


def _bands(form: Form) -> str:
    """Return breaks, which semicolons separate, and what the bands become."""
    texts = [text.strip() for text in form.text("breaks").split(";")]
    breaks = ",".join(form.numbers.read(text) for text in texts if text)
    return f"{breaks}=mean" if form.text("becomes") == "mean" else breaks


def _rounding(form: Form) -> str:
    """Return a base, or a number of digits."""
    if form.has("digits"):
        return f"{form.whole('digits')}digits"
    return _number(form, "base")


def _number(form: Form, name: str) -> str:
    """Return a field with a number, or a share in per cent."""
    return form.numbers.read(form.text(name))


def _path(form: Form) -> str:
    """Return the path of a file."""
    if not form.has("path"):
        raise RefusedError(sentence("give the path of the file of totals"))
    return form.text("path")


# The others have a number, in their first field.
_ARGUMENTS: Final[dict[str, Callable[[Form], str]]] = {
    "top": _tail,
    "bottom": _tail,
    "round": _rounding,
    "bands": _bands,
    "rake": _path,
}


def key_of(bench: Workbench, name: str) -> str | None:
    """Return the name in the rules under which a column is treated."""
    for key in map(str, bench.table("treat")):
        if key == name or (key not in bench.names and name in key.split("+")):
            return key
    return None


def rules_of(bench: Workbench, key: str | None) -> list[str]:
    """Return the rules of a name of the table of treatments."""
    return [] if key is None else listed_rules(bench.table("treat").get(key, []))


def listed_rules(rules: str | Sequence[str]) -> list[str]:
    """Return one rule or several as a list."""
    return [rules] if isinstance(rules, str) else list(rules)


def value_of(rules: Sequence[str]) -> str | list[str] | None:
    """Return rules as the table of treatments holds them; None for no rule."""
    return (rules[0] if len(rules) == 1 else list(rules)) if rules else None


def in_words(column: str, rules: Iterable[str]) -> list[str]:
    """Return treatments in words; one that has a fault as it is."""
    words = []
    for rule in rules:
        try:
            words.append(Treatment.of(column, rule).describe(public=False))
        except (OSError, ValueError):
            words.append(rule)
    return words
