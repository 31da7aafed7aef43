"""A file of persons over waves: the cell of each person in each wave."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.words import counted
from riskcore.data.coded import CodedRecords
from riskcore.data.columns import CodedColumn, Records, code_column, household_codes
from riskcore.data.count import count
from riskcore.data.integers import code_integers

MOST_WAVES = 64  # a person's waves are the bits of a word

Positions = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Panel:
    """The persons of a file with one record for each person and wave.

    Attributes
    ----------
    person : int32 ndarray, shape (n,)
        The person of each record.
    wave : uint8 ndarray, shape (n,)
        The wave of each record.
    waves : ndarray, shape (T,)
        The waves, in sorted order.
    code : uint32 ndarray, shape (T, P)
        The cell of each person in each wave, from 1 on; 0 without a record.
    weight : float64 ndarray, shape (P,)
        The mean of the weights of each person's records.
    taken : uint64 ndarray, shape (P,)
        The waves of each person, as bits.
    known : int or None
        How many waves of a person an intruder knows; None for all.
    """

    person: Positions
    wave: NDArray[np.uint8]
    waves: NDArray[Any]
    code: NDArray[np.uint32]
    weight: NDArray[np.float64]
    taken: NDArray[np.uint64]
    known: int | None = None

    @classmethod
    def of(
        cls,
        data: Any,
        records: CodedRecords,
        person: Hashable,
        wave: Hashable,
        known: int | None = None,
    ) -> Panel:
        """Return the panel of coded records, whose weights may be missing."""
        columns = Records.of(data)
        who = code_integers(household_codes(columns, person, "person"))[1]
        who = who.astype(np.int32)
        when = _waves(columns, wave)
        _refuse_twice(who, when, person, wave)
        keys = list(records.columns.values())
        counts = count(
            [when.codes, *(key.codes for key in keys)],
            [when.levels, *(key.levels for key in keys)],
        )
        begin = np.searchsorted(counts.codes[0], np.arange(when.levels))
        persons, waves = int(who.max()) + 1, len(when.labels)
        code = np.zeros((waves, persons), np.uint32)
        first = np.zeros(persons)
        above = np.zeros(persons)
        records_of = np.zeros(persons, np.int64)
        for w in range(waves):
            rows = np.flatnonzero(when.codes == w)
            its = who[rows]
            code[w, its] = counts.inverse[rows] - (begin[w] - 1)
            if records.weights is not None:
                weight = records.weights[rows]
                new = records_of[its] == 0
                first[its[new]] = weight[new]
                # Around the first weight: the mean of equal weights is their value.
                above[its] += weight - first[its]
            records_of[its] += 1
        mean = np.ones(persons)
        if records.weights is not None:
            mean = first + above / records_of
        when_codes = when.codes.astype(np.uint8)
        return cls(who, when_codes, when.labels, code, mean, _taken(code), known)

    def __len__(self) -> int:
        """Return the number of persons, P."""
        return len(self.weight)

    @property
    def waves_of(self) -> NDArray[np.int64]:
        """The number of waves of each person, shape (P,)."""
        waves: NDArray[np.int64] = np.count_nonzero(self.code, axis=0)
        return waves

    @cached_property
    def needed(self) -> NDArray[np.int64]:
        """How many waves of each person the intruder knows, shape (P,)."""
        waves = self.waves_of
        return waves if self.known is None else np.minimum(waves, self.known)


def _waves(records: Records, name: Hashable) -> CodedColumn:
    """Return the coded waves; refuse missing ones, and too many."""
    when = code_column(records, name)
    if when.missing:
        raise ValueError(
            f"wave {name!r}: missing in {when.missing:,} of {records.n:,} records"
        )
    if len(when.labels) > MOST_WAVES:
        raise ValueError(
            f"wave {name!r}: {len(when.labels):,} waves; at most {MOST_WAVES} can be "
            "assessed. Is it the column of waves?"
        )
    return _in_order(when)


def _in_order(when: CodedColumn) -> CodedColumn:
    """Return waves whose labels are text of whole numbers in the order of these."""
    try:
        order = np.argsort([int(str(label)) for label in when.labels], kind="stable")
    except ValueError:
        return when
    place = np.argsort(order).astype(when.codes.dtype)
    return replace(when, codes=place[when.codes], labels=when.labels[order])


def _refuse_twice(
    who: Positions, when: CodedColumn, person: Hashable, wave: Hashable
) -> None:
    """Refuse a person with several records in a wave."""
    place = who.astype(np.int64) * when.levels + when.codes
    often = np.bincount(place)
    twice = int(np.count_nonzero(often > 1))
    if twice:
        extra = int((often[often > 1] - 1).sum())
        raise ValueError(
            f"person {person!r}, wave {wave!r}: {counted(twice, 'pair')} of person and "
            f"wave on several records ({extra:,} too many); give one record for each "
            "person and wave"
        )


def _taken(code: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Return the waves of each person as bits."""
    taken = np.zeros(code.shape[1], np.uint64)
    for w, column in enumerate(code):
        taken[column > 0] |= np.uint64(1 << w)
    return taken
