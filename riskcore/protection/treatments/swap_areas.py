"""Swap households between areas: whole households exchange where they live."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from riskcore.common import arguments
from riskcore.common.words import counted, listed
from riskcore.data.household_rows import HouseholdRows
from riskcore.protection.treatments.pram import total_variation
from riskcore.protection.treatments.rules import (
    Floats,
    Given,
    Names,
    Treatment,
    checked_names,
    checked_share,
    enter,
    options_of,
    percent_of,
    shown_percent,
    shown_strata,
    strata_of,
)

Positions = NDArray[np.int64]


@enter
@dataclass(frozen=True, slots=True)
class AreaSwap(Treatment):
    """Pairs of households in different areas exchange all area columns.

    Attributes
    ----------
    share : float
        Share of the households to swap.
    within : tuple of str
        The matching variables, in which the two households agree.
    """

    share: float
    within: Names = ()

    kind = "swap-areas"
    alters = True
    random = True
    columns = (1, math.inf)
    categorical = True
    by_risk = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", checked_share("share", self.share))
        checked_names(self.within)

    @classmethod
    def parsed(cls, words: str) -> Self:
        """Return the rule of ``2%`` or ``2%:within=SIZE``."""
        argument, options = options_of(words, ("within",))
        return cls(percent_of(argument), strata_of(options))

    def words(self) -> str:
        """Return the words of the rule."""
        return f"{shown_percent(self.share)}{shown_strata(self.within)}"

    def describe(self, public: bool) -> str:
        """Return "swapped between households"; the public phrase tells no share."""
        share = "" if public else f", {shown_percent(self.share)} of them"
        same = f" that agree in {', '.join(self.within)}" if self.within else ""
        return f"swapped between some households{same}{share}"

    def treated(self, values: Sequence[Floats], given: Given) -> list[Floats]:
        """Return the area columns after the swaps."""
        if given.household is None:
            raise ValueError(
                f"{given.label}: households are swapped, name their column"
            )
        found = swap_areas(
            _joined(values, len(values[0])),
            given.household,
            self.share,
            given.numbers(len(values[0])),
            matching=_matching(self.within, given.stratum),
            risk=given.risk,
            weights=given.weights,
        )
        given.tell(found.to_dict())
        return [column[found.source] for column in values]


def _matching(
    names: Names, stratum: NDArray[Any] | None
) -> dict[Hashable, NDArray[Any]]:
    """Return the matching variables as one column."""
    return {} if stratum is None else {" x ".join(names): stratum}


@dataclass(frozen=True, slots=True, eq=False)
class SwappedAreas:
    """Households that exchange their areas.

    Attributes
    ----------
    source : int64 ndarray, shape (n,)
        For each record, the record whose area it gets: ``column[source]`` is the new
        column, of the area and of every column that goes with it.
    wanted, swapped : int
        Number of households to swap, and that were swapped.
    households : int
        Number of households.
    records : int
        Number of records whose area changed.
    before, after : float64 ndarray, shape (A,)
        Persons in each area, or the sum of their weights.
    """

    source: Positions
    wanted: int
    swapped: int
    households: int
    records: int
    before: NDArray[np.float64]
    after: NDArray[np.float64]

    @property
    def total_variation(self) -> float:
        """Distance between the shares of the areas before and after, 0 to 1."""
        return total_variation(self.before, self.after)

    def to_dict(self) -> dict[str, Any]:
        """Return the effects as plain values, for the private record."""
        return {
            "households": self.households,
            "wanted": self.wanted,
            "swapped": self.swapped,
            "records": self.records,
            "total_variation": self.total_variation,
        }


def swap_areas(
    area: NDArray[Any],
    household: NDArray[Any],
    share: float,
    numbers: NDArray[np.uint64],
    *,
    matching: Mapping[Hashable, NDArray[Any]] | None = None,
    risk: NDArray[np.float64] | None = None,
    weights: NDArray[np.float64] | None = None,
) -> SwappedAreas:
    """Exchange the areas of pairs of households that agree in matching variables.

    Parameters
    ----------
    area : integer ndarray, shape (n,)
        The area of each record, 0 to A - 1; a missing area is an area, too.
    household : integer ndarray, shape (n,)
        The household of each record.
    share : float
        Share of the households to swap, in (0, 1]; a swap alters two households.
    numbers : uint64 ndarray, shape (n,)
        Secret random numbers of 64 bits: they order the households.
    matching : mapping of names to integer ndarrays, each shape (n,), optional
        Variables in which two households that are swapped agree, such as their size;
        one value for each household. The counts of households by area and these
        variables stay exactly.
    risk : float64 ndarray, shape (n,), optional
        A risk of each record. Then the households with the largest risk, the largest of
        their members, are swapped first; otherwise households are taken at random.
    weights : float64 ndarray, shape (n,), optional
        Weights, which stay with their household, for the effects only.

    Returns
    -------
    SwappedAreas
        Fewer households than wanted are swapped if no partner is left in another area.

    Raises
    ------
    TypeError, ValueError
        If the share is not a number in (0, 1] or gives no pair, or members of a
        household differ in the area or in a matching variable.

    Notes
    -----
    Dalenius and Reiss (1982), Journal of Statistical Planning and Inference 6, 73-85;
    Shlomo, Tudor and Groom (2010), Privacy in Statistical Databases, 41-51.

    Examples
    --------
    >>> area = np.array([0, 0, 0, 1, 1, 1])
    >>> household = np.array([7, 7, 8, 9, 9, 10])
    >>> numbers = np.arange(6, dtype=np.uint64)
    >>> size = {"size": np.array([2, 2, 1, 2, 2, 1])}
    >>> found = swap_areas(area, household, 0.5, numbers, matching=size)
    >>> area[found.source], found.swapped, found.records
    (array([1, 1, 0, 0, 0, 1]), 2, 4)
    """
    arguments.number_in("share", share, "(0, 1]", "a share of the households")
    matching = matching or {}
    rows = HouseholdRows.agreeing(household, {})
    _refuse_differing(rows, {"the area": area, **matching})
    groups = _joined(matching.values(), len(area))[rows.first]
    number = len(rows.first)
    pairs = round(share * number / 2)
    if not pairs:
        raise ValueError(
            f"swap of areas: {share:.4g} of {counted(number, 'household')} is less "
            "than one pair; give a larger share"
        )
    random = np.argsort(numbers[rows.first], kind="stable")
    order = random if risk is None else _riskiest_first(rows, risk, random)
    partner = _pairs(area[rows.first], groups, order, random, pairs)
    source = np.arange(len(area))
    moved = np.flatnonzero((partner != np.arange(number))[rows.of])
    source[moved] = rows.first[partner[rows.of[moved]]]
    areas = int(area.max(initial=0)) + 1
    return SwappedAreas(
        source,
        2 * pairs,
        int(np.count_nonzero(partner != np.arange(number))),
        number,
        len(moved),
        np.bincount(area, weights, areas).astype(np.float64),
        np.bincount(area[source], weights, areas).astype(np.float64),
    )


def _refuse_differing(rows: HouseholdRows, columns: Mapping[Any, NDArray[Any]]) -> None:
    """Refuse columns in which the members of a household differ."""
    counts = {name: rows.differing(column) for name, column in columns.items()}
    faults = [f"{name} in {count:,}" for name, count in counts.items() if count]
    if faults:
        raise ValueError(
            f"swap of areas: members of a household differ in {listed(faults)} of "
            f"{counted(len(rows.first), 'household')}; a household has one area, and "
            "one value of each matching variable"
        )


def _joined(columns: Iterable[NDArray[Any]], n: int) -> Positions:
    """Return one code for each combination of the values of columns."""
    found = np.zeros(n, np.int64)
    for column in columns:
        _, codes = np.unique(column, return_inverse=True)
        pairs = found * (int(codes.max(initial=0)) + 1) + codes.reshape(-1)
        found = np.unique(pairs, return_inverse=True)[1].reshape(-1)
    return found


def _riskiest_first(
    rows: HouseholdRows, risk: NDArray[np.float64], random: Positions
) -> Positions:
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
) -> Positions:
    """Return the household with which each one is swapped, itself if with none."""
    free = _Free(area, group, random)
    partner = np.arange(len(area))
    for i in order.tolist():
        if pairs and i in free and (j := free.partner(i)) is not None:
            partner[i], partner[j] = j, i
            free.remove(i, j)
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

    def __contains__(self, i: int) -> bool:
        return i in self.left

    def remove(self, *swapped: int) -> None:
        """Take out households that were swapped."""
        self.left.difference_update(swapped)

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
