"""Options of reading."""

import pytest

from riskcore.files.reading import Reading


@pytest.mark.parametrize("delimiter", ["", ",,", '"', "\n", "§", "\0"])
def test_delimiters_that_are_none(delimiter):
    with pytest.raises(ValueError, match="give one ASCII character"):
        Reading(delimiter=delimiter)
