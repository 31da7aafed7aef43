"""Re-identification risk of survey microdata, numerically rigorous.

Names are loaded when first used; see ``help(riskcore.individual_risk)``,
``help(riskcore.assess)`` and the README.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from riskcore.common.results import reported_by as _reported_by
from riskcore.common.version import __version__ as __version__

if TYPE_CHECKING:
    from riskcore.assessment.assess import (  # isort: skip
        assess as assess,
    )
    from riskcore.assessment.assessment import (  # isort: skip
        Assessment as Assessment,
    )
    from riskcore.disclosure.checked import (  # isort: skip
        Checked as Checked,
    )
    from riskcore.protection.check import (  # isort: skip
        check as check,
    )
    from riskcore.assessment.describe import (  # isort: skip
        Description as Description,
        describe as describe,
    )
    from riskcore.assessment.diversity import (  # isort: skip
        diversity as diversity,
    )
    from riskcore.assessment.exact_matches import (  # isort: skip
        NumericRisk as NumericRisk,
    )
    from riskcore.assessment.suda import (  # isort: skip
        suda as suda,
    )
    from riskcore.assessment.waves import (  # isort: skip
        WaveAssessment as WaveAssessment,
    )
    from riskcore.assessment.uniques import (  # isort: skip
        estimate_simulated as estimate_simulated,
        estimate_uniques as estimate_uniques,
    )
    from riskcore.disclosure.audit import (  # isort: skip
        audit as audit,
    )
    from riskcore.disclosure.audit_result import (  # isort: skip
        Audit as Audit,
    )
    from riskcore.comparison.compare import (  # isort: skip
        Comparison as Comparison,
        compare as compare,
    )
    from riskcore.core.risk.bounds import (  # isort: skip
        individual_risk_bounds as individual_risk_bounds,
        individual_risk_down as individual_risk_down,
        individual_risk_up as individual_risk_up,
    )
    from riskcore.core.risk.household import (  # isort: skip
        household_risk as household_risk,
    )
    from riskcore.core.risk.individual import (  # isort: skip
        individual_risk as individual_risk,
        individual_risk_from_frequencies as individual_risk_from_frequencies,
        individual_risk_gradient as individual_risk_gradient,
        log_individual_risk as log_individual_risk,
    )
    from riskcore.core.risk.posterior import (  # isort: skip
        individual_risk_deviation as individual_risk_deviation,
        individual_risk_quantile as individual_risk_quantile,
        individual_risk_second_moment as individual_risk_second_moment,
        population_frequency_quantile as population_frequency_quantile,
    )
    from riskcore.core.risk.prior import (  # isort: skip
        cell_fully_sampled_probability as cell_fully_sampled_probability,
        cell_fully_sampled_probability_poisson as cell_fully_sampled_probability_poisson,  # noqa: E501
        individual_risk_poisson as individual_risk_poisson,
        individual_risk_second_moment_poisson as individual_risk_second_moment_poisson,
        individual_risk_second_moment_with_prior as individual_risk_second_moment_with_prior,  # noqa: E501
        individual_risk_with_prior as individual_risk_with_prior,
        log_individual_risk_poisson as log_individual_risk_poisson,
        log_individual_risk_with_prior as log_individual_risk_with_prior,
    )
    from riskcore.data.cells import (  # isort: skip
        Cells as Cells,
        tabulate as tabulate,
    )
    from riskcore.data.files.reading import (  # isort: skip
        Reading as Reading,
    )
    from riskcore.data.argus_recode_file import (  # isort: skip
        read_recoding as read_recoding,
    )
    from riskcore.data.hierarchy import (  # isort: skip
        Hierarchy as Hierarchy,
    )
    from riskcore.data.recode import (  # isort: skip
        Recoding as Recoding,
        recode as recode,
    )
    from riskcore.protection.protect import (  # isort: skip
        protect as protect,
    )
    from riskcore.protection.release.rules import (  # isort: skip
        Release as Release,
    )
    from riskcore.protection.result import (  # isort: skip
        Protected as Protected,
    )
    from riskcore.protection.trials import (  # isort: skip
        Trials as Trials,
        grid as grid,
        try_out as try_out,
    )

_HOMES = {
    "Assessment": "riskcore.assessment.assessment",
    "Audit": "riskcore.disclosure.audit_result",
    "Cells": "riskcore.data.cells",
    "Checked": "riskcore.disclosure.checked",
    "Comparison": "riskcore.comparison.compare",
    "Description": "riskcore.assessment.describe",
    "Hierarchy": "riskcore.data.hierarchy",
    "NumericRisk": "riskcore.assessment.exact_matches",
    "Protected": "riskcore.protection.result",
    "Reading": "riskcore.data.files.reading",
    "Recoding": "riskcore.data.recode",
    "Release": "riskcore.protection.release.rules",
    "Trials": "riskcore.protection.trials",
    "WaveAssessment": "riskcore.assessment.waves",
    "assess": "riskcore.assessment.assess",
    "audit": "riskcore.disclosure.audit",
    "check": "riskcore.protection.check",
    "describe": "riskcore.assessment.describe",
    "diversity": "riskcore.assessment.diversity",
    "compare": "riskcore.comparison.compare",
    "estimate_simulated": "riskcore.assessment.uniques",
    "estimate_uniques": "riskcore.assessment.uniques",
    "grid": "riskcore.protection.trials",
    "household_risk": "riskcore.core.risk.household",
    "protect": "riskcore.protection.protect",
    "read_recoding": "riskcore.data.argus_recode_file",
    "recode": "riskcore.data.recode",
    "suda": "riskcore.assessment.suda",
    "tabulate": "riskcore.data.cells",
    "try_out": "riskcore.protection.trials",
    "individual_risk": "riskcore.core.risk.individual",
    "individual_risk_bounds": "riskcore.core.risk.bounds",
    "individual_risk_down": "riskcore.core.risk.bounds",
    "individual_risk_up": "riskcore.core.risk.bounds",
    "individual_risk_from_frequencies": "riskcore.core.risk.individual",
    "individual_risk_gradient": "riskcore.core.risk.individual",
    "log_individual_risk": "riskcore.core.risk.individual",
    "individual_risk_deviation": "riskcore.core.risk.posterior",
    "individual_risk_quantile": "riskcore.core.risk.posterior",
    "individual_risk_second_moment": "riskcore.core.risk.posterior",
    "population_frequency_quantile": "riskcore.core.risk.posterior",
    "cell_fully_sampled_probability": "riskcore.core.risk.prior",
    "cell_fully_sampled_probability_poisson": "riskcore.core.risk.prior",
    "individual_risk_poisson": "riskcore.core.risk.prior",
    "individual_risk_second_moment_poisson": "riskcore.core.risk.prior",
    "individual_risk_second_moment_with_prior": "riskcore.core.risk.prior",
    "individual_risk_with_prior": "riskcore.core.risk.prior",
    "log_individual_risk_poisson": "riskcore.core.risk.prior",
    "log_individual_risk_with_prior": "riskcore.core.risk.prior",
}
_MODULES = {
    "accuracy",
    "embed",
    "engines",
    "forms",
    "intruder",
    "models",
    "page",
    "simulate",
}

__all__ = [*_HOMES, *_MODULES]


# Results stand below the reports that they show themselves by, and do not know them.
_reported_by(lambda: import_module("riskcore.report.results"))


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
