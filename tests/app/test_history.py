"""The history of a release: nothing is lost, and nobody else can read it."""

import copy
import itertools
import json
import os
import stat
import subprocess
import sys

import pytest

from riskcore.app import log as log_module
from riskcore.app.history import LONGEST_NAME, History, SessionInUseError, session_file
from tests.needs import posix


@pytest.fixture
def path(tmp_path):
    return tmp_path / "settings" / "sessions" / "one.jsonl"


@pytest.fixture
def history(path):
    found = History.open(path)
    yield found
    found.close()


def state(history):
    """Return all that a history knows, as it is now."""
    return copy.deepcopy(
        (
            history.versions,
            history.current.number if history.versions else None,
            history.names,
            history.figures,
            history.chosen,
            history._next,
        )
    )


def again(history, path):
    """Close a history and open its file again."""
    history.close()
    return History.open(path)


def grown(history, n):
    for i in range(n):
        history.add(f"k = {i}", f"change {i}")
    return history


# --- versions, undo and redo ---


def test_a_new_history_is_empty(history):
    assert not history.versions
    assert not history.can_undo
    assert not history.can_redo
    history.undo()
    history.redo()
    assert not history.versions


def test_versions_follow_each_other(history):
    first = history.add("k = 3", "")
    second = history.add("k = 5", "k raised")
    assert (first.number, first.parent) == (0, None)
    assert (second.number, second.parent) == (1, 0)
    assert history.current is second
    assert second.change == "k raised"
    assert second.at.startswith("20")


def test_undo_and_redo_have_no_limit(history):
    grown(history, 200)
    for i in reversed(range(199)):
        history.undo()
        assert history.current.number == i
    assert not history.can_undo
    history.undo()
    assert history.current.number == 0
    for i in range(1, 200):
        history.redo()
        assert history.current.number == i
    assert not history.can_redo
    history.redo()
    assert history.current.number == 199


def test_redo_after_a_branch_leads_to_the_newest_child(history):
    grown(history, 3)
    history.undo()
    branch = history.add("other", "")
    assert branch.parent == 1
    assert [one.number for one in history.path_to(3)] == [3, 1, 0]
    assert list(history.ahead()) == []
    assert not history.can_redo
    history.undo()
    history.redo()
    assert history.current.number == 3


def test_redo_turns_at_the_branch_even_if_its_end_was_known(history):
    # 0 - 1 - 2 and 0 - 3: 1 led to 2 before 0 led to 3.
    grown(history, 3)
    history.show(0)
    history.add("three", "")
    for number, expected in ((2, [1, 2]), (3, [3]), (2, [1, 2]), (1, [1, 2])):
        history.show(number)
        while history.can_undo:
            history.undo()
        assert [one.number for one in history.ahead()] == expected


def test_random_walks_keep_the_way_back(history, path):
    import random

    draw = random.Random(5)
    history.add("first", "")
    for step in range(600):
        what = draw.choice(["add", "undo", "redo", "show", "show"])
        if what == "add":
            history.add(str(step), what)
        elif what == "show":
            history.show(draw.randrange(len(history.versions)))
        else:
            getattr(history, what)()
        way = [one.number for one in history.path_to(history.current.number)][::-1]
        assert way[0] == 0
        for before, child in itertools.pairwise(way):
            assert history._next[before] == child
    before = state(history)
    assert state(again(history, path)) == before


@pytest.mark.parametrize("number", [-1, 3, 1.0, True, None, "1"])
def test_versions_that_there_are_not_are_refused(history, number):
    grown(history, 3)
    for change in (
        lambda: history.show(number),
        lambda: history.name(number, "a"),
        lambda: history.keep_figures(number, {}),
    ):
        with pytest.raises(ValueError, match="no such version"):
            change()
    assert history.current.number == 2


# --- names, figures, choices ---


def test_names(history, path):
    grown(history, 3)
    history.name(1, "  as published ")
    history.name(2, "x" * 200)
    history.name(0, "öffentlich \ud800")
    history.name(0, "")
    assert history.names == {1: "as published", 2: "x" * LONGEST_NAME}
    history.name(1, "")
    history.name(1, "")
    assert again(history, path).names == {2: "x" * LONGEST_NAME}


