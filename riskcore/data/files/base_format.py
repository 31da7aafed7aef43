"""The base class of the file formats, listed in `riskcore.data.files.formats.FORMATS`.

The class says which paths are its own and writes files; an instance is a file that is
read. A new format is such a class in a file of its own, and a line in ``FORMATS``. It
derives from `riskcore.data.files.arrow.ArrowFormat` if Arrow can hold its data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

from riskcore.common.missing_column import no_such_column
from riskcore.common.needs import need
from riskcore.common.progress import Parts
from riskcore.data.files.argus.metadata import Metadata
from riskcore.data.files.intake import Accounted, Intake
from riskcore.data.files.labels import Labels
from riskcore.data.files.reading import Reading
from riskcore.data.files.replace import Create

# Options that not all formats have, and the files that have them.
_OF_SOME = {
    "delimiter": "a CSV has a delimiter",
    "decimal": "CSV and Excel files have a decimal mark",
    "sheet": "Excel files have sheets",
    "user_missing": "files of SPSS, Stata and SAS have user-missing codes",
}


@dataclass(frozen=True, slots=True)
class Header:
    """The columns of a file, read before any record."""

    names: tuple[str, ...]
    # The columns that a mu-Argus file declares as such.
    weight: str | None = None
    household_id: str | None = None
    of_households: tuple[str, ...] = ()  # the columns of a household file


@dataclass(frozen=True, slots=True)
class Format:
    """How a file is written, so that another can be written like it."""

    kind: str  # of the class of its format
    # Of CSV files; "utf-8-sig" is UTF-8 with a byte order mark.
    delimiter: str = ","
    encoding: str = "utf-8"
    path: Path | None = None
    metadata: Metadata | None = None  # of mu-Argus files
    # The codes of all columns that were read as missing where they stood without
    # quotes: in a CSV file a value that equals one of them is quoted.
    missing_codes: tuple[str, ...] = ()
    labels: Labels | None = None  # of files of SPSS, Stata and SAS
    files: tuple[Path, ...] = ()  # the files of the data, if there are several
    # Whether CSV files get an apostrophe before text that a spreadsheet would take for
    # a formula: see `riskcore.data.files.formulas`.
    guard_formulas: bool = False
    joined: Any = None  # the `riskcore.data.files.joined.JoinedFile`, if it is one

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that are read, including metadata files."""
        if self.files:
            return self.files
        paths = (self.path, None if self.metadata is None else self.metadata.path)
        return tuple(path for path in paths if path is not None)

    def csv_at(self, path: Path) -> tuple[str, bool]:
        """Return the delimiter of a CSV file at a path, and whether it is gzipped."""
        suffix, gzipped = suffix_of(path)
        return "\t" if suffix == ".tsv" else self.delimiter, gzipped


@dataclass(frozen=True, slots=True, eq=False)
class StoredRecords:
    """The records of Parquet files, to be read as often as they are asked for."""

    path: Path
    schema: Any  # of pyarrow, with all columns
    intake: Intake
    # In order, with the columns and values that are not in a file.
    files: Sequence[tuple[Path, Mapping[str, str | None]]]
    refuse_changed: Callable[[], None] = lambda: None


class Recoded(Protocol):
    """The attributes of `riskcore.Recoding` that writers use."""

    @property
    def missing_codes(self) -> tuple[str, ...]:
        """New codes of missing values; empty if the old ones stay."""

    @property
    def codelist(self) -> str | None:
        """Name of the file with the labels of the new codes."""


class Writing(NamedTuple):
    """How columns are written, as by `riskcore.data.files.formats.write`."""

    like: Format | None = None
    recodings: Mapping[str, Recoded] | None = None
    progress: Parts | None = None
    renumbered: Collection[str] = ()


