"""The table of many sets of keys, the worst first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from riskcore.assessment.reported_figures import label, name_of
from riskcore.common.html import readable
from riskcore.common.words import on_one_line
from riskcore.protection.result import Protected

# Number of sets of keys, the worst, that each have a page.
MOST_PAGES = 10


def worst_first(sets: Sequence[dict[str, Any]]) -> list[int]:
    """Return the positions of sets of keys, the worst first."""

    def care(at: int) -> tuple[float, ...]:
        risk = sets[at]["risk"]
        before, after = risk["original"], risk["protected"]
        unsafe = -after["unsafe_records"], -before["unsafe_records"]
        return *unsafe, -after["max_risk"], at

    return sorted(range(len(sets)), key=care)


def set_rows(
    sets: Sequence[dict[str, Any]],
    name: Callable[[Any], str] = label,
    number: Callable[[float], str] = "{:.6g}".format,
) -> list[list[str]]:
    """Return a row for each set of keys, the worst first, after a header row."""
    head = ["keys", "k", "unsafe before", "after", "smallest f"]
    lines = [[*head, name_of("max_risk", "stages")]]
    for key_set in (sets[at] for at in worst_first(sets)):
        before, after = key_set["risk"]["original"], key_set["risk"]["protected"]
        lines.append(
            [
                " x ".join(map(name, key_set["keys"])),
                "-" if key_set["k"] is None else f"{key_set['k']:,}",
                f"{before['unsafe_records']:,}",
                f"{after['unsafe_records']:,}",
                number(after["k_anonymity"]),
                number(after["max_risk"]),
            ]
        )
    return lines


def sets_with_pages(protected: Protected) -> list[int]:
    """Return the positions of sets of keys with a page: of too many the worst."""
    sets = _plain(protected)
    few = len(sets) <= MOST_PAGES
    return list(range(len(sets))) if few else worst_first(sets)[:MOST_PAGES]


def sets_view(protected: Protected, keys: int) -> dict[str, Any] | None:
    """Return the table of all sets of keys for a page; None for a single set."""
    sets = _plain(protected)
    if len(sets) == 1:
        return None
    rows = set_rows(sets, on_one_line, readable)
    pages = {at: page for page, at in enumerate(sets_with_pages(protected), 1)}
    rows[0].append("report")
    for row, at in zip(rows[1:], worst_first(sets), strict=True):
        number = pages.get(at)
        row.append("" if number is None else "this" if at == keys else str(number))
    return {
        "rows": rows,
        "this": on_one_line(" x ".join(map(str, sets[keys]["keys"]))),
        "more": len(sets) - len(pages),
    }


def _plain(protected: Protected) -> list[dict[str, Any]]:
    return [
        {"keys": key_set.keys, "k": key_set.aim.k, "risk": key_set.comparison()}
        for key_set in protected.sets
    ]
