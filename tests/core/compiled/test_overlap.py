"""Results may share memory with arguments in any way: they are those of copies."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from bindings import compile_ahead as ahead
from riskcore.core.compiled import ufunc_maker

ahead.entries()  # loads all modules
SOURCES = ufunc_maker.offered()
CELLS = 1100  # more than two blocks
OVERLAPS = 30


def values(rng, n):
    """Draw frequencies, fractions, and numbers outside every domain."""
    kind = rng.random(n)
    small = 2.0 ** -rng.uniform(0, 6, n)
    drawn = np.where(kind < 0.5, rng.integers(1, 30, n), small)
    return np.where(kind > 0.98, -1.0, drawn)


def view(rng, memory, n, *, repeats):
    """Return n numbers of a buffer, from any place, in steps of any size and sign."""
    item = memory.itemsize
    step = int(rng.choice([1, 1, 1, 1, -1, 2, 3, *([0] if repeats else [])]))
    span = abs(step) * (n - 1) + 1
    first = int(rng.integers(0, len(memory) - span)) + (span - 1 if step < 0 else 0)
    return as_strided(memory[first:], (n,), (step * item,))


def overlap(rng, ufunc):
    """Call a ufunc on views of one buffer; return its results and those of copies."""
    dtype, shift = (
        rng.choice(["f8", "f8", "f8", ">f8", "f4"]),
        int(rng.choice([0, 0, 3])),
    )
    n = int(rng.choice([5, 600, CELLS]))
    size = 3 * n + 1300
    raw = np.zeros(size * 8 + shift, np.uint8)
    memory = raw[shift : shift + size * np.dtype(dtype).itemsize].view(dtype)
    memory[:] = values(rng, size)
    inputs = [view(rng, memory, n, repeats=True) for _ in range(ufunc.nin)]
    outputs = [view(rng, memory, n, repeats=False)]
    if rng.random() < 0.5:  # one argument a few cells further on, the others elsewhere
        start, shifted = int(rng.integers(0, 600)), int(rng.integers(ufunc.nin))
        inputs = [each.copy() for each in inputs]
        inputs[shifted] = memory[start : start + n]
        start = max(start + int(rng.integers(-600, 600)), 0)
        outputs = [memory[start : start + n]]
    # Two results in the same place have no meaning: the others go elsewhere.
    outputs += [np.empty(n, dtype) for _ in range(ufunc.nout - 1)]
    if rng.random() < 0.5:
        outputs.reverse()
    # Without where= NumPy may run the loop on the arrays themselves.
    where = {"where": rng.random(n) < 0.7} if rng.random() < 0.2 else {}
    expected = [each.copy() for each in outputs]
    copies = [each.copy() for each in inputs]
    with np.errstate(all="ignore"):  # single precision overflows
        ufunc(*copies, out=tuple(expected), casting="same_kind", **where)
        ufunc(*inputs, out=tuple(outputs), casting="same_kind", **where)
    return outputs, expected


@pytest.mark.parametrize("identity", sorted(SOURCES))
@pytest.mark.parametrize(
    "overlaps", [OVERLAPS, pytest.param(500, marks=pytest.mark.slow)]
)
def test_results_are_those_of_copies(identity, overlaps):
    ufunc = ufunc_maker.build(identity.rpartition(".")[2], SOURCES[identity])
    rng = np.random.default_rng(overlaps)
    for _ in range(overlaps):
        for found, expected in zip(*overlap(rng, ufunc), strict=True):
            np.testing.assert_array_equal(found, expected)
