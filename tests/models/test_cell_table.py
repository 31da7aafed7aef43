"""One converter for all that models of cells are fitted to."""

import numpy as np
import pytest

from riskcore import tabulate
from riskcore.models import CellTable

DATA = {
    "sex": ["f", "m", "f", "f", "m"],
    "age": [30, 40, 30, 20, 40],
    "w": [2.0, 3.0, 4.0, 5.0, 6.0],
}


def listed(table):
    return [column.tolist() for column in (*table.codes, table.records)]


def test_records_and_their_tabulation_are_one():
    cells = tabulate(DATA, ["sex", "age"], weight="w")
    found = CellTable.of(cells)
    again = CellTable.of(DATA, ["sex", "age"], weight="w")
    assert listed(found) == listed(again) == [[0, 0, 1], [0, 1, 2], [1, 2, 2]]
    assert found.weight_sum.tolist() == [5.0, 6.0, 9.0]
    assert found.keys == ("sex", "age")
    assert found.levels == (2, 3)
    assert CellTable.of(found) is found
    assert repr(found) == "<CellTable: 5 records in 3 cells of 2 keys, 1 sample unique>"


def test_codes_are_counted():
    codes = [[0, 1, 0, 0, 1], [1, 2, 1, 0, 2]]
    found = CellTable.of(codes, weight_sum=[2.0, 3.0, 4.0, 5.0, 6.0])
    assert listed(found) == [[0, 0, 1], [0, 1, 2], [1, 2, 2]]
    assert found.weight_sum.tolist() == [5.0, 6.0, 9.0]
    assert found.n == 5
    assert found.unique.tolist() == [True, False, False]
    assert found.positions.tolist() == [[0, 2], [0, 3], [1, 4]]
    assert found.counts.tolist() == [3.0, 2.0, 1.0, 2.0, 2.0]


def test_frequencies_are_records_and_empty_cells_are_left_out():
    found = CellTable.of([[1, 0, 1]], levels=[4], frequency=[2, 0, 5])
    assert listed(found) == [[1], [7]]
    assert found.levels == (4,)
    assert found.weight_sum.tolist() == [7.0]
    assert found.counts.tolist() == [0.0, 7.0, 0.0, 0.0]


def test_some_of_the_cells():
    table = CellTable.of([[0, 1, 2]], frequency=[1, 2, 1])
    some = table.some(table.unique)
    assert listed(some) == [[0, 2], [1, 1]]
    assert some.levels == table.levels


def test_codes_of_another_file_by_its_values():
    mine = CellTable.of(DATA, ["sex", "age"])
    other = CellTable.of({"sex": ["m"], "age": [20]}, ["sex", "age"])
    assert listed(other.coded_as(mine)) == [[1], [0], [1]]
    stranger = CellTable.of({"sex": ["f", "x"], "age": [20, 30]}, ["sex", "age"])
    with pytest.raises(ValueError, match="key 'sex': 1 of 2 cells have categories"):
        stranger.coded_as(mine)
    renamed = CellTable.of({"sex": ["m"], "years": [20]}, ["sex", "years"])
    with pytest.raises(ValueError, match="the model has the keys sex, age"):
        renamed.coded_as(mine)


def test_codes_that_the_model_has_not_are_refused():
    mine = CellTable.of([[0, 1], [0, 1]])
    assert CellTable.of([[0], [1]]).coded_as(mine).levels == (2, 2)
    with pytest.raises(ValueError, match="key 1: 1 of 1 cells"):
        CellTable.of([[0], [2]]).coded_as(mine)


def test_missing_values():
    data = {"sex": ["f", None, "f"]}
    with pytest.raises(ValueError, match="missing key values"):
        CellTable.of(data, ["sex"])
    assert listed(CellTable.of(data, ["sex"], missing="category")) == [[0, 1], [2, 1]]
    with pytest.raises(ValueError, match="missing='wildcard'"):
        CellTable.of(data, ["sex"], missing="wildcard")
    with pytest.raises(
        ValueError, match=r"each record in one cell; give missing=.category., or"
    ):
        CellTable.of(tabulate(data, ["sex"], missing="argus"))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"data": DATA}, TypeError, "keys: name the key variables"),
        ({"data": "file.csv"}, TypeError, "keys: name the key variables"),
        ({"data": []}, ValueError, "no keys"),
        ({"data": [[]]}, TypeError, "integer codes"),
        ({"data": [np.zeros(0, int)]}, ValueError, "0 records"),
        ({"data": [[0, 1], [0]]}, ValueError, "key 1: shape"),
        ({"data": [[0, 3]], "levels": [3]}, ValueError, "not in 0..2"),
        ({"data": [[0, 1]], "frequency": [1.5, 2.0]}, TypeError, "frequency"),
        ({"data": [[0, 1]], "frequency": [0, 0]}, ValueError, "0 records"),
        ({"data": [[0, 1]], "weight_sum": [1.0]}, ValueError, "weight_sum: shape"),
        ({"data": [[0, 1]], "weight_sum": [1.0, -1.0]}, ValueError, "1 of 2"),
        ({"data": [[0, 1]], "weight_sum": [1.0, np.nan]}, ValueError, "1 of 2"),
    ],
)
def test_what_is_no_sample_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        CellTable.of(**arguments)


