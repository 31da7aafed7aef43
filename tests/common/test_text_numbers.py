"""Numbers in words."""

import pytest

from riskcore.common.text_numbers import fraction, number, whole


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (fraction, "0.125%", 0.00125),
        (fraction, " 0.125 %", 0.00125),
        (fraction, "1e-3", 0.001),
        (fraction, "100%", 1.0),
        (number, "-1.5e3", -1500.0),
        (number, "1-1e-17", 1.0),
        (number, "1-1e-8", 1 - 1e-8),
        (whole, "007", 7),
    ],
)
def test_what_numbers_say(read, text, value):
    assert read(text) == value


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (fraction, "101%", "not in"),
        (fraction, "1.1", "not in"),
        (fraction, "%", "not a number"),
        (number, "1_000", "not a number"),
        (number, "nan", "not a number"),
        (number, "1-9", "not near 1"),
        (number, "9" * 301, "too long"),
        (whole, "-1", "not a whole number"),
        (whole, "٣", "not a whole number"),
        (whole, "9" * 301, "too long"),
    ],
)
def test_what_is_no_number(read, text, message):
    with pytest.raises(ValueError, match=message):
        read(text)
