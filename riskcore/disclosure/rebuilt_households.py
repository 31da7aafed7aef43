"""Households that are found by all their members together, with and without their ids.

Whoever knows the members of a household finds it by all of them together, even where
each member is one of many. Household ids, new ones too, tell who belongs together. So
does the order of records that were not shuffled, and so do columns:

Columns that members mostly share, such as the income of the household, put released
rows into groups. Whoever knows the keys of all members looks for the groups that have
rows for each of them. If one group is left, and in it one row that fits a person, this
is taken for the person's. It may be wrong where the columns have errors, so people who
are found are compared with chance.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.common.arrays import Integers, Mask
from riskcore.common.scatter import scattered
from riskcore.common.threads import in_parts, parts_of, usual_threads
from riskcore.disclosure.fitting_rows import Runs
from riskcore.disclosure.group_kernels import look_for_groups
from riskcore.disclosure.kept_keys import cells, with_missing_drawn
from riskcore.disclosure.leaks import by_chance, too_many

Codes = NDArray[np.integer[Any]]
KeyCodes = Sequence[NDArray[np.signedinteger[Any]]]
# For each set of keys its codes in the original and in the released file.
KeySets = Sequence[tuple[KeyCodes, KeyCodes]]
# With more candidates, one of them is taken to fit.
_CANDIDATES = 1000
_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


def records_by_composition(
    sets: KeySets, household: Integers, *, least: int = 1
) -> int:
    """Return how many records are in a household that only one household fits."""
    # Members fit released records one by one, in any order, a blank standing for any
    # value; the set of keys by which most records are found counts.
    household = np.unique(household, return_inverse=True)[1].reshape(-1)
    size = np.bincount(household)
    size[size < least] = 0
    counts = (int(size[_alone(*key_set, household)].sum()) for key_set in sets)
    return max(counts, default=0)


def _alone(original: KeyCodes, released: KeyCodes, household: Integers) -> Mask:
    """Return which released households only one household of the original fits."""
    households = int(household.max()) + 1
    blank = np.zeros((households, len(released)), bool)
    mixed = np.zeros(households, bool)
    for i, codes in enumerate(released):
        blank[household[codes < 0], i] = True
        mixed[household[(codes >= 0) & blank[household, i]]] = True
    order = np.argsort(household, kind="stable")
    begin = np.searchsorted(household[order], np.arange(households + 1))
    before, after = (
        np.stack(x, axis=1, dtype=np.int32, casting="same_kind")
        for x in (original, released)
    )
    # A number for each key and code: sums of hashes are as good as distinct.
    width = np.int64(len(original))  # no overflow of small codes
    hashes = [
        scattered((column[order] * width + np.int64(i)).astype(np.uint64))
        for i, column in enumerate(original)
    ]
    alone = np.zeros(households, bool)
    kinds, kind = np.unique(blank, axis=0, return_inverse=True)
    for number, lacks in enumerate(kinds):
        # Whoever fits has the same members, in any order, by the keys that all keep.
        member = np.zeros(len(order), np.uint64)
        for key in np.flatnonzero(~lacks):
            member += hashes[key]
        members = np.add.reduceat(scattered(member), begin[:-1])
        alike, some = np.sort(members), np.flatnonzero(kind.reshape(-1) == number)
        low, high = (np.searchsorted(alike, members[some], x) for x in _SIDES)
        alone[some] = high - low == 1
        # The others fit, unless some members keep a key that others lack.
        left = np.flatnonzero(mixed[some] & ~alone[some])
        by_members = np.argsort(members) if len(left) else members
        for at in left.tolist():
            unit, others = some[at], by_members[low[at] : high[at]]
            if len(others) <= _CANDIDATES:
                size = np.arange(begin[unit + 1] - begin[unit])
                people = before[order[begin[others[others != unit], None] + size]]
                pattern = after[order[begin[unit] + size], None]
                # By household, by row of the pattern, by member.
                fits = ((pattern == -1) | (pattern == people[:, None])).all(-1)
                near = fits[fits.any(2).all(1)].tolist()
                alone[unit] = not any(map(_one_by_one, near))
    return alone


def _one_by_one(fits: list[list[bool]]) -> bool:
    """Return whether each row of a pattern has a member of its own that fits it."""
    taken: dict[int, int] = {}

    def place(row: int, seen: set[int]) -> bool:
        for person in range(len(fits)):
            if fits[row][person] and person not in seen:
                seen.add(person)
                if person not in taken or place(taken[person], seen):
                    taken[person] = row
                    return True
        return False

    return all(place(row, set()) for row in range(len(fits)))


# Members mostly share a column if they differ in at most this share of households. Of
# the others the first ones are tried, by the share in which members differ.
_MOSTLY, _PARTLY, _TRIED = 0.1, 0.5, 20
# Numbers are cut into bins if members mostly are within this share of its ranks.
_NEAR = 0.125
_PARTS = 64


class Rebuilt(NamedTuple):
    """People who are found by all members of their household, without its id.

    People whose own keys fit a single row are found anyway, and not counted.
    """

    records: int
    chance: float = 0.0  # expected if one of the rows that fit the own keys is taken
    columns: tuple[Hashable, ...] = ()  # that members share; none for the order
    comparisons: int = 1
    every: int = 1  # of so many households, one was looked for

    @property
    def beyond_chance(self) -> float:
        """People found beyond those of chance."""
        return self.records - self.chance

    def leaks(self, n: int) -> bool:
        """Return whether more of n are found than a file may give away."""
        return too_many(self.beyond_chance * self.every, n) and not by_chance(
            self.records, self.chance, self.comparisons
        )


def records_rebuilt(
    sets: KeySets,
    household: Integers,
    columns: Mapping[Hashable, Codes],
    *,
    shuffled: bool,
    every: int = 1,
) -> Rebuilt:
    """Return how many people are found although the ids of households are left out.

    ``columns`` holds the codes of the released columns, ranks of their values. Groups
    are made by those that all members share, then by those that they mostly share, then
    by each other one that adds people. Where members mostly have numbers near each
    other, these are cut into bins of twice the distance, in two ways; who is found by
    one of them counts. A household is taken as not found if more than 10,000 groups
    must be looked at row by row.

    If members stand together and the file is not shuffled, all households of two or
    more are taken as known, and their records counted. Otherwise one household of
    ``every`` so many is looked for, among all rows.
    """
    household = np.unique(household, return_inverse=True)[1].reshape(-1)
    n = len(household)
    if household.max() + 1 == n:
        return Rebuilt(0)
    if not shuffled and np.count_nonzero(np.diff(household)) == household.max():
        return Rebuilt(records_by_composition(sets, household, least=2))
    members = [_Members.of(*values, household, every) for values in sets]
    apart = _distances(columns, household)
    differ = {name: float((values > 0).mean()) for name, values in apart.items()}
    names = sorted(differ, key=differ.__getitem__)
    used = [name for name in names if not differ[name]]
    base = _together([columns[name] for name in used], n)
    best, tried = _most_found(members, [base], used), 1

    def ways() -> Iterator[tuple[list[Hashable], list[Integers]]]:
        mostly = [name for name in names if differ[name] <= _MOSTLY]
        yield mostly, [_together([columns[name] for name in mostly], n)]
        for name in [name for name in names if differ[name]][:_TRIED]:
            codes = columns[name].astype(np.int64)
            if name not in used and differ[name] <= _PARTLY:
                yield [*used, name], [_together([base, codes], n)]
            near = int(np.quantile(apart[name], 1.0 - _MOSTLY, method="higher"))
            if name not in used and 0 < near <= _NEAR * codes.max():
                bins = [(codes + shift) // (2 * near) for shift in (0, near)]
                yield [*used, name], [_together([base, x], n) for x in bins]

    for these, groups in ways():
        candidate, tried = _most_found(members, groups, these), tried + 1
        if candidate.beyond_chance > best.beyond_chance:
            best = candidate
            if len(groups) == 1:
                base, used = groups[0], these
    return best._replace(comparisons=tried * len(sets), every=every)


def _distances(
    columns: Mapping[Hashable, Codes], household: Integers
) -> dict[Hashable, Integers]:
    """Return how far the codes of members are apart in each household of several."""
    order = np.argsort(household, kind="stable")
    begin = np.searchsorted(household[order], np.arange(household.max() + 1))
    several = np.bincount(household) > 1
    distances = {}
    for name, codes in columns.items():
        if codes.min() < codes.max():
            ordered = codes[order].astype(np.int64)
            least, most = (x.reduceat(ordered, begin) for x in (np.minimum, np.maximum))
            distances[name] = (most - least)[several]
    return distances


def _together(columns: Sequence[NDArray[Any]], n: int) -> Integers:
    """Return the number of each combination of codes, from 0."""
    group = np.zeros(n, np.int64)
    for codes in columns:
        pair = group * (int(codes.max()) + 1) + codes
        group = np.unique(pair, return_inverse=True)[1].reshape(-1)
    return group


class _Members(NamedTuple):
    """The members of households of several, those whom few rows fit first."""

    runs: Runs  # of the rows that fit each cell of the keys
    run: Integers  # a number of the run at each place of its rows
    bits: Integers  # of the keys of each row
    person: Integers
    cell: Integers
    fits: Integers  # rows that fit
    own: Mask  # whether the own row does
    need: Integers  # members of the household who have the same keys
    begin: Integers  # where each household begins, and the end
    mask: Integers  # the bits that a group needs for each household

    @classmethod
    def of(
        cls, original: KeyCodes, released: KeyCodes, household: Integers, every: int
    ) -> _Members:
        """Return the members of one of ``every`` so many households, by their keys."""
        people = with_missing_drawn(np.stack(original, axis=1).astype(np.int64))
        rows = np.stack(released, axis=1).astype(np.int64)
        several = np.bincount(household) > 1
        several &= np.cumsum(several) % every == 1 % every
        person = np.flatnonzero(several[household])
        cell = cells(people[person], range(people.shape[1]))
        once = people[person[np.unique(cell, return_index=True)[1]]]
        runs = Runs.of([*once.T], [*rows.T], len(rows))
        ends = np.zeros(len(rows) + 1, np.int64)
        ends[runs.first] = ends[runs.end] = 1
        fits = runs.fits[cell]
        order = np.lexsort((fits, household[person]))
        person, cell, fits = person[order], cell[order], fits[order]
        begin = np.flatnonzero(np.diff(household[person], prepend=-1, append=-1))
        pair = household[person] * len(once) + cell
        _, alike, need = np.unique(pair, return_inverse=True, return_counts=True)
        own = ((rows[person] == people[person]) | (rows[person] < 0)).all(axis=1)
        mask = np.bitwise_or.reduceat(_bits(people[person]), begin[:-1])
        return cls(
            runs, np.cumsum(ends[:-1]), _bits(rows), person, cell, fits, own,
            need[alike.reshape(-1)], begin, mask,
        )  # fmt: skip

    def claims(self, group: Integers) -> Integers:
        """Return the group in which one row is taken for each member, -1 for none."""
        there = group[self.runs.rows]
        there = there[np.argsort(self.run * (int(group.max()) + 1) + there)]
        size, order = np.bincount(group), np.argsort(group, kind="stable")
        bits = np.bitwise_or.reduceat(self.bits[order], np.cumsum(size) - size)
        claim = np.full(len(self.person), -1, np.int64)

        def look(start: int, stop: int) -> None:
            look_for_groups(
                start, stop, self.runs.first.shape[1], self.runs.first, self.runs.end,
                there, size, bits, self.begin, self.cell, self.need, self.mask, claim,
            )  # fmt: skip

        in_parts(usual_threads(), look, parts_of(len(self.mask), _PARTS))
        return claim


def _most_found(
    sets: Sequence[_Members], groups: Sequence[Integers], columns: Sequence[Hashable]
) -> Rebuilt:
    """Return who is found by one of the groupings, by the keys that find most."""
    best = Rebuilt(0)
    for members in sets:
        right, chance = np.zeros(len(members.person), bool), 0.0
        for group in groups:
            claim = members.claims(group)
            claimed = (claim >= 0) & (members.fits > 1)
            right |= claimed & members.own & (claim == group[members.person])
            chance += float((1.0 / members.fits[claimed]).sum())
        candidate = Rebuilt(int(np.count_nonzero(right)), chance, tuple(columns))
        best = max(best, candidate, key=lambda rebuilt: rebuilt.beyond_chance)
    return best


def _bits(keys: Integers) -> Integers:
    """Return a bit for each key of each row, all bits of the key where it is blank."""
    width = max(62 // keys.shape[1], 1)
    row_bits = np.zeros(len(keys), np.int64)
    for codes in keys.T[: 62 // width]:
        bits = np.where(codes < 0, (1 << width) - 1, np.int64(1) << codes % width)
        row_bits = row_bits << width | bits
    return row_bits
