"""What is written is read back: corruptions on the way to the file are caught."""

import csv
import gzip
import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from riskcore import Recoding, check, protect
from riskcore.data.columns import Records
from riskcore.data.files import csv_writer, formats
from riskcore.data.files.argus.metadata import read_metadata
from riskcore.data.files.arrow import array_of
from riskcore.data.files.reading import Reading
from riskcore.protection.release import layout, readback
from riskcore.protection.release.readback import ReadBackError
from tests import thin
from tests.accepted import ANY_LEAK

KEYS = ["sex", "age", "job"]
FORMATS = [
    "safe.csv", "safe.csv.gz", "safe.parquet", "safe.feather", "fixed.asc", "free.asc",
]  # fmt: skip
TYPED = (".parquet", ".feather")


# The address of the survey has them; its ids give the order back.
pytestmark = [
    pytest.mark.filterwarnings(
        "ignore::riskcore.data.files.formats.LineBreaksInFields"
    ),
    pytest.mark.filterwarnings(
        "ignore::riskcore.protection.result.SuppressedValueShows"
    ),
]


def survey(n=400):
    """Return records, some of them rare, with text that needs quotes."""
    random = np.random.default_rng(8)
    household = np.sort(random.integers(0, n // 2, n))
    return {
        "id": [str(1000 + i) for i in range(n)],
        "sex": random.choice(["1", "2"], n).tolist(),
        "age": [str(v) for v in random.geometric(0.1, n) + 10],
        "job": random.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1]).tolist(),
        "note": random.choice(
            ["plain", 'with "quotes"', "a,b", "two\nlines"], n
        ).tolist(),
        "w": [f"{v:.2f}" for v in random.uniform(5, 60, n)],
        "hh": [str(7000 + h) for h in household],
    }


@pytest.fixture
def source(tmp_path, monkeypatch):
    """Return a maker of protected files, whose source has the format of a target."""
    monkeypatch.chdir(tmp_path)

    def make(target, **more):
        data = survey()
        if target.endswith(".asc"):
            path = argus_source(data, free=target.startswith("free"))
        else:
            path = formats.write("survey.csv", data)
        roles = {"weight": "w", "household": "hh"}
        return protect(path, KEYS, threshold=0.03, **ANY_LEAK, **roles, **more)

    return make


@pytest.fixture
def spoil(monkeypatch):
    """Return a function that has text replaced on its way to the file, once a block."""
    write = csv_writer.rows_text

    def spoil(*pairs):
        def spoiled(*given):
            text = write(*given)
            for before, after in pairs:
                text = text.replace(before, after, 1)
            return text

        monkeypatch.setattr(csv_writer, "rows_text", spoiled)

    return spoil


def argus_source(data, *, free):
    """Write a survey as mu-Argus data, with its metadata."""
    data = {name: values for name, values in data.items() if name != "note"}
    widths = {name: max(map(len, values)) for name, values in data.items()}
    lines, start = ['<SEPARATOR> ";"', "<NAMESINFRONT>"] if free else [], 1
    for name, width in widths.items():
        place = f"{width}" if free else f"{start} {width}"
        lines.append(f"{name} {place}" + (" 99" if name == "age" else ""))
        lines.append(
            {"w": "  <WEIGHT>", "hh": "  <HOUSE_ID>"}.get(name, "  <RECODABLE>")
        )
        start += width
    Path("s.rda").write_text("\n".join(lines) + "\n")
    rows = zip(*data.values(), strict=True)
    text = [
        ";".join(row)
        if free
        else "".join(
            value.rjust(width)
            for value, width in zip(row, widths.values(), strict=True)
        )
        for row in rows
    ]
    Path("s.asc").write_text("\n".join([";".join(data)] * free + text) + "\n")
    return Path("s.asc")


def others_than_the_source():
    """Return the files that are not the source."""
    found = {path.name for path in Path.cwd().iterdir()}
    return found - {"survey.csv", "s.asc", "s.rda"}


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("target", FORMATS)
def test_what_is_right_is_written(source, target, shuffle):
    result = source(target)
    assert sum(result.suppressed.values()) > 20
    record = result.write(target, shuffle=shuffle)
    original = result.source.path
    found = check(target, record=f"{target}.private.json", original=original)
    (risk,) = [one for one in found.rules if one.rule == "threshold"]
    assert found.state == record["examined"]["state"]
    assert risk.found == result.protected.max_risk < 0.03
    safe = formats.read(target, KEYS)
    blanks = {name: array_of(safe[name]).null_count for name in KEYS}
    assert blanks == {name: result.suppressed[name] for name in KEYS}


def corrupt_lines(change, path):
    """Change the lines of a text file, which may be packed."""
    raw = path.read_bytes()
    packed = raw[:2] == b"\x1f\x8b"
    lines = (gzip.decompress(raw) if packed else raw).splitlines(keepends=True)
    text = b"".join(change(lines))
    path.write_bytes(gzip.compress(text) if packed else text)


