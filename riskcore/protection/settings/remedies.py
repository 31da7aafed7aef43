"""What can be done about a leak: in words, and as options of the command that work."""

from __future__ import annotations

import math
import shlex
from collections.abc import Hashable, Iterable, Mapping

from riskcore.common.settings import NEVER, ORDER
from riskcore.common.words import printable
from riskcore.data.profile import ColumnProfile
from riskcore.protection.settings.settings import Settings

# Rounded numbers fall into about so many classes.
_CLASSES = 10
_BETWEEN = "; or "


def either(*remedies: str) -> str:
    """Return remedies, of which each is enough; empty ones do not fit."""
    return _BETWEEN.join(filter(None, remedies))


def _with(words: str, option: str, arguments: Iterable[str]) -> str:
    """Return a remedy in words with its option."""
    values = " ".join(shlex.quote(printable(argument)) for argument in arguments)
    return f"{words}: --{option} {values}".rstrip()


def leave_out(names: Iterable[Hashable], more: str = "") -> str:
    """Return that columns are left out."""
    columns = [*map(str, names)]
    words = "leave it out" if len(columns) == 1 else "leave them out"
    return _with(words, "drop", columns) + more


def without_key(key: Hashable, words: str) -> str:
    """Return that a key is left out, in words that say what that does."""
    return _with(words, "drop", [str(key)])


def new_ids(name: Hashable, others: Iterable[Hashable] = ()) -> str:
    """Return that a column gets new ids, and ``others`` as before."""
    names = dict.fromkeys(map(str, (*others, name)))
    return _with("give it new ids", "renumber", names)


def never_blanked(key: Hashable, settings: Settings) -> str:
    """Return that other keys are blanked in place of one; nothing without others."""
    if all(
        settings.cost_of(target) == math.inf for target in {*settings.variables} - {key}
    ):
        return ""
    costs = {} if isinstance(settings.cost, str) else settings.cost
    words = []
    for name, cost in {**costs, key: math.inf}.items():
        entries = {name: cost}
        if isinstance(cost, Mapping):
            entries = {f"{name}[{target}]": value for target, value in cost.items()}
        words += [
            f"{target}={NEVER if value == math.inf else format(value, '.12g')}"
            for target, value in entries.items()
        ]
    what = f"blank other keys than {printable(str(key))!r}"
    if settings.cost in ("equal", "entropy"):
        what += f" in place of costs that are {settings.cost!r}"
    return _with(what, "cost", words)


def with_role(name: Hashable, role: str, words: str) -> str:
    """Return that a column gets a role."""
    return _with(words, "role", [f"{name}={role}"])


def as_key(name: Hashable, settings: Settings) -> str:
    """Return that a column becomes a key, if there is one set of keys."""
    if len(settings.keys) > 1:
        return ""
    keys = [key for key in settings.keys[0] if key not in settings.strata]
    return _with("make it a key", "keys", [*map(str, keys), str(name)])


def coarser(columns: Iterable[ColumnProfile]) -> str:
    """Return that numbers are rounded to few classes; nothing without numbers."""
    rules = []
    for column in columns:
        # Few values are not made fewer by so many classes.
        if (
            not column.is_number
            or column.smallest is None
            or column.distinct <= _CLASSES
        ):
            return ""
        span = float(column.largest) - float(column.smallest)
        base = 10.0 ** math.ceil(math.log10(span / _CLASSES)) if span > 0 else 1.0
        rules.append(f"{column.name}=round:{base:.12g}")
    words = "make it much coarser" if len(rules) == 1 else "make them much coarser"
    return _with(words, "treat", rules) if rules else ""


def coarser_weights(name: Hashable) -> str:
    """Return that weights are shared in few classes."""
    return _with("make the weights coarser", "treat", [f"{name}=share-weights:5"])


def related_to(key: Hashable, name: Hashable, settings: Settings) -> str:
    """Return that a column is blanked with a key; nothing if it cannot be."""
    has_part = {*settings.columns, *settings.treated, *settings.with_role("identifier")}
    if key not in settings.variables or name in has_part or key in settings.strata:
        return ""
    others = {key: [*settings.related.get(key, ()), name]} | {
        variable: [*names]
        for variable, names in settings.related.items()
        if variable != key
    }
    pairs = [f"{key}={x}" for key, names in others.items() for x in names]
    return _with(f"blank it with {printable(str(key))!r}", "related", pairs)


def for_all_members(settings: Settings, name: Hashable, more: str = "") -> str:
    """Return that a column is blanked for all members; nothing if it is already."""
    with_it = [key for key, others in settings.related.items() if name in others]
    keys = [name] if name in settings.variables else with_it
    left = [key for key in keys if key not in settings.household_keys]
    if not left:
        return ""
    columns = map(str, (*settings.household_keys, *left))
    return _with("blank it for all members", "household-keys", columns) + more


def accepted(names: Iterable[Hashable | None]) -> str:
    """Return that a leak is accepted."""
    entries = [f"{ORDER if name is None else name}=REASON" for name in names]
    return _with("accept this with a reason", "accept", entries)
