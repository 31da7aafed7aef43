"""Files of Stata: what is its own; `spss_stata_sas.py` reads and writes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from riskcore.data.files.labels import Labels
from riskcore.data.files.record_count import RecordCount, count_stata
from riskcore.data.files.spss_stata_sas import LabelledFile

_LONGEST_NAME, _LONGEST_LABEL = 32, 80
_NAME = re.compile(r"[^\W\d]\w*")
_RESERVED = frozenset((
    "_all", "_b", "byte", "_coef", "_cons", "double", "float", "if", "in", "int",
    "long", "_n", "_N", "_pi", "_pred", "_rc", "_skip", "strL", "using", "with",
))  # fmt: skip
_LABELLED = 2_147_483_620  # the largest whole number that may have a label
_TIME = b"01 Jan 1970 00:00"


class StataFile(LabelledFile):
    """A file of Stata."""

    kind = "stata"
    title = "Stata"
    suffixes = (".dta",)
    targets = (".dta",)
    reader, writer = "read_dta", "write_dta"
    epoch = -3653  # 1960-01-01
    ticks, day = 1000, 1
    dates = frozenset(("%td", "%d"))
    times = frozenset(("%tc",))
    date_format, time_format, whole_format = "%td", "%tc", "%12.0g"
    # Larger numbers are missing values: 2^1023 is ".".
    largest = float.fromhex("0x1.fffffffffffffp+1022")

    def count(self) -> RecordCount:
        """Return the number of records by the layout of the file."""
        return count_stata(self.path)

    @classmethod
    def check_names(cls, path: Path, names: list[str], *, own: bool) -> None:
        """Refuse names that are invalid in Stata."""
        for name in () if own else names:
            if (
                not _NAME.fullmatch(name)
                or len(name) > _LONGEST_NAME
                or name in _RESERVED
                or re.fullmatch(r"str\d+", name)
            ):
                raise ValueError(
                    f"{path}: column {name!r}: a name in Stata is a letter or _ and "
                    f"then letters, digits and _, of {_LONGEST_NAME} characters at "
                    "most, not a reserved word; rename it, or write .parquet"
                )

    @classmethod
    def describe(
        cls,
        labels: Labels,
        formats: Mapping[str, str],
        values: Mapping[str, Mapping[Any, str]],
    ) -> dict[str, Any]:
        """Return the options of the writer that describe the columns."""

        def can_have_label(code: Any) -> bool:
            is_number = not isinstance(code, str)
            return is_number and code == int(code) and abs(code) <= _LABELLED

        whole = {
            name: {int(code): own[code] for code in own if can_have_label(code)}
            for name, own in values.items()
        }
        return {
            "column_labels": {
                name: text[:_LONGEST_LABEL] for name, text in labels.variables.items()
            },
            "variable_value_labels": {name: own for name, own in whole.items() if own},
            "variable_format": dict(formats),
        }

    @classmethod
    def reset_time(cls, file: IO[bytes]) -> None:
        """Put the same time into every file."""
        with open(file.name, "rb") as written:
            begin = written.read(1024)
        mark = b"<timestamp>"
        place = begin.index(mark) + len(mark)
        if begin[place] != len(_TIME):
            raise ValueError("the header of the Stata file has an odd time")
        file.seek(place + 1)
        file.write(_TIME)
        file.flush()
        file.seek(0, 2)
