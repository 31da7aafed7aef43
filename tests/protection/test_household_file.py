"""A file of persons and a file of their households, protected together."""

import warnings

import numpy as np
import pandas
import pyarrow
import pytest

import riskcore
from riskcore import Reading, check, cli, protect
from riskcore.data.files import formats
from riskcore.data.files.joined import HouseholdsWithoutPersons
from riskcore.data.source import Source
from tests.accepted import ANY_LEAK

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.usefixtures("files"),
]
KEYS = ["REG", "SEX", "AGE"]
JOINED = Reading(household_file="d.csv:HID=DB030")
CHEAP = {"REG": 1.0, "SEX": 90.0, "AGE": 90.0}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    ids = 100 + rng.permutation(40)
    households = pandas.DataFrame(
        {
            "DB030": ids,
            "REG": rng.integers(1, 5, 40),
            "ROOMS": rng.integers(1, 30, 40),
            "ADDR": [f"street {i}" for i in range(40)],
        }
    )
    persons = pandas.DataFrame(
        {
            "HID": np.sort(rng.choice(ids[:-3], 150)),
            "SEX": rng.integers(1, 3, 150),
            "AGE": rng.integers(1, 5, 150),
        }
    )
    for name, frame in {"r": persons, "d": households}.items():
        for suffix in ("csv", "sav", "parquet"):
            table = pyarrow.Table.from_pandas(frame, preserve_index=False)
            formats.write(f"{name}.{suffix}", table)
    return persons, households


def frame(name):
    data = formats.read(name, text=True)
    return data.to_pandas().apply(pandas.to_numeric)


def protected(keys=KEYS, reading=JOINED, **settings):
    asked = {**ANY_LEAK, "k": 4, **settings}
    asked["roles"] = {**ANY_LEAK["roles"], "ADDR": "identifier"}
    return protect("r.csv", keys, reading=reading, **asked)


@pytest.mark.parametrize(
    ("persons", "households", "safe"),
    [
        ("r.csv", "d.csv", "s-households.csv"),
        ("r.sav", "d.csv", "s-households.sav"),
        ("r.csv", "d.parquet", "s-households.csv"),
        ("r.parquet", "d.sav", "s-households.parquet"),
        ("r.sav", "d.sav", "s-households.sav"),
    ],
)
def test_both_files_are_written_and_checked(persons, households, safe):
    how = Reading(household_file=f"{households}:HID=DB030")
    roles = {**ANY_LEAK["roles"], "ADDR": "identifier"}
    result = protect(
        persons,
        KEYS,
        reading=how,
        k=4,
        cost=CHEAP,
        accept=ANY_LEAK["accept"],
        roles=roles,
    )
    target = f"s.{persons.partition('.')[2]}"
    result.write(target)
    of_persons, of_households = frame(target), frame(safe)
    assert list(of_persons) == ["HID", "SEX", "AGE"]
    assert list(of_households) == ["DB030", "REG", "ROOMS"]
    assert set(of_persons["HID"]) == set(of_households["DB030"])
    assert of_households["DB030"].is_unique
    joined = of_persons.merge(of_households, left_on="HID", right_on="DB030")
    assert joined["REG"].isna().sum() == result.suppressed["REG"] > 0
    checks = {
        "record": f"{target}.private.json",
        "original": persons,
        "original_reading": how,
    }
    assert check(target, **checks).passed
    beside = Reading(household_file=f"{safe}:HID=DB030")
    assert check(target, reading=beside, **checks).passed
    table = formats.read(safe)
    names = table.column_names
    changed = [*table.columns[:1], table.column("REG")[::-1], *table.columns[2:]]
    formats.write(f"x-{safe}", pyarrow.table(changed, names))
    other = Reading(household_file=f"x-{safe}:HID=DB030")
    assert not check(target, reading=other, **checks).passed
    del checks["original_reading"]
    with pytest.raises(ValueError, match="without that of its households"):
        check(target, **checks)


@pytest.mark.parametrize(
    "settings",
    [
        {"treat": {"ROOMS": "microaggregate:3"}},
        {"treat": {"ROOMS": "noise:10%", "SEX": "pram:0.9"}},
        {"treat": {"REG": "pram:0.5"}, "keys": ["SEX", "AGE"]},
        {"treat": {"REG": "swap-areas:10%"}, "keys": ["SEX", "AGE"]},
        {"recodings": {"REG": "map:4=3"}, "against_insiders": True},
        {"related": {"REG": ["ROOMS"]}, "cost": CHEAP},
        {"suppression": "argus", "k": None, "threshold": 0.4},
        {"level": "household", "keys": ["REG"]},
        {"level": "household", "keys": ["REG", "ROOMS"], "household": "HID"},
    ],
)
def test_a_household_keeps_one_value_for_all_members(settings):
    settings = {"keys": KEYS, **settings}
    protected(**settings).write("s.csv")
    assert len(frame("s-households.csv")) == len(set(frame("s.csv")["HID"]))


def test_missing_codes_of_both_files_hold_beside_other_files(files):
    codes = {"REG": ["4"], "SEX": ["2"]}
    how = Reading(household_file="d.csv:HID=DB030", missing_codes=codes)
    sources = Source.several({"a": "r.csv", "b": "r.csv"}, how)
    regions = sources["a"].records.column("REG")
    at = files[1].set_index("DB030").loc[files[0]["HID"], "REG"]
    assert regions.null_count() == (at == 4).sum() > 0


