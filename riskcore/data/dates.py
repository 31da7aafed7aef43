"""The dates of a column of dates, of text, or of whole numbers such as 20240131."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.words import listed
from riskcore.data.columns import CodedColumn, plain_value
from riskcore.data.date_words import ORDERS
from riskcore.data.files.labels import code_text
from riskcore.data.likely_codes import LikelyCode

Days = NDArray[np.datetime64]

_YEAR, _DAY, _MARK = r"(?P<y>\d{4})", r"(?P<d>\d\d?)", "(?P<mark>[-/.])"
_MONTH, _NAME = r"(?P<m>\d\d?)", "(?P<m>[A-Za-z]{3})"
# Dates in text by the order of their parts, and the time of the day after them.
_TIME = r"(?P<time>[T ]\d\d?:\d\d\S*( [A-Za-z]+| [+-]\d\d:?\d\d)?)?"
_FORMS = {
    order: re.compile(rf"\s*{day}{_TIME}\s*", re.ASCII)
    for order, day in {
        "ymd": rf"{_YEAR}{_MARK}{_MONTH}(?P=mark){_DAY}",
        "ymd without marks": rf"{_YEAR}(?P<mark>)(?P<m>\d\d)(?P<d>\d\d)",
        "ym": rf"{_YEAR}(?P<mark>[-/]?)(?P<m>\d\d)(?P<d>)",
        "dmy with names": rf"{_DAY}(?P<mark>[-/. ]?){_NAME}(?P=mark){_YEAR}",
        "dmy": rf"{_DAY}{_MARK}{_MONTH}(?P=mark){_YEAR}",
        "mdy": rf"{_MONTH}{_MARK}{_DAY}(?P=mark){_YEAR}",
    }.items()
}
_SHORT_YEARS = re.compile(r"\s*\d\d?([-/.])\d\d?\1\d\d\s*", re.ASCII)
_ZEROS = str.maketrans("123456789", "0" * 9)
# Nobody in a file has dates before and after; where calendars begin or end are codes,
# too, if no other date is within a year.
_FIRST, _LAST = np.array(["1800-01-02", "2098-12-31"], "M8[D]")
_ENDS = np.array(
    [
        *("1850-01-01", "1899-12-30", "1899-12-31", "1900-01-01", "1901-01-01"),
        *("1904-01-01", "1960-01-01", "1970-01-01", "2079-06-06"),
    ],
    "M8[D]",
)
# From here on the only few dates, ten years after the others, are codes.
_AHEAD, _DECADE = np.datetime64("2040-01-01"), 3653
_BEGIN, _END = -719_162, 2_932_897  # the years 1 and 10,000, in days from 1970


def is_date(value: Any) -> bool:
    """Return whether a value is of a type of dates, or of dates with times."""
    return isinstance(value, date | np.datetime64)


def may_be_date(value: Any) -> bool:
    """Return whether a value is a date, or text that looks like one."""
    if not isinstance(value, str) or value.isdigit():
        return is_date(value)
    return any(form.fullmatch(value) for form in _FORMS.values())


def day_text(value: Any) -> str | None:
    """Return a date, or text such as 2024-01-31, as text; None for other values."""
    text = str(np.datetime64(value, "D")) if is_date(value) else value
    with suppress(TypeError, ValueError):
        return text if date.fromisoformat(text).isoformat() == text else None
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Dates:
    """The dates of values, and how a date is written as such a value."""

    days: Days
    fractions: NDArray[np.float64]  # numbers below 1 for the times of the day
    times: dict[float, Any]  # the time of each number, as it stands in the values
    write: Callable[[Any, Any], Any]  # returns the value of a day and such a time

    @classmethod
    def of(
        cls, values: Sequence[Any], order: str = "", *, years: bool = False
    ) -> Dates:
        """Return the dates of values; refuse values that are not dates."""
        if {*map(type, values)} != {str}:
            values = [*map(plain_value, values)]
        if not values:
            raise ValueError("all values are missing")
        if all(map(is_date, values)):
            days, clocks, write = _of_dates(values)
        else:
            texts = [v if type(v) is str else code_text(v) for v in values]
            days, clocks, write = _of_text(texts, order, years)
            if texts != values:
                text, write = write, lambda day, time: int(text(day, time))
        distinct = sorted({*clocks})
        unit = 1 << len(distinct).bit_length()  # so that sums with days are exact
        fraction = {clock: i / unit for i, clock in enumerate(distinct)}
        times = {number: clock for clock, number in fraction.items()}
        return cls(days, np.array([fraction[x] for x in clocks]), times, write)

    @property
    def texts(self) -> list[str]:
        """The days as text such as 2024-01-31."""
        return [*map(str, self.days)]

    @property
    def numbers(self) -> NDArray[np.float64]:
        """Days since 1970, and a fraction that tells which time of the day it is."""
        return self.fractions + self.days.astype(np.int64)

    def values(self, numbers: Sequence[float]) -> list[Any]:
        """Return numbers as dates that are written as those of the column."""
        if numbers and not _BEGIN <= min(numbers) <= max(numbers) < _END:
            raise ValueError("a date would be before the year 1 or after the year 9999")
        return [
            self.write(np.datetime64(int(day), "D"), self.times[fraction])
            for day, fraction in (divmod(number, 1) for number in numbers)
        ]

    def written(self, mask: NDArray[np.bool_]) -> list[str]:
        """Return some values as text, as they are named as missing codes."""
        return [*map(str, self.values(self.numbers[mask].tolist()))]

    def at_midnight(self, text: Any) -> Any:
        """Return the value of a day such as 2024-01-31, without a time of the day."""
        clock = self.times[0]
        zero = _midnight(clock) if isinstance(clock, str) else clock * 0
        return self.write(np.datetime64(text), zero)

    def parts(self, part: str) -> list[Any]:
        """Return the years, the quarters or months with their years, or ages on a day.

        Who was born on 29 February is a year older from 1 March on.
        """
        texts = self.texts
        if part == "month":
            return [text[:-3] for text in texts]
        if part == "year":
            return [int(text[:-6]) for text in texts]
        if part == "quarter":
            return [f"{t[:-6]}-Q{(int(t[-5:-3]) + 2) // 3}" for t in texts]
        day = part.removeprefix("age:")
        wrong = far_days(self.days) | (self.days > np.datetime64(day))
        if wrong.any():
            said = f"cannot be dates of birth on {day}"
            raise ValueError(_refusal(self.written(wrong), said))
        return [int(day[:4]) - int(t[:4]) - (day[5:] < t[5:]) for t in texts]

    def refuse_far(self, mask: NDArray[np.bool_]) -> None:
        """Refuse dates that are probably codes."""
        if mask.any():
            said = _refusal(
                self.written(mask), "may be codes, and would count as dates"
            )
            raise ValueError(f"{said}, or give them a band, or the bound as a date")


def dates_in(column: CodedColumn) -> Dates | None:
    """Return the dates of a column of dates or text; None if not all values are."""
    if not any(map(may_be_date, column.labels[:1])):
        return None
    with suppress(TypeError, ValueError):
        return Dates.of([*column.labels])
    return None


def digits_of_dates(numbers: NDArray[np.float64]) -> str:
    """Return "dates" for numbers such as 20240131, "months" for 202401, else ""."""
    for word, unit in (("dates", 100), ("months", 1)):
        months, days = numbers // unit, numbers % unit + (unit == 1)
        years, month = months // 100, months % 100
        fits = (years >= 1900) & (years < 2099) & (month >= 1) & (month <= 12)
        fits &= (days >= 1) & (days <= 31)
        if np.count_nonzero(fits) > max(2, 0.9 * len(numbers)):
            return word
    return ""


def far_dates(
    column: CodedColumn,
    sizes: NDArray[np.int64] | None = None,
    dates: Dates | None = None,
) -> tuple[LikelyCode, ...]:
    """Return the dates that are probably codes."""
    levels = len(column.labels)
    counts = np.bincount(column.codes, sizes, levels + 1)[:levels].astype(np.int64)
    typed = column.labels.dtype.kind == "M"
    if typed and not far_days(column.labels.astype("M8[D]"), counts).any():
        return ()  # fast, for wide files
    if (dates := dates or dates_in(column)) is None:
        return ()
    far = far_days(dates.days, counts)
    texts = dates.written(far)
    return tuple(
        LikelyCode(text, None, records)
        for text, records in zip(texts, counts[far].tolist(), strict=True)
    )


def far_days(days: Days, records: Any = None) -> NDArray[np.bool_]:
    """Return which distinct days are probably codes, such as 9999-12-31."""
    counts = np.ones(len(days)) if records is None else np.asarray(records)
    starts = days.astype("M8[Y]")
    alien = (days < _FIRST) | (days > _LAST)
    far: NDArray[np.bool_] = alien & ((starts.astype(int) + 1970) % 1111 == 0)
    if 2 * np.count_nonzero(alien & ~far) <= np.count_nonzero(~far):
        far |= alien  # else a file of another age
    ends = np.isin(days, _ENDS) & ~far
    others = ~far & ~ends
    if not others.any():
        return far & bool(ends.any())
    turn = ((days == starts) | (days + 1 == starts + 1)) & (counts > 1)
    often = counts >= max(5, 10 * np.median(counts[others]))
    ahead = (days >= _AHEAD) & others
    ahead &= np.count_nonzero(ahead) <= max(2, len(days) / 20)
    usual = others & ~(turn | often | ahead)
    usual = usual if np.count_nonzero(usual) > 1 else others & ~ahead
    ordinary = np.sort(days[usual if usual.any() else others].astype(np.int64))
    number, span = days.astype(np.int64), ordinary[-1] - ordinary[0]
    gap = np.maximum(ordinary[0] - number, number - ordinary[-1])
    far |= often & (gap > max(np.diff(ordinary).max(initial=365), span / 10))
    far |= turn & (gap > max(span, _DECADE)) | ahead & (gap > _DECADE)
    heaped = (counts >= 5) & (counts > 3 * counts[others].max())
    far |= ends & ((gap > 365) | heaped)
    return far


def _of_dates(values: Sequence[Any]) -> tuple[Days, Any, Callable[[Any, Any], Any]]:
    """Return days, times and how to write dates of a type; by the clock of a zone."""
    first = values[0]
    zoned = [zone for value in values if (zone := getattr(value, "tzinfo", None))]
    zones: Any = {str(zone): zone for zone in zoned}.values()
    plain = [v.replace(tzinfo=None) if isinstance(v, datetime) else v for v in values]
    moments = np.array([*map(np.datetime64, plain)])
    days = moments.astype("M8[D]")

    def write(day: Any, time: Any) -> Any:
        moment = (day + time).astype(getattr(first, "dtype", None) or moments.dtype)
        value = moment if isinstance(first, np.datetime64) else moment.item()
        if moment.astype("M8[D]") != day or not is_date(value):
            raise ValueError(f"the type of the column does not hold {day}")
        for zone in zones:
            if len(zones) > 1:
                named = listed([*map(str, zones)][:3])
                raise ValueError(f"times of several zones, {named}: give all one zone")
            is_pytz = hasattr(zone, "localize")
            value = zone.localize(value) if is_pytz else value.replace(tzinfo=zone)
        return value

    return days, moments - days, write


def _of_text(
    texts: list[str], order: str, years: bool
) -> tuple[Days, Any, Callable[[Any, Any], str]]:
    """Return days, times and how to write dates of text."""
    forms = {
        x: form for x, form in _FORMS.items() if order in ("", x) or x not in ORDERS
    }
    fitting = {x: form for x, form in forms.items() if form.fullmatch(texts[0])}
    # Texts that differ only in their digits match alike, which saves time.
    layouts = "\0".join(texts).translate(_ZEROS).split("\0")
    layouts = layouts if len(layouts) == len(texts) else texts
    place = {layout: i for i, layout in enumerate(dict.fromkeys(layouts))}
    of = np.array([place[layout] for layout in layouts])
    matches: dict[str, list[Any]] = {
        name: [*map(form.fullmatch, place)] for name, form in (fitting or forms).items()
    }
    days = {name: _days(texts, of, column) for name, column in matches.items()}
    form = min(days, key=lambda name: np.count_nonzero(np.isnat(days[name])))
    if wrong := [texts[i] for i in np.flatnonzero(np.isnat(days[form]))]:
        like = f"such as 2024-01-31, or all in the order {order or 'dmy or mdy'}"
        if all(_SHORT_YEARS.fullmatch(text) for text in wrong):
            like = "which need years of four digits: 12/31/99 may be 1999 or 2099"
        raise ValueError(_refusal(wrong, f"are not dates like the others, {like}"))
    unclear = form == "dmy" and not order and not years
    unclear = unclear and not np.isnat(days["mdy"]).any()
    if unclear and (days["dmy"] != days["mdy"]).any():
        raise ValueError(
            f"{listed(texts[:2])}: is the day first or the month? Add :dmy or :mdy to "
            "the rule, as in month:dmy, from:2024-01-31:dmy or shift:90:dmy"
        )
    first, mark = matches[form][0], matches[form][0]["mark"]
    short = any(len(match[x]) == 1 for match in matches[form] for x in "dm")
    width, order = 1 if short else 2, form.split()[0]

    def write(day: Any, time: Any) -> str:
        own = day.item()
        if "d" not in order and own.day > 1:
            raise ValueError(f"months such as {texts[0]} have no day such as {own}")
        month = f"{own:%b}" if first["m"].isalpha() else f"{own.month:0{width}}"
        parts = {"y": f"{own.year:04}", "m": month, "d": f"{own.day:0{width}}"}
        text = mark.join(parts[x] for x in order)
        return f"{text.upper() if first['m'].isupper() else text}{time}"

    spans = [slice(*match.span("time")) for match in matches[form]]
    clocks = [text[spans[i]] for text, i in zip(texts, of.tolist(), strict=True)]
    return days[form], clocks, write


def _days(texts: list[str], of: NDArray[Any], matches: list[Any]) -> Days:
    """Return the days of texts, NaT without one; ``matches`` are of their layouts."""
    spans = np.array([[m.span(x) if m else (0, 0) for x in "ymd"] for m in matches])
    letters = np.array(texts, f"U{spans.max() or 1}").view(np.int32)
    letters = letters.reshape(len(texts), -1) - ord("0")
    numbers = np.zeros((3, len(texts)), np.int64)
    for number, place in zip(numbers, spans[of].transpose(1, 2, 0), strict=True):
        for k in range(4):
            at = place[0] + k
            digit = letters[np.arange(len(at)), np.minimum(at, place[1] - 1)]
            number[:] = np.where(at < place[1], 10 * number + digit, number)
    year, month, day = numbers
    day[spans[of, 2, 0] == spans[of, 2, 1]] = 1  # of months
    names = {name.lower(): i for i, name in enumerate(calendar.month_abbr)}
    named = np.array([names.get(m["m"].lower(), 0) if m else 0 for m in matches])[of]
    month = np.where(named, named, month)  # of other letters a number above 12
    months = ((year - 1970) * 12 + month - 1).astype("M8[M]")
    days = months.astype("M8[D]") + (day - 1)
    wrong = (year < 1) | (month < 1) | (month > 12) | (days.astype("M8[M]") != months)
    return np.where(wrong, np.datetime64("NaT"), days)


def _midnight(clock: str) -> str:
    """Return a time of the day in text, with its zone, as midnight."""
    zone = clock.lstrip("T 0123456789:.,")
    zero = re.sub(r"\d", "0", clock.removesuffix(zone))
    if re.match("[ap]m", zone, re.IGNORECASE):
        zero, zone = f"{zero[0]}12{zero[zero.index(':') :]}", f"A{zone[1:]}"
    return zero + zone


def _refusal(values: list[str], said: str) -> str:
    """Return what is wrong with values, and what to do if they are codes."""
    shown = [value if value.strip() else repr(value) for value in values[:3]]
    named = listed(shown) + (", ..." if len(values) > 3 else "")
    return (
        f"{named} {said}. If they are codes, name them as missing: --na "
        f"COLUMN={values[0]} (in Python: missing_codes={{'COLUMN': ['{values[0]}']}} "
        "of Reading, or None in a frame)"
    )
