"""Every kind of risk and of maximal fraction against its definition in mpmath."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from riskcore.intruder import (
    disclosure_risk,
    expected_disclosures,
    maximal_sampling_fraction,
    unique_fraction,
)
from riskcore.intruder.hazards import hazard_of_one

FORMS = ["hypergeometric", "binomial", "exponential"]

# Table 1 of Mokken et al., risks times 1000: columns N = 31812, 63624, 127248.
BETA, K = 0.0074057310216, 1108
SIZES = [31_812, 63_624, 127_248]
TABLE_1 = {
    (0.001, 30): [0.07, 0.03, 0.01],
    (0.001, 300): [0.65, 0.30, 0.14],
    (0.001, 1000): [2.17, 1.00, 0.46],
    (0.01, 30): [0.65, 0.30, 0.14],
    (0.01, 300): [6.49, 3.00, 1.38],
    (0.01, 1000): [21.48, 9.95, 4.59],
}


def binomial(n, N, a, f_u):
    return 1 - (1 - a * f_u / N) ** n


def exponential(n, N, a, f_u):
    return -mpmath.expm1(-n * a * f_u / N)


def hypergeometric(n, N, a, f_u):
    risk = mpmath.mpf(0)
    for i, weight_i in around(n):
        for j, weight_j in around(a * f_u):
            risk += weight_i * weight_j * (1 - avoided(i, N, j))
    return risk


def around(x):
    """The whole numbers next to x, with weights."""
    low = mpmath.floor(x)
    return [(low, 1 - (x - low)), (low + 1, x - low)] if x > low else [(x, 1)]


def avoided(n, N, j):
    """C(N-j, n)/C(N, n)."""
    if N - n - j + 1 <= 0:
        return mpmath.mpf(0)
    log = mpmath.loggamma(N - j + 1) - mpmath.loggamma(N + 1)
    log += mpmath.loggamma(N - n + 1) - mpmath.loggamma(N - n - j + 1)
    return mpmath.exp(log)


def readings(n, N, a, uniques):
    """Return what u = a uniques/N may mean: gamma functions, rounded, random."""
    u = mpmath.mpf(a) * uniques / N
    last = min(a, uniques)
    binomial = mpmath.binomial
    random = sum(
        binomial(uniques, k) * binomial(N - uniques, a - k) * (1 - avoided(n, N, k))
        for k in range(last + 1)
    ) / binomial(N, a)
    return 1 - avoided(n, N, u), 1 - avoided(n, N, mpmath.nint(u)), random


@pytest.mark.parametrize(
    ("share", "a", "gammas", "rounded", "random"),
    [
        (0.01, 300, 0.00301, 0, 0.00300),
        (0.5, 300, 0.18775, 0, 0.13948),
        (0.01, 1500, 0.01496, 0.0199, 0.01489),
        (0.5, 1500, 0.64645, 0.75, 0.52981),
    ],
)
def test_unique_acquaintances_that_are_no_whole_number(
    share, a, gammas, rounded, random
):
    """The table of notes/errata.md: the largest that keeps the expected number."""
    N, uniques = 64_000, 64
    n = int(share * N)
    R = disclosure_risk(n, N, a, uniques / N)
    found = readings(n, N, a, uniques)
    wanted = pytest.approx([gammas, rounded, random], abs=6e-6)
    assert [float(x) for x in found] == wanted
    expected = float(expected_disclosures(n, N, a, uniques / N))
    assert float(found[2]) < R <= expected * (1 + 1e-15)
    if a * uniques < N:
        assert abs(R - expected) <= 1e-15 * expected
        assert float(found[0]) > expected


REFERENCES = dict(zip(FORMS, [hypergeometric, binomial, exponential], strict=True))


@pytest.fixture(scope="module")
def settings():
    """Return n, N, a, f_u over many orders of magnitude."""
    rng = np.random.default_rng(1)
    size = 300
    N = np.floor(10 ** rng.uniform(0.5, 10, size))

    def share(decades):
        return 10 ** -rng.uniform(0, decades, size)

    def often_whole(x):
        return np.where(rng.random(size) < 0.6, np.ceil(x), x)

    n, a = often_whole(N * share(6)), often_whole(N * share(8))
    a = np.where(rng.random(size) < 0.1, N, a)
    f_u = np.where(rng.random(size) < 0.1, 1 - share(16), share(17))
    return n, N, a, np.where(rng.random(size) < 0.05, 1.0, f_u)


def exact(function, *arrays):
    with mpmath.workprec(400):
        return [
            function(*(mpmath.mpf(float(x)) for x in row))
            for row in zip(*np.broadcast_arrays(*arrays), strict=True)
        ]


@pytest.mark.parametrize("form", FORMS)
def test_risk_is_right_to_a_few_ulp(form, settings, ulps):
    found = disclosure_risk(*settings, form=form)
    wanted = exact(REFERENCES[form], *settings)
    assert max(map(ulps, found, wanted)) < 3
    assert found.min() < 1e-13
    assert found.max() == 1.0


def test_forms_have_their_order(settings):
    exponential, binomial, hypergeometric = (
        disclosure_risk(*settings, form=form) for form in reversed(FORMS)
    )
    assert np.all(exponential <= binomial * (1 + 1e-15))
    whole = settings[0] == np.floor(settings[0])
    assert np.all((binomial <= hypergeometric * (1 + 1e-15))[whole])
    expected = expected_disclosures(*settings)
    assert np.all(hypergeometric <= expected * (1 + 1e-15))


@pytest.mark.parametrize("u", [0, 1, 2, 5, 8, 12])
@pytest.mark.parametrize("n", [0, 1, 4, 9, 12])
def test_without_replacement_by_counting(n, u):
    wanted = 1 - Fraction(math.comb(12 - u, n), math.comb(12, n))
    assert disclosure_risk(n, 12, u, 1.0) == pytest.approx(float(wanted), rel=1e-15)


def test_a_mean_number_of_uniques_between_two_whole_numbers():
    # Any law of the number with this mean gives less, here the binomial one.
    n, N, a, f_u = 6, 20, 3, 0.45
    mean_risk = math.fsum(
        math.comb(a, j) * f_u**j * (1 - f_u) ** (a - j) * disclosure_risk(n, N, j, 1.0)
        for j in range(a + 1)
    )
    risk = disclosure_risk(n, N, a, f_u)
    one, two = disclosure_risk(n, N, [1, 2], 1.0)
    assert risk == pytest.approx(0.65 * one + 0.35 * two, rel=1e-15)
    assert mean_risk < risk
    half = disclosure_risk(n + 0.5, N, a, f_u)
    more = disclosure_risk(n + 1, N, a, f_u)
    assert half == pytest.approx(0.5 * risk + 0.5 * more, rel=1e-15)
    # The whole population is released: a unique acquaintance is in it, if there is one.
    assert disclosure_risk(N, N, 1, 0.03) == pytest.approx(0.03, rel=1e-15)


@pytest.mark.parametrize("form", ["binomial", "exponential"])
def test_table_1(form):
    N = np.array(SIZES)
    f_u = unique_fraction(N, K, BETA)
    assert (1000 * f_u).round(2).tolist() == [2.17, 1.00, 0.46]
    for (f, a), row in TABLE_1.items():
        risk = disclosure_risk(f * N, N, a, f_u, form=form)
        assert (1000 * risk).round(2).tolist() == row


def test_table_1_is_not_made_from_the_rounded_fraction():
    risk = disclosure_risk(318.12, 31_812, 1000, 0.00217, form="binomial")
    assert round(1000 * float(risk), 2) == 21.47


@pytest.mark.parametrize(("a", "risk"), [(1000, 0.061672), (300, 0.061143)])
def test_a_thousand_investigators(a, risk):
    ways = [(63.624, "binomial"), (64, "binomial"), (63.624, "exponential")]
    found = [disclosure_risk(n, 63_624, a, 0.001, 1000, form) for n, form in ways]
    assert [round(float(x), 6) == risk for x in found] == [True, False, False]


def test_one_investigator_of_the_illustration():
    risk = disclosure_risk(63.624, 63_624, [30, 300, 1000], 0.001, form="binomial")
    assert risk.round(5).tolist() == [0.00003, 0.0003, 0.001]


def test_what_the_binomial_form_leaves_out():
    risk = [disclosure_risk(636, 63_624, 1000, 0.001, form=form) for form in FORMS[:2]]
    assert [round(float(x), 7) for x in risk] == [0.0099962, 0.0099465]


@pytest.mark.parametrize("form", FORMS)
def test_limits(form):
    def risk(n, N, a, f_u):
        return float(disclosure_risk(n, N, a, f_u, form=form))

    assert risk(0, 10, 10, 1.0) == risk(5, 10, 0, 1.0) == risk(5, 10, 10, 0.0) == 0.0
    certain = 1.0 if form != "exponential" else 1 - math.exp(-7)
    assert risk(7, 10, 10, 1.0) == pytest.approx(certain, rel=1e-15)
    assert risk(1, 2**53, 1, 1e-300) == pytest.approx(1e-300 / 2.0**53, rel=1e-15)
    larger = risk(2.0**-190, 100, 30, 0.5) * 2.0**-20
    assert risk(2.0**-210, 100, 30, 0.5) == pytest.approx(larger, rel=1e-15)


@pytest.mark.parametrize("form", FORMS)
def test_arguments_broadcast(form):
    risk = disclosure_risk([[10], [20]], 100, [1, 2, 3], 0.5, form=form)
    assert risk.shape == (2, 3)
    assert risk[1, 2] == disclosure_risk(20, 100, 3, 0.5, form=form)
    assert disclosure_risk(np.zeros(0), 100, 1, 0.5, form=form).shape == (0,)
    assert isinstance(disclosure_risk(20, 100, 3, 0.5, form=form), float)
    assert isinstance(maximal_sampling_fraction(0.1, 100, 3, 0.5, form=form), float)


def test_expected_disclosures(settings, ulps):
    wanted = exact(lambda n, N, a, f_u: n * a * f_u / N, *settings)
    assert max(map(ulps, expected_disclosures(*settings), wanted)) < 2


def binomial_fraction(gamma, N, a, f_u):
    if a * f_u == N:
        return mpmath.mpf(0)
    return mpmath.log1p(-gamma) / (N * mpmath.log(1 - a * f_u / N))


FRACTIONS = {
    "binomial": binomial_fraction,
    "exponential": lambda gamma, N, a, f_u: -mpmath.log1p(-gamma) / (a * f_u),
    "linear": lambda gamma, N, a, f_u: gamma / (a * f_u),
}


@pytest.mark.parametrize("form", FRACTIONS)
def test_maximal_fraction_is_right_to_a_few_ulp(form, settings, ulps):
    _, *rest = settings
    gamma = 10 ** -np.random.default_rng(2).uniform(0, 12, len(rest[0]))
    found = maximal_sampling_fraction(gamma, *rest, form=form)
    assert max(map(ulps, found, exact(FRACTIONS[form], gamma, *rest))) < 3


def test_maximal_fraction_without_replacement_gives_the_risk_back(settings):
    _, N, a, f_u = settings
    gamma = 10 ** -np.random.default_rng(2).uniform(0, 12, len(N))
    f = maximal_sampling_fraction(gamma, N, a, f_u)
    whole = disclosure_risk(N, N, a, f_u)
    assert np.array_equal(np.isinf(f), whole <= gamma)
    some = np.isfinite(f)
    assert 100 < some.sum() < 290
    risk = disclosure_risk(f[some] * N[some], N[some], a[some], f_u[some])
    # Two roundings on the way there and back, and three ulp of the risk itself.
    assert abs(risk / gamma[some] - 1).max() < 9e-16


def test_maximal_fractions_have_their_order(settings):
    _, N, a, f_u = settings
    gamma = 0.01
    some = (a * f_u / N < gamma) & (disclosure_risk(N, N, a, f_u) > gamma)
    hypergeometric, binomial, exponential, linear = (
        maximal_sampling_fraction(gamma, N[some], a[some], f_u[some], form=form)
        for form in [*FORMS, "linear"]
    )
    assert some.sum() > 20
    assert np.all(linear <= hypergeometric * (1 + 1e-15))
    assert np.all(binomial <= exponential * (1 + 1e-15))
    assert np.all(linear < binomial)
    many = hypergeometric * N[some] > 50
    assert many.sum() > 20
    assert np.all(hypergeometric[many] <= binomial[many])


@pytest.mark.parametrize("form", [*FORMS, "linear"])
def test_limits_of_the_maximal_fraction(form):
    def fraction(*arguments):
        return float(maximal_sampling_fraction(*arguments, form=form))

    assert fraction(0.0, 100, 10, 0.5) == 0.0
    assert fraction(0.0, 100, 10, 0.0) == fraction(0.5, 100, 0, 0.5) == math.inf
    if form != "linear":
        assert fraction(1.0, 100, 10, 0.5) == math.inf
    assert fraction(0.3, 100, 1, 0.2) > 1.0
    one = fraction(1e-3, 63_624, 7, 1e-3)
    many = maximal_sampling_fraction(1e-3, 63_624, 7, 1e-3, 50, form=form)
    assert one / many == pytest.approx(50, rel=0.01)


def test_hazard_of_one_record_is_rounded_once():
    rng = np.random.default_rng(8)
    points = []
    for _ in range(300):
        N = float(rng.integers(2, 10**6))
        points.append((N, float(rng.integers(1, N)), float(rng.random())))
    # Next to powers of two, below which doubles are twice as dense.
    for first in -1000 * np.expm1(-(2.0 ** np.arange(-6, 3))):
        near = first + np.arange(9) * np.spacing(first)
        points += [(1000.0, a, 1.0) for a in near.tolist()]
    with mpmath.workdps(60):
        for N, a, f_u in points:
            exact = -mpmath.log1p(-mpmath.mpf(a) * f_u / N)
            found = hazard_of_one(N, a, f_u)
            assert abs(found - exact) <= 0.501 * float(np.spacing(found))
