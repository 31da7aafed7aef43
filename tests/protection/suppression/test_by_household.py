"""A pass over households: as one does it by hand, and merged back to all members."""

import json
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest

from riskcore import Recoding, assess, check, protect
from riskcore.data.files import formats
from riskcore.data.recode import DoubtfulRules
from riskcore.protection.result import SuppressedValueShows
from riskcore.report.page import protection_page
from riskcore.report.public_page import public_protection_page
from tests.accepted import ANY_LEAK
from tests.made_again import made_again

KEYS = ["size", "region", "tenure"]
# Weights show sizes, and other columns show what was recoded.
pytestmark = pytest.mark.filterwarnings(
    "ignore::riskcore.protection.result.SuppressedValueShows"
)

ROLES = {
    "weight": "w", "household": "hh", "level": "household", **ANY_LEAK,
}  # fmt: skip


def survey(households=150, seed=4, missing=0.0, ids=int):
    """Make persons, in no order, of households of 1 to 6 members."""
    random = np.random.default_rng(seed)
    size = np.minimum(random.geometric(0.45, households), 6)
    own = {
        "size": [str(v) for v in size],
        "region": [str(v) for v in np.minimum(random.geometric(0.4, households), 5)],
        "tenure": random.choice(["own", "rent", "free"], households).tolist(),
        "w": np.round(random.uniform(3, 90, households), 2).tolist(),
    }
    for key in ("region", "tenure"):
        for i in np.flatnonzero(random.random(households) < missing):
            own[key][i] = None
    of = random.permutation(np.repeat(np.arange(households), size))
    data = {name: [column[i] for i in of] for name, column in own.items()}
    numbers = random.permutation(households) * 7 + 1000
    data["hh"] = [ids(numbers[i]) for i in of]
    data["age"] = [str(v) for v in random.integers(0, 90, len(of))]
    return data


def one_each(data, household="hh"):
    """Return one row of each household, by hand."""
    first = {}
    for i, one in enumerate(data[household]):
        first.setdefault(one, i)
    rows = sorted(first.values(), key=lambda i: data[household][i])
    return {name: [column[i] for i in rows] for name, column in data.items()}


@pytest.mark.parametrize("missing", [0.0, 0.08])
@pytest.mark.parametrize(
    "goal", [{"k": 4}, {"threshold": 0.05}, {"rate": 0.02, "k": 2}]
)
def test_as_by_hand(goal, missing):
    data = survey(missing=missing)
    rows = one_each(data)
    by_hand = protect(rows, KEYS, "w", **goal)
    result = protect(data, KEYS, **ROLES, **goal)
    assert result.goals_met
    assert sum(by_hand.suppressed.values()) > 0
    keys = zip(*(by_hand.data[key] for key in KEYS), strict=True)
    safe = dict(zip(rows["hh"], keys, strict=True))
    merged = [safe[one] for one in data["hh"]]
    assert [list(column) for column in zip(*merged, strict=True)] == [
        list(result.data[key]) for key in KEYS
    ]
    # All else is as it was, in its order.
    for name in ("w", "hh", "age"):
        assert list(result.rows.data[name]) == data[name]
    assert result.protected.figures == by_hand.protected.figures
    assert result.n == len(data["hh"])
    for key in KEYS:
        blanked = sum(
            before is not None and after is None
            for before, after in zip(data[key], result.data[key], strict=True)
        )
        assert result.suppressed[key] == blanked
    assert result.suppressed_rows == by_hand.suppressed
    assert result.unsafe.shape == (result.n,)
    assert "no household" in result.verdict


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("ids", [int, lambda one: f"H{one}"])
def test_frames_and_text_ids(make, ids):
    data = survey(missing=0.05, ids=ids)
    plain = protect(data, KEYS, **ROLES, k=4)
    result = protect(make(data), KEYS, **ROLES, k=4)
    assert isinstance(result.data, make)
    for key in KEYS:
        column = pd.Series(result.data[key].to_list(), dtype=object)
        assert column.where(column.notna(), None).tolist() == list(plain.data[key])


def test_recodings_go_to_all_members():
    data = survey()
    rule = {
        "size": Recoding.mapping({"5": "4", "6": "4"}),
        "age": Recoding.intervals([30, 60]),
    }
    result = protect(data, KEYS, **ROLES, k=4, recodings=rule)
    assert "5" in data["size"]
    assert set(result.data["size"]) <= {"1", "2", "3", "4", None}
    assert len(set(result.data["age"])) == 3
    assert result.goals_met
    again = assess(one_each(result.data), KEYS, missing="wildcard")
    assert again.k_anonymity >= 4
    assert again.figures["records"] == len(set(data["hh"]))


