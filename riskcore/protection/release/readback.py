"""Read a written file back, and compare every cell with what should be there.

The file is read as any input is, strictly and by the format in which it was written,
and compared column by column: values, blanks and the labels of new codes.
"""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from riskcore.common.arrays import Mask
from riskcore.data.files import formats
from riskcore.data.files.argus.metadata import read_metadata
from riskcore.data.files.arrow import array_of, decoded, import_pyarrow, is_text
from riskcore.data.files.csv import CsvFile
from riskcore.data.files.formulas import guard_formulas
from riskcore.data.files.joined import JoinedFile
from riskcore.data.files.labels import Labels, code_text
from riskcore.data.files.reading import Reading, beside_persons

Positions = NDArray[np.int64]


class ReadBackError(ValueError):
    """A written file is not what it should be."""


def _error(path: Path, what: str) -> ReadBackError:
    """Return the error of a file that is not written."""
    return ReadBackError(f"{path}: {what}; nothing is written")


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """What a file should hold."""

    columns: Mapping[str, Any]  # in the order of the file, records in their own order
    order: Positions | None  # positions of the records as they are written
    masks: Mapping[str, Mask]  # the values that must be missing
    # The labels that codes of some columns must have if they occur, by code as text.
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of records."""
        return len(next(iter(self.columns.values())))

    def column(self, name: str) -> Any:
        """Return a column as an array of Arrow, in the order of the file."""
        pyarrow = import_pyarrow()
        whole = decoded(_joined(array_of(self.columns[name])))
        return whole if self.order is None else whole.take(pyarrow.array(self.order))

    def mask(self, name: str) -> Any:
        """Return the values that must be missing, in the order of the file."""
        mask = self.masks.get(name)
        if mask is None:
            return False
        return mask if self.order is None else mask[self.order]


class _GzippedCsv(CsvFile):
    """A gzipped CSV file whose name does not say so yet."""

    def open(self) -> IO[bytes]:
        """Open the file, unpacked."""
        return cast("IO[bytes]", gzip.open(self.path))


def read_back(
    path: Path, parts: Sequence[Path], like: formats.Format | None, expected: Expected
) -> None:
    """Refuse a file, read from its parts, that does not hold what it should."""
    like = like or formats.Format("csv")
    unreadable = ValueError, OSError, import_pyarrow().ArrowException
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they were given for the input
        try:
            file = _opened(path, parts, like)
            names = file.header.names
            data, intake = file.read(text=True)
        except unreadable as error:
            what = f"the written file cannot be read back ({type(error).__name__})"
            raise _error(path, what) from None
    if sorted(names) != sorted(expected.columns):
        count = len(expected.columns)
        raise _error(path, f"the written file does not have the {count} columns asked")
    records = len(data[names[0]]) + intake.empty
    if records != expected.n:
        what = f"{records} records are read back instead of the {expected.n} expected"
        raise _error(path, what)
    differences = []
    for name in names:
        read, should = decoded(_joined(array_of(data[name]))), expected.column(name)
        if like.guard_formulas and is_text(should.type):
            should = guard_formulas(should)
        unequal = _unequal(read, should)
        unequal |= read.is_valid().to_numpy(zero_copy_only=False) & expected.mask(name)
        if unequal.any():
            wrong, first = np.count_nonzero(unequal), int(unequal.argmax()) + 1
            differences.append(f"{name!r} in {wrong} records, first in record {first}")
        if name in expected.labels:
            _compare_labels(path, name, should, expected.labels[name], intake.labels)
    if differences:
        what = "the written file differs from the protected data"
        raise _error(path, f"{what}: {'; '.join(differences)}")


def _opened(
    path: Path, parts: Sequence[Path], like: formats.Format
) -> formats.FileFormat:
    """Return the written file, whose parts have other names, to be read."""
    kind = formats.written_as(path, like)
    if like.joined is not None:
        persons = _opened(path, parts[:1], replace(like, joined=None))
        beside, own = beside_persons(path), like.joined.households.format()
        how = Reading(household_file=f"{beside}:{'='.join(like.joined.ids)}")
        return JoinedFile(persons, _opened(beside, parts[1:], own), how)
    if issubclass(kind, CsvFile):
        delimiter, packed = like.csv_at(path)
        encoding, codes = like.encoding, like.missing_codes
        reading = Reading(encoding, delimiter, missing_codes=codes)
        return (_GzippedCsv if packed else kind)(parts[0], reading)
    if len(parts) > 1:
        return kind(parts[0], Reading(metadata=read_metadata(parts[1])))
    return kind(parts[0], Reading(user_missing="codes" if kind.labelled else "missing"))


def _joined(column: Any) -> Any:
    """Return a column of Arrow in one piece; text has offsets for gigabytes."""
    pyarrow = import_pyarrow()
    if pyarrow.types.is_string(column.type):
        column = column.cast(pyarrow.large_string())
    chunked = isinstance(column, pyarrow.ChunkedArray)
    return column.combine_chunks() if chunked else column


def _unequal(read: Any, should: Any) -> Mask:
    """Return the mask of the values that differ, as numbers if they should be."""
    pyarrow, compute = import_pyarrow(), import_pyarrow("compute")
    try:
        if pyarrow.types.is_floating(should.type):
            return _unequal_numbers(read, should)
        if is_text(read.type) and not is_text(should.type):
            should = should.cast(read.type)
        if read.type != should.type:
            read = read.cast(should.type)
        if read.equals(should):
            return np.zeros(len(read), bool)
        differ = compute.fill_null(compute.not_equal(read, should), False)
        missing = compute.xor(compute.is_null(read), compute.is_null(should))
        either: Mask = compute.or_(differ, missing).to_numpy(zero_copy_only=False)
    except pyarrow.ArrowNotImplementedError:  # lists, and numbers for times
        pairs = zip(read.to_pylist(), should.to_pylist(), strict=True)
        return np.array([value != other for value, other in pairs], bool)
    except pyarrow.ArrowInvalid:  # text for numbers
        return np.ones(len(read), bool)
    return either


def _unequal_numbers(read: Any, should: Any) -> Mask:
    """Return the mask of the numbers that differ; nan is missing."""
    double = import_pyarrow().float64()
    values, other = (
        column.cast(double).to_numpy(zero_copy_only=False) for column in (read, should)
    )
    single = should.type.to_pandas_dtype()
    values, other = values.astype(single), other.astype(single)
    differ: Mask = (values != other) & ~(np.isnan(values) & np.isnan(other))
    return differ


def _compare_labels(
    path: Path,
    name: str,
    column: Any,
    labels: Mapping[str, str],
    written: Labels | None,
) -> None:
    """Refuse labels of codes that are not those expected, or of codes not there."""
    codes = map(code_text, column.drop_null().unique().to_pylist())
    should = {float(code): labels[code] for code in codes if code in labels}
    values = {} if written is None else written.values.get(name, {})
    read = {float(code): text for code, text in values.items()}
    # A program may cut long labels, and Stata labels whole numbers only.
    same = set(read) <= set(should) and all(
        should[code].startswith(text) for code, text in read.items()
    )
    if not same or any(code.is_integer() for code in set(should) - set(read)):
        raise _error(path, f"the written labels of {name!r} are not as expected")
