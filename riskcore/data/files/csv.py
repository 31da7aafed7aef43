"""CSV files: read by Arrow, while `csv_scan` accounts for every line."""

from __future__ import annotations

import codecs
import csv
import functools
import gzip
import io
import itertools
import re
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from riskcore.common.progress import Parts
from riskcore.common.warn import warn
from riskcore.common.words import counted
from riskcore.data.files.arrow import ArrowFormat, import_pyarrow
from riskcore.data.files.base_format import Format, Header, Writing, distinct, suffix_of
from riskcore.data.files.csv_scan import Scan
from riskcore.data.files.csv_writer import write_csv
from riskcore.data.files.intake import Accounted
from riskcore.data.files.reading import (
    DELIMITERS,
    Reading,
    encoding_hint,
    warn_of_open_end,
)

BAD_GZIP = (EOFError, gzip.BadGzipFile, zlib.error)
# Characters of the line of names: enough for 20,000 columns of long names.
_LONGEST_HEADER = 1 << 24
_PART = 1 << 20
_COLUMN_PART = 1 << 12  # bytes of a block by column: each column is an array there
_SAMPLE = 1 << 16  # bytes by which an encoding is recognized
# Arrow's limit for a block, into which a record must fit.
_LONGEST_RECORD = (1 << 31) - 2
_MARK = "\ufeff"
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# Excel's first line that states the delimiter; it may fill it up to all columns.
_SEPARATOR = re.compile(
    r'"?sep=([!#-/:-@\[-`{-~ \t])"?\1*[ \t]*(?:\r\n|\n|\r)', re.IGNORECASE
)


class LineBreaksInFields(UserWarning):
    """Quoted fields of a CSV file run over several lines."""


class LinesWithoutValues(UserWarning):
    """The last lines of a CSV file hold delimiters alone."""


