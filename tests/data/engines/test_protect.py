"""Protecting on every engine gives the same records as in memory."""

import datetime as dt
import warnings
from importlib import import_module

import numpy as np
import polars
import pyarrow as pa
import pytest

import riskcore
from riskcore import Recoding
from riskcore.data.engines.base import Engine
from riskcore.data.recode import DoubtfulRules
from riskcore.protection.records.on_engine import ColumnsNotChecked
from riskcore.protection.records.showing import SuppressedValueShows, shown_in
from tests import needs, thin

from .conftest import engines
from .test_door import CASES

N = 400
# Each protection warns that other columns were not checked.
pytestmark = pytest.mark.filterwarnings(
    "ignore::riskcore.protection.records.on_engine.ColumnsNotChecked",
    "ignore::riskcore.protection.result.SuppressedValueShows",
    "ignore::riskcore.assessment.cell_risk.PopulationBelowSample",
)


def survey(n=N, seed=3):
    """Return records, some unsafe and some with missing keys."""
    rng = np.random.default_rng(seed)

    def some(values, share=0.03):
        drawn = rng.choice(values, n).tolist()
        return [
            None if u < share else v for u, v in zip(rng.random(n), drawn, strict=True)
        ]

    return pa.table(
        {
            "id": list(range(n)),
            "sex": some(["f", "m"]),
            "age": some(list(range(18, 30))),
            "region": some(list("nesw")),
            "born": some(["here", "there", "far"], 0.2),
            "income": rng.integers(1, 2000, n),
            "w": rng.integers(100, 9000, n) / 300,
        }
    )


KEYS = ["sex", "age", "region"]
SEVERAL = [["sex", "age"], ["region", "age"], ["sex", "region", "born"]]
YOUNG = Recoding.intervals([21, 25], ["a", "b", "c"])
NEVER = {"sex": float("inf")}
NOTHING = dict.fromkeys(KEYS, float("inf"))
ARGUS = {"missing": "argus", "suppression": "argus"}
OTHER = Recoding.mapping({None: "x", "n": None})
WAYS = {
    "plain": (KEYS, {"threshold": 0.02}),
    "rate": (KEYS, {"rate": 0.008}),
    "no weight": (KEYS, {"threshold": 0.2, "weight": None}),
    "several sets of keys": (SEVERAL, {"threshold": 0.004}),
    "several sets at a rate": (SEVERAL, {"rate": 0.004, "missing": "category"}),
    "a category": (["sex", "age"], {"threshold": 0.01, "missing": "category"}),
    "as mu-Argus": (KEYS, {**ARGUS, "threshold": 0.02, "cost": "equal"}),
    "entropy": (KEYS, {"threshold": 0.02, "cost": "entropy"}),
    "costs": (KEYS, {"threshold": 0.02, "cost": {"sex": 90, "age": 50, "region": 5}}),
    "never": (KEYS, {"threshold": 0.02, "cost": NEVER}),
    "no blank": (KEYS, {"threshold": 0.02, "cost": NOTHING}),
    "nothing to do": (["sex"], {"threshold": 0.9}),
    "cannot be safe": (KEYS, {"threshold": 1e-6}),
    "related": (
        KEYS,
        {"threshold": 0.02, "related": {"region": ["born"]}, "cost": {"region": 1}},
    ),
    "series": (KEYS, {"threshold": 0.02, "method": "series7"}),
    "recoded": (KEYS, {"threshold": 0.003, "recodings": {"age": YOUNG}}),
    "recoded alone": (
        KEYS, {"threshold": 0.02, "recodings": {"age": YOUNG}, "cost": NOTHING}
    ),
    "recoded, no key": (
        ["sex", "region"],
        {
            "threshold": 0.0009,
            "recodings": {"income": Recoding.intervals([500], [1, 2]), "age": YOUNG},
        },
    ),
    "missing recoded": (
        KEYS,
        {"threshold": 0.02, "recodings": {"region": OTHER}},
    ),
    "related recoded": (
        KEYS,
        {
            "threshold": 0.02,
            "related": {"region": ["born"]},
            "cost": {"region": 1},
            "recodings": {"born": Recoding.mapping({"far": "there"})},
        },
    ),
}  # fmt: skip


