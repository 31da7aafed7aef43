"""The result of `assess`: the risk of a file by record, cell and household."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riskcore.assessment import reported_figures as figures
from riskcore.assessment.assess_settings import LATENT_CLASS, WEIGHTS, Method
from riskcore.assessment.beside import apart
from riskcore.assessment.cell_risk import (
    RECORD_COLUMNS,
    UNIQUE_COLUMN,
    Ends,
    Mask,
    Risks,
    results_of,
    risk_in,
    risk_of,
    warn_below,
)
from riskcore.assessment.unit_risk import UnitRisk
from riskcore.assessment.weight_figures import WeightFigures
from riskcore.common import arguments, html
from riskcore.common.results import Summary, reports
from riskcore.common.words import counted, printable
from riskcore.core.risk.anonymity import Below
from riskcore.core.risk.histogram import class_counts, log_edges
from riskcore.core.risk.household import Households, households
from riskcore.core.risk.threshold import RiskDistribution
from riskcore.data.cells import Cells, incomplete_of, refuse_taken, with_results
from riskcore.data.engine_cells import HeldCells, are_many, riskiest, tally
from riskcore.data.engines.base import Counted
from riskcore.data.frame_types import DataT_co, OfData, frame
from riskcore.data.household_rows import HouseholdRows

if TYPE_CHECKING:
    from riskcore.assessment.beside import Beside
    from riskcore.assessment.exact_matches import NumericRisk
    from riskcore.models.cell_model import CellModel

# What the model beside the weights says of a file.
_BESIDE = (
    "model_fit",
    "expected_reidentifications",
    "expected_reidentifications_interval",
    "population_uniques",
    "population_uniques_interval",
)


@dataclass(frozen=True, eq=False, repr=False)
class Assessment(UnitRisk, OfData[DataT_co]):
    """The risk of a file: of its cells, records and households, and in total.

    Attributes
    ----------
    data : frame or mapping
        The records as given (from a path: the columns that were read).
    cells : Cells
        The cells, with sample and population frequencies.
    computed_risk : float64 ndarray, shape (K,), or None
        ``cell_risk`` if it is known; otherwise it is computed when first used.
    method : str
        The method of the individual risk.
    households : Households or None
        Size and risk of each household, if ids were given.
    model : CellModel or None
        The model of the population; None if the weights alone were used.
    unique : float64 ndarray, shape (K,), or None
        P(F = 1 | f) of each cell by the model.
    cells_by_weights : Cells or None
        With a model, the cells with the F of the weights; in ``cells``, F is the
        population frequency where the model knows it.
    weights : WeightFigures or None
        How much the weights differ; None if there are none.
    sampling_fraction : float or None
        The share of the population that was sampled, as it was given.
    numeric : NumericRisk or None
        The risk from numbers, if columns of numbers were named; by the weights.
    beside : Beside or None
        The model that is shown beside the weights; None if it was not asked for.

    Examples
    --------
    >>> import riskcore
    >>> data = {"sex": ["f", "m", "f"], "age": [31, 47, 31], "w": [10.0, 20.0, 15.0]}
    >>> result = riskcore.assess({**data, "hh": [1, 2, 1]}, ["sex", "age"], "w", "hh")
    >>> result
    <Assessment: 3 records in 2 cells, re-identification rate 9.779563%, ...>
    >>> result.unsafe(0.1), result.unsafe_count(0.1)
    (array([False,  True, False]), 1)
    >>> result.risk_threshold(unsafe=1) == result.max_risk
    True
    >>> result.unsafe_households(0.1), result.unsafe_household_count(0.1)
    (array([ True,  True,  True]), 2)
    >>> round(result.household_threshold(rate=0.1), 6)
    0.1
    >>> [(row["age"], round(row["individual_risk"], 4)) for row in result.riskiest(2)]
    [(47, 0.1577), (31, 0.0679)]
    """

    data: Any
    cells: Cells
    computed_risk: Risks | None
    method: Method
    households: Households | None = None
    model: CellModel | None = None
    unique: Risks | None = None
    cells_by_weights: Cells | None = None
    weights: WeightFigures | None = None
    sampling_fraction: float | None = None
    numeric: NumericRisk | None = None
    beside: Beside | None = None

    @cached_property
    def cell_risk(self) -> Risks:
        """Individual risk of the records of each cell, shape (K,)."""
        if self.computed_risk is not None:
            return self.computed_risk
        f = self.cells.sample_frequency.astype(np.float64)
        return risk_of(self.method, f, self.cells.population_frequency)

    @cached_property
    def distribution(self) -> RiskDistribution:
        """The distribution of the individual risk over records, for thresholds."""
        return RiskDistribution(self.cell_risk, self.cells.records)

    @cached_property
    def individual_risk(self) -> Risks:
        """Individual risk of each record, in input order, shape (n,)."""
        return self.cell_risk[self.cells.inverse]

    @property
    def cell_unique_probability(self) -> Risks:
        """P(F = 1 | f) of each cell, shape (K,): 0 unless f = 1; by weights then p."""
        if self.unique is not None:
            return self.unique
        cells = self.cells
        p = np.minimum(cells.sampling_fraction, 1.0)
        return np.where(cells.sample_frequency == 1.0, p, 0.0)

    @property
    def population_unique_probability(self) -> Risks:
        """P(F = 1 | f) of each record, in input order, shape (n,)."""
        return self.cell_unique_probability[self.cells.inverse]

    @property
    def expected_population_uniques(self) -> float:
        """Tau, the expected number of sample uniques that are population uniques."""
        chances = self.cell_unique_probability * self.cells.records
        return math.fsum(chances.tolist())

    def _risk_interval(self, level: float) -> Ends:
        from riskcore.assessment.population import sum_interval

        return sum_interval(self.model, self.cells_by_weights or self.cells, level)

    def _uniques_interval(self, level: float) -> Ends:
        from riskcore.assessment.population import uniques_interval

        return uniques_interval(self.model, self.cells_by_weights or self.cells, level)

    @property
    def k_anonymity(self) -> int | float:
        """The smallest sample frequency f: the file is k-anonymous up to this k.

        Records are counted by the rule for missing keys; with ``alpha``, f need not be
        a whole number.
        """
        return self.cells.k_anonymity

    def below(self, k: int) -> Below:
        """Count the records and the cells with a sample frequency below k.

        Parameters
        ----------
        k : int
            At least 1; 2 counts the sample uniques.

        Returns
        -------
        Below
            ``records``, which sdcMicro counts, and ``cells``, which mu-Argus counts.

        Raises
        ------
        TypeError, ValueError
            If k is not a whole number of at least 1.

        Examples
        --------
        >>> import riskcore
        >>> result = riskcore.assess({"age": [31, 31, 47, 52, 52, 52]}, ["age"])
        >>> result.k_anonymity, result.below(2), result.below(3)
        (1, Below(k=2, records=1, cells=1), Below(k=3, records=3, cells=2))
        """
        return self.cells.below(k)

    def by(self, keys: Iterable[Hashable]) -> Assessment:
        """Return the risk of the same records by some of the keys, from the cells.

        Parameters
        ----------
        keys : iterable of key names

        Returns
        -------
        Assessment
            By the weights, without a model beside them.

        Raises
        ------
        ValueError
            If a model of the population counts: it would have to be fitted again.

        Examples
        --------
        >>> import riskcore
        >>> data = {"sex": ["f", "m", "f"], "age": [31, 47, 31]}
        >>> riskcore.assess(data, ["sex", "age"]).by(["age"]).cells.keys
        ('age',)
        """
        if self.model is not None:
            raise ValueError("a model is fitted to all keys: assess the file by these")
        cells = self.cells.of_keys(keys)
        risk, joint = risk_in(cells, self.method), self.households
        if joint is not None:
            joint = households(risk[cells.inverse], joint.inverse)
        return Assessment(self.data, cells, risk, self.method, joint)

    @cached_property
    def by_model(self) -> Assessment | None:
        """The same records by the latent-class model beside the weights.

        None where hardly a record is alone in its cell, with ``population="weights"``,
        and where the model has no estimate. The model is fitted when this is first
        used: of more than a million cells to a fifth of a million at most that are
        drawn, which give figures of the file alone.
        """
        model = None if self.beside is None else self.beside.model
        if model is None:
            return None
        from riskcore.assessment.population import risk_by, risks_of

        if model.sample.drawn is not None:
            risk = risk_by(model.prior())
            return DrawnAssessment(self.data, self.cells, risk, "exact", model=model)
        risk, unique, cells = risks_of(model, self.cells)
        assessment = Assessment(
            self.data, cells, risk, "exact", None, model, unique, self.cells
        )
        return assessment._with_households(self)

    def _with_households(self, like: Assessment) -> Self:
        """Return the records with the risks of the households of others."""
        groups = like.households
        if groups is None:
            return self
        joint = households(self.cell_risk[self.cells.inverse], groups.inverse)
        return replace(self, households=replace(joint, ids=groups.ids))

    @cached_property
    def figures(self) -> dict[str, Any]:
        """The figures of the file as plain values, for reports."""
        failure = "" if self.beside is None else self.beside.failure
        by_model, mine = self.by_model, self.expected_reidentifications
        agrees = by_model is None or not apart(
            by_model.expected_reidentifications, mine
        )
        if agrees and not failure:
            return self.counts
        return {**self.counts, "by_model": self._beside_figures(failure)}

    def _beside_figures(self, failure: str) -> dict[str, Any]:
        """Return the figures of the model beside the weights, None where unknown."""
        told = {"model": LATENT_CLASS, "failure": failure, **dict.fromkeys(_BESIDE)}
        by_model = self.by_model
        if by_model is None:
            return told
        told |= {
            "model_fit": by_model.model and by_model.model.fit_in_words,
            "expected_reidentifications": by_model.expected_reidentifications,
            "population_uniques": by_model.expected_population_uniques,
        }
        if not by_model.cells.shared:
            expected = by_model.expected_reidentifications_interval()
            uniques = by_model.expected_population_uniques_interval()
            told["expected_reidentifications_interval"] = list(expected)
            told["population_uniques_interval"] = list(uniques)
        return told

    @cached_property
    def counts(self) -> dict[str, Any]:
        """The figures without those of a model beside the weights."""
        file_figures = figures.of_file(
            self.cells, self.distribution, self.households, self.method
        )
        if self.model is None:
            return file_figures
        from riskcore.assessment.population import model_figures

        return file_figures | model_figures(
            self.model, self.by_weights, self.expected_population_uniques
        )

    @property
    def population_name(self) -> str:
        """The source of the population frequencies: "weights", or the kind of model."""
        return WEIGHTS if self.model is None else self.model.label

    @property
    def by_weights(self) -> RiskDistribution:
        """The distribution of the individual risk by the weights alone."""
        cells = self.cells_by_weights
        if cells is None:
            return self.distribution
        f = cells.sample_frequency.astype(np.float64)
        risk = risk_of("exact", f, cells.population_frequency)
        return RiskDistribution(risk, cells.records)

    @property
    def household_risk(self) -> Risks:
        """Household risk of each record, in input order, shape (n,)."""
        groups = self._households()
        return groups.risk[groups.inverse]

    @property
    def household_reidentification_rate(self) -> float:
        """Household rate: (1/n) sum of size times risk (CASC 2004, section 5.2)."""
        return self._households().reidentification_rate

    def household_threshold(self, *, rate: float) -> float:
        """Return the household risk threshold for a household re-identification rate.

        Parameters
        ----------
        rate : float
            Household re-identification rate to keep, a fraction.

        Returns
        -------
        float
            Infinity if no household needs to be unsafe.

        Raises
        ------
        ValueError
            If the rate is not in [0, 1], or no household ids were given.
        """
        return self._households().threshold_for_rate(rate)

    def unsafe_households(self, threshold: float) -> Mask:
        """Return a mask of the records in households with risk >= threshold.

        Parameters
        ----------
        threshold : float
            A household risk.

        Returns
        -------
        ndarray of bool, shape (n,)
        """
        groups = self._households()
        return groups.unsafe(threshold)[groups.inverse]

    def unsafe_household_count(self, threshold: float) -> int:
        """Return the number of households with risk >= threshold.

        Parameters
        ----------
        threshold : float
            A household risk.

        Returns
        -------
        int
        """
        return int(np.count_nonzero(self._households().unsafe(threshold)))

    def _households(self) -> Households:
        if self.households is None:
            raise ValueError("no household risks: give assess(..., household=column)")
        return self.households

    @frame
    def records(self) -> Any:
        """The data with the columns of ``RECORD_COLUMNS`` added, same type and order.

        ``household_risk`` is added if household ids were given, and
        ``population_unique_probability`` with a model of the population. For a path,
        these are the columns that were read; for a narwhals frame, its native frame.
        For data on an engine, the result is a join with the cells, lazy like the data,
        in an order that the engine chooses; for a dataset of pyarrow or a data frame of
        dask, it is the engine's lazy frame.

        Raises
        ------
        ValueError
            If the data already have a column of one of these names, ignoring case.
        """
        counted = self.cells.counted
        if counted is not None:
            unique = [] if self.model is None else [UNIQUE_COLUMN]
            refuse_taken(counted.engine.schema, [*RECORD_COLUMNS[:4], *unique])
            # By the other rules a cell's results are not of its own records alone, and
            # the engine does not know of weights by a sampling fraction.
            own = not self.cells.shared and self.model is None
            if isinstance(counted, Counted):  # of all keys, where the cells have some
                asked = counted.question
                own &= tuple(asked.keys) == self.cells.keys
                own &= (asked.weight is not None) == self.cells.weighted
            return counted.records_with(
                partial(results_of, self.method),
                None if own else lambda: self._columns_at(self.cells.rows),
            )
        results = self._columns_at(self.cells.inverse)
        if self.households is not None:
            results["household_risk"] = self.household_risk
        return with_results(self.data, results)

    def _columns_at(self, cell: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return the results of the given cells as columns."""
        cells = self.cells
        f, F = cells.sample_frequency, cells.population_frequency
        figures = (f, F, cells.sampling_fraction, self.cell_risk)
        results = (figure[cell] for figure in figures)
        columns = dict(zip(RECORD_COLUMNS, results, strict=False))
        if self.unique is not None:
            columns[UNIQUE_COLUMN] = self.unique[cell]
        return columns

    def riskiest(self, count: int = 10) -> list[dict[Hashable, Any]]:
        """Return the cells with the largest risks: their key values, f, F, p and risk.

        Cells of equal risk keep the order of the cells.

        Parameters
        ----------
        count : int
            Number of cells to return, or all cells if there are fewer.

        Returns
        -------
        list of dict
            The key values by name, "sample_frequency", "population_frequency",
            "sampling_fraction" and "individual_risk"; with a model of the population
            "population_unique_probability".

        Raises
        ------
        ValueError
            If the count is negative.
        """
        if arguments.whole("count", count) < 0:
            raise ValueError(f"count: need a number >= 0, got {count}")
        order = np.argsort(-self.cell_risk, kind="stable")[:count]
        rows = []
        for k in order:
            row = self.cells.row(int(k))
            row["individual_risk"] = float(self.cell_risk[k])
            if self.unique is not None:
                row[UNIQUE_COLUMN] = float(self.unique[k])
            rows.append(row)
        return rows

    def summary(
        self,
        *,
        thresholds: Sequence[float] = (),
        rate: float | None = None,
        unsafe: int | None = None,
        top: int = 10,
    ) -> Summary:
        """Return the summary that ``riskcore assess`` prints, for internal use.

        Parameters
        ----------
        thresholds : sequence of float, optional
            Risks at which to count the unsafe records; by default 0.1 to 0.001.
        rate : float, optional
            Re-identification rate, a fraction, for which to give the risk threshold.
        unsafe : int, optional
            Number of unsafe records for which to give the risk threshold.
        top : int, optional
            Number of the riskiest combinations to list.

        Returns
        -------
        str
            A string that a prompt shows line by line.

        Raises
        ------
        ValueError
            If a threshold or the rate is invalid, or ``top`` is negative.

        Examples
        --------
        >>> import riskcore
        >>> result = riskcore.assess({"sex": ["f", "m", "f"]}, ["sex"])
        >>> print(result.summary().splitlines()[1])
          records                     3
        """
        return reports().summary_of(
            self, thresholds=thresholds, rate=rate, unsafe=unsafe, top=top
        )

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        threshold: float | None = None,
        household_threshold: float | None = None,
        top: int = 0,
        overwrite: bool = False,
    ) -> None:
        """Write the report for internal use, as ``riskcore assess --report`` does.

        Parameters
        ----------
        path : path
            HTML file to write; only its owner can read it.
        title : str, optional
            Title of the page.
        threshold, household_threshold : float, optional
            Risk thresholds that the page shows first.
        top : int, optional
            Number of the riskiest combinations to list.
        overwrite : bool
            Replace an existing file.

        Raises
        ------
        ImportError
            If Jinja2 is not installed (``pip install jinja2``).
        OSError
            If the file exists and ``overwrite`` is false, or it cannot be written.
        ValueError
            If a threshold is nan or negative, a household threshold is given without
            households, or ``top`` is negative.

        Examples
        --------
        >>> import tempfile, riskcore
        >>> result = riskcore.assess({"sex": ["f", "m", "f"]}, ["sex"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.report(f"{folder}/report.html", threshold=0.5)
        ...
        """
        reports().report_of(
            self,
            path,
            title=title,
            threshold=threshold,
            household_threshold=household_threshold,
            top=top,
            overwrite=overwrite,
        )

    def public_report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        threshold: float | None = None,
        household_threshold: float | None = None,
        overwrite: bool = False,
    ) -> None:
        """Write the report for publication, as ``riskcore assess --report-public``.

        It has classes of records by risk and rounded figures. Beside another version of
        the file, such as a protected one, it would reveal what was suppressed there.

        Parameters
        ----------
        path : path
            HTML file to write; everybody can read it.
        title : str, optional
            Title of the page, such as the name of the survey.
        threshold, household_threshold : float, optional
            Risks at which to count the records. Only whole classes are counted, so that
            a threshold inside a class gives a range.
        overwrite : bool
            Replace an existing file.

        Raises
        ------
        ImportError, OSError, ValueError
            As `report`.

        Examples
        --------
        >>> import tempfile, riskcore
        >>> result = riskcore.assess({"sex": ["f", "m", "f"]}, ["sex"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.public_report(f"{folder}/about.html", threshold=0.5)
        ...
        """
        reports().public_report_of(
            self,
            path,
            title=title,
            threshold=threshold,
            household_threshold=household_threshold,
            overwrite=overwrite,
        )

    def __repr__(self) -> str:
        records = counted(self.cells.n, "record")
        start = f"Assessment: {records} in {counted(len(self.cells), 'cell')}"
        return self._in_one_line(start, incomplete_of(self.cells))

    def _repr_html_(self) -> str:
        edges = log_edges(float(self.distribution.risk[0]), self.max_risk)
        return html.figures(
            "Assessment, for internal use",
            " x ".join(html.label(printable(str(key))) for key in self.cells.keys),
            figures.rows(self.figures, "notebook"),
            html.bars(
                class_counts(self.distribution, edges).tolist(),
                f"records by risk, {edges[0]:g} to {edges[-1]:g}, log scale",
            ),
        )


