"""The risk as a column of a query: the bits of the ufunc, null for null, else nan."""

import numpy as np
import pyarrow as pa
import pytest

import riskcore
from tests import needs


def table():
    """Return f and F over the plane, with nulls and points outside the domain."""
    rng = np.random.default_rng(7)
    f = [*rng.geometric(0.3, 3000).astype(float), 0.0, -1.0, 5.0, np.nan, 2.0]
    f += [None, 3.0]
    F = [*(np.array(f[:3000]) * 10 ** rng.uniform(0, 6, 3000))]
    F += [5.0, 5.0, 4.0, 5.0, np.inf, 7.0, None]
    return pa.table({"id": range(len(f)), "freq": pa.array(f), "sums": pa.array(F)})


@pytest.fixture
def check():
    data = table()
    f, F = (data[name].to_numpy() for name in ("freq", "sums"))
    want = riskcore.individual_risk_from_frequencies(f, F)
    assert np.isnan(want[-7:-2]).tolist() == [True, True, True, True, True]

    def same(got):
        got = got.combine_chunks() if isinstance(got, pa.ChunkedArray) else got
        assert got.is_null().to_pylist()[-2:] == [True, True]
        assert got.null_count == 2
        np.testing.assert_array_equal(
            got.to_numpy(zero_copy_only=False).view(np.int64)[:3000],
            want.view(np.int64)[:3000],
        )
        assert np.isnan(got.to_numpy(zero_copy_only=False)[3000:-2]).all()

    return same


@needs.engine("duckdb")
def test_duckdb(check):
    import duckdb

    from riskcore.data.engines.duckdb import register

    connection = duckdb.connect()
    register(connection)
    data = table()
    got = connection.sql(
        "SELECT individual_risk(freq, sums) AS r FROM data ORDER BY id"
    )
    assert len(data) == 3007
    check(got.to_arrow_table()["r"])
    # Whole numbers, as count(*) gives them.
    one = connection.sql(
        "SELECT individual_risk(count(*), sum(freq)) FROM data WHERE freq = 2"
    )
    assert 0 < one.fetchall()[0][0] < 1


def test_polars(check):
    import polars as pl

    from riskcore.data.engines.polars import register

    register()
    register()
    data = pl.from_arrow(table())
    risk = pl.col("freq").riskcore.individual_risk(pl.col("sums")).alias("r")
    check(data.select(risk)["r"].to_arrow())
    check(data.lazy().select(risk).collect()["r"].to_arrow())


@needs.engine("spark")
def test_spark(check, session):
    from riskcore.data.engines.spark import register

    function = register(session)
    session.createDataFrame(table()).repartition(3).createOrReplaceTempView("cells")
    got = session.sql(
        "SELECT id, individual_risk(freq, sums) AS r FROM cells ORDER BY id"
    )
    check(got.toArrow()["r"])
    cells = session.table("cells")
    got = cells.select("id", function(cells["freq"], cells["sums"]).alias("r")).orderBy(
        "id"
    )
    check(got.toArrow()["r"])
