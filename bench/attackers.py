"""Attack protected files with the whole original at hand.

    python -m bench.attackers            # all files and plans
    python -m bench.attackers wages      # one file

The intruder knows every column of every person in the original file, and how keys were
recoded. Each attack counts the people about whom a claim is right, beside the number
that the same claims would reach by chance among the released records with the keys of
the person. A claim that released record j is person i is right if j is i's own record,
or if what j tells about columns that the intruder did not use is true of i: whoever
reads a true income from another person's record has learned it. The attacks know
nothing of how riskcore judges a file; the last columns put its verdict beside them.
"""

import re
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching

import riskcore
from bench._common import HERE, origin, table
from riskcore import Recoding, simulate

ADULT = HERE.parents[1] / "shared" / "data" / "populations" / "adult.csv"
PAGE = HERE / "results" / "attackers.md"
EXTREMES = 20
HIDDEN = "TRUE_PLACE"  # column of the order attack that no intruder sees


class Known(NamedTuple):
    """A released file, its original, and what columns are.

    Row i of both files is the same person; no attack uses this except to judge.
    """

    original: dict[str, Any]  # the keys recoded, the numbers as they were
    released: dict[str, Any]
    keys: tuple[str, ...]
    numbers: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    weight: str | None = None
    household: str | None = None

    @property
    def people(self):
        """The number of records."""
        return len(self.original[self.keys[0]])

    def left(self, names):
        """Return those of some columns that were released."""
        return [name for name in names if name in self.released]

    def measures(self):
        """Return the released columns that an intruder may know as numbers."""
        return self.left([*self.numbers, *([self.weight] if self.weight else [])])


class Found(NamedTuple):
    """What an attack found."""

    attack: str
    known: str  # what the intruder used, and what was learned
    attacked: int
    right: float  # people about whom the claim is right, ties shared
    chance: float  # the same by a random released record with the keys

    @property
    def beyond(self):
        """The people found beyond chance."""
        return self.right - self.chance

    @property
    def significant(self):
        """Whether chance does not explain what was found, by four deviations."""
        return self.beyond > max(4 * np.sqrt(self.chance), 3)


# --- what the attacks share -------------------------------------------------------


def text(column):
    """Return a column as text, and where it is blank."""
    blank = np.ma.getmaskarray(column) if np.ma.isMaskedArray(column) else None
    values = pandas.Series(np.asarray(np.ma.getdata(column)))
    blank = values.isna().to_numpy() if blank is None else blank
    return values.astype(str).to_numpy(), blank


def codes_of(known, names):
    """Return codes of columns of both files, shape (n, columns); -1 for a blank."""
    pairs = []
    for name in names:
        (old, no_old), (new, no_new) = (
            text(known.original[name]),
            text(known.released[name]),
        )
        codes = pandas.factorize(np.concatenate([old, new]))[0]
        codes[np.concatenate([no_old, no_new])] = -1
        pairs.append(np.split(codes, [len(old)]))
    old, new = (np.array(part).T for part in zip(*pairs, strict=True))
    return old, new


def numbers_of(column):
    """Return a column as numbers; nan for a blank."""
    values = np.ma.filled(np.ma.masked_array(column, dtype=float), np.nan)
    return np.asarray(values, float)


def step_of(values):
    """Return the precision of released numbers: nearly all are multiples of it."""
    values = values[np.isfinite(values)]
    steps = [m * 10.0**e for e in range(6, -4, -1) for m in (5, 2.5, 2, 1)]
    for step in steps:
        if np.mean(np.abs(values / step - np.rint(values / step)) < 1e-6) > 0.99:
            return step
    return 0.0


def rounded(known, name):
    """Return a number of both files in steps of its released precision."""
    old, new = numbers_of(known.original[name]), numbers_of(known.released[name])
    step = step_of(new)
    return (np.rint(old / step), np.rint(new / step)) if step else (old, new)


def groups_of(*columns):
    """Return the group of rows that agree in all columns."""
    frame = pandas.DataFrame(dict(enumerate(columns)))
    return frame.groupby(list(frame), dropna=False, sort=False).ngroup().to_numpy()


