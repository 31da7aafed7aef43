"""Files that appear together: modes, leftovers, kills, odd targets."""

import errno
import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from riskcore.data.files import formats, replace
from tests import needs

OTHER = 12345


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def made(path, text="old", mode=0o644):
    path.write_text(text)
    path.chmod(mode)
    return path


def hidden(folder):
    return sorted(name for name in os.listdir(folder) if name.startswith("."))


@pytest.fixture
def umask():
    """Set the umask for one test."""
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


# Together


def test_files_appear_together(tmp_path):
    made(tmp_path / "a")
    with replace.replacing_all(overwrite=True) as create:
        create(tmp_path / "a").write(b"1")
        formats.write(tmp_path / "b.csv", {"x": [1]}, create=create)
        assert (tmp_path / "a").read_text() == "old"
        assert not (tmp_path / "b.csv").exists()
    assert (tmp_path / "a").read_text() == "1"
    assert (tmp_path / "b.csv").read_text() == "x\n1\n"
    assert sorted(os.listdir(tmp_path)) == ["a", "b.csv"]


def test_no_file_at_all():
    with replace.replacing_all(overwrite=False):
        pass


@pytest.mark.parametrize("with_locks", [True, False])
@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("failing", ["body", "fsync", "replace", "existing", "twice"])
def test_files_fail_together(tmp_path, monkeypatch, failing, links, with_locks):
    """Every call of a function fails in turn; without locks, as on Windows."""
    monkeypatch.setattr(replace, "_LOCKS", with_locks and needs.ON_POSIX)
    old = made(tmp_path / "old", mode=0o640)
    if not links:
        monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError))

    def write_three():
        with replace.replacing_all(overwrite=failing != "existing") as create:
            create(tmp_path / "new").write(b"1")
            create(old).write(b"2")
            if failing == "twice":
                create(old)
            create(tmp_path / "last").write(b"3")
            if failing == "body":
                raise OSError("disk full")

    if failing not in ("fsync", "replace"):
        with pytest.raises((OSError, ValueError)):
            write_three()
        assert os.listdir(tmp_path) == ["old"]
        assert (old.read_text(), mode(old)) == ("old", 0o640)
        return
    function, failures = getattr(os, failing), 0
    for number in range(1, 100):
        calls = []

        def called(*args, calls=calls, number=number):
            calls.append(args)
            if len(calls) == number:
                raise OSError("disk full")
            return function(*args)

        monkeypatch.setattr(os, failing, called)
        try:
            write_three()
        except OSError:
            failures += 1
        else:
            break  # also if what fails comes after all files have their places
        assert os.listdir(tmp_path) == ["old"]
        assert (old.read_text(), mode(old)) == ("old", 0o640)
    assert failures >= 3
    assert sorted(os.listdir(tmp_path)) == ["last", "new", "old"]
    assert old.read_text() == "2"


def test_an_old_file_comes_back_with_its_time_and_mode(tmp_path, monkeypatch):
    old = made(tmp_path / "old", mode=0o640)
    os.utime(old, ns=(10**9, 2 * 10**9))
    monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError))
    copies, really = [], os.replace

    def spy(source, target):
        if str(target).endswith("last"):
            copies.extend(tmp_path.glob(".riskcore-*.old"))
            assert [mode(copy) for copy in copies] == [0o600]
            raise OSError("disk full")
        really(source, target)

    monkeypatch.setattr(os, "replace", spy)

    def write_two():
        with replace.replacing_all(overwrite=True) as create:
            create(old).write(b"2")
            create(tmp_path / "last").write(b"3")

    with pytest.raises(OSError, match="disk full"):
        write_two()
    assert copies
    assert (old.read_text(), old.stat().st_mtime_ns) == ("old", 2 * 10**9)
    assert mode(old) == 0o640
    assert os.listdir(tmp_path) == ["old"]


