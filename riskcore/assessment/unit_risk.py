"""What the risks of units say of a file, whatever a unit is: a record or a person."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from riskcore.assessment.cell_risk import Ends, Mask, Risks
from riskcore.common import arguments
from riskcore.core.risk.file_risk import as_threshold
from riskcore.core.risk.threshold import RiskDistribution

# Risks at which a summary counts the unsafe units by default.
THRESHOLDS = (0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)


class UnitRisk:
    """The figures of records, households or persons that assessments share."""

    _unit: ClassVar[str] = "record"

    @property
    def distribution(self) -> RiskDistribution:
        """The distribution of the individual risk over units, for thresholds."""
        raise NotImplementedError

    @property
    def individual_risk(self) -> Risks:
        """Individual risk of each record, in input order, shape (n,)."""
        raise NotImplementedError

    @property
    def expected_reidentifications(self) -> float:
        """ER, the sum of the risks of the units, correctly rounded."""
        return self.distribution.expected_reidentifications

    @property
    def reidentification_rate(self) -> float:
        """The re-identification rate ER/n, a fraction (CASC 2004, equation 15)."""
        return self.distribution.reidentification_rate

    @property
    def max_risk(self) -> float:
        """The largest individual risk."""
        return self.distribution.max_risk

    def risk_threshold(
        self, *, rate: float | None = None, unsafe: int | None = None
    ) -> float:
        """Return the risk threshold for a target: a rate, or a number of units.

        Parameters
        ----------
        rate : float
            Re-identification rate to keep, a fraction. The threshold is the t at which
            the rate would be equal to this if all larger risks were lowered to t.
        unsafe : int
            Number of records, or persons of a panel, that may be unsafe. The threshold
            is the smallest risk that at most this many reach; it may be fewer, because
            those of equal risk are not divided.

        Returns
        -------
        float
            Infinity if none needs to be unsafe. Give one target, not both.

        Raises
        ------
        TypeError
            If not exactly one target is given, or the number is not whole.
        ValueError
            If the rate is not in [0, 1], or the number not from 0 to that of the units.
        """
        if (rate is None) == (unsafe is None):
            raise TypeError("give either rate= or unsafe=")
        if rate is not None:
            return self.distribution.threshold_for_rate(rate)
        assert unsafe is not None
        units = self.distribution.n
        if not 0 <= arguments.whole("unsafe", unsafe) <= units:
            raise ValueError(f"unsafe={unsafe}: need 0 to {units} {self._unit}s")
        return self.distribution.threshold_for_unsafe(unsafe)

    def unsafe(self, threshold: float) -> Mask:
        """Return a mask of the records with individual risk >= threshold.

        Parameters
        ----------
        threshold : float
            A risk.

        Returns
        -------
        ndarray of bool, shape (n,)

        Raises
        ------
        ValueError
            If the threshold is nan or negative.
        """
        return self.individual_risk >= as_threshold(threshold)

    def unsafe_count(self, threshold: float) -> int:
        """Return the number of records, or persons, with a risk >= threshold.

        Parameters
        ----------
        threshold : float
            A risk.

        Returns
        -------
        int
        """
        return self.distribution.unsafe_count(threshold)

    def expected_reidentifications_interval(self, level: float = 0.95) -> Ends:
        """Return an interval for the sum of 1/F over the units.

        Parameters
        ----------
        level : float
            Probability of the interval, between 0 and 1.

        Returns
        -------
        low, high : float
            By the normal distribution, from the spread of F in each cell and, with a
            fitted model, the error of the fit (`riskcore.models.CellModel.interval`).
            By the weights alone, it takes the weights as exact, and is far too short if
            they are not. For a panel the models are fitted again, without parts of the
            sample, which takes many times as long as the assessment; the errors of
            several choices of waves are taken as one.

        Raises
        ------
        ValueError
            If the level is not in (0, 1); if missing keys match any value, because the
            cells are then not independent; or, for a panel, if the weights alone were
            used or the choice of waves is the worst.

        Examples
        --------
        >>> import riskcore
        >>> data = {"sex": ["f", "m", "f"], "w": [10.0, 20.0, 15.0]}
        >>> result = riskcore.assess(data, ["sex"], "w")
        >>> low, high = result.expected_reidentifications_interval()
        >>> round(low, 3), round(high, 3)
        (0.0, 0.805)
        """
        low, high = self._risk_interval(level)
        return low, min(high, float(self.distribution.n))

    def expected_population_uniques_interval(self, level: float = 0.95) -> Ends:
        """Return an interval for tau, the sample uniques unique in the population.

        Parameters
        ----------
        level : float
            Probability of the interval, between 0 and 1.

        Returns
        -------
        low, high : float
            From the exact distribution of tau (Poisson-binomial) and, with a fitted
            model, the error of the fit (`riskcore.models.CellModel.tau_interval`).

        Raises
        ------
        ValueError
            As `expected_reidentifications_interval`.

        Examples
        --------
        >>> import riskcore
        >>> data = {"age": list(range(40)), "w": [2.0] * 40}
        >>> result = riskcore.assess(data, ["age"], "w")
        >>> result.expected_population_uniques
        20.0
        >>> result.expected_population_uniques_interval()
        (14, 26)
        """
        return self._uniques_interval(level)

    def _risk_interval(self, level: float) -> Ends:
        raise NotImplementedError

    def _uniques_interval(self, level: float) -> Ends:
        raise NotImplementedError

    def _in_one_line(self, start: str, end: str = "") -> str:
        """Return the figures of the file after the numbers of its units."""
        return (
            f"<{start}, re-identification rate {self.reidentification_rate:.6%}, "
            f"{self.expected_reidentifications:.6g} expected re-identifications, "
            f"maximum risk {self.max_risk:.6g}{end}>"
        )


def at_targets(
    result: UnitRisk,
    thresholds: Sequence[float],
    rate: float | None,
    unsafe: int | None,
) -> dict[str, Any]:
    """Return the unsafe units at thresholds, and the thresholds for targets."""
    units = f"{result._unit}s"
    counts = [
        {"threshold": float(t), units: result.unsafe_count(t)}
        for t in thresholds or THRESHOLDS
    ]
    figures: dict[str, Any] = {f"unsafe_{units}": counts}
    targets: dict[str, Any] = {"rate": rate, "unsafe": unsafe}
    for name, target in targets.items():
        if target is not None:
            threshold = result.risk_threshold(**{name: target})
            figures[f"for_{name}"] = {
                name: target,
                "threshold": threshold if math.isfinite(threshold) else None,
                units: result.unsafe_count(threshold),
            }
    return figures
