"""The page of columns: proposals, roles for many, and doubtful categories."""

import re

import pandas as pd
import pytest

from riskcore.app.forms import Form
from riskcore.app.pages import columns
from riskcore.app.texts import told
from tests.app.client import Client


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
    found.description()
    assert found.jobs.of("describe").ended.wait(60)
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


def names(bench, **asked):
    fields = {name: (value,) for name, value in asked.items()}
    return {row["column"].name for row in columns.view(bench, Form(fields))["rows"]}


def test_ticked_columns_get_one_role(bench):
    at = [str(bench.names.index(name)) for name in ("colour", "shape")]
    words = columns.give(bench, Form({"role": ("sensitive",), "column": (*at,)}))
    assert words == "Columns that are now sensitive: 2."
    assert {name for name, role in roles(bench).items() if role} == {"colour", "shape"}


@pytest.mark.parametrize(
    ("role", "at", "words"),
    [
        ("", ("0",), "tick columns and choose"),
        ("key", (), "tick columns and choose"),
        ("weight", ("2", "3"), "not a role for several columns"),
        ("key", ("0", "99"), "no such column"),
    ],
)
def test_a_role_for_many_columns_is_chosen_by_somebody(bench, role, at, words):
    before = bench.history.current
    with pytest.raises(ValueError, match=words):
        columns.give(bench, Form({"role": (role,), "column": at}))
    assert bench.history.current is before


def test_columns_are_filtered_by_text_type_and_role(bench):
    assert names(bench) == {*bench.names}
    assert names(bench, find="WEIGHT") == {"weight", "household_weight"}
    assert names(bench, type="text") == {"sex", "colour", "shape"}
    assert names(bench, shown="unproposed") == {"colour", "shape"}
    bench.set_roles({"colour": "key"}, "")
    assert names(bench, shown="key") == {"colour"}
    assert names(bench, shown="undecided", type="text") == {"sex", "shape"}


def test_without_a_script_all_columns_of_a_filter_are_ticked(bench):
    client = Client(bench)
    text = client.get("/columns?find=weight&tick=1").text
    ticked = re.findall(r'id="tick-([0-9]+)" checked', text)
    assert [bench.names[int(at)] for at in ticked] == ["weight", "household_weight"]
    assert text.count('<input type="checkbox" name="column"') == 2
    # The menus of the columns that are listed are those of these columns.
    assert re.findall(r'<select name="role-([0-9]+)"', text) == ticked
    assert '<option value="">choose</option>' in text


def test_categories_that_look_missing_are_told_of_keys(bench):
    assert columns.view(bench, Form())["doubts"] == []
    bench.set_roles({"sex": "key"}, "")
    (line,) = columns.view(bench, Form())["doubts"]
    assert "key 'sex': 'NA' (10 records)" in line
    assert told(line).endswith("declare the code on the page of the data")


def test_an_old_page_takes_no_role_of_others_back(bench):
    fields = {f"{kind}-{at}": ("",) for kind in ("role", "was") for at in range(6)}
    bench.set_roles({"age": "key"}, "somebody else")
    at = bench.names.index("sex")
    columns.choose(bench, Form({**fields, f"role-{at}": ("key",)}))
    assert bench.keys == ["sex", "age"]
