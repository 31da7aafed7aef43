"""Columns of a data set as numbers: codes of keys, weights, household ids.

A data set is an eager frame that narwhals takes, a narwhals frame, or a mapping of
column names to arrays. Missing is what the holder of the data calls missing: null,
None, NaN, NaT, a masked element.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from itertools import compress
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common import arguments
from riskcore.common.missing_column import no_such_column
from riskcore.common.threads import THREADED, in_threads, usual_threads
from riskcore.data.engines.counting import Weights, decades_of, doubles
from riskcore.data.engines.doubtful_weights import refuse_doubtful
from riskcore.data.engines.registry import engine_of
from riskcore.data.files.arrow import import_pyarrow, in_plain_layout, is_text
from riskcore.data.integers import code_integers, code_words
from riskcore.data.text import short_text_codes, text_dictionary
from riskcore.data.unsigned import Codes, mark_levels, rank_levels

Array = NDArray[Any]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
# Labels in sorted order, and the position of every value among them.
Coded = tuple[Array, Array]
# Whole numbers below are doubles.
_EXACT = 1 << 53
# Codes of a column are kept if at most this many of their labels are objects.
_MOST_KEPT = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """The columns of a data set, whatever holds them, each coded once."""

    columns: Mapping[Hashable, Any]  # NumPy arrays or narwhals series of length n
    n: int  # records
    data: Any = None  # what holds the columns
    coded: dict[Hashable, CodedColumn] = field(default_factory=dict)
    # Where all columns come from, except those in ``changed``.
    origin: Records | None = None
    changed: frozenset[Hashable] = frozenset()

    @classmethod
    def of(cls, data: Any) -> Records:
        """Return the columns of data, or refuse data that are not a table."""
        columns: Mapping[Hashable, Any]
        if isinstance(data, Records):
            return data
        if is_dataset(data):
            dimension_of(data)
            columns = {name: data[name].values for name in data.variables}
            n = max(data.sizes.values())
        elif isinstance(data, Mapping):
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
        return cls(columns, n, data)

    def with_data(
        self,
        data: Any,
        changed: Iterable[Hashable],
        coded: Mapping[Hashable, CodedColumn] | None = None,
    ) -> Records:
        """Return data with the unchanged columns; ``coded`` has codes of others."""
        own, names = Records.of(data), frozenset(changed)
        if self.origin is not None:
            kept = {
                name: column for name, column in self.coded.items() if name not in names
            }
            own.coded.update(kept)
            names |= self.changed
        own.coded.update((coded or {}).items())
        origin = self.origin or self
        return replace(own, origin=origin, changed=names)

    def seen_as(self, data: Any, changed: Iterable[Hashable]) -> Records:
        """Return other data that hold these columns; these records stay in memory."""
        return replace(Records.of(data), origin=self, changed=frozenset(changed))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to make the records again in another process."""
        if self.coded is self.columns:  # the rows of an engine are codes
            return Records, (self.columns, self.n, self.data, self.coded)
        return Records.of, (self.columns if self.data is None else self.data,)

    def check(self, name: Hashable) -> None:
        """Refuse a name that is not of a column."""
        if name not in self.columns:
            raise no_such_column([name], self.columns)

    def column(self, name: Hashable) -> Any:
        """Return one column."""
        self.check(name)
        return self.columns[name]


@dataclass(frozen=True, slots=True, eq=False)
class CodedColumn:
    """A column as codes of its categories."""

    name: Hashable
    codes: Codes  # positions in ``labels``, len(labels) for missing, shape (n,)
    labels: Array  # the values that occur, in sorted order
    missing: int  # number of records whose value is missing

    @property
    def levels(self) -> int:
        """Number of categories, missing being one if it occurs."""
        return len(self.labels) + (self.missing > 0)

    @property
    def first(self) -> Integers:
        """The first row of each category, then of missing if it occurs."""
        first = np.zeros(self.levels, np.int64)
        first[self.codes[::-1]] = np.arange(len(self.codes) - 1, -1, -1)
        return first

    @property
    def signed(self) -> Integers:
        """The codes, -1 for missing; kept, those of many columns take much memory."""
        codes = self.codes.astype(np.int64)
        codes[codes == len(self.labels)] = -1
        return codes

    def some(self, rows: NDArray[np.integer[Any]]) -> CodedColumn:
        """Return some rows of the column."""
        codes = self.codes[rows]
        missing = int(np.count_nonzero(codes == len(self.labels)))
        return replace(self, codes=codes, missing=missing)


