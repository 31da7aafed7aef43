"""Goals of k-anonymity for sets of keys, for their subsets, and within strata."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, TypeAlias

from riskcore.common import arguments, text_numbers
from riskcore.common.words import counted, printable
from riskcore.data.columns import key_names

Names: TypeAlias = tuple[Hashable, ...]
# The definitions of l-diversity.
DEFINITIONS = ("distinct", "entropy", "recursive")
# One k for all sets of keys, or one for each of them, by name or in their order.
KOfSets: TypeAlias = int | Mapping[Any, int] | Sequence[int | None]

# Each set is counted, planned and verified by itself, and stands in the record.
MOST_SETS = 300
# More records than any file has.
_LARGEST_K = 1 << 40
_TITLES = {
    "k": "k-anonymity",
    "threshold": "risk below the threshold",
    "max_risk": "maximum risk",
    "max_rate": "re-identification rate",
    "household_threshold": "household risk below the threshold",
    "max_household_risk": "maximum household risk",
    "max_household_rate": "household re-identification rate",
    "min_population": "number of people",
    "values": "values of another form",
    "l": "l-diversity",
    "t": "t-closeness",
    # Of an audit, see `riskcore.Audit.check`.
    "max_right_claims": "share of right claims",
    "max_claim_excess": "right claims beyond others",
    "max_guess_excess": "right guesses beyond others",
    "max_copy_excess": "copies beyond others",
}


@dataclass(frozen=True, slots=True)
class Goal:
    """One goal of a release, and the value found.

    Attributes
    ----------
    rule : str
        Name of the rule: the argument of `check`; with a record also "threshold" and
        "household_threshold", which no risk may reach.
    keys : tuple of column names
        Columns of the rule: a set of keys with its strata, or the columns of areas.
    sensitive : column name or None
        The sensitive variable of a rule on l or t.
    asked, found : int or float
        The limit that was asked for, and the number that was found.
    records, cells : int or None
        Numbers of records and cells that break the rule, for a rule on household risks
        the members of the households that break it; None if the rule is not on records
        or cells.
    passed : bool or None
        None if the goal could not be judged.
    recorded : bool
        Whether the figure is the one in the record of exactly this file.
    """

    rule: str
    keys: tuple[Hashable, ...]
    sensitive: Hashable | None
    asked: int | float
    found: int | float
    records: int | None
    cells: int | None
    passed: bool | None
    recorded: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the goal as plain data for JSON."""
        return {
            **asdict(self),
            "keys": [str(name) for name in self.keys],
            "found": None if math.isnan(self.found) else self.found,
            "sensitive": None if self.sensitive is None else str(self.sensitive),
        }

    @property
    def title(self) -> str:
        """The name of the rule in words."""
        return _TITLES[self.rule]

    @property
    def of(self) -> str:
        """The columns of the rule, joined on one line."""
        keys = " x ".join(printable(str(name)) for name in self.keys)
        if self.sensitive is None:
            return keys
        return f"{printable(str(self.sensitive))} in {keys}"


@dataclass(frozen=True, slots=True)
class KeyGoals:
    """The sets of keys a file is protected from, and the k asked of each set."""

    keys: tuple[Names, ...]  # each ends in the strata
    k: tuple[Any, ...]  # or another least number
    strata: Names  # their groups are counted separately; they are never blanked

    @classmethod
    def of(
        cls,
        sets: Sequence[Names],
        k: KOfSets | float | None,
        subsets: int | None,
        strata: Iterable[Hashable] | None,
        name: str = "k",
    ) -> KeyGoals:
        """Return the goals for the given arguments; ``name`` is that of ``k``."""
        within = () if strata is None else tuple(arguments.names("strata", strata))
        if len(set(within)) < len(within):
            raise ValueError(f"strata: a column appears twice in {list(within)}")
        for x in within:
            if any(x in keys for keys in sets):
                raise ValueError(f"strata: column {x!r} is both a key and a stratum")
        asked = _of_sets(sets, k, name)
        if subsets is not None:
            sets, asked = _all_subsets(sets, asked, subsets)
        return cls(tuple((*keys, *within) for keys in sets), tuple(asked), within)


