"""One file of rules for a release: what is safe, how, and what comes out."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

from riskcore.assessment.assess_settings import CheckSettings
from riskcore.assessment.assessment import Assessment
from riskcore.assessment.goals import KeyGoals, key_sets
from riskcore.common import arguments
from riskcore.common.missing_column import NoSuchNameError
from riskcore.common.needs import need
from riskcore.common.progress import Lines, silent
from riskcore.common.settings import Place, Setting, complete, settings_of
from riskcore.common.shell_line import shell_line
from riskcore.common.toml_text import (
    RulesError,
    holds,
    parsed,
    position,
    read_text,
    toml_of,
)
from riskcore.common.words import counted, joined, words_in
from riskcore.data.files.reading import Reading, with_household
from riskcore.data.files.replace import replacing_all
from riskcore.data.recoding_words import rule_file
from riskcore.data.source import Source, as_in_memory
from riskcore.disclosure.checked import Checked
from riskcore.protection.best.best import Best, best_by
from riskcore.protection.check import Request, checked, released_source
from riskcore.protection.presets import expanded, read
from riskcore.protection.protect import protect, protected_by
from riskcore.protection.records.units import Prepared, unit_of
from riskcore.protection.result import Protected
from riskcore.protection.settings.best_settings import LADDERS, BestSettings
from riskcore.protection.settings.kinds import treatment_file
from riskcore.protection.settings.rules_table import (
    CONFIRMED,
    FORMAT,
    OTHERS,
    TABLES,
    TRY,
    changed,
    entries,
    fault_of,
    rule_of,
)
from riskcore.protection.settings.settings import Settings
from riskcore.protection.settings.settings_table import (
    LAYOUT,
    ProtectSettings,
    SafetySettings,
)
from riskcore.protection.trials import Trials, try_out

# A word of a message that is not in quotes, as the names of columns are.
_WORD = re.compile(r"(?<!['\w])\w+(?!['\w])")
# What says what is safe, and how it is counted.
_GOALS = {"keys", "weight", "household", "roles", "accept"} | {
    name for name in settings_of(SafetySettings) if name != "cluster"
}


@dataclass(frozen=True, slots=True, repr=False)
class Release:
    """The rules of a release, as a file of rules holds them.

    Attributes
    ----------
    tables : dict
        The tables of the file by name, as plain values, with those of its preset.
        `notes/reference/rules.md` lists their names.
    path : pathlib.Path or None
        The file. Paths that the rules name are relative to its folder.
    text : str
        The text of the file with its comments; empty for rules that were not read.
    candidate : str or None
        The candidate in the table ``[try]`` of the file whose changes the rules have.

    Examples
    --------
    >>> import tempfile
    >>> rules = Release.of("survey.csv", ["SEX", "AGE"], k=3, output="safe.csv")
    >>> print(rules.to_toml(), end="")
    format = 1
    <BLANKLINE>
    [data]
    file = "survey.csv"
    <BLANKLINE>
    [columns]
    keys = ["SEX", "AGE"]
    <BLANKLINE>
    [safe]
    k = 3
    <BLANKLINE>
    [output]
    file = "safe.csv"
    >>> rules.file("data").name, rules.arguments(), sorted(rules.output())
    ('survey.csv', {'keys': ['SEX', 'AGE'], 'k': 3}, ['file'])
    >>> source = rules.source({"SEX": list("mmmff"), "AGE": [1, 1, 1, 2, 3]})
    >>> rules.settings(source).k, rules.check(source).passed
    ((3,), False)
    >>> prepared = rules.prepare(source)
    >>> prepared.recoded[0].cells.k_anonymity
    1
    >>> rules.protect(source, prepared=prepared).suppressed
    {'SEX': 2, 'AGE': 2}

    A file of rules is written and read:

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = Release.read(rules.write(f"{folder}/release.toml").path)
    ...
    >>> again.tables == rules.tables
    True
    """

    tables: Mapping[str, Any]
    path: Path | None = None
    text: str = field(default="", compare=False)
    candidate: str | None = None

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Release:
        """Read a file of rules; it is only read, and no file that it names is opened.

        Parameters
        ----------
        path : path

        Returns
        -------
        Release

        Raises
        ------
        OSError
            If it cannot be read.
        ValueError
            If it is not TOML, or if a table, a name or a value is not one of a file of
            rules. The message has the file, the line and the column.
        """
        path = arguments.file_path("path", path)
        return cls.parse(read_text(path), path)

    @classmethod
    def parse(cls, text: str, path: str | os.PathLike[str] | None = None) -> Release:
        r"""Return the rules that a text in TOML says.

        Parameters
        ----------
        text : str
        path : path, optional
            The file that the text stands or will stand in, for messages and paths.

        Returns
        -------
        Release

        Raises
        ------
        ValueError
            As `read`.

        Examples
        --------
        >>> Release.parse("format = 1\n[safe]\nk = 'three'\n", "release.toml")
        Traceback (most recent call last):
        riskcore.common.toml_text.RulesError: release.toml:3:1: safe.k: need a whole number or a list of whole numbers, not 'three'
        """  # noqa: E501
        path = None if path is None else Path(path)
        tables = parsed(text, str(path or "rules"))
        return cls(tables, path, text)._by_preset()

    def _by_preset(self, name: str | None = None) -> Release:
        """Return the rules with those of their preset, or else of ``name``."""
        tables = self.tables if name is None else {"preset": name, **self.tables}
        fault = fault_of(tables)
        if fault is None and tables.get("preset") != (name or tables.get("preset")):
            fault = ("preset",), f"--preset names {name}: leave one out"
        if fault is not None:
            raise self._error(*fault)
        return replace(self, tables=expanded(tables, self._error))

    @property
    def _office(self) -> dict[str, Any]:
        """What its preset is and cannot check, and what `check` alone judges."""
        alone = ["The rules of [check] are judged by riskcore check alone."]
        office = {"said": [], "unjudged": alone * ("check" in self.tables)}
        if (name := self.tables.get("preset")) is None:
            return office
        about = read(name)["about"]
        shown = f"What it cannot check: riskcore rules show {name}."
        said = [f"By the preset {name}: {about['title']}. {shown}"]
        return {**office, **about, "name": name, "said": said}

    @classmethod
    def of(
        cls,
        data: str | os.PathLike[str] | None,
        keys: Iterable[Any],
        weight: Hashable | None = None,
        household: Hashable | None = None,
        *,
        reading: Reading | None = None,
        output: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        check: Mapping[str, Any] | None = None,
        **settings: Unpack[ProtectSettings],
    ) -> Release:
        """Return rules from the arguments of `riskcore.protect`.

        Parameters
        ----------
        data : path, optional
            The survey file.
        keys, weight, household, reading, **settings
            As for `protect`; recodings and treatments in words, a model of the
            population by its name.
        output : path or mapping, optional
            The safe file, or the names of the table ``[output]`` with their values.
        check : mapping, optional
            The names of the table ``[check]`` with their values.

        Returns
        -------
        Release

        Raises
        ------
        TypeError, ValueError
            If an argument does not exist or cannot be written as a rule.

        Examples
        --------
        >>> Release.of("survey.csv", ["AGE"], recodings={"AGE": "top:85"}, k=3)
        <Release: rules for survey.csv, 4 tables and 4 rules>
        """
        reading, household = with_household(reading, household)
        goals = {name: settings.get(name) for name in ("k", "min_population")}
        for name, goal in goals.items():
            if isinstance(goal, Mapping):
                goals[name] = KeyGoals.of(key_sets(keys), goal, None, None, name).k
        rules: dict[tuple[str, ...], Any] = {
            ("data", "file"): data,
            ("columns", "keys"): _listed(keys),
            ("columns", "weight"): weight,
            ("columns", "household"): household,
        }
        if reading is not None:
            rules |= {("data", name): v for name, v in reading.to_dict().items()}
        if output is not None and not isinstance(output, Mapping):
            output = {"file": output}
        rules |= {("output", name): value for name, value in (output or {}).items()}
        rules |= {("check", name): value for name, value in (check or {}).items()}
        places = {place[-1]: place for place in entries() if place[0] != "check"}
        for name, value in settings.items():
            rules[places.get(name, ("", name))] = value
        return cls._of(rules | {("safe", name): goal for name, goal in goals.items()})

    @classmethod
    def _of(cls, rules: Mapping[tuple[str, ...], Any]) -> Release:
        """Return rules from the arguments by place, without defaults."""
        settings = entries()
        unknown = [place for place in rules if place not in settings]
        if unknown:
            raise TypeError(f"{'.'.join(filter(None, unknown[0]))}: not a rule")
        tables: dict[str, Any] = {"format": FORMAT}
        for place, setting in settings.items():
            rule = rule_of(".".join(place), setting, rules.get(place))
            if rule is not None and len(place) == 1:
                tables[place[0]] = rule
            elif rule is not None:
                tables.setdefault(place[0], {})[place[1]] = rule
        return cls.parse(toml_of(tables))

    def to_toml(self) -> str:
        """Return the text of the file, with its comments if it was read.

        Returns
        -------
        str
        """
        changed = self.candidate is not None
        return toml_of(self.tables) if changed else self.text or toml_of(self.tables)

    def write(
        self, path: str | os.PathLike[str], *, overwrite: bool = False
    ) -> Release:
        """Write the file of rules, and return the rules with their new path.

        Parameters
        ----------
        path : path
            Rules that were read and name files are written to their own folder, because
            the names are relative to it.
        overwrite : bool, optional
            Whether an existing file is replaced.

        Returns
        -------
        Release

        Raises
        ------
        OSError, ValueError
            If the file cannot be written, exists, or lies in another folder.
        """
        path = arguments.file_path("path", path)
        moved = path.parent.resolve() != self._folder.resolve()
        named = (at for at, setting in entries().items() if setting.names_files)
        if self.path is not None and moved and any(map(self._has, named)):
            raise ValueError(
                f"{path}: the rules name files relative to {self._folder}; write them "
                "there"
            )
        with replacing_all(overwrite, []) as create:
            create(path).write(self.to_toml().encode())
        return Release(self.tables, path, self.to_toml())

    def with_rules(self, **tables: Mapping[str, Any]) -> Release:
        r"""Return the rules with changes; comments and the order of the text stay.

        A table whose parts stand in several places becomes one, without its comments.

        Parameters
        ----------
        **tables
            By table the names to change, with plain values as in the file. None removes
            a name.

        Returns
        -------
        Release

        Raises
        ------
        ImportError
            Without tomlkit.
        ValueError
            If the changed file has a fault.

        Examples
        --------
        >>> rules = Release.parse("format = 1\n[safe]\nk = 3  # by law\n")
        >>> print(rules.with_rules(safe={"k": 5}).to_toml(), end="")
        format = 1
        [safe]
        k = 5  # by law
        """
        need("changes of a file of rules", "tomlkit")
        import tomlkit
        from tomlkit.container import OutOfOrderTableProxy

        text = tomlkit.parse(self.to_toml())
        for table, changes in tables.items():
            if isinstance(text.get(table), OutOfOrderTableProxy):
                # A table in several places, which cannot be changed, becomes one.
                changes = {**self.tables[table], **changes}
                del text[table]
            if table not in text:
                text[table] = tomlkit.table()
            content: Any = text[table]
            for name, value in changes.items():
                if value is None or isinstance(value, Mapping):
                    content.pop(name, None)
                # On one line, as the header of a table would take in what follows.
                if isinstance(value, Mapping):
                    content[name] = tomlkit.inline_table()
                    content[name].update(value)
                elif value is not None:
                    content[name] = value
        return Release.parse(tomlkit.dumps(text), self.path)

    # --- use ---

    def protect(
        self,
        data: Any = None,
        *,
        secret: str | None = None,
        prepared: Prepared | None = None,
        progress: Lines | None = None,
    ) -> Protected:
        """Protect the file that the rules name, or other data, by these rules.

        Parameters
        ----------
        data : frame, mapping or path, optional
            In place of the file of the rules.
        secret : str, optional
            The secret in the private record of an earlier run, for the same ties and
            treatments. `Protected.write` takes it for the same order and ids.
        prepared : Prepared, optional
            What `prepare` returned for the same rules, goals aside, with this secret;
            then no warning is given.
        progress : callable, optional
            Called with a line of text at each step.

        Returns
        -------
        Protected
            ``result.write(path, ...)`` writes the safe file; `file` and `output` say
            what the rules want of it.

        Raises
        ------
        KeyError, TypeError, ValueError, OSError
            As `riskcore.protect`. A message about a rule has its line and column.
        """
        source = self.source(data)
        settings, say = self.settings(source), progress or silent
        if prepared is not None:
            return protected_by(source, settings, say, secret, prepared)
        return protect(source, settings, secret=secret, progress=say)

    def prepare(
        self,
        data: Any = None,
        *,
        secret: str | None = None,
        original: list[Assessment] | None = None,
        progress: Lines | None = None,
    ) -> Prepared:
        """Recode, treat and assess the file, before anything is blanked.

        Parameters
        ----------
        data, secret, progress
            As for `protect`.
        original : list of Assessment, optional
            The assessments of the same file before recoding, if they are known.

        Returns
        -------
        Prepared
        """
        source, say = self.source(data), progress or silent
        settings = self.settings(source)
        return unit_of(source, settings, say, secret).prepare(original)

    def check(
        self,
        data: Any = None,
        *,
        original: Any = None,
        holdout: Any = None,
        earlier: Any = None,
        progress: Lines | None = None,
        **settings: Unpack[CheckSettings],
    ) -> Checked:
        """Check whether a safe file keeps the rules, as `riskcore.check` does.

        The goals of ``[safe]`` are rules, as those of a private record are: no risk
        may reach a threshold, and a rate is a rule on the safe file. The table
        ``[check]`` has further rules.

        Parameters
        ----------
        data : frame, mapping or path, optional
            By default the file of ``[output]``.
        original, holdout, earlier : frame, mapping or path, optional
            As for `riskcore.check`; read as the survey file is, as far as they can be.
        progress : callable, optional
            Called with a line of text at each step.
        **settings
            More rules, as for `riskcore.check`, that the file does not state.

        Returns
        -------
        Checked

        Raises
        ------
        KeyError, TypeError, ValueError, OSError
            As `riskcore.check`.
        """
        rules = self._arguments("check")
        idle = [name for name in settings if name in rules]
        if idle:
            raise self._error(("check", idle[0]), "stated here; leave it out there")
        data = self.file("output") if data is None else data
        how = self._reading()
        source = released_source(data, how)
        files = {"original": original, "holdout": holdout, "earlier": earlier}
        is_file = isinstance(original, str | os.PathLike)
        others = Source.several(files, how if is_file else as_in_memory(how))
        before = others.get("original")
        output = self.tables.get("output", {})
        with self._placed():
            request = Request.of_settings(
                self._made(source if before is None else before, goals=before is None),
                {**rules, **settings},
                where=self.path,
                left_out=self._left_out(),
                shuffled=output.get("shuffle", False),
                new_ids=output.get("renumber", ()),
            )
            result = checked(source, request, progress or silent, **others)
        return replace(result, notes=(*result.notes, *self._office["said"]))

    def _made(self, source: Source, *, goals: bool) -> Settings:
        """Return the settings of the protection; ``goals`` alone, for its safe file."""
        options = self.arguments()
        if goals:
            treat, there = options.get("treat", {}), set(map(str, source.names))
            options = {name: value for name, value in options.items() if name in _GOALS}
            kept = [names for names in treat if there.issuperset(names.split("+"))]
            options["treat"] = {names: treat[names] for names in kept}
        return Settings.resolve(source, **options)

    def _left_out(self) -> set[str]:
        """Return the columns that the safe file does not have."""
        roles = self.tables.get("roles", {})
        gone = {name for name, role in roles.items() if role == "identifier"}
        return gone | set(self.tables.get("output", {}).get("drop", ()))

    def candidates(self) -> dict[str, Release]:
        r"""Return these rules, and each candidate of the table ``[try]``, by name.

        A candidate is these rules with its own in place of some; ``false`` takes one
        away.

        Returns
        -------
        dict of str to Release
            First these rules, by the name of their file without its suffix.

        Raises
        ------
        ValueError
            If there are no candidates, or one has the name of the file.

        Examples
        --------
        >>> rules = Release.parse(
        ...     "format = 1\nsafe.k = 3\nrecodings.AGE = 'top:85'\n"
        ...     "try.more.safe.k = 5\ntry.raw.recodings.AGE = false\n",
        ...     "release.toml",
        ... )
        >>> for name, one in rules.candidates().items():
        ...     print(name, one.tables["safe"], one.tables.get("recodings"))
        release {'k': 3} {'AGE': 'top:85'}
        more {'k': 5} {'AGE': 'top:85'}
        raw {'k': 3} None
        """
        own = self.path.stem if self.path is not None else "rules"
        named = self.tables.get(TRY, {})
        if not named:
            raise self._error(
                (), f"no candidates; write one as a table such as [{TRY}.coarse.safe]"
            )
        if own in named:
            raise self._error(
                (TRY, own), "the name of the file, which stands for its own rules"
            )
        rules = {name: content for name, content in self.tables.items() if name != TRY}
        tables = {None: rules} | {name: changed(self.tables, name) for name in named}
        return {
            name or own: Release(of, self.path, self.text, name)._by_preset()
            for name, of in tables.items()
        }

    def try_out(self, data: Any = None, *, progress: Lines | None = None) -> Trials:
        r"""Try these rules and their candidates, as `riskcore.try_out` does.

        Ties are decided by rule.

        Parameters
        ----------
        data : frame, mapping or path, optional
            In place of the file of the rules.
        progress : callable, optional
            Called with a line of text at each step.

        Returns
        -------
        Trials

        Raises
        ------
        KeyError, TypeError, ValueError, OSError
            As `candidates` and `riskcore.try_out`.

        Examples
        --------
        >>> rules = Release.parse(
        ...     "format = 1\ncolumns.keys = ['AGE']\nsafe.k = 2\n"
        ...     "safe.sampling_fraction = 0.1\ntry.more.safe.k = 3"
        ... )
        >>> rules.try_out({"AGE": [1, 1, 1, 2, 2]})
        <Trials: rules safe, 0 values suppressed; more safe, 2 values suppressed>
        """
        candidates = self.candidates()
        source = self.source(data)
        asked: dict[str, dict[str, Any]] = {}
        for name, rules in candidates.items():
            self._check_taken_away(name, source)
            rules.settings(source)
            asked[name] = rules.arguments()
            asked[name].pop("ties", None)
        keys = [options.pop("keys") for options in asked.values()]
        layout = self.layout
        return try_out(source, keys[0], asked, layout=layout, progress=progress)

    def best(
        self,
        data: Any = None,
        *,
        progress: Lines | None = None,
        **how: Unpack[BestSettings],
    ) -> Best:
        r"""Find the best release by these rules, as `riskcore.best` does.

        Parameters
        ----------
        data : frame, mapping or path, optional
            In place of the file of the rules.
        progress : callable, optional
            Called with a line of text at each step.
        **how
            In place of what the table ``[best]`` says: ``loss``, ``price``,
            ``importance``, ``time``.

        Returns
        -------
        Best

        Raises
        ------
        KeyError, TypeError, ValueError, OSError
            As `riskcore.best`.

        Examples
        --------
        >>> rules = Release.parse(
        ...     "format = 1\ncolumns.keys = ['AGE']\nsafe.k = 2\n"
        ...     "ladder.AGE = ['from:18', 'map:*=all']"
        ... )
        >>> found = rules.best({"AGE": [15, 16, 31, 32]})
        >>> found.rules
        {'AGE': 'from:18'}
        >>> rules.with_best(found).tables["recodings"]
        {'AGE': 'from:18'}
        """
        started = time.monotonic()
        source = self.source(data)
        if source.engine is not None:
            raise TypeError(f"{source.engine.name} holds the data: collect them first")
        ladders = LADDERS.argument(self.tables.get("ladder", {}), self._folder)
        asked: Any = {**self._arguments("best"), **how}
        options, say = complete(BestSettings, asked), progress or silent
        with self._placed():
            return best_by(
                source, self.settings(source), ladders, options, say, started
            )

    def with_best(self, best: Best) -> Release:
        r"""Return the rules of the release that `best` found.

        Parameters
        ----------
        best : Best

        Returns
        -------
        Release
            With its recodings and costs of blanks, without the ladders.

        Examples
        --------
        >>> rules = Release.parse("format = 1\ncolumns.keys = ['AGE']\nsafe.k = 2\n")
        >>> best = rules.best({"AGE": [15, 15, 31, 31]})
        >>> print(rules.with_best(best).to_toml(), end="")
        format = 1
        <BLANKLINE>
        [columns]
        keys = ["AGE"]
        <BLANKLINE>
        [safe]
        k = 2
        <BLANKLINE>
        [suppress]
        cost = { AGE = 1.0 }
        """
        recodings, cost = dict(self.tables.get("recodings", {})), best.settings.cost
        for key, rule in best.rules.items():
            kind, _, words = rule.partition(":")
            if kind == "hierarchy":
                words = Path(os.path.relpath(words, self._folder)).as_posix()
                rule = f"{kind}:{words}"
            recodings[str(key)] = rule
        costs = entries()["suppress", "cost"].rule(cost)
        suppress = {**self.tables.get("suppress", {}), "cost": costs}
        tables = {x: of for x, of in self.tables.items() if x not in ("ladder", "best")}
        tables |= {"recodings": recodings, "suppress": suppress}
        tables = {name: content for name, content in tables.items() if content != {}}
        return Release.parse(toml_of(tables), self.path)

    def file(self, table: str) -> Path:
        """Return the path of the survey file or of the safe file.

        Parameters
        ----------
        table : {"data", "output"}

        Returns
        -------
        pathlib.Path

        Raises
        ------
        ValueError
            If the rules do not name it.
        """
        name: str | None = self.tables.get(table, {}).get("file")
        if name is None:
            raise self._error((table, "file"), "missing; name the file")
        return self._folder / name

    def output(self) -> dict[str, Any]:
        """Return the settings of the table ``[output]`` as arguments.

        Returns
        -------
        dict
            ``file``, the settings of `Protected.write`, and those of reports.
        """
        return self._arguments("output")

    @property
    def layout(self) -> dict[str, Any]:
        """What ``[output]`` says of columns, ids and order: it decides what leaks."""
        output = self.output()
        return {name: output[name] for name in LAYOUT if name in output}

    @property
    def key_sets(self) -> list[list[str]]:
        """The sets of key variables; none if the rules name none yet."""
        sets = self.tables.get("columns", {}).get("keys")
        return [[*map(str, keys)] for keys in key_sets(sets)] if sets else []

    @property
    def rule_files(self) -> list[Path]:
        """The recode files, hierarchies and files of totals that the rules name."""
        files = [*map(rule_file, self.tables.get("recodings", {}).values())]
        for treatments in self.tables.get("treat", {}).values():
            rules = [treatments] if isinstance(treatments, str) else treatments
            files += map(Path, filter(None, map(treatment_file, rules)))
        for ladder in self.tables.get("ladder", {}).values():
            rules = [f"hierarchy:{ladder}:1"] if isinstance(ladder, str) else ladder
            files += map(rule_file, rules)
        return [self._folder / file for file in files if file is not None]

    def source(self, data: Any = None) -> Source:
        """Return the data to protect: those of the rules, or others read like them.

        Parameters
        ----------
        data : frame, mapping or path, optional
            In place of the file of the rules.

        Returns
        -------
        Source
        """
        if isinstance(data, Source):
            return data
        return Source.like(self.file("data") if data is None else data, self._reading())

    def _reading(self) -> Reading:
        """Return how the survey file is read."""
        options = self._arguments("data")
        options.pop("file", None)
        with self._placed():
            return Reading(**{"missing_codes": {}, **options})

    def settings(self, source: Source) -> Settings:
        """Return the settings of `protect`; errors have the place of their rule.

        Parameters
        ----------
        source : Source
            What `source` returned.

        Returns
        -------
        Settings
        """
        with self._placed():
            settings = Settings.resolve(source, **self.arguments())
            settings.check_names(source)
        return settings

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `riskcore.protect`, without the data.

        Returns
        -------
        dict

        Raises
        ------
        OSError, ValueError
            If the key variables are missing, or a file of the rules cannot be read.
        """
        if self.tables.get(CONFIRMED, True) is False:
            raise self._error(
                (CONFIRMED,),
                "the rules are proposals: check the role of each column and the goals, "
                "then delete this line",
            )
        if "classes" in self.tables and "preset" not in self.tables:
            raise self._error(("classes",), "they are those of a preset: name it")
        options = self._arguments("columns", "safe", "suppress")
        if "keys" not in options:
            raise self._error(("columns", "keys"), "missing; name the key variables")
        for place, setting in entries().items():
            if len(place) == 1 and place[0] in self.tables and setting is not LADDERS:
                options[place[0]] = self._argument(
                    setting, self.tables[place[0]], place
                )
        return options

    def _arguments(self, *tables: str) -> dict[str, Any]:
        """Return the arguments in some tables by name."""
        settings = entries()
        return {
            name: self._argument(settings[(table, name)], value, (table, name))
            for table in tables
            for name, value in self.tables.get(table, {}).items()
        }

    def _check_taken_away(self, candidate: str, source: Source) -> None:
        """Refuse to take a rule away from a column that does not exist."""
        for table, content in self.tables.get(TRY, {}).get(candidate, {}).items():
            names = content if isinstance(TABLES[table], Setting) else ()
            for name in names:
                if content[name] is False and "+" not in name:
                    with self._placed((TRY, candidate, table, name)):
                        source.check([name])

    def _argument(self, setting: Setting, value: Any, place: Place) -> Any:
        """Return the argument that a rule stands for."""
        with self._placed(place):
            return setting.argument(value, self._folder)

    def shell_line(
        self,
        *,
        secret: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
    ) -> str:
        """Return the line of a shell that runs the file of these rules, by its path.

        Parameters
        ----------
        secret : path, optional
            The private record of an earlier run.
        overwrite : bool, optional

        Returns
        -------
        str

        Examples
        --------
        >>> rules = Release.parse("format = 1", "my rules.toml")
        >>> print(rules.shell_line(secret="safe.csv.private.json"))
        riskcore run 'my rules.toml' --secret safe.csv.private.json
        """
        words = ["riskcore", "run", _word(self.path or "release.toml")]
        words += [] if secret is None else ["--secret", _word(secret)]
        return shell_line([*words, *(["--overwrite"] if overwrite else [])])

    @property
    def _folder(self) -> Path:
        """The folder that paths are relative to."""
        return Path() if self.path is None else self.path.parent

    def _has(self, place: Place) -> bool:
        """Return whether the rules have a setting."""
        content = self.tables.get(str(place[0]))
        return content is not None and (len(place) == 1 or place[1] in content)

    # --- errors ---

    @contextmanager
    def _placed(self, place: Place | None = None) -> Iterator[None]:
        """Add the file, and the place of the rule, to errors about rules."""
        try:
            yield
        except RulesError:
            raise
        except NoSuchNameError as error:
            said = error.args[0]
            where = place or self._place_of(said) or self._place_in(said)
            raise self._error(where, said) from None
        except (TypeError, ValueError) as error:
            raise self._error(
                place or self._place_in(str(error)), words_in(error)
            ) from None
        except FileNotFoundError as error:
            if error.filename is not None:  # the file says where it is
                raise
            rules_error = self._error(self._place_in(str(error)), str(error))
            raise FileNotFoundError(str(rules_error)) from rules_error

    def _place_of(self, message: str) -> Place:
        """Return where the rules name the column that does not exist."""
        named = re.search("no column '([^']+)'", message)
        if named is None:
            return ()
        # In a treatment of columns together, or within the groups of columns.
        name = re.compile(rf"(.*:within=|.*\+)?{re.escape(named[1])}([+:].*)?")

        def places(content: Any, place: Place) -> Iterator[Place]:
            """Yield the places of the column in a table or a list."""
            # The names in a table are columns, except those of settings.
            of_columns = len(place) > 1 or isinstance(
                TABLES.get("".join(map(str, place))), Setting
            )
            parts: Any = content.items() if isinstance(content, dict) else ()
            for at, value in enumerate(content) if isinstance(content, list) else parts:
                words = (at, value) if of_columns else (value,)
                if any(isinstance(n, str) and name.fullmatch(n) for n in words):
                    yield (*place, at)
                elif isinstance(value, dict | list):
                    yield from places(value, (*place, at))

        return next(places(self.tables, ()), ())

    def _place_in(self, message: str) -> Place:
        """Return the place of the first setting of the rules that a message names."""
        named = {place[-1]: place for place in entries() if self._has(place)}
        named.pop("file", None)  # a word of many messages
        name = next((word for word in _WORD.findall(message) if word in named), None)
        if name is None:
            return ()
        place: Place = named[name]
        value = self.tables[str(place[0])]
        value = value if len(place) == 1 else value[place[1]]
        inside = value if isinstance(value, dict) else {}
        quoted = {message.find(repr(x)): x for x in inside if repr(x) in message}
        if quoted:
            return (*place, quoted[min(quoted)])
        named_in = [word for word in inside if word in message]
        return (*place, max(named_in, key=len)) if named_in else place

    def _error(self, place: Place, message: str) -> RulesError:
        """Return an error with the file, the line and the column of a place."""
        where = str(self.path or "rules")
        if place and self.text:
            own = (TRY, str(self.candidate), *place)
            place = own if holds(parsed(self.text, where), own) else place
            where += f":{position(self.text, place)}"
        names = ".".join(str(part) for part in place if isinstance(part, str))
        words = joined(": ", filter(None, [names, message]))
        error = RulesError(f"{where}: {words}")
        error.words = words
        return error

    def __repr__(self) -> str:
        left_out = ("format", TRY, *OTHERS)
        tables = [table for name, table in self.tables.items() if name not in left_out]
        rules = sum(map(len, tables))
        data = self.tables.get("data", {}).get("file", "any file")
        count = f"{counted(len(tables), 'table')} and {counted(rules, 'rule')}"
        return f"<Release: rules for {data}, {count}>"


def _word(path: str | os.PathLike[str]) -> str:
    """Return a path as a word that is not taken for an option."""
    text = os.fspath(path)
    return f"./{text}" if text.startswith("-") else text


def _listed(keys: Any) -> Any:
    """Return one set of keys, or several, as lists."""
    sets = [list(map(str, names)) for names in key_sets(keys)]
    return sets[0] if len(sets) == 1 else sets