def test_names_of_any_text_come_back(history, path):
    history.add("text\u2028with\x0bbreaks\r\n\x85", "was\x1cit")
    history.name(0, "früh \u202e \udcff 名")
    text, names = history.versions[0].text, dict(history.names)
    found = again(history, path)
    assert found.versions[0].text == text
    assert found.names == names
    assert found.unread == 0


def test_what_changes_nothing_is_not_written(history, path):
    grown(history, 2)
    history.name(1, "a")
    history.keep_figures(1, {"safe": True})
    history.choose("compare", [1])
    size = path.stat().st_size
    history.name(1, " a ")
    history.keep_figures(1, {"safe": True})
    history.choose("compare", [1])
    history.show(1)
    assert path.stat().st_size == size


def test_a_history_without_a_file_works():
    history = grown(History(), 3)
    history.undo()
    assert history.current.number == 1
    history.close()


# --- the file ---


def test_everything_comes_back(history, path):
    grown(history, 4)
    history.show(1)
    history.add("branch", "b")
    history.undo()
    history.name(3, "old")
    history.keep_figures(1, {"safe": True, "max_risk": 0.25, "pmse": None})
    history.choose("compare", {"models": ["a ~ b"]})
    before = state(history)
    assert state(again(history, path)) == before


def test_a_line_that_was_cut_off_is_left_out(history, path):
    grown(history, 3)
    history.close()
    whole = path.read_bytes()
    end = whole.rindex(b"\n", 0, -1) + 1
    for length in range(end, len(whole)):
        path.write_bytes(whole[:length])
        found = History.open(path)
        assert [one.number for one in found.versions] == [0, 1]
        assert found.unread == 0
        found.add("again", "")
        found.close()
        found = History.open(path)
        assert found.versions[2].text == "again"
        assert len(found.versions) == 3
        found.close()


def test_a_wrong_line_in_the_middle_loses_only_itself(history, path):
    grown(history, 5)
    history.name(2, "kept")
    before = state(history)
    history.close()
    lines = path.read_bytes().split(b"\n")
    damaged = [
        b"", b"\xff\xfe\x00", b"null", b"[]", b"3", b'"show"', b"{", b"{}x",
        b"\x00" * 40, b"[" * 100_000, b'{"show": 99}', b'{"show": -1}',
        b'{"show": true}', b'{"show": [0]}', b'{"version": [0, null, "", "", ""]}',
        b'{"version": [9, 1, "", "", ""]}', b'{"version": [3, 3, "", "", ""]}',
        b'{"version": [3, 2, 0, "", ""]}', b'{"version": [3, 2, ""]}',
        b'{"version": [3, null, "", "", ""]}', b'{"version": 3}',
        b'{"name": [1]}', b'{"name": [9, "a"]}', b'{"name": [1, 2]}',
        b'{"figures": [1, 2]}', b'{"figures": [9, {}]}', b'{"chosen": [1, 2]}',
        b'{"name": ["1", "a"]}',
    ]  # fmt: skip
    for one in damaged:
        path.write_bytes(b"\n".join([*lines[:3], one, *lines[3:]]))
        found = History.open(path)
        assert state(found) == before
        assert found.unread == 1
        found.close()


def test_events_of_later_versions_of_the_program_are_left_alone(history, path):
    grown(history, 2)
    history.close()
    path.write_bytes(path.read_bytes() + b'{"later": 1}\n')
    found = History.open(path)
    assert len(found.versions) == 2
    assert found.unread == 0


@pytest.mark.parametrize("lost", [0, 2, 4])
def test_versions_after_a_damaged_one_are_left_out(history, path, lost):
    grown(history, 5)
    history.name(4, "last")
    history.close()
    lines = path.read_bytes().split(b"\n")
    lines[lost] = b"#" + lines[lost]
    path.write_bytes(b"\n".join(lines))
    found = History.open(path)
    assert [one.text for one in found.versions] == [f"k = {i}" for i in range(lost)]
    assert found.unread == 5 - lost + 1  # the name, too
    found.add("after", "")
    found.add("later", "")
    before = state(found)
    assert state(again(found, path)) == before