@needs.posix
def test_all_is_on_the_disk_before_the_first_renaming(tmp_path, monkeypatch):
    """So that a loss of power, too, leaves a journal that can be followed."""
    (tmp_path / "p").mkdir()
    (tmp_path / "q").mkdir()
    done, fsync, rename = [], os.fsync, os.replace

    def synced(file):
        found = os.fstat(file)
        done.append("folder" if stat.S_ISDIR(found.st_mode) else "file")
        fsync(file)

    def renamed(source, target):
        done.append(Path(target).suffix or Path(target).name)
        rename(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    with replace.replacing_all(overwrite=False) as create:
        for name in ("p/a", "q/b"):
            create(tmp_path / name).write(b"1")
    assert done == [
        "file", "file",  # the parts
        "file", ".journal", "folder", "folder",  # the note in q, and what p and q hold
        "file", ".journal", "folder",
        "a", "b", "folder", "folder",
        "folder", "folder",  # and no journal
    ]  # fmt: skip


@pytest.mark.parametrize("names", ["a", "ab"])
def test_an_interrupt_after_the_last_renaming_undoes_nothing(
    tmp_path, monkeypatch, names
):
    for name in names:
        made(tmp_path / name)
    really = os.replace

    def interrupted(source, target):
        really(source, target)
        if Path(target).name == names[-1]:
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)

    def write():
        with replace.replacing_all(overwrite=True) as create:
            for name in names:
                create(tmp_path / name).write(b"new")

    with pytest.raises(KeyboardInterrupt):
        write()
    assert [(tmp_path / name).read_text() for name in names] == ["new"] * len(names)
    assert sorted(os.listdir(tmp_path)) == list(names)


# Modes


@needs.posix
@pytest.mark.parametrize("bits", [0o600, 0o640, 0o444, 0o664, 0o666])
def test_a_file_keeps_the_mode_of_that_it_replaces(tmp_path, umask, bits):
    path = made(tmp_path / "a.csv", mode=bits)
    formats.write(path, {"x": [1]}, overwrite=True)
    assert (path.read_text(), mode(path)) == ("x\n1\n", bits)


@needs.posix
@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077, 0o002, 0o000])
def test_a_new_file_has_the_mode_of_the_umask(tmp_path, umask, mask):
    umask(mask)
    formats.write(tmp_path / "a.csv", {"x": [1]})
    assert mode(tmp_path / "a.csv") == 0o666 & ~mask
    assert umask(0o022) == mask


@needs.posix
@pytest.mark.parametrize("existing", [None, 0o644, 0o600])
@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ([0o600], 0o600),
        ([0o640], 0o640),
        ([0o644, 0o640, 0o604], 0o600),
        ([0o444], 0o444),
        ([0o777], 0o644),
        (["absent"], 0o600),
    ],
)
def test_no_file_is_more_open_than_its_sources(
    tmp_path, umask, existing, sources, expected
):
    paths = []
    for i, bits in enumerate(sources):
        path = tmp_path / f"source-{i}"
        paths.append(path if bits == "absent" else made(path, mode=bits))
    targets = [tmp_path / "a", tmp_path / "b"]
    for target in targets if existing else []:
        made(target, mode=existing)
    with replace.replacing_all(overwrite=True, sources=paths) as create:
        for target in targets:
            create(target).write(b"new")
    allowed = expected & (existing or 0o644)
    assert [mode(target) for target in targets] == [allowed, allowed]


@needs.posix
@pytest.mark.parametrize("existing", [None, 0o644, 0o400])
def test_a_private_file_is_its_owners_alone(tmp_path, umask, existing):
    umask(0)
    if existing:
        made(tmp_path / "secret", mode=existing)
    with replace.replacing_all(overwrite=True) as create:
        create(tmp_path / "secret", private=True).write(b"1")
        create(tmp_path / "open").write(b"2")
    assert mode(tmp_path / "secret") == 0o600
    assert mode(tmp_path / "open") == 0o666


@needs.posix
@pytest.mark.parametrize("mask", [0o000, 0o277])
def test_parts_are_private_from_the_first_byte(tmp_path, umask, mask, monkeypatch):
    modes, really = [], os.open

    def spy(path, flags, *rest, **named):
        file = really(path, flags, *rest, **named)
        if flags & os.O_CREAT:
            assert flags & os.O_EXCL
            assert flags & os.O_NOFOLLOW
            modes.append(stat.S_IMODE(os.fstat(file).st_mode) & 0o077)
        return file

    monkeypatch.setattr(os, "open", spy)
    umask(mask)
    with replace.replacing_all(overwrite=False) as create:
        for name in "ab":
            file = create(tmp_path / name)
            assert re.fullmatch(r"\.riskcore-[0-9a-f]{16}\.part", Path(file.name).name)
            assert mode(file.name) == 0o600
            file.write(b"1")
    assert modes
    assert set(modes) == {0}


