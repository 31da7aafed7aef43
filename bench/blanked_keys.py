"""Attack plans by record: what the choice of the blanked key reveals.

    python -m bench.blanked_keys FILE --keys KEY ... [--truncate KEY=N ...] [--k 3]

An intruder has the safe file and knows the rule: k, that each record loses the cheapest
keys with which it is safe, and how ties are decided. He tries each value of the
key in each blank and rules out values with which the record would have been safe ("k
alone"), or safe without other keys that come first ("and the choice"). A single
remaining value is certain; otherwise he guesses the commonest. Where a secret decides
ties, keys of equal cost come in any order; a value with which many other keys would
have done is then less likely. Where the commonest categories come first, he knows how
many records of the original have each.
"""

import argparse
import math
import warnings
from collections import Counter
from dataclasses import dataclass
from itertools import combinations, product

import riskcore
from riskcore.data.files import formats
from riskcore.protection.suppression.cheapest_blanks import entropies

# Combinations of values that are tried for one record.
MOST = 4_000
# The loss of a value that no other record has.
ONE = 1 << 50


@dataclass(frozen=True)
class Told:
    """What an attack found."""

    blanks: int  # suppressed values
    surely: int  # blanks with one possible value
    wrongly: int  # of those, values that were wrong
    guessed: float  # right guesses, ties shared


def attack(released, truth, keys, k, *, choice=None):
    """Return what an intruder finds in a file made k-anonymous by record.

    Released and true values are lists by key, None where missing; the truth is for the
    score alone. ``choice`` is what he knows of the blanked keys: nothing (None), that
    they are the fewest ("secret"), or also which of equally many are taken: the first
    by an order of keys (a list), or the commonest by the true counts of the values of
    each key, then by name (a mapping).
    """
    columns = [released[key] for key in keys]
    rows = list(zip(*columns, strict=True))
    m = len(keys)
    common = [Counter(v for v in column if v is not None) for column in columns]
    counts = {}
    for kept in _subsets(range(m)):
        # Records that show all these keys, whatever else they lack: a lower bound of f.
        parts = (tuple(row[i] for i in kept) for row in rows)
        counts[kept] = Counter(part for part in parts if None not in part)
    rule = None
    if isinstance(choice, list):
        rule = _Rule([choice.index(key) for key in keys], None)
    elif isinstance(choice, dict):
        by_name = sorted(keys)
        rule = _Rule([by_name.index(key) for key in keys], [choice[k] for k in keys])
    found = {}
    total = Counter()
    for r, row in enumerate(rows):
        gone = (i for i in range(m) if row[i] is None)
        lost = tuple(i for i in gone if truth[keys[i]][r] is not None)
        if not lost:
            continue
        if lost not in found:
            found[lost] = _others(lost, m, choice)
        likely = _candidates(row, lost, found[lost], rule, counts, common, k)
        for i in lost:
            weight = Counter()
            for values, chance in likely.items():
                weight[values[lost.index(i)]] += chance
            true, top = truth[keys[i]][r], max(weight.values())
            best = [v for v, one in weight.items() if one >= top * (1 - 1e-12)]
            total["blanks"] += 1
            total["guessed"] += (true in best) / len(best)
            if len(weight) == 1:
                total["surely"] += 1
                total["wrongly"] += true not in weight
    return Told(total["blanks"], total["surely"], total["wrongly"], total["guessed"])


def commonest(released, truth, keys):
    """Return how many blanks are right by the commonest value that shows."""
    right = 0
    for key in keys:
        pairs = list(zip(released[key], truth[key], strict=True))
        top = Counter(v for v, _ in pairs if v is not None).most_common(1)[0][0]
        right += sum(v is None and t == top for v, t in pairs)
    return right


def _subsets(keys):
    keys = list(keys)
    return [s for size in range(len(keys) + 1) for s in combinations(keys, size)]


