"""The kernel that looks for the columns which one column may determine."""

from __future__ import annotations

from typing import Any

from riskcore.core.compiled.jit import kernel, native


@native(
    "int32*, int64, int64, int64*, int64, int64*, int64*, int32*, int64, float64*, "
    "int64*, float64*"
)
def compare_alike(
    codes: Any, columns: int, n: int, rare: Any, few: int, alike: Any, order: Any,
    group: Any, ordered: int, logs: Any, count: Any, told: Any,
) -> None:  # fmt: skip
    """Compare the records of each group in all columns, until two differ.

    ``codes``, (columns, n), are below 0 where missing; ``rare``, (columns, few), lists
    records to look at first, and ``alike`` another record of the group of each, or -1;
    ``order`` lists records by ``group``; ``logs`` are those of 0 (unused) to n;
    ``count``, one for each code, is zero. ``told`` becomes -1 for a column with a
    difference, or else minus the log of the chance that all agree, see
    `derived.log_chance`.
    """
    for j in range(columns):
        first = j * n
        last, seen, values = -1, -1, 0
        for k in range(few):
            record = rare[j * few + k]
            other = alike[record]
            if other >= 0:
                code, code_of_other = codes[first + record], codes[first + other]
                if code >= 0 and code_of_other >= 0 and code != code_of_other:
                    values = -1
                    break
        if values == 0:
            for k in range(ordered):
                code = codes[first + order[k]]
                if code >= 0:
                    if group[k] == last and code != seen:
                        values = -1
                        break
                    last, seen = group[k], code
                    values += 1
        told[j] = -1.0
        if values >= 0:
            told[j] = _surprise(
                codes, first, order, group, ordered, values, logs, count
            )


@kernel
def _surprise(
    codes: Any,
    first: int,
    order: Any,
    group: Any,
    ordered: int,
    values: int,
    logs: Any,
    count: Any,
) -> float:
    """Return what the records of groups tell after the first, without the largest."""
    for k in range(ordered):
        code = codes[first + order[k]]
        if code >= 0:
            count[code] += 1
    last, size, told = -1, 0, 0.0  # of the current group
    most, told_of_most, total = 0, 0.0, 0.0
    for k in range(ordered):
        code = codes[first + order[k]]
        if code >= 0:
            if group[k] != last:
                last, size, told = group[k], 0, 0.0
            elif size > 0:
                told += logs[values] - logs[count[code]]
                total += logs[values] - logs[count[code]]
            size += 1
            if size > most or (size == most and told > told_of_most):
                most, told_of_most = size, told
    for k in range(ordered):
        code = codes[first + order[k]]
        if code >= 0:
            count[code] = 0
    return total - told_of_most