@needs.root
@pytest.mark.parametrize("others", [[], ["beside"]])
def test_owner_and_group_are_kept(tmp_path, others):
    path = made(tmp_path / "a", mode=0o640)
    os.chown(path, OTHER, OTHER + 1)
    with replace.replacing_all(overwrite=True) as create:
        for name in ["a", *others]:
            create(tmp_path / name).write(b"new")
    found = path.stat()
    assert (found.st_uid, found.st_gid, mode(path)) == (OTHER, OTHER + 1, 0o640)
    assert path.read_text() == "new"
    assert sorted(os.listdir(tmp_path)) == ["a", *others]


@needs.root
@needs.posix
def test_killed_while_a_file_changes_its_owner(tmp_path, python):
    path = made(tmp_path / "a", mode=0o640)
    os.chown(path, OTHER, OTHER + 1)
    process = python(
        "import os; from pathlib import Path; from riskcore.data.files import replace\n"
        "really = os.replace\n"
        "def killed(source, target):\n"
        "    if Path(target).name == 'a': os._exit(9)\n"
        "    really(source, target)\n"
        "os.replace = killed\n"
        "with replace.replacing(Path('a'), True) as file: file.write(b'new')",
        wait=False,
    )
    process.communicate()
    assert process.returncode == 9
    replace.refuse_existing(tmp_path / "b", overwrite=False)
    found = path.stat()
    assert (found.st_uid, found.st_gid, mode(path)) == (OTHER, OTHER + 1, 0o640)
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a"]


@needs.root
def test_a_group_that_cannot_be_kept_has_no_rights(tmp_path, monkeypatch):
    path = made(tmp_path / "a", mode=0o664)
    os.chown(path, 0, OTHER)

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "fchown", refuse)
    with replace.replacing(path, True) as file:
        file.write(b"new")
    assert (path.stat().st_gid, mode(path)) == (os.getegid(), 0o604)


@needs.root
@pytest.mark.parametrize(("source", "expected"), [(0o640, 0o600), (0o644, 0o644)])
def test_the_group_of_a_source_is_not_any_group(tmp_path, umask, source, expected):
    """What its group may read a file of another group does not show to that one."""
    path = made(tmp_path / "source", mode=source)
    os.chown(path, 0, OTHER)
    with replace.replacing(tmp_path / "new", False, [path]) as file:
        file.write(b"new")
    assert mode(tmp_path / "new") == expected


@needs.posix
def test_a_safe_file_is_not_more_open_than_its_source(tmp_path, umask):
    source = made(tmp_path / "a.csv", "x\n1\n", mode=0o600)
    like = formats.format_of(source)
    formats.write(tmp_path / "b.csv", formats.read(source), like=like)
    assert mode(tmp_path / "b.csv") == 0o600


# Names


@pytest.mark.parametrize("length", [1, 244, 255])
@pytest.mark.parametrize("old", [True, False])
def test_names_as_long_as_they_can_be(tmp_path, length, old):
    paths = [tmp_path / (letter * length) for letter in "ab"]
    for path in paths if old else []:
        made(path)
    with replace.replacing_all(overwrite=old) as create:
        for path in paths:
            create(path).write(b"new")
    assert [path.read_text() for path in paths] == ["new", "new"]
    assert len(os.listdir(tmp_path)) == 2


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    made(tmp_path / "there" / "a")
    (tmp_path / "link").symlink_to("there/a")
    with replace.replacing(tmp_path / "link", True) as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "a").read_text() == "new"
    assert sorted(os.listdir(tmp_path)) == ["link", "there"]


