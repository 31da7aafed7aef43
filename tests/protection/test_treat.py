"""Treatments within a protection: in data of all kinds, files, and records."""

import json

import numpy as np
import pandas
import polars
import pyarrow
import pyreadstat
import pytest

import riskcore
from riskcore import cli
from riskcore.data.files import formats
from riskcore.protection.result import UnsafeError
from riskcore.protection.settings.settings import Settings
from riskcore.report.public_page import public_protection_page
from tests.made_again import made_again

KEYS = ["area", "sex"]
ACCEPT = {"*": "a test"}


def file(n=400):
    rng = np.random.default_rng(3)
    unit = np.repeat(np.arange(n // 2), 2)
    return {
        "hh": unit,
        "area": np.where(unit % 2, "a", "b"),
        "sex": rng.choice(["f", "m"], n),
        "rent": (100.0 + unit * 7)[: len(unit)],
        "income": np.round(rng.lognormal(9, 1, n), 2),
        "w": 10.0 + (unit % 5),
    }


KINDS = {
    "arrays": dict,
    "lists": lambda data: {name: one.tolist() for name, one in data.items()},
    "pandas": pandas.DataFrame,
    "polars": polars.DataFrame,
    "arrow": lambda data: pyarrow.table({k: list(v) for k, v in data.items()}),
}


def numbers(data, name):
    column = data[name]
    return np.array(getattr(column, "to_pylist", lambda: list(column))(), float)


@pytest.mark.parametrize("kind", ["arrays", "pandas", "polars", "arrow"])
@pytest.mark.parametrize("rule", ["round:100", "top:50", "noise:10%", "swap:10%"])
def test_integers_stay_integers(kind, rule):
    whole = {name: one for name, one in file().items() if name in KEYS}
    whole["age"] = np.arange(400) % 90
    result = riskcore.protect(
        KINDS[kind](whole), KEYS, k=2, treat={"age": rule}, accept=ACCEPT
    )
    column = result.data["age"]
    assert str(getattr(column, "dtype", getattr(column, "type", ""))).lower() == "int64"


@pytest.mark.parametrize("kind", KINDS)
def test_data_of_all_kinds_are_treated_alike(kind):
    data = KINDS[kind](file())
    result = riskcore.protect(
        data,
        KEYS,
        "w",
        k=3,
        treat={"income": ["top:2%", "round:100"], "w": "share-weights:2"},
        accept=ACCEPT,
    )
    assert type(result.data) is type(data)
    income = numbers(result.data, "income")
    assert (income % 100 == 0).all()
    assert income.max() < file()["income"].max()
    weights = numbers(result.data, "w")
    assert weights.sum() == pytest.approx(file()["w"].sum())
    assert len(np.unique(weights)) == 2


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather"])
def test_written_and_read_back(tmp_path, suffix):
    source = tmp_path / f"survey{suffix}"
    formats.write(source, file(), overwrite=True)
    safe, again = tmp_path / f"safe{suffix}", tmp_path / f"again{suffix}"
    words = ["--keys", *KEYS, "--weight", "w", "--k", "3", "--drop", "hh", "--shuffle"]
    treat = [
        "income=noise:20%",
        "income=round:10",
        "rent=swap:30%",
        "w=round-weights:5",
    ]
    command = ["protect", str(source), *words, "--treat", *treat, "--quiet"]
    accept = [
        "--role", "*=harmless:a test", "--accept", "*=a test", "--output", str(safe),
    ]  # fmt: skip
    assert cli.main([*command, *accept]) == 0
    record = tmp_path / f"safe{suffix}.private.json"
    assert made_again(source, record, again) == safe.read_bytes()
    held = json.loads(record.read_text())["settings"]["treat"]
    assert [one["columns"] for one in held] == [["income"], ["rent"], ["w"]]
    kinds = [words.partition(":")[0] for words in held[0]["rules"]]
    assert kinds == ["noise", "round"]


def test_what_was_altered_is_said_also_in_public(tmp_path):
    result = riskcore.protect(
        file(), KEYS, "w", k=3, treat={"income": "swap:10%", "w": "round:5"},
        accept=ACCEPT,
    )  # fmt: skip
    said = "Values were altered: income (exchanged with a record of similar rank"
    assert said in result.verdict
    assert said in result.judgment.on_goals_in_public
    assert "10 %" in result.verdict
    assert "10 %" not in result.judgment.on_goals_in_public
    result.write(tmp_path / "s.parquet", public_record=tmp_path / "p.json")
    public = json.loads((tmp_path / "p.json").read_text())
    assert public["treated"] == {
        "income": ["exchanged with a record of similar rank"],
        "w": ["rounded to multiples of 5"],
    }
    private = json.loads((tmp_path / "s.parquet.private.json").read_text())
    assert "mean" not in json.dumps(private)


def test_values_that_members_share_are_treated_once_a_household():
    data = file()
    result = riskcore.protect(
        data, ["area"], "w", "hh", k=2, level="household", accept=ACCEPT,
        treat={"rent": "noise:30%", "income": "noise:30%"},
    )  # fmt: skip
    rent = np.asarray(result.data["rent"]).reshape(-1, 2)
    assert (rent[:, 0] == rent[:, 1]).all()
    assert (rent[:, 0] != data["rent"].reshape(-1, 2)[:, 0]).mean() > 0.9
    income = np.asarray(result.data["income"]).reshape(-1, 2)
    assert (income[:, 0] != income[:, 1]).all()


def test_within_keeps_to_recoded_categories():
    data = file()
    whole = riskcore.Recoding.mapping({"a": "ab", "b": "ab"})
    result = riskcore.protect(
        data, KEYS, "w", k=2, recodings={"area": whole}, accept=ACCEPT,
        treat={"income": "swap:99%:within=area+sex"},
    )  # fmt: skip
    before = pandas.DataFrame(data)["income"].groupby(data["sex"]).apply(sorted)
    after = pandas.DataFrame(result.data)["income"].groupby(data["sex"]).apply(sorted)
    assert before.tolist() == after.tolist()
    moved = np.asarray(result.data["income"]) != data["income"]
    apart = data["area"][np.argsort(data["income"])]
    place = np.searchsorted(np.sort(data["income"]), np.asarray(result.data["income"]))
    assert (apart[place] != data["area"])[moved].any()


def test_numbers_decide_as_well():
    data = file()
    known = riskcore.protect(data, KEYS, "w", k=3, roles={"income": "numeric"})
    (leak,) = (one for one in known.examination.open if one.kind == "numbers")
    assert leak.column == "income"
    assert "alone with their keys" in leak.text
    assert all(one.right > 0.9 * one.people for one in known.examination.number_links)
    mended = riskcore.protect(
        data, KEYS, "w", k=3, roles={"income": "numeric"},
        treat={"income": ["swap:99%:within=area+sex", "round:1000"]},
    )  # fmt: skip
    assert "numbers" not in [one.kind for one in mended.examination.open]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"treat": {"none": "round:1"}}, "no column 'none'; did you mean"),
        ({"treat": {"income": "circle:1"}}, "circle"),
        ({"treat": {"sex": "round:10"}}, "sex"),
        ({"treat": {"hh": "round:10"}, "household": "hh"}, "is the household"),
        ({"treat": {"area": "pram:0.8"}, "recodings": {"area": "x.grc"}}, "x.grc"),
        (
            {"treat": {"income": "round:1"}, "roles": {"income": "identifier"}},
            "left out",
        ),
        ({"treat": "income=round:1"}, "need a mapping"),
        ({"roles": {"income": "number"}}, "not a role"),
        ({"roles": {"sex": "numeric"}}, "key already"),
        ({"accept": {"income": " "}}, "no reason"),
        ({"accept": {"incom": "a"}}, "incom"),
    ],
)
def test_refusals(settings, message):
    with pytest.raises((TypeError, ValueError, KeyError, OSError), match=message):
        riskcore.protect(file(), KEYS, "w", k=3, **settings)