class ByDesign(str):
    """The category of values that are missing by design."""

    __slots__ = ()


BY_DESIGN = ByDesign("missing by design")


def code_column(
    records: Records, name: Hashable, *, ticks: bool = False
) -> CodedColumn:
    """Code a column by type name, then rank; ``ticks`` as in `_code_ticks`."""
    records.check(name)
    if ticks:
        return _coded(records.column(name), name, ticks=True)
    given = records
    while records.origin is not None and name not in records.changed:
        records = records.origin
    coded_column = records.coded.get(name)
    if coded_column is None:
        coded_column = _coded(given.column(name), name)
        labels = coded_column.labels
        # Many labels that are objects take much memory.
        if labels.dtype != object or len(labels) <= _MOST_KEPT:
            records.coded[name] = coded_column
    return coded_column


def _coded(column: Any, name: Hashable, *, ticks: bool = False) -> CodedColumn:
    """Return a column as codes of its categories."""
    try:
        if isinstance(column, np.ndarray):
            (labels, codes), missing = _code_array(column)
        else:
            (labels, codes), missing = _code_series(column, ticks=ticks)
    except (TypeError, OverflowError) as error:  # overflow: times after the year 9999
        raise TypeError(
            f"key {name!r}: {error}; a key needs text, numbers, times or other values "
            "that have an order"
        ) from None
    levels = len(labels) + (missing is not None)
    dtype = np.min_scalar_type(max(levels - 1, 0))
    if missing is None:
        return CodedColumn(name, codes.astype(dtype, copy=False), labels, 0)
    all_codes = np.full(len(column), len(labels), dtype)
    all_codes[~missing] = codes
    return CodedColumn(name, all_codes, labels, int(missing.sum()))


def key_names(keys: Iterable[Hashable]) -> list[Hashable]:
    """Return the names of the key variables as a list."""
    names = arguments.names("keys", keys)
    if not names:
        raise ValueError("keys is empty: name at least one key variable")
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        named = ", ".join(map(repr, twice))
        raise ValueError(f"keys name a column more than once: {named}")
    return names


def code_keys(records: Records, keys: Iterable[Hashable]) -> list[CodedColumn]:
    """Code the key variables of a file."""
    keys = key_names(keys)
    for key in keys:
        records.check(key)
    if records.n < THREADED:
        return [code_column(records, key) for key in keys]
    return in_threads(usual_threads(), code_column, [(records, key) for key in keys])


def weights(records: Records, name: Hashable, scale: float | None = None) -> Floats:
    """Return the weights times a scale, which those that look scaled must have."""
    weight = _reals(records, name, "weight")
    at = int(np.argmin((weight >= 0) & (weight < np.inf))) + 1
    first = f", first in record {at:,}"
    refuse_doubtful(Weights.of(weight), lambda: decades_of(weight), name, scale, first)
    return weight if scale is None else weight * scale


def _reals(records: Records, name: Hashable, role: str) -> Floats:
    """Return a column of real numbers as doubles, nan for missing."""
    column = records.column(name)
    read = _real_array if isinstance(column, np.ndarray) else _real_series
    try:
        return np.ascontiguousarray(read(column))
    except TypeError as error:
        raise TypeError(f"{role} {name!r}: {error}, not real numbers") from None
    except OverflowError:
        raise ValueError(f"{role} {name!r}: an integer beyond 1.8e308") from None


def real_numbers(records: Records, name: Hashable) -> Floats:
    """Return a column of finite numbers as doubles, nan for missing."""
    values = _reals(records, name, "column")
    infinite = int(np.isinf(values).sum())
    if infinite:
        raise ValueError(
            f"column {name!r}: infinite in {infinite:,} of {records.n:,} records"
        )
    return values


