"""What lacks a library is refused by its name."""

import pytest

from riskcore.common.needs import need


def test_a_library_that_lacks_is_named_with_what_to_do():
    need("arrays", "numpy")
    said = r"^dreams need nolib, nolib2: pip install nolib nolib2$"
    with pytest.raises(ImportError, match=said):
        need("dreams", "nolib", "numpy", "nolib2")
