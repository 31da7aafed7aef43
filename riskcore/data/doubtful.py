"""Find categories of keys that look like missing values, or like each other."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from riskcore.common.words import counted
from riskcore.data.columns import CodedColumn

# What programs write for a missing value, in lower case.
_LIKE_MISSING = {
    "", ".", "?", "#n/a", "<na>", "n/a", "na", "nan", "nat", "none", "null",
}  # fmt: skip
_SHOWN = 5


def doubtful_codes(
    columns: Iterable[CodedColumn], records: NDArray[np.int64] | None = None
) -> list[str]:
    """Return a line for each key whose categories are in doubt."""
    lines = []
    for column in columns:
        text = [label for label in column.labels.tolist() if isinstance(label, str)]
        if any(label.strip().lower() in _LIKE_MISSING for label in text):
            lines.append(_like_missing(column, records))
        alike = _alike(text)
        if alike:
            pairs = ", ".join(" and ".join(map(repr, one)) for one in alike[:_SHOWN])
            more = len(alike) - _SHOWN
            lines.append(
                f"key {column.name!r}: {pairs}{f', and {more} more' * (more > 0)} "
                "are taken as different categories; if they are the same code, recode "
                "or clean the file"
            )
    return lines


def _like_missing(column: CodedColumn, records: NDArray[np.int64] | None) -> str:
    """Return the line on the categories that look like missing values."""
    counts = np.zeros(column.levels, np.int64)
    np.add.at(counts, column.codes, 1 if records is None else records)
    suspects = [
        f"{label!r} ({counted(int(counts[code]), 'record')})"
        for code, label in enumerate(column.labels.tolist())
        if isinstance(label, str) and label.strip().lower() in _LIKE_MISSING
    ]
    one = len(suspects) == 1
    return (
        f"key {column.name!r}: {', '.join(suspects)} {'is' if one else 'are'} taken as "
        f"{'a category' if one else 'categories'}; if missing is meant, declare "
        f"{'it' if one else 'them'} as missing codes by "
        "riskcore.Reading(missing_codes=...)"
    )


def _alike(labels: Iterable[str]) -> list[list[str]]:
    """Return groups of labels that differ in outer blanks and leading zeros alone."""
    groups: dict[str, list[str]] = {}
    for label in labels:
        core = label.strip()
        if core.isdecimal():
            core = core.lstrip("0") or "0"
        groups.setdefault(core, []).append(label)
    return [sorted(group) for group in groups.values() if len(group) > 1]
