"""Numbers and labels as HTML: nothing runs, no digit is lost."""

import re
from decimal import Decimal
from html import unescape

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore import assess
from riskcore.common.html import bars, digits, escape, figures, label, short


@given(st.text())
def test_escaped_text_has_no_markup_and_is_read_back(text):
    shown = escape(text)
    assert not set(shown) & set("<>\"'")
    assert unescape(shown) == text or "\r" in text or "\0" in text


def test_half_a_surrogate_pair_can_be_written():
    assert escape("a\udcff").encode() == b"a\\udcff"


def test_a_label_keeps_its_direction_to_itself():
    assert label("\u202e<x>") == "<bdi>\u202e&lt;x&gt;</bdi>"


@given(st.floats(0.0, 1e300), st.sampled_from([0, 2]))
def test_digits_give_back_the_number(x, shift):
    assert float(Decimal(digits(x, shift)).scaleb(-shift)) == x


@pytest.mark.parametrize(
    ("x", "shift", "text"),
    [
        (0.0, 2, "0"),
        (1.0, 2, "100"),
        (0.00125, 0, "0.00125"),
        (0.00125, 2, "0.125"),
        (1e-6, 0, "0.000001"),
        (1.5e-7, 0, "1.5e-7"),
        (1e-7, 2, "0.00001"),
        (float("inf"), 0, "∞"),
    ],
)
def test_digits_are_written_plainly(x, shift, text):
    assert digits(x, shift) == text


def test_six_digits_a_tie_going_up():
    assert short(2.0**-9) == "0.00195313"
    assert short(1 / 3, 2) == "33.3333"


def test_tables_escape_all_but_the_note():
    made = figures("<a>", "<bdi>n</bdi>", [("<b>", "<c>")], bars([1, 0, 3], "<d>"))
    assert "<bdi>n</bdi>" in made
    assert not re.search("<[acd]>|<b>", made)
    assert made.count("<rect") == 2


def test_bars_are_in_proportion():
    heights = re.findall(r'<rect [^>]*height="([\d.]+)"', bars([1, 4], "risk"))
    assert float(heights[1]) == 4 * float(heights[0])


def test_an_assessment_shows_its_figures():
    data = {
        "<i>": ["a", "b", "a", "c"],
        "w": [10.0, 20.0, 15.0, 30.0],
        "hh": [1, 1, 2, 2],
    }
    result = assess(data, ["<i>"], "w", "hh")
    shown = result._repr_html_()
    assert "&lt;i&gt;" in shown
    assert "<i>" not in shown
    for figure in (
        "3, of them 2 sample uniques",
        f"{result.reidentification_rate:.6%}",
        f"{result.expected_reidentifications:.6g}",
        f"{result.max_risk:.6g}",
        f"{result.household_reidentification_rate:.6%}",
    ):
        assert f">{figure}</td>" in shown
    alone = assess({"k": np.zeros(1)}, ["k"])._repr_html_()
    assert "household" not in alone
