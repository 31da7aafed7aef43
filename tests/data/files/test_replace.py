"""Files that appear together: modes, leftovers, kills, odd targets."""

import errno
import os
import re
import stat
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
@pytest.mark.parametrize("failing", ["body", "fsync", "existing", "twice"])
def test_files_fail_together(tmp_path, monkeypatch, failing, with_locks):
    """Whatever fails before the renaming; without locks, as on Windows."""
    monkeypatch.setattr(replace, "_LOCKS", with_locks and needs.ON_POSIX)
    old, calls = made(tmp_path / "old", mode=0o640), []

    def fsync(file):
        calls.append(file)
        if len(calls) == 3:
            raise OSError("disk full")

    def write_three():
        with replace.replacing_all(overwrite=failing != "existing") as create:
            create(tmp_path / "new").write(b"1")
            create(old).write(b"2")
            if failing == "twice":
                create(old)
            create(tmp_path / "last").write(b"3")
            if failing == "body":
                raise OSError("disk full")

    if failing == "fsync":
        monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises((OSError, ValueError)):
        write_three()
    assert os.listdir(tmp_path) == ["old"]
    assert (old.read_text(), mode(old)) == ("old", 0o640)


def test_what_is_new_stays_new_if_a_renaming_fails(tmp_path, monkeypatch):
    really = os.replace

    def failing(source, target):
        if Path(target).name == "b":
            raise OSError("disk full")
        really(source, target)

    monkeypatch.setattr(os, "replace", failing)

    def write_two():
        with replace.replacing_all(overwrite=False) as create:
            for name in "ab":
                create(tmp_path / name).write(b"new")

    with pytest.raises(OSError, match="disk full"):
        write_two()
    assert os.listdir(tmp_path) == ["a"]


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
def test_a_group_that_cannot_be_kept_has_no_rights(tmp_path, monkeypatch):
    path = made(tmp_path / "a", mode=0o664)
    os.chown(path, 0, OTHER)

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "fchown", refuse)
    with replace.replacing_all(True) as create:
        create(path).write(b"new")
    assert (path.stat().st_gid, mode(path)) == (os.getegid(), 0o604)


@needs.root
@pytest.mark.parametrize(("source", "expected"), [(0o640, 0o600), (0o644, 0o644)])
def test_the_group_of_a_source_is_not_any_group(tmp_path, umask, source, expected):
    """What its group may read a file of another group does not show to that one."""
    path = made(tmp_path / "source", mode=source)
    os.chown(path, 0, OTHER)
    with replace.replacing_all(False, [path]) as create:
        create(tmp_path / "new").write(b"new")
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
    with replace.replacing_all(True) as create:
        create(tmp_path / "link").write(b"new")
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
        replace.replacing_all(overwrite=False) as create,
    ):
        create(path)
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
    with replace.replacing_all(False) as create:
        file = create(tmp_path / "a")
        formats.write(tmp_path / "b.csv", {"x": [1]})
        python(
            "from pathlib import Path; from riskcore.data.files import replace\n"
            "with replace.replacing_all(False) as create: create(Path('c')).write(b'1')"
        )
        assert Path(file.name).exists()
    assert sorted(os.listdir(tmp_path)) == ["a", "b.csv", "c"]


@needs.posix
@pytest.mark.parametrize("sweeper", ["gone", "still there"])
def test_a_part_swept_before_it_is_locked_is_made_again(tmp_path, monkeypatch, sweeper):
    really, calls = replace.fcntl.flock, []

    def swept(file, how):
        calls.append(file)
        if len(calls) == 1:
            (part,) = tmp_path.iterdir()
            part.unlink()
            if sweeper == "still there":
                raise BlockingIOError(errno.EWOULDBLOCK, "locked by who sweeps")
        really(file, how)

    monkeypatch.setattr(replace.fcntl, "flock", swept)
    with replace.replacing_all(False) as create:
        create(tmp_path / "a").write(b"1")
        assert len(calls) == 2
    assert (tmp_path / "a").read_text() == "1"
    assert os.listdir(tmp_path) == ["a"]


@needs.posix
def test_files_are_written_where_nothing_can_be_locked(tmp_path, monkeypatch):
    def refused(*_):
        raise OSError(errno.ENOLCK, "no locks here")

    monkeypatch.setattr(replace.fcntl, "flock", refused)
    with replace.replacing_all(overwrite=False) as create:
        for name in "ab":
            create(tmp_path / name).write(b"1")
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


@needs.posix
def test_what_a_killed_run_left_goes_with_the_next(tmp_path, python):
    made(tmp_path / "a")
    killed = python(
        "import os; from pathlib import Path; from riskcore.data.files import replace\n"
        "with replace.replacing_all(True) as create:\n"
        "    create(Path('a')).write(b'new')\n"
        "    os.kill(os.getpid(), 9)",
        wait=False,
    )
    killed.communicate()
    assert killed.returncode == -9
    assert (tmp_path / "a").read_text() == "old"
    assert len(hidden(tmp_path)) == 1
    replace.refuse_existing(tmp_path / "b", overwrite=False)
    assert os.listdir(tmp_path) == ["a"]
