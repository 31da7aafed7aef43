"""What a protected file still shows of suppressed, recoded or shuffled values.

An attacker learns from the records that show a key what to guess for its blanks, and
`what_shows` does the same. For each suppressed key it tries rules on each other column,
and on the order of the records:

equal
    the value, or the commonest value, of the records with the same value of the column:
    members of a household, weights of a stratum, a copy with errors;
between
    the value of the nearest records before and after in the order of the column, by
    number and as text, or the commonest in a band of `WIDTHS` neighbors: ids given out
    region by region, weights that vary within a region, a sorted file;
code
    the commonest value of the column's value among all records, blanked ones too:
    if a category is blanked everywhere, names beside codes still show it.

The number of records of a household is one more column, if the file has its id.

A rule is tried on each record that shows the key, without that record. It counts if it
makes at most half the errors of always guessing the commonest value, so that more than
half of what is read is right, and if this is not by chance. A weaker relation between
variables is what data are for. Therefore:

- The number of records that must agree is tried from one upwards by powers of two, and
  guesses at the commonest value and at others are judged separately, too: a class of
  weights that only one region has is found although other classes show nothing, and so
  are the rare values, which are those suppressed.
- Chance is bounded as if errors came in pairs, as they do where two records stand for
  each other, and at a level that is shared by all comparisons of a file.
- Records with the same value of the column count as one for neighbors, so that the
  order of the records is not blamed on the column.
- A value that all members of a household share, and that is blanked for all of them, is
  one value: the household is tried and counted once.

The count is the number of suppressed values that are right by a rule that holds, if the
rule fits them better than chance does: a rule that holds for members of households may
guess at suppressed values by strangers alone. Rules see one column at a time, and no
outside knowledge; `examination` also finds columns that tell a key together.

Two more rules are tried on the original, since the file shows nothing of what recoding
and shuffling took away:

finer
    among the records of one recoded value, neighbors in the order of a column have the
    same original code, or mostly this or the next: household numbers given out
    municipality by municipality. Whoever knows how many were sampled in each, or where
    a few of them live, reads off the others. Or each value of the column mostly goes
    with one code, and there are hardly more values than codes: the code by another
    name. Values must make at most a fifth of the errors.
order
    neighbors in the order of a column stood within `NEAR` records of each other before
    the records were shuffled: sorting undoes the shuffle. A column with few values of
    many records each does not give the order back.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.arrays import Mask
from riskcore.common.progress import Lines, silent
from riskcore.data.columns import Records
from riskcore.disclosure.groupings import WIDTHS, Grouping, Order, groupings
from riskcore.disclosure.leaks import LEVEL, NEAR, Rule, Shown
from riskcore.disclosure.neighbors import (
    count_equal_neighbors,
    stand_in_row,
    try_neighbors,
)

Integers = NDArray[np.integer[Any]]
Narrow = NDArray[np.int32]  # of many records: half the memory

# The share of households whose members share a key, of neighbors with the next code;
# the part of the errors of guessing the commonest value that a rule may make; and the
# same where values of a column tell codes before recoding. Many columns of a survey
# depend on each other within a class: age tells who is married from 30 to 34.
_MOSTLY = 0.9
_ERRORS, _ERRORS_FINER = 0.5, 0.2
# The numbers of records that must agree: 1, 2, 4, ..., 64.
_STEPS = 7
# The records by which it is seen first whether bands of neighbors tell.
_SAMPLE = 100_000
# How often a column is compared with chance: for a key by the rules "equal" and, in two
# orders, "between", each by steps and three kinds of guesses, by two more rules, and by
# bands in two orders; for recoded values by values and by bands, each in three ways and
# two orders; for a shuffled order in two orders.
_OF_KEY, _OF_RECODED, _OF_ORDER = 9 * _STEPS + 2 + 2 * len(WIDTHS), 12, 2

STEP = "looking for what the columns tell of suppressed values"


@dataclass(frozen=True, slots=True, eq=False)
class SuppressedColumn:
    """A column with suppressed values."""

    codes: Integers  # the values before, as codes from 0; -1 if missing already
    blanked: Mask  # which of them were suppressed


@dataclass(frozen=True, slots=True, eq=False)
class RecodedColumn:
    """A column that was recoded."""

    fine: Integers  # the original values, as codes from 0 in their order; -1 if missing
    coarse: Integers  # the values as written, from 0; -1 if missing or suppressed


def what_shows(
    columns: Mapping[Hashable, Any] | Records,
    suppressed: Mapping[Hashable, SuppressedColumn],
    order: Integers | None = None,
    recoded: Mapping[Hashable, RecodedColumn] | None = None,
    *,
    stands_for: NDArray[np.int64] | None = None,
    household: Integers | None = None,
    drawn: Collection[Hashable] = (),
    say: Lines = silent,
) -> tuple[Shown, ...]:
    """Return what columns and the order of the records show of hidden values."""
    hidden = {
        name: x
        for name, x in suppressed.items()
        if x.blanked.any() and np.any((x.codes >= 0) & ~x.blanked)
    }
    recoded = recoded or {}
    of_column = _OF_KEY * len(hidden) + _OF_RECODED * len(recoded)
    of_column += _OF_ORDER * (order is not None)
    records = Records.of(columns)
    level = LEVEL / max((len(records.columns) + 1) * of_column, 1)
    keys = {name: _Key.of(x, stands_for, level) for name, x in hidden.items()}
    shared = {name for name, key in keys.items() if _is_shared(key, household)}
    finer = [(name, _Classes.of(x, stands_for, level)) for name, x in recoded.items()]
    if not keys and not finer and order is None:
        return ()
    findings = []
    mixed = np.random.default_rng(0).permutation(0 if order is None else len(order))
    for column, grouping in groupings(records, order, stands_for, drawn):
        say(STEP)
        at: Integers | None = None
        for name, key in keys.items():
            if name == column and column is not None:
                continue
            if name not in shared:
                findings += _shown_of(name, column, _found_by(grouping, key), key.times)
                continue
            assert household is not None
            at = _once_a_household(grouping, household) if at is None else at
            treated_column = suppressed[name]
            few = SuppressedColumn(treated_column.codes[at], treated_column.blanked[at])
            key = _Key.of(few, None, level)
            of, masks = household[at][key.blanked], _found_by(grouping.take(at), key)
            findings += _shown_of(name, column, masks, None, of)
        for name, classes in finer:
            if name != column and (count := _finer(grouping, classes)):
                findings.append(Shown(name, column, "finer", count, classes.records))
        shuffled = order is not None and column is not None
        if shuffled and (count := _back(grouping, mixed, level)):
            findings.append(Shown(None, column, "order", count, len(grouping.group)))
    return tuple(sorted(findings, key=_by_kind_and_count))


def _shown_of(
    name: Hashable,
    column: Hashable | None,
    masks: dict[Rule, Mask],
    times: NDArray[np.int64] | None,
    household: Integers | None = None,
) -> list[Shown]:
    """Return what a column shows of a key, counted in records or in households."""

    def count(mask: Mask) -> int:
        if household is not None:
            return len(np.unique(household[mask]))
        assert times is not None
        return int(times[mask].sum())

    either = np.logical_or.reduce(list(masks.values()))
    if not either.any():
        return []
    counts = {rule: count(rule_mask) for rule, rule_mask in masks.items()}
    rule = max(counts, key=counts.__getitem__)
    of = count(np.ones_like(either))
    shown = Shown(name, column, rule, count(either), of)
    return [shown if household is None else replace(shown, unit="household")]


def _is_shared(key: _Key, household: Integers | None) -> bool:
    """Return whether members share a key: it is blanked for all, and mostly agrees."""
    if household is None:
        return False
    size = np.bincount(household)
    blanked = np.bincount(household[key.blanked], minlength=len(size))
    if np.any((blanked > 0) & (blanked < size)):
        return False
    last = np.empty(len(size), key.codes.dtype)
    last[household] = key.codes
    differs = np.zeros(len(size), bool)
    differs[household[key.codes != last[household]]] = True
    several = size > 1
    agree = np.count_nonzero(several & ~differs)
    return bool(agree > 0 and agree >= _MOSTLY * np.count_nonzero(several))


def _once_a_household(grouping: Grouping, household: Integers) -> Integers:
    """Return one record of each household for each value of a column that it has."""
    # If each record has its own value, it is the first of the household in the order of
    # the column: neighbors of the same household do not test a rule.
    if grouping.single:
        order = grouping.sorted_by
        return order[np.unique(household[order], return_index=True)[1]]
    pairs = household.astype(np.int64) * grouping.groups + grouping.group
    records: Integers = np.unique(pairs, return_index=True)[1]
    return records


def _by_kind_and_count(finding: Shown) -> tuple[Any, ...]:
    kind = {"finer": 1, "order": 2}.get(finding.rule, 0)
    return kind, -finding.count, str(finding.key), str(finding.column)


@dataclass(frozen=True, eq=False)
class _Key:
    """A suppressed key as the attacker sees it, and the values to find."""

    codes: Integers
    shown: Mask  # which values he sees
    blanked: Integers  # positions of the suppressed values, shape (B,)
    times: NDArray[np.int64]  # the number of records of each of these
    stands_for: NDArray[np.int64] | None  # the same of all rows; None: one each
    common: int  # the commonest value that shows
    shares: NDArray[np.float64]  # of each value among those that show
    first: float  # the shares of the two commonest values
    second: float
    level: float  # the probability that a rule seems to hold by chance

    def take(self, at: Integers) -> _Key:
        """Return the key of some of the records, for whoever does not ask of blanks."""
        sizes = None if self.stands_for is None else self.stands_for[at]
        codes, shown = self.codes[at], self.shown[at]
        return replace(self, codes=codes, shown=shown, stands_for=sizes)

    @classmethod
    def of(
        cls,
        column: SuppressedColumn,
        stands_for: NDArray[np.int64] | None,
        level: float,
    ) -> _Key:
        codes = column.codes
        shown = (codes >= 0) & ~column.blanked
        # Doubles if rows stand for several records, but whole numbers below 2**53.
        sizes = None if stands_for is None else stands_for[shown]
        counts = np.bincount(codes[shown], sizes, minlength=2).astype(np.int64)
        shares = counts / max(int(counts.sum()), 1)
        second, first = np.sort(shares)[-2:].tolist()
        blanked = np.flatnonzero(column.blanked).astype(np.int32)
        times = np.ones(len(blanked), np.int64)
        if stands_for is not None:
            times = stands_for[blanked]
        seen = codes, shown, blanked, times, stands_for
        return cls(*seen, int(counts.argmax()), shares, first, second, level)

    @cached_property
    def truth(self) -> Integers:
        """The suppressed values, shape (B,)."""
        return self.codes[self.blanked]


@dataclass(frozen=True, eq=False)
class _Units:
    """The values of a column with records that show a key: a table of counts.

    Unit u has the rows from ``first[u]`` to ``first[u + 1]``, each a value of the key
    and the number of records of the unit that have it.
    """

    first: Narrow
    kinds: Narrow  # the number of rows of each unit
    size: Narrow  # the number of records of each unit
    value: Narrow  # the key if all records of the unit agree, else -1
    codes: Narrow  # by row
    counts: Narrow
    of_group: Narrow  # by value of the column: its unit, -1 if no record shows the key

    @classmethod
    def of(cls, grouping: Grouping, key: _Key) -> _Units:
        group, codes, counts = _table(grouping, key)
        of_group = np.full(grouping.groups, -1, np.int32)
        if grouping.single:
            of_group[group] = np.arange(len(group))
            first = np.arange(len(group) + 1, dtype=np.int32)
            return cls(first, counts, counts, codes, codes, counts, of_group)
        begins = np.concatenate([[True], group[1:] != group[:-1], [True]])
        first = np.flatnonzero(begins).astype(np.int32)
        kinds = np.diff(first)
        of_group[group[first[:-1]]] = np.arange(len(kinds))
        value = np.where(kinds == 1, codes[first[:-1]], np.int32(-1))
        size = np.add.reduceat(counts, first[:-1], dtype=np.int32)
        return cls(first, kinds, size, value, codes, counts, of_group)

    @cached_property
    def divided(self) -> _Divided:
        """The units whose records differ."""
        unit = np.flatnonzero(self.kinds > 1)
        if not len(unit):
            return _Divided(unit, unit, unit, unit)
        inside = np.repeat(self.kinds > 1, self.kinds)
        codes, counts = self.codes[inside], self.counts[inside]
        kinds = self.kinds[unit]
        first = np.cumsum(kinds) - kinds
        span = int(codes.max()) + 1
        # Of equally common values the smallest.
        rank = counts.astype(np.int64) * span + (span - 1 - codes)
        best = np.maximum.reduceat(rank, first)
        others = np.where(rank == np.repeat(best, kinds), 0, counts)
        second = np.maximum.reduceat(others, first)
        return _Divided(unit, span - 1 - best % span, best // span, second)


def _table(grouping: Grouping, key: _Key) -> tuple[Narrow, Narrow, Narrow]:
    """Return groups, values of the key and numbers of records, sorted."""
    levels = int(key.codes.max()) + 1
    if key.stands_for is not None or grouping.groups * levels <= 4 * len(key.codes):
        pairs = grouping.group[key.shown].astype(np.int64)
        pairs *= levels
        pairs += key.codes[key.shown]
        sizes = None if key.stands_for is None else key.stands_for[key.shown]
        rows, counts = _counted(pairs, sizes)
        return _narrow(rows // levels), _narrow(rows % levels), _narrow(counts)
    at = grouping.sorted_by[key.shown[grouping.sorted_by]]
    group, codes = _narrow(grouping.group[at]), _narrow(key.codes[at])
    if grouping.single:
        return group, codes, np.ones(len(at), np.int32)
    pairs = group.astype(np.int64) * levels + codes
    pairs.sort(kind="stable")  # nearly sorted already
    first = np.flatnonzero(np.concatenate([[True], pairs[1:] != pairs[:-1]]))
    counts = np.diff(first, append=len(pairs))
    rows = pairs[first]
    return _narrow(rows // levels), _narrow(rows % levels), _narrow(counts)


def _counted(
    numbers: Integers, sizes: NDArray[np.int64] | None
) -> tuple[Integers, NDArray[np.int64]]:
    """Return the distinct numbers, sorted, and how many records have each."""
    if len(numbers) and int(numbers.max()) < 4 * len(numbers):
        # Doubles with sizes, but whole numbers below 2**53; each row has records.
        table = np.bincount(numbers, sizes)
        rows: Integers = np.flatnonzero(table)
        return rows, table[rows].astype(np.int64)
    if sizes is None:
        return np.unique(numbers, return_counts=True)
    distinct, place = np.unique(numbers, return_inverse=True)
    return distinct, np.bincount(place, sizes, len(distinct)).astype(np.int64)


def _narrow(numbers: Integers) -> Narrow:
    return numbers.astype(np.int32)


@dataclass(frozen=True, eq=False)
class _Divided:
    """The units whose records differ, each with its two commonest values."""

    unit: Integers
    value: Integers  # the commonest value, the smallest of equally common ones
    first: Integers  # how often it occurs
    second: Integers  # how often the next one occurs


@dataclass(frozen=True, eq=False)
class _Tried:
    """The trials of a rule on records that show the key, and its guesses at blanks.

    ``trials`` and ``wrong``, shape (3, steps), are the numbers of guesses and of wrong
    ones by how many records agree: all guesses, those at the commonest value, and the
    others. Of the suppressed values come the guess, -1 for none, and how many agree.
    """

    trials: NDArray[np.float64]
    wrong: NDArray[np.float64]
    blank_value: Integers
    blank_agreeing: Integers


def _found_by(grouping: Grouping, key: _Key) -> dict[Rule, Mask]:
    """Return the suppressed values that each rule finds, shape (B,)."""
    units = _Units.of(grouping, key)
    equal = _found(_equal(units, grouping, key), key)
    equal |= _found_by_commonest(units, grouping, key)
    between = np.zeros(len(key.blanked), bool)
    for order in grouping.orders:
        between |= _found(_between(units, grouping, key, order), key)
    if 2 * np.count_nonzero(equal | between) < len(between):
        between = max([between, *_in_bands(grouping, key)], key=np.count_nonzero)
    return {"equal": equal, "between": between, "code": _found_by_code(grouping, key)}


def _in_bands(grouping: Grouping, key: _Key) -> Iterator[Mask]:
    """Yield the suppressed values that bands of neighbors in an order give."""
    for bands in grouping.bands:
        step = len(bands.group) // _SAMPLE + 1
        at = np.flatnonzero(bands.group % step == 0)
        few = key.take(at)
        if step == 1 or _commonest_holds(_Units.of(bands.take(at), few), few):
            yield _found_by_commonest(_Units.of(bands, key), bands, key)


def _found_by_code(grouping: Grouping, key: _Key) -> Mask:
    """Return the suppressed values that are shown by a column of their codes."""
    # It is tried on all values, suppressed ones too: if no value is left that shows, an
    # attacker still knows what such a code stands for.
    missing = grouping.groups - 1
    codes = np.where(grouping.group < missing, key.codes, -1)
    # Ids of persons and households are codes of nothing.
    if 2 * grouping.groups > len(codes) or not np.any(codes >= 0):
        return np.zeros(len(key.blanked), bool)
    whole_column = SuppressedColumn(codes, np.zeros(len(codes), bool))
    every = _Key.of(whole_column, key.stands_for, key.level)
    shown = replace(every, codes=key.codes, blanked=key.blanked, times=key.times)
    units = _Units.of(grouping, shown)
    # Members of a household agree, whatever its number is.
    few = len(units.size) <= 2 * np.count_nonzero(every.shares)
    return _found_by_commonest(units, grouping, shown, NEAR, 1 if few else NEAR + 1)


def _found(tried: _Tried, key: _Key) -> Mask:
    """Return the suppressed values that are right where enough records agree."""
    says = tried.blank_value >= 0
    mask = np.zeros(len(says), bool)
    if not np.any(tried.blank_value[says] == key.truth[says]):
        return mask
    common = tried.blank_value == key.common
    step = _step(tried.blank_agreeing)
    spoken = (says, says & common, says & ~common)
    by_chance = (1 - key.first, 1 - key.first, 1 - key.second)
    for part in range(3):
        trials, wrong = _from_step(tried.trials[part]), _from_step(tried.wrong[part])
        for least in range(_STEPS):
            if rule_holds(trials[least], wrong[least], by_chance[part], key.level):
                enough = spoken[part] & (step >= least)
                right = _right(np.where(enough, tried.blank_value, -1), key)
                if right.any():
                    mask |= right
                    break
    return mask


def _right(guess: Integers, key: _Key) -> Mask:
    """Return which suppressed values are guessed rightly; none if by chance."""
    # A rule that holds for records with others of their household may guess at
    # suppressed values by strangers alone: it must hold for these, too.
    right: Mask = guess == key.truth
    spoken = guess >= 0
    count, tries = int(key.times[right].sum()), int(key.times[spoken].sum())
    chance = float(np.sum(key.times[spoken] * key.shares[guess[spoken]]))
    if not count > chance:
        return np.zeros_like(right)
    # The likelihood ratio of the rule and chance, given the right guesses.
    lucky = chance / tries
    share = 1 - _ERRORS * (1 - lucky)
    by_rule = count * math.log(share / lucky)
    by_rule += (tries - count) * math.log((1 - share) / (1 - lucky))
    clearly = by_rule > 0 or count > chance + 3 * math.sqrt(chance)
    return right if clearly else np.zeros_like(right)


def _step(agreeing: Integers) -> Integers:
    """Return floor(log2) of numbers, at most the last step."""
    exponent: Integers = np.frexp(np.maximum(agreeing, 1))[1]
    return np.minimum(exponent - 1, _STEPS - 1)


def _from_step(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums of the counts at each step and beyond it."""
    return np.cumsum(counts[::-1])[::-1]


