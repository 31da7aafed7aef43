"""The records of a file grouped by the values of each column, and their orders.

A file can be sorted by a column as numbers or as text: values are neighbors in either
order.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.data.columns import Records, code_column

Integers = NDArray[np.integer[Any]]

# The powers of ten in 64 bits; the doubles that Python writes without an exponent.
_POWERS = 10 ** np.arange(19)
_LEAST, _LARGEST = 1e-4, 1e16

WIDTHS = (16, 128)  # of bands of neighbors, in records


@dataclass(frozen=True, eq=False)
class Grouping:
    """The records grouped by the values of a column."""

    group: Integers  # the rank of each record's value; missing is the last
    groups: int  # the number of values, with missing
    single: bool  # whether no two records have the same value
    orders: tuple[Order, ...]  # in which values are neighbors
    sizes: NDArray[np.int64] | None = None  # the records of each row; None: one each

    def take(self, at: Integers) -> Grouping:
        """Return the grouping of some of the records."""
        group = self.group[at]
        single = self.single or bool(np.bincount(group).max(initial=0) <= 1)
        return Grouping(group, self.groups, single, self.orders)

    @cached_property
    def bands(self) -> tuple[Grouping, ...]:
        """Bands of records in each order, unless the values have as many."""
        band_groupings = []
        for order, width in product(self.orders, WIDTHS):
            records = np.bincount(self.group, self.sizes, self.groups)[order.values]
            upto = np.cumsum(records)
            if len(upto) and len(upto) * width > upto[-1]:
                band = ((upto - records / 2) // width).astype(np.int32)
                of = np.full(self.groups, band[-1] + 1, np.int32)
                of[order.values] = band
                band_groupings.append(
                    Grouping(of[self.group], int(band[-1]) + 2, False, ())
                )
        return tuple(band_groupings)

    @cached_property
    def sorted_by(self) -> NDArray[np.int32]:
        """Positions of the records, sorted by group."""
        if not self.single:
            return np.argsort(self.group, kind="stable").astype(np.int32)
        at = np.full(self.groups, -1, np.int32)
        at[self.group] = np.arange(len(self.group))
        return at[at >= 0]


@dataclass(frozen=True, eq=False)
class Order:
    """An order of the values of a column."""

    values: NDArray[np.int32]  # the ranks of the values in this order, without missing
    place: NDArray[np.int32]  # the place of each value, -1 for missing

    @classmethod
    def of(cls, values: Integers, groups: int) -> Order:
        """Return the order that an array of ranks is in."""
        place = np.full(groups, -1, np.int32)
        place[values] = np.arange(len(values))
        return cls(values.astype(np.int32), place)


def groupings(
    columns: Mapping[Hashable, Any] | Records,
    order: Integers | None,
    stands_for: NDArray[np.int64] | None = None,
    drawn: Collection[Hashable] = (),
) -> Iterator[tuple[Hashable | None, Grouping]]:
    """Yield each column, and None for the order of the records, with its grouping."""
    records = Records.of(columns)
    for name in records.columns:
        group, labels = _coded(records, name)
        groups = len(labels) + 1
        single = bool(np.bincount(group, stands_for).max() == 1)
        ranked = tuple(Order.of(x, groups) for x in orders(labels) if name not in drawn)
        del labels
        yield name, Grouping(group, groups, single, ranked, stands_for)
    if stands_for is not None or order is not None:
        return
    every = np.arange(records.n, dtype=np.int32)
    yield None, Grouping(every, records.n, True, (Order(every, every),))


def _coded(records: Records, name: Hashable) -> tuple[Integers, NDArray[Any]]:
    """Return the ranks of a column's values and the values, whatever they are."""
    try:
        column = code_column(records, name)
    except TypeError:
        # Lists and other values without an order: their texts have one.
        values = records.column(name)
        listed = values.tolist() if isinstance(values, np.ndarray) else values.to_list()
        texts = np.fromiter(map(repr, listed), object, records.n)
        column = code_column(Records({name: texts}, records.n), name)
    return column.codes, column.labels


def orders(labels: NDArray[Any]) -> tuple[Integers, ...]:
    """Return the orders of sorted values: as they are, by number and as text."""
    natural = np.arange(len(labels))
    if labels.dtype.kind in "bmM":
        return (natural,)
    other = _by_number(labels) if _is_text(labels) else _as_text(labels)
    if other is None or np.array_equal(other, natural):
        return (natural,)
    return natural, other


def _is_text(labels: NDArray[Any]) -> bool:
    texts = labels.dtype.kind not in "iuf"
    return texts and all(isinstance(label, str) for label in labels.tolist())


def _by_number(labels: NDArray[Any]) -> Integers | None:
    """Return the order of texts that are numbers; None if a text is not a number."""
    try:
        numbers = np.array([float(label) for label in labels.tolist()])
    except ValueError:
        return None
    return None if np.isnan(numbers).any() else np.argsort(numbers, kind="stable")


def _as_text(labels: NDArray[Any]) -> Integers:
    """Return the order of sorted values by their texts."""
    if labels.dtype.kind in "iuf" and _only_digits(labels):
        # The digits before the point, to the left; the shorter of equal digits first.
        whole = labels.astype(np.int64)
        digits = np.searchsorted(_POWERS, whole, side="right")
        whole *= _POWERS[::-1][digits]
        return np.argsort(whole, kind="stable")
    texts = list(map(str, labels.tolist()))
    return np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int64)


def _only_digits(numbers: NDArray[Any]) -> bool:
    """Return whether the texts of sorted numbers have no sign and no exponent."""
    if not len(numbers):
        return True
    if numbers.dtype.kind != "f":
        return bool(numbers[0] >= 0 and numbers[-1] < _POWERS[-1])
    doubles = numbers.astype(np.float64)
    least = doubles[np.searchsorted(doubles, 0.0, side="right") :][:1]
    return bool(
        not np.signbit(doubles).any()
        and doubles[-1] < _LARGEST
        and np.all(least >= _LEAST)
    )
