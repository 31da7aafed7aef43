"""Shift dates: all dates of a person by one secret number of days."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from riskcore.common.warn import warn
from riskcore.common.words import listed
from riskcore.protection.treatments.rules import (
    Floats,
    Given,
    Names,
    Treatment,
    enter,
    whole_of,
)

# With fewer possible shifts, or a weekday with a smaller share, a shift can be guessed.
_FEWEST, _RARE, _MANY = 20, 0.02, 100


class ShiftShows(UserWarning):
    """Dates of the file tell something about the numbers of days of a shift."""


@enter
@dataclass(frozen=True, slots=True)
class Shift(Treatment):
    """All dates of a person move by one number of days, so that intervals stay.

    The number is drawn from -``days`` to ``days``, with equal chances and without 0; it
    is the same in all columns. Codes such as 9999-12-31 stay.
    """

    days: int
    by: Names = ()  # the columns that tell persons apart; without, each record is one
    weeks: bool = False  # whole weeks: days of the week stay
    dmy: bool = False  # the order of day and month in text
    mdy: bool = False

    kind = "shift"
    alters = True
    random = True
    columns = (1, math.inf)
    of_dates = True

    @property
    def strata(self) -> Names:
        """The columns that tell persons apart."""
        return self.by

    @property
    def order(self) -> str:
        """The order of day and month in text, if it is given."""
        return "dmy" if self.dmy else "mdy" if self.mdy else ""

    def check(self) -> None:
        """Refuse numbers of days that are too few, or more than a life."""
        step = 7 if self.weeks else 1
        fewest, most = _FEWEST // 2 * step, 36_525
        if not fewest <= self.days <= most:
            raise ValueError(
                f"days={self.days}: need {fewest} to {most:,}, so that there are at "
                f"least {_FEWEST} possible shifts; 365 hides the season, too"
            )

    @classmethod
    def read(cls, argument: str) -> dict[str, Any]:
        """Return the most days."""
        return {"days": whole_of(argument.removesuffix("d"), "a number of days")}

    def argument(self) -> str:
        """Return the most days."""
        return f"{self.days}d"

    def describe(self, public: bool) -> str:
        """Return "shifted by a random number of days"; the public phrase tells none."""
        unit = "weeks" if self.weeks else "days"
        most = "" if public else f", at most {self.days} days"
        who = "person" if self.by else "record"
        return f"shifted by a random number of {unit} for each {who}{most}"

    def treated(self, values: Sequence[Floats], context: Given) -> list[Floats]:
        """Return the shifted dates."""
        step = 7 if self.weeks else 1
        person = context.stratum
        if person is None:
            person = np.arange(len(values[0]))
        most = self.days // step
        draws = context.shared("shift", int(person.max()) + 1) % np.uint64(2 * most)
        steps = draws.astype(np.int64) - most
        shift = (step * (steps + (steps >= 0)))[person]
        out = []
        if texts := sorted({x for dates in context.dates for x in dates.code_texts}):
            warn(
                f"{context.label}: {listed(texts)} may be codes, not dates, and stay",
                ShiftShows,
            )
        for old, dates in zip(values, context.dates, strict=True):
            day = np.floor(old / dates.per_day)
            code = np.isin(day, dates.codes)
            self._tell_weekdays(day[~(np.isnan(day) | code)], context.label)
            out.append(np.where(code, old, old + shift * float(dates.per_day)))
        return out

    def _tell_weekdays(self, day: Floats, label: str) -> None:
        """Warn if hardly any date is on some day of the week: shifted ones tell it."""
        shares = np.bincount(np.int64(day) % 7, minlength=7) / max(day.size, 1)
        if not self.weeks and day.size >= _MANY and shares.min() < _RARE:
            warn(
                f"{label}: hardly any date is on some days of the week, so that "
                "shifted dates tell the shift modulo 7; add :weeks, or take seven "
                "times the days",
                ShiftShows,
            )
