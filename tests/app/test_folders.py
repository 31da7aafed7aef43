"""Where files come from: what lies in the start folder, uploads, and recent work."""

import asyncio
import os
import shutil
import stat

import pytest

from riskcore.app.folders import Folders, check_name


@pytest.fixture
def folders(tmp_path):
    """Return the folders of a place with a survey, a subfolder and ways out of it."""
    start = tmp_path / "start"
    (start / "sub").mkdir(parents=True)
    for name in ("b.csv", "A.sav", "release.toml", "notes.docx", ".hidden.csv"):
        (start / name).write_text("x,y\n1,2\n")
    (tmp_path / "outside.csv").write_text("x\n1\n")
    (start / "out.csv").symlink_to(tmp_path / "outside.csv")
    (start / "within.csv").symlink_to(start / "b.csv")
    (start / "up").symlink_to(tmp_path)
    return Folders(start)


async def parts(*sent):
    for data in sent:
        yield data


def test_a_folder_shows_what_can_be_opened(folders):
    listing = folders.listing(".")
    assert [entry.name for entry in listing.folders] == ["sub"]
    assert [entry.name for entry in listing.files] == [
        "A.sav", "b.csv", "release.toml", "within.csv",
    ]  # fmt: skip
    assert [entry.name for entry in listing.above] == ["start"]
    below = folders.listing(listing.folders[0].place)
    assert [entry.name for entry in below.above] == ["start", "sub"]
    assert below.files == []


@pytest.mark.parametrize(
    "place", ["..", "../outside.csv", "/etc/passwd", "up", "out.csv", "sub/../../x", ""]
)
def test_nothing_outside_is_opened(folders, place):
    if place:
        with pytest.raises(ValueError, match="files are opened below"):
            folders.path(place)
    else:
        assert folders.path(place) == folders.start


def test_a_place_with_a_zero_byte_is_refused(folders):
    with pytest.raises(ValueError, match="files are opened below"):
        folders.path("b.csv\0")


def test_large_folders_say_what_they_leave_out(folders, monkeypatch):
    monkeypatch.setattr("riskcore.app.folders.MOST", 3)
    listing = folders.listing(".")
    assert len(listing.folders) + len(listing.files) == 3
    assert listing.more == 2


def test_a_file_that_is_sent_is_private(folders):
    path = asyncio.run(folders.receive("new.csv", parts(b"a,b\n", b"1,2\n")))
    assert path.read_bytes() == b"a,b\n1,2\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for folder in (path.parent, folders.uploads):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert folders.path(str(path)) == path.resolve()
    assert [entry.name for entry in folders.sent()] == ["new.csv"]
    assert folders.sent_folder(path) == path.parent


def test_a_file_that_breaks_off_leaves_nothing(folders):
    async def broken():
        yield b"a,b\n"
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        asyncio.run(folders.receive("new.csv", broken()))
    assert [*folders.uploads.iterdir()] == []


def test_only_what_a_form_gives_back_is_shown(folders):
    for name in ("soft\u00adhyphen.csv", "turned\u202e.csv", "two\nlines.csv"):
        (folders.start / name).write_text("a\n1\n")
    (folders.start / " blank ").mkdir()
    (folders.start / "gro\u00df e\u0301.csv").write_text("a\n1\n")
    listing = folders.listing(".")
    assert " blank " not in [entry.name for entry in listing.folders]
    names = [entry.name for entry in listing.files]
    assert "gro\u00df e\u0301.csv" in names
    assert not any(name.startswith(("soft", "turned", "two")) for name in names)


def test_what_a_killed_app_left_of_a_file_is_removed(folders):
    inside = []

    async def hanging():
        yield b"a,b\n"
        inside.extend(folders.sent())
        (folder,) = folders.uploads.iterdir()
        (part,) = folder.iterdir()  # the one that comes stays
        shutil.copy(part, folder / f".riskcore-{0:016x}.part")
        folders.sent()
        assert [*folder.iterdir()] == [part]
        yield b"1,2\n"

    path = asyncio.run(folders.receive("new.csv", hanging()))
    assert inside == []
    assert path.read_bytes() == b"a,b\n1,2\n"


@pytest.mark.parametrize(
    "name",
    ["", ".csv", ".x.csv", "../x.csv", "a/b.csv", "a\\b.csv", "x.exe", "release.toml",
     "x\n.csv", "x\u202e.csv", "x" * 200 + ".csv"],
)  # fmt: skip
def test_odd_names_of_sent_files_are_refused(folders, name):
    with pytest.raises(ValueError, match="send a survey file under its own name"):
        check_name(name)
    with pytest.raises(ValueError, match="send a survey file under its own name"):
        asyncio.run(folders.receive(name, parts(b"x")))
    assert folders.sent() == []


def test_only_sent_files_have_a_folder_to_remove(folders):
    for place in ("b.csv", "sub", "."):
        with pytest.raises(ValueError, match="only files that were sent"):
            folders.sent_folder(folders.path(place))
    folders.new_folder()
    with pytest.raises(ValueError, match="only files that were sent"):
        folders.sent_folder(folders.uploads / "x.csv")
    assert folders.uploads.is_dir()


def test_recent_work_is_the_newest_first_and_private(folders, settings_folder):
    for name in ("b.csv", "A.sav", "b.csv"):
        folders.remember(folders.start / name)
    assert [entry.name for entry in folders.recent()] == ["b.csv", "A.sav"]
    path = settings_folder / "recent.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    os.remove(folders.start / "A.sav")
    assert [entry.name for entry in folders.recent()] == ["b.csv"]
    for damage in ("{", "[1]", '[["a"]]', "null"):
        path.write_text(damage)
        assert folders.recent() == []
    folders.remember(folders.start / "b.csv")
    assert [entry.name for entry in folders.recent()] == ["b.csv"]


def test_what_lies_outside_is_not_listed_as_recent(folders, tmp_path):
    folders.remember(tmp_path / "outside.csv")
    assert folders.recent() == []
