"""Write a protected file with its records, and read it back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, Unpack

import numpy as np
from numpy.typing import NDArray

from riskcore.common import arguments
from riskcore.common.progress import Lines, silent
from riskcore.common.settings import complete
from riskcore.data.columns import Records, code_column
from riskcore.data.files import formats
from riskcore.data.files.digest import digest
from riskcore.data.files.replace import refuse_sources, replacing_all
from riskcore.data.source import Source
from riskcore.disclosure.hidden_values import STEP
from riskcore.protection.leaks.examination import Examination, examine
from riskcore.protection.records.in_memory import columns_with_ids
from riskcore.protection.records.protected_records import ProtectedRecords
from riskcore.protection.records.showing import shown_by, shown_in, warn_of_what_shows
from riskcore.protection.release import readback
from riskcore.protection.release import record as records
from riskcore.protection.release.facts import facts_of, verdict_facts
from riskcore.protection.release.layout import EngineLayout, Layout
from riskcore.protection.secret import (
    check_secret,
    new_secret,
    random_ids,
    random_order,
)
from riskcore.protection.settings.settings import Settings
from riskcore.protection.settings.settings_table import WriteSettings

AnyLayout: TypeAlias = Layout | EngineLayout


@dataclass(frozen=True, slots=True)
class Reports:
    """The reports to write, as texts of the verdict; all but ``public`` are private."""

    texts: Mapping[Path, Callable[[Any], str]] = field(default_factory=dict)
    public: Path | None = None
    form: Path | None = None

    @property
    def office(self) -> tuple[Path, ...]:
        """The reports of the office, one for each set of keys."""
        return tuple(x for x in self.texts if x not in (self.public, self.form))


class UnsafeError(ValueError):
    """A file is not written because it is not safe.

    Attributes
    ----------
    figures : dict
        The verdict on the file, its leaks, and the columns that were not examined.
    """

    def __init__(self, message: str, figures: dict[str, Any]) -> None:
        super().__init__(message)
        self.figures = figures

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to make the error again in another process."""
        return type(self), (*self.args, self.figures)


def write(
    result: ProtectedRecords,
    path: str | Path,
    options: WriteSettings,
    progress: Callable[[int, int], None] | None,
    steps: Lines | None,
    reports: Reports,
    record_before: records.Record | None = None,
    seen: Examination | None = None,
) -> dict[str, Any]:
    """Do what `Protected.write` does; ``reports`` make texts of the written file.

    ``seen`` is what `preview` found with these options and their secret.
    """
    _refuse_write(result, path, options)
    result.source.refuse_changed()
    source = result.source
    path = source.check_writable(
        arguments.file_path("path", path), overwrite=options["overwrite"]
    )
    record_path, public_path = _record_files(path, options)
    texts = [record_path, *filter(None, [public_path]), *reports.texts]
    inputs = [*source.paths, *result.settings.rule_files]
    written = formats.files_written(path, source.format)
    refuse_sources([*written, *texts], inputs)
    layout, secret = _layout(result, path, options)
    shuffled = layout.order is not None
    say = steps or silent
    examined = None
    if isinstance(layout, Layout):
        seen = seen or _examined(result, layout, say)
        examined = _judged(result, layout, options, seen)
    with replacing_all(options["overwrite"], inputs) as create:
        say(f"writing {path}")
        parts = layout.write(create, result.settings.recodings, progress)
        if examined is None:  # data on an engine may have changed until now
            seen = _examined(result, layout, say)
            examined = _judged(result, layout, options, seen)
        _read_back(result, layout, parts, say)
        source.refuse_changed()
        verdict = verdict_facts(result, examined, layout.dropped)
        figures = facts_of(result, examined) | verdict
        sha256, *beside = map(digest, parts if source.of_households else parts[:1])
        if record_before is not None:
            _refuse_other_file(path, [sha256, *beside], record_before)
        output = {
            "file": path.name,
            "sha256": sha256,
            "household_sha256": beside[0] if beside else None,
            "dropped": list(layout.dropped),
            "shuffled": shuffled,
            "renumbered": list(layout.renumbered),
            "formulas_guarded": options["guard_formulas"],
            "secret": secret,
        }
        of = {**source.to_dict(), "sha256": records.released_digest(source)}
        record = records.private(figures, result.settings, source=of, output=output)
        content = _json(record)
        create(record_path, private=True).write(content)
        if public_path is not None:
            public_record = _public_record(result, figures, output)
            create(public_path).write(_json(public_record))
        # For the form to sign, without the secret.
        of_record = record_path.name, hashlib.sha256(content).hexdigest()
        told = {**verdict, "output": {**output, "secret": None}, "record": of_record}
        for target, text_of in reports.texts.items():
            private = target != reports.public
            create(target, private=private).write(text_of(told).encode())
    return {**record, "examined": verdict}


