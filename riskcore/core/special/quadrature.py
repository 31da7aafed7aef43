"""Nodes and weights of two rules of integration.

The first is double-exponential: the trapezoidal rule after a change of variable that
makes the integrand fall doubly exponentially at both ends (Takahasi and Mori 1974). Its
constants come correctly rounded from decimal arithmetic, the same on every machine. The
second is Gauss-Legendre, for smooth integrands on short intervals.
"""

from __future__ import annotations

from decimal import Decimal, localcontext

from riskcore.core.special.floats import table_of

Rule = tuple[tuple[float, float], ...]

_DIGITS = 60


def _half_line(points_per_unit: int, first: int, last: int) -> Rule:
    """Return x = exp(t - exp(-t)) and dx/dt h, for t = i h, h = 1/points_per_unit."""
    rule = []
    with localcontext(prec=_DIGITS):
        for i in range(first, last + 1):
            t = Decimal(i) / points_per_unit
            x = (t - (-t).exp()).exp()
            rule.append((float(x), float(x * (1 + (-t).exp()) / points_per_unit)))
    return tuple(rule)


# For integrals over (0, inf) of functions that fall like exp(-x) to exp(-x^2): x from
# 3e-18 to 44. With 8 points per unit the latter would be off by 7e-15.
_HALF_LINE = _half_line(10, -36, 38)
HALF_LINE_NODES = len(_HALF_LINE)
half_line_node = table_of("half_line_node", tuple(x for x, _ in _HALF_LINE))
half_line_weight = table_of("half_line_weight", tuple(w for _, w in _HALF_LINE))

# Gauss-Legendre on (-1, 1), 12 nodes, without mirror images, by `bench.coefficients`.
_GAUSS: Rule = (
    (0.1252334085114689, 0.24914704581340277),
    (0.3678314989981802, 0.2334925365383548),
    (0.5873179542866175, 0.20316742672306592),
    (0.7699026741943047, 0.16007832854334622),
    (0.9041172563704749, 0.10693932599531843),
    (0.9815606342467192, 0.04717533638651183),
)
GAUSS_NODES = len(_GAUSS)
gauss_node = table_of("gauss_node", tuple(x for x, _ in _GAUSS))
gauss_weight = table_of("gauss_weight", tuple(w for _, w in _GAUSS))
