"""The panel beside every page: where the file stands, and what to do next.

Nothing is computed here that takes long: what is not known yet is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from riskcore.app.session import RefusedError
from riskcore.app.verdict import verdict_of

if TYPE_CHECKING:
    from riskcore.app.history import Version
    from riskcore.app.jobs import Job
    from riskcore.app.workbench import Rules, Workbench

# Before and after blanking; None for what is not known yet.
Pair: TypeAlias = tuple[float | None, float | None]
# A page, the name of a text, and a number in it.
Next: TypeAlias = tuple[str, str, int]
_AFTER = {None: "open", False: "attention", True: "done"}


@dataclass(frozen=True, slots=True)
class Panel:
    """What the panel and the steps show of a version of the rules."""

    state: str  # a word for the color
    verdict: str
    undecided: int  # columns without a role
    unsafe: Pair
    expected: Pair
    blanked: int | None
    leaks: int | None  # open ones
    headline: str  # the name of its text
    next: Next | None
    steps: dict[str, str]  # by page: done, open, changed, attention, or nothing


def panel_of(bench: Workbench, version: Version) -> Panel:
    """Return the panel of a version of the rules."""
    release = bench.release_of(version)
    state, verdict = verdict_of(bench, version)
    undecided = len(bench.undecided_of(release))
    try:
        rules = bench.rules_of(release)
    except RefusedError:
        rules = None
    made = _Made(bench, rules)
    before, after = made.before, made.after
    unsafe = (before and before.any_unsafe, after.get("unsafe"))
    expected = (before and max(before.expected), after.get("expected"))
    has_keys = bool(release.key_sets)
    return Panel(
        state,
        verdict,
        undecided,
        unsafe,
        expected,
        after.get("blanked"),
        made.leaks,
        _headline(unsafe, has_keys=has_keys),
        _next(made, undecided, has_keys=has_keys, safe=state == "safe"),
        {
            "columns": "done" if has_keys and not undecided else "open",
            "risk": "done" if before else "open",
            "recode": "done" if release.tables.get("recodings") else "",
            "treat": "done" if release.tables.get("treat") else "",
            "protect": made.step("plan", after.get("met")),
            "leaks": made.step("leaks", None if made.leaks is None else not made.leaks),
            "compare": made.step("compare", made.compared or None),
            "export": made.step("export", made.exported or None),
        },
    )


class _Made:
    """What the jobs have made for some rules."""

    def __init__(self, bench: Workbench, rules: Rules | None) -> None:
        self._jobs = bench.jobs
        self.before: Any = None
        self.after: dict[str, Any] = {}
        self.leaks: int | None = None
        self.running = {job.kind for job in bench.jobs.active}
        self.compared = self.exported = False
        if rules is None:
            return
        key = bench.planned(rules.tables)
        self.before = bench.kept("states", key)
        plan, leaks = self._of("plan", key), self._of("leaks", bench.examined(rules))
        if plan is None:
            return
        protected = bench.result_of(plan, rules)
        self.before = self.before or bench.tried()
        self.after = bench.keep("panel", key, lambda: _after(protected))
        compared = bench.jobs.of("compare")
        # It rests on the plan, and on what was asked to be compared.
        self.compared = (
            compared is not None
            and compared.result is not None
            and compared.result.plan is bench.jobs.of("plan")
        )
        self.exported = self._of("export", bench.history.current.number) is not None
        if leaks is not None:
            self.leaks = len(leaks.result.under(rules.settings).open)

    def _of(self, kind: str, key: object) -> Job | None:
        """Return the job of a kind if it is of these rules and done."""
        job = self._jobs.of(kind)
        return job if job and job.key == key and job.result is not None else None

    def step(self, kind: str, good: bool | None) -> str:
        """Return how a step stands whose result is good, bad or not there."""
        job = self._jobs.of(kind)
        older = good is None and job is not None and job.result is not None
        return "changed" if older else _AFTER[good]


def _after(protected: Any) -> dict[str, Any]:
    """Return the figures of a protected file; of several sets of keys, the largest."""
    sets = protected.sets
    return {
        "met": protected.goals_met,
        "unsafe": max(x.protected.cells.count_of(x.unsafe) for x in sets),
        "expected": max(x.protected.expected_reidentifications for x in sets),
        "blanked": sum(protected.suppressed.values()),
    }


def _headline(unsafe: Pair, *, has_keys: bool) -> str:
    """Return the name of the headline."""
    if not has_keys:
        return "no_keys"
    known = [figure is not None for figure in unsafe]
    return "before_and_after" if all(known) else "before" if known[0] else "unknown"


def _next(made: _Made, undecided: int, *, has_keys: bool, safe: bool) -> Next | None:
    """Return what to do next; None while work goes on that decides it."""
    left: Next | None = None
    if not has_keys or undecided:
        left = "columns", "roles" if undecided else "keys", undecided
    elif made.before is None:
        left = "risk", "risk", 0
    elif not made.after.get("met"):
        if "plan" not in made.running:
            left = "protect", "goals" if made.after else "protect", 0
    elif made.leaks is None:
        left = None if "leaks" in made.running else ("leaks", "examine", 0)
    elif made.leaks:
        left = "leaks", "leaks", made.leaks
    elif safe and not made.exported:
        left = "export", "export", 0
    return left
