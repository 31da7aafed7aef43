"""Tiles at the head of the page of a protection, and what it says of treatments."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from riskcore.assessment.reported_figures import FIGURES
from riskcore.common.html import all_digits, readable
from riskcore.disclosure.verdict import tiles
from riskcore.protection.release.facts import treatment_facts
from riskcore.protection.result import Protected
from riskcore.protection.suppression.key_sets import KeySet

_ARROW = " \u2192 "

# What is shown, and the same with all digits.
Figure = tuple[str, str]


class Tile(NamedTuple):
    """A figure at the head of the page: its name, what is shown, and its unit."""

    name: str
    figures: list[Figure]
    notes: list[str]


_NAMES = {one.name: one.names.get("page", "") for one in FIGURES}


def tiles_of(protected: Protected, key_set: KeySet) -> list[Tile]:
    """Return unsafe records, the cost in values, and expected re-identifications."""
    stages = key_set.comparison()
    before, after = stages["original"], stages["protected"]

    def both(name: str) -> Figure:
        return arrow(before[name], after[name])

    unit = protected.settings.unit
    return [
        Tile(
            f"Unsafe {unit}s",
            [both("unsafe_records")],
            [f"of {key_set.protected.cells.n:,}, before \u2192 after"],
        ),
        _cost(protected),
        Tile(
            _NAMES["expected_reidentifications"],
            [both("expected_reidentifications")],
            ["before \u2192 after"],
        ),
    ]


def _cost(protected: Protected) -> Tile:
    """Return the shares of values blanked and altered."""
    blanked = protected.suppressed
    name, parts = "Blanked values", [(blanked, protected.n * len(blanked), "the keys")]
    treated = treatment_facts(protected)
    if treated is not None:
        name = "Blanked and altered values"
        values = sum(treated["values"].values())
        parts.append((treated["altered"], values, "the treated columns"))
    figures, notes = [], []
    for counts, of, columns in parts:
        count = sum(counts.values())
        exact = f"{count:,} of {of:,} values"
        figures.append((f"{readable(count / of if of else 0.0, 2)} %", exact))
        notes.append(f"of the values of {columns}")
    return Tile(name, figures, notes)


def tiles_of_verdict(examined: Mapping[str, Any]) -> Iterator[Tile]:
    """Yield the tiles of a verdict."""
    for name, figure, note in tiles(examined):
        yield Tile(name, [(figure, figure)], [note])


def arrow(before: float | None, after: float | None) -> Figure:
    """Return a figure before and after, rounded and with all digits."""
    pair = before, after
    shown = ("\u2013" if x is None else readable(float(x)) for x in pair)
    exact = ("\u2013" if x is None else all_digits(float(x)) for x in pair)
    return _ARROW.join(shown), _ARROW.join(exact)


# Number of correlations that are listed.
_MOST_PAIRS = 10


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
        "correlations": [(names, figure) for names, figure, _ in pairs[:_MOST_PAIRS]],
        "more": len(pairs[_MOST_PAIRS:]),
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
