"""Columns of a data set as numbers: codes of keys, weights, household ids.

A data set is any eager frame that narwhals takes (pandas, polars, pyarrow, modin, ...),
a narwhals frame, or a mapping of column names to arrays. Missing is what the holder of
the data calls missing: null, None, NaN, NaT, a masked element.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common import arguments
from riskcore.common.missing_column import no_such_column
from riskcore.common.threads import in_threads, usual_threads
from riskcore.engines.door import engine_of
from riskcore.files.arrow import import_pyarrow, in_plain_layout, is_text
from riskcore.microdata.count import THREADED, count
from riskcore.microdata.unsigned import Codes, mark_levels, rank_levels

Array = NDArray[Any]
# Labels in sorted order, and the position among them of every value.
Coded = tuple[Array, Array]
# Records of text that are coded at a time, and bytes of text that is short.
_BATCH, _SHORT = 1 << 18, 32


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """The columns of a data set, whatever holds them.

    Attributes
    ----------
    columns : dict
        NumPy arrays or narwhals series by column name, each of length ``n``.
    n : int
        Number of records.

    Examples
    --------
    >>> Records.of({"sex": ["m", "f"], "age": [31, 47]}).n
    2
    """

    columns: Mapping[Hashable, Any]
    n: int

    @classmethod
    def of(cls, data: Any) -> Records:
        """Read the columns of ``data``.

        Raises
        ------
        TypeError
            If ``data`` is no eager frame or mapping, or an entry of a mapping is not an
            array, a list or a series.
        ValueError
            If the columns differ in length, share a name, or hold no records.
        """
        columns: Mapping[Hashable, Any]
        if isinstance(data, Mapping):
            columns = {name: _as_column(name, values) for name, values in data.items()}
            lengths = {name: len(column) for name, column in columns.items()}
            if len(set(lengths.values())) > 1:
                raise ValueError(f"columns differ in length: {lengths}")
            n = max(lengths.values(), default=0)
        else:
            frame = _frame(data)
            columns, n = _FrameColumns(frame), len(frame)
        if n == 0 or not columns:
            raise ValueError("the data hold no records")
        return cls(columns, n)

    def column(self, name: Hashable) -> Any:
        """Return one column.

        Raises
        ------
        KeyError
            If there is none of this name; the message lists those that there are.
        """
        if name in self.columns:
            return self.columns[name]
        raise no_such_column([name], self.columns)


@dataclass(frozen=True, slots=True, eq=False)
class CodedColumn:
    """A column as codes of its categories.

    Attributes
    ----------
    name : hashable
        The column's name.
    codes : uint8, uint16 or uint32 ndarray, shape (n,)
        For each record the position of its value in ``labels``; ``len(labels)`` if
        the value is missing.
    labels : ndarray
        The values that occur, in sorted order.
    missing : int
        Number of records whose value is missing.
    """

    name: Hashable
    codes: Codes
    labels: Array
    missing: int

    @property
    def levels(self) -> int:
        """Number of categories, missing being one if it occurs."""
        return len(self.labels) + (self.missing > 0)


def code_column(records: Records, name: Hashable) -> CodedColumn:
    """Code the values of a column by their rank.

    Values of any hashable type that can be ordered will do. Columns of mixed types are
    ordered by type name first; values that are equal are one category.

    Parameters
    ----------
    records : Records
        The data.
    name : hashable
        The column.

    Returns
    -------
    CodedColumn
        The codes do not depend on the order of the records.

    Raises
    ------
    KeyError
        If there is no such column.
    TypeError
        If its values cannot be compared or hashed.

    Examples
    --------
    >>> column = code_column(Records.of({"age": [47, 31, None, 47]}), "age")
    >>> column.codes, list(column.labels), column.missing
    (array([1, 0, 2, 1], dtype=uint8), [31, 47], 1)
    """
    column = records.column(name)
    code = _code_array if isinstance(column, np.ndarray) else _code_series
    try:
        (labels, codes), missing = code(column)
    except (TypeError, OverflowError) as error:  # of times beyond the year 9999
        raise TypeError(
            f"key {name!r}: {error}; a key has text, numbers, times or other values "
            "that have an order"
        ) from None
    levels = len(labels) + (missing is not None)
    dtype = np.min_scalar_type(max(levels - 1, 0))
    if missing is None:
        return CodedColumn(name, codes.astype(dtype, copy=False), labels, 0)
    all_codes = np.full(records.n, len(labels), dtype)
    all_codes[~missing] = codes
    return CodedColumn(name, all_codes, labels, int(missing.sum()))


def key_names(keys: Iterable[Hashable]) -> list[Hashable]:
    """Return the names of the key variables as a list.

    Raises
    ------
    TypeError
        If ``keys`` is no list of names: a string, or columns themselves.
    ValueError
        If ``keys`` is empty or names a column twice.
    """
    names = arguments.names("keys", keys)
    if not names:
        raise ValueError("keys is empty: name at least one key variable")
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise ValueError(f"keys name a column more than once: {_listed(twice)}")
    return names


def code_keys(records: Records, keys: Iterable[Hashable]) -> list[CodedColumn]:
    """Code the key variables of a file.

    Parameters
    ----------
    records : Records
        The data.
    keys : iterable of hashable
        Names of the key variables, at least one.

    Raises
    ------
    KeyError
        If a key is no column.
    TypeError
        If ``keys`` is a string, or the values of a key cannot be ordered.
    ValueError
        If ``keys`` is empty or names a column twice.
    """
    keys = key_names(keys)
    for key in keys:
        records.column(key)
    if records.n < THREADED:
        return [code_column(records, key) for key in keys]
    return in_threads(usual_threads(), code_column, [(records, key) for key in keys])


def weights(records: Records, name: Hashable) -> NDArray[np.float64]:
    """Return the sampling weights: positive, finite doubles.

    Parameters
    ----------
    records : Records
        The data.
    name : hashable
        The column of weights.

    Raises
    ------
    KeyError
        If there is no such column.
    TypeError
        If it is not a column of real numbers (text is not read as numbers).
    ValueError
        If weights are missing, infinite, zero or negative; the message counts them.

    Examples
    --------
    >>> weights(Records.of({"w": [10, 2.5]}), "w")
    array([10. ,  2.5])
    """
    column = records.column(name)
    read = _real_array if isinstance(column, np.ndarray) else _real_series
    try:
        weight = np.ascontiguousarray(read(column))
    except TypeError as error:
        raise TypeError(f"weight {name!r}: {error}, not real numbers") from None
    except OverflowError:
        raise ValueError(f"weight {name!r}: an integer beyond 1.8e308") from None
    if not (weight.min() > 0 and weight.max() < np.inf):
        faults = {
            "missing": int(np.isnan(weight).sum()),
            "infinite": int(np.isinf(weight).sum()),
            "zero or negative": int(((weight <= 0) & np.isfinite(weight)).sum()),
        }
        counted = ", ".join(f"{k} {fault}" for fault, k in faults.items() if k)
        first = int(np.argmin((weight > 0) & (weight < np.inf)))
        raise ValueError(
            f"weight {name!r}: {counted} in {records.n:,} records, first in record "
            f"{first + 1:,}; a weight is positive and finite"
        )
    return weight


def household_codes(records: Records, name: Hashable) -> NDArray[np.int64]:
    """Return the number of each record's household.

    Parameters
    ----------
    records : Records
        The data; the members of a household need not be neighbours.
    name : hashable
        The column of household ids, of any type.

    Returns
    -------
    int64 ndarray, shape (n,)
        Equal for equal ids, from 0, in no particular order.

    Raises
    ------
    KeyError
        If there is no such column.
    ValueError
        If ids are missing.

    Examples
    --------
    >>> household_codes(Records.of({"hh": [70, 12, 70]}), "hh")
    array([1, 0, 1])
    """
    column = records.column(name)
    if _is_text(column):
        # The holder's own dictionary: to put many ids in order is slow, and idle here.
        short = _short_text_codes(column)
        codes = _text_dictionary(column)[0] if short is None else short
        missing = int(np.count_nonzero(codes < 0))
    else:
        coded = code_column(records, name)
        codes, missing = coded.codes, coded.missing
    if missing:
        raise ValueError(
            f"household {name!r}: missing in {missing} of {records.n} records"
        )
    return codes.astype(np.int64)


def plain_value(value: Any) -> Any:
    """Return a NumPy scalar as the Python value it stands for; times as they are.

    Examples
    --------
    >>> plain_value(np.int8(3)), plain_value(np.datetime64(3, "D"))
    (3, np.datetime64('1970-01-04'))
    """
    # item() of a time in nanoseconds is an integer.
    number = isinstance(value, np.generic) and value.dtype.kind not in "mM"
    return value.item() if number else value


def with_columns(data: Any, columns: Mapping[Any, Any]) -> Any:
    """Return the data with columns added or replaced, the rest untouched.

    Parameters
    ----------
    data : frame or mapping
        Any eager frame that narwhals takes, or a mapping of column names to arrays.
    columns : mapping of column names to native series, or arrays for a mapping

    Returns
    -------
    frame or dict
        For a frame the same type of frame; a narwhals frame gives its native frame.

    Examples
    --------
    >>> with_columns({"a": [1, 2]}, {"b": [3, 4]})
    {'a': [1, 2], 'b': [3, 4]}
    """
    if isinstance(data, Mapping):
        return {**data, **columns}
    import narwhals.stable.v2 as nw

    frame = nw.from_native(data, eager_only=True, pass_through=False)
    series = [
        nw.from_native(new, series_only=True).alias(name)  # Arrow's have no names
        for name, new in columns.items()
    ]
    return frame.with_columns(*series).to_native()


def _listed(names: Sequence[Hashable]) -> str:
    return ", ".join(map(repr, names))


class _FrameColumns(Mapping[Hashable, Any]):
    """The columns of a narwhals frame, each made when it is asked for."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._names = dict.fromkeys(frame.columns)

    def __getitem__(self, name: Hashable) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return _in_plain_layout(self._frame.get_column(name))

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _frame(data: Any) -> Any:
    import narwhals.stable.v2 as nw
    from narwhals.exceptions import DuplicateError

    engine = engine_of(data)
    if engine is not None:
        raise engine.refuse_single("the data")
    try:
        frame = nw.from_native(data, pass_through=True)
    except DuplicateError as error:
        said = " ".join(str(error).split())
        raise ValueError(f"columns share a name: {said}") from None
    if not isinstance(frame, nw.DataFrame):
        raise TypeError(
            "data is a frame (pandas, polars, pyarrow, ...) or a mapping of column "
            f"names to arrays, not {type(data).__name__}"
        )
    return frame


