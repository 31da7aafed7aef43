"""What is said of a protected file: safe or not, by which keys, and at what price."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from riskcore.protection import record
from riskcore.protection.key_sets import KeySet

if TYPE_CHECKING:
    from riskcore.protection.result import Protected

# A key blanked in more than this share of the records is named with the verdict.
_MUCH = 0.5
_RULES = {
    "wildcard": "missing keys match any value",
    "argus": "missing keys match any value, as in mu-Argus",
    "category": "missing keys are a category of their own",
}


def verdict_by(result: Protected, one: KeySet, *, public: bool = False) -> str:
    """Say in words whether the file is safe from one set of keys, and why not.

    ``public``: without figures that the original or the recoded file gave.
    """
    keys = " x ".join(map(str, one.keys))
    rule = _RULES[result.settings.missing]
    if one.safe:
        goal = ", ".join(_goals(result, one, public=public))
        price = ", ".join(_price(result, one, public=public))
        but = f"; but {price}" if price else ""
        return f"Safe: by {keys}, {goal or 'no threshold was needed'} ({rule}){but}."
    if public:
        rows = "records" if result.units is None else "households"
        return f"NOT SAFE: by {keys}, {rows} still {_fault(one)} ({rule})."
    unsafe = one.unsafe
    cells = one.protected.cells
    count = cells.count_of(unsafe)
    open_keys = np.zeros(len(cells.rows), bool)
    for i, key in enumerate(cells.keys):
        if result.settings.cost_of(key) < np.inf:
            open_keys |= cells.present(i)[cells.rows]
    stuck = cells.count_of(unsafe & ~open_keys)
    why = []
    if stuck:
        why.append(f"{stuck:,} with no key left that may be blanked")
    if count > stuck and len(result.rounds) == result.settings.rounds:
        why.append(f"{count - stuck:,} as rounds were limited to {len(result.rounds)}")
    elif count > stuck:
        why.append(
            f"{count - stuck:,} would even with all keys blanked, so "
            f"{_easier(one)} or recode"
        )
    households = one.aim.unsafe_households(one.protected)
    units = "household" if households == 1 else "households"
    rows = "records" if result.units is None else "households"
    of_households = f" and {households:,} {units}" if households else ""
    return (
        f"NOT SAFE: by {keys}, {count:,} of {cells.n:,} {rows}{of_households} still "
        f"{_fault(one)} ({rule}): {', '.join(why)}."
    )


def _fault(one: KeySet) -> str:
    """Say what unsafe records do."""
    short = "" if one.aim.k is None else f"have f below {one.aim.k}"
    reach = "reach their threshold" if one.aim.has_threshold or not short else ""
    return " or ".join(filter(None, (reach, short)))


def _easier(one: KeySet) -> str:
    """Say what could be asked for instead."""
    lower = "" if one.aim.k is None else "lower k"
    rise = "raise the threshold" if one.aim.has_threshold or not lower else ""
    return ", ".join(filter(None, (rise, lower)))


def _goals(result: Protected, one: KeySet, *, public: bool) -> Iterator[str]:
    """Say what no record and no household does."""
    settings, aim = result.settings, one.aim
    unit = "record" if result.units is None else "household"
    if aim.k is not None:
        yield f"no {unit} has f below {aim.k}"
    for what, threshold, rate in (
        (f"the risk of no {unit} reaches", aim.threshold, settings.rate),
        (
            "that of no household reaches",
            aim.household_threshold,
            settings.household_rate,
        ),
    ):
        if public and rate is not None:
            # The threshold itself is a figure of the recoded file.
            yield f"{what} the threshold for a rate of {100 * rate:.8g} %"
        elif threshold < np.inf:
            yield f"{what} {threshold:.8g}"


def _price(result: Protected, one: KeySet, *, public: bool) -> Iterator[str]:
    """Say what safety has cost, if that is much."""
    for key in one.keys:
        share = result.blanked_share[key]
        if share > _MUCH:
            amount = "more than half" if public else f"{100 * share:.3g} %"
            yield f"{key} is blanked in {amount} of the records"
    if lost := one.without_keys:
        count = record.about(lost) if public else f"{lost:,}"
        unit = "record" if result.units is None else "household"
        units = f"{unit} has" if count == "1" else f"{unit}s have"
        yield f"{count} {units} lost all keys"
