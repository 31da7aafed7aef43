"""The original beside the safe file: what protection has changed, and how much."""

from __future__ import annotations

import os
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common import arguments, html
from riskcore.common.missing_column import NoSuchNameError
from riskcore.common.progress import Lines, silent
from riskcore.common.words import counted
from riskcore.engines.door import engine_of
from riskcore.files.labels import Labels
from riskcore.files.reading import Reading
from riskcore.microdata.cells import check_names
from riskcore.microdata.coded import CodedRecords, count_records
from riskcore.microdata.columns import (
    CodedColumn,
    Records,
    code_column,
    key_names,
    real_numbers,
)
from riskcore.microdata.count import count
from riskcore.microdata.grc import read_recoding
from riskcore.microdata.recode import DoubtfulRules, Recoding
from riskcore.microdata.source import Source
from riskcore.utility import measures
from riskcore.utility.measures import Floats, Ints, fsum
from riskcore.utility.propensity import Propensity, propensity
from riskcore.utility.two_files import (
    Codes,
    SharedColumn,
    Table,
    shares_of_both,
    stacked,
)

PATHS = (str, os.PathLike)
# Its square, with any weight, is a double.
LARGEST = 1e150
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True)
class Stage:
    """A key in one file.

    Attributes
    ----------
    categories : int
        How many occur, missing not counted.
    smallest_records : int or None
        The fewest records that a category has; None if all are missing.
    smallest_weight : float or None
        The least weight that a category has.
    missing : int
        Records without a value.
    missing_share : float
        Their share of the weight.
    entropy : float
        In bits, of the shares of the weight, of the records with a value.
    """

    categories: int
    smallest_records: int | None
    smallest_weight: float | None
    missing: int
    missing_share: float
    entropy: float

    @classmethod
    def of(cls, table: Table) -> Stage:
        """Return the figures of a table of one column."""
        there = table.present()
        some = len(there.records) > 0
        missing = table.n - there.n
        total = fsum(table.weight)
        hidden = fsum(table.weight[table.codes[0] == table.levels[0] - 1])
        return cls(
            len(there.records),
            int(there.records.min()) if some else None,
            float(there.weight.min()) if some else None,
            missing,
            hidden / total,
            measures.entropy(there.weight),
        )


@dataclass(frozen=True, slots=True)
class Category:
    """A category of a key in both files; of ``None`` the records without a value.

    Attributes
    ----------
    category : object
        As the safe file has it.
    records_before, records_after : int
    share_before, share_after : float
        Of the weight.
    """

    category: Any
    records_before: int
    records_after: int
    share_before: float
    share_after: float


@dataclass(frozen=True, slots=True)
class KeyComparison:
    """A key in the original and in the safe file.

    Attributes
    ----------
    key : column name
    original : Stage
        As it was.
    recoded : Stage or None
        The original on the categories of the safe file; None without a recoding.
    safe : Stage
    suppressed : int or None
        Values that are missing in the safe file and were not before; None if the files
        differ in their numbers of records.
    total_variation, hellinger : float or None
        Distances of the weighted tables, missing being a category; None if the files
        have no categories in common.
    total_variation_of_values, hellinger_of_values : float or None
        The same of the records with a value.
    information_lost : float or None
        H(original | safe) in bits: what is not known any more of the original category
        of a record whose safe category is known; None unless the records align.
    changed : int or None
        Values that are another, but for recoding, or stand where there was none; None
        unless the records align.
    reason : str
        Why there are no distances.
    table : tuple of Category
        The two tables, missing last; empty if there are no distances.
    """

    key: Any
    original: Stage
    recoded: Stage | None
    safe: Stage
    suppressed: int | None
    total_variation: float | None
    hellinger: float | None
    total_variation_of_values: float | None
    hellinger_of_values: float | None
    information_lost: float | None
    changed: int | None
    reason: str
    table: tuple[Category, ...]

    @property
    def before(self) -> Stage:
        """The original as recoded, if a recoding is known."""
        return self.original if self.recoded is None else self.recoded

    @property
    def share_lost(self) -> float | None:
        """``information_lost`` as a share of the entropy of the original, in [0, 1].

        0 if the key had one category, of which nothing can be lost.
        """
        if self.information_lost is None:
            return None
        # Of all records with their blanks, as the information lost is.
        known = self.original.entropy * (1 - self.original.missing_share)
        return min(self.information_lost / known, 1.0) if known > 0 else 0.0


