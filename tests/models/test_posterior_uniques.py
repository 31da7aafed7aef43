"""The law of tau against Polya's urn itself, exact sums and the published cases."""

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest

from riskcore.models import posterior_uniques
from riskcore.models.posterior_uniques import (
    tau_distribution,
    tau_interval,
    tau_mean,
    tau_variance,
)

# A, b, M, m1 of small urns; doubles that are exact fractions.
URNS = [
    (5.0, 1.0, 3, 2),
    (5.0, 1.25, 4, 3),
    (3.75, 1.25, 5, 3),  # nothing but uniques
    (2.5, 0.5, 6, 3),
    (2.0, 0.125, 4, 3),
    (1.5, 0.5, 6, 2),
    (40.0, 10.0, 4, 3),
    (0.75, 0.5, 8, 1),
    (7.0, 1.5, 7, 2),
]
# For the chain and, with more steps times states than it takes, for the integrals.
WIDE = [
    (120.0, 1.5, 40, 60), (60.5, 1.0, 300, 60), (90.0, 1.5, 2000, 60),
    (1e6, 1.25, 2_000_000, 60), (60.0, 0.99, 10**7, 60), (25.0, 0.5, 10**10, 25),
    (40.0, 1e-6, 10**6, 40), (1e9, 3.0, 10**10, 40), (3000.0, 40.0, 10_000, 60),
    (3.0, 1.0, 10**8, 3), (2.0 + 2.0**-20, 1.0, 10**9, 2),
]  # fmt: skip
# Thesis: n, N, K, alpha, m1, and formulas found for it: mean, deviation, interval.
THESIS = [
    (900_000, 3_000_000, 8640, 0.0254, 301, 87.60, 7.880, (72, 103)),
    (300_000, 1_000_000, 20_000, 0.988, 1169, 116.55, 10.24, (97, 137)),
    (30_000, 100_000, 10_000, 0.25, 2734, 650.48, 21.95, (608, 694)),
    (30_000, 100_000, 10_000, 1.97, 2131, 156.60, 11.94, (134, 180)),
]


def urn(n, N, K, alpha, m1):
    return n + K * alpha, 1 + alpha, N - n, m1


def enumerated(A, b, M, m1):
    """Return the law from all sequences of draws of Polya's urn, as fractions."""
    A, b = Fraction(A), Fraction(b)
    law = [Fraction(0)] * (m1 + 1)
    for drawn in product(range(m1 + 1), repeat=M):
        weights = [b] * m1 + [A - m1 * b]
        probability = Fraction(1)
        for ball in drawn:
            probability *= weights[ball] / sum(weights)
            weights[ball] += 1
        law[weights[:m1].count(b)] += probability
    return law


def factorial_moments(A, b, M, m1):
    """Return E[(tau)_r]/(m1)_r for r = 0, ..., m1, to the working precision."""
    A, b = mpmath.mpf(A), mpmath.mpf(b)
    ratio = mpmath.loggamma(A) - mpmath.loggamma(A + M)
    return [
        mpmath.exp(ratio + mpmath.loggamma(A + M - r * b) - mpmath.loggamma(A - r * b))
        if r * b < A
        else mpmath.mpf(0)
        for r in range(m1 + 1)
    ]


def alternating(A, b, M, m1):
    """Return the law by inclusion and exclusion, in as many bits as cancel."""
    with mpmath.workprec(500 + 4 * m1):
        moments = factorial_moments(A, b, M, m1)
        return [
            mpmath.fsum(
                (-1) ** (r - k) * math.comb(r, k) * math.comb(m1, r) * moments[r]
                for r in range(k, m1 + 1)
            )
            for k in range(m1 + 1)
        ]


# --- small urns ----------------------------------------------------------------------