@dataclass(frozen=True, eq=False, repr=False)
class DrawnAssessment(Assessment[DataT_co]):
    """The risk of a file by a model, estimated from cells that were drawn from it.

    It has the figures of the file, and not the risk of each cell and record.
    """

    model: CellModel = field(kw_only=True)

    @property
    def cell_risk(self) -> Risks:
        """The risk of each cell, which is not known.

        Raises
        ------
        TypeError
            Always.
        """
        raise TypeError(
            f"the model was fitted to {counted(len(self.model.sample), 'cell')} drawn "
            f"from {len(self.cells):,} and has figures of the file alone; for the risk "
            "of each record assess with population='latent-class'"
        )

    cell_unique_probability = cell_risk

    @cached_property
    def distribution(self) -> RiskDistribution:
        """The distribution of the individual risk over records, for thresholds."""
        assert self.computed_risk is not None
        return RiskDistribution(self.computed_risk, self.model.sample.stands_for)

    @property
    def expected_population_uniques(self) -> float:
        """Tau, the expected number of sample uniques that are population uniques."""
        return self.model.tau()

    def _risk_interval(self, level: float) -> Ends:
        from riskcore.assessment.population import deviation_by, risk_by

        return self.model.interval(None, risk_by, level, deviation=deviation_by)[1:]

    def _uniques_interval(self, level: float) -> Ends:
        return self.model.tau_interval(None, level)


