"""Workbooks of Excel: what is read, refused and written."""

import datetime
import math
import sys
import zipfile
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import riskcore
from riskcore.data.files import excel_writer, formats
from riskcore.data.files.excel import SheetsLeftOut
from riskcore.data.files.intake import DoubtfulDates
from riskcore.data.files.reading import Reading
from tests.accepted import ANY_LEAK

DAY = datetime.date(2020, 2, 29)
NOON = datetime.datetime(2021, 3, 1, 12, 0, 30)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def book(rows, change=None, name="given.xlsx", title="Data"):
    """Write a workbook by openpyxl; ``change`` gets the sheet."""
    made = openpyxl.Workbook()
    sheet = made.active
    sheet.title = title
    for row in rows:
        sheet.append(row)
    if change is not None:
        change(sheet)
    made.save(name)
    return Path(name)


def read(path, **how):
    return formats.read(path, **how).to_pydict()


# Reading


def test_values_keep_their_kind():
    path = book(
        [
            ["text", "whole", "real", "day", "time", "yes", "none"],
            ["01", 1, 1.5, DAY, NOON, True, None],
            [" a", 2, 2, None, NOON, False, None],
            [None, None, None, DAY, None, None, None],
        ]
    )
    table = formats.read(path)
    assert table.to_pydict() == {
        "text": ["01", " a", None],
        "whole": [1, 2, None],
        "real": [1.5, 2.0, None],
        "day": [DAY, None, DAY],
        "time": [NOON, NOON, None],
        "yes": [True, False, None],
        "none": [None, None, None],
    }
    assert table.schema.field("whole").type == pa.int64()
    assert table.schema.field("day").type == pa.date32()
    assert formats.columns_of(path).names == tuple(table.column_names)
    assert read(path, columns=["real", "text"], numeric=["text"] * 0) == {
        "real": [1.5, 2.0, None],
        "text": ["01", " a", None],
    }


def test_mixed_columns_are_text_as_shown():
    path = book([["v"], [1], ["a"], [2.5], [3.0], [True], [DAY], [NOON]])
    assert read(path)["v"] == [
        "1", "a", "2.5", "3", "TRUE", "2020-02-29", "2021-03-01T12:00:30",
    ]  # fmt: skip


def test_leading_zeros_that_a_format_shows_are_kept():
    def zeros(sheet):
        for row in (2, 3):
            sheet.cell(row, 1).number_format = "0000"

    path = book([["region", "w"], [101, 1], [2203, 2]], zeros)
    assert read(path) == {"region": ["0101", "2203"], "w": [1, 2]}


def test_missing_codes_and_numbers_in_text():
    path = book([["a", "w"], [9, "1.5"], [1, "2"]])
    reading = Reading(missing_codes={"a": ["9"]})
    assert read(path, reading=reading, numeric=["w"]) == {"a": [None, 1], "w": [1.5, 2]}
    with pytest.raises(ValueError, match="w is not a number in 1 record"):
        read(book([["a", "w"], [9, "x"]]), numeric=["w"])
    path = book([["w"], ["1,5"], [2.25], [3]])
    with pytest.raises(ValueError, match=r"'1,5'; the decimal mark may be a comma"):
        read(path, numeric=["w"])
    found = read(path, reading=Reading(decimal=","), numeric=["w"])
    assert found == {"w": [1.5, 2.25, 3]}


def test_empty_rows_and_columns_at_the_end_are_formatting():
    def formatted(sheet):
        sheet.cell(9, 5).number_format = "0.00"

    assert read(book([["a"], [1], [2]], formatted)) == {"a": [1, 2]}


def test_sheets():
    made = openpyxl.Workbook()
    for name in ("other", "wanted"):
        made.create_sheet(name).append([name])
        made[name].append([1])
    del made["Sheet"]
    made.save("two.xlsx")
    with pytest.warns(SheetsLeftOut, match="the first of 2 sheets is read, 'other'"):
        assert read("two.xlsx") == {"other": [1]}
    assert read("two.xlsx", reading=Reading(sheet="wanted")) == {"wanted": [1]}
    with pytest.raises(ValueError, match=r"no sheet 'x'; there are 'other', 'wanted'"):
        read("two.xlsx", reading=Reading(sheet="x"))
    Path("a.csv").write_text("a\n1\n")
    with pytest.raises(ValueError, match="a CSV file; only Excel files have sheets"):
        read("a.csv", reading=Reading(sheet="x"))
    with pytest.raises(TypeError, match="sheet=3"):
        Reading(sheet=3)
    with pytest.raises(ValueError, match="only a CSV has a delimiter"):
        read("two.xlsx", reading=Reading(delimiter=";"))


