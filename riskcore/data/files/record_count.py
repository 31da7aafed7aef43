"""Count the records of SPSS, Stata and SAS files by the layout of their bytes.

pyreadstat returns the records that it finds: in a truncated file only the records
before the cut, and no more than the header states. So other code counts the records
here, from the layout of each format. Files that do not add up are refused.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple, NoReturn

import numpy as np

_PART = 80 << 16  # bytes read at a time, a multiple of 8 and of 80


class RecordCount(NamedTuple):
    """The number of records of a file."""

    records: int
    # Whether the file states the number or marks its end. If it does neither, a file
    # that was cut between two records looks whole.
    stated: bool


class _Bytes:
    """The bytes of a file, taken in order."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self.path = path
        self.file = file
        self.size = os.fstat(file.fileno()).st_size
        self.order = "<"

    @property
    def left(self) -> int:
        """Number of bytes that were not taken yet."""
        return self.size - self.file.tell()

    def refuse(self, why: str) -> NoReturn:
        """Refuse the file."""
        raise ValueError(
            f"{self.path}: the file is damaged: {why}. Get it again from its source"
        )

    def _check_length(self, n: int) -> None:
        """Refuse the file if it does not have that many more bytes."""
        if not 0 <= n <= self.left:
            self.refuse(
                f"it ends after {self.size:,} bytes, before its contents do"
                if n > 0
                else f"a part at byte {self.file.tell():,} has no valid length"
            )

    def take(self, n: int) -> bytes:
        """Return the next bytes."""
        self._check_length(n)
        return self.file.read(n)

    def skip(self, n: int) -> None:
        """Skip the next bytes."""
        self._check_length(n)
        self.file.seek(n, os.SEEK_CUR)

    def seek(self, place: int) -> None:
        """Go to a place in the file."""
        self.file.seek(0)
        self.skip(place)

    def numbers(self, code: str) -> tuple[Any, ...]:
        """Return the next numbers, given their format as for `struct`."""
        code = self.order + code
        return struct.unpack(code, self.take(struct.calcsize(code)))

    def expect(self, text: bytes) -> None:
        """Refuse the file unless the next bytes are the text."""
        place = self.file.tell()
        if self.take(len(text)) != text:
            self.refuse(f"{text.decode()!r} is not at byte {place:,}")

    def parts(self) -> Iterator[bytes]:
        """Yield all remaining bytes."""
        while part := self.file.read(_PART):
            yield part


@contextmanager
def _opened(path: Path) -> Iterator[_Bytes]:
    with path.open("rb") as file:
        yield _Bytes(path, file)


# --- SPSS ---

_HEADER = 176
_VARIABLE, _VALUES, _OF_VARIABLES, _DOCUMENT, _EXTENSION, _LAST = 2, 3, 4, 6, 7, 999
_CASES = 16  # the extension that states the number of cases in 64 bits
# Commands of compressed data; each other command, except zero, is a number.
_END, _LITERAL = 252, 253
_BYTECODE, _ZLIB = 1, 2


def count_spss(path: Path) -> RecordCount:
    """Count the records of a file of SPSS, compressed or not."""
    with _opened(path) as file:
        file.skip(64)
        if file.take(4)[0] == 0:
            file.order = ">"
        _, packing, _, stated = file.numbers("4i")
        file.seek(_HEADER)
        width, more = _spss_dictionary(file)
        if not width:
            file.refuse("it has no variables")
        marked = False
        if packing == _ZLIB:
            values, _ = _packed_values(file, _inflated(file))
            marked = True
        elif packing == _BYTECODE:
            values, marked = _packed_values(file, file.parts())
        else:
            values, rest = divmod(file.left, 8)
            if rest:
                file.refuse(
                    f"it ends within a record, or {rest} other bytes follow its data"
                )
        records, rest = divmod(values, width)
        if rest:
            file.refuse(
                f"after {records:,} whole records, {rest:,} of the {width:,} values of "
                "another follow"
            )
        stated_counts = {count for count in (stated, more) if count >= 0}
        if stated_counts - {records}:
            file.refuse(
                f"its header states {max(stated_counts - {records}):,} records, "
                f"its data hold {records:,}"
            )
        return RecordCount(records, bool(stated_counts) or marked)


