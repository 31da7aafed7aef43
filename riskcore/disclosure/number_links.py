"""What whoever knows the keys of a person and some numbers learns of the person.

The intruder looks for the released row that fits the keys and has the nearest numbers.
The link is right if what the row tells is right: a column that was not used for the
link agrees with the person, exactly or within the precision of its numbers, more often
than by chance. Chance is what other rows tell: all that fit the person, those with the
next numbers, or those with other keys and the nearest numbers, whichever is most often
right. For what many rows say alike is a relation between variables, and no link. So
records that exchanged several columns together are found as well as records that
exchanged none.

If it is known which released row is a person's own, that row is right, too; and if keys
were altered, links are also sought without these. If it is not known, and there is no
other column, the row must have the person's number.

A column that is another form of numbers that were altered, such as a rounded copy or a
sum, is compared with what it should be by these.

Among m nearest rows one is taken: it is right with the probability 1/m.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from riskcore.assessment.roles import ALLOWED
from riskcore.common.arrays import Floats, Integers, Mask
from riskcore.common.scatter import scattered, shuffled
from riskcore.common.sheet import Part
from riskcore.common.words import listed, printable, quoted, sentence
from riskcore.disclosure.figures_in_words import number
from riskcore.disclosure.fitting_rows import NEXT, Nearest, Runs, nearest_rows
from riskcore.disclosure.leaks import by_chance, too_many

Pair = tuple[Floats, Floats]  # a column of the people, and of the released rows

EXTREMES = 20  # of the largest and of the smallest numbers
_PEOPLE = 20_000  # that are linked, and _PAIRS of them with rows
_PAIRS = 1 << 27
_PAIRED = 4  # numbers whose pairs are known together
_AROUND = 32  # rows on either side of a number
_SHOWN = 6  # links in a table
_EXACT = 1e-9  # relative error of a multiple of a unit


class KnownNumbers(NamedTuple):
    """The people of an original and the released rows, each column by its name."""

    # Codes of people and rows; -1 for missing, which fits everybody in a released row.
    keys: Mapping[Hashable, tuple[Integers, Integers]]
    numbers: Mapping[Hashable, Pair]  # that an intruder may know, nan for missing
    others: Mapping[Hashable, Pair]  # that a row tells, as codes, nan for missing
    own: Integers | None  # the row of each person, -1 for none; None if not known
    # Numbers that anybody can turn into what a row has, such as those in bands: the
    # value that the row of each person would have.
    as_released: Mapping[Hashable, Floats] = MappingProxyType({})
    # The others that are numbers, which an intruder may compute.
    others_as_numbers: Mapping[Hashable, Pair] = MappingProxyType({})
    absent: Mapping[Hashable, Floats] = MappingProxyType({})  # known, not in the file


class Computed(NamedTuple):
    """A column that is another form of known numbers."""

    column: Hashable
    of: tuple[Hashable, ...]

    def __str__(self) -> str:
        return f"{self.column} (computed from {', '.join(map(str, self.of))})"


_AMONG = {
    "all": "{n} people",
    "largest": "the people with the {n} largest numbers",
    "smallest": "the people with the {n} smallest numbers",
}


@dataclass(frozen=True, slots=True)
class NumberLink:
    """How often a released row that fits keys and numbers tells of the right person."""

    known: tuple[Hashable, ...]  # numbers that the intruder knows, beside the keys
    told: Hashable | None  # the column that the row tells; None for the own row
    among: str  # the people who are looked for: "all", "largest" or "smallest"
    people: int  # how many they are
    right: float  # how many links are right, expected over ties
    chance: float  # the same by chance, of the three kinds that which is most
    looked_at: int  # those drawn of many; right and chance are scaled to all
    without: tuple[Hashable, ...] = ()  # the keys that are not used, as altered
    comparisons: int = 1  # how many ways were tried in all

    @property
    def beyond_chance(self) -> float:
        """Right links beyond those of chance."""
        return self.right - self.chance

    @property
    def leaks(self) -> bool:
        """Whether more are right than a file may give away, and not by chance."""
        beyond = self.beyond_chance
        # A share of the extremes is nothing: each of them is a person of note.
        many = beyond > ALLOWED or (
            self.among == "all" and too_many(beyond, self.people)
        )
        part = self.looked_at / self.people
        return many and not by_chance(
            part * self.right, part * self.chance, self.comparisons
        )

    def __str__(self) -> str:
        keys = sentence("the keys")
        if self.without:
            keys = sentence("the keys without {columns}", self._left)
        people: str = sentence(_AMONG[self.among], self.people)
        right = number(self.right)
        what = sentence("of {people} {n} are found", people, right)
        if self.told is not None:
            what = sentence(
                "{column} is read rightly for {n} of {people}",
                *(quoted(self.told), right, people),
            )
        names = listed([keys, *map(quoted, self.known)])
        chance = number(self.chance)
        return sentence("{what} by {names} ({chance} by chance)", what, names, chance)

    @property
    def _left(self) -> str:
        """The keys that are not used, in words."""
        return listed(printable(str(name)) for name in self.without)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON."""
        figures = asdict(self)
        figures["known"] = [*map(str, self.known)]
        figures["without"] = [*map(str, self.without)]
        figures["told"] = None if self.told is None else str(self.told)
        return figures | {"beyond_chance": self.beyond_chance, "leaks": self.leaks}


