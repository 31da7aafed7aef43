"""Begin the app: the file or the rules, and the session that goes on."""

from __future__ import annotations

from pathlib import Path

from riskcore.app.history import History, session_file
from riskcore.app.workbench import FIRST_K, Workbench
from riskcore.common.toml_text import toml_of
from riskcore.data.files.reading import Reading
from riskcore.protection.release.rules import Release


def open_workbench(given: Path, reading: Reading | None = None) -> Workbench:
    """Return the workbench of a survey file or a file of rules.

    The session of the same file goes on; rules that were changed meanwhile become its
    newest version.
    """
    release = _release(given, reading)
    path = session_file(given)
    history = History() if path is None else History.open(path)
    if history.versions and given.suffix == ".toml":
        texts = {version.text for version in history.versions}
        if release.to_toml() not in texts:
            history.add(release.to_toml(), "read again from the file")
    return Workbench(release, history)


def _release(given: Path, reading: Reading | None) -> Release:
    """Return the first rules: those of a file of rules, or of a survey file."""
    if given.suffix == ".toml":
        return Release.read(given)
    if not given.is_file() and not given.is_dir():
        raise FileNotFoundError(f"{given}: there is no such file")
    data = {"file": given.name}
    if reading is not None:
        first = Release.of(given.name, ["x"], k=FIRST_K, reading=reading)
        data = dict(first.tables["data"])
    tables = {"format": 1, "data": data, "safe": {"k": FIRST_K}}
    return Release.parse(toml_of(tables), given.parent / "release.toml")