def value(one):
    """Return a value in a form that is the same for all engines."""
    if one is None or one != one:
        return None
    if isinstance(one, dt.datetime):
        return one.astimezone(dt.UTC) if one.tzinfo else one
    if isinstance(one, dt.date):  # pandas has no dates
        return dt.datetime(one.year, one.month, one.day)
    return one


def values(table, in_order):
    table = in_order(table)
    return {
        name: [value(one) for one in table[name].to_pylist()]
        for name in table.column_names
    }


def unique_columns(result):
    """Return the leaks that are columns which single out records, without advice.

    Nothing can be treated on an engine, so that no treatment is advised.
    """
    found = result.examination.leaks
    return [
        (one.column, one.kind, one.text, one.accepted)
        for one in found
        if one.kind not in ("reveals", "elimination")
    ]


def without_role(result):
    """Return the columns without a role, except the keys."""
    found = result.examination
    leaking = [column for one in found.leaks for column in one.of]
    return {*found.not_examined, *leaking} - {*result.settings.suppressible}


def assert_same(got, want, engine, in_order):
    """Check all that two protections say, and every record."""
    assert got.suppressed == want.suppressed
    assert got.goals_met == want.goals_met
    assert got.n == want.n
    # What columns reveal, or elimination, is not looked for on an engine, and that is
    # said, see `not_checked`.
    assert not any("--treat" in one.advice for one in got.examination.leaks)
    assert without_role(got) == without_role(want)
    assert unique_columns(got) == unique_columns(want)
    assert got.judgment.on_goals_in_public == want.judgment.on_goals_in_public
    for one, other in zip(got.sets, want.sets, strict=True):
        assert one.keys == other.keys
        assert one.aim == other.aim
        assert one.comparison() == other.comparison()
        assert one.without_keys == other.without_keys
        for stage in ("original", "recoded", "protected"):
            here, there = getattr(one, stage), getattr(other, stage)
            np.testing.assert_array_equal(here.cell_risk, there.cell_risk)
            np.testing.assert_array_equal(
                here.cells.population_frequency, there.cells.population_frequency
            )
            np.testing.assert_array_equal(here.cells.records, there.cells.records)
            assert here.cells.missing_values == there.cells.missing_values
            assert here.figures == there.figures
    plain, own = got.to_dict(), want.to_dict()
    judged = (
        "leaks", "not_examined", "not_judged", "not_checked", "lines", "elimination",
    )  # fmt: skip
    for name in (*judged, "safe", "state", "verdict"):
        plain.pop(name), own.pop(name, None)
    assert plain == own
    assert isinstance(got.data, engine.kind)
    back = engine.collect(got.data)
    assert back.column_names == want.data.column_names
    if engine.in_order:
        assert back["id"].to_pylist() == want.data["id"].to_pylist()
    assert values(back, in_order) == values(want.data, in_order)


# Spark takes a second for each: there by default those with queries of their own.
ON_SPARK = {
    "plain", "no weight", "several sets at a rate", "as mu-Argus", "no blank",
    "recoded, no key", "missing recoded", "related recoded",
}  # fmt: skip
EACH = [
    pytest.param(
        *engine.values,
        way,
        marks=[*engine.marks, *[pytest.mark.slow] * (way not in ON_SPARK)]
        if "spark" in engine.values
        else engine.marks,
    )
    for engine in engines()
    for way in WAYS
]


@pytest.mark.parametrize(("engine", "way"), EACH, indirect=["engine"])
def test_the_same_as_in_memory(engine, way, in_order):
    keys, settings = WAYS[way]
    table = survey()
    settings = {"weight": "w", "population": "weights", **settings}
    want = riskcore.protect(table, keys, **settings)
    got = riskcore.protect(engine.hold(table), keys, **settings)
    assert_same(got, want, engine, in_order)
    if way not in ("no blank", "nothing to do", "recoded alone"):
        assert sum(want.suppressed.values()) > 0


# Doubles that the engine adds have other last bits in every run. Every column is
# examined by queries of its own: 300 of them take an engine seconds.
TRAPS = thin.cases(
    [(name,) for name in CASES if name != "spread weights"],
    lambda name: name != "300 columns",
)


