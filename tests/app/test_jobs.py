"""Long work: one piece at a time, with progress and cancel, and errors in words."""

import threading
import warnings

import pytest

import riskcore
from riskcore.app.jobs import Job, Jobs, words_of
from riskcore.app.texts import told
from riskcore.common.progress import CanceledError

PATIENCE = 30


@pytest.fixture
def jobs():
    found = Jobs()
    yield found
    found.close()


class Held:
    """Work that waits until it is let go."""

    def __init__(self, result=None):
        self.begun, self.go = threading.Event(), threading.Event()
        self.result, self.steps = result, 0

    def __call__(self, say):
        self.begun.set()
        assert self.go.wait(PATIENCE)
        say("next step")
        self.steps += 1
        return self.result


def end(job):
    assert job.ended.wait(PATIENCE)
    return job


def test_a_job_has_a_result(jobs):
    job = end(jobs.start("plan", "a", lambda say: 42))
    assert (job.state, job.result, job.error) == ("done", 42, "")
    assert not job.active
    assert jobs.of("plan") is job
    assert jobs.of("other") is None


def test_progress_is_seen_while_it_runs(jobs):
    held = Held()

    def work(say):
        say("first step")
        return held(say)

    job = jobs.start("plan", "a", work)
    assert held.begun.wait(PATIENCE)
    assert (job.state, job.line) == ("running", "first step")
    assert jobs.active == [job]
    held.go.set()
    end(job)
    assert jobs.active == []


def test_the_same_work_is_begun_once(jobs):
    calls = []
    job = end(jobs.start("plan", ("a", 1), lambda say: calls.append(1)))
    assert jobs.start("plan", ("a", 1), lambda say: calls.append(2)) is job
    assert (calls, jobs.ended) == ([1], 1)


def test_other_work_of_a_kind_cancels_the_first(jobs):
    held = Held()
    first = jobs.start("plan", "a", held)
    assert held.begun.wait(PATIENCE)
    second = jobs.start("plan", "b", lambda say: "second")
    held.go.set()
    end(second)
    assert end(first).state == "canceled"
    assert held.steps == 0
    assert first.result is None
    assert second.result == "second"
    assert jobs.of("plan") is second


def test_work_of_another_kind_waits_its_turn(jobs):
    held, order = Held(), []
    first = jobs.start("plan", "a", held)
    second = jobs.start("leaks", "a", lambda say: order.append(first.state))
    assert held.begun.wait(PATIENCE)
    assert second.state == "waiting"
    assert jobs.active == [first, second]
    held.go.set()
    end(second)
    assert order == ["done"]


def test_waiting_work_that_is_canceled_never_runs(jobs):
    held, calls = Held(), []
    jobs.start("plan", "a", held)
    waiting = jobs.start("leaks", "a", lambda say: calls.append(1))
    waiting.cancel()
    held.go.set()
    assert end(waiting).state == "canceled"
    assert calls == []


def test_cancel_ends_all(jobs):
    held = Held()
    first = jobs.start("plan", "a", held)
    second = jobs.start("leaks", "a", lambda say: 1)
    assert held.begun.wait(PATIENCE)
    jobs.cancel()
    held.go.set()
    assert end(first).state == end(second).state == "canceled"


def test_cancel_after_the_end_changes_nothing(jobs):
    job = end(jobs.start("plan", "a", lambda say: 1))
    jobs.cancel()
    job.cancel()
    assert (job.state, job.result) == ("done", 1)


def test_canceled_work_can_begin_again(jobs):
    held = Held()
    first = jobs.start("plan", "a", held)
    assert held.begun.wait(PATIENCE)
    jobs.forget("plan")
    held.go.set()
    assert end(first).state == "canceled"
    assert jobs.of("plan") is None
    assert end(jobs.start("plan", "a", lambda say: "again")).result == "again"
    jobs.forget("not there")


def test_a_library_cannot_take_a_cancel_for_a_failure(jobs):
    held = Held()

    def work(say):
        try:
            held(say)
        except Exception:
            return "went on"

    job = jobs.start("plan", "a", work)
    assert held.begun.wait(PATIENCE)
    job.cancel()
    held.go.set()
    assert end(job).state == "canceled"
    assert not issubclass(CanceledError, Exception)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("k=0 is too small"), "k=0 is too small"),
        (KeyError("no such column"), "no such column"),
        (FileNotFoundError(2, "No such file or directory", "/x/y.csv"), None),
        (MemoryError(), "MemoryError"),
        (RuntimeError("it stopped"), "it stopped"),
    ],
)
def test_failures_of_settings_and_data_are_said(jobs, capsys, error, words):
    def work(say):
        raise error

    job = end(jobs.start("plan", "a", work))
    assert job.state == "failed"
    assert job.error == (words or words_of(error))
    assert job.error
    assert capsys.readouterr() == ("", "")