def exact_numbers(records: Records, name: Hashable) -> Floats:
    """Return a column of numbers as doubles; refuse numbers that may lose digits."""
    values = real_numbers(records, name)
    if np.nanmax(np.abs(values), initial=0.0) >= _EXACT:
        raise ValueError(
            f"column {name!r}: numbers of {_EXACT:,} (2^53) and more would lose digits "
            "here; drop the column, or give it in another unit"
        )
    return values


def household_codes(
    records: Records, name: Hashable, role: str = "household"
) -> Integers:
    """Return the number of each record's household, or of another group."""
    column = records.column(name)
    if is_text_column(column):
        # The order of the ids does not matter, and sorting many is slow.
        short = short_text_codes(column)
        codes = text_dictionary(column)[0] if short is None else short
        missing = int(np.count_nonzero(codes < 0))
    else:
        coded = code_column(records, name)
        codes, missing = coded.codes, coded.missing
    if missing:
        raise ValueError(
            f"{role} {name!r}: missing in {missing} of {records.n} records; fill them, "
            f"or leave the {role} out, also of metadata"
        )
    return codes.astype(np.int64)


def plain_value(value: Any) -> Any:
    """Return a NumPy scalar, unless it is a time, as a Python value."""
    number = isinstance(value, np.generic) and value.dtype.kind not in "mM"
    return value.item() if number else value


def comparable(value: Any) -> Any:
    """Return a value that is found in a dict by equal values of other types."""
    # Before NumPy 2.2 equal times of other units have other hashes.
    if isinstance(value, datetime) and value.tzinfo is None:
        value = np.datetime64(value)
    if not isinstance(value, np.datetime64 | np.timedelta64):
        return plain_value(value)
    kind = value.dtype.kind
    seconds = value.astype(f"{kind}8[s]")
    rest = (value - seconds).astype("m8[ns]")
    return kind, int(seconds.astype(np.int64)), int(rest.astype(np.int64))


def comparable_beside(labels: Array, others: Array) -> list[Any]:
    """Return comparable values; text of numbers, as of a CSV file, beside numbers."""
    own, other = (any(isinstance(x, str) for x in y) for y in (labels, others))
    if own and not other:
        with suppress(TypeError, ValueError):
            numbers = labels.astype(np.float64)
            labels = numbers if len(np.unique(numbers)) == len(labels) else labels
    return [*map(comparable, labels)]


_NEEDED = (
    "data is a frame (pandas, polars, pyarrow, ...), a table of Arrow, or a mapping of "
    "column names to arrays"
)


def holds_numbers(column: Any) -> bool:
    """Return whether a column is of a type of numbers."""
    if isinstance(column, np.ndarray):
        return column.dtype.kind in "iuf"
    return bool(column.dtype.is_numeric())


def is_text_column(column: Any) -> bool:
    """Return whether a column is a series of text, or of categories that are text."""
    import narwhals.stable.v2 as nw

    if not isinstance(column, nw.Series):
        return False
    if column.dtype not in (nw.String, nw.Categorical, nw.Enum):
        return False
    holder = column.implementation
    if holder.is_pyarrow():
        kind = column.to_native().type
        return is_text(getattr(kind, "value_type", kind))
    return holder.is_pandas_like() or holder.is_polars()


def in_memory(data: Any) -> Any:
    """Return a table of data that give a stream or array of Arrow; others unchanged."""
    streamed = hasattr(data, "__arrow_c_stream__")
    if not streamed and not hasattr(data, "__arrow_c_array__"):
        return data
    if engine_of(data) is not None or _eager_frame(data) is not None:
        return data
    pyarrow = import_pyarrow()
    kind = type(data).__name__
    try:
        if not streamed:
            return pyarrow.Table.from_batches([pyarrow.record_batch(data)])
        reader = pyarrow.RecordBatchReader.from_stream(data)
    except (pyarrow.ArrowException, TypeError) as error:
        raise TypeError(f"{_NEEDED}, not {kind}: {error}") from None
    try:
        table = reader.read_all()
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"data: the stream of a {kind} breaks off: {error}") from None
    if not table.num_rows:
        raise ValueError(
            f"data: a {kind} without records; a stream can be read only once, so give "
            "a new stream or a table"
        )
    return table


