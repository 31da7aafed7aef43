import math
import re
import warnings
from collections import defaultdict

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskcore.data.cells import RESULT_COLUMNS, tabulate
from riskcore.data.files.reading import DoubtfulCodes

DATA = {
    "sex": ["m", "f", "m", "f", "m"],
    "age": [30, 40, 30, 50, 30],
    "w": [10.0, 0.5, 20.0, 3.0, 0.25],
}
HOLDERS = [dict, pd.DataFrame, pl.DataFrame, pa.table]


def test_doubtful_codes_warn():
    with pytest.warns(DoubtfulCodes, match="'NA'"):
        cells = tabulate({"mar": ["NA", "1", "NA"]}, ["mar"])
    assert cells.sample_frequency.tolist() == [1, 2]


@pytest.mark.parametrize(
    "labels",
    [
        ["34", "34.0"], ["-1", "-1.00"], ["1", "01", " 1"], ["Male", "male"],
        ["Nord", "Nord\xa0", "\u200bNord"], ["B\xf4le", "Bo\u0302le"], ["\uff21", "A"],
    ],
)  # fmt: skip
def test_categories_that_look_alike(labels):
    composed = "B\xf4le" in labels  # repr would show the same letters twice
    *others, last = map(ascii if composed else repr, sorted(labels))
    shown = f"{', '.join(others)} and {last}"
    with pytest.warns(DoubtfulCodes, match=re.escape(f"key 'k': {shown} are taken")):
        tabulate({"k": [*labels, "other"]}, ["k"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tabulate({"k": ["34", "34.5", "340", "A.0", "1.2.0", "1.2"]}, ["k"])


@pytest.mark.parametrize("holder", HOLDERS)
def test_small_file(holder):
    cells = tabulate(holder(DATA), ["sex", "age"], weight="w")
    assert cells.keys == ("sex", "age")
    assert [one.tolist() for one in cells.categories] == [["f", "m"], [30, 40, 50]]
    assert [codes.tolist() for codes in cells.codes] == [[0, 0, 1], [1, 2, 0]]
    assert cells.sample_frequency.tolist() == [1, 1, 3]
    assert cells.population_frequency.tolist() == [0.5, 3.0, 30.25]
    assert cells.sampling_fraction.tolist() == [2.0, 1 / 3, 3 / 30.25]
    assert cells.below_sample.tolist() == [True, False, False]
    assert cells.inverse.tolist() == [2, 0, 2, 1, 2]
    assert (len(cells), cells.n, cells.weighted) == (3, 5, True)
    assert repr(cells) == (
        "<Cells: 5 records in 3 cells of sex x age, 2 sample unique, weighted>"
    )


@pytest.mark.parametrize("unit", ["ns", "us", "s", "D"])
@pytest.mark.parametrize("kind", ["M8", "m8"])
def test_times_beside_missing_stay_times(kind, unit):
    times = np.array([1, 2, "NaT", 1], f"{kind}[{unit}]")
    cells = tabulate({"t": times}, ["t"], missing="category")
    found = cells.to_dict()["t"]
    assert not isinstance(found[0], int)
    assert np.array_equal(found[:2].astype(times.dtype), times[:2])
    assert found[2] is None
    assert [cells.row(k)["t"] for k in range(3)] == [*found]
    for backend in ("pandas", "polars", "pyarrow"):
        frame = cells.to_frame(backend)
        held = nw.from_native(frame, eager_only=True)["t"]
        assert held.dtype.is_temporal()
        assert held.is_null().to_list() == [False, False, True]
        assert np.array_equal(held.to_numpy()[:2].astype(times.dtype), times[:2])


@pytest.mark.parametrize("missing", [[], [None]])
def test_the_hour_that_clocks_repeat_stays_two_hours(missing):
    instants = [1603585800, 1603589400]
    ticks = pa.array([*instants, *missing]).cast(pa.timestamp("s", "UTC"))
    table = pa.table({"t": ticks.cast(pa.timestamp("us", "Europe/Berlin"))})
    for data in (table, pl.from_arrow(table), table.to_pandas()):
        cells = tabulate(data, ["t"], missing="category")
        for backend in ("pandas", "polars", "pyarrow"):
            held = nw.from_native(cells.to_frame(backend), eager_only=True)["t"]
            assert held.drop_nulls().dt.timestamp("ms").to_list() == [
                1000 * instant for instant in instants
            ]


def test_without_weights_the_file_is_the_population():
    cells = tabulate(DATA, ["sex"])
    assert cells.population_frequency.tolist() == [2.0, 3.0]
    assert cells.population_frequency.dtype == np.float64
    assert cells.sampling_fraction.tolist() == [1.0, 1.0]
    assert not cells.weighted
    assert not cells.below_sample.any()
    assert repr(cells).endswith("no weights>")


@pytest.mark.filterwarnings("ignore::riskcore.data.files.reading.DoubtfulCodes")
@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "a", "b\0", "é", None]),
            st.none() | st.integers(-2, 2),
            st.floats(1e-6, 1e6),
        ),
        min_size=1,
        max_size=30,
    ),
    st.randoms(use_true_random=False),
)
def test_every_holder_is_the_brute_force(records, random):
    expected = defaultdict(list)
    for text, number, weight in records:
        expected[text, number].append(weight)
    random.shuffle(records)
    text, number, weight = map(list, zip(*records, strict=True))
    data = {"t": text, "n": number, "w": weight}
    typed = pa.table(
        data, schema=pa.schema({"t": pa.string(), "n": pa.int64(), "w": pa.float64()})
    )
    for held in (data, pd.DataFrame(data), pl.DataFrame(typed), typed):
        cells = tabulate(held, ["t", "n"], "w", missing="category")
        table = cells.to_dict()
        pairs = list(zip(table["t"].tolist(), table["n"].tolist(), strict=True))
        assert len(pairs) == len(set(pairs)) == len(cells)
        for pair, f, F in zip(
            pairs, cells.sample_frequency, cells.population_frequency, strict=True
        ):
            assert f == len(expected[pair])
            np.testing.assert_array_max_ulp(F, math.fsum(expected[pair]), 1)
        assert [pairs[k] for k in cells.inverse] == list(zip(text, number, strict=True))
        last = [(t is None, t or "", n is None, n or 0) for t, n in pairs]
        assert last == sorted(last)


