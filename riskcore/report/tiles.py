"""Tiles: the figures at the head of the page of a protection."""

from __future__ import annotations

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
