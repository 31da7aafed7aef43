"""Write CSV files: text quoted only where a reader needs it, floats to the last bit."""

from __future__ import annotations

import codecs
import gzip
import re
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

from riskcore.common.progress import Parts
from riskcore.data.files.argus.encoding import encodes
from riskcore.data.files.arrow import import_pyarrow
from riskcore.data.files.base_format import Format
from riskcore.data.files.formulas import guard_formulas
from riskcore.data.files.reading import DELIMITERS

_MARK = "\ufeff"
_ROWS = 1 << 16  # written at a time


def write_csv(
    tables: Iterable[Any],
    file: IO[bytes],
    path: Path,
    like: Format,
    progress: Parts | None = None,
) -> None:
    """Write the parts of a table into an open file."""
    delimiter, gzipped = like.csv_at(path)
    encoder = codecs.getincrementalencoder(like.encoding)()
    # No name and no time: the same columns give the same bytes.
    packed = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if gzipped else None
    with packed or nullcontext(file) as target:
        done = total = 0
        for i, table in enumerate(tables):
            total += table.num_rows
            try:
                if not i:
                    header = _header_line(table.column_names, delimiter)
                    target.write(encoder.encode(header))
                for batch in table.to_batches(max_chunksize=_ROWS):
                    text = rows_text(batch, delimiter, like)
                    target.write(encoder.encode(text))
                    done += batch.num_rows
                    if progress:
                        progress(done, total)
            except UnicodeEncodeError:
                raise _no_such_letters(table, like.encoding) from None


def _header_line(names: Sequence[str], delimiter: str) -> str:
    """Return the first line, without another delimiter outside quotes."""
    special = {*DELIMITERS, delimiter, *'"\r\n', _MARK}
    quoted = [
        '"' + name.replace('"', '""') + '"'
        if special & set(name) or not name.strip()
        else name
        for name in names
    ]
    return delimiter.join(quoted) + "\n"


def rows_text(batch: Any, delimiter: str, like: Format) -> str:
    """Return rows as lines of text."""
    compute = import_pyarrow("compute")
    # A reader of a single column may take any delimiter for the file's.
    special = delimiter if batch.num_columns > 1 else delimiter + DELIMITERS
    needy = f'[{re.escape(special)}"\r\n]|^$'
    fields = [_fields(column, needy, like) for column in batch.columns]
    lines = compute.binary_join_element_wise(
        *fields, _large(delimiter), null_handling="replace", null_replacement=""
    )
    return "\n".join([*lines.to_pylist(), ""])


def _fields(column: Any, needy: str, like: Format) -> Any:
    """Return a column as text; quote what matches the pattern or is a missing code."""
    pyarrow, compute = import_pyarrow(), import_pyarrow("compute")
    text = column.cast(pyarrow.large_string())
    if like.guard_formulas and not pyarrow.types.is_primitive(column.type):
        text = guard_formulas(text)
    needs_quotes = compute.match_substring_regex(text, needy)
    if like.missing_codes:
        among = compute.is_in(text, pyarrow.array(like.missing_codes, text.type))
        needs_quotes = compute.or_(needs_quotes, among)
    if not compute.any(needs_quotes).as_py():
        return text
    inner = compute.replace_substring(text, '"', '""')
    mark = _large('"')
    quoted = compute.binary_join_element_wise(mark, inner, mark, _large(""))
    return compute.if_else(needs_quotes, quoted, text)


def _large(text: str) -> Any:
    pyarrow = import_pyarrow()
    return pyarrow.scalar(text, pyarrow.large_string())


def _no_such_letters(table: Any, encoding: str) -> ValueError:
    """Return the error for text that an encoding cannot hold."""
    pyarrow, compute = import_pyarrow(), import_pyarrow("compute")
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not encodes(name, encoding):
            return ValueError(f"the column name {name!r} has no {encoding} form")
        text = column.cast(pyarrow.large_string())
        values = compute.unique(text.drop_null()).to_pylist()
        if bad := [value for value in values if not encodes(value, encoding)]:
            among = compute.is_in(text, pyarrow.array(bad, text.type))
            return ValueError(
                f"column {name!r}: {compute.sum(among).as_py()} values have no "
                f"{encoding} form, first {bad[0]!r}"
            )
    raise AssertionError("all text can be encoded")
