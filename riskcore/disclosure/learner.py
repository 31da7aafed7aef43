"""Sure guesses of a target by a learner: RAPID (Templ, Thees and Müller 2026).

A random forest learns the target from the released records, and is asked about people
whose keys and numbers are known.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.progress import Lines
from riskcore.common.scatter import selected
from riskcore.common.threads import in_threads, usual_threads
from riskcore.data.columns import CodedColumn
from riskcore.disclosure.attributes import AttributeGuesses
from riskcore.disclosure.audit_files import AuditFiles
from riskcore.disclosure.other_people import HOLDOUT
from riskcore.disclosure.shared_columns import SharedColumn, coded_numbers, in_bands

Array = NDArray[Any]
Values = Sequence[Array]  # of a column, by file

SURE = 0.3  # of the way from the share of a value to certainty
NEAR, TINY = 0.1, 0.01  # relative error of a number, and what is added to the number
TREES, MOST = 100, 20_000  # MOST: records to learn from, and people of a file asked
_MOST_CHANCES = 400_000  # records times values of the target: memory and time


def is_sure(chance: Array, share: Array) -> Array:
    """Return whether the chances of true values lie far above the values' shares."""
    return chance - share > SURE * (1.0 - share)


def learned_guesses(
    files: AuditFiles,
    targets: Iterable[Hashable],
    numbers: Iterable[Hashable],
    say: Lines,
    notes: list[str],
) -> tuple[AttributeGuesses, ...]:
    """Return the guesses of targets by keys and numbers; note what was left out."""
    names = sorted([*files.keys, *numbers], key=str)
    keys = [_ordered(files.columns(name)) for name in names]
    learned = []
    for name in targets:
        if find_spec("sklearn") is None:
            notes.append("no learner guessed targets: pip install scikit-learn")
            break
        say(f"learning {name}")
        learned.append(_of_target(files.columns(name), keys, notes))
    return tuple(learned)


def _ordered(columns: Sequence[CodedColumn]) -> Values:
    """Return a column as numbers, or as codes if it has other values."""
    numbers = [x for x in map(coded_numbers, columns) if x is not None]
    return numbers if len(numbers) == len(columns) else SharedColumn.of(columns).codes


def _of_target(
    target: Sequence[CodedColumn], keys: Sequence[Values], notes: list[str]
) -> AttributeGuesses:
    """Return the guesses of a target from the columns that are known of people."""
    name, by = target[0].name, HOLDOUT if target[2:] else ""
    values, levels = _ordered(target), 0
    if in_bands(target) is None:
        values, levels = SharedColumn.of(target)
    most = min(MOST, _MOST_CHANCES // max(levels, 1))
    rows = [np.flatnonzero(column.codes < len(column.labels)) for column in target]
    if max(map(len, rows)) > most:
        notes.append(f"the learner of {name} takes {most:,} records of each file")
    rows = [of_file[selected(len(of_file), most)] for of_file in rows]
    n, m, *_ = map(len, rows)
    if not n or not m:
        return AttributeGuesses(name, 0, 0.0, by, 0, 0.0, learner=True)
    at = [0, *range(2, len(rows)), 1]  # the released records are the last m
    *ranks, y = (np.concatenate([v[i][rows[i]] for i in at]) for v in (*keys, values))
    x = np.column_stack([np.unique(column, return_inverse=True)[1] for column in ranks])
    order = np.lexsort([y[-m:], *x[-m:].T]) - m  # whatever that of the file is
    asked, truth, x, y = x[:-m], y[:-m], x[order], y[order]
    if levels:
        chances = _forest(x, y[:, None] == np.arange(levels), asked, truth)
        right = is_sure(chances, np.bincount(truth[:n], minlength=levels)[truth] / n)
    else:
        error = np.abs(_forest(x, y, asked, 0) - truth)
        right = error < NEAR * (np.abs(truth) + TINY)
    here, there = (float(part.sum()) for part in np.split(right, [n]))
    return AttributeGuesses(name, n, here, by, len(right) - n, there, learner=True)


def _forest(x: Array, y: Array, asked: Array, column: Array | int) -> Array:
    """Return what a random forest tells of those asked: of each, a column of y."""
    # As in Breiman (2001), each tree learns from as many records drawn with
    # replacement; the squared error of indicators is Gini's index. One tree at a time
    # is in memory.
    from sklearn.tree import DecisionTreeRegressor as Tree

    def told(seed: int) -> Array:
        tree = Tree(max_features="sqrt", min_samples_split=11, random_state=seed)
        rows = np.random.default_rng(seed).integers(len(x), size=len(x))
        means = tree.fit(x[rows], y[rows]).predict(asked).reshape(len(asked), -1)
        return np.asarray(means[np.arange(len(asked)), column])

    trees = in_threads(usual_threads(), told, [(seed,) for seed in range(TREES)])
    return np.asarray(np.mean(trees, axis=0))
