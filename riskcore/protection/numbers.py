"""The numbers of a protected file that an intruder may know, before and after."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.numeric_risk import NumericRisk
from riskcore.common.progress import Lines, silent
from riskcore.disclosure.number_links import KnownNumbers
from riskcore.disclosure.numeric_risk import numeric_risk
from riskcore.protection.leaks.showing import codes_before
from riskcore.protection.protected_records import ProtectedRecords

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


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


def known_numbers(result: ProtectedRecords, gone: Collection[str]) -> KnownNumbers:
    """Return what links by keys and numbers are looked for in, and what rows tell.

    Rows tell the numbers and the sensitive columns that are in the file.
    """
    settings = result.settings
    treated = () if result.treated is None else (*result.treated.after,)
    keys = {name: codes_of(result, name) for name in settings.variables}
    numbers = [name for name in result.numbers_known if str(name) not in gone]
    taken = {*settings.variables, *numbers, settings.weight}
    told = dict.fromkeys((*settings.with_role("sensitive"), *treated))
    others = {}
    for name in told:
        if name not in taken and str(name) not in gone:
            before, after = codes_of(result, name)
            others[name] = (
                np.where(before < 0, np.nan, before),
                np.where(after < 0, np.nan, after),
            )
    return KnownNumbers(
        keys,
        {
            name: (numbers_of(result, name), numbers_of(result, name, after=True))
            for name in numbers
        },
        others,
        np.arange(result.n),
    )


def codes_of(result: ProtectedRecords, name: Hashable) -> tuple[Integers, Integers]:
    """Return the codes of a column as recoded, and as released; -1 for missing."""
    treated = result.treated
    if treated is not None and name in treated.after:
        both = np.concatenate([treated.before[name], treated.after[name]])
        values, codes = np.unique(both, return_inverse=True)
        codes = np.where(np.isnan(values)[codes.reshape(-1)], -1, codes.reshape(-1))
        before, after = np.split(codes.astype(np.int64), 2)
    else:
        before = after = codes_before(result, name).astype(np.int64)
    if name in result.masks:
        after = np.where(result.masks[name], -1, after)
    return before, after


def _keys(result: ProtectedRecords) -> tuple[Integers, Integers]:
    """Return the codes of the keys as recoded, and as released, shape (n, K)."""
    pairs = [codes_of(result, name) for name in result.settings.variables]
    before, after = zip(*pairs, strict=True)
    return np.stack(before, axis=1), np.stack(after, axis=1)


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
