"""The law of windows around records: its likelihood, and what it finds."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import nbinom

from riskcore.models import CellTable, LatentClass
from riskcore.models.window_overdispersion import (
    Windows,
    clusters_in,
    fit_in_windows,
)


def windows(seed=1, n=400):
    rng = np.random.default_rng(seed)
    f = rng.integers(1, 30, n).astype(float)
    return Windows(rng.gamma(2.0, 3.0, n), f, rng.integers(1, 4, n).astype(float))


def test_the_likelihood_is_that_of_a_record_drawn_from_the_population():
    """P(f) of a record is f times that of a cell, a negative binomial law."""
    some = windows()
    each = some.m**0.5
    f = np.arange(1, 60.0)
    heights = []
    for a in (0.3, 1.0, 8.0, 1e6):
        t = a * each
        law = some.f * nbinom.pmf(some.f, t, t / (t + some.m)) / some.m
        # Without (f-1)!, which does not depend on the shape.
        logs = np.log(law) + [np.log(f[: int(x) - 1]).sum() for x in some.f]
        heights.append((some.r * logs).sum())
        assert some.height(a, each) == pytest.approx(heights[-1], rel=1e-9)
    assert some.height(1e12, each) == pytest.approx(some.poisson(), rel=1e-9)


@pytest.mark.parametrize("a", [0.01, 0.7, 5.0, 300.0])
@pytest.mark.parametrize("b", [0.0, 0.5, 1.0])
def test_the_slope_is_the_derivative(a, b):
    some = windows()
    each = some.m**b
    slope = approx_fprime([np.log(a)], lambda x: some.height(np.exp(x[0]), each), 1e-6)
    assert some.slope(a, each) == pytest.approx(slope[0], rel=1e-4, abs=1e-3)


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
        law = fit_in_windows(table, lambda cells, pi=pi: pi[cells], "power")
        m = table.n * np.median(pi)
        found.append(law.shape(np.array([m]))[0])
    assert np.mean(found) == pytest.approx(shape, rel=0.25)


def test_even_groups_show_no_overdispersion():
    table = CellTable.of(ages(np.inf, 3), ["group", "age"], tolerance={"age": 4})
    pi = share_of_windows(table)
    law = fit_in_windows(table, lambda cells: pi[cells], "power")
    assert law.poisson or law.shape(np.array([1.0]))[0] > 20
    assert fit_in_windows(table, lambda cells: pi[cells], "none").kind == "none"


def test_windows_of_one_record_say_nothing():
    data = {"group": np.arange(30), "age": np.arange(30)}
    table = CellTable.of(data, ["group", "age"], tolerance={"age": 1})
    law = fit_in_windows(table, lambda cells: np.full(len(cells), 0.01))
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
