"""The directory of compiled code: what is kept, and what is not trusted."""

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from riskcore.core.compiled import code_cache
from tests import needs

BUILD = "a" * 24
NAME = "kernel.o"
CODE = b"code" * 1000
DAY = 86400


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Return the cache's directory, which does not exist yet."""
    root = tmp_path / "cache"
    monkeypatch.setenv("RISKCORE_CACHE_DIR", str(root))
    code_cache.say_once.cache_clear()
    code_cache.not_kept.clear()
    return root


@pytest.fixture
def kept(root):
    """Return the cache's directory with one file in it."""
    code_cache.write(BUILD, NAME, CODE)
    assert code_cache.read(BUILD, NAME) == CODE
    return root


@pytest.fixture
def refused(caplog):
    """Return a check that nothing is loaded and nothing written, and why."""

    def check(root, *reasons):
        before = contents(root)
        for _ in range(2):
            assert code_cache.read(BUILD, NAME) is None
            with code_cache.locked(BUILD, NAME):
                code_cache.write(BUILD, NAME, CODE)
        assert contents(root) == before
        (warning,) = [each for each in caplog.records if each.levelname == "WARNING"]
        for reason in ("neither loaded nor kept", *reasons):
            assert reason in warning.message

    return check


def contents(root):
    return {
        path.relative_to(root): path.read_bytes() if path.is_file() else None
        for path in root.rglob("*")
    }


# --- what is kept ---------------------------------------------------------------------


def test_what_is_written_is_read(kept):
    assert list(contents(kept)) == [Path(BUILD), Path(BUILD, NAME)]


@needs.posix
def test_only_the_user_has_access(root):
    before = os.umask(0)
    try:
        with code_cache.locked(BUILD, NAME):
            code_cache.write(BUILD, NAME, CODE)
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in root.rglob("*")}
    assert modes == {BUILD: 0o700, NAME: 0o600, f"{NAME}.lock": 0o600}
    assert stat.S_IMODE(root.stat().st_mode) == 0o700


def test_what_is_absent_is_none(root):
    assert code_cache.read(BUILD, NAME) is None
    assert not root.exists()
    code_cache.write(BUILD, NAME, CODE)
    assert code_cache.read(BUILD, "other.o") is None
    assert code_cache.read("b" * 24, NAME) is None


