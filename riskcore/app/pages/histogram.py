"""Histograms for pages: bins of numbers, and where they stand in a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_BINS = 60
_MOST_WHOLE = 130  # whole numbers with a bar each
_TAIL = 0.995  # larger values share the last bar if they would fill the picture
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """A scale of numbers, and the picture above it in its own units."""

    WIDTH, HEIGHT = 480, 170
    LEFT, RIGHT, TOP, BOTTOM = 48, 472, 12, 140

    edges: Floats  # the ends of the bins
    whole: bool  # whether each bar is one whole number
    cut: bool  # whether the last bar has all larger values, too

    @classmethod
    def of(cls, values: Floats, counts: Floats) -> Axis:
        """Return a scale for distinct, sorted values with their counts."""
        low, high = float(values[0]), float(values[-1])
        whole = bool((values == np.round(values)).all())
        if whole and high - low < _MOST_WHOLE:
            return cls(np.arange(low - 0.5, high + 1.0), True, False)
        total = np.cumsum(counts)
        tail = float(values[np.searchsorted(total, _TAIL * total[-1])])
        cut = low < tail < low + (high - low) / 2
        edges = np.linspace(low, tail if cut else high, _BINS + 1)
        if edges[0] == edges[-1]:
            edges = np.array([low - 0.5, low + 0.5])
        return cls(edges, False, cut)

    @property
    def low(self) -> float:
        """The left end."""
        return float(self.edges[0])

    @property
    def high(self) -> float:
        """The right end."""
        return float(self.edges[-1])

    def at(self, value: float) -> float:
        """Return where a value stands in the picture."""
        share = min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)
        return round(self.LEFT + (self.RIGHT - self.LEFT) * share, 2)

    def counts(self, values: Floats, weights: Floats) -> Floats:
        """Return the sums of weights in the bins."""
        inside = np.clip(values, self.low, self.high)
        return np.histogram(inside, self.edges, weights=weights)[0]

    def ticks(self) -> list[tuple[float, float]]:
        """Return round numbers of the scale and where they stand."""
        step = _step(self.high - self.low, 6)
        step = max(step, 1.0) if self.whole else step
        first, last = np.ceil(self.low / step), np.floor(self.high / step)
        marks = [float(step * number) for number in np.arange(first, last + 1)]
        return [(number, self.at(number)) for number in marks]

    def picture(self, **counts: Floats) -> dict[str, Any]:
        """Return the axes, and the bars of each kind of counts on one scale."""
        most = float(max(of_kind.max() for of_kind in counts.values()))
        bars = {kind: self._bars(of_kind, most) for kind, of_kind in counts.items()}
        return {"axis": self, "counts": self._count_ticks(most), **bars}

    def _bars(self, counts: Floats, most: float) -> list[dict[str, Any]]:
        """Return the rectangles of the bins; ``most`` is as high as the picture."""
        rectangles, height = [], self.BOTTOM - self.TOP
        for low, high, count in zip(
            self.edges[:-1], self.edges[1:], counts, strict=True
        ):
            if count > 0:
                tall = max(round(height * float(count) / most, 2), 0.5)
                x, end = self.at(float(low)), self.at(float(high))
                y, wide = self.BOTTOM - tall, round(max(end - x - 0.6, 0.6), 2)
                rectangles.append({"x": x, "y": y, "w": wide, "h": tall})
        return rectangles

    def _count_ticks(self, most: float) -> list[tuple[float, float]]:
        """Return round counts and how high they stand if ``most`` is at the top."""
        step = max(_step(most, 4), 1.0)
        counts = [float(step * number) for number in np.arange(0, most // step + 1)]
        height = self.BOTTOM - self.TOP
        return [(n, round(self.BOTTOM - height * n / most, 2)) for n in counts]


def _step(span: float, most: int) -> float:
    """Return the least round step that fits into a span at most so many times."""
    power = 10.0 ** np.floor(np.log10(span / 4))
    return float(
        next(power * number for number in _STEPS if span / (power * number) <= most)
    )