def test_related_columns_in_which_members_differ():
    data = survey()
    data["dwelling"] = [f"{t}-{i % 3}" for i, t in enumerate(data["tenure"])]
    data["dwelling"][:30] = [None] * 30
    result = protect(data, KEYS, **ROLES, k=6, related={"tenure": ["dwelling"]})
    blanked = np.array([one is None for one in result.data["tenure"]])
    assert blanked.any()
    left = [one for one, b in zip(result.data["dwelling"], blanked, strict=True) if b]
    assert left == [None] * len(left)
    kept = np.array(data["dwelling"], object)[~blanked].tolist()
    assert kept == np.array(result.data["dwelling"], object)[~blanked].tolist()
    had = [one is not None for one in data["dwelling"]]
    assert result.suppressed["dwelling"] == np.count_nonzero(blanked & had)


def test_a_file_with_related_columns_is_written(tmp_path):
    data = survey()
    data["landlord"] = [str(v) for v in range(len(data["hh"]))]
    safe = protect(data, KEYS, k=4, related={"tenure": ["landlord"]}, **ROLES)
    safe.write(tmp_path / "safe.csv")
    written = pd.read_csv(tmp_path / "safe.csv", dtype=str)
    assert written["tenure"].isna().any()
    assert written["landlord"][written["tenure"].isna()].isna().all()


def test_a_pass_over_persons_can_follow():
    data = survey()
    first = protect(data, KEYS, **ROLES, k=3)
    second = protect(
        first.data, [*KEYS, "age"], "w", "hh", k=2, household_keys=KEYS,
        recodings={"age": Recoding.intervals([30, 60])}, **ANY_LEAK,
    )  # fmt: skip
    assert second.goals_met


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": 0}, r"members differ in 'size' in 1 of 150 households"),
        ({"tenure": 0, "w": 0}, r"differ in 'tenure' in 1, 'w' in 1 of 150"),
    ],
)
def test_members_that_differ_are_refused(change, message):
    data = survey()
    crowded = next(i for i, size in enumerate(data["size"]) if size == "3")
    for name, _ in change.items():
        data[name][crowded] = 99.5 if name == "w" else None
    with pytest.raises(ValueError, match=message):
        protect(data, KEYS, **ROLES, k=3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"household": None}, "needs the household column"),
        ({"household_rate": 0.1}, "instead of a household threshold"),
        ({"household_threshold": 0.1}, "instead of a household threshold"),
        ({"household_keys": ["size"]}, "leave household_keys out"),
        ({"level": "person"}, "level='person': use 'record' or 'household'"),
        ({"keys": ["hh"]}, "'hh' is both a key and the household"),
    ],
)
def test_refusals(change, message):
    with pytest.raises(ValueError, match=message):
        protect(survey(), **{"keys": KEYS, **ROLES, "k": 3, **change})


def test_data_on_an_engine_are_refused():
    with pytest.raises(TypeError, match="households need single records"):
        protect(pl.DataFrame(survey()).lazy(), KEYS, **ROLES, k=3)


