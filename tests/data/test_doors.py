"""Data with a stream or an array of Arrow, and Datasets of xarray."""

import io
from fractions import Fraction

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr

import riskcore
from riskcore import Recoding
from riskcore.data.engines.polars import register

KEYS = ["sex", "age"]
TABLE = pa.table(
    {
        "sex": ["f", "m", "f", "m", "f", "f", "m", None],
        "age": pa.array([31, 31, 47, 31, 47, 31, 47, 31], pa.int16()),
        "w": [10.0, 20.0, 5.0, 7.5, 3.25, 10.0, 2.0, 1.0],
        "ill": ["a", "b", "a", "b", "c", "a", "b", "c"],
    }
)


class Stream:
    """What gives its records as a stream of Arrow, and nothing else."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class Array:
    """What gives its records as an array of Arrow, and nothing else."""

    def __init__(self, table):
        (self.batch,) = table.combine_chunks().to_batches()

    def __arrow_c_array__(self, requested_schema=None):
        return self.batch.__arrow_c_array__(requested_schema)


def reader(table):
    """Return a reader of the batches in a stream of bytes."""
    file = io.BytesIO()
    with pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table, max_chunksize=3)
    return pa.ipc.open_stream(file.getvalue())


DOORS = {
    "batch": lambda table: table.combine_chunks().to_batches()[0],
    "reader": lambda table: table.to_reader(max_chunksize=3),
    "stream reader": reader,
    "array": Array,
    "stream": Stream,
}


def dataset(table=TABLE):
    """Return the table as a Dataset of xarray; one column is a coordinate."""
    columns = {
        name: ("person", table[name].to_numpy(zero_copy_only=False))
        for name in table.column_names
    }
    coordinate = {"age": columns.pop("age")}
    return xr.Dataset(columns, coordinate, {"note": "of the Dataset"})


@pytest.fixture(params=DOORS)
def door(request):
    return DOORS[request.param]


def call(function, data):
    """Return what a function finds, as plain data, and the data that come back."""
    how = {"missing": "category"}
    if function == "protect":
        rules = {"age": Recoding.mapping({47: 40})}
        how = {"threshold": 0.2, "missing": "wildcard", "recodings": rules}
    more, figures, records = FUNCTIONS[function]
    found = getattr(riskcore, function)(data, KEYS, *more, **how)
    return figures(found), records and getattr(found, records)


FUNCTIONS = {
    "assess": (["w"], lambda found: found.individual_risk.tolist(), "records"),
    "tabulate": (["w"], lambda found: found.population_frequency.tolist(), None),
    "protect": (["w"], lambda found: found.suppressed, "data"),
    "diversity": (["ill"], lambda found: found["ill"].distinct_l.tolist(), "records"),
    "suda": ([], lambda found: found.score.tolist(), "records"),
}
KINDS = pytest.mark.filterwarnings("ignore::UserWarning")


@KINDS
@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_has_a_stream_of_arrow_is_data(function, door):
    want, records = call(function, TABLE)
    found, given_back = call(function, door(TABLE))
    assert found == want
    if records is not None:
        assert isinstance(given_back, pa.Table)
        assert given_back.to_pydict() == records.to_pydict()


@KINDS
def test_check_and_compare(door):
    safe = TABLE.set_column(1, "age", pa.array([31, None] * 4, pa.int16()))
    want = riskcore.compare(TABLE, safe, KEYS)
    assert str(riskcore.compare(door(TABLE), door(safe), KEYS)) == str(want)
    assert riskcore.check(door(TABLE), KEYS, k=2, missing="category").to_dict() == (
        riskcore.check(TABLE, KEYS, k=2, missing="category").to_dict()
    )


def test_a_stream_is_read_once():
    stream = TABLE.to_reader()
    riskcore.tabulate(stream, ["age"])
    with pytest.raises(ValueError, match=r"data: .*RecordBatchReader"):
        riskcore.tabulate(stream, ["age"])


def broken():
    yield from TABLE.to_batches(max_chunksize=3)[:1]
    raise OSError("the line is dead")


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (TABLE["sex"], TypeError, "data is a frame .*, not ChunkedArray: "),
        (pa.array([1]), TypeError, "data is a frame .*, not Int64Array: "),
        (pl.Series([1]), TypeError, "data is a frame .*, not Series: "),
        (Stream(TABLE.slice(0, 0)), ValueError, "data: a Stream without records"),
        (
            pa.RecordBatchReader.from_batches(TABLE.schema, broken()),
            ValueError,
            "data: the stream of a RecordBatchReader breaks off: .*line is dead",
        ),
        (Stream(pa.table([[1], [2]], ["age"] * 2)), ValueError, "columns share a name"),
        (Stream(TABLE), KeyError, "no column 'SEX'; did you mean 'sex'"),
    ],
)
def test_what_is_refused(data, error, message):
    with pytest.raises(error, match=message):
        riskcore.tabulate(data, ["SEX"])


@KINDS
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_dataset_comes_back_as_one(function):
    want, records = call(function, TABLE)
    given = dataset()
    given["w"].attrs["note"] = "of the weight"
    before = given.copy(deep=True)
    found, given_back = call(function, given)
    assert found == want
    assert given.identical(before)
    if records is None:
        return
    assert isinstance(given_back, xr.Dataset)
    assert [*given_back.coords] == ["age"]
    assert set(given_back.variables) == set(records.column_names)
    for name in records.column_names:
        got = [None if v != v else v for v in given_back[name].values.tolist()]
        assert got == records[name].to_pylist()
    if function == "protect":
        assert given_back.attrs == given_back["w"].attrs == {}


def test_a_dataset_with_an_index():
    given = dataset().assign_coords(person=range(100, 108))
    found = riskcore.assess(given, ["age"])
    assert found.records["individual_risk"].coords["person"].values[0] == 100
    assert riskcore.tabulate(given, ["person"]).sample_frequency.tolist() == [1] * 8
    again = riskcore.assess(found.records, ["age"])
    with pytest.raises(ValueError, match="'sample_frequency' has the name of a result"):
        _ = again.records


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (xr.Dataset({"a": (("x", "y"), np.ones((2, 2)))}), "a Dataset with 2 dim"),
        (xr.Dataset({"a": 1}), "a Dataset with 0 dimensions"),
        (xr.Dataset({"a": ("x", [1]), "b": 1}), "'b' is one value for all records"),
    ],
)
def test_a_dataset_that_is_no_table(data, message):
    with pytest.raises(TypeError, match=message):
        riskcore.tabulate(data, ["a"])


@pytest.mark.parametrize("F", [100, 100.0, np.float32(100), Fraction(100)])
def test_the_expression_of_polars_takes_a_number(F):
    register()
    frame = pl.DataFrame({"f": [1, 2, None, 200], "g": ["a", "a", "b", "b"]})
    risk = pl.col("f").riskcore.individual_risk(F)
    want = riskcore.individual_risk_from_frequencies([1.0, 2.0], 100.0)
    for got in (frame.select(risk), frame.lazy().select(risk).collect()):
        assert got["individual_risk"][:2].to_list() == want.tolist()
        assert got["individual_risk"][2] is None
        assert np.isnan(got["individual_risk"][3])


@pytest.mark.parametrize("F", [True, None, [1.0], b"F"])
def test_the_expression_of_polars_refuses_what_is_no_number(F):
    register()
    with pytest.raises(TypeError, match=r"weight_sum=.*: need a number"):
        pl.col("f").riskcore.individual_risk(F)
