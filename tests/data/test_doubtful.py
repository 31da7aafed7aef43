"""Codes that look like something else."""

import pytest

import riskcore
from riskcore.data.files import formats
from riskcore.data.files.reading import Reading


def written(folder, text, name="a.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("other", ["N\u043erd", "\u039dord", "NORD"])
def test_letters_of_other_scripts_that_split_a_category_are_said(tmp_path, other):
    path = written(tmp_path, f"key\nNord\n{other}\n\u0412\n\u0431\n")
    with pytest.warns(formats.DoubtfulCodes, match="taken as different") as caught:
        riskcore.assess(path, ["key"])
    (said,) = [str(one.message) for one in caught]
    for label in ("Nord", other):
        assert ascii(label) in said


def test_categories_that_look_like_missing_ones_are_said(tmp_path):
    path = written(tmp_path, "mar,age,w\nNA,2,1\n1,02,2\nNA, 2,3\n2,3,4\n")
    with pytest.warns(formats.DoubtfulCodes) as caught:
        riskcore.assess(path, ["mar", "age"], "w")
    said = [str(one.message) for one in caught]
    assert said[0].startswith("key 'mar': 'NA' (2 records) is taken as a category; if")
    assert said[1].startswith("key 'age': ' 2', '02' and '2' are taken as different")
    assert all(one.filename == __file__ for one in caught)
    reading = Reading(missing_codes=["NA"])
    with pytest.raises(ValueError, match=r"'mar' in 2 of 4 .*'wildcard'"):
        riskcore.assess(path, ["mar"], "w", missing="refuse", reading=reading)
    found = riskcore.assess(path, ["mar"], "w", reading=reading)
    assert found.cells.missing_values == (2,)
