"""The relative error of a pair of doubles."""

import mpmath


def relative(pair, exact):
    """Return the relative error of the sum of two doubles."""
    with mpmath.workprec(2600):
        return abs((mpmath.mpf(pair[0]) + pair[1]) / exact - 1)