def rule_holds(
    trials: float, wrong: float, by_chance: float, level: float, errors: float = _ERRORS
) -> bool:
    """Return whether a rule is clearly better than always guessing the commonest.

    Chernoff's bound of the tail of a Poisson distribution is taken at half the numbers,
    as errors may come in pairs.
    """
    expected = trials * by_chance
    if wrong > errors * expected or not expected:
        return False
    gain = wrong * math.log(wrong / expected) if wrong else 0.0
    return (expected - wrong + gain) / 2 > -math.log(level)


def _commonest_holds(units: _Units, key: _Key, tried: int = 1) -> bool:
    """Return whether the commonest value of the others holds where units are large."""
    divided = units.divided
    large = units.size > tried
    trials = int(units.size[large].sum())
    agreed = int(units.size[(units.value >= 0) & large].sum())
    clear = large[divided.unit] & (divided.first > divided.second + 1)
    right = agreed + int(divided.first[clear].sum())
    return rule_holds(trials, trials - right, 1 - key.first, key.level)


def _equal(units: _Units, grouping: Grouping, key: _Key) -> _Tried:
    """Return the trials of guessing what all others with the same value have."""
    several = (units.value >= 0) & (units.size > 1)
    divided = units.divided
    # A record that differs from all others is guessed wrongly; of two records both are,
    # each by the value of the other.
    alone = (divided.first > 1) & (divided.first == units.size[divided.unit] - 1)
    rows = units.first[divided.unit[units.size[divided.unit] == 2]]
    pairs = np.concatenate([units.codes[rows], units.codes[rows + 1]])
    value = np.concatenate([units.value[several], divided.value[alone], pairs])
    size = np.concatenate([units.size[several], divided.first[alone] + 1])
    size = np.append(size, np.full(len(pairs), 2))
    wrong = np.arange(len(size)) >= np.count_nonzero(several)
    trials = np.where(wrong, 1, size)
    unit = units.of_group[grouping.group[key.blanked]]
    step, common = _step(size - 1), value == key.common
    parts = (np.ones_like(common), common, ~common)
    by_step = [
        np.array([np.bincount(step[part], x[part], _STEPS) for part in parts])
        for x in (trials, wrong)
    ]
    guess = np.where(unit >= 0, units.value[unit], -1)
    agreeing = np.where(unit >= 0, units.size[unit], 0)
    return _Tried(by_step[0], by_step[1], guess, agreeing)


