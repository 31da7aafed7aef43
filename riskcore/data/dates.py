"""The dates of a column of dates, of text, or of whole numbers such as 20240131."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.words import listed

ORDERS = ("dmy", "mdy")
PARTS = ("year", "quarter", "month")
# Units of times, the coarsest first, and how many there are in a day.
PER_DAY = {"D": 1, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000}
_TEXT = re.compile(
    r"(?:(\d{4})([-/.]?)(\d\d?)\2(\d\d?)|(\d\d?)([-/.])(\d\d?)\6(\d{4}|\d\d))"
    r"(?:([T ])(\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)(Z|[+-]\d\d:?\d\d)?)?",
    re.ASCII,
)
# Years in which no person of a file has a date.
_FIRST_YEAR, _LAST_YEAR = 1800, 2098
# Where calendars begin: codes if no other date is within a year.
_BEGINS = frozenset(
    ("1899-12-30", "1899-12-31", "1900-01-01", "1960-01-01", "1970-01-01")
)
AS_MISSING = (
    "If they are codes, name them as missing: --na COLUMN=9999-12-31 (in Python: "
    "missing_codes={'COLUMN': ['9999-12-31']})"
)


class UnclearDatesError(ValueError):
    """Text may be dates, but whether the day or the month is first is not clear."""


def is_date(value: Any) -> bool:
    """Return whether a value is of a type of dates, or of dates with times."""
    return isinstance(value, date | np.datetime64)


def day_text(value: Any) -> str | None:
    """Return a date, or text such as 2024-01-31, as such text; None for other values.

    >>> day_text("2024-01-31"), day_text(date(2024, 1, 31)), day_text("31.1.")
    ('2024-01-31', '2024-01-31', None)
    """
    if is_date(value):
        return str(np.datetime64(value, "D"))
    if not (isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value)):
        return None
    return date.fromisoformat(value).isoformat()


@dataclass(frozen=True, slots=True, eq=False)
class Dates:
    """The dates of values, and how a date is written as such a value.

    >>> Dates.of(["31.12.2023", "1.1.2024"]).texts
    ['2023-12-31', '2024-01-01']
    """

    ticks: NDArray[np.datetime64]
    write: Callable[[Any], Any]

    @classmethod
    def of(
        cls, values: Sequence[Any], order: str = "", *, years: bool = False
    ) -> Dates:
        """Return the dates of values; refuse values that are not dates.

        ``order`` is that of day and month in text; with ``years`` it does not matter.
        """
        plain: list[Any] = [*values]
        if plain and all(map(is_date, plain)):
            zone = getattr(plain[0], "tzinfo", None)
            if isinstance(plain[0], datetime):  # by the clock of its zone
                plain = [np.datetime64(value.replace(tzinfo=None)) for value in plain]
            ticks = np.array(plain, "M8" if isinstance(values[0], date) else None)

            def typed(value: Any) -> Any:
                """Return a date as the column has it."""
                fitting = value.astype(ticks.dtype)
                if fitting.astype(value.dtype) != value:
                    raise ValueError(f"the type of the column does not hold {value}")
                if isinstance(values[0], np.datetime64):
                    return fitting
                plain = fitting.item()
                return plain if zone is None else plain.replace(tzinfo=zone)

            return cls(ticks, typed)
        texts = [str(v) if isinstance(v, int) and v > 9_999_999 else v for v in plain]
        if not all(isinstance(text, str) for text in texts):
            raise TypeError(f"{_some(plain)}: not dates")
        text_dates = _of_text(texts, order, years)
        if texts == plain:
            return text_dates
        return cls(text_dates.ticks, lambda value: int(text_dates.write(value)))

    @property
    def texts(self) -> list[str]:
        """The days as text such as 2024-01-31."""
        return [*map(str, self.ticks.astype("M8[D]"))]

    @property
    def unit(self) -> str:
        """The coarsest unit that holds the times."""
        for unit in PER_DAY:
            if (self.ticks.astype(f"M8[{unit}]") == self.ticks).all():
                return unit
        raise ValueError("times finer than microseconds; round them, or leave them out")

    def parts(self, part: str) -> list[Any]:
        """Return the years, or the quarters or months with their years."""
        if part == "month":
            return [*map(str, self.ticks.astype("M8[M]"))]
        years = [int(text[:4]) for text in self.texts]
        if part == "year":
            return years
        months = (int(text[5:7]) for text in self.texts)
        return [
            f"{year:04}-Q{(month + 2) // 3}"
            for year, month in zip(years, months, strict=True)
        ]

    def ages(self, day: str) -> list[int]:
        """Return the ages in full years on a day; refuse dates that are not of birth.

        Who was born on 29 February is a year older from 1 March on.
        """
        codes, texts = self.codes()[0], self.texts
        if wrong := [text for text in texts if text > day or text in codes]:
            raise ValueError(
                f"age:{day}: {_some(wrong)} cannot be a date of birth. {AS_MISSING}, "
                "otherwise give a later day"
            )
        return [int(day[:4]) - int(t[:4]) - (day[5:] < t[5:]) for t in texts]

    def codes(self) -> tuple[frozenset[str], frozenset[str]]:
        """Return the days that are codes for certain, and those that may be codes."""
        days = frozenset(self.texts)
        certain = frozenset(
            text for text in days if not _FIRST_YEAR <= int(text[:4]) <= _LAST_YEAR
        )
        if 2 * len(certain) > len(days):  # a file of another age
            return frozenset(), frozenset()
        others = days - certain
        rest = [np.datetime64(text) for text in sorted(others - _BEGINS)]
        return certain, frozenset(
            text
            for text in others & _BEGINS
            if rest and not rest[0] - 365 < np.datetime64(text) < rest[-1] + 365
        )


def _of_text(texts: list[str], order: str, years: bool) -> Dates:
    """Return the dates of text."""
    found = [_TEXT.fullmatch(text.strip()) for text in texts]
    parts = [match.groups("") for match in found if match]
    wrong = [
        t
        for t, m in zip(texts, found, strict=True)
        if not m or (m[2] == "" and len(m[3] + m[4]) < 4)
    ]
    if wrong:
        raise ValueError(f"{_some(wrong)}: not dates. {AS_MISSING}")
    if short := [t for t, part in zip(texts, parts, strict=True) if len(part[7]) == 2]:
        raise ValueError(f"{_some(short)}: write years with four digits, as 2024")
    order = _order(texts, parts, order) or ("dmy" if years else "")
    if not order:
        raise UnclearDatesError(
            f"{_some(texts)}: is the day first or the month? Add :dmy or :mdy to the "
            "rule, as in month:dmy, from:2024-01-31:dmy or shift:90:dmy"
        )
    moments = []
    for text, part in zip(texts, parts, strict=True):
        year, month, day = part[0], part[2], part[3]
        if not year:
            year, (month, day) = (
                part[7],
                (part[6], part[4])[:: 1 if order == "dmy" else -1],
            )
        try:
            moment = f"{year}-{int(month):02}-{int(day):02}T{part[9] or '00:00'}"
            moments.append(datetime.fromisoformat(moment))
        except ValueError as error:
            raise ValueError(f"{text!r} is not a date: {error}. {AS_MISSING}") from None
    if len({(part[8], part[10]) for part in parts}) > 1:
        raise ValueError(
            "some dates have a time or a zone, others not; write them alike"
        )
    (names, mark) = ("ymd", parts[0][1]) if parts[0][0] else (order, parts[0][5])
    small = [part[i] for part in parts for i in (2, 3, 4, 6) if part[i]]
    width = 2 if min(map(len, small)) == 2 else 1
    longest = max(len(part[9]) for part in parts)
    ticks = np.array(moments, "M8[us]")

    def write(value: Any) -> str:
        at = value.astype("M8[us]").item()
        numbers = {
            "y": f"{at.year:04}",
            "m": f"{at.month:0{width}}",
            "d": f"{at.day:0{width}}",
        }
        clock = at.time().isoformat("microseconds")[:longest]
        day = mark.join(numbers[name] for name in names)
        return f"{day}{parts[0][8]}{clock}{parts[0][10]}"

    return Dates(ticks, write)


def _order(texts: Sequence[str], parts: Sequence[Sequence[str]], order: str) -> str:
    """Return the order of day and month that all dates allow; empty if unclear."""
    pairs = [(int(part[4]), int(part[6])) for part in parts if part[4]]
    fits = [
        name
        for name, month in zip(ORDERS, (1, 0), strict=True)
        if all(pair[month] <= 12 for pair in pairs)
    ]
    if not fits or (order and order not in fits):
        which = f"in the order {order}" if order else "in one order of day and month"
        raise ValueError(f"{_some(texts)}: not all are dates {which}")
    alike = all(first == second for first, second in pairs)
    return order or (fits[0] if len(fits) == 1 or alike else "")


def _some(values: Sequence[Any]) -> str:
    """Return the first values, for a message."""
    return listed([str(v) for v in values[:3]]) + (
        f" and {len(values) - 3} more" if len(values) > 3 else ""
    )