class CsvFile(ArrowFormat):
    """A text file with a line of column names."""

    kind = "csv"
    read_by = ("delimiter", "decimal")
    title = "CSV"
    suffixes = (".csv", ".tsv", ".txt")
    targets = (".csv", ".tsv", ".csv.gz")
    streamed = True
    above = ""  # a line above the names that states the delimiter

    @classmethod
    def is_named(cls, path: Path) -> bool:
        """Tell whether only CSV files have the suffix, perhaps followed by ``.gz``."""
        return suffix_of(path)[0] in (".csv", ".tsv")

    @classmethod
    def is_likely(cls, path: Path) -> bool:
        """Tell whether the suffix is common to CSV and other text files."""
        return suffix_of(path)[0] == ".txt"

    @classmethod
    def is_target(cls, path: Path, like: Format | None) -> bool:
        """Tell whether a file is to be CSV: ``.txt`` only if it is like another CSV."""
        of_csv = like is not None and like.kind == cls.kind
        return cls.is_named(path) or (of_csv and cls.is_likely(path))

    def __init__(self, path: Path, reading: Reading) -> None:
        super().__init__(path, reading)
        self.na_values = ["", *reading.codes()]
        self.utf8 = codecs.lookup(reading.encoding).name in ("utf-8", "utf-8-sig")
        self.encoding = reading.encoding
        self._refuse_mark()
        try:
            with self.open_text() as file:
                line = file.readline(_LONGEST_HEADER)
                sep = _SEPARATOR.fullmatch(line)
                if sep:
                    self.above, line = line, file.readline(_LONGEST_HEADER)
        except BAD_GZIP:
            raise self.bad_gzip() from None
        except UnicodeError:
            self.refuse_encoding()
            raise
        if not line:
            raise ValueError(f"{path}: the file is empty")
        if "\0" in line:
            raise ValueError(
                f"{path}: zero bytes in the first line: not a text file, or one in "
                "UTF-16 or UTF-32; if so, give its encoding, as encoding='utf-16-le'"
            )
        if not line.strip():
            raise ValueError(
                f"{path}: the first line must name the columns, but is empty"
            )
        if len(line) == _LONGEST_HEADER:
            raise ValueError(
                f"{path}: the first line, which must name the columns, has more than "
                f"{_LONGEST_HEADER:,} characters"
            )
        if not line.endswith(("\n", "\r")):
            raise ValueError(f"{path}: no records, only one line")
        self.delimiter = reading.delimiter or (sep and sep[1]) or _sniff(path, line)

    def open(self) -> IO[bytes]:
        """Open the file, unpacked if need be."""
        opener: Any = gzip.open if suffix_of(self.path)[1] else open
        file: IO[bytes] = opener(self.path, "rb")
        return file

    def marked(self) -> bool:
        """Return whether the file begins with a byte order mark of UTF-8."""
        with self.open() as file:
            return file.read(3) == codecs.BOM_UTF8

    @contextmanager
    def open_text(self) -> Iterator[IO[str]]:
        """Open the file as text after a mark; undecodable bytes are lone surrogates."""
        encoding = "utf-8-sig" if self.utf8 else self.encoding
        with io.TextIOWrapper(
            self.open(), encoding, errors="surrogateescape", newline=""
        ) as file:
            # Codecs such as utf-16-le leave the mark.
            if not self.utf8 and file.read(1) != _MARK:
                file.seek(0)
            file.read(len(self.above))
            yield file

    def format(self) -> Format:
        """Return delimiter, encoding and missing codes."""
        encoding = "utf-8-sig" if self.utf8 and self.marked() else self.encoding
        # A rare mark that only the line above stated is not written: it would be lost.
        rare = self.above and self.delimiter not in DELIMITERS
        delimiter = "," if rare else self.delimiter
        return replace(super().format(), delimiter=delimiter, encoding=encoding)

    def common_codes(self) -> tuple[str, ...]:
        """Return no codes: Arrow replaces the common missing codes as it reads."""
        return ()

    def read_header(self) -> Header:
        """Read the names of the columns."""
        with self.open_text() as file:
            try:
                names = next(csv.reader(file, delimiter=self.delimiter, strict=True))
            except csv.Error as error:
                raise ValueError(
                    f"{self.path}, line 1: the names of the columns cannot be read: "
                    f"{error}"
                ) from None
        if any("\udc80" <= letter <= "\udcff" for letter in "".join(names)):
            self.refuse_encoding()
        return Header(distinct(self.path, names))

    def read_table(self, columns: list[str], progress: Parts | None) -> Accounted:
        """Return columns as an Arrow table of text, and the account of the lines."""
        names = self.header.names
        some = columns or list(names[:1])  # to Arrow, no columns means all of them
        block = max(_PART, _COLUMN_PART * len(names))
        table, scan = self._read(some, names, block, progress)
        if table is None:
            # A record did not fit into a block.
            size = min(2 * scan.longest + block, _LONGEST_RECORD)
            table, scan = self._read(some, names, size, progress)
        intake = scan.intake()
        if table is None:
            raise ValueError(
                f"{self.path}: a record of {scan.longest:,} bytes; the longest that "
                f"can be read has {_LONGEST_RECORD // 2:,}"
            )
        intake.check(self.path, table.num_rows)
        if scan.ends_open:
            warn_of_open_end(self.path, intake.records)
        if intake.broken_fields:
            warn(
                f"{self.path}: {intake.broken_fields:,} quoted fields have line "
                f"breaks; {intake.within:,} lines belong to them and are not records",
                LineBreaksInFields,
            )
        self._doubt_empty(table)
        return table.select(columns), intake

    def _doubt_empty(self, table: Any) -> None:
        """Warn of last lines of delimiters alone, as spreadsheets leave them."""
        compute = import_pyarrow("compute")
        empty = functools.reduce(compute.and_, map(compute.is_null, table.columns))
        if len(self.header.names) == 1 or not compute.any(empty).as_py():
            return
        marks = f'{self.delimiter}" \t\r\n'
        lines = 0
        with self.open_text() as file:
            for line in filter(str.strip, file):
                lines = 0 if line.strip(marks) else lines + 1
        if lines:
            warn(
                f"{self.path} ends with {counted(lines, 'line')} without any value, as "
                "a spreadsheet leaves them; they count as records whose keys fit all "
                "others, so delete them",
                LinesWithoutValues,
            )

    def _read(
        self,
        columns: list[str],
        names: Sequence[str],
        block: int,
        progress: Parts | None,
    ) -> tuple[Any, Scan]:
        """Read the file once; no table if a record does not fit into a block."""
        pyarrow, pyarrow_csv = import_pyarrow(), import_pyarrow("csv")
        scan = Scan(self.path, len(names), self.delimiter, self.above)
        try:
            with self.open() as file:
                report = None if progress is None else self._report(file, progress)
                encoding = None if self.utf8 else self.encoding
                stream = ScannedFile(file, encoding, scan, report, self.above)
                try:
                    reader = pyarrow_csv.open_csv(
                        stream,
                        pyarrow_csv.ReadOptions(block_size=block),
                        pyarrow_csv.ParseOptions(
                            delimiter=self.delimiter,
                            newlines_in_values=True,
                            # An empty line is a record only where it can be one.
                            ignore_empty_lines=len(names) > 1,
                        ),
                        pyarrow_csv.ConvertOptions(
                            include_columns=columns,
                            column_types=dict.fromkeys(columns, pyarrow.string()),
                            null_values=self.na_values,
                            strings_can_be_null=True,
                            quoted_strings_can_be_null=False,
                        ),
                    )
                    batches = []
                    for batch in reader:  # a loop of Python, so that Ctrl-C works
                        batches.append(batch)
                    table = pyarrow.Table.from_batches(batches, reader.schema)
                except pyarrow.ArrowInvalid as error:
                    stream.drain()
                    self.refuse_encoding()
                    scan.intake()  # raises if the file breaks a rule
                    if scan.longest >= block // 2:
                        return None, scan
                    raise ValueError(f"{self.path}: {error}") from None
                stream.drain()
        except BAD_GZIP:
            raise self.bad_gzip() from None
        except UnicodeError:
            self.refuse_encoding()
            raise
        return table, scan

    def _report(self, file: Any, progress: Parts) -> Callable[[], None]:
        """Return a function that reports how much of the file has been read."""
        size = self.path.stat().st_size
        raw = getattr(file, "fileobj", None) or file
        return lambda: progress(min(raw.tell(), size), size)

    def bad_gzip(self) -> ValueError:
        """Return the error for a gzipped file that is damaged."""
        return ValueError(f"{self.path}: not a gzip file, or cut off")

    def _refuse_mark(self) -> None:
        """Refuse a file with the byte order mark of another encoding."""
        if not self.utf8:
            return
        try:
            with self.open() as file:
                begin = file.read(4)
        except BAD_GZIP:
            raise self.bad_gzip() from None
        for mark, encoding in _MARKS.items():
            if begin.startswith(mark):
                raise ValueError(
                    f"{self.path}: begins with the byte order mark of "
                    f"{encoding.upper()}; give encoding={encoding!r}"
                )

    def refuse_encoding(self) -> None:
        """Refuse a file with a byte that cannot be decoded, and say where it is."""
        decoder = codecs.getincrementaldecoder(self.encoding)()
        offset = 0
        with self.open() as file:
            for chunk in itertools.chain(iter(lambda: file.read(_PART), b""), [b""]):
                pending = len(decoder.getstate()[0])
                try:
                    decoder.decode(chunk, final=not chunk)
                except UnicodeDecodeError as error:
                    place = offset - pending + error.start
                    line = error.object.rfind(b"\n", 0, error.start) + 1
                    hint = encoding_hint(error.object[line : line + _SAMPLE])
                    raise ValueError(
                        f"{self.path}: not {self.encoding} at byte offset {place}; "
                        f"give its encoding{hint}"
                    ) from None
                except UnicodeError as error:  # without a byte to blame
                    raise ValueError(
                        f"{self.path}: not {self.encoding}: {error}; give its encoding"
                    ) from None
                offset += len(chunk)

    @classmethod
    def write_tables(
        cls, tables: Iterator[Any], file: IO[bytes], path: Path, how: Writing
    ) -> None:
        """Write the parts of a table as CSV."""
        write_csv(tables, file, path, how.like or Format(cls.kind), how.progress)


