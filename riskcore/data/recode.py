"""Global recoding: map the codes of a variable to fewer, wider categories.

A `Recoding` depends on the original codes alone, so it can be recorded and replayed.

A code is text or a number, and text stays text. A rule written in text compares text;
a rule written in numbers compares numbers, and reads text codes as numbers. In ``.grc``
files all codes are text, blanks around them do not count, and a shorter code is
compared as if padded with blanks on the left: "9" < "10" < "1a".
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import date
from decimal import Decimal
from itertools import pairwise
from operator import methodcaller
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from riskcore.common import arguments
from riskcore.common.text_numbers import is_number
from riskcore.common.warn import warn
from riskcore.common.words import counted
from riskcore.data.coded import CodedRecords
from riskcore.data.columns import CodedColumn, Records, code_column, plain_value
from riskcore.data.date_words import PARTS
from riskcore.data.dates import (
    Dates,
    day_text,
    far_dates,
    far_days,
    is_date,
    may_be_date,
)
from riskcore.data.files.labels import code_number, code_text, look_alike, number_text
from riskcore.data.likely_codes import doubts_of, likely_codes, refuse_codes, text_of
from riskcore.data.tails import Tail, nearest_multiple

Array = NDArray[Any]
Code: TypeAlias = str | int | float
Bounds = Literal["[]", "[)", "(]", "()"]
Others = Literal["keep", "missing", "refuse"]

# Numbers that padded text puts in another order; not "01.10", a code.
_SIGNED = re.compile(r"-?(0|[1-9][0-9]*)[.,][0-9]+|-[0-9]+")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_NAMED = 5  # codes or rules that a message names


class DoubtfulRules(UserWarning):
    """Rules of a recoding fit no code, several fit one, or a code counts as a value."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a recoding: the codes from ``low`` to ``high`` become ``to``.

    Attributes
    ----------
    to : str, int, float or None
        The new code; None is missing.
    low, high : str, int, float or None
        Ends of the range, both text or both numbers, equal for a single code; None
        leaves an end open.
    bounds : {"[]", "[)", "(]", "()"}
        Whether the ends belong to the range.
    line : int or None
        Its line in the file.

    Raises
    ------
    TypeError
        If a code is not text or a number.
    ValueError
        If a number is not finite, or no code lies in the range.

    Examples
    --------
    >>> print(Rule("young", None, 30, "()"))
    (-inf, 30) -> 'young'
    """

    to: Code | None
    low: Code | None
    high: Code | None
    bounds: Bounds = "[]"
    line: int | None = None

    def __post_init__(self) -> None:
        for code in (self.to, self.low, self.high):
            if code is not None:
                _check_code(code)
        arguments.one_of("bounds", self.bounds, ("[]", "[)", "(]", "()"))
        if self.low is None and self.high is None:
            raise ValueError("the rule fits no code: give low, high or both")
        if self.low is None or self.high is None:
            return
        if isinstance(self.low, str) != isinstance(self.high, str):
            raise TypeError(
                f"{self.low!r} to {self.high!r}: give two texts or two numbers"
            )
        if self.low == self.high and self.bounds != "[]":
            raise ValueError(f"no code lies in {self.interval}")

    @property
    def single(self) -> bool:
        """Whether the rule is for a single code."""
        return self.low is not None and self.low == self.high

    @property
    def of_text(self) -> bool:
        """Whether the rule compares text, not numbers."""
        return isinstance(self.high if self.low is None else self.low, str)

    @property
    def interval(self) -> str:
        """The codes of the rule in interval notation."""
        if self.single:
            return repr(self.low)
        low = "(-inf" if self.low is None else f"{self.bounds[0]}{self.low!r}"
        high = "inf)" if self.high is None else f"{self.high!r}{self.bounds[1]}"
        return f"{low}, {high}"

    def covers(self, code: Any) -> bool:
        """Return whether a code, of the same kind as the ends, lies in the range."""
        if self.low is not None and (
            code < self.low or (code == self.low and self.bounds[0] == "(")
        ):
            return False
        return self.high is None or bool(
            code < self.high or (code == self.high and self.bounds[1] == "]")
        )

    def __str__(self) -> str:
        line = "" if self.line is None else f"line {self.line}: "
        return f"{line}{self.interval} -> {self.to!r}"


@dataclass(frozen=True, slots=True)
class Recoded:
    """The result of `Recoding.apply`."""

    codes: tuple[Code | None, ...]  # the new codes, None for missing
    # Rules that fit no code: those for a single code, and all of a ``.grc`` file.
    unused: tuple[Rule, ...] = ()
    overlapping: tuple[Code, ...] = ()  # codes that several rules fit


@dataclass(frozen=True, slots=True)
class Recoding:
    """The recoding of one variable: rules, or how to cut or round its codes.

    Use `mapping`, `intervals`, `top_bottom`, `truncation`, `rounding`, a part of
    ``dates`` or `riskcore.read_recoding`. Rules compare dates as "2024-01-31".

    Attributes
    ----------
    rules : tuple of Rule
        If several fit a code, the last is taken.
    others : {"keep", "missing", "refuse"}
        What happens to a code that no rule fits.
    missing : str, int, float or None
        The code for missing values; None leaves them missing.
    drop : int
        Number of characters to cut off the end of each code, instead of rules.
    base : int or float
        Number to whose multiples codes are rounded, instead of rules; 0 for none.
    tails : tuple of Tail
        Top and bottom coding by quantiles, until `resolved` puts rules in their place.
    words : str or None
        The quantiles that the rules were found from, such as "top:99%".
    dates : str
        What becomes of dates: "year", "quarter", "month" or "age:2024-01-31". Rules
        are then of the years or ages.
    order : str
        The order of day and month in text that is a date, "dmy" or "mdy", if given.
    padded : bool
        Whether text is compared as mu-Argus does, see `riskcore.data.recode`.
    missing_codes : tuple of str
        Codes of a ``.grc`` file for missing values of the recoded variable, used when a
        file is written; in the data missing values are missing, not codes.
    codelist : str or None
        Name of the file with the labels of the new codes, from the ``.grc`` file.
    source : str or None
        Name of the file that the recoding was read from.
    rest : str, int, float or None
        The new code of all codes that no rule fits, in place of ``others``.

    Raises
    ------
    ValueError
        If there are neither rules nor a way to cut or round codes, or several of them.

    Examples
    --------
    >>> age = Recoding.intervals([30, 60], ["1", "2", "3"])
    >>> print(age)
    (-inf, 30] -> '1'
    (30, 60] -> '2'
    (60, inf) -> '3'
    >>> age.apply([30, 31]).codes
    ('1', '2')
    >>> Recoding.from_dict(age.to_dict()) == age
    True
    """

    rules: tuple[Rule, ...] = ()
    others: Others = "keep"
    missing: Code | None = None
    drop: int = 0
    base: int | float = 0
    tails: tuple[Tail, ...] = ()
    words: str | None = None
    dates: str = ""
    order: str = ""
    padded: bool = False
    missing_codes: tuple[str, ...] = ()
    codelist: str | None = None
    source: str | None = None
    rest: Code | None = None

    def __post_init__(self) -> None:
        arguments.one_of("others", self.others, ("keep", "missing", "refuse"))
        for code in (self.missing, self.rest):
            if code is not None:
                _check_code(code)
        if self.drop < 0 or int(self.drop) != self.drop:
            raise ValueError(f"drop={self.drop!r}: need a whole number of at least 1")
        _check_code(self.base)
        if not arguments.number("base", self.base) >= 0:
            raise ValueError(f"base={self.base!r}: need a number above 0")
        part, _, day = self.dates.partition(":")
        age = part == "age" and day_text(day) is not None
        years = age or self.dates == "year"
        if not (age or self.dates in ("", *PARTS[:-1])):
            raise ValueError(
                f"{self.dates!r}: dates become year, quarter, month, or the age on a "
                "day, such as age:2024-12-31"
            )
        kinds: list[Any] = [self.rules or self.tails, self.drop, self.base]
        if sum(map(bool, kinds)) > 1:
            raise ValueError(
                "rules, truncation and rounding do not go together: give one"
            )
        if self.dates and (self.drop or self.tails or (any(kinds) and not years)):
            raise ValueError(
                f"{self.dates!r}: only years and ages can be recoded further, by rules "
                "of numbers such as age:2024-12-31,top:85 or year,from:1950,1970"
            )
        kinds.append(self.dates)
        if not any(kinds) and self.missing is None and self.rest is None:
            raise ValueError("a recoding without rules: give at least one")
        for rule in self.rules:
            refuse_backwards(rule, padded=self.padded)

    @classmethod
    def mapping(cls, codes: Mapping[Any, Any], *, others: Others = "keep") -> Recoding:
        """Recode single codes.

        Parameters
        ----------
        codes : mapping
            From old to new code. None is missing: as an old code, missing values get a
            code; as a new one, values become missing.
        others : {"keep", "missing", "refuse"}
            What happens to other codes.

        Returns
        -------
        Recoding

        Raises
        ------
        TypeError, ValueError
            If ``codes`` is not a mapping or is empty, or a code is not text or a finite
            number.

        Examples
        --------
        >>> Recoding.mapping({"2": "1", None: "9"}).apply(["1", "2", "3"]).codes
        ('1', '1', '3')
        """
        if not isinstance(codes, Mapping):
            raise TypeError(
                f"codes={arguments.shown(codes)}: need a mapping from old to new "
                'codes, as {"2": "1"}'
            )
        rules = [
            Rule(plain_value(new), plain_value(old), plain_value(old))
            for old, new in codes.items()
            if old is not None
        ]
        return cls(tuple(rules), others, plain_value(codes.get(None)))

    @classmethod
    def intervals(
        cls,
        breaks: Iterable[Any],
        labels: Iterable[Any] | None = None,
        *,
        closed: Literal["right", "left"] = "right",
    ) -> Recoding:
        """Recode numbers or dates by the interval they lie in.

        Parameters
        ----------
        breaks : iterable of float, or of dates
            Ends of the intervals, increasing; a date may be text, "2024-01-31". The
            first and last interval are open, so k breaks make k + 1 intervals.
        labels : iterable, optional
            New code of each interval; by default the interval as text.
        closed : {"right", "left"}
            Whether a break belongs to the interval below it or above it.

        Returns
        -------
        Recoding
            Text codes are read as numbers.

        Raises
        ------
        TypeError
            If a break is not a number.
        ValueError
            If there are no breaks, they do not increase, or the number of labels is
            not k + 1.

        Examples
        --------
        >>> Recoding.intervals([15, 65], closed="left").apply(["14", "15"]).codes
        ('< 15', '[15, 65)')
        """
        if isinstance(breaks, str) or not isinstance(breaks, Iterable):
            raise TypeError(f"breaks={arguments.shown(breaks)}: need a list of numbers")
        ends = _ends(breaks)
        if any(end is None for end in ends):
            raise TypeError(f"breaks are numbers or dates, not {ends}")
        if not ends or any(a >= b for a, b in pairwise(ends)):
            raise ValueError(f"breaks must increase, got {ends}")
        arguments.one_of("closed", closed, ("right", "left"))
        bounds: Bounds = "(]" if closed == "right" else "[)"
        spans = list(pairwise([None, *ends, None]))
        names = (
            [_span_label(low, high, bounds) for low, high in spans]
            if labels is None
            else [plain_value(label) for label in labels]
        )
        if len(names) != len(spans):
            raise ValueError(f"{len(ends)} breaks need {len(spans)} labels")
        pairs = zip(names, spans, strict=True)
        return cls(tuple(Rule(name, *span, bounds) for name, span in pairs))

    @classmethod
    def top_bottom(
        cls,
        *,
        bottom: float | str | date | None = None,
        top: float | str | date | None = None,
        bottom_label: Code | None = None,
        top_label: Code | None = None,
    ) -> Recoding:
        """Recode the lowest and highest numbers or dates: top and bottom coding.

        Parameters
        ----------
        bottom, top : float, date or str, optional
            Codes up to ``bottom`` and from ``top`` on are recoded, codes between them
            stay. At least one is needed. Text such as "99%" is a quantile of the data
            that are recoded, each record counting once whatever its weight: at most 1 %
            of the values lie above the quantile of 99 %, and at most 1 % below that of
            1 %.
        bottom_label, top_label : str, int or float, optional
            The new code; by default ``bottom`` and ``top`` themselves.

        Returns
        -------
        Recoding

        Raises
        ------
        TypeError
            If ``bottom`` or ``top`` is not a number.
        ValueError
            If neither is given, ``bottom`` is not below ``top``, or a quantile is not
            on its side of 50 %.

        Examples
        --------
        >>> Recoding.top_bottom(top=85, top_label="85+").apply([84, 85, 102]).codes
        (84, '85+', '85+')
        >>> import riskcore
        >>> income = Recoding.top_bottom(top="75%")
        >>> riskcore.recode({"income": [10, 20, 30, 900]}, {"income": income})
        {'income': [10, 20, 30, 30]}
        """
        bounds = {"bottom": (bottom, bottom_label), "top": (top, top_label)}
        if any(str(bound).endswith("%") for bound, _ in bounds.values()):
            return cls(tails=_tails(bounds))
        low, high = _ends([bottom, top])
        if low is None and high is None:
            raise ValueError("give bottom=, top= or both")
        if low is not None and high is not None and low >= high:
            raise ValueError(f"bottom={low} must be below top={high}")
        bottom_code, top_code = (
            bound if label is None else plain_value(label)
            for bound, label in ((low, bottom_label), (high, top_label))
        )
        rules = [Rule(bottom_code, None, low)] if low is not None else []
        rules += [Rule(top_code, high, None)] if high is not None else []
        return cls(tuple(rules))

    @classmethod
    def truncation(cls, drop: int) -> Recoding:
        """Cut characters off the end of each code, for hierarchical codes.

        Parameters
        ----------
        drop : int
            Number of characters, at least 1. Codes must be longer, and text: numbers
            have lost their leading zeros.

        Returns
        -------
        Recoding

        Raises
        ------
        ValueError
            If ``drop`` is not a whole number of at least 1.

        Examples
        --------
        >>> Recoding.truncation(2).apply(["0361", "0389"]).codes
        ('03', '03')
        """
        if arguments.whole("drop", drop) < 1:
            raise ValueError(f"drop={drop!r}: need a whole number of at least 1")
        return cls(drop=drop)

    @classmethod
    def rounding(cls, base: float) -> Recoding:
        """Round numbers to the nearest multiple of a number.

        Parameters
        ----------
        base : float
            Codes become multiples of it, the even one of two that are equally near.
            Numbers are rounded by their digits, so that 0.15 is half of 0.3.

        Returns
        -------
        Recoding
            Text codes are read as numbers.

        Raises
        ------
        TypeError, ValueError
            If ``base`` is not a number above 0.

        Examples
        --------
        >>> Recoding.rounding(1000).apply(["1499", "1500", "2500"]).codes
        (1000, 2000, 2000)
        """
        number = plain_value(base)
        if arguments.number("base", base) <= 0:
            raise ValueError(f"base={base!r}: need a number above 0")
        return cls(base=number)

    def resolved(self, values: Sequence[Any], counts: Sequence[int]) -> Recoding:
        """Return the recoding with rules in place of quantiles.

        Parameters
        ----------
        values : sequence of str, int or float
            The distinct values of the column, without missing; text is read as numbers.
        counts : sequence of int
            The number of records with each value.

        Returns
        -------
        Recoding
            With the rules and, in ``words``, the quantiles; itself without quantiles.

        Raises
        ------
        ValueError
            If a value is not a number, all are missing, or the bounds are equal.

        Examples
        --------
        >>> print(Recoding.top_bottom(top="75%").resolved([1, 2, 3, 9], [1, 1, 1, 1]))
        [3, inf) -> 3
        top:75%
        """
        if not self.tails:
            return self
        numbers: list[Any]
        if self.order or any(map(may_be_date, values[:1])):
            dates = Dates.of(values, self.order)
            dates.refuse_far(far_days(dates.days, counts))
            numbers = dates.texts
        else:
            numbers = [_number(plain_value(value)) for value in values]
        bounds: dict[str, Any] = {}
        for tail in self.tails:
            bounds[tail.side] = tail.bound(numbers, counts)
            bounds[f"{tail.side}_label"] = tail.label
        words = ",".join(tail.words for tail in self.tails)
        try:
            rules = Recoding.top_bottom(**bounds).rules
        except ValueError as error:
            raise ValueError(f"{words}: {error}") from None
        return replace(self, rules=rules, tails=(), words=words)

    def to_dict(self) -> dict[str, Any]:
        """Return the recoding as plain data for JSON.

        Returns
        -------
        dict

        Examples
        --------
        >>> Recoding.truncation(2).to_dict()["drop"]
        2
        """
        values = asdict(self).items()
        return {x: list(y) if isinstance(y, tuple) else y for x, y in values}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Recoding:
        """Return the recoding of plain data.

        Parameters
        ----------
        plain : mapping
            What `to_dict` returned, or JSON made of it.

        Returns
        -------
        Recoding

        Raises
        ------
        TypeError, ValueError
            If `to_dict` does not write such data.

        Examples
        --------
        >>> rule = Recoding.truncation(2)
        >>> Recoding.from_dict(rule.to_dict()) == rule
        True
        """
        unknown = set(plain) - {attribute.name for attribute in fields(cls)}
        if unknown:
            raise ValueError(f"not parts of a recoding: {', '.join(sorted(unknown))}")
        rules = tuple(Rule(**rule) for rule in plain.get("rules", ()))
        tails = tuple(Tail(**tail) for tail in plain.get("tails", ()))
        codes = tuple(plain.get("missing_codes", ()))
        parts = {"rules": rules, "tails": tails, "missing_codes": codes}
        return cls(**{**plain, **parts})

    def apply(self, codes: Iterable[Any]) -> Recoded:
        """Recode codes.

        Parameters
        ----------
        codes : iterable of str, int, float or dates
            Distinct codes, not missing, all text, all numbers or all dates.

        Returns
        -------
        Recoded
            With the new ``codes``, a tuple, the ``unused`` rules and the codes that
            several rules fit, ``overlapping``; the last of these rules is taken.

        Raises
        ------
        TypeError
            If codes are neither text nor numbers, or not of the kind the rules need.
        ValueError
            If a rule reads a text code as a number and it is not one; a code is not
            longer than what is cut off; or no rule fits a code, and others are refused
            or it is one of ``missing_codes``. The codes are named. If there are
            quantiles, which `recode` and `protect` find in the data.

        Examples
        --------
        >>> Recoding.top_bottom(top=85).apply([84, 85, 99]).codes
        (84, 85, 85)
        """
        codes = [plain_value(code) for code in codes]
        if self.tails:
            words = ",".join(tail.words for tail in self.tails)
            raise ValueError(f"{words}: a quantile of data; use recode or protect")
        if codes and (self._compares_dates or is_date(codes[0])):
            return self._of_dates(codes)
        for code in codes:
            if not isinstance(code, str | int | float | Decimal):
                raise TypeError(
                    f"codes of type {type(code).__name__}: only text, numbers and "
                    "dates can be recoded; turn them into text first"
                )
        texts = {isinstance(code, str) for code in codes}
        if len(texts) > 1:
            raise TypeError("some codes are text, others numbers")
        return self._of_plain(codes)

    def _of_plain(self, codes: Sequence[Any]) -> Recoded:
        """Recode codes that are all text or all numbers."""
        if self.drop:
            return Recoded(_truncated(codes, self.drop))
        if self.base:
            multiples = (nearest_multiple(_number(code), self.base) for code in codes)
            return Recoded(tuple(multiples))
        pairs = list(zip(codes, self._rules_of(codes), strict=True))
        fallback = self._without_rule([code for code, rules in pairs if not rules])
        used = {position for _, rules in pairs for position in rules}
        new = (
            self.rules[max(rules)].to if rules else fallback.get(code)
            for code, rules in pairs
        )
        unused = (
            rule
            for position, rule in enumerate(self.rules)
            if position not in used and (rule.single or self.padded)
        )
        overlapping = (code for code, rules in pairs if len(rules) > 1)
        return Recoded(tuple(new), tuple(unused), tuple(overlapping))

    @property
    def _compares_dates(self) -> bool:
        """Whether text or numbers, too, have to be dates."""
        ends = [rule.low or rule.high for rule in self.rules if not rule.single]
        plain = not self.padded and any(map(day_text, ends))
        return bool(self.dates or self.order or plain)

    def _of_dates(self, codes: Sequence[Any]) -> Recoded:
        """Recode dates; rules compare the text of their days."""
        dates = Dates.of(codes, self.order, years=self.dates == "year")
        if self.dates:
            parts = dates.parts(self.dates)
            if not (self.rules or self.base):
                return Recoded(tuple(parts))
            distinct = [*dict.fromkeys(parts)]
            further = replace(self, dates="", order="").apply(distinct)
            table = dict(zip(distinct, further.codes, strict=True))
            return replace(further, codes=tuple(table[part] for part in parts))
        days, far = dates.texts, far_days(dates.days)
        recoded = self._of_plain(days)
        new = recoded.codes
        people = {code for code, other in zip(new, far, strict=True) if not other}
        people.discard(None)
        as_dates = [
            code in people or day_text(code) not in (None, day)
            for day, code in zip(days, new, strict=True)
        ]
        dates.refuse_far(far & as_dates)
        if any(code is not None and day_text(code) is None for code in new):
            return recoded
        triples = zip(codes, new, self._rules_of(days), strict=True)
        dated = (
            code and (dates.at_midnight(code) if rules else old)
            for old, code, rules in triples
        )
        return replace(recoded, codes=tuple(dated))

    def _rules_of(self, codes: Sequence[Any]) -> list[list[int]]:
        """Return for each code the positions of the rules that fit it."""
        rules_by_code: list[list[int]] = [[] for _ in codes]
        compared = self._compared(codes)
        for of_text in (True, False):
            rules = [(i, r) for i, r in enumerate(compared) if r.of_text == of_text]
            if not rules:
                continue
            keys = [self._text(c) if of_text else _number(c) for c in codes]
            if of_text and codes and not isinstance(codes[0], str):
                rules = _with_ends(rules, number_text)
            if self.padded and of_text:
                ends = [end for _, rule in rules for end in (rule.low, rule.high)]
                width = max(len(t) for t in (*keys, *ends) if isinstance(t, str))
                wide = methodcaller("rjust", width)
                keys, rules = list(map(wide, keys)), _with_ends(rules, wide)
            singles: dict[Any, list[int]] = {}
            for position, rule in rules:
                if rule.single:
                    singles.setdefault(rule.low, []).append(position)
            ranges = [(i, rule) for i, rule in rules if not rule.single]
            for positions, key in zip(rules_by_code, keys, strict=True):
                positions += singles.get(key, [])
                positions += [i for i, rule in ranges if rule.covers(key)]
        return rules_by_code

    def _compared(self, codes: Sequence[Any]) -> Sequence[Rule]:
        """Return the rules, of numbers if ranges in text meet decimals or signs."""
        texts = [*codes, *(end for r in self.rules for end in (r.low, r.high))]
        ranges = self.padded and not all(rule.single for rule in self.rules)
        if not ranges or not any(_SIGNED.fullmatch(number_text(x)) for x in texts):
            return self.rules
        rules = [_of_numbers(rule) for rule in self.rules]
        _refuse_gaps(rules, codes)
        return rules

    @property
    def as_written(self) -> bool:
        """Whether words or files write the codes, which also fit and become numbers."""
        return self.padded or self.source is not None

    def _text(self, code: Any) -> str:
        """Return the text of a code to which rules written in text are compared."""
        if isinstance(code, str):
            return code.strip(" ") if self.padded else code
        if self.as_written:
            return number_text(code)
        raise TypeError(f"the rules are for text, but code {code!r} is a number")

    def _without_rule(self, codes: Sequence[Any]) -> dict[Any, Any]:
        """Return the new codes of those that no rule fits."""
        if self.rest is not None:
            return dict.fromkeys(codes, self.rest)
        if self.others == "refuse" and codes:
            hint = "" if self.source is None else self._lacking(codes[0])
            raise ValueError(f"no rule for {_some(codes)}{hint}")
        absent = [code for code in codes if code_text(code) in self.missing_codes]
        if absent and self.others == "keep":
            raise ValueError(
                f"no rule for {_some(absent)}, a missing code of the recoded variable; "
                "give it a rule"
            )
        return {} if self.others == "missing" else dict(zip(codes, codes, strict=True))

    def _lacking(self, code: Any) -> str:
        """Return what to do about a code that a hierarchy's file does not have."""
        like = [r.low for r in self.rules if look_alike(r.low) == look_alike(code)]
        if like:
            return f": {self.source} has {like[0]!r}; write the code there as here"
        return f"; add to {self.source} a line {code_text(code)};GROUP with all levels"

    def __str__(self) -> str:
        lines = [str(rule) for rule in self.rules]
        lines += [tail.words for tail in self.tails]
        if self.words is not None:
            lines.append(self.words)
        if self.dates:
            lines.append(f"dates -> {self.dates}")
        if self.base:
            lines.append(f"to the nearest multiple of {self.base}")
        if self.drop:
            lines.append(f"without the last {self.drop} characters")
        if self.missing is not None:
            lines.append(f"missing -> {self.missing!r}")
        if self.rules and self.others != "keep":
            lines.append(f"others: {self.others}")
        if self.rest is not None:
            lines.append(f"others -> {self.rest!r}")
        return "\n".join(lines)