def cells_and_rows(people, rows):
    """Yield people with equal keys, and the released rows that agree with them.

    A blank of a row agrees with any key.
    """
    cells, cell = np.unique(people, axis=0, return_inverse=True)
    patterns, pattern = np.unique(rows, axis=0, return_inverse=True)
    of_pattern = members(pattern.reshape(-1), len(patterns))
    of_cell = members(cell.reshape(-1), len(cells))
    for group, fitting in zip(of_cell, fits(cells, patterns), strict=True):
        chosen = [of_pattern[one] for one in fitting]
        yield group, np.concatenate(chosen) if chosen else np.empty(0, int)


def members(group, groups):
    """Return the indices of the members of each group."""
    order = np.argsort(group, kind="stable")
    return np.split(order, np.cumsum(np.bincount(group, minlength=groups))[:-1])


def fits(cells, patterns):
    """Return for each cell of known keys the patterns that agree with it."""
    found = [[] for _ in cells]
    blanks, kind = np.unique(patterns < 0, axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    for number, blank in enumerate(blanks):
        kept = ~blank
        where = {patterns[p, kept].tobytes(): p for p in np.flatnonzero(kind == number)}
        for c, key in enumerate(np.ascontiguousarray(cells[:, kept])):
            p = where.get(key.tobytes())
            if p is not None:
                found[c].append(p)
    return found


def targets_of(known, used):
    """Return what a row may tell of a person: its own identity and unused columns.

    Each target is a pair of columns, of the original and of the release; equal values
    mean that the row tells the truth.
    """
    targets = {"the record": (np.arange(known.people),) * 2}
    for name in known.measures():
        if name not in used:
            targets[name] = rounded(known, name)
    for name in known.left(known.sensitive):
        if name not in used:
            old, new = codes_of(known, [name])
            targets[name] = old[:, 0], new[:, 0]
    return targets


def judged(known, attack, used, links):
    """Return what links find, by the target about which they find most.

    ``links`` yields a person, the rows that the attack ties between, and the rows that
    fit by the keys alone.
    """
    targets = targets_of(known, used)
    right, chance = dict.fromkeys(targets, 0.0), dict.fromkeys(targets, 0.0)
    attacked = 0
    for person, linked, by_keys in links:
        attacked += 1
        for name, (old, new) in targets.items():
            right[name] += np.mean(new[linked] == old[person])
            chance[name] += np.mean(new[by_keys] == old[person])
    best = max(targets, key=lambda name: right[name] - chance[name])
    what = f"{' + '.join(used)}: {best}"
    return Found(attack, what, attacked, right[best], chance[best])


# --- the attacks ------------------------------------------------------------------


def nearest(known):
    """Return what the nearest released record by keys and numbers finds.

    For each number and for all of them together, each in ranks.
    """
    names = known.measures()
    chosen = [[name] for name in names] + ([names] if len(names) > 1 else [])
    return best_of(
        judged(known, "nearest", used, nearest_links(known, used)) for used in chosen
    )


def nearest_links(known, used):
    """Yield for each person the nearest rows with their keys."""
    columns = []
    for name in used:
        old, new = numbers_of(known.original[name]), numbers_of(known.released[name])
        rank = pandas.Series(np.concatenate([old, new])).rank(pct=True).to_numpy()
        columns.append(np.split(np.nan_to_num(rank, nan=-1.0), [len(old)]))
    old, new = (np.array(part).T for part in zip(*columns, strict=True))
    for group, rows in cells_and_rows(*codes_of(known, known.keys)):
        if not len(rows):
            continue
        for person in group:
            far = np.abs(new[rows] - old[person]).sum(1)
            yield person, rows[far <= far.min() + 1e-12], rows


def exact(known):
    """Return what equal numbers find beside the keys: one number, two, and all."""
    names, found = known.measures(), []
    pairs = [[a, b] for i, a in enumerate(names) for b in names[i + 1 :]]
    for size, sets in (
        ("one number", [[name] for name in names]),
        ("two numbers", pairs),
        ("all numbers", [names] if len(names) > 2 else []),
    ):
        found += best_of(
            judged(known, f"equal, {size}", used, equal_links(known, used))
            for used in sets
        )
    return found


def equal_links(known, used):
    """Yield for each person the rows with their keys and equal numbers."""
    pairs = [rounded(known, name) for name in used]
    joined = groups_of(*(np.concatenate(pair) for pair in pairs))
    old, new = np.split(joined, [known.people])
    for group, rows in cells_and_rows(*codes_of(known, known.keys)):
        for person in group:
            linked = rows[new[rows] == old[person]]
            if len(linked):
                yield person, linked, rows


def extremes(known):
    """Return what the largest and smallest of each number find.

    The intruder knows who they are, and takes the released records at the same end
    that agree in the keys, the nearest rank first.
    """
    found = []
    for name in known.measures():
        old, new = numbers_of(known.original[name]), numbers_of(known.released[name])
        for end, sign in (("largest", -1), ("smallest", 1)):
            links = extreme_links(known, sign * old, sign * new)
            found.append(judged(known, f"{EXTREMES} {end}", [name], links))
    return best_of(found)


def extreme_links(known, old, new):
    """Yield the people of least values, and the least rows that fit."""
    people, rows = codes_of(known, known.keys)
    least = np.argsort(old, kind="stable")[:EXTREMES]
    beyond = np.sort(new)[min(EXTREMES, len(new)) - 1]
    for person in least:
        agree = ((rows == people[person]) | (rows < 0)).all(1)
        fitting = np.flatnonzero(agree)
        tail = np.flatnonzero(agree & (new <= beyond))
        if len(tail):
            far = np.abs(new[tail] - old[person])
            yield person, tail[far == far.min()], fitting


def elimination(known):
    """Return the rows that can be only one person, if all people are known.

    Each released record is another person of the file. A row may be a person if some
    assignment of all rows to all people has them together. The true assignment is one
    of these; the others differ from it by cycles.
    """
    people, rows = codes_of(known, known.keys)
    cells, cell, size = np.unique(people, axis=0, return_inverse=True, return_counts=1)
    patterns, pattern = np.unique(rows, axis=0, return_inverse=True)
    cell, pattern, c = cell.reshape(-1), pattern.reshape(-1), len(cells)
    pairs = [(i, p) for i, some in enumerate(fits(cells, patterns)) for p in some]
    start, end = np.array(pairs).T
    nodes = c + len(patterns)
    graph = csr_matrix(
        (
            np.ones(len(start) + len(cell)),
            (np.append(start, c + pattern), np.append(c + end, cell)),
        ),
        (nodes, nodes),
    )
    component = connected_components(graph, connection="strong")[1]
    possible = component[start] == component[c + end]
    candidates = np.bincount(
        end[possible], weights=size[start[possible]], minlength=len(patterns)
    )
    alone = np.bincount(pattern)
    by_keys = np.bincount(end, weights=size[start], minlength=len(patterns))
    # An edge of the truth between two components belongs to every assignment.
    true = np.unique(np.stack([cell, pattern]), axis=1)
    fixed = component[true[0]] != component[c + true[1]]
    np.add.at(candidates, true[1][fixed], size[true[0][fixed]])
    named = (candidates == 1)[pattern]
    told = np.bincount(end[possible], minlength=len(patterns))
    np.add.at(told, true[1][fixed], 1)
    told = (told == 1)[pattern] & (rows < 0).any(1)
    share = size[cell] / by_keys[pattern]
    n = known.people
    return [
        Found("elimination", "all people of the file: the record", n,
              named.sum(), (1 / by_keys[pattern][named]).sum()),
        Found("elimination", "all people of the file: blanked keys",
              int((rows < 0).any(1).sum()), told.sum(), share[told].sum()),
        Found("expected by elimination", "all people of the file: the record", n,
              (1 / np.maximum(candidates, 1))[pattern].sum(),
              (alone / by_keys).sum()),
    ]  # fmt: skip


def homogeneous(known):
    """Return the people of whom all released records that fit tell the same value."""
    found = []
    names = [*known.left(known.sensitive), *known.measures()]
    for name in names:
        numeric = name in known.measures()
        pair = rounded(known, name) if numeric else codes_of(known, [name])
        old, new = (np.asarray(part).reshape(known.people) for part in pair)
        share = pandas.Series(new).value_counts(normalize=True)
        right = chance = attacked = 0.0
        for group, rows in cells_and_rows(*codes_of(known, known.keys)):
            if len(rows) and (new[rows] == new[rows[0]]).all():
                attacked += len(group)
                right += (old[group] == new[rows[0]]).sum()
                chance += len(group) * share[new[rows[0]]]
        what = f"keys: {name}"
        found.append(Found("homogeneous cells", what, int(attacked), right, chance))
    return best_of(found)


def register(known, population):
    """Return the rows that fit one person of the population, and the expected links.

    ``population`` has the recoded keys of everybody.
    """
    everybody = Known(population, known.released, known.keys)
    people, rows = codes_of(everybody, known.keys)
    cells, size = np.unique(people, axis=0, return_counts=True)
    patterns, pattern = np.unique(rows, axis=0, return_inverse=True)
    F = np.zeros(len(patterns))
    for count, some in zip(size, fits(cells, patterns), strict=True):
        F[some] += count
    F = F[pattern.reshape(-1)]
    n, by_chance = known.people, known.people / len(people)
    return [
        Found("register, alone", "keys of everybody: the record", n,
              (F == 1).sum(), by_chance),
        Found("register, expected", "keys of everybody: the record", n,
              (1 / F).sum(), by_chance),
    ]  # fmt: skip


def order(known, place):
    """Return how many released records keep their place or their neighbor.

    ``place`` is the original row of each released row. Neighbors of one household say
    nothing new where its ids are released.
    """
    n = len(place)
    kept = max((place == np.arange(n)).sum(), (place == n - 1 - np.arange(n)).sum())
    home = np.arange(n)
    if known.household in known.released:
        home = np.asarray(known.original[known.household])
    near = np.abs(np.diff(place)) == 1
    next_one = (near & (np.diff(home[place]) != 0)).sum()
    return [
        Found("order", "the place: the record", n, kept, 2.0),
        Found("order", "neighbors: the next record", n, next_one, 2.0),
    ]


def households(known):
    """Return the people in households that alone have the keys of all members."""
    name = known.household
    if name is None or name not in known.released:
        return []
    people, rows = codes_of(known, known.keys)
    home = pandas.factorize(np.asarray(known.original[name]))[0]
    of_home = members(home, home.max() + 1)
    by_size = {}
    for one in of_home:
        by_size.setdefault(len(one), []).append(one)
    own = own_chance(known)
    alone = attacked = chance = 0.0
    for same in by_size.values():
        there, released = people[np.array(same)], rows[np.array(same)]
        for at, row in enumerate(released):
            attacked += len(row)
            if households_that_fit(there, row, at) == 1:
                alone += len(row)
                chance += own[same[at]].sum()
    what = "keys of all members: the record"
    return [Found("households", what, int(attacked), alone, chance)]


def own_chance(known):
    """Return for each person the chance of a random original that fits their row."""
    people, rows = codes_of(known, known.keys)
    count = np.zeros(len(rows))
    for group, fitting in cells_and_rows(people, rows):
        count[fitting] += len(group)
    return 1 / count


def households_that_fit(there, row, own):
    """Return how many households may be a released one; two stands for more."""
    possible = np.ones(len(there), bool)
    for k in range(row.shape[1]):
        full = row[:, k] >= 0
        if full.all():
            equal = np.sort(there[:, :, k], axis=1) == np.sort(row[:, k])
            possible &= equal.all(1)
    possible[own] = False
    count = 1
    for one in there[possible]:
        alike = ((one[:, None] == row[None]) | (row[None] < 0)).all(2)
        if alike.any(0).all() and alike.any(1).all():
            pairs = maximum_bipartite_matching(csr_matrix(alike), perm_type="column")
            count += bool((pairs >= 0).all())
        if count > 1:
            break
    return count


def best_of(found):
    """Return the attack that found most beyond chance, in a list; empty for none."""
    found = list(found)
    return [max(found, key=lambda one: one.beyond)] if found else []


def attacks(known, population=None, place=None):
    """Return what each attack finds in a released file."""
    return [
        *nearest(known), *exact(known), *extremes(known), *elimination(known),
        *homogeneous(known), *households(known),
        *(register(known, population) if population is not None else []),
        *(order(known, place) if place is not None else []),
    ]  # fmt: skip


# --- files and plans --------------------------------------------------------------


class File(NamedTuple):
    """A file to protect, and the people it was drawn from."""

    data: dict[str, Any]
    population: dict[str, Any]
    keys: tuple[str, ...]
    recodings: dict[str, Any]
    settings: dict[str, Any]  # roles and columns
    plans: dict[str, dict[str, Any]]


def adult():
    """Return a fifth of the people of 1994, if they are there."""
    if not ADULT.exists():
        return None
    frame = pandas.read_csv(ADULT, sep=";")
    population = {name: frame[name].to_numpy() for name in frame}
    chosen = np.random.default_rng(2).permutation(len(frame))[: len(frame) // 5]
    data = {name: column[chosen] for name, column in population.items()}
    data["weight"] = np.full(len(chosen), 5.0)
    keys = ("sex", "age", "race", "marital-status", "education")
    roles = {
        "salary-class": "sensitive", "occupation": "sensitive",
        "workclass": "sensitive", "native-country": "sensitive",
    }  # fmt: skip
    return File(
        data, population, keys, {"age": Recoding.intervals([25, 35, 45, 55, 65])},
        {"weight": "weight", "roles": roles},
        {"k = 3": {"k": 3}, "k = 5": {"k": 5}, "threshold 0.05": {"threshold": 0.05}},
    )  # fmt: skip


def drawn(population, fraction, seed):
    """Return whole households of a population, with their weight."""
    rng = np.random.default_rng(seed)
    home = population["HOUSEHOLD"]
    asked = rng.random(home.max() + 1) < fraction
    data = {name: column[asked[home]] for name, column in population.items()}
    data["WEIGHT"] = np.full(len(data["HOUSEHOLD"]), 1 / fraction)
    return data


def demo():
    """Return a survey like that of ``riskcore demo``, drawn from a whole population."""
    population = simulate.microdata(80_000, np.random.default_rng(3), fraction=1.0)
    population["REGION"] = population["REGION"] // 100
    data = drawn(population, 0.1, 4)
    for name in ("PERSON", "HHSIZE", "CITIZENSHIP"):
        del data[name]
    keys = ("REGION", "SEX", "AGE", "MARSTAT")
    within = ":within=REGION+SEX+AGE+MARSTAT"
    swap = {"INCOME": [f"swap:99%{within}", "round:500"]}
    return File(
        data, population, keys, {"AGE": Recoding.intervals([15, 30, 45, 65])},
        {
            "weight": "WEIGHT", "household": "HOUSEHOLD",
            "roles": {"INCOME": "numeric", "EDUCATION": "sensitive"},
        },
        {
            "k = 3": {"k": 3},
            "threshold 0.5 %, swap in the keys": {"threshold": 0.005, "treat": swap},
            "k = 5, noise 10 %": {"k": 5, "treat": {"INCOME": "noise:10%"}},
        },
    )  # fmt: skip


def wages():
    """Return made wages: long tails, bonuses that follow them, rare jobs."""
    rng = np.random.default_rng(5)
    n = 40_000
    shares = 1 / np.arange(1, 41) ** 1.2
    job = rng.choice(40, n, p=shares / shares.sum())
    region, sex = rng.integers(0, 16, n), rng.integers(0, 2, n)
    age = np.clip(rng.normal(42, 12, n).astype(int), 18, 70)
    hours = rng.choice([20, 30, 38, 40, 45], n, p=[0.1, 0.15, 0.3, 0.4, 0.05])
    wage = np.exp(rng.normal(7.6 + 0.02 * job + 0.004 * (age - 18), 0.5)) * hours / 38
    wage = np.rint(wage * np.where(rng.random(n) < 0.004, rng.pareto(1.5, n) + 3, 1))
    bonus = np.rint(wage * rng.exponential(0.6, n)) * (rng.random(n) < 0.7)
    ill = (rng.random(n) < 0.05 + 0.15 * (job > 25)).astype(int)
    population = {
        "REGION": region, "SEX": sex, "AGE": age, "JOB": job, "HOURS": hours,
        "WAGE": wage.astype(int), "BONUS": bonus.astype(int), "ILL": ill,
    }  # fmt: skip
    chosen = rng.permutation(n)[: n // 5]
    data = {name: column[chosen] for name, column in population.items()}
    data["WEIGHT"] = np.full(len(chosen), 5.0)
    keys = ("REGION", "SEX", "AGE", "JOB")
    within = ":within=REGION+SEX+AGE+JOB"
    both = {"WAGE": f"swap:99%{within}", "BONUS": f"swap:99%{within}"}
    roles = {"WAGE": "numeric", "BONUS": "numeric", "HOURS": "numeric"}
    return File(
        data, population, keys, {"AGE": Recoding.intervals([25, 35, 45, 55])},
        {"weight": "WEIGHT", "roles": {**roles, "ILL": "sensitive"}},
        {
            "k = 3": {"k": 3},
            "k = 3, swap in the keys": {"k": 3, "treat": both},
            "k = 3, swap 10 %": {
                "k": 3, "treat": {"WAGE": "swap:10%", "BONUS": "swap:10%"},
            },
            "threshold 0.05, noise 10 %": {
                "threshold": 0.05, "treat": {"WAGE": "noise:10%", "BONUS": "noise:10%"},
            },
            "k = 3, groups of 5": {"k": 3, "treat": {"WAGE+BONUS": "microaggregate:5"}},
            "k = 3, round": {
                "k": 3,
                "treat": {"WAGE": ["top:1%", "round:500"],
                          "BONUS": ["top:1%", "round:500"]},
            },
        },
    )  # fmt: skip


FILES = {"adult": adult, "demo": demo, "wages": wages}


def protected(file, plan):
    """Return the result of a plan, and what an intruder who knows all has."""
    columns, roles = file.settings, file.settings["roles"]
    result = riskcore.protect(
        file.data, list(file.keys), recodings=file.recodings, **columns, **plan
    )
    recoded = riskcore.recode(file.data, file.recodings)
    known = Known(
        recoded, result.data, file.keys,
        tuple(name for name, role in roles.items() if role == "numeric"),
        tuple(name for name, role in roles.items() if role == "sensitive"),
        columns["weight"], columns.get("household"),
    )  # fmt: skip
    return result, known


def places(file, plan):
    """Return the original row of each row of a file that is written shuffled."""
    data = {**file.data, HIDDEN: np.arange(len(file.data[file.keys[0]]))}
    settings = dict(file.settings)
    settings["roles"] = {**settings["roles"], HIDDEN: "harmless"}
    settings["accept"] = {"*": "the order is tried here, and nothing else"}
    result = riskcore.protect(
        data, list(file.keys), recodings=file.recodings, **settings, **plan
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "safe.csv"
        result.write(path, shuffle=True)
        return pandas.read_csv(path)[HIDDEN].to_numpy()


# --- beside the verdict -----------------------------------------------------------

# People whom the verdict may miss: three, and a tenth of those found.
FEW, PART = 3, 0.1
# Why an attack may find more, although the verdict is as it should be.
REASONS = (
    "By definition the verdict does not count two kinds of finds: homogeneous cells of",
    "a column with the role `numeric`, which an intruder is taken to know (see",
    "`notes/threat_model.md`), and the largest or smallest numbers where more than",
    f"{EXTREMES} people share the end (`HOURS` has five values). The attack takes",
    f"{EXTREMES} of them; the verdict speaks of all who are found by that number.",
)


class Said(NamedTuple):
    """What a verdict says about an attack, and of how many people."""

    text: str
    people: float


def said(result, found):
    """Return what the verdict says about an attack."""
    if found.attack.startswith("register"):
        expected = result.sets[0].protected.expected_reidentifications
        return Said(f"{expected:,.1f} expected", expected)
    examined = result.examination
    if found.attack == "elimination":
        one = examined.elimination
        keys = found.known.endswith("keys")
        count = 0 if one is None else one.records_told if keys else one.people
        return Said(f"{count:,}", count)
    if found.attack == "homogeneous cells":
        one = examined.shared.get(found.known.removeprefix("keys: "))
        count = 0 if one is None else one.people
        return Said(f"{count:,}" if one else "nothing", count)
    if found.attack in ("order", "households"):
        secret = Said("secret, not tested", 0.0)
        return secret if found.attack == "order" else said_of_households(result)
    among = found.attack.split()[-1]
    among = among if among in ("largest", "smallest") else "all"
    links = [one for one in examined.number_links if one.among == among]
    if not links:
        return Said("nothing", 0.0)
    worst = max(links, key=lambda one: one.beyond_chance)
    text = f"{' + '.join(worst.known)}: {worst.told or 'the record'} {worst.right:,.1f}"
    return Said(f"{text} ({worst.chance:,.1f})", worst.beyond_chance)


def said_of_households(result):
    """Return what the verdict says of those who know the keys of all members."""
    leaks = [one for one in result.judgment.leaks if one.kind == "composition"]
    counts = [re.search(r"([\d,]+) of [\d,]+", one.text)[1] for one in leaks]
    people = max((float(one.replace(",", "")) for one in counts), default=0.0)
    text = "; ".join(f"{one.kind}: {one.column}" for one in leaks)
    return Said(f"{text} {people:,.0f}" if leaks else "nothing", people)


def finds_more(result, found):
    """Return whether an attack finds more people than the verdict says."""
    if found.attack == "expected by elimination":
        return False
    people = found.right if found.attack.startswith("register") else found.beyond
    allowed = FEW + PART * found.right + said(result, found).people
    return bool(found.significant and people > allowed)


def rows_of(name, plan, result, found):
    """Return a row of the table for each attack."""
    return [
        [
            f"{name}: {plan} ({result.state})", one.attack, one.known,
            said(result, one).text,
            f"{one.attacked:,}", f"{one.right:,.1f}", f"{one.chance:,.1f}",
            "MORE" if finds_more(result, one) else "",
        ]
        for one in found
    ]  # fmt: skip


def main(names):
    """Attack the files, and write the table."""
    warnings.simplefilter("ignore")
    rows = []
    for name in names:
        file = FILES[name]()
        if file is None:
            print(f"{name}: not there", file=sys.stderr)
            continue
        population = riskcore.recode(file.population, file.recodings)
        for at, (plan, settings) in enumerate(file.plans.items()):
            result, known = protected(file, settings)
            place = None if at else places(file, settings)
            rows += rows_of(name, plan, result, attacks(known, population, place))
            print(f"{name}: {plan}", file=sys.stderr)
    head = ["file: plan (verdict)", "attack", "known: learned", "the verdict says",
            "attacked", "right", "by chance", ""]  # fmt: skip
    more = sum(row[-1] == "MORE" for row in rows)
    lines = [
        "# Attacks with the whole original", "", origin("numpy", "scipy") + ".", "",
        *__doc__.rpartition("\n\n")[2].splitlines(), "",
        "In brackets behind a file stands the state by the verdict, behind what it "
        "says of numbers what chance reaches. MORE: the attack finds people beyond "
        f"chance of whom the verdict does not speak ({more} of {len(rows)} rows).", "",
        *REASONS, "",
        table(head, rows, 4),
    ]  # fmt: skip
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(FILES)))
