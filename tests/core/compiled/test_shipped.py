"""Machine code that came with the package: what fits is read, all else is not there."""

import logging

import pytest

from riskcore.core.compiled import shipped
from riskcore.core.compiled.shipped import Piece

PLATFORM = "linux-x86_64"
TRIPLE = shipped.TRIPLES[PLATFORM]
LEVELS = ["x86-64-v4", "x86-64-v3", "x86-64-v2"]
KNOWN = shipped.PROCESSORS["x86_64"]
SOURCES, OTHERS = "5" * 64, "7" * 64
PIECES = {
    "riskcore.forms.one": Piece(SOURCES, b"one\n" + bytes(range(256)) * 9),
    "riskcore.forms.two": Piece(SOURCES, b"two\n"),
}


def having(*features):
    """Return features of a processor as LLVM reports them."""
    every = {each for needed in KNOWN.values() for each in needed}
    return {each: each in features for each in sorted(every)} | {"sse2": True}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the folder of the package's machine code, with nothing remembered."""
    folder = tmp_path / "objects"
    monkeypatch.setattr(shipped, "FOLDER", folder)
    shipped.index.cache_clear()
    yield folder
    shipped.index.cache_clear()


def read(name="riskcore.forms.one", sources=SOURCES, triple=TRIPLE, processor="v"):
    return shipped.read(name, sources, triple, processor, having(*KNOWN["x86-64-v3"]))


def test_what_is_written_is_read(folder):
    path = shipped.write(folder, PLATFORM, "x86-64-v3", PIECES)
    assert path == folder / "x86-64-v3.objects"
    for name, piece in PIECES.items():
        assert read(name) == piece.content
    assert read("riskcore.forms.three") is None


def test_the_file_does_not_depend_on_the_order_of_pieces(folder, tmp_path):
    turned = dict(reversed(PIECES.items()))
    paths = [
        shipped.write(tmp_path / str(i), PLATFORM, "x86-64-v3", pieces)
        for i, pieces in enumerate((PIECES, turned))
    ]
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_without_files_there_is_nothing(folder):
    assert read() is None


def test_code_of_other_sources_is_not_read(folder, caplog):
    shipped.write(folder, PLATFORM, "x86-64-v3", PIECES)
    with caplog.at_level(logging.DEBUG, "riskcore"):
        assert read(sources=OTHERS) is None
    assert "of other sources" in caplog.text
    assert {each.levelno for each in caplog.records} == {logging.DEBUG}


@pytest.mark.parametrize(
    "triple", ["aarch64-unknown-linux-gnu", "x86_64-apple-darwin", "i686-pc-linux-gnu"]
)
def test_code_for_another_platform_is_not_read(folder, triple):
    shipped.write(folder, PLATFORM, "x86-64-v3", PIECES)
    (folder / "x86-64-v3.objects").rename(folder / "generic.objects")
    shipped.write(folder, PLATFORM, "x86-64-v3", PIECES)
    assert read(triple=triple) is None


def test_a_file_under_the_name_of_another_processor_is_not_read(folder):
    path = shipped.write(folder, PLATFORM, "x86-64-v4", PIECES)
    path.rename(folder / "x86-64-v3.objects")
    assert read() is None


def damages():
    return {
        "empty": lambda whole: b"",
        "no line": lambda whole: b"\xff" * 100,
        "another version": lambda whole: whole.replace(b"code 1,", b"code 2,"),
        "half of the index": lambda whole: whole[:100],
        "a number that is none": lambda whole: whole.replace(b"\nriskcore", b"\nx "),
        "cut": lambda whole: whole[:-1],
        "longer": lambda whole: whole + b"x",
        "other bytes": lambda whole: whole[:-30] + bytes(30),
    }