def _as_column(name: Hashable, values: Any) -> Any:
    """Return a NumPy array or narwhals series for an entry of a mapping."""
    if isinstance(values, (list, tuple, range)):
        # Not np.array: it turns [1, "a"] into text and cuts trailing NULs off.
        return np.fromiter(values, object, len(values))
    if not isinstance(values, np.ndarray):
        import narwhals.stable.v2 as nw

        values = nw.from_native(values, allow_series=True, pass_through=True)
        if isinstance(values, nw.Series):
            return _in_plain_layout(values)
        if not hasattr(values, "__array__"):
            raise TypeError(f"column {name!r} is a {type(values).__name__}: no column")
        values = np.asarray(values)
    if values.ndim != 1:
        raise TypeError(f"column {name!r} has {values.ndim} dimensions")
    return values


def _in_plain_layout(series: Any) -> Any:
    """Return a series of Arrow without views and runs; others as they are."""
    if not series.implementation.is_pyarrow():
        return series
    import narwhals.stable.v2 as nw

    native = series.to_native()
    plain = in_plain_layout(native)
    if plain is native:
        return series
    return nw.from_native(plain, series_only=True).alias(series.name)


def _code_array(values: Array) -> tuple[Coded, NDArray[np.bool_] | None]:
    """Code an array; also return which elements are missing, None if none is."""
    masked: Any = False
    if isinstance(values, np.ma.MaskedArray):
        masked, values = np.ma.getmaskarray(values), values.data
    kind = values.dtype.kind
    if kind in "OST":
        return _code_objects(values.tolist(), masked)
    if kind not in _CODERS:
        raise TypeError(f"values of type {values.dtype} cannot be ordered")
    values = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
    # NaN and NaT differ from themselves.
    unequal = values != values if kind in "fmM" else False
    missing = np.broadcast_to(masked | unequal, values.shape)
    if not missing.any():
        return _CODERS[kind](values), None
    return _CODERS[kind](values[~missing]), missing