def recoded_columns(
    data: Any,
    recodings: Mapping[Any, Recoding],
    coded: Mapping[Any, CodedColumn] | None = None,
    labels: Mapping[str, Mapping[str, str]] | None = None,
) -> dict[Any, Any]:
    """Return the recoded columns, see `recode`; ``coded`` has columns coded before."""
    records = Records.of(data)
    for name in recodings:
        records.column(name)
    columns: dict[Any, Any] = {}
    for name, recoding in recodings.items():
        container = records.data[name] if isinstance(records.data, Mapping) else None
        column = (coded or {}).get(name)
        own = (labels or {}).get(str(name))
        columns[name] = _recoded(records, name, recoding, container, column, own)
    return columns


def _recoded(
    records: Records,
    name: Hashable,
    recoding: Recoding,
    container: Any,
    column: CodedColumn | None,
    labels: Mapping[str, str] | None,
) -> Any:
    """Return a recoded column; ``container`` holds the original one."""
    try:
        column = column or code_column(records, name)
        recoding = _with_bounds(recoding, column)
        recoded = recoding.apply(column.labels)
        _warn(name, recoding, recoded)
        _warn_of_codes(recoding, column, recoded.codes, labels)
        codes = [*recoded.codes, *([recoding.missing] if column.missing else [])]
        if recoding.as_written:
            codes = _as_numbers(codes, column.labels)
        table = codes
        if not any(map(is_date, codes)):
            of_dates = any(map(is_date, column.labels[:1]))
            table = _of_one_type(codes, column.labels[: 0 if of_dates else None])
        return column_like(records, name, table, column, container)
    except (TypeError, ValueError) as error:
        raise type(error)(f"variable {name!r}: {error}") from None


