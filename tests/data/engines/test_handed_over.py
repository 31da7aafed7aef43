"""Data frames of dask and datasets of pyarrow give the same results as in memory."""

import copy
import datetime as dt
import sys
import warnings
from decimal import Decimal
from importlib import import_module

import numpy as np
import polars
import pyarrow as pa
import pyarrow.dataset
import pytest

import riskcore
from riskcore import Recoding
from riskcore.assessment.cell_risk import RECORD_COLUMNS
from riskcore.data.engines.registry import engine_of
from tests import needs

from .test_door import CASES
from .test_protect import KEYS, WAYS, survey, values

pytestmark = pytest.mark.filterwarnings(
    "ignore::riskcore.protection.records.on_engine.ColumnsNotChecked",
    "ignore::riskcore.protection.result.SuppressedValueShows",
    "ignore::riskcore.assessment.cell_risk.PopulationBelowSample",
)
DASK = needs.engine("dask")


def of_dataset(table):
    """Return a dataset of two pieces."""
    half = len(table) // 2 + 1
    return pa.dataset.dataset([table.slice(0, half), table.slice(half)])


def of_dask(table, partitions=3):
    """Return a data frame of dask, with an index that says nothing."""
    frames, pandas = import_module("dask.dataframe"), import_module("pandas")

    # Decimals of Python would be objects.
    def kind(one):
        return pandas.ArrowDtype(one) if pa.types.is_decimal(one) else None

    frame = table.to_pandas(date_as_object=False, types_mapper=kind)
    frame.index = [7] * len(frame)
    return frames.from_pandas(frame, npartitions=partitions, sort=False)


@pytest.fixture(params=[pytest.param(of_dask, marks=DASK), of_dataset])
def hold(request):
    """What makes data of a table, in turn."""
    return request.param


def nullable(kind, numbers):
    """Return a pandas array of a type with missing values."""
    return import_module("pandas").array(numbers, kind)


@pytest.mark.parametrize("name", [name for name in CASES if name != "spread weights"])
def test_the_same_as_in_memory(hold, name):
    columns, keys, weight, missing = CASES[name]
    table = pa.table(columns)
    want = riskcore.assess(table, keys, weight, missing=missing)
    got = riskcore.assess(hold(table), keys, weight, missing=missing)
    assert got.figures == want.figures
    assert repr(got) == repr(want)
    exact = np.testing.assert_array_equal
    exact(got.cells.records, want.cells.records)
    exact(got.cells.population_frequency, want.cells.population_frequency)
    exact(got.cell_risk, want.cell_risk)
    records = got.records
    assert isinstance(records, polars.LazyFrame)
    back = records.collect().to_arrow()
    assert back.column_names == [*columns, *RECORD_COLUMNS[:4]]
    assert back["id"].to_pylist() == table["id"].to_pylist()
    for column in RECORD_COLUMNS[:4]:
        exact(back[column].to_numpy(), want.records[column].to_numpy())


@pytest.mark.parametrize("way", ["plain", "several sets at a rate", "related recoded"])
def test_protected_as_in_memory(hold, way):
    keys, settings = WAYS[way]
    table = survey()
    settings = {"weight": "w", **settings}
    want = riskcore.protect(table, keys, **settings)
    got = riskcore.protect(hold(table), keys, **settings)
    assert got.suppressed == want.suppressed
    assert sum(want.suppressed.values()) > 0
    assert isinstance(got.data, polars.LazyFrame)
    back = got.data.collect().to_arrow()
    assert back.column_names == table.column_names

    def as_given(table):
        return table

    assert values(back, as_given) == values(want.data, as_given)


def test_the_gate_gives_the_same(hold):
    rules = {"weight": "w", "missing": "category", "k": 2, "max_risk": 0.02}
    rules["population"] = "weights"  # those of single records are not on an engine
    want = riskcore.check(survey(), KEYS, **rules)
    assert riskcore.check(hold(survey()), KEYS, **rules).to_dict() == want.to_dict()


