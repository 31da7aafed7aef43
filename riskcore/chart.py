"""The public name of `riskcore.report.curve` and `riskcore.report.plots`."""

from __future__ import annotations

from riskcore.report.curve import RiskCurve, risk_curve, shared_edges
from riskcore.report.plots import figure, uniques_figure

__all__ = ["RiskCurve", "figure", "risk_curve", "shared_edges", "uniques_figure"]
