"""Next to the borders between methods; the rest is in tests/models."""

import numpy as np
import pytest

from riskcore.core.special.gamma.rising import (
    log_rising_excess,
    log_rising_factorial,
)
from riskcore.core.special.gamma.stirling import LARGE
from tests import reference

BORDER = [float(np.nextafter(LARGE, 0)), LARGE, LARGE - 1, 1e-9]
STEPS = [y for x in (0.5, 2.0) for y in (float(np.nextafter(x, 0)), x)]


@pytest.mark.parametrize("x", [*BORDER, 64.0])
@pytest.mark.parametrize("m", [*STEPS, 8.0, 32.0, np.nextafter(32.0, 33.0), 1e12])
def test_borders(x, m, ulps):
    m = float(m)
    for function in (log_rising_excess, log_rising_factorial):
        assert ulps(function(x, m), reference.by_arb(function.__name__, x, m)) < 0.6


def test_next_to_one(ulps):
    # log (x)_1 = log x, and x = 1 is no worse than elsewhere.
    for x in (1 - 2.0**-53, 1 + 2.0**-52, 1 + 1e-9):
        exact = reference.by_arb("log_rising_factorial", x, 1.0)
        assert ulps(log_rising_factorial(x, 1.0), exact) < 0.6
    for m in (1 - 2.0**-53, 1 + 2.0**-52):
        for x in (1e-9, 1.0, 20.0, 1e15):
            exact = reference.by_arb("log_rising_excess", x, m)
            assert ulps(log_rising_excess(x, m), exact) < 0.6
