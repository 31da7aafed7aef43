"""What a protected file tells of its people: shared values, and who is left over."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterator, Mapping
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from riskcore.common.words import Number, counted, listed, printable, quoted, sentence
from riskcore.disclosure.elimination import Elimination, eliminate
from riskcore.disclosure.leaks import LEVEL, Leak, Remedy, too_many
from riskcore.disclosure.shared_values import (
    SharedValues,
    Told,
    in_bands,
    shared_values,
)
from riskcore.protection.records.numbers import codes_of, numbers_of
from riskcore.protection.records.protected_records import ProtectedRecords
from riskcore.protection.records.treated import numbers_of as real_numbers_of
from riskcore.protection.settings.remedies import (
    accepted,
    either,
    leave_out,
    without_key,
)

SharedByName = Mapping[Hashable, SharedValues]
_DIFFERENT = Remedy(
    sentence("ask that the people who fit a record differ, which hides some"), {"l": 2}
)
_ALL = 0.995  # of the people: the weights of a whole population may vary a little
_INSIDERS = Remedy(
    sentence("blank companions of their records"), {"against_insiders": True}
)


def values_shared(
    result: ProtectedRecords, gone: Collection[str]
) -> dict[Hashable, SharedValues]:
    """Return what is told of each sensitive column, with the keys that tell most."""
    names = [
        name
        for name in result.settings.with_role("sensitive")
        if str(name) not in gone and name in result.source.names
    ]
    return {x: values for x in names for values in _most_shared(result, x, gone)}


def _most_shared(
    result: ProtectedRecords, name: Hashable, gone: Collection[str]
) -> list[SharedValues]:
    """Return what is told of a column by the keys that tell most; none without keys."""
    sets = [*_released_sets(result, gone)]
    if not sets:
        return []
    values, width = in_bands(_values(result, name))
    candidates = [shared_values(*keys, values, width) for keys in sets]
    return sorted(candidates, key=lambda candidate: candidate.beyond_chance)[-1:]


def named_by_elimination(
    result: ProtectedRecords, gone: Collection[str]
) -> Elimination | None:
    """Return who is named with the keys that name most; None if nothing is blanked."""
    if result.units is not None:
        return None
    sets = [keys for keys in _released_sets(result, gone) if keys[1].any()]
    found = (eliminate(*keys) for keys in sets)
    return max(found, key=lambda x: (x.people, x.records_told), default=None)


def leaks_of_shared(
    result: ProtectedRecords, shared: SharedByName, gone: Collection[str]
) -> Iterator[Leak]:
    """Yield the sensitive columns of which more is told than by chance."""
    level = math.log(LEVEL / max(len(shared) * len(result.sets), 1))
    for name, values in shared.items():
        if too_many(values.beyond_chance, result.n) and values.log_chance < level:
            text = sentence(
                "{column}: the keys tell {what} for {n} of {of} records ({chance} by "
                "chance; a guess by the shares of values is right for {guessed} of "
                "them)",
                quoted(name),
                sentence("a narrow band of it" if values.width else "its value"),
                *(values.people, result.n),
                *(Number(f"{x:,.1f}") for x in (values.by_chance, values.guessed)),
            )
            fewer = _without_a_key(result, name, values.people, gone)
            asked = (result.settings.l, result.settings.t) != (None, None)
            differ = None if values.width or asked else _DIFFERENT
            # A goal of sensitive values needs a column.
            needed = asked and len(result.settings.with_role("sensitive")) == 1
            out = None if needed else leave_out([name])
            advice = either(fewer, differ, out, accepted([name]))
            yield Leak((name,), "attributes", text, advice)


def _without_a_key(
    result: ProtectedRecords, name: Hashable, people: int, gone: Collection[str]
) -> Remedy | None:
    """Return the key without which fewest are told, if that halves their number."""
    values, width = in_bands(_values(result, name))

    def told_without(key: Hashable) -> int:
        sets = _released_sets(result, {*gone, str(key)})
        told = (Told.of(*keys, values, width).told for keys in sets)
        return max((int(np.count_nonzero(mask)) for mask in told), default=0)

    keys = [key for key in result.settings.variables if str(key) not in gone]
    left = {key: told_without(key) for key in keys}
    best = min(left, key=left.__getitem__, default=None)
    if best is None or 2 * left[best] > people:
        return None
    words = sentence("leave {key} out, which leaves {n}", quoted(best), left[best])
    return without_key(best, words)


def leaks_of_elimination(
    result: ProtectedRecords, elimination: Elimination | None
) -> Iterator[Leak]:
    """Yield that people are named, if the file has all people of the population."""
    if (
        elimination is None
        or not (elimination.people or elimination.records_told)
        or not is_population(result)
    ):
        return
    # Without suppression people are named whose keys are missing.
    variables = result.settings.variables
    keys = [name for name in variables if result.masks[name].any()] or variables
    text = sentence(
        "blanks of {keys}: someone who knows all people of the file tells the blanked "
        "keys of {records}, and names {people}, because complete records account for "
        "the others",
        listed([printable(str(name)) for name in keys]),
        counted(elimination.records_told, "record"),
        counted(elimination.people, "person", "people"),
    )
    advice = either(_INSIDERS, accepted(keys))
    yield Leak(tuple(keys), "elimination", text, advice, of_all=True)


def is_population(result: ProtectedRecords) -> bool:
    """Return whether the file has all people of the population, by its weights too."""
    share = result.settings.sampling_fraction
    if share is None:
        original = result.sets[0].original
        cells = original.cells_by_weights or original.cells
        share = cells.n / max(cells.totals.population, cells.n)
    return share >= _ALL


def _released_sets(
    result: ProtectedRecords, gone: Collection[str]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.bool_]]]:
    """Yield untreated keys and blanks of each set; nothing of panels and engines."""
    if result.on_engine is not None or result.settings.person is not None:
        return
    without = {*map(str, () if result.treated is None else result.treated.after), *gone}
    for keys in result.settings.keys:
        pairs = [codes_of(result, name) for name in keys if str(name) not in without]
        if pairs:
            before, after = (np.stack(x, axis=1) for x in zip(*pairs, strict=True))
            yield before, after < 0


def _values(result: ProtectedRecords, name: Hashable) -> NDArray[np.float64]:
    """Return the released values of a column, as codes if they are not numbers."""
    if result.treated is not None and name in result.treated.after:
        return numbers_of(result, name, after=True)
    codes = codes_of(result, name)[1]
    if name not in result.masks:
        with suppress(TypeError, ValueError):
            return real_numbers_of(result.source, result.rows, name)
    return np.where(codes < 0, np.nan, codes)
