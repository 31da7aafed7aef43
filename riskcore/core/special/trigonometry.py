"""Sine, cosine and the angle of a point, in IEEE operations alone."""

from __future__ import annotations

import math

from riskcore.core.compiled.jit import kernel
from riskcore.core.special.double_double import sqrt
from riskcore.core.special.floats import fma

_HALF_PI = math.pi / 2.0
_HALF_PI_LOW = 6.123233995736766e-17  # pi/2 minus its double


@kernel
def sine_cosine(x: float) -> tuple[float, float]:
    """Return sine and cosine for |x| < 2^31, within some 2^-53.

    Method: Taylor series on |x| <= pi/4 after subtracting multiples of pi/2.
    """
    quarters = float(int(x / _HALF_PI + (0.5 if x > 0.0 else -0.5)))
    r = fma(-quarters, _HALF_PI_LOW, fma(-quarters, _HALF_PI, x))
    w = -r * r
    sine = cosine = 1.0
    for i in range(9, 0, -1):
        sine = 1.0 + sine * w / (2.0 * i * (2.0 * i + 1.0))
        cosine = 1.0 + cosine * w / (2.0 * i * (2.0 * i - 1.0))
    sine *= r
    turn = int(quarters) & 3
    if turn & 1:
        sine, cosine = cosine, -sine
    return (-sine, -cosine) if turn & 2 else (sine, cosine)


@kernel
def angle_of(x: float, y: float) -> float:
    """Return the angle of the point (x, y) from the first axis, from -pi to pi.

    Method: tan a = 2 tan(a/2)/(1 - tan^2(a/2)) and the series of the arctangent.
    """
    long, short = max(abs(x), abs(y)), min(abs(x), abs(y))
    t = short / (long + sqrt(long * long + short * short)) if long > 0.0 else 0.0
    series = 0.0
    for i in range(41, 0, -2):
        series = 1.0 / i - t * t * series
    angle = 2.0 * t * series
    if abs(y) > abs(x):
        angle = _HALF_PI - angle
    if x < 0.0:
        angle = math.pi - angle
    return -angle if y < 0.0 else angle
