"""Singling out and linkability, against all queries and all pairs."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from riskcore.disclosure import known_measures
from riskcore.disclosure.known_measures import (
    alone_in_sample,
    count_cells,
    linkability,
    singling_out,
)
from tests.thin import examples

LEVELS = [3, 2, 3, 2]
records = st.tuples(*(st.integers(0, k - 1) for k in LEVELS))
files = st.lists(records, min_size=1, max_size=14)


def codes(rows):
    return [np.array(column, np.uint8) for column in zip(*rows, strict=True)]


def true_of(query, file):
    """Return how many records a query of (key, value, is or is not) is true of."""
    return sum(all((r[key] == v) == agree for key, v, agree in query) for r in file)


def queries(released, size):
    """Return all queries that single out in a release."""
    stated = {
        tuple((key, record[key], True) for key in chosen)
        for chosen in combinations(range(len(LEVELS)), size)
        for record in released
    }
    return [query for query in stated if true_of(query, released) == 1]


@examples(40)
@given(files, files, st.integers(1, 4))
def test_queries_are_all_that_single_out(released, original, size):
    found = singling_out([codes(released), codes(original)], LEVELS, size)
    asked = queries(released, size)
    alone = sum(true_of(query, original) == 1 for query in asked)
    assert found == (len(asked), alone, [alone])


@examples(20)
@given(files, files, files)
def test_a_control_is_compared_in_samples_of_equal_size(released, original, control):
    files = [*map(codes, (released, original, control))]
    expected = singling_out(files, LEVELS, 2)[2]
    least = min(len(original), len(control))
    for file, number in zip((original, control), expected, strict=True):
        wanted = sum(
            hypergeom(len(file), true_of(query, file), least).pmf(1)
            for query in queries(released, 2)
        )
        assert number == pytest.approx(wanted, rel=1e-11, abs=1e-12)


def test_one_key():
    files = [[np.array(x, np.uint8)] for x in ([0, 1, 1, 2], [0, 0, 1, 2, 2, 2])]
    assert singling_out(files, [3])[:2] == (2, 0)


@examples(60)
@given(st.lists(files, min_size=1, max_size=3))
def test_cells_are_counted_in_every_file(several):
    found = count_cells([codes(one) for one in several], LEVELS)
    for file, number, cell in zip(several, found.records, found.cell, strict=True):
        for record, c in zip(file, cell, strict=True):
            assert number[c] == file.count(record)
    together = {record for one in several for record in one}
    assert all(len(number) == len(together) for number in found.records)
    assert [number.sum() for number in found.records] == [len(one) for one in several]


def test_files_of_other_keys_are_refused():
    with pytest.raises(ValueError, match="another number of keys"):
        count_cells([codes([(0, 0, 0, 0)]), codes([(0, 0)])], LEVELS)
    with pytest.raises(ValueError, match="no keys"):
        count_cells([[], []], [])


def test_columns_that_are_not_contiguous():
    rng = np.random.default_rng(2)
    table = rng.integers(0, 3, (50, 3)).astype(np.uint8)
    slices = [table[:, j] for j in range(3)]
    columns = [np.ascontiguousarray(column) for column in slices]
    found, wanted = (singling_out([x, x], [3] * 3) for x in (slices, columns))
    assert found == wanted


def test_some_sets_of_keys(monkeypatch):
    rng = np.random.default_rng(1)
    files = [[rng.integers(0, k, 300) for k in (4, 5, 6, 7)] for _ in range(2)]
    files = [[column.astype(np.uint8) for column in one] for one in files]
    whole = singling_out(files, [4, 5, 6, 7])
    monkeypatch.setattr(known_measures, "_MOST_SETS", 2)
    assert 0 < singling_out(files, [4, 5, 6, 7])[0] < whole[0]


def test_alone_in_a_sample_of_a_large_file():
    records = np.array([0, 1, 2, 3, 50, 1000, 1000, 999_000])
    wanted = hypergeom(1_000_000, records, 400_000).pmf(1).sum()
    found = alone_in_sample(records, 1_000_000, 400_000)
    assert found == pytest.approx(wanted, rel=1e-8)
    assert alone_in_sample(np.zeros(0, int), 5, 3) == 0
    assert alone_in_sample(np.zeros(3, int), 5, 3) == 0


@examples(60)
@given(files, files, st.sampled_from([[0, 1], [0, 1, 2], [3, 0, 2, 1]]))
def test_links_are_those_of_all_pairs(original, released, keys):
    half = len(keys) // 2
    sides = keys[:half], keys[half:]

    def closest(record, side):
        apart = [sum(record[key] != r[key] for key in side) for r in released]
        return {j for j, x in enumerate(apart) if x == min(apart)}

    wanted = 0.0
    for record in original:
        one, two = (closest(record, side) for side in sides)
        wanted += len(one & two) / len(one) / len(two)
    own, known = ([codes(one)[key] for key in keys] for one in (original, released))
    share, asked = linkability(own, known, [LEVELS[key] for key in keys])
    assert share * len(original) == pytest.approx(wanted, rel=1e-13)
    assert asked == len(original)
