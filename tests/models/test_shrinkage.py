"""Cells' priors are pulled together by the error of their probabilities."""

from dataclasses import replace

import numpy as np
import pytest

from riskcore.assessment.population import risk_by
from riskcore.models import CellTable, LatentClass, shrinkage
from riskcore.models.cell_table import ANY


def keys_of(n, rng, sizes=(30, 12, 8, 5)):
    laws = [1.0 / np.arange(1.0, size + 1.0) for size in sizes]
    return [rng.choice(len(p), n, p=p / p.sum()) for p in laws]


def test_errors_are_the_variances_of_shares():
    table = CellTable.of([np.array([0, 0, 0, 1, 1, 2])])
    (found,) = shrinkage.category_errors(table)
    assert found == pytest.approx([0.5 / 3, (2 / 3) / 2, 5 / 6])


def test_errors_over_clusters_by_definition():
    rng = np.random.default_rng(2)
    key, cluster = rng.integers(0, 4, 90), rng.integers(0, 11, 90)
    (found,) = shrinkage.category_errors(CellTable.of([key], cluster=cluster))
    for j, one in enumerate(found):
        x, n = (np.bincount(cluster, weights, 11) for weights in (key == j, None))
        p = x.sum() / n.sum()
        assert one == pytest.approx(((x - p * n) ** 2).sum() / x.sum() ** 2)


def test_clusters_of_one_record_are_records():
    key = np.array([0, 0, 1, 2, 2, 2, 1, 0])
    alone, of_one = CellTable.of([key]), CellTable.of([key], cluster=np.arange(8))
    assert shrinkage.category_errors(of_one)[0] == pytest.approx(
        shrinkage.category_errors(alone)[0]
    )


def test_a_key_with_any_value_has_no_error():
    table = CellTable.of([np.array([0, 0, 1]), np.array([0, 1, 1])])
    errors = shrinkage.category_errors(table)
    codes = (np.array([0, ANY, ANY]), np.array([1, 1, ANY]))
    few = CellTable(codes, table.levels, np.ones(3, int), np.ones(3), table.keys)
    a, b = errors
    assert shrinkage.error_of(few, errors) == pytest.approx([a[0] + b[1], b[1], 0.0])


def test_the_true_spread_is_what_the_error_leaves():
    rng = np.random.default_rng(3)
    true, error = rng.normal(0.0, 1.5, 200_000), rng.choice([0.2, 0.9], 200_000)
    pi = np.exp(true + np.sqrt(error) * rng.normal(size=200_000) - 9.0)
    found = shrinkage.true_spread(pi, error, np.ones(200_000, int))
    assert found == pytest.approx(2.25, rel=0.02)
    # Estimates without any truth keep a part.
    assert shrinkage.true_spread(
        pi, 9.0 + error, np.ones(200_000, int)
    ) == pytest.approx(0.2 * np.log(pi).var())


def test_a_pull_is_to_one_and_leaves_what_is_certain():
    mu = np.array([0.01, 1.0, 100.0, 100.0, 0.0])
    found = mu * shrinkage.pull(mu, np.array([1.0, 1.0, 1.0, 0.0, 1.0]), 1.0)
    assert found == pytest.approx([0.1, 1.0, 10.0, 100.0, 0.0])
    assert (shrinkage.pull(mu, np.ones(5), 0.0) == 1.0).all()


@pytest.mark.parametrize("sizes", [(2, 50, 8, 4), (2, 20, 8)])
def test_cells_that_are_all_common_are_not_pulled_to_one(sizes):
    """Of keys whose categories are equally frequent all the spread of pi is error."""
    rng = np.random.default_rng(1)
    people = [rng.integers(0, size, 20_000) for size in sizes]
    cell = np.ravel_multi_index(people, sizes)
    frequency = np.bincount(cell)
    taken = rng.choice(20_000, 2_000, replace=False)
    table = CellTable.of([k[taken] for k in people], weight_sum=np.full(2_000, 10.0))
    risk = risk_by(LatentClass.fit(table, threads=1).prior())
    total = (1 / frequency[cell[taken]]).sum()
    assert (table.records * risk).sum() == pytest.approx(total, rel=0.05)


def test_the_distance_from_one_is_that_of_the_mean_over_records():
    mu, records = np.array([np.e, np.e**3, 0.0]), np.array([3, 1, 5])
    assert shrinkage.distance_from_one(mu, records) == pytest.approx(1.5**2)
    assert shrinkage.distance_from_one(np.zeros(2), records[:2]) == 0.0


def test_small_samples_no_longer_take_rare_cells_for_rarer_ones():
    """The lowest tenth of the risks was a third to one half of the truth too low."""
    ratios = np.zeros((2, 2))
    for seed in range(6):
        rng = np.random.default_rng(seed)
        people = keys_of(20_000, rng)
        cell = np.ravel_multi_index(people, (30, 12, 8, 5))
        frequency = np.bincount(cell)
        taken = rng.choice(20_000, 400, replace=False)
        table = CellTable.of(
            [key[taken] for key in people], weight_sum=np.full(400, 50.0)
        )
        model = LatentClass.fit(table, threads=1)
        places = np.ravel_multi_index(table.codes, (30, 12, 8, 5))
        for row, one in enumerate((replace(model, errors=()), model)):
            risk = risk_by(one.prior())
            low = np.argsort(risk)[: len(risk) // 5]
            f = table.records[low]
            ratios[row] += (f * risk[low]).sum(), (f / frequency[places[low]]).sum()
    before, after = ratios[:, 1] / ratios[:, 0]
    assert after < before
    assert abs(np.log(after)) < 0.6 * abs(np.log(before))


def test_many_records_leave_hardly_an_error():
    rng = np.random.default_rng(5)
    keys = keys_of(40_000, rng, (4, 3, 3))
    model = LatentClass.fit(keys, weight_sum=np.full(40_000, 9.0), classes=1)
    plain = replace(model, errors=()).prior()
    assert risk_by(model.prior()) == pytest.approx(risk_by(plain), rel=0.01)
