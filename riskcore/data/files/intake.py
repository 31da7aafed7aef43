"""Account for the lines of a file that become records."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from riskcore.common.words import counted
from riskcore.data.files.labels import Labels

# Parts of a file that hold records: their name among the counts, and in words.
_PIECES = (
    ("row_groups", "row group", "row groups"),
    ("batches", "batch", "batches"),
    ("files", "file", "files"),
)

# What happened to user-missing values, by the name of their count.
_USER_MISSING = {
    "user_missing_missing": "taken as missing",
    "user_missing_kept": "kept as codes",
}


class DoubtfulDates(UserWarning):
    """A column has the format of dates, but not all its values are dates."""


@dataclass(frozen=True, slots=True)
class Intake:
    """The account of the lines of a file, or of its row groups or batches.

    Every line is a record or counted as something else.

    Attributes
    ----------
    records : int
        Records read.
    lines : int or None
        Lines of a text file; None for Parquet and Arrow.
    names : int
        Lines that hold the names of the columns.
    empty : int
        Empty lines, which are not records.
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
        User-missing values in the columns read, of files of SPSS, Stata and SAS.
    codes_kept : bool
        Whether they are kept as codes; otherwise they are missing.
    labels : Labels or None
        The labels of such a file.
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
        """Refuse a file whose lines and records, ``read`` of them, do not add up."""
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
        for name, *_ in _PIECES:
            if (count := getattr(self, name)) is not None:
                counts[name] = count
        if self.user_missing is not None:
            kept = "kept" if self.codes_kept else "missing"
            counts[f"user_missing_{kept}"] = self.user_missing
        return {**counts, "records": self.records}

    def __str__(self) -> str:
        return intake_text(self.to_dict())


# The columns of a file, as a table or a dict, and the account of its lines.
Accounted: TypeAlias = tuple[Any, Intake]


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
    names = counts["lines_of_names"]
    header = "a header" if names == 1 else f"a header of {names:,} lines"
    parts = [header] * (names > 0)
    parts.append(records)
    if counts["empty_lines"]:
        parts.append(f"{counts['empty_lines']:,} empty")
    if counts["lines_within_fields"]:
        fields = counted(counts["fields_with_line_breaks"], "field")
        parts.append(f"{counts['lines_within_fields']:,} within {fields}")
    return f"{counted(counts['lines'], 'line')}: {', '.join(parts)}"