def odd(tmp_path, kind):
    """Return a path where a file cannot be written, and the error."""
    made(tmp_path / "file")
    (tmp_path / "folder").mkdir()
    for name, there in [("a", "b"), ("b", "a"), ("nowhere", "absent")]:
        (tmp_path / name).symlink_to(there)
    path, said = {
        "loop": ("a", "a loop of symbolic links"),
        "in a loop": ("a/x", "a loop of symbolic links"),
        "dangling": ("nowhere", "a broken link"),
        "folder": ("folder", "a directory"),
        "below a file": ("file/x", "file: not a directory"),
        "in no folder": ("no/x", "no such directory"),
        "too long": ("x" * 256, "File name too long"),
        "NUL": ("x\0y", "cannot have a NUL"),
        "empty": ("", "a directory"),
        "existing": ("file", "exists"),
    }[kind]
    return tmp_path / path, said


ODD = ["loop", "in a loop", "dangling", "folder", "below a file", "in no folder",
       "too long", "NUL", "empty", "existing"]  # fmt: skip


@pytest.mark.parametrize("kind", ODD)
def test_odd_targets_are_refused(tmp_path, kind):
    path, said = odd(tmp_path, kind)
    before = sorted(os.listdir(tmp_path))
    with pytest.raises((OSError, ValueError), match=said):
        replace.refuse_existing(path, overwrite=False)
    with (
        pytest.raises((OSError, ValueError), match=said),
        replace.replacing(path, overwrite=False),
    ):
        pass
    assert sorted(os.listdir(tmp_path)) == before


@needs.posix
@pytest.mark.parametrize("name", ["/dev/null", "fifo"])
def test_devices_are_refused(tmp_path, name):
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OSError, match="a device, not a file"):
        replace.refuse_existing(tmp_path / name, overwrite=True)


@needs.posix
def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path, monkeypatch):
    if os.geteuid() == 0:
        # Root may write everywhere; the question is asked for whom one works as.
        monkeypatch.setattr(os, "access", lambda *_, **__: False)
        monkeypatch.setattr(os, "supports_effective_ids", {os.access})
    else:
        tmp_path.chmod(0o555)
    with pytest.raises(PermissionError, match="a directory that you may not write to"):
        replace.refuse_existing(tmp_path / "a", overwrite=False)


def test_sources_and_names_given_twice(tmp_path):
    source = made(tmp_path / "a")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "loop").symlink_to("loop")
    for target in ("a", "link"):
        with pytest.raises(ValueError, match="an input file"):
            replace.refuse_sources([tmp_path / target], [source])
    with pytest.raises(ValueError, match="two output files have this name"):
        replace.refuse_sources([tmp_path / "x", tmp_path / "." / "x"], [source])
    replace.refuse_sources([tmp_path / "loop", tmp_path / "x"], [source])


# Leftovers


PART = ".riskcore-0123456789abcdef.part"


@needs.posix
@pytest.mark.parametrize("bits", [0o600, 0o400, 0o644])
def test_leftovers_go_whatever_is_written_next(tmp_path, bits):
    made(tmp_path / PART, mode=bits)
    formats.write(tmp_path / "other.csv", {"x": [1]})
    assert os.listdir(tmp_path) == ["other.csv"]


@needs.posix
def test_leftovers_that_cannot_be_written_to_go(tmp_path, monkeypatch):
    made(tmp_path / PART, mode=0o400)
    really = os.open

    def refused(path, flags, *rest, **named):
        if flags & os.O_RDWR:
            raise PermissionError  # as for everybody but root
        return really(path, flags, *rest, **named)

    monkeypatch.setattr(os, "open", refused)
    replace.refuse_existing(tmp_path / "a", overwrite=False)
    assert os.listdir(tmp_path) == []


@needs.posix
def test_leftovers_of_the_folder_that_a_link_leads_to(tmp_path):
    (tmp_path / "there").mkdir()
    made(tmp_path / "there" / "a")
    made(tmp_path / "there" / PART)
    (tmp_path / "link").symlink_to("there/a")
    replace.refuse_existing(tmp_path / "link", overwrite=True)
    assert os.listdir(tmp_path / "there") == ["a"]


@needs.posix
def test_what_is_not_ours_stays(tmp_path):
    names = [".riskcore-1.part", f"x{PART}", f"{PART}.bak", PART.upper(), ".a.part",
             PART.replace("0", "g"), PART.replace(".part", ".old")]  # fmt: skip
    for name in names:
        made(tmp_path / name)
    (tmp_path / PART).symlink_to(names[0])
    (tmp_path / PART.replace("0", "1")).mkdir()
    os.mkfifo(tmp_path / PART.replace("0", "2"))
    before = sorted(os.listdir(tmp_path))
    formats.write(tmp_path / "a.csv", {"x": [1]})
    assert sorted(os.listdir(tmp_path)) == sorted([*before, "a.csv"])


