"""Logarithms of products of quotients, accurate also for products next to 1.

Each factor q comes with 1 - q, and so does the product: 1 - p q = (1 - p) + p (1 - q),
a sum of terms of one sign if all factors are below 1, or all above.
"""

from __future__ import annotations

from riskcore.core.compiled.jit import kernel
from riskcore.core.special.double_double import (
    DoubleDouble,
    dd_add,
    dd_log,
    dd_multiply,
)
from riskcore.core.special.near_one import LARGEST, SMALLEST, dd_log1p

# p and 1 - p as pairs, and the logarithm of the factors before them.
Product = tuple[float, float, float, float, float, float]

ONE: Product = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
_FAINT = 2.0**-300  # no factor is below 2^-600


@kernel
def log_of_quotient(q: float, q_low: float, d: float, d_low: float) -> DoubleDouble:
    """Return log q for q > 0, where d is 1 - q, to 2^-75 of itself."""
    if SMALLEST < -d < LARGEST:
        return dd_log1p(-d, -d_low)
    return dd_log(q, q_low)


@kernel
def times(product: Product, q: float, q_low: float, d: float, d_low: float) -> Product:
    """Return the product times q, where d is 1 - q."""
    p, p_low, e, e_low, log, log_low = product
    d, d_low = dd_multiply(d, d_low, p, p_low)
    e, e_low = dd_add(e, e_low, d, d_low)
    p, p_low = dd_multiply(p, p_low, q, q_low)
    if p < _FAINT:
        q, q_low = dd_log(p, p_low)
        log, log_low = dd_add(log, log_low, q, q_low)
        return 1.0, 0.0, 0.0, 0.0, log, log_low
    return p, p_low, e, e_low, log, log_low


@kernel
def log_of(product: Product) -> DoubleDouble:
    """Return the logarithm of the product."""
    p, p_low, e, e_low, log, log_low = product
    q, q_low = log_of_quotient(p, p_low, e, e_low)
    return dd_add(log, log_low, q, q_low)
