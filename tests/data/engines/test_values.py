"""Values are equal if they are the same, however an engine compares them."""

import importlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import riskcore
from tests import needs

pytestmark = pytest.mark.filterwarnings(
    "ignore::riskcore.protection.records.on_engine.ColumnsNotChecked"
)


def of_duckdb(kind, values):
    """Return a relation with a column ``k`` of a type, its values given as text."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE s (id BIGINT, k {kind})")
    connection.executemany(
        "INSERT INTO s SELECT ?, ?", [[i, v] for i, v in enumerate(values)]
    )
    return connection.table("s")


@needs.engine("duckdb")
@pytest.mark.filterwarnings("ignore:key 'k'. 'A' and 'a'")
@pytest.mark.parametrize("missing", ["refuse", "wildcard"])
def test_a_collation_makes_no_texts_one_on_duckdb(missing):
    data = of_duckdb("VARCHAR COLLATE NOCASE", [*"aaaaaa", "A"])
    result = riskcore.assess(data, ["k"], missing=missing)
    assert result.max_risk == 1
    assert result.cells.to_dict()["k"].tolist() == ["A", "a"]
    rows = result.records.order("id").fetchall()
    assert [row[2] for row in rows] == [6] * 6 + [1]
    safe = riskcore.protect(data, ["k"], threshold=0.5)
    assert safe.suppressed == {"k": 1}
    assert safe.data.order("id").fetchall()[-1] == (6, None)


@needs.engine("duckdb")
@needs.engine("ibis")
@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
@pytest.mark.parametrize("door", ["duckdb", "ibis"])
def test_nan_in_a_parquet_file_is_missing(door, tmp_path):
    # The statistics of such a file leave out NaN, and duckdb's isnan believes them.
    path = tmp_path / "s.parquet"
    keys = [float("nan"), 0.0, 0.0, 1.0, 1.0]
    table = pa.table({"k": keys, "w": [*keys[1:], 4.0]})
    pq.write_table(table, path)
    module = importlib.import_module(door)
    data = (module.duckdb.connect() if door == "ibis" else module).read_parquet(path)
    with pytest.raises(ValueError, match="'k' in 1 of 5"):
        riskcore.assess(data, ["k"], missing="refuse")
    got, want = (riskcore.assess(held, ["k"]) for held in (data, table))
    assert got.cells.missing_values == want.cells.missing_values == (1,)
    assert got.figures == want.figures
    with pytest.raises(ValueError, match="'k': 1 missing"):
        riskcore.assess(data, ["w"], weight="k")
    frequencies = (pa.table(x.records)["sample_frequency"] for x in (got, want))
    assert len({tuple(sorted(x.to_pylist())) for x in frequencies}) == 1


@needs.engine("spark")
@pytest.mark.filterwarnings("ignore:key 'k'. 'A' and 'a'")
def test_a_collation_makes_no_texts_one_on_spark(session):
    rows = [(i, v) for i, v in enumerate([*"aaaaaa", "A"])]
    data = session.createDataFrame(rows, "id long, k string collate UTF8_LCASE")
    result = riskcore.assess(data, ["k"])
    assert result.max_risk == 1
    found = {row.id: row.sample_frequency for row in result.records.collect()}
    assert found == {i: 6 if i < 6 else 1 for i in range(7)}
    safe = riskcore.protect(data, ["k"], threshold=0.5)
    assert safe.suppressed == {"k": 1}
    assert {row.id: row.k for row in safe.data.collect()}[6] is None


@needs.engine("ibis")
@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:key 'plain'")
def test_a_collation_and_intervals_are_refused_behind_ibis():
    import ibis

    backend = ibis.duckdb.connect()
    backend.raw_sql(
        "CREATE TABLE s AS SELECT unnest(['a', 'A', 'b']) AS plain, "
        "unnest(['a', 'A', 'b']) AS k, unnest(['e', 'f', 'g']) AS e, "
        "unnest([INTERVAL 1 month, INTERVAL 30 days, NULL]) AS i"
    )
    backend.raw_sql("ALTER TABLE s ALTER k TYPE VARCHAR COLLATE NOCASE")
    backend.raw_sql("ALTER TABLE s ALTER e TYPE VARCHAR COLLATE NOACCENT")
    data = backend.table("s")
    assert len(riskcore.assess(data, ["plain"]).cells) == 3
    for key, equal in (("k", "'A' equals 'a'"), ("e", "'é' equals 'e'")):
        with pytest.raises(
            TypeError, match=f"'{key}': .* a collation for which {equal}"
        ):
            riskcore.assess(data, ["plain", key])
        with pytest.raises(
            TypeError, match=f"'{key}': .* a collation for which {equal}"
        ):
            riskcore.protect(data, [key], threshold=0.5)
    with pytest.raises(TypeError, match="'i': values of type interval"):
        riskcore.assess(data, ["i"])


@needs.engine("duckdb")
@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("TIME WITH TIME ZONE", ["12:00:00+00", "12:00:00+00", "12:00:00+01"]),
        ("INTERVAL", ["1 month", "1 month", "30 days"]),
        ("UHUGEINT", ["1", "1", str(2**128 - 1)]),
        ("BIGNUM", ["1", "1", str(2**200)]),
    ],
)
def test_types_whose_values_are_mixed_up_are_refused(kind, values):
    data = of_duckdb(kind, values)
    told = f"'k': values of type {kind}, .*; give it as text"
    with pytest.raises(TypeError, match=told):
        riskcore.assess(data, ["k"])
    with pytest.raises(TypeError, match=told):
        riskcore.tabulate(data, ["k"])
    with pytest.raises(TypeError, match=told):
        riskcore.protect(data, ["k"], threshold=0.5)
    as_text = data.project("id, k::VARCHAR AS k")
    assert riskcore.assess(as_text, ["k"]).max_risk == 1


def test_cells_that_come_as_one_are_refused(engine, monkeypatch):
    """Some type of some engine has values that Arrow, or pandas, has not."""
    data = engine.hold(pa.table({"k": ["a", "a", "A"]}))
    coded = riskcore.data.coded.code_column

    def blind(records, name, *, ticks):
        return coded(type(records).of({name: ["a"] * records.n}), name, ticks=ticks)

    monkeypatch.setattr("riskcore.data.coded.code_column", blind)
    told = "'k': String: the engine counted 2 cells, but only 1 differ here"
    with pytest.raises(TypeError, match=told):
        riskcore.protect(data, ["k"], threshold=0.6)
    with pytest.raises(TypeError, match=told):
        riskcore.tabulate(data, ["k"])
    with pytest.raises(TypeError, match=told):
        riskcore.assess(data, ["k"]).cells.row(0)


# Two times that are one to Python, as midnight and the end of a day, and another.
TIMES = {
    "duckdb": ("00:00:00", "24:00:00", "12:00:00"),
    "polars": (0, 5, 10**9),
}


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    "name", [pytest.param("duckdb", marks=needs.engine("duckdb")), "polars"]
)
def test_the_last_of_two_times_that_python_takes_for_one(name, turned):
    first, second, other = TIMES[name]
    kept, lone = (second, first) if turned else (first, second)
    times = [kept, kept, other, other, lone]
    if name == "duckdb":
        data = of_duckdb("TIME", times)
        safe = riskcore.protect(data, ["k"], threshold=0.9)
        rows = safe.data.order("id").project("k::VARCHAR").fetchall()
        found = [row[0] for row in rows]
    else:
        import polars

        column = polars.Series("k", times).cast(polars.Time)
        safe = riskcore.protect(polars.LazyFrame({"k": column}), ["k"], threshold=0.9)
        found = safe.data.collect()["k"].to_physical().to_list()
    assert safe.suppressed == {"k": 1}
    assert found == [*times[:-1], None]
