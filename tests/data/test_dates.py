"""Dates as a type: recoded to parts, ages and bands, in every holder of data."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from riskcore import Recoding, recode
from riskcore.data.columns import Records, code_column
from riskcore.data.dates import far_dates
from riskcore.data.recoding_words import recoding_of

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


TEXTS = [
    (["31.12.2023", "1.2.2024"], "month", ["2023-12", "2024-02"]),
    (["12/31/2023", "01/02/2024"], "month", ["2023-12", "2024-01"]),
    (["01.02.2024", "03.04.2024"], "month:dmy", ["2024-02", "2024-04"]),
    (["01.02.2024", "03.04.2024"], "month:mdy", ["2024-01", "2024-03"]),
    (["01.02.2024", "03.04.2024"], "year", ["2024", "2024"]),
    (["2024-02-01 10:30", "2024-04-03 08:00"], "month", ["2024-02", "2024-04"]),
    (["20240201", "20240403"], "quarter", ["2024-Q1", "2024-Q2"]),
    ([20240201, 20240403], "year", [2024, 2024]),
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
    (["1/1/12"], "month", ValueError, "1/1/12 are not dates .*2024-01-31"),
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
    (
        [20240201, 99999999],
        "year",
        ValueError,
        "99999999 are.*--na COLUMN=99999999",
    ),
    (
        ["unknown", "2024-01-31"],
        "year",
        ValueError,
        "unknown are .*COLUMN=unknown",
    ),
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


def test_dates_become_missing():
    days = [dt.date(2020, 1, 1), dt.date(2021, 1, 1), FAR, None]
    rules = [
        ({"9999-09-09": None}, "keep", [*days[:2], None, None]),
        ({"2020-01-01": "2020-01-02"}, "missing", [dt.date(2020, 1, 2), *[None] * 3]),
    ]
    for codes, others, new in rules:
        recoding = Recoding.mapping(codes, others=others)
        assert recode(pl.DataFrame({"d": days}), {"d": recoding})["d"].to_list() == new


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
