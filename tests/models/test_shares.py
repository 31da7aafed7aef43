"""What the sizes of categories say of their shares: the law, and the truth."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln

from riskcore.assessment.population import risk_by
from riskcore.models import CellTable, LatentClass, LogLinear
from riskcore.models.cell_table import ANY
from riskcore.models.shares import ShareLaw, Shares, over_keys, units_of


def height(theta, sigma, sizes):
    """Return the log-likelihood of Pitman's law, by definition."""
    n, later = int(sizes.sum()), np.arange(1, len(sizes))
    opened = np.log(theta + later * sigma).sum()
    own = sum(np.log(np.arange(1, size) - sigma).sum() for size in sizes)
    return opened + own - np.log(theta + np.arange(1, n)).sum()


def likeliest(sizes):
    """Return the largest likelihood for sigma of either sign, and its sigma."""
    u, found = len(sizes), []

    def above(x):
        return math.exp(min(x[0], 50.0)), 1.0 / (1.0 + math.exp(-x[1]))

    def below(x):
        size = math.exp(min(x[1], 9.0))
        return size * (u + math.exp(min(x[0], 50.0))), -size

    for start in ((0.0, 0.0), (3.0, -2.0), (-1.0, 2.0)):
        for law in (above, below):
            if law is above:  # theta + sigma > 0

                def of(x):
                    theta, sigma = above(x)
                    return theta - sigma, sigma
            else:
                of = below
            best = minimize(
                lambda x, of=of: -height(*of(x), sizes), start, method="Nelder-Mead",
                options={"xatol": 1e-6, "fatol": 1e-9, "maxiter": 4000},
            )  # fmt: skip
            found.append((-best.fun, of(best.x)[1]))
    return max(found)


def seats(theta, sigma, n, seed):
    """Return the sizes of the categories of n records that Pitman's law draws."""
    rng, sizes = np.random.default_rng(seed), [1.0]
    for one in range(1, n):
        chance = np.append(np.array(sizes) - sigma, theta + len(sizes) * sigma)
        at = rng.choice(len(chance), p=chance / (one + theta))
        sizes = [*sizes, 1.0] if at == len(sizes) else sizes
        sizes[at] += at < len(chance) - 1
    return np.array(sizes)


@pytest.mark.parametrize(
    ("theta", "sigma"), [(3.0, 0.6), (1.0, 0.3), (8.0, 0.0), (30.0, -1.5), (24.0, -4.0)]
)
def test_the_law_is_the_likeliest(theta, sigma):
    sizes = seats(theta, sigma, 300, 1)
    law = ShareLaw.of(np.append(sizes, 0.0))
    top, at = likeliest(sizes)
    assert height(*law, sizes) == pytest.approx(top, abs=0.01)
    assert law.sigma == pytest.approx(at, abs=0.05 * max(1.0, -at))


def test_equal_sizes_are_of_categories_of_equal_shares():
    law = ShareLaw.of(np.full(40, 2.0))
    assert law.sigma < -1000.0
    # Of K equal categories 80 records meet 40 as often as is likeliest.
    K = law.theta / -law.sigma
    seen = [
        gammaln(k + 1) - gammaln(k - 39) - 80 * np.log(k) for k in (K - 1, K, K + 1)
    ]
    assert max(seen) == seen[1]
    rows = Shares.of(CellTable.of([np.arange(80) % 40]))
    assert rows.gain[:-1] == pytest.approx(40 / K, rel=1e-3)
    assert (rows.error < 1e-3).all()


def test_one_category_keeps_its_share():
    assert ShareLaw.of(np.array([7.0, 0.0])) == (0.0, 0.0)
    rows = Shares.of(CellTable.of([np.zeros(7, int)], levels=[2]))
    assert rows.gain[0] == rows.others[0] == 1.0
    assert rows.error[0] == pytest.approx(1 / 7)


@pytest.mark.parametrize("n", [2, 9, 500])
def test_categories_that_were_all_seen_once_tell_of_no_others(n):
    assert ShareLaw.of(np.ones(n)) == (math.inf, 0.0)
    for fit in (LatentClass.fit, LogLinear.fit):
        model = fit([np.arange(n), np.arange(n) % 2], weight_sum=np.full(n, 20.0))
        assert model.tau() == pytest.approx(n)
    many = ShareLaw.of(np.array([1.0] * 500 + [2.0]))
    assert 1e4 < many.theta / -many.sigma < 1e6  # about n^2/2 categories


@pytest.mark.parametrize("sizes", [(9, 4, 1, 1, 1, 1), (6, 6, 5, 6), (40, 1, 2)])
def test_shares_by_definition(sizes):
    key, n = np.repeat(np.arange(len(sizes)), sizes), sum(sizes)
    found, (theta, sigma) = Shares.of(CellTable.of([key])), ShareLaw.of(np.array(sizes))
    for a, size in enumerate(sizes):
        share = (size - sigma) / (n + theta)
        assert found.gain[a] == pytest.approx(share / (size / n))
        assert found.error[a] == pytest.approx(1 / (size - sigma))
        # A record of the category sees the others as the law of the others says.
        other = max(size - 1 - sigma, 0.0) / max(n - 1 + theta, 1.0)
        assert found.others[a] == pytest.approx(other / (size / n))
    assert (found.gain[-1], found.others[-1], found.error[-1]) == (1.0, 1.0, 0.0)


