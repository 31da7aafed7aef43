"""Files of SPSS: what is its own; `spss_stata_sas.py` reads and writes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from riskcore.data.files.base_format import suffix_of
from riskcore.data.files.labels import Labels
from riskcore.data.files.record_count import RecordCount, count_spss
from riskcore.data.files.spss_stata_sas import LabelledFile

_LONGEST_TEXT, _LONGEST_NAME = 32_767, 64
_LONGEST_LABEL, _LONGEST_VALUE_LABEL = 256, 120
_NAME = re.compile(r"[^\W\d_][\w.$#@]*")
_RESERVED = frozenset(
    ("ALL", "AND", "BY", "EQ", "GE", "GT", "LE", "LT", "NE", "NOT", "OR", "TO", "WITH")
)
_TIME = 92, b"01 Jan 7000:00:00"  # the place of date and time in the header


class SpssFile(LabelledFile):
    """A file of SPSS, compressed or not."""

    kind = "spss"
    title = "SPSS"
    suffixes = (".sav", ".zsav")
    targets = (".sav", ".zsav")
    reader, writer = "read_sav", "write_sav"
    epoch = -141_428  # 1582-10-14
    ticks, day = 1, 86_400
    dates = frozenset(
        ("DATE", "ADATE", "EDATE", "SDATE", "JDATE", "QYR", "MOYR", "WKYR")
    )
    times = frozenset(["DATETIME", "YMDHMS"])
    date_format, time_format, whole_format = "DATE11", "DATETIME23.2", "F8.0"
    # The least double is SPSS's own missing value, the next its LOWEST.
    largest = float.fromhex("0x1.ffffffffffffdp+1023")

    def count(self) -> RecordCount:
        """Return the number of records by the layout of the file."""
        return count_spss(self.path)

    @classmethod
    def packing(cls, path: Path) -> dict[str, Any]:
        """Return the options of the writer that set the compression of a file."""
        zipped = suffix_of(path)[0] == ".zsav"
        return {"compress": True} if zipped else {"row_compress": True}

    @classmethod
    def check_names(cls, path: Path, names: list[str], *, own: bool) -> None:
        """Refuse names that are invalid in SPSS, or differ only in case."""
        seen: dict[str, str] = {}
        for name in names:
            other = seen.setdefault(name.upper(), name)
            if other != name:
                raise ValueError(
                    f"{path}: columns {other!r} and {name!r} differ only in case, "
                    "which SPSS ignores; rename one, or write .parquet"
                )
            if own:
                continue
            if (
                not _NAME.fullmatch(name)
                or len(name.encode()) > _LONGEST_NAME
                or name.upper() in _RESERVED
            ):
                raise ValueError(
                    f"{path}: column {name!r}: a name in SPSS is a letter and then "
                    f"letters, digits and any of . _ $ # @, of {_LONGEST_NAME} bytes "
                    "at most, not a reserved word; rename it, or write .parquet"
                )

    @classmethod
    def check_text(cls, text: str) -> None:
        """Refuse text that SPSS would cut."""
        super().check_text(text)
        if text.endswith(" "):
            raise ValueError(
                "has text that ends with a blank, which SPSS removes; recode it, or "
                "write .parquet"
            )
        if len(text.encode()) > _LONGEST_TEXT:
            raise ValueError(f"has text of more than {_LONGEST_TEXT:,} bytes")

    @classmethod
    def describe(
        cls,
        labels: Labels,
        formats: Mapping[str, str],
        values: Mapping[str, Mapping[Any, str]],
    ) -> dict[str, Any]:
        """Return the options of the writer that describe the columns."""

        def code_of(code: Any) -> Any:
            return code if isinstance(code, str) else float(code)

        return {
            "column_labels": _cut(labels.variables, _LONGEST_LABEL),
            "variable_value_labels": {
                name: _cut(
                    {code_of(code): text for code, text in own.items()},
                    _LONGEST_VALUE_LABEL,
                )
                for name, own in values.items()
                if own
            },
            "missing_ranges": {
                name: [
                    low if isinstance(low, str) else {"lo": low, "hi": high}
                    for low, high in ranges
                ]
                for name, ranges in labels.missing.items()
            },
            "variable_measure": dict(labels.measures),
            "variable_format": dict(formats),
        }

    @classmethod
    def reset_time(cls, file: IO[bytes]) -> None:
        """Put the same time into every file."""
        place, time = _TIME
        file.seek(place)
        file.write(time)
        file.flush()
        file.seek(0, 2)


def _cut(labels: Mapping[Any, str], longest: int) -> dict[Any, str]:
    """Return labels cut to a number of bytes, between letters."""
    return {
        name: text.encode()[:longest].decode(errors="ignore")
        for name, text in labels.items()
    }
