"""Swap households between areas: whole households exchange where they live."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.arrays import Floats
from riskcore.common.progress import Lines, silent
from riskcore.common.words import Number, counted, listed, sentence
from riskcore.data.household_rows import HouseholdRows
from riskcore.protection.treatments.pram import total_variation
from riskcore.protection.treatments.rules import (
    Given,
    Names,
    ShareTreatment,
    enter,
    shown_percent,
)
from riskcore.protection.treatments.strata import combined

Positions = NDArray[np.int64]
_SAID = 1 << 14  # households between two words of progress


@enter
@dataclass(frozen=True, slots=True)
class AreaSwap(ShareTreatment):
    """Households exchange all area columns with others that agree ``within``."""

    within: Names = ()

    kind = "swap-areas"
    alters = True
    random = True
    columns = (1, math.inf)
    categorical = True
    by_risk = True

    def describe(self, public: bool) -> str:
        """Return "swapped between households"; the public phrase tells no share."""
        share = sentence(", {share} of them", Number(shown_percent(self.share)))
        same = sentence(" that agree in {columns}", ", ".join(self.within))
        return sentence(
            "swapped between some households{alike}{share}",
            *(same if self.within else "", "" if public else share),
        )

    def treated(self, values: Sequence[Floats], context: Given) -> list[Floats]:
        """Return the area columns after the swaps."""
        if context.household is None:
            raise ValueError(
                f"{context.label}: households are swapped, name their column"
            )
        source, effects = swap_areas(
            combined(values, len(values[0])),
            context.household,
            self.share,
            context.numbers(len(values[0])),
            matching={}
            if context.stratum is None
            else {" x ".join(self.within): context.stratum},
            risk=context.risk,
            weights=context.weights,
            say=context.say,
        )
        context.tell(effects)
        return [column[source] for column in values]


def swap_areas(
    area: NDArray[Any],
    household: NDArray[Any],
    share: float,
    numbers: NDArray[np.uint64],
    *,
    matching: Mapping[Hashable, NDArray[Any]],
    risk: Floats | None = None,
    weights: Floats | None = None,
    say: Lines = silent,
) -> tuple[Positions, dict[str, Any]]:
    """Return the record whose area each record gets, and the effects.

    ``numbers`` are secret random numbers of 64 bits; ``matching`` has the variables in
    which two households agree that are swapped. Households with the largest risk, the
    largest of their members, come first; without risks all have equal chances. Fewer
    than asked are swapped if no partner is left in another area.

    Dalenius and Reiss (1982), Journal of Statistical Planning and Inference 6, 73-85;
    Shlomo, Tudor and Groom (2010), Privacy in Statistical Databases, 41-51.
    """
    rows = HouseholdRows.agreeing(household, {})
    if differing := rows.differing({"the area": area, **matching}):
        faults = [f"{name} in {count:,}" for name, count in differing.items()]
        raise ValueError(
            f"swap of areas: members of a household differ in {listed(faults)} of "
            f"{counted(len(rows.first), 'household')}; a household has one area, and "
            "one value of each matching variable"
        )
    group = combined([x[rows.first] for x in matching.values()], len(rows.first))
    number = len(rows.first)
    pairs = round(share * number / 2)
    if not pairs:
        raise ValueError(
            f"swap of areas: {share:.4g} of {counted(number, 'household')} is less "
            "than one pair; give a larger share"
        )
    random = np.argsort(numbers[rows.first], kind="stable")
    order = random if risk is None else _riskiest_first(rows, risk, random)
    partner = _pairs(area[rows.first], group, order, random, pairs, say)
    swapped = partner != np.arange(number)
    source = np.where(
        swapped[rows.of], rows.first[partner[rows.of]], np.arange(len(area))
    )
    before, after = (
        np.bincount(column, weights, int(area.max()) + 1)
        for column in (area, area[source])
    )
    return source, {
        "households": number,
        "wanted": 2 * pairs,
        "swapped": int(np.count_nonzero(swapped)),
        "records": int(np.count_nonzero(swapped[rows.of])),
        "total_variation": total_variation(before, after),
    }


def _riskiest_first(rows: HouseholdRows, risk: Floats, random: Positions) -> Positions:
    """Return the households by falling risk, in random order if it is equal."""
    largest = np.zeros(len(rows.first))
    np.maximum.at(largest, rows.of, risk)
    return random[np.argsort(-largest[random], kind="stable")]


def _pairs(
    area: NDArray[Any],
    group: Positions,
    order: Positions,
    random: Positions,
    pairs: int,
    say: Lines,
) -> Positions:
    """Return the household with which each one is swapped, itself if with none."""
    free = _Free(area, group, random)
    partner = np.arange(len(area))
    for done, i in enumerate(order.tolist()):
        if done % _SAID == 0:
            say(f"looking for partners of households: {done / len(area):.0%}")
        if pairs and i in free.left and (j := free.partner(i)) is not None:
            partner[i], partner[j] = j, i
            free.left -= {i, j}
            pairs -= 1
    return partner


class _Free:
    """The households that may still be swapped, by group and area in random order."""

    def __init__(self, area: NDArray[Any], group: Positions, random: Positions) -> None:
        self.area, self.group = area.tolist(), group.tolist()
        self.left = set(range(len(self.area)))
        self.queues: dict[int, dict[int, deque[int]]] = defaultdict(dict)
        self.place = np.empty(len(self.area), np.int64)
        self.place[random] = np.arange(len(self.area))
        for i in random.tolist():
            areas = self.queues[self.group[i]]
            areas.setdefault(self.area[i], deque()).append(i)

    def partner(self, i: int) -> int | None:
        """Return the first free household of the group in another area."""
        areas, heads = self.queues[self.group[i]], []
        for area, queue in list(areas.items()):
            while queue and queue[0] not in self.left:
                queue.popleft()
            if not queue:
                del areas[area]
            elif area != self.area[i]:
                heads.append(queue[0])
        return min(heads, key=self.place.__getitem__, default=None)
