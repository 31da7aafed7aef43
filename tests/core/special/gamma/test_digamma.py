"""Next to the borders between methods; the rest is in tests/models."""

import numpy as np
import pytest

from riskcore.core.special.gamma import digamma
from riskcore.core.special.gamma.stirling import LARGE
from tests import reference

BORDER = [float(np.nextafter(LARGE, 0)), LARGE, LARGE - 1, 1e-9]
STEPS = [0.5, 2.0, *np.nextafter([0.5, 1.0, 1.0, 2.0], [0, 0, 2, 0]).tolist()]
NAMES = [
    "digamma_difference",
    "digamma_deficit",
    "trigamma_difference",
    "trigamma_deficit",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("x", [*BORDER, 64.0, 1e15])
def test_borders(name, x, ulps):
    for m in [*STEPS, 8.0, 1e12]:
        exact = reference.by_arb(name, x, m)
        bound = 2 if name == "trigamma_deficit" else 1
        assert ulps(getattr(digamma, name)(x, m), exact) < bound, m
