"""Bands: all values of a band become one value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, Self, cast

import numpy as np

from riskcore.protection.treatments.precision import decimals_of, rounded_as
from riskcore.protection.treatments.rules import (
    FEWEST,
    Floats,
    Given,
    Treatment,
    checked_number,
    enter,
    mean_of,
    number_of,
    options_of,
    shown_number,
)


@enter
@dataclass(frozen=True, slots=True)
class Bands(Treatment):
    """Values from one break to below the next become one value.

    Attributes
    ----------
    breaks : tuple of float
        In increasing order. Below the first and from the last on are open bands.
    becomes : "midpoint", "mean" or tuple of float
        What the values of a band become. Midpoint: that of its breaks, and of the open
        bands their break; it tells nothing of the data. Mean: the weighted mean of its
        values. Otherwise a code for each band, one more than breaks.
    """

    breaks: tuple[float, ...]
    becomes: Literal["midpoint", "mean"] | tuple[float, ...] = "midpoint"

    kind = "bands"

    def __post_init__(self) -> None:
        breaks = _numbers("breaks", self.breaks)
        if not breaks or any(low >= high for low, high in pairwise(breaks)):
            raise ValueError("breaks: need numbers in increasing order")
        object.__setattr__(self, "breaks", breaks)
        if self.becomes in ("midpoint", "mean"):
            return
        codes = _numbers("codes", self.becomes)
        if len(codes) != len(breaks) + 1:
            raise ValueError(
                f"{len(breaks)} breaks make {len(breaks) + 1} bands, two of them open, "
                f"but there are {len(codes)} codes"
            )
        object.__setattr__(self, "becomes", codes)

    @classmethod
    def parsed(cls, words: str) -> Self:
        """Return the rule of ``0,1000,2000``, with ``=mean`` or ``=1,2,3,4``."""
        argument, _ = options_of(words, ())
        breaks, equals, becomes = argument.partition("=")
        ends = tuple(number_of(one, "a break") for one in breaks.split(","))
        if not equals:
            return cls(ends)
        if becomes in ("midpoint", "mean"):
            return cls(ends, cast(Any, becomes))
        return cls(ends, tuple(number_of(one, "a code") for one in becomes.split(",")))

    def words(self) -> str:
        """Return the words of the rule."""
        ends = ",".join(map(shown_number, self.breaks))
        if self.becomes == "midpoint":
            return ends
        if self.becomes == "mean":
            return f"{ends}=mean"
        return f"{ends}={','.join(map(shown_number, self.becomes))}"

    def describe(self, public: bool) -> str:
        """Return "in 4 bands, each value the midpoint of its band"."""
        what = {"midpoint": "the midpoint", "mean": "the mean"}
        name = self.becomes if isinstance(self.becomes, str) else ""
        phrase = f"in {len(self.breaks) + 1} bands"
        if not public:
            phrase += f" with the breaks {', '.join(map(shown_number, self.breaks))}"
        return f"{phrase}, each value {what.get(name, 'the code')} of its band"

    def treated(self, values: Sequence[Floats], given: Given) -> list[Floats]:
        """Return the values of the bands."""
        (x,) = values
        present = ~np.isnan(x)
        band = np.searchsorted(np.array(self.breaks), x[present], side="right")
        weights = None if given.weights is None else given.weights[present]
        out = x.copy()
        out[present] = self._codes(band, x[present], weights, given.label)[band]
        return [out]

    def _codes(
        self, band: Any, x: Floats, weights: Floats | None, label: str
    ) -> Floats:
        """Return the value of each band; of empty ones nan, if it is a mean."""
        if not isinstance(self.becomes, str):
            return np.array(self.becomes)
        if self.becomes == "midpoint":
            return _midpoints(np.array(self.breaks), x)
        means = np.full(len(self.breaks) + 1, np.nan)
        count = np.bincount(band, minlength=len(means))
        for one in np.flatnonzero(count):
            if count[one] < FEWEST:
                raise ValueError(
                    f"{label}: a band has fewer than {FEWEST} values, so their mean "
                    "tells too much of each; take wider bands, or midpoints"
                )
            chosen = band == one
            own = None if weights is None else weights[chosen]
            means[one] = mean_of(x[chosen], own)
        return rounded_as(means, x)


def _midpoints(ends: Floats, x: Floats) -> Floats:
    """Return the midpoint of each band, one that the decimals of the column allow."""
    decimals = decimals_of(x)
    if decimals is None:
        return np.concatenate([ends[:1], ends[:-1] / 2 + ends[1:] / 2, ends[-1:]])
    # In units of the last decimal: the first value of each band, and those between.
    unit = 10.0**decimals
    first = np.ceil(ends * unit)
    middle = np.floor((first[:-1] + first[1:]) / 2)
    return np.concatenate([first[:1], middle, first[-1:]]) / unit + 0.0


def _numbers(name: str, values: Any) -> tuple[float, ...]:
    """Return the numbers of a tuple, or refuse it."""
    if not isinstance(values, tuple):
        raise ValueError(f"{name}: need numbers")
    return tuple(checked_number(name, one) for one in values)