# Cells of two tables that match, with any value in either


VALUES = {"a": ["p", "q", "r"], "b": [1, 2, 3, 4], "c": ["x", "y"]}


def drawn(rng, n, missing, values):
    """Return a table of records, some with missing keys, and the records."""
    columns = {
        name: [None if rng.random() < missing else each[i]
               for i in rng.integers(0, len(each), n)]
        for name, each in values.items()
    }  # fmt: skip
    weight = rng.integers(1, 9, n).astype(float)
    cells = tabulate({**columns, "w": weight}, [*values], "w", missing="wildcard")
    table = CellTable.of_margins(cells, cells.codes, cells.records, cells.weight_sum)
    return table, [*zip(*columns.values(), strict=True)]


def values_of(table):
    """Return the values of each cell, None for any."""
    columns = [
        [None if code < 0 else labels[code] for code in codes]
        for codes, labels in zip(table.codes, table.categories, strict=True)
    ]
    return [*zip(*columns, strict=True)]


def agree(one, other):
    pairs = zip(one, other, strict=True)
    return all(x is None or y is None or x == y for x, y in pairs)


@pytest.mark.parametrize("missing", [(0.0, 0.0), (0.3, 0.0), (0.0, 0.3), (0.3, 0.3)])
@pytest.mark.parametrize("seed", range(4))
def test_matches_by_search_through_all_pairs(seed, missing):
    rng = np.random.default_rng(seed)
    # The other table lacks a category, and has one more in another place.
    there = VALUES | {"a": ["o", "p", "q"], "b": [4, 2, 1]}
    mine, _ = drawn(rng, 25, missing[0], VALUES)
    other, records = drawn(rng, 40, missing[1], there)
    value = rng.uniform(1, 5, len(other))
    of_record = dict(zip(values_of(other), value, strict=True))
    cells = values_of(mine)
    found = [[r for r in records if agree(cell, r)] for cell in cells]
    assert mine.matches_in(other).tolist() == [len(each) for each in found]
    means = mine.means_in(other, value)
    for each, mean in zip(found, means.tolist(), strict=True):
        if each:
            wanted = np.mean([of_record[one] for one in each])
            assert mean == pytest.approx(wanted, rel=1e-13)
        else:
            assert np.isnan(mean)
    labels = [set(each.tolist()) for each in other.categories]
    known = [
        all(x is None or x in each for x, each in zip(cell, labels, strict=True))
        for cell in cells
    ]
    assert mine.known_in(other).tolist() == known
    assert 0 < sum(map(len, found)) < 25 * 40
    assert not all(known)


def test_cells_of_any_value_match_all_records():
    empty = tabulate({"a": [None], "b": [None]}, ["a", "b"])
    mine = CellTable.of(empty, any_value=True)
    other, records = drawn(
        np.random.default_rng(0), 9, 0.4, {"a": ["p", "q"], "b": ["x"]}
    )
    assert mine.matches_in(other).tolist() == [len(records)]
    assert other.matches_in(mine).tolist() == [1] * len(other)


def test_no_cells_match_nothing():
    table = CellTable.of(DATA, ["sex", "age"])
    none = table.some(np.zeros(len(table), bool))
    assert none.matches_in(table).tolist() == []
    assert none.means_in(table, table.weight_sum).tolist() == []
    assert none.known_in(table).tolist() == []
    renamed = CellTable.of({"sex": ["m"], "years": [20]}, ["sex", "years"])
    for method in (renamed.matches_in, renamed.known_in):
        with pytest.raises(ValueError, match="the model has the keys sex, age"):
            method(table)


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_patterns_part_the_cells_by_their_keys(missing):
    table, _ = drawn(np.random.default_rng(3), 40, missing, VALUES)
    seen = []
    patterns = [*table.patterns()]
    for keys, cells in patterns:
        for cell in cells:
            has = [k for k, codes in enumerate(table.codes) if codes[cell] >= 0]
            assert list(keys) == has
        seen += cells.tolist()
    assert sorted(seen) == [*range(len(table))]
    assert len({keys for keys, _ in patterns}) == len(patterns) == (8 if missing else 1)
