"""Cells: the records that share the values of all key variables."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common import arguments
from riskcore.common.warn import warn
from riskcore.common.words import counted
from riskcore.core.risk.anonymity import Below, count_below
from riskcore.core.risk.file_risk import sum_of_products
from riskcore.data.coded import CodedRecords, count_records, doubtful_codes
from riskcore.data.columns import (
    CodedColumn,
    is_dataset,
    key_names,
    plain_value,
    with_columns,
)
from riskcore.data.count import Counts, count
from riskcore.data.engines.base import Counted
from riskcore.data.engines.groups import Groups
from riskcore.data.files.intake import Intake
from riskcore.data.files.labels import Labels
from riskcore.data.files.reading import DoubtfulCodes, Reading
from riskcore.data.missing_by_design import with_designs
from riskcore.data.sample_design import SampleDesign
from riskcore.data.source import Source
from riskcore.data.tolerance import Tolerance, tolerances
from riskcore.data.unsigned import Codes
from riskcore.data.wildcard import WILDCARDS, Frequencies, count_compatible
from riskcore.data.windows import Windows, count_windows

# Columns of a table of cells. SQL ignores case: f and F would be one column.
RESULT_COLUMNS = ("sample_frequency", "population_frequency", "sampling_fraction")

MISSING_RULES = ("wildcard", "argus", "category", "refuse")
_KEYS_NAMED = 8  # in a representation
# Units of times that all frames have.
_UNITS = {"m": ("ms", "us", "ns"), "M": ("D", "ms", "us", "ns")}


@dataclass(frozen=True, slots=True)
class Totals:
    """Figures of all cells of a file together."""

    records: int
    cells: int
    uniques: int  # cells with f = 1
    population: float  # the sum of all weights of cells, correctly rounded
    below: int  # cells with F < f
    records_below: int  # their records


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cells:
    """The cells of a file: combinations of key values that occur in it.

    Cells are in lexicographic order of their key values, first key slowest, missing
    last; the order of the records does not matter.

    Attributes
    ----------
    keys : tuple of hashable
        Names of the key variables.
    categories : tuple of ndarray
        For each key its categories in sorted order; a last one, None, stands for
        missing if that occurs.
    codes : sequence of unsigned integer ndarray, each shape (K,)
        For each key the position of the cell's category in ``categories``; computed
        when it is asked for.
    sample_frequency : int64 or float64 ndarray, shape (K,)
        f_k, the number of records in the cell, and, where missing matches any value or
        numbers match within a tolerance, of matching records: a real number if
        ``alpha`` is neither 0 nor 1.
    population_frequency : float64 ndarray, shape (K,)
        F_k, estimated by the sum of these records' weights, within 1 ulp, or 2 where
        missing matches any value.
    records : int64 ndarray, shape (K,)
        The number of records in the cell itself; the sum is n.
    weight_sum : float64 ndarray, shape (K,)
        The sum of their weights.
    rows : int32 ndarray, shape (n,)
        The cell of each record, in the order of the records; for data on an engine,
        the cell of each row that the engine counted.
    weighted : bool
        Whether there were weights; if not, F_k = f_k.
    missing : str
        The rule for missing key values.
    alpha : float
        What a record with missing keys counts for other cells.
    missing_values : tuple of int
        For each key the number of records whose value is missing.
    intake : Intake or None
        For a file, what became of its lines.
    counted : Counted, Groups or None
        For data on an engine, what the engine counted.
    record_weights : float64 ndarray, shape (n,), or None
        The weight of each record; None without weights, and for data on an engine.
    windows : Windows or None
        Which categories match within the tolerance of numeric keys, if any has one.

    Examples
    --------
    >>> data = {"sex": ["f", "m", "f"], "age": [31, None, 31]}
    >>> cells = tabulate(data, ["sex", "age"], missing="category")
    >>> cells.sample_frequency, cells.inverse
    (array([2, 1]), array([0, 1, 0], dtype=int32))
    >>> cells.row(1)["sex"], cells.row(1)["age"], cells.row(1)["sample_frequency"]
    ('m', None, 1)
    >>> cells.present(1)
    array([ True, False])
    >>> cells.count_of(cells.rows == 0)
    2
    >>> cells.k_anonymity, cells.below(2)
    (1, Below(k=2, records=1, cells=1))
    >>> list(cells.to_dict())
    ['sex', 'age', 'sample_frequency', 'population_frequency', 'sampling_fraction']
    >>> cells.to_frame("pyarrow").num_rows
    2
    """

    keys: tuple[Hashable, ...]
    categories: tuple[NDArray[Any], ...]
    codes: Sequence[Codes]
    sample_frequency: Frequencies
    population_frequency: NDArray[np.float64]
    records: NDArray[np.int64]
    weight_sum: NDArray[np.float64]
    rows: NDArray[np.int32]
    weighted: bool
    missing: str
    alpha: float
    missing_values: tuple[int, ...]
    intake: Intake | None = None
    counted: Counted | Groups | None = None
    record_weights: NDArray[np.float64] | None = None
    windows: Windows | None = None

    def __len__(self) -> int:
        """Return the number of cells, K."""
        return len(self.sample_frequency)

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.rows) if self.counted is None else self.counted.n

    @property
    def inverse(self) -> NDArray[np.int32]:
        """The cell of each record, in the order of the records, shape (n,).

        Raises
        ------
        TypeError
            If an engine counted the records, and holds them.
        """
        if self.counted is not None:
            return self.rows[self.counted.row_of_records]
        return self.rows

    def count_of(self, mask: NDArray[np.bool_]) -> int:
        """Return the number of records that some rows stand for.

        Parameters
        ----------
        mask : ndarray of bool, shape of ``rows``

        Returns
        -------
        int
        """
        sizes = None if self.counted is None else self.counted.records
        return count_records(mask, sizes)

    @property
    def sampling_fraction(self) -> NDArray[np.float64]:
        """p_k = f_k / F_k; above 1 where the weights add to less than the records."""
        return sampling_fractions(self.sample_frequency, self.population_frequency)

    @property
    def shared(self) -> bool:
        """Whether records count in other cells, too: by missing keys or a tolerance."""
        wide = self.windows is not None and self.windows.wide
        return wide or (self.missing in WILDCARDS and any(self.missing_values))

    @property
    def shared_by(self) -> str:
        """Why records count in the cells of others, in words."""
        if self.windows is not None:
            return f"tolerance ({self.windows.in_words}): numbers match others"
        return f"missing={self.missing!r}: records with missing keys match any value"

    @property
    def incomplete(self) -> int:
        """Number of records with a missing key, if these match any value; else 0."""
        if self.missing not in WILDCARDS or not any(self.missing_values):
            return 0
        some = np.logical_or.reduce(
            [~self.present(key) for key in range(len(self.keys))]
        )
        return int(self.records[some].sum())

    @property
    def below_sample(self) -> NDArray[np.bool_]:
        """Mask of the cells with F_k < f_k, which no population can have."""
        return self.population_frequency < self.sample_frequency

    @property
    def totals(self) -> Totals:
        """Figures of all cells together."""
        below = self.below_sample
        return Totals(
            records=self.n,
            cells=len(self),
            uniques=int(np.count_nonzero(self.sample_frequency == 1)),
            population=sum_of_products(self.weight_sum),
            below=int(np.count_nonzero(below)),
            records_below=int(self.records[below].sum()),
        )

    @property
    def frequency_for_k(self) -> Frequencies:
        """What counts for k-anonymity: the sample frequency."""
        return self.sample_frequency

    @property
    def k_anonymity(self) -> int | float:
        """The smallest sample frequency: the file is k-anonymous up to this k."""
        smallest: int | float = self.frequency_for_k.min().item()
        return smallest

    def below(self, k: int) -> Below:
        """Count the records and the cells with a sample frequency below k.

        Parameters
        ----------
        k : int
            At least 1.

        Returns
        -------
        Below

        Raises
        ------
        TypeError, ValueError
            If k is not such a number.
        """
        return count_below(self.frequency_for_k, None, self.records, k)

    @property
    def labels(self) -> Labels | None:
        """The labels that a file of SPSS, Stata or SAS has for its columns."""
        return None if self.intake is None else self.intake.labels

    def present(self, key: int) -> NDArray[np.bool_]:
        """Return the mask of the cells in which a key, by position, is not missing.

        Parameters
        ----------
        key : int
            Position of the key in ``keys``.

        Returns
        -------
        ndarray of bool, shape (K,)
        """
        levels = len(self.categories[key])
        absent = levels - 1 if self.categories[key][-1] is None else levels
        return np.not_equal(self.codes[key], absent)

    def of_keys(self, keys: Iterable[Hashable]) -> Cells:
        """Return the cells of some of the keys, as counting the records would.

        Parameters
        ----------
        keys : iterable of key names
            Their order is that of the cells.

        Returns
        -------
        Cells
            The sums of the weights may differ from those of the records in the last
            bit. A tolerance is not taken.

        Examples
        --------
        >>> data = {"sex": ["f", "m", "f"], "age": [31, 47, 31]}
        >>> cells = tabulate(data, ["sex", "age"])
        >>> cells.of_keys(["age"]).sample_frequency
        array([2, 1])
        """
        asked = arguments.names("keys", keys)
        at = [i for i, key in enumerate(self.keys) if key in asked]
        codes = [self.codes[i] for i in at]
        levels = [len(self.categories[i]) for i in at]
        counts = count(codes, levels, self.weight_sum).of_groups(self.records)
        missing = tuple(self.missing_values[i] for i in at)
        f, F = matched(counts, levels, missing, self.missing, self.alpha)
        return Cells(
            **attributes_of(
                self,
                keys=tuple(self.keys[i] for i in at),
                categories=tuple(self.categories[i] for i in at),
                codes=counts.codes,
                sample_frequency=f,
                population_frequency=F,
                records=counts.frequency,
                weight_sum=counts.weight_sum,
                rows=counts.inverse[self.rows],
                missing_values=missing,
                windows=None,
            )
        )

    def to_dict(self) -> dict[Hashable, NDArray[Any]]:
        """Return one array per column: the keys' values, then the result columns.

        Returns
        -------
        dict of column name to ndarray, each shape (K,)
        """
        values = zip(self.keys, self.categories, self.codes, strict=True)
        table = {key: labels[codes] for key, labels, codes in values}
        f, F = self.sample_frequency, self.population_frequency
        results = f, F, self.sampling_fraction
        return {**table, **dict(zip(RESULT_COLUMNS, results, strict=True))}

    def row(self, k: int) -> dict[Hashable, Any]:
        """Return cell k as a dict: the columns of ``to_dict``, plain Python values.

        Parameters
        ----------
        k : int
            Position of the cell.

        Returns
        -------
        dict
        """
        keys = key_values(self.keys, self.categories, self.codes, k)
        return result_row(keys, self.sample_frequency[k], self.population_frequency[k])

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return the cells as a frame, one row per cell.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow", ...}
            Any eager backend of narwhals, if installed.

        Returns
        -------
        frame
            A native frame of the backend, with the columns of ``to_dict``.
        """
        import narwhals.stable.v2 as nw

        columns = {key: _for_frame(values) for key, values in self.to_dict().items()}
        frame = nw.from_dict(columns, backend=backend)  # type: ignore[arg-type]
        return frame.to_native()

    def __repr__(self) -> str:
        names = " x ".join(map(str, self.keys[:_KEYS_NAMED]))
        more = len(self.keys) - _KEYS_NAMED
        if more > 0:
            names += f" and {counted(more, 'more key')}"
        return (
            f"<Cells: {counted(self.n, 'record')} in {counted(len(self), 'cell')} of "
            f"{names}, {self.totals.uniques} sample unique, "
            f"{'weighted' if self.weighted else 'no weights'}{incomplete_of(self)}>"
        )


