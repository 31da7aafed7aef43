"""Numbers as English, Germans and French write them, and fields of forms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore.app import forms

EN, DE, FR = forms.FORMATS["en"], forms.FORMATS["de"], forms.FORMATS["fr"]
NBSP, NARROW, THIN, MINUS = "\u00a0", "\u202f", "\u2009", "\u2212"


def read(numbers, text):
    return forms.Form.of([("x", text)], numbers).number("x")


# Texts by format, with the numbers that they are.
TAKEN = {
    "en": {
        "1,234.5": 1234.5, "1234.5": 1234.5, "1,234,567": 1234567.0, "0.001": 0.001,
        ".5": 0.5, "5.": 5.0, " 12 ": 12.0, f"{NBSP}12{NBSP}": 12.0, "-3": -3.0,
        f"{MINUS}3": -3.0, f"{MINUS}1,234.5": -1234.5, "+3": 3.0, "1e-6": 1e-6,
        "1E-6": 1e-6, f"1e{MINUS}6": 1e-6, "2.5e3": 2500.0,
    },
    "de": {
        "1.234,5": 1234.5, "1234,5": 1234.5, "1 234,5": 1234.5,
        f"1{NBSP}234,5": 1234.5, f"1{NARROW}234,5": 1234.5, f"1{THIN}234,5": 1234.5,
        "1'234,5": 1234.5, "1\u2019234,5": 1234.5, "1.234.567": 1234567.0,
        "1.234": 1234.0, "0,001": 0.001, ",5": 0.5, "-3": -3.0, "2,5e3": 2500.0,
        "2,5e-3": 0.0025, "2,5E-3": 0.0025,
    },
    "fr": {
        "1 234,5": 1234.5, f"1{NARROW}234,5": 1234.5,
        f"1{NBSP}234{NBSP}567,25": 1234567.25, "1'234,5": 1234.5, f"{MINUS}0,5": -0.5,
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, texts in TAKEN.items() for text in texts]
)
def test_numbers_that_are_read(name, text):
    assert read(forms.FORMATS[name], text) == TAKEN[name][text]


ANYWHERE = [
    "", " ", "abc", "-", "+", ".", ",", "e5", "1e", "1e1e1", "--3", "+-3", f"-{MINUS}3",
    "3-", "- 3", "1_000", "0x10", "inf", "nan", "NaN",
    "\uff11\uff12",  # full width
    "\u0661\u0662",  # Arabic
    "\u0967",  # Devanagari
    "\u00b2", "\u00bd", "1\x00", "1\n2", "12 %%", "% 12", "1 2", "1" * 400,
    "1e9999999999", "1e-1000",
]  # fmt: skip
REFUSED = {
    "en": [
        "1,5", "1,23", "1,2345", "12,34,567", "1234,567", "1 234.5", "1.234,5",
        "1.234.567", "1,234,5", "0.1,000", "1'234", "0,001", "00,001",
    ],
    "de": [
        "0.001", "0.125", "1.5", "1.23", "0.001.5", "1,234.5", "1,234,567", "12.34",
        "1234.567", "1.234'567", "1.234 567",
    ],
    "fr": ["0 001", "1.5", "1.234,5", "1,234.5", "1 23"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text"),
    [(name, text) for name, own in REFUSED.items() for text in [*own, *ANYWHERE]],
)
def test_numbers_that_are_refused(name, text):
    with pytest.raises(ValueError, match=r"number|in \[0, 1\]"):
        read(forms.FORMATS[name], text)


def test_refusals_name_the_field_and_show_how_to_write():
    with pytest.raises(ValueError, match=r"^x: '1\.5' is not .* such as 1\.234,5$"):
        read(DE, "1.5")
    with pytest.raises(ValueError, match=r"^x: '1,5' is not .* such as 1,234.5$"):
        read(EN, "1,5")


def test_a_long_text_is_refused_at_once_and_not_repeated():
    for text in ("9" * 1_000_000, "1,234" * 200_000, "1 " * 500_000, "x" * 10**6):
        with pytest.raises(ValueError, match=r"^x: ") as error:
            read(EN, text)
        assert len(str(error.value)) < 500


@pytest.mark.parametrize(
    ("numbers", "text", "value"),
    [
        (EN, "0.1%", 0.001),
        (EN, "0.1 %", 0.001),
        (EN, "0.1", 0.1),
        (EN, "100%", 1.0),
        (DE, "0,1 %", 0.001),
        (DE, "0,1%", 0.001),
        (DE, f"0,1{NBSP}%", 0.001),
        (FR, f"0,1{NARROW}%", 0.001),
        (FR, "12,5 %", 0.125),
        (DE, "1e-3", 0.001),
    ],
)
def test_shares(numbers, text, value):
    assert forms.Form.of([("x", text)], numbers).fraction("x") == value


@pytest.mark.parametrize("text", ["-0,1", "1,1", "101 %", "-1 %", "0,1 % %", "%"])
def test_shares_that_are_refused(text):
    with pytest.raises(ValueError, match=r"number|in \[0, 1\]"):
        forms.Form.of([("x", text)], DE).fraction("x")


@pytest.mark.parametrize(
    ("numbers", "text", "value"),
    [(EN, "1,000", 1000), (DE, "1.000", 1000), (FR, "1 000", 1000), (EN, "0", 0)],
)
def test_whole_numbers(numbers, text, value):
    assert forms.Form.of([("x", text)], numbers).whole("x") == value


@pytest.mark.parametrize(
    "text", ["1.000", "1.5", "-1", f"{MINUS}1", "1e3", "5 %", "", "\uff11"]
)
def test_whole_numbers_that_are_refused(text):
    with pytest.raises(ValueError, match=r"^x: "):
        forms.Form.of([("x", text)], EN).whole("x")


formats = st.sampled_from([*forms.FORMATS.values()])


@given(formats, st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_that_is_written_reads_back(numbers, value):
    assert read(numbers, numbers.write(repr(value))) == value


@given(formats, st.integers(-(10**20), 10**20))
def test_a_whole_number_that_is_written_reads_back(numbers, value):
    text = numbers.write(str(value))
    assert read(numbers, text) == float(value)
    if value >= 0:
        assert forms.Form.of([("x", text)], numbers).whole("x") == value
    assert numbers.write(f"{value:,}") == text


@given(formats, st.decimals(-(10**12), 10**12, places=6))
def test_a_decimal_that_is_written_reads_back(numbers, value):
    assert read(numbers, numbers.write(f"{value:,f}")) == float(value)


@given(formats, st.text(max_size=20))
def test_any_text_is_a_number_or_refused(numbers, text):
    try:
        value = read(numbers, text)
    except ValueError:
        return
    assert value == value


@given(formats, formats, st.text("0123456789.,' -+e", max_size=12))
def test_no_two_formats_read_different_decimals(one, other, text):
    """Only groups of three digits can be read in two ways: "1.234" and "1,234"."""
    found = []
    for numbers in (one, other):
        try:
            found.append(read(numbers, text))
        except ValueError:
            return
    groups = [mark for mark in ".,' " if mark in text]
    if found[0] != found[1]:
        assert len(groups) == 1
        assert len(text.strip().strip("+-").split(groups[0])[1].split("e")[0]) == 3


# --- pages ---


def test_numbers_on_pages():
    assert forms.shown(1234567, EN) == "1,234,567"
    assert forms.shown(1234567, DE) == "1.234.567"
    assert forms.shown(1234567, FR) == f"1{NARROW}234{NARROW}567"
    assert forms.shown(-1234, DE) == "-1.234"
    assert forms.shown(0.5, DE) == "0,5"
    assert forms.shown(0, EN) == "0"
    assert forms.shown(999, EN) == "999"


# --- forms ---


def test_fields():
    form = forms.Form.of([("a", " x "), ("b", ""), ("a", "y"), ("c", " ")], EN)
    assert form.text("a") == "y"
    assert form.all("a") == (" x ", "y")
    assert form.all("z") == ()
    assert form.text("z") == ""
    assert form.text("z", "usual") == "usual"
    assert form.has("a")
    assert not form.has("b")
    assert not form.has("c")
    assert not form.has("z")
    assert form.fields["b"] == ("",)


def test_many_fields_of_one_name_take_linear_time():
    form = forms.Form.of([("a", str(i)) for i in range(5_000)], EN)
    assert len(form.all("a")) == 5_000
    assert form.text("a") == "4999"
