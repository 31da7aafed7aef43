"""Columns of any type give the same results as in memory, or an error."""

import copy
import pickle
import sqlite3
from decimal import Decimal
from importlib import import_module

import numpy as np
import pyarrow as pa
import pytest

import riskcore
from riskcore import Recoding
from tests import needs

AS_IT_IS = riskcore.Reading(weight_scale=1)
pytestmark = pytest.mark.filterwarnings(
    "ignore::riskcore.protection.records.on_engine.ColumnsNotChecked"
)


@pytest.mark.parametrize(("digits", "scale"), [(9, 3), (20, 3), (38, 20), (38, 3)])
def test_decimal_weights_are_the_doubles_next_to_them(engine, digits, scale):
    rng = np.random.default_rng(digits + scale)
    numbers = [
        Decimal(int(rng.integers(1, 10 ** (1 + i % min(digits, 18))))).scaleb(-scale)
        for i in range(300)
    ]
    weights = pa.array(numbers, pa.decimal128(digits, scale))
    table = pa.table({"k": range(300), "w": weights})
    exact = [float(one) for one in numbers]
    assert table["w"].cast("double").to_pylist() != exact  # what Arrow makes of them
    for data in (table, engine.hold(table)):
        found = riskcore.tabulate(
            data, ["k"], "w", reading=AS_IT_IS
        ).population_frequency
        assert found.tolist() == exact


@pytest.mark.parametrize("scale", [0, 3])
def test_decimal_weights_in_memory(scale):
    numbers = [Decimal(i).scaleb(-scale) for i in (9_700, 8_100, 1, 2**53 + 1)]
    weights = pa.array(numbers, pa.decimal128(20, scale))
    table = pa.table({"k": range(4), "w": weights})
    pandas, polars = import_module("pandas"), import_module("polars")
    frame = table.to_pandas(types_mapper=pandas.ArrowDtype)
    for data in (table, frame, polars.from_arrow(table), {"k": range(4), "w": numbers}):
        found = riskcore.tabulate(
            data, ["k"], "w", reading=AS_IT_IS
        ).population_frequency
        assert found.tolist() == [float(one) for one in numbers]


def test_whole_weights_beyond_doubles(engine):
    table = pa.table({"k": [1, 2], "w": [2**53 + 1, 2**62 + 1]})
    data = engine.hold(table)
    found = riskcore.tabulate(data, ["k"], "w", reading=AS_IT_IS).population_frequency
    assert found.tolist() == [2.0**53, 2.0**62]


@needs.engine("duckdb")
def test_sums_of_128_bits_on_duckdb():
    duckdb = import_module("duckdb")
    connection = duckdb.connect()
    connection.execute("SET arrow_lossless_conversion = true")
    data = connection.sql("SELECT range % 2 AS k, 2.5 AS w FROM range(5)")
    result = riskcore.assess(data, ["k"], "w")
    assert result.cells.population_frequency.tolist() == [7.5, 5.0]
    assert riskcore.protect(data, ["k"], "w", threshold=0.1).suppressed == {"k": 5}


def test_columns_without_an_order_are_refused(engine):
    table = pa.table({"k": [[1], [2], [1]], "s": [{"a": 1}, {"a": 2}, {"a": 1}]})
    data = engine.hold(table)
    for key in ("k", "s"):
        message = f"'{key}': values of type .* have no order"
        with pytest.raises(TypeError, match=message):
            riskcore.assess(data, [key])
        with pytest.raises(TypeError, match=message):
            riskcore.protect(data, [key], threshold=0.5)


def test_objects_on_polars_are_refused():
    polars = import_module("polars")
    data = polars.LazyFrame({"k": polars.Series(["a", "b"], dtype=polars.Object)})
    with pytest.raises(TypeError, match="'k': a lazy frame of polars cannot join"):
        riskcore.assess(data, ["k"])