def test_names_that_differ_by_case(hold):
    table = pa.table({"Age": [1, 2, 1], "age": [5, 5, 6], "w": [2.0, 3.0, 4.0]})
    want = riskcore.tabulate(table, ["Age", "age"], "w")
    got = riskcore.tabulate(hold(table), ["Age", "age"], "w")
    assert got.population_frequency.tolist() == want.population_frequency.tolist()
    assert riskcore.assess(hold(table), ["age"]).records.collect().columns[:2] == [
        "Age", "age",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "labels",
    [
        ["b", "a", None, "b", "b"],
        [1, 2, None, 2, 2],
        [True, False, None, True, True],
        [1.5, 2.0, 2.0, 2.0, 2.0],
    ],
)
def test_categories_with_missing_ones(hold, labels):
    table = pa.table({"k": pa.array(labels).dictionary_encode(), "w": range(1, 6)})
    for missing in ("category", "wildcard"):
        want = riskcore.assess(table, ["k"], "w", missing=missing)
        got = riskcore.assess(hold(table), ["k"], "w", missing=missing)
        assert got.figures == want.figures
        assert got.cells.to_dict()["k"].tolist() == want.cells.to_dict()["k"].tolist()
        back = got.records.collect()
        assert back["k"].to_list() == labels
        assert back["individual_risk"].to_list() == list(want.individual_risk)
    want = riskcore.protect(table, ["k"], threshold=0.9)
    got = riskcore.protect(hold(table), ["k"], threshold=0.9)
    assert got.suppressed == want.suppressed
    assert got.data.collect()["k"].to_list() == want.data["k"].to_pylist()


def test_no_value_that_was_blanked_is_shown(hold):
    labels = [*["x", "y"] * 10, "RARE"]
    table = pa.table({"k": pa.array(labels).dictionary_encode()})
    safe = riskcore.protect(hold(table), ["k"], threshold=0.5)
    assert safe.suppressed == {"k": 1}
    back = safe.data.collect()
    assert back["k"].to_list() == [*labels[:-1], None]
    chunks = back.to_arrow()["k"].chunks
    assert all("RARE" not in str(getattr(one, "dictionary", "")) for one in chunks)
    said = (
        f"{safe!r} {safe.data} {safe.data.explain()} {safe.data.explain(optimized=0)}"
    )
    assert "RARE" not in said


def test_columns_of_one_name_are_refused(hold):
    table = pa.table([[1, 2], [3, 4]], names=["k", "j"])
    if hold is of_dataset:
        data = pa.dataset.dataset(table.rename_columns(["k", "k"]))
    else:
        data = hold(table).rename(columns={"j": "k"})
    with pytest.raises(ValueError, match="columns share a name: 'k' 2 times"):
        riskcore.assess(data, ["k"])


def test_no_records(hold):
    empty = pa.table({"a": pa.array([], pa.int64())})
    data = hold(empty) if hold is of_dask else pa.dataset.dataset(empty)
    with pytest.raises(ValueError, match="the data hold no records"):
        riskcore.assess(data, ["a"])


def test_whole_and_decimal_weights(hold):
    weights = pa.array([Decimal("9.7"), Decimal("8.1")], pa.decimal128(20, 3))
    data = hold(pa.table({"k": [1, 2], "w": weights, "v": [2**53 + 1, 3]}))
    for weight, want in (("w", [9.7, 8.1]), ("v", [2.0**53, 3])):
        how = riskcore.Reading(weight_scale=1)
        found = riskcore.tabulate(data, ["k"], weight, reading=how).population_frequency
        assert found.tolist() == want


@pytest.mark.filterwarnings("ignore:Dask support is moving:FutureWarning")
def test_frames_of_narwhals_and_copies(hold):
    nw = import_module("narwhals.stable.v2")
    data = hold(pa.table({"k": [1, 2, 2]}))
    result = riskcore.assess(nw.from_native(data, pass_through=True), ["k"])
    assert result.figures == riskcore.assess(data, ["k"]).figures
    assert len(copy.copy(result.cells)) == 2


def test_filters_and_first_records_are_those_of_polars(hold):
    table = pa.table({"k": [1.0, None, 3.0, float("nan"), 5.0], "id": range(5)})
    lazy = engine_of(hold(table)).native
    k = polars.col("k")
    assert lazy.filter(k > 2).select("id").collect()["id"].to_list()[:1] == [2]
    assert lazy.head(3).collect()["id"].to_list() == [0, 1, 2]
    assert lazy.head(4).filter(k.is_null()).collect()["id"].to_list()[0] == 1
    assert lazy.filter(polars.col("id") % 2 == 1).head(1).collect()["id"].item() == 1
    assert lazy.select(polars.len()).collect().item() == 5
    assert lazy.select(polars.len()).collect(engine="streaming").item() == 5
    assert lazy.select("id").collect().columns == ["id"]


