import datetime as dt
from decimal import Decimal

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskcore.data.columns import Records, code_column, code_keys, weights
from riskcore.data.columns import household_codes as households


def coded(values, name="x"):
    return code_column(Records.of({name: values}), name)


def decoded(column):
    labels = [*column.labels.tolist(), None]
    return [labels[code] for code in column.codes]


def assert_coded(values, expected=None):
    """The codes stand for the values, and only values that occur have labels."""
    column = coded(values)
    expected = list(values) if expected is None else expected
    assert decoded(column) == expected
    present = {value for value in expected if value is not None}
    assert set(column.labels.tolist()) == present
    assert len(column.labels) == len(present)
    assert column.missing == expected.count(None)
    assert column.levels == len(present) + (None in expected)
    assert column.codes.dtype == np.min_scalar_type(max(column.levels - 1, 0))
    if len({type(value) for value in present}) == 1:
        assert column.labels.tolist() == sorted(present)
    return column


INTEGERS = st.one_of(
    st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1), st.just(2**63 - 1)
)


@settings(deadline=None)
@given(st.lists(st.none() | INTEGERS, min_size=1, max_size=30))
def test_integers_of_every_holder(values):
    for held in (
        values,
        pd.Series(values, dtype="Int64"),
        pl.Series(values, dtype=pl.Int64),
    ):
        assert_coded(held, values)
    assert_coded(pa.chunked_array([values[:1], values[1:]], pa.int64()), values)
    present = [value for value in values if value is not None]
    if present:
        assert_coded(np.array(present), present)
        masked = np.ma.array([v or 0 for v in values], mask=[v is None for v in values])
        assert_coded(masked, values)


@settings(deadline=None)
@given(st.sampled_from("bBhHiIlLqQ"), st.data(), st.integers(1, 30))
def test_integers_of_every_width(code, data, n):
    info = np.iinfo(code)
    values = data.draw(
        st.lists(st.integers(int(info.min), int(info.max)), min_size=n, max_size=n)
    )
    assert_coded(np.array(values, code), values)
    near = [info.max - value % 3 for value in values]
    assert_coded(np.array(near, code), near)
    assert_coded(np.array(near, np.dtype(code).newbyteorder()), near)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=3) | st.sampled_from(
    ["", "\0", "a\0", "a", "é", "z", "Ω", "1", "10", "9"]
)


@settings(deadline=None)
@given(st.lists(st.none() | TEXT, min_size=1, max_size=20))
def test_text_of_every_holder(values):
    holders = [
        values,
        pd.Series(values, dtype="str"),
        pd.Series(values, dtype=object),
        pd.Series(values, dtype="string[python]"),
        pd.Series(pd.Categorical(values)),
        pl.Series(values, dtype=pl.String),
        pl.Series(values, dtype=pl.Categorical),
        pa.chunked_array([values[:1], values[1:]], pa.string()),
        pa.chunked_array(
            [
                pa.array(part, pa.string()).dictionary_encode()
                for part in (values[:1], values[1:])
            ],
            pa.dictionary(pa.int32(), pa.string()),
        ),
        np.array(values, object),
    ]
    for held in holders:
        assert_coded(held, values)


@settings(deadline=None)
@given(st.lists(st.none() | st.floats(allow_nan=False), min_size=1, max_size=20))
def test_floats_of_every_holder(values):
    holders = [
        values,
        np.array(values, float),
        pd.Series(values, dtype="Float64"),
        pd.Series(values, dtype=float),
        pl.Series(values, dtype=pl.Float64),
        pa.chunked_array([values], pa.float64()),
    ]
    for held in holders:
        assert_coded(held, values)


def test_nan_is_missing():
    assert_coded(pl.Series([1.0, float("nan"), None, 2.0]), [1.0, None, None, 2.0])
    column = assert_coded(np.array([3.0, np.nan, -1.0, 3.0]), [3.0, None, -1.0, 3.0])
    assert column.labels.dtype == np.float64


