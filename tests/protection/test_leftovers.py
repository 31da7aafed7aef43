"""A suppressed value is nowhere left: not in the data, nor in files."""

import json
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from riskcore import protect
from riskcore.data.blank import blank
from riskcore.data.files import formats
from riskcore.protection.result import SuppressedValueShows

SECRET = "SECRETVALUE"
LONG = SECRET * 9  # which some holders keep elsewhere
VALUES = [SECRET, *["common", "other"] * 20]
MASK = np.array([True] + [False] * 40)


def series(*, values=VALUES, **options):
    return pd.DataFrame({"k": pd.Series(values, **options)})


CODED = pa.dictionary(pa.int32(), pa.string())
HOLDERS = {
    "list": lambda: {"k": VALUES},
    "tuple": lambda: {"k": tuple(VALUES)},
    "numpy text": lambda: {"k": np.array(VALUES)},
    "numpy objects": lambda: {"k": np.array(VALUES, object)},
    "numpy bytes": lambda: {"k": np.array(VALUES, "S")},
    "numpy strings": lambda: {"k": np.array(VALUES, np.dtypes.StringDType())},
    "masked text": lambda: {"k": np.ma.array(VALUES, mask=np.roll(MASK, 5))},
    "masked objects": lambda: {"k": np.ma.array(np.array(VALUES, object), mask=False)},
    "pandas objects": lambda: series(dtype=object),
    "pandas text": lambda: series(dtype="string"),
    "pandas str": lambda: series(dtype="str"),
    "pandas arrow": lambda: series(dtype=pd.ArrowDtype(pa.string())),
    "pandas arrow dictionary": lambda: series(dtype=pd.ArrowDtype(CODED)),
    "pandas categories": lambda: pd.DataFrame({"k": pd.Categorical(VALUES)}),
    "pandas series": lambda: {"k": pd.Series(pd.Categorical(VALUES))},
    "polars text": lambda: pl.DataFrame({"k": VALUES}),
    "polars categories": lambda: pl.DataFrame(
        {"k": pl.Series(VALUES, dtype=pl.Categorical)}
    ),
    "polars enum": lambda: pl.DataFrame(
        {"k": pl.Series(VALUES, dtype=pl.Enum(sorted(set(VALUES))))}
    ),
    "polars series": lambda: {"k": pl.Series(VALUES)},
    "arrow text": lambda: pa.table({"k": VALUES}),
    "arrow dictionary": lambda: pa.table({"k": pa.array(VALUES).dictionary_encode()}),
    "arrow chunks": lambda: pa.table(
        {
            "k": pa.chunked_array(
                pa.array(part, pa.string()).dictionary_encode()
                for part in (VALUES[:3], [], VALUES[3:])
            )
        }
    ),
    "arrow slice": lambda: pa.table({"k": [SECRET + "0", *VALUES]}).slice(1),
}


def no_trace(content):
    """Tell whether no part of the text is in these bytes, in no encoding of it."""
    return not any(
        SECRET.encode(code) in content for code in ("utf-8", "utf-16-le", "utf-32-le")
    )


@pytest.mark.parametrize("holder", HOLDERS)
def test_in_memory(holder):
    data = HOLDERS[holder]()
    assert not no_trace(pickle.dumps(data))
    assert no_trace(pickle.dumps(blank(data, {"k": MASK})))


@pytest.mark.parametrize("kind", ["large_string", "string_view"])
def test_long_texts(kind):
    given = pa.array([LONG, *VALUES[1:]]).cast(getattr(pa, kind)())
    # narwhals cannot choose among views in pyarrow itself.
    holders = [pl.DataFrame] if kind == "string_view" else [pl.DataFrame, pa.table]
    for data in (make({"k": given}) for make in holders):
        assert not no_trace(pickle.dumps(data))
        assert no_trace(pickle.dumps(blank(data, {"k": MASK})))


NUMBER = 0x1122334455667788
NUMBERS = [NUMBER, *range(40)]
REAL = float(np.int64(NUMBER).view(np.float64))
OF_NUMBERS = {
    "numpy": lambda v: {"k": np.array(v)},
    "masked": lambda v: {"k": np.ma.array(v)},
    "pandas": lambda v: pd.DataFrame({"k": v}),
    "pandas nullable": lambda v: pd.DataFrame(
        {"k": pd.array(v, "Float64" if isinstance(v[0], float) else "Int64")}
    ),
    "pandas arrow": lambda v: series(values=v, dtype=pd.ArrowDtype(pa.array(v).type)),
    "polars": lambda v: pl.DataFrame({"k": v}),
    "polars times": lambda v: pl.DataFrame(
        {"k": pl.Series(v).cast(pl.Datetime("ns"))}
        if isinstance(v[0], int)
        else {"k": v}
    ),
    "arrow": lambda v: pa.table({"k": v}),
}


