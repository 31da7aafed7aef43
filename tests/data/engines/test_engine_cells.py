"""Cells stay with their engine until a single one is needed."""

import re
import warnings

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pytest

import riskcore
from riskcore.data.engine_cells import with_sizes
from riskcore.data.engines import base
from riskcore.data.engines.counting import Question
from riskcore.data.engines.registry import engine_of
from riskcore.report.page import page
from riskcore.report.public_page import public_page
from tests import needs


def survey(n=4000):
    rng = np.random.default_rng(8)
    return pa.table({
        "id": range(n),
        "region": pa.array(rng.choice(["n", "s", "NA", " e", "e"], n)),
        "age": pa.array(
            [None if i % 11 == 3 else v for i, v in enumerate(rng.integers(0, 90, n))],
            pa.int64(),
        ),
        # Few values: risks are equal, and F < f in some cells.
        "w": pa.array(rng.choice([0.25, 1.0, 8.0], n)),
    })  # fmt: skip


KEYS = ["region", "age"]


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(base, "BATCH", 50)
    monkeypatch.setattr(base, "PART", 900)  # several passes


def told(call):
    """Return what a call gives and its warnings, in the order of the alphabet."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = call()
    return found, sorted(str(one.message) for one in caught)


@pytest.mark.usefixtures("small_batches")
def test_figures_without_the_keys_of_cells(engine):
    table = survey()
    want, said = told(lambda: riskcore.assess(table, KEYS, "w", missing="category"))
    data = engine.hold(table)
    got, heard = told(lambda: riskcore.assess(data, KEYS, "w", missing="category"))
    assert heard == said
    assert len(said) == 3  # NA, blanks, F < f
    assert got.figures == want.figures
    assert repr(got) == repr(want)
    assert repr(got.cells) == repr(want.cells)
    for rate in (0.001, 0.1, 0.5):
        assert got.risk_threshold(rate=rate) == want.risk_threshold(rate=rate)
    for unsafe in (0, 1, 77, 4000):
        assert got.risk_threshold(unsafe=unsafe) == want.risk_threshold(unsafe=unsafe)
    assert got.unsafe_count(0.01) == want.unsafe_count(0.01)
    for k in (1, 4, 40, 10**6):
        assert got.below(k) == want.below(k)
    # The categories of the keys are shown of cells that are here.
    whole = page({"a": want}, title="b")
    section = re.search(r"<section[^>]*keys-title.*?</section>\s*", whole, re.DOTALL)
    assert page({"a": got}, title="b").split() == whole.replace(section[0], "").split()
    assert not got.cells.collected
    np.testing.assert_array_equal(got.cell_risk, want.cell_risk)
    assert got.cells.collected
    assert page({"a": got}, title="b") == whole


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("kind", ["int8", "string", "bool", "date32", "double"])
def test_each_cell_is_in_one_pass(kind, engine):
    rng = np.random.default_rng(1)
    one = pa.array(rng.integers(0, 2 if kind == "bool" else 60, 4000))
    if kind == "date32":
        one = one.cast(pa.int32())
    keys = {
        "a": one.cast(kind),
        "b": pa.array([None if i % 3 else i % 14 for i in range(4000)]),
    }
    table = pa.table({**keys, "w": rng.lognormal(3, 1, 4000)})
    data = engine.hold(table)
    how = {"missing": "category", "population": "weights"}
    got = riskcore.assess(data, ["a", "b"], "w", **how)
    want = riskcore.assess(table, ["a", "b"], "w", **how)
    assert got.figures == want.figures
    assert len(got.cells) == len(want.cells)
    if engine.name in ("polars", "ibis"):
        held = got.cells.held
        passes = held.engine.passes(held.question)
        assert passes == (1 if kind == "double" else 5)


def test_sizes_of_cells_are_counted_over_batches():
    rng = np.random.default_rng(4)
    batches = [
        np.concatenate([rng.geometric(0.1, 500), rng.integers(65_000, 66_000, 300)])
        for _ in range(3)
    ]
    batches += [np.array([1, 2**40]), np.array([2**40])]
    sizes = (np.empty(0, np.int64), np.empty(0, np.int64))
    for f in batches:
        sizes = with_sizes(sizes, f)
    values, counts = np.unique(np.concatenate(batches), return_counts=True)
    np.testing.assert_array_equal(sizes[0], values)
    np.testing.assert_array_equal(sizes[1], counts)
    assert sizes[1].dtype == np.int64


@pytest.mark.usefixtures("small_batches")
def test_riskiest_cells_of_equal_risk_are_in_order(engine, monkeypatch):
    table = survey()
    want, _ = told(lambda: riskcore.assess(table, KEYS, "w", missing="category"))
    data = engine.hold(table)
    monkeypatch.setattr("riskcore.data.engine_cells.MANY_CELLS", 0)
    got, _ = told(lambda: riskcore.assess(data, KEYS, "w", missing="category"))
    assert got.highest == want.riskiest(10)
    for count in (1, 10, 60, 10_000):
        rows, expected = got.riskiest(count), want.riskiest(count)
        assert len({row["individual_risk"] for row in rows}) <= len(rows)
        assert [
            {**row, "age": None if row["age"] is None else int(row["age"])}
            for row in rows
        ] == expected
    with pytest.raises(TypeError, match=r"count=2\.5: need a whole number"):
        got.riskiest(2.5)
    assert not got.cells.collected


def test_the_risk_by_some_of_the_keys(engine):
    table, how = survey(400), {"weight": "w", "missing": "category"}
    (want, _), (got, _) = (
        told(lambda data=data: riskcore.assess(data, KEYS, **how).by(["region"]))
        for data in (table, engine.hold(table))
    )
    assert repr(got) == repr(want)
    risks = [x.sort_by("id")["individual_risk"].to_pylist()
             for x in (engine.collect(got.records), want.records)]  # fmt: skip
    assert risks[0] == risks[1]


def test_what_is_for_publication_is_refused(engine):
    result = riskcore.assess(engine.hold(survey().select(["id"])), ["id"])
    with pytest.raises(TypeError, match=r"for publication: single records are needed"):
        public_page(result)
    assert not result.cells.collected


def test_records_are_computed_where_they_are(engine, monkeypatch, in_order):
    table = survey()
    want, _ = told(lambda: riskcore.assess(table, KEYS, "w", missing="category"))
    data = engine.hold(table)
    got, _ = told(lambda: riskcore.assess(data, KEYS, "w", missing="category"))

    def refused(self, question):
        raise AssertionError("the cells are collected")

    monkeypatch.setattr(base.Engine, "cells", refused)
    if engine.name == "ibis":  # its backends have no function of ours
        with pytest.raises(AssertionError, match="collected"):
            _ = got.records
        return
    back = in_order(engine.collect(got.records))
    for name in ("population_frequency", "individual_risk"):
        np.testing.assert_array_equal(back[name].to_numpy(), want.records[name])


def test_records_that_were_not_counted_have_no_risk(engine):
    table = pa.table({"k": [1, 1, 2], "id": [0, 1, 2]})
    held = engine_of(engine.hold(table))
    question = Question(("k",))
    cells = held.cells(question).select(*question.key_columns)
    one = cells.filter(nw.col(question.key_columns[0]) == 1)
    data = held.join_results(question, one, {"sample_frequency": np.array([2])})
    if engine.name == "ibis":  # whose backends have no error in common
        assert engine.collect(data)["sample_frequency"].null_count == 1
        return
    with pytest.raises(Exception, match="the data have changed since they were cou"):
        engine.collect(data)


@needs.engine("duckdb")
def test_records_on_several_connections_of_one_database():
    import duckdb

    connection = duckdb.connect()
    connection.execute("CREATE TABLE s AS SELECT range % 3 AS k FROM range(7)")

    def risks(held):
        result = riskcore.assess(held.table("s"), ["k"])
        return result.records.order("k").fetchall()

    first, second = connection.cursor(), connection.cursor()
    want = risks(connection)
    assert risks(first) == risks(second) == want
    assert risks(first) == want
    first.close()
    del first
    assert risks(second) == want
    assert risks(connection) == want
    assert risks(connection.cursor()) == want


@needs.engine("duckdb")
def test_records_after_a_rollback():
    import duckdb

    connection = duckdb.connect()
    connection.execute("CREATE TABLE s AS SELECT range % 3 AS k FROM range(7)")
    connection.begin()
    want = riskcore.assess(connection.table("s"), ["k"]).records.order("k").fetchall()
    connection.rollback()
    for _ in range(2):
        found = riskcore.assess(connection.table("s"), ["k"]).records
        assert found.order("k").fetchall() == want


@needs.engine("ibis")
@pytest.mark.parametrize("engine", ["ibis"], indirect=True)
def test_a_printed_query_shows_no_cell(engine):
    """ibis prints a query with rows of the tables in memory that it joins."""
    table = pa.table({"region": ["n", "s", "e"], "w": [1.0, 2.0, 4.0]})
    query = repr(riskcore.assess(engine.hold(table), ["region"], "w").records)
    assert "individual_risk" in query
    assert "0.69314" not in query  # the risk of w = 2
