"""Bounds of top and bottom coding that are quantiles of the data, and multiples."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from riskcore.common import arguments

Number: TypeAlias = int | float
Side: TypeAlias = Literal["top", "bottom"]

_PERCENT = re.compile(r"[0-9]{1,2}(\.[0-9]{1,12})?%")


@dataclass(frozen=True, slots=True)
class Tail:
    """The largest or smallest values of a column, by a quantile such as "99%"."""

    side: Side
    percent: str
    label: str | int | float | None = None

    def __post_init__(self) -> None:
        arguments.one_of("side", self.side, ("top", "bottom"))
        share = self.share
        if not (share > 0.5 if self.side == "top" else share < 0.5):
            other = f"{self.side}:{_percent(1 - share)}"
            raise ValueError(
                f"{self.words}: the number is the quantile from which values are "
                f"recoded; for the {'largest' if self.side == 'top' else 'smallest'} "
                f"{_percent(1 - share)} of the values write {other}"
            )

    @property
    def share(self) -> Fraction:
        """The quantile as a fraction."""
        text = self.percent
        if not (isinstance(text, str) and _PERCENT.fullmatch(text)):
            raise ValueError(
                f"{arguments.shown(text)}: need a quantile above 0% and below 100%, "
                "such as 99% or 99.5%"
            )
        share = Fraction(text[:-1]) / 100
        if not share:
            raise ValueError(f"{text}: need a quantile above 0%")
        return share

    @property
    def words(self) -> str:
        """The rule in words, as on a command line."""
        label = "" if self.label is None else f"={self.label}"
        return f"{self.side}:{self.percent}{label}"

    def bound(self, values: Sequence[Any], counts: Sequence[int]) -> Any:
        """Return the bound beyond which no more than the share of the records lies."""
        tail = 1 - self.share if self.side == "top" else self.share
        most = tail * sum(counts)
        beyond = 0
        pairs = sorted(zip(values, counts, strict=True), reverse=self.side == "top")
        for value, count in pairs:
            beyond += count
            if beyond > most:
                return value
        raise ValueError(f"{self.words}: all values are missing")


def _percent(share: Fraction) -> str:
    """Return a share in percent."""
    return f"{float(100 * share):.10g}%"


def nearest_multiple(value: Number | Decimal, base: Number) -> Number:
    """Return the nearest multiple of a number by their digits, of two the even one."""
    if isinstance(value, int) and isinstance(base, int):
        below, rest = divmod(value, base)
        return (below + (2 * rest + below % 2 > base)) * base
    unit = _exact(base)
    multiple = round(_exact(value) / unit) * unit
    return int(multiple) if multiple.denominator == 1 else float(multiple)


def _exact(value: Number | Decimal) -> Fraction:
    """Return a number by its digits: the double 0.1 is one tenth."""
    return Fraction(value if isinstance(value, int | Decimal) else repr(value))
