"""Tables of errors in files: frames, text or pictures, by suffix."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

from riskcore.accuracy.error_text import markdown
from riskcore.accuracy.plots import plot
from riskcore.accuracy.table import columns_of, summary
from riskcore.common.needs import need
from riskcore.data.files import formats, replace

_TABLES = (".csv", ".tsv", ".gz", ".parquet", ".pq")
_TEXT = ".md"
PICTURES = (".png", ".svg", ".pdf")


def write(path: str | Path, table: Any, *, overwrite: bool = False) -> Path:
    """
    Write an error table to a file, whole or not at all.

    Parameters
    ----------
    path : str or pathlib.Path
        The suffix selects the format: ``.csv``, ``.tsv``, ``.csv.gz`` and ``.parquet``
        hold the table to the last bit (nan is an empty field of a CSV), ``.md`` its
        `summary` and the table in Markdown, ``.png``, ``.svg`` and ``.pdf`` the `plot`.
    table : frame or dict
        The result of `error_table`.
    overwrite : bool, optional
        Whether an existing file may be replaced.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    ImportError
        If pyarrow, for a table, or matplotlib, for a plot, is not installed.
    FileExistsError
        If the file exists and ``overwrite`` is not set.
    OSError
        If the file cannot be written.
    ValueError
        For another suffix, or a table that cannot be drawn.

    Examples
    --------
    >>> import tempfile
    >>> from riskcore import accuracy
    >>> table = accuracy.error_table("franconi", 4, 0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = accuracy.write(f"{folder}/errors.md", table)
    ...     path.read_text().splitlines()[-1]
    '| 4 | 0.5 | franconi | 0.1428571429 | 0.1401861528 | 0.0191 | 9.62e+13 |'
    """
    path = check_writable(path, overwrite=overwrite)
    suffix = path.suffix.lower()
    if suffix in _TABLES:
        return formats.write(path, columns_of(table), overwrite=overwrite)
    if suffix == _TEXT:
        content = f"{markdown(summary(table))}\n\n{markdown(table)}\n".encode()
    else:
        picture = BytesIO()
        plot(table).savefig(picture, format=suffix[1:], dpi=150)
        content = picture.getvalue()
    with replace.replacing_all(overwrite) as create:
        create(path).write(content)
    return path


def check_writable(path: str | Path, *, overwrite: bool = False) -> Path:
    """Return the path if `write` could write it; call this before long work.

    Parameters
    ----------
    path : str or pathlib.Path
        The file to write.
    overwrite : bool, optional
        Whether an existing file may be replaced.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    ImportError, FileExistsError, OSError, ValueError
        As `write` does.

    Examples
    --------
    >>> check_writable("errors.md").name
    'errors.md'
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix in _TABLES:
        return formats.check_writable(path, overwrite=overwrite)
    if suffix not in (_TEXT, *PICTURES):
        raise ValueError(
            f"{path}: can write .csv, .tsv, .csv.gz, .parquet, .md, .png, .svg and "
            ".pdf only"
        )
    if suffix in PICTURES:
        need("plots", "matplotlib")
    replace.refuse_existing(path, overwrite)
    return path