def number_links(known_numbers: KnownNumbers) -> tuple[NumberLink, ...]:
    """Return what links by one number, by two and by all tell, with the keys."""
    ways = [known_numbers, _other_forms(known_numbers)]
    links = [link for way in ways for link in _by_numbers(way)]
    if altered := _altered_keys(known_numbers):
        keys = {
            name: x for name, x in known_numbers.keys.items() if name not in altered
        }
        for way in ways:
            others = _by_numbers(way._replace(keys=keys))
            links += [replace(entry, without=altered) for entry in others]
    return tuple(replace(entry, comparisons=len(links)) for entry in links)


def _other_forms(known_numbers: KnownNumbers) -> KnownNumbers:
    """Return as numbers the columns that are other forms of altered ones."""
    own = known_numbers.own
    originals = {name: values for name, (values, _) in known_numbers.numbers.items()}
    same = {
        name
        for name, (values, after) in known_numbers.numbers.items()
        if own is not None and np.array_equal(values, after[own], equal_nan=True)
    }
    originals |= known_numbers.absent
    changed = [k for k, name in enumerate(originals) if name not in same]
    numbers: dict[Hashable, Pair] = {}
    expected: dict[Hashable, Floats] = {}
    others = {**known_numbers.others}
    for name, (before, after) in (
        known_numbers.others_as_numbers.items() if changed else ()
    ):
        shown = before if own is None else np.where(own < 0, np.nan, after[own])
        if relation := other_form(shown, [*originals.values()], changed):
            form = Computed(name, tuple([*originals][k] for k in relation[0]))
            expected[form] = relation[1]
            numbers[form] = np.where(np.isnan(relation[1]), np.nan, before), after
            others.pop(name, None)
    return known_numbers._replace(numbers=numbers, others=others, as_released=expected)


def _altered_keys(known_numbers: KnownNumbers) -> tuple[Hashable, ...]:
    """Return the keys that the own row of somebody has with another value."""
    own = known_numbers.own
    return tuple(
        name
        for name, (codes, other) in known_numbers.keys.items()
        if own is not None
        and ((own >= 0) & (other[own] >= 0) & (other[own] != codes)).any()
    )


def _by_numbers(known_numbers: KnownNumbers) -> list[NumberLink]:
    """Return the links by one number, two and all, with some keys."""
    if not known_numbers.numbers:
        return []
    names = [*known_numbers.numbers]
    links: list[NumberLink] = []
    alone = {}
    search = _Search.of(known_numbers)
    for name in names:
        alone[name] = search.links((name,))
        links += alone[name]
    ranked = sorted(names, key=lambda name: -_best(alone[name]))
    several: list[tuple[Hashable, ...]] = [*combinations(ranked[:_PAIRED], 2)]
    several += [tuple(names)] if len(names) > 2 else []
    for some in several:
        links += search.links(some)
    return links