@needs.root
def test_leftovers_of_others_stay(tmp_path):
    os.chown(made(tmp_path / PART), OTHER, OTHER)
    formats.write(tmp_path / "a.csv", {"x": [1]})
    assert sorted(os.listdir(tmp_path)) == [PART, "a.csv"]


@needs.posix
def test_parts_in_use_stay(tmp_path, python):
    with replace.replacing(tmp_path / "a", False) as file:
        file.write(b"1")
        formats.write(tmp_path / "b.csv", {"x": [1]})
        python(
            "from pathlib import Path; from riskcore.data.files import replace\n"
            "with replace.replacing(Path('c'), False) as file: file.write(b'1')"
        )
        assert Path(file.name).exists()
    assert sorted(os.listdir(tmp_path)) == ["a", "b.csv", "c"]


@needs.posix
def test_a_part_swept_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    really, calls = replace.fcntl.flock, []

    def swept(file, how):
        calls.append(file)
        if len(calls) == 1:
            (part,) = tmp_path.iterdir()
            part.unlink()
        if len(calls) == 2:
            raise BlockingIOError(errno.EWOULDBLOCK, "locked by who sweeps")
        if len(calls) == 4:
            raise OSError(errno.ENOLCK, "no locks here")
        really(file, how)

    monkeypatch.setattr(replace.fcntl, "flock", swept)
    with replace.replacing_all(overwrite=False) as create:
        create(tmp_path / "a").write(b"1")
        assert len(calls) == 3
        create(tmp_path / "b").write(b"1")
        assert len(calls) == 4
        assert len(hidden(tmp_path)) == 2
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


@needs.posix
def test_a_part_that_becomes_another_file_is_not_swept(tmp_path, monkeypatch):
    made(tmp_path / PART, "dead")
    really = replace.fcntl.flock

    def changed(file, how):
        really(file, how)
        (tmp_path / PART).unlink()
        made(tmp_path / PART, "alive")

    monkeypatch.setattr(replace.fcntl, "flock", changed)
    replace.refuse_existing(tmp_path / "a", overwrite=False)
    assert (tmp_path / PART).read_text() == "alive"


# The journal


def journal_of(folder, *entries, **changed):
    """Write the journal of a dead run that had written a and b; return its path."""
    moves = []
    for number, name in enumerate("ab"):
        part = made(folder / f".riskcore-{number:016x}.part", "new", 0o600)
        found = part.stat()
        moves.append(
            {
                "target": name,
                "part": part.name,
                "identity": [found.st_ino, found.st_size, found.st_mtime_ns],
                "before": None,
                "mode": 0o640,
                "owner": None,
                "old": None,
                "old_mode": 0,
            }
        )
    moves[1].update(changed)
    path = folder / ".riskcore-00000000000000ff.journal"
    return made(path, json.dumps({"moves": moves}), 0o600)


@needs.posix
def test_a_journal_is_followed(tmp_path):
    journal_of(tmp_path)
    replace.refuse_existing(tmp_path / "c", overwrite=False)
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]
    assert [(tmp_path / name).read_text() for name in "ab"] == ["new", "new"]
    assert mode(tmp_path / "a") == 0o640


@needs.posix
@pytest.mark.parametrize(
    "change",
    ["mode", "link", pytest.param("owner", marks=needs.root), "content", "in use"],
)
def test_a_journal_that_cannot_be_trusted_is_not_followed(tmp_path, change):
    path, holder = journal_of(tmp_path), None
    if change == "mode":
        path.chmod(0o660)
    elif change == "link":
        path.rename(tmp_path / "journal")
        path.symlink_to("journal")
    elif change == "owner":
        os.chown(path, OTHER, OTHER)
    elif change == "content":
        path.write_text("{}")
    else:
        holder = path.open("rb")
        replace.fcntl.flock(holder, replace.fcntl.LOCK_EX)
    replace.refuse_existing(tmp_path / "c", overwrite=False)
    assert path.name in os.listdir(tmp_path)
    assert not {"a", "b"} & set(os.listdir(tmp_path))
    if holder:
        assert len(list(tmp_path.glob(".riskcore-*.part"))) == 2
        holder.close()
        replace.refuse_existing(tmp_path / "c", overwrite=False)
        assert sorted(os.listdir(tmp_path)) == ["a", "b"]


