"""What neighbors in an order show of a value: the compiled part of `what_shows`.

Units stand in a row. Each has a value, -1 if nothing is known of it or its records
differ. If the units before and after one agree, their value is the guess at it.
"""

from __future__ import annotations

from typing import Any

from riskcore.core.compiled.jit import kernel, native


@native("int32*, int64, int32*, int32*, int32*, int32*, int32*")
def stand_in_row(
    order: Any, n: int, of_group: Any, value: Any, upto: Any, unit: Any, row: Any
) -> None:
    """Write the units in an order, their values, and the counts up to each place."""
    units = 0
    row[0] = -1
    for place in range(n):
        unit_number = of_group[order[place]]
        if unit_number >= 0:
            unit[units] = unit_number
            units += 1
            row[units] = value[unit_number]
        upto[place] = units
    row[units + 1] = -1


@native("int32*, int64, int32*")
def count_equal_neighbors(row: Any, n: int, equal: Any) -> None:
    """Write the length of the run of equal values up to each place, then from it on."""
    equal[0] = 1
    for i in range(1, n):
        equal[i] = equal[i - 1] + 1 if row[i] == row[i - 1] else 1
    equal[2 * n - 1] = 1
    for i in range(n - 2, -1, -1):
        equal[n + i] = equal[n + i + 1] + 1 if row[i] == row[i + 1] else 1


@kernel
def step_of(agreeing: int, steps: int) -> int:
    """Return floor(log2) of a number, at most ``steps`` - 1."""
    step = 0
    while agreeing > 1 and step < steps - 1:
        agreeing >>= 1
        step += 1
    return step


@kernel
def share_other(
    unit: int, guess: int, value: Any, first: Any, size: Any, codes: Any, counts: Any
) -> float:
    """Return the share of the records of a unit that differ from a guess."""
    if value[unit] >= 0:
        return 0.0 if value[unit] == guess else 1.0
    for at in range(first[unit], first[unit + 1]):
        if codes[at] == guess:
            share: float = 1.0 - counts[at] / size[unit]
            return share
    return 1.0


@native(
    "int32*, int64, int32*, int32*, int64, int64, "
    "int32*, int32*, int32*, int32*, int32*, float64*"
)
def try_neighbors(
    row: Any, units: int, equal: Any, unit: Any, common: int, steps: int, value: Any,
    first: Any, size: Any, codes: Any, counts: Any, tried: Any,
) -> None:  # fmt: skip
    """Guess each unit from its neighbors; add to the trials, then to the errors."""
    after = units + 4  # of the unit in place i + 1 of the row
    for i in range(units):
        guess = row[i]
        if guess < 0 or row[i + 2] != guess:
            continue
        step = step_of(min(equal[i], equal[after + i]), steps)
        error = share_other(unit[i], guess, value, first, size, codes, counts)
        part = (steps if guess == common else 2 * steps) + step
        tried[step] += 1.0
        tried[part] += 1.0
        tried[3 * steps + step] += error
        tried[3 * steps + part] += error
