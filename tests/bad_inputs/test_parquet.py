"""Damaged Parquet files, and columns of types that a role cannot have."""

import datetime as dt
import decimal
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from riskcore import Reading, assess, tabulate


def packed(table, **options):
    target = io.BytesIO()
    pq.write_table(table, target, **options)
    return target.getvalue()


WHOLE = packed(pa.table({"a": ["1", "2"], "w": [1.0, 2.0]}))
FILES = {
    "empty": (b"", "s.parquet"),
    "only a magic": (b"PAR1", "s.parquet"),
    "two magics": (b"PAR1PAR1", "s.parquet"),
    "cut at the end": (WHOLE[:-1], "s.parquet"),
    "cut in the middle": (WHOLE[: len(WHOLE) // 2], "s.parquet"),
    "without its begin": (WHOLE[50:], "s.parquet"),
    "magic of encrypted files": (b"PARE" + WHOLE[4:-4] + b"PARE", "s.parquet"),
    "wrong magic": (WHOLE[:-4] + b"PAR2", "s.parquet"),
    "huge footer": (WHOLE[:-8] + b"\xff\xff\xff\x7fPAR1", "s.parquet"),
    "negative footer": (WHOLE[:-8] + b"\xff\xff\xff\xffPAR1", "s.parquet"),
    "rubbish for a footer": (WHOLE[:4] + b"\xa5" * (len(WHOLE) - 12) + WHOLE[-8:],
                             "s.parquet"),
    "zeros": (b"\0" * 1000, "s.parquet"),
    "CSV": (b"a,b\n1,2\n", "s.parquet"),
    "Feather": (b"ARROW1\0\0" + b"\0" * 100 + b"ARROW1", "s.parquet"),
    "no rows": (packed(pa.table({"a": pa.array([], pa.string())})), "no records"),
    "no columns": (packed(pa.table({})), "no column 'a'"),
    "name twice": (packed(pa.table([["1"], ["2"]], names=["a", "a"])),
                   "column names given twice: a"),
    "another name": (packed(pa.table({"A": ["1"]})), "did you mean 'A'"),
}  # fmt: skip


@pytest.mark.parametrize("case", FILES)
def test_file_is_refused(case, folder, refused):
    content, phrase = FILES[case]
    (folder / "s.parquet").write_bytes(content)
    refused("assess", "s.parquet", "--keys", "a", phrases=["s.parquet", phrase]
            if phrase != "no records" else phrase)  # fmt: skip


@pytest.mark.parametrize(
    ("option", "phrase"),
    [
        (["--delimiter", ";"], "only a CSV has a delimiter"),
        (["--decimal", ","], "only CSV and Excel files have a decimal mark"),
    ],
)
def test_options_of_csv(option, phrase, folder, refused):
    (folder / "s.parquet").write_bytes(WHOLE)
    refused("assess", "s.parquet", "--keys", "a", *option, phrases=phrase)


DAY = dt.date(2020, 1, 1)
COLUMNS = {
    "list": pa.array([[1], [2], [1]]),
    "large list": pa.array([[1], [2], [1]], pa.large_list(pa.int64())),
    "list of fixed size": pa.array([[1], [2], [1]], pa.list_(pa.int64(), 1)),
    "struct": pa.array([{"x": 1}, {"x": 2}, {"x": 1}]),
    "map": pa.array([[(1, 2)], [(2, 3)], [(1, 2)]], pa.map_(pa.int64(), pa.int64())),
    "binary": pa.array([b"1", b"2", b"1"]),
    "decimal": pa.array([decimal.Decimal("1.5"), decimal.Decimal(2), None]),
    "time": pa.array([dt.time(1), dt.time(2), dt.time(1)]),
    "date": pa.array([DAY, DAY, None]),
    "timestamp": pa.array([0, 1, 0], pa.timestamp("ns")),
    "zoned": pa.array([0, 1, 0], pa.timestamp("us", "Europe/Rome")),
    "duration": pa.array([0, 1, 0], pa.duration("s")),
    "null": pa.array([None, None, None]),
    "bool": pa.array([True, False, True]),
    "half": pa.array([1.5, 2.0, None], pa.float32()).cast(pa.float16()),
    "text": pa.array(["1", "2", "1"]),
    "categories": pa.array(["1", "2", None]).dictionary_encode(),
    "large integers": pa.array([2**53 + 1, 2**63 - 1, 1]),
    "unsigned": pa.array([2**64 - 1, 1, 2], pa.uint64()),
    "nan": pa.array([float("nan"), 1.0, 2.0]),
    "inf": pa.array([float("inf"), 1.0, 2.0]),
    "negative": pa.array([-1.0, 1.0, 2.0]),
    "null number": pa.array([None, 1.0, 2.0]),
    "null integer": pa.array([None, 1, 2]),
    "sum overflows": pa.array([1.7e308, 1.7e308, 1.0]),
}

# A phrase of the error, or the number of cells, as a key with missing a category.
KEYS = {
    "list": "key 'x'", "large list": "key 'x'", "list of fixed size": "key 'x'",
    "struct": "key 'x'", "map": "key 'x'", "binary": 2, "decimal": 3, "time": 2,
    "date": 2, "timestamp": 2, "zoned": 2, "duration": 2, "null": 1, "bool": 2,
    "half": 3, "text": 2, "categories": 3, "large integers": 3, "unsigned": 3, "nan": 3,
    "inf": 3, "negative": 3, "null number": 3, "null integer": 3, "sum overflows": 2,
}  # fmt: skip

# A phrase of the error, or the sum of the weights.
WEIGHTS = {
    "list": "weight 'x'", "large list": "weight 'x'",
    "list of fixed size": "weight 'x'",
    "struct": "weight 'x'", "map": "weight 'x'", "binary": "weight 'x'",
    "decimal": "1 missing in 3 records", "time": "weight 'x'", "date": "weight 'x'",
    "timestamp": "weight 'x'", "zoned": "weight 'x'", "duration": "weight 'x'",
    "null": "weight 'x'", "bool": "weight 'x'", "half": "1 missing", "text": 4.0,
    "categories": "1 missing in 3 records", "large integers": 2.0**53 + 2.0**63 + 1,
    "unsigned": 2.0**64 + 3, "nan": "1 missing", "inf": "1 infinite",
    "negative": "1 negative", "null number": "1 missing in 3 records",
    "null integer": "1 missing in 3 records", "sum overflows": "overflows",
}  # fmt: skip

# A phrase of the error, or the number of households.
HOUSEHOLDS = {
    "list": "'x'", "large list": "'x'", "list of fixed size": "'x'", "struct": "'x'",
    "map": "'x'", "binary": 2, "decimal": "missing in 1 of 3 records", "time": 2,
    "date": "missing in 1 of 3", "timestamp": 2, "zoned": 2, "duration": 2,
    "null": "missing in 3 of 3", "bool": 2, "half": "missing in 1 of 3", "text": 2,
    "categories": "missing in 1 of 3 records", "large integers": 3, "unsigned": 3,
    "nan": "missing in 1 of 3", "inf": 3, "negative": 3,
    "null number": "missing in 1 of 3", "null integer": "missing in 1 of 3",
    "sum overflows": 2,
}  # fmt: skip


@pytest.fixture
def file(request, folder):
    table = pa.table({"k": ["1", "1", "1"], "x": COLUMNS[request.param]})
    pq.write_table(table, folder / "s.parquet")
    return str(folder / "s.parquet"), request.param


every = pytest.mark.parametrize("file", COLUMNS, indirect=True)


@every
def test_key(file, raises):
    path, case = file
    expected = KEYS[case]
    if isinstance(expected, str):
        raises(lambda: tabulate(path, ["x"], missing="category"), expected)
    else:
        cells = tabulate(path, ["x"], missing="category")
        assert (cells.n, len(cells)) == (3, expected)


@every
def test_weight(file, raises):
    path, case = file
    expected = WEIGHTS[case]
    if isinstance(expected, str):
        raises(lambda: tabulate(path, ["k"], "x"), "'x'", expected)
    else:
        cells = tabulate(path, ["k"], "x", reading=Reading(weight_scale=1))
        assert cells.population_frequency.sum() == expected


@every
def test_household(file, raises):
    path, case = file
    expected = HOUSEHOLDS[case]
    if isinstance(expected, str):
        raises(lambda: assess(path, ["k"], None, "x"), expected)
    else:
        assert len(assess(path, ["k"], None, "x").households) == expected


def test_dictionary_with_unused_and_null_labels():
    indices = pa.array([0, 2, 0, None], pa.int8())
    labels = pa.array(["1", "unused", None])
    column = pa.DictionaryArray.from_arrays(indices, labels)
    # In memory, for Arrow writes no null label.
    cells = tabulate(pa.table({"a": column}), ["a"], missing="category")
    assert [list(one) for one in cells.categories] == [["1", None]]
    assert cells.records.tolist() == [2, 2]
