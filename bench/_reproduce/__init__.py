"""Tables and figures of the sources, computed again and compared.

``compare`` computes all numbers of a source, ``plain`` and ``markdown`` write them as
text. ``python -m bench.reproduce`` prints them, and writes
bench/results/reproductions.md.

Numbers and parameters are as printed in the sources; "errata" refers to the numbered
sections of notes/errata.md.

Examples
--------
>>> from bench import _reproduce as reproduce
>>> comparison = reproduce.compare("takemura")
>>> comparison.counts["reproduced"]
4
>>> row = comparison.rows[5]
>>> row.item, row.printed, round(row.computed, 6), row.verdict
('moments, E S1', '5.88', 5.876941, 'reproduced')
"""

from __future__ import annotations

from collections.abc import Callable

from bench._reproduce import mokken, takemura, thesis
from bench._reproduce.comparison import Comparison, Row, markdown, plain

SOURCES = ("thesis", "takemura", "mokken")

__all__ = [
    "SOURCES", "Comparison", "Row", "compare", "markdown", "plain",
]  # fmt: skip


def compare(
    source: str,
    *,
    replicates: int = 200,
    seed: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Compute the numbers of a source again.

    Parameters
    ----------
    source : {"thesis", "takemura", "mokken"}
        The source.
    replicates : int, optional
        How often each simulation of the thesis is repeated, at least 2.
    seed : int, optional
        Seed of the simulations: the same seed gives the same numbers.
    progress : callable, optional
        Called with the simulations done and their number.

    Returns
    -------
    Comparison
        Rows in the order of the source, and its figures.

    Raises
    ------
    ValueError
        If the source is unknown, or there are fewer than 2 replicates.

    Examples
    --------
    >>> compare("mokken").title
    'Mokken, Kooiman, Pannekoek, Willenborg (1992)'
    """
    if source not in SOURCES:
        known = ", ".join(SOURCES)
        raise ValueError(f"unknown source {source!r}; known are {known}")
    if source == "mokken":
        return mokken.compare()
    if source == "takemura":
        return takemura.compare()
    return thesis.compare(replicates, seed, progress)