def corrupt_table(change, path):
    """Change the table of a Parquet or Arrow file."""
    if path.read_bytes().startswith(b"ARROW1"):
        with pyarrow.ipc.open_file(path.read_bytes()) as file:
            table = change(file.read_all())
        with pyarrow.ipc.new_file(path, table.schema) as file:
            file.write_table(table, max_chunksize=90)
        return
    table = pyarrow.parquet.read_table(path)
    pyarrow.parquet.write_table(change(table), path, row_group_size=90)


def swapped(rows):
    """Swap two lines, or rows of a table."""
    order = np.arange(len(rows))
    order[[50, 120]] = order[[120, 50]]
    return [rows[i] for i in order] if isinstance(rows, list) else rows.take(order)


def one_changed(lines):
    """Change a digit of a record."""
    line = bytearray(lines[70])
    place = next(i for i in range(5, len(line)) if chr(line[i]).isdigit())
    line[place] = ord("0") if line[place] == ord("9") else line[place] + 1
    return [*lines[:70], bytes(line), *lines[71:]]


def one_cell(table):
    ages = table["age"].to_pylist()
    ages[70] = "1" if ages[70] is None else None
    place = table.column_names.index("age")
    return table.set_column(place, "age", pa.array(ages))


DAMAGE = {
    "a row dropped": (
        lambda lines: lines[:60] + lines[61:],
        lambda table: pa.concat_tables([table.slice(0, 60), table.slice(61)]),
    ),
    "a row twice": (
        lambda lines: [*lines[:60], lines[60], *lines[60:]],
        lambda table: pa.concat_tables([table.slice(0, 61), table.slice(60)]),
    ),
    "two rows swapped": (swapped, swapped),
    "a cell changed": (one_changed, one_cell),
    "cut off": (lambda lines: [*lines[:-1], lines[-1][:5]], lambda t: t.slice(0, 399)),
    "nothing": (lambda lines: [], lambda table: table.slice(0, 0)),
    "a line more": (
        lambda lines: [*lines, b"\n"],
        lambda table: pa.concat_tables([table, table.slice(0, 1)]),
    ),
}  # fmt: skip


# Every damage to every format, in one of the two orders.
@pytest.mark.parametrize(
    ("target", "damage", "shuffle"),
    thin.cases(
        itertools.product(FORMATS, DAMAGE, (False, True)),
        lambda target, damage, shuffle: (
            shuffle == (FORMATS.index(target) + [*DAMAGE].index(damage)) % 2
        ),
    ),
)
def test_damage_is_caught(source, monkeypatch, target, damage, shuffle):
    result = source(target)
    of_lines, of_table = DAMAGE[damage]
    typed = target.endswith(TYPED)
    write = layout.Layout.write

    def damaged(self, *arguments):
        parts = write(self, *arguments)
        if typed:
            corrupt_table(of_table, parts[0])
        else:
            corrupt_lines(of_lines, parts[0])
        return parts

    monkeypatch.setattr(layout.Layout, "write", damaged)
    with pytest.raises(ReadBackError, match="nothing is written") as caught:
        result.write(target, shuffle=shuffle)
    assert target in str(caught.value)
    assert others_than_the_source() == set()
    # Without the reading back it would have been written.
    monkeypatch.setattr(readback, "read_back", lambda *_, **__: None)
    result.write(target, shuffle=shuffle)
    assert target in others_than_the_source()


def test_a_cell_is_named_and_no_value(source, spoil):
    result = source("safe.csv")
    spoil(("1003,", "9993,"), ("1005,", "9995,"))
    with pytest.raises(ReadBackError) as caught:
        result.write("safe.csv")
    said = str(caught.value)
    assert "'id' in 2 records, first in record 4" in said
    assert "9993" not in said
    assert "1003" not in said


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('"two\nlines"', '"two\nlines', "nothing is written"),  # a quote is swallowed
        # For readers that distinguish the two, empty text is a value.
        (",,", ',"",', "in 1 records"),
    ],
)
def test_other_quotes_are_caught(source, spoil, before, after, message):
    result = source("safe.csv")
    spoil((before, after))
    with pytest.raises(ReadBackError, match=message):
        result.write("safe.csv")
    assert others_than_the_source() == set()


def test_empty_text_is_not_missing(tmp_path, monkeypatch, spoil):
    monkeypatch.chdir(tmp_path)
    text = "a,b,note\n" + '1,"",x\n1,,"say ""hi"", ""\n"\n2,"",""""""\n' * 20
    Path("s.csv").write_text(text)
    result = protect("s.csv", ["a"], threshold=0.5, **ANY_LEAK)
    result.write("t.csv")
    assert Path("t.csv").read_text() == text
    for before, after in (('"",x', ",x"), ('1,,"say', '1,"","say')):
        spoil((before, after))
        with pytest.raises(ReadBackError, match="'b' in 1 records"):
            result.write("u.csv")