def _as_numbers(codes: list[Any], labels: Array) -> list[Any]:
    """Return new codes of a column of numbers as numbers, if text writes such."""
    if labels.dtype.kind not in "iufO" or any(isinstance(x, str) for x in labels):
        return codes
    numbers = [code_number(code) if isinstance(code, str) else code for code in codes]
    return codes if numbers.count(None) > codes.count(None) else numbers


def column_like(
    records: Records,
    name: Hashable,
    table: list[Any],
    column: CodedColumn,
    container: Any = None,
) -> Any:
    """Return a column of the original's type, ``table`` being its values by code."""
    original = records.column(name)
    if isinstance(container, list | tuple):
        return type(container)(np.array(table, object)[column.codes].tolist())
    if isinstance(original, np.ndarray):
        return _as_array(table, column, original)
    return _as_series(table, column, original)


def with_bounds(
    data: Any,
    recodings: Mapping[Any, Recoding],
    labels: Mapping[str, Mapping[str, str]] | None = None,
) -> dict[Any, Recoding]:
    """Return recodings with rules in place of quantiles of the data."""
    bounded_recodings = dict(recodings)
    for name, recoding in recodings.items():
        if recoding.tails:
            coded = CodedRecords.of(data, [name])
            sizes = None if coded.counted is None else coded.counted.records
            try:
                bounded_recodings[name] = _with_bounds(
                    recoding, coded.columns[name], sizes, (labels or {}).get(str(name))
                )
            except (TypeError, ValueError) as error:
                raise type(error)(f"variable {name!r}: {error}") from None
    return bounded_recodings