def test_dates_and_times():
    days = [dt.date(2021, 5, 3), None, dt.date(1969, 1, 1), dt.date(2021, 5, 3)]
    zoned = [day and dt.datetime(day.year, 1, 1, tzinfo=dt.UTC) for day in days]
    for values in (days, zoned):
        for held in (values, pl.Series(values), pa.chunked_array([values])):
            assert_coded(held, values)
        assert coded(pd.Series(pd.to_datetime(values))).codes.tolist() == [1, 2, 0, 1]
    nat = np.array(["2021-05-03", "NaT", "1969-01-01"], "M8[D]")
    assert_coded(nat, days[:3])
    assert coded(np.array([5, -2, "NaT"], "m8[s]")).labels.dtype == "m8[s]"


CLOCKS_BACK = pa.array([1603585800, 1603589400, None, 1603585800]).cast(
    pa.timestamp("s", "UTC")
)  # 2:30 in Berlin, first in summer time and then not


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_the_hour_that_clocks_repeat_is_two_hours(unit):
    table = pa.table({"x": CLOCKS_BACK.cast(pa.timestamp(unit, "Europe/Berlin"))})
    of_arrow = pd.Series(pd.arrays.ArrowExtensionArray(table["x"]))
    for held in (
        table["x"],
        pl.from_arrow(table)["x"],
        table.to_pandas()["x"],
        of_arrow,
        table["x"].to_pylist(),
        table["x"].dictionary_encode(),
    ):
        column = coded(held)
        assert column.codes.tolist() == [0, 1, 2, 0]
        instants = [label.astimezone(dt.UTC).hour for label in column.labels]
        assert instants == [0, 1]


def test_an_instant_in_two_zones_is_one():
    at = dt.datetime(2020, 10, 25, 0, 30, tzinfo=dt.UTC)
    east = at.astimezone(dt.timezone(dt.timedelta(hours=2)))
    for values in ([at, east], [east, at]):
        column = coded(values)
        assert column.codes.tolist() == [0, 0]
        assert repr(column.labels.tolist()) == repr([at])


@pytest.mark.parametrize("kind", [pa.time64("ns"), pa.timestamp("ns", "UTC")])
def test_nanoseconds_are_told_apart(kind):
    values = pa.array([2, 1, None, 3, 2]).cast(kind)
    of_arrow = pd.Series(pd.arrays.ArrowExtensionArray(values))
    for held in (pa.chunked_array([values]), pl.from_arrow(values), of_arrow):
        column = coded(held)
        assert column.codes.tolist() == [1, 0, 3, 2, 1]
        assert len({str(label) for label in column.labels.tolist()}) == 3


def test_times_of_day():
    times = [dt.time(12, 30), None, dt.time(1), dt.time(12, 30)]
    for unit in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")):
        array = pa.array(times, unit)
        of_arrow = pd.Series(pd.arrays.ArrowExtensionArray(array))
        for held in (pa.chunked_array([array]), pl.from_arrow(array), of_arrow):
            assert_coded(held, times)


@pytest.mark.parametrize("index", [pa.uint8(), pa.int16(), pa.uint32(), pa.uint64()])
def test_dictionaries_of_every_index(index):
    values = ["b", None, "a", "b"]
    kind = pa.dictionary(index, pa.string())
    assert_coded(pa.chunked_array([values[:2], values[2:]], kind), values)
    table = pl.DataFrame({"x": pl.Series(values, dtype=pl.Categorical)}).to_arrow()
    assert_coded(table["x"], values)


def test_strided_and_foreign_arrays():
    assert_coded(np.arange(12, dtype=np.int16)[::-3], [11, 8, 5, 2])
    assert_coded(np.array(["2021-05-03", "NaT"], ">M8[D]"), [dt.date(2021, 5, 3), None])
    assert_coded(np.array([1.5, 2.5, np.inf], ">f8"), [1.5, 2.5, np.inf])
    assert weights(Records.of({"w": np.arange(1, 7)[::2]}), "w").flags.c_contiguous


@pytest.mark.parametrize(
    "values",
    [
        [True, False, True],
        [False, False],
        [True, None],
        [Decimal("1.5"), Decimal("-2"), None],
        [b"a", b"a\0", b""],
        [(1, 2), (0, 5), (1, 2)],
        [None, None],
    ],
)
def test_other_types(values):
    assert_coded(values)


def test_other_series():
    for values in ([True, None, False], [None, None], [Decimal("1.5"), None]):
        assert_coded(pl.Series(values), values)
        assert_coded(pa.chunked_array([values]), values)
    assert_coded(pd.Series([True, None, False], dtype="boolean"), [True, None, False])
    assert_coded(np.array([True, False]), [True, False])
    assert_coded(pl.Series([3, -(2**100)], dtype=pl.Int128), [3, -(2**100)])


