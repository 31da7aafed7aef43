"""Keys that follow from others are one key: what ties, the sums, and the truth."""

import itertools
import math

import numpy as np
import pytest

from riskcore.assessment.population import risk_by
from riskcore.models import CellTable, LatentClass, tied_keys
from riskcore.models.cell_table import ANY
from riskcore.models.tied_keys import TiedKeys, tie


def by_definition(first, second):
    """Return 1 - log A/log B by all pairs of records."""
    n, shared = len(first), []
    for i in range(n):
        mates = [
            second[j] == second[i] for j in range(n) if j != i and first[j] == first[i]
        ]
        if mates:
            shared.append(np.mean(mates))
    pairs = np.mean(
        [second[i] == second[j] for i, j in itertools.combinations(range(n), 2)]
    )
    return 1.0 - math.log(np.mean(shared)) / math.log(pairs)


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.5, 1.0])
def test_a_tie_by_definition(noise):
    rng = np.random.default_rng(1)
    first = rng.integers(0, 25, 150)
    second = np.where(rng.random(150) < noise, rng.integers(0, 6, 150), first // 5)
    right = by_definition(first, second)
    assert tie(first, second, np.ones(150, int)) == pytest.approx(right, rel=1e-12)
    pairs, records = np.unique([first, second], axis=1, return_counts=True)
    assert tie(*pairs, records) == pytest.approx(right, rel=1e-12)
    assert (right == 1.0) == (noise == 0.0)


def groups(*keys):
    """Return the groups of keys of a sample, or None without ties."""
    table = CellTable.of([np.unique(key, return_inverse=True)[1] for key in keys])
    found = TiedKeys.of(table, table)
    return found and found.groups


@pytest.mark.parametrize("n", [60, 500, 5000])
def test_keys_that_do_not_follow_are_not_tied(n):
    rng = np.random.default_rng(n)
    age = rng.integers(0, 90, n)
    work = np.where(age < 15, 0, rng.integers(0, 12, n))
    area, marital = (
        rng.zipf(1.4, n) % 3000,
        np.where(age < 18, 0, rng.integers(0, 5, n)),
    )
    assert groups(age, work, area, marital, rng.integers(0, 2, n)) is None


@pytest.mark.parametrize("exceptions", [0.0, 0.02])
@pytest.mark.parametrize("n", [300, 5000])
def test_keys_that_follow_nearly_always_are_tied(n, exceptions):
    rng = np.random.default_rng(n)
    commune, age = rng.integers(0, 100, n), rng.integers(0, 90, n)
    odd = rng.random(n) < exceptions
    province = np.where(odd, rng.integers(0, 10, n), commune // 10)
    region = province // 3
    assert groups(commune, rng.integers(0, 4, n), province) == ((0, 2), (1,))
    assert groups(region, province, age, commune) == ((0, 1, 3), (2,))
    assert groups(age, 2026 - age - odd, commune) == ((0, 1), (2,))


def test_records_alone_in_their_categories_tie_nothing():
    rng = np.random.default_rng(1)
    name, sex = np.arange(400), rng.integers(0, 2, 400)
    assert groups(name, sex) is None
    assert groups(np.append(name, [0, 1]), np.append(sex, sex[:2])) is None
    for n, tied in ((28, None), (32, ((0, 1),))):  # from 30 records on
        assert groups(np.arange(n) // 2, np.arange(n) // 8) == tied
    assert groups(sex, np.zeros(400, int)) is None  # one category follows from all


@pytest.fixture(scope="module")
def model():
    """A model of communes, provinces and two more keys."""
    rng = np.random.default_rng(3)
    commune, kind = rng.integers(0, 30, 900), rng.integers(0, 2, 900)
    province = np.where(rng.random(900) < 0.02, rng.integers(0, 5, 900), commune // 6)
    more = [rng.binomial(3, 0.2 + 0.5 * kind), rng.binomial(2, 0.7 - 0.4 * kind)]
    keys = [province, more[0], commune, more[1]]
    return LatentClass.fit(keys, weight_sum=np.full(900, 20.0), classes=2)


def combinations(model, kept):
    """Return a table of the combinations of some keys that the sample has."""
    codes = [model.sample.codes[key] for key in kept]
    there = dict(zip(kept, np.unique(np.stack(codes), axis=1), strict=True))
    size = len(there[kept[0]])
    table = tuple(there.get(key, np.full(size, ANY)) for key in range(4))
    ones = np.ones(size, int)
    return CellTable(table, model.sample.levels, ones, 20.0 * ones, (0, 1, 2, 3))


@pytest.mark.parametrize(
    "kept", [(0,), (2,), (0, 2), (1,), (0, 1), (2, 3), (0, 1, 3), (1, 2, 3)], ids=str
)
def test_patterns_with_any_value_are_sums(model, kept):
    """Sums over all combinations of the province and commune that were seen."""
    assert model.tied.groups == ((0, 2), (1,), (3,))
    pairs = np.unique(np.stack([model.sample.codes[key] for key in (0, 2)]), axis=1)
    rows = [
        (p, a, c, b) for (p, c), a, b in itertools.product(pairs.T, range(4), range(3))
    ]
    every = np.array(rows).T
    ones = np.ones(len(rows), int)
    whole = CellTable(tuple(every), model.sample.levels, ones, ones * 1.0, (0, 1, 2, 3))
    pi = model.probability(whole)
    assert pi.sum() == pytest.approx(1.0, rel=1e-9)
    table = combinations(model, kept)
    squares = model._squares(table)
    for i, found in enumerate(model.probability(table)):
        match = np.all([every[key] == table.codes[key][i] for key in kept], axis=0)
        assert found == pytest.approx(pi[match].sum(), rel=1e-9)
        assert squares[i] == pytest.approx((pi[match] ** 2).sum(), rel=1e-9)


def test_shares_of_sums_weigh_by_records(model):
    counts = model.tied.table.counts
    table = combinations(model, (0,))
    known, shares = model._laws_of(table)
    province = model.tied.parts[0][0]
    own = slice(0, len(province))
    for i, code in enumerate(table.codes[0]):
        match = province == code
        weight = counts[own][match]
        assert shares.gain[known.positions[i]].prod() == pytest.approx(
            np.average(model.shares.gain[own][match], weights=weight)
        )
        error = 1.0 / (1.0 / model.shares.error[own][match]).sum()
        assert shares.error_of(known)[i] == pytest.approx(error)


def test_an_unseen_combination_has_half_a_record(model):
    codes = tuple(np.array([one]) for one in (4, 1, 0, 1))  # of another province
    cells = CellTable(
        codes, model.sample.levels, np.array([1]), np.array([20.0]), (0, 1, 2, 3)
    )
    assert ((model.tied.parts[0][0] == 4) & (model.tied.parts[0][1] == 0)).sum() == 0
    share, profiles = model.mixture.share, model.profiles
    right = 0.5 / model.n * (share * profiles[1][1] * profiles[2][1]).sum()
    assert model.probability(cells) == pytest.approx([right])
    assert np.isfinite(risk_by(model.prior(cells))).all()


def test_cells_of_another_file_are_found_by_their_values():
    """As an audit does, whose release has other cells than the sample."""
    rng = np.random.default_rng(5)
    commune = rng.integers(0, 20, 400)
    data = {
        "province": commune // 5,
        "age": rng.integers(0, 9, 400),
        "commune": commune,
    }
    keys = ["province", "age", "commune"]
    model = LatentClass.fit(data, keys, classes=2)
    order = rng.permutation(400)[:90]
    part = CellTable.of({key: data[key][order] for key in keys}, keys)
    place = {
        tuple(int(c[i]) for c in model.sample.codes): i
        for i in range(len(model.sample))
    }
    coded = part.coded_as(model.sample)
    rows = [place[tuple(int(c[i]) for c in coded.codes)] for i in range(len(part))]
    assert model.probability(part) == pytest.approx(model.probability()[rows])


def people(seed):
    """Return the keys of people: communes of provinces, ages and sexes."""
    rng = np.random.default_rng([3, seed])
    size = rng.lognormal(0.0, 0.8, 200)
    commune = rng.choice(200, 40_000, p=size / size.sum())
    kind = rng.random(40_000) < rng.random(200)[commune]
    age = np.where(kind, rng.integers(0, 50, 40_000), rng.integers(40, 90, 40_000)) // 5
    return [commune, commune // 10, age, rng.integers(0, 2, 40_000)]


def sum_over_truth(seed, fraction, tied=True):
    keys = people(seed)
    cell = np.unique(np.stack(keys), axis=1, return_inverse=True)[1].ravel()
    taken = np.random.default_rng(seed).choice(40_000, int(fraction * 40_000), False)
    sample = [np.unique(key[taken], return_inverse=True)[1] for key in keys]
    model = LatentClass.fit(sample, weight_sum=np.full(len(taken), 1 / fraction))
    assert (model.tied is not None) == tied
    risk = model.sample.records @ risk_by(model.prior())
    return risk / (1.0 / np.bincount(cell)[cell[taken]]).sum()


@pytest.mark.parametrize("fraction", [0.02, 0.05, 0.2])
def test_communes_and_provinces_against_the_truth(fraction, monkeypatch):
    found = [sum_over_truth(seed, fraction) for seed in range(2)]
    assert np.mean(found) == pytest.approx(1.0, abs=0.1)
    if fraction < 0.1:  # else the classes have records enough for both
        monkeypatch.setattr(tied_keys, "_TIED", 2.0)
        apart = [sum_over_truth(seed, fraction, tied=False) for seed in range(2)]
        assert np.mean(apart) > 1.1


def test_ties_serve_samples_of_clusters_and_their_jackknife():
    rng = np.random.default_rng(4)
    cluster = rng.integers(0, 40, 800)
    commune = (cluster + rng.integers(0, 20, 800)) % 60
    keys = [commune, commune // 6, rng.integers(0, 12, 800), rng.integers(0, 3, 800)]
    how = {"classes": 2, "weight_sum": np.full(800, 9.0), "cluster": cluster}
    model = LatentClass.fit(keys, **how)
    assert model.tied.groups[0] == (0, 1)
    low, high = model.tau_interval(groups=5)
    assert low < model.tau() < high
    alone = LatentClass.fit([keys[0], *keys[2:]], **how)
    assert model.tau() == pytest.approx(alone.tau(), rel=1e-9)
