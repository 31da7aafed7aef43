"""Export: the safe file, its records and reports, the rules, and how to run them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riskcore.app.forms import Form
from riskcore.app.pages.page import Page
from riskcore.app.session import RefusedError
from riskcore.app.texts import said
from riskcore.app.user_folder import user_folder
from riskcore.app.workbench import Workbench
from riskcore.common.progress import Lines
from riskcore.common.words import counted
from riskcore.data.files.replace import replacing_all
from riskcore.report.provenance import Provenance, now
from riskcore.report.release_files import (
    ReleaseFiles,
    check_release_files,
    safe_name,
    write_release,
)

_FILES = ("file", "record", "public_record", "report", "report_public")
_SWITCHES = ("shuffle", "guard_formulas", "allow_unsafe")


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export has written."""

    version: int
    files: ReleaseFiles
    rules: Path
    shell: str  # a line of the shell that makes the same files again

    @property
    def paths(self) -> list[tuple[str, Path]]:
        """The files written, each with the name of its text."""
        of = self.files
        named_paths = [
            ("file", of.file),
            ("record", of.private_record),
            ("public_record", of.public_record),
            *(("report", path) for path in of.reports),
            ("report_public", of.public_report),
            ("rules", self.rules),
        ]
        return [(name, path) for name, path in named_paths if path is not None]


def view(bench: Workbench, _: Form) -> Mapping[str, Any]:
    """Return what is to be written, and what was written last."""
    job = bench.jobs.of("export")
    done = None if job is None or job.active else job.result
    output = bench.table("output")
    usual = _usual_names(bench)
    return {
        "given": {name: output.get(name, "") for name in _FILES},
        "usual": usual,
        "switches": {name: bench.writes(name) for name in _SWITCHES},
        "rules": bench.path.name,
        "lacking": _lacking(bench),
        "running": job is not None and job.active,
        "failed": "" if job is None else job.error,
        "done": done,
        "current": done is not None and done.version == bench.history.current.number,
    }


def _usual_names(bench: Workbench) -> dict[str, str]:
    """Return names for the files that have none yet."""
    path = bench.source.path
    assert path is not None
    safe = f"{path.name.split('.')[0]}-{safe_name(bench.source)}"
    stem = safe.split(".")[0]
    return {
        "file": safe,
        "record": f"{safe}.private.json",
        "public_record": f"{stem}.public.json",
        "report": f"{stem}.html",
        "report_public": f"{stem}-public.html",
    }


def _lacking(bench: Workbench) -> str:
    """Return why nothing can be exported yet, in words; empty if it can."""
    if bench.lacking:
        return bench.lacking
    if left := bench.undecided:
        return said("export", "undecided", columns=counted(len(left), "column"))
    return ""


def write(bench: Workbench, form: Form) -> str:
    """Keep what is to be written as rules, and write it."""
    if lacking := _lacking(bench):
        raise RefusedError(lacking)
    with bench.lock:
        changes = _output(bench, form)
        bench.change(said("export", "chosen"), output=changes)
        overwrite, version = form.has("overwrite"), bench.history.current.number
    bench.plan()  # jobs run one after the other
    bench.jobs.forget("export")
    bench.jobs.start(
        "export", version, lambda say: _written(bench, version, overwrite, say)
    )
    return ""


def _output(bench: Workbench, form: Form) -> dict[str, Any]:
    """Return the changes of the table of outputs that a form asks for."""
    changes: dict[str, Any] = {name: form.text(name) or None for name in _FILES}
    if changes["file"] is None:
        raise RefusedError(said("export", "unnamed"))
    for name in _SWITCHES:
        # What others switched meanwhile stays.
        shown = form.text(f"was-{name}", "yes" if bench.writes(name) else "no")
        if form.has(name) != (shown == "yes"):
            changes[name] = form.has(name) or None
    return changes


def _written(bench: Workbench, version: int, overwrite: bool, say: Lines) -> Exported:
    """Write all files of a version of the rules."""
    release, source = bench.release_of(bench.history.versions[version]), bench.source
    rules = bench.rules_of(release)
    settings = rules.settings
    wanted, path = release.output(), bench.path
    _refuse_places(wanted, path)
    said_already = path.exists() and path.read_text("utf-8") == release.to_toml()
    read = [path] if said_already else []
    check_release_files(source, settings, wanted, overwrite=overwrite, read=read)
    if path.exists() and not said_already and not overwrite:
        raise FileExistsError(said("export", "rules_exist", file=path.name))
    source.refuse_changed()
    result = bench.protect(rules, say).under(settings)
    name = "" if source.path is None else source.path.name
    provenance = Provenance(name, now(), release.shell_line())
    files = write_release(
        result, wanted, overwrite=overwrite, provenance=provenance, progress=say
    )
    if not said_already:
        with replacing_all(overwrite, list(source.paths)) as create:
            create(path, private=True).write(release.to_toml().encode())
    bench.history.note_file(release.to_toml())
    return Exported(
        version,
        files,
        path,
        release.shell_line(secret=files.record_with_secret, overwrite=True),
    )


def _refuse_places(wanted: Mapping[str, Any], rules: Path) -> None:
    """Refuse rules in a pipe, and outputs that are the rules or the session."""
    if rules.exists() and not rules.is_file():  # a pipe would be waited for
        raise RefusedError(said("frame", "no_file", path=rules.name))
    private = user_folder()
    for name in _FILES:
        path = wanted.get(name)
        if path is None:
            continue
        place = Path(os.path.realpath(path))
        if place == Path(os.path.realpath(rules)):
            raise RefusedError(said("export", "taken", file=path.name))
        if private is not None and private.resolve() in place.parents:
            raise RefusedError(said("export", "private", file=path.name))


PAGE = Page("export", view, {"write": write})