def test_cells_have_the_product_of_gains_and_the_sum_of_errors():
    table = CellTable.of([np.array([0, 0, 1, 2]), np.array([0, 1, 1, 1])])
    found = Shares.of(table)
    codes = (np.array([0, ANY, ANY]), np.array([1, 1, ANY]))
    few = CellTable(codes, table.levels, np.ones(3, int), np.ones(3), table.keys)
    g, e = found.gain, found.error
    assert over_keys(g, few) == pytest.approx([g[0] * g[4], g[4], 1.0])
    assert found.error_of(few) == pytest.approx([e[0] + e[4], e[4], 0.0])


def test_the_prior_by_definition():
    """A negative binomial law with the mean and the spread of the docstring."""
    keys = [np.arange(300) % 40 // 3, np.arange(300) % 7]
    weights = np.full(300, 10.0)
    for fit in (LatentClass.fit, LogLinear.fit):
        model = fit(keys, weight_sum=weights, overdispersion=False)
        prior, shares = model.prior(), model.shares
        table = model.sample
        mean = model.n * model._prior_probability(table) * over_keys(shares.gain, table)
        assert prior.shape == pytest.approx(1.0 / shares.error_of(table))
        assert prior.shape * prior.q / prior.p == pytest.approx(9.0 * mean)
        # Of a cell with any value of all keys everything is certain.
        codes, ones = (np.array([ANY]),) * 2, np.array([1])
        cells = CellTable(codes, table.levels, ones, 10.0 * ones, (0, 1))
        assert risk_by(model.prior(cells)) == pytest.approx([1 / 2700], rel=1e-3)


def test_clusters_are_counted_in_place_of_records():
    rng = np.random.default_rng(2)
    key, cluster = rng.integers(0, 6, 200), rng.integers(0, 15, 200)
    key[cluster == 3] = 6  # a category of one cluster
    table = CellTable.of([key], cluster=cluster)
    right = [len(np.unique(cluster[key == a])) for a in range(7)]
    (units,) = units_of(table)
    assert units.tolist() == right
    theta, sigma = ShareLaw.of(np.array(right, float))
    gain = [(m - sigma) / (sum(right) + theta) * sum(right) / m for m in right]
    found = Shares.of(table)
    assert found.gain[:-1] == pytest.approx(np.maximum(gain, 0.5))
    assert found.error[:-1] == pytest.approx(1.0 / (units - sigma))
    alone = CellTable.of([key], cluster=np.arange(200))
    assert Shares.of(alone).error == pytest.approx(Shares.of(CellTable.of([key])).error)


def test_a_key_that_tells_the_cluster_keeps_half_of_its_shares():
    """Its other people may live in the cluster that was drawn."""
    cluster = np.arange(300) % 20
    table = CellTable.of([cluster, np.arange(300) % 7], cluster=cluster)
    assert (Shares.of(table).gain[:20] == 0.5).all()


# --- against the truth ---


def areas(rng):
    """Thousands of areas of very unequal size, each with its own education."""
    size = rng.lognormal(0.0, 1.2, 2500)
    area = rng.choice(2500, 40_000, p=size / size.sum())
    mix = rng.dirichlet(6.0 * np.array([0.1, 0.3, 0.25, 0.2, 0.1, 0.05]), 2500)
    education = (rng.random(40_000)[:, None] > np.cumsum(mix, axis=1)[area]).sum(axis=1)
    return [area, np.minimum(education, 5)]


def communes(rng):
    """Communes of equal size."""
    education = np.minimum(rng.geometric(0.35, 40_000), 8)
    return [rng.permutation(40_000) % 500, education]


def zipf(rng):
    """A key of many categories with a long tail."""
    share = np.arange(1.0, 20_001.0) ** -1.35
    key = rng.choice(20_000, 40_000, p=share / share.sum())
    return [key, rng.integers(0, 2, 40_000), rng.integers(0, 8, 40_000)]


def sums_over_truth(people, fraction, seed):
    """Return the sum of the risks of a sample over the truth."""
    rng = np.random.default_rng([7, seed])
    keys = people(rng)
    cell = np.unique(np.stack(keys), axis=1, return_inverse=True)[1].ravel()
    taken = rng.choice(len(cell), round(fraction * len(cell)), replace=False)
    sample = [np.unique(key[taken], return_inverse=True)[1] for key in keys]
    weights = np.full(len(taken), 1.0 / fraction)
    model = LatentClass.fit(sample, weight_sum=weights, threads=1)
    risk = model.sample.records @ risk_by(model.prior())
    return risk / (1.0 / np.bincount(cell)[cell[taken]]).sum()


@pytest.mark.parametrize("fraction", [0.0125, 0.05, 0.2])
@pytest.mark.parametrize("people", [areas, communes, zipf])
def test_fine_keys_beside_few_others(people, fraction):
    found = [sums_over_truth(people, fraction, seed) for seed in range(4)]
    assert np.mean(found) == pytest.approx(1.0, abs=0.12)
