"""The public name of `riskcore.report.risk_curve` and `riskcore.report.pictures`."""

from __future__ import annotations

from riskcore.report.pictures import (
    curve_figure,
    figure,
    sizes_figure,
    uniques_figure,
)
from riskcore.report.risk_curve import RiskCurve, risk_curve, shared_edges

__all__ = [
    "RiskCurve",
    "curve_figure",
    "figure",
    "risk_curve",
    "shared_edges",
    "sizes_figure",
    "uniques_figure",
]