def preview(
    result: ProtectedRecords, steps: Lines, **options: Unpack[WriteSettings]
) -> Examination:
    """Return what `write` would find in the file that it would write."""
    layout, _ = _layout(result, _PREVIEW, complete(WriteSettings, options))
    return _examined(result, layout, steps)


def _layout(
    result: ProtectedRecords, path: Path, options: WriteSettings
) -> tuple[AnyLayout, str | None]:
    """Return the columns, ids and order of the file, and the secret behind them."""
    source, settings = result.source, result.settings
    dropped = columns_dropped(source, settings, options["drop"])
    renumbered = columns_renumbered(source, settings, options["renumber"], dropped)
    shuffled = options["shuffle"]
    if not isinstance(shuffled, bool | np.bool_):
        raise TypeError(f"shuffle={arguments.shown(shuffled)}: need True or False")
    if result.on_engine is not None:
        at_random = bool(shuffled) or None
        return EngineLayout(result.on_engine, path, dropped, at_random), result.secret
    secret = _secret_of(result, options["secret"], needed=bool(renumbered or shuffled))
    order = None
    if shuffled:  # members are together if their household is written
        assert secret is not None
        apart = settings.household in dropped
        order = random_order(secret, None if apart else result.household_of, result.n)
    layout = Layout.of(
        source,
        result.rows,
        path,
        drop=dropped,
        ids={name: _ids(result, name, secret) for name in renumbered},
        order=order,
        guard_formulas=options["guard_formulas"],
        recodings=settings.recodings,
        altered=[name for names in settings.altered for name in names],
        new_values=None if result.treated is None else result.treated.new_values(),
    )
    return layout, secret


def _judged(
    result: ProtectedRecords,
    layout: AnyLayout,
    options: WriteSettings,
    seen: Examination,
) -> Examination:
    """Return what was found in a layout; warn of it, and refuse what is unsafe."""
    examined = seen.under(result.settings)
    shown = [leak.shown for leak in examined.leaks if leak.shown is not None]
    warn_of_what_shows(result, shown, layout.renumbered)
    if not options["allow_unsafe"]:
        _refuse_unsafe(result, examined, layout.dropped)
    return examined


def _examined(result: ProtectedRecords, layout: AnyLayout, say: Lines) -> Examination:
    """Return what is found about the columns and the order of a layout."""
    say(STEP)
    drawn = layout.renumbered
    if isinstance(layout, EngineLayout):
        names = [x for x in result.source.names if str(x) not in layout.dropped]
        shown = tuple(shown_in(result, shown_by(result, result.rows), names))
    else:
        columns = result.rows.seen_as(layout.columns, layout.changed)
        shown = shown_by(result, columns, layout.order, drawn=drawn, say=say)
    say("examining each column")
    return examine(
        result,
        shown,
        say=say,
        dropped=layout.dropped,
        renumbered=layout.renumbered,
        shuffled=layout.order is not None,
        written=True,
    )


def _record_files(path: Path, options: WriteSettings) -> tuple[Path, Path | None]:
    """Return the files of the private and of the public record."""
    record, public = options["record"], options["public_record"]
    record = f"{path}.private.json" if record is None else record
    if public is not None:
        public = arguments.file_path("public_record", public)
    return arguments.file_path("record", record), public


_NOT_WRITTEN = "Nothing is written; allow_unsafe=True would do so"
# A preview is of text, because every column can be written as text.
_PREVIEW = Path("preview.csv")


def _refuse_write(result: ProtectedRecords, path: Any, options: WriteSettings) -> None:
    if result.on_engine is not None:
        holder = f"{result.on_engine.engine.name} holds the records"
        for name in ("renumber", "guard_formulas", "secret"):
            if options.get(name):
                raise TypeError(
                    f"{name}: {holder}, which are written without new ids, as they "
                    f"are; leave out {name} (and drop ids), or collect the data"
                )
        if not str(path).lower().endswith(".parquet"):
            raise TypeError(
                f"{path}: {holder}, which are written to one file of Parquet; name it "
                ".parquet, or collect the data"
            )
        if Path(path).exists():
            raise FileExistsError(
                f"{path}: exists, and the engine may be reading it; name another file, "
                "or remove it first"
            )
    if not (result.goals_met or options["allow_unsafe"]):
        _refuse_unsafe(result, Examination())


