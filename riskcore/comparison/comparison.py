"""Results of a comparison of the original and the safe file."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from riskcore.assessment.reported_figures import code
from riskcore.common import html
from riskcore.common.missing_column import NoSuchNameError
from riskcore.common.results import WithReport
from riskcore.common.words import counted
from riskcore.comparison import measures
from riskcore.comparison.analyses import ModelComparison, TableComparison
from riskcore.comparison.losses import Category, CategoryLoss, losses_of
from riskcore.comparison.measures import Floats, fsum
from riskcore.comparison.propensity import Propensity
from riskcore.comparison.tables import Table
from riskcore.data.entropy import entropy

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True)
class Stage:
    """A key in one file.

    Attributes
    ----------
    categories : int
        How many occur, without missing.
    smallest_records : int or None
        The fewest records of a category; None if all are missing.
    smallest_weight : float or None
        The least weight of a category.
    missing : int
        Records without a value.
    missing_share : float
        Their share of the weight.
    entropy : float
        Entropy in bits of the weighted shares, of the records with a value.
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
        present = table.present()
        some = len(present.records) > 0
        missing = table.n - present.n
        total = fsum(table.weight)
        hidden = fsum(table.weight[table.codes[0] == table.levels[0] - 1])
        return cls(
            len(present.records),
            int(present.records.min()) if some else None,
            float(present.weight.min()) if some else None,
            missing,
            hidden / total,
            entropy(present.weight),
        )