def test_many_records_are_counted_in_passes(hold, monkeypatch):
    monkeypatch.setattr("riskcore.data.engines.base.PART", 90)
    table, keys = survey(), ["sex", "income"]
    how = {"missing": "category", "population": "weights"}
    want = riskcore.assess(table, keys, "w", **how)
    got = riskcore.assess(hold(table), keys, "w", **how)
    held = got.cells.held
    assert held.engine.passes(held.question) == 5
    assert got.figures == want.figures


# --- datasets ---


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1.0, 2.5, 2.5, None, 1.0], pa.float16()),
        pa.array(["a", "b", "b", None, "a"], pa.string_view()),
        pa.array([b"a", b"b", b"b", None, b"a"], pa.binary_view()),
        pa.array([1, 2, 2, None, 1], pa.time32("s")),
        pa.RunEndEncodedArray.from_arrays(pa.array([3, 5], pa.int32()), ["a", "b"]),
    ],
    ids=lambda column: str(column.type)[:9],
)
def test_layouts_of_arrow_in_datasets(column):
    table = pa.table({"k": column, "w": [2.0, 3.0, 4.0, 5.0, 6.0]})
    want = riskcore.assess(table, ["k"], "w", missing="category")
    got = riskcore.assess(pa.dataset.dataset(table), ["k"], "w", missing="category")
    assert got.figures == want.figures
    assert got.cells.to_dict()["k"].tolist() == want.cells.to_dict()["k"].tolist()


@pytest.mark.parametrize(
    "column",
    [
        pa.array([Decimal(1), None], pa.decimal256(50, 3)),
        pa.array([(1, 2, 3)] * 2, pa.month_day_nano_interval()),
    ],
    ids=lambda column: str(column.type)[:9],
)
def test_types_that_polars_does_not_read(column):
    data = pa.dataset.dataset(pa.table({"k": column, "j": [1, 2]}))
    with pytest.raises(TypeError, match="'k': polars does not read values of type"):
        riskcore.assess(data, ["j"])


@pytest.fixture
def no_polars(monkeypatch):
    """A machine without polars."""
    monkeypatch.setitem(sys.modules, "polars", None)


@needs.engine("duckdb")
@pytest.mark.usefixtures("no_polars")
def test_a_dataset_goes_to_duckdb_without_polars():
    table = survey()
    # The model beside them would know the single weights of the table alone.
    how = {"weight": "w", "missing": "category", "population": "weights"}
    want = riskcore.assess(table, KEYS, **how)
    got = riskcore.assess(of_dataset(table), KEYS, **how)
    assert got.figures == want.figures
    assert type(got.records).__name__ == "DuckDBPyRelation"
    how = {"weight": "w", "threshold": 0.02}
    safe = riskcore.protect(of_dataset(table), KEYS, **how)
    assert safe.suppressed == riskcore.protect(table, KEYS, **how).suppressed
    twice = pa.dataset.dataset(pa.table({"Age": [1], "age": [2]}))
    with pytest.raises(ValueError, match="columns share a name: 'age' 2 times"):
        riskcore.assess(twice, ["Age"])


