"""Calls as text: Python reads the same values back, whatever a name holds."""

import ast
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import riskcore
from riskcore.protection.release.program_text import Source, call_text, protect_text

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda each: (
        st.lists(each, max_size=4)
        | st.dictionaries(st.text() | st.tuples(st.text(), st.text()), each, max_size=4)
    ),
    max_leaves=12,
)


def arguments_of(text):
    """Return the values of the named arguments of a call."""
    (statement,) = ast.parse(text).body
    call = statement.value
    return {
        one.arg: eval(ast.unparse(one.value), {"riskcore": riskcore})
        for one in call.keywords
    }


@given(st.dictionaries(st.sampled_from(["keys", "cost", "drop"]), PLAIN))
def test_values_are_read_back(values):
    assert arguments_of(protect_text("data", values, None)) == values
    assert arguments_of(call_text("safe.write", ["'a'"], values)) == values


def test_paths_and_objects_are_read_back():
    how = riskcore.Reading(delimiter=";", missing_codes={"A": ["9"]})
    codes = riskcore.Recoding.mapping({"1": "2"})
    values = {"recodings": {"A": Path("a.grc"), "B": codes}, "cost": {"A": math.inf}}
    found = arguments_of(protect_text("data", values, how))
    assert found["recodings"] == {"A": "a.grc", "B": codes}
    assert found["cost"] == {"A": math.inf}
    assert found["reading"] == how
    assert "reading" not in protect_text("data", {}, riskcore.Reading())


def test_a_long_call_has_a_line_for_each_argument():
    inner = Source(call_text("f", ["safe", repr("x" * 60)], {"title": "y" * 30}))
    text = call_text("safe.write", ["'a.csv'"], {"also": inner, "drop": ["A"]})
    assert text == (
        "safe.write(\n    'a.csv',\n    also=f(\n        safe,\n"
        f"        '{'x' * 60}',\n        title='{'y' * 30}',\n    ),\n"
        "    drop=['A'],\n)"
    )


def test_what_has_no_text_is_refused():
    with pytest.raises(TypeError, match="cannot be written in a program"):
        protect_text("data", {"population": object()}, None)
