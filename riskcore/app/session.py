"""A session with a survey file: its rules, their history, and the roles of its columns.

Every change makes a version of the rules, and none is lost.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from riskcore.app.forms import place_in
from riskcore.app.history import History, Version
from riskcore.app.jobs import Jobs, words_of
from riskcore.app.jobs import RefusedError as RefusedError
from riskcore.app.kept import Kept
from riskcore.app.texts import said
from riskcore.common.settings import ANY, ORDERED
from riskcore.common.words import sentence
from riskcore.protection.release_toml import Release

if TYPE_CHECKING:
    from riskcore.protection.settings.settings import Settings

Tables: TypeAlias = Mapping[str, Mapping[str, Any]]

# Tables of the rules that change nothing before the file is written.
OF_WRITING = ("roles", "accept", "output", "check", "ladder", "best")
FILES = "files"  # beside the tables of rules: the files that they name

NO_KEYS = sentence("no column is a key variable yet")
# Roles that only one column has.
COLUMN_ROLES = ("weight", "household", "cluster")


class NotYetError(Exception):
    """What was asked is being computed by a job, or was canceled."""

    def __init__(self, *, canceled: bool = False) -> None:
        super().__init__(said("frame", "canceled" if canceled else "preparing"))
        self.canceled = canceled


class Session(Kept):
    """A survey file, the history of its rules, and what is kept of them.

    The first rules count if the history has no versions yet.
    """

    def __init__(self, release: Release, history: History) -> None:
        super().__init__()
        self.history = history
        self.jobs = Jobs()
        self.path = release.path or Path("release.toml")
        if not history.versions:
            history.add(release.to_toml(), "")
        self.lock = threading.RLock()
        self.source = self.release.source()
        # Versions of the history may read another file, or the file in another way.
        self._data = self.table("data")

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
                    self.resolved(changed)
            except (KeyError, TypeError, ValueError, OSError) as error:
                raise RefusedError(words_of(error)) from None
            if changed.tables != self.tables:
                self.history.add(changed.to_toml(), words)
        return words

    def resolved(self, release: Release) -> Settings:
        """Return the settings of rules, which are for this file and can be used."""
        self._refuse_other_file(release)
        for path in release.rule_files:
            if path.exists() and not path.is_file():  # a pipe would be waited for
                raise RefusedError(said("frame", "no_file", path=path))
        return release.settings(self.source)

    def is_of(self, release: Release) -> bool:
        """Return whether rules read the file as it was read here."""
        return bool(release.tables.get("data", {}) == self._data)

    def _refuse_other_file(self, release: Release) -> None:
        """Refuse rules that were written for another file than the one shown."""
        if not self.is_of(release):
            raise RefusedError(said("frame", "other_file"))

    # --- what results rest on ---

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
        return {**release.tables, FILES: files}

    def planned(self, tables: Tables) -> str:
        """Return what the suppression by some rules rests on."""
        return self.key_of(*OF_WRITING, of=tables)

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
        at = place_in(str(position), len(self.names))
        if at is None:
            raise RefusedError(sentence("there is no such column"))
        return self.names[at]

    @staticmethod
    def keys_of(release: Release) -> list[str]:
        """Return the key variables of rules, of all sets together."""
        return list(dict.fromkeys(name for keys in release.key_sets for name in keys))

    @property
    def keys(self) -> list[str]:
        """The key variables."""
        return self.keys_of(self.release)

    def role_of(self, name: str, release: Release | None = None) -> str | None:
        """Return the role that a column was given, by other rules if they are named."""
        release = release or self.release
        tables = release.tables
        columns, strata = tables.get("columns", {}), tables.get("safe", {})
        if name in (*self.keys_of(release), *strata.get("strata", ())):
            return "key"
        for role in (*COLUMN_ROLES, "person", "wave"):
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
        return [name for name in left if self.role_of(name, release) is None]

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
                for other in COLUMN_ROLES:
                    if columns.get(other, old_columns.get(other)) == name:
                        columns[other] = None
                if role in COLUMN_ROLES:
                    columns[role] = name
            others = {
                name: None if role in (*COLUMN_ROLES, "key") else role
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
            columns = {x: None for x in COLUMN_ROLES if old_columns.get(x) in new}
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
        ladders = {name: None for name in self.table("ladder") if name in gone}
        changes: dict[str, dict[str, Any]] = {"ladder": ladders} if ladders else {}
        for rule in ("cost", "related", "household_keys", "importance"):
            table = "best" if rule == "importance" else "suppress"
            content = self.table(table).get(rule)
            if isinstance(content, Mapping | list) and {*content} & {*gone}:
                left: Any = [name for name in content if name not in gone]
                if isinstance(content, Mapping):
                    left = {name: content[name] for name in left}
                changes.setdefault(table, {})[rule] = left or None
        return changes
