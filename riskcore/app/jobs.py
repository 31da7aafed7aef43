"""Long work in threads, with progress and cancel."""

from __future__ import annotations

import ctypes
import sys
import threading
import warnings
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from typing import Any, Literal, TypeAlias

from riskcore.app.guard import places
from riskcore.common.missing_column import FAILURES as OF_DATA
from riskcore.common.progress import CanceledError, Lines
from riskcore.common.toml_text import RulesError
from riskcore.common.words import sentence, words_in

State: TypeAlias = Literal["waiting", "running", "done", "failed", "canceled"]
# Errors of settings, data or the machine; any other error is a defect.
FAILURES = (*OF_DATA, KeyError, RuntimeError, MemoryError, ImportError)
SOON, SEARCH = ("prepare", "try"), "best"


class RefusedError(ValueError):
    """What was asked cannot be done; the words are for the page."""


class Job:
    """A piece of work; only the newest job of a kind goes on."""

    def __init__(self, kind: str, key: Hashable) -> None:
        self.kind = kind
        self.key = key  # what it is done for
        self.state: State = "waiting"
        self.line = ""  # what is being done just now
        self.result: Any = None
        self.error = ""  # why it failed, in words
        self.ended = threading.Event()
        self._stop = threading.Event()

    @property
    def active(self) -> bool:
        """Whether the job waits or runs."""
        return self.state in ("waiting", "running")

    def outcome(self) -> Any:
        """Return the result, None if there is none; refuse what rests on a failure."""
        if self.state == "failed":
            raise RefusedError(self.error)
        return self.result

    def cancel(self) -> None:
        """Ask the job to end at its next step."""
        self._stop.set()

    def say(self, line: str) -> None:
        """Note the step; end the work here if it was canceled."""
        if self._stop.is_set():
            raise CanceledError
        self.line = line

    def run(
        self,
        work: Callable[[Lines], Any],
        then: Callable[[Job], None] | None = None,
    ) -> None:
        """Do the work and keep its result or error; ``then`` follows if it was done."""
        try:
            self.say("")
            self.state = "running"
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.result = work(self.say)
            self.state = "done"
        except CanceledError:
            self.state = "canceled"
        except FAILURES as error:
            self.error = words_of(error)
            self.state = "failed"
        except BaseException as error:
            self.error = sentence("a defect of riskcore; the terminal says where")
            sys.stderr.write("\n".join([f"{self.kind}:", *places(error), ""]))
            self.state = "failed"
        finally:
            self.ended.set()
        with suppress(AttributeError, OSError, TypeError):  # glibc alone has this
            ctypes.CDLL(None).malloc_trim(0)  # free memory goes back to the machine
        if then is not None and self.state == "done":
            then(self)


class Jobs:
    """The newest job of each kind; one runs at a time, one of `SOON`, and a search."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()
        # What pages need at once waits neither for what takes long nor for a search.
        names = ("work", "soon", SEARCH)
        self._pools = {x: ThreadPoolExecutor(1, f"riskcore-{x}") for x in names}
        self._begun = 0
        self._open: list[Job] = []  # those that may not have ended, replaced ones, too

    def start(
        self,
        kind: str,
        key: Hashable,
        work: Callable[[Lines], Any],
        then: Callable[[Job], None] | None = None,
    ) -> Job:
        """Return the job of this kind and key, begun if new; ``then`` follows it."""
        with self._lock:
            earlier_job = self._jobs.get(kind)
            if earlier_job is not None and earlier_job.key == key:
                return earlier_job
            if earlier_job is not None:
                earlier_job.cancel()
            job = Job(kind, key)
            pool = "soon" if kind in SOON else kind if kind == SEARCH else "work"
            # The context has the language of the reader.
            self._pools[pool].submit(copy_context().run, job.run, work, then)
            self._jobs[kind] = job
            self._begun += 1
            self._open = [*(x for x in self._open if x.active), job]
            return job

    def of(self, kind: str, key: Hashable = None) -> Job | None:
        """Return the newest job of a kind, if it is done for a key that is named."""
        job = self._jobs.get(kind)
        return job if job is not None and key in (None, job.key) else None

    @property
    def ended(self) -> int:
        """How many jobs have ended; pages look again when it grows."""
        with self._lock:
            return self._begun - sum(job.active for job in self._open)

    @property
    def active(self) -> list[Job]:
        """The jobs that wait or run."""
        return [job for job in [*self._jobs.values()] if job.active]

    def cancel(self) -> None:
        """Cancel all jobs."""
        for job in self.active:
            job.cancel()

    def forget(self, kind: str) -> None:
        """Forget the job of a kind, so that it can be started again."""
        with self._lock:
            job = self._jobs.pop(kind, None)
            if job is not None:
                job.cancel()

    def make_way(self, *stay: str) -> None:
        """Forget what waits or runs of other kinds; its page begins it anew."""
        with self._lock:
            for kind, job in [*self._jobs.items()]:
                if job.active and kind not in stay:
                    self._jobs.pop(kind).cancel()

    def retry(self) -> None:
        """Forget the jobs that failed or were canceled, so that they begin again."""
        with self._lock:
            for kind, job in [*self._jobs.items()]:
                if job.state in ("failed", "canceled"):
                    del self._jobs[kind]

    def close(self) -> None:
        """Cancel all jobs and take no more."""
        self.cancel()
        for pool in self._pools.values():
            pool.shutdown(wait=False)


def words_of(error: BaseException) -> str:
    """Return the words of an error, without its place in a file of rules."""
    if isinstance(error, OSError) and error.strerror:
        file = "" if error.filename is None else f"{error.filename}: "
        return f"{file}{error.strerror}"
    cause = error.__cause__ if isinstance(error, OSError) else error
    if isinstance(cause, RulesError) and cause.words:
        return cause.words  # the place in the file helps nobody here
    return words_in(error) or type(error).__name__