# Bad inputs


def merged(cells):
    return lambda sheet: sheet.merge_cells(cells)


def put(cell, value):
    return lambda sheet: sheet.__setitem__(cell, value)


BAD = {
    "formula": ([["a"], ["=1+1"]], None, "cell A2 has a formula; copy the sheet"),
    "formula in names": ([["=B1"], [1]], None, "cell A1 has a formula"),
    "error": ([["a", "b"], [1, "#DIV/0!"]], None, "cell B2 has the error #DIV/0!"),
    "merged names": ([["a", None], [1, 2]], merged("A1:B1"), "has merged cells"),
    "merged records": ([["a", "b"], [1, 2], [3, 4]], merged("A2:A3"), "merged cells"),
    "no name": ([["a", None, "c"], [1, 2, 3]], None, "column B has no name"),
    "value without name": ([["a"], [1, 2]], None, "cell B2 has a value, but its col"),
    "empty first row": ([[], ["a"], [1]], None, "the first row of the sheet is empty"),
    "nothing": ([], None, "the first row of the sheet is empty"),
    "no records": ([["a"]], None, "a header, but no records"),
    "empty row": (
        [["a"], [1], [None], [2]],
        None,
        "row 3 is empty, but records follow",
    ),
    "far cell": ([["a"], [1]], put("A9", 1), "row 3 is empty"),
    "twice": ([["a", "a"], [1, 2]], None, "column names given twice: a"),
}


@pytest.mark.parametrize("name", BAD)
def test_sheets_that_are_refused(name):
    rows, change, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        read(book(rows, change))


def repacked(change, name="bad.xlsx"):
    """Write a workbook whose parts are changed: by name from bytes to bytes."""
    with zipfile.ZipFile(book([["a"], [1]])) as given:
        parts = {one: given.read(one) for one in given.namelist()}
    change(parts)
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, content in parts.items():
            archive.writestr(part, content)
    return Path(name)


SHEET = "xl/worksheets/sheet1.xml"


def with_entities(parts):
    text = b'<!DOCTYPE x [<!ENTITY a "aaaa">]>'
    parts[SHEET] = text + parts[SHEET]


def utf16(parts):
    parts[SHEET] = "<?xml version='1.0' encoding='UTF-16'?><x/>".encode("utf-16")


ALTERED = {
    "entities": (with_entities, "has a document type"),
    "another encoding": (utf16, "has a document type"),
    "no sheet": (lambda parts: parts.pop(SHEET), "workbook"),
    "no workbook": (lambda parts: parts.pop("xl/workbook.xml"), "workbook of Excel"),
    "not XML": (lambda parts: parts.update({SHEET: b"<<"}), "damaged|document|not a"),
    "cut XML": (lambda p: p.update({SHEET: p[SHEET][:-40]}), "damaged"),
    "no styles": (lambda p: p.update({"xl/styles.xml": b"<x"}), "workbook|damaged"),
}


@pytest.mark.parametrize("name", ALTERED)
def test_damaged_workbooks_are_refused(name):
    change, message = ALTERED[name]
    with pytest.raises(ValueError, match=message):
        read(repacked(change))


@pytest.mark.parametrize(
    "content", [b"", b"a,b\n1,2\n", b"PK\x03\x04", b"\xd0\xcf\x11"]
)
def test_files_that_are_no_workbooks_are_refused(content):
    Path("odd.xlsx").write_bytes(content)
    with pytest.raises(ValueError, match="not a workbook of Excel"):
        read("odd.xlsx")


@pytest.mark.parametrize("end", [30, 200, 1000])
def test_cut_workbooks_are_refused(end):
    path = book([["a"], [1]])
    path.write_bytes(path.read_bytes()[:-end])
    with pytest.raises(ValueError, match="workbook"):
        read(path)


