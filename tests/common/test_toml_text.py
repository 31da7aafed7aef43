"""Places of keys in TOML, and TOML that is written."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore.common import toml_text

RULES = """\
format = 1
safe.k = 3
[columns]
keys = [
    "SEX",  # k
    "AGE-5", "AGE",
]
[roles]
"a \\"name\\"" = "harmless"
[ suppress . cost ]
AGE = {1 = 7, "12" = 'never'}
[try.coarse.safe]
k = 5
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_places_of_rules(end):
    text = RULES.replace("\n", end)
    for place, at in {
        ("format",): "1:1",
        ("safe",): "2:1",
        ("safe", "k"): "2:6",
        ("columns", "keys"): "4:1",
        ("columns", "keys", 0): "5:5",
        ("columns", "keys", 2): "6:14",
        ("roles", 'a "name"'): "9:1",
        ("suppress", "cost", "AGE"): "11:1",
        ("suppress", "cost", "AGE", "12"): "11:15",
        ("try", "coarse", "safe", "k"): "13:1",
        ("columns", "nil"): "3:2",
        ("nil",): "1:1",
    }.items():
        assert toml_text.position(text, place) == at, place
    tables = tomllib.loads(text)
    assert toml_text.holds(tables, ("columns", "keys", 2))
    assert not toml_text.holds(tables, ("columns", "keys", 3))
    assert not toml_text.holds(tables, ("format", "x"))


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.recursive(
    TEXT | st.booleans() | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda one: st.lists(one, max_size=4) | st.dictionaries(TEXT, one, max_size=3),
    max_leaves=12,
)  # fmt: skip


@given(st.dictionaries(TEXT, VALUES, max_size=5))
def test_what_is_written_is_read_back_with_a_place_of_each_key(tables):
    text = toml_text.toml_of(tables)
    assert tomllib.loads(text) == tables
    for name in tables:
        line, column = map(int, toml_text.position(text, (name,)).split(":"))
        assert 1 <= line <= text.count("\n") + 1
        assert column >= 1


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
        toml_text.parsed(text, "f.toml")


def test_what_cannot_be_read(tmp_path):
    path = tmp_path / "f.toml"
    path.write_bytes(b"a = 1\nb = '\xff'\n")
    with pytest.raises(ValueError, match=r"f.toml:2: not text in UTF-8"):
        toml_text.read_text(path)
    path.write_bytes(b"#" * (1 << 21))
    with pytest.raises(OSError, match="more than 1 MiB"):
        toml_text.read_text(path)
    with pytest.raises(OSError, match="device"):
        toml_text.read_text(type(path)("/dev/zero"))
    path.write_bytes(b"\xef\xbb\xbfa = 1\r\n")
    assert toml_text.parsed(toml_text.read_text(path), "f") == {"a": 1}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800"])
def test_what_toml_does_not_hold_is_refused(value):
    with pytest.raises(ValueError, match=r"cannot be written|no such text"):
        toml_text.toml_of({"a": value})
