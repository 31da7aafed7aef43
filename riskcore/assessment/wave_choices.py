"""The risk of persons over all choices of the waves that an intruder knows.

The choices of m of T waves are walked as a tree: from a choice of some waves to those
that add one later wave. Its persons are kept in groups of equal keys in all waves so
far, and a further wave splits the groups. A person who is alone stays alone in every
choice below, so that they are counted there by binomial coefficients and leave the
walk: deep levels of the tree hold few persons.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.assess_settings import Method
from riskcore.assessment.cell_risk import Risks, risk_of
from riskcore.assessment.minimal_uniques import Splitter
from riskcore.common.progress import Lines
from riskcore.core.special.floats import two_sum
from riskcore.data.count import sum_cells
from riskcore.data.panel import Panel

MOST_CHOICES = 1 << 20  # of waves

Numbers = NDArray[np.int64]


class Groups(NamedTuple):
    """Groups of persons who agree in the waves so far, two persons or more in each."""

    begin: Numbers  # of each group, and the end, shape (G + 1,)
    persons: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class WaveRisks:
    """The risk of each person over the choices of waves, each of shape (P,).

    Attributes
    ----------
    choices : int64 ndarray
        The number of choices of each person.
    unique : int64 ndarray
        The number of choices in which the person is alone with their keys.
    average, largest : float64 ndarray
        The mean risk over the person's choices, and the largest.
    k : int
        The number of persons with equal keys, at least, in any choice.
    """

    choices: Numbers
    unique: Numbers
    average: Risks
    largest: Risks
    k: int


def choices_of(panel: Panel) -> Numbers:
    """Return the number of choices of each person."""
    return _binomials(len(panel.waves))[panel.waves_of, panel.needed]


def refuse_too_many(panel: Panel) -> None:
    """Refuse a number of known waves with too many choices to walk through."""
    known_waves = panel.known
    if known_waves is None:
        return
    waves = len(panel.waves)
    if known_waves > waves:
        raise ValueError(
            f"known_waves={known_waves}: the file has {waves} waves; leave it out for "
            "all"
        )
    kinds = np.unique(panel.taken).tolist()
    choices = sum(math.comb(kind.bit_count(), known_waves) for kind in kinds)
    most = min(choices, math.comb(waves, known_waves))
    if most > MOST_CHOICES:
        raise ValueError(
            f"known_waves={known_waves}: {most:,} choices of {waves} waves, more than "
            f"{MOST_CHOICES:,}; give fewer known waves, or leave it out for all"
        )


def wave_risks(panel: Panel, method: Method, progress: Lines) -> WaveRisks:
    """Return the risk of each person over all choices of their waves."""
    walk = _Walk(panel, method, progress)
    walk.run()
    choices = choices_of(panel)
    alone = risk_of(method, np.ones(len(panel)), panel.weight)
    share = walk.unique / choices
    average = share * alone + (walk.highs + walk.lows) / choices
    largest = np.where(walk.unique > 0, np.maximum(alone, walk.largest), walk.largest)
    k = 1 if walk.unique.any() else walk.least
    return WaveRisks(choices, walk.unique, np.minimum(average, 1.0), largest, k)


class _Walk:
    """The walk through the tree of choices, and what it has found so far."""

    def __init__(self, panel: Panel, method: Method, progress: Lines) -> None:
        self.panel, self.method, self.progress = panel, method, progress
        self.waves = len(panel.waves)
        self.known = self.waves if panel.known is None else panel.known
        self.need = panel.needed
        self.choose = _binomials(self.waves)
        persons = len(panel)
        self.unique = np.zeros(persons, np.int64)
        self.highs, self.lows = np.zeros(persons), np.zeros(persons)
        self.largest = np.zeros(persons)
        self.least = persons
        # Choices of all waves of persons with fewer waves, and how they begin.
        short = np.unique(panel.taken[self.need < self.known]).tolist()
        self.short = set(short)
        self.begins = {
            kind & ((2 << w) - 1)
            for kind in short
            for w in range(self.waves)
            if kind >> w & 1
        }
        everyone = np.ones(persons, np.uint8)
        self.splitter = Splitter(everyone, int(panel.code.max()) + 1)

    def run(self) -> None:
        """Walk through all choices."""
        persons = len(self.panel)
        if persons == 1:
            self.unique += choices_of(self.panel)
            return
        everyone = Groups(
            np.array([0, persons], np.int64), np.arange(persons, dtype=np.int32)
        )
        for wave in range(self.waves):
            self.progress(f"wave {wave + 1} of {self.waves}")
            self._visit(everyone, 0, 0, wave)

    def _visit(self, groups: Groups, chosen: int, known_waves: int, wave: int) -> None:
        """Visit the choice that adds a wave, and those below it."""
        chosen, known_waves = chosen | 1 << wave, known_waves + 1
        enough = known_waves + self.waves - 1 - wave >= self.known
        if not enough and chosen not in self.begins:
            return
        groups = self._refined(groups, known_waves, wave)
        if not len(groups.persons):
            return
        if known_waves == self.known or chosen in self.short:
            self._assess(groups, known_waves)
        if known_waves < self.known:
            for later in range(wave + 1, self.waves):
                self._visit(groups, chosen, known_waves, later)

    def _refined(self, groups: Groups, known_waves: int, wave: int) -> Groups:
        """Return the groups, split by the keys of a wave, without single persons."""
        # A person who is alone is alone in every choice of waves that goes on from
        # here: these are counted.
        code = self.panel.code[wave]
        members, begin, single = self.splitter.split(code, groups.persons, groups.begin)
        more = self.need[single] - known_waves
        counts = (code[single] > 0) & (more >= 0)
        single, more = single[counts], more[counts]
        left = np.bitwise_count(self.panel.taken[single] >> np.uint64(wave + 1))
        self.unique[single] += self.choose[left, more]
        present = code[members] > 0
        if present.all():
            return Groups(begin, members)
        sizes = np.diff(begin)[present[begin[:-1]]]
        return Groups(np.concatenate([[0], np.cumsum(sizes)]), members[present])

    def _assess(self, groups: Groups, known_waves: int) -> None:
        """Add the risks of a choice to the persons who need so many waves."""
        begin, persons = groups
        f, F = np.diff(begin), np.empty(len(begin) - 1)
        sum_cells(begin, self.panel.weight[persons], 0, len(f), F)
        group = np.repeat(np.arange(len(f)), f)
        needy = self.need[persons] == known_waves
        its, group = persons[needy], group[needy]
        risk = risk_of(self.method, f, F)[group]
        self.highs[its], error = two_sum(self.highs[its], risk)
        self.lows[its] += error
        self.largest[its] = np.maximum(self.largest[its], risk)
        self.least = min(self.least, int(f[group].min(initial=self.least)))


def _binomials(most: int) -> Numbers:
    """Return the binomial coefficients of 0 to ``most``, at most 64."""
    numbers = range(most + 1)
    return np.array([[math.comb(n, k) for k in numbers] for n in numbers], np.int64)
