"""Sampling designs: who is drawn, and the weights that an office makes for them."""

from typing import NamedTuple

import numpy as np

NOISE = 0.5  # standard deviation of the logarithm
TRIM = 0.9  # larger weights than this quantile are cut to it
COPIED = 0.25  # of the records of a sample with copies
CLUSTERS = 100  # a smaller size of a sample is its number of clusters


class Drawn(NamedTuple):
    """People of a population, with their weights and their clusters, if any."""

    rows: np.ndarray
    weights: np.ndarray
    cluster: np.ndarray | None = None


# --- rates of sampling, up to a factor ---------------------------------------------


def simple(people, rng):
    return np.ones(len(next(iter(people.values()))))


def strata(people, rng):
    return np.array([2.3, 1.0, 0.3])[people["PROVINCE"] % 3]


def equal_numbers(people, rng):
    """Every province has equally many records."""
    return 1.0 / np.bincount(people["PROVINCE"])[people["PROVINCE"]]


def pairs(people, rng):
    return np.where((people["PROVINCE"] % 2 == 0) ^ (people["AGE"] > 40), 0.35, 1.0)


def by_income(people, rng):
    """The upper third by income is sampled 7.5 times as often as the lower one."""
    ends = np.quantile(people["INCOME"], [1 / 3, 2 / 3])
    return np.array([0.4, 1.0, 3.0])[np.searchsorted(ends, people["INCOME"])]


def response(people, rng):
    """Older people answer more often, and those of every second province less."""
    return (0.5 + people["AGE"] / 100) * (1.0 - 0.4 * (people["PROVINCE"] % 2))


def unequal_response(people, rng):
    return strata(people, rng) * response(people, rng)


def by_education(people, rng):
    """The highest class by education answers four times as often as the lowest."""
    return 0.25 + 0.75 * people["EDUCATION"] / people["EDUCATION"].max()


# --- weights of a sample -----------------------------------------------------------


def exact(people, rates, rows, rng):
    return 1.0 / rates[rows]


def noisy(people, rates, rows, rng):
    noise = NOISE * rng.standard_normal(len(rows)) - NOISE**2 / 2
    return np.exp(noise) / rates[rows]


def household_noise(people, rates, rows, rng):
    noise = NOISE * rng.standard_normal(people["HOUSEHOLD"].max() + 1) - NOISE**2 / 2
    return np.exp(noise[people["HOUSEHOLD"][rows]]) / rates[rows]


def unadjusted(people, rates, rows, rng):
    """The office takes those who answered for a simple sample."""
    return np.full(len(rows), len(rates) / len(rows))


def adjusted_by_region(people, rates, rows, rng):
    """The office knows the age and province of all; its total is the population's."""
    group = people["AGE"] // 15 * 100 + people["PROVINCE"]
    many = np.bincount(group)
    found = np.maximum(np.bincount(group[rows], minlength=len(many)), 1)
    weights = (many / found)[group[rows]]
    return weights * (len(rates) / weights.sum())


def trimmed(people, rates, rows, rng):
    weights = noisy(people, rates, rows, rng)
    cut = np.minimum(weights, np.quantile(weights, TRIM))
    return cut * weights.sum() / cut.sum()


def raked(people, rates, rows, rng):
    weights = noisy(people, rates, rows, rng)
    margins = [people["PROVINCE"], people["AGE"] // 10, people["SEX"]]
    for _ in range(20):
        for margin in margins:
            many = np.bincount(margin)
            found = np.bincount(margin[rows], weights, len(many))
            ratio = np.divide(many, found, out=np.ones(len(many)), where=found > 0.0)
            weights = weights * ratio[margin[rows]]
    return weights


# --- samples -------------------------------------------------------------------------


def one_by_one(people, n, rng, rate=simple, weigh=exact):
    """Return a sample of about n people, drawn one by one; of n if rates are equal."""
    rates = rate(people, rng)
    rates = np.minimum(rates * (n / rates.sum()), 1.0)
    if rate is simple:
        rows = np.sort(rng.permutation(len(rates))[:n])
    else:
        rows = np.flatnonzero(rng.random(len(rates)) < rates)
    return Drawn(rows, np.maximum(weigh(people, rates, rows, rng), 1.0))


def in_clusters(people, n, rng, name, part=1.0, unit="", weigh=exact):
    """Return about n people of clusters, or n clusters: all, or a part of the units."""
    _, cluster = np.unique(people[name], return_inverse=True)
    clusters, fraction = int(cluster.max()) + 1, n / len(cluster)
    many = n if n < CLUSTERS else max(round(fraction / part * clusters), 2)
    some = np.isin(cluster, rng.permutation(clusters)[:many])
    if part < 1.0:
        _, units = np.unique(people[unit], return_inverse=True)
        some &= (rng.random(units.max() + 1) < part)[units]
    rows = np.flatnonzero(some)
    rates = np.full(len(cluster), len(rows) / len(cluster))
    weights = np.maximum(weigh(people, rates, rows, rng), 1.0)
    return Drawn(rows, weights, cluster[rows])


def one_of_household(people, n, rng):
    """Return one person from each of n households, as many surveys of adults do."""
    _, household, size = np.unique(
        people["HOUSEHOLD"], return_inverse=True, return_counts=True
    )
    order = rng.permutation(len(household))
    households, first = np.unique(household[order], return_index=True)
    some = rng.permutation(len(households))[:n]
    rows = np.sort(order[first[some]])
    return Drawn(rows, size[household[rows]] * (len(size) / n))


def with_copies(people, n, rng):
    """Return n people, of whom a quarter have their keys copied from others."""
    rows, weights, _ = one_by_one(people, n, rng)
    some = rng.random(n) < COPIED
    rows[some] = rows[rng.integers(0, n, int(some.sum()))]
    return Drawn(rows, weights)


def quota(people, n, rng, easy="EDUCATION"):
    """Return n people by quotas of sex and age, of whom some are easier to reach."""
    _, group = np.unique(
        people["AGE"] // 15 * 2 + people["SEX"] % 2, return_inverse=True
    )
    reach = 1.0 + 2.0 * (people[easy] % 3)
    late = rng.exponential(size=len(group)) / reach
    order = np.lexsort((late, group))
    many = np.bincount(group)
    rank = np.empty(len(group), int)
    rank[order] = np.arange(len(group)) - np.repeat(np.cumsum(many) - many, many)
    rows = np.flatnonzero(rank < np.round(n / len(group) * many)[group])
    return Drawn(rows, np.full(len(rows), len(group) / len(rows)))