def test_enumerations_show_observed_levels_only():
    enum = pl.Enum(["z", "b", "a"])
    assert_coded(pl.Series(["b", "a", None], dtype=enum), ["b", "a", None])
    category = pd.Categorical(
        ["b", "a", None], categories=["z", "b", "a"], ordered=True
    )
    assert_coded(pd.Series(category), ["b", "a", None])
    assert_coded(pd.Series(pd.Categorical([7, 3, None])), [7, 3, None])


def test_mixed_types_are_ordered_by_type_then_value():
    column = coded([3, "b", 2.5, None, "a", 1])
    assert column.labels.tolist() == [2.5, 1, 3, "a", "b"]
    assert coded(pd.Series([3, "b", 2.5, pd.NA, "a", 1])).codes.tolist() == (
        column.codes.tolist()
    )


def test_equal_values_of_two_types_are_one_category_in_any_order():
    for values in ([1, 1.0, True, 2], [True, 1.0, 1, 2], [1.0, True, 1, 2]):
        column = coded(values)
        assert column.codes.tolist() == [0, 0, 0, 1]
        assert repr(column.labels.tolist()) == "[True, 2]"


@pytest.mark.parametrize(
    "values",
    [
        *(
            np.array(["a", missing, "c"], object)
            for missing in (None, float("nan"), pd.NA, pd.NaT, Decimal("nan"))
        ),
        *(np.ma.array([*"abc"], mask=[0, 1, 0], dtype=kind) for kind in (object, "U1")),
    ],
)
def test_every_missing_of_objects(values):
    assert_coded(values, ["a", None, "c"])


def test_many_levels_need_wider_codes():
    for levels, dtype in ((256, np.uint8), (257, np.uint16), (65_537, np.uint32)):
        values = np.arange(levels) * 1_000_003
        column = coded(values)
        assert column.codes.dtype == dtype
        assert (column.labels[column.codes] == values).all()


def test_contiguous_small_integers_are_not_copied():
    values = np.array([0, 2, 1], np.uint8)
    assert np.shares_memory(coded(values).codes, values)


def test_keys_may_be_any_iterable_of_any_names():
    records = Records.of({"a": [1], "b": [2]})
    for keys in (("a", "b"), np.array(["a", "b"]), pd.Index(["a", "b"]), iter("ab")):
        assert [c.name for c in code_keys(records, keys)] == ["a", "b"]
    records = Records.of(pd.DataFrame({0: [1], "f": ["u"], ("a", 1): [2.5]}))
    names = [0, "f", ("a", 1)]
    assert [c.name for c in code_keys(records, names)] == names


def test_frames_and_mappings():
    data = {"a": [1, 2], "b": ["u", "v"]}
    frames = [data, pd.DataFrame(data), pl.DataFrame(data), pa.table(data)]
    frames += [nw.from_native(frame) for frame in frames[1:]]
    frames.append({name: pl.Series(values) for name, values in data.items()})
    for frame in frames:
        columns = code_keys(Records.of(frame), ["b", "a"])
        assert [decoded(column) for column in columns] == [["u", "v"], [1, 2]]


def test_columns_coded_on_threads_are_the_same():
    n = 120_000
    data = {"a": np.arange(n) % 7, "b": np.arange(n) // 9}
    for column in code_keys(Records.of(data), ["a", "b"]):
        assert (column.labels[column.codes] == data[column.name]).all()


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ({}, ValueError, "no records"),
        ({"a": []}, ValueError, "no records"),
        (pd.DataFrame({"a": []}), ValueError, "no records"),
        ({"a": [1], "b": [1, 2]}, ValueError, r"differ in length: {'a': 1, 'b': 2}"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ValueError, "share a name"),
        (pl.LazyFrame({"a": [1]}), TypeError, "collect the columns first"),
        (nw.from_native(pl.LazyFrame({"a": [1]})), TypeError, "collect the columns fi"),
        ("file.csv", TypeError, "not str"),
        ([1, 2], TypeError, "not list"),
        ({"a": 5}, TypeError, "column 'a' is a int: need an array"),
        ({"a": np.zeros((2, 2))}, TypeError, "column 'a' has 2 dimensions"),
    ],
)
def test_data_that_are_no_table(data, error, message):
    with pytest.raises(error, match=message):
        Records.of(data)


