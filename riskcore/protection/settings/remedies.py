"""What can be done about a leak: in words, and as settings that work."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from riskcore.common.settings import NEVER, ORDER
from riskcore.common.words import printable
from riskcore.data.profile import ColumnProfile
from riskcore.disclosure.leaks import Remedy
from riskcore.protection.settings.settings import Settings

# Rounded numbers fall into about so many classes.
_CLASSES = 10
SHUFFLE = Remedy("shuffle the records", {"shuffle": True})


def either(*remedies: Remedy | None) -> tuple[Remedy, ...]:
    """Return remedies, each of which is enough; None does not fit."""
    return tuple(remedy for remedy in remedies if remedy is not None)


def leave_out(names: Iterable[Hashable], **more: Any) -> Remedy:
    """Return that columns are left out, with more settings."""
    columns = [*map(str, names)]
    words = "leave it out" if len(columns) == 1 else "leave them out"
    return Remedy(words, {"drop": columns, **more})


def without_key(key: Hashable, words: str) -> Remedy:
    """Return that a key is left out, in words that say what that does."""
    return Remedy(words, {"drop": [str(key)]})


def new_ids(name: Hashable, others: Iterable[Hashable] = ()) -> Remedy:
    """Return that a column gets new ids, and ``others`` as before."""
    names = [*dict.fromkeys(map(str, (*others, name)))]
    return Remedy("give it new ids", {"renumber": names})


def never_blanked(key: Hashable, settings: Settings) -> Remedy | None:
    """Return that other keys are blanked in place of one; None without others."""
    if all(
        settings.cost_of(target) == math.inf for target in {*settings.variables} - {key}
    ):
        return None
    costs = {} if isinstance(settings.cost, str) else settings.cost
    stated = {str(x): _stated(cost) for x, cost in {**costs, key: math.inf}.items()}
    what = f"blank other keys than {printable(str(key))!r}"
    if settings.cost in ("equal", "entropy"):
        what += f" in place of costs that are {settings.cost!r}"
    return Remedy(what, {"cost": stated})


def _stated(cost: Any) -> Any:
    """Return the cost of a key, or those of its categories, as rules state them."""
    if isinstance(cost, Mapping):
        return {str(name): _stated(value) for name, value in cost.items()}
    return NEVER if cost == math.inf else int(cost) if cost == int(cost) else cost


def with_role(name: Hashable, role: str, words: str) -> Remedy:
    """Return that a column gets a role."""
    return Remedy(words, {"roles": {str(name): role}})


def as_key(name: Hashable, settings: Settings) -> Remedy | None:
    """Return that a column becomes a key, if there is one set of keys."""
    if len(settings.keys) > 1:
        return None
    keys = [key for key in settings.keys[0] if key not in settings.strata]
    return Remedy("make it a key", {"keys": [*map(str, keys), str(name)]})


def coarser(columns: Iterable[ColumnProfile]) -> Remedy | None:
    """Return that numbers are rounded to few classes; None without numbers."""
    rules = {}
    for column in columns:
        # Few values are not made fewer by so many classes.
        if (
            not column.is_number
            or column.smallest is None
            or column.distinct <= _CLASSES
        ):
            return None
        span = float(column.largest) - float(column.smallest)
        base = 10.0 ** math.ceil(math.log10(span / _CLASSES)) if span > 0 else 1.0
        rules[str(column.name)] = f"round:{base:.12g}"
    words = "make it much coarser" if len(rules) == 1 else "make them much coarser"
    return Remedy(words, {"treat": rules}) if rules else None


def coarser_weights(name: Hashable) -> Remedy:
    """Return that weights are shared in few classes."""
    return Remedy("make the weights coarser", {"treat": {str(name): "share-weights:5"}})


def related_to(key: Hashable, name: Hashable, settings: Settings) -> Remedy | None:
    """Return that a column is blanked with a key; None if it cannot be."""
    has_part = {*settings.columns, *settings.treated, *settings.with_role("identifier")}
    if key not in settings.variables or name in has_part or key in settings.strata:
        return None
    others = {key: [*settings.related.get(key, ()), name]} | {
        variable: [*names]
        for variable, names in settings.related.items()
        if variable != key
    }
    related = {str(variable): [*map(str, names)] for variable, names in others.items()}
    return Remedy(f"blank it with {printable(str(key))!r}", {"related": related})


def for_all_members(settings: Settings, name: Hashable, **more: Any) -> Remedy | None:
    """Return that a column is blanked for all members; None if it is already."""
    with_it = [key for key, others in settings.related.items() if name in others]
    keys = [name] if name in settings.variables else with_it
    left = [key for key in keys if key not in settings.household_keys]
    if not left:
        return None
    columns = [*map(str, (*settings.household_keys, *left))]
    return Remedy("blank it for all members", {"household_keys": columns, **more})


def accepted(names: Iterable[Hashable | None]) -> Remedy:
    """Return that a leak is accepted."""
    columns = (ORDER if name is None else str(name) for name in names)
    return Remedy(
        "accept this with a reason", {"accept": dict.fromkeys(columns, "REASON")}
    )