def test_words_of_a_file_error_say_what_is_wrong():
    error = FileNotFoundError(2, "No such file or directory", "y.csv")
    assert "No such file" in words_of(error)
    assert words_of(ValueError()) == "ValueError"


@pytest.mark.parametrize(
    ("delimiter", "weight", "advice"),
    [
        (";", "W", "a comma: choose it on the page of the data"),
        (",", None, "is the delimiter another? Choose it on the page of the data."),
    ],
)
def test_words_of_an_error_advise_what_the_command_takes(
    tmp_path, delimiter, weight, advice
):
    path = tmp_path / "s.csv"
    path.write_text("A;W\n" + "1;2,5\n" * 5)
    reading = riskcore.Reading(delimiter=delimiter)
    with pytest.raises((KeyError, ValueError)) as error:
        riskcore.assess(path, ["A"], weight, reading=reading)
    assert advice in told(words_of(error.value))


def test_a_defect_tells_the_terminal_where_but_not_of_which_value(jobs, capsys):
    def work(say):
        secret = {"income": 123456789}
        return secret[b"neighbor's income 123456789"[0:0].decode() or 1 / 0]

    job = end(jobs.start("plan", "a", work))
    assert job.state == "failed"
    assert "a defect" in job.error
    told = capsys.readouterr().err
    assert told.startswith("plan:\nthe app failed: ZeroDivisionError\n")
    assert "test_jobs:" in told
    assert "123456789" not in told + job.error


def test_the_next_work_runs_after_a_failure(jobs, capsys):
    def defect(say):
        raise SystemExit(3)

    assert end(jobs.start("plan", "a", defect)).state == "failed"
    assert "SystemExit" in capsys.readouterr().err
    assert end(jobs.start("plan", "b", lambda say: 1)).result == 1


def test_warnings_do_not_reach_the_terminal(jobs, capsys, recwarn):
    def work(say):
        warnings.warn("a value shows", UserWarning, stacklevel=1)

    assert end(jobs.start("plan", "a", work)).state == "done"
    assert not recwarn.list
    assert capsys.readouterr() == ("", "")


def test_ended_never_falls(jobs):
    held, seen = Held(), []
    first = jobs.start("plan", "a", held)
    assert held.begun.wait(PATIENCE)
    seen.append(jobs.ended)
    second = jobs.start("plan", "b", lambda say: 1)
    seen.append(jobs.ended)
    jobs.forget("plan")
    seen.append(jobs.ended)
    held.go.set()
    end(first)
    end(second)
    seen.append(jobs.ended)
    third = end(jobs.start("plan", "c", lambda say: 1))
    seen.append(jobs.ended)
    assert third.state == "done"
    assert seen == [0, 0, 0, 2, 3]


def test_what_follows_is_called_after_success_only(jobs):
    told = []

    def follows(job):
        told.append((job.kind, job.state, job.result))

    def fails(say):
        raise ValueError("no")

    end(jobs.start("plan", "a", lambda say: 1, follows))
    end(jobs.start("plan", "b", fails, follows))
    end(jobs.start("other", "c", lambda say: 2))
    end(jobs.start("last", "d", lambda say: 3, follows))
    end(jobs.start("barrier", "e", lambda say: 4))
    assert told == [("plan", "done", 1), ("last", "done", 3)]


def test_what_follows_can_begin_more_work(jobs):
    begun = threading.Event()

    def follows(job):
        jobs.start("compare", job.key, lambda say: job.result + 1)
        begun.set()

    jobs.start("plan", "a", lambda say: 1, follows)
    assert begun.wait(PATIENCE)
    assert end(jobs.of("compare")).result == 2


def test_closed_jobs_take_no_more(jobs):
    held = Held()
    job = jobs.start("plan", "a", held)
    assert held.begun.wait(PATIENCE)
    waiting = jobs.start("leaks", "a", lambda say: 1)
    jobs.close()
    held.go.set()
    assert end(job).state == "canceled"
    assert end(waiting).state == "canceled"
    with pytest.raises(RuntimeError):
        jobs.start("other", "b", lambda say: 1)
    assert jobs.active == []
    assert jobs.of("other") is None
    jobs.close()


def test_many_threads_begin_a_job_once(jobs):
    from concurrent.futures import ThreadPoolExecutor

    held, calls = Held(), []
    jobs.start("first", "a", held)

    def begin(_):
        return jobs.start("plan", "a", calls.append)

    with ThreadPoolExecutor(8) as pool:
        found = set(map(id, pool.map(begin, range(50))))
    held.go.set()
    end(jobs.of("plan"))
    assert len(found) == len(calls) == 1


def test_a_job_by_itself():
    job = Job("plan", "a")
    assert job.active
    job.run(lambda say: 3)
    assert (job.state, job.result) == ("done", 3)
    canceled = Job("plan", "a")
    canceled.cancel()
    canceled.run(lambda say: 3)
    assert (canceled.state, canceled.result) == ("canceled", None)