@dataclass(frozen=True, slots=True)
class PairComparison:
    """The two-way table of two keys in both files.

    Attributes
    ----------
    keys : tuple of two column names
    total_variation, hellinger : float or None
        Distances of the weighted tables, missing being a category.
    cramers_v_before, cramers_v_after : float or None
        Cramer's V of the records with both values, not corrected for its bias; before:
        of the original as recoded. None if a key has fewer than two categories.
    """

    keys: tuple[Any, Any]
    total_variation: float | None
    hellinger: float | None
    cramers_v_before: float | None
    cramers_v_after: float | None


@dataclass(frozen=True, slots=True)
class Moments:
    """A column of numbers in one file, of the records that have it, weighted.

    Attributes
    ----------
    records : int
    missing : int
    mean, variance : float or None
        The variance is sum(w (x - mean)^2)/sum(w). None if all are missing.
    quantiles : tuple of float or None
        The smallest values that the shares ``QUANTILES`` of the weight are at or below.
    """

    records: int
    missing: int
    mean: float | None
    variance: float | None
    quantiles: tuple[float, ...] | None

    @classmethod
    def of(cls, values: Floats, weight: Floats) -> Moments:
        """Return the figures of a column, nan being missing."""
        there = ~np.isnan(values)
        n = int(there.sum())
        if not n:
            return cls(0, len(values), None, None, None)
        x, w = values[there], weight[there]
        mean, variance = measures.mean_and_variance(x, w)
        found = measures.quantiles(x, w, QUANTILES)
        return cls(n, len(values) - n, mean, variance, found)


@dataclass(frozen=True, slots=True)
class NumberComparison:
    """A column of numbers in both files.

    Attributes
    ----------
    column : column name
    before, after : Moments
    """

    column: Any
    before: Moments
    after: Moments