def test_missing_keys_are_refused_on_request():
    data = {"a": [1, None, 2, None], "b": ["u", "v", None, "w"], "c": [1, 1, 1, 1]}
    with pytest.raises(
        ValueError, match=r"'a' in 2, 'b' in 1 of 4.*missing='category'.*'wildcard'"
    ):
        tabulate(data, ["a", "b", "c"], missing="refuse")
    assert tabulate(data, ["a", "b", "c"]).incomplete == 3


@pytest.mark.parametrize(
    ("values", "categories", "inverse"),
    [([2, None, 1, None], [1, 2, None], [1, 2, 0, 2]), ([None] * 2, [None], [0, 0])],
)
def test_missing_as_a_category_comes_last(values, categories, inverse):
    cells = tabulate({"a": values}, ["a"], missing="category")
    assert cells.to_dict()["a"].tolist() == cells.categories[0].tolist() == categories
    assert cells.sample_frequency.tolist() == [*map(values.count, categories)]
    assert cells.inverse.tolist() == inverse


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_to_frame(backend):
    data = {"f": ["x", "y", None], "F": [1, 2, 2], "w": [1.5, 2.5, 3.0]}
    cells = tabulate(data, ["f", "F"], "w", missing="category")
    frame = cells.to_frame(backend)
    assert type(frame).__module__.startswith(backend)
    again = tabulate(frame, ["f", "F"], "population_frequency", missing="category")
    assert again.to_dict()["f"].tolist() == ["x", "y", None]
    assert again.population_frequency.tolist() == [1.5, 2.5, 3.0]


def test_to_dict_has_keys_then_results():
    cells = tabulate(DATA, ["age", "sex"], "w")
    assert list(cells.to_dict()) == ["age", "sex", *RESULT_COLUMNS]
    assert {len(column) for column in cells.to_dict().values()} == {3}


