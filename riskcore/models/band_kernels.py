"""Kernels of latent classes with ordered keys: the probability of windows."""

from __future__ import annotations

from typing import Any

from riskcore.core.compiled.jit import native
from riskcore.core.special.floats import stack
from riskcore.models.mixture import _joint


@native(
    "int32*, int32*, float64*, int64, int64, int64, int64, float64*, float64*, "
    "float64*, float64*, float64*, float64*, float64*, float64, float64, float64*"
)
def write_windows(
    at: Any, of: Any, part: Any, start: int, stop: int, keys: int, classes: int,
    share: Any, theta: Any, window: Any, inside: Any, records: Any, least: Any,
    smooth: Any, n: float, pseudo: float, probability: Any,
) -> None:  # fmt: skip
    """Write pi of the windows of some cells, without a part of one record of each."""
    # ``at`` has the rows of a cell in ``window``, ``inside`` and ``least``, ``of``
    # those of its bands in ``theta`` and ``records``. Of the record's part, the share
    # ``inside`` of the band is taken off by the chance that it is in the class, the
    # rest by the share of the class in the band, which is that of its number. Then
    # ``smooth`` makes of the records of the window what is expected there.
    joint = stack()
    for k in range(start, stop):
        total, _ = _joint(k, of, keys, classes, share, theta, joint)
        pi = 0.0
        for c in range(classes):
            gone = part[k] * joint[c] / total if total > 0.0 else 0.0
            size = n * share[c]
            left = size - gone if size > gone else 0.0
            term, inverse = left / (n - part[k]), 1.0 / (left + pseudo)
            for j in range(keys):
                row, band = at[k * keys + j], of[k * keys + j]
                whole = size + pseudo
                common = part[k] * whole * theta[band * classes + c] / records[band]
                own = inside[row] * gone + (1.0 - inside[row]) * common
                seen = max(window[row * classes + c] * whole - own, pseudo * least[row])
                term *= seen * (smooth[row] if part[k] > 0.0 else 1.0) * inverse
            pi += term
        probability[k] = pi
