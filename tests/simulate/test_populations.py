import math
from collections import Counter
from itertools import product

import numpy as np
import pytest

from riskcore.simulate import (
    design_weights,
    microdata,
    pitman_population,
    populations,
    sample,
    uniques,
    zipf_population,
)
from riskcore.simulate import dirichlet_multinomial_population as dirichlet
from tests import thin


def rng(seed=1):
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def survey():
    return microdata(100_000, rng())


def firsts(survey):
    return np.flatnonzero(survey["PERSON"] == 1)


def test_columns(survey):
    assert list(survey) == [
        "HOUSEHOLD", "PERSON", "REGION", "HHSIZE", "SEX", "AGE", "MARSTAT",
        "EDUCATION", "CITIZENSHIP", "INCOME", "WEIGHT",
    ]  # fmt: skip
    assert {len(column) for column in survey.values()} <= set(range(100_000, 100_008))
    assert len({len(column) for column in survey.values()}) == 1
    kinds = {name: column.dtype.name for name, column in survey.items()}
    assert kinds.pop("WEIGHT") == "float64"
    assert set(kinds.values()) == {"int64"}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("SEX", range(1, 3)),
        ("AGE", range(100)),
        ("MARSTAT", range(1, 5)),
        ("EDUCATION", range(6)),
        ("HHSIZE", range(1, 9)),
        ("CITIZENSHIP", range(1, 61)),
    ],
)
def test_every_category_occurs_and_no_other(survey, name, values):
    assert set(survey[name].tolist()) == set(values)


def test_region_codes_are_hierarchical_with_zipf_sizes(survey):
    province, municipality = np.divmod(survey["REGION"], 100)
    assert set(province.tolist()) == set(range(1, 13))
    assert set(municipality.tolist()) == set(range(1, 41))
    persons = np.bincount(survey["REGION"], weights=survey["WEIGHT"])
    assert persons[101] / persons[102] == pytest.approx(2, rel=0.1)
    assert persons[101] / persons[110] == pytest.approx(10, rel=0.2)


def test_households_are_whole(survey):
    household, size = survey["HOUSEHOLD"], survey["HHSIZE"]
    first = firsts(survey)
    assert np.array_equal(household[first], np.arange(1, len(first) + 1))
    assert np.array_equal(np.bincount(household)[household], size)
    person = np.arange(len(household)) - first[household - 1] + 1
    assert np.array_equal(survey["PERSON"], person)
    for shared in ("REGION", "HHSIZE", "WEIGHT"):
        assert np.array_equal(survey[shared], survey[shared][first][household - 1])


def test_weights(survey):
    weight = survey["WEIGHT"]
    assert weight.min() >= 1.0
    assert weight.sum() == pytest.approx(100 * len(weight), rel=1e-5)
    assert 0.2 < weight.std() / weight.mean() < 1.0


@pytest.mark.parametrize("fraction", [1e-6, 0.5, 0.99, 1.0])
def test_sampling_fraction(fraction):
    weight = microdata(3000, rng(), fraction)["WEIGHT"]
    assert weight.min() >= 1.0
    assert weight.sum() == pytest.approx(len(weight) / fraction, rel=1e-3)
    assert (fraction < 1.0) == (weight.max() > 1.0)


