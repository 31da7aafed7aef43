"""Account for the lines of a CSV file, byte by byte.

Arrow reads CSV fast and leniently: it accepts a quote that is never closed, and text
after a closing quote. This scan goes through the same bytes by the strict rules (RFC
4180, with any line end) and counts records and other lines. If Arrow finds fewer
records, some were lost.

The rules: a field that begins with a quote ends with the next single quote, which only
a delimiter or a line end may follow; two quotes within it stand for one. In any other
field a quote is an ordinary letter. CR, LF and CR LF end a line. A line without any
letter is empty: not a record, but in a file of one column an empty field.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from riskcore.core.compiled.jit import kernel, native
from riskcore.data.files.intake import Intake

_ZERO_BYTE, _NEWLINE, _RETURN, _QUOTE = 0, 10, 13, 34
# In narrower files each line of quoted prose, too, may have a record's delimiters.
_LEAST_WIDTH = 3

# Where the scan is: before a record, before a field, after a quote that may close,
# within an unquoted field, within quotes.
_RECORD, _FIELD, _CLOSED, _PLAIN, _QUOTED = range(5)

# The state of a scan, an array of whole numbers:
(
    _WHERE,  # one of the above
    _RETURNED,  # whether the last byte was CR, to which a LF belongs
    _WIDTH,  # number of columns
    _OFFSET,  # bytes seen
    _LINE,  # lines ended
    _RECORDS,  # records ended, the names included
    _NAMES,  # lines of the names
    _EMPTY,  # empty lines
    _WITHIN,  # lines that continue a field
    _BROKEN_FIELDS,  # fields with line breaks
    # This record: its first line, its offset, its fields so far.
    _FIRST,
    _BEGIN,
    _FIELDS,
    _LONGEST,  # bytes of the longest record
    # Whether a quote swallowed records: delimiters on this line, and within the open
    # field on it; whether that has a line break; whether each line has a record's.
    _MARKS,
    _INNER,
    _BROKEN,
    _FULL,
    _OPENED,  # line of the last opening quote
    # Faults: how many, and where the first is.
    _ZEROS,
    _ZERO_OFFSET,
    _AFTER,
    _AFTER_LINE,
    _WRONG,
    _WRONG_LINE,
    _WRONG_ROW,
    _WRONG_FIELDS,
    _SWALLOWED,
    _SWALLOWED_LINE,
    _SWALLOWED_LINES,
    _SIZE,
) = range(31)


class Scan:
    r"""The account of a CSV file of some columns, which is fed its bytes in parts."""

    def __init__(self, path: Path, width: int, delimiter: str, above: str = "") -> None:
        self.path = path
        self.delimiter = ord(delimiter)
        self.ends_open = False
        self._state = np.zeros(_SIZE, np.int64)
        self._state[_WIDTH] = width
        self._state[_LINE] = bool(above)  # a line above the names, not fed
        self._state[_OFFSET] = len(above)

    def feed(self, data: bytes) -> None:
        """Take the next part of the file, in an encoding that extends ASCII."""
        codes = np.frombuffer(data, np.uint8)
        scan_bytes(codes, len(codes), self.delimiter, self._state)

    @property
    def longest(self) -> int:
        """The bytes of the longest record so far, the open one included."""
        state = self._state
        open_bytes = state[_OFFSET] - state[_BEGIN] if state[_WHERE] != _RECORD else 0
        return int(max(state[_LONGEST], open_bytes))

    def intake(self) -> Intake:
        """End the file and return its account."""
        state = self._state
        quoted = state[_WHERE] == _QUOTED
        self.ends_open = bool(state[_WHERE] != _RECORD and not quoted)
        if self.ends_open:
            self.feed(b"\n")
        self._refuse(quoted=bool(quoted))
        return Intake(
            records=int(state[_RECORDS]) - 1,
            lines=int(state[_LINE]),
            names=int(state[_NAMES]),
            empty=int(state[_EMPTY]),
            within=int(state[_WITHIN]),
            broken_fields=int(state[_BROKEN_FIELDS]),
        )

    def _refuse(self, *, quoted: bool) -> None:
        state, path = self._state, self.path
        if state[_ZEROS]:
            raise ValueError(
                f"{path}: {state[_ZEROS]} zero bytes, the first at byte offset "
                f"{state[_ZERO_OFFSET]}: not a text file, or one in UTF-16 or UTF-32, "
                "for which give its encoding"
            )
        if state[_AFTER]:
            raise ValueError(
                f"{path}: text after a closing quote in line {state[_AFTER_LINE]}"
                f"{_and_more(state[_AFTER])}; a quote within a quoted field must be "
                "doubled, and a stray one removed"
            )
        if quoted:
            raise ValueError(
                f"{path}: the quote opened in line {state[_OPENED]} is not closed"
            )
        if state[_WRONG]:
            rows = "row does" if state[_WRONG] == 1 else "rows do"
            raise ValueError(
                f"{path}: {state[_WRONG]:,} {rows} not have {state[_WIDTH]} fields as "
                f"the header does; first row {state[_WRONG_ROW]}, line "
                f"{state[_WRONG_LINE]}, has {state[_WRONG_FIELDS]}"
            )
        if state[_SWALLOWED]:
            raise ValueError(
                f"{path}: a quoted field that begins in line "
                f"{state[_SWALLOWED_LINE]} runs over {state[_SWALLOWED_LINES]} lines, "
                "each with as many delimiters as a record"
                f"{_and_more(state[_SWALLOWED])}: two stray quotes have swallowed "
                "records; remove or double them"
            )


def _and_more(count: int) -> str:
    return f", and {count - 1} times more" if count > 1 else ""


@kernel
def inside(where: int) -> bool:
    """Return whether the scan is within a field, where letters change nothing."""
    return where >= _PLAIN


@kernel
def note_zero(state: Any, offset: int) -> None:
    """Count a zero byte."""
    if state[_ZEROS] == 0:
        state[_ZERO_OFFSET] = offset
    state[_ZEROS] += 1


@kernel
def note_text_after_quote(state: Any) -> None:
    """Count a letter after a closing quote."""
    if state[_AFTER] == 0:
        state[_AFTER_LINE] = state[_LINE] + 1
    state[_AFTER] += 1


@kernel
def open_quote(state: Any) -> None:
    """Begin a quoted field."""
    state[_OPENED] = state[_LINE] + 1
    state[_INNER] = 0
    state[_BROKEN] = 0


@kernel
def break_field(state: Any) -> None:
    """End a line within quotes."""
    if state[_MARKS] + state[_INNER] != state[_WIDTH] - 1:
        state[_FULL] = 0
    state[_MARKS] = 0
    state[_INNER] = 0
    state[_BROKEN] = 1
    state[_WITHIN] += 1
    state[_LINE] += 1


@kernel
def close_quote(state: Any) -> None:
    """End a quoted field."""
    if state[_BROKEN]:
        state[_BROKEN] = 0
        state[_BROKEN_FIELDS] += 1
        state[_MARKS] += state[_INNER]


@kernel
def begin_record(state: Any, offset: int) -> None:
    """Begin a record."""
    state[_FIRST] = state[_LINE] + 1
    state[_BEGIN] = offset
    state[_FIELDS] = 0
    state[_MARKS] = 0
    state[_FULL] = 1


@kernel
def end_empty_line(state: Any) -> None:
    """End a line without any letter: a record if records have one field."""
    state[_LINE] += 1
    if state[_WIDTH] == 1:
        state[_RECORDS] += 1
    else:
        state[_EMPTY] += 1


@kernel
def end_record(state: Any, offset: int) -> None:
    """End a record; check its number of fields, and that it swallowed no others."""
    state[_FIELDS] += 1
    state[_LINE] += 1
    state[_RECORDS] += 1
    if state[_RECORDS] == 1:
        # All lines of the names count as such, also those within a field.
        state[_NAMES] = state[_LINE]
        state[_WITHIN] = 0
        state[_BROKEN_FIELDS] = 0
    if state[_FIELDS] != state[_WIDTH]:
        if state[_WRONG] == 0:
            state[_WRONG_LINE] = state[_FIRST]
            state[_WRONG_ROW] = state[_RECORDS] - 1
            state[_WRONG_FIELDS] = state[_FIELDS]
        state[_WRONG] += 1
    lines = state[_LINE] - state[_FIRST] + 1
    full = state[_FULL] and state[_MARKS] == state[_WIDTH] - 1
    if lines > 1 and full and state[_WIDTH] >= _LEAST_WIDTH:
        if state[_SWALLOWED] == 0:
            state[_SWALLOWED_LINE] = state[_FIRST]
            state[_SWALLOWED_LINES] = lines
        state[_SWALLOWED] += 1
    size = offset - state[_BEGIN]
    if size > state[_LONGEST]:
        state[_LONGEST] = size


@native("uint8*, int64, int64, int64*")
def scan_bytes(data: Any, n: int, delimiter: int, state: Any) -> None:
    """Scan a part of the bytes of a CSV file, and update the state."""
    where, returned, offset = state[_WHERE], state[_RETURNED], state[_OFFSET]
    for i in range(n):
        byte = data[i]
        if byte > _QUOTE and byte != delimiter and inside(where):
            returned = 0
            continue
        if byte == _ZERO_BYTE:
            note_zero(state, offset + i)
        if returned and byte == _NEWLINE:
            returned = 0
            continue
        returned = byte == _RETURN
        ends = returned or byte == _NEWLINE
        if where == _QUOTED:
            if byte == _QUOTE:
                where = _CLOSED
            elif ends:
                break_field(state)
            elif byte == delimiter:
                state[_INNER] += 1
            continue
        if where == _CLOSED:
            if byte == _QUOTE:
                where = _QUOTED
                continue
            close_quote(state)
            if byte != delimiter and not ends:
                note_text_after_quote(state)
                where = _PLAIN
        if where == _RECORD:
            if ends:
                end_empty_line(state)
                continue
            begin_record(state, offset + i)
            where = _FIELD
        if byte == delimiter:
            state[_FIELDS] += 1
            state[_MARKS] += 1
            where = _FIELD
        elif ends:
            end_record(state, offset + i)
            where = _RECORD
        elif byte == _QUOTE and where == _FIELD:
            open_quote(state)
            where = _QUOTED
        else:
            where = _PLAIN
    state[_WHERE] = where
    state[_RETURNED] = returned
    state[_OFFSET] += n