def _found_by_commonest(
    units: _Units, grouping: Grouping, key: _Key, tried: int = 1, told: int = 1
) -> Mask:
    """Return the values that the commonest value of the others gives, if it holds."""
    if not _commonest_holds(units, key, tried):
        return np.zeros(len(key.blanked), bool)
    divided = units.divided
    value = units.value.copy()
    value[divided.unit] = np.where(divided.first > divided.second, divided.value, -1)
    value[units.size < told] = -1
    unit = units.of_group[grouping.group[key.blanked]]
    return _right(np.where(unit >= 0, value[unit], -1), key)


def _between(units: _Units, grouping: Grouping, key: _Key, order: Order) -> _Tried:
    """Return the trials of guessing what the nearest records in an order have."""
    upto = np.zeros(len(order.values) + 1, np.int32)  # the last for missing
    unit = np.empty(len(units.value), np.int32)
    row = np.empty(len(unit) + 2, np.int32)  # nothing is known at either end
    stand_in_row(
        order.values, len(order.values), units.of_group, units.value, upto, unit, row
    )
    standing = int(upto[-2]) if len(order.values) else 0
    row = row[: standing + 2]
    equal = np.empty((2, len(row)), np.int32)
    count_equal_neighbors(row, len(row), equal)
    tried = np.zeros((2, 3, _STEPS))
    try_neighbors(
        row, standing, equal, unit, key.common, _STEPS, units.value, units.first,
        units.size, units.codes, units.counts, tried,
    )  # fmt: skip
    group = grouping.group[key.blanked]
    place = order.place[group]
    own = units.of_group[group] >= 0
    # Where the units before and after a suppressed value stand.
    left: Integers = upto[place] - own
    right: Integers = upto[place] + 1
    mask = (place >= 0) & (row[left] == row[right])
    guess = np.where(mask, row[left], -1)
    agreeing = np.minimum(equal[0, left], equal[1, right])
    return _Tried(tried[0], tried[1], guess, agreeing)