def test_damage_is_noticed(kept):
    file = kept / BUILD / NAME
    whole = file.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    for damaged in (b"", whole[: len(whole) // 2], whole + b"x", bytes(flipped)):
        file.write_bytes(damaged)
        assert code_cache.read(BUILD, NAME) is None
    code_cache.write(BUILD, NAME, CODE)
    assert file.read_bytes() == whole


def warned_once(caplog, *phrases):
    (warning,) = caplog.records
    assert warning.levelname == "WARNING"
    for phrase in ("cannot be kept", "RISKCORE_CACHE_DIR", *phrases):
        assert phrase in warning.message


def test_where_nothing_can_be_written(root, tmp_path, caplog):
    root.write_text("not a directory")
    assert code_cache.read(BUILD, NAME) is None
    assert caplog.records == []  # nothing had to be compiled
    for name in (NAME, "other.o"):
        with code_cache.locked(BUILD, name):
            code_cache.write(BUILD, name, CODE)
    assert root.read_text() == "not a directory"
    warned_once(caplog, str(root), "Not a directory")


def test_a_user_without_a_home(root, monkeypatch, caplog):
    monkeypatch.setattr(code_cache, "root_path", lambda: None)
    code_cache.write(BUILD, NAME, CODE)
    warned_once(caplog, "home")


def test_a_full_disk_leaves_no_part(kept, monkeypatch, caplog):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    code_cache.write(BUILD, "new.o", CODE)
    assert list(contents(kept)) == [Path(BUILD), Path(BUILD, NAME)]
    warned_once(caplog, str(kept), "No space left on device")


@pytest.mark.parametrize("posix", [True, False])
def test_a_new_build_removes_old_ones(root, tmp_path, monkeypatch, posix):
    # Without POSIX, as on Windows, by paths.
    monkeypatch.setattr(code_cache, "POSIX", posix and code_cache.POSIX)
    days = {"a" * 24: 31, "b" * 24: 29, "c" * 24 + ".old": 31, "d" * 24 + ".old": 0}
    not_ours = {"thesis": 900, "e" * 23: 900, "f" * 24 + ".bak": 900}
    for name, age in {**days, **not_ours}.items():
        (root / name / "tmp").mkdir(parents=True)
        (root / name / NAME).write_text("code")
        make_old(root / name, age)
    (root / ("1" * 24)).write_text("a file")
    make_old(root / ("1" * 24), 900)
    (tmp_path / "elsewhere").mkdir()
    (root / ("2" * 24)).symlink_to(tmp_path / "elsewhere")
    before = {path.name for path in root.iterdir()}
    code_cache.write("9" * 24, NAME, CODE)
    assert code_cache.read("9" * 24, NAME) == CODE
    after = {path.name for path in root.iterdir()}
    assert before - after == {"a" * 24, "c" * 24 + ".old"}
    assert after - before == {"9" * 24}
    assert (tmp_path / "elsewhere").is_dir()


def make_old(path, days):
    then = time.time() - days * DAY
    os.utime(path, (then, then))


@pytest.mark.parametrize("posix", [True, False])
def test_a_build_in_use_is_not_old(kept, monkeypatch, posix):
    monkeypatch.setattr(code_cache, "POSIX", posix and code_cache.POSIX)
    make_old(kept / BUILD, 31)
    old = (kept / BUILD).stat().st_mtime
    assert code_cache.read(BUILD, NAME) == CODE
    assert (kept / BUILD).stat().st_mtime >= old + 31 * DAY


# --- what is not trusted --------------------------------------------------------------


@needs.root
@pytest.mark.parametrize("what", ["", BUILD])
def test_a_directory_of_another_user(kept, refused, what):
    os.chown(kept / what, 12345, -1)
    refused(kept, str(kept / what), "another user", "12345")


@needs.posix
@pytest.mark.parametrize("mode", [0o770, 0o720, 0o707, 0o702, 0o1777])
@pytest.mark.parametrize("what", ["", BUILD])
def test_a_directory_that_others_can_write(kept, refused, what, mode):
    os.chmod(kept / what, mode)
    refused(kept, f"others can write {kept / what}", "chmod go-w")


def plant(file):
    os.chown(file, 12345, -1)


def link(file):
    file.rename(file.parents[2] / NAME)
    file.symlink_to(file.parents[2] / NAME)


def fifo(file):
    file.unlink()
    os.mkfifo(file)


@needs.posix
@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        pytest.param(plant, "another user (number 12345)", marks=needs.root),
        (link, "{file} is a link"),
        (fifo, "{file} is not a regular file"),
        (lambda file: file.chmod(0o660), "others can write {file}"),
        (lambda file: file.chmod(0o606), "others can write {file}"),
    ],
)
def test_a_file_that_is_not_trusted_is_not_loaded_but_replaced(
    kept, caplog, spoil, reason
):
    # In a directory that is trusted, to replace it is safe.
    file = kept / BUILD / NAME
    spoil(file)
    assert code_cache.read(BUILD, NAME) is None
    assert reason.format(file=file) in caplog.text
    code_cache.write(BUILD, NAME, CODE * 2)
    assert code_cache.read(BUILD, NAME) == CODE * 2
    assert file.stat().st_uid == os.geteuid()
    if spoil is link:
        assert (kept.parent / NAME).read_bytes()[32:] == CODE


@needs.posix
def test_what_others_can_only_read_is_trusted(kept):
    for path, mode in [("", 0o755), (BUILD, 0o755), (f"{BUILD}/{NAME}", 0o644)]:
        (kept / path).chmod(mode)
    assert code_cache.read(BUILD, NAME) == CODE


@needs.posix
@pytest.mark.parametrize("what", ["", BUILD])
@pytest.mark.parametrize("slash", ["", "/", "/."])
def test_a_link_to_a_directory(kept, tmp_path, refused, monkeypatch, what, slash):
    (kept / what).rename(tmp_path / "elsewhere")
    (kept / what).symlink_to(tmp_path / "elsewhere")
    monkeypatch.setenv("RISKCORE_CACHE_DIR", f"{kept}{slash}")
    refused(kept, str(kept / what), "is a link")


