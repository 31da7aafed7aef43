"""The numbers of a protected file that an intruder may know, before and after."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.numeric_risk import BOTH, NumericRisk, RecordLinkage
from riskcore.common.progress import Lines, silent
from riskcore.disclosure.numeric_risk import numeric_risk
from riskcore.disclosure.record_linkage import link_records, scales_of
from riskcore.protection.leaks.showing import codes_before
from riskcore.protection.protected_records import ProtectedRecords

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MEASURE = "standardized distance"


class NumericRisks(NamedTuple):
    """The risk from numbers before and after protection."""

    original: NumericRisk
    protected: NumericRisk


def numeric_risks(result: ProtectedRecords, say: Lines = silent) -> NumericRisks | None:
    """Return the risk from the numbers of a file, None if it has none to measure.

    These are the columns with the role "numeric", and treated columns without a role.
    """
    names = result.numbers_known
    if not names or result.on_engine is not None:
        return None
    before = {name: numbers_of(result, name) for name in names}
    after = {name: numbers_of(result, name, after=True) for name in names}
    weight = result.settings.weight
    weights = [
        None if weight is None else numbers_of(result, weight, after=stage)
        for stage in (False, True)
    ]
    keys, kept = _keys(result)
    original = [
        codes_before(result, name, recoded=False).astype(np.int64)
        for name in result.settings.variables
    ]
    say("measuring the risk from the original numbers")
    first = numeric_risk(before, keys=np.stack(original, axis=1), weight=weights[0])
    say("measuring the risk from the protected numbers")
    second = numeric_risk(
        before, after, keys=keys, released_keys=kept, weight=weights[1]
    )
    return NumericRisks(first, second)


def best_linked(
    result: ProtectedRecords, names: Sequence[Hashable]
) -> tuple[tuple[Hashable, ...], RecordLinkage]:
    """Return the numbers by which, with the keys, most records are linked, and how.

    Numbers that were swapped far hide one that was changed little. So each number is
    tried alone; then the best by itself is joined by the next best, while that helps.
    """
    before = {name: numbers_of(result, name) for name in names}
    after = {name: numbers_of(result, name, after=True) for name in names}
    keys = _keys(result)

    def linked(some: Sequence[Hashable]) -> RecordLinkage:
        files = [before[name] for name in some], [after[name] for name in some]
        scales = {MEASURE: scales_of(some, *files)[MEASURE]}
        return link_records(*files, scales, keys, known=(BOTH,))[-1]

    alone = {name: linked([name]) for name in names}
    ranked = sorted(names, key=lambda name: -alone[name].beyond_chance)
    best: tuple[Hashable, ...] = (ranked[0],)
    found = alone[ranked[0]]
    for name in ranked[1:]:
        more = linked([*best, name])
        if more.beyond_chance <= found.beyond_chance:
            break
        best, found = (*best, name), more
    return best, found


def _keys(result: ProtectedRecords) -> tuple[Integers, Integers]:
    """Return the codes of the keys as recoded, and as released, shape (n, K)."""
    keys, kept = [], []
    for name in result.settings.variables:
        codes = codes_before(result, name).astype(np.int64)
        keys.append(codes)
        kept.append(np.where(result.masks[name], -1, codes))
    return np.stack(keys, axis=1), np.stack(kept, axis=1)


def numbers_of(
    result: ProtectedRecords, name: Hashable, *, after: bool = False
) -> Floats:
    """Return a column as numbers, nan where it is missing or was blanked."""
    treated = result.treated
    if treated is not None and name in treated.after:
        found = (treated.after if after else treated.before)[name]
    else:
        found = result.numbers[name]
    if after and name in result.masks:
        found = np.where(result.masks[name], np.nan, found)
    return found