@dataclass(frozen=True)
class _Rule:
    """Which of several sets of keys of equal size comes first for a record."""

    rank: list  # by key
    counts: list | None  # by key the records of each value; the commonest come first

    def order(self, keys, values):
        """Return the order of a set of keys of a record with these values."""
        loss = 0
        if self.counts is not None:
            loss = sum(ONE // self.counts[i][values[i]] for i in keys)
        return loss, sorted(self.rank[i] for i in keys)


def _others(lost, m, choice):
    """Return the sets of keys that come first, and the sets of equal size."""
    if choice is None:
        return [()], []
    every = _subsets(range(m))
    first = [s for s in every if len(s) < len(lost)]
    return first, [s for s in every if len(s) == len(lost) and s != lost]


def _candidates(row, lost, sets, rule, counts, common, k):
    """Return the values that a record may have lost, and how likely each is."""
    fewer, equal = sets
    m = len(row)
    # Where there are too many to try the commonest stand for all.
    each = max(2, int(MOST ** (1 / len(lost))))
    values = [[v for v, _ in common[i].most_common(each)] for i in lost]
    found, usual = {}, {}
    for guess in product(*values):
        whole = list(row)
        for i, value in zip(lost, guess, strict=True):
            whole[i] = value
        known = [i for i in range(m) if whole[i] is not None]

        def would_do(without, known=known, whole=whole):
            kept = tuple(i for i in known if i not in without)
            # It counts itself where it does not show all of them.
            own = any(i in lost for i in kept)
            return counts[kept][tuple(whole[i] for i in kept)] + own >= k

        chance = math.prod(common[i][v] for i, v in zip(lost, guess, strict=True))
        usual[guess] = chance
        do = [s for s in equal if set(s) <= set(known) and would_do(s)]
        if rule is not None:
            mine = rule.order(lost, whole)
            do = [s for s in do if rule.order(s, whole) < mine]
        if any(would_do(s) for s in fewer) or (rule is not None and do):
            continue
        found[guess] = chance / (1 + len(do))
    return found or usual


def records_of_values(data, keys):
    """Return how many records have each value, by key: they decide ties."""
    return {key: Counter(v for v in data[key] if v is not None) for key in keys}


def plain(data, keys):
    """Return keys as lists with None for what is missing."""
    found = {}
    for key in keys:
        column = data[key]
        ways = ("to_pylist", "to_list", "tolist", "copy")
        to_list = next(name for name in ways if hasattr(column, name))
        listed = getattr(column, to_list)()
        found[key] = [None if v is None or v != v else v for v in listed]
    return found


def compared(data, keys, k):
    """Print what each rule for ties reveals of a file."""
    truth = plain(data, keys)
    bits = dict(
        zip(
            keys,
            entropies(riskcore.tabulate(truth, keys, missing="category")),
            strict=True,
        )
    )
    print("costs    ties    blanks   bits  commonest  surely, guessed by: k alone; "
          "the fewest keys; their order")  # fmt: skip
    for cost, ties in product(("fewest", "equal"), ("rule", "secret")):
        result = riskcore.protect(truth, keys, k=k, cost=cost, ties=ties)
        released = plain(result.data, keys)
        blanks = sum(result.suppressed.values())
        lost = sum(bits[key] * n for key, n in result.suppressed.items())
        order = keys if cost == "equal" else records_of_values(truth, keys)
        found = []
        for choice in (None, "secret", *([order] if ties == "rule" else [])):
            told = attack(released, truth, keys, k, choice=choice)
            found.append(f"{told.surely} {100 * told.guessed / told.blanks:.1f} %")
        top = 100 * commonest(released, truth, keys) / blanks
        print(f"{cost:8} {ties:6} {blanks:7,} {lost:6,.0f} {top:8.1f} %  "
              f"{'; '.join(found)}", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file")
    parser.add_argument("--keys", nargs="+", required=True)
    parser.add_argument("--truncate", nargs="*", default=[], metavar="KEY=N")
    parser.add_argument("--k", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    data = plain(formats.read(options.file), options.keys)
    for one in options.truncate:
        key, _, digits = one.partition("=")
        data[key] = [v and str(v)[: -int(digits)] for v in data[key]]
    compared(data, options.keys, options.k)


if __name__ == "__main__":
    main()