def test_ages_and_families_are_plausible(survey):
    age, person = survey["AGE"], survey["PERSON"]
    status, head = survey["MARSTAT"], firsts(survey)
    share = np.bincount(age // 10, minlength=10) / len(age)
    assert share[:6].min() > 0.09
    assert share[:6].max() < 0.18
    assert 0.13 < share[7:].sum() / share[:7].sum() < 0.2
    assert np.all(np.diff(share[6:]) < 0)
    assert age[head].min() >= 18
    assert np.all(status[age < 18] == 1)
    # Third and later members are children of the first.
    later = person >= 3
    gap = age[head][survey["HOUSEHOLD"] - 1][later] - age[later]
    assert gap.min() >= 16
    assert 0.3 < np.mean(status[age > 84] == 3) < 0.8


def test_marriage_comes_in_pairs(survey):
    married = survey["MARSTAT"] == 2
    per_household = np.bincount(survey["HOUSEHOLD"], weights=married)
    assert set(per_household.tolist()) == {0.0, 2.0}
    assert set(survey["PERSON"][married].tolist()) == {1, 2}
    head = np.flatnonzero(married & (survey["PERSON"] == 1))
    sex = survey["SEX"]
    assert np.mean(sex[head] != sex[head + 1]) == pytest.approx(0.98, abs=0.01)


def test_education_and_income_follow_age(survey):
    age, education = survey["AGE"], survey["EDUCATION"]
    assert np.all((education == 0) == (age < 6))
    assert education[age < 16].max() == 2
    assert not survey["INCOME"][age < 16].any()
    adult = (age > 30) & (age < 60)
    low, high = (survey["INCOME"][adult & (education == e)].mean() for e in (1, 5))
    assert high > 2 * low


def test_the_file_has_the_shape_of_a_disclosure_problem(survey):
    keys = ("REGION", "SEX", "AGE", "MARSTAT", "CITIZENSHIP")
    combination = np.zeros(len(survey["AGE"]), dtype=np.int64)
    for name in keys:
        combination = combination * 2000 + survey[name]
    _, frequency = np.unique(combination, return_counts=True)
    uniques = np.count_nonzero(frequency == 1) / len(combination)
    assert 0.2 < uniques < 0.7
    assert frequency.max() > 10
    foreign = np.mean(survey["CITIZENSHIP"] > 1)
    assert foreign == pytest.approx(0.08, abs=0.01)


def test_same_state_same_file():
    one, two = microdata(500, rng(7)), microdata(500, rng(7))
    other = microdata(500, rng(8))
    assert all(np.array_equal(one[name], two[name]) for name in one)
    assert not np.array_equal(one["AGE"][:500], other["AGE"][:500])


@pytest.mark.parametrize("n", [1, 2, 3, 10])
@pytest.mark.parametrize("seed", range(20))
def test_small_files(n, seed):
    survey = microdata(n, rng(seed))
    records = len(survey["AGE"])
    assert n <= records <= n + 7
    assert np.array_equal(
        np.bincount(survey["HOUSEHOLD"])[survey["HOUSEHOLD"]], survey["HHSIZE"]
    )
    assert survey["WEIGHT"].sum() == pytest.approx(100 * records, abs=0.01 * records)
    assert survey["AGE"].min() >= 0


# --- populations and samples of them -------------------------------------------------


def rising(x, n):
    return math.prod(x + i for i in range(n))


def compositions(total, cells):
    """Yield every way to write the total as an ordered sum."""
    for head in product(range(total + 1), repeat=cells - 1):
        if sum(head) <= total:
            yield (*head, total - sum(head))


def multinomial(F, p):
    ways = math.factorial(sum(F)) / math.prod(map(math.factorial, F))
    return ways * math.prod(q**k for q, k in zip(p, F, strict=True))


def zipf_law(N, K, exponent):
    weights = [k**-exponent for k in range(1, K + 1)]
    p = [w / sum(weights) for w in weights]
    return {F: multinomial(F, p) for F in compositions(N, K)}


def dirichlet_multinomial_law(N, K, alpha):
    def probability(F):
        return multinomial(F, [1] * K) * math.prod(rising(alpha, k) for k in F)

    return {F: probability(F) / rising(K * alpha, N) for F in compositions(N, K)}


def pitman_law(N, theta, sigma):
    """By the rule itself, one person after the other."""
    law = {(1,): 1.0}
    for m in range(1, N):
        after = Counter()
        for F, p in law.items():
            after[(*F, 1)] += p * (theta + sigma * len(F)) / (theta + m)
            for i, k in enumerate(F):
                joined = (*F[:i], k + 1, *F[i + 1 :])
                after[joined] += p * (k - sigma) / (theta + m)
        law = after
    return law


def simple_law(F, n):
    return {
        f: math.prod(map(math.comb, F, f)) / math.comb(sum(F), n)
        for f in product(*(range(k + 1) for k in F))
        if sum(f) == n
    }


def poisson_law(F, n):
    p = n / sum(F)
    return {
        f: math.prod(
            math.comb(k, j) * p**j * (1 - p) ** (k - j)
            for k, j in zip(F, f, strict=True)
        )
        for f in product(*(range(k + 1) for k in F))
    }


def excess(draw, law, draws=8000, seed=5):
    """Return by how many standard deviations chi-square exceeds its mean."""
    assert math.isclose(math.fsum(law.values()), 1.0)
    generator = rng(seed)
    found = Counter(tuple(draw(generator).tolist()) for _ in range(draws))
    assert found.keys() <= law.keys()
    rare = [F for F, p in law.items() if draws * p < 5]
    groups = [[F] for F in law if F not in rare] + ([rare] if rare else [])
    statistic = 0.0
    for group in groups:
        expected = draws * math.fsum(law[F] for F in group)
        statistic += (sum(found[F] for F in group) - expected) ** 2 / expected
    freedom = len(groups) - 1
    return (statistic - freedom) / math.sqrt(2 * freedom)


LAWS = {zipf_population: zipf_law, dirichlet: dirichlet_multinomial_law}
OF_GIVEN_CELLS = [
    (zipf_population, (3, 3, 1.0)),
    (zipf_population, (2, 5, 2.5)),
    (zipf_population, (4, 3, 0.0)),
    (dirichlet, (4, 3, 0.3)),
    (dirichlet, (3, 5, 2.0)),
    (dirichlet, (4, 2, 1e-3)),
]


# By default up to three cells are in blocks of two, five in one tree; the rest is slow.
@pytest.mark.parametrize(
    ("population", "arguments", "cells"),
    thin.cases(
        [(*case, cells) for case in OF_GIVEN_CELLS for cells in (2, 2**16)],
        lambda _, arguments, cells: (arguments[1] <= 3) == (cells == 2),
    ),
)
def test_law_of_populations_of_given_cells(population, arguments, cells, monkeypatch):
    monkeypatch.setattr(populations, "_CELLS", cells)
    law, draws = LAWS[population](*arguments), 5000
    assert excess(lambda g: population(*arguments, g), law, draws) < 4


OF_PITMAN = [(2.0, 0.0), (0.1, 0.0), (1.5, 0.4), (0.0, 0.5), (-0.3, 0.6)]


# All five people in one call of the generator: the other parameters are slow.
@pytest.mark.parametrize(
    ("theta", "sigma", "seats"),
    thin.cases(
        [(*case, seats) for case in OF_PITMAN for seats in (2, 2**16)],
        lambda theta, sigma, seats: seats == 2 or theta == 1.5,
    ),
)
def test_law_of_pitman_populations(theta, sigma, seats, monkeypatch):
    monkeypatch.setattr(populations, "_SEATS", seats)
    law = pitman_law(5, theta, sigma)
    assert excess(lambda g: pitman_population(5, theta, sigma, g), law) < 4


@pytest.mark.parametrize("n", [0, 1, 3, 5, 6])
def test_law_of_simple_samples(n):
    F = (1, 0, 2, 3)
    law = simple_law(F, n)
    if n in {0, 6}:
        assert tuple(sample(F, n, rng())) in law
    else:
        assert excess(lambda g: sample(F, n, g), law) < 4


def test_law_of_poisson_samples():
    F = (1, 0, 2, 3)
    law = poisson_law(F, 1.5)
    assert excess(lambda g: sample(F, 1.5, g, "poisson"), law) < 4


def test_law_of_stratified_samples():
    F, strata = [1, 3, 2, 2], ["b", "a", "b", "a"]
    law = {
        (g[0], f[0], g[1], f[1]): p * q
        for f, p in simple_law((3, 2), 2).items()
        for g, q in simple_law((1, 2), 1).items()
    }
    assert excess(lambda g: sample(F, [2, 1], g, "stratified", strata), law, 5000) < 4


def test_a_wrong_law_is_noticed():
    wrong = dirichlet_multinomial_law(4, 3, 0.35)
    assert excess(lambda g: dirichlet(4, 3, 0.3, g), wrong, 5000) > 8
    assert excess(lambda g: sample([1, 2, 3], 3, g), poisson_law((1, 2, 3), 3)) > 8


def test_rare_cells_have_their_share():
    # 10^10 people: the last of 1000 cells expects 8.3 of them, all its kind 2.1e3.
    s, K, N = 3.0, 1000, 10**10
    p = np.arange(1, K + 1.0) ** -s
    p /= p.sum()
    F = zipf_population(N, K, s, rng())
    assert F.sum() == N
    deviation = (F - N * p) / np.sqrt(N * p * (1 - p))
    assert abs(deviation).max() < 5
    assert abs((deviation**2).sum() - K) < 5 * math.sqrt(2 * K)


def test_steep_laws():
    F = zipf_population(1000, 300, 1e4, rng())
    assert F[0] == 1000
    assert zipf_population(7, 1, 1.0, rng()).tolist() == [7]
    for alpha in (1e-300, 1e-12):
        F = dirichlet(1000, 3000, alpha, rng())
        assert np.count_nonzero(F) == 1


def test_moments_of_dirichlet_multinomial_populations():
    N, K, alpha = 10**6, 70_000, 0.2
    F = dirichlet(N, K, alpha, rng())
    assert F.sum() == N
    # The frequencies are nearly independent, negative binomial with odds N/(K alpha).
    empty = (1 + N / (K * alpha)) ** -alpha
    found = np.count_nonzero(F == 0)
    assert abs(found - K * empty) < 5 * math.sqrt(K * empty * (1 - empty))
    variance = N / K * (1 + N / (K * alpha))
    assert F.var() == pytest.approx(variance, rel=0.1)
    few = dirichlet(N, 1000, 1e9, rng())
    assert few.var() == pytest.approx(N / 1000, rel=5 * math.sqrt(2 / 1000))


def test_moments_of_ewens_and_pitman_populations():
    N, theta = 200_000, 30.0
    opens = theta / (theta + np.arange(N))
    spread = math.sqrt((opens * (1 - opens)).sum())
    found = [len(pitman_population(N, theta, 0.0, rng(seed))) for seed in range(20)]
    assert abs(np.mean(found) - opens.sum()) < 4 * spread / math.sqrt(20)
    assert 0.5 < np.std(found) / spread < 1.6
    # E cells = ((theta+sigma)_N/(theta+1)_(N-1) - theta)/sigma
    sigma = 0.4
    ratio = math.lgamma(theta + sigma + N) - math.lgamma(theta + sigma)
    ratio -= math.lgamma(theta + N) - math.lgamma(theta + 1)
    expected = (math.exp(ratio) - theta) / sigma
    found = [len(pitman_population(N, theta, sigma, rng(seed))) for seed in range(20)]
    assert abs(np.mean(found) - expected) < 4 * np.std(found, ddof=1) / math.sqrt(20)


def test_a_large_sample_is_a_share_of_every_cell():
    F = zipf_population(3 * 10**9, 500, 1.0, rng())
    n = 10**9
    f = sample(F, n, rng())
    assert f.sum() == n
    p = n / F.sum()
    deviation = (f - p * F) / np.sqrt(p * (1 - p) * F)
    assert abs(deviation).max() < 5
    assert abs((deviation**2).sum() - 500) < 5 * math.sqrt(1000)
    expected = sample(F, 1e6, rng(), "poisson").sum()
    assert 0 < abs(expected - 1e6) < 5e3


def test_same_state_same_population():
    for draw in (
        lambda g: zipf_population(1000, 100, 1.0, g),
        lambda g: dirichlet(1000, 100, 0.5, g),
        lambda g: pitman_population(1000, 10.0, 0.5, g),
        lambda g: sample([5, 1, 300], 50, g),
    ):
        assert draw(rng(3)).tolist() == draw(rng(3)).tolist()
        assert draw(rng(3)).tolist() != draw(rng(4)).tolist()
        assert draw(rng(3)).dtype == np.int64


def test_weights_stand_for_the_population():
    F = zipf_population(10_000, 300, 0.8, rng())
    strata = np.arange(300) % 7
    f = sample(F, 50, rng(), "stratified", strata)
    assert np.bincount(strata, f).tolist() == [50.0] * 7
    weight = design_weights(F, f, strata)
    assert np.allclose(np.bincount(strata, f * weight), np.bincount(strata, F))
    assert design_weights(F, sample(F, 400, rng())).tolist() == [25.0] * 300


def test_uniques_by_counting():
    F = zipf_population(5000, 3000, 0.7, rng())
    f = sample(F, 1500, rng())
    found = uniques(F, f)
    assert found.population == sum(k == 1 for k in F.tolist())
    assert found.sample == sum(j == 1 for j in f.tolist())
    assert found.both == [*zip(F.tolist(), f.tolist(), strict=True)].count((1, 1))
    assert 0 < found.both < min(found.sample, found.population)
