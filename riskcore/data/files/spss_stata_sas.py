"""Files of SPSS, Stata and SAS: they have labels and user-missing codes.

pyreadstat reads and writes the numbers and text that they store. Here it is decided
what these mean: which of them are missing, dates, times or whole numbers.

Files of SAS are only read. pyreadstat writes no ``.sas7bdat`` that SAS opens, and in
``.xpt`` it silently turns numbers beyond 7e75 into infinity and numbers below 5e-79
into zero. The labels of codes are not in a ``.sas7bdat`` but in a catalog of formats: a
file with the suffix ``.sas7bcat`` and the name of the data, or ``formats.sas7bcat``,
which SAS makes in the folder of the data by default.
"""

from __future__ import annotations

import codecs
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import IO, Any, ClassVar

import numpy as np

from riskcore.common.needs import need
from riskcore.common.progress import Parts
from riskcore.common.warn import warn
from riskcore.common.words import counted
from riskcore.data.files.arrow import (
    ArrowFormat,
    decoded,
    import_pyarrow,
    is_text,
    table_of,
)
from riskcore.data.files.base_format import Format, Header, Writing, distinct, suffix_of
from riskcore.data.files.intake import Accounted, DoubtfulDates, Intake
from riskcore.data.files.labels import Labels, code_text
from riskcore.data.files.record_count import (
    RecordCount,
    count_sas,
    count_spss,
    count_stata,
    count_transport,
)
from riskcore.data.files.replace import Create

_ROWS = 200_000  # records read at a time; a run can be interrupted in between
LARGEST_WHOLE = 2**53  # beyond it, not all whole numbers are doubles
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # of the years 1 and 9999, from 1970
_DAY, _MICRO = 86_400, 1_000_000
_WEEKS = 52  # in a year of Stata: the last has 8 days or 9
_MARKS = "[BCDNPS]?"  # the mark between the numbers of a date of SAS


class RecordsNotStated(UserWarning):
    """A file does not state how many records it has: it may have been cut."""


def parser_errors() -> tuple[type[Exception], ...]:
    """Return the errors of pyreadstat; in version 1.2 only a module has both names."""
    from pyreadstat import _readstat_parser as parser

    return parser.ReadstatError, parser.PyreadstatError, UnicodeError


def _hint(error: Exception) -> str:
    """Return what to do about an error of pyreadstat."""
    of_text = re.search("encoding|character set", str(error))
    if of_text or isinstance(error, UnicodeError):
        return "give its encoding, as encoding='cp1252' (encoding='latin-1' reads any)"
    if "version" in str(error):
        return "save it again in a version of today, in Stata by saveold"
    return "is it whole, and what its suffix says?"


