"""Compare the negative binomial risk with the risk in a finite population.

    python -m bench.finite_population

Both are in Arb balls: the beta-binomial law by the sum over all of its terms, the
negative binomial one by bench/references.py (notes/posterior.md). The cell has
a sample unique, two people expected in the population, and A = N/4.
"""

import sys

from flint import arb, ctx

from bench._common import origin, publish, table
from bench.references import with_prior

SIZES = {
    100: (1, 10, 50),
    1_000: (10, 100, 500),
    10_000: (1_000,),
    100_000: (10_000,),
    1_000_000: (100_000,),
}


def by_sum(f, alpha, beta, M):
    """Return the sum of P(X = x)/(f + x), and P(X = 0)."""
    ctx.prec = 300
    f, alpha, beta = arb(f), arb(alpha), arb(beta)
    weight = total = arb(1)
    total_risk = 1 / f
    for x in range(int(M)):
        weight *= (M - x) * (alpha + x) / ((x + 1) * (beta + (M - x - 1)))
        total += weight
        total_risk += weight / (f + x + 1)
    return total_risk / total, 1 / total


def compared(N, n):
    """Return both risks and both P(F = 1), finite first, for a sample unique."""
    A, M = N / 4, N - n
    alpha = 1 + A * (2 / N)
    beta = n + A - alpha
    p = (alpha + beta) / (alpha + beta + M)
    risk, alone = by_sum(1.0, alpha, beta, M)
    return (risk, with_prior(150, 1.0, alpha, p)), (alone, arb(p) ** arb(alpha))


def percent(pair):
    """Return how much the second is too high, with two digits."""
    excess = float(100 * (pair[1] / pair[0] - 1))
    assert excess >= 0
    return f"{excess:.2g} %"


def main():
    rows = []
    for N, samples in SIZES.items():
        for n in samples:
            risk, alone = compared(N, n)
            numbers = [f"{float(risk[1]):.4f}", percent(risk)]
            numbers += [f"{float(alone[1]):.4f}", percent(alone)]
            rows.append([f"{N:,}", f"{n:,}", *numbers])
    header = ["N", "n", "r for f = 1", "too high by", "P(F = 1)", "too high by"]
    text = f"{origin('python-flint')}.\n\n{table(header, rows, 0)}"
    publish("finite_population", text)


if __name__ == "__main__":
    sys.exit(main())