@dataclass(frozen=True, slots=True)
class Correlation:
    """Pearson's correlation of two columns of numbers in both files, weighted.

    Attributes
    ----------
    columns : tuple of two column names
    before, after : float or None
        Of the records that have both; None if one does not vary.
    """

    columns: tuple[Any, Any]
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True)
class Stratum:
    """What is missing in one stratum of both files.

    Attributes
    ----------
    stratum : tuple
        Its value in each column of the strata.
    records_before, records_after : int
    missing_before, missing_after : dict of column name to int
        Records without a value, by key.
    """

    stratum: tuple[Any, ...]
    records_before: int
    records_after: int
    missing_before: dict[Any, int]
    missing_after: dict[Any, int]

    def suppressed(self, key: Any) -> int:
        """Return how many more values of a key are missing than before."""
        return self.missing_after[key] - self.missing_before[key]

    def rate(self, key: Any) -> float | None:
        """Return these as a share of the values there were; None if there were none."""
        there = self.records_before - self.missing_before[key]
        return self.suppressed(key) / there if there else None


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The original and the safe file side by side.

    It holds figures of the original: it is for the office.

    Attributes
    ----------
    records_before, records_after : int
    weight : column name or None
        Of the weights in shares, tables and moments.
    aligned : bool
        Whether it is known which record of the one is which of the other.
    keys : tuple of KeyComparison
    pairs : tuple of PairComparison
        Of all pairs of keys.
    numbers : tuple of NumberComparison
    correlations : tuple of Correlation
        Of all pairs of columns of numbers.
    strata_columns : tuple of column names
    strata : tuple of Stratum
    propensity : Propensity

    Examples
    --------
    >>> import riskcore
    >>> original = {"sex": list("ffmm"), "age": [1, 2, 1, 2]}
    >>> safe = {"sex": ["f", None, "m", "m"], "age": [1, 2, 1, 2]}
    >>> found = riskcore.compare(original, safe, ["sex", "age"])
    >>> found
    <Comparison: 4 records before and 4 after, 2 keys, 1 value more missing, ...>
    >>> found.key("sex").suppressed, found.key("sex").total_variation
    (1, 0.25)
    >>> found.mean_total_variation, found.most_changed().keys
    (0.25, ('sex', 'age'))
    >>> found.to_dict()["propensity"]["told_apart"]
    1
    """

    records_before: int
    records_after: int
    weight: Hashable | None
    aligned: bool
    keys: tuple[KeyComparison, ...]
    pairs: tuple[PairComparison, ...]
    numbers: tuple[NumberComparison, ...]
    correlations: tuple[Correlation, ...]
    strata_columns: tuple[Any, ...]
    strata: tuple[Stratum, ...]
    propensity: Propensity

    def key(self, name: Hashable) -> KeyComparison:
        """Return what is said of a key.

        Parameters
        ----------
        name : column name

        Returns
        -------
        KeyComparison

        Raises
        ------
        KeyError
            If it is none.
        """
        for one in self.keys:
            if one.key == name:
                return one
        known = ", ".join(repr(one.key) for one in self.keys)
        raise NoSuchNameError(f"{name!r} is no key of the comparison; keys are {known}")

    @property
    def compared_pairs(self) -> tuple[PairComparison, ...]:
        """The pairs of keys whose tables have the same categories in both files."""
        return tuple(one for one in self.pairs if one.total_variation is not None)

    @property
    def mean_total_variation(self) -> float | None:
        """Mean total variation of the two-way tables; of one key, of its own table.

        None if not all of them can be compared.
        """
        return self._mean("total_variation")

    @property
    def mean_hellinger(self) -> float | None:
        """Mean Hellinger distance of the two-way tables, as `mean_total_variation`."""
        return self._mean("hellinger")

    def _mean(self, distance: str) -> float | None:
        tables: Sequence[Any] = self.pairs or self.keys
        found = [getattr(one, distance) for one in tables]
        if any(one is None for one in found):
            return None
        return fsum(np.array(found)) / len(found)

    @property
    def share_lost(self) -> float | None:
        """The mean over the keys of `KeyComparison.share_lost`."""
        found = [one.share_lost for one in self.keys]
        if any(one is None for one in found):
            return None
        return fsum(np.array(found, float)) / len(found)

    def most_changed(self, count: int = 1) -> Any:
        """Return the pair of keys whose two-way table has changed most.

        Parameters
        ----------
        count : int, optional
            With more than 1, a tuple of so many pairs, the most changed one first.

        Returns
        -------
        PairComparison, tuple of PairComparison, or None
            By total variation, equal ones in the order of the keys.
        """
        ranked = sorted(
            self.compared_pairs, key=lambda one: -(one.total_variation or 0)
        )
        if count == 1:
            return ranked[0] if ranked else None
        return tuple(ranked[:count])

    @property
    def newly_missing(self) -> int | None:
        """Values of keys that are missing and were not before: the sum over keys."""
        counts = [one.suppressed for one in self.keys]
        return None if None in counts else sum(filter(None, counts))

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data for JSON.

        Returns
        -------
        dict
            Of text, finite numbers, None, dicts and lists.
        """
        return {
            "records": {"before": self.records_before, "after": self.records_after},
            "weight": None if self.weight is None else str(self.weight),
            "aligned": self.aligned,
            "keys": [_key_plain(one) for one in self.keys],
            "pairs": [
                {**asdict(one), "keys": list(map(str, one.keys))} for one in self.pairs
            ],
            "mean_total_variation": self.mean_total_variation,
            "mean_hellinger": self.mean_hellinger,
            "share_lost": self.share_lost,
            "quantiles": list(QUANTILES),
            "numbers": [
                {
                    "column": str(one.column),
                    "before": _moments_plain(one.before),
                    "after": _moments_plain(one.after),
                }
                for one in self.numbers
            ],
            "correlations": [
                {**asdict(one), "columns": list(map(str, one.columns))}
                for one in self.correlations
            ],
            "strata": {
                "columns": list(map(str, self.strata_columns)),
                "rows": [
                    {
                        "stratum": [_plain(value) for value in one.stratum],
                        "records_before": one.records_before,
                        "records_after": one.records_after,
                        "suppressed": {
                            str(k): one.suppressed(k) for k in one.missing_after
                        },
                        "rate": {str(k): one.rate(k) for k in one.missing_after},
                    }
                    for one in self.strata
                ],
            },
            "propensity": asdict(self.propensity),
        }

    def __repr__(self) -> str:
        lost = self.newly_missing
        values = ""
        if lost is not None:
            values = f", {counted(lost, 'value')} more missing"
        pmse = self.propensity.pmse
        model = "no pMSE" if pmse is None else f"pMSE {pmse:.6g}"
        before = counted(self.records_before, "record")
        return (
            f"<Comparison: {before} before and {self.records_after:,} after, "
            f"{counted(len(self.keys), 'key')}{values}, {model}>"
        )

    def _repr_html_(self) -> str:
        rows = [("records", f"{self.records_before:,}, {self.records_after:,}")]
        for one in self.keys:
            far = one.total_variation
            distance = "no common categories" if far is None else f"{far:.6g}"
            rows.append((f"total variation of {one.key}", distance))
        pmse = self.propensity.pmse
        rows.append(("pMSE", "-" if pmse is None else f"{pmse:.6g}"))
        note = html.escape("before, after")
        return html.figures("Comparison, for internal use", note, rows)