@pytest.mark.parametrize("name", TRAPS)
def test_the_same_as_in_memory_in_odd_data(engine, name, in_order):
    columns, keys, weight, missing = CASES[name]
    missing = "wildcard" if missing == "refuse" else missing
    table = pa.table(columns)
    cells = riskcore.tabulate(table, keys, weight, missing=missing)
    how = {"weight": weight, "missing": missing, "population": "weights"}
    plain = riskcore.protect(table, keys, threshold=1.0, **how)
    how["threshold"] = float(np.sort(plain.protected.cell_risk)[-2])
    want = riskcore.protect(table, keys, **how)
    got = riskcore.protect(engine.hold(table), keys, **how)
    assert len(cells) > 1
    assert sum(want.suppressed.values()) > 0
    assert_same(got, want, engine, in_order)


def test_weights_of_many_sizes(engine, in_order):
    columns, keys, weight, _ = CASES["spread weights"]
    table = pa.table(columns)
    how = {"reading": riskcore.Reading(weight_scale=1)}
    risk = np.sort(riskcore.assess(table, keys, weight, **how).cell_risk)
    how |= {"weight": weight, "threshold": float(risk[-3] + risk[-2]) / 2}
    want = riskcore.protect(table, keys, **how)
    got = riskcore.protect(engine.hold(table), keys, **how)
    assert got.suppressed == want.suppressed
    assert sum(want.suppressed.values()) > 0
    back = engine.collect(got.data)
    assert values(back, in_order) == values(want.data, in_order)


def test_data_can_be_had_again(engine):
    got = riskcore.protect(engine.hold(survey()), KEYS, "w", threshold=0.02)
    one, other = (engine.collect(got.data) for _ in range(2))
    assert len(one) == len(other) == N


def test_what_is_refused_before_any_work(engine):
    table = survey()
    data = engine.hold(table)
    how = {"weight": "w", "threshold": 0.02}
    with pytest.raises(TypeError, match=r"households need single records.* Collect"):
        riskcore.protect(data, KEYS, household="id", **how)
    with pytest.raises(KeyError, match="no column 'b'"):
        riskcore.protect(data, ["b"], **how)
    with pytest.raises(KeyError, match="no column 'b'"):
        riskcore.protect(data, KEYS, recodings={"b": YOUNG}, **how)
    with pytest.raises(ValueError, match="nothing to protect against"):
        riskcore.protect(data, KEYS, "w")
    result = riskcore.protect(data, KEYS, **how)
    with pytest.raises(TypeError, match="which records are unsafe: single records"):
        _ = result.unsafe
    with pytest.raises(TypeError, match="single records"):
        _ = result.protected.individual_risk
    with pytest.raises(TypeError, match="single records"):
        _ = result.original.records


def test_more_cells_than_fit_the_memory_are_refused(engine, monkeypatch):
    monkeypatch.setattr("riskcore.protection.records.on_engine.BYTES", 1 << 50)
    with pytest.raises(MemoryError, match="more than 0 cells of these keys"):
        riskcore.protect(engine.hold(survey()), KEYS, "w", k=3)


def test_names_that_differ_by_case(engine):
    table = pa.table({"Age": [1, 2, 1, 3], "age": [5, 5, 6, 6], "w": [2.0] * 4})
    if not engine.case_blind:
        want = riskcore.protect(table, ["Age", "age"], "w", threshold=0.5)
        got = riskcore.protect(engine.hold(table), ["Age", "age"], "w", threshold=0.5)
        assert engine.collect(got.data).to_pydict() == want.data.to_pydict()
        assert want.suppressed["Age"] > 0
        return
    with pytest.raises(Exception, match=r"(?i)differ only in case|ambiguous|no column"):
        riskcore.protect(engine.hold(table), ["Age", "age"], "w", threshold=0.5)


def bytes_written(data, table, path):
    """Return the bytes of a file of the data, which the engine writes if it is duckdb.

    In an Arrow table from duckdb, memory under a null can hold any old value.
    """
    for write in ("write_parquet", "to_parquet"):
        if hasattr(data, write):
            getattr(data, write)(str(path), compression="uncompressed")
            return path.read_bytes()
    with (
        pa.OSFile(str(path), "wb") as file,
        pa.ipc.new_stream(file, table.schema) as to,
    ):
        to.write_table(table)
    return path.read_bytes()


