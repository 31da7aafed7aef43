"""Codes of keys that look like something else: missing values, the same code twice."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from riskcore.data.columns import CodedColumn

# What programs write where a value is missing, in lower case.
_LIKE_MISSING = {
    "", ".", "?", "#n/a", "<na>", "n/a", "na", "nan", "nat", "none", "null",
}  # fmt: skip
_SHOWN = 5


def doubtful_codes(
    columns: Iterable[CodedColumn], records: NDArray[np.int64] | None = None
) -> list[str]:
    """Return what is doubtful about the categories of keys, a line for each.

    Examples
    --------
    >>> from riskcore.data.columns import Records, code_keys
    >>> data = {"mar": ["1", "NA", "2", "NA"], "age": ["7", "07", "8", " 8"]}
    >>> for line in doubtful_codes(code_keys(Records.of(data), ["mar", "age"])):
    ...     print(line.partition(";")[0])
    key 'mar': 'NA' (2 records) is taken as a category
    key 'age': ' 8' and '8', '07' and '7' are taken as different categories
    """
    lines = []
    for column in columns:
        text = {
            code: label
            for code, label in enumerate(column.labels.tolist())
            if isinstance(label, str)
        }
        suspects = {
            code: label
            for code, label in text.items()
            if label.strip().lower() in _LIKE_MISSING
        }
        if suspects:
            lines.append(_like_missing(column, suspects, records))
        alike = _alike(text.values())
        if alike:
            pairs = ", ".join(" and ".join(map(repr, one)) for one in alike[:_SHOWN])
            more = len(alike) - _SHOWN
            lines.append(
                f"key {column.name!r}: {pairs}{f', and {more} more' * (more > 0)} "
                "are taken as different categories; if they are the same code, recode "
                "or clean the file"
            )
    return lines


def _like_missing(
    column: CodedColumn, suspects: dict[int, str], records: NDArray[np.int64] | None
) -> str:
    counts = np.zeros(column.levels, np.int64)
    np.add.at(counts, column.codes, 1 if records is None else records)
    named = ", ".join(
        f"{label!r} ({counts[code]:,} record{'' if counts[code] == 1 else 's'})"
        for code, label in suspects.items()
    )
    one = len(suspects) == 1
    return (
        f"key {column.name!r}: {named} {'is' if one else 'are'} taken as "
        f"{'a category' if one else 'categories'}; if missing is meant, name "
        f"{'it' if one else 'them'} as missing codes (in Python "
        "reading=Reading(missing_codes=...), in the command --na)"
    )


def _alike(labels: Iterable[str]) -> list[list[str]]:
    """Return groups of text equal but for blanks around it or leading zeros."""
    groups: dict[str, list[str]] = {}
    for label in labels:
        plain = label.strip()
        if plain.isdecimal():
            plain = plain.lstrip("0") or "0"
        groups.setdefault(plain, []).append(label)
    return [sorted(group) for group in groups.values() if len(group) > 1]
