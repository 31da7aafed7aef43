"""Shift dates: all dates of a person by one secret number of days."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from riskcore.common.arrays import Floats
from riskcore.common.warn import warn
from riskcore.common.words import listed, sentence
from riskcore.data.dates import far_days
from riskcore.data.integers import code_integers
from riskcore.protection.treatments.rules import (
    Given,
    Names,
    Treatment,
    enter,
    whole_of,
)

_FEWEST, _MOST = 10, 36_525  # fewer can be guessed, more are longer than a life


class ShiftShows(UserWarning):
    """Dates of the file tell something about the numbers of days of a shift."""


@enter
@dataclass(frozen=True, slots=True)
class Shift(Treatment):
    """All dates of a person move by one number of days, so that intervals stay.

    The number is drawn from -``days`` to ``days``, with equal chances and without 0; it
    is the same in all columns. Codes such as 9999-12-31 stay without ``numbers``.
    """

    days: int
    dmy: bool = False  # the order of day and month in text
    mdy: bool = False
    within: Names = ()  # the columns that tell persons apart; else a record is one

    kind = "shift"
    alters = True
    random = True
    columns = (1, math.inf)

    @property
    def order(self) -> str:
        """The order of day and month in text, if it is given."""
        return "dmy" if self.dmy else "mdy" if self.mdy else ""

    def check(self) -> None:
        """Refuse numbers of days that are too few, or more than a life."""
        if not _FEWEST <= self.days <= _MOST:
            raise ValueError(
                f"days={self.days}: need {_FEWEST} to {_MOST:,}; fewer can be guessed, "
                "365 hide the season, too"
            )

    @classmethod
    def read(cls, argument: str) -> dict[str, Any]:
        """Return the most days."""
        return {"days": whole_of(argument.removesuffix("d"), "a number of days")}

    def describe(self, public: bool) -> str:
        """Return "dates shifted at random"; the public phrase has no number."""
        if public:
            return "dates shifted at random"
        return sentence(
            "dates shifted at random by at most {n} days{within}",
            *(self.days, self.in_strata()),
        )

    def treated(self, values: Sequence[Floats], context: Given) -> list[Floats]:
        """Return the shifted dates."""
        person = np.arange(len(values[0]))
        if context.stratum is not None:
            person = code_integers(context.stratum)[1]
        draws = context.numbers(int(person.max()) + 1) % np.uint64(2 * self.days)
        shift = draws.astype(np.int64) - self.days
        shift += shift >= 0
        codes = [_codes(old, context.label, kept=self.numbers) for old in values]
        pairs = zip(codes, values, strict=True)
        return [np.where(stays, old, old + shift[person]) for stays, old in pairs]


def _codes(dates: Floats, label: str, *, kept: bool) -> Any:
    """Return which dates are probably codes; warn of them, and of what tells shifts."""
    present = ~np.isnan(dates)
    days = np.floor(dates[present]).astype(np.int64).astype("M8[D]")
    distinct, place, records = np.unique(days, return_inverse=True, return_counts=True)
    far = far_days(distinct, records) & (not kept)
    codes = np.zeros(len(dates), bool)
    codes[present] = far[place]
    if far.any():
        texts = listed(map(str, distinct[far]))
        said = "may be codes, not dates, and stay; to shift them add :numbers"
        warn(f"{label}: {texts} {said}", ShiftShows)
    rest = days[~far[place]]
    of_week = np.bincount(rest.astype(np.int64) % 7, minlength=7)
    of_month = np.bincount((rest - rest.astype("M8[M]")).astype(np.int64), minlength=31)
    if len(rest) >= 100 and (
        of_week.min() < 0.02 * len(rest) or np.sort(of_month)[-2:].sum() > len(rest) / 2
    ):
        warn(
            f"{label}: most dates are on some days of the week or month only, so that "
            "shifted dates tell much of the shift; take many more days, or recode the "
            "dates to months or years instead",
            ShiftShows,
        )
    return codes
