"""Numbers of a column that may be codes, such as 999998 for "does not know"."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.common.text_numbers import with_point
from riskcore.common.words import counted, joined, quoted, sentence
from riskcore.data.columns import ByDesign, CodedColumn, plain_value
from riskcore.data.files.labels import code_text, number_text
from riskcore.data.files.reading import declared, numbers_among

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
_LARGEST = np.finfo(np.float64).max
# More numbers than these below zero are not a list of codes.
_MOST = 20
# So many records are more than one or two, and so many times those of others much.
_REPEATED, _MUCH = 5, 10
# So many times smaller than others is small, and so many times larger huge.
_SMALL, _HUGE = 50, 1e9


def _forms(texts: list[str]) -> Floats:
    """Return numbers with the digits of codes, as 998, 99.9 and -998."""
    whole = np.array(texts, np.float64)
    forms = np.concatenate([whole, whole / 10, whole / 100])
    return np.concatenate([forms, -forms])


_LONG = range(3, 19)
_NINES = ["9" * n + last for n in range(2, 18) for last in "6789"]
_ENDS = 2.0 ** np.array([7, 15, 16, 31, 32])  # of types of integers
_SURE = _forms([*_NINES, *(digit * n for digit in "78" for n in _LONG)])
_SURE = np.concatenate([_SURE, _ENDS, -_ENDS, _ENDS - 1, [-(2.0**63)]])
_DOUBTFUL = [digit * n for digit in "123456" for n in _LONG]
_DOUBTFUL += [d * n + last for d in "789" for n in range(1, 18) for last in "6789"]
_FORMS = np.append(_SURE, _forms(_DOUBTFUL))


class LikelyCode(NamedTuple):
    """A number that may be a code."""

    text: str  # as in the file
    label: str | None
    records: int

    def __str__(self) -> str:
        text = self.text if self.label is None else f"{self.text} {quoted(self.label)}"
        return sentence("{code} ({records})", text, counted(self.records, "record"))


def likely_codes(
    column: CodedColumn,
    labels: Mapping[str, str] | None = None,
    *,
    decimal: str = ".",
    sizes: NDArray[np.int64] | None = None,
) -> tuple[LikelyCode, ...]:
    """Return the numbers of a column that may be codes, the most frequent first."""
    numbers = numbers_in(column, decimal)
    if len(numbers) < 3:
        return ()
    own = labels or {}
    order = np.argsort(numbers, kind="stable")
    counts = np.bincount(column.codes, sizes, len(numbers) + 1)
    codes = []
    for place in order[_doubtful(numbers[order], counts[order], numbers_among(own))]:
        value = plain_value(column.labels[place])
        label = own.get(code_text(value).strip())
        codes.append(LikelyCode(text_of(value), label, int(counts[place])))
    return tuple(sorted(codes, key=lambda code: -code.records))


def text_of(label: Any) -> str:
    """Return a value as its missing code is written: 99.9, not 99.9000015."""
    value = plain_value(label)
    return value.strip() if isinstance(value, str) else number_text(value)


def refuse_codes(
    column: CodedColumn, labels: Mapping[str, str] | None, keep: str, **reading: Any
) -> None:
    """Refuse a column with likely codes; ``keep`` says what to do with numbers."""
    if codes := likely_codes(column, labels, **reading):
        doubts = doubts_of(column, codes)
        raise ValueError(
            sentence("{doubts}. If they are numbers, {keep}", doubts, keep)
        )


def doubts_of(column: CodedColumn, codes: Sequence[LikelyCode]) -> str:
    """Return which numbers of a column may be codes, and how to declare them."""
    texts = [code.text for code in codes]
    return sentence(
        "{column} has values that may be codes: {codes}. For codes that mean a missing "
        "value give {options}",
        *(column.name, in_words(codes), declared(column.name, texts)),
    )


def in_words(codes: Sequence[LikelyCode]) -> str:
    """Return codes with their labels and records, in words."""
    return joined(", ", map(str, codes))


def numbers_in(column: CodedColumn, decimal: str = ".") -> Floats:
    """Return the labels of a column as numbers; nothing if they are not all numbers."""
    numbers = column.labels
    if numbers.dtype.kind == "O":
        labels = numbers.tolist()
        texts = [str(label) for label in labels if type(label) is not ByDesign]
        numbers = numbers_of_text(texts, decimal)
    if numbers.dtype.kind not in "iufO" or not (abs(numbers) <= _LARGEST).all():
        return np.empty(0)
    numbers = numbers.astype(np.float64)
    with np.errstate(over="ignore"):
        single = numbers.astype(np.float32)
    if (single == numbers).all() and (single % 1).any():
        numbers = single.astype(np.str_)  # 99.9 as written, not 99.9000015
    return np.clip(numbers.astype(np.float64), -1e300, 1e300)


def numbers_of_text(texts: Sequence[str], decimal: str) -> NDArray[Any]:
    """Return text as numbers, exact whole ones if all are; nothing if not all are."""
    points = texts if decimal == "." else [with_point(t, decimal) for t in texts]
    # Python would also take 1_000, Arabic digits and nan.
    if not re.search(r"[^0-9.+\-eE\s]", "".join(points)):
        ways: Any = (int, np.int64, texts), (int, object, texts), (float, float, points)
        for kind, dtype, written in ways:
            with suppress(ValueError, OverflowError):
                return np.array([*map(kind, written)], dtype)
    return np.empty(0)


def _among(numbers: Floats, values: Any) -> Mask:
    """Return which of the numbers, in ascending order, are among the values."""
    among = np.zeros(len(numbers), bool)
    places = np.minimum(np.searchsorted(numbers, values), len(numbers) - 1)
    among[places[numbers[places] == values]] = True
    return among


def _doubtful(numbers: Floats, counts: Any, label_codes: Sequence[float]) -> Mask:
    """Return which numbers, in ascending order, may be codes."""
    # Numbers that have a label or the form of a code are suspects, and so are 1e20 and
    # the like. They are codes if far from all others, or of much more records.
    size = np.abs(numbers)
    labelled = _among(numbers, label_codes)
    huge = (size / _HUGE > np.median(size)) & (len(numbers) > 9)
    sure = _among(numbers, _SURE) | huge
    form = sure | _among(numbers, _FORMS)
    if len(numbers) > 3:
        form &= ~_ends_like_others(numbers, counts, form)
    digit = _among(numbers, [7, 8, 9])
    if not (labelled | form | digit).any() and numbers[0] >= 0:
        return labelled
    short = form | digit | _among(numbers, [-9, -8, -7])
    # Where most numbers have a label, it says nothing.
    telling = 2 * np.count_nonzero(labelled) < len(numbers)
    labelled &= (numbers != 0) if telling else short | (numbers < 0)
    below = _below_zero(numbers, counts, short, labelled & telling)
    others = ~(labelled | form | below)
    ordinary = np.flatnonzero(others & ~digit if (others & ~digit).any() else others)
    if len(ordinary) < 2:
        return below
    first, last = ordinary[0], ordinary[-1]
    span = numbers[last] - numbers[first]
    steps = np.diff(numbers)
    gaps = np.zeros(len(numbers))  # the widest on the way from the ordinary numbers
    gaps[last + 1 :] = np.maximum.accumulate(steps[last:])
    gaps[:first] = np.maximum.accumulate(steps[:first][::-1])[::-1]
    far = gaps > max(np.diff(numbers[ordinary]).max(), span / 10)
    often = (size > 99) & (counts > 1) | (size > 95) & (counts >= _REPEATED)
    # One number of two digits may be the age of the oldest.
    alone = ((size > 99) & sure | (size > 9) & (counts > 1)) & (gaps > span)
    # A last number of nines may be the bound of a top coding; two last ones are not.
    inside = (gaps == 0) & sure | (gaps > 0) & ~_among(
        numbers, 10.0 ** np.arange(2, 19) - 1
    )
    much = counts >= _much(counts[ordinary])
    heaped = (size > 99) & inside & (much | labelled & telling)
    heaped |= much & (size * _SMALL <= np.median(size[ordinary])) & (size > 9)
    tail = (gaps > 0) & (counts >= max(_REPEATED, 3 * counts[ordinary[-5:]].max()))
    heaped |= tail & (np.count_nonzero(tail & form) > 1)
    doubtful: Mask = below | far & labelled | form & (alone | far & often | heaped)
    doubtful |= digit & (counts >= _REPEATED) & (gaps > 3 * span)
    return doubtful


def _much(counts: Any) -> float:
    """Return how many records are much beside those of ordinary numbers."""
    usual = np.sort(counts)[-1 - len(counts) // 50]  # of rents of 500, 600, ...
    return float(max(_REPEATED, _MUCH * np.median(counts), 2 * usual))


def _ends_like_others(numbers: Floats, counts: Any, form: Mask) -> Mask:
    """Return which numbers have the last digit of many others, as prices have."""
    for unit in (1, 10, 100):
        if (np.rint(numbers * unit) / unit == numbers).all():
            digits = np.rint(np.abs(numbers) * unit) % 10
            records = np.bincount(digits[~form].astype(int), counts[~form], 10)
            likely: Mask = records[digits.astype(int)] > records.sum() / 3
            return likely
    return np.zeros(len(numbers), bool)


def _below_zero(numbers: Floats, counts: Any, short: Mask, labelled: Mask) -> Mask:
    """Return the numbers below zero that seem to be codes."""
    negative = numbers < 0
    size = -numbers[negative]
    whole = size == np.floor(size)
    others = numbers[~negative & ~short]
    if 0 < len(size) <= _MOST and whole.all() and len(others):
        steps = np.diff(others)
        gap = np.diff(numbers[: len(size) + 1]).max(initial=0)
        # Codes of one digit stand among amounts, not among degrees, or beyond a gap.
        digit = size[0] < 10 and (
            others[-1] >= 100 * size[0]
            or (short[0] and gap > steps[:10].max(initial=1))
            or (
                size[0] < 3
                and others[-1] >= 30
                and counts[negative].min()
                >= max(_REPEATED, np.median(counts[len(size) :][:5]) / 2)
            )
        )
        if digit or labelled[negative].all() or short[negative].all():
            return negative
    small: Mask = negative & (short | (numbers > -10)) & (numbers == np.floor(numbers))
    small &= np.abs(numbers) * _SMALL <= np.median(np.abs(numbers))
    small &= counts >= _much(counts)
    return small