def _plain(value: Any) -> Any:
    """Return a category as JSON holds it."""
    plain = value is None or isinstance(value, str | bool | int | float)
    return value if plain else str(value)


def _key_plain(one: KeyComparison) -> dict[str, Any]:
    plain = asdict(one)
    plain["key"] = str(one.key)
    plain["share_lost"] = one.share_lost
    for row in plain["table"]:
        row["category"] = _plain(row["category"])
    plain["table"] = list(plain["table"])
    return plain


def _moments_plain(one: Moments) -> dict[str, Any]:
    found = one.quantiles
    return {**asdict(one), "quantiles": None if found is None else list(found)}


@dataclass(frozen=True, slots=True, eq=False)
class File:
    """One of the two files, coded.

    Attributes
    ----------
    coded : CodedRecords
        Keys and strata.
    numbers : dict of column name to float64 ndarray
        Columns of numbers, nan for missing.
    """

    coded: CodedRecords
    numbers: dict[Any, Floats]

    @property
    def stands_for(self) -> Ints | None:
        """How many records each row stands for, of data on an engine."""
        counted = self.coded.counted
        return None if counted is None else counted.records

    @property
    def weight(self) -> Floats | None:
        """The weight of each row."""
        return self.coded.weights

    def take(self, rows: NDArray[np.int64]) -> File:
        """Return the rows in another order."""
        columns = {
            name: replace(column, codes=column.codes[rows])
            for name, column in self.coded.columns.items()
        }
        weights = self.weight
        coded = replace(
            self.coded,
            columns=columns,
            weights=None if weights is None else weights[rows],
        )
        return File(coded, {name: one[rows] for name, one in self.numbers.items()})


