"""What records see in their windows, and the law of windows that they tell."""

import numpy as np
import pytest

from riskcore.models import CellTable, LatentClass
from riskcore.models.overdispersion import fit_overdispersion
from riskcore.models.window_overdispersion import clusters_in, seen_in_windows


def law_of(table, pi):
    """Return the law of windows whose probabilities are known."""
    return fit_overdispersion(seen_in_windows(table, lambda cells: pi[cells])[0])


def ages(shape, seed, n=6000):
    """Return records of 400 groups, whose numbers of people are gamma."""
    rng = np.random.default_rng(seed)
    groups = rng.gamma(shape, 1.0 / shape, 400) if np.isfinite(shape) else np.ones(400)
    group = rng.choice(400, n, p=groups / groups.sum())
    return {"group": group, "age": rng.integers(0, 60, n)}


def share_of_windows(table):
    windows, codes = table.matching.windows, table.codes[1]
    return (windows.high[0][codes] - windows.low[0][codes] + 1) / 60 / 400


@pytest.mark.parametrize("shape", [0.5, 2.0, 8.0])
def test_a_known_shape_is_found(shape):
    found = []
    for seed in range(4):
        table = CellTable.of(ages(shape, seed), ["group", "age"], tolerance={"age": 4})
        pi = share_of_windows(table)
        law = law_of(table, pi)
        m = table.n * np.median(pi)
        found.append(law.shape(np.array([m]))[0])
    assert np.mean(found) == pytest.approx(shape, rel=0.25)


def test_even_groups_show_no_overdispersion():
    table = CellTable.of(ages(np.inf, 3), ["group", "age"], tolerance={"age": 4})
    pi = share_of_windows(table)
    law = law_of(table, pi)
    assert law.poisson or law.shape(np.array([1.0]))[0] > 20


def test_windows_of_one_record_say_nothing():
    data = {"group": np.arange(30), "age": np.arange(30)}
    table = CellTable.of(data, ["group", "age"], tolerance={"age": 1})
    law = law_of(table, np.full(len(table), 0.01))
    assert law.poisson
    assert "no cell has two records" in law.reason


@pytest.mark.parametrize("tolerance", [{"age": 3}, {"age": 3, "group": 5}], ids=str)
def test_clusters_are_counted_once_in_a_window(tolerance):
    rng = np.random.default_rng(2)
    data = {"group": rng.integers(0, 20, 900), "age": rng.integers(0, 50, 900)}
    data["cluster"] = rng.integers(0, 60, 900)
    keys = ["group", "age"]
    table = CellTable.of(data, keys, cluster="cluster", tolerance=tolerance)
    cells = np.arange(0, len(table), 7)
    found = clusters_in(table, table.clusters, cells)
    for cell, clusters in zip(cells, found, strict=True):
        match = np.ones(900, bool)
        for key in keys:
            number = table.categories[keys.index(key)][table.codes[keys.index(key)]]
            match &= abs(data[key] - number[cell]) <= tolerance.get(key, 0)
        assert clusters == len(np.unique(data["cluster"][match]))
        assert table.frequency[cell] == match.sum()


def test_clusters_that_double_records_leave_the_shape():
    data = ages(1.0, 5, 3000)
    twice = {key: np.repeat(values, 2) for key, values in data.items()}
    twice["c"] = np.arange(6000) // 2
    keys, tolerance = ["group", "age"], {"age": 4}
    one = LatentClass.fit(CellTable.of(data, keys, tolerance=tolerance), classes=1)
    two = LatentClass.fit(
        CellTable.of(twice, keys, cluster="c", tolerance=tolerance), classes=1
    )
    naive = LatentClass.fit(CellTable.of(twice, keys, tolerance=tolerance), classes=1)

    def shape(model):
        expected = np.array([model.n / 400 / 60])
        return model.overdispersion.shape(expected)[0]

    assert shape(two) == pytest.approx(shape(one), rel=0.2)
    assert shape(naive) < 0.8 * shape(one)
