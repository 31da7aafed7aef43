"""What is kept of each kind, and how long."""

import pytest

from riskcore.app.kept import Kept


@pytest.mark.parametrize(
    ("kind", "records", "most"),
    [("plans", 1000, 3), ("prepared", 1000, 6), ("prepared", 300_000, 2)],
)
def test_large_files_keep_fewer_results(kind, records, most):
    kept = Kept()
    kept.records = records
    for key in range(10):
        assert kept.keep(kind, key, lambda key=key: -key) == -key
    assert [key for key in range(10) if kept.kept(kind, key) is not None] == [
        *range(10 - most, 10)
    ]
    assert kept.keep(kind, 9, lambda: pytest.fail("made again")) == -9
