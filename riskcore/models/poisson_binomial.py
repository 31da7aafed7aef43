"""The law of the number of independent events with different probabilities.

Given a model of the cells, sample uniques are population uniques independently. The law
of their number is the convolution of one two-point law for each. Blocks of 64 events
are convolved one event at a time, then neighboring blocks are joined. All terms are
positive, so nothing cancels; negligible tails are cut, and the cut mass is counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riskcore.common import arguments
from riskcore.core.compiled.jit import native

Floats = NDArray[np.float64]

_BLOCK = 64
_CUT = 2.0**-130  # mass that may be cut from a tail of a part, of at most 2^26
_ROUNDOFF = 2.0**-53


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PoissonBinomial:
    """The law of the number of independent events.

    Attributes
    ----------
    events : int
        Number of events.
    first : int
        The smallest number with a stored probability.
    probabilities : float64 ndarray
        P(first), P(first + 1), ...; all other probabilities are cut.
    mean, variance : float
    left_out : float
        A bound of the cut mass: any probability, or sum of probabilities, is wrong by
        at most this and its relative error.
    relative_error : float
        A bound of the rounding error of each probability.

    Examples
    --------
    >>> law = PoissonBinomial.of([0.5, 0.5, 1.0])
    >>> law
    <PoissonBinomial: 3 events, mean 2, standard deviation 0.7071>
    >>> law.first, law.probabilities
    (1, array([0.25, 0.5 , 0.25]))
    >>> law.interval(0.9)
    (1, 3)
    """

    events: int
    first: int
    probabilities: Floats
    mean: float
    variance: float
    left_out: float
    relative_error: float

    @classmethod
    def of(cls, chances: ArrayLike) -> PoissonBinomial:
        """Return the law of the number of events.

        Parameters
        ----------
        chances : array_like, shape (n,)
            The probability of each event.

        Returns
        -------
        PoissonBinomial

        Raises
        ------
        TypeError
            If the chances are not numbers.
        ValueError
            If a chance is not in [0, 1].
        """
        p = arguments.numbers("chances", chances, dimensions=1).astype(np.float64)
        arguments.refuse("chances", ~((p >= 0.0) & (p <= 1.0)), "in [0, 1]")
        mean = math.fsum(p.tolist())
        variance = math.fsum((p * (1.0 - p)).tolist())
        parts = _blocks(p)
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=False)
            odd = parts[-1:] if len(parts) % 2 else []
            parts = [_joined(a, b) for a, b in pairs] + odd
        law = parts[0]
        return cls(
            len(p), law.first, law.values, mean, variance, law.left_out, law.error
        )

    def interval(self, level: float = 0.95) -> tuple[int, int]:
        """Return an equal-tailed interval with at least this probability.

        Parameters
        ----------
        level : float
            In (0, 1).

        Returns
        -------
        low, high : int
            The largest ``low`` with P(less) <= (1 - level)/2 and the smallest ``high``
            with P(more) <= (1 - level)/2.
        """
        level = arguments.number_in("level", level, "(0, 1)")
        return equal_tails(self.first, self.probabilities, level)

    def __repr__(self) -> str:
        return (
            f"<PoissonBinomial: {self.events} events, mean {self.mean:.7g}, "
            f"standard deviation {math.sqrt(self.variance):.4g}>"
        )


def equal_tails(first: int, distribution: Floats, level: float) -> tuple[int, int]:
    """Return the least interval with at most (1 - level)/2 on either side."""
    tail = 0.5 * (1.0 - level)
    below = np.searchsorted(np.cumsum(distribution), tail, side="right")
    # From the small terms, to keep their digits.
    above = np.searchsorted(np.cumsum(distribution[::-1]), tail, side="right")
    return first + int(below), first + max(len(distribution) - 1 - int(above), 0)


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """The law of some of the events, with bounds of its errors."""

    first: int
    values: Floats
    left_out: float
    error: float


def _blocks(p: Floats) -> list[_Part]:
    """Return the laws of blocks of events; all blocks take their next event at once."""
    blocks = max(-(-len(p) // _BLOCK), 1)
    chances = np.zeros((blocks, _BLOCK))
    chances.ravel()[: len(p)] = p
    laws = np.zeros((blocks, _BLOCK + 1))
    laws[:, 0] = 1.0
    for i in range(_BLOCK):
        hit = chances[:, i, np.newaxis]
        moved = hit * laws[:, : i + 1]
        laws[:, : i + 1] *= 1.0 - hit
        laws[:, 1 : i + 2] += moved
    # A complement, a product and a sum round in each step.
    return [_trimmed(0, law, 0.0, 3 * _BLOCK * _ROUNDOFF) for law in laws]


def _joined(a: _Part, b: _Part) -> _Part:
    """Return the law of the sum of two independent numbers."""
    if len(a.values) > len(b.values):
        a, b = b, a
    values = np.zeros(len(a.values) + len(b.values) - 1)
    add_products(a.values, len(a.values), b.values, len(b.values), values)
    error = a.error + b.error + (len(a.values) + 1) * _ROUNDOFF
    return _trimmed(a.first + b.first, values, a.left_out + b.left_out, error)


def _trimmed(first: int, values: Floats, left_out: float, error: float) -> _Part:
    """Return a law with negligible tails cut off."""
    low = int(np.searchsorted(np.cumsum(values), _CUT, side="right"))
    high = int(np.searchsorted(np.cumsum(values[::-1]), _CUT, side="right"))
    kept = values[low : len(values) - high]
    cut = _CUT * ((low > 0) + (high > 0))
    return _Part(first + low, np.ascontiguousarray(kept), left_out + cut, error)


@native("float64*, int64, float64*, int64, float64*")
def add_products(a: Any, length: int, b: Any, other: int, total: Any) -> None:
    """Add the product of each pair of terms to the term of their sum."""
    for i in range(length):
        factor = a[i]
        for j in range(other):
            total[i + j] += factor * b[j]
