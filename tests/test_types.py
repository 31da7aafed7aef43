"""One rare value of every type: suppressed, written and read back, or refused by name.

`Protected.write` compares every cell of the file with what should be there.
"""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute
import pytest

import riskcore
from tests.accepted import ANY_LEAK

PLACES = np.array([0] * 20 + [1] * 19 + [2])
FIRST = np.arange(len(PLACES)) == 0
DAYS = [dt.date(2020, 1, 1), dt.date(2020, 1, 2), dt.date(2021, 1, 1)]


def column_of(*three):
    return [three[place] for place in PLACES]


NUMBERS, TEXT = column_of(1, 2, 3), column_of("x", "y", "z")
NUMPY = [
    *("int8", "uint8", "int64", "uint64", "float16", "float32", "float64"),
    *(">i4", ">f8", "M8[ns]", ">M8[ns]", "M8[D]", "m8[s]"),
]
PANDAS = [
    *("int8", "Int64", "UInt8", "float32", "Float64", "string", "category"),
    *("int64[pyarrow]", "float[pyarrow]", "datetime64[ns]", "datetime64[us, UTC]"),
]
POLARS = [
    *(pl.Int8, pl.UInt64, pl.Float32, pl.Date, pl.Datetime("ns"), pl.Time),
    *(pl.Datetime("us", "UTC"), pl.Duration("ms"), pl.Decimal(10, 2)),
]
POLARS_TEXT = [pl.String, pl.Categorical, pl.Enum(["z", "y", "x"]), pl.Binary]
ARROW = [
    *(pa.int8(), pa.uint64(), pa.float32(), pa.timestamp("ns"), pa.duration("s")),
    *(pa.timestamp("us", "Europe/Berlin"), pa.time64("ns"), pa.decimal128(30, 2)),
]
ARROW_TEXT = [
    *(pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.binary_view()),
    *(pa.dictionary(index, pa.string()) for index in (pa.int8(), pa.uint8())),
]

COLUMNS = {
    **{f"numpy {kind}": np.array(NUMBERS).astype(kind) for kind in NUMPY},
    "numpy text": np.array(TEXT),
    "numpy strings": np.array(TEXT, np.dtypes.StringDType()),
    "numpy bytes": np.array(column_of(b"x", b"y", b"z")),
    "masked": np.ma.array(NUMBERS, mask=FIRST),
    "masked floats": np.ma.array(NUMBERS, float, mask=FIRST),
    "list": NUMBERS,
    "list of dates": column_of(*DAYS),
    "objects": np.array(column_of(Decimal("1.5"), Decimal(2), Decimal(3)), object),
    "nan": np.where(FIRST, np.nan, NUMBERS),
    "masked nan": np.ma.array(np.where(FIRST, np.nan, NUMBERS), mask=False),
    "pandas nan": pd.Series(NUMBERS).where(~FIRST),
    "text nan": np.where(FIRST, np.nan, np.array(TEXT, object)),
    **{f"pandas {kind}": pd.Series(NUMBERS).astype(kind) for kind in PANDAS},
    "pandas categories": pd.Series(TEXT, dtype="category"),
    **{f"polars {kind}": pl.Series(NUMBERS).cast(kind) for kind in POLARS},
    **{f"polars {kind}": pl.Series(TEXT).cast(kind) for kind in POLARS_TEXT},
    **{f"arrow {kind}": pa.chunked_array([NUMBERS]).cast(kind) for kind in ARROW},
    **{f"arrow {kind}": pa.chunked_array([TEXT]).cast(kind) for kind in ARROW_TEXT},
    "arrow runs": pa.chunked_array([pa.compute.run_end_encode(pa.array(TEXT))]),
}


def protected(column):
    """Suppress the rare value of a column."""
    data = {"rare": column, "other": column_of("a", "a", "a")}
    return riskcore.protect(data, ["rare", "other"], threshold=0.1, **ANY_LEAK)


@pytest.mark.parametrize("name", ["safe.csv", "safe.parquet"])
@pytest.mark.parametrize("kind", COLUMNS)
def test_a_rare_value_is_suppressed_and_written(kind, name, tmp_path):
    result = protected(COLUMNS[kind])
    assert result.suppressed == {"rare": 1, "other": 0}
    assert result.write(tmp_path / name)["output"]["sha256"]


REFUSED = {
    "numpy longdouble": np.array(NUMBERS, np.longdouble),
    "numbers beside text": np.array(column_of(1, "x", 2.5), object),
    "pandas intervals": pd.Series(
        pd.IntervalIndex.from_arrays(NUMBERS, column_of(2, 3, 4))
    ),
    "pandas mixed": pd.Series(column_of(1, "x", 2.5), dtype=object),
    "polars objects": pl.Series(column_of(*map(Decimal, (1, 2, 3))), dtype=pl.Object),
    "polars Int128": pl.Series(NUMBERS).cast(pl.Int128),
}


@pytest.mark.parametrize("name", ["safe.csv", "safe.parquet"])
@pytest.mark.parametrize("kind", REFUSED)
def test_a_type_that_no_file_holds_is_refused_by_name(kind, name, tmp_path):
    result = protected(REFUSED[kind])
    with pytest.raises(TypeError, match="column 'rare' cannot be written"):
        result.write(tmp_path / name)
    assert not [*tmp_path.iterdir()]


def test_what_only_parquet_holds(tmp_path):
    pairs = pd.Series(column_of((1, 2), (2, 3), (3, 4)))
    months = pd.Series(
        pd.PeriodIndex(column_of("2020-01", "2020-02", "2021-01"), freq="M")
    )
    for column in (pairs, months):
        path = tmp_path / "safe.parquet"
        assert protected(column).write(path, overwrite=True)["verdict"]
    with pytest.raises(TypeError, match=r"column 'rare' of list<.*> cannot be written"):
        protected(pairs).write(tmp_path / "safe.csv")