class FileFormat(ABC):
    """A file format; an instance is a file of this format, to be read."""

    kind: ClassVar[str]  # its name in `Format`
    title: ClassVar[str]  # its name in messages
    suffixes: ClassVar[tuple[str, ...]]  # of such files, in lower case
    # Suffixes of the files that can be written from data of any format.
    targets: ClassVar[tuple[str, ...]] = ()
    # For messages: other files that can be written from data of this format.
    own_targets: ClassVar[str] = ""
    libraries: ClassVar[tuple[str, ...]] = ()  # that files need; then what writing adds
    to_write: ClassVar[tuple[str, ...]] = ()
    # Whether numbers and missing values are stored as such, so that a column that is
    # written keeps its type. Otherwise all is text.
    typed: ClassVar[bool] = False
    labelled: ClassVar[bool] = False  # whether files have labels and user-missing codes
    streamed: ClassVar[bool] = (
        False  # whether any table can be written a part at a time
    )
    # Options of reading that not all formats have.
    read_by: ClassVar[tuple[str, ...]] = ()
    # Whether a file is written field by field from its source, in the order of the
    # source, and not from the columns alone.
    beside_source: ClassVar[bool] = False

    # --- which paths are its own ---

    @classmethod
    def is_meant(cls, reading: Reading) -> bool:
        """Tell whether the reading asks for this format, whatever the suffix."""
        return False

    @classmethod
    def is_named(cls, path: Path) -> bool:
        """Tell whether the suffix belongs to this format and to no other."""
        suffix, gzipped = suffix_of(path)
        return suffix in cls.suffixes and not gzipped

    @classmethod
    def is_likely(cls, path: Path) -> bool:
        """Tell whether a file that no format knows by its suffix has this format."""
        return False

    @classmethod
    def is_many(cls, path: Path) -> bool:
        """Tell whether a path stands for several files of this format."""
        return False

    @classmethod
    def would_hold(cls, path: Path, target: Path) -> bool:
        """Tell whether a file written to a target would be one of the path's files."""
        return False

    @classmethod
    def is_target(cls, path: Path, like: Format | None) -> bool:
        """Tell whether a file to be written has this format; refuse it if unlike."""
        return bool(cls.targets) and cls.is_named(path)

    # --- reading ---

    def __init__(self, path: Path, reading: Reading) -> None:
        self.path = path
        self.reading = reading

    def fitting(self) -> Reading:
        """Return the reading without the options that this file cannot have."""
        lacking = {x for x in _OF_SOME if x not in self.read_by}
        if suffix_of(self.path)[0] == ".tsv":
            lacking.add("delimiter")
        if self.reading.sheet is not None and self.reading.sheet not in self.sheets():
            lacking.add("sheet")
        reading = replace(self.reading, **{x: getattr(Reading, x) for x in lacking})
        if reading.columns or reading.household_id:
            names = ("", *type(self)(self.path, reading).header.names)
            if not {*names}.issuperset(reading.household_id or ()):
                reading = replace(reading, household_id=None)
            codes = {x: reading.codes(x) for x in ("", *reading.columns) if x in names}
            reading = replace(reading, missing_codes=codes)
        return reading

    def sheets(self) -> Sequence[str]:
        """Return the names of the sheets."""
        return ()

    @cached_property
    def header(self) -> Header:
        """The columns of the file."""
        self.check_reading()
        return self.read_header()

    def check_reading(self) -> None:
        """Refuse files whose libraries are missing, and options of other formats."""
        need(f"{self.title} files", *self.libraries)
        for name, what in _OF_SOME.items():
            idle = getattr(self.reading, name) == getattr(Reading, name)
            if name not in self.read_by and not idle:
                article = "an" if self.title[:2] in ("Ar", "Ex", "SA", "SP") else "a"
                raise ValueError(
                    f"{self.path}: {article} {self.title} file; only {what}"
                )

    @abstractmethod
    def read_header(self) -> Header:
        """Read the names of the columns."""

    def format(self) -> Format:
        """Return how the file is written."""
        codes = self.reading.codes()
        return Format(self.kind, path=self.path, missing_codes=codes)

    def read(
        self,
        columns: Sequence[str] | None = None,
        *,
        numeric: Iterable[str] = (),
        text: bool = False,
        progress: Parts | None = None,
    ) -> Accounted:
        """Return columns as `riskcore.data.files.formats.read`, and the account."""
        names = self.header.names
        columns = list(names if columns is None else dict.fromkeys(columns))
        numbers = set(numeric)
        header_names = set(names)
        for use, wanted in (
            ("", dict.fromkeys([*columns, *sorted(numbers)])),
            ("missing codes: ", self.reading.columns),
        ):
            lacking = [name for name in wanted if name not in header_names]
            if lacking:
                raise no_such_column(lacking, names, self.path, use)
        return self.read_columns(columns, numbers, text=text, progress=progress)

    @abstractmethod
    def read_columns(
        self,
        columns: list[str],
        numeric: Collection[str],
        *,
        text: bool,
        progress: Parts | None,
    ) -> Accounted:
        """Read columns that the file has; `read` has checked them."""

    def numbers(self, name: str, data: Any) -> Any:
        """Return as numbers a column of the data that `read` returned as text."""
        return self.read([name], numeric=[name])[0][name]

    def stored(self) -> StoredRecords | None:
        """Return the records as stored; None if such files are read at once."""
        return None

    # --- writing ---

    @classmethod
    def files_written(cls, path: Path) -> tuple[Path, ...]:
        """Return the files that `write` makes."""
        return (path,)

    @classmethod
    def streams(cls, schema: Any) -> bool:
        """Tell whether a table of this schema can be written a part at a time."""
        return cls.streamed

    @classmethod
    @abstractmethod
    def check_target(cls, path: Path) -> None:
        """Refuse a path that could not be written or read again."""

    @classmethod
    @abstractmethod
    def write(cls, path: Path, columns: Any, create: Create, how: Writing) -> None:
        """Write a file; see `riskcore.data.files.formats.write`, which calls this."""


def suffix_of(path: Path) -> tuple[str, bool]:
    """Return the suffix in lower case, and whether ``.gz`` follows it."""
    gzipped = path.suffix.lower() == ".gz"
    return (path.with_suffix("") if gzipped else path).suffix.lower(), gzipped


def distinct(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns; refuse duplicates."""
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ValueError(f"{path}: column names given twice: {', '.join(twice)}")
    return tuple(names)
