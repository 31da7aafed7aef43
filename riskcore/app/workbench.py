"""The file on the workbench: its rules, and what follows from each version of them.

Pages ask it and change it. What takes long is done by a job; the other figures are
computed when a page asks for them, and kept until the rules they rest on change.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from riskcore.app.comparisons import OF_WRITING, comparison
from riskcore.app.history import History, Version
from riskcore.app.jobs import Job, Jobs, words_of
from riskcore.app.texts import said
from riskcore.assessment.describe import Description, describe
from riskcore.common.progress import Lines
from riskcore.common.settings import ANY, ORDERED
from riskcore.common.words import counted, listed, printable
from riskcore.data.coded import doubtful_codes
from riskcore.data.columns import code_column
from riskcore.protection.release_toml import Release
from riskcore.protection.result import Protected

if TYPE_CHECKING:
    from riskcore.protection.leaks.examination import Examination
    from riskcore.protection.records.units import Prepared
    from riskcore.protection.settings.settings import Settings
    from riskcore.protection.suppression.suppress import Aim

Tables: TypeAlias = Mapping[str, Mapping[str, Any]]
Made = TypeVar("Made")

# Goals decide what is unsafe, but change no risk.
_GOALS = ("threshold", "rate", "household_threshold", "household_rate", "k")
_FILES = "files"  # beside the tables of rules: the files that they name
_KEPT = 3  # results of each kind
_KEPT_OF = {"prepared": 6, "states": 6}  # undo goes back through them
FIRST_K = 3
_HOW_MISSING = "riskcore.Reading(missing_codes=...)"

NO_KEYS = "no column is a key variable yet"

_COLUMN_ROLES = ("weight", "household", "cluster")


class RefusedError(ValueError):
    """What was asked cannot be done; the words are for the page."""


class Rules(NamedTuple):
    """A version of the rules that can be used, and what it says."""

    release: Release
    settings: Settings
    tables: Tables


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """What rules give before suppression."""

    settings: Settings
    prepared: Prepared
    aims: list[Aim]  # by set of keys, as the two figures
    unsafe: list[int]  # unsafe records, or unsafe households if they are counted
    expected: list[float]  # expected re-identifications


class Workbench:
    """A survey file, the history of its rules, and what was computed.

    The first rules count if the history has no versions yet.
    """

    def __init__(self, release: Release, history: History) -> None:
        self.history = history
        self.path = release.path or Path("release.toml")
        if not history.versions:
            history.add(release.to_toml(), "")
        self.jobs = Jobs()
        self.lock = threading.RLock()
        self._kept: dict[str, OrderedDict[Hashable, Any]] = {}
        self._locks: dict[str, threading.RLock] = {}
        # Held for a moment: who changes the rules may wait for what is being made.
        self._names = threading.Lock()
        # The same rules get the same random bits again, others get others.
        self._secrets: dict[str, str] = {}
        self.source = self.release.source()
        # Versions of the history may read another file, or the file in another way.
        self._data = self.table("data")

    def close(self) -> None:
        """End all work and close the session file."""
        self.jobs.close()
        self.history.close()

    # --- the rules ---

    @property
    def release(self) -> Release:
        """The rules that are shown."""
        return self.release_of(self.history.current)

    def release_of(self, version: Version) -> Release:
        """Return the rules of a version."""
        text = version.text
        return self.keep("release", text, lambda: Release.parse(text, self.path))

    @property
    def tables(self) -> Tables:
        """The tables of the rules."""
        return self.release.tables

    def table(self, name: str) -> Mapping[str, Any]:
        """Return a table of the rules, empty if it is not there."""
        return self.tables.get(name, {})

    def change(self, words: str, **tables: Mapping[str, Any]) -> str:
        """Add a version of the rules with changes, and return what it is in words."""
        with self.lock:
            try:
                changed = self.release.with_rules(**tables)
                self._refuse_other_file(changed)
                if changed.key_sets:
                    self._resolved(changed)
            except (KeyError, TypeError, ValueError, OSError) as error:
                raise RefusedError(self._without_place(words_of(error))) from None
            if changed.tables != self.tables:
                self.history.add(changed.to_toml(), words)
        return words

    def _resolved(self, release: Release) -> Settings:
        """Return the settings of rules, which are for this file and can be used."""
        self._refuse_other_file(release)
        for path in release.rule_files:
            if path.exists() and not path.is_file():  # a pipe would be waited for
                raise RefusedError(said("frame", "no_file", path=path))
        return release.settings(self.source)

    def _refuse_other_file(self, release: Release) -> None:
        """Refuse rules that were written for another file than the one shown."""
        if release.tables.get("data", {}) != self._data:
            raise RefusedError(said("frame", "other_file"))

    def _without_place(self, words: str) -> str:
        """Return the words of an error without the place in a file of rules."""
        return words.split(": ", 1)[-1] if words.startswith(f"{self.path}:") else words

    # --- columns and roles ---

    def writes(self, switch: str) -> bool:
        """Return whether a switch of `[output]` is on."""
        return bool(self.table("output").get(switch, False))

    @property
    def names(self) -> list[str]:
        """The names of the columns, in the order of the file."""
        return [str(name) for name in self.source.names]

    def column(self, position: Any) -> str:
        """Return the name of the column at a position, as forms give it."""
        names = self.names
        if str(position).isascii() and str(position).isdecimal():
            at = int(position)
            if at < len(names):
                return names[at]
        raise RefusedError("there is no such column")

    @staticmethod
    def keys_of(release: Release) -> list[str]:
        """Return the key variables of rules, of all sets together."""
        return list(dict.fromkeys(name for keys in release.key_sets for name in keys))

    @property
    def keys(self) -> list[str]:
        """The key variables."""
        return self.keys_of(self.release)

    def role_of(self, name: str) -> str | None:
        """Return the role that a column was given."""
        return self._role_in(self.release, name)

    def _role_in(self, release: Release, name: str) -> str | None:
        """Return the role that rules give a column."""
        tables = release.tables
        columns, strata = tables.get("columns", {}), tables.get("safe", {})
        if name in (*self.keys_of(release), *strata.get("strata", ())):
            return "key"
        for role in (*_COLUMN_ROLES, "person", "wave"):
            if columns.get(role) == name:
                return role
        stated_role: str | None = tables.get("roles", {}).get(name)
        return "sensitive" if stated_role == ORDERED else stated_role

    @property
    def undecided(self) -> list[str]:
        """The columns without a role."""
        return self.undecided_of(self.release)

    def undecided_of(self, release: Release) -> list[str]:
        """Return the columns that stay and to which rules give no role."""
        if ANY in release.tables.get("roles", {}):
            return []
        gone = release.tables.get("output", {}).get("drop", ())
        left = [name for name in self.names if name not in gone]
        return [name for name in left if self._role_in(release, name) is None]

    def set_roles(self, roles: Mapping[str, str | None], words: str) -> str:
        """Give columns roles, or take them away with None."""
        with self.lock:
            columns: dict[str, Any] = {}
            old_columns = self.table("columns")
            sets = self.release.key_sets or [[]]
            for name, role in roles.items():
                sets = [[key for key in entry if key != name] for entry in sets]
                if role == "key":
                    sets[0] = [key for key in self.names if key in {*sets[0], name}]
                for other in _COLUMN_ROLES:
                    if columns.get(other, old_columns.get(other)) == name:
                        columns[other] = None
                if role in _COLUMN_ROLES:
                    columns[role] = name
            others = {
                name: None if role in (*_COLUMN_ROLES, "key") else role
                for name, role in roles.items()
            }
            return self._change_sets(words, sets, columns, others)

    def set_keys(self, at: int, names: Collection[str], words: str) -> str:
        """Give a set of keys, by position, other keys; the next one is a new set."""
        with self.lock:
            sets = [*self.release.key_sets, []]
            new = {*names} - {*self.keys}
            sets[at] = [name for name in self.names if name in names]
            old_columns = self.table("columns")
            columns = {x: None for x in _COLUMN_ROLES if old_columns.get(x) in new}
            return self._change_sets(words, sets, columns, dict.fromkeys(new))

    def _change_sets(
        self,
        words: str,
        sets: Sequence[list[str]],
        columns: Mapping[str, Any],
        roles: Mapping[str, str | None],
    ) -> str:
        """Change the sets of keys with other roles; a set without keys is left out."""
        goals = self._goals_left([bool(key_set) for key_set in sets])
        sets = [key_set for key_set in sets if key_set]
        keys = (sets[0] if len(sets) == 1 else sets) or None
        gone = {*self.keys}.difference(*sets)
        strata = self.table("safe").get("strata", [])
        left = [name for name in strata if name not in roles]
        safe = {**goals, **({"strata": left or None} if left != strata else {})}
        return self.change(
            words,
            columns={**columns, "keys": keys},
            roles=roles,
            safe=safe,
            **self._without_keys(gone),
        )

    def _goals_left(self, stays: Sequence[bool]) -> dict[str, Any]:
        """Return the change of k of each set of keys if some of the sets go."""
        goals = self.table("safe").get("k")
        if not isinstance(goals, list) or any(stays[len(goals) :]):
            return {}
        left = [k for k, stay in zip(goals, stays, strict=False) if stay]
        if left == goals:
            return {}
        return {"k": left if len(left) > 1 else max(left or goals)}

    def _without_keys(self, gone: Collection[str]) -> dict[str, dict[str, Any]]:
        """Return changes that take columns out of the rules that are for keys only."""
        suppress, changes = self.table("suppress"), dict[str, Any]()
        for rule in ("cost", "related", "household_keys"):
            content = suppress.get(rule)
            if isinstance(content, Mapping | list) and {*content} & {*gone}:
                left: Any = [name for name in content if name not in gone]
                if isinstance(content, Mapping):
                    left = {name: content[name] for name in left}
                changes[rule] = left or None
        return {"suppress": changes} if changes else {}

    # --- what follows from the rules ---

    def keep(self, kind: str, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what was made for a key, or make it and keep it a while."""
        with self._names:
            lock = self._locks.setdefault(kind, threading.RLock())
        with lock:  # results of other kinds need not wait
            kept = self._kept.setdefault(kind, OrderedDict())
            if key not in kept:
                kept[key] = make()
            kept.move_to_end(key)
            while len(kept) > _KEPT_OF.get(kind, _KEPT):
                kept.popitem(last=False)
            result: Made = kept[key]
            return result

    def keep_slow(self, kind: str, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what `keep` would, but let others go on while it is made."""
        if key in self._kept.get(kind, ()):
            return self.keep(kind, key, make)
        made = make()
        return self.keep(kind, key, lambda: made)

    def key_of(self, *without: str, of: Tables | None = None) -> str:
        """Return rules as a key, without some tables and names such as "safe.k"."""
        tables = {
            table: {
                name: value
                for name, value in content.items()
                if f"{table}.{name}" not in without
            }
            for table, content in (of or self.stamped(self.release)).items()
            if isinstance(content, Mapping) and table not in without
        }
        # An empty table says nothing.
        rules = {name: content for name, content in tables.items() if content}
        return json.dumps(rules, sort_keys=True)

    def stamped(self, release: Release) -> Tables:
        """Return the tables of rules with what tells whether their files changed."""
        found = [(path, path.stat()) for path in release.rule_files if path.is_file()]
        files = {str(x): [of.st_ino, of.st_size, of.st_mtime_ns] for x, of in found}
        return {**release.tables, _FILES: files}

    def description(self) -> Description | None:
        """Return the columns of the file; None while they are being looked at."""
        job = self.jobs.start("describe", None, self._describe)
        if job.state == "canceled":  # without it no page can go on
            self.jobs.forget("describe")
            job = self.jobs.start("describe", None, self._describe)
        if job.state == "failed":
            raise RefusedError(job.error)
        file_description: Description | None = job.result
        return file_description

    def _describe(self, say: Lines) -> Description:
        say("reading the file")
        _ = self.source.data
        say("looking at the columns")
        return describe(self.source)

    def doubts(self) -> list[str]:
        """Return what is doubtful in the categories of the keys, such as "NA"."""

        def make() -> list[str]:
            remarks = doubtful_codes(map(self.coded_column, self.keys))
            return [x.replace(_HOW_MISSING, said("columns", "how")) for x in remarks]

        return self.keep("doubts", tuple(self.keys), make)

    @property
    def lacking(self) -> str:
        """Why risks cannot be computed yet, in words; empty if they can."""
        return "" if self.keys else NO_KEYS

    def settings(self) -> Settings:
        """Return the settings of the rules; see `rules_of` for what is refused."""
        return self.rules_of(self.release).settings

    def rules_of(self, release: Release) -> Rules:
        """Return rules with their settings and tables, unless they have a fault."""
        if not release.key_sets:
            raise RefusedError(NO_KEYS)
        tables = self.stamped(release)
        try:
            found = self.keep(
                "settings",
                (release.to_toml(), json.dumps(tables[_FILES])),
                lambda: self._resolved(release),
            )
        except (KeyError, TypeError, ValueError, OSError) as error:
            raise RefusedError(self._without_place(words_of(error))) from None
        if found.unit == "person":
            raise RefusedError("a panel cannot be shown here; use riskcore run")
        return Rules(release, found, tables)

    def coded_column(self, name: Hashable) -> Any:
        """Return a column of the file as codes."""
        return code_column(self.source.records, name)

    def prepared(self) -> Prepared:
        """Return the records, or the households, recoded and assessed."""
        return self.tried().prepared

    def tried(self, **changes: Mapping[str, Any]) -> State:
        """Return what a version of the rules with these changes would give."""
        rules = self.rules_of(self.release)
        try:
            if changes:
                release = self.release.with_rules(**changes)
                rules = Rules(release, self._resolved(release), self.stamped(release))
            prepared = self._prepared(rules)
        except (KeyError, TypeError, ValueError, OSError) as error:
            raise RefusedError(self._without_place(words_of(error))) from None
        stages = prepared.recoded

        def make() -> State:
            aims = prepared.aims(rules.settings)
            pairs = zip(stages, aims, strict=True)
            unsafe = [stage.cells.count_of(aim.unsafe(stage)) for stage, aim in pairs]
            expected = [stage.expected_reidentifications for stage in stages]
            return State(rules.settings, prepared, aims, unsafe, expected)

        return self.keep("states", self.planned(rules.tables), make)

    def _prepared(self, rules: Rules) -> Prepared:
        """Return the records before suppression of rules."""
        key = self._key_of_prepared(rules.tables)

        def make() -> Prepared:
            others = self._key_of_prepared(rules.tables, "recodings", "treat")
            originals = self._kept.get("original", OrderedDict())
            made = rules.release.prepare(
                self.source, secret=self._secret(key), original=originals.get(others)
            )
            self.keep("original", others, lambda: made.original)
            return made

        return self.keep("prepared", key, make)

    def _key_of_prepared(self, tables: Tables, *without: str) -> str:
        """Return what the records before suppression rest on: no goals."""
        goals = [f"safe.{name}" for name in _GOALS]
        return self.key_of(*OF_WRITING, "suppress", *goals, *without, of=tables)

    def _secret(self, key: str) -> str:
        """Return the random bits of some rules."""
        with self._names:
            return self._secrets.setdefault(key, new_secret())

    # --- what takes long ---

    def plan(self) -> Job:
        """Return the job of the suppression; its result is from `protected`."""
        return self._plan(self.rules_of(self.release))

    def _plan(self, rules: Rules) -> Job:
        """Return the job of the suppression by some rules."""
        key, number = self.planned(rules.tables), self.history.current.number

        def work(say: Lines) -> Protected:
            return self.keep_slow("plans", key, lambda: self.protect(rules, say))

        def compare(job: Job) -> None:
            comparison(self, job, number)

        before = self.jobs.of("plan")
        if before is None or before.key != key:
            self.jobs.forget("compare")
            self.jobs.make_way("describe", "export", "plan")
        return self.jobs.start("plan", key, work, compare)

    def comparison(self) -> Job:
        """Return the job of the comparison; its result is a `Compared`."""
        return comparison(self, self.plan(), self.history.current.number)

    def planned(self, tables: Tables) -> str:
        """Return what the suppression by some rules rests on."""
        return self.key_of(*OF_WRITING, of=tables)

    def protect(self, rules: Rules, say: Lines) -> Protected:
        """Return the file protected by some rules; this takes long."""
        key = self.planned(rules.tables)
        if key in self._kept.get("plans", ()):
            protected: Protected = self._kept["plans"][key]
            return protected
        say("assessing")
        prepared = self._prepared(rules)
        drawn = self._key_of_prepared(rules.tables) if rules.settings.is_random else key
        return rules.release.protect(
            self.source, secret=self._secret(drawn), prepared=prepared, progress=say
        )

    def protected(self) -> Protected | None:
        """Return the protected file of the rules; None if it is not there yet."""
        rules = self.rules_of(self.release)
        return self._protected(self._plan(rules), rules)

    def _protected(self, plan: Job, rules: Rules) -> Protected | None:
        """Return what a plan has made, with the roles of some rules."""
        if plan.state == "failed":
            raise RefusedError(plan.error)
        result: Protected | None = plan.result
        if result is None:
            return None
        made = result
        key = self.key_of("output", "check", of=rules.tables)
        return self.keep("protected", key, lambda: made.under(rules.settings))

    def _examined(self, rules: Rules) -> str:
        """Return what the leaks of some rules rest on: reasons hide none of them."""
        layout, output = rules.release.layout, rules.tables.get("output", {})
        kinds = [f"output.{name}" for name in output if name not in layout]
        return self.key_of("check", "accept", *kinds, of=rules.tables)

    def leaks(self) -> Job:
        """Return the job that examines the file to write; no reason hides a leak."""
        rules = self.rules_of(self.release)
        plan = self._plan(rules)

        def work(say: Lines) -> Examination:
            if plan.state == "failed":
                raise RefusedError(plan.error)
            if plan.result is None:
                raise RefusedError("the suppression was canceled")
            bare: Protected = plan.result.under(replace(rules.settings, accept={}))
            examination = bare.preview(steps=say, **rules.release.layout)
            say("asking the model beside the weights")
            _ = bare.doubts
            return examination

        return self.jobs.start("leaks", self._examined(rules), work)

    def examination(self) -> Examination | None:
        """Return the leaks, open or accepted; None if they are not known yet."""
        job = self.leaks()
        if job.state == "failed":
            raise RefusedError(job.error)
        leaks: Examination | None = job.result
        return leaks and leaks.under(self.settings())

    # --- the verdict ---

    def verdict(self, version: Version | None = None) -> tuple[str, str]:
        """Return the state of a version, a word for its color, and a sentence."""
        release = self.release_of(version or self.history.current)
        if not release.key_sets:
            return "open", said("verdict", "lacking", why=NO_KEYS)
        if left := self.undecided_of(release):
            some = [repr(printable(name)) for name in left[:3]]
            what = counted(len(left), "column")
            if len(left) > 3:
                some.append(said("verdict", "more", n=len(left) - 3))
            shown = listed(some)
            return "open", said("verdict", "undecided", columns=what, names=shown)
        try:
            return self._verdict_now(self.rules_of(release))
        except RefusedError as error:
            return "open", said("verdict", "lacking", why=words_of(error))

    def _verdict_now(self, rules: Rules) -> tuple[str, str]:
        """Return the verdict on rules that are complete."""
        plan, leaks = self.jobs.of("plan"), self.jobs.of("leaks")
        if plan is None or plan.key != self.planned(rules.tables):
            return "open", said("verdict", "not_planned")
        if plan.active:
            return "open", said("verdict", "planning")
        if plan.result is None:
            return "open", said("verdict", "ended")
        if leaks is None or leaks.key != self._examined(rules):
            leaks = None
        key = (self.key_of("check", of=rules.tables), leaks and leaks.state)
        return self.keep("verdict", key, lambda: self._verdict(plan, leaks, rules))

    def _verdict(self, plan: Job, leaks: Job | None, rules: Rules) -> tuple[str, str]:
        """Return the verdict on a file with its leaks, if they are known."""
        protected = self._protected(plan, rules)
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
        words = " ".join([verdict.headline, *map(printable, doubts)])
        return "safe" if verdict.safe else "unsafe", words


def new_secret() -> str:
    """Return 256 random bits, as rules of a release take them."""
    return secrets.token_hex(32)
