"""Sine, cosine and angles, against mpmath."""

import math

import mpmath
import numpy as np
import pytest

from riskcore.core.special.trigonometry import angle_of, sine_cosine


def test_sine_and_cosine():
    points = [0.0, 1e-20, -0.3, 0.78, 0.79, -2.0, 22.0, -1e4, 355.0, 1e6 + 0.5]
    for x in points:
        found = sine_cosine(x)
        exact = float(mpmath.sin(x)), float(mpmath.cos(x))
        assert found == pytest.approx(exact, rel=1e-13, abs=3e-16)


def test_angles():
    for angle in np.linspace(-3.14, 3.14, 158):
        x, y = 2.5 * math.cos(angle), 2.5 * math.sin(angle)
        exact = float(mpmath.atan2(y, x))
        assert angle_of(x, y) == pytest.approx(exact, rel=1e-15)
    assert angle_of(1.0, 1e-30) == 1e-30
    assert angle_of(0.0, 0.0) == 0