class ScannedFile:
    """A file for Arrow, in UTF-8 with a mark; a scan sees every byte but the mark."""

    closed = False

    def __init__(
        self,
        file: IO[bytes],
        encoding: str | None,
        scan: Scan,
        report: Callable[[], None] | None = None,
        above: str = "",
    ) -> None:
        self._file = file
        self._above = above.encode()
        self._report = report
        self._decoder = encoding and codecs.getincrementaldecoder(encoding)()
        self._scan = scan
        self._rest = b""
        self._begun = False
        self._ended = False
        # Arrow reads ahead in a thread of its own, even while an error is handled.
        self._one_reader = threading.Lock()

    def read(self, size: int = -1) -> bytes:
        """Return ``size`` bytes, fewer at the end: Arrow takes them as one block."""
        parts, total = [self._rest], len(self._rest)
        while total < size or size < 0:
            part = self._next()
            if not part:
                break
            parts.append(part)
            total += len(part)
        whole = parts[0] if len(parts) == 1 else b"".join(parts)
        size = total if size < 0 else size
        self._rest = whole[size:]
        return whole[:size]

    def _next(self) -> bytes:
        """Return the next bytes of the file in UTF-8; none at its end."""
        text = mark = b""
        with self._one_reader:  # the scan must see the parts in order
            while not text and not self._ended:
                raw = self._file.read(_PART)
                self._ended = not raw
                if self._report is not None:
                    self._report()
                text = raw
                if self._decoder:
                    text = self._decoder.decode(raw, final=self._ended).encode()
            if not self._begun and text:
                self._begun = True
                text = text.removeprefix(codecs.BOM_UTF8).removeprefix(self._above)
                # Arrow removes one mark: without ours, a second one of the file.
                mark = codecs.BOM_UTF8
            self._scan.feed(text)
        return mark + text

    def drain(self) -> None:
        """Read the rest of the file, for the scan."""
        while self._next():
            pass

    def close(self) -> None:
        """Do nothing: the owner of the file closes it."""


def _sniff(path: Path, line: str) -> str:
    """Return the delimiter of a CSV file with this first line."""
    if suffix_of(path)[0] == ".tsv":
        return "\t"
    outside = "".join(line.split('"')[::2])
    return max(DELIMITERS, key=outside.count)