def test_what_was_blanked_is_gone(engine, tmp_path):
    """Not under a null either, nor in a list of categories."""
    rare = "the only one that is so rare, and long enough to stand apart"
    common = ["this is common, and also a long text", "this one is as common as that"]
    number = 7_234_567_890_123_456_789
    labels = [*common * 10, rare, *common * 10]
    table = pa.table(
        {
            "id": list(range(41)),
            "text": labels,
            "kind": pa.array(labels).dictionary_encode(),
            "number": [*[1, 2] * 10, number, *[1, 2] * 10],
        }
    )
    keys = [["text"], ["kind"], ["number"]]
    result = riskcore.protect(engine.hold(table), keys, threshold=0.5)
    assert result.suppressed == {"text": 1, "kind": 1, "number": 1}
    back = engine.collect(result.data)
    assert [back[name].null_count for name in back.column_names] == [0, 1, 1, 1]
    raw = bytes_written(result.data, back, tmp_path / "written")
    assert rare.encode() not in raw
    assert number.to_bytes(8, "little") not in raw
    assert common[0].encode() in raw
    told = f"{result!r} {result.verdict} {result._repr_html_()} {result.to_dict()}"
    told += f"{result.data!r} {result.data}"
    assert rare not in told
    assert str(number) not in told
    assert rare not in str(back.schema)


def test_other_columns_are_named_as_not_checked(engine):
    with pytest.warns(ColumnsNotChecked, match="'id', 'born', 'income', 'w' or the or"):
        result = riskcore.protect(engine.hold(survey()), KEYS, "w", threshold=0.02)
    assert result.not_checked == ("id", "born", "income", "w")
    assert result.to_dict()["not_checked"] == ["id", "born", "income", "w"]
    (said,) = result.judgment.not_judged
    assert said.startswith("whether suppressed or recoded")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ColumnsNotChecked)
        result = riskcore.protect(engine.hold(survey()), KEYS, "w", threshold=0.9)
    assert result.not_checked == ()
    assert result.judgment.not_judged == ()


def telling(n=600):
    """Return records with two columns that show the region, and one its places."""
    rng = np.random.default_rng(8)
    region = np.sort(rng.integers(0, 6, n))
    return pa.table(
        {
            "id": range(n),
            "region": region,
            "province": [f"p{one}" for one in region],
            "age": rng.integers(0, 40, n),
            "number": 1000 + np.arange(n),
            "noise": rng.integers(0, 5, n),
            "w": rng.integers(10, 90, n).astype(float),
        }
    )


def test_what_keys_and_other_columns_tell_is_what_it_is_in_memory(engine):
    table = telling()
    keys = [["region", "age"], ["province"]]
    how = {"weight": "w", "threshold": 0.02, "cost": {"age": 90, "region": 1}}
    how["population"] = "weights"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = riskcore.protect(table, keys, **how).shown
    with pytest.warns(SuppressedValueShows, match="'region' show in 'province'"):
        result = riskcore.protect(engine.hold(table), keys, **how)
    parts = ("region", "province", "age")
    assert result.shown == tuple(one for one in want if one.column in parts)
    assert result.shown
    others = ["number", "noise", "w"]
    found = shown_in(result, result.shown, others)
    assert set(found) == {one for one in want if one.column in others}
    assert {one.column for one in found} == {"number"}
    assert shown_in(result, result.shown, ["province"]) == [*result.shown]


COARSE = {"region": Recoding.intervals([2], [0, 1])}


def test_what_shows_codes_before_recoding(engine):
    table = telling()
    how = {"weight": "w", "threshold": 0.02, "recodings": COARSE}
    how["population"] = "weights"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = riskcore.protect(table, ["region", "age"], **how).shown
    result = riskcore.protect(engine.hold(table), ["region", "age"], **how)
    found = shown_in(result, result.shown, ["province", "number", "noise"])
    assert set(found) == {
        one for one in want if one.column in ("province", "number", "noise")
    }
    assert ("province", "finer") in {(one.column, one.rule) for one in found}


