"""Whom a released record can belong to, for someone who knows all people of the file.

Complete released records account for people of their cell (combination of all keys). A
record with blanks belongs to somebody who is left over. Ten records, one blank, each
pattern fitting three people: the nine complete ones leave one person, who is named.

The candidates of a record are the people it has in some assignment of all records to
all people that is possible. Two figures bound their number:

- By what cells leave over: a cell is a candidate if complete records leave some of its
  people, and all records that fit it are its own if it needs them all. This takes a
  sort for each set of kept keys, and finds at least the candidates that there are.
- Exactly: patterns of blanked records and cells with people left are the nodes of a
  graph; an arc leads from a pattern to each cell that it fits, and from a cell to the
  pattern of its own record. A record may belong to another cell in a possible
  assignment if and only if both lie on a cycle, that is, in one strongly connected
  component (Dulmage and Mendelsohn 1958; Regin 1994).

People of one cell are interchangeable, as are records of one pattern: all people of a
cell are candidates of a record that may belong to the cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.common.arrays import Integers, Mask
from riskcore.core.compiled.jit import native
from riskcore.disclosure.kept_keys import (
    cells,
    kept_sets,
    with_missing_drawn,
)

# Arcs of the largest graph that is searched: 16 bytes each.
ARCS = 20_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Elimination:
    """To how many people of the file each released record can belong."""

    fits: Integers  # people whose keys agree with those that the record keeps
    candidates: Integers  # those who remain for someone who knows all people
    combinations: Integers  # of all keys that these have; 1 for a complete record
    blanked: Mask  # whether the record lost a key that the original has
    exact: bool  # otherwise there may be fewer candidates

    @property
    def named(self) -> Mask:
        """The records that several people fit, and that can belong to one only."""
        named: Mask = (self.candidates == 1) & (self.fits > 1)
        return named

    @property
    def told(self) -> Mask:
        """The records whose blanked keys are known, as other people do not remain."""
        told: Mask = (self.combinations == 1) & (self.candidates < self.fits)
        return told & self.blanked

    @property
    def people(self) -> int:
        """The number of people who are named."""
        return int(np.count_nonzero(self.named))

    @property
    def records_told(self) -> int:
        """The number of records whose blanked keys are known."""
        return int(np.count_nonzero(self.told))

    @property
    def expected(self) -> float:
        """The people found if each record is linked to one of its candidates."""
        return float((1.0 / self.candidates).sum())

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON."""
        return {
            "people": self.people,
            "records_told": self.records_told,
            "expected": self.expected,
            "exact": self.exact,
        }


class _Patterns(NamedTuple):
    """The patterns of blanked records that keep one set of keys."""

    rows: Integers
    pattern: Integers  # of each row, from 0
    group: Integers  # the group of each pattern, shape (P,)
    order: Integers  # open cells, by their group
    first: Integers  # where those of each pattern begin in it, shape (P,)
    number: Integers  # and how many there are


def eliminate(
    codes: NDArray[np.integer], blanked: Mask, *, most_arcs: int = ARCS
) -> Elimination:
    """Count the people to whom each record can belong, exactly up to ``most_arcs``."""
    keys = codes.shape[1]
    lost: Mask = np.any(blanked & (codes >= 0), axis=1)
    blanked = blanked | (codes < 0)
    people = with_missing_drawn(codes.astype(np.int64))
    cell = cells(people, range(keys))
    size = np.bincount(cell)
    hidden = blanked.any(axis=1)
    left = np.bincount(cell[hidden], minlength=len(size))
    member = np.zeros(len(size), np.int64)
    member[cell] = np.arange(len(cell))
    codes_of_cells = people[member]
    fits, candidates = size[cell], size[cell]
    combinations = np.ones(len(cell), np.int64)
    callers = np.zeros(len(size), np.int64)
    sets = []
    for kept, rows in kept_sets(blanked):
        if len(kept) < keys:
            group = cells(codes_of_cells, kept)
            fits[rows] = np.bincount(group, size)[group[cell[rows]]]
            open_size = np.where(left > 0, size, 0)
            candidates[rows] = np.bincount(group, open_size)[group[cell[rows]]]
            combinations[rows] = np.bincount(group, left > 0)[group[cell[rows]]]
            callers += np.bincount(group[cell[rows]], minlength=group.max() + 1)[group]
            sets.append(_patterns(rows, group, cell, left))
    # A cell that needs all records which fit it has them.
    needed = hidden & (callers == left)[cell]
    candidates[needed] = size[cell[needed]]
    combinations[needed] = 1
    exact = sum(int(patterns.number.sum()) for patterns in sets) <= most_arcs
    if exact:
        _count_exactly(sets, cell, size, candidates, combinations)
    return Elimination(fits, candidates, combinations, lost, exact)


