"""Dates that are shifted by one secret number of days for each person."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

import riskcore
from riskcore.protection.treatments.rules import Treatment, parsed_treatments
from riskcore.protection.treatments.shift import ShiftShows

N, FAR = 240, dt.date(9999, 12, 31)
OPEN = {"weight": "W", "threshold": 1.0, "roles": {"*": "harmless:a test"}}


def persons():
    rng = np.random.default_rng(1)
    ids = np.repeat(np.arange(N // 4), 4)
    visits = (np.datetime64("2020-01-01") + rng.integers(0, 700, N)).tolist()
    visits[5], visits[9] = None, FAR
    births = (np.datetime64("1950-01-01") + rng.integers(0, 20_000, N // 4))[ids]
    frame = pl.DataFrame({
        "ID": ids, "REGION": rng.integers(1, 4, N), "BIRTH": births,
        "VISIT": visits, "W": np.full(N, 100.0),
    })  # fmt: skip
    return frame.with_columns(TEXT=pl.col("VISIT").dt.strftime("%d.%m.%Y"))


@pytest.mark.parametrize("rule", ["shift:90:within=ID", "shift:140d:within=ID"])
def test_intervals_of_a_person_stay(rule):
    data = persons()
    with pytest.warns(ShiftShows, match="9999-12-31"):
        result = riskcore.protect(
            data, ["REGION"], treat={"BIRTH+VISIT+TEXT": rule}, **OPEN
        )
    new = result.data
    shift = (new["BIRTH"] - data["BIRTH"]).dt.total_days()
    by_person = pl.DataFrame({"ID": data["ID"], "s": shift}).group_by("ID")
    assert by_person.agg(pl.col("s").n_unique())["s"].to_list() == [1] * (N // 4)
    most = 90 if rule.startswith("shift:90") else 140
    assert shift.abs().min() > 0
    assert 0.8 * most < shift.abs().max() <= most
    assert shift.n_unique() > 10
    plain = np.arange(N) != 9
    moved = (new["VISIT"] - data["VISIT"]).dt.total_days()
    assert (moved == shift).filter(pl.Series(plain)).drop_nulls().all()
    assert new["VISIT"][9] == FAR
    assert new["VISIT"].null_count() == 1
    assert new["TEXT"].equals(new["VISIT"].dt.strftime("%d.%m.%Y"))
    assert new.schema == data.schema


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("shift:5", "need 10 to 36,525; fewer can be guessed"),
        ("shift:x", "'x' is not a number of days"),
        ("shift:90:by=ID", "use dmy or mdy or numbers or within"),
    ],
)
def test_weak_shifts_are_refused(rule, said):
    with pytest.raises(ValueError, match=said):
        Treatment.of("D", rule)


def test_two_shifts_of_a_person_are_refused():
    for treat in ({"a": "shift:90", "b": "shift:90"}, {"a": ["shift:90", "round:1"]}):
        with pytest.raises(ValueError, match="name them together, as in BIRTH"):
            parsed_treatments(treat, "abp")
    assert (
        str(Treatment.of("a", "shift:90d:within=p+q:dmy")) == "shift:90:dmy:within=p+q"
    )


def test_the_waves_of_a_person_have_one_shift():
    data = persons().with_columns(WAVE=pl.int_range(N) % 4)
    panel = {**OPEN, "person": "ID", "wave": "WAVE"}
    with pytest.raises(ValueError, match="mean tells the date: add :within=ID"):
        riskcore.protect(data, ["REGION"], treat={"BIRTH": "shift:90"}, **panel)


def test_missing_persons_and_other_columns_are_refused():
    data = persons()
    lost = data.with_columns(pl.when(pl.col("ID") > 3).then("ID").alias("ID"))
    with pytest.raises(ValueError, match="within 'ID': missing in 16 of 240"):
        riskcore.protect(
            lost, ["REGION"], treat={"BIRTH": "shift:90:within=ID"}, **OPEN
        )
    empty = data.with_columns(BIRTH=pl.lit(None, pl.Date))
    with pytest.raises(
        ValueError, match="treat BIRTH=shift:90: all values are missing"
    ):
        riskcore.protect(empty, ["REGION"], treat={"BIRTH": "shift:90"}, **OPEN)
    data = data.with_columns(AMOUNT=pl.col("W") + 0.5)
    with pytest.raises(ValueError, match=r"treat AMOUNT=shift:90: .*are not dates"):
        riskcore.protect(data, ["REGION"], treat={"AMOUNT": "shift:90"}, **OPEN)


def test_dates_that_look_like_codes_can_be_shifted():
    data = persons()
    data[0, "BIRTH"] = dt.date(1901, 1, 1)
    with pytest.warns(ShiftShows, match=r"1901-01-01 may be codes, .* add :numbers"):
        new = riskcore.protect(data, ["REGION"], treat={"BIRTH": "shift:90"}, **OPEN)
    assert new.data[0, "BIRTH"] == data[0, "BIRTH"]
    rule = {"BIRTH": "shift:90:numbers"}
    new = riskcore.protect(data, ["REGION"], treat=rule, **OPEN)
    assert new.data[0, "BIRTH"] != data[0, "BIRTH"]


def test_days_of_the_week_that_tell_the_shift_are_named():
    data = persons()
    monday = pl.Series([dt.date(2020, 1, 6) + dt.timedelta(7 * i) for i in range(N)])
    data = data.with_columns(VISIT=monday)
    with pytest.warns(
        ShiftShows, match="most dates are on some days of the week or month"
    ):
        riskcore.protect(
            data, ["REGION"], treat={"VISIT": "shift:90:within=ID"}, **OPEN
        )
