"""The public names of `riskcore.report.risk_curve` and the modules of pictures."""

from __future__ import annotations

from riskcore.report.disclosure_pictures import contributions_figure, diversity_figure
from riskcore.report.pictures import (
    curve_figure,
    figure,
    sizes_figure,
    uniques_figure,
)
from riskcore.report.risk_curve import RiskCurve, risk_curve, shared_edges
from riskcore.report.utility_pictures import comparison_figure, risk_utility_figure

__all__ = [
    "RiskCurve",
    "comparison_figure",
    "contributions_figure",
    "curve_figure",
    "diversity_figure",
    "figure",
    "risk_curve",
    "risk_utility_figure",
    "shared_edges",
    "sizes_figure",
    "uniques_figure",
]
