"""A file from an engine: written under a hidden name, counted again, then named."""

import os
import signal
import subprocess
import sys
import time

import narwhals.stable.v2 as nw
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import riskcore
from riskcore.data.engines.base import Engine
from riskcore.protection.result import UnsafeError
from tests import needs

from .conftest import ROOT
from .test_protect import KEYS, survey

HOW = {"weight": "w", "threshold": 0.02, "population": "weights"}
REST = ["id", "born", "income"]
pytestmark = pytest.mark.filterwarnings(
    "ignore::riskcore.protection.records.on_engine.ColumnsNotChecked",
    "ignore::riskcore.protection.result.SuppressedValueShows",
    "ignore::riskcore.assessment.cell_risk.PopulationBelowSample",
)


def test_a_file_is_the_one_of_memory_in_another_order(engine, tmp_path):
    table = survey()
    want = riskcore.protect(table, KEYS, **HOW).data
    result = riskcore.protect(engine.hold(table), KEYS, **HOW)
    orders = []
    for name in ("one.parquet", "two.parquet"):
        options = {"shuffle": True, "allow_unsafe": True}
        record = result.write(tmp_path / name, **options)
        assert record["output"]["shuffled"]
        back = pq.read_table(tmp_path / name)
        orders.append(back["id"].to_pylist())
        back = back.cast(want.schema).sort_by("id")
        assert back.to_pylist() == want.to_pylist()
    assert orders[0] != orders[1] != sorted(orders[1])
    assert len(os.listdir(tmp_path)) == 4  # two files and two records


def test_a_file_with_an_open_leak_is_refused(engine, tmp_path):
    table, path = survey(), tmp_path / "safe.PARQUET"
    result = riskcore.protect(engine.hold(table), KEYS, **HOW)
    told = "two columns together or show in the order of the records; collect"
    with pytest.raises(UnsafeError, match=told):
        result.write(path, drop=REST)
    accept = {"(order)": "drawn before", "w": "equal for all"}
    result = riskcore.protect(engine.hold(table), KEYS, accept=accept, **HOW)
    with pytest.raises(UnsafeError, match="born has no role"):
        result.write(path, drop=["id", "income"])
    with pytest.raises(TypeError, match=r"renumber: .* leave out renumber"):
        result.write(path, renumber=["id"])
    with pytest.raises(TypeError, match=r"safe\.csv.* name it \.parquet"):
        result.write(tmp_path / "safe.csv")
    assert not os.listdir(tmp_path)
    record = result.write(path, drop=[*REST, "age"])
    assert record["state"] == "safe except for 2 accepted leaks"
    assert pq.read_table(path).column_names == ["sex", "region", "w"]


def test_a_file_that_may_be_read_is_not_replaced(tmp_path):
    path = tmp_path / "in.parquet"
    pq.write_table(survey(), path)
    before = path.read_bytes()
    result = riskcore.protect(polars.scan_parquet(path), KEYS, **HOW)
    with pytest.raises(FileExistsError, match="the engine may be reading it"):
        result.write(path, overwrite=True, allow_unsafe=True)
    assert path.read_bytes() == before


def test_a_column_of_lists_is_to_be_dropped(tmp_path):
    table = survey().append_column("l", pa.array([[1]] * len(survey())))
    result = riskcore.protect(polars.LazyFrame(table), KEYS, **HOW)
    with pytest.raises(TypeError, match=r"column 'l': polars cannot .*; drop it"):
        result.write(tmp_path / "safe.parquet", allow_unsafe=True)
    assert result.write(tmp_path / "safe.parquet", allow_unsafe=True, drop=["l"])


@needs.engine("duckdb")
def test_values_that_arrow_changes_are_not_written(tmp_path):
    import duckdb

    data = duckdb.sql("SELECT range % 2 AS k, 2::UHUGEINT ** 127 AS big FROM range(9)")
    data = data.project("k, CAST(big AS UHUGEINT) AS big")
    result = riskcore.protect(data, ["k"], k=2)
    with pytest.raises(TypeError, match=r"column 'big': .* cast to VARCHAR"):
        result.write(tmp_path / "safe.parquet", allow_unsafe=True)
    assert not os.listdir(tmp_path)


def test_a_column_that_shows_what_was_blanked_is_a_leak(engine, tmp_path):
    table = survey()
    places = pa.array([f"at {one}" for one in table["region"].to_pylist()])
    table = table.append_column("place", places)
    accept = {"(order)": "drawn before", "w": "equal for all"}
    how = {**HOW, "accept": accept, "roles": {"place": "harmless"}}
    result = riskcore.protect(engine.hold(table), KEYS, **how)
    with pytest.raises(UnsafeError, match=r"'region' show in 'place'"):
        result.write(tmp_path / "safe.parquet", drop=REST)


@pytest.mark.parametrize("column", ["sex", "income", "born"])
def test_another_file_than_the_verified_one_gets_no_name(
    engine, column, tmp_path, monkeypatch
):
    roles = {"born": "harmless"}
    result = riskcore.protect(engine.hold(survey()), KEYS, roles=roles, **HOW)
    assert result.examination.leaks  # counted before
    records = Engine.records

    def damaged(self, data):
        for frame in records(self, data):
            yield frame.with_columns(nw.col(column).max())

    monkeypatch.setattr(type(result.on_engine.engine), "records", damaged)
    with pytest.raises(RuntimeError, match="nothing is returned or written"):
        result.write(tmp_path / "safe.parquet", allow_unsafe=True)
    assert not os.listdir(tmp_path)


PROGRAM = """
import sys, time, warnings
import riskcore
from riskcore.data.engines.{0}.engine import {1} as engine
from tests.data.engines import conftest
from tests.data.engines.test_protect import KEYS, survey
warnings.simplefilter("ignore")
records = engine.records
def slow(self, data):
    for frame in records(self, data):
        yield from (frame[i:i + 1] for i in range(len(frame)))
        time.sleep(60)
engine.records = slow
held = conftest.{0}().hold(survey())
riskcore.protect(held, KEYS, "w", k=2).write(sys.argv[1], allow_unsafe=True)
"""


@pytest.mark.parametrize("names", [("duckdb", "DuckDB"), ("polars", "Polars")])
def test_a_run_that_is_killed_leaves_no_file(names, tmp_path):
    path = tmp_path / "safe.parquet"
    words = [sys.executable, "-c", PROGRAM.format(*names), str(path)]
    process = subprocess.Popen(words, cwd=ROOT)
    while not any(part.stat().st_size for part in tmp_path.glob(".riskcore-*.part")):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not path.exists()
    riskcore.protect(survey(), KEYS, **HOW).write(path, allow_unsafe=True)
    assert sorted(os.listdir(tmp_path)) == [path.name, f"{path.name}.private.json"]
