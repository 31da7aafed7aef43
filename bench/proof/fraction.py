"""The continued fraction that kernels cut: the formula, and what the cut leaves out.

All X lie in [p, 1] (notes/correct_rounding.md, section 11). A level X_n = (p b + k
X)/(b + k X), X = X_(n+1), shrinks a difference by q k b/(b + k X)^2, and X rises with p
and falls with b.
"""

import numpy as np


def level(n, f):
    """Return k and b of a level."""
    return 1 + (n + 1) // 2, f + n // 2


def tail(f, p, levels):
    """Return the X_N from which `denominator` starts, N = levels: b p/(b - k q)."""
    k, b = 1 + levels // 2, f + levels // 2
    return b * p / (b - k * (1 - p))


def denominator(f, p, levels):
    """Return D from the tail of an odd number of levels; numbers of any kind."""
    x = tail(f, p, levels)
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


def _between(f, p, levels):
    """Return bounds of the true X_N, N = levels: from as far as 0 and 1 would lead."""
    f_low, f_high = f
    p_low, p_high = p
    least, most = p_low, np.ones_like(p_high)
    for n in range(levels + BEYOND, levels - 1, -1):
        k, b = level(n, f_low)
        most = (p_high * b + k * most) / (b + k * most)
        k, b = level(n, f_high)
        least = (p_low * b + k * least) / (b + k * least)
    return least, most


def _shrunk(f, p, levels, last, x, left):
    """Return a lower bound of X_last, and a bound of its error from X_N."""
    f_low, f_high = f
    p_low, _ = p
    for n in range(levels - 1, last - 1, -1):
        k, b = level(n, f_low)
        _, b_high = level(n, f_high)
        # b/(b + k X)^2 rises with b up to k X, and then falls.
        peak = np.clip(k * x, b, b_high)
        left = left * ((1.0 - p_low) * k * peak / (peak + k * x) ** 2)
        x = (p_low * b_high + k * x) / (b_high + k * x)
    return x, left * (1.0 + 1e-9)


def _from_tail(f, p, levels, last):
    """Return a lower bound of X_last, and a bound of its error from the tail."""
    least, most = _between(f, p, levels)
    # The tail rises with p and falls with f.
    low, high = tail(f[1], p[0], levels), tail(f[0], p[1], levels)
    left = np.maximum(most - low, high - least)
    return _shrunk(f, p, levels, last, np.minimum(low, least), left)


def cut(f, p, levels):
    """Return a bound of the relative error that the cut leaves in D, per box.

    ``f`` and ``p`` are the ends of the boxes. The roundings here are far below the
    factor that stands for them.
    """
    x, left = _from_tail(f, p, levels, 0)
    return left / (f[0] - 1.0 + x)


def cut_of_e(f, p, levels):
    """Return a bound of the error that the cut leaves in E = X_1/(f + X_1)."""
    _, left = _from_tail(f, p, levels, 1)
    return left / f[0]


def cut_of_first(f, p, levels):
    """Return a bound of the relative error that the cut leaves in X_1 from X_N = p."""
    _, most = _between(f, p, levels)
    x, left = _shrunk(f, p, levels, 1, p[0], most - p[0])
    return left / x
