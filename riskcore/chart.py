"""The public names of `riskcore.report.risk_curve` and the modules of pictures."""

from __future__ import annotations

from riskcore.report.disclosure_pictures import contributions_figure, diversity_figure
from riskcore.report.pictures import curve_figure, figure, uniques_figure
from riskcore.report.risk_curve import RiskCurve, risk_curve, shared_edges

__all__ = [
    "RiskCurve",
    "contributions_figure",
    "curve_figure",
    "diversity_figure",
    "figure",
    "risk_curve",
    "shared_edges",
    "uniques_figure",
]
