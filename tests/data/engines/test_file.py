"""Large files counted in batches: the command prints the same as in memory."""

import datetime
import json
import sys
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import riskcore
from riskcore.data import source
from riskcore.data.engines.polars.large_file import LargeFile
from riskcore.data.files import formats
from riskcore.data.files.reading import Reading
from riskcore.data.source import Source
from riskcore.report.public_page import public_page

KEYS = ["region", "age", "rate", "own", "born", "job"]


def survey(n=1200, missing=True):
    rng = np.random.default_rng(8)

    def some(values):
        holes = rng.random(n) < 0.03 if missing else np.zeros(n, bool)
        return [None if hole else v for v, hole in zip(values, holes, strict=True)]

    days = [datetime.date(1970, 1, 1) + datetime.timedelta(d) for d in (-3, 0, 9000)]
    return pa.table({
        "region": some(rng.choice(["n", "s", "NA", " e", "e"], n).tolist()),
        "age": pa.array(some(rng.integers(-2, 5, n).tolist()), pa.int16()),
        "rate": some(rng.choice([0.0, -0.0, 1.5], n).tolist()),
        "own": some((rng.random(n) < 0.5).tolist()),
        "born": some([days[i] for i in rng.integers(0, 3, n)]),
        "job": pa.array(some(rng.choice(["a", "b"], n).tolist())).dictionary_encode(),
        "w": rng.lognormal(3, 1, n),
        "note": [f'"{i}", of {i % 7}' for i in range(n)],
    })  # fmt: skip


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "survey.parquet"
    pq.write_table(survey(), found, row_group_size=701)
    return found


@pytest.fixture
def both(run, monkeypatch):
    """Run a command in memory and in batches; both must do and say the same."""
    read = []
    weigh = LargeFile.weigh

    def noted(self, *asked):
        read.append(self)
        return weigh(self, *asked)

    monkeypatch.setattr(LargeFile, "weigh", noted)

    def command(*arguments):
        read.clear()
        monkeypatch.setattr(source, "IN_BATCHES", 1 << 24)
        whole = run(*arguments)
        assert not read
        monkeypatch.setattr(source, "IN_BATCHES", 1)
        parts = run(*arguments)
        assert read
        return whole, parts

    return command


def same(pair):
    """Return what a command did, in memory and in batches the same.

    In batches the columns without a role are not read, and that is said.
    """
    whole, parts = pair
    if '"not_examined"' not in whole[1]:
        assert parts == whole
        return parts
    in_memory, in_batches = (json.loads(one[1]) for one in pair)
    examined = [one["column"] for one in in_memory.pop("not_examined")]
    assert in_batches.pop("not_read") == examined
    assert in_batches == in_memory
    assert (parts[0], parts[2]) == (whole[0], whole[2])
    return parts


def test_columns_that_are_not_read_are_named(run, path, monkeypatch):
    monkeypatch.setattr(source, "IN_BATCHES", 1)
    _, out, _ = run("assess", path, "--keys", *KEYS[:3], "--weight", "w")
    said = " ".join(out.split())
    assert "as they have no role, and the file is counted in batches: " in said
    names = [name for name in formats.columns_of(path).names if name not in KEYS[:3]]
    assert all(name in said for name in names if name != "w")


RULES = ["--k", "3", "--max-risk", "0.05", "--max-rate", "0.01"]
AREAS = ["--min-population", "20000", "--area", "region", "age"]


COMMANDS = [["assess", "--json"], ["check", *RULES], ["check", *AREAS]]


@pytest.mark.parametrize("missing", ["category", "wildcard", "argus"])
@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_says_the_same(both, path, command, missing):
    name, *options = command
    keys = ["--keys", *KEYS, "--weight", "w", "--missing", missing]
    status, _, _ = same(both(name, path, *keys, *options))
    assert status < 2


@pytest.mark.parametrize("command", COMMANDS)
def test_missing_keys_are_refused(both, path, command):
    name, *options = command
    pair = both(
        name, path, "--keys", *KEYS, "--weight", "w", "--missing", "refuse", *options
    )
    # In memory the codes that look like missing ones are listed first.
    errors = [err.splitlines()[-1] for _, _, err in pair]
    assert "missing key values: 'region' in" in errors[0]
    assert errors[0] == errors[1]
    assert [status for status, _, _ in pair] == [2, 2]