def _code_series(series: Any) -> tuple[Coded, NDArray[np.bool_] | None]:
    """Code a narwhals series; also return which elements are missing."""
    import narwhals.stable.v2 as nw

    if _is_text(series):
        codes, labels = _text_dictionary(series)
        return _code_dictionary(codes, labels())
    dtype = series.dtype
    if dtype.is_float():
        return _code_array(series.to_numpy())
    if dtype == nw.Time or (dtype == nw.Datetime and dtype.time_zone is not None):
        code = _code_ticks
    elif dtype in (nw.Boolean, nw.Date, nw.Datetime, nw.Duration) or (
        dtype.is_integer() and dtype not in (nw.Int128, nw.UInt128)
    ):
        code = _code_plain
    else:
        return _code_objects(series.to_list(), False)
    if series.null_count() == 0:
        return code(series), None
    return code(series.drop_nulls()), series.is_null().to_numpy().astype(bool)


def _code_plain(series: Any) -> Coded:
    coded, _ = _code_array(series.to_numpy())
    return coded


def _code_ticks(series: Any) -> Coded:
    """Code times of day, or instants of a zone, as the integers that hold them.

    Python's own end at microseconds, and are equal in the hour that clocks repeat.
    """
    import narwhals.stable.v2 as nw

    of_day = series.dtype == nw.Time
    if of_day and not series.implementation.is_polars():
        pyarrow = import_pyarrow()
        # In two steps: those of Arrow may have 32 bits.
        whole = series.to_arrow().cast(pyarrow.time64("ns")).cast(pyarrow.int64())
    else:
        whole = series.cast(nw.Int64)
    ticks = whole.to_numpy()
    numbers, codes = _code_integers(np.ascontiguousarray(ticks, np.int64))
    one_of_each = np.zeros(len(numbers), np.int64)
    one_of_each[codes] = np.arange(len(ticks))
    shown = series[one_of_each].to_list()
    if len(set(map(str, shown))) < len(shown):
        unit = "ns" if of_day else series.dtype.time_unit
        return numbers.view(f"{'m' if of_day else 'M'}8[{unit}]"), codes
    return np.fromiter(shown, object, len(shown)), codes