@pytest.mark.parametrize(
    ("keys", "error", "message"),
    [
        ([], ValueError, "keys is empty"),
        (["sex", "sex"], ValueError, "more than once: 'sex'"),
        ("sex", TypeError, r"write \['sex'\]"),
        (["sxe"], KeyError, "no column 'sxe'; did you mean 'sex'"),
        (["SEX"], KeyError, "no column 'SEX'; did you mean 'sex'"),
        (["income"], KeyError, "no column 'income'; the columns are 'sex', 'age'"),
        (["age"], TypeError, "key 'age'"),
    ],
)
def test_keys_refused(keys, error, message):
    records = Records.of({"sex": ["m", "f"], "age": [1 + 2j, 2 + 1j]})
    with pytest.raises(error, match=message):
        code_keys(records, keys)


@pytest.mark.parametrize(
    "values", [[[1], [2]], np.array([1j, 2j]), pl.Series([[1], [2]]), [{1}, {2}]]
)
def test_values_without_order_are_refused(values):
    with pytest.raises(TypeError, match=r"key 'x': .*; a key needs text, numbers"):
        coded(values)


@pytest.mark.parametrize(
    "values",
    [
        [1, 2.5],
        np.array([1, 2.5], np.float32),
        pd.Series([1, 2.5]),
        pd.Series([1, 2.5], dtype="Float64"),
        pl.Series([1.0, 2.5]),
        pl.Series([Decimal(1), Decimal("2.5")]),
        pa.chunked_array([[1, 2.5]]),
        [Decimal(1), np.float64(2.5)],
        np.ma.array([1, 2.5], mask=[False, False]),
    ],
)
def test_weights_of_every_holder(values):
    weight = weights(Records.of({"w": values}), "w")
    assert weight.dtype == np.float64
    assert weight.tolist() == [1.0, 2.5]


LARGE = [2**53 + 1, 2**60 + 3, 5]