def attributes_of(cells: Cells, **new: Any) -> dict[str, Any]:
    """Return the attributes of cells, some of them new, for cells of any class."""
    return {x.name: getattr(cells, x.name) for x in fields(Cells)} | new


def incomplete_of(cells: Cells) -> str:
    """Return how many records have missing keys that match any value, or nothing."""
    number = cells.incomplete
    return f", {counted(number, 'record')} with missing keys" if number else ""


def tabulate(
    data: Any,
    keys: Iterable[Hashable],
    weight: Hashable | None = None,
    missing: str = "wildcard",
    alpha: float = 1.0,
    reading: Reading | None = None,
    *,
    tolerance: Mapping[Hashable, float | str] | None = None,
) -> Cells:
    """Count the records of each cell and estimate its population frequency.

    Parameters
    ----------
    data : frame, mapping or path
        Any eager frame that narwhals takes (pandas, polars, pyarrow, modin, ...), a
        narwhals frame, a mapping of column names to arrays, or the path of a CSV,
        Parquet, Arrow or mu-Argus file, see `riskcore.data.files.formats.read`. Or
        data that an engine holds and counts: a lazy frame of polars, a relation of
        duckdb, a table of ibis, a data frame of PySpark or dask, a dataset of pyarrow.
    keys : iterable of hashable
        Names of the key variables.
    weight : hashable, optional
        Name of the column of sampling weights; by default the weight that the metadata
        of a mu-Argus file declare. Without weights the file is taken to be the whole
        population, F_k = f_k and p_k = 1.
    missing : {"wildcard", "argus", "category", "refuse"}
        What to do with missing values in keys: let them match any value, as in sdcMicro
        ("wildcard", default) or mu-Argus ("argus"), see Notes; take missing as one more
        category; or refuse the file.
    alpha : float
        With ``missing="wildcard"``, what a record with missing keys counts where it
        may belong, in [0, 1].
    reading : Reading, optional
        How to read the file, if ``data`` is a path.
    tolerance : mapping of key to float or str, optional
        How far numbers may be from those of a cell to match them: an amount in the
        units of the key, or a share of the cell's own number such as "5%". f and F of a
        cell then count all records that are equal in the other keys and within the
        tolerance in these.

    Returns
    -------
    Cells
        The number of threads changes no bit, the order of the records at most the last
        bit of a sum of weights.

    Warns
    -----
    DoubtfulCodes
        If categories of a key look like missing values, or like each other.

    Raises
    ------
    KeyError
        If a column does not exist.
    OSError
        If the file cannot be read.
    TypeError
        If ``data`` is not a table, a key's values have no order, or the weights are not
        real numbers.
    ValueError
        If there are no records or no keys; a key is named twice, is the weight or has
        the name of a result; weights are missing, infinite, negative, all zero or look
        scaled, or their sum overflows; missing values are to be refused; or ``alpha``
        is not in [0, 1], or not 1 with another rule than "wildcard". If a tolerance is
        not of a key, not of numbers or negative; or missing values match any value with
        a tolerance.

    Notes
    -----
    Where missing matches any value, missing is part of the combination that makes a
    cell, and two cells are compatible if they agree in every key that both have. f
    and F of a cell count its own records, all records of the compatible cells without
    missing keys, and ``alpha`` times the records of the other compatible cells with
    missing keys. A cell without any key value has all records. Its own records count,
    ``alpha`` times, for every cell with missing keys; for cells without they count
    with "argus", or if there is only one key.

    Examples
    --------
    >>> data = {"sex": ["f", "m", "f"], "age": [31, 47, 31], "w": [10.0, 20.0, 15.5]}
    >>> cells = tabulate(data, ["sex", "age"], weight="w")
    >>> cells
    <Cells: 3 records in 2 cells of sex x age, 1 sample unique, weighted>
    >>> cells.sample_frequency, cells.population_frequency
    (array([2, 1]), array([25.5, 20. ]))
    >>> cells.inverse
    array([0, 1, 0], dtype=int32)

    >>> data = {"a": [1, 1, 2, None, 1], "b": [1, 1, 1, 1, None]}
    >>> cells = tabulate(data, ["a", "b"], missing="wildcard", alpha=0.5)
    >>> cells.sample_frequency[cells.inverse]
    array([3. , 3. , 1.5, 4.5, 3.5])
    >>> cells.records
    array([2, 1, 1, 1])
    """
    return tabulate_design(
        data, keys, weight, missing, alpha, reading, tolerance=tolerance
    )[0]


