"""The settings of a report, as names and values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from riskcore.assessment.assess_settings import AUTO, WEIGHTS
from riskcore.assessment.assessment import Assessment
from riskcore.assessment.reported_figures import METHOD_NAMES, MISSING_NAMES, label
from riskcore.common.settings import NEVER
from riskcore.common.sheet import Facts
from riskcore.common.words import counted, printable
from riskcore.data.recode import Recoding
from riskcore.protection.release.record import cost_in_public
from riskcore.protection.settings.settings import Settings

Pairs = Iterable[tuple[str, Any]]

HOUSEHOLDS_COUNTED = (
    "counted",
    "one row for each household, which is called a record here",
)
_MANY = 12  # of more sets of keys only the numbers are listed
_PERSONS = (
    "one row for each person of the panel, which is called a record here; the keys are "
    "known"
)
_POPULATIONS = {
    AUTO: "by the number to believe: the latent-class model where records are alone in "
    "their cell, else the weights",
    WEIGHTS: "by the weights, although the latent-class model may know better",
}
SUPPRESSION_NAMES = {
    "exact": "the cheapest keys of each record",
    "argus": "by the rules of mu-Argus",
}


def role_facts(weight: Any, household: Any) -> Facts:
    """Return the columns of weights and households, for the internal report."""
    roles = {"weight": weight, "household": household}
    return [(f"column of the {of}", str(x)) for of, x in roles.items() if x is not None]


def asked_and_made(settings: Settings) -> tuple[Facts, Facts]:
    """Return what is safe and how it is counted, and how the file was made safe."""
    columns = role_facts(settings.weight, settings.household)
    asked = [*threshold_facts(settings), *columns, *level_facts(settings)]
    made = [*recoding_facts(settings.recodings), *suppression_facts(settings)]
    return asked + method_facts(settings), made + related_facts(settings)


def method_facts(of: Assessment | Settings) -> Facts:
    """Return how the risk was computed."""
    counting = of.cells if isinstance(of, Assessment) else of
    facts = [("individual risk", METHOD_NAMES[of.method])]
    name = of.population_name
    if name != WEIGHTS or isinstance(of, Settings):
        facts.append(("population", _POPULATIONS.get(name, name)))
    if isinstance(of, Assessment) and of.weights is not None and of.weights.remarks:
        # What a reference assumes; its other remarks have figures of the records.
        facts.append(("weights", of.weights.remarks[0]))
    if isinstance(of, Assessment) and of.cells.windows is not None:
        facts.append(("tolerance", printable(of.cells.windows.in_words)))
    if isinstance(of, Assessment) and not any(of.cells.missing_values):
        return facts
    if counting.missing != "refuse":
        facts.append(("missing keys", MISSING_NAMES[counting.missing]))
    if isinstance(of, Assessment) and of.cells.missing == "wildcard":
        facts.append(("alpha", f"{of.cells.alpha:g}"))
    return facts


def recoding_facts(recodings: Mapping[Any, Recoding]) -> Facts:
    """Return the name and the rules of each recoding, one rule on each line."""
    return [
        (f"recoding of {printable(str(name))}", _with_arrows(str(recoding)))
        for name, recoding in recodings.items()
    ]


def _with_arrows(rules: str) -> str:
    return "\n".join(line.replace(" -> ", " \u2192 ", 1) for line in rules.split("\n"))


def suppression_facts(settings: Settings, *, public: bool = False) -> Facts:
    """Return the costs of suppression and how suppressed values are chosen."""
    cost = cost_in_public(settings.cost) if public else settings.cost
    return [
        ("costs", cost_text(cost)),
        ("suppression", SUPPRESSION_NAMES[settings.suppression]),
    ]


def cost_text(cost: Any) -> str:
    """Return the cost of suppressing each key or category."""
    if isinstance(cost, str):
        return {
            "fewest": "equal for all keys, ties to common categories",
            "equal": "equal for all keys, ties by their order",
            "entropy": "entropy",
        }[cost]
    amounts: list[tuple[str, Any]] = []
    for key, of_key in cost.items():
        if isinstance(of_key, Mapping):
            codes = of_key.items()
            amounts += [(f"{label(key)}[{label(code)}]", x) for code, x in codes]
        else:
            amounts.append((label(key), of_key))
    return ", ".join(f"{name} {_one_cost(amount)}" for name, amount in amounts)


def _one_cost(cost: float | str) -> str:
    """Return a cost in words; one that is not a number stands for itself."""
    if isinstance(cost, str):
        return cost
    return NEVER if cost == math.inf else f"{cost:.8g}"


def threshold_facts(settings: Settings) -> Facts:
    """Return the goals: k, thresholds and rates."""
    asked = {
        "risk threshold": settings.threshold,
        "re-identification rate asked for": settings.rate,
        "household risk threshold": settings.household_threshold,
        "household rate asked for": settings.household_rate,
        "least l-diversity": settings.l,
        "largest t (t-closeness)": settings.t,
        "sampling fraction": settings.sampling_fraction,
    }
    facts = [
        (name, x if isinstance(x, str) else f"{x:.8g}")
        for name, x in asked.items()
        if x is not None
    ]
    return [*k_facts(settings), *facts]


def level_facts(settings: Settings) -> Facts:
    """Return a note if the records are households, or persons of a panel."""
    if settings.person is not None:
        return [("counted", f"{_PERSONS}{settings.known_in}")]
    return [] if settings.level == "record" else [HOUSEHOLDS_COUNTED]


def k_facts(settings: Settings) -> Facts:
    """Return k and the least people, by set of keys if they differ, and the strata."""
    people = "least people with the keys of a record"
    facts = []
    for title, goals in {
        "k-anonymity": settings.k,
        people: settings.min_population,
    }.items():
        by_goal = Counter(f"{goal:.13g}" for goal in goals if goal is not None)
        if len(set(goals)) == 1:
            facts += [(title, goal) for goal in by_goal]
        elif len(goals) > _MANY:
            sets = {goal: counted(n, "set") for goal, n in by_goal.items()}
            facts += [(title, f"{goal} for {n} of keys") for goal, n in sets.items()]
        else:
            facts += [
                (f"{title} by {_named(keys)}", f"{goal:.13g}")
                for keys, goal in zip(settings.keys, goals, strict=True)
                if goal is not None
            ]
    if settings.strata:
        facts.append(("strata, never blanked", _named(settings.strata)))
    return facts


def related_facts(settings: Settings) -> Facts:
    """Return the columns that are blanked together."""
    facts = []
    if settings.household_keys:
        facts.append(("equal within households", _named(settings.household_keys)))
    for key, others in settings.related.items():
        facts.append((f"blanked with {printable(str(key))}", _named(others)))
    return facts


def _named(columns: Iterable[Hashable]) -> str:
    return ", ".join(printable(str(name)) for name in columns)