def test_neighbors_and_housemates_show_nothing():
    """All members lose the value, so that none shows what another has lost."""
    data = survey()
    order = np.argsort(data["hh"], kind="stable")
    data = {name: [column[i] for i in order] for name, column in data.items()}
    result = protect(data, KEYS, **ROLES, k=3)
    assert not [one for one in result.shown if one.rule == "equal"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    formats.write("survey.csv", survey(missing=0.04))
    return tmp_path


def test_files_and_records(folder, run):
    command = [
        "protect", "survey.csv", "--level", "household", "--household", "hh", "--keys",
        *KEYS, "--weight", "w", "--k", "4", "--role", "*=harmless:a test",
        "--accept", "*=a test",
    ]  # fmt: skip
    status, out, _ = run(
        *command, "--output", "safe.csv", "--shuffle", "--report", "office.html",
        "--report-public", "about.html", "--record-public", "public.json",
    )  # fmt: skip
    assert status == 0
    assert "one row for each household" in out
    assert "New ids in random order in hh." in out
    before = formats.read("survey.csv").to_pydict()
    after = formats.read("safe.csv").to_pydict()
    assert len(after["hh"]) == len(before["hh"])
    assert sorted(after["age"]) == sorted(before["age"])
    # Ids are new, each household has one, and its members stand together.
    ids = list(map(int, after["hh"]))
    assert set(ids) == set(range(1, len(set(before["hh"])) + 1))
    changes = sum(a != b for a, b in pairwise(ids))
    assert changes == len(set(ids)) - 1
    rows = one_each(formats.read("safe.csv", numeric=["w"]).to_pydict())
    assert assess(rows, KEYS, "w", missing="wildcard").k_anonymity >= 4
    record = json.loads((folder / "safe.csv.private.json").read_text())
    assert record["settings"]["level"] == "household"
    public = json.loads((folder / "public.json").read_text())
    assert public["level"] == "household"
    assert "one row for each household" in (folder / "about.html").read_text()
    assert "one row for each household" in (folder / "office.html").read_text()
    again = made_again("survey.csv", "safe.csv.private.json", "again.csv")
    assert again == (folder / "safe.csv").read_bytes()
    status, _, _ = run(*command, "--output", "dropped.csv", "--drop", "hh", "w")
    assert status == 0
    assert "hh" not in formats.columns_of("dropped.csv").names


@pytest.mark.parametrize("name", ["safe.parquet", "safe.csv"])
def test_what_is_written_is_verified(folder, name):
    result = protect("survey.csv", KEYS, **ROLES, k=4)
    record = result.write(folder / name, shuffle=True)
    assert record["safe"]
    assert record["examined"]["safe"]


def test_labelled_files(tmp_path):
    import pyreadstat

    data = survey()
    codes = {"own": 1.0, "rent": 2.0, "free": 3.0}
    frame = pd.DataFrame({
        **{name: data[name] for name in ("w", "hh")},
        "size": [float(v) for v in data["size"]],
        "region": [float(v) for v in data["region"]],
        "tenure": [codes[v] for v in data["tenure"]],
    })  # fmt: skip
    labels = {"tenure": {v: k for k, v in codes.items()}}
    path = tmp_path / "survey.sav"
    pyreadstat.write_sav(frame, path, variable_value_labels=labels)
    result = protect(path, KEYS, **ROLES, k=4)
    result.write(tmp_path / "safe.sav")
    found, meta = pyreadstat.read_sav(tmp_path / "safe.sav")
    assert meta.variable_value_labels["tenure"] == labels["tenure"]
    assert found["tenure"].isna().sum() == result.suppressed["tenure"]


def test_pages():
    result = protect(survey(), KEYS, **ROLES, k=4)
    assert "no household has a frequency f below 4" in protection_page(
        result, title="T"
    )
    told = public_protection_page(result)
    assert "one row for each household" in told
    assert "no household has a frequency f below 4 (a blank stands for any" in told
    assert f"{len(set(survey()['hh']))}" in told


def test_a_leak_is_counted_in_households():
    data = survey()
    kinds = sorted(set(data["tenure"]))
    data["code"] = [f"T{kinds.index(one)}" for one in data["tenure"]]
    with pytest.warns(SuppressedValueShows, match="in 26 of 26 households show in"):
        result = protect(data, KEYS, **ROLES | {"accept": None}, k=4)
    (one,) = [found for found in result.shown if found.column == "code"]
    assert one in [leak.shown for leak in result.examination.open]
    assert (one.key, one.column, one.unit) == ("tenure", "code", "household")
    assert one.count == one.of == result.suppressed_rows["tenure"]
    assert result.suppressed["tenure"] > one.of


def test_doubtful_rules_of_any_column_are_told():
    data = {"hh": [1, 1, 2, 2, 3], "a": list("xxyyx"), "s": list("12121")}
    with pytest.warns(DoubtfulRules, match="'9'"):
        protect(data, ["a"], household="hh", level="household", k=2,
                recodings={"s": "map:1=2,9=1"})  # fmt: skip


def test_a_recoded_file_is_audited_beside_its_members(tmp_path):
    path = formats.write(tmp_path / "survey.csv", survey())
    rules = {**ROLES, "recodings": {"size": "map:5=4,6=4"}, "k": 2}
    protect(path, KEYS, **rules).write(tmp_path / "safe.csv")
    record = tmp_path / "safe.csv.private.json"
    found = check(
        tmp_path / "safe.csv", record=record, original=path, max_right_claims=0.9
    )
    claims = [one for one in found.rules if one.rule == "max_right_claims"]
    assert claims[0].passed
