"""Numbers and labels for the categories of a recoded column of numbers.

In files of SPSS and Stata a variable of codes stays one when it is recoded: a new
category has a number and a label.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from riskcore.common.words import shortened
from riskcore.data.columns import plain_value
from riskcore.data.files.labels import Range, code_number, code_text
from riskcore.data.recode import Recoding, Rule

# Longer labels are hard to read in tables; SPSS holds 120 bytes.
_LONGEST = 60
# A range up to here or beyond has no end: "90 thru highest".
_ENDLESS = 2**31


@dataclass(frozen=True, slots=True)
class NumberedCategories:
    """The categories of a recoded column as numbers; labels are by numbers as text."""

    numbers: dict[Any, int | float]
    labels: dict[str, str]

    @classmethod
    def of(
        cls,
        recoding: Recoding,
        categories: Iterable[Any],
        labels: Mapping[str, str],
        missing: Sequence[Range] = (),
        old: Iterable[Any] = (),
    ) -> NumberedCategories:
        """Return the numbers and labels of the categories that a recoding left.

        ``labels`` are those of the ``old`` codes, and ``missing`` the codes declared as
        missing, which are not given to a category unless the range has no end.
        Categories that are numbers keep them; others are numbered in the order of the
        rules.
        """
        values = [plain_value(category) for category in categories]
        numbers = {category: code_number(category) for category in values}
        own_numbers = {category: n for category, n in numbers.items() if n is not None}
        named = [category for category in values if numbers[category] is None]
        named.sort(key=lambda category: (_place(recoding, category), str(category)))
        taken = set(own_numbers.values())
        new_numbers: dict[Any, int | float] = {}
        for category in named:
            wanted = _bound(recoding, category) if own_numbers else None
            start = (max(taken, default=0) if own_numbers else 0) + 1
            number = _free(wanted, int(start), taken, missing)
            taken.add(number)
            new_numbers[category] = number
        texts = {code_text(new_numbers[category]): str(category) for category in named}
        olds = _merged(recoding, labels, missing, old)
        for category, code in own_numbers.items():
            text = _label(recoding, category, olds.get(code_text(code), {}))
            if text:
                texts[code_text(code)] = text
        return cls({**new_numbers, **own_numbers}, texts)


def _place(recoding: Recoding, category: Any) -> int:
    """Return the place of the first rule that gives a category."""
    rules = recoding.rules
    return next((i for i, r in enumerate(rules) if r.to == category), len(rules))


def _bound(recoding: Recoding, category: Any) -> int | None:
    """Return the end of the range that became a category: 85 for "85+"."""
    for rule in recoding.rules:
        end = rule.high if rule.low is None else rule.low
        if rule.to == category and not isinstance(end, str | None):
            return int(end) if float(end).is_integer() else None
    return None


def _free(
    wanted: int | None, start: int, taken: set[int | float], missing: Sequence[Range]
) -> int:
    """Return the number wanted, or the next one, that nothing else stands for."""
    closed = [
        (low, high)
        for low, high in missing
        if not isinstance(low, str) and high < _ENDLESS
    ]

    def is_free(number: int) -> bool:
        return number not in taken and not within(number, closed)

    if wanted is not None and is_free(wanted):
        return wanted
    while not is_free(start):
        ends = [int(high) for low, high in closed if low <= start <= high]
        start = max([start, *ends]) + 1
    return start


def within(number: float, ranges: Sequence[Range]) -> bool:
    """Return whether a number lies in a range of numbers."""
    return any(
        low <= number <= high for low, high in ranges if not isinstance(low, str)
    )


def _merged(
    recoding: Recoding,
    labels: Mapping[str, str],
    missing: Sequence[Range],
    old: Iterable[Any],
) -> dict[str, dict[str, str | None]]:
    """Return by new code all old codes that become it, with their labels or None."""
    olds = {
        text: number for text in labels if (number := code_number(text)) is not None
    }
    news: dict[str, Any] = {}
    for text, number in olds.items():
        with suppress(TypeError, ValueError):  # a code that the recoding refuses
            (news[text],) = recoding.apply([number]).codes
    others = {code_text(code): code for code in map(plain_value, old) if labels}
    others = {text: code for text, code in others.items() if text not in olds}
    news |= zip(others, recoding.apply(others.values()).codes, strict=True)
    labels_by_code: dict[str, dict[str, str | None]] = {}
    for text, new in news.items():
        if new is not None and not within(float(text), missing):
            labels_by_code.setdefault(code_text(new), {})[text] = labels.get(text)
    return labels_by_code


def _label(
    recoding: Recoding, category: Any, olds: Mapping[str, str | None]
) -> str | None:
    """Return the label of a category that is a number: of its old codes or range."""
    if recoding.base:
        return None
    text = code_text(category)
    rules = [rule for rule in recoding.rules if code_text(rule.to) == text]
    ranges = not all(rule.single for rule in rules)
    names = [name or old for old, name in olds.items()]
    labelled = [name for name in olds.values() if name]
    # The labels of some codes do not say what all of them mean.
    if len(labelled) < len(names) and (ranges or not labelled or recoding.rest):
        names = []
    if not names and ranges:
        names = [_words(rule) for rule in rules]
    return shortened("; ".join(dict.fromkeys(names)), _LONGEST) if names else None


def _words(rule: Rule) -> str:
    """Return a range of codes in words."""
    if rule.single:
        return str(rule.low)
    if rule.low is None and rule.bounds[1] == "]":
        return f"{rule.high} and less"
    if rule.high is None and rule.bounds[0] == "[":
        return f"{rule.low} and more"
    if rule.bounds == "[]":
        return f"{rule.low} to {rule.high}"
    return rule.interval
