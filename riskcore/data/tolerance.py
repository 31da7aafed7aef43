"""Tolerance: how far from a known number the numbers that match it may be."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common import arguments
from riskcore.data.columns import CodedColumn, plain_value

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]

_EXACT = 2.0**53  # smaller whole numbers are doubles
_ROUNDING = 2.0**-40  # relative differences that come from decimals as doubles


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How precisely an intruder knows a number."""

    amount: float  # in the units of the key, or a share of the number that is known
    relative: bool = False  # whether it is a share

    @classmethod
    def of(cls, key: Hashable, value: Any) -> Tolerance:
        """Return the tolerance that a number or a text such as "5%" stands for."""
        name = f"tolerance of {key!r}"
        if not isinstance(value, str):
            return cls(arguments.number_in(name, value, "[0, inf)"))
        text = value.strip()
        try:
            share = Decimal(text.removesuffix("%").rstrip()) / 100
        except InvalidOperation:
            share = Decimal(-1)
        if not text.endswith("%") or share.is_nan() or not 0 <= share < 1:
            raise ValueError(
                f"{name}: {arguments.shown(value)}: give a number >= 0 in the units of "
                "the key, or a share of its value, '0%' to below '100%'"
            )
        return cls(float(share), relative=True)

    def reach(self, values: Numbers) -> Numbers:
        """Return how far from each number others match."""
        if self.relative:
            return np.asarray(self.amount * np.abs(values))
        return np.full(len(values), self.amount)

    def windows(self, values: Numbers) -> tuple[Places, Places]:
        """Return the first and last match of each of distinct, rising values."""
        # A difference may exceed the tolerance by a rounding error, as 1.1 - 1 does.
        own = np.arange(len(values))
        reach = self.reach(values)
        reach = np.where(reach > 0.0, reach + _ROUNDING * (reach + abs(values)), 0.0)
        low = np.searchsorted(values, values - reach)
        high = np.searchsorted(values, values + reach, "right") - 1
        return np.minimum(low, own), np.maximum(high, own)

    def __str__(self) -> str:
        return f"{100.0 * self.amount:.6g}%" if self.relative else f"{self.amount:g}"


def tolerances(values: Any, keys: Iterable[Hashable]) -> dict[Hashable, Tolerance]:
    """Return the tolerance of each key that has one."""
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise TypeError(
            "tolerance: give a mapping of keys to numbers or shares, such as "
            f"{{'age': 2, 'income': '5%'}}, not {arguments.shown(values)}"
        )
    keys = list(keys)
    for name in values:
        if name not in keys:
            raise ValueError(
                f"tolerance: {name!r} is not one of the keys; add it to them, or leave "
                "it out"
            )
    return {name: Tolerance.of(name, value) for name, value in values.items()}


def values_of(column: CodedColumn) -> Numbers:
    """Return the labels of a key of numbers as doubles."""
    labels = column.labels
    for label in labels[:1] if labels.dtype.kind in "iuf" else labels:
        if not _is_number(label):
            kind = type(plain_value(label)).__name__
            held = "text" if kind == "str" else f"values of type {kind}"
            raise TypeError(
                f"tolerance: key {column.name!r} does not hold numbers but {held}; "
                "convert it, or leave out its tolerance"
            )
    values = labels.astype(np.float64)
    if not np.abs(values).max(initial=0.0) < _EXACT:
        raise ValueError(
            f"tolerance: key {column.name!r} has numbers of 2^53 or more, or infinite "
            "ones; give it in another unit, or set them to missing"
        )
    return values


def _is_number(value: Any) -> bool:
    value = plain_value(value)
    return isinstance(value, Real | Decimal) and not isinstance(value, bool)