def tabulate_design(
    data: Any,
    keys: Iterable[Hashable],
    weight: Hashable | None = None,
    missing: str = "wildcard",
    alpha: float = 1.0,
    reading: Reading | None = None,
    *,
    cluster: Hashable | None = None,
    strata: Iterable[Hashable] | None = None,
    tolerance: Mapping[Hashable, float | str] | None = None,
) -> tuple[Cells, SampleDesign | None]:
    """Return the cells of data, see `tabulate`, and the cluster of each record."""
    check_missing(missing, alpha)
    keys = key_names(keys)
    source = Source.of(data, reading)
    weight = source.weight if weight is None else weight
    strata = check_design(keys, cluster, strata, weight=weight)
    check_names(keys, {"weight": weight}, RESULT_COLUMNS)
    within = tolerances(tolerance, keys)
    data, intake = source.read([*keys, weight, cluster, *strata], weight, within)
    coded = CodedRecords.of(
        data, keys, weight, scale=source.scale, cluster=cluster, strata=strata
    )
    return tabulate_coded(coded, keys, missing, alpha, intake, within), coded.design


STRATA_ALONE = "strata: clusters are drawn in strata; give cluster (--cluster), too"


def check_design(
    keys: Iterable[Hashable],
    cluster: Hashable | None,
    strata: Iterable[Hashable] | None,
    household: Hashable | None = None,
    weight: Hashable | None = None,
) -> list[Hashable]:
    """Return the names of strata; refuse them without clusters, and double roles."""
    names = [] if strata is None else arguments.names("strata", strata)
    arguments.column_name("cluster", cluster)
    if names and cluster is None and household is None:
        raise ValueError(STRATA_ALONE)
    if cluster is not None and cluster in [*keys, *names, weight]:
        raise ValueError(
            f"column {cluster!r} is the cluster, and a key, stratum or the weight, "
            "too; if it is both, give a copy of it another name"
        )
    return names


