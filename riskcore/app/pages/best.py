"""The best recodings: the ladders, the search, and what it found."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from riskcore.app.forms import Form
from riskcore.app.jobs import SEARCH, words_of
from riskcore.app.pages.page import Page, named
from riskcore.app.pages.recode_words import in_words
from riskcore.app.session import RefusedError
from riskcore.app.texts import said, told
from riskcore.app.workbench import Workbench
from riskcore.common.settings import complete
from riskcore.common.shell_line import shell_line
from riskcore.common.words import joined, quoted
from riskcore.data.ladder import Ladder, Rungs
from riskcore.data.proposed_ladder import proposed_ladder
from riskcore.data.recoding_words import is_rule
from riskcore.protection.settings.best_settings import LADDERS, MEASURES, BestSettings
from riskcore.report.page_charts import spots

_TIME = 60  # seconds that are proposed


def view(bench: Workbench, form: Form) -> Mapping[str, Any]:
    """Return the ladders, how the search goes, and what it found."""
    try:
        bench.settings()
    except RefusedError as error:
        to = "columns" if bench.lacking else "protect"
        return {"lacking": words_of(error), "to": to}
    how, job = bench.table("best"), bench.jobs.of(SEARCH)
    found = job.result if job and job.key == _key(bench) else None
    points = [
        (node.expected_reidentifications, node.loss, str(at), True)
        for at, node in enumerate(found.front if found else (), 1)
    ]
    words = ["riskcore", "best", "--rules", bench.path.name, "--output", "best.toml"]
    return {
        "lacking": "",
        "names": [(bench.names.index(name), name) for name in bench.keys],
        "recodings_now": bench.table("recodings"),
        "text": partial(_text, bench),
        "words": partial(in_words, numbers=form.numbers),
        "losses": MEASURES,
        "how": {"loss": MEASURES[0], "price": 1, "importance": {}, **how},
        "time": how.get("time") if how else _TIME,
        "job": job,
        "mine": bool(job and job.key == _key(bench)),
        "found": found,
        "drawing": spots(points, "front-text", None, {"1": "shown"}, told)
        if points
        else "",
        "command": shell_line(words),
    }


def _key(bench: Workbench) -> tuple[str, ...]:
    """Return what a search rests on."""
    sought = (str(bench.table(name)) for name in ("ladder", "best"))
    return bench.planned(bench.stamped(bench.release)), *sought


def _text(bench: Workbench, name: str) -> str:
    """Return the ladder of a key as text: its own, or what its values suggest."""

    def propose() -> dict[str, Ladder]:
        return {x: proposed_ladder(bench.coded_column(x)) for x in bench.keys}

    proposed = bench.keep("ladders", tuple(bench.keys), propose)
    rules = bench.table("ladder").get(name) or proposed[name].rules
    return rules if isinstance(rules, str) else "\n".join(rules)


def _typed(bench: Workbench, form: Form, name: str) -> tuple[Any, Rungs]:
    """Return a ladder as it was typed, and the rungs of its key; refuse a wrong one."""
    text = form.text(f"ladder-{bench.names.index(name)}") or _text(bench, name)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    rules = lines if len(lines) > 1 or is_rule(lines[0]) else lines[0]
    try:
        bench.resolved(bench.release.with_rules(ladder={name: rules}))
        ladder = LADDERS.argument({name: rules}, bench.path.parent)[name]
        return rules, Rungs.of(bench.coded_column(name), Ladder.of(ladder))
    except (TypeError, ValueError, OSError) as error:
        why = words_of(error)
        why = why if quoted(name) in why else joined(": ", [quoted(name), why])
        raise RefusedError(why) from None


def rungs(bench: Workbench, form: Form) -> Mapping[str, Any]:
    """Return how many groups each rung of a ladder has, as it was typed."""
    name = bench.column(form.text("field").rpartition("-")[2])
    _, climbed = _typed(bench, form, name)
    return {"groups": [len({*codes}) for codes in climbed.codes], "of": climbed.ladder}


def start(bench: Workbench, form: Form) -> str:
    """Begin the search, by the ladders and settings that were typed."""
    how: dict[str, Any] = {"loss": form.text("loss"), "importance": {}}
    for name in ("price", "time"):
        label = said("best", name)
        how[name] = form.number(name, label) if form.has(name) else None
    old_ladders, ladders = dict.fromkeys(bench.table("ladder")), {}
    for name in bench.keys:
        field = f"importance-{bench.names.index(name)}"
        if form.has(field) and (number := form.number(field, name)) != 1:
            how["importance"][name] = number
        if name not in bench.table("recodings"):
            ladders[name], _ = _typed(bench, form, name)
    how["importance"] = how["importance"] or None
    complete(BestSettings, how)
    bench.change(said("best", "asked"), ladder=old_ladders | ladders, best=how)
    release = bench.rules_of(bench.release).release
    bench.jobs.forget(SEARCH)  # the same search may be begun again
    bench.jobs.start(
        SEARCH, _key(bench), lambda say: release.best(bench.source, progress=say)
    )
    return said("best", "started")


def take(bench: Workbench, form: Form) -> str:
    """Put the recodings, and the costs of their blanks, into the rules."""
    job = bench.jobs.of(SEARCH, _key(bench))
    if job is None or job.result is None:
        raise RefusedError(said("best", "gone"))
    tables = bench.release.with_best(job.result).tables
    changes = {x: tables[x] for x in ("recodings", "suppress") if x in tables}
    away = {x: dict.fromkeys(bench.table(x)) for x in ("ladder", "best")}
    return bench.change(said("best", "taken"), **changes, **away)


PAGE = Page("best", view, named(start, take), named(rungs))
