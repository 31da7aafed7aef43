"""Samples that the tests of several models share."""

from fractions import Fraction

import pytest

from riskcore.models import SizeIndices

TAKEMURA = {1: 2249, 2: 521, 3: 275, 4: 132, 5: 104, 6: 60, 7: 59, 8: 34, 9: 46, 10: 19}
SMALL = ({1: 3, 2: 1}, {1: 2, 5: 1}, {2: 2, 3: 1}, {1: 30, 2: 10, 9: 5}, {4: 1, 11: 1})


@pytest.fixture(scope="session")
def takemura():
    """Return Takemura's sample of N = 4 867 000, with either tail.

    The table ends with 124 cells of 11 or more records, 2996 in all: nearly equal
    cells and one giant cell are the extremes.
    """
    return (
        SizeIndices({**TAKEMURA, 24: 104, 25: 20}),
        SizeIndices({**TAKEMURA, 11: 123, 2996 - 123 * 11: 1}),
    )


@pytest.fixture(params=SMALL, ids=str)
def small(request):
    """Return a small sample; the test runs once for each."""
    return SizeIndices(request.param)


@pytest.fixture(scope="session")
def partitions():
    """Return the size indices of every way to divide n records."""

    def divide(n, largest):
        if n == 0:
            yield {}
        for size in range(min(n, largest), 0, -1):
            for rest in divide(n - size, size):
                yield {**rest, size: rest.get(size, 0) + 1}

    return lambda n: [SizeIndices(counts) for counts in divide(n, n)]


@pytest.fixture(scope="session")
def urn_uniqueness():
    """Return the product over unseen records, in rationals."""

    def product(theta, sigma, n, N):
        result = Fraction(1)
        for m in range(n, N):
            result *= 1 - (1 - Fraction(sigma)) / (Fraction(theta) + m)
        return result

    return product