def test_sets_of_keys_and_no_weight(both, path):
    keys = ["--keys", *KEYS[:3], "--keys", "job", "region", "--missing", "category"]
    status, out, _ = same(both("check", path, *keys, *RULES))
    assert status == 1
    assert out.count("maximum risk") == 2


def test_a_sampling_fraction_is_read_to_memory(run, path, monkeypatch):
    keys = ["--keys", *KEYS, "--missing", "category"]
    asked = ["assess", path, *keys, "--sampling-fraction", "1%", "--json"]
    whole = run(*asked)
    monkeypatch.setattr(source, "IN_BATCHES", 1)
    assert run(*asked) == whole
    assert whole[0] == 0
    assert '"weighted": true' in whole[1]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.parquet", "a.arrow"])
@pytest.mark.parametrize("missing", ["category", "wildcard"])
def test_records_are_written_as_they_pass(run, path, monkeypatch, name, missing):
    table = survey()
    if name == "a.arrow":  # whose dictionaries are those of the whole file
        table = table.set_column(5, "job", table["job"].cast(pa.string()))
        pq.write_table(table, path, row_group_size=701)
    asked = ["assess", path, "--keys", *KEYS, "--weight", "w", "--missing", missing]
    whole, parts = (path.parent / f"{kind}-{name}" for kind in ("whole", "parts"))
    assert run(*asked, "--output", whole)[0] == 0
    monkeypatch.setattr(source, "IN_BATCHES", 1)
    monkeypatch.setattr(
        formats.FileFormat, "read", lambda *_, **__: pytest.fail("read into memory")
    )
    assert run(*asked, "--output", parts)[0] == 0
    monkeypatch.undo()
    if "csv" in name or "tsv" in name:
        assert parts.read_bytes() == whole.read_bytes()
    one, other = formats.read(whole), formats.read(parts)
    assert one.schema.equals(other.schema)
    for column in one.column_names:
        assert one[column].to_pylist() == other[column].to_pylist(), column
    assert one.num_rows == table.num_rows


def test_a_folder_of_files(both, tmp_path):
    table = survey().drop_columns(["region"])
    for year, start in (("2020", 0), ("2021", 1000), ("__HIVE_DEFAULT_PARTITION__", 9)):
        folder = tmp_path / "set" / f"year={year}"
        folder.mkdir(parents=True)
        pq.write_table(table.slice(start, 950), folder / "a.parquet")
    keys = ["--keys", "year", "age", "job", "--weight", "w", "--missing", "category"]
    status, out, _ = same(both("assess", tmp_path / "set", *keys, "--json"))
    assert status == 0
    found = json.loads(out)
    assert found["intake"]["files"] == 3
    assert found["missing_values"]["year"] == 950
    # The columns of the folders alone.
    keys = ["--keys", "year", "--missing", "category"]
    _, out, _ = same(both("assess", tmp_path / "set", *keys, "--json"))
    assert json.loads(out)["cells"] == 3


def batched(path, keys, weight=None, reading=None):
    return Source.of(path, reading).in_batches([keys], weight)


@pytest.fixture
def always(monkeypatch):
    monkeypatch.setattr(source, "IN_BATCHES", 1)


@pytest.mark.usefixtures("always")
def test_what_batches_might_count_otherwise_is_read_into_memory(path, tmp_path):
    assert batched(path, KEYS, "w") is not None
    assert batched(path, KEYS, "w", Reading(missing_codes={"age": "9"})) is None
    assert batched(path, KEYS, "note") is None  # text
    rng = np.random.default_rng(3)
    wild = tmp_path / "wild.parquet"
    columns = {f"k{i}": rng.integers(0, 1000, 3000) for i in range(8)}
    weights = np.where(rng.random(3000) < 0.5, 1e-30, 1e30)
    pq.write_table(pa.table({**columns, "w": weights}), wild)
    assert batched(wild, ["k0"]) is not None
    assert batched(wild, ["k0"], "w") is None  # no sum of whole numbers has all bits
    assert batched(wild, list(columns)) is not None
    times = pa.table({"k": pa.array([1, 2], pa.timestamp("us")), "n": [[1], [2]]})
    pq.write_table(times, wild)
    assert batched(wild, ["k"]) is None
    assert batched(wild, ["n"]) is None
    csv = tmp_path / "a.csv"
    csv.write_text("a\n1\n")
    assert batched(csv, ["a"]) is None


