"""Engines that hold data, with functions that give them data and collect results."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests import needs

ROOT = Path(__file__).resolve().parents[3]


@dataclass
class Holder:
    """An engine: how data and files come to it, and back as a table of Arrow."""

    name: str
    hold: Any
    collect: Any
    kind: Any
    scan: Any
    case_blind: bool = False
    in_order: bool = False


def decoded(table):
    """Return a table with dictionaries as the values they stand for."""
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            plain = table.column(i).cast(field.type.value_type)
            table = table.set_column(i, field.name, plain)
    return table


def polars():
    import polars as pl

    return Holder(
        "polars",
        lambda table: pl.from_arrow(table).lazy(),
        lambda lazy: lazy.collect().to_arrow(),
        pl.LazyFrame,
        pl.scan_csv,
        in_order=True,
    )


def duckdb():
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return Holder(
        "duckdb",
        lambda table: connection.from_arrow(table),
        lambda relation: relation.to_arrow_table(),
        duckdb.DuckDBPyRelation,
        lambda path: connection.sql(f"FROM '{path}'"),
        case_blind=True,
    )


def ibis():
    import ibis

    return Holder(
        "ibis",
        lambda table: ibis.memtable(decoded(table)),
        lambda table: table.to_pyarrow(),
        ibis.Table,
        lambda path: ibis.read_csv(str(path)),
        case_blind=True,
    )


def spark(session):
    from pyspark.sql import DataFrame

    return Holder(
        "spark",
        lambda table: session.createDataFrame(decoded(table)),
        lambda frame: frame.toArrow(),
        DataFrame,
        lambda path: session.read.csv(str(path), header=True, inferSchema=True),
        case_blind=True,
    )


def spark_session(master="local[2]", **settings):
    """Return a session whose executors find this package."""
    from pyspark.sql import SparkSession

    os.environ["PYTHONPATH"] = str(ROOT)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(master).config(
        map={
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "3",
            "spark.sql.session.timeZone": "UTC",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            # Broadcast tables of thousands of tests do not fit the default of 1 GiB.
            "spark.driver.memory": "3g",
            # Jobs are so small that to compile much takes longer than they do.
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            **settings,
        }
    )
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


@pytest.fixture(scope="session")
def session():
    """A session of Spark on this machine, with two threads."""
    found = spark_session()
    yield found
    found.stop()


ENGINES = {"polars": polars, "duckdb": duckdb, "ibis": ibis, "spark": spark}


def engines(but=()):
    """Return the names of the engines but some, each with what it needs."""
    return [
        pytest.param(name, marks=needs.engine(name))
        for name in ENGINES
        if name not in but
    ]


@pytest.fixture(scope="session", params=engines())
def engine(request):
    """Each engine in turn."""
    if request.param == "spark":
        return spark(request.getfixturevalue("session"))
    return ENGINES[request.param]()


@pytest.fixture
def in_order():
    """Return what sorts a table by its column ``id``."""
    return lambda table: table.take(pc.sort_indices(table, [("id", "ascending")]))
