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
from riskcore.common.words import joined, quoted
from riskcore.data.proposed_ladder import rungs_of
from riskcore.data.recoding_words import is_rule
from riskcore.protection.settings.rules_table import entries
from riskcore.report.page_charts import spots


def view(bench: Workbench, form: Form) -> Mapping[str, Any]:
    """Return the ladders, how the search goes, and what it found."""
    try:
        bench.settings()
    except RefusedError as error:
        return {"lacking": words_of(error)}
    current = bench.jobs.of(SEARCH, _key(bench))
    return {
        "lacking": "",
        "text": partial(_text, bench),
        "words": partial(in_words, numbers=form.numbers),
        "job": bench.jobs.of(SEARCH),
        "current": current,
        "found": current and current.result,
        "spots": partial(spots, description="front-text", write=told),
    }


def _key(bench: Workbench) -> tuple[str, ...]:
    """Return what a search rests on."""
    own = (str(bench.table(name)) for name in ("ladder", "best"))
    return bench.planned(bench.stamped(bench.release)), *own


def _text(bench: Workbench, name: str) -> str:
    """Return the ladder of a key as text: its own, or what its values suggest."""
    keys = tuple(bench.keys)

    def propose() -> list[list[str]]:
        columns = map(bench.coded_column, keys)
        return [[*rungs_of(column).ladder.rules] for column in columns]

    proposed = bench.keep("ladders", keys, propose)[keys.index(name)]
    rules = bench.table("ladder").get(name) or proposed
    return rules if isinstance(rules, str) else "\n".join(rules)


def _typed(bench: Workbench, form: Form, name: str) -> tuple[Any, Any]:
    """Return a ladder as it was typed, and the rungs of its key; refuse a wrong one."""
    text = form.text(f"ladder-{bench.names.index(name)}") or _text(bench, name)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    rules = lines if len(lines) > 1 or is_rule(lines[0]) else lines[0]
    try:
        bench.resolved(bench.release.with_rules(ladder={name: rules}))
        ladder = entries()[("ladder",)].argument({name: rules}, bench.path.parent)
        return rules, rungs_of(bench.coded_column(name), ladder[name])
    except (TypeError, ValueError, OSError) as error:
        why = words_of(error)
        said_of = why if quoted(name) in why else joined(": ", [quoted(name), why])
        raise RefusedError(said_of) from None


def rungs(bench: Workbench, form: Form) -> Mapping[str, Any]:
    """Return how many groups each rung of a ladder has, as it was typed."""
    name = bench.column(form.text("field").rpartition("-")[2])
    return {"groups": [len({*x}) for x in _typed(bench, form, name)[1].codes]}


def start(bench: Workbench, form: Form) -> str:
    """Begin the search, by the ladders and settings that were typed."""
    keys, kept = bench.keys, bench.table("recodings")
    ladders = {x: _typed(bench, form, x)[0] for x in keys if x not in kept}
    weights = {x: form.number(f"importance-{bench.names.index(x)}", x) for x in keys}
    how: dict[str, Any] = {
        x: form.number(x, said("best", x)) if form.has(x) else None
        for x in ("price", "time")
    }
    how["loss"] = form.text("loss")
    how["importance"] = {x: w for x, w in weights.items() if w != 1} or None
    ladders = dict.fromkeys(bench.table("ladder")) | ladders
    bench.change(said("best", "asked"), ladder=ladders, best=how)
    best = partial(bench.rules_of(bench.release).release.best, bench.source)
    bench.jobs.forget(SEARCH)  # the same search may be begun again
    bench.jobs.start(SEARCH, _key(bench), lambda say: best(progress=say))
    return said("best", "started")


def take(bench: Workbench, form: Form) -> str:
    """Put the recodings, and the costs of their blanks, into the rules."""
    job = bench.jobs.of(SEARCH, _key(bench))
    if job is None or job.result is None:
        raise RefusedError(said("best", "gone"))
    tables = bench.release.with_best(job.result).tables
    changes = {x: tables[x] for x in ("recodings", "suppress") if x in tables}
    changes |= {x: dict.fromkeys(bench.table(x)) for x in ("ladder", "best")}
    return bench.change(said("best", "taken"), **changes)


PAGE = Page("best", view, named(start, take), named(rungs))