def test_an_empty_or_strange_file_is_an_empty_history(path):
    path.parent.mkdir(parents=True)
    for content in (b"", b"\n", b"no end", b"\x00\x00\n\xff\n"):
        path.write_bytes(content)
        found = History.open(path)
        assert not found.versions
        found.add("k = 3", "")
        found.close()
        found = History.open(path)
        assert [one.text for one in found.versions] == ["k = 3"]
        found.close()


# --- disks that are full, and power that is cut ---


class Full:
    """A disk that takes only some bytes, then refuses."""

    def __init__(self, monkeypatch, room, *, sync=False):
        self.room, self.write, self.sync = room, os.write, sync
        monkeypatch.setattr(log_module.os, "write", self._write)
        if sync:
            monkeypatch.setattr(log_module.os, "fsync", self._refuse)

    def _write(self, number, data):
        if self.room is None:
            return self.write(number, data)
        if not self.room:
            self._refuse(number)
        taken = self.write(number, bytes(data)[: self.room])
        self.room -= taken
        return taken

    def _refuse(self, number):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("room", [0, 1, 7, 40])
def test_an_event_that_cannot_be_written_does_not_happen(
    history, path, room, monkeypatch
):
    grown(history, 3)
    before, content = state(history), path.read_bytes()
    with monkeypatch.context() as patch:
        Full(patch, room)
        for change in (
            lambda: history.add("never", "never written at all"),
            lambda: history.name(1, "x" * 60),
            lambda: history.keep_figures(1, {"safe": True, "more": "x" * 60}),
        ):
            with pytest.raises(OSError, match="No space"):
                change()
        assert path.read_bytes() == content
    history.add("three", "")
    assert history.current.number == 3
    found = again(history, path)
    assert [one.text for one in found.versions] == ["k = 0", "k = 1", "k = 2", "three"]
    assert found.unread == 0
    assert before[0] == found.versions[:3]


def test_an_event_that_does_not_reach_the_disk_does_not_happen(
    history, path, monkeypatch
):
    grown(history, 2)
    content = path.read_bytes()
    with monkeypatch.context() as patch:
        Full(patch, None, sync=True)
        with pytest.raises(OSError, match="No space"):
            history.undo()
    assert history.current.number == 1
    assert path.read_bytes() == content


def test_a_torn_line_that_stays_is_written_over(history, path, monkeypatch):
    grown(history, 2)
    with monkeypatch.context() as patch:
        Full(patch, 30)
        patch.setattr(
            log_module.os,
            "ftruncate",
            lambda *_: (_ for _ in ()).throw(OSError(5, "x")),
        )
        with pytest.raises(OSError, match="No space"):
            history.add("never", "")
        with pytest.raises(OSError, match="x"):  # not before the rest is gone
            history.add("never", "")
    history.name(0, "a")
    found = again(history, path)
    assert found.unread == 0
    assert len(found.versions) == 2
    assert found.names == {0: "a"}


def test_short_writes_are_completed(history, path, monkeypatch):
    write = os.write
    monkeypatch.setattr(log_module.os, "write", lambda n, data: write(n, data[:3]))
    grown(history, 3)
    assert [one.text for one in again(history, path).versions] == [
        "k = 0", "k = 1", "k = 2",
    ]  # fmt: skip


# --- whose file it is ---


@posix
def test_a_loose_umask_changes_nothing(tmp_path):
    old = os.umask(0)
    try:
        path = tmp_path / "a" / "b" / "one.jsonl"
        History.open(path).close()
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700