def test_what_shows_codes_before_recoding_of_another_column(engine):
    table = telling()
    how = {"weight": "w", "threshold": 0.02, "recodings": COARSE}
    how["population"] = "weights"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = riskcore.protect(table, ["province", "age"], **how).shown
    result = riskcore.protect(engine.hold(table), ["province", "age"], **how)
    assert result.not_checked == tuple(table.column_names)
    found = shown_in(result, result.shown, table.column_names)
    # A key without blanks, and two columns that are not keys.
    for column in ("age", "number", "noise"):
        assert {one for one in found if one.column == column} == {
            one for one in want if one.column == column
        }
    told = {(one.key, one.column, one.rule) for one in found}
    assert ("region", "number", "finer") in told
    assert ("region", "province", "finer") in told  # though values of it are blanked


def test_warned_of_rules_that_fit_nothing(engine):
    rules = {"income": Recoding.mapping({-5: 0}), "age": Recoding.mapping({99: 0})}
    with pytest.warns(DoubtfulRules) as caught:
        riskcore.protect(
            engine.hold(survey()), KEYS, "w", threshold=0.02, recodings=rules
        )
    said = {str(one.message)[:14] for one in caught if "no code" in str(one.message)}
    assert said == {"variable 'inco", "variable 'age'"}


def test_what_the_engine_gives_is_counted_again(engine, monkeypatch):
    """A join that leaves a value behind is seen, whatever the plan says."""

    monkeypatch.setattr(Engine, "change", lambda self, *_: self.native)
    with pytest.raises(RuntimeError, match="so nothing is returned"):
        riskcore.protect(engine.hold(survey()), KEYS, "w", threshold=0.02)


@pytest.mark.parametrize(("keys", "threshold"), [(KEYS, 0.02), (["sex"], 0.9)])
def test_data_that_change_meanwhile_are_refused(keys, threshold):
    """Also if nothing is blanked."""
    frames = iter([*[survey(seed=3)] * 2, survey(seed=4)])
    schema = polars.from_arrow(survey()).schema

    def read(_):
        return polars.from_arrow(next(frames))

    lazy = polars.LazyFrame(schema=schema).map_batches(
        read, predicate_pushdown=False, projection_pushdown=False
    )
    with pytest.raises(
        RuntimeError, match=r"the data that were verified.*changed meanwhile"
    ):
        riskcore.protect(lazy, keys, "w", threshold=threshold)


@pytest.mark.parametrize(
    "changed",
    [
        {"a": [1, 1, 2, 2, 3, 9]},  # a value that is not there
        {"b": ["x", "x", "y", "y", "x", "y"]},  # a cell that is not there
        {"a": [1, 1, 2, 2, 2, 3], "b": ["x", "x", "y", "y", "y", "x"]},  # other counts
        {"a": [1, 1, 2, 2, 2, 2], "b": ["x", "x", "y", "y", "y", "y"]},  # one missing
        {"w": [2.0, 2.0, 2.0, 3.0, 2.0, 2.0]},  # another weight
    ],
)
def test_other_cells_than_those_verified_are_refused(changed, monkeypatch):
    data = {"a": [1, 1, 2, 2, 3, 3], "b": ["x", "x", "y", "y", "x", "x"]}
    data["w"] = [2.0] * 6
    given = polars.LazyFrame(data)
    monkeypatch.setattr(Engine, "change", lambda *_: given)
    riskcore.protect(polars.LazyFrame(data), ["a", "b"], "w", k=2)
    given = polars.LazyFrame(data | changed)
    with pytest.raises(RuntimeError, match="so nothing is returned"):
        riskcore.protect(polars.LazyFrame(data), ["a", "b"], "w", k=2)