def test_bombs_are_refused_by_size(monkeypatch):
    monkeypatch.setattr("riskcore.data.files.excel._LARGEST_PART", 1 << 22)
    path = repacked(lambda p: p.update({"xl/sharedStrings.xml": b" " * (5 << 20)}))
    assert path.stat().st_size < 1 << 15
    with pytest.raises(ValueError, match=r"too large; save it as \.csv"):
        read(path)
    monkeypatch.setattr("riskcore.data.files.excel._MOST_PARTS", 3)
    with pytest.raises(ValueError, match="too large"):
        read(book([["a"], [1]]))


def test_a_stated_size_is_not_believed():
    """A sheet may say that it has every cell there can be."""
    path = repacked(
        lambda p: p.update(
            {SHEET: p[SHEET].replace(b'ref="A1:A2"', b'ref="A1:XFD1048576"')}
        )
    )
    assert read(path) == {"a": [1]}


def test_openpyxl_is_imported_late():
    assert "import openpyxl" not in Path(formats.__file__).read_text()
    code = "import riskcore, riskcore.data.files.excel, sys; "
    code += "sys.exit('openpyxl' in sys.modules)"
    import subprocess

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Writing

TEXTS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1
).filter(lambda text: not excel_writer.ESCAPE.search(text))
COLUMNS = st.fixed_dictionaries(
    {
        "text": st.one_of(st.none(), TEXTS),
        "real": st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False)),
        "whole": st.one_of(st.none(), st.integers(-(2**53), 2**53)),
        "yes": st.booleans(),
        "day": st.one_of(
            st.none(), st.dates(datetime.date(1900, 3, 1), datetime.date(9999, 12, 31))
        ),
    }
)


@given(st.lists(COLUMNS, min_size=1, max_size=4))
def test_what_is_written_is_read(records):
    columns = {name: [one[name] for one in records] for name in records[0]}
    formats.write("a.xlsx", pa.table(columns), overwrite=True)
    found = read("a.xlsx")
    for name, values in columns.items():
        assert found[name] == values, name


@pytest.mark.parametrize(
    "text", ["=1+1", "=cmd|'/C calc'!A0", "+1", "-1", "@x", "#N/A"]
)
def test_formulas_are_text(text):
    formats.write("a.xlsx", {text: [text, " x "]})
    sheet = openpyxl.load_workbook("a.xlsx")["Data"]
    assert [cell.data_type for cell in sheet["A"]] == ["s"] * 3
    assert [cell.value for cell in sheet["A"]] == [text, text, " x "]
    with zipfile.ZipFile("a.xlsx") as archive:
        assert b"<f>" not in archive.read(SHEET)
    assert read("a.xlsx") == {text: [text, " x "]}


def test_the_same_data_are_the_same_bytes_and_all_digits():
    values = {"v": [0.1 + 0.2, 1 / 3, 5e-324, 1.7976931348623157e308, -0.0]}
    first = formats.write("a.xlsx", values).read_bytes()
    assert formats.write("b.xlsx", values).read_bytes() == first
    assert read("a.xlsx")["v"] == values["v"]
    with zipfile.ZipFile("a.xlsx") as archive:
        assert {one.date_time[0] for one in archive.infolist()} == {1980}


UNWRITABLE = {
    "control": ({"v": ["a\x00b"]}, "control characters"),
    "escape": ({"v": ["_x0041_"]}, "reads as one character"),
    "long": ({"v": ["x" * 32_768]}, "more than 32,767"),
    "large": ({"v": [2**53 + 1]}, "beyond 2\\^53"),
    "infinite": ({"v": [math.inf]}, "infinite"),
    "old": ({"v": [datetime.date(1900, 2, 28)]}, "before 1900-03-01"),
    "fine": ({"v": [datetime.datetime(2020, 1, 1, 0, 0, 0, 1)]}, "microseconds"),
    "bytes": ({"v": [b"x"]}, "cannot be written as Excel"),
    "empty record": ({"v": [1, None], "w": ["a", None]}, "would be empty rows"),
    "name": ({"v\x01": [1]}, "control characters"),
    "wide": ({f"v{i}": [1] for i in range(16_385)}, "Excel has"),
}


@pytest.mark.parametrize("name", UNWRITABLE)
def test_what_a_workbook_cannot_hold_is_refused(name):
    columns, message = UNWRITABLE[name]
    with pytest.raises((TypeError, ValueError), match=f"a.xlsx.*{message}"):
        formats.write("a.xlsx", columns)
    assert not Path("a.xlsx").exists()


# The whole path


