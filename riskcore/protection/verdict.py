"""The verdict on a protected file: safe or not, with which keys, and at what price.

Safe is said of a file whose goals are met and in which no leak is open.
Each set of keys gets a sentence; with many sets, sets with the same verdict share one,
and the sets with the most unsafe records come first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from riskcore.common.words import counted, listed
from riskcore.protection.leaks.examination import Examination
from riskcore.protection.on_engine import unchecked
from riskcore.protection.protected_records import ProtectedRecords
from riskcore.protection.release import record
from riskcore.protection.suppression.key_sets import KeySet
from riskcore.protection.suppression.suppress import costs_of_sets

# A key blanked in more than this share of the records is named with the verdict.
_MUCH = 0.5
# With more sets of keys than this, not every set is named.
MANY = 3
_RULES = {
    "wildcard": "missing keys match any value",
    "argus": "missing keys match any value, as in mu-Argus",
    "category": "missing keys are a category of their own",
}


def goals_of(result: ProtectedRecords) -> str:
    """Return in words whether the goals are met, and at what price."""
    return _of_sets(result, "Goals met", public=False)


def verdict_of(result: ProtectedRecords, examined: Examination | None) -> str:
    """Return in words whether the file is safe, at what price, and what is unknown.

    Without an examination the verdict may be published: it says whether the goals are
    met, and leaves out leaks and figures of the original and the recoded file.
    """
    public = examined is None
    leaks = 0 if examined is None else len(examined.open)
    met = "Goals met" if public or leaks else "Safe"
    said = [_of_sets(result, met, public=public)]
    if result.goals_met and leaks:
        open_ = "1 leak is" if leaks == 1 else f"{leaks} leaks are"
        said.insert(0, f"NOT SAFE: the goals are met, but {open_} open.")
    if altered := _altered(result, public=public):
        said.append(f"Values were altered: {altered}.")
    if public:
        said.append(_claims_nothing(result))
    if not public:
        said += [*by_model(result)]
    if not public and result.on_engine is not None and result.hidden:
        said.append(f"But {unchecked(result.not_checked)}.")
    return " ".join(said)


def by_model(result: ProtectedRecords) -> Iterator[str]:
    """Yield for each set of keys what the model beside the weights calls unsafe."""
    for one in result.sets:
        if left := one.unsafe_by_model:
            of = f", with the keys {' x '.join(map(str, one.keys))}"
            yield (
                f"But by the latent-class model {counted(left, 'more record')} "
                f"{'is' if left == 1 else 'are'} at or above the threshold"
                f"{of if len(result.sets) > 1 else ''}."
            )
        elif why := one.unknown_by_model:
            yield (
                "But the weights tell little here, and the latent-class model has no "
                f"estimate ({why})."
            )


def _altered(result: ProtectedRecords, *, public: bool) -> str:
    """Return which columns have values that the original does not imply, and how."""
    return "; ".join(
        f"{listed(map(str, names))} "
        f"({'; '.join(rule.describe(public=public) for rule in rules)})"
        for names, rules in result.settings.altered.items()
    )


def _claims_nothing(result: ProtectedRecords) -> str:
    """Return which columns an intruder is taken to know, for publication."""
    known = [str(name) for name in result.settings.with_role("numeric")]
    more = (
        f"He may know {listed(known)}, too, to some precision, which these risks do "
        "not count. "
        if known
        else ""
    )
    return (
        f"The intruder is taken to know these keys. {more}Nothing is claimed about "
        "other columns."
    )


def _of_sets(result: ProtectedRecords, met: str, *, public: bool) -> str:
    """Return whether the goals are met with each set of keys, and why not.

    ``met`` is the word for that.
    """
    if len(result.sets) > MANY:
        return _of_many(result, met, public=public)
    return " ".join(
        _sentence(
            met,
            _said(result, one, public=public),
            _known(result, one),
            _price(result, [one], public=public) if one.safe else [],
        )
        for one in result.sets
    )


def _known(result: ProtectedRecords, one: KeySet) -> str:
    """Return what an intruder with one set of keys knows."""
    return f"the keys {' x '.join(map(str, one.keys))}{result.settings.known_in}"


def _said(result: ProtectedRecords, one: KeySet, *, public: bool) -> tuple[int, str]:
    """Return the number of unsafe rows (1 or more if unsafe), and a text."""
    rule = _RULES[result.settings.missing]
    if one.safe:
        goal = listed(_goals(result, one, public=public))
        return 0, f"{goal or 'no threshold was needed'} ({rule})"
    if public:
        rows = f"{result.settings.unit}s"
        return 1, f"{rows} still {_fault(one)} ({rule})"
    count = one.protected.cells.count_of(one.unsafe)
    return max(count, 1), _unsafe(result, one)


def _sentence(
    met: str, said: tuple[int, str], name: str, price: Sequence[str] = ()
) -> str:
    """Return the sentence on some sets of keys; ``met`` is the word if none fails."""
    unsafe, text = said
    but = f"; but {', '.join(price)}" if price else ""
    return f"{'NOT SAFE' if unsafe else met} with {name}: {text}{but}."


def _of_many(result: ProtectedRecords, met: str, *, public: bool) -> str:
    """Return one sentence for sets of keys with the same verdict, the worst first."""
    alike: dict[tuple[int, str], list[KeySet]] = {}
    for one in result.sets:
        alike.setdefault(_said(result, one, public=public), []).append(one)
    ranked = sorted(alike, key=lambda what: -what[0])
    unsafe = [what for what in ranked if what[0]]
    parts = []
    for what in [*unsafe[:MANY], *ranked[len(unsafe) :]]:
        which = alike[what]
        name = ", with ".join(_known(result, one) for one in which)
        if len(which) > MANY:
            other = "" if len(which) == len(result.sets) else "other "
            name = f"each of {len(which)} {other}sets of keys"
            name += result.settings.known_in
        price = [] if what[0] else _price(result, which, public=public)
        parts.append(_sentence(met, what, name, price))
    left = sum(len(alike[what]) for what in unsafe[MANY:])
    if left:
        parts.append(f"NOT SAFE with {counted(left, 'more set')} of keys.")
    return " ".join(parts)


def _unsafe(result: ProtectedRecords, one: KeySet) -> str:
    """Return how many rows are unsafe from one set of keys, and why."""
    unsafe = one.unsafe
    cells = one.protected.cells
    count = cells.count_of(unsafe)
    open_keys = np.zeros(len(cells.rows), bool)
    costs = costs_of_sets([one.recoded], result.settings)[0]
    for i, cost in enumerate(costs.T):
        open_keys |= cells.present(i)[cells.rows] & np.isfinite(cost)
    stuck = cells.count_of(unsafe & ~open_keys)
    why = []
    if stuck:
        why.append(f"{stuck:,} because no key is left to blank")
    if count > stuck:
        why.append(
            f"{count - stuck:,} would stay unsafe even with all keys blanked, so "
            f"{_easier(one)} or recode"
        )
    households = one.aim.unsafe_households(one.protected)
    units = "household" if households == 1 else "households"
    rows = f"{result.settings.unit}s"
    of_households = f" and {households:,} {units}" if households else ""
    rule = _RULES[result.settings.missing]
    return (
        f"{count:,} of {cells.n:,} {rows}{of_households} still "
        f"{_fault(one)} ({rule}): {', '.join(why)}"
    )


def _fault(one: KeySet) -> str:
    """Return what is wrong with unsafe records."""
    short = "" if one.aim.k is None else f"have a frequency f below {one.aim.k}"
    reach = (
        "have a risk at or above their threshold"
        if one.aim.has_threshold or not short
        else ""
    )
    return " or ".join(filter(None, (reach, short)))


def _easier(one: KeySet) -> str:
    """Return how to ask for less."""
    lower = "" if one.aim.k is None else "lower k"
    rise = "raise the threshold" if one.aim.has_threshold or not lower else ""
    return ", ".join(filter(None, (rise, lower)))


def _goals(result: ProtectedRecords, one: KeySet, *, public: bool) -> Iterator[str]:
    """Yield what no record and no household has."""
    settings, aim = result.settings, one.aim
    unit = result.settings.unit
    if aim.k is not None:
        yield f"no {unit} has a frequency f below {aim.k}"
    for each, threshold, rate in (
        (unit, aim.threshold, settings.rate),
        ("household", aim.household_threshold, settings.household_rate),
    ):
        if public and rate is not None:
            # The threshold itself is a figure of the recoded file.
            yield (
                f"no {each} has a risk at or above the threshold for a "
                f"re-identification rate of {100 * rate:.8g} %"
            )
        elif threshold < np.inf:
            yield f"no {each} has a risk of {threshold:.8g} or more"


def _price(
    result: ProtectedRecords, sets: Sequence[KeySet], *, public: bool
) -> list[str]:
    """Return the price of safety from some sets of keys, if it is high."""
    said = []
    for key in dict.fromkeys(key for one in sets for key in one.keys):
        share = result.blanked_share[key]
        if share > _MUCH:
            amount = "more than half" if public else f"{100 * share:.3g} %"
            said.append(f"{key} is blanked in {amount} of the records")
    if lost := max(one.without_keys for one in sets):
        count = record.about(lost) if public else f"{lost:,}"
        unit = result.settings.unit
        units = f"{unit} has" if count == "1" else f"{unit}s have"
        where = "" if len(sets) == 1 else " of one of them"
        most = "up to " if where and not public else ""
        said.append(f"{most}{count} {units} lost all keys{where}")
    return said
