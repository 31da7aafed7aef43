"""The orders of values in a file that is sorted by a column."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore.disclosure.groupings import groupings, orders

WHOLE = {
    "int64": st.integers(-(2**63), 2**63 - 1) | st.integers(0, 10**18 - 1),
    "uint64": st.integers(0, 2**64 - 1) | st.integers(0, 10**6),
    "uint8": st.integers(0, 255),
}
NUMBERS = st.floats(allow_nan=False) | st.floats(1e-4, 1e16) | st.integers(0, 10**6)
# At the ends of what is written without an exponent, and of equal first digits.
EDGES = [0.0, -0.0, 1e-4, 9.999e-5, 1e16, np.nextafter(1e16, 0), 12.5, 125.0, 12.0, 1.0]


def as_text(labels):
    texts = [str(label) for label in labels.tolist()]
    return sorted(range(len(texts)), key=texts.__getitem__)


def assert_both_orders(labels):
    natural, *other = [one.tolist() for one in orders(labels)]
    assert natural == [*range(len(labels))]
    assert (other[0] if other else natural) == as_text(labels)


@pytest.mark.parametrize("kind", WHOLE)
@given(st.data())
def test_whole_numbers(kind, data):
    values = data.draw(st.lists(WHOLE[kind]))
    assert_both_orders(np.unique(np.array(values, kind)))


@given(st.lists(NUMBERS | st.sampled_from(EDGES)))
def test_numbers(values):
    assert_both_orders(np.unique(np.array(values, float)))


def test_text_is_also_in_the_order_of_its_numbers():
    labels = np.array(["10", "100", "2"], object)
    assert [one.tolist() for one in orders(labels)] == [[0, 1, 2], [2, 0, 1]]
    assert len(orders(np.array(["10", "2", "x"], object))) == 1


@given(st.lists(st.integers(0, 5) | st.none(), min_size=1))
def test_records_sorted_by_a_column(values):
    held = np.ma.array(
        [0 if v is None else v for v in values], mask=[v is None for v in values]
    )
    (_, by), (_, of_file) = groupings({"a": held}, None)
    last = 6
    expected = sorted(
        range(len(values)), key=lambda i: last if values[i] is None else values[i]
    )
    assert by.sorted_by.tolist() == expected
    assert by.single == (len(set(values)) == len(values))
    assert of_file.sorted_by.tolist() == [*range(len(values))]