def _with_bounds(
    recoding: Recoding,
    column: CodedColumn,
    sizes: Array | None = None,
    labels: Mapping[str, str] | None = None,
) -> Recoding:
    """Return a recoding with rules in place of quantiles; ``sizes`` are of the rows."""
    if not recoding.tails:
        return recoding
    keep = f"give the bound itself, as in {recoding.tails[0].side}:85"
    refuse_codes(column, labels, keep, sizes=sizes)
    levels = len(column.labels)
    counts = np.bincount(column.codes, sizes, levels + 1)[:levels]
    return recoding.resolved(list(column.labels), list(map(int, counts)))


def _tails(
    bounds: Mapping[Any, tuple[float | str | date | None, Code | None]],
) -> tuple[Tail, ...]:
    """Return the tails of top and bottom coding by quantiles."""
    present = {side: pair for side, pair in bounds.items() if pair[0] is not None}
    for side, (bound, _) in present.items():
        if not isinstance(bound, str):
            raise TypeError(f"{side}={bound!r}: give two quantiles or two numbers")
    return tuple(
        Tail(side, str(bound), plain_value(label))
        for side, (bound, label) in present.items()
    )


def _warn(name: Hashable, recoding: Recoding, recoded: Recoded) -> None:
    """Warn of rules that fit no code, and of codes that several rules fit."""
    doubts = []
    unused, overlapping = recoded.unused, recoded.overlapping
    # With other codes refused, as hierarchies do, the rules list all possible codes.
    if unused and recoding.others != "refuse":
        verb = "fits" if len(unused) == 1 else "fit"
        doubts.append(f"{counted(len(unused), 'rule')} {verb} no code: {_some(unused)}")
    if overlapping:
        verb = "has" if len(overlapping) == 1 else "have"
        doubts.append(
            f"{counted(len(overlapping), 'code')} {verb} several rules, the last is "
            f"taken: {_some(overlapping)}"
        )
    if doubts:
        source = "" if recoding.source is None else f", {recoding.source}"
        message = f"variable {name!r}{source}: {'; '.join(doubts)}"
        warn(message, DoubtfulRules)


