"""The risk of persons over all choices of the waves that an intruder knows.

The choices of m of T waves are walked as a tree: from a choice of some waves to those
that add one later wave. Its persons are kept in groups of equal keys in all waves so
far, and a further wave splits the groups. A person who is alone stays alone in every
choice below, so that they are counted there by binomial coefficients and leave the
walk: deep levels of the tree hold few persons.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.assess_settings import Method
from riskcore.assessment.cell_risk import Risks, risk_of
from riskcore.assessment.wave_kernels import add_members, add_risks, refine
from riskcore.common.progress import Lines
from riskcore.common.threads import in_parts, in_threads, usual_threads
from riskcore.data.count import THREADED
from riskcore.data.panel import Panel

MOST_CHOICES = 1 << 20  # of waves

Numbers = NDArray[np.int64]


class Groups(NamedTuple):
    """Groups of persons who agree in the waves so far, two persons or more in each."""

    begin: Numbers  # of each group, and the end, shape (G + 1,)
    persons: NDArray[np.int32]

    def parts(self) -> list[tuple[int, int]]:
        """Return ranges of groups with about equally many persons, for threads."""
        threads = 1 if len(self.persons) < THREADED else usual_threads()
        shares = [len(self.persons) * k // threads for k in range(1, threads)]
        inner = np.searchsorted(self.begin[:-1], shares).tolist()
        ends = [0, *inner, len(self.begin) - 1]
        return list(itertools.pairwise(ends))


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
    table = np.array(_binomials(len(panel.waves)), np.float64)
    return table[panel.waves_of, panel.needed].astype(np.int64)


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
    k = 1 if walk.unique.any() else int(walk.least[0])
    return WaveRisks(
        choices,
        walk.unique,
        np.minimum(average, 1.0),
        largest,
        k,
    )


class _Walk:
    """The walk through the tree of choices, and what it has found so far."""

    def __init__(self, panel: Panel, method: Method, progress: Lines) -> None:
        self.panel, self.method, self.progress = panel, method, progress
        self.waves = len(panel.waves)
        self.known = self.waves if panel.known is None else panel.known
        self.need = panel.needed
        choose = np.array(_binomials(self.waves), np.float64)
        self.choose = np.minimum(choose, 2.0**62).astype(np.int64).ravel()
        persons = len(panel)
        self.unique = np.zeros(persons, np.int64)
        self.highs, self.lows = np.zeros(persons), np.zeros(persons)
        self.largest = np.zeros(persons)
        self.least = np.full(1, persons, np.int64)
        # Choices of all waves of persons with fewer waves, and how they begin.
        short = np.unique(panel.taken[self.need < self.known]).tolist()
        self.short = set(short)
        self.begins = {
            kind & ((2 << w) - 1)
            for kind in short
            for w in range(self.waves)
            if kind >> w & 1
        }
        cells = int(panel.code.max()) + 1
        threads = usual_threads()
        self.slots = [np.zeros(cells, np.int32) for _ in range(threads)]

    def run(self) -> None:
        """Walk through all choices."""
        persons = len(self.panel)
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
        code = self.panel.code[wave]

        def split(first: int, last: int, slot: NDArray[np.int32]) -> Groups:
            members = int(groups.begin[last] - groups.begin[first])
            kept_persons = np.empty(members, np.int32)
            starts, counts = np.empty(members // 2 + 1, np.int64), np.zeros(1, np.int64)
            refine(
                code,
                groups.begin,
                groups.persons,
                first,
                last,
                slot,
                np.empty(members + 1, np.int64),
                self.panel.taken,
                self.need,
                wave,
                known_waves,
                self.waves,
                self.choose,
                self.unique,
                kept_persons,
                starts,
                counts,
            )
            begin = starts[: counts[0] + 1]
            return Groups(begin, kept_persons[: begin[-1]])

        parts = groups.parts()
        slots = self.slots[: len(parts)]
        return _joined(in_parts(len(parts), split, parts, slots))

    def _assess(self, groups: Groups, known_waves: int) -> None:
        """Add the risks of a choice to its persons."""
        f, F = np.empty(len(groups.begin) - 1), np.empty(len(groups.begin) - 1)
        parts = groups.parts()

        def add(first: int, last: int) -> None:
            add_members(
                groups.begin, groups.persons, self.panel.weight, first, last, f, F
            )

        in_parts(len(parts), add, parts)
        risk = risk_of(self.method, f, F)

        def give(first: int, last: int) -> int:
            least = self.least.copy()
            add_risks(
                groups.begin,
                groups.persons,
                risk,
                self.need,
                known_waves,
                first,
                last,
                self.highs,
                self.lows,
                self.largest,
                least,
            )
            return int(least[0])

        self.least[0] = min(in_threads(len(parts), give, parts))


def _joined(parts: Iterable[Groups]) -> Groups:
    """Return the groups of several parts together."""
    pieces = list(parts)
    if len(pieces) == 1:
        return pieces[0]
    begins, past = [np.zeros(1, np.int64)], 0
    for piece in pieces:
        begins.append(piece.begin[1:] + past)
        past += len(piece.persons)
    return Groups(np.concatenate(begins), np.concatenate([g.persons for g in pieces]))


def _binomials(most: int) -> list[list[int]]:
    """Return the binomial coefficients of 0 to ``most``."""
    numbers = range(most + 1)
    return [[math.comb(n, k) for k in numbers] for n in numbers]
