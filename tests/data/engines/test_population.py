"""Data on an engine, assessed with a model of the population."""

import numpy as np
import pyarrow as pa
import pytest

import riskcore
from riskcore.assessment.cell_risk import RECORD_COLUMNS, UNIQUE_COLUMN

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
