"""Read the data files of mu-Argus, in fixed or free format.

The reader is as tolerant as mu-Argus itself: tags in any case, tabs, any line ending,
comment lines, quoted tokens, unknown tags ignored. A file is UTF-8 if it can be read as
such, else Windows-1252, which mu-Argus writes. Positions and widths count characters,
which for Windows-1252 are the bytes that mu-Argus counts.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from riskcore.common.missing_column import no_such_column
from riskcore.common.progress import Parts
from riskcore.common.text_numbers import is_number
from riskcore.data.files.argus.encoding import Array, characters_in, decoded
from riskcore.data.files.argus.metadata import Metadata, Variable
from riskcore.data.files.intake import Intake
from riskcore.data.files.reading import warn_of_open_end

_BLOCK = 1 << 22  # characters handled at a time, which bounds the working memory
# mu-Argus itself stops at 100; a longer field means a wrong separator or position.
_LONGEST_FIELD = 1000
_NEWLINE, _RETURN, _END_OF_FILE = 10, 13, 26
_DIGITS = np.frombuffer(b"\0+-.0123456789Ee", np.uint8)


def read_counted(
    path: Path,
    metadata: Metadata,
    columns: Iterable[str],
    numeric: Collection[str],
    *,
    text: bool,
    progress: Parts | None,
) -> tuple[dict[str, Array], Intake]:
    r"""Read a mu-Argus data file, and account for its lines."""
    if metadata.spss:
        raise ValueError(
            f"{path}: SPSS system files cannot be read; export the file as CSV"
        )
    chosen = _choose(metadata, columns, numeric, text=text)
    parts = [_Column(variable) for variable in chosen]
    characters = characters_in(path)
    read = 0
    for lines, fields in fields_of(path, characters, metadata, chosen, progress):
        read += lines.size
        for column, values in zip(parts, fields, strict=True):
            column.add(np.strings.strip(values, " "), lines)
    for column in parts:
        column.fault.refuse(path)
    layout = _Layout.of(path, characters)
    names = int(metadata.separator is not None and metadata.names_in_front)
    records = layout.lines - layout.empty - names
    intake = Intake(records, layout.lines, names, layout.empty)
    intake.check(path, read)
    if not layout.ended:
        warn_of_open_end(path, intake.records)
    return {column.variable.name: column.finish() for column in parts}, intake


def fields_of(
    path: Path,
    characters: Array,
    metadata: Metadata,
    variables: Sequence[Variable],
    progress: Parts | None,
) -> Iterator[tuple[Array, Iterable[Array]]]:
    """Yield records part by part: their lines, and the text and blanks of variables."""
    split: _Fixed | _Free = _Fixed(path, variables)
    first_line = 1
    if metadata.separator is not None:
        names, characters = _split_names(path, characters, metadata)
        first_line += metadata.names_in_front
        split = _Free(path, variables, names, metadata.separator)
    done = 0
    for block, starts, ends in _blocks(path, characters):
        lines = np.arange(first_line, first_line + starts.size)
        yield split(block, starts, ends, lines)
        first_line += starts.size
        done += block.size
        if progress:
            progress(done, characters.size)
    for fault in split.faults:
        fault.refuse(path)


def _choose(
    metadata: Metadata,
    columns: Iterable[str],
    numeric: Collection[str],
    *,
    text: bool,
) -> list[Variable]:
    """Return the wanted variables, marked numeric if they are to be numbers."""
    variables_by_name = {variable.name: variable for variable in metadata.variables}
    variables = []
    for name in columns:
        variable = variables_by_name[name]
        code = variable.recodable or variable.household_id
        number = variable.weight or (variable.numeric and not code)
        number = name in numeric or (number and not text)
        variables.append(replace(variable, numeric=number))
    return variables


class _Fault:
    """A fault of some records: how many have it, and the first of them."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.count = 0
        self.first = ""

    def add(self, lines: Array, text: str = "") -> None:
        if lines.size and not self.count:
            self.first = f"line {lines[0]}" + (f": {text!r}" if text else "")
        self.count += lines.size

    def refuse(self, path: Path) -> None:
        if self.count:
            raise ValueError(
                f"{path}: {self.what} in {self.count} records, first in {self.first}"
            )


