"""Households as rows: an assessment of them is that of a file made by hand."""

import json

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from riskcore import assess, cli, protect
from riskcore.assessment.cell_risk import RECORD_COLUMNS
from riskcore.data import household_rows
from riskcore.data.columns import Records
from riskcore.data.files import arrow, formats
from riskcore.data.household_rows import HouseholdRows
from riskcore.report.public_page import public_page
from tests import needs

KEYS = ["size", "region"]
ROLES = {"weight": "w", "household": "hh", "level": "household"}


def survey(households=60, seed=3, missing=0.0):
    """Make the records of households of 1 to 5 members, in no order."""
    random = np.random.default_rng(seed)
    size = np.minimum(random.geometric(0.45, households), 5)
    own = {
        "size": size.astype(str).tolist(),
        "region": np.minimum(random.geometric(0.4, households), 6).astype(str).tolist(),
        "w": np.round(random.uniform(3, 90, households), 2).tolist(),
    }
    for i in np.flatnonzero(random.random(households) < missing):
        own["region"][i] = None
    of = random.permutation(np.repeat(np.arange(households), size))
    data = {name: [column[i] for i in of] for name, column in own.items()}
    numbers = random.permutation(households) * 7 + 1000
    return {**data, "hh": [int(numbers[i]) for i in of], "age": of.tolist()}


def by_hand(data):
    """Return the first record of each household, and the place of each record."""
    place = {one: i for i, one in enumerate(sorted(set(data["hh"])))}
    first = [data["hh"].index(one) for one in place]
    rows = {name: [column[i] for i in first] for name, column in data.items()}
    return rows, [place[one] for one in data["hh"]]


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"method": "series7"},
        {"missing": "wildcard"},
        {"missing": "wildcard", "alpha": 0.4},
        {"missing": "argus"},
        {"missing": "category"},
        {"population": "log-linear"},
    ],
)
@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_as_by_hand(how, kind):
    data = survey(missing=0.1 if "missing" in how else 0)
    rows, of = by_hand(data)
    expected = assess({name: rows[name] for name in (*KEYS, "w")}, KEYS, "w", **how)
    found = assess(kind(data), KEYS, **ROLES, **how)
    told = {"level": "household", "records": len(of)}
    assert found.figures == {**expected.figures, "counted": told}
    assert found.individual_risk.tolist() == expected.individual_risk.tolist()
    assert found.risk_threshold(unsafe=5) == expected.risk_threshold(unsafe=5)
    assert found.riskiest(3) == expected.riskiest(3)
    threshold = found.risk_threshold(unsafe=5)
    assert found.unsafe(threshold).tolist() == expected.unsafe(threshold).tolist()
    # Back to the records: in their order, and of the type that was given.
    assert type(found.records) is type(kind(data))
    for name in RECORD_COLUMNS[:4]:
        each = np.asarray(expected.records[name])
        assert np.asarray(found.records[name]).tolist() == each[of].tolist()
        assert found.to_records(each).tolist() == each[of].tolist()
    assert "household_risk" not in found.records
    assert np.asarray(found.records["age"]).tolist() == data["age"]


@pytest.mark.filterwarnings(
    "ignore::riskcore.protection.records.showing.SuppressedValueShows"
)
def test_it_is_the_first_pass_of_protect():
    data = survey()
    found = assess(data, KEYS, missing="wildcard", **ROLES)
    safe = protect(data, KEYS, k=3, **ROLES)
    before = dict(found.figures)
    assert before.pop("counted")["records"] == len(data["hh"])
    assert before == safe.sets[0].original.figures
    assert found.figures["records"] == len(set(data["hh"])) < len(data["hh"])


