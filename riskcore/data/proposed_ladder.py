"""The ladder that the values of a column suggest."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from riskcore.common.arrays import Floats, Integers
from riskcore.data.columns import CodedColumn, plain_value
from riskcore.data.dates import day_text
from riskcore.data.files.labels import code_text
from riskcore.data.ladder import ALL, Ladder, Rungs
from riskcore.data.likely_codes import numbers_of_text

# Bands end at round limits, and are open beyond these shares of the values.
_ENDS = 0.01, 0.99
_BANDS = 3, 40  # of a rung
_FEW = 12  # numbers with no more values are categories
_AGES = 130  # whole numbers up to here may be ages: bands of 5, 10, 20, 40
_RARE = 0.01, 0.05, 0.2  # shares of the records below which categories are merged
OTHERS = "other"
_DATES = ["month", "quarter", "year"]
# Codes of a classification: DE212 of NUTS, C25.6 of NACE, J45.909 of ICD. After one
# letter the first level often has two digits. Numbers are codes only if they are many.
_CODE = re.compile(r"[A-Z]|[A-Za-z]{0,3}[0-9][0-9A-Za-z]*(\.[0-9A-Za-z]+)*")
_DIVISION = re.compile(r"[A-Z]([0-9]{2}(\.|$)|$)")
_PLAIN = re.compile(r"[^\s,=*]([^,=*]*[^\s,=*])?")  # codes that a rule can name
_MANY, _HEADS = 30, 4  # different numbers, and their first digits: no years, heights


def rungs_of(column: CodedColumn, rules: Any = None) -> Rungs:
    """Return a column on a ladder of rules, or on the one that its values suggest."""
    ladder = proposed_ladder(column) if rules is None else Ladder.of(rules)
    return Rungs.of(column, ladder)


def proposed_ladder(column: CodedColumn) -> Ladder:
    """Return a ladder for a column, whose highest rung joins all values.

    Dates become months, quarters and years; numbers bands that end at round limits;
    codes of a classification lose their last letters or digits, a level at a time; of
    other categories the rare ones are merged.
    """
    labels = [plain_value(label) for label in column.labels]
    records = np.bincount(column.codes, minlength=len(labels))[: len(labels)]
    rules: list[str] = []
    if len(labels) > 2:
        numbers = _numbers(labels)
        if all(map(day_text, labels)):
            rules = _DATES
        elif len(labels) > _FEW and numbers is not None:
            rules = _bands(numbers, records)
            if _are_codes(numbers, records):
                rules = _prefixes(labels)
        elif len(labels) > _FEW and _have_levels([*map(code_text, labels)]):
            rules = _prefixes(labels)
        rules = rules or _merged(labels, records)
    return Ladder((*rules, ALL))


def _numbers(labels: Sequence[Any]) -> Floats | None:
    """Return labels as numbers; None if some are none, or codes with leading zeros."""
    if isinstance(labels[0], str):
        if any(x[0] == "0" and x[1:2].isdecimal() for x in labels if x):
            return None
        numbers = numbers_of_text(labels, ".").astype(np.float64)
    elif isinstance(labels[0], int | float):
        numbers = np.array(labels, np.float64)
    else:
        return None
    return numbers if len(numbers) and np.isfinite(numbers).all() else None


def _bands(numbers: Floats, records: Integers) -> list[str]:
    """Return bands of numbers that end at round limits, each twice or more as wide."""
    order = np.argsort(numbers)
    share = np.cumsum(records[order]) / records.sum()
    low, high = (numbers[order][np.searchsorted(share, end)] for end in _ENDS)
    if not high > low:
        return []
    whole = bool((numbers == np.rint(numbers)).all())
    ages = whole and numbers.min() >= 0 and numbers.max() <= _AGES
    fewest, most = _BANDS
    rules, kinds = [], len(numbers)
    for step in _steps(5.0 if ages else (high - low) / most, doubled=ages):
        first, last = math.ceil(low / step), math.floor(high / step)
        if first == low / step:
            first += 1
        if last - first + 2 < fewest:
            break
        breaks = step * np.arange(first, last + 1)
        left = len({*np.searchsorted(breaks, numbers, "right").tolist()})
        if left < kinds:
            rules.append(f"from:{','.join(f'{x:.12g}' for x in breaks)}")
            kinds = left
    return rules


def _steps(least: float, *, doubled: bool) -> Any:
    """Yield round steps, each a multiple of the one before: 5, 10, 50, 100, ..."""
    step = 10.0 ** math.floor(math.log10(least))
    if doubled:
        step = least
    while True:
        for factor in (2.0,) if doubled else (5.0, 2.0):
            if step >= least * (1.0 - 1e-9):
                yield step
            step *= factor


def _are_codes(numbers: Floats, records: Integers) -> bool:
    """Return whether numbers are codes such as 2512, with as many digits each."""
    power = 10.0 ** (len(f"{numbers.max():.0f}") - 1)
    return bool(
        numbers.min() >= max(power, 100.0)
        and (numbers == np.rint(numbers)).all()
        and len(numbers) >= _MANY
        and len({*(numbers // power)}) >= _HEADS
        and 2 * len(numbers) <= records.sum()
        and 4 * np.count_nonzero(numbers % 10 == 0) < len(numbers)  # amounts are round
    )


def _have_levels(texts: Sequence[str]) -> bool:
    """Return whether texts look like codes of a classification, not like R1 to R40."""
    if not all(map(_CODE.fullmatch, texts)):
        return False
    ends = {re.sub("^[A-Za-z]*", "", text) for text in texts}
    plain = all(end.isdecimal() and end[0] != "0" for end in ends)
    one_length = len({*map(len, texts)}) == 1
    return one_length or not plain or 2 * len(ends) < max(map(int, ends))


def _prefixes(labels: Sequence[Any]) -> list[str]:
    """Return how codes lose their last letters or digits, a level at a time."""
    texts = [*map(code_text, labels)]
    longest, kinds, rules = max(map(len, texts)), len(texts), list[str]()
    for length in range(longest - 1, 0, -1):
        # Not between the two digits of a division, and not behind a point.
        ends = {text[length - 1 : length] for text in texts}
        if ends <= {".", ""} or (length == 2 and all(map(_DIVISION.match, texts))):
            continue
        groups, drop = [text[:length].rstrip(".") for text in texts], longest - length
        heads = sorted({*groups})
        if not 1 < len(heads) < kinds:
            continue
        kinds, rule = len(heads), f"truncate:{drop}"
        if not isinstance(labels[0], str):
            rule = f"from:{','.join(head + drop * '0' for head in heads[1:])}"
        elif min(map(len, texts)) < longest:
            pairs = zip(texts, groups, strict=True)
            rule = f"map:{','.join(f'{x}={head}' for x, head in pairs if x != head)}"
        rules.append(rule)
    return rules


def _merged(labels: Sequence[Any], records: Integers) -> list[str]:
    """Return how rare categories are merged, more and more of them."""
    rules, merged = [], 0
    for share in _RARE:
        rare = [
            code
            for code, number in zip(map(code_text, labels), records, strict=True)
            if number < share * records.sum()
            and _PLAIN.fullmatch(code)
            and code.isprintable()
        ]
        if merged < len(rare) < len(labels) and len(rare) > 1:
            rules.append(f"map:{','.join(f'{code}={OTHERS}' for code in rare)}")
            merged = len(rare)
    return rules