class _Column:
    """The values of one variable, collected block by block."""

    def __init__(self, variable: Variable) -> None:
        self.variable = variable
        self.fault = _Fault(f"{variable.name} is not a number")
        self.values: list[Array] = []
        self.masks: list[Array] = []

    def add(self, text: Array, lines: Array) -> None:
        """Add stripped text, one element per record."""
        missing = text == ""
        for code in self.variable.missing:
            missing |= text == code
        if not self.variable.numeric:
            self.values.append(text)
            self.masks.append(missing)
            return
        numbers, wrong = _numbers(np.where(missing, "0", text))
        if wrong.any():
            self.fault.add(lines[wrong], str(text[wrong][0]))
        numbers[missing] = np.nan
        self.values.append(numbers)

    def finish(self) -> Array:
        if self.variable.numeric:
            return np.concatenate(self.values)
        values, mask = np.concatenate(self.values), np.concatenate(self.masks)
        return np.ma.MaskedArray(values, mask)


def _numbers(text: Array) -> tuple[Array, Array]:
    """Return text as float64, and a mask of text that is not a finite number."""
    allowed = np.isin(characters_of(text), _DIGITS)
    wrong = ~allowed.all(axis=1)  # nan, inf, underscores
    plain = np.where(wrong, "0", text)
    try:
        numbers = plain.astype(np.float64)
    except ValueError:
        wrong |= ~np.fromiter(map(is_number, plain.tolist()), bool, text.size)
        numbers = np.where(wrong, "0", plain).astype(np.float64)
    return numbers, wrong | np.isinf(numbers)


class _Fixed:
    """Fixed format: each variable has its columns."""

    def __init__(self, path: Path, variables: Sequence[Variable]) -> None:
        for variable in variables:
            suspect = f"the columns of {variable.name} (free format needs <SEPARATOR>)"
            _check_width(path, variable.width, suspect)
        self.spans = [(v.start or 0, v.width) for v in variables]
        self.empty = _Fault("no data")
        self.short = [
            _Fault(f"{v.name}, columns {start + 1} to {start + width}, is cut off")
            for v, (start, width) in zip(variables, self.spans, strict=True)
        ]
        self.faults = (self.empty, *self.short)

    def __call__(
        self, block: Array, starts: Array, ends: Array, lines: Array
    ) -> tuple[Array, Iterable[Array]]:
        """Return the line numbers, and the text of each variable."""
        length = ends - starts
        self.empty.add(lines[length == 0])
        fields = []
        for (start, width), fault in zip(self.spans, self.short, strict=True):
            fault.add(lines[(length > start) & (length < start + width)])
            fields.append(_gathered(block, starts + start, ends, width))
        return lines, fields


def _check_width(path: Path, width: int, suspect: str) -> None:
    if width > _LONGEST_FIELD:
        raise ValueError(
            f"{path}: a field of {width} characters, more than {_LONGEST_FIELD}; "
            f"check {suspect}"
        )


def _gathered(block: Array, begins: Array, ends: Array, width: int) -> Array:
    """Copy one field of any records as text, which ends where the record does."""
    positions = begins[:, None] + np.arange(width)
    characters = block[np.minimum(positions, block.size - 1)].astype(np.uint32)
    characters[positions >= ends[:, None]] = 0
    return characters.view(f"U{width}").reshape(len(begins))