def survey():
    random = np.random.default_rng(3)
    return {
        "sex": random.choice(["f", "m"], 60).tolist(),
        "age": random.integers(20, 26, 60).tolist(),
        "born": [DAY] * 60,
        "w": random.uniform(10, 40, 60).tolist(),
        "note": ["=1+1"] * 60,
    }


@pytest.mark.parametrize("target", ["safe.xlsx", "safe.csv", "safe.parquet"])
@pytest.mark.filterwarnings(
    "ignore::riskcore.protection.records.showing.SuppressedValueShows"
)
def test_protect_from_a_workbook_and_to_another(target):
    formats.write("survey.xlsx", survey())
    result = riskcore.protect(
        "survey.xlsx", ["sex", "age"], "w", k=3, threshold=0.05, **ANY_LEAK
    )
    record = result.write(target, shuffle=True)
    assert record["output"]["formulas_guarded"] is False
    found = riskcore.check(target, record=f"{target}.private.json")
    assert found.passed
    if target != "safe.xlsx":
        return
    safe = read(target)
    assert sorted(safe["w"]) == sorted(survey()["w"])
    assert set(safe["note"]) == {"=1+1"}
    again = riskcore.protect("survey.xlsx", result.settings)
    again.write("again.xlsx", shuffle=True, secret=record["output"]["secret"])
    assert Path("again.xlsx").read_bytes() == Path(target).read_bytes()


@pytest.mark.filterwarnings(
    "ignore::riskcore.protection.records.showing.SuppressedValueShows"
)
def test_a_damaged_safe_workbook_is_seen(monkeypatch):
    formats.write("survey.xlsx", survey())
    result = riskcore.protect("survey.xlsx", ["sex", "age"], "w", k=2, **ANY_LEAK)
    whole = excel_writer.whole_number
    monkeypatch.setattr(
        excel_writer, "whole_number", lambda value: whole(99 if value == 21 else value)
    )
    with pytest.raises(ValueError, match="differs from the protected data: 'age' in"):
        result.write("safe.xlsx")
    assert not Path("safe.xlsx").exists()


def test_the_command(run, refused):
    formats.write("survey.xlsx", survey())
    line = "assess survey.xlsx --keys sex age --weight w"
    status, _, err = run(f"{line} --output risks.xlsx")
    assert (status, err) == (0, "")
    risks = read("risks.xlsx")
    assert len(risks["individual_risk"]) == 60
    assert run(f"{line} --sheet Data")[0] == 0
    assert "no sheet 'X'; there are 'Data'" in refused(f"{line} --sheet X")
    formats.write("risks.csv", {"sex": ["f"]})
    said = refused("assess risks.csv --keys sex --sheet X")
    assert "only Excel files have sheets" in said


def dated(path, serials, *, since_1904=False, form="yyyy-mm-dd"):
    book = openpyxl.Workbook()
    if since_1904:
        book.epoch = openpyxl.utils.datetime.MAC_EPOCH
    sheet = book.active
    sheet.append(["day", "time"])
    for row, serial in enumerate(serials, 2):
        sheet.append([serial, 0.25])
        sheet.cell(row, 1).number_format = form
        sheet.cell(row, 2).number_format = "h:mm"
    book.save(path)


@pytest.mark.parametrize(
    ("since_1904", "serials", "days"),
    [
        (False, [1, 59, 61], ["1900-01-01", "1900-02-28", "1900-03-01"]),
        (
            True,
            [0, 1, 59, 60],
            ["1904-01-01", "1904-01-02", "1904-02-29", "1904-03-01"],
        ),
    ],
)
def test_serial_numbers_of_dates(since_1904, serials, days):
    dated("a.xlsx", serials, since_1904=since_1904)
    table = formats.read("a.xlsx")
    assert [day.isoformat() for day in table["day"].to_pylist()] == days
    assert table["time"].to_pylist() == ["06:00:00"] * len(serials)


@pytest.mark.parametrize("form", ["yyyy-mm-dd", "d.m.yy h:mm", "mmm yy"])
@pytest.mark.parametrize("serial", [0, 0.5, 60, 60.75, -1, 2958466])
def test_days_that_there_were_not_are_missing(serial, form):
    dated("a.xlsx", [1, serial], form=form)
    with pytest.warns(DoubtfulDates, match=rf"read as missing: A3 \({serial}\)"):
        table = formats.read("a.xlsx")
    assert table["day"].to_pylist()[1:] == [None]
    assert table["day"].null_count == 1
