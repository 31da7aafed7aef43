"""Figures of an audit in words, and as plain data."""

from __future__ import annotations

import math

from riskcore.common.words import Number


def number(value: float) -> Number:
    """Return a number of claims or links: whole from 100 on, else three digits."""
    if math.isnan(value):
        return Number("unknown")
    return Number(f"{value:,.0f}" if abs(value) >= 99.5 else f"{value:.3g}")


def percent(share: float) -> str:
    """Return a share as a percentage of three digits, "-" for nan."""
    return "-" if math.isnan(share) else f"{100.0 * share:.3g} %"


def plain(value: float) -> float | None:
    """Return a number for JSON, which has no nan."""
    return None if math.isnan(value) else value
