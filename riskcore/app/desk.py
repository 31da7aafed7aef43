"""The desk: the survey file that lies on it, or none yet, and where files are found."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import numpy as np

from riskcore import simulate
from riskcore.app.folders import Folders
from riskcore.app.history import session_file
from riskcore.app.jobs import FAILURES
from riskcore.app.session import RefusedError
from riskcore.app.start import (
    data_table,
    first_release,
    open_workbench,
    read_by,
    workbench_of,
)
from riskcore.app.texts import said
from riskcore.app.workbench import Workbench
from riskcore.data.files import formats
from riskcore.data.files.reading import Reading

_DEMO, _RECORDS, _SEED = "riskcore-demo.csv", 20_000, 2004


class Desk:
    """What is open, by number: a page of an earlier file changes nothing of a later."""

    def __init__(self, start: Path, bench: Workbench | None = None) -> None:
        self.folders = Folders(start)
        self.number = 0
        self._bench = bench
        self._version = 0  # that was shown last
        self._path: Path | None = None  # as it was opened
        self._lock = threading.RLock()

    @property
    def now(self) -> tuple[Workbench | None, int]:
        """The workbench, which reads the file as its version says, and its number."""
        with self._lock:
            bench = self._bench
            if bench is None:
                return None, self.number
            version = bench.history.current.number
            if not bench.is_of(bench.release):
                try:
                    self._put(workbench_of(bench.release, bench.history), bench)
                except FAILURES:  # its files are gone: the version before stays
                    bench.history.show(self._version)
                    raise
            self._version = version
            return self._bench, self.number

    @property
    def is_open(self) -> bool:
        """Whether a file lies on the desk."""
        return self._bench is not None

    @property
    def bench(self) -> Workbench:
        """The workbench; without one, what was asked is refused."""
        return self.shown_as("")

    def shown_as(self, work: str) -> Workbench:
        """Return the workbench if it has this number, as a page says it."""
        bench, number = self.now
        if bench is None or work not in ("", str(number)):
            raise RefusedError(said("frame", "other_work"))
        return bench

    def close(self) -> None:
        """End all work."""
        with self._lock:
            if self._bench is not None:
                self._bench.close()
            self._bench = None

    def open(self, path: Path, reading: Reading | None, *, new: bool = False) -> None:
        """Put another file on the desk; if it is refused, the one before stays."""
        with self._lock:
            self._refuse_busy()
            before, source = self._bench, first_release(path, reading).source()
            for file in source.paths:  # rules may name a file of another folder
                self.folders.path(str(file))
            if before is not None and path.resolve() == self._path:
                _ = source.names  # refused before
                self.close()  # a session is open once
            self._put(open_workbench(path, reading, new=new), None)
            if before is not None:
                before.close()
            self._path = path.resolve()
        self.folders.remember(path.absolute())

    def read(self, reading: Reading, work: str = "") -> str:
        """Read the file in another way; other columns begin without rules."""
        with self._lock:
            self._refuse_busy()
            bench = self.shown_as(work)
            file = bench.table("data")["file"]
            data = data_table(file, bench.path.parent, reading)
            release = read_by(bench.release, data)
            if release.tables == bench.tables:
                return ""
            bench.history.add(release.to_toml(), said("history", "read_otherwise"))
            self._put(Workbench(release, bench.history), bench)
        return said("data", "read")

    def remove(self, place: str) -> None:
        """Remove a file that was sent, what was written beside it, and its history."""
        folder = self.folders.sent_folder(self.folders.path(place))
        with self._lock:
            if self._path is not None and self._path.parent == folder:
                self._refuse_busy()
                self.close()
            sessions = [*map(session_file, folder.iterdir())]
            shutil.rmtree(folder)
            for session in filter(None, sessions):
                session.unlink(missing_ok=True)

    def demo(self) -> None:
        """Make a survey of nobody and put it on the desk."""
        places = [x.place for x in self.folders.sent() if x.name == _DEMO]
        path = Path(places[0]) if places else self.folders.new_folder() / _DEMO
        if not places:
            data = simulate.microdata(_RECORDS, np.random.default_rng(_SEED))
            formats.write(path, data)
        self.open(path, None)

    def _refuse_busy(self) -> None:
        """Refuse to take a file away while its safe file is being written."""
        job = None if self._bench is None else self._bench.jobs.of("export")
        if job is not None and job.active:
            raise RefusedError(said("start", "exporting"))

    def _put(self, bench: Workbench, before: Workbench | None) -> None:
        """Put a workbench on the desk in place of one that has the same history."""
        if before is not None:
            before.jobs.close()
        self._bench, self._version = bench, bench.history.current.number
        self.number += 1
