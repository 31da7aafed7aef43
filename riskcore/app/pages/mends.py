"""Mends of leaks: changes of the rules, each tried before it is applied."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from riskcore.app.jobs import Job
from riskcore.app.pages.treat_words import in_words, listed_rules, rules_of, value_of
from riskcore.app.session import Tables
from riskcore.app.texts import load_texts, said, told
from riskcore.app.workbench import Workbench, examination_of
from riskcore.common.progress import Lines
from riskcore.common.words import listed, printable
from riskcore.disclosure.leaks import Remedy
from riskcore.protection.settings.rules_table import entries

if TYPE_CHECKING:
    from riskcore.data.profile import ColumnProfile
    from riskcore.disclosure.leaks import Leak
    from riskcore.protection.leaks.examination import Examination
    from riskcore.protection.result import Protected

_PLACES = {place[-1]: place for place in entries() if place[0] != "check"}
# Kinds of leaks that treatments of numbers may close.
_BY_NUMBERS = ("numbers", "unique", "weight", "no effect", "reveals")
# Treatments that are tried of numbers, mild ones first; FINE and COARSE are bases.
_OF_NUMBERS = (
    "round:FINE",
    "microaggregate:20",
    "noise:30%",
    "swap:10%",
    "swap:20%",
    "round:COARSE",
    "swap:50%",
)
_OF_WEIGHTS = ("round-weights:COARSE", "share-weights:20", "share-weights:5")
_CLASSES = 10
_FEW = 20  # numbers with no more values may be codes


class Mend(NamedTuple):
    """A change of the rules that may close a leak."""

    words: str
    remedy: Remedy
    changes: Tables
    drops: bool  # whether it leaves columns out


class Change(NamedTuple):
    """What a treatment does to the numbers of a column."""

    column: str
    share: float  # of its values that change
    correlation: float  # of the numbers before and after; 0 if one is constant


class Trial(NamedTuple):
    """What a mend would give; pairs are figures now and then."""

    closed: bool
    met: bool  # whether the goals are met
    found: tuple[float | None, float | None]  # the share that is found beyond chance
    open: tuple[int, int]  # open leaks
    opened: list[str]  # the leaks that it would open
    blanked: tuple[int, int]
    changed: list[Change]

    @property
    def works(self) -> bool:
        """Whether it closes the leak and opens no other."""
        return self.closed and self.met and not self.opened

    @property
    def loss(self) -> float:
        """What it costs, from 0: the most of numbers, and the blanks."""
        now, then = self.blanked
        lost = max((1.0 - change.correlation for change in self.changed), default=0.0)
        return lost + max(then - now, 0) / max(then, 1)


def mends_of(bench: Workbench, leak: Leak) -> list[Mend]:
    """Return the mends of a leak: those that its remedies name, and treatments."""
    offered = [x for x in leak.remedies if x.settings and "accept" not in x.settings]
    offered += _treatments(bench, leak, _numbers(bench, leak))
    mends: list[Mend] = []
    for remedy in sorted(offered, key=lambda remedy: "drop" in remedy.settings):
        changes = _changes(bench, leak, remedy.settings)
        if all(changes != earlier.changes for earlier in mends):
            drops = "drop" in remedy.settings
            mends.append(Mend(_words(leak, remedy), remedy, changes, drops))
    return mends


def _numbers(bench: Workbench, leak: Leak) -> list[ColumnProfile]:
    """Return the columns of a leak if all are numbers that can be treated."""
    description, stated = bench.description(), bench.table("columns")
    if leak.kind not in _BY_NUMBERS or description is None:
        return []
    joint = (x for key in bench.table("treat") if "+" in key for x in key.split("+"))
    others = (stated.get(name) for name in ("household", "cluster", "person", "wave"))
    fixed = {*bench.keys, *bench.table("recodings"), *others, *joint}
    numeric = {*bench.settings().with_role("numeric"), stated.get("weight")}
    columns = [
        column.profile
        for column in description.columns
        if column.name in {*leak.of} - fixed
        and column.profile.is_number
        and (column.name in numeric or column.profile.distinct > _FEW)
    ]
    return columns if len(columns) == len(leak.of) else []


def _treatments(
    bench: Workbench, leak: Leak, columns: Collection[ColumnProfile]
) -> Iterator[Remedy]:
    """Yield treatments of all columns of a leak."""
    weight = bench.table("columns").get("weight")
    for rule in _OF_WEIGHTS if weight in leak.of else _OF_NUMBERS:
        treat = {str(column.name): _rule(rule, column) for column in columns}
        if columns and (leak.kind != "reveals" or len(columns) == 1):
            yield Remedy("", {"treat": treat})


def _words(leak: Leak, remedy: Remedy) -> str:
    """Return what a remedy does to the columns of a leak, in words."""
    key = "" if leak.shown is None else str(leak.shown.key)
    column = listed(str(name) for name in leak.of if name is not None)
    parts = []
    for name, value in remedy.settings.items():
        role = said("roles", value[column]) if name == "roles" else ""
        if name == "drop":
            column = listed(value)
        elif name == "related":
            key, (*_, column) = next(iter(value.items()))
        if name == "treat":
            for treated, rules in value.items():
                how = ", ".join(map(told, in_words(treated, listed_rules(rules))))
                parts.append(f"{printable(treated)}: {how}")
        elif f"does_{name}" in load_texts()["leaks"]:
            text = said("leaks", f"does_{name}", column=column, key=key, role=role)
            parts.append(text)
        else:
            parts.append(told(remedy.words))
    return ". ".join(parts)


def _rule(rule: str, column: ColumnProfile) -> str:
    """Return a rule with the base of a column."""
    span = float(column.largest) - float(column.smallest)
    coarse = 10.0 ** math.ceil(math.log10(span / _CLASSES)) if span > 0 else 1.0
    bases = {"COARSE": f"{coarse:.12g}", "FINE": f"{coarse / 10:.12g}"}
    kind, _, base = rule.partition(":")
    return f"{kind}:{bases.get(base, base)}"


def _changes(bench: Workbench, leak: Leak, settings: Mapping[str, Any]) -> Tables:
    """Return the changes of the rules that settings stand for."""
    tables: dict[str, dict[str, Any]] = {}
    output = bench.table("output")
    for name, stated in settings.items():
        table, *rest = _PLACES[name]
        value = stated
        if name == "drop":
            value = [*dict.fromkeys([*output.get("drop", ()), *value])]
            if {*output.get("renumber", ())} & {*value}:
                ids = [x for x in output["renumber"] if x not in value]
                tables.setdefault(table, {})["renumber"] = ids
        elif name == "treat":
            # A treatment without an effect is replaced; others stay before the new one.
            stay = leak.kind != "no effect"
            value = {
                column: value_of(
                    [*(rules_of(bench, column) if stay else ()), *listed_rules(rules)]
                )
                for column, rules in value.items()
            }
        tables.setdefault(table, {}).update({rest[0]: value} if rest else value)
    return tables


# --- what a mend would do ---


def trial_of(bench: Workbench, leak: Leak, mend: Mend, at: int) -> Job:
    """Return the job that tries a mend; its result is a `Trial`."""
    now, job = bench.protected(), bench.leaks()
    release = bench.release.with_rules(**mend.changes)

    def work(say: Lines) -> Trial:
        rules = bench.rules_of(release)
        then = bench.protect(rules, say).under(rules.settings)
        examined = examination_of(then, rules, say)
        assert now is not None
        before = job.result.under(now.settings)
        left = examined.under(rules.settings).open
        return Trial(
            closed=not any(_same(leak, other) for other in left),
            met=then.goals_met,
            found=(_found(job.result, leak), _found(examined, leak)),
            open=(len(before.open), len(left)),
            opened=[
                other.text
                for other in left
                if not any(_same(other, earlier) for earlier in before.open)
            ],
            blanked=(sum(now.suppressed.values()), sum(then.suppressed.values())),
            changed=[*_changed(then, mend)],
        )

    key = (job.key, leak.kind, leak.of, mend.remedy.options)
    return bench.jobs.start(f"mend {at}", key, work)


def _same(leak: Leak, other: Leak) -> bool:
    """Return whether two leaks of different files are one."""
    kinds = [(x.kind, x.shown and x.shown.key) for x in (leak, other)]
    return kinds[0] == kinds[1] and not {*leak.of}.isdisjoint(other.of)


def _found(examination: Examination, leak: Leak) -> float | None:
    """Return the share that is found beyond chance; None if it is not known."""
    if leak.kind == "numbers":
        links = [
            link
            for link in examination.number_links
            if {*leak.of} & {getattr(x, "column", x) for x in link.known}
        ]
        # The extremes are few: their share says little of the others.
        links = [link for link in links if link.among == "all"] or links
        most = max(links, key=lambda link: link.beyond_chance, default=None)
        return None if most is None else max(most.beyond_chance, 0.0) / most.people
    if leak.kind == "attributes" and leak.of[0] in examination.shared:
        shared = examination.shared[leak.of[0]]
        return max(shared.beyond_chance, 0.0) / max(len(shared.told), 1)
    if leak.kind == "elimination" and (who := examination.elimination) is not None:
        return who.records_told / max(len(who.fits), 1)
    shown = next(
        (x.shown for x in examination.leaks if x.shown and _same(x, leak)), None
    )
    return None if shown is None else shown.count / shown.of


def _changed(then: Protected, mend: Mend) -> Iterator[Change]:
    """Yield what the treatments of a mend do to their columns."""
    treated = then.treated
    for name in mend.remedy.settings.get("treat", ()):
        if treated is None or name not in treated.after:
            continue
        old, new = treated.before[name], treated.after[name]
        present = ~(np.isnan(old) | np.isnan(new))
        with np.errstate(invalid="ignore", divide="ignore"):
            correlation = np.corrcoef(old[present], new[present])[0, 1]
        share = np.count_nonzero(treated.altered(name)) / max(len(old), 1)
        yield Change(str(name), share, float(np.nan_to_num(correlation)))