def test_the_message_names_what_to_install(hold, no_polars, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    data = hold(pa.table({"k": [1, 2]}))
    with pytest.raises(ImportError, match=r'pip install "riskcore\[engines\]"'):
        riskcore.assess(data, ["k"])


# --- dask ---


@DASK
def test_a_partition_is_computed_when_it_is_read():
    """One after the other, and of them the columns that are asked for."""
    frames, pandas = import_module("dask.dataframe"), import_module("pandas")
    read = []

    def part(i, columns=("k", "w", "note")):
        read.append((i, list(columns)))
        return pandas.DataFrame({"k": [i, 9], "w": [2.0, 3.0], "note": "x"})[
            list(columns)
        ]

    data = frames.from_map(part, range(3), meta=part(0).iloc[:0])
    read.clear()
    lazy = engine_of(data).native
    assert read == []
    assert lazy.head(3).collect()["k"].to_list() == [0, 9, 1]
    assert {i for i, _ in read} == {0, 1}
    read.clear()
    result = riskcore.assess(data, ["k"], "w")
    assert len(result.cells) == 4
    assert not any("note" in columns for _, columns in read)


@DASK
def test_types_of_pandas_are_kept():
    frames, pandas = import_module("dask.dataframe"), import_module("pandas")
    times = pandas.to_datetime(["2024-01-01", None, "2024-01-03", "2024-01-03"])
    frame = pandas.DataFrame({
        "whole": nullable("Int16", [1, None, 3, 3]),
        "flag": nullable("boolean", [True, None, False, False]),
        "real": [0.5, float("nan"), -0.0, 0.0],
        "text": ["a", None, "b", "b"],
        "time": times,
        "zone": times.tz_localize("America/New_York"),
        "span": pandas.to_timedelta([1, None, 2, 2], "s"),
    })  # fmt: skip
    data = frames.from_pandas(frame, npartitions=2)
    lazy = engine_of(data).native
    back = lazy.collect()
    assert back.schema == lazy.collect_schema()
    assert back.schema["whole"] == polars.Int16
    assert back.null_count().row(0) == (1,) * 7
    for key in frame:
        want = riskcore.assess(frame, [key], missing="category")
        got = riskcore.assess(data, [key], missing="category")
        assert got.figures == want.figures
        assert got.cells.records.tolist() == want.cells.records.tolist()


@DASK
@pytest.mark.parametrize("known", [True, False])
def test_partitions_may_have_lists_of_their_own(known):
    frames, pandas = import_module("dask.dataframe"), import_module("pandas")
    parts = [["b", "a", "b"], ["c", None, "a"], [], ["a", "c", "c"]]
    pieces = [pandas.DataFrame({"k": pandas.Categorical(one)}) for one in parts]
    data = frames.from_map(
        lambda i: pieces[i], range(4), meta=pieces[0].iloc[:0], enforce_metadata=False
    )
    data["k"] = data["k"].cat.as_known() if known else data["k"].cat.as_unknown()
    whole = {"k": [one for part in parts for one in part]}
    want = riskcore.assess(whole, ["k"], missing="category")
    got = riskcore.assess(data, ["k"], missing="category")
    assert got.figures == want.figures
    assert got.cells.to_dict()["k"].tolist() == want.cells.to_dict()["k"].tolist()
    assert got.records.collect()["k"].to_list() == whole["k"]


@DASK
def test_values_of_another_type_than_declared_are_refused():
    config, frames = import_module("dask").config, import_module("dask.dataframe")
    pandas = import_module("pandas")
    with config.set({"dataframe.convert-string": False}):
        days = pandas.Series([dt.date(2024, 1, 1)] * 3, dtype=object)
        data = frames.from_pandas(pandas.DataFrame({"k": days}), npartitions=1)
        with pytest.raises(
            Exception, match="do not have the type that the frame declares"
        ):
            riskcore.assess(data, ["k"])
        texts = pandas.Series(["a", None, "a"], dtype=object)
        data = frames.from_pandas(pandas.DataFrame({"k": texts}), npartitions=1)
        assert len(riskcore.assess(data, ["k"], missing="category").cells) == 2
    numbers = pandas.DataFrame({"k": pandas.Categorical([1, 2, 2])})
    data = frames.from_pandas(numbers, npartitions=1)
    data["k"] = data["k"].cat.as_unknown()
    with pytest.raises(Exception, match="do not have the type that the frame declares"):
        riskcore.assess(data, ["k"])


@DASK
def test_names_and_types_without_a_place_in_polars():
    frames, pandas = import_module("dask.dataframe"), import_module("pandas")
    data = frames.from_pandas(pandas.DataFrame({0: [1, 2]}), npartitions=1)
    with pytest.raises(TypeError, match=r"column 0 of a dask .* must be text"):
        riskcore.assess(data, [0])
    frame = pandas.DataFrame({"k": [1, 2], "z": [1j, 2j]})
    data = frames.from_pandas(frame, npartitions=1)
    with pytest.raises(TypeError, match="column 'z' of a dask DataFrame, complex128"):
        riskcore.assess(data, ["k"])


@DASK
def test_recoded_columns_of_dask():
    table = pa.table({"k": [1, 1, 2, 7654321]})
    rules = {"k": Recoding.mapping({7654321: 2})}
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter(
            "ignore", riskcore.protection.records.on_engine.ColumnsNotChecked
        )
        safe = riskcore.protect(of_dask(table), ["k"], threshold=0.9, recodings=rules)
    assert safe.data.collect()["k"].to_list() == [1, 1, 2, 2]


@DASK
def test_arrays_of_dask():
    da, n = import_module("dask.array"), np.arange(90)
    columns = {"sex": n % 2, "age": n % 7, "w": n + 1.5}
    want = riskcore.assess(columns, ["sex", "age"], "w")
    lazy = {name: da.from_array(column, chunks=20) for name, column in columns.items()}
    found = riskcore.assess(lazy, ["sex", "age"], "w")
    for name in RECORD_COLUMNS[:4]:
        np.testing.assert_array_equal(found.records[name], want.records[name])