@dataclass(frozen=True, eq=False)
class _Classes:
    """A recoded column: the classes that took several codes together."""

    at: Integers  # the records in such classes, shape (R,)
    rank: Integers  # their original codes, numbered through from class to class
    of_rank: Integers  # the class of each rank
    counts: Integers  # how often each rank occurs
    sizes: NDArray[np.int64] | None  # the records of each row; None: one each
    level: float  # the probability that a rule seems to hold by chance

    @property
    def records(self) -> int:
        """The number of records in such classes."""
        return len(self.at) if self.sizes is None else int(self.sizes.sum())

    @classmethod
    def of(
        cls, column: RecodedColumn, stands_for: NDArray[np.int64] | None, level: float
    ) -> _Classes:
        at = np.flatnonzero((column.fine >= 0) & (column.coarse >= 0))
        span = int(column.fine.max(initial=0)) + 1
        pairs = column.coarse[at].astype(np.int64) * span + column.fine[at]
        kinds = np.bincount(np.unique(pairs) // span)
        several = kinds[pairs // span] > 1 if len(at) else np.zeros(0, bool)
        pairs = pairs[several]
        codes, rank, counts = np.unique(pairs, return_inverse=True, return_counts=True)
        classes = codes // span
        # Of few bits: numbers of 16 are sorted fastest.
        narrow = classes.astype(np.min_scalar_type(int(classes.max(initial=0))))
        at, sizes = at[several], None
        if stands_for is not None:
            sizes = stands_for[at]
            counts = np.bincount(rank, sizes, len(codes)).astype(np.int64)
        return cls(at, rank, narrow, counts, sizes, level)

    def rows(self, grouping: Grouping) -> tuple[Integers, Integers, NDArray[np.int64]]:
        """Return values of a column, ranks and numbers of records, sorted."""
        codes = len(self.counts)
        pairs = grouping.group[self.at].astype(np.int64) * codes + self.rank
        rows, counts = _counted(pairs, self.sizes)
        return rows // codes, rows % codes, counts


def _finer(grouping: Grouping, classes: _Classes) -> int:
    """Return how many records' original codes a column gives back."""
    if not len(classes.at):
        return 0
    group, rank, counts = classes.rows(grouping)
    totals = [0]
    for order in grouping.orders:
        place = order.place[group]
        at = np.flatnonzero(place >= 0)
        if not np.all(place[at][1:] >= place[at][:-1]):
            at = at[np.argsort(place[at], kind="stable")]
        at = at[np.argsort(classes.of_rank[rank[at]], kind="stable")]
        if len(at):
            totals += _found_in_order(place[at], rank[at], counts[at], classes)
    return max(totals)


def _found_in_order(
    place: Integers, rank: Integers, counts: NDArray[np.int64], classes: _Classes
) -> Iterator[int]:
    """Yield how many codes follow from rows by class, then by place in an order."""
    coarse = classes.of_rank[rank]
    new = (coarse[1:] != coarse[:-1]) | (place[1:] != place[:-1])
    unit = np.cumsum(np.concatenate([[False], new]))
    few = bool(np.count_nonzero(np.bincount(place)) <= 2 * len(classes.counts))
    yield _found_by_units(unit, rank, counts, few, classes)
    # Bands of as many units or more, in a class alike.
    class_of = coarse[np.flatnonzero(np.concatenate([[True], new]))]
    units = np.bincount(class_of)
    start, bands = np.cumsum(units) - units, np.maximum(units // WIDTHS[0], 1)
    place = (np.arange(len(class_of)) - start[class_of]) * bands[class_of]
    band = (np.cumsum(bands) - bands)[class_of] + place // units[class_of]
    codes = len(classes.counts)
    rows, sizes = _counted(band[unit] * codes + rank, counts)
    yield _found_by_units(rows // codes, rows % codes, sizes, False, classes)


def _found_by_units(
    unit: Integers,
    rank: Integers,
    counts: NDArray[np.int64],
    few: bool,
    classes: _Classes,
) -> int:
    """Return how many codes are the commonest of their unit, if units tell the code."""
    first = np.flatnonzero(np.concatenate([[True], unit[1:] != unit[:-1]]))
    size, most = np.add.reduceat(counts, first), np.maximum.reduceat(counts, first)
    of = np.repeat(np.arange(len(first)), np.diff(first, append=len(unit)))
    clear = np.flatnonzero(2 * counts > size[of])
    rank, size, most = rank[clear], size[of[clear]], most[of[clear]]
    commonest = np.zeros(int(classes.of_rank[-1]) + 1)
    np.maximum.at(commonest, classes.of_rank, classes.counts)
    wrong_by_chance = 1 - commonest.sum() / classes.counts.sum()

    def tell(units: Mask) -> bool:
        trials, right = int(size[units].sum()), int(most[units].sum())
        chance, level = wrong_by_chance, classes.level
        return rule_holds(trials, trials - right, chance, level, _ERRORS_FINER)

    # Each value has one code, each code few values. Members of a household agree,
    # whatever its number is.
    if few and tell(size > NEAR):
        return int(most.sum())
    if not tell(size > 0):
        return 0
    return _by_order(classes.of_rank[rank], rank, most, classes.level)


def _by_order(coarse: Integers, rank: Integers, size: Integers, level: float) -> int:
    """Return how many codes follow from the order of the units that tell one."""
    pair = coarse[1:] == coarse[:-1]
    trials = int(np.count_nonzero(pair))
    # The next code does only if it mostly is this or the same.
    for reach, least in ((0, 0.0), (1, _MOSTLY)):
        near = pair & (np.abs(np.diff(rank)) <= reach)
        right = int(np.count_nonzero(near))
        if not right or right < least * trials:
            continue
        by_chance = float(_by_chance(coarse, rank, reach)[coarse[1:][pair]].mean())
        if rule_holds(trials, trials - right, 1 - by_chance, level):
            mask = np.concatenate([[False], near]) | np.concatenate([near, [False]])
            return int(size[mask].sum())
    return 0


def _by_chance(coarse: Integers, rank: Integers, reach: int) -> NDArray[np.float64]:
    """Return for each class how often two units have equal or neighboring codes."""
    counts = np.bincount(rank).astype(np.float64)
    of_class = np.zeros(len(counts), np.int64)
    of_class[rank] = coarse
    same = counts * (counts - 1)
    next_one = np.append(2 * reach * counts[:-1] * counts[1:], 0.0)
    next_one[:-1][of_class[1:] != of_class[:-1]] = 0.0
    units = np.bincount(coarse).astype(np.float64)
    return np.bincount(of_class, same + next_one, len(units)) / np.maximum(
        units * (units - 1), 1.0
    )


def _back(grouping: Grouping, drawn: Integers, level: float) -> int:
    """Return how many records a column puts back where they were before a shuffle."""
    counts = (_back_in(grouping, order, drawn, level) for order in grouping.orders)
    return max(counts, default=0)


def _back_in(grouping: Grouping, order: Order, drawn: Integers, level: float) -> int:
    """Return the same of one order of the column's values."""
    n, values = len(grouping.group), len(order.values)
    if values < 2:
        return 0
    # One record for each value, drawn: in a random file it stands anywhere.
    stands = np.zeros(grouping.groups, np.int64)
    stands[grouping.group[drawn]] = drawn
    near = np.abs(np.diff(stands[order.values])) <= NEAR
    by_chance = min(2 * NEAR / n, 1.0)
    if not rule_holds(values - 1, values - 1 - int(near.sum()), 1 - by_chance, level):
        return 0
    mask = np.concatenate([[False], near]) | np.concatenate([near, [False]])
    return int(
        np.bincount(grouping.group, minlength=grouping.groups)[order.values][mask].sum()
    )