def is_dataset(data: Any) -> bool:
    """Return whether data are a Dataset of xarray."""
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(data, xarray.Dataset)


def dimension_of(data: Any) -> Hashable:
    """Return the only dimension of a Dataset of xarray: its records."""
    if len(data.sizes) != 1:
        raise TypeError(
            f"data: a Dataset with {len(data.sizes)} dimensions, {[*data.sizes]}; give "
            "one with a single dimension, the records"
        )
    single = [name for name in data.variables if not data[name].sizes]
    if single:
        raise TypeError(
            f"data: {single[0]!r} is one value for all records of a Dataset; give one "
            "value per record, or drop it"
        )
    dimension: Hashable = next(iter(data.sizes))
    return dimension


def with_columns(data: Any, columns: Mapping[Any, Any]) -> Any:
    """Return the data with columns added or replaced."""
    if is_dataset(data):
        dimension = dimension_of(data)
        return data.assign(
            {name: (dimension, column) for name, column in columns.items()}
        )
    if isinstance(data, Mapping):
        return {**data, **columns}
    import narwhals.stable.v2 as nw

    frame = nw.from_native(data, eager_only=True, pass_through=False)
    series = [
        nw.from_native(new, series_only=True).alias(name)  # Arrow's have no names
        for name, new in columns.items()
    ]
    return frame.with_columns(*series).to_native()


def without_columns(data: Any, names: Sequence[Hashable]) -> Any:
    """Return data, also lazy data, without some columns."""
    if not names:
        return data
    if is_dataset(data):
        return data.drop_vars(names)
    if isinstance(data, Mapping):
        return {name: column for name, column in data.items() if name not in names}
    import narwhals.stable.v2 as nw

    return nw.from_native(data).drop([*names]).to_native()


