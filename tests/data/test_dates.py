"""Dates as a type: recoded to parts, ages and bands, in every holder of data."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from riskcore import Recoding, recode
from riskcore.data.dates import Dates, UnclearDatesError
from riskcore.data.recode import DoubtfulRules
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
]


@pytest.mark.parametrize(("texts", "rule", "values"), TEXTS)
def test_dates_in_text_are_recoded(texts, rule, values):
    assert recode({"d": texts}, {"d": recoding_of(rule)}) == {"d": values}


REFUSED = [
    (["01.02.2024", "03.04.2024"], "month", UnclearDatesError, "Add :dmy or :mdy"),
    (["1/1/12"], "month", ValueError, "years with four digits"),
    (["13.13.2024"], "year", ValueError, "one order of day and month"),
    (["31.12.2023"], "month:mdy", ValueError, "in the order mdy"),
    (["2023-02-30"], "year", ValueError, "not a date"),
    ([20240201, 99999999], "year", ValueError, "99999999.*--na COLUMN"),
    (["unknown", "2024-01-31"], "year", ValueError, "unknown: not dates.*--na COLUMN"),
    ([DAYS[0]], "from:1990,2000", TypeError, "codes are dates"),
    ([DAYS[0]], "age:1940-01-01", ValueError, "1950-05-01 cannot be a date of birth"),
    ([*DAYS[:2], dt.date(9999, 9, 9)], "top:2000-01-01", ValueError, "looks like a code"),
]


@pytest.mark.parametrize(("values", "rule", "kind", "said"), REFUSED)
def test_what_is_not_clear_is_refused(values, rule, kind, said):
    with pytest.raises(kind, match=f"variable 'd': .*{said}"):
        recode({"d": values}, {"d": recoding_of(rule)})


@pytest.mark.parametrize("word", ["from:01.02.2024", "age:2024-13-01", "age:x", "month:a"])
def test_rules_that_cannot_be_read_are_refused(word):
    with pytest.raises(ValueError, match=r"2024-01-31|month must|dates become"):
        recoding_of(word)


def test_far_dates_are_named():
    values = [*DAYS[:2], dt.date(9999, 9, 9)]
    with pytest.warns(DoubtfulRules, match="'9999-09-09' may be codes"):
        years = recode({"d": values}, {"d": Recoding.of_dates("year")})
    assert years == {"d": [1950, 2004, 9999]}
    texts = ["1900-01-01", "1950-05-01", "7777-07-07", "2001-01-01"]
    assert Dates.of(texts).codes() == ({"7777-07-07"}, {"1900-01-01"})
    assert Dates.of(["1900-01-01", "1900-05-01"]).codes() == (set(), set())


def test_a_recoding_of_dates_is_recorded():
    for rule in (Recoding.of_dates("age:2024-12-31:dmy"), recoding_of("top:2024-01-31")):
        assert Recoding.from_dict(rule.to_dict()) == rule