def part_of_links(links: Sequence[NumberLink]) -> Part:
    """Return a table of the links that find most, those first that leak."""
    rows = [["numbers", "tell", "of", "people", "right", "by chance"]]
    ranked = sorted(links, key=lambda link: (not link.leaks, -link.beyond_chance))
    for link in ranked[:_SHOWN]:
        names = ", ".join(printable(str(name)) for name in link.known)
        names += f" without {link._left}" if link.without else ""
        told = "the person" if link.told is None else printable(str(link.told))
        figures = (f"{link.right:,.4g}", f"{link.chance:,.3g}")
        rows.append([names, told, link.among, f"{link.people:,}", *figures])
    title = "What the record tells that fits keys and numbers best"
    return Part(title, rows=rows, sides="<<<>")


def _best(links: Sequence[NumberLink]) -> float:
    """Return by how many the best of some links of all people is beyond chance."""
    beyond = (link.beyond_chance for link in links if link.among == "all")
    return max(beyond, default=0.0)


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """The people who are looked for, and the rows that fit them."""

    given: KnownNumbers
    runs: Runs
    place: Integers  # where each person is among those of the runs
    drawn: Integers  # people for whom all links are looked for
    told: dict[Hashable, tuple[Pair, float]]  # columns and their precision
    scaled: dict[Hashable, Pair]  # the numbers in standard deviations
    order: dict[Hashable, Integers]  # rows by each number, without missing ones
    few: dict[Hashable, dict[str, Integers]]  # people with extreme numbers

    @classmethod
    def of(cls, known_numbers: KnownNumbers) -> _Search:
        n, m = map(len, next(iter(known_numbers.numbers.values())))
        few = {
            name: {"largest": extremes(-values), "smallest": extremes(values)}
            for name, (values, _) in known_numbers.numbers.items()
        }
        mixed = shuffled(n)
        some = [group for entry in few.values() for group in entry.values()]
        people = np.unique(np.concatenate([mixed[:_PEOPLE], *some]))
        place = np.full(n, -1)
        place[people] = np.arange(len(people))
        keys = [*known_numbers.keys.values()]
        runs = Runs.of([x[people] for x, _ in keys], [x for _, x in keys], m)
        fits = max(int(runs.fits.sum()) / len(runs.first), 1.0)
        drawn = np.sort(mixed[: max(min(_PEOPLE, int(_PAIRS / fits)), 1)])
        told = {name: (pair, 0.0) for name, pair in known_numbers.others.items()}
        scaled, order = {}, {}
        for name, (before, after) in known_numbers.numbers.items():
            told[name] = (before, after), precision(after)
            scale = standard_scale(before)
            asked = known_numbers.as_released.get(name, before)
            scaled[name] = asked * scale, after * scale
            there = np.count_nonzero(~np.isnan(after))
            order[name] = np.argsort(after, kind="stable")[:there]  # nan is last
        return cls(known_numbers, runs, place, drawn, told, scaled, order, few)

    def links(self, known_columns: tuple[Hashable, ...]) -> list[NumberLink]:
        """Return what links by some numbers tell, of all people and of extremes."""
        there = ~np.logical_or.reduce(
            [np.isnan(self.given.numbers[name][0]) for name in known_columns]
        )
        drawn = self.drawn[there[self.drawn]]
        groups = {"all": (drawn, int(np.count_nonzero(there)))}
        if len(known_columns) == 1:
            for among, few in self.few[known_columns[0]].items():
                groups[among] = (few, len(few))
        all_links: list[NumberLink] = []
        for among, (people, of) in groups.items():
            if len(people):
                all_links += self._told(known_columns, among, people, of)
        return all_links

    def _told(
        self, known_columns: tuple[Hashable, ...], among: str, people: Integers, of: int
    ) -> Iterator[NumberLink]:
        """Yield what rows tell of some people: their own row, and each column."""
        names = [
            x for x in self.told if x not in known_columns and type(x) is not Computed
        ]
        if not names and self.given.own is None:
            names = [*known_columns]
        nearest = self._nearest(known_columns, names, people)
        ties, candidates = (
            np.maximum(values, 1).astype(np.float64)
            for values in (nearest.ties, nearest.candidates)
        )
        some = nearest.candidates > 0
        scale, looked = of / len(people), len(people)

        def sums(right: Floats, *chances: Floats) -> tuple[float, float]:
            totals = (math.fsum(values[some].tolist()) for values in chances)
            return scale * math.fsum(right[some].tolist()), scale * max(totals)

        if self.given.own is not None:
            figures = sums(nearest.own / ties, self._own_fits(people) / candidates)
            yield NumberLink(known_columns, None, among, of, *figures, looked)
        elsewhere = self._elsewhere(known_columns, names, people)
        for k, name in enumerate(names):
            chances = [nearest.agree_fitting[:, k], nearest.agree_next[:, k]]
            chances.append(elsewhere[:, k])
            agree = nearest.agree[:, k]
            if name in known_columns:
                # A row with the known number is the own one, or others are like it.
                agree = np.minimum(agree, 1.0)
                chances.append(self._by_luck(name, people, candidates))
            figures = sums(agree / ties, *chances)
            yield NumberLink(known_columns, name, among, of, *figures, looked)

    def _own_fits(self, people: Integers) -> Mask:
        """Return whose own row has their keys."""
        own = self.given.own
        assert own is not None
        row = own[people]
        fits = row >= 0
        for key, released in self.given.keys.values():
            fits &= (released[row] < 0) | (released[row] == key[people])
        return fits

    def _nearest(
        self,
        known_columns: Sequence[Hashable],
        names: Sequence[Hashable],
        people: Integers,
    ) -> Nearest:
        """Return the rows nearest to some people, and what they tell of columns."""
        asked, there = (
            np.stack([self.scaled[name][side] for name in known_columns], axis=1)
            for side in (0, 1)
        )
        true, tells = (
            _side([self.told[name][0][side] for name in names], len(rows))
            for side, rows in enumerate((asked, there))
        )
        own = self.given.own
        return nearest_rows(
            self.runs.of_people(self.place[people]),
            (asked[people], there),
            (true[people], tells),
            np.array([self.told[name][1] for name in names]),
            np.full(len(people), -1) if own is None else own[people],
        )

    def _elsewhere(
        self,
        known_columns: Sequence[Hashable],
        names: Sequence[Hashable],
        people: Integers,
    ) -> Floats:
        """Return how often columns agree in near rows with other keys."""
        first = self.given.numbers[known_columns[0]]
        order = self.order[known_columns[0]]
        right = np.zeros((len(people), len(names)))
        if not len(order) or not names or not self.given.keys:
            return right
        place = np.searchsorted(first[1][order], first[0][people])
        reach = np.arange(-_AROUND, _AROUND)
        rows = order[np.clip(place[:, None] + reach, 0, len(order) - 1)]
        fits = np.ones(rows.shape, bool)
        for key, released in self.given.keys.values():
            fits &= (released[rows] < 0) | (released[rows] == key[people][:, None])
        gap = np.zeros(rows.shape)
        for name in known_columns:
            ours, theirs = self.scaled[name]
            gap += (theirs[rows] - ours[people][:, None]) ** 2
        gap = np.where(fits | np.isnan(gap), math.inf, gap)
        limit = np.partition(gap, NEXT - 1, axis=1)[:, [NEXT - 1]]
        near = (gap <= limit) & (gap < math.inf)
        for k, name in enumerate(names):
            (ours, theirs), within = self.told[name]
            agree = np.abs(theirs[rows] - ours[people][:, None]) <= within
            right[:, k] = (agree & near).sum(axis=1)
        shares: Floats = right / np.maximum(near.sum(axis=1), 1)[:, None]
        return shares

    def _by_luck(self, name: Hashable, people: Integers, candidates: Floats) -> Floats:
        """Return how likely one of the fitting rows has a number if all may have it."""
        (asked, there), within = self.told[name]
        values = np.sort(there[~np.isnan(there)])
        x = asked[people]
        records = np.searchsorted(values, x + within, "right")
        records = records - np.searchsorted(values, x - within, "left")
        share = records / max(len(values), 1)
        return 1.0 - (1.0 - share) ** candidates


