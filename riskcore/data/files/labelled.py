"""Files with labels, of SPSS, Stata and SAS: what is common to them, read and written.

They are read by pyreadstat, as the numbers and text that stand there. What these mean
is decided here: which of them are missing, which are dates, which are whole numbers.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import IO, Any, ClassVar

import numpy as np

from riskcore.common.needs import need
from riskcore.common.progress import Parts
from riskcore.common.warn import warn
from riskcore.common.words import counted
from riskcore.data.files.arrow import (
    ArrowFormat,
    import_pyarrow,
    is_text,
    table_of,
)
from riskcore.data.files.base_format import Format, Header, Recoded, distinct
from riskcore.data.files.intake import Intake
from riskcore.data.files.labels import Labels, code_text
from riskcore.data.files.record_count import RecordCount
from riskcore.data.files.replace import Create

# Records read at a time: between two batches a run can be interrupted.
_ROWS = 200_000
# Whole numbers from here on are not all doubles.
LARGEST_WHOLE = 2**53
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # of the years 1 and 9999, from 1970
_DAY, _MICRO = 86_400, 1_000_000


class RecordsNotStated(UserWarning):
    """A file does not state how many records it has: it may have been cut."""


def need_pyreadstat(*, to_write: bool = False) -> None:
    """Refuse labelled files if there is nothing to read or write them with."""
    need("pyreadstat", "SPSS, Stata and SAS files")
    if to_write:
        need("pandas", "SPSS and Stata files that are written")


def parser_errors() -> tuple[type[Exception], ...]:
    """Return what pyreadstat raises for a file; of 1.2 only a module has both names."""
    from pyreadstat import _readstat_parser as parser

    return parser.ReadstatError, parser.PyreadstatError, UnicodeError


class LabelledFile(ArrowFormat):
    """A file of SPSS, Stata or SAS.

    Attributes
    ----------
    epoch : int
        The first day of the program's calendar, in days from 1970-01-01.
    ticks : int
        Units of its times in a second.
    day : int
        Units of its dates in a day: 1 if they are days.
    dates, times : frozenset of str
        The words of the formats that show a number as a date, or as date and time.
    largest : float
        The largest number.
    date_format, time_format, whole_format : str
        What shows dates, times and whole numbers that have no format yet.
    """

    typed = True
    labelled = True
    largest: ClassVar[float]
    date_format: ClassVar[str]
    time_format: ClassVar[str]
    whole_format: ClassVar[str]
    epoch: ClassVar[int]
    ticks: ClassVar[int]
    day: ClassVar[int]
    dates: ClassVar[frozenset[str]]
    times: ClassVar[frozenset[str]]

    @cached_property
    def metadata(self) -> Any:
        """What the file says of itself."""
        return self._parsed(metadataonly=True)[1]

    @abstractmethod
    def reader(self) -> Callable[..., Any]:
        """Return the function of pyreadstat that reads such files."""

    @abstractmethod
    def count(self) -> RecordCount:
        """Return the number of records by the layout of the file, and check it."""

    def check_reading(self) -> None:
        """Refuse options that only CSV files have, and any work without pyreadstat."""
        need_pyreadstat()
        super().check_reading()

    def _parsed(self, **how: Any) -> tuple[Any, Any]:
        need_pyreadstat()
        given = self.reading.encoding
        encoding = None if given == "utf-8" else given  # the file says it
        try:
            return self.reader()(  # type: ignore[no-any-return]
                str(self.path),
                output_format="dict",
                disable_datetime_conversion=True,
                encoding=encoding,
                **how,
            )
        except parser_errors() as error:
            raise ValueError(f"{self.path}: {error}") from None

    @property
    def how(self) -> dict[str, Any]:
        """How the function reads values that the user declared missing: as they are."""
        return {"user_missing": True}

    def read_header(self) -> Header:
        """Read the names of the columns."""
        return Header(distinct(self.path, self.metadata.column_names))

    @cached_property
    def labels(self) -> Labels:
        """What the file says of its columns."""
        about = self.metadata
        return Labels(
            {n: text for n, text in about.column_names_to_labels.items() if text},
            {
                name: {self._code(name, code): label for code, label in labels.items()}
                for name, labels in self.value_labels(about).items()
            },
            {
                name: tuple((one["lo"], one["hi"]) for one in ranges)
                for name, ranges in self._parsed(row_limit=1, **self.how)[
                    1
                ].missing_ranges.items()
            },
            {n: form for n, form in about.original_variable_types.items() if form},
            {
                name: measure
                for name, measure in about.variable_measure.items()
                if measure != "unknown"
            },
        )

    def value_labels(self, about: Any) -> Mapping[str, Mapping[Any, str]]:
        """Return the labels of the codes of each column."""
        found: Mapping[str, Mapping[Any, str]] = about.variable_value_labels
        return found

    def _code(self, name: str, code: Any) -> str:
        return code_text(code) if self._is_text(name) else self.code(code)

    def code(self, code: Any) -> str:
        """Return a code of a column of numbers that has a label as text."""
        return code_text(code)

    def format(self) -> Format:
        """Return how the file is written, with its labels."""
        return replace(super().format(), labels=self.labels)

    # --- reading ---

    def read_table(
        self, columns: list[str], progress: Parts | None
    ) -> tuple[Any, Intake]:
        """Return columns as a table, and the account of the records."""
        pyarrow = import_pyarrow()
        some = columns or list(self.header.names[:1])
        kept = self.reading.user_missing == "codes"
        parts: dict[str, list[Any]] = {name: [] for name in some}
        letters: dict[str, list[Any]] = {}
        begin, (total, stated) = 0, self.count()
        if not stated:
            warn(
                f"{self.path}: {counted(total, 'record')}, a number that the file does "
                "not state. If it was cut between two records, nothing shows it: "
                "compare the number with that of its source",
                RecordsNotStated,
            )
        while begin < total:
            data, _ = self._parsed(
                usecols=some, row_offset=begin, row_limit=_ROWS, **self.how
            )
            found = len(data[some[0]]) if some[0] in data else 0
            for name in some if found else ():
                numbers, text = _column(data.pop(name), self._is_text(name))
                parts[name].append(numbers)
                if text is not None:
                    letters.setdefault(name, []).append((begin, text))
            begin += found
            if progress is not None:
                progress(min(begin, total), total)
            if found < _ROWS:
                break
        if begin != total:
            raise ValueError(
                f"{self.path}: {total:,} records by the layout of the file, but "
                f"{begin:,} can be read: the file is damaged. Get it again from its "
                "source"
            )
        table, missing = {}, 0
        for name in some:
            kind = pyarrow.string() if self._is_text(name) else pyarrow.float64()
            column = pyarrow.chunked_array(parts.pop(name), kind)
            extended = _marked(letters.get(name, []), begin)
            table[name], count = self._meant(name, column, extended, kept=kept)
            missing += count
        intake = Intake(
            records=total,
            user_missing=missing,
            codes_kept=kept,
            labels=self.labels,
        )
        intake.check(self.path, begin)
        return pyarrow.table(table).select(columns), intake

    def _is_text(self, name: str) -> bool:
        return bool(self.metadata.readstat_variable_types[name] == "string")

    def _meant(
        self, name: str, column: Any, extended: Any, *, kept: bool
    ) -> tuple[Any, int]:
        """Return a column as what it means, and the user-missing codes in it."""
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
            return compute.coalesce(
                extended, pyarrow.array(texts, pyarrow.string())
            ), count
        return self._calendar(name, column, numbers), count

    def _calendar(self, name: str, column: Any, numbers: Any) -> Any:
        """Return dates and times as such where they hold every digit of the number."""
        pyarrow = import_pyarrow()
        word = _word(self.labels.formats.get(name, ""))
        valid = column.is_valid().to_numpy()
        plain = np.where(valid, column.fill_null(0).to_numpy(), 0)
        found = None
        if word in self.dates:
            found = _days_of(plain, self.day, self.epoch)
            kind = pyarrow.date32()
        elif word in self.times:
            found = _micro_of(plain, _MICRO // self.ticks, self.epoch * _DAY * _MICRO)
            kind = pyarrow.timestamp("us")
        if found is None:
            return numbers
        return pyarrow.chunked_array([pyarrow.array(found, mask=~valid).cast(kind)])

    # --- writing ---

    @classmethod
    def check_target(cls, path: Path) -> None:
        """Refuse to write without what that needs."""
        super().check_target(path)
        need_pyreadstat(to_write=True)

    @classmethod
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
        """Write a file; see `riskcore.data.files.formats.write`.

        What is said of the codes of columns that were recoded or renumbered is left
        out: new codes mean something else.
        """
        labels = Labels() if like is None or like.labels is None else like.labels
        labels = labels.without_codes_of({*(recodings or ()), *renumbered})
        if like is None or like.kind != cls.kind:
            labels = replace(labels, missing={}, formats={}, measures={})
        table = table_of(columns, plain=False)
        cls.check_names(
            path, table.column_names, own=like is not None and like.kind == cls.kind
        )
        frame, formats, values = {}, {}, {}
        for name, column in zip(table.column_names, table.columns, strict=True):
            if isinstance(column, import_pyarrow().ChunkedArray):
                column = _plain(column)
            try:
                frame[name], form = cls.held(column)
            except (TypeError, ValueError) as error:
                raise type(error)(f"{path}: column {name!r} {error}") from None
            form = cls._form(labels.formats.get(name), form, column)
            if form is not None:
                formats[name] = form
            if name in labels.values:
                codes = import_pyarrow("compute").unique(column.drop_null()).to_pylist()
                values[name] = labels.occurring(name, codes)
        file = create(path)
        _write(
            cls.writer,
            path,
            file,
            _frame(frame),
            **cls.packing(path),
            **cls.described(labels, formats, values),
        )
        cls.without_time(file)
        file.flush()

    @classmethod
    def _form(cls, given: str | None, form: str | None, column: Any) -> str | None:
        """Return the format that a column had if it can show it, else the one needed.

        Text has none: its width would be that of what was suppressed.
        """
        if given is None or is_text(column.type):
            return form
        fits = form in (None, cls.whole_format) or _word(given) in cls.dates | cls.times
        return given if fits else form

    @classmethod
    def writer(cls) -> Callable[..., Any]:
        """Return the function of pyreadstat that writes such files."""
        raise NotImplementedError

    @classmethod
    def packing(cls, path: Path) -> dict[str, Any]:
        """Return the options of the writer that say how a file there is packed."""
        return {}

    @classmethod
    def check_names(cls, path: Path, names: list[str], *, own: bool) -> None:
        """Refuse names of columns that such a file cannot have."""

    @classmethod
    def held(cls, column: Any) -> tuple[Any, str | None]:
        """Return a column as the file holds it, and the format that it needs."""
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
        pyarrow = import_pyarrow()
        days = column.cast(pyarrow.date32()).cast(pyarrow.int32()).fill_null(0)
        return (days.to_numpy().astype(np.float64) - cls.epoch) * cls.day

    @classmethod
    def _ticks(cls, column: Any) -> Any:
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
        """Refuse text that such a file does not hold as it is."""
        if text == "":
            raise ValueError(
                f"has empty text, which in {cls.title} is missing; recode it, or write "
                ".parquet"
            )
        if "\0" in text:
            raise ValueError(f"has zero bytes, which {cls.title} does not hold")

    @classmethod
    def described(
        cls,
        labels: Labels,
        formats: Mapping[str, str],
        values: Mapping[str, Mapping[Any, str]],
    ) -> dict[str, Any]:
        """Return the options of the writer that say what the columns are."""
        raise NotImplementedError

    @classmethod
    def without_time(cls, file: IO[bytes]) -> None:
        """Put the same time into every file: the same data give the same bytes."""

    @classmethod
    def write_tables(
        cls, tables: Any, file: Any, path: Path, like: Any, progress: Any
    ) -> None:
        """Write nothing: `write` does, which knows the labels."""
        raise NotImplementedError


def _column(values: Any, text: bool) -> tuple[Any, Any]:
    """Return numbers or text of a batch, and the letters among numbers, if any."""
    pyarrow = import_pyarrow()
    if text:
        return pyarrow.array([one or None for one in values], pyarrow.string()), None
    try:
        return pyarrow.array(values, pyarrow.float64(), from_pandas=True), None
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
        pass
    letters = [f".{one.lower()}" if isinstance(one, str) else None for one in values]
    numbers = [None if isinstance(one, str) else one for one in values]
    return (
        pyarrow.array(numbers, pyarrow.float64(), from_pandas=True),
        pyarrow.array(letters, pyarrow.string()),
    )


def _marked(parts: list[tuple[int, Any]], n: int) -> Any:
    """Return the letters of a whole column, None if there are none."""
    if not parts:
        return None
    pyarrow = import_pyarrow()
    found, end = [], 0
    for begin, letters in parts:
        found += [pyarrow.nulls(begin - end, pyarrow.string()), letters]
        end = begin + len(letters)
    found.append(pyarrow.nulls(n - end, pyarrow.string()))
    return pyarrow.chunked_array(found, pyarrow.string())


def _within(column: Any, ranges: tuple[tuple[Any, Any], ...]) -> Any:
    """Return the mask of the values that lie in one of some ranges."""
    compute = import_pyarrow("compute")
    mask = np.zeros(len(column), bool)
    for low, high in ranges:
        inside = compute.and_(
            compute.greater_equal(column, low), compute.less_equal(column, high)
        )
        mask |= compute.fill_null(inside, False).to_numpy()
    return mask


def _whole(column: Any) -> Any:
    """Return a column of doubles as integers if all of them are, exactly."""
    pyarrow = import_pyarrow()
    plain = column.fill_null(0).to_numpy()
    whole = (np.abs(plain) < LARGEST_WHOLE) & (plain == np.rint(plain))
    if not whole.all() or (np.signbit(plain) & (plain == 0)).any():
        return column
    valid = column.is_valid().to_numpy()
    return pyarrow.chunked_array([pyarrow.array(plain.astype(np.int64), mask=~valid)])


def _days_of(numbers: Any, day: int, epoch: int) -> Any:
    """Return numbers as days from 1970 on, None if not all are days of a calendar."""
    days = numbers / day + epoch
    fits = (numbers % day == 0) & (days >= _FIRST_DAY) & (days <= _LAST_DAY)
    return days.astype(np.int32) if fits.all() else None


def _micro_of(numbers: Any, scale: int, shift: int) -> Any:
    """Return numbers as microseconds from 1970 on, None if digits would be lost."""
    micro = np.rint(numbers * scale)
    low, high = (days * _DAY * _MICRO - shift for days in (_FIRST_DAY, _LAST_DAY))
    if not ((micro / scale == numbers) & (micro >= low) & (micro < high)).all():
        return None
    return micro.astype(np.int64) + shift


def _plain(column: Any) -> Any:
    """Return a column without a dictionary."""
    types = import_pyarrow().types
    if types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    return column


def _word(form: str) -> str:
    """Return the word of a format: DATE of DATE11, %td of %tdD_m_Y."""
    if form.startswith("%"):
        return form.replace("-", "")[:3]
    found = re.match(r"[A-Za-z_]+", form)
    return found[0].upper() if found else ""


def _frame(columns: Mapping[str, Any]) -> Any:
    import pandas  # type: ignore[import-untyped]

    return pandas.DataFrame(dict(columns), copy=False)


def _write(
    writer: Callable[[], Callable[..., Any]],
    path: Path,
    file: IO[bytes],
    frame: Any,
    **how: Any,
) -> None:
    """Write a frame to where an open file stands."""
    try:
        writer()(frame, file.name, **how)
    except parser_errors() as error:
        raise ValueError(f"{path}: {error}") from None
