"""The continued fraction that kernels cut: the formula, and what the cut leaves out.

With the tail X_N = p the fraction gives less than r's denominator D, with X_N = 1 more
(notes/rounding_proof.md, section 4). A level X_n = (p b + k X)/(b + k X), X = X_(n+1),
shrinks a difference by q k b/(b + k X)^2, and X rises with p and falls with b.
"""

import numpy as np


def level(n, f):
    """Return k and b of a level."""
    return 1 + (n + 1) // 2, f + n // 2


def denominator(f, p, levels):
    """Return D from the tail X = p; numbers of any kind."""
    x = p
    for n in range(levels - 1, -1, -1):
        k, b = level(n, f)
        x = (p * b + k * x) / (b + k * x)
    return f - 1 + x


def positive_levels(f, p, levels):
    """Return X_1 from the tail X = p."""
    x = p
    for n in range(levels - 1, 0, -1):
        k, b = level(n, f)
        x = (p * b + k * x) / (b + k * x)
    return x


BEYOND = 400  # levels taken to find where a tail can be


def _shrunk(f, p, levels, last):
    """Return bounds of X_last from below, and of what the cut leaves of it."""
    f_low, f_high = f
    p_low, p_high = p
    most = np.ones_like(p_high)
    for n in range(levels + BEYOND, levels - 1, -1):
        k, b = level(n, f_low)
        most = (p_high * b + k * most) / (b + k * most)
    x, left = p_low, most - p_low
    for n in range(levels - 1, last - 1, -1):
        k, b = level(n, f_low)
        _, b_high = level(n, f_high)
        # b/(b + k X)^2 rises with b up to k X, and then falls.
        peak = np.clip(k * x, b, b_high)
        left = left * ((1.0 - p_low) * k * peak / (peak + k * x) ** 2)
        x = (p_low * b_high + k * x) / (b_high + k * x)
    return x, left * (1.0 + 1e-9)


def cut(f, p, levels):
    """Return a bound of the relative error that the cut leaves in D, per box.

    ``f`` and ``p`` are the ends of the boxes. The roundings here are far below the
    factor that stands for them.
    """
    x, left = _shrunk(f, p, levels, 0)
    return left / (f[0] - 1.0 + x)


def cut_of_first(f, p, levels):
    """Return a bound of the relative error that the cut leaves in X_1, per box."""
    x, left = _shrunk(f, p, levels, 1)
    return left / x