def _spss_dictionary(file: _Bytes) -> tuple[int, int]:
    """Return the number of 8-byte values of a record, and of records stated, or -1."""
    width, records = 0, -1
    while True:
        (kind,) = file.numbers("i")
        if kind == _VARIABLE:
            _, labelled, missing = file.numbers("3i")
            file.skip(16)
            if labelled:
                file.skip((file.numbers("I")[0] + 3) // 4 * 4)
            file.skip(8 * abs(missing))
            width += 1
        elif kind == _VALUES:
            for _ in range(file.numbers("I")[0]):
                file.skip(8)
                file.skip((file.take(1)[0] + 8) // 8 * 8 - 1)
        elif kind == _OF_VARIABLES:
            file.skip(4 * file.numbers("I")[0])
        elif kind == _DOCUMENT:
            file.skip(80 * file.numbers("I")[0])
        elif kind == _EXTENSION:
            kind, size, count = file.numbers("3I")
            if (kind, size, count) == (_CASES, 8, 2):
                _, records = file.numbers("2q")
            else:
                file.skip(size * count)
        elif kind == _LAST:
            file.skip(4)
            return width, records
        else:
            file.refuse(f"a record of kind {kind} at byte {file.file.tell() - 4:,}")


def _packed_values(file: _Bytes, parts: Iterable[bytes]) -> tuple[int, bool]:
    """Return the number of values in compressed data, and whether the end is marked."""
    # Eight bytes are eight commands; eight more bytes follow each literal command.
    values = begin = 0
    rest, ended = b"", False
    for part in parts:
        part = rest + part
        whole = len(part) // 8 * 8
        rest = part[whole:]
        chunks = np.frombuffer(part[:whole], np.uint8).reshape(-1, 8)
        if not ended:
            literals = (chunks == _LITERAL).sum(1).tolist()
            places = []
            while begin < len(chunks):
                places.append(begin)
                begin += 1 + literals[begin]
            commands = chunks[places]
            ends = commands == _END
            if ended := bool(ends.any()):
                last = int(ends.any(1).argmax())
                final = commands[last, : int(ends[last].argmax())]
                values += int(np.count_nonzero(final))
                begin = places[last] + 1 + int(np.count_nonzero(final == _LITERAL))
                commands = commands[:last]
            values += int(np.count_nonzero(commands))
        if ended and chunks[begin:].any():
            file.refuse("other bytes follow the end of its data")
        begin = max(begin - len(chunks), 0)
    if begin or rest:
        file.refuse("it ends within a record, or other bytes follow its data")
    return values, ended


def _inflated(file: _Bytes) -> Iterator[bytes]:
    """Yield the blocks of a .zsav, which must fill the file as its trailer says."""
    header = file.file.tell()
    place, trailer, length = file.numbers("3q")
    if place != header or trailer + length != file.size:
        file.refuse(
            f"its data end at byte {trailer + length:,}, the file has {file.size:,}"
        )
    file.seek(trailer)
    *_, count = file.numbers("2q2i")
    if length != 24 + 24 * count:
        file.refuse("its trailer and its header state different numbers of blocks")
    blocks = [file.numbers("2q2i") for _ in range(count)]
    end, plain_end = header + 24, header
    for plain, packed, plain_size, packed_size in blocks:
        if (plain, packed) != (plain_end, end):
            file.refuse(f"a block of its data does not begin at byte {end:,}")
        end, plain_end = end + packed_size, plain_end + plain_size
        file.seek(packed)
        inflate = zlib.decompressobj()
        try:
            data = inflate.decompress(file.take(packed_size), plain_size + 1)
        except zlib.error as error:
            file.refuse(f"a block of its data at byte {packed:,}: {error}")
        if not inflate.eof or inflate.unused_data or len(data) != plain_size:
            file.refuse(f"a block of its data at byte {packed:,} has another size")
        yield data
    if end != trailer:
        file.refuse(f"other bytes follow the data, at byte {end:,}")


# --- Stata ---

_LONG = 118
_WIDTHS_117 = {32768: 8, 65526: 8, 65527: 4, 65528: 4, 65529: 2, 65530: 1}
_WIDTHS_111 = {251: 1, 252: 2, 253: 4, 254: 4, 255: 8}
_WIDTHS_OLD = {ord("b"): 1, ord("i"): 2, ord("l"): 4, ord("f"): 4, ord("d"): 8}
_LONGEST_117 = 2045


def count_stata(path: Path) -> RecordCount:
    """Count the records of a file of Stata."""
    with _opened(path) as file:
        first = file.take(1)[0] if file.size else 0
        if first == ord("<"):
            file.seek(0)
            return RecordCount(_count_tagged(file), stated=True)
        return RecordCount(_count_untagged(file, first), stated=True)


def _count_tagged(file: _Bytes) -> int:
    """Return the records of a file of Stata 13 or later."""
    file.expect(b"<stata_dta><header><release>")
    release = file.take(3)
    if not release.isdigit():
        file.refuse(f"its release is {release!r}, not a number")
    file.expect(b"</release><byteorder>")
    file.order = ">" if file.take(3) == b"MSF" else "<"
    file.expect(b"</byteorder><K>")
    (columns,) = file.numbers("H" if int(release) <= _LONG else "I")
    file.expect(b"</K><N>")
    (records,) = file.numbers("I" if int(release) < _LONG else "Q")
    file.expect(b"</N><label>")
    file.skip(file.numbers("B" if int(release) < _LONG else "H")[0])
    file.expect(b"</label><timestamp>")
    file.skip(file.take(1)[0])
    file.expect(b"</timestamp></header><map>")
    places = file.numbers("14Q")
    file.seek(places[2])
    file.expect(b"<variable_types>")
    kinds = file.numbers(f"{columns}H")
    file.expect(b"</variable_types>")
    width = _width(file, kinds, _WIDTHS_117, _LONGEST_117, 0)
    file.seek(places[9])
    file.expect(b"<data>")
    _skip_data(file, records, width)
    file.expect(b"</data>")
    if file.file.tell() != places[10]:
        file.refuse(f"its map has the end of the data at byte {places[10]:,}")
    file.expect(b"<strls>")
    file.seek(places[11] - len("</strls>"))
    file.expect(b"</strls><value_labels>")
    last = b"</value_labels></stata_dta>"
    file.seek(max(file.size - len(last) - 2, 0))
    if not file.take(file.left).rstrip(b"\r\n").endswith(last):
        file.refuse("it is cut, or other bytes follow its end")
    return int(records)


def _count_untagged(file: _Bytes, release: int) -> int:
    """Return the records of a file of Stata 12 or earlier."""
    file.order = ">" if file.take(1)[0] == 1 else "<"
    file.skip(2)
    columns, records = file.numbers("HI")
    name = 9 if release < 110 else 33
    text = 32 if release < 108 else 81
    form = 7 if release < 105 else 12 if release < 114 else 49
    file.skip(text + (0 if release < 105 else 18))
    kinds = tuple(file.take(columns))
    file.skip(columns * (name + form + name + text) + 2 * (columns + 1))
    while release >= 105:
        kind, length = file.numbers("BH" if release < 110 else "BI")
        file.skip(length)
        if not kind:
            break
    if release < 111:
        width = _width(file, kinds, _WIDTHS_OLD, 255, 127)
    else:
        width = _width(file, kinds, _WIDTHS_111, 244, 0)
    _skip_data(file, records, width)
    place = file.file.tell()
    # Labels follow up to the end; before Stata 6 they have another layout.
    names = (9, 33) if release < 110 else (33,)
    if release >= 108 and not any(
        _are_labels(file, place, name_width) for name_width in names
    ):
        file.refuse(f"bytes that are not labels follow its {records:,} records")
    return int(records)


def _width(
    file: _Bytes,
    kinds: tuple[int, ...],
    widths: dict[int, int],
    longest: int,
    shift: int,
) -> int:
    """Return the bytes of a record of Stata; text is kind - shift bytes wide."""
    wrong = [
        kind for kind in kinds if kind not in widths and not shift < kind <= longest
    ]
    if wrong or not kinds:
        file.refuse(f"variables of kind {wrong[0]}" if wrong else "it has no variables")
    return sum(widths.get(kind, kind - shift) for kind in kinds)


def _skip_data(file: _Bytes, records: int, width: int) -> None:
    """Skip the records of Stata; refuse the file if it has fewer."""
    if file.left < records * width:
        file.refuse(
            f"its header states {records:,} records, its data hold no more than "
            f"{file.left // width:,}"
        )
    file.skip(records * width)


def _are_labels(file: _Bytes, place: int, name: int) -> bool:
    """Tell whether tables of labels fill the rest of a file of Stata."""
    file.seek(place)
    while file.left:
        if file.left < 4 + name + 3:
            return False
        (length,) = file.numbers("I")
        file.skip(name + 3)
        if length > file.left:
            return False
        file.skip(length)
    return True


# --- SAS ---

_LINE = 80
_RECORD = b"HEADER RECORD*******"
# The kind, length and place in a record, among the 140 bytes about a variable.
_ABOUT = struct.Struct(">H2xH78xI52x")
_TEXT = 2


def count_transport(path: Path) -> RecordCount:
    """Count the records of a SAS transport file; version 8 states the number."""
    with _opened(path) as file:
        file.order = ">"
        eight = _header(file, "LIBRARY", "LIBV8")[0] == "LIBV8"
        file.skip(2 * _LINE)
        _header(file, "MEMBV8" if eight else "MEMBER")
        _header(file, "DSCPTV8" if eight else "DSCRPTR")
        file.skip(2 * _LINE)
        columns = _header(file, "NAMSTV8" if eight else "NAMESTR")[1][5:10]
        about = [
            _ABOUT.unpack(file.take(_ABOUT.size)) for _ in range(_whole(file, columns))
        ]
        file.skip(-file.file.tell() % _LINE)
        width = sum(length for _, length, _ in about)
        # In files of SAS itself the places are not those of the data, but they fill a
        # record, too; some programs state no places.
        parts = sorted((place, length) for _, length, place in about)
        ends = [0, *(place + length for place, length in parts)]
        if any(place for place, _ in parts) and ends[:-1] != [at for at, _ in parts]:
            file.refuse("the widths of its variables do not fit their places")
        if not width:
            file.refuse("it has no variables")
        stated = None
        if eight:
            stated = _stated_after_labels(file)
        else:
            _header(file, "OBS")
        blank = all(kind == _TEXT for kind, *_ in about)
        return _transport_records(file, width, stated, blank=blank)


def _header(file: _Bytes, *names: str) -> tuple[str, bytes]:
    """Return the name in the next header, one of several, and the numbers in it."""
    place = file.file.tell()
    line = file.take(_LINE)
    name = line[20:28].decode("ascii", "replace").strip()
    if not line.startswith(_RECORD) or name not in names:
        file.refuse(f"no header {' or '.join(names)} at byte {place:,}")
    return name, line[48:78]


def _whole(file: _Bytes, text: bytes) -> int:
    """Return the whole number in a header."""
    if not text.strip().isdigit():
        file.refuse(f"a header has {text!r} where a number stands")
    return int(text)


def _stated_after_labels(file: _Bytes) -> int | None:
    """Return the number of records that a file of version 8 states, if it does."""
    name, numbers = _header(file, "OBSV8", "LABELV8", "LABELV9")
    if name != "OBSV8":
        for _ in range(_whole(file, numbers[:5])):
            _, *lengths = file.numbers("3H" if name == "LABELV8" else "5H")
            file.skip(sum(lengths))
        file.skip(-file.file.tell() % _LINE)
        _, numbers = _header(file, "OBSV8")
    return _whole(file, numbers[:15]) or None if numbers.strip() else None


def _transport_records(
    file: _Bytes, width: int, stated: int | None, *, blank: bool
) -> RecordCount:
    """Count the records, which blanks follow up to the end of a line."""
    size = file.left
    if size % _LINE:
        file.refuse(f"its {file.size:,} bytes are not lines of {_LINE} bytes")
    filled = done = 0
    for part in file.parts():
        if _RECORD + b"MEMB" in part:
            raise ValueError(
                f"{file.path}: several data sets in one file; write each to a file of "
                "its own"
            )
        filled = done + len(part.rstrip(b" ")) if part.strip(b" ") else filled
        done += len(part)
    records = -(-filled // width) if stated is None else stated
    end = records * width
    fits = filled <= end <= size < end + _LINE
    if fits and (blank or not records or filled > end - width):
        return RecordCount(records, stated is not None)
    if stated is not None:
        file.refuse(
            f"its header states {stated:,} records, its data hold {size // width:,}"
        )
    if end > size:
        file.refuse(f"it ends within record {records:,}")
    file.refuse(
        f"{size - end:,} blanks follow record {records:,}: perhaps records without any "
        "value"
    )


# Places in the header of a .sas7bdat, and marks on its pages.
_WIDE, _SHIFTED, _ORDER, _SIZES = 32, 35, 37, 196
_YES = 0x33
_KINDS, _DATA, _MIXED, _NO_RECORDS = 0x0F00, 0x0100, 0x0200, 0x9000
_PACKED, _PLAIN = 4, 0
_ROWS = 0xF7F7F7F7
_SIGNATURES = frozenset((_ROWS, 0xF6F6F6F6, 0xFFFFFC00, 0xFFFFFBFE))


def count_sas(path: Path) -> RecordCount:
    """Count the records on the pages of a .sas7bdat file."""
    with _opened(path) as file:
        head = file.take(_SIZES)
        wide = head[_WIDE] == _YES
        file.order = "<" if head[_ORDER] else ">"
        file.skip(4 if head[_SHIFTED] == _YES else 0)
        begin, size, pages = file.numbers("IIQ" if wide else "III")
        if not size or begin + size * pages != file.size:
            file.refuse(
                f"its header states {pages:,} pages, {begin + size * pages:,} bytes in "
                f"all, the file has {file.size:,}"
            )
        file.seek(begin)
        records, numbers = 0, None
        for _ in range(pages):
            page_records, said = _on_page(file, file.take(size), wide=wide)
            records += page_records
            numbers = said if numbers is None else numbers
        stated, deleted = numbers or (0, 0)
        if records not in (stated, stated - deleted):  # deleted ones may be gone
            file.refuse(f"it states {stated:,} records, its pages hold {records:,}")
        return RecordCount(stated - deleted, stated=True)


def _on_page(
    file: _Bytes, page: bytes, *, wide: bool
) -> tuple[int, tuple[int, int] | None]:
    """Return the records on a page, and if the page states them those of the file."""
    # Records marked as deleted are among those of the file; their number follows.
    place, pointer = (40, "QQBB6x") if wide else (24, "IIBB2x")
    pointer = file.order + pointer
    kind, blocks, count = struct.unpack_from(f"{file.order}3H", page, place - 8)
    if kind & _KINDS == _DATA:
        return blocks, None
    if kind & _NO_RECORDS or place + count * struct.calcsize(pointer) > len(page):
        return 0, None
    # On a mixed page records without a pointer follow the blocks that have one.
    records, numbers = blocks - count if kind & _KINDS == _MIXED else 0, None
    for _ in range(count):
        begin, length, packing, is_record = struct.unpack_from(pointer, page, place)
        place += struct.calcsize(pointer)
        if packing == _PACKED and length:
            records += 1
        if packing != _PLAIN or length < 8 or begin + length > len(page):
            continue
        mark = struct.unpack_from(f"{file.order}2I", page, begin)
        signature = mark[1] if wide and mark[0] in (0, 0xFFFFFFFF) else mark[0]
        if signature == _ROWS:
            form, at = ("2Q", 48) if wide else ("2I", 24)
            numbers = struct.unpack_from(file.order + form, page, begin + at)
        elif is_record and signature not in _SIGNATURES and signature < 0xFFFFFFF8:
            records += 1
    return records, numbers
