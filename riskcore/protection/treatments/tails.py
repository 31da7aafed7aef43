"""Top and bottom coding: the largest or smallest values become one value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast

import numpy as np

from riskcore.common.arrays import Floats
from riskcore.common.words import by_count, counted, sentence
from riskcore.data.ranks import stable_order
from riskcore.protection.treatments.rules import (
    FEWEST,
    Given,
    Treatment,
    enter,
    number_of,
    percent_of,
    percent_words,
    refuse_fewer,
    refuse_share,
    rounded_as,
    shown_number,
    shown_percent,
    whole_of,
)

# Weights are sums of doubles: so much of a share is taken for rounding.
_ROUNDING = 1e-12
_WORDS = ("limit", "mean")
_BECOME = {"limit": "the limit", "mean": "their mean"}


@dataclass(frozen=True, slots=True)
class _Tail(Treatment):
    """The values of one tail become the limit, their mean or a code."""

    limit: float | None = None  # the outermost value that is kept
    # Instead of a limit the share of the records, or of their weights, in the tail: the
    # limit is the innermost value that no larger share exceeds.
    share: float | None = None
    records: int | None = None  # the same as a number of records
    becomes: Literal["limit", "mean"] | float = "limit"  # the mean is weighted

    sign: ClassVar[float]

    def check(self) -> None:
        """Refuse a share or a number of records that is not a tail."""
        if self.share is not None:
            refuse_share(self.share, 1.0)
        if self.records is not None:
            refuse_fewer("records", self.records, 1)
            if self.becomes == "mean" and self.records < FEWEST:
                raise ValueError(
                    f"the mean of {counted(self.records, 'record')} tells too much of "
                    f"them: take at least {FEWEST}"
                )

    @classmethod
    def read(cls, argument: str) -> dict[str, Any]:
        """Return the fields of ``50000``, ``1%=mean`` or ``5n=999``."""
        where, equals, becomes = argument.partition("=")
        fields: dict[str, Any] = {"becomes": becomes if equals else "limit"}
        if fields["becomes"] not in _WORDS:
            fields["becomes"] = number_of(becomes, "a code, mean or limit")
        if where.endswith("%"):
            return fields | {"share": percent_of(where)}
        if where.endswith("n"):
            what = "the number of records of a tail, as in 5n"
            return fields | {"records": whole_of(where[:-1], what)}
        return fields | {"limit": number_of(where, "a limit such as 50000, 1% or 5n")}

    def argument(self) -> str:
        """Return where the tail begins, and what values become unless the limit."""
        if self.limit is not None:
            where = shown_number(self.limit)
        elif self.share is not None:
            where = shown_percent(self.share)
        else:
            where = f"{self.records}n"
        if self.becomes == "limit":
            return where
        mean = self.becomes == "mean"
        return f"{where}={'mean' if mean else shown_number(cast(float, self.becomes))}"

    def describe(self, public: bool) -> str:
        """Return "top coding: the largest 1 % become their mean"."""
        top, n = self.sign > 0, self.records or 0
        if self.limit is not None:
            limit = sentence("a limit") if public else shown_number(self.limit)
            which = sentence("values above {n}" if top else "values below {n}", limit)
        elif self.share is not None:
            which = sentence(
                "the largest {share} of the values"
                if top
                else "the smallest {share} of the values",
                percent_words(self.share),
            )
        else:
            which = sentence(
                "the {n} largest values" if top else "the {n} smallest values", n
            )
        become = sentence("one code")
        if isinstance(self.becomes, str):
            become = sentence(_BECOME[self.becomes])
        if n == 1:
            which = sentence("the largest value" if top else "the smallest value")
        kind = sentence("top coding" if top else "bottom coding")
        return by_count(
            n,
            "{kind}: {values} becomes {code}",
            "{kind}: {values} become {code}",
            *(kind, which, become),
        )

    def treated(self, values: Sequence[Floats], context: Given) -> list[Floats]:
        """Return the coded values."""
        (column,) = values
        present = ~np.isnan(column)
        x = column[present] * self.sign
        context = context.of(present)
        out = column.copy()
        out[present] = self._coded(x, context) * self.sign + 0.0
        return [out]

    def _coded(self, x: Floats, context: Given) -> Floats:
        """Return the coded values of the upper tail."""
        if not x.size:
            return x
        limit = self._limit(x, context.weights, context.label)
        tail = x > limit
        coded = x.copy()
        if not isinstance(self.becomes, str):
            coded[tail] = self.becomes * self.sign
        elif self.becomes == "limit":
            coded[tail] = limit
        elif tail.any():
            mean = context.mean(x, tail, "the tail", "a larger tail, or the limit")
            coded[tail] = rounded_as(np.array([mean]), x)[0]
        return coded

    def _limit(self, x: Floats, weights: Floats | None, label: str) -> float:
        """Return the largest value that stays."""
        if self.limit is not None:
            return self.limit * self.sign
        # Not -x, which makes -0 of 0.
        labels, codes = np.unique(0.0 - x, return_inverse=True)
        order = stable_order(codes, len(labels))
        if self.records is not None:
            if self.records >= x.size:
                raise ValueError(
                    f"{label}: the column has only {counted(x.size, 'value')}"
                )
            return float(x[order[self.records]])
        above = np.cumsum(np.ones(x.size) if weights is None else weights[order])
        most = cast(float, self.share) * above[-1] * (1.0 + _ROUNDING)
        inside = int(np.searchsorted(above, most, side="right"))
        return float(x[order[min(inside, x.size - 1)]])


@enter
@dataclass(frozen=True, slots=True)
class TopCoding(_Tail):
    """The largest values become one value: ``top:50000``, ``top:1%=mean``."""

    kind = "top"
    sign = 1.0


@enter
@dataclass(frozen=True, slots=True)
class BottomCoding(_Tail):
    """The smallest values become one value: ``bottom:0``, ``bottom:5n=-1``."""

    kind = "bottom"
    sign = -1.0
