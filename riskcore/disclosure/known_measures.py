"""Measures of released files that others report, by the names of their authors.

A measure without a record to take it from is nan.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from riskcore.disclosure.all_pairs import Nearest
from riskcore.disclosure.common_cells import CommonCells, count_cells
from riskcore.disclosure.shared_columns import SharedColumn


def replicated_uniques(keys: CommonCells) -> float:
    """Return repU: the percentage of the original that is unique in both files.

    Raab, Nowok and Dibben (2024): 100 #{d = 1, s = 1}/n over cells with d of the n
    original and s released records. Any further file does not count.
    """
    d, s = keys.records[:2]
    return _percent(np.count_nonzero((d == 1) & (s == 1)), d.sum())


def disclosive(keys: CommonCells, target: SharedColumn) -> dict[str, float]:
    """Return DiSCO and TCAP of a target, in percent as synthpop gives them.

    Raab, Nowok and Dibben (2024). A person is disclosed if the cell of its keys was
    released with one value of the target, and this is the person's. DiSCO is the share
    of these in the original, TCAP in its records whose cell was released.
    """
    cells = [one.view(np.uint32) for one in keys.cell]
    columns = zip(cells, target.codes, strict=True)
    both = count_cells([*columns], [len(keys.records[0]), target.levels])
    same_keys = keys.records[1][keys.cell[0]]
    same_value = both.records[1][both.cell[0]]
    met = same_keys > 0
    disclosed = np.count_nonzero(met & (same_keys == same_value))
    return {
        "DiSCO": _percent(disclosed, len(met)),
        "TCAP": _percent(disclosed, np.count_nonzero(met)),
    }


def closest_record(two: Nearest, columns: int) -> dict[str, float]:
    """Return the median distance to the closest record (DCR), and ratio to the second.

    Park et al. (2018); Zhao, Kunar, Birke and Chen (2021): DCR = d1/columns by Gower's
    (1971) distance, which is 1 for each category that differs, and for each number the
    gap over its range; NNDR = d1/d2, which is 0 for a copy (d1 = 0).
    """
    ratio = np.zeros(len(two.first))
    np.divide(two.first, two.second, out=ratio, where=two.first > 0.0)
    return {
        "DCR": float(np.median(two.first / columns)),
        "NNDR": float(np.median(ratio)),
    }


def _percent(part: Any, whole: Any) -> float:
    """Return a share in percent, nan of nothing."""
    return 100.0 * (float(part) / float(whole)) if whole else float("nan")
