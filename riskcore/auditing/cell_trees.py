"""Records of categories and numbers, and k-d trees of the numbers in each cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.auditing.common_cells import Columns, Ints, locate
from riskcore.common.threads import in_parts, parts_of, usual_threads
from riskcore.data.kd_tree import build_trees, nodes_of

LEAF = 8  # largest number of points in a leaf
STACK = 128  # two nodes for each level of a tree
_PARTS = 16  # for threads, of more than _FEW queries
_FEW = 10_000

Floats = NDArray[np.float64]


class MixedRecords(NamedTuple):
    """Records of categories and numbers."""

    codes: Columns  # of each category, in the codes of all files, shape (n,)
    numbers: Floats  # shape (n, d), none missing; d may be 0

    @classmethod
    def of_categories(cls, codes: Columns) -> MixedRecords:
        """Return records without numbers."""
        return cls(codes, np.zeros((len(codes[0]), 0)))

    def at(self, rows: Any) -> MixedRecords:
        """Return some of the records."""
        return MixedRecords([one[rows] for one in self.codes], self.numbers[rows])

    def refuse_missing(self, name: str) -> None:
        """Refuse records with missing numbers."""
        missing = int(np.isnan(self.numbers).any(axis=1).sum())
        if missing:
            raise ValueError(
                f"{name}: {missing:,} of {len(self.numbers):,} records have missing "
                "numbers, which have no distance; leave these records out"
            )


class CellTrees(NamedTuple):
    """The references in the cells of queries, a k-d tree of their numbers for each."""

    rows: Ints  # which reference each point is, by tree, shape (K,)
    group: Ints  # the tree of each query
    point: Floats  # shape (K, d), by tree
    root: Ints  # the first node of each tree, and the end
    span: Ints  # the first point of each node, and the end, shape (nodes, 2)
    box: Floats  # the least and largest of each column of a node, shape (nodes, d, 2)

    @classmethod
    def of(
        cls,
        query: MixedRecords,
        reference: MixedRecords,
        levels: Sequence[int],
        kept: Sequence[int],
        scale: Floats,
    ) -> CellTrees:
        """Return the trees of references that agree with any query in the kept keys.

        ``scale`` tells which side of a box is the widest.
        """
        if kept:
            found = locate(query.codes, reference.codes, levels, kept)
            rows = np.flatnonzero(found.reference >= 0)
            cell = found.reference[rows]
            sizes = np.bincount(cell, minlength=found.cells)
            rows = rows[np.argsort(cell, kind="stable")]
            group = found.query.astype(np.int64)
        else:
            rows = np.arange(len(reference.numbers))
            sizes, group = np.array([len(rows)]), np.zeros(len(query.numbers), np.int64)
        point = np.array(reference.numbers[rows], np.float64, order="C")
        K, d = point.shape
        begin = np.concatenate([[0], np.cumsum(sizes)])
        root = np.concatenate([[0], np.cumsum(nodes_of(sizes, LEAF))])
        span = np.zeros((int(root[-1]), 2), np.int64)
        box = np.zeros((int(root[-1]), d, 2))
        number = np.arange(K)
        build_trees(0, len(sizes), d, begin, root, scale, point, number, span, box)
        return cls(rows[number], group, point, root, span, box)


def ask_in_threads(queries: int, ask: Any) -> None:
    """Call ``ask(start, stop)`` for parts of the queries."""
    in_parts(usual_threads(), ask, parts_of(queries, _PARTS if queries > _FEW else 1))