@pytest.mark.parametrize("case", URNS)
def test_law_mean_and_variance_of_the_urn(case):
    exact = enumerated(*case)
    assert sum(exact) == 1
    np.testing.assert_allclose(
        tau_distribution(*case), [float(p) for p in exact], rtol=1e-14, atol=0
    )
    mean = sum(k * p for k, p in enumerate(exact))
    variance = sum((k - mean) ** 2 * p for k, p in enumerate(exact))
    assert tau_mean(*case) == pytest.approx(float(mean), rel=1e-14, abs=0)
    assert tau_variance(*case) == pytest.approx(float(variance), rel=1e-14, abs=0)


@pytest.mark.parametrize("case", URNS)
def test_the_closed_variance_is_that_of_the_urn(case, monkeypatch):
    expected = tau_variance(*case)
    monkeypatch.setattr(posterior_uniques, "_STEPS", 0)
    assert tau_variance(*case) == pytest.approx(expected, rel=1e-14, abs=0)


def test_no_record_is_unseen():
    assert tau_distribution(9.0, 1.5, 0, 4).tolist() == [0, 0, 0, 0, 1]
    assert (tau_mean(9.0, 1.5, 0, 4), tau_variance(9.0, 1.5, 0, 4)) == (4, 0)
    assert tau_interval(9.0, 1.5, 0, 4) == (4, 4)


def test_no_unique_in_the_sample():
    assert tau_distribution(9.0, 1.5, 10**9, 0).tolist() == [1]
    assert (tau_mean(1.0, 1.5, 7, 0), tau_variance(1.0, 1.5, 7, 0)) == (0, 0)
    assert tau_interval(9.0, 1.5, 10**9, 0) == (0, 0)


def test_a_single_unseen_record_hits_a_unique_or_not():
    np.testing.assert_allclose(
        tau_distribution(8.0, 1.5, 1, 4), [0, 0, 0, 0.75, 0.25], rtol=1e-15
    )
    # Nothing but uniques: one of them is hit for sure.
    assert tau_distribution(6.0, 1.5, 1, 4).tolist() == [0, 0, 0, 1, 0]
    assert tau_variance(6.0, 1.5, 1, 4) == 0


def test_uniques_of_no_weight_stay():
    case = (50.0, 1e-20, 10**6, 20)
    assert (tau_mean(*case), tau_interval(*case)) == (20, (20, 20))


def test_population_without_end():
    case = (1000.0, 1.0, 10**15, 100)
    law = tau_distribution(*case)
    assert law[0] == pytest.approx(1 - tau_mean(*case), abs=1e-15)
    assert law[1] == pytest.approx(tau_mean(*case), rel=1e-10)
    assert tau_variance(*case) == pytest.approx(tau_mean(*case), rel=1e-9)


# --- larger urns ---------------------------------------------------------------------


@pytest.mark.parametrize("case", WIDE)
def test_law_against_inclusion_and_exclusion(case):
    exact = np.array([float(p) for p in alternating(*case)])
    law = tau_distribution(*case)
    assert math.fsum(law) == pytest.approx(1, abs=1e-14)
    seen = exact > 1e-25
    np.testing.assert_allclose(law[seen], exact[seen], rtol=1e-13)
    assert (law >= 0).all()
    assert law[~seen].max(initial=0) < 2e-25


@pytest.mark.parametrize("case", WIDE)
def test_factorial_moments(case):
    law = tau_distribution(*case)
    m1 = case[-1]
    with mpmath.workprec(200):
        moments = factorial_moments(*case)
    for r in range(1, min(m1, 5) + 1):
        falling = [math.perm(k, r) / math.perm(m1, r) for k in range(m1 + 1)]
        found = math.fsum(law * np.array(falling))
        assert found == pytest.approx(float(moments[r]), rel=1e-11)


def test_chain_and_integrals_agree(monkeypatch):
    case = (3000.0, 1.5, 4000, 1000)
    by_integrals = tau_distribution(*case)
    monkeypatch.setattr(posterior_uniques, "_CHAIN", math.inf)
    by_chain = tau_distribution(*case)
    assert not np.array_equal(by_chain, by_integrals)
    np.testing.assert_allclose(by_integrals, by_chain, rtol=1e-12, atol=1e-30)


