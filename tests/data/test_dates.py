"""Dates as a type: recoded to parts, ages and bands, in every holder of data."""

import datetime as dt
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from riskcore import Recoding, recode
from riskcore.data.columns import Records, code_column
from riskcore.data.dates import Dates, far_dates
from riskcore.data.recode import DoubtfulRules
from riskcore.data.recoding_words import recoding_of

HOUR = dt.timedelta(hours=1)
DAYS = [dt.date(1950, 5, 1), dt.date(2004, 2, 29), None]
RULES = [
    ("year", [1950, 2004, None]),
    ("quarter", ["1950-Q2", "2004-Q1", None]),
    ("month", ["1950-05", "2004-02", None]),
    ("age:2021-02-28", [70, 16, None]),
    ("age:2021-03-01", [70, 17, None]),
    ("from:1960-01-01=old,young", ["old", "young", None]),
    ("upto:1950-05-01", ["<= 1950-05-01", "> 1950-05-01", None]),
    ("top:2000-01-01", [DAYS[0], dt.date(2000, 1, 1), None]),
    ("bottom:1960-01-01", [dt.date(1960, 1, 1), DAYS[1], None]),
    ("top:60%", [DAYS[0], DAYS[1], None]),
    ("truncate:3", ["1950-05", "2004-02", None]),
]
HOLDERS = {
    "list": lambda: {"d": DAYS},
    "polars": lambda: pl.DataFrame({"d": DAYS}),
    "arrow": lambda: pa.table({"d": DAYS}),
    "date64": lambda: pa.table({"d": pa.array(DAYS, pa.date64())}),
    "pandas": lambda: pd.DataFrame({"d": pd.to_datetime(pd.Series(DAYS))}),
    "numpy": lambda: {"d": np.array(DAYS, "M8[D]")},
    "zone": lambda: pl.DataFrame({"d": DAYS}).with_columns(
        pl.col("d").cast(pl.Datetime("ns")).dt.replace_time_zone("Europe/Vienna")
    ),
}


def values_of(column):
    if isinstance(column, np.ma.MaskedArray):
        return column.tolist()
    if hasattr(column, "to_pylist"):
        return column.to_pylist()
    values = [None if value != value else value for value in list(column)]
    values = [v.item() if isinstance(v, np.datetime64) else v for v in values]
    return [v.date() if isinstance(v, dt.datetime) else v for v in values]


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize(("rule", "values"), RULES)
def test_dates_in_memory_are_recoded(holder, rule, values):
    data = HOLDERS[holder]()
    new = recode(data, {"d": recoding_of(rule)})["d"]
    assert values_of(new) == values
    if rule.startswith(("top", "bottom")) and hasattr(new, "dtype"):
        assert new.dtype == data["d"].dtype


@pytest.mark.parametrize("zone", [ZoneInfo("Europe/Vienna"), dt.timezone(5 * HOUR)])
@pytest.mark.parametrize(
    "holder",
    [list, lambda x: np.array(x, object), lambda x: pd.Series(x, dtype=object)],
)
def test_times_of_a_zone_have_the_day_that_it_shows(zone, holder):
    times = [dt.datetime(2024, m, 1, 0, 30, tzinfo=zone) for m in (1, 3, 7)]
    data = {"d": holder(times)}
    assert [*recode(data, {"d": "month"})["d"]] == ["2024-01", "2024-03", "2024-07"]
    top = dt.datetime(2024, 6, 15, tzinfo=zone)
    assert [*recode(data, {"d": "top:2024-06-15"})["d"]] == [*times[:2], top]


def test_times_of_several_zones_are_not_written_as_one():
    zones = [ZoneInfo("Europe/Vienna"), dt.timezone(5 * HOUR)]
    data = {"d": [dt.datetime(2024, 1, 1, 0, 30, tzinfo=zone) for zone in zones]}
    assert recode(data, {"d": "month"})["d"] == ["2024-01", "2024-01"]
    with pytest.raises(ValueError, match=r"several zones, .*: give all one zone"):
        recode(data, {"d": "top:2023-06-15"})


def test_an_array_of_arrow_keeps_its_zone():
    times = [dt.datetime(2024, 1, 1, 0, 30, tzinfo=ZoneInfo("Europe/Vienna")), None]
    data = {"d": pa.array(times, pa.timestamp("us", "Europe/Vienna"))}
    assert values_of(recode(data, {"d": "month"})["d"]) == ["2024-01", None]


