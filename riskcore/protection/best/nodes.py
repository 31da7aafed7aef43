"""The nodes of a lattice of recodings: what each loses, at least and exactly.

Opening a node recodes the file and plans its blanks as `riskcore.protect` does. The
bound takes cells of the file as it is, joined by the rungs: every record that is unsafe
there with all its keys loses at least the cheapest.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from riskcore.assessment.assess_settings import WEIGHTS
from riskcore.assessment.assessment import Assessment
from riskcore.assessment.cell_risk import risk_of
from riskcore.assessment.goals import l_parts
from riskcore.common.arrays import Floats, Integers, Mask
from riskcore.common.progress import silent
from riskcore.data.columns import plain_value
from riskcore.data.count import Counts, count
from riskcore.data.files.labels import code_text
from riskcore.data.ladder import Ladder, Rungs
from riskcore.data.proposed_ladder import rungs_of
from riskcore.data.source import Source
from riskcore.protection.best.losses import losses_of
from riskcore.protection.best.search import Node
from riskcore.protection.records.units import quiet, unit_of
from riskcore.protection.secret import new_secret
from riskcore.protection.settings.best_settings import Measure
from riskcore.protection.settings.settings import Settings
from riskcore.protection.suppression.suppress import Aim, Masks, plans_together

# Sums of weights are rounded.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Opened:
    """What was found of a node."""

    settings: Settings
    blanks: dict[Any, int]  # by key
    expected_reidentifications: float  # with the set of keys that finds most


class Nodes:
    """The recodings of a file by the rungs of its keys.

    Keys with a recoding have no ladder; others get one that their values suggest. A
    blank loses ``price`` times what a value does; each key counts by its importance.
    """

    def __init__(
        self,
        source: Source,
        settings: Settings,
        ladders: Mapping[Any, Any],
        measure: Measure,
        price: float,
        importance: Mapping[Any, float],
    ) -> None:
        self.source = source
        self.settings = self._searched(settings)
        self.keys = settings.variables
        with quiet():
            self._secret = new_secret()  # of random treatments
            unit = unit_of(source, self.settings, silent, self._secret)
            self._base = unit.prepare()
            self._aims = self._base.aims(unit.planned)
        self.rungs = [self._rungs(key, ladders.get(key)) for key in self.keys]
        self.price = price
        self.by_classes = measure == "discernibility"
        weights = np.array([float(importance.get(key, 1.0)) for key in self.keys])
        weights /= weights.max()
        self.importance = weights / weights.sum()
        parts = [losses_of(rungs, measure) for rungs in self.rungs]
        self.losses = [losses for losses, _ in parts]
        # What a blank of each category loses beyond its rung: the same within a group,
        # for a release knows groups alone.
        share = price if measure == "entropy" else 1.0
        self.blanks = [
            [price * whole - share * lost for lost in losses] for losses, whole in parts
        ]

    def _rungs(self, key: Hashable, rules: Any) -> Rungs:
        """Return a key on its ladder; one that is recoded already stays as it is."""
        column = self._base.coded.columns[key]
        stays = key in self.settings.recodings
        if not stays and (rules is not None or key not in self.settings.strata):
            return rungs_of(column, rules)
        if rules is not None:
            raise ValueError(f"{key!r} has a recoding and a ladder: give one of them")
        return Rungs.of(column, Ladder(()))

    @staticmethod
    def _searched(settings: Settings) -> Settings:
        """Return the settings of the search: without a risk no model is fitted."""
        names = ("threshold", "rate", "household_threshold", "household_rate")
        if any(getattr(settings, name) is not None for name in names):
            return settings
        return replace(settings, population=WEIGHTS)

    @cached_property
    def steps(self) -> list[Floats]:
        """What each rung of each key loses without blanks."""
        steps = []
        for rungs, losses, share in zip(
            self.rungs, self.losses, self.importance, strict=True
        ):
            codes = rungs.column.codes
            records = np.bincount(codes, minlength=len(losses[0]))
            step = np.array([float(lost @ records) for lost in losses])
            steps.append(step * share / len(codes))
        return steps

    @cached_property
    def _classes(self) -> Counts:
        """The records by all their keys."""
        columns = [rungs.column for rungs in self.rungs]
        levels = [len(column.labels) + 1 for column in columns]
        return count([column.codes for column in columns], levels)

    def _alike(self, node: Node) -> Floats:
        """Return for each of these classes how many records a node makes alike."""
        codes = [
            rungs.groups[i][own.astype(np.int64)].astype(np.uint32)
            for rungs, i, own in zip(self.rungs, node, self._classes.codes, strict=True)
        ]
        group = count(codes, [int(own.max()) + 1 for own in codes]).inverse
        return np.bincount(group, self._classes.frequency)[group].astype(float)

    def bound(self, node: Node) -> tuple[float, float]:
        """Return what the rungs of a node lose, and what it loses at least."""
        n = len(self.rungs[0].column.codes)
        if self.by_classes:
            rungs = float(self._classes.frequency @ self._alike(node)) / n**2
        else:
            rungs = math.fsum(x[i] for x, i in zip(self.steps, node, strict=True))
        pairs = zip(self._base.recoded, self._aims, strict=True)
        blanks = [self._cheapest(assessment, aim, node) for assessment, aim in pairs]
        return rungs, rungs + max(blanks, default=0.0) / n

    def _cheapest(self, assessment: Assessment, aim: Aim, node: Node) -> float:
        """Return what the cheapest blanks lose of records that are unsafe without."""
        cells = assessment.cells_by_weights or assessment.cells
        whole = np.logical_and.reduce(
            [cells.present(i) for i in range(len(cells.keys))]
        )
        if not whole.any():
            return 0.0
        price = np.full(int(np.count_nonzero(whole)), np.inf)
        codes = []
        for name, column in zip(cells.keys, cells.codes, strict=True):
            at = self.keys.index(name)
            own = column[whole].astype(np.int64)
            codes.append(self.rungs[at].groups[node[at]][own].astype(np.uint32))
            if math.isfinite(self.settings.cost_of(name)):
                lost = self.importance[at] * self.blanks[at][node[at]]
                price = np.minimum(price, lost[own])
        levels = [int(column.max(initial=0)) + 1 for column in codes]
        group = count(codes, levels).inverse.astype(np.int64)
        unsafe = self._unsafe(assessment, aim, whole, group)[group] & np.isfinite(price)
        records = cells.records[whole]
        if self.by_classes:
            price += self.price - np.bincount(group, records)[group] / records.sum()
        return float(price[unsafe] @ records[unsafe])

    def _unsafe(
        self, assessment: Assessment, aim: Aim, whole: Mask, group: Integers
    ) -> Mask:
        """Return which groups of cells are surely unsafe; ``whole`` cells are in one.

        Records without some keys may fit any group, and its people are rounded up.
        """
        cells = assessment.cells_by_weights or assessment.cells
        f = np.bincount(group, cells.records[whole]).astype(np.float64)
        unsafe = np.zeros(len(f), bool) if aim.k is None else f < aim.k
        people = np.bincount(group, cells.weight_sum[whole])
        people = (people + cells.weight_sum[~whole].sum()) * (1.0 + _ROUNDING)
        of_cell = np.full(len(whole), len(f))
        of_cell[whole] = group
        for goal in aim.goals:
            figures = goal.measured(of_cell, np.append(people, 0.0))
            unsafe |= goal.fails(figures)[:-1]
        by_weights = assessment.model is None and assessment.method == "exact"
        if by_weights and self.settings.rate is None and aim.threshold < np.inf:
            f += cells.records[~whole].sum()
            unsafe |= risk_of(assessment.method, f, people) >= aim.threshold
        return unsafe

    @property
    def exact(self) -> bool:
        """Whether the blanks that are planned are the cheapest, whatever the node."""
        settings = self.settings
        # A rate can be met by other thresholds; t may fail with fewer keys.
        missed = ("t", "rate", "household_threshold", "household_rate")
        monotone = settings.l is None or l_parts(settings.l)[0] == "distinct"
        return (
            monotone
            and all(getattr(settings, name) is None for name in missed)
            and (settings.threshold is None or settings.method == "exact")
            and not (settings.against_insiders or settings.related)
            and plans_together(self._base.recoded, self._aims, settings)
        )

    def settings_of(self, node: Node) -> Settings:
        """Return the settings of a node: its recodings, and what each blank costs."""
        recodings, costs = dict(self.settings.recodings), dict[Any, Any]()
        for at, (key, rungs, i) in enumerate(
            zip(self.keys, self.rungs, node, strict=True)
        ):
            if i:
                recodings[key] = rungs.ladder.recodings(key)[i - 1]
            if math.isfinite(self.settings.cost_of(key)) and not self.by_classes:
                lost = self.importance[at] * self.blanks[at][i]
                costs[key] = _by_category(rungs, i, lost)
        cost = self.settings.cost
        stated = {} if isinstance(cost, str) else cost
        return replace(
            self.settings, recodings=recodings, cost={**stated, **costs} or cost
        )

    def open_node(self, node: Node) -> tuple[float, int, Opened] | None:
        """Return what a node loses, its number of blanks, and what was found.

        None if a record stays unsafe whatever is blanked.
        """
        settings = self.settings_of(node)
        unit = unit_of(self.source, settings, silent, self._secret)
        with quiet():
            before = unit.prepare(self._base.original)
            aims = before.aims(unit.planned)
            masks = unit.plan(before, aims)
            after = unit.blank(before, masks)
            assessed = unit.assess(before, aims, masks, after)
        pairs = zip(aims, assessed, strict=True)
        if any(aim.unsafe(assessment).any() for aim, assessment in pairs):
            return None
        loss, blanks = self._loss(node, after.masks)
        expected = max(assessment.expected_reidentifications for assessment in assessed)
        return loss, sum(blanks.values()), Opened(settings, blanks, expected)

    def rules(self, node: Node) -> dict[Any, str]:
        """Return the recodings of a node in words, of keys that are recoded."""
        pairs = zip(self.keys, self.rungs, node, strict=True)
        return {key: rungs.ladder.rules[i - 1] for key, rungs, i in pairs if i}

    def _loss(self, node: Node, masks: Masks) -> tuple[float, dict[Any, int]]:
        """Return what a release loses, and its blanks by key."""
        n, blanks = len(self.rungs[0].column.codes), {}
        parts, blanked = [], np.zeros(n, bool)
        for at, (key, rungs, i) in enumerate(
            zip(self.keys, self.rungs, node, strict=True)
        ):
            mask = masks.get(key)
            parts.append(self.steps[at][i])
            if mask is not None and mask.any():
                lost = self.blanks[at][i][rungs.column.codes[mask]]
                parts.append(float(lost.sum()) * self.importance[at] / n)
                blanks[key] = int(np.count_nonzero(mask))
                blanked |= mask
        if self.by_classes:
            alike = self._alike(node)[self._classes.inverse[~blanked]]
            parts = [float(alike.sum()) / n**2, self.price * blanked.mean()]
        return math.fsum(parts), blanks


def _by_category(rungs: Rungs, rung: int, lost: Floats) -> float | dict[str, float]:
    """Return what a blank of each category costs, one number if all are alike."""
    costs = {
        code_text(plain_value(code)): float(cost)
        for code, cost in zip(rungs.codes[rung], lost, strict=False)
    }
    different = {*costs.values()}
    return different.pop() if len(different) == 1 else costs