@dataclass(frozen=True, eq=False, repr=False)
class HouseholdAssessment(Assessment[DataT_co]):
    """The risk of a file in which each household counts as one record.

    The records of `Assessment` are households here: ``individual_risk`` has one element
    for each household, sorted by id, and ``data`` has one row for each, with the keys
    and the weight. Only ``records`` has the records of the file, each with the results
    of its household.

    Attributes
    ----------
    members : HouseholdRows
        ``members.of``: the household of each record of the file, shape (n,);
        ``members.first``: the first record of each household.
    given : frame or mapping
        The records as given.

    Examples
    --------
    >>> import riskcore
    >>> data = {"hh": [7, 7, 3], "size": ["2", "2", "1"], "w": [20.0, 20.0, 30.0]}
    >>> result = riskcore.assess(data, ["size"], "w", "hh", level="household")
    >>> result
    <Assessment: 2 households in 2 cells, re-identification rate 13.747639%, ...>
    >>> result.individual_risk.round(4)
    array([0.1173, 0.1577])
    >>> result.to_records(result.individual_risk).round(4)
    array([0.1577, 0.1577, 0.1173])
    """

    members: HouseholdRows = field(kw_only=True)
    given: Any = field(kw_only=True)

    def to_records(self, values: ArrayLike) -> NDArray[Any]:
        """Return, for each record of the file, the value of its household.

        Parameters
        ----------
        values : array_like, shape (H,)
            One value for each household, such as ``unsafe(threshold)``.

        Returns
        -------
        ndarray, shape (n,)

        Raises
        ------
        ValueError
            If the number of values is not the number of households.
        """
        household_values = np.asarray(values)
        households = len(self.members.first)
        if household_values.shape != (households,):
            raise ValueError(
                f"values: shape {household_values.shape}, need one for each of "
                f"{counted(households, 'household')}"
            )
        return household_values[self.members.of]

    @cached_property
    def counts(self) -> dict[str, Any]:
        """The figures without those of a model beside the weights."""
        told = {"level": "household", "records": len(self.members.of)}
        return {**super().counts, "counted": told}

    @frame
    def records(self) -> Any:
        """The data with the columns of ``RECORD_COLUMNS`` added, same type and order.

        Each record has the results of its household, see `Assessment.records`.

        Raises
        ------
        ValueError
            If the data already have a column of one of these names, ignoring case.
        """
        cell = self.cells.inverse[self.members.of]
        return with_results(self.given, self._columns_at(cell))

    def _households(self) -> Households:
        raise ValueError(
            "level='household' counts each household as a record; its risk is the "
            "individual risk"
        )

    def __repr__(self) -> str:
        text = super().__repr__()
        households = counted(self.cells.n, "household")
        return text.replace(counted(self.cells.n, "record"), households, 1)


