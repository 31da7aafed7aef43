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
        ValueError,
        match=r"each record in one cell; give missing=.category., or",
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
        ({"data": [[0, 1]], "weight_sum": [1.0, 0.0]}, ValueError, "1 of 2"),
        ({"data": [[0, 1]], "weight_sum": [1.0, np.nan]}, ValueError, "1 of 2"),
    ],
)
def test_what_is_no_sample_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        CellTable.of(**arguments)