def test_what_a_record_is_is_said(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = survey()
    found = assess(data, KEYS, **ROLES)
    households, records = len(set(data["hh"])), len(data["hh"])
    assert repr(found).startswith(f"<Assessment: {households} households in ")
    said = f"one row for each household, called a record here; the file has {records} "
    assert said in found.summary()
    assert said in found._repr_html_()
    found.report("r.html")
    assert said in (tmp_path / "r.html").read_text()
    public = public_page(found)
    assert "one row for each household, which is called a record here" in public
    assert str(records) not in public
    formats.write("survey.csv", data)
    roles = ["--weight", "w", "--household", "hh", "--level", "household"]
    words = ["assess", "survey.csv", "--keys", *KEYS, *roles, "--output", "risk.csv"]
    assert cli.main([*words, "--quiet"]) == 0
    assert said in capsys.readouterr().out
    by_file = formats.read(tmp_path / "risk.csv", numeric=["individual_risk"])
    risks = found.records["individual_risk"]
    assert by_file["individual_risk"].to_pylist() == risks.tolist()
    assert cli.main([*words[:-2], "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain["counted"] == {"level": "household", "records": records}
    assert plain["records"] == households


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"household": None}, "level='household' needs the household column"),
        ({"level": "person"}, "level='person': use 'record' or 'household'"),
        ({"keys": ["size", "age"]}, r"members differ in 'age' in \d+ of 60 households"),
    ],
)
def test_refused(change, message):
    data = survey()
    data["age"] = list(range(len(data["hh"])))
    with pytest.raises(ValueError, match=message):
        assess(data, **{"keys": KEYS, **ROLES, **change})


def test_members_that_differ_are_counted_by_household():
    data = survey()
    big = max(set(data["hh"]), key=data["hh"].count)
    i = data["hh"].index(big)
    data["w"][i] += 1.0
    data["region"][i] = None
    # A member without a value differs from one with a value.
    expected = "differ in 'region' in 1, 'w' in 1 of 60 households"
    with pytest.raises(ValueError, match=expected):
        assess(data, KEYS, missing="wildcard", **ROLES)


def test_households_have_no_household_risk():
    found = assess(survey(), KEYS, **ROLES)
    with pytest.raises(ValueError, match="counts each household as a record"):
        _ = found.household_risk
    with pytest.raises(ValueError, match="counts each household as a record"):
        found.household_threshold(rate=0.1)
    with pytest.raises(ValueError, match=r"values: shape \(3,\), need one for each of"):
        found.to_records([1, 2, 3])


@needs.engine("duckdb")
def test_not_on_an_engine():
    with pytest.raises(TypeError, match="household"):
        assess(pl.DataFrame(survey()).lazy(), KEYS, **ROLES)


def test_rows_are_those_of_first_members():
    rows = HouseholdRows.agreeing(np.array([5, 2, 5, 9, 2]), {"a": np.arange(5) * 0})
    assert rows.first.tolist() == [1, 0, 3]
    assert rows.of.tolist() == [1, 0, 1, 2, 0]
    assert rows.size.tolist() == [2, 2, 1]
    taken = rows.rows({"x": np.array(list("vwxyz"))}, ["x"])["x"]
    assert taken.tolist() == ["w", "v", "y"]


def test_the_summary_of_records_says_nothing_of_it():
    assert "counted" not in assess(survey(), KEYS, "w", "hh").summary()


@pytest.mark.parametrize("make", [np.array, pd.Series, pl.Series, pa.array])
@pytest.mark.parametrize("values", [["a", None, "", "b"], [1, None, 3, 2]])
def test_columns_in_another_order(monkeypatch, make, values):
    monkeypatch.setattr(household_rows, "_AT_ONCE", 2)
    column = Records.of({"a": make(values)}).column("a")
    there = household_rows.in_order(column, np.array([3, 0, 1, 2]))
    found = arrow.table_of({"a": there}, plain=True)["a"].to_pylist()
    assert found == [values[3], *values[:3]]


def test_the_types_of_arrow_stay():
    # Not text with long offsets, of which the order is made.
    types = [pa.string(), pa.large_string(), pa.binary(), pa.int8()]
    types.append(pa.dictionary(pa.int8(), pa.string()))
    for kind in types:
        values = [3, 4, 5] if kind == pa.int8() else ["x", None, "yy"]
        array = pa.array(values, kind)
        column = nw.from_native(pa.chunked_array([array] * 2), series_only=True)
        there = household_rows.in_order(
            column, np.array([5, 1, 0, 2, 4, 3])
        ).to_native()
        assert there.type == kind
        assert there.to_pylist() == [array[i].as_py() for i in [2, 1, 0, 2, 1, 0]]
    empty = nw.from_native(pa.chunked_array([], pa.string()), series_only=True)
    assert len(household_rows.in_order(empty, np.array([], int))) == 0