def _side(columns: Sequence[Floats], n: int) -> Floats:
    """Return columns side by side, also without columns."""
    return np.stack(columns, axis=1) if columns else np.zeros((n, 0))


def standard_scale(values: Floats) -> float:
    """Return 1 over the standard deviation (n - 1) of a column, 0 if it is constant."""
    there = values[~np.isnan(values)]
    n = len(there)
    if n == 0 or there.min() == there.max():
        return 0.0
    mean = math.fsum(there.tolist()) / n
    spread = math.sqrt(math.fsum(((there - mean) ** 2).tolist()) / (n - 1))
    return 1.0 / spread if spread > 0.0 else 0.0


def extremes(values: Floats) -> Integers:
    """Return the people with the 20 smallest numbers, none of whom shares the 21st."""
    there = np.flatnonzero(~np.isnan(values))
    if len(there) <= EXTREMES:
        return there
    beyond = np.partition(values[there], EXTREMES)[EXTREMES]
    people: Integers = there[values[there] < beyond]
    return people


def precision(values: Floats) -> float:
    """Return half the unit that released numbers are multiples of, 0 for no unit."""
    distinct = np.unique(values[~np.isnan(values)])
    largest = float(np.abs(distinct).max(initial=0.0))
    if largest == 0.0:
        return 0.0
    top = math.floor(math.log10(largest))
    for power in range(top, top - 12, -1):
        for digit in (5, 2, 1):
            parts = np.abs(distinct) / digit * 10.0**-power
            if np.all(np.abs(parts - np.round(parts)) <= _EXACT * np.maximum(parts, 1)):
                return digit * 10.0**power / 2.0
    return 0.0