@needs.posix
@pytest.mark.parametrize("levels", [1, 3])
@pytest.mark.parametrize("exists", [True, False])
def test_a_parent_that_is_open_to_all(tmp_path, monkeypatch, refused, levels, exists):
    parent = tmp_path / "open"
    root = parent.joinpath(*["inner"] * (levels - 1), "cache")
    root.parent.mkdir(parents=True)
    monkeypatch.setenv("RISKCORE_CACHE_DIR", str(root))
    code_cache.say_once.cache_clear()
    if exists:
        code_cache.write(BUILD, NAME, CODE)
        assert code_cache.read(BUILD, NAME) == CODE
    parent.chmod(0o777)
    if exists:
        refused(parent, f"anybody can write in a directory above {root}")
    else:
        with code_cache.locked(BUILD, NAME):
            code_cache.write(BUILD, NAME, CODE)
        assert not root.exists()
    parent.chmod(0o1777)  # the sticky bit: nobody can rename what others own
    code_cache.write(BUILD, NAME, CODE)
    assert code_cache.read(BUILD, NAME) == CODE


@pytest.mark.parametrize("relative", ["cache", "./cache", "~/cache"])
def test_a_relative_path_is_not_used(root, tmp_path, monkeypatch, refused, relative):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RISKCORE_CACHE_DIR", relative)
    refused(tmp_path, f"RISKCORE_CACHE_DIR={relative!r} is not absolute")


@needs.posix
def test_the_place_by_default(tmp_path, monkeypatch):
    monkeypatch.delenv("RISKCORE_CACHE_DIR", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    for other in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", other)
        assert code_cache.root_path() == str(tmp_path / ".cache/riskcore")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert code_cache.root_path() == str(tmp_path / "xdg/riskcore")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert code_cache.root_path() is None  # a user without a home


# --- one at a time --------------------------------------------------------------------

HOLD = f"""
import sys
from riskcore.core.compiled import code_cache
with code_cache.locked({BUILD!r}, {NAME!r}):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(root):
    """Return a process that holds the lock of a file."""
    path = str(Path(code_cache.__file__).parents[2])
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD],
        env=dict(os.environ, PYTHONPATH=path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


@needs.posix
@pytest.mark.parametrize("end", ["done", "killed"])
def test_who_waits_goes_on_when_the_other_ends(holder, monkeypatch, caplog, end):
    caplog.set_level("INFO", "riskcore")
    code_cache.say_once.cache_clear()
    looks = []

    def look_again(_):
        looks.append(holder.poll())
        if len(looks) == 3:
            holder.stdin.close() if end == "done" else holder.kill()
            holder.wait()

    monkeypatch.setattr(time, "sleep", look_again)
    with code_cache.locked(BUILD, NAME):
        assert holder.poll() == (0 if end == "done" else -signal.SIGKILL)
    assert looks == [None] * 3
    assert caplog.text.count("waiting for another process") == 1


@needs.posix
def test_who_waits_goes_on_at_last(holder, monkeypatch):
    monkeypatch.setattr(code_cache, "_PATIENCE", 0.0)
    with code_cache.locked(BUILD, NAME):
        assert holder.poll() is None


@needs.posix
def test_other_files_wait_for_nobody(holder):
    for build, name in [(BUILD, "other.o"), ("b" * 24, NAME)]:
        with code_cache.locked(build, name):
            assert holder.poll() is None


@needs.posix
def test_a_process_forked_meanwhile_does_not_keep_the_lock(root, monkeypatch):
    with code_cache.locked(BUILD, NAME):
        # What a fork does: a second descriptor of the same open file.
        (file,) = [
            int(each)
            for each in os.listdir("/dev/fd")
            if os.path.realpath(f"/dev/fd/{each}").endswith(f"{NAME}.lock")
        ]
        copy = os.dup(file)
    monkeypatch.setattr(code_cache, "_wait_for", lambda name: pytest.fail("it waits"))
    with code_cache.locked(BUILD, NAME):
        os.close(copy)