@needs.posix
@pytest.mark.parametrize(
    "changed",
    [
        {"part": "../victim"},
        {"part": "victim"},
        {"part": None},
        {"part": ".riskcore-0000000000000001.journal"},
        {"old": "victim"},
        {"identity": ["1", 2, 3]},
        {"mode": "640"},
        {"owner": "root"},
        {"target": 3},
    ],
)
def test_odd_journals_are_left(tmp_path, changed):
    made(tmp_path / "victim")
    path = journal_of(tmp_path, **changed)
    replace.refuse_existing(tmp_path / "c", overwrite=False)
    assert sorted(os.listdir(tmp_path)) == [path.name, "victim"]
    assert (tmp_path / "victim").read_text() == "old"


@needs.posix
@pytest.mark.parametrize("what", ["part", "target", "new target"])
def test_what_another_program_changed_is_left_alone(tmp_path, what):
    if what == "target":
        before = made(tmp_path / "b").stat()
        identity = [before.st_ino, before.st_size, before.st_mtime_ns]
        journal_of(tmp_path, before=identity)
        made(tmp_path / "b", "by hand")
    else:
        journal_of(tmp_path)
    if what == "part":
        (tmp_path / ".riskcore-0000000000000001.part").write_text("changed")
    elif what == "new target":
        made(tmp_path / "b", "by hand")
    replace.refuse_existing(tmp_path / "c", overwrite=False)
    left = {} if what == "part" else {"b": "by hand"}
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == left


# Kills

# Writes three files in two folders and is killed, or interrupted, at one step, and that
# for each step in turn. A step is a call of the system that changes what others see,
# or a line of the module. Then the next run looks at one of the folders, perhaps killed
# itself, and another one writes.
DRIVER = """
import json, os, shutil, sys, traceback
from pathlib import Path
from riskcore.data.files import replace

OLD = {"p/x": "old", "q/z": "old"}
NEW = {"p/x": "new", "p/y": "new", "q/z": "new"}
CALLS = {"open", "os.link", "os.rename", "os.remove", "os.chmod", "os.chown",
         "fcntl.flock"}
os.fsync = lambda file: None  # slow, and a kill asks for none


def state(top):
    return {str(path.relative_to(top)): path.read_text()
            for path in top.rglob("[!.]*") if path.is_file()}


def fresh(top):
    for folder in ("p", "q"):
        (top / folder).mkdir(parents=True)
    for name, text in OLD.items():
        (top / name).write_text(text)


def write(top, word="new"):
    with replace.replacing_all(True) as create:
        for name in NEW:
            create(top / name).write(word.encode())


def look(top, folder):
    replace.refuse_existing(top / folder / "other", True)


def die():
    os._exit(9)


def interrupt():
    raise KeyboardInterrupt


class Stop:
    "Acts at a step."

    def __init__(self, step, act):
        self.left, self.act = step, act

    def count(self):
        self.left -= 1
        if self.left == 0:
            self.act()

    def on_call(self, event, _):
        if event in CALLS:
            self.count()

    def on_line(self, frame, event, _):
        if frame.f_code.co_filename != replace.__file__:
            return None
        if event == "line":
            self.count()
        return self.on_line


def failing(number):
    really, calls = os.replace, []

    def replace_or_fail(*paths):
        calls.append(paths)
        if len(calls) == number:
            raise OSError("disk full")
        really(*paths)

    os.replace = replace_or_fail


def run(function, *arguments, step=0, act=die, fail=0, steps="calls"):
    "Return 9 if killed, 1 if interrupted, 3 if failed, and whether the step was met."
    process = os.fork()
    if process:
        return divmod(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), 10)[::-1]
    stop, status = Stop(step, act), 0
    failing(fail)
    try:
        if steps == "lines":
            sys.settrace(stop.on_line)
        else:
            sys.addaudithook(stop.on_call)
        function(*arguments)
    except OSError:
        status = 3
    except KeyboardInterrupt:
        status = 1
    except BaseException:
        traceback.print_exc()
        status = 2
    os._exit(status + (10 if stop.left > 0 else 0))


def scene(folder, first, second):
    "Return what is there after a first run, after looks, and after a last run."
    top = Path("top")
    fresh(top)
    seen = {"first": run(write, top, **first), "there": state(top)}
    seen["look"] = run(look, top, folder, **second)
    run(look, top, folder)
    seen["then"] = state(top)
    write(top, "again")
    seen["hidden"] = [path.name for path in top.rglob(".riskcore-*")]
    shutil.rmtree(top)
    return seen


def scenes(folder, act, fail, step, steps):
    "Vary the step at which the first run ends, or, if that is given, the second."
    act = {"kill": die, "interrupt": interrupt}[act]
    seen, number = [], 0
    while True:
        number += 1
        first = {"step": step or number, "act": act, "fail": fail, "steps": steps}
        second = {"step": number if step else 0}
        seen.append(scene(folder, first, second))
        if seen[-1]["look" if step else "first"][1]:
            return seen


print(json.dumps(scenes(*ARGUMENTS)))
"""
OLD = {"p/x": "old", "q/z": "old"}
NEW = {"p/x": "new", "p/y": "new", "q/z": "new"}
SLOW = pytest.mark.slow
STEPS = ["calls", pytest.param("lines", marks=SLOW)]


