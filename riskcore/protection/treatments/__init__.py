"""Treatments: numbers of a column become others, by a rule in words."""

# Each of these modules enters its kinds of treatment in `rules.KINDS`.
from riskcore.protection.treatments import (
    bands,
    microaggregation,
    noise,
    rank_swap,
    rounding,
    tails,
)

__all__ = ["bands", "microaggregation", "noise", "rank_swap", "rounding", "tails"]