def _is_text(column: Any) -> bool:
    """Tell whether a column is a series of text or categories with a dictionary."""
    import narwhals.stable.v2 as nw

    if not isinstance(column, nw.Series):
        return False
    if column.dtype not in (nw.String, nw.Categorical, nw.Enum):
        return False
    holder = column.implementation
    if holder.is_pyarrow():
        # A dictionary of other values is coded as these.
        kind = column.to_native().type
        return is_text(getattr(kind, "value_type", kind))
    return holder.is_pandas_like() or holder.is_polars()


def _text_dictionary(
    series: Any,
) -> tuple[NDArray[np.integer[Any]], Callable[[], list[Any]]]:
    """Return positions in a list of labels, -1 for missing, and what gives the list.

    The labels differ from each other and none is missing; some may not occur.
    """
    if series.implementation.is_pandas_like():
        values = series.to_pandas()
        codes, labels = values.factorize()
        if labels.hasnans or not labels.is_unique:  # those of Arrow's dictionaries
            codes, labels = values.astype(object).factorize()
        return codes, labels.tolist
    if series.implementation.is_polars():
        import polars

        native = series.to_native()
        labels = native.unique().drop_nulls().cast(polars.String)
        codes = native.cast(polars.Enum(labels)).to_physical().cast(polars.Int64)
        return codes.fill_null(-1).to_numpy(), labels.to_list
    pyarrow, native = import_pyarrow(), series.to_native()
    if not pyarrow.types.is_dictionary(native.type):
        return _coded_in_batches(native)
    if sum(len(chunk.dictionary) for chunk in native.chunks) > len(native):
        # To unify many large dictionaries takes time that grows with their square.
        return _coded_in_batches(native.cast(native.type.value_type))
    native = native.unify_dictionaries().combine_chunks()
    labels = native.dictionary
    if labels.null_count or len(labels.unique()) < len(labels):  # as given
        native = native.cast(labels.type).dictionary_encode()
        labels = native.dictionary
    codes = native.indices.cast(pyarrow.int64()).fill_null(-1).to_numpy()
    return codes, labels.to_pylist