def compare(
    original: Any,
    safe: Any,
    keys: Iterable[Hashable],
    weight: Hashable | None = None,
    *,
    recodings: Mapping[Any, Recoding | str | os.PathLike[str]] | None = None,
    columns: Iterable[Hashable] = (),
    strata: Iterable[Hashable] = (),
    id: Hashable | None = None,
    interactions: bool = False,
    reading: Reading | None = None,
    safe_reading: Reading | None = None,
    progress: Lines | None = None,
) -> Comparison:
    """Compare a safe file with its original: what protection has changed, and how much.

    The records of the safe file may stand in any order and have other ids: nothing
    rests on that. All figures are of the original, too, and are for the office.

    Parameters
    ----------
    original, safe : frame, mapping or path
        The files, as for `assess`.
    keys : iterable of column names
        The key variables, in both files.
    weight : column name, optional
        Sampling weights, in both files; by default those that the metadata of a
        mu-Argus original declare, otherwise every weight is 1.
    recodings : mapping of column names to Recoding or path, optional
        How the original was recoded, so that tables are compared on the categories of
        the safe file; paths are of ``.grc`` files. `Protected.compare` knows it.
    columns : iterable of column names, optional
        Columns of numbers that stay, for means, quantiles and correlations.
    strata : iterable of column names, optional
        By which to count suppressed values.
    id : column name, optional
        Ids of the records that both files have. Only if they are the same, each there
        once, is it known which record is which, and how many values have changed.
    interactions : bool, optional
        Whether the propensity score has terms for pairs of keys, too.
    reading, safe_reading : Reading, optional
        How to read the files, if they are paths; the safe file by default as the
        original.
    progress : callable, optional
        Called with a line of text at each step.

    Returns
    -------
    Comparison

    Raises
    ------
    KeyError, OSError
        As `assess`.
    TypeError
        As `assess`; also if an engine holds one of the files and ``columns`` or ``id``
        is given, which need single records.
    ValueError
        As `assess`; also if a column has two roles, the strata have other categories in
        the safe file, or the ids are not the same.

    Notes
    -----
    The measures, each with its source: `notes/utility.md`.

    Examples
    --------
    >>> import riskcore
    >>> original = {"age": [15, 16, 31, 32], "w": [10.0, 10.0, 20.0, 20.0]}
    >>> safe = {"age": ["< 30", None, ">= 30", ">= 30"], "w": original["w"]}
    >>> groups = {"age": riskcore.Recoding.intervals([30], closed="left")}
    >>> found = riskcore.compare(original, safe, ["age"], "w", recodings=groups)
    >>> age = found.key("age")
    >>> age.original.categories, age.safe.categories, age.suppressed
    (4, 2, 1)
    >>> round(age.total_variation, 6), round(age.hellinger, 6)
    (0.166667, 0.31246)
    """
    say = progress or silent
    names = key_names(keys)
    numbers = arguments.names("columns", columns)
    by = arguments.names("strata", strata)
    arguments.column_name("weight", weight)
    arguments.column_name("id", id)
    if safe_reading is None and reading is not None and isinstance(safe, PATHS):
        safe_reading = replace(reading, metadata=None)  # of the safe file: beside it
    sources = Source.of(original, reading), Source.of(safe, safe_reading)
    rules = _rules(recodings, sources[0])
    weight = sources[0].weight if weight is None else weight
    check_columns(names, weight, numbers, by, id)
    files, ids = [], []
    for source, what in zip(sources, ("original", "safe file"), strict=True):
        source.check(
            [one for one in (*names, *numbers, *by, weight, id) if one is not None]
        )
        say(f"reading the {what}")
        data, _ = source.read([*names, *numbers, *by, weight, id], weight, numbers)
        engine = engine_of(data)
        if engine is not None and (numbers or id is not None):
            raise engine.refuse_single("columns" if numbers else "id")
        files.append(file_of(data, [*names, *by], weight, numbers))
        if id is not None:
            ids.append(code_column(Records.of(data), id))
    if id is not None:
        files[1] = files[1].take(_matching(*ids))
    return compare_files(
        files[0], files[1], names, weight, recodings=rules, strata=by,
        aligned=id is not None, interactions=interactions, labels=sources[0].labels,
        progress=say,
    )  # fmt: skip


def _rules(
    recodings: Mapping[Any, Recoding | str | os.PathLike[str]] | None, source: Source
) -> dict[Any, Recoding]:
    """Return the recodings, those of files read."""
    given: Any = {} if recodings is None else recodings
    if not isinstance(given, Mapping):
        shown = arguments.shown(given)
        raise TypeError(f"recodings={shown}: need a mapping by column")
    rules = {}
    for name, rule in given.items():
        if isinstance(rule, PATHS):
            rule = read_recoding(Path(rule), source.variables.get(name))
        if not isinstance(rule, Recoding):
            raise TypeError(
                f"recodings of {name!r}: {arguments.shown(rule)} is no Recoding, nor "
                "the path of a .grc file"
            )
        rules[name] = rule
    return rules


