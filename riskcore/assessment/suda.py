"""Find special uniques (SUDA), records that few keys single out, and score them.

A record that is unique by two of its keys is more special than a record that is unique
only by all keys. The special uniques detection algorithm finds the minimal sample
uniques of each record, the smallest sets of keys on which it differs from all other
records of the file. It scores the record by their number and size.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.distributions import totals
from riskcore.assessment.minimal_uniques import (
    MOST_KEYS,
    MinimalUniques,
    minimal_uniques,
)
from riskcore.assessment.reported_figures import code
from riskcore.common import arguments
from riskcore.common.progress import Lines, silent
from riskcore.common.sheet import OnASheet, Part, Sheet
from riskcore.common.words import counted, on_one_line, printable, shortened
from riskcore.data.cells import (
    Cells,
    check_names,
    key_values,
    tabulate_coded,
    with_results,
)
from riskcore.data.coded import CodedRecords
from riskcore.data.columns import plain_value
from riskcore.data.files.reading import Reading
from riskcore.data.frame_types import DataT, DataT_co, OfData, frame
from riskcore.data.source import Source

RULES = ("refuse", "category")
RECORD_COLUMNS = ("suda_score", "dis_suda_score", "minimal_uniques", "smallest_unique")
_LONGEST = 24  # letters of a value in text
_LISTED = 5  # values of each key in text

Reals = NDArray[np.float64]
Numbers = NDArray[np.int64]


def suda(
    data: DataT,
    keys: Iterable[Hashable],
    max_size: int | None = None,
    *,
    fraction: float | None = None,
    weight: Hashable | None = None,
    missing: str = "refuse",
    reading: Reading | None = None,
    progress: Lines | None = None,
) -> SpecialUniques[DataT]:
    """Find and score the minimal sample uniques of a file (SUDA).

    Parameters
    ----------
    data : frame, mapping or path
        Records, as for `riskcore.tabulate`.
    keys : iterable of hashable
        Names of the key variables, at most 64. All their subsets are visited, so give
        ``max_size`` for more than about 15 keys. A search that would take hours, by an
        estimate, is refused.
    max_size : int, optional
        M, the largest number of keys in a set; by default all keys.
    fraction : float, optional
        Sampling fraction, in (0, 1), for DIS-SUDA scores; by default the number of
        records divided by the sum of the weights.
    weight : hashable, optional
        Name of the column of sampling weights, used for the fraction only.
    missing : {"refuse", "category"}
        How to treat missing key values: refuse the file, or take missing as one more
        category. Two records whose value is missing then have the same value, and a
        record may be unique by its missing value. Missing cannot match any value
        ("wildcard", "argus") here, because then a record that is unique on some keys
        need not be unique on more keys.
    reading : Reading, optional
        How to read the file, if ``data`` is a path.
    progress : callable, optional
        Called with a line of text at each step.

    Returns
    -------
    SpecialUniques

    Raises
    ------
    KeyError, OSError
        As `riskcore.tabulate`.
    TypeError, ValueError
        As `riskcore.tabulate`; or if ``max_size`` is not a whole number from 1 on,
        ``fraction`` is not in (0, 1), both ``fraction`` and ``weight`` are given, or
        the fraction of the weights is not below 1.

    Notes
    -----
    With m keys and sets of at most M keys, the score of a minimal unique of k keys is
    (m-k)(m-k-1)...(m-M+1), the number of ways to add keys to it one at a time until it
    has M (Elliot, Manning and Ford 2002); (m-k)! if M = m. The score of a record is the
    sum over its minimal uniques; 0 without any. DIS, the probability that a match with
    a unique record is correct, is U p / (U p + P (1-p)), with U sample uniques, P
    records in cells of two and the sampling fraction p
    (Skinner and Elliot 2002). DIS-SUDA scores (Elliot and Manning 2003) are the scores,
    scaled so that their mean over the sample uniques is DIS. They serve to compare
    records, and may exceed 1. With weights, P (1-p)/p is the sum of w - 1 over the P
    records (Skinner and Carter 2003).

    Examples
    --------
    >>> data = {
    ...     "sex": ["f", "f", "m", "m", "m"],
    ...     "age": [30, 30, 30, 40, 40],
    ...     "job": ["a", "a", "a", "a", "b"],
    ... }
    >>> found = suda(data, ["sex", "age", "job"], fraction=0.1)
    >>> found.records["suda_score"]
    array([0., 0., 1., 1., 2.])
    >>> found.sets_of(2), found.sets_of(4)
    ([('sex', 'age')], [('job',)])
    >>> round(found.dis, 4)
    0.1429
    """
    if missing in ("wildcard", "argus"):
        raise ValueError(
            f"missing={missing!r}: minimal uniques are not defined where missing "
            "matches any value; use 'refuse' or 'category'"
        )
    arguments.one_of("missing", missing, RULES)
    if fraction is not None:
        fraction = arguments.number_in("fraction", fraction, "(0, 1)")
        if weight is not None:
            raise ValueError(
                "give fraction or weight, not both: weights give a fraction"
            )
    names = arguments.names("keys", keys)
    check_names(names, {"weight": weight}, RECORD_COLUMNS)
    if len(names) > MOST_KEYS:
        raise ValueError(f"{len(names)} keys: give at most {MOST_KEYS}")
    m = len(names)
    M = m if max_size is None else arguments.whole_from("max_size", max_size, 1, 2**31)
    progress = progress or silent
    source = Source.of(data, reading)
    data, intake = source.read([*names, weight], weight)
    progress("counting cells")
    coded = CodedRecords.of(data, names, weight, scale=source.scale)
    cells = tabulate_coded(coded, names, missing, 1.0, intake)
    if weight is not None:
        fraction = cells.n / cells.totals.population
        if not 0 < fraction < 1:
            raise ValueError(
                f"weight {weight!r}: the weights of {cells.n:,} records add to "
                f"{cells.totals.population:,.8g}; need a larger sum, or a fraction"
            )
    report = progress
    report("trying sets of keys")
    uniques = minimal_uniques(
        list(cells.codes),
        [len(labels) for labels in cells.categories],
        cells.sample_frequency.astype(np.int64),
        min(M, m),
        lambda done, whole: report(
            f"trying {whole:,.4g} sets of keys, {done / whole:.1%} done"
        ),
    )
    return SpecialUniques(data, cells, uniques, min(M, m), fraction)


def match_probability(uniques: int, pairs: int, people: float) -> float:
    """Return DIS, given the records in cells of two and whom they stand for."""
    others = max(people - pairs, 0.0)  # of the cells of the sample uniques, on average
    return uniques / (uniques + others) if uniques or others else math.nan


def score_of_sizes(m: int, M: int) -> list[float]:
    """Return the scores of minimal uniques of 1 to M out of m keys, see `suda`."""
    return [float(math.perm(m - k, M - k)) for k in range(1, M + 1)]


@dataclass(frozen=True, eq=False, repr=False)
class SpecialUniques(OnASheet, OfData[DataT_co]):
    """The minimal sample uniques of a file and the scores of its records.

    Attributes
    ----------
    data : frame or mapping
        The data as given; for a file, the columns that were read.
    cells : Cells
    found : MinimalUniques
        ``found.cell`` and ``found.keys``: the sets of keys of each sample unique.
    max_size : int
        M, the largest number of keys in a set.
    fraction : float or None
        The sampling fraction.

    Examples
    --------
    >>> data = {"sex": ["f", "f", "m", "m"], "age": [30, 40, 30, 30]}
    >>> found = suda(data, ["sex", "age"])
    >>> found
    <SpecialUniques: 2 minimal uniques of 2 records, sex x age>
    >>> found.contributions()["share"]
    array([0.5, 1. ])
    """

    data: Any
    cells: Cells
    found: MinimalUniques
    max_size: int
    fraction: float | None

    @cached_property
    def _score_of_set(self) -> Reals:
        """The score of each minimal unique, shape (Q,)."""
        scores = score_of_sizes(len(self.cells.keys), self.max_size)
        return np.array([0.0, *scores])[self.found.size]

    @cached_property
    def score(self) -> Reals:
        """The score of each cell, shape (K,); 0 unless its record is unique."""
        return totals(self.found.cell, self._score_of_set, len(self.cells))

    @cached_property
    def number(self) -> Numbers:
        """The number of minimal uniques of each cell, shape (K,)."""
        return np.bincount(self.found.cell, minlength=len(self.cells))

    @cached_property
    def smallest(self) -> Numbers:
        """The size of the smallest minimal unique of each cell, shape (K,); else 0."""
        least = np.full(len(self.cells), MOST_KEYS + 1)
        np.minimum.at(least, self.found.cell, self.found.size)
        return np.where(least > MOST_KEYS, 0, least)

    @property
    def uniques(self) -> int:
        """Number of sample uniques."""
        return self.cells.totals.uniques

    @property
    def pairs(self) -> int:
        """Number of records in cells of two."""
        return 2 * int(np.count_nonzero(self.cells.sample_frequency == 2))

    @property
    def dis(self) -> float:
        """DIS; nan without a sampling fraction, or without uniques and pairs."""
        if self.fraction is None:
            return math.nan
        people = float(self.cells.weight_sum[self.cells.records == 2].sum())
        people /= 1.0 if self.cells.weighted else self.fraction
        return match_probability(self.uniques, self.pairs, people)

    @cached_property
    def dis_score(self) -> Reals:
        """The DIS-SUDA score of each cell, shape (K,); nan without a fraction."""
        total = self.score.sum()
        if total == 0 or math.isnan(self.dis):
            return np.full(len(self.cells), math.nan if self.fraction is None else 0.0)
        scores: Reals = self.score * (self.dis * self.uniques / total)
        return scores

    @frame
    def records(self) -> Any:
        """The data with the columns of ``RECORD_COLUMNS`` added, same type and order.

        ``suda_score``; ``dis_suda_score`` with a sampling fraction;
        ``minimal_uniques``, the number of the record's minimal uniques;
        ``smallest_unique``, the size of the smallest of these, or 0.

        Raises
        ------
        TypeError
            If an engine counted the records.
        ValueError
            If the data already have a column of one of these names, ignoring case.
        """
        cell = self.cells.inverse
        results: dict[Hashable, NDArray[Any]] = {"suda_score": self.score[cell]}
        if self.fraction is not None:
            results["dis_suda_score"] = self.dis_score[cell]
        results["minimal_uniques"] = self.number[cell]
        results["smallest_unique"] = self.smallest[cell]
        return with_results(self.data, results)

    def sets_of(self, record: int) -> list[tuple[Hashable, ...]]:
        """Return the minimal uniques of one record, the smallest first.

        Parameters
        ----------
        record : int
            Position of the record in the data.

        Returns
        -------
        list of tuples of column names
        """
        return self._sets_of_cell(int(self.cells.inverse[record]))

    def _sets_of_cell(self, cell: int) -> list[tuple[Hashable, ...]]:
        at = slice(*np.searchsorted(self.found.cell, [cell, cell + 1]))
        words = sorted(self.found.keys[at].tolist(), key=lambda w: (w.bit_count(), w))
        return [
            tuple(key for j, key in enumerate(self.cells.keys) if word >> j & 1)
            for word in words
        ]

    def _with_key(self, key: int) -> NDArray[np.bool_]:
        return (self.found.keys >> np.uint64(key) & np.uint64(1)).astype(bool)

    def contributions(self) -> dict[str, NDArray[Any]]:
        """Return how much each key contributes to the scores.

        Returns
        -------
        dict of ndarray, each shape (m,)
            ``key``; ``score``, the sum over the minimal uniques that contain it;
            ``share`` of the file's total, nan if the total is 0. A minimal unique
            counts for each of its keys, so the shares add up to 1 or more.
        """
        sums = [
            float(self._score_of_set[self._with_key(j)].sum())
            for j in range(len(self.cells.keys))
        ]
        names = np.fromiter(self.cells.keys, object, len(sums))
        return {"key": names, "score": np.array(sums), "share": self._share(sums)}

    def value_contributions(self) -> dict[str, NDArray[Any]]:
        """Return how much each value of each key contributes to the scores.

        Returns
        -------
        dict of ndarray
            One element for each category: ``key``, ``value`` (None if missing),
            ``records`` that have the value; ``score``, the sum over the minimal uniques
            that contain the key, of records with the value; ``share`` of the file's
            total.
        """
        keys: list[Hashable] = []
        values: list[Any] = []
        records: list[Reals] = []
        scores: list[Reals] = []
        for j, (key, labels) in enumerate(
            zip(self.cells.keys, self.cells.categories, strict=True)
        ):
            codes = self.cells.codes[j]
            chosen = self._with_key(j)
            keys += [key] * len(labels)
            values += [plain_value(label) for label in labels]
            records.append(totals(codes, self.cells.records, len(labels)))
            of, score_of_set = self.found.cell[chosen], self._score_of_set[chosen]
            scores.append(totals(codes[of], score_of_set, len(labels)))
        score = np.concatenate(scores)
        return {
            "key": np.fromiter(keys, object, len(keys)),
            "value": np.fromiter(values, object, len(values)),
            "records": np.concatenate(records).astype(np.int64),
            "score": score,
            "share": self._share(score),
        }

    def _share(self, scores: Any) -> Reals:
        total = float(self.score.sum())
        return np.asarray(scores) / (total if total > 0 else math.nan)

    def riskiest(self, count: int = 10) -> list[dict[Hashable, Any]]:
        """Return the records with the highest scores.

        Parameters
        ----------
        count : int
            Largest number of records to return.

        Returns
        -------
        list of dict
            Key values, ``suda_score``, ``dis_suda_score`` with a fraction, and
            ``sets``: the minimal uniques. Ties keep the order of the cells.
        """
        order = np.argsort(-self.score, kind="stable")[:count]
        cells, rows = self.cells, []
        for cell in order[self.score[order] > 0].tolist():
            row = key_values(cells.keys, cells.categories, cells.codes, cell)
            row["suda_score"] = float(self.score[cell])
            if self.fraction is not None:
                row["dis_suda_score"] = float(self.dis_score[cell])
            row["sets"] = self._sets_of_cell(cell)
            rows.append(row)
        return rows

    def summary(self) -> dict[str, Any]:
        """Return the figures of the file as plain data for JSON; nan is None.

        ``sizes`` has, for each size, the number of minimal uniques of this size, and
        the number of records whose smallest minimal unique has this size.
        """
        sets = np.bincount(self.found.size, minlength=self.max_size + 1)
        records = np.bincount(self.smallest, minlength=self.max_size + 1)
        by_key, by_value = self.contributions(), self.value_contributions()
        return {
            "records": self.cells.n,
            "sample_uniques": self.uniques,
            "records_in_pairs": self.pairs,
            "keys": [str(key) for key in self.cells.keys],
            "missing": self.cells.missing,
            "missing_values": list(self.cells.missing_values),
            "max_size": self.max_size,
            "minimal_uniques": len(self.found.cell),
            "records_with_minimal_uniques": int(np.count_nonzero(self.number)),
            "sizes": [
                {"size": k, "minimal_uniques": int(sets[k]), "records": int(records[k])}
                for k in range(1, self.max_size + 1)
            ],
            "highest_score": float(self.score.max()),
            "total_score": float(self.score.sum()),
            "sampling_fraction": self.fraction,
            "dis": _plain(self.dis),
            "highest_dis_score": _plain(self.dis_score.max()),
            "contributions": _rows(by_key),
            "value_contributions": _rows(by_value),
        }

    def _sheet(self) -> Sheet:
        """Return the figures of the file as facts and tables."""
        of = self.summary()
        facts = [
            ("records", f"{of['records']:,}"),
            ("sample uniques", f"{of['sample_uniques']:,}"),
            ("largest sets of keys tried", f"{of['max_size']} of {len(of['keys'])}"),
            ("minimal uniques", f"{of['minimal_uniques']:,}"),
            (
                "records with a minimal unique",
                f"{of['records_with_minimal_uniques']:,}",
            ),
            ("highest score", f"{of['highest_score']:,.6g}"),
        ]
        absent = sum(of["missing_values"])
        if absent:
            facts.append(("missing key values", f"{absent:,}, a category of their own"))
        if of["dis"] is not None:
            facts.append(("sampling fraction", f"{of['sampling_fraction']:.6g}"))
            facts.append(("DIS", f"{of['dis']:.6g}"))
            facts.append(("highest DIS-SUDA score", f"{of['highest_dis_score']:.6g}"))
        sizes = [
            ("keys in the set", "minimal uniques", "records with this smallest size")
        ]
        sizes += [
            (str(row["size"]), f"{row['minimal_uniques']:,}", f"{row['records']:,}")
            for row in of["sizes"]
        ]
        shares = [("key", "share of scores", "values that contribute most")]
        shares += [
            (on_one_line(row["key"]), _percent(row["share"]), self._most(j, of))
            for j, row in enumerate(of["contributions"])
        ]
        return Sheet(
            "Special uniques",
            facts,
            [
                Part("Size of minimal uniques", rows=sizes, sides=">"),
                Part(
                    "What contributes to the scores",
                    rows=shares,
                    sides="<><",
                    most=(_LONGEST,),
                ),
            ],
        )

    def _most(self, key: int, of: dict[str, Any]) -> str:
        """Return the values of a key that contribute most to the scores."""
        before = sum(len(labels) for labels in self.cells.categories[:key])
        rows = of["value_contributions"][before:][: len(self.cells.categories[key])]
        rows = sorted(rows, key=lambda row: -row["score"])[:_LISTED]
        rows = [row for row in rows if row["score"] > 0]
        values = [shortened(row["value"], _LONGEST) for row in rows]
        shares = [_percent(row["share"]) for row in rows]
        return ", ".join(map("{} {}".format, values, shares))

    def __repr__(self) -> str:
        sets, records = len(self.found.cell), int(np.count_nonzero(self.number))
        keys = printable(" x ".join(map(str, self.cells.keys)))
        uniques, of = counted(sets, "minimal unique"), counted(records, "record")
        return f"<SpecialUniques: {uniques} of {of}, {keys}>"


def _plain(number: Any) -> float | None:
    return float(number) if math.isfinite(number) else None


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def _rows(columns: dict[str, NDArray[Any]]) -> list[dict[str, Any]]:
    """Return a table as rows of plain data."""
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    table = [[_plain(x) if isinstance(x, float) else code(x) for x in r] for r in rows]
    return [dict(zip(columns, row, strict=True)) for row in table]