def test_chain_where_hardly_a_record_misses_the_uniques():
    # 10,000 records meet 1e7 uniques and nothing else: 10 meet one a second time.
    A, M, m1 = 1e7, 10_000, 10**7
    law = tau_distribution(A, 1.0, M, m1)[m1 - M : m1 - M + 20]
    # With b = 1: C(m1, k) M!/(A)_M [z^M] (1-z)^-(A-k) z^(m1-k).
    with mpmath.workprec(200):
        whole = mpmath.binomial(m1 + M - 1, M)
        exact = [
            mpmath.binomial(m1, k) * mpmath.binomial(M - 1, m1 - k - 1) / whole
            for k in range(m1 - M, m1 - M + 20)
        ]
    np.testing.assert_allclose(law, [float(p) for p in exact], rtol=1e-12)


def test_ewens_is_negative_hypergeometric():
    A, M, m1 = 5000.0, 10**6, 3000
    law = tau_distribution(A, 1.0, M, m1)
    with mpmath.workprec(400):
        whole = mpmath.rf(mpmath.mpf(A), M) / mpmath.factorial(M)
        for k in np.flatnonzero(law > 1e-20).tolist():
            rest = M - m1 + k
            ways = mpmath.rf(mpmath.mpf(A) - k, rest) / mpmath.factorial(rest)
            exact = mpmath.binomial(m1, k) * ways / whole
            assert law[k] == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize(
    ("case", "digits"),
    [
        ((3e6, 1.25, 2_000_000, 1000), 1e-13),
        ((1.1e8, 1.1, 10**10, 10**6), 1e-12),
        ((2e12, 1.0, 10**10, 10**6), 1e-12),
        ((1e12, 1e6, 10**6, 10**4), 1e-12),
    ],
)
def test_law_has_the_mean_and_the_variance(case, digits):
    first, law = posterior_uniques.law_of_uniques(*case)
    mean, variance = tau_mean(*case), tau_variance(*case)
    k = first + np.arange(len(law)) - mean
    assert abs(math.fsum(law * k)) < digits * math.sqrt(variance) + 2e-16 * mean
    assert math.fsum(law * k * k) == pytest.approx(variance, rel=digits)


def test_few_of_many_uniques_are_hit():
    case = (880_777.25, 2.0**-15, 3778, 880_778)
    law = tau_distribution(*case)
    hit = np.arange(case[-1], -1, -1)
    exact = -case[-1] * math.expm1(
        -math.fsum(-math.log1p(-case[1] / (case[0] + t)) for t in range(case[2]))
    )
    assert math.fsum(law * hit) == pytest.approx(exact, rel=1e-12)


def test_random_urns_have_their_law():
    rng = np.random.default_rng(5)
    for _ in range(300):
        M, m1 = int(10 ** rng.uniform(0, 10)), int(10 ** rng.uniform(0, 5))
        b = 10 ** rng.uniform(-9, 5)
        A = max(m1 * b * (1 + 10 ** rng.uniform(-12, 6)), m1 - 1 + rng.random())
        first, law = posterior_uniques.law_of_uniques(A, b, M, m1)  # or it is refused
        assert 0 <= first <= first + len(law) - 1 <= m1
        assert law.min() >= 0
        deviation = first + np.arange(len(law)) - tau_mean(A, b, M, m1)
        expected = tau_variance(A, b, M, m1)
        found = math.fsum(law * deviation**2)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-19 * m1**2)


# --- intervals -----------------------------------------------------------------------


@pytest.mark.parametrize(("n", "N", "K", "alpha", "m1", "mean", "sd", "both"), THESIS)
def test_intervals_of_the_thesis(n, N, K, alpha, m1, mean, sd, both):
    case = urn(n, N, K, alpha, m1)
    assert tau_mean(*case) == pytest.approx(mean, abs=0.005)
    assert math.sqrt(tau_variance(*case)) == pytest.approx(sd, abs=0.005)
    assert tau_interval(*case) == both


