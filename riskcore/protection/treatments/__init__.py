"""Treatments: values of a column become others, by a rule in words."""

# Each of these modules enters its kinds of treatment in `rules.KINDS`.
from riskcore.protection.treatments import (
    bands,
    microaggregation,
    noise,
    pram,
    raking,
    rank_swap,
    rounding,
    swap_areas,
    tails,
    weights,
)

__all__ = [
    "bands",
    "microaggregation",
    "noise",
    "pram",
    "raking",
    "rank_swap",
    "rounding",
    "swap_areas",
    "tails",
    "weights",
]
