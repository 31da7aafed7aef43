"""The compiled part of `noise`: normal deviates, with the same bits everywhere."""

from __future__ import annotations

from typing import Any

from riskcore.core.compiled.jit import kernel, native
from riskcore.core.special.double_double import sqrt
from riskcore.core.special.elementary import log, polynomial

# Quotients of polynomials for the quantile in the middle, in the tails and far out
# (Wichura 1988, algorithm AS 241).
_middle = polynomial((
    3.3871328727963665, 133.14166789178438, 1971.5909503065513, 13731.69376550946,
    45921.95393154987, 67265.7709270087, 33430.57558358813, 2509.0809287301227,
))  # fmt: skip
_middle_below = polynomial((
    1.0, 42.31333070160091, 687.1870074920579, 5394.196021424751, 21213.794301586597,
    39307.89580009271, 28729.085735721943, 5226.495278852854,
))  # fmt: skip
_tail = polynomial((
    1.4234371107496835, 4.630337846156546, 5.769497221460691, 3.6478483247632045,
    1.2704582524523684, 0.2417807251774506, 0.022723844989269184, 0.0007745450142783414,
))  # fmt: skip
_tail_below = polynomial((
    1.0, 2.053191626637759, 1.6763848301838038, 0.6897673349851, 0.14810397642748008,
    0.015198666563616457, 0.0005475938084995345, 1.0507500716444169e-09,
))  # fmt: skip
_far = polynomial((
    6.657904643501103, 5.463784911164114, 1.7848265399172913, 0.29656057182850487,
    0.026532189526576124, 0.0012426609473880784, 2.7115555687434876e-05,
    2.0103343992922881e-07,
))  # fmt: skip
_far_below = polynomial((
    1.0, 0.599832206555888, 0.1369298809227358, 0.014875361290850615,
    0.0007868691311456133, 1.8463183175100548e-05, 1.421511758316446e-07,
    2.0442631033899397e-15,
))  # fmt: skip


@kernel
def normal_quantile(p: float) -> float:
    """Return the standard normal quantile of p in (0, 1)."""
    q = p - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        return q * _middle(r) / _middle_below(r)
    r = sqrt(-log(p if q < 0.0 else 1.0 - p))
    if r <= 5.0:
        size = _tail(r - 1.6) / _tail_below(r - 1.6)
    else:
        size = _far(r - 5.0) / _far_below(r - 5.0)
    return -size if q < 0.0 else size


@native("int64, float64*")
def fill_normal(n: int, x: Any) -> None:
    """Replace numbers in (0, 1) by their normal quantiles."""
    for i in range(n):
        x[i] = normal_quantile(x[i])
