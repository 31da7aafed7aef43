"""How many other records a window of one key expects, smoothed along its order.

The records of a sample that fall into a narrow window are few, and whether there are
any more besides the one in its middle is chance. Rings around the window tell what to
expect if numbers are spread evenly; the records inside tell of heaps, such as round
incomes. Given the ring, the expected number is a gamma number whose shape the whole key
tells: large where numbers are spread evenly, small where they heap; the largest that is
likely is taken. So the estimate goes from the ring to the records inside as far as the
data say (empirical Bayes, Robbins 1956). How wide the rings are, by the records that
they hold, is chosen by the likelihood, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.core.special.gamma.functions import log, log1p, log_rising_excess
from riskcore.models.codes import Ints

Floats = NDArray[np.float64]

_RINGS = (8.0, 16.0, 32.0, 64.0, 128.0)  # least records of a ring
_SHAPES = 2.0 ** np.arange(-6.0, 13.0)
_DOUBLINGS = 40  # of the width of a ring
_LEVELS = 20_000  # numbers that tell the shape, evenly spaced among all
_LIKELY = 2.0  # how much lower the log-likelihood of an evener law may be
_EMPTY = 0.5  # records that a ring counts besides its own


class Margin(NamedTuple):
    """What each window of a key expects besides the record in the middle.

    ``own`` is what one record more inside would add, ``error`` a relative variance.
    """

    others: Floats
    own: Floats
    error: Floats


def margin_of(values: Floats, reach: Floats, n: Ints) -> Margin:
    """Return the margin of rising numbers, each with ``n`` records, which may be 0."""
    step = float(np.diff(values).min(initial=np.inf))
    half = reach + (step / 2.0 if np.isfinite(step) else 0.5)
    before = np.append(0, np.cumsum(n)).astype(np.float64)
    line = NumberLine(values, before, half)
    inside = np.maximum(line.records(values - half, values + half) - 1.0, 0.0)
    # Rings are as wide on both sides in numbers of windows, not in the key's units.
    steps = np.diff(values) * 2.0 / (half[1:] + half[:-1])
    line = NumberLine(np.append(0.0, np.cumsum(steps)), before, np.ones(len(values)))
    some = np.arange(0, len(values), -(-len(values) // _LEVELS))
    tried = []
    for ring, share in line.rings(_RINGS):
        mean = ring * share
        mean *= (n * inside).sum() / (n * mean).sum() if inside.any() else 1.0
        for shape in _SHAPES.tolist():
            height = likelihood_height(inside[some], mean[some], shape, n[some])
            tried.append((height, shape, mean, ring))
    highest = max(height for height, *_ in tried)
    likely = [x for x in tried if x[0] >= highest - _LIKELY]
    _, shape, mean, ring = max(likely, key=lambda x: (x[1], x[0]))
    own = mean / (mean + shape)
    others = (inside + shape) * own
    error = own / (others + 0.5 * own) + (1.0 - own) ** 2 / ring
    return Margin(others, own, error)


class NumberLine(NamedTuple):
    """Rising numbers, the records before each one, and half of each window's width."""

    values: Floats
    before: Floats
    half: Floats

    def records(self, low: Floats, high: Floats) -> Floats:
        """Return the records between numbers."""
        first = np.searchsorted(self.values, low)
        last = np.searchsorted(self.values, high, "right")
        return self.before[np.maximum(last, first)] - self.before[first]

    def rings(self, least: Sequence[float]) -> list[tuple[Floats, Floats]]:
        """Return the records of the ring of each window, and its share of them."""
        # Rings double until they have ``least`` records, for each of these numbers.
        v, half = self.values, self.half
        end = v[0] - half[0], v[-1] + half[-1]
        found = [(np.zeros(len(v)), np.ones(len(v))) for _ in least]
        inside = self.records(v - half, v + half)
        open_, far = np.arange(len(v)), 2.0 * half
        for _ in range(_DOUBLINGS):
            low = np.maximum((v - half - far)[open_], end[0])
            high = np.minimum((v + half + far)[open_], end[1])
            ring = self.records(low, high) - inside[open_]
            width, own = high - low - 2.0 * half[open_], 2.0 * half[open_]
            share = np.divide(own, width, out=np.ones(len(own)), where=width > own)
            whole = (low <= end[0]) & (high >= end[1])
            for number, (records, shares) in zip(least, found, strict=True):
                few = records[open_] < number
                records[open_[few]], shares[open_[few]] = ring[few], share[few]
            open_, far = open_[(ring < least[-1]) & ~whole], 2.0 * far
            if not len(open_):
                break
        return [(records + _EMPTY, shares) for records, shares in found]


def likelihood_height(k: Floats, mean: Floats, shape: float, n: Ints) -> float:
    """Return the log-likelihood of negative binomial numbers k, without log k!."""
    m = np.maximum(mean, 2.0**-60)
    each = log_rising_excess(shape, k) + k * log(m) - (k + shape) * log1p(m / shape)
    return float((n * each).sum())