def test_other_files_are_read_with_the_households_beside_them(files, capsys):
    roles = {**ANY_LEAK["roles"], "ADDR": "identifier"}
    protected(["SEX", "AGE"], roles=roles).write("early.csv")
    protected(["SEX"], roles=roles).write("s.csv", drop=["AGE"])
    alone = ("s.csv", ["SEX", "REG"])
    asked = {"k": 2, "original": "r.csv", "original_reading": JOINED}
    beside = Reading(household_file="s-households.csv:HID=DB030")
    by_both = check(*alone, reading=beside, earlier="early.csv", **asked).together[0]
    assert {"REG", "ROOMS"} <= {*by_both.columns}
    formats.write("p.csv", formats.read("early.csv"))  # without its households
    with pytest.warns(UserWarning, match=r"p-households\.csv would hold"):
        one = check(*alone, reading=beside, earlier="p.csv", **asked).together[0]
    assert one.joined < by_both.joined
    audited = riskcore.audit(
        "r.csv", "s.csv", ["SEX"], target=["REG"], reading=JOINED, holdout="early.csv"
    )
    assert [x.target for x in audited.attributes] == ["REG"]
    codes = Reading(household_file="d.csv:HID=DB030", missing_codes={"ADDR": ["x"]})
    tables = {"tables": ["REG"], "reading": codes}
    assert riskcore.compare("r.csv", "s.csv", ["SEX"], **tables).tables
    files = "r.csv {} --household-file d.csv:HID=DB030 --quiet"
    record = "--record s.csv.private.json --table REG"
    assert cli.main(f"compare {files.format('s.csv')} {record}".split()) == 0
    assert cli.main(f"audit {files.format('s.csv')} --keys SEX REG".split()) == 0
    of_check = files.format("--with early.csv --keys SEX REG --k 2")
    assert cli.main(f"check s.csv --original {of_check}".split()) == 0
    assert "in both files by SEX, REG and ROOMS" in capsys.readouterr().out
    assert cli.main(f"compare r.csv s.csv {record}".split()) == 2
    assert "give it with --household-file" in capsys.readouterr().err


def test_the_order_does_not_link_the_files(files):
    result = protected(["SEX"])
    with pytest.raises(ValueError, match="'HID' joins the persons and households"):
        result.write("s.csv", drop=["HID"])
    result.write("s.csv", shuffle=True)
    rooms = frame("s-households.csv")["ROOMS"].tolist()
    persons, households = files
    left = households[households["DB030"].isin(persons["HID"])]
    by_person = left.set_index("DB030").loc[persons["HID"].unique()]
    assert sorted(rooms) == sorted(left["ROOMS"])
    assert rooms not in (left["ROOMS"].tolist(), by_person["ROOMS"].tolist())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda d: pandas.concat([d, d[:2]]), "in several records"),
        (lambda d: d[d["DB030"] > 110], "of r.csv not in x.csv"),
        (lambda d: d.assign(SEX=1), "'SEX' differs"),
        (
            lambda d: d.assign(DB030=d["DB030"].map("00{}".format)),
            r"'\d+' .* of r.csv: x.csv has '00\d+'; write both alike",
        ),
        (
            lambda d: d.assign(DB030=d["DB030"].where(d["REG"] > 1)),
            "such as None, in several",
        ),
    ],
)
def test_files_that_do_not_fit_are_refused(files, change, told):
    change(files[1]).to_csv("x.csv", index=False)
    with pytest.raises(ValueError, match=told):
        protected(reading=Reading(household_file="x.csv:HID=DB030"))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"reading": Reading(household_file="d.csv")}, "have no column in common"),
        ({"household": "AGE", "keys": ["SEX"]}, "joined by 'HID'"),
        (
            {"treat": {"AGE+ROOMS": "microaggregate:3"}, "keys": ["SEX"]},
            "'ROOMS' would",
        ),
    ],
)
def test_settings_that_part_a_household_are_refused(settings, told):
    with pytest.raises(ValueError, match=told):
        protected(**settings).write("s.csv")


def test_the_only_common_column_is_the_id(files):
    files[1].rename(columns={"DB030": "HID"}).to_csv("x.csv", index=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        risk = riskcore.assess("r.csv", KEYS, reading=Reading(household_file="x.csv"))
    assert [w.category for w in caught] == [HouseholdsWithoutPersons]
    joined = files[0].merge(files[1], left_on="HID", right_on="DB030")
    alone = riskcore.assess(joined, KEYS)
    assert risk.expected_reidentifications == alone.expected_reidentifications


def test_by_rules_and_by_command(capsys):
    words = "protect r.csv --household-file d.csv:HID=DB030 --keys REG SEX --k 3"
    accept = ["--accept", "*=test", "--role", "*=harmless:test", "ADDR=identifier"]
    more = [*accept, "--output", "s.csv", "--quiet"]
    assert cli.main([*words.split(), *more, "--print-rules"]) == 0
    with open("release.toml", "w") as rules:
        rules.write(capsys.readouterr().out)
    assert cli.main(["run", "release.toml", "--quiet"]) == 0
    assert "households is s-households.csv" in capsys.readouterr().out
    again = "run release.toml --secret s.csv.private.json --overwrite --quiet"
    assert cli.main(again.split()) == 0
    by_rules = "check --rules release.toml --original r.csv --quiet"
    assert cli.main(by_rules.split()) == 0
    by_record = (
        "check s.csv --record s.csv.private.json --quiet --original r.csv "
        "--household-file d.csv:HID=DB030"
    )
    assert cli.main(by_record.split()) == 0
