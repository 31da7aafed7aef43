"""Export: the safe file, its records and reports, the rules, and how to run them."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote

from riskcore.app.forms import Form
from riskcore.app.guard import SANDBOX
from riskcore.app.pages.page import Page, named
from riskcore.app.session import RefusedError
from riskcore.app.texts import said
from riskcore.app.user_folder import user_folder
from riskcore.app.workbench import Workbench
from riskcore.common.progress import Lines
from riskcore.common.words import counted
from riskcore.data.files import formats
from riskcore.data.files.replace import replacing_all
from riskcore.report.page import report_paths
from riskcore.report.provenance import Provenance, now
from riskcore.report.release_files import (
    ReleaseFiles,
    check_release_files,
    private_record_of,
    safe_name,
    write_release,
)

if TYPE_CHECKING:
    from starlette.responses import Response

    from riskcore.data.source import Source

_FILES = ("file", "record", "public_record", "report", "report_public", "form")
# The endings of names; that of the safe file says its format.
_ENDINGS = {
    "record": ".json",
    "public_record": ".json",
    "report": ".html",
    "report_public": ".html",
    "form": ".html",
    "rules": ".toml",
}
_PUBLIC = ("file", "public_record", "report_public")
_RULES = (
    "export rules"  # the name of the file of rules, among what pages were asked for
)
_PART = 1 << 20  # bytes that are sent together
_SWITCHES = ("shuffle", "guard_formulas", "allow_unsafe")


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file that the app has written."""

    kind: str  # the name of its text
    path: Path
    size: int
    seal: tuple[int, ...]  # what tells whether it is still the same

    @property
    def folder(self) -> str:
        """The folder in full."""
        return str(self.path.parent.resolve())

    @property
    def is_public(self) -> bool:
        """Whether it is made to be published."""
        return self.kind in _PUBLIC

    @property
    def is_page(self) -> bool:
        """Whether a browser can show it."""
        return self.kind in ("report", "report_public", "form")

    def chunks(self) -> Iterator[bytes]:
        """Return the parts of its content; refuse a file that is another one now."""
        try:
            # A link in its place would lead elsewhere; a pipe would be waited for.
            how = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
            opened = os.open(self.path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | how)
        except OSError:
            raise RefusedError(said("export", "gone", file=self.path.name)) from None
        file = os.fdopen(opened, "rb")
        if _seal(os.fstat(opened)) != self.seal:
            file.close()
            raise RefusedError(said("export", "gone", file=self.path.name))
        return _parts_of(file)


def _seal(status: os.stat_result) -> tuple[int, ...]:
    """Return what changes if a file is changed or replaced."""
    times = (status.st_mtime_ns, status.st_ctime_ns)
    return status.st_dev, status.st_ino, status.st_mode, status.st_size, *times