TEXTS = [
    (["31.12.2023", "1.2.2024"], "month", ["2023-12", "2024-02"]),
    (["12/31/2023", "01/02/2024"], "month", ["2023-12", "2024-01"]),
    (["01.02.2024", "03.04.2024"], "month:dmy", ["2024-02", "2024-04"]),
    (["01.02.2024", "03.04.2024"], "month:mdy", ["2024-01", "2024-03"]),
    (["01.02.2024", "03.04.2024"], "year", ["2024", "2024"]),
    (["2024-02-01 10:30", "2024-04-03 08:00"], "month", ["2024-02", "2024-04"]),
    (["20240201", "20240403"], "quarter", ["2024-Q1", "2024-Q2"]),
    ([20240201, 20240403], "year", [2024, 2024]),
    (
        ["01/31/2022 10:36 PM", "02/29/2024 1:05 PM"],
        "top:2023-12-31",
        ["01/31/2022 10:36 PM", "12/31/2023 12:00 AM"],
    ),
    (
        ["2022-05-01 10:00 +0100", "2024-02-29 10:00 +0100"],
        "top:2023-12-31",
        ["2022-05-01 10:00 +0100", "2023-12-31 00:00 +0100"],
    ),
    (
        ["2022-05-01T10:00:00-05:00", "2024-02-29T10:00:00-05:00"],
        "top:2023-12-31",
        ["2022-05-01T10:00:00-05:00", "2023-12-31T00:00:00-05:00"],
    ),
    (["2024-02", "2024-04"], "quarter", ["2024-Q1", "2024-Q2"]),
    ([202402, 202404], "month", ["2024-02", "2024-04"]),
    (["2024/02", "2024/12"], "top:2024-04-01", ["2024/02", "2024/04"]),
    (["31.12.2023", "1.2.2024"], "top:2024-01-15", ["31.12.2023", "15.1.2024"]),
    (["31.12.2023", "01.02.2024"], "top:2024-01-05", ["31.12.2023", "05.01.2024"]),
    (
        ["31.12.2023", "01.02.2024", "05.01.2024"],
        "top:60%",
        ["31.12.2023", *["05.01.2024"] * 2],
    ),
    (["31DEC2023", "01FEB2024"], "top:2024-01-05", ["31DEC2023", "05JAN2024"]),
    (["31-Dec-2023", "1-Feb-2024"], "month", ["2023-12", "2024-02"]),
    ([" 2024-02-29", "0001-1-1 8:00"], "month", ["2024-02", "0001-01"]),
    (["01.02.2024", "05.06.2024"], "top:2024-03-01:mdy", ["01.02.2024", "03.01.2024"]),
    ([20231231.0, 20240201.0, None], "top:2024-01-05", [20231231, 20240105, None]),
]


@pytest.mark.parametrize(("texts", "rule", "values"), TEXTS)
def test_dates_in_text_are_recoded(texts, rule, values):
    assert recode({"d": texts}, {"d": recoding_of(rule)}) == {"d": values}


FAR = dt.date(9999, 9, 9)
REFUSED = [
    (["01.02.2024", "03.04.2024"], "month", ValueError, "Add :dmy or :mdy"),
    (["1/1/12"], "month", ValueError, "1/1/12 are not dates .* years of four digits"),
    (["2024-01-31", ""], "month", ValueError, "'' are not dates"),
    (["13.13.2024"], "year", ValueError, "13.13.2024 are not dates .* dmy or mdy"),
    (
        ["31.12.2023"],
        "month:mdy",
        ValueError,
        "31.12.2023 are not dates .* in the order mdy",
    ),
    (["2023-02-30"], "year", ValueError, "2023-02-30 are not dates"),
    *[
        (["2024-01-31", day], "year", ValueError, f"{day} are not dates")
        for day in ["0000-01-31", "2024-00-31", "2024-01-00", "2023-02-29", "31.1.2024"]
    ],
    (["31Dec2023", "31Dez2024"], "month", ValueError, "31Dez2024 are not dates"),
    (["2024-01-31", "2024-01-31\0"], "year", ValueError, "are not dates"),
    ([20240201, 99999999], "year", ValueError, "99999999 are.*--na COLUMN=99999999"),
    (["unknown", "2024-01-31"], "year", ValueError, "unknown are .*COLUMN=unknown"),
    (["2024-02"], "top:2023-01-15", ValueError, "months such as 2024-02 have no day"),
    ([DAYS[0]], "from:1990,2000", ValueError, "dates need 2024-01-31"),
    ([DAYS[0]], "round:10", ValueError, "dates need 2024-01-31"),
    ([DAYS[0]], "age:1940-01-01", ValueError, "1950-05-01 cannot be dates of birth"),
    ([*DAYS[:2], FAR], "age:2024-01-01", ValueError, "9999-09-09 cannot.*--na"),
    ([*DAYS[:2], FAR], "top:2000-01-01", ValueError, "9999-09-09 may be codes.*--na"),
    ([*DAYS[:2], FAR], "top:2010-01-01", ValueError, "9999-09-09 may be codes"),
    ([*DAYS[:2], FAR], "top:90%", ValueError, "9999-09-09 may be codes"),
    ([*DAYS[:2], FAR], "from:1980-01-01", ValueError, "9999-09-09 may be codes"),
]


