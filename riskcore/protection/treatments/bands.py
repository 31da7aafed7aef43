"""Bands: all values of a band become one value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from riskcore.common.arrays import Floats
from riskcore.common.words import joined, sentence
from riskcore.protection.treatments.rules import (
    Given,
    Treatment,
    decimals_of,
    enter,
    number_of,
    rounded_as,
    shown_number,
)

_WORDS = ("midpoint", "mean")

_BECOMES = {
    "midpoint": "{bands}, each value the midpoint of its band",
    "mean": "{bands}, each value the mean of its band",
}


@enter
@dataclass(frozen=True, slots=True)
class Bands(Treatment):
    """Values from one break to below the next become one value.

    Below the first break and from the last on are open bands. Midpoint: that of the
    breaks, and of the open bands their break; it tells nothing of the data. Mean: the
    weighted mean of the values. Otherwise a code for each band, one more than breaks.
    """

    breaks: tuple[float, ...]  # in increasing order
    becomes: Literal["midpoint", "mean"] | tuple[float, ...] = "midpoint"

    kind = "bands"

    def check(self) -> None:
        """Refuse breaks in another order, and codes for another number of bands."""
        if any(low >= high for low, high in pairwise(self.breaks)):
            raise ValueError("breaks: need numbers in increasing order")
        bands = len(self.breaks) + 1
        if not isinstance(self.becomes, str) and len(self.becomes) != bands:
            raise ValueError(
                f"{bands - 1} breaks make {bands} bands, two of them open, "
                f"but there are {len(self.becomes)} codes"
            )

    @classmethod
    def read(cls, argument: str) -> dict[str, Any]:
        """Return the breaks of ``0,1000,2000``, and what is after ``=``."""
        words, equals, becomes = argument.partition("=")
        breaks = tuple(number_of(text, "a break") for text in words.split(","))
        if not equals:
            return {"breaks": breaks}
        if becomes in _WORDS:
            return {"breaks": breaks, "becomes": becomes}
        codes = tuple(number_of(text, "a code") for text in becomes.split(","))
        return {"breaks": breaks, "becomes": codes}

    def argument(self) -> str:
        """Return the breaks, and what values become unless it is the midpoint."""
        breaks = ",".join(map(shown_number, self.breaks))
        if self.becomes == "midpoint":
            return breaks
        if self.becomes == "mean":
            return f"{breaks}=mean"
        return f"{breaks}={','.join(map(shown_number, self.becomes))}"

    def describe(self, public: bool) -> str:
        """Return "in 4 bands, each value the midpoint of its band"."""
        bands = sentence("in {n} bands", len(self.breaks) + 1)
        if not public:
            breaks = joined(", ", map(shown_number, self.breaks))
            bands = sentence("{bands} with the breaks {breaks}", bands, breaks)
        if not isinstance(self.becomes, str):
            return sentence("{bands}, each value the code of its band", bands)
        return sentence(_BECOMES[self.becomes], bands)

    def treated(self, values: Sequence[Floats], context: Given) -> list[Floats]:
        """Return the values of the bands."""
        (x,) = values
        present = ~np.isnan(x)
        band = np.searchsorted(np.array(self.breaks), x[present], side="right")
        out = x.copy()
        out[present] = self._codes(band, x[present], context.of(present))[band]
        return [out]

    def _codes(self, band: Any, x: Floats, context: Given) -> Floats:
        """Return the value of each band; of empty ones nan, if it is a mean."""
        if not isinstance(self.becomes, str):
            return np.array(self.becomes)
        if self.becomes == "midpoint":
            return _midpoints(np.array(self.breaks), x)
        means = np.full(len(self.breaks) + 1, np.nan)
        for number in np.unique(band):
            chosen, instead = band == number, "wider bands, or midpoints"
            means[number] = context.mean(x, chosen, "a band", instead)
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
