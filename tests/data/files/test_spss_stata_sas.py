"""Files of SPSS, Stata and SAS: read, and written again."""

import contextlib
import json
import math
import sys
from datetime import date, datetime
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskcore import Reading, Recoding, assess, protect
from riskcore.cli import main
from riskcore.data.files import formats, spss_stata_sas
from riskcore.data.files.intake import DoubtfulDates
from riskcore.data.files.record_count import RecordCount
from riskcore.data.source import Source
from riskcore.protection.release.readback import ReadBackError
from riskcore.report.page import page, protection_page
from riskcore.report.public_page import public_page
from riskcore.report.summary import summary
from riskcore.report.text import text
from tests.accepted import ANY_LEAK
from tests.made_again import made_again

pytestmark = pytest.mark.filterwarnings(
    "ignore::riskcore.protection.result.SuppressedValueShows"
)
CODES = Reading(user_missing="codes")
SEX = {1: "male", 2: "female", 9: "refused"}


# What pyreadstat returns for files that only SAS can write.
CATALOG = SimpleNamespace(
    column_names=["sex", "region"],
    column_names_to_labels={"sex": "Sex", "region": None},
    variable_value_labels={},
    missing_ranges={},
    original_variable_types={"sex": "SEXF8.", "region": "$REG"},
    readstat_variable_types={"sex": "double", "region": "string"},
    variable_measure={},
    number_rows=2,
    value_labels={"SEXF": {1.0: "male", "A": "refused"}, "$REG": {"N": "North"}},
)


@pytest.fixture
def sas(tmp_path, monkeypatch):
    """Return a file of SAS, and the names of the catalogs that were read."""
    read = []

    def data(path, **_):
        return {"sex": [1.0, 2.0], "region": ["N", "S"]}, CATALOG

    def catalog(path, **_):
        read.append(path.rpartition("/")[2])
        if path.endswith("broken.sas7bcat"):
            raise pyreadstat.ReadstatError(
                "Invalid file, or file has unsupported features"
            )
        return {}, CATALOG

    monkeypatch.setattr(pyreadstat, "read_sas7bdat", data)
    monkeypatch.setattr(pyreadstat, "read_sas7bcat", catalog)
    records = RecordCount(2, stated=True)
    monkeypatch.setattr(spss_stata_sas, "count_sas", lambda path: records)
    path = tmp_path / "survey.sas7bdat"
    path.write_bytes(b"by SAS")
    return path, read


@pytest.mark.parametrize("name", ["survey.sas7bcat", "formats.sas7bcat"])
def test_labels_of_a_catalog_of_sas(sas, name):
    path, read = sas
    path.with_name(name).write_bytes(b"by SAS")
    result = assess(path, ["sex", "region"])
    labels = result.cells.intake.labels
    assert labels.values == {
        "sex": {"1": "male", ".a": "refused"}, "region": {"N": "North"}
    }  # fmt: skip
    assert set(read) == {name}
    source = Source.of(path, None)
    assert [each.name for each in source.paths] == [path.name, name]


def test_the_catalog_of_the_same_name_is_nearer(sas):
    path, read = sas
    for name in ("survey.sas7bcat", "formats.sas7bcat"):
        path.with_name(name).write_bytes(b"by SAS")
    assess(path, ["sex"])
    assert set(read) == {"survey.sas7bcat"}


def test_no_catalog_of_sas(sas):
    path, read = sas
    assert assess(path, ["sex"]).cells.intake.labels.values == {}
    assert read == []


def test_a_catalog_of_sas_that_cannot_be_read(sas):
    path, _ = sas
    path = path.rename(path.with_name("broken.sas7bdat"))
    path.with_suffix(".sas7bcat").write_bytes(b"?")
    with pytest.raises(ValueError, match=r"broken\.sas7bcat: Invalid file"):
        assess(path, ["sex"])