@posix
def test_a_file_that_others_could_read_becomes_private(history, path):
    grown(history, 1)
    history.close()
    path.chmod(0o644)
    found = History.open(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(found.versions) == 1


@posix
def test_links_are_refused(history, path, tmp_path):
    history.close()
    target = tmp_path / "elsewhere"
    target.write_text("mine", encoding="utf-8")
    link = path.with_name("link.jsonl")
    for to in (target, path, tmp_path / "not-there"):
        link.symlink_to(to)
        with pytest.raises(OSError, match="a link"):
            History.open(link)
        link.unlink()
    assert target.read_text(encoding="utf-8") == "mine"
    assert not (tmp_path / "not-there").exists()


@posix
def test_a_link_made_meanwhile_is_refused(path, tmp_path, monkeypatch):
    path.parent.mkdir(parents=True)
    path.symlink_to(tmp_path / "elsewhere")
    monkeypatch.setattr(type(path), "is_symlink", lambda _: False)
    with pytest.raises(OSError, match="symbolic link"):
        History.open(path)
    assert not (tmp_path / "elsewhere").exists()


@posix
def test_a_file_of_another_user_is_refused(history, path, monkeypatch):
    history.close()
    path.chmod(0o644)
    monkeypatch.setattr(log_module.os, "getuid", lambda: os.geteuid() + 1)
    with pytest.raises(PermissionError, match="another user"):
        History.open(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


@posix
def test_folders_and_pipes_are_refused(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="not a regular file"):
        History.open(pipe)
    with pytest.raises(IsADirectoryError):
        History.open(tmp_path)


@posix
def test_two_processes_cannot_share_a_file(history, path):
    code = (
        "import sys; from pathlib import Path\n"
        "from riskcore.app.history import History, SessionInUseError\n"
        "try: History.open(Path(sys.argv[1]))\n"
        "except SessionInUseError: print('in use')\n"
        "else: print('opened')\n"
    )

    def other():
        command = [sys.executable, "-c", code, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    grown(history, 1)
    assert other() == "in use"
    history.close()
    assert other() == "opened"


@posix
def test_refused_files_are_closed(history, path, monkeypatch):
    opened, closed = [], []
    open_, close = os.open, os.close
    monkeypatch.setattr(
        log_module.os, "open", lambda *a: opened.append(open_(*a)) or opened[-1]
    )
    monkeypatch.setattr(log_module.os, "close", lambda n: closed.append(n) or close(n))
    with pytest.raises(SessionInUseError):
        History.open(path)
    assert opened
    assert sorted(opened) == sorted(closed)


def test_a_process_that_is_killed_loses_nothing(path):
    code = (
        "import os, sys; from pathlib import Path\n"
        "from riskcore.app.history import History\n"
        "h = History.open(Path(sys.argv[1]))\n"
        "for i in range(20): h.add(str(i), 'change')\n"
        "h.undo()\n"
        "os._exit(9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert done.returncode == 9
    found = History.open(path)
    assert [one.text for one in found.versions] == [str(i) for i in range(20)]
    assert found.current.number == 18


# --- threads, and long histories ---


def test_threads_lose_no_version(history, path):
    from concurrent.futures import ThreadPoolExecutor

    grown(history, 5)

    def work(i):
        history.add(str(i), "")
        history.keep_figures(i % 5, {"n": i})
        history.undo()
        history.redo()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(100)))
    assert [one.number for one in history.versions] == [*range(105)]
    assert {one.text for one in history.versions[5:]} == {*map(str, range(100))}
    before = state(history)
    found = again(history, path)
    assert found.unread == 0
    assert state(found) == before


def long_file(path, n):
    """Write a file of a long history: a chain, with jumps from end to end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="ascii", newline="\n") as file:
        for i in range(n):
            version = [i, i - 1 if i else None, f"k = {i}", "c", "2026-01-01T00:00:00"]
            file.write(json.dumps({"version": version}) + "\n")
        for i in range(n):
            file.write(json.dumps({"show": n - 2 + i % 2}) + "\n")


def test_steps_of_a_long_history_do_not_look_at_all_of_it(path, monkeypatch):
    steps = 0
    path_to = History.path_to

    def counted(self, number):
        nonlocal steps
        for one in path_to(self, number):
            steps += 1
            yield one

    monkeypatch.setattr(History, "path_to", counted)
    long_file(path, 5_000)
    found = History.open(path)
    assert found.current.number == 4_999
    assert steps == 7_500  # one for each version, and for each step forth


def test_the_file_of_a_survey_has_no_name_of_it(tmp_path, settings_folder):
    found = session_file(tmp_path / "income of my neighbors.csv")
    assert found.parent == settings_folder / "sessions"
    assert "neighbors" not in found.name
    (tmp_path / "link.csv").symlink_to(tmp_path / "income of my neighbors.csv")
    assert session_file(tmp_path / "link.csv") == found
    assert session_file(tmp_path / "other.csv") != found