@pytest.mark.parametrize("level", [1e-9, 0.3, 0.5, 0.95, 0.999999])
@pytest.mark.parametrize("case", [*URNS, *WIDE[:3], urn(*THESIS[0][:5])])
def test_intervals_as_defined(case, level):
    law = tau_distribution(*case)
    k, m1 = np.arange(len(law)), case[-1]
    low, high = tau_interval(*case, level)
    tail = (1 - level) / 2
    assert 0 <= low <= high <= m1
    assert math.fsum(law[k < low]) <= tail * (1 + 1e-12)
    assert math.fsum(law[k <= low]) > tail * (1 - 1e-12)
    assert math.fsum(law[k > high]) <= tail * (1 + 1e-12)
    assert math.fsum(law[k >= high]) > tail * (1 - 1e-12)


def test_interval_of_a_known_law():
    # Probabilities 1/7, 4/7, 2/7.
    case = (5.0, 1.0, 3, 2)
    assert tau_interval(*case, 0.42) == (1, 1)
    assert tau_interval(*case, 0.43) == (1, 2)
    assert tau_interval(*case, 0.71) == (1, 2)
    assert tau_interval(*case, 0.72) == (0, 2)


def test_intervals_where_a_tail_is_reached_exactly():
    assert tau_distribution(8.0, 1.0, 1, 2).tolist() == [0, 0.25, 0.75]
    assert tau_interval(8.0, 1.0, 1, 2, level=0.5) == (2, 2)
    assert tau_distribution(4.0, 1.5, 1, 2).tolist() == [0, 0.75, 0.25]
    assert tau_interval(4.0, 1.5, 1, 2, level=0.5) == (1, 1)


# --- refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ((0.0, 1.0, 3, 0), "A=0.0: need a number from 2.-90 to 2.90"),
        ((math.nan, 1.0, 3, 1), "A=nan"),
        ((5.0, -1.0, 3, 1), "b=-1.0"),
        ((1e28, 1.0, 3, 1), "A=1e"),
        ((5.0, 1.0, -3, 1), "M=-3"),
        ((5.0, 1.0, 3, -1), "m1=-1"),
        ((5.0, 1.0, 2**53 + 1, 1), "M=9007199254740993"),
        ((5.0, 2.0, 3, 3), "m1=3 uniques of weight b=2.0 weigh more than A=5.0"),
        ((5.0, 0.1, 3, 7), "A=5.0: need more than m1 - 1 = 6"),
    ],
)
def test_outside_the_domain(case, message):
    for function in (tau_mean, tau_variance, tau_distribution, tau_interval):
        with pytest.raises(ValueError, match=message):
            function(*case)


def test_numbers_of_records_are_whole():
    with pytest.raises(TypeError):
        tau_mean(5.0, 1.0, 2.5, 1)
    assert tau_mean(5.0, 1.0, np.int64(3), np.int32(2)) == tau_mean(5, 1, 3, 2)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, math.nan, 95.0])
def test_levels_are_probabilities(level):
    with pytest.raises(ValueError, match="level="):
        tau_interval(5.0, 1.0, 3, 2, level)


def test_weights_that_are_equal_but_for_rounding():
    # K = n = m1: A = n + K alpha is m1 b.
    n, alpha = 49, 0.1
    assert n * (1 + alpha) > n + n * alpha
    assert tau_mean(n + n * alpha, 1 + alpha, 100, n) > 0


def test_a_law_without_its_mean_is_refused(monkeypatch):
    def spoiled(*arguments):
        arguments[-1][:] = 1.0

    monkeypatch.setattr(posterior_uniques, "walk", spoiled)
    with pytest.raises(ArithmeticError, match="the distribution has the mean"):
        tau_interval(3e6, 1.25, 2_000_000, 1000)


def test_interpreted_code_gives_the_same_bits():
    arguments = (1e6, 1.25, 2_000_000, 300, 80, 1, 3)
    compiled, interpreted = np.empty(3), np.empty(3)
    posterior_uniques.walk(*arguments, compiled)
    posterior_uniques.walk.function(*arguments, interpreted)
    assert interpreted.tolist() == compiled.tolist()