def _warn_of_codes(
    recoding: Recoding,
    column: CodedColumn,
    new: Sequence[Any],
    labels: Mapping[str, str] | None,
) -> None:
    """Warn of likely codes that become the same as other values."""
    if recoding.words or recoding.dates in PARTS:
        return
    codes = likely_codes(column, labels) or far_dates(column)
    texts = [*map(text_of, column.labels)]
    pairs = dict(zip(texts, new, strict=True))
    told = {code_text(rule.low) for rule in recoding.rules if rule.single}
    amounts = {pairs[text] for text in {*texts} - {code.text for code in codes}}
    if not (recoding.drop or recoding.base):
        told |= {text for text, code in pairs.items() if code not in amounts - {None}}
    if merged := [code for code in codes if code.text not in told]:
        warn(f"{doubts_of(column, merged)}; now they count as others do", DoubtfulRules)


def _of_one_type(codes: Sequence[Any], labels: Array) -> list[Any]:
    """Return codes as text if an old or new one is text, otherwise as like numbers."""
    both = [code for code in (*codes, *map(plain_value, labels)) if code is not None]
    convert: Any = _as_double
    if any(isinstance(code, str) for code in both):
        convert = code_text
    elif all(isinstance(code, bool) for code in both):
        convert = bool
    elif all(isinstance(code, int) for code in both):
        convert = int
    elif any(isinstance(code, Decimal) for code in both):
        convert = _as_decimal
    return [None if code is None else convert(code) for code in codes]


