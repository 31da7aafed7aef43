"""The rounding tests of the risk (Ziv), and their error bounds.

If both ends of high + low -+ ``error`` round to the same double, it is the double
nearest r, for rounding is monotonic; if no double lies between them, r has their
neighbors. Otherwise nan says that a slower path must decide.
"""

from __future__ import annotations

import math

from riskcore.core.compiled.jit import kernel
from riskcore.core.special.floats import bits, fast_two_sum, from_bits

# Error bounds of pairs, proved by ``python -m bench.prove``; searches found errors of a
# third of them at most (notes/correct_rounding.md).
# Times r + v^4, f = 1 to 4: contiguity enlarges the error of the logarithm by v.
BY_LOGARITHM = 2.0**-67
BY_LOGARITHM_15 = 2.0**-65  # times r, f = 5 to 15
OF_SERIES = 2.0**-51  # times r z^4, the series' part in doubles, and
IN_PAIRS = 2.0**-97  # times r, rounding in pairs
BY_LEVELS = 2.0**-65  # times r
BY_LEVELS_REAL = 2.0**-64  # times r
OF_E_16 = 10.0 * 2.0**-53  # times r q E/D from f = 16, as E is only a double, and
BESIDE_E_16 = 2.0**-70  # times r, rounding of U and truncation
OF_E_32 = 18.0 * 2.0**-53  # the same from f = 32
BESIDE_E_32 = 2.0**-69
REFLECTED = 2.0**-63  # times r, real f < 16 and p < 0.3
BACKWARD = 2.0**-64  # times r, real f < 4 and p >= 0.3


@kernel
def rounded(high: float, low: float, error: float) -> float:
    """Return the double nearest high + low + d for all |d| <= error, else nan.

    ``low`` is at most some units of the last place of ``high``.
    """
    below = high + (low - error)
    above = high + (low + error)
    return below if below == above else math.nan


@kernel
def rounded_down(high: float, low: float, error: float) -> float:
    """Return the double below all high + low + d for |d| <= error, else nan.

    It is nan if a double is among them. high > |low|, and ``error`` is below 2^-56 of
    high.
    """
    high, low = fast_two_sum(high, low)
    below = from_bits(bits(high) - 1) if low < 0.0 else high
    return below if abs(low) > error else math.nan