@pytest.mark.parametrize("holder", OF_NUMBERS)
@pytest.mark.parametrize("real", [False, True])
def test_numbers_under_a_mask(holder, real):
    data = OF_NUMBERS[holder]([REAL, *map(float, range(40))] if real else NUMBERS)
    trace = np.array([NUMBER]).tobytes()
    assert trace in pickle.dumps(data)
    for mask in (MASK, np.ones(41, bool)):
        blanked = blank(data, {"k": mask})
        assert trace not in pickle.dumps(blanked)


def test_notes_of_pandas_are_left_out():
    data = pd.DataFrame({"k": VALUES})
    data.attrs["values"] = [SECRET]
    assert no_trace(pickle.dumps(blank(data, {"k": MASK})))
    assert data.attrs == {"values": [SECRET]}


# Files


OTHER = ["x", "y"] * 20 + ["x"]


def protected(data):
    cost = {"k": 1, "o": 100}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SuppressedValueShows)
        # The file is the whole population: who knows all others fills the blank.
        accept = {"k": "a test"}
        result = protect(data, ["k", "o"], threshold=0.4, cost=cost, accept=accept)
    assert result.masks["k"].tolist() == MASK.tolist()
    return result


@pytest.mark.parametrize("holder", [one for one in HOLDERS if one != "numpy bytes"])
def test_results_in_memory(holder):
    data = HOLDERS[holder]()
    if holder.startswith("masked text"):
        data["k"].mask[:] = False
    if isinstance(data, pa.Table):
        data = data.append_column("o", pa.array(OTHER))
    elif isinstance(data, pl.DataFrame):
        data = data.with_columns(pl.Series("o", OTHER))
    else:
        data["o"] = OTHER
    result = protected(data)
    assert no_trace(pickle.dumps(result.data))
    for text in (repr(result), result._repr_html_(), json.dumps(result.to_dict())):
        assert no_trace(text.encode())
    assert SECRET not in "".join(map(str, result.shown))


def contents(path):
    """Return the bytes of a file, and all texts of a Parquet file uncompressed."""
    found = path.read_bytes()
    if path.suffix != ".parquet":
        return found
    table = pq.read_table(path, read_dictionary=["k"])
    file = pq.ParquetFile(path)
    notes = [repr(file.schema_arrow), repr(file.metadata.metadata)]
    for group in range(file.metadata.num_row_groups):
        columns = range(file.metadata.num_columns)
        notes += [repr(file.metadata.row_group(group).column(i)) for i in columns]
    return found + pickle.dumps(table) + "".join(notes).encode()


@pytest.mark.parametrize("target", ["safe.csv", "safe.parquet"])
@pytest.mark.parametrize("source", ["given.csv", "given.parquet"])
def test_files(tmp_path, source, target):
    path = tmp_path / source
    k = pa.array(VALUES).dictionary_encode()
    table = pa.table({"k": k, "o": OTHER})
    if path.suffix == ".parquet":
        schema = table.schema.with_metadata({"values": SECRET})
        pq.write_table(table.cast(schema), path, compression="none")
    else:
        formats.write(path, {"k": np.array(VALUES, object), "o": table["o"]})
    assert not no_trace(contents(path))
    result = protected(path)
    assert no_trace(pickle.dumps(result.data))
    result.write(tmp_path / target)
    assert no_trace(contents(tmp_path / target))


def test_files_of_mu_argus(tmp_path):
    (tmp_path / "s.rda").write_text(
        '<SEPARATOR> ","\n<NAMESINFRONT>\nk 11 99\n<RECODEABLE>\no 1 9\n<RECODEABLE>\n'
    )
    rows = [f"{k},{o}" for k, o in zip(VALUES, OTHER, strict=True)]
    (tmp_path / "s.asc").write_text("\n".join(["k,o", *rows]) + "\n")
    result = protected(tmp_path / "s.asc")
    result.write(tmp_path / "t.saf")
    written = [one for one in tmp_path.iterdir() if one.stem.startswith("t")]
    assert {one.suffix for one in written} >= {".saf", ".rds"}
    for one in written:
        assert no_trace(one.read_bytes())


def test_the_search_finds_it():
    for code in ("utf-8", "utf-16-le", "utf-32-le"):
        assert not no_trace(b"x" + SECRET.encode(code) + b"y")
    assert no_trace(b"common")