def _refuse_unsafe(
    result: ProtectedRecords, examined: Examination, dropped: Iterable[str] = ()
) -> None:
    """Refuse a file whose state does not let it leave."""
    figures = verdict_facts(result, examined, tuple(dropped))
    if figures["safe"]:
        return
    said = [figures["verdict"]]
    said += [f"{leak.text}; {leak.advice}." for leak in examined.open]
    raise UnsafeError(" ".join([*said, _NOT_WRITTEN]), figures)


def _refuse_other_file(path: Path, digests: list[str], before: records.Record) -> None:
    """Refuse a second file by the secret of a record: order and ids would join them."""
    if digests == before.digests:
        return
    changed = [
        f"{name} was {before.versions.get(name)} and is {now}"
        for name, now in records.versions().items()
        if before.versions.get(name) != now
    ]
    why = ", ".join(["the data, the rules or the format of the file differ", *changed])
    raise ValueError(
        f"{path}: would not be the file of {before.path} ({why}); nothing is written. "
        "Run the rules that made it, or leave out the secret"
    )


def _public_record(
    result: ProtectedRecords, figures: Mapping[str, Any], output: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the public record, without what is said of columns left out."""
    settings = result.settings.without(output["dropped"])
    suppressed = {
        name: count
        for name, count in figures["suppressed"].items()
        if name in settings.suppressible
    }
    return records.public(
        {**figures, "suppressed": suppressed}, settings, output=output
    )


def columns_dropped(
    source: Source, settings: Settings, drop: Iterable[str]
) -> tuple[str, ...]:
    """Return the columns that `Protected.write` leaves out, with the identifiers."""
    named = arguments.names("drop", drop)
    source.check(named)
    dropped = tuple(dict.fromkeys([*named, *settings.with_role("identifier")]))
    if set(dropped) >= set(source.names):
        raise ValueError("drop: no column would be left; name fewer columns")
    return tuple(map(str, dropped))


def columns_renumbered(
    source: Source,
    settings: Settings,
    renumber: Iterable[str] | None = None,
    drop: Iterable[str] = (),
) -> tuple[str, ...]:
    """Return the columns that `Protected.write` gives new ids."""
    parts: dict[str, set[Any]] = {
        "left out": set(map(str, drop)),
        "the weight": {settings.weight},
        "a key or related to one": set(settings.suppressible),
        "recoded": set(settings.recodings),
    }
    if renumber is None:
        return tuple(map(str, columns_with_ids(source, settings, parts["left out"])))
    choice = arguments.names("renumber", renumber)
    names = tuple(dict.fromkeys(str(name) for name in choice))
    source.check(names)
    for name in names:
        for what, columns in parts.items():
            if name in columns:
                raise ValueError(f"renumber: {name!r} is {what} and cannot get new ids")
    return names


def _secret_of(
    result: ProtectedRecords, secret: str | None, *, needed: bool
) -> str | None:
    """Return the one secret of a record: of ties, the order and the new ids."""
    if result.secret is not None:
        if secret not in (None, result.secret):
            raise ValueError(
                "secret: another secret decided the ties or treatments; take the "
                "settings and the secret from one record"
            )
        return result.secret
    if not needed:
        return None
    return new_secret() if secret is None else check_secret(secret)


def _json(content: Mapping[str, Any]) -> bytes:
    text = json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False)
    return f"{text}\n".encode()


def _ids(result: ProtectedRecords, name: str, secret: str | None) -> NDArray[np.int64]:
    """Return the new ids of a column, 0 where missing."""
    assert secret is not None
    units = result.household_of
    if name == result.settings.household and units is not None:
        codes = units.astype(np.int64)
    else:
        codes = code_column(result.rows, name).signed
    declared = result.source.variables.get(name)
    missing = () if declared is None else declared.missing
    taken = [int(code) for code in missing if code.isdecimal()]
    return random_ids(secret, name, codes, taken)


def _read_back(
    result: ProtectedRecords, layout: AnyLayout, parts: list[Path], say: Lines
) -> None:
    """Refuse a file that differs from the protected one in a value or a blank."""
    say("reading back what was written")
    if isinstance(layout, EngineLayout):
        layout.read_back(parts[0], result.profiles, result.not_checked)
        return
    settings, order = result.settings, layout.order
    # Columns that were not changed are as in the source.
    touched = {*settings.suppressible, *settings.recodings, *settings.treated}
    touched |= {*layout.renumbered}
    original = Records.of(result.source.data).columns
    readback.read_back(
        layout.path,
        parts,
        layout.format,
        readback.Expected(
            {
                name: column if name in touched else original[name]
                for name, column in layout.columns.items()
            },
            order,
            {n: m for n, m in result.masks.items() if n in layout.columns},
            {}
            if layout.labels is None
            else {name: layout.labels.values[name] for name in layout.numbered},
        ),
    )
