"""Re-identification risk of survey microdata, numerically rigorous.

Names are loaded when first used; see ``help(riskcore.individual_risk)``,
``help(riskcore.assess)`` and the README.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from riskcore.assessment import Assessment as Assessment
    from riskcore.assessment import assess as assess
    from riskcore.files.reading import Reading as Reading
    from riskcore.gate import Checked as Checked
    from riskcore.gate import check as check
    from riskcore.microdata.cells import Cells as Cells
    from riskcore.microdata.cells import tabulate as tabulate
    from riskcore.microdata.grc import read_recoding as read_recoding
    from riskcore.microdata.hierarchy import Hierarchy as Hierarchy
    from riskcore.microdata.recode import Recoding as Recoding
    from riskcore.microdata.recode import recode as recode
    from riskcore.protection.protect import protect as protect
    from riskcore.protection.result import Protected as Protected
    from riskcore.protection.trials import Trials as Trials
    from riskcore.protection.trials import grid as grid
    from riskcore.protection.trials import try_out as try_out
    from riskcore.risk.bounds import individual_risk_bounds as individual_risk_bounds
    from riskcore.risk.household import household_risk as household_risk
    from riskcore.sensitive import diversity as diversity
    from riskcore.special_uniques import suda as suda
    from riskcore.uniques import estimate_simulated as estimate_simulated
    from riskcore.uniques import estimate_uniques as estimate_uniques
    from riskcore.utility.comparison import Comparison as Comparison
    from riskcore.utility.comparison import compare as compare
    from riskcore.risk.individual import (  # isort: skip
        individual_risk as individual_risk,
        individual_risk_from_frequencies as individual_risk_from_frequencies,
        individual_risk_gradient as individual_risk_gradient,
        log_individual_risk as log_individual_risk,
    )
    from riskcore.risk.posterior import (  # isort: skip
        individual_risk_deviation as individual_risk_deviation,
        individual_risk_quantile as individual_risk_quantile,
        individual_risk_second_moment as individual_risk_second_moment,
        log_population_frequency_probability as log_population_frequency_probability,
        population_frequency_distribution as population_frequency_distribution,
        population_frequency_probability as population_frequency_probability,
        population_frequency_quantile as population_frequency_quantile,
        population_frequency_survival as population_frequency_survival,
    )
    from riskcore.risk.prior import (  # isort: skip
        cell_fully_sampled_probability as cell_fully_sampled_probability,
        cell_fully_sampled_probability_poisson as cell_fully_sampled_probability_poisson,  # noqa: E501
        individual_risk_poisson as individual_risk_poisson,
        individual_risk_second_moment_poisson as individual_risk_second_moment_poisson,
        individual_risk_second_moment_with_prior as individual_risk_second_moment_with_prior,  # noqa: E501
        individual_risk_with_prior as individual_risk_with_prior,
        log_individual_risk_poisson as log_individual_risk_poisson,
        log_individual_risk_with_prior as log_individual_risk_with_prior,
    )

__version__ = "0.1.0"

_HOMES = {
    "Assessment": "riskcore.assessment",
    "Cells": "riskcore.microdata.cells",
    "Checked": "riskcore.gate",
    "Comparison": "riskcore.utility.comparison",
    "Hierarchy": "riskcore.microdata.hierarchy",
    "Protected": "riskcore.protection.result",
    "Reading": "riskcore.files.reading",
    "Recoding": "riskcore.microdata.recode",
    "Trials": "riskcore.protection.trials",
    "assess": "riskcore.assessment",
    "check": "riskcore.gate",
    "diversity": "riskcore.sensitive",
    "compare": "riskcore.utility.comparison",
    "estimate_simulated": "riskcore.uniques",
    "estimate_uniques": "riskcore.uniques",
    "grid": "riskcore.protection.trials",
    "household_risk": "riskcore.risk.household",
    "protect": "riskcore.protection.protect",
    "read_recoding": "riskcore.microdata.grc",
    "recode": "riskcore.microdata.recode",
    "suda": "riskcore.special_uniques",
    "tabulate": "riskcore.microdata.cells",
    "try_out": "riskcore.protection.trials",
    "individual_risk": "riskcore.risk.individual",
    "individual_risk_bounds": "riskcore.risk.bounds",
    "individual_risk_from_frequencies": "riskcore.risk.individual",
    "individual_risk_gradient": "riskcore.risk.individual",
    "log_individual_risk": "riskcore.risk.individual",
    "individual_risk_deviation": "riskcore.risk.posterior",
    "individual_risk_quantile": "riskcore.risk.posterior",
    "individual_risk_second_moment": "riskcore.risk.posterior",
    "log_population_frequency_probability": "riskcore.risk.posterior",
    "population_frequency_distribution": "riskcore.risk.posterior",
    "population_frequency_probability": "riskcore.risk.posterior",
    "population_frequency_quantile": "riskcore.risk.posterior",
    "population_frequency_survival": "riskcore.risk.posterior",
    "cell_fully_sampled_probability": "riskcore.risk.prior",
    "cell_fully_sampled_probability_poisson": "riskcore.risk.prior",
    "individual_risk_poisson": "riskcore.risk.prior",
    "individual_risk_second_moment_poisson": "riskcore.risk.prior",
    "individual_risk_second_moment_with_prior": "riskcore.risk.prior",
    "individual_risk_with_prior": "riskcore.risk.prior",
    "log_individual_risk_poisson": "riskcore.risk.prior",
    "log_individual_risk_with_prior": "riskcore.risk.prior",
}
_MODULES = {
    "accuracy",
    "chart",
    "embed",
    "engines",
    "forms",
    "intruder",
    "models",
    "page",
    "reproduce",
    "simulate",
}

__all__ = [*_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        globals()[name] = getattr(import_module(_HOMES[name]), name)
        return globals()[name]
    if name in _MODULES:
        return import_module(f"riskcore.{name}")
    raise AttributeError(f"module 'riskcore' has no attribute {name!r}")


def __dir__() -> list[str]:
    special = [name for name in globals() if name.startswith("__")]
    return sorted([*special, *__all__])