class _FrameColumns(Mapping[Hashable, Any]):
    """The columns of a narwhals frame, each taken when it is asked for."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._names = dict.fromkeys(frame.columns)

    def __getitem__(self, name: Hashable) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return _in_plain_layout(self._frame.get_column(name))

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _frame(data: Any) -> Any:
    """Return data as an eager frame of narwhals, or refuse them."""
    engine = engine_of(data)
    if engine is not None:
        raise engine.refuse_single("the data")
    frame = _eager_frame(data)
    if frame is None:
        raise TypeError(f"{_NEEDED}, not {type(data).__name__}")
    return frame


def _eager_frame(data: Any) -> Any:
    """Return data as an eager frame of narwhals, None if they are not one."""
    import narwhals.stable.v2 as nw
    from narwhals.exceptions import DuplicateError

    try:
        frame = nw.from_native(data, pass_through=True)
    except DuplicateError as error:
        said = " ".join(str(error).split())
        raise ValueError(f"columns share a name: {said}") from None
    return frame if isinstance(frame, nw.DataFrame) else None


def _as_column(name: Hashable, values: Any) -> Any:
    """Return a NumPy array or narwhals series for an entry of a mapping."""
    if isinstance(values, (list, tuple, range)):
        # np.array would turn [1, "a"] into text and cut off trailing NULs.
        return np.fromiter(values, object, len(values))
    if not isinstance(values, np.ndarray):
        import narwhals.stable.v2 as nw

        pyarrow = sys.modules.get("pyarrow")
        if pyarrow and isinstance(values, pyarrow.Array):  # NumPy knows no zones
            values = pyarrow.chunked_array([values])
        values = nw.from_native(values, allow_series=True, pass_through=True)
        if isinstance(values, nw.Series):
            return _in_plain_layout(values)
        if not hasattr(values, "__array__"):
            raise TypeError(
                f"column {name!r} is a {type(values).__name__}: need an array, list "
                "or series"
            )
        values = np.asarray(values)
    if values.ndim != 1:
        raise TypeError(f"column {name!r} has {values.ndim} dimensions")
    return values


def _in_plain_layout(series: Any) -> Any:
    """Return a series of Arrow without views and runs; others unchanged."""
    if not series.implementation.is_pyarrow():
        return series
    import narwhals.stable.v2 as nw

    native = series.to_native()
    plain = in_plain_layout(native)
    if plain is native:
        return series
    return nw.from_native(plain, series_only=True).alias(series.name)


def _code_array(values: Array) -> tuple[Coded, Mask | None]:
    """Code an array; also return the mask of missing elements, None if all exist."""
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


def _code_series(series: Any, *, ticks: bool = False) -> tuple[Coded, Mask | None]:
    """Code a narwhals series; also return the mask of missing elements."""
    import narwhals.stable.v2 as nw

    # Polars looks a series up by its name, and reads ``^a$`` as a pattern.
    series = series.alias("values")
    if is_text_column(series):
        codes, labels = text_dictionary(series)
        return _code_dictionary(codes, labels())
    dtype = series.dtype
    if dtype.is_float():
        return _code_array(series.to_numpy())
    if dtype == nw.Time or (dtype == nw.Datetime and dtype.time_zone is not None):
        code: Callable[[Any], Coded] = partial(_code_ticks, ticks=ticks)
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
    """Code a series without missing values whose elements NumPy can hold."""
    return _code_array(series.to_numpy())[0]


def _code_ticks(series: Any, *, ticks: bool) -> Coded:
    """Code times of day, or instants in a time zone, as the integers that hold them.

    Python's times end at microseconds, and are equal in the hour that clocks repeat:
    then, or with ``ticks``, the labels are NumPy's.
    """
    import narwhals.stable.v2 as nw

    of_day = series.dtype == nw.Time
    if of_day and not series.implementation.is_polars():
        pyarrow = import_pyarrow()
        # In two steps: Arrow's times may have 32 bits.
        whole = series.to_arrow().cast(pyarrow.time64("ns")).cast(pyarrow.int64())
    else:
        whole = series.cast(nw.Int64)
    integers = np.ascontiguousarray(whole.to_numpy(), np.int64)
    numbers, codes = code_integers(integers)
    one_of_each = np.zeros(len(numbers), np.int64)
    one_of_each[codes] = np.arange(len(integers))
    shown = series[one_of_each].to_list()
    if ticks or len(set(map(str, shown))) < len(shown):
        unit = "ns" if of_day else series.dtype.time_unit
        return numbers.view(f"{'m' if of_day else 'M'}8[{unit}]"), codes
    return np.fromiter(shown, object, len(shown)), codes


def _code_objects(values: list[Any], masked: Any) -> tuple[Coded, Any]:
    """Code any hashable values."""
    zoned: dict[Any, Any] = {}
    if any(issubclass(kind, datetime) for kind in set(map(type, values))):
        # Python compares times of one zone by the clock, which repeats an hour.
        for i, value in enumerate(values):
            if isinstance(value, datetime) and value.tzinfo:
                at = value.astimezone(UTC)
                shown = zoned.setdefault(at, value)
                if str(shown.tzinfo) != str(value.tzinfo):  # in several zones
                    zoned[at] = at
                values[i] = at
    # By type too: 1, 1.0 and True share a hash, and their order must not matter.
    seen: dict[tuple[type, Any], int] = {}
    order = (seen.setdefault((type(value), value), len(seen)) for value in values)
    codes = np.where(masked, -1, np.fromiter(order, np.int64, len(values)))
    (labels, codes), missing = _code_dictionary(codes, [value for _, value in seen])
    if zoned:  # keep the day that a zone shows
        labels[:] = [zoned.get(label, label) for label in labels.tolist()]
    return (labels, codes), missing


def _code_dictionary(
    codes: NDArray[np.integer[Any]], labels: list[Any]
) -> tuple[Coded, Mask | None]:
    """Code values given as positions in a list, -1 for missing."""
    codes = np.ascontiguousarray(codes)
    # Levels are counted from -1, so the first rank is that of missing.
    column = codes.ctypes.data, codes.itemsize, (1 << 8 * codes.itemsize) - 1
    seen = np.zeros(len(labels) + 1, np.uint8)
    mark_levels(*column, len(codes), seen)
    observed = np.flatnonzero(seen[1:])
    rank = np.full(len(seen), -1, np.int32)
    rank[1 + observed], ordered = _rank_labels([*compress(labels, seen[1:])])
    ranks = np.empty(len(codes), np.uint32)
    rank_levels(*column, len(codes), rank.view(np.uint32), ranks)
    if (rank[seen.view(bool)] >= 0).all():
        return (ordered, ranks), None
    missing = ranks.view(np.int32) < 0
    return (ordered, ranks[~missing]), missing


def _rank_labels(labels: list[Any]) -> tuple[NDArray[np.int32], Array]:
    """Rank labels by type name, then value, missing as -1; also return their order."""
    if set(map(type, labels)) <= {str}:  # distinct
        order = np.array(sorted(range(len(labels)), key=labels.__getitem__), np.int64)
        ordered = np.array(labels, object)[order]
        return np.argsort(order).astype(np.int32), ordered
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
    except (TypeError, ArithmeticError):  # of pandas.NA, or of a signaling nan
        return True


def _code_text_array(values: Array) -> Coded:
    """Code text of fixed width, eight Latin-1 characters or three others at a time."""
    n, width = len(values), values.itemsize // 4
    characters = values.view(np.uint32).reshape(n, width)
    bits = 8 if characters.max(initial=0) < 256 else 21
    step = 64 // bits

    def word(first: int) -> Array:
        packed = np.zeros(n, np.uint64)
        for column in characters[:, first : first + step].T:
            packed = packed << np.uint64(bits) | column
        return packed

    codes = code_words(map(word, range(0, width, step)), n)
    last = np.zeros(int(codes.max()) + 1 if n else 0, np.int64)
    last[codes] = np.arange(n)
    return values[last].astype(object), codes


def _code_by_bits(values: Array) -> Coded:
    """Code booleans or times as the integers of the same bits."""
    labels, codes = code_integers(values.view(f"i{values.itemsize}"))
    return labels.view(values.dtype), codes


def _code_floats(values: Array) -> Coded:
    """Code floats; if all are integral, as integers once stored beside missing are."""
    # As a double: half precision does not reach 2**53.
    if len(values) and float(np.abs(values).max()) < 2.0**53:
        integers = values.astype(np.int64)
        if np.array_equal(integers, values):
            labels, codes = code_integers(integers)
            return labels.astype(values.dtype), codes
    labels, codes = np.unique(values, return_inverse=True)
    return labels, codes


_CODERS: dict[str, Callable[[Array], Coded]] = {
    "U": _code_text_array,
    "b": _code_by_bits,
    "i": code_integers,
    "u": code_integers,
    "f": _code_floats,
    "m": _code_by_bits,
    "M": _code_by_bits,
}


def _real_array(values: Array) -> Floats:
    """Convert an array of real numbers to doubles, NaN for missing."""
    kind = values.dtype.kind
    if kind in "iuf":
        return np.ma.filled(values.astype(np.float64), np.nan)
    if kind != "O":
        raise TypeError(f"values of type {values.dtype}")
    pairs = zip(values.tolist(), np.ma.getmaskarray(values), strict=True)
    numbers = (np.nan if gone or _is_missing(x) else _real(x) for x, gone in pairs)
    return np.fromiter(numbers, np.float64, len(values))


def _real(value: Any) -> float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (Real, Decimal)):
        raise TypeError(f"a value of type {type(value).__name__}")
    return float(value)


def _real_series(series: Any) -> Floats:
    """Convert a narwhals series of real numbers to doubles, NaN for missing."""
    import narwhals.stable.v2 as nw

    series = series.alias("values")  # see _code_series
    dtype = series.dtype
    if dtype in (nw.Int128, nw.UInt128, nw.Object, nw.Unknown):
        return _real_array(np.fromiter(series.to_list(), object, len(series)))
    if dtype.is_numeric():
        return doubles(series)
    raise TypeError(f"values of type {dtype}")
