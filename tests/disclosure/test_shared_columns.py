"""Columns of several files: one code for equal values, bands for numbers."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pytest

from riskcore.data.columns import Records, code_column
from riskcore.disclosure.shared_columns import (
    BANDS,
    SharedColumn,
    in_bands,
    number_together,
    values_of,
)


def coded(*files):
    return [code_column(Records.of({"x": values}), "x") for values in files]


def test_equal_values_have_one_code_in_all_files():
    shared = SharedColumn.of(coded([3, None, 1], [1.0, 2.0, np.nan], [True, False]))
    (three, missing, one), (_, two, _), (true, false) = shared.codes
    assert [codes.tolist() for codes in shared.codes] == [
        [three, missing, one], [one, two, missing], [true, false],
    ]  # fmt: skip
    assert true == one
    assert len({one, two, three, false, missing}) == 5
    assert missing == shared.levels - 1 == 4


def test_decimals_are_numbers_and_bytes_are_not_text():
    (one, two), (other, again) = SharedColumn.of(
        coded(np.array([Decimal(1), Decimal("2.5")], object), [1, 2.5])
    ).codes
    assert (one, two) == (other, again)
    with pytest.raises(TypeError, match="bytes in one file and text in another"):
        SharedColumn.of(coded(["a"], np.array([b"a"], object)))


def test_a_column_without_values_is_of_any_kind():
    shared = SharedColumn.of(coded([None, None], ["a", None]))
    assert [codes.tolist() for codes in shared.codes] == [[1, 1], [0, 1]]
    assert SharedColumn.of(coded([None], [None])).levels == 1


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_of_all_units(unit):
    days = [dt.datetime(2020, 1, 1), dt.datetime(2021, 5, 2)]
    (first, second), (other, again) = SharedColumn.of(
        coded(np.array(days, "M8[D]"), np.array(days[::-1], f"M8[{unit}]"))
    ).codes
    assert (first, second) == (again, other)
    (column,) = coded(np.array(days, f"M8[{unit}]"))
    assert values_of(column) == values_of(coded(np.array(days, "M8[D]"))[0])
    (objects,) = coded(np.array(days, object))
    assert values_of(objects) == values_of(column)
    spans = np.array([1, 2], "m8[h]"), np.array([1, 2], "m8[h]").astype(f"m8[{unit}]")
    shared = SharedColumn.of(coded(*spans))
    assert np.array_equal(*shared.codes)


def test_some_records_of_each_file():
    shared = SharedColumn.of(coded(["a", "b", None], ["b", "c"]))
    some = shared.at([np.array([2, 0]), np.array([], int)])
    assert some.codes[0].tolist() == shared.codes[0][[2, 0]].tolist()
    assert some.codes[1].tolist() == []
    assert some.levels == shared.levels


def test_combinations_have_one_number_in_all_files():
    rng = np.random.default_rng(1)
    sizes = 30, 20, 0, 10
    files = [[rng.integers(0, 3, n).tolist() for n in sizes] for _ in range(3)]
    shared = [
        SharedColumn(tuple(np.array(values, np.uint32) for values in one), 4)
        for one in files
    ]
    numbers = number_together(shared)
    assert [len(one) for one in numbers] == [*sizes]
    seen = {}
    for f in range(len(sizes)):
        rows = zip(*(one[f] for one in files), strict=True)
        for number, row in zip(numbers[f].tolist(), rows, strict=True):
            assert seen.setdefault(number, row) == row
    assert len(set(seen.values())) == len(seen)
    none = SharedColumn((np.zeros(0, np.uint32),) * 2, 1)
    assert [one.tolist() for one in number_together([none])] == [[], []]


def test_bands_hold_equally_many_people():
    values = np.random.default_rng(2).permutation(1000) / 7.0
    shared = in_bands(coded(values, [-1.0, 1e9, np.nan]))
    counts = np.bincount(shared[0].codes)
    assert counts.tolist() == [1000 // BANDS] * BANDS
    assert shared[1].codes.tolist() == [0, BANDS - 1, BANDS]
    order = np.argsort(values)
    assert (np.diff(shared[0].codes[order].astype(int)) >= 0).all()


def test_bands_of_ties_and_few_values():
    tied = [1.0] * 8 + [*map(float, range(2, 10))]
    bands = in_bands(coded(tied, [0.5]))[0]
    assert len(set(bands.codes[:8].tolist())) == 1
    # Without an empty band above the largest number.
    assert set(bands.codes.tolist()) == {*range(len(bands.labels))}
    assert in_bands(coded([1, 2] * 5, [1])) is None  # five records a value
    assert in_bands(coded([*"abc"], ["a"])) is None
    assert in_bands(coded([1.0, 2.0, np.inf], [1.0])) is None
    assert in_bands(coded(np.array(["2020-01-01", "2020-01-02"], "M8[D]"))) is None
    assert in_bands(coded([None, None], [1, 2])) is None
    only = in_bands(coded([7.5], [7.5, 8.0]))
    assert [one.codes.tolist() for one in only] == [[0], [0, 0]]


def test_text_of_numbers_has_bands_too():
    """A CSV file gives text."""
    numbers = [str(x) for x in range(100)]
    bands = in_bands(coded(numbers, ["5", "99"]))
    assert np.bincount(bands[0].codes).tolist() == [10] * 10
    assert bands[1].codes.tolist() == [0, 9]