@pytest.fixture
def spss(tmp_path):
    """Return a file of SPSS with all that it can say of its columns."""
    n = 12
    frame = pd.DataFrame(
        {
            "sex": [1.0, 2.0, 9.0, 2.0] * 3,
            "region": ["N", "S", "ZZ", ""] * 3,
            "born": [13_800_000_000.0 // 86_400 * 86_400, np.nan] * 6,
            "at": [13_800_000_000.25] * n,
            "w": [1.5, 2.5, 3.5, 4.5] * 3,
            "age": [30.0, 41.0, 98.0, 99.0] * 3,
        }
    )
    pyreadstat.write_sav(
        frame,
        tmp_path / "s.sav",
        file_label="FILE LABEL",
        note="A NOTE",
        column_labels={"sex": "Sex of respondent", "region": "Region"},
        variable_value_labels={
            "sex": SEX,
            "region": {"N": "North", "ZZ": "Abroad"},
            "age": {98: "98 or more"},
        },
        missing_ranges={"sex": [9], "region": ["ZZ"], "age": [{"lo": 97, "hi": 99}]},
        variable_measure={"sex": "nominal", "age": "scale"},
        variable_format={"born": "EDATE10", "at": "DATETIME23.2", "w": "F10.3"},
    )
    return tmp_path / "s.sav"


def test_spss_is_read(spss):
    table, intake = formats.opened(spss).read()
    assert table.slice(0, 4).to_pydict() == {
        "sex": [1, 2, None, 2],
        "region": ["N", "S", None, None],
        "born": [date(2020, 2, 2), None] * 2,
        "at": [datetime(2020, 2, 2, 5, 20, 0, 250_000)] * 4,
        "w": [1.5, 2.5, 3.5, 4.5],
        "age": [30, 41, None, None],
    }
    assert table.schema.field("sex").type == pa.int64()
    assert str(intake) == "12 records; 12 user-missing values, taken as missing"
    assert intake.to_dict() == {"user_missing_missing": 12, "records": 12}
    assert formats.read(spss, ["w"], reading=Reading(encoding="latin-1")).num_rows == 12
    labels = formats.format_of(spss).labels
    assert labels.variables == {"sex": "Sex of respondent", "region": "Region"}
    assert labels.shown("sex", 2) == "2 (female)"
    assert labels.shown("region", "N") == "N (North)"
    assert formats.read(spss, ["w", "sex"], numeric=["w"]).column_names == ["w", "sex"]
    with pytest.raises(KeyError, match="no column 'SEX'; did you mean 'sex'"):
        formats.read(spss, ["SEX"])


def test_user_missing_codes_can_be_kept(spss):
    table, intake = formats.opened(spss, CODES).read()
    assert table["sex"].to_pylist()[:4] == [1, 2, 9, 2]
    assert table["age"].to_pylist()[:4] == [30, 41, 98, 99]
    assert table["region"].to_pylist()[:4] == ["N", "S", "ZZ", None]
    assert str(intake) == "12 records; 12 user-missing values, kept as codes"
    reading = Reading(user_missing="codes", missing_codes={"age": ["99"]})
    again = formats.read(spss, ["age"], reading=reading)
    assert again["age"].to_pylist()[:4] == [30, 41, 98, None]
    with pytest.raises(
        ValueError, match="user_missing='keep': use 'missing' or 'codes'"
    ):
        Reading(user_missing="keep")
    formats.write(spss.parent / "a.csv", {"a": [1]})
    formats.write(spss.parent / "a.parquet", {"a": [1]})
    for name in ("a.csv", "a.parquet"):
        with pytest.raises(ValueError, match="have user-missing codes"):
            formats.read(spss.parent / name, reading=CODES)


def test_stata_of_another_writer(tmp_path):
    frame = pd.DataFrame(
        {
            "sex": pd.Categorical(["m", "f", "m"], categories=["m", "f"]),
            "x": [0.1, math.nan, 3.0],
            "n": np.array([1, 2, 3], np.int8),
            "Sex": ["a", "bb", ""],
            "day": pd.to_datetime(["2020-02-29", None, "1900-01-01"]),
            "at": pd.to_datetime(
                ["2020-02-29 01:02:03.004", None, "1959-12-31 00:00:00.000"]
            ),
            "single": np.array([1.5, 0.1, 2], np.float32),
            "lengthy": ["x" * 3000, "y", ""],
        }
    )
    frame.to_stata(
        tmp_path / "a.dta",
        write_index=False,
        version=118,
        data_label="LABEL",
        convert_dates={"day": "td", "at": "tc"},
        variable_labels={"x": "The x"},
        convert_strl=["lengthy"],
    )
    table, intake = formats.opened(tmp_path / "a.dta").read()
    assert table.to_pydict() == {
        "sex": [0, 1, 0],
        "x": [0.1, None, 3.0],
        "n": [1, 2, 3],
        "Sex": ["a", "bb", None],
        "day": [date(2020, 2, 29), None, date(1900, 1, 1)],
        "at": [datetime(2020, 2, 29, 1, 2, 3, 4000), None, datetime(1959, 12, 31)],
        "single": [1.5, float(np.float32(0.1)), 2.0],
        "lengthy": ["x" * 3000, "y", None],
    }
    assert intake.user_missing == 0
    labels = formats.format_of(tmp_path / "a.dta").labels
    assert labels.shown("sex", 1) == "1 (f)"
    assert labels.variables == {"x": "The x"}


def test_extended_missing_values_of_stata(tmp_path):
    frame = pd.DataFrame({"a": [1.0, "a", 2.0, "z"], "b": [1, 2, 3, 4]})
    pyreadstat.write_dta(
        frame,
        tmp_path / "a.dta",
        missing_user_values={"a": ["a", "z"]},
        variable_value_labels={"a": {1: "one", "a": "refused"}},
    )
    table, intake = formats.opened(tmp_path / "a.dta").read()
    assert table["a"].to_pylist() == [1, None, 2, None]
    assert intake.user_missing == 2
    kept = formats.read(tmp_path / "a.dta", reading=CODES)
    assert kept["a"].to_pylist() == ["1", ".a", "2", ".z"]
    labels = formats.format_of(tmp_path / "a.dta").labels
    assert labels.shown("a", ".a") == ".a (refused)"
    assert labels.shown("a", "1") == "1 (one)"


def test_transport_files_of_sas(tmp_path):
    frame = pd.DataFrame(
        {"sex": [1.0, 2.0, np.nan], "t": ["a", "", "é"], "d": [22_000.0] * 3}
    )
    pyreadstat.write_xport(
        frame,
        tmp_path / "a.xpt",
        column_labels={"sex": "Sex"},
        variable_format={"d": "DATE9"},
    )
    table, intake = formats.opened(tmp_path / "a.xpt").read()
    assert table.to_pydict() == {
        "sex": [1, 2, None],
        "t": ["a", None, "é"],
        "d": [date(2020, 3, 26)] * 3,
    }
    assert intake.records == 3
    assert formats.format_of(tmp_path / "a.xpt").labels.variables["sex"] == "Sex"
    for name in ("b.xpt", "b.sas7bdat"):
        with pytest.raises(
            ValueError, match=r"SAS files can be read, not written; write \.dta"
        ):
            formats.check_writable(tmp_path / name)


def test_other_files_than_labelled_ones_are_refused(tmp_path):
    for name in ("a.sav", "a.zsav", "a.dta", "a.sas7bdat", "a.xpt"):
        (tmp_path / name).write_text("a,b\n1,2\n")
        with pytest.raises(ValueError, match=name):
            formats.read(tmp_path / name)
    with pytest.raises(ValueError, match="only a CSV has a delimiter"):
        formats.read(tmp_path / "a.sav", reading=Reading(delimiter=";"))
    pyreadstat.write_sav(
        pd.DataFrame({"a": pd.Series([], dtype=float)}), tmp_path / "e.sav"
    )
    with pytest.raises(ValueError, match=r"e\.sav: a header, but no records"):
        formats.read(tmp_path / "e.sav")


def test_numbers_that_are_not_codes_are_unchanged(tmp_path):
    frame = pd.DataFrame(
        {
            "large": [2.0**53, 2.0**53 + 2],
            "half": [0.5, 1.0],
            "zero": [-0.0, 1.0],
            "never": [math.nan, math.nan],
            "far": [1e15, 2e15],
        }
    )
    pyreadstat.write_sav(frame, tmp_path / "a.sav", variable_format={"far": "DATE11"})
    with pytest.warns(DoubtfulDates, match="'far', of the format DATE11, has no date"):
        read = formats.read(tmp_path / "a.sav")
    assert read.schema.types[:3] == [pa.float64()] * 3
    assert list(map(repr, read["zero"].to_pylist())) == ["-0.0", "1.0"]
    assert read["large"].to_pylist() == [2.0**53, 2.0**53 + 2]
    assert read["never"].null_count == 2
    assert read["far"].to_pylist() == [10**15, 2 * 10**15]


FORMS = [
    # The format, the numbers, what is read, and what is said.
    ("a.sav", "DATE11", [86_400.0, 9e13], [date(1582, 10, 15), None], "missing: 90000"),
    ("a.sav", "DATE9", [13783224961.0], [date(2019, 7, 23)], "times of the day in 1 r"),
    ("a.dta", "%tdD_m_Y", [20.0, 9e7], [date(1960, 1, 21), None], "as missing: 90000"),
    ("a.dta", "%dD_m_Y", [20.0, math.nan], [date(1960, 1, 21), None], None),
    ("a.dta", "%tm", [532.0, -1.0], [date(2004, 5, 1), date(1959, 12, 1)], None),
    ("a.dta", "%tq", [220.0, 1.0], [date(2015, 1, 1), date(1960, 4, 1)], None),
    ("a.dta", "%th", [1.0], [date(1960, 7, 1)], None),
    ("a.dta", "%tw", [52.0, 51.0], [date(1961, 1, 1), date(1960, 12, 23)], None),
    ("a.dta", "%ty", [1961.0], [1961], None),
    ("a.dta", "%tC", [1961.0], [1961], "its own calendar, and stays a number"),
    ("a.xpt", "E8601DA10", [0.0], [date(1960, 1, 1)], None),
    ("a.xpt", "MONYY7", [31.0], [date(1960, 2, 1)], None),
    ("a.xpt", "DTDATE9", [86_400.0], [datetime(1960, 1, 2)], None),
]


@pytest.mark.parametrize(("name", "form", "numbers", "values", "said"), FORMS)
def test_formats_of_dates(tmp_path, name, form, numbers, values, said):
    path = tmp_path / name
    write = {".sav": "write_sav", ".dta": "write_dta", ".xpt": "write_xport"}
    frame = pd.DataFrame({"d": numbers})
    getattr(pyreadstat, write[path.suffix])(frame, path, variable_format={"d": form})
    with contextlib.ExitStack() as stack:
        if said is not None:
            stack.enter_context(pytest.warns(DoubtfulDates, match=said))
        assert formats.read(path)["d"].to_pylist() == values


def test_a_labelled_number_among_dates_is_a_code(tmp_path):
    labels = {"d": {99.0: "unknown", 20.0: "a day"}}
    frame = pd.DataFrame({"d": [20.0, 21.0, 99.0]})
    forms = {"variable_format": {"d": "%td"}, "variable_value_labels": labels}
    pyreadstat.write_dta(frame, tmp_path / "a.dta", **forms)
    with pytest.warns(DoubtfulDates, match="2 values with a label.*missing: 20, 99"):
        read = formats.read(tmp_path / "a.dta")["d"].to_pylist()
    assert read == [None, date(1960, 1, 22), None]


def test_the_last_day_of_the_calendar_and_months_are_written_as_dates(tmp_path):
    path = tmp_path / "a.dta"
    last = 253717919999000.0
    frame = pd.DataFrame({"t": [last, 0.0], "m": [532.0, -1.0], "w": [51.0, -1.0]})
    forms = {"t": "%tc", "m": "%tm", "w": "%tw"}
    pyreadstat.write_dta(frame, path, variable_format=forms)
    table = formats.read(path)
    assert table["t"].to_pylist()[0] == datetime(9999, 12, 31, 23, 59, 59)
    written = tmp_path / "b.dta"
    formats.write(written, table, like=formats.format_of(path))
    again = formats.read(written)
    assert again["m"].to_pylist() == [date(2004, 5, 1), date(1959, 12, 1)]
    assert again["w"].to_pylist() == table["w"].to_pylist()
    assert shown(written)[1].original_variable_types["m"] == "%td"


# Written again


def shown(path):
    """Return what stands in a file as lists, and what the file says of it."""
    read = pyreadstat.read_dta if path.suffix == ".dta" else pyreadstat.read_sav
    how = {"user_missing": True, "disable_datetime_conversion": True}
    data, about = read(path, output_format="dict", **how)
    # By pyreadstat 1.2 they are arrays with nan.
    lists = {name: [None if v != v else v for v in data[name]] for name in data}
    return lists, about


@pytest.mark.parametrize("name", ["safe.sav", "safe.zsav"])
def test_a_safe_file_of_spss(spss, name):
    path = spss.parent / name
    result = protect(spss, ["sex", "region"], "w", threshold=0.9, **ANY_LEAK)
    assert not any(result.suppressed.values())
    record = result.write(path)
    assert record["input"]["reading"]["user_missing"] == "missing"
    _, before = shown(spss)
    data, after = shown(path)
    assert data["sex"][:4] == [1.0, 2.0, None, 2.0]
    assert data["region"][:4] == ["N", "S", "", ""]
    assert data["at"] == [13_800_000_000.25] * 12
    assert after.column_names_to_labels == before.column_names_to_labels
    assert after.missing_ranges == before.missing_ranges
    assert after.variable_measure == before.variable_measure
    forms = after.original_variable_types
    for same in ("sex", "born", "at", "w", "age"):
        assert forms[same] == before.original_variable_types[same]
    # Codes that no longer occur lose their labels.
    assert after.variable_value_labels == {
        "sex": {1.0: "male", 2.0: "female"},
        "region": {"N": "North"},
    }
    assert formats.read(path).equals(formats.read(spss))


def test_codes_that_are_kept_are_written(spss):
    path = spss.parent / "safe.sav"
    result = protect(spss, ["sex"], "w", threshold=0.9, reading=CODES, **ANY_LEAK)
    result.write(path)
    data, after = shown(path)
    assert data["sex"][:4] == [1.0, 2.0, 9.0, 2.0]
    assert after.variable_value_labels["sex"] == {float(k): v for k, v in SEX.items()}
    assert after.missing_ranges["age"] == [{"lo": 97.0, "hi": 99.0}]


def test_nothing_tells_what_was_suppressed(tmp_path):
    n = 30
    frame = pd.DataFrame(
        {
            "sex": [1.0, 2.0] * 14 + [7.0, 2.0],
            "job": ["a", "b"] * 14 + ["a secret job", "b"],
        }
    )
    assert len(frame) == n
    pyreadstat.write_sav(
        frame,
        tmp_path / "s.sav",
        file_label="FILE LABEL OF SEVEN",
        note="A NOTE OF SEVEN",
        variable_value_labels={"sex": {1: "male", 2: "female", 7: "LABEL OF SEVEN"}},
    )
    pyreadstat.write_dta(
        frame,
        tmp_path / "s.dta",
        file_label="FILE LABEL OF SEVEN",
        variable_value_labels={"sex": {1: "male", 2: "female", 7: "LABEL OF SEVEN"}},
    )
    for source, target in (
        ("s.sav", "a.sav"),
        ("s.sav", "a.dta"),
        ("s.dta", "b.dta"),
        ("s.dta", "b.sav"),
    ):
        result = protect(tmp_path / source, ["sex", "job"], threshold=0.5, **ANY_LEAK)
        assert result.suppressed == {"sex": 1, "job": 1}
        result.write(tmp_path / target)
        raw = (tmp_path / target).read_bytes()
        assert b"SEVEN" not in raw
        assert b"secret" not in raw
        data, about = shown(tmp_path / target)
        assert about.variable_value_labels["sex"].keys() == {1, 2}
        assert about.variable_storage_width["job"] < len("a secret job")
        assert data["sex"][28] is None
        assert data["job"][28] == ""


@pytest.mark.parametrize("name", ["a.sav", "a.zsav", "a.dta"])
def test_files_have_no_time_of_their_own(tmp_path, name):
    path = formats.write(tmp_path / name, {"a": [1, 2]})
    about = shown(path)[1]
    assert about.creation_time == about.modification_time == datetime(1970, 1, 1)


def test_labels_of_codes_that_mean_something_else_are_lost(tmp_path):
    frame = pd.DataFrame({"age": [30.0, 41.0, 50.0, 99.0] * 9, "hh": [1.0, 2.0] * 18})
    pyreadstat.write_sav(
        frame,
        tmp_path / "s.sav",
        column_labels={"age": "Age", "hh": "Household"},
        variable_value_labels={"age": {30: "thirty", 60: "sixty"}, "hh": {1: "first"}},
        missing_ranges={"age": [{"lo": 60, "hi": 99}], "hh": [88]},
    )
    result = protect(
        tmp_path / "s.sav",
        ["age"],
        household="hh",
        threshold=0.9,
        recodings={"age": Recoding.mapping({41: 60})},
        **ANY_LEAK,
    )
    result.write(tmp_path / "t.sav")
    data, about = shown(tmp_path / "t.sav")
    # Else 60 would be missing, and called sixty.
    assert data["age"][:4] == [30.0, 60.0, 50.0, None]
    assert about.missing_ranges == {}
    assert about.variable_value_labels == {"age": {30.0: "thirty"}}
    assert about.column_names_to_labels == {"age": "Age", "hh": "Household"}


LIMITS = {
    "SPSS: case": ("a.sav", {"Sex": [1], "sex": [2]}, "differ only in case"),
    "SPSS: name": ("a.sav", {"my sex": [1]}, "a name in SPSS"),
    "SPSS: word": ("a.sav", {"to": [1]}, "a name in SPSS"),
    "SPSS: blank": ("a.sav", {"a": ["x "]}, "'a' has text that ends with a blank"),
    "SPSS: long": ("a.sav", {"a": ["x" * 40_000]}, "more than 32,767 bytes"),
    "SPSS: infinite": ("a.sav", {"a": [math.inf]}, "'a' has numbers beyond"),
    "SPSS: own missing": ("a.sav", {"a": [-sys.float_info.max]}, "numbers beyond"),
    "whole": ("a.sav", {"a": [2**53 + 1]}, "'a' has whole numbers beyond 2\\^53"),
    "empty": ("a.dta", {"a": [""]}, "'a' has empty text, which is missing in Stata"),
    "zero byte": ("a.dta", {"a": ["x\0y"]}, "'a' has zero bytes"),
    "Stata: name": ("a.dta", {"x" * 33: [1]}, "a name in Stata"),
    "Stata: word": ("a.dta", {"if": [1]}, "a name in Stata"),
    "Stata: missing": ("a.dta", {"a": [2.0**1023]}, "'a' has numbers beyond 8.988e"),
    "finer": ("a.dta", {"a": [datetime(2020, 1, 1, 0, 0, 0, 1)]}, "finer than Stata"),
    "decimal": ("a.sav", {"a": [Decimal("1.5")]}, "'a' of decimal128"),
    "list": ("a.sav", {"a": [[1]]}, "'a' of list"),
}


@pytest.mark.parametrize("case", LIMITS)
def test_what_a_file_cannot_hold_is_refused(tmp_path, case):
    name, columns, message = LIMITS[case]
    with pytest.raises((ValueError, TypeError), match=message):
        formats.write(tmp_path / name, columns)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".sav", ".dta"])