@pytest.mark.parametrize("damage", damages())
def test_damage_is_as_if_nothing_were_there(folder, damage):
    path = shipped.write(folder, PLATFORM, "x86-64-v3", PIECES)
    path.write_bytes(damages()[damage](path.read_bytes()))
    assert [read(name) for name in PIECES] != [each.content for each in PIECES.values()]
    for name, piece in PIECES.items():
        assert read(name) in (None, piece.content)


def test_every_flipped_byte_is_noticed(folder):
    path = shipped.write(folder, PLATFORM, "x86-64-v3", PIECES)
    whole = path.read_bytes()
    for i in range(len(whole)):
        path.write_bytes(whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :])
        shipped.index.cache_clear()
        for name, piece in PIECES.items():
            assert read(name) in (None, piece.content), i


def test_a_file_that_cannot_be_read(folder):
    (folder / "x86-64-v3.objects").mkdir(parents=True)
    assert read() is None


def test_the_best_code_that_runs_is_read(folder):
    for level in LEVELS:
        piece = Piece(SOURCES, level.encode())
        shipped.write(folder, PLATFORM, level, {"riskcore.forms.one": piece})
    assert read() == b"x86-64-v3"
    assert read(processor="x86-64-v2") == b"x86-64-v2"
    shipped.write(
        folder, PLATFORM, "x86-64-v3", {"other": PIECES["riskcore.forms.two"]}
    )
    shipped.index.cache_clear()
    assert read() == b"x86-64-v2"


# --- what runs where ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("triple", "platform"),
    [
        ("x86_64-unknown-linux-gnu", "linux-x86_64"),
        ("x86_64-unknown-linux-musl", "linux-x86_64"),
        ("x86_64-pc-linux-gnu", "linux-x86_64"),
        ("aarch64-unknown-linux-gnu", "linux-arm64"),
        ("arm64-apple-darwin23.1.0", "macos-arm64"),
        ("x86_64-apple-darwin20.6.0", "macos-x86_64"),
        ("x86_64-pc-windows-msvc", "windows-x86_64"),
        ("aarch64-pc-windows-msvc", None),
        ("i686-unknown-linux-gnu", None),
        ("x86_64-unknown-linux-gnux32", None),
        ("x86_64-unknown-freebsd14", None),
        ("riscv64-unknown-linux-gnu", None),
        ("", None),
    ],
)
def test_platforms(triple, platform):
    assert shipped.platform_of(triple) == platform


@pytest.mark.parametrize("kind", range(4))
def test_levels_of_x86(kind):
    # Each level has what the ones below it need.
    levels = LEVELS[kind:]
    features = having(*(KNOWN[levels[0]] if levels else ()))
    assert shipped.fitting(PLATFORM, "znver4", features) == levels


@pytest.mark.parametrize("level", LEVELS)
def test_one_feature_less_is_a_level_less(level):
    for lost in KNOWN[level]:
        features = having(*(KNOWN[level] - {lost}))
        assert level not in shipped.fitting(PLATFORM, "skylake", features)


def test_the_levels_are_those_of_the_psabi():
    # As many as its table lists: 7, 9 and 5.
    assert [len(KNOWN[level]) for level in LEVELS] == [21, 16, 7]
    assert KNOWN["x86-64-v2"] < KNOWN["x86-64-v3"] < KNOWN["x86-64-v4"]


def test_any_arm_processor_runs_what_is_for_arm():
    assert shipped.fitting("linux-arm64", "neoverse-n1", {"neon": True}) == ["generic"]


def test_a_processor_of_which_nothing_is_known_runs_nothing():
    assert shipped.fitting(PLATFORM, "znver9", {}) == []


@pytest.mark.parametrize(
    "name", ["RISKCORE_COMPILE", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"]
)
def test_it_can_be_refused(monkeypatch, name):
    for each in ("RISKCORE_COMPILE", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"):
        monkeypatch.delenv(each, raising=False)
    assert not shipped.refused()
    monkeypatch.setenv(name, "")
    assert not shipped.refused()
    monkeypatch.setenv(name, "1")
    assert shipped.refused()
