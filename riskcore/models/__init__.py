"""Models of the population: uniques from cell sizes, risks from keys.

Superpopulation models know only the sizes of the sample's cells. Models of cells know
the keys: each cell has a probability and a prior of its population frequency.
"""

from __future__ import annotations

from riskcore.common.late import homes_of as _homes_of
from riskcore.common.late import late as _late

_HOMES = _homes_of(__file__)
__all__ = [*_HOMES]
__getattr__, __dir__ = _late(globals(), _HOMES)
