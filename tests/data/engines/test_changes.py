"""A file that an engine reads counts as by its path; one that changes is refused."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

import riskcore
from riskcore.data.engines import base
from tests import needs

# Of ibis 12 itself, on duckdb 2.
pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
KEYS, CHANGED = ["region", "age"], "changed"


def survey(what=None):
    """Return a table; its rows, weights or keys are others if asked for."""
    rng = np.random.default_rng(4)
    columns = {
        "region": rng.integers(0, 5, 600),
        "age": rng.integers(0, 60, 600),
        "w": rng.integers(8, 80, 600) / 4.0,
    }
    if what == "weights":
        columns["w"][7] += 0.25
    if what == "keys":
        columns["age"][:5] = 77
    return pa.table(columns).slice(1 if what == "rows" else 0)


@pytest.fixture
def stored(engine, tmp_path):
    """Return a table of the engine that reads a file, and what replaces the file."""

    def put(what=None):
        # Hadoop would compare a file with a sum of it that Spark wrote.
        csv.write_csv(survey(what), tmp_path / "new")
        (tmp_path / "new").replace(tmp_path / "survey.csv")

    put()
    return engine.scan(tmp_path / "survey.csv"), put


def test_the_same_as_from_the_path(stored, tmp_path):
    asked = {"keys": KEYS, "weight": "w", "population": "weights"}
    want = riskcore.assess(tmp_path / "survey.csv", **asked)
    found = riskcore.assess(stored[0], **asked)
    lines = {"intake": want.figures["intake"]}  # of the file, which the engine reads
    assert {**found.figures, **lines} == want.figures
    np.testing.assert_array_equal(np.sort(found.cell_risk), np.sort(want.cell_risk))


@pytest.mark.parametrize("what", ["rows", "weights"])
def test_a_change_while_it_is_counted(stored, monkeypatch, what):
    data, put = stored
    weigh = base.Engine.weigh

    def then_changed(self, question):
        weighed = weigh(self, question)
        put(what)
        return weighed

    monkeypatch.setattr(base.Engine, "weigh", then_changed)
    with pytest.raises(ValueError, match=CHANGED):
        riskcore.assess(data, KEYS, "w")
    monkeypatch.undo()
    assert riskcore.assess(data, KEYS, "w").figures  # it takes further questions


@pytest.mark.parametrize("what", ["rows", "weights", "keys"])
def test_a_change_after_it_was_counted(stored, monkeypatch, what):
    data, put = stored
    monkeypatch.setattr("riskcore.data.engine_cells.MANY_CELLS", 0)
    first, second = (riskcore.assess(data, KEYS, "w") for _ in range(2))
    put(what)
    with pytest.raises(ValueError, match=CHANGED):
        first.riskiest(50)  # ten were kept
    with pytest.raises(ValueError, match=CHANGED):
        _ = second.cell_risk


@needs.engine("duckdb")
def test_a_sample_that_is_drawn_at_each_reading():
    import duckdb

    table = survey()
    data = duckdb.from_arrow(table).filter("random() < 0.5")
    with pytest.raises(ValueError, match=CHANGED):
        riskcore.assess(data, KEYS, "w")


@needs.engine("polars")
def test_a_lazy_frame_that_differs_at_each_reading():
    import polars

    rng = np.random.default_rng(1)
    data = polars.from_arrow(survey()).lazy().with_columns(
        polars.col("w").map_batches(lambda w: w * rng.uniform(0.99, 1.01))
    )  # fmt: skip
    with pytest.raises(ValueError, match=CHANGED):
        riskcore.assess(data, KEYS, "w")