def _as_double(code: Any) -> float:
    """Return the double that equals a number, or refuse the number."""
    try:
        double = float(code)
    except OverflowError:
        double = math.inf
    if double != code:
        raise ValueError(
            f"{code!r} would become a floating-point number, because values are "
            "missing or other codes are such numbers, but no double equals it; recode "
            "to text"
        )
    return double


def _as_decimal(code: Any) -> Decimal:
    """Return a number as a decimal by its digits: the double 0.1 is one tenth."""
    return code if isinstance(code, Decimal) else Decimal(repr(+code))


def _as_array(table: list[Any], column: CodedColumn, original: Array) -> Array:
    """Return the recoded column as an array like the original."""
    missing = np.array([code is None for code in table], bool)[column.codes]
    if original.dtype == object or any(map(is_date, table)):
        values = np.array(table, original.dtype)[column.codes]
    else:
        empty: Any = np.zeros((), original.dtype).item()
        filler = next((type(code)() for code in table if code is not None), empty)
        filled = [filler if code is None else code for code in table]
        whole = all(type(code) is int for code in filled)
        kind = _integers(filled, original.dtype) if whole else None
        values = np.array(filled, kind)[column.codes]
    masked = isinstance(original, np.ma.MaskedArray)
    if values.dtype.kind == "f" and not masked:
        values[missing] = np.nan
    elif masked or (values.dtype != object and missing.any()):
        return np.ma.MaskedArray(values, missing)
    return values


