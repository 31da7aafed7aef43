"""Data on an engine, assessed with a model of the population."""

import numpy as np
import pyarrow as pa

import riskcore
from riskcore.assessment.cell_risk import RECORD_COLUMNS, UNIQUE_COLUMN


def test_the_same_as_in_memory(engine, in_order):
    rng = np.random.default_rng(4)
    region = rng.integers(0, 5, 400)
    table = pa.table({
        "id": np.arange(400), "region": region, "age": rng.poisson(2 + 2 * region),
        "w": np.full(400, 12.0),
    })  # fmt: skip
    want = riskcore.assess(table, ["region", "age"], "w", population="latent-class")
    data = engine.hold(table)
    found = riskcore.assess(data, ["region", "age"], "w", population="latent-class")
    assert found.figures == want.figures
    back = in_order(engine.collect(found.records))
    for name in (*RECORD_COLUMNS[:4], UNIQUE_COLUMN):
        np.testing.assert_array_equal(back[name], want.records[name])
