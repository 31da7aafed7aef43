"""The form that says how a survey file is read."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from riskcore.app.forms import Form
from riskcore.data.files.read_settings import Codes
from riskcore.data.files.reading import Reading

DELIMITERS = {"": "", "comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
ENCODINGS = (
    "utf-8", "cp1252", "latin-1", "iso8859-15", "cp1250", "cp1251", "cp1253", "cp1254",
    "utf-16", "cp932", "gbk", "cp949",
)  # fmt: skip
_FILES = ("metadata", "household_file")


def fields_of(reading: Reading) -> dict[str, Any]:
    """Return the fields of the form for a reading."""
    plain = reading.to_dict()
    names = {mark: name for name, mark in DELIMITERS.items()}
    mark = plain["delimiter"] or ""
    codes = [
        f"{name}={code}" if name or "=" in code else code
        for name, of_column in plain["missing_codes"].items()
        for code in of_column
    ]
    return {
        **{name: "" if value is None else value for name, value in plain.items()},
        "delimiter": names.get(mark, mark),
        "missing_codes": shlex.join(codes),
        "household_id": shlex.join(plain["household_id"] or ()),
    }


def values(fields: Mapping[str, Any], sheets: Sequence[str] = ()) -> dict[str, Any]:
    """Return what the form shows."""
    return {
        "reading": fields,
        "sheets": sheets,
        "delimiters": DELIMITERS,
        "encodings": ENCODINGS,
    }


def reading_of(form: Form, path: Callable[[str], Path]) -> Reading:
    """Return the reading that a form asks for; ``path`` finds the files it names."""
    codes = [word.rstrip(",;") for word in _words(form.text("missing_codes"))]
    mark = form.text("delimiter")
    names = {name: form.text(name) for name in _FILES}
    file, colon, ids = names["household_file"].partition(":")
    files: Mapping[str, Any] = {
        "metadata": path(names["metadata"]) if names["metadata"] else None,
        "household_file": f"{path(file)}{colon}{ids}" if file else None,
    }
    return Reading(
        encoding=form.text("encoding") or "utf-8",
        delimiter=DELIMITERS.get(mark, mark) or None,
        decimal=form.text("decimal") or ".",
        missing_codes=Codes(help="").value("", [code for code in codes if code], ()),
        user_missing=form.text("user_missing") or "missing",
        sheet=form.text("sheet") or None,
        weight_scale=form.number("weight_scale") if form.has("weight_scale") else None,
        household_id=_words(form.text("household_id")) or None,
        **files,
    )


def _words(text: str) -> list[str]:
    """Return the words of a field; quotes hold blanks together."""
    try:
        return shlex.split(text)
    except ValueError:
        raise ValueError(f"{text!r}: a quotation mark is not closed") from None
