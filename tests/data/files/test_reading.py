"""Options of reading."""

import pytest

from riskcore.data.files.reading import Reading, numbers_among


@pytest.mark.parametrize("delimiter", ["", ",,", '"', "\n", "§", "\0"])
def test_invalid_delimiters(delimiter):
    with pytest.raises(ValueError, match="give one ASCII character"):
        Reading(delimiter=delimiter)


def test_numbers_among_codes():
    codes = ["9", " -8.50", "1e3", "NA", "nan", "inf", "1_000", "", "٣"]
    assert numbers_among(codes) == [9, -8.5, 1000]