def test_what_just_fits(tmp_path, suffix):
    columns = {
        "whole": [2**53, -(2**53)],
        "tiny": [5e-324, -5e-324],
        "huge": [8.9e307, -8.9e307],
        "lengthy": ["x" * 2045, "é" * (1000 if suffix == ".dta" else 16_000)],
        "x_" if suffix == ".dta" else "x@": [None, 1.5],
        "bool": [True, None],
        "day": [date(1, 1, 1), date(9999, 12, 31)],
    }
    read = formats.read(formats.write(tmp_path / f"a{suffix}", columns)).to_pydict()
    assert {**read, "bool": [True, None]} == columns


def test_three_hundred_columns(tmp_path):
    columns = {f"v{i}": [i, i + 1] for i in range(300)}
    for suffix in (".sav", ".dta"):
        path = formats.write(tmp_path / f"a{suffix}", columns)
        assert formats.read(path).to_pydict() == columns


def test_batches_and_progress(tmp_path, monkeypatch):
    monkeypatch.setattr("riskcore.data.files.spss_stata_sas._ROWS", 4)
    frame = pd.DataFrame({"a": [*map(float, range(9)), "a"], "t": list("abcdefghij")})
    pyreadstat.write_dta(frame, tmp_path / "a.dta", missing_user_values={"a": ["a"]})
    parts = []
    table = formats.read(tmp_path / "a.dta", progress=lambda *one: parts.append(one))
    assert table["a"].to_pylist() == [*range(9), None]
    assert "".join(table["t"].to_pylist()) == "abcdefghij"
    assert parts == [(4, 10), (8, 10), (10, 10)]
    kept = formats.read(tmp_path / "a.dta", reading=CODES)
    assert kept["a"].to_pylist() == [*map(str, range(9)), ".a"]
    pyreadstat.write_xport(pd.DataFrame({"a": np.arange(8.0)}), tmp_path / "a.xpt")
    assert formats.read(tmp_path / "a.xpt")["a"].to_pylist() == list(range(8))


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)
values = {
    pa.string(): texts,
    pa.int64(): st.integers(-(2**53) + 1, 2**53 - 1),
    pa.float64(): st.floats(-8.9e307, 8.9e307, allow_nan=False),
    pa.date32(): st.dates(),
    pa.timestamp("ms"): st.datetimes(datetime(1800, 1, 1), datetime(2120, 1, 1)).map(
        lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000)
    ),
}