class LabelledFile(ArrowFormat):
    """A file of SPSS, Stata or SAS."""

    typed = True
    labelled = True
    read_by = ("user_missing",)
    libraries = ("pyarrow", "pyreadstat")
    to_write = ("pandas",)
    writer: ClassVar[str]  # name of the function of pyreadstat that writes such files
    counter: ClassVar[Callable[[Path], RecordCount]]
    largest: ClassVar[float]  # the largest number that a file can store
    # Formats for dates, times and whole numbers that have none yet.
    date_format: ClassVar[str]
    time_format: ClassVar[str]
    whole_format: ClassVar[str]
    name_pattern: ClassVar[re.Pattern[str]]  # of a column; then what it is in words
    names_are: ClassVar[str]
    most_bytes_of_name: ClassVar[int]
    epoch: ClassVar[int]  # first day of the program's calendar, from 1970-01-01
    ticks: ClassVar[int]  # units of its times in a second
    day: ClassVar[int]  # units of its dates in a day
    # The formats, without width, that show a number as a date, or as date and time.
    dates: ClassVar[re.Pattern[str]]
    times: ClassVar[re.Pattern[str]]
    # The formats of weeks, months, quarters or half-years, and their number in a year.
    periods: ClassVar[Mapping[str, int]] = {}

    @cached_property
    def metadata(self) -> Any:
        """The metadata of the file, as pyreadstat reads them."""
        return self._parsed(metadataonly=True)[1]

    @property
    @abstractmethod
    def reader(self) -> str:
        """Name of the function of pyreadstat that reads such files."""

    def count(self) -> RecordCount:
        """Return the number of records by the layout of the file, and check it."""
        return type(self).counter(self.path)

    def _parsed(self, **how: Any) -> tuple[Any, Any]:
        """Return the data and the metadata as pyreadstat reads them."""
        need(f"{self.title} files", *self.libraries)
        name = codecs.lookup(self.reading.encoding).name  # iconv knows no latin-1
        encoding = None if name == "utf-8" else name  # the file states it
        read = getattr(import_module("pyreadstat"), self.reader)
        try:
            data, metadata = read(
                str(self.path),
                output_format="dict",
                disable_datetime_conversion=True,
                encoding=encoding,
                **how,
            )
        except parser_errors() as error:
            raise ValueError(
                f"{self.path}: cannot be read: {error}; {_hint(error)}"
            ) from None
        return data, metadata

    @property
    def options(self) -> dict[str, Any]:
        """Options of the function to read user-missing values as they are stored."""
        return {"user_missing": True}

    def read_header(self) -> Header:
        """Read the names of the columns."""
        return Header(distinct(self.path, self.metadata.column_names))

    @cached_property
    def labels(self) -> Labels:
        """The labels, missing codes, formats and measures of the columns."""
        about = self.metadata
        _, with_ranges = self._parsed(row_limit=1, **self.options)
        return Labels(
            {n: text for n, text in about.column_names_to_labels.items() if text},
            {
                name: {self._code(name, code): label for code, label in labels.items()}
                for name, labels in self.value_labels(about).items()
            },
            {
                name: tuple((bounds["lo"], bounds["hi"]) for bounds in ranges)
                for name, ranges in with_ranges.missing_ranges.items()
            },
            {n: form for n, form in about.original_variable_types.items() if form},
            {n: m for n, m in about.variable_measure.items() if m != "unknown"},
        )

    def value_labels(self, about: Any) -> Mapping[str, Mapping[Any, str]]:
        """Return the labels of the codes of each column."""
        labels_by_column: Mapping[str, Mapping[Any, str]] = about.variable_value_labels
        return labels_by_column

    def _code(self, name: str, code: Any) -> str:
        """Return a labelled code as text; a letter among numbers gets a dot."""
        if isinstance(code, str) and not self._is_text(name):
            return f".{code.lower()}"
        return code_text(code)

    def format(self) -> Format:
        """Return how the file is written, with its labels."""
        return replace(super().format(), labels=self.labels)

    # --- reading ---

    def read_table(self, columns: list[str], progress: Parts | None) -> Accounted:
        """Return columns as a table, and the account of the records."""
        pyarrow = import_pyarrow()
        some = columns or list(self.header.names[:1])
        kept = self.reading.user_missing == "codes"
        parts: dict[str, list[Any]] = {name: [] for name in some}
        letters: dict[str, list[Any]] = {name: [] for name in some}
        total = self._count_or_warn()
        for begin, data in self._batches(some, total, progress):
            for name in some:
                numbers, text = _column(data.pop(name), self._is_text(name))
                parts[name].append(numbers)
                if text is not None:
                    letters[name].append((begin, text))
        table, missing = {}, 0
        for name in some:
            kind = pyarrow.string() if self._is_text(name) else pyarrow.float64()
            column = pyarrow.chunked_array(parts.pop(name), kind)
            extended = _whole_column(letters.pop(name), total)
            table[name], count = self._interpret(name, column, extended, kept=kept)
            missing += count
        intake = Intake(
            records=total, user_missing=missing, codes_kept=kept, labels=self.labels
        )
        return pyarrow.table(table).select(columns), intake

    def _count_or_warn(self) -> int:
        """Return the number of records; warn if the file does not state it."""
        total, stated = self.count()
        if not stated:
            warn(
                f"{self.path}: {counted(total, 'record')}; the file does not state "
                "their number. If it was cut between two records, this cannot be seen: "
                "compare the number of records with the source",
                RecordsNotStated,
            )
        return total

    def _batches(
        self, columns: list[str], total: int, progress: Parts | None
    ) -> Iterator[tuple[int, Any]]:
        """Yield batches of records, each after its first record; refuse lost ones."""
        begin, records = 0, _ROWS
        while begin < total and records == _ROWS:
            data, _ = self._parsed(
                usecols=columns, row_offset=begin, row_limit=_ROWS, **self.options
            )
            records = len(data[columns[0]]) if columns[0] in data else 0
            if records:
                yield begin, data
            begin += records
            if progress is not None:
                progress(min(begin, total), total)
        if begin != total:
            raise ValueError(
                f"{self.path}: {total:,} records by the layout of the file, but "
                f"{begin:,} can be read: the file is damaged. Get it again from its "
                "source"
            )

    def _is_text(self, name: str) -> bool:
        return bool(self.metadata.readstat_variable_types[name] == "string")

    def _interpret(
        self, name: str, column: Any, extended: Any, *, kept: bool
    ) -> tuple[Any, int]:
        """Return a column as what it means, and the number of user-missing codes."""
        pyarrow, compute = import_pyarrow(), import_pyarrow("compute")
        declared = _within(column, self.labels.missing.get(name, ()))
        count = int(np.count_nonzero(declared))
        if extended is not None:
            count += len(extended) - extended.null_count
        if not kept and declared.any():
            absent = pyarrow.scalar(None, column.type)
            column = compute.if_else(pyarrow.array(declared), absent, column)
        if is_text(column.type):
            return column, count
        numbers = _whole(column)
        if kept and extended is not None:
            texts = [None if v is None else code_text(v) for v in numbers.to_pylist()]
            codes = pyarrow.array(texts, pyarrow.string())
            return compute.coalesce(extended, codes), count
        dates, codes = self._calendar(name, column, kept=kept and bool(count))
        return (numbers if dates is None else dates), count + codes

    def _calendar(self, name: str, column: Any, *, kept: bool) -> tuple[Any, int]:
        """Return dates or times, or None, and how many are codes."""
        # ``kept`` tells that codes stand among the dates and are to stay.
        pyarrow = import_pyarrow()
        form = self.labels.formats.get(name, "")
        word = _word(form)
        timed = self.times.fullmatch(word)
        if not timed and word not in self.periods and not self.dates.fullmatch(word):
            if word in ("%tC", "%tb"):  # with leap seconds, or of business days
                self._doubt(name, form, "has its own calendar, and stays a number")
            return None, 0
        numbers = column.to_numpy()
        present = ~np.isnan(numbers)
        numbers = np.nan_to_num(numbers)
        per_day = _DAY * self.ticks if timed else self.day
        days = numbers // per_day + self.epoch
        if word in self.periods:
            days = _first_days(numbers, self.periods[word])
        labelled = [float(x) for x in self.labels.values.get(name, ()) if x[:1] != "."]
        fits = present & (days >= _FIRST_DAY) & (days <= _LAST_DAY)
        fits &= ~np.isin(numbers, labelled)
        if kept or (not fits.any() and present.any()):
            what = "has codes that stay" if kept else "has no date"
            self._doubt(name, form, f"{what}, and stays a number")
            return None, 0
        codes = present & ~fits
        if codes.any():
            named = ", ".join(map(code_text, np.unique(numbers[codes])[:5].tolist()))
            what = f"has {counted(int(codes.sum()), 'value')} with a label or no day"
            self._doubt(name, form, f"{what}, read as missing: {named}")
        moments = np.where(fits, days, 0).astype(np.int64)
        if timed:  # in one product, which rounds as the writer does
            micro = np.rint(np.where(fits, numbers, 0) * (_MICRO // self.ticks))
            moments = micro.astype(np.int64) + self.epoch * _DAY * _MICRO
            moments = np.minimum(moments, (_LAST_DAY + 1) * _DAY * _MICRO - 1)
        elif clocks := int(np.count_nonzero(fits & (numbers % per_day != 0))):
            what = f"has times of the day in {counted(clocks, 'record')}"
            self._doubt(name, form, f"{what}, which are left out")
        unit = "us" if timed else "D"
        array = pyarrow.array(moments.view(f"M8[{unit}]"), mask=~fits)
        return pyarrow.chunked_array([array]), int(codes.sum())

    def _doubt(self, name: str, form: str, what: str) -> None:
        """Warn of a column whose format is that of dates."""
        warn(f"{self.path}: {name!r}, of the format {form}, {what}", DoubtfulDates)

    # --- writing ---

    @classmethod
    def write(cls, path: Path, columns: Any, create: Create, how: Writing) -> None:
        """Write a file; codes of recoded or renumbered columns lose their labels."""
        like = how.like
        labels = Labels() if like is None or like.labels is None else like.labels
        labels = labels.without_codes_of({*(how.recodings or ()), *how.renumbered})
        own = like is not None and like.kind == cls.kind
        if not own:
            labels = replace(labels, missing={}, formats={}, measures={})
        table = table_of(columns, plain=False)
        cls.check_names(path, table.column_names, own=own)
        arrays, formats, values = {}, {}, {}
        for name, column in zip(table.column_names, table.columns, strict=True):
            column = decoded(column)
            try:
                arrays[name], form = cls.convert(column)
            except (TypeError, ValueError) as error:
                raise type(error)(f"{path}: column {name!r} {error}") from None
            form = cls._form(labels.formats.get(name), form, column)
            if form is not None:
                formats[name] = form
            if name in labels.values:
                codes = import_pyarrow("compute").unique(column.drop_null()).to_pylist()
                values[name] = labels.occurring(name, codes)
        import pandas  # type: ignore[import-untyped]

        file = create(path)
        options = {**cls.packing(path), **cls.describe(labels, formats, values)}
        try:
            write = getattr(import_module("pyreadstat"), cls.writer)
            write(pandas.DataFrame(arrays, copy=False), file.name, **options)
        except parser_errors() as error:
            raise ValueError(f"{path}: {error}") from None
        place, time = cls.time_of(file)
        file.seek(place)
        file.write(time)
        file.flush()
        file.seek(0, 2)

    @classmethod
    def _form(cls, old_form: str | None, form: str | None, column: Any) -> str | None:
        """Return the old format if it fits, else the one needed; text has none."""
        # Its width would be that of the values before suppression.
        if old_form is None or is_text(column.type):
            return form
        word = _word(old_form)
        fits = form in (None, cls.whole_format) or cls.dates.fullmatch(word)
        return old_form if fits or cls.times.fullmatch(word) else form

    @classmethod
    def packing(cls, path: Path) -> dict[str, Any]:
        """Return the options of the writer that set the compression of a file."""
        return {}

    @classmethod
    def check_names(cls, path: Path, names: list[str], *, own: bool) -> None:
        """Refuse names that such a file cannot have; its ``own`` are taken."""
        for name in () if own else names:
            size = len(name.encode())
            if not cls.name_pattern.fullmatch(name) or size > cls.most_bytes_of_name:
                raise ValueError(
                    f"{path}: column {name!r}: a name in {cls.title} is "
                    f"{cls.names_are} at most, not a reserved word; rename it, or "
                    "write .parquet"
                )

    @classmethod
    def convert(cls, column: Any) -> tuple[Any, str | None]:
        """Return a column as the file stores it, and the format that it needs."""
        pyarrow = import_pyarrow()
        types, kind = pyarrow.types, column.type
        if is_text(kind):
            texts = column.to_pylist()
            for text in texts:
                if text is not None:
                    cls.check_text(text)
            return np.array([text or "" for text in texts], object), None
        form = None
        if types.is_date(kind):
            numbers, form = cls._days(column), cls.date_format
        elif types.is_timestamp(kind) and kind.tz is None:
            numbers, form = cls._ticks(column), cls.time_format
        elif types.is_integer(kind) or types.is_boolean(kind):
            numbers, form = cls._whole(column), cls.whole_format
        elif types.is_floating(kind):
            numbers = cls._doubles(column)
        else:
            raise TypeError(
                f"of {kind} cannot be written as {cls.title}; write .parquet, or leave "
                "the column out"
            )
        return np.where(column.is_valid().to_numpy(), numbers, np.nan), form

    @classmethod
    def _days(cls, column: Any) -> Any:
        """Return dates as the program's numbers."""
        pyarrow = import_pyarrow()
        days = column.cast(pyarrow.date32()).cast(pyarrow.int32()).fill_null(0)
        return (days.to_numpy().astype(np.float64) - cls.epoch) * cls.day

    @classmethod
    def _ticks(cls, column: Any) -> Any:
        """Return times as the program's numbers."""
        pyarrow = import_pyarrow()
        shift, scale = cls.epoch * _DAY * _MICRO, _MICRO // cls.ticks
        finer = ValueError(f"has times finer than {cls.title} holds; write .parquet")
        try:
            stamps = column.cast(pyarrow.timestamp("us")).cast(pyarrow.int64())
        except pyarrow.ArrowInvalid:
            raise finer from None
        micro = stamps.fill_null(shift).to_numpy() - shift
        numbers = micro / scale
        # Stata's times are whole milliseconds.
        whole = cls.ticks == 1 or not (micro % scale).any()
        if not whole or not (np.rint(numbers * scale) == micro).all():
            raise finer
        return numbers

    @classmethod
    def _whole(cls, column: Any) -> Any:
        """Return whole numbers as doubles."""
        pyarrow = import_pyarrow()
        if pyarrow.types.is_boolean(column.type):
            column = column.cast(pyarrow.int8())
        numbers = column.fill_null(0).to_numpy()
        low, high = int(numbers.min(initial=0)), int(numbers.max(initial=0))
        if max(-low, high) > LARGEST_WHOLE:
            raise ValueError(
                f"has whole numbers beyond 2^53, which {cls.title} rounds; write "
                ".parquet, or leave the column out"
            )
        return numbers.astype(np.float64)

    @classmethod
    def _doubles(cls, column: Any) -> Any:
        """Return real numbers as doubles."""
        column = column.cast(import_pyarrow().float64())
        numbers = column.fill_null(np.nan).to_numpy()
        if (np.abs(numbers) > cls.largest).any():
            raise ValueError(
                f"has numbers beyond {cls.largest:.4g}, which {cls.title} does not "
                "hold; write .parquet, or leave the column out"
            )
        return numbers

    @classmethod
    def check_text(cls, text: str) -> None:
        """Refuse text that such a file would change."""
        if text == "":
            raise ValueError(
                f"has empty text, which is missing in {cls.title}; recode it, or write "
                ".parquet"
            )
        if "\0" in text:
            raise ValueError(f"has zero bytes, which {cls.title} does not hold")

    @classmethod
    def describe(
        cls,
        labels: Labels,
        formats: Mapping[str, str],
        values: Mapping[str, Mapping[Any, str]],
    ) -> dict[str, Any]:
        """Return the options of the writer that describe the columns."""
        raise NotImplementedError

    @classmethod
    def time_of(cls, file: IO[bytes]) -> tuple[int, bytes]:
        """Return the place of the time, and a time for all: equal data, equal bytes."""
        return 0, b""


def _column(values: Any, text: bool) -> tuple[Any, Any]:
    """Return the numbers or the text of a batch, and any letters among the numbers."""
    pyarrow = import_pyarrow()
    if text:
        return pyarrow.array(
            [value or None for value in values], pyarrow.string()
        ), None
    try:
        return pyarrow.array(values, pyarrow.float64(), from_pandas=True), None
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
        pass
    letters = [
        f".{value.lower()}" if isinstance(value, str) else None for value in values
    ]
    numbers = [None if isinstance(value, str) else value for value in values]
    return (
        pyarrow.array(numbers, pyarrow.float64(), from_pandas=True),
        pyarrow.array(letters, pyarrow.string()),
    )


def _whole_column(parts: list[tuple[int, Any]], n: int) -> Any:
    """Return the letters of a whole column of n records, None if there are none."""
    if not parts:
        return None
    pyarrow = import_pyarrow()
    chunks, end = [], 0
    for begin, letters in parts:
        chunks += [pyarrow.nulls(begin - end, pyarrow.string()), letters]
        end = begin + len(letters)
    chunks.append(pyarrow.nulls(n - end, pyarrow.string()))
    return pyarrow.chunked_array(chunks, pyarrow.string())


def _within(column: Any, ranges: tuple[tuple[Any, Any], ...]) -> Any:
    """Return a mask of the values that lie in one of several ranges."""
    compute = import_pyarrow("compute")
    mask = np.zeros(len(column), bool)
    for low, high in ranges:
        inside = compute.and_(
            compute.greater_equal(column, low), compute.less_equal(column, high)
        )
        mask |= compute.fill_null(inside, False).to_numpy()
    return mask


def _whole(column: Any) -> Any:
    """Return a column of doubles as integers if each of them is one, exactly."""
    pyarrow = import_pyarrow()
    plain = column.fill_null(0).to_numpy()
    whole = (np.abs(plain) < LARGEST_WHOLE) & (plain == np.rint(plain))
    if not whole.all() or (np.signbit(plain) & (plain == 0)).any():
        return column
    valid = column.is_valid().to_numpy()
    return pyarrow.chunked_array([pyarrow.array(plain.astype(np.int64), mask=~valid)])


def _first_days(periods: Any, per_year: int) -> Any:
    """Return the first days, since 1970, of periods that are counted from 1960."""
    whole = np.clip(np.floor(periods), -1e6, 1e6).astype(np.int64)
    years, parts = whole // per_year - 10, whole % per_year
    months = 12 * years + (0 if per_year == _WEEKS else 12 // per_year * parts)
    days = months.astype("M8[M]").astype("M8[D]").astype(np.int64)
    return days + 7 * parts if per_year == _WEEKS else days


def _word(form: str) -> str:
    """Return a format without its width: DATE for DATE11, %td for %-12tdD_m_Y."""
    if form.startswith("%"):
        return re.sub(r"^%-?\d*(t\w|d)?.*", r"%\1", form)
    return re.sub(r"\d*\.?\d*$", "", form).upper()


_SPSS_LONGEST_TEXT = 32_767
_SPSS_LONGEST_LABEL, _SPSS_LONGEST_VALUE_LABEL = 256, 120
_SPSS_TIME = 92, b"01 Jan 7000:00:00"  # the place of date and time in the header


class SpssFile(LabelledFile):
    """A file of SPSS, compressed or not."""

    kind = "spss"
    title = "SPSS"
    suffixes = (".sav", ".zsav")
    targets = (".sav", ".zsav")
    reader, writer = "read_sav", "write_sav"
    counter = count_spss
    epoch = -141_428  # 1582-10-14
    ticks, day = 1, 86_400
    dates = re.compile("[AEJS]?DATE|QYR|MOYR|WKYR")
    times = re.compile("DATETIME|YMDHMS")
    date_format, time_format, whole_format = "DATE11", "DATETIME23.2", "F8.0"
    name_pattern = re.compile(
        r"(?!(ALL|AND|BY|EQ|GE|GT|LE|LT|NE|NOT|OR|TO|WITH)$)[^\W\d_][\w.$#@]*", re.I
    )
    names_are = "a letter and then letters, digits and any of . _ $ # @, of 64 bytes"
    most_bytes_of_name = 64
    # The least double is SPSS's own missing value, the next its LOWEST.
    largest = float.fromhex("0x1.ffffffffffffdp+1023")

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
        super().check_names(path, names, own=own)

    @classmethod
    def check_text(cls, text: str) -> None:
        """Refuse text that SPSS would cut."""
        super().check_text(text)
        if text.endswith(" "):
            raise ValueError(
                "has text that ends with a blank, which SPSS removes; recode it, or "
                "write .parquet"
            )
        if len(text.encode()) > _SPSS_LONGEST_TEXT:
            raise ValueError(f"has text of more than {_SPSS_LONGEST_TEXT:,} bytes")

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
            "column_labels": _cut(labels.variables, _SPSS_LONGEST_LABEL),
            "variable_value_labels": {
                name: _cut(
                    {code_of(code): text for code, text in own.items()},
                    _SPSS_LONGEST_VALUE_LABEL,
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
    def time_of(cls, file: IO[bytes]) -> tuple[int, bytes]:
        """Return the place of the time in the header, and the time of all files."""
        return _SPSS_TIME


def _cut(labels: Mapping[Any, str], longest: int) -> dict[Any, str]:
    """Return labels cut to a number of bytes, between letters."""
    return {
        name: text.encode()[:longest].decode(errors="ignore")
        for name, text in labels.items()
    }


_STATA_LONGEST_LABEL = 80
_STATA_LABELLED = 2_147_483_620  # the largest whole number that may have a label
_STATA_TIME = b"01 Jan 1970 00:00"


class StataFile(LabelledFile):
    """A file of Stata."""

    kind = "stata"
    title = "Stata"
    suffixes = (".dta",)
    targets = (".dta",)
    reader, writer = "read_dta", "write_dta"
    counter = count_stata
    epoch = -3653  # 1960-01-01
    ticks, day = 1000, 1
    dates = re.compile("%t?d")
    times = re.compile("%tc")
    periods: ClassVar = {"%tw": _WEEKS, "%tm": 12, "%tq": 4, "%th": 2}
    date_format, time_format, whole_format = "%td", "%tc", "%12.0g"
    name_pattern = re.compile(
        r"(?!(_all|_b|byte|_coef|_cons|double|float|if|in|int|long|_n|_N|_pi|_pred|_rc|"
        r"_skip|strL|str\d+|using|with)$)[^\W\d]\w{0,31}"
    )
    names_are = "a letter or _ and then letters, digits and _, of 32 characters"
    most_bytes_of_name = 128
    # Larger numbers are missing values: 2^1023 is ".".
    largest = float.fromhex("0x1.fffffffffffffp+1022")

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
            return is_number and code == int(code) and abs(code) <= _STATA_LABELLED

        whole = {
            name: {int(code): own[code] for code in own if can_have_label(code)}
            for name, own in values.items()
        }
        return {
            "column_labels": {
                name: text[:_STATA_LONGEST_LABEL]
                for name, text in labels.variables.items()
            },
            "variable_value_labels": {name: own for name, own in whole.items() if own},
            "variable_format": dict(formats),
        }

    @classmethod
    def time_of(cls, file: IO[bytes]) -> tuple[int, bytes]:
        """Return the place of the time in the header, and the time of all files."""
        with open(file.name, "rb") as written:
            begin = written.read(1024)
        mark = b"<timestamp>"
        place = begin.index(mark) + len(mark)
        if begin[place] != len(_STATA_TIME):
            raise ValueError("the header of the Stata file has an odd time")
        return place + 1, _STATA_TIME


_SAS_CATALOG = ".sas7bcat"
# The width in ``SEX8.`` or ``AMOUNT8.2``; no name of a format ends in a digit.
_SAS_WIDTH = re.compile(r"\d*\.?\d*$")


class SasFile(LabelledFile):
    """A file of SAS, in its own format or for transport."""

    kind = "sas"
    title = "SAS"
    suffixes = (".sas7bdat", ".xpt")
    epoch = -3653  # 1960-01-01
    ticks, day = 1, 1
    dates = re.compile(
        "DATE|DAY|DOWNAME|WEEK(DAT[EX]|DAY|[UVW])|WORDDAT[EX]|MONNAME|MONTH|QTRR?|YEAR|"
        f"(DDMMYY|MMDDYY|YYMMDD|MMYY|YYMM|YYQR?){_MARKS}|YYQZ|MONYY|YYMON|JUL(IAN|DAY)|"
        "[BE]8601DA|MINGUO|NLDATE[A-Z]*|EURDF(DE|DD|DN|DWN|MN|MY|WDX|WKX)|HDATE|HEBDATE"
    )
    times = re.compile(
        "DATETIME|DATEAMPM|MDYAMPM|DT(DATE|MONYY|WKDATX|YEAR|YYQC)|NLDATM[A-Z]*|"
        "[BE]8601(DT|DN|DX|DZ|LX)|EURDFDT"
    )

    @property
    def is_transport(self) -> bool:
        """Whether the file is one for transport."""
        return suffix_of(self.path)[0] == ".xpt"

    @property
    def options(self) -> dict[str, Any]:
        """Options to read special missing values, which transport files cannot have."""
        return {} if self.is_transport else super().options

    @property
    def reader(self) -> str:
        """Name of the function of pyreadstat that reads such files."""
        return "read_xport" if self.is_transport else "read_sas7bdat"

    def count(self) -> RecordCount:
        """Return the number of records by the layout of the file."""
        return (count_transport if self.is_transport else count_sas)(self.path)

    @cached_property
    def catalog(self) -> Path | None:
        """The catalog of formats next to the file."""
        if self.is_transport:
            return None
        own = self.path.with_suffix(_SAS_CATALOG)
        paths = (own, own.with_name(f"formats{_SAS_CATALOG}"))
        return next((path for path in paths if path.is_file()), None)

    def format(self) -> Format:
        """Return how the file is written; the catalog is one of its files."""
        files = () if self.catalog is None else (self.path, self.catalog)
        return replace(super().format(), files=files)

    def value_labels(self, about: Any) -> Mapping[str, Mapping[Any, str]]:
        """Return the labels of the codes of each column, from the catalog."""
        if self.catalog is None:
            return super().value_labels(about)
        from pyreadstat import read_sas7bcat

        try:
            _, catalog = read_sas7bcat(str(self.catalog), output_format="dict")
        except parser_errors() as error:
            raise ValueError(f"{self.catalog}: {error}") from None
        labels_by_column = {}
        for name, form in about.original_variable_types.items():
            labels = catalog.value_labels.get(_SAS_WIDTH.sub("", form or "").upper())
            if labels:
                labels_by_column[name] = labels
        return labels_by_column

    @classmethod
    def is_target(cls, path: Path, like: Format | None) -> bool:
        """Refuse files of SAS, and name the formats that can be written."""
        if cls.is_named(path):
            raise ValueError(
                f"{path}: SAS files can be read, not written; write .dta or .sav, "
                "which SAS imports with their labels, or .csv"
            )
        return False