def test_data_on_an_engine_are_refused():
    frame = polars.DataFrame(file()).lazy()
    with pytest.raises(TypeError, match="treatments need single records"):
        riskcore.protect(frame, KEYS, "w", k=3, treat={"income": "round:10"})


def test_settings_are_plain_data_and_back():
    result = riskcore.protect(
        file(), KEYS, "w", k=3, accept=ACCEPT, roles={"rent": "sensitive"},
        treat={"income": ["bottom:0=0", "bands:100,1000"], "w": "share-weights:3"},
    )  # fmt: skip
    plain = json.loads(json.dumps(result.settings.to_dict()))
    assert Settings.from_dict(plain) == result.settings
    for bad in (
        [{"columns": ["w"]}],
        [{"columns": "w", "rules": []}],
        [{"columns": ["w"], "rules": []}],
        [{"columns": ["w"], "rules": [{"kind": "round"}]}],
        [{"columns": ["w"], "rules": ["none:1"]}],
        [{"columns": ["w"], "rules": ["round:x"]}],
        [{"columns": ["w"], "rules": [" rake:totals.csv"]}],
        [{"columns": ["w"], "rules": [" pram:matrix.csv "]}],
        [{"columns": ["w"], "rules": ["pram:a,b/matrix.csv"]}],
        [{"columns": ["w", "w"], "rules": ["microaggregate:3"]}],
        {"w": "round:1"},
    ):
        with pytest.raises(ValueError, match="treat"):
            Settings.from_dict({**plain, "treat": bad})