def check_columns(
    keys: Sequence[Hashable],
    weight: Hashable | None,
    numbers: Sequence[Hashable],
    strata: Sequence[Hashable],
    id: Hashable | None = None,
) -> None:
    """Refuse columns that cannot have their parts together.

    Raises
    ------
    ValueError
    """
    check_names(keys, {"weight": weight}, ())
    for what, given in (("columns", numbers), ("strata", strata)):
        twice = [one for i, one in enumerate(given) if one in given[:i]]
        if twice:
            raise ValueError(f"{what}: {twice[0]!r} stands twice")
    for name in numbers:
        if name in keys or name in strata or name in (weight, id):
            raise ValueError(
                f"columns: {name!r} is a key, a stratum, the weight or the id; columns "
                "are numbers that have no other part"
            )
    if weight is not None and weight in strata:
        raise ValueError(f"strata: {weight!r} is the weight")
    if id is not None and (id in keys or id in strata or id == weight):
        raise ValueError(f"id: {id!r} is a key, a stratum or the weight")


def file_of(
    data: Any,
    names: Sequence[Hashable],
    weight: Hashable | None,
    numbers: Iterable[Hashable],
) -> File:
    """Code what a comparison needs of a file; data on an engine are counted there."""
    coded = CodedRecords.of(data, list(dict.fromkeys(names)), weight)
    found = {}
    for name in numbers:
        found[name] = numbers_of(data, name)
    return File(coded, found)


def numbers_of(data: Any, name: Hashable) -> Floats:
    """Return a column of numbers, nan for missing, of which there is a variance.

    Raises
    ------
    KeyError, TypeError, ValueError
        As `real_numbers`; ValueError also if a number is beyond 1e150.
    """
    values = real_numbers(Records.of(data), name)
    large = int(np.count_nonzero(np.abs(values) > LARGEST))
    if large:
        raise ValueError(
            f"column {name!r}: beyond {LARGEST:g} in {large:,} records; its variance "
            "would be no double: give the column in another unit"
        )
    return values


def _matching(original: CodedColumn, safe: CodedColumn) -> NDArray[np.int64]:
    """Return the row of the safe file of each record, or refuse ids that are not one.

    Raises
    ------
    ValueError
    """
    for column, what in ((original, "original"), (safe, "safe file")):
        n = len(column.codes)
        if column.missing:
            raise ValueError(
                f"id {column.name!r}: missing in {column.missing:,} of {n:,} records "
                f"of the {what}"
            )
        if len(column.labels) < n:
            raise ValueError(
                f"id {column.name!r}: {n - len(column.labels):,} of {n:,} records of "
                f"the {what} have an id that another has"
            )
    if len(original.labels) != len(safe.labels) or not all(
        one == other for one, other in zip(original.labels, safe.labels, strict=True)
    ):
        raise ValueError(
            f"id {original.name!r}: the files have other ids; if the safe file has new "
            "ones, leave id out"
        )
    row = np.empty(len(safe.codes), np.int64)
    row[safe.codes] = np.arange(len(safe.codes))
    return row[original.codes]


def compare_files(
    before: File,
    after: File,
    keys: Sequence[Hashable],
    weight: Hashable | None,
    *,
    recodings: Mapping[Any, Recoding] | None = None,
    strata: Sequence[Hashable] = (),
    aligned: bool = False,
    interactions: bool = False,
    labels: Labels | None = None,
    progress: Lines = silent,
) -> Comparison:
    """Compare two files that are coded, see `compare`; ``aligned``: row by row."""
    progress("comparing keys")
    shared = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DoubtfulRules)  # said when it was recoded
        for name in dict.fromkeys([*keys, *strata]):
            recoding = (recodings or {}).get(name)
            columns = before.coded.columns[name], after.coded.columns[name]
            shared[name] = SharedColumn.of(*columns, recoding, labels)
    of_keys = [shared[name] for name in keys]
    tables = (
        _table(before, [one.before for one in of_keys], of_keys),
        _table(after, [one.after for one in of_keys], of_keys),
    )
    same = before.coded.n == after.coded.n
    compared = tuple(
        _compared(one, before, tables, i, same=same, aligned=aligned)
        for i, one in enumerate(of_keys)
    )
    progress("comparing pairs of keys")
    pairs = tuple(
        _pair(of_keys, tables, i, j) for i, j in combinations(range(len(of_keys)), 2)
    )
    progress("comparing columns of numbers")
    w = [
        np.ones(one.coded.n) if one.weight is None else one.weight
        for one in (before, after)
    ]
    numbers = tuple(
        NumberComparison(
            name,
            Moments.of(values, w[0]),
            Moments.of(after.numbers[name], w[1]),
        )
        for name, values in before.numbers.items()
    )
    correlations = tuple(
        Correlation(
            (a, b),
            *(
                _correlation(one.numbers[a], one.numbers[b], weights)
                for one, weights in zip((before, after), w, strict=True)
            ),
        )
        for a, b in combinations(before.numbers, 2)
    )
    by_stratum = _strata(
        before, after, of_keys, [shared[name] for name in strata], aligned=aligned
    )
    progress("fitting the propensity score")
    return Comparison(
        before.coded.n,
        after.coded.n,
        weight,
        aligned,
        compared,
        pairs,
        numbers,
        correlations,
        tuple(strata),
        by_stratum,
        _propensity(of_keys, tables, interactions=interactions),
    )


