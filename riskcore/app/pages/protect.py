"""Make safe: the goals, the ways, and the suppression."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from riskcore.app.forms import Form, shown
from riskcore.app.jobs import Job
from riskcore.app.pages.page import Page, named
from riskcore.app.pages.values import code_of, labels_of
from riskcore.app.session import RefusedError
from riskcore.app.texts import said
from riskcore.app.workbench import Workbench
from riskcore.common.settings import NEVER
from riskcore.common.words import printable
from riskcore.protection.result import Protected
from riskcore.report.utility_view import losses_of

if TYPE_CHECKING:
    from riskcore.comparison.losses import CategoryLoss
    from riskcore.protection.settings.settings import Settings

# The goals by name: the value that a field proposes, and the ends of the slider.
GOALS: Mapping[str, tuple[float, tuple[float, float, float] | None]] = {
    "threshold": (0.1, (-5, 0, 0.05)),
    "rate": (0.001, None),
    "k": (3, (2, 20, 1)),
    "household_threshold": (0.1, (-5, 0, 0.05)),
    "household_rate": (0.001, None),
}
# Of these, one excludes the other: what a goal takes away.
_EITHER = ("threshold", "rate"), ("household_threshold", "household_rate")
_INSTEAD: Mapping[str, Mapping[str, None]] = {
    name: {other: None} for pair in _EITHER for name, other in (pair, pair[::-1])
}
# The ways by name: the table of the rules, and the words, the default first.
WAYS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "cost": ("suppress", ("fewest", "equal", "entropy")),
    "suppression": ("suppress", ("exact", "argus")),
    "ties": ("suppress", ("rule", "secret")),
    "missing": ("safe", ("wildcard", "argus", "category")),
    "population": ("safe", ("auto", "weights", "latent-class", "log-linear")),
    "level": ("safe", ("record", "household")),
}
OWN = "own"
_LOSSES = 12


# --- what is shown ---


def view(bench: Workbench, query: Form) -> Mapping[str, Any]:
    """Return the goals, the ways, and the suppression as far as it is known."""
    if bench.lacking:
        return {"lacking": bench.lacking}
    settings, plan = bench.settings(), bench.plan()
    return {
        "lacking": "",
        "goals": [_goal(settings, name, query) for name in _goals_of(settings)],
        "plan": plan,
        "found": _found(bench, plan) if plan.state == "done" else None,
        "unit": settings.unit,
        "ways": [_way(bench, name) for name in WAYS],
        "fraction": settings.sampling_fraction,
        "costs": [_cost(settings, str(name), query) for name in settings.variables],
        "strata": _strata(bench),
        "household_keys": _household_keys(bench, settings),
        "subsets": bench.table("safe").get("subsets"),
    }


def _goals_of(settings: Settings) -> list[str]:
    """Return the goals that these rules can have."""
    of_households = settings.household is not None and settings.unit == "record"
    return [x for x in GOALS if of_households or not x.startswith("household")]


def _goal(settings: Settings, name: str, form: Form) -> dict[str, Any]:
    """Return what the page shows of a goal."""
    proposed, ends = GOALS[name]
    value = _value(settings, name)
    first = value[0] if isinstance(value, tuple) else value
    start = proposed if first is None else first
    position = start if name == "k" else math.log10(start)
    return {
        "name": name,
        "on": value is not None,
        "text": _text(value if value is not None else proposed, form),
        "ends": ends,
        "position": None if ends is None else min(max(position, ends[0]), ends[1]),
    }


def _value(settings: Settings, name: str) -> Any:
    """Return the value of a goal, None if it is off; k by set if they differ."""
    if name != "k":
        return getattr(settings, name)
    return settings.k[0] if len(set(settings.k)) == 1 else settings.k


def _text(value: Any, form: Form) -> str:
    """Return a goal as the reader writes it."""
    limits = value if isinstance(value, tuple) else (value,)
    return "; ".join(shown(1 if x is None else x, form.numbers) for x in limits)


def _way(bench: Workbench, name: str) -> dict[str, Any]:
    """Return the choices of a way, and the one that holds."""
    table, words = WAYS[name]
    value = bench.table(table).get(name, _usual(bench, name))
    return {
        "name": name,
        "words": words if value in words else (*words, OWN),
        "value": value if value in words else OWN,
    }


def _usual(bench: Workbench, name: str) -> str:
    """Return the way without a rule; metadata of the file may have costs of keys."""
    declared = name == "cost" and bench.source.variables
    return OWN if declared else WAYS[name][1][0]


def _cost(settings: Settings, name: str, form: Form) -> dict[str, Any]:
    """Return the cost of a key as the page shows it; empty without one of its own."""
    key_costs = {} if isinstance(settings.cost, str) else settings.cost
    cost = key_costs.get(name)
    if isinstance(cost, Mapping):
        return {"key": name, "text": None}
    if cost is None:
        return {"key": name, "text": ""}
    text = said("protect", "never") if cost == math.inf else shown(cost, form.numbers)
    return {"key": name, "text": text}


def _strata(bench: Workbench) -> list[dict[str, Any]]:
    """Return the columns that may be strata."""
    chosen_names = bench.table("safe").get("strata", [])
    fit = (None, "harmless", "sensitive")
    names = [x for x in bench.names if x in chosen_names or bench.role_of(x) in fit]
    return _boxes(bench, names, chosen_names)


def _household_keys(bench: Workbench, settings: Settings) -> list[dict[str, Any]]:
    """Return the keys that can be blanked for whole households, if there are any."""
    if settings.household is None or settings.unit == "household":
        return []
    fit = [str(name) for name in settings.variables if name not in settings.strata]
    return _boxes(bench, fit, settings.household_keys)


def _boxes(
    bench: Workbench, names: Iterable[str], ticked: Collection[Hashable]
) -> list[dict[str, Any]]:
    """Return columns to tick, with their positions."""
    at = bench.names.index
    return [{"position": at(x), "name": x, "on": x in ticked} for x in names]


# --- the suppression ---


def _found(bench: Workbench, plan: Job) -> Mapping[str, Any]:
    """Return what the page shows of a plan that is done."""
    figures = bench.keep("plan figures", plan.key, lambda: figures_of(plan.result))
    return {**figures, "label_of": partial(_label_of, bench)}


def _label_of(bench: Workbench, loss: CategoryLoss) -> str:
    """Return the label of a category; recoded keys have other codes."""
    if str(loss.key) in bench.table("recodings"):
        return ""
    return labels_of(bench, str(loss.key)).get(code_of(loss.category), "")


def figures_of(result: Protected) -> dict[str, Any]:
    """Return the figures of a protected file for the page."""
    blanked, share = result.suppressed, result.blanked_share
    losses = [loss for loss in losses_of(result) if loss.lost > 0]
    losses.sort(key=lambda entry: (-entry.lost, str(entry.key), str(entry.category)))
    return {
        "met": result.goals_met,
        "words": result.on_goals,
        "blanked": [(key, count, share[key]) for key, count in blanked.items()],
        "total": sum(blanked.values()),
        "records": result.n,
        "unsafe": max(
            entry.protected.cells.count_of(entry.unsafe) for entry in result.sets
        ),
        "households": max(
            entry.aim.unsafe_households(entry.protected) for entry in result.sets
        ),
        "without": max(entry.without_keys for entry in result.sets),
        "losses": losses[:_LOSSES],
        "more": max(len(losses) - _LOSSES, 0),
    }


# --- while a slider moves ---


def live(bench: Workbench, form: Form) -> Mapping[str, Any]:
    """Return how many are unsafe at the value of a slider."""
    name = _named(form) if form.has("name") else "k"
    settings = bench.settings()
    if form.has("position"):
        value = _moved(name, form)
        goals = {name: _by_set(settings, name, value), **_INSTEAD.get(name, {})}
    else:
        value, goals = _value(settings, name), {}
    none = {goal_name: _by_set(settings, goal_name, None) for goal_name in GOALS}
    alone = {**none, name: _by_set(settings, name, value)}
    return {
        "name": name,
        "value": "" if value is None else _text(value, form),
        "alone": None if value is None else count_unsafe(bench, alone),
        "all": count_unsafe(bench, goals),
        "n_units": bench.prepared().recoded[0].cells.n,
        "unit": settings.unit,
    }


def count_unsafe(bench: Workbench, goals: Mapping[str, Any]) -> tuple[int, int]:
    """Return how many records and households are unsafe with other goals."""
    prepared = bench.prepared()
    aims = prepared.aims(replace(bench.settings(), **goals))
    pairs = [*zip(aims, prepared.recoded, strict=True)]
    unsafe = np.logical_or.reduce([aim.unsafe(assessment) for aim, assessment in pairs])
    return (
        prepared.recoded[0].cells.count_of(unsafe),
        max(aim.unsafe_households(assessment) for aim, assessment in pairs),
    )


def _named(form: Form) -> str:
    """Return the goal that a form is for."""
    name = form.text("name")
    if name not in GOALS:
        raise RefusedError(f"{name!r} is not a goal")
    return name


def _moved(name: str, form: Form) -> Any:
    """Return the value at the position of a slider."""
    try:
        position = float(form.text("position"))
    except ValueError:
        raise RefusedError("the position of the slider is not a number") from None
    _, ends = GOALS[name]
    if ends is None or not ends[0] <= position <= ends[1]:
        raise RefusedError("the position of the slider is beyond its ends")
    return int(position) if name == "k" else float(f"{10**position:.2g}")


def _by_set(settings: Settings, name: str, value: Any) -> Any:
    """Return a goal as settings hold it."""
    if name != "k" or isinstance(value, tuple):
        return value
    return (value,) * len(settings.keys)


# --- what is done ---


def goal(bench: Workbench, form: Form) -> str:
    """Set a goal to what was typed, or switch it on or off."""
    name = _named(form)
    typed = form.text("value") != form.text("was")
    if not (form.has("on") or typed):
        words = said("protect", "off", goal=said("protect", f"goal_{name}"))
        return bench.change(words, safe={name: None})
    value = _value(bench.settings(), name)
    if typed or value is None:
        value = _read(name, form)
    return _set(bench, name, value, form)


def _read(name: str, form: Form) -> Any:
    """Return a goal as it was typed; with several sets, k of each set."""
    if name != "k":
        return form.fraction("value")
    parts = form.text("value").replace(";", " ").split()
    numbers = [Form({"k": (part,)}, form.numbers).whole("k") for part in parts]
    return tuple(numbers) if len(numbers) > 1 else form.whole("value")


def slide(bench: Workbench, form: Form) -> str:
    """Set a goal to where a slider was left."""
    name = _named(form)
    return _set(bench, name, _moved(name, form), form)


def _set(bench: Workbench, name: str, value: Any, form: Form) -> str:
    """Set a goal, and return it in words."""
    words = said(
        "protect", "set", goal=said("protect", f"goal_{name}"), value=_text(value, form)
    )
    rule = value
    if isinstance(value, tuple):
        rule = [1 if limit is None else limit for limit in value]
    return bench.change(words, safe={name: rule, **_INSTEAD.get(name, {})})


def ways(bench: Workbench, form: Form) -> str:
    """Change how the file is made safe."""
    tables: dict[str, dict[str, Any]] = {"suppress": {}, "safe": {}}
    words = []
    for name, (table, choices) in WAYS.items():
        choice, now = form.text(name), _way(bench, name)["value"]
        # An old page takes nothing back that others chose meanwhile.
        if choice not in choices or choice in (now, form.text(f"was-{name}")):
            continue
        tables[table][name] = None if choice == _usual(bench, name) else choice
        words.append(said("protect", f"{name}_{choice}"))
    if form.text("fraction") != form.text("was-fraction"):
        value = form.fraction("fraction") if form.has("fraction") else None
        tables["safe"]["sampling_fraction"] = value
        words.append(said("protect", "fraction_set", value=form.text("fraction")))
    changes = {name: change for name, change in tables.items() if change}
    return bench.change(". ".join(words), **changes)


def costs(bench: Workbench, form: Form) -> str:
    """Give keys costs of their own, or take them all away."""
    settings = bench.settings()
    own = bench.table("suppress").get("cost", settings.cost)
    old_costs = {} if isinstance(own, str) else own
    new_costs: dict[str, Any] = dict(old_costs)
    for i, name in enumerate(settings.variables):
        text = form.text(f"cost-{i}")
        if f"cost-{i}" not in form.fields or text == form.text(f"was-cost-{i}"):
            continue
        new_costs.pop(str(name), None)
        if text.lower() in (NEVER, said("protect", "never").lower()):
            new_costs[str(name)] = NEVER
        elif text:
            new_costs[str(name)] = form.number(f"cost-{i}", printable(str(name)))
    words = said("protect", "costs_set" if new_costs else "costs_gone")
    if new_costs != old_costs:
        none = WAYS["cost"][1][0] if bench.source.variables else None
        bench.change(words, suppress={"cost": new_costs or none})
    return words


def _ticked(
    bench: Workbench, form: Form, field: str, now: Iterable[Hashable]
) -> list[str]:
    """Return the columns that are ticked, and those that others ticked meanwhile."""
    ticked = {bench.column(position) for position in form.all(field)}
    if "was" in form.fields:
        was = {bench.column(position) for position in form.text("was").split()}
        ticked = ({*map(str, now)} - (was - ticked)) | (ticked - was)
    return [name for name in bench.names if name in ticked]


def strata(bench: Workbench, form: Form) -> str:
    """Choose the strata."""
    names = _ticked(bench, form, "stratum", bench.table("safe").get("strata", ()))
    text = "strata_set" if names else "strata_gone"
    words = said("protect", text, names=", ".join(names))
    roles = dict.fromkeys(names)
    return bench.change(words, safe={"strata": names or None}, roles=roles)


def household_keys(bench: Workbench, form: Form) -> str:
    """Choose the keys that are blanked for all members of a household or for none."""
    names = _ticked(bench, form, "key", bench.settings().household_keys)
    text = "household_keys_set" if names else "household_keys_gone"
    words = said("protect", text, names=", ".join(names))
    # Metadata may name some: an empty list says that there are none.
    own = names or ([] if bench.source.variables else None)
    return bench.change(words, suppress={"household_keys": own})


def subsets(bench: Workbench, form: Form) -> str:
    """Choose whether combinations of some keys are counted."""
    m = form.whole("subsets") if form.has("subsets") else None
    words = said("protect", "subsets_gone" if m is None else "subsets_set", m=m)
    return bench.change(words, safe={"subsets": m})


_ACTIONS = named(goal, slide, ways, costs, strata, household_keys, subsets)
PAGE = Page("protect", view, _ACTIONS, named(live))
