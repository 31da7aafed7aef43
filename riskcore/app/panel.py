"""The panel beside every page: where the file stands, and what to do next.

Nothing is computed here that takes long: what is not known yet is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from riskcore.app.session import NotYetError, RefusedError
from riskcore.app.verdict import verdict_of

if TYPE_CHECKING:
    from riskcore.app.history import Version
    from riskcore.app.workbench import Workbench
    from riskcore.protection.release_toml import Release

_STEPS = {None: "open", False: "attention", True: "done"}


def panel_of(bench: Workbench, version: Version) -> Mapping[str, Any]:
    """Return what the panel and the steps show of a version of the rules."""
    release = bench.release_of(version)
    state, verdict = verdict_of(bench, version)
    made = {"before": None, "unsafe": None, "leaks": None, **_made(bench, release)}
    before, leaks = made["before"], made["leaks"]
    undecided, has_keys = len(bench.undecided_of(release)), bool(release.key_sets)

    def step(kind: str, good: bool | None) -> str:
        """Return how a step stands whose result is good, bad or not there."""
        job = bench.jobs.of(kind)
        older = good is None and job is not None and job.result is not None
        return "changed" if older else _STEPS[good]

    if not has_keys or undecided:
        following = "columns", "roles" if undecided else "keys", undecided
    else:
        following = _next(bench, made, is_safe=state == "safe")
    both = "before" if made["unsafe"] is None else "before_and_after"
    headline = both if before else "unknown"
    return {
        "state": state,
        "verdict": verdict,
        "headline": headline if has_keys else "no_keys",
        "unsafe": (before and before.any_unsafe, made["unsafe"]),
        "expected": (before and max(before.expected), made.get("expected")),
        "blanked": made.get("blanked"),
        "leaks": leaks,
        "next": following,
        "steps": {
            "columns": _STEPS[(has_keys and not undecided) or None],
            "risk": _STEPS[before is not None or None],
            "recode": "done" if release.tables.get("recodings") else "",
            "treat": "done" if release.tables.get("treat") else "",
            "protect": step("plan", made.get("met")),
            "leaks": step("leaks", None if leaks is None else not leaks),
            "compare": step("compare", made.get("compared")),
            "export": step("export", made.get("exported")),
        },
    }


def _made(bench: Workbench, release: Release) -> dict[str, Any]:
    """Return what is there for some rules; of several sets of keys, the largest."""
    try:
        rules = bench.rules_of(release)
    except RefusedError:
        return {}
    key, jobs = bench.planned(rules.tables), bench.jobs
    plan, compared = jobs.of("plan", key), jobs.of("compare")
    if plan is None or plan.result is None:
        return {"before": bench.kept("states", key)}

    def figures() -> dict[str, Any]:
        sets, blanked = plan.result.sets, plan.result.suppressed
        return {
            "met": plan.result.goals_met,
            "unsafe": max(x.protected.cells.count_of(x.unsafe) for x in sets),
            "expected": max(x.protected.expected_reidentifications for x in sets),
            "blanked": sum(blanked.values()),
        }

    made = bench.keep("panel", key, figures) | {"before": None}
    with suppress(NotYetError, RefusedError):
        made["before"] = bench.tried()
    if seen := bench.seen(rules):
        made["leaks"] = len(seen.under(rules.settings).open)
    if compared and compared.result and compared.result.plan is plan:
        made["compared"] = True
    exported = jobs.of("export", bench.history.current.number)
    if exported and exported.result:
        made["exported"] = True
    return made


def _next(bench: Workbench, made: Mapping[str, Any], *, is_safe: bool) -> Any:
    """Return a page, its text and a number; None while work goes on that decides."""
    running = {job.kind for job in bench.jobs.active}
    if made["before"] is None:
        return "risk", "risk", 0
    if not made.get("met"):
        text = "protect" if made["unsafe"] is None else "goals"
        return None if "plan" in running else ("protect", text, 0)
    if made["leaks"] is None:
        return None if "leaks" in running else ("leaks", "examine", 0)
    if made["leaks"]:
        return "leaks", "leaks", made["leaks"]
    return ("export", "export", 0) if is_safe and "exported" not in made else None