def _table(file: File, codes: Sequence[Codes], shared: Sequence[SharedColumn]) -> Table:
    levels = [one.levels for one in shared]
    return Table.of(codes, levels, file.weight, file.stands_for)


def _compared(
    one: SharedColumn,
    before: File,
    tables: tuple[Table, Table],
    i: int,
    *,
    same: bool,
    aligned: bool,
) -> KeyComparison:
    """Compare one key."""
    margins = [table.margin(i) for table in tables]
    own = margins[0]
    if one.recoded:
        own = Table.of(
            [one.own], [len(one.own_labels) + 1], before.weight, before.stands_for
        )
    stages = [Stage.of(table) for table in (own, *margins)]
    far: list[float | None] = [None] * 4
    rows: list[Category] = []
    if not one.reason:
        p, q = shares_of_both(*margins)
        far[:2] = measures.total_variation(p, q), measures.hellinger(p, q)
        present = [table.present() for table in margins]
        if all(len(table.records) for table in present):
            p, q = shares_of_both(*present)
            far[2:] = measures.total_variation(p, q), measures.hellinger(p, q)
        rows = _rows(one, *margins)
    lost, changed = None, None
    if aligned:
        codes = [one.own, one.after]
        levels = [len(one.own_labels) + 1, one.levels]
        joint = Table.of(codes, levels, before.weight, before.stands_for)
        lost = _conditional_entropy(joint)
        differs = (one.before != one.after) & (one.after != one.levels - 1)
        if not one.reason:
            changed = count_records(differs, before.stands_for)
    return KeyComparison(
        key=one.name,
        original=stages[0],
        recoded=stages[1] if one.recoded else None,
        safe=stages[2],
        suppressed=stages[2].missing - stages[1].missing if same else None,
        total_variation=far[0],
        hellinger=far[1],
        total_variation_of_values=far[2],
        hellinger_of_values=far[3],
        information_lost=lost,
        changed=changed,
        reason=one.reason,
        table=tuple(rows),
    )


def _rows(one: SharedColumn, before: Table, after: Table) -> list[Category]:
    """Return the two tables of a key side by side, missing last."""
    shares = [table.spread() / fsum(table.weight) for table in (before, after)]
    records = [table.spread_records() for table in (before, after)]
    columns = (one.tolist() for one in (*records, *shares))
    rows = [Category(*row) for row in zip((*one.shown, None), *columns, strict=True)]
    return [row for row in rows if row.records_before or row.records_after]


def _conditional_entropy(joint: Table) -> float:
    """Return H(original | safe) in bits, weighted, of the records with a value before.

    As a share of all records: what one of them loses on average.
    """
    there = joint.codes[0] != joint.levels[0] - 1
    total = fsum(joint.weight)
    weight, groups = joint.weight[there], joint.codes[1][there]
    order = np.argsort(groups, kind="stable")
    borders = np.flatnonzero(np.diff(groups[order])) + 1
    parts = np.split(weight[order], borders)
    bits = [fsum(part) * measures.entropy(part) for part in parts]
    return fsum(np.array(bits)) / total