def test_two_results_at_once(engine):
    """Relations of one connection share its names: one must not show in another."""
    how = {"weight": "w", "threshold": 0.02, "recodings": {"age": YOUNG}}
    tables = survey(seed=3), survey(n=300, seed=9)
    held = [riskcore.protect(engine.hold(one), KEYS, **how).data for one in tables]
    for table, data in zip(tables, held, strict=True):
        want = riskcore.protect(table, KEYS, **how).data
        back = engine.collect(data)
        assert sorted(back["id"].to_pylist()) == sorted(want["id"].to_pylist())
        assert back["sex"].null_count == want["sex"].null_count
        assert set(back["age"].to_pylist()) == set(want["age"].to_pylist())


@needs.engine("duckdb")
def test_lists_of_categories_hold_what_is_left():
    duckdb = import_module("duckdb")
    kinds = ["b", "it's a", "rare", "unused"]
    values = [*["it's a", "b"] * 9, "rare", None]
    frame = polars.LazyFrame({"k": polars.Series(values, dtype=polars.Enum(kinds))})
    found = riskcore.protect(frame, ["k"], threshold=0.5)
    assert found.suppressed == {"k": 1}
    assert found.data.collect_schema()["k"] == polars.Enum(["b", "it's a"])
    assert found.data.collect()["k"].to_list() == [*["it's a", "b"] * 9, None, None]
    connection = duckdb.connect()
    listed = ", ".join("'" + one.replace("'", "''") + "'" for one in kinds)
    connection.execute(f"CREATE TYPE kind AS ENUM ({listed})")
    plain = pa.table({"k": values})
    rows = connection.from_arrow(plain).project("k::kind AS k")
    found = riskcore.protect(rows, ["k"], threshold=0.5)
    assert found.suppressed == {"k": 1}
    (dtype,) = found.data.types
    assert dict(dtype.children)["values"] == ["b", "it's a"]
    assert found.data.to_arrow_table()["k"].null_count == 2
    # All of them are blanked: no category is left.
    alone = connection.from_arrow(pa.table({"k": ["b"]})).project("k::kind AS k")
    found = riskcore.protect(alone, ["k"], threshold=0.5)
    assert found.data.fetchall() == [(None,)]


@needs.engine("duckdb")
def test_the_order_of_categories_is_kept():
    duckdb = import_module("duckdb")
    sizes = ["low", "mid", "unused", "high"]
    values = ["mid" if i == 5 else ["high", "low"][i % 2] for i in range(41)]
    data = duckdb.connect().from_arrow(pa.table({"k": values}))
    data = data.project(f"k::ENUM ({', '.join(map(repr, sizes))}) AS k")
    (dtype,) = riskcore.protect(data, ["k"], threshold=0.5).data.types
    assert dict(dtype.children)["values"] == ["low", "high"]
    data = polars.LazyFrame({"k": polars.Series(values, dtype=polars.Enum(sizes))})
    found = riskcore.protect(data, ["k"], threshold=0.5)
    assert found.data.collect_schema()["k"] == polars.Enum(["low", "high"])


def test_polars_does_it_in_a_stream(tmp_path):
    table = survey(800)
    polars.from_arrow(table).write_parquet(tmp_path / "survey.parquet")
    how = {"threshold": 0.008, "recodings": {"region": OTHER}}
    want = riskcore.protect(table, KEYS, "w", **how)
    lazy = polars.scan_parquet(tmp_path / "survey.parquet")
    got = riskcore.protect(lazy, KEYS, "w", **how)
    assert sum(want.suppressed.values()) > 0
    got.data.sink_parquet(tmp_path / "safe.parquet")
    back = polars.read_parquet(tmp_path / "safe.parquet")
    assert back.equals(polars.from_arrow(want.data))


@pytest.mark.parametrize("goal", [{"threshold": 0.02}, {"k": 3}])
def test_the_model_decides_the_same_where_weights_are_equal(goal):
    rng = np.random.default_rng(3)
    n, levels = 3000, {"age": 60, "region": 12, "sex": 2}
    data = {name: rng.integers(0, most, n) for name, most in levels.items()}
    frame = polars.DataFrame({**data, "w": np.full(n, 20.0)})
    here, there = (
        riskcore.protect(one, [*levels], "w", **goal) for one in (frame, frame.lazy())
    )
    assert here.protected.model is not None
    assert here.suppressed == there.suppressed
    figures = [one.protected.expected_reidentifications for one in (here, there)]
    assert figures[0] == figures[1]