@needs.engine("ibis")
@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option is deprecated")
def test_backends_of_ibis_that_lack_operations(tmp_path):
    ibis, polars = import_module("ibis"), import_module("polars")
    with sqlite3.connect(tmp_path / "s.db") as connection:
        connection.execute("CREATE TABLE s (k INTEGER, w INTEGER)")
        connection.execute("INSERT INTO s VALUES (1, 5), (2, 7)")
    connection.close()
    backend = ibis.sqlite.connect(tmp_path / "s.db")
    with pytest.raises(
        TypeError, match=r"ibis on sqlite: .* with weights too, .* backend"
    ):
        riskcore.assess(backend.table("s"), ["k"], "w")
    assert riskcore.assess(backend.table("s"), ["k"]).max_risk == 1
    backend = ibis.polars.connect()
    backend.create_table("s", polars.DataFrame({"k": [1, 2]}))
    result = riskcore.assess(backend.table("s"), ["k"])
    with pytest.raises(TypeError, match=r"ibis on polars .* polars itself"):
        _ = result.records


def test_copies_and_pickles(tmp_path):
    """Of what can be pickled itself: a relation of duckdb cannot."""
    polars = import_module("polars")
    data = polars.LazyFrame({"k": [1, 2, 2]})
    result = riskcore.assess(data, ["k"])
    for make in (copy.copy, lambda one: pickle.loads(pickle.dumps(one))):
        again = make(result)
        assert again.figures == result.figures
        assert not again.cells.collected
        assert len(make(again.cells)) == 2
        assert again.cells.sample_frequency.tolist() == [1, 2]
        assert again.records.collect().equals(result.records.collect())
    safe = riskcore.protect(data, ["k"], threshold=0.7)
    again = pickle.loads(pickle.dumps(safe))
    assert again.suppressed == {"k": 1}
    assert again.data.collect().equals(safe.data.collect())


def test_frames_of_narwhals(engine):
    nw = import_module("narwhals.stable.v2")
    data = engine.hold(pa.table({"k": [1, 2, 2]}))
    wrapped = nw.from_native(data, pass_through=True)
    result = riskcore.assess(wrapped, ["k"])
    assert result.figures == riskcore.assess(data, ["k"]).figures
    assert isinstance(result.records, engine.kind)
    for threshold in (0.7, 1):  # one value is blanked, or none
        safe = riskcore.protect(wrapped, ["k"], threshold=threshold)
        assert isinstance(safe.data, engine.kind)


def test_dictionaries_of_arrow_in_pandas_with_a_null():
    pandas = import_module("pandas")
    kind = pandas.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
    values = ["a", "b", None, "a", "a"]
    frame = pandas.DataFrame({"k": pandas.Series(values, dtype=kind)})
    found = riskcore.protect(frame, ["k"], threshold=0.9, missing="category")
    assert found.suppressed == {"k": 1}
    back = found.data
    assert [None if one is pandas.NA else one for one in back["k"]] == [
        "a", None, None, "a", "a",
    ]  # fmt: skip
    assert back["k"].dtype == kind


def test_recoded_columns_lose_notes_that_list_codes():
    codes = {"k": [1, 1, 2, 7654321]}
    notes = {"codes": "1, 2, 7654321"}
    schema = pa.schema([pa.field("k", pa.int64(), metadata=notes)], metadata=notes)
    table = pa.table(codes, schema=schema)
    frame = import_module("pandas").DataFrame(codes)
    frame.attrs = notes
    how = {"threshold": 0.9, "recodings": {"k": Recoding.mapping({7654321: 2})}}
    found = riskcore.protect(table, ["k"], **how)
    assert not found.suppressed["k"]
    assert found.data.schema.metadata is None
    assert found.data.schema.field("k").metadata is None
    assert table.schema.metadata
    assert riskcore.protect(frame, ["k"], **how).data.attrs == {}
    assert frame.attrs == notes
