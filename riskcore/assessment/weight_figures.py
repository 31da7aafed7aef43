"""The weights of a file: how much they differ, and whether they are plausible."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from riskcore.common.words import Number, by_count, joined, sentence
from riskcore.core.risk.file_risk import sum_of_products
from riskcore.data.engines.counting import LARGEST_SQUARED, Weights

# From these on a remark is made: the largest weight over the smallest, the design
# effect, and the difference of two sampling fractions, relatively.
_RATIO, _DESIGN_EFFECT, _APART = 1000.0, 3.0, 0.05
# Weights whose mean is nearer to 1 look scaled.
_SCALED = 1e-3
# People for each record, from which on whole weights may have implied decimals, and
# means of weights that may be 1 with two or three decimals.
_MANY, _MEANS = 10_000, (100, 1_000)
_NO_WEIGHTS = sentence(
    "There are no weights: the sample is taken for the population. If it is a sample, "
    "give the weights or the sampling fraction."
)


@dataclass(frozen=True, slots=True)
class WeightFigures:
    """Figures of the weights of a file.

    The design effect is 1 plus the squared coefficient of variation (Kish 1992): how
    many times the variance of a mean grows by unequal weights. It is None if their
    squares are not doubles.
    """

    records: int
    total: float  # the estimated population
    smallest: float  # above 0
    largest: float
    below_one: int  # how many are above 0 and below 1
    design_effect: float | None
    zero: int = 0
    whole: bool = False  # whether all are whole numbers
    scale: float | None = None  # what the numbers in the file were multiplied by
    remarks: tuple[str, ...] = ()  # what is said of weights that were estimated

    @classmethod
    def of(cls, weights: NDArray[np.float64], total: float) -> Self:
        """Return the figures of the weights of records, given their sum."""
        squares = math.nan
        if weights.max() <= LARGEST_SQUARED:
            squares = sum_of_products(weights * weights)
        return cls.on_engine(replace(Weights.of(weights), squares=squares), total)

    @classmethod
    def on_engine(cls, weighed: Weights, total: float) -> Self:
        """Return the figures that an engine gives."""
        n, w, effect, mean = weighed.n, weighed, None, total / weighed.n
        squared = w.high <= LARGEST_SQUARED and not math.isnan(w.squares)
        if squared and mean >= 1 / LARGEST_SQUARED:  # n sum w^2 / (sum w)^2
            effect = max(1.0, w.squares / n / (mean * mean))
        whole = not w.broken
        return cls(n, total, w.low, w.high, w.below_one, effect, w.zero, whole)

    @property
    def ratio(self) -> float:
        """The largest weight over the smallest."""
        return self.largest / self.smallest

    @property
    def sampling_fraction(self) -> float:
        """The records over the sum of the weights."""
        return self.records / self.total

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values for JSON; None for what is infinite."""
        more = {"ratio": self.ratio, "sampling_fraction": self.sampling_fraction}
        figures = {**asdict(self), **more}
        del figures["remarks"]
        return {
            k: v if v is not None and v < math.inf else None for k, v in figures.items()
        }


def weights_text(figures: Mapping[str, Any]) -> str:
    """Return what `WeightFigures.to_dict` tells, on one line."""
    smallest, largest = figures["smallest"], figures["largest"]
    ends = [Number(f"{end:,.6g}") for end in (smallest, largest)]
    text = [sentence("{low} to {high}", *ends)]
    if smallest == largest:
        text = [sentence("{n} each", ends[0])]
    if figures["zero"]:
        text.append(sentence("{n} zero", figures["zero"]))
    if figures["ratio"] is not None and smallest != largest:
        text.append(sentence("ratio {n}", Number(f"{figures['ratio']:,.4g}")))
    if figures["design_effect"] is not None and smallest != largest:
        effect = Number(f"{figures['design_effect']:.3g}")
        text.append(sentence("design effect {n}", effect))
    return joined(", ", text)


def weight_remarks(
    weights: WeightFigures | None, sampling_fraction: float | None = None
) -> list[str]:
    """Return sentences about what is doubtful in the weights of a file."""
    if weights is None:
        return [_NO_WEIGHTS] if sampling_fraction is None else []
    remarks = [*weights.remarks]
    if weights.scale not in (None, 1):
        scale = Number(f"{weights.scale:g}")
        remarks.append(sentence("The weights are those of the file times {n}.", scale))
    if weights.smallest < 1:
        remarks.append(
            by_count(
                weights.below_one,
                "{n} weight is below 1, the smallest {smallest}: a record stands for "
                "itself at least.",
                "{n} weights are below 1, the smallest {smallest}: a record stands for "
                "itself at least.",
                *(weights.below_one, Number(f"{weights.smallest:.6g}")),
            )
        )
    positive = weights.records - weights.zero
    mean = weights.total / positive
    round_mean = weights.ratio > 1 and any(abs(mean / x - 1) < _SCALED for x in _MEANS)
    if weights.whole and (mean >= _MANY or round_mean):
        remarks.append(
            sentence(
                "All weights are whole numbers, and a record stands for {n} people on "
                "average: if they have implied decimals, the risk is far too low; give "
                "their scale, such as --weight-scale 0.01 (in Python: "
                "Reading(weight_scale=0.01)).",
                Number(f"{mean:,.0f}"),
            )
        )
    if min(abs(weights.total / n - 1) for n in (weights.records, positive)) < _SCALED:
        remarks.append(
            sentence(
                "The weights add up to the number of records: if they were scaled to a "
                "mean of 1, the risk is far too high; use weights that add up to the "
                "population."
            )
        )
    if weights.ratio >= _RATIO or (weights.design_effect or 0) >= _DESIGN_EFFECT:
        remarks.append(
            sentence(
                "The weights differ a lot, {figures}: check the smallest and the "
                "largest.",
                weights_text(weights.to_dict()),
            )
        )
    implied = weights.sampling_fraction
    sampling_fraction = None if weights.remarks else sampling_fraction
    if sampling_fraction and abs(implied / sampling_fraction - 1) > _APART:
        remarks.append(
            sentence(
                "By the weights {n} % of the population were sampled, by the sampling "
                "fraction {fraction} %.",
                *(Number(f"{100 * x:.3g}") for x in (implied, sampling_fraction)),
            )
        )
    return remarks