@st.composite
def tables(draw):
    n = draw(st.integers(1, 6))
    kinds = draw(st.lists(st.sampled_from(list(values)), min_size=1, max_size=4))
    return {
        f"v{i}": pa.array(
            draw(st.lists(st.none() | values[kind], min_size=n, max_size=n)), kind
        )
        for i, kind in enumerate(kinds)
    }


@settings(deadline=None)
@given(tables(), st.sampled_from([".sav", ".zsav", ".dta"]))
def test_what_is_written_is_read_back_to_the_last_bit(
    tmp_path_factory, columns, suffix
):
    spss = suffix != ".dta"
    if spss:
        columns = {
            name: pa.array([t and (t.rstrip(" ") or "x") for t in column.to_pylist()])
            if column.type == pa.string()
            else column
            for name, column in columns.items()
        }
        columns = {
            name: column.cast(pa.string()) if column.type == pa.null() else column
            for name, column in columns.items()
        }
    path = tmp_path_factory.mktemp("labelled") / f"a{suffix}"
    read = formats.read(formats.write(path, columns))
    for name, column in columns.items():
        found = read[name].to_pylist()
        if column.type == pa.float64():
            found = [None if value is None else float(value) for value in found]
        assert list(map(repr, found)) == list(map(repr, column.to_pylist()))


