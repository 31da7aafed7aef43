"""Disclosure risk of a file: the probability that an intruder finds an acquaintance.

An intruder (investigator) knows the keys of a circle of acquaintances. The file is
disclosed if at least one of them is unique in the population and in the sample. The
source is Mokken, Kooiman, Pannekoek and Willenborg (1992). As in that paper, N and n
are the sizes of population and sample, a is the size of the circle, f_a = a/N, f_u is
the fraction of the population that is unique, gamma the accepted risk.

Arguments broadcast as in NumPy; a number outside its domain is refused.
"""

from __future__ import annotations

from riskcore.intruder.acquaintances import (
    AcquaintancesDistribution,
    acquaintances_distribution,
    expected_acquaintances,
)
from riskcore.intruder.keys import total_risk
from riskcore.intruder.risk import (
    disclosure_risk,
    expected_disclosures,
    maximal_sampling_fraction,
)
from riskcore.intruder.subpopulations import (
    maximal_subpopulation_risk,
    maximal_unique_fraction,
    minimal_subpopulation,
    subpopulation_risk,
)
from riskcore.intruder.uniques import betas_for_unique_fraction, unique_fraction

__all__ = [
    "AcquaintancesDistribution",
    "acquaintances_distribution",
    "betas_for_unique_fraction",
    "disclosure_risk",
    "expected_acquaintances",
    "expected_disclosures",
    "maximal_sampling_fraction",
    "maximal_subpopulation_risk",
    "maximal_unique_fraction",
    "minimal_subpopulation",
    "subpopulation_risk",
    "total_risk",
    "unique_fraction",
]
