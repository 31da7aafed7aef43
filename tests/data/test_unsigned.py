import numpy as np
import pytest

from riskcore.data.unsigned import count_bits, load, store


@pytest.mark.parametrize("kind", ["u1", "u2", "u4", "u8"])
def test_interpreted_code_reads_what_compiled_code_does(kind):
    column = np.array([3, 0, 250, 7, 1], kind)
    read = [load(column.ctypes.data, column.itemsize, i) for i in range(5)]
    assert read == column.tolist()


@pytest.mark.parametrize("kind", ["u4", "u8"])
def test_interpreted_code_writes_what_compiled_code_does(kind):
    column = np.zeros(3, kind)
    largest = int(np.iinfo(kind).max)
    assert store(column.ctypes.data, column.itemsize, 1, largest) == largest
    assert column.tolist() == [0, largest, 0]


def test_bits_are_counted():
    assert [count_bits(word) for word in (0, 1, 6, 2**64 - 1)] == [0, 1, 2, 64]
