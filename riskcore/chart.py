"""The public names of the pictures in `riskcore.report`, and of their curves."""

from __future__ import annotations

from riskcore.report.pictures import curve_figure, figure, uniques_figure
from riskcore.report.risk_curve import RiskCurve, risk_curve, shared_edges
from riskcore.report.utility_pictures import comparison_figure, risk_utility_figure

__all__ = [
    "RiskCurve",
    "comparison_figure",
    "curve_figure",
    "figure",
    "risk_curve",
    "risk_utility_figure",
    "shared_edges",
    "uniques_figure",
]
