"""The cells of some of the keys, made from the cells of all keys instead of records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from riskcore.data.cells import Cells, matched
from riskcore.data.count import count


def merged(cells: Cells, keys: Sequence[int]) -> Cells:
    """Return the cells of some keys, by position, as counting the records would.

    The sums of the weights may differ from those of the records in the last bit. A
    tolerance is not taken.
    """
    codes = [cells.codes[key] for key in keys]
    levels = [len(cells.categories[key]) for key in keys]
    counts = count(codes, levels, cells.weight_sum).of_groups(cells.records)
    missing = [cells.missing_values[key] for key in keys]
    f, F = matched(counts, levels, missing, cells.missing, cells.alpha)
    return replace(
        cells,
        keys=tuple(cells.keys[key] for key in keys),
        categories=tuple(cells.categories[key] for key in keys),
        codes=counts.codes,
        sample_frequency=f,
        population_frequency=F,
        records=counts.frequency,
        weight_sum=counts.weight_sum,
        rows=counts.inverse[cells.rows],
        missing_values=tuple(missing),
        windows=None,
    )
