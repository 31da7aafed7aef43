"""Weights that cannot be right: codes, and numbers whose decimals are implied.

Surveys store weights as whole numbers: DHS times a million, CPS times 10,000. Taken as
they are, each record would stand for so many more people, and every risk would be far
too low. So such weights are refused until somebody gives their scale.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from riskcore.data.engines.counting import Weights

# More people than any country has, and than one record of a survey in whole numbers.
_COUNTRY, _ONE_RECORD = 1.6e9, 1e5
# Of fewer records the mean says nothing; fewer different weights may be of strata.
_RECORDS, _DISTINCT = 30, 10
_EXACT = 1e-3  # a mean that is nearer to a power of ten has it to several digits
# In decades: the gap between parts of weights, how far they are apart (weights of
# strata may well differ by 100), and by how much they may miss a power of ten.
_GAP, _APART, _ALIKE = 0.9, 2.5, 0.3
_MOST = 1 << 18  # weights that are looked at one by one
_REMEDY = (
    "Weights with implied decimals need their scale: --weight-scale 1e-6 for six "
    "decimals, as in DHS, 1e-4 for four, 0.01 for two, in rules weight_scale in [data] "
    "(in Python: reading=riskcore.Reading(weight_scale=1e-6))"
)


def refuse_doubtful(
    weights: Weights,
    values: NDArray[np.float64],
    name: Hashable,
    scale: float | None,
    first: str = "",
) -> None:
    """Refuse weights with faults and, if no scale is given, those that look scaled.

    An engine with many records gives no ``values``; ``first`` says where a fault is.
    """
    faults = [f"{k:,} {fault}" for fault, k in weights.faults.items() if k]
    if faults:
        codes = np.unique(values[(values < 0) & (values > -np.inf)])[:3].tolist()
        some = ", ".join(f"{code:.15g}" for code in codes)
        told = f"; {some}: codes, not weights" if codes else ""
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
    if len(values) > _MOST:  # not every second one: waves may alternate
        values = values[np.random.default_rng(0).integers(0, len(values), _MOST)]
    doubt = _parts(values[values > 0]) or _doubt(weights, values[values > 0])
    if doubt:
        raise ValueError(
            f"weight {name!r}: {doubt}. If the weights are right as they are, say so: "
            "--weight-scale 1 (in Python: reading=riskcore.Reading(weight_scale=1))"
        )


def _doubt(weights: Weights, positive: NDArray[np.float64]) -> str:
    """Return why weights look scaled, with the remedy; empty if they do not."""
    n, whole = weights.n - weights.zero, not weights.broken
    mean = weights.total / n
    power = 10.0 ** round(math.log10(mean))
    least = 10_000 if weights.low == weights.high else 100
    round_mean = n >= _RECORDS and power >= least and abs(mean / power - 1) < _EXACT
    signs = {
        f"they add up to {weights.total:.4g} people, more than any country has (assess "
        "a file that pools years year by year)": weights.total > _COUNTRY,
        f"all are whole numbers, and a record stands for {mean:,.0f} people on "
        "average": whole and mean >= _ONE_RECORD,
        f"all are whole, with the mean {mean:,.7g}": whole and round_mean,
        "all are multiples of 100": not np.fmod(positive, 100.0).any()
        and len(np.unique(positive)) > _DISTINCT,
    }
    return next((f"{sign}. {_REMEDY}" for sign, seen in signs.items() if seen), "")


def _parts(positive: NDArray[np.float64]) -> str:
    """Return that a part of the weights is others times a power of ten; or nothing."""
    x = np.sort(np.log10(positive))
    parts = np.split(x, np.flatnonzero(np.diff(x) > _GAP) + 1)
    parts = [part for part in parts if len(part) >= max(5, len(x) / 100)]
    for low, high in pairwise(parts):
        apart = float(np.median(high) - np.median(low))
        off = max(abs(apart - round(apart)), abs(float(np.std(high) - np.std(low))))
        # Beside a sample, people who were all asked have weights of 1.
        if apart > _APART and off < _ALIKE and low.any():
            return (
                f"they differ a lot, about {10.0 ** np.median(high):,.3g} in "
                f"{len(high):,} records and {10.0 ** np.median(low):,.3g} in "
                f"{len(low):,}, as if a part, such as a wave, had another scale. Give "
                "the parts the same scale in the data"
            )
    return ""