@pytest.fixture
def scenes(tmp_path):
    """Run the driver."""

    def run(folder, act="kill", fail=0, step=0, steps="calls"):
        arguments = [folder, act, fail, step, steps]
        done = subprocess.run(
            [sys.executable, "-c", f"ARGUMENTS = {arguments}\n{DRIVER}"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(Path(replace.__file__).parents[2])},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)

    return run


@needs.posix
@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("folder", ["p", "q"])
def test_killed_at_any_step(scenes, folder, steps):
    seen = scenes(folder, steps=steps)
    for one in seen:
        assert one["hidden"] == []
        assert one["then"] in (OLD, NEW)
        if one["there"] not in (OLD, NEW):
            assert one["then"] == NEW
    assert any(one["there"] not in (OLD, NEW) for one in seen)
    assert any(one["there"] == OLD and one["then"] == NEW for one in seen)
    assert any(one["then"] == OLD for one in seen)
    assert (seen[-1]["first"][0], seen[-1]["there"]) == (0, NEW)


@needs.posix
@pytest.mark.parametrize("steps", STEPS)
def test_interrupted_at_any_step(scenes, steps):
    """Ctrl-C at any moment leaves all files old, or all new, at once."""
    seen = scenes("p", "interrupt", steps=steps)
    for one in seen:
        assert one["first"][0] in (0, 1)
        assert one["there"] in (OLD, NEW)
        assert one["then"] in (OLD, NEW)
        assert one["hidden"] == []
    assert any(one["first"][0] == 1 and one["there"] == NEW for one in seen)


@needs.posix
@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("fail", [*(pytest.param(i, marks=SLOW) for i in (3, 4)), 5])
def test_killed_at_any_step_after_an_error(scenes, fail, steps):
    """The 1st, 2nd or 3rd target fails; what undoes the others is killed."""
    seen = scenes("q", fail=fail, steps=steps)
    for one in seen:
        assert one["then"] in (OLD, NEW)
        assert one["hidden"] == []
    assert (seen[-1]["first"][0], seen[-1]["there"]) == (3, OLD)
    assert fail == 3 or any(one["there"] not in (OLD, NEW) for one in seen)


@needs.posix
@pytest.mark.parametrize("at", [0, -1, *(pytest.param(k, marks=SLOW) for k in (1, 2))])
@pytest.mark.parametrize("folder", ["p", pytest.param("q", marks=SLOW)])
def test_the_run_that_completes_is_killed_at_any_step(scenes, folder, at):
    first = scenes(folder)
    steps = [i for i, one in enumerate(first, 1) if one["there"] not in (OLD, NEW)]
    seen = scenes(folder, step=steps[at])
    assert {one["look"][0] for one in seen} == {9, 0}
    for one in seen:
        assert one["there"] not in (OLD, NEW)
        assert one["then"] == NEW
        assert one["hidden"] == []