def _pair(
    keys: Sequence[SharedColumn], tables: tuple[Table, Table], i: int, j: int
) -> PairComparison:
    """Compare the two-way tables of two keys."""
    margins = [table.margin(i, j) for table in tables]
    far: list[float | None] = [None, None]
    if not (keys[i].reason or keys[j].reason):
        p, q = shares_of_both(*margins)
        far = [measures.total_variation(p, q), measures.hellinger(p, q)]
    before, after = (_association(table.present()) for table in margins)
    return PairComparison((keys[i].name, keys[j].name), far[0], far[1], before, after)


def _association(table: Table) -> float | None:
    """Return Cramer's V of a table of two columns."""
    first, second = map(_whole, table.codes)
    return measures.cramers_v(first, second, table.weight)


def _whole(codes: Codes) -> Ints:
    return codes.astype(np.int64)


def _correlation(first: Floats, second: Floats, weight: Floats) -> float | None:
    """Return the correlation of the records that have both."""
    there = ~(np.isnan(first) | np.isnan(second))
    return measures.pearson(first[there], second[there], weight[there])


def _strata(
    before: File,
    after: File,
    keys: Sequence[SharedColumn],
    by: Sequence[SharedColumn],
    *,
    aligned: bool,
) -> tuple[Stratum, ...]:
    """Count what is missing by stratum."""
    if not by:
        return ()
    for one in by:
        if one.reason:
            raise ValueError(f"strata: {one.name!r}: {one.reason}")
    # Of rows that align the stratum is that of the original.
    own = (
        [one.before for one in by],
        [one.before if aligned else one.after for one in by],
    )
    hidden = (
        [key.before == key.levels - 1 for key in keys],
        [key.after == key.levels - 1 for key in keys],
    )
    levels = [one.levels for one in by]
    sides = [
        _missing_by(codes, levels, masks, file.stands_for)
        for file, codes, masks in zip((before, after), own, hidden, strict=True)
    ]
    names = [key.name for key in keys]
    nothing = [0] * (1 + len(keys))
    strata = []
    for cell in sorted({*sides[0], *sides[1]}):
        (n, *missing), (left, *gone) = (side.get(cell, nothing) for side in sides)
        at = tuple((*one.shown, None)[i] for one, i in zip(by, cell, strict=True))
        counts = (dict(zip(names, each, strict=True)) for each in (missing, gone))
        strata.append(Stratum(at, n, left, *counts))
    return tuple(strata)


def _missing_by(
    codes: Sequence[Codes],
    levels: Sequence[int],
    hidden: Sequence[NDArray[np.bool_]],
    stands_for: Ints | None,
) -> dict[tuple[int, ...], list[int]]:
    """Return by stratum the records, and those of which each key is missing."""
    found = count(codes, levels)
    of_rows = np.ones(len(codes[0]), np.int64) if stands_for is None else stands_for
    counts = [
        np.bincount(found.inverse, np.where(mask, of_rows, 0), len(found.frequency))
        for mask in [np.ones(len(of_rows), bool), *hidden]
    ]
    cells = zip(*(one.tolist() for one in found.codes), strict=True)
    numbers = zip(*(one.astype(np.int64).tolist() for one in counts), strict=True)
    return {cell: list(each) for cell, each in zip(cells, numbers, strict=True)}


def _propensity(
    keys: Sequence[SharedColumn], tables: tuple[Table, Table], *, interactions: bool
) -> Propensity:
    """Fit the propensity score on the keys that can be compared."""
    compared = [i for i, one in enumerate(keys) if not one.reason]
    left_out = [repr(one.name) for one in keys if one.reason]
    if not compared:
        return propensity([], np.ones(1, np.int64), np.ones(1, np.int64))
    before, after = (table.margin(*compared) for table in tables)
    found = propensity(*stacked(before, after), interactions=interactions)
    if not left_out:
        return found
    also = f"without {', '.join(left_out)}, which cannot be compared"
    return replace(found, reason=f"{found.reason}; {also}" if found.reason else also)
