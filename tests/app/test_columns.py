"""The page of columns: proposals, roles for many, and doubtful categories."""

import pandas as pd
import pytest

from riskcore.app.forms import Form
from riskcore.app.pages import columns


@pytest.fixture
def bench(tmp_path, opened):
    data = pd.DataFrame(
        {
            "sex": ["m", "f", "NA", "m"] * 10,
            "age": [20, 30, 40, 50] * 10,
            "weight": [10.5, 20.25, 30.125, 11.0] * 10,
            "household_weight": [1.5, 2.25, 3.125, 1.0] * 10,
            "colour": ["red", "blue"] * 20,
            "shape": ["round", "flat"] * 20,
        }
    )
    data.to_csv(tmp_path / "survey.csv", index=False)
    found = opened(tmp_path / "survey.csv")
    job = found.jobs.start("describe", None, found._describe)
    assert job.ended.wait(60)
    return found


def roles(bench):
    return {name: bench.role_of(name) for name in bench.names}


def test_columns_that_rival_for_one_role_are_left_to_the_reader(bench):
    words = columns.accept(bench, Form())
    found = roles(bench)
    assert found["sex"] == found["age"] == "key"
    assert found["weight"] is found["household_weight"] is None
    assert "Several columns may be the weight" in words
    bench.set_roles({"weight": "weight"}, "")
    again = columns.accept(bench, Form())
    assert roles(bench)["weight"] == "weight"
    assert roles(bench)["household_weight"] is None
    assert "Several columns may be the weight" in again


def test_the_rest_gets_one_role_but_not_what_has_a_proposal(bench):
    assert columns.view(bench, Form())["rest"] == 2
    words = columns.rest(bench, Form({"role": ("sensitive",)}))
    assert words == "Columns that are now sensitive: 2."
    assert {name for name, role in roles(bench).items() if role} == {"colour", "shape"}
    assert columns.view(bench, Form())["rest"] == 0
    with pytest.raises(ValueError, match="not a role for several columns"):
        columns.rest(bench, Form({"role": ("weight",)}))


def test_categories_that_look_missing_are_told_of_keys(bench):
    assert columns.view(bench, Form())["doubts"] == []
    bench.set_roles({"sex": "key"}, "")
    (line,) = columns.view(bench, Form())["doubts"]
    assert "key 'sex': 'NA' (10 records)" in line
    assert line.endswith('"Codes that mean missing" on the page of the data')


def test_an_old_page_takes_no_role_of_others_back(bench):
    fields = {f"{kind}-{at}": ("",) for kind in ("role", "was") for at in range(6)}
    bench.set_roles({"age": "key"}, "somebody else")
    at = bench.names.index("sex")
    columns.choose(bench, Form({**fields, f"role-{at}": ("key",)}))
    assert bench.keys == ["sex", "age"]