@pytest.mark.parametrize(
    "values",
    [
        LARGE,
        pd.Series(LARGE),
        pd.Series(LARGE, dtype="int64[pyarrow]"),
        *(pa.array(LARGE, kind) for kind in (pa.int64(), pa.uint64())),
        *(pl.Series(LARGE, dtype=kind) for kind in (None, pl.Int128, pl.UInt128)),
        np.array([3, 1], np.int8),
    ],
)
def test_integer_weights_are_rounded_to_doubles(values):
    found = weights(Records.of({"w": values}), "w", 1.0)
    expected = LARGE if len(values) == 3 else [3, 1]
    assert found.tolist() == [float(value) for value in expected]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, None, float("nan")], "weight 'w': 2 missing in 3 records"),
        (pl.Series([1, None]), "weight 'w': 1 missing in 2 records"),
        (pl.Series([1, None], dtype=pl.Int128), "weight 'w': 1 missing in 2 records"),
        ([1, Decimal("sNaN")], "weight 'w': 1 missing in 2 records"),
        (pl.Series([1.0, None, float("nan")]), "2 missing in 3"),
        (pd.Series([1, None], dtype="Int64"), "1 missing in 2"),
        (pa.chunked_array([[1.5, None]]), "1 missing in 2"),
        (pa.array([2**53 + 1, None], pa.int64()), "1 missing in 2"),
        (np.ma.array([1.0, 2.0], mask=[0, 1]), "1 missing in 2"),
        ([1.0, np.inf, -np.inf], "weight 'w': 2 infinite in 3 records"),
        ([0.0, -1.0, 1.0], "weight 'w': 1 negative in 3 records"),
        ([0.0, None, np.inf], "1 missing, 1 infinite in 3"),
        (np.array([1e400], np.longdouble), "1 infinite"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_weights_refused_with_counts(values, message):
    with pytest.raises(ValueError, match=message):
        weights(Records.of({"w": values}), "w")


@pytest.mark.parametrize(
    "values",
    [
        ["1.5"],
        np.array(["1.5"]),
        pd.Series(["1.5"]),
        pl.Series(["1.5"]),
        [True],
        np.array([True]),
        pl.Series([True]),
        np.array([1j]),
        [1j],
        pd.Series([1j]),
        pl.Series([dt.date(2020, 1, 1)]),
        pd.Series([1.5], dtype="category"),
    ],
)
def test_weights_that_are_no_numbers(values):
    with pytest.raises(TypeError, match=r"weight 'w': .*not real numbers"):
        weights(Records.of({"w": values}), "w")


def test_households():
    ids = ["b", "a", "b", "ü", "a"]
    frames = (
        ids,
        np.array(ids),
        pd.Series(ids),
        pd.Series(ids, dtype="category").cat.add_categories("idle"),
        pl.Series(ids),
        pl.Series(ids, dtype=pl.Categorical),
        pa.chunked_array([ids[:2], ids[2:]]),
        np.array([2**63, 5, 2**63, 7, 5], np.uint64),
        [-1, -7, -1, 0, -7],
    )
    for column in frames:
        household = households(Records.of({"hh": column}), "hh")
        assert household.dtype == np.int64
        assert household.min() == 0
        first = {number: i for i, number in reversed(list(enumerate(household)))}
        assert [first[number] for number in household] == [0, 1, 0, 3, 1]


@pytest.mark.parametrize(
    "held", [lambda x: pa.chunked_array([x]), lambda x: pd.Series(_extension(x))]
)
def test_a_dictionary_may_list_a_label_twice_or_none(held):
    places = pa.array([0, 1, 2, 0], pa.uint8())
    twice = held(pa.DictionaryArray.from_arrays(places, ["a", "a", "b"]))
    household = households(Records.of({"hh": twice}), "hh")
    assert (household == household[0]).tolist() == [True, True, False, True]
    assert coded(twice).codes.tolist() == [0, 0, 1, 0]

    none = held(pa.DictionaryArray.from_arrays(places, pa.array(["b", None, "a"])))
    with pytest.raises(ValueError, match="missing in 1 of 4 records"):
        households(Records.of({"hh": none}), "hh")
    column = coded(none)
    assert column.labels.tolist() == ["a", "b"]
    assert column.codes.tolist() == [1, 2, 0, 1]
    assert column.missing == 1


def _extension(values):
    return pd.arrays.ArrowExtensionArray(values)


@pytest.mark.parametrize("holder", [list, pd.Series, pl.Series, pa.array])
@pytest.mark.parametrize("values", [["a", None, "b"], [None, 4, None]])
def test_missing_households(holder, values):
    message = f"household 'hh': missing in {values.count(None)} of 3 records"
    with pytest.raises(ValueError, match=message):
        households(Records.of({"hh": holder(values)}), "hh")


@settings(deadline=None)
@given(
    st.lists(st.text(st.sampled_from("ab1 é文Ω\U0001f600"), max_size=20), min_size=1)
)
def test_text_arrays_are_coded_as_sorted(texts):
    texts = [text.rstrip("\0") for text in texts]
    values = np.array(texts)
    column = coded(values)
    labels, codes = np.unique(values, return_inverse=True)
    assert column.labels.tolist() == labels.tolist()
    assert column.codes.tolist() == codes.tolist()


def test_dictionaries_of_many_chunks_are_coded_as_their_text():
    chunks = [
        pa.array([f"{i}", f"{i + 1}", None]).dictionary_encode() for i in range(9)
    ]
    table = pa.table({"a": pa.chunked_array(chunks)})
    found = code_column(Records.of(table), "a")
    assert found.labels[found.codes[3]] == "1"
    assert (found.missing, len(found.labels)) == (9, 10)


def test_each_column_is_coded_once():
    records = Records.of({"a": ["x", "y", "x"], "b": [3, 1, 2]})
    assert Records.of(records) is records
    first = code_column(records, "a")
    assert code_column(records, "a") is first
    later = records.with_data({"a": ["x", "y", "x"], "b": [1, 1, 2]}, ["b"])
    assert code_column(later, "a") is first
    assert code_column(later, "b").codes.tolist() == [0, 0, 1]
    assert code_column(records, "b").codes.tolist() == [2, 0, 1]
    known = code_column(later, "b")
    last = later.with_data({"a": ["z"] * 3, "b": [1, 1, 2]}, ["a"])
    assert code_column(last, "b") is known
    assert code_column(last, "a").labels.tolist() == ["z"]
    seen = last.seen_as({"b": [1, 1, 2], "new": [1, 2, 3]}, ["new"])
    assert code_column(seen, "b") is known
    assert code_column(seen, "new").levels == 3
