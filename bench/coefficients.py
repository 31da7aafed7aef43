"""Make the kernels' tables of coefficients by mpmath; compare them with the source.

    python -m bench.coefficients

A polynomial agrees with its function at Chebyshev points of an interval. The exit
status is 1 if a number of the source is another.
"""

from importlib import import_module

import mpmath
from mpmath import mpf

SPECIAL = "riskcore.core.special."
INVERSE_MEAN = "negative_binomial.inverse_mean_fractions"
MOMENTS = "negative_binomial.inverse_moments"


def at_chebyshev_points(function, lower, upper, n):
    """Return the coefficients of the polynomial of n terms by a function's values."""
    middle, half = (mpf(upper) + lower) / 2, (mpf(upper) - lower) / 2
    angle = mpmath.pi / (2 * n)
    x = [middle + half * mpmath.cos((2 * k + 1) * angle) for k in range(n)]
    c = [function(one) for one in x]
    for j in range(1, n):  # Newton's divided differences
        for i in range(n - 1, j - 1, -1):
            c[i] = (c[i] - c[i - 1]) / (x[i] - x[i - j])
    total = [mpf(0)] * n
    for place, value in zip(reversed(x), reversed(c), strict=True):
        before = [mpf(0), *total[:-1]]
        total = [a - place * b for a, b in zip(before, total, strict=True)]
        total[0] += value
    return total


def rounded(numbers):
    return tuple(map(float, numbers))


def pairs(numbers):
    """Return the doubles next to numbers, and those next to what these leave."""
    high = rounded(numbers)
    return high, rounded(x - y for x, y in zip(numbers, high, strict=True))


def atanh_rest(w, terms):
    """Return (atanh s - s - s^3/3 ...)/s^(2 terms + 1), w = s^2."""
    s = mpmath.sqrt(w)
    first = sum(s ** (2 * j + 1) / (2 * j + 1) for j in range(terms))
    return (mpmath.atanh(s) - first) / s ** (2 * terms + 1)


def words(x):
    """Return the words of a number in fixed point, rounded down."""
    whole = int(mpmath.floor(x * mpf(2) ** 1008))
    return tuple(float(whole >> 28 * i & 2**28 - 1) for i in range(36, -1, -1))


def eta(w):
    d = mpmath.pi * mpmath.sqrt(w)
    return mpmath.log(d / mpmath.sin(d)) / w


def psi(d):
    return (mpmath.digamma(2 + d) - mpmath.digamma(2)) / d


def stirling_error(n):
    stirling = mpmath.log(2 * mpmath.pi * n) / 2 + n * (mpmath.log(n) - 1)
    return mpmath.loggamma(n + 1) - stirling


def legendre(n):
    """Return the positive nodes of Gauss and Legendre's rule, with weights."""
    nodes = sorted(
        mpmath.findroot(
            lambda x: mpmath.legendre(n, x),
            mpmath.cos(mpmath.pi * (mpf(k) - mpf(1) / 4) / (n + mpf(1) / 2)),
        )
        for k in range(1, n // 2 + 1)
    )
    slope = [n * mpmath.legendre(n - 1, x) / (1 - x * x) for x in nodes]
    return [(x, 2 / ((1 - x * x) * d * d)) for x, d in zip(nodes, slope, strict=True)]


def of_atanh(terms, most, n):
    return at_chebyshev_points(lambda w: atanh_rest(w, terms), 0, most, n)


def made():
    """Return the numbers of each table: (module, names), numbers."""
    mpmath.mp.prec = 1100
    etas = at_chebyshev_points(eta, 0, mpf(1) / 4, 16)
    psis = at_chebyshev_points(psi, -mpf(1) / 2, mpf(1) / 2, 22)
    gamma = at_chebyshev_points(lambda z: mpmath.psi(1, 2 + z), -1, 1, 32)
    bernoulli = [mpmath.bernoulli(2 * k) / (2 * k) for k in range(1, 8)]
    gammas = [gamma[k] / ((k + 1) * (k + 2)) for k in range(2, 32)]
    first, last = pairs([gamma[0], gamma[1] / 2])
    return {
        ("elementary", "_T0 _T1 _T2 _T3 _T4 _T5 _T6 _T7"): rounded(
            2 * c for c in of_atanh(1, (3 - 2 * mpmath.sqrt(2)) ** 2 * mpf("1.0001"), 8)
        ),
        ("elementary", "_P0 _P1 _P2 _P3 _P4 _P5"): rounded(
            2 * c for c in of_atanh(2, mpf("0.07693") ** 2, 6)
        ),
        ("gauss.fast_integer", "_T0 _T1 _T2 _T3 _T4 _T5 _T6"): rounded(
            of_atanh(3, mpf(1) / 49, 7)
        ),
        (MOMENTS, "_ETA _ETA_LOW"): pairs(etas[:2]),
        (MOMENTS, "_ETA_REST"): rounded(etas[2:]),
        (MOMENTS, "_PSI _PSI_LOW"): pairs(psis[:2]),
        (MOMENTS, "_PSI_REST"): rounded(psis[2:]),
        (INVERSE_MEAN, "TWICE_A2 THRICE_A3"): first,
        (INVERSE_MEAN, "TWICE_A2_LOW THRICE_A3_LOW"): last,
        (INVERSE_MEAN, "LOG_GAMMA"): rounded(gammas),
        ("negative_binomial.probability", "_STIRLING_ERRORS"): rounded(
            map(stirling_error, range(1, 16))
        ),
        ("gamma.stirling", "LOG_GAMMA_TERMS"): rounded(
            b / (2 * k - 1) for k, b in enumerate(bernoulli, 1)
        ),
        ("gamma.stirling", "DIGAMMA_TERMS"): rounded(bernoulli),
        ("gamma.stirling", "TRIGAMMA_TERMS"): rounded(
            2 * k * b for k, b in enumerate(bernoulli, 1)
        ),
        ("fixed_point", "_LN2"): words(mpmath.ln(2)),
        ("fixed_point", "_PI"): words(mpmath.pi),
        ("quadrature", "_GAUSS"): tuple(map(rounded, legendre(12))),
    }


def others():
    """Return what of the source is another number: (module, names)."""
    found = []
    for (module, names), numbers in made().items():
        there = vars(import_module(SPECIAL + module))
        values = tuple(there[name] for name in names.split())
        if (values[0] if len(values) == 1 else values) != numbers:
            found.append((module, names))
    return found


def main():
    for (module, names), numbers in made().items():
        print(module, names)
        for x in numbers:
            print("   ", x.hex() if isinstance(x, float) else x)
    wrong = others()
    print("others in the source:", wrong or "none")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
