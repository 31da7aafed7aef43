"""Places of keys in TOML, and TOML that is written."""

import contextlib
import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskcore.common.toml_text import Places, RulesError, parsed, read_text, toml_of

HOSTILE = Path(__file__).with_name("hostile.toml").read_text()


def places_of(value, place=()):
    """Yield the place of every key and element in plain data."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for name, one in pairs:
        yield (*place, name), one
        if isinstance(one, dict | list):
            yield from places_of(one, (*place, name))


def begins(text, place, value):
    """Return whether the key, or the value of an element, begins at its place."""
    line, column = map(int, Places(text).of(place).split(":"))
    lines = text.replace("\r\n", "\n").split("\n")
    rest = "\n".join([lines[line - 1][column - 1 :], *lines[line:]])
    if isinstance(place[-1], str):
        key = KEY.match(rest)[0]
        return list(tomllib.loads(f"{key} = 1")) == [place[-1]]
    for end in range(1, len(rest) + 1):
        with contextlib.suppress(tomllib.TOMLDecodeError):
            if tomllib.loads(f"x = [{rest[:end]}]")["x"] == [value]:
                return True
    return False


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_every_place_of_a_hostile_file(end):
    text = HOSTILE.replace("\n", end)
    for place, value in places_of(tomllib.loads(text)):
        in_tables = place[0] == "many" and isinstance(value, dict)
        if not (in_tables and isinstance(place[-1], int)):
            assert begins(text, place, value), place
    for place, at in {
        ("a", "b", "c.d", 1, 1, "f", "g"): "6:33",
        ("t",): "17:2",
        ("t", "u"): "20:9",
        ("many", 0, "sub", "z"): "25:1",
        ("many", 1): "26:3",
        ("many", 1, "inner", 1): "29:8",
        ("many", 1, "inner", 1, "q", 1, "r"): "30:16",
    }.items():
        assert Places(text).of(place) == at, place


def test_a_place_that_is_not_there_is_that_of_its_table():
    assert Places("a = 1\n[b]\nc = 2\n").of(("b", "d")) == "2:2"
    assert Places("a = 1\n").of(("z",)) == "1:1"


KEY = re.compile(r'[A-Za-z0-9_-]+|"(?:\\.|[^"\\])*"|\'[^\']*\'')
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.recursive(
    TEXT | st.booleans() | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda one: st.lists(one, max_size=4) | st.dictionaries(TEXT, one, max_size=3),
    max_leaves=12,
)  # fmt: skip


@given(st.dictionaries(TEXT, VALUES, max_size=5))
def test_what_is_written_is_read_back_with_its_places(tables):
    text = toml_of(tables)
    assert tomllib.loads(text) == tables
    places = Places(text)
    for place, _ in places_of(tables):
        assert place in places._at


PIECES = st.sampled_from(
    [
        "",
        "[",
        "]",
        "[[",
        "{",
        "}",
        "=",
        ".",
        ",",
        '"',
        "'",
        '"""',
        "\\",
        "#",
        "\n",
        "x = 1\n",
    ]
)


@given(st.lists(st.tuples(st.integers(0, len(HOSTILE)), PIECES), max_size=3))
@settings(max_examples=300, deadline=None)
def test_every_valid_text_has_its_places(changes):
    text = HOSTILE
    for at, piece in changes:
        text = text[:at] + piece + text[at + (piece == "") :]
    try:
        tables = parsed(text, "f")
    except RulesError:
        return
    places = Places(text)
    for place, value in places_of(tables):
        assert place in places._at, place
        if not isinstance(place[-1], int):
            assert begins(text, place, value), place


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1\nb = = 2\n", r"f.toml:2:5: not TOML: Invalid value"),
        ("a = 1\na = 2\n", r"f.toml:2:6: not TOML: Cannot overwrite a value"),
        ("a = '", r"f.toml:1: not TOML: "),
        ("a = " + "[" * 100_000, "nested too deeply"),
    ],
)
def test_errors_of_the_syntax_have_a_place(text, message):
    with pytest.raises(ValueError, match=message):
        parsed(text, "f.toml")


def test_what_cannot_be_read(tmp_path):
    path = tmp_path / "f.toml"
    path.write_bytes(b"a = 1\nb = '\xff'\n")
    with pytest.raises(ValueError, match=r"f.toml:2: not text in UTF-8"):
        read_text(path)
    path.write_bytes(b"#" * (1 << 21))
    with pytest.raises(ValueError, match="more than 1 MiB"):
        read_text(path)
    with pytest.raises(OSError, match="device"):
        read_text(type(path)("/dev/zero"))
    path.write_bytes(b"\xef\xbb\xbfa = 1\r\n")
    assert parsed(read_text(path), "f") == {"a": 1}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800"])
def test_what_toml_does_not_hold_is_refused(value):
    with pytest.raises(ValueError, match=r"cannot be written|no such text"):
        toml_of({"a": value})