def check_k(k: Any, what: str = "k") -> int:
    """Return k if it is valid, otherwise raise."""
    number = arguments.whole(what, k)
    if not 2 <= number <= _LARGEST_K:
        raise ValueError(
            f"{what}={arguments.shown(number)}: need a whole number from 2 (every file "
            f"has k = 1) to 2^{_LARGEST_K.bit_length() - 1} (no file has more records)"
        )
    return number


def l_parts(l: Any) -> tuple[str, float]:  # noqa: E741
    """Return the definition and the number of a least l: of 3, or of "entropy:2.5"."""
    if not isinstance(l, str):
        arguments.number_in("l", l, "[1, inf)")
        return DEFINITIONS[0], l
    definition, colon, number = l.partition(":")
    if not colon or definition not in DEFINITIONS:
        known = ", ".join(map(repr, DEFINITIONS))
        raise ValueError(
            f"l={l!r}: need a number, or one of {known} with a number, such as "
            "'entropy:3'"
        )
    try:
        return definition, l_parts(text_numbers.number(number))[1]
    except ValueError as error:
        raise ValueError(f"l={l!r}: {error}") from None


def _of_sets(sets: Sequence[Names], k: Any, name: str) -> list[Any]:
    """Return the goal of each set, None for a set without one."""

    def check(goal: Any, what: str = name) -> Any:
        if name == "k":
            return check_k(goal, what)
        return arguments.number_in(what, goal, "(0, inf)", "a number of people")

    if isinstance(k, list | tuple):
        if len(k) != len(sets):
            raise ValueError(
                f"{name}: {counted(len(k), 'number')} for {counted(len(sets), 'set')} "
                "of keys; give one, or one for each set"
            )
        return [None if goal is None else check(goal) for goal in k]
    if not isinstance(k, Mapping):
        entry = None if k is None else check(k)
        return [entry] * len(sets)
    named = {}
    for keys, goal in k.items():
        columns = (keys,) if isinstance(keys, str) else keys
        named[frozenset(arguments.names(name, columns))] = check(
            goal, f"{name} of {' x '.join(map(str, columns))}"
        )
    frozen_sets = list(map(frozenset, sets))
    for keys in named:
        if keys not in frozen_sets:
            listed = ", ".join(" x ".join(map(str, entry)) for entry in sets)
            raise ValueError(
                f"{name}: {' x '.join(sorted(map(str, keys)))} is not a set of keys; "
                f"the sets are {listed}"
            )
    return [named.get(keys) for keys in frozen_sets]


def _all_subsets(
    sets: Sequence[Names], asked: Sequence[Any], subsets: Any
) -> tuple[list[Names], list[Any]]:
    """Return all subsets of m keys, each with the largest goal of its sets."""
    m = arguments.whole("subsets", subsets)
    for keys in sets:
        if not 1 <= m <= len(keys):
            raise ValueError(
                f"subsets={m}: need 1 to {len(keys)}, the keys of "
                f"{' x '.join(map(str, keys))}"
            )
    count = sum(math.comb(len(keys), m) for keys in sets)
    if count > MOST_SETS:
        raise ValueError(
            f"subsets={m}: gives {count:,} sets of keys, each counted separately; "
            f"give fewer keys or another number, for at most {MOST_SETS} sets"
        )
    goals_by_subset: dict[frozenset[Hashable], tuple[Names, Any]] = {}
    for keys, k in zip(sets, asked, strict=True):
        for some in combinations(keys, m):
            name = frozenset(some)
            first, before = goals_by_subset.get(name, (some, None))
            goals_by_subset[name] = (
                first,
                max(filter(None, (k, before)), default=None),
            )
    return [keys for keys, _ in goals_by_subset.values()], [
        k for _, k in goals_by_subset.values()
    ]


def key_sets(keys: Iterable[Any]) -> tuple[Names, ...]:
    """Return the sets of keys: one set, or several if lists of names are given."""
    if isinstance(keys, str | bytes) or not isinstance(keys, Iterable):
        key_names(keys)
    entries = list(keys)
    several = bool(entries) and all(isinstance(entry, list) for entry in entries)
    sets = tuple(
        tuple(key_names(entry)) for entry in (entries if several else [entries])
    )
    if len(set(map(frozenset, sets))) < len(sets):
        raise ValueError("keys: the same set of keys appears twice")
    return sets
