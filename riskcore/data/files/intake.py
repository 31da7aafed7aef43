"""How the lines of a file become records: counted twice, and shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from riskcore.common.words import counted
from riskcore.data.files.labels import Labels

# What the records of a file stand in: its name among the counts, and in words.
_PIECES = (
    ("row_groups", "row group", "row groups"),
    ("batches", "batch", "batches"),
    ("files", "file", "files"),
)


# What user-missing values are, by the name of their count.
_USER_MISSING = {
    "user_missing_missing": "taken as missing",
    "user_missing_kept": "kept as codes",
}


@dataclass(frozen=True, slots=True)
class Intake:
    """What the lines of a file, or its row groups or batches, have become.

    Every line is a record or something else that is counted here.

    Attributes
    ----------
    records : int
        Records read.
    lines : int or None
        Lines of a text file; None for Parquet and Arrow.
    names : int
        Lines that hold the names of the columns.
    empty : int
        Empty lines, which are no records.
    within : int
        Lines that continue a quoted field of the line before.
    broken_fields : int
        Quoted fields with line breaks.
    row_groups : int or None
        Row groups of a Parquet file.
    batches : int or None
        Batches of an Arrow file.
    files : int or None
        Files that were read as one.
    user_missing : int or None
        Of files of SPSS, Stata and SAS, the user-missing values in the columns read.
    codes_kept : bool
        Whether these are codes as others; else they are missing.
    labels : Labels or None
        What such a file says of its columns.
    """

    records: int
    lines: int | None = None
    names: int = 0
    empty: int = 0
    within: int = 0
    broken_fields: int = 0
    row_groups: int | None = None
    batches: int | None = None
    files: int | None = None
    user_missing: int | None = None
    codes_kept: bool = False
    labels: Labels | None = field(default=None, compare=False, repr=False)

    def check(self, path: Path, read: int) -> None:
        """Refuse a file of which records were lost on the way.

        Parameters
        ----------
        path : pathlib.Path
        read : int
            The records that came out.

        Raises
        ------
        ValueError
            If lines and records do not add up. It says what was counted.
        """
        parts = self.names + self.records + self.empty + self.within
        if read != self.records or (self.lines is not None and parts != self.lines):
            raise ValueError(
                f"{path}: records were lost in reading. The file holds {self}; "
                f"{read:,} records came out. Nothing was done with them; please "
                "report this as a defect of riskcore"
            )

    def to_dict(self) -> dict[str, int]:
        """Return the counts that this kind of file has."""
        counts: dict[str, int] = {}
        if self.lines is not None:
            counts = {
                "lines": self.lines,
                "lines_of_names": self.names,
                "empty_lines": self.empty,
                "lines_within_fields": self.within,
                "fields_with_line_breaks": self.broken_fields,
            }
        if self.row_groups is not None:
            counts["row_groups"] = self.row_groups
        if self.batches is not None:
            counts["batches"] = self.batches
        if self.files is not None:
            counts["files"] = self.files
        if self.user_missing is not None:
            kept = "kept" if self.codes_kept else "missing"
            counts[f"user_missing_{kept}"] = self.user_missing
        return {**counts, "records": self.records}

    def __str__(self) -> str:
        return intake_text(self.to_dict())


def intake_text(counts: dict[str, Any]) -> str:
    """Return the counts of `Intake.to_dict` as a line of text."""
    records = counted(counts["records"], "record")
    if "lines" not in counts:
        pieces = [
            counted(counts[name], noun, plural)
            for name, noun, plural in _PIECES
            if name in counts
        ]
        for name, rule in _USER_MISSING.items():
            if name in counts:
                what = counted(counts[name], "user-missing value")
                return f"{records}; {what}, {rule}"
        return f"{records} in {' of '.join(pieces)}" if pieces else records
    parts = [f"{counts['lines_of_names']:,} of names"] * (counts["lines_of_names"] > 0)
    parts.append(records)
    if counts["empty_lines"]:
        parts.append(f"{counts['empty_lines']:,} empty")
    if counts["lines_within_fields"]:
        fields = counted(counts["fields_with_line_breaks"], "field")
        parts.append(f"{counts['lines_within_fields']:,} within {fields}")
    return f"{counted(counts['lines'], 'line')}: {', '.join(parts)}"
