"""Weights that cannot be right: codes, and numbers whose decimals are implied.

Surveys store weights as whole numbers: DHS times a million, CPS times 10,000. Taken as
they are, each record would stand for so many more people, and every risk would be far
too low. So such weights are refused until somebody gives their scale:

- more people than any country has, or 100,000 for each record by whole weights;
- whole weights that differ, with the mean 10,000: 1 with four decimals. A mean of 100
  or 1,000 is only remarked, since people calibrate whole weights to such means;
- weights of more than 30 sizes (in steps of 2 %), all multiples of 100: whole weights
  with two decimals. Fewer are of strata or rounded, whose sizes are round numbers;
- a largest weight of the form 9999 that is twice the next one: a code;
- parts that differ by about a power of ten from 1,000 on: a wave with another scale.
  Weights of at least 1 and mostly below 2 are of people who were nearly all asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from riskcore.data.engines.counting import Decades, Weights

# More people than any country has, and than one record of a survey in whole numbers.
_COUNTRY, _ONE_RECORD = 1.6e9, 1e5
# Of fewer records the mean says nothing; weights of fewer sizes may be of strata.
_RECORDS, _SIZES = 30, 30
_EXACT = 1e-3  # a mean that is nearer to a power of ten has it to several digits
# In decades: the gap between parts of weights, how far they are apart (weights of
# strata may well differ by 100), by how much they may miss a power of ten, and the
# usual weight of people who were nearly all asked.
_GAP, _APART, _ALIKE, _ALL_ASKED = 0.9, 2.5, 0.3, 0.3
_CODES = {digit * n for digit in "89" for n in range(3, 12)}
_REMEDY = (
    "Weights with implied decimals need their scale: --weight-scale 1e-6 for six "
    "decimals, as in DHS, 1e-4 for four, 0.01 for two, in rules weight_scale in [data] "
    "(in Python: reading=riskcore.Reading(weight_scale=1e-6))"
)


def refuse_doubtful(
    weights: Weights,
    decades: Callable[[], Decades],
    name: Hashable,
    scale: float | None,
    first: str = "",
) -> None:
    """Refuse weights with faults and, if no scale is given, those that look scaled."""
    faults = [f"{k:,} {fault}" for fault, k in weights.faults.items() if k]
    if faults:
        code = f"; such as {weights.least:.15g}: codes, not weights"
        told = code if weights.negative else ""
        raise ValueError(
            f"weight {name!r}: {', '.join(faults)} in {weights.n:,} records{first}; a "
            f"weight is finite, and not negative{told}. Leave these records out, or "
            "set their weight to 0 in the data: they then count as records, and add "
            "nobody to the population"
        )
    if weights.zero == weights.n:
        raise ValueError(
            f"weight {name!r}: all {weights.n:,} are zero, so no record stands for "
            "anybody; give another weight, or leave it out: each risk is then 1/f"
        )
    if scale is not None or weights.total == math.inf:  # refused where they are added
        return
    where = decades()
    doubt = _code(weights, where[0]) or _parts(where) or _doubt(weights, len(where[0]))
    if doubt:
        raise ValueError(
            f"weight {name!r}: {doubt}. If the weights are right as they are, say so: "
            "--weight-scale 1 (in Python: reading=riskcore.Reading(weight_scale=1))"
        )


def _code(weights: Weights, places: NDArray[np.float64]) -> str:
    """Return that the largest weight looks like a code, or nothing."""
    text = f"{weights.high:.15g}"
    if text not in _CODES or len(places) < 2 or places[-1] - places[-2] < _ALIKE:
        return ""
    return (
        f"the largest, {text}, looks like a code, far from all others. Leave its "
        "records out, or set their weight to 0 in the data"
    )


def _doubt(weights: Weights, sizes: int) -> str:
    """Return why weights of so many sizes look scaled, with the remedy, or nothing."""
    n, whole = weights.n - weights.zero, not weights.broken
    mean = weights.total / n
    differ = n >= _RECORDS and weights.low < weights.high
    signs = {
        f"they add up to {weights.total:.4g} people, more than any country has (assess "
        "a file that pools years year by year)": weights.total > _COUNTRY,
        f"all are whole numbers, and a record stands for {mean:,.0f} people on "
        "average": whole and mean >= _ONE_RECORD,
        f"all are whole, with the mean {mean:,.7g}": whole
        and differ
        and abs(mean / 1e4 - 1) < _EXACT,
        "all are multiples of 100": not weights.uneven and sizes > _SIZES,
    }
    return next((f"{sign}. {_REMEDY}" for sign, seen in signs.items() if seen), "")


def _parts(decades: Decades) -> str:
    """Return that a part of the weights is others times a power of ten; or nothing."""
    x, records = decades
    starts = [0, *(np.flatnonzero(np.diff(x) > _GAP) + 1), len(x)]
    least = max(5, records.sum() / 100)
    parts = [
        (x[i:j], records[i:j])
        for i, j in pairwise(starts)
        if records[i:j].sum() >= least
    ]
    for low, high in pairwise(parts):
        (a, spread), (b, other) = _middle(low), _middle(high)
        off = max(abs(b - a - round(b - a)), abs(other - spread))
        nearly_all = low[0][0] >= 0 and a <= _ALL_ASKED
        if b - a > _APART and off < _ALIKE and not nearly_all:
            return (
                f"they differ a lot, about {10.0**b:,.3g} in {high[1].sum():,} records "
                f"and {10.0**a:,.3g} in {low[1].sum():,}, as if a part, such as a "
                "wave, had another scale. Give the parts the same scale in the data"
            )
    return ""


def _middle(decades: Decades) -> tuple[float, float]:
    """Return the median of a part of the weights and its standard deviation."""
    x, records = decades
    sums = np.cumsum(records)
    mean = np.average(x, weights=records)
    variance = np.average((x - mean) ** 2, weights=records)
    return float(x[np.searchsorted(sums, sums[-1] / 2)]), math.sqrt(variance)
