"""The file before and after, and the figures of each version that was carried out."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from riskcore.app.jobs import FAILURES, Job, words_of
from riskcore.app.session import Session
from riskcore.common.progress import Lines
from riskcore.comparison.compare import Comparison
from riskcore.protection.release_toml import Release
from riskcore.protection.result import Protected
from riskcore.protection.trials import Trial, Trials
from riskcore.report.utility_view import MOST_RECORDS, too_long

# The figures of a trial that a version keeps: none of them holds a value of the file.
FIGURES = (
    "safe",
    "unsafe_before",
    "unsafe_after",
    "expected_before",
    "expected_reidentifications",
    "max_risk",
    "share_lost",
    "mean_total_variation_of_values",
    "mean_total_variation",
    "pmse",
)
# More versions would hide each other in a picture.
MOST_DRAWN = 100


@dataclass(frozen=True, slots=True)
class Study:
    """A table or a model that the user asked for."""

    kind: str  # "tables" or "models"
    asked: Any  # the columns, or the formula
    found: Comparison | None  # with this table or model alone
    error: str = ""  # why the study failed


@dataclass(frozen=True, slots=True)
class Compared:
    """What a version has cost."""

    plan: Job
    found: Comparison | None
    reason: str = ""  # why it is missing
    studies: tuple[Study, ...] = ()


def choices(bench: Session) -> dict[str, list[Any]]:
    """Return the tables, models and columns of numbers that the user asked for."""
    kept = bench.history.chosen.get("compare")
    kept = kept if isinstance(kept, dict) else {}
    names = set(bench.names)
    fits: dict[str, Callable[[Any], bool]] = {
        "tables": lambda value: _is_pair(value) and names.issuperset(value),
        "models": lambda value: isinstance(value, str),
        "numbers": lambda value: isinstance(value, str) and value in names,
    }
    lists = {x: value if isinstance(value := kept.get(x), list) else [] for x in fits}
    return {name: [x for x in lists[name] if fit(x)] for name, fit in fits.items()}


def _is_pair(value: Any) -> bool:
    """Return whether a value is a list of two names."""
    pair = isinstance(value, list) and len(value) == 2
    return pair and all(isinstance(name, str) for name in value)


def comparison(bench: Session, plan: Job, number: int) -> Job:
    """Return the job that compares a plan; version ``number`` keeps its figures."""
    chosen = choices(bench)

    def work(say: Lines) -> Compared:
        protected: Protected | None = plan.result
        if protected is None:
            raise ValueError(plan.error or "the suppression was canceled")
        if protected.n > MOST_RECORDS:
            return Compared(plan, None, too_long(protected.n))
        numbers = _numbers(protected, chosen["numbers"])
        compared = bench.keep_slow(
            "comparisons",
            json.dumps([plan.key, numbers]),
            lambda: protected.compare(
                columns=numbers, strata=protected.settings.strata, progress=say
            ),
        )
        _keep_figures(bench, number, plan, compared)
        studies = []
        for kind in ("tables", "models"):
            for asked in chosen[kind]:
                say("repeating tables and models")
                make = partial(_study, protected, compared, kind, asked)
                kept = json.dumps([kind, asked])
                studies.append(bench.keep_slow(kept, plan.key, make))
        return Compared(plan, compared, "", tuple(studies))

    return bench.jobs.start("compare", (plan.key, json.dumps(chosen)), work)


def _numbers(protected: Protected, chosen: Sequence[str]) -> list[str]:
    """Return the columns of numbers that have no other role by now."""
    of = protected.settings
    others = {*of.variables, *of.strata, *of.recodings, of.weight}
    return [name for name in chosen if name not in others]


def _study(protected: Protected, compared: Comparison, kind: str, asked: Any) -> Study:
    """Return a table or a model before and after; it may fail by itself."""
    try:
        return Study(kind, asked, protected.study(compared, **{kind: [asked]}))
    except FAILURES as error:
        return Study(kind, asked, None, words_of(error))


# --- figures of versions ---


def _keep_figures(bench: Session, number: int, plan: Job, compared: Comparison) -> None:
    """Keep the figures of a version if the plan is of its rules."""
    rules = Release.parse(bench.history.versions[number].text, bench.path)
    if bench.planned(bench.stamped(rules)) == plan.key:
        trial = Trial.of("", {}, plan.result, compared)
        figures = {name: getattr(trial, name) for name in FIGURES}
        figures["values_suppressed"] = trial.values_suppressed
        bench.history.keep_figures(number, figures)


def note_figures(bench: Session) -> None:
    """Keep the figures of the current version if its comparison is known."""
    # A version that changes nothing before the file is written has the plan of another.
    number, job = bench.history.current.number, bench.jobs.of("compare")
    made = None if job is None else job.result
    if (
        isinstance(made, Compared)
        and made.found
        and number not in bench.history.figures
    ):
        _keep_figures(bench, number, made.plan, made.found)


def trials(bench: Session, most: int = MOST_DRAWN) -> Trials:
    """Return the newest distinct figures of versions as trials, named by number."""
    # Of versions with the same figures the one that is shown, else the newest.
    history = bench.history
    shown = history.current.number
    distinct: dict[str, int] = {}
    for number in sorted(
        history.figures, key=lambda version: (version != shown, -version)
    ):
        distinct.setdefault(json.dumps(history.figures[number]), number)
        if len(distinct) == most:
            break
    numbers = sorted(distinct.values())
    return Trials(
        bench.source,
        [],
        tuple(_trial(version, history.figures[version]) for version in numbers),
    )


def _trial(number: int, figures: Mapping[str, Any]) -> Trial:
    """Return the figures of a version as a trial; what is not a figure is unknown."""
    trial_figures = {name: figure_of(figures.get(name)) for name in FIGURES}
    blanks = figure_of(figures.get("values_suppressed"))
    suppressed = None if blanks is None else {"": int(blanks)}
    reason = "" if trial_figures.pop("safe") is True else "the goals are not met"
    return Trial(str(number), {}, "", reason, suppressed=suppressed, **trial_figures)


def figure_of(value: Any) -> Any:
    """Return a finite number or a truth; None for anything else."""
    number = isinstance(value, bool | int | float) and math.isfinite(value)
    return value if number else None
