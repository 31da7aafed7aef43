"""Numbers of a column that may be codes, such as 999998 for "does not know"."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.common.words import counted, printable
from riskcore.data.columns import ByDesign, CodedColumn, plain_value
from riskcore.data.files.labels import code_text
from riskcore.data.files.reading import declared, numbers_among

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
_LARGEST = np.finfo(np.float64).max
# More numbers than these below zero are not a list of codes.
_MOST = 20
# So many times as many records as other numbers have are much.
_MUCH = 10


def _forms() -> Floats:
    """Return the numbers whose digits are those of a code, as in 998, 99.9 or -444."""
    texts = [digit * n for digit in "123456789" for n in range(3, 13)]
    texts += [
        digit * n + last for digit in "789" for n in range(1, 12) for last in "6789"
    ]
    whole = np.array(texts, np.float64)
    ends = 2.0 ** np.array([7, 15, 31])
    forms = np.concatenate([whole, whole / 10, whole / 100, ends, ends - 1])
    return np.concatenate([forms, -forms, [-(2.0**63)]])


_FORMS = _forms()


class LikelyCode(NamedTuple):
    """A number that may be a code."""

    text: str  # as in the file
    label: str | None
    records: int

    def __str__(self) -> str:
        label = "" if self.label is None else f" {self.label!r}"
        return f"{self.text}{printable(label)} ({counted(self.records, 'record')})"


def likely_codes(
    column: CodedColumn,
    labels: Mapping[str, str] | None = None,
    *,
    decimal: str = ".",
    sizes: NDArray[np.int64] | None = None,
) -> tuple[LikelyCode, ...]:
    """Return the numbers of a column that may be codes, the most frequent first.

    ``labels`` are of its codes; ``sizes`` says how many records each row stands for.
    """
    numbers = numbers_in(column, decimal)
    if len(numbers) < 3:
        return ()
    own = labels or {}
    order = np.argsort(numbers, kind="stable")
    counts = np.bincount(column.codes, sizes, len(numbers) + 1)
    codes = []
    for place in order[_doubtful(numbers[order], counts[order], numbers_among(own))]:
        text = code_text(plain_value(column.labels[place])).strip()
        codes.append(LikelyCode(text, own.get(text), int(counts[place])))
    return tuple(sorted(codes, key=lambda code: -code.records))


def refuse_codes(
    column: CodedColumn, labels: Mapping[str, str] | None, keep: str, **reading: Any
) -> None:
    """Refuse a column with likely codes; ``keep`` says what to do with numbers."""
    if codes := likely_codes(column, labels, **reading):
        texts = [code.text for code in codes]
        raise ValueError(
            f"{column.name} has numbers that may be codes: {in_words(codes)}. For "
            f"codes that mean a missing value give {declared(column.name, texts)}. "
            f"If they are numbers, {keep}"
        )


def in_words(codes: Sequence[LikelyCode]) -> str:
    """Return codes with their labels and records, in words."""
    return ", ".join(map(str, codes))


def numbers_in(column: CodedColumn, decimal: str = ".") -> Floats:
    """Return the labels of a column as numbers; nothing if they are not all numbers."""
    numbers = column.labels
    if numbers.dtype.kind == "O":
        labels = numbers.tolist()
        texts = [str(label) for label in labels if type(label) is not ByDesign]
        numbers = numbers_of_text(texts, decimal)
    finite = numbers.dtype.kind in "iufO" and (abs(numbers) <= _LARGEST).all()
    return numbers.astype(np.float64) if finite else np.empty(0)


def numbers_of_text(texts: Sequence[str], decimal: str) -> NDArray[Any]:
    """Return text as numbers, exact whole ones if all are; nothing if not all are."""
    points = texts if decimal == "." else [t.replace(decimal, ".") for t in texts]
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
    """Return which numbers, in ascending order, may be codes.

    Numbers that have a label or the form of a code are suspects. They are codes if they
    are far from all others, or have much more records than these.
    """
    size = np.abs(numbers)
    labelled, form = _among(numbers, label_codes), _among(numbers, _FORMS)
    if not (labelled | form).any() and numbers[0] >= 0:
        return labelled
    short = form | _among(numbers, [-9, -8, -7, 7, 8, 9])
    # Where most numbers have a label, it says nothing.
    telling = 2 * np.count_nonzero(labelled) < len(numbers)
    labelled &= (numbers != 0) if telling else short | (numbers < 0)
    below = _below_zero(numbers, short, labelled & telling)
    ordinary = np.flatnonzero(~(labelled | form | below))
    if len(ordinary) < 2:
        return below
    first, last = ordinary[0], ordinary[-1]
    span = numbers[last] - numbers[first]
    steps = np.diff(numbers)
    gaps = np.zeros(len(numbers))  # the widest on the way from the ordinary numbers
    gaps[last + 1 :] = np.maximum.accumulate(steps[last:])
    gaps[:first] = np.maximum.accumulate(steps[:first][::-1])[::-1]
    far = gaps > max(np.diff(numbers[ordinary]).max(), span / 10)
    # One number of two digits may be the age of the oldest.
    alone = ((size > 99) | (size > 9) & (counts > 1)) & (gaps > span)
    often = (size > 99) & (counts > 1)
    # A last number of nines may be the bound of a top coding.
    inside = (gaps == 0) | ~_among(numbers, 10.0 ** np.arange(2, 13) - 1)
    much = counts >= max(5, _MUCH * np.median(counts[ordinary]))
    heaped = (size > 99) & inside & (much | labelled & telling)
    doubtful: Mask = below | far & labelled | form & (alone | far & often | heaped)
    return doubtful


def _below_zero(numbers: Floats, short: Mask, labelled: Mask) -> Mask:
    """Return the only numbers below zero if they seem to be codes."""
    negative = numbers < 0
    size = -numbers[negative]
    if 0 < len(size) <= _MOST and (size == np.floor(size)).all():
        others = numbers[~negative & ~short]
        gap = np.diff(numbers[: len(size) + 1]).max(initial=0)
        # Codes of one digit stand among amounts, not among degrees, or beyond a gap.
        digit = size[0] < 10 and (
            others.max(initial=0) >= 100 * size[0]
            or (short[0] and gap > np.diff(others).max(initial=1))
        )
        if digit or labelled[negative].all() or short[negative].all():
            return negative
    return np.zeros(len(numbers), bool)
