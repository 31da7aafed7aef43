"""Data on an engine, assessed with a model of the population."""

import numpy as np
import pyarrow as pa
import pytest

import riskcore
from riskcore.assessment.cell_risk import RECORD_COLUMNS, UNIQUE_COLUMN
from riskcore.models import KnownPopulation

# The column of weights may show what was suppressed, which is not the question here.
pytestmark = pytest.mark.filterwarnings(
    "ignore::riskcore.protection.records.on_engine.ColumnsNotChecked"
)


def survey(weights, missing=False):
    rng = np.random.default_rng(4)
    region = rng.integers(0, 5, 400)
    age = rng.poisson(2 + 2 * region).tolist()
    if missing:
        age[::9] = [None] * len(age[::9])
    noise = {
        "equal": np.full(400, 12.0),
        "noisy": 9.0 * (1 + region) * rng.lognormal(0.0, 0.5, 400),
        "whole": rng.integers(2, 70, 400).astype(float),
    }
    return pa.table({
        "id": np.arange(400), "region": region, "age": age, "w": noise[weights],
    })  # fmt: skip


@pytest.mark.parametrize("weights", ["equal", "noisy", "whole"])
def test_the_same_as_in_memory(engine, in_order, weights):
    table = survey(weights)
    want = riskcore.assess(table, ["region", "age"], "w", population="latent-class")
    data = engine.hold(table)
    found = riskcore.assess(data, ["region", "age"], "w", population="latent-class")
    assert (want.model.smoothing is None) == (weights == "equal")
    assert found.figures == want.figures
    back = in_order(engine.collect(found.records))
    for name in (*RECORD_COLUMNS[:4], UNIQUE_COLUMN):
        np.testing.assert_array_equal(back[name], want.records[name])


def test_a_model_of_drawn_cells_is_near_the_truth(engine, monkeypatch):
    rng, keys = np.random.default_rng(3), ["a", "b", "c", "d"]
    kind = rng.integers(0, 3, 60_000)
    people = {
        key: rng.poisson(1 + 3 * kind) + 9 * (kind == ord(key) - 97) for key in keys
    }
    taken = rng.choice(60_000, 8000, replace=False)
    table = {key: column[taken] for key, column in people.items()}
    table = pa.table({**table, "w": np.full(8000, 7.5)})
    truth = KnownPopulation(people, keys)
    true = riskcore.assess(table, keys, "w", population=truth)
    monkeypatch.setattr("riskcore.data.engine_cells.MANY_CELLS", 0)
    monkeypatch.setattr("riskcore.data.engine_cells.DRAWN_CELLS", 1000)
    monkeypatch.setattr("riskcore.data.engine_cells.DRAWN_RECORDS", 4000)
    for data in (engine.hold(table), table):
        found, again = (riskcore.assess(data, keys, "w").by_model for _ in range(2))
        assert 1000 < len(found.model.sample) < 0.7 * len(true.cells)
        assert found.distribution.n == pytest.approx(8000, rel=0.05)
        for name in ("expected_reidentifications", "expected_population_uniques"):
            figure = getattr(found, name)
            low, high = getattr(found, f"{name}_interval")()
            assert figure == getattr(again, name)
            assert figure == pytest.approx(getattr(true, name), rel=0.15)
            assert low < getattr(true, name) < high


def test_weights_of_records_that_lack_a_key(engine):
    table, how = survey("noisy", missing=True), {"population": "latent-class"}
    want, found = (
        riskcore.assess(data, ["region", "age"], "w", **how)
        for data in (table, engine.hold(table))
    )
    assert want.cells.shared
    assert found.model.smoothing is not None
    assert found.figures == want.figures


def test_protection_by_smoothed_weights_is_the_same(engine):
    table, keys = survey("noisy").drop(["id"]), ["region", "age"]
    how = {"threshold": 0.04, "population": "latent-class", "accept": {"*": "a test"}}
    want, found = (
        riskcore.protect(data, keys, "w", **how) for data in (table, engine.hold(table))
    )
    assert found.suppressed == want.suppressed
    assert found.protected.figures == want.protected.figures
