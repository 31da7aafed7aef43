"""The file on the workbench: its rules, and what follows from each version of them.

Pages ask it and change it. What takes long is done by a job; the other figures are
computed when a page asks for them, and kept until the rules they rest on change.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from riskcore.app.comparisons import comparison
from riskcore.app.history import History
from riskcore.app.jobs import SEARCH, SOON, Job, words_of
from riskcore.app.session import (
    FILES,
    NO_KEYS,
    OF_WRITING,
    NotYetError,
    RefusedError,
    Session,
    Tables,
)
from riskcore.assessment.describe import Description, describe
from riskcore.common.progress import Lines
from riskcore.common.words import sentence
from riskcore.data.coded import doubtful_codes
from riskcore.data.columns import code_column
from riskcore.protection.release_toml import Release
from riskcore.protection.result import Protected

if TYPE_CHECKING:
    from riskcore.protection.leaks.examination import Examination
    from riskcore.protection.records.units import Prepared
    from riskcore.protection.settings.settings import Settings
    from riskcore.protection.suppression.suppress import Aim

# Goals decide what is unsafe, but change no risk.
_GOALS = ("threshold", "rate", "household_threshold", "household_rate", "k")
FIRST_K = 3
_MOMENT = 0.15  # seconds for which a page waits for what is being prepared


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
    any_unsafe: int  # by at least one set
    expected: list[float]  # expected re-identifications


class Workbench(Session):
    """A survey file with its rules, and what was computed by them."""

    def __init__(self, release: Release, history: History) -> None:
        super().__init__(release, history)
        # The same rules get the same random bits again, others get others.
        self._secrets: dict[str, str] = {}

    def close(self) -> None:
        """End all work and close the session file."""
        self.jobs.close()
        self.history.close()

    def description(self) -> Description | None:
        """Return the columns of the file; None while they are being looked at."""
        self.is_read()
        description: Description | None = self._looked_at("describe", self._describe)
        return description

    def is_read(self) -> bool:
        """Return whether the file has been read, which begins otherwise."""
        return bool(self._looked_at("read", self._read))

    def _looked_at(self, kind: str, work: Callable[[Lines], Any]) -> Any:
        """Return the result of a job without which no page can go on."""
        job = self.jobs.start(kind, None, work)
        if job.state == "canceled":
            self.jobs.forget(kind)
            job = self.jobs.start(kind, None, work)
        return job.outcome()

    def _read(self, say: Lines) -> bool:
        say("reading the file")
        return self.source.data is not None

    def _describe(self, say: Lines) -> Description:
        description = describe(self.source, progress=say)
        self.records = description.records
        return description

    def doubts(self) -> list[str]:
        """Return what is doubtful in the categories of the keys, such as "NA"."""
        columns = map(self.coded_column, self.keys)
        return self.keep("doubts", tuple(self.keys), lambda: doubtful_codes(columns))

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
                (release.to_toml(), json.dumps(tables[FILES])),
                lambda: self.resolved(release),
            )
        except (KeyError, TypeError, ValueError, OSError) as error:
            raise RefusedError(words_of(error)) from None
        if found.unit == "person":
            why = sentence("a panel cannot be shown here; use riskcore run")
            raise RefusedError(why)
        return Rules(release, found, tables)

    def coded_column(self, name: Hashable) -> Any:
        """Return a column of the file as codes."""
        return code_column(self.source.records, name)

    def prepared(self) -> Prepared:
        """Return the records, or the households, recoded and assessed."""
        return self.tried().prepared

    def tried(self, **changes: Mapping[str, Any]) -> State:
        """Return what a version of the rules with these changes would give.

        What takes longer than a moment is done by a job.
        """
        rules = self.rules_of(self.release)
        try:
            if changes:
                release = self.release.with_rules(**changes)
                rules = Rules(release, self.resolved(release), self.stamped(release))
        except (KeyError, TypeError, ValueError, OSError) as error:
            raise RefusedError(words_of(error)) from None
        key = self.planned(rules.tables)
        state: State | None = self.kept("states", key)
        if state is not None:
            return state
        kinds = ("try", "prepare") if changes else ("prepare", "try")
        begun = self.jobs.of(kinds[0], key) or self.jobs.of(kinds[1], key)
        job = begun or self.jobs.start(kinds[0], key, partial(self._state, rules))
        job.ended.wait(_MOMENT)
        state = job.outcome()
        if state is None:
            raise NotYetError(canceled=job.state == "canceled")
        return state

    def _state(self, rules: Rules, say: Lines) -> State:
        """Return what rules give before suppression."""
        prepared = self._prepared(rules, say)
        stages = prepared.recoded

        def make() -> State:
            aims = prepared.aims(rules.settings)
            masks = [x.unsafe(stage) for x, stage in zip(aims, stages, strict=True)]
            pairs = zip(stages, masks, strict=True)
            unsafe = [stage.cells.count_of(mask) for stage, mask in pairs]
            by_any = stages[0].cells.count_of(np.logical_or.reduce(masks))
            expected = [stage.expected_reidentifications for stage in stages]
            return State(rules.settings, prepared, aims, unsafe, by_any, expected)

        return self.keep("states", self.planned(rules.tables), make)

    def _prepared(self, rules: Rules, say: Lines) -> Prepared:
        """Return the records before suppression of rules."""
        key = self._key_of_prepared(rules.tables)

        def make() -> Prepared:
            others = self._key_of_prepared(rules.tables, "recodings", "treat")
            made = rules.release.prepare(
                self.source,
                secret=self._secret(key),
                original=self.kept("original", others),
                progress=say,
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

        if self.jobs.of("plan", key) is None:
            self.jobs.forget("compare")
            self.jobs.make_way("read", "describe", *SOON, SEARCH, "export", "plan")
        return self.jobs.start("plan", key, work, compare)

    def comparison(self) -> Job:
        """Return the job of the comparison; its result is a `Compared`."""
        return comparison(self, self.plan(), self.history.current.number)

    def protect(self, rules: Rules, say: Lines) -> Protected:
        """Return the file protected by some rules; this takes long."""
        key = self.planned(rules.tables)
        planned: Protected | None = self.kept("plans", key)
        if planned is not None:
            return planned
        say("assessing")
        prepared = self._prepared(rules, say)
        drawn = self._key_of_prepared(rules.tables) if rules.settings.is_random else key
        return rules.release.protect(
            self.source, secret=self._secret(drawn), prepared=prepared, progress=say
        )

    def protected(self) -> Protected | None:
        """Return the protected file of the rules; None if it is not there yet."""
        rules = self.rules_of(self.release)
        return self.result_of(self._plan(rules), rules)

    def result_of(self, plan: Job, rules: Rules) -> Protected | None:
        """Return what a plan has made, with the roles of some rules."""
        result: Protected | None = plan.outcome()
        if result is None:
            return None
        key = self.key_of("output", "check", of=rules.tables)
        return self.keep("protected", key, partial(result.under, rules.settings))

    def examined(self, rules: Rules) -> str:
        """Return what the leaks of some rules rest on: reasons hide none of them."""
        layout, output = rules.release.layout, rules.tables.get("output", {})
        kinds = [f"output.{name}" for name in output if name not in layout]
        return self.key_of("check", "accept", *kinds, of=rules.tables)

    def leaks(self) -> Job:
        """Return the job that examines the file to write; no reason hides a leak."""
        rules = self.rules_of(self.release)
        plan = self._plan(rules)

        def work(say: Lines) -> Examination:
            if plan.outcome() is None:
                raise RefusedError(sentence("the suppression was canceled"))
            examination = examination_of(
                plan.result, rules, say, self.secret_of_layout(plan.result, rules)
            )
            say("asking the model beside the weights")
            _ = plan.result.doubts
            return examination

        return self.jobs.start("leaks", self.examined(rules), work)

    def seen(self, rules: Rules) -> Examination | None:
        """Return what was found in the file as some rules write it, if it is known."""
        job = self.jobs.of("leaks", self.examined(rules))
        return None if job is None else job.result

    def secret_of_layout(self, result: Protected, rules: Rules) -> str | None:
        """Return the secret of order and ids; the result may have its own."""
        return None if result.secret else self._secret(self.examined(rules))

    def examination(self) -> Examination | None:
        """Return the leaks, open or accepted; None if they are not known yet."""
        leaks: Examination | None = self.leaks().outcome()
        return leaks and leaks.under(self.settings())


def examination_of(
    protected: Protected, rules: Rules, say: Lines, secret: str | None = None
) -> Examination:
    """Return what is found in a protected file as rules write it; no reason counts."""
    bare = protected.under(replace(rules.settings, accept={}))
    return bare.preview(steps=say, secret=secret, **rules.release.layout)


def new_secret() -> str:
    """Return 256 random bits, as rules of a release take them."""
    return secrets.token_hex(32)