@dataclass(frozen=True, slots=True)
class KeyComparison:
    """A key in the original and in the safe file.

    Attributes
    ----------
    key : column name
    original : Stage
    recoded : Stage or None
        The original in the categories of the safe file; None without a recoding.
    safe : Stage
    suppressed : int or None
        Values that are missing in the safe file alone; None if the files differ in
        their numbers of records.
    total_variation : float or None
        Distance of the weighted tables, missing being a category; None if the files
        have no categories in common.
    total_variation_of_values : float or None
        The same for the records with a value.
    information_lost : float or None
        H(original | safe) in bits: the uncertainty about the original category of a
        record, given the safe one; None unless the records are aligned.
    changed : int or None
        Values that differ from the recoded original, without suppressed ones; None
        unless the records are aligned.
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
    total_variation_of_values: float | None
    information_lost: float | None
    changed: int | None
    reason: str
    table: tuple[Category, ...]

    @property
    def before(self) -> Stage:
        """The original, recoded if a recoding is known."""
        return self.original if self.recoded is None else self.recoded

    @property
    def share_lost(self) -> float | None:
        """``information_lost`` as a share of the entropy of the original, in [0, 1].

        0 if the key had one category, so that nothing can be lost.
        """
        if self.information_lost is None:
            return None
        # Averaged over all records, as the information lost is.
        mean_entropy = self.original.entropy * (1 - self.original.missing_share)
        return (
            min(self.information_lost / mean_entropy, 1.0) if mean_entropy > 0 else 0.0
        )


@dataclass(frozen=True, slots=True)
class PairComparison:
    """The two-way table of two keys in both files.

    Attributes
    ----------
    keys : tuple of two column names
    total_variation : float or None
        Distance of the weighted tables, missing being a category.
    cramers_v_before, cramers_v_after : float or None
        Cramer's V of the records with both values, not corrected for its bias, before
        of the recoded original. None if a key has fewer than two categories.
    """

    keys: tuple[Any, Any]
    total_variation: float | None
    cramers_v_before: float | None
    cramers_v_after: float | None


@dataclass(frozen=True, slots=True)
class Moments:
    """Weighted figures of a column of numbers in one file.

    Attributes
    ----------
    records : int
    missing : int
    mean, variance : float or None
        The variance is sum(w (x - mean)^2)/sum(w). None if all are missing.
    quantiles : tuple of float or None
        The smallest values with a share ``QUANTILES`` of the weight up to them.
    """

    records: int
    missing: int
    mean: float | None
    variance: float | None
    quantiles: tuple[float, ...] | None

    @classmethod
    def of(cls, values: Floats, weight: Floats) -> Moments:
        """Return the figures of a column, nan being missing."""
        present = ~np.isnan(values)
        n = int(present.sum())
        x, w = values[present], weight[present]
        if not w.any():
            return cls(n, len(values) - n, None, None, None)
        mean, variance = measures.mean_and_variance(x, w)
        quantiles = measures.quantiles(x, w, QUANTILES)
        return cls(n, len(values) - n, mean, variance, quantiles)


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
        Of the records with both values; None if one does not vary.
    """

    columns: tuple[Any, Any]
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True)
class Stratum:
    """The missing values in one stratum of both files.

    Attributes
    ----------
    stratum : tuple
        Its value in each column of strata.
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
        """Return the number of values of a key that are newly missing."""
        return self.missing_after[key] - self.missing_before[key]

    def rate(self, key: Any) -> float | None:
        """Return the share of suppressed values of a key; None if it had no values."""
        present = self.records_before - self.missing_before[key]
        return self.suppressed(key) / present if present else None


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(WithReport):
    """The original and the safe file side by side.

    It holds figures of the original, for internal use.

    Attributes
    ----------
    records_before, records_after : int
    weight : column name or None
        The weights of shares, tables and moments.
    aligned : bool
        Whether the records were matched by their ids.
    keys : tuple of KeyComparison
    pairs : tuple of PairComparison
        For all pairs of keys.
    numbers : tuple of NumberComparison
    correlations : tuple of Correlation
        For all pairs of columns of numbers.
    strata_columns : tuple of column names
    strata : tuple of Stratum
    propensity : Propensity
    models : tuple of ModelComparison
        The models that were asked for, before and after.
    tables : tuple of TableComparison
        The tables that were asked for, before and after.
    labels : dict of column name to str
        The labels that a file has for its variables.

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
    models: tuple[ModelComparison, ...] = ()
    tables: tuple[TableComparison, ...] = ()
    labels: Mapping[Any, str] = field(default_factory=dict)

    @property
    def verdicts(self) -> tuple[str, ...]:
        """A sentence for each model and table: whether its conclusions change."""
        models = (f"{x.formula}: {x.verdict}" for x in self.models)
        tables = (f"table {x.name}: {x.verdict}" for x in self.tables)
        return *models, *tables

    def key(self, name: Hashable) -> KeyComparison:
        """Return the comparison of a key.

        Parameters
        ----------
        name : column name

        Returns
        -------
        KeyComparison

        Raises
        ------
        KeyError
            If ``name`` is not a key.
        """
        for comparison in self.keys:
            if comparison.key == name:
                return comparison
        names = ", ".join(repr(comparison.key) for comparison in self.keys)
        raise NoSuchNameError(
            f"{name!r} is not a key of the comparison; keys are {names}"
        )

    @property
    def compared_pairs(self) -> tuple[PairComparison, ...]:
        """The pairs of keys whose tables have the same categories in both files."""
        return tuple(pair for pair in self.pairs if pair.total_variation is not None)

    @property
    def mean_total_variation(self) -> float | None:
        """Mean total variation of the two-way tables, or of the table of a single key.

        None if a table cannot be compared.
        """
        tables: Sequence[Any] = self.pairs or self.keys
        return _mean([table.total_variation for table in tables])

    @property
    def share_lost(self) -> float | None:
        """The mean of `KeyComparison.share_lost` over the keys."""
        return _mean([key.share_lost for key in self.keys])

    @property
    def losses(self) -> tuple[CategoryLoss, ...]:
        """What the categories of all keys lost, the category that lost most first.

        Empty if the files differ in their numbers of records.
        """
        if self.records_before != self.records_after:
            return ()
        category_losses = [
            loss for entry in self.keys for loss in losses_of(entry.key, entry.table)
        ]
        return tuple(sorted(category_losses, key=lambda entry: -entry.lost))

    @property
    def largest_loss(self) -> CategoryLoss | None:
        """The category that lost the largest share of its records; None if none did."""
        first = next(iter(self.losses), None)
        return first if first is not None and first.lost > 0 else None

    @property
    def largest_change(self) -> CategoryLoss | None:
        """The category whose share of the known values changed most."""
        return max(self.losses, key=lambda loss: abs(loss.change), default=None)

    @property
    def mean_total_variation_of_values(self) -> float | None:
        """The mean of `KeyComparison.total_variation_of_values` over the keys.

        None if a table cannot be compared.
        """
        return _mean([key.total_variation_of_values for key in self.keys])

    def most_changed(self, count: int = 1) -> Any:
        """Return the pair of keys whose two-way table has changed most.

        Parameters
        ----------
        count : int, optional
            With more than 1, return a tuple of that many pairs, the most changed first.

        Returns
        -------
        PairComparison, tuple of PairComparison, or None
            By total variation; ties in the order of the keys.
        """
        ranked = sorted(self.compared_pairs, key=lambda x: -(x.total_variation or 0))
        if count == 1:
            return ranked[0] if ranked else None
        return tuple(ranked[:count])

    @property
    def newly_missing(self) -> int | None:
        """The number of key values that are newly missing, over all keys."""
        counts = [comparison.suppressed for comparison in self.keys]
        return None if None in counts else sum(filter(None, counts))

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data for JSON.

        Returns
        -------
        dict
            Text, finite numbers, None, dicts and lists.
        """
        return {
            "verdicts": list(self.verdicts),
            "models": [entry.to_dict() for entry in self.models],
            "tables": [entry.to_dict() for entry in self.tables],
            "records": {"before": self.records_before, "after": self.records_after},
            "weight": None if self.weight is None else str(self.weight),
            "aligned": self.aligned,
            "keys": [_key_plain(entry) for entry in self.keys],
            "pairs": [
                {**asdict(entry), "keys": list(map(str, entry.keys))}
                for entry in self.pairs
            ],
            "mean_total_variation": self.mean_total_variation,
            "share_lost": self.share_lost,
            "losses": {
                "mean_total_variation_of_values": self.mean_total_variation_of_values,
                "largest_change": loss_plain(self.largest_change),
                "categories": [
                    loss_plain(entry) for entry in self.losses if entry.lost > 0
                ],
            },
            "quantiles": list(QUANTILES),
            "numbers": [
                {
                    "column": str(entry.column),
                    "before": _moments_plain(entry.before),
                    "after": _moments_plain(entry.after),
                }
                for entry in self.numbers
            ],
            "correlations": [
                {**asdict(entry), "columns": list(map(str, entry.columns))}
                for entry in self.correlations
            ],
            "strata": {
                "columns": list(map(str, self.strata_columns)),
                "rows": [
                    {
                        "stratum": [code(value) for value in entry.stratum],
                        "records_before": entry.records_before,
                        "records_after": entry.records_after,
                        "suppressed": {
                            str(k): entry.suppressed(k) for k in entry.missing_after
                        },
                        "rate": {str(k): entry.rate(k) for k in entry.missing_after},
                    }
                    for entry in self.strata
                ],
            },
            "propensity": asdict(self.propensity),
            "labels": {str(name): entry for name, entry in self.labels.items()},
        }

    def __repr__(self) -> str:
        lost = self.newly_missing
        values = "" if lost is None else f", {counted(lost, 'value')} more missing"
        pmse = self.propensity.pmse
        model = "no pMSE" if pmse is None else f"pMSE {pmse:.6g}"
        before = counted(self.records_before, "record")
        return (
            f"<Comparison: {before} before and {self.records_after:,} after, "
            f"{counted(len(self.keys), 'key')}{values}, {model}>"
        )

    def _repr_html_(self) -> str:
        rows = [(comparison.formula, comparison.verdict) for comparison in self.models]
        rows += [(f"table {x.name}", x.verdict) for x in self.tables]
        rows.append(("records", f"{self.records_before:,}, {self.records_after:,}"))
        for comparison in self.keys:
            tv = comparison.total_variation
            distance = "no common categories" if tv is None else f"{tv:.6g}"
            rows.append((f"total variation of {comparison.key}", distance))
        pmse = self.propensity.pmse
        rows.append(("pMSE", "-" if pmse is None else f"{pmse:.6g}"))
        note = html.escape("before, after")
        return html.figures("Comparison, for internal use", note, rows)


def _mean(figures: Sequence[float | None]) -> float | None:
    """Return the mean of figures; None if one is unknown."""
    if None in figures:
        return None
    return fsum(np.array(figures, float)) / len(figures)


def loss_plain(loss: CategoryLoss | None) -> dict[str, Any] | None:
    """Return the loss of a category as plain data; None if there is none."""
    if loss is None:
        return None
    return {**asdict(loss), "key": str(loss.key), "category": code(loss.category)}


def _key_plain(comparison: KeyComparison) -> dict[str, Any]:
    """Return the comparison of a key as plain data."""
    plain = asdict(comparison)
    plain["key"] = str(comparison.key)
    plain["share_lost"] = comparison.share_lost
    for row in plain["table"]:
        row["category"] = code(row["category"])
    plain["table"] = list(plain["table"])
    return plain


def _moments_plain(moments: Moments) -> dict[str, Any]:
    """Return figures of a column as plain data."""
    quantiles = moments.quantiles
    return {
        **asdict(moments),
        "quantiles": None if quantiles is None else list(quantiles),
    }
