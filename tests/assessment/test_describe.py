"""Describing the columns of a file: what they hold, and the roles they seem to have."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import riskcore
from riskcore import describe, simulate
from riskcore.assessment.roles import GIVEN_ROLES, UNIQUE_SHARE, propose, singles_out
from riskcore.data.files import formats
from riskcore.data.files.labels import Labels
from riskcore.data.files.reading import Reading
from riskcore.data.profile import ColumnProfile, profile
from tests import needs

N = 400


def column(name="c", **more):
    """Return the profile of a column of 400 records."""
    given = {"type": "text", "records": N, "missing": 0, "distinct": 9, "single": 0}
    return ColumnProfile(name=name, **{**given, **more})


WHOLE = {"type": "whole number"}
OWN = {"distinct": N, "single": N}
# A name, what the column holds, the role, and words of the reason.
PROPOSALS = [
    ("anything", {"distinct": 1}, "harmless", "one value for all records"),
    ("nothing", {"distinct": 0, "missing": N}, "harmless", "one value"),
    ("WEIGHT", {"type": "number", "distinct": 90, "smallest": 0.5}, "weight", "name"),
    ("final_wt", {**WHOLE, "distinct": 90, "smallest": 1}, "weight", "its name"),
    ("weight", {"type": "number", "distinct": 90, "smallest": -1.0}, "numeric", "90"),
    ("sampling_weight", {**WHOLE, "distinct": 1, "smallest": 100}, "weight", "name"),
    ("relat", {**WHOLE}, "key", "its name"),
    ("hsize", {**WHOLE}, "key", "its name"),
    ("person_id", {**OWN}, "identifier", "its name, and nearly all"),
    ("personId", {**WHOLE, **OWN, "smallest": 1, "largest": 10**9}, "identifier",
     "its name"),
    ("number", {**WHOLE, **OWN, "smallest": 5, "largest": N + 4}, "identifier",
     "a running number"),
    ("income", {**WHOLE, **OWN, "smallest": 0, "largest": 10**6}, "numeric",
     "400 different numbers"),
    ("income", {**WHOLE, "distinct": 51}, "numeric", "51 different numbers"),
    ("income", {**WHOLE, "distinct": 50}, None, ""),
    ("remarks", {"distinct": 300, "single": 280, "longest": 90}, "identifier",
     "text, free text"),
    ("c", {**OWN, "longest": 9}, "identifier", "text, nearly all values are unique"),
    ("c", {"distinct": 120, "single": 100}, None, "100 of 400 records have a value"),
    ("HHID", {**WHOLE, "distinct": 150}, "household", "few records share a value"),
    ("Haushalt", {"distinct": 150}, "household", "its name"),
    ("household", {"distinct": 3}, None, ""),
    ("couple", {**WHOLE, "distinct": 90, "missing": 220}, "household", "its name"),
    ("UTILITYID", {**WHOLE, "distinct": 60}, "identifier", "its name, and 60 values"),
    ("IDunit", {**WHOLE, "distinct": 60, "single": 9}, "identifier", "60 values"),
    ("UTILNAME", {"distinct": 60}, "identifier", "its name, and 60 values"),
    ("PAID", {**WHOLE, "distinct": 60}, "numeric", "60 different numbers"),
    ("region_name", {"distinct": 60}, "key", "its name"),
    ("db030", {**WHOLE, "distinct": 160, "single": 60, "smallest": 1, "largest": 170,
               "order": "ascending"}, "household", "stand together"),
    ("v1", {**WHOLE, "distinct": 160, "smallest": 1, "largest": 170,
            "order": "together"}, "household", "stand together"),
    ("v1", {"distinct": 160, "order": "together"}, "household", "stand together"),
    ("v1", {**WHOLE, "distinct": 160, "smallest": 1, "largest": 170}, "numeric", ""),
    ("hh_income", {**WHOLE, "distinct": 30, "order": "together"}, None, ""),
    ("hy020", {**WHOLE, "distinct": 160, "smallest": 0, "largest": 90_000,
               "order": "together"}, "numeric", "160 different numbers"),
    ("v1", {**WHOLE, "records": 2000, "distinct": 600, "smallest": 1,
            "largest": 600}, "household", "running numbers that few records share"),
    ("age", {**WHOLE, "distinct": 60, "smallest": 1, "largest": 80,
             "order": "ascending"}, "key", "its name"),
    ("rb030", {**WHOLE, **OWN, "smallest": 101, "largest": 40_001,
               "order": "ascending"}, "identifier", "in ascending order"),
    ("assets", {**WHOLE, "distinct": 395, "single": 390, "smallest": 101,
                "largest": 40_001, "order": "ascending"}, "numeric", "395"),
    ("OCCUCODE", {**WHOLE, "distinct": 226, "single": 9}, "key", "its name"),
    ("occupation", {"distinct": 11, "longest": 90}, "key", "its name"),
    ("ASECWT", {"type": "number", "distinct": 90, "smallest": 0.5}, "weight", "name"),
    ("AFNLWGT", {**WHOLE, **OWN, "smallest": 1, "largest": 10**6}, "weight", "name"),
    ("sex", {"distinct": 2}, "key", "its name"),
    ("BirthYear", {**WHOLE, "distinct": 90}, "key", "its name"),
    ("health_status", {"distinct": 5}, "sensitive", "its name"),
    ("q17", {"distinct": 5}, None, ""),
    ("sexuality_index", {"distinct": 5}, None, ""),
]  # fmt: skip


@pytest.mark.parametrize(("name", "holds", "role", "reason"), PROPOSALS)
def test_proposals(name, holds, role, reason):
    found = propose(column(name, **holds))
    assert found.role == role
    assert reason in found.reason
    assert bool(reason) <= bool(found.reason)


def test_a_label_counts_as_the_name():
    assert propose(column("v1", label="Sex of respondent")).role == "key"


def test_columns_that_single_out_records():
    assert UNIQUE_SHARE == 0.01
    assert [singles_out(column(single=i)) for i in (0, 3, 4)] == [False, False, True]
    few = {"records": 20, "distinct": 2}
    assert not singles_out(column(single=0, **few))
    assert singles_out(column(single=1, **few))


def survey():
    rng = np.random.default_rng(3)
    return {
        "hh": (np.arange(N) // 2).tolist(),
        "sex": rng.choice(["f", "m"], N).tolist(),
        "age": [None if i % 50 == 0 else int(a)
                for i, a in enumerate(rng.integers(0, 60, N))],
        "town": [f"t{i // 2}" for i in range(N)],
        "pay": rng.lognormal(8, 1, N).round(2).tolist(),
        "w": [20.0] * N,
    }  # fmt: skip


def test_given_roles_and_proposals():
    found = describe(
        survey(), ["sex"], "w", roles={"pay": "numeric", "town": "identifier"}
    )
    assert found.records == N
    assert [one.name for one in found.columns] == list(survey())
    assert [one.role for one in found.columns] == [
        None, "key", None, "identifier", "numeric", "weight"
    ]  # fmt: skip
    assert found.unexamined == ("hh", "age")
    assert found.proposed_roles["hh"] == "household"
    assert found.proposed_roles["age"] == "key"
    assert repr(found) == "<Description: 6 columns of 400 records>"
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()


def test_the_order_of_the_records():
    """Text of numbers is ordered as numbers; missing values do not count."""
    order = {
        "up": ([1, 1, 2, 10], "ascending"),
        "up as text": (["1", "2", "9", "10"], "ascending"),
        "together": ([7, 7, None, 3, 3, 5], "together"),
        "text": (["b", "b", "a", "c"], "together"),
        "apart": ([1, 2, 1, 3], None),
        "one value": ([1, 1, 1, 1], None),
        "missing": ([None, None], None),
    }
    for values, expected in order.values():
        (one,) = describe({"c": values}).columns
        assert one.profile.order == expected


def test_infinite_values_are_text_in_json():
    found = describe({"c": [np.inf, 1.0, -np.inf]}).to_dict()
    (one,) = json.loads(json.dumps(found, allow_nan=False))["columns"]
    assert (one["smallest"], one["largest"]) == ("-inf", "inf")


def test_couples_get_a_proposal():
    couples = [i // 2 + 1 if i % 5 else None for i in range(N)]
    found = describe({"v1": couples, "sex": ["f", "m"] * (N // 2)})
    assert found.proposed_roles == {"v1": "household", "sex": "key"}


def test_single_values_with_households():
    alone = {one.name: one.profile for one in describe(survey()).columns}
    shared = {
        one.name: one.profile for one in describe(survey(), household="hh").columns
    }
    assert (alone["town"].single, shared["town"].single) == (0, N)
    assert (alone["town"].constant, shared["town"].constant) == (None, True)
    assert shared["sex"].constant is False
    assert shared["pay"].single >= alone["pay"].single > 0.9 * N


def test_as_text():
    text = describe(survey(), ["sex"], roles={"pay": "numeric"}).text("my file")
    lines = text.splitlines()
    assert lines[0] == "my file"
    (head,) = (line for line in lines if line.split()[:1] == ["column"])
    for word in ("type", "distinct", "missing", "own value", "smallest", "role", "why"):
        assert word in head
    assert "label" not in head
    rows = {line.split()[0]: line.split() for line in lines if line.startswith("    ")}
    assert rows["sex"][-2:] == ["key", "given"]
    assert rows["pay"][-2:] == ["numeric", "given"]
    assert rows["age"][-3:] == ["key?", "its", "name"]
    assert rows["hh"][rows["hh"].index("household?") - 1] == "199"
    assert "A role with a question mark is a proposal; you decide." in text


def test_names_labels_and_values_are_cut_and_shown_plainly():
    found = describe({"n" * 90: ["v\x1b[31m" * 20, "b"], "\x1b[2J": [1, 2]})
    text = found.text()
    assert "\x1b" not in text
    assert "\\x1b[2J" in text
    assert max(map(len, text.splitlines())) < 180


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"]
)
def test_kinds_of_frames(make):
    want = describe(survey(), household="hh").to_dict()
    assert describe(make(survey()), household="hh").to_dict() == want


@pytest.mark.parametrize("name", ["s.csv", "s.parquet", "s.feather"])
def test_files(tmp_path, name):
    path = formats.write(tmp_path / name, survey())
    assert describe(path, household="hh").to_dict() == (
        describe(survey(), household="hh").to_dict()
    )


def test_marks_of_decimals_in_a_file(tmp_path):
    (tmp_path / "s.csv").write_text("a;b\n1,5;x\n2,5;y\n")
    (first, _) = describe(tmp_path / "s.csv", reading=Reading(decimal=",")).columns
    assert (first.profile.type, first.profile.largest) == ("number", 2.5)
    (first, _) = describe(tmp_path / "s.csv").columns
    assert first.proposed.role is None  # not an identifier, which would be left out
    assert "the right decimal mark" in first.proposed.reason


def test_labels(tmp_path):
    import pyreadstat

    frame = pd.DataFrame({"v1": [1.0, 2.0] * 9, "v2": [3.0, 4.0] * 9})
    path = tmp_path / "s.sav"
    pyreadstat.write_sav(frame, path, column_labels={"v1": "Sex of respondent"})
    found = describe(path)
    assert [one.profile.label for one in found.columns] == ["Sex of respondent", None]
    assert found.proposed_roles == {"v1": "key"}
    assert "Sex of respondent" in found.text()


def test_a_weight_that_mu_argus_declares(tmp_path):
    (tmp_path / "s.rda").write_text("A 1 1\n  <RECODABLE>\nW 2 4\n  <WEIGHT>\n")
    (tmp_path / "s.asc").write_text("".join(f"{i % 3}{i}.50\n" for i in range(1, 10)))
    found = describe(tmp_path / "s.asc", ["A"])
    assert [one.role for one in found.columns] == ["key", "weight"]
    assert found.unexamined == ()


@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=needs.engine(each)) for each in ("polars", "duckdb")],
)
def test_data_on_an_engine(name):
    columns = {**survey(), "b": [i % 2 == 0 for i in range(N)]}
    columns["income"] = [999998 if i % 39 == 0 else 100 + i % 91 for i in range(N)]
    days = [f"{1950 + i % 49}-05-01" for i in range(N - 1)]
    columns["day"] = np.array([*days, "7777-07-07"], "M8[D]")
    table = pa.table(columns)
    if name == "polars":
        held = pl.from_arrow(table).lazy()
    else:
        import duckdb

        held = duckdb.connect().from_arrow(table)
    here, there = describe(table).columns, describe(held).columns
    for one, other in zip(here, there, strict=True):
        want, got = one.to_dict(), other.to_dict()
        assert (got.pop("smallest"), got.pop("largest")) == (None, None)
        if one.name == "w":  # whole numbers, held as doubles
            assert (want["type"], got["type"]) == ("whole number", "number")
            want["type"] = "number"
        if one.derived is not None:  # which is not looked for on an engine
            assert (one.name, want.pop("reason"), got.pop("reason")) == (
                "town",
                "the same as hh; few records share a value, and they stand together",
                "",
            )
            roles = want.pop("proposed_role"), got.pop("proposed_role")
            assert roles == ("household", None)
        assert got == {k: v for k, v in want.items() if k in got}, one.name
    codes = {one.name: one.profile.codes for one in there if one.profile.codes}
    assert {name: str(code) for name, (code,) in codes.items()} == {
        "income": "999998 (11 records)", "day": "7777-07-07 (1 record)"
    }  # fmt: skip
    assert "smallest" not in describe(held).text()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"roles": {"pay": "secret"}}, ValueError, "'secret' of column 'pay' is not a"),
        ({"roles": {"pay": "weight"}}, ValueError, "name it as a key, the weight"),
        ({"roles": {"sex": "harmless"}, "keys": ["sex"]}, ValueError, "is key already"),
        ({"roles": {"w": "numeric"}, "weight": "w"}, ValueError, "is weight already"),
        ({"roles": {"nil": "numeric"}}, KeyError, "no column 'nil'"),
        ({"roles": {"pay": ["numeric"]}}, (TypeError, ValueError), "roles"),
        ({"roles": "pay"}, TypeError, "roles"),
        ({"roles": ["pay"]}, TypeError, "roles"),
        ({"keys": ["nil"]}, KeyError, "no column 'nil'"),
        ({"keys": "sex"}, TypeError, "keys is a list"),
        ({"household": "nil"}, KeyError, "no column 'nil'"),
    ],
)
def test_refusals(options, error, message):
    with pytest.raises(error, match=message):
        describe(survey(), **options)


@pytest.mark.parametrize("data", [{}, {"a": []}, pd.DataFrame({"a": []})])
def test_no_records(data):
    with pytest.raises(ValueError, match=r"no (records|columns)"):
        describe(data)


def test_what_protect_calls_a_leak_describe_shows():
    data = simulate.microdata(800, np.random.default_rng(5))
    keys = ["SEX", "AGE"]
    order = np.random.default_rng(1).permutation(len(data["SEX"]))
    data = {name: one[order] for name, one in data.items()}
    result = riskcore.protect(
        data, keys, "WEIGHT", "HOUSEHOLD", k=2, accept={"*": "only the columns"}
    )
    columns = describe(data, keys, "WEIGHT", "HOUSEHOLD").columns
    expected = {
        one.name for one in columns
        if singles_out(one.profile) and one.role in (None, "weight")
    }  # fmt: skip
    kinds = ("unique", "identifier", "weight")
    found = result.examination.leaks
    assert {one.column for one in found if one.kind in kinds} == expected
    assert len(expected) > 2


def test_roles_that_can_be_given():
    for role in GIVEN_ROLES:
        found = describe(survey(), roles={"pay": role})
        assert found.columns[4].role == role


DAYS = np.datetime64("1950-05-01") + np.arange(0, 8000, 20)
YMD = np.array([str(day).replace("-", "") for day in DAYS], int)
IDS = np.arange(20240001, 20240401)


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("a", YMD, "looks like dates: recode them by year, quarter, month or age"),
        ("a", np.where(YMD < 19500700, 99999999, YMD), "like dates: recode them"),
        ("a", YMD.astype(str), "looks like dates: recode them"),
        ("a", YMD // 100, "looks like months: recode by year"),
        ("visit_date", (DAYS - np.datetime64("1899-12-30")).astype(int),
         "dates of Excel, 18384 is 1950-05-01 or SAS or Stata, 18384 is 2010-05-02: s"),
        ("date", (DAYS - np.datetime64("1960-01-01")).astype(int), "of SAS or Stata"),
        ("a", (DAYS - np.datetime64("1899-12-30")).astype(int), ""),
        ("date", IDS, ""),
        ("a", IDS // 100 + np.arange(N), ""),
        ("a", np.arange(180_000, 220_000, 100), ""),
        ("a", np.arange(N) % 60 + 1950, ""),
    ],
)  # fmt: skip
def test_whole_numbers_that_are_dates(name, values, said):
    (found,) = riskcore.describe({name: values}).columns
    assert ("looks like" in found.doubt) == bool(said)
    assert said in found.doubt


def test_years_of_stata_are_years():
    years = {"y": np.arange(N) % 60 + 1950}
    (found,) = profile(years, ["y"], labels=Labels(formats={"y": "%ty"}))
    assert found.like == "years"