def _patterns(
    rows: Integers, group: Integers, cell: Integers, left: Integers
) -> _Patterns:
    """Return the patterns of rows that keep one set of keys."""
    groups, pattern = np.unique(group[cell[rows]], return_inverse=True)
    order = np.flatnonzero(left)
    order = order[np.argsort(group[order], kind="stable")]
    first = np.searchsorted(group[order], groups)
    last = np.searchsorted(group[order], groups, side="right")
    return _Patterns(rows, pattern, groups, order, first, last - first)


def _count_exactly(
    sets: list[_Patterns],
    cell: Integers,
    size: Integers,
    candidates: Integers,
    combinations: Integers,
) -> None:
    """Set the candidates of blanked records, by the components of the graph."""
    if not sets:
        return
    # The nodes: all cells, then the patterns.
    begin = len(size) + np.cumsum([0, *(len(patterns.group) for patterns in sets)])
    fitting = [x.order[_spread(x.first, x.number)] for x in sets]
    starts = [*zip(begin, sets, strict=False)]
    pattern = [b + np.repeat(np.arange(len(x.group)), x.number) for b, x in starts]
    of_row = np.concatenate([start + patterns.pattern for start, patterns in starts])
    rows = np.concatenate([patterns.rows for patterns in sets])
    source = np.concatenate([*pattern, cell[rows]])
    target = np.concatenate([*fitting, of_row])
    component = components(int(begin[-1]), source, target)
    fitting_cell, its_pattern = np.concatenate(fitting), np.concatenate(pattern)
    possible = component[fitting_cell] == component[its_pattern]
    its_pattern, fitting_cell = its_pattern[possible], fitting_cell[possible]
    nodes = int(begin[-1])
    candidates[rows] = np.bincount(its_pattern, size[fitting_cell], nodes)[of_row]
    combinations[rows] = np.bincount(its_pattern, minlength=nodes)[of_row]


def _spread(first: Integers, number: Integers) -> Integers:
    """Return the positions first, first + 1, ... of each of some ranges."""
    begin = np.cumsum(number) - number
    return np.repeat(first - begin, number) + np.arange(number.sum())


def components(nodes: int, source: Integers, target: Integers) -> Integers:
    """Return the strongly connected component of each node of a graph."""
    order = np.argsort(source, kind="stable")
    begin = np.searchsorted(source[order], np.arange(nodes + 1))
    component = np.full(nodes, -1, np.int64)
    work = np.zeros((5, nodes), np.int64)
    search_components(nodes, begin, target[order], component, work)
    return component


@native("int64, int64*, int64*, int64*, int64*")
def search_components(
    nodes: int, begin: Any, target: Any, component: Any, work: Any
) -> None:
    """Find the component of each node by Tarjan's search, without recursion."""
    # The rows of ``work``, zeros at first: when each node is met, from 1; the first met
    # that it reaches; the node that led to it; the nodes without a component, as met;
    # and the next arc of each node.
    first, above, stack, arc = nodes, 2 * nodes, 3 * nodes, 4 * nodes
    met = 0
    kept = 0
    component_count = 0
    for root in range(nodes):
        node = root if work[root] == 0 else -1
        work[above + root] = -1 if node == root else work[above + root]
        while node >= 0:
            if work[node] == 0:
                met += 1
                work[node] = met
                work[first + node] = met
                work[stack + kept] = node
                kept += 1
                work[arc + node] = begin[node]
            if work[arc + node] < begin[node + 1]:
                other = target[work[arc + node]]
                work[arc + node] += 1
                if work[other] == 0:
                    work[above + other] = node
                    node = other
                elif component[other] < 0:
                    work[first + node] = min(work[first + node], work[other])
            else:
                if work[first + node] == work[node]:
                    while component[node] < 0:
                        kept -= 1
                        component[work[stack + kept]] = component_count
                    component_count += 1
                up = work[above + node]
                if up >= 0:
                    work[first + up] = min(work[first + up], work[first + node])
                node = up