@pytest.mark.parametrize(("values", "rule", "kind", "said"), REFUSED)
def test_what_is_not_clear_is_refused(values, rule, kind, said):
    with pytest.raises(kind, match=f"variable 'd': .*{said}"):
        recode({"d": values}, {"d": recoding_of(rule)})


@pytest.mark.parametrize(
    "word", ["from:01.02.2024", "age:2024-13-01", "age:x", "month:a"]
)
def test_rules_that_cannot_be_read_are_refused(word):
    with pytest.raises(ValueError, match=r"2024-01-31|dates become"):
        recoding_of(word)


def test_far_dates_that_stay_apart_are_no_dates():
    values = [*DAYS[:2], FAR]
    for rule, new in [
        ("year", [1950, 2004, 9999]),
        ("from:1960-01-01,2099-01-01=a,b,c", ["a", "b", "c"]),
    ]:
        assert recode({"d": values}, {"d": recoding_of(rule)}) == {"d": new}


@pytest.mark.parametrize(
    ("days", "far"),
    [
        (["1900-01-01", "1950-05-01", "7777-07-07"], ["1900-01-01", "7777-07-07"]),
        (["1900-01-01", "1900-05-01"], []),
        (["1970-01-01", "1950-05-01", "1990-05-01"], []),
        (["1500-01-01", "1501-05-01", "1950-05-01"], []),
    ],
)  # fmt: skip
def test_far_dates(days, far):
    for holder in ({"d": days}, pa.table({"d": days}), {"d": np.array(days, "M8[D]")}):
        column = code_column(Records.of(holder), "d")
        assert [text for text, _, n in far_dates(column) if n == 1] == far


RNG = np.random.default_rng(3)


def between(first, last, n=1000):
    first, last = np.array([first, last], "M8[D]")
    return first + RNG.integers(0, (last - first).astype(int), n)


BIRTHS = between("1925-01-01", "2006-01-01")
HEAPED = np.where(
    RNG.random(1000) < 0.3, BIRTHS.astype("M8[Y]").astype("M8[D]"), BIRTHS
)
EVENTS = between("2015-01-01", "2024-06-01")


def among(days, code, records):
    days = days.copy()
    days[:records] = code
    return days


@pytest.mark.parametrize("days", [BIRTHS, HEAPED, EVENTS])
@pytest.mark.parametrize("records", [1, 10])
@pytest.mark.parametrize(
    "code",
    [
        *("0001-01-01", "1582-10-15", "1753-01-01", "1850-01-01", "1900-01-01"),
        *("1901-01-01", "2050-12-31", "2079-06-06", "2099-12-31", "9999-12-31"),
    ],
)
def test_a_date_far_from_all_others_is_a_code(days, records, code):
    column = code_column(Records.of({"d": among(days, code, records)}), "d")
    found = [(date.text, date.records) for date in far_dates(column)]
    assert found == [(code, records)]


@pytest.mark.parametrize(
    ("days", "code", "records", "far"),
    [
        (BIRTHS, "1970-01-01", 60, True),  # nearer, but of very many records
        (EVENTS, "1977-07-07", 30, True),
        (EVENTS, "2035-12-31", 30, True),
        (HEAPED, "1970-01-01", 8, False),
        (HEAPED, "1950-01-01", 30, False),
        (BIRTHS, "1908-03-04", 1, False),  # the oldest
        (BIRTHS, "1908-01-01", 1, False),
        (EVENTS, "2015-01-01", 200, False),
        (between("2010-01-01", "2058-01-01"), "2057-12-31", 10, False),
        (between("2470-01-01", "2567-01-01"), "2500-01-01", 10, False),  # Thai years
        (between("2018-01-01", "2021-01-01"), "1948-05-07", 1, False),
        (between("1906-01-01", "1935-01-01"), "1990-01-01", 1, False),
        (HEAPED.astype("M8[Y]").astype("M8[D]"), "1930-01-01", 40, False),
    ],
)
def test_a_date_of_many_records_may_be_a_code(days, code, records, far):
    for values in (among(days, code, records), among(days, code, records).astype(str)):
        column = code_column(Records.of({"d": values}), "d")
        found = [(date.text, date.records) for date in far_dates(column)]
        assert found == [(code, np.count_nonzero(values == values[0]))] * far