@pytest.mark.parametrize("suffix", [".sav", ".dta"])
def test_damage_is_seen_when_a_file_is_read_back(spss, monkeypatch, suffix):
    result = protect(spss, ["sex"], "w", threshold=0.9, **ANY_LEAK)
    path = spss.parent / f"safe{suffix}"
    of = formats.written_as(path)
    convert = of.convert.__func__

    def damaged(cls, column):
        values, form = convert(cls, column)
        values = values.copy()
        values[5] = "x" if values.dtype == object else values[5] + 1
        return values, form

    monkeypatch.setattr(of, "convert", classmethod(damaged))
    with pytest.raises(ReadBackError, match=r"'sex' in 1 records, first in record 6"):
        result.write(path)
    assert not path.exists()


# Reports


@pytest.fixture
def hidden_from_text(spss):
    """Return a file whose codes have labels that would steer a page."""
    frame = pd.DataFrame({"sex": [1.0, 2.0] * 9})
    path = spss.parent / "hostile.sav"
    pyreadstat.write_sav(
        frame,
        path,
        column_labels={"sex": "<b>Sex</b>\x1b[31m"},
        variable_value_labels={"sex": {1: "<script>alert(1)</script>"}},
    )
    return path


def test_labels_stand_behind_codes_in_the_summary_and_the_report(spss):
    found = assess(spss, ["sex", "region"], "w", missing="category")
    figures = summary(found)
    assert figures["labels"]["sex"]["values"]["2"] == "female"
    json.dumps(figures, allow_nan=False)
    said = text(figures, "T")
    assert (
        "labels                       sex: Sex of respondent, region: Region\n" in said
    )
    assert "12 records; 6 user-missing values, taken as missing" in said
    for label in ("1 (male)", "2 (female)", "N (North)", "(missing)"):
        assert label in said
    made = page({"original": found}, title="T", riskiest=found.riskiest(9))
    for label in ("1 (male)", "2 (female)", "N (North)", "Sex of respondent"):
        assert label in made
    assert "male" not in public_page(found)


