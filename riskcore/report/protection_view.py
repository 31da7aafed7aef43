"""What the office's page says of the treated columns of a protection."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from riskcore.common.html import readable
from riskcore.protection.release.facts import treatment_facts
from riskcore.protection.result import Protected
from riskcore.report.tiles import Figure, arrow

# Number of correlations that are listed.
_MOST = 10


def treatments_view(protected: Protected) -> dict[str, Any] | None:
    """Return the tables of the treated columns, None if no column was treated."""
    facts = treatment_facts(protected)
    if facts is None:
        return None
    pairs = [
        (effect["columns"], arrow(effect["before"], effect["after"]), _change(effect))
        for effect in facts["correlations"]
    ]
    pairs.sort(key=lambda effect: -effect[2])
    return {
        "rules": [
            _rule(name, treatment["rules"], facts)
            for treatment in facts["rules"]
            for name in treatment["columns"]
        ],
        "moments": [
            (name, _moments(effect["before"], effect["after"]))
            for name, effect in facts["columns"].items()
            if effect["before"] is not None
        ],
        "weighted": protected.settings.weight is not None,
        "correlations": [(names, figure) for names, figure, _ in pairs[:_MOST]],
        "more": len(pairs[_MOST:]),
    }


def _rule(name: str, rules: list[str], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a column was treated, and the share of its values that changed."""
    count, of = facts["altered"][name], facts["values"][name]
    exact = f"{count:,} of {of:,} values"
    share = f"{readable(count / of if of else 0.0, 2)} %"
    return {"name": name, "rules": "; ".join(rules), "share": (share, exact)}


def _moments(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Figure]:
    """Return mean, standard deviation and median, before and after."""
    both = before, after
    return [
        arrow(*(moments["mean"] for moments in both)),
        arrow(*(math.sqrt(moments["variance"]) for moments in both)),
        arrow(
            *(moments["quantiles"][len(moments["quantiles"]) // 2] for moments in both)
        ),
    ]


def _change(pair: Mapping[str, Any]) -> float:
    if pair["before"] is None or pair["after"] is None:
        return math.inf
    return abs(float(pair["after"] - pair["before"]))