def test_an_open_leak_stops_the_file(tmp_path):
    result = riskcore.protect(file(), KEYS, "w", k=3)
    assert result.goals_met
    with pytest.raises(UnsafeError) as caught:
        result.write(tmp_path / "s.parquet")
    assert {one["column"] for one in caught.value.figures["leaks"]} >= {"income"}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", ["sav", "dta"])
def test_labels_say_which_values_were_altered(tmp_path, suffix):
    data = pandas.DataFrame(file())
    write = getattr(pyreadstat, f"write_{suffix}")
    long = (
        "Income of the person from all sources, before taxes, in the last twelve months"
    )
    write(
        data, tmp_path / f"s.{suffix}", column_labels={"income": long, "rent": "Rent"}
    )
    result = riskcore.protect(
        tmp_path / f"s.{suffix}", KEYS, "w", k=3, accept=ACCEPT,
        treat={"income": "noise:20%", "rent": "round:100"},
    )  # fmt: skip
    result.write(tmp_path / f"t.{suffix}")
    _, about = getattr(pyreadstat, f"read_{suffix}")(tmp_path / f"t.{suffix}")
    labels = about.column_names_to_labels
    assert labels["income"].startswith("Income of the person")
    assert labels["income"].endswith(" [values altered]")
    assert labels["rent"] == "Rent"


def test_a_copy_gives_altered_values_back():
    data = file()
    data["area2"] = np.where(data["area"] == "a", 1, 2)
    del data["hh"], data["rent"]  # they go with the areas, too
    treat = {"area": "pram:0.6"}
    roles = dict.fromkeys(["income", "area2"], "harmless")
    result = riskcore.protect(data, ["sex"], "w", k=3, treat=treat, roles=roles)
    (leak,) = result.examination.open
    assert (leak.column, leak.kind) == ("area2", "reveals")
    assert "gives back the values of 'area'" in leak.text
    roles["area2"] = "identifier"
    assert riskcore.protect(data, ["sex"], "w", k=3, treat=treat, roles=roles).safe


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"treat": {"w": "pram:0.5"}}, "is the weight, not a category"),
        ({"treat": {"w": "round:1000"}}, "weights would be 0"),
        ({"treat": {"income": []}}, "there is no rule"),
        ({"roles": {"big": "numeric"}}, "would lose digits"),
        ({"treat": {"big": "top:1%"}}, "would lose digits"),
    ],
)
def test_what_would_be_wrong_is_refused(settings, message):
    data = {**file(), "big": (1 << 62) + np.arange(400)}
    with pytest.raises(ValueError, match=message):
        riskcore.protect(data, KEYS, "w", k=3, **settings)


def test_numbers_on_an_engine_are_refused():
    frame = polars.DataFrame(file()).lazy()
    with pytest.raises(TypeError, match="columns known as numbers need single records"):
        riskcore.protect(frame, KEYS, "w", k=3, roles={"income": "numeric"})


def test_the_public_claim_is_about_the_keys(tmp_path):
    result = riskcore.protect(
        file(), KEYS, "w", threshold=0.5, accept=ACCEPT, roles={"income": "numeric"}
    )
    said = "He may know income, too, to some precision, which these risks do not count"
    assert said in result.judgment.on_goals_in_public
    page = public_protection_page(result)
    assert "Safe except for accepted leaks. With the keys area x sex, " in page
    assert "no record has a risk of 0.5 or more" in page
    assert said in page


def test_a_file_that_was_written_with_open_leaks_fails_a_check(tmp_path):
    path = tmp_path / "survey.parquet"
    formats.write(path, file())
    result = riskcore.protect(path, KEYS, "w", k=2)
    assert not result.safe
    result.write(tmp_path / "un.parquet", allow_unsafe=True)
    found = riskcore.check(
        tmp_path / "un.parquet", record=tmp_path / "un.parquet.private.json"
    )
    assert not found.broken
    assert not found.recorded_state.startswith("safe")
    assert not found.passed
    assert f"State of the file: {result.state}." in found.verdict
    assert "leaks open" in result.state