def _parts_of(file: IO[bytes]) -> Iterator[bytes]:
    """Yield a file in parts, and close it."""
    with file:
        while part := file.read(_PART):
            yield part


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export has written."""

    version: int
    files: ReleaseFiles
    shell: str  # a line of the shell that makes the same files again
    written: tuple[WrittenFile, ...]
    # Addresses of an earlier export lead to no file of this one, which may be private.
    mark: str = field(default_factory=lambda: secrets.token_hex(4))


def _all_written(
    source: Source, files: ReleaseFiles, rules: Path
) -> Iterator[WrittenFile]:
    """Yield the files that were written."""
    safe = (
        () if files.file is None else formats.files_written(files.file, source.format)
    )
    paths = [
        *(("file", path) for path in safe),
        ("public_record", files.public_record),
        ("report_public", files.public_report),
        ("record", files.private_record),
        *(("report", path) for path in files.reports),
        ("form", files.form),
        ("rules", rules),
    ]
    for kind, path in paths:
        if path is not None:
            status = path.stat()
            yield WrittenFile(kind, path, status.st_size, _seal(status))


def view(bench: Workbench, _: Form) -> Mapping[str, Any]:
    """Return what is to be written, and what was written last."""
    job = bench.jobs.of("export")
    done = None if job is None or job.active else job.result
    output = bench.table("output")
    names = output if output.get("file") else _usual_names(bench)
    return {
        "names": {name: names.get(name, "") for name in _FILES},
        "switches": {name: bench.writes(name) for name in _SWITCHES},
        "rules": _rules_path(bench).name,
        "folder": str(bench.path.parent.resolve()),
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
        "public_record": f"{stem}.public.json",
        "report": f"{stem}.html",
        "report_public": f"{stem}-public.html",
        "form": f"{stem}-form.html",
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
    changes = _output(bench, form)
    rules = form.text("rules") or _rules_path(bench).name
    _refuse_names({**changes, "rules": rules})
    bench.history.choose(_RULES, rules)
    bench.change(said("export", "chosen"), output=changes)
    overwrite, version = form.has("overwrite"), bench.history.current.number
    bench.plan()  # jobs run one after the other
    bench.jobs.forget("export")
    bench.jobs.start(
        "export", version, lambda say: _written(bench, version, overwrite, say)
    )
    return ""


def _rules_path(bench: Workbench) -> Path:
    """Return where the rules are written: in the folder of the old, over no others."""
    path, name = bench.path, bench.history.chosen.get(_RULES)
    if name or path.is_symlink() or not path.is_file():
        return path.with_name(name or path.name)
    others = bench.history.is_news(path.read_text("utf-8", errors="replace"))
    stem = Path(_usual_names(bench)["file"]).stem
    return path.with_name(f"{stem}.toml") if others else path


def _refuse_names(names: Mapping[str, Any]) -> None:
    """Refuse names of hidden files, and those that say another kind of file."""
    for kind, ending in {"file": "", **_ENDINGS}.items():
        name = names.get(kind)
        if not name:
            continue
        path = Path(name)
        if any(part.startswith(".") and part != ".." for part in path.parts):
            raise RefusedError(said("export", "hidden", file=name))
        if not path.name.lower().endswith(ending):
            raise RefusedError(said("export", "suffix", file=name, suffix=ending))
    rules = names["rules"]
    if rules != Path(rules).name or "\\" in rules:
        raise RefusedError(said("export", "rules_folder", file=rules))


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
    source, path = bench.source, _rules_path(bench)
    rules = bench.rules_of(bench.release_of(bench.history.versions[version]))
    settings, release = rules.settings, replace(rules.release, path=path)
    wanted = release.output()
    _refuse_places(wanted, path, source, len(settings.keys))
    said_already = path.exists() and path.read_text("utf-8") == release.to_toml()
    content = path.read_bytes() if said_already else release.to_toml().encode()
    read = [path] if said_already else []
    check_release_files(source, settings, wanted, overwrite=overwrite, read=read)
    if path.exists() and not said_already and not overwrite:
        raise FileExistsError(said("export", "rules_exist", file=path.name))
    source.refuse_changed()
    result = bench.protect(rules, say).under(settings)
    name = "" if source.path is None else source.path.name
    by_rules = path.name, hashlib.sha256(content).hexdigest()
    line = release.shell_line()
    provenance = Provenance(name, now(), line, by_rules, release._office)
    files = write_release(
        result,
        wanted,
        overwrite=overwrite,
        secret=bench.secret_of_layout(result, rules),
        provenance=provenance,
        progress=say,
        seen=bench.seen(rules),
    )
    if not said_already:
        with replacing_all(overwrite, list(source.paths)) as create:
            create(path, private=True).write(content)
    if path == bench.path:
        bench.history.note_file(release.to_toml())
    shell = release.shell_line(secret=files.record_with_secret, overwrite=True)
    written = tuple(_all_written(source, files, path))
    return Exported(version, files, shell, written)


def _refuse_places(
    wanted: Mapping[str, Any], rules: Path, source: Source, sets: int
) -> None:
    """Refuse rules in a pipe, and outputs that are links or among the sessions."""
    if rules.exists() and not rules.is_file():  # a pipe would be waited for
        raise RefusedError(said("frame", "no_file", path=rules.name))
    paths = [rules, private_record_of(wanted), *map(wanted.get, _FILES)]
    if wanted.get("report"):
        paths += report_paths(wanted["report"], sets)
    paths += formats.files_written(wanted["file"], source.format)
    private, own = user_folder(), rules.parent.resolve()
    sent = private and own.parent == (private / "uploads").resolve()
    for path in filter(None, paths):
        if path.is_symlink():
            raise RefusedError(said("export", "link", file=path.name))
        inside = private and private.resolve() in path.resolve().parents
        if inside and not (sent and path.resolve().parent == own):
            raise RefusedError(said("export", "private", file=path.name))


def file(bench: Workbench, form: Form) -> Response:
    """Send a file of the last export; the address has its place, never a path."""
    from starlette.responses import StreamingResponse

    job, at = bench.jobs.of("export"), form.whole("at")
    done: Exported | None = None if job is None else job.result
    if done is None or form.text("of") != done.mark or at >= len(done.written):
        raise RefusedError(said("export", "no_file"))
    sent = done.written[at]
    headers = {"content-length": str(sent.size)}
    if form.has("open") and sent.is_page:
        headers |= {"content-security-policy": SANDBOX, "content-disposition": "inline"}
        return StreamingResponse(sent.chunks(), 200, headers, "text/html")
    name = quote(sent.path.name, safe="")
    headers["content-disposition"] = f"attachment; filename*=UTF-8''{name}"
    return StreamingResponse(sent.chunks(), 200, headers, "application/octet-stream")


PAGE = Page("export", view, named(write), answers=named(file))