def tabulate_coded(
    records: CodedRecords,
    keys: Sequence[Hashable],
    missing: str,
    alpha: float,
    intake: Intake | None = None,
    tolerance: Mapping[Hashable, Tolerance] | None = None,
) -> Cells:
    """Return the cells of coded records, see `tabulate`; the arguments are checked."""
    columns = records.keys(keys)
    for line in doubtful_codes(columns, records.stands_for):
        warn(line, DoubtfulCodes)
    if missing == "refuse":
        refuse_missing(keys, [column.missing for column in columns], records.n)
    return cells_of(records, keys, missing, alpha, intake, tolerance)


def cells_of(
    records: CodedRecords,
    keys: Sequence[Hashable],
    missing: str,
    alpha: float,
    intake: Intake | None = None,
    tolerance: Mapping[Hashable, Tolerance] | None = None,
) -> Cells:
    """Return the cells of coded records whose missing values were dealt with."""
    if not tolerance:
        records = with_designs(records, keys, missing)
    columns = records.keys(keys)
    windows = _windows(columns, missing, tolerance) if tolerance else None
    codes, levels = [x.codes for x in columns], [x.levels for x in columns]
    counts = counts_of(codes, levels, records.weights, records.counted)
    f: Frequencies
    if windows is not None:
        f, F = count_windows(
            counts.codes, levels, windows, counts.frequency, counts.weight_sum
        )
    else:
        lacking = [column.missing for column in columns]
        f, F = matched(counts, levels, lacking, missing, alpha)
    with np.errstate(over="ignore"):
        if not (counts.weight_sum.sum() < np.inf and F.max() < np.inf):
            raise overflow(records.weight)
    return Cells(
        keys=tuple(keys),
        categories=tuple(map(categories_of, columns)),
        codes=counts.codes,
        sample_frequency=f,
        population_frequency=F,
        records=counts.frequency,
        weight_sum=counts.weight_sum,
        rows=counts.inverse,
        weighted=records.weight is not None,
        missing=missing,
        alpha=alpha,
        missing_values=tuple(column.missing for column in columns),
        intake=intake,
        counted=records.counted,
        record_weights=records.weights if records.counted is None else None,
        windows=windows,
    )


