"""NumPy's loops over blocks of cells, for quantities of two or three numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from riskcore.core.compiled.jit import kernel
from riskcore.core.compiled.ufunc_maker import address, clear_flags
from riskcore.core.special.floats import BLOCK, stack


@kernel
def cells_ahead(first: Any, step: int, out: Any) -> int:
    """Return how many cells may be read before the first result is written.

    One, if a result is the next argument, as in ``reduce`` and ``accumulate``.
    """
    return 1 if (step == 0) | (address(out) - address(first) == step) else BLOCK


def loop_of_blocks(
    block: Callable[[Any, Any, Any, Any, int], None], inputs: int
) -> Callable[..., None]:
    """Make NumPy's loop from the kernel (x, y, z, out, n) of n <= BLOCK cells.

    For two arguments z is room that the kernel may use.
    """

    def loop(args: Any, sizes: Any, steps: Any, _: Any) -> None:
        x, y, z, out = stack(), stack(), stack(), stack()
        first, ahead = 0, cells_ahead(args[0], steps[inputs], args[inputs])
        while first < sizes[0]:
            n = min(ahead, sizes[0] - first)
            for i in range(n):
                x[i] = args[0][(first + i) * (steps[0] >> 3)]
                y[i] = args[1][(first + i) * (steps[1] >> 3)]
                z[i] = args[2][(first + i) * (steps[2] >> 3)]
            block(x, y, z, out, n)
            for i in range(n):
                args[inputs][(first + i) * (steps[inputs] >> 3)] = out[i]
            first += n
        clear_flags()

    return loop