def test_a_row_holds_plain_values_and_times_as_they_are():
    data = {
        "text": np.array(["x", "y"]),
        "whole": np.array([1, 2], np.int8),
        "real": np.array([0.5, 1.5], np.float32),
        "flag": np.array([False, True]),
        "object": np.array(["x", None], object),
        "day": np.array(["2020-01-01", "2020-01-02"], "M8[D]"),
        "moment": np.array(["2020-01-01", "2020-01-02"], "M8[ns]"),
        "span": np.array([1, 2], "m8[ns]"),
    }
    cells = tabulate(data, list(data), missing="category")
    row = cells.row(1)
    results = dict(zip(RESULT_COLUMNS, (1, 1.0, 1.0), strict=True))
    assert row == {**{name: values[1] for name, values in data.items()}, **results}
    kinds = [str, int, float, bool, type(None), *[np.datetime64] * 2, np.timedelta64]
    assert [type(row[name]) for name in data] == kinds
    assert [type(row[name]) for name in RESULT_COLUMNS] == [int, float, float]


def test_seventy_keys():
    rng = np.random.default_rng(2)
    data = {k: rng.integers(0, 3, 200) for k in range(70)}
    data["w"] = np.ones(200)
    cells = tabulate(data, list(range(70)), "w")
    rows = np.array([data[k] for k in range(70)]).T
    expected, inverse, f = np.unique(
        rows, axis=0, return_inverse=True, return_counts=True
    )
    assert (expected == np.array(cells.codes).T).all()
    assert "x 7 and 62 more keys, 200 sample unique" in repr(cells)
    assert (cells.inverse == inverse.ravel()).all()
    assert (cells.sample_frequency == f).all()


def test_record_order_changes_nothing_but_the_inverse():
    rng = np.random.default_rng(4)
    data = {"a": rng.integers(0, 50, 5000), "b": rng.choice(list("uvwxyz"), 5000)}
    data["w"] = rng.uniform(1, 9, 5000)
    order = rng.permutation(5000)
    plain = tabulate(data, ["a", "b"], "w")
    mixed = tabulate({k: v[order] for k, v in data.items()}, ["a", "b"], "w")
    for a, b in zip(plain.to_dict().values(), mixed.to_dict().values(), strict=True):
        if a.dtype == np.float64:
            np.testing.assert_array_max_ulp(a, b, 1)
        else:
            assert (a == b).all()
    assert (mixed.inverse == plain.inverse[order]).all()


def test_cells_are_frozen():
    cells = tabulate(DATA, ["sex"])
    with pytest.raises(AttributeError):
        cells.weighted = True


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"keys": ["sex"], "missing": "wild"}, ValueError, "'category' or 'refuse'"),
        ({"keys": ["sex", "w"], "weight": "w"}, ValueError, "'w' is both"),
        ({"keys": []}, ValueError, "keys is empty"),
        ({"keys": "sex"}, TypeError, r"write \['sex'\]"),
        ({"keys": ["sex", "sex"]}, ValueError, "more than once"),
        ({"keys": ["agee"]}, KeyError, "did you mean 'age'"),
        ({"keys": ["sex"], "weight": "v"}, KeyError, "no column 'v'"),
        ({"keys": ["age"], "weight": "sex"}, TypeError, "weight 'sex'"),
    ],
)
def test_arguments_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        tabulate(DATA, **arguments)


@pytest.mark.parametrize("name", [*RESULT_COLUMNS, "Sample_Frequency"])
def test_keys_called_like_a_result_are_refused(name):
    with pytest.raises(ValueError, match=f"column '{name}' has the name of a result"):
        tabulate({name: [1, 2]}, [name])


def test_sums_that_overflow_are_refused():
    for key in ([1, 2, 1], [1, 2, 3]):
        data = {"a": key, "w": [1e308, 1.0, 1e308]}
        with pytest.raises(ValueError, match="weight 'w': the sum overflows"):
            tabulate(data, ["a"], "w")