def counts_of(
    codes: Sequence[Codes],
    levels: Sequence[int],
    weights: NDArray[np.float64] | None,
    counted: Counted | Groups | None,
) -> Counts:
    """Return the cells of rows, each of which may stand for many records."""
    counts = count(codes, levels, weights)
    if counted is not None:
        counts = counts.of_groups(counted.records)
    if isinstance(counted, Groups):
        sums = counted.weight_sum(counts.inverse, len(counts.frequency))
        counts = replace(counts, weight_sum=sums)
    return counts


def matched(
    counts: Counts,
    levels: Sequence[int],
    missing_values: Sequence[int],
    missing: str,
    alpha: float,
) -> tuple[Frequencies, NDArray[np.float64]]:
    """Return f and F of cells by the rule for missing keys."""
    if missing not in WILDCARDS or not any(missing_values):
        return counts.frequency, counts.weight_sum
    pairs = zip(levels, missing_values, strict=True)
    return count_compatible(
        counts.codes,
        [number - 1 if absent else None for number, absent in pairs],
        counts.frequency,
        counts.weight_sum,
        alpha,
        blank_matches_complete=missing == "argus" or len(levels) == 1,
    )


def _windows(
    columns: Sequence[CodedColumn],
    missing: str,
    tolerance: Mapping[Hashable, Tolerance],
) -> Windows:
    """Return the windows of keys; refuse missing values that match any value."""
    lacking = [column for column in columns if column.missing]
    if missing in WILDCARDS and lacking:
        raise ValueError(
            f"tolerance: key {lacking[0].name!r} is missing in {lacking[0].missing} "
            f"records, which match any value by missing={missing!r}; give "
            "missing='category', so that missing matches only missing, or leave out "
            "the tolerance"
        )
    return Windows.of(columns, tolerance)