@dataclass(frozen=True, eq=False, repr=False)
class HeldAssessment(Assessment[DataT_co]):
    """The risk of data on an engine, whose cells stay on the engine.

    The figures of the file were computed from the numbers of all cells as they streamed
    past; 12 bytes of each cell are kept. ``cells`` and ``cell_risk`` are collected when
    they are first used. To find more of the riskiest cells, the engine counts again.
    """

    cells: HeldCells
    tallied: RiskDistribution = field(kw_only=True)  # as it was counted
    highest: list[dict[Hashable, Any]] = field(kw_only=True)  # the riskiest of many
    # With a risk above the ``above`` that was given to ``of``.
    cells_above: int | None = field(default=None, kw_only=True)

    @classmethod
    def of(
        cls,
        data: Any,
        counted: Counted,
        method: Method,
        missing: str,
        *,
        above: float | None = None,
    ) -> HeldAssessment:
        """Assess cells counted on an engine; count those with a risk above one."""
        cells_above = 0

        def risk(f: Risks, F: Risks) -> Risks:
            nonlocal cells_above
            risks = risk_of(method, f, F)
            if above is not None:
                cells_above += int(np.count_nonzero(risks > above))
            return risks

        cells, distribution, highest = tally(counted, missing, risk, warn_below)
        return cls(
            data,
            cells,
            None,
            method,
            tallied=distribution,
            highest=highest,
            cells_above=None if above is None else cells_above,
        )

    @cached_property
    def distribution(self) -> RiskDistribution:
        """The distribution of the individual risk over records, for thresholds."""
        return self.tallied

    def riskiest(self, count: int = 10) -> list[dict[Hashable, Any]]:
        """Return the cells with the largest risks, see `Assessment.riskiest`."""
        number = arguments.whole("count", count)
        if number <= 0 or self.cells.collected or not are_many(self.cells):
            return super().riskiest(count)
        if count <= len(self.highest):
            return [dict(row) for row in self.highest[:count]]
        return riskiest(self.cells.held, partial(risk_of, self.method), count)