# --- other forms of known numbers: rounded, a logarithm, a tax, a sum ---

# The errors that are left if known numbers explain 99 % of a normal column.
_LEFT = 0.12
_MOSTLY = 0.9  # of the records count: errors in others do not hide the form
_SAMPLE = 2_000
_FEWEST = 20


def other_form(
    y: Floats, columns: Sequence[Floats], changed: Collection[int]
) -> tuple[tuple[int, ...], Floats] | None:
    """Return what y follows from, only with ``changed`` columns, and what it gives."""
    some = np.flatnonzero(~np.isnan(y))
    some = some[:: len(some) // _SAMPLE + 1]
    every = tuple(range(len(columns)))
    kept = tuple(j for j in every if j not in changed)
    alone = [((j,), _by_neighbors) for j in changed]
    ways = [(kept, _by_sum), *alone, (every, _by_sum)]
    x, z = [column[some] for column in columns], y[some]
    left = [_left(z, way([x[j] for j in of], z)) for of, way in ways]
    best = int(np.argmin(np.round(left, 2)))
    of, way = ways[best]
    if min(left) > _LEFT or of == kept:
        return None
    if _left(z, _by_sum([x[j] for j in of], z)) < left[best]:
        way = _by_sum  # which knows the ends, too
    return of, way([columns[j] for j in of], y)


def _by_neighbors(columns: Sequence[Floats], y: Floats) -> Floats:
    """Return the mean of y of the two records on either side in the order of x."""
    (x,), means = columns, np.full(len(y), math.nan)
    there = np.flatnonzero(~np.isnan(x + y)).astype(np.uint64)
    # The order of equal numbers tells nothing: that of the file might.
    order = there[np.lexsort((scattered(there), x[there]))]
    z = y[order]
    means[order[2:-2]] = (z[:-4] + z[1:-3] + z[3:-1] + z[4:]) / 4.0
    return means


def _by_sum(columns: Sequence[Floats], y: Floats) -> Floats:
    """Return the weighted sum of columns that fits nine in ten of y best."""
    table = np.column_stack([*columns, np.ones(len(y))])
    there = np.flatnonzero(~np.isnan(table.sum(axis=1) + y))
    there = there[:: len(there) // _SAMPLE + 1]
    if len(there) < _FEWEST * table.shape[1]:
        return np.full(len(y), math.nan)
    error = np.zeros(len(there))
    for _ in range(3):
        fit = there[error <= np.quantile(error, _MOSTLY)]
        factors = np.linalg.lstsq(table[fit], y[fit], rcond=None)[0]
        error = np.abs(table[there] @ factors - y[there])
    sums: Floats = table @ factors
    return sums


def _left(y: Floats, expected: Floats) -> float:
    """Return the errors of most values, as a part of those of the median."""
    # The commonest value does not count: that all without an income pay no tax does not
    # make the tax a function of income.
    values, counts = np.unique(y, return_counts=True)
    rest = ~np.isnan(expected)
    rest &= y != values[counts.argmax()] if len(y) else False
    if np.count_nonzero(rest) < _FEWEST:
        return math.inf
    y, expected = y[rest], expected[rest]
    spread = np.quantile(np.abs(y - np.median(y)), _MOSTLY)
    error = np.quantile(np.abs(y - expected), _MOSTLY)
    return float(error / spread) if spread > 0.0 else math.inf