def test_small_files_are_read_into_memory(path):
    assert batched(path, KEYS, "w") is None


@pytest.mark.usefixtures("always")
def test_households_and_reports_need_records(run, path):
    keys = ["assess", path, "--keys", "age", "--missing", "category"]
    assert run(*keys, "--household", "note")[0] == 0
    assert run(*keys, "--report", path.parent / "a.html")[0] == 0


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(
    ("weight", "fault"),
    [(-1.0, "1 negative"), (np.nan, "1 missing"), (np.inf, "1 infinite")],
)
def test_invalid_weights(run, path, weight, fault):
    pq.write_table(pa.table({"a": [1, 2, 3], "w": [1.0, weight, 2.0]}), path)
    status, _, err = run("assess", path, "--keys", "a", "--weight", "w")
    assert status == 2
    assert f"weight 'w': {fault} in 3 records" in err


@pytest.mark.usefixtures("always")
def test_a_missing_column(run, path):
    status, _, err = run("check", path, "--keys", "agee", "--k", "3")
    assert status == 2
    assert "age" in err
    assert str(path) in err


@pytest.mark.usefixtures("always")
def test_a_file_that_changes_or_is_damaged(path):
    engine = batched(path, KEYS, "w")
    whole = path.read_bytes()
    path.write_bytes(whole + b" ")
    with pytest.raises(ValueError, match="has changed since"):
        riskcore.assess(engine, KEYS, "w", missing="category")
    damaged = bytearray(whole)
    damaged[200:2000] = bytes(1800)
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match=r"survey\.parquet: "):
        batched(path, KEYS, "w")


@pytest.mark.usefixtures("always")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_riskiest_cells_are_those_of_memory(path, monkeypatch):
    monkeypatch.setattr("riskcore.data.engine_cells.MANY_CELLS", 0)
    engine = batched(path, KEYS, "w")
    result = riskcore.assess(engine, KEYS, "w", missing="category")
    want = riskcore.assess(survey(), KEYS, "w", missing="category")
    assert result.riskiest(25) == want.riskiest(25)
    assert not result.cells.collected


@pytest.mark.usefixtures("always")
def test_without_polars_a_large_file_is_read_into_memory(run, path, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    asked = ["assess", path, "--keys", "region", "--missing", "category", "--json"]
    status, out, err = run(*asked)
    assert status == 0
    assert "1,200 records are read into memory" in err
    assert 'pip install "riskcore[engines]"' in err
    assert '"not_examined"' in out


@pytest.mark.usefixtures("always")
def test_columns_that_polars_does_not_read(run, path):
    wide = pa.array([Decimal(1)] * 1200, pa.decimal256(50, 3))
    pq.write_table(survey().append_column("wide", wide), path)
    assert batched(path, KEYS, "w") is not None
    target = path.parent / "risk.parquet"
    asked = ["assess", path, "--keys", "job", "--missing", "category"]
    assert run(*asked, "--output", target)[0] == 0
    assert pq.read_table(target)["wide"].to_pylist() == wide.to_pylist()


@pytest.mark.usefixtures("always")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("missing", ["category", "wildcard"])
def test_a_path_is_counted_in_batches_too(path, missing):
    """A record's risk is read in the order of the file when it is asked for."""
    found = riskcore.assess(path, KEYS, "w", missing=missing)
    want = riskcore.assess(survey(), KEYS, "w", missing=missing)
    assert isinstance(found.data, LargeFile)
    assert found.figures == {**want.figures, "intake": found.figures["intake"]}
    assert found.individual_risk.tobytes() == want.individual_risk.tobytes()
    assert (found.unsafe(0.01) == want.unsafe(0.01)).all()
    names = found.records.column_names
    assert public_page(found) == public_page(want)
    assert found.records.to_pydict() == want.records.select(names).to_pydict()