def _integers(values: list[int], dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return an integer type that holds all values, the given one if possible."""
    low, high = min(values), max(values)
    for kind in (dtype, np.dtype(np.int64), np.dtype(np.uint64)):
        if (
            kind.kind in "iu"
            and np.iinfo(kind).min <= low <= high <= np.iinfo(kind).max
        ):
            return kind
    raise ValueError(f"no integer type holds both {low} and {high}; recode to text")


def _as_series(table: list[Any], column: CodedColumn, original: Any) -> Any:
    """Return the recoded column as a native series of the original's holder."""
    import narwhals.stable.v2 as nw

    present = [code for code in table if code is not None]
    text = any(isinstance(code, str) for code in (*present, *column.labels))
    kind: Any = nw.String if text else None if present else nw.Float64()
    if any(map(is_date, present)):
        kind = nw.Date if original.dtype == nw.Unknown else original.dtype  # date64
        if column.labels.dtype != object:
            table = np.array(table, column.labels.dtype)  # type: ignore[assignment]
    whole = original.dtype.is_integer() and all(type(code) is int for code in present)
    holder = original.implementation
    if whole and present and not holder.is_pandas_like():
        kind = original.dtype
        if kind not in (nw.Int128, nw.UInt128):
            name = _integers(present, np.dtype(str(kind).lower())).name
            kind = getattr(nw, name.replace("uint", "UInt").replace("int", "Int"))
    series = nw.new_series(original.name, table, dtype=kind, backend=holder)
    if not holder.is_pandas_like():
        return series[column.codes.astype(np.int64)].to_native()
    before = original.to_native()
    if (
        (text and original.dtype == nw.String)
        or (not text and original.dtype == nw.Decimal)
        or (whole and hasattr(before.dtype, "na_value"))
    ):
        # Keep the type, unless pandas cannot hold the new codes in it.
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            same = type(before)(table, dtype=before.dtype, name=before.name)
            series = nw.from_native(same, series_only=True)
    if whole and series.dtype.is_float():
        for code in present:
            _as_double(code)
    native = series[column.codes.astype(np.int64)].to_native()
    native.index = before.index
    return native


def _ends(ends: Iterable[Any]) -> list[Any]:
    """Return the ends of ranges, numbers or dates as text."""
    plain = [*map(plain_value, ends)]
    texts = [end for end in plain if isinstance(end, str) or is_date(end)]
    days = [*map(day_text, plain)]
    if texts and days.count(None) > plain.count(None):
        raise TypeError(
            f"{_some(texts)}: need numbers, dates such as '2024-01-31', or quantiles "
            "such as '99%'"
        )
    return days if texts else plain


def _check_code(code: Any) -> None:
    """Refuse a code that is neither text nor a finite number."""
    if not isinstance(code, str | int | float):
        raise TypeError(f"{code!r}: a code must be text or a number")
    if isinstance(code, float) and not math.isfinite(code):
        raise ValueError(f"{code!r}: a code that is a number must be finite")


def refuse_backwards(rule: Rule, *, padded: bool) -> None:
    """Refuse a rule whose range ends before it begins."""
    low: Any = rule.low
    high: Any = rule.high
    if low is None or high is None:
        return
    if padded and rule.of_text:
        if _SIGNED.fullmatch(low) or _SIGNED.fullmatch(high):
            return refuse_backwards(_of_numbers(rule), padded=False)
        low, high = low.rjust(len(high)), high.rjust(len(low))
    if low > high:
        raise ValueError(f"{rule.low!r} comes after {rule.high!r}")


def _of_numbers(rule: Rule) -> Rule:
    """Return a rule of text that compares numbers."""
    try:
        ends = [end and _number(end) for end in (rule.low, rule.high)]
    except ValueError as error:
        raise ValueError(f"{rule}: {error}") from None
    return replace(rule, low=ends[0], high=ends[1])


def _refuse_gaps(rules: Any, codes: Sequence[Any]) -> None:
    """Refuse numbers that fall between ranges, as 9.5 between 0-9 and 10-19."""
    below = [rule for rule in rules if rule.high is not None]
    above = [rule for rule in rules if rule.low is not None]
    pairs = [(x, y) for x in below for y in above if 0 < y.low - x.high <= 1]
    for x, y in pairs:
        between = [c for c in codes if x.high < _number(c) < y.low]
        odd = [c for c in between if not any(r.covers(_number(c)) for r in rules)]
        if odd:
            raise ValueError(f"{x}; {y}: {_some(odd)} lies between; extend one of them")


def _number(code: Any) -> Any:
    """Return the number of a code to which rules written in numbers are compared."""
    if not isinstance(code, str):
        if not isinstance(code, Decimal):
            return code
        whole = code.is_finite() and code == code.to_integral_value()
        return int(code) if whole else float(code)
    text = code.strip(" ")
    if not is_number(text):
        hint = "; write it with a point, or treat the column" * ("," in text)
        if may_be_date(code):
            hint = "; dates need 2024-01-31 in the rule, or year, quarter, month"
        raise ValueError(
            f"the rules are for numbers, but code {code!r} is not a number{hint}"
        )
    return int(text) if _WHOLE.fullmatch(text) else float(text)


def _with_ends(
    rules: Iterable[tuple[int, Rule]], change: Callable[[Any], str]
) -> list[tuple[int, Rule]]:
    """Return rules of text whose ends are changed; an open end stays open."""
    return [
        (i, replace(r, low=r.low and change(r.low), high=r.high and change(r.high)))
        for i, r in rules
    ]


def _truncated(codes: Sequence[Any], drop: int) -> tuple[str, ...]:
    """Return codes without their last ``drop`` characters."""
    numbers = [code for code in codes if not isinstance(code, str)]
    if numbers:
        raise TypeError(
            f"truncation needs codes that are text, not {_some(numbers)}: numbers have "
            "lost their leading zeros; give ranges of codes (in Python: "
            "Recoding.intervals), or store the codes as text"
        )
    short = [code for code in codes if len(code) <= drop]
    if short:
        raise ValueError(
            f"truncation by {drop} leaves nothing of {_some(short)}; drop fewer "
            "characters, or map these codes"
        )
    return tuple(code[:-drop] for code in codes)


def _span_label(low: Any, high: Any, bounds: Bounds) -> str:
    """Return an interval as text."""
    if low is None:
        return f"{'<=' if bounds == '(]' else '<'} {high}"
    if high is None:
        return f"{'>' if bounds == '(]' else '>='} {low}"
    return f"{bounds[0]}{low}, {high}{bounds[1]}"


def _some(items: Sequence[Any]) -> str:
    """Return the first codes or rules and the number of the others, for a message."""
    named = [str(i) if isinstance(i, Rule) else repr(i) for i in items[:_NAMED]]
    more = len(items) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")