def _short_text_codes(series: Any) -> NDArray[np.int64] | None:
    """Return codes of Arrow's text, equal for equal text and -1 for missing.

    Its letters are taken as numbers of 64 bits: many ids are coded by counting, which
    is faster than a dictionary. None if the text is not short, or has zero bytes, with
    which shorter text is filled up.
    """
    if not series.implementation.is_pyarrow():
        return None
    pyarrow, compute = import_pyarrow(), import_pyarrow("compute")
    column = series.to_native()
    if not is_text(column.type):
        return None
    width = compute.max(compute.binary_length(column)).as_py() or 0
    if not 0 < width <= _SHORT:
        return None
    letters = np.zeros((len(column), -(-width // 8) * 8), np.uint8)
    valid = np.ones(len(column), bool)
    for begin in range(0, len(column), _BATCH):
        batch = column.slice(begin, _BATCH).combine_chunks()
        end = begin + len(batch)
        valid[begin:end] = batch.is_valid().to_numpy(zero_copy_only=False)
        batch = batch.fill_null("").cast(pyarrow.large_string())
        ends = np.frombuffer(batch.buffers()[1], np.int64)[batch.offset :]
        ends = ends[: len(batch) + 1]
        data = np.frombuffer(batch.buffers()[2] or b"", np.uint8)[ends[0] : ends[-1]]
        if not data.all():
            return None
        filled = np.arange(width) < np.diff(ends)[:, None]
        letters[begin:end, :width][filled] = data
    codes: Array = np.zeros(len(column), np.uint64)
    for word in letters.view(np.uint64).T:
        _, ranks = _code_integers(np.ascontiguousarray(word))
        wide = ranks.astype(np.uint64)
        levels = wide.max() + np.uint64(1)
        _, codes = _code_integers(codes.astype(np.uint64) * levels + wide)
    found: NDArray[np.int64] = np.where(valid, codes.astype(np.int64), -1)
    return found


def _coded_in_batches(
    column: Any,
) -> tuple[NDArray[np.int64], Callable[[], list[Any]]]:
    """Return positions of Arrow's text in a list of labels, and what gives the list.

    Arrow codes a batch, and what the batches have in common is found here: the time
    grows with the records, and between two batches Ctrl-C is heard.
    """
    known: dict[str, int] = {}
    codes = np.empty(len(column), np.int64)
    for begin in range(0, len(column), _BATCH):
        batch = column.slice(begin, _BATCH).combine_chunks().dictionary_encode()
        labels = batch.dictionary.to_pylist()
        ranks = np.full(len(labels) + 1, -1, np.int64)
        ranks[:-1] = [known.setdefault(label, len(known)) for label in labels]
        places = batch.indices.fill_null(len(labels)).to_numpy()
        codes[begin : begin + len(batch)] = ranks[places]
    return codes, lambda: [*known]


def _code_objects(values: list[Any], masked: Any) -> tuple[Coded, Any]:
    """Code any hashable values."""
    if any(issubclass(kind, datetime) for kind in set(map(type, values))):
        # Python compares those of one zone by the clock, which repeats an hour.
        values = [_in_utc(value) for value in values]
    # By type too: 1, 1.0 and True share a hash, and which one came first must not show.
    seen: dict[tuple[type, Any], int] = {}
    codes = np.fromiter(
        (seen.setdefault((type(value), value), len(seen)) for value in values),
        np.int64,
        len(values),
    )
    return _code_dictionary(np.where(masked, -1, codes), [value for _, value in seen])


def _in_utc(value: Any) -> Any:
    zoned = isinstance(value, datetime) and value.tzinfo
    return value.astimezone(UTC) if zoned else value


def _code_dictionary(
    codes: NDArray[np.integer[Any]], labels: list[Any]
) -> tuple[Coded, NDArray[np.bool_] | None]:
    """Code values given as positions in a list, -1 for missing."""
    used = np.zeros(len(labels) + 1, bool)
    used[codes] = True
    observed = np.flatnonzero(used[:-1])
    rank = np.full(len(labels) + 1, -1, np.int32)
    rank[observed], ordered = _rank_labels([labels[i] for i in observed])
    ranks = rank[codes]
    missing = ranks < 0
    if not missing.any():
        return (ordered, ranks), None
    return (ordered, ranks[~missing]), missing


def _rank_labels(labels: list[Any]) -> tuple[NDArray[np.int32], Array]:
    """Rank labels by type name, then value; -1 for missing. Return them in order too.

    Labels that are equal share a rank.
    """
    types: dict[str, list[Any]] = {}
    for label in labels:
        if not _is_missing(label):
            types.setdefault(type(label).__name__, []).append(label)
    rank: dict[Any, int] = {}
    for name in sorted(types):
        for label in sorted(types[name]):
            rank.setdefault(label, len(rank))
    ranks = np.fromiter(
        (rank.get(label, -1) for label in labels), np.int32, len(labels)
    )
    return ranks, np.fromiter(rank, object, len(rank))


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)  # NaN, NaT
    except TypeError:
        return True  # pandas.NA has no truth value
    except ArithmeticError:
        return True  # a signaling nan


def _code_integers(values: Array) -> Coded:
    """Code integers through a table of their range, or by sorting if it is wide."""
    if len(values) == 0:
        return values, values.astype(np.uint8)
    low, high = int(values.min()), int(values.max())
    size = values.dtype.itemsize
    unsigned = values.view(f"u{size}")
    # Differences modulo 2**bits: right for negative numbers as well.
    origin = unsigned.dtype.type(low % (1 << 8 * size))
    if high - low < max(4 * len(values), 1 << 16):
        offsets, codes = _code_narrow(unsigned, origin, high - low + 1)
    else:
        offsets, codes = _code_wide(unsigned - origin)
    return (offsets.astype(unsigned.dtype) + origin).view(values.dtype), codes


def _code_narrow(values: Codes, origin: np.unsignedinteger[Any], span: int) -> Coded:
    """Code numbers by a table of ``span`` entries from ``origin`` on."""
    column = values.ctypes.data, values.itemsize, int(origin), len(values)
    seen = np.zeros(span, np.uint8)
    mark_levels(*column, seen)
    offsets = np.flatnonzero(seen)
    if len(offsets) == span:
        return offsets, values - origin if origin else values
    codes = np.empty(len(values), np.uint32)
    rank_levels(*column, np.cumsum(seen, dtype=np.uint32) - np.uint32(1), codes)
    return offsets, codes


def _code_wide(values: Codes) -> Coded:
    """Code numbers by counting their upper and lower halves."""
    upper = (values >> 16 >> 16).astype(np.uint32)  # two steps: 32 bits have no >> 32
    lower = values.astype(np.uint32)
    cells = count([upper, lower], [int(upper.max()) + 1, 1 << 32])
    high, low = (code.astype(np.uint64) for code in cells.codes)
    return (high << np.uint64(32)) | low, cells.inverse


def _code_text_array(values: Array) -> Coded:
    """Code text of fixed width, eight Latin-1 characters or three others at a time."""
    n, width = len(values), values.itemsize // 4
    characters = values.view(np.uint32).reshape(n, width)
    bits = 8 if characters.max(initial=0) < 256 else 21
    step = 64 // bits
    codes: Array = np.zeros(n, np.uint64)
    for first in range(0, width, step):
        word = np.zeros(n, np.uint64)
        for column in characters[:, first : first + step].T:
            word = word << np.uint64(bits) | column
        _, ranks = _code_integers(word)
        wide = ranks.astype(np.uint64)  # with signed ranks NumPy would go to floats
        levels = wide.max(initial=0) + np.uint64(1)
        _, codes = _code_integers(codes.astype(np.uint64) * levels + wide)
    last = np.zeros(int(codes.max()) + 1 if n else 0, np.int64)
    last[codes] = np.arange(n)
    return values[last].astype(object), codes


def _code_booleans(values: Array) -> Coded:
    labels, codes = _code_integers(values.view(np.uint8))
    return labels.astype(bool), codes


def _code_times(values: Array) -> Coded:
    labels, codes = _code_integers(values.view(np.int64))
    return labels.view(values.dtype), codes


def _code_floats(values: Array) -> Coded:
    """Code floats, integral ones (integers once stored beside missing) as integers."""
    # As a double: 2**53 is beyond half precision.
    if len(values) and float(np.abs(values).max()) < 2.0**53:
        integers = values.astype(np.int64)
        if np.array_equal(integers, values):
            labels, codes = _code_integers(integers)
            return labels.astype(values.dtype), codes
    labels, codes = np.unique(values, return_inverse=True)
    return labels, codes


_CODERS: dict[str, Callable[[Array], Coded]] = {
    "U": _code_text_array,
    "b": _code_booleans,
    "i": _code_integers,
    "u": _code_integers,
    "f": _code_floats,
    "m": _code_times,
    "M": _code_times,
}


def _real_array(values: Array) -> NDArray[np.float64]:
    """Convert an array of real numbers; missing becomes NaN."""
    kind = values.dtype.kind
    if kind in "iuf":
        return np.ma.filled(values.astype(np.float64), np.nan)
    if kind != "O":
        raise TypeError(f"values of type {values.dtype}")
    masked = np.ma.getmaskarray(values)
    return np.fromiter(
        (
            np.nan if hidden or _is_missing(value) else _real(value)
            for value, hidden in zip(values.tolist(), masked, strict=True)
        ),
        np.float64,
        len(values),
    )


def _real(value: Any) -> float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (Real, Decimal)):
        raise TypeError(f"a value of type {type(value).__name__}")
    return float(value)


def _real_series(series: Any) -> NDArray[np.float64]:
    """Convert a narwhals series of real numbers; missing becomes NaN."""
    import narwhals.stable.v2 as nw

    dtype = series.dtype
    if dtype in (nw.Int128, nw.UInt128, nw.Object, nw.Unknown):
        return _real_array(np.fromiter(series.to_list(), object, len(series)))
    if dtype.is_integer():
        # Not by a cast: Arrow refuses integers from 2**53 on, which are rounded here.
        missing = np.asarray(series.is_null().to_numpy(), bool)
        whole = np.asarray(series.fill_null(1).to_numpy())
        return np.where(missing, np.nan, whole.astype(np.float64))
    if dtype.is_numeric():
        return np.asarray(series.cast(nw.Float64).to_numpy(), np.float64)
    raise TypeError(f"values of type {dtype}")