def test_the_report_of_a_protection_has_no_label_of_what_was_recoded(spss):
    result = protect(spss, ["sex", "region"], "w", threshold=0.9)
    assert "Sex of respondent" in protection_page(result, title="T")
    merged = {"sex": Recoding.mapping({1: 2})}
    recoded = protect(spss, ["sex", "region"], "w", threshold=0.9, recodings=merged)
    made = protection_page(recoded, title="T")
    assert "female" not in made


def test_hostile_labels(hidden_from_text):
    found = assess(hidden_from_text, ["sex"])
    made = page({"original": found}, title="T", riskiest=found.riskiest(2))
    assert "<script>alert" not in made
    assert "<b>Sex" not in made
    assert "\x1b" not in made + text(summary(found), "T")


def test_the_command(spss, capsys):
    assert main(["assess", str(spss), "--keys", "sex", "--user-missing", "codes"]) == 0
    said = capsys.readouterr().out
    assert "12 user-missing values, kept as codes" not in said
    assert "3 user-missing values, kept as codes" in said
    assert "9 (refused)" in said
    line = ["assess", str(spss), "--keys", "sex", "--missing", "refuse"]
    assert main(line) == 2
    assert "missing key values: 'sex' in 3 of 12 records" in capsys.readouterr().err


def test_a_record_reads_the_codes_as_before(spss, capsys):
    safe = spss.parent / "safe.sav"
    command = ["protect", str(spss), "--keys", "sex", "--threshold", "0.9"]
    command += ["--role", "*=harmless:a test", "--accept", "*=a test"]
    assert main([*command, "--user-missing", "codes", "--output", str(safe)]) == 0
    again = spss.parent / "again.sav"
    assert made_again(spss, f"{safe}.private.json", again) == safe.read_bytes()
    assert 9.0 in shown(again)[0]["sex"]