def test_a_recoding_that_counts_a_code_as_a_date_is_doubted():
    data = {"d": among(BIRTHS, "1970-01-01", 60)}
    for rule in ("age:2025-01-01", "from:1960-01-01,1990-01-01"):
        with pytest.warns(DoubtfulRules, match="--na d=1970-01-01"):
            recode(data, {"d": rule})
    with pytest.raises(ValueError, match="1970-01-01 may be codes"):
        recode(data, {"d": "top:99%"})
    recode(data, {"d": "year"})


def test_dates_become_missing():
    days = [dt.date(2020, 1, 1), dt.date(2021, 1, 1), FAR, None]
    rules = [
        ({"9999-09-09": None}, "keep", [*days[:2], None, None]),
        ({"2020-01-01": "2020-01-02"}, "missing", [dt.date(2020, 1, 2), *[None] * 3]),
    ]
    for codes, others, new in rules:
        recoding = Recoding.mapping(codes, others=others)
        assert recode(pl.DataFrame({"d": days}), {"d": recoding})["d"].to_list() == new


@pytest.mark.parametrize(
    ("texts", "before"),
    [
        (["0001-01-11", "2024-01-01"], ["0001-01-08", "2023-12-29"]),
        (["11.1.0001", "31.12.2024"], ["8.1.0001", "28.12.2024"]),
        (["11JAN0001"], ["08JAN0001"]),
    ],
)
def test_years_have_four_digits(texts, before):
    dates = Dates.of(texts)
    assert dates.values(dates.numbers.tolist()) == texts
    assert dates.values((dates.numbers - 3).tolist()) == before
    with pytest.raises(ValueError, match="before the year 1 or after the year 9999"):
        dates.values((dates.numbers - 20).tolist())


def test_a_bound_has_no_time_of_the_day():
    times = pl.Series([dt.datetime(1950, 1, 1, 9), dt.datetime(2000, 1, 1, 10), None])
    top = {"d": recoding_of("top:2000-01-01")}
    new = recode(pl.DataFrame({"d": times}), top)["d"].to_list()
    assert new == [dt.datetime(1950, 1, 1, 9), dt.datetime(2000, 1, 1), None]
    texts = ["1950-01-01T09:00:00Z", "2000-01-01T10:00:00Z", "2001-01-01T10:30:00Z"]
    new = recode({"d": texts}, top)["d"]
    assert new == [texts[0], *["2000-01-01T00:00:00Z"] * 2]


def test_a_recoding_of_dates_is_recorded():
    for rule in (recoding_of("age:2024-12-31:dmy"), recoding_of("top:2024-01-31")):
        assert Recoding.from_dict(rule.to_dict()) == rule


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("age:2024-12-31,top:85", (85, 34, 34, 4)),
        ("age:2024-12-31,from:0,18,40=x,child,young,old", ("old", "young") * 2),
        ("year,round:10", (1930, 1990, 1990, 2020)),
        ("year,upto:1990=a,b:dmy", ("a", "a", "a", "b")),
    ],
)
def test_years_and_ages_are_recoded_further(rule, expected):
    days = ["1930-05-01", "1990-12-31", "1990-02-03", "2020-03-04"]
    if rule.endswith(":dmy"):
        days = [".".join(reversed(day.split("-"))) for day in days]
    if "child" in rule:
        expected = ("old", "young", "young", "child")
    recoding = recoding_of(rule)
    assert recoding.apply(days).codes == expected
    assert Recoding.from_dict(recoding.to_dict()) == recoding
    found = recode({"b": [*days, None]}, {"b": rule})["b"]
    assert [str(code) for code in expected] == [str(code) for code in found[:-1]]


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("month,top:3", "only years and ages"),
        ("year,truncate:1", "only years and ages"),
        ("age:2024-12-31,top:99%", "only years and ages"),
        ("age:2024-12-31,old", "'old' is not a rule of numbers"),
    ],
)
def test_what_is_no_number_is_not_recoded_further(rule, said):
    with pytest.raises(ValueError, match=said):
        recoding_of(rule)
