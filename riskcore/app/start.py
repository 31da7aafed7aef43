"""Begin the app: the file or the rules, and the session that goes on."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from os.path import relpath
from pathlib import Path
from typing import Any

from riskcore.app.history import History, session_file
from riskcore.app.jobs import FAILURES
from riskcore.app.texts import said
from riskcore.app.workbench import FIRST_K, Workbench
from riskcore.common.toml_text import toml_of
from riskcore.data.files.reading import Reading
from riskcore.protection.release_toml import Release

USUAL = Reading(missing_codes={})


def open_workbench(
    file: Path, reading: Reading | None = None, *, new: bool = False
) -> Workbench:
    """Return the workbench of a survey file or a file of rules."""
    release = first_release(file, reading)
    _ = release.source().names  # refuses what is not a survey file
    path = session_file(file)
    history = History() if path is None else History.open(path)
    is_rules = file.suffix == ".toml"
    try:
        if history.versions:
            _go_on(history, release, reading, new=new, is_rules=is_rules)
        bench = workbench_of(release, history)
        if is_rules:
            history.note_file(release.to_toml())
    except BaseException:
        history.close()
        raise
    return bench


def workbench_of(release: Release, history: History) -> Workbench:
    """Return a workbench whose file can be read."""
    bench = Workbench(release, history)
    _ = bench.names
    return bench


def _go_on(
    history: History,
    release: Release,
    reading: Reading | None,
    *,
    new: bool,
    is_rules: bool,
) -> None:
    """Add the rules to a history unless it has them."""
    text = release.to_toml()
    if new:
        history.add(text, said("history", "begun"))
        return
    now = Release.parse(history.current.text, release.path)
    data = release.tables["data"]
    others = now.tables.get("data") != data
    if is_rules and (others or history.is_news(text)):
        history.add(text, said("history", "read"))
    elif others and reading and not is_rules:  # it is said how the file is read
        history.add(read_by(now, data).to_toml(), said("history", "read_otherwise"))


def first_release(file: Path, reading: Reading | None) -> Release:
    """Return the first rules: those of a file of rules, or of a survey file."""
    if file.suffix == ".toml":
        if reading not in (None, Reading(), USUAL):
            raise ValueError(
                f"{file}: the table [data] says how the survey file is read; leave "
                "the options out"
            )
        return Release.read(file)
    if not file.exists():
        raise FileNotFoundError(f"{file}: the file does not exist")
    data = data_table(file.name, file.parent, reading)
    return first_rules(data, file.parent / "release.toml")


def first_rules(data: Mapping[str, Any], path: Path) -> Release:
    """Return the rules for a file to which none have been given."""
    tables = {"format": 1, "data": data, "safe": {"k": FIRST_K}}
    return Release.parse(toml_of(tables), path)


def data_table(file: str, folder: Path, reading: Reading | None) -> dict[str, Any]:
    """Return the rules that say which file is read, and how, seen from a folder."""
    if reading in (None, USUAL):
        return {"file": file}
    how = reading._with_files(lambda path: Path(relpath(path, folder)))
    return dict(Release.of(file, ["x"], k=FIRST_K, reading=how).tables["data"])


def read_by(release: Release, data: Mapping[str, Any]) -> Release:
    """Return rules that read the file as a table says; for other columns, new ones."""
    gone = dict.fromkeys(release.tables.get("data", {}))
    read = release.with_rules(data={**gone, **data})
    names = {*read.source().names}
    with suppress(*FAILURES):  # the file may have gone that was read
        if {*release.source().names} == names:
            return read
    return first_rules(data, release.path or Path("release.toml"))
