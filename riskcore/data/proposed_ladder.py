"""The ladder that the values of a column suggest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from riskcore.common.arrays import Floats, Integers
from riskcore.data.columns import CodedColumn, plain_value
from riskcore.data.dates import is_date
from riskcore.data.files.labels import code_text
from riskcore.data.ladder import ALL, Ladder
from riskcore.data.likely_codes import numbers_of_text

# Bands end at round limits, and are open beyond these shares of the values.
_ENDS = 0.01, 0.99
_BANDS = 3, 40  # of a rung
_FEW = 12  # numbers with no more values are categories
_AGES = 130  # whole numbers up to here may be ages: bands of 5, 10, 20, 40
_RARE = 0.01, 0.05, 0.2  # shares of the records below which categories are merged
OTHERS = "other"
_DATES = ["month", "quarter", "year"]


def proposed_ladder(column: CodedColumn) -> Ladder:
    """Return a ladder for a column, whose highest rung joins all values.

    Dates become months, quarters and years; numbers bands that end at round limits;
    text codes of one length lose their last letters; of other categories the rare ones
    are merged.
    """
    labels = [plain_value(label) for label in column.labels]
    records = np.bincount(column.codes, minlength=len(labels))[: len(labels)]
    rules: list[str] = []
    if len(labels) > 2:
        numbers = _numbers(labels)
        if is_date(labels[0]):
            rules = _DATES
        elif len(labels) > _FEW and numbers is not None:
            rules = _bands(numbers, records)
        elif len(labels) > _FEW and len({len(str(x)) for x in labels}) == 1:
            rules = _prefixes(labels)
        else:
            rules = _merged(labels, records)
    return Ladder((*rules, ALL))


def _numbers(labels: Sequence[Any]) -> Floats | None:
    """Return labels as numbers; None if some are none, or codes with leading zeros."""
    if isinstance(labels[0], str):
        if any(len(x) > 1 and x[0] == "0" and x.isdecimal() for x in labels):
            return None
        numbers = numbers_of_text(labels, ".").astype(np.float64)
        return numbers if len(numbers) else None
    if not isinstance(labels[0], int | float):
        return None
    return np.array(labels, np.float64)


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
    rules = []
    for step in _steps(5.0 if ages else (high - low) / most, doubled=ages):
        first, last = math.ceil(low / step), math.floor(high / step)
        if first == low / step:
            first += 1
        if last - first + 2 < fewest:
            break
        breaks = (step * at for at in range(first, last + 1))
        rules.append(f"from:{','.join(f'{x:.12g}' for x in breaks)}")
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


def _prefixes(labels: Sequence[Any]) -> list[str]:
    """Return how text codes of one length lose their last letters."""
    texts = [str(label) for label in labels]
    rules, kinds = [], len(texts)
    for drop in range(1, len(texts[0])):
        left = len({text[:-drop] for text in texts})
        if 1 < left < kinds:
            rules.append(f"truncate:{drop}")
            kinds = left
    return rules


def _merged(labels: Sequence[Any], records: Integers) -> list[str]:
    """Return how rare categories are merged, more and more of them."""
    rules, merged = [], 0
    for share in _RARE:
        rare = [
            code_text(label)
            for label, number in zip(labels, records, strict=True)
            if number < share * records.sum()
        ]
        if merged < len(rare) < len(labels) and len(rare) > 1:
            rules.append(f"map:{','.join(f'{code}={OTHERS}' for code in rare)}")
            merged = len(rare)
    return rules
