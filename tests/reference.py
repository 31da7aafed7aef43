"""Exact values at doubles: definitions in mpmath, and Arb's balls as its numbers."""

import mpmath
from flint import ctx

from bench import references
from riskcore.accuracy.reference import PRECISION, gauss, individual_risk


def enough(*numbers):
    """Return bits that hold 1 - p and f - 1 exactly, with room for the result."""
    spread = sum(abs(int(mpmath.mag(x))) for x in numbers if x and mpmath.isfinite(x))
    return PRECISION + 2 * spread + 80


def individual_risk_from_frequencies(f, F):
    with mpmath.workprec(2 * enough(f, F)):
        return individual_risk(mpmath.mpf(f), mpmath.mpf(f) / mpmath.mpf(F))


def log_individual_risk(f, p):
    with mpmath.workprec(enough(f, p)):
        return mpmath.log(individual_risk(f, p))


def individual_risk_gradient(f, p):
    """Return dr/dp = (2F1(1, 1; f+1; 1-p) - 1)/(1-p); 1/(f+1) at p = 1."""
    with mpmath.workprec(enough(f, p)):
        if p == 1:
            return 1 / (mpmath.mpf(f) + 1)
        return (gauss(f, p) - 1) / (1 - mpmath.mpf(p))


def individual_risk_with_prior(f, shape, p):
    """Return E[1/(f+X)], X negative binomial: (1/f) 2F1(1, s; f+1; -q/p)."""
    with mpmath.workprec(enough(f, shape, p)):
        f, s, p = mpmath.mpf(f), mpmath.mpf(shape), mpmath.mpf(p)
        if p >= 0.5:
            return p / f * mpmath.hyp2f1(1, f + 1 - s, f + 1, 1 - p)
        return mpmath.hyp2f1(1, s, f + 1, (p - 1) / p) / f


def individual_risk_poisson(f, mu):
    """Return E[1/(f+X)], X Poisson: (1/f) 1F1(1; f+1; -mu)."""
    with mpmath.workprec(enough(f, mu)):
        return mpmath.hyp1f1(1, mpmath.mpf(f) + 1, -mpmath.mpf(mu)) / f


def as_mpmath(ball):
    """Return the middle of a ball as an mpmath number, at the precision it was made."""
    mantissa, exponent = ball.mid().man_exp()
    with mpmath.workprec(ctx.prec):
        return mpmath.ldexp(mpmath.mpf(int(mantissa)), int(exponent))


def by_arb(name, *at):
    """Return a function of the population models, such as ``log_gamma_ratio``."""
    return as_mpmath(references.exactly(references.GAMMA[name])(300, *at))
