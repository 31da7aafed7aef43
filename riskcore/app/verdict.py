"""The verdict on a version of the rules: a word for its color, and a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from riskcore.app.jobs import FAILURES, Job, words_of
from riskcore.app.session import NO_KEYS, RefusedError
from riskcore.app.texts import READER, said
from riskcore.common.words import counted, joined, listed, quoted

if TYPE_CHECKING:
    from riskcore.app.history import Version
    from riskcore.app.workbench import Rules, Workbench


def verdict_of(bench: Workbench, version: Version | None = None) -> tuple[str, str]:
    """Return the state of a version, a word for its color, and a sentence."""
    release = bench.release_of(version or bench.history.current)
    try:
        bench.source.refuse_changed()
    except FAILURES:
        return "unsafe", said("verdict", "changed")
    if not release.key_sets:
        return "open", said("verdict", "lacking", why=NO_KEYS)
    if left := bench.undecided_of(release):
        some = [quoted(name) for name in left[:3]]
        if len(left) > 3:
            some.append(said("verdict", "more", n=len(left) - 3))
        what = counted(len(left), "column")
        return "open", said("verdict", "undecided", columns=what, names=listed(some))
    try:
        return _verdict_now(bench, bench.rules_of(release))
    except RefusedError as error:
        return "open", said("verdict", "lacking", why=words_of(error))


def _verdict_now(bench: Workbench, rules: Rules) -> tuple[str, str]:
    """Return the verdict on rules that are complete."""
    plan = bench.jobs.of("plan", bench.planned(rules.tables))
    if plan is None:
        return "open", said("verdict", "not_planned")
    if plan.active:
        return "open", said("verdict", "planning")
    if plan.result is None:
        return "open", said("verdict", "ended")
    leaks = bench.jobs.of("leaks", bench.examined(rules))
    rest = bench.key_of("check", of=rules.tables), leaks and leaks.state
    key = (*rest, READER.get().language)
    return bench.keep("verdict", key, lambda: _verdict(bench, plan, leaks, rules))


def _verdict(
    bench: Workbench, plan: Job, leaks: Job | None, rules: Rules
) -> tuple[str, str]:
    """Return the verdict on a file with its leaks, if they are known."""
    protected = bench.result_of(plan, rules)
    assert protected is not None
    if protected.goals_met:
        if leaks is None:
            return "open", said("verdict", "not_examined")
        if leaks.active:
            return "open", said("verdict", "examining")
        if leaks.result is None:
            return "open", said("verdict", "ended")
    verdict = protected.judge(leaks.result if leaks else None)
    doubts = protected.doubts if verdict.safe else ()
    words = joined(" ", [verdict.headline, *doubts])
    return "safe" if verdict.safe else "unsafe", words