def characters_of(text: Array) -> Array:
    """Return the characters of text as a view, shape (records, width)."""
    return text.view(np.uint32).reshape(text.size, text.itemsize // 4)


class _Free:
    """Free format: fields between separators, perhaps quoted."""

    def __init__(
        self,
        path: Path,
        variables: Sequence[Variable],
        names: list[str],
        separator: str,
    ) -> None:
        lacking = [v.name for v in variables if v.name not in names]
        if lacking:
            raise no_such_column(lacking, names, path)
        self.path = path
        self.positions = [names.index(v.name) for v in variables]
        self.count = len(names)
        self.separator = separator
        self.faults = (_Fault(f"not {self.count} fields"),)

    def __call__(
        self, block: Array, starts: Array, ends: Array, lines: Array
    ) -> tuple[Array, Iterable[Array]]:
        """Return the line numbers of valid records, and the text of each variable."""
        text = decoded(block)
        spans = zip(starts.tolist(), ends.tolist(), strict=True)
        rows = [_split(text[start:end], self.separator) for start, end in spans]
        good = np.array([len(row) == self.count for row in rows])
        self.faults[0].add(lines[~good])
        rows = [row for row in rows if len(row) == self.count]
        columns = [[row[i] for row in rows] for i in self.positions]
        for column in columns:
            width = max(map(len, column), default=0)
            _check_width(self.path, width, f"the separator {self.separator!r}")
        return lines[good], [np.array(column, np.str_) for column in columns]


def _split(line: str, separator: str) -> list[str]:
    """Return the fields of one record; none if a quote is open."""
    if '"' not in line:
        return line.split(separator)
    try:
        return next(csv.reader([line], delimiter=separator, strict=True), [""])
    except csv.Error:
        return []


def _split_names(
    path: Path, characters: Array, metadata: Metadata
) -> tuple[list[str], Array]:
    """Return the names of the fields, and the characters after a line of names."""
    block, starts, ends = next(_blocks(path, characters))
    line = decoded(block[starts[0] : ends[0]])
    names = [name.strip() for name in _split(line, str(metadata.separator))]
    if not metadata.names_in_front:
        declared = {name.casefold() for name in metadata.names}
        if 2 * len(declared & {name.casefold() for name in names}) > len(declared):
            raise ValueError(
                f"{path}: the first line has the names of the variables, not data; add "
                f"the line <NAMESINFRONT> to {metadata.path}, before the variables"
            )
        return list(metadata.names), characters
    if len(set(names)) < len(names):
        raise ValueError(f"{path}: a name appears twice in the first line")
    begin = starts[1] if starts.size > 1 else characters.size
    return names, characters[begin:]


@dataclass(frozen=True, slots=True)
class _Layout:
    """The lines of a file, counted without splitting its records."""

    newline: int  # the character that ends them: LF, which CR may precede, or CR
    size: int  # characters up to the end of the last line that is not empty
    lines: int
    empty: int  # empty lines at the end
    ended: bool  # whether a line end or an end-of-file mark follows the last line

    @classmethod
    def of(cls, path: Path, characters: Array) -> _Layout:
        """Count the lines of a file; refuse files with two kinds of line ends."""
        size = _size(characters)
        if not size:
            raise ValueError(f"{path}: no records")
        newlines = _count(characters, _NEWLINE)
        newline = _NEWLINE if newlines else _RETURN
        if newlines:
            _refuse_lone_returns(path, characters[:size])
        ends = newlines or _count(characters, _RETURN)
        at_end = _count(characters[size:], newline)
        lines, empty = ends + (at_end == 0), max(at_end - 1, 0)
        return cls(newline, size, lines, empty, ended=size < characters.size)


def _parts(characters: Array) -> Iterator[tuple[int, Array]]:
    """Yield the parts of a text with their positions, to bound the working memory."""
    for begin in range(0, characters.size, _BLOCK):
        yield begin, characters[begin : begin + _BLOCK]


def _count(characters: Array, character: int) -> int:
    return sum(
        int(np.count_nonzero(part == character)) for _, part in _parts(characters)
    )


def _size(characters: Array) -> int:
    """Return the size of a text without the line ends and the end mark after it."""
    for begin, part in reversed(list(_parts(characters))):
        inner = np.flatnonzero(~np.isin(part, (_NEWLINE, _RETURN, _END_OF_FILE)))
        if inner.size:
            return begin + int(inner[-1]) + 1
    return 0


def _refuse_lone_returns(path: Path, characters: Array) -> None:
    """Refuse a CR within a line: another program would end the line there."""
    lines = 1
    for begin, part in _parts(characters):
        returns = np.flatnonzero(part == _RETURN) + begin + 1
        behind = characters[np.minimum(returns, characters.size - 1)]
        lone = returns[(behind != _NEWLINE) & (returns < characters.size)]
        if lone.size:
            lines += int(np.count_nonzero(part[: lone[0] - begin] == _NEWLINE))
            raise ValueError(
                f"{path}: a carriage return within line {lines}, where other lines "
                "end in a line feed: one line may hold two records"
            )
        lines += int(np.count_nonzero(part == _NEWLINE))


def _blocks(path: Path, characters: Array) -> Iterator[tuple[Array, Array, Array]]:
    """Yield whole records: characters, and the start and end of each record."""
    layout = _Layout.of(path, characters)
    size, newline = layout.size, layout.newline
    begin = 0
    while begin < size:
        block = characters[begin : min(begin + _BLOCK, size)]
        ends = np.flatnonzero(block == newline)
        if begin + block.size == size:
            ends = np.append(ends, block.size)
        elif not ends.size:
            raise ValueError(f"{path}: a record of more than {_BLOCK} characters")
        block = block[: ends[-1] + 1]
        starts = np.concatenate([[0], ends[:-1] + 1])
        begin += block.size
        if newline == _NEWLINE:
            ends = ends - ((ends > starts) & (block[ends - 1] == _RETURN))
        yield block, starts, ends
