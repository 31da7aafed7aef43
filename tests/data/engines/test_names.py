"""Columns of any name are found by it, and never confused with our own."""

import numpy as np
import pyarrow as pa
import pytest

import riskcore
from riskcore import Recoding
from riskcore.assessment.cell_risk import RECORD_COLUMNS
from tests import needs
from tests.data.engines.conftest import engines

pytestmark = pytest.mark.filterwarnings(
    "ignore::riskcore.protection.records.on_engine.ColumnsNotChecked",
    "ignore::riskcore.protection.result.SuppressedValueShows",
)
# What polars reads as a pattern, duckdb as all columns, Spark as a path or a pattern;
# and what columns of ours are called in tables of cells, or in what is joined.
READ = ["^k$", "^x.*$", "*", "k.*", "a.b", "`k`", "COLUMNS(*)", "^.*$"]
OURS = [
    "riskcore_key_0", "riskcore_records", "riskcore_sum_0", "Riskcore_Blank_0",
    "riskcore_new_0", "riskcore1_key_0", "riskcore_results", "c0",
]  # fmt: skip
# Several of them are keys at once.
GROUPS = [[*READ, *OURS][i : i + 4] for i in range(0, 16, 4)]


def survey(names=(), weight="w"):
    """Return records whose keys have names, with columns that may be taken for them.

    Of each name, also if it is a pattern, there is a column called by it.
    """
    others = [one for one in (*READ, *OURS) if one not in (*names, weight)]
    keys = {
        name: [i, 3, 3, 3, 3, 3, 3, 4, None][-i:] + [i, 3, 3, 3, 3, 3, 3, 4, None][:-i]
        for i, name in enumerate(names, 1)
    }
    return pa.table(
        {
            "id": range(9),
            "k": [1, 1, 1, 1, 1, 2, 2, 2, 2],
            "w": [1000.0] * 9,
            **{other: list("abcdefghi") for other in others},
            **keys,
            weight: [float(i) for i in range(10, 19)],
        }
    )


@pytest.mark.parametrize("names", GROUPS)
def test_keys_of_any_name(engine, names, in_order):
    table = survey(names)
    data = engine.hold(table)
    for missing in ("category", "wildcard"):
        want = riskcore.assess(table, [*names, "k"], "w", missing=missing)
        got = riskcore.assess(data, [*names, "k"], "w", missing=missing)
        assert got.figures == want.figures
        for name in names:
            values = [list(one.cells.to_dict()[name]) for one in (got, want)]
            assert values[0] == values[1]
        back = in_order(engine.collect(got.records))
        assert back.column_names == [*table.column_names, *RECORD_COLUMNS[:4]]
        for column in RECORD_COLUMNS[:4]:
            np.testing.assert_array_equal(back[column], want.records[column])
        for column in table.column_names:
            assert clean(back[column]) == clean(table[column])


@pytest.mark.parametrize("name", ["^k$", "*", "riskcore_sum_0"])
def test_a_weight_of_any_name(engine, name):
    table = survey(weight=name)
    want = riskcore.assess(table, ["k"], name)
    got = riskcore.assess(engine.hold(table), ["k"], name)
    assert got.figures == want.figures
    assert want.cells.population_frequency.tolist() == [60, 66]


@pytest.mark.parametrize("names", GROUPS)
def test_protected_keys_of_any_name(engine, names, in_order):
    table = survey(names)
    rules = {"k": Recoding.mapping({2: 7})}
    how = {"threshold": 0.02, "recodings": rules, "weight": "w"}
    want = riskcore.protect(table, [*names, "k"], **how)
    got = riskcore.protect(engine.hold(table), [*names, "k"], **how)
    assert got.suppressed == want.suppressed
    assert sum(want.suppressed.values()) > 0
    back = in_order(engine.collect(got.data))
    assert back.column_names == table.column_names
    for column in table.column_names:
        assert clean(back[column]) == clean(want.data[column])


@pytest.mark.parametrize("name", ["^k$", "*"])
def test_names_that_polars_reads_as_patterns_in_memory(name):
    import polars

    frame = polars.DataFrame({name: [1, 1, None, 2], "k": [3, 4, 5, 6]})
    found = riskcore.assess(frame, [name], missing="category")
    assert found.cells.to_dict()[name].tolist() == [1, 2, None]
    safe = riskcore.protect(frame, [name, "k"], threshold=0.3)
    assert safe.data.columns == [name, "k"]
    assert (
        safe.suppressed
        == riskcore.protect(
            frame.to_dict(as_series=False), [name, "k"], threshold=0.3
        ).suppressed
    )


def of_one_name(engine, name):
    """Return data with columns ``k``, a column twice, as after a join, and ``id``."""
    table = pa.table([[1, 2], [3, 4], [5, 6]], names=["k", name, "id"])
    data = engine.hold(table)
    if engine.name == "duckdb":
        return data.project(f'k, "{name}" AS k, id')
    assert engine.name == "spark"
    return data.withColumnRenamed(name, "x").selectExpr("k", "x AS k", "id")


# The others hold no two columns of one name.
@pytest.mark.parametrize("engine", engines(but=("polars", "ibis")), indirect=True)
def test_columns_of_one_name_are_refused(engine):
    data = of_one_name(engine, "x")
    for keys in (["id"], ["k"]):
        with pytest.raises(ValueError, match="columns share a name: 'k' 2 times"):
            riskcore.assess(data, keys)
        with pytest.raises(ValueError, match="columns share a name: 'k' 2 times"):
            riskcore.protect(data, keys, threshold=0.5)


@needs.engine("duckdb")
def test_columns_other_than_keys_that_differ_by_case():
    import duckdb

    data = duckdb.connect().sql('SELECT 1 AS k, 2 AS "Age", 3 AS "age"')
    with pytest.raises(ValueError, match="'Age', 'age' differ only in case"):
        riskcore.protect(data, ["k"], threshold=0.5)
    # These are names of their own to duckdb.
    data = duckdb.connect().sql('SELECT 1 AS k, 2 AS "é", 3 AS "É"')
    safe = riskcore.protect(data, ["k"], threshold=0.5)
    assert safe.data.fetchall() == [(None, 2, 3)]


def clean(column):
    """Return values, NaN (of pandas, for missing) as None."""
    return [None if one is None or one != one else one for one in column.to_pylist()]


@needs.engine("duckdb")
@pytest.mark.parametrize("settings", [
    [],
    ["SET enable_external_access = false"],
    ["SET python_enable_replacements = false"],
])  # fmt: skip
def test_tables_of_the_user_are_not_taken_for_ours(settings):
    import duckdb

    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE s AS SELECT range AS id, range % 3 AS k FROM range(7)"
    )
    for name in ("riskcore_cells", "riskcore_data", "riskcore_counted"):
        connection.execute(
            f"CREATE TABLE {name} AS SELECT 0 AS riskcore_key_0, 99.0 AS "
            "individual_risk, 1 AS sample_frequency, 1.0 AS population_frequency, "
            "1.0 AS sampling_fraction, true AS riskcore_blank_0"
        )
    for each in settings:
        connection.execute(each)
    for missing in ("category", "wildcard"):
        records = riskcore.assess(connection.table("s"), ["k"], missing=missing).records
        found = records.project("id, sample_frequency").order("id").fetchall()
        assert found == [(i, 3 if i % 3 == 0 else 2) for i in range(7)]
    safe = riskcore.protect(connection.table("s"), ["k"], threshold=0.4)
    found = safe.data.order("id").fetchall()
    assert found == [(i, 0 if i % 3 == 0 else None) for i in range(7)]