def test_a_value_that_equals_a_missing_code(tmp_path, monkeypatch, spoil):
    monkeypatch.chdir(tmp_path)
    text = 'a,b\n1,"NA"\n1,NA\n2,x\n' * 20
    Path("s.csv").write_text(text)
    reading = Reading(missing_codes=["NA", "."])
    result = protect("s.csv", ["a"], threshold=0.5, reading=reading, **ANY_LEAK)
    for shuffle in (False, True):
        result.write("t.csv", shuffle=shuffle, overwrite=True)
        safe = formats.read("t.csv", reading=reading)["b"]
        assert safe.null_count == safe.to_pylist().count("NA") == 20
    spoil(('"NA"', "NA"))
    with pytest.raises(ReadBackError, match="'b' in 1 records, first in record 1"):
        result.write("u.csv")


def test_values_that_were_not_blanked(source, monkeypatch):
    # The writer and the comparison are given the unprotected values: masks see it.
    result = source("safe.csv")
    object.__setattr__(result, "rows", Records.of(result.source.data))
    with pytest.raises(ReadBackError, match=r"'(sex|age|job)' in \d+ records"):
        result.write("safe.csv")
    assert others_than_the_source() == set()


def test_one_column(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("s.csv").write_text("a,b\n" + "1,x\n" * 30 + "2,x\n")
    result = protect("s.csv", ["a"], threshold=0.5, **ANY_LEAK)
    assert result.suppressed == {"a": 1}
    with pytest.raises(ValueError, match="1 missing values of the only column, 'a'"):
        result.write("t.csv", drop=["b"])
    assert others_than_the_source() == {"s.csv"}
    result.write("t.parquet", drop=["b"])
    assert formats.read("t.parquet")["a"].null_count == 1
    result.write("t.csv", drop=["a"])
    assert Path("t.csv").read_text() == "b\n" + "x\n" * 31


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("target", ["t.csv", "t.parquet", "t.feather"])
def test_data_of_all_types(tmp_path, monkeypatch, make, target):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(3)
    n = 200
    data = make(
        {
            "k": random.integers(0, 5, n),
            "flag": random.random(n) < 0.5,
            "x": np.where(random.random(n) < 0.2, np.nan, random.normal(size=n)),
            "small": random.normal(size=n).astype(np.float32),
            "day": np.datetime64("2001-01-01") + random.integers(0, 900, n),
            "text": random.choice(["", "a", 'b"', "c,"], n).astype(object),
            "big": random.integers(0, 2**62, n),
        }
    )
    if make is pd.DataFrame:
        data["kind"] = pd.Categorical(random.choice(["u", "v"], n))
        data["whole"] = pd.array(random.integers(0, 9, n), "Int64")
    result = protect(data, ["k", "flag"], threshold=0.035)
    assert sum(result.suppressed.values()) > 0
    result.write(target, shuffle=True, allow_unsafe=True)


def test_long_fields(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    limit = csv.field_size_limit()
    rows = [f"{i % 3},{'x' * 200_000}" for i in range(9)]
    Path("s.csv").write_text("\n".join(["a,b", *rows]) + "\n")
    protect("s.csv", ["a"], threshold=0.9, **ANY_LEAK).write("t.csv")
    assert csv.field_size_limit() == limit


def test_encodings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for encoding in ("utf-8-sig", "cp1252", "utf-16"):
        Path("s.csv").write_text("Région;ü\n" + "é;1\nß;2\n" * 9, encoding=encoding)
        result = protect_in(encoding)
        result.write("t.csv", overwrite=True)
        assert Path("t.csv").read_text(encoding) == Path("s.csv").read_text(encoding)


def protect_in(encoding):
    from riskcore.data.source import Source
    from riskcore.protection.settings.settings import Settings

    source = Source.of("s.csv", Reading(encoding.removesuffix("-sig")))
    like = protect({"Région": ["é"]}, ["Région"], threshold=1.0, **ANY_LEAK)
    settings = Settings.from_dict(like.settings.to_dict())
    return protect(source, settings)


def test_recoded_mu_argus(source):
    result = source("fixed.asc", recodings={"age": Recoding.top_bottom(top=30)})
    result.write("fixed.asc", shuffle=True, drop=["id"])
    assert read_metadata("fixed.rds").names == ("sex", "age", "job", "w", "hh")


def test_columns_left_out_are_taken_from_memory(source):
    result = source("safe.csv")
    for drop in (["w"], ["hh"], ["w", "hh", "age"]):
        for shuffle in (False, True):
            record = result.write(
                "safe.csv", drop=drop, shuffle=shuffle, overwrite=True
            )
            assert record["safe"]
            largest = record["sets"][0]["risk"]["protected"]["max_risk"]
            assert largest == result.protected.max_risk
