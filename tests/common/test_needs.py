"""What lacks a library is refused by its name."""

import pytest

from riskcore.common.needs import need


def test_a_library_that_lacks_is_named_with_what_to_do():
    need("numpy", "arrays")
    with pytest.raises(ImportError, match=r"^dreams need nolib: pip install nolib$"):
        need("nolib", "dreams")
