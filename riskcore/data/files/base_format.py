"""What a format of files is: one class each, in `riskcore.data.files.formats.FORMATS`.

The class tells which paths are its own and writes files; an instance is a file that is
read. A new format is such a class in a file of its own, a line in ``FORMATS``, and in
`riskcore.protection.release.readback` a way to read its files back by other code. If
Arrow can hold what is in the files, it derives from
`riskcore.data.files.arrow.ArrowFormat`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol

from riskcore.common.missing_column import no_such_column
from riskcore.common.progress import Parts
from riskcore.data.files.argus.metadata import Metadata
from riskcore.data.files.intake import Intake
from riskcore.data.files.labels import Labels
from riskcore.data.files.reading import Reading
from riskcore.data.files.replace import Create


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says of its columns before any record is read.

    Attributes
    ----------
    names : tuple of str
    weight, household_id : str or None
        The columns that the file declares as such: those of mu-Argus can.
    """

    names: tuple[str, ...]
    weight: str | None = None
    household_id: str | None = None


@dataclass(frozen=True, slots=True)
class Format:
    """How a file is written, so that another can be written like it.

    Attributes
    ----------
    kind : str
        The format, by the name that its class has.
    delimiter, encoding : str
        Of CSV files; "utf-8-sig" is UTF-8 with a byte order mark.
    path : pathlib.Path or None
        The file.
    metadata : Metadata or None
        Of mu-Argus files.
    files : tuple of pathlib.Path
        The files of which the data consist, if the path is not that of one.
    missing_codes : tuple of str
        The codes of all columns that were read as missing where they stood without
        quotes: in a CSV a value that equals one needs them.
    labels : Labels or None
        Of files of SPSS, Stata and SAS.
    guard_formulas : bool
        Whether an apostrophe is written before text that a spreadsheet would take for
        a formula: see `riskcore.data.files.formulas`. Only CSV files can have it.
    """

    kind: str
    delimiter: str = ","
    encoding: str = "utf-8"
    path: Path | None = None
    metadata: Metadata | None = None
    missing_codes: tuple[str, ...] = ()
    labels: Labels | None = None
    files: tuple[Path, ...] = ()
    guard_formulas: bool = False

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that are read: the file or files, and that of the metadata."""
        if self.files:
            return self.files
        paths = (self.path, None if self.metadata is None else self.metadata.path)
        return tuple(path for path in paths if path is not None)

    def csv_at(self, path: Path) -> tuple[str, bool]:
        """Return the delimiter of a CSV file there, and whether it is packed."""
        suffix, gzipped = suffix_of(path)
        return "\t" if suffix == ".tsv" else self.delimiter, gzipped


@dataclass(frozen=True, slots=True, eq=False)
class RecordBatches:
    """The records of a file, a batch at a time, as often as they are asked for.

    Attributes
    ----------
    path : pathlib.Path
    schema : pyarrow.Schema
        The names and types of all columns.
    intake : Intake
        The account of the records.
    read : callable
        Yields batches of Arrow with the columns of a list of names, in its order.
    """

    path: Path
    schema: Any
    intake: Intake
    read: Callable[[list[str]], Iterator[Any]]


class Recoded(Protocol):
    """What a writer must know of a recoded variable: `riskcore.Recoding` has it."""

    @property
    def missing_codes(self) -> tuple[str, ...]:
        """New codes of missing values; empty if they stay."""

    @property
    def codelist(self) -> str | None:
        """Name of the file with the labels of the new codes."""


class FileFormat(ABC):
    """A format of files. An instance is a file of this format that is read.

    Parameters
    ----------
    path : pathlib.Path
        A file that exists and may be read.
    reading : Reading
        How to read it.

    Attributes
    ----------
    kind : str
        Its name in `Format`.
    title : str
        Its name in messages.
    suffixes : tuple of str
        Suffixes of such files, in lower case.
    targets : tuple of str
        Suffixes of the files that can be written from data of any format.
    own_targets : str
        What else can be written from data of this format, for a message.
    typed : bool
        Whether files hold numbers as numbers and missing values as such, so that a
        column written has the type it had. Otherwise all is text.
    labelled : bool
        Whether files have labels and user-missing codes.
    beside_source : bool
        Whether a file is written field by field beside its source, in the order of
        that, and not from the columns alone.
    """

    kind: ClassVar[str]
    title: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    targets: ClassVar[tuple[str, ...]] = ()
    own_targets: ClassVar[str] = ""
    typed: ClassVar[bool] = False
    labelled: ClassVar[bool] = False
    beside_source: ClassVar[bool] = False

    # --- which paths are its own ---

    @classmethod
    def is_meant(cls, reading: Reading) -> bool:
        """Tell whether the reading asks for this format, whatever the suffix."""
        return False

    @classmethod
    def is_named(cls, path: Path) -> bool:
        """Tell whether the suffix is that of this format and of no other."""
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
        """Tell whether a file written there would be one of those of a path."""
        return False

    @classmethod
    def is_target(cls, path: Path, like: Format | None) -> bool:
        """Tell whether a file to be written there, like another, has this format.

        Raises
        ------
        ValueError
            If it would have it, but cannot be written from data of another format.
        """
        return bool(cls.targets) and cls.is_named(path)

    # --- reading ---

    def __init__(self, path: Path, reading: Reading) -> None:
        self.path = path
        self.reading = reading

    @cached_property
    def header(self) -> Header:
        """What the file says of its columns.

        Raises
        ------
        ImportError, OSError, ValueError
            If it cannot be read, or not in the way asked for.
        """
        self.check_reading()
        return self.read_header()

    def check_reading(self) -> None:
        """Refuse options of reading that files of this format do not have."""
        reading = self.reading
        if reading.delimiter is not None or reading.decimal != ".":
            what = "decimal mark" if reading.delimiter is None else "delimiter"
            raise ValueError(
                f"{self.path}: a {self.title} file; only a CSV has a {what}"
            )
        if reading.user_missing != "missing" and not self.labelled:
            raise ValueError(
                f"{self.path}: a {self.title} file; only files of SPSS, Stata and SAS "
                "have user-missing codes"
            )

    @abstractmethod
    def read_header(self) -> Header:
        """Read what the file says of its columns."""

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
    ) -> tuple[Any, Intake]:
        """Return columns, and the account of the records.

        See `riskcore.data.files.formats.read`, which calls this.
        """
        names = self.header.names
        columns = list(names if columns is None else dict.fromkeys(columns))
        numbers = set(numeric)
        known = set(names)
        for use, wanted in (
            ("", dict.fromkeys([*columns, *sorted(numbers)])),
            ("missing codes: ", self.reading.columns),
        ):
            lacking = [name for name in wanted if name not in known]
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
    ) -> tuple[Any, Intake]:
        """Read columns that the file has: its part of `read`."""

    def numbers(self, name: str, data: Any) -> Any:
        """Return a column as numbers, of the data that `read` gave as text."""
        return self.read([name], numeric=[name])[0][name]

    def batches(self) -> RecordBatches | None:
        """Return the records as stored, in batches; None if files are read whole."""
        return None

    # --- writing ---

    @classmethod
    def files_written(cls, path: Path) -> tuple[Path, ...]:
        """Return the files that `write` makes."""
        return (path,)

    @classmethod
    def streams(cls, schema: Any) -> bool:
        """Tell whether a table of this schema can be written a part at a time."""
        return False

    @classmethod
    @abstractmethod
    def check_target(cls, path: Path) -> None:
        """Refuse a path that could not be written or read again.

        Raises
        ------
        ImportError, ValueError
        """

    @classmethod
    @abstractmethod
    def write(
        cls,
        path: Path,
        columns: Any,
        create: Create,
        *,
        like: Format | None,
        recodings: Mapping[str, Recoded] | None,
        progress: Parts | None,
        renumbered: Collection[str],
    ) -> None:
        """Write a file; see `riskcore.data.files.formats.write`, which calls this."""


def suffix_of(path: Path) -> tuple[str, bool]:
    """Return the suffix in lower case, and whether ``.gz`` follows it."""
    gzipped = path.suffix.lower() == ".gz"
    return (path.with_suffix("") if gzipped else path).suffix.lower(), gzipped


def distinct(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns, none of which may stand twice."""
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ValueError(f"{path}: column names given twice: {', '.join(twice)}")
    return tuple(names)
