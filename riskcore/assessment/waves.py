"""Panel files: the risk of persons of whom an intruder knows the keys in some waves."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.assess_settings import LATENT_CLASS, WEIGHTS, Method
from riskcore.assessment.beside import FEW_SAMPLED, MANY_UNIQUES
from riskcore.assessment.cell_risk import UNIQUE_COLUMN, Risks
from riskcore.assessment.unit_risk import UnitRisk, at_targets
from riskcore.assessment.wave_choices import WaveRisks, refuse_too_many
from riskcore.assessment.wave_matches import any_value, risks_of
from riskcore.assessment.wave_sheet import sheet_of
from riskcore.common import arguments
from riskcore.common.progress import Lines, silent
from riskcore.common.results import Summary
from riskcore.common.sheet import OnASheet, Sheet
from riskcore.common.words import counted
from riskcore.core.risk.threshold import RiskDistribution
from riskcore.data.cells import with_results
from riskcore.data.coded import CodedRecords
from riskcore.data.frame_types import DataT_co, OfData, frame
from riskcore.data.panel import Panel
from riskcore.data.sample_design import SampleDesign

if TYPE_CHECKING:
    from riskcore.assessment.wave_model import Intervals, ModelRisks

RECORD_COLUMNS = ("individual_risk", "unique_share")
# With at most so many persons times sets of waves, a summary has a table by the number
# of known waves.
_TABLED = 1 << 24
# With at most so many persons times fitted choices, a model is shown beside weights.
_FITTED_AT_ONCE = 400_000


@dataclass(frozen=True, eq=False, repr=False)
class WaveAssessment(UnitRisk, OnASheet, OfData[DataT_co]):
    """The risk of the persons of a panel, over the waves that an intruder may know.

    Made by `riskcore.assess` with ``person`` and ``wave``.

    Attributes
    ----------
    data : frame or mapping
        The records as given (from a path: the columns that were read).
    keys : tuple of hashable
        Names of the key variables.
    coded : CodedRecords
        The keys of the records as codes.
    panel : Panel
        The persons, and their cells in each wave.
    risks : WaveRisks
        The risk of each person, average and largest, and in how many choices of waves
        the person is unique.
    method : str
        The method of the individual risk.
    missing : str
        The rule for missing key values.
    wave_choice : str
        Whether ``person_risk`` is of the "average" choice of waves, or of the "worst".
    by_model : ModelRisks or None
        The risk of each person by a model of the population; None if the weights alone
        were used.
    design : SampleDesign or None
        The clusters of the records, for the model.
    beside : bool
        Whether figures of the model are shown beside those by the weights.

    Examples
    --------
    >>> import riskcore
    >>> data = {
    ...     "id": [1, 1, 2, 2, 3, 3],
    ...     "year": [2020, 2021, 2020, 2021, 2020, 2021],
    ...     "job": ["a", "a", "a", "b", "a", "b"],
    ... }
    >>> found = riskcore.assess(
    ...     data, ["job"], person="id", wave="year", sampling_fraction=0.1
    ... )
    >>> found
    <WaveAssessment: 3 persons in 2 waves, all known, ...>
    >>> found.person_risk.round(4)
    array([0.2558, 0.0827, 0.0827])
    >>> found.unsafe(0.2), found.unsafe_count(0.2)
    (array([ True,  True, False, False, False, False]), 1)
    >>> [row["known_waves"] for row in found.by_known_waves()]
    [1, 2]
    >>> found.risk_threshold(unsafe=1) == found.max_risk
    True
    >>> found.to_dict(rate=0.1)["for_rate"]["persons"]
    1
    """

    _unit = "person"

    data: Any
    keys: tuple[Hashable, ...]
    coded: CodedRecords
    panel: Panel
    risks: WaveRisks
    method: Method
    missing: str
    wave_choice: str = "average"
    by_model: ModelRisks | None = None
    design: SampleDesign | None = None
    beside: bool = False
    _known_intervals: dict[float, Intervals] = field(default_factory=dict, init=False)

    @property
    def persons(self) -> int:
        """Number of persons."""
        return len(self.panel)

    @property
    def known_waves(self) -> int | None:
        """How many waves of a person the intruder knows; None for all."""
        return self.panel.known

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.panel.person)

    @property
    def waves(self) -> NDArray[Any]:
        """The waves, in sorted order."""
        return self.panel.waves

    @property
    def _risk(self) -> Risks:
        """Individual risk of each person of the panel."""
        return self._of_choice(self.by_model or self.risks)

    def _of_choice(self, risks: WaveRisks | ModelRisks) -> Risks:
        """Return the risks of the average choice of waves, or of the worst."""
        return risks.average if self.wave_choice == "average" else risks.largest

    @property
    def person_risk(self) -> Risks:
        """Individual risk of each person, shape (P,), in the order of first records."""
        return self._risk[self._order]

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        """The persons of the panel in the order of their first records."""
        first = np.unique(self.panel.person, return_index=True)[1]
        return np.argsort(first)

    @property
    def individual_risk(self) -> Risks:
        """Risk of the person of each record, in input order, shape (n,)."""
        return self._risk[self.panel.person]

    @property
    def unique_share(self) -> Risks:
        """Share of the choices of waves in which a person is unique, shape (n,)."""
        return (self.risks.unique / self.risks.choices)[self.panel.person]

    @cached_property
    def distribution(self) -> RiskDistribution:
        """The distribution of the individual risk over persons, for thresholds."""
        return RiskDistribution(self.person_risk)

    @property
    def k_anonymity(self) -> int:
        """The smallest number of persons with equal keys, in any choice of waves."""
        return self.risks.k

    @property
    def expected_uniques(self) -> float:
        """The number of persons who are unique, in the mean over choices of waves."""
        return math.fsum((self.risks.unique / self.risks.choices).tolist())

    @property
    def population_name(self) -> str:
        """The source of the population frequencies: "weights" or "latent-class"."""
        return WEIGHTS if self.by_model is None else LATENT_CLASS

    @property
    def population_unique_probability(self) -> Risks:
        """P(F = 1) of the person of each record, in the mean over choices, shape (n,).

        By the weights alone, the weight says it: 1/w where the person is unique.
        """
        return self._unique[self.panel.person]

    @property
    def _unique(self) -> Risks:
        """P(F = 1) of each person of the panel, in the mean over choices."""
        if self.by_model is not None:
            return self.by_model.unique
        share = self.risks.unique / self.risks.choices
        return share / np.maximum(self.panel.weight, 1.0)

    @property
    def expected_population_uniques(self) -> float:
        """Tau, the persons expected unique in the file and the population, on average.

        The mean is over choices of waves, also where ``wave_choice`` is "worst".
        """
        return math.fsum(self._unique.tolist())

    def _risk_interval(self, level: float) -> tuple[float, float]:
        low, high = self._intervals(level).risks
        total = self.expected_reidentifications
        return low * total, high * total

    def _uniques_interval(self, level: float) -> tuple[float, float]:
        low, high = self._intervals(level).uniques
        total = self.expected_population_uniques
        return low * total, high * total

    def _intervals(self, level: float) -> Intervals:
        level = arguments.number_in("level", level, "(0, 1)")
        if self.by_model is None:
            raise ValueError(
                "an interval needs a model: the weights alone say too little of the "
                "persons of a panel; assess it with population='latent-class'"
            )
        if self.wave_choice != "average":
            raise ValueError("wave_choice='worst' has no interval; use 'average'")
        if level not in self._known_intervals:
            from riskcore.assessment.wave_model import fits, intervals

            choice_fits = fits(self.coded, self.panel, self.design, silent)
            self._known_intervals[level] = intervals(choice_fits, level)
        return self._known_intervals[level]

    @frame
    def records(self) -> Any:
        """The data with the columns of ``RECORD_COLUMNS`` added, same type and order.

        ``individual_risk`` is the risk of the record's person, ``unique_share`` the
        share of choices of waves in which the person is unique. With a model,
        ``population_unique_probability`` is added.

        Raises
        ------
        ValueError
            If the data already have a column of one of these names, ignoring case.
        """
        results = (self.individual_risk, self.unique_share)
        columns = dict(zip(RECORD_COLUMNS, results, strict=True))
        if self.by_model is not None:
            columns[UNIQUE_COLUMN] = self.population_unique_probability
        return with_results(self.data, columns)

    def by_known_waves(self) -> list[dict[str, Any]]:
        """Return the risk of the file for each number of known waves, by the weights.

        Returns
        -------
        list of dict
            ``known_waves`` from 1 to the number of waves, and then
            ``expected_reidentifications``, ``reidentification_rate`` and
            ``persons_unique`` in the mean over choices.

        Raises
        ------
        ValueError
            If a number of known waves has too many choices.
        """
        rows = []
        for known_waves in range(1, len(self.waves) + 1):
            panel = replace(self.panel, known=known_waves)
            refuse_too_many(panel)
            risks = risks_of(self.coded, panel, self.missing, self.method, silent)
            total = math.fsum(self._of_choice(risks).tolist())
            unique = math.fsum((risks.unique / risks.choices).tolist())
            rows.append(
                {
                    "known_waves": known_waves,
                    "expected_reidentifications": total,
                    "reidentification_rate": total / self.persons,
                    "persons_unique": unique,
                }
            )
        return rows

    def to_dict(
        self,
        *,
        thresholds: Sequence[float] = (),
        rate: float | None = None,
        unsafe: int | None = None,
    ) -> dict[str, Any]:
        """Return the figures of the file as plain data for JSON.

        Parameters
        ----------
        thresholds : sequence of float, optional
            Risks at which to count the unsafe persons; by default 0.1 to 0.001.
        rate : float, optional
            Re-identification rate, a fraction, for which to give the risk threshold.
        unsafe : int, optional
            Number of unsafe persons for which to give the risk threshold.

        Returns
        -------
        dict

        Raises
        ------
        ValueError
            If a threshold or the rate is invalid.
        """
        risks = self.risks
        figures: dict[str, Any] = {
            "records": self.n,
            "persons": self.persons,
            "keys": [str(key) for key in self.keys],
            "waves": [str(wave) for wave in self.waves],
            "known_waves": self.known_waves,
            "wave_choice": self.wave_choice,
            "choices_of_a_person": [int(risks.choices.min()), int(risks.choices.max())],
            "missing": self.missing,
            "method": self.method,
            "population": math.fsum(self.panel.weight.tolist()),
            "persons_unique": {
                "in_the_average_choice": self.expected_uniques,
                "in_all_choices": int(np.count_nonzero(risks.unique == risks.choices)),
                "in_no_choice": int(np.count_nonzero(risks.unique == 0)),
            },
            "k_anonymity": self.k_anonymity,
            "reidentification_rate": self.reidentification_rate,
            "expected_reidentifications": self.expected_reidentifications,
            "max_risk": self.max_risk,
            **at_targets(self, thresholds, rate, unsafe),
        }
        if self.by_model is not None:
            return figures | self._model_figures(self.by_model)
        figures["weights_tell_little"] = self.weights_tell_little
        at_once = self.any_value or self._quickly_fitted  # or it has no estimate
        if self.beside and self.weights_tell_little and at_once:
            figures["by_model"] = self._beside_figures
        if not self.any_value and self.persons << len(self.waves) <= _TABLED:
            figures["by_known_waves"] = self.by_known_waves()
        return figures

    @property
    def _quickly_fitted(self) -> bool:
        """Whether models of all choices that are fitted take less than a minute."""
        from riskcore.assessment.wave_model import FITTED

        choices = min(int(self.risks.choices.max()), FITTED)
        return self.persons * choices <= _FITTED_AT_ONCE

    @cached_property
    def _beside_figures(self) -> dict[str, Any]:
        """The figures of the model beside the weights."""
        told: dict[str, Any] = {"model": LATENT_CLASS, "failure": ""}
        try:
            by_model = self.fitted(silent)
        except ValueError as error:
            return told | {
                "failure": str(error),
                "expected_reidentifications": None,
                "population_uniques": None,
            }
        model = replace(self, by_model=by_model)
        return told | {
            "expected_reidentifications": model.expected_reidentifications,
            "population_uniques": model.expected_population_uniques,
            "caution": by_model.caution,
        }

    def fitted(self, progress: Lines) -> ModelRisks:
        """Return the risk of each person by a model, see `wave_model`.

        Parameters
        ----------
        progress : callable
            Called with a line of text at each step.

        Returns
        -------
        ModelRisks

        Raises
        ------
        ValueError
            If missing keys match any value, or a model has no estimate.

        Examples
        --------
        >>> import riskcore
        >>> data = {"id": [1, 1, 2], "year": [1, 2, 1], "job": ["a", "a", "b"]}
        >>> found = riskcore.assess(data, ["job"], person="id", wave="year")
        >>> found.fitted(print).by_weights
        fitting the model to waves 1, 2
        fitting the model to waves 1
        2
        """
        from riskcore.assessment.wave_model import model_risks

        if self.any_value:
            raise ValueError(
                f"missing={self.missing!r}: a model needs each person in one cell; "
                "give missing='category', or leave out records with missing keys"
            )
        coded, panel, every = self.coded, self.panel, self.wave_choice == "worst"
        return model_risks(coded, panel, self.design, progress, every=every)

    @property
    def weights_tell_little(self) -> bool:
        """Whether many persons are unique, and people are left outside the sample."""
        population = math.fsum(self.panel.weight.tolist())
        unique = self.expected_uniques
        return bool(population >= FEW_SAMPLED * self.persons and unique >= MANY_UNIQUES)

    def _model_figures(self, by_model: ModelRisks) -> dict[str, Any]:
        """Return the figures that come from the model."""
        by_weights = self._of_choice(self.risks)
        return {
            "population_model": LATENT_CLASS,
            "choices_fitted": by_model.fitted,
            "choices_by_weights": by_model.by_weights,
            "choices_left_out": by_model.left_out,
            "caution": by_model.caution,
            "expected_reidentifications_by_weights": math.fsum(by_weights.tolist()),
            "population_uniques": self.expected_population_uniques,
        }

    @property
    def any_value(self) -> bool:
        """Whether missing keys matched any value: then tables take long."""
        return any_value(self.coded, self.missing)

    def summary(
        self,
        *,
        thresholds: Sequence[float] = (),
        rate: float | None = None,
        unsafe: int | None = None,
    ) -> Summary:
        """Return the summary that ``riskcore assess`` prints, for internal use.

        Parameters
        ----------
        thresholds, rate, unsafe
            As for `to_dict`.

        Returns
        -------
        str
            A string that a prompt shows line by line.

        Examples
        --------
        >>> import riskcore
        >>> data = {"id": [1, 1, 2], "year": [1, 2, 1], "job": ["a", "a", "b"]}
        >>> found = riskcore.assess(data, ["job"], person="id", wave="year")
        >>> print(found.summary().splitlines()[1])
          records                                      3
        """
        figures = self.to_dict(thresholds=thresholds, rate=rate, unsafe=unsafe)
        return Summary(sheet_of(figures).text("riskcore: a panel"))

    def _sheet(self) -> Sheet:
        """Return the figures as facts and tables."""
        return sheet_of(self.to_dict())

    def __repr__(self) -> str:
        known_waves = "all" if self.known_waves is None else f"{self.known_waves:,}"
        waves = counted(len(self.waves), "wave")
        persons = counted(self.persons, "person")
        return self._in_one_line(
            f"WaveAssessment: {persons} in {waves}, {known_waves} known"
        )
