"""What the sizes of categories say of their shares: the law, and the truth."""

import math

import numpy as np
import pytest
from scipy import stats

from riskcore.assessment.population import risk_by
from riskcore.models import CellTable, LatentClass, LogLinear
from riskcore.models.cell_table import ANY
from riskcore.models.shares import Shares, moments_of, over_keys, telling_keys, units_of


def by_definition(sizes, fraction):
    """Return mean and variance of the size by records, of all laws, by quadrature."""
    logs = 0.125 * np.arange(
        math.floor(math.log(min(fraction, 0.5) / 16) / 0.125),
        int(math.log(128) / 0.125) + 1,
    )
    laws = [np.exp(-0.1 * power * (logs - logs[0])) for power in range(14)]
    for spread in (0.18, 0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8):
        first = logs[0] - (spread if spread >= 1 else 0)
        for middle in np.arange(first, logs[-1] - 1e-9, spread / 2):
            laws.append(stats.norm.pdf(logs, middle, spread))
    counts = np.arange(1, 65)
    chance = stats.poisson.pmf(counts[:, None], np.exp(logs))
    total, mean, square = 0.0, 0.0, 0.0
    for law in laws:
        weights = law / law.sum() * chance  # of counts and sizes
        of_counts = weights.sum(axis=1)
        logs_of = np.log(of_counts / of_counts.sum())
        height = math.exp(sum(logs_of[int(size) - 1] for size in sizes))
        sizes_of = weights / of_counts[:, None]
        total += height
        mean = mean + height * (sizes_of * np.exp(logs)).sum(axis=1)
        square = square + height * (sizes_of * np.exp(2 * logs)).sum(axis=1)
    return mean / total, square / total / (mean / total) ** 2 - 1


@pytest.mark.parametrize("fraction", [0.01, 0.2, 1.0])
@pytest.mark.parametrize("sizes", [(9, 4, 1, 1, 1, 1), (6, 6, 5, 6), (40, 1, 2, 64)])
def test_the_size_of_a_category_by_definition(sizes, fraction):
    mean, variance = moments_of(np.array([*sizes, 0, 65], float), fraction)
    right, spread = by_definition(sizes, fraction)
    np.testing.assert_allclose(mean[1:], right, rtol=1e-6)
    np.testing.assert_allclose(variance[1:], spread, rtol=1e-5, atol=2**-30)


@pytest.mark.parametrize(
    ("law", "within"),
    [
        (lambda rng: np.full(3000, 0.8), 0.1),
        (lambda rng: rng.lognormal(-0.5, 1.0, 3000), 0.1),
        # It has a smallest size, as no law of the grid.
        (lambda rng: 200.0 * np.arange(1.0, 3001.0) ** -0.9, 0.2),
    ],
)
def test_the_mean_size_of_categories_seen_so_often(law, within):
    rng, off, expected = np.random.default_rng(3), np.zeros(4), np.zeros(4)
    for _ in range(8):
        size = law(rng)
        seen = rng.poisson(size)
        mean, _ = moments_of(seen.astype(float), 0.05)
        for records in (1, 2, 3):
            off[records] += (mean[records] - size[seen == records]).sum()
            expected[records] += size[seen == records].sum()
    assert (np.abs(off[1:]) < within * expected[1:]).all()


def test_one_category_keeps_its_share():
    rows = Shares.of(CellTable.of([np.zeros(7, int)], levels=[2]))
    assert rows.gain[0] == rows.others[0] == 1.0
    assert rows.error[0] == pytest.approx(1 / 7)


@pytest.mark.parametrize("n", [40, 500])
def test_categories_that_were_all_seen_once_tell_of_hardly_any_others(n):
    for fit in (LatentClass.fit, LogLinear.fit):
        model = fit([np.arange(n), np.arange(n) % 2], weight_sum=np.full(n, 20.0))
        assert model.tau() > 0.75 * n
    assert model.tau() > 0.9 * n or n < 500


def test_shares_by_definition():
    sizes = np.array([70, 9, 4, 1, 1, 1, 1])
    key, n, weights = np.repeat(np.arange(7), sizes), 87, np.full(87, 10.0)
    found = Shares.of(CellTable.of([key], weight_sum=weights))
    mean, variance = moments_of(sizes.astype(float), 0.1)
    assert found.gain[0] == 1.0
    assert found.error[0] == 1 / 70
    few = sizes[1:]
    assert found.gain[1:-1] == pytest.approx(mean[few] / few)
    assert found.error[1:-1] == pytest.approx(variance[few])
    # A record of a category sees the others in the share that they have.
    others = (sizes - 1) / (n - 1) / (sizes / n)
    assert found.others[:-1] == pytest.approx(others)
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
    mean, variance = moments_of(np.array(right, float), 1.0)
    found = Shares.of(table)
    assert found.gain[:-1] == pytest.approx(mean[right] / right)
    assert found.error[:-1] == pytest.approx(variance[right])
    alone = CellTable.of([key], cluster=np.arange(200))
    assert Shares.of(alone).error == pytest.approx(Shares.of(CellTable.of([key])).error)


def test_categories_that_the_strata_tell_were_all_to_be_drawn():
    """Clusters say nothing of their sizes, records do."""
    district = np.arange(300) % 20
    keys = [district, np.arange(300) % 7]
    table = CellTable.of(keys, cluster=district)
    designed = CellTable.of(keys, cluster=district, strata=district)
    assert (Shares.of(table).gain[:20] < 0.1).all()
    assert telling_keys(table) == [0]
    assert units_of(designed)[0].tolist() == [15.0] * 20
    assert units_of(designed)[1].tolist() == units_of(table)[1].tolist()
    assert (Shares.of(designed).gain[:20] > 0.9).all()
    assert telling_keys(designed) == []
    # If clusters were drawn in part, those of districts say nothing either.
    assert Shares.of(table, whole=False).gain == pytest.approx(Shares.of(designed).gain)


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
    found = [sums_over_truth(people, fraction, seed) for seed in range(6)]
    assert np.mean(found) == pytest.approx(1.0, abs=0.12)
