"""Write a table as a workbook of Excel, the same bytes each time.

Text is written as text, never as a formula: a cell of inline text is not parsed.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import IO, Any

from riskcore.data.files.arrow import decoded, import_pyarrow, is_text

_MOST_ROWS, _MOST_COLUMNS, _LONGEST = 1 << 20, 1 << 14, 32_767
_LARGEST_WHOLE = 2**53
_FIRST = datetime(1900, 3, 1)  # before it, Excel has a day that there was not
_ZERO = datetime(1899, 12, 30)
_DAY_MS = 86_400_000
_SOURCE = (1980, 1, 1, 0, 0, 0)  # the time of every part
_ROWS = 1 << 12  # records written at a time
# Characters that XML 1.0 cannot hold, and what Excel takes for an escape.
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
ESCAPE = re.compile("_x[0-9A-Fa-f]{4}_")
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
    '<Override PartName="/xl/worksheets/sheet1.xml" '
    f'ContentType="{_TYPE}.worksheet+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{_TYPE}.styles+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_RELATIONS}/officeDocument" '
    'Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_RELATIONS}">'
    '<sheets><sheet name="Data" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_RELATIONS}/worksheet" '
    'Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="rId2" Type="{_RELATIONS}/styles" Target="styles.xml"/>'
    "</Relationships>",
    "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}">'
    '<numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/>'
    '<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/></numFmts>'
    '<fonts count="1"><font/></fonts><fills count="2">'
    '<fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills>'
    '<borders count="1"><border><left/><right/><top/><bottom/>'
    "<diagonal/></border></borders>"
    '<cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="3"><xf/>'
    '<xf numFmtId="164" applyNumberFormat="1"/>'
    '<xf numFmtId="165" applyNumberFormat="1"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/>'
    "</cellStyles></styleSheet>",
}
_DATE, _TIME = 1, 2  # the formats above


def write_workbook(table: Any, file: IO[bytes], path: Path) -> None:
    """Write a table into an open file, for messages at the path."""
    if table.num_rows >= _MOST_ROWS or table.num_columns > _MOST_COLUMNS:
        raise ValueError(
            f"{path}: {table.num_rows:,} records and {table.num_columns:,} columns: "
            f"Excel has {_MOST_ROWS - 1:,} and {_MOST_COLUMNS:,}; write .csv or "
            ".parquet"
        )
    columns, writers = [], []
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            columns.append(decoded(column))
            writers.append(_writer_of(columns[-1].type))
            check_text(name)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{path}: column {name!r} {error}") from None
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, text in _PARTS.items():
            archive.writestr(_info(part), f"{_XML}{text}")
        with archive.open(_info("xl/worksheets/sheet1.xml"), "w") as sheet:
            # Without a stated size, openpyxl reads a sheet twice.
            last = f"{letters_of(table.num_columns)}{table.num_rows + 1}"
            size = f'<dimension ref="A1:{last}"/>'
            sheet.write(f'{_XML}<worksheet xmlns="{_MAIN}">{size}<sheetData>'.encode())
            sheet.write(_row([_inline(name) for name in table.column_names]))
            for begin in range(0, table.num_rows, _ROWS):
                cells = [
                    _cells(path, name, column.slice(begin, _ROWS), writer)
                    for name, column, writer in zip(
                        table.column_names, columns, writers, strict=True
                    )
                ]
                rows = list(zip(*cells, strict=True))
                if "" in map("".join, rows):
                    raise ValueError(
                        f"{path}: all values of some records are missing, and would "
                        "be empty rows; write .parquet, or drop fewer columns"
                    )
                sheet.write(b"".join(map(_row, rows)))
            sheet.write(b"</sheetData></worksheet>")


def _info(name: str) -> zipfile.ZipInfo:
    """Return a part of the archive, with the same time in every file."""
    info = zipfile.ZipInfo(name, _SOURCE)
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def _row(cells: Any) -> bytes:
    """Return a row; an empty cell has a place of its own."""
    return f"<row>{''.join(cell or '<c/>' for cell in cells)}</row>".encode()


def _cells(
    path: Path, name: str, column: Any, writer: Callable[[Any], str]
) -> list[str]:
    """Return the cells of some values, empty text for a missing one."""
    try:
        return ["" if value is None else writer(value) for value in column.to_pylist()]
    except (TypeError, ValueError) as error:
        raise type(error)(f"{path}: column {name!r} {error}") from None


def _writer_of(kind: Any) -> Callable[[Any], str]:
    """Return the function that writes values of a type as cells."""
    types = import_pyarrow().types
    zoned = types.is_timestamp(kind) and kind.tz is not None
    for fits, writer in (
        (is_text, _text),
        (types.is_null, str),
        (types.is_boolean, lambda value: f'<c t="b"><v>{int(value)}</v></c>'),
        (types.is_integer, whole_number),
        (types.is_floating, _number),
        (types.is_date, lambda value: _moment(value, _DATE)),
        (types.is_timestamp, lambda value: _moment(value, _TIME)),
    ):
        if fits(kind) and not zoned:
            return writer
    raise TypeError(
        f"of {kind} cannot be written as Excel; write .parquet, or leave the column out"
    )


def _text(value: str) -> str:
    check_text(value)
    return _inline(value) if value else ""


def _inline(text: str) -> str:
    """Return a cell of text."""
    for mark, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\r", "&#13;")):
        text = text.replace(mark, entity)
    return f'<c t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'


def check_text(text: str) -> None:
    """Refuse text that a workbook cannot hold unchanged."""
    if len(text) > _LONGEST:
        raise ValueError(f"has text of more than {_LONGEST:,} characters")
    if _ILLEGAL.search(text):
        raise ValueError(
            "has text with control characters, which Excel cannot hold; recode it, or "
            "write .parquet"
        )
    if ESCAPE.search(text):
        raise ValueError(
            f"has text with {ESCAPE.search(text)[0]!r}, which Excel reads as one "  # type: ignore[index]
            "character; recode it, or write .parquet"
        )


def whole_number(value: int) -> str:
    """Return the text of a whole number that Excel keeps."""
    if abs(value) > _LARGEST_WHOLE:
        raise ValueError(
            "has whole numbers beyond 2^53, which Excel rounds; write .csv"
        )
    return f"<c><v>{value}</v></c>"


def _number(value: float) -> str:
    if value != value:
        return ""
    if value in (float("inf"), float("-inf")):
        raise ValueError("has infinite numbers, which Excel cannot hold")
    return f"<c><v>{value!r}</v></c>"


def _moment(value: date, style: int) -> str:
    """Return a cell with a date or a time, as days since 1899-12-30."""
    moment = datetime(value.year, value.month, value.day)
    if isinstance(value, datetime):
        moment = value.replace(tzinfo=None)
    if moment < _FIRST:
        raise ValueError("has dates before 1900-03-01, which Excel counts wrongly")
    since = moment - _ZERO
    micro = (since.seconds * 1_000_000) + since.microseconds
    if micro % 1000:
        raise ValueError(
            "has times of microseconds, which Excel rounds; write .parquet"
        )
    days = since.days if not micro else since.days + micro // 1000 / _DAY_MS
    return f'<c s="{style}"><v>{days!r}</v></c>'


def letters_of(number: int) -> str:
    """Return the letters of a column, from 1."""
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters
