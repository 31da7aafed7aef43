"""What the verdict on a protected file says of its goals, and at what price.

Each set of keys gets a sentence; with many sets, sets with the same verdict share one,
and the sets with the most unsafe records come first.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from riskcore.assessment.assess_settings import AUTO
from riskcore.assessment.goals import Goal
from riskcore.assessment.released import ReleasedAssessment
from riskcore.common.words import (
    Number,
    by_count,
    counted,
    joined,
    listed,
    one_of,
    sentence,
)
from riskcore.disclosure.verdict import Verdict
from riskcore.protection.leaks.examination import Examination
from riskcore.protection.records.on_engine import unchecked
from riskcore.protection.records.protected_records import ProtectedRecords
from riskcore.protection.release import record
from riskcore.protection.release.goals import goal_of_k, goals_of_risk
from riskcore.protection.suppression.key_sets import KeySet

# A key blanked in more than this share of the records is named with the verdict.
_MUCH = 0.5
# With more sets of keys than this, not every set is named.
MANY = 3
_BLANKS = "a blank stands for any value"
_FAULTS = {
    "min_population": "have keys of fewer people than {limit}",
    "l": "have keys whose records differ too little in {column}",
    "t": "have keys whose records are too far from the file in {column}",
}
_UNIT = {"record": "record", "household": "household", "person": "person"}
_UNITS = {"record": "records", "household": "households", "person": "persons"}


def verdict_of(
    result: ProtectedRecords, examined: Examination, dropped: Collection[Hashable] = ()
) -> Verdict:
    """Return the verdict on a protected file; its public words skip ``dropped``."""
    not_judged: list[str] = [
        sentence("the risk with the keys {keys} by the model", key_set.crossed)
        for key_set in result.sets
        if key_set.unknown_by_model and result.settings.population_name == AUTO
    ]
    if result.on_engine is not None and result.hidden and not examined.written:
        not_judged.append(unchecked(result.not_checked))
    gone = (*dropped, *result.settings.with_role("identifier"))
    published = replace(result, settings=result.settings.without(gone))
    in_public = [
        on_goals(published, public=True),
        _altered(published, public=True),
        _claims_nothing(published),
        *by_model(published, public=True),
    ]
    internal = [on_goals(result), _altered(result, public=False), *by_model(result)]
    return Verdict(
        tuple(_goals_of(result)),
        examined.leaks,
        examined.not_examined,
        tuple(not_judged),
        joined(" ", filter(None, internal)),
        " ".join(filter(None, in_public)),
    )


def _goals_of(result: ProtectedRecords) -> Iterator[Goal]:
    """Yield the goals of each set of keys, with what was found."""
    for key_set in result.sets:
        aim, figures, keys = key_set.aim, key_set.protected, key_set.keys
        limits = {}
        if aim.threshold < np.inf:
            limits["threshold"] = aim.threshold
        elif result.settings.rate is not None:  # met without a threshold
            limits["max_rate"] = result.settings.rate
        goals = [] if aim.k is None else [goal_of_k(figures.cells, keys, aim.k)]
        goals += goals_of_risk(figures, keys, limits)
        if isinstance(figures, ReleasedAssessment):
            goals += [measured.in_cells(figures.cells) for measured in figures.measured]
        yield from goals
        if aim.of_households:
            met = all(goal.passed for goal in goals)
            limits = {"household_threshold": aim.household_threshold}
            for goal in goals_of_risk(figures, keys, limits):
                # Members may be unsafe in households that are not.
                passed = key_set.safe or (bool(goal.passed) and not met)
                yield replace(goal, passed=passed)


def by_model(result: ProtectedRecords, *, public: bool = False) -> Iterator[str]:
    """Yield for each set of keys what the model beside the weights calls unsafe."""
    if result.settings.person is not None and result.sets[0].aim.has_threshold:
        yield "Persons of a panel are counted by the weights, not by a model."
    for key_set in result.sets:
        of: str = sentence(", with the keys {keys}", key_set.crossed)
        of = of if len(result.sets) > 1 else ""
        if left := key_set.unsafe_by_model:
            yield by_count(
                left + public,
                "But by the latent-class model {n} more record is at or above the "
                "threshold{of}.",
                "But by the latent-class model {n} more records are at or above the "
                "threshold{of}.",
                record.about(left) if public else left,
                of,
            )
        elif why := key_set.unknown_by_model:
            yield sentence(
                "But the weights tell little here, and the latent-class model has no "
                "estimate{why}.",
                of if public else f" ({why})",
            )


def _altered(result: ProtectedRecords, *, public: bool) -> str:
    """Return which columns have values that the original does not imply, and how."""
    said = joined(
        "; ",
        (
            sentence(
                "{columns} ({rules})",
                listed(map(str, names)),
                joined("; ", [rule.describe(public=public) for rule in rules]),
            )
            for names, rules in result.settings.altered.items()
        ),
    )
    return sentence("Values were altered: {values}.", said) if said else ""


def _claims_nothing(result: ProtectedRecords) -> str:
    """Return which columns an intruder is taken to know, for publication."""
    numbers = [str(name) for name in result.settings.with_role("numeric")]
    more = (
        f"He may know {listed(numbers)}, too, to some precision, which these risks do "
        "not count. "
        if numbers
        else ""
    )
    keys = "these keys" if len(result.sets) == 1 else "one of these sets of keys"
    return (
        f"The intruder is taken to know {keys}. {more}Nothing is claimed about other "
        "columns."
    )


def on_goals(result: ProtectedRecords, *, public: bool = False) -> str:
    """Return in words whether the goals are met with each set of keys, and why not."""
    if len(result.sets) > MANY:
        return _of_many(result, public=public)
    return joined(
        " ",
        (
            _sentence(
                _said(result, key_set, public=public)[1],
                _known(result, key_set),
                _price(result, [key_set], public=public) if key_set.safe else [],
            )
            for key_set in result.sets
        ),
    )


def _known(result: ProtectedRecords, key_set: KeySet) -> str:
    """Return what an intruder with one set of keys knows."""
    return sentence("the keys {keys}", f"{key_set.crossed}{result.settings.known_in}")


def _said(
    result: ProtectedRecords, key_set: KeySet, *, public: bool
) -> tuple[int, str]:
    """Return the number of unsafe rows (1 or more if unsafe), and a text."""
    if key_set.safe:
        goal = listed(_goals(result, key_set, public=public))
        goal = goal or sentence("no threshold was needed")
        return 0, sentence("{goals} (a blank stands for any value)", goal)
    if public:
        rows = f"{result.settings.unit}s"
        return 1, f"{rows} still {_fault(key_set)} ({_BLANKS})"
    count = key_set.protected.cells.count_of(key_set.unsafe)
    return max(count, 1), _unsafe(result, key_set)


def _sentence(text: str, name: str, price: Sequence[str] = ()) -> str:
    """Return the sentence on some sets of keys."""
    if not price:
        return sentence("With {keys}, {text}.", name, text)
    return sentence(
        "With {keys}, {text}; but {price}.", name, text, joined(", ", price)
    )


def _of_many(result: ProtectedRecords, *, public: bool) -> str:
    """Return one sentence for sets of keys with the same verdict, the worst first."""
    alike: dict[tuple[int, str], list[KeySet]] = {}
    for key_set in result.sets:
        alike.setdefault(_said(result, key_set, public=public), []).append(key_set)
    ranked = sorted(alike, key=lambda what: -what[0])
    unsafe = [what for what in ranked if what[0]]
    parts = []
    for what in [*unsafe[:MANY], *ranked[len(unsafe) :]]:
        which = alike[what]
        name = listed(_known(result, key_set) for key_set in which)
        if len(which) > MANY:
            other = len(which) < len(result.sets)
            name = sentence(
                "each of {n} other sets of keys{in_waves}"
                if other
                else "each of {n} sets of keys{in_waves}",
                len(which),
                result.settings.known_in,
            )
        price = [] if what[0] else _price(result, which, public=public)
        parts.append(_sentence(what[1], name, price))
    left = sum(len(alike[what]) for what in unsafe[MANY:])
    if left:
        more = counted(left, "more set")
        parts.append(sentence("With {sets} of keys, the goals are not met.", more))
    return joined(" ", parts)


def _unsafe(result: ProtectedRecords, key_set: KeySet) -> str:
    """Return how many rows are unsafe from one set of keys, and why."""
    unsafe = key_set.unsafe
    cells = key_set.protected.cells
    count = cells.count_of(unsafe)
    may_go = np.zeros(len(cells.rows), bool)
    for i, key in enumerate(key_set.keys):
        if result.settings.cost_of(key) < np.inf:
            may_go |= cells.present(i)[cells.rows]
    stuck = cells.count_of(unsafe & ~may_go)
    why = []
    if stuck:
        why.append(sentence("{n} because no key is left to blank", stuck))
    if count > stuck:
        why.append(
            sentence(
                "{n} would stay unsafe even with all keys blanked, so {ways} or recode",
                count - stuck,
                _easier(key_set),
            )
        )
    rows = sentence(_UNITS[result.settings.unit])
    who: list[str] = [sentence("{n} of {of} {units}", count, cells.n, rows)]
    if households := key_set.aim.unsafe_households(key_set.protected):
        who.append(counted(households, "household"))
    return sentence(
        "{records} still {faults} (a blank stands for any value): {why}",
        listed(who),
        _fault(key_set),
        joined(", ", why),
    )


def _fault(key_set: KeySet) -> str:
    """Return what is wrong with unsafe records."""
    faults = []
    if key_set.aim.has_threshold:
        faults.append(sentence("have a risk at or above their threshold"))
    if key_set.aim.k is not None:
        faults.append(sentence("have a frequency f below {k}", key_set.aim.k))
    for goal in key_set.aim.goals:
        of = _limit(goal.asked) if goal.sensitive is None else goal.sensitive
        faults.append(sentence(_FAULTS[goal.rule], of))
    return one_of(faults)


def _limit(value: float) -> Number:
    """Return a limit with eight digits."""
    return Number(f"{value:.8g}")


def _easier(key_set: KeySet) -> str:
    """Return how to ask for less."""
    ways = [sentence("raise the threshold")] if key_set.aim.has_threshold else []
    ways += [] if key_set.aim.k is None else [sentence("lower {rule}", "k")]
    ways += [
        sentence("raise {rule}" if goal.rule == "t" else "lower {rule}", goal.rule)
        for goal in key_set.aim.goals
    ]
    return joined(", ", dict.fromkeys(ways))


def _goals(result: ProtectedRecords, key_set: KeySet, *, public: bool) -> Iterator[str]:
    """Yield what no record and no household has."""
    settings, aim = result.settings, key_set.aim
    unit = sentence(_UNIT[settings.unit])
    if aim.k is not None:
        yield sentence("no {unit} has a frequency f below {k}", unit, aim.k)
    for goal in aim.goals:
        limit, of = _limit(goal.asked), goal.sensitive
        if goal.rule == "min_population":
            yield sentence("no {unit} has keys of fewer than {n} people", unit, limit)
        elif goal.rule == "l":
            yield sentence("{column} is {l}-diverse for all keys", of, limit)
        else:
            yield sentence("{column} is within {t} of the file for all keys", of, limit)
    for subject, threshold, rate in (
        (unit, aim.threshold, settings.rate),
        (sentence("household"), aim.household_threshold, settings.household_rate),
    ):
        if public and rate is not None:
            # The threshold itself is a figure of the recoded file.
            yield (
                f"no {subject} has a risk at or above the threshold for a "
                f"re-identification rate of {100 * rate:.8g} %"
            )
        elif threshold < np.inf:
            limit = _limit(threshold)
            yield sentence("no {unit} has a risk of {risk} or more", subject, limit)


def _price(
    result: ProtectedRecords, sets: Sequence[KeySet], *, public: bool
) -> list[str]:
    """Return the price of safety from some sets of keys, if it is high."""
    said: list[str] = []
    for key in dict.fromkeys(key for key_set in sets for key in key_set.keys):
        share = result.blanked_share[key]
        if share > _MUCH:
            much = sentence("{n} %", Number(f"{100 * share:.3g}"))
            amount = "more than half" if public else much
            said.append(sentence("{key} is blanked in {n} of the records", key, amount))
    if lost := max(key_set.without_keys for key_set in sets):
        unit = result.settings.unit
        rows: str = counted(lost, _UNIT[unit], _UNITS[unit])
        if public:
            rows = f"{record.about(lost)} {_UNITS[unit]}"
        if len(sets) > 1:
            most = rows if public else sentence("up to {n}", rows)
            said.append(sentence("{records} have lost all keys of one of them", most))
        else:
            words = by_count(
                lost + public,
                "{records} has lost all keys",
                "{records} have lost all keys",
                rows,
            )
            said.append(words)
    return said
