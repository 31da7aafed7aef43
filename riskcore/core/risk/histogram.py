"""Classes of risk on a log scale, bounded by short decimal numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from riskcore.core.risk.file_risk import Counts, Risks
from riskcore.core.risk.threshold import RiskDistribution

# Preferred numbers of ISO 3, series R 40, times 100: 40 nearly even steps per decade.
# fmt: off
_PREFERRED = (
    100, 106, 112, 118, 125, 132, 140, 150, 160, 170, 180, 190, 200, 212, 224, 236, 250,
    265, 280, 300, 315, 335, 355, 375, 400, 425, 450, 475, 500, 530, 560, 600, 630, 670,
    710, 750, 800, 850, 900, 950,
)
# fmt: on
_CLASSES = 50
_SMALLEST = 5e-324


def log_edges(low: float, high: float) -> Risks:
    """Return the bounds of at most 50 classes of risk around 0 < low <= high <= 1.

    They are preferred numbers (ISO 3: 40, 20, 10, 5 or 1 per decade; beyond 50 decades
    every tenth power of ten) over at least a decade; the last is above ``high``, or 1.

    >>> log_edges(0.002, 0.7)[[0, 1, 2, -1]]
    array([0.002  , 0.0025 , 0.00315, 0.8    ])
    """
    if not 0.0 < low <= high <= 1.0:
        raise ValueError(f"risks from {low} to {high}: need 0 < low <= high <= 1")
    low, high = _widened(low, high)
    for step in (1, 2, 4, 8, 40):
        edges = _around(decimals(_PREFERRED[::step], low, high), low, high)
        if len(edges) <= _CLASSES + 1:
            return edges
    return _around(decimals([100], low, high, every=10), low, high)


def _widened(low: float, high: float) -> tuple[float, float]:
    """Return bounds at least a decade apart around the risks, at most 1."""
    middle = math.sqrt(low) * math.sqrt(high)
    high = min(max(high, middle * math.sqrt(10.0), 10.0 * _SMALLEST), 1.0)
    return max(min(low, middle / math.sqrt(10.0), high / 10.0), _SMALLEST), high


def _around(numbers: Risks, low: float, high: float) -> Risks:
    """Return the numbers from the last one <= low to the first one > high, or 1."""
    numbers = numbers[numbers <= 1.0]
    first = int(np.searchsorted(numbers, low, "right")) - 1
    last = int(np.searchsorted(numbers, high, "right"))
    return numbers[first : last + 1]


def decimals(
    mantissas: Sequence[int], low: float, high: float, every: int = 1
) -> Risks:
    """Return the numbers m 10^e, rising, from below ``low`` to above ``high``.

    The mantissas have equally many digits; e is a multiple of ``every``.
    """
    digits = len(str(mantissas[0])) - 1
    first = _exponent(low) // every * every - every
    last = _exponent(high) + 2 * every
    numbers = [
        # Read as text: correctly rounded, and the same on every machine.
        max(float(f"{m}e{e - digits}"), _SMALLEST)
        for e in range(first, last, every)
        for m in mantissas
    ]
    return np.unique(numbers)


def _exponent(value: float) -> int:
    return int(f"{value:e}".partition("e")[2])


def class_counts(distribution: RiskDistribution, edges: ArrayLike) -> Counts:
    """Return the records with edges[i] <= risk < edges[i + 1], the last bound included.

    >>> class_counts(RiskDistribution([0.01, 0.02, 0.5], [5, 4, 2]), [0.01, 0.02, 0.5])
    array([5, 6])
    """
    edges = np.asarray(edges, dtype=np.float64)
    bounds = [*edges[:-1].tolist(), math.nextafter(float(edges[-1]), math.inf)]
    return -np.diff([distribution.unsafe_count(bound) for bound in bounds])