def check_missing(missing: str, alpha: float) -> None:
    """Refuse an unknown rule for missing key values, or an alpha it cannot have."""
    arguments.one_of("missing", missing, MISSING_RULES)
    arguments.number_in("alpha", alpha, "[0, 1]")
    if alpha != 1 and missing != "wildcard":
        raise ValueError(f"alpha={alpha} needs missing='wildcard', not {missing!r}")


def check_names(
    keys: Iterable[Hashable],
    roles: Mapping[str, Hashable | None],
    results: Iterable[str],
) -> None:
    """Refuse columns with two roles, and keys that have the name of a result."""
    names = key_names(keys)
    for role, name in roles.items():
        arguments.column_name(role, name)
        if name is not None and name in names:
            raise ValueError(f"column {name!r} is both a key and the {role}")
    refuse_taken(names, results)


def refuse_taken(columns: Iterable[Hashable], results: Iterable[str]) -> None:
    """Refuse columns that have the name of a result, ignoring case as SQL does."""
    taken = [name for name in columns if str(name).lower() in results]
    if taken:
        raise ValueError(
            f"column {taken[0]!r} has the name of a result of riskcore: "
            "rename or drop it"
        )


def with_results(data: Any, results: Mapping[Any, NDArray[Any]]) -> Any:
    """Return the data with results added as columns."""
    taken = {str(name).lower() for name in results}
    if is_dataset(data) or isinstance(data, Mapping):
        refuse_taken(data.variables if is_dataset(data) else data, taken)
        return with_columns(data, results)
    import narwhals.stable.v2 as nw

    frame = nw.from_native(data, eager_only=True, pass_through=False)
    refuse_taken(frame.columns, taken)
    series = [
        nw.new_series(str(name), values, backend=frame.implementation)
        for name, values in results.items()
    ]
    return frame.with_columns(*series).to_native()


def sampling_fractions(f: NDArray[Any], F: NDArray[Any]) -> NDArray[np.float64]:
    """Return p = f/F of cells, 1 where no record has a weight: they stand for all."""
    with np.errstate(over="ignore", divide="ignore"):
        return np.where(F > 0, f / F, 1.0)


def overflow(weight: Hashable | None) -> ValueError:
    """Return the error for weights whose sum is not a double."""
    return ValueError(f"weight {weight!r}: the sum overflows")


def key_values(
    keys: Sequence[Hashable],
    categories: Sequence[NDArray[Any]],
    codes: Sequence[Codes],
    k: int,
) -> dict[Hashable, Any]:
    """Return the values that keys have in a row, as plain Python values."""
    columns = zip(keys, categories, codes, strict=True)
    return {key: plain_value(labels[of[k]]) for key, labels, of in columns}


def result_row(keys: dict[Hashable, Any], f: Any, F: Any) -> dict[Hashable, Any]:
    """Return a cell as a dict of key values and results."""
    p = float(sampling_fractions(f, F))
    return {**keys, **dict(zip(RESULT_COLUMNS, (f.item(), float(F), p), strict=True))}


def refuse_missing(keys: Iterable[Hashable], missing: Iterable[int], n: int) -> None:
    """Refuse keys if some have missing values."""
    pairs = zip(keys, missing, strict=True)
    faults = [f"{key!r} in {number}" for key, number in pairs if number]
    if faults:
        raise ValueError(
            f"missing key values: {', '.join(faults)} of {n} records; "
            "missing='category' counts missing as one more value, "
            "'wildcard' lets it match any value (but not in suda and in models of the "
            "population, which need each record in one cell)"
        )


def _for_frame(values: NDArray[Any]) -> Any:
    """Return values that a frame takes with its own type and null."""
    if values.dtype == object:
        times = [value.dtype for value in values if isinstance(value, np.generic)]
        if not times:
            return values.tolist()
        # In a list polars would read their numbers as microseconds.
        values = values.astype(times[0])
    kind = values.dtype.kind
    if kind in "mM" and np.datetime_data(values.dtype)[0] not in _UNITS[kind]:
        return values.astype(f"{kind}8[ms]")
    return values


def categories_of(column: CodedColumn) -> NDArray[Any]:
    """Return the labels, followed by None if values are missing."""
    if not column.missing:
        return column.labels
    values = [*map(plain_value, column.labels), None]
    return np.fromiter(values, object, len(values))
